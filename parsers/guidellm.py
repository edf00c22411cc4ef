"""`benchmarks.json` of guidellm, versions 0.2 to 0.7.

**Reads** the JSON report of `guidellm benchmark run` (`--output-path benchmarks.json`, later `--outputs json`), whole: one object that
holds every benchmark of the run and every request of each. The reports of 0.1, the YAML, CSV and HTML forms and the console tables are not
read.

**`bench_steps`**, one row per benchmark:

- `concurrency`: 1 for the strategy synchronous, `streams` (or, where missing, `max_concurrency`) for concurrent, `max_concurrency` for
  throughput; NULL for constant, poisson and other rates: their `rate` is `rate_rps`, and their `max_concurrency` only a cap.
- `mean_concurrency`: `request_concurrency`. `requests`, `completed`, `failed`: `request_totals` (those cancelled at the end are in none).
- `started_at`, `finished_at`, `wall_s`: the measuring window, without warm-up and cool-down (UTC).
- `aggregate_tok_s` (output): mean of `output_tokens_per_second` over all requests. `ttft_*`, `e2e_*`, lengths: successful requests
  of the window. `tpot_*`: its *inter token latency*, which is one mean per request without the first token; its own *time per output
  token* contains the first one and is not read. It has no distribution of gaps: `itl_*` is NULL.

**`requests`** (origin `client`, UTC): `sent_at` (`request_start`), `first_token_at` (first token iteration), `finished_at`
(`request_end`), `latency_s`, `ttft_s`, tokens, `status` (`incomplete` is cancelled), `concurrency` of its benchmark, `run` the number of
the benchmark. The file holds more requests than the totals: those of warm-up and cool-down too.

**Traps.** `queued` and `queued_time_avg` are guidellm's own prefetch, up to minutes before the request was sent: never a server queue, and
not read. A request has two events per token on some servers, so no count of iterations is used. Requests may be sampled or stripped.
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


# --- one benchmark ---------------------------------------------------------------------------------------------------------------------

_STATUS = {"successful": "ok", "errored": "failed", "incomplete": "cancelled"}


def _epoch(*values: Any) -> float | None:
    """The first of the values that is a time of this century in seconds."""
    return next((v for value in values if (v := _num(value)) and 1e9 < v < 4.2e9), None)


def _load(benchmark: Json) -> tuple[float | None, float | None]:
    """(concurrency, requests per second) of the strategy."""
    strategy = _sub(benchmark, "config", "strategy") or _sub(benchmark, "args", "strategy") or _sub(benchmark, "scheduler", "strategy")
    kind = strategy.get("type_", strategy.get("type"))
    streams, cap = _pos(strategy.get("streams")), _pos(strategy.get("max_concurrency"))
    if kind == "synchronous":
        return 1.0, None
    if kind in ("concurrent", "throughput"):
        return streams or cap, None
    return None, _pos(strategy.get("rate")) or _pos(strategy.get("initial_rate"))


def _mean(metrics: Json, name: str, stat: str = "mean", status: str = "successful", scale: float = 1.0) -> float | None:
    """A statistic of a distribution: over one status, with all as the second choice."""
    held = _sub(metrics, name)
    found = _sub(held, status) or _sub(held, "successful") or _sub(held, "total")
    return _pos(_sub(found, "percentiles").get(stat) if stat.startswith("p") else found.get(stat), scale)


def _step(benchmark: Json, line: int, step: int) -> Row:
    metrics = _sub(benchmark, "metrics")
    totals = _sub(metrics, "request_totals") or _sub(benchmark, "request_totals")
    start, end = _epoch(benchmark.get("start_time")), _epoch(benchmark.get("end_time"))
    concurrency, rate = _load(benchmark)
    row: Row = {"line": line, "step": step, "concurrency": concurrency, "rate_rps": rate, "started_at": start, "finished_at": end}
    row["wall_s"] = _pos(benchmark.get("duration")) or (end - start if start and end and end > start else None)
    row |= {c: _num(totals.get(k)) for c, k in (("requests", "total"), ("completed", "successful"), ("failed", "errored"))}
    if row["completed"] == 0:
        return row
    row |= {
        "req_s": _mean(metrics, "requests_per_second"),
        "mean_concurrency": _mean(metrics, "request_concurrency", status="total"),
        "aggregate_tok_s": _mean(metrics, "output_tokens_per_second", status="total"),
        "input_len": _mean(metrics, "prompt_token_count"),
        "output_len": _mean(metrics, "output_token_count"),
        "e2e_mean_ms": _mean(metrics, "request_latency", scale=1e3),
        "e2e_p99_ms": _mean(metrics, "request_latency", "p99", scale=1e3),
    }
    for kind, name, kept in (("ttft", "time_to_first_token_ms", ("p50", "p99")), ("tpot", "inter_token_latency_ms", ("p50",))):
        row[f"{kind}_mean_ms"] = _mean(metrics, name)
        row |= {f"{kind}_{stat}_ms": _mean(metrics, name, stat) for stat in kept}
        row[f"{kind}_p50_ms"] = row[f"{kind}_p50_ms"] or _mean(metrics, name, "median")
    row["aggregate_counts"] = "output" if row["aggregate_tok_s"] else None
    return row


def _request(one: Json, status: str, line: int, run: int, number: int, concurrency: float | None) -> Row:
    """The row of one request, of 0.2 (times beside the counts) or of 0.4 and later (under `info.timings`)."""
    times = _sub(one, "info", "timings") or _sub(one, "scheduler_info", "request_timings")
    sent = _epoch(times.get("request_start"), one.get("request_start_time"), one.get("start_time"))
    first = _epoch(times.get("first_token_iteration"), times.get("first_iteration"), one.get("first_token_time"))
    end = _epoch(times.get("request_end"), one.get("request_end_time"), one.get("end_time"))
    row: Row = {"line": line, "origin": "client", "run": run, "request": str(number), "concurrency": concurrency, "status": status}
    row |= {"sent_at": sent, "finished_at": end if end and sent and end >= sent else None, "resolution_s": 1e-6}
    if status != "ok":
        return row
    row["first_token_at"] = first if first and sent and first >= sent else None
    row["ttft_s"] = _pos(one.get("time_to_first_token_ms"), 1e-3) or (row["first_token_at"] and _pos(row["first_token_at"] - sent))
    row["latency_s"] = _pos(one.get("request_latency")) or (row["finished_at"] and _pos(row["finished_at"] - sent))
    row["prompt_tokens"] = _pos(one.get("prompt_tokens")) or _pos(_sub(one, "input_metrics").get("total_tokens"))
    row["output_tokens"] = _pos(one.get("output_tokens")) or _pos(_sub(one, "output_metrics").get("total_tokens"))
    return row


def _requests(benchmark: Json, row: Row, run: int) -> list[Row]:
    held = _sub(benchmark, "requests")
    out: list[Row] = []
    for name, status in _STATUS.items():
        found = held.get(name)
        for one in found if isinstance(found, list) else []:
            if isinstance(one, dict):
                out.append(_request(one, status, row["line"], run, len(out), row["concurrency"]))
    return out


_CONSOLE = re.compile(r"Request Latency Statistics \(Completed Requests\)|Server Throughput Statistics \(All Requests\)|Benchmarks Stats:")


class Guidellm:
    """Reports of guidellm; see the module's page."""

    name = "guidellm"
    api = 1

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        keys = _keys(head.text)
        inner = {"strategy", "scheduler_state", "run_stats", "request_loader", "request_totals", "scheduler_metrics"} & keys
        if "benchmarks" in keys and inner:
            return Claim(92, "a report of guidellm")
        if "guidellm_version" in keys:
            return (
                Claim(92, "a report of guidellm")
                if "benchmarks" in keys
                else Refusal(50, "a guidellm report without `benchmarks` at its head")
            )
        if _CONSOLE.search(head.text):
            return Refusal(60, "the console tables of guidellm: give the benchmarks.json that was written beside them")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps`, `requests` and one of `clocks`. A cut or garbled report is a near miss."""
        lines = _Lines(source)
        steps: list[Row] = []
        for first, last, doc in _objects(lines):
            if doc is None:
                lines.near(first, "a report that is cut or garbled")
                continue
            held = doc.get("benchmarks")
            found = [b for b in held if isinstance(b, dict) and isinstance(b.get("metrics"), dict)] if isinstance(held, list) else []
            if found:
                lines.add(first, last, "matched")
            for benchmark in found:
                steps.append(_step(benchmark, first, len(steps) + 1))
                _send(emit, "requests", _requests(benchmark, steps[-1], len(steps) - 1))
        if steps:
            _send(emit, "bench_steps", steps)
            _send(emit, "clocks", [{"line": steps[0]["line"], "kind": "utc", "resolution_s": 1e-6}])
            failed = [s["line"] for s in steps if s["completed"] == 0]
            if failed:
                _note(emit, failed[0], "all-failed", len(failed), "No request of the benchmark succeeded: it has no measurements.")
        return lines.close()


SAMPLES: tuple[Sample, ...] = (
    Sample(
        '{"metadata": {"version": 1, "guidellm_version": "0.5.0"}, "args": {"profile": "concurrent"}, "benchmarks": [\n'
        ' {"config": {"strategy": {"type_": "concurrent", "streams": 4, "max_concurrency": 8}}, "scheduler_state": {}, "start_time":'
        ' 1772000010.0, "end_time": 1772000070.0, "duration": 60.0, "metrics": {"request_totals": {"successful": 30, "errored": 1,'
        ' "incomplete": 0, "total": 31}, "requests_per_second": {"successful": {"mean": 0.5}}, "request_concurrency": {"total": {"mean":'
        ' 3.9}}, "request_latency": {"successful": {"mean": 7.5, "percentiles": {"p50": 7.25, "p99": 9.5}}}, "time_to_first_token_ms":'
        ' {"successful": {"mean": 80.5, "median": 70.5, "percentiles": {"p50": 70.5, "p99": 200.5}}}, "time_per_output_token_ms":'
        ' {"successful": {"mean": 75.0}}, "inter_token_latency_ms": {"successful": {"mean": 74.5, "percentiles": {"p50": 74.25, "p99": '
        "99.5}}},"
        ' "output_tokens_per_second": {"successful": {"mean": 50.5}, "total": {"mean": 51.5}}, "prompt_token_count": {"successful": '
        '{"mean":'
        ' 64.0}}, "output_token_count": {"successful": {"mean": 100.0}}}, "requests": {"successful": [{"output": "x", "info": {"timings":'
        ' {"targeted_start": 1772000000.0, "queued": 1771999000.0, "request_start": 1772000012.25, "first_token_iteration": 1772000012.75,'
        ' "last_token_iteration": 1772000019.25, "request_iterations": 200, "request_end": 1772000019.75}}, "request_latency": 7.5,'
        ' "prompt_tokens": 64, "output_tokens": 100, "time_to_first_token_ms": 500.0}], "errored": [], "incomplete": [{"info": {"timings":'
        ' {"queued": 1771999000.0, "request_start": 1772000069.5, "request_end": null}, "error": "x"}, "request_latency": null,'
        ' "output_tokens": null}], "total": null}},\n'
        ' {"config": {"strategy": {"type_": "constant", "rate": 2.5, "max_concurrency": 512}}, "metrics": {"request_totals": '
        '{"successful": 0,'
        ' "errored": 9, "total": 9}, "time_to_first_token_ms": {"successful": {"mean": 0.0}}}, "requests": null}]}\n',
        {
            "bench_steps": [
                {
                    "line": 1,
                    "step": 1,
                    "concurrency": 4.0,
                    "rate_rps": None,
                    "mean_concurrency": 3.9,
                    "requests": 31.0,
                    "completed": 30.0,
                    "failed": 1.0,
                    "started_at": 1772000010.0,
                    "finished_at": 1772000070.0,
                    "wall_s": 60.0,
                    "req_s": 0.5,
                    "aggregate_tok_s": 51.5,
                    "aggregate_counts": "output",
                    "input_len": 64.0,
                    "output_len": 100.0,
                    "e2e_mean_ms": 7500.0,
                    "e2e_p99_ms": 9500.0,
                    "ttft_mean_ms": 80.5,
                    "ttft_p50_ms": 70.5,
                    "ttft_p99_ms": 200.5,
                    "tpot_mean_ms": 74.5,
                    "tpot_p50_ms": 74.25,
                    "itl_mean_ms": None,
                },
                {"line": 1, "step": 2, "concurrency": None, "rate_rps": 2.5, "completed": 0.0, "failed": 9.0, "ttft_mean_ms": None},
            ],
            "requests": [
                {
                    "run": 0,
                    "request": "0",
                    "concurrency": 4.0,
                    "sent_at": 1772000012.25,
                    "first_token_at": 1772000012.75,
                    "finished_at": 1772000019.75,
                    "queued_at": None,
                    "latency_s": 7.5,
                    "ttft_s": 0.5,
                    "prompt_tokens": 64.0,
                    "output_tokens": 100.0,
                    "status": "ok",
                },
                {"request": "1", "sent_at": 1772000069.5, "finished_at": None, "output_tokens": None, "status": "cancelled"},
            ],
            "clocks": [{"kind": "utc"}],
            "quality": [{"kind": "all-failed"}],
        },
        "0.4 to 0.7",
        name="benchmarks.json",
    ),
    Sample(
        '{"benchmarks": [{"type_": "generative_benchmark", "args": {"profile": {}, "strategy": {"type_": "synchronous"}}, "run_stats": '
        '{}, "metrics":'
        ' {"requests_per_second": {"successful": {"mean": 0.25}}, "request_latency": {"successful": {"mean": 4.0}}, '
        '"output_tokens_per_second":'
        ' {"total": {"mean": 25.0}}}, "request_totals": {"successful": 2, "errored": 0, "incomplete": 0, "total": 2}, "requests": '
        '{"successful":'
        ' [{"start_time": 1750000000.25, "end_time": 1750000004.25, "first_token_time": 1750000000.75, "last_token_time": 1750000004.0,'
        ' "prompt_tokens": 10, "output_tokens": 100, "request_latency": 4.0, "time_to_first_token_ms": 500.0}], "errored": [], '
        '"incomplete": []},'
        ' "start_time": 1750000000.0, "end_time": 1750000008.5}]}',
        {
            "bench_steps": [
                {"concurrency": 1.0, "completed": 2.0, "wall_s": 8.5, "aggregate_tok_s": 25.0, "e2e_mean_ms": 4000.0, "req_s": 0.25}
            ],
            "requests": [{"sent_at": 1750000000.25, "first_token_at": 1750000000.75, "finished_at": 1750000004.25, "output_tokens": 100.0}],
        },
        "0.2 and 0.3",
        name="benchmarks.json",
    ),
)

PARSER = Guidellm()
