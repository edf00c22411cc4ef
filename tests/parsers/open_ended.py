"""What every parser of whole sources must bear, as tests made for one parser. A test module gives them their names:

facts = partial(read, PARSER)
test_blocks, test_cut, test_garbled = document_tests(PARSER)
test_blocks, test_cut, test_garbled, test_noise = line_tests(PARSER, alphabet="GPU 0123456789%")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Counts, Parser, Sample
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import Rows, check_counts, rows_of, same_rows, values
from hypothesis import given, settings
from hypothesis import strategies as st

DERIVED = ("cycle", "gpu", "line")  # numbers of rounds and cards, which may differ when lines are missing

Test = Callable[..., None]


# --- documents: JSON that is read by characters ----------------------------------------------------------------------------------------


class Tiny(Source):
    """A source whose blocks hold a few characters."""

    def blocks(self, size: int = 0) -> Iterator[tuple[int, str]]:
        return super().blocks(37)


def read(parser: Parser, text: str | bytes, tiny: bool = False) -> tuple[Rows, Counts]:
    """Rows and counts; with `tiny` read in small blocks."""
    return parsed(parser, Tiny.from_text(text)) if tiny else rows_of(parser, text)


def document_tests(parser: Parser) -> tuple[Test, Test, Test]:
    """Samples are claimed and blocks do not matter; a cut invents nothing; a garbled byte raises nothing."""
    each_sample = pytest.mark.parametrize("sample", parser.samples, ids=lambda s: s.versions)

    @each_sample
    def blocks(sample: Sample) -> None:
        assert isinstance(parser.claims(Source.from_text(sample.text, sample.name).head()), Claim)
        assert read(parser, sample.text, tiny=True) == read(parser, sample.text)

    @each_sample
    @given(share=st.floats(0, 1))
    @settings(max_examples=12, deadline=None)
    def cut(sample: Sample, share: float) -> None:
        text = sample.text[: int(share * len(sample.text))]
        rows, counts = read(parser, text)
        check_counts(counts, text, "cut")
        invented = {v for v in values(rows) - values(read(parser, sample.text)[0]) if v[1] not in ("series", "step")}
        assert not invented

    @each_sample
    @given(share=st.floats(0, 1), byte=st.integers(0, 255))
    @settings(max_examples=12, deadline=None)
    def garbled(sample: Sample, share: float, byte: int) -> None:
        data = bytearray(sample.text.encode())
        data[min(int(share * len(data)), len(data) - 1)] = byte
        source = Source.from_text(bytes(data))
        parser.claims(source.head())
        _, counts = rows_of(parser, bytes(data))
        assert counts.lines == sum(b.count("\n") + (not b.endswith("\n")) for _, b in source.blocks())

    return blocks, cut, garbled


# --- lines: tables and printouts that are read by lines --------------------------------------------------------------------------------


class Blocks(Source):
    """A source that hands out small blocks of whole lines."""

    lines = 1

    @classmethod
    def of(cls, text: str, lines: int) -> Blocks:
        source = cls.from_text(text)
        source.lines, source.parts = lines, text.splitlines(keepends=True)
        return source

    def blocks(self, size: int = 0) -> Iterator[tuple[int, str]]:
        for k in range(0, len(self.parts), self.lines):
            yield k + 1, "".join(self.parts[k : k + self.lines])


def parsed(parser: Parser, source: Source) -> tuple[Rows, Counts]:
    """Rows and counts of a source as it is."""
    out: Rows = {}
    counts = parser.parse(source, lambda target, frame: out.setdefault(target, []).extend(frame.to_dicts()))
    return out, counts


def samples_in(parser: Parser, source: Source, columns: Sequence[str]) -> tuple[list[tuple[Any, ...]], Counts]:
    """These columns of its GPU samples, and the counts."""
    rows, counts = parsed(parser, source)
    return [tuple(row.get(c) for c in columns) for row in rows.get("gpu_samples", [])], counts


def written(parser: Parser, text: str, name: str, **about: Any) -> Rows:
    """Rows of a file that was written at 1789000000.5; `about` sets what else is known of it."""
    source = Source.from_text(text, name, mtime=1789000000.5)
    for key, value in about.items():
        setattr(source, key, value)
    return parsed(parser, source)[0]


def plain(found: Rows) -> Rows:
    return {t: sorted(({k: v for k, v in r.items() if v is not None} for r in rs), key=str) for t, rs in found.items() if t != "quality"}


def line_tests(parser: Parser, alphabet: str, derived: Sequence[str] = DERIVED, twice: bool = True) -> tuple[Test, Test, Test, Test]:
    """Any block size gives the same (of a sample that stands there `twice`), any cut invents nothing (but columns that are `derived`),
    any garbled character raises nothing, and neither does noise out of an `alphabet`, alone or behind a sample."""
    whole = [sample.text for sample in parser.samples]
    which_sample = st.integers(0, len(whole) - 1)

    def claim(text: str) -> None:
        parser.claims(Source.from_text(text, "sample.txt").head())

    @pytest.mark.parametrize("lines", [1, 2, 3, 7])
    def blocks(lines: int) -> None:
        for text in whole:
            text = text + text if twice else text
            found, counts = parsed(parser, Blocks.of(text, lines))
            expected, all_counts = parsed(parser, Blocks.of(text, 100_000))
            assert same_rows(plain(expected), plain(found)) is None, same_rows(plain(expected), plain(found))
            assert (counts.matched, counts.noise, counts.near_miss, counts.other) == (
                all_counts.matched,
                all_counts.noise,
                all_counts.near_miss,
                all_counts.other,
            )

    @given(which=which_sample, share=st.floats(0, 1))
    @settings(max_examples=10, deadline=None)
    def cuts(which: int, share: float) -> None:
        text = whole[which]
        cut = text[: int(share * len(text))]
        found, counts = rows_of(parser, cut)
        check_counts(counts, cut, "cut")
        invented = {v for v in values(found) - values(rows_of(parser, text)[0]) if v[1] not in derived}
        assert not invented, invented

    @given(which=which_sample, share=st.floats(0, 1), junk=st.sampled_from(["\x00", "x", "\ufffd", "^C", "\n", "|", "\x1b[0m", ",", '"']))
    @settings(max_examples=12, deadline=None)
    def garbled(which: int, share: float, junk: str) -> None:
        text = whole[which]
        at = int(share * (len(text) - 1))
        text = text[:at] + junk + text[at + 1 :]
        _, counts = rows_of(parser, text)
        check_counts(counts, text.replace("\x00", ""), "garbled")
        claim(text)

    @given(text=st.text(alphabet=alphabet, max_size=300), which=which_sample)
    @settings(max_examples=10, deadline=None)
    def noise(text: str, which: int) -> None:
        for body in (text, whole[which] + text):
            _, counts = rows_of(parser, body)
            check_counts(counts, body.replace("\r", ""), "noise")
            claim(body)

    return blocks, cuts, garbled, noise
