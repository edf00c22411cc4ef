"""LMDeploy logs: three statistics forms, the configuration, and what belongs to vLLM."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.testing import check_conformance, check_samples, rows_of
from gpuverdict.parsers.lmdeploy_server import PARSER

HEAD = "[2026-02-01 09:00:00 DP0] "
STATS = (
    "Avg thr (in/out): 1.5 / 2.5 tokens/s, Server (succeeded/failed/routed/waiting): 9 / 8 / 7 / 6, "
    "Engine (running/waiting): 5 / 2, KV cache: 50.0%, "
)
CONFIG = "2025-06-01 09:00:00,250 - lmdeploy - INFO - async_engine.py:259 - {} backend=pytorch, backend_config=PytorchEngineConfig({})\n"


def config(text: str) -> dict[str, Any]:
    return {r["key"]: r["value"] if r["num"] is None else r["num"] for r in rows_of(PARSER, text)[0].get("server_config", [])}


def test_samples() -> None:
    check_samples(PARSER)


def test_conformance() -> None:
    check_conformance(PARSER, derived=("n_ctx_slot",))  # a log cut before TurboMind shortened it says what was asked for


def test_waiting_counts_both_queues() -> None:
    (row,) = rows_of(PARSER, HEAD + STATS + "\n")[0]["server_samples"]
    assert (row["running"], row["waiting"], row["kv_usage"], row["prompt_tok_s"], row["gen_tok_s"]) == (5, 8, 0.5, 1.5, 2.5)


def test_the_words_of_vllm_are_left_to_vllm() -> None:
    message = (
        "Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, "
        "Running: 8 reqs, Waiting: 0 reqs, GPU KV cache usage: 9.0%"
    )
    for line in (f"INFO 07-28 06:40:59 [loggers.py:118] Engine 000: {message}\n", f"{message}\n"):
        assert rows_of(PARSER, line)[1].matched == 0
    assert rows_of(PARSER, HEAD + message + "\n")[1].near_miss == 1  # without Finished and Unfinished it is not LMDeploy's


def test_the_last_configuration_counts() -> None:
    text = CONFIG.format("input", "tp=1, dp=1, max_batch_size=128") + CONFIG.format("updated", "tp=2, dp=1, max_batch_size=32")
    got = config(text)
    assert (got["slots"], got["tensor_parallel"], got["split"]) == (32, 2, "tensor")


def test_unset_is_unknown() -> None:
    got = config(CONFIG.format("input", "tp=0, dp=32, session_len=None, max_batch_size=None"))
    assert got == {"data_parallel": 32}


@pytest.mark.parametrize("before", ["prompt: '", "[2026-02-01 09:00:00 DP0] user: "])
def test_quoted_text_gives_nothing(before: str) -> None:
    assert rows_of(PARSER, before + HEAD + STATS + "\n")[1].matched == 0


TURBOMIND = "2024-09-01 09:00:00,250 - lmdeploy - WARNING - model_config:\n\n[llama]\n{}\n"
POOL = "[TM][INFO] [BlockManager] block_size = {} MB\n[TM][INFO] [BlockManager] max_block_count = {}\n"


def test_the_pool_of_turbomind_is_that_of_its_smallest_rank() -> None:
    got = config(TURBOMIND.format("cache_block_seq_len = 64") + POOL.format("0.844", 1740) + POOL.format("0.844", 1736))
    assert got == {"kv_tokens": 1736 * 64, "kv_gib_per_rank": 1736 * 0.844 / 1024}


def test_whole_megabytes_are_no_size_and_an_unknown_block_is_no_number_of_tokens() -> None:
    assert config(POOL.format("64", 159)) == {}
    assert config(POOL.format("9.000", 863)) == {"kv_gib_per_rank": 863 * 9 / 1024}


def test_settings_count_only_below_their_head() -> None:
    lines = "max_batch_size = 8\nsession_len = 900\n"
    assert config(lines) == {}
    assert config(TURBOMIND.format("a = 1\n" * 200 + lines)) == {}
    assert config("she wrote model_config:\n" + lines) == {}
    assert config(TURBOMIND.format(lines)) == {"slots": 8, "slots_source": "max_batch_size", "n_ctx_slot": 900}
