"""Throughput, speed of one stream and streams that decode at a time, over the streams offered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...phrase import number
from .look import LIGHT, SERIES, Drawing, Layers, Stack
from .words import interval, left_out

if TYPE_CHECKING:
    import altair as alt

    from ...store import Store

_STEPS = """
SELECT st.series_key, coalesce(sc.series, 'sweep') AS series, st.concurrency AS c, st.x, st.r,
    CASE WHEN st.r_is_decode THEN st.n_eff END AS n_eff, coalesce(st.r_is_decode, FALSE) AS decode, l.slots_lo, l.slots_hi, l.slots_origin
FROM main.steps st JOIN main.scopes sc USING (scope_id) LEFT JOIN main.slots l USING (scope_id)
WHERE st.concurrency > 0 ORDER BY series, st.series_key, c
"""


def collect(store: Store) -> list[dict[str, Any]] | None:
    """The steps that have a rate, where they are at least two."""
    usable = [r for r in store.rows_of(_STEPS) if r["x"] is not None or r["r"] is not None]
    return usable if len({r["c"] for r in usable}) >= 2 else None


def draw(found: Sequence[dict[str, Any]]) -> Drawing:
    """One plot area per rate, the slot limit in each."""
    series = list(dict.fromkeys(r["series"] for r in found))
    rows = [r for r in found if r["series"] in series[: len(SERIES)]]
    decode = all(r["decode"] for r in rows if r["r"] is not None)
    speed = "tokens/s of one stream, decode" if decode else "tokens/s of one stream, as the source counts it"
    panels = [
        ("x", "tokens/s of all streams", 130),
        ("r", speed, 110),
        ("n_eff", "streams that decode at a time (total / one stream)", 110),
    ]
    drawn = [p for p in panels if any(r[p[0]] is not None for r in rows)]
    parts = [_panel(rows, key, title, height, last=n + 1 == len(drawn)) for n, (key, title, height) in enumerate(drawn)]
    said = " ".join(_says(name, [r for r in rows if r["series"] == name], len(series) > 1) for name in series[: len(SERIES)])
    return Drawing(Stack(parts), said + _slots_say(rows) + left_out(len(series), min(len(series), len(SERIES)), "series"))


def _panel(rows: Sequence[dict[str, Any]], key: str, title: str, height: int, last: bool) -> Layers:
    import altair as alt

    steps = sorted({float(r["c"]) for r in rows})
    scale = (
        alt.Scale(type="log", base=2, nice=False, padding=12)
        if steps[-1] >= 8 * steps[0]
        else alt.Scale(zero=False, nice=False, padding=12)
    )
    x = alt.X("c:Q", title="streams offered" if last else None, scale=scale, axis=alt.Axis(values=steps, format="~g", grid=False))
    y = alt.Y("y:Q", title=None, scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(tickCount=4))
    names = list(dict.fromkeys(r["series"] for r in rows))
    points = [{"c": r["c"], "y": r[key], "series": r["series"], "label": number(r[key])} for r in rows if r[key] is not None]
    legend = alt.Legend(symbolSize=60, columns=3) if len(names) > 1 else None
    base = alt.Chart(alt.Data(values=points)).encode(x=x, y=y)
    colour = alt.Color("series:N", scale=alt.Scale(domain=names, range=SERIES), legend=legend)
    lines = base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=44)).encode(
        color=colour, shape=alt.Shape("series:N", scale=alt.Scale(domain=names), legend=legend)
    )
    layers = [*_slot_marks(rows, x), lines]
    if len(names) == 1:
        layers.append(base.mark_text(dy=-10, fontSize=11, color=LIGHT["fg"]).encode(text=alt.Text("label:N")))
    if key == "n_eff":
        layers = [*_offered(steps, x, y), *layers]
    return Layers(layers, height, title)


def _offered(steps: Sequence[float], x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """What would decode at a time if every offered stream did."""
    import altair as alt

    line = alt.Chart(alt.Data(values=[{"c": c, "y": c} for c in steps])).mark_line(
        strokeDash=[2, 3], strokeWidth=1.2, stroke=LIGHT["muted"]
    )
    label = alt.Chart(alt.Data(values=[{"c": steps[-1], "y": steps[-1]}])).mark_text(
        align="right", dx=-22, fontSize=11, color=LIGHT["muted"], text="all that are offered"
    )
    return [line.encode(x=x, y=y), label.encode(x=x, y=y)]


def _slot_ranges(rows: Iterable[dict[str, Any]]) -> list[tuple[float, float, str | None]]:
    known = {(r["slots_lo"], r["slots_hi"], r["slots_origin"]) for r in rows if r["slots_lo"] is not None and r["slots_hi"] is not None}
    return sorted(known, key=lambda k: (k[0], k[1], k[2] or ""))


def _slot_marks(rows: Sequence[dict[str, Any]], x: alt.X) -> list[alt.Chart]:
    """The slot limit as a line, or as a band where it is only known as an interval; only inside the range of the sweep."""
    import altair as alt

    lowest, highest = min(r["c"] for r in rows), max(r["c"] for r in rows)
    marks: list[alt.Chart] = []
    for low, high, _ in _slot_ranges(rows):
        if high < lowest or low > highest:
            continue
        data = alt.Data(values=[{"c": max(low, lowest), "c2": min(high, highest), "label": f"{interval(low, high)} slots"}])
        if low == high:
            marks.append(alt.Chart(data).mark_rule(stroke=LIGHT["accent"], strokeDash=[3, 3], strokeWidth=1.5).encode(x=x))
        else:
            marks.append(alt.Chart(data).mark_rect(fill=LIGHT["accent"], opacity=0.12).encode(x=x, x2=alt.X2("c2:Q")))
        label = alt.Chart(data).mark_text(align="left", baseline="bottom", dx=5, dy=-4, fontSize=11, color=LIGHT["accent"])
        marks.append(label.encode(x=x, y=alt.YValue("height"), text=alt.Text("label:N")))
    return marks


def _slots_say(rows: Sequence[dict[str, Any]]) -> str:
    said = [f"{interval(low, high)} slots" + (f" ({origin})" if origin else "") for low, high, origin in _slot_ranges(rows)]
    return f" Slot limit: {', '.join(said)}." if said else ""


def _says(name: str, rows: Sequence[dict[str, Any]], named: bool) -> str:
    parts = []
    for r in rows:
        said = [f"{number(r['x'])} tokens/s in all"] if r["x"] is not None else []
        said += [f"{number(r['r'])} for one"] if r["r"] is not None else []
        said += [f"{number(r['n_eff'])} decode at a time"] if r["n_eff"] is not None else []
        parts.append(f"{number(r['c'])} streams: {', '.join(said)}")
    return (f"{name}: " if named else "") + "; ".join(parts) + "."
