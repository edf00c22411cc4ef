"""What bombardier, autocannon, fortio and artillery print at the end of a run.

**Reads** the statistics of bombardier, the table of latencies of autocannon (4 and later), the text of `fortio load` and the `Summary report` of
artillery 2, alone, several in one file, or between other lines. hey, oha, k6, locust and ab are read by load-summaries, wrk by load-tools.

**`bench_steps`**, one row per report:

- `concurrency`: the connections of bombardier and autocannon and the threads of fortio, where requests were in flight at least 80 % of the
  time (rate times latency): under a rate limit they are only a cap. artillery starts users at a rate and prints no streams.
- `rate_rps`: the rate fortio was asked for. `requests`, `completed`, `failed`, `wall_s`, `req_s`, `e2e_mean_ms`, `e2e_p50_ms`, `e2e_p99_ms` where printed.

**Traps.** These tools know no tokens. All of them put answers other than 2xx into the latencies: where one is counted, latencies and rate are
NULL (`failures-mixed`). bombardier's rate is a mean over short stretches, in which slow answers are badly counted: it is left out where it does
not fit latency and connections. autocannon's number of requests counts those that were under way at the end, so how many completed is
unknown. artillery rounds its rate to whole requests, and prints reports of ten seconds (`Metrics for period to:`) before the summary: both are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..engine.parser import Sample
from ..engine.printed_runs import PrintedRuns, Runs
from ..engine.send import Row

__all__ = ["PARSER"]

BUSY = 0.8  # share of the time in which a connection must have had a request in flight to count as a stream
_SIGNS = ("Statistics        Avg", "│ Stat ", "Aggregated Function Time", "Summary report @")
_NOTES = {
    "failures-mixed": "Failed requests went into the statistics of the tool: latency and rate are unknown.",
    "all-failed": "No request of the run succeeded: it has no measurements.",
}
_COLUMNS = (
    *("line", "step", "concurrency", "rate_rps", "requests", "completed", "failed", "wall_s", "req_s"),
    *("e2e_mean_ms", "e2e_p50_ms", "e2e_p99_ms"),
)
_LEAD = r"[\s>#]*"
_N = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
_MS = {"us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}
_TIME = rf"({_N}) ?(us|µs|μs|ms|s|m)"


def _ms(text: str | None) -> float | None:
    found = re.fullmatch(_TIME, (text or "").strip())
    return float(f"{float(found[1]) * _MS[found[2]]:.12g}") or None if found else None


def _lines(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(_LEAD + p + r"\s*") for p in patterns)


Seen = dict[str, Any]


@dataclass(frozen=True)
class _Tool:
    """A tool: the lines of its report as patterns with named parts, the first of which open a report; what is needed for a row; and
    the row that the parts give. A part that comes again in a report keeps its first value; `codes` are collected."""

    opens: tuple[re.Pattern[str], ...]
    lines: tuple[re.Pattern[str], ...]
    need: frozenset[str]
    row: Callable[[Mapping[str, Any]], Row]


def _bombardier(seen: Mapping[str, Any]) -> Row:
    codes = {k: float(v) for k, v in seen.items() if re.fullmatch(r"c\dxx|others", k)}
    good, mean, load = codes.get("c2xx", 0.0), _ms(seen.get("mean")), float(seen.get("streams") or 0) or None
    rate = float(seen["rate"])
    fits = bool(load and mean and 0.8 <= rate * mean / 1e3 / load <= 1.25)
    return {
        "concurrency": load, "completed": good, "failed": sum(codes.values()) - good, "requests": sum(codes.values()),
        "req_s": rate if fits or not load else None, "in_flight": rate * mean / 1e3 if mean else None,
        "e2e_mean_ms": mean, "e2e_p50_ms": _ms(seen.get("p50")), "e2e_p99_ms": _ms(seen.get("p99")),
    }  # fmt: skip


def _autocannon(seen: Mapping[str, Any]) -> Row:
    titles, cells = ([c.strip() for c in re.split("[│|]", seen[k])] for k in ("titles", "latency"))
    at = dict(zip(titles, cells)) if len(titles) == len(cells) else {}
    rates = [c.strip() for c in re.split("[│|]", seen.get("rates", ""))]
    heads = [c.strip() for c in re.split("[│|]", seen.get("heads", ""))]
    rate = dict(zip(heads, rates)).get("Avg", "") if len(rates) == len(heads) else ""
    per_s = float(rate) if re.fullmatch(_N, rate) else None
    bad = sum(float(seen.get(k) or 0) for k in ("errors", "refused"))
    mean = _ms(at.get("Avg"))
    return {
        "concurrency": float(seen["streams"]), "requests": float(seen["n"]), "failed": bad,
        "wall_s": float(seen["wall"]), "req_s": per_s, "in_flight": per_s * mean / 1e3 if per_s and mean else None,
        "e2e_mean_ms": mean, "e2e_p50_ms": _ms(at.get("50%")), "e2e_p99_ms": _ms(at.get("99%")),
    }  # fmt: skip


def _fortio(seen: Mapping[str, Any]) -> Row:
    codes: dict[str, float] = seen["codes"]
    good = sum(n for code, n in codes.items() if code[0] == "2" or code in ("OK", "SERVING"))
    rate, mean = float(seen["rate"]), float(seen["mean"])
    return {
        "concurrency": float(seen["streams"]) if seen.get("streams") else None, "rate_rps": float(seen.get("asked") or 0) or None,
        "requests": float(seen["n"]), "completed": good, "failed": sum(codes.values()) - good,
        "wall_s": float(seen["wall"]), "req_s": rate, "in_flight": rate * mean,
        "e2e_mean_ms": mean * 1e3, **{f"e2e_{k}_ms": float(seen[k]) * 1e3 for k in ("p50", "p99") if seen.get(k)},
    }  # fmt: skip


def _artillery(seen: Mapping[str, Any]) -> Row:
    codes: dict[str, float] = seen["codes"]
    good = sum(n for code, n in codes.items() if code[0] == "2")
    lost = float(seen.get("lost") or 0)
    return {
        "requests": float(seen["n"]), "completed": good, "failed": sum(codes.values()) - good + lost,
        **{f"e2e_{k}_ms": float(seen[k]) for k in ("mean", "p50", "p99") if seen.get(k)},
    }  # fmt: skip


_DOTS = r": \.{3,} "
_TOOLS = {
    "bombardier": _Tool(
        _lines(r"Bombarding \S+ .*using (?P<streams>[0-9]{1,6}) connections?\(?s?\)?", r"Statistics +Avg +Stdev +Max"),
        _lines(
            r"Statistics +Avg +Stdev +Max", rf"Reqs/sec +(?P<rate>{_N}) +{_N} +{_N}", rf"Latency +(?P<mean>{_N}[a-zµμ]+) +{_N}[a-zµμ]+ +{_N}[a-zµμ]+",
            rf"50% +(?P<p50>{_N}[a-zµμ]+)", rf"99% +(?P<p99>{_N}[a-zµμ]+)", r"[0-9.]+% +\S+", r"Latency Distribution", r"HTTP codes:", r"Done!",
            r"1xx - (?P<c1xx>\d+), 2xx - (?P<c2xx>\d+), 3xx - (?P<c3xx>\d+), 4xx - (?P<c4xx>\d+), 5xx - (?P<c5xx>\d+)", r"others - (?P<others>\d+)",
            r"Throughput: +\S+/s",
        ),
        frozenset(("rate", "mean", "c2xx")), _bombardier,
    ),
    "autocannon": _Tool(
        _lines(r"Running (?:\S+ test|\d+ requests test) @ .*"),
        _lines(
            r"(?P<streams>[0-9]{1,6}) connections?", r"[│|] (?P<titles>Stat +[│|] 2\.5% .*Max +)[│|]", r"[│|] (?P<latency>Latency +[│|].*)[│|]",
            r"[│|] (?P<heads>Stat +[│|] 1% .*Min +)[│|]", r"[│|] (?P<rates>Req/Sec +[│|].*)[│|]", r"[│|] Bytes/Sec +[│|].*",
            rf"(?P<n>[0-9]{{1,9}}) requests in (?P<wall>{_N})s, .*read", r"(?P<errors>[0-9]{1,9}) errors \([0-9]+ timeouts\).*",
            r"[0-9]{1,9} 2xx responses, (?P<refused>[0-9]{1,9}) non 2xx responses",
        ),
        frozenset(("streams", "titles", "latency", "n")), _autocannon,
    ),
    "fortio": _Tool(
        _lines(r"Fortio \S+ running at .*", rf"Starting at (?:max|(?P<asked>{_N})) qps with (?P<streams>[0-9]{{1,6}}) thread\(s\).*"),
        _lines(
            rf"Starting at (?:max|(?P<asked>{_N})) qps with (?P<streams>[0-9]{{1,6}}) thread\(s\).*", rf"Ended after (?P<wall>{_N})s : (?P<n>\d+) calls\. qps=(?P<rate>{_N})",
            rf"Aggregated Function Time : count \d+ avg (?P<mean>{_N}) .*", rf"# target 50% (?P<p50>{_N})", rf"# target 99% (?P<p99>{_N})", r"# target .*",
            r"Code +(?P<code>-?\w+) : (?P<count>\d+) \(.*\)",
        ),
        frozenset(("n", "rate", "mean", "codes")), _fortio,
    ),
    "artillery": _Tool(
        _lines(r"Summary report @ \d\d:\d\d:\d\d\(.*\)"),
        _lines(
            rf"http\.codes\.(?P<code>\d{{3}}){_DOTS}(?P<count>\d+)", rf"http\.requests{_DOTS}(?P<n>\d+)", r"(?P<section>http\.response_time(?:\.\w+)?):",
            rf"mean{_DOTS}(?P<mean>{_N})", rf"median{_DOTS}(?P<p50>{_N})", rf"p99{_DOTS}(?P<p99>{_N})", rf"(?:min|max|p\d+){_DOTS}{_N}",
            rf"errors\.\w+{_DOTS}(?P<lost>\d+)", rf"(?:http|vusers)\.\w+(?:\.\w+)*{_DOTS}\S+", r"(?P<other>[\w.-]+):",
        ),
        frozenset(("n", "codes", "mean")), _artillery,
    ),
}  # fmt: skip
_HINT = (
    r"Bombarding|Statistics|Reqs/sec|Latency|xx - |others - |% |HTTP codes|Done!|Throughput:|Running |connection|[│|] |requests in|errors \(|responses,|Fortio|Starting at|"
    r"Ended after|Aggregated Function|# target|^\s*Code |Summary report|Metrics for|: \.{3,} |http\.response_time|^[\w.-]+:\s*$"
)


@dataclass
class _Reports(Runs):
    """The report that is being read, and the rows so far."""

    tool: str = ""
    seen: Seen = field(default_factory=dict)
    taken: int = 0
    section: str = ""

    def take(self, line: int, text: str, whole: bool) -> None:
        if not whole:
            self.counts.near(line, "the last line is cut")
            return
        found = next((m for p in _TOOLS[self.tool].lines if (m := p.fullmatch(text))), None) if self.tool else None
        if found is None and (opened := self._opened(text)):
            self.close()
            self.tool, found = opened
            self.seen, self.section = {"line": line}, ""
        if found is None:
            self.counts.other += 1
            return
        self.taken += 1
        self.add({k: v for k, v in found.groupdict().items() if v is not None})

    def _opened(self, text: str) -> tuple[str, re.Match[str]] | None:
        return next(((name, m) for name, tool in _TOOLS.items() for p in tool.opens if (m := p.fullmatch(text))), None)

    def add(self, parts: dict[str, str]) -> None:
        if "section" in parts or "other" in parts:
            self.section = parts.get("section", "other")
        elif self.tool == "artillery" and self.section not in ("http.response_time", "") and {"mean", "p50", "p99"} & set(parts):
            return  # the same statistics of a part of the requests
        elif "code" in parts:
            codes = self.seen.setdefault("codes", {})
            codes[parts["code"]] = codes.get(parts["code"], 0.0) + float(parts["count"])
        elif "lost" in parts:
            self.seen["lost"] = float(self.seen.get("lost", 0)) + float(parts["lost"])
        else:
            for key, value in parts.items():
                self.seen.setdefault(key, value)

    def close(self) -> None:
        """A row where the report has what a row needs; without the statistics that failed requests went into."""
        tool, seen, taken = self.tool, self.seen, self.taken
        self.tool, self.seen, self.taken = "", {}, 0
        if not tool or not _TOOLS[tool].need <= set(seen):
            self.counts.other += taken
            return
        self.counts.matched += taken
        row = {"line": seen["line"], "step": len(self.rows) + 1, **_TOOLS[tool].row(seen)}
        in_flight = row.pop("in_flight", None)
        if row.get("concurrency") and (in_flight or 0) < BUSY * row["concurrency"]:
            row["concurrency"] = None
        if row.get("completed") == 0 or row.get("failed"):
            self.odd["all-failed" if row.get("completed") == 0 else "failures-mixed"] += 1
            row |= dict.fromkeys(("req_s", "e2e_mean_ms", "e2e_p50_ms", "e2e_p99_ms"))
        self.rows.append({k: float(f"{v:.12g}") if isinstance(v, float) else v for k, v in row.items()})


class LoadReports(PrintedRuns):
    """Reports of bombardier, autocannon, fortio and artillery; see the module's page."""

    name = "load-reports"
    strength = 70
    signs, hint, most = _SIGNS, _HINT, 500
    reader, columns, notes = _Reports, _COLUMNS, _NOTES
    says = "what a load tool printed at the end of {} runs"


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "Bombarding http://localhost:8000/v1/completions with 80 requests using 8 connections\n"
        " 80 / 80 [==========] 100.00% 2/s 32s\nDone!\nStatistics        Avg      Stdev        Max\n  Reqs/sec         2.50       3.75      12.50\n"
        "  Latency         3.25s   412.50ms      4.50s\n  Latency Distribution\n     50%     3.20s\n     75%     3.50s\n     99%     4.45s\n"
        "  HTTP codes:\n    1xx - 0, 2xx - 80, 3xx - 0, 4xx - 0, 5xx - 0\n    others - 0\n  Throughput:    17.04KB/s\n",
        {
            "bench_steps": [
                {"line": 1, "step": 1, "concurrency": 8.0, "requests": 80.0, "completed": 80.0, "failed": 0.0, "req_s": 2.5, "e2e_mean_ms": 3250.0,
                 "e2e_p50_ms": 3200.0, "e2e_p99_ms": 4450.0}
            ],
            "clocks": [{"kind": "none"}],
            "quality": [],
        },
        "bombardier -l",
    ),
    Sample(
        "Running 30s test @ http://localhost:8000/v1/chat/completions\n8 connections\n\n"
        "┌─────────┬─────────┬─────────┬─────────┬─────────┬────────────┬───────────┬─────────┐\n"
        "│ Stat    │ 2.5%    │ 50%     │ 97.5%   │ 99%     │ Avg        │ Stdev     │ Max     │\n"
        "├─────────┼─────────┼─────────┼─────────┼─────────┼────────────┼───────────┼─────────┤\n"
        "│ Latency │ 2100 ms │ 3400 ms │ 4300 ms │ 4400 ms │ 3350.25 ms │ 410.32 ms │ 4405 ms │\n"
        "└─────────┴─────────┴─────────┴─────────┴─────────┴────────────┴───────────┴─────────┘\n"
        "│ Stat      │ 1%  │ 2.5% │ 50%    │ 97.5%   │ Avg    │ Stdev   │ Min     │\n"
        "│ Req/Sec   │ 0   │ 0    │ 2      │ 8       │ 2.25   │ 2.81    │ 1       │\n"
        "│ Bytes/Sec │ 0 B │ 0 B  │ 2.1 kB │ 8.42 kB │ 2.4 kB │ 2.95 kB │ 1.05 kB │\n\n"
        "Req/Bytes counts sampled once per second.\n\n70 requests in 30.05s, 73.6 kB read\n",
        {
            "bench_steps": [
                {"line": 1, "concurrency": 8.0, "requests": 70.0, "completed": None, "failed": 0.0, "wall_s": 30.05, "req_s": 2.25,
                 "e2e_mean_ms": 3350.25, "e2e_p50_ms": 3400.0, "e2e_p99_ms": 4400.0}
            ]
        },
        "autocannon 7",
    ),
    Sample(
        "Fortio 1.60.3 running at 1 queries per second, 8->8 procs, for 30s: http://localhost:8000/v1/completions\n"
        "Starting at 1 qps with 4 thread(s) [gomax 8] for 30s : 7 calls each (total 28)\nEnded after 30.25s : 28 calls. qps=0.9256\n"
        "Aggregated Function Time : count 28 avg 1.25 +/- 0.4112 min 1.0012 max 2.4012 sum 35\n# range, mid point, percentile, count\n"
        "> 4 <= 4.4012 , 4.2006 , 100.00, 5\n# target 50% 1.125\n# target 90% 1.95\n# target 99% 2.375\nCode 200 : 28 (100.0 %)\n"
        "Fortio 1.60.3 running at 0 queries per second, 8->8 procs, for 30s: http://localhost:8000/v1/completions\n"
        "Starting at max qps with 4 thread(s) [gomax 8] for 30s\nEnded after 31.5s : 60 calls. qps=1.9048\n"
        "Aggregated Function Time : count 60 avg 2.05 +/- 0.4112 min 1.0012 max 2.4012 sum 123\n# target 99% 2.375\n"
        "Code 200 : 57 (95.0 %)\nCode 503 : 3 (5.0 %)\n",
        {
            "bench_steps": [
                {"line": 1, "concurrency": None, "rate_rps": 1.0, "completed": 28.0, "failed": 0.0, "wall_s": 30.25, "req_s": 0.9256,
                 "e2e_mean_ms": 1250.0, "e2e_p50_ms": 1125.0, "e2e_p99_ms": 2375.0},
                {"line": 11, "step": 2, "concurrency": 4.0, "rate_rps": None, "requests": 60.0, "completed": 57.0, "failed": 3.0, "req_s": None,
                 "e2e_mean_ms": None},
            ],
            "quality": [{"kind": "failures-mixed", "n": 1}],
        },
        "fortio 1.60: a rate, then as fast as possible with failures",
    ),
    Sample(
        "--------------------------------\nMetrics for period to: 14:32:10(+0000) (width: 9.9s)\n--------------------------------\n\n"
        "http.response_time:\n  min: ......................................................................... 700\n"
        "--------------------------------\nSummary report @ 14:33:10(+0000)\n--------------------------------\n\n"
        "http.codes.200: ................................................................ 240\n"
        "http.request_rate: ............................................................. 4/sec\n"
        "http.requests: ................................................................. 240\n"
        "http.response_time:\n  min: ......................................................................... 812\n"
        "  max: ......................................................................... 9401\n"
        "  mean: ........................................................................ 3904.5\n"
        "  median: ...................................................................... 3752.5\n"
        "  p95: ......................................................................... 7709.8\n"
        "  p99: ......................................................................... 8868.5\n"
        "http.response_time.2xx:\n  mean: ........................................................................ 3900.5\n"
        "http.responses: ................................................................ 240\n"
        "vusers.failed: ................................................................. 0\n",
        {
            "bench_steps": [
                {"line": 8, "concurrency": None, "requests": 240.0, "completed": 240.0, "failed": 0.0, "req_s": None, "e2e_mean_ms": 3904.5,
                 "e2e_p50_ms": 3752.5, "e2e_p99_ms": 8868.5}
            ]
        },
        "artillery 2",
    ),
)  # fmt: skip

PARSER = LoadReports(SAMPLES)
