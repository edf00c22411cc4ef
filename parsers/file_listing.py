"""Saved listings of response files: the last write of each file is the end of its request.

What it reads, also as a terminal transcript with prompts and several commands: `ls -l` and its time styles (`full-iso`, `long-iso`,
`+%s.%N`, `-T` on macOS, the default with a month and no year), `stat` (GNU, BSD, `-x`), `stat -c '%n %Y'` and the other way round,
with `%y` or `%.9Y`, `find -printf '%T@ %p\\n'` and `%T+`, `date -r FILE` with its command line, PowerShell `Get-ChildItem` (also as
`ConvertTo-Json` with Name and LastWriteTime), cmd `dir`,
`tar -tv`, `unzip -l`, `unzip -Z` and `unzip -Z -T`.

Versions: coreutils 8 and 9, BusyBox, macOS, tar 1.3x and bsdtar, Info-ZIP 6, Windows PowerShell 5.1 and 7.

Which files count as responses: `resp*`, `response*`, `completion*` (.json, .jsonl, .ndjson, .sse, .txt, .body), `out_3.*`, `3.json`,
or three and more .json, .txt, .out, .sse files that share a numbered name (unless the name speaks of a benchmark, a log and so on).

Columns of `requests` (origin `file`):

- request       the file's name without folders. A response that is also here as a file has the same `request` (see response-files):
                join on it, where it is unique on both sides.
- finished_at   the last write. One clock for the whole listing: utc where an offset or seconds since 1970 are printed, local-no-zone for
                a wall clock, no-year for the default of `ls`. The clock that times most files is taken, the better one at a tie; a file
                that only another clock times keeps a NULL.
- resolution_s  60 for minutes, 1 for seconds, 2 for zip times, finer where digits are printed (a DOUBLE ends at 1e-6).
- status        failed for a file of zero bytes.

Known traps: a listing made after a copy shows the copy: times below a second apart, within 1 s and in name order are left out
(quality `copied-times`). `ls -l` of an old file prints the day only: no time. 05/06/2026 is two dates: unless some row of the listing
decides the order, the times stay NULL (quality `date-order`). Birth times are not used: with `curl -o` they are the first byte, with a
redirection the start. Lines with several bare times do not say which is the last write: near misses.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..engine.json_objects import JsonLines, json_keys, json_objects
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.source import Source

if TYPE_CHECKING:
    import polars as pl

MAX_CHARS = 32 << 20
MAX_REJECTS = 5
COPY_SPAN_S = 1.0

_MODE = r"^(?:\s*\d+\s+){0,2}(?P<type>[-dlbcps])[-rwxsStTl]{9}[.+@]?"
_LS = _MODE + r"\s+\d+\s+\S+\s+(?:\S+\s+)?(?P<size>\d[\d.,]*[KMGTP]?)\s+"
_NAME = r"(?P<name>.+?)\s*$"
_ZIP = _MODE + r"\s+\d\.\d\s+\w{3}\s+(?P<size>\d+)\s+\S+\s+\S+\s+"
_ISO = r"(?P<iso>\d{4}-\d\d-\d\d[ T+]\d\d:\d\d(?::\d\d)?)(?:[.,](?P<frac>\d{1,10}))?"
_ZONE = r"(?P<zone>[+-]\d\d:?\d\d|Z)"
_EPOCH = r"(?P<epoch>\d{9,10})(?:[.,](?P<frac>\d{1,10}))?"
_CLOCK = r"(?P<clock>\d{1,2}:\d\d(?::\d\d)?)"
_MONTH_DAY = r"(?:(?P<month>[A-Za-z]{3})\.? +(?P<day>\d{1,2})|(?P<day2>\d{1,2})\.? +(?P<month2>[A-Za-z]{3})\.?)"
_FILE = r"""['"]?(?P<name>[^\s'"]+\.\w{2,8})['"]?\s*$"""
_FILE_FIRST = r"""^['"]?(?P<name>[^\s'"$]+\.\w{2,8})['"]?"""
_BSD = r'^\d+ \d+ (?P<type>[-dl])\S{9} .*? (?P<size>\d+) "[^"]*" "'  # stat without options: device, inode, ..., atime, mtime
_SLASH = r"(?P<a>\d{1,2})[/.-](?P<b>\d{1,2})[/.-](?P<year>\d{4})\s+" + _CLOCK + r"\s?(?P<half>[AaPp]\.?[Mm]\.?)?"

# (pattern, smallest step whatever is printed). Tried in order; each line belongs to the first that matches.
_SHAPES: tuple[tuple[str, float], ...] = (
    (_LS + _ISO + r"\s+" + _ZONE + r"\s+" + _NAME, 1e-6),
    (_LS + _ISO + r"\s+" + _NAME, 1e-6),
    (_LS + _EPOCH + r"\s+" + _NAME, 1e-6),
    (_LS + r"(?:[A-Za-z]{3}\s+)?" + _MONTH_DAY + r"\s+" + _CLOCK + r"\s+(?P<year>\d{4})\s+" + _NAME, 1e-6),
    (_LS + _MONTH_DAY + r"\s+" + _CLOCK + r"\s+" + _NAME, 1e-6),
    (_LS + _MONTH_DAY + r"\s+(?P<only_day>\d{4})\s+" + _NAME, 1e-6),
    (_MODE + r"\s+\S+/\S+\s+(?P<size>\d+)\s+" + _ISO + r"\s+" + _NAME, 1e-6),  # GNU tar -tv
    (_ZIP + r"(?P<compact>\d{8}\.\d{6})\s+" + _NAME, 2.0),  # unzip -Z -T
    (_ZIP + r"(?P<y2>\d\d)-(?P<month>\w{3})-(?P<day>\d\d)\s+" + _CLOCK + r"\s+" + _NAME, 2.0),
    (r"^\s*(?P<size>\d+)\s+" + _ISO + r"\s+" + _NAME, 2.0),  # unzip -l
    (_BSD + _MONTH_DAY + r"\s+" + _CLOCK + r' (?P<year>\d{4})" "[^"]*" "[^"]*" .*? ' + _NAME, 1e-6),
    (r"^[-adrhsl]{5,6}\s+" + _SLASH + r"\s+(?P<size>\d+)\s+" + _NAME, 1e-6),  # PowerShell
    (r"^" + _SLASH + r"\s+(?P<size>[\d.,]+)\s+" + _NAME, 1e-6),  # cmd dir
    (r"^" + _EPOCH + r"\s+" + _FILE, 1e-6),
    (_FILE_FIRST + r"\s+" + _EPOCH + r"\s*$", 1e-6),
    (r"^" + _ISO + r"\s+" + _ZONE + r"\s+" + _FILE, 1e-6),
    (r"^" + _ISO + r"\s+" + _FILE, 1e-6),
    (_FILE_FIRST + r"\s+" + _ISO + r"\s+" + _ZONE + r"\s*$", 1e-6),
    (_FILE_FIRST + r"\s+" + _ISO + r"\s*$", 1e-6),
    # lines without a name: it stands in the command line, or in `File:`, above
    (r"^(?P<above>)" + _ISO + r"\s*" + _ZONE + r"\s*$", 1e-6),
    (r"^(?P<above>)Modify: " + _ISO + r"\s+" + _ZONE + r"\s*$", 1e-6),
    (r"^(?P<above>)Modify: (?:[A-Za-z]{3}\s+)?" + _MONTH_DAY + r"\s+" + _CLOCK + r"\s+(?P<year>\d{4})\s*$", 1e-6),
)
_FIELDS = (
    "name",
    "type",
    "size",
    "iso",
    "frac",
    "zone",
    "epoch",
    "clock",
    "month",
    "day",
    "month2",
    "day2",
    "year",
    "y2",
    "compact",
    "a",
    "b",
    "half",
)
_MONTHS = {m: n for n, m in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1)}

_ABOVE = r"^(?:\s*File: ['\"‘]?([^'\"’]+?)['\"’]?(?: -> .*)?|[$#>] ?date (?:-\S+ )*-r ['\"]?([^\s'\"]+)['\"]?.*)$"
_FOLDER = r"^(?:\s*Directory(?: of|:) (.+?)|((?:\.{0,2}/)?[^\s:|=]+):)\s*$"
_NOISE = (
    r"^\s*$|^total [\d.,]+[KMGTP]?$|^[$#>] ?\w|^PS [A-Z]:|^\s*(?:Size|Device|Access|Change| ?Birth):|^Mode\s+LastWriteTime|^[-\s]+$"
    r"|^Archive:|^\s*Length\s+Date\s+Time|^\s*\d+\s+\d+ files?$|^\d+ files?, |^Zip file size:|^\s*Volume |^\s*\d+ (?:File|Dir)\(s\)"
)
_TWO_TIMES = r"^(?:\d{9,10}(?:\.\d+)? ){2,}\S+$|^\S+(?: \d{9,10}(?:\.\d+)?){2,}$"

_RESPONSE = (
    r"(?i)^(?:(?:resp|response|completion)[^/]*\.(?:json|jsonl|ndjson|sse|txt|body)|(?:resp|response|completion)[-_]?\d+"
    r"|(?:out|output|chat|reply|answer|req|request|r)[-_.]?\d+\.(?:json|jsonl|ndjson|sse|txt|out|body)|\d+\.(?:json|txt|sse|out|body))$"
)
_NUMBERED = r"(?i)^[^/]*\d[^/]*\.(?:json|txt|out|sse|ndjson|body)$"
_NEVER = r"(?i)time|stat|bench|summary|metric|config|schema"
_OTHER_SERIES = (
    r"(?i)bench|sweep|result|report|metric|stat|mon|smi|gpu|log|trace|prof|config|model|token|shard|check|prompt|input|summary|run|plot"
    r"|step|conc|load|c=|clients|users|rate|qps"
)


@dataclass
class _Listing:
    """One row per line that lists a file: line, path, name, size, time, step, kind; and how the other lines ended."""

    rows: pl.DataFrame
    counts: Counts
    undecided: int  # rows whose date order nothing decides


def _read(source: Readable) -> tuple[list[str], int]:
    parts, chars, lines, last = [], 0, 0, "\n"
    for _, text in source.blocks():
        if chars < MAX_CHARS:
            parts.append(text)
            chars += len(text)
        lines += text.count("\n")
        last = text[-1:] or last
    kept = "".join(parts).split("\n")
    if last == "\n":
        kept.pop()
    return kept[:lines] if last == "\n" else kept, lines + (last != "\n")


_NET_DATE = re.compile(r"/Date\((\d{12,14})(?:[+-]\d{4})?\)/")
_NET_ISO = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d(?:\.\d{1,7})?)(Z|[+-]\d\d:\d\d)?")


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[") and {"LastWriteTime", "Name"} <= json_keys(text)


def _json_listing(source: Readable) -> _Listing:
    """What PowerShell's ConvertTo-Json wrote: its objects as lines of `ls`, each numbered as the line on which it begins."""
    reader = JsonLines(source)
    lines, numbers = list[str](), list[int]()
    for first, last, doc in json_objects(reader):
        name, written, size = (doc or {}).get("Name"), str((doc or {}).get("LastWriteTime")), (doc or {}).get("Length")
        net, iso = _NET_DATE.fullmatch(written), _NET_ISO.fullmatch(written)
        if not isinstance(name, str) or "\n" in name or not (net or iso):
            continue
        zone = (iso[3] or "").replace(":", "").replace("Z", "+0000") if iso else ""
        stamp = f"{int(net[1]) / 1000:.3f}" if net else f"{iso[1]} {iso[2]} {zone}".strip() if iso else ""
        lines.append(f"-rw-r--r-- 1 - - {size if isinstance(size, int) else 1} {stamp} {name}")
        numbers.append(first)
        reader.add(first, last, "matched")
    listing = _listing(lines, len(lines), numbers)
    listing.counts = reader.close()
    return listing


