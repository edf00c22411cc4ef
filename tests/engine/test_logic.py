"""Three-valued atoms: nobody may pick the wrong end of an interval or close a rival with missing data."""

from __future__ import annotations

import pytest
from gpuverdict.engine.logic import Atom, Interval, compare, margin
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("left", "op", "right", "expected"),
    [
        (1.0, "<=", 1.0, True),
        (1.0, "<", 1.0, False),
        (None, "<=", 1.0, None),
        (1.0, ">=", None, None),
        (Interval(0.3, 0.5), "<", 0.4, None),
        (Interval(0.3, 0.39), "<", 0.4, True),
        (Interval(0.4, 0.5), "<", 0.4, False),
        (Interval(0.4, 0.5), "<=", 0.4, None),
        (Interval(0.6, 0.9), ">=", 0.6, True),
        (Interval.of(None, 0.3), "<", 0.4, True),
        (Interval.of(0.1, None), "<", 0.4, None),
        (Interval.of(0.5, None), "<", 0.4, False),
        (Interval(1.0, 4.0), "==", 1.0, None),
        (Interval(1.0, 1.0), "==", 1.0, True),
        (Interval(2.0, 4.0), "==", 1.0, False),
        ("layer", "==", "layer", True),
        ("layer", "!=", "layer", False),
        (None, "==", "layer", None),
    ],
)
def test_comparisons(left: object, op: str, right: object, expected: bool | None) -> None:
    assert compare(left, op, right) is expected  # type: ignore[arg-type]


@given(NUMBERS, NUMBERS, NUMBERS, st.sampled_from(["<", "<=", ">", ">="]))
def test_an_interval_is_never_surer_than_its_points(a: float, b: float, line: float, op: str) -> None:
    interval = Interval(min(a, b), max(a, b))
    verdict = compare(interval, op, line)
    if verdict is not None:
        assert compare(a, op, line) is verdict and compare(b, op, line) is verdict


@given(NUMBERS, NUMBERS, st.sampled_from(["<=", ">="]))
def test_margin_is_positive_just_where_the_atom_holds(value: float, line: float, op: str) -> None:
    distance = margin(value, op, line)
    assert distance is not None
    assert compare(value, op, line) is (distance >= 0)


def test_ends_in_the_wrong_order_are_put_right() -> None:
    assert Interval.of(4, 1) == Interval(1, 4)
    assert Interval.of(None, None) is None


def test_text_has_no_order() -> None:
    with pytest.raises(TypeError, match="only be compared"):
        compare("layer", "<", 3.0)


def test_a_misspelt_name_is_an_error_that_says_so() -> None:
    with pytest.raises(KeyError, match="neither a fact nor a limit"):
        Atom.parse("util_summ <= 106").holds({"util_sum": 1.0}, {})


@pytest.mark.parametrize("text", ["", "x", "x =", "x <= ", "1 <= x", "x =< 3"])
def test_what_is_not_an_atom_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an atom"):
        Atom.parse(text)
