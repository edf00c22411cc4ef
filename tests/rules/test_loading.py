"""Loading: between requests, inside requests, memory that grows while nothing runs."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.result import Finding
from gpuverdict.rules.loading import RULE

from .small_store import Rows, findings, samples, served, store_of

MODEL = [{"source_id": 0, "section": 0, "file_bytes": 40.0 * 2**30}]


def event(kind: str, time: float, line: int, source_id: int = 0) -> dict[str, Any]:
    return {"source_id": source_id, "line": line, "server": "llama.cpp", "run": 0, "kind": kind, "time": time}


def judged(spans: list[tuple[float, float]], events: Rows, **tables: Rows) -> Finding:
    return findings(RULE, store_of(during={0: "c=1"}, requests=served(spans), server_events=events, **tables))["c=1"]


START = [event("loading", 900.0, 1), event("loaded", 910.0, 2)]
BUSY = [(1000.0, 1010.0), (1050.0, 1060.0)]


def test_a_reload_between_two_requests_is_confirmed() -> None:
    found = judged(BUSY, [*START, event("loading", 1020.0, 11), event("loaded", 1049.5, 12)])
    assert found.verdict == "confirmed"
    assert found.numbers["loading_s"] == pytest.approx(29.5)
    assert found.numbers["loads_seen"] == 1
    assert [e.line for e in found.evidence] == [11]


def test_the_first_load_is_not_lost_time() -> None:
    assert judged(BUSY, START).verdict == "cannot-tell"


def test_a_restart_that_nobody_waits_for_is_not_confirmed() -> None:
    assert judged(BUSY, [*START, event("loading", 1020.0, 11), event("loaded", 1030.0, 12)]).verdict == "cannot-tell"


def test_a_model_that_is_ready_at_once_is_not_loading() -> None:
    assert judged(BUSY, [*START, event("loading", 1049.0, 11), event("loaded", 1049.4, 12)]).verdict != "confirmed"


def test_loading_inside_a_clients_request_is_confirmed() -> None:
    sent = [{"source_id": 2, "line": 1, "origin": "client", "request": "1", "sent_at": 1000.0, "finished_at": 1100.0, "status": "ok"}]
    store = store_of(
        during={2: "c=1", 0: "c=1"},
        requests=sent + served([(1081.0, 1099.0)]),
        server_events=[event("loading", 1010.0, 1), event("loaded", 1080.0, 2)],
    )
    assert findings(RULE, store)["c=1"].verdict == "confirmed"


def smi(**read: Any) -> Rows:
    return samples(40, 2, util_gpu=0.0, **read)


def test_memory_that_grows_while_nothing_runs_is_confirmed() -> None:
    store = store_of(
        during={0: "c=1", 1: "c=1"},
        requests=served([(1000.0, 1060.0)]),
        models=MODEL,
        gpu_samples=smi(mem_used=lambda s, g: 500.0 + min(s, 20) * 900),
    )
    found = findings(RULE, store)["c=1"]
    assert found.verdict == "confirmed"
    assert found.numbers["rise_mib"] == pytest.approx(36_000)


def test_memory_that_grows_under_kernels_is_a_cache() -> None:
    read = samples(40, 2, util_gpu=60.0, mem_used=lambda s, g: 500.0 + min(s, 20) * 900)
    store = store_of(during={0: "c=1", 1: "c=1"}, requests=served([(1000.0, 1060.0)]), models=MODEL, gpu_samples=read)
    assert findings(RULE, store)["c=1"].verdict == "cannot-tell"


def test_ruled_out_needs_a_log_that_would_tell_and_flat_memory() -> None:
    flat = samples(40, 2, util_gpu=60.0, mem_used=21_000.0)
    tables: dict[str, Rows] = {"requests": served(BUSY), "gpu_samples": flat}
    assert findings(RULE, store_of(during={0: "c=1", 1: "c=1"}, server_events=START, **tables))["c=1"].verdict == "ruled-out"
    assert findings(RULE, store_of(during={0: "c=1", 1: "c=1"}, **tables))["c=1"].verdict == "cannot-tell"
    assert findings(RULE, store_of(during={0: "c=1"}, server_events=START, requests=served(BUSY)))["c=1"].verdict == "cannot-tell"


def test_a_server_that_a_script_starts_anew_makes_nobody_wait() -> None:
    """The script waits for the server's health: the first request of the new run comes at once, but none waited."""
    anew = [{**event("loading", 1020.0, 11), "run": 1}, {**event("loaded", 1049.5, 12), "run": 1}]
    requests = [*served(BUSY[:1]), *({**r, "run": 1, "line": 20} for r in served(BUSY[1:]))]
    store = store_of(during={0: "c=1"}, requests=requests, server_events=[*START, *anew])
    assert findings(RULE, store)["c=1"].verdict == "cannot-tell"
    client = [{"source_id": 2, "line": 1, "origin": "client", "request": "1", "sent_at": 1015.0, "finished_at": 1060.0, "status": "ok"}]
    waited = store_of(during={0: "c=1", 2: "c=1"}, requests=requests + client, server_events=[*START, *anew])
    assert findings(RULE, waited)["c=1"].verdict == "confirmed", "the client's own time says that it waited"


