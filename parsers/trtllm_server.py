r"""TensorRT-LLM: the iteration log of `trtllm-serve`, start-up facts, Triton's statistics lines and iteration statistics as JSON lines.

How to get one: `print_iter_log: true` in the options of `trtllm-serve` (off by default: no iteration lines is no data), the log of Triton
with the TensorRT-LLM backend, iteration statistics as JSON: one object per line, or the list that `/metrics` gives.

Versions. `[04/28/2025-09:56:44] [TRT-LLM] [I] iter = ...` with `num_scheduled_requests: N` or `= N`, with elapsed_time or
host_step_time and prev_device_step_time; `[_torch][RANK 0]`; Triton's `I1218 03:35:37.688135 ... {"Active Request Count":1,...}`, from 24.07 on as a quoted string with escaped quotes.

Tables
- `server_samples`: one row per iteration and rank (rank: the global rank). running: scheduled requests. waiting: queued and paused
  requests where both are printed (JSON statistics alone): the iteration line does not know the queue, and `num_unscheduled` is a part of it
  only. kv_usage: kv_cache_util, or used over all blocks. new_tokens: prompt tokens of the iteration. phase: decode, prefill or mixed, by
  what the iteration holds. step_ms: iteration time; where the log gives device times, that of the *next* line (it is printed one
  iteration late) if that is the next iteration of the same rank; host times alone are not used. JSON: iterLatencyMS, only of the C++ runtime
  (cpuMemUsage above 0) or where schedulerMode says non_overlap: the overlap scheduler's spans two iterations.
- `server_events`: arrival.
- `server_config` keys: slots and slots_source (max_num_requests, maxNumSequences or Max Request Count), n_ctx_slot, max_batched_tokens
  (max_num_tokens, maxNumTokens), kv_tokens (the last pool: the first one is a rehearsal).

Traps
- num_generation_tokens counts the padding of CUDA graphs: it is neither a rate nor a number of requests, and is only compared with zero.
- iter begins again after the rehearsal that sizes the KV cache.
- Times are local without a zone. Start-up and arrival lines print theirs month first (`[04/28/2025-09:56:44]`), which is not read: they
  have the time of a container prefix or none.
"""

from __future__ import annotations

from ..engine.line_format import Int, Line, LineFormat, Num, Sample, Stamp, Text, Word

_LOG = r"^(?:\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d(?:[.,]\d+)?\] )?\[TRT-LLM\] (?:\[(?:[IVDW]|\w+|RANK \d+)\] ?)+$"
_CPP = r"^\[TensorRT-LLM\]\[INFO\] (?:\[\w+\] [\w. ]*)?$"
_GLOG = r"^(?:I\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w.]+:\d+\] |\[TensorRT-LLM\]\[INFO\] )\"?\{(?:\\?\"[^{}]*,)?\\?$"
_ONE_OBJECT = r"^[^{}]*\{(?:[^{}]|\{[^{}]*\})*(\})[^{}]*$"
_DATE = r'(?:^\[|\\?"[Tt]imestamp\\?": ?\\?")'
_DAY = {
    "month": Int(rf"{_DATE}(\d\d)[/-]\d\d[/-]\d{{4}}[- ]"),
    "day": Int(rf"{_DATE}\d\d[/-](\d\d)[/-]\d{{4}}[- ]"),
    "year": Int(rf"{_DATE}\d\d[/-]\d\d[/-](\d{{4}})[- ]"),
}
_OPENS = r"^`{0,3}[\[,]? ?\{"  # one object of a list, or pasted behind the sign of code


def _key(name: str) -> Num:
    """A number behind a JSON key."""
    return Num(rf'"{name}\\?": ?(\d+(?:\.\d+)?)\b')


