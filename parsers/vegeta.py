"""vegeta: what `vegeta report` prints (text, JSON) and what `vegeta encode` writes request by request (CSV, JSON).

**Reads** the text report alone, several in one file, or between other lines; `vegeta report -type=json`; `vegeta encode -to=csv` (without a
header, as it is written) and `-to=json` (one object per line). The binary `results.bin` is not read: encode it.

**`bench_steps`**, one row per report: `requests`, `completed`, `failed` (by status codes), `wall_s`, `req_s` (`throughput`: the successful
ones over the whole time), `e2e_mean_ms`, `e2e_p50_ms`, `e2e_p99_ms`, of JSON `started_at` and `finished_at` (UTC). `rate_rps` is the rate at
which requests were sent. With `-rate=0` in a command line above it is NULL, and `-max-workers` is the `concurrency`.

**`requests`** (origin `client`, UTC), one row per request of the encoded results: `sent_at`, `finished_at`, `latency_s`, `status`.

**Traps.** Failed requests are in the latencies: with any of them these are NULL (`failures-mixed`). Success in vegeta's own words is any code
from 200 to 399; here only 2xx is. It knows no tokens. Bodies, headers, addresses, names and errors are not read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, nested, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_clock, send_oddities, send_rows

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

CONTEXT = 1 << 14  # characters above a report in which its command line may stand
_NOTES = {
    "failures-mixed": "Failed requests went into the statistics of the tool: its latencies are unknown.",
    "all-failed": "No request of the run succeeded: it has no measurements.",
}
_LABEL = re.compile(r"[\s>#]*(Requests|Duration|Latencies|Success|Status Codes|Bytes In|Bytes Out) +\[([a-z0-9:, ]+)\] +(\S.*?)\s*")
_DURATION = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,9}(?:\.\d{1,12})?)(ns|us|µs|μs|ms|s))?")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0}
_CSV = r"^([1-4][0-9]{18}),([0-9]{1,3}),([0-9]{1,18}),[0-9]+,[0-9]+,"
_CSV_ROW = _CSV + r'(?:"(?:[^"]|"")*"|[^",]*),[A-Za-z0-9+/=]*,'
_JSON_ROW = r'^\{"attack":"(?:[^"\\]|\\.)*","seq":[0-9]+,"code":[0-9]+,"timestamp":".*\}\s*$'


def _seconds(text: str | None) -> float | None:
    """Seconds of a duration as Go prints it."""
    found = _DURATION.fullmatch(text or "")
    if not found or not any(found.groups()):
        return None
    return int(found[1] or 0) * 3600 + int(found[2] or 0) * 60 + (float(found[3]) * _UNITS[found[4]] if found[3] else 0.0)


def _instant(text: object) -> float | None:
    """Seconds since 1970 of an RFC 3339 time of this century, with up to nanoseconds."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text.replace("Z", "+00:00"))).timestamp()
    except (ValueError, OverflowError):
        return None
    return found if 1e9 < found < 4.2e9 else None


def _load(above: str) -> tuple[float | None, bool]:
    """(workers, closed loop) of the last attack in a text: with a rate of 0 every worker sends as soon as it can."""
    commands = [line for line in re.sub(r"\\\n", " ", above).split("\n") if re.search(r"\bvegeta +(?:-\S+ +)*attack\b", line)]
    command = commands[-1] if commands else ""
    if not re.search(r"\s--?rate[= ]0(?:/\S+)?(?=\s|$)", command):
        return None, False
    workers = re.search(r"\s--?max-workers[= ]([1-9][0-9]{0,5})(?=\s|$)", command)
    return (float(workers[1]) if workers else None), True


@dataclass
class _Out:
    """Rows, counts and oddities of one source."""

    counts: Counts = field(default_factory=Counts)
    rows: list[Row] = field(default_factory=list)
    odd: Counter[str] = field(default_factory=Counter)

    def step(self, row: Row, codes: dict[str, float]) -> None:
        """One report; latencies only where no failed request went into them."""
        good = sum(n for code, n in codes.items() if re.fullmatch(r"2\d\d", code))
        if codes:
            row |= {"requests": sum(codes.values()), "completed": good, "failed": sum(codes.values()) - good}
        clean = bool(codes) and row["failed"] == 0
        if row.get("completed") == 0:
            self.odd["all-failed"] += 1
        elif not clean:
            self.odd["failures-mixed"] += 1
        if not clean:
            row |= dict.fromkeys(("e2e_mean_ms", "e2e_p50_ms", "e2e_p99_ms"))
        if row.get("completed") == 0 or any(re.fullmatch(r"3\d\d", code) for code in codes):
            row["req_s"] = None  # its throughput counts these as successes
        self.rows.append({k: float(f"{v:.12g}") if isinstance(v, float) and k not in _TIMES else v for k, v in row.items()})


