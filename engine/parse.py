"""A source in, typed rows out: parsers of whole sources, and all line formats in one pass over the blocks.

`read(source, parsers, emit, con)` is the one entry. It recognises, runs the parsers that claim the source, then passes the lines
to every line format (in the order of `recognise.precedence`), and emits rows, one row of `clocks` for the line pass, and quality
rows. It never raises for bad input or a bad parser: a parser that raises becomes the quality row `parser-failed`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from .arrow import frame_of, lent
from .exports import Layout, layout_of, plain_lines, strip_paste
from .line_format import LineFormat
from .match import MAX_REJECTS, Hits, Matched, Matcher
from .parser import Counts
from .peel import QUOTE, active_peelers, is_quoted, outer_times, peel, strip_colours, strip_entries, unwrap_json
from .source import BLOCK_BYTES
from .tables import table

if TYPE_CHECKING:
    import duckdb
    import polars as pl

    from .parser import Emit, Parser, Readable
    from .recognise import Recognition

BASE = ("line", "run", "t", "clk", "res", "stamped", "outer_t", "outer_kind", "outer_res", "kind", "must")
_serial = itertools.count()
T = TypeVar("T")


@dataclass
class Reading:
    """What one parser made of one source. `rows` counts the rows emitted; `clock` is the clock kind the line pass settled on."""

    parser: str
    counts: Counts
    rows: int = 0
    tables: dict[str, int] = field(default_factory=dict)
    reason: str = ""
    clock: str | None = None


def read(
    source: Readable,
    parsers: Sequence[Parser | LineFormat],
    emit: Emit,
    con: duckdb.DuckDBPyConnection | None = None,
    recognition: Recognition | None = None,
    block: int = BLOCK_BYTES,
) -> list[Reading]:
    """Everything the parsers find in a source, one Reading for each that found something (or nearly did).

    emit(table, frame) gets rows on the source clock, without `source_id`. `con` holds staged rows for the time of the call (temporary
    tables, dropped at the end); without one a private database in memory is used.
    """
    from .beyond import Surroundings, Watched
    from .inlaid import literals
    from .recognise import contenders, recognise

    found = recognition or recognise(source, parsers)
    by_name = {p.name: p for p in parsers}
    readings = [
        run_parser(by_name[name], source, _own_cycles(emit, place), found.reasons.get(name, ""))  # type: ignore[arg-type]
        for place, name in enumerate(found.whole)
    ]
    if not found.exclusive:
        order = found.order if found.order is not None else contenders(source, [p for p in parsers if isinstance(p, LineFormat)])[0]
        wholes = [p for p in parsers if not isinstance(p, LineFormat)]
        late = () if source.head().complete else [p for p in wholes if p.name not in found.whole]
        watched = Watched(source, late, literals(wholes))
        readings += read_lines(watched, order, emit, con, block, found.done)
        for place, parser in enumerate(watched.found, len(found.whole)):
            around = Surroundings(source, parser.beyond)  # type: ignore[attr-defined]
            reading = run_parser(parser, around, _own_cycles(emit, place), "found far beyond the beginning of the file")
            readings += [reading] if reading.counts.matched else []
        if watched.holds_documents():
            readings += _read_documents(source, wholes, emit, any("bench_steps" in r.tables for r in readings))
    return readings


def _read_documents(source: Readable, parsers: Sequence[Parser], emit: Emit, told: bool) -> list[Reading]:
    """The JSON documents inside other text. `told`: some results of the text itself were read."""
    from .inlaid import documents, timeless

    all_readings = (run_parser(p, own, timeless(emit, told), "a JSON document inside other text") for p, own in documents(source, parsers))
    return [reading for reading in all_readings if reading.counts.matched]


def _own_cycles(emit: Emit, place: int) -> Emit:
    """Sampling rounds are numbered by each parser from 0: those of the second and later parsers of a source move out of the way."""
    import polars as pl

    def inner(target: str, frame: pl.DataFrame) -> None:
        if "cycle" in frame.columns:
            frame = frame.with_columns(pl.col("cycle") + place * 1_000_000_000)
        emit(target, frame)

    return inner if place else emit


def run_parser(parser: Parser, source: Readable, emit: Emit, reason: str = "") -> Reading:
    """One parser of whole sources over a source. If it raises, what it emitted so far stays and a quality row says so."""
    reading = Reading(parser.name, Counts(), reason=reason)
    try:
        reading.counts = parser.parse(source, counted(emit, reading))
    except Exception as error:
        failed(emit, parser.name, error)
    return reading


def failed(emit: Emit, name: str, error: BaseException) -> None:
    """The quality row of a parser that raised: its name and the class of the error, nothing of the text."""
    quality(emit, "parser-failed", 1, f"{name} stopped with {type(error).__name__}; what it had read so far stays")


def quality(emit: Emit, kind: str, n: int, note: str, line: int | None = None) -> None:
    """One row of `quality`."""
    import polars as pl

    emit("quality", pl.DataFrame({"line": [line], "kind": [kind], "n": [n], "note": [note]}, schema_overrides={"line": pl.Int64}))


def counted(emit: Emit, reading: Reading) -> Emit:
    """`emit` that counts rows into the reading."""

    def inner(target: str, frame: pl.DataFrame) -> None:
        if frame.height:
            emit(target, frame)
            reading.rows += frame.height
            reading.tables[target] = reading.tables.get(target, 0) + frame.height

    return inner


def read_lines(
    source: Readable,
    formats: Sequence[LineFormat],
    emit: Emit,
    con: duckdb.DuckDBPyConnection | None = None,
    block: int = BLOCK_BYTES,
    done: Probe | None = None,
) -> list[Reading]:
    """All line formats in one pass. Each line goes to the first format that matches it.

    `done` is what the only format has found in the whole source already: nothing is looked for again.
    """
    import duckdb

    own = con is None
    con = con or duckdb.connect(":memory:", config={"threads": 2})
    tasks = []
    for form in formats:
        try:
            tasks.append(Task(form, con))
        except Exception as error:
            failed(emit, form.name, error)
    try:
        if done and tasks:
            tasks[0].take_over(done, emit)
        else:
            _sort_out_all(source, tasks, emit, block)
        return _finished(tasks, emit, con)
    finally:
        for task in tasks:
            task.drop()
        if own:
            con.close()


def _sort_out_all(source: Readable, tasks: list[Task], emit: Emit, block: int) -> None:
    try:
        for records, blank, lines in _ahead(records_of(source, [t.matcher for t in tasks], block)):
            sort_out(records, blank, lines, tasks, emit)
    except Exception as error:  # the file went away, or its compressed stream is broken: what was read so far counts
        quality(emit, "read-failed", 1, f"the source could be read only in part ({type(error).__name__})")


def _finished(tasks: list[Task], emit: Emit, con: duckdb.DuckDBPyConnection) -> list[Reading]:
    from .line_clock import settle

    live = [t for t in tasks if t.alive and t.tables]
    for task in live:
        task.drop_unstamped()
    clock = settle(con, [t for t in live if t.matcher.form.timed], emit) if live else None
    readings: list[Reading] = []
    for task in sorted(tasks, key=lambda t: t.matcher.form.front):
        if task.counts.matched or task.counts.near_miss:
            again = task.matcher.form.front and any("requests" in r.tables for r in readings)
            if task.alive and task.tables:
                task.finish(emit, "requests" if again else "")
            task.reading.clock = clock
            task.reading.reason = f"{task.counts.matched} lines match, {task.counts.near_miss} nearly"
            readings.append(task.reading)
    return readings


def _ahead(blocks: Iterator[T]) -> Iterator[T]:
    """The next block is read, split and peeled while this one is sorted out: two threads, one block more in memory."""
    from concurrent.futures import ThreadPoolExecutor

    done = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, blocks, done)
        while (block := coming.result()) is not done:
            coming = pool.submit(next, blocks, done)
            yield block  # type: ignore[misc]


class Probe:
    """A line format that looks at the head of a source; what it matched is kept for a task that would find just that again."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self.counts = Counts()
        self.alive = True
        self.lines: set[int] = set()
        self.kinds: dict[int, int] = {}
        self.kept: list[tuple[Matched, pl.DataFrame]] = []

    def stage(self, block: Matched, rows: pl.DataFrame) -> None:
        """Remember which lines were of which kind."""
        self.kept.append((block, rows))
        self.lines.update(rows["idx"].to_list())
        for k, n in rows.group_by("k").len().rows():
            self.kinds[k] = self.kinds.get(k, 0) + n

    def signed(self) -> bool:
        """Whether a line was matched that tells the format, not only such as stand in texts of others too."""
        form = self.matcher.form
        return not form.signature or any(set(form.lines[k].anchors) & set(form.signature) for k in self.kinds)

    def anchors(self) -> list[tuple[str, int]]:
        """First anchor of the matched kinds of line and how often, the commonest first."""
        lines = self.matcher.form.lines
        return [(lines[k].anchors[0], n) for k, n in sorted(self.kinds.items(), key=lambda kn: (-kn[1], kn[0]))]


