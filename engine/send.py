"""Rows as dicts into a declared table, and the two rows nearly every parser of whole sources ends with: its clock and what was odd.

For parsers that meet their rows one by one (JSON, cards, a few lines of a report); streams of samples stay frames all the way.
This module imports polars only when rows are sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from .parser import Emit
from .tables import table

Row = dict[str, Any]
"""Column of a declared table -> value. Keys that are no column of it are left out."""


def send_rows(emit: Emit, target: str, rows: Sequence[Row], columns: Sequence[str] | None = None) -> None:
    """Emits rows as one frame of the declared types: with `columns` exactly these, filled or not; without, those that anybody filled
    (none at all: nothing is emitted)."""
    import polars as pl

    types: dict[str, Any] = {
        "VARCHAR": pl.String, "DOUBLE": pl.Float64, "BIGINT": pl.Int64, "INTEGER": pl.Int32, "BOOLEAN": pl.Boolean,
    }  # fmt: skip
    declared = {c.name: types[c.type] for c in table(target).columns}
    wanted = columns if columns is not None else [n for n in declared if any(r.get(n) is not None for r in rows)]
    if wanted:
        schema = {name: declared[name] for name in wanted}
        emit(target, pl.DataFrame({n: [r.get(n) for r in rows] for n in schema}, schema=schema))


def send_note(emit: Emit, line: int, kind: str, n: int, note: str) -> None:
    """Emits one row of `quality`: what is odd at a line, how often, and in our words."""
    send_rows(emit, "quality", [{"line": line, "kind": kind, "n": n, "note": note}])


def send_oddities(emit: Emit, line: int, odd: Mapping[str, int], notes: Mapping[str, str]) -> None:
    """Emits one row of `quality` per kind that was counted at least once, with the note of that kind."""
    rows = [{"line": line, "kind": kind, "n": n, "note": notes[kind]} for kind, n in odd.items() if n]
    if rows:
        send_rows(emit, "quality", rows, ("line", "kind", "n", "note"))


def send_clock(emit: Emit, line: int, kind: str, resolution_s: float | None, interval_s: float | None) -> None:
    """Emits the row of `clocks`: the source's own clock, how finely it is printed and how far apart readings are (seconds; NULL unknown)."""
    row = {"line": line, "kind": kind, "resolution_s": resolution_s, "interval_s": interval_s}
    send_rows(emit, "clocks", [row], ("line", "kind", "resolution_s", "interval_s"))


def middle(steps: Iterable[float]) -> float | None:
    """The median of steps between readings in seconds, NULL without any."""
    known = list(steps)
    return float(median(known)) if known else None
