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

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.tables import table

__all__ = ["PARSER"]

MAX_CHARS = 512 << 20  # characters of one JSON object
MAX_REJECTS = 10
BATCH = 2_000  # rows of requests sent at once

Json = dict[str, Any]
Row = dict[str, Any]

# --- JSON out of text. Parsers import only contracts, so the same few functions stand in every parser of benchmark results ------------

_OPENS = re.compile(r"(?m)^[ \t,\[]*(?=\{)")
_NEXT = re.compile(r"[\s,\[\]]*(?=\{)")
_DECODE = json.JSONDecoder().raw_decode


class _Lines:
    """The blocks of a source and how its lines end: each line counts once, whatever the objects on it became."""

    def __init__(self, source: Readable) -> None:
        self.source, self.counts, self.done, self.total, self.open = source, Counts(), 0, 0, 0

    def blocks(self) -> Iterator[str]:
        for _, block in self.source.blocks():
            self.total += block.count("\n")
            self.open = not block.endswith("\n")
            yield block

    def add(self, first: int, last: int, how: str) -> None:
        """Lines first..last are `how` as far as they are not counted yet; those passed over are something else."""
        first = max(first, self.done + 1)
        if last >= first:
            self.counts.other += first - 1 - self.done
            setattr(self.counts, how, getattr(self.counts, how) + last - first + 1)
            self.done = last

    def near(self, line: int, reason: str) -> None:
        self.add(line, line, "near_miss")
        if len(self.counts.rejects) < MAX_REJECTS:
            self.counts.rejects.append((line, reason))

    def close(self) -> Counts:
        self.counts.other += self.total + self.open - self.done
        return self.counts


def _objects(lines: _Lines) -> Iterator[tuple[int, int, Json | None]]:
    """The JSON objects of a text (one per line, behind each other, in a list) with their first and last line; None for one that is cut
    or garbled. Memory holds one object and one block."""
    blocks, text, line, need, last = lines.blocks(), "", 1, 0, False
    while not last:
        parts, have = [text], len(text)
        while not last and have <= need:
            block = next(blocks, "")
            last = not block
            parts.append(block)
            have += len(block)
        text, at = "".join(parts), 0
        start = _OPENS.search(text)
        while start is not None:
            line += text.count("\n", at, start.end())
            at = start.end()
            found, cut = _decode(text, at)
            if cut and not last and len(text) - at < MAX_CHARS:
                break
            if found is None:
                yield line, line, None
                start = _margin(text, at)
                continue
            first, line = line, line + text.count("\n", at, found[1])
            at = found[1]
            yield first, line, found[0]
            start = _NEXT.match(text, at) or _OPENS.search(text, at)
        if start is None:
            line += text.count("\n", at)
            text, need = "", 0
        else:
            begin = text.rfind("\n", 0, at) + 1
            text = text[at if text[begin:at].strip() else begin :]
            need = 2 * len(text)


def _decode(text: str, at: int) -> tuple[tuple[Json, int] | None, bool]:
    """The object at a place with its end, and whether the text ends inside it."""
    try:
        return _DECODE(text, at), False
    except json.JSONDecodeError as error:
        return None, error.pos >= len(text) - 12 or error.msg.startswith("Unterminated string")
    except (ValueError, RecursionError):
        return None, False


def _margin(text: str, at: int) -> re.Match[str] | None:
    """Behind a broken object: the next one that stands as far to the right. What is further in belongs to the broken one."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    margin = before if before.isspace() else ""
    return re.compile(rf"(?m)^{margin}(?=\{{)").search(text, at + 1)


def _num(value: Any, scale: float = 1.0) -> float | None:
    """A finite number that is not negative; strings, booleans, inf, nan and the 1.797e308 that jq writes for inf are unknown."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value) * scale
    except OverflowError:
        return None
    return number if math.isfinite(number) and 0 <= number < 1e15 else None


def _pos(value: Any, scale: float = 1.0) -> float | None:
    """A number above zero: a time or a rate of 0 is how a benchmark writes that it has none."""
    return _num(value, scale) or None