class Task:
    """One line format at work on one source: its matcher, its counts, and its staged rows in DuckDB."""

    def __init__(self, form: LineFormat, con: duckdb.DuckDBPyConnection) -> None:
        self.form = form
        self.matcher = Matcher(form)
        self.reading = Reading(form.name, Counts())
        self.con = con
        self.alive = True
        self.serial = next(_serial)
        self.columns = {target: staged_columns(form, target) for target in {line.into for line in form.lines}}
        self.tables: dict[str, str] = {}
        for declared in {t.rstrip("*") for t in self.columns} | set(form.assemble):
            table(declared)

    @property
    def counts(self) -> Counts:
        return self.reading.counts

    def stage(self, block: Matched, rows: pl.DataFrame) -> None:
        """Put the matched rows of a block into the staging tables of their targets."""
        import polars as pl

        placed = self.matcher.place(block, rows)
        parts: dict[str, list[pl.DataFrame]] = {}
        for (k,), part in placed.group_by("k", maintain_order=True):
            line = self.form.lines[int(str(k))]
            values = part.join(block.fields[int(str(k))], on="rec", how="left", suffix=":own", maintain_order="left")
            merged = [pl.coalesce(f"{c}:own", c).alias(c) for c in line.fields if f"{c}:own" in values.columns]
            named = [] if "kind" in line.fields else [pl.lit(line.kind).alias("kind")]
            values = values.with_columns(*merged, *named, must=pl.lit(line.prefixed))
            parts.setdefault(line.into, []).append(values)
        for target, frames in parts.items():
            self._insert(target, pl.concat([_shape(f, self.columns[target]) for f in frames]))

    def take_over(self, probe: Probe, emit: Emit) -> None:
        """Stage what a probe of the same format has found in the whole source."""
        self.matcher, self.reading.counts = probe.matcher, probe.counts
        try:
            for block, rows in probe.kept:
                self.stage(block, rows)
        except Exception as error:
            self.alive = False
            failed(emit, self.form.name, error)

    def _insert(self, target: str, frame: pl.DataFrame) -> None:
        name = self.tables.get(target)
        with lent(self.con, "gv_incoming", frame):
            if name is None:
                name = self.tables[target] = f"gv_staged_{self.serial}_{len(self.tables)}"
                types = ", ".join(f"CAST({c} AS {t}) AS {c}" for c, t in self.columns[target].items())
                self.con.execute(f"CREATE TEMP TABLE {name} AS SELECT {types} FROM gv_incoming")
            else:
                self.con.execute(f"INSERT INTO {name} BY NAME SELECT * FROM gv_incoming")

    def drop_unstamped(self) -> None:
        """Forget lines that should begin with a stamp, as others of their run do, and do not: they are somebody's text."""
        every = " UNION ALL ".join(f"SELECT run FROM {name} WHERE must AND stamped" for name in self.tables.values())
        for name in self.tables.values():
            doomed = f"FROM {name} WHERE must AND NOT stamped AND run IN ({every})"
            (n,) = self.con.execute(f"SELECT count(DISTINCT line) {doomed}").fetchall()[0]
            if n:
                self.con.execute(f"DELETE {doomed}")
                self.counts.matched -= n
                self.counts.other += n

    def finish(self, emit: Emit, without: str = "") -> None:
        """Emit the direct rows as they are and what the format's SQL assembles from the staged ones, but for the table `without`."""
        send = counted(emit, self.reading)
        try:
            for target, name in self.tables.items():
                if not target.endswith("*") and target != without:
                    send(target, self._direct(target, name))
            if any(target.endswith("*") for target in self.tables):
                self._gather()
                for name, sql in self.form.prepare.items():
                    self.con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")
                for target, sql in ((t, sql) for t, sql in self.form.assemble.items() if t != without):
                    send(target, _declared(target, frame_of(self.con, sql)))
        except Exception as error:
            failed(emit, self.form.name, error)

    def _gather(self) -> None:
        """`staged`: the rows of all `table*` targets, with every column there can be. A table: a view would be planned at each of its mentions."""
        every = {name: kind for t, columns in self.columns.items() if t.endswith("*") for name, kind in columns.items()}
        typed = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in every.items())
        parts = [f"SELECT * FROM {name}" for target, name in self.tables.items() if target.endswith("*")]
        self.con.execute("DROP TABLE IF EXISTS temp.staged")
        self.con.execute(f"CREATE TEMP TABLE staged AS (SELECT {typed} WHERE false) UNION ALL BY NAME {' UNION ALL BY NAME '.join(parts)}")
        for target in [t for t in self.tables if t.endswith("*")]:
            self.con.execute(f"DROP TABLE temp.{self.tables.pop(target)}")

    def _direct(self, target: str, name: str) -> pl.DataFrame:
        columns = table(target).names
        time = ", t AS time" if "time" in columns else ""
        server = f", '{self.form.server}' AS server" if "server" in columns else ""
        own = [c for c in self.columns[target] if c in columns and c not in ("line", "server", "time") and (c not in BASE or c == "run")]
        own += ["kind"] if "kind" in _fields(self.form, target) else []
        picked = ", ".join(dict.fromkeys(own))
        return frame_of(self.con, f"SELECT line{time}{server}{', ' + picked if picked else ''} FROM {name} ORDER BY line")

    def drop(self) -> None:
        """Forget the staged rows."""
        for name in ("staged", *self.form.prepare, *self.tables.values()):
            self.con.execute(f"DROP TABLE IF EXISTS temp.{name}")


