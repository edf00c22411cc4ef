"""tegrastats: what the board prints about its GPU, and what it prints that is no reading of a card."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.tegrastats import PARSER
from open_ended import line_tests

LINE = "RAM 900/7620MB (lfb 3x4MB) CPU [1%@729,off] EMC_FREQ 7%@2133 {gpu} APE 200 cpu@48C {temp} VDD_IN 5251mW/8535mW"


def rows(text: str, table: str = "gpu_samples") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def claim(text: str) -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text, "sample.txt").head())


def line(gpu: str = "GR3D_FREQ 40%@[612]", temp: str = "gpu@50C", before: str = "") -> str:
    return before + LINE.format(gpu=gpu, temp=temp) + "\n"


def test_samples() -> None:
    check_samples(PARSER)
    assert all(isinstance(claim(sample.text), Claim) for sample in PARSER.samples)


@pytest.mark.parametrize(
    ("gpu", "util", "clock"),
    [
        ("GR3D_FREQ 40%@[612]", 40, 612),
        ("GR3D_FREQ 40%@[0,1300]", 40, 1300),
        ("GR3D_FREQ 40%@1300", 40, 1300),
        ("GR3D_FREQ 40%", 40, None),
        ("GR3D 40%@921 EDP limit 1734", 40, 921),
        ("GR3D_FREQ 0%@114 GR3D2_FREQ 9%@115", 0, 114),
        ("GR3D_FREQ @[314,314]", None, 314),  # the load is unknown, not 0
        ("GR3D_FREQ 0%@[0,0]", 0, None),  # off is no clock
        ("GR3D_FREQ 140%@[612]", None, 612),
    ],
)
def test_load_and_clock(gpu: str, util: float | None, clock: float | None) -> None:
    (row,) = rows(line(gpu))
    assert (row["util_gpu"], row["sm_clock"]) == (util, clock)


@pytest.mark.parametrize(
    ("printed", "temp"), [("gpu@50.5C", 50.5), ("GPU@46C", 46), ("gpu@47.1C/48.2C", 47.1), ("GPU@-256C", None), ("soc0@9C", None)]
)
def test_temperature(printed: str, temp: float | None) -> None:
    assert rows(line(temp=printed))[0]["temp"] == temp


def test_what_is_shared_is_no_reading_of_the_card() -> None:
    (row,) = rows(line())
    assert not {"mem_used", "mem_total", "power_w", "util_mem", "mem_clock"} & set(row)


def test_dates_and_intervals() -> None:
    dated = "".join(line(before=f"12-31-2025 23:59:{s:02d} ") for s in (50, 55, 59))
    assert [r["time"] for r in rows(dated)] == [1767225590.0, 1767225595.0, 1767225599.0]
    assert [r["cycle"] for r in rows(dated)] == [0, 1, 2]
    assert rows(dated, "clocks")[0]["interval_s"] == 4.5
    same = line(before="12-31-2025 23:59:50 ") * 3
    assert rows(same, "clocks")[0]["interval_s"] is None  # several in a second: how many is unknown
    assert rows("$ tegrastats --interval 250\n" + same, "clocks")[0]["interval_s"] == 0.25
    (day_first,) = rows(line(before="31-12-2025 23:59:50 "))
    assert day_first["time"] is None and day_first["util_gpu"] == 40


@pytest.mark.parametrize("wrap", ["> {}", "    {}", "# {}", "2026-03-01T10:00:00.000000000Z {}", "{}\r", "\x1b[1m{}\x1b[0m"])
def test_wrapped(wrap: str) -> None:
    text = "".join(wrap.format(x) + "\n" for x in (line() * 3).splitlines())
    assert isinstance(claim(text), Claim)
    assert [r["util_gpu"] for r in rows(text)] == [40, 40, 40]


def test_the_text_of_others_is_not_read() -> None:
    assert claim("the board showed GR3D_FREQ 99% while RAM 900/7620MB was in use\n") is None
    assert rows("I saw " + line()) == []
    mixed = claim("llama_print_timings: load time = 1 ms\n" + line())
    assert isinstance(mixed, Claim) and mixed.shares


def test_a_cut_line_gives_no_half_number() -> None:
    text = line() + line("GR3D_FREQ 40%@1300")[: line("GR3D_FREQ 40%@1300").index("1300") + 2]
    assert [r["sm_clock"] for r in rows(text)] == [612]


test_blocks, test_cut, test_garbled, test_noise = line_tests(PARSER, alphabet="RAM 0123456789/MB GR3D_FREQ%@[,]C\n")
