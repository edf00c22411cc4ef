"""Results of NVIDIA's load generators: aiperf, genai-perf, and the raw export of perf_analyzer.

**Reads**

- `profile_export.jsonl` of `aiperf profile` (one record per request), with the key names of 2025-10-03 (`timestamp_ns`, `credit_phase`,
  `ttft`) and those since 2025-10-07 (`request_start_ns`, `benchmark_phase`, `time_to_first_token`): rows of `requests`.
- `profile_export.json` of perf_analyzer, below genai-perf: rows of `requests`.
- `profile_export_aiperf.json`, metrics at the top or under `records`, and `profile_export_genai_perf.json`: a row of `bench_steps`.
- `profile_export_aiperf.csv`, `profile_export_genai_perf.csv` (two tables in one file) and the box tables both print: `bench_steps`.

**`requests`** (origin `client`, UTC, from epoch nanoseconds): `sent_at`, `first_token_at`, `finished_at` (the last response), `latency_s`,
`ttft_s`, tokens (`output_sequence_length`, else answer plus reasoning tokens), `itl_n`, `itl_under_2ms` from the gaps between
chunks. `status` failed or cancelled (was_cancelled, code 499): such a record has a start that looks like load, and nothing else.
Records of the warm-up phase are counted and left out. perf_analyzer: `concurrency` where the experiment's mode is concurrency; a
single response is an answer that was not streamed (no first token); an empty or `[DONE]` last response is no arrival.

**`bench_steps`**: `completed` (`request_count`), `failed` (`error_request_count`), `wall_s`, `req_s`, `aggregate_tok_s` (output, reasoning
included), `per_stream_tok_s` (the printed throughput per user, which is the reciprocal of the inter-token latency: decode; its median, else
its mean), lengths, totals, `ttft_*`, `e2e_*`. The tool's *inter token latency* is one mean per request without the first token and goes
to `tpot_*`; its *inter chunk latency* are the gaps themselves and goes to `itl_*`. `concurrency`: `input_config.loadgen.concurrency`,
that of the phases that count, or of genai-perf's stimulus, at most the number of requests; for genai-perf and aiperf also the folder
name `...-concurrency8`; else NULL. With a finite request rate it counts only if requests per second times latency fill 80 % of it.
`started_at`, `finished_at`: the smallest and largest request times (UTC) where they are there, else `start_time` and `end_time`,
which are local times without zone.

The box of genai-perf of mid 2024 prints nanoseconds, `Num output token`, and its two throughputs below the table; its *inter token latency* has
one value per response and goes to `itl_*`.

**Traps.** The CSV prints nanoseconds through a float: its times are good to a millisecond here. In a table, a label may go on in the next
row. Units stand in the label or beside the number; a time in an unknown unit is NULL. `N/A` is NULL.
"""

from __future__ import annotations

import csv
import math
import re
from collections import deque
from collections.abc import Sequence
from datetime import datetime, timezone
from itertools import pairwise
from typing import Any

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, nested, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_note, send_rows

__all__ = ["PARSER"]

MAX_TEXT = 32 << 20  # characters of a text with tables
BATCH = 2_000  # rows of requests sent at once
REACHED = 0.8  # mean requests in flight over the cap, from which the cap counts as offered under a finite rate
BURST_GAP_MS = 2.0

Stats = dict[str, Json]
"""metric name -> {"unit": ..., "avg": ..., "p50": ...}"""

# --- an aggregate ----------------------------------------------------------------------------------------------------------------------

_MS = {"ms": 1.0, "sec": 1e3, "s": 1e3, "second": 1e3, "seconds": 1e3, "us": 1e-3, "µs": 1e-3, "ns": 1e-6}
_TIMES = {
    "ttft": ("time_to_first_token", "ttft"),
    "tpot": ("inter_token_latency",),
    "itl": ("inter_chunk_latency",),
    "e2e": ("request_latency",),
}
_KEPT = {"ttft": ("mean", "p50", "p99"), "tpot": ("mean", "p50"), "itl": ("mean", "p50", "p99"), "e2e": ("mean", "p50", "p99")}
_PLAIN = {
    "req_s": ("request_throughput",),
    "aggregate_tok_s": ("output_token_throughput",),
    "input_len": ("input_sequence_length",),
    "output_len": ("output_sequence_length",),
    "input_tokens": ("total_isl", "total_input_sequence_length"),
    "output_tokens": ("total_osl", "total_output_sequence_length"),
}
_NOTES = {
    "all-failed": "No request of the run succeeded: it has no measurements.",
    "cap-not-reached": "A finite request rate did not (provably) fill the concurrency cap: the offered concurrency is unknown.",
    "run-cancelled": "The run was cancelled before its end.",
}


