"""mlx-lm: answers and servers; what is quoted, alone or contradictory."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.testing import check_block_sizes, check_cut, check_garbled, check_samples, check_wrappers, rows_of
from gpuverdict.parsers.mlx_lm import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

PROMPT, GENERATION = "Prompt: 50 tokens, 100.000 tokens-per-sec\n", "Generation: 201 tokens, 40.200 tokens-per-sec\n"
OMLX = "2026-06-01 10:00:30,500 - omlx.server - INFO - [-] - Chat completion: {n} tokens in {s}s ({rate} tok/s), prompt: 4000\n"
VLLM = "INFO:vllm_mlx.server:Chat completion (stream): {n} tokens in {s}s ({rate} tok/s)\n"


def requests(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("requests", [])


def test_samples_blocks_and_wrappers() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        check_block_sizes(PARSER, sample.text)
        check_wrappers(PARSER, sample.text, ("docker compose", "ANSI", "CRLF", "progress bar"))


@settings(max_examples=20, deadline=None)
@given(which=st.sampled_from(range(len(PARSER.samples))), share=st.floats(0, 1), byte=st.integers(0, 255))
def test_cut_and_garbled(which: int, share: float, byte: int) -> None:
    text = PARSER.samples[which].text
    check_cut(PARSER, text, int(share * len(text)))
    check_garbled(PARSER, text, int(share * (len(text) - 1)), byte)


@pytest.mark.parametrize(
    "text",
    [
        GENERATION + PROMPT,
        PROMPT + "x\nx\nx\n" + GENERATION,
        f"it says {PROMPT}it says {GENERATION}",
        PROMPT.replace("tokens-per-sec", "tok/s") + GENERATION,
        "[batch_generate] " + PROMPT + "[batch_generate] " + GENERATION,
    ],
)
def test_lines_that_are_no_answer(text: str) -> None:
    assert requests(text) == []


@pytest.mark.parametrize(
    ("line", "n", "s", "rate", "decode_ms"),
    [
        (OMLX, 300, 40.0, 10.0, 30000.0),
        (OMLX, 300, 30.0, 10.0, 30000.0),
        (OMLX, 30, 40.0, 1.0, None),  # 1.0 may be 0.95 or 1.05
        (VLLM, 500, 10.0, 50.0, None),
    ],
)
def test_a_rate_without_the_prompt_is_one_of_decode(line: str, n: int, s: float, rate: float, decode_ms: float | None) -> None:
    (row,) = requests(line.format(n=n, s=s, rate=rate))
    assert (row["latency_s"], row["decode_ms"], row["output_tokens"]) == (s, decode_ms, n)


@pytest.mark.parametrize(("line", "rate"), [(OMLX, 3.0), (VLLM, 25.0), (VLLM, 100.0)])
def test_a_rate_that_contradicts_its_own_line(line: str, rate: float) -> None:
    assert requests(line.format(n=500, s=10.0, rate=rate)) == []
