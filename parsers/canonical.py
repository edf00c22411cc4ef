"""gpuverdict's own format: tables that any program can write, so that a server or a logger needs no plugin.

**CSV.** A first line names the table and the clock, the next one the columns, then come rows:

    # gpuverdict canonical 1 table=server_samples clock=utc
    time,server,running,waiting,gen_tok_s
    1767225600.5,myserver,4,12,310.5

Further sections, each with such a line of its own, may follow in the same file. Cells with a comma or a quote stand in double quotes; a cell
never holds a line break. An empty cell is unknown. Empty lines and other lines that begin with `#` are skipped.

**JSON lines.** One object per row; `clock` stands in the first object (alone or beside its row):

    {"gpuverdict": 1, "clock": "utc", "table": "requests", "origin": "server", "finished_at": 1767225600.5, "output_tokens": 128}

**Tables and columns** are those of the page on tables, with their units, without `source_id` and `line`. Not accepted: `sources`,
`source_parsers`, `rejects`, `quality`, `clocks` (use `clock=`) and `given` (facts are stated on the command line).

**`clock`** is utc (seconds since 1970), local-no-zone (wall clock read as if it were UTC, in seconds since 1970), no-year, since-start,
counter or none. Without one it is none, and columns that hold times are not accepted. The file has one clock. `resolution_s=0.001` and
`interval_s=1` (in JSON keys of the first object) may state how finely times are written and how far apart samples are. They give `clocks`.

**Values.** Numbers with a decimal point, whole numbers for counts and indexes, true or false, words (letters, digits, blanks and `._:+()%-`,
up to 80 characters; names and ids may hold more and get pseudonyms). Words with a fixed choice are checked (`origin`, `status` and so on).

**Near misses.** A row with a value of the wrong type, another number of cells or no value at all, and the unfinished last line, are left
out and counted. A column that is not declared is a near miss of the CSV header, which names it, and is not read; the others are. In JSON
it costs the row.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..engine.json_objects import Json, JsonLines, json_objects, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import send_clock
from ..engine.tables import CLOCK_KINDS, TABLES, Column, Table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

BATCH = 2_000  # JSON rows that are checked and sent at once
_OURS = ("sources", "source_parsers", "rejects", "quality", "clocks", "given")
_OPEN: dict[str, Table] = {t.name: t for t in TABLES if t.name not in _OURS}
_MARK = re.compile(r"(?m)^# ?gpuverdict canonical\b(.*)$")
_JSON_MARK = re.compile(r'^\s*\{\s*"gpuverdict"\s*:\s*(\d+)')
_SETTING = re.compile(r"^(table|clock|resolution_s|interval_s)=([\w.-]+)$")
_NAME = re.compile(r"^[a-z][a-z0-9_]{0,40}$")
_WRONG = "\x00"  # a cell that fits no type
_PATTERNS = {
    "DOUBLE": r"^-?[0-9]{1,15}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?$",
    "BIGINT": r"^-?[0-9]{1,18}(\.0{1,9})?$",
    "INTEGER": r"^-?[0-9]{1,9}(\.0{1,9})?$",
    "BOOLEAN": r"^(?i:true|false)$",
    "VARCHAR": r"^[A-Za-z0-9][A-Za-z0-9 ._:+()%-]{0,79}$",
    "private": r"^[^\x00-\x1f]{1,200}$",
}
_KINDS = {"DOUBLE": "number", "BIGINT": "whole number", "INTEGER": "whole number", "BOOLEAN": "true or false", "VARCHAR": "word we take"}
_CHOICES = {
    ("requests", "origin"): ("server", "client", "file"),
    ("requests", "status"): ("ok", "failed", "cancelled"),
    ("server_config", "origin"): ("logged", "default", "given", "estimated"),
    ("server_samples", "phase"): ("decode", "prefill", "mixed"),
    ("bench_steps", "aggregate_counts"): ("output", "total"),
    ("bench_steps", "per_stream_counts"): ("decode", "latency", "derived"),
    ("gpu_processes", "kind"): ("C", "G", "C+G", "M"),
    ("kernels", "kind"): ("kernel", "graph", "memcpy", "memset", "collective"),
}


@dataclass
class _Clock:
    """The one clock of the file, and the first line that speaks of it."""

    kind: str | None = None
    line: int = 1
    resolution_s: float | None = None
    interval_s: float | None = None
    rows: int = 0

    def settle(self, line: int, kind: str | None, resolution_s: float | None, interval_s: float | None) -> str | None:
        """The first word on the clock holds; the answer is what is wrong with this one."""
        if kind is not None and kind not in CLOCK_KINDS:
            return f"the clock is none of {', '.join(CLOCK_KINDS)}"
        if self.kind is None:
            self.kind, self.line, self.resolution_s, self.interval_s = kind or "none", line, resolution_s, interval_s
        return "the file has another clock already" if kind is not None and kind != self.kind else None

    def send(self, emit: Emit) -> None:
        if self.rows:
            send_clock(emit, self.line, self.kind or "none", self.resolution_s, self.interval_s)


# --- checking, the same for both -------------------------------------------------------------------------------------------------------


def _columns(table: Table, names: Sequence[str], clock: _Clock) -> tuple[list[Column | None], str | None]:
    """The declared column of each name, None for one that is not read, and what is wrong with them."""
    known = {c.name: c for c in table.columns if c.name not in ("source_id", "line")}
    found = [known.get(n) if names.count(n) == 1 else None for n in names]
    unknown = [n if _NAME.match(n) else "(no column name)" for n, c in zip(names, found) if c is None]
    timed = [c.name for c in found if c is not None and c.time] if clock.kind in (None, "none") else []
    if unknown:
        return [
            None if c and c.name in timed else c for c in found
        ], f"{table.name} has no column {', '.join(unknown[:5])}, or it stands twice"
    if timed:
        return [None if c and c.name in timed else c for c in found], f"{', '.join(timed)} without clock="
    return list(found), None


def _typed(table: str, column: Column, cell: pl.Expr, clock: str | None) -> pl.Expr:
    """A text cell as the declared type; NULL where it does not fit."""
    import polars as pl

    pattern = _PATTERNS["private" if column.type == "VARCHAR" and column.privacy != "public" else column.type]
    fits = pl.when(cell.str.contains(pattern)).then(cell)
    if column.type == "VARCHAR":
        choice = _CHOICES.get((table, column.name))
        return fits if choice is None else pl.when(cell.is_in(choice)).then(cell)
    if column.type == "BOOLEAN":
        return fits.str.to_lowercase() == "true"
    if column.type in ("BIGINT", "INTEGER"):
        return fits.str.replace(r"\..*$", "").cast(pl.Int64 if column.type == "BIGINT" else pl.Int32, strict=False)
    number = fits.cast(pl.Float64, strict=False)
    if column.time and clock in ("utc", "local-no-zone"):
        return pl.when(number.is_between(1e9, 4.2e9)).then(number)
    return number


def _checked(table: str, columns: Sequence[Column], cells: pl.DataFrame, clock: str | None) -> tuple[pl.DataFrame, dict[int, str]]:
    """Rows of the declared types out of text cells (and `line`), and line -> what is wrong with those left out."""
    import polars as pl

    text = {c.name: pl.col(c.name).str.strip_chars(" \t\r") for c in columns}
    typed = cells.select("line", *(_typed(table, c, text[c.name], clock).alias(c.name) for c in columns))
    wrong = [
        pl.when((text[c.name] != "") & typed[c.name].is_null()).then(
            pl.lit(f"{c.name} is no time on the clock of the file" if c.time else f"{c.name} is no {_KINDS[c.type]}")
        )
        for c in columns
    ]
    bare = typed.select(pl.all_horizontal(pl.exclude("line").is_null()).alias("bare"))["bare"]
    reasons = cells.select(reason=pl.coalesce(*wrong, pl.when(bare).then(pl.lit("a row without any value"))))["reason"]
    bad = dict(zip(cells["line"].filter(reasons.is_not_null()).to_list(), reasons.drop_nulls().to_list()))
    return typed.filter(reasons.is_null()), bad


# --- CSV -------------------------------------------------------------------------------------------------------------------------------


@dataclass
class _Csv:
    """What the lines below the last marker are."""

    emit: Emit
    clock: _Clock = field(default_factory=_Clock)
    counts: Counts = field(default_factory=Counts)
    table: Table | None = None
    columns: list[Column | None] | None = None

    def block(self, first: int, text: str) -> None:
        """Whole lines; only the last one may be unfinished."""
        at, line = 0, first
        for mark in _MARK.finditer(text):
            self.lines(line, text[at : mark.start()])
            line += text.count("\n", at, mark.start())
            self.mark(line, mark[1], text[mark.end() : mark.end() + 1] == "\n")
            at, line = mark.end() + 1, line + 1
        self.lines(line, text[at:])

    def mark(self, line: int, words: str, whole: bool) -> None:
        self.table, self.columns = None, None
        found = _settings(words)
        wrong = "the line that names the table is cut" if not whole else found if isinstance(found, str) else None
        if wrong is None and isinstance(found, dict):
            numbers = [_number(found.get(k)) for k in ("resolution_s", "interval_s")]
            wrong = self.clock.settle(line, found.get("clock"), *numbers)
        if wrong is not None:
            self.counts.near(line, wrong)
        elif isinstance(found, dict):
            self.table = _OPEN[found["table"]]
            self.counts.matched += 1

    def lines(self, first: int, text: str) -> None:
        if not text:
            return
        if self.table is None:
            self.counts.other += text.count("\n") + (not text.endswith("\n"))
            return
        while self.columns is None and text:
            head, end, text = text.partition("\n")
            self.header(first, head, bool(end))
            first += 1
        if text:
            self.rows(first, text)

    def header(self, line: int, text: str, whole: bool) -> None:
        if not text.strip() or text.startswith("#"):
            self.counts.noise += 1
        elif not whole or self.table is None:
            self.counts.near(line, "the header is cut")
        else:
            self.columns, wrong = _columns(self.table, [c.strip() for c in _split(text)], self.clock)
            if wrong is None:
                self.counts.matched += 1
            else:
                self.counts.near(line, wrong)

    def rows(self, first: int, text: str) -> None:
        import polars as pl

        assert self.table is not None and self.columns is not None
        lines = text.split("\n")
        cut = lines.pop()
        frame = pl.DataFrame({"line": pl.int_range(first, first + len(lines), eager=True), "text": pl.Series(lines, dtype=pl.String)})
        noise = pl.col("text").str.strip_chars().eq("") | pl.col("text").str.starts_with("#")
        content = frame.filter(~noise)
        self.counts.noise += frame.height - content.height
        cells = _cells(content)
        fits = cells["cells"].list.len() == len(self.columns)
        bad = dict.fromkeys(cells["line"].filter(~fits).to_list(), "another number of cells than the header has")
        read = [(k, c) for k, c in enumerate(self.columns) if c is not None]
        if read:
            named = cells.filter(fits).select("line", *(pl.col("cells").list.get(k).alias(c.name) for k, c in read))
            good, wrong = _checked(self.table.name, [c for _, c in read], named, self.clock.kind)
            self.send(good)
            bad |= wrong
            self.counts.matched += good.height
        else:
            self.counts.other += int(fits.sum())
        for line in sorted(bad):
            self.counts.near(line, bad[line])
        if cut:
            self.counts.near(first + len(lines), "the last line is cut")

    def send(self, good: pl.DataFrame) -> None:
        if good.height and self.table is not None:
            self.clock.rows += good.height
            self.emit(self.table.name, good)


def _settings(words: str) -> dict[str, str] | str:
    """`1 table=requests clock=utc` as a dict, or what is wrong with it."""
    version, *rest = words.split() or [""]
    if version != "1":
        return "a version of the canonical format that this gpuverdict does not know"
    found = [_SETTING.match(word) for word in rest]
    if not all(found):
        return "only table=, clock=, resolution_s= and interval_s= may stand there"
    settings = {m[1]: m[2] for m in found if m}
    return settings if settings.get("table") in _OPEN else f"table= names none of {', '.join(_OPEN)}"


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,12})?", text) and float(text) > 0 else None


def _split(line: str) -> list[str]:
    """The cells of one line; a quote that does not close gives none."""
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        return []


def _cells(content: pl.DataFrame) -> pl.DataFrame:
    """`line` and `cells`, a list of texts. Only lines with quotes are taken apart one by one."""
    import polars as pl

    quoted = pl.col("text").str.contains('"', literal=True)
    plain = content.filter(~quoted).select("line", cells=pl.col("text").str.split(","))
    held = content.filter(quoted)
    if not held.height:
        return plain
    apart = pl.Series("cells", [_split(t) for t in held["text"]], dtype=pl.List(pl.String))
    return pl.concat([plain, held.select("line", apart)]).sort("line")


# --- JSON lines ------------------------------------------------------------------------------------------------------------------------


def _cell(value: Any, column: Column) -> str:
    """A JSON value as the text that stands in a CSV; a value of another JSON type fits nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower() if column.type == "BOOLEAN" else _WRONG
    if isinstance(value, (int, float)):
        return repr(value) if column.type not in ("BOOLEAN", "VARCHAR") and abs(value) < 1e18 else _WRONG
    return value if isinstance(value, str) and column.type == "VARCHAR" else _WRONG


