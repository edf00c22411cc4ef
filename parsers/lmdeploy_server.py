r"""LMDeploy's api_server log: statistics lines (with `--enable-metrics`) and the engine configuration.

How to get one: `lmdeploy serve api_server MODEL --enable-metrics 2>&1 | tee lmdeploy.log`. Without that option there are no statistics:
no data, not an idle server. Nothing is printed while no token moves.

Versions. 0.9.2 to 0.12: `[2025-08-01 10:00:00 DP0] Avg prompt throughput: ..., Finished: N reqs, Unfinished: ...` (vLLM's words; the
time in brackets and `Finished:` tell them apart). Later `Avg thr (in/out): a / b tokens/s, API server (completed/routed/waiting): ...` and
`Server (succeeded/failed/routed/waiting): ...`; `[... Engine 000]` in 2026.

Tables
- `server_samples`: engine: the data-parallel rank. running: requests in the engine. waiting: those waiting in the engine plus those
  waiting in the API server in front of it, where the line names both. kv_usage as a fraction. prompt_tok_s and gen_tok_s: means since
  the line before. prefix_hit where printed.
- `server_config` keys: slots and slots_source (max_batch_size of the engine configuration: per data-parallel rank), tensor_parallel,
  data_parallel, split, n_ctx_slot (session_len, or what it was truncated to), max_prefill_tokens, eager, prefix_caching, kv_quant_policy,
  cache_max_entry_count; of TurboMind kv_tokens (max_block_count times cache_block_seq_len: the smallest count of all ranks, which hold
  the same tokens) and kv_gib_per_rank (where the block size is printed with decimals: whole MB are cut off).

Traps
- max_batch_size not given and not printed: the default depends on the card; no row is made up.
- The configuration is printed more than once: the last one counts. tp=0 means not set.
- TurboMind's settings are plain lines (`max_batch_size = 128`): they count only close below its head.
"""

from __future__ import annotations

from ..engine.line_format import Int, Line, LineFormat, Num, Sample, Stamp, Text

_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
_STATS = rf"^\[{_TIME} (?:DP\d+|Engine \d+)\] $"
_LOGGER = r"^(?:lmdeploy - (?:INFO|WARNING) - [\w.]+:\d+ - )(?:input |updated )?(?:backend=\w+, )?$"
_NUMBER = r"(\d+(?:\.\d+)?)"
_TURBOMIND = ("max_batch_size", "session_len", "tensor_para_size", "cache_block_seq_len", "quant_policy", "cache_max_entry_count")
_ENGINE = {"dp": Int(rf"^\[{_TIME} (?:DP|Engine )(\d+)\] ")}

