"""The charts: SVG text that serves light and dark, a browser page and a plain image viewer, drawn offline by altair.

Colours are drawn as those of the light palette, so that a viewer without CSS shows them; a style inside the SVG turns each into a
variable (`var(--fg)`, `var(--s1)`), which the page sets, or the SVG itself where it stands alone. Long series are thinned in SQL to
the lowest and the highest value per pixel, so that no peak is lost. A chart whose data is absent is not drawn.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..clock import OWN_AXIS
from ..phrase import number
from ..tables import TABLES
from . import summary

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from ..analyze import Analysis
    from ..result import Finding, Primary, Result
    from ..store import Store

WIDTH = 470  # of the plot area, in px: whole charts stay legible at phone width
POINTS = 2400  # in one chart; altair refuses 5000
PANELS = 4
CARDS = 8  # more lines than that are drawn as the band between the lowest and the highest card
BARS = 1200
LANES = 32
ALIGNED = 14  # rows of the alignment panel
ALIKE = 3  # so many files of one folder with the same tie are one row there

# name -> (light, dark). Text colours keep a contrast of 4.5 on the page's background, lines 3.
PALETTE = {
    "fg": ("#1f2328", "#e6e9ed"),
    "muted": ("#59626d", "#9da7b3"),
    "grid": ("#dfe3e8", "#30363d"),
    "accent": ("#b3261e", "#ff8f85"),
    "s1": ("#0b6bcb", "#6cb2ff"),
    "s2": ("#b45309", "#f2a65a"),
    "s3": ("#0f766e", "#4fd1c0"),
    "s4": ("#7c3aed", "#b79bff"),
    "s5": ("#be185d", "#f58ab8"),
    "s6": ("#4d7c0f", "#a9d45c"),
    "s7": ("#0e7490", "#67d4ee"),
    "s8": ("#78716c", "#c4bcb4"),
}
LIGHT = {name: light for name, (light, _) in PALETTE.items()}
SERIES = [LIGHT[f"s{n}"] for n in range(1, 9)]
DASHES = [[1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [1, 2], [10, 3], [3, 1]]
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
TITLES = {
    "utilisation": "GPU utilisation, card by card and summed",
    "sweep": "Throughput and speed over concurrency",
    "requests": "Requests over time",
    "ceiling": "Shares of the hardware ceilings",
    "alignment": "The sources on one time axis",
    "budget": "Time budget of one step",
}


# XML has no such characters, and vl-convert does not survive them
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass
class Drawing:
    """A chart before it is SVG, and what it says in words."""

    chart: alt.TopLevelMixin
    says: str


def draw(analysis: Analysis, renderer: Renderer | None = None) -> dict[str, str]:
    """Chart name -> SVG text, in the order of TITLES; only those that have data. A `renderer` made earlier has started meanwhile."""
    store, result = analysis.store, analysis.result
    makers: dict[str, Callable[[], Callable[[], Drawing] | None]] = {
        "utilisation": lambda: _utilisation(store),
        "sweep": lambda: _sweep(store),
        "requests": lambda: _requests(store),
        "ceiling": lambda: _ceiling(result.findings, result.settings.get("limits_overridden", {})),
        "alignment": lambda: _alignment(store),
        "budget": lambda: _budget(result),
    }
    ready = {name: make for name, maker in makers.items() if (make := maker()) is not None}
    if not ready:
        if renderer:
            renderer.close()
        return {}
    renderer = renderer or Renderer()
    with ThreadPoolExecutor(1) as queue:
        drawn = {}
        for name, make in ready.items():
            spec, says = _spec(make)
            drawn[name] = (queue.submit(renderer.svg, spec), says)
        finished = {name: _finish(name, svg.result(), says) for name, (svg, says) in drawn.items() if svg.result()}
    renderer.close()
    return finished


class Renderer:
    """Vega-Lite to SVG in a process of its own: vl-convert keeps Python's lock while it starts (0.4 s) and draws, so that a thread would
    not help. Where no process can be had, it draws here. SVGs are the same either way."""

    _CHILD = (
        "import json, sys, vl_convert\n"
        "for line in sys.stdin: print(json.dumps(vl_convert.vegalite_to_svg(json.loads(line), vl_version='v6_1')), flush=True)"
    )

    def __init__(self, python: str | None = sys.executable) -> None:
        self._child: subprocess.Popen[str] | None = None
        self._lives = False
        if python:
            with contextlib.suppress(OSError):
                self._child = subprocess.Popen(
                    [python, "-c", self._CHILD],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    encoding="utf-8",
                )
                self._ask({"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {}})

    def svg(self, spec: dict[str, Any]) -> str:
        """One SVG; an empty text for a chart that the renderer does not survive. Blocks; call it from one thread only."""
        if self._child is not None and not self._lives:
            try:
                self._answer()
                self._lives = True
            except (OSError, ValueError):
                self.close()
        if self._child is not None:
            try:
                self._ask(spec)
                return self._answer()
            except (OSError, ValueError):
                self.close()
        if self._lives:
            return ""  # what ended the other process would end this one
        import vl_convert

        return vl_convert.vegalite_to_svg(spec, vl_version="v6_1")

    def _ask(self, spec: dict[str, Any]) -> None:
        assert self._child and self._child.stdin
        self._child.stdin.write(json.dumps(spec) + "\n")
        self._child.stdin.flush()

    def _answer(self) -> str:
        assert self._child and self._child.stdout
        return str(json.loads(self._child.stdout.readline()))  # an empty line, from a process that died, is a ValueError

    def close(self) -> None:
        if self._child is not None:
            child, self._child = self._child, None
            child.kill()
            with contextlib.suppress(OSError), child:  # closes the pipes and waits
                pass


# --- one look, and from Vega's SVG to ours --------------------------------------------------------------------------------------


def _spec(make: Callable[[], Drawing]) -> tuple[dict[str, Any], str]:
    """The Vega-Lite of a chart. Checking it against the schema takes longer than drawing: the tests do that, not every run."""
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):
        drawing = make()
        spec = drawing.chart.to_dict(validate=False)
    return {
        **_printable(spec),
        "background": None,
        "padding": {"left": 6, "top": 6, "right": 16, "bottom": 6},
        "config": _look(),
    }, drawing.says


def _printable(value: Any) -> Any:
    """The same with every name made of characters that a picture can hold."""
    if isinstance(value, str):
        return _UNPRINTABLE.sub("?", value)
    if isinstance(value, dict):
        return {key: _printable(inner) for key, inner in value.items()}
    return [_printable(inner) for inner in value] if isinstance(value, list) else value


def _look() -> dict[str, Any]:
    """One look for all charts. No aria text inside: the SVG is one picture with a description."""
    text, muted, grid = LIGHT["fg"], LIGHT["muted"], LIGHT["grid"]
    plain = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    return {
        "font": "sans-serif",
        "aria": False,
        "view": {"stroke": None},
        "axis": {
            **plain,
            "labelColor": muted,
            "titleColor": muted,
            "gridColor": grid,
            "domainColor": grid,
            "tickColor": grid,
            "labelOverlap": True,
        },
        "legend": {
            "orient": "top",
            "title": None,
            "labelColor": text,
            "labelFontSize": 12,
            "symbolStrokeWidth": 2.5,
            "symbolSize": 220,
            "columnPadding": 14,
        },
        "title": {"color": text, "fontSize": 13, "fontWeight": 600, "anchor": "start", "frame": "group", "offset": 8},
        "concat": {"spacing": 18},
    }


def _finish(name: str, svg: str, says: str) -> str:
    """Our own root element with a title and the numbers in words, our own ids, colours as variables."""
    head = re.match(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)" viewBox="([^"]+)"[^>]*>', svg)
    if head is None:
        raise ValueError(f"the renderer gave no SVG for the chart {name}")
    body = svg[head.end() :]
    body = re.sub(r' (?:font-family="[^"]*"|class="[^"]*"|role="[^"]*"|aria-[a-z]+="[^"]*")', "", body)
    body = re.sub(r' (fill|stroke)="transparent"', r' \1="none"', body)
    found: dict[str, str] = {}
    for old in re.findall(r'id="([^"]+)"', body):
        found.setdefault(old, f"gv-{name}-{len(found)}")
    body = re.sub(r'id="([^"]+)"', lambda m: f'id="{found[m[1]]}"', body)
    body = re.sub(r"url\(#([^)]+)\)", lambda m: f"url(#{found.get(m[1], m[1])})", body)
    title = escape(TITLES[name])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="gv-{name}" class="chart" width="{head[1]}" height="{head[2]}" viewBox="{head[3]}" '
        f'role="img" aria-labelledby="gv-{name}-title gv-{name}-desc"><title id="gv-{name}-title">{title}</title>'
        f'<desc id="gv-{name}-desc">{escape(_UNPRINTABLE.sub("?", says))}</desc><style>{_colours(name, body)}</style>{body}'
    )


def _colours(name: str, body: str) -> str:
    """Each colour that occurs becomes a variable. `svg:root` holds only where the SVG is a document of its own."""
    used = [(key, pair) for key, pair in PALETTE.items() if f'"{pair[0]}"' in body]
    rules = [f"#gv-{name}{{font-family:{FONT}}}"]
    for key, (light, _) in used:
        for attribute in ("fill", "stroke"):
            if f'{attribute}="{light}"' in body:
                rules.append(f'#gv-{name} [{attribute}="{light}"]{{{attribute}:var(--{key},{light})}}')
    dark = ";".join(f"--{key}:{pair[1]}" for key, pair in used)
    return "".join(rules) + f"@media(prefers-color-scheme:dark){{svg#gv-{name}:root{{{dark};background:#14171a}}}}"


# --- series, thinned -------------------------------------------------------------------------------------------------------------

_THIN = """
WITH rows_of AS ({rows}), ends AS (
    SELECT min(x) AS lo, max(x) AS hi, max(n) AS n FROM (SELECT series, min(x) AS x, count(*) AS n FROM rows_of GROUP BY series
                                                        UNION ALL SELECT series, max(x), 0 FROM rows_of GROUP BY series)
), placed AS (
    SELECT
        series, x, y,
        CASE WHEN n <= 2 * {buckets} THEN x ELSE least(floor((x - lo) / (hi - lo) * {buckets}), {buckets} - 1) END AS bucket
    FROM rows_of, ends WHERE x IS NOT NULL
), extremes AS (
    SELECT
        series, bucket, min(x) AS x,
        min({{'y': y, 'x': x}}) FILTER (y IS NOT NULL) AS low, max({{'y': y, 'x': x}}) FILTER (y IS NOT NULL) AS high
    FROM placed GROUP BY series, bucket
)
SELECT series, low.x AS x, low.y AS y FROM extremes WHERE low IS NOT NULL
UNION SELECT series, high.x, high.y FROM extremes WHERE high IS NOT NULL
UNION SELECT series, x, NULL FROM extremes WHERE low IS NULL
ORDER BY series, x, y
"""


def thin(store: Store, rows: str, series: int, panels: int = 1) -> pl.DataFrame:
    """`rows` is a SELECT of series, x, y. The lowest and highest y per bucket of x, at most POINTS in one chart; where y is unknown, and
    where samples are missing for much longer than usual, y is NULL and the line is broken."""
    import polars as pl

    buckets = max(8, min(WIDTH, POINTS // (2 * series * panels)))
    frame = store.query(_THIN.format(rows=rows, buckets=buckets)).cast({"x": pl.Float64, "y": pl.Float64})
    step = pl.col("x").diff().over("series")
    usual = step.filter(step > 0).median()
    width = (pl.col("x").max() - pl.col("x").min()) / buckets
    holes = frame.with_columns(step=step).filter(pl.col("step") > pl.max_horizontal(5 * usual, 3 * width))
    broken = holes.select("series", x=pl.col("x") - pl.col("step") / 2, y=pl.lit(None, pl.Float64))
    return pl.concat([frame, broken]).sort("series", "x", "y", maintain_order=True)


def _largest(values: pl.Series) -> float:
    """The largest value; 0 where there is none."""
    return float(values.cast(float).max() or 0.0)  # type: ignore[arg-type]


def _time_x(span: float, since: str, padding: float = 0) -> alt.X:
    """The axis of a time in seconds, told in seconds, minutes or hours."""
    import altair as alt

    size, unit = (1, "seconds") if span < 900 else (60, "minutes") if span < 3 * 3600 else (3600, "hours")
    rough = max(span, 1e-9) / size / 8
    tens = 10.0 ** math.floor(math.log10(rough))
    step = next(m * tens for m in (1, 2, 5, 10) if m * tens >= rough) * size
    ticks = [n * step for n in range(int(span / step) + 1)]
    axis = alt.Axis(grid=False, values=ticks, labelExpr=f"format(datum.value / {size}, '~r')")
    return alt.X("x:Q", title=f"{unit} since {since}", axis=axis, scale=alt.Scale(nice=False, padding=padding))


def _short(name: str, most: int = 30) -> str:
    last = name.rsplit("/", 1)[-1]
    return last if len(last) <= most else f"{last[: most // 2]}…{last[-most // 2 + 1 :]}"


def _place(scope: str, source: str | None) -> str:
    return f"{scope}, {_short(source)}" if source else scope


def _range(low: float, high: float) -> str:
    return number(low) if number(low) == number(high) else f"{number(low)}..{number(high)}"


def _shown(total: int, shown: int, what: str) -> str:
    return f" {shown} of {total} {what} are drawn." if total > shown else ""


# --- utilisation -----------------------------------------------------------------------------------------------------------------

_UTIL_PANELS = """
SELECT u.scope_id, u.source_id, coalesce(sc.label, 'trace') AS label, s.name AS source, max(u.cards) AS cards, count(*) AS n,
    avg(u.util_sum) FILTER (u.complete) AS mean, min(u.util_sum) FILTER (u.complete) AS low,
    max(u.util_sum) FILTER (u.complete) AS high, count(*) FILTER (u.complete) AS whole,
    bool_and(u.t IS NOT NULL) AND max(u.t) > min(u.t) AS timed, min(u.t) AS began, min(u.cycle) AS first
