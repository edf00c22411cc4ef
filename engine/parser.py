"""The contract of a parser that is not a line format: it claims a source by its head and emits typed rows.

This module imports neither polars nor duckdb: `gpuverdict --help` and the catalogues must stay cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, runtime_checkable

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Sample:
    """A piece of input with the rows it must give: executed by the conformance checks, printed by `gpuverdict parsers NAME`.

    `rows` maps a table to the expected rows, each a dict of the columns worth stating (times on the source clock). A parser
    must give exactly as many rows in the named tables, and none in a table mapped to an empty list.
    `name` is the file name the text would have (it matters only to parsers that look at names).
    """

    text: str
    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    versions: str
    name: str = "sample.txt"


@dataclass(frozen=True)
class Head:
    """What a parser may look at to claim a source."""

    name: str
    raw: bytes
    text: str
    complete: bool  # the head is the whole source


@dataclass(frozen=True)
class Claim:
    """A parser reads this source. `strength` 0..100 orders claims when several parsers want the whole source; `reason` is shown.

    90 and more: an unmistakable signature; 50: the shape fits; 20: it could be.
    `shares` lets other parsers read the same source as well (a table inside a Markdown report beside log lines).
    """

    strength: int
    reason: str
    shares: bool = False


@dataclass(frozen=True)
class Refusal:
    """Nearly claimed: `missing` says what was lacking. Shown for files that nobody reads."""

    nearness: int
    missing: str


MAX_REJECTS = 10  # near misses that a parser names of one source


@dataclass
class Counts:
    """How every line of a source ended. The four add up to the lines read."""

    matched: int = 0
    noise: int = 0
    near_miss: int = 0
    other: int = 0
    rejects: list[tuple[int, str]] = field(default_factory=list)  # (line, reason), the first MAX_REJECTS near misses

    @property
    def lines(self) -> int:
        return self.matched + self.noise + self.near_miss + self.other

    def near(self, line: int, reason: str) -> None:
        """One more line that nearly fits, and what is wrong with it."""
        self.near_miss += 1
        if len(self.rejects) < MAX_REJECTS:
            self.rejects.append((line, reason))

    def block(self, lines: int, matched: int, noise: int, near: Collection[int], reason: str) -> None:
        """A block of so many lines: these were read, these are part of the format and hold nothing, the lines with the numbers in `near`
        nearly fit. The rest is `other`."""
        self.matched += matched
        self.noise += noise
        self.near_miss += len(near)
        self.other += lines - matched - noise - len(near)
        self.rejects += [(line, reason) for line in islice(near, MAX_REJECTS - len(self.rejects))]


def together(all_counts: Iterable[Counts]) -> Counts:
    """How the lines of one source ended that several parsers read: a line counts as understood if any of them took it, and never twice."""
    each = list(all_counts)
    lines = max((c.lines for c in each), default=0)
    matched = min(sum(c.matched for c in each), lines)
    near_miss = min(sum(c.near_miss for c in each), lines - matched)
    noise = min(max((c.noise for c in each), default=0), lines - matched - near_miss)
    return Counts(matched, noise, near_miss, lines - matched - near_miss - noise)


class Readable(Protocol):
    """What a parser sees of a source. All reading is streamed, decompressed and bounded by the collector."""

    name: str
    size: int | None
    mtime: float | None
    mtime_kind: str
    mtime_resolution_s: float | None

    def head(self) -> Head: ...

    def open(self) -> BinaryIO: ...

    def blocks(self, size: int = ...) -> Iterator[tuple[int, str]]:
        """Decoded text in blocks cut at line ends, with the number of the block's first line (from 1)."""
        ...


Emit = Callable[[str, "pl.DataFrame"], None]
"""emit(table, frame): columns by their declared names; missing ones become NULL; `line` is expected, `source_id` is added."""


@runtime_checkable
class Parser(Protocol):
    """A parser of whole sources (CSV, JSON, tables, listings).

    `name` is the module's name with dashes; `api` is 1; `samples` are mandatory, from several versions of the format.
    `claims` answers with a Claim, a Refusal (nearly, and what is missing) or None, from the head alone.
    `parse` emits rows and returns the counts. It raises nothing for bad input: the bad part is counted and left out.

    A parser may also have `beyond`, a tuple of literals of which any text that it can read holds at least one: it is then looked for
    beyond the head as well, in long sources that no parser keeps for itself (engine/beyond.py). `inlaid`, keys of which each of its JSON
    documents has one at the top: they are then read between the lines of other text, too (engine/inlaid.py). And `records`, the command that records
    what it reads, where nvidia-smi does not know the cards: advice then names it (engine/recorders.py).
    """

    name: str
    api: int
    samples: Sequence[Sample]

    def claims(self, head: Head) -> Claim | Refusal | None: ...

    def parse(self, source: Readable, emit: Emit) -> Counts: ...