def _stat(stats: Stats, names: Sequence[str], stat: str = "avg") -> float | None:
    return next((pos(stats[n].get(stat)) for n in names if n in stats), None)


def _ms(stats: Stats, names: Sequence[str], stat: str) -> float | None:
    """A time in ms; unknown where its unit is."""
    for name in names:
        if name in stats:
            scale = _MS.get(str(stats[name].get("unit", "")).strip().lower())
            return pos(stats[name].get(stat), scale) if scale else None
    return None


def _step(stats: Stats) -> Row:
    """The row of one aggregate."""
    completed, failed = (num(stats.get(n, {}).get("avg")) for n in ("request_count", "error_request_count"))
    wall = _ms(stats, ("benchmark_duration",), "avg")
    row: Row = {"completed": completed, "failed": failed, "wall_s": wall and wall / 1000}
    row["requests"] = completed + failed if completed is not None and failed is not None else None
    if completed == 0:
        return row
    row |= {column: _stat(stats, names) for column, names in _PLAIN.items()}
    for kind, names in _TIMES.items():
        row |= {f"{kind}_{stat}_ms": _ms(stats, names, "avg" if stat == "mean" else stat) for stat in _KEPT[kind]}
    user = ("output_token_throughput_per_user",)
    row["per_stream_tok_s"] = _stat(stats, user, "p50") or _stat(stats, user)
    row["per_stream_counts"] = "decode" if row["per_stream_tok_s"] else None
    row["aggregate_counts"] = "output" if row["aggregate_tok_s"] else None
    return row


def _epochs(stats: Stats) -> tuple[float | None, float | None]:
    """Smallest request and largest response time in seconds, where the aggregate has them."""
    found = [_seconds(stats.get(n, {}).get("avg")) for n in ("min_request_timestamp", "minimum_request_timestamp")]
    ends = [_seconds(stats.get(n, {}).get("avg")) for n in ("max_response_timestamp", "maximum_response_timestamp")]
    return next((t for t in found if t), None), next((t for t in ends if t), None)


