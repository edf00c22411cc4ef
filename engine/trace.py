"""Reading a trace that was written earlier: read-only, and sealed off from files and the network."""

from __future__ import annotations

import json
from pathlib import Path


class QueryError(ValueError):
    """The query cannot be run; the message is DuckDB's, in one line."""


def run(trace: Path, query: str, as_json: bool = False) -> str:
    """The rows of a query as an aligned table or as JSON lines in a list."""
    import duckdb

    try:
        con = duckdb.connect(str(trace), read_only=True, config={"enable_external_access": False, "lock_configuration": True})
    except duckdb.Error as problem:
        raise QueryError(f"{trace.name} is not a trace: {_one_line(problem)}") from None
    try:
        con.execute("USE main")
        cursor = con.execute(query)
        names = [d[0] for d in cursor.description or ()]
        rows = cursor.fetchall() if names else []
    except duckdb.Error as problem:
        raise QueryError(_one_line(problem)) from None
    finally:
        con.close()
    if as_json:
        return json.dumps([dict(zip(names, row)) for row in rows], default=str, indent=1) + "\n"
    return _table(names, rows)


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())[:400]


def _table(names: list[str], rows: list[tuple[object, ...]]) -> str:
    cells = [names, *([_cell(v) for v in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(names))]
    lines = ["  ".join(f"{v:<{w}}" for v, w in zip(row, widths)).rstrip() for row in cells]
    return "\n".join([*lines, f"({len(rows)} row{'s' if len(rows) != 1 else ''})"]) + "\n"


def _cell(value: object) -> str:
    text = "NULL" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return "".join(c if c.isprintable() else "?" for c in text)
