"""Prompts that are computed again: only by the server's own line."""

from __future__ import annotations

import pytest
from gpuverdict.engine.store import Store
from gpuverdict.rules.re_prefill import RULE

from .small_store import served, store_of, verdict


def store(events: int, cached: float | None, n: int = 8, start: float = 1000.5) -> Store:
    requests = [
        {**r, "prompt_tokens": 100.0 if cached else 900.0, "cached_tokens": cached}
        for r in served([(1000.0 + 10 * k, 1009.0 + 10 * k) for k in range(n)])
    ]
    told = [
        {"source_id": 0, "line": 5 + 10 * k, "server": "llama.cpp", "run": 0, "time": start + 10 * k, "kind": "re-prefill"}
        for k in range(events)
    ]
    return store_of(requests=requests, server_events=told)


@pytest.mark.parametrize(
    ("events", "cached", "expected"),
    [(6, 0.0, "confirmed"), (2, 0.0, "cannot-tell"), (0, 0.0, "cannot-tell"), (0, 900.0, "ruled-out"), (0, None, "cannot-tell")],
)
def test_lines_about_the_prompt(events: int, cached: float | None, expected: str) -> None:
    assert verdict(RULE, store(events, cached), "1 running").verdict == expected


def test_a_low_hit_rate_alone_says_nothing_and_a_few_requests_rule_nothing_out() -> None:
    assert verdict(RULE, store(0, 0.0), "1 running").verdict == "cannot-tell"
    assert verdict(RULE, store(0, 900.0, n=3), "1 running").verdict == "cannot-tell"


def test_lines_outside_the_load_count_nowhere_in_it() -> None:
    assert verdict(RULE, store(6, 0.0, n=2), "1 running").verdict == "cannot-tell"
