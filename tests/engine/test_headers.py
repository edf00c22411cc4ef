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
