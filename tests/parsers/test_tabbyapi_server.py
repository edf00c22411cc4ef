"""TabbyAPI logs: the wrapped Metrics line at any width, the forms of every year, quoted text."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from gpuverdict.engine.testing import check_conformance, check_counts, check_samples, rows_of
from gpuverdict.parsers.tabbyapi_server import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

HEAD = "2026-06-01 10:00:10.000 INFO:     "
MESSAGE = (
    "Metrics (ID: 0a1b2c3d4e5f60718293a4b5c6d7e8f9): 100 tokens generated in 10.0 seconds (Queue: 2.5 s, Process: 64 cached tokens and "
    "1000 new tokens at 400.0 T/s, Generate: 20.0 T/s, Context: 1064 tokens, Draft: 3 / 9 tokens accepted (33.33%))"
)
WANTED = {
    "queued_at": 1780308000.0,
    "started_at": 1780308002.5,
    "first_token_at": 1780308005.0,
    "finished_at": 1780308010.0,
    "prompt_tokens": 1000.0,
    "cached_tokens": 64.0,
    "output_tokens": 100.0,
    "queue_ms": 2500.0,
    "prompt_ms": 2500.0,
    "decode_ms": 5000.0,
}


def requests(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("requests", [])


def test_samples() -> None:
    check_samples(PARSER)


def test_conformance() -> None:
    check_conformance(PARSER)


@pytest.mark.parametrize("width", [80, 100, 120, 187])
def test_wrapped_line_is_put_together(width: int) -> None:
    parts = textwrap.wrap(HEAD + MESSAGE, width, break_long_words=False)
    assert len(parts) > 1
    (row,) = requests("\n".join(parts) + "\n")
    for column, value in WANTED.items():
        assert row[column] == value, (column, parts)


@settings(max_examples=10, deadline=None)
@given(st.integers(70, 260))
def test_any_width_invents_nothing(width: int) -> None:
    text = "\n".join(textwrap.wrap(HEAD + MESSAGE, width, break_long_words=False)) + "\n"
    rows, counts = rows_of(PARSER, text)
    check_counts(counts, text, "wrapped")
    for row in rows.get("requests", []):
        for column, value in WANTED.items():
            assert row[column] in (None, value), (width, column)


def test_parts_must_follow_directly() -> None:
    first, second = HEAD + MESSAGE[: MESSAGE.index("400.0")].strip(), MESSAGE[MESSAGE.index("400.0") :]
    (row,) = requests(f"{first}\n{second}\n")
    assert row["prompt_ms"] == 2500.0
    (row,) = requests(f"{first}\nsomething else\n{second}\n")
    assert row["prompt_ms"] is None and row["decode_ms"] is None


def test_a_part_after_a_whole_line_is_somebodys_text() -> None:
    whole = HEAD + "Metrics (ID: 0a1b2c3d4e5f6071): 5 tokens generated in 1.0 seconds (Queue: 0.0 s, Context: 9 tokens)\n"
    (row,) = requests(whole + "at 9.0 T/s, Generate: 5.0 T/s, Context: 99 tokens)\n")
    assert row["decode_ms"] is None


def test_a_part_alone_is_no_request() -> None:
    assert requests("400.0 T/s, Generate: 20.0 T/s, Context: 1064 tokens)\n") == []


def test_forms_of_2024() -> None:
    text = (
        "INFO:     Metrics: 40 tokens generated in 8.0 seconds (Queue: 0.5 s, Process: 300.0 T/s, Generate: 8.0 T/s, Context: 700 tokens)\n"
    )
    (row,) = requests(text)
    assert (row["output_tokens"], row["queue_ms"], row["decode_ms"], row["prompt_tokens"]) == (40.0, 500.0, 5000.0, None)


@pytest.mark.parametrize("before", ["user: ", "> ", "{'text': '", HEAD + "prompt: "])
def test_quoted_text_gives_nothing(before: str) -> None:
    rows, counts = rows_of(PARSER, f"other\nlines\n{before}{HEAD}{MESSAGE}\n")
    assert not rows.get("requests") and counts.matched == 0
