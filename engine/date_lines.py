"""Lines of `date` between other output: the clock of recordings that print no time of their own.

People write `while true; do date; nvidia-smi ...; sleep 1; done`, or a `date` before and after a run. A line counts only if the date
is all it says, but for a short label. Two uses, both checked against the order of the lines:

- rows without a time, with a date before every round: the round was sampled right after its date;
- a clock since start: what stands above a date was printed before it and what stands below after it, which bounds the offset from both
  sides. One date proves nothing (a prompt may quote one): several are needed, minutes apart, that agree with the time between them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .peel import read_time

if TYPE_CHECKING:
    import polars as pl

    from .source import Source
    from .store import Store

MAX_BYTES = 64 * 1024 * 1024
RUN_S = 2.0  # nvidia-smi starts, asks the driver and prints; longer where the next date allows it is not believed
SHARE = 0.9  # of the rounds must have a date of their own
BOUND_S = 10.0  # an offset known no better than this is not claimed
APART_S = 60.0
MIN_DATES = 3

_LABEL = r"^(?:[#=*>\-\[\]() ]*(?:[A-Za-z][A-Za-z _-]{0,24}[:=])?[#=*>\-\[\]() ]*)"
_END = r"[#=*<\-\[\]() ]*$"
_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: [AP]M)?"
_ZONE = r"(?: (?P<zone>[A-Z]{2,5}|[+-]\d\d(?::?\d\d)?))?"
_DAYS, _MONTHS = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)", "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_FORMS = (
    # date: Sun Nov 29 21:57:23 UTC 2026, with a 12 hour clock too
    rf"{_LABEL}{_DAYS} (?P<month>{_MONTHS}) +(?P<day>\d{{1,2}}) (?P<clock>{_CLOCK}){_ZONE} (?P<year>\d{{4}}){_END}",
    # date in other locales and date -R: Sun 29 Nov 2026 09:57:23 PM UTC, Sun, 29 Nov 2026 21:57:23 +0000
    rf"{_LABEL}{_DAYS},? (?P<day>\d{{1,2}}) (?P<month>{_MONTHS}) (?P<year>\d{{4}}),? (?P<clock>{_CLOCK}){_ZONE}{_END}",
)
_ISO = rf"{_LABEL}(\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?\s?(?:Z|UTC|[+-]\d\d:?\d\d)?){_END}"
_UNIX = rf"{_LABEL}(1\d{{9}}(?:\.\d{{1,9}})?){_END}"
_ANY = rf"{_DAYS}|\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|1\d{{9}}"


def date_lines(source: Source) -> pl.DataFrame:
    """line, t, utc (it says its zone), res: the lines that are nothing but a date. A named zone that is not UTC counts as none."""
    import polars as pl

    out = [pl.DataFrame(schema={"line": pl.Int64, "t": pl.Float64, "utc": pl.Boolean, "res": pl.Float64})]
    for first, block in source.blocks():
        text = pl.Series("text", block.split("\n"), dtype=pl.String)
        frame = pl.DataFrame({"line": pl.int_range(first, first + len(text), eager=True), "text": text})
        out.append(_read(frame.filter((text.str.len_bytes() < 100) & text.str.contains(_ANY))))
    return pl.concat(out)


def _read(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    text = pl.col("text").str.strip_chars()
    parts: dict[str, pl.Expr] = {}
    for name in ("month", "day", "clock", "zone", "year"):
        parts[name] = pl.coalesce(*(text.str.extract_groups(form).struct.field(name) for form in _FORMS))
    frame = frame.with_columns(**parts, iso=text.str.extract(_ISO, 1), unix=text.str.extract(_UNIX, 1))
    half = pl.col("clock").str.extract(r"([AP])M$")
    hours = pl.col("clock").str.extract(r"^(\d{1,2}):").cast(pl.Int64)
    hours = pl.when(half == "P").then(hours % 12 + 12).when(half == "A").then(hours % 12).otherwise(hours)
    number = pl.col("month").replace_strict(_MONTHS[3:-1].split("|"), [f"{i:02d}" for i in range(1, 13)], default=None)
    zone = pl.when(pl.col("zone").is_in(["UTC", "GMT", "Z"])).then(pl.lit("Z")).otherwise(pl.col("zone").str.extract(r"^([+-]\d\d:?\d\d)$"))
    spelt = pl.concat_str(
        "year", pl.lit("-"), number, pl.lit("-"), pl.col("day").str.zfill(2), pl.lit("T"), hours.cast(pl.String).str.zfill(2),
        pl.col("clock").str.extract(r"(:\d\d:\d\d(?:[.,]\d+)?)"), zone.fill_null(""),
    )  # fmt: skip
    frame = frame.with_columns(said=pl.coalesce("iso", spelt))
    calendar, zoned = read_time(frame["said"], "iso")
    unix, _ = read_time(frame["unix"], "unix")
    digits = pl.coalesce("said", "unix").str.extract(r"(?::\d\d|^\d{10})[.,](\d+)").str.len_bytes().clip(0, 6).fill_null(0).cast(pl.Int32)
    frame = frame.with_columns(t=pl.coalesce(calendar, unix), utc=zoned | unix.is_not_null(), res=pl.lit(10.0).pow(-digits))
    return frame.filter(pl.col("t").is_not_null()).select(pl.col("line").cast(pl.Int64), "t", pl.col("utc").fill_null(True), "res")


def tell_times(store: Store, source: Source) -> None:
    """Give the rows of a source a clock from its lines of `date`, where it has none or one since start that nothing ties."""
    if (source.size or 0) > MAX_BYTES or not re.search(rf'(?m)^[^"\n]{{0,60}}?(?:{_ANY})', source.head().text):  # not those in JSON
        return
    needs = store.con.execute(_NEEDS, [source.source_id]).fetchall()
    if not needs:
        return
    kind, rows = needs[0]
    said = date_lines(source)
    if said.height and said["utc"].n_unique() > 1:
        said = said.filter("utc")  # a zone is worth more than any number of lines without
    if said.height < MIN_DATES:
        return
    store.con.execute("CREATE OR REPLACE TEMP TABLE gv_said (line BIGINT, t DOUBLE, utc BOOLEAN, res DOUBLE)")
    store.append("gv_said", said)
    utc = bool(said["utc"][0])
    if kind == "none" and rows:
        _between_rounds(store, source.source_id, utc)
    elif kind == "since-start" and utc:
        _bounded(store, source.source_id)
    store.con.execute("DROP TABLE gv_said")


_NEEDS = """
SELECT coalesce(any_value(c.kind) FILTER (c.kind <> 'none'), 'none'),
    (SELECT count(*) FROM raw.gpu_samples g WHERE g.source_id = s.id AND g.time IS NULL AND g.cycle IS NOT NULL)
