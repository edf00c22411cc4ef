"""The conformance kit for parser and rule authors.

`rows_of(parser, text)` runs one parser (of whole sources, or a line format) over a text and returns its rows; `check_samples(parser)`
runs the declared samples; `check_conformance(parser)` runs everything a parser must bear: samples, any block size, wrappers, cuts,
garbled bytes, counts that add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from .line_format import LineFormat
from .parser import Counts, Parser
from .source import BLOCK_BYTES, Source
from .tables import table

if TYPE_CHECKING:
    import polars as pl

Rows = dict[str, list[dict[str, Any]]]
TIMES = ("time", "sent_at", "queued_at", "started_at", "first_token_at", "finished_at", "resolution_s")

WRAPPERS: Mapping[str, Callable[[int, str], str]] = {
    "docker logs -t": lambda i, s: f"2026-03-01T10:00:{i % 60:02d}.{i:09d}Z {s}",
    "docker compose": lambda i, s: f"server-1  | {s}",
    "journald short": lambda i, s: f"Mar 01 10:00:{i % 60:02d} box serve[77]: {s}",
    "journald short-iso": lambda i, s: f"2026-03-01T10:00:{i % 60:02d}+0100 box serve[77]: {s}",
    "kubernetes": lambda i, s: f"2026-03-01T10:00:{i % 60:02d}.{i:09d}Z stderr F {s}",
    "ANSI": lambda i, s: f"\x1b[1;36m{s[:1]}\x1b[0m{s[1:]}\x1b[0m",
    "CRLF": lambda i, s: f"{s}\r",
    "progress bar": lambda i, s: f" 50%|#####     | 1/2 [00:01<00:01]\r{s}",
}
"""Name -> what puts a line number and a line into that wrapper. Rows must not change, but for times a wrapper adds."""

ZONED = ("docker logs -t", "kubernetes", "journald short-iso")


def rows_of(parser: Parser | LineFormat, text: str | bytes, name: str = "sample.txt", block: int = BLOCK_BYTES) -> tuple[Rows, Counts]:
    """Rows per table (only declared columns; unknown tables or columns are errors) and the counts of one parser over a text."""
    from .parse import read_lines

    out: Rows = {}

    def emit(target: str, frame: pl.DataFrame) -> None:
        known = set(table(target).names)
        extra = set(frame.columns) - known
        assert not extra, f"{parser.name} emits undeclared columns {sorted(extra)} into {target}"
        out.setdefault(target, []).extend(frame.to_dicts())

    source = Source.from_text(text, name)
    if not isinstance(parser, LineFormat):
        return out, parser.parse(source, emit)
    readings = read_lines(source, [parser], emit, _scratch(), block=block)
    broken = [q for q in out.get("quality", []) if q["kind"] == "parser-failed"]
    assert not broken, f"{parser.name} failed: {broken}"
    return out, readings[0].counts if readings else _unread(parser, source)


@cache
def _scratch() -> Any:
    """One database for the staged rows of all checks: opening one takes longer than most checks."""
    import duckdb

    return duckdb.connect(":memory:", config={"threads": 1})


def _unread(form: LineFormat, source: Source) -> Counts:
    """Counts of a text in which the format matched nothing (the line pass reports only formats that found something)."""
    from .recognise import scan

    with source.open() as stream:
        text = stream.read().decode(source.encoding, errors="replace")
    return scan(text, [form])[0].counts


def check_samples(parser: Parser | LineFormat) -> None:
    """Every declared sample gives exactly its rows; the counts add up to its lines."""
    assert parser.samples, f"{parser.name} has no samples"
    if isinstance(parser, LineFormat):
        from .match import check_format

        check_format(parser)
    for sample in parser.samples:
        got, counts = rows_of(parser, sample.text, sample.name)
        where = f"{parser.name}, sample {sample.versions}"
        for target, expected in sample.rows.items():
            check_rows(got.get(target, []), expected, f"{where}: {target}")
        check_counts(counts, sample.text, where)


def check_rows(rows: Sequence[Mapping[str, Any]], expected: Sequence[Mapping[str, Any]], where: str) -> None:
    """As many rows as expected, in order, with the expected values in the columns that are stated."""
    assert len(rows) == len(expected), f"{where}: {len(rows)} rows, expected {len(expected)}: {list(rows)}"
    for row, want in zip(rows, expected):
        for column, value in want.items():
            have = row.get(column)
            close = isinstance(value, float) and have is not None and abs(have - value) <= 1e-9 * max(1.0, abs(value))
            assert have == value or close, f"{where}.{column} is {have!r}, expected {value!r}"


def check_counts(counts: Counts, text: str, where: str) -> None:
    """matched + noise + near_miss + other is the number of lines."""
    text = text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")  # without any newline, returns end lines
    lines = len(text.split("\n")) - text.endswith("\n") - (text == "")
    parts = (counts.matched, counts.noise, counts.near_miss, counts.other)
    assert all(n >= 0 for n in parts), f"{where}: negative counts {counts}"
    assert counts.lines == lines, f"{where}: {counts} does not add up to {lines} lines"


def same_rows(a: Rows, b: Rows, ignore: Iterable[str] = (), moved: bool = False) -> str | None:
    """None where two sets of rows agree, else where they differ. Times may appear that were NULL; `ignore` names whole tables.

    `moved`: a wrapper with a zone may move the times of the rows to its own clock.
    """
    for target in sorted((set(a) | set(b)) - set(ignore)):
        if len(a.get(target, [])) != len(b.get(target, [])):
            return f"{target}: {len(a.get(target, []))} and {len(b.get(target, []))} rows"
        for x, y in zip(a.get(target, []), b.get(target, [])):
            for column in set(x) | set(y):
                if column in TIMES and (x.get(column) is None or column == "resolution_s" or (moved and y.get(column) is not None)):
                    continue
                if not _equal(x.get(column), y.get(column)):
                    return f"{target}.{column}: {x.get(column)!r} and {y.get(column)!r}"
    return None


def _equal(x: Any, y: Any) -> bool:
    return bool(x == y or (isinstance(x, float) and isinstance(y, float) and abs(x - y) <= 1e-6 * max(1.0, abs(x))))


def wrapped(text: str, wrapper: Callable[[int, str], str]) -> str:
    """Every line of a text inside a wrapper."""
    lines = text.split("\n")
    return "\n".join(wrapper(i, line) if i < len(lines) - 1 else line for i, line in enumerate(lines))


def check_block_sizes(form: LineFormat, text: str, sizes: Iterable[int] = ()) -> None:
    """Rows and counts do not depend on where blocks are cut: within lines, and between them."""
    whole, counts = rows_of(form, text)
    for size in sizes or (max(50, len(text) // 20), 700):
        got, again = rows_of(form, text, block=size)
        assert (differs := same_rows(whole, got)) is None, f"{form.name}, blocks of {size} bytes: {differs}"
        assert counts == again, f"{form.name}, blocks of {size} bytes: {again} instead of {counts}"


def check_wrappers(form: LineFormat, text: str, names: Iterable[str] = tuple(WRAPPERS)) -> None:
    """Docker, journal, colours and line ends change no value."""
    plain, _ = rows_of(form, text)
    for name in names:
        got, counts = rows_of(form, wrapped(text, WRAPPERS[name]))
        assert (differs := same_rows(plain, got, ignore=("clocks",), moved=name in ZONED)) is None, f"{form.name} in {name}: {differs}"
        check_counts(counts, text, f"{form.name} in {name}")


def values(rows: Rows, ignore: Iterable[str] = ("clocks", "quality")) -> set[tuple[str, str, Any]]:
    """(table, column, value) of all numbers and words, without line numbers, runs and times. Settings go by their key."""
    skip = {*TIMES, "line", "run", "request"}
    return {
        (target, str(row["key"]) if column in ("value", "num", "num_hi") and "key" in row else column, value)
        for target, found in rows.items()
        if target not in ignore
        for row in found
        for column, value in row.items()
        if value is not None and column not in skip
    }


_whole: dict[tuple[int, str], set[tuple[str, str, Any]]] = {}  # the values of the text that is being cut


def check_cut(form: LineFormat, text: str, at: int, derived: Iterable[str] = ()) -> None:
    """A text cut anywhere raises nothing, gives no value the whole text does not give, and its counts add up.

    `derived`: columns computed from several lines, or states, which may honestly differ when lines are missing.
    """
    if (id(form), text) not in _whole:
        _whole.clear()
        _whole[id(form), text] = values(rows_of(form, text)[0])
    got, counts = rows_of(form, text[:at])
    check_counts(counts, text[:at], f"{form.name} cut at {at}")
    invented = {v for v in values(got) - _whole[id(form), text] if v[1] not in set(derived)}
    assert not invented, f"{form.name} cut at {at}: invented {sorted(map(str, invented))}"


def check_garbled(form: LineFormat, text: str, at: int, byte: int) -> None:
    """One byte replaced raises nothing and the counts add up."""
    data = bytearray(text.encode())
    if data:
        data[at % len(data)] = byte
    _, counts = rows_of(form, bytes(data))
    source = Source.from_text(bytes(data))
    lines = sum(block.count("\n") + (not block.endswith("\n")) for _, block in source.blocks())
    assert counts.lines == lines, f"{form.name} with byte {byte} at {at}: {counts} does not add up to {lines} lines"


def check_conformance(form: LineFormat, derived: Iterable[str] = ()) -> None:
    """Everything above over the declared samples of a line format: every wrapper on the longest sample, one in turn on the others."""
    check_samples(form)
    names = tuple(WRAPPERS)
    longest = max(form.samples, key=lambda sample: len(sample.text))
    for n, sample in enumerate(form.samples):
        check_block_sizes(form, sample.text)
        check_wrappers(form, sample.text, names if sample is longest else (names[n % len(names)],))
        for third in (1, 2):
            check_cut(form, sample.text, third * len(sample.text) // 3, derived)
        at = (n + 1) * len(sample.text) // (len(form.samples) + 1)
        check_garbled(form, sample.text, at, (at * 7) % 256)


def empty_trace() -> Any:
    """A Store with every table and view and no rows: rules must build on it, and every SELECT of a view runs."""
    from . import catalog, clock, join, steps
    from .store import Store
    from .tables import VIEWS

    store = Store()
    catalog.load(store.con)
    clock.align(store, {}, {}, None)
    join.join(store, ("bench_series",), all_run=True)
    steps.match_steps(store)
    join.join(store, tuple(v.name for v in VIEWS if v.name != "bench_series"), all_run=True)
    return store
