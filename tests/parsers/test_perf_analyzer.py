"""perf_analyzer: blocks and the summary below them, batches, percentiles, runs one after the other."""

from __future__ import annotations

import pytest
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.perf_analyzer import PARSER
from open_ended import line_tests

BLOCK, _, TABLE = (s.text for s in PARSER.samples)


def steps(text: str) -> list[dict]:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def test_samples() -> None:
    check_samples(PARSER)


(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="Concurrency: infer/sec 0123456789.,\n", derived=("line", "series", "step", "req_s", "concurrency"))


def test_the_summary_repeats_the_blocks_above() -> None:
    assert [r["concurrency"] for r in steps(BLOCK)] == [4.0, 8.0]
    assert [r["concurrency"] for r in steps(BLOCK.replace("Concurrency: 8, throughput", "x"))] == [4.0]


@pytest.mark.parametrize(
    ("heading", "column"),
    [("Average Batch", "e2e_mean_ms"), ("p99 Batch", "e2e_p99_ms"), ("p50", "e2e_p50_ms"), ("p95 Batch", None)],
)
def test_the_latency_of_the_summary_is_what_its_heading_says(heading: str, column: str | None) -> None:
    text = f"Inferences/Second vs. Client {heading} Latency\nConcurrency: 2, throughput: 0.75 infer/sec, latency 2650500 usec\n"
    (row,) = steps(text)
    assert {k: row[k] for k in ("e2e_mean_ms", "e2e_p50_ms", "e2e_p99_ms") if row[k]} == ({column: 2650.5} if column else {})


def test_a_rate_of_unknown_batches_is_no_rate_of_requests() -> None:
    one = "Inferences/Second vs. Client Average Batch Latency\nConcurrency: 2, throughput: {} infer/sec, latency 2000000 usec\n"
    assert steps(one.format("1"))[0]["req_s"] == 1.0
    assert steps(one.format("8"))[0]["req_s"] is None


def test_what_the_server_says_of_itself_is_left_alone() -> None:
    (row, _) = steps(BLOCK.replace("Avg latency: 3200500 usec (standard deviation 41000 usec)\n", "").replace("Avg request", "Avg"))
    assert row["e2e_mean_ms"] is None


def test_lines_of_other_tools_are_none() -> None:
    assert steps("Concurrency: 4, throughput: 12 infer/sec, latency 300 usec\n") == []
    assert steps("Throughput: 12 infer/sec\nAvg latency: 300 usec\n") == []
    assert steps(TABLE.replace("Inferences/Second", "Inferences")) == []
