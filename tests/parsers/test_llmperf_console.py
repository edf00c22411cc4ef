"""llmperf's report: where the concurrency stands, what is no time per token, failures, several runs."""

from __future__ import annotations

from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.llmperf_console import PARSER
from open_ended import line_tests

RUN, FAILING = (s.text for s in PARSER.samples)


def steps(text: str) -> list[dict]:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def test_samples() -> None:
    check_samples(PARSER)


(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="ttft_s p50 mean = 0123456789.:\n", derived=("line", "step", "per_stream_tok_s", "concurrency"))


def test_the_inter_token_latency_is_latency_and_stays_out() -> None:
    assert not {22.6, 22.9, 0.0226, 0.0229} & set(steps(RUN)[0].values())


def test_the_concurrency_is_that_of_the_command_above_and_of_one_run() -> None:
    report = RUN.partition("\n")[2]
    assert [r["concurrency"] for r in steps(RUN + report + RUN.replace("requests 8", "requests 16", 1))] == [8.0, None, 16.0]


def test_without_the_median_the_mean_is_taken() -> None:
    assert steps(RUN.replace("    p50 = 41.25\n", ""))[0]["per_stream_tok_s"] == 40.75


def test_a_report_that_ends_before_its_counts_gives_nothing() -> None:
    assert steps(RUN.partition("Number Of Completed")[0]) == []


def test_statistics_without_the_headline_are_somebody_elses() -> None:
    assert steps(RUN.replace("Results for token benchmark for", "Results for")) == []