_LINES = (
    Line(
        "iter",
        into="server_samples*",
        anchor="iter = ",
        after=_LOG,
        fields={
            **_DAY,
            "iteration": Int(r"\biter = (\d+)\b"),
            "rank": Text(r"\bglobal_rank = (\d+)\b"),
            "scheduled": Num(r"num_scheduled_requests(?::| =) (\d+)\b"),
            "usage": Num(r"kv_cache_util = ([01](?:\.\d+)?)(?:[^\d.%]|$)"),
            "elapsed_ms": Num(r"elapsed_time = (\d+(?:\.\d+)?(?:e-?\d+)?)s", scale=1e3),
            "device_ms": Num(r"prev_device_step_time = (\d+(?:\.\d+)?(?:e-?\d+)?)ms"),
            "context_n": Num(r"'num_ctx_requests': (\d+)\b"),
            "context_tokens": Num(r"'num_ctx_tokens': (\d+)\b"),
            "generated": Num(r"'num_generation_tokens': (\d+)\b"),
        },
        need=("iteration", "context_n"),
        serves=True,
    ),
    Line(
        "triton",
        into="server_samples*",
        anchor=('"Active Request Count":', '"Active Request Count\\":'),
        after=_GLOG,
        fields={
            **_DAY,
            "scheduled": _key("Scheduled Requests"),
            "context_n": _key("Context Requests"),
            "generated": _key("Generation Requests"),
            "context_tokens": _key("Total Context Tokens"),
            "used_blocks": _key("Used KV cache blocks"),
            "all_blocks": _key("Max KV cache blocks"),
            "block_tokens": _key("Tokens per KV cache block"),
            "limit_n": _key("Max Request Count"),
            "whole": Text(_ONE_OBJECT),
        },
        need=("scheduled", "whole"),
        serves=True,
    ),
    Line(
        "json",
        into="server_samples*",
        anchor='"numActiveRequests":',
        after=rf"{_OPENS}.*$",
        fields={
            **_DAY,
            "scheduled": _key("numScheduledRequests"),
            "active": _key("numActiveRequests"),
            "queued": _key("numQueuedRequests"),
            "paused": _key("numPausedRequests"),
            "context_n": _key("numContextRequests"),
            "generated": _key("numGenRequests"),
            "context_tokens": _key("numCtxTokens"),
            "used_blocks": _key("usedNumBlocks"),
            "all_blocks": _key("maxNumBlocks"),
            "block_tokens": _key("tokensPerBlock"),
            "step": _key("iterLatencyMS"),
            "cpu_bytes": _key("cpuMemUsage"),
            "one_loop": Text(r'"schedulerMode": ?"(non_overlap)"'),
            "whole": Text(_ONE_OBJECT),
        },
        need=("queued", "whole"),
        serves=True,
    ),
    # the list that /metrics gives is one line: cut in front of every object
    Line("cut", into="server_samples*", anchor=(',{"cpuMemUsage"', ', {"cpuMemUsage"'), after=r"^never\b$", split_before=True),
    Line(
        "arrival",
        into="server_events*",
        anchor="Received request ",
        after=_LOG,
        fields={**_DAY, "event": Word("arrival"), "clockwork": Num(r"Received request \S+ at (\d+(?:\.\d+)?)\b")},
        need=("clockwork",),
        serves=True,
    ),
    Line(
        "limits",
        into="server_config*",
        anchor="max_seq_len=",
        after=_LOG,
        fields={
            "n_ctx_slot": Int(r"max_seq_len=(\d+)\b"),
            "max_requests": Int(r"max_num_requests=(\d+)\b"),
            "max_batched_tokens": Int(r"max_num_tokens=(\d+)\b"),
        },
        need=("max_requests",),
    ),
    Line(
        "cpp limits",
        into="server_config*",
        anchor="TRTGptModel maxNumSequences: ",
        after=_CPP,
        fields={"max_sequences": Int(r"maxNumSequences: (\d+)\b")},
        need=("max_sequences",),
        starts_run=True,
    ),
    Line(
        "cpp sizes",
        into="server_config*",
        anchor=("TRTGptModel maxSequenceLen: ", "TRTGptModel maxNumTokens: "),
        after=_CPP,
        fields={
            "n_ctx_slot": Int(r"maxSequenceLen: (\d+)\b"),
            "max_batched_tokens": Int(r"maxNumTokens: (\d+)\b"),
        },
    ),
    Line(
        "kv",
        into="server_config*",
        anchor="GiB for max tokens in paged KV cache (",
        after=_CPP,
        fields={"kv_tokens": Int(r"paged KV cache \((\d+)\)")},
        need=("kv_tokens",),
    ),
    Line(
        "kv",
        into="server_config*",
        anchor=" tokens in paged KV cache.",
        after=rf"{_CPP[:-1]}Using \d+$",
        fields={"kv_tokens": Int(r"Using (\d+) tokens")},
        need=("kv_tokens",),
    ),
)

