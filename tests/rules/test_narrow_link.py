"""PCIe links under load."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.result import Finding
from gpuverdict.rules.narrow_link import RULE

from .small_store import samples, store_of, verdict


def judged(during: bool = True, seconds: int = 30, cards: int = 2, **read: Any) -> Finding:
    values = {"util_gpu": 60.0, "pcie_gen": 4.0, "pcie_gen_max": 4.0, "pcie_width": 16.0, "pcie_width_max": 16.0, **read}
    return verdict(RULE, store_of(during={1: "c=1"} if during else None, gpu_samples=samples(seconds, cards, **values)))


def test_half_of_the_lanes_under_load_is_confirmed() -> None:
    found = judged(pcie_width=lambda s, g: 8.0 if g == 1 else 16.0)
    assert (found.verdict, found.claim) == ("confirmed", "state")
    assert (found.numbers["narrow_gpu"], found.numbers["width"], found.numbers["width_max"]) == (1, 8, 16)
    assert found.evidence


def test_a_lower_generation_under_load_is_confirmed() -> None:
    assert judged(pcie_gen=3.0).verdict == "confirmed"


def test_an_idle_card_at_gen_1_is_no_fault() -> None:
    assert judged(pcie_gen=lambda s, g: 1.0 if s < 15 else 4.0, util_gpu=lambda s, g: 0.0 if s < 15 else 80.0).verdict == "ruled-out"
    assert judged(pcie_gen=1.0, util_gpu=0.0).verdict == "cannot-tell"


def test_full_links_are_ruled_out() -> None:
    assert judged().verdict == "ruled-out"


def test_a_link_that_changes_is_neither() -> None:
    assert judged(pcie_gen=lambda s, g: 3.0 if s % 2 else 4.0).verdict == "cannot-tell"


@pytest.mark.parametrize("missing", ["pcie_width_max", "pcie_gen_max", "pcie_width"])
def test_without_the_possible_value_nothing_is_ruled_out(missing: str) -> None:
    assert judged(**{missing: None}).verdict == "cannot-tell"


def test_a_card_that_never_worked_is_not_ruled_out_with_the_others() -> None:
    assert judged(util_gpu=lambda s, g: 0.0 if g else 80.0).verdict == "cannot-tell"


def test_thin_or_unplaced_samples_confirm_nothing() -> None:
    assert judged(seconds=5, pcie_width=8.0).verdict == "cannot-tell"
    assert judged(during=False, pcie_width=8.0).verdict == "fits"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_narrowest_of_several_narrow_links_is_named(order: tuple[int, int]) -> None:
    """One card at generation 3 of 4 with all lanes, one at a quarter of the lanes: the latter has the least of its rate."""
    found = judged(pcie_gen=lambda s, g: (3.0, 4.0)[order[g]], pcie_width=lambda s, g: (16.0, 4.0)[order[g]])
    assert found.verdict == "confirmed" and found.numbers["narrow_cards"] == 2
    assert (found.numbers["narrow_gpu"], found.numbers["rate_share"]) == (order.index(1), 0.25)


def test_a_link_that_is_narrow_now_and_then_does_not_hide_one_that_always_is() -> None:
    found = judged(pcie_gen=lambda s, g: 1.0 if g == 0 and s % 2 else 3.0 if g == 1 else 4.0)
    assert found.verdict == "confirmed" and found.numbers["narrow_gpu"] == 1
