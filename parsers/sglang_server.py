r"""SGLang's server log: batch lines of every generation, start-up facts, retractions; alone or inside Ray, docker and journal logs.

How to get one: `python -m sglang.launch_server ... 2>&1 | tee server.log`, `docker logs -t NAME > server.log 2>&1`, a Ray worker log.

Versions. `new fill batch.` (0.1), `[gpu=0] Decode batch.` (0.1.17 to 0.2), `[04:40:55 TP0] Decode batch.` (to 0.3.3: a time without a
date), `[2025-02-27 04:46:39 TP0] Decode batch. #`, `Decode batch [N], #` (0.5.4) and `Decode batch, #` (from 0.5.4.post1), with and
without a trailing comma, with the token fields of hybrid models; with the header of another formatter or of Dynamo
(`2025-07-07T19:28:40.901Z  INFO scheduler.log_decode_stats: Decode batch. #`) in the place of the time. Fields are found by name; an absent one is NULL.

Tables
- `server_samples`: one row per batch line and rank, never summed over ranks; of a pipeline one stage (all print the same requests).
  rank: the rank words of the prefix as printed, for example
  `DP6 TP6 EP6` (`GPU0` for the oldest form). engine: the DP number. phase: decode, prefill or mixed.
  - running: on decode lines `#running-req`. Prefill lines print the running requests without those of the line, so there it is
    `#running-req` plus `#new-seq`: the requests in service during that step. A limit is only reached on decode lines.
  - waiting: `#queue-req`, per rank, after the step was scheduled. On a decode node of a server that is split into prefill and decode also
    the requests that wait for cache (`#prealloc-req`, `#retracted-req`), on a prefill node those before the bootstrap. `#transfer-req` may be
    requests that the other half is working on: not counted, and where nobody else waits the number is unknown.
  - kv_usage: `token usage` (already 0..1); NULL on a decode line whose running requests hold `#token: 0`: nobody counted. Hybrid models
    have several pools (full, swa, mamba): the fullest one, because the server admits and retracts by whichever runs out first.
  - gen_tok_s: tokens since the decode line before over the wall time since then. It is NULL where that time holds idle time or cannot be
    known not to: the first decode line of a rank, one after a prefill line that found nothing running, one after a gap (more
    than 10 s and five times the distance before). Prefill work while other requests run stays in: that is what the streams got.
  - prompt_tok_s: `input throughput`, of the batch *before* the line; only where a prefill line stands directly before, without a gap.
  - new_tokens, cached_tokens: of this line. One line per chunk. prefix_hit: the old `cache hit rate`, over the life of the server.
- `requests` (origin server, `--enable-request-time-stats-logging`): one row per finished request of a server that is not split. Times
  are those of the line, minus the printed durations. prompt_tokens are the computed ones (NULL where the line names no cached ones).
- `server_events`: retract (value: requests; every rank of a replica prints it, those of one count), access (an inference request answered; value is the HTTP status; a streamed answer is
  logged when it starts), loading (weights, cuda-graph, jit; value is the seconds where the line ends it), loaded, fallback (custom
  allreduce, default kernel configurations, weight-only kernels; the first of a kind), error.
- `server_config` keys: slots (per DP rank) and slots_source, split, tensor_parallel, data_parallel, pipeline_parallel,
  expert_parallel, dp_attention, kv_tokens (per DP rank), kv_dtype, n_ctx_slot, prefix_caching, chunked_prefill, chunked_prefill_size,
  max_prefill_tokens, eager (of decode steps), cuda_graph_max_bs, speculation, draft_tokens, quantisation, attention, gpu_mem_util (`mem_fraction_static`), weights_offload_gib (`cpu_offload_gb`, per rank),
  schedule_conservativeness, decode_log_interval, custom_all_reduce, other_args (a fingerprint of the rest), weights_gib (one row per rank: value is the rank), nccl.
- `models`: name, architecture and quantisation. `quality`: `date-unknown` for times without a date.

slots. What the server settled on (`max_running_requests=` beside `max_total_num_tokens=`, already per DP rank) wins over "was reduced
from", over the reset to 48 with speculation, and over the arguments. The last two are for the whole server and are divided by dp_size
when DP attention is on; whether it is on and not printed, the value is an interval.

Traps
- Decode lines come every 40 steps (`decode_log_interval`), not by time: a stalled server prints nothing.
- `server_args` is a Python repr with secrets in it: single keys are read, nothing else leaves.
- Several servers in one Ray log are told apart by the pid of the prefix: each is a run of its own.
- Dynamo's header names no rank: data-parallel ranks cannot be told apart in it.
- In a log with dated lines a line without a date is somebody's prompt and gives nothing.
- A second record glued to a batch line makes it a near miss: its numbers could belong to either.
- Weight sizes are printed as GB and are GiB. The second pair of a rank is the draft model and can be negative: left out.
"""

from __future__ import annotations

from ..engine.line_format import Field, Int, Line, LineFormat, Num, Sample, Stamp, Text, Word, other_args

