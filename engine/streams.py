"""Sources whose lines wear what containers, journals and launchers put in front of them, read as one plain source per stream.

`kubectl logs --timestamps`, `docker compose logs`, `nvidia-smi dmon | ts`, `srun -l`, `pdsh`: the columns of a table begin behind the
prefix, and the lines of several machines may interleave. For parsers of line-wise text that look at columns, not at anchors; prefixes
that logs share are in `peel.py`, two more that only text without times of its own can lose are here.

A stream is read alone: the lines of the others are blank for its parser, so that line numbers hold. The name a launcher of remote shells
puts in front becomes `host`. The time of a prefix becomes `time` where the format itself prints none.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar

from .parser import MAX_REJECTS, Counts, Emit, Head, Readable
from .peel import PEELERS, WHOLE_SHARE, active_peelers, outer_times, peel, read_time, unwrap_json
from .send import send_note
from .tables import table

if TYPE_CHECKING:
    import polars as pl

MAX_STREAMS = 64
PIECE_BYTES = 2 * 1024 * 1024
KEPT_BLOCKS = 8  # a parser may hold lines back for some blocks before it emits their rows
# single lines wear these in other programs' logs; here `[10] ` begins a card of gpustat. Hosts have a rule of their own below.
_PEELERS = frozenset(i for i, p in enumerate(PEELERS) if p.name not in ("spinner", "interrupt", "dots", "router", "pdsh"))
_HOST = r"^([A-Za-z][\w.-]{0,62})(?: (?:out|err))?:(?: |$)"  # pdsh, dsh, clush, parallel-ssh
_NO_HOST = r"(?i)^(?:info|debug|warn|warning|error|notice|stdout|stderr|output|rank|task|timestamp|gpu|link)[0-9]*$"
_STAMP = r"^\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?)\]?:? "  # ts '%F %T', echo "$(date) ..."
_RECORD = '{"log":"'
_ANY = re.compile(
    "|".join([_HOST, _STAMP, re.escape(_RECORD), *(re.sub(r"\(\?P<\w+>", "(?:", PEELERS[i].pattern) for i in sorted(_PEELERS))])
)
_COLOURS = r"\x1b(?:\[[0-9;?]*[A-Za-z]|\(B)"
_QUOTES = r"^\s*(?:>\s?)+"
_COMMENT = r"^(?:#+|//+)[ \t]*(#|\[?[0-9]|(?:GPU|TIMESTAMP|Device|Entity)[\s\[])"  # signs of a script in front of a printout's line
_HEAD_LINES = 20_000
_UNNAMED = "several processes print cards of the same number, and nothing says whether they are on one machine: they are not told apart"


class Counting(Protocol):
    """What a parser keeps from piece to piece."""

    @property
    def counts(self) -> Counts: ...


S = TypeVar("S", bound=Counting)


@dataclass(frozen=True)
class _Worn:
    """Which prefixes count in a source."""

    peelers: frozenset[int] = frozenset()
    hosts: bool = False
    stamps: bool = False
    records: bool = False  # Docker's json-file

    def __bool__(self) -> bool:
        return bool(self.peelers) or self.hosts or self.stamps or self.records


def plain_head(head: Head) -> Head:
    """The head without prefixes; the same head where no line wears one."""
    worn = _worn(head.text)
    return replace(head, text=_plain_text(head.text)) if worn else head


def bare_lines(text: str) -> list[str]:
    """The lines of a head as `numbered_lines` would give them, for claims that look at each with patterns of their own."""
    bare = (re.sub(_QUOTES, "", re.sub(_COLOURS, "", x)).strip("` \t\r\u00a0").replace("\\#", "#") for x in text.split("\n")[:_HEAD_LINES])
    return [re.sub(_COMMENT, r"\1", x) for x in bare]


def numbered_lines(first: int, text: str, escapes: bool = False) -> tuple[pl.DataFrame, bool]:
    """`line`, `raw` and `text` of every line, and whether the last one lacks its end. `text` is without colours, what a carriage return
    overwrote, the quotes of a mail, the comment sign of a script and blanks around it; with `escapes` also without Markdown's `\\#` and a `^C` echoed into it."""
    import polars as pl

    lines = text.split("\n")
    cut = lines[-1] != ""
    if not cut:
        lines.pop()
    body = pl.col("raw").str.replace_all(_COLOURS, "").str.strip_chars_end("\r").str.replace(r"^.*\r", "")
    body = body.str.replace(_QUOTES, "")
    if escapes:
        body = body.str.replace_all(r"\\([#_*-])", "$1").str.replace_all("^C", "", literal=True)
    frame = pl.DataFrame({"raw": lines}, schema={"raw": pl.String}).with_row_index("line", offset=first)
    body = body.str.strip_chars("` \t\u00a0").str.replace(_COMMENT, "${1}")
    return frame.with_columns(pl.col("line").cast(pl.Int64), text=body), cut


