"""Console output of serving benchmarks: vLLM's block "Serving Benchmark Result", SGLang's and their forks', and vLLM's offline benchmarks.

**Reads** what `vllm bench serve`, `benchmark_serving.py`, `sglang.bench_serving`, `sglang.bench_offline_throughput` and forks print at
the end of a run, alone, several in one file, between the lines of any other log, as comments (`# `), quoted, with or without padding, and
when the paste lost its first lines. All of them print the same lines, so one parser reads them all. Also the result lines of
`vllm bench throughput` and `vllm bench latency`, of `benchmark_serving.py` of 2023 (`Total time`, `Throughput: .. requests/s`, `Average
latency`) and of early 2024, whose units stand behind the numbers (`Mean TTFT: 90.50 ms`). What else SGLang prints is read by sglang-bench-console. llama.cpp's `scripts/server-bench.py` (2025-07 and later) prints
lines of the same kind: its `Average prompt latency` is the time to the first token, and its rate per slot that of all over the slots.

Lines are known by their label, at the start of the line; the value is the last number of the line. Labels of all eras: `Total Token
throughput` (to 2025-12) and `Total token throughput`, `Max reqeuest concurrency` (SGLang to 2025-05), `Total throughput` (forks), P90
to P99.9 lines, `Client Queue Time`, E2EL (vLLM) and `E2E Latency` (SGLang).

A block begins at its banner, where counts follow latencies, or where a label comes again; one row of `bench_steps` each:

- `concurrency`: `Maximum request concurrency` (vLLM inside the block, or the line it prints before the banner) or `Max request
  concurrency`; NULL for `not set` and `None`. **Never** `Peak concurrent requests`, which counts all that was alive at any moment of
  a second (6 for one stream). Under a finite request rate the cap counts only if `Concurrency:` (SGLang's mean) is at least 80 % of it.
- `mean_concurrency`: `Concurrency:`. `rate_rps`: the request rate; NULL for inf and trace.
- `completed`, `failed` (vLLM from 2025-10; before, and in SGLang, failures are not printed), `wall_s`, `req_s`, `input_tokens`,
  `output_tokens`, lengths over `completed`, `aggregate_tok_s` (output), `total_tok_s`, latencies, `accept_len`.
- `series` is `run 1`, `run 2` where a load comes again in the same source (a repetition, or before and after a change: the block does not
  say which); `step` numbers the blocks of a series.

**Traps.** Zeros of a run without a success, `nan` and `-0.00` are NULL. SGLang reports requested instead of returned tokens where the
server sends no usage: with a retokenized count under 70 % of the reported one, or a TTFT of 0 or equal to the latency of answers longer
than a token, token times are NULL. A label that stands twice in a block with different values is NULL. A block of which only latencies
are left gives a row of those. No block holds a time of day.
"""

from __future__ import annotations

from ..engine.line_format import Line, LineFormat, Num, Sample, Text

__all__ = ["PARSER"]

_AFTER = r"^[\s#>*|/;%-]*$"  # comment marks, quotes, list marks
_NUMBER = r":[\s|*]*(-?[0-9][0-9,]*(?:\.[0-9]+)?)(?:[^0-9.,]|$)"
_MARK = r":[\s|*]*(-?[0-9]|nan|inf|not set|None|N/A|trace)"


def _value(kind: str, *labels: str, number: str = _NUMBER) -> Line:
    """A line `label: number`; without a number or a word that stands for none it is a near miss."""
    return Line(kind, into="bench_steps*", anchor=labels, after=_AFTER, fields={"value": Num(number), "mark": Text(_MARK)}, need=("mark",))


def _offline(kind: str, anchor: str | tuple[str, ...], number: str, scale: float = 1.0) -> Line:
    return Line(kind, into="bench_steps*", anchor=anchor, after=_AFTER, fields={"value": Num(number, scale)}, need=("value",))


