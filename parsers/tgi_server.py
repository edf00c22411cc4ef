r"""Hugging Face text-generation-inference (TGI): router and launcher logs, as text or with `--json-output`.

How to get one: `docker logs NAME > tgi.log 2>&1` (with or without `-t`), `text-generation-launcher ... 2>&1 | tee tgi.log`.

Versions 0.9 to 3.3: text lines with spans (`generate{... total_time="1.2s" ...}: ... Success`) and the two JSON shapes, that of the
launcher (`fields.message`) and that of the router (`message` on top). Times are UTC with microseconds.

Tables
- `requests` (origin server): one row per Success line, written when the request ends. finished_at: time of the line. queued_at: that
  minus total_time. started_at: minus inference_time. queue_ms: queue_time, the wait for a place in the batch. output_tokens:
  inference_time over time_per_token where that is a whole number (no line prints a count). When the first token came is not in the log.
- `server_config` keys: max_concurrent_requests, max_batch_size and slots (only where `--max-batch-size` is set), kv_tokens
  (`Setting max batch total tokens to`, else the argument), n_ctx_slot (max_total_tokens), max_batch_prefill_tokens, waiting_served_ratio,
  max_waiting_tokens, tensor_parallel, split, quantisation, attention, prefix_caching, eager, speculation, draft_tokens.
- `server_events`: loading (start, warm-up), loaded, error (overloaded: the answer 429; generation-failed).

Traps
- max_concurrent_requests is no slot limit and no queue: above it the router answers 429. What queues is the batch, by its token budget
  (kv_tokens), so there is no `slots` without max_batch_size.
- Durations are Rust debug text in one unit (`1.2s`, `20ms`, `754.5us` with a micro sign, `980ns`).
- Request parameters stand inside the Success line and hold what users wrote (stop words): their quotes are escaped, so a duration in
  them is not taken for one.
- Arguments are one line, or one per line from 2.0 on; there, lines count only close below `Args {`. Values that Rust spreads over
  several lines (`Some(`) are read by tgi-args.
- text-embeddings-inference looks alike but prints no time per token; it is left to others.
"""

from __future__ import annotations

from ..engine.line_format import Field, Int, Line, LineFormat, Num, Sample, Stamp, Text, Word

_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"
_UNITS = {"s": 1e3, "ms": 1.0, "us": 1e-3, "ns": 1e-6}
_NAMES = ("total_time", "queue_time", "inference_time", "time_per_token")
_ROUTER = r"text_generation_router(?:_v\d)?(?:::\w+)*"
_LAUNCHER = rf"(?:[\w-]+: )?(?:text_generation_launcher|{_ROUTER}): (?:[\w/.-]+:\d+: )?"
_JSON = r'^\{"timestamp":"[^"]*","level":"[A-Z]+",(?:"fields":\{)?"message":"'
_SAYS = rf"(?:{_JSON}|^{_LAUNCHER})$"


def _durations() -> dict[str, Field]:
    """`<name>_<unit>`: the duration in milliseconds, for the one unit it is printed in."""
    sign = {"us": "(?:\u00b5|\u03bc|u)s"}
    return {
        f"{name}_{unit}": Num(rf'\b{name}(?:="|":")(\d+(?:\.\d+)?){sign.get(unit, unit)}"', scale=scale)
        for name in _NAMES
        for unit, scale in _UNITS.items()
    }


_DONE_LINES = (
    Line(
        "done",
        into="requests*",
        anchor='time_per_token="',
        after=r"^(?:\w[\w ]*\{.*\}:)?\w+\{.*$",
        fields={**_durations(), "success": Text(rf'"\}}: {_ROUTER}: [\w/.-]+:\d+: (Success)\s*$')},
        need=("success",),
        serves=True,
    ),
    Line(
        "done",
        into="requests*",
        anchor='"message":"Success"',
        after=r'^\{"timestamp":"[^"]*","level":"INFO",(?:"fields":\{)?$',
        fields={**_durations(), "success": Text(rf'"message":"(Success)"\}}?,"target":"{_ROUTER}"')},
        need=("success",),
        serves=True,
    ),
)


def _event(name: str, anchor: str | tuple[str, ...], kind: str, detail: str, serves: bool = False) -> Line:
    """A line of the launcher or the router that stands for one event."""
    return Line(name, into="server_events", anchor=anchor, after=_SAYS, fields={"kind": Word(kind), "detail": Word(detail)}, serves=serves)