_BAR = r"(?:[^|\[\]]*\d%\|[^|]*\|[^|\[\]]*(?:\[[^\[\]]*\])? ?)*"
_RAY = r"(?:\([^()]*\bpid=\d+[^()]*\) ?)*"
_START = rf"^{_BAR}{_RAY}"
_DAY = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"
_TIME = rf"(?:\[?{_DAY}|\[\d\d:\d\d:\d\d)(?:[.,]\d+)?(?: [A-Z_]+\d+)*\] "  # the bracket of the first line is easily lost in copying
_LEVEL = r"(?:(?:INFO|WARNING|ERROR)(?: [\w.]+:\d+)?: |\[(?:INFO|WARNING|ERROR)\] )?"
_OTHER = rf"{_DAY}(?:[.,]\d+)?[ |-]+(?:[\w.]+[ |-]+)*(?:INFO|sglang[\w.]*)(?:[ |:-]+[\w.]+)*[ |:-]+"  # another formatter
_TAGGED = rf"{_DAY}(?:[.,]\d+)? [A-Z]+ \d+ \[ ?(?:[A-Z_]+\d+ )*[\w.]+:\d+\] "  # yet another: process, ranks and line of the source
_TRACED = rf"(?:{_DAY}\.\d+Z)? *(?:INFO|WARN) +[\w.:]+: "  # Dynamo prints the records of its workers with a header of its own
_BEFORE = rf"{_START}(?:{_TIME}{_LEVEL}|\[gpu(?:_id)?=\d+\] |{_OTHER}|{_TAGGED}|{_TRACED}|INFO:sglang[\w.]*:)?"
_HEAD = rf"{_BEFORE}$"
_STAMPED = rf"{_START}(?:{_TIME}{_LEVEL}|{_TAGGED})$"
_RANKS = rf"{_START}(?:\[?[\d :.,T-]*\d|{_DAY}(?:[.,]\d+)? [A-Z]+ \d+ \[) ?"
# No second record: a bracket that opens a time or a card. Times of progress bars and lists of numbers are fine.
_REST = r"(?:[^\[]|\[(?:[^\dg]|g(?:[^p]|p(?:[^u]|u[^=_]))|\d{1,3}[^\d:]|\d{4,}[^\d-]|(?:\d{1,2}:)?\d\d:\d\d<))*$"
_WHO: dict[str, Field] = {
    "year": Int(rf"{_START}\[?(\d{{4}})-\d\d-\d\d[ T]"),
    "traced": Text(r"^ *(INFO|WARN) +[\w.:]+: "),
    "rank": Text(rf"{_RANKS}((?:[A-Z_]+\d+ ?)+)(?:[\w.]+:\d+)?\] "),
    "dp": Int(rf"{_RANKS}(?:[A-Z_]+\d+ )*?DP(\d+)[ \]]"),
    "stage": Int(rf"{_RANKS}(?:[A-Z_]+\d+ )*?PP(\d+)[ \]]"),
    "card": Int(rf"{_START}\[gpu(?:_id)?=(\d+)\] "),
    "pid": Int(rf"^{_BAR}(?:\([^()]*\) ?)*?\([^()]*\bpid=(\d+)[^()]*\) ?(?:\[|[A-Z])"),
}
_SHARE = r"([01](?:\.\d+)?)(?:[^\d.%]|$)"
_BATCH: dict[str, Field] = {
    **_WHO,
    "running_n": Num(r"(?:[.,] +#running-req: |[.,] +#running_req: )(\d+)"),
    "queue_n": Num(r"[.,] +#(?:queue-req|remaining_req): (\d+)"),
    # halves of a split server: requests that wait for the bootstrap, for cache of their own (again), or for what the other half does
    "boot_n": Num(r"[.,] +#(?:unbootstrapped-req|bootstrap-req): (\d+)"),
    "prealloc_n": Num(r"[.,] +#prealloc-req: (\d+)"),
    "retracted_n": Num(r"[.,] +#retracted-req: (\d+)"),
    "transfer_n": Num(r"[.,] +#transfer-req: (\d+)"),
    "held": Int(r"[.,] +#(?:full )?token: (\d+)"),
    "usage": Num(rf"[.,] +token usage: {_SHARE}"),
    "usage_full": Num(rf"[.,] +full token usage: {_SHARE}"),
    "usage_swa": Num(rf"[.,] +swa token usage: {_SHARE}"),
    "usage_mamba": Num(rf"[.,] +mamba usage: {_SHARE}"),
    "graph": Text(r"\b\w+ graph: (True|False)\b"),
    "whole": Text(rf"{_BEFORE}((?:Decode|Prefill|new fill) batch){_REST}"),
}

_BATCH_LINES = (
    Line(
        "decode",
        into="server_samples*",
        anchor="Decode batch",
        after=_HEAD,
        fields={
            **_BATCH,
            "gen": Num(r"gen throughput \(token/s\): (\d+(?:\.\d+)?)"),
            "accepted": Num(r"[.,] +accept len: (\d+(?:\.\d+)?)"),
        },
        need=("running_n", "whole"),
        serves=True,
    ),
    Line(
        "prefill",
        into="server_samples*",
        anchor=("Prefill batch", "new fill batch. "),
        after=_HEAD,
        fields={
            **_BATCH,
            "mixed_n": Num(r"batch ?\(mixed #running-req: (\d+)\)"),
            "seqs": Num(r"[.,] +#(?:new-)?seq: (\d+)"),
            "new_tokens": Num(r"[.,] +#new[-_]token: (\d+)"),
            "cached_tokens": Num(r"[.,] +#cached[-_]token: (\d+)"),
            "prefix_hit": Num(r"cache[ _]hit[ _]rate: (\d+(?:\.\d+)?)%", scale=0.01),
            "input_rate": Num(r"input throughput \(token/s\): (\d+(?:\.\d+)?)"),
        },
        need=("seqs", "whole"),
        serves=True,
    ),
)


# A request identifier is the client's word: nothing is read behind one that holds a comma or a bracket.
_STATS = rf"{_BEFORE}(?:\[Scheduler\] )?Req ?Time ?Stats\(rid=[^(),=]*(?:, bootstrap_room=\d+)?"
_LENGTHS = rf"{_STATS}, input[_ ]len=\d+(?:, cached_input_len=\d+)?, output[_ ]len=\d+(?:, attempts=\d+)?"
_SPENT = rf"{_LENGTHS}, type=unified\): (?:\w+=[\d.]+(?:ms)?, )*?"
_REQUEST_LINES = (
    Line(
        "request",
        into="requests*",
        anchor=", type=unified): queue_duration=",
        after=rf"{_LENGTHS}$",
        fields={
            **_WHO,
            "input_n": Num(rf"{_STATS}, input[_ ]len=(\d+)"),
            "cached_n": Num(rf"{_STATS}, input[_ ]len=\d+, cached_input_len=(\d+)"),
            "output_n": Num(rf"{_STATS}, input[_ ]len=\d+(?:, cached_input_len=\d+)?, output[_ ]len=(\d+)"),
            "queue_ms": Num(rf"{_SPENT}queue_duration=(\d+(?:\.\d+)?)ms\b"),
            "forward_ms": Num(rf"{_SPENT}forward_duration=(\d+(?:\.\d+)?)ms\b"),
            "prefill_ms": Num(rf"{_SPENT}initial_prefill_elapsed=(\d+(?:\.\d+)?)ms\b"),
            "post_ms": Num(rf"{_SPENT}post_prefill_elapsed=(\d+(?:\.\d+)?)ms\b"),
        },
        need=("queue_ms", "forward_ms"),
        serves=True,
    ),
)


def _event(name: str, anchor: str | tuple[str, ...], kind: str, detail: str, serves: bool = False, value: str = "") -> Line:
    """A line that stands for one event. Other servers print some of the same words: it must begin with a time in brackets."""
    fields: dict[str, Field] = {**_WHO, "event": Word(kind), "detail": Word(detail), **({"value": Num(value)} if value else {})}
    return Line(name, into="server_events*", anchor=anchor, after=_STAMPED, fields=fields, serves=serves)


