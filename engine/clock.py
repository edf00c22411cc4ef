"""Clocks: what ties the times of every source to one axis, and how well.

In this order, per source: printed in UTC, tied to a container's time or to lines of `date` (`date_lines.py`); stated by the user; the
same requests in saved responses; edges of load against edges of utilisation (`edges.py`); the file's own write time at the end of the log
(an estimate). Where nothing ties a clock, its offset stays NULL and no time is invented. If no clock is tied to UTC, the axis is the clock
of one source, and that is said; beside clocks that are tied, those that agree only with each other have an axis of their own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from .edges import Match, Spans, busy_spans, match, merge
from .given import GivenError
from .source import Source
from .store import Store
from .tables import TABLES

WALL = ("local-no-zone", "no-year")
ZONE_STEP_S = 1800.0  # zones in use are multiples of half an hour but for three; a file time is not exact enough for those
FILE_LAG_S = (-3.0, 10.0)  # a last line is written at its time, or a little later out of a buffer
OWN_AXIS = "an axis of its own: tied to nothing else"
OTHER_RUN_S = 4 * 3600.0  # a server that is left running writes no more than this after its last request
MAX_CARDS = 16  # GPU recordings whose edges are looked at
DATED_S = 30 * 86400.0  # a clock below it counts the seconds of the day: nobody served models in January 1970
OWN_AXIS_S = 1e10  # far from every real time, so that nothing is joined with it by accident


@dataclass
class Clock:
    """One row of main.clocks while it is being found."""

    source_id: int
    kind: str
    line: int | None = None
    resolution_s: float | None = None
    offset_s: float | None = None
    uncertainty_s: float | None = None
    method: str | None = None
    interval_s: float | None = None
    estimated: bool = False
    first: float | None = None
    last: float | None = None

    def set(self, offset: float, uncertainty: float, method: str, estimated: bool = False) -> None:
        self.offset_s, self.uncertainty_s, self.method, self.estimated = offset, uncertainty, method, estimated

    @property
    def trusted(self) -> bool:
        return self.offset_s is not None and not self.estimated


def align(
    store: Store,
    offsets: dict[int, float],
    intervals: dict[int, float],
    tz: str | None,
    sources: Sequence[Source] = (),
    claim_edges: bool = True,
) -> None:
    """Fill main.clocks and make main.<table>: the raw tables with times on the axis, and `*_t` on the source's own clock.

    `offsets` and `intervals` by source; `tz` for local clocks (Europe/Berlin, +02:00). Raises GivenError for an unknown zone.
    """
    if tz:
        zone_offset_s(tz, 0.0)
    clocks = _read(store)
    for source_id, interval in intervals.items():
        clocks[source_id].interval_s = interval
    mended = mend_jumps(store, clocks)
    _count_samples(store, clocks, sources)
    _spans(store, clocks)
    _years(store, clocks, sources)
    undated = _days(store, clocks, sources)
    for clock in clocks.values():
        if clock.kind == "utc" and clock.offset_s is None:
            clock.set(0.0, clock.uncertainty_s or clock.resolution_s or 1.0, clock.method or "printed in UTC")
        elif clock.source_id in offsets:
            clock.set(offsets[clock.source_id], clock.resolution_s or 1.0, "given offset")
        elif tz and clock.kind in WALL and clock.first is not None:
            _in_zone(store, clock, tz, clock.source_id in mended)
            clock.estimated |= clock.source_id in undated
    _file_times(clocks, sources, several_zeros(store))
    _same_requests(store, clocks)
    if claim_edges:
        _edges(store, clocks, sources)
    _anchor(store, clocks)
    _doubt_set_back(store, clocks)
    _write(store, clocks)


# --- reading and writing ----------------------------------------------------------------------------------------------------------


def _read(store: Store) -> dict[int, Clock]:
    rows = store.rows_of(
        "SELECT s.source_id, min(c.line) AS line, coalesce(any_value(c.kind) FILTER (c.kind <> 'none'), 'none') AS kind, max(c.resolution_s) AS resolution_s, any_value(c.offset_s) AS offset_s, "
        "max(c.uncertainty_s) AS uncertainty_s, any_value(c.method) AS method, any_value(c.interval_s) AS interval_s "
        "FROM raw.sources s LEFT JOIN raw.clocks c USING (source_id) GROUP BY s.source_id ORDER BY s.source_id"
    )
    return {row["source_id"]: Clock(**row) for row in rows}


def _spans(store: Store, clocks: dict[int, Clock]) -> None:
    for row in store.rows_of(f"SELECT source_id, min(t) AS a, max(t) AS b FROM ({_ALL_TIMES}) WHERE t IS NOT NULL GROUP BY source_id"):
        if row["source_id"] in clocks:
            clocks[row["source_id"]].first, clocks[row["source_id"]].last = row["a"], row["b"]


_ALL_TIMES = " UNION ALL ".join(f"SELECT source_id, {c} AS t FROM raw.{t.name}" for t in TABLES for c in t.times)


def _write(store: Store, clocks: dict[int, Clock]) -> None:
    store.con.execute(
        "CREATE TABLE main.clocks (source_id INTEGER, line BIGINT, kind VARCHAR, resolution_s DOUBLE, offset_s DOUBLE, uncertainty_s DOUBLE, "
        "method VARCHAR, interval_s DOUBLE, estimated BOOLEAN)"
    )
    kept = ("source_id", "line", "kind", "resolution_s", "offset_s", "uncertainty_s", "method", "interval_s", "estimated")
    rows = [{name: getattr(clock, name) for name in kept} for clock in clocks.values()]
    if rows:  # all at once: a folder may hold thousands of responses
        store.con.execute("INSERT INTO main.clocks BY NAME SELECT unnest(?, recursive := true)", [rows])
    views = [f"CREATE VIEW main.{t.name} AS {_aligned(t.name, t.times)}" for t in TABLES if t.name != "clocks"]
    store.con.execute(";".join(views))


def source_time(name: str) -> str:
    """The column that keeps a time on its source's clock: `time` -> `t`, `started_at` -> `started_t`."""
    return "t" if name == "time" else name.removesuffix("_at") + "_t"


