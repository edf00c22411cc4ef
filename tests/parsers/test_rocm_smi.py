"""rocm-smi: table, JSON, CSV."""

from __future__ import annotations

from typing import Any

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
