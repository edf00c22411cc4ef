"""Generic HTTP load tools: k6, hey, oha, locust and wrk.

**Reads** what these tools save: `k6 run -o csv=...` and `-o json=...`, `hey -o csv` (2018 and later, with a header, also forks with more
columns), `oha --output-format json` (older: `--json`) and `csv`, `_stats.csv` and `_stats_history.csv` of `locust --csv` (from 0.x to 2.x)
and the text that `wrk` and `wrk2` print. What the others print at the end of a run is read by load-summaries.

**`requests`** (origin `client`), one row per request:

- hey: `sent_at` (`offset`), `finished_at` (offset plus response time), `latency_s`, `status`. The clock starts with the run; where a file holds
  several runs, only the first has times. Headers without `offset` give no times.
- oha: the same from `request-start` and `request-duration`; requests without an answer are not in its CSV.
- k6: rows or points of `http_req_duration`: `finished_at` (k6 stamps the end, in whole seconds since 1970 unless set finer), `latency_s`, `status`.
  All other metrics are skipped.

`status` is ok for 2xx, failed for everything else; `latency_s` of a failed request is NULL.

**`bench_steps`**, one row per result:

- oha: `requests`, `completed`, `failed`, `wall_s`, `req_s`, `e2e_mean_ms`, `e2e_p99_ms`. Its JSON does not say the concurrency. Requests that oha
  itself aborted at the deadline are not counted at all.
- locust: one row per endpoint (`series`), the aggregate only where there is no other: `requests`, `completed`, `failed`, `req_s`, `e2e_*`.
  The file does not say the number of users; locust rounds percentiles to two digits above 100 ms.
- locust's history: one row per stretch of at least three seconds with a constant number of users, from the totals at its ends:
  `started_at`, `finished_at`, `wall_s`, `completed`, `failed`, `req_s`, `e2e_mean_ms`. Its users are `concurrency` where requests were
  in flight at least 80 % of the time; users that sleep between requests are no streams (`think-time`).
- wrk: `concurrency` (connections), `requests`, `completed`, `failed`, `wall_s`, `req_s`, `e2e_mean_ms`, with `--latency` `e2e_p99_ms`.

**Traps.** These tools know no tokens: nothing here is a time to first token (the first byte of a streamed answer may be its header).
Where failed requests went into the statistics, these speak about both: latency and rate are NULL (`failures-mixed`). oha leaves its errors
out of latencies, but its rate is NULL then. Names of endpoints are names (they get pseudonyms); addresses are not read. Where k6 rows name
several endpoints, a `several-endpoints` note says so.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, nested, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_clock, send_oddities, send_rows

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

MAX_NAMES = 1000
_NOTES = {
    "failures-mixed": "Failed requests went into the statistics of the tool: latency and rate are unknown.",
    "all-failed": "No request of the run succeeded: it has no measurements.",
    "several-runs": "The file holds several runs: only the first has times.",
    "several-endpoints": "The requests went to several endpoints, which may not all be the model.",
    "think-time": "The users of locust were not waiting for an answer all the time: how many requests were in flight is unknown.",
    "socket-errors": "wrk counted socket errors or timeouts beside its requests.",
}
_HEADERS = {
    "k6": r"metric_name,timestamp,metric_value,.*",
    "hey": r"response-time,DNS\+dialup,DNS,.*",
    "oha-csv": r"request-start,DNS,DNS\+dialup,Response-delay,request-duration,.*",
    "locust-history": r'"?Timestamp"?,"?User Count"?,"?Type"?,"?Name"?,.*',
    "locust": r'"?(?:Type|Method)"?,"?Name"?,"?(?:Request Count|# requests)"?,.*',
}
_LOCUST = {
    "requests": ("request count", "# requests"),
    "failed": ("failure count", "# failures"),
    "e2e_mean_ms": ("average response time",),
    "e2e_p99_ms": ("99%",),
    "req_s": ("requests/s",),
}
_HISTORY = {
    "time": "timestamp",
    "users": "user count",
    "requests": "total request count",
    "failed": "total failure count",
    "mean": "total average response time",
}
_STAMPS = {10: 1.0, 13: 1e-3, 16: 1e-6, 19: 1e-9}  # digits of a k6 stamp -> seconds per unit, for the years 2001 to 2286


@dataclass
class _Out:
    """Counts, oddities and what the clock row needs."""

    emit: Emit
    counts: Counts = field(default_factory=Counts)
    odd: Counter[str] = field(default_factory=Counter)
    line: int | None = None
    resolution: float | None = None
    timed: str | None = None
    steps: int = 0

    def step(self, row: Row) -> None:
        self.line = self.line or row["line"]
        self.steps += 1
        send_rows(self.emit, "bench_steps", [row | {"step": self.steps}])

    def close(self) -> None:
        if self.line is not None:
            send_clock(self.emit, self.line, self.timed or "none", self.resolution, None)
            send_oddities(self.emit, self.line, self.odd, _NOTES)


def _cells(line: str) -> list[str]:
    """The cells of one line; a quote that does not close gives none."""
    try:
        return [c.strip() for c in next(csv.reader([line], strict=True), [])]
    except csv.Error:
        return []


def _figure(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[0-9]{1,12}(?:\.[0-9]{1,18})?", text) else None


def _mixed(row: Row, mixed: float | None, out: _Out, *columns: str) -> Row:
    """A row without the statistics that failed requests went into, or could have gone into."""
    if row.get("completed") == 0:
        out.odd["all-failed"] += 1
        return row | dict.fromkeys(("e2e_mean_ms", "e2e_p99_ms", "req_s"))
    if mixed is None or mixed > 0:
        out.odd["failures-mixed"] += 1
        return row | dict.fromkeys(columns)
    return row


# --- CSV: k6, hey, locust ---------------------------------------------------------------------------------------------------------------


class _Csv:
    """Rows below a header; a header that comes again begins another run."""

    def __init__(self, tool: str, out: _Out) -> None:
        self.tool, self.out, self.names, self.run = tool, out, (), -1
        self.endpoints: set[str] = set()
        self.aggregate: Row | None = None
        self.stretch: list[Row] = []

    names: tuple[str, ...]

    def block(self, first: int, text: str) -> None:
        at, line = 0, first
        for found in re.finditer(rf"(?m)^{_HEADERS[self.tool]}$", text):
            self.lines(line, text[at : found.start()])
            line += text.count("\n", at, found.start())
            if text[found.end() : found.end() + 1] == "\n":
                self.close_run()
                self.names, self.run = tuple(c.lower() for c in _cells(found[0])), self.run + 1
                self.out.counts.matched += 1
            else:
                self.out.counts.near(line, "the header is cut")
            at, line = found.end() + 1, line + 1
        self.lines(line, text[at:])

    def lines(self, first: int, text: str) -> None:
        import polars as pl

        if not text:
            return
        if not self.names:
            self.out.counts.other += text.count("\n") + (not text.endswith("\n"))
            return
        lines = text.split("\n")
        cut = lines.pop()
        frame = pl.DataFrame({"line": pl.int_range(first, first + len(lines), eager=True), "text": pl.Series(lines, dtype=pl.String)})
        if self.tool == "locust":
            self.locust(frame)
        elif self.tool == "locust-history":
            self.history(frame)
        elif self.tool == "k6":
            self.requests(self.apart(frame, pl.col("text").str.starts_with("http_req_duration,"), r"^[a-z]\w*,[^,]*,[0-9.eE+-]+,"))
        else:
            self.requests(self.apart(frame, pl.col("text").str.contains(r"^[0-9]"), r"^\s*$"))
        if cut:
            self.out.counts.near(first + len(lines), "the last line is cut")

    def apart(self, frame: pl.DataFrame, wanted: pl.Expr, noise: str) -> pl.DataFrame:
        """The wanted lines with their cells; the others are noise or something else."""
        import polars as pl

        rest = frame.filter(~wanted)
        known = int(rest["text"].str.contains(noise).sum())
        self.out.counts.noise += known
        self.out.counts.other += rest.height - known
        held = frame.filter(wanted)
        quoted = pl.col("text").str.contains('"', literal=True)
        plain = held.filter(~quoted).select("line", cells=pl.col("text").str.split(","))
        odd = held.filter(quoted)
        apart = pl.Series("cells", [_cells(t) for t in odd["text"]], dtype=pl.List(pl.String))
        return pl.concat([plain, odd.select("line", apart)]).sort("line")

    def requests(self, cells: pl.DataFrame) -> None:
        """Rows of hey and of k6's http_req_duration."""
        import polars as pl

        if not cells.height:
            return
        fits = cells["cells"].list.len().is_between(len(self.names) - (self.tool == "k6"), len(self.names))  # k6 before `metadata`
        frame = (self.k6 if self.tool == "k6" else self.hey)(cells.filter(fits))
        good = frame.filter(pl.col("latency_s").is_not_null())
        for line in sorted({*cells["line"].to_list()} - {*good["line"].to_list()}):
            self.out.counts.near(line, "a row of another shape")
        if not good.height:
            return
        self.out.line = self.out.line or int(good["line"][0])
        self.out.counts.matched += good.height
        ok = pl.col("status").eq_missing("failed").not_()
        good = good.with_columns(pl.when(ok).then("latency_s").alias("latency_s"), origin=pl.lit("client"))
        self.out.emit("requests", good)

    def cell(self, name: str) -> pl.Expr:
        import polars as pl

        if name not in self.names:
            return pl.lit(None, dtype=pl.String)
        return pl.col("cells").list.get(self.names.index(name), null_on_oob=True).str.strip_chars()

    def number(self, name: str, scale: float = 1.0) -> pl.Expr:
        import polars as pl

        cell = self.cell(name)
        return pl.when(cell.str.contains(r"^[0-9]{1,9}(\.[0-9]{1,18})?$")).then(cell).cast(pl.Float64, strict=False) * scale

    def status(self, name: str) -> pl.Expr:
        import polars as pl

        code = self.cell(name)
        known = pl.when(code.str.contains(r"^2[0-9]{2}$")).then(pl.lit("ok"))
        return known.when(code.str.contains(r"^(0|[13-9][0-9]{2,3})$")).then(pl.lit("failed"))

    def hey(self, cells: pl.DataFrame) -> pl.DataFrame:
        """hey and oha: when a request started, how long it took."""
        import polars as pl

        start, latency, code, step = (
            ("request-start", "request-duration", "status", 1e-6)
            if self.tool == "oha-csv"
            else ("offset", "response-time", "status-code", 1e-4)
        )
        timed = start in self.names and self.run == 0
        if timed:
            self.out.timed, self.out.resolution = "since-start", step
        self.out.odd["several-runs"] = max(0, self.run)
        rows = cells.select("line", latency_s=self.number(latency), status=self.status(code), sent_at=self.number(start))
        if start in self.names:  # a row that lacks its own start is damaged
            rows = rows.filter(pl.col("sent_at").is_not_null())
        rows = rows.with_columns(
            finished_at=pl.col("sent_at") + pl.col("latency_s"), run=pl.lit(self.run, pl.Int32), resolution_s=pl.lit(step)
        )
        return rows if timed else rows.drop("sent_at", "finished_at", "resolution_s")

    def k6(self, cells: pl.DataFrame) -> pl.DataFrame:
        import polars as pl

        stamp = self.cell("timestamp")
        whole = pl.when(stamp.str.contains(r"^[1-4][0-9]{9}([0-9]{3}){0,3}$")).then(stamp)
        digits = whole.str.len_chars()
        unit = digits.replace_strict(_STAMPS, default=None, return_dtype=pl.Float64)
        rows = cells.select(
            "line",
            latency_s=self.number("metric_value", 1e-3),
            status=self.status("status"),
            finished_at=whole.cast(pl.Int64, strict=False) * unit,
            resolution_s=pl.max_horizontal(unit, pl.lit(1e-6)),
            endpoint=self.cell("name"),
        ).filter(pl.col("finished_at").is_not_null())
        if rows.height:
            self.out.timed, self.out.resolution = "utc", max(self.out.resolution or 0.0, float(rows["resolution_s"].max()))  # type: ignore[arg-type]
            if len(self.endpoints) < MAX_NAMES:
                self.endpoints |= {*rows["endpoint"].drop_nulls().unique().to_list()}
            self.out.odd["several-endpoints"] = len(self.endpoints) if len(self.endpoints) > 1 else 0
        return rows.drop("endpoint")

    def locust(self, frame: pl.DataFrame) -> None:
        """One row per endpoint: such a file has as many lines as the service has endpoints."""
        for line, text in frame.iter_rows():
            cells = _cells(text)
            if not text.strip():
                self.out.counts.noise += 1
                continue
            at = {name: cells[k] for k, name in enumerate(self.names)} if len(cells) == len(self.names) else {}
            row: Row = {c: next((_figure(at[n]) for n in names if n in at), None) for c, names in _LOCUST.items()}
            if row["requests"] is None or row["failed"] is None or row["failed"] > row["requests"]:
                self.out.counts.near(line, "a row of another shape")
                continue
            self.out.counts.matched += 1
            row |= {"line": line, "completed": row["requests"] - row["failed"]}
            if at["name"] in ("Aggregated", "Total") and not cells[0].strip("None"):
                self.aggregate = row
            elif row["requests"]:
                self.endpoints.add(at["name"])
                self.out.step(_mixed(row | {"series": at["name"][:200]}, row["failed"], self.out, "e2e_mean_ms", "e2e_p99_ms", "req_s"))

    def history(self, frame: pl.DataFrame) -> None:
        """One line per second: totals since the start, over all endpoints."""
        for line, text in frame.iter_rows():
            cells = _cells(text)
            if not text.strip():
                self.out.counts.noise += 1
                continue
            at = {name: cells[k] for k, name in enumerate(self.names)} if len(cells) == len(self.names) else {}
            values = {c: _figure(at.get(name, "")) for c, name in _HISTORY.items()}
            if at and at["name"] != "Aggregated":
                self.out.counts.noise += 1
            elif values["time"] is None or values["users"] is None:
                self.out.counts.near(line, "a row of another shape")
            else:
                self.out.counts.matched += 1
                if self.stretch and self.stretch[-1]["users"] != values["users"]:
                    self.close_stretch()
                self.stretch.append(values | {"line": line})

    def close_stretch(self) -> None:
        """What was done while the number of users stayed the same: the difference of the totals."""
        rows, self.stretch = self.stretch, []
        counted = [(r["time"], r["requests"], r["failed"]) for r in rows]
        rising = all(None not in r for r in counted) and all(a <= b for r, s in pairwise(counted) for a, b in zip(r, s))
        if len(rows) < 2 or not rising or not rows[0]["users"]:  # totals that fall back are those of another run
            return
        first, last = rows[0], rows[-1]
        wall, requests, failed = (last[c] - first[c] for c in ("time", "requests", "failed"))
        if wall < 3 or requests <= 0 or failed > requests:
            return
        mean = None
        if first["mean"] is not None and last["mean"] is not None:
            mean = (last["mean"] * last["requests"] - first["mean"] * first["requests"]) / requests
        busy = bool(mean and requests / wall * mean / 1e3 >= 0.8 * first["users"])
        self.out.odd["think-time"] += not busy
        self.out.timed, self.out.resolution = "utc", 1.0
        row: Row = {"line": first["line"], "concurrency": first["users"] if busy else None, "requests": requests}
        row |= {"completed": requests - failed, "failed": failed, "started_at": first["time"], "finished_at": last["time"]}
        row |= {"wall_s": wall, "req_s": requests / wall, "e2e_mean_ms": mean if mean and mean > 0 else None}
        self.out.step(_mixed(row, failed, self.out, "e2e_mean_ms", "req_s"))

    def close_run(self) -> None:
        """The aggregate speaks only where no endpoint did."""
        self.close_stretch()
        row, self.aggregate = self.aggregate, None
        if row is not None and not self.endpoints and row["requests"] and self.tool == "locust":
            self.out.step(_mixed(row, row["failed"], self.out, "e2e_mean_ms", "e2e_p99_ms", "req_s"))
        if self.tool == "locust":
            self.endpoints = set()


