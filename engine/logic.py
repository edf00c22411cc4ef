"""Three-valued comparisons: an atom is true, false or unknown.

NULL is unknown, and so is an interval astride the line. A NULL end of an interval is open. Nobody can pick the wrong end of an
interval, or close a rival with missing data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

INF = float("inf")
_ATOM = re.compile(r"^\s*([a-z][a-z0-9_]*)\s*(<=|>=|==|!=|<|>)\s*([^<>=!\s].*?)\s*$")


@dataclass(frozen=True)
class Interval:
    """A number that is not a point. An open end is infinite."""

    lo: float
    hi: float

    @classmethod
    def of(cls, lo: float | None, hi: float | None) -> Interval | None:
        """From two ends that may be NULL; nothing known at all is None, and ends in the wrong order are put right."""
        if lo is None and hi is None:
            return None
        low, high = (-INF if lo is None else float(lo)), (INF if hi is None else float(hi))
        return cls(min(low, high), max(low, high))

    @property
    def ends(self) -> list[float | None]:
        return [None if abs(end) == INF else end for end in (self.lo, self.hi)]


Value = float | Interval | str | None


@dataclass(frozen=True)
class Atom:
    """`fact op number|'text'|limit|fact`."""

    text: str
    left: str
    op: str
    right: str

    @classmethod
    def parse(cls, text: str) -> Atom:
        match = _ATOM.match(text)
        if not match:
            raise ValueError(f"not an atom: {text!r}; write `fact op number`, with op one of < <= > >= == !=")
        return cls(text, *match.groups())

    @property
    def literal(self) -> Value:
        """The right side as a number or quoted text; None where it is a name."""
        if self.right[:1] == "'" and self.right[-1:] == "'":
            return self.right[1:-1]
        try:
            return float(self.right)
        except ValueError:
            return None

    @property
    def names(self) -> tuple[str, ...]:
        return (self.left,) if self.literal is not None else (self.left, self.right)

    def holds(self, facts: Mapping[str, Value], limits: Mapping[str, float]) -> bool | None:
        """True, False, or None for unknown. A name that is neither a fact nor a limit is an error."""
        right = self.literal if self.literal is not None else lookup(self.right, facts, limits)
        return compare(lookup(self.left, facts, limits), self.op, right)


def lookup(name: str, facts: Mapping[str, Value], limits: Mapping[str, float]) -> Value:
    if name in limits:
        return limits[name]
    if name in facts:
        return facts[name]
    raise KeyError(f"{name!r} is neither a fact nor a limit of this rule")


def compare(left: Value, op: str, right: Value) -> bool | None:
    """Compare two values that may be unknown or intervals."""
    if left is None or right is None:
        return None
    if isinstance(left, str) or isinstance(right, str):
        if op not in ("==", "!="):
            raise TypeError(f"text can only be compared with == and !=, not {op}")
        return (str(left) == str(right)) == (op == "==")
    a, b = _interval(left), _interval(right)
    if op in ("==", "!="):
        return _equal(a, b, op)
    if op in (">", ">="):
        a, b, op = b, a, {">": "<", ">=": "<="}[op]
    if op == "<":
        return True if a.hi < b.lo else False if a.lo >= b.hi else None
    return True if a.hi <= b.lo else False if a.lo > b.hi else None


def _equal(a: Interval, b: Interval, op: str) -> bool | None:
    if a.lo == a.hi == b.lo == b.hi:
        return op == "=="
    if a.hi < b.lo or b.hi < a.lo:
        return op == "!="
    return None


def _interval(value: float | Interval | str) -> Interval:
    return value if isinstance(value, Interval) else Interval(float(value), float(value))


def margin(left: Value, op: str, right: Value) -> float | None:
    """Distance to the line, positive where the atom holds; for an interval the end that decides."""
    if left is None or right is None or isinstance(left, str) or isinstance(right, str) or op in ("==", "!="):
        return None
    a, b = _interval(left), _interval(right)
    distance = b.lo - a.hi if op in ("<", "<=") else a.lo - b.hi
    return None if abs(distance) == INF else distance
