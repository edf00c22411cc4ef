"""Requests over time: bars on slots, or how many are in flight; statistics lines of a server; response files as they were complete."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ...phrase import number
from .look import LIGHT, SERIES, WIDTH, Drawing, Stack
from .series import POINTS, largest, thin, time_x
from .words import left_out, short

if TYPE_CHECKING:
    import altair as alt

    from ...store import Store

BARS = 1200
LANES = 32
EACH = 2  # plot areas of each of the three kinds

_LOGS = """
SELECT r.source_id, coalesce(r.run, 0) AS run, s.name AS source, count(*) AS n,
    count(DISTINCT r.slot) AS slots, bool_and(r.slot IS NOT NULL) AS slotted, min(r.started_t) AS began, max(r.finished_t) AS ended
FROM main.requests_in_scope r LEFT JOIN raw.sources s USING (source_id)
WHERE r.started_t IS NOT NULL AND r.finished_t >= r.started_t
GROUP BY r.source_id, coalesce(r.run, 0), s.name HAVING count(*) >= 2 AND max(r.finished_t) > min(r.started_t)
ORDER BY n DESC, r.source_id, run
"""
_STATISTICS = """
SELECT r.source_id, coalesce(r.engine, 0) AS engine, coalesce(r.run, 0) AS run, s.name AS source, count(*) AS n,
    min(r.t) AS began, max(r.running) AS running, max(r.waiting) AS waiting
FROM main.server_samples r LEFT JOIN raw.sources s USING (source_id)
WHERE r.t IS NOT NULL AND (r.running IS NOT NULL OR r.waiting IS NOT NULL)
GROUP BY r.source_id, coalesce(r.engine, 0), coalesce(r.run, 0), s.name HAVING count(*) >= 3 AND max(r.t) > min(r.t)
ORDER BY n DESC, r.source_id, engine, run
"""
_FILES = """
SELECT coalesce(b.label, '') AS label, coalesce(r.finished_at, r.finished_t) AS t,
    max(r.resolution_s) OVER (PARTITION BY b.label) AS resolution_s
FROM main.requests r LEFT JOIN main.bindings b USING (source_id) LEFT JOIN main.clocks c USING (source_id)
WHERE r.origin = 'file' AND r.finished_t IS NOT NULL AND c.kind = 'utc' ORDER BY label, t, r.source_id, r.line
"""


def collect(store: Store) -> dict[str, Any] | None:
    """What each plot area shows, in the order of the page."""
    logs, statistics, arrived = store.rows_of(_LOGS), store.rows_of(_STATISTICS), _arrived(store)
    panels = [_log(store, log) for log in logs[:EACH]]
    panels += [_told(store, row) for row in statistics[:EACH]]
    panels += [{"kind": "files", "label": label, "rows": rows} for label, rows in list(arrived.items())[:EACH]]
    return {"found": len(logs) + len(statistics) + len(arrived), "panels": panels} if panels else None


def _arrived(store: Store) -> dict[str, list[dict[str, Any]]]:
    """Response files by scope, where they were not all complete at the same time."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in store.rows_of(_FILES):
        groups.setdefault(row["label"], []).append(row)
    return {label: rows for label, rows in groups.items() if len(rows) >= 2 and rows[-1]["t"] > rows[0]["t"]}


def _log(store: Store, log: dict[str, Any]) -> dict[str, Any]:
    most = store.rows_of(f"SELECT max(y) AS most FROM ({_flow(log)})")[0]["most"]
    span = log["ended"] - log["began"]
    if log["slotted"] and log["slots"] <= LANES:
        return {"kind": "lanes", **log, "span": span, "most": most, "bars": store.rows_of(_lanes(log, span))}
    points = [p for p in thin(store, _flow(log), 1).to_dicts() if p["y"] is not None]
    return {"kind": "flow", **log, "span": span, "most": most, "points": points}