# --- k6, one JSON object per line -----------------------------------------------------------------------------------------------------


def _read_k6_json(source: Readable, out: _Out) -> Counts:
    """Points of `http_req_duration`; whole lines only, fields by their keys."""
    import polars as pl

    endpoints: set[str] = set()
    for first, block in source.blocks():
        lines = block.split("\n")
        if lines.pop():
            out.counts.near(first + len(lines), "the last line is cut")
        frame = pl.DataFrame({"line": pl.int_range(first, first + len(lines), eager=True), "text": pl.Series(lines, dtype=pl.String)})
        text = pl.col("text")
        known = text.str.contains(r'^\{.*"type":"(?:Point|Metric)"')
        wanted = known & text.str.contains('"metric":"http_req_duration"', literal=True) & text.str.contains('"type":"Point"', literal=True)
        out.counts.noise += frame.filter(known & ~wanted).height
        out.counts.other += frame.filter(~known).height
        code = text.str.extract(r'"status":"([0-9]{1,4})"')
        rows = frame.filter(wanted).select(
            "line",
            finished_at=text.str.extract(r'"time":"([0-9T:.Z+-]{20,40})"')
            .str.to_datetime(time_zone="UTC", time_unit="ns", strict=False)
            .dt.epoch("ns")
            / 1e9,
            latency_s=text.str.extract(r'"value":([0-9]{1,9}(?:\.[0-9]{1,18})?)[,}]').cast(pl.Float64, strict=False) / 1e3,
            status=pl.when(code.str.contains(r"^2..$")).then(pl.lit("ok")).when(code.is_not_null()).then(pl.lit("failed")),
            endpoint=text.str.extract(r'"name":"([^"]{1,200})"'),
        )
        good = rows.filter(pl.col("finished_at").is_not_null() & pl.col("latency_s").is_not_null())
        for line in sorted({*rows["line"].to_list()} - {*good["line"].to_list()}):
            out.counts.near(line, "a point of another shape")
        if good.height:
            out.line, out.timed, out.resolution = out.line or int(good["line"][0]), "utc", 1e-6
            out.counts.matched += good.height
            if len(endpoints) < MAX_NAMES:
                endpoints |= {*good["endpoint"].drop_nulls().unique().to_list()}
            served = pl.when(pl.col("status").eq_missing("failed").not_()).then("latency_s").alias("latency_s")
            out.emit("requests", good.drop("endpoint").with_columns(served, origin=pl.lit("client"), resolution_s=pl.lit(1e-6)))
    out.odd["several-endpoints"] = len(endpoints) if len(endpoints) > 1 else 0
    return out.counts