_TIME = "CASE WHEN t >= 86400 THEN t WHEN t IS NOT NULL THEN epoch(TRY(make_timestamp(year, month, day, 0, 0, 0.0))) + t END"

_SAMPLES = f"""
WITH ordered AS (
    SELECT *, lead(device_ms) OVER same AS own_device_ms, lead(iteration) OVER same AS next_iteration
    FROM staged WHERE kind IN ('iter', 'triton', 'json') WINDOW same AS (PARTITION BY run, kind, rank ORDER BY line)
)
SELECT line, {_TIME} AS time, 'tensorrt-llm' AS server, rank, run,
    CASE WHEN context_n > 0 AND generated > 0 THEN 'mixed' WHEN context_n > 0 AND generated = 0 THEN 'prefill'
        WHEN context_n = 0 AND generated > 0 THEN 'decode' END AS phase,
    coalesce(scheduled, active) AS running,
    queued + coalesce(paused, CASE WHEN kind = 'json' THEN 0 END) AS waiting,
    coalesce(usage, CASE WHEN used_blocks <= all_blocks THEN used_blocks / nullif(all_blocks, 0) END) AS kv_usage,
    context_tokens AS new_tokens,
    coalesce(CASE WHEN next_iteration = iteration + 1 THEN own_device_ms END, elapsed_ms,
        CASE WHEN cpu_bytes > 0 OR one_loop IS NOT NULL THEN nullif(step, 0) END) AS step_ms
FROM ordered ORDER BY line
"""

_EVENTS = f"""
SELECT line, {_TIME} AS time, 'tensorrt-llm' AS server, run, event AS kind FROM staged WHERE event IS NOT NULL ORDER BY line
"""

_CONFIG = """
WITH numbers AS (
    SELECT run, key, arg_max(num, line) AS num, max(line) AS line FROM (
        UNPIVOT (SELECT run, line, n_ctx_slot, max_batched_tokens, kv_tokens, max_requests, max_sequences, limit_n,
            CASE WHEN kind <> 'iter' THEN CAST(all_blocks * block_tokens AS BIGINT) END AS pool,
            CAST(limit_n AS BIGINT) AS triton_limit FROM staged)
        ON n_ctx_slot, max_batched_tokens, kv_tokens, max_requests, max_sequences, pool, triton_limit INTO NAME key VALUE num
    ) GROUP BY run, key
), limits AS (
    SELECT run, line, num, CASE key WHEN 'max_requests' THEN 'max_num_requests' WHEN 'max_sequences' THEN 'maxNumSequences'
        ELSE 'Max Request Count' END AS source
    FROM numbers WHERE key IN ('max_requests', 'max_sequences', 'triton_limit')
    QUALIFY row_number() OVER (PARTITION BY run ORDER BY CASE key WHEN 'max_requests' THEN 1 WHEN 'max_sequences' THEN 2 ELSE 3 END) = 1
), found AS (
    SELECT run, line, key, CAST(num AS VARCHAR) AS value, CAST(num AS DOUBLE) AS num FROM numbers
        WHERE key IN ('n_ctx_slot', 'max_batched_tokens', 'kv_tokens')
    UNION ALL SELECT run, line, 'kv_tokens', CAST(num AS VARCHAR), num FROM numbers p WHERE key = 'pool' AND num > 0
        AND NOT EXISTS (SELECT 1 FROM numbers k WHERE k.run = p.run AND k.key = 'kv_tokens')
    UNION ALL SELECT run, line, 'slots', CAST(num AS VARCHAR), num FROM limits
    UNION ALL SELECT run, line, 'slots_source', source, NULL FROM limits
)
SELECT line, 'tensorrt-llm' AS server, run, key, value, num, 'logged' AS origin FROM found ORDER BY line, key
"""