_EVENT_LINES = (
    Line(
        "retract",
        into="server_events*",
        anchor=(
            "KV cache pool is full. Retract requests.",
            "Decode out of memory happened",
            "decode out of memory happened",
            "Testing retraction.",
        ),
        after=_HEAD,
        fields={**_WHO, "event": Word("retract"), "value": Num(r"#retracted_reqs: (\d+)")},
        serves=True,
    ),
    Line(
        "access",
        into="server_events*",
        anchor=('"POST /generate', '"POST /v1/', '"POST /invocations', '"POST /api/'),
        after=rf"{_START}{_TIME}INFO: +\S+ - $",
        fields={**_WHO, "event": Word("access"), "value": Num(r' HTTP/[\d.]+" (\d{3})\b')},
        need=("value",),
    ),
    _event("weights-begin", "Load weight begin", "loading", "weights"),
    _event("graph-begin", ("Capture cuda graph begin", "Capture npu graph begin", "Capture cpu graph begin"), "loading", "cuda-graph"),
    _event(
        "graph-end",
        ("Capture cuda graph end", "Capture npu graph end", "Capture cpu graph end"),
        "loading",
        "cuda-graph",
        value=r"Time elapsed: (\d+(?:\.\d+)?) s",
    ),
    _event("jit", ("Entering DeepGEMM JIT", "Try DeepGEMM JIT", "DeepGEMM JIT Compiling", "DeepGEMM warmup"), "loading", "jit"),
    _event("moe-config", "Using default MoE kernel config. ", "fallback", "default-moe-config"),
    _event("fp8-config", "Using default W8A8 Block FP8 kernel config. ", "fallback", "default-fp8-config"),
    _event("marlin", "Your GPU does not have native support for FP", "fallback", "marlin-weight-only"),
    _event("oom", ("torch.OutOfMemoryError: ", "torch.cuda.OutOfMemoryError: "), "error", "out-of-memory"),
    _event("watchdog", ("Watchdog timeout", "Scheduler watchdog timeout"), "error", "watchdog"),
    _event("ready", "The server is fired up and ready to roll!", "loaded", "ready", serves=True),
    _event("no-custom-allreduce", ("Custom allreduce is disabled", "Setup Custom allreduce failed"), "fallback", "custom-allreduce"),
    _event("scheduler-exception", "Scheduler hit an exception", "error", "scheduler-exception"),
    _event("child-failed", "Received sigquit from a child process", "error", "child-failed"),
)


def _arg(name: str, value: str) -> str:
    """One argument of the printed ServerArgs, whose form (a call, a dict, JSON) does not matter."""
    return rf"[(,{{] ?['\"]?{name}['\"]?[=:] ?{value}"


# what has a key of its own, and what follows from it
_READ_ARGS = (
    "tp(?:_size)?|dp(?:_size)?|pp(?:_size)?|ep(?:_size)?|enable_dp_attention|max_running_requests|context_length|chunked_prefill_size|"
    "max_prefill_tokens|disable_cuda_graph.*|cuda_graph.*|decode|prefill|backend|bs|max_bs|speculative.*|quantization|.*attention_backend|"
    "mem_fraction_static|schedule_conservativeness|cpu_offload_gb|decode_log_interval|disable_radix_cache|kv_cache_dtype|"
    "disable_custom_all_reduce|max_total_tokens|page_size"
)

_CONFIG_LINES = (
    Line(
        "args",
        into="server_config*",
        anchor="server_args=",
        after=_HEAD,
        fields={
            **_WHO,
            "whole_args": Text(r"([)}])\s*$"),
            "tp": Int(_arg(r"tp(?:_size)?", r"(\d+)")),
            "dp_size": Int(_arg(r"dp(?:_size)?", r"(\d+)")),
            "pp": Int(_arg(r"pp(?:_size)?", r"(\d+)")),
            "ep": Int(_arg(r"ep(?:_size)?", r"(\d+)")),
            "dp_attention": Text(_arg(r"enable_dp_attention", r"([Tt]rue|[Ff]alse)")),
            "asked": Int(_arg(r"max_running_requests", r"(\d+)")),
            "context_length": Int(_arg(r"context_length", r"(\d+)")),
            "chunk": Int(_arg(r"chunked_prefill_size", r"(-?\d+)")),
            "max_prefill": Int(_arg(r"max_prefill_tokens", r"(\d+)")),
            "no_graph": Text(_arg(r"disable_cuda_graph", r"([Tt]rue|[Ff]alse)")),
            "graph_bs": Int(_arg(r"cuda_graph_max_bs", r"(\d+)")),
            "spec": Text(_arg("speculative_algorithm", r"['\"]?(\w{1,40})")),
            "drafts": Int(_arg(r"speculative_num_draft_tokens", r"(\d+)")),
            "quant": Text(_arg("quantization", r"['\"]([\w.-]{1,40})['\"]")),
            "attention": Text(_arg("attention_backend", r"['\"]([\w.-]{1,40})['\"]")),
            "mem_fraction": Num(_arg(r"mem_fraction_static", r"(\d*\.?\d+)")),
            "conservative": Num(_arg(r"schedule_conservativeness", r"(\d*\.?\d+)")),
            "offload": Num(_arg(r"cpu_offload_gb", r"(\d+(?:\.\d+)?)")),
            "log_interval": Int(_arg(r"decode_log_interval", r"(\d+)")),
            # from 2026 on graphs are configured per phase
            "decode_graph": Text(r"\bdecode=PhaseConfig\(backend=(?:<[\w.]+: )?['\"](\w{1,40})"),
            "decode_graph_bs": Int(r"\bdecode=PhaseConfig\([^()]*?\bmax_bs=(\d+)"),
            "no_custom": Text(_arg("disable_custom_all_reduce", r"([Tt]rue|[Ff]alse)")),
            "args_text": Text(r"server_args=(.*[)}])\s*$"),
            "no_radix": Text(_arg("disable_radix_cache", r"([Tt]rue|[Ff]alse)")),
            "kv_dtype": Text(_arg("kv_cache_dtype", r"['\"](\w{1,40})['\"]")),
            "model_name": Text(r"server_args=\w*[({]['\"]?model_path['\"]?[=:] ?['\"](?:[^'\"]*/)?([\w.+-]{1,100})/?['\"]"),
        },
        starts_run=True,
    ),
    Line(
        "limits",
        into="server_config*",
        anchor="max_total_num_tokens=",
        after=_HEAD,
        fields={
            **_WHO,
            "total_tokens": Int(r"max_total_num_tokens=(\d+)"),
            "limit_n": Int(r"max_running_requests=(\d+)"),
            "context_length": Int(r"context_len=(\d+)"),
            "chunk": Int(r"chunked_prefill_size=(-?\d+)"),
            "max_prefill": Int(r"max_prefill_tokens=(\d+)"),
        },
        need=("total_tokens",),
    ),
    Line(
        "reduced",
        into="server_config*",
        anchor="max_running_requests was reduced from the requested ",
        after=_HEAD,
        fields={**_WHO, "reduced_n": Int(r"requested \d+ to (\d+)\b")},
        need=("reduced_n",),
    ),
    Line(
        "reset",
        into="server_config*",
        anchor="Max running requests is reset to ",
        after=_HEAD,
        fields={**_WHO, "reset_n": Int(r"is reset to (\d+)\b")},
        need=("reset_n",),
        starts_run=True,
    ),
    Line(
        "kv",
        into="server_config*",
        anchor="KV Cache is allocated.",
        after=_HEAD,
        fields={**_WHO, "pool_tokens": Int(r"#tokens: (\d+)")},
    ),
    Line(
        "weights",
        into="server_config*",
        anchor="Load weight end.",
        after=_HEAD,
        fields={
            **_WHO,
            "event": Word("loading"),
            "detail": Word("weights"),
            "value": Num(r"\belapsed=(\d+(?:\.\d+)?) s\b"),
            "arch": Text(r"\btype=(\w{1,80})\b"),
            "quant_type": Text(r"\bquant=(\w{1,40})\b"),
            "quant_algo": Text(r"\bquant_algo=(\w{1,40})\b"),
            "weights_gib": Num(r"mem usage=(-?\d+(?:\.\d+)?) GB"),
        },
        need=("arch",),
    ),
    Line(
        "nccl",
        into="server_config*",
        anchor="sglang is using nccl==",
        after=_HEAD,
        fields={**_WHO, "nccl": Text(r"nccl==(\d[\d.]*\d)")},
        need=("nccl",),
    ),
)