# --- oha --------------------------------------------------------------------------------------------------------------------------------


def _oha(doc: Json, line: int, out: _Out) -> Row | None:
    """The row of one JSON result, None for any other object."""
    summary = nested(doc, "summary")
    if not {"successRate", "requestsPerSec", "total"} <= set(summary):
        return None
    codes, errors = nested(doc, "statusCodeDistribution"), nested(doc, "errorDistribution")
    row: Row = {"line": line, "wall_s": pos(summary.get("total")), "req_s": pos(summary.get("requestsPerSec"))}
    row["e2e_mean_ms"] = pos(summary.get("average"), 1e3)
    row["e2e_p99_ms"] = pos(nested(doc, "latencyPercentiles").get("p99"), 1e3)
    held = [num(v) for k, v in (*codes.items(), *errors.items()) if k != "aborted due to deadline"]
    if "statusCodeDistribution" not in doc or "errorDistribution" not in doc or None in held:
        return _mixed(row, None, out, "e2e_mean_ms", "e2e_p99_ms", "req_s")
    requests = sum(h for h in held if h is not None)
    completed = sum(num(v) or 0.0 for k, v in codes.items() if re.fullmatch(r"2\d\d", k))
    refused = sum(num(v) or 0.0 for k, v in codes.items() if not re.fullmatch(r"2\d\d", k))
    row |= {"requests": requests, "completed": completed, "failed": requests - completed}
    if requests > completed:
        row["req_s"] = None
    return _mixed(row, refused, out, "e2e_mean_ms", "e2e_p99_ms", "req_s")


