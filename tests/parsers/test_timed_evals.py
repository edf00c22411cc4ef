"""Evaluations that time themselves: what latency means, where the streams come from, what is no evaluation."""

from __future__ import annotations

from functools import partial

import pytest
from gpuverdict.engine.parser import Claim
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.timed_evals import PARSER
from open_ended import document_tests, line_tests, read

VLLM, VLLM_JSON, SGLANG, SGLANG_JSON = (s.text for s in PARSER.samples)

facts = partial(read, PARSER)


def test_samples_are_claimed() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(PARSER.claims(Source.from_text(sample.text, sample.name).head()), Claim)


class Text:
    """The samples that are read by lines."""

    name, api, claims, parse = PARSER.name, 1, staticmethod(PARSER.claims), staticmethod(PARSER.parse)
    samples = tuple(s for s in PARSER.samples if "saved" not in s.versions)


class Json(Text):
    samples = tuple(s for s in PARSER.samples if "saved" in s.versions)


test_blocks, test_cut, test_garbled, test_noise = line_tests(Text(), alphabet="Accuracy: 0.1\nLtency s/", derived=("step",))  # type: ignore[arg-type]
test_json_blocks, test_json_cut, test_json_garbled = document_tests(Json())  # type: ignore[arg-type]


def test_latency_is_the_wall_of_the_run() -> None:
    row = facts(VLLM)[0]["bench_steps"][0]
    assert row["wall_s"] == 250.5 and "e2e_mean_ms" not in row


def test_two_evaluations_do_not_mix() -> None:
    rows = facts(SGLANG + SGLANG.replace("--parallel 64", "--parallel 8").replace("31.500", "90.000"))[0]["bench_steps"]
    assert [(r["concurrency"], r["wall_s"]) for r in rows] == [(64.0, 31.5), (8.0, 90.0)]
    alone = facts(SGLANG + SGLANG.split("\n", 1)[1])[0]["bench_steps"]
    assert [r["concurrency"] for r in alone] == [64.0, None], "the command belongs to the first of them"


@pytest.mark.parametrize(
    "text",
    [
        "Latency: 3.5 s\n",
        "Accuracy: 0.9\nLatency: 3.5 s\n",
        "Latency: 3.5 s\nOutput throughput: 900.500 token/s\n",  # no evaluation: some other script
        "Accuracy: 0.9\n" + "x\n" * 40 + "Latency: 3.5 s\nOutput throughput: 900.500 token/s\n",
        '{"task": "x", "latency": 3}',
    ],
)
def test_other_texts_are_not_claimed(text: str) -> None:
    assert PARSER.claims(Source.from_text(text).head()) is None
    assert facts(text)[0] == {}


def test_zeros_are_unknown() -> None:
    row = facts(VLLM_JSON.replace("80.0", "0.0").replace("20040", "0"))[0]["bench_steps"][0]
    assert (row["aggregate_tok_s"], row["aggregate_counts"], row["output_tokens"]) == (None, None, None)