_NOISE = (
    '"GET /',
    "Memory pool end. avail mem=",
    "Capture cuda graph bs ",
    " cuda graph addresses",
    "Receive: obj=",
    "Finish: obj=",
)

# `own`: the lines that count, with the run they belong to. A process named by a Ray prefix is a server of its own, which begins again
# at each server_args line of that process (the reset is printed before it). A time of day without a date goes on rising past midnight.
_OWN = """
WITH dated AS (SELECT coalesce(bool_or(year IS NOT NULL), false) AS has_dates FROM staged),
days AS (
    SELECT line, max(nights) AS nights FROM (
        SELECT line, sum(CASE WHEN t < before - 43200 THEN 1 ELSE 0 END) OVER (ORDER BY line) AS nights
        FROM (SELECT line, t, lag(t) OVER (ORDER BY line) AS before FROM staged WHERE year IS NULL AND t < 86400)
    ) GROUP BY line
), kept AS (
    SELECT s.* REPLACE (t + coalesce(nights, 0) * 86400 AS t),
        CASE WHEN pid IS NULL THEN s.run END AS plain,
        CASE WHEN pid IS NOT NULL THEN sum(CASE WHEN kind = 'args' THEN 1 ELSE 0 END) OVER (PARTITION BY pid ORDER BY s.line)
            + CASE WHEN kind = 'reset' THEN 1 ELSE 0 END END AS life,
        coalesce(nullif(trim(rank), ''), CASE WHEN card IS NOT NULL THEN 'GPU' || CAST(card AS VARCHAR) END) AS who
    FROM staged s CROSS JOIN dated LEFT JOIN days USING (line)
    WHERE year IS NOT NULL OR NOT has_dates OR (traced IS NOT NULL AND outer_t IS NOT NULL)
), servers AS (
    SELECT plain, pid, life, CAST(row_number() OVER (ORDER BY min(line)) - 1 AS INTEGER) AS number FROM kept GROUP BY plain, pid, life
), own AS (
    SELECT k.* REPLACE (v.number AS run) FROM kept k JOIN servers v ON k.plain IS NOT DISTINCT FROM v.plain
        AND k.pid IS NOT DISTINCT FROM v.pid AND k.life IS NOT DISTINCT FROM v.life
)
FROM own
"""

# The stages of a pipeline print the same requests: the stage with the most lines stands for its replica.
_SAMPLES = """
WITH lines AS (
    SELECT *, count(*) OVER (PARTITION BY run, dp, stage) AS n FROM own WHERE kind IN ('decode', 'prefill')
), one_stage AS (
    SELECT * FROM lines QUALIFY stage IS NOT DISTINCT FROM first_value(stage) OVER (PARTITION BY run, dp ORDER BY n DESC, stage)
), batches AS (
    SELECT *, coalesce(running_n, mixed_n) AS others,
        queue_n + coalesce(boot_n, 0) + coalesce(prealloc_n, 0) + coalesce(retracted_n, 0) AS queued,
        sum(CASE WHEN kind = 'prefill' AND coalesce(running_n, mixed_n, 0) = 0 THEN 1 ELSE 0 END) OVER ranked AS wakings,
        lag(kind) OVER ranked AS kind_before
    FROM one_stage WINDOW ranked AS (PARTITION BY run, who ORDER BY line)
), spaced AS (
    SELECT *, lag(line) OVER same AS line_before, lag(wakings) OVER same AS wakings_before, t - lag(t) OVER same AS dt
    FROM batches WINDOW same AS (PARTITION BY run, who, kind ORDER BY line)
), judged AS (
    SELECT *, coalesce(dt < -1 OR (dt > 10 AND dt > 5 * coalesce(lag(dt) OVER same, 0)), false) OR line_before IS NULL AS gap
    FROM spaced WINDOW same AS (PARTITION BY run, who, kind ORDER BY line)
)
SELECT line, t AS time, 'sglang' AS server, dp AS engine, who AS rank, run,
    CASE WHEN mixed_n IS NOT NULL THEN 'mixed' ELSE kind END AS phase,
    CASE WHEN kind = 'decode' THEN running_n ELSE others + seqs END AS running,
    -- a request in the transfer may wait, or be at work in the other half
    CASE WHEN queued > 0 OR coalesce(transfer_n, 0) = 0 THEN queued END AS waiting,
    CASE WHEN kind = 'decode' AND held = 0 AND running_n > 0 THEN NULL -- requests that hold no token: the cache was not counted
        WHEN usage_full IS NULL THEN usage
        WHEN queue_n IS NOT NULL THEN greatest(usage_full, usage_swa, usage_mamba) END AS kv_usage, -- a cut line may lack a pool
    CASE WHEN kind = 'prefill' AND kind_before = 'prefill' AND NOT gap THEN input_rate END AS prompt_tok_s,
    CASE WHEN kind = 'decode' AND wakings = wakings_before AND NOT gap THEN gen END AS gen_tok_s,
    accepted AS accept_len, cached_tokens, new_tokens, prefix_hit,
    graph = 'True' AS cuda_graph
FROM judged ORDER BY line
"""

