"""TensorRT-LLM's early benchmark lines: whose tokens they count, what is no such line."""

from __future__ import annotations

import pytest
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.trtllm_session_bench import PARSER
from open_ended import line_tests

CPP, PYTHON = (s.text for s in PARSER.samples)


def steps(text: str) -> list[dict]:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def test_samples() -> None:
    check_samples(PARSER)


(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="[BENCHMARK] batch_size latency(ms) 0123456789.\n", derived=("line", "step", "series"))


def test_a_rate_that_is_not_the_output_over_the_latency_is_unknown() -> None:
    assert [r["aggregate_tok_s"] for r in steps(CPP.replace("tokensPerSec 640.00", "tokensPerSec 677.82"))] == [100.0, None]


@pytest.mark.parametrize(
    "line",
    [
        "[BENCHMARK] batch_size 8 input_length 128 latency(ms) 12.50\n",  # an encoder
        "[BENCHMARK] batch_size: 8\n",  # another tool
        "[BENCHMARK] batch_size 8 input_length 128 output_length 100 latency(ms) inf\n",
        'prompt: "[BENCHMARK] batch_size 8 input_length 128 output_length 100 latency(ms) 5"\n',
    ],
)
def test_what_is_no_such_line(line: str) -> None:
    assert steps(line) == []
