"""The frame of parsers for what a benchmark prints at its end: the lines that look likely go one by one to a reader, which keeps rows of
`bench_steps`. What is printed between the runs, and what the runs mean, is the parser's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from .send import Row, send_clock, send_oddities, send_rows
from .streams import likely_lines


@dataclass
class Runs:
    """What is known of the run that is being read, and the rows so far. `odd` counts what is worth a note, by its kind."""

    counts: Counts = field(default_factory=Counts)
    rows: list[Row] = field(default_factory=list)
    odd: Counter[str] = field(default_factory=Counter)

    def take(self, line: int, text: str, whole: bool) -> None:
        """One likely line, with its number; `whole` is False where the end of the source may have cut it."""
        raise NotImplementedError

    def close(self) -> None:
        """The run has ended, with the source at the latest: what is known becomes a row."""

    def steps(self) -> list[Row]:
        """The rows as they are sent."""
        return self.rows


class PrintedRuns:
    """A parser whose PARSER is made of its class: `signs`, one of which every such print holds; `hint` and `most`, see `likely_lines`;
    `reader`; the `columns` of its rows; `notes` on what was odd; `says`, the reason of its claim, with the number of rows."""

    name = ""
    api = 1
    strength = 75
    signs: Sequence[str] = ()
    hint: str | Sequence[str] = ()
    most = 1000
    reader: type[Runs] = Runs
    columns: Sequence[str] = ()
    notes: Mapping[str, str] = {}
    says = "{}"

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.samples = samples
        self.beyond = tuple(self.signs)

    def claims(self, head: Head) -> Claim | Refusal | None:
        if not any(sign in head.text for sign in self.signs):
            return None
        runs = self.reader()
        self._read(runs, 1, head.text)
        runs.close()
        return Claim(self.strength, self.says.format(len(runs.rows)), shares=True) if runs.rows else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps`, `quality` and one of `clocks`."""
        runs = self.reader()
        for first, text in source.blocks():
            self._read(runs, first, text)
        runs.close()
        if rows := runs.steps():
            send_rows(emit, "bench_steps", rows, self.columns)
            send_clock(emit, rows[0]["line"], "none", None, None)
            send_oddities(emit, rows[0]["line"], {kind: runs.odd[kind] for kind in self.notes}, self.notes)
        return runs.counts

    def _read(self, runs: Runs, first: int, text: str) -> None:
        for line, one, whole in likely_lines(first, text, self.hint, self.most, runs.counts):
            runs.take(line, one, whole)
