"""What SGLang's benchmarks print besides the serving block: requests of `--print-requests`, `bench_one_batch`, `bench_one_batch_server`.

The block "Serving Benchmark Result" of `sglang.bench_serving` and that of `bench_offline_throughput` have the lines of vLLM's block and
are read by vllm-bench-console, in the same file.

**Reads**, between the lines of any other log:

- `python -m sglang.bench_serving --backend sglang-oai-chat --print-requests`: two lines per request with epoch seconds. One row of
  `requests` each (origin `client`, UTC): `sent_at`, `first_token_at` (sent plus `ttft`), `finished_at` (the end line's own time),
  `latency_s`, `ttft_s`, tokens, `status`; `request` is the running number by start. A request without an end line has no status; one
  without a start line was sent `time_delta` before its end. Output tokens are NULL where no first token is known: then the number is
  the one that was asked for.
- `python -m sglang.bench_one_batch`: `Prefill.`, `Decode.  median` and `Total.` lines, one row of `bench_steps` per `Total.`: batch size
  (`Decode N. Batch size:`, 2025 on) as `concurrency`, prefill as `ttft_mean_ms`, median step as `tpot_p50_ms`, median decode throughput
  as `aggregate_tok_s`, total as `wall_s`. The warm-up pass (`Warmup ...` to `Benchmark ...`) prints the same lines and is left out.
- `python -m sglang.bench_one_batch_server`: `batch size:` to `last generation throughput:`, one row per block; `aggregate_tok_s` is the
  output throughput, which counts from the last first token on. A warm-up pass is left out.

`series` is `in N out M` where several lengths were run, and `run N` where a load comes again.
"""

from __future__ import annotations

from ..engine.line_format import Int, Line, LineFormat, Num, Sample, Stamp, Text

__all__ = ["PARSER"]

_RID = r"^rid=([0-9a-fA-F-]{8,36}) "

_REQUESTS = (
    Line(
        "start",
        into="requests*",
        anchor='message="request start"',
        after=r"^rid=\S+ time=[0-9.]+ $",
        fields={"rid": Text(_RID), "printed": Num(r" time=([0-9]{9,11}(?:\.[0-9]+)?) ")},
        need=("rid", "printed"),
    ),
    Line(
        "end",
        into="requests*",
        anchor='message="request end"',
        after=r"^rid=\S+ time=[0-9.]+ time_delta=[0-9.e+-]+ $",
        fields={
            "rid": Text(_RID),
            "printed": Num(r" time=([0-9]{9,11}(?:\.[0-9]+)?) "),
            "delta": Num(r" time_delta=([0-9.]+) "),
            "success": Text(r"\bsuccess=(True|False), "),
            "latency": Num(r"\blatency=([0-9.]+), "),
            "ttft": Num(r"\bttft=([0-9.]+), "),
            "prompt_len": Int(r", prompt_len=([0-9]+), error='', "),
            "output_len": Int(r", error='', output_len=([0-9]+)[,)]"),
        },
        need=("rid", "printed", "success"),
    ),
)


def _batch(kind: str, anchor: str | tuple[str, ...], value: str = "", scale: float = 1.0, after: str = r"^\s*$", **more: Num | Int) -> Line:
    """A line of a one-batch benchmark with one value (none: a marker)."""
    fields: dict[str, Num | Int] = {"value": Num(value, scale)} if value else {}
    return Line(kind, into="bench_steps*", anchor=anchor, after=after, fields={**fields, **more}, need=("value",) if value else ())


