"""text-generation-webui: the line per answer at any width, with and without times, quoted and contradictory ones."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from gpuverdict.engine.testing import check_block_sizes, check_cut, check_garbled, check_samples, check_wrappers, rows_of
from gpuverdict.parsers.text_generation_webui import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

HEAD = "10:20:35-250000 INFO     "
MESSAGE = "Output generated in 12.50 seconds (21.04 tokens/s, 263 tokens, context 1024, seed 1234567)"


def requests(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("requests", [])


def wrapped(message: str, width: int) -> str:
    """As rich prints it: continued under the message, filled up with blanks."""
    parts = textwrap.wrap(message, width - len(HEAD), break_long_words=False)
    return "".join(f"{lead}{part}".ljust(width) + "\n" for lead, part in zip([HEAD, *[" " * len(HEAD)] * len(parts)], parts))


def test_samples_blocks_and_wrappers() -> None:
    """Beside a time with a date (docker, journal) the clock without one says nothing: those wrappers leave the times out."""
    check_samples(PARSER)
    for sample in PARSER.samples:
        check_block_sizes(PARSER, sample.text)
        check_wrappers(PARSER, sample.text, ("docker compose", "ANSI", "CRLF", "progress bar"))


@settings(max_examples=20, deadline=None)
@given(which=st.integers(0, 2), share=st.floats(0, 1), byte=st.integers(0, 255))
def test_cut_and_garbled(which: int, share: float, byte: int) -> None:
    text = PARSER.samples[which].text
    check_cut(PARSER, text, int(share * len(text)))
    check_garbled(PARSER, text, int(share * (len(text) - 1)), byte)


@pytest.mark.parametrize("width", [80, 82, 84, 88, 90, 100, 120])
def test_a_wrapped_line_is_put_together(width: int) -> None:
    (row,) = requests(wrapped(MESSAGE, width))
    assert (row["output_tokens"], row["started_at"], row["finished_at"]) == (263, 37222.75, 37235.25)


@settings(max_examples=20, deadline=None)
@given(st.integers(40, 130))
def test_any_width_invents_nothing(width: int) -> None:
    for row in requests(wrapped(MESSAGE, width)):
        assert row["output_tokens"] in (None, 263) and row["started_at"] == 37222.75


def test_the_rest_of_another_line_is_not_taken() -> None:
    first, second = wrapped(MESSAGE, 80).split("\n")[:2]
    for between in ("text\n", "\n", first.replace("263", "300") + "\n"):
        assert 263 not in [r["output_tokens"] for r in requests(f"{first}\n{between}{second}\n")] or between.startswith("10:")
    assert [r["output_tokens"] for r in requests(f"{first}\n{HEAD}{second.strip()}\n")] == [None]


@pytest.mark.parametrize(
    "line",
    [
        f"user: {MESSAGE}",
        f'"{MESSAGE}"',
        MESSAGE.replace("263", "2630"),
        MESSAGE.replace("21.04", "2.10"),
        MESSAGE.replace("seconds", "minutes"),
        "Output generated in {}",
    ],
)
def test_what_is_quoted_or_contradicts_itself_gives_nothing(line: str) -> None:
    assert requests(line + "\n") == []


def test_a_bare_line_among_timed_ones_is_somebodys_text() -> None:
    assert [r["line"] for r in requests(f"{HEAD}{MESSAGE}\n{MESSAGE}\n")] == [1]