_META = ("gpuverdict", "table", "clock", "resolution_s", "interval_s")


def _row(doc: Json, line: int, clock: _Clock) -> tuple[str, dict[str, Any]] | str | None:
    """Table and text cells of one object, what is wrong with it, or None for one that only states the clock."""
    if doc["gpuverdict"] != 1 or isinstance(doc["gpuverdict"], bool):
        return "a version of the canonical format that this gpuverdict does not know"
    first, kind = clock.kind is None, doc.get("clock")
    if kind is not None and not isinstance(kind, str):
        return "the clock is no word"
    wrong = clock.settle(line, kind, pos(doc.get("resolution_s")), pos(doc.get("interval_s")))
    if wrong is not None:
        return wrong
    name = doc.get("table")
    if name is None and kind is not None:
        return None
    if not isinstance(name, str) or name not in _OPEN:
        return f"the table is none of {', '.join(_OPEN)}"
    meta = [m for m in _META if first or m in ("gpuverdict", "table", "clock")]
    if name == "requests":  # there resolution_s is a column as well
        meta = [m for m in meta if m != "resolution_s"]
    values = {k: v for k, v in doc.items() if k not in meta}
    columns, wrong = _columns(_OPEN[name], list(values), clock)
    if wrong is not None:
        return wrong
    return name, {"line": line} | {c.name: _cell(values[c.name], c) for c in columns if c is not None}