_EVENT_LINES = (
    _event("warming", "Warming up model", "loading", "warm-up"),
    _event("shards", ("Starting shard", "Waiting for shard"), "loading", "start"),
    _event("connected", "Connected", "loaded", "ready", serves=True),
    *(
        Line(
            detail,
            into="server_events",
            anchor=anchor,
            after=rf"(?:{_JSON}|^(?:\w[\w ]*\{{.*\}}:)?\w+(?:\{{.*\}})?(?::\w+)*: {_ROUTER}: [\w/.-]+:\d+: |^{_LAUNCHER})$",
            fields={"kind": Word("error"), "detail": Word(detail)},
            serves=True,
        )
        for detail, anchor in (("overloaded", "Model is overloaded"), ("generation-failed", "Request failed during generation"))
    ),
)

_SOME = r"(?:Some\()?"
_ARGS: dict[str, Field] = {
    "max_concurrent_requests": Int(rf"\bmax_concurrent_requests: {_SOME}(\d+)"),
    "max_total_tokens": Int(rf"\bmax_total_tokens: {_SOME}(\d+)"),
    "max_batch_total_tokens": Int(rf"\bmax_batch_total_tokens: {_SOME}(\d+)"),
    "max_batch_prefill_tokens": Int(rf"\bmax_batch_prefill_tokens: {_SOME}(\d+)"),
    "max_batch_size": Int(rf"\bmax_batch_size: {_SOME}(\d+)"),
    "max_waiting_tokens": Int(rf"\bmax_waiting_tokens: {_SOME}(\d+)"),
    "waiting_served_ratio": Num(rf"\bwaiting_served_ratio: {_SOME}(\d+(?:\.\d+)?)"),
    "num_shard": Int(r"\bnum_shard: Some\((\d+)\)"),
    "quantisation": Text(r"\bquantize: Some\((\w{1,40})\)"),
    "speculate": Int(r"\bspeculate: Some\((\d+)\)"),
}

_TOLD = ("max_total_tokens", "max_batch_prefill_tokens")  # chosen by the launcher, and said

_CONFIG_LINES = (
    Line(
        "args",
        into="server_config*",
        anchor="Args {",
        after=rf"(?:{_JSON}|^{_LAUNCHER})$",
        fields=_ARGS,
        starts_run=True,
    ),
    Line(
        "arg",
        into="server_config*",
        anchor=tuple(f"{key}: " for key in _ARGS if key not in ("num_shard", "quantisation", "speculate")),
        after=r"^ {4}$",
        fields={k: v for k, v in _ARGS.items() if k not in ("num_shard", "quantisation", "speculate")},
    ),
    Line(
        "budget",
        into="server_config*",
        anchor="Setting max batch total tokens to ",
        after=_SAYS,
        fields={"budget": Int(r"Setting max batch total tokens to (\d+)")},
        need=("budget",),
    ),
    Line(
        "default",
        into="server_config*",
        anchor=(*(f"Default `{key}` to " for key in _TOLD), "Maximum total tokens defaulted to "),
        after=_SAYS,
        fields={
            **{key: Int(rf"Default `{key}` to (\d+)") for key in _TOLD},
            "max_total_tokens": Int(r"(?:Default `max_total_tokens` to|Maximum total tokens defaulted to) (\d+)"),
        },
    ),
    Line(
        "attention",
        into="server_config*",
        anchor="Using attention ",
        after=_SAYS,
        fields={"attention": Text(r"Using attention (\w{1,40})"), "prefix_caching": Text(r"Prefix caching (\w{4,5})\b")},
        need=("attention",),
    ),
    Line(
        "shard count",
        into="server_config*",
        anchor="Sharding model on ",
        after=_SAYS,
        fields={"num_shard": Int(r"Sharding model on (\d+) processes")},
        need=("num_shard",),
    ),
    Line("graphs", into="server_config*", anchor=("Cuda Graphs are enabled for sizes", "Using default cuda graphs"), after=_SAYS),
    Line("no graphs", into="server_config*", anchor=("Cuda Graphs are disabled", "Disabling CUDA graphs"), after=_SAYS),
)

_NOISE = ("Server started at unix://", "Shard ready in ", "Starting Webserver")

_MS = ", ".join(f"coalesce({', '.join(f'{name}_{unit}' for unit in _UNITS)}) AS {name}" for name in _NAMES)
_REQUESTS = f"""
WITH done AS (
    SELECT line, run, t, res, {_MS} FROM staged WHERE success IS NOT NULL
)
SELECT line, 'server' AS origin, 'tgi' AS server, run, 'line ' || CAST(line AS VARCHAR) AS request, t AS finished_at,
    t - total_time / 1000 AS queued_at, t - inference_time / 1000 AS started_at, res AS resolution_s, queue_time AS queue_ms,
    CASE WHEN time_per_token > 0 AND abs(inference_time / time_per_token - round(inference_time / time_per_token)) < 0.02
        THEN round(inference_time / time_per_token) END AS output_tokens,
    'ok' AS status
FROM done ORDER BY line
"""

