"""The conformance kit for parser and rule authors.

`rows_of(parser, text)` runs one parser over a text and returns its rows; `check_samples(parser)` runs the declared samples.
"""

from __future__ import annotations

from typing import Any

from .parser import Counts, Parser
from .source import Source
from .tables import table


def rows_of(parser: Parser, text: str | bytes, name: str = "sample.txt") -> tuple[dict[str, list[dict[str, Any]]], Counts]:
    """Rows per table (only declared columns; unknown tables or columns are errors) and the counts of one parser over a text."""
    import polars as pl

    out: dict[str, list[dict[str, Any]]] = {}

    def emit(target: str, frame: pl.DataFrame) -> None:
        known = set(table(target).names)
        extra = set(frame.columns) - known
        assert not extra, f"{parser.name} emits undeclared columns {sorted(extra)} into {target}"
        out.setdefault(target, []).extend(frame.to_dicts())

    counts = parser.parse(Source.from_text(text, name), emit)
    return out, counts


def check_samples(parser: Parser) -> None:
    """Every declared sample gives exactly its rows; the counts add up to its lines."""
    assert parser.samples, f"{parser.name} has no samples"
    for sample in parser.samples:
        got, counts = rows_of(parser, sample.text, sample.name)
        where = f"{parser.name}, sample {sample.versions}"
        for target, expected in sample.rows.items():
            rows = got.get(target, [])
            assert len(rows) == len(expected), f"{where}: {len(rows)} rows in {target}, expected {len(expected)}: {rows}"
            for row, want in zip(rows, expected):
                for column, value in want.items():
                    have = row.get(column)
                    close = isinstance(value, float) and have is not None and abs(have - value) <= 1e-9 * max(1.0, abs(value))
                    assert have == value or close, f"{where}: {target}.{column} is {have!r}, expected {value!r}"
        assert counts.lines == len(sample.text.splitlines()), f"{where}: {counts} does not add up to {len(sample.text.splitlines())} lines"
