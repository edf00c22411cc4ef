"""What `trtllm-bench throughput` and `trtllm-bench latency` print at the end of a run, TensorRT-LLM 0.15 to 1.2.

**Reads** the report alone, several in one file, or between the lines of any log. Lines are known by their label at the start of the line.
A report is known by its `Request Throughput (req/sec):`; what describes the requests and the runtime stands above it and belongs to it.
The JSON that `--report_json` writes is read by trtllm-bench.

**`bench_steps`**, one row per report:

- `concurrency`: `--concurrency N` of a `trtllm-bench` command line above; the report itself does not print what was offered.
  `mean_concurrency`: `Number of concurrent requests`, which is the mean in flight (5.3 of 8).
- `requests`, `wall_s` (`Total Latency`), `req_s`, `input_len`, `output_len`, `e2e_*`, and where the run streamed `ttft_*`, `tpot_*`.
- `aggregate_tok_s` (output): `Total Output Throughput`, `Token Throughput` before 0.17. `total_tok_s`: `Total Token Throughput`.
- `per_stream_tok_s`: `Per User Output Speed` (decode); without streaming `Per User Output Throughput`, which is over the whole latency.

**`server_config`** (server tensorrt-llm): tensor_parallel, pipeline_parallel, max_batched_tokens, slots (`Max Runtime Batch Size`: it is one of
each rank, so with attention data parallelism there are as many more; the report does not say, hence an interval), slots_source.

**Traps.** `Issue Rate` is how fast the harness filled its queue (1e15), not an offered rate. `Per GPU Output Throughput` divides by the
world size. Without streaming there is no first token. The benchmark runs in the server's process: no network, no front end.
"""

from __future__ import annotations

from ..engine.line_format import Line, LineFormat, Num, Sample

__all__ = ["PARSER"]

_AFTER = r"^[\s#>*|]*$"
_NUMBER = r":\s*([0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)(?:\s|$)"


def _value(kind: str, *labels: str, scale: float = 1.0) -> Line:
    return Line(kind, into="bench_steps*", anchor=labels, after=_AFTER, fields={"value": Num(_NUMBER, scale)}, need=("value",))


def _whole(kind: str, label: str) -> Line:
    return Line(kind, into="bench_steps*", anchor=label, after=_AFTER, fields={"value": Num(r":\s*([0-9]+)\s*$")})


_ABOVE = ("concurrency", "requests", "mean_concurrency", "input_len", "output_len", "old_tok_s", "tp", "pp", "batch", "tokens")

_LINES = (
    Line(
        "concurrency",
        into="bench_steps*",
        anchor="trtllm-bench ",
        after=r"^[^\"'{]{0,80}$",
        fields={"value": Num(r"trtllm-bench .*\s--concurrency[= ]([1-9][0-9]*)(?:\s|$)")},
        need=("value",),
    ),
    _value("requests", "Number of requests:"),
    _value("mean_concurrency", "Number of concurrent requests:"),
    _value("input_len", "Average Input Length (tokens):"),
    _value("output_len", "Average Output Length (tokens):"),
    _value("old_tok_s", "Token Throughput (tokens/sec):"),
    _whole("tp", "TP Size:"),
    _whole("pp", "PP Size:"),
    _whole("batch", "Max Runtime Batch Size:"),
    _whole("tokens", "Max Runtime Tokens:"),
    _value("req_s", "Request Throughput (req/sec):"),
    _value("out_tok_s", "Total Output Throughput (tokens/sec):"),
    _value("total_tok_s", "Total Token Throughput (tokens/sec):"),
    _value("wall_s", "Total Latency (ms):", scale=1e-3),
    _value("old_wall_s", "Total Latency (seconds):"),
    _value("e2e_mean_ms", "Average request latency (ms):", "[Latency] AVERAGE:"),
    _value("e2e_p50_ms", "[Latency] P50    :"),
    _value("e2e_p99_ms", "[Latency] P99    :"),
    _value("user_tok_s", "Per User Output Throughput (tokens/sec/user):", "Per User Output Throughput [w/ ctx] (tps/user):"),
    _value("speed_tok_s", "Per User Output Speed [1/TPOT] (tokens/sec/user):", "Per User Output Speed (tps/user):"),
    _value("ttft_mean_ms", "Average time-to-first-token [TTFT] (ms):", "[TTFT] AVERAGE:"),
    _value("ttft_p50_ms", "[TTFT] P50    :"),
    _value("ttft_p99_ms", "[TTFT] P99    :"),
    _value("tpot_mean_ms", "Average time-per-output-token [TPOT] (ms):", "[TPOT] AVERAGE:"),
    _value("tpot_p50_ms", "[TPOT] P50    :"),
    _value("accept_len", "[AL] AVERAGE:"),
)