_LINES = (
    Line(
        "stats",
        into="server_samples*",
        anchor="Avg thr (in/out): ",
        after=_STATS,
        fields={
            **_ENGINE,
            "rate_in": Num(rf"\(in/out\): {_NUMBER} / "),
            "rate_out": Num(rf"\(in/out\): [\d.]+ / {_NUMBER} tokens/s"),
            "running": Num(r"Engine \(running/waiting\): (\d+) / "),
            "engine_waiting": Num(r"Engine \(running/waiting\): \d+ / (\d+)\b"),
            "front_waiting": Num(r"\((?:[a-z]+/)+waiting\): (?:\d+ / ){2,}(\d+)\b"),
            "kv": Num(rf"KV cache: {_NUMBER}%", scale=0.01),
            "hit": Num(rf"Prefix cache hit rate: {_NUMBER}%", scale=0.01),
        },
        need=("running", "engine_waiting"),
        serves=True,
    ),
    Line(
        "stats",
        into="server_samples*",
        anchor="Avg prompt throughput: ",
        after=_STATS,
        fields={
            **_ENGINE,
            "rate_in": Num(rf"Avg prompt throughput: {_NUMBER} tokens/s"),
            "rate_out": Num(rf"Avg generation throughput: {_NUMBER} tokens/s"),
            "unfinished": Num(r"\bUnfinished: (\d+) reqs"),
            "running": Num(r"\bRunning: (\d+) reqs"),
            "engine_waiting": Num(r"\bWaiting: (\d+) reqs"),
            "kv": Num(rf"GPU KV cache usage: {_NUMBER}%", scale=0.01),
            "hit": Num(rf"Prefix cache hit rate: {_NUMBER}%", scale=0.01),
        },
        need=("unfinished", "running"),
        serves=True,
    ),
    Line(
        "config",
        into="server_config*",
        anchor=("backend_config=PytorchEngineConfig(", "backend_config=TurbomindEngineConfig("),
        after=_LOGGER,
        fields={
            "tp": Int(r"[(, ]tp=(\d+)"),
            "dp_size": Int(r"[(, ]dp=(\d+)"),
            "batch": Int(r"[(, ]max_batch_size=(\d+)"),
            "session": Int(r"[(, ]session_len=(\d+)"),
            "prefill": Int(r"[(, ]max_prefill_token_num=(\d+)"),
            "eager": Text(r"[(, ]eager_mode=(True|False)"),
            "prefix": Text(r"[(, ]enable_prefix_caching=(True|False)"),
            "policy": Int(r"[(, ]quant_policy=(\d+)"),
            "entries": Num(r"[(, ]cache_max_entry_count=(\d*\.?\d+)"),
            "block_tokens": Int(r"[(, ]cache_block_seq_len=(\d+)"),
        },
        starts_run=True,
    ),
    # what TurboMind settled on: a head, then a line per setting, as an ini file or as JSON
    Line("settings", into="server_config*", anchor="model_config:", after=r"^lmdeploy - (?:INFO|WARNING) - (?:[\w.]+:\d+ - )?$"),
    Line(
        "settings",
        into="server_config*",
        anchor="turbomind model config:",
        after=r"^(?:lmdeploy - (?:INFO|WARNING) - (?:[\w.]+:\d+ - )?)?$",
    ),
    Line(
        "setting",
        into="server_config*",
        anchor=(*(f"{key} = " for key in _TURBOMIND), *(f'"{key}": ' for key in _TURBOMIND)),
        after=r"^\s*$",
        fields={
            "tp": Int(r"^\s*tensor_para_size = (\d+)\b"),
            "batch": Int(r'^\s*"?max_batch_size"?(?: =|:) (\d+)\b'),
            "session": Int(r'^\s*"?session_len"?(?: =|:) (\d+)\b'),
            "policy": Int(r'^\s*"?quant_policy"?(?: =|:) (\d+)\b'),
            "entries": Num(r'^\s*"?cache_max_entry_count"?(?: =|:) (\d*\.?\d+)\b'),
            "block_tokens": Int(r'^\s*"?cache_block_seq_len"?(?: =|:) (\d+)\b'),
        },
    ),
    Line(
        "setting",
        into="server_config*",
        anchor=("enable_prefix_caching = ", '"enable_prefix_caching": '),
        after=r"^\s*$",
        fields={"prefix": Text(r'enable_prefix_caching"?(?: =|:) ([Tt]rue|[Ff]alse)\b')},
    ),
    Line(
        "pool",
        into="server_config*",
        anchor=("[BlockManager] max_block_count = ", "[BlockManager] block_size = "),
        after=r"^\[TM\]\[INFO\] $",
        fields={"blocks": Int(r"max_block_count = (\d+)\b"), "block_mib": Num(r"block_size = (\d+\.\d+) MB")},
    ),
    Line(
        "shortened",
        into="server_config*",
        anchor="`session_len` truncated to ",
        after=r"^\[TM\]\[WARNING\] No enough blocks for `session_len` \(\d+\), $",
        fields={"session": Int(r"truncated to (\d+)\b")},
        need=("session",),
    ),
)

_SAMPLES = """
SELECT line, t AS time, 'lmdeploy' AS server, dp AS engine, 'DP' || CAST(dp AS VARCHAR) AS rank, run, running,
    engine_waiting + coalesce(front_waiting, 0) AS waiting, kv AS kv_usage, rate_in AS prompt_tok_s, rate_out AS gen_tok_s, hit AS \
prefix_hit
FROM staged WHERE kind = 'stats' ORDER BY line
"""

