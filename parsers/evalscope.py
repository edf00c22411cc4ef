"""EvalScope's load test: what `evalscope perf` prints per concurrency, and its `benchmark_summary.json`.

**Reads** the block `Benchmarking summary:` of every version: lines `Number of concurrency: 8` (2024), the table of keys and values with units in
its keys (2025), the one in groups with `Test Duration (s)` (2026); the table `Percentile results:` behind it, with the percentiles down the
side or across the top; where a text holds no block, the tables `Performance Overview` and `Per-Request Metrics` of `performance_summary.txt`
(2026); and the summary as JSON, alone or printed between other lines. A block counts from its first key on, with or without its title.

**`bench_steps`**, one row per block:

- `concurrency`: the number of clients; NULL where it is INF, or where a finite request rate did not fill it by Little's law (0.8 of it).
  `rate_rps`: the request rate, NULL for -1.
- `requests`, `completed`, `failed`, `wall_s`, `req_s`, `input_len`, `output_len` (means of one request).
- `aggregate_tok_s`: the output token throughput, also what 2024 called `Throughput(average output tokens per second)`; `total_tok_s`.
- `ttft_*`, `tpot_*`, `itl_*`, `e2e_*`: the averages of the block, the 50 % and 99 % of the percentiles.
- `series`: `blocks` where the same text also holds the report of 2025 over all runs, which says most of it again and is a table of its own;
  `report 1` and so on where a text holds several reports of 2026.

**Traps.** `Average time per output token` of 2024 is one over the throughput of all clients: left out. Without `--stream` the first token is
the whole answer: TTFT, TPOT and ITL are NULL (`not-streamed`). The percentiles of tokens per second are those of single requests, prompt
included, and are not read. `Num` of the report counts conversations where they have several turns: not read. `benchmark_percentile.json` names no load
and is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_clock, send_oddities, send_rows
from ..engine.streams import likely_lines

__all__ = ["PARSER"]

BLOCK_LINES = 80  # a block with its percentiles is no longer than this
REACHED = 0.8  # mean requests in flight over the clients, from which they count as offered under a finite rate
SAME = 0.002  # TTFT within this of the latency: nothing was streamed
_KEYS: dict[str, tuple[str, float]] = {
    "time taken for tests (s)": ("wall_s", 1),
    "time taken for tests": ("wall_s", 1),
    "test duration (s)": ("wall_s", 1),
    "number of concurrency": ("concurrency", 1),
    "concurrency": ("concurrency", 1),
    "request rate (req/s)": ("rate_rps", 1),
    "total requests": ("requests", 1),
    "succeed requests": ("completed", 1),
    "success requests": ("completed", 1),
    "failed requests": ("failed", 1),
    "average qps": ("req_s", 1),
    "request throughput (req/s)": ("req_s", 1),
    "req throughput (req/s)": ("req_s", 1),
    "throughput(average output tokens per second)": ("aggregate_tok_s", 1),
    "throughput(average tokens/s)": ("aggregate_tok_s", 1),
    "output token throughput (tok/s)": ("aggregate_tok_s", 1),
    "output throughput (tok/s)": ("aggregate_tok_s", 1),
    "total token throughput (tok/s)": ("total_tok_s", 1),
    "total throughput (tok/s)": ("total_tok_s", 1),
    "average latency": ("e2e_mean_ms", 1e3),
    "average latency (s)": ("e2e_mean_ms", 1e3),
    "avg latency (s)": ("e2e_mean_ms", 1e3),
    "average time to first token": ("ttft_mean_ms", 1e3),
    "average time to first token (s)": ("ttft_mean_ms", 1e3),
    "ttft (ms)": ("ttft_mean_ms", 1),
    "average time per output token (s)": ("tpot_mean_ms", 1e3),
    "tpot (ms)": ("tpot_mean_ms", 1),
    "average inter-token latency (s)": ("itl_mean_ms", 1e3),
    "itl (ms)": ("itl_mean_ms", 1),
    "average input tokens per request": ("input_len", 1),
    "avg input tokens": ("input_len", 1),
    "average output tokens per request": ("output_len", 1),
    "avg output tokens": ("output_len", 1),
}
_OWN = ({"time taken for tests", "number of concurrency"}, {"time taken for tests (s)", "number of concurrency"},
        {"test duration (s)", "concurrency", "req throughput (req/s)"})  # fmt: skip
_COUNTS = "total / success / failed"
_SAID = {  # in lines of text, without units in the keys
    *("time taken for tests", "number of concurrency", "total requests", "succeed requests", "failed requests", "average qps"),
    *("average latency", "throughput(average output tokens per second)", "average time to first token"),
    *("average input tokens per request", "average output tokens per request"),
}
_PERCENTILES = {
    "latency (s)": ("e2e", 1e3),
    "latency (ms)": ("e2e", 1),
    "ttft (s)": ("ttft", 1e3),
    "ttft (ms)": ("ttft", 1),
    "tpot (s)": ("tpot", 1e3),
    "tpot (ms)": ("tpot", 1),
    "itl (s)": ("itl", 1e3),
    "itl (ms)": ("itl", 1),
}
_REPORT = "Performance Test Summary Report"
_HINTS = (
    *("ime taken for tests", "est Duration (s)", "oncurrency", "equest Rate (req/s)", "equests", "Total / Success", "QPS", "hroughput"),
    *("atency", "Average time", "TTFT (", "TPOT (", "ITL (", "Avg ", "Average ", "Percentile", " p50:", " p99:", "50%", "99%", _REPORT, "┃", "│"),
)  # fmt: skip
_BARS = str.maketrans("│┃║", "|||")
_LOGGED = re.compile(r"^(?:\d{4}-\d\d-\d\d [\d:,.]+ - )?(?:[\w.]+ - ){0,4}(?:INFO(?::| -) ?)?")
_LINE = re.compile(r"([A-Z][A-Za-z() ]{3,60}): (\S+)(?: seconds)?")
_SHARE = re.compile(r"p(50|99): ([\d.]+)")
_OF = {"percentile of time to first token:": "ttft", "percentile of request latency:": "e2e"}
_NUMBER = re.compile(r"-?\d[\d,]{0,20}(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?")
_SHOWN = {"mean": "avg", "p50": "p50", "p99": "p99"}
_COLUMNS = (
    *("line", "series", "step", "concurrency", "rate_rps", "requests", "completed", "failed", "wall_s", "req_s", "aggregate_tok_s"),
    *("aggregate_counts", "total_tok_s", "input_len", "output_len", "ttft_mean_ms", "ttft_p50_ms", "ttft_p99_ms", "tpot_mean_ms"),
    *("tpot_p50_ms", "itl_mean_ms", "itl_p50_ms", "itl_p99_ms", "e2e_mean_ms", "e2e_p50_ms", "e2e_p99_ms"),
)
_RUN = ("requests", "completed", "failed", "concurrency", "rate_rps", "wall_s", "line")
_STREAM = tuple(c for c in _COLUMNS if c.startswith(("ttft", "tpot", "itl")))
_NOTES = {
    "all-failed": "No request of the run succeeded: it has no measurements.",
    "not-streamed": "The first token took as long as the whole answer: it was not streamed.",
    "cap-not-reached": "A finite request rate did not (provably) keep all clients busy: offered streams are unknown.",
}


def _value(text: str) -> float | None:
    """The number of a cell; -1 is how it says that there is none, and so is 0 for a time or a rate."""
    return float(text.replace(",", "")) if _NUMBER.fullmatch(text) else None


def _judged(row: Row) -> tuple[Row, list[str]]:
    """A row without what it cannot mean, and why."""
    odd = []
    if row.get("completed") == 0:
        return {k: v for k, v in row.items() if k in _RUN}, ["all-failed"]
    ttft, latency, rate, clients = (row.get(k) for k in ("ttft_mean_ms", "e2e_mean_ms", "aggregate_tok_s", "concurrency"))
    if ttft and latency and abs(ttft - latency) <= SAME * latency and (row.get("output_len") or 2) > 1.5:
        row = {k: v for k, v in row.items() if k not in _STREAM}
        odd.append("not-streamed")
    tpot, length = row.get("tpot_mean_ms"), row.get("output_len") or 0
    each = (latency - ttft) / (length - 1) if latency and ttft and length > 1 else None
    if tpot and rate and abs(tpot * rate - 1000) <= 20 and (clients != 1 or not each or abs(tpot - each) > 0.03 * each):
        row["tpot_mean_ms"] = None  # one over the throughput of all clients; of one client the two may be the same
    if row.get("rate_rps") and clients and (row.get("req_s") or 0) * (latency or 0) / 1000 < REACHED * clients:
        row["concurrency"] = None
        odd.append("cap-not-reached")
    row["aggregate_counts"] = "output" if rate else None
    return row, odd


def _put(row: Row, key: str, number: float | None) -> None:
    """One value of a block: counts may be 0, all else is above it."""
    column, scale = _KEYS[key]
    row[column] = num(number, scale) if column in ("requests", "completed", "failed") else pos(number, scale)


class _Overview:
    """The report of 2026 over all runs: one table with a row per load, one with the latencies of each. Rows by report, clients and rate."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, str, str], Row] = {}
        self.reports = 0
        self.header: list[str] = []
        self.load = ("", "")

    def take(self, line: int, cells: list[str]) -> bool:
        """Whether a line of a table is one of these."""
        low = [c.lower() for c in cells]
        if low[0] == "conc." and {"rate", "rps", "gen/s"} <= set(low):
            self.header, self.reports = low, self.reports + 1
            return True
        if low[0] == "conc." and {"rate", "metric", "avg", "p50", "p99"} <= set(low) and self.reports:
            self.header = low
            return True
        if not self.header or len(cells) != len(self.header):
            self.header = []
            return False
        cell = dict(zip(self.header, cells))
        self.load = (cell["conc."], cell["rate"]) if cell["conc."] else self.load
        key = (self.reports, *self.load)
        if "metric" not in cell:
            self.rows[key] = {"line": line, "concurrency": pos(_value(self.load[0])), "rate_rps": pos(_value(self.load[1])),
                              "req_s": pos(_value(cell["rps"])), "aggregate_tok_s": pos(_value(cell["gen/s"]))}  # fmt: skip
        elif key in self.rows:
            self.rows[key] |= self._latencies(cell)
        return True

    def _latencies(self, cell: dict[str, str]) -> Row:
        metric = cell["metric"].lower()
        if metric in ("input tokens", "output tokens"):
            return {f"{metric.split()[0]}_len": pos(_value(cell["avg"]))}
        kind, scale = _PERCENTILES.get(metric, ("", 1))
        return {f"{kind}_{stat}_ms": pos(_value(cell[shown]), scale) for stat, shown in _SHOWN.items()} if kind else {}

    def finished(self) -> tuple[list[Row], dict[str, int]]:
        """The rows, and what is odd about how many."""
        rows, odd = [], dict[str, int]()
        for (report, _, _), held in self.rows.items():
            row, why = _judged(held)
            rows.append(row | {"series": f"report {report}"} if self.reports > 1 else row)
            odd.update({kind: odd.get(kind, 0) + 1 for kind in why})
        return rows, odd