def _seconds(value: Any) -> float | None:
    """Epoch nanoseconds as seconds; anything that is no time of this century is unknown."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or not 1e18 < value < 4.2e18:
        return None
    return value // 1_000_000_000 + (value % 1_000_000_000) / 1e9 if isinstance(value, int) else value / 1e9


def _wall_clock(value: Any) -> tuple[float, str] | None:
    """An ISO time as seconds and the kind of its clock."""
    try:
        at = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    kind = "local-no-zone" if at.tzinfo is None else "utc"
    return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp(), kind  # noqa: UP017


def _load(config: Json) -> tuple[float | None, float | None, float | None]:
    """(concurrency, request rate, requests) of `input_config`, all generations."""
    places = [nested(config, "loadgen"), nested(config, "perf_analyzer", "stimulus"), nested(config, "stimulus"), config]
    phases = [p for p in config.get("phases", []) if isinstance(p, dict)] if isinstance(config.get("phases"), list) else []
    counted = [p for p in phases if not p.get("exclude_from_results") and p.get("name") != "warmup"]
    if len(counted) == 1:
        places = counted
    elif phases:
        return None, None, None
    first = {
        key: next((v for p in places if (v := pos(p.get(key)))), None)
        for key in ("concurrency", "request_rate", "request_count", "requests")
    }
    return first["concurrency"], first["request_rate"], first["request_count"] or first["requests"]


def _offer(row: Row, load: tuple[float | None, float | None, float | None]) -> list[str]:
    """Puts the offered load into the row; a cap that a finite rate did not fill is none."""
    cap, rate, sent = load
    row["concurrency"], row["rate_rps"] = min(cap, sent) if cap and sent else cap, rate
    in_flight = (row.get("req_s") or 0) * (row.get("e2e_mean_ms") or 0) / 1000
    if rate and row["concurrency"] and in_flight < REACHED * row["concurrency"]:
        row["concurrency"] = None
        return ["cap-not-reached"]
    return []


def _metrics(doc: Json) -> Stats:
    """The metrics of an aggregate: under `records`, or at the top."""
    holder = nested(doc, "records") or doc
    return {k: v for k, v in holder.items() if isinstance(v, dict) and "avg" in v}


# --- requests --------------------------------------------------------------------------------------------------------------------------


def _gap_row(gaps: Any, scale: float) -> Row:
    """Distinct arrivals (the first token and every gap above zero) and the share of gaps under 2 ms; gaps in units of `scale` ms."""
    if not isinstance(gaps, list) or not gaps or not set(map(type, gaps)) <= {int, float}:
        return {}
    if not (min(gaps) >= 0 and max(gaps) < 1e15 and math.isfinite(sum(gaps))):
        return {}
    return {"itl_n": 1.0 + sum(map((0.0).__lt__, gaps)), "itl_under_2ms": sum(map((BURST_GAP_MS / scale).__gt__, gaps)) / len(gaps)}


def _metric(record: Json, *names: str) -> tuple[Any, float | None]:
    """(value, factor to ms where its unit is a time) of the first of the names a record has."""
    metrics = nested(record, "metrics")
    for name in names:
        if isinstance(found := metrics.get(name), dict):
            return found.get("value"), _MS.get(str(found.get("unit", "")))
    return None, None


def _record(record: Json, line: int, number: int) -> Row:
    """The row of one line of `profile_export.jsonl`."""
    meta, error = nested(record, "metadata"), record.get("error")
    sent = _seconds(meta.get("request_start_ns", meta.get("timestamp_ns")))
    row: Row = {"line": line, "origin": "client", "run": 0, "request": str(number), "sent_at": sent, "resolution_s": 1e-6}
    end = _seconds(meta.get("request_end_ns")) or _seconds(_metric(record, "max_response_timestamp")[0])
    row["finished_at"] = end if end and sent and end >= sent else None
    if error or meta.get("was_cancelled"):
        code = error if isinstance(error, dict) else {}
        stopped = meta.get("was_cancelled") or code.get("code") == 499 or code.get("type") == "RequestCancellationError"
        return row | {"status": "cancelled" if stopped else "failed"}
    ttft, latency = (_time(record, *names) for names in (("time_to_first_token", "ttft"), ("request_latency",)))
    answer, thought = (num(_metric(record, n)[0]) for n in ("output_token_count", "reasoning_token_count"))
    row |= {
        "status": "ok",
        "ttft_s": ttft,
        "latency_s": latency,
        "first_token_at": sent + ttft if sent and ttft else None,
        "finished_at": row["finished_at"] or (sent + latency if sent and latency else None),
        "prompt_tokens": pos(_metric(record, "input_sequence_length")[0]),
        "output_tokens": pos(_metric(record, "output_sequence_length")[0]) or ((answer or 0) + (thought or 0) or None),
    }
    gaps, scale = _metric(record, "inter_chunk_latency")
    return row | (_gap_row(gaps, scale) if scale else {})


def _time(record: Json, *names: str) -> float | None:
    """A time of a record in seconds."""
    value, scale = _metric(record, *names)
    return pos(value, scale / 1000) if scale else None


def _raw(request: Json, line: int, number: int, concurrency: float | None) -> Row:
    """The row of one request of perf_analyzer's `profile_export.json`."""
    row: Row = {"line": line, "origin": "client", "run": 0, "request": str(number), "concurrency": concurrency, "resolution_s": 1e-6}
    row["sent_at"] = sent = _seconds(request.get("timestamp"))
    times = request.get("response_timestamps")
    if not isinstance(times, list) or not times or not sent or not all(_seconds(t) for t in times):
        return row
    outputs = request.get("response_outputs")
    last = outputs[-1].get("response") if isinstance(outputs, list) and outputs and isinstance(outputs[-1], dict) else None
    if len(times) > 1 and isinstance(last, str) and last.strip() in ("", "data: [DONE]", "[DONE]"):
        times = times[:-1]
    row["finished_at"] = _seconds(times[-1])
    row["latency_s"] = (times[-1] - request["timestamp"]) / 1e9 or None
    row["status"] = "ok"
    if len(times) > 1:
        row |= {"first_token_at": _seconds(times[0]), "ttft_s": (times[0] - request["timestamp"]) / 1e9 or None}
        row |= _gap_row([b - a for a, b in pairwise(times)], 1e-6)
    return row


# --- tables in text --------------------------------------------------------------------------------------------------------------------

_TITLE = re.compile(r"NVIDIA (?:AIPerf|GenAI-Perf) \||^\s*LLM Metrics\s*$", re.MULTILINE)
_BELOW = re.compile(r"\s*(Output token throughput|Request throughput) \(per sec\): ([0-9.,]+)\s*")  # genai-perf of mid 2024
_OF_2024 = {"num_output_token": "output_sequence_length", "num_input_token": "input_sequence_length"}
_BORDER = re.compile(r"^\s*[┏┡└├┗┌╞╘╒+][━─┳╇┻┴┼┬┐┓┩┘┛┤═╪-]*\S*\s*$")
_UNIT = re.compile(r"^(.*?)\s*\(([^()]*)\)$")


