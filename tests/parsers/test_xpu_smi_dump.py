"""xpu-smi dump: columns by name, devices and not their tiles, times of day."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.xpu_smi_dump import PARSER
from open_ended import line_tests

NAMES = {"util": "GPU Utilization (%)", "power": "GPU Power (W)", "clock": "GPU Frequency (MHz)"}


def rows(text: str, table: str = "gpu_samples") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def claim(text: str) -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text, "sample.txt").head())


def dump(names: str, *lines: str) -> str:
    return f"Timestamp, DeviceId, {names}\n" + "".join(x + "\n" for x in lines)


def test_samples() -> None:
    check_samples(PARSER)
    assert all(isinstance(claim(sample.text), Claim) for sample in PARSER.samples)


@pytest.mark.parametrize(
    "name",
    ["GPU Memory Utilization (%)", "GPU Memory Bandwidth Utilization (%)", "Compute Engine 0 (%)", "GPU Utilization (W)", "GPU Power (mW)"],
)
def test_what_means_something_else_is_not_read(name: str) -> None:
    (row,) = rows(dump(f"{name}, GPU Memory Used (MiB)", "06:00:00.000, 0, 99.00, 5.00"))
    assert row["mem_used"] == 5 and not {"util_gpu", "util_mem", "power_w"} & set(row)


@pytest.mark.parametrize(("cell", "value"), [("12.50", 12.5), ("0.00", 0), ("N/A", None), ("", None), ("100.01", None), ("-1", None)])
def test_cells(cell: str, value: float | None) -> None:
    (row,) = rows(dump(f"{NAMES['util']}, {NAMES['power']}", f"06:00:00.000, 0, {cell}, 50.00"))
    assert row["util_gpu"] == value and row["power_w"] == 50


def test_a_clock_of_zero_is_no_clock() -> None:
    assert [r["sm_clock"] for r in rows(dump(NAMES["clock"], "06:00:00.000, 0,    0", "06:00:01.000, 0, 2050"))] == [None, 2050]


def test_a_row_that_does_not_fit_is_near_not_half_read() -> None:
    found, counts = rows_of(
        PARSER, dump(f"{NAMES['util']}, {NAMES['power']}", "06:00:00.000, 0, 1.00", "06:00:01.000, 0, 1.00, 2.00, 3.00")
    )
    assert "gpu_samples" not in found and counts.near_miss == 2


def test_columns_of_another_order_below_a_new_header() -> None:
    text = dump(f"{NAMES['util']}, {NAMES['power']}", "06:00:00.000, 0, 1.00, 20.00") + dump(
        f"{NAMES['power']}, {NAMES['util']}", "06:00:01.000, 0, 30.00, 4.00"
    )
    assert [(r["util_gpu"], r["power_w"], r["cycle"]) for r in rows(text)] == [(1, 20, 0), (4, 30, 1)]


def test_tiles_are_no_devices() -> None:
    text = "Timestamp, DeviceId, TileId, GPU Utilization (%)\n06:00:00.000, 0, 0, 90.00\n06:00:00.000, 0, 1, 10.00\n"
    assert rows(text) == [] and {r["kind"]: r["n"] for r in rows(text, "quality")} == {"tile-rows": 2}


@pytest.mark.parametrize("wrap", ["> {}", "    {}", "# {}", "{}\r", "2026-03-01T10:00:00.000000000Z {}"])
def test_wrapped(wrap: str) -> None:
    plain = dump(NAMES["util"], *(f"06:00:0{k}.000,    0, {k}.50" for k in range(4)))
    text = "".join(wrap.format(x) + "\n" for x in plain.splitlines())
    assert isinstance(claim(text), Claim)
    assert [r["util_gpu"] for r in rows(text)] == [0.5, 1.5, 2.5, 3.5]


def test_a_date_in_front() -> None:
    found, _ = rows_of(PARSER, dump(NAMES["util"], "2026-03-01T00:00:01.500, 0, 7.00", "2026-03-02 00:00:01.500, 0, 8.00"))
    assert [r["time"] for r in found["gpu_samples"]] == [1772323201.5, 1772409601.5] and "quality" not in found


def test_other_tables_with_a_device_are_not_claimed() -> None:
    assert claim("Timestamp, DeviceId, Temperature\n06:00:00.000, 0, 7\n") is None
    assert isinstance(claim(dump(NAMES["util"])), Refusal)


test_blocks, test_cut, test_garbled, test_noise = line_tests(PARSER, alphabet="Timestamp, DeviceId 0123456789:.%()\n")