def _aligned(name: str, times: tuple[str, ...]) -> str:
    if not times:
        return f"FROM raw.{name}"
    moved = ", ".join(f"r.{c} + c.offset_s AS {c}" for c in times)
    kept = ", ".join(f"r.{c} AS {source_time(c)}" for c in times)
    return (
        f"SELECT r.* REPLACE ({moved}), {kept}, c.uncertainty_s AS time_unc_s FROM raw.{name} r LEFT JOIN main.clocks c USING (source_id)"
    )


def note(store: Store, source_id: int, kind: str, text: str, n: int = 1) -> None:
    """A quality row about a clock."""
    store.con.execute("INSERT INTO raw.quality (source_id, kind, n, note) VALUES (?, ?, ?, ?)", [source_id, kind, n, text])


# --- local clocks that jump, logs without a year, samples without a time ---------------------------------------------------------


def mend_jumps(store: Store, clocks: dict[int, Clock]) -> set[int]:
    """A local clock that is set back or ahead by an hour (daylight saving) goes on without the jump. Returns the sources it was done in."""
    mended = set()
    for source_id in (c.source_id for c in clocks.values() if c.kind in WALL):
        jumps = store.con.execute(_JUMPS, [source_id]).fetchall()
        for line, shift in jumps:
            _shift(store, source_id, shift, line=line)
        if jumps:
            mended.add(source_id)
            what = "set back" if jumps[0][1] > 0 else "set ahead"
            text = f"the local clock was {what} by an hour inside this file; its times go on without the jump"
            note(store, source_id, "daylight-saving", text, len(jumps))
    return mended


def _shift(store: Store, source_id: int, shift: float, line: int = 0, after: float = float("-inf")) -> None:
    """Move the times of a source from a line, or from a time, on."""
    for declared in TABLES:
        for column in declared.times:
            sql = f"UPDATE raw.{declared.name} SET {column} = {column} + ? WHERE source_id = ? AND line >= ? AND {column} >= ?"
            store.con.execute(sql, [shift, source_id, line, after])