def _sub(value: Any, *path: str) -> Json:
    """The object at a path, empty where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _keys(text: str) -> set[str]:
    """Names that stand as JSON keys in the first part of a text that begins like JSON."""
    text = text[:65536].lstrip()
    return set(re.findall(r'"([\w:.-]+)"\s*:', text)) if text[:1] in ("{", "[") else set()


def _send(emit: Emit, target: str, rows: Sequence[Row]) -> None:
    """Rows as a frame of the declared types; columns nobody filled stay out."""
    import polars as pl

    types: dict[str, Any] = {"VARCHAR": pl.String, "DOUBLE": pl.Float64, "BIGINT": pl.Int64, "INTEGER": pl.Int32}
    schema = {c.name: types[c.type] for c in table(target).columns if any(r.get(c.name) is not None for r in rows)}
    if schema:
        emit(target, pl.DataFrame({n: [r.get(n) for r in rows] for n in schema}, schema=schema))


def _note(emit: Emit, line: int, kind: str, n: int, note: str) -> None:
    _send(emit, "quality", [{"line": line, "kind": kind, "n": n, "note": note}])


def _summary(doc: Json, line: int) -> tuple[Row, list[str]]:
    """The row of a summary. Every statistic of llmperf leaves failed requests out."""

    def stat(name: str, which: str, scale: float = 1.0) -> float | None:
        return _pos(doc.get(f"results_{name}_{which}"), scale)

    completed, failed = _num(doc.get("results_num_completed_requests")), _num(doc.get("results_number_errors"))
    row: Row = {"line": line, "step": 1, "concurrency": _pos(doc.get("num_concurrent_requests")), "completed": completed, "failed": failed}
    row["requests"] = _num(doc.get("results_num_requests_started"))
    ended = _num(doc.get("timestamp"))
    row["finished_at"] = ended if ended and 1e9 < ended < 4.2e9 else None
    if not completed:
        return row, ["all-failed"] if completed == 0 else []
    row |= {
        "req_s": _pos(doc.get("results_num_completed_requests_per_min"), 1 / 60),
        "aggregate_tok_s": _pos(doc.get("results_mean_output_throughput_token_per_s")),
        "per_stream_tok_s": stat("request_output_throughput_token_per_s", "quantiles_p50")
        or stat("request_output_throughput_token_per_s", "mean"),
        "input_len": stat("number_input_tokens", "mean"),
        "output_len": stat("number_output_tokens", "mean"),
        "ttft_mean_ms": stat("ttft_s", "mean", 1e3),
        "ttft_p50_ms": stat("ttft_s", "quantiles_p50", 1e3),
        "ttft_p99_ms": stat("ttft_s", "quantiles_p99", 1e3),
        "e2e_mean_ms": stat("end_to_end_latency_s", "mean", 1e3),
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
    latency = _pos(doc.get("end_to_end_latency_s"))
    if doc.get("error_code") is not None or doc.get("error_msg") or latency is None:
        return row | {"status": "failed"}
    return row | {
        "status": "ok",
        "latency_s": latency,
        "ttft_s": _pos(doc.get("ttft_s")),
        "prompt_tokens": _pos(doc.get("number_input_tokens")),
        "output_tokens": _pos(doc.get("number_output_tokens")),
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

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        keys = _keys(head.text)
        if _is_summary(keys):
            return Claim(90, "a summary of llmperf")
        if _is_response(keys):
            return Claim(88, "individual responses of llmperf")
        if {"ttft_s", "end_to_end_latency_s"} <= keys:
            return Refusal(40, "responses of llmperf without `number_output_tokens`")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps` or `requests`, `quality` and one of `clocks`. A cut or garbled object is a near miss."""
        lines = _Lines(source)
        steps: list[Row] = []
        rows: list[Row] = []
        seen, clock, start = 0, "", 0
        for first, last, doc in _objects(lines):
            if doc is None:
                lines.near(first, "an object that is cut or garbled")
                continue
            if _is_summary(set(doc)):
                row, odd = _summary(doc, first)
                steps.append(row | {"step": len(steps) + 1})
                clock = "utc" if row["finished_at"] else clock
                for kind in odd:
                    _note(emit, first, kind, 1, _NOTES[kind])
            elif _is_response(set(doc)):
                rows.append(_response(doc, first, seen))
                seen += 1
            else:
                continue
            lines.add(first, last, "matched")
            start = start or first
            if len(rows) >= BATCH:
                _send(emit, "requests", rows)
                rows = []
        _send(emit, "requests", rows)
        _send(emit, "bench_steps", steps)
        if start:
            _send(emit, "clocks", [{"line": start, "kind": clock or "none", "resolution_s": 1.0 if clock else None}])
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