_TIMES = ("started_at", "finished_at")


# --- the text report -------------------------------------------------------------------------------------------------------------------


@dataclass
class _Text:
    """The report that is being read: label -> name -> value."""

    out: _Out
    line: int = 0
    lines: int = 0
    seen: dict[str, dict[str, str]] = field(default_factory=dict)
    load: tuple[float | None, bool] = (None, False)

    def take(self, line: int, text: str, above: str) -> bool:
        found = _LABEL.fullmatch(text)
        if not found or (found[1] != "Requests" and not self.seen):
            return False
        if found[1] == "Requests":
            self.close()
            self.line, self.load = line, _load(above)
        names = [n.strip() for n in found[2].split(",")]
        values = [v.strip() for v in found[3].split(",")]
        self.lines += 1
        if found[1] == "Status Codes":
            self.seen[found[1]] = dict(pair.split(":", 1) for pair in found[3].split() if re.fullmatch(r"\d{1,3}:\d{1,12}", pair))
            self.close()
        else:
            self.seen[found[1]] = dict(zip(names, values)) if len(names) == len(values) else {}
        return True

    def close(self) -> None:
        seen, lines, self.seen, self.lines = self.seen, self.lines, {}, 0
        requests, duration, latency = (seen.get(k, {}) for k in ("Requests", "Duration", "Latencies"))
        figures = {k: float(v) for k, v in requests.items() if re.fullmatch(r"\d{1,12}(?:\.\d{1,9})?", v)}
        if not {"total", "rate"} <= set(figures) or not duration or "Status Codes" not in seen:
            self.out.counts.other += lines
            return
        self.out.counts.matched += lines
        workers, closed = self.load
        row: Row = {"line": self.line, "concurrency": workers, "rate_rps": None if closed else figures["rate"] or None}
        row |= {"requests": figures["total"], "wall_s": _seconds(duration.get("total")) or None, "req_s": figures.get("throughput") or None}
        for column, name in (("e2e_mean_ms", "mean"), ("e2e_p50_ms", "50"), ("e2e_p99_ms", "99")):
            value = _seconds(latency.get(name))
            row[column] = value * 1e3 if value else None
        self.out.step(row, {code: float(n) for code, n in seen["Status Codes"].items()})


def _read_text(source: Readable, out: _Out) -> None:
    """Only lines with one of the labels are looked at one by one."""
    import polars as pl

    report, before = _Text(out), ""
    for first, block in source.blocks():
        lines = pl.Series(block.split("\n"), dtype=pl.String)
        whole = block.endswith("\n")
        lines = lines.head(len(lines) - 1) if whole else lines
        hit = lines.str.contains(r"^[\s>#]*(?:Requests|Duration|Latencies|Success|Status Codes|Bytes (?:In|Out)) +\[") & (
            lines.str.len_bytes() <= 500
        )
        out.counts.other += int((~hit).sum())
        for at in hit.arg_true().to_list():
            if not whole and at == len(lines) - 1:
                out.counts.near(first + at, "the last line is cut")
            elif not report.take(first + at, lines[at], (before + "\n".join(lines[:at]))[-CONTEXT:]):
                out.counts.other += 1
        before = (before + block)[-CONTEXT:]
    report.close()


# --- JSON and encoded results ----------------------------------------------------------------------------------------------------------


def _report(doc: Json, line: int) -> tuple[Row, dict[str, float]] | None:
    """The row of a JSON report and its status codes; times in it are nanoseconds."""
    latency, codes = nested(doc, "latencies"), nested(doc, "status_codes")
    if not latency or num(doc.get("requests")) is None or "duration" not in doc:
        return None
    start, end = _instant(doc.get("earliest")), _instant(doc.get("end"))
    row: Row = {"line": line, "requests": num(doc.get("requests")), "rate_rps": pos(doc.get("rate")), "req_s": pos(doc.get("throughput"))}
    row |= {"started_at": start, "finished_at": end if start and end and end >= start else None}
    attack, wait = pos(doc.get("duration"), 1e-9), num(doc.get("wait"), 1e-9)
    row["wall_s"] = attack + wait if attack and wait is not None else None
    for column, name in (("e2e_mean_ms", "mean"), ("e2e_p50_ms", "50th"), ("e2e_p99_ms", "99th")):
        row[column] = pos(latency.get(name), 1e-6)
    return row, {k: n for k, v in codes.items() if re.fullmatch(r"\d{1,3}", k) and (n := num(v)) is not None}


def _read_reports(source: Readable, out: _Out) -> None:
    lines = JsonLines(source)
    for first, last, doc in json_objects(lines):
        if doc is None:
            lines.near(first, "a report that is cut or garbled")
        elif found := _report(doc, first):
            lines.add(first, last, "matched")
            out.step(*found)
    out.counts = lines.close()


