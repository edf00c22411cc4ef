"""KTransformers logs: one line per request, counts from rates, quoted text."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.testing import check_conformance, check_samples, rows_of
from gpuverdict.parsers.ktransformers_server import PARSER

MESSAGE = "Performance(T/s): prefill {}, decode {}. Time(s): tokenize 0.25, prefill {}, decode {}\n"


def requests(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("requests", [])


def test_samples() -> None:
    check_samples(PARSER)


def test_conformance() -> None:
    check_conformance(PARSER)


def test_without_a_time() -> None:
    (row,) = requests("/srv/kt/server/backend/interfaces/balance_serve.py[97]: " + MESSAGE.format(8.0, 2.5, 1.25, 10.0))
    assert (row["prompt_tokens"], row["output_tokens"], row["decode_ms"], row["finished_at"]) == (10, 25, 10000, None)
    assert requests(MESSAGE.format(8.0, 2.5, 1.25, 10.0))[0]["output_tokens"] == 25, "the message alone"


def test_counts_only_where_they_come_out_whole() -> None:
    (row,) = requests("/a/base.py[64]: " + MESSAGE.format(8.3, 2.5, 1.0, 10.1))
    assert (row["prompt_tokens"], row["output_tokens"]) == (None, None)


def test_a_lost_field_is_a_near_miss() -> None:
    assert rows_of(PARSER, "/a/base.py[64]: Performance(T/s): prefill 1.0, decode 2.0.\n")[1].near_miss == 1


@pytest.mark.parametrize("before", ["user: ", "Performance is: ", "'prompt': '/a/base.py[64]: "])
def test_quoted_text_gives_nothing(before: str) -> None:
    assert rows_of(PARSER, before + MESSAGE.format(1.0, 1.0, 1.0, 1.0))[1].matched == 0


@pytest.mark.parametrize(("rate", "seconds", "n"), [("9.62", "41.580", 400), ("9.62", "99.584", None), ("10.00", "99.900", None)])
def test_rounded_values_give_a_count_only_where_one_fits(rate: str, seconds: str, n: float | None) -> None:
    line = f"Performance(T/s): prefill 20.00, decode {rate}. Time(s): tokenize 0.011, prefill 1.000, decode {seconds}\n"
    (row,) = requests(line)
    assert (row["prompt_tokens"], row["output_tokens"]) == (20, n)