# All ranks of a replica take back the same requests, and each says so: those of the rank that says it most often count.
_EVENTS = """
WITH told AS (
    SELECT *, coalesce(who, '') AS teller, count(*) OVER (PARTITION BY run, dp, who, event) AS n FROM own WHERE event IS NOT NULL
)
SELECT line, t AS time, 'sglang' AS server, dp AS engine, run, event AS kind, value, detail FROM told
QUALIFY CASE event
    WHEN 'fallback' THEN row_number() OVER (PARTITION BY run, event, detail ORDER BY line) = 1
    WHEN 'retract' THEN teller = first_value(teller) OVER (PARTITION BY run, dp, event ORDER BY n DESC, teller)
    ELSE true END
ORDER BY line
"""

_CONFIG = f"""
WITH args AS (
    SELECT * FROM own WHERE kind = 'args' QUALIFY row_number() OVER (PARTITION BY run ORDER BY line DESC) = 1
), per_rank AS (
    SELECT run, dp, kind, max(line) AS line, min(total_tokens) AS total_tokens, min(limit_n) AS limit_n, min(reduced_n) AS reduced_n,
        min(reset_n) AS reset_n, min(context_length) AS context_length, min(chunk) AS chunk, min(max_prefill) AS max_prefill,
        CASE WHEN count(DISTINCT pool_tokens) = 1 THEN min(pool_tokens) END AS pool_tokens, max(nccl) AS nccl
    FROM own WHERE kind IN ('limits', 'reduced', 'reset', 'kv', 'nccl') GROUP BY run, dp, kind
), whole_server AS (
    SELECT a.run, a.line, a.asked AS n, 'server_args' AS source, 4 AS place, a.dp_size, a.dp_attention FROM args a WHERE a.asked > 0
    UNION ALL
    SELECT r.run, r.line, r.reset_n, 'reset for speculation', 3, a.dp_size, a.dp_attention
    FROM per_rank r LEFT JOIN args a USING (run) WHERE r.kind = 'reset'
), limits AS (
    SELECT run, dp, line, limit_n AS lo, NULL AS hi, 'max_running_requests' AS source, 1 AS place
    FROM per_rank WHERE kind = 'limits' AND limit_n IS NOT NULL
    UNION ALL SELECT run, dp, line, reduced_n, NULL, 'reduced by memory', 2 FROM per_rank WHERE kind = 'reduced'
    UNION ALL
    SELECT run, NULL, line, CASE WHEN dp_size > 1 AND lower(coalesce(dp_attention, 'true')) = 'true' THEN greatest(n // dp_size, 1) ELSE n END,
        CASE WHEN dp_size > 1 AND dp_attention IS NULL THEN n END, source, place
    FROM whole_server
), slots AS (
    SELECT * FROM limits QUALIFY place = min(place) OVER (PARTITION BY run)
), first_weights AS (
    SELECT * FROM own WHERE kind = 'weights' QUALIFY row_number() OVER (PARTITION BY run, who ORDER BY line) = 1
), found AS (
    SELECT run, dp, line, 'slots' AS key, CAST(lo AS VARCHAR) AS value, CAST(lo AS DOUBLE) AS num, CAST(hi AS DOUBLE) AS num_hi FROM slots
    UNION ALL SELECT run, dp, line, 'slots_source', source, NULL, NULL FROM slots
    UNION ALL SELECT run, dp, line, 'kv_tokens', NULL, total_tokens, NULL FROM per_rank WHERE kind = 'limits'
    UNION ALL SELECT k.run, k.dp, k.line, 'kv_tokens', NULL, k.pool_tokens, NULL FROM per_rank k
        WHERE k.kind = 'kv' AND NOT EXISTS (SELECT 1 FROM per_rank l WHERE l.run = k.run AND l.kind = 'limits')
    UNION ALL SELECT run, dp, line, 'nccl', nccl, NULL, NULL FROM per_rank WHERE kind = 'nccl'
    UNION ALL SELECT run, dp, line, 'weights_gib', who, weights_gib, NULL FROM first_weights WHERE weights_gib > 0
    UNION ALL SELECT run, dp, line, key, NULL, CAST(num AS DOUBLE), NULL FROM (
        UNPIVOT (
            SELECT run, dp, line, CAST(context_length AS DOUBLE) AS n_ctx_slot, CAST(chunk AS DOUBLE) AS chunked_prefill_size,
                CAST(max_prefill AS DOUBLE) AS max_prefill_tokens
            FROM per_rank WHERE kind = 'limits'
        ) ON n_ctx_slot, chunked_prefill_size, max_prefill_tokens INTO NAME key VALUE num
    ) WHERE num > 0
    UNION ALL SELECT run, NULL, line, key, NULL, num, NULL FROM (
        UNPIVOT (
            SELECT run, line, CAST(tp AS DOUBLE) AS tensor_parallel, CAST(dp_size AS DOUBLE) AS data_parallel,
                CAST(pp AS DOUBLE) AS pipeline_parallel, CAST(ep AS DOUBLE) AS expert_parallel, CAST(drafts AS DOUBLE) AS draft_tokens,
                CAST(coalesce(decode_graph_bs, graph_bs) AS DOUBLE) AS cuda_graph_max_bs, mem_fraction AS gpu_mem_util, conservative AS schedule_conservativeness,
                CAST(log_interval AS DOUBLE) AS decode_log_interval, offload AS weights_offload_gib
            FROM args
        ) ON tensor_parallel, data_parallel, pipeline_parallel, expert_parallel, draft_tokens, cuda_graph_max_bs, gpu_mem_util,
            schedule_conservativeness, decode_log_interval, weights_offload_gib INTO NAME key VALUE num
    )
    UNION ALL SELECT a.run, NULL, a.line, key, NULL, num, NULL FROM (
        UNPIVOT (
            SELECT run, line, CAST(context_length AS DOUBLE) AS n_ctx_slot, CAST(chunk AS DOUBLE) AS chunked_prefill_size,
                CAST(max_prefill AS DOUBLE) AS max_prefill_tokens
            FROM args
        ) ON n_ctx_slot, chunked_prefill_size, max_prefill_tokens INTO NAME key VALUE num
    ) a WHERE num > 0 AND NOT EXISTS (SELECT 1 FROM per_rank l WHERE l.run = a.run AND l.kind = 'limits')
    UNION ALL SELECT run, NULL, line, key, word, NULL, NULL FROM (
        UNPIVOT (
            SELECT run, line, lower(dp_attention) AS dp_attention, quant AS quantisation, attention, lower(kv_dtype) AS kv_dtype,
                CASE lower(no_radix) WHEN 'true' THEN 'false' WHEN 'false' THEN 'true' END AS prefix_caching,
                CASE WHEN decode_graph = 'disabled' THEN 'true' WHEN decode_graph IS NOT NULL THEN 'false' ELSE lower(no_graph) END AS eager,
                CASE WHEN spec IN ('None', 'null') THEN 'off' WHEN spec IS NOT NULL THEN 'on' END AS speculation,
                CASE WHEN chunk > 0 THEN 'true' WHEN chunk < 0 THEN 'false' END AS chunked_prefill,
                CASE WHEN whole_args IS NULL OR tp IS NULL OR (tp > 1 AND pp > 1) THEN NULL WHEN pp > 1 THEN 'pipeline' WHEN tp > 1 THEN 'tensor'
                    WHEN dp_size > 1 THEN 'data' ELSE 'none' END AS split
            FROM args
        ) ON dp_attention, eager, quantisation, attention, kv_dtype, prefix_caching, speculation, chunked_prefill, split INTO NAME key VALUE word
    )
    UNION ALL SELECT run, NULL, min(line), 'custom_all_reduce', CASE WHEN bool_or(off) THEN 'false' ELSE 'true' END, NULL, NULL FROM (
        SELECT run, line, lower(no_custom) = 'true' AS off FROM args WHERE no_custom IS NOT NULL
        UNION ALL SELECT run, line, TRUE FROM own WHERE kind = 'no-custom-allreduce'
    ) GROUP BY run
    UNION ALL SELECT run, NULL, line, 'other_args', {other_args("args_text", _READ_ARGS)}, NULL, NULL FROM args WHERE args_text IS NOT NULL
    UNION ALL SELECT l.run, l.dp, l.line, 'chunked_prefill', CASE WHEN l.chunk > 0 THEN 'true' ELSE 'false' END, NULL, NULL
        FROM per_rank l WHERE l.kind = 'limits' AND l.chunk IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM args a WHERE a.run = l.run AND a.chunk IS NOT NULL)
)
SELECT line, 'sglang' AS server, dp AS engine, run, key,
    coalesce(value, CASE WHEN num = floor(num) THEN CAST(CAST(num AS BIGINT) AS VARCHAR) ELSE CAST(num AS VARCHAR) END) AS value,
    num, num_hi, 'logged' AS origin
FROM found WHERE value IS NOT NULL OR num IS NOT NULL ORDER BY line, key, value
"""

