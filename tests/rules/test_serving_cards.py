"""Cards that the server does not run on decide nothing: neither another job's nor those that do nothing."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.rule import Rule
from gpuverdict.rules.compute_bound import RULE as COMPUTE
from gpuverdict.rules.idle_starvation import RULE as STARVED
from gpuverdict.rules.memory_bound import RULE as MEMORY
from gpuverdict.rules.narrow_link import RULE as NARROW
from gpuverdict.rules.throttled import RULE as THROTTLED

from .small_store import config, samples, store_of, verdict

CAP = 0x4


def of_two(rule: Rule, ranks: int | None = 2, cards: int = 4, **read: Any) -> str:
    """What a recording of a whole host says of a server with two ranks, or with ranks that nobody tells; a value may name the card."""
    settings = (
        config(source_id=5, server="vllm", tensor_parallel=ranks, pipeline_parallel=1, data_parallel=1, split="tensor") if ranks else []
    )
    names = [{"source_id": 1, "gpu": i, "name": "NVIDIA H100 80GB HBM3"} for i in range(cards)]
    return verdict(
        rule, store_of(during={1: "c=1"}, gpu_samples=samples(30, cards, **read), server_config=settings, gpus=names), "c=1"
    ).verdict


def two(own: float, other: float) -> Any:
    return lambda s, g: own if g < 2 else other


COUNTERS: dict[str, Any] = {"sm_active": 0.9, "tensor_active": 0.05, "dram_active": 0.75}
WORK: dict[str, Any] = {"util_gpu": 99.0}


@pytest.mark.parametrize("util", [{}, WORK], ids=["counters alone", "with utilisation"])
@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ({}, "cannot-tell"),  # four cards at the roof, two of which are the server's
        ({"cards": 2}, "confirmed"),
        # the others do nothing: they are not part of any mean
        (
            {"sm_active": two(0.9, 0.0), "tensor_active": two(0.05, 0.0), "dram_active": two(0.75, 0.0), "util_gpu": two(99.0, 0.0)},
            "confirmed",
        ),
        # the others are another job's, and full
        ({"dram_active": two(0.40, 0.97)}, "cannot-tell"),
        ({"dram_active": two(0.75, 0.02)}, "cannot-tell"),
        ({"cards": 2, "dram_active": 0.2}, "ruled-out"),
    ],
)
def test_the_memory_interface_of_the_serving_cards(util: dict[str, Any], read: dict[str, Any], expected: str) -> None:
    own = {k: v for k, v in read.items() if util or k != "util_gpu"}
    assert of_two(MEMORY, **{**COUNTERS, **util, **own}) == expected


@pytest.mark.parametrize(
    ("split", "each", "expected"),
    [
        # three cards in turn: a quarter of the time on each is three quarters together
        ("layer", 0.25, "confirmed"),
        ("layer", 0.1, "ruled-out"),
        # at the same time
        ("tensor", 0.25, "ruled-out"),
        ("tensor", 0.75, "confirmed"),
        # nobody tells
        (None, 0.25, "cannot-tell"),
        (None, 0.1, "ruled-out"),
        # stages with enough batches in flight work at the same time, with one they take turns
        ("pipeline", 0.25, "cannot-tell"),
    ],
)
def test_the_memory_interface_of_cards_that_take_turns(split: str | None, each: float, expected: str) -> None:
    given = [{"source_id": 9, "key": "split", "value": split}] if split else []
    read = samples(30, 3, **{**COUNTERS, "dram_active": each, "sm_active": 0.3})
    assert verdict(MEMORY, store_of(during={1: "c=1"}, gpu_samples=read, given=given), "c=1").verdict == expected


@pytest.mark.parametrize(("cards", "expected"), [(2, "confirmed"), (4, "fits")])
def test_the_tensor_pipes_of_the_serving_cards(cards: int, expected: str) -> None:
    assert of_two(COMPUTE, cards=cards, **{**COUNTERS, "tensor_active": 0.6}) == expected


@pytest.mark.parametrize(("cards", "ranks", "expected"), [(3, 2, "fits"), (3, 3, "confirmed"), (3, None, "confirmed")])
def test_a_clock_that_is_held_down_on_a_card_of_another_job(cards: int, ranks: int | None, expected: str) -> None:
    read = {
        "event_reasons": lambda s, g: CAP if g == 2 else 0,
        "sm_clock": lambda s, g: 1300.0 if g == 2 else 1900.0,
        "mem_clock": 2600.0,
        "temp": 60.0,
    }
    assert of_two(THROTTLED, ranks=ranks, cards=cards, **WORK, **read) == expected


@pytest.mark.parametrize(("ranks", "util", "expected"), [(2, 99.0, "cannot-tell"), (3, 99.0, "confirmed"), (2, 0.0, "cannot-tell")])
def test_a_narrow_link_of_a_card_of_another_job(ranks: int, util: float, expected: str) -> None:
    read = {"pcie_gen": lambda s, g: 1.0 if g == 2 else 4.0, "pcie_gen_max": 4.0, "pcie_width": 16.0, "pcie_width_max": 16.0}
    assert of_two(NARROW, ranks=ranks, cards=3, util_gpu=two(99.0, util), **read) == expected


@pytest.mark.parametrize(
    ("names", "ranks", "expected"),
    [
        (("a", "b"), None, "cannot-tell"),
        (("a", "a"), None, "ruled-out"),
        ((None, None), None, "ruled-out"),
        # a server that names its processes by rank
        (("a", "b"), 2, "ruled-out"),
    ],
)
def test_a_busy_card_of_another_program_does_not_show_that_the_server_works(
    names: tuple[str | None, str | None], ranks: int | None, expected: str
) -> None:
    processes = [
        {"source_id": 2, "line": 10 * n + g, "gpu": g, "cycle": n, "pid": 100 + g, "kind": "C", "name": names[g], "util_gpu": 5.0}
        for n in range(12) for g in range(2)
    ]  # fmt: skip
    settings = (
        config(source_id=5, server="vllm", tensor_parallel=ranks, pipeline_parallel=1, data_parallel=1, split="tensor") if ranks else []
    )
    read = samples(30, 2, util_gpu=lambda s, g: (4.0, 90.0)[g])
    store = store_of(during={1: "c=1"}, gpu_samples=read, gpu_processes=processes, server_config=settings)
    assert verdict(STARVED, store, "c=1").verdict == expected
