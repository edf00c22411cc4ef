"""Utilisation of each card and their sum, one plot area per recording."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .look import DASHES, LIGHT, SERIES, Drawing, Layers, Stack
from .series import largest, thin, time_x
from .words import interval, left_out, short

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from ...store import Store

PANELS = 4
CARDS = 8  # more lines than that are drawn as the band between the lowest and the highest card

_RECORDINGS = """
SELECT u.scope_id, u.source_id, coalesce(sc.label, 'trace') AS label, s.name AS source, max(u.cards) AS cards, count(*) AS n,
    avg(u.util_sum) FILTER (u.complete) AS mean, min(u.util_sum) FILTER (u.complete) AS low,
    max(u.util_sum) FILTER (u.complete) AS high, count(*) FILTER (u.complete) AS whole,
    bool_and(u.t IS NOT NULL) AND max(u.t) > min(u.t) AS timed, min(u.t) AS began, min(u.cycle) AS first
FROM main.util_sums u LEFT JOIN main.scopes sc USING (scope_id) LEFT JOIN raw.sources s ON s.source_id = u.source_id
GROUP BY u.scope_id, u.source_id, sc.label, s.name HAVING count(*) >= 3 ORDER BY u.scope_id = 0, u.scope_id, u.source_id
"""


def collect(store: Store) -> dict[str, Any] | None:
    """The recordings, and the points of those that are drawn."""
    found = store.rows_of(_RECORDINGS)
    panels = found[:PANELS]
    return {"found": len(found), "panels": [{**p, "points": _points(store, p, len(panels)).to_dicts()} for p in panels]} if found else None


def _x(panel: dict[str, Any]) -> str:
    return f"t - {panel['began']!r}" if panel["timed"] else f"cycle - {panel['first']} + 1"


def _points(store: Store, panel: dict[str, Any], panels: int) -> pl.DataFrame:
    where = f"WHERE scope_id = {panel['scope_id']} AND source_id = {panel['source_id']}"
    x = _x(panel)
    total = f"SELECT 'sum' AS series, {x} AS x, CASE WHEN complete THEN util_sum END AS y FROM main.util_sums {where}"
    if panel["cards"] > CARDS:
        ends = " UNION ALL ".join(
            f"SELECT '{name} card' AS series, {x} AS x, {column} AS y FROM main.util_sums {where}"
            for name, column in (("lowest", "util_min"), ("highest", "util_max"))
        )
        return thin(store, f"{total} UNION ALL {ends}", 3, panels)
    hosts = f"(SELECT count(DISTINCT host) FROM main.samples_in_load {where}) > 1"
    series = f"CASE WHEN {hosts} THEN coalesce(host, '') || ' ' ELSE '' END || 'gpu' || gpu"
    single = "" if panel["cards"] > 1 else "WHERE FALSE"
    # a card that never does anything and holds no model is left out, as in the sum
    busy = "QUALIFY max(util_gpu) OVER (PARTITION BY host, gpu) > 2 OR max(mem_used) OVER (PARTITION BY host, gpu) > 1024"
    cards = f"SELECT {series} AS series, {x} AS x, util_gpu AS y FROM main.samples_in_load {where} {busy}"
    return thin(store, f"SELECT * FROM ({cards}) UNION ALL SELECT * FROM ({total}) {single}", panel["cards"] + 1, panels)


def draw(data: dict[str, Any]) -> Drawing:
    """Thin lines are cards, the thick one is their sum."""
    panels = data["panels"]
    names = list(dict.fromkeys(point["series"] for panel in panels for point in panel["points"] if point["series"] != "sum"))
    names.sort(key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])
    said = [_says(panel) for panel in panels]
    chart = Stack([_panel(panel, names) for panel in panels])
    return Drawing(chart, " ".join(said) + left_out(data["found"], len(panels), "recordings"))


def _panel(panel: dict[str, Any], names: Sequence[str]) -> Layers:
    import altair as alt

    points = panel["points"]
    domain = [*names, "sum"] if len(names) > 1 else [*names]
    colours = [SERIES[n % len(SERIES)] for n in range(len(names))] + [LIGHT["fg"]]
    dashes = [DASHES[n % len(DASHES)] for n in range(len(names))] + [[1, 0]]
    legend = alt.Legend(symbolType="stroke", columns=5) if len(domain) > 1 else None
    top = max(105.0, largest(p["y"] for p in points) * 1.05)
    numbered = alt.X(
        "x:Q",
        title="sample number (the file has no times)",
        axis=alt.Axis(grid=False, tickCount=8, tickMinStep=1),
        scale=alt.Scale(nice=False, padding=2),
    )
    encoding = {
        "x": time_x(largest(p["x"] for p in points), "the first sample", 2) if panel["timed"] else numbered,
        "y": alt.Y(
            "y:Q", title=None, scale=alt.Scale(domain=[0, top], nice=False), axis=alt.Axis(tickCount=5, labelExpr="datum.label + ' %'")
        ),
        "color": alt.Color("series:N", scale=alt.Scale(domain=domain, range=colours[: len(domain)]), legend=legend),
        "strokeDash": alt.StrokeDash("series:N", scale=alt.Scale(domain=domain, range=dashes[: len(domain)]), legend=legend),
    }
    sums = [p for p in points if p["series"] == "sum"]
    cards = alt.Chart(alt.Data(values=[p for p in points if p["series"] != "sum"])).mark_line(clip=True, strokeWidth=1.4)
    total = alt.Chart(alt.Data(values=sums)).mark_line(clip=True, strokeWidth=2.6)
    lines = [line.encode(**encoding) for line in ([cards, total] if sums else [cards])]
    return Layers([_hundred(), *lines], 150, _title(panel))


def _hundred() -> alt.Chart:
    import altair as alt

    rule = alt.Chart(alt.Data(values=[{"y": 100}])).mark_rule(strokeDash=[3, 3], stroke=LIGHT["accent"], strokeWidth=1.2)
    return rule.encode(y=alt.Y("y:Q"))


def _title(panel: dict[str, Any]) -> str:
    place = f"{panel['label']}, {short(panel['source'])}" if panel["source"] else panel["label"]
    if panel["mean"] is None:
        return f"{place}: no complete sample"
    what = "sum" if panel["cards"] > 1 else "utilisation"
    return f"{place}: {what} {panel['mean']:.1f} % ({interval(panel['low'], panel['high'])})"


def _says(panel: dict[str, Any]) -> str:
    cards = f"{panel['cards']} cards" if panel["cards"] > 1 else "1 card"
    return f"{_title(panel)}, {panel['whole']} complete samples of {cards}."
