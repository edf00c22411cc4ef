"""Slot queue: a queue is told from saturation by the rate of one stream, never by wall times."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.rules.slot_queue import RULE

from .small_store import config, findings, lines, served, store_of, verdict


def table(rows: list[tuple[float, float, float]], counts: str | None = "decode") -> list[dict[str, Any]]:
    """Steps of (streams, per stream, total)."""
    return [
        {
            "source_id": 0,
            "line": n,
            "concurrency": c,
            "per_stream_tok_s": r,
            "aggregate_tok_s": x,
            "wall_s": c * 192 / x,
            "per_stream_counts": counts,
        }
        for n, (c, r, x) in enumerate(rows, 1)
    ]


def slots(n: float | None, origin: str = "logged") -> list[dict[str, Any]]:
    return config(source_id=3, server="llama.cpp", origin=origin, slots=n) if n else []


QUEUE = [(1.0, 25.0, 23.0), (2.0, 21.0, 38.0), (4.0, 13.4, 49.1), (8.0, 13.2, 49.0)]
SATURATED = [(1.0, 54.0, 53.0), (4.0, 13.4, 53.0), (8.0, 6.7, 53.0)]


@pytest.mark.parametrize(
    ("rows", "n", "counts", "label", "expected"),
    [
        (QUEUE, 4, "decode", "c=8", "confirmed"),
        (QUEUE, 4, "decode", "c=4", "ruled-out"),
        (QUEUE, None, "decode", "c=8", "fits"),
        (QUEUE, None, None, "c=8", "fits"),
        (QUEUE, 4, None, "c=8", "fits"),
        (QUEUE, 16, "decode", "c=8", "ruled-out"),
        (QUEUE, 6, "decode", "c=8", "fits"),
        (SATURATED, 8, "decode", "c=8", "ruled-out"),
        (SATURATED, None, "decode", "c=8", "ruled-out"),
        (SATURATED, None, None, "c=8", "cannot-tell"),
        # tokens over the whole latency fall under a pure queue too: S = 1
        ([(4.0, 6.0, 24.0), (8.0, 3.0, 24.0)], 1, "latency", "c=8", "cannot-tell"),
        ([(4.0, 6.0, 24.0), (8.0, 3.0, 24.0)], None, "derived", "c=8", "cannot-tell"),
    ],
)
def test_from_a_table(rows: list[tuple[float, float, float]], n: float | None, counts: str | None, label: str, expected: str) -> None:
    store = store_of(bench_steps=table(rows, counts), server_config=slots(n), zone={0: "none", 3: "none"})
    assert verdict(RULE, store, label).verdict == expected


def test_an_estimated_slot_number_confirms_nothing() -> None:
    store = store_of(bench_steps=table(QUEUE), server_config=slots(4, "estimated"), zone={0: "none", 3: "none"})
    assert verdict(RULE, store, "c=8").verdict == "fits"
    assert verdict(RULE, store, "c=2").verdict == "cannot-tell"


@pytest.mark.parametrize(
    ("values", "n", "expected"),
    [
        ({"running": 32.0, "waiting": 20.0, "kv_usage": 0.4}, 32, "confirmed"),
        ({"running": 32.0, "waiting": 20.0, "kv_usage": 0.97}, 32, "fits"),
        ({"running": 32.0, "waiting": 20.0}, 32, "fits"),
        ({"running": 40.0, "waiting": 20.0, "kv_usage": 0.4}, 256, "cannot-tell"),
        ({"running": 32.0, "waiting": 0.0, "kv_usage": 0.4}, 32, "cannot-tell"),
        # a number that never moves while requests wait is a limit, though nothing says which
        ({"running": 32.0, "waiting": 20.0, "kv_usage": 0.4}, None, "fits"),
        ({"running": 32.0, "waiting": 20.0, "kv_usage": 0.97}, None, "cannot-tell"),
        ({"running": lambda i: 30.0 + i % 3, "waiting": 20.0, "kv_usage": 0.4}, None, "cannot-tell"),
    ],
)
def test_from_running_and_waiting_counts(values: dict[str, Any], n: float | None, expected: str) -> None:
    store = store_of(server_samples=lines(20, **values), server_config=config(slots=n) if n else [])
    assert {f.verdict for f in findings(RULE, store).values()} == {expected}


def test_the_drain_at_the_end_does_not_count() -> None:
    drained = lines(20, running=lambda i: 32.0 if i < 15 else 2.0, waiting=lambda i: 9.0 if i < 15 else 0.0, kv_usage=0.3)
    store = store_of(server_samples=drained, server_config=config(slots=32))
    assert "confirmed" in {f.verdict for f in findings(RULE, store).values()}


def log_of(waits: float) -> dict[str, Any]:
    """Two slots always busy; every request arrives `waits` seconds before its launch."""
    spans = [(1000.0 + 10 * (k // 2), 1010.0 + 10 * (k // 2)) for k in range(12)]
    arrivals = [
        {"source_id": 0, "line": 5 + n, "run": 0, "time": a - waits, "kind": "arrival", "server": "llama.cpp"}
        for n, (a, _) in enumerate(spans)
    ]
    return {"requests": served(spans), "server_events": arrivals, "server_config": config(slots=2, server="llama.cpp")}


@pytest.mark.parametrize(("waits", "expected"), [(8.0, True), (0.01, False)])
def test_from_arrivals_long_before_the_launch(waits: float, expected: bool) -> None:
    found = findings(RULE, store_of(**log_of(waits)))
    assert ("confirmed" in {f.verdict for f in found.values()}) is expected


@pytest.mark.parametrize(("alone_s", "expected"), [(20.0, True), (100.0, False)])
def test_the_last_request_alone_is_no_free_slot_beside_a_queue(alone_s: float, expected: bool) -> None:
    """A minute with a queue and the last answer alone: 20 s of it are the drain at the end, 100 s say that the queue was short."""
    told = log_of(8.0)
    (last,) = served([(1060.0, 1060.0 + alone_s)])
    told["requests"] = [*told["requests"], {**last, "line": 990, "request": "last"}]
    told["server_events"] = [*told["server_events"], {**told["server_events"][-1], "line": 980, "time": 1052.0}]
    assert ("confirmed" in {f.verdict for f in findings(RULE, store_of(**told)).values()}) is expected


def stream(n_slots: int, n: int, cap: int | None = None, itl_n: float = 100.0, bunched: float = 0.0) -> list[dict[str, Any]]:
    """A burst of `n` requests at a server with `n_slots` (a client that sends only `cap` at a time)."""
    free, rows = [0.0] * n_slots, []
    allowed = [0.0] * (cap or n)
    for k in range(n):
        sent = min(allowed)
        begins = max(sent, min(free))
        first, last = begins + 0.3, begins + 10.0 + 0.1 * (k % 3)
        free[free.index(min(free))] = last
        allowed[allowed.index(sent)] = last
        rows.append({"source_id": 0, "line": k + 1, "origin": "client", "concurrency": float(n), "sent_at": sent, "first_token_at": first, "finished_at": last,
                     "itl_n": itl_n, "itl_under_2ms": bunched, "status": "ok"})  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("rows", "known", "expected"),
    [
        (stream(4, 12), 4, "confirmed"),
        (stream(4, 12), None, "fits"),
        (stream(4, 12), 6, "fits"),
        (stream(12, 12), 12, "ruled-out"),
        (stream(16, 12, cap=4), 16, "ruled-out"),
        (stream(4, 12, itl_n=2.0), 4, "fits"),
        (stream(4, 12, bunched=0.6), 4, "fits"),
    ],
)
def test_from_the_token_times_of_a_client(rows: list[dict[str, Any]], known: float | None, expected: str) -> None:
    steps = [{"source_id": 2, "line": 1, "concurrency": 12.0, "wall_s": 31.0, "requests": 12.0, "completed": 12.0}]
    store = store_of(requests=rows, bench_steps=steps, server_config=slots(known), zone={0: "since-start", 2: "none", 3: "none"})
    assert verdict(RULE, store, "c=12").verdict == expected


def responses(waves: list[tuple[float, int]], tokens: list[float] | None = None) -> list[dict[str, Any]]:
    """Saved responses: groups of (time, how many), each within half a second."""
    rows = []
    for at, n in waves:
        for k in range(n):
            rows.append(
                {
                    "source_id": len(rows),
                    "line": 1,
                    "origin": "file",
                    "finished_at": at + 0.1 * k,
                    "resolution_s": 0.01,
                    "output_tokens": 192.0,
                    "status": "ok",
                }
            )
    for row, count in zip(rows, tokens or []):
        row["output_tokens"] = count
    return rows


@pytest.mark.parametrize(
    ("waves", "tokens", "expected"),
    [
        ([(1000.0, 4), (1015.0, 4)], None, "fits"),
        ([(1000.0, 4), (1015.0, 4), (1030.0, 2)], None, "fits"),
        ([(1000.0, 8)], None, "cannot-tell"),
        ([(1000.0, 5), (1015.0, 3), (1030.0, 4)], None, "cannot-tell"),
        ([(1000.0, 4), (1015.0, 4)], [100.0, 192.0, 150.0, 192.0, 192.0, 192.0, 80.0, 192.0], "cannot-tell"),
        ([(1000.0, 4), (1001.0, 4)], None, "cannot-tell"),
    ],
)
def test_response_files_alone_only_fit(waves: list[tuple[float, int]], tokens: list[float] | None, expected: str) -> None:
    found = findings(RULE, store_of(requests=responses(waves, tokens)))
    assert {f.verdict for f in found.values()} == {expected}


@pytest.mark.parametrize(
    ("rows", "seen", "label", "expected"),
    [
        (QUEUE, 8, "c=8", "ruled-out"),
        (QUEUE, 4, "c=4", "ruled-out"),
        (QUEUE, 4, "c=8", "fits"),  # at least four says nothing about a fifth
        (QUEUE, 1, "c=8", "fits"),
    ],
)
def test_slots_that_requests_were_seen_in_are_a_lower_bound(
    rows: list[tuple[float, float, float]], seen: float, label: str, expected: str
) -> None:
    settings = config(source_id=3, server="llama.cpp", origin="logged", slots_seen=seen)
    store = store_of(bench_steps=table(rows), server_config=settings, zone={0: "none", 3: "none"})
    assert verdict(RULE, store, label).verdict == expected


def test_the_limit_is_that_of_the_line_s_own_server() -> None:
    """Sixteen slots of a llama-server say nothing about what vLLM runs beside it."""
    vllm = lines(20, running=16.0, waiting=9.0, kv_usage=0.3)
    llama = served([(5000.0, 5010.0), (5020.0, 5030.0)], source_id=1)
    other = config(source_id=1, server="llama.cpp", slots=16)
    found = findings(RULE, store_of(server_samples=vllm, requests=llama, server_config=other))
    assert "confirmed" not in {f.verdict for f in found.values()}
    both = findings(RULE, store_of(server_samples=vllm, requests=llama, server_config=other + config(slots=16)))
    assert "confirmed" in {f.verdict for f in both.values()}


def test_the_limit_of_one_engine() -> None:
    """Two data-parallel engines of 8: one is full and queues, the other has room."""
    full = [{**r, "engine": 0} for r in lines(20, running=8.0, waiting=5.0, kv_usage=0.3)]
    free = [{**r, "engine": 1, "line": r["line"] + 500} for r in lines(20, running=2.0, waiting=0.0, kv_usage=0.1)]
    limits = config(data_parallel=2, slots=16, slots_per_engine=8)
    found = findings(RULE, store_of(server_samples=full + free, server_config=limits))
    assert [f.sentence.split(".")[0] for f in found.values() if f.verdict == "confirmed"] == [
        "Requests wait while 8 run, which is the limit"
    ]


def test_a_server_in_which_nobody_waits_keeps_the_pool_open() -> None:
    """The table says eight at four slots; the server's own lines say that it is full and nobody waits."""
    calm = lines(20, source_id=3, running=4.0, waiting=0.0, kv_usage=0.3)
    busy = lines(20, source_id=3, running=4.0, waiting=lambda i: float(i % 2), kv_usage=0.3)
    for server_samples, expected in ((calm, "fits"), (busy, "confirmed")):
        store = store_of(bench_steps=table(QUEUE), server_config=slots(4), server_samples=server_samples, zone={0: "none"})
        assert verdict(RULE, store, "c=8").verdict == expected


