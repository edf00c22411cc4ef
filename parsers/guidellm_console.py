"""The tables that `guidellm benchmark` prints at the end of a run, versions 0.2 to 0.7.

**Reads** them alone or between the lines of any log, indented or not, several runs in one file: `Benchmarks Info:` and `Benchmarks Stats:`
(to 0.3), `Run Summary Info`, `Request Latency Statistics` and `Server Throughput Statistics` (from 0.4 on). Headers span two or three
lines with merged cells (`||`): a column is known by all of its headers together. The rows of the tables of one run belong together by
their place; where the strategies differ, the second table is a near miss.

**`bench_steps`**, one row per benchmark:

- `concurrency`: 1 for synchronous, N of `concurrent@N` (to 0.3). Later versions print only the word: then the streams are those that the
  run names above its tables (`--rate 1,4,8` with a concurrent profile, or `streams=[1, 4, 8]` of the resolved profile) if there are as
  many as concurrent rows; else NULL with a quality row. `rate_rps`: of `constant@2.5` or `poisson@2.5`; later versions do not print it.
- `mean_concurrency`, `req_s`, `aggregate_tok_s` (output), `total_tok_s`, `wall_s` (the measuring window), `ttft_*`, `e2e_*` and, to 0.3,
  `requests`, `completed`, `failed` and the mean lengths.
- `tpot_*`: its *inter token latency*, one mean per request without the first token. Its own *TPOT* contains the first token and is not
  read; it has no distribution of gaps. Columns for the 95th percentile have no place.

**Traps.** Early versions print `Req Latency (ms)` over seconds: a latency under the TTFT beside it is in seconds, any other is left out.
Numbers have one decimal from 0.4 on, so rates under one request per second are left out there. Start and end are local times of day
without a date and are not read. The benchmarks.json beside it holds all of this and every request: see guidellm.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_clock, send_oddities, send_rows

__all__ = ["PARSER"]

MAX_STEPS = 10_000
CONTEXT = 1 << 16  # characters above a table in which its command line may stand
_TITLES = (
    *("Benchmarks Info:", "Benchmarks Stats:", "Benchmark Info:", "Benchmark Stats:"),
    *("Run Summary Info", "Request Latency Statistics", "Server Throughput Statistics"),
)
_TITLE = re.compile(r"^[\Wℹ]*(" + "|".join(map(re.escape, _TITLES)) + r")(?: \([A-Z][a-z]+ Requests\))?\W*$")
_ANY_TITLE = re.compile(r"^[\Wℹ]*(?:(?:Text|Image|Video|Audio) Metrics|Request Token) Statistics")
_RULE = re.compile(r"[\s|=+-]*[|=-]{5,}[\s|=+-]*")
_STRATEGY = re.compile(r"(synchronous|throughput|concurrent|constant|poisson|async|sweep|incremental|replay)(?:@([0-9.]+))?")
_NUMBER = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,6})?")
_STREAMS = re.compile(r"'?streams'?[=:]\s*\[([0-9,\s]{1,200})\]")
_RATES = re.compile(r"--(?:rate|streams)[= ]+[\"']?\[?([0-9][0-9,. ]{0,200}?)\]?[\"']?(?=\s+-|\s*\\|\s*$)", re.M)

# what the headers of a column say together -> (column, factor)
_COLUMNS: dict[str, tuple[str, float]] = {
    "metadata/duration (s)": ("wall_s", 1.0),
    "timings/dur/sec": ("wall_s", 1.0),
    "requests made/comp": ("completed", 1.0),
    "requests made/inc": ("cancelled", 1.0),
    "requests made/err": ("failed", 1.0),
    "prompt tok/req/comp": ("input_len", 1.0),
    "output tok/req/comp": ("output_len", 1.0),
    "request stats/per second": ("req_s", 1.0),
    "request stats/concurrency": ("mean_concurrency", 1.0),
    "out tok/sec/mean": ("aggregate_tok_s", 1.0),
    "tot tok/sec/mean": ("total_tok_s", 1.0),
    "requests/per sec/mean": ("rounded_req_s", 1.0),
    "requests/concurrency/mean": ("mean_concurrency", 1.0),
    "output tokens/per sec/mean": ("aggregate_tok_s", 1.0),
    "total tokens/per sec/mean": ("total_tok_s", 1.0),
    "request latency/sec/mean": ("e2e_mean_ms", 1e3),
    "request latency/sec/p99": ("e2e_p99_ms", 1e3),
    "req latency (sec)/mean": ("e2e_mean_ms", 1e3),
    "req latency (sec)/p99": ("e2e_p99_ms", 1e3),
    "req latency (ms)/mean": ("doubtful_mean", 1.0),
    "req latency (ms)/p99": ("doubtful_p99", 1.0),
    **{f"ttft (ms)/{word}": (f"ttft_{stat}_ms", 1.0) for word, stat in (("mean", "mean"), ("median", "p50"), ("p99", "p99"))},
    **{f"ttft/ms/{word}": (f"ttft_{stat}_ms", 1.0) for word, stat in (("mean", "mean"), ("mdn", "p50"), ("p99", "p99"))},
    **{f"itl (ms)/{word}": (f"tpot_{stat}_ms", 1.0) for word, stat in (("mean", "mean"), ("median", "p50"))},
    **{f"itl/ms/{word}": (f"tpot_{stat}_ms", 1.0) for word, stat in (("mean", "mean"), ("mdn", "p50"))},
}
_COUNTS = ("completed", "cancelled", "failed")
_STEP = (
    *("step", "concurrency", "rate_rps", "mean_concurrency", "requests", "completed", "failed", "wall_s", "req_s", "aggregate_tok_s"),
    *("aggregate_counts", "total_tok_s", "input_len", "output_len", "ttft_mean_ms", "ttft_p50_ms", "ttft_p99_ms", "tpot_mean_ms"),
    *("tpot_p50_ms", "e2e_mean_ms", "e2e_p99_ms"),
)
_NOTES = {
    "streams-not-printed": "This version of guidellm prints neither the streams nor the rate of a benchmark: benchmarks.json has them.",
    "latency-unit": "A column headed ms held seconds, as early versions print them: the first token alone took longer.",
    "all-failed": "No request of the benchmark succeeded: it has no measurements.",
}


# --- lines -> tables -------------------------------------------------------------------------------------------------------------------


def _cells(line: str) -> list[str]:
    """Cells of a row; the edges of a table with outer pipes go. A cell of no character at all continues the one before it."""
    text = line.strip()
    cells = text.split("|")
    return cells[1:-1] if text.startswith("|") and text.endswith("|") and len(cells) > 2 else cells


def _filled(cells: Sequence[str]) -> list[str]:
    out: list[str] = []
    for cell in cells:
        out.append(out[-1] if cell == "" and out else cell.strip().lower())
    return out


@dataclass
class _Run:
    """The tables of one run by their titles, each as (line, strategy, its number, values) per row, the values None
    where they do not fit; `streams` is what was offered."""

    tables: dict[str, list[tuple[int, str, str | None, Row | None]]] = field(default_factory=dict)
    streams: list[float] = field(default_factory=list)

    def rows(self, tables: _Tables) -> list[Row]:
        """The rows of all tables joined by their place; a table with other rows than the first one is left out."""
        first, *others = (t for t in self.tables.values() if t)
        out = [{"line": line, "strategy": strategy, "at": at} | (values or {}) for line, strategy, at, values in first]
        for other in others:
            if [row[1:3] for row in other] == [row[1:3] for row in first]:
                for row, (*_, values) in zip(out, other):
                    row |= values or {}
            else:
                for line, *_ in (row for row in other if row[3] is not None):
                    tables.counts.matched -= 1
                    tables.counts.near(line, "the rows of this table are not those of the first one")
        return out


@dataclass
class _Tables:
    """One pass over the lines that could belong to a table."""

    counts: Counts = field(default_factory=Counts)
    runs: list[_Run] = field(default_factory=list)
    title: str = ""
    headers: list[list[str]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    before: str = ""  # the text above the block

    def take(self, line: int, text: str, whole: bool, above: Callable[[], str]) -> None:
        """One line with a pipe or a title; `above` gives the text before it."""
        title = _TITLE.match(text)
        if title or _ANY_TITLE.match(text):
            self.title, self.headers, self.names = title[1] if title else "", [], []
            self.counts.noise += 1
            if title and (not self.runs or self.title in self.runs[-1].tables):
                self.runs.append(_Run(streams=_offered(above())))
            if title:
                self.runs[-1].tables[self.title] = []
        elif not self.title:
            self.counts.other += 1
        elif _RULE.fullmatch(text):
            self.counts.noise += 1
            if self.headers and not self.names:
                self._head()
        elif not self.names:
            self.headers.append(_cells(text))
            self.counts.noise += 1
        else:
            self._row(line, text, whole)

    def _head(self) -> None:
        """The names of the columns, once the rule below the headers was reached."""
        width = max(map(len, self.headers))
        if len(self.headers) < 2 or len(self.headers) > 3 or any(len(h) != width for h in self.headers):
            self.title = ""
            return
        rows = [_filled(h) for h in self.headers]
        self.names = ["/".join(part for part in parts if part) for parts in zip(*rows)]

    def _row(self, line: int, text: str, whole: bool) -> None:
        cells = [c.strip() for c in _cells(text)]
        strategy = _STRATEGY.fullmatch(cells[0].lower())
        rows = self.runs[-1].tables[self.title] if self.title else []
        if not strategy or len(rows) >= MAX_STEPS:
            self.counts.other += 1
            self.title = ""
            return
        if not whole and not text.rstrip().endswith("|"):
            cells[-1] = ""
        fits = len(cells) == len(self.names)
        rows.append((line, strategy[1], strategy[2], _values(self.names, cells) if fits else None))
        if fits:
            self.counts.matched += 1
        else:  # it keeps its place, so that the rows below it do not move up
            self.counts.near(line, f"{len(cells)} cells under {len(self.names)} headers")


def _values(names: Sequence[str], cells: Sequence[str]) -> Row:
    out: Row = {}
    for name, cell in zip(names, cells):
        column, scale = _COLUMNS.get(name, ("", 0.0))
        if column and _NUMBER.fullmatch(cell):
            value = float(cell) * scale
            if value > 0 or (column in _COUNTS and value == 0):
                out[column] = float(f"{value:.12g}")
    return out


# --- tables -> steps -------------------------------------------------------------------------------------------------------------------


def _load(row: Row) -> tuple[float | None, float | None]:
    """(concurrency, requests per second) of a strategy as printed."""
    at = float(row["at"]) if row["at"] and _NUMBER.fullmatch(row["at"]) else None
    if row["strategy"] == "synchronous":
        return 1.0, None
    if row["strategy"] in ("concurrent", "throughput"):
        return (at if at and at == int(at) else None), None
    return None, at


def _steps(rows: Sequence[Row], streams: Sequence[float], odd: dict[str, int]) -> list[Row]:
    bare = sum(r["strategy"] == "concurrent" and not r["at"] for r in rows)
    offered = iter(streams if len(streams) == bare else [])
    out = []
    for row in rows:
        concurrency, rate = _load(row)
        if row["strategy"] == "concurrent" and not row["at"]:
            concurrency = next(offered, None)
        odd["streams-not-printed"] += concurrency is None and rate is None and row["strategy"] != "throughput"
        if row.get("completed") == 0:
            odd["all-failed"] += 1
            row = {k: row[k] for k in ("line", *_COUNTS, "wall_s") if k in row}
        step: Row = {k: v for k, v in row.items() if k in (*_STEP, "line")} | {"concurrency": concurrency, "rate_rps": rate}
        if all(k in row for k in _COUNTS):
            step["requests"] = row["completed"] + row["cancelled"] + row["failed"]
        if (rounded := row.get("rounded_req_s")) and rounded >= 1:
            step["req_s"] = rounded
        ttft = row.get("ttft_mean_ms")
        if ttft and row.get("doubtful_mean", ttft) < ttft:
            odd["latency-unit"] += 1
            step["e2e_mean_ms"] = float(f"{row['doubtful_mean'] * 1e3:.12g}")
            step["e2e_p99_ms"] = float(f"{row['doubtful_p99'] * 1e3:.12g}") if row.get("doubtful_p99") else None
        step["aggregate_counts"] = "output" if step.get("aggregate_tok_s") else None
        out.append(step)
    return out


def _offered(text: str) -> list[float]:
    """The streams that the last command line or resolved profile of a text names, where it is a concurrent one."""
    if not re.search(r"(?:--(?:rate-type|profile)[= ]+[\"']?|type_'?[=:] ?'?)concurrent\b", text):
        return []
    found = (_STREAMS.findall(text) or _RATES.findall(text) or [""])[-1]
    numbers = [float(n) for n in re.findall(r"[0-9]+(?:\.[0-9]+)?", found)]
    return numbers if all(n >= 1 and n == int(n) for n in numbers) else []


class GuidellmConsole:
    """Printed tables of guidellm; see the module's page."""

    name = "guidellm-console"
    api = 1
    beyond = _TITLES

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A title with at least one row below it."""
        if not any(title in head.text for title in _TITLES):
            return None
        tables = _Tables()
        _read(tables, 1, head.text if head.text.endswith("\n") else head.text + "\n")
        rows = sum(len(next(iter(r.tables.values()))) for r in tables.runs)
        if rows:
            return Claim(80, f"console tables of guidellm: {rows} benchmarks", shares=True)
        return Refusal(50, "console tables of guidellm whose columns are not where their headers are") if tables.runs else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps`, `quality` and one of `clocks`."""
        tables = _Tables()
        for first, block in source.blocks():
            _read(tables, first, block)
        odd, lines = dict.fromkeys(_NOTES, 0), []
        runs = [run for run in tables.runs if any(run.tables.values())]
        for n, run in enumerate(runs, 1):
            steps = _steps(run.rows(tables), run.streams, odd)
            series = f"run {n}" if len(runs) > 1 else None
            rows = [step | {"step": k, "series": series} for k, step in enumerate(steps, 1)]
            send_rows(emit, "bench_steps", rows, ("line", "series", *_STEP))
            lines.append(rows[0]["line"])
        if lines:
            send_clock(emit, lines[0], "none", None, None)
            send_oddities(emit, lines[0], odd, _NOTES)
        return tables.counts