_NOISE = (
    *("= PERFORMANCE OVERVIEW", "= REQUEST DETAILS", "= WORLD + RUNTIME INFORMATION", "= PYTORCH BACKEND", "= ENGINE DETAILS"),
    *("= DATASET DETAILS", "= MACHINE DETAILS", "Per GPU Output Throughput", "Issue Rate (req/sec):", "-- Per-Request "),
    *("[Latency] MINIMUM:", "[Latency] MAXIMUM:", "[Latency] P90    :", "[Latency] P95    :", "[TTFT] MINIMUM:", "[TTFT] MAXIMUM:"),
    *("[TTFT] P90    :", "[TTFT] P95    :", "[TPOT] MINIMUM:", "[TPOT] MAXIMUM:", "[TPOT] P90    :", "[TPOT] P95    :", "[GTPS] "),
)

_READ = (
    *("requests", "mean_concurrency", "input_len", "output_len", "old_tok_s", "tp", "pp", "batch", "tokens", "req_s", "out_tok_s"),
    *("total_tok_s", "wall_s", "old_wall_s", "e2e_mean_ms", "e2e_p50_ms", "e2e_p99_ms", "user_tok_s", "speed_tok_s", "ttft_mean_ms"),
    *("ttft_p50_ms", "ttft_p99_ms", "tpot_mean_ms", "tpot_p50_ms", "accept_len", "concurrency"),
)

# What stands above a report's first rate belongs to it, of several the last one; of what stands below it the first one.
_REPORTS = f"""
WITH numbered AS (
    SELECT *, kind IN ({", ".join(f"'{k}'" for k in _ABOVE)}) AS above, count(*) FILTER (kind = 'req_s') OVER (PARTITION BY run ORDER BY line) AS n
    FROM staged
), placed AS (
    SELECT *, n + above::INTEGER AS report FROM numbered
)
SELECT run, report, min(line) FILTER (kind = 'req_s') AS line,
    {", ".join(f"CASE WHEN bool_or(above) FILTER (kind = '{k}') THEN arg_max(value, line) FILTER (kind = '{k}') ELSE arg_min(value, line) FILTER (kind = '{k}') END AS {k}" for k in _READ)}
FROM placed GROUP BY run, report HAVING count(*) FILTER (kind = 'req_s') > 0
"""