def _read_oha(source: Readable, out: _Out) -> Counts:
    lines = JsonLines(source)
    for first, last, doc in json_objects(lines):
        row = _oha(doc, first, out) if doc is not None else None
        if row is not None:
            lines.add(first, last, "matched")
            out.step(row)
        elif doc is None:
            lines.near(first, "a result that is cut or garbled")
    return lines.close()


# --- wrk --------------------------------------------------------------------------------------------------------------------------------

_T = r"([0-9.]+)(us|ms|s|m|h)"
_WRK = re.compile(
    rf"(?m)^(?:(?P<start>Running \S+ test @ .*)|[ \t]+\d+ threads and (?P<connections>\d+) connections|[ \t]+Latency[ \t]+(?P<mean>{_T})[ \t]+{_T}[ \t]+{_T}[ \t].*"
    rf"|[ \t]+99(?:\.000)?%[ \t]+(?P<p99>{_T})|[ \t]+(?P<requests>\d+) requests in (?P<wall>{_T}), .*|[ \t]+Non-2xx or 3xx responses: (?P<bad>\d+)"
    r"|[ \t]+Socket errors: (?P<socket>connect .*)|Requests/sec:[ \t]+(?P<rate>[0-9.]+)|(?P<rest>Transfer/sec:.*|[ \t]+Thread Stats[ \t].*|[ \t]+Req/Sec[ \t].*"
    r"|[ \t]+Latency Distribution.*|[ \t]+\d+(?:\.\d+)?%[ \t]+[0-9.]+[a-z]+))[ \t]*$"
)
_UNIT = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(text: str | None) -> float | None:
    found = re.fullmatch(_T, text or "")
    value = _figure(found[1]) if found else None
    return value * _UNIT[found[2]] if found and value is not None else None