class _Printed:
    """Blocks among the lines of a text."""

    def __init__(self) -> None:
        self.counts, self.rows = Counts(), list[Row]()
        self.odd: dict[str, int] = {}
        self.report = False
        self.overview = _Overview()
        self._new()

    def _new(self) -> None:
        self.row: Row = {}
        self.seen: set[str] = set()
        self.last, self.lines = 0, 0
        self.header: list[str] = []
        self.of = ""

    def take(self, line: int, text: str) -> None:
        self.report = self.report or _REPORT in text
        text = text.strip(" >\t")
        cells = [c.strip() for c in text.translate(_BARS).split("|")[1:-1]] if text[:1] in "|│┃║" else []
        if self.seen and line - self.last > BLOCK_LINES:
            self.close()
        if len(cells) == 2:
            self._pair(line, cells[0].lower(), cells[1])
            return
        if cells and self.overview.take(line, cells):
            self.counts.matched += 1
            return
        if cells:
            self._cells(line, cells)
            return
        text = _LOGGED.sub("", text).strip()
        found = _LINE.fullmatch(text)
        if found and found[1].lower() in _SAID:
            self._pair(line, found[1].lower(), found[2])
        else:
            self._share(line, text)

    def _pair(self, line: int, key: str, value: str) -> None:
        """A key with its value. A key that the block has already begins the next one."""
        counts = [_value(part) for part in value.split(" / ")] if key == _COUNTS else []
        if key not in _KEYS and len(counts) != 3:
            self._count("other", line)
            return
        if key in self.seen:
            self.close()
        self.seen.add(key)
        self.row.setdefault("line", line)
        if counts:
            for name, number in zip(("total requests", "succeed requests", "failed requests"), counts):
                _put(self.row, name, number)
        else:
            _put(self.row, key, _value(value))
        self._count("matched", line)

    def _cells(self, line: int, cells: list[str]) -> None:
        """A line of a table of percentiles, in either direction."""
        low = [c.lower() for c in cells]
        if self.seen and (low[0] in ("percentile", "percentiles") or (low[0] == "metric" and "50%" in low)):
            self.header = low
            self._count("matched", line)
        elif len(cells) != len(self.header):
            self._count("other", line)
        elif self.header[0] == "metric" and low[0] in _PERCENTILES:
            for share, cell in zip(self.header, cells):
                self._percentile(low[0], share, cell)
            self._count("matched", line)
        elif low[0] in ("50%", "99%"):
            for metric, cell in zip(self.header, cells):
                self._percentile(metric, low[0], cell)
            self._count("matched", line)
        else:
            self._count("noise" if self.seen else "other", line)

    def _percentile(self, metric: str, share: str, cell: str) -> None:
        kind, scale = _PERCENTILES.get(metric, ("", 1))
        if kind and share in ("50%", "99%"):
            self.row[f"{kind}_p{share[:2]}_ms"] = pos(_value(cell), scale)

    def _share(self, line: int, text: str) -> None:
        """Percentiles in lines, of 2024: `p50: 2.7137` in seconds below their title."""
        found = _SHARE.fullmatch(text)
        if self.seen and text.lower() in _OF:
            self.of = _OF[text.lower()]
            self._count("matched", line)
        elif found and self.of:
            self.row[f"{self.of}_p{found[1]}_ms"] = pos(float(found[2]) if found[2].count(".") == 1 else None, 1e3)
            self._count("matched", line)
        else:
            self._count("other", line)

    def _count(self, how: str, line: int) -> None:
        if how == "matched":
            self.lines += 1
            self.last = line
        else:
            setattr(self.counts, how, getattr(self.counts, how) + 1)

    def close(self) -> None:
        """The end of a block: a row, if its keys are those of one version."""
        row, seen, lines = self.row, self.seen, self.lines
        self._new()
        if not any(own <= seen for own in _OWN) or len(row) < 4:
            self.counts.other += lines
            return
        self.counts.matched += lines
        row, odd = _judged(row)
        self.rows.append(row)
        for kind in odd:
            self.odd[kind] = self.odd.get(kind, 0) + 1


