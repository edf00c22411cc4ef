"""`gpuverdict explain`: which parser reads a file, why, how every line ended, its clock; or why nothing reads it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, BinaryIO

from . import date_lines
from .collect import collect
from .line_format import LineFormat
from .parse import read
from .parser import together
from .plugins import load_registry
from .recognise import recognise
from .source import Source, is_binary
from .store import Store


class UnknownParser(ValueError):
    """`--parser` names none; the message says which exist."""


def explain(paths: Sequence[str], only: str | None = None, stdin: BinaryIO | None = None) -> list[dict[str, Any]]:
    """One entry per source: file, parser or None, also, reason, lines {matched, noise, near_miss, other}, rows {table: n}, clock, rejects."""
    registry = load_registry()
    parsers: list[Any] = registry.parsers
    if only:
        parsers = [p for p in parsers if p.name == only]
        if not parsers:
            names = [p.name for p in registry.parsers]
            near = difflib.get_close_matches(only, names, 1, 0.4)
            raise UnknownParser(
                f"no parser {only!r}" + (f"; did you mean {near[0]}?" if near else f"; parsers are {', '.join(sorted(names))}")
            )
    collected = collect(paths, stdin=stdin)
    out = [_problem(p) for p in collected.problems]
    store = Store()
    for source in collected.sources:
        out.append(_entry(store, source, parsers))
    store.close()
    return out


def _problem(problem: Any) -> dict[str, Any]:
    return _blank(problem.name, f"{problem.what}; {problem.todo}")


def _blank(name: str, reason: str) -> dict[str, Any]:
    return {
        "file": name,
        "parser": None,
        "also": [],
        "reason": reason,
        "lines": dict.fromkeys(("matched", "noise", "near_miss", "other"), 0),
        "rows": {},
    }


def _entry(store: Store, source: Source, parsers: Sequence[Any]) -> dict[str, Any]:
    shown = source.given_as or source.name
    try:
        head = source.head()
        found = recognise(source, parsers)
        if not head.raw:
            return _blank(shown, "the file has no content")
        if not found.parsers and is_binary(head.raw):
            return _blank(shown, f"binary; none of {len(parsers)} parsers reads it")
        readings = read(source, parsers, store.emit(source.source_id), store.con, found)
    except OSError as problem:
        return _blank(shown, f"cannot be read: {problem.strerror or type(problem).__name__}")
    date_lines.tell_times(store, source)
    readings = sorted(readings, key=lambda r: (-r.counts.matched, -r.counts.near_miss, r.parser))
    telling = [r for r in readings if r.counts.matched]
    rows = store.rows_from(source.source_id)
    entry = _blank(shown, _why_not(found, readings, parsers))
    counts = together(r.counts for r in readings)
    entry["lines"] = {"matched": counts.matched, "noise": counts.noise, "near_miss": counts.near_miss, "other": counts.other}
    entry["rows"] = dict(sorted(rows.items()))
    entry["rejects"] = [{"line": n, "reason": why} for r in readings for n, why in r.counts.rejects[:5]]
    entry["clock"] = _clock(store, source.source_id)
    entry["quality"] = _quality(store, source)
    entry["runner_up"] = found.runner_up
    if telling:
        entry["parser"], entry["also"] = telling[0].parser, [r.parser for r in telling[1:]]
        entry["reason"] = telling[0].reason or found.reasons.get(telling[0].parser, "") or "its lines match"
    return entry


def _why_not(found: Any, readings: Sequence[Any], parsers: Sequence[Any]) -> str:
    """For a file that gives nothing: the nearest format and what was missing."""
    near = [r for r in readings if r.counts.near_miss]
    if near:
        return f"{near[0].counts.near_miss} lines nearly fit {near[0].parser}: {near[0].counts.rejects[0][1] if near[0].counts.rejects else 'a field is missing'}"
    if found.nearest:
        return f"nearest is {found.nearest}: {found.missing}"
    formats = sum(isinstance(p, LineFormat) for p in parsers)
    return f"none of {len(parsers)} parsers ({formats} line formats) recognises it"


def _clock(store: Store, source_id: int) -> dict[str, Any] | None:
    rows = store.rows_of(
        f"SELECT kind, resolution_s, offset_s, uncertainty_s, method, interval_s FROM raw.clocks WHERE source_id = {source_id} ORDER BY offset_s IS NULL, kind = 'none', line NULLS FIRST LIMIT 1"
    )
    return rows[0] if rows else None


def _quality(store: Store, source: Source) -> list[dict[str, Any]]:
    rows = store.rows_of(f"SELECT kind, n, note FROM raw.quality WHERE source_id = {source.source_id} ORDER BY line, kind")
    return [{"kind": k, "n": 1, "note": note} for k, note in source.quality] + rows


def render(entries: Sequence[dict[str, Any]]) -> str:
    """The entries as text for a terminal."""
    out = []
    for e in entries:
        names = ", ".join([e["parser"], *e["also"]]) if e["parser"] else "no parser"
        out.append(f"{_printable(e['file'])}\n  {names}: {e['reason']}")
        lines = e["lines"]
        if any(lines.values()):
            out.append(
                f"  lines: {lines['matched']} understood, {lines['noise']} noise, {lines['near_miss']} nearly, {lines['other']} other"
            )
        if e["rows"]:
            out.append("  rows:  " + ", ".join(f"{n} {t}" for t, n in e["rows"].items()))
        if e.get("clock"):
            out.append("  clock: " + _clock_text(e["clock"]))
        if e.get("runner_up"):
            out.append(f"  otherwise: {e['runner_up']}")
        out += [f"  line {r['line']} nearly fits: {r['reason']}" for r in e.get("rejects", [])]
        out += [f"  note: {q['kind']}: {q['note']}" for q in e.get("quality", [])]
    return "\n".join(out) + "\n"


def _printable(name: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in name)


def _clock_text(clock: dict[str, Any]) -> str:
    text = str(clock["kind"])
    if clock["resolution_s"]:
        text += f", resolution {clock['resolution_s']:g} s"
    if clock["offset_s"] is not None:
        text += f", UTC {clock['offset_s']:+.3f} s" + (f" +- {clock['uncertainty_s']:g} s" if clock["uncertainty_s"] is not None else "")
    if clock["method"]:
        text += f" ({clock['method']})"
    return text + (f", a sample every {clock['interval_s']:g} s" if clock["interval_s"] else "")
