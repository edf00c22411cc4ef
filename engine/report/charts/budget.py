"""Time budget of one step: the interval that the evidence leaves for each part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...phrase import number
from .look import LIGHT, SERIES, Drawing, Layers
from .words import interval

if TYPE_CHECKING:
    import altair as alt

    from ...result import Primary, Result


def budget_of(result: Result) -> Primary | None:
    """Whose time budget is shown: that of the answer to why one stream is slow, else of one stream; None where no step time is known."""
    from .. import summary

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
    return f"at most {number(high)} {unit}" if low is None or (low == 0 and high > 0) else f"{interval(low, high)} {unit}"


def collect(result: Result) -> dict[str, Any] | None:
    """The parts of the step that is shown, and where it was measured."""
    primary = budget_of(result)
    return {"scope": primary.scope, "parts": primary.speed.budget} if primary else None


def draw(data: dict[str, Any]) -> Drawing:
    """One row per part, the step as a vertical mark."""
    import altair as alt

    parts = data["parts"]
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
    layers = _step_marks(low, high, step)
    for is_open, look in ((False, {"fillOpacity": 0.85}), (True, {"fillOpacity": 0.15, "stroke": SERIES[0], "strokeDash": [3, 2]})):
        if part := [b for b in bars if b["open"] is is_open]:
            base = alt.Chart(alt.Data(values=part)).encode(x=x, y=y)
            layers.append(base.mark_bar(height=12, fill=SERIES[0], **look).encode(x2=alt.X2("x2:Q")))
            layers.append(base.mark_tick(thickness=2, height=12, color=SERIES[0]))
    words = alt.Chart(alt.Data(values=bars)).mark_text(align="left", dy=-15, fontSize=12, color=LIGHT["fg"])
    layers.append(words.encode(y=y, x=alt.XValue(0), text=alt.Text("label:N")))
    said = f"One step at {data['scope']}: {span_text(low, high, 'ms')}"
    return Drawing(Layers(layers, {"step": 42}, said), f"{said}; {'; '.join(b['label'] for b in bars)}.")


def _step_marks(low: float | None, high: float | None, step: float) -> list[alt.Chart]:
    """The step time, as the others are measured against it: a line, or a band where it is an interval."""
    import altair as alt

    ends = (low if low is not None else step, high if high is not None else step)
    data = alt.Data(values=[{"x": ends[0], "x2": ends[1]}])
    band = alt.Chart(data).mark_rect(fill=LIGHT["accent"], opacity=0.2).encode(x=alt.X("x:Q"), x2=alt.X2("x2:Q"))
    rules = alt.Chart(alt.Data(values=[{"x": v} for v in dict.fromkeys(ends)]))
    return [band, rules.mark_rule(stroke=LIGHT["accent"], strokeWidth=1.5, strokeDash=[3, 3]).encode(x=alt.X("x:Q"))]
