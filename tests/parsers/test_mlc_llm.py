"""MLC LLM's statistics: short and verbose, with and without counts, quoted and in the wrong order."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.testing import check_block_sizes, check_cut, check_garbled, check_samples, check_wrappers, rows_of
from gpuverdict.parsers.mlc_llm import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

RATES = "prefill: 150.0 tok/s, decode: {} tok/s\n"
COUNTS = "prompt tokens: 30, completion tokens: 20, total tokens: 50\n"


def rows(text: str, table: str = "requests") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def test_samples_blocks_and_wrappers() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        check_block_sizes(PARSER, sample.text)
        check_wrappers(PARSER, sample.text, ("docker compose", "ANSI", "CRLF", "progress bar"))


@settings(max_examples=20, deadline=None)
@given(which=st.integers(0, 1), share=st.floats(0, 1), byte=st.integers(0, 255))
def test_cut_and_garbled(which: int, share: float, byte: int) -> None:
    text = PARSER.samples[which].text
    check_cut(PARSER, text, int(share * len(text)), ("per_stream_tok_s", "step"))
    check_garbled(PARSER, text, int(share * (len(text) - 1)), byte)


@pytest.mark.parametrize(("rate", "decode_ms"), [("40.0", 500.0), ("1.0", None)])
def test_a_rate_with_too_few_digits_makes_no_time(rate: str, decode_ms: float | None) -> None:
    (row,) = rows(RATES.format(rate) + COUNTS)
    assert (row["decode_ms"], row["output_tokens"]) == (decode_ms, 20.0)


@pytest.mark.parametrize("text", ["N/A", "40.0 tok/s, more: 1"])
def test_lines_of_another_shape_give_nothing(text: str) -> None:
    assert rows(RATES.format(text), "bench_steps") == rows(RATES.format(text)) == []


def test_counts_belong_to_the_line_above() -> None:
    assert rows(COUNTS + RATES.format("40.0")) == []
    assert len(rows(COUNTS + RATES.format("40.0"), "bench_steps")) == 1
