"""JSON documents inside other text: a result that was printed, or pasted, between the lines of a log or of a report.

A parser of JSON claims a source that is JSON from its first character on. One that declares `inlaid` (keys of which each of its documents
has at least one at the top) is given the documents of other text as well. A document counts where it begins a line, without a blank before
it: what stands further in belongs to something else, to the body of a request for instance. It goes to the parser that would read it as a
file of its own; if that one declares nothing, nobody reads it. Times inside it are not on the clock of the text around it and are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from .json_objects import JsonLines, json_objects
from .parser import Claim, Emit, Head, Parser, Readable
from .tables import table

if TYPE_CHECKING:
    import polars as pl

MAX_KINDS = 50  # sets of keys that are looked at: a benchmark has one or two
MAX_CHARS = 64 << 20  # characters of all documents of a source
_BEGINS = re.compile(r"(?m)^(?=\{\s*\")")
_HEAD_CHARS = 256 * 1024

Found = tuple[int, int, str]
"""First and last line of a document and its text."""


def _keys(parser: Parser) -> tuple[str, ...]:
    return getattr(parser, "inlaid", ())


def literals(parsers: Iterable[Parser]) -> tuple[str, ...]:
    """The keys that parsers declare, as they stand in a text."""
    return tuple(dict.fromkeys(f'"{key}"' for p in parsers for key in _keys(p)))


class Documents:
    """Some documents of a source as a source: all else is blank, so that every document keeps its line."""

    mtime: float | None = None  # the time of a log says nothing about them
    mtime_resolution_s: float | None = None

    def __init__(self, source: Readable, found: Sequence[Found]) -> None:
        self.source, self.found = source, found
        self.name, self.size, self.mtime_kind = source.name, source.size, source.mtime_kind

    def head(self) -> Head:
        text = "\n".join(one for _, _, one in self.found) + "\n"
        return Head(self.name, text[:_HEAD_CHARS].encode(), text[:_HEAD_CHARS], len(text) <= _HEAD_CHARS)

    def open(self) -> BinaryIO:
        return self.source.open()

    def blocks(self, size: int = 0) -> Iterator[tuple[int, str]]:
        at = 1
        for first, last, text in self.found:
            yield at, "\n" * (first - at) + text + "\n"
            at = last + 1


class _Opened:
    """A source whose one-line objects without any of some keys are blank: a log of JSON lines is not decoded for one result in it."""

    def __init__(self, source: Readable, keys: Sequence[str]) -> None:
        self.source, self.keys = source, list(keys)

    def blocks(self, size: int = 0) -> Iterator[tuple[int, str]]:
        import polars as pl

        for first, text in self.source.blocks():
            if "{" in text:
                lines = pl.Series([text]).str.split("\n").explode()
                away = lines.str.contains(r"^\{.*\}\s*$") & ~lines.str.contains_any(self.keys)
                text = "\n".join(lines.zip_with(~away, pl.Series([""]))) if away.any() else text
            yield first, text


def documents(source: Readable, parsers: Sequence[Parser]) -> list[tuple[Parser, Documents]]:
    """The parsers that read documents of a source, each with its own ones."""
    keys = {key for p in parsers for key in _keys(p)}
    kinds: dict[frozenset[str], list[Found]] = {}
    size, free = 0, 1
    for first, last, doc in json_objects(JsonLines(_Opened(source, literals(parsers))), _BEGINS):  # type: ignore[arg-type]
        if doc is None or first < free or not keys & doc.keys():
            continue
        try:
            text = "{" + "\n" * (last - first) + json.dumps(doc)[1:]  # as many lines as it had
        except RecursionError:
            continue
        kind = frozenset(doc)
        size, free = size + len(text), last + 1
        if size > MAX_CHARS or (len(kinds) >= MAX_KINDS and kind not in kinds):
            break
        kinds.setdefault(kind, []).append((first, last, text))
    taken: dict[str, list[Found]] = {}
    for found in kinds.values():
        taken.setdefault(_reader(Documents(source, found).head(), parsers), []).extend(found)
    return [(p, Documents(source, sorted(taken[p.name]))) for p in parsers if p.name in taken and _keys(p)]


def _reader(head: Head, parsers: Sequence[Parser]) -> str:
    """Who would read a file of these documents."""
    claims = [(0, "")]
    for parser in parsers:
        try:
            answer = parser.claims(head)
        except Exception:  # it has been reported when it was asked about the whole source
            continue
        if isinstance(answer, Claim):
            claims.append((-answer.strength, parser.name))
    return min(claims)[1]


def timeless(emit: Emit, others: bool) -> Emit:
    """Rows without the times of the document. With `others`, results that stand beside some of the text itself, which may be of the same
    run, are a series of their own."""
    import polars as pl

    def inner(target: str, frame: pl.DataFrame) -> None:
        times = [c for c in (*table(target).times, "resolution_s") if c in frame.columns]
        frame = frame.with_columns(pl.lit(None, frame.schema[c]).alias(c) for c in times)
        if target == "clocks":
            frame = frame.select("line", kind=pl.lit("none"))
        if target == "bench_steps" and others:
            named = pl.col("series") if "series" in frame.columns else pl.lit(None, pl.String)
            frame = frame.with_columns(series=pl.concat_str(pl.lit("JSON"), named, separator=" ", ignore_nulls=True))
        emit(target, frame)

    return inner
