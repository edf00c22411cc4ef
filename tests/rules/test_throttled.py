"""Throttling: flags, clocks, references, cost."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.store import Store
from gpuverdict.rules.throttled import RULE

from .small_store import lines, samples, store_of, verdict

CAP, HEAT, IDLE, NONE = 0x4, 0x20, 0x1, 0x0


def loaded(during: bool = True, names: list[str] | None = None, stated: str | None = None, **values: Any) -> Store:
    """Thirty seconds of samples bound to c=1. `names` are printed, `stated` is what the user says all cards are."""
    read = {"util_gpu": 98.0, "sm_clock": 1980.0, "mem_clock": 2600.0, "event_reasons": NONE, "temp": 60.0, **values}
    cards = read.pop("cards", 1)
    seconds = read.pop("seconds", 30)
    gpus = [{"source_id": 1, "gpu": i, "name": n} for i, n in enumerate(names or [])]
    given = [{"source_id": 9, "key": "gpu.name", "value": stated}] if stated else []
    return store_of(during={1: "c=1"} if during else None, gpu_samples=samples(seconds, cards, **read), gpus=gpus, given=given)


def test_heat_with_a_lower_clock_is_confirmed_as_a_state() -> None:
    hot = {"event_reasons": lambda s, g: HEAT if s >= 20 else NONE, "sm_clock": lambda s, g: 1500.0 if s >= 20 else 1980.0}
    found = verdict(RULE, loaded(**hot))
    assert (found.verdict, found.claim) == ("confirmed", "state")
    assert found.numbers["held_share"] == pytest.approx(1 / 3)
    assert found.numbers["held_ratio"] == pytest.approx(1500 / 1980)
    assert "What it costs is not shown" in found.sentence
    assert found.evidence


def test_heat_without_a_lower_clock_only_fits() -> None:
    found = verdict(RULE, loaded(event_reasons=lambda s, g: HEAT if s >= 20 else NONE))
    assert found.verdict == "fits"
    assert found.rivals_open[0].name.startswith("a flag that takes nothing away")


def test_heat_in_a_twentieth_is_needed() -> None:
    one = {"seconds": 60, "event_reasons": lambda s, g: HEAT if s == 30 else NONE, "sm_clock": lambda s, g: 900.0 if s == 30 else 1980.0}
    assert verdict(RULE, loaded(**one)).verdict == "cannot-tell"


def test_a_power_cap_needs_half_of_the_samples() -> None:
    half = {"event_reasons": lambda s, g: CAP if s >= 12 else NONE, "sm_clock": lambda s, g: 1600.0 if s >= 12 else 1980.0}
    third = {"event_reasons": lambda s, g: CAP if s >= 20 else NONE, "sm_clock": lambda s, g: 1600.0 if s >= 20 else 1980.0}
    assert verdict(RULE, loaded(**half)).verdict == "confirmed"
    assert verdict(RULE, loaded(**third)).verdict == "cannot-tell"


def test_capped_from_the_first_second_has_no_reference() -> None:
    found = verdict(RULE, loaded(event_reasons=CAP, sm_clock=1300.0))
    assert found.verdict == "fits"
    assert "without the cap is unknown" in found.sentence


def test_an_idle_clock_is_never_the_reference() -> None:
    idle = {
        "util_gpu": lambda s, g: 0.0 if s < 10 else 98.0,
        "event_reasons": lambda s, g: IDLE if s < 10 else CAP,
        "sm_clock": lambda s, g: 1980.0 if s < 10 else 1300.0,
    }
    assert verdict(RULE, loaded(**idle)).verdict == "fits"


def test_an_equal_card_that_works_as_much_is_a_reference() -> None:
    one_hot = {"cards": 2, "event_reasons": lambda s, g: CAP if g else NONE, "sm_clock": lambda s, g: 1500.0 if g else 1980.0}
    assert verdict(RULE, loaded(names=["NVIDIA H200", "NVIDIA H200"], **one_hot)).verdict == "confirmed"
    assert verdict(RULE, loaded(names=["NVIDIA H200", "NVIDIA L40S"], **one_hot)).verdict == "fits"
    lazy = one_hot | {"util_gpu": lambda s, g: 98.0 if g else 30.0}
    assert verdict(RULE, loaded(names=["NVIDIA H200", "NVIDIA H200"], **lazy)).verdict == "fits"


def test_the_same_card_in_another_run_is_a_reference() -> None:
    capped = samples(30, source_id=1, util_gpu=98.0, sm_clock=1300.0, event_reasons=CAP)
    free = samples(30, source_id=2, start=5000.0, util_gpu=98.0, sm_clock=1900.0, event_reasons=NONE)
    store = store_of(during={1: "c=1", 2: "c=2"}, gpu_samples=capped + free)
    assert verdict(RULE, store, "c=1").verdict == "confirmed"
    assert verdict(RULE, store, "c=2").verdict == "cannot-tell"


def test_ruled_out_needs_reasons_and_a_reference() -> None:
    eight = {"cards": 8, "names": ["NVIDIA H200"] * 8}
    found = verdict(RULE, loaded(**eight))
    assert found.verdict == "ruled-out"
    assert found.numbers["reason_samples"] == 30
    assert verdict(RULE, loaded()).verdict == "cannot-tell", "one card: its clock has no reference"
    assert verdict(RULE, loaded(**eight, event_reasons=None)).verdict == "cannot-tell"
    assert verdict(RULE, loaded(**eight, sm_clock=lambda s, g: 1900.0 if g == 3 else 1980.0)).verdict == "cannot-tell"


def test_cards_that_are_stated_to_be_equal_are_a_reference_for_clocks_that_agree() -> None:
    found = verdict(RULE, loaded(cards=8, stated="NVIDIA H200"))
    assert found.verdict == "ruled-out" and found.given == ["gpu.name=NVIDIA H200"]
    assert verdict(RULE, loaded(cards=8)).verdict == "cannot-tell"
    assert verdict(RULE, loaded(cards=2, stated="NVIDIA H200", names=["NVIDIA H200", "NVIDIA L40S"])).verdict == "cannot-tell"
    one_hot = {"cards": 2, "event_reasons": lambda s, g: CAP if g else NONE, "sm_clock": lambda s, g: 1500.0 if g else 1980.0}
    assert verdict(RULE, loaded(stated="NVIDIA H200", **one_hot)).verdict == "fits", "it may be another card after all"


def test_flags_at_one_instant_rule_out_nothing() -> None:
    once = {"cards": 8, "names": ["NVIDIA H200"] * 8, "event_reasons": lambda s, g: NONE if s == 0 else None}
    assert verdict(RULE, loaded(**once)).verdict == "cannot-tell"
    assert verdict(RULE, loaded(cards=8, names=["NVIDIA H200"] * 8, seconds=1)).verdict == "cannot-tell"


def test_samples_that_nothing_ties_to_load_only_fit() -> None:
    hot = {"event_reasons": lambda s, g: HEAT if s >= 20 else NONE, "sm_clock": lambda s, g: 1500.0 if s >= 20 else 1980.0}
    assert verdict(RULE, loaded(during=False, **hot)).verdict == "fits"


def test_memory_that_slows_down_without_a_flag_fits() -> None:
    found = verdict(RULE, loaded(cards=2, names=["NVIDIA GeForce RTX 3090"] * 2, mem_clock=lambda s, g: 5000.0 if s > 20 else 9501.0))
    assert found.verdict == "fits"
    assert "memory clock falls" in found.sentence


def test_violation_time_of_dmon_takes_the_place_of_reasons() -> None:
    read = {"event_reasons": None, "pviol": lambda s, g: 100.0 if s >= 15 else 0.0, "sm_clock": lambda s, g: 1500.0 if s >= 15 else 1980.0}
    assert verdict(RULE, loaded(**read)).verdict == "confirmed"
    assert verdict(RULE, loaded(event_reasons=None, pviol=0.0, tviol=0.0, cards=8, names=["NVIDIA H200"] * 8)).verdict == "cannot-tell"


def test_the_cost_is_printed_beside_the_state_and_is_not_confirmed_without_an_intervention() -> None:
    hot = samples(
        200, event_reasons=lambda s, g: HEAT if s >= 100 else NONE, sm_clock=lambda s, g: 1500.0 if s >= 100 else 1980.0, util_gpu=98.0
    )
    rate = lines(20, start=1009.0, running=8.0, waiting=0.0, gen_tok_s=lambda i: (400.0 if i < 10 else 300.0) + i % 2)
    found = verdict(RULE, store_of(during={1: "c=1", 0: "c=1"}, gpu_samples=hot, server_samples=rate), "c=1")
    assert (found.verdict, found.claim) == ("confirmed", "state")
    assert found.numbers["drop_share"] == pytest.approx(0.25, abs=0.01)
    assert "300" in found.sentence and "400" in found.sentence


def test_the_bit_of_the_power_cap_far_below_the_limit_is_a_quirk() -> None:
    """0x4 at 39 W of 250 W with low clocks: the light part of the load. The same bit near the limit is a cap."""
    light = {
        "event_reasons": lambda s, g: CAP if s >= 12 else NONE,
        "sm_clock": lambda s, g: 450.0 if s >= 12 else 1815.0,
        "power_limit_w": 250.0,
    }
    near, far = (lambda s, g: 245.0), (lambda s, g: 39.0 if s >= 12 else 190.0)
    assert verdict(RULE, loaded(**light, power_w=near)).verdict == "confirmed"
    found = verdict(RULE, loaded(**light, power_w=far))
    assert found.verdict == "cannot-tell" and found.numbers["capped_share"] == 0


def test_clocks_are_compared_at_similar_utilisation_only() -> None:
    """A card with little to do clocks down by itself: the clock of full load is no reference for it."""
    light = {"event_reasons": lambda s, g: CAP if s >= 12 else NONE, "sm_clock": lambda s, g: 450.0 if s >= 12 else 1815.0}
    assert verdict(RULE, loaded(**light, util_gpu=lambda s, g: 20.0 if s >= 12 else 98.0)).verdict == "fits"
    assert verdict(RULE, loaded(**light, util_gpu=lambda s, g: 92.0 if s >= 12 else 98.0)).verdict == "confirmed"


def ramp(flagged: int, bit: int) -> Store:
    """Bursts of eleven busy seconds after one idle second; the first seconds of each carry the bit and a low clock."""
    first = lambda s: 1 <= s % 12 <= flagged  # noqa: E731
    return loaded(
        seconds=120,
        util_gpu=lambda s, g: 0.0 if s % 12 == 0 else 97.0,
        event_reasons=lambda s, g: bit if first(s) else NONE,
        sm_clock=lambda s, g: 900.0 if first(s) else 1800.0,
    )


@pytest.mark.parametrize(
    ("flagged", "bit", "expected"), [(1, 0x8, "cannot-tell"), (4, 0x8, "confirmed"), (1, 0x48, "confirmed"), (1, 0x20, "confirmed")]
)
def test_a_slowdown_in_the_first_sample_of_a_burst_is_a_change_of_the_power_state(flagged: int, bit: int, expected: str) -> None:
    assert verdict(RULE, ramp(flagged, bit)).verdict == expected
