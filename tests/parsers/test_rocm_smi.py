"""rocm-smi: table, JSON, CSV."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.rocm_smi import PARSER
from open_ended import line_tests


def rows(text: str | bytes, table: str = "gpu_samples") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def kinds(text: str) -> dict[str, int]:
    return {r["kind"]: r["n"] for r in rows_of(PARSER, text)[0].get("quality", [])}


def claim(text: str | bytes, name: str = "sample.txt") -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text, name).head())


def test_samples() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(claim(sample.text), Claim)


HEAD = "GPU  Temp   AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n"
ROW = "{g}    47.0c  {p}  800Mhz  1600Mhz  0%   auto  560.0W    80%   {u}\n"


def test_rounds() -> None:
    one = HEAD + ROW.format(g=0, p="91.0W", u="5%") + ROW.format(g=1, p="N/A", u="N/A")
    got = rows(one + one)
    assert [(r["gpu"], r["cycle"], r["util_gpu"], r["power_w"]) for r in got] == [
        (0, 0, 5, 91),
        (1, 0, None, None),
        (0, 1, 5, 91),
        (1, 1, None, None),
    ]


def test_hosts_between_each_other() -> None:
    one = (HEAD + ROW.format(g=0, p="91.0W", u="5%")).splitlines()
    text = "".join(f"a: {x}\nb: {x}\n" for x in one)
    assert [(r["host"], r["gpu"], r["cycle"]) for r in rows(text)] == [("a", 0, 0), ("b", 0, 0)]


def test_rows_need_their_header() -> None:
    assert rows(ROW.format(g=0, p="91.0W", u="5%")) == []
    old = "GPU   Temp    AvgPwr   SCLK     PCLK           Fan    Perf   SCLK OD\n"
    assert claim(old + ROW.format(g=0, p="91.0W", u="5%")) is None


def test_cut_row() -> None:
    text = HEAD + ROW.format(g=0, p="91.0W", u="55%")
    assert rows(text.rstrip("\n"))[0]["util_gpu"] == 55
    assert rows(text.rstrip("\n")[:-1]) == []


def test_json_subsets_and_renames() -> None:
    text = (
        '{"card3": {"GPU use (%)": "55", "Current Socket Graphics Package Power (W)": "0.0",'
        ' "Temperature (Sensor junction) (C)": "44.0"}}\n'
    )
    (row,) = rows(text)
    assert (row["gpu"], row["util_gpu"], row["power_w"], row["temp"]) == (3, 55, None, 44) and kinds(text) == {"power-implausible": 1}
    assert [r["cycle"] for r in rows(text * 2)] == [0, 1]
    assert claim('{"card0": {"title": "x"}}') is None


def test_watch_is_refused() -> None:
    got = claim("Every 1.0s: rocm-smi   box: Tue Feb 10 10:16:32 2026 GPU  Temp 53.0c\n")
    assert isinstance(got, Refusal) and "watch" in got.missing


def test_csv_rows_that_do_not_fit() -> None:
    text = "device,GPU use (%)\ncard0,5\ncard1,5,6\ncard2,x\n"
    assert [(r["gpu"], r["util_gpu"]) for r in rows(text)] == [(0, 5)] and rows_of(PARSER, text)[1].near_miss == 1


@pytest.mark.parametrize(
    ("line", "column", "value"),
    [
        ("GPU[0] : GPU use (%): 98", "util_gpu", 98),
        ("# GPU[0] : GPU use (%): 98", "util_gpu", 98),
        ("GPU[0]: GPU use (%): 79   # during a request", "util_gpu", 79),
        ("GPU[0]\t\t: GPU use (%): 95-100%", "util_gpu", None),
        ("GPU[0] : Current Socket Graphics Package Power (W): 43.02", "power_w", 43.02),
        ("GPU[0] : mclk clock level: 3: (1600Mhz)", "mem_clock", 1600),
        ("GPU[0] : VRAM Total Memory (B): 17179869184 (~16GB)", "mem_total", 16384),
        ("GPU[0] : Temperature (Sensor junction) (C): 61.0", "temp", 61),
    ],
)
def test_lines_of_the_list(line: str, column: str, value: float | None) -> None:
    text = f"{line}\nGPU[0] : Temperature (Sensor memory) (C): 50.0\n"
    assert isinstance(PARSER.claims(Source.from_text(text, "sample.txt").head()), Claim)
    (row,) = rows_of(PARSER, text)[0]["gpu_samples"]
    assert row[column] == value and row["mem_temp"] == 50


def test_other_lines_of_the_list_are_no_readings() -> None:
    for line in (
        "GPU[0] : GPU memory use (%): 99",
        "GPU[0] : GPU Memory Allocated (VRAM%): 99",
        "GPU[0] : 1: 2400Mhz *",
        "GPU[0] : Valid sclk range: 600Mhz - 2900Mhz",
    ):
        assert "gpu_samples" not in rows_of(PARSER, line + "\n")[0]
        assert PARSER.claims(Source.from_text(line + "\n", "sample.txt").head()) is None


def test_a_list_in_a_loop_beside_a_table() -> None:
    looped = "".join(f"GPU[{g}]: GPU use (%): {n}{g}\n" for n in (1, 2) for g in (0, 1))
    got = rows_of(PARSER, looped)[0]["gpu_samples"]
    assert [(r["gpu"], r["cycle"], r["util_gpu"]) for r in got] == [(0, 0, 10), (1, 0, 11), (0, 1, 20), (1, 1, 21)]
    table = "GPU  Temp (DieEdge)  AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n0    33.0c           37.0W   300Mhz  1200Mhz  0%   auto  290.0W    0%   7%\n"
    got = rows_of(PARSER, table + looped)[0]["gpu_samples"]
    assert [(r["cycle"], r["util_gpu"]) for r in got] == [(0, 7), (1, 10), (1, 11), (2, 20), (2, 21)]


def test_pasted_into_a_comment() -> None:
    head = "# GPU  Temp (DieEdge)  AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n"
    text = head + "# 0    33.0c           37.0W   300Mhz  1200Mhz  0%   auto  290.0W    0%   7%\n"
    assert isinstance(PARSER.claims(Source.from_text(text, "sample.txt").head()), Claim)
    assert [(r["gpu"], r["util_gpu"]) for r in rows_of(PARSER, text)[0]["gpu_samples"]] == [(0, 7)]


# ---------------------------------------------------------------- open-ended input

(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet='GPU Temp0123456789.cWMhz%\n:auto{}"', twice=False)