def _lanes(log: dict[str, Any], span: float) -> str:
    """One bar per request; where there are more than BARS, those of a slot that lie within a pixel of each other become one."""
    near, began = (span / WIDTH if log["n"] > BARS else -1.0), log["began"]
    return f"""
WITH bars AS (
    SELECT slot, started_t AS x, finished_t AS x2, CASE WHEN scope_id > 0 THEN sc.label ELSE 'in no step' END AS step, r.line
    FROM main.requests_in_scope r LEFT JOIN main.scopes sc USING (scope_id) WHERE {_of_run(log)}
), marked AS (
    SELECT *, x - max(x2) OVER earlier > {near!r} AS apart FROM bars
    WINDOW earlier AS (PARTITION BY slot, step ORDER BY x, line ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), numbered AS (
    SELECT *, sum(CASE WHEN apart IS FALSE AND {near!r} > 0 THEN 0 ELSE 1 END) OVER (PARTITION BY slot, step ORDER BY x, line) AS bar
    FROM marked
)
SELECT slot, step, min(x) - {began!r} AS x, max(x2) - {began!r} AS x2 FROM numbered GROUP BY slot, step, bar
ORDER BY slot, x, step LIMIT {POINTS}
"""


def _of_run(log: dict[str, Any]) -> str:
    which = f"r.source_id = {log['source_id']} AND coalesce(r.run, 0) = {log['run']}"
    return f"{which} AND r.started_t IS NOT NULL AND r.finished_t >= r.started_t"


def _flow(log: dict[str, Any]) -> str:
    """Requests in flight after each start and finish; at one instant finishes come first."""
    return f"""
SELECT 'in flight' AS series, x - {log["began"]!r} AS x, sum(change) OVER (ORDER BY x, change ROWS UNBOUNDED PRECEDING)::DOUBLE AS y FROM (
    SELECT r.started_t AS x, 1 AS change FROM main.requests_in_scope r WHERE {_of_run(log)}
    UNION ALL SELECT r.finished_t, -1 FROM main.requests_in_scope r WHERE {_of_run(log)})
"""


def _told(store: Store, row: dict[str, Any]) -> dict[str, Any]:
    which = (
        f"source_id = {row['source_id']} AND coalesce(engine, 0) = {row['engine']} AND coalesce(run, 0) = {row['run']} AND t IS NOT NULL"
    )
    names = [name for name in ("running", "waiting") if row[name] is not None]
    rows = " UNION ALL ".join(
        f"SELECT '{name}' AS series, t - {row['began']!r} AS x, {name} AS y FROM main.server_samples WHERE {which}" for name in names
    )
    return {"kind": "statistics", **row, "names": names, "points": thin(store, rows, len(names)).to_dicts()}


def draw(data: dict[str, Any]) -> Drawing:
    """One plot area per log, series of statistics lines, and folder of response files."""
    kinds = {"lanes": _draw_lanes, "flow": _draw_flow, "statistics": _draw_statistics, "files": _draw_files}
    parts = [kinds[panel["kind"]](panel) for panel in data["panels"]]
    hidden = left_out(data["found"], len(parts), "recordings")
    return Drawing(Stack([chart for chart, _ in parts], own_scales=True), " ".join(said for _, said in parts) + hidden)


def _served(log: dict[str, Any]) -> str:
    return f"{short(log['source'] or 'server log')}: {log['n']} requests in {number(log['span'])} s"