FROM main.util_sums u LEFT JOIN main.scopes sc USING (scope_id) LEFT JOIN raw.sources s ON s.source_id = u.source_id
GROUP BY u.scope_id, u.source_id, sc.label, s.name HAVING count(*) >= 3 ORDER BY u.scope_id = 0, u.scope_id, u.source_id
"""


def _utilisation(store: Store) -> Callable[[], Drawing] | None:
    panels = store.rows_of(_UTIL_PANELS)
    return (lambda: _draw_utilisation(store, panels)) if panels else None


def _draw_utilisation(store: Store, found: Sequence[dict[str, Any]]) -> Drawing:
    import altair as alt

    panels = found[:PANELS]
    frames = [_util_rows(store, panel, len(panels)) for panel in panels]
    names = list(dict.fromkeys(name for frame in frames for name in frame["series"].to_list() if name != "sum"))
    names.sort(key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])
    parts = [_util_panel(panel, frame, names) for panel, frame in zip(panels, frames)]
    said = [_util_says(panel) for panel in panels]
    return Drawing(alt.vconcat(*parts), " ".join(said) + _shown(len(found), len(panels), "recordings"))


def _util_x(panel: dict[str, Any]) -> str:
    return f"t - {panel['began']!r}" if panel["timed"] else f"cycle - {panel['first']} + 1"


def _util_rows(store: Store, panel: dict[str, Any], panels: int) -> pl.DataFrame:
    where = f"WHERE scope_id = {panel['scope_id']} AND source_id = {panel['source_id']}"
    x = _util_x(panel)
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


def _util_panel(panel: dict[str, Any], frame: pl.DataFrame, names: Sequence[str]) -> Any:
    import altair as alt

    domain = [*names, "sum"] if len(names) > 1 else [*names]
    colours = [SERIES[n % len(SERIES)] for n in range(len(names))] + [LIGHT["fg"]]
    dashes = [DASHES[n % len(DASHES)] for n in range(len(names))] + [[1, 0]]
    legend = alt.Legend(symbolType="stroke", columns=5) if len(domain) > 1 else None
    top = max(105.0, _largest(frame["y"]) * 1.05)
    numbered = alt.X(
        "x:Q",
        title="sample number (the file has no times)",
        axis=alt.Axis(grid=False, tickCount=8, tickMinStep=1),
        scale=alt.Scale(nice=False, padding=2),
    )
    encoding = {
        "x": _time_x(_largest(frame["x"]), "the first sample", 2) if panel["timed"] else numbered,
        "y": alt.Y(
            "y:Q", title=None, scale=alt.Scale(domain=[0, top], nice=False), axis=alt.Axis(tickCount=5, labelExpr="datum.label + ' %'")
        ),
        "color": alt.Color("series:N", scale=alt.Scale(domain=domain, range=colours[: len(domain)]), legend=legend),
        "strokeDash": alt.StrokeDash("series:N", scale=alt.Scale(domain=domain, range=dashes[: len(domain)]), legend=legend),
    }
    is_sum = frame["series"] == "sum"
    cards = alt.Chart(frame.filter(~is_sum)).mark_line(clip=True, strokeWidth=1.4).encode(**encoding)
    total = alt.Chart(frame.filter(is_sum)).mark_line(clip=True, strokeWidth=2.6).encode(**encoding)
    layers = [_hundred(), cards, total] if is_sum.any() else [_hundred(), cards]
    return alt.layer(*layers).properties(width=WIDTH, height=150, title=_util_title(panel))


def _hundred() -> Any:
    import altair as alt

    return (
        alt.Chart(alt.Data(values=[{"y": 100}]))
        .mark_rule(strokeDash=[3, 3], stroke=LIGHT["accent"], strokeWidth=1.2)
        .encode(y=alt.Y("y:Q"))
    )


def _util_title(panel: dict[str, Any]) -> str:
    place = _place(panel["label"], panel["source"])
    if panel["mean"] is None:
        return f"{place}: no complete sample"
    what = "sum" if panel["cards"] > 1 else "utilisation"
    return f"{place}: {what} {panel['mean']:.1f} % ({_range(panel['low'], panel['high'])})"


def _util_says(panel: dict[str, Any]) -> str:
    cards = f"{panel['cards']} cards" if panel["cards"] > 1 else "1 card"
    return f"{_util_title(panel)}, {panel['whole']} complete samples of {cards}."


# --- sweep -----------------------------------------------------------------------------------------------------------------------

_STEPS = """
SELECT st.series_key, coalesce(sc.series, 'sweep') AS series, st.concurrency AS c, st.x, st.r,
    CASE WHEN st.r_is_decode THEN st.n_eff END AS n_eff, coalesce(st.r_is_decode, FALSE) AS decode, l.slots_lo, l.slots_hi, l.slots_origin