_ONE_BATCH = (
    _batch("warmup", "Warmup ..."),
    _batch("benchmark", "Benchmark ..."),
    _batch("warmup", " Warmup Begin ", after=r"^=+$"),
    _batch("benchmark", " Warmup End ", after=r"^=+$"),
    _batch("prefill", "Prefill. latency:", r"latency: +([0-9.]+) s, ", 1e3),
    _batch(
        "median", "Decode.  median latency:", r"median latency: +([0-9.]+) s, ", 1e3, rate=Num(r"median throughput: +([0-9.]+) token/s")
    ),
    _batch("batch", "Batch size: ", r"Batch size: ([0-9]+), ", after=r"^Decode +[0-9]+\. $"),
    _batch("total", "Total. latency:", r"latency: +([0-9.]+) s, "),
    _batch("server_batch", "batch size: ", r"^\s*batch size: ([0-9]+)\s*$"),
    _batch("input_len", "input_len: ", r"^\s*input_len: ([0-9]+)\s*$"),
    _batch("output_len", "output_len: ", r"^\s*output_len: ([0-9]+)\s*$"),
    _batch("latency", "latency: ", r"^\s*latency: ([0-9.]+) s\s*$"),
    _batch("output", "output throughput: ", r"^\s*output throughput: ([0-9.]+) tok/s"),
    _batch("accept", "acc_length: ", r"^\s*acc_length: ([0-9.]+)"),
)

_ROWS = """
WITH once AS (
    SELECT
        run, rid, min(line) AS line, min(printed) FILTER (kind = 'start') AS started, max(printed) FILTER (kind = 'end') AS ended,
        any_value(delta) AS delta, any_value(success) AS success, any_value(latency) AS latency, any_value(ttft) AS ttft,
        any_value(prompt_len) AS prompt_len, any_value(output_len) AS output_len
    FROM staged WHERE rid IS NOT NULL GROUP BY run, rid
    HAVING count(*) FILTER (kind = 'end') <= 1 AND count(*) FILTER (kind = 'start') <= 1
), timed AS (
    SELECT *, coalesce(started, ended - delta) AS sent, CASE WHEN success = 'True' AND ttft > 0 THEN ttft END AS first_token FROM once
)
SELECT
    line, 'client' AS origin, 0 AS run, CAST(row_number() OVER (ORDER BY sent, line) - 1 AS VARCHAR) AS request, sent AS sent_at,
    sent + first_token AS first_token_at, ended AS finished_at, 1e-6 AS resolution_s,
    CASE WHEN success = 'True' THEN coalesce(nullif(latency, 0), delta) END AS latency_s, first_token AS ttft_s,
    CASE WHEN success = 'True' THEN nullif(prompt_len, 0) END AS prompt_tokens,
    CASE WHEN first_token IS NOT NULL THEN nullif(output_len, 0) END AS output_tokens,
    CASE success WHEN 'True' THEN 'ok' WHEN 'False' THEN 'failed' END AS status
FROM timed WHERE sent IS NOT NULL
"""

