"""Sweeps that a script of one's own saved as JSON: objects with a concurrency among their keys, as the rows of a table.

One object per line, one list, lists somewhere inside one object, or one object whose keys are the loads (`"concurrency_8": {..}`, or `"8": {..}` under
`by_concurrency`); `{"ttft": {"p50": 0.2}}` becomes the column `ttft p50`. What the columns
mean is decided where all tables are read; nothing but numbers, short words and keys is handed on.

Formats of known tools have parsers of their own, which come first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .headers import embedded, meaning
from .json_objects import Json
from .text_tables import Grid

MAX_ROWS = 5_000
MAX_DEPTH = 4


def grids_of(doc: Json, line: int) -> Iterator[Grid]:
    """The tables inside one object: itself or an object inside it that has a concurrency, and every list of objects that have one."""
    for rows in _lists(doc, MAX_DEPTH):
        yield _grid(rows, line)


def joined(grids: list[Grid]) -> list[Grid]:
    """Objects that stood in a file of their own line each, as one table."""
    single = [g for g in grids if len(g.rows) == 1]
    if len(single) < 2 or len(single) != len(grids):
        return grids
    header = list(dict.fromkeys(h for g in grids for h in g.header))
    rows = [(i, [dict(zip(g.header, cells)).get(h, "") for h in header]) for g in grids for i, cells in g.rows]
    return [Grid(header, rows[0][0], rows=rows, status={i: "matched" for i, _ in rows}, stop=rows[-1][0] + 1)]


def _keyed(value: Json, under: str) -> list[Json]:
    """The objects of an object whose keys are the loads, each with its load; none where a key is anything else."""
    number = {k: int(k) if k.isdecimal() and len(k) <= 6 and _speaks_of_load(under) else _load_of(k) for k in value}
    if len(value) < 2 or not all(number.values()) or not all(isinstance(v, dict) and not _row(v) for v in value.values()):
        return []
    return [{"concurrency": number[k], **v} for k, v in value.items()]


def _load_of(key: str) -> int | None:
    number, rest = embedded(key)
    return number if not rest and any(ch.isdecimal() for ch in key) else None


def _speaks_of_load(key: str) -> bool:
    return meaning(key.lower().removeprefix("by_").removeprefix("per_")).role == "concurrency" and len(key) > 2


def _lists(value: Any, depth: int, under: str = "") -> Iterator[list[Json]]:
    if depth < 0:
        return
    if isinstance(value, dict) and (keyed := _keyed(value, under)):
        yield keyed
        return
    if isinstance(value, dict) and _row(value):
        yield [value]
        return
    if isinstance(value, list):
        rows = [v for v in value[:MAX_ROWS] if isinstance(v, dict) and _row(v)]
        if rows:
            yield rows
            return
    for key, inner in [("", v) for v in value] if isinstance(value, list) else value.items() if isinstance(value, dict) else ():
        if isinstance(inner, (dict, list)):
            yield from _lists(inner, depth - 1, key)


def _flat(row: Json) -> dict[str, str]:
    """Cells of an object and of the objects directly inside it."""
    out: dict[str, str] = {}
    for key, value in row.items():
        for name, cell in ((f"{key} {k}", v) for k, v in value.items()) if isinstance(value, dict) else ((key, value),):
            if len(name) <= 80 and (text := _cell(cell)) is not None:
                out[name] = text
    return out


def _cell(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        if not math.isfinite(value) or abs(value) >= 1e15:
            return ""
        text = repr(value)
        return text + "0" if "." in text and "e" not in text and len(text.split(".")[1]) == 3 else text  # 1.234 is no 1234 here
    return value if isinstance(value, str) and len(value) <= 60 and "\n" not in value else None


def _row(row: Json) -> bool:
    return any(
        meaning(key).role == "concurrency" and meaning(key).rank > 1 for key, value in row.items() if not isinstance(value, (dict, list))
    )


def _grid(rows: list[Json], line: int) -> Grid:
    flat = [_flat(row) for row in rows]
    header = list(dict.fromkeys(k for row in flat for k in row))
    return Grid(header, line, rows=[(line, [row.get(h, "") for h in header]) for row in flat], status={line: "matched"}, stop=line + 1)
