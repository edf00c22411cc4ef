"""Numbers in sentences."""

from __future__ import annotations

import pytest
from gpuverdict.engine.logic import Interval
from gpuverdict.engine.phrase import fill, names_in, show


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "%", "unknown"),
        (4.0, "slots", "4 slots"),
        (1.0, "slots", "1 slot"),
        (Interval(1, 1), "slots", "1 slot"),
        (Interval(1, 4), "slots", "1..4 slots"),
        (99.06, "%", "99.1 %"),
        (0.361, "share", "36.1 %"),
        (Interval(0.106, 0.362), "share", "10.6..36.2 %"),
        (Interval.of(None, 0.4), "share", "at most 40 %"),
        (Interval.of(0.4, None), "share", "at least 40 %"),
        (1234.5, "tok/s", "1 234 tok/s"),
        (0.000012, "s", "1.2e-05 s"),
        (0.5, "", "0.5"),
        ("layer", "", "layer"),
    ],
)
def test_values(value: object, unit: str, text: str) -> None:
    assert show(value, unit) == text  # type: ignore[arg-type]


def test_templates() -> None:
    assert fill("{a:%} of {b}", {"a": 50.0, "b": None}) == "50 % of unknown"
    assert names_in("{a:%} of {b}") == ["a", "b"]


def test_a_later_sentence_about_something_unknown_is_left_out() -> None:
    template = "Cards wait. At most {b:%} of the time. Of {a:int} samples."
    assert fill(template, {"a": 12.0, "b": None}) == "Cards wait. Of 12 samples."
    assert fill("Capped. At {a:MHz}, else at {b:MHz}.", {"a": 12.0, "b": None}) == "Capped. At 12 MHz, else at unknown."
    assert fill(template, {"a": 12.0, "b": 3.0}) == "Cards wait. At most 3 % of the time. Of 12 samples."
