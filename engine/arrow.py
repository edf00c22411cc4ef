"""Frames on their way into DuckDB."""

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
