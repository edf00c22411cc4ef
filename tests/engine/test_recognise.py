"""Recognition: claims from the head, reasons, runners-up, near misses, precedence from samples, discovery of parsers."""

from __future__ import annotations

import sys
from types import ModuleType

import polars as pl
import pytest
from gpuverdict.engine.line_format import Line, LineFormat, Num
from gpuverdict.engine.parse import read
from gpuverdict.engine.parser import MAX_REJECTS, Claim, Counts, Head, Refusal, Sample, together
from gpuverdict.engine.recognise import all_parsers, builtin_parsers, precedence, recognise
from gpuverdict.engine.source import HEAD_BYTES, Source


def _format(name: str, anchor: str, sample: str, after: str = "^$") -> LineFormat:
    return LineFormat(
        name=name,
        server="x",
        lines=(Line("s", into="server_samples", anchor=anchor, after=after, fields={"running": Num(r"n=(\d+)")}, need=("running",)),),
        samples=(Sample(sample, {}, "1"),),
    )


class Whole:
    """A parser of whole sources that answers as told."""

    api, samples = 1, ()

    def __init__(self, name: str, answer: Claim | Refusal | Exception | None) -> None:
        self.name, self.answer = name, answer

    def claims(self, head: Head) -> Claim | Refusal | None:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def parse(self, source: object, emit: object) -> Counts:
        return Counts(matched=1)


STAT = _format("stat", "stat:", "stat: n=1 ok\n")


def test_a_line_format_claims_by_matching_lines_not_by_literals() -> None:
    found = recognise(Source.from_text("stat: n=1 ok\nstat: n=2 ok\n"), [STAT])
    assert found.parsers == ["stat"] and found.reasons["stat"] == "2 lines with 'stat:'"
    found = recognise(Source.from_text("somebody asked about stat: n=1 ok\n"), [STAT])
    assert found.parsers == []


def test_the_nearest_format_says_what_was_missing() -> None:
    found = recognise(Source.from_text("stat: m=1\n"), [STAT, Whole("csv", Refusal(20, "no header"))])
    assert found.parsers == [] and found.nearest == "stat" and "no running" in str(found.missing)
    found = recognise(Source.from_text("a,b\n"), [STAT, Whole("csv", Refusal(20, "no header"))])
    assert (found.nearest, found.missing) == ("csv", "no header")
    assert recognise(Source.from_text("a\n"), [STAT]).nearest is None


def test_the_strongest_claim_wins_and_the_runner_up_is_named() -> None:
    source = Source.from_text("stat: n=1 ok\n")
    found = recognise(source, [STAT, Whole("weak", Claim(20, "could be")), Whole("strong", Claim(90, "signature"))])
    assert found.whole == ["strong"] and found.exclusive and found.parsers == ["strong"] and found.runner_up == "weak"
    found = recognise(source, [STAT, Whole("table", Claim(90, "a table", shares=True))])
    assert found.parsers == ["table", "stat"] and not found.exclusive


def test_a_parser_that_raises_on_the_head_is_left_out() -> None:
    notes: list[str] = []
    found = recognise(
        Source.from_text("stat: n=1 ok\n"), [STAT, Whole("bad", ValueError("text"))], lambda t, f: notes.extend(f["note"].to_list())
    )
    assert found.parsers == ["stat"] and len(notes) == 1 and "ValueError" in notes[0] and "text" not in notes[0]


