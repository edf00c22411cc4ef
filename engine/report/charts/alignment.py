"""The sources on one time axis: when each was recorded, how its clock was tied, and where the load was."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...phrase import number
from ...tables import TABLES
from .look import LIGHT, SERIES, WIDTH, Drawing, Layers
from .series import time_x
from .words import left_out, short

if TYPE_CHECKING:
    from ...store import Store

ROWS = 14
ALIKE = 3  # so many files of one folder with the same tie are one row

_TIMES = " UNION ALL ".join(
    f"SELECT source_id, {time} AS t FROM main.{table.name}" for table in TABLES if table.name != "clocks" for time in table.times
)
_ON_AXIS = f"""
WITH spans AS (SELECT source_id, min(t) AS began, max(t) AS ended FROM ({_TIMES}) WHERE t IS NOT NULL GROUP BY source_id)
SELECT s.source_id, s.name, c.kind, c.offset_s, c.uncertainty_s, c.method, coalesce(c.estimated, FALSE) AS estimated, a.began, a.ended
FROM main.clocks c JOIN raw.sources s USING (source_id) JOIN spans a USING (source_id)
WHERE c.offset_s IS NOT NULL AND NOT starts_with(coalesce(c.method, ''), '{{own_axis}}') ORDER BY a.began, s.source_id
"""


def collect(store: Store) -> dict[str, Any] | None:
    """The sources that a tie puts on the axis, where they are at least two; the load; which GPU samples count for it."""
    found = _rows(_on_axis(store))
    if len(found) < 2:
        return None
    rows = found[:ROWS]
    began, ended = min(r["began"] for r in rows), max(r["ended"] for r in rows)
    axis = {"began": began, "ended": ended, "pixel": max(ended - began, 1e-6) / WIDTH}
    load = [row for row in store.rows_of(_LOAD.format(**axis)) if row["x"] is not None]
    placed = store.rows_of("SELECT count(*) AS n FROM main.scope_windows")[0]["n"] > 0
    sampled = store.rows_of(_SAMPLED.format(**axis)) if load and placed else []
    return {"found": len(found), "rows": rows, "began": began, "ended": ended, "load": load, "sampled": sampled}


def _on_axis(store: Store) -> list[dict[str, Any]]:
    from ...clock import OWN_AXIS

    return store.rows_of(_ON_AXIS.format(own_axis=OWN_AXIS))


def _rows(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per source; the many files of one folder or archive that have the same tie are one row, with the source ids in `ids`."""
    alike: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for source in found:
        folder = re.sub(r"[^/!]*$", "", source["name"] or "")
        alike.setdefault((folder, *(source[k] for k in ("kind", "offset_s", "method", "estimated"))), []).append(source)
    rows = []
    for group in alike.values():
        for part in [group] if len(group) >= ALIKE else [[source] for source in group]:
            unknown = any(s["uncertainty_s"] is None for s in part)
            rows.append(
                {
                    **part[0],
                    "ids": [s["source_id"] for s in part],
                    "spans": [(s["began"], s["ended"]) for s in part],
                    "ended": max(s["ended"] for s in part),
                    "uncertainty_s": None if unknown else max(s["uncertainty_s"] for s in part),
                    "label": short((part[0]["name"] or "?").rsplit("!", 1)[-1]) + (f" and {len(part) - 1} more" if len(part) > 1 else ""),
                }
            )
    return sorted(rows, key=lambda r: (r["began"], r["ids"]))


_LOAD = """
WITH shown AS (FROM main.load_windows WHERE ended >= {began!r} AND began <= {ended!r}
), marked AS (
    SELECT *, began - max(ended) OVER earlier <= {pixel!r} AS near
    FROM shown WINDOW earlier AS (ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), numbered AS (
    SELECT *, sum(CASE WHEN near THEN 0 ELSE 1 END) OVER (ORDER BY began, ended ROWS UNBOUNDED PRECEDING) AS n FROM marked
)
SELECT min(began) AS x, max(ended) AS x2, count(*) AS windows, sum(ended - began) AS busy, any_value(origin) AS origin,
    bool_or(estimated) AS estimated
FROM numbered GROUP BY n ORDER BY x
"""
# stretches of GPU samples that count for the load and of those that do not, at most one per pixel; a long hole ends a stretch
_SAMPLED = """
WITH seen AS (
    SELECT g.source_id, g.time, u.time IS NOT NULL AS used, g.time - lag(g.time) OVER (PARTITION BY g.source_id ORDER BY g.time) AS step
    FROM (SELECT DISTINCT source_id, time FROM main.gpu_samples WHERE time BETWEEN {began!r} AND {ended!r}) g
    LEFT JOIN (SELECT DISTINCT source_id, time FROM main.samples_in_load WHERE time IS NOT NULL) u USING (source_id, time)
), pixels AS (
    SELECT source_id, floor((time - {began!r}) / {pixel!r}) AS px, bool_or(used) AS used, min(time) AS a, max(time) AS b
    FROM seen GROUP BY source_id, px
), usual AS (
    SELECT source_id, median(step) AS usual, count(*) AS n, count(*) FILTER (used) AS used_n FROM seen GROUP BY source_id
), marked AS (
    SELECT
        p.source_id, p.px, p.used, p.a, p.b, n, used_n,
        p.used = lag(p.used) OVER o AND a - lag(b) OVER o <= greatest(5 * usual, 3 * {pixel!r}) AS goes_on
    FROM pixels p JOIN usual USING (source_id) WINDOW o AS (PARTITION BY p.source_id ORDER BY p.px)
), numbered AS (
    SELECT *, sum(CASE WHEN goes_on THEN 0 ELSE 1 END) OVER (PARTITION BY source_id ORDER BY px ROWS UNBOUNDED PRECEDING) AS part
    FROM marked
)
SELECT source_id, used, min(a) AS x, max(b) AS x2, any_value(n) AS n, any_value(used_n) AS used_n
FROM numbered GROUP BY source_id, used, part ORDER BY source_id, x
"""