def _read_results(source: Readable, out: _Out, emit: Emit, in_json: bool) -> int | None:
    """Requests, block by block; returns the first line with one."""
    import polars as pl

    met = None
    for first, block in source.blocks():
        lines = block.split("\n")
        if lines.pop():
            out.counts.near(first + len(lines), "the last line is cut")
        frame = pl.DataFrame({"line": pl.int_range(first, first + len(lines), eager=True), "text": pl.Series(lines, dtype=pl.String)})
        rows = _json_rows(frame) if in_json else _csv_rows(frame)
        rows = rows.filter(pl.col("sent_at").is_not_null() & pl.col("latency_s").is_not_null() & pl.col("status").is_not_null())
        blank = int(frame["text"].str.contains(r"^\s*$").sum())
        like = frame.filter(
            pl.col("text").str.contains(r'^\{"attack":' if in_json else r"^[0-9]{19},") & ~pl.col("line").is_in(rows["line"].implode())
        )
        out.counts.block(len(frame), len(rows), blank, like["line"], "a result of another shape")
        if rows.height:
            met = met or int(rows["line"][0])
            served = pl.when(pl.col("status") == "ok").then("latency_s").alias("latency_s")
            times = rows.with_columns(
                finished_at=(pl.col("sent_at") + pl.col("latency_s")).round(6), origin=pl.lit("client"), resolution_s=pl.lit(1e-6)
            )
            emit("requests", times.with_columns(served))
    return met


def _status(code: pl.Expr) -> pl.Expr:
    import polars as pl

    return pl.when(code.str.contains(r"^2[0-9]{2}$")).then(pl.lit("ok")).when(code.is_not_null()).then(pl.lit("failed"))


