"""macmon: which of its shares is one of time, lines that are cut, lines between others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.macmon import PARSER
from open_ended import line_tests

NEW, OLD = (s.text for s in PARSER.samples)
LINE = NEW.split("\n")[0]

test_blocks, test_cut, test_garbled, test_noise = line_tests(PARSER, alphabet='{}":,0123456789.gpu_')


def rows(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("gpu_samples", [])


def claim(text: str) -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text).head())


def test_samples() -> None:
    check_samples(PARSER)
    assert all(isinstance(claim(s.text), Claim) for s in PARSER.samples)


def test_a_share_that_is_scaled_by_the_clock_is_none_of_time() -> None:
    """Half the clock all the time and all the clock half the time look alike; and an idle GPU must not stand alone among unknowns."""
    old = {k: v for k, v in json.loads(LINE).items() if k not in ("gpu_active_ratio", "gpu_freq_mhz", "gpu_usage_ratio")}
    for usage in ([1296, 0.75], [338, 0.0]):
        (row,) = rows(json.dumps(old | {"gpu_usage": usage}) + "\n")
        assert row["util_gpu"] is None and row["sm_clock"] == usage[0]


def test_keys_may_stand_in_any_order_and_between_other_lines() -> None:
    doc = dict(reversed(json.loads(LINE).items()))
    text = f"$ macmon pipe\n{json.dumps(doc)}\n^C\n"
    assert [(r["line"], r["util_gpu"], r["time"]) for r in rows(text)] == [(2, 93.75, 1772359200.5)]
    assert isinstance(claim(text), Claim)


@pytest.mark.parametrize("line", [LINE[:-20], LINE[1:], f"he ran {LINE}", LINE.replace('gpu_usage"', 'gpu_used"')])
def test_what_is_no_whole_reading_gives_nothing(line: str) -> None:
    assert rows(line + "\n") == []


def test_values_that_cannot_be() -> None:
    found, _ = rows_of(PARSER, LINE.replace("0.9375", "93.75").replace("47.25", "470.25") + "\n")
    assert found["gpu_samples"][0]["util_gpu"] is None and found["gpu_samples"][0]["temp"] is None
    assert found["quality"][0]["kind"] == "out-of-range"
