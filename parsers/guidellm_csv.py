"""`benchmarks.csv` of guidellm, versions 0.2 to 0.7: one row per benchmark.

**Reads** the CSV of `guidellm benchmark run --outputs csv`: with three lines of headers (group, name, statistic) from 0.4 on, with one
(`Successful Requests per second mean`) before. Files put behind each other are read one after the other.

**`bench_steps`**, as from the JSON report (see guidellm), with these differences:

- `concurrency`: 1 for synchronous, N of `concurrent@N` (to 0.3). Later versions print only the word: then the streams of the profile that
  stands in the row, if there are as many as concurrent rows; else NULL with a quality row. `rate_rps`: of `constant@2.5` (to 0.3).
- `started_at`, `finished_at`: local wall clock without a zone, whole seconds, of the measuring window.
- `aggregate_tok_s`: over all requests to 0.3. Later versions write the rate of the successful ones alone: what the requests cut at the end
  made is not in it, and a quality row says so where they are more than one in fifty. `mean_concurrency` is then NULL.

**Traps.** The headers are those of the first benchmark, but a benchmark without failed or unfinished requests has no columns for them:
its row is shorter. Such a row is put under its headers by what its own counts say; a row that then does not fit is a near miss.
Arguments, environment and the profile stand in cells as JSON: nothing but the list of streams is taken from them.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ..engine.json_objects import nested
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_clock, send_oddities, send_rows

__all__ = ["PARSER"]

_STATUSES = ("successful", "incomplete", "errored")
_STATISTICS = ("mean", "median", "std dev", "percentiles")
_P99 = 9  # [min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]
_STRATEGY = re.compile(r"(synchronous|throughput|concurrent|constant|poisson|async)(?:@([0-9]+(?:\.[0-9]+)?))?")
_NOTES = {
    "streams-not-printed": "This version of guidellm prints neither the streams nor the rate of a benchmark: benchmarks.json has them.",
    "unfinished-left-out": "The token rate is that of the finished requests: those cut at the end of the benchmark are not in it.",
    "all-failed": "No request of the benchmark succeeded: it has no measurements.",
}

# metric as the headers of 0.4 and of 0.2 name it -> (what it is, factor)
_METRICS: dict[str, tuple[str, float]] = {
    "request latency/sec": ("e2e", 1e3),
    "time to first token/ms": ("ttft", 1.0),
    "inter token latency/ms": ("tpot", 1.0),
    "server throughput/requests/sec": ("req_s", 1.0),
    "server throughput/concurrency": ("mean_concurrency", 1.0),
    "token metrics/input tokens": ("input_len", 1.0),
    "token metrics/output tokens": ("output_len", 1.0),
    "token throughput/output tokens/sec": ("aggregate_tok_s", 1.0),
    "request latency": ("e2e", 1e3),
    "time to first token ms": ("ttft", 1.0),
    "inter token latency ms": ("tpot", 1.0),
    "requests per second": ("req_s", 1.0),
    "request concurrency": ("mean_concurrency", 1.0),
    "prompt token count": ("input_len", 1.0),
    "output token count": ("output_len", 1.0),
    "output tokens per second": ("aggregate_tok_s", 1.0),
}
_OF_ALL = ("mean_concurrency", "aggregate_tok_s")
_KEPT = {"e2e": ("mean", "p99"), "ttft": ("mean", "p50", "p99"), "tpot": ("mean", "p50")}
_FIXED = {
    **dict.fromkeys(("benchmark/strategy", "name"), "strategy"),
    **dict.fromkeys(("timings/measure start time", "start time"), "start"),
    **dict.fromkeys(("timings/measure end time", "end time"), "end"),
    **dict.fromkeys(("timings/duration", "duration"), "wall"),
    "run info/profile": "profile",
    **{f"request counts/{s}": s for s in (*_STATUSES, "total")},
    **{f"{s} requests": s for s in (*_STATUSES, "total")},
}


@dataclass(frozen=True)
class _Column:
    """What one column is: a fixed one by its `name`, or the `stat` of a metric `name` for the requests of a `status`."""

    name: str
    status: str = ""
    stat: str = ""


def _column(cells: Sequence[str]) -> _Column:
    """A column by its one or three header cells."""
    group, name, stat = ([c.strip().lower() for c in cells] + ["", ""])[:3]
    if len(cells) == 1:
        found = re.fullmatch(r"(successful|incomplete|errored|total) (.+?) (mean|median|std dev|\[min, .*max\])", group)
        if found:
            return _Column(found[2], found[1], "percentiles" if found[3][0] == "[" else found[3])
        return _Column(_FIXED.get(group, ""))
    if stat in _STATISTICS:
        status, _, rest = name.partition(" ")
        return _Column(f"{group}/{rest}", status, stat) if status in _STATUSES else _Column(f"{group}/{name}", "", stat)
    return _Column(_FIXED.get(f"{group}/{name}", ""))


def _is_header(row: Sequence[str]) -> int:
    """How many lines of headers begin with this one."""
    if row[:2] == ["Run Info", "Run Info"] and "Request Counts" in row:
        return 3
    return 1 if "Successful Requests" in row and "Successful Request latency mean" in row else 0


def _fits(columns: Sequence[_Column], row: Sequence[str]) -> bool:
    """As many cells as columns, and lists exactly under the headers of lists."""
    return len(columns) == len(row) and all((cell[:1] == "[") == (c.stat == "percentiles") for c, cell in zip(columns, row) if c.stat)


def _aligned(columns: Sequence[_Column], row: Sequence[str]) -> Sequence[_Column] | None:
    """The columns of a row. The counts stand before anything that may be missing, so they tell which columns are."""
    counts = {c.name: _figure(cell) for c, cell in zip(columns, row) if c.name in _STATUSES}
    none = {status for status, n in counts.items() if n == 0}
    own = [c for c in columns if not (c.stat and c.status in none)]
    if _fits(own, row):
        return own
    return columns if _fits(columns, row) and (len(row) == len(own) or "total" in {c.status for c in columns}) else None


def _figure(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[0-9]{1,15}(?:\.[0-9]{1,20})?(?:e-[0-9]{1,3})?", text) else None


def _time(text: str) -> float | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _streams(text: str) -> list[float]:
    """The streams of a concurrent profile."""
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return []
    streams = nested(held).get("streams") or nested(held).get("rate")
    return [float(s) for s in streams if isinstance(s, int) and s > 0] if isinstance(streams, list) else []


def _percentile(cell: str) -> str:
    parts = cell.strip("[]").split(",")
    return parts[_P99].strip() if len(parts) == 11 else ""


def _values(columns: Sequence[_Column], row: Sequence[str]) -> dict[str, dict[str, float]]:
    """Metric -> statistic -> value: of the successful requests, for what is about all of them of all where that is told."""
    out: dict[str, dict[str, float]] = {}
    for column, cell in zip(columns, row):
        name, scale = _METRICS.get(column.name, ("", 0.0))
        if not name or column.stat == "std dev" or column.status not in ("successful", "total"):
            continue
        if column.status == "total" and name not in _OF_ALL:
            continue
        stat = {"mean": "mean", "median": "p50", "percentiles": "p99"}[column.stat]
        value = _figure(_percentile(cell) if stat == "p99" else cell)
        if value:
            out.setdefault(name, {})[stat] = float(f"{value * scale:.12g}")
    return out


@dataclass
class _Table:
    """The benchmarks under one header."""

    columns: list[_Column]
    rows: list[Row] = field(default_factory=list)
    streams: list[float] = field(default_factory=list)

    def add(self, line: int, columns: Sequence[_Column], row: Sequence[str], odd: dict[str, int]) -> None:
        told = {c.name: cell for c, cell in zip(columns, row) if c.name and not c.stat}
        found = _STRATEGY.fullmatch(told.get("strategy", "").lower())
        counts = {s: _figure(told.get(s, "")) for s in (*_STATUSES, "total")}
        start, end = _time(told.get("start", "")), _time(told.get("end", ""))
        out: Row = {"line": line, "strategy": found[1] if found else "", "at": _figure(found[2]) if found and found[2] else None}
        out |= {"requests": counts["total"], "completed": counts["successful"], "failed": counts["errored"]}
        out |= {"started_at": start, "finished_at": end if start and end and end >= start else None}
        out["wall_s"] = _figure(told.get("wall", "")) or None
        self.streams = self.streams or _streams(told.get("profile", ""))
        self.rows.append(out)
        if counts["successful"] == 0:
            odd["all-failed"] += 1
            return
        values = _values(columns, row)
        out |= {f"{kind}_{stat}_ms": values.get(kind, {}).get(stat) for kind, kept in _KEPT.items() for stat in kept}
        out |= {name: values.get(name, {}).get("mean") for name in ("req_s", "input_len", "output_len", *_OF_ALL)}
        unfinished = (counts["incomplete"] or 0) + (counts["errored"] or 0)
        if not any(c.status == "total" for c in columns) and unfinished:
            out["mean_concurrency"] = None
            odd["unfinished-left-out"] += unfinished > 0.02 * (counts["successful"] or 0)
        out["aggregate_counts"] = "output" if out["aggregate_tok_s"] else None

    def steps(self, odd: dict[str, int]) -> list[Row]:
        """Rows with their load."""
        bare = sum(r["strategy"] == "concurrent" and r["at"] is None for r in self.rows)
        offered = iter(self.streams if len(self.streams) == bare else [])
        for n, row in enumerate(self.rows, 1):
            kind, at = row.pop("strategy"), row.pop("at")
            if kind == "synchronous":
                row["concurrency"] = 1.0
            elif kind == "concurrent":
                row["concurrency"] = at if at is not None else next(offered, None)
            elif kind in ("constant", "poisson", "async"):
                row["rate_rps"] = at
            odd["streams-not-printed"] += kind != "throughput" and row.get("concurrency") is None and row.get("rate_rps") is None
            row["step"] = n
        return self.rows


def _records(source: Readable) -> Iterator[tuple[int, int, list[str] | None, bool]]:
    """First line, last line, the cells (None where they are no CSV) and whether the record is whole."""
    text = "".join(block for _, block in source.blocks()).replace("\r\n", "\n").replace("\r", " ")
    reader = csv.reader(io.StringIO(text, newline=""))
    line = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield line, max(line, reader.line_num), None, True
            line = max(line, reader.line_num) + 1
            continue
        last = max(line, reader.line_num)
        yield line, last, row, text.endswith("\n") or last < text.count("\n") + 1
        line = last + 1


class GuidellmCsv:
    """`benchmarks.csv` of guidellm; see the module's page."""

    name = "guidellm-csv"
    api = 1

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        first = head.text.lstrip("\ufeff").split("\n", 1)[0].rstrip("\r")
        lines = _is_header(first.split(",")) if len(first) < 1 << 16 else 0
        return Claim(92, f"a CSV of guidellm with {lines} lines of headers") if lines else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps`, `quality` and one of `clocks`."""
        counts = Counts()
        tables: list[_Table] = []
        headers: list[list[str]] = []
        odd = dict.fromkeys(_NOTES, 0)
        for first, last, row, whole in _records(source):
            size = last - first + 1
            lines = _is_header([c.lstrip("\ufeff") for c in row or []])
            if lines or len(headers) in (1, 2):
                headers = [row or []] if lines else [*headers, row or []]
                counts.noise += size
                if lines == 1 or len(headers) == 3:
                    tables.append(_Table([_column(cells) for cells in zip(*headers)]))
                    headers = []
            elif not row or not tables:
                counts.noise += size if row == [] else 0
                counts.other += size if row != [] else 0
            elif whole and (columns := _aligned(tables[-1].columns, row)):
                tables[-1].add(first, columns, row, odd)
                counts.matched += size
            else:
                counts.near(first, "a row that does not fit its headers")
                counts.other += size - 1
        self._send(emit, [t for t in tables if t.rows], odd)
        return counts

    @staticmethod
    def _send(emit: Emit, tables: Sequence[_Table], odd: dict[str, int]) -> None:
        for n, table in enumerate(tables, 1):
            series = f"run {n}" if len(tables) > 1 else None
            send_rows(emit, "bench_steps", [row | {"series": series} for row in table.steps(odd)])
        if tables:
            line = tables[0].rows[0]["line"]
            timed = any(row["started_at"] for table in tables for row in table.rows)
            send_clock(emit, line, "local-no-zone" if timed else "none", 1.0 if timed else None, None)
            send_oddities(emit, line, odd, _NOTES)


def _new_sample() -> str:
    """A file of 0.5: a benchmark with unfinished requests, and one without, whose row is shorter."""
    metrics = (
        ("Request Latency", "Sec", 7.5), ("Time to First Token", "ms", 80.5), ("Time per Output Token", "ms", 75.0),
        ("Inter Token Latency", "ms", 74.5), ("Server Throughput", "Requests/Sec", 0.5), ("Server Throughput", "Concurrency", 3.75),
        ("Token Metrics", "Input Tokens", 64.0), ("Token Metrics", "Output Tokens", 100.0),
        ("Token Throughput", "Output Tokens/Sec", 50.5),
    )  # fmt: skip
    profile = '"{""type_"": ""concurrent"", ""streams"": [4, 8]}"'
    out: list[list[str]] = [[], [], []]
    for statuses, start, counts in ((("Successful", "Incomplete"), "10:00:00", (30, 4, 0)), (("Successful",), "10:02:00", (60, 0, 0))):
        n = counts[0] / 30
        cells = [
            ("Run Info", "Run ID", "", "x"), ("Run Info", "Run Index", "", "0"), ("Run Info", "Profile", "", profile),
            ("Benchmark", "Strategy", "", "concurrent"), ("Timings", "Start Time", "", f"2026-02-25 {start}"),
            ("Timings", "Measure Start Time", "", f"2026-02-25 {start}"), ("Timings", "Measure End Time", "", "2026-02-25 10:05:00"),
            ("Timings", "Duration", "Sec", "60.0"),
            *(("Request Counts", s, "", str(c)) for s, c in zip(("Successful", "Incomplete", "Errored"), counts)),
            ("Request Counts", "Total", "", str(sum(counts))),
        ]  # fmt: skip
        for group, unit, mean in metrics:
            for status in statuses:
                value = mean * n if status == "Successful" else 1.5
                cells += [(group, f"{status} {unit}", "Mean", f"{value}"), (group, f"{status} {unit}", "Median", f"{value - 0.5}")]
                cells += [(group, f"{status} {unit}", "Std Dev", "1.0")]
                cells += [(group, f"{status} {unit}", "Percentiles", '"[' + ", ".join(f"{value + k}" for k in range(11)) + ']"')]
        cells.append(("Runtime Info", "Arguments", "", '"{""target"": ""http://x""}"'))
        if not out[0]:
            out[:3] = [[c[k] for c in cells] for k in range(3)]
        out.append([c[3] for c in cells])
    return "".join(",".join(row) + "\r\n" for row in out)


def _old_sample() -> str:
    """A file of 0.2 and 0.3."""
    metrics = (
        ("Requests per second", 0.25), ("Request concurrency", 1.0), ("Request latency", 4.0), ("Prompt token count", 10.0),
        ("Output token count", 100.0), ("Time to first token ms", 50.0), ("Inter token latency ms", 39.5),
        ("Output tokens per second", 25.0), ("Tokens per second", 27.5),
    )  # fmt: skip
    head = ["Type", "Run Id", "Id", "Name", "Start Time", "End Time", "Duration"]
    row = ["generative_benchmark", "a", "b", "concurrent@2", "2025-06-15 12:00:00", "2025-06-15 12:01:00", "60.0"]
    for status, count in (("Successful", "15"), ("Incomplete", "0"), ("Errored", "0"), ("Total", "15")):
        head.append(f"{status} Requests")
        row.append(count)
        for name, value in metrics:
            head += [f"{status} {name} {s}" for s in ("mean", "median", "std dev")]
            head.append(f'"{status} {name} [min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]"')
            values = (value, value, 0.0) if count != "0" else (0.0, 0.0, 0.0)
            row += [f"{v}" for v in values] + ['"[' + ", ".join(f"{values[0]}" for _ in range(11)) + ']"']
    return ",".join([*head, "Args"]) + "\n" + ",".join([*row, '"{""x"": 1}"']) + "\n"


SAMPLES: tuple[Sample, ...] = (
    Sample(
        _new_sample(),
        {
            "bench_steps": [
                {
                    "line": 4, "step": 1, "concurrency": 4.0, "requests": 34.0, "completed": 30.0, "failed": 0.0, "wall_s": 60.0,
                    "started_at": 1772013600.0, "finished_at": 1772013900.0, "req_s": 0.5, "mean_concurrency": None, "e2e_mean_ms": 7500.0,
                    "e2e_p99_ms": 16500.0, "ttft_mean_ms": 80.5, "ttft_p50_ms": 80.0, "ttft_p99_ms": 89.5, "tpot_mean_ms": 74.5,
                    "tpot_p50_ms": 74.0, "itl_mean_ms": None, "input_len": 64.0, "output_len": 100.0, "aggregate_tok_s": 50.5,
                    "aggregate_counts": "output",
                },
                {"line": 5, "step": 2, "concurrency": 8.0, "requests": 60.0, "aggregate_tok_s": 101.0, "mean_concurrency": 7.5},
            ],
            "clocks": [{"kind": "local-no-zone", "resolution_s": 1.0}],
            "quality": [{"kind": "unfinished-left-out", "n": 1}],
        },
        "0.4 to 0.7",
        name="benchmarks.csv",
    ),
    Sample(
        _old_sample(),
        {
            "bench_steps": [
                {
                    "line": 2, "concurrency": 2.0, "requests": 15.0, "completed": 15.0, "failed": 0.0, "wall_s": 60.0, "req_s": 0.25,
                    "started_at": 1749988800.0, "mean_concurrency": 1.0, "aggregate_tok_s": 25.0, "e2e_mean_ms": 4000.0, "output_len": 100.0,
                }
            ],
            "quality": [],
        },
        "0.2 and 0.3",
        name="benchmarks.csv",
    ),
)  # fmt: skip

PARSER = GuidellmCsv()
