"""SQLite exports of Nsight Systems: tables, kinds, clocks, damage, hostile databases."""

from __future__ import annotations

import sqlite3
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Counts, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import Rows, check_samples, rows_of
from gpuverdict.parsers import nsys_sqlite
from gpuverdict.parsers.nsys_sqlite import PARSER
from hypothesis import example, given, settings
from hypothesis import strategies as st

BEGAN = 1767187200_000000000
PID = 4711
GLOBAL = (3 << 48) | (PID << 24) | 99

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
GRAPH = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
COLUMNS = "start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, globalPid INTEGER"
SETUP = {
    "META_DATA_EXPORT": ("name TEXT, value TEXT", [("EXPORT_SCHEMA_VERSION", "3.16.1")]),
    "StringIds": (
        "id INTEGER, value TEXT",
        [(1, "gemv"), (2, "ncclDevKernel_AllReduce_Sum"), (3, "void gemv<CANARY>(int)"), (4, "NCCLKernel")],
    ),
    "TARGET_INFO_SESSION_START_TIME": ("utcEpochNs INTEGER, utcTime TEXT", [(BEGAN, "x")]),
    KERNEL: (
        f"{COLUMNS}, demangledName INTEGER, shortName INTEGER",
        [(1000, 3500, 0, 7, GLOBAL, 3, 1), (4000, 9000, 1, 20, GLOBAL, 3, 2), (9000, 9000, 1, 20, GLOBAL, 4, 1)],
    ),
    GRAPH: (f"{COLUMNS}, graphId INTEGER", [(10_000, 30_000, 0, 7, GLOBAL, 5)]),
    MEMCPY: (f"{COLUMNS}, copyKind INTEGER, bytes INTEGER", [(31_000, 31_500, 0, 13, GLOBAL, 2, 64)]),
    "CUPTI_ACTIVITY_KIND_MEMSET": (COLUMNS, [(32_000, 32_100, 0, 13, GLOBAL)]),
}


def build(path: Path, change: dict[str, Any] | None = None) -> Path:
    """A database with the tables of SETUP, some of them changed or (None) left out."""
    con = sqlite3.connect(path)
    for name, table in (SETUP | (change or {})).items():
        if table:
            con.execute(f"CREATE TABLE {name} ({table[0]})")
            for row in table[1]:
                con.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
    con.commit()
    con.close()
    return path


@pytest.fixture
def export(tmp_path: Path) -> Any:
    def read(change: dict[str, Any] | None = None) -> tuple[Rows, Counts]:
        return rows_of(PARSER, build(tmp_path / "report.sqlite", change).read_bytes(), "report.sqlite")

    return read


def test_samples() -> None:
    check_samples(PARSER)


def seen(rows: Rows) -> list[tuple[Any, ...]]:
    return [(r["gpu"], r["stream"], r["process"], r["kind"], r["line"]) for r in rows["kernels"]]


def test_all_four_tables(export: Any) -> None:
    rows, counts = export()
    assert seen(rows) == [
        (0, 7, PID, "kernel", 1),
        (1, 20, PID, "collective", 2),
        (1, 20, PID, "collective", 3),
        (0, 7, PID, "graph", 4),
        (0, 13, PID, "memcpy", 5),
        (0, 13, PID, "memset", 6),
    ]
    assert (counts.matched, counts.lines) == (6, 6)
    assert rows["clocks"] == [{"line": 1, "kind": "utc", "resolution_s": 1e-6, "interval_s": None}]
    assert rows["kernels"][3]["started_at"] == pytest.approx(BEGAN / 1e9 + 10e-6, rel=0, abs=3e-7)
    assert rows["kernels"][3]["finished_at"] == pytest.approx(BEGAN / 1e9 + 30e-6, rel=0, abs=3e-7)
    assert [(q["kind"], q["n"]) for q in rows["quality"]] == [("graphs-hide-kernels", 1)]


@pytest.mark.parametrize(
    "start", [None, ("utcEpochNs INTEGER", []), ("utcEpochNs", [("x",)]), ("utcEpochNs INTEGER", [(5,)]), ("utcTime TEXT", [("x",)])]
)
def test_without_a_session_start_times_count_from_it(export: Any, start: Any) -> None:
    rows, _ = export({"TARGET_INFO_SESSION_START_TIME": start})
    assert rows["clocks"][0]["kind"] == "since-start" and rows["clocks"][0]["resolution_s"] == 1e-9
    assert (rows["kernels"][0]["started_at"], rows["kernels"][0]["finished_at"]) == pytest.approx((1e-6, 3.5e-6), rel=1e-12)


