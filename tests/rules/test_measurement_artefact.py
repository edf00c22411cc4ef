"""Client token times against the server's."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.result import Finding
from gpuverdict.rules.measurement_artefact import RULE

from .small_store import Rows, findings, lines, store_of


def client(n: int = 20, itl_ms: float = 5.5, ttft: float = 0.1, **more: Any) -> Rows:
    return [
        {
            "source_id": 2,
            "line": i + 1,
            "origin": "client",
            "request": str(i),
            "concurrency": 32.0,
            "output_tokens": 101.0,
            "ttft_s": ttft,
            "latency_s": ttft + 100 * itl_ms / 1000,
            "itl_n": 101.0,
            "itl_under_2ms": 0.0,
            "status": "ok",
            **more,
        }
        for i in range(n)
    ]


def server(n: int = 20, itl_ms: float = 5.5) -> Rows:
    return [
        {
            "source_id": 0,
            "line": i + 1,
            "origin": "server",
            "server": "llama.cpp",
            "run": 0,
            "request": str(i),
            "decode_ms": 100 * itl_ms,
            "decode_steps": 100.0,
            "output_tokens": 101.0,
            "status": "ok",
        }
        for i in range(n)
    ]


def judged(requests: Rows, **tables: Rows) -> Finding:
    return findings(RULE, store_of(during={0: "c=32", 2: "c=32"}, requests=requests, **tables))["c=32"]


def test_a_buffering_proxy_is_confirmed() -> None:
    found = judged(client(itl_ms=1.58, itl_under_2ms=0.9, itl_n=20.0) + server(itl_ms=5.49))
    assert found.verdict == "confirmed"
    assert found.numbers["itl_ratio"] == pytest.approx(1.58 / 5.49)
    assert found.evidence


def test_times_that_agree_are_ruled_out() -> None:
    assert judged(client(itl_ms=5.6) + server()).verdict == "ruled-out"


@pytest.mark.parametrize("more", [{"itl_n": None}, {"itl_under_2ms": None}, {"itl_under_2ms": 0.3}, {"itl_n": 8.0}])
def test_without_the_stream_gate_nothing_is_ruled_out(more: dict[str, Any]) -> None:
    assert judged(client(itl_ms=5.6, **more) + server()).verdict == "cannot-tell"


def test_few_requests_confirm_nothing() -> None:
    assert judged(client(3, itl_ms=1.0) + server(3)).verdict == "cannot-tell"


def test_no_server_rates_no_comparison() -> None:
    assert judged(client(itl_ms=1.58)).verdict == "cannot-tell"


def test_answers_all_at_once_are_confirmed() -> None:
    stats: dict[str, Rows] = {"server_samples": lines(running=4.0, waiting=0.0)}
    assert judged(client(itl_ms=0.01, itl_n=1.0), **stats).verdict == "confirmed"
    assert judged(client(itl_ms=6.0, itl_n=2.0), **stats).verdict == "confirmed"


def test_a_long_wait_before_a_normal_stream_is_not_all_at_once() -> None:
    stats: dict[str, Rows] = {"server_samples": lines(running=4.0, waiting=0.0)}
    assert judged(client(ttft=120.0, itl_ms=5.5), **stats).verdict == "cannot-tell"


def test_bursts_fit_because_several_tokens_per_step_give_them_too() -> None:
    bench: Rows = [{"source_id": 3, "line": 1, "concurrency": 32.0, "aggregate_tok_s": 900.0}]
    found = judged(client(itl_under_2ms=0.7, itl_n=40.0), bench_steps=bench)
    assert found.verdict == "fits"
    assert "several tokens per step" in found.rivals_open[0].name


def test_a_client_that_counts_pieces_fits() -> None:
    assert judged(client(itl_ms=14.0) + server()).verdict == "fits"
