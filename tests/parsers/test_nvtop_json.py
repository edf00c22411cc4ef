"""nvtop -s: snapshots, broken JSON, several cards."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.nvtop_json import PARSER
from open_ended import line_tests


def rows(text: str | bytes, table: str = "gpu_samples") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def claim(text: str | bytes, name: str = "sample.txt") -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text, name).head())


def test_samples() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(claim(sample.text), Claim)


def card(name: str, util: str, more: str = "") -> str:
    return '  {\n   "device_name": "' + name + '",\n   "gpu_util": ' + util + more + "\n  }"


def test_snapshots_are_rounds() -> None:
    one = "[\n" + card("NVIDIA L4", '"5%"') + ",\n" + card("NVIDIA L4", '"6%"') + "\n]\n"
    assert [(r["gpu"], r["cycle"], r["util_gpu"]) for r in rows(one + one)] == [(0, 0, 5), (1, 0, 6), (0, 1, 5), (1, 1, 6)]


def test_processes_are_not_cards() -> None:
    more = ',\n   "processes": [ {"pid": "5", "gpu_util": "88%", "cmdline": "serve --key secret"} ]'
    text = "[\n" + card("NVIDIA L4", "null", more) + ",\n" + card("NVIDIA L4", '"6%"') + "\n]\n"
    assert [(r["gpu"], r["cycle"], r["util_gpu"]) for r in rows(text)] == [(1, 0, 6)]
    assert "secret" not in str(rows_of(PARSER, text)[0])


@pytest.mark.parametrize("value", ["null", '"N/A"', '"1179RPM"', '"-5%"', '"250%"', "5"])
def test_no_value(value: str) -> None:
    text = "[\n" + card("NVIDIA L4", value, ',\n   "temp": "40C"') + "\n]\n"
    assert rows(text)[0]["util_gpu"] is None


def test_not_nvtop() -> None:
    assert claim('{"device_name": "x"}') is None
    assert claim('{"gpu_util": "5%"}') is None
    assert rows("[\n" + card("me@example.org", '"5%"') + "]", "gpus")[0]["name"] is None


# ---------------------------------------------------------------- open-ended input

(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet='{}[]:,0123456789%MHzC \n"', twice=False)
