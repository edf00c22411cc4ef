"""`analyze`: a pure function of sources and settings. Sources -> tables -> views -> verdicts -> result; no globals."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from .. import __version__
from . import alignment, catalog, clock, contradictions, date_lines, join, recorders, steps
from .collect import Collected, Problem, collect
from .diagnosis import diagnose
from .failures import note_failures
from .given import Given, GivenError, read_given
from .hosts import tell_hosts
from .judge import judge
from .named_steps import tell_steps
from .parse import read
from .parser import together
from .phrase import printable
from .plugins import Registry, load_registry
from .privacy import Hider
from .recognise import Recognition, recognise
from .result import Finding, Headline, Result, SourceRow
from .source import Source, is_binary
from .store import FEW_TO_JOIN, Store
from .symptoms import answer_symptoms

LEAST_LINE = 40  # bytes: shorter lines than those of monitors hold no row
GIVEN_COLUMNS = {"line": pl.Int64, "key": pl.String, "value": pl.String, "num": pl.Float64}


class NothingReadable(Exception):
    """No source could be read; the message says what was tried and `problems` lists each."""

    def __init__(self, message: str, problems: Sequence[Problem] = (), result: Result | None = None) -> None:
        super().__init__(message)
        self.problems, self.result = problems, result


@dataclass
class Settings:
    """All that may change an analysis, apart from the files."""

    given: tuple[str, ...] = ()
    config: Path | None = None
    tz: str | None = None
    offsets: dict[str, float] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    reveal: frozenset[str] = frozenset()
    absolute_times: bool = False


class Analysis:
    """A finished analysis: `result` (the model every output renders), `findings`, and `sql()` over the trace."""

    def __init__(self, result: Result, store: Store) -> None:
        self.result, self.store = result, store

    @property
    def findings(self) -> list[Any]:
        return self.result.findings

    def sql(self, query: str) -> pl.DataFrame:
        """Query the trace: tables and views of the schema `main`, as a polars frame."""
        self.store.con.execute("USE main")
        return pl.DataFrame(self.store.con.sql(query))

    def __repr__(self) -> str:
        return f"<gpuverdict: {self.result.primary.sentence}>"


def analyze(
    paths: Iterable[str | Path] | str | Path,
    settings: Settings | None = None,
    *,
    trace: Path | None = None,
    stdin: BinaryIO | None = None,
    progress: Callable[[int, int, str], None] | None = None,
    viewed: Callable[[Store], None] | None = None,
    judged: Callable[[Sequence[Finding]], None] | None = None,
    **options: Any,
) -> Analysis:
    """Analyse files and folders.

    `settings` or its fields as keywords (`given=("split=layer",)`). `trace` keeps the database in a file; `viewed` is called when
    the views are made and before the rules look at them, `judged` with what there is after each rule. Raises GivenError for a stated fact that cannot be taken, NothingReadable if no
    source could be read.
    """
    began = time.perf_counter()
    settings = settings or Settings(**options)
    listed = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    collected = collect(listed, stdin=stdin)
    given = read_given(settings.config or collected.config, settings.given)
    registry = load_registry()
    check_limits(settings, registry)
    store = Store(trace, Hider(reveal=settings.reveal, keep=catalog.public_names()))
    sizes = [source.size for source in collected.sources]
    store.fit_plans(sum(size or 0 for size in sizes) // LEAST_LINE if None not in sizes else FEW_TO_JOIN)
    catalog.load(store.con, registry.hardware)
    readings = _read_all(store, collected, registry, progress)
    store.fit_plans()
    _store_given(store, collected, given, settings)
    _judgeable(store, collected, given, settings)
    if viewed:
        viewed(store)
    findings, seconds = judge(store, registry.rules, settings.limits, judged)
    primaries, headline = diagnose(store, findings)
    result = _result(store, settings, readings, collected, given)
    result.findings, result.primaries, result.primary = findings, primaries, headline
    result.symptoms = answer_symptoms(store, findings)
    recorders.adapt(result, store, registry.parsers)
    result.seconds, result.seconds_per_rule = time.perf_counter() - began, seconds
    if not any(row.status == "read" for row in result.sources):
        # the message goes to the terminal of the one who gave these names, beside the paths as typed
        names = {store.hider.label("path", s.name): s.name for s in collected.sources}
        store.close()
        raise NothingReadable(_nothing(listed, collected, result, names), collected.problems, result)
    return Analysis(result, store)


def check_limits(settings: Settings, registry: Registry) -> None:
    """`--limit RULE.NAME=VALUE` must name a limit that exists."""
    known = {f"{rule.id}.{name}" for rule in registry.rules for name in rule.limits}
    for key in settings.limits:
        if key not in known:
            import difflib

            near = difflib.get_close_matches(key, known, 1, 0.4)
            raise GivenError(f"--limit {key}: no such limit" + (f"; did you mean {near[0]}?" if near else ""))


# --- reading -------------------------------------------------------------------------------------------------------------------


def _read_all(store: Store, collected: Collected, registry: Registry, progress: Callable[[int, int, str], None] | None) -> list[SourceRow]:
    rows: list[SourceRow] = []
    counts: list[dict[str, Any]] = []
    for name, note in registry.problems:
        _quality(store, -1, "plugin-failed", f"{name}: {note}")
    for number, source in enumerate(collected.sources):
        if progress:
            progress(number, len(collected.sources), source.name)
        rows.append(_read_one(store, source, registry, counts))
    store.insert("source_parsers", pl.DataFrame(counts, infer_schema_length=None)) if counts else None
    _store_sources(store, collected, rows)
    return rows


def _read_one(store: Store, source: Source, registry: Registry, counts: list[dict[str, Any]]) -> SourceRow:
    """Reads one source into the store; what each parser counted is added to `counts`."""
    row = SourceRow(source=store.hider.label("path", source.name))
    for kind, note in source.quality:
        _quality(store, source.source_id, kind, note)
    try:
        head = source.head()
    except OSError as problem:
        row.status, row.note = "unreadable", problem.strerror or type(problem).__name__
        return row
    found = recognise(source, registry.parsers, runner_up=False)
    if not head.raw and not found.parsers:  # an empty file among saved responses is a failed request
        row.status, row.note = "empty", "the file has no content"
        return row
    if not found.parsers and is_binary(head.raw):
        row.status, row.note = "unknown", f"binary; none of {len(registry.parsers)} parsers reads it"
        return row
    emit = store.emit(source.source_id)
    try:
        readings = read(source, registry.parsers, emit, store.scratch, found)
    except OSError as problem:
        row.status, row.note = "unreadable", f"{problem.strerror or type(problem).__name__} while reading"
        return row
    date_lines.tell_times(store, source)
    _take(row, source, readings, found)
    row.rows = store.rows_from(source.source_id)
    counts += [_counts(r, source) for r in readings]
    for reading in readings:
        if reading.counts.rejects:
            frame = pl.DataFrame(reading.counts.rejects, schema={"line": pl.Int64, "reason": pl.String}, orient="row")
            store.insert("rejects", frame.with_columns(parser=pl.lit(reading.parser)), source.source_id)
    return row


def _counts(reading: Any, source: Source) -> dict[str, Any]:
    c = reading.counts
    return {
        "source_id": source.source_id,
        "parser": reading.parser,
        "matched": c.matched,
        "noise": c.noise,
        "near_miss": c.near_miss,
        "other": c.other,
        "n_rows": reading.rows,
    }


def _take(row: SourceRow, source: Source, readings: Sequence[Any], found: Recognition) -> None:
    """How the lines of one source ended."""
    telling = [r for r in readings if r.counts.matched or r.counts.near_miss]
    row.parsers = [r.parser for r in telling]
    counts = together(r.counts for r in readings)
    row.lines = counts.lines if readings else None
    row.matched, row.near_miss, row.noise, row.other = counts.matched, counts.near_miss, counts.noise, counts.other
    if not any(r.counts.matched for r in readings):
        row.status = "unknown"
        near = f"; nearest is {found.nearest}: {found.missing}" if found.nearest else ""
        drifted = f"; {row.near_miss} lines nearly fit {', '.join(row.parsers)}" if row.near_miss else ""
        row.note = "no parser understands it" + near + drifted


def _quality(store: Store, source_id: int, kind: str, note: str, n: int = 1, line: int | None = None) -> None:
    schema = {"line": pl.Int64, "kind": pl.String, "n": pl.Int64, "note": pl.String}
    frame = pl.DataFrame({"line": [line], "kind": [kind], "n": [n], "note": [note]}, schema=schema)
    store.insert("quality", frame, source_id)


def _store_sources(store: Store, collected: Collected, rows: Sequence[SourceRow]) -> None:
    told = [
        {
            "source_id": source.source_id,
            "name": row.source,
            "size_bytes": source.size,
            "lines": row.lines,
            "mtime": source.mtime,
            "mtime_kind": source.mtime_kind,
            "mtime_resolution_s": source.mtime_resolution_s,
            "status": row.status,
            "note": row.note,
        }
        for source, row in zip(collected.sources, rows)
    ]
    if told:
        store.insert("sources", pl.DataFrame(told, infer_schema_length=None))


# --- stated facts ---------------------------------------------------------------------------------------------------------------


def _store_given(store: Store, collected: Collected, given: Given, settings: Settings) -> None:
    """The stated facts as rows, and main.bindings: which source was recorded during which scope."""
    facts = dict(given.facts)
    if facts or given.during:
        source_id = len(collected.sources)
        name = given.file.name if given.file else "--given"
        store.insert("sources", pl.DataFrame({"name": [name], "status": ["given"]}), source_id)
        rows = [
            {
                "line": given.lines.get(key),
                "key": key,
                "value": _known(key, str(value)),
                "num": value if isinstance(value, float) else None,
            }
            for key, value in facts.items()
        ]
        store.insert("given", pl.DataFrame(rows, schema=GIVEN_COLUMNS), source_id)
    for pattern, label in given.during.items():
        bound = _named(collected, pattern)
        if not bound:
            _quality(
                store,
                -1,
                "given-without-file",
                f"[during] names a file that is not among the sources, for scope {store.hider.label('name', label)}",
            )
        for source in bound:
            store.con.execute("INSERT INTO main.bindings VALUES (?, ?)", [source.source_id, label])


def _known(key: str, value: str) -> str:
    """A name as the catalogue spells it, so that it joins and may be shown."""
    if key == "model.name":
        return catalog.known_model(value) or value
    return (catalog.known_gpu(value) or value) if key == "gpu.name" else value


def _named(collected: Collected, name: str) -> list[Source]:
    """Sources that a stated name means: the whole name, or the last part of it."""
    exact = [s for s in collected.sources if s.name == name]
    return exact or [s for s in collected.sources if s.name.rsplit("/", 1)[-1] == name]


def _judgeable(store: Store, collected: Collected, given: Given, settings: Settings) -> None:
    """Clocks, matched steps and views: everything that rules look at."""
    offsets = {s.source_id: v for name, v in {**given.offset, **settings.offsets}.items() for s in _named(collected, name)}
    intervals = {s.source_id: v for name, v in given.interval_s.items() for s in _named(collected, name)}
    tell_hosts(store, collected.sources, {s.source_id: v for name, v in given.host.items() for s in _named(collected, name)})
    tell_steps(store, collected.sources)
    clock.align(store, offsets, intervals, settings.tz or given.facts.get("tz"), collected.sources)
    join.join(store, ("bench_series",))
    steps.match_steps(store)
    join.join(store, tuple(v.name for v in join.VIEWS if v.name != "bench_series"))
    steps.note_left_out(store)
    alignment.note_all(store)
    contradictions.note_contradictions(store)
    note_failures(store)


# --- the result -----------------------------------------------------------------------------------------------------------------


def _result(store: Store, settings: Settings, rows: list[SourceRow], collected: Collected, given: Given) -> Result:
    hidden = [SourceRow(source=store.hider.label("path", p.name), status="problem", note=f"{p.what}; {p.todo}") for p in collected.problems]
    names = "SELECT s.name AS source, "
    return Result(
        version=__version__,
        primary=Headline(),
        sources=[*rows, *hidden],
        clocks=store.rows_of(
            names
            + f"c.kind, c.resolution_s, CASE WHEN NOT starts_with(coalesce(c.method, ''), '{clock.OWN_AXIS}') THEN c.offset_s END AS offset_s, c.uncertainty_s, c.method, c.interval_s, coalesce(c.estimated, FALSE) AS estimated FROM main.clocks c JOIN raw.sources s USING (source_id) "
            "WHERE s.status = 'read' ORDER BY source_id"
        ),
        quality=store.rows_of(
            names
            + "q.line, q.kind, q.n, q.note FROM raw.quality q LEFT JOIN raw.sources s USING (source_id) ORDER BY source_id, line, kind"
        ),
        rejects=store.rows_of(
            names + "r.line, r.parser, r.reason FROM raw.rejects r JOIN raw.sources s USING (source_id) ORDER BY source_id, line LIMIT 50"
        ),
        evidence_grades=store.rows_of(
            "SELECT sc.label AS scope, e.input, e.grade, e.n_eff, e.reason, e.collect FROM main.scope_evidence e JOIN main.scopes sc USING (scope_id) "
            "ORDER BY scope_id, input"
        ),
        settings={
            "limits_overridden": settings.limits,
            "given": sorted(given.facts),
            "during": len(given.during),
            "revealed": sorted(settings.reveal),
        },
        hidden=dict(store.hider.hidden),
    )


def _nothing(paths: Sequence[str | Path], collected: Collected, result: Result, names: dict[str, str]) -> str:
    """The message when nothing was readable: every name, what happened, what to do."""
    lines = [f"  {printable(p.name)}: {p.what}; {p.todo}" for p in collected.problems]
    lines += [f"  {printable(names.get(s.source, s.source))}: {s.note}" for s in result.sources if s.status not in ("read", "problem")]
    what = ", ".join(str(p) for p in paths) or "no path"
    hint = "Run `gpuverdict parsers` for what can be read, `gpuverdict explain FILE` for why a file is not."
    return "\n".join(
        [f"Nothing readable in {what}.", *lines[:20], *([f"  ... and {len(lines) - 20} more"] if len(lines) > 20 else []), hint]
    )