_CONFIG = """
WITH facts AS (
    (SELECT * FROM staged WHERE kind = 'config' QUALIFY row_number() OVER (PARTITION BY run ORDER BY line DESC) = 1)
    UNION ALL SELECT s.* FROM staged s WHERE kind IN ('pool', 'shortened') OR (kind = 'setting' AND EXISTS (
        SELECT 1 FROM staged h WHERE h.kind = 'settings' AND h.run = s.run AND s.line - h.line BETWEEN 1 AND 150))
), pools AS (
    -- every rank prints its own: they hold the same tokens, each its share of the heads
    SELECT run, max(line) FILTER (kind = 'pool') AS line, min(blocks) AS blocks, arg_max(block_mib, line) AS block_mib,
        arg_max(block_tokens, line) AS block_tokens
    FROM facts GROUP BY run
), found AS (
    SELECT run, max(line) AS line, key, arg_max(num, line) AS num, NULL AS value FROM (
        UNPIVOT (
            SELECT run, line, CAST(nullif(tp, 0) AS DOUBLE) AS tensor_parallel, CAST(nullif(dp_size, 0) AS DOUBLE) AS data_parallel,
                CAST(nullif(batch, 0) AS DOUBLE) AS slots, CAST(nullif(session, 0) AS DOUBLE) AS n_ctx_slot,
                CAST(nullif(prefill, 0) AS DOUBLE) AS max_prefill_tokens, CAST(policy AS DOUBLE) AS kv_quant_policy,
                entries AS cache_max_entry_count
            FROM facts
        ) ON tensor_parallel, data_parallel, slots, n_ctx_slot, max_prefill_tokens, kv_quant_policy, cache_max_entry_count
            INTO NAME key VALUE num
    ) GROUP BY run, key
    UNION ALL SELECT run, line, key, num, NULL FROM (
        UNPIVOT (
            SELECT run, line, CAST(blocks * block_tokens AS DOUBLE) AS kv_tokens, blocks * block_mib / 1024 AS kv_gib_per_rank FROM pools
        ) ON kv_tokens, kv_gib_per_rank INTO NAME key VALUE num
    )
    UNION ALL SELECT run, max(line), key, NULL, arg_max(word, line) FROM (
        UNPIVOT (
            SELECT run, line, lower(eager) AS eager, lower(prefix) AS prefix_caching,
                CASE WHEN batch > 0 THEN 'max_batch_size' END AS slots_source,
                CASE WHEN tp > 1 THEN 'tensor' WHEN tp = 1 AND dp_size > 1 THEN 'data'
                    WHEN tp = 1 AND (dp_size = 1 OR kind = 'setting') THEN 'none' END AS split
            FROM facts
        ) ON eager, prefix_caching, slots_source, split INTO NAME key VALUE word
    ) GROUP BY run, key
)
SELECT line, 'lmdeploy' AS server, run, key,
    coalesce(value, CASE WHEN num = floor(num) THEN CAST(CAST(num AS BIGINT) AS VARCHAR) ELSE CAST(num AS VARCHAR) END) AS value,
    num, 'logged' AS origin
FROM found ORDER BY line, key
"""

_SAMPLE_OLD = """\
2025-06-01 09:00:00,250 - lmdeploy - INFO - async_engine.py:259 - input backend=pytorch, \
backend_config=PytorchEngineConfig(dtype='auto', tp=2, \
dp=1, session_len=8192, max_batch_size=64, cache_max_entry_count=0.8, max_prefill_token_num=4096, enable_prefix_caching=True, \
eager_mode=False, quant_policy=8)
[2025-06-01 09:01:00 DP0] Avg prompt throughput: 100.5 tokens/s, Avg generation throughput: 800.0 tokens/s, Finished: 3 reqs, \
Unfinished: 70 reqs, Running: 64 reqs, Waiting: 6 reqs, GPU KV cache usage: 33.0%
"""

_SAMPLE_NEW = """\
[2026-02-01 09:00:00 DP1] Avg thr (in/out): 4000.5 / 2000.0 tokens/s, API server (completed/routed/waiting): 1 / 20 / 30, \
Engine (running/waiting): 16 / 4, KV cache: 25.0%,
[2026-03-01 09:00:00 Engine 002] Avg thr (in/out): 10.0 / 20.0 tokens/s, Server (succeeded/failed/routed/waiting): 9 / 8 / 7 / 6, \
Engine (running/waiting): 5 / 2, KV cache: 50.0%, Prefix cache hit rate: 12.5%,
"""