def test_two_session_starts_are_none(export: Any) -> None:
    rows, _ = export({"TARGET_INFO_SESSION_START_TIME": ("utcEpochNs INTEGER", [(BEGAN,), (BEGAN + 10**12,)])})
    assert rows["clocks"][0]["kind"] == "since-start"


@pytest.mark.parametrize("missing", [KERNEL, GRAPH, MEMCPY, "StringIds", "META_DATA_EXPORT"])
def test_a_missing_table_costs_its_own_rows(export: Any, missing: str) -> None:
    rows, _ = export({missing: None})
    kinds = [r["kind"] for r in rows["kernels"]]
    expected = ["kernel", "collective", "collective", "graph", "memcpy", "memset"]
    gone = {KERNEL: ("kernel", "collective"), GRAPH: ("graph",), MEMCPY: ("memcpy",)}.get(missing, ())
    if missing == "StringIds":
        expected[1:3] = ["kernel", "kernel"]
    assert kinds == [k for k in expected if k not in gone]
    assert ("quality" in rows) == (missing != GRAPH)


def test_missing_columns_are_unknown(export: Any) -> None:
    rows, _ = export({KERNEL: ("start INTEGER, end INTEGER", [(1, 2)]), GRAPH: None, MEMCPY: ("start INTEGER, bytes INTEGER", [(1, 2)])})
    assert seen(rows)[0] == (None, None, None, "kernel", 1)
    assert [r["kind"] for r in rows["kernels"]] == ["kernel", "memset"]


@pytest.mark.parametrize(
    "row", [(None, 5), (5, None), (5, 4), (5, 0), (-5, 4), ("CANARY", 5), (1.5, 5), (b"x", 5), (5, 2**62), (-(2**63), 2**63 - 1)]
)
def test_intervals_without_start_or_end_are_near_misses(export: Any, row: tuple[Any, Any]) -> None:
    rows, counts = export({KERNEL: (COLUMNS.replace("INTEGER", ""), [(*row, 0, 7, GLOBAL), (1, 2, 0, 7, GLOBAL)])})
    assert seen(rows)[0] == (0, 7, PID, "kernel", 2)
    assert counts.near_miss == 1 == len(counts.rejects)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ((-1, -1, -1), (None, None, None)),
        ((2**40, 2**40, 0), (None, 2**40, None)),
        (("CANARY", "x", "y"), (None, None, None)),
        ((3, 0, 2**63 - 1), (3, 0, 0xFFFFFF)),
    ],
)
def test_ids_out_of_range_are_unknown(export: Any, ids: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    rows, _ = export({KERNEL: (COLUMNS.replace("INTEGER", ""), [(1, 2, *ids)])})
    assert seen(rows)[0][:3] == expected


def test_no_name_leaves(export: Any) -> None:
    rows, counts = export()
    assert "CANARY" not in repr((rows, counts))


@pytest.mark.parametrize("size", [1, 2])
def test_chunks_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    data = build(tmp_path / "report.sqlite").read_bytes()
    whole = rows_of(PARSER, data)
    monkeypatch.setattr(nsys_sqlite, "CHUNK", size)
    rows, counts = rows_of(PARSER, data)
    assert counts == whole[1] and seen(rows) == seen(whole[0]) and rows["quality"] == whole[0]["quality"]
    for name in ("started_at", "finished_at"):  # a division may be a step of the double off
        assert [r[name] for r in rows["kernels"]] == pytest.approx([r[name] for r in whole[0]["kernels"]], rel=0, abs=3e-7)


def test_a_database_without_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nsys_sqlite, "OPS", 1000)
    assert rows_of(PARSER, big())[1].matched == 4003
    monkeypatch.setattr(nsys_sqlite, "OPS_PER_BYTE", 0)
    monkeypatch.setattr(nsys_sqlite, "CHUNK", 10)
    rows, counts = rows_of(PARSER, big())
    assert 0 < counts.matched < 1000 and [q["kind"] for q in rows["quality"]] == ["damaged-database"]


