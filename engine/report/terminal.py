"""The first screen: two answers, what was ruled out, what is open, one command to copy. 80 columns, colours only on a terminal."""

from __future__ import annotations

import textwrap
from pathlib import Path

import click

from ..result import Result
from .summary import (
    WORDS,
    Group,
    also_confirmed,
    answers,
    confirmed_text,
    counted,
    failures,
    fit_groups,
    left_open,
    next_experiments,
    open_groups,
    ruled_out_groups,
    split_sentence,
    stamp,
    to_collect,
)

LEFT, WIDTH, RIGHT = 25, 80, 13
MOST_OPEN = 4  # open questions with what would decide them
COLOURS = {"confirmed": "green", "ruled-out": "blue", "fits": "yellow", "cannot-tell": "magenta", "undetermined": "magenta", "error": "red"}


def render(result: Result, out: Path | None = None) -> str:
    """The whole screen as text with colour codes (click strips them where there is no terminal). Screens are pasted into issues too: names
    stay hidden, and where a file could not be read the way to its name is told."""
    lines = [_top(result), ""]
    for answer in answers(result):
        where = f" ({answer.scope})" if answer.scope and answer.scope not in ("trace",) else ""
        lines += [*_block(answer.question, answer.short.rstrip(".") + where + ".", answer.verdict, answer.detail), ""]
    lines += _section("Also confirmed", [confirmed_text(g) for g in also_confirmed(result)], gap=True)
    lines += _section("Failures", failures(result), gap=True)
    lines += _section("Ruled out", [_ruled_out(g) for g in ruled_out_groups(result)])
    lines += _section("Fits, not proven", [_fits(g) for g in fit_groups(result)])
    told, untold = open_groups(result)
    nothing = [f"nothing recorded about: {', '.join(untold)}"] if untold else []
    lines += _section("Cannot tell", [*left_open(result), *_open(told), *nothing])
    lines += _section("Failed", [f"{f.rule}: {f.because}" for f in result.findings if f.verdict == "error"])
    word, why = stamp(result)
    apart = [f"{q['source']}: {q['note']}" for q in result.quality if q["kind"] == "outside-the-load"]
    lines += _section("Evidence", [f"{word}: {why}", *apart[:2]])
    unread = [s for s in result.sources if s.status not in ("read", "empty") or s.note]
    hint = ["names are hidden: --reveal path shows them"] if unread and "path" not in result.settings.get("revealed", ()) else []
    lines += _section("Not read", [*(f"{s.source}: {s.note}" for s in unread[:8]), *hint])
    lines.append("")
    for experiment in next_experiments(result, 1):
        lines += _block("Settle it with", experiment.command, None, [experiment.tells[0].upper() + experiment.tells[1:] + "."])
    if out is not None:
        lines += _block("Full report", f"{out}: report.html, report.md, findings.json, trace.duckdb", None, [])
    return "\n".join(lines).rstrip() + "\n"


def _top(result: Result) -> str:
    sources, read, near = counted(result)
    seconds = f" · {result.seconds:.1f} s" if result.seconds is not None else ""
    return (
        f"gpuverdict {result.version} · {sources} source{'s' if sources != 1 else ''}, {read} lines read, {near} nearly understood{seconds}"
    )


def _block(question: str, first: str, verdict: str | None, detail: list[str]) -> list[str]:
    room = WIDTH - LEFT - (RIGHT if verdict else 0)
    wrapped = textwrap.wrap(first, room, break_long_words=False) or [""]
    head = f"{question:<{LEFT}}{wrapped[0]}"
    if verdict:
        head = f"{head:<{WIDTH - RIGHT}} " + click.style(WORDS[verdict], fg=COLOURS.get(verdict), bold=True)
    lines = [head] + [" " * LEFT + text for text in wrapped[1:]]
    for text in detail:
        lines += [" " * LEFT + part for part in textwrap.wrap(text, WIDTH - LEFT, break_long_words=False)]
    return lines


def _section(title: str, entries: list[str], gap: bool = False) -> list[str]:
    """One entry below the other; with `gap`, an empty line after the last."""
    lines: list[str] = []
    for n, entry in enumerate(entries):
        wrapped = textwrap.wrap(entry, WIDTH - LEFT, subsequent_indent="  ", break_long_words=False)
        lines += [f"{title if n == 0 else '':<{LEFT}}{wrapped[0]}"] + [" " * LEFT + text for text in wrapped[1:]]
    return [*lines, ""] if lines and gap else lines


def _ruled_out(group: Group) -> str:
    first = group.findings[0]
    which = f"{first.scope.label}: " if len(group.findings) > 1 else ""
    return f"{group.about} at {group.where}. {which}{_short_reason(first.sentence)}"


def _fits(group: Group) -> str:
    rivals = "; ".join(r.name for r in group.findings[-1].rivals_open) or group.findings[-1].because
    return f"{group.about} at {group.where}; not excluded: {rivals}"


def _open(told: list[Group]) -> list[str]:
    """What cannot be told, and what to record: the first few; the others by name, the rest is in the report."""
    first, others = told[:MOST_OPEN], told[MOST_OPEN:]
    lines = [f"{g.about} at {g.where}" + (f"; record: {record[0]}" if (record := to_collect(g)) else "") for g in first]
    return lines + ([f"also open: {', '.join(g.about for g in others)}"] if others else [])


def _short_reason(sentence: str) -> str:
    short, rest = split_sentence(sentence)
    return rest or short
