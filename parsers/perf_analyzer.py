"""What Triton's perf_analyzer (before 2020-10: perf_client) prints and saves.

**Reads** the blocks `Request concurrency: 4` and `Request Rate: 2 inference requests per seconds` with their `Client:` lines, the summary
`Inferences/Second vs. Client Average Batch Latency` below them or alone, and the CSV of `-f`; several in one file, in code fences,
commented out or between the lines of any log. genai-perf's own tables are read by aiperf.

One row of `bench_steps` per load: `concurrency` or `rate_rps`, `completed` (requests of the last stable windows), `req_s`, `e2e_mean_ms`,
`e2e_p50_ms`, `e2e_p99_ms`. The tool knows no tokens. `step` counts in the order of the file; where the settings come again it is
another run, and `series` numbers the runs.

**Traps.** All times are microseconds. `infer/sec` counts inferences: with `-b 8` every request holds eight. Then `concurrency` is NULL
(`batched-requests`), and `req_s` is the rate over eight. Where the batch size is not pasted, it is taken to be 1 only if rate times latency gives the
concurrency; else the rate is NULL. With `--percentile=95` the latency of the summary is that percentile, as its heading says, and no mean.
What `Server:` says below is measured inside Triton, and `Pass [1]` is a window that was not yet stable: both are left alone.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field

from ..engine.parser import Sample
from ..engine.printed_runs import PrintedRuns, Runs
from ..engine.send import Row

__all__ = ["PARSER"]

_SIGNS = ("Request concurrency: ", "Request Rate: ", "Inferences/Second")
_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,9})?(?:e[+-]?[0-9]{1,2})?)"
_MARKS = r"[\s#>*|/;-]*"  # comment marks, quotes, list marks
_TOP = re.compile(
    rf"{_MARKS}(?:(?P<settings>\*\*\* Measurement Settings \*\*\*)|Batch size: (?P<batch>[0-9]{{1,6}})|Request concurrency: (?P<streams>[0-9]{{1,6}})"
    rf"|Request Rate: (?P<rate>{_NUMBER})(?: inference requests per seconds)?"
    r"|(?P<summary>Inferences/Second vs\. Client (?P<stat>Average|p[0-9]{1,2}) (?:Batch )?Latency))\s*"
)
_CLIENT = {
    "completed": (r"Request count: ([0-9]{1,12})", 1.0),
    "inferences": (rf"Throughput: {_NUMBER} infer/sec", 1.0),
    "e2e_mean_ms": (rf"Avg latency: {_NUMBER} usec.*", 1e-3),
    "e2e_p50_ms": (rf"p50 latency: {_NUMBER} usec", 1e-3),
    "e2e_p99_ms": (rf"p99 latency: {_NUMBER} usec", 1e-3),
}
_QUIET = re.compile(
    rf"{_MARKS}(?:Client:|Server:|p[0-9]{{1,2}} latency: .*|Avg (?:HTTP|gRPC|request) .*|Pass \[[0-9]+\] .*|(?:Inference|Execution|Successful request) count: .*"
    r"|Measurement window: .*|Using .*|Stabilizing using .*|Response Throughput: .*)\s*"
)
_LINE = re.compile(
    rf"{_MARKS}(?:Concurrency: (?P<streams>[0-9]{{1,6}})|Request Rate: (?P<rate>{_NUMBER})), (?:throughput: )?(?P<inferences>{_NUMBER}) infer/sec, "
    rf"latency (?P<latency>{_NUMBER}) usec\s*"
)
_TITLES = re.compile(r"(?:Concurrency|Request Rate),Inferences/Second,.*")
_HINT = r"Request|Inferences/Second|infer/sec|latency|Batch size|Measurement|Client:|Server:|Avg |count:|Using |Stabilizing|Pass \[|^[0-9.]+,[0-9.e+-]+,"
_STATS = {"Average": "e2e_mean_ms", "p50": "e2e_p50_ms", "p99": "e2e_p99_ms"}
_COLUMNS = ("line", "series", "step", "concurrency", "rate_rps", "completed", "req_s", "e2e_mean_ms", "e2e_p50_ms", "e2e_p99_ms")
_NOTES = {"batched-requests": "Every request held several prompts (-b): how many streams were offered is unknown."}


@dataclass
class _Runs(Runs):
    """The load that is being read, those before it, and what the settings above them said."""

    run: int = 1
    batch: float | None = None
    open: Row = field(default_factory=dict)
    server: bool = False
    stat: str = ""
    titles: list[str] = field(default_factory=list)
    pending: int = 0

    def take(self, line: int, text: str, whole: bool) -> None:
        top, one = _TOP.fullmatch(text), _LINE.fullmatch(text)
        if top:
            self.top(line, top, whole)
        elif one and self.stat:
            self.short(line, one, whole)
        elif self.titles and re.match(r"[0-9.]+,", text):
            self.table(line, text, whole)
        elif _TITLES.fullmatch(text) and whole:
            self.close()
            self.titles = [t.strip().lower() for t in text.split(",")]
            self.counts.matched += 1
        elif self.open and not self.server and (found := self.client(text)):
            key, value = found
            if not whole:
                self.counts.near(line, "the last line is cut")
            elif self.open.setdefault(key, value) != value:
                self.open[key] = None
            self.pending += whole
        else:
            self.server = self.server or bool(re.fullmatch(rf"{_MARKS}Server:\s*", text))
            quiet = bool(_QUIET.fullmatch(text)) and bool(self.open or self.rows or self.run > 1 or self.batch)
            self.counts.noise += quiet
            self.counts.other += not quiet

    def client(self, text: str) -> tuple[str, float] | None:
        for key, (pattern, scale) in _CLIENT.items():
            if found := re.fullmatch(rf"{_MARKS}{pattern}\s*", text):
                return key, float(f"{float(found[1]) * scale:.12g}")
        return None

    def top(self, line: int, found: re.Match[str], whole: bool) -> None:
        self.titles = []
        if found["streams"] or found["rate"]:
            self.close()
            if not whole:
                self.counts.near(line, "the last line is cut")
                return
            self.open, self.server, self.stat, self.pending = {"line": line, **_load(found)}, False, "", 1
            return
        if found["settings"]:
            self.close()
            self.run, self.batch, self.stat = self.run + bool(self.rows), None, ""
        elif found["batch"] and whole:
            self.batch = float(found["batch"])
        elif found["summary"]:
            self.close()
            self.stat = found["stat"]
        self.counts.noise += 1

    def short(self, line: int, found: re.Match[str], whole: bool) -> None:
        """A line of the summary: of loads that a block told of it repeats what is known."""
        if not whole:
            self.counts.near(line, "the last line is cut")
            return
        load = _load(found)
        if any(r["run"] == self.run and r["load"] == load for r in self.rows):
            self.counts.noise += 1
            return
        row: Row = {"line": line, **load, "inferences": float(found["inferences"])}
        if self.stat in _STATS:
            row[_STATS[self.stat]] = float(f"{float(found['latency']) / 1e3:.12g}")
        self.keep(row, 1)

    def table(self, line: int, text: str, whole: bool) -> None:
        cells = next(csv.reader([text]), [])
        at = dict(zip(self.titles, cells)) if len(cells) == len(self.titles) else {}
        values = {k: float(v) for k, v in at.items() if re.fullmatch(_NUMBER, v)}
        if not whole or "inferences/second" not in values or not values.get(self.titles[0]):
            self.counts.near(line, "the last line is cut" if not whole else "a row of another shape")
            return
        row: Row = {"line": line, "inferences": values["inferences/second"]}
        row["rate_rps" if self.titles[0] == "request rate" else "concurrency"] = values[self.titles[0]]
        for name, column in (("avg latency", "e2e_mean_ms"), ("p50 latency", "e2e_p50_ms"), ("p99 latency", "e2e_p99_ms")):
            if name in values:
                row[column] = float(f"{values[name] / 1e3:.12g}")
        self.keep(row, 1)

    def close(self) -> None:
        if self.open.get("inferences") or any(self.open.get(k) for k in ("e2e_mean_ms", "e2e_p50_ms")):
            self.keep(self.open, self.pending)
        else:
            self.counts.other += self.pending
        self.open, self.pending, self.server = {}, 0, False

    def keep(self, row: Row, lines: int) -> None:
        """A row with its rate in requests, where the size of a request is known."""
        self.counts.matched += lines
        load = {k: row[k] for k in ("concurrency", "rate_rps") if k in row}
        rate, latency = row.pop("inferences", None), row.get("e2e_mean_ms") or row.get("e2e_p50_ms")
        batch = self.batch
        if batch is None and rate and latency and row.get("concurrency"):
            alone = 0.7 <= rate * latency / 1e3 / row["concurrency"] <= 1.3
            batch = 1.0 if alone else None
        row["req_s"] = float(f"{rate / batch:.12g}") if rate and batch else None
        if batch and batch > 1:
            self.odd["batched-requests"] += 1
            row["concurrency"] = None
        self.rows.append({k: v or None for k, v in row.items()} | {"run": self.run, "load": load, "step": len(self.rows) + 1})

    def steps(self) -> list[Row]:
        """All rows: runs are named where there are several."""
        several = len({r["run"] for r in self.rows}) > 1
        return [row | {"series": f"run {row['run']}" if several else None} for row in self.rows]


def _load(found: re.Match[str]) -> Row:
    return {"concurrency": float(found["streams"])} if found["streams"] else {"rate_rps": float(found["rate"])}


class PerfAnalyzer(PrintedRuns):
    """Reports of perf_analyzer; see the module's page."""

    name = "perf-analyzer"
    signs, hint, most = _SIGNS, _HINT, 400
    reader, columns, notes = _Runs, _COLUMNS, _NOTES
    says = "what perf_analyzer reports: {} loads"


