"""The simulator reproduces the numbers that a queue, a saturated card and cards taking turns are known to show."""

from __future__ import annotations

import random
import statistics
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "fixtures"))

from simulator.bundle import make
from simulator.clients import Client, Load, length
from simulator.formats import Clock
from simulator.gpu import Phase, Recorder, Rig, Track
from simulator.scenarios import SCENARIOS
from simulator.server import Engine, Segment, Served, decode_rate, peak_overlap, serve

FOUR = Engine(slots=4, a_ms=27.7, b_ms=11.8, prefill_fixed_ms=250, prefill_tok_s=1e9, step_noise=0)
SATURATED = Engine(slots=8, a_ms=0, b_ms=18.7, prefill_fixed_ms=5, prefill_tok_s=1e9, step_noise=0)
TURNS = Rig(cards=3, mode="layer", shares=(0.33, 0.33, 0.34))


def burst(engine: Engine, streams: int, cv: float = 0.0, seed: int = 0) -> Served:
    return serve(engine, Client(Load("burst", streams, output=192, cv=cv)), random.Random(seed))


def n_eff(served: Served) -> float:
    total = sum(r.output for r in served.requests) / served.end
    return total / statistics.median(decode_rate(r) for r in served.requests)


def sums(rig: Rig, seconds: float, token_s: float, poll_s: float, window_s: float, aligned: bool = False) -> list[list[int]]:
    segments = [Segment(0, seconds, "decode", round(seconds / token_s), 1, 0)]
    rounds = Recorder(rig, 2, seconds - 2, poll_s, window_s, aligned, rng=random.Random(5)).rounds(segments)
    return [[r.util for r in readings] for readings in rounds]


def test_slot_queue_with_equal_answers() -> None:
    eight = burst(FOUR, 8)
    assert eight.end / burst(FOUR, 4).end == pytest.approx(2.00, abs=0.01)
    assert n_eff(eight) == pytest.approx(3.86, abs=0.02)
    assert peak_overlap(eight.requests) == 4


def test_slot_queue_with_ragged_answers() -> None:
    pairs = [(burst(FOUR, 4, 0.5, seed), burst(FOUR, 8, 0.5, seed + 1000)) for seed in range(150)]
    ratios = sorted(b.end / a.end for a, b in pairs)
    assert 1.8 < statistics.median(ratios) < 2.1
    assert ratios[7] < 1.3 and ratios[-8] > 2.5
    assert statistics.median(n_eff(b) for _, b in pairs) == pytest.approx(3.57, abs=0.08)
    assert {peak_overlap(b.requests) for _, b in pairs} == {4}


def test_saturation_doubles_the_wall_without_a_queue() -> None:
    eight = burst(SATURATED, 8)
    assert eight.end / burst(SATURATED, 4).end == pytest.approx(2.00, abs=0.01)
    assert n_eff(eight) == pytest.approx(8, abs=0.1)
    assert peak_overlap(eight.requests) == 8


def test_three_cards_taking_turns_sum_to_one() -> None:
    total = [sum(row) for row in sums(TURNS, 60, 0.0392, 1, 1)]
    assert statistics.mean(total) == pytest.approx(100, abs=0.5)
    assert statistics.pstdev(total) < 2


def test_short_windows_that_are_not_aligned_let_the_sum_wander() -> None:
    total = [sum(row) for row in sums(TURNS, 60, 0.0392, 0.1, 1 / 6)]
    assert statistics.mean(total) == pytest.approx(100, abs=1)
    assert min(total) < 97 and max(total) > 103


def test_slow_turns_are_seen_and_parallel_cards_move_together() -> None:
    slow = sums(TURNS, 120, 1.5, 0.1, 1 / 6)
    assert statistics.correlation([r[0] for r in slow], [r[1] for r in slow]) < -0.35
    third = Rig(cards=3, mode="tensor", decode=Phase(duty=0.333))
    together = sums(third, 60, 0.0392, 0.1, 1 / 6, aligned=True)
    assert statistics.correlation([r[0] for r in together], [r[1] for r in together]) > 0.9
    assert statistics.mean(sum(r) for r in together) == pytest.approx(100, abs=2)


def test_a_full_cache_throws_sequences_out_and_still_ends() -> None:
    engine = Engine("sglang", slots=64, a_ms=10, b_ms=0.2, kv_tokens=12_000)
    served = serve(engine, Client(Load("closed", 32, requests=90, prompt=300, output=300, cv=0.3)), random.Random(1))
    assert len(served.requests) == 90 and all(r.sent <= r.started <= r.first < r.finished for r in served.requests)
    assert served.retractions and max(served.kv_tokens(s.end - 1e-6) for s in served.segments) < 1.1 * 12_000


def test_segments_do_not_overlap_and_make_all_tokens() -> None:
    served = burst(FOUR, 8, 0.5)
    assert all(a.end <= b.begin + 1e-9 for a, b in zip(served.segments, served.segments[1:]))
    assert sum(s.tokens for s in served.segments if s.kind == "decode") == sum(r.output - 1 for r in served.requests)


def test_lognormal_lengths_have_the_mean_and_spread_asked_for() -> None:
    rng = random.Random(2)
    drawn = [length(200, 0.5, rng) for _ in range(4000)]
    assert statistics.mean(drawn) == pytest.approx(200, rel=0.03)
    assert statistics.pstdev(drawn) / statistics.mean(drawn) == pytest.approx(0.5, abs=0.04)


def test_track_means() -> None:
    track = Track([(0, 1, 1.0), (2, 4, 0.5)])
    assert track.mean(0, 4) == pytest.approx(0.5)
    assert track.mean(1, 2) == 0 and track.mean(3, 5) == pytest.approx(0.25) and track.now(3) == 0.5


def test_a_clock_that_is_set_back() -> None:
    clock = Clock(shift_s=7200, falls_at=100)
    assert (clock.at(101) - clock.at(99)).total_seconds() == pytest.approx(2 - 3600)


@pytest.mark.parametrize("name", ["S14", "S18", "S20", "S11", "K01"])
def test_the_same_seed_writes_the_same_bytes(name: str, tmp_path: Path) -> None:
    first, second = (make(SCENARIOS[name], 3, tmp_path / side) for side in "ab")
    assert first.files == second.files and first.files
    for file in first.files:
        assert (first.folder / file).read_bytes() == (second.folder / file).read_bytes()
        assert (first.folder / file).stat().st_mtime == (second.folder / file).stat().st_mtime
    assert make(SCENARIOS[name], 1, tmp_path / "c").served.end != first.served.end


def test_labels_are_consistent() -> None:
    for scenario in SCENARIOS.values():
        assert set(scenario.expect.values()) <= set("CXSI")
        for key, letter in scenario.expect.items():
            rule = key.partition("@")[0]
            assert letter != "C" or rule in scenario.true or rule == "thin-evidence", f"{scenario.id}: {rule} is expected but not true"
            assert letter != "X" or "*" not in scenario.true.get(rule, ()), f"{scenario.id}: {rule} is true and to be ruled out"