def _worded(kind: str, *labels: str, unit: str) -> Line:
    """A line `label: number unit` of early 2024, where the unit stood behind the number: another unit is a near miss."""
    return _offline(kind, labels, rf":[\s|*]*(-?[0-9][0-9,]*(?:\.[0-9]+)?)\s?{unit}\b")


_PADDED = Text(r":(\s{8,})\S")
_COUNTS = (
    Line(
        "banner",
        into="bench_steps*",
        anchor=(" Serving Benchmark Result ", " Offline Throughput Benchmark Result "),
        after=r"^[\s#>*|/;%-]*=+$",
    ),
    Line(
        "rate_rps",
        into="bench_steps*",
        anchor=("Request rate configured (RPS):", "Traffic request rate:"),
        after=_AFTER,
        fields={"value": Num(_NUMBER), "mark": Text(_MARK), "padded": _PADDED},
        need=("mark",),
    ),
    Line(
        "concurrency",
        into="bench_steps*",
        anchor=("Maximum request concurrency:", "Max request concurrency:", "Max reqeuest concurrency:"),
        after=_AFTER,
        fields={"value": Num(_NUMBER), "mark": Text(_MARK), "padded": _PADDED},
        need=("mark",),
    ),
    _value("completed", "Successful requests:"),
    _value("failed", "Failed requests:"),
    _value("wall_s", "Benchmark duration (s):"),
    _value("input_tokens", "Total input tokens:"),
    _value("output_tokens", "Total generated tokens:"),
    _value("retokenized", "Total generated tokens (retokenized):"),
    _value("req_s", "Request throughput (req/s):"),
    _value("aggregate_tok_s", "Output token throughput (tok/s):"),
    _value("total_tok_s", "Total token throughput (tok/s):", "Total Token throughput (tok/s):"),
    _worded("wall_s", "Benchmark duration: ", unit="s"),
    _worded("req_s", "Request throughput: ", unit="req(?:uest)?s/s"),
    _worded("aggregate_tok_s", "Output token throughput: ", unit="tok(?:en)?s?/s"),
    _worded("input_tokens", "Total prompt length:", unit="tokens"),
    _worded("aggregate_tok_s", "Average total generation speed:", unit="tok(?:en)?s?/s"),
    _worded("slot_rate", "Average generation speed per slot:", unit="tok(?:en)?s?/s"),
    _worded("prompt_latency", "Average prompt latency:", unit="ms"),
    _offline("mean_concurrency", "Concurrency:", r"Concurrency:[\s|*]*([0-9][0-9,]*\.[0-9]{2})\s*(?:[^0-9.,\s]|$)"),
    _offline("accept_len", "Accept length:", r"Accept length:[\s|*]*([0-9]+\.[0-9]+)"),
    _offline("accept_len", "Acceptance length:", r"Acceptance length:[\s|*]*([0-9]+\.[0-9]+)"),
)
_LATENCIES = tuple(
    line
    for column, labels in {"ttft": ("TTFT",), "tpot": ("TPOT",), "itl": ("ITL",), "e2e": ("E2EL", "E2E Latency")}.items()
    for stat, word in {"mean": "Mean", "p50": "Median", "p99": "P99"}.items()
    for line in (
        _value(f"{column}_{stat}_ms", *(f"{word} {label} (ms):" for label in labels)),
        _worded(f"{column}_{stat}_ms", *(f"{word} {label}: " for label in labels), unit="ms"),
    )
)
_THROUGHPUT = (
    Line(
        "throughput",
        into="bench_steps*",
        anchor="Throughput: ",
        after=_AFTER,
        fields={
            "value": Num(r"Throughput: ([0-9.,]+) requests/s(?:\s*$|, [0-9.,]+ (?:total )?tokens/s)"),
            "total_rate": Num(r" requests/s, ([0-9.,]+) (?:total )?tokens/s"),
            "output_rate": Num(r" ([0-9.,]+) output tokens/s"),
        },
        need=("value",),
    ),
    _worded("total_time", "Total time: ", unit="s"),
    _offline("mean_latency", "Average latency: ", r"Average latency: ([0-9.]+) s\s*$", 1e3),
    _value("prompts_total", "Total num prompt tokens:"),
    _value("outputs_total", "Total num output tokens:"),
    _offline("avg_latency", "Avg latency: ", r"Avg latency: ([0-9.]+) seconds", 1e3),
    _offline("p50_latency", "50% percentile latency: ", r"percentile latency: ([0-9.]+) seconds", 1e3),
    _offline("p99_latency", "99% percentile latency: ", r"percentile latency: ([0-9.]+) seconds", 1e3),
)


