"""Console blocks of serving benchmarks: every era, several blocks, what a paste loses, what is not believed."""

from __future__ import annotations

import pytest
from gpuverdict.engine.testing import check_conformance, check_counts, check_cut, rows_of
from gpuverdict.parsers.vllm_bench_console import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

LLAMA, VLLM, COMMENTED, SGLANG, OFFLINE, EARLY = (s.text for s in PARSER.samples)
# these honestly differ when the line that would discredit or explain them is cut off
DERIVED = ("series", "step", "output_tokens", "output_len", "aggregate_tok_s", "aggregate_counts", "ttft_mean_ms", "concurrency", "n")


def steps(text: str) -> list[dict]:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def block(conc: object = 4, **lines: object) -> str:
    """A block of the 2026 form; `lines` replaces values by label key, None drops the line."""
    labels = {
        "ok": ("Successful requests:", 40),
        "conc": ("Maximum request concurrency:", conc),
        "rate": ("Request rate configured (RPS):", None),
        "wall": ("Benchmark duration (s):", "20.00"),
        "tokens_in": ("Total input tokens:", 4000),
        "tokens": ("Total generated tokens:", 2000),
        "req": ("Request throughput (req/s):", "2.00"),
        "rate_out": ("Output token throughput (tok/s):", "100.00"),
        "peak": ("Peak concurrent requests:", "9.00"),
        "total": ("Total token throughput (tok/s):", "300.00"),
        "mean": ("Mean TTFT (ms):", "80.50"),
        "tpot": ("Mean TPOT (ms):", "20.50"),
        "e2el": ("Mean E2EL (ms):", None),
    }
    rows = [f"{label:<40} {lines.get(key, value)!s:<10}" for key, (label, value) in labels.items() if lines.get(key, value) is not None]
    return "\n".join(["{:=^50}".format(" Serving Benchmark Result "), *rows, "=" * 50, ""])


def test_conformance() -> None:
    check_conformance(PARSER, derived=DERIVED)


@given(share=st.floats(0, 1), which=st.integers(0, 3))
@settings(max_examples=10, deadline=None)
def test_a_cut_invents_nothing(share: float, which: int) -> None:
    text = PARSER.samples[which].text
    check_cut(PARSER, text, int(share * len(text)), DERIVED)