_SAMPLE_POOL = """\
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 9.00 GiB for max tokens in paged KV cache (90112).
"""

_SAMPLE_BOOT = """\
[05/01/2025-10:00:00] [TRT-LLM] [I] max_seq_len=4096, max_num_requests=16, max_num_tokens=8192
[05/01/2025-10:00:01] [TRT-LLM] [I] Received request 0f0f-1 at 3000.500000001
"""

_SAMPLE_FIRST = """\
[05/01/2025-10:00:02] [TRT-LLM] [I] iter = 1, global_rank = 0, rank = 0, currank_total_requests = 1/1, elapsed_time = 0.025s, \
timestamp = 2025-05-01 10:00:02, num_scheduled_requests: 3, states = {'num_ctx_requests': 1, 'num_ctx_tokens': 200, \
'num_generation_tokens': 2}
[05/01/2025-10:00:02] [TRT-LLM] [I] iter = 2, global_rank = 0, rank = 0, currank_total_requests = 0/1, elapsed_time = 0.0125s, \
timestamp = 2025-05-01 10:00:02, num_scheduled_requests: 3, states = {'num_ctx_requests': 0, 'num_ctx_tokens': 0, \
'num_generation_tokens': 4}
"""

_SAMPLE_DEVICE = """\
[06/01/2026-10:00:00] [TRT-LLM] [I] [_torch][RANK 0] iter = 7, global_rank = 4, rank = 0, num_scheduled_requests = 5, kv_cache_util = \
0.250, \
currank_total_requests = 0/9, host_step_time = 4.08ms, prev_device_step_time = N/A, timestamp = 2026-06-01 10:00:00, \
states = {'num_ctx_requests': 2, 'num_ctx_tokens': 900, 'num_generation_tokens': 0}, num_active = 6, num_unscheduled = 1
[06/01/2026-10:00:00] [TRT-LLM] [I] [_torch][RANK 0] iter = 8, global_rank = 4, rank = 0, num_scheduled_requests = 5, kv_cache_util = \
0.300, \
currank_total_requests = 0/9, host_step_time = 4.08ms, prev_device_step_time = 43.5ms, timestamp = 2026-06-01 10:00:00, \
states = {'num_ctx_requests': 0, 'num_ctx_tokens': 0, 'num_generation_tokens': 8}
[06/01/2026-10:00:01] [TRT-LLM] [I] [_torch][RANK 0] iter = 1, global_rank = 4, rank = 0, num_scheduled_requests = 1, kv_cache_util = \
0.000, \
currank_total_requests = 0/9, host_step_time = 4.08ms, prev_device_step_time = 11.5ms, timestamp = 2026-06-01 10:00:01, \
states = {'num_ctx_requests': 1, 'num_ctx_tokens': 9, 'num_generation_tokens': 0}
"""

_SAMPLE_TRITON = """\
I0102 03:04:05.500000 77 libtensorrtllm.cc:1205] {"Active Request Count":3,"Context Requests":1,"Free KV cache blocks":60,"Generation \
Requests":1,\
"Iteration Counter":0,"Max KV cache blocks":80,"Max Request Count":8,"MicroBatch ID":0,"Scheduled Requests":2,\
"Timestamp":"01-02-2024 03:04:05","Tokens per KV cache block":64,"Total Context Tokens":512,"Used KV cache blocks":20}
"""