# A pass ends with its `Total.` line; a block of the server variant begins with its batch size.
_STEPS = """
WITH placed AS (
    SELECT
        *, coalesce(last_value(CASE WHEN kind IN ('warmup', 'benchmark') THEN kind END IGNORE NULLS) OVER w, 'benchmark') AS phase,
        count(*) FILTER (kind = 'total') OVER (PARTITION BY run ORDER BY line ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            + count(*) FILTER (kind IN ('warmup', 'benchmark')) OVER w AS pass_no,
        count(*) FILTER (kind = 'server_batch') OVER w AS block_no
    FROM staged WHERE rid IS NULL WINDOW w AS (PARTITION BY run ORDER BY line)
), passes AS (
    SELECT
        min(line) AS line, NULL::DOUBLE AS input_len, NULL::DOUBLE AS output_len,
        CASE WHEN count(DISTINCT value) FILTER (kind = 'batch') = 1 THEN any_value(value) FILTER (kind = 'batch') END AS concurrency,
        any_value(value) FILTER (kind = 'total') AS wall_s, any_value(value) FILTER (kind = 'prefill') AS ttft_mean_ms,
        any_value(value) FILTER (kind = 'median') AS tpot_p50_ms, any_value(rate) AS aggregate_tok_s, NULL::DOUBLE AS accept_len
    FROM placed WHERE phase = 'benchmark' AND kind IN ('prefill', 'batch', 'median', 'total') GROUP BY run, pass_no
    HAVING count(*) FILTER (kind = 'total') = 1 AND count(*) FILTER (kind = 'prefill') = 1 AND count(*) FILTER (kind = 'median') <= 1
), blocks AS (
    SELECT
        min(line) AS line, any_value(value) FILTER (kind = 'input_len') AS input_len,
        any_value(value) FILTER (kind = 'output_len') AS output_len,
        any_value(value) FILTER (kind = 'server_batch') AS concurrency, any_value(value) FILTER (kind = 'latency') AS wall_s,
        NULL::DOUBLE AS ttft_mean_ms, NULL::DOUBLE AS tpot_p50_ms, any_value(value) FILTER (kind = 'output') AS aggregate_tok_s,
        any_value(value) FILTER (kind = 'accept') AS accept_len
    FROM placed
    WHERE phase = 'benchmark' AND block_no > 0 AND kind IN ('server_batch', 'input_len', 'output_len', 'latency', 'output', 'accept')
    GROUP BY run, block_no
    HAVING count(*) = count(DISTINCT kind) AND count(*) FILTER (kind IN ('input_len', 'output_len', 'latency')) = 3
), every AS (
    SELECT * FROM passes UNION ALL BY NAME SELECT * FROM blocks
), counted AS (
    SELECT
        *, row_number() OVER (PARTITION BY concurrency, input_len, output_len ORDER BY line) AS again,
        (SELECT count(DISTINCT (input_len, output_len)) FROM every) AS lengths
    FROM every
), named AS (
    SELECT
        *, nullif(concat_ws(' ', CASE WHEN lengths > 1 AND input_len IS NOT NULL THEN printf('in %g out %g', input_len, output_len) END,
            CASE WHEN max(again) FILTER (concurrency IS NOT NULL) OVER () > 1 THEN 'run ' || again END), '') AS series
    FROM counted
)
SELECT
    line, series, row_number() OVER (PARTITION BY series ORDER BY line) AS step, concurrency, concurrency AS requests,
    input_len, output_len,
    concurrency * input_len AS input_tokens, concurrency * output_len AS output_tokens, nullif(wall_s, 0) AS wall_s,
    nullif(ttft_mean_ms, 0) AS ttft_mean_ms, nullif(tpot_p50_ms, 0) AS tpot_p50_ms, nullif(aggregate_tok_s, 0) AS aggregate_tok_s,
    CASE WHEN aggregate_tok_s > 0 THEN 'output' END AS aggregate_counts, nullif(accept_len, 0) AS accept_len
FROM named
"""

