"""Requests that a client of one's own wrote down: a CSV with one row per request.

**Reads** CSV, TSV and `;` files whose first row names a latency, or a start and an end, and something beside it (`request_id,start_time,end_time,
ttft,latency,output_tokens,status`), and JMeter's `.jtl` (`timeStamp,elapsed,...`). Columns are known by name, in any order; all others, prompts
and answers among them, are passed over.

**`requests`** (origin `client`), one row per row: `sent_at`, `first_token_at`, `finished_at`, `latency_s`, `ttft_s`, `prompt_tokens`, `output_tokens`,
`concurrency`, `status` (ok for 2xx, true, ok, success; failed for any other; of failed ones no latency).

- Times are seconds, milliseconds, microseconds or nanoseconds since 1970 by their size (clock `utc`); smaller numbers only with a unit in the
  header (`start_s`; clock `since-start`). Texts are not read as times.
- Durations need a unit in the header (`latency_ms`, `TTFT (s)`) or a start and an end that decide it: then a quality row says so. A first
  token without a unit is in that of the latency beside it if it is never longer. Otherwise they stay NULL.
- `line` counts rows from the header; where a cell holds line breaks it is less than the line of the file.

**Traps.** Rows may be sorted by their end. A table of a sweep (rates of all streams, percentiles) is not one of requests: see sweep-table.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import send_clock, send_note

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

MAX_CHARS = 64 << 20
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "milliseconds": 1e-3}
_ROLES = {
    "start": r"(?:request )?(?:start|started|sent|send|begin|submit|submitted|t start)(?: (?:time|at|ts|timestamp|unix|epoch))*|timestamp start",
    "end": r"(?:request )?(?:end|ended|finish|finished|complete|completed|done|t end)(?: (?:time|at|ts|timestamp|unix|epoch))*|timestamp end",
    "first": r"first token(?: (?:time|at|ts|timestamp))+|t first(?: token)?",
    "ttft": r"ttft|time to first token|first token latency",
    "latency": r"(?:total |e2e |end to end |request )?latency|e2el?|total time|(?:request )?duration|elapsed(?: time)?|response time|wall(?: time)?",
    "prompt_tokens": r"(?:num |n )?(?:prompt|input) tok(?:en)?s",
    "output_tokens": r"(?:num |n )?(?:completion|output|generated|gen) tok(?:en)?s",
    "status": r"(?:http )?(?:status|code)(?: code)?|success|ok|response code",
    "concurrency": r"concurrency|concurrent requests|parallel",
    "id": r"(?:request |req )?(?:id|index|idx|no|nr|number|#)|request|req|i|n",
}
_NOT_ONE = re.compile(r"(?i)\b(?:p\d\d|mean|avg|median|aggregate|agg|throughput|max|min|std)\b")


@lru_cache(4096)
def _role(name: str) -> tuple[str, float | None]:
    """(role, seconds per unit or None) of a column, "" for one that is passed over."""
    text = re.sub(r"[\s_.-]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.strip().strip('"'))).lower().strip()
    found = re.fullmatch(r"(.*?)(?: ?[(\[]([a-z]+)[)\]]| (ns|us|ms|s|secs?|seconds|milliseconds))?", text)
    bare, unit = (found[1], found[2] or found[3]) if found else (text, None)
    for role, pattern in _ROLES.items():
        if re.fullmatch(pattern, bare) and (unit is None or unit in _UNITS):
            return role, _UNITS.get(unit or "")
    return "", None


def _columns(header: str) -> tuple[str, dict[str, tuple[int, float | None]]]:
    """(separator, role -> (place, unit)) of a header of requests, empty where it is none; the first column of a role counts."""
    sign = max("\t;,", key=header.count)
    names = header.split(sign)
    if len(names) < 2 or len(names) > 200 or any(re.fullmatch(r"\"?[0-9.]*\"?", n.strip()) for n in names):
        return sign, {}
    if [n.strip().lower() for n in names[:2]] == ["timestamp", "elapsed"]:  # JMeter
        found: dict[str, tuple[int, float | None]] = {"start": (0, 1e-3), "latency": (1, 1e-3)}
        code = [k for k, n in enumerate(names) if n.strip() in ("responseCode", "success")]
        return sign, found | ({"status": (code[0], None)} if code else {})
    if any(_NOT_ONE.search(n.replace("_", " ")) for n in names):
        return sign, {}
    found = {}
    for place, name in enumerate(names):
        role, unit = _role(name)
        if role:
            found.setdefault(role, (place, unit))
    timed = "latency" in found or {"start", "end"} <= set(found)
    return sign, found if timed and len(found) >= 3 else {}


def _table(text: str, sign: str) -> pl.DataFrame | None:
    import polars as pl

    try:
        frame = pl.read_csv(
            io.StringIO(text),
            separator=sign,
            has_header=False,
            skip_rows=1,
            infer_schema=False,
            truncate_ragged_lines=True,
            ignore_errors=True,
        )
    except pl.exceptions.PolarsError:
        return None
    return frame.select(pl.all().str.strip_chars())


def _requests(text: str, notes: dict[str, int]) -> tuple[pl.DataFrame | None, str]:
    """Rows of `requests` and the kind of their clock."""
    import polars as pl

    header, _, body = text.partition("\n")
    sign, columns = _columns(header)
    held = _table(text, sign) if columns and body.strip() else None
    if held is None or held.width <= max(place for place, _ in columns.values()):
        return None, "none"

    def number(role: str) -> pl.Series | None:
        if role not in columns:
            return None
        cell = (
            held.to_series(columns[role][0]).str.replace(r"^([0-9]+),([0-9]+)$", "$1.$2")
            if sign == ";"
            else held.to_series(columns[role][0])
        )
        return cell.set(~cell.str.contains(r"^[0-9]{1,19}(?:\.[0-9]{1,12})?$").fill_null(False), None).cast(pl.Float64, strict=False)

    out: dict[str, pl.Series] = {}
    kind = "none"
    for role, column in (("start", "sent_at"), ("first", "first_token_at"), ("end", "finished_at")):
        values = number(role)
        middle = values.median() if values is not None else None
        if values is None or not isinstance(middle, float):
            continue
        epoch = next((u for low, u in ((1e9, 1.0), (1e12, 1e-3), (1e15, 1e-6), (1e18, 1e-9)) if low < middle < 4.2 * low), None)
        unit = epoch or columns[role][1]
        if unit and (kind == "none" or kind == ("utc" if epoch else "since-start")):
            kind = "utc" if epoch else "since-start"
            out[column] = values * unit
    took = out["finished_at"] - out["sent_at"] if {"sent_at", "finished_at"} <= set(out) else None
    latency, unit = number("latency"), columns.get("latency", (0, None))[1]
    if latency is not None and unit is None and took is not None:
        unit = _unit_of(latency, took)
        notes["unit-by-numbers"] += unit is not None
    out |= {"latency_s": latency * unit} if latency is not None and unit else {"latency_s": took} if took is not None else {}
    ttft, first_unit = number("ttft"), columns.get("ttft", (0, None))[1]
    if ttft is not None and first_unit is None and latency is not None and unit and bool((ttft <= latency).all()):
        first_unit = unit
        notes["unit-by-numbers"] += 1
    out |= {"ttft_s": ttft * first_unit} if ttft is not None and first_unit else {}
    if "sent_at" in out and "finished_at" not in out and "latency_s" in out:
        out["finished_at"] = out["sent_at"] + out["latency_s"]
    if not {"latency_s", "finished_at"} & set(out):
        return None, "none"
    for role in ("prompt_tokens", "output_tokens", "concurrency"):
        if (values := number(role)) is not None:
            out[role] = values
    return _judged(out, held.to_series(columns["status"][0]) if "status" in columns else None), kind


def _unit_of(latency: pl.Series, took: pl.Series) -> float | None:
    """The unit in which a latency is the time from start to end, within a tenth, in nearly every row."""
    for unit in (1.0, 1e-3, 1e-6, 1e-9):
        if int(((latency * unit - took).abs() <= 0.1 * took + 0.01).sum()) >= 0.9 * len(took):
            return unit
    return None


def _judged(out: dict[str, pl.Series], status: pl.Series | None) -> pl.DataFrame:
    """The rows with their status; what a failed one took is no latency, and what runs backwards is unknown."""
    import polars as pl

    frame = pl.DataFrame(out).with_row_index("line", 2).with_columns(pl.col("line").cast(pl.Int64), origin=pl.lit("client"))
    if status is not None:
        word = status.str.to_lowercase()
        ok = word.str.contains(r"^(?:2[0-9][0-9]|true|ok|success|succeeded|completed|done)$")
        frame = frame.with_columns(
            status=pl.Series(ok.fill_null(False)).replace_strict({True: "ok", False: "failed"}, return_dtype=pl.String)
        )
        frame = frame.with_columns(
            pl.when(pl.col("status") == "ok").then(c).alias(c) for c in ("latency_s", "ttft_s", "first_token_at") if c in frame.columns
        )
    checks = [c for c in ("latency_s", "ttft_s") if c in frame.columns]
    return frame.with_columns(pl.when(pl.col(c) > 0).then(c).alias(c) for c in checks)


class RequestTable:
    """Rows of requests; see the module's page."""

    name = "request-table"
    api = 1

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A header of requests with at least two rows of which a time is understood."""
        _, columns = _columns(head.text.partition("\n")[0])
        if not columns:
            return None
        rows, _ = _requests(head.text, dict.fromkeys(_NOTES, 0))
        if rows is not None and rows.height >= 2:
            return Claim(40, f"a table of requests: {', '.join(sorted(columns))}")
        return Refusal(35, "a table of requests: their times have no unit (name the columns latency_s or latency_ms)")

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `requests`, `quality` and one of `clocks`."""
        parts, chars, lines = list[str](), 0, 0
        for _, block in source.blocks():
            lines += block.count("\n") + (not block.endswith("\n"))
            if chars < MAX_CHARS:
                parts.append(block)
                chars += len(block)
        text = "".join(parts)
        counts, notes = Counts(), dict.fromkeys(_NOTES, 0)
        if not text.endswith("\n") and "\n" in text:
            text = text[: text.rindex("\n") + 1]  # the last row may be cut
            counts.near(lines, "the last line is cut")
        rows, kind = _requests(text, notes)
        if rows is not None and rows.height:
            counts.matched = min(rows.height + 1, lines - counts.near_miss)
            emit("requests", rows)
            send_clock(emit, 2, kind, None, None)
            for name, n in notes.items():
                if n:
                    send_note(emit, 1, name, n, _NOTES[name])
        counts.other = lines - counts.matched - counts.near_miss
        return counts


