"""Results of llmperf: `*_summary.json` and `*_individual_responses.json` of `token_benchmark_ray.py`.

**`bench_steps`** from the summary: `concurrency` (`num_concurrent_requests`), `requests`, `completed`, `failed`, `req_s` (completed per
minute over 60), `aggregate_tok_s` (output), `ttft_*`, `e2e_*`, mean lengths, `finished_at` (`timestamp`: UTC seconds when the result
was written). `per_stream_tok_s` is the printed request output throughput (its median, else its mean): answer tokens over the whole
latency, so `per_stream_counts` is latency. The leaderboard's flattened files have the same keys.

**`requests`** (origin `client`) from the individual responses: `latency_s`, `ttft_s`, tokens, `status`. The list is in order of
completion and holds no time, so there is no timeline.

**Traps.** llmperf's *inter token latency* is the whole latency over the tokens, neither a gap nor a time per token after the first: it is
not read. Failed requests are written as zeros with one output token: their measures are NULL. Where more requests failed than succeeded (a
rate limit), the offered concurrency was not what the server saw: it is NULL (`mostly-failed`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_note, send_rows

__all__ = ["PARSER"]

BATCH = 2_000  # rows of requests sent at once


def _summary(doc: Json, line: int) -> tuple[Row, list[str]]:
    """The row of a summary. Every statistic of llmperf leaves failed requests out."""

    def stat(name: str, which: str, scale: float = 1.0) -> float | None:
        return pos(doc.get(f"results_{name}_{which}"), scale)

    completed, failed = num(doc.get("results_num_completed_requests")), num(doc.get("results_number_errors"))
    row: Row = {"line": line, "step": 1, "concurrency": pos(doc.get("num_concurrent_requests")), "completed": completed, "failed": failed}
    row["requests"] = num(doc.get("results_num_requests_started"))
    ended = num(doc.get("timestamp"))
    row["finished_at"] = ended if ended and 1e9 < ended < 4.2e9 else None
    if not completed:
        return row, ["all-failed"] if completed == 0 else []
    row |= {
        "req_s": pos(doc.get("results_num_completed_requests_per_min"), 1 / 60),
        "aggregate_tok_s": pos(doc.get("results_mean_output_throughput_token_per_s")),
        "per_stream_tok_s": stat("request_output_throughput_token_per_s", "quantiles_p50")
        or stat("request_output_throughput_token_per_s", "mean"),
        "input_len": stat("number_input_tokens", "mean"),
        "output_len": stat("number_output_tokens", "mean"),
        "ttft_mean_ms": stat("ttft_s", "mean", 1e3),
        "ttft_p50_ms": stat("ttft_s", "quantiles_p50", 1e3),
        "ttft_p99_ms": stat("ttft_s", "quantiles_p99", 1e3),
        "e2e_mean_ms": stat("end_to_end_latency_s", "mean", 1e3),
        "e2e_p50_ms": stat("end_to_end_latency_s", "quantiles_p50", 1e3),
        "e2e_p99_ms": stat("end_to_end_latency_s", "quantiles_p99", 1e3),
    }
    row["aggregate_counts"] = "output" if row["aggregate_tok_s"] else None
    row["per_stream_counts"] = "latency" if row["per_stream_tok_s"] else None
    if failed and failed > completed:
        row["concurrency"] = None
        return row, ["mostly-failed"]
    return row, []


def _response(doc: Json, line: int, number: int) -> Row:
    """The row of one individual response."""
    row: Row = {"line": line, "origin": "client", "run": 0, "request": str(number)}
    latency = pos(doc.get("end_to_end_latency_s"))
    if doc.get("error_code") is not None or doc.get("error_msg") or latency is None:
        return row | {"status": "failed"}
    return row | {
        "status": "ok",
        "latency_s": latency,
        "ttft_s": pos(doc.get("ttft_s")),
        "prompt_tokens": pos(doc.get("number_input_tokens")),
        "output_tokens": pos(doc.get("number_output_tokens")),
    }


def _is_response(keys: set[str]) -> bool:
    return {"ttft_s", "end_to_end_latency_s", "number_output_tokens"} <= keys


def _is_summary(keys: set[str]) -> bool:
    return "num_concurrent_requests" in keys and any(k.startswith("results_") for k in keys)


_NOTES = {
    "all-failed": "No request of the run succeeded: it has no measurements.",
    "mostly-failed": "More requests failed than succeeded: the offered concurrency is not what the server saw.",
}


class Llmperf:
    """Results of llmperf; see the module's page."""

    name = "llmperf"
    api = 1
    inlaid = ("num_concurrent_requests",)

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        keys = json_keys(head.text)
        if _is_summary(keys):
            return Claim(90, "a summary of llmperf")
        if _is_response(keys):
            return Claim(88, "individual responses of llmperf")
        if {"ttft_s", "end_to_end_latency_s"} <= keys:
            return Refusal(40, "responses of llmperf without `number_output_tokens`")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps` or `requests`, `quality` and one of `clocks`. A cut or garbled object is a near miss."""
        lines = JsonLines(source)
        steps: list[Row] = []
        rows: list[Row] = []
        seen, clock, start = 0, "", 0
        for first, last, doc in json_objects(lines):
            if doc is None:
                lines.near(first, "an object that is cut or garbled")
                continue
            if _is_summary(set(doc)):
                row, odd = _summary(doc, first)
                steps.append(row | {"step": len(steps) + 1})
                clock = "utc" if row["finished_at"] else clock
                for kind in odd:
                    send_note(emit, first, kind, 1, _NOTES[kind])
            elif _is_response(set(doc)):
                rows.append(_response(doc, first, seen))
                seen += 1
            else:
                continue
            lines.add(first, last, "matched")
            start = start or first
            if len(rows) >= BATCH:
                send_rows(emit, "requests", rows)
                rows = []
        send_rows(emit, "requests", rows)
        send_rows(emit, "bench_steps", steps)
        if start:
            send_rows(emit, "clocks", [{"line": start, "kind": clock or "none", "resolution_s": 1.0 if clock else None}])
        return lines.close()


SAMPLES: tuple[Sample, ...] = (
    Sample(
        '{"version": "2023-08-31", "name": "m_550_150_summary", "model": "m", "num_concurrent_requests": 5,'
        ' "results_inter_token_latency_s_mean": 0.03, "results_ttft_s_quantiles_p50": 0.5, "results_ttft_s_quantiles_p99": 1.25,'
        ' "results_ttft_s_mean": 0.75, "results_end_to_end_latency_s_quantiles_p99": 5.5, "results_end_to_end_latency_s_mean": 4.5,'
        ' "results_request_output_throughput_token_per_s_quantiles_p50": 33.5, "results_request_output_throughput_token_per_s_mean": 33.0,'
        ' "results_number_input_tokens_mean": 550.0, "results_number_input_tokens_min": "550", "results_number_output_tokens_mean": 148.5,'
        ' "results_num_requests_started": 100, "results_error_rate": 0.1, "results_number_errors": 10, "results_error_code_frequency":'
        ' "{429.0: 10}", "results_mean_output_throughput_token_per_s": 150.5, "results_num_completed_requests": 90,'
        ' "results_num_completed_requests_per_min": 60.0, "timestamp": 1703600000}',
        {
            "bench_steps": [
                {
                    "line": 1,
                    "step": 1,
                    "concurrency": 5.0,
                    "requests": 100.0,
                    "completed": 90.0,
                    "failed": 10.0,
                    "req_s": 1.0,
                    "aggregate_tok_s": 150.5,
                    "aggregate_counts": "output",
                    "per_stream_tok_s": 33.5,
                    "per_stream_counts": "latency",
                    "input_len": 550.0,
                    "output_len": 148.5,
                    "ttft_mean_ms": 750.0,
                    "ttft_p50_ms": 500.0,
                    "ttft_p99_ms": 1250.0,
                    "tpot_mean_ms": None,
                    "itl_mean_ms": None,
                    "e2e_mean_ms": 4500.0,
                    "e2e_p99_ms": 5500.0,
                    "finished_at": 1703600000.0,
                    "wall_s": None,
                },
            ],
            "clocks": [{"kind": "utc", "resolution_s": 1.0}],
            "quality": [],
        },
        "summary",
        name="m_550_150_summary.json",
    ),
    Sample(
        '[\n  {"error_code": null, "error_msg": "", "inter_token_latency_s": 0.03, "ttft_s": 0.75, "end_to_end_latency_s": 4.5,\n'
        '   "request_output_throughput_token_per_s": 33.5, "number_total_tokens": 701, "number_output_tokens": 151, '
        '"number_input_tokens": 550},\n'
        '  {"error_code": 429, "error_msg": "", "inter_token_latency_s": 0.0, "ttft_s": 0, "end_to_end_latency_s": 0,\n'
        '   "request_output_throughput_token_per_s": 0, "number_total_tokens": 551, "number_output_tokens": 1, "number_input_tokens": '
        "550}\n]\n",
        {
            "requests": [
                {
                    "line": 2,
                    "origin": "client",
                    "request": "0",
                    "latency_s": 4.5,
                    "ttft_s": 0.75,
                    "prompt_tokens": 550.0,
                    "output_tokens": 151.0,
                    "status": "ok",
                    "sent_at": None,
                },
                {
                    "line": 4,
                    "request": "1",
                    "latency_s": None,
                    "ttft_s": None,
                    "output_tokens": None,
                    "prompt_tokens": None,
                    "status": "failed",
                },
            ],
            "clocks": [{"kind": "none"}],
        },
        "individual responses, one failed",
        name="m_550_150_individual_responses.json",
    ),
)

PARSER = Llmperf()
