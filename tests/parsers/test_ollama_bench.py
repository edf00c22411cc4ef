"""ollama-bench: epochs, what a count counts, loading inside the total."""

from __future__ import annotations

from functools import partial

import pytest
from gpuverdict.engine.parser import Claim
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.ollama_bench import PARSER
from open_ended import line_tests, read

CSV, BENCHSTAT, TABLE = (s.text for s in PARSER.samples)

facts = partial(read, PARSER)
test_blocks, test_cut, test_garbled, test_noise = line_tests(
    PARSER, alphabet="a,generate1.0|\n", derived=("step", "series", "line", "e2e_mean_ms", "name")
)


def test_samples_are_claimed() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(PARSER.claims(Source.from_text(sample.text, sample.name).head()), Claim)


@pytest.mark.parametrize(("took", "ms"), [("2.75s", 2750.0), ("950ms", 950.0), ("1m2.5s", 62500.0)])
def test_durations_of_the_table(took: str, ms: float) -> None:
    row = facts(TABLE.replace("2.75s", took).replace("121.5ms", "1.5µs"))[0]["bench_steps"][0]
    assert row["e2e_mean_ms"] == pytest.approx(ms)


def test_an_epoch_without_a_rate_is_none() -> None:
    assert "bench_steps" not in facts(CSV.replace(",50.00", ",0"))[0]


@pytest.mark.parametrize("text", ["", "a,load,1,2\n", "| x | total | 3 |\n", "# Model: x\n", "name,prefill,128,2.0,3.0\n"])
def test_other_texts_are_not_claimed(text: str) -> None:
    assert PARSER.claims(Source.from_text(text).head()) is None
