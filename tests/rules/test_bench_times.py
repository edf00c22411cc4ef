"""A benchmark that prints when it ran tells when requests were in flight, where nothing better does."""

from __future__ import annotations

from gpuverdict.engine import alignment

from .small_store import Rows, samples, served, store_of

RUN = [
    {"source_id": 0, "line": 1, "concurrency": 8.0, "aggregate_tok_s": 100.0, "started_at": 1000.0, "finished_at": 1100.0, "wall_s": 100.0}
]
READ = samples(
    300, 1, start=900.0, util_gpu=lambda s, g: 90.0 if 100 <= s < 200 else 0.0, power_w=lambda s, g: 300.0 if 100 <= s < 200 else 50.0
)


def windows(bench: Rows, requests: Rows) -> list[tuple[str, float, float, float, bool]]:
    rows = store_of(bench_steps=bench, requests=requests).rows_of("SELECT origin, began, ended, n_max, in_step FROM main.load_windows")
    return [(r["origin"], r["began"], r["ended"], r["n_max"], r["in_step"]) for r in rows]


def test_its_run_is_a_load_window_of_its_step() -> None:
    assert windows(RUN, []) == [("bench results", 1000.0, 1100.0, 8.0, True)]


def test_requests_of_a_server_go_before_it() -> None:
    assert {origin for origin, *_ in windows(RUN, served([(1010.0, 1050.0)], source_id=3))} == {"server requests"}


def test_a_rate_without_streams_is_no_number_of_requests() -> None:
    assert windows([{**RUN[0], "concurrency": None, "rate_rps": 2.0}], []) == []


def test_the_time_around_it_is_the_idle_baseline() -> None:
    store = store_of(bench_steps=RUN, gpu_samples=READ)
    (row,) = store.rows_of("SELECT idle_w FROM main.idle_power")
    assert row["idle_w"] == 50.0
    assert {r["util_gpu"] for r in store.rows_of("SELECT util_gpu FROM main.samples_in_load")} == {90.0}
    assert [r["label"] for r in store.rows_of("SELECT label FROM main.scopes")] == ["c=8"]


def test_a_snapshot_after_it_is_told() -> None:
    store = store_of(bench_steps=RUN, gpu_samples=samples(1, 1, start=1140.0, util_gpu=0.0))
    store.view("main.load_windows main.samples_in_load main.load_unknown main.in_flight")  # type: ignore[attr-defined]
    alignment.note_outside(store)
    (note,) = [r["note"] for r in store.rows_of("SELECT note FROM raw.quality WHERE kind = 'outside-the-load'")]
    assert "40 s after the last request had ended" in note
