"""Rows as dicts into a declared table."""

from __future__ import annotations

import polars as pl
from gpuverdict.engine.send import send_note, send_rows


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