@given(lines=st.lists(st.sampled_from([line for s in PARSER.samples for line in s.text.split("\n")]), max_size=30))
@settings(max_examples=10, deadline=None)
def test_shuffled_lines_raise_nothing(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    rows, counts = rows_of(PARSER, text)
    check_counts(counts, text, "shuffled")
    assert all(r.get("concurrency") in (None, 1.0, 4.0, 12.0) for r in rows.get("bench_steps", []))


def test_the_peak_never_becomes_concurrency() -> None:
    (row,) = steps(block(conc=None))
    assert row["concurrency"] is None and 9.0 not in row.values()


def test_a_sweep_in_one_file() -> None:
    rows = steps("".join(block(c, rate_out=f"{30 * c}.00") for c in (1, 2, 4)))
    assert [(r["series"], r["step"], r["concurrency"], r["aggregate_tok_s"]) for r in rows] == [
        (None, 1, 1.0, 30.0),
        (None, 2, 2.0, 60.0),
        (None, 3, 4.0, 120.0),
    ]


def test_a_load_that_comes_again_is_another_run() -> None:
    rows = steps("".join(block(c) for c in (1, 8, 1, 8)))
    assert [(r["series"], r["step"]) for r in rows] == [("run 1", 1), ("run 1", 2), ("run 2", 1), ("run 2", 2)]


def test_blocks_without_banner_part_where_counts_follow_latencies_or_a_label_returns() -> None:
    lost = "\n".join(block(2).split("\n")[3:])
    rows = steps(lost + lost.replace("20.00", "40.00"))
    assert [(r["wall_s"], r["completed"]) for r in rows] == [(20.0, None), (40.0, None)]
    counts_only = "Benchmark duration (s): 5.00\nTotal input tokens: 10\nBenchmark duration (s): 7.00\nTotal input tokens: 20\n"
    assert [(r["wall_s"], r["input_tokens"]) for r in steps(counts_only)] == [(5.0, 10.0), (7.0, 20.0)]


def test_concurrency_before_a_banner_belongs_to_the_block_below() -> None:
    before = "Traffic request rate: inf\nBurstiness factor: 1.0 (Poisson process)\nMaximum request concurrency: {}\n"
    rows = steps(before.format(8) + block(conc=None) + before.format("None") + block(conc=None) + before.format(16) + block(conc=16))
    assert [r["concurrency"] for r in rows] == [8.0, None, 16.0]


def test_a_cut_block_keeps_its_concurrency_from_the_next() -> None:
    cut = "\n".join(block(4).split("\n")[:3]) + "\n"
    assert [r["concurrency"] for r in steps(cut + block(conc=None))] == [4.0, None]


@pytest.mark.parametrize("before", ["", "# ", "// ", "> ", "| ", "  "])
def test_comment_marks_are_no_obstacle(before: str) -> None:
    (row,) = steps("".join(before + line + "\n" for line in block(4).split("\n")[:-1]))
    assert (row["concurrency"], row["aggregate_tok_s"], row["ttft_mean_ms"]) == (4.0, 100.0, 80.5)


def test_quoted_labels_inside_prose_are_not_read() -> None:
    assert steps("we saw Successful requests: 30 and then Benchmark duration (s): 12.00\n") == []


def test_a_single_stray_line_is_no_block() -> None:
    assert steps("Maximum request concurrency: 30\nConcurrency:                             3.97\n") == []


def test_values_with_units_or_separators() -> None:
    (row,) = steps(block(4, mean="1,080.50", wall="20.00 s", tokens_in="4,000"))
    assert (row["ttft_mean_ms"], row["wall_s"], row["input_tokens"]) == (1080.5, 20.0, 4000.0)


def test_a_cap_counts_under_a_rate_only_where_it_was_reached() -> None:
    assert steps(block(4, rate="2.00"))[0]["concurrency"] is None
    assert steps(block(4, rate="2.00", e2el="1900.00"))[0]["concurrency"] == 4.0
    assert steps(block(4, rate="2.00", e2el="500.00"))[0]["concurrency"] is None
    assert steps(block(4, rate="inf"))[0]["concurrency"] == 4.0


def test_a_progress_bar_in_front_is_peeled() -> None:
    text = block(4).replace("Successful", "100%|####| 32/32 [02:30<00:00,  4.71s/it]\rSuccessful", 1)
    assert steps(text)[0]["completed"] == 40.0


def test_a_drifted_value_is_a_near_miss() -> None:
    _, counts = rows_of(PARSER, block(4, wall="twenty"))
    assert counts.near_miss == 1 and "wall_s" in counts.rejects[0][1]


def test_an_unstreamed_sglang_run_has_no_token_times() -> None:
    text = SGLANG.replace("2700.50   ", "8400.00   ")
    row = steps(text)[0]
    assert row["ttft_mean_ms"] is None and row["aggregate_tok_s"] == 470.5


def test_an_old_throughput_line_counts_all_tokens() -> None:
    (row,) = steps("Throughput: 7.25 requests/s, 4650.00 tokens/s\n")
    assert (row["req_s"], row["aggregate_tok_s"], row["aggregate_counts"]) == (7.25, 4650.0, "total")


def test_a_count_of_failures_alone_is_no_result() -> None:
    """ApacheBench prints the same line."""
    text = "Complete requests:      60\nFailed requests:        0\nRequests per second:    1.97 [#/sec] (mean)\n"
    assert "bench_steps" not in rows_of(PARSER, text)[0]


def test_the_rate_per_slot_is_that_of_one_run() -> None:
    rows = rows_of(PARSER, LLAMA + LLAMA.replace("31.25", "15.625").replace("36.50", "90.50"))[0]["bench_steps"]
    assert [(r["per_stream_tok_s"], r["ttft_mean_ms"], r["aggregate_tok_s"]) for r in rows] == [(31.25, 36.5, 997.5), (15.625, 90.5, 997.5)]


def test_the_median_of_a_batch() -> None:
    (row,) = rows_of(PARSER, "Avg latency: 1.25 seconds\n10% percentile latency: 1.0 seconds\n50% percentile latency: 1.125 seconds\n")[0][
        "bench_steps"
    ]
    assert (row["e2e_mean_ms"], row["e2e_p50_ms"], row["e2e_p99_ms"]) == (1250.0, 1125.0, None)
