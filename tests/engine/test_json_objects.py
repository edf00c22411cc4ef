"""JSON objects out of a text: where they stand, what is cut or hostile, how lines are counted, which values count as numbers."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from gpuverdict.engine.json_objects import JsonLines, json_keys, json_objects, nested, num, pos
from gpuverdict.engine.parser import Counts
from gpuverdict.engine.source import Source
from hypothesis import given, settings
from hypothesis import strategies as st

Found = list[tuple[int, int, dict[str, Any] | None]]


class Small(Source):
    """A source whose blocks hold a few characters."""

    def blocks(self, size: int = 0) -> Iterator[tuple[int, str]]:
        return super().blocks(29)


def read(text: str | bytes, kind: type[Source] = Source) -> tuple[Found, Counts]:
    """What was found, and the counts: objects are matched, broken ones are near misses."""
    lines = JsonLines(kind.from_text(text))
    found = []
    for first, last, doc in json_objects(lines):
        found.append((first, last, doc))
        if doc is None:
            lines.near(first, "broken")
        else:
            lines.add(first, last, "matched")
    return found, lines.close()


def split(counts: Counts) -> tuple[int, int, int]:
    assert counts.noise == 0
    return counts.matched, counts.near_miss, counts.other


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', [(1, 1, {"a": 1})]),
        ('{"a": 1}\n{"a": 2}\n', [(1, 1, {"a": 1}), (2, 2, {"a": 2})]),
        ('{"a": 1} {"a": 2}{"a": 3}\n', [(1, 1, {"a": 1}), (1, 1, {"a": 2}), (1, 1, {"a": 3})]),
        ('[{"a": 1}, {"a": 2},\n {"a": 3}]\n', [(1, 1, {"a": 1}), (1, 1, {"a": 2}), (2, 2, {"a": 3})]),
        ('{\n "a": {"b": 1},\n "c": [{"d": 2}]\n}\n{"a": 2}\n', [(1, 4, {"a": {"b": 1}, "c": [{"d": 2}]}), (5, 5, {"a": 2})]),
        ('started\n\n  {"a": 1} tail {"b": 2}\n[1, 2]\n{"a": 3}', [(3, 3, {"a": 1}), (5, 5, {"a": 3})]),
        ('log {"a": 1}\n[1, 2, 3]\n"text"\n12\n', []),
        ("{}\n", [(1, 1, {})]),
        ("", []),
    ],
    ids=["one", "a line each", "on one line", "a list", "over lines", "beside prose", "none", "empty object", "empty"],
)
def test_where_objects_stand(text: str, found: Found) -> None:
    assert read(text)[0] == found
    assert read(text, Small)[0] == found


def test_every_line_counts_once() -> None:
    _, counts = read('{"a": 1} {"a": 2}\nprose\n{"a": 3,\n "b": 4} {"a": 5}\n{"broken": \n\nend')
    assert split(counts) == (3, 1, 3)
    assert counts.rejects == [(5, "broken")]
    assert counts.lines == 7


def test_only_the_first_rejects_are_kept() -> None:
    _, counts = read('{"a" 1}\n' * 25)
    assert split(counts) == (0, 25, 0)
    assert [line for line, _ in counts.rejects] == list(range(1, 11))


@pytest.mark.parametrize("kind", [Source, Small])
@pytest.mark.parametrize(
    ("text", "docs"),
    [
        ('{"a": 1}\n{"a": 2, "b', [{"a": 1}, None]),
        ('{"a": 1}\n{"a": 2, "b": [1, 2', [{"a": 1}, None]),
        ('{"a": tru', [None]),
        ('{"a": 1,}\n{"a": 2}\n', [None, {"a": 2}]),
        # what is further in belongs to the broken object, what stands at its margin does not
        ('{\n  "a": [\n  {"inner": 1}\n  garbled\n}\n{"a": 2}\n', [None, {"a": 2}]),
    ],
    ids=["cut in a string", "cut in a list", "cut in a word", "trailing comma", "margin"],
)
def test_cut_and_garbled_objects_cost_themselves(text: str, docs: list[Any], kind: type[Source]) -> None:
    found, counts = read(text, kind)
    assert [doc for *_, doc in found] == docs
    assert counts.near_miss == docs.count(None)
    assert counts.lines == len(text.splitlines())


def test_what_is_further_in_belongs_to_the_broken_object() -> None:
    found, counts = read('[\n  {"a": oops,\n    "b":\n    {"inner": 1}},\n  {"a": 2}\n]\n')
    assert found == [(2, 2, None), (5, 5, {"a": 2})]
    assert split(counts) == (1, 1, 4)


@pytest.mark.parametrize("word", ["Infinity", "-Infinity", "NaN", "1e999", "-1e999"])
def test_bare_words_that_are_no_finite_number_are_read_and_unknown(word: str) -> None:
    ((_, _, doc),) = read(f'{{"rate": {word}, "next": 2.5}}')[0]
    assert doc is not None
    assert not math.isfinite(doc["rate"])
    assert num(doc["rate"]) is None
    assert pos(doc["rate"], 1e3) is None
    assert num(doc["next"]) == 2.5


@pytest.mark.parametrize("opens", ['{"a":', '{"a":[', '{"a":{"b":[['])
def test_depth_bombs_raise_nothing(opens: str) -> None:
    bomb = opens * (sys.getrecursionlimit() * 20)
    found, counts = read(f'{bomb}\n{{"a": 1}}\n')
    assert found == [(1, 1, None), (2, 2, {"a": 1})]
    assert split(counts) == (1, 1, 0)


def test_a_bomb_of_brackets_is_no_object() -> None:
    found, counts = read("[" * 200_000 + '\n{"a": 1}\n')
    assert found == [(2, 2, {"a": 1})]
    assert split(counts) == (1, 0, 1)


def test_huge_integers_are_unknown_or_cost_their_object() -> None:
    large = "9" * 400  # an int of Python, beyond any float
    ((_, _, doc),) = read(f'{{"n": {large}, "m": -{large}, "k": 7}}')[0]
    assert doc is not None
    assert (num(doc["n"]), num(doc["m"]), num(doc["k"])) == (None, None, 7.0)
    found, counts = read(f'{{"n": {"9" * 10_000}}}\n{{"a": 1}}\n')  # more digits than int() takes
    assert found == [(1, 1, None), (2, 2, {"a": 1})]
    assert split(counts) == (1, 1, 0)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *[(0, 0.0), (0.0, 0.0), (3, 3.0), (2.5, 2.5), (1e15 - 1, 1e15 - 1)],
        *[(-1, None), (-0.5, None), (1e15, None), (1.7976931348623157e308, None), (math.inf, None), (math.nan, None)],
        *[(True, None), (False, None), ("3", None), ("inf", None), (None, None), ([1], None), ({"a": 1}, None)],
    ],
)
def test_what_counts_as_a_number(value: object, number: float | None) -> None:
    assert num(value) == number
    assert pos(value) == (number or None)


def test_scales() -> None:
    assert num(0.25, 1e3) == 250.0
    assert pos(0, 1e3) is None
    assert num(1e14, 1e3) is None


def test_nested_never_raises() -> None:
    doc = {"a": {"b": {"c": 1}, "list": [1]}, "text": "x"}
    assert nested(doc, "a", "b") == {"c": 1}
    assert nested(doc) is doc
    for path in (("a", "b", "c"), ("a", "list"), ("text", "b"), ("missing", "b")):
        assert nested(doc, *path) == {}
    assert nested([doc], "a") == nested(None, "a") == {}


def test_keys_of_a_head() -> None:
    assert json_keys('\n {"a": {"b.c": 1, "d-e" : "f"}, "g:": 2, "cut') == {"a", "b.c", "d-e", "g:"}
    assert json_keys('[{"a": 1}') == {"a"}
    assert json_keys('prose {"a": 1}') == json_keys("") == set()
    assert json_keys('{"a": 1,' + " " * 70_000 + '"late": 2}') == {"a"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(docs=st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=4), max_size=4), indent=st.sampled_from([None, 0, 2]))
@settings(max_examples=15, deadline=None)
def test_what_was_written_is_read(docs: list[dict[str, Any]], indent: int | None) -> None:
    text = "".join(json.dumps(doc, indent=indent) + "\n" for doc in docs)
    for kind in (Source, Small):
        found, counts = read(text, kind)
        assert repr([doc for *_, doc in found]) == repr(docs)
        assert split(counts) == (text.count("\n"), 0, 0)


@given(text=st.lists(st.sampled_from([*'{}[]",: \n', '{"a": 1}', '"b": ', "NaN", "12", "\\", "é"]), max_size=40).map("".join))
@settings(max_examples=100, deadline=None)
def test_any_text_adds_up(text: str) -> None:
    for kind in (Source, Small):
        found, counts = read(text, kind)
        assert counts.lines == text.count("\n") + (not text.endswith("\n") and text != "")
        assert counts.near_miss <= sum(doc is None for *_, doc in found)
        assert all(1 <= first <= last <= counts.lines for first, last, _ in found)
        assert [first for first, *_ in found] == sorted(first for first, *_ in found)
