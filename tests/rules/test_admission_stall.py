"""Admission stall: the counts confirm it only where prefill is seen not to use its tokens per step."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.rules import kv_pressure, slot_queue
from gpuverdict.rules.admission_stall import RULE

from .small_store import Rows, config, lines, store_of, verdict

STALL: dict[str, Any] = {"running": 20.0, "waiting": 40.0, "kv_usage": 0.3, "gen_tok_s": 600.0, "prompt_tok_s": 900.0}
SETTINGS: dict[str, Any] = {"server": "vllm", "slots": 256, "max_batched_tokens": 8192, "version": "0.12.0"}
SGLANG: dict[str, Any] = {"slots": 256, "chunked_prefill_size": 8192}


def told(change: dict[str, Any], settings: dict[str, Any] | None = None, n: int = 12) -> Any:
    wanted = {k: v for k, v in {**SETTINGS, **(settings or {})}.items() if v is not None}
    rows = {k: v for k, v in {**STALL, **change}.items() if v is not None}
    return store_of(server_samples=lines(n, **rows), server_config=config(**wanted))


def one(store: Any) -> Any:
    label = next(r["label"] for r in store.rows_of("SELECT label FROM main.scopes ORDER BY scope_id DESC"))
    return verdict(RULE, store, label)


@pytest.mark.parametrize(
    ("change", "settings", "expected"),
    [
        ({}, {}, "confirmed"),
        ({"prompt_tok_s": 0.0, "gen_tok_s": 600.0}, {}, "confirmed"),
        ({"waiting": 0.0}, {}, "ruled-out"),
        ({"waiting": lambda i: 40.0 if i % 3 == 0 else 0.0}, {}, "cannot-tell"),
        # at the limit: slots; with a full cache: memory
        ({"running": 250.0, "gen_tok_s": 4000.0}, {}, "cannot-tell"),
        ({"kv_usage": 0.97}, {}, "cannot-tell"),
        # prefill of long prompts: 1740 tok/s with 3.5 tok/s of answers is 8452 tokens per step
        ({"running": 17.0, "waiting": 15.0, "prompt_tok_s": 1740.0, "gen_tok_s": 3.5}, {}, "fits"),
        ({"prompt_tok_s": 5000.0, "gen_tok_s": 0.0}, {}, "fits"),
        # what cannot be known
        ({}, {"slots": None}, "cannot-tell"),
        ({}, {"max_batched_tokens": None}, "fits"),
        ({"kv_usage": None}, {}, "cannot-tell"),
        ({}, {"speculation": "on"}, "fits"),
    ],
)
def test_lines_of_vllm(change: dict[str, Any], settings: dict[str, Any], expected: str) -> None:
    found = one(told(change, settings))
    assert found.verdict == expected, (found.because, found.sentence)


def test_what_is_missing_is_named() -> None:
    assert {m.fact for m in one(told({}, {"slots": None})).missing} == {"stalled_share"}
    assert one(told({}, {"max_batched_tokens": None})).rivals_open[0].name.startswith("prompts that are being computed")


def test_a_few_lines_show_no_state() -> None:
    assert one(told({}, n=4)).verdict == "cannot-tell"


def sglang(new_tokens: float, **settings: Any) -> Any:
    rows: Rows = []
    for row in lines(
        20, server="sglang", step=3.0, phase="decode", **{k: STALL[k] for k in ("running", "waiting", "kv_usage", "gen_tok_s")}
    ):
        rows += [row, {**row, "line": row["line"] + 500, "phase": "prefill", "gen_tok_s": None, "new_tokens": new_tokens}]
    return store_of(server_samples=rows, server_config=config(server="sglang", **{**SGLANG, **settings}))


@pytest.mark.parametrize(
    ("new_tokens", "settings", "expected"),
    [
        (300.0, {}, "confirmed"),
        (8192.0, {}, "fits"),
        # the log's number is that of one rank already
        (300.0, {"data_parallel": 12}, "confirmed"),
        (300.0, {"data_parallel": 12, "slots": 4}, "cannot-tell"),
    ],
)
def test_prefill_batches_of_sglang(new_tokens: float, settings: dict[str, Any], expected: str) -> None:
    assert one(sglang(new_tokens, **settings)).verdict == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "confirmed"),
        ({"data_parallel": 12, "slots_per_engine": 256}, "confirmed"),
        ({"data_parallel": 12, "slots_per_engine": 21}, "cannot-tell"),
    ],
)
def test_each_engine_of_vllm_has_its_own_limit(settings: dict[str, Any], expected: str) -> None:
    """Twenty of 21 run in each of twelve engines that share 256: they are full."""
    assert one(told({}, settings)).verdict == expected


def test_a_stated_number_may_be_that_of_all_engines() -> None:
    stated = [{"source_id": 9, "key": "slots", "value": "256", "num": 256.0}]
    for dp, expected in ((1, "confirmed"), (12, "cannot-tell")):
        settings = config(**{k: v for k, v in SETTINGS.items() if k != "slots"}, data_parallel=dp)
        store = store_of(server_samples=lines(12, **STALL), server_config=settings, given=stated)
        assert one(store).verdict == expected


def test_it_agrees_with_the_rules_beside_it() -> None:
    store = told({})
    label = next(r["label"] for r in store.rows_of("SELECT label FROM main.scopes ORDER BY scope_id DESC"))
    assert verdict(kv_pressure.RULE, store, label).verdict == "cannot-tell"
    assert verdict(slot_queue.RULE, store, label).verdict != "confirmed"