# Times in the order of the lines. A line that holds several (a request) counts with its last one.
_IN_ORDER = " UNION ALL ".join(
    f"SELECT source_id, {'run' if 'run' in t.names else 'NULL::INTEGER'} AS run, line, {t.times[-1]} AS time FROM raw.{t.name}"
    for t in TABLES
    if t.times and t.name not in ("bench_steps", "kernels")
)

# Back: the time falls by an hour less one step. Ahead: it skips just the hour after a full hour. Rows of one sample share a time.
_JUMPS = f"""
WITH steps AS (
    SELECT line, time, lag(time) OVER (ORDER BY line, time) AS before FROM ({_IN_ORDER}) WHERE source_id = ? AND time IS NOT NULL
), usual AS (
    SELECT median(time - before) FILTER (time > before AND time - before < 600) AS step FROM steps
)
SELECT line, CASE WHEN time < before THEN 3600.0 ELSE -3600.0 END
FROM steps, usual
WHERE (before - time BETWEEN 3600 - 3 * step - 2 AND 3600 AND before - time > 600)
   OR (time - before BETWEEN 3600 AND 3600 + 3 * step + 2 AND (before::BIGINT // 3600) + 2 = (time::BIGINT // 3600)
       AND before % 3600 >= 3600 - 3 * step - 2 AND time % 3600 <= 3 * step + 2)
ORDER BY line
"""

SET_BACK_S = 60.0  # processes that share a log may print out of order by a little

# Falls that do not begin the file again: two logs put one after the other start over, a clock that is set back lands in the middle.
_SET_BACK = f"""
WITH steps AS (
    SELECT source_id, line, time, lag(time) OVER w AS before, min(time) OVER (PARTITION BY source_id) AS first
    FROM ({_IN_ORDER}) WHERE time IS NOT NULL WINDOW w AS (PARTITION BY source_id, run ORDER BY line, time)
)
SELECT source_id, count(*), max(before - time), min(line) FROM steps
WHERE before - time > {SET_BACK_S} AND before - time < 300 * 86400.0 AND time > first + {SET_BACK_S}
GROUP BY source_id ORDER BY source_id
"""


def _doubt_set_back(store: Store, clocks: dict[int, Clock]) -> None:
    """A wall clock that was set back inside its file has no single offset: whatever was found for it is an estimate."""
    for source_id, n, most, line in store.con.execute(_SET_BACK).fetchall():
        clock = clocks.get(source_id)
        if clock is None or clock.kind not in WALL:
            continue
        clock.estimated = clock.estimated or clock.offset_s is not None
        clock.uncertainty_s = max(clock.uncertainty_s or 0.0, most) if clock.offset_s is not None else clock.uncertainty_s
        note(store, source_id, "clock-set-back", f"the times fall back by up to {most:.0f} s inside this file, first at line {line}", n)


