"""What lies beyond the head of a long source: tables and summaries that begin after its first 256 KiB.

A parser of whole sources claims by the head alone. One that declares `beyond` (literals of which any text that it can read holds at least
one) is given a second chance in a long source that nobody keeps for himself: the line pass looks for the literals as it goes, and where it
met one, that parser reads the surroundings of every such line. Nothing is read twice where there was none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from .parser import Head, Parser, Readable
from .source import BLOCK_BYTES

if TYPE_CHECKING:
    import polars as pl

BEFORE = 60  # lines above a literal: headings and the command line
AFTER = 1000  # lines below it: the rest of a table


class Watched:
    """A source that notes, while somebody reads its blocks, which of some parsers have something to look for in it, and whether a JSON
    document with one of some `keys` may stand in it (engine/inlaid.py)."""

    def __init__(self, source: Readable, parsers: Sequence[Parser], keys: Sequence[str] = ()) -> None:
        self.source, self.keys, self._documents = source, keys, False
        self.waiting = [p for p in parsers if getattr(p, "beyond", ())]
        self.found: list[Parser] = []
        self.name, self.size = source.name, source.size
        self.mtime, self.mtime_kind, self.mtime_resolution_s = source.mtime, source.mtime_kind, source.mtime_resolution_s

    def head(self) -> Head:
        return self.source.head()

    def open(self) -> BinaryIO:
        return self.source.open()

    def blocks(self, size: int = BLOCK_BYTES) -> Iterator[tuple[int, str]]:
        for first, text in self.source.blocks(size):
            if self.waiting and _holds(text, [h for p in self.waiting for h in p.beyond]):  # type: ignore[attr-defined]
                met = [p for p in self.waiting if _holds(text, p.beyond)]  # type: ignore[attr-defined]
                self.waiting = [p for p in self.waiting if p not in met]
                self.found += met
            self._documents = self._documents or self._document_in(text)
            yield first, text

    def holds_documents(self) -> bool:
        """Of a source whose head is all of it, without anybody having read it."""
        head = self.source.head()
        return self._documents or (head.complete and self._document_in(head.text))

    def _document_in(self, text: str) -> bool:
        return bool(self.keys) and (text.startswith("{") or "\n{" in text) and _holds(text, self.keys)


class Surroundings(Watched):
    """A source of which only the lines around some literals are left; the others are blank, so that every line keeps its number."""

    def __init__(self, source: Readable, literals: Sequence[str]) -> None:
        super().__init__(source, ())
        self.literals = literals

    def blocks(self, size: int = BLOCK_BYTES) -> Iterator[tuple[int, str]]:
        held: tuple[int, str, list[int]] | None = None
        open_until = -1  # the last line that a literal above keeps
        for first, text in self.source.blocks(size):
            hits = [first + at for at in _hits(text, self.literals)] if _holds(text, self.literals) else []
            if held:
                yield held[0], _kept(held[0], held[1], [*held[2], *hits[:1]], open_until)
                open_until = max(open_until, *(h + AFTER for h in held[2][-1:]), -1)
            held = first, text, hits
        if held:
            yield held[0], _kept(held[0], held[1], held[2], open_until)


def _holds(text: str, literals: Sequence[str]) -> bool:
    import polars as pl

    return bool(pl.Series([text]).str.contains_any(list(literals)).item())


def _split(text: str) -> pl.Series:
    import polars as pl

    return pl.Series([text]).str.split("\n").explode()


def _hits(text: str, literals: Sequence[str]) -> list[int]:
    """Indices of the lines with a literal."""
    return _split(text).str.contains_any(list(literals)).arg_true().to_list()


def _kept(first: int, text: str, hits: Sequence[int], open_until: int) -> str:
    """A block with the lines that are near no literal emptied. `hits` are line numbers, one of the next block among them at most."""
    import polars as pl

    if not hits and open_until < first:
        return "\n" * text.count("\n")
    lines = _split(text)
    numbers = pl.int_range(first, first + len(lines), eager=True)
    near = pl.DataFrame({"line": numbers}).join_asof(
        pl.DataFrame({"line": hits, "above": hits}, schema={"line": pl.Int64, "above": pl.Int64}), on="line"
    )
    near = near.join_asof(
        pl.DataFrame({"line": hits, "below": hits}, schema={"line": pl.Int64, "below": pl.Int64}), on="line", strategy="forward"
    )
    keep = near.select(
        ((pl.col("line") - pl.col("above") <= AFTER) | (pl.col("below") - pl.col("line") <= BEFORE)).fill_null(False)
        | (pl.col("line") <= open_until)
    ).to_series()
    return "\n".join(pl.select(pl.when(keep).then(lines).otherwise(pl.lit(""))).to_series())