def _printed(blocks: Iterable[tuple[int, str]]) -> _Printed:
    """Only lines with a word of the tool are looked at one by one. The last line of a text without a line end may be cut."""
    out = _Printed()
    for first, block in blocks:
        for line, text, whole in likely_lines(first, block, _HINTS, 2000, out.counts):
            if whole:
                out.take(line, text)
            else:
                out.counts.near(line, "the last line is cut")
    out.close()
    if not out.rows:
        out.rows, out.odd = out.overview.finished()
    return out


def _is_summary(keys: Iterable[str]) -> bool:
    low = {k.lower() for k in keys}
    return any(own <= low for own in _OWN)


def _saved(doc: Json, line: int) -> tuple[Row, list[str]]:
    row: Row = {"line": line}
    for key, value in doc.items():
        if key.lower() in _KEYS:
            _put(row, key.lower(), value)
    return _judged(row)


class EvalScope:
    """Results of `evalscope perf`; see the module's page."""

    name = "evalscope"
    api = 1
    inlaid = ("Time taken for tests (s)", "Test Duration (s)")
    beyond = ("Number of concurrency", "Req Throughput (req/s)", "Performance Overview")

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A saved summary, or a whole printed block in the head."""
        if _is_summary(_keys(head.text)):
            return Claim(90, "a summary of evalscope perf")
        if not any(word in head.text for word in self.beyond):
            return None
        found = _printed([(1, head.text if head.text.endswith("\n") or head.complete else head.text + "\n")])
        return Claim(80, f"{len(found.rows)} results of evalscope perf", shares=True) if found.rows else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps`, `quality` and one of `clocks`."""
        rows: list[Row] = []
        odd: dict[str, int] = {}
        if _is_summary(_keys(source.head().text)):
            lines = JsonLines(source)
            for first, last, doc in json_objects(lines):
                if doc is None:
                    lines.near(first, "a summary that is cut or garbled")
                elif _is_summary(doc):
                    lines.add(first, last, "matched")
                    row, why = _saved(doc, first)
                    rows.append(row)
                    odd.update({kind: odd.get(kind, 0) + 1 for kind in why})
            counts = lines.close()
        else:
            found = _printed(source.blocks())
            counts, odd = found.counts, found.odd
            rows = [row | {"series": "blocks"} if found.report else row for row in found.rows]
        if rows:
            send_rows(emit, "bench_steps", [r | {"step": k} for k, r in enumerate(rows, 1)], _COLUMNS)
            send_oddities(emit, rows[0]["line"], odd, _NOTES)
            send_clock(emit, rows[0]["line"], "none", None, None)
        return counts