def _years(store: Store, clocks: dict[int, Clock], sources: Sequence[Source]) -> None:
    """Month and day without a year: the year in which the log is nearest to the other sources, or to its own write time. A copy is
    written later than what it copies: no log holds a time after its own write time, but for the hours of a zone."""
    written = {s.source_id: s.mtime for s in sources if s.mtime is not None and s.mtime_kind in ("filesystem", "archive", "copied")}
    for clock in clocks.values():
        if clock.kind != "no-year" or clock.last is None:
            continue
        anchors = [o.last for o in clocks.values() if o.kind in ("utc", "local-no-zone") and o.last is not None and o.last > DATED_S]
        anchors = anchors or [
            s.mtime for s in sources if s.source_id == clock.source_id and s.mtime is not None and s.mtime_kind in ("filesystem", "archive")
        ]
        if not anchors:
            continue
        wraps = store.con.execute(_WRAPS, [clock.source_id]).fetchone()
        wrapped = bool(wraps and wraps[0])
        near = sorted(anchors)[len(anchors) // 2]
        guess = datetime.fromtimestamp(near, tz=UTC).year
        # The latest month and day belong to the first year where a New Year lies inside.
        years = range(guess - 1, guess + 2)
        end = written.get(clock.source_id, near) + 86400
        past = [y for y in years if _in_year(clock.last, y) <= end] if near <= end else []  # write times before the others' are wrong
        year = min(past or years, key=lambda y: abs(_in_year(clock.last or 0.0, y) - near))
        _add_year(store, clock, year, wrapped)


def _days(store: Store, clocks: dict[int, Clock], sources: Sequence[Source]) -> set[int]:
    """Times of the day without a date (`dmon -o T`) go to the day that ends nearest to the other sources, or to their own write time.

    Returns the sources: that they are of that day is a guess until edges of load agree.
    """
    written = {s.source_id: s.mtime for s in sources if s.mtime is not None and s.mtime_kind in ("filesystem", "archive")}
    dated = sorted(o.last for o in clocks.values() if o.kind in ("utc", "local-no-zone") and o.last is not None and o.last > DATED_S)
    undated = set()
    for clock in clocks.values():
        near = dated[len(dated) // 2] if dated else written.get(clock.source_id)
        if clock.kind != "local-no-zone" or clock.first is None or clock.last is None or clock.last > DATED_S or near is None:
            continue
        shift = 86400.0 * round((near - clock.last) / 86400)
        for declared in TABLES:
            for column in declared.times:
                sql = f"UPDATE raw.{declared.name} SET {column} = {column} + ? WHERE source_id = ? AND {column} IS NOT NULL"
                store.con.execute(sql, [shift, clock.source_id])
        clock.first, clock.last = clock.first + shift, clock.last + shift
        undated.add(clock.source_id)
        note(store, clock.source_id, "day-added", "times without a date: the day is the one nearest to the other files")
    return undated


# A New Year inside the log: the time falls by most of a year.
_WRAPS = f"""
SELECT count(*) FILTER (before - time > 300 * 86400.0)
FROM (SELECT time, lag(time) OVER (ORDER BY line, time) AS before FROM ({_IN_ORDER}) WHERE source_id = ? AND time IS NOT NULL)
"""


def _in_year(t: float, year: int) -> float:
    """A wall clock in 1972 moved to a year; the 29th of February of a year without one becomes the 1st of March."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=t)
    try:
        return moment.replace(year=year).timestamp()
    except ValueError:
        return (moment + timedelta(days=1)).replace(year=year).timestamp()


def _add_year(store: Store, clock: Clock, year: int, wrapped: bool) -> None:
    """Rewrite the times of a source into the year; after a New Year inside it, those of the first half of a year into the next one."""
    for declared in TABLES:
        for column in declared.times:
            moment = f"make_timestamp(({column} * 1000000)::BIGINT)"
            next_year = f" + (CASE WHEN month({moment}) <= 6 THEN 1 ELSE 0 END)" if wrapped else ""
            moved = (
                f"epoch(make_date({year}{next_year}, month({moment}), CASE WHEN month({moment}) = 2 THEN least(day({moment}), 28) "
                f"ELSE day({moment}) END)::TIMESTAMP) + ({column} - floor({column} / 86400) * 86400)"
            )
            store.con.execute(
                f"UPDATE raw.{declared.name} SET {column} = {moved} WHERE source_id = {clock.source_id} AND {column} IS NOT NULL"
            )
    clock.kind = "local-no-zone"
    clock.method = "year from the other files"
    for row in store.rows_of(f"SELECT min(t) AS a, max(t) AS b FROM ({_ALL_TIMES}) WHERE source_id = {clock.source_id}"):
        clock.first, clock.last = row["a"], row["b"]
    note(
        store,
        clock.source_id,
        "year-added",
        f"the log prints no year; {year} is nearest to the other files" + (" and a New Year lies inside" if wrapped else ""),
    )


def _count_samples(store: Store, clocks: dict[int, Clock], sources: Sequence[Source]) -> None:
    """GPU samples without a time: the number of the sample times the interval, ending at the file's write time. Only an estimate."""
    written = {s.source_id: s.mtime for s in sources if s.mtime is not None and s.mtime_kind in ("filesystem", "archive")}
    for clock in clocks.values():
        if clock.kind == "none" and clock.interval_s:
            store.con.execute(
                "UPDATE raw.gpu_samples SET time = cycle * ? WHERE source_id = ? AND time IS NULL AND cycle IS NOT NULL",
                [clock.interval_s, clock.source_id],
            )
            last = store.con.execute("SELECT max(time) FROM raw.gpu_samples WHERE source_id = ?", [clock.source_id]).fetchone()
            if last and last[0] is not None:
                clock.kind = "counter"
                if clock.source_id in written:
                    clock.set(
                        written[clock.source_id] - last[0],
                        max(5.0, 0.01 * last[0]),
                        "file time at the end, samples counted",
                        estimated=True,
                    )


# --- zones and file times -----------------------------------------------------------------------------------------------------------


def zone_offset_s(tz: str, local_s: float, second: bool = False) -> float:
    """Seconds to add to a local wall clock (read as if UTC) to get UTC; `second`: the later of two equal hours in autumn.

    Raises GivenError for an unknown zone.
    """
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    fixed = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?", tz.strip())
    if fixed:
        sign = 1 if fixed[1] == "+" else -1
        return -sign * (int(fixed[2]) * 3600.0 + int(fixed[3] or 0) * 60.0)
    try:
        zone = ZoneInfo(tz)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise GivenError(f"time zone {tz!r} is not known; write for example Europe/Berlin or +02:00") from None
    wall = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=local_s)
    shift = wall.replace(tzinfo=zone, fold=int(second)).utcoffset()
    return -shift.total_seconds() if shift else 0.0


def _in_zone(store: Store, clock: Clock, tz: str, mended: bool) -> None:
    """A stated zone, with the hours that exist twice and the changes that fall into a pause of the log."""
    first, last = clock.first or 0.0, clock.last or 0.0
    early, late = zone_offset_s(tz, first), zone_offset_s(tz, first, second=True)
    if early != late and not mended:
        # Begun in the hour that comes twice: a file that runs on past it without a jump began in the second of the two.
        if zone_offset_s(tz, last) != zone_offset_s(tz, last, second=True):
            text = "all times lie in the hour that comes twice when summer time ends: they may be an hour later, so no offset is claimed"
            return note(store, clock.source_id, "hour-twice", text)
        early = late
    elif not mended and (end := zone_offset_s(tz, last)) != early:
        change = _change(tz, first, last)
        _shift(store, clock.source_id, end - early, after=change)
        clock.last = last + end - early
        note(store, clock.source_id, "daylight-saving", "the zone changed its offset inside this file, in a pause of its times")
        if end > early:  # set back: what the file shows of the hour before the change may be either of the two
            text = "times within an hour of the end of summer time may be an hour later"
            if store.con.execute(_BETWEEN, [clock.source_id, change - 3600.0, change]).fetchall()[0][0]:
                note(store, clock.source_id, "hour-twice", text)
                clock.set(early, 3600.0, "given time zone", estimated=True)
                return
    clock.set(early, clock.resolution_s or 1.0, "given time zone")


_BETWEEN = f"SELECT count(*) FROM ({_ALL_TIMES}) WHERE source_id = ? AND t >= ? AND t < ?"


def _change(tz: str, a: float, b: float) -> float:
    """The first local time after `a` at which the zone has the offset it has at `b`, to a second."""
    target = zone_offset_s(tz, b)
    while b - a > 1.0:
        middle = (a + b) / 2
        a, b = (a, middle) if zone_offset_s(tz, middle) == target else (middle, b)
    return b


def _file_times(clocks: dict[int, Clock], sources: Iterable[Source], apart: set[int]) -> None:
    """The last line of a log was written when the file was: an estimate, since a copied file carries the time of the copy."""
    for source in sources:
        clock = clocks.get(source.source_id)
        if clock is None or clock.offset_s is not None or clock.last is None or source.mtime is None or clock.source_id in apart:
            continue
        if source.mtime_kind not in ("filesystem", "archive") or getattr(source, "mtime_clock", "utc") != "utc":
            continue
        lag = source.mtime - clock.last
        if clock.kind == "since-start":
            clock.set(lag, max(5.0, source.mtime_resolution_s or 1.0), "file time at the end of the log", estimated=True)
        elif clock.kind == "local-no-zone":
            zone = ZONE_STEP_S * round(lag / ZONE_STEP_S)
            if FILE_LAG_S[0] <= lag - zone <= FILE_LAG_S[1] and abs(zone) <= 14 * 3600:
                clock.set(zone, clock.resolution_s or 1.0, "file time at the end of the log", estimated=True)


def _same_requests(store: Store, clocks: dict[int, Clock]) -> None:
    """A saved response and the server's log print the same token counts and durations: two such pairs tie the two clocks."""
    pairs: dict[int, list[tuple[float, float]]] = {}
    for server_id, file_id, apart, resolution in store.con.execute(_SAME).fetchall():
        if clocks[file_id].trusted and not clocks[server_id].trusted:
            pairs.setdefault(server_id, []).append((apart + (clocks[file_id].offset_s or 0.0), resolution or 1.0))
    for server_id, found in pairs.items():
        values = sorted(v for v, _ in found)
        middle, spread = values[len(values) // 2], values[-1] - values[0]
        if len(values) >= 2 and spread <= 5.0:
            clocks[server_id].set(middle, max(spread, *(r for _, r in found)), f"{len(values)} requests that are in the response files too")


# Durations agree to the log's rounding, tokens exactly, and each side has just one such request.
_SAME = """
WITH told AS (
    SELECT source_id, origin, output_tokens, round(prompt_ms, 1) AS prompt_ms, round(decode_ms, 1) AS decode_ms, finished_at, resolution_s,
        count(*) OVER (PARTITION BY origin, output_tokens, round(prompt_ms, 1), round(decode_ms, 1)) AS twins
    FROM raw.requests WHERE origin IN ('server', 'file') AND finished_at IS NOT NULL AND prompt_ms > 0 AND decode_ms > 0 AND output_tokens > 1
)
SELECT s.source_id, f.source_id, f.finished_at - s.finished_at, f.resolution_s
FROM told s JOIN told f USING (output_tokens, prompt_ms, decode_ms)
WHERE s.origin = 'server' AND f.origin = 'file' AND s.twins = 1 AND f.twins = 1
ORDER BY ALL
"""


# --- edges --------------------------------------------------------------------------------------------------------------------------


def _edges(store: Store, clocks: dict[int, Clock], sources: Sequence[Source]) -> None:
    """Tie recordings of load and of the cards to each other by their edges, where that is not known already.

    Clocks that are tied come first, so that what is not tied is tied to them.
    """
    apart = several_zeros(store)
    loads = _loads(store)
    ended = {s.source_id: clocks[s.source_id].last for s in sources if s.source_id in clocks}
    for card, busy, seen, step in _cards(store, clocks):
        for source_id in sorted(loads, key=lambda s: (not clocks[s].trusted, s)):
            load, blur = loads[source_id]
            other = clocks[source_id]
            if (other.trusted and card.trusted) or source_id in apart or source_id == card.source_id:
                continue
            smallest = max(3.0, 3 * step)
            found = match(merge(load, smallest), merge(busy, smallest), seen, step, _one_host(card, other), blur)
            doubt = found.offset_s is not None and _denied(sources, ended, card, other, found.offset_s)
            if doubt:
                text = "the edges of load and utilisation agree, but by the times of the two files they are of different runs"
                note(store, other.source_id, "file-times-differ", text)
            _apply(store, clocks, card, other, found, blur, estimated=doubt or card.kind == "counter")


def _denied(sources: Sequence[Source], ended: dict[int, float | None], card: Clock, other: Clock, offset: float) -> bool:
    """The same script run twice has the same edges. The write time of the cards' file, where it is its own, says when that run was: a log
    that was last written much later, or earlier than its own end, is of another run. Only a clock since start can be fooled so far."""
    written = {
        s.source_id: s.mtime
        for s in sources
        if s.mtime is not None and s.mtime_kind in ("filesystem", "archive") and s.mtime_clock == "utc"
    }
    mine, theirs, end, their_end = (
        written.get(card.source_id),
        written.get(other.source_id),
        ended.get(card.source_id),
        ended.get(other.source_id),
    )
    if other.kind != "since-start" or mine is None or theirs is None or end is None or their_end is None:
        return False
    zone = ZONE_STEP_S * round((mine - end) / ZONE_STEP_S)
    if not FILE_LAG_S[0] <= mine - end - zone <= FILE_LAG_S[1] or abs(zone) > 14 * 3600:
        return False  # the cards' file carries the time of a copy
    return not -60.0 <= theirs - (their_end + offset + zone) <= OTHER_RUN_S


def _one_host(a: Clock, b: Clock) -> bool:
    walls = {"utc", *WALL}
    return a.kind in walls and b.kind in walls


def _apply(store: Store, clocks: dict[int, Clock], card: Clock, other: Clock, found: Match, blur: float, estimated: bool) -> None:
    if found.offset_s is None:
        note(store, other.source_id, "clock-not-matched", f"load and utilisation were not matched in time: {found.reason}")
        return
    method = f"edges of load and utilisation: {found.edges} agree, correlation {found.r:.2f}, runner-up {found.runner_up:.2f}"
    if other.trusted and not card.trusted:
        card.set((other.offset_s or 0.0) - found.offset_s, (found.uncertainty_s or 1.0) + blur, method, estimated=estimated)
        return
    if not card.trusted:
        _lend_axis(clocks, card)
    method = f"{OWN_AXIS}; {method}" if on_own_axis(card) else method
    other.set((card.offset_s or 0.0) + found.offset_s, (found.uncertainty_s or 1.0) + blur, method, estimated=estimated)


def _lend_axis(clocks: dict[int, Clock], card: Clock) -> None:
    """The cards' clock becomes the axis for what is matched with it: the common one only where no other clock is tied to UTC."""
    counted = card.kind == "counter"
    if any(c.trusted and c.first is not None for c in clocks.values()):
        taken = sum(on_own_axis(c) for c in clocks.values())
        return card.set(-OWN_AXIS_S * (len(clocks) + 1 + taken), card.resolution_s or 1.0, OWN_AXIS, estimated=counted)
    near, zone = (card.offset_s, "only estimated") if card.offset_s is not None else (0.0, "not known")
    card.set(near, card.resolution_s or 1.0, f"axis of this analysis: its zone is {zone}", estimated=counted)


def on_own_axis(clock: Clock) -> bool:
    return clock.offset_s is not None and clock.offset_s <= -OWN_AXIS_S


def _cards(store: Store, clocks: dict[int, Clock]) -> list[tuple[Clock, Spans, Spans, float]]:
    """The GPU recordings, those with the most rounds first: when the cards worked, when they were sampled, and the step."""
    found = store.con.execute(
        "SELECT source_id, count(DISTINCT cycle) AS n FROM raw.gpu_samples WHERE time IS NOT NULL GROUP BY source_id HAVING n >= 20 "
        f"ORDER BY n DESC, source_id LIMIT {MAX_CARDS}"
    ).fetchall()
    return [told for source_id, _ in found if (told := _card(store, clocks[source_id])) is not None]


def _card(store: Store, clock: Clock) -> tuple[Clock, Spans, Spans, float] | None:
    for column, least, share in (("util_gpu", 15.0, 0.1), ("power_w", 20.0, 0.2)):
        rows = store.con.execute(_ROUNDS.format(column=column), [clock.source_id]).fetchall()
        if len(rows) < 20:
            continue
        values = sorted(v for _, v in rows)
        low, high = values[len(values) // 20], values[-1 - len(values) // 20]
        if high - low < least:
            continue
        steps = sorted(b[0] - a[0] for a, b in itertools.pairwise(rows) if b[0] > a[0])
        step = steps[len(steps) // 2] if steps else 1.0
        # near the idle level: a prefill on all cards may read several times what decode reads, and both are work
        line = low + max(share * (high - low), 0.5 * least)
        busy = busy_spans(rows, low, line, step)
        seen = merge([(t - step, t) for t, _ in rows], 2.5 * step)
        return clock, busy, seen, step
    return None


_ROUNDS = "SELECT min(time) AS t, sum({column}) AS v FROM raw.gpu_samples WHERE source_id = ? AND time IS NOT NULL AND {column} IS NOT NULL GROUP BY cycle ORDER BY t"


def _loads(store: Store) -> dict[int, tuple[list[tuple[float, float]], float]]:
    """Per source that tells when requests ran: the spans, on its own clock, and how far an edge may be off by the source's own step."""
    rows = store.con.execute(_LOADS).fetchall()
    out: dict[int, tuple[list[tuple[float, float]], float]] = {}
    for source_id, began, ended, blur in rows:
        out.setdefault(source_id, ([], blur))[0].append((began, ended))
    return out


# A line of statistics at t speaks of the time since the line before it: a load begins or ends somewhere in between, half way on average.
_LOADS = """
WITH lines AS (
    SELECT source_id, time, max((coalesce(running, 0) > 0)::INT) AS runs, max((coalesce(running, 0) > 0 OR coalesce(gen_tok_s, 0) > 0)::INT) AS busy
    FROM raw.server_samples WHERE time IS NOT NULL GROUP BY source_id, time
), stepped AS (
    SELECT *, time - lag(time) OVER (PARTITION BY source_id ORDER BY time) AS step FROM lines
), usual AS (
    SELECT source_id, median(step) FILTER (step <= 60) AS step FROM stepped GROUP BY source_id
)
SELECT source_id, coalesce(started_at, queued_at, sent_at) AS began, finished_at AS ended, 0.0 AS blur FROM raw.requests
WHERE origin IN ('server', 'client') AND finished_at > coalesce(started_at, queued_at, sent_at)
UNION ALL
SELECT s.source_id, s.time - CASE WHEN s.runs = 1 THEN 0.5 ELSE 1.0 END * u.step, s.time + CASE WHEN s.runs = 1 THEN 0.5 ELSE -0.5 END * u.step, u.step
FROM stepped s JOIN usual u USING (source_id)
WHERE s.busy = 1 AND u.step > 0 AND s.source_id NOT IN (SELECT source_id FROM raw.requests WHERE origin = 'server' AND started_at IS NOT NULL)
ORDER BY 1, 2
"""


def several_zeros(store: Store) -> set[int]:
    """Sources in which several clocks since start follow each other, each with a zero of its own: one offset cannot be right for all."""
    return {row[0] for row in store.con.execute("SELECT DISTINCT source_id FROM raw.quality WHERE kind = 'several-clocks'").fetchall()}


def _anchor(store: Store, clocks: dict[int, Clock]) -> None:
    """Without any tie to UTC, one source lends its clock to the axis, so that at least its own times can be used.

    Beside other clocks that are tied, or estimated to be, a server's log has an axis of its own.
    """
    apart = several_zeros(store)
    serving = {
        row[0]
        for row in store.con.execute(
            "SELECT DISTINCT source_id FROM raw.requests WHERE origin = 'server' UNION SELECT DISTINCT source_id FROM raw.server_samples"
        ).fetchall()
    }
    timed = [c for c in clocks.values() if c.first is not None and c.kind not in ("counter", "none")]
    loose = [c for c in timed if c.offset_s is None and c.source_id not in apart]
    if any(c.offset_s is not None for c in timed):
        own = [c for c in loose if c.kind == "since-start" or c.source_id in serving]
        for number, clock in enumerate(own, 1):
            clock.set(-OWN_AXIS_S * number, clock.resolution_s or 1.0, OWN_AXIS)
        return
    first = next((c for c in loose if c.source_id in serving), loose[0] if loose else None)
    if first is None:
        return
    first.set(0.0, first.resolution_s or 1.0, "axis of this analysis: not tied to UTC")