def _one(kind: str) -> str:
    """The value of a label, NULL where it stands with several values."""
    return f"CASE WHEN count(DISTINCT value) FILTER (kind = '{kind}') = 1 THEN any_value(value) FILTER (kind = '{kind}') END AS {kind}"


_STATS = ("ttft_mean_ms", "ttft_p50_ms", "ttft_p99_ms", "tpot_mean_ms", "tpot_p50_ms", "itl_mean_ms", "itl_p50_ms", "itl_p99_ms")
_PLAIN = (
    "completed",
    "failed",
    "wall_s",
    "input_tokens",
    "output_tokens",
    "retokenized",
    "req_s",
    "aggregate_tok_s",
    "total_tok_s",
    "mean_concurrency",
    "accept_len",
    "slot_rate",
    "prompt_latency",
)
_READ = ("rate_rps", "concurrency", "before_rate_rps", "before_concurrency", *_PLAIN, *_STATS, "e2e_mean_ms", "e2e_p50_ms", "e2e_p99_ms", "throughput",
         "total_time", "mean_latency", "prompts_total", "outputs_total", "avg_latency", "p50_latency", "p99_latency")  # fmt: skip

# Groups of lines: 0 what vLLM prints before its banner, 1 banner and counts, 2 latencies, 3 one rate (the serving benchmark of 2023 and
# the offline one), 4 the offline latency.
_BLOCKS = f"""
WITH ahead AS (
    SELECT
        *, kind IN ('rate_rps', 'concurrency') AND padded IS NULL
            AND lead(CASE WHEN kind NOT IN ('rate_rps', 'concurrency') THEN kind END IGNORE NULLS) OVER w = 'banner' AS before
    FROM staged WINDOW w AS (PARTITION BY run ORDER BY line)
), grouped AS (
    SELECT
        * EXCLUDE (kind), CASE WHEN before THEN 'before_' ELSE '' END || kind AS kind,
        CASE WHEN before THEN 0 WHEN kind IN ('avg_latency', 'p50_latency', 'p99_latency') THEN 4 WHEN kind LIKE '%\\_ms' ESCAPE '\\' THEN 2
             WHEN kind IN ('throughput', 'total_time', 'mean_latency', 'prompts_total', 'outputs_total') THEN 3 ELSE 1 END AS part
    FROM ahead
), started AS (
    SELECT
        *, lag(part) OVER w IS NULL OR kind IN ('total_time', 'avg_latency') OR (kind = 'banner' AND lag(part) OVER w <> 0)
            OR (kind = 'throughput' AND lag(kind) OVER w <> 'total_time')
            OR (part <> lag(part) OVER w AND (lag(part) OVER w, part) NOT IN ((0, 1), (1, 2))) AS new
    FROM grouped WINDOW w AS (PARTITION BY run ORDER BY line)
), numbered AS (
    SELECT *, sum(new::INTEGER) OVER (PARTITION BY run ORDER BY line) AS region FROM started
), repeated AS (
    SELECT *, row_number() OVER (PARTITION BY run, region, kind ORDER BY line) AS again FROM numbered
), blocks AS (
    SELECT *, line >= min(line) FILTER (again > 1) OVER (PARTITION BY run, region) AS second FROM repeated
)
SELECT
    min(line) AS line, max(line) AS last_line, {", ".join(map(_one, _READ))},
    any_value(total_rate) FILTER (kind = 'throughput') AS total_rate, any_value(output_rate) FILTER (kind = 'throughput') AS output_rate
FROM blocks GROUP BY run, region, coalesce(second, FALSE)
HAVING count(*) FILTER (part = 1 AND kind NOT IN ('banner', 'rate_rps', 'concurrency', 'mean_concurrency', 'accept_len', 'failed', 'total_tok_s')) > 0
    OR count(*) FILTER (part = 2) > 1 OR count(*) FILTER (kind IN ('throughput', 'avg_latency')) > 0
"""

