"""inference-benchmarker's printed table: what was offered is not what was answered."""

from __future__ import annotations

from typing import Any

from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers import sweep_table
from gpuverdict.parsers.inference_benchmarker_console import PARSER
from open_ended import line_tests

FULL, SHORT = (s.text for s in PARSER.samples)


def steps(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def test_samples() -> None:
    check_samples(PARSER)


(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="│|Benchmark QPS 0123456789.\n", derived=("line", "step", "series"))


def test_the_rate_that_was_answered_is_no_offered_one() -> None:
    """Read as a table of anybody's, its QPS would be the load."""
    assert [r.get("rate_rps") for r in steps(FULL)] == [None, 100.0]
    for text in (FULL, SHORT):
        assert "bench_steps" not in rows_of(sweep_table.PARSER, text)[0]


def test_parameters_of_another_table_do_not_reach_further() -> None:
    assert [r.get("concurrency") for r in steps(SHORT + FULL)] == [None, 64.0, None]
    assert [r.get("concurrency") for r in steps(FULL + SHORT)] == [64.0, None, None]
    assert [r["series"] for r in steps(FULL + SHORT)] == ["run 1", "run 1", "run 2"]


def test_a_row_of_another_width_is_a_near_miss() -> None:
    _, counts = rows_of(PARSER, SHORT.replace("| 300/300 |", "|"))
    assert counts.near_miss == 1 and counts.matched == 0


def test_without_a_success_nothing_was_measured() -> None:
    (row,) = steps(SHORT.replace("300/300", "0/300"))
    assert (row["failed"], row.get("req_s"), row.get("e2e_mean_ms")) == (300, None, None)
