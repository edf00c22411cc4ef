"""SQLite exports of Nsight Systems: `nsys export --type sqlite report1.nsys-rep`.

**Reads** the database that `nsys export`, `nsys stats` and `nsys analyze` leave beside a report (written from the description of export
schema 3.16), read-only and in chunks. A `.nsys-rep` itself is not read: export it. Tables are only there where something was recorded; a
missing one, or a missing column, costs its own values.

**`kernels`**, one row per interval of four tables: `CUPTI_ACTIVITY_KIND_KERNEL` (`kernel`, those of NCCL by name `collective`; names do
not leave), `CUPTI_ACTIVITY_KIND_GRAPH_TRACE` (`graph`: one launch of a CUDA graph), `..._MEMCPY` and `..._MEMSET`.

- `gpu`: `deviceId`, the number inside the process: `CUDA_VISIBLE_DEVICES` renumbers. `stream`: `streamId`.
- `process`: the process id inside `globalPid` (its bits 24 to 47). A stream number means nothing without it.
- `started_at`, `finished_at`: nanoseconds in the file. As seconds since 1970 a DOUBLE holds a quarter of a microsecond.
- `line`: a database has no lines; the rows read are counted through, table after table.

**Clock.** UTC where `TARGET_INFO_SESSION_START_TIME.utcEpochNs` tells when the session began, else seconds since then.

**`quality`**: `graphs-hide-kernels` where the trace has graph launches (`--cuda-graph-trace=graph`, the default): the kernels inside are
not in the file, and decoding of most servers happens there. `no-kernel-tables`, `damaged-database` say what they are called.

**Traps.** An interval of a process that shares its card includes the time it was switched out: intervals of two processes that overlap
do not prove that they ran together, and their sum may be more than the time that passed. Only the launched process and its children are
recorded; a neighbour's work is invisible.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import send_clock, send_note
from ..engine.source import Source

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

_MAGIC = b"SQLite format 3\x00"
_SIGNS = (b"CUPTI_ACTIVITY_KIND_", b"TARGET_INFO_", b"META_DATA_EXPORT", b"ENUM_NSYS_EVENT", b"ENUM_CUPTI_", b"NVTX_EVENTS")
_KERNELS, _GRAPHS = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_TABLES = {_KERNELS: "kernel", _GRAPHS: "graph", "CUPTI_ACTIVITY_KIND_MEMCPY": "memcpy", "CUPTI_ACTIVITY_KIND_MEMSET": "memset"}
_NUMBERS = ("start", "end", "deviceId", "streamId", "globalPid")
_NAMES = ("shortName", "demangledName", "mangledName")
CHUNK = 100_000  # rows of one frame
MAX_VALUE_BYTES = 16 << 20  # of one value: a database cannot ask for more memory
OPS = 1_000_000  # steps of the database between two looks at what it has used
OPS_PER_BYTE = 16  # an honest file takes about two
MAX_NAMES = 100_000
_EARLIEST_NS, _LATEST_NS = 10**18, 42 * 10**17  # 2001 to 2103
_LONGEST_NS = 10**16  # of a session: four months

_HIDDEN = "launches of whole CUDA graphs; the kernels inside are not recorded: trace with --cuda-graph-trace=node"
_NO_TABLES = "a database without kernels, graphs, copies or memsets: profile with nsys profile -t cuda"
_DAMAGED = "the database is cut or garbled and rows are missing: copy or export it again"

# --- reading the database --------------------------------------------------------------------------------------------------------------


def _connect(path: Path, page_bytes: int) -> sqlite3.Connection:
    """Read-only, sqlite3.DatabaseError where the last page is cut: SQLite would fill it with zeros, which read as values.
    `immutable`: nothing is created beside the file, not even for a journal. Its own functions are not trusted."""
    if path.stat().st_size % (65536 if page_bytes == 1 else page_bytes or 1):
        raise sqlite3.DatabaseError("the last page is cut")
    con = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    con.execute("PRAGMA trusted_schema = OFF")
    left = OPS_PER_BYTE * path.stat().st_size // OPS + 10

    def spent() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    con.set_progress_handler(spent, OPS)  # pages that point at each other give rows without end
    return con


def _columns(con: sqlite3.Connection, name: str) -> set[str]:
    """Columns of a stored table, none where there is no such table. Views, virtual tables and computed columns could compute anything."""
    if not con.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?", (name,)).fetchone():
        return set()
    return {row[0] for row in con.execute("SELECT name FROM pragma_table_info(?)", (name,))}


def _session_start(con: sqlite3.Connection) -> int | None:
    """Nanoseconds since 1970, None where it is not told, or told twice."""
    if "utcEpochNs" not in _columns(con, "TARGET_INFO_SESSION_START_TIME"):
        return None
    found = con.execute("SELECT DISTINCT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 2").fetchall()
    value = found[0][0] if len(found) == 1 else None
    return value if isinstance(value, int) and _EARLIEST_NS <= value < _LATEST_NS else None


def _collectives(con: sqlite3.Connection) -> list[int]:
    """Ids of the names of NCCL kernels. The names stay in the database."""
    if not {"id", "value"} <= _columns(con, "StringIds"):
        return []
    sql = "SELECT id FROM StringIds WHERE typeof(id) = 'integer' AND value LIKE '%nccl%' LIMIT ?"
    return [row[0] for row in con.execute(sql, (MAX_NAMES,))]


def _chunks(con: sqlite3.Connection, name: str, columns: set[str]) -> Iterator[list[tuple[Any, ...]]]:
    """Rows of one table: the columns of `_NUMBERS` and `_NAMES`, NULL where a column is missing or holds no whole number."""
    wanted = [f'CASE WHEN typeof("{c}") = \'integer\' THEN "{c}" END' if c in columns else "NULL" for c in (*_NUMBERS, *_NAMES)]
    cursor = con.execute(f'SELECT {", ".join(wanted)} FROM "{name}"')
    while rows := cursor.fetchmany(CHUNK):
        yield rows


# --- rows ------------------------------------------------------------------------------------------------------------------------------


def _frame(rows: list[tuple[Any, ...]], kind: str, first_line: int, began_ns: int | None, collectives: list[int]) -> pl.DataFrame:
    """Rows of `kernels` with start and end known; lines are counted over all rows."""
    import polars as pl

    schema = dict.fromkeys((*_NUMBERS, *_NAMES), pl.Int64)
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("line", first_line)
    start, end = pl.col("start"), pl.col("end")
    nccl = pl.any_horizontal(pl.col(c).is_in(collectives).fill_null(False) for c in _NAMES)
    device, stream = pl.col("deviceId"), pl.col("streamId")
    return frame.filter(start.is_between(0, _LONGEST_NS), end.is_between(start, _LONGEST_NS)).select(
        pl.col("line").cast(pl.Int64),
        pl.when(device.is_between(0, 1023)).then(device).cast(pl.Int32).alias("gpu"),
        pl.when(stream >= 0).then(stream).alias("stream"),
        # nsys packs hardware id, process and thread into one number
        pl.when(pl.col("globalPid") > 0).then((pl.col("globalPid") // (1 << 24)) % (1 << 24)).alias("process"),
        (pl.when(nccl).then(pl.lit("collective")).otherwise(pl.lit(kind)) if kind == "kernel" else pl.lit(kind)).alias("kind"),
        ((start + (began_ns or 0)) / 1e9).alias("started_at"),
        ((end + (began_ns or 0)) / 1e9).alias("finished_at"),
    )


class _Reading:
    """One database on its way into rows: what was read, what was kept."""

    def __init__(self, emit: Emit) -> None:
        self.emit, self.counts = emit, Counts()
        self.began_ns: int | None = None
        self.graphs = 0
        self.tables = 0

    def read(self, con: sqlite3.Connection) -> None:
        """All four tables; sqlite3.Error where the database is damaged, after the rows that could be read."""
        self.began_ns = _session_start(con)
        collectives = _collectives(con)
        for name, kind in _TABLES.items():
            columns = _columns(con, name)
            if {"start", "end"} <= columns:
                self.tables += 1
                for rows in _chunks(con, name, columns):
                    self.take(rows, kind, collectives)

    def take(self, rows: list[tuple[Any, ...]], kind: str, collectives: list[int]) -> None:
        frame = _frame(rows, kind, self.counts.lines + 1, self.began_ns, collectives)
        lost = len(rows) - len(frame)
        if lost and not self.counts.near_miss:
            self.counts.rejects.append((self.counts.lines + 1, "an interval without start or end at or behind this row"))
        self.counts.matched += len(frame)
        self.counts.near_miss += lost
        self.graphs += len(frame) if kind == "graph" else 0
        if len(frame):
            self.emit("kernels", frame)

    def close(self, damaged: bool) -> None:
        if self.counts.matched:
            utc = self.began_ns is not None
            send_clock(self.emit, 1, "utc" if utc else "since-start", 1e-6 if utc else 1e-9, None)
        if self.graphs:
            send_note(self.emit, 1, "graphs-hide-kernels", self.graphs, _HIDDEN)
        if damaged:
            send_note(self.emit, 1, "damaged-database", 1, _DAMAGED)
        elif not self.counts.matched:
            send_note(self.emit, 1, "no-kernel-tables", 1, _NO_TABLES)


class NsysSqlite:
    """SQLite exports of Nsight Systems; see the module's page."""

    name = "nsys-sqlite"
    api = 1

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        if not head.raw.startswith(_MAGIC):
            return None
        found = [sign.decode() for sign in _SIGNS if sign in head.raw]
        if found:
            return Claim(95, f"SQLite with tables of Nsight Systems: {', '.join(found)}")
        if not head.complete and head.name.lower().endswith((".sqlite", ".sqlite3")):
            return Claim(20, "SQLite; the names of its tables stand further down")
        return Refusal(40, "SQLite without a table of Nsight Systems")

    def parse(self, source: Readable, emit: Emit) -> Counts:
        if not isinstance(source, Source) or not source.head().raw.startswith(_MAGIC):
            return Counts(other=sum(block.count("\n") + (not block.endswith("\n")) for _, block in source.blocks()))
        reading, damaged = _Reading(emit), False
        page_bytes = int.from_bytes(source.head().raw[16:18], "big")
        try:
            with source.local_path() as path, closing(_connect(path, page_bytes)) as con:
                reading.read(con)
        except (sqlite3.Error, OverflowError):  # a page is garbled or missing: what was read before it stays
            damaged = True
        reading.close(damaged)
        return reading.counts


# --- samples: a database is no text; what the rows must be stands in the tests of this module --------------------------------------------

SAMPLES = (
    Sample(
        " ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n\n Time (%)  Total Time (ns)\n",
        {"kernels": [], "clocks": []},
        "text of nsys stats, which is no export",
    ),
    Sample(
        "SQLite format 2\nCUPTI_ACTIVITY_KIND_KERNEL\n",
        {"kernels": [], "clocks": []},
        "names of the tables without the database",
    ),
)

PARSER = NsysSqlite()