def _slug(label: str) -> tuple[str, str]:
    """(metric name, unit) of a printed label: `Time to First Token (ms)` is time_to_first_token in ms."""
    found = _UNIT.match(label.strip())
    name, unit = (found[1], found[2]) if found else (label, "")
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_"), unit.strip().lower()


def _cell(text: str) -> float | None:
    text = text.strip().replace(",", "")
    return float(text) if re.fullmatch(r"-?\d{1,20}(\.\d+)?", text) else None


def _cells(row: str) -> list[str]:
    try:
        return next(csv.reader([row]), [])
    except csv.Error:
        return []


class _Tables:
    """Results out of the lines of a text: CSV tables and box tables. A header with statistics begins a result."""

    def __init__(self, lines: JsonLines) -> None:
        self.lines = lines
        self.results: list[tuple[int, Stats]] = []
        self.header: list[str] = []
        self.boxed = False
        self.label = ""
        self.values: list[str] = []
        self.end = 0  # the last line of the box table above

    def read(self, text: str) -> None:
        rows = text.split("\n")
        for number, row in enumerate(rows[: None if rows[-1] else -1], 1):
            whole = number < len(rows)
            if row.strip()[:1] in ("│", "┃") and row.strip():
                self._box(row.strip(), number)
                self.end = number
            elif row.startswith(("Metric,", '"Metric",')):
                self._csv_header(row, number)
            elif self.header and not self.boxed and row.strip():
                self._csv(row, number, whole)
            else:
                self._finish()
                if not self.boxed or not _BORDER.match(row):
                    self.header = []
                below = _BELOW.fullmatch(row) if whole and self.results and number - self.end <= 3 else None
                if below and (value := _cell(below[2])) is not None:
                    self.results[-1][1].setdefault(_slug(below[1])[0], {"avg": value})
                    self.lines.add(number, number, "matched")
                elif _TITLE.search(row) or _BORDER.match(row):
                    self.lines.add(number, number, "noise")
        self._finish()

    def _csv_header(self, row: str, number: int) -> None:
        self._finish()
        self.header, self.boxed = [c.strip() for c in _cells(row)], False
        if "avg" in self.header:
            self.results.append((number, {}))
        elif self.header[1:] != ["Value"] or not self.results:
            self.header = []
            return
        self.lines.add(number, number, "matched")

    def _csv(self, row: str, number: int, whole: bool) -> None:
        cells = _cells(row)
        if len(cells) != len(self.header) or not whole:
            self.lines.near(number, "a row with other cells than its header" if whole else "an unfinished last line")
            return
        self.lines.add(number, number, "matched")
        self.label, self.values = cells[0], cells[1:]
        self._finish()

    def _box(self, row: str, number: int) -> None:
        """A row of a box table; one whose right border is missing was cut. A row with a label alone goes on with the row above."""
        cells = [c.strip() for c in re.split("[│┃]", row)[1:]]
        if cells[-1] or len(cells) < 3 or (self.boxed and self.header and len(cells) - 1 != len(self.header)):
            self.lines.near(number, "a table row that is cut")
            return
        cells.pop()
        if cells[0] in ("Metric", "Statistic"):
            self._finish()
            self.header, self.boxed = cells, True
            self.results.append((number, {}))
        elif not self.boxed or not self.header:
            return
        elif not any(cells[1:]):
            self.label = f"{self.label} {cells[0]}" if self.label else ""
        else:
            self._finish()
            self.label, self.values = cells[0], cells[1:]
        self.lines.add(number, number, "matched")

    def _finish(self) -> None:
        """The row that was being read is complete."""
        if self.label and self.header:
            name, unit = _slug(self.label)
            name = _OF_2024.get(name, name)
            if (name, unit) == ("inter_token_latency", "ns"):
                name = "inter_chunk_latency"  # one value per response, not one per request
            names = ["avg" if h == "Value" else h.lower() for h in self.header[1:]]
            self.results[-1][1].setdefault(name, {"unit": unit} | {k: _cell(v) for k, v in zip(names, self.values)})
        self.label, self.values = "", []


# --- the parser ------------------------------------------------------------------------------------------------------------------------

_RECORD_KEYS = ({"metadata", "metrics", "request_start_ns"}, {"metadata", "metrics", "timestamp_ns", "credit_phase"})
_FOLDER = re.compile(r"-concurrency(\d{1,6})(?=[/\\!]|$)")


