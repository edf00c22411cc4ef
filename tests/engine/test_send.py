"""Rows as dicts into a declared table."""

from __future__ import annotations

import polars as pl
from gpuverdict.engine.send import middle, send_clock, send_note, send_oddities, send_rows


def sent(target: str, rows: list[dict]) -> list[tuple[str, pl.DataFrame]]:
    out: list[tuple[str, pl.DataFrame]] = []
    send_rows(lambda name, frame: out.append((name, frame)), target, rows)
    return out


def test_columns_have_the_declared_types_and_order() -> None:
    ((target, frame),) = sent("bench_steps", [{"concurrency": 4, "line": 1, "series": None, "step": 1, "no column": 5}, {"line": 2}])
    assert target == "bench_steps"
    assert frame.schema == {"line": pl.Int64, "step": pl.Int32, "concurrency": pl.Float64}
    assert frame.rows() == [(1, 1, 4.0), (2, None, None)]


def test_nothing_is_sent_for_nothing() -> None:
    assert sent("requests", []) == []
    assert sent("requests", [{"line": None, "ttft_s": None}, {}]) == []


def test_a_note() -> None:
    out: list[tuple[str, pl.DataFrame]] = []
    send_note(lambda name, frame: out.append((name, frame)), 7, "all-failed", 2, "No request succeeded.")
    ((target, frame),) = out
    assert target == "quality"
    assert frame.to_dicts() == [{"line": 7, "kind": "all-failed", "n": 2, "note": "No request succeeded."}]


def test_columns_that_were_asked_for_are_there() -> None:
    out: list[tuple[str, pl.DataFrame]] = []
    send_rows(lambda name, frame: out.append((name, frame)), "gpus", [{"line": 1, "gpu": 0}], ("line", "gpu", "mig", "memory_mib"))
    send_rows(lambda name, frame: out.append((name, frame)), "gpus", [], ("line", "mig"))
    (_, filled), (_, empty) = out
    assert filled.schema == {"line": pl.Int64, "gpu": pl.Int32, "mig": pl.Boolean, "memory_mib": pl.Float64}
    assert filled.rows() == [(1, 0, None, None)]
    assert empty.schema == {"line": pl.Int64, "mig": pl.Boolean} and empty.is_empty()


def test_oddities_that_were_counted() -> None:
    out: list[tuple[str, pl.DataFrame]] = []
    send_oddities(lambda name, frame: out.append((name, frame)), 3, {"a": 2, "b": 0}, {"a": "note a", "b": "note b"})
    send_oddities(lambda name, frame: out.append((name, frame)), 3, {"a": 0}, {"a": "note a"})
    ((target, frame),) = out
    assert (target, frame.rows()) == ("quality", [(3, "a", 2, "note a")])


def test_a_clock() -> None:
    out: list[tuple[str, pl.DataFrame]] = []
    send_clock(lambda name, frame: out.append((name, frame)), 5, "none", None, None)
    send_clock(lambda name, frame: out.append((name, frame)), 5, "utc", 1.0, middle([3.0, 1.0, 2.0, 2.0]))
    assert [frame.rows() for _, frame in out] == [[(5, "none", None, None)], [(5, "utc", 1.0, 2.0)]]
    assert middle([]) is None
