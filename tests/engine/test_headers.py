"""What a hand-written header names, and what it only seems to name."""

from __future__ import annotations

import pytest
from gpuverdict.engine.headers import meaning


@pytest.mark.parametrize(
    ("header", "role"),
    [
        ("c", "concurrency"),
        ("Max concurrency", "concurrency"),
        ("n_parallel", "concurrency"),
        ("Gleichzeitige Nutzer", "concurrency"),
        ("VUs", "concurrency"),
        ("N Req", "requests"),
        ("Num Prompts", "requests"),
        ("max-running-requests", ""),
        ("tok/s/user", "per_stream"),
        ("Tput User (TPS)", "per_stream"),
        ("per slot", "per_stream"),
        ("ctx per slot", ""),
        ("tok/s/GPU", ""),
        ("tokens per request", ""),
        ("Speedup", ""),
        ("Tput Prefill (TPS)", "prefill"),
        ("prompt tok/s", "prefill"),
        ("TPS", "aggregate"),
        ("Output token throughput (tok/s)", "aggregate"),
        ("throughput (img/s)", ""),
        ("tok/s", "tok"),
        ("Req Tput (RPS)", "req_s"),
        ("queue time", ""),
        ("Median E2E Latency", "e2e"),
        ("ms/tok", "tpot"),
        ("Time (s)", "time"),
        ("success rate", ""),
    ],
)
def test_headers(header: str, role: str) -> None:
    assert meaning(header).role == role


@pytest.mark.parametrize(
    "header",
    ["Throughput (k tok/s)", "kTok/s", "output kT/s", "M tok/s", "tok/s (thousands)", "tok/s x1000", "Throughput (k)", "10^3 tok/s", "tokens per second (in k)", "k req/s"],
)  # fmt: skip
def test_multiples_of_a_rate_are_no_rate(header: str) -> None:
    """0.59 thousand tokens a second are not 0.59."""
    assert meaning(header).role == ""


@pytest.mark.parametrize("header", ["8k tok/s", "tok/s @ 16k", "tok/s (4k ctx)", "t/s at 10 users"])
def test_a_context_or_a_count_is_no_multiple(header: str) -> None:
    assert meaning(header).role == "tok"
