"""Several machines with a server each: load on one says nothing about the cards of another."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.contradictions import note_contradictions
from gpuverdict.engine.store import Store

from .small_store import samples, served, store_of


def machines(gpu_host: str | None = None, second: str = "two") -> Store:
    """Two machines: source 0 serves on `one` from 1000 to 1100, source 1 on `second` from 1200 to 1300; source 2 records cards all the time."""
    requests = served([(1000.0, 1100.0)]) + served([(1200.0, 1300.0)], source_id=1)
    read = samples(400, 1, start=950.0, source_id=2, util_gpu=90.0, host=gpu_host)
    return store_of(hosts={0: "one", 1: second}, requests=requests, gpu_samples=read)


def under_load(store: Store) -> set[tuple[str, int]]:
    """(how it was placed, which hundred seconds) of the samples in the load."""
    return {(r["placed"], int(r["time"] // 100)) for r in store.rows_of("SELECT placed, time FROM main.samples_in_load")}


@pytest.mark.parametrize(("gpu_host", "hundred"), [("one", 10), ("two", 12)])
def test_cards_are_under_load_only_while_their_own_machine_serves(gpu_host: str, hundred: int) -> None:
    assert under_load(machines(gpu_host)) == {("clock", hundred)}


def test_cards_of_a_machine_that_nothing_tells_are_not_placed() -> None:
    assert {placed for placed, _ in under_load(machines(None))} == {"unplaced"}
    assert {placed for placed, _ in under_load(machines("three"))} == {"unplaced"}


def beside_a_log(recorded: list[str], log: list[str], **more: Any) -> Store:
    """A server whose log (source 0) names its devices, and a recording (source 2) of cards by their names, at the same time."""
    named = [{"source_id": 2, "line": n, "gpu": n, "name": name} for n, name in enumerate(recorded)]
    named += [{"source_id": 0, "line": n, "device": f"CUDA{n}", "name": name} for n, name in enumerate(log)]
    read = samples(100, len(recorded), start=1000.0, source_id=2, util_gpu=90.0)
    return store_of(requests=served([(990.0, 1200.0)]), gpu_samples=read, gpus=named, **more)


H100, R3090 = "NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 3090"


@pytest.mark.parametrize(
    ("recorded", "log", "placed"),
    [
        ([R3090], [R3090], {"clock"}),
        ([R3090, H100], [R3090], {"clock"}),  # a server may use one of the cards
        ([R3090], [R3090, H100], {"clock"}),  # a recording may be of one of them
        ([H100], [R3090], {"unplaced"}),
        ([H100, H100], [R3090], {"unplaced"}),
        (["Some New Card"], [R3090], {"clock"}),  # names are compared where both are known
        ([H100], [], {"clock"}),
    ],
)
def test_a_recording_of_other_cards_than_the_log_names_is_of_another_machine(recorded: list[str], log: list[str], placed: set[str]) -> None:
    store = beside_a_log(recorded, log)
    assert {how for how, _ in under_load(store)} == placed
    note_contradictions(store)
    notes = [r["note"] for r in store.rows_of("SELECT note FROM raw.quality WHERE kind = 'perhaps-another-machine'")]
    assert len(notes) == (placed == {"unplaced"}) and all("runs on" in note for note in notes)


def test_several_servers_of_one_machine_share_its_cards() -> None:
    assert under_load(machines("one", second="one")) == {("clock", 10), ("clock", 12)}
    assert under_load(machines(None, second="one")) == {("clock", 10), ("clock", 12)}


def test_results_of_two_machines_are_two_series() -> None:
    step = {"concurrency": 8.0, "wall_s": 60.0}
    rows = [{**step, "source_id": 0, "aggregate_tok_s": 100.0}, {**step, "source_id": 1, "aggregate_tok_s": 300.0}]

    def labels(hosts: dict[int, str]) -> list[str]:
        found = store_of(hosts=hosts, bench_steps=rows).rows_of("SELECT DISTINCT label FROM main.scopes ORDER BY label")
        return [r["label"] for r in found]

    assert labels({0: "one", 1: "two"}) == ["host-1/c=8", "host-2/c=8"]  # names of machines are hidden
    assert labels({0: "one", 1: "one"}) == labels({0: "one"}) == ["c=8"]


@pytest.mark.parametrize(("named", "known"), [(("one", "two"), True), (("one",), False)])
def test_a_card_is_known_where_every_machine_that_serves_names_its_own(named: tuple[str, ...], known: bool) -> None:
    requests = served([(1000.0, 1100.0)]) + served([(1200.0, 1300.0)], source_id=1)
    cards = [{"source_id": 2, "host": host, "gpu": 0, "name": "NVIDIA GeForce RTX 3090", "memory_mib": 24576.0} for host in named]
    store = store_of(hosts={0: "one", 1: "two"}, requests=requests, gpus=cards)
    assert bool(store.rows_of("SELECT * FROM main.gpu_catalog_match")) == known
    assert store_of(requests=requests, gpus=cards).rows_of("SELECT * FROM main.gpu_catalog_match")  # one machine as far as is told
