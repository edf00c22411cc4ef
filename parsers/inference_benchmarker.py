"""Results of Hugging Face's inference-benchmarker: `results/<tokenizer>_<time>.json`.

**Reads** the one object the tool writes: a configuration and the list of its runs.

**`bench_steps`**, one row per run, the warm-up left out: `concurrency` is `max_vus` of a run with constant virtual users; a run with a
constant arrival rate has its `rate` as `rate_rps` and no concurrency (there `max_vus` is only a cap). `requests`, `completed`, `failed`,
`wall_s` (`duration_ms`), `req_s`, `aggregate_tok_s` (output, `token_throughput_secs`), `output_tokens` (`total_tokens`),
`input_tokens` (`total_tokens_sent`), lengths (totals over completed), `ttft_*`, `e2e_*`. The *inter token latency* is one mean per request
and goes to `tpot_*`; there is no distribution of gaps.

**Traps.** The file has one start and one end for all runs together, warm-up included: no run has a time. There are no single requests.
Machine and host name in `system` are not read.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, nested, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_note, send_rows

__all__ = ["PARSER"]


def _step(run: Json, line: int, step: int) -> Row:
    """The row of one run."""
    users = run.get("executor_type") == "ConstantVUs"
    config = nested(run, "config")
    completed = num(run.get("successful_requests"))
    row: Row = {"line": line, "step": step, "completed": completed, "failed": num(run.get("failed_requests"))}
    row["requests"] = pos(run.get("total_requests"))
    row["wall_s"] = pos(run.get("duration_ms"), 1e-3)
    row["concurrency"] = pos(config.get("max_vus")) if users else None
    row["rate_rps"] = None if users else pos(config.get("rate"))
    if not completed:
        return row
    tokens = {"output": pos(run.get("total_tokens")), "input": pos(run.get("total_tokens_sent"))}
    for side, total in tokens.items():
        row |= {f"{side}_tokens": total, f"{side}_len": total and total / completed}
    row["req_s"] = pos(run.get("request_rate"))
    row["aggregate_tok_s"] = pos(run.get("token_throughput_secs"))
    row["aggregate_counts"] = "output" if row["aggregate_tok_s"] else None
    for column, (name, stat) in _STATS.items():
        row[column] = pos(nested(run, name).get(stat))
    return row


_STATS = {
    "ttft_mean_ms": ("time_to_first_token_ms", "avg"),
    "ttft_p50_ms": ("time_to_first_token_ms", "p50"),
    "ttft_p99_ms": ("time_to_first_token_ms", "p99"),
    "tpot_mean_ms": ("inter_token_latency_ms", "avg"),
    "tpot_p50_ms": ("inter_token_latency_ms", "p50"),
    "e2e_mean_ms": ("e2e_latency_ms", "avg"),
    "e2e_p99_ms": ("e2e_latency_ms", "p99"),
}


class InferenceBenchmarker:
    """Results of inference-benchmarker; see the module's page."""

    name = "inference-benchmarker"
    api = 1
    inlaid = ("results",)

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        keys = json_keys(head.text)
        if {"results", "executor_type", "token_throughput_secs"} <= keys:
            return Claim(92, "results of inference-benchmarker")
        if {"benchmark_kind", "max_vus"} <= keys or "executor_type" in keys:
            return Refusal(40, "results of inference-benchmarker without a run at their head")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps` and one of `clocks`. A cut or garbled object is a near miss."""
        lines = JsonLines(source)
        steps: list[Row] = []
        for first, last, doc in json_objects(lines):
            if doc is None:
                lines.near(first, "a result that is cut or garbled")
                continue
            held = doc.get("results")
            runs = [r for r in held if isinstance(r, dict) and "executor_type" in r] if isinstance(held, list) else []
            if runs:
                lines.add(first, last, "matched")
            steps += [_step(r, first, len(steps) + k) for k, r in enumerate((r for r in runs if r.get("id") != "warmup"), 1)]
        if steps:
            send_rows(emit, "bench_steps", steps)
            send_rows(emit, "clocks", [{"line": steps[0]["line"], "kind": "none"}])
            failed = [s["line"] for s in steps if s["completed"] == 0]
            if failed:
                send_note(emit, failed[0], "all-failed", len(failed), "No request of the run succeeded: it has no measurements.")
        return lines.close()


SAMPLES: tuple[Sample, ...] = (
    Sample(
        '{"config":{"max_vus":64,"benchmark_kind":"sweep"},"results":[{"id":"warmup","executor_type":"ConstantVUs","config":{"max_vus":1},'
        '"total_requests":3,"successful_requests":3,"token_throughput_secs":9.5},{"id":"throughput","executor_type":"ConstantVUs","config":'
        '{"max_vus":64,"duration_secs":60,"rate":null},"total_requests":500,"total_tokens":49000,"token_throughput_secs":800.5,'
        '"duration_ms":61000.0,"time_to_first_token_ms":{"p50":150.5,"p99":900.5,"avg":200.5},"inter_token_latency_ms":{"p50":70.5,"avg":75.5},'
        '"failed_requests":10,"successful_requests":490,"request_rate":8.0,"total_tokens_sent":98000,"e2e_latency_ms":{"p99":9500.5,"avg":7500.5}},'
        '{"id":"constant@2.00req/s","executor_type":"ConstantArrivalRate","config":{"max_vus":64,"duration_secs":60,"rate":2.0},'
        '"total_requests":120,"successful_requests":0,"failed_requests":120,"token_throughput_secs":0.0,"time_to_first_token_ms":{"avg":0.0}}],'
        '"start_time":"2026-03-01T10:00:00.5Z","end_time":"2026-03-01T10:05:00.5Z","system":{"cpu":["x"],"hostname":"h"}}',
        {
            "bench_steps": [
                {
                    "line": 1,
                    "step": 1,
                    "concurrency": 64.0,
                    "rate_rps": None,
                    "requests": 500.0,
                    "completed": 490.0,
                    "failed": 10.0,
                    "wall_s": 61.0,
                    "aggregate_tok_s": 800.5,
                    "aggregate_counts": "output",
                    "output_tokens": 49000.0,
                    "output_len": 100.0,
                    "input_tokens": 98000.0,
                    "input_len": 200.0,
                    "req_s": 8.0,
                    "ttft_mean_ms": 200.5,
                    "ttft_p50_ms": 150.5,
                    "ttft_p99_ms": 900.5,
                    "tpot_mean_ms": 75.5,
                    "tpot_p50_ms": 70.5,
                    "itl_mean_ms": None,
                    "e2e_mean_ms": 7500.5,
                    "e2e_p99_ms": 9500.5,
                    "started_at": None,
                },
                {
                    "line": 1,
                    "step": 2,
                    "concurrency": None,
                    "rate_rps": 2.0,
                    "completed": 0.0,
                    "failed": 120.0,
                    "ttft_mean_ms": None,
                    "aggregate_tok_s": None,
                },
            ],
            "clocks": [{"kind": "none"}],
            "quality": [{"kind": "all-failed"}],
        },
        "a sweep",
        name="results/tiny_2026-03-01-10-05-00.json",
    ),
    Sample(
        '{\n "config": {"benchmark_kind": "throughput"},\n "results": [\n  {"id": "constant@4VU", "executor_type": "ConstantVUs", '
        '"config": {"max_vus": 4},\n'
        '   "total_requests": 8, "successful_requests": 8, "failed_requests": 0, "token_throughput_secs": 99.5}\n ]\n}\n',
        {"bench_steps": [{"line": 1, "concurrency": 4.0, "requests": 8.0, "aggregate_tok_s": 99.5, "wall_s": None, "ttft_mean_ms": None}]},
        "re-indented, few keys",
    ),
)

PARSER = InferenceBenchmarker()