def test_lines_after_the_head_are_still_read() -> None:
    text = "hello world\n" * (HEAD_BYTES // 12 + 100) + "stat: n=7 ok\n"
    source = Source.from_text(text)
    assert recognise(source, [STAT]).parsers == []
    rows: list[float] = []
    readings = read(source, [STAT], lambda t, f: rows.extend(f["running"].to_list() if t == "server_samples" else []))
    assert rows == [7.0] and readings[0].counts.lines == text.count("\n")


def test_an_exclusive_claim_keeps_the_lines_to_itself() -> None:
    readings = read(Source.from_text("stat: n=1 ok\n"), [STAT, Whole("strong", Claim(90, "signature"))], lambda t, f: None)
    assert [r.parser for r in readings] == ["strong"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_greedy_format_comes_after_the_one_whose_samples_it_would_take(order: tuple[int, int]) -> None:
    narrow = _format("zz-narrow", "core stat:", "core stat: n=1 ok\n")
    greedy = _format("aa-greedy", "stat:", "my stat: n=1 ok\n", after=".*")
    both = (narrow, greedy)
    assert [f.name for f in precedence([both[i] for i in order])] == ["zz-narrow", "aa-greedy"]


def test_formats_that_take_nothing_from_each_other_go_by_name() -> None:
    assert [f.name for f in precedence([_format("b", "bbb:", "bbb: n=1\n"), _format("a", "aaa:", "aaa: n=1\n")])] == ["a", "b"]


def test_discovery_finds_modules_and_reports_broken_ones(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    import gpuverdict.parsers as package

    (tmp_path / "broken_one.py").write_text("raise RuntimeError('text')\n")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    broken: list[tuple[str, str]] = []
    found = builtin_parsers(lambda module, error: broken.append((module, type(error).__name__)))
    assert ("broken_one", "RuntimeError") in broken
    assert "llama-server" in {p.name for p in found}
    sys.modules.pop("gpuverdict.parsers.broken_one", None)


def test_extra_parsers_replace_built_in_ones_of_the_same_name() -> None:
    mine = _format("llama-server", "stat:", "stat: n=1\n")
    assert [p for p in all_parsers([mine]) if p.name == "llama-server"] == [mine]
    assert isinstance(sys.modules["gpuverdict.engine.recognise"], ModuleType)


def test_lines_that_two_parsers_read_are_counted_once() -> None:
    """Ten lines taken of seven: none is left for the others, and no count is negative."""
    both = together([Counts(matched=6, noise=1), Counts(matched=4, noise=0, near_miss=2, other=1)])
    assert (both.matched, both.near_miss, both.noise, both.other) == (7, 0, 0, 0)
    apart = together([Counts(matched=2, noise=1, other=4), Counts(matched=3, near_miss=1, other=3)])
    assert (apart.matched, apart.near_miss, apart.noise, apart.other, apart.lines) == (5, 1, 1, 0, 7)
    assert together([]).lines == 0


def test_every_line_of_a_block_ends_once_and_the_first_near_misses_are_named() -> None:
    counts = Counts()
    counts.near(3, "cut")
    counts.block(40, 20, 3, range(10, 25), "a row of another shape")
    assert (counts.matched, counts.noise, counts.near_miss, counts.other, counts.lines) == (20, 3, 16, 2, 41)
    assert counts.rejects == [(3, "cut"), *((n, "a row of another shape") for n in range(10, 10 + MAX_REJECTS - 1))]
    counts.block(5, 0, 0, pl.Series([50, 51]), "more")
    counts.near(60, "more")
    assert counts.near_miss == 19 and counts.other == 5 and len(counts.rejects) == MAX_REJECTS


def test_lines_that_others_write_too_do_not_tell_a_format() -> None:
    """The usage of any JSON answer, alone, is no log of LM Studio; beside one of its own lines it is."""
    usage = '{\n  "usage": {\n    "prompt_tokens": 5,\n    "completion_tokens": 5,\n  }\n'
    formats = [p for p in builtin_parsers() if isinstance(p, LineFormat)]
    assert recognise(Source.from_text(usage), formats).parsers == []
    assert recognise(Source.from_text(usage), [f for f in formats if f.name == "lm-studio-server"]).parsers == []
    own = "[2026-03-01 10:00:00][INFO][LM STUDIO SERVER] Success! HTTP server listening on port 1234\n"
    assert recognise(Source.from_text(own + usage), formats).parsers == ["lm-studio-server"]