_SAMPLE_JSON = """\
{"cpuMemUsage":900,"gpuMemUsage":1000,"iter":5,"iterLatencyMS":12.5,"kvCacheStats":{"freeNumBlocks":75,"maxNumBlocks":100,"tokensPerBlock":32,"usedN\
umBlocks":25},\
"inflightBatchingStats":{"numContextRequests":0,"numCtxTokens":0,"numGenRequests":4,"numPausedRequests":1,"numScheduledRequests":4},\
"numActiveRequests":5,"numQueuedRequests":7,"timestamp":"05-09-2025 10:10:10.250000"}
"""

_SAMPLE_CPP = """\
[TensorRT-LLM][INFO] TRTGptModel maxNumSequences: 24
[TensorRT-LLM][INFO] TRTGptModel maxBatchSize: 24
[TensorRT-LLM][INFO] TRTGptModel maxSequenceLen: 3072
[TensorRT-LLM][INFO] TRTGptModel maxNumTokens: 4096
[TensorRT-LLM][INFO] Using 20480 tokens in paged KV cache.
I0809 10:11:12.250000 1 model_instance_state.cc:969] "{\\"Active Request Count\\":40,\\"Iteration Counter\\":7,\\"Max Request Count\\":24,\
\\"Timestamp\\":\\"08-09-2024 10:11:12\\",\\"Context Requests\\":0,\\"Generation Requests\\":6,\\"Paused Requests\\":0,\
\\"Scheduled Requests\\":6,\\"Total Context Tokens\\":0,\\"Max KV cache blocks\\":320,\\"Tokens per KV cache block\\":64,\
\\"Used KV cache blocks\\":240}"
"""

_SAMPLE_LIST = """\
[{"cpuMemUsage":0,"iter":8,"iterLatencyMS":9.5,"kvCacheStats":{"maxNumBlocks":100,"tokensPerBlock":32,"usedNumBlocks":25},\
"inflightBatchingStats":{"numContextRequests":0,"numCtxTokens":0,"numGenRequests":2,"numPausedRequests":0,"numScheduledRequests":2},\
"numActiveRequests":2,"numQueuedRequests":1,"timestamp":"05-09-2025 10:10:10.250000"},\
{"cpuMemUsage":0,"iter":9,"iterLatencyMS":9.0,"kvCacheStats":{"maxNumBlocks":100,"tokensPerBlock":32,"usedNumBlocks":30},\
"inflightBatchingStats":{"numContextRequests":1,"numCtxTokens":64,"numGenRequests":2,"numPausedRequests":0,"numScheduledRequests":3},\
"numActiveRequests":3,"numQueuedRequests":0,"timestamp":"05-09-2025 10:10:10.500000","schedulerMode":"non_overlap"}]
"""

