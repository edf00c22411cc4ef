"""intel_gpu_top -l: which engine is the GPU, and which row is a moment."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.intel_gpu_top import PARSER
from open_ended import line_tests

HEAD = (
    " Freq MHz      IRQ RC6     Power W      RCS/0     BCS/0     CCS/0\n req  act       /s   %   gpu   pkg          %         %         %\n"
)
FIRST = "9 9 1 0 0.1 1.0 100.00 0.00 0.00\n"


def rows(text: str, table: str = "gpu_samples") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def claim(text: str) -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text, "sample.txt").head())


def line(rcs: float = 0, bcs: float = 0, ccs: float = 0, act: int = 1500) -> str:
    return f"1600 {act}       54   0  6.10 15.65      {rcs:.2f}      {bcs:.2f}      {ccs:.2f}\n"


def test_samples() -> None:
    check_samples(PARSER)
    assert all(isinstance(claim(s.text), Claim) for s in PARSER.samples)


@pytest.mark.parametrize(
    ("engines", "util"),
    [({"rcs": 93.81}, 93.81), ({"ccs": 88}, 88), ({"rcs": 40, "ccs": 30}, None), ({"bcs": 70}, 0), ({}, 0), ({"rcs": 130}, None)],
)
def test_which_engine_counts(engines: dict[str, float], util: float | None) -> None:
    assert [r["util_gpu"] for r in rows(HEAD + FIRST + line(**engines))] == [util]


def test_the_first_row_of_every_header_is_a_moment() -> None:
    text = HEAD + FIRST + line(rcs=5) + line(rcs=6) + HEAD + FIRST + line(rcs=7)
    assert [(r["util_gpu"], r["cycle"]) for r in rows(text)] == [(5, 0), (6, 1), (7, 2)]
    assert rows(HEAD + FIRST) == []


def test_header_lines_that_do_not_agree_are_not_read() -> None:
    odd = HEAD.replace("BCS/0", "NEW/0")
    assert claim(odd + FIRST + line(rcs=5)) is None and rows(odd + FIRST + line(rcs=5)) == []
    found, counts = rows_of(PARSER, HEAD + FIRST + "1600 1500 54 0 6.10 15.65 5.00\n")
    assert "gpu_samples" not in found and counts.near_miss == 1


@pytest.mark.parametrize("wrap", ["> {}", "    {}", "{}\r", "2026-03-01T10:00:00.000000000Z {}"])
def test_wrapped(wrap: str) -> None:
    text = "".join(wrap.format(x) + "\n" for x in (HEAD + FIRST + line(rcs=5) + line(rcs=6)).splitlines())
    assert isinstance(claim(text), Claim)
    assert [r["util_gpu"] for r in rows(text)] == [5, 6]


test_blocks, test_cut, test_garbled, test_noise = line_tests(PARSER, alphabet="Freq MHz RC6 req act 0123456789.%\n")