_JUDGED = f"""
WITH found AS ({_BLOCKS}), offered AS (
    SELECT *, coalesce(concurrency, before_concurrency) AS cap, nullif(coalesce(rate_rps, before_rate_rps), 0) AS rate,
        completed IS DISTINCT FROM 0 AS any_ok, coalesce(mean_concurrency, req_s * e2e_mean_ms / 1000) AS in_flight
    FROM found
)
SELECT
    *,
    coalesce(retokenized < 0.7 * output_tokens, FALSE) OR coalesce(ttft_mean_ms <= 0 AND e2e_mean_ms > 0, FALSE) AS unusable,
    coalesce(abs(ttft_mean_ms - e2e_mean_ms) <= 0.002 * e2e_mean_ms AND output_tokens > 1.5 * completed, FALSE) AS unstreamed,
    rate IS NOT NULL AND cap IS NOT NULL AND coalesce(in_flight < 0.8 * cap, TRUE) AS cap_open
FROM offered
"""


def _measured(column: str, unless: str) -> str:
    return f"CASE WHEN {column} > 0 AND any_ok AND NOT ({unless}) THEN {column} END AS {column}"


_STEPS = f"""
WITH rows_of AS (
    SELECT
        line, CASE WHEN cap > 0 AND NOT cap_open THEN cap END AS concurrency, rate AS rate_rps, completed, failed, wall_s,
        {_measured("req_s", "FALSE")}, {_measured("input_tokens", "FALSE")}, {_measured("output_tokens", "unusable")},
        {_measured("aggregate_tok_s", "unusable")}, {_measured("total_tok_s", "unusable")}, {_measured("mean_concurrency", "FALSE")}, {_measured("accept_len", "FALSE")},
        {_measured("slot_rate", "FALSE")}, {_measured("prompt_latency", "FALSE")},
        {", ".join(_measured(column, "unusable OR unstreamed") for column in _STATS)},
        {", ".join(_measured(f"e2e_{stat}_ms", "FALSE") for stat in ("mean", "p50", "p99"))},
        throughput, total_rate, output_rate, prompts_total, outputs_total, avg_latency, p50_latency, p99_latency, total_time, mean_latency
    FROM judged
), loads AS (
    SELECT *, row_number() OVER (PARTITION BY concurrency, rate_rps ORDER BY line) AS again FROM rows_of
), named AS (
    SELECT *, CASE WHEN max(again) FILTER (concurrency IS NOT NULL) OVER () > 1 THEN 'run ' || again END AS series FROM loads
)
SELECT
    line, series, row_number() OVER (PARTITION BY series ORDER BY line) AS step, concurrency, rate_rps, completed, failed,
    coalesce(wall_s, nullif(total_time, 0)) AS wall_s, coalesce(req_s, throughput) AS req_s, coalesce(aggregate_tok_s, output_rate, total_rate) AS aggregate_tok_s,
    CASE WHEN coalesce(aggregate_tok_s, output_rate) IS NOT NULL THEN 'output'
         WHEN total_rate IS NOT NULL THEN 'total' END AS aggregate_counts,
    coalesce(total_tok_s, CASE WHEN output_rate IS NOT NULL THEN nullif(total_rate, 0) END) AS total_tok_s,
    coalesce(input_tokens, nullif(prompts_total, 0)) AS input_tokens, coalesce(output_tokens, nullif(outputs_total, 0)) AS output_tokens,
    input_tokens / nullif(completed, 0) AS input_len, output_tokens / nullif(completed, 0) AS output_len, mean_concurrency, accept_len,
    slot_rate AS per_stream_tok_s, CASE WHEN slot_rate IS NOT NULL THEN 'derived' END AS per_stream_counts,
    coalesce(ttft_mean_ms, prompt_latency) AS ttft_mean_ms, {", ".join(_STATS[1:])}, coalesce(e2e_mean_ms, avg_latency, mean_latency) AS e2e_mean_ms,
    coalesce(e2e_p50_ms, p50_latency) AS e2e_p50_ms, coalesce(e2e_p99_ms, p99_latency) AS e2e_p99_ms
FROM named
"""