def _declared(target: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Without source_id (the store adds it), in line order."""
    frame = frame.drop("source_id", strict=False)
    return frame.sort("line", maintain_order=True) if "line" in frame.columns else frame


def _fields(form: LineFormat, target: str) -> set[str]:
    return {name for line in form.lines if line.into == target for name in line.fields}


def staged_columns(form: LineFormat, target: str) -> dict[str, str]:
    """Column -> DuckDB type of what is staged for a target: the base columns, the context, and every field of its lines."""
    types = dict.fromkeys(BASE, "DOUBLE") | {"line": "BIGINT", "run": "INTEGER", "stamped": "BOOLEAN", "must": "BOOLEAN"}
    types |= dict.fromkeys(("clk", "outer_kind", "kind"), "VARCHAR") | dict.fromkeys(form.context_columns, "BIGINT")
    for line in form.lines:
        for name, spec in line.fields.items() if line.into == target else ():
            if name in BASE and name != "kind":
                raise ValueError(f"{form.name}: {name} is a staged column of its own")
            if types.setdefault(name, spec.type) != spec.type:
                raise ValueError(f"{form.name}: {name} is {types[name]} in one line and {spec.type} in another")
    return types


_POLARS = {"DOUBLE": "Float64", "BIGINT": "Int64", "INTEGER": "Int32", "BOOLEAN": "Boolean", "VARCHAR": "String"}


def _shape(frame: pl.DataFrame, schema: dict[str, str]) -> pl.DataFrame:
    """Exactly the columns of `schema`, missing ones NULL."""
    import polars as pl

    columns: list[Any] = []
    for name, kind in schema.items():
        dtype = getattr(pl, _POLARS[kind])
        columns.append(pl.col(name).cast(dtype, strict=False) if name in frame.columns else pl.lit(None, dtype).alias(name))
    return frame.select(columns)


def records_of(source: Readable, matchers: Sequence[Matcher], block: int) -> Iterator[tuple[pl.DataFrame | None, pl.Series, int]]:
    """Per block: the peeled records that hold a literal of any format (None where none does), the numbers of blank lines, lines read.

    A physical line that the log's writer or a container runtime cut into pieces counts once and only its first piece is read.
    """
    literals = sorted({text for matcher in matchers for text in matcher.literals})
    splits = [a for m in matchers for line in m.form.lines if line.split_before for a in line.anchors]
    head = source.head().text
    quoted, layout = is_quoted(head), layout_of(head, source.head().complete)
    peelers = active_peelers("\n".join(_lines(head, quoted, layout)[0]["text"]))
    goes_on, cut_before, above = False, False, ""
    for first_line, text in source.blocks(block):
        frame, piece = _lines(text, quoted, layout, above)
        above = text.rstrip("\n")[-100:].rsplit("\n", 1)[-1]
        if goes_on:  # the rest of a line longer than a block may be: it began before
            frame = frame.slice(1)
        ends = text.endswith("\n")
        frame = frame.with_columns(
            line=pl_range(first_line + goes_on, frame.height),
            cut=_last(frame.height, not ends and frame.height > 0),
        )
        if piece is not None or cut_before:
            frame, cut_before = _drop_pieces(frame, cut_before)
        blank = frame.filter(frame["text"].str.strip_chars().str.len_bytes() == 0)["line"]
        yield (_records(frame, text, literals, splits, peelers) if literals else None), blank, frame.height
        goes_on = not ends


def pl_range(start: int, n: int) -> pl.Series:
    """Line numbers from `start`."""
    import polars as pl

    return pl.int_range(start, start + n, dtype=pl.Int64, eager=True)


def _last(n: int, value: bool) -> pl.Series:
    import polars as pl

    flags = pl.repeat(False, n, dtype=pl.Boolean, eager=True)
    return pl.concat([flags.head(n - 1), pl.Series([True])]) if value and n else flags


def _lines(text: str, quoted: bool, layout: Layout, above: str = "") -> tuple[pl.DataFrame, pl.Series | None]:
    """The lines of a block as `text`, without colours and quotes; with json-file records also `outer_raw` and `piece`, with times on
    lines of their own `outer_raw` and `of_window`. `above` is the line before the block."""
    import polars as pl

    lines = pl.Series("text", [text]).str.split("\n").explode(keep_nulls=False, empty_as_null=False)
    if text.endswith("\n"):
        lines = lines.head(len(lines) - 1)
    lines = strip_colours(lines, text)
    if quoted:
        lines = lines.str.replace(QUOTE, "")
    lines, times = strip_entries(lines, text, above)
    lines, outer, piece = unwrap_json(lines, text)
    if outer is None:
        lines, outer = plain_lines(lines, layout)
    lines = strip_paste(lines, layout)
    if piece is None and (" stdout P " in text or " stderr P " in text):
        piece = lines.str.contains(r"^\S+ (?:stdout|stderr) P ")
    frame = pl.DataFrame({"text": lines.rename("text")})
    if outer is not None:
        frame = frame.with_columns(outer_raw=outer)
    elif times is not None:
        frame = frame.with_columns(outer_raw=times, of_window=times.is_not_null())
    if layout.backwards:
        frame = frame.reverse()
    return (frame, None) if piece is None else (frame.with_columns(piece=piece), piece)


def _drop_pieces(frame: pl.DataFrame, cut_before: bool) -> tuple[pl.DataFrame, bool]:
    """A container runtime cuts long lines: what follows a piece is no line start, and the piece's end is no end."""
    import polars as pl

    if "piece" not in frame.columns:
        frame = frame.with_columns(piece=pl.lit(False))
    follows = frame["piece"].shift(1, fill_value=cut_before)
    frame = frame.with_columns(cut=pl.col("cut") | pl.col("piece"), text=pl.when(~follows).then("text").otherwise(pl.lit("\u2026")))
    return frame.drop("piece"), bool(frame["piece"].tail(1).any())


def _records(frame: pl.DataFrame, text: str, literals: list[str], splits: list[str], peelers: frozenset[int]) -> pl.DataFrame | None:
    """Lines with a literal, cut into records (carriage returns, two records on a line), peeled, with their outer time."""
    import polars as pl

    frame = frame.filter(pl.col("text").str.contains_any(literals))
    if not frame.height:
        return None
    if "\r" in text:
        frame = frame.with_columns(pl.col("text").str.strip_chars_end("\r").str.split("\r")).explode("text")
    for anchor in splits:
        if anchor in text:
            pieces = pl.col("text").str.replace_all(anchor, "\x1e" + anchor.replace("$", "$$"), literal=True).str.split("\x1e")
            frame = frame.with_columns(text=pieces, whole=pl.lit(True)).explode("text").filter(pl.col("text") != "")
            last = frame["line"] != frame["line"].shift(-1)
            frame = frame.with_columns(cut=pl.col("cut") | ~last.fill_null(True)).drop("whole")
    frame = outer_times(peel(frame, peelers))
    return frame.with_columns(rec=pl.int_range(pl.len(), dtype=pl.Int64)).rename({"line": "idx"})


def sort_out(records: pl.DataFrame | None, blank: pl.Series, lines: int, tasks: Sequence[Task | Probe], emit: Emit | None = None) -> None:
    """Give every record to the first format that matches it, stage it, and count every line of the block for every format."""
    import polars as pl

    taken = pl.Series("rec", [], dtype=pl.Int64)
    taken_lines = pl.Series("idx", [], dtype=pl.Int64)
    seen: list[tuple[Task | Probe, Matched, pl.DataFrame]] = []
    if records is not None:
        hits = Hits(records["text"], sorted({text for task in tasks for text in task.matcher.literals}))
        records = records.with_columns(hits.code)
    for task in tasks:
        task.counts.other += lines
        if records is None or not task.alive:
            continue
        try:
            # what another format has taken still tells of runs and contexts, where this one keeps any
            mine = records if task.matcher.remembers or not len(taken) else records.filter(~pl.col("rec").is_in(taken.implode()))
            block = task.matcher.match(mine, hits)
            rows = block.rows.filter(~pl.col("rec").is_in(taken.implode())) if len(taken) else block.rows
            rows = rows.with_columns(
                line=pl.col("idx"),
                t=pl.coalesce("t", "outer_t"),
                clk=pl.coalesce("clk", "outer_kind"),
                res=pl.coalesce("res", pl.when(pl.col("outer_t").is_not_null()).then("outer_res")),
            )
            if block.seen.height:
                task.stage(block, rows)
        except Exception as error:
            task.alive = False
            if emit is not None:
                failed(emit, task.matcher.form.name, error)
            continue
        taken, taken_lines = pl.concat([taken, rows["rec"]]), pl.concat([taken_lines, rows["idx"]])
        seen.append((task, block, rows))
    done = {id(task) for task, *_ in seen}
    for task, block, rows in seen:
        _count(task.counts, rows["idx"], block.near, block.noise, blank, taken_lines)
    for task in tasks:
        if id(task) not in done:
            task.counts.noise += len(blank)
            task.counts.other -= len(blank)


def _count(counts: Counts, mine: pl.Series, near: pl.DataFrame, noise: pl.Series, blank: pl.Series, taken: pl.Series) -> None:
    """Each line once: matched, else a near miss, else noise; a line another format matched is `other` here."""
    import polars as pl

    matched = mine.unique()
    near = near.filter(~pl.col("idx").is_in(taken.implode())).unique("idx", keep="first", maintain_order=True)
    quiet = pl.concat([noise, blank]).unique()
    quiet = quiet.filter(~quiet.is_in(pl.concat([taken, near["idx"]]).implode()))
    counts.matched += len(matched)
    counts.near_miss += near.height
    counts.noise += len(quiet)
    counts.other -= len(matched) + near.height + len(quiet)
    room = MAX_REJECTS - len(counts.rejects)
    counts.rejects.extend(near.sort("idx").head(max(room, 0)).select("idx", "reason").rows())