def test_a_server_that_always_has_more_is_not_offered_less() -> None:
    busy = lines(20, source_id=3, running=8.0, waiting=8.0, kv_usage=0.3)
    store = store_of(bench_steps=table(QUEUE), server_config=slots(8), server_samples=busy, zone={0: "none"})
    assert verdict(RULE, store, "c=4").verdict != "ruled-out"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "confirmed"),
        ({"requests": 64.0, "failed": 1.0}, "confirmed"),
        ({"requests": 64.0, "failed": 30.0}, "cannot-tell"),
        ({"e2e_mean_ms": 14_600.0}, "confirmed"),
        # by Little's law a queue would double the latency
        ({"e2e_mean_ms": 7400.0}, "fits"),
    ],
)
def test_failures_and_latency_speak_against_a_queue(more: dict[str, float], expected: str) -> None:
    rows = table(QUEUE)
    rows[-2] |= {"e2e_mean_ms": 7300.0}
    rows[-1] |= more
    store = store_of(bench_steps=rows, server_config=slots(4), zone={0: "none", 3: "none"})
    assert verdict(RULE, store, "c=8").verdict == expected


def test_waits_that_the_server_prints() -> None:
    spans = [(1000.0 + 10 * k, 1010.0 + 10 * k) for k in range(12)]
    store = store_of(requests=served(spans, server="tgi", queue_ms=9000.0))
    assert {f.verdict for f in findings(RULE, store).values()} == {"fits"}
    store = store_of(requests=served(spans, server="tgi", queue_ms=3.0))
    assert {f.verdict for f in findings(RULE, store).values()} == {"cannot-tell"}


