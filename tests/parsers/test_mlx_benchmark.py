"""mlx_lm.benchmark: the batch and where it is told, runs one after the other, what is no run."""

from __future__ import annotations

import pytest
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.mlx_benchmark import PARSER
from open_ended import line_tests

RUN, COMMANDS = (s.text for s in PARSER.samples)
AVERAGES = "Averages: prompt_tps=400.5, generation_tps=90.5, peak_memory=3.5\n"


def steps(text: str) -> list[dict]:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def test_samples() -> None:
    check_samples(PARSER)


(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(
    PARSER,
    alphabet="Averages: prompt_tps=, generation_tps=0123456789.\n",
    derived=("line", "step", "series", "concurrency", "per_stream_tok_s"),
)


@pytest.mark.parametrize(
    ("command", "batch"),
    [
        ("mlx_lm.benchmark --model m -p 10 -g 20", 1.0),
        ("python -m mlx_lm.benchmark --model m -b 16", 16.0),
        ("mlx_lm benchmark --model m --batch-size 4 -g 20", 4.0),
        ("mlx_lm.benchmark --model m -b $B", None),
        ("mlx_lm.benchmark --model m \\", None),  # the rest of the command stands on the next line
        ("use mlx_lm.benchmark", None),
        ("", None),
    ],
)
def test_the_batch_is_what_the_command_says(command: str, batch: float | None) -> None:
    (row,) = steps(command + "\n" + AVERAGES)
    assert (row["concurrency"], row["aggregate_tok_s"]) == (batch, 90.5)
    assert row["per_stream_tok_s"] == (90.5 if batch == 1 else None)


def test_a_batch_is_not_that_of_the_next_run() -> None:
    assert [r["concurrency"] for r in steps("mlx_lm.benchmark -b 8\n" + AVERAGES + AVERAGES)] == [8.0, None]


def test_somebodys_notes_are_no_run() -> None:
    assert steps("Pre:   prompt_tps=27330.184, generation_tps=184.120, peak_memory=9.545\n") == []
    assert steps(RUN.replace("Averages", "averages")) == []
