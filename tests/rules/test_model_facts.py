"""Whose word counts in a scope: that of its own server, of files of no server, of the lost beginning of the same log."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.store import Store

from .small_store import Rows, config, lines, served, store_of

SIZED: dict[str, Any] = {"section": 0, "params_total_b": 8.0, "file_bytes": 5e9, "layers": 32.0}


def sizes(store: Store) -> dict[str, float | None]:
    """Label of the scope -> parameters of its model."""
    rows = store.rows_of("SELECT label, total_b FROM main.model_facts JOIN main.scopes USING (scope_id)")
    return {r["label"]: r["total_b"] for r in rows}


def two_servers(models: Rows, booted: bool = True, second: str = "llama.cpp") -> Store:
    """Source 0 runs one request at a time, source 1 of the family `second` three; each log shows its start, unless the second is torn."""
    started = config(source_id=0, split="none") + (config(source_id=1, split="none") if booted else [])
    other = served([(2000.0, 2100.0), (2001.0, 2099.0), (2002.0, 2098.0)], source_id=1) if second == "llama.cpp" else []
    statistics = lines(10, start=2000.0, source_id=1, server=second, running=3.0, gen_tok_s=90.0) if second != "llama.cpp" else []
    for row in started:
        row["line"], row["server"] = 1, "llama.cpp" if row["source_id"] == 0 else second
    return store_of(
        requests=served([(1000.0, 1010.0)]) + other, server_samples=statistics, server_config=started, models=models,
        zone={0: "utc", 1: "utc"},
    )  # fmt: skip


def test_another_servers_model_is_not_this_ones() -> None:
    assert sizes(two_servers([{**SIZED, "source_id": 0, "line": 1}])) == {"1 running": 8.0, "2-3 running": None}


def test_a_server_with_a_model_of_unknown_size_takes_nobody_elses() -> None:
    models = [{**SIZED, "source_id": 0, "line": 1}, {"source_id": 1, "line": 1, "section": 0, "name": "somebody's"}]
    for booted in (True, False):
        assert sizes(two_servers(models, booted, second="vllm")) == {"1 running": 8.0, "2-3 running": None}


def test_two_servers_have_a_model_each() -> None:
    models = [{**SIZED, "source_id": 0, "line": 1}, {**SIZED, "source_id": 1, "line": 1, "params_total_b": 70.0}]
    assert sizes(two_servers(models)) == {"1 running": 8.0, "2-3 running": 70.0}


def test_a_piece_of_a_log_takes_the_model_of_its_lost_beginning() -> None:
    model = [{**SIZED, "source_id": 0, "line": 1}]
    assert sizes(two_servers(model, booted=False)) == {"1 running": 8.0, "2-3 running": 8.0}
    assert sizes(two_servers(model, booted=False, second="vllm")) == {"1 running": 8.0, "2-3 running": None}


def test_files_of_no_server_count_for_all() -> None:
    assert set(sizes(two_servers([{**SIZED, "source_id": 7, "line": 1}])).values()) == {8.0}


# --- sweeps and logs that do not belong together ------------------------------------------------------------------------------------


def beside_a_sweep(
    streams: float,
    walls: bool = False,
    began: float | None = None,
    running: int = 2,
    lasts: float = 10.0,
    zone: dict[int, str] | None = None,
) -> Store:
    """A sweep (source 5) of `streams` beside the log of source 0, which runs `running` requests at a time and names its model."""
    step = {"source_id": 5, "line": 3, "concurrency": streams, "aggregate_tok_s": 100.0, "wall_s": 60.0 if walls else None}
    times = {"started_at": began, "finished_at": began + 60} if began is not None else {}
    spans = [(1000.0 + 0.1 * n, 1000.0 + lasts) for n in range(running)]
    started = [{**row, "line": 1, "server": "llama.cpp"} for row in config(slots=8)]
    return store_of(
        requests=served(spans), models=[{**SIZED, "source_id": 0, "line": 1}], bench_steps=[{**step, **times}], server_config=started,
        zone=zone,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        (beside_a_sweep(2), 8.0),  # as many streams as the log shows
        (beside_a_sweep(4), 8.0),  # half of them: the tail of a short run
        (beside_a_sweep(8), None),  # the log never shows a quarter of them
        (beside_a_sweep(64, running=8), 8.0),  # no more slots than that
        (beside_a_sweep(2, walls=True, lasts=70.0), None),  # no such step of 60 s in the log
        (beside_a_sweep(2, began=995.0, running=1), 8.0),  # at the same time: fewer in flight is a finding, not another run
        (beside_a_sweep(2, began=995.0), 8.0),
        (beside_a_sweep(2, began=5000.0), None),  # at another time
        (beside_a_sweep(2, began=5000.0, zone={0: "since-start"}), 8.0),  # a clock that nothing ties is no other time
        (beside_a_sweep(2, began=500.0, zone={0: "since-start"}), 8.0),
        (beside_a_sweep(2, began=5000.0, zone={5: "local"}), 8.0),  # nor is one whose zone is guessed
        (beside_a_sweep(2, began=500.0, zone={0: "local"}), 8.0),
    ],
)
def test_a_log_of_another_run_says_nothing_about_the_sweep(store: Store, expected: float | None) -> None:
    label = "c={:g}".format(store.rows_of("SELECT max(concurrency) AS c FROM main.bench_steps")[0]["c"])
    assert sizes(store)[label] == expected
    origins = {
        r["origin"]
        for r in store.rows_of(f"SELECT origin FROM main.config_in_scope JOIN main.scopes USING (scope_id) WHERE label = '{label}'")
    }
    assert origins == {"logged" if expected else "estimated"}


@pytest.mark.parametrize("timed", [True, False])
def test_an_excerpt_and_a_log_without_times_keep_their_model_but_their_settings_are_an_estimate(timed: bool) -> None:
    """A log of 10 s beside steps of 60 s is perhaps a piece of it; requests without times can be compared with nothing."""
    requests = served([(1000.0, 1010.0)]) if timed else [{**served([(1.0, 2.0)])[0], "started_at": None, "finished_at": None}]
    step = {"source_id": 5, "line": 3, "concurrency": 1.0, "aggregate_tok_s": 100.0, "wall_s": 60.0}
    started = [{**row, "line": 1, "server": "llama.cpp"} for row in config(slots=8)]
    store = store_of(requests=requests, models=[{**SIZED, "source_id": 0, "line": 1}], bench_steps=[step], server_config=started)
    assert sizes(store)["c=1"] == 8.0
    (row,) = store.rows_of(
        "SELECT origin FROM main.config_in_scope JOIN main.scopes USING (scope_id) WHERE label = 'c=1' AND key = 'slots'"
    )
    assert row["origin"] == ("logged" if timed else "estimated")


def test_how_long_a_log_lasts_is_known_on_a_guessed_clock() -> None:
    """A clock since start that the file's own time places: the requests of 70 s are none of a step of 60 s all the same."""
    store = beside_a_sweep(2, walls=True, lasts=70.0)
    store.con.execute("UPDATE main.clocks SET estimated = TRUE WHERE source_id = 0")
    assert sizes(store)["c=2"] is None