_REQUESTS = """
SELECT line, 'server' AS origin, 'sglang' AS server, dp AS engine, run, 'line ' || CAST(line AS VARCHAR) AS request, t AS finished_at,
    t - (queue_ms + forward_ms) / 1000 AS queued_at, t - forward_ms / 1000 AS started_at, t - post_ms / 1000 AS first_token_at,
    res AS resolution_s, queue_ms, prefill_ms AS prompt_ms, post_ms AS decode_ms, output_n AS output_tokens,
    CASE WHEN cached_n <= input_n THEN input_n - cached_n END AS prompt_tokens, cached_n AS cached_tokens
FROM own WHERE kind = 'request' AND queue_ms + forward_ms < 86400000 -- early builds print the time since 1970 where a stamp is missing
QUALIFY stage IS NOT DISTINCT FROM min(stage) OVER (PARTITION BY run, dp) ORDER BY line
"""

_MODELS = """
WITH loads AS (
    SELECT run, min(line) AS line, arch, arg_min(quant_algo, line) AS algo, arg_min(quant_type, line) AS quant,
        row_number() OVER (PARTITION BY run ORDER BY min(line)) - 1 AS section
    FROM own WHERE kind = 'weights' GROUP BY run, arch
), names AS (
    SELECT run, max(line) AS line, arg_max(model_name, line) AS model_name, arg_max(quant, line) AS quant
    FROM own WHERE kind = 'args' GROUP BY run
)
SELECT coalesce(l.line, n.line) AS line, CASE WHEN coalesce(l.section, 0) = 0 THEN n.model_name END AS name, l.arch,
    coalesce(l.run, n.run) AS run, CAST(coalesce(l.section, 0) AS INTEGER) AS section,
    coalesce(nullif(l.algo, 'None'), nullif(l.quant, 'None'), CASE WHEN coalesce(l.section, 0) = 0 THEN n.quant END) AS quantisation
FROM loads l FULL JOIN names n ON l.run = n.run WHERE l.arch IS NOT NULL OR n.model_name IS NOT NULL ORDER BY 1
"""

_QUALITY = """
SELECT min(line) AS line, 'date-unknown' AS kind, count(*) AS n,
    'times without a date: seconds of the day, rising past midnight; the day is not in the file' AS note
FROM staged WHERE year IS NULL AND t < 86400 HAVING count(*) > 0
"""

_SAMPLE_EARLY = """\
new fill batch. #seq: 3. #cached_token: 120. #new_token: 900. #remaining_req: 4. #running_req: 6. tree_cache_hit_rate: 11.76%
[gpu=1] Decode batch. #running-req: 9, #token: 5000, token usage: 0.40, gen throughput (token/s): 210.50, #queue-req: 4
"""

_SAMPLE_CLOCK = """\
[23:59:58 TP0] Prefill batch(mixed #running-req: 2). #new-seq: 1, #new-token: 64, #cached-token: 32, cache hit rate: 33.33%, #queue-req: 0
[23:59:58 TP0] Decode batch. #running-req: 3, #token: 700, token usage: 0.02, gen throughput (token/s): 140.00, #queue-req: 0
[00:00:01 TP0] Decode batch. #running-req: 3, #token: 820, token usage: 0.03, gen throughput (token/s): 150.25, #queue-req: 0
[00:00:02 TP0] decode out of memory happened, #retracted_reqs: 2, #new_token_ratio: 0.4000 -> 0.9000
"""

