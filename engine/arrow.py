"""Frames on their way into DuckDB, and out of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb
    import polars as pl


class Arrow:
    """Hands a frame to DuckDB through the Arrow C stream alone, so that no pyarrow is needed."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


@contextmanager
def lent(con: duckdb.DuckDBPyConnection, name: str, frame: pl.DataFrame) -> Iterator[None]:
    """The frame stands as a view `name` in the statements inside."""
    con.register(name, Arrow(frame))
    try:
        yield
    finally:
        con.unregister(name)


def frame_of(con: duckdb.DuckDBPyConnection, select: str) -> pl.DataFrame:
    """The rows of a SELECT. Through a table: a relation is planned twice, once for its columns alone, which for a long text takes longer
    than its rows."""
    import polars as pl

    con.execute(f"CREATE OR REPLACE TEMP TABLE gv_rows AS {select}")
    try:
        return pl.DataFrame(con.table("gv_rows"))
    finally:
        con.execute("DROP TABLE temp.gv_rows")