def _draw_lanes(log: dict[str, Any]) -> tuple[alt.Chart, str]:
    import altair as alt

    bars, said = log["bars"], _served(log)
    steps = list(dict.fromkeys(bar["step"] for bar in sorted(bars, key=lambda bar: (bar["x"], bar["slot"]))))
    legend = alt.Legend(symbolType="square", columns=5) if len(steps) > 1 else None
    colour = alt.Color("step:N", scale=alt.Scale(domain=steps, range=SERIES), legend=legend)
    fill = {"color": colour} if len(steps) <= len(SERIES) else {"color": alt.ColorValue(SERIES[0])}
    chart = (
        alt.Chart(alt.Data(values=bars))
        .mark_bar(height={"band": 0.8}, stroke=LIGHT["grid"], strokeWidth=0.6)
        .encode(
            x=time_x(log["span"], "the first request"),
            x2=alt.X2("x2:Q"),
            y=alt.Y("slot:O", title=None, axis=alt.Axis(ticks=False, labelExpr="'slot ' + datum.label")),
            **fill,
        )
        .properties(width=WIDTH, height=max(40, 22 * log["slots"]), title=f"{said}, {log['slots']} slots used")
    )
    return chart, f"{said} on {log['slots']} slots, at most {number(log['most'])} at a time."


def _draw_flow(log: dict[str, Any]) -> tuple[alt.Chart, str]:
    said = _served(log)
    chart = _step_lines(log["points"], ["in flight"], "the first request", f"{said}, in flight")
    return chart, f"{said}, at most {number(log['most'])} in flight."


def _draw_statistics(row: dict[str, Any]) -> tuple[alt.Chart, str]:
    said = f"{short(row['source'] or 'server log')}: " + ", ".join(f"at most {number(row[name])} {name}" for name in row["names"])
    chart = _step_lines(row["points"], row["names"], "the first statistics line", said)
    return chart, f"{said}, {row['n']} statistics lines."


def _step_lines(points: Sequence[dict[str, Any]], names: Sequence[str], since: str, title: str) -> alt.Chart:
    import altair as alt

    legend = alt.Legend(symbolType="stroke") if len(names) > 1 else None
    return (
        alt.Chart(alt.Data(values=points))
        .mark_line(interpolate="step-after", strokeWidth=1.6)
        .encode(
            x=time_x(largest(p["x"] for p in points), since),
            y=alt.Y("y:Q", title="requests", axis=alt.Axis(tickCount=5, tickMinStep=1)),
            color=alt.Color("series:N", scale=alt.Scale(domain=list(names), range=[SERIES[0], LIGHT["accent"]]), legend=legend),
            strokeDash=alt.StrokeDash("series:N", scale=alt.Scale(domain=list(names), range=[[1, 0], [5, 2]]), legend=legend),
        )
        .properties(width=WIDTH, height=120, title=title)
    )


def _draw_files(panel: dict[str, Any]) -> tuple[alt.Chart, str]:
    import altair as alt

    rows = panel["rows"]
    first = rows[0]["t"]
    kept = rows[:: max(1, len(rows) // (POINTS // 4) + 1)] if len(rows) > POINTS // 4 else rows
    points = [{"x": r["t"] - first, "n": n} for n, r in enumerate(kept, 1)]
    where = f"{panel['label']}: " if panel["label"] else ""
    said = f"{where}{len(rows)} responses finished within {number(rows[-1]['t'] - first)} s"
    chart = (
        alt.Chart(alt.Data(values=points))
        .mark_point(filled=True, size=60, color=SERIES[0], opacity=0.9)
        .encode(
            x=time_x(rows[-1]["t"] - first, "the first response was complete", 8),
            y=alt.Y("n:Q", title="responses", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=4, tickMinStep=1)),
        )
        .properties(width=WIDTH, height=110, title=said)
    )
    sizes = clusters([r["t"] for r in rows], rows[0]["resolution_s"])
    return chart, f"{said}, in groups of {', '.join(map(str, sizes))}." if len(sizes) <= 12 else f"{said}."


def clusters(times: Sequence[float], resolution_s: float | None) -> list[int]:
    """Sizes of the groups that finish together: a new one begins after a gap of a quarter of the span and of twice the resolution."""
    gap = max((times[-1] - times[0]) / 4, 2 * (resolution_s or 0.0))
    sizes = [1]
    for before, after in pairwise(times):
        if after - before > gap:
            sizes.append(0)
        sizes[-1] += 1
    return sizes
