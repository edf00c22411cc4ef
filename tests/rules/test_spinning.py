"""Busy and cool: spinning, and what looks like it."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.result import Finding
from gpuverdict.rules.spinning import RULE

from .small_store import Rows, config, findings, lines, samples, store_of

IDLE: Rows = [{"source_id": 9, "line": 1, "key": "idle_w", "value": "120", "num": 120.0}]
TP8 = config(slots=64, tensor_parallel=8, split="tensor")
SILENT = {"running": 4.0, "waiting": 0.0, "gen_tok_s": 0.0, "prompt_tok_s": 0.0, "step": 5.0}


def judged(settings: Rows = TP8, stats: dict[str, Any] = SILENT, given: Rows = IDLE, cards: int = 8, **read: Any) -> Finding:
    values = {"util_gpu": 100.0, "power_w": 150.0, "power_limit_w": 700.0, "util_mem": 1.0, **read}
    store = store_of(
        during={0: "c=4", 1: "c=4"},
        gpu_samples=samples(40, cards, **values),
        server_samples=lines(**stats),
        server_config=settings,
        given=given,
    )
    return findings(RULE, store)["c=4"]


def test_a_hang_is_confirmed() -> None:
    found = judged()
    assert (found.verdict, found.claim) == ("confirmed", "state")
    assert found.numbers["spin_p_dyn"] == pytest.approx(30 / 580)
    assert found.numbers["silent_windows"] >= 10
    assert found.evidence


def test_tokens_that_flow_leave_it_fitting() -> None:
    """An H200 decodes at 137 W: p_dyn 0.03."""
    found = judged(stats={**SILENT, "gen_tok_s": 200.0})
    assert found.verdict == "fits"
    assert "small model on a big card" in found.rivals_open[0].name


def test_tokens_that_are_not_known_are_not_zero() -> None:
    assert judged(stats={**SILENT, "gen_tok_s": None}).verdict == "fits"


def test_idle_multiprocessors_confirm_beside_tokens() -> None:
    busy = {**SILENT, "gen_tok_s": 200.0}
    assert judged(stats=busy, sm_active=0.1, dram_active=0.01).verdict == "confirmed"
    assert judged(stats=busy, sm_active=0.5, dram_active=0.01).verdict == "fits"


def test_one_rank_is_ruled_out() -> None:
    assert judged(config(slots=64, tensor_parallel=1, pipeline_parallel=1, data_parallel=1), cards=1).verdict == "ruled-out"


def test_one_rank_of_an_unknown_number_of_engines_is_not_one_rank() -> None:
    assert judged(config(slots=64, tensor_parallel=1), cards=1).verdict == "fits"


def test_unknown_ranks_confirm_nothing() -> None:
    assert judged(config(slots=64)).verdict == "fits"


def test_memory_that_is_read_rules_it_out() -> None:
    assert judged(util_mem=53.0, power_w=328.0).verdict == "ruled-out"
    assert judged(util_mem=53.0).verdict == "cannot-tell", "busy, cool, silent and reading: that contradicts itself"
    assert judged(util_mem=lambda s, g: 2.0 if g == 3 else 53.0, stats={**SILENT, "gen_tok_s": 9.0}).verdict == "fits", (
        "one card does not read"
    )
    assert judged(util_mem=None, dram_active=0.5, sm_active=0.9, power_w=400.0).verdict == "ruled-out"


def test_no_idle_power_of_the_same_log_no_p_dyn() -> None:
    assert judged(given=[]).verdict == "cannot-tell"


def test_hot_cards_do_not_spin() -> None:
    assert judged(power_w=500.0).verdict == "cannot-tell"
