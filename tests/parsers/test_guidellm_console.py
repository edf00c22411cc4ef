"""Console tables of guidellm: merged headers, rows that belong together, units, offered streams, damage."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.guidellm_console import PARSER
from gpuverdict.parsers.sweep_table import PARSER as SWEEPS
from open_ended import line_tests

WITH_COMMAND, BARE, OLD = (s.text for s in PARSER.samples)

test_blocks, test_cut, test_garbled, test_noise = line_tests(
    PARSER, alphabet="|= 0123456789.concurrent@\n", derived=("step", "series", "line")
)


def steps(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def test_samples_are_claimed() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(PARSER.claims(Source.from_text(sample.text).head()), Claim)


@pytest.mark.parametrize(
    ("above", "streams"),
    [
        ("guidellm benchmark --rate-type concurrent --rate 4,16\n", [4.0, 16.0]),
        ('guidellm benchmark run \\\n  --profile concurrent \\\n  --rate "4, 16" \\\n  --max-seconds 60\n', [4.0, 16.0]),
        ("  {'type_': 'concurrent', 'completed_strategies': [],\n  'streams': [4,\n  16], 'rampup_duration': 0.0}}\n", [4.0, 16.0]),
        ("guidellm benchmark --profile concurrent --rate 4,16,32\n", [None, None]),  # two of three were printed: which?
        ("guidellm benchmark --profile constant --rate 4,16\n", [None, None]),  # requests per second, not streams
        ("guidellm benchmark --profile concurrent --rate 4.5,16\n", [None, None]),
    ],
)
def test_offered_streams_come_from_the_text_above(above: str, streams: list[float | None]) -> None:
    assert [s["concurrency"] for s in steps(above + BARE)] == streams


def test_two_runs_keep_their_own_streams() -> None:
    rows = steps(WITH_COMMAND + WITH_COMMAND.replace("4,16", "8,32"))
    assert [(r["series"], r["concurrency"]) for r in rows] == [("run 1", 4.0), ("run 1", 16.0), ("run 2", 8.0), ("run 2", 32.0)]


def test_tables_of_other_benchmarks_do_not_mix() -> None:
    swapped = BARE.replace("| concurrent | 9.2 ", "| constant   | 9.2 ")
    rows, counts = rows_of(PARSER, swapped)
    assert rows["bench_steps"][1]["ttft_p50_ms"] is None and counts.near_miss == 2


def test_a_row_with_a_cell_too_few_keeps_its_place() -> None:
    rows, counts = rows_of(PARSER, BARE.replace("| 5.2 | 6.5  | 90.5", "| 5.2 | 90.5"))
    assert counts.near_miss == 1
    assert [r["ttft_p50_ms"] for r in rows["bench_steps"]] == [None, 310.5]


def test_a_table_that_lost_a_row_is_not_joined() -> None:
    lost = "\n".join(line for line in BARE.split("\n") if "| 5.2 " not in line)
    rows, counts = rows_of(PARSER, lost)
    assert counts.near_miss == 1
    assert [r["ttft_p50_ms"] for r in rows["bench_steps"]] == [None, None]


def test_latency_under_ms_that_could_be_ms_is_left_out() -> None:
    assert steps(OLD.replace("4.25|   4.25| 4.75", "4250.0| 4250.0| 4750.0"))[0]["e2e_mean_ms"] is None
    assert steps(OLD.replace("Req Latency (ms)", "Req Latency (sec)"))[0]["e2e_mean_ms"] == 4250.0


def test_measured_concurrency_is_never_the_offered_one() -> None:
    """The old table has a column Concurrency, which is measured: no other parser may take it for a sweep."""
    assert not isinstance(SWEEPS.claims(Source.from_text(OLD).head()), Claim)
    assert not isinstance(SWEEPS.claims(Source.from_text(BARE).head()), Claim)


def test_titles_without_rows_are_refused() -> None:
    refusal = PARSER.claims(Source.from_text("Request Latency Statistics (Completed Requests)\n|====|\n").head())
    assert isinstance(refusal, Refusal)
    assert PARSER.claims(Source.from_text("we read the Request Latency Statistics of yesterday\n").head()) is None
