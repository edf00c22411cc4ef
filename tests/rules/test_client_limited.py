"""What the client offers: streams in service, idle gaps, bursts."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.result import Finding
from gpuverdict.rules.client_limited import RULE

from .small_store import Rows, config, findings, lines, served, store_of

SIXTEEN = config(server="llama.cpp", slots=16, build=7000)


def judged(spans: list[tuple[float, float]], settings: Rows = SIXTEEN, label: str = "c=8", **tables: Rows) -> Finding:
    """One server log bound to a step."""
    return findings(RULE, store_of(during={0: label}, requests=served(spans), server_config=settings, **tables))[label]


def closed_loop(streams: int, each: int, length: float = 4.0, pause: float = 0.0) -> list[tuple[float, float]]:
    """Streams that send the next request `pause` seconds after the last one ended, shifted against one another."""
    return [
        (1000 + s * length / streams + k * (length + pause), 1000 + s * length / streams + k * (length + pause) + length)
        for s in range(streams)
        for k in range(each)
    ]


def test_a_pool_of_four_that_claims_eight_is_confirmed() -> None:
    found = judged(closed_loop(4, 10))
    assert (found.verdict, found.claim) == ("confirmed", "state")
    assert found.numbers["in_service"] == pytest.approx(4.0, abs=0.2)
    assert found.numbers["running_max"] == 4
    assert found.evidence


def test_eight_streams_of_eight_are_ruled_out() -> None:
    assert judged(closed_loop(8, 10)).verdict == "ruled-out"


def test_four_slots_hold_eight_streams_back() -> None:
    four = config(server="llama.cpp", slots=4, build=7000)
    found = judged(closed_loop(4, 10), four)
    assert found.verdict == "fits"
    assert "slot limit" in found.rivals_open[0].name
    assert judged(closed_loop(4, 10), []).verdict == "fits"


def test_arrivals_before_their_launches_show_a_queue() -> None:
    four = config(server="llama.cpp", slots=4, build=7000)
    spans = closed_loop(4, 10)
    arrivals = [
        {"source_id": 0, "line": 5000 + i, "server": "llama.cpp", "run": 0, "kind": "arrival", "time": a - 3.5}
        for i, (a, _) in enumerate(spans)
    ]
    assert judged(spans, four, server_events=arrivals).verdict == "ruled-out"


def test_a_burst_sent_once_has_no_steady_window() -> None:
    burst = [(1000.0, 1010.0 + 3 * i) for i in range(8)]
    assert judged(burst).verdict == "cannot-tell"


def test_ten_completions_are_needed() -> None:
    assert judged(closed_loop(2, 3)).verdict == "cannot-tell"


def test_think_time_is_confirmed_and_a_single_pause_is_not() -> None:
    thinking = [(1000 + 10 * i, 1004.0 + 10 * i) for i in range(20)]
    found = judged(thinking, [], label="c=1")
    assert found.verdict == "confirmed"
    assert found.numbers["idle_share"] == pytest.approx(0.6, abs=0.02)
    once = [(1000 + 4 * i + (40 if i >= 10 else 0), 1004.0 + 4 * i + (40 if i >= 10 else 0)) for i in range(20)]
    assert judged(once, [], label="c=1").verdict != "confirmed"


def test_a_night_between_two_sessions_is_not_think_time() -> None:
    nights = [(1000 + 40_000 * day + 4 * i, 1004.0 + 40_000 * day + 4 * i) for day in range(5) for i in range(12)]
    assert judged(nights, [], label="c=1").verdict == "ruled-out"


def test_gaps_in_which_the_server_loads_do_not_count() -> None:
    thinking = [(1000 + 10 * i, 1004.0 + 10 * i) for i in range(20)]
    loads = [
        {"source_id": 0, "line": 7000 + i, "server": "llama.cpp", "run": 0, "kind": "loading", "time": 1005.0 + 10 * i} for i in range(20)
    ]
    assert judged(thinking, [], label="c=1", server_events=loads).verdict != "confirmed"


def test_a_log_with_requests_of_unknown_start_shows_no_gaps() -> None:
    rows = served([(1000 + 10 * i, 1004.0 + 10 * i) for i in range(20)])
    rows[5]["started_at"] = None
    assert findings(RULE, store_of(during={0: "c=1"}, requests=rows))["c=1"].verdict != "confirmed"


def vllm(running: float, waiting: float, **more: Any) -> Finding:
    """Statistics of the server and a client that tells when it sent."""
    sent = [
        {
            "source_id": 2,
            "line": i,
            "origin": "client",
            "request": str(i),
            "sent_at": 1000.0 + i,
            "finished_at": 1030.0 + i,
            "concurrency": 64.0,
            "status": "ok",
        }
        for i in range(200)
    ]
    stats = lines(20, running=running, waiting=waiting, gen_tok_s=900.0)
    return findings(
        RULE, store_of(during={0: "c=64", 2: "c=64"}, server_samples=stats, requests=sent, server_config=config(slots=256, **more))
    )["c=64"]


def test_statistics_lines_inside_the_clients_steady_window() -> None:
    assert vllm(30.0, 0.0).verdict == "confirmed"
    assert vllm(63.0, 0.0).verdict == "ruled-out"
    assert vllm(30.0, 34.0).verdict == "ruled-out"


def test_statistics_without_a_client_do_not_tell_the_steady_window() -> None:
    stats = lines(20, running=30.0, waiting=0.0, gen_tok_s=900.0)
    assert (
        findings(RULE, store_of(during={0: "c=64"}, server_samples=stats, server_config=config(slots=256)))["c=64"].verdict == "cannot-tell"
    )


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_requests_that_were_not_served_are_no_completions(status: str) -> None:
    """Every request is refused at once, or given up: the server is idle, and not for want of requests."""
    rows = served(
        [(1000 + 10 * i, 1000.1 + 10 * i) for i in range(30)], status=status, output_tokens=None, decode_ms=None, decode_steps=None
    )
    found = findings(RULE, store_of(during={0: "c=1"}, requests=rows, server_config=SIXTEEN))["c=1"]
    assert found.verdict == "cannot-tell" and not found.numbers.get("completions")


def test_one_server_of_several_does_not_hold_all_streams() -> None:
    """Eight streams over two servers of a router: each has four, and neither log says that four are missing."""
    spans = closed_loop(4, 10)
    rows = [*served(spans), *served(spans, source_id=1)]
    settings = [*SIXTEEN, *({**r, "source_id": 1} for r in SIXTEEN)]
    store = store_of(during={0: "c=8", 1: "c=8"}, requests=rows, server_config=settings)
    assert findings(RULE, store)["c=8"].verdict == "cannot-tell"


def queues(*waiting: float) -> Finding:
    """Logs of several servers, each with its own queue."""
    stats = [row for n, w in enumerate(waiting) for row in lines(20, source_id=n, running=8.0, waiting=w, gen_tok_s=300.0)]
    return findings(RULE, store_of(during=dict.fromkeys(range(len(waiting)), "c=16"), server_samples=stats))["c=16"]


def test_logs_that_disagree_about_waiting_decide_nothing() -> None:
    assert queues(8.0).verdict == "ruled-out"
    assert queues(8.0, 4.0).verdict == "ruled-out"
    assert queues(8.0, 0.0).verdict == "cannot-tell"


@pytest.mark.parametrize(("waiting", "expected"), [(4.0, "ruled-out"), (0.0, "cannot-tell")])
def test_a_log_that_nothing_ties_to_the_load_does_not_speak_alone(waiting: float, expected: str) -> None:
    """Two logs without a year, eleven days apart: the old one, with its queue, is in the trace."""
    new = lines(20, source_id=0, running=16.0, waiting=waiting, gen_tok_s=600.0)
    old = lines(20, source_id=1, start=1000.0 - 1e6, running=8.0, waiting=8.0, gen_tok_s=300.0)
    store = store_of(server_samples=new + old, zone={0: "no-year", 1: "no-year"})
    assert findings(RULE, store)["trace"].verdict == expected


@pytest.mark.parametrize("again", [1, 3])
def test_an_engine_that_prints_several_lines_per_tick_runs_no_more_for_it(again: int) -> None:
    store = store_of(server_samples=lines(20 * again, running=8.0, waiting=0.0, gen_tok_s=300.0, time=lambda i: 1000.0 + i // again))
    assert {row["n"] for row in store.rows_of("SELECT n FROM main.in_flight")} == {8.0}
    (found,) = [f for label, f in findings(RULE, store).items() if "running" in label]
    assert found.numbers["running_max"] == 8


def test_two_engines_that_print_together_are_one_server() -> None:
    store = store_of(server_samples=[row for k in (0, 1) for row in lines(20, running=8.0, waiting=0.0, engine=k)])
    assert {row["n"] for row in store.rows_of("SELECT n FROM main.in_flight")} == {16.0}


@pytest.mark.parametrize(("each", "expected"), [(1, "cannot-tell"), (6, "ruled-out")])
def test_who_waits_while_a_burst_is_sent_says_nothing_of_the_load(each: int, expected: str) -> None:
    # eight streams at eight slots: the second request of a burst waits a little for the prompt of the first
    requests: Rows = []
    arrivals: Rows = []
    for k in range(each):
        for s in range(8):
            sent = 1000.0 + 4 * k + 0.01 * s
            requests += served([(sent + 0.4 * s, sent + 4)])
            arrivals.append({"source_id": 0, "line": 1000 + 8 * k + s, "server": "llama.cpp", "run": 0, "kind": "arrival", "time": sent})
    for n, row in enumerate(requests):
        row |= {"line": 10 * n + 1, "request": str(n)}
    store = store_of(
        during={0: "c=8"}, requests=requests, server_events=arrivals, server_config=config(server="llama.cpp", slots=8, build=7000)
    )
    assert findings(RULE, store)["c=8"].verdict == expected
