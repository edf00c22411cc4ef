"""LMDeploy's benchmark blocks: several in one file, what a paste loses, and what is not theirs."""

from __future__ import annotations

import pytest
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.lmdeploy_bench import PARSER
from open_ended import line_tests

BLOCK, EARLY, GENERATION = (s.text for s in PARSER.samples)


def steps(text: str) -> list[dict]:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def test_samples() -> None:
    check_samples(PARSER)


(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="concurrency: token/s 0123456789.\n", derived=("line", "step", "aggregate_counts"))


def test_blocks_one_after_the_other() -> None:
    text = BLOCK + BLOCK.replace("concurrency: 48", "concurrency: 96").replace("2.250", "4.750")
    assert [(r["step"], r["concurrency"], r["ttft_mean_ms"]) for r in steps(text)] == [(1, 48.0, 2250.0), (2, 96.0, 4750.0)]


def test_a_label_with_two_values_is_unknown() -> None:
    (row,) = steps(BLOCK + "token throughput (completion token): 9.500 token/s\n")
    assert row["aggregate_tok_s"] is None and row["aggregate_counts"] is None and row["req_s"] == 8.299


@pytest.mark.parametrize(
    "text",
    [
        # without the latency of an answer the throughput of profile_generation.py is that of a session or of all
        "concurrency: 64, input_tokens: 1, output_tokens: 2048\nelapsed_time: 738.50s\n"
        "first_token latency(min, max, ave): 45.50s, 94.50s, 89.50s\nthroughput: 22.9250 token/s\n",
        # settings of somebody's script
        "concurrency: 8\nelapsed_time: 12.5s\n",
        # another unit
        BLOCK.replace("token/s", "ktoken/s"),
    ],
)
def test_what_is_no_block(text: str) -> None:
    assert steps(text) == []


def test_a_value_in_another_unit_stays_unknown() -> None:
    (row,) = steps(BLOCK.replace("120.500s", "120500ms").replace("8.299 req/s", "498 req/min"))
    assert row["wall_s"] is None and row["req_s"] is None


def test_a_rate_that_fits_neither_one_session_nor_all_is_unknown() -> None:
    one, whole = steps(GENERATION.replace("32.750000000000256 token/s", "210.5 token/s").replace("612.5 token/s", "90.25 token/s"))
    assert [r[c] for r in (one, whole) for c in ("aggregate_tok_s", "per_stream_tok_s")] == [None] * 4
    assert (one["e2e_mean_ms"], whole["wall_s"]) == (62500.0, 98.5)


def test_the_rate_of_the_only_session_is_that_of_all() -> None:
    (row, _) = steps(GENERATION.replace("concurrency: 32", "concurrency: 1"))
    assert (row["aggregate_tok_s"], row["per_stream_tok_s"]) == (32.750000000000256, 32.750000000000256)