@pytest.mark.parametrize(
    ("mib", "name", "expected"),
    [(46068.0, "NVIDIA L40S", 256), (81559.0, "NVIDIA H100 80GB HBM3", 1024), (81920.0, "NVIDIA A100-SXM4-80GB", 256)],
)
def test_the_card_decides_vllm_s_default(mib: float, name: str, expected: int) -> None:
    default = [{**r, "num_hi": 1024.0, "origin": "default"} for r in config(slots=256)]
    samples = lines(20, running=float(expected), waiting=9.0, kv_usage=0.3)
    card = [{"source_id": 1, "line": 1, "gpu": 0, "name": name, "memory_mib": mib}]
    found = findings(RULE, store_of(server_samples=samples, server_config=default, gpus=card))
    assert [f.numbers["limit"] for f in found.values() if f.verdict == "confirmed"] == [[expected, expected]]


def scrapes(*pages: tuple[float, float, float, float], sources: bool = True) -> list[dict[str, Any]]:
    """Counters of a server: (time, requests, seconds in the queue, seconds in service)."""
    return [
        {"source_id": n if sources else 0, "line": 10 * n + i, "server": "vllm", "engine": 0, "run": 0, "kind": "counter", "detail": detail,
         "value": value, "time": time}
        for n, (time, count, queued, served_s) in enumerate(pages)
        for i, (detail, value) in enumerate(
            {"queue_seconds": queued, "queue_count": count, "inference_seconds": served_s, "inference_count": count}.items()
        )
    ]  # fmt: skip


