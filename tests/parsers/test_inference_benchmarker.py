"""inference-benchmarker: users and rates, warm-up, damage."""

from __future__ import annotations

import json
from functools import partial

import pytest
from gpuverdict.engine.parser import Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.inference_benchmarker import PARSER
from open_ended import document_tests, read

SWEEP, SMALL = (json.loads(s.text) for s in PARSER.samples)

facts = partial(read, PARSER)


def test_samples() -> None:
    check_samples(PARSER)


test_samples_are_claimed_and_blocks_do_not_matter, test_a_cut_invents_nothing, test_a_garbled_byte_raises_nothing = document_tests(PARSER)


def test_the_sweeps_own_times_are_no_times_of_a_run() -> None:
    rows = facts(json.dumps(SMALL | {"start_time": "2026-03-01T10:00:00Z", "end_time": "2026-03-01T10:05:00Z"}))[0]
    assert rows["bench_steps"][0].get("started_at") is None and rows["bench_steps"][0].get("wall_s") is None


@pytest.mark.parametrize(("kind", "want"), [("ConstantVUs", (4.0, None)), ("ConstantArrivalRate", (None, 3.0)), ("Other", (None, 3.0))])
def test_only_constant_users_are_offered_streams(kind: str, want: tuple) -> None:
    run = SMALL["results"][0] | {"executor_type": kind, "config": {"max_vus": 4, "rate": 3.0}}
    row = facts(json.dumps(SMALL | {"results": [run]}))[0]["bench_steps"][0]
    assert (row.get("concurrency"), row.get("rate_rps")) == want


def test_a_warm_up_alone_gives_no_step() -> None:
    rows, counts = facts(json.dumps({"results": SWEEP["results"][:1]}))
    assert rows == {} and counts.matched == 1


def test_no_text_leaves() -> None:
    assert "CANARY" not in repr(facts(json.dumps(SWEEP | {"system": {"hostname": "CANARY"}, "config": {"url": "CANARY"}})))


def test_a_cut_result_says_so() -> None:
    rows, counts = facts(json.dumps(SWEEP)[:-40])
    assert rows == {} and counts.near_miss == 1


def test_other_files_are_not_claimed() -> None:
    assert PARSER.claims(Source.from_text('{"results": [{"id": 1}]}').head()) is None
    assert isinstance(PARSER.claims(Source.from_text('{"config": {"max_vus": 3, "benchmark_kind": "sweep"}}').head()), Refusal)