def likely_lines(first: int, block: str, hint: str | Sequence[str], most: int, counts: Counts) -> Iterator[tuple[int, str, bool]]:
    """The lines of a block that are worth a look one by one: those with the pattern, or with one of the literals, and no longer than `most`
    bytes. Gives number, text and whether the line is whole: the last one of a source may be cut. All others count as `other`."""
    import polars as pl

    lines = pl.Series(block.split("\n"), dtype=pl.String)
    whole = block.endswith("\n")
    lines = lines.head(len(lines) - 1) if whole else lines
    told = lines.str.contains(hint) if isinstance(hint, str) else lines.str.contains_any(list(hint))
    hit = told & (lines.str.len_bytes() <= most)
    counts.other += int((~hit).sum())
    for at in hit.arg_true().to_list():
        yield first + at, lines[at], whole or at < len(lines) - 1


@lru_cache(maxsize=4)  # many parsers look at one head
def _plain_text(text: str) -> str:
    return "\n".join(_peeled(1, text, _worn(text))["text"])


def by_stream(source: Readable, emit: Emit, parse: Callable[[Readable, Emit], Counts]) -> Counts:
    """Runs `parse` once per stream of a source whose lines wear prefixes; once on the source itself where none does."""
    worn = _worn(source.head().text)
    if not worn:
        return parse(source, emit)
    out, rest, shared = Counts(), 0, _Shared()
    for number, (stream, lines) in enumerate(_streams(source, worn).items()):
        if number >= MAX_STREAMS:
            rest += lines
            continue
        plain = _Plain(source, worn, stream)
        counts = parse(plain, _Tagged(emit, plain, shared))
        out.matched += counts.matched
        out.noise += counts.noise - plain.blanked
        out.near_miss += counts.near_miss
        out.other += counts.other
        out.rejects += counts.rejects
    out.other += rest
    out.rejects = sorted(out.rejects)[:MAX_REJECTS]
    shared.send(emit)
    return out


def piece_by_piece(
    source: Readable,
    emit: Emit,
    state: Callable[[], S],
    read: Callable[[int, str, S, Emit], None],
    finish: Callable[[S, Emit], None],
    pieces: Callable[[Readable], Iterator[tuple[int, str]]] = lambda source: source.blocks(PIECE_BYTES),
) -> Counts:
    """Every stream of a source, see `by_stream`, in pieces of (number of the first line, text). `state` makes what the next piece must know
    of those before it, with its `counts`; `finish` emits what only the whole stream tells: its clock, its cards, what was odd."""

    def parse(plain: Readable, emit: Emit) -> Counts:
        known = state()
        for first, text in pieces(plain):
            read(first, text, known, emit)
        finish(known, emit)
        return known.counts

    return by_stream(source, emit, parse)