SAMPLES = (
    Sample(
        'rid=5b0e1f6a-0000-4000-8000-000000000001 time=1772000000.25 message="request start" '
        "request_func_input=\"RequestFuncInput(prompt='...')\"\n"
        'rid=5b0e1f6a-0000-4000-8000-000000000002 time=1772000000.5 message="request start" '
        "request_func_input=\"RequestFuncInput(prompt='...')\"\n"
        'rid=5b0e1f6a-0000-4000-8000-000000000001 time=1772000002.75 time_delta=2.5 message="request end" output="RequestFuncOutput('
        "generated_text='...', success=True, latency=2.25, ttft=0.5, itl=[0.25, 0.5], prompt_len=12, error='', output_len=3, "
        'start_time=91.5)"\n'
        'rid=5b0e1f6a-0000-4000-8000-000000000003 time=1772000004.75 time_delta=4.0 message="request end" output="RequestFuncOutput('
        "generated_text='...', success=False, latency=0.0, ttft=0.0, itl=[], prompt_len=9, error='latency=7.5, output_len=9', "
        'output_len=64)"\n',
        {
            "requests": [
                {
                    "line": 1,
                    "origin": "client",
                    "request": "0",
                    "sent_at": 1772000000.25,
                    "first_token_at": 1772000000.75,
                    "finished_at": 1772000002.75,
                    "latency_s": 2.25,
                    "ttft_s": 0.5,
                    "prompt_tokens": 12.0,
                    "output_tokens": 3.0,
                    "status": "ok",
                },
                {"line": 2, "request": "1", "sent_at": 1772000000.5, "finished_at": None, "latency_s": None, "status": None},
                {
                    "line": 4,
                    "request": "2",
                    "sent_at": 1772000000.75,
                    "finished_at": 1772000004.75,
                    "latency_s": None,
                    "ttft_s": None,
                    "output_tokens": None,
                    "prompt_tokens": None,
                    "status": "failed",
                },
            ],
            "clocks": [{"kind": "utc"}],
        },
        "bench_serving --print-requests",
    ),
    Sample(
        "Warmup ...\nPrefill. latency: 0.50000 s, throughput:   2048.00 token/s\nDecode 0. Batch size: 4, latency: 0.02000 s, "
        "throughput:    200.00 token/s\n"
        "Decode.  median latency: 0.02000 s, median throughput:    200.00 token/s\nTotal. latency:  0.700 s, throughput:   1508.57 "
        "token/s\n"
        "Benchmark ...\nPrefill. latency: 0.12500 s, throughput:   8192.00 token/s\n"
        "Decode 0. Batch size: 4, latency: 0.01300 s, throughput:    307.69 token/s\n"
        "Decode 1. Batch size: 4, latency: 0.01250 s, throughput:    320.00 token/s\n"
        "Decode.  median latency: 0.01250 s, median throughput:    320.00 token/s\nTotal. latency:  0.512 s, throughput:   2250.00 "
        "token/s\n",
        {
            "bench_steps": [
                {
                    "line": 7,
                    "series": None,
                    "step": 1,
                    "concurrency": 4.0,
                    "requests": 4.0,
                    "wall_s": 0.512,
                    "ttft_mean_ms": 125.0,
                    "tpot_p50_ms": 12.5,
                    "aggregate_tok_s": 320.0,
                    "aggregate_counts": "output",
                    "output_tokens": None,
                },
            ]
        },
        "bench_one_batch, 2025 on",
    ),
    Sample(
        "Prefill. latency: 0.12500 s, throughput:   8192.00 token/s\nDecode.  latency: 0.01300 s, throughput:    307.69 token/s\n"
        "Decode.  median latency: 0.01250 s, median throughput:    320.00 token/s\nTotal. latency:  0.512 s, throughput:   2250.00 "
        "token/s\n",
        {"bench_steps": [{"line": 1, "concurrency": None, "wall_s": 0.512, "ttft_mean_ms": 125.0, "aggregate_tok_s": 320.0}]},
        "bench_one_batch of 2024: no batch size",
    ),
    Sample(
        "======== Warmup Begin ========\nbatch size: 16\ninput_len: 1024\noutput_len: 16\nlatency: 9.25 s\noutput throughput: 50.50 tok/s\n"
        "======== Warmup End   ========\nbatch size: 1\ninput_len: 1024\noutput_len: 16\nlatency: 0.50 s\ninput throughput: 9000.00 tok/s\n"
        "output throughput: 64.50 tok/s\nlast_ttft: 0.25 s\nlast generation throughput: 66.50 tok/s\nacc_length: 2.50\n"
        "batch size: 16\ninput_len: 1024\noutput_len: 16\nlatency: 1.25 s\noutput throughput: 500.50 tok/s\n",
        {
            "bench_steps": [
                {
                    "line": 8,
                    "step": 1,
                    "series": None,
                    "concurrency": 1.0,
                    "input_len": 1024.0,
                    "output_tokens": 16.0,
                    "wall_s": 0.5,
                    "aggregate_tok_s": 64.5,
                    "accept_len": 2.5,
                },
                {
                    "line": 17,
                    "step": 2,
                    "concurrency": 16.0,
                    "requests": 16.0,
                    "output_tokens": 256.0,
                    "wall_s": 1.25,
                    "aggregate_tok_s": 500.5,
                },
            ]
        },
        "bench_one_batch_server",
    ),
)

PARSER = LineFormat(
    name="sglang-bench-console",
    server="sglang",
    lines=(*_REQUESTS, *_ONE_BATCH),
    stamps=(Stamp(r"^rid=\S+ time=([0-9]{9,11}(?:\.[0-9]+)?) ", parse="unix", clock="utc", resolution_s=1e-6, search=True),),
    noise=("last generation throughput: ", "last_ttft: ", "input throughput: ", "cache hit rate: ", "Decode.  latency: "),
    assemble={"requests": _ROWS, "bench_steps": _STEPS},
    samples=SAMPLES,
)
