"""Which requests of a server log are which step of a sweep: the right ones, in order, or none."""

from __future__ import annotations

import random

import polars as pl
import pytest
from gpuverdict.engine import clock, join, steps
from gpuverdict.engine.store import Store

Request = tuple[float, float, float]  # start, end, tokens
Row = tuple[float, float | None, float]  # concurrency, total tok/s, wall


def matched(rows: list[Row], requests: list[Request], sent: list[float | None] | None = None) -> dict[int, list[int]]:
    """Table line -> lines of the requests that were matched to it."""
    store = Store()
    for number in (0, 1):
        store.insert("sources", pl.DataFrame({"name": ["x"], "status": ["read"]}), number)
    c, x, wall = zip(*rows)
    frame = {
        "line": range(1, len(rows) + 1),
        "concurrency": c,
        "aggregate_tok_s": x,
        "wall_s": wall,
        "requests": sent or [None] * len(rows),
    }
    store.insert("bench_steps", pl.DataFrame(frame), 0)
    start, end, tokens = zip(*requests)
    served = {"line": range(1, len(requests) + 1), "started_at": start, "finished_at": end, "output_tokens": tokens}
    store.insert("requests", pl.DataFrame(served).with_columns(origin=pl.lit("server"), status=pl.lit("ok"), run=pl.lit(0)), 1)
    clock.align(store, {}, {}, None)
    join.join(store, ("bench_series",))
    steps.match_steps(store)
    out: dict[int, list[int]] = {}
    for step_line, line in store.con.execute("SELECT step_line, line FROM main.step_requests ORDER BY ALL").fetchall():
        out.setdefault(step_line, []).append(line)
    return out


def wave(start: float, streams: int, lasts: float, tokens: float = 100) -> list[Request]:
    return [(start + 0.001 * k, start + lasts + 0.001 * k, tokens) for k in range(streams)]


SWEEP: list[Row] = [(1, 25.0, 4.0), (2, 40.0, 5.0), (4, 50.0, 8.0), (8, 50.0, 16.0)]
LOG = wave(10, 1, 4.0) + wave(20, 2, 5.0) + wave(30, 4, 8.0) + wave(45, 4, 8.0) + wave(53.005, 4, 8.0)


def test_a_sweep_is_found_in_order_even_where_half_of_a_step_looks_like_another() -> None:
    assert matched(SWEEP, LOG) == {1: [1], 2: [2, 3], 3: [4, 5, 6, 7], 4: [8, 9, 10, 11, 12, 13, 14, 15]}


def test_a_sweep_in_reverse_is_found_too() -> None:
    log = wave(10, 4, 8.0) + wave(18.005, 4, 8.0) + wave(40, 4, 8.0) + wave(60, 2, 5.0) + wave(70, 1, 4.0)
    assert {k: len(v) for k, v in matched(SWEEP, log).items()} == {1: 1, 2: 2, 3: 4, 4: 8}


def test_other_requests_before_between_and_after_are_left_out() -> None:
    log = [(0.0, 2.0, 100.0), *LOG, (90.0, 120.0, 900.0)]
    assert matched(SWEEP, log) == {1: [2], 2: [3, 4], 3: [5, 6, 7, 8], 4: list(range(9, 17))}


def test_a_log_of_another_run_matches_nothing() -> None:
    assert matched(SWEEP, wave(10, 1, 40.0) + wave(60, 3, 50.0)) == {}


def test_the_right_time_with_the_wrong_number_of_tokens_is_not_a_match() -> None:
    assert matched([(2, 40.0, 5.0)], wave(0, 2, 5.0, tokens=300)) == {}


def test_several_requests_per_stream_are_found_without_being_told() -> None:
    log = wave(0, 2, 5.0) + wave(5.01, 2, 5.0) + wave(10.02, 2, 5.0)
    assert matched([(2, 40.0, 15.0)], log) == {1: [1, 2, 3, 4, 5, 6]}


def test_a_stated_number_of_requests_is_obeyed() -> None:
    assert matched([(2, 40.0, 5.0)], wave(0, 2, 5.0), sent=[4.0]) == {}


@pytest.mark.parametrize("seed", range(5))
def test_no_request_belongs_to_two_steps(seed: int) -> None:
    rng = random.Random(seed)
    log, at = [], 0.0
    for _ in range(30):
        lasts = rng.choice([4.0, 5.0, 8.0, 16.0])
        log += wave(at, rng.choice([1, 2, 4, 8]), lasts, tokens=rng.choice([100, 101, 50]))
        at += lasts + rng.uniform(0.01, 3)
    lines = [line for lines in matched(SWEEP, log).values() for line in lines]
    assert len(lines) == len(set(lines))