def regime(events: Rows, **tables: Rows) -> Finding:
    """Requests that make a load window by themselves, nothing bound."""
    store = store_of(requests=served(BUSY), server_events=events, **tables)
    return findings(RULE, store)["1 running"]


def test_a_log_is_compared_on_its_own_clock() -> None:
    """A second before the first request is before it, whatever the clocks of others are worth."""
    assert regime([event("loading", 994.0, 1), event("loaded", 999.9, 2)]).verdict == "cannot-tell"
    assert regime([event("loading", 1005.0, 3)]).verdict == "fits"
    assert regime([event("loaded", 1005.0, 3)]).verdict == "cannot-tell", "that it is loaded says nothing of when it was"


@pytest.mark.parametrize(("time", "expected"), [(1000.05, "cannot-tell"), (1005.0, "fits"), (1009.95, "cannot-tell")])
def test_lines_of_another_log_count_only_well_inside(time: float, expected: str) -> None:
    assert regime([event("loading", time, 1, source_id=3)]).verdict == expected


def test_what_may_lie_inside_rules_nothing_out() -> None:
    flat = samples(8, 2, start=1002.0, util_gpu=60.0, mem_used=21_000.0) + [
        {**r, "cycle": r["cycle"] + 8, "line": r["line"] + 16} for r in samples(8, 2, start=1052.0, util_gpu=60.0, mem_used=21_000.0)
    ]
    assert regime(START, gpu_samples=flat).verdict == "ruled-out"
    assert regime([*START, event("loading", 1010.05, 1, source_id=3)], gpu_samples=flat).verdict == "cannot-tell"


def test_loads_inside_requests_that_have_only_an_access_line() -> None:
    """Newer Ollama prints no slots: arrival and end of a request, and the loads between them."""
    requests = [
        {k: v for k, v in r.items() if k != "started_at"} | {"queued_at": r["started_at"]}
        for r in served([(1000.0, 1030.0), (1100.0, 1130.0)])
    ]
    events = [event("loading", 1001.0, 1), event("loaded", 1009.0, 2), event("loading", 1101.0, 11), event("loaded", 1109.0, 12)]
    found = findings(RULE, store_of(requests=requests, server_events=events))
    assert list(found) == ["1 running"]
    assert found["1 running"].verdict == "confirmed"
    assert found["1 running"].numbers["loading_s"] == pytest.approx(16.0)


def phases(events: Rows, spans: list[tuple[float, float]]) -> list[tuple[str, float, float]]:
    rows = store_of(requests=served(spans), server_events=events).rows_of(
        "SELECT phase, began, ended FROM main.phases ORDER BY began, ended"
    )
    return [(r["phase"], r["began"], r["ended"]) for r in rows]


def test_loading_is_a_phase_of_a_server_that_serves_nobody() -> None:
    reload = [event("loading", 1020.0, 11), event("loading", 1022.0, 12), event("loaded", 1049.5, 13)]
    found = phases([*START, *reload], BUSY)
    assert [(a, b) for phase, a, b in found if phase == "loading"] == [(900.0, 910.0), (1020.0, 1049.5)]
    assert [(a, b) for phase, a, b in found if phase == "idle"] == [(910.0, 1000.0), (1010.0, 1020.0), (1049.5, 1050.0)]


def test_another_model_that_loads_does_not_stop_the_one_that_decodes() -> None:
    assert {p for p, _, _ in phases([event("loading", 1002.0, 11), event("loaded", 1008.0, 12)], BUSY[:1])} == {"prefill", "decode"}


@pytest.mark.parametrize("end", ["error", None])
def test_loading_that_no_line_ends_is_no_phase(end: str | None) -> None:
    events = [event("loading", 1020.0, 11), *([event(end, 1030.0, 12)] if end else [])]
    assert "loading" not in {p for p, _, _ in phases(events, BUSY)}


def test_nothing_says_that_a_server_was_idle_between_two_loads() -> None:
    assert phases([*START, event("loading", 1020.0, 11), event("loaded", 1030.0, 12)], []) == [
        ("loading", 900.0, 910.0),
        ("loading", 1020.0, 1030.0),
    ]


def test_samples_taken_while_a_model_loads_are_not_under_load() -> None:
    """A client waits from 1000 to 1100 while the server loads from 1010 to 1050: what the cards read then is no serving."""
    sent = [{"source_id": 2, "line": 1, "origin": "client", "request": "1", "sent_at": 1000.0, "finished_at": 1100.0, "status": "ok"}]
    read = samples(100, 1, util_gpu=lambda s, g: 0.0 if 10 <= s < 50 else 90.0)
    store = store_of(requests=sent, server_events=[event("loading", 1010.0, 1), event("loaded", 1050.0, 2)], gpu_samples=read)
    (row,) = store.rows_of("SELECT avg(util_gpu) AS util, count(*) AS n FROM main.samples_in_load WHERE util_gpu < 50 GROUP BY ALL")
    assert row["n"] <= 4  # those at the edges, which hold something of both
