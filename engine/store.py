"""Rows into DuckDB: schema `raw` as parsed, schema `main` on the common axis. Only declared columns get in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl

from .arrow import frame_of, lent
from .privacy import Hider
from .tables import TABLES, Column, ddl, table

if TYPE_CHECKING:
    from .parser import Emit

KEPT_NAMES = ("gpus.name",)  # product names are public; other columns of class name are replaced


# Small blocks: a trace has many small tables, and is attached to issues.
# The files it comes from are still there: after a crash of the machine one runs it again, and waiting for the disk at each of 130
# commits takes seconds on a slow one.
# An ASOF join whose left side is guessed to be small would compare every pair: a guess of 1 for 50 000 rows took minutes.
CONFIG: dict[str, Any] = {
    "threads": 2,
    "autoinstall_known_extensions": False,
    "default_block_size": 16384,
    "fsync_mode": "NONE",
    "asof_loop_join_threshold": 0,
}


OWN = {  # which step a source is from: as the user states it, and as its folder or file name has it
    "bindings": "source_id INTEGER, label VARCHAR",
    "named_steps": "source_id INTEGER, concurrency DOUBLE, label VARCHAR",
}
FEW, MANY = 1_000, 50_000  # rows that wait: of one frame, of all
FEW_TO_JOIN = 5_000  # any two tables of these, joined row by row, are done in a second
# What spares rows on any number of them; the other passes of the optimiser cost more than they save on few
PASSES_FOR_FEW = ("expression_rewriter", "filter_pushdown", "deliminator", "unused_columns", "cte_inlining")


class Store:
    """One analysis in one DuckDB database: `emit(source_id)` takes rows, `query` gives polars frames.

    A folder of response files brings one row each, and an INSERT takes longer than a row: few rows wait until somebody asks for `con`.
    """

    def __init__(self, path: Path | None = None, hider: Hider | None = None) -> None:
        self._con = duckdb.connect(str(path) if path else ":memory:", config=CONFIG)
        self._waiting: dict[tuple[str, tuple[tuple[str, pl.DataType], ...]], list[pl.DataFrame]] = {}
        self._n_waiting = 0
        self.hider = hider or Hider()
        self._counted: dict[int, dict[str, int]] = {}
        made = [*(ddl("raw", declared) for declared in TABLES), *(f"CREATE TABLE main.{name} ({columns})" for name, columns in OWN.items())]
        self.con.execute(";".join(["SET TimeZone = 'UTC'", "CREATE SCHEMA raw", *made]))

    @property
    def con(self) -> duckdb.DuckDBPyConnection:
        """The database, with all rows in it that were inserted."""
        if self._n_waiting:
            waiting, self._waiting, self._n_waiting = self._waiting, {}, 0
            for (target, _), frames in waiting.items():
                self._write(target, pl.concat(frames))
        return self._con

    @property
    def scratch(self) -> duckdb.DuckDBPyConnection:
        """The same database for temporary tables: rows that wait go on waiting."""
        return self._con

    def fit_plans(self, most: int | None = None) -> None:
        """On a few rows, planning the joins and sharing them between threads takes longer than the joins. `most`: how many there can be, as long
        as they are not read."""
        rows = sum(n for rows in self._counted.values() for n in rows.values()) if most is None else most
        few = rows < FEW_TO_JOIN
        self.con.execute(f"SET threads = {1 if few else CONFIG['threads']}")
        passes = [name for (name,) in self.con.execute("SELECT name FROM duckdb_optimizers()").fetchall()] if few else []
        self.con.execute(f"SET disabled_optimizers = '{','.join(name for name in passes if name not in PASSES_FOR_FEW)}'")

    def close(self) -> None:
        self.con.close()

    def emit(self, source_id: int, on_rows: Callable[[str, int], None] | None = None) -> Emit:
        """The `emit` of one source: adds source_id, validates against the declaration, counts."""

        def emit(target: str, frame: pl.DataFrame) -> None:
            if frame.height:
                self.insert(target, frame, source_id)
                counted = self._counted.setdefault(source_id, {})
                counted[target] = counted.get(target, 0) + frame.height
                if on_rows:
                    on_rows(target, frame.height)

        return emit

    def rows_from(self, source_id: int) -> dict[str, int]:
        """Table -> rows that a source gave; what is said about it (clocks, quality) is not counted."""
        return {target: n for target, n in self._counted.get(source_id, {}).items() if target not in ("clocks", "quality")}

    def insert(self, target: str, frame: pl.DataFrame, source_id: int | None = None) -> None:
        """Append rows. Unknown columns are an error that names them; missing ones are NULL; NaN and infinity become NULL."""
        declared = table(target)
        unknown = set(frame.columns) - set(declared.names)
        if unknown:
            raise ValueError(f"table {target} has no column {', '.join(sorted(unknown))}; it has {', '.join(declared.names)}")
        if source_id is not None:
            frame = frame.with_columns(source_id=pl.lit(source_id, dtype=pl.Int32))
        # An all-NULL column has no type of its own, and DuckDB refuses it without one.
        frame = frame.with_columns(pl.col(name).cast(pl.String) for name, kind in frame.schema.items() if kind == pl.Null)
        private = [c for c in declared.columns if c.privacy != "public" and c.name in frame.columns]
        frame = frame.with_columns(*(self._hide(target, c, frame[c.name]) for c in private)) if private else frame
        if frame.height > FEW:
            self._write(target, frame)
            return
        self._waiting.setdefault((target, tuple(frame.schema.items())), []).append(frame)
        self._n_waiting += frame.height
        if self._n_waiting > MANY:
            _ = self.con

    def _write(self, target: str, frame: pl.DataFrame) -> None:
        columns = {c.name: c for c in table(target).columns}
        picked = ", ".join(_finite(columns[name]) for name in frame.columns)
        with lent(self._con, "incoming", frame):
            self._con.execute(f"INSERT INTO raw.{target} ({', '.join(frame.columns)}) SELECT {picked} FROM incoming")

    def append(self, target: str, frame: pl.DataFrame) -> None:
        """Append to a table of the engine's own (not a declared one), columns in order."""
        with lent(self.con, "incoming", frame):
            self.con.execute(f"INSERT INTO {target} SELECT * FROM incoming")

    def _hide(self, target: str, column: Column, values: pl.Series) -> pl.Series:
        distinct = [v for v in values.unique(maintain_order=True).to_list() if v is not None]
        shown = {v: self._shown(target, column, str(v)) for v in distinct}
        return values.replace_strict(shown, default=None, return_dtype=pl.String).alias(column.name) if shown else values

    def _shown(self, target: str, column: Column, value: str) -> str:
        if column.privacy == "path":
            return self.hider.label("path", value)
        if (target, column.name) in (("bench_steps", "series"), ("given", "value")):
            return self.hider.label("name", value)
        if (target, column.name) == ("models", "name"):
            from .catalog import known_model

            return known_model(value) or self.hider.pseudonym("name", value, "model")
        return self.hider.pseudonym(column.privacy, value, column.name.replace("_", "-"))

    def query(self, sql: str) -> pl.DataFrame:
        """The rows of a SELECT as a polars frame."""
        return frame_of(self.con, sql)

    def rows_of(self, sql: str) -> list[dict[str, Any]]:
        """Rows as dicts."""
        cursor = self.con.execute(sql)
        names = [d[0] for d in cursor.description or ()]
        return [dict(zip(names, row)) for row in cursor.fetchall()]


def _finite(column: Column) -> str:
    """Infinity and NaN are not measurements: they become NULL on the way in."""
    name = column.name
    if column.type == "DOUBLE":
        return f"CASE WHEN isfinite(TRY_CAST({name} AS DOUBLE)) THEN CAST({name} AS DOUBLE) END AS {name}"
    return f"TRY_CAST({name} AS {column.type}) AS {name}"
