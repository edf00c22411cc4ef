"""What charts call sources and intervals, and what they say of rows that are left out."""

from __future__ import annotations

from ...phrase import number


def short(name: str, most: int = 30) -> str:
    """The last part of a path, cut in the middle."""
    last = name.rsplit("/", 1)[-1]
    return last if len(last) <= most else f"{last[: most // 2]}…{last[-most // 2 + 1 :]}"


def interval(low: float, high: float) -> str:
    """`4` or `4..8`."""
    return number(low) if number(low) == number(high) else f"{number(low)}..{number(high)}"


def left_out(total: int, shown: int, what: str) -> str:
    """How many are drawn, where that is not all."""
    return f" {shown} of {total} {what} are drawn." if total > shown else ""
