"""One look for all charts: palette, plot areas, Vega config, and from Vega's SVG to ours.

Colours are drawn as those of the light palette, so that a viewer without CSS shows them; a style inside the SVG turns each into a
variable (`var(--fg)`, `var(--s1)`), which the page sets, or the SVG itself where it stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

VEGA_LITE = "v6_1"  # the version of altair's charts, for vl-convert
WIDTH = 470  # of the plot area, in px: whole charts stay legible at phone width
TITLES = {
    "utilisation": "GPU utilisation, card by card and summed",
    "sweep": "Throughput and speed over concurrency",
    "requests": "Requests over time",
    "ceiling": "Shares of the hardware ceilings",
    "alignment": "The sources on one time axis",
    "budget": "Time budget of one step",
}
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

# XML has no such characters, and vl-convert does not survive them
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass
class Layers:
    """Marks on one plot area. altair.layer() copies each mark several times, which takes longer than to draw it."""

    layers: Sequence[alt.Chart]
    height: float | dict[str, float]
    title: str | None = None


@dataclass
class Stack:
    """Plot areas from top to bottom, on scales of their own or with one legend for all."""

    panels: Sequence[Layers | alt.Chart]
    own_scales: bool = False


@dataclass
class Drawing:
    """A chart before it is SVG, and what it says in words."""

    chart: Layers | Stack
    says: str


def picture(name: str, draw: Callable[[Any], Drawing], data: Any) -> str:
    """The SVG text of one chart."""
    import vl_convert

    spec, says = specified(draw, data)
    return _finished(name, vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE), says)


def specified(draw: Callable[[Any], Drawing], data: Any) -> tuple[dict[str, Any], str]:
    """The Vega-Lite of a chart. Checking it against the schema takes longer than drawing: the tests do that, not every run."""
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):
        drawing = draw(data)
        spec = _vega_lite(drawing.chart)
    return {
        **_printable(spec),
        "background": None,
        "padding": {"left": 6, "top": 6, "right": 16, "bottom": 6},
        "config": _config(),
    }, drawing.says


def _vega_lite(chart: Layers | Stack | alt.Chart) -> dict[str, Any]:
    if isinstance(chart, Stack):
        resolve = {"resolve": {"scale": {"color": "independent", "strokeDash": "independent"}}} if chart.own_scales else {}
        return {"vconcat": [_vega_lite(panel) for panel in chart.panels], **resolve}
    if isinstance(chart, Layers):
        title = {"title": chart.title} if chart.title is not None else {}
        return {"layer": [_vega_lite(mark) for mark in chart.layers], "width": WIDTH, "height": chart.height, **title}
    return chart.to_dict(validate=False, context={"top_level": False})


def _printable(value: Any) -> Any:
    """The same with every name made of characters that a picture can hold."""
    if isinstance(value, str):
        return _UNPRINTABLE.sub("?", value)
    if isinstance(value, dict):
        return {key: _printable(inner) for key, inner in value.items()}
    return [_printable(inner) for inner in value] if isinstance(value, list) else value


def _config() -> dict[str, Any]:
    """No aria text inside: the SVG is one picture with a description."""
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
            "labelLimit": 0,  # measuring each once more takes a tenth of the drawing; ours are short
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


def _finished(name: str, svg: str, says: str) -> str:
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
