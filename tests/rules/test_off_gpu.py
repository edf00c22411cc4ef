"""Weights in host memory: buffers, layers, memory that is too small."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.store import Store
from gpuverdict.rules.off_gpu import RULE

from .small_store import Rows, config, samples, served, store_of, verdict

GIB = 1024.0
MODEL = {"file_bytes": 40.0 * 2**30, "layers": 80.0, "hidden": 8192.0}  # embedding at most 4096 MiB


def log(cpu: float | None, devices: list[float] = [], **more: Any) -> Rows:  # noqa: B006
    rows = config(server="llama.cpp", build=7000, **({"cpu_model_mib": cpu} if cpu is not None else {}), **more)
    return rows + [
        {
            "source_id": 0,
            "line": 50 + i,
            "server": "llama.cpp",
            "run": 0,
            "key": "device_model_mib",
            "value": f"CUDA{i}",
            "num": mib,
            "origin": "logged",
        }
        for i, mib in enumerate(devices)
    ]


def store(settings: Rows, model: dict[str, float] | None = MODEL, mem: float | None = None, cards: int = 1, **read: Any) -> Store:
    tables: dict[str, Rows] = {"server_config": settings, "requests": served([(1000.0, 1040.0)])}
    if model:
        tables["models"] = [{"source_id": 0, "section": 0, **model}]
    if mem is not None:
        tables["gpu_samples"] = samples(40, cards, mem_used=mem / cards, **{"util_gpu": 10.0, **read})
    return store_of(**tables)


def test_experts_on_the_cpu_are_confirmed_although_all_layers_are_offloaded() -> None:
    found = verdict(RULE, store(log(34 * GIB, [9 * GIB], layers_offloaded=81, layers_total=81)))
    assert found.verdict == "confirmed"
    low, high = found.numbers["outside_share"]
    assert low == pytest.approx((40 - 9 - 4) / 40)
    assert high == pytest.approx(34 / 40)
    assert found.evidence


def test_the_token_embedding_alone_does_not_count() -> None:
    found = verdict(RULE, store(log(3 * GIB, [37 * GIB], layers_offloaded=81, layers_total=81)))
    assert found.verdict == "cannot-tell"
    assert found.numbers["outside_share"][0] == 0


def test_a_known_vocabulary_takes_off_its_own_embedding_only() -> None:
    outside = log(5 * GIB, [36 * GIB], layers_offloaded=81, layers_total=81)
    assert verdict(RULE, store(outside)).verdict == "cannot-tell", "4 GiB may be the embedding"
    assert verdict(RULE, store(outside, model={**MODEL, "vocab": 32000.0})).verdict == "confirmed"


def test_a_mapped_buffer_as_large_as_the_file_is_no_proof() -> None:
    """The range of a mapped file goes from the first to the last tensor; the cards hold everything."""
    assert verdict(RULE, store(log(40 * GIB, [39.5 * GIB], layers_offloaded=81, layers_total=81))).verdict == "cannot-tell"


def test_layers_left_to_the_cpu_are_confirmed_without_buffer_sizes() -> None:
    assert verdict(RULE, store(log(None, layers_offloaded=0, layers_total=33), model=None)).verdict == "confirmed"
    assert verdict(RULE, store(log(None, layers_offloaded=20, layers_total=33), model=None)).verdict == "confirmed"
    assert verdict(RULE, store(log(None, layers_offloaded=32, layers_total=33), model=None)).verdict == "cannot-tell"


def test_ruled_out_needs_layers_buffers_and_memory() -> None:
    full = log(0.5 * GIB, [39.5 * GIB], layers_offloaded=81, layers_total=81)
    assert verdict(RULE, store(full, mem=44 * GIB, cards=2)).verdict == "ruled-out"
    assert verdict(RULE, store(full)).verdict == "cannot-tell", "memory was not logged"
    assert verdict(RULE, store(full, mem=39 * GIB, cards=2)).verdict != "ruled-out"
    offloaded_only = log(None, layers_offloaded=81, layers_total=81)
    assert verdict(RULE, store(offloaded_only, mem=44 * GIB)).verdict == "cannot-tell", "experts may be on the CPU"


def test_a_model_that_is_not_on_the_card_fits_until_no_card_is_missing() -> None:
    found = verdict(RULE, store(log(None), mem=3.0, util_gpu=0.0))
    assert found.verdict == "fits"
    assert "another index, container or host" in found.rivals_open[0].name
    known = verdict(RULE, store(log(None, split_devices=1), mem=3.0, util_gpu=0.0))
    assert known.verdict == "confirmed"
    assert verdict(RULE, store(log(None, split_devices=2), mem=3.0, util_gpu=0.0)).verdict == "fits"


def test_no_tokens_no_model_size_no_claim() -> None:
    assert verdict(RULE, store(log(None, split_devices=1), model=None, mem=3.0)).verdict == "cannot-tell"
    idle = store_of(
        server_config=log(None, split_devices=1), models=[{"section": 0, **MODEL}], gpu_samples=samples(40, 1, mem_used=3.0, util_gpu=0.0)
    )
    assert verdict(RULE, idle).verdict == "cannot-tell"


def test_cards_in_turns_are_not_called_off_gpu() -> None:
    full = log(0.5 * GIB, [13 * GIB] * 3, layers_offloaded=81, layers_total=81)
    assert verdict(RULE, store(full, mem=44 * GIB, cards=3, util_gpu=33.0)).verdict == "ruled-out"


def test_a_little_busy_with_a_layer_left_fits() -> None:
    found = verdict(RULE, store(log(None, layers_offloaded=75, layers_total=81), cards=2, mem=44 * GIB, util_gpu=12.0, util_mem=4.0))
    assert found.verdict == "fits"


def test_settings_of_another_run_confirm_nothing() -> None:
    assert (
        verdict(
            RULE, store(config(server="llama.cpp", build=7000, origin="estimated", layers_offloaded=0, layers_total=33), model=None)
        ).verdict
        != "confirmed"
    )


DENSE = {**MODEL, "experts": 0.0, "params_total_b": 70.0, "bits_per_weight": 4.9}


@pytest.mark.parametrize(
    ("facts", "model", "decode_ms", "claim"),
    [
        ({"host.mem_bw_gb_s": 80.0}, {}, 40_000.0, "cause"),
        ({}, {}, 40_000.0, "state"),
        # another bandwidth, another time of a token: the formula does not explain it
        ({"host.mem_bw_gb_s": 40.0}, {}, 40_000.0, "state"),
        ({"host.mem_bw_gb_s": 80.0}, {}, 80_000.0, "state"),
        # experts are read in part: the interval is too wide
        ({"host.mem_bw_gb_s": 80.0}, {"experts": 128.0, "experts_per_token": 8.0, "params_active_b": 5.0}, 40_000.0, "state"),
        ({"host.mem_bw_gb_s": 80.0, "streams": 4.0}, {}, 40_000.0, "state"),
        ({"host.mem_bw_gb_s": 80.0, "speculation": "on"}, {}, 40_000.0, "state"),
    ],
)
def test_the_cause_needs_the_measured_bandwidth_of_the_host(
    facts: dict[str, Any], model: dict[str, float], decode_ms: float, claim: str
) -> None:
    """31 GiB less the embedding at 80 GB/s and 9 GiB at 936 GB/s are 370 to 430 ms; the token takes 404 ms."""
    stated = {"gpu.mem_bw_gb_s": 936.0, "streams": 1.0, **facts}
    given = [
        {"source_id": 9, "key": k, "value": str(v), "num": v if isinstance(v, float) else None, "line": n}
        for n, (k, v) in enumerate(stated.items(), 1)
    ]
    built = store_of(
        server_config=log(34 * GIB, [9 * GIB], layers_offloaded=20, layers_total=81, split="layer"),
        models=[{"source_id": 0, "section": 0, **DENSE, **model}],
        requests=[{**r, "decode_ms": decode_ms} for r in served([(1000.0, 1100.0)])],
        given=given,
    )
    found = verdict(RULE, built, "1 running")
    assert (found.verdict, found.claim) == ("confirmed", claim), found.sentence
    if claim == "cause":
        assert "host.mem_bw_gb_s=80" in found.given


def ps(lo: float, hi: float | None = None, **more: Any) -> Rows:
    rows = config(server="ollama", model_memory_mib=40000.0, memory_on_cpu_share=lo, **more)
    return [{**row, "num_hi": hi} if row["key"] == "memory_on_cpu_share" and hi else row for row in rows]


def test_the_share_of_ollama_ps_without_the_embedding() -> None:
    found = verdict(RULE, store(ps(0.475, 0.485), model=None))
    assert found.verdict == "confirmed" and "Ollama" in found.because
    low, high = found.numbers["memory_outside"]
    assert 0.2 < low < 0.475 and high == pytest.approx(0.485)
    assert verdict(RULE, store(ps(1.0), model=None)).verdict == "confirmed"
    assert verdict(RULE, store(ps(0.145, 0.155), model=None)).verdict == "cannot-tell", "that much may be the embedding"
    assert verdict(RULE, store(ps(0.245, 0.255))).verdict == "confirmed", "the embedding is 4096 MiB at most"


def test_hundred_percent_gpu_is_not_believed_alone() -> None:
    """A runner that found no card still shows it."""
    assert verdict(RULE, store(ps(0.0))).verdict == "cannot-tell"
    assert verdict(RULE, store(ps(0.0), mem=44 * GIB)).verdict == "ruled-out"
    assert verdict(RULE, store(ps(0.0) + log(None, split_devices=1), mem=3.0)).verdict == "confirmed"


def test_several_models_of_ollama_tell_nothing() -> None:
    other = [{**row, "line": 90 + i} for i, row in enumerate(ps(0.0))]
    assert verdict(RULE, store(ps(0.475, 0.485) + other, model=None)).verdict == "cannot-tell"


def test_a_log_that_contradicts_the_share_leaves_it_open() -> None:
    full = log(0.5 * GIB, [39.5 * GIB], layers_offloaded=81, layers_total=81)
    assert verdict(RULE, store([*full, *ps(0.475, 0.485)], mem=44 * GIB, cards=2)).verdict == "cannot-tell"
    left = log(None, layers_offloaded=32, layers_total=33)
    assert verdict(RULE, store([*left, *ps(0.0)], mem=44 * GIB)).verdict == "cannot-tell"


@pytest.mark.parametrize(("server", "verdict_"), [("ollama", "confirmed"), ("vllm", "cannot-tell")])
def test_a_file_of_its_own_speaks_of_ollamas_requests_only(server: str, verdict_: str) -> None:
    apart = [{**row, "source_id": 1} for row in ps(0.475, 0.485)]
    found = verdict(
        RULE,
        store_of(server_config=apart, requests=served([(1000.0, 1040.0)], server=server), models=[{"source_id": 0, "section": 0, **MODEL}]),
    )
    assert found.verdict == verdict_


@pytest.mark.parametrize(
    ("gib", "ranks", "expected"), [(20.0, 1, "confirmed"), (10.0, 4, "confirmed"), (1.0, 1, "cannot-tell"), (0.0, 1, "cannot-tell")]
)
def test_what_the_server_was_told_to_keep_outside_is_confirmed(gib: float, ranks: int, expected: str) -> None:
    found = verdict(RULE, store(config(server="vllm", weights_offload_gib=gib, tensor_parallel=ranks)))
    assert found.verdict == expected
    assert found.numbers.get("told_share") == (pytest.approx(gib * ranks / 40) if gib else None)


def test_without_the_size_of_the_weights_it_only_fits() -> None:
    assert verdict(RULE, store(config(server="vllm", weights_offload_gib=20.0), model=None)).verdict == "fits"
    assert verdict(RULE, store(config(server="vllm", tensor_parallel=1))).verdict == "cannot-tell", "nothing was told"


@pytest.mark.parametrize(
    ("asked", "expected"), [(20, "confirmed"), (75, "cannot-tell"), (80, "cannot-tell"), (99, "cannot-tell"), (-1, "cannot-tell")]
)
def test_fewer_layers_asked_for_than_the_model_has(asked: int, expected: str) -> None:
    """llama-bench prints what was asked for, not what was offloaded."""
    assert verdict(RULE, store(config(server="llama-bench", n_gpu_layers=asked))).verdict == expected


@pytest.mark.parametrize(
    ("servers", "command"),
    [
        (["ollama"], "ollama run"),
        (["ollama", "llama.cpp"], "ollama run"),  # Ollama 0.30 runs llama-server inside, whose lines are in the same log
        (["lm-studio", "llama.cpp"], "lms load"),
        (["llama.cpp"], "llama-server"),
    ],
)
def test_the_command_is_one_of_the_server_that_a_start_up_log_names(servers: list[str], command: str) -> None:
    rows = [row for server in servers for row in config(server=server, layers_offloaded=5, layers_total=62)]
    found = verdict(RULE, store_of(server_config=rows))
    assert found.verdict == "confirmed" and found.next[0].command.startswith(command)


def test_two_servers_without_requests_leave_the_general_command() -> None:
    rows = [
        {**row, "source_id": i} for i, s in enumerate(("ollama", "vllm")) for row in config(server=s, layers_offloaded=5, layers_total=62)
    ]
    assert verdict(RULE, store_of(server_config=rows)).next[0].command.startswith("llama-server")
