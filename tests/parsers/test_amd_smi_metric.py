"""The text of amd-smi metric: sections by indent, other text between cards, rounds."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.amd_smi_metric import PARSER
from open_ended import line_tests

CARD = "GPU: {g}\n    USAGE:\n        GFX_ACTIVITY: {u} %\n    POWER:\n        SOCKET_POWER: 90 W\n"
TEXT = "".join(CARD.format(g=g, u=u) for g, u in ((0, 1), (1, 2), (0, 3), (1, 4)))


def rows(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("gpu_samples", [])


def claims(text: str) -> bool:
    return isinstance(PARSER.claims(Source.from_text(text).head()), Claim)


def test_samples() -> None:
    check_samples(PARSER)


(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="GPU: POWER_0123456789 %W°CMHz,N/A\n")


@pytest.mark.parametrize("wrap", ["{}", "> {}", "    {}", "\t{}", "{}\r"])
def test_rounds_and_what_a_paste_puts_around_lines(wrap: str) -> None:
    wrapped = "".join(wrap.format(x) + "\n" for x in TEXT.splitlines())
    assert claims(wrapped)
    assert [(r["gpu"], r["cycle"], r["util_gpu"]) for r in rows(wrapped)] == [(0, 0, 1), (1, 0, 2), (0, 1, 3), (1, 1, 4)]


def test_a_key_counts_by_its_path_and_its_unit() -> None:
    text = "GPU: 0\n    POWER:\n        SOCKET_POWER: 90 %\n        ...\n    LIMIT:\n        SOCKET_POWER: 750 W\n    USAGE:\n        GFX_ACTIVITY: 7 %\n"
    (row,) = rows(text)
    assert (row["power_w"], row["util_gpu"]) == (None, 7)
    assert not claims("GPU: 0\n    LIMIT:\n        SOCKET: 750 W\n")


def test_behind_other_text_no_line_belongs_to_the_card() -> None:
    (row,) = rows(CARD.format(g=0, u=7) + "then\n    USAGE:\n        UMC_ACTIVITY: 9 %\n")
    assert (row["util_gpu"], row["util_mem"]) == (7, None)


def test_an_impossible_value_is_dropped_and_said() -> None:
    found, counts = rows_of(PARSER, CARD.format(g=0, u=700))
    assert found["gpu_samples"][0]["util_gpu"] is None and found["gpu_samples"][0]["power_w"] == 90
    assert [(q["kind"], q["n"]) for q in found["quality"]] == [("out-of-range", 1)] and counts.matched == 5
