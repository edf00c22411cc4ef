"""amd-smi monitor and metric."""

from __future__ import annotations

from typing import Any

from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.amd_smi import PARSER
from open_ended import line_tests


def rows(text: str | bytes, table: str = "gpu_samples") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def claim(text: str | bytes, name: str = "sample.txt") -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text, name).head())


def test_samples() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(claim(sample.text), Claim)


HEAD = "GPU  POWER  GPU_TEMP  GFX_UTIL  GFX_CLOCK\n"


def test_rounds() -> None:
    text = HEAD + "  0  199 W    103 °C      99 %   1920 MHz\n  1   99 W    N/A      N/A   120 MHz\n"
    got = rows(text + text[len(HEAD) :])
    assert [(r["gpu"], r["cycle"], r["power_w"], r["util_gpu"]) for r in got] == [
        (0, 0, 199, 99),
        (1, 0, 99, None),
        (0, 1, 199, 99),
        (1, 1, 99, None),
    ]


def test_timestamp_column() -> None:
    text = "TIMESTAMP    GPU  POWER  GFX%\n1770091506   0  199 W   99 %\n1770091508   0  199 W   98 %\n"
    assert [(r["time"], r["cycle"]) for r in rows(text)] == [(1770091506.0, 0), (1770091508.0, 1)]
    assert rows(text, "clocks")[0]["kind"] == "utc" and rows(text, "clocks")[0]["interval_s"] == 2


def test_processes_are_not_cards() -> None:
    text = HEAD + "  0  199 W    103 °C      99 %   1920 MHz\n\nPROCESS INFO:\nGPU   NAME   PID  GFX  ENC\n  1  serve  77  5  5\n"
    assert [r["gpu"] for r in rows(text)] == [0]


def test_metric_lists() -> None:
    head = "timestamp,gpu,gfx_activity,vcn_activity,socket_power\n"
    text = head + "1770091506,0,98,['N/A', 5],712\n1770091506,1,7,\"[1, 2]\",99\n"
    assert [(r["gpu"], r["util_gpu"], r["power_w"]) for r in rows(text)] == [(0, 98, 712), (1, 7, 99)]


def test_rows_that_do_not_fit() -> None:
    found, counts = rows_of(PARSER, HEAD + "  0  199 W    103 °C\n")
    assert "gpu_samples" not in found and counts.near_miss == 1
    cut = HEAD + "  0  199 W    103 °C      99 %   1920 MHz\n  0  199 W    103 °C      99 %   19"
    assert len(rows(cut)) == 1


def test_not_amd_smi() -> None:
    assert claim("GPU  Temp   AvgPwr\n0 5 6\n") is None
    assert isinstance(claim(HEAD), Refusal)
    assert rows(HEAD + "  0  199 W    103 °C      199 %   1920 MHz\n")[0]["util_gpu"] is None


def test_a_header_that_stands_apart_or_in_a_comment() -> None:
    row = "  0   11 W     43 °C      84 %   1814 MHz"
    for text in (f"{HEAD}\n{row}\n", f"# {HEAD}# {row}\n", f"// {HEAD}// {row}\n"):
        assert isinstance(claim(text), Claim), text
        assert [(r["gpu"], r["power_w"], r["util_gpu"]) for r in rows(text)] == [(0, 11, 84)]
    stamped = "#TIMESTAMP  GPU  XCP  POWER\n#1786038263    0    0  123 W\n#1786038265    0    0  124 W\n"
    assert isinstance(claim(stamped), Claim)
    assert [(r["time"], r["power_w"]) for r in rows(stamped)] == [(1786038263.0, 123), (1786038265.0, 124)]


# ---------------------------------------------------------------- open-ended input

(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="GPU POWER0123456789 %W°CMHz,N/A\n")
