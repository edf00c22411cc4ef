"""The default table of amd-smi: two lines per card."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.amd_smi_table import PARSER
from open_ended import line_tests

BANNER = "| AMD-SMI {version}      amdgpu version: 6.16.6   ROCm version: 7.1.1    |\n"


def rows(text: str, table: str = "gpu_samples") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def kinds(text: str) -> dict[str, int]:
    return {r["kind"]: r["n"] for r in rows(text, "quality")}


def claim(text: str) -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text, "sample.txt").head())


def table(
    name: str = "AMD Instinct MI300X",
    right: str = "5 %      64 °C   0           603/750 W",
    low: str = "98 %       N/A        17014/196288 MB",
    mode: str = "SPX/NPS1",
    version: str = "26.2.0+021c61fc",
) -> str:
    box = "|-------------------------------------+----------------------------------------|\n"
    return (
        BANNER.format(version=version) + box + f"| 0000:05:00.0 {name} | {right} |\n|   3       0       2        {mode} | {low} |\n" + box
    )


def test_samples() -> None:
    check_samples(PARSER)
    assert all(isinstance(claim(s.text), Claim) for s in PARSER.samples)


@pytest.mark.parametrize(
    ("printed", "power", "limit"),
    [
        ("603/750 W", 603, 750),
        ("49 W", 49, None),
        ("N/A/750 W", None, 750),
        ("N/A/0 W", None, None),
        ("N/A", None, None),
        ("99999/750 W", None, 750),
    ],
)
def test_power(printed: str, power: float | None, limit: float | None) -> None:
    (row,) = rows(table(right=f"5 %      64 °C   0           {printed}"))
    assert (row["power_w"], row["power_limit_w"], row["gpu"]) == (power, limit, 3)


@pytest.mark.parametrize("fan", ["N/A", "38.82", "40.0 %"])
def test_a_fan_is_no_load(fan: str) -> None:
    (row,) = rows(table(low=f"N/A     {fan}           29777/32624 MB"))
    assert (row["util_gpu"], row["util_mem"], row["mem_used"]) == (None, 5, 29777)


@pytest.mark.parametrize(
    ("name", "version", "memory"),
    [
        ("AMD Instinct MI300X", "27.0.0", 17014),
        ("AMD Radeon RX 9070 XT", "27.0.0", 17014),
        ("AMD Instinct MI300A", "27.0.0", None),
        ("Radeon 8060S Graphics", "27.0.0", None),
        ("Radeon 8060S Graphics", "26.2.0", 17014),
    ],
)
def test_whose_memory_it_is(name: str, version: str, memory: float | None) -> None:
    assert rows(table(name, version=version))[0]["mem_used"] == memory


def test_partitions_are_no_cards() -> None:
    assert rows(table(mode="CPX/NPS4")) == [] and kinds(table(mode="CPX/NPS4")) == {"partition-rows": 1}


def test_every_banner_is_a_round() -> None:
    assert [(r["cycle"], r["util_gpu"]) for r in rows(table() + table(low="7 %       N/A        17014/196288 MB"))] == [(0, 98), (1, 7)]


def test_blank_lines_alone() -> None:
    assert rows("\n\n" + table() + "\n\n")[0]["util_gpu"] == 98 and rows("\n\n") == []


def test_halves_of_a_card_give_nothing() -> None:
    lines = table().splitlines(keepends=True)
    first, second = (next(x for x in lines if mark in x) for mark in ("0000:05", "SPX/"))
    for text in (first, second, second + first, first + "\n| a line between |\n" + second):
        assert rows(BANNER.format(version="26.0") + text) == []
    assert isinstance(claim(BANNER.format(version="26.0")), Refusal)


@pytest.mark.parametrize("wrap", ["> {}", "    {}", "# {}", "{}\r", "2026-03-01T10:00:00.000000000Z {}"])
def test_wrapped(wrap: str) -> None:
    text = "".join(wrap.format(x) + "\n" for x in table().splitlines())
    assert isinstance(claim(text), Claim)
    assert [r["util_gpu"] for r in rows(text)] == [98]


test_blocks, test_cut, test_garbled, test_noise = line_tests(PARSER, alphabet="| AMD-SMI 26.0 0000:05:0.%°CWMB/N\n")