def _flush(held: list[tuple[int, int, str, dict[str, Any]]], lines: JsonLines, clock: _Clock, emit: Emit) -> None:
    """Checks and sends what was held, one frame per table, and counts its lines in order."""
    import polars as pl

    bad: dict[int, str] = {}
    for name in dict.fromkeys(h[2] for h in held):
        rows = [h[3] for h in held if h[2] == name]
        columns = [c for c in _OPEN[name].columns if c.name != "line" and any(c.name in r for r in rows)]
        schema: dict[str, Any] = {"line": pl.Int64} | {c.name: pl.String for c in columns}
        cells = pl.DataFrame([{k: r.get(k, "") for k in schema} for r in rows], schema=schema)
        good, wrong = _checked(name, columns, cells, clock.kind) if columns else (cells.clear(), {})
        bad |= wrong if columns else dict.fromkeys((r["line"] for r in rows), "a row without any value")
        if good.height:
            clock.rows += good.height
            emit(name, good)
    for first, last, *_ in held:
        if first in bad:
            lines.near(first, bad[first])
        else:
            lines.add(first, last, "matched")
    held.clear()


def _read_json(source: Readable, emit: Emit) -> Counts:
    lines, clock = JsonLines(source), _Clock()
    held: list[tuple[int, int, str, dict[str, Any]]] = []
    for first, last, doc in json_objects(lines):
        found = _row(doc, first, clock) if doc is not None and "gpuverdict" in doc else None
        if isinstance(found, tuple):
            held.append((first, last, *found))
            if len(held) >= BATCH:
                _flush(held, lines, clock, emit)
            continue
        _flush(held, lines, clock, emit)
        if doc is None:
            lines.near(first, "an object that is cut or garbled")
        elif isinstance(found, str):
            lines.near(first, found)
        elif "gpuverdict" in doc:
            lines.add(first, last, "matched")
    _flush(held, lines, clock, emit)
    clock.send(emit)
    return lines.close()