def _wrk_row(seen: dict[str, Any], out: _Out) -> Row | None:
    """The row of a printout that reached its rate; None where the lines before it are not all there."""
    requests, rate = _figure(seen.get("requests") or ""), _figure(seen["rate"])
    if requests is None or rate is None or "connections" not in seen:
        return None
    mean, p99, bad = _seconds(seen.get("mean")), _seconds(seen.get("p99")), _figure(seen.get("bad") or "0") or 0.0
    row: Row = {
        "line": seen["line"],
        "concurrency": float(seen["connections"]) or None,
        "requests": requests,
        "wall_s": _seconds(seen["wall"]),
    }
    row |= {"completed": max(0.0, requests - bad), "failed": bad, "req_s": rate or None}
    row |= {"e2e_mean_ms": mean * 1e3 if mean else None, "e2e_p99_ms": p99 * 1e3 if p99 else None}
    out.odd["socket-errors"] += "socket" in seen
    return _mixed(row, bad, out, "e2e_mean_ms", "e2e_p99_ms", "req_s")


def _read_wrk(source: Readable, out: _Out) -> Counts:
    """Only lines of wrk are looked at one by one."""
    seen: dict[str, Any] = {}
    for first, text in source.blocks():
        at, line, total = 0, first, text.count("\n") + (not text.endswith("\n"))
        taken = 0
        for found in _WRK.finditer(text):
            line, at = line + text.count("\n", at, found.start()), found.start()
            what = str(found.lastgroup)
            if text[found.end() : found.end() + 1] != "\n":
                out.counts.near(line, "the last line is cut")
                taken += 1
                continue
            if what == "start":
                seen = {"line": line}
            elif not seen:
                continue
            seen |= {k: v for k, v in found.groupdict().items() if v is not None}
            taken += 1
            row = _wrk_row(seen, out) if what == "rate" else None
            if what == "rate" and row is None:
                out.counts.near(line, "lines above the rate are missing")
                seen = {}
                continue
            out.counts.matched += 1
            if row is not None:
                out.step(row)
                seen = {"line": line}
        out.counts.other += total - taken
    return out.counts