_CONFIG = """
WITH arguments AS (
    SELECT s.* FROM staged s WHERE kind IN ('args', 'shard count', 'default') OR (kind = 'arg' AND EXISTS (
        SELECT 1 FROM staged a WHERE a.kind = 'args' AND a.run = s.run AND s.line - a.line BETWEEN 1 AND 80))
), numbers AS (
    SELECT run, key, arg_max(num, line) AS num, max(line) AS line FROM (
        UNPIVOT (
            SELECT run, line, CAST(max_concurrent_requests AS DOUBLE) AS max_concurrent_requests,
                CAST(max_total_tokens AS DOUBLE) AS n_ctx_slot,
                CAST(max_batch_prefill_tokens AS DOUBLE) AS max_batch_prefill_tokens, CAST(max_batch_size AS DOUBLE) AS max_batch_size,
                CAST(max_waiting_tokens AS DOUBLE) AS max_waiting_tokens, waiting_served_ratio,
                CAST(num_shard AS DOUBLE) AS tensor_parallel, CAST(nullif(speculate, 0) AS DOUBLE) AS draft_tokens
            FROM arguments
        ) ON max_concurrent_requests, n_ctx_slot, max_batch_prefill_tokens, max_batch_size, max_waiting_tokens, waiting_served_ratio,
            tensor_parallel, draft_tokens INTO NAME key VALUE num
    ) GROUP BY run, key
), budgets AS (
    SELECT run, arg_max(budget, line) AS tokens, max(line) AS line FROM staged WHERE budget IS NOT NULL GROUP BY run
    UNION ALL
    SELECT run, arg_max(max_batch_total_tokens, line), max(line) FROM arguments a WHERE max_batch_total_tokens IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM staged b WHERE b.run = a.run AND b.budget IS NOT NULL) GROUP BY run
), found AS (
    SELECT run, line, key, NULL AS value, num FROM numbers
    UNION ALL SELECT run, line, 'kv_tokens', NULL, tokens FROM budgets
    UNION ALL SELECT run, line, 'slots', NULL, num FROM numbers WHERE key = 'max_batch_size'
    UNION ALL SELECT run, line, 'slots_source', 'max_batch_size', NULL FROM numbers WHERE key = 'max_batch_size'
    UNION ALL SELECT run, line, 'split', CASE WHEN num > 1 THEN 'tensor' ELSE 'none' END, NULL FROM numbers WHERE key = 'tensor_parallel'
    UNION ALL SELECT run, line, 'speculation', 'on', NULL FROM numbers WHERE key = 'draft_tokens'
    UNION ALL SELECT run, max(line), 'quantisation', arg_max(lower(quantisation), line), NULL
        FROM arguments WHERE quantisation IS NOT NULL GROUP BY run
    UNION ALL SELECT run, line, key, lower(word), NULL FROM (
        UNPIVOT (SELECT run, line, attention, prefix_caching FROM staged WHERE kind = 'attention')
        ON attention, prefix_caching INTO NAME key VALUE word) WHERE key = 'attention' OR lower(word) IN ('true', 'false')
    UNION ALL SELECT run, max(line), 'eager', CASE WHEN arg_max(kind, line) = 'graphs' THEN 'false' ELSE 'true' END, NULL
        FROM staged WHERE kind IN ('graphs', 'no graphs') GROUP BY run
)
SELECT line, 'tgi' AS server, run, key,
    coalesce(value, CASE WHEN num = floor(num) THEN CAST(CAST(num AS BIGINT) AS VARCHAR) ELSE CAST(num AS VARCHAR) END) AS value,
    num, 'logged' AS origin
FROM found ORDER BY line, key
"""

_SAMPLE_TEXT = """\
2025-02-01T10:00:00.000001Z  INFO text_generation_launcher: Args { model_id: "acme/tiny", num_shard: Some(2), quantize: Some(Awq), \
speculate: None, max_concurrent_requests: 128, max_total_tokens: Some(4096), waiting_served_ratio: 0.3, max_batch_prefill_tokens: \
Some(2048), \
max_batch_total_tokens: None, max_waiting_tokens: 20, max_batch_size: None, hostname: "secret-host", port: 80 }
2025-02-01T10:00:01.000000Z  INFO text_generation_launcher: Sharding model on 2 processes
2025-02-01T10:00:05.000000Z  INFO shard-manager: text_generation_launcher: Shard ready in 4.2s rank=0

2025-02-01T10:00:06.000000Z  INFO text_generation_launcher: Cuda Graphs are enabled for sizes [4, 2, 1]
2025-02-01T10:00:07.000000Z  INFO text_generation_router::server: router/src/server.rs:1572: Warming up model
2025-02-01T10:00:08.000000Z  INFO text_generation_router::server: router/src/server.rs:1651: Setting max batch total tokens to 20480
2025-02-01T10:00:08.500000Z  INFO text_generation_router::server: router/src/server.rs:1889: Connected
2025-02-01T10:01:00.500000Z  INFO generate{parameters=GenerateParameters { max_new_tokens: Some(20), \
stop: ["time_per_token=\\"1ms\\""] } total_time="2.5s" validation_time="500µs" queue_time="1.4995s" inference_time="1s" \
time_per_token="50ms" seed="None"}: text_generation_router::server: router/src/server.rs:299: Success
2025-02-01T10:01:01.000000Z  INFO chat_completions{total_time="20.1ms" validation_time="90ns" queue_time="100.5µs" inference_time="20ms" \
time_per_token="10ms" seed="Some(7)"}: text_generation_router::server: router/src/server.rs:622: Success
2025-02-01T10:01:02.000000Z ERROR chat_completions:generate: text_generation_router::infer: router/src/infer/mod.rs:102: Model is \
overloaded
"""

