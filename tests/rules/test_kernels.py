"""Kernel intervals: what the view says of them, and the rules that use them, tried both ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gpuverdict.engine.store import Store
from gpuverdict.rules import host_bound, link_latency, spinning, turn_taking

from .small_store import Rows, config, lines, samples, served, store_of, verdict

TRACE = 5  # the source of the kernels
STEP = 0.02


def traced(step: Callable[[int, float], list[tuple[int, str, float, float]]], steps: int = 100, start: float = 1001.0, **more: Any) -> Rows:
    """Kernel rows of many steps. `step` gives (gpu, kind, from, to) in milliseconds of one step."""
    out: Rows = []
    for n in range(steps):
        for gpu, kind, a, b in step(n, start + n * STEP):
            at = start + n * STEP
            row = {"source_id": TRACE, "line": len(out) + 1, "gpu": gpu, "stream": 7, "kind": kind}
            out.append({**row, "started_at": at + a / 1e3, "finished_at": at + b / 1e3, **more})
    return out


def serial(n: int, t: float) -> list[tuple[int, str, float, float]]:
    return [(0, "kernel", 0.0, 9.9), (1, "kernel", 10.0, 19.9)]


def parallel(n: int, t: float) -> list[tuple[int, str, float, float]]:
    return [(g, kind, a, b) for g in (0, 1) for kind, a, b in (("kernel", 0.0, 12.0), ("collective", 12.0, 19.9))]


def replicas(n: int, t: float) -> list[tuple[int, str, float, float]]:
    return [(n // 50, "kernel", 0.0, 19.9)]


ONE = served([(1000.0, 1004.0)])
NOTHING: dict[str, Rows] = {}
LAYER = {"server_config": config(split="layer", server="llama.cpp")}


def facts(store: Store) -> dict[str, Any]:
    return store.rows_of("SELECT * FROM main.kernel_facts")[0]


def test_shares_of_two_cards_in_turn_and_in_parallel() -> None:
    turns = facts(store_of(kernels=traced(serial), requests=ONE))
    assert turns["overlap_hi"] == pytest.approx(0, abs=1e-3) and turns["turns"] == 199 and turns["cards"] == 2
    assert turns["idle_all"] == pytest.approx(0.01, abs=2e-3) and turns["placed"] and turns["decode"]
    both = facts(store_of(kernels=traced(parallel), requests=ONE))
    assert both["overlap_lo"] == pytest.approx(1) and both["collective_share"] == pytest.approx(7.9 / 20, rel=0.01)
    assert both["collectives"] == both["met_by_all"] == 100


def test_collectives_count_by_the_shortest_rank_and_only_where_all_meet() -> None:
    def late(n: int, t: float) -> list[tuple[int, str, float, float]]:
        return [(0, "kernel", 0, 2.0), (0, "collective", 2.0, 19.0), (1, "kernel", 0, 18.0), (1, "collective", 18.0, 19.0)]

    found = facts(store_of(kernels=traced(late), requests=ONE))
    assert found["collective_share"] == pytest.approx(1 / 19.95, rel=0.06) and found["collective_most"] == pytest.approx(17 / 19, rel=0.01)


def test_what_other_kernels_cover_is_not_exposed() -> None:
    def hidden(n: int, t: float) -> list[tuple[int, str, float, float]]:
        return [(g, kind, 0.0, 19.9) for g in (0, 1) for kind in ("kernel", "collective")]

    assert facts(store_of(kernels=traced(hidden), requests=ONE))["exposed_share"] == pytest.approx(0, abs=1e-3)


def test_one_number_in_two_processes_is_no_card() -> None:
    rows = traced(parallel)
    for row in rows:
        row["process"], row["gpu"] = 10 + row["gpu"], 0
    found = facts(store_of(kernels=rows, requests=ONE))
    assert found["ranks"] == 2 and not found["devices_known"] and found["overlap_lo"] is None and found["overlap_hi"] is None


def test_a_graph_launch_hides_gaps_so_no_overlap_is_certain() -> None:
    rows = [{**r, "kind": "graph"} for r in traced(parallel) if r["kind"] == "kernel"]
    found = facts(store_of(kernels=rows, requests=ONE))
    assert found["overlap_lo"] is None and found["overlap_hi"] == pytest.approx(1)


# --- turn-taking ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "more", "expected"),
    [
        (serial, NOTHING, "confirmed"),
        (serial, LAYER, "confirmed"),
        (parallel, NOTHING, "ruled-out"),
        (replicas, NOTHING, "fits"),
        (serial, {"requests": served([(1000.0, 1004.0), (1000.5, 1003.5)])}, "fits"),
        (serial, {"server_config": config(split="tensor")}, "ruled-out"),
        (serial, {"server_config": config(split="layer", split_devices=3, server="llama.cpp")}, "fits"),
    ],
)
def test_kernels_of_two_cards(step: Any, more: dict[str, Rows], expected: str) -> None:
    store = store_of(**{"kernels": traced(step), "requests": ONE, **more})
    found = [f for f in [verdict(turn_taking.RULE, store, label) for label in _labels(store)] if f.verdict != "cannot-tell"]
    assert [f.verdict for f in found] == [expected]


def _labels(store: Store) -> list[str]:
    return [row["label"] for row in store.rows_of("SELECT label FROM main.scopes ORDER BY scope_id")]


def test_overlap_in_prefill_says_nothing() -> None:
    """Prefill of a layer split runs on all cards at once."""
    requests = [{**r, "prompt_ms": 3900.0, "decode_ms": 50.0} for r in ONE]
    store = store_of(kernels=traced(parallel), requests=requests)
    found = verdict(turn_taking.RULE, store, "1 running")
    assert found.verdict == "cannot-tell"


def test_lines_of_statistics_do_not_show_single_requests() -> None:
    """Two replicas that a client asks in turn: one running in every line, twenty requests in between."""
    rows = traced(lambda n, t: [(n // 5 % 2, "kernel", 0.0, 19.9)], start=1030.0)
    store = store_of(kernels=rows, server_samples=lines(8, running=1.0, waiting=0.0, gen_tok_s=50.0, prompt_tok_s=0.0))
    assert verdict(turn_taking.RULE, store, "1 running").verdict == "fits"


def test_a_trace_that_nothing_places_fits_at_most() -> None:
    assert verdict(turn_taking.RULE, store_of(kernels=traced(serial), given=_given(split="layer"))).verdict == "fits"


def test_a_trace_of_a_few_windows_says_nothing() -> None:
    store = store_of(kernels=traced(serial, steps=10), requests=ONE, **LAYER)
    assert verdict(turn_taking.RULE, store, "1 running").verdict == "cannot-tell"


def _given(**stated: Any) -> Rows:
    return [
        {"source_id": 9, "key": k.replace("__", "."), "value": str(v), "num": float(v) if isinstance(v, int | float) else None}
        for k, v in stated.items()
    ]


# --- link-latency -----------------------------------------------------------------------------------------------------------------------


def waiting(share: float) -> Callable[[int, float], list[tuple[int, str, float, float]]]:
    """Two ranks whose collectives take a share of every step."""
    return lambda n, t: [
        (g, k, a, b) for g in (0, 1) for k, a, b in (("kernel", 0, 20 * (1 - share)), ("collective", 20 * (1 - share), 19.95))
    ]


TENSOR = config(split="tensor", tensor_parallel=2, server="vllm")
SMALL = _given(model__hidden=8192, model__layers=80, streams=1)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, "confirmed"),
        ({"kernels": traced(waiting(0.3))}, "cannot-tell"),
        ({"kernels": [r for r in traced(waiting(0.5)) if r["gpu"] == 0]}, "fits"),
        ({"server_config": config(split="tensor", tensor_parallel=4)}, "fits"),
        ({"given": _given(streams=1)}, "fits"),
        ({"server_config": config(split="tensor")}, "fits"),
        ({"given": _given(model__hidden=8192, model__layers=80, streams=64)}, "fits"),
        ({"requests": [{**r, "prompt_ms": None, "decode_ms": None} for r in ONE]}, "fits"),
        ({"kernels": [], "given": _given(streams=1)}, "cannot-tell"),
    ],
)
def test_collectives_of_all_ranks(change: dict[str, Rows], expected: str) -> None:
    store = store_of(**{"kernels": traced(waiting(0.5)), "requests": ONE, "server_config": TENSOR, "given": SMALL, **change})
    found = verdict(link_latency.RULE, store, "1 running")
    assert found.verdict == expected, (found.because, found.sentence)


def test_a_rank_that_waits_for_another_is_not_latency() -> None:
    def late(n: int, t: float) -> list[tuple[int, str, float, float]]:
        return [(0, "kernel", 0, 2.0), (0, "collective", 2.0, 19.0), (1, "kernel", 0, 18.0), (1, "collective", 18.0, 19.0)]

    store = store_of(kernels=traced(late), requests=ONE, server_config=TENSOR, given=SMALL)
    assert verdict(link_latency.RULE, store, "1 running").verdict == "cannot-tell"


# --- host-bound -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("busy_ms", "expected"), [(12.0, "fits"), (18.0, "cannot-tell")])
def test_gaps_between_kernels_fit(busy_ms: float, expected: str) -> None:
    store = store_of(kernels=traced(lambda n, t: [(0, "kernel", 0.0, busy_ms)]), requests=ONE)
    found = verdict(host_bound.RULE, store, "1 running")
    assert found.verdict == expected


def test_a_card_that_is_idle_while_the_other_works_is_no_gap() -> None:
    assert verdict(host_bound.RULE, store_of(kernels=traced(serial), requests=ONE), "1 running").verdict == "cannot-tell"


# --- spinning ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "power", "expected"), [(0.9, 75.0, "confirmed"), (0.5, 75.0, "fits"), (0.9, 300.0, "fits")])
def test_collectives_that_fill_the_time(share: float, power: float, expected: str) -> None:
    idle = samples(40, 2, start=900.0, util_gpu=0.0, power_w=60.0, power_limit_w=400.0)
    load = samples(60, 2, start=1000.0, util_gpu=100.0, power_w=power, power_limit_w=400.0)
    rows = [{**r, "line": n, "cycle": int(r["time"])} for n, r in enumerate([*idle, *load], 1)]
    statistics = lines(7, running=4.0, waiting=0.0, gen_tok_s=50.0, prompt_tok_s=0.0)
    store = store_of(
        gpu_samples=rows,
        server_samples=statistics,
        kernels=traced(waiting(share), start=1020.0),
        server_config=config(tensor_parallel=2, pipeline_parallel=1, data_parallel=1),
    )
    assert verdict(spinning.RULE, store, "4-7 running").verdict == expected