_STEPS = f"""
WITH reports AS ({_REPORTS}), rows_of AS (
    SELECT
        line, concurrency, requests, coalesce(wall_s, old_wall_s) AS wall_s, nullif(req_s, 0) AS req_s, input_len, output_len,
        nullif(mean_concurrency, 0) AS mean_concurrency, nullif(coalesce(out_tok_s, old_tok_s), 0) AS aggregate_tok_s, nullif(total_tok_s, 0) AS total_tok_s,
        nullif(coalesce(speed_tok_s, user_tok_s), 0) AS per_stream_tok_s,
        CASE WHEN speed_tok_s > 0 THEN 'decode' WHEN user_tok_s > 0 THEN 'latency' END AS per_stream_counts,
        nullif(e2e_mean_ms, 0) AS e2e_mean_ms, e2e_p50_ms, e2e_p99_ms, nullif(ttft_mean_ms, 0) AS ttft_mean_ms,
        CASE WHEN ttft_mean_ms > 0 THEN ttft_p50_ms END AS ttft_p50_ms, CASE WHEN ttft_mean_ms > 0 THEN ttft_p99_ms END AS ttft_p99_ms,
        CASE WHEN ttft_mean_ms > 0 THEN nullif(tpot_mean_ms, 0) END AS tpot_mean_ms, CASE WHEN ttft_mean_ms > 0 THEN tpot_p50_ms END AS tpot_p50_ms,
        CASE WHEN accept_len >= 1 THEN accept_len END AS accept_len
    FROM reports
), loads AS (
    SELECT *, row_number() OVER (PARTITION BY concurrency ORDER BY line) AS again FROM rows_of
), named AS (
    SELECT *, CASE WHEN max(again) FILTER (concurrency IS NOT NULL) OVER () > 1 THEN 'run ' || again END AS series FROM loads
)
SELECT * EXCLUDE (again), row_number() OVER (PARTITION BY series ORDER BY line) AS step,
    CASE WHEN aggregate_tok_s IS NOT NULL THEN 'output' END AS aggregate_counts
FROM named ORDER BY line
"""

_CONFIG = f"""
WITH reports AS ({_REPORTS}), told AS (
    SELECT line, run, 'tensor_parallel' AS key, tp AS num, NULL AS num_hi FROM reports WHERE tp > 0
    UNION ALL SELECT line, run, 'pipeline_parallel', pp, NULL FROM reports WHERE pp > 0
    UNION ALL SELECT line, run, 'max_batched_tokens', tokens, NULL FROM reports WHERE tokens > 0
    UNION ALL SELECT line, run, 'slots', batch, CASE WHEN tp > 1 THEN batch * tp END FROM reports WHERE batch > 0 AND tp > 0
)
SELECT line, 'tensorrt-llm' AS server, run, key, CASE WHEN num_hi IS NULL THEN CAST(CAST(num AS BIGINT) AS VARCHAR) END AS value,
    CAST(num AS DOUBLE) AS num, CAST(num_hi AS DOUBLE) AS num_hi, 'logged' AS origin FROM told
UNION ALL SELECT line, 'tensorrt-llm', run, 'slots_source', 'max_batch_size', NULL, NULL, 'logged' FROM reports WHERE batch > 0 AND tp > 0
ORDER BY line, key
"""

_SAMPLE_STREAMED = """\
$ trtllm-bench --model x/y throughput --dataset /data/z --backend pytorch --concurrency 8 --streaming
[01/02/2026-03:04:05] [TRT-LLM] [I]

===========================================================
= PYTORCH BACKEND
===========================================================
Model:\t\t\tx/y
TensorRT LLM Version:\t1.2.0

===========================================================
= REQUEST DETAILS
===========================================================
Number of requests:             100
Number of concurrent requests:  7.7500
Average Input Length (tokens):  128.0000
Average Output Length (tokens): 64.0000
===========================================================
= WORLD + RUNTIME INFORMATION
===========================================================
TP Size:                2
PP Size:                1
EP Size:                None
Max Runtime Batch Size: 64
Max Runtime Tokens:     8192
Scheduling Policy:      GUARANTEED_NO_EVICT
KV Memory Percentage:   90.00%
Issue Rate (req/sec):   2.0827E+15

===========================================================
= PERFORMANCE OVERVIEW
===========================================================
Request Throughput (req/sec):                     5.0000
Total Output Throughput (tokens/sec):             320.0000
Total Token Throughput (tokens/sec):              960.0000
Total Latency (ms):                               20000.0000
Average request latency (ms):                     1550.5000
Per User Output Throughput [w/ ctx] (tps/user):   41.2500
Per GPU Output Throughput (tps/gpu):              160.0000
Average time-to-first-token [TTFT] (ms):          50.5000
Average time-per-output-token [TPOT] (ms):        23.8000
Per User Output Speed (tps/user):                 42.1000

-- Per-Request Time-per-Output-Token [TPOT] Breakdown (ms)

[TPOT] MINIMUM: 20.0000
[TPOT] MAXIMUM: 30.0000
[TPOT] AVERAGE: 23.8000
[TPOT] P50    : 23.5000
[TPOT] P90    : 25.0000

-- Per-Request Time-to-First-Token [TTFT] Breakdown (ms)

[TTFT] AVERAGE: 50.5000
[TTFT] P50    : 45.5000
[TTFT] P99    : 99.5000

-- Request Latency Breakdown (ms) -----------------------

[Latency] P50    : 1500.5000
[Latency] P99    : 2500.5000
[Latency] AVERAGE: 1550.5000

===========================================================
= DATASET DETAILS
===========================================================
Dataset Path:         /data/z
"""