def _listing(lines: list[str], total: int, numbers: Sequence[int] | None = None) -> _Listing:
    """Every line once: a listed file (matched), noise, a near miss, or other. Whether a file is a response is decided later."""
    import polars as pl

    frame = pl.DataFrame({"line": numbers or range(1, len(lines) + 1), "text": lines}, schema={"line": pl.Int64, "text": pl.Utf8})
    text = pl.col("text").str.replace_all(r"\x1b\[[0-9;]*[mK]", "").str.strip_chars_end(" \r")
    frame = frame.with_columns(text)
    above = pl.coalesce(pl.col("text").str.extract(_ABOVE, 1), pl.col("text").str.extract(_ABOVE, 2))
    folder = pl.coalesce(pl.col("text").str.extract(_FOLDER, 1), pl.col("text").str.extract(_FOLDER, 2))
    frame = frame.with_columns(above=above.forward_fill(), folder=folder.forward_fill(), heading=above.is_not_null() | folder.is_not_null())
    found, rest = [], frame
    for pattern, least in _SHAPES:
        hit = rest.filter(pl.col("text").str.contains(pattern))
        if hit.height:
            rest = rest.filter(~pl.col("text").str.contains(pattern))
            found.append(_fields(hit, pattern, least))
    mode = pl.col("text").str.contains(_MODE)
    state = rest.select(
        noise=pl.col("text").str.contains(_NOISE) | pl.col("heading"),
        near=mode | pl.col("text").str.contains(_TWO_TIMES),
        line="line",
    ).with_columns(near=pl.col("near") & ~pl.col("noise"))
    near = state.filter("near")["line"].to_list()
    counts = Counts(noise=int(state["noise"].sum()), near_miss=len(near))
    counts.rejects = [(n, "a listed file whose time, or which of its times is the last write, is not clear") for n in near[:MAX_REJECTS]]
    rows = pl.concat(found).sort("line") if found else _fields(frame.head(0), r"(?P<name>x)", 1.0)
    counts.matched = rows.height
    counts.other = total - counts.matched - counts.noise - counts.near_miss
    rows, undecided = _times(rows)
    return _Listing(rows, counts, undecided)


