"""Clocks: what ties the times of a source to UTC. Where nothing does, the offset stays NULL and no time is invented."""

from __future__ import annotations

from .given import GivenError
from .store import Store
from .tables import TABLES


def align(store: Store, offsets: dict[int, float], intervals: dict[int, float], tz: str | None) -> None:
    """`offsets` and `intervals` by source, `tz` for local clocks (a name such as Europe/Berlin, or +02:00).

    main.clocks, one row per source, and main.<table>: the raw tables with times on one UTC axis and `*_t` on the source's clock."""
    store.con.execute(
        "CREATE TABLE main.clocks AS SELECT s.source_id, min(c.line) AS line, coalesce(any_value(c.kind), 'none') AS kind, max(c.resolution_s) AS resolution_s, "
        "any_value(c.offset_s) AS offset_s, max(c.uncertainty_s) AS uncertainty_s, any_value(c.method) AS method, any_value(c.interval_s) AS interval_s "
        "FROM raw.sources s LEFT JOIN raw.clocks c USING (source_id) GROUP BY s.source_id"
    )
    store.con.execute("UPDATE main.clocks SET offset_s = 0, uncertainty_s = coalesce(uncertainty_s, resolution_s, 1), method = coalesce(method, 'printed in UTC') WHERE kind = 'utc'")
    if tz is not None:
        _zone(store, tz)
    for source_id, offset in offsets.items():
        store.con.execute("UPDATE main.clocks SET offset_s = ?, uncertainty_s = coalesce(resolution_s, 1), method = 'given offset' WHERE source_id = ?", [offset, source_id])
    for source_id, interval in intervals.items():
        store.con.execute("UPDATE main.clocks SET interval_s = ? WHERE source_id = ?", [interval, source_id])
    for declared in TABLES:
        if declared.name != "clocks":
            store.con.execute(f"CREATE VIEW main.{declared.name} AS {_aligned(declared.name, declared.times)}")


def zone_offset_s(tz: str, local_s: float) -> float:
    """Seconds to add to a local wall clock (read as if UTC) to get UTC. Raises GivenError for an unknown zone."""
    import re
    from datetime import datetime, timedelta, timezone
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    fixed = re.fullmatch(r"([+-])(\d{1,2}):?(\d{2})?", tz.strip())
    if fixed:
        sign = 1 if fixed[1] == "+" else -1
        return -sign * (int(fixed[2]) * 3600 + int(fixed[3] or 0) * 60)
    try:
        zone = ZoneInfo(tz)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise GivenError(f"time zone {tz!r} is not known; write for example Europe/Berlin or +02:00") from None
    wall = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=local_s)
    shift = wall.replace(tzinfo=zone).utcoffset()
    return -shift.total_seconds() if shift else 0.0


def _zone(store: Store, tz: str) -> None:
    """Local clocks in the stated zone; the zone's offset is that of the source's first time."""
    zone_offset_s(tz, 0.0)
    first = {row["source_id"]: row["t"] for row in store.rows_of(_FIRST_TIMES)}
    for row in store.rows_of("SELECT source_id FROM main.clocks WHERE kind = 'local-no-zone' AND offset_s IS NULL"):
        if row["source_id"] in first:
            store.con.execute(
                "UPDATE main.clocks SET offset_s = ?, uncertainty_s = coalesce(resolution_s, 1), method = 'given time zone' WHERE source_id = ?",
                [zone_offset_s(tz, first[row["source_id"]]), row["source_id"]],
            )


_FIRST_TIMES = "SELECT source_id, min(t) AS t FROM (" + " UNION ALL ".join(
    f"SELECT source_id, {column} AS t FROM raw.{declared.name}" for declared in TABLES for column in declared.times
) + ") WHERE t IS NOT NULL GROUP BY source_id"


def source_time(name: str) -> str:
    """The column that keeps a time on its source's clock: `time` -> `t`, `started_at` -> `started_t`."""
    return "t" if name == "time" else name.removesuffix("_at") + "_t"


def _aligned(name: str, times: tuple[str, ...]) -> str:
    if not times:
        return f"FROM raw.{name}"
    moved = ", ".join(f"r.{c} + c.offset_s AS {c}" for c in times)
    kept = ", ".join(f"r.{c} AS {source_time(c)}" for c in times)
    return (
        f"SELECT r.* REPLACE ({moved}), {kept}, c.uncertainty_s AS time_unc_s "
        f"FROM raw.{name} r LEFT JOIN main.clocks c USING (source_id)"
    )