_NOTES = {"unit-by-numbers": "A duration without a unit was read in the one that its start and end, or the latency beside it, allow."}

SAMPLES: tuple[Sample, ...] = (
    Sample(
        "request_id,start_time,end_time,ttft,latency,output_tokens,status,prompt\n"
        '1,1772000000.0,1772000012.5,0.5,12.5,200,200,"hello, world"\n2,1772000000.25,1772000024.75,12.5,24.5,200,200,x\n'
        "3,1772000000.5,1772000001.0,0,0.5,0,503,x\n",
        {
            "requests": [
                {"line": 2, "origin": "client", "sent_at": 1772000000.0, "finished_at": 1772000012.5, "latency_s": 12.5, "ttft_s": 0.5,
                 "output_tokens": 200.0, "status": "ok"},
                {"line": 3, "latency_s": 24.5, "ttft_s": 12.5, "status": "ok"},
                {"line": 4, "latency_s": None, "ttft_s": None, "status": "failed"},
            ],
            "clocks": [{"kind": "utc"}],
            "quality": [{"kind": "unit-by-numbers"}],
        },
        "a script that wrote both times",
        name="requests.csv",
    ),
    Sample(
        "id;prompt tokens;completion tokens;latency (ms);TTFT (ms)\n1;100;200;12500,5;400\n2;100;150;24500;12000,25\n",
        {
            "requests": [
                {"line": 2, "latency_s": 12.5005, "ttft_s": 0.4, "prompt_tokens": 100.0, "output_tokens": 200.0, "sent_at": None, "status": None},
                {"line": 3, "latency_s": 24.5, "ttft_s": 12.00025},
            ],
            "clocks": [{"kind": "none"}],
        },
        "a spreadsheet with decimal commas",
        name="requests.csv",
    ),
    Sample(
        "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success\n1772000000250,12500,chat,200,OK,t 1-1,true\n"
        "1772000000500,500,chat,503,Busy,t 1-2,false\n",
        {
            "requests": [
                {"line": 2, "sent_at": 1772000000.25, "finished_at": 1772000012.75, "latency_s": 12.5, "status": "ok"},
                {"line": 3, "sent_at": 1772000000.5, "finished_at": 1772000001.0, "latency_s": None, "status": "failed"},
            ],
            "clocks": [{"kind": "utc"}],
        },
        "JMeter",
        name="results.jtl",
    ),
)  # fmt: skip

PARSER = RequestTable()
