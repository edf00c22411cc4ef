"""trtllm-bench's printed report: what belongs to which report, streams and what is no load."""

from __future__ import annotations

from typing import Any

from gpuverdict.engine.testing import check_conformance, rows_of
from gpuverdict.parsers.trtllm_bench_console import PARSER

STREAMED, OLD = (s.text for s in PARSER.samples)


def steps(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def test_conformance() -> None:
    check_conformance(PARSER, derived=("series", "step", "concurrency", "slots", "per_stream_tok_s", "per_stream_counts"))


def test_several_reports_in_one_file() -> None:
    other = STREAMED.replace("--concurrency 8", "--concurrency 16").replace("320.0000", "480.0000").replace("7.7500", "15.5000")
    got = steps(STREAMED + other)
    assert [(r["concurrency"], r["mean_concurrency"], r["aggregate_tok_s"]) for r in got] == [(8, 7.75, 320), (16, 15.5, 480)]
    assert [r["series"] for r in steps(STREAMED + STREAMED)] == ["run 1", "run 2"]


def test_the_mean_in_flight_is_not_what_was_offered() -> None:
    (row,) = steps(STREAMED.split("\n", 1)[1])
    assert row["concurrency"] is None and row["mean_concurrency"] == 7.75


def test_the_issue_rate_is_no_rate() -> None:
    assert "rate_rps" not in steps(STREAMED)[0]


def test_without_streaming_there_is_no_first_token() -> None:
    text = "\n".join(line for line in STREAMED.split("\n") if "TTFT" not in line and "TPOT" not in line and "Output Speed" not in line)
    (row,) = steps(text)
    assert (row["per_stream_tok_s"], row["per_stream_counts"], row["ttft_mean_ms"], row["tpot_mean_ms"]) == (41.25, "latency", None, None)


def test_a_report_that_is_not_there_gives_nothing() -> None:
    assert steps(STREAMED.split("= PERFORMANCE")[0]) == []
