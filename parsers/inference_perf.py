"""Results of inference-perf (Kubernetes, llm-d): `stage_0_lifecycle_metrics.json` and `summary_lifecycle_metrics.json`.

One row of `bench_steps` per file; the stages of a run have a file each:

- `concurrency` (`concurrency` of a stage with a constant number of requests in flight) or `rate_rps` (`requested_rate`); a summary over all
  stages has neither, and its `series` is summary.
- `requests`, `completed`, `failed`, `wall_s` (where the file tells it), `req_s`, `aggregate_tok_s` (output), `total_tok_s`, mean lengths.
- `ttft_*`, `tpot_*`, `itl_*`, `e2e_*`: written in seconds, over the requests that succeeded. The median is `median` or, before 2025-08, `p50`.

**Traps.** `normalized_time_per_output_token` is the whole latency over the tokens: no time per token after the first. `achieved_rate` and
`send_duration` are about sending, not about answers. Without streaming the times of tokens are null. Files hold no time of day.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, nested, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_clock, send_oddities, send_rows

__all__ = ["PARSER"]

_KEYS = {"load_summary", "successes"}
_TIMES = {"ttft": "time_to_first_token", "tpot": "time_per_output_token", "itl": "inter_token_latency", "e2e": "request_latency"}
_STATS = {"mean": ("mean",), "p50": ("median", "p50"), "p99": ("p99",)}
_NOTES = {"all-failed": "No request of the run succeeded: it has no measurements."}
_UNKNOWN_COLUMNS = {"tpot_p99_ms"}  # no column of the table


def _step(doc: Json, line: int) -> Row:
    """The row of one file."""
    load, good = nested(doc, "load_summary"), nested(doc, "successes")
    completed, streams, rate = num(good.get("count")), pos(load.get("concurrency")), pos(load.get("requested_rate"))
    row: Row = {
        "line": line,
        "series": None if streams or rate else "summary",
        "concurrency": streams,
        "rate_rps": None if streams else rate,
        "requests": num(load.get("count")),
        "completed": completed,
        "failed": num(nested(doc, "failures").get("count")),
        "wall_s": pos(doc.get("benchmark_time_seconds")),
    }
    if not completed:
        return row
    rates = nested(good, "throughput")
    row |= {
        "req_s": pos(rates.get("requests_per_sec")),
        "aggregate_tok_s": pos(rates.get("output_tokens_per_sec")),
        "total_tok_s": pos(rates.get("total_tokens_per_sec")),
        "input_len": pos(nested(good, "prompt_len").get("mean")),
        "output_len": pos(nested(good, "output_len").get("mean")),
    }
    row["aggregate_counts"] = "output" if row["aggregate_tok_s"] else None
    for column, name in _TIMES.items():
        told = nested(good, "latency", name)
        for stat, keys in _STATS.items():
            if f"{column}_{stat}_ms" not in _UNKNOWN_COLUMNS:
                row[f"{column}_{stat}_ms"] = next((v for k in keys if (v := pos(told.get(k), 1e3))), None)
    return row


class InferencePerf:
    """Results of inference-perf; see the module's page."""

    name = "inference-perf"
    api = 1
    inlaid = ("load_summary",)

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        keys = json_keys(head.text)
        if keys >= _KEYS:
            return Claim(90, "a result of inference-perf")
        return Refusal(40, "a result of inference-perf without `successes`") if {"load_summary", "schedule_delay"} <= keys else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps`, `quality` and one of `clocks`. A cut or garbled object is a near miss."""
        lines = JsonLines(source)
        rows: list[Row] = []
        for first, last, doc in json_objects(lines):
            if doc is None:
                lines.near(first, "an object that is cut or garbled")
            elif set(doc) >= _KEYS:
                rows.append(_step(doc, first) | {"step": len(rows) + 1})
                lines.add(first, last, "matched")
        if rows:
            send_rows(emit, "bench_steps", rows)
            send_clock(emit, rows[0]["line"], "none", None, None)
            send_oddities(emit, rows[0]["line"], {"all-failed": sum(r["completed"] == 0 for r in rows)}, _NOTES)
        return lines.close()


SAMPLES: tuple[Sample, ...] = (
    Sample(
        '{\n  "load_summary": {\n    "count": 240,\n    "schedule_delay": {"mean": 0.0004, "median": 0.0004, "p99": 0.001},\n'
        '    "send_duration": 59.75,\n    "requested_rate": 4.0,\n    "achieved_rate": 4.015\n  },\n  "successes": {\n    "count": 239,\n'
        '    "latency": {\n      "request_latency": {"mean": 3.25, "min": 0.5, "p90": 6.0, "median": 3.0, "p99": 9.5},\n'
        '      "normalized_time_per_output_token": {"mean": 0.033, "median": 0.03},\n'
        '      "time_per_output_token": {"mean": 0.0275, "median": 0.0265, "p99": 0.045},\n'
        '      "time_to_first_token": {"mean": 0.525, "median": 0.25, "p99": 2.75},\n'
        '      "inter_token_latency": {"mean": 0.0278, "median": 0.0245, "p99": 0.155}\n    },\n'
        '    "throughput": {"input_tokens_per_sec": 900.5, "output_tokens_per_sec": 380.25, "total_tokens_per_sec": 1280.75, "requests_per_sec": 3.75},\n'
        '    "prompt_len": {"mean": 240.5, "median": 200},\n    "output_len": {"mean": 101.5, "median": 90}\n  },\n'
        '  "failures": {"count": 1, "request_latency": {"mean": 30.0}, "prompt_len": null}\n}\n',
        {
            "bench_steps": [
                {"line": 1, "step": 1, "series": None, "concurrency": None, "rate_rps": 4.0, "requests": 240.0, "completed": 239.0, "failed": 1.0,
                 "wall_s": None, "req_s": 3.75, "aggregate_tok_s": 380.25, "aggregate_counts": "output", "total_tok_s": 1280.75,
                 "input_len": 240.5, "output_len": 101.5, "ttft_mean_ms": 525.0, "ttft_p50_ms": 250.0, "ttft_p99_ms": 2750.0,
                 "tpot_mean_ms": 27.5, "tpot_p50_ms": 26.5, "itl_mean_ms": 27.8, "itl_p50_ms": 24.5, "itl_p99_ms": 155.0,
                 "e2e_mean_ms": 3250.0, "e2e_p50_ms": 3000.0, "e2e_p99_ms": 9500.0}
            ],
            "clocks": [{"kind": "none"}],
            "quality": [],
        },
        "a stage with a rate, 2025-08 and later",
        name="stage_0_lifecycle_metrics.json",
    ),
    Sample(
        '{"benchmark_time_seconds": 62.5, "load_summary": {"count": 64, "send_duration": 58.5, "requested_rate": 1.05, "achieved_rate": 1.1, "concurrency": 8},'
        ' "successes": {"count": 64, "latency": {"request_latency": {"mean": 7.5, "p50": 7.25}, "time_to_first_token": null,'
        ' "time_per_output_token": null, "inter_token_latency": null}, "throughput": {"output_tokens_per_sec": 128.5, "requests_per_sec": 1.025}},'
        ' "failures": {"count": 0}}\n',
        {
            "bench_steps": [
                {"line": 1, "concurrency": 8.0, "rate_rps": None, "completed": 64.0, "failed": 0.0, "wall_s": 62.5, "req_s": 1.025,
                 "aggregate_tok_s": 128.5, "e2e_mean_ms": 7500.0, "e2e_p50_ms": 7250.0, "ttft_mean_ms": None, "tpot_mean_ms": None}
            ]
        },
        "a stage with a constant concurrency, answers not streamed",
        name="stage_1_lifecycle_metrics.json",
    ),
)  # fmt: skip

PARSER = InferencePerf()
