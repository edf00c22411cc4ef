"""llmperf: summaries, responses, failures, damage."""

from __future__ import annotations

import json
from functools import partial

import pytest
from gpuverdict.engine.parser import Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.llmperf import PARSER
from open_ended import document_tests, read

SUMMARY, RESPONSES = (json.loads(s.text) for s in PARSER.samples)

facts = partial(read, PARSER)


def test_samples() -> None:
    check_samples(PARSER)


test_samples_are_claimed_and_blocks_do_not_matter, test_a_cut_invents_nothing, test_a_garbled_byte_raises_nothing = document_tests(PARSER)


def step(**changes: object) -> dict:
    return facts(json.dumps(SUMMARY | changes))[0]["bench_steps"][0]


def test_the_inter_token_latency_is_latency_and_stays_out() -> None:
    assert 30.0 not in step().values() and 0.03 not in step().values()


def test_a_run_that_mostly_failed_offered_nobody_knows_what() -> None:
    rows = facts(json.dumps(SUMMARY | {"results_number_errors": 130, "results_num_completed_requests": 20}))[0]
    assert rows["bench_steps"][0].get("concurrency") is None and rows["bench_steps"][0]["ttft_mean_ms"] == 750.0
    assert [q["kind"] for q in rows["quality"]] == ["mostly-failed"]


def test_a_run_without_success_has_no_measures() -> None:
    rows = facts(json.dumps(SUMMARY | {"results_num_completed_requests": 0}))[0]
    known = {k for k, v in rows["bench_steps"][0].items() if v is not None}
    assert known == {"line", "step", "concurrency", "requests", "completed", "failed", "finished_at"}
    assert [q["kind"] for q in rows["quality"]] == ["all-failed"]


def test_strings_are_no_numbers_and_old_times_no_times() -> None:
    row = step(results_ttft_s_mean="0.75", timestamp=12345)
    assert row.get("ttft_mean_ms") is None and row.get("finished_at") is None


@pytest.mark.parametrize(
    "change", [{"error_code": 500}, {"error_msg": "CANARY"}, {"end_to_end_latency_s": 0}, {"end_to_end_latency_s": None}]
)
def test_failures_have_no_measures(change: dict) -> None:
    rows = facts(json.dumps([RESPONSES[0] | change]))[0]
    known = {k: v for k, v in rows["requests"][0].items() if v is not None}
    assert known == {"line": 1, "origin": "client", "run": 0, "request": "0", "status": "failed"}


def test_a_list_cut_at_its_end_keeps_what_is_whole() -> None:
    rows, counts = facts(json.dumps([RESPONSES[0]] * 3, indent=4)[:-60])
    assert len(rows["requests"]) == 2 and counts.near_miss == 1


def test_long_lists_come_in_batches() -> None:
    rows, _ = facts(json.dumps([RESPONSES[0]] * 4100))
    assert len(rows["requests"]) == 4100 and rows["requests"][-1]["request"] == "4099"


def test_no_text_leaves() -> None:
    assert "CANARY" not in repr(facts(json.dumps(SUMMARY | {"model": "CANARY", "api": "CANARY", "name": "CANARY"})))


def test_other_files_are_not_claimed() -> None:
    assert PARSER.claims(Source.from_text('{"num_concurrent_requests": 3}').head()) is None
    assert isinstance(PARSER.claims(Source.from_text('[{"ttft_s": 1, "end_to_end_latency_s": 2}]').head()), Refusal)