def test_nothing_is_written_beside_the_file(tmp_path: Path) -> None:
    path = build(tmp_path / "report.sqlite")
    con = sqlite3.connect(path)
    con.execute("PRAGMA journal_mode = WAL")
    con.close()
    before = path.read_bytes()
    source = Source(name="report.sqlite", opener=lambda: path.open("rb"), path=path)
    counts = PARSER.parse(source, lambda target, frame: None)
    assert counts.matched == 6 and [p.name for p in tmp_path.iterdir()] == ["report.sqlite"] and path.read_bytes() == before


def test_a_name_with_odd_characters_opens(tmp_path: Path) -> None:
    path = build(tmp_path / "a?b#c %41.sqlite")
    source = Source(name=path.name, opener=lambda: path.open("rb"), path=path)
    assert PARSER.parse(source, lambda target, frame: None).matched == 6


def test_views_and_computed_columns_are_not_read(tmp_path: Path) -> None:
    path = build(tmp_path / "report.sqlite", {KERNEL: None, MEMCPY: None})
    con = sqlite3.connect(path)
    endless = "WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, start AS end FROM n"
    con.execute(f"CREATE VIEW {KERNEL} AS {endless}")
    con.execute(f"CREATE TABLE {MEMCPY} (start INTEGER, end INTEGER GENERATED ALWAYS AS (length(zeroblob(1000000000))))")
    con.execute(f"INSERT INTO {MEMCPY} (start) VALUES (1)")
    con.commit()
    con.close()
    rows, _ = rows_of(PARSER, path.read_bytes(), path.name)
    assert [r["kind"] for r in rows["kernels"]] == ["graph", "memset"]


def test_a_database_without_work_says_so(export: Any) -> None:
    rows, counts = export({KERNEL: None, GRAPH: None, MEMCPY: None, "CUPTI_ACTIVITY_KIND_MEMSET": None})
    assert "kernels" not in rows and "clocks" not in rows and counts.lines == 0
    assert [q["kind"] for q in rows["quality"]] == ["no-kernel-tables"]


@cache
def big() -> bytes:
    rows = [(1000 * n, 1000 * n + 500, n % 2, 7, GLOBAL, 3, 1) for n in range(4000)]
    with TemporaryDirectory() as folder:
        return build(Path(folder) / "big.sqlite", {KERNEL: (SETUP[KERNEL][0], rows)}).read_bytes()


def intervals(rows: Rows) -> set[tuple[Any, ...]]:
    return {(r["gpu"], r["stream"], r["process"], r["kind"], r["started_at"], r["finished_at"]) for r in rows.get("kernels", [])}


@given(share=st.floats(0, 1, exclude_max=True))
@example(share=0.984375)
@settings(max_examples=60, deadline=None)
def test_a_cut_database_invents_nothing_and_says_so(share: float) -> None:
    data = big()[: int(share * len(big()))]
    rows, counts = rows_of(PARSER, data, "big.sqlite")
    assert intervals(rows) <= intervals(rows_of(PARSER, big())[0])
    assert counts.matched == len(rows.get("kernels", []))
    if len(data) > 100:
        assert "damaged-database" in {q["kind"] for q in rows["quality"]}


@given(share=st.floats(0, 1), byte=st.integers(0, 255))
@settings(max_examples=60, deadline=None)
def test_a_garbled_byte_raises_nothing(share: float, byte: int) -> None:
    data = bytearray(big())
    data[min(int(share * len(data)), len(data) - 1)] = byte
    PARSER.claims(Source.from_text(bytes(data)).head())
    rows, counts = rows_of(PARSER, bytes(data), "big.sqlite")
    assert counts.matched == len(rows.get("kernels", []))


def test_claims() -> None:
    def claim(data: bytes, name: str = "report.sqlite") -> object:
        return PARSER.claims(Source.from_text(data, name).head())

    first = claim(big())
    assert isinstance(first, Claim) and first.strength == 95
    magic = b"SQLite format 3\x00"
    assert isinstance(claim(magic + b"CREATE TABLE chats"), Refusal)
    late = claim(magic + bytes(300_000))
    assert isinstance(late, Claim) and late.strength < 50
    assert isinstance(claim(magic + bytes(300_000), "webui.db"), Refusal)
    assert all(PARSER.claims(Source.from_text(s.text).head()) is None for s in PARSER.samples)