def _keys(text: str) -> set[str]:
    """Names of JSON keys in a text that is JSON; these have blanks and units in them."""
    text = text[:65536].lstrip()
    return json_keys(text) | set(re.findall(r'"([A-Z][\w (/)-]{2,60})"\s*:', text)) if text[:1] in ("{", "[") else set()


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "Benchmarking summary: \n Time taken for tests: 40.000 seconds\n Expected number of requests: 80\n Number of concurrency: 8\n"
        " Total requests: 80\n Succeed requests: 79\n Failed requests: 1\n Average QPS: 1.975\n Average latency: 3.900\n"
        " Throughput(average output tokens per second): 395.000\n Average time to first token: 0.400\n"
        " Average input tokens per request: 100.500\n Average output tokens per request: 200.000\n Average time per output token: 0.00253\n"
        " Average package per request: 190.500\n Average package latency: 0.018\n Percentile of time to first token: \n     p50: 0.3500\n"
        "     p90: 0.6000\n     p99: 0.9500\n Percentile of request latency: \n     p50: 3.8000\n     p99: 4.4000\n",
        {
            "bench_steps": [
                {"line": 2, "series": None, "step": 1, "concurrency": 8.0, "requests": 80.0, "completed": 79.0, "failed": 1.0, "wall_s": 40.0,
                 "req_s": 1.975, "aggregate_tok_s": 395.0, "aggregate_counts": "output", "input_len": 100.5, "output_len": 200.0,
                 "ttft_mean_ms": 400.0, "ttft_p50_ms": 350.0, "ttft_p99_ms": 950.0, "tpot_mean_ms": None, "e2e_mean_ms": 3900.0,
                 "e2e_p50_ms": 3800.0, "e2e_p99_ms": 4400.0}
            ],
            "clocks": [{"kind": "none"}],
        },
        "2024",
    ),
    Sample(
        "2026-03-09 10:00:00,500 - evalscope - INFO - \nBenchmarking summary:\n"
        "+-----------------------------------+---------+\n| Key                               | Value   |\n"
        "+===================================+=========+\n| Time taken for tests (s)          | 50.5    |\n"
        "+-----------------------------------+---------+\n| Number of concurrency             | 4       |\n"
        "| Total requests                    | 40      |\n| Succeed requests                  | 40      |\n"
        "| Failed requests                   | 0       |\n| Output token throughput (tok/s)   | 158.4   |\n"
        "| Total token throughput (tok/s)    | 560.25  |\n| Request throughput (req/s)        | 0.792   |\n"
        "| Average latency (s)               | 5.0     |\n| Average time to first token (s)   | 0.25    |\n"
        "| Average time per output token (s) | 0.024   |\n| Average inter-token latency (s)   | 0.0245  |\n"
        "| Average input tokens per request  | 507.4   |\n| Average output tokens per request | 200.0   |\n"
        "+-----------------------------------+---------+\n2026-03-09 10:00:00,502 - evalscope - INFO - \nPercentile results:\n"
        "+-------------+----------+---------+----------+-------------+--------------+----------------+\n"
        "| Percentiles | TTFT (s) | ITL (s) | TPOT (s) | Latency (s) | Input tokens | Output (tok/s) |\n"
        "+-------------+----------+---------+----------+-------------+--------------+----------------+\n"
        "|     10%     |  0.1250  |   0.0   |  0.020   |   4.5000    |     500      |    38.0000     |\n"
        "|     50%     |  0.2250  | 0.0240  |  0.0235  |   4.9500    |     507      |    40.0000     |\n"
        "|     99%     |  0.7500  | 0.0750  |   nan    |   5.5000    |     515      |    41.0000     |\n"
        "+-------------+----------+---------+----------+-------------+--------------+----------------+\n",
        {
            "bench_steps": [
                {"line": 6, "concurrency": 4.0, "rate_rps": None, "requests": 40.0, "completed": 40.0, "failed": 0.0, "wall_s": 50.5,
                 "req_s": 0.792, "aggregate_tok_s": 158.4, "total_tok_s": 560.25, "input_len": 507.4, "output_len": 200.0,
                 "ttft_mean_ms": 250.0, "ttft_p50_ms": 225.0, "ttft_p99_ms": 750.0, "tpot_mean_ms": 24.0, "tpot_p50_ms": 23.5,
                 "itl_mean_ms": 24.5, "itl_p50_ms": 24.0, "itl_p99_ms": 75.0, "e2e_mean_ms": 5000.0, "e2e_p50_ms": 4950.0,
                 "e2e_p99_ms": 5500.0}
            ],
            "quality": [],
        },
        "2025",
    ),
    Sample(
        "Benchmarking summary:\n┌───────────────────────────┬─────────────┐\n│ Metric                    │       Value │\n"
        "├───────────────────────────┼─────────────┤\n│ ── General ──             │             │\n│ Test Duration (s)         │       50.00 │\n"
        "│ Concurrency               │          16 │\n│ Request Rate (req/s)      │        0.50 │\n│ Total / Success / Failed  │ 26 / 25 / 1 │\n"
        "│ Req Throughput (req/s)    │        0.50 │\n│ ── Latency ──             │             │\n│ Avg Latency (s)           │        5.00 │\n"
        "│ TTFT (ms)                 │      250.00 │\n│ TPOT (ms)                 │       24.00 │\n│ ITL (ms)                  │       24.50 │\n"
        "│ ── Tokens ──              │             │\n│ Avg Input Tokens          │      512.00 │\n│ Avg Output Tokens         │      200.00 │\n"
        "│ Output Throughput (tok/s) │      100.00 │\n│ Total Throughput (tok/s)  │      356.00 │\n└───────────────────────────┴─────────────┘\n\n"
        "Percentile results:\n┌────────────────┬────────┬────────┬────────┬────────┬────────┐\n"
        "│ Metric         │    min │    10% │    50% │    99% │    max │\n├────────────────┼────────┼────────┼────────┼────────┼────────┤\n"
        "│ Latency (s)    │   4.40 │   4.50 │   4.95 │   5.50 │   5.55 │\n│ TTFT (ms)      │ 100.50 │ 125.00 │ 225.00 │ 750.00 │ 755.00 │\n"
        "│ ITL (ms)       │   0.00 │   0.01 │  24.00 │  75.00 │  80.00 │\n│ TPOT (ms)      │  19.00 │  20.00 │  23.50 │  30.00 │  31.00 │\n"
        "│ Output (tok/s) │  36.00 │  38.00 │  40.00 │  41.00 │  42.00 │\n└────────────────┴────────┴────────┴────────┴────────┴────────┘\n",
        {
            "bench_steps": [
                {"line": 6, "concurrency": None, "rate_rps": 0.5, "requests": 26.0, "completed": 25.0, "failed": 1.0, "wall_s": 50.0,
                 "req_s": 0.5, "aggregate_tok_s": 100.0, "total_tok_s": 356.0, "ttft_mean_ms": 250.0, "ttft_p50_ms": 225.0,
                 "ttft_p99_ms": 750.0, "tpot_mean_ms": 24.0, "tpot_p50_ms": 23.5, "itl_mean_ms": 24.5, "itl_p50_ms": 24.0, "itl_p99_ms": 75.0,
                 "e2e_mean_ms": 5000.0, "e2e_p50_ms": 4950.0, "e2e_p99_ms": 5500.0}
            ],
            "quality": [{"kind": "cap-not-reached", "n": 1}],
        },
        "2026, with a request rate",
    ),
    Sample(
        "       Performance Overview\n┏━━━━━━┳━━━━━━┳━━━━━┳━━━━━━┳━━━━━━━━┳━━━━━━━━━┓\n┃Conc. ┃ Rate ┃ Num ┃  RPS ┃  Gen/s ┃ Success ┃\n"
        "┡━━━━━━╇━━━━━━╇━━━━━╇━━━━━━╇━━━━━━━━╇━━━━━━━━━┩\n│    1 │    - │  10 │ 0.25 │  50.50 │  100.0% │\n"
        "│    8 │    - │  80 │ 1.25 │ 250.50 │   97.5% │\n└──────┴──────┴─────┴──────┴────────┴─────────┘\n\n\n"
        "                    Per-Request Metrics\n┏━━━━━━┳━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━┳━━━━━━━┓\n"
        "┃Conc. ┃ Rate ┃ Metric        ┃    avg ┃   p50 ┃   p99 ┃\n┡━━━━━━╇━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━╇━━━━━━━┩\n"
        "│    1 │    - │ Latency (s)   │  4.025 │ 4.000 │ 4.500 │\n│      │      │ TTFT (ms)     │   41.0 │  38.0 │  72.0 │\n"
        "│      │      │ Output Tokens │  200.0 │ 200.0 │ 200.0 │\n├──────┼──────┼───────────────┼────────┼───────┼───────┤\n"
        "│    8 │    - │ Latency (s)   │  6.425 │ 6.400 │ 7.500 │\n│      │      │ TPOT (ms)     │   31.0 │  30.8 │  33.0 │\n"
        "│      │      │ Cache Hit (%) │  58.1% │     - │     - │\n└──────┴──────┴───────────────┴────────┴───────┴───────┘\n",
        {
            "bench_steps": [
                {"line": 5, "series": None, "step": 1, "concurrency": 1.0, "rate_rps": None, "requests": None, "req_s": 0.25,
                 "aggregate_tok_s": 50.5, "e2e_mean_ms": 4025.0, "e2e_p50_ms": 4000.0, "e2e_p99_ms": 4500.0,
                 "ttft_mean_ms": 41.0, "ttft_p99_ms": 72.0, "tpot_mean_ms": None, "output_len": 200.0},
                {"line": 6, "step": 2, "concurrency": 8.0, "completed": None, "aggregate_tok_s": 250.5, "tpot_p50_ms": 30.8,
                 "e2e_mean_ms": 6425.0, "ttft_mean_ms": None}
            ]
        },
        "2026, the report over all runs",
        name="performance_summary.txt",
    ),
    Sample(
        '{\n    "Test Duration (s)": 50.0,\n    "Concurrency": 8,\n    "Request Rate (req/s)": -1.0,\n    "Total Requests": 40,\n'
        '    "Success Requests": 40,\n    "Failed Requests": 0,\n    "Req Throughput (req/s)": 0.8,\n    "Avg Latency (s)": 9.5,\n'
        '    "Avg Input Tokens": 512.0,\n    "Output Throughput (tok/s)": 160.0,\n    "TTFT (ms)": 9500.0,\n    "TPOT (ms)": 0.0,\n'
        '    "Avg Output Tokens": 200.0\n}\n',
        {
            "bench_steps": [
                {"line": 1, "concurrency": 8.0, "rate_rps": None, "completed": 40.0, "failed": 0.0, "aggregate_tok_s": 160.0,
                 "ttft_mean_ms": None, "tpot_mean_ms": None, "e2e_mean_ms": 9500.0, "output_len": 200.0}
            ],
            "quality": [{"kind": "not-streamed", "n": 1}],
        },
        "2026, saved, not streamed",
        name="benchmark_summary.json",
    ),
)  # fmt: skip

PARSER = EvalScope()
