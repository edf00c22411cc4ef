"""cuda_gpu_trace of nsys: units, names with commas, preambles, and what is refused with advice."""

from __future__ import annotations

from functools import partial

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.nsys_gpu_trace import PARSER
from open_ended import line_tests, read

NEW, OLD = (s.text for s in PARSER.samples)

facts = partial(read, PARSER)
test_blocks, test_cut, test_garbled, test_noise = line_tests(PARSER, alphabet="Start (ns),Duration0123.\n", derived=("line",))


def claim(text: str) -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text).head())


def test_samples_are_claimed() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(claim(sample.text), Claim)


@pytest.mark.parametrize(("unit", "factor"), [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)])
def test_units_of_the_header(unit: str, factor: float) -> None:
    row = facts(OLD.replace("(us)", f"({unit})"))[0]["kernels"][0]
    assert row["started_at"] == pytest.approx(2500.5 * factor) and row["finished_at"] == pytest.approx(2510.75 * factor)


def test_damaged_rows_are_near_misses() -> None:
    rows, counts = facts(NEW.replace("1000001000,7000", "1000001000,x"))
    assert [r["line"] for r in rows["kernels"]] == [3, 5] and counts.near_miss == 1


def test_names_stay_here() -> None:
    assert "gemm" not in repr(facts(NEW)) and "A6000" not in repr(facts(NEW))


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("Processing [r.sqlite] with [/opt/x/rules/gpu_gaps.py]... \n\n ** GPU Gaps (gpu_gaps):\n\nRow#  Duration (s)\n", "cuda_gpu_trace"),
        (" ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n\n Time (%)  Total Time (ns)\n", "cuda_gpu_trace"),
        (" ** CUDA GPU Trace (cuda_gpu_trace):\n\n Start (ns)  Duration (ns)  CorrId\n", "--format csv"),
        ("   rank  idle_time(us)  compute_time(us)  non_compute_time(us)\n0     0        10113.0          372150.0\n", "PyTorch"),
    ],
)
def test_what_holds_no_intervals_is_refused_with_advice(text: str, advice: str) -> None:
    refusal = claim(text)
    assert isinstance(refusal, Refusal) and advice in refusal.missing
    assert facts(text)[0] == {}


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "we saw GPU gaps\n", "Start,Duration\n1,2\n"])
def test_other_files_are_not_claimed(text: str) -> None:
    assert claim(text) is None