_ARGS = (
    "ServerArgs(model_path='/models/acme/Tiny-8B-FP8', tokenizer_path='/models/acme/Tiny-8B-FP8', context_length=None, "
    "quantization='fp8', api_key='sk-not-for-anyone', max_running_requests=64, chunked_prefill_size=4096, max_prefill_tokens=16384, "
    "schedule_conservativeness=0.5, mem_fraction_static=0.85, tp_size=2, dp_size=1, ep_size=1, attention_backend='fa3', "
    "speculative_algorithm=None, speculative_num_draft_tokens=None, disable_cuda_graph=False, cuda_graph_max_bs=160, "
    "enable_dp_attention=False, decode_log_interval=40)"
)
_SAMPLE_BOOT = f"""\
[2025-09-01 08:00:00] server_args={_ARGS}
[2025-09-01 08:00:05 TP1] sglang is using nccl==2.27.3
[2025-09-01 08:00:06 TP1] Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs.
[2025-09-01 08:00:07 TP0] Load weight begin. avail mem=78.50 GB
[2025-09-01 08:00:20 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=70.25 GB, mem usage=8.25 GB.
[2025-09-01 08:00:21 TP0] KV Cache is allocated. #tokens: 400000, K size: 12.00 GB, V size: 12.00 GB
[2025-09-01 08:00:22 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=40.00 GB
Capturing batches (bs=8 avail_mem=39.00 GB):  50%|#####     | 1/2 [00:01<00:01, \
 1.00it/s][2025-09-01 08:00:40 TP0] max_total_num_tokens=400000, \
chunked_prefill_size=4096, max_prefill_tokens=16384, max_running_requests=64, context_len=32768, available_gpu_mem=38.00 GB
[2025-09-01 08:00:41] INFO:     10.1.2.3:40000 - "POST /v1/chat/completions HTTP/1.1" 200 OK
[2025-09-01 08:00:42] The server is fired up and ready to roll!
[2025-09-01 08:00:50 TP0] Prefill batch. #new-seq: 4, #new-token: 4096, #cached-token: 16, token usage: 0.00, #running-req: 0, \
#queue-req: 2,
[2025-09-01 08:00:51 TP0] Prefill batch. #new-seq: 2, #new-token: 2048, #cached-token: 0, token usage: 0.01, #running-req: 4, \
#queue-req: 0,
[2025-09-01 08:00:52 TP0] Decode batch. #running-req: 6, #token: 6400, token usage: 0.02, cuda graph: True, \
gen throughput (token/s): 3.40, #queue-req: 0,
[2025-09-01 08:00:53 TP0] Decode batch. #running-req: 6, #token: 6640, token usage: 0.02, accept len: 2.10, cuda graph: True, \
gen throughput (token/s): 240.75, #queue-req: 0, timestamp: 2025-09-01T08:00:53.120001
[2025-09-01 08:20:00 TP0] Decode batch. #running-req: 1, #token: 900, token usage: 0.00, npu graph: False, \
gen throughput (token/s): 0.21, #queue-req: 0,
[2025-09-01 08:20:01 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio: 0.5000 -> 0.9500
"""

_SAMPLE_RANKS = """\
(SGLangEngine pid=11, ip=10.0.0.9) [2026-01-05 12:00:00 DP0 TP0] Decode batch [400], #running-req: 30, #token: 90000, token usage: 0.50, \
cuda graph: True, gen throughput (token/s): 900.00, #queue-req: 1, [repeated 2x across cluster]
(SGLangEngine pid=11, ip=10.0.0.9) [2026-01-05 12:00:00 DP1 TP1] Decode batch [400], #running-req: 12, #token: 30000, token usage: 0.20, \
cuda graph: True, gen throughput (token/s): 400.00, #queue-req: 0,
(SGLangEngine pid=22) [2026-01-05 12:00:01 DP0 PP0 TP0 EP0] Decode batch, #running-req: 7, #full token: 8000, full token usage: 0.30, \
#swa token: 900, \
swa token usage: 0.97, cuda graph: True, gen throughput (token/s): 300.50, #queue-req: 5
(SGLangEngine pid=22) [2026-01-05 12:00:02.250 DP0 PP0 TP0 EP0] Decode batch, #running-req: 8, full token usage: 0.31, mamba num: 9, \
mamba usage: 0.64, \
cuda graph: True, gen throughput (token/s): 310.50, #queue-req: 4
(SGLangEngine pid=22) [2026-01-05 12:00:03 DP0 PP0 TP0 EP0] Prefill batch, #new-seq: 2, #new-token: 4096, #cached-token: 64, \
token usage: 0.33, \
#running-req: 8, #queue-req: 2, #pending-token: 7000, cuda graph: False, input throughput (token/s): 5000.25
(SGLangEngine pid=22) [2026-01-05 12:00:04 DP0 PP0 TP0 EP0] Prefill batch, #new-seq: 2, #new-token: 4096, #cached-token: 0, \
token usage: 0.35, \
#running-req: 10, #queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): 4100.75
"""

_SAMPLE_REQUESTS = """\
[2026-06-01 10:00:10 DP1 TP1] ReqTimeStats(rid=0f0f, input_len=900, cached_input_len=100, output_len=50, attempts=0, type=unified): \
queue_duration=1500.00ms, initial_prefill_elapsed=500.00ms, post_prefill_elapsed=2000.00ms, forward_duration=2500.00ms, \
entry_time=1780308006.000
[2026-06-01 10:00:11 TP0] Req Time Stats(rid=0f10, input len=38, output len=484, type=unified): queue_duration=0.50ms, \
forward_duration=4000.00ms, start_time=77.5
"""

_SAMPLE_QUOTED = """\
[2025-09-01 09:00:00] Receive: obj=GenerateReqInput(text='[2025-09-01 09:00:00 TP0] Decode batch. #running-req: 99, #queue-req: 99')
[2025-09-01 09:00:01 TP0] Decode batch. #running-req: 2, #token: 64, token usage: 0.00, gen throughput (token/s): 1.00, #queue-req: 0
user: Decode batch. #running-req: 77, #token: 64, token usage: 0.00, gen throughput (token/s): 7.00, #queue-req: 7
"""

_SAMPLE_DRESSED = """\
2025-10-05 09:00:01 INFO 310 [ DP2 TP2 EP2 scheduler_metrics_mixin.py:222] Decode batch. #running-req: 24, #token: 88000, \
token usage: 0.44, accept len: 1.80, pre-allocated usage: 0.04, #retracted-req: 0, cuda graph: True, gen throughput (token/s): 510.50, \
#queue-req: 6,
2025-10-05T09:00:02.250Z  INFO scheduler.log_decode_stats: Decode batch. #running-req: 3, #token: 0, token usage: 0.00, \
cuda graph: True, gen throughput (token/s): 61.25, #queue-req: 0
2025-10-05 09:00:03 TP1] KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_token_ratio: 0.1000 -> 0.3000
[2025-10-05 09:00:03 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_token_ratio: 0.1000 -> 0.3000
"""

