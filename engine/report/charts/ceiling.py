"""Shares of the hardware ceilings: the interval that the evidence leaves, and the lines of the rules that decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...phrase import number
from .look import LIGHT, SERIES, Drawing, Layers
from .words import interval, left_out

if TYPE_CHECKING:
    from ...result import Finding

ROWS = 16
# (rule, fact) -> what it is a share of, and the rule's lines unless the user moved them
_SHARES: dict[tuple[str, str], tuple[str, dict[str, float]]] = {
    ("memory-bound", "mbu"): ("memory bandwidth", {"low": 0.40, "high": 0.60}),
    ("link-bandwidth", "link_share"): ("link between the cards", {"small": 0.05, "notable": 0.20}),
    ("link-bandwidth", "measured_share"): ("link, by its counters", {"full": 0.85}),
}
RULES = {rule for rule, _ in _SHARES}


def collect(findings: Sequence[Finding], overridden: Mapping[str, float]) -> list[dict[str, Any]]:
    """The shares that are known at one end at least."""
    return [row for key in _SHARES for f in findings if f.rule == key[0] and (row := _share(f, key, overridden)) is not None]


def _share(finding: Finding, key: tuple[str, str], overridden: Mapping[str, float]) -> dict[str, Any] | None:
    value = finding.numbers.get(key[1])
    ends = value if isinstance(value, list) else [value, value]
    if len(ends) != 2 or all(not isinstance(end, int | float) for end in ends):
        return None
    what, limits = _SHARES[key]
    lines = sorted(overridden.get(f"{key[0]}.{name}", line) for name, line in limits.items())
    return {"key": key[1], "name": f"{what}, {finding.scope.label}", "low": ends[0], "high": ends[1], "lines": lines}


def draw(found: Sequence[dict[str, Any]]) -> Drawing:
    """One row per share and scope."""
    import altair as alt

    rows = list({r["name"]: r for r in found}.values())[:ROWS]
    top = max(1.0, *(float(end) for r in rows for end in (r["low"], r["high"]) if end is not None))
    bars = [
        {
            "name": r["name"],
            "low": r["low"] or 0,
            "high": top if r["high"] is None else r["high"],
            "label": f"{r['name']}: {_text(r)}",
        }
        for r in rows
    ]
    lines = [{"name": r["name"], "line": line} for r in rows for line in r["lines"]]
    memory = [r["lines"] for r in rows if r["key"] == "mbu"]
    means = [f"memory: below {100 * low:g} % not the main cost, from {100 * high:g} % the limit" for low, high in memory[:1]]
    axis = alt.Axis(format="%", tickCount=6)
    x = alt.X("low:Q", title=["share of the ceiling", *means], scale=alt.Scale(domain=[0, top], nice=False), axis=axis)
    y = alt.Y("name:N", sort=[r["name"] for r in rows], axis=None)
    base = alt.Chart(alt.Data(values=bars)).encode(x=x, y=y)
    spans = base.mark_bar(height=12, minBandSize=2, fill=SERIES[0], opacity=0.85).encode(x2=alt.X2("high:Q"))
    ends = base.mark_tick(thickness=2, height=16, color=SERIES[0])
    text = base.mark_text(align="left", dy=-15, fontSize=12, color=LIGHT["fg"]).encode(text=alt.Text("label:N"), x=alt.XValue(0))
    rules = alt.Chart(alt.Data(values=lines)).mark_tick(thickness=2, height=18, color=LIGHT["accent"]).encode(x=alt.X("line:Q"), y=y)
    said = "; ".join(
        f"{r['name']}: {_text(r)}" + (f", line at {' and '.join(f'{100 * v:g} %' for v in r['lines'])}" if r["lines"] else "") for r in rows
    )
    return Drawing(Layers([spans, ends, rules, text], {"step": 44}), f"{said}." + left_out(len(found), len(rows), "shares"))


def _text(row: dict[str, Any]) -> str:
    if row["low"] is None or row["high"] is None:
        return f"at least {number(100 * row['low'])} %" if row["high"] is None else f"at most {number(100 * row['high'])} %"
    return f"{interval(100 * row['low'], 100 * row['high'])} %"
