"""KV cache: preemptions per minute, usage at the events, admission beside free slots."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.result import Finding
from gpuverdict.rules.kv_pressure import RULE

from .small_store import Rows, config, findings, lines, store_of


def judged(server_samples: Rows, events: Rows = [], settings: Rows | None = None) -> Finding:  # noqa: B006
    """One log bound to c=64."""
    settings = config(slots=256, version="0.13.0") if settings is None else settings
    return findings(RULE, store_of(during={0: "c=64"}, server_samples=server_samples, server_events=events, server_config=settings))["c=64"]


def retracts(n: int, every: float = 3.0, first: float = 1000.0) -> Rows:
    return [
        {
            "source_id": 0,
            "line": 101 + round((first + i * every - 1000) / 10),
            "server": "sglang",
            "run": 0,
            "time": first + i * every,
            "kind": "retract",
            "value": 2.0,
        }
        for i in range(n)
    ]


def sglang(**values: Any) -> Rows:
    return lines(server="sglang", **{"running": 60.0, "waiting": 20.0, "kv_usage": 0.98, "phase": "decode", **values})


def test_retractions_with_a_full_cache_are_confirmed() -> None:
    found = judged(sglang(), retracts(60))
    assert found.verdict == "confirmed"
    assert found.numbers["events_per_min"] == pytest.approx(60 / (190 / 60), rel=0.01)
    assert found.numbers["usage_at_events"] == pytest.approx(0.98)
    assert found.evidence


def test_preemptions_in_the_statistics_lines_are_counted_by_their_number() -> None:
    found = judged(lines(running=60.0, waiting=9.0, kv_usage=0.99, preemptions=lambda i: 3.0 if i % 2 else None))
    assert found.verdict == "confirmed"
    assert found.numbers["events_seen"] == 30


def test_one_preemption_an_hour_is_harmless() -> None:
    hour = lines(360, running=60.0, waiting=0.0, kv_usage=0.97, preemptions=lambda i: 1.0 if i == 100 else None)
    assert judged(hour).verdict == "cannot-tell"


def test_two_events_in_a_short_run_are_no_rate() -> None:
    assert judged(lines(4, running=60.0, waiting=0.0, kv_usage=0.99, preemptions=lambda i: 1.0 if i > 1 else None)).verdict == "cannot-tell"


def test_retractions_with_room_in_the_cache_only_fit() -> None:
    found = judged(sglang(kv_usage=0.60), retracts(60))
    assert found.verdict == "fits"
    assert found.rivals_open


def test_a_roomy_cache_is_ruled_out() -> None:
    roomy = {"running": 40.0, "waiting": 0.0, "kv_usage": 0.4}
    assert judged(lines(**roomy)).verdict == "ruled-out"
    assert judged(sglang(**roomy), settings=config(server="sglang", slots=256)).verdict == "ruled-out"


@pytest.mark.parametrize(("preempted", "expected"), [(None, "ruled-out"), (1.0, "cannot-tell")])
def test_what_was_taken_back_in_another_stretch_of_the_run_counts(preempted: float | None, expected: str) -> None:
    quiet = lines(20, running=9.0, waiting=0.0, kv_usage=0.02)
    gap = lines(3, start=1200.0, running=0.0, waiting=0.0, kv_usage=0.0)
    busy = lines(20, start=1230.0, running=20.0, waiting=0.0, kv_usage=0.03, preemptions=lambda i: preempted if i == 4 else None)
    rows = [{**row, "line": 100 + n} for n, row in enumerate([*quiet, *gap, *busy])]
    found = findings(RULE, store_of(server_samples=rows, server_config=config(slots=256, version="0.13.0")))
    assert found["8-15 running"].verdict == expected


@pytest.mark.parametrize("version", [None, "0.11.2", "0.9.1"])
def test_silence_of_a_log_that_prints_no_preemptions_rules_out_nothing(version: str | None) -> None:
    settings = config(slots=256, **({"version": version} if version else {}))
    assert judged(lines(running=40.0, waiting=0.0, kv_usage=0.4), settings=settings).verdict == "cannot-tell"


def test_requests_that_wait_beside_free_slots_are_admission() -> None:
    """A queue of 646 with the cache at 19 %: not the cache, and not ruled out either."""
    stalled = sglang(running=20.0, waiting=646.0, kv_usage=0.19)
    assert judged(stalled, settings=config(server="sglang", slots=256)).verdict == "cannot-tell"
    assert judged(stalled, settings=[]).verdict == "cannot-tell", "the limit is not known"


def test_waiting_at_the_slot_limit_is_not_admission() -> None:
    assert judged(sglang(running=64.0, waiting=30.0, kv_usage=0.5), settings=config(server="sglang", slots=64)).verdict == "ruled-out"


def test_a_full_cache_and_requests_beside_free_slots_fit() -> None:
    found = judged(lines(running=60.0, waiting=20.0, kv_usage=0.99))
    assert found.verdict == "fits"
    assert "admission" in found.rivals_open[0].name


def test_usage_alone_is_no_verdict() -> None:
    assert judged(lines(running=60.0, waiting=0.0, kv_usage=0.9)).verdict == "cannot-tell"
    assert judged(lines(running=60.0, waiting=0.0)).verdict == "cannot-tell"


def test_no_free_space_lines_of_llama_cpp_fit() -> None:
    full = [{"source_id": 0, "line": 5 + i, "server": "llama.cpp", "run": 0, "time": 1000.0 + i, "kind": "kv-full"} for i in range(4)]
    served = lines(5, server="llama.cpp", running=4.0, waiting=0.0)
    assert judged(served, full).verdict == "fits"
    assert judged(served, full[:1]).verdict == "cannot-tell"


def test_fewer_than_the_low_end_of_the_limit_is_enough() -> None:
    """The default of the build is 256 on one card and 1024 on another: with 60 of them the cache is what keeps the others out."""
    between = [{**config(slots=256, version="0.11.0")[0], "num_hi": 1024.0}]
    full = {"waiting": 50.0, "kv_usage": 0.99}
    found = judged(lines(running=120.0, **full), settings=between)
    assert found.verdict == "fits" and found.numbers["stalled_share"] == [1, 1]
    assert judged(lines(running=600.0, **full), settings=between).verdict == "cannot-tell"
    roomy = {"waiting": 50.0, "kv_usage": 0.4}
    told = [*between, *config(version="0.13.0")]
    assert judged(lines(running=1024.0, **roomy), settings=told).verdict == "ruled-out"
    assert judged(lines(running=600.0, **roomy), settings=told).verdict == "cannot-tell"


def test_a_rank_that_queues_beside_a_rank_with_room() -> None:
    """Rank 0 is full and queues, rank 1 has 23 slots free: that is said of each engine, not of the server."""
    rows = [
        {
            **row,
            "rank": f"DP{rank}",
            "engine": rank,
            "line": row["line"] * 2 + rank,
            "running": (32.0, 9.0)[rank],
            "waiting": (20.0, 0.0)[rank],
        }
        for row in sglang(kv_usage=0.02)
        for rank in (0, 1)
    ]
    found = judged(rows, settings=config(server="sglang", slots=32, data_parallel=2))
    assert found.verdict == "ruled-out" and "in none of 2 engines" in found.sentence and "of that engine" in found.sentence