FROM (SELECT ?::INTEGER AS id) s LEFT JOIN raw.clocks c ON c.source_id = s.id
GROUP BY s.id HAVING count(*) FILTER (c.offset_s IS NOT NULL) = 0
"""

# A round and the last date above it; it is its own if no other round lies in between.
_DATED = """
CREATE OR REPLACE TEMP TABLE gv_dated AS
WITH rounds AS (
    SELECT cycle, min(line) AS first_line, max(line) AS last_line FROM raw.gpu_samples WHERE source_id = ? GROUP BY cycle
), told AS (
    SELECT r.cycle, r.first_line, lag(r.last_line) OVER (ORDER BY r.first_line) AS above, d.line AS date_line, d.t, d.res
    FROM (FROM rounds ORDER BY first_line) r ASOF LEFT JOIN (FROM gv_said ORDER BY line) d ON r.first_line > d.line
)
SELECT *, coalesce(date_line > coalesce(above, 0), FALSE) AS own, t - lag(t) OVER (ORDER BY first_line) AS gap FROM told
"""


def _between_rounds(store: Store, source_id: int, utc: bool) -> None:
    store.con.execute(_DATED, [source_id])
    sql = "SELECT avg(own::INT), count(*), median(gap), max(res), coalesce(min(gap) >= 0, FALSE) FROM gv_dated"
    share, rounds, gap, res, rising = store.con.execute(sql).fetchall()[0]
    if (share or 0.0) < SHARE or rounds < MIN_DATES or not rising:
        return
    store.con.execute(
        "UPDATE raw.gpu_samples SET time = d.t FROM gv_dated d WHERE source_id = ? AND gpu_samples.cycle = d.cycle AND d.own AND time IS NULL",
        [source_id],
    )
    uncertainty = max(res, min(RUN_S, gap + res))
    _emit(store, source_id, "utc" if utc else "local-no-zone", uncertainty, 0.0 if utc else None, "lines of date before every round")


# What is above a date was printed before it: offset <= date + its resolution - t. What is below came after it: offset >= date - t.
_BOUNDS = """
WITH printed AS (
    SELECT line, time AS early, time AS late FROM raw.gpu_samples WHERE source_id = $source AND time IS NOT NULL
    UNION ALL SELECT line, time, time FROM raw.server_samples WHERE source_id = $source AND time IS NOT NULL
    UNION ALL SELECT line, time, time FROM raw.server_events WHERE source_id = $source AND time IS NOT NULL
    UNION ALL SELECT line, coalesce(queued_at, started_at, finished_at), coalesce(finished_at, started_at, queued_at)
        FROM raw.requests WHERE source_id = $source AND coalesce(queued_at, started_at, finished_at) IS NOT NULL
), above AS (
    SELECT d.line, d.t, d.res, max(r.early) AS before FROM gv_said d JOIN printed r ON r.line < d.line GROUP BY ALL
), below AS (
    SELECT d.line, d.t, min(r.late) AS after FROM gv_said d JOIN printed r ON r.line > d.line GROUP BY ALL
)
SELECT (SELECT max(t - after) FROM below), (SELECT min(t + res - before) FROM above), (SELECT max(before) - min(before) FROM above), (SELECT max(res) FROM gv_said)
"""


def _bounded(store: Store, source_id: int) -> None:
    several = store.con.execute("SELECT 1 FROM raw.quality WHERE source_id = ? AND kind = 'several-clocks'", [source_id]).fetchall()
    low, high, apart, res = store.con.execute(_BOUNDS, {"source": source_id}).fetchall()[0]
    if several or low is None or high is None or apart < APART_S:
        return
    if low > high:
        text = "lines of date in this file do not fit the times between them: they were not used"
        store.con.execute("INSERT INTO raw.quality (source_id, kind, n, note) VALUES (?, 'date-lines', 1, ?)", [source_id, text])
    elif high - low <= 2 * BOUND_S:
        half = max((high - low) / 2, res)
        _emit(store, source_id, "since-start", half, (low + high) / 2, "lines of date above and below its times")


def _emit(store: Store, source_id: int, kind: str, uncertainty: float, offset: float | None, method: str) -> None:
    import polars as pl

    row: dict[str, Any] = {
        "line": None,
        "kind": kind,
        "resolution_s": uncertainty,
        "offset_s": offset,
        "uncertainty_s": uncertainty,
        "method": method,
    }
    types = {"line": pl.Int64, "kind": pl.String, "method": pl.String}
    store.insert(
        "clocks", pl.DataFrame({k: [v] for k, v in row.items()}, schema_overrides={k: types.get(k, pl.Float64) for k in row}), source_id
    )