_SAMPLE_JSON = """\
{"timestamp":"2024-03-01T08:00:00.000100Z","level":"INFO","fields":{"message":"Sharding model on 4 \
processes"},"target":"text_generation_launcher"}
{"timestamp":"2024-03-01T08:00:01.000100Z","level":"INFO","message":"Setting max batch total tokens to \
9000","target":"text_generation_router",\
"filename":"router/src/main.rs","line_number":328}
{"timestamp":"2024-03-01T08:00:02.000100Z","level":"INFO","message":"Connected","target":"text_generation_router","filename":"rout\
er/src/main.rs",\
"line_number":329}
{"timestamp":"2024-03-01T08:00:10.000000Z","level":"INFO","message":"Success","target":"text_generation_router::server",\
"filename":"router/src/server.rs","line_number":299,"span":{"inference_time":"600ms","parameters":"GenerateParameters { stop: [] }",\
"queue_time":"1.5ms","seed":"None","time_per_token":"60ms","total_time":"602ms","validation_time":"500µs","name":"generate"},\
"spans":[{"inference_time":"600ms","name":"generate"}]}
"""

PARSER = LineFormat(
    name="tgi-server",
    server="tgi",
    peel=(r"[A-Z]+:[\w-]+:\s+",),
    stamps=(
        Stamp(rf"^(?:{_TIME} )?({_TIME}) +(?:TRACE|DEBUG|INFO|WARN|ERROR) ", parse="iso", clock="utc", resolution_s=1e-6),
        Stamp(rf'^\{{"timestamp":"({_TIME})","level":', parse="iso", clock="utc", resolution_s=1e-6, search=True),
    ),
    lines=(*_DONE_LINES, *_EVENT_LINES, *_CONFIG_LINES),
    noise=_NOISE,
    assemble={"requests": _REQUESTS, "server_config": _CONFIG},
    samples=(
        Sample(
            text=_SAMPLE_TEXT,
            versions="0.9 to 3.3, text",
            rows={
                "requests": [
                    {
                        "finished_at": 1738404060.5,
                        "queued_at": 1738404058.0,
                        "started_at": 1738404059.5,
                        "queue_ms": 1499.5,
                        "output_tokens": 20,
                        "prompt_ms": None,
                        "status": "ok",
                    },
                    {"finished_at": 1738404061.0, "queue_ms": 0.1005, "output_tokens": 2, "started_at": 1738404060.98},
                ],
                "server_config": [
                    {"key": "max_batch_prefill_tokens", "num": 2048},
                    {"key": "max_concurrent_requests", "num": 128, "value": "128"},
                    {"key": "max_waiting_tokens", "num": 20},
                    {"key": "n_ctx_slot", "num": 4096},
                    {"key": "quantisation", "value": "awq"},
                    {"key": "waiting_served_ratio", "num": 0.3, "value": "0.3"},
                    {"key": "split", "value": "tensor"},
                    {"key": "tensor_parallel", "num": 2},
                    {"key": "eager", "value": "false"},
                    {"key": "kv_tokens", "num": 20480},
                ],
                "server_events": [
                    {"kind": "loading", "detail": "warm-up"},
                    {"kind": "loaded", "time": 1738404008.5},
                    {"kind": "error", "detail": "overloaded"},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_JSON,
            versions="1.4 to 2.x, --json-output",
            rows={
                "requests": [
                    {
                        "finished_at": 1709280010.0,
                        "queued_at": 1709280009.398,
                        "started_at": 1709280009.4,
                        "queue_ms": 1.5,
                        "output_tokens": 10,
                    }
                ],
                "server_config": [
                    {"key": "split", "value": "tensor"},
                    {"key": "tensor_parallel", "num": 4},
                    {"key": "kv_tokens", "num": 9000},
                ],
                "server_events": [{"kind": "loaded"}],
            },
        ),
    ),
)