@pytest.mark.parametrize("sources", [True, False])
def test_the_servers_own_counters_show_its_queue(sources: bool) -> None:
    found = verdict(
        RULE, store_of(server_events=scrapes((1000.0, 10, 0.2, 31.0), (1900.0, 530, 20852.2, 3151.0), sources=sources)), "trace"
    )
    assert found.verdict == "fits"
    assert (found.numbers["queue_s"], found.numbers["served_s"]) == pytest.approx((40.1, 6.0))
    assert found.rivals_open[0].name == "a token budget per step, memory or another limit than the slots"


@pytest.mark.parametrize(
    "pages",
    [
        # nobody waits; two replicas at one time; a restart in between; few requests; one scrape, which says nothing of this run
        [(1000.0, 10, 0.2, 31.0), (1900.0, 530, 25.0, 3151.0)],
        [(1000.0, 10, 0.2, 31.0), (1003.0, 530, 20852.2, 3151.0)],
        [(1000.0, 900, 30000.0, 5400.0), (1900.0, 530, 20852.2, 3151.0)],
        [(1000.0, 10, 0.2, 31.0), (1900.0, 15, 200.0, 62.0)],
        [(1900.0, 530, 20852.2, 3151.0)],
    ],
)
def test_counters_that_show_no_queue(pages: list[tuple[float, float, float, float]]) -> None:
    assert findings(RULE, store_of(server_events=scrapes(*pages)))["trace"].verdict == "cannot-tell"


@pytest.mark.parametrize(("clients", "limit", "expected"), [(4, 1, "fits"), (4, 4, "cannot-tell"), (1, 1, "cannot-tell")])
def test_more_requests_between_arrival_and_answer_than_slots(clients: int, limit: int, expected: str) -> None:
    """Access lines only: every client sends again as soon as it has its answer, 6 s of service each."""
    spans = [(1000.0 + 6 * n - 6 * (clients - 1), 1006.0 + 6 * n) for n in range(20)]
    requests = [{k: v for k, v in r.items() if k != "started_at"} | {"queued_at": r["started_at"]} for r in served(spans)]
    found = findings(RULE, store_of(requests=requests, server_config=config(server="ollama", slots=limit)))
    assert {f.verdict for f in found.values()} == {expected}
    if expected == "fits":
        (fits,) = found.values()
        assert "of several models" in fits.rivals_open[0].name


@pytest.mark.parametrize(("waits", "expected"), [(0.1, "ruled-out"), (5.0, "cannot-tell")])
def test_a_sweep_within_the_slots_beside_others_who_wait(waits: float, expected: str) -> None:
    # requests of nobody's step: the server has other users too, and their queue is this step's as well
    requests = served([(1000.0 + 6 * n, 1005.0 + 6 * n) for n in range(12)], source_id=3, queued_at=None)
    for row in requests:
        row["queued_at"] = row["started_at"] - waits
    given = [{"source_id": 9, "key": "slots", "value": "4", "num": 4.0}]
    store = store_of(bench_steps=table(QUEUE[:3]), requests=requests, given=given, zone={0: "none"})
    assert verdict(RULE, store, "c=4").verdict == expected