def _read(tables: _Tables, first: int, block: str) -> None:
    """Only lines with a pipe or a title are looked at one by one."""
    import polars as pl

    lines = pl.Series(block.split("\n"), dtype=pl.String)
    whole = block.endswith("\n")
    lines = lines.head(len(lines) - 1) if whole else lines
    hit = lines.str.contains(r"\||Statistics|Benchmarks? (?:Info|Stats):|Run Summary Info") & (lines.str.len_bytes() <= 2000)
    tables.counts.other += int((~hit).sum())
    for at in hit.arg_true().to_list():
        tables.take(
            first + at,
            lines[at],
            whole or at < len(lines) - 1,
            lambda at=at: tables.before + "\n".join(lines[:at]),  # type: ignore[misc]
        )
    tables.before = (tables.before + block)[-CONTEXT:]


_NEW = """ℹ Run Summary Info
|============|==========|==========|======|======|======|========|=====|=====|========|=====|=====|
| Benchmark  | Timings                              ||||| Input Tokens     ||| Output Tokens    |||
| Strategy   | Start    | End      | Dur  | Warm | Cool | Comp   | Inc | Err | Comp   | Inc | Err |
|            |          |          | Sec  | Sec  | Sec  | Tot    | Tot | Tot | Tot    | Tot | Tot |
|------------|----------|----------|------|------|------|--------|-----|-----|--------|-----|-----|
| concurrent | 10:00:00 | 10:01:00 | 60.0 | 0.0  | 0.0  | 4000.0 | 0.0 | 0.0 | 8000.0 | 0.0 | 0.0 |
| concurrent | 10:01:10 | 10:02:10 | 60.5 | 0.0  | 0.0  | 9000.0 | 0.0 | 0.0 | 9000.0 | 0.0 | 0.0 |
|============|==========|==========|======|======|======|========|=====|=====|========|=====|=====|


ℹ Request Latency Statistics (Completed Requests)
|============|=====|======|======|======|=====|=====|=====|=====|
| Benchmark  | Request Latency || TTFT || ITL || TPOT ||
| Strategy   | Sec || ms || ms || ms ||
|            | Mdn | p95  | Mdn  | p95  | Mdn | p95 | Mdn | p95 |
|------------|-----|------|------|------|-----|-----|-----|-----|
| concurrent | 5.2 | 6.5  | 90.5 | 99.5 | 39.5 | 40.5 | 41.5 | 42.5 |
| concurrent | 9.2 | 9.5  | 310.5 | 420.5 | 61.5 | 70.5 | 62.5 | 71.5 |
|============|=====|======|======|======|=====|=====|=====|=====|


ℹ Server Throughput Statistics (All Requests)
|============|=====|======|=====|======|======|======|======|=======|=======|=======|
| Benchmark  | Requests |||| Input Tokens || Output Tokens || Total Tokens ||
| Strategy   | Per Sec || Concurrency || Per Sec || Per Sec || Per Sec ||
|            | Mdn | Mean | Mdn | Mean | Mdn | Mean | Mdn | Mean | Mdn | Mean |
|------------|-----|------|-----|------|------|------|------|------|------|------|
| concurrent | 0.4 | 0.4  | 4.0 | 3.9 | 70.5 | 71.5 | 99.5 | 98.5 | 160.5 | 170.0 |
| concurrent | 1.5 | 1.5  | 16.0 | 15.5 | 80.5 | 81.5 | 199.5 | 198.5 | 260.5 | 280.0 |
|============|=====|======|=====|======|======|======|======|======|======|======|
"""