PARSER = LineFormat(
    name="sglang-server",
    server="sglang",
    stamps=(
        Stamp(rf"{_START}({_DAY}\.\d+Z) +[A-Z]+ ", parse="iso", clock="utc", resolution_s=1e-3, search=True),
        Stamp(rf"{_START}\[?({_DAY}[.,]\d+)[ \]|-]", parse="iso", clock="local-no-zone", resolution_s=1e-3, search=True),
        Stamp(rf"{_START}\[?({_DAY})[ \]|-]", parse="iso", clock="local-no-zone", resolution_s=1.0, search=True),
        Stamp(rf"{_START}\[(\d\d:\d\d:\d\d)[ \]]", parse="clock", clock="local-no-zone", resolution_s=1.0, search=True),
    ),
    lines=(*_BATCH_LINES, *_REQUEST_LINES, *_EVENT_LINES, *_CONFIG_LINES),
    noise=_NOISE,
    prepare={"own": _OWN},
    assemble={
        "server_samples": _SAMPLES,
        "requests": _REQUESTS,
        "server_events": _EVENTS,
        "server_config": _CONFIG,
        "models": _MODELS,
        "quality": _QUALITY,
    },
    samples=(
        Sample(
            text=_SAMPLE_EARLY,
            versions="0.1 and 0.2",
            rows={
                "server_samples": [
                    {
                        "phase": "prefill",
                        "running": 9,
                        "waiting": 4,
                        "cached_tokens": 120,
                        "new_tokens": 900,
                        "prefix_hit": 0.1176,
                        "time": None,
                    },
                    {"phase": "decode", "rank": "GPU1", "running": 9, "waiting": 4, "kv_usage": 0.4, "gen_tok_s": None},
                ],
                "server_config": [],
            },
        ),
        Sample(
            text=_SAMPLE_CLOCK,
            versions="0.2.13 to 0.3.3",
            rows={
                "server_samples": [
                    {"time": 86398.0, "phase": "mixed", "rank": "TP0", "running": 3, "prefix_hit": 0.3333, "kv_usage": None},
                    {"time": 86398.0, "phase": "decode", "running": 3, "gen_tok_s": None},
                    {"time": 86401.0, "phase": "decode", "running": 3, "kv_usage": 0.03, "gen_tok_s": 150.25},
                ],
                "server_events": [{"time": 86402.0, "kind": "retract", "value": 2}],
                "quality": [{"kind": "date-unknown", "n": 4}],
            },
        ),
        Sample(
            text=_SAMPLE_BOOT,
            versions="0.4.9 to 0.5.3",
            rows={
                "server_samples": [
                    {"phase": "prefill", "running": 4, "waiting": 2, "new_tokens": 4096, "cached_tokens": 16, "kv_usage": 0.0},
                    {"phase": "prefill", "running": 6, "waiting": 0, "new_tokens": 2048},
                    {"phase": "decode", "running": 6, "gen_tok_s": None, "cuda_graph": True},
                    {"time": 1756713653.0, "running": 6, "gen_tok_s": 240.75, "accept_len": 2.1},
                    {"running": 1, "gen_tok_s": None, "cuda_graph": False},
                ],
                "server_events": [
                    {"kind": "fallback", "detail": "custom-allreduce"},
                    {"kind": "loading", "detail": "weights"},
                    {"kind": "loading", "detail": "weights"},
                    {"kind": "loading", "detail": "cuda-graph"},
                    {"kind": "access", "value": 200},
                    {"kind": "loaded", "time": 1756713642.0},
                    {"kind": "retract", "value": 3},
                ],
                "server_config": [
                    {"key": "attention", "value": "fa3"},
                    {"key": "chunked_prefill", "value": "true"},
                    {"key": "cuda_graph_max_bs", "num": 160},
                    {"key": "data_parallel", "num": 1},
                    {"key": "decode_log_interval", "num": 40},
                    {"key": "dp_attention", "value": "false"},
                    {"key": "eager", "value": "false"},
                    {"key": "expert_parallel", "num": 1},
                    {"key": "gpu_mem_util", "num": 0.85},
                    {"key": "other_args", "value": "f3a07804"},
                    {"key": "quantisation", "value": "fp8"},
                    {"key": "schedule_conservativeness", "num": 0.5},
                    {"key": "speculation", "value": "off"},
                    {"key": "split", "value": "tensor"},
                    {"key": "tensor_parallel", "num": 2, "value": "2"},
                    {"key": "nccl", "value": "2.27.3"},
                    {"key": "custom_all_reduce", "value": "false"},
                    {"key": "weights_gib", "value": "TP0", "num": 8.25},
                    {"key": "chunked_prefill_size", "num": 4096},
                    {"key": "kv_tokens", "num": 400000},
                    {"key": "max_prefill_tokens", "num": 16384},
                    {"key": "n_ctx_slot", "num": 32768},
                    {"key": "slots", "num": 64, "num_hi": None, "origin": "logged", "line": 8},
                    {"key": "slots_source", "value": "max_running_requests"},
                ],
                "models": [{"name": "Tiny-8B-FP8", "arch": "LlamaForCausalLM", "section": 0, "quantisation": "fp8"}],
            },
        ),
        Sample(
            text=_SAMPLE_RANKS,
            versions="0.5.4 and later, Ray",
            rows={
                "server_samples": [
                    {"run": 0, "engine": 0, "rank": "DP0 TP0", "running": 30, "waiting": 1, "kv_usage": 0.5},
                    {"run": 0, "engine": 1, "rank": "DP1 TP1", "running": 12, "waiting": 0},
                    {"run": 1, "engine": 0, "rank": "DP0 PP0 TP0 EP0", "running": 7, "kv_usage": 0.97, "gen_tok_s": None},
                    {"run": 1, "time": 1767614402.25, "running": 8, "kv_usage": 0.64, "gen_tok_s": 310.5},
                    {"phase": "prefill", "running": 10, "kv_usage": 0.33, "prompt_tok_s": None, "cuda_graph": False},
                    {"phase": "prefill", "running": 12, "kv_usage": 0.35, "prompt_tok_s": 4100.75},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_REQUESTS,
            versions="times of requests, 0.5 and later",
            rows={
                "requests": [
                    {
                        "engine": 1,
                        "finished_at": 1780308010.0,
                        "queued_at": 1780308006.0,
                        "started_at": 1780308007.5,
                        "first_token_at": 1780308008.0,
                        "queue_ms": 1500.0,
                        "prompt_ms": 500.0,
                        "decode_ms": 2000.0,
                        "prompt_tokens": 800.0,
                        "cached_tokens": 100.0,
                        "output_tokens": 50.0,
                    },
                    {"finished_at": 1780308011.0, "queue_ms": 0.5, "first_token_at": None, "prompt_tokens": None, "output_tokens": 484.0},
                ]
            },
        ),
        Sample(
            text=_SAMPLE_DRESSED,
            versions="other formatters, Dynamo, a selection that missed the first bracket",
            rows={
                "server_samples": [
                    {
                        "time": 1759654801.0,
                        "engine": 2,
                        "rank": "DP2 TP2 EP2",
                        "running": 24,
                        "waiting": 6,
                        "kv_usage": 0.44,
                        "gen_tok_s": None,
                    },
                    {"time": 1759654802.25, "engine": None, "rank": None, "running": 3, "kv_usage": None, "cuda_graph": True},
                ],
                "server_events": [{"kind": "retract", "value": 2, "line": 4}],
            },
        ),
        Sample(text=_SAMPLE_QUOTED, versions="text inside prompts", rows={"server_samples": [{"running": 2, "waiting": 0, "line": 2}]}),
    ),
)