_SAMPLE_OLD = """\
===========================================================
= ENGINE DETAILS
===========================================================
Model:                  x/y
===========================================================
= WORLD + RUNTIME INFORMATION
===========================================================
TP Size:                1
PP Size:                1
Max Runtime Batch Size: 256
Max Runtime Tokens:     2048
===========================================================
= STATISTICS
===========================================================
Number of requests:             3000
Average Input Length (tokens):  128.0
Average Output Length (tokens): 128.0
Token Throughput (tokens/sec):  23400.5
Request Throughput (req/sec):   182.75
Total Latency (seconds):        16.5
===========================================================
"""

_BOX = {"server": "tensorrt-llm", "origin": "logged"}

PARSER = LineFormat(
    name="trtllm-bench-console",
    server="tensorrt-llm",
    timed=False,
    lines=_LINES,
    noise=_NOISE,
    assemble={"bench_steps": _STEPS, "server_config": _CONFIG},
    samples=(
        Sample(
            text=_SAMPLE_STREAMED,
            versions="1.0 to 1.2, streaming",
            rows={
                "bench_steps": [
                    {
                        "line": 32,
                        "series": None,
                        "step": 1,
                        "concurrency": 8.0,
                        "rate_rps": None,
                        "requests": 100.0,
                        "mean_concurrency": 7.75,
                        "input_len": 128.0,
                        "output_len": 64.0,
                        "req_s": 5.0,
                        "wall_s": 20.0,
                        "aggregate_tok_s": 320.0,
                        "aggregate_counts": "output",
                        "total_tok_s": 960.0,
                        "per_stream_tok_s": 42.1,
                        "per_stream_counts": "decode",
                        "e2e_mean_ms": 1550.5,
                        "e2e_p50_ms": 1500.5,
                        "e2e_p99_ms": 2500.5,
                        "ttft_mean_ms": 50.5,
                        "ttft_p50_ms": 45.5,
                        "ttft_p99_ms": 99.5,
                        "tpot_mean_ms": 23.8,
                        "tpot_p50_ms": 23.5,
                    }
                ],
                "server_config": [
                    {"key": "max_batched_tokens", "num": 8192.0, **_BOX},
                    {"key": "pipeline_parallel", "num": 1.0},
                    {"key": "slots", "num": 64.0, "num_hi": 128.0},
                    {"key": "slots_source", "value": "max_batch_size"},
                    {"key": "tensor_parallel", "num": 2.0},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_OLD,
            versions="0.15 and 0.16",
            rows={
                "bench_steps": [
                    {
                        "concurrency": None,
                        "requests": 3000.0,
                        "req_s": 182.75,
                        "aggregate_tok_s": 23400.5,
                        "wall_s": 16.5,
                        "per_stream_tok_s": None,
                        "ttft_mean_ms": None,
                    }
                ],
            },
        ),
    ),
)