def _csv_rows(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    text = pl.when(pl.col("text").str.contains(_CSV_ROW)).then("text")
    stamp, code, latency = (text.str.extract(_CSV, n) for n in (1, 2, 3))
    return frame.select(
        "line",
        sent_at=(stamp.cast(pl.Int64, strict=False) / 1e9).round(6),
        latency_s=(latency.cast(pl.Float64, strict=False) / 1e9).round(9),
        status=_status(code),
    )


def _json_rows(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    text = pl.when(pl.col("text").str.contains(_JSON_ROW)).then("text")
    time = text.str.extract(r'"timestamp":"([0-9T:.Z+-]{20,40})"').str.to_datetime(time_zone="UTC", time_unit="ns", strict=False)
    latency = text.str.extract(r'"latency":([0-9]{1,18}),').cast(pl.Float64, strict=False)
    return frame.select(
        "line",
        sent_at=(time.dt.epoch("ns") / 1e9).round(6),
        latency_s=(latency / 1e9).round(9),
        status=_status(text.str.extract(r'"code":([0-9]{1,3}),')),
    )


class Vegeta:
    """Reports and results of vegeta; see the module's page."""

    name = "vegeta"
    api = 1
    beyond = ("Latencies     [",)

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        if _form(head.text):
            return Claim(90, "results of vegeta encode" if _form(head.text) != "report" else "a JSON report of vegeta")
        out = _Out()
        if not re.search(r"(?m)^[\s>#]*Latencies +\[", head.text):
            return None
        report = _Text(out)
        for line, text in enumerate(head.text.split("\n"), 1):
            report.take(line, text, "")
        report.close()
        return Claim(70, f"{len(out.rows)} reports of vegeta", shares=True) if out.rows else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps` or `requests`, `quality` and one of `clocks`."""
        out, form = _Out(), _form(source.head().text)
        line = None
        if form in ("csv", "json"):
            line = _read_results(source, out, emit, form == "json")
        elif form == "report":
            _read_reports(source, out)
        else:
            _read_text(source, out)
        if out.rows:
            line = out.rows[0]["line"]
            send_rows(emit, "bench_steps", [row | {"step": step} for step, row in enumerate(out.rows, 1)])
            send_oddities(emit, out.rows[0]["line"], out.odd, _NOTES)
        if line is not None:
            timed = form in ("csv", "json") or any(row.get("started_at") for row in out.rows)
            send_clock(emit, line, "utc" if timed else "none", 1e-6 if timed else None, None)
        return out.counts


def _form(text: str) -> str:
    """csv or json results, a JSON report, or nothing of these."""
    first = text.lstrip("\ufeff \r\n").split("\n", 1)[0]
    if re.match(_CSV_ROW, first):
        return "csv"
    if re.match(_JSON_ROW, first.rstrip("\r")) and '"latency":' in first:
        return "json"
    return "report" if {"latencies", "bytes_in", "status_codes", "earliest"} <= json_keys(text) else ""


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "$ vegeta attack -rate=2 -duration=30s -targets=t.txt | tee r.bin | vegeta report\n"
        "Requests      [total, rate, throughput]         60, 2.03, 1.75\n"
        "Duration      [total, attack, wait]             34.25s, 29.5s, 4.75s\n"
        "Latencies     [min, mean, 50, 90, 95, 99, max]  950.5ms, 3.75s, 3.5s, 6.5s, 7.25s, 1m2.5s, 1m3s\n"
        "Bytes In      [total, mean]                     12345, 205.75\nBytes Out     [total, mean]                     6000, 100.00\n"
        "Success       [ratio]                           100.00%\nStatus Codes  [code:count]                      200:60  \nError Set:\n",
        {
            "bench_steps": [
                {"line": 2, "step": 1, "concurrency": None, "rate_rps": 2.03, "requests": 60.0, "completed": 60.0, "failed": 0.0,
                 "wall_s": 34.25, "req_s": 1.75, "e2e_mean_ms": 3750.0, "e2e_p50_ms": 3500.0, "e2e_p99_ms": 62500.0}
            ],
            "clocks": [{"kind": "none"}],
            "quality": [],
        },
        "12, text",
    ),
    Sample(
        "$ vegeta attack -rate 0 -max-workers 8 -duration 30s < t.txt > r.bin; vegeta report r.bin\n"
        "Requests      [total, rate]            60, 2.03\nDuration      [total, attack, wait]    34.25s, 29.5s, 4.75s\n"
        "Latencies     [mean, 50, 95, 99, max]  3.75s, 3.5s, 7.25s, 8s, 9s\nSuccess       [ratio]                  90.00%\n"
        "Status Codes  [code:count]             0:6  200:54  \nError Set:\nPost http://x: EOF\n",
        {
            "bench_steps": [
                {"line": 2, "concurrency": 8.0, "rate_rps": None, "requests": 60.0, "completed": 54.0, "failed": 6.0, "req_s": None,
                 "e2e_mean_ms": None, "e2e_p99_ms": None}
            ],
            "quality": [{"kind": "failures-mixed"}],
        },
        "6 to 11, text, closed loop, failures",
    ),
    Sample(
        '{"latencies":{"total":225000000000,"mean":3750000000,"50th":3500000000,"90th":6500000000,"95th":7250000000,"99th":8000000000,'
        '"max":9000000000,"min":950000000},"bytes_in":{"total":12345,"mean":205.75},"bytes_out":{"total":0,"mean":0},'
        '"earliest":"2026-02-25T10:00:00.25+01:00","latest":"2026-02-25T10:00:29.75+01:00","end":"2026-02-25T10:00:34.500000001+01:00",'
        '"duration":29500000000,"wait":4750000000,"requests":60,"rate":2.03,"throughput":1.75,"success":1,"status_codes":{"200":60},"errors":[]}\n',
        {
            "bench_steps": [
                {"rate_rps": 2.03, "requests": 60.0, "completed": 60.0, "wall_s": 34.25, "req_s": 1.75, "e2e_mean_ms": 3750.0,
                 "e2e_p99_ms": 8000.0, "started_at": 1772010000.25, "finished_at": 1772010034.5}
            ],
            "clocks": [{"kind": "utc"}],
        },
        "12, JSON",
        name="report.json",
    ),
    Sample(
        "1772010000250000000,200,3750000000,100,205,,SGVsbG8=,,0,POST,http://localhost:8000/v1/completions,\n"
        '1772010000750000000,500,500000000,100,5,"500 Internal, Server Error",,,1,POST,http://localhost:8000/v1/completions,\n',
        {
            "requests": [
                {"line": 1, "sent_at": 1772010000.25, "finished_at": 1772010004.0, "latency_s": 3.75, "status": "ok", "origin": "client"},
                {"line": 2, "sent_at": 1772010000.75, "latency_s": None, "status": "failed"},
            ],
            "clocks": [{"kind": "utc", "resolution_s": 1e-6}],
        },
        "12, encode -to=csv",
        name="results.csv",
    ),
    Sample(
        '{"attack":"a","seq":0,"code":200,"timestamp":"2026-02-25T10:00:00.25+01:00","latency":3750000000,"bytes_out":100,"bytes_in":205,'
        '"error":"","body":"SGVsbG8=","method":"POST","url":"http://localhost:8000/v1/completions","headers":{"Date":["x"]}}\n',
        {"requests": [{"sent_at": 1772010000.25, "finished_at": 1772010004.0, "latency_s": 3.75, "status": "ok"}]},
        "12, encode -to=json",
        name="results.json",
    ),
)  # fmt: skip

PARSER = Vegeta()
