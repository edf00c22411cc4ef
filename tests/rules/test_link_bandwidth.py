"""The link as counters show it: averages before probes, and one card with its host."""

from __future__ import annotations

from typing import Any

from gpuverdict.engine.result import Finding
from gpuverdict.rules.link_bandwidth import RULE

from .small_store import Rows, config, samples, served, store_of, verdict


def counted(cards: int = 1, probes: Rows | None = None, **read: Any) -> Finding:
    rows = samples(60, cards, **{"util_gpu": 5.0, "sm_active": 0.04, "pcie_rx": 24_000.0, "pcie_averaged": True, **read})
    store = store_of(
        during={0: "c=1", 1: "c=1", 2: "c=1"},
        gpu_samples=rows + (probes or []),
        requests=served([(1000.0, 1060.0)]),
        server_config=config(server="llama.cpp", n_ctx_slot=4096),
        given=[{"source_id": 9, "key": "link.gb_s", "num": 25.0}],
    )
    return verdict(RULE, store, "c=1")


def test_one_card_and_its_host() -> None:
    found = counted()
    assert found.verdict == "fits" and "96 %" in found.sentence
    assert counted(pcie_rx=400.0).verdict == "ruled-out"
    assert counted(pcie_rx=12_000.0).verdict == "cannot-tell"
    assert counted(pcie_rx=None).verdict == "not-applicable"


def test_a_full_link_is_not_confirmed_without_bytes_of_its_own() -> None:
    assert counted(cards=2).verdict == "fits"


def test_averages_count_and_probes_beside_them_do_not() -> None:
    probes = samples(60, 1, source_id=2, pcie_rx=2000.0, pcie_probe_s=0.02, util_gpu=5.0)
    assert counted(probes=probes).numbers["counter_gb_s"] == 24
    assert counted(pcie_averaged=None, pcie_probe_s=0.02, probes=probes).numbers["counter_gb_s"] == 13
