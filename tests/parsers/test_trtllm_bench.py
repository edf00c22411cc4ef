"""trtllm-bench's JSON report: streamed or not, slots per rank, what stays out."""

from __future__ import annotations

import json
from functools import partial

from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.trtllm_bench import PARSER
from open_ended import document_tests, read

FULL, PLAIN = (json.loads(s.text) for s in PARSER.samples)

facts = partial(read, PARSER)


def test_samples() -> None:
    check_samples(PARSER)


test_samples_are_claimed_and_blocks_do_not_matter, test_a_cut_invents_nothing, test_a_garbled_byte_raises_nothing = document_tests(PARSER)


def test_a_first_token_of_zero_is_no_streaming() -> None:
    streaming = FULL["streaming_metrics"] | {"avg_ttft_ms": 0.0, "ttft_percentiles": {"p50": 0.0, "average": 0.0}}
    (row,) = facts(json.dumps(FULL | {"streaming_metrics": streaming}))[0]["bench_steps"]
    assert row.get("ttft_mean_ms") is None and row.get("tpot_mean_ms") is None


def test_slots_of_one_rank_are_exact() -> None:
    slots = next(r for r in facts(json.dumps(PLAIN))[0]["server_config"] if r["key"] == "slots")
    assert (slots["num"], slots.get("num_hi"), slots["value"]) == (4.0, None, "4")


def test_no_text_leaves() -> None:
    text = json.dumps(FULL).replace("x/y", "CANARY").replace('"/a"', '"CANARY"').replace('"/b"', '"CANARY"')
    assert text.count("CANARY") == 3 and "CANARY" not in repr(facts(text))


def test_other_files_are_not_claimed() -> None:
    assert PARSER.claims(Source.from_text('{"performance": {"x": 1}}').head()) is None