# --- the parser -------------------------------------------------------------------------------------------------------------------------


def _tool(text: str) -> str | None:
    """Whose output begins this text."""
    for tool, header in _HEADERS.items():
        if re.search(rf"(?m)^{header}$", text):
            return tool
    if re.search(r"(?m)^Running \S+ test @ ", text) and re.search(r"(?m)^[ \t]+\d+ threads and \d+ connections", text):
        return "wrk"
    if re.search(r'(?m)^\{.*"type":"Point".*"metric":"http_req|^\{"metric":"http_req\w*","type":"Point"', text):
        return "k6-json"
    return "oha" if {"summary", "successRate", "requestsPerSec"} <= json_keys(text) else None


class LoadTools:
    """k6, hey, oha, locust and wrk; see the module's page."""

    name = "load-tools"
    api = 1

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """The header of a CSV, the summary of oha, the first two lines of wrk."""
        tool = _tool(head.text)
        if tool is not None:
            alone = tool in ("oha", "k6-json") or (tool in _HEADERS and re.match(_HEADERS[tool], head.text.lstrip()) is not None)
            return Claim(85 if tool == "wrk" else 92, f"output of {tool.split('-')[0]}", shares=not alone)
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `requests` or `bench_steps`, one of `clocks`."""
        out, tool = _Out(emit), _tool(source.head().text)
        if tool == "wrk":
            _read_wrk(source, out)
        elif tool == "k6-json":
            _read_k6_json(source, out)
        elif tool in _HEADERS:
            reader = _Csv(tool, out)
            for first, text in source.blocks():
                reader.block(first, text)
            reader.close_run()
        else:
            out.counts = _read_oha(source, out)
        out.close()
        return out.counts


_K6 = "metric_name,timestamp,metric_value,check,error,error_code,expected_response,group,method,name,proto,scenario,service,status,subproto,tls_version,url,extra_tags"
SAMPLES: tuple[Sample, ...] = (
    Sample(
        f"{_K6}\nhttp_reqs,1767225600,1.000000,,,,true,,POST,a,HTTP/1.1,default,,200,,,a,\n"
        "http_req_duration,1767225600,2500.500000,,,,true,,POST,a,HTTP/1.1,default,,200,,,a,\n"
        'http_req_duration,1767225601,0.000000,,"dial: refused, twice",1212,false,,POST,a,,default,,0,,,a,\n',
        {
            "requests": [
                {"line": 3, "origin": "client", "finished_at": 1767225600.0, "latency_s": 2.5005, "status": "ok", "resolution_s": 1.0},
                {"line": 4, "finished_at": 1767225601.0, "latency_s": None, "status": "failed"},
            ],
            "clocks": [{"kind": "utc", "resolution_s": 1.0}],
        },
        "k6 before 1.0",
    ),
    Sample(
        f"{_K6},metadata\nhttp_req_duration,1767225600250,1200.250000,,,,true,,POST,a,HTTP/1.1,default,,200,,,a,,\n",
        {"requests": [{"line": 2, "finished_at": 1767225600.25, "latency_s": 1.20025}], "clocks": [{"kind": "utc", "resolution_s": 0.001}]},
        "k6 with metadata, stamps in milliseconds",
    ),
    Sample(
        "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n"
        "4.2500,0.0004,0.0000,0.0000,4.2490,0.0001,200,0.2500\n8.5000,0.0004,0.0000,0.0000,8.4990,0.0001,503,0.5000\n",
        {
            "requests": [
                {"line": 2, "origin": "client", "sent_at": 0.25, "finished_at": 4.5, "latency_s": 4.25, "status": "ok"},
                {"line": 3, "sent_at": 0.5, "finished_at": 9.0, "latency_s": None, "status": "failed"},
            ],
            "clocks": [{"kind": "since-start", "resolution_s": 0.0001}],
        },
        "hey with offset",
    ),
    Sample(
        "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read\n1.5000,0.0004,0.0000,0.0000,1.4990,0.0001\n",
        {"requests": [{"latency_s": 1.5, "status": None, "sent_at": None}], "clocks": [{"kind": "none"}]},
        "hey of 2018, six columns",
    ),
    Sample(
        '{\n "summary": {"successRate": 1.0, "total": 20.5, "slowest": 9.5, "fastest": 2.5, "average": 5.25, "requestsPerSec": 1.5},\n'
        ' "latencyPercentiles": {"p50": 5.0, "p99": 9.25},\n "statusCodeDistribution": {"200": 30},\n'
        ' "errorDistribution": {"aborted due to deadline": 4}\n}\n',
        {
            "bench_steps": [
                {"line": 1, "requests": 30.0, "completed": 30.0, "failed": 0.0, "wall_s": 20.5, "req_s": 1.5, "e2e_mean_ms": 5250.0}
                | {"e2e_p99_ms": 9250.0, "concurrency": None}
            ],
            "clocks": [{"kind": "none"}],
        },
        "oha",
    ),
    Sample(
        "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,"
        "Average Content Size,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%\n"
        "POST,chat,40,0,5100,5250.5,900,9900,1000,1.75,0.0,5100,5500,5900,6100,7000,8000,9000,9500,9900,9900,9900\n"
        ",Aggregated,40,0,5100,5250.5,900,9900,1000,1.75,0.0,5100,5500,5900,6100,7000,8000,9000,9500,9900,9900,9900\n",
        {
            "bench_steps": [
                {"line": 2, "series": "chat", "requests": 40.0, "failed": 0.0, "req_s": 1.75, "e2e_mean_ms": 5250.5, "e2e_p99_ms": 9500.0}
            ],
            "clocks": [{"kind": "none"}],
        },
        "locust 1 and later",
    ),
    Sample(
        '"Type","Name","# requests","# failures","Median response time","Average response time","Requests/s"\n'
        '"POST","chat",40,5,5100,5250,1.75\n',
        {"bench_steps": [{"completed": 35.0, "failed": 5.0, "e2e_mean_ms": None, "req_s": None}], "quality": [{"kind": "failures-mixed"}]},
        "locust 0.x",
    ),
    Sample(
        "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,Total Request Count,Total Failure Count,Total Average Response Time\n"
        "1767225600,4,,Aggregated,0.0,0.0,N/A,0,0,0\n1767225601,4,,Aggregated,1.0,0.0,3000,10,0,4000\n"
        "1767225620,4,,Aggregated,1.0,0.0,3900,20,0,3900.0\n1767225621,8,,Aggregated,1.0,0.0,3900,21,0,3950.0\n"
        "1767225661,8,,Aggregated,1.0,0.0,4100,41,0,4000.0\n",
        {
            "bench_steps": [
                {"line": 2, "concurrency": 4.0, "requests": 20.0, "completed": 20.0, "failed": 0.0, "wall_s": 20.0, "req_s": 1.0}
                | {"e2e_mean_ms": 3900.0, "started_at": 1767225600.0, "finished_at": 1767225620.0},
                {"line": 5, "concurrency": None, "requests": 20.0, "req_s": 0.5, "e2e_mean_ms": 4052.5},
            ],
            "clocks": [{"kind": "utc", "resolution_s": 1.0}],
            "quality": [{"kind": "think-time"}],
        },
        "locust's history",
    ),
    Sample(
        "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status\n0.000250125,0,0.0001,0.25,4.250001,437,200\n"
        "0.5,0,0,0.25,8.5,20,503\n",
        {
            "requests": [
                {"line": 2, "sent_at": 0.000250125, "latency_s": 4.250001, "finished_at": 4.250251125, "status": "ok"},
                {"line": 3, "sent_at": 0.5, "latency_s": None, "status": "failed"},
            ],
            "clocks": [{"kind": "since-start", "resolution_s": 1e-06}],
        },
        "oha --output-format csv",
    ),
    Sample(
        '{"type":"Metric","data":{"type":"trend","contains":"time"},"metric":"http_req_duration"}\n'
        '{"type":"Point","data":{"time":"2026-01-01T01:00:02.5+01:00","value":2500.5,"tags":{"name":"a","status":"200"}},'
        '"metric":"http_req_duration"}\n'
        '{"metric":"http_req_duration","type":"Point","data":{"time":"2026-01-01T00:00:03.123456789Z","value":10,"tags":{"name":"a","status":"503"}}}\n'
        '{"type":"Point","data":{"time":"2026-01-01T00:00:03Z","value":8,"tags":null},"metric":"vus"}\n',
        {
            "requests": [
                {"line": 2, "origin": "client", "finished_at": 1767225602.5, "latency_s": 2.5005, "status": "ok"},
                {"line": 3, "finished_at": 1767225603.123456789, "latency_s": None, "status": "failed"},
            ],
            "clocks": [{"kind": "utc", "resolution_s": 1e-06}],
        },
        "k6 -o json",
    ),
    Sample(
        "Running 30s test @ http://localhost/\n  2 threads and 16 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n"
        "    Latency   635.50ms    0.89ms   1.92s    93.69%\n    Req/Sec    12.20      8.07     62.00     86.54%\n"
        "  Latency Distribution\n     50%  600.00ms\n     99%    1.75s \n  750 requests in 0.50m, 17.76MB read\n"
        "Requests/sec:     25.00\nTransfer/sec:    606.33KB\n",
        {
            "bench_steps": [
                {"line": 1, "concurrency": 16.0, "requests": 750.0, "failed": 0.0, "wall_s": 30.0, "req_s": 25.0, "e2e_mean_ms": 635.5}
                | {"e2e_p99_ms": 1750.0}
            ],
            "clocks": [{"kind": "none"}],
        },
        "wrk 4 with --latency",
    ),
    Sample(
        "Running 5s test @ http://localhost/\n  1 threads and 4 connections\n    Latency     2.00ms    0.89ms   9.92ms   93.69%\n"
        "  40 requests in 5.00s, 9.00KB read\n  Socket errors: connect 0, read 0, write 0, timeout 3\n  Non-2xx or 3xx responses: 12\n"
        "Requests/sec:      8.00\n",
        {
            "bench_steps": [{"concurrency": 4.0, "completed": 28.0, "failed": 12.0, "req_s": None, "e2e_mean_ms": None}],
            "quality": [{"kind": "socket-errors"}, {"kind": "failures-mixed"}],
        },
        "wrk with failures",
    ),
)

PARSER = LoadTools()
