"""LM Studio: which requests can be told apart, what ends one, what the window prints, what is somebody's text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from gpuverdict.engine.parse import read
from gpuverdict.engine.plugins import load_registry
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import (
    check_block_sizes,
    check_conformance,
    check_cut,
    check_garbled,
    check_samples,
    check_wrappers,
    rows_of,
)
from gpuverdict.parsers.lm_studio_server import PARSER

FILE, WINDOW, OLD = (s.text for s in PARSER.samples)
START = "[2026-03-01 10:{}][INFO][m] Running chat completion on conversation with 1 messages.\n"
STREAM = "[2026-03-01 10:{}][INFO][m] Streaming response...\n"
END = "[2026-03-01 10:{}][INFO][m] Finished streaming response\n"
WHOLE = (
    '[2026-03-01 10:{}][INFO][m] Generated prediction:  {{\n  "usage": {{\n    "prompt_tokens": 7,\n    "completion_tokens": {}\n  }}\n}}\n'
)


def requests(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("requests", [])


def spans(text: str) -> list[tuple[float, float, Any]]:
    """Minute and second of begin and end, tokens."""
    return [(r["started_at"] - 1772359200, r["finished_at"] - 1772359200, r["output_tokens"]) for r in requests(text)]


def test_conformance() -> None:
    check_conformance(replace(PARSER, samples=tuple(s for s in PARSER.samples if s.text != WINDOW)))


def test_samples() -> None:
    check_samples(PARSER)


def test_wrappers_blocks_and_cuts_of_the_window_which_is_pasted() -> None:
    check_wrappers(PARSER, WINDOW, ("ANSI", "CRLF"))
    for text in (WINDOW, FILE * 3, WINDOW + FILE):
        check_block_sizes(PARSER, text, (50, 90, 700))
    for at in range(0, len(WINDOW), 97):
        check_cut(PARSER, WINDOW, at)
        check_garbled(PARSER, WINDOW, at, at % 256)


def test_one_after_the_other() -> None:
    text = START.format("00:00") + WHOLE.format("00:10", 50) + START.format("00:10") + STREAM.format("00:10") + END.format("00:30")
    assert spans(text) == [(0, 10, 50), (10, 30, None)]


def test_requests_that_overlap_give_nothing() -> None:
    text = START.format("00:00") + START.format("00:05") + WHOLE.format("00:10", 50) + WHOLE.format("00:20", 60)
    assert spans(text) == []
    assert spans(text + START.format("00:30") + WHOLE.format("00:40", 70)) == [(30, 40, 70)]


def test_a_prediction_beside_a_streamed_answer_ends_nothing() -> None:
    text = START.format("00:00") + STREAM.format("00:00") + START.format("00:05") + WHOLE.format("00:10", 50) + END.format("00:20")
    assert spans(text + START.format("00:30") + WHOLE.format("00:40", 70)) == []


def test_behind_a_lost_end_nothing_is_known_until_the_server_starts_again() -> None:
    text = START.format("00:00") + START.format("01:00") + WHOLE.format("01:10", 50) + START.format("02:00") + WHOLE.format("02:10", 60)
    assert spans(text) == []
    again = "[2026-03-01 10:03:00][INFO][LM STUDIO SERVER] Success! HTTP server listening on port 1234\n"
    assert spans(text + again + START.format("04:00") + WHOLE.format("04:10", 70)) == [(240, 250, 70)]


def test_a_log_that_begins_in_the_middle_of_an_answer() -> None:
    assert spans(WHOLE.format("00:10", 50) + START.format("00:30") + WHOLE.format("00:40", 70)) == [(30, 40, 70)]


def test_tokens_belong_to_the_prediction_they_stand_in() -> None:
    two = START.format("00:00") + WHOLE.format("00:10", 50) + '    "completion_tokens": 51\n'
    assert spans(two) == [(0, 10, None)]
    far = START.format("00:00") + WHOLE.format("00:10", "x") + "text\n" * 300 + '    "completion_tokens": 51\n'
    assert spans(far) == [(0, 10, None)]
    next_one = START.format("00:00") + WHOLE.format("00:10", "x") + START.format("00:20") + '    "completion_tokens": 51\n'
    assert spans(next_one) == [(0, 10, None)]


def test_prompt_tokens_only_where_none_was_cached() -> None:
    (row,) = requests(FILE.replace("cached 0", "cached 900"))
    assert (row["prompt_tokens"], row["cached_tokens"], row["output_tokens"]) == (None, 900, 1200)


@pytest.mark.parametrize(
    "line",
    [
        "user: Running chat completion on conversation with 1 messages.\n",
        '      "content": "[2026-03-01 10:00:05][INFO][a/b] Running chat completion on conversation with 1 messages."\n',
        '        "completion_tokens": 51\n',
    ],
)
def test_quoted_lines_are_not_taken(line: str) -> None:
    _, counts = rows_of(PARSER, line)
    assert counts.matched == 0


def test_old_logs_give_arrivals_only() -> None:
    rows, _ = rows_of(PARSER, OLD)
    assert "requests" not in rows and [r["kind"] for r in rows["server_events"]] == ["arrival"]


DEBUG = (
    START.format("00:04")
    + STREAM.format("00:04")
    + "[2026-03-01 10:00:04][DEBUG] slot launch_slot_: id  2 | task 3 | processing task, is_child = 0\n"
    "[2026-03-01 10:00:09][DEBUG] slot print_timing: id  2 | task 3 | \n"
    "prompt eval time =     500.00 ms /    60 tokens (    8.33 ms per token,   120.00 tokens per second)\n"
    "       eval time =    4000.00 ms /   200 tokens (   20.00 ms per token,    50.00 tokens per second)\n"
    "      total time =    4500.00 ms /   260 tokens\n"
    "[2026-03-01 10:00:09][DEBUG] slot      release: id  2 | task 3 | stop processing: n_tokens = 260, truncated = 0\n"
    + END.format("00:09")
)


def test_a_request_that_llama_cpp_tells_too_counts_once() -> None:
    """Twice it would be two under way at a time."""
    out: dict[str, list[dict[str, Any]]] = {}
    readings = read(Source.from_text(DEBUG), load_registry().parsers, lambda t, frame: out.setdefault(t, []).extend(frame.to_dicts()))
    assert [(r["server"], r["started_at"], r["finished_at"]) for r in out["requests"]] == [("llama.cpp", 1772359204.0, 1772359209.0)]
    assert [r.rows for r in readings if r.parser == "lm-studio-server"] == [0]
    assert spans(DEBUG) == [(4, 9, None)]