def _odd(kind: str, when: str, note: str) -> str:
    return f"SELECT min(line) AS line, '{kind}' AS kind, count(*) AS n, '{note}' AS note FROM judged WHERE {when} HAVING count(*) > 0"


_QUALITY = " UNION ALL ".join(
    (
        _odd("all-failed", "NOT any_ok", "No request of the run succeeded: its zeros are no measurements."),
        _odd(
            "tokens-unusable",
            "any_ok AND unusable",
            "The reported output tokens are not what came back: token measures are left out.",
        ),
        _odd(
            "not-streamed",
            "any_ok AND unstreamed AND NOT unusable",
            "The first token took as long as the whole answer: it was not streamed.",
        ),
        _odd(
            "cap-not-reached",
            "cap_open",
            "A finite request rate did not (provably) fill the cap: offered streams are unknown.",
        ),
    )
)

_NOISE = (
    *("Peak concurrent requests:", "Peak output token throughput (tok/s):"),
    *("Input token throughput (tok/s):", "Request goodput (req/s):", "RTFx (Inverse Real-Time Factor):", "Total input text tokens:"),
    *("Input token throughput: ", "Average latency per token:", "Average latency per output token:"),
    *("Total input vision tokens:", "Last generation throughput (tok/s):", "Input throughput (inputs/s):", "Burstiness factor:"),
    *("-Time to First Token-", "-Time per Output Token (excl. 1st token)-", "-Inter-token Latency-", "-Inter-Token Latency-"),
    *("-End-to-end Latency-", "-End-to-End Latency-", "-Speculative Decoding-", "-Client-side Queueing-", "% percentile TTFT"),
)  # fmt: skip