@lru_cache(maxsize=4)
def _worn(text: str) -> _Worn:
    """A prefix counts where enough lines of the head wear it: the others' lines are somebody else's text."""
    import polars as pl

    said = [line for line in text.split("\n") if line.strip()]
    if not any(_ANY.match(line) for line in said):  # thousands of small files meet this question
        return _Worn()
    lines = pl.Series(said, dtype=pl.String)
    if lines.str.starts_with(_RECORD).mean() >= 0.5:  # type: ignore[operator]
        return _Worn(records=True)
    hosts = lines.str.contains(_HOST) & ~lines.str.extract(_HOST, 1).str.contains(_NO_HOST).fill_null(False)
    stamps = bool((lines.str.contains(_STAMP).mean() or 0) >= WHOLE_SHARE)  # type: ignore[operator]
    worn = _Worn(hosts=bool((hosts.mean() or 0) >= 0.5), stamps=stamps)  # type: ignore[operator]
    peelers = active_peelers("\n".join(_peeled(1, "\n".join(lines), worn)["text"])) & _PEELERS
    used = peelers and _peeled(1, "\n".join(lines), replace(worn, peelers=peelers))
    alone = _peeled(1, "\n".join(lines), worn)["text"] if peelers else None
    return replace(worn, peelers=peelers) if peelers and (used["text"] != alone).any() else worn  # type: ignore[index]


def _peeled(first: int, text: str, worn: _Worn) -> pl.DataFrame:
    """line, text, host, stream (which also tells hosts apart), outer_t, outer_kind and outer_res."""
    import polars as pl

    body = pl.col("text")
    frame = pl.DataFrame({"text": text.split("\n")}, schema={"text": pl.String}).with_row_index("line", offset=first).with_columns(
        pl.col("line").cast(pl.Int64), host=pl.lit(None, pl.String), stream=pl.lit(""), outer_raw=pl.lit(None, pl.String)
    )  # fmt: skip
    inner, outer, _ = unwrap_json(frame["text"], text) if worn.records else (None, None, None)
    if inner is not None and outer is not None:
        frame = frame.with_columns(text=inner, outer_raw=outer)
    if worn.hosts:
        name = body.str.extract(_HOST, 1)
        name = pl.when(~name.str.contains(_NO_HOST)).then(name)
        frame = frame.with_columns(host=name, text=pl.when(name.is_not_null()).then(body.str.replace(_HOST, "")).otherwise(body))
    stamp = frame["text"].str.extract(_STAMP, 1).str.replace_all("/", "-", literal=True) if worn.stamps else None
    if stamp is not None:
        frame = frame.with_columns(text=body.str.replace(_STAMP, ""))
    frame = outer_times(peel(frame, worn.peelers) if worn.peelers or worn.records else frame)
    if stamp is not None:
        digits = stamp.str.extract(r"[.,]([0-9]+)$").str.len_bytes().clip(0, 6).fill_null(0).cast(pl.Int32)
        kind = pl.Series(["local-no-zone"]).new_from_index(0, len(stamp))
        frame = frame.with_columns(
            outer_t=pl.coalesce(read_time(stamp, "iso")[0], "outer_t"),
            outer_kind=pl.when(stamp.is_not_null()).then(kind).otherwise("outer_kind"),
            outer_res=pl.when(stamp.is_not_null()).then(10.0 ** -digits.cast(pl.Float64)).otherwise("outer_res"),
        )
    return frame.with_columns(stream=pl.concat_str(pl.col("host").fill_null(""), pl.lit(" "), "stream"))


def _blocks(source: Readable, worn: _Worn, size: int | None = None) -> Iterator[tuple[int, bool, pl.DataFrame]]:
    """(first line, the block ends with a line end, its lines without prefixes)."""
    for first, text in source.blocks() if size is None else source.blocks(size):
        ended = text.endswith("\n")
        yield first, ended, _peeled(first, text[:-1] if ended else text, worn)


def _streams(source: Readable, worn: _Worn) -> dict[str, int]:
    """All streams in the order of their first line, and how many lines each has. Blank lines belong to the one without a name."""
    out: dict[str, int] = {}
    for _, _, frame in _blocks(source, worn):
        for stream, n in frame.group_by("stream", maintain_order=True).len().iter_rows():
            out[stream] = out.get(stream, 0) + n
    return out


