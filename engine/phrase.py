"""Numbers in sentences: three significant digits, intervals as `a..b`, unknown said as such."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .logic import INF, Interval, Value

_SENTENCE = re.compile(r"(?<=\.) (?=[A-Z{])")
_SLOT = re.compile(r"\{([a-z][a-z0-9_]*)(?::([^{}]*))?\}")


PLURALS = ("slots", "cards", "samples", "streams", "lines", "requests")


def fill(template: str, facts: Mapping[str, Value]) -> str:
    """Put facts into `{name}` or `{name:unit}`. The unit `share` prints a 0..1 number as %, `int` a whole number.

    A later sentence of whose facts none is known is left out: it would say nothing.
    """
    first, *later = _SENTENCE.split(template)
    told = [first, *(s for s in later if not names_in(s) or any(facts.get(name) is not None for name in names_in(s)))]
    return _SLOT.sub(lambda m: show(facts.get(m.group(1)), m.group(2) or ""), " ".join(told))


def show(value: Value, unit: str = "") -> str:
    """One value with its unit."""
    if value is None:
        return "unknown"
    if isinstance(value, str):
        return value
    if unit in PLURALS and value == 1:
        unit = unit[:-1]
    scale, suffix = (100.0, " %") if unit == "share" else (1.0, "" if unit in ("", "int") else f" {unit}")
    if isinstance(value, Interval):
        if value.lo == value.hi:
            return show(value.lo, unit)
        low, high = number(value.lo * scale), number(value.hi * scale)
        if value.lo == -INF:
            return f"at most {high}{suffix}"
        if value.hi == INF:
            return f"at least {low}{suffix}"
        return f"{low}..{high}{suffix}" if low != high else low + suffix
    return number(value * scale) + suffix


def number(value: float) -> str:
    """Whole numbers whole, others with three significant digits."""
    size = abs(value)
    if size == INF:
        return "unbounded"
    if value == int(value) and size < 1e6:
        return str(int(value))
    if size >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    if size < 0.001:
        return f"{value:.1e}"
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if size < 1 else text


def duration(seconds: float) -> str:
    """A length of time: seconds up to ten minutes, then the largest unit of which it has two."""
    for unit, size, least in (("days", 86400.0, 2 * 86400.0), ("h", 3600.0, 2 * 3600.0), ("min", 60.0, 600.0)):
        if seconds >= least:
            return f"{number(seconds / size)} {unit}"
    return f"{seconds:.0f} s"


def printable(name: str) -> str:
    """A name of the user's own for a terminal: control characters and the like are shown, not obeyed."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name)


def names_in(template: str) -> list[str]:
    """The facts a template uses."""
    return [m.group(1) for m in _SLOT.finditer(template)]