class Canonical:
    """gpuverdict's own CSV and JSON lines; see the module's page."""

    name = "canonical"
    api = 1

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """The first line that is not empty says so."""
        text = head.text.lstrip()
        mark, json_mark = _MARK.match(text), _JSON_MARK.match(text)
        if mark is not None:
            found = _settings(mark[1])
            return Refusal(90, found) if isinstance(found, str) else Claim(99, "gpuverdict's own CSV")
        if json_mark is not None:
            if json_mark[1] == "1":
                return Claim(99, "gpuverdict's own JSON lines")
            return Refusal(90, "a version of the canonical format that this gpuverdict does not know")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of the named tables, and one of `clocks` where there are any."""
        if source.head().text.lstrip().startswith("{"):
            return _read_json(source, emit)
        state = _Csv(emit)
        for first, block in source.blocks():
            state.block(first, block)
        state.clock.send(emit)
        return state.counts


def _text(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


def _of(rows: Iterable[dict[str, Any]], clock: str, table: str) -> dict[str, list[dict[str, Any]]]:
    return {table: list(rows), "clocks": [{"kind": clock}]}


SAMPLES: tuple[Sample, ...] = (
    Sample(
        _text(
            "# gpuverdict canonical 1 table=server_samples clock=utc resolution_s=0.5 interval_s=10",
            "time,server,running,waiting,gen_tok_s,cuda_graph",
            "1767225600.5,myserver,4,12,310.5,true",
            "",
            '1767225610.5,"myserver",3,,290.0,false',
            "1767225620.5,myserver,many,0,1.5,true",
        ),
        _of(
            [
                {
                    "line": 3,
                    "time": 1767225600.5,
                    "server": "myserver",
                    "running": 4.0,
                    "waiting": 12.0,
                    "gen_tok_s": 310.5,
                    "cuda_graph": True,
                },
                {"line": 5, "server": "myserver", "waiting": None, "gen_tok_s": 290.0, "cuda_graph": False},
            ],
            "utc",
            "server_samples",
        ),
        "version 1, CSV",
    ),
    Sample(
        _text(
            "# gpuverdict canonical 1 table=server_config",
            "server,key,value,num,origin,color",
            "myserver,slots,4,4,logged,red",
            "myserver,split,layer,,guessed,red",
            "# gpuverdict canonical 1 table=models",
            "layers,hidden,arch",
            "32,4096,llama",
        ),
        {
            "server_config": [{"line": 3, "key": "slots", "value": "4", "num": 4.0, "origin": "logged"}],
            "models": [{"line": 7, "layers": 32.0, "hidden": 4096.0, "arch": "llama"}],
            "clocks": [{"kind": "none"}],
        },
        "version 1, CSV with two sections and a column that is not declared",
    ),
    Sample(
        _text(
            '{"gpuverdict": 1, "clock": "since-start", "resolution_s": 0.001}',
            '{"gpuverdict": 1, "table": "requests", "origin": "server", "run": 0, "started_at": 0.25, "finished_at": 4.75, "output_tokens": 128}',
            '{"gpuverdict": 1, "table": "server_config", "server": "myserver", "key": "slots", "value": "4", "num": 4}',
            '{"gpuverdict": 1, "table": "requests", "output_tokens": "128"}',
        ),
        {
            "requests": [{"line": 2, "origin": "server", "run": 0, "started_at": 0.25, "finished_at": 4.75, "output_tokens": 128.0}],
            "server_config": [{"line": 3, "key": "slots", "value": "4", "num": 4.0}],
            "clocks": [{"kind": "since-start", "resolution_s": 0.001}],
        },
        "version 1, JSON lines",
        name="rows.jsonl",
    ),
)

PARSER = Canonical()