def draw(data: dict[str, Any]) -> Drawing:
    """One row per source: when it was recorded, and its tie in words."""
    import altair as alt

    rows, began, ended, load, sampled = (data[key] for key in ("rows", "began", "ended", "load", "sampled"))
    bars = [bar for n, row in enumerate(rows) for bar in _bars(n, row, sampled, began)]
    y = alt.Y("row:O", axis=None, sort=list(range(len(rows))))
    x = time_x(max(ended - began, 1e-6), "the first record", 2)
    shades = [{"x": max(0.0, s["x"] - began), "x2": min(s["x2"], ended) - began} for s in load]
    shade = alt.Chart(alt.Data(values=shades)).mark_rect(fill=LIGHT["s3"], opacity=0.15).encode(x=x, x2=alt.X2("x2:Q"))
    layers = [shade] if shades else []
    for kind, look in _BARS.items():
        if part := [bar for bar in bars if bar["kind"] == kind]:
            base = alt.Chart(alt.Data(values=part)).encode(x=x, y=y)
            layers += [
                base.mark_bar(height=11, **look).encode(x2=alt.X2("x2:Q")),
                base.mark_tick(thickness=2, height=11, color=look["fill"]),
            ]
    texts = [{"row": n, "x": 0, "name": _name(row), "how": _cut(_tie(row, began), 72)} for n, row in enumerate(rows)]
    words = alt.Chart(alt.Data(values=texts)).encode(y=y, x=alt.XValue(0))
    layers.append(words.mark_text(align="left", dy=-27, fontSize=12, color=LIGHT["fg"]).encode(text=alt.Text("name:N")))
    layers.append(words.mark_text(align="left", dy=-13, fontSize=11, color=LIGHT["muted"]).encode(text=alt.Text("how:N")))
    said = " ".join([*(_says(row, began, sampled) for row in rows), _load_says(load)]).strip() + left_out(
        data["found"], len(rows), "sources"
    )
    return Drawing(Layers(layers, {"step": 58}), said)


_BARS: dict[str, dict[str, Any]] = {
    "known": {"fill": SERIES[0], "opacity": 0.85},
    "estimated": {"fill": SERIES[0], "fillOpacity": 0.25, "stroke": SERIES[0], "strokeDash": [3, 2]},
    "outside": {"fill": LIGHT["s8"], "opacity": 0.45},
}


def _bars(n: int, row: dict[str, Any], sampled: Sequence[dict[str, Any]], began: float) -> list[dict[str, Any]]:
    """The bars of one row; where the load is known, GPU samples that do not count for it are bars of their own kind."""
    kind = "estimated" if row["estimated"] else "known"
    parts = [s for s in sampled if s["source_id"] in row["ids"]]
    if parts:
        return [{"row": n, "x": s["x"] - began, "x2": s["x2"] - began, "kind": kind if s["used"] else "outside"} for s in parts]
    spans = row["spans"][:: len(row["spans"]) // 100 + 1]
    return [{"row": n, "x": a - began, "x2": b - began, "kind": kind} for a, b in spans]


def _name(row: dict[str, Any]) -> str:
    return row["label"] + (" (estimated)" if row["estimated"] else "")


def _tie(row: dict[str, Any], began: float) -> str:
    """Offset, uncertainty and how they were found. A clock that counts has its zero somewhere on the axis."""
    if row["kind"] in ("since-start", "counter"):
        offset = f"zero at {number(row['offset_s'] - began)} s"
    else:
        offset = f"offset {number(row['offset_s'])} s"
    unknown = row["uncertainty_s"] is None
    half = "unknown uncertainty" if unknown else "± < 1 ms" if row["uncertainty_s"] < 0.001 else f"± {number(row['uncertainty_s'])} s"
    return ", ".join(part for part in (offset, half, row["method"]) if part)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _says(row: dict[str, Any], began: float, sampled: Sequence[dict[str, Any]]) -> str:
    of_row = {s["source_id"]: s for s in sampled if s["source_id"] in row["ids"]}.values()
    counted = f"; {sum(s['used_n'] for s in of_row)} of {sum(s['n'] for s in of_row)} sample times count for the load" if of_row else ""
    span = f"{number(round(row['began'] - began, 1))} to {number(round(row['ended'] - began, 1))} s"
    return f"{_name(row)}: {span}, {_tie(row, began)}{counted}."


def _load_says(load: Sequence[dict[str, Any]]) -> str:
    if not load:
        return "No load is known on this axis."
    windows, busy = sum(s["windows"] for s in load), sum(s["busy"] for s in load)
    guess = ", on an estimated clock" if any(s["estimated"] for s in load) else ""
    return f"Load by {load[0]['origin']}: {windows} window{'' if windows == 1 else 's'}, {number(round(busy, 1))} s in all{guess}."