def statistics_beside_a_sweep(rate: float, running: float, total: str | None = None, engines: int = 1, n: int = 20) -> Store:
    """A sweep (source 5) of 8 streams and 400 tok/s over 60 s beside a log of statistics, which names its model."""
    step = {"source_id": 5, "line": 3, "concurrency": 8.0, "aggregate_tok_s": 400.0, "aggregate_counts": total, "wall_s": 60.0}
    told = [{**row, "engine": e} for e in range(engines) for row in lines(n, running=running, waiting=0.0, gen_tok_s=rate)]
    started = [{**row, "line": 1} for row in config(slots=64)]
    return store_of(server_samples=told, models=[{**SIZED, "source_id": 0, "line": 1}], bench_steps=[step], server_config=started)


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        (statistics_beside_a_sweep(420.0, 8.0), 8.0),
        (statistics_beside_a_sweep(900.0, 8.0), 8.0),  # a total holds the prefill, a line of decode does not
        (statistics_beside_a_sweep(240.0, 4.0), 8.0),
        (statistics_beside_a_sweep(1900.0, 32.0), None),  # never as few requests as the sweep has streams
        (statistics_beside_a_sweep(1900.0, 8.0), None),  # another model, or another card
        (statistics_beside_a_sweep(40.0, 8.0), None),
        (statistics_beside_a_sweep(1900.0, 8.0, total="total"), 8.0),  # prompts and answers together are no rate of decode
        (statistics_beside_a_sweep(1900.0, 8.0, engines=2), 8.0),  # lines of several engines hold a part each
        (statistics_beside_a_sweep(1900.0, 8.0, n=4), 8.0),  # four lines are an excerpt
    ],
)
def test_statistics_that_are_none_of_the_sweep_are_another_run(store: Store, expected: float | None) -> None:
    assert sizes(store)["c=8"] == expected
    (row,) = store.rows_of(
        "SELECT origin FROM main.config_in_scope JOIN main.scopes USING (scope_id) WHERE label = 'c=8' AND key = 'slots'"
    )
    assert row["origin"] == ("logged" if expected else "estimated")