SAMPLES: tuple[Sample, ...] = (
    Sample(
        "$ guidellm benchmark --target http://localhost:8000 --profile concurrent --rate 4,16 --max-seconds 60\n" + _NEW,
        {
            "bench_steps": [
                {"line": 8, "step": 1, "series": None, "concurrency": 4.0, "mean_concurrency": 3.9, "wall_s": 60.0, "req_s": None,
                 "aggregate_tok_s": 98.5, "aggregate_counts": "output", "total_tok_s": 170.0, "ttft_p50_ms": 90.5, "tpot_p50_ms": 39.5,
                 "e2e_mean_ms": None, "ttft_p99_ms": None},
                {"line": 9, "step": 2, "concurrency": 16.0, "mean_concurrency": 15.5, "wall_s": 60.5, "req_s": 1.5, "ttft_p50_ms": 310.5},
            ],
            "clocks": [{"kind": "none"}],
            "quality": [],
        },
        "0.5 to 0.7",
    ),
    Sample(
        _NEW,
        {
            "bench_steps": [{"concurrency": None, "mean_concurrency": 3.9}, {"concurrency": None}],
            "quality": [{"kind": "streams-not-printed", "n": 2}],
        },
        "0.5 to 0.7, nothing says how many streams",
    ),
    Sample(
        "Benchmarks Info:\n===========\n"
        "Metadata |||| Requests Made ||| Prompt Tok/Req ||| Output Tok/Req ||| Prompt Tok Total||| Output Tok Total ||\n"
        "    Benchmark| Start Time| End Time| Duration (s)|  Comp|  Inc|  Err|   Comp|  Inc|  Err|   Comp|  Inc|  Err|   Comp|  Inc|  Err"
        "|   Comp|   Inc|   Err\n"
        "-------------|-----------|---------|-------------|------|-----|-----|-------|-----|-----|-------|-----|-----|-------|-----|-----"
        "|-------|------|------\n"
        "  synchronous|   20:10:02| 20:12:13|        120.5|    30|    2|    1|  512.5|  0.0|  0.0|  256.0|  0.0|  0.0|  15369|    0|    0"
        "|   7680|     0|     0\n"
        "constant@2.50|   20:12:13| 20:12:21|         60.5|     0|    0|    9|    0.0|  0.0|  0.0|    0.0|  0.0|  0.0|      0|    0|    0"
        "|      0|     0|     0\n===========\n\nBenchmarks Stats:\n===========\n"
        "Metadata     | Request Stats         || Out Tok/sec| Tot Tok/sec| Req Latency (ms)||| TTFT (ms)          ||| ITL (ms)        ||| "
        "TPOT (ms)       ||\n"
        "    Benchmark| Per Second| Concurrency|        mean|        mean| mean| median|  p99|  mean| median|    p99| mean| median|  p99| "
        "mean| median|  p99\n"
        "-------------|-----------|------------|------------|------------|-----|-------|-----|------|-------|-------|-----|-------|-----|"
        "-----|-------|-----\n"
        "  synchronous|       0.25|        1.00|        58.5|       293.5| 4.25|   4.25| 4.75|  59.5|   59.0|   63.5| 16.5|   16.4| 19.0| "
        "17.5|   17.4| 18.9\n"
        "constant@2.50|       0.00|        0.00|         0.0|         0.0| 0.00|   0.00| 0.00|   0.0|    0.0|    0.0|  0.0|    0.0|  0.0| "
        " 0.0|    0.0|  0.0\n===========\n",
        {
            "bench_steps": [
                {"line": 6, "concurrency": 1.0, "rate_rps": None, "requests": 33.0, "completed": 30.0, "failed": 1.0, "wall_s": 120.5,
                 "req_s": 0.25, "mean_concurrency": 1.0, "aggregate_tok_s": 58.5, "total_tok_s": 293.5, "input_len": 512.5,
                 "output_len": 256.0, "e2e_mean_ms": 4250.0, "e2e_p99_ms": 4750.0, "ttft_mean_ms": 59.5, "ttft_p50_ms": 59.0,
                 "ttft_p99_ms": 63.5, "tpot_mean_ms": 16.5, "tpot_p50_ms": 16.4},
                {"line": 7, "concurrency": None, "rate_rps": 2.5, "completed": 0.0, "failed": 9.0, "req_s": None, "ttft_mean_ms": None},
            ],
            "quality": [{"kind": "latency-unit"}, {"kind": "all-failed"}],
        },
        "0.2, seconds under a header that says ms",
    ),
)  # fmt: skip

PARSER = GuidellmConsole()
