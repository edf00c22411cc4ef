"""nvitop -1: boxes, units, rounds."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.nvitop import PARSER
from open_ended import line_tests


def rows(text: str | bytes, table: str = "gpu_samples") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def claim(text: str | bytes, name: str = "sample.txt") -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text, name).head())


def test_samples() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(claim(sample.text), Claim)


def screen(bar: str = "│", used: str = "1.5GiB", util: str = "7%") -> str:
    return (
        "Tue Feb  3 04:05:06 2026\n"
        f"{bar} NVITOP 1.4.2       Driver Version: 550.90.12      CUDA Driver Version: 12.4 {bar}\n"
        f"{bar}   0  H800                Off  {bar} 00000000:18:00.0 Off {bar} Disabled           0 {bar} MEM: 0.0% {bar}\n"
        f"{bar} N/A   36C    P0    85W / 700W {bar}   {used} / 79.65GiB {bar}      {util}      Default {bar} UTL: 0% {bar}\n"
    )


@pytest.mark.parametrize("bar", ["│", "|", "â”‚", "\ufffd\ufffd\ufffd"])
def test_bars(bar: str) -> None:
    (row,) = rows(screen(bar))
    assert (row["util_gpu"], row["mem_used"], row["power_w"], row["power_limit_w"], row["time"]) == (7, 1536, 85, 700, 1770091506.0)
    assert isinstance(claim(screen(bar)), Claim)


def test_rounds_and_unknowns() -> None:
    assert [r["cycle"] for r in rows(screen() * 2)] == [0, 1]
    assert rows(screen(util="N/A"))[0]["util_gpu"] is None
    assert rows(screen(used="N/A"))[0]["mem_used"] is None


def test_a_card_needs_its_values() -> None:
    lines = screen().splitlines(keepends=True)
    assert rows("".join(lines[:3]) + "something\n" + lines[3]) == []
    assert isinstance(claim("".join(lines[:2]) + "│ 0 │ 5% │\n"), Refusal)
    assert claim(screen().replace("NVITOP", "NVIDIA-SMI")) is None


def test_shares() -> None:
    got = claim("hello world\n" + screen())
    assert isinstance(got, Claim) and got.shares


# ---------------------------------------------------------------- open-ended input

(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="│| 0123456789%WGiBCP/NA:.\n")