@dataclass
class _Plain:
    """One stream of a source, without prefixes: a `Readable`."""

    source: Readable
    worn: _Worn
    stream: str
    blanked: int = 0  # lines of other streams
    times: deque[pl.DataFrame] = field(default_factory=lambda: deque(maxlen=KEPT_BLOCKS))

    def __post_init__(self) -> None:
        self.name, self.size = self.source.name, self.source.size
        self.mtime, self.mtime_kind = self.source.mtime, self.source.mtime_kind
        self.mtime_resolution_s = self.source.mtime_resolution_s

    @property
    def host(self) -> str | None:
        return self.stream.partition(" ")[0] or None

    def head(self) -> Head:
        head = self.source.head()
        return replace(head, text="\n".join(self._mine(_peeled(1, head.text, self.worn))))

    def open(self) -> BinaryIO:
        return self.source.open()

    def blocks(self, size: int | None = None) -> Iterator[tuple[int, str]]:
        self.blanked = 0
        for first, ended, frame in _blocks(self.source, self.worn, size):
            self.blanked += int((frame["stream"] != self.stream).sum())
            self.times.append(frame.filter(frame["outer_t"].is_not_null()).select("line", "outer_t", "outer_kind", "outer_res"))
            mine = self._mine(frame)
            # an unfinished last line that is blank here must still be a line
            yield first, "\n".join(mine) + "\n" * (ended or mine[-1] == "")

    def _mine(self, frame: pl.DataFrame) -> pl.Series:
        import polars as pl

        return frame.select(pl.when(pl.col("stream") == self.stream).then("text").otherwise(pl.lit("")))["text"]


@dataclass
class _Shared:
    """What the streams of one source have in common: one clock, and cards that no host tells apart."""

    clock: pl.DataFrame | None = None
    outer: tuple[str, float | None] | None = None
    cards: dict[int, str] = field(default_factory=dict)  # card without a host -> stream
    unnamed: set[int] = field(default_factory=set)
    timed_by: str = ""  # whose times the rows carry: own or outer. One source has one clock.
    first_line: int = 1

    def send(self, emit: Emit) -> None:
        import polars as pl

        if self.clock is not None:
            if self.outer is not None:
                kind, resolution = self.outer
                self.clock = self.clock.with_columns(kind=pl.lit(kind), resolution_s=pl.lit(resolution, pl.Float64))
            emit("clocks", self.clock)
        if self.unnamed:
            send_note(emit, self.first_line, "streams-unnamed", len(self.unnamed), _UNNAMED)


@dataclass
class _Tagged:
    """emit() that adds host and outer time to the rows of one stream and keeps its clock back."""

    emit: Emit
    plain: _Plain
    shared: _Shared

    def __call__(self, target: str, frame: pl.DataFrame) -> None:
        import polars as pl

        if target == "clocks":
            if self.shared.clock is None or self.shared.clock["kind"][0] == "none":
                self.shared.clock = frame
            return
        columns = table(target).names
        if self.plain.host is not None and "host" in columns:
            stated = pl.col("host") if "host" in frame.columns else pl.lit(None, pl.String)
            frame = frame.with_columns(host=pl.coalesce(stated, pl.lit(self.plain.host)))
        elif target == "gpu_samples":
            for card in frame["gpu"].drop_nulls().unique():
                if self.shared.cards.setdefault(card, self.plain.stream) != self.plain.stream:
                    self.shared.unnamed.add(card)
                    self.shared.first_line = int(frame["line"][0])
        self.emit(target, self._timed(frame) if "time" in columns and "line" in frame.columns else frame)

    def _timed(self, frame: pl.DataFrame) -> pl.DataFrame:
        import polars as pl

        shared, known = self.shared, [t for t in self.plain.times if len(t)]
        if not shared.timed_by:
            own = "time" in frame.columns and bool(frame["time"].is_not_null().any())
            shared.timed_by = "own" if own else "outer" if known else ""
        if shared.timed_by != "outer":
            return frame
        frame = frame.drop("time", strict=False)
        if not known:
            return frame
        kind = known[-1]["outer_kind"][0] if shared.outer is None else shared.outer[0]
        times = pl.concat(known).filter(pl.col("outer_kind") == kind)
        shared.outer = shared.outer or (kind, times["outer_res"][0])
        return frame.join(times.select("line", time="outer_t"), on="line", how="left", maintain_order="left")
