"""YAML as programs write it: what is read, what is passed over, what never raises."""

from __future__ import annotations

import pytest
from gpuverdict.engine.yaml_objects import yaml_object
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\n", 1),
        ("a: 1.5\n", 1.5),
        ("a: 1.0e-05\n", 1e-05),
        ("a: null\n", None),
        ("a:\n", None),
        ("a: true\n", True),
        ("a: '1'\n", "1"),
        ('a: "x: y"\n', "x: y"),
        ("a: .nan\n", ".nan"),
        ("a: []\n", []),
        ("a: {}\n", {}),
        ("a:\n- 1\n- 2\n", [1, 2]),
        ("a:\n  - 1\n  - 2\n", [1, 2]),
        ("a:\n- - 1\n  - 2\n- b: 3\n  c: 4\n", [[1, 2], {"b": 3, "c": 4}]),
        ("a:\n  b:\n    c: 1\n  d: 2\n", {"b": {"c": 1}, "d": 2}),
        ("a: !!python/tuple\n- 1\n", [1]),
        ("x: &id001\n- 1\na: *id001\n", [1]),
        ("a: |-\n  b: 1\n    c\n", None),
        ("a: 'one\n\n  b: 1'\n", None),
        ("a: one two\n  three\n", None),
        ("a: 1\n b: 2\n", None),
        ("a: " + "x" * 300 + "\n", None),
        ("a: [1, 2]\n", "[1, 2]"),
        ("two words: 0\nhttp://x: 0\na: 1\n", 1),
    ],
)
def test_values(text: str, value: object) -> None:
    found = yaml_object(text)
    assert found is not None and found["a"] == value


@pytest.mark.parametrize("text", ["", "- 1\n", "words\n", "a: 1\nwords\n"])
def test_what_is_no_mapping_as_a_whole_is_none(text: str) -> None:
    assert yaml_object(text) is None


def test_a_key_below_a_text_is_no_part_of_it() -> None:
    assert yaml_object("a: 'one\n\n  x: 1'\nb: 2\n") == {"a": None, "b": 2}


@given(st.text(alphabet="a1:- \n'\"|&*[]{}!#.", max_size=200))
@settings(max_examples=60, deadline=None)
def test_nothing_raises(text: str) -> None:
    assert yaml_object(text) is None or isinstance(yaml_object(text), dict)


def test_depth_is_bounded() -> None:
    assert yaml_object("".join(" " * n + "a:\n" for n in range(2000))) is None
    assert yaml_object("a:\n" + "- " * 5000 + "1\n") is None