def _fields(hit: pl.DataFrame, pattern: str, least: float) -> pl.DataFrame:
    """The named parts of the lines of one shape, as text; missing parts are NULL."""
    import polars as pl

    groups = [g for g in re.compile(pattern).groupindex if g in _FIELDS]
    parts = pl.col("text").str.extract_groups(pattern)
    got = {g: parts.struct.field(g) for g in groups}
    name = got.pop("name", pl.lit(None, dtype=pl.Utf8)) if "name" in groups else pl.col("above")
    columns = {f: got.get(f, pl.lit(None, dtype=pl.Utf8)) for f in _FIELDS if f != "name"}
    return hit.select("line", "folder", name=name, least=pl.lit(least), **columns).filter(
        pl.col("name").is_not_null() | pl.lit("name" in groups)
    )


def _times(rows: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Seconds on the printed clock (`time`), its step and its kind, for every way a time was printed."""
    import polars as pl

    a, b = pl.col("a").cast(pl.Int32, strict=False), pl.col("b").cast(pl.Int32, strict=False)
    slashed = rows.select((a > 12).any().alias("dmy"), (b > 12).any().alias("mdy")).row(0)
    day_first = slashed[0] if slashed[0] != slashed[1] else None
    undecided = 0 if day_first is not None else int(rows["a"].is_not_null().sum())
    first, second = (pl.col("b"), pl.col("a")) if day_first else (pl.col("a"), pl.col("b"))
    slash_month = first if day_first is not None else pl.lit(None, dtype=pl.Utf8)
    name = pl.coalesce("month", "month2").str.to_lowercase().replace_strict(_MONTHS, default=None, return_dtype=pl.Int32)
    month = pl.coalesce(name.cast(pl.Utf8), slash_month)
    day = pl.coalesce("day", "day2", pl.when(pl.lit(day_first is not None)).then(second))
    year = pl.coalesce("year", pl.lit("20") + pl.col("y2"), pl.when(name.is_not_null()).then(pl.lit("1972")))
    wall = pl.concat_str(year, pl.lit("-"), month.str.zfill(2), pl.lit("-"), day.str.zfill(2), pl.lit(" "), pl.col("clock").str.zfill(5))
    compact = pl.col("compact").str.replace(r"^(\d{4})(\d\d)(\d\d)\.(\d\d)(\d\d)(\d\d)$", "$1-$2-$3 $4:$5:$6")
    stamp = pl.coalesce(pl.col("iso").str.replace(r"[T+]", " "), compact, wall)
    whole = pl.coalesce(stamp.str.to_datetime(f, strict=False) for f in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"))
    return _assemble(rows.with_columns(stamp=stamp, whole=whole, dated=pl.coalesce("year", "y2").is_not_null())), undecided


def _assemble(rows: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    digits = pl.col("frac").str.len_chars()
    fraction = (pl.lit("0.") + pl.col("frac")).cast(pl.Float64, strict=False).fill_null(0.0)
    zone = pl.col("zone").str.replace("^Z$", "+0000").str.replace(":", "")
    minutes = zone.str.slice(1, 2).cast(pl.Int64, strict=False) * 60 + zone.str.slice(3, 2).cast(pl.Int64, strict=False)
    shift = (pl.when(zone.str.starts_with("-")).then(-minutes).otherwise(minutes)).fill_null(0) * 60
    half = pl.col("half").str.to_lowercase().str.slice(0, 1)
    hour = pl.col("whole").dt.hour()
    noon = pl.when((half == "p") & (hour < 12)).then(43_200).when((half == "a") & (hour == 12)).then(-43_200).otherwise(0)
    wall = pl.col("whole").dt.epoch("s") - shift + noon
    printed = pl.when(pl.col("frac").str.contains("[1-9]")).then(pl.lit(10.0).pow(-digits.cast(pl.Float64))).otherwise(1.0)
    minute = pl.col("stamp").str.count_matches(":") == 1
    kind = (
        pl.when(pl.col("epoch").is_not_null() | pl.col("zone").is_not_null())
        .then(pl.lit("utc"))
        .when(pl.col("iso").is_not_null() | pl.col("compact").is_not_null() | pl.col("dated"))
        .then(pl.lit("local-no-zone"))
        .otherwise(pl.lit("no-year"))
    )
    path = pl.col("name").str.replace_all(r"\\", "/").str.replace(r"^(?:\./)+", "")
    return rows.select(
        "line",
        "type",
        path=pl.concat_str(pl.col("folder").fill_null(""), pl.lit("/"), path),
        name=path.str.replace(r"^.*/", "").str.strip_chars("'\""),
        empty=pl.col("size").str.contains("^0$").fill_null(False),
        time=pl.coalesce(pl.col("epoch").cast(pl.Float64, strict=False), wall.cast(pl.Float64)) + fraction,
        step=pl.max_horizontal(pl.when(minute).then(60.0).otherwise(printed), "least", pl.lit(1e-6)),
        kind=kind,
    )


def _responses(rows: pl.DataFrame) -> pl.DataFrame:
    """Regular files that look like responses: by name, or by three and more of one numbered name."""
    import polars as pl

    files = rows.filter(pl.col("type").fill_null("-").is_in(["-"]))
    stem = pl.col("name").str.replace_all(r"\d+", "0")
    files = files.with_columns(stem=stem, alike=pl.col("path").n_unique().over(stem))
    numbered = pl.col("name").str.contains(_NUMBERED) & (pl.col("alike") >= 3) & ~pl.col("name").str.contains(_OTHER_SERIES)
    return files.filter((pl.col("name").str.contains(_RESPONSE) & ~pl.col("name").str.contains(_NEVER)) | numbered)


def _one_clock(rows: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """One row per file, on the clock that times most of them: the finest print of it, the later one at a tie."""
    import polars as pl

    rank = {"utc": 0, "local-no-zone": 1, "no-year": 2}
    timed = rows.filter(pl.col("time").is_not_null())
    if timed.is_empty():
        return rows.unique("path", keep="last", maintain_order=True), "none"
    cover = timed.group_by("kind").agg(pl.col("path").n_unique().alias("n"))
    kind = min(cover.rows(), key=lambda r: (-r[1], rank[r[0]]))[0]
    on_it = (pl.col("kind") == kind) & pl.col("time").is_not_null()
    rows = rows.with_columns(time=pl.when(on_it).then("time"), step=pl.when(on_it).then("step"))
    best = rows.sort("step", "line", descending=[False, True], nulls_last=True)
    return best.unique("path", keep="first", maintain_order=True).sort("line"), kind


def _natural(name: str) -> list[tuple[int, int, str]]:
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in re.split(r"(\d{1,18})", name) if p]


def _copied(names: list[str], times: list[float], steps: list[float]) -> bool:
    """Three or more files, timed below a second, all within one second and in name order: a copy wrote these times."""
    if len(times) < 3 or max(steps) >= 1.0 or max(times) - min(times) > COPY_SPAN_S:
        return False
    pairs = list(zip(names, times))
    orders: Iterable[list[tuple[str, float]]] = (sorted(pairs), sorted(pairs, key=lambda p: _natural(p[0])))
    return any(all(x[1] <= y[1] for x, y in itertools.pairwise(order)) for order in orders)


class _FileListing:
    name = "file-listing"
    api = 1

    @property
    def samples(self) -> tuple[Sample, ...]:
        return _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        if head.text.lstrip()[:1] in ("{", "[", "<") and not _is_json(head.text):
            return None  # a body, not a listing of bodies
        if not re.search(r"\d+\.(?:json|txt|out|sse|ndjson|body)\b|(?i:resp|completion)", head.text):
            return None
        lines = head.text.split("\n")
        listing = _json_listing(Source.from_text(head.text)) if _is_json(head.text) else _listing(lines, len(lines))
        if listing.rows.is_empty():
            return None
        found = _responses(listing.rows).height
        if not found:
            return Refusal(40, "a listing of files none of which looks like a saved response")
        counts = listing.counts
        mostly = counts.matched + counts.near_miss >= counts.other
        return Claim(75 if mostly else 30, f"a listing of {found} files that look like saved responses", shares=not mostly)

    def parse(self, source: Readable, emit: Emit) -> Counts:
        import polars as pl

        json = _is_json(source.head().text)
        listing = _json_listing(source) if json else _listing(*_read(source))
        found = _responses(listing.rows)
        counts = listing.counts
        if not json:
            counts.noise += counts.matched - found.height
            counts.matched = found.height
        if found.is_empty():
            return counts
        rows, kind = _one_clock(found)
        timed = rows.filter(pl.col("time").is_not_null())
        notes = []
        if _copied(timed["name"].to_list(), timed["time"].to_list(), timed["step"].to_list()):
            rows, kind = rows.with_columns(time=pl.lit(None, dtype=pl.Float64), step=pl.lit(None, dtype=pl.Float64)), "none"
            notes.append(("copied-times", timed.height, "the listed times were written by a copy and say nothing about the run"))
        if listing.undecided:
            notes.append(("date-order", listing.undecided, "day and month cannot be told apart, so the times were left out"))
        self._emit(rows, kind, notes, emit)
        return counts

    def _emit(self, rows: pl.DataFrame, kind: str, notes: list[tuple[str, int, str]], emit: Emit) -> None:
        import polars as pl

        status = pl.when("empty").then(pl.lit("failed"))
        table = rows.select("line", origin=pl.lit("file"), request="name", finished_at="time", resolution_s="step", status=status)
        emit("requests", table)
        clock = {"line": [1], "kind": [kind], "resolution_s": [rows["step"].max()], "method": ["file time" if kind != "none" else None]}
        emit("clocks", pl.DataFrame(clock, schema={"line": pl.Int64, "kind": pl.Utf8, "resolution_s": pl.Float64, "method": pl.Utf8}))
        if notes:
            emit("quality", pl.DataFrame([{"line": 1, "kind": k, "n": n, "note": note} for k, n, note in notes]))


_SAMPLES = (
    Sample(
        text='[{"Name":"resp_1.json","LastWriteTime":"\\/Date(1788998405250)\\/","Length":431},\n'
        '{"Name":"resp_2.json","LastWriteTime":"\\/Date(1788998420500)\\/","Length":0}]\n',
        rows={
            "requests": [
                {"line": 1, "request": "resp_1.json", "finished_at": 1788998405.25, "resolution_s": 0.001, "status": None},
                {"line": 2, "request": "resp_2.json", "finished_at": 1788998420.5, "status": "failed"},
            ],
            "clocks": [{"kind": "utc"}],
        },
        versions="PowerShell 5.1, ConvertTo-Json",
        name="files.json",
    ),
    Sample(
        text="$ ls -l --time-style=full-iso resp_*.json\n"
        "-rw-r--r-- 1 me me 431 2026-09-10 02:00:05.250000000 +0200 resp_1.json\n"
        "-rw-r--r-- 1 me me   0 2026-09-09 19:00:20.500000000 -0500 resp_2.json\n"
        "-rw-r--r-- 1 me me 900 2026-09-10 02:00:05.125000000 +0200 server.log\n",
        rows={
            "requests": [
                {"line": 2, "origin": "file", "request": "resp_1.json", "finished_at": 1788998405.25, "resolution_s": 1e-6, "status": None},
                {"line": 3, "request": "resp_2.json", "finished_at": 1788998420.5, "resolution_s": 1e-6, "status": "failed"},
            ],
            "clocks": [{"kind": "utc", "method": "file time"}],
        },
        versions="coreutils, full-iso",
        name="ls.txt",
    ),
    Sample(
        text="total 8\n-rw-r--r--  1 me  staff  431 Sep 10 00:01 out_1.json\n-rw-r--r--  1 me  staff  431 Sep 10 00:02 out_2.json\n"
        "-rw-r--r--  1 me  staff  431 Sep 10  2025 out_3.json\n",
        rows={
            "requests": [
                {"request": "out_1.json", "finished_at": 84931260.0, "resolution_s": 60.0},
                {"request": "out_2.json", "finished_at": 84931320.0},
                {"request": "out_3.json", "finished_at": None, "resolution_s": None},
            ],
            "clocks": [{"kind": "no-year", "resolution_s": 60.0}],
        },
        versions="ls -l, default time style",
        name="ls.txt",
    ),
    Sample(
        text="  File: resp_1.json\n  Size: 435       \tBlocks: 8          IO Block: 4096   regular file\n"
        "Device: 254,0\tInode: 21     Links: 1\n"
        "Access: (0644/-rw-r--r--)  Uid: (    0/    root)   Gid: (    0/    root)\nAccess: 2026-09-10 00:00:01.000000000 +0000\n"
        "Modify: 2026-09-10 00:00:05.250000000 +0000\nChange: 2026-09-10 00:00:09.000000000 +0000\n Birth: -\n",
        rows={"requests": [{"request": "resp_1.json", "finished_at": 1788998405.25, "line": 6}], "clocks": [{"kind": "utc"}]},
        versions="GNU stat, coreutils 9",
        name="stat.txt",
    ),
    Sample(
        text="1788998405.2500000000 ./run/resp_7.json\n1788998420.7500000000 ./run/resp_2.json\n",
        rows={
            "requests": [{"request": "resp_7.json", "finished_at": 1788998405.25}, {"request": "resp_2.json", "finished_at": 1788998420.75}]
        },
        versions="find -printf '%T@ %p\\n'",
        name="times.txt",
    ),
    Sample(
        text="resp_1.json 1788998405\nresp_2.json 1788998405\nresp_3.json 1788998420\n",
        rows={
            "requests": [
                {"request": "resp_1.json", "finished_at": 1788998405.0, "resolution_s": 1.0},
                {"request": "resp_2.json"},
                {"request": "resp_3.json", "finished_at": 1788998420.0},
            ]
        },
        versions="stat -c '%n %Y'",
        name="times.txt",
    ),
    Sample(
        text="    Directory: C:\\runs\n\n\nMode                 LastWriteTime         Length Name\n"
        "----                 -------------         ------ ----\n"
        "-a----        29/11/2026     16:49            435 resp_1.json\n-a----        29/11/2026      4:50            435 resp_2.json\n",
        rows={
            "requests": [
                {"request": "resp_1.json", "finished_at": 1795970940.0, "resolution_s": 60.0},
                {"request": "resp_2.json", "finished_at": 1795927800.0},
            ],
            "clocks": [{"kind": "local-no-zone"}],
        },
        versions="Windows PowerShell 5.1, day first",
        name="dir.txt",
    ),
    Sample(
        text="-rw-r--r-- root/root       435 2026-11-29 16:49 answers/part_1.json\n"
        "-rw-r--r-- root/root       435 2026-11-29 16:50 answers/part_2.json\n"
        "-rw-r--r-- root/root       435 2026-11-29 16:51 answers/part_3.json\n",
        rows={
            "requests": [
                {"request": "part_1.json", "finished_at": 1795970940.0, "resolution_s": 60.0},
                {"request": "part_2.json"},
                {"request": "part_3.json"},
            ],
            "clocks": [{"kind": "local-no-zone"}],
        },
        versions="tar -tv; three files of one numbered name",
        name="tar.txt",
    ),
)

PARSER = _FileListing()