_SAMPLE_TURBOMIND = """\
2024-09-01 09:00:00,250 - lmdeploy - WARNING - model_config:

[llama]
model_name = acme
tensor_para_size = 2
session_len = 20000
max_batch_size = 96
cache_max_entry_count = 0.75
cache_block_seq_len = 64
enable_prefix_caching = False
quant_policy = 4

[TM][INFO] [BlockManager] block_size = 2.500 MB
[TM][INFO] [BlockManager] max_block_count = 256
[TM][INFO] [BlockManager] max_block_count = 258
[TM][WARNING] No enough blocks for `session_len` (20000), `session_len` truncated to 16384.
"""

_SAMPLE_JSON = """\
2025-03-01 09:00:00,250 - lmdeploy - INFO - turbomind.py:231 - turbomind model config:

{
  "model_config": {
    "kv_head_num": 8
  },
  "attention_config": {
    "cache_block_seq_len": 64
  },
  "engine_config": {
    "tp": 1,
    "session_len": 8192,
    "max_batch_size": 128,
    "enable_prefix_caching": true
  }
}
[TM][INFO] [BlockManager] block_size = 8 MB
[TM][INFO] [BlockManager] max_block_count = 1000
"""

PARSER = LineFormat(
    name="lmdeploy-server",
    server="lmdeploy",
    stamps=(
        Stamp(rf"^\[({_TIME}) (?:DP|Engine )\d+\] ", parse="iso", clock="local-no-zone", resolution_s=1.0, search=True),
        Stamp(rf"^({_TIME},\d+) - ", parse="iso", clock="local-no-zone", resolution_s=1e-3),
    ),
    lines=_LINES,
    assemble={"server_samples": _SAMPLES, "server_config": _CONFIG},
    samples=(
        Sample(
            text=_SAMPLE_OLD,
            versions="0.9.2 to 0.12",
            rows={
                "server_samples": [
                    {
                        "time": 1748768460.0,
                        "engine": 0,
                        "rank": "DP0",
                        "running": 64,
                        "waiting": 6,
                        "kv_usage": 0.33,
                        "prompt_tok_s": 100.5,
                        "gen_tok_s": 800,
                    }
                ],
                "server_config": [
                    {"key": "cache_max_entry_count", "num": 0.8, "value": "0.8"},
                    {"key": "data_parallel", "num": 1},
                    {"key": "eager", "value": "false"},
                    {"key": "kv_quant_policy", "num": 8},
                    {"key": "max_prefill_tokens", "num": 4096},
                    {"key": "n_ctx_slot", "num": 8192},
                    {"key": "prefix_caching", "value": "true"},
                    {"key": "slots", "num": 64, "value": "64"},
                    {"key": "slots_source", "value": "max_batch_size"},
                    {"key": "split", "value": "tensor"},
                    {"key": "tensor_parallel", "num": 2},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_TURBOMIND,
            versions="TurboMind, 0.2 to 0.5",
            rows={
                "server_config": [
                    {"key": "split", "value": "tensor"},
                    {"key": "tensor_parallel", "num": 2},
                    {"key": "slots", "num": 96},
                    {"key": "slots_source", "value": "max_batch_size"},
                    {"key": "cache_max_entry_count", "num": 0.75},
                    {"key": "prefix_caching", "value": "false"},
                    {"key": "kv_quant_policy", "num": 4},
                    {"key": "kv_gib_per_rank", "num": 0.625},
                    {"key": "kv_tokens", "num": 16384},
                    {"key": "n_ctx_slot", "num": 16384},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_JSON,
            versions="TurboMind, 0.6 and later",
            rows={
                "server_config": [
                    {"key": "n_ctx_slot", "num": 8192},
                    {"key": "slots", "num": 128},
                    {"key": "slots_source", "value": "max_batch_size"},
                    {"key": "prefix_caching", "value": "true"},
                    {"key": "kv_tokens", "num": 64000},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_NEW,
            versions="0.12 and later",
            rows={
                "server_samples": [
                    {"engine": 1, "running": 16, "waiting": 34, "kv_usage": 0.25, "prompt_tok_s": 4000.5, "gen_tok_s": 2000},
                    {"engine": 2, "running": 5, "waiting": 8, "kv_usage": 0.5, "prefix_hit": 0.125, "gen_tok_s": 20},
                ]
            },
        ),
    ),
)
