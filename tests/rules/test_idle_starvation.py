"""Idle cards: what a busy link says about them."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.result import Finding
from gpuverdict.rules.idle_starvation import RULE

from .small_store import samples, served, store_of, verdict


def streamed(every_s: float | None = 1.0, rounds: int = 100, card: int = 0, **read: Any) -> Finding:
    """A card at 2 %, and counters of its link (25 GB/s at most) that average over `every_s`, or over a time that nobody tells."""
    smi = samples(rounds, 1, util_gpu=2.0, mem_used=20_000.0)
    values = {"pcie_rx": 20_000.0, "sm_active": 0.04, "pcie_probe_s": every_s, "pcie_averaged": every_s != 0.02, **read}
    counters = [{**r, "gpu": card, "time": None} for r in samples(rounds, 1, source_id=2, **values)]
    store = store_of(
        during={0: "c=1", 1: "c=1", 2: "c=1"},
        zone={2: "none"},
        gpu_samples=smi + counters,
        requests=served([(1000.0, 1050.0), (1050.0, 1100.0)]),
        given=[{"source_id": 9, "key": "link.gb_s", "num": 25.0}],
    )
    return verdict(RULE, store, "c=1")


def test_a_card_that_is_fed_over_its_link_all_the_time_is_not_starved() -> None:
    found = streamed()
    assert found.verdict == "ruled-out" and "80 % or more" in found.sentence
    assert streamed(every_s=None).verdict == "ruled-out", "a hundred intervals in 100 s of load are no longer than a second"


@pytest.mark.parametrize(
    "case",
    [
        {"pcie_rx": lambda s, g: 100.0 if 50 <= s < 60 else 20_000.0},  # quiet for ten seconds
        {"pcie_rx": 1000.0},
        {"every_s": 0.02},  # probes see a fiftieth of the time
        {"every_s": 30.0},  # an average over 30 s may hold a stretch of nothing
        {"every_s": None, "rounds": 20},  # 20 intervals in 100 s may be of 5 s
        {"card": 1},  # the link of a card that serves nothing
    ],
)
def test_a_link_that_may_have_been_quiet_rules_nothing_out(case: dict[str, Any]) -> None:
    assert streamed(**case).verdict != "ruled-out"