def _kind(head: Head) -> str | None:
    keys = json_keys(head.text)
    if any(wanted <= keys for wanted in _RECORD_KEYS):
        return "records"
    if {"experiments", "requests", "response_timestamps"} <= keys:
        return "raw"
    if {"request_latency", "avg", "unit"} <= keys and keys & {
        "request_throughput",
        "request_count",
        "output_token_throughput",
        "time_to_first_token",
    }:
        return "aggregate"
    if re.search(r'(?m)^"?Metric"?,"?avg"?,', head.text) or (_TITLE.search(head.text) and re.search("[│┃]", head.text)):
        return "tables"
    return None


class Aiperf:
    """Results of aiperf, genai-perf and perf_analyzer; see the module's page."""

    name = "aiperf"
    api = 1

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        kind = _kind(head)
        words = {
            "records": "records of aiperf, one per request",
            "raw": "perf_analyzer's raw export",
            "aggregate": "an aggregate of aiperf or genai-perf",
            "tables": "tables of aiperf or genai-perf",
        }
        return Claim(60 if kind == "tables" else 90, words[kind], shares=kind == "tables") if kind else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `requests` or `bench_steps`, `quality` and one of `clocks`. A cut or garbled object is a near miss."""
        lines = JsonLines(source)
        kind = _kind(source.head())
        if kind == "tables":
            _read_tables(lines, source.name, emit)
        elif kind == "records":
            _read_records(lines, emit)
        elif kind == "raw":
            _read_raw(lines, emit)
        elif kind == "aggregate":
            _read_aggregates(lines, source.name, emit)
        else:
            deque(lines.blocks(), maxlen=0)
        return lines.close()


def _read_records(lines: JsonLines, emit: Emit) -> None:
    rows: list[Row] = []
    number, first_line = 0, 0
    for first, last, doc in json_objects(lines):
        if doc is None:
            lines.near(first, "a record that is cut or garbled")
        elif "metadata" in doc and "metrics" in doc:
            meta = nested(doc, "metadata")
            phase = meta.get("benchmark_phase", meta.get("credit_phase"))
            lines.add(first, last, "noise" if phase == "warmup" else "matched")
            if phase != "warmup":
                rows.append(_record(doc, first, number))
                number, first_line = number + 1, first_line or first
        if len(rows) >= BATCH:
            send_rows(emit, "requests", rows)
            rows = []
    send_rows(emit, "requests", rows)
    if number:
        send_rows(emit, "clocks", [{"line": first_line, "kind": "utc", "resolution_s": 1e-6}])


def _read_raw(lines: JsonLines, emit: Emit) -> None:
    number = 0
    for first, last, doc in json_objects(lines):
        if doc is None:
            lines.near(first, "an export that is cut or garbled")
            continue
        for one in doc["experiments"] if isinstance(doc.get("experiments"), list) else []:
            setting, requests = nested(one, "experiment"), one.get("requests") if isinstance(one, dict) else None
            concurrency = pos(setting.get("value")) if setting.get("mode") == "concurrency" else None
            rows = [_raw(r, first, number + i, concurrency) for i, r in enumerate(requests or []) if isinstance(r, dict)]
            number += len(rows)
            lines.add(first, last, "matched")
            send_rows(emit, "requests", rows)
    if number:
        send_rows(emit, "clocks", [{"line": 1, "kind": "utc", "resolution_s": 1e-6}])


def _read_aggregates(lines: JsonLines, name: str, emit: Emit) -> None:
    steps: list[tuple[int, Row, list[str]]] = []
    clock = ""
    for first, last, doc in json_objects(lines):
        stats = _metrics(doc) if doc else {}
        if doc is None:
            lines.near(first, "an aggregate that is cut or garbled")
        elif "request_latency" in stats or "request_count" in stats:
            lines.add(first, last, "matched")
            row = _step(stats)
            odd = _offer(row, _load(nested(doc, "input_config"))) + ["run-cancelled"] * (doc.get("was_cancelled") is True)
            times, kind = _span(doc, stats)
            clock = clock or kind
            steps.append((first, row | (times if kind == clock else {}), odd))
    _emit_steps(steps, name, clock, 1e-6, emit)


def _span(doc: Json, stats: Stats) -> tuple[Row, str]:
    """Start and end of the run and their clock: epoch times before local ones."""
    start, end = _epochs(stats)
    if start or end:
        return {"started_at": start, "finished_at": end}, "utc"
    local = {c: _wall_clock(doc.get(k)) for c, k in (("started_at", "start_time"), ("finished_at", "end_time"))}
    kinds = {t[1] for t in local.values() if t}
    return ({c: t and t[0] for c, t in local.items()}, kinds.pop()) if len(kinds) == 1 else ({}, "")


def _read_tables(lines: JsonLines, name: str, emit: Emit) -> None:
    parts, size = [], 0
    for block in lines.blocks():
        if size < MAX_TEXT:
            parts.append(block)
            size += len(block)
    tables = _Tables(lines)
    tables.read("".join(parts))
    steps: list[tuple[int, Row, list[str]]] = []
    clock = ""
    for line, stats in tables.results:
        row = _step(stats)
        start, end = _epochs(stats)
        if start or end:
            row, clock = row | {"started_at": start, "finished_at": end}, "utc"
        if any(v is not None for v in row.values()):
            steps.append((line, row, []))
    _emit_steps(steps, name, clock, 1e-3, emit)


def _emit_steps(steps: list[tuple[int, Row, list[str]]], name: str, clock: str, resolution_s: float, emit: Emit) -> None:
    if not steps:
        return
    folder = _FOLDER.search(name)
    rows = [{"line": line, "step": k, **row} for k, (line, row, _) in enumerate(steps, 1)]
    if folder and len(rows) == 1 and rows[0].get("concurrency") is None and not rows[0].get("rate_rps"):
        rows[0]["concurrency"] = float(folder[1]) or None
    send_rows(emit, "bench_steps", rows)
    for line, row, odd in steps:
        for kind in odd + ["all-failed"] * (row["completed"] == 0):
            send_note(emit, line, kind, 1, _NOTES[kind])
    send_rows(emit, "clocks", [{"line": rows[0]["line"], "kind": clock or "none", "resolution_s": resolution_s if clock else None}])


SAMPLES: tuple[Sample, ...] = (
    Sample(
        '{"metadata":{"session_num":0,"x_request_id":"r1","request_start_ns":1772000000250000000,"request_ack_ns":1772000000300000000,'
        '"request_end_ns":1772000002250000000,"worker_id":"w","benchmark_phase":"warmup","was_cancelled":false},"metrics":{},"error":null}\n'
        '{"metadata":{"session_num":1,"x_request_id":"r2","request_start_ns":1772000010250000000,"request_end_ns":1772000012250000000,'
        '"worker_id":"w","benchmark_phase":"profiling","was_cancelled":false},"metrics":{"time_to_first_token":{"value":500.0,"unit":"ms"},'
        '"inter_chunk_latency":{"value":[250.0,1.0,249.0,0.0],"unit":"ms"},"request_latency":{"value":2000.0,"unit":"ms"},'
        '"input_sequence_length":{"value":64,"unit":"tokens"},"output_sequence_length":{"value":5,"unit":"tokens"}},"error":null}\n'
        '{"metadata":{"session_num":2,"x_request_id":"r3","request_start_ns":1772000010500000000,"request_end_ns":1772000010500001000,'
        '"benchmark_phase":"profiling","was_cancelled":true},"metrics":{"error_request_count":{"value":1,"unit":"requests"}},"error":{"code":499}}\n',
        {
            "requests": [
                {
                    "line": 2,
                    "origin": "client",
                    "request": "0",
                    "sent_at": 1772000010.25,
                    "first_token_at": 1772000010.75,
                    "finished_at": 1772000012.25,
                    "latency_s": 2.0,
                    "ttft_s": 0.5,
                    "prompt_tokens": 64.0,
                    "output_tokens": 5.0,
                    "itl_n": 4.0,
                    "itl_under_2ms": 0.5,
                    "status": "ok",
                },
                {"line": 3, "request": "1", "sent_at": 1772000010.5, "latency_s": None, "output_tokens": None, "status": "cancelled"},
            ],
            "clocks": [{"kind": "utc"}],
        },
        "aiperf, records since 2025-10-07",
        name="profile_export.jsonl",
    ),
    Sample(
        '{"metadata":{"x_request_id":"a","timestamp_ns":1759000000125000000,"worker_id":"w","credit_phase":"profiling"},"metrics":'
        '{"error_request_count":{"value":1,"unit":"requests"}},"error":{"code":500,"type":"X","message":"m"}}\n'
        '{"metadata":{"x_request_id":"b","timestamp_ns":1759000000250000000,"worker_id":"w","credit_phase":"profiling"},"metrics":'
        '{"input_sequence_length":{"value":550,"unit":"tokens"},"ttft":{"value":250.0,"unit":"ms"},"request_latency":{"value":1000.0,"unit":"ms"},'
        '"output_token_count":{"value":2,"unit":"tokens"},"reasoning_token_count":{"value":3,"unit":"tokens"},'
        '"max_response_timestamp":{"value":1759000001250000000,"unit":"ns"}},"error":null}\n{"metadata":{"x_requ',
        {
            "requests": [
                {"line": 1, "sent_at": 1759000000.125, "finished_at": None, "status": "failed"},
                {
                    "line": 2,
                    "sent_at": 1759000000.25,
                    "finished_at": 1759000001.25,
                    "ttft_s": 0.25,
                    "output_tokens": 5.0,
                    "itl_n": None,
                    "status": "ok",
                },
            ]
        },
        "aiperf, records of 2025-10-03, cut",
        name="profile_export.jsonl",
    ),
    Sample(
        '{"schema_version": "1.3", "request_throughput": {"unit": "requests/sec", "avg": 2.0}, "request_latency": {"unit": "ms", "avg": '
        "6500.0,"
        ' "p50": 6400.0, "p99": 9000.0}, "request_count": {"unit": "requests", "avg": 96.0}, "time_to_first_token": {"unit": "ms", '
        '"avg": 230.5,'
        ' "p50": 180.5, "p99": 690.5}, "inter_token_latency": {"unit": "ms", "avg": 12.0, "p50": 12.5}, "output_token_throughput": {"unit":'
        ' "tokens/sec", "avg": 1170.5}, "output_token_throughput_per_user": {"unit": "tokens/sec/user", "avg": 85.5, "p50": 81.5},'
        ' "benchmark_duration": {"unit": "sec", "avg": 48.0}, "input_config": {"phases": [{"name": "warmup", "exclude_from_results": true,'
        ' "concurrency": 4, "requests": 4}, {"name": "profiling", "requests": 96, "concurrency": 16}]}, "was_cancelled": false,'
        ' "start_time": "2026-03-01T10:00:00.250000", "end_time": "2026-03-01T10:00:48.250000"}',
        {
            "bench_steps": [
                {
                    "line": 1,
                    "step": 1,
                    "concurrency": 16.0,
                    "completed": 96.0,
                    "failed": None,
                    "wall_s": 48.0,
                    "req_s": 2.0,
                    "aggregate_tok_s": 1170.5,
                    "aggregate_counts": "output",
                    "per_stream_tok_s": 81.5,
                    "per_stream_counts": "decode",
                    "ttft_mean_ms": 230.5,
                    "ttft_p50_ms": 180.5,
                    "ttft_p99_ms": 690.5,
                    "tpot_mean_ms": 12.0,
                    "tpot_p50_ms": 12.5,
                    "itl_mean_ms": None,
                    "e2e_mean_ms": 6500.0,
                    "e2e_p99_ms": 9000.0,
                    "started_at": 1772359200.25,
                    "finished_at": 1772359248.25,
                },
            ],
            "clocks": [{"kind": "local-no-zone"}],
            "quality": [],
        },
        "aiperf 0.10, aggregate",
        name="profile_export_aiperf.json",
    ),
    Sample(
        '{"records": {"error_request_count": {"unit": "requests", "avg": 11.0}, "ttft": {"unit": "ms", "avg": 2343.5}, "request_count": '
        '{"avg": 89.0},'
        ' "request_latency": {"unit": "ms", "avg": 9000.0}, "request_throughput": {"unit": "requests/sec", "avg": 9.5}, '
        '"min_request_timestamp":'
        ' {"unit": "ns", "avg": 1759000000250000000}, "max_response_timestamp": {"unit": "ns", "avg": 1759000009500000000}},'
        ' "input_config": {"loadgen": {"concurrency": 200, "request_count": 100}}, "start_time": "2025-10-03T13:13:39.146443"}',
        {
            "bench_steps": [
                {
                    "concurrency": 100.0,
                    "requests": 100.0,
                    "completed": 89.0,
                    "failed": 11.0,
                    "ttft_mean_ms": 2343.5,
                    "started_at": 1759000000.25,
                    "finished_at": 1759000009.5,
                },
            ],
            "clocks": [{"kind": "utc"}],
        },
        "aiperf 2025-10-03, aggregate",
    ),
    Sample(
        "Metric,avg,min,max,p99,p95,p90,p75,p50,p25,p10,p5,p1\nTime To First Token "
        "(ms),8.00,7.00,9.00,8.98,8.90,8.80,8.50,8.25,7.50,7.20,7.10,7.02\n"
        "Inter Token Latency (ms),2.50,2.00,3.00,2.98,2.90,2.80,2.75,2.25,2.20,2.10,2.10,2.02\n"
        "Output Sequence Length (tokens),100.00,90.00,110.00,110,110,110,105,100,95,90,90,90\n\nMetric,Value\n"
        "Output Token Throughput (tokens/sec),456.00\nRequest Throughput (per sec),4.50\nRequest Count (count),30.00\n",
        {
            "bench_steps": [
                {
                    "line": 1,
                    "concurrency": 8.0,
                    "completed": 30.0,
                    "ttft_mean_ms": 8.0,
                    "ttft_p50_ms": 8.25,
                    "ttft_p99_ms": 8.98,
                    "tpot_mean_ms": 2.5,
                    "tpot_p50_ms": 2.25,
                    "aggregate_tok_s": 456.0,
                    "req_s": 4.5,
                    "output_len": 100.0,
                    "per_stream_tok_s": None,
                },
            ]
        },
        "genai-perf, CSV",
        name="artifacts/tiny-openai-chat-concurrency8/profile_export_genai_perf.csv",
    ),
    Sample(
        "                       LLM Metrics\n┏━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓\n"
        "┃                Statistic ┃           avg ┃           p99 ┃\n┡━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩\n"
        "│ Time to first token (ns) │    12,500,000 │    25,500,000 │\n│ Inter token latency (ns) │     2,250,000 │     4,500,000 │\n"
        "│     Request latency (ns) │ 4,125,500,000 │ 5,250,500,000 │\n│         Num output token │           331 │           412 │\n"
        "│          Num input token │           551 │           555 │\n└──────────────────────────┴───────────────┴───────────────┘\n"
        "Output token throughput (per sec): 160.50\nRequest throughput (per sec): 0.485\n",
        {
            "bench_steps": [
                {
                    "line": 3,
                    "ttft_mean_ms": 12.5,
                    "ttft_p99_ms": 25.5,
                    "tpot_mean_ms": None,
                    "itl_mean_ms": 2.25,
                    "itl_p99_ms": 4.5,
                    "e2e_mean_ms": 4125.5,
                    "output_len": 331.0,
                    "input_len": 551.0,
                    "aggregate_tok_s": 160.5,
                    "req_s": 0.485,
                }
            ]
        },
        "genai-perf 24.06",
    ),
    Sample(
        "                  NVIDIA AIPerf | LLM Metrics\n┏━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━┓\n"
        "┃              Metric ┃       avg ┃    p99 ┃    p50 ┃\n┡━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━┩\n"
        "│  Request Latency (ms) │  1,500.25 │ 2,000.5 │ 1,400 │\n│ Output Token Throughput Per User │ 89.25 │ 75.5 │ 88.5 │\n"
        "│ (tokens/sec/user) │ │ │ │\n│ Output Token Throughput (tokens/sec) │ 10,944.25 │ N/A │ N/A │\n└─────┴─────┴─────┴─────┘\n",
        {
            "bench_steps": [
                {
                    "line": 3,
                    "e2e_mean_ms": 1500.25,
                    "e2e_p99_ms": 2000.5,
                    "per_stream_tok_s": 88.5,
                    "aggregate_tok_s": 10944.25,
                    "completed": None,
                },
            ],
            "clocks": [{"kind": "none"}],
        },
        "aiperf, console",
    ),
    Sample(
        '{"experiments":[{"experiment":{"mode":"concurrency","value":8},"requests":[{"timestamp":1741000000250000000,"request_inputs":{"payload":"x"},'
        '"response_timestamps":[1741000000500000000,1741000000750000000,1741000000751000000,1741000000752000000],"response_outputs":[{"response":"a"},'
        '{"response":"b"},{"response":"c"},{"response":"data: '
        '[DONE]"}]},{"timestamp":1741000001250000000,"response_timestamps":[1741000002250000000],'
        '"response_outputs":[{"response":"{}"}]},{"timestamp":1741000003250000000,"response_timestamps":[]}],"window_boundaries":[]}],"version":"2"}',
        {
            "requests": [
                {
                    "concurrency": 8.0,
                    "sent_at": 1741000000.25,
                    "first_token_at": 1741000000.5,
                    "finished_at": 1741000000.751,
                    "ttft_s": 0.25,
                    "latency_s": 0.501,
                    "itl_n": 3.0,
                    "itl_under_2ms": 0.5,
                    "status": "ok",
                },
                {"sent_at": 1741000001.25, "first_token_at": None, "finished_at": 1741000002.25, "latency_s": 1.0, "ttft_s": None},
                {"sent_at": 1741000003.25, "finished_at": None, "status": None},
            ]
        },
        "perf_analyzer, raw export",
        name="profile_export.json",
    ),
)

PARSER = Aiperf()