SAMPLES: tuple[Sample, ...] = (
    Sample(
        '*** Measurement Settings ***\n  Batch size: 1\n  Using "time_windows" mode for stabilization\n  Measurement window: 20000 msec\n'
        "  Using asynchronous calls for inference\n  Stabilizing using average latency\n\nRequest concurrency: 4\n"
        "  Pass [1] throughput: 0.9 infer/sec. Avg latency: 4100000 usec (std 25000 usec)\n  Client: \n    Request count: 72\n"
        "    Throughput: 1.25 infer/sec\n    Avg latency: 3200500 usec (standard deviation 41000 usec)\n    p50 latency: 3180000 usec\n"
        "    p90 latency: 3300000 usec\n    p95 latency: 3350000 usec\n    p99 latency: 3600250 usec\n"
        "    Avg gRPC time: 3200000 usec (marshal 5 usec + response wait 3199000 usec + unmarshal 3 usec)\n  Server: \n"
        "    Inference count: 75\n    Execution count: 75\n    Successful request count: 75\n"
        "    Avg request latency: 3190000 usec (overhead 12 usec + queue 800 usec + compute infer 3189188 usec)\n\n"
        "Inferences/Second vs. Client Average Batch Latency\nConcurrency: 4, throughput: 1.25 infer/sec, latency 3200500 usec\n"
        "Concurrency: 8, throughput: 1.5 infer/sec, latency 5330000 usec\n",
        {
            "bench_steps": [
                {"line": 8, "step": 1, "series": None, "concurrency": 4.0, "completed": 72.0, "req_s": 1.25, "e2e_mean_ms": 3200.5,
                 "e2e_p50_ms": 3180.0, "e2e_p99_ms": 3600.25},
                {"line": 27, "step": 2, "concurrency": 8.0, "completed": None, "req_s": 1.5, "e2e_mean_ms": 5330.0},
            ],
            "clocks": [{"kind": "none"}],
            "quality": [],
        },
        "perf_analyzer 2022 and later; a load of which only the summary was pasted",
    ),
    Sample(
        "# *** Measurement Settings ***\n#   Batch size: 8\n#   Stabilizing using p95 latency\n#\n# Request concurrency: 2\n#   Client:\n"
        "#     Request count: 50\n#     Throughput: 8 infer/sec\n#     p50 latency: 1980000 usec\n#     p95 latency: 2100000 usec\n"
        "#     p99 latency: 2200000 usec\n# Inferences/Second vs. Client p95 Batch Latency\n"
        "# Concurrency: 2, throughput: 8 infer/sec, latency 2100000 usec\n"
        "# *** Measurement Settings ***\n#   Batch size: 1\n# Request Rate: 2 inference requests per seconds\n#   Client:\n"
        "#     Request count: 40\n#     Throughput: 1.975 infer/sec\n#     Avg latency: 900000 usec (standard deviation 3 usec)\n",
        {
            "bench_steps": [
                {"line": 5, "series": "run 1", "concurrency": None, "completed": 50.0, "req_s": 1.0, "e2e_mean_ms": None, "e2e_p50_ms": 1980.0,
                 "e2e_p99_ms": 2200.0},
                {"line": 16, "series": "run 2", "concurrency": None, "rate_rps": 2.0, "completed": 40.0, "req_s": 1.975, "e2e_mean_ms": 900.0},
            ],
            "quality": [{"kind": "batched-requests", "n": 1}],
        },
        "perf_client and perf_analyzer to 2021: batches, a percentile, a rate, commented out",
    ),
    Sample(
        "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Infer,Client Recv,p50 latency,"
        "p90 latency,p95 latency,p99 latency\n1,0.5,40,2000,60,1990000,3,2000500,2010000,2020000,2030000\n"
        "4,8,40,2000,60,1990000,3,2050000,2110000,2120000,2130000\n",
        {
            "bench_steps": [
                {"line": 2, "concurrency": 1.0, "req_s": 0.5, "e2e_p50_ms": 2000.5, "e2e_p99_ms": 2030.0},
                {"line": 3, "concurrency": 4.0, "req_s": None, "e2e_p50_ms": 2050.0},
            ]
        },
        "perf_analyzer -f: the second load does not fit requests of one prompt",
        name="perf.csv",
    ),
)  # fmt: skip

PARSER = PerfAnalyzer(SAMPLES)
