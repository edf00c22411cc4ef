"""Screens of nvtop: three lines per card, below or beside each other."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.nvtop_screen import PARSER
from open_ended import line_tests


def rows(text: str, table: str = "gpu_samples") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def claim(text: str) -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text, "sample.txt").head())


def card(gpu: int = 0, temp: str = "68°C", power: str = "298 / 300 W", load: str = "44%", memory: str = "12.500Gi/48.000Gi") -> str:
    return (
        f" Device {gpu} [NVIDIA L40S] PCIe GEN 4@16x RX: 1.0 MiB/s TX: 2.0 KiB/s\n"
        f" GPU 1590MHz MEM 8001MHz TEMP  {temp} FAN  97% POW {power}\n GPU[||||  {load}] MEM[||  {memory}]\n"
    )


def test_samples() -> None:
    check_samples(PARSER)
    assert all(isinstance(claim(s.text), Claim) for s in PARSER.samples)


@pytest.mark.parametrize(
    ("change", "column", "value"),
    [
        ({"temp": "118°F"}, "temp", None),
        ({"temp": "68Â°C"}, "temp", 68),
        ({"power": "N/A W"}, "power_w", None),
        ({"power": " 68 W"}, "power_w", 68),
        ({"load": "N/A"}, "util_gpu", None),
        ({"load": "144%"}, "util_gpu", None),
        ({"memory": "64.0/1024MiB"}, "mem_used", None),  # whose unit it is cannot be told
        ({"memory": "64.000Mi/1.000Gi"}, "mem_used", 64),
    ],
)
def test_cells(change: dict[str, str], column: str, value: float | None) -> None:
    (row,) = rows(card(**change))
    assert row[column] == value and row["sm_clock"] == 1590


def test_rounds_and_numbers() -> None:
    text = card(0, load="1%") + card(1, load="2%") + card(0, load="3%") + card(1, load="4%")
    assert [(r["gpu"], r["cycle"], r["util_gpu"]) for r in rows(text)] == [(0, 0, 1), (1, 0, 2), (0, 1, 3), (1, 1, 4)]


def test_values_never_go_to_another_card() -> None:
    first, second = card(0, load="11%").splitlines(keepends=True), card(1, load="22%").splitlines(keepends=True)
    got = rows("".join([first[0], first[1], second[0], second[2]]))
    assert [(r["gpu"], r["util_gpu"], r["power_w"]) for r in got] == [(0, None, 298), (1, 22, None)]
    assert rows("".join(first[1:])) == [] and rows(first[0]) == []


def test_log_lines_of_others_are_not_claimed() -> None:
    assert claim("  Device 0: NVIDIA L40S, compute capability 8.9, VMM: yes\nGPU 1590MHz MEM 8001MHz TEMP 68°C\n") is None
    assert claim("watch: device 0 [NVIDIA L40S], interval 2.0s\nGPU[||| 3%]\n") is None


@pytest.mark.parametrize("wrap", ["> {}", "    {}", "# {}", "{}\r", "2026-03-01T10:00:00.000000000Z {}"])
def test_wrapped(wrap: str) -> None:
    text = "".join(wrap.format(x) + "\n" for x in (card(0) + card(1)).splitlines())
    assert isinstance(claim(text), Claim)
    assert [(r["util_gpu"], r["mem_used"]) for r in rows(text)] == [(44, 12800), (44, 12800)]


test_blocks, test_cut, test_garbled, test_noise = line_tests(PARSER, alphabet="Device 0[GPU]MEM 12.5Gi/%|MHz\n")
