"""Host-bound: a busy path rules it out; an idle one fits only where nothing else explains it."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.result import Finding
from gpuverdict.rules.host_bound import RULE

from .small_store import Rows, config, findings, lines, samples, served, store_of, verdict

ONE_CARD: dict[str, Any] = {"server": "llama.cpp", "layers_offloaded": 33, "layers_total": 33}


def closed_loop(n: int = 10, length: float = 10.0, pause: float = 0.05) -> list[tuple[float, float]]:
    return [(1000.0 + i * (length + pause), 1000.0 + i * (length + pause) + length) for i in range(n)]


def judged(spans: list[tuple[float, float]], settings: dict[str, Any] = ONE_CARD, cards: int = 1, **read: Any) -> Finding:
    """A recording and a log, both given as one stream."""
    rows = samples(101, cards, **{"util_gpu": 60.0, "mem_used": 20_000.0, **read})
    store = store_of(during={0: "c=1", 1: "c=1"}, gpu_samples=rows, requests=served(spans), server_config=config(**settings))
    return verdict(RULE, store, "c=1")


def test_a_path_that_is_idle_while_somebody_asks_fits() -> None:
    found = judged(closed_loop())
    assert found.verdict == "fits" and "busy 60 %" in found.sentence
    assert any("nobody asked in between" in r.name for r in found.rivals_open)
    assert judged(closed_loop(), util_gpu=99.0).verdict == "ruled-out"


def test_pauses_between_requests_are_not_the_host() -> None:
    """One user who reads: the card is busy 60 % of the time because somebody asks 62 % of it."""
    assert judged(closed_loop(length=6.2, pause=3.8)).verdict == "cannot-tell"


@pytest.mark.parametrize(
    "settings",
    [
        {**ONE_CARD, "layers_offloaded": 20},
        {"server": "ollama", "memory_on_cpu_share": 0.48},
        {**ONE_CARD, "cpu_model_mib": 19_000, "device_model_mib": 21_000},
        {"server": "llama.cpp", "split": "layer", "split_devices": 2},
        {"server": "vllm", "split": "tensor", "tensor_parallel": 4, "pipeline_parallel": 1},
    ],
)
def test_a_part_that_is_not_on_the_recorded_card_explains_it(settings: dict[str, Any]) -> None:
    assert judged(closed_loop(), settings).verdict == "cannot-tell"


def test_a_token_embedding_in_host_memory_is_no_stage() -> None:
    assert judged(closed_loop(), {**ONE_CARD, "cpu_model_mib": 1500, "device_model_mib": 21_000}).verdict == "fits"


def test_a_card_of_another_job_says_nothing_about_the_path() -> None:
    """Two cards of a layer split at 45 % each, and a third with another job: neither the sum nor the least busy is the path."""
    layer = {"server": "llama.cpp", "split": "layer", "split_devices": 2}
    assert judged(closed_loop(), layer, cards=3, util_gpu=33.0).verdict == "cannot-tell"
    assert judged(closed_loop(), layer, cards=2, util_gpu=49.5).verdict == "ruled-out"
    assert judged(closed_loop(), layer, cards=2, util_gpu=30.0).verdict == "fits"


def test_a_card_that_holds_a_third_of_the_weights_is_not_all_of_them() -> None:
    tables: dict[str, Rows] = {"models": [{"source_id": 0, "section": 0, "file_bytes": 43.0 * 2**30}], "requests": served(closed_loop())}
    for mib, expected in ((15_000.0, "cannot-tell"), (46_000.0, "fits")):
        store = store_of(during={0: "c=1", 1: "c=1"}, gpu_samples=samples(101, util_gpu=33.0, mem_used=mib), **tables)
        assert verdict(RULE, store, "c=1").verdict == expected


def test_samples_that_nothing_places_say_nothing() -> None:
    store = store_of(zone={1: "none"}, gpu_samples=samples(101, util_gpu=60.0, mem_used=20_000.0), requests=served(closed_loop()))
    assert {f.verdict for f in findings(RULE, store).values()} == {"cannot-tell"}


def test_a_recording_without_anybody_who_tells_of_requests_says_nothing() -> None:
    store = store_of(during={1: "c=1"}, gpu_samples=samples(101, util_gpu=60.0, mem_used=20_000.0))
    assert verdict(RULE, store, "c=1").verdict == "cannot-tell"


def test_a_hole_of_seconds_is_no_gap_between_kernels() -> None:
    """Busy but for 20 s without any work: whether that is starvation is a question of its own."""
    found = judged([(1000.0, 1101.0)], util_gpu=lambda s, g: 0.0 if 40 <= s < 60 else 98.0)
    assert found.verdict == "cannot-tell"
    assert found.numbers["path_busy"] == 98


@pytest.mark.parametrize(("util", "expected"), [(50.0, "fits"), (97.0, "cannot-tell"), (30.0, "fits")])
def test_two_cards_of_a_split_that_nobody_tells(util: float, expected: str) -> None:
    """Half busy each: in parallel they wait, in turns they do not. Both stay open, and one that is busy in both readings does not fit."""
    found = judged(closed_loop(), {"server": "llama.cpp"}, cards=2, util_gpu=util)
    assert found.verdict == expected
    if util == 50.0:
        assert any("take turns" in r.name for r in found.rivals_open) and "No card is busy more than 50 %" in found.sentence
    if util == 30.0:
        assert not any("take turns" in r.name for r in found.rivals_open), "six tenths at most, whatever the split"


def stuck(loading: bool = False, **read: Any) -> Finding:
    """A server with statistics lines that holds eight requests for 100 s, two idle minutes around it, and 20 s without any work inside."""
    idle = lambda s: s < 120 or s >= 220 or 160 <= s < 180  # noqa: E731
    values = {
        "util_gpu": lambda s, g: 0.0 if idle(s) else 98.0,
        "power_w": lambda s, g: 60.0 if idle(s) else 250.0,
        "mem_used": 20_000.0,
        **read,
    }
    inside = lambda i: 24 <= i < 44  # noqa: E731
    told = lines(
        68,
        start=880.0,
        step=5.0,
        running=lambda i: 8.0 if inside(i) else 0.0,
        waiting=0.0,
        gen_tok_s=lambda i: 300.0 if inside(i) and not 33 <= i < 37 else 0.0,
    )
    events = [{"source_id": 0, "line": 90, "time": 1045.0, "kind": "loading"}] if loading else []
    store = store_of(
        gpu_samples=samples(340, 1, start=880.0, **values),
        server_samples=told,
        server_config=config(split="none", weights_gib_per_rank=16.0),
        server_events=events,
    )
    return findings(RULE, store)["8-15 running"]


def test_a_server_that_holds_requests_while_the_cards_do_nothing_fits() -> None:
    found = stuck()
    assert found.verdict == "fits" and "although the server holds requests" in found.sentence
    assert stuck(loading=True).verdict == "cannot-tell"
    warm = lambda s, g: 60.0 if s < 120 or s >= 220 else 250.0  # noqa: E731
    assert stuck(power_w=warm).verdict == "cannot-tell", "something works that utilisation does not show"
    assert stuck(pcie_rx=8000.0).verdict == "cannot-tell", "copies are no kernels"