FROM main.steps st JOIN main.scopes sc USING (scope_id) LEFT JOIN main.slots l USING (scope_id)
WHERE st.concurrency > 0 ORDER BY series, st.series_key, c
"""


def _sweep(store: Store) -> Callable[[], Drawing] | None:
    rows = store.rows_of(_STEPS)
    usable = [r for r in rows if r["x"] is not None or r["r"] is not None]
    return (lambda: _draw_sweep(usable)) if len({r["c"] for r in usable}) >= 2 else None


def _draw_sweep(found: Sequence[dict[str, Any]]) -> Drawing:
    import altair as alt

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
    parts = [_sweep_panel(rows, key, title, height, last=n + 1 == len(drawn)) for n, (key, title, height) in enumerate(drawn)]
    said = " ".join(_sweep_says(name, [r for r in rows if r["series"] == name], len(series) > 1) for name in series[: len(SERIES)])
    return Drawing(alt.vconcat(*parts), said + _slots_say(rows) + _shown(len(series), min(len(series), len(SERIES)), "series"))


def _sweep_panel(rows: Sequence[dict[str, Any]], key: str, title: str, height: int, last: bool) -> Any:
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
    return alt.layer(*layers).properties(width=WIDTH, height=height, title=title)


def _offered(steps: Sequence[float], x: Any, y: Any) -> list[Any]:
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


def _slot_marks(rows: Sequence[dict[str, Any]], x: Any) -> list[Any]:
    """The slot limit as a line, or as a band where it is only known as an interval; only inside the range of the sweep."""
    import altair as alt

    lowest, highest = min(r["c"] for r in rows), max(r["c"] for r in rows)
    marks: list[Any] = []
    for low, high, _ in _slot_ranges(rows):
        if high < lowest or low > highest:
            continue
        data = alt.Data(values=[{"c": max(low, lowest), "c2": min(high, highest), "label": f"{_range(low, high)} slots"}])
        if low == high:
            marks.append(alt.Chart(data).mark_rule(stroke=LIGHT["accent"], strokeDash=[3, 3], strokeWidth=1.5).encode(x=x))
        else:
            marks.append(alt.Chart(data).mark_rect(fill=LIGHT["accent"], opacity=0.12).encode(x=x, x2=alt.X2("c2:Q")))
        label = alt.Chart(data).mark_text(align="left", baseline="bottom", dx=5, dy=-4, fontSize=11, color=LIGHT["accent"])
        marks.append(label.encode(x=x, y=alt.YValue("height"), text=alt.Text("label:N")))
    return marks


def _slots_say(rows: Sequence[dict[str, Any]]) -> str:
    said = [f"{_range(low, high)} slots" + (f" ({origin})" if origin else "") for low, high, origin in _slot_ranges(rows)]
    return f" Slot limit: {', '.join(said)}." if said else ""


def _sweep_says(name: str, rows: Sequence[dict[str, Any]], named: bool) -> str:
    parts = []
    for r in rows:
        said = [f"{number(r['x'])} tokens/s in all"] if r["x"] is not None else []
        said += [f"{number(r['r'])} for one"] if r["r"] is not None else []
        said += [f"{number(r['n_eff'])} decode at a time"] if r["n_eff"] is not None else []
        parts.append(f"{number(r['c'])} streams: {', '.join(said)}")
    return (f"{name}: " if named else "") + "; ".join(parts) + "."


# --- requests --------------------------------------------------------------------------------------------------------------------

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


def _requests(store: Store) -> Callable[[], Drawing] | None:
    logs, statistics, files = store.rows_of(_LOGS), store.rows_of(_STATISTICS), store.rows_of(_FILES)
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in files:
        groups.setdefault(row["label"], []).append(row)
    arrived = {label: rows for label, rows in groups.items() if len(rows) >= 2 and rows[-1]["t"] > rows[0]["t"]}
    return (lambda: _draw_requests(store, logs, statistics, arrived)) if logs or statistics or arrived else None


def _draw_requests(
    store: Store, logs: Sequence[dict[str, Any]], statistics: Sequence[dict[str, Any]], files: dict[str, list[dict[str, Any]]]
) -> Drawing:
    import altair as alt

    parts = [_log_panel(store, log) for log in logs[:2]]
    parts += [_statistics_panel(store, row) for row in statistics[:2]]
    parts += [_files_panel(label, rows) for label, rows in list(files.items())[:2]]
    hidden = _shown(len(logs) + len(statistics) + len(files), len(parts), "recordings")
    return Drawing(
        alt.vconcat(*(chart for chart, _ in parts)).resolve_scale(color="independent", strokeDash="independent"),
        " ".join(said for _, said in parts) + hidden,
    )


def _log_panel(store: Store, log: dict[str, Any]) -> tuple[Any, str]:
    span = log["ended"] - log["began"]
    said = f"{_short(log['source'] or 'server log')}: {log['n']} requests in {number(span)} s"
    if not log["slotted"] or log["slots"] > LANES:
        return _in_flight_panel(store, log, said)
    import altair as alt

    rows = store.query(_lanes(log, span))
    steps = rows.sort("x", "slot")["step"].unique(maintain_order=True).to_list()
    legend = alt.Legend(symbolType="square", columns=5) if len(steps) > 1 else None
    colour = alt.Color("step:N", scale=alt.Scale(domain=steps, range=SERIES), legend=legend)
    fill = {"color": colour} if len(steps) <= len(SERIES) else {"color": alt.ColorValue(SERIES[0])}
    chart = (
        alt.Chart(rows)
        .mark_bar(height={"band": 0.8}, stroke=LIGHT["grid"], strokeWidth=0.6)
        .encode(
            x=_time_x(span, "the first request"),
            x2=alt.X2("x2:Q"),
            y=alt.Y("slot:O", title=None, axis=alt.Axis(ticks=False, labelExpr="'slot ' + datum.label")),
            **fill,
        )
        .properties(width=WIDTH, height=max(40, 22 * log["slots"]), title=f"{said}, {log['slots']} slots used")
    )
    return chart, f"{said} on {log['slots']} slots, at most {_most_at_once(store, log)} at a time."


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


def _most_at_once(store: Store, log: dict[str, Any]) -> str:
    return number(store.rows_of(f"SELECT max(y) AS most FROM ({_flow(log)})")[0]["most"])


def _in_flight_panel(store: Store, log: dict[str, Any], said: str) -> tuple[Any, str]:
    import polars as pl

    frame = thin(store, _flow(log), 1).filter(pl.col("y").is_not_null())
    return _step_lines(
        frame, ["in flight"], "the first request", f"{said}, in flight"
    ), f"{said}, at most {_most_at_once(store, log)} in flight."


def _statistics_panel(store: Store, row: dict[str, Any]) -> tuple[Any, str]:
    which = (
        f"source_id = {row['source_id']} AND coalesce(engine, 0) = {row['engine']} AND coalesce(run, 0) = {row['run']} AND t IS NOT NULL"
    )
    names = [name for name in ("running", "waiting") if row[name] is not None]
    rows = " UNION ALL ".join(
        f"SELECT '{name}' AS series, t - {row['began']!r} AS x, {name} AS y FROM main.server_samples WHERE {which}" for name in names
    )
    said = f"{_short(row['source'] or 'server log')}: " + ", ".join(f"at most {number(row[name])} {name}" for name in names)
    return _step_lines(thin(store, rows, len(names)), names, "the first statistics line", said), f"{said}, {row['n']} statistics lines."


def _step_lines(frame: pl.DataFrame, names: Sequence[str], since: str, title: str) -> Any:
    import altair as alt

    legend = alt.Legend(symbolType="stroke") if len(names) > 1 else None
    return (
        alt.Chart(frame)
        .mark_line(interpolate="step-after", strokeWidth=1.6)
        .encode(
            x=_time_x(_largest(frame["x"]), since),
            y=alt.Y("y:Q", title="requests", axis=alt.Axis(tickCount=5, tickMinStep=1)),
            color=alt.Color("series:N", scale=alt.Scale(domain=list(names), range=[SERIES[0], LIGHT["accent"]]), legend=legend),
            strokeDash=alt.StrokeDash("series:N", scale=alt.Scale(domain=list(names), range=[[1, 0], [5, 2]]), legend=legend),
        )
        .properties(width=WIDTH, height=120, title=title)
    )


def _files_panel(label: str, rows: Sequence[dict[str, Any]]) -> tuple[Any, str]:
    import altair as alt

    first = rows[0]["t"]
    kept = rows[:: max(1, len(rows) // (POINTS // 4) + 1)] if len(rows) > POINTS // 4 else rows
    points = [{"x": r["t"] - first, "n": n} for n, r in enumerate(kept, 1)]
    where = f"{label}: " if label else ""
    said = f"{where}{len(rows)} responses finished within {number(rows[-1]['t'] - first)} s"
    chart = (
        alt.Chart(alt.Data(values=points))
        .mark_point(filled=True, size=60, color=SERIES[0], opacity=0.9)
        .encode(
            x=_time_x(rows[-1]["t"] - first, "the first response was complete", 8),
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


# --- ceilings --------------------------------------------------------------------------------------------------------------------

# (rule, fact) -> what it is a share of, and the rule's lines unless the user moved them
_SHARES: dict[tuple[str, str], tuple[str, dict[str, float]]] = {
    ("memory-bound", "mbu"): ("memory bandwidth", {"low": 0.40, "high": 0.60}),
    ("link-bandwidth", "link_share"): ("link between the cards", {"small": 0.05, "notable": 0.20}),
    ("link-bandwidth", "measured_share"): ("link, by its counters", {"full": 0.85}),
}


def _ceiling(findings: Sequence[Finding], overridden: dict[str, float]) -> Callable[[], Drawing] | None:
    rows = [row for key in _SHARES for f in findings if f.rule == key[0] and (row := _share(f, key, overridden)) is not None]
    return (lambda: _draw_ceiling(rows)) if rows else None


def _share(finding: Finding, key: tuple[str, str], overridden: dict[str, float]) -> dict[str, Any] | None:
    value = finding.numbers.get(key[1])
    ends = value if isinstance(value, list) else [value, value]
    if len(ends) != 2 or all(not isinstance(end, int | float) for end in ends):
        return None
    what, limits = _SHARES[key]
    lines = sorted(overridden.get(f"{key[0]}.{name}", line) for name, line in limits.items())
    return {"key": key[1], "name": f"{what}, {finding.scope.label}", "low": ends[0], "high": ends[1], "lines": lines}


def _draw_ceiling(found: Sequence[dict[str, Any]]) -> Drawing:
    import altair as alt

    rows = list({r["name"]: r for r in found}.values())[:16]
    top = max(1.0, *(float(end) for r in rows for end in (r["low"], r["high"]) if end is not None))
    bars = [
        {
            "name": r["name"],
            "low": r["low"] or 0,
            "high": top if r["high"] is None else r["high"],
            "label": f"{r['name']}: {_share_text(r)}",
        }
        for r in rows
    ]
    lines = [{"name": r["name"], "line": line} for r in rows for line in r["lines"]]
    memory = [r["lines"] for r in rows if r["key"] == "mbu"]
    means = [f" (memory: below {100 * low:g} % not the main cost, from {100 * high:g} % the limit)" for low, high in memory[:1]]
    axis = alt.Axis(format="%", tickCount=6)
    x = alt.X("low:Q", title="share of the ceiling" + "".join(means), scale=alt.Scale(domain=[0, top], nice=False), axis=axis)
    y = alt.Y("name:N", sort=[r["name"] for r in rows], axis=None)
    base = alt.Chart(alt.Data(values=bars)).encode(x=x, y=y)
    spans = base.mark_bar(height=12, minBandSize=2, fill=SERIES[0], opacity=0.85).encode(x2=alt.X2("high:Q"))
    ends = base.mark_tick(thickness=2, height=16, color=SERIES[0])
    text = base.mark_text(align="left", dy=-15, fontSize=12, color=LIGHT["fg"]).encode(text=alt.Text("label:N"), x=alt.XValue(0))
    rules = alt.Chart(alt.Data(values=lines)).mark_tick(thickness=2, height=18, color=LIGHT["accent"]).encode(x=alt.X("line:Q"), y=y)
    chart = alt.layer(spans, ends, rules, text).properties(width=WIDTH, height=alt.Step(44))
    said = "; ".join(
        f"{r['name']}: {_share_text(r)}" + (f", line at {' and '.join(f'{100 * v:g} %' for v in r['lines'])}" if r["lines"] else "")
        for r in rows
    )
    return Drawing(chart, f"{said}." + _shown(len(found), len(rows), "shares"))


def _share_text(row: dict[str, Any]) -> str:
    if row["low"] is None or row["high"] is None:
        return f"at least {number(100 * row['low'])} %" if row["high"] is None else f"at most {number(100 * row['high'])} %"
    return f"{_range(100 * row['low'], 100 * row['high'])} %"


# --- alignment -------------------------------------------------------------------------------------------------------------------

_TIMES = " UNION ALL ".join(
    f"SELECT source_id, {time} AS t FROM main.{table.name}" for table in TABLES if table.name != "clocks" for time in table.times
)
_ON_AXIS = f"""
WITH spans AS (SELECT source_id, min(t) AS began, max(t) AS ended FROM ({_TIMES}) WHERE t IS NOT NULL GROUP BY source_id)
SELECT s.source_id, s.name, c.kind, c.offset_s, c.uncertainty_s, c.method, coalesce(c.estimated, FALSE) AS estimated, a.began, a.ended
FROM main.clocks c JOIN raw.sources s USING (source_id) JOIN spans a USING (source_id)
WHERE c.offset_s IS NOT NULL AND NOT starts_with(coalesce(c.method, ''), '{OWN_AXIS}') ORDER BY a.began, s.source_id
"""


def _alignment(store: Store) -> Callable[[], Drawing] | None:
    rows = _aligned_rows(store.rows_of(_ON_AXIS))
    return (lambda: _draw_alignment(store, rows)) if len(rows) >= 2 else None


def _aligned_rows(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
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
                    "label": _short((part[0]["name"] or "?").rsplit("!", 1)[-1]) + (f" and {len(part) - 1} more" if len(part) > 1 else ""),
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


def _draw_alignment(store: Store, found: Sequence[dict[str, Any]]) -> Drawing:
    import altair as alt

    rows = found[:ALIGNED]
    began, ended = min(r["began"] for r in rows), max(r["ended"] for r in rows)
    axis = {"began": began, "ended": ended, "pixel": max(ended - began, 1e-6) / WIDTH}
    load = [row for row in store.rows_of(_LOAD.format(**axis)) if row["x"] is not None]
    placed = store.rows_of("SELECT count(*) AS n FROM main.scope_windows")[0]["n"] > 0
    sampled = store.rows_of(_SAMPLED.format(**axis)) if load and placed else []
    bars = [bar for n, row in enumerate(rows) for bar in _aligned_bars(n, row, sampled, began)]
    said = [_aligned_says(row, began, sampled) for row in rows]
    y = alt.Y("row:O", axis=None, sort=list(range(len(rows))))
    x = _time_x(max(ended - began, 1e-6), "the first record", 2)
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
    texts = [{"row": n, "x": 0, "name": _aligned_name(row), "how": _cut(_tie(row, began), 80)} for n, row in enumerate(rows)]
    words = alt.Chart(alt.Data(values=texts)).encode(y=y, x=alt.XValue(0))
    layers.append(words.mark_text(align="left", dy=-27, fontSize=12, color=LIGHT["fg"]).encode(text=alt.Text("name:N")))
    layers.append(words.mark_text(align="left", dy=-13, fontSize=11, color=LIGHT["muted"]).encode(text=alt.Text("how:N")))
    chart = alt.layer(*layers).properties(width=WIDTH, height=alt.Step(58))
    return Drawing(chart, " ".join([*said, _load_says(load)]).strip() + _shown(len(found), len(rows), "sources"))


_BARS: dict[str, dict[str, Any]] = {
    "known": {"fill": SERIES[0], "opacity": 0.85},
    "estimated": {"fill": SERIES[0], "fillOpacity": 0.25, "stroke": SERIES[0], "strokeDash": [3, 2]},
    "outside": {"fill": LIGHT["s8"], "opacity": 0.45},
}


def _aligned_bars(n: int, row: dict[str, Any], sampled: Sequence[dict[str, Any]], began: float) -> list[dict[str, Any]]:
    """The bars of one row; where the load is known, GPU samples that do not count for it are bars of their own kind."""
    kind = "estimated" if row["estimated"] else "known"
    parts = [s for s in sampled if s["source_id"] in row["ids"]]
    if parts:
        return [{"row": n, "x": s["x"] - began, "x2": s["x2"] - began, "kind": kind if s["used"] else "outside"} for s in parts]
    spans = row["spans"][:: len(row["spans"]) // 100 + 1]
    return [{"row": n, "x": a - began, "x2": b - began, "kind": kind} for a, b in spans]


def _aligned_name(row: dict[str, Any]) -> str:
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


def _aligned_says(row: dict[str, Any], began: float, sampled: Sequence[dict[str, Any]]) -> str:
    of_row = {s["source_id"]: s for s in sampled if s["source_id"] in row["ids"]}.values()
    counted = f"; {sum(s['used_n'] for s in of_row)} of {sum(s['n'] for s in of_row)} sample times count for the load" if of_row else ""
    span = f"{number(round(row['began'] - began, 1))} to {number(round(row['ended'] - began, 1))} s"
    return f"{_aligned_name(row)}: {span}, {_tie(row, began)}{counted}."


def _load_says(load: Sequence[dict[str, Any]]) -> str:
    if not load:
        return "No load is known on this axis."
    windows, busy = sum(s["windows"] for s in load), sum(s["busy"] for s in load)
    guess = ", on an estimated clock" if any(s["estimated"] for s in load) else ""
    return f"Load by {load[0]['origin']}: {windows} window{'' if windows == 1 else 's'}, {number(round(busy, 1))} s in all{guess}."


# --- budget ----------------------------------------------------------------------------------------------------------------------


def budget_of(result: Result) -> Primary | None:
    """Whose time budget is shown: that of the answer to why one stream is slow, else of one stream; None where no step time is known."""
    answered = next((a.scope for a in summary.answers(result) if a.question == summary.QUESTIONS["speed"] and a.scope), None)
    ranked = sorted(result.primaries, key=lambda p: (p.scope != answered, p.concurrency != 1))
    return next((p for p in ranked if (p.scope == answered or p.concurrency == 1) and _has_budget(p)), None)


def _has_budget(primary: Primary) -> bool:
    parts = primary.speed.budget
    step_known = any(end(part, name) is not None for part in parts[:1] for name in ("step_lo_ms", "step_hi_ms"))
    bounded = (p for p in parts if p.get("component") != "unexplained")
    return step_known and any(end(p, "hi_ms") is not None or (end(p, "lo_ms") or 0) > 0 for p in bounded)


def end(part: dict[str, Any], name: str) -> float | None:
    """One end of an interval of the budget; what is not a finite number is unknown."""
    value = part.get(name)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def span_text(low: float | None, high: float | None, unit: str) -> str:
    """An interval in words; nothing known at either end is `not bounded`."""
    if high is None:
        return f"at least {number(low)} {unit}" if low else "not bounded"
    return f"at most {number(high)} {unit}" if low is None or (low == 0 and high > 0) else f"{_range(low, high)} {unit}"


def _budget(result: Result) -> Callable[[], Drawing] | None:
    primary = budget_of(result)
    return (lambda: _draw_budget(primary)) if primary else None


def _draw_budget(primary: Primary) -> Drawing:
    import altair as alt

    parts = primary.speed.budget
    low, high = end(parts[0], "step_lo_ms"), end(parts[0], "step_hi_ms")
    step = next(v for v in (high, low) if v is not None)
    top = 1.25 * step
    bars = [
        {
            "name": p["component"],
            "x": min(end(p, "lo_ms") or 0.0, top),
            "x2": min(top, v if (v := end(p, "hi_ms")) is not None else top),
            "open": end(p, "hi_ms") is None,
            "label": f"{p['component']}: {span_text(end(p, 'lo_ms'), end(p, 'hi_ms'), 'ms')}",
        }
        for p in parts
    ]
    x = alt.X("x:Q", title="ms of one step", scale=alt.Scale(domain=[0, top], nice=False), axis=alt.Axis(tickCount=6))
    y = alt.Y("name:N", sort=[b["name"] for b in bars], axis=None)
    layers: list[Any] = [_step_mark(low, high, step)]
    for is_open, look in ((False, {"fillOpacity": 0.85}), (True, {"fillOpacity": 0.15, "stroke": SERIES[0], "strokeDash": [3, 2]})):
        if part := [b for b in bars if b["open"] is is_open]:
            base = alt.Chart(alt.Data(values=part)).encode(x=x, y=y)
            layers.append(base.mark_bar(height=12, fill=SERIES[0], **look).encode(x2=alt.X2("x2:Q")))
            layers.append(base.mark_tick(thickness=2, height=12, color=SERIES[0]))
    words = alt.Chart(alt.Data(values=bars)).mark_text(align="left", dy=-15, fontSize=12, color=LIGHT["fg"])
    layers.append(words.encode(y=y, x=alt.XValue(0), text=alt.Text("label:N")))
    said = f"One step at {primary.scope}: {span_text(low, high, 'ms')}"
    chart = alt.layer(*layers).properties(width=WIDTH, height=alt.Step(42), title=said)
    return Drawing(chart, f"{said}; {'; '.join(b['label'] for b in bars)}.")


def _step_mark(low: float | None, high: float | None, step: float) -> Any:
    """The step time, as the others are measured against it: a line, or a band where it is an interval."""
    import altair as alt

    ends = (low if low is not None else step, high if high is not None else step)
    data = alt.Data(values=[{"x": ends[0], "x2": ends[1]}])
    band = alt.Chart(data).mark_rect(fill=LIGHT["accent"], opacity=0.2).encode(x=alt.X("x:Q"), x2=alt.X2("x2:Q"))
    rules = alt.Chart(alt.Data(values=[{"x": v} for v in dict.fromkeys(ends)]))
    return alt.layer(band, rules.mark_rule(stroke=LIGHT["accent"], strokeWidth=1.5, strokeDash=[3, 3]).encode(x=alt.X("x:Q")))