PARSER = LineFormat(
    name="trtllm-server",
    server="tensorrt-llm",
    stamps=(
        Stamp(
            r"\btimestamp = (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)",
            parse="iso",
            clock="local-no-zone",
            resolution_s=1.0,
            search=True,
        ),
        Stamp(
            r"^\[(\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d(?:[.,]\d+)?)\] \[TRT-LLM\]",
            parse="us-slash",
            clock="local-no-zone",
            resolution_s=1.0,
            search=True,
        ),
        # Of these only the time of day; the day is read as fields and added in SQL.
        Stamp(r"^I\d{4} (\d\d:\d\d:\d\d\.\d+) ", parse="clock", clock="local-no-zone", resolution_s=1e-6, search=True),
        Stamp(
            rf'{_OPENS}.*"timestamp": ?"\d\d-\d\d-\d{{4}} (\d\d:\d\d:\d\d(?:\.\d+)?)"',
            parse="clock",
            clock="local-no-zone",
            resolution_s=1e-6,
            search=True,
        ),
    ),
    lines=_LINES,
    assemble={"server_samples": _SAMPLES, "server_events": _EVENTS, "server_config": _CONFIG},
    samples=(
        Sample(
            text=_SAMPLE_FIRST,
            versions="0.18 to 1.0",
            rows={
                "server_samples": [
                    {
                        "time": 1746093602.0,
                        "rank": "0",
                        "phase": "mixed",
                        "running": 3,
                        "waiting": None,
                        "new_tokens": 200,
                        "step_ms": 25.0,
                    },
                    {"phase": "decode", "running": 3, "step_ms": 12.5, "kv_usage": None, "gen_tok_s": None},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_POOL,
            versions="C++ runtime, start",
            rows={"server_config": [{"key": "kv_tokens", "num": 90112}]},
        ),
        Sample(
            text=_SAMPLE_BOOT,
            versions="0.18 to 1.0, start",
            rows={
                "server_events": [{"kind": "arrival", "time": 1746093601.0}],
                "server_config": [
                    {"key": "max_batched_tokens", "num": 8192},
                    {"key": "n_ctx_slot", "num": 4096},
                    {"key": "slots", "num": 16},
                    {"key": "slots_source", "value": "max_num_requests"},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_DEVICE,
            versions="2026",
            rows={
                "server_samples": [
                    {"rank": "4", "phase": "prefill", "running": 5, "kv_usage": 0.25, "step_ms": 43.5, "waiting": None},
                    {"phase": "decode", "running": 5, "kv_usage": 0.3, "step_ms": None},
                    {"time": 1780308001.0, "running": 1, "kv_usage": 0.0, "step_ms": None},
                ]
            },
        ),
        Sample(
            text=_SAMPLE_TRITON,
            versions="Triton backend, 2023 and later",
            rows={
                "server_samples": [
                    {"time": 1704164645.5, "phase": "mixed", "running": 2, "waiting": None, "kv_usage": 0.25, "new_tokens": 512}
                ],
                "server_config": [
                    {"key": "kv_tokens", "num": 5120},
                    {"key": "slots", "num": 8},
                    {"key": "slots_source", "value": "Max Request Count"},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_CPP,
            versions="C++ runtime, start; Triton from 24.07 on",
            rows={
                "server_samples": [{"time": 1723198272.25, "phase": "decode", "running": 6, "waiting": None, "kv_usage": 0.75}],
                "server_config": [
                    {"key": "slots", "num": 24, "run": 0},
                    {"key": "slots_source", "value": "maxNumSequences", "run": 0},
                    {"key": "n_ctx_slot", "num": 3072, "run": 0},
                    {"key": "max_batched_tokens", "num": 4096, "run": 0},
                    {"key": "kv_tokens", "num": 20480, "run": 0},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_LIST,
            versions="the list of /metrics",
            rows={
                "server_samples": [
                    {"time": 1746785410.25, "phase": "decode", "running": 2, "waiting": 1, "kv_usage": 0.25, "step_ms": None},
                    {"time": 1746785410.5, "phase": "mixed", "running": 3, "waiting": 0, "kv_usage": 0.3, "new_tokens": 64, "step_ms": 9.0},
                ],
                "server_config": [{"key": "kv_tokens", "num": 3200}],
            },
        ),
        Sample(
            text=_SAMPLE_JSON,
            versions="iteration statistics, one object per line",
            rows={
                "server_samples": [
                    {
                        "time": 1746785410.25,
                        "phase": "decode",
                        "running": 4,
                        "waiting": 8,
                        "kv_usage": 0.25,
                        "step_ms": 12.5,
                        "new_tokens": 0,
                    }
                ],
                "server_config": [{"key": "kv_tokens", "num": 3200}],
            },
        ),
    ),
)