SAMPLES = (
    Sample(
        "Benchmark duration:                200.50 s\nRequest throughput:                5.00 requests/s = 300.00 requests/min\n"
        "Total prompt length:               28000 tokens\nAverage prompt length:             28.00 tokens\n"
        "Average prompt latency:            36.50 ms\nAverage prompt speed:              767.12 tokens/s\n"
        "Total generated tokens:            200000\nAverage generation depth:          128.50 tokens\n"
        "Average total generation speed:    997.50 tokens/s\nAverage generation speed per slot: 31.25 tokens/s / slot\n",
        {
            "bench_steps": [
                {
                    "line": 1,
                    "concurrency": None,
                    "wall_s": 200.5,
                    "req_s": 5.0,
                    "input_tokens": 28000.0,
                    "output_tokens": 200000.0,
                    "aggregate_tok_s": 997.5,
                    "aggregate_counts": "output",
                    "per_stream_tok_s": 31.25,
                    "per_stream_counts": "derived",
                    "ttft_mean_ms": 36.5,
                }
            ]
        },
        "server-bench.py of llama.cpp",
    ),
    Sample(
        "Traffic request rate: inf\nMaximum request concurrency: 12\n============ Serving Benchmark Result ============\n"
        "Successful requests:                     60        \nBenchmark duration (s):                  30.00     \n"
        "Total input tokens:                      6000      \nTotal generated tokens:                  3000      \n"
        "Request throughput (req/s):              2.00      \nOutput token throughput (tok/s):         100.00    \n"
        "Total Token throughput (tok/s):          300.00    \n---------------Time to First Token----------------\n"
        "Mean TTFT (ms):                          90.50     \nMedian TTFT (ms):                        80.25     \n"
        "P99 TTFT (ms):                           1,200.75  \n-----Time per Output Token (excl. 1st token)------\n"
        "Mean TPOT (ms):                          40.50     \nMedian TPOT (ms):                        40.25     \n"
        "P99 TPOT (ms):                           44.00     \n---------------Inter-token Latency----------------\n"
        "Mean ITL (ms):                           41.50     \nMedian ITL (ms):                         39.50     \n"
        "P99 ITL (ms):                            88.50     \n==================================================\n",
        {
            "bench_steps": [
                {
                    "line": 1,
                    "series": None,
                    "step": 1,
                    "concurrency": 12.0,
                    "rate_rps": None,
                    "completed": 60.0,
                    "failed": None,
                    "wall_s": 30.0,
                    "input_tokens": 6000.0,
                    "output_tokens": 3000.0,
                    "input_len": 100.0,
                    "output_len": 50.0,
                    "req_s": 2.0,
                    "aggregate_tok_s": 100.0,
                    "aggregate_counts": "output",
                    "total_tok_s": 300.0,
                    "ttft_mean_ms": 90.5,
                    "ttft_p50_ms": 80.25,
                    "ttft_p99_ms": 1200.75,
                    "tpot_mean_ms": 40.5,
                    "tpot_p50_ms": 40.25,
                    "itl_mean_ms": 41.5,
                    "itl_p50_ms": 39.5,
                    "itl_p99_ms": 88.5,
                    "e2e_mean_ms": None,
                    "mean_concurrency": None,
                },
            ],
            "quality": [],
        },
        "vLLM 2024: concurrency before the banner",
    ),
    Sample(
        "# Maximum request concurrency:             1\n# Benchmark duration (s):                  506.25\n"
        "# Peak concurrent requests:                6.00\n"
        "# Output token throughput (tok/s):         188.25\n# Mean TTFT (ms):                          70.50\n"
        "# ============ Serving Benchmark Result ============\n# Successful requests:                     0\n"
        "# Failed requests:                         8\n# Maximum request concurrency:             4\n"
        "# Benchmark duration (s):                  0.01\n"
        "# Total input tokens:                      0\n# Output token throughput (tok/s):         0.00\n"
        "# Mean TTFT (ms):                          0.00\n# Mean E2EL (ms):                          nan\n",
        {
            "bench_steps": [
                {"line": 1, "concurrency": 1.0, "wall_s": 506.25, "aggregate_tok_s": 188.25, "ttft_mean_ms": 70.5, "completed": None},
                {
                    "line": 6,
                    "concurrency": 4.0,
                    "completed": 0.0,
                    "failed": 8.0,
                    "aggregate_tok_s": None,
                    "aggregate_counts": None,
                    "ttft_mean_ms": None,
                    "e2e_mean_ms": None,
                    "input_tokens": None,
                },
            ],
            "quality": [{"kind": "all-failed", "line": 6}],
        },
        "vLLM 2025 on, commented out, first lines and trailing blanks lost; every request of the second failed",
    ),
    Sample(
        "============ Serving Benchmark Result ============\nBackend:                                 sglang-oai-chat\n"
        "Traffic request rate:                    inf       \nMax reqeuest concurrency:                4         \n"
        "Successful requests:                     20        \nBenchmark duration (s):                  42.50     \n"
        "Total input tokens:                      10000     \nTotal generated tokens:                  20000     \n"
        "Total generated tokens (retokenized):    19600     \nOutput token throughput (tok/s):         470.50    \n"
        "Concurrency:                             3.97      \n----------------End-to-End Latency----------------\n"
        "Mean E2E Latency (ms):                   8400.50   \nMedian E2E Latency (ms):                 8500.25   \n"
        "---------------Time to First Token----------------\nMean TTFT (ms):                          2700.50   \n\n"
        "============ Serving Benchmark Result ============\nBackend:                                 sglang    \n"
        "Traffic request rate:                    2.0       \nMax request concurrency:                 not set   \n"
        "Successful requests:                     900       \nBenchmark duration (s):                  264.25    \n"
        "Total generated tokens:                  200000    \nTotal generated tokens (retokenized):    90000     \n"
        "Output token throughput (tok/s):         800.25    \nMean E2E Latency (ms):                   2098.25   \n"
        "Mean TTFT (ms):                          2050.25   \nMedian TPOT (ms):                        -0.00     \n",
        {
            "bench_steps": [
                {
                    "line": 1,
                    "concurrency": 4.0,
                    "rate_rps": None,
                    "mean_concurrency": 3.97,
                    "completed": 20.0,
                    "output_len": 1000.0,
                    "aggregate_tok_s": 470.5,
                    "e2e_mean_ms": 8400.5,
                    "e2e_p50_ms": 8500.25,
                    "ttft_mean_ms": 2700.5,
                },
                {
                    "line": 18,
                    "concurrency": None,
                    "rate_rps": 2.0,
                    "completed": 900.0,
                    "output_tokens": None,
                    "aggregate_tok_s": None,
                    "ttft_mean_ms": None,
                    "tpot_p50_ms": None,
                    "e2e_mean_ms": 2098.25,
                },
            ],
            "quality": [{"kind": "tokens-unusable", "line": 18}],
        },
        "SGLang 2025: misspelt label, tokens that did not come back",
    ),
    Sample(
        "Throughput: 7.25 requests/s, 4650.00 total tokens/s, 1070.50 output tokens/s\nTotal num prompt tokens:  35000\n"
        "Total num output tokens:  10705\nAvg latency: 1.25 seconds\n99% percentile latency: 1.5 seconds\n",
        {
            "bench_steps": [
                {
                    "line": 1,
                    "req_s": 7.25,
                    "aggregate_tok_s": 1070.5,
                    "total_tok_s": 4650.0,
                    "aggregate_counts": "output",
                    "input_tokens": 35000.0,
                    "output_tokens": 10705.0,
                },
                {"line": 4, "e2e_mean_ms": 1250.0, "e2e_p99_ms": 1500.0, "concurrency": None},
            ]
        },
        "vllm bench throughput, vllm bench latency",
    ),
    Sample(
        "Total time: 50.25 s\nThroughput: 4.25 requests/s\nAverage latency: 20.50 s\nAverage latency per token: 0.25 s\n"
        "Average latency per output token: 1.50 s\n\n"
        "Successful requests: 200\nBenchmark duration: 40.500000 s\nTotal input tokens: 20000\nTotal generated tokens: 30000\n"
        "Request throughput: 4.94 requests/s\nInput token throughput: 493.83 tokens/s\nOutput token throughput: 740.74 tokens/s\n"
        "Mean TTFT: 90.50 ms\nMedian TTFT: 80.25 ms\nP99 TTFT: 320.75 ms\nMean TPOT: 40.50 ms\nMedian TPOT: 40.25 ms\nP99 TPOT: 44.00 ms\n",
        {
            "bench_steps": [
                {"line": 1, "step": 1, "wall_s": 50.25, "req_s": 4.25, "e2e_mean_ms": 20500.0, "aggregate_tok_s": None, "completed": None},
                {
                    "line": 7,
                    "step": 2,
                    "completed": 200.0,
                    "wall_s": 40.5,
                    "req_s": 4.94,
                    "input_tokens": 20000.0,
                    "output_len": 150.0,
                    "aggregate_tok_s": 740.74,
                    "aggregate_counts": "output",
                    "ttft_mean_ms": 90.5,
                    "ttft_p50_ms": 80.25,
                    "ttft_p99_ms": 320.75,
                    "tpot_mean_ms": 40.5,
                    "tpot_p50_ms": 40.25,
                },
            ]
        },
        "vLLM 2023, vLLM early 2024 and JetStream",
    ),
)

PARSER = LineFormat(
    name="vllm-bench-console",
    server="vllm",
    timed=False,
    lines=(*_COUNTS, *_LATENCIES, *_THROUGHPUT),
    noise=_NOISE,
    prepare={"judged": _JUDGED},
    assemble={"bench_steps": _STEPS, "quality": _QUALITY},
    samples=SAMPLES,
)
