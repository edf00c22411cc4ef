"""Who reads a source, and why; or why nobody does. Also: where the parsers come from, and the order of the line formats.

Parsers of whole sources answer from the head alone. Line formats claim when a line of the head really is one of theirs (anchor,
what stands before it, needed fields), not when a literal merely occurs. The head gives the first idea only: a log whose interesting
lines come late is still read, because the line pass goes over every text source that no parser claims for itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .exports import layout_of
from .line_format import LineFormat
from .parser import Claim, Refusal

if TYPE_CHECKING:
    from .parse import Probe
    from .parser import Emit, Parser, Readable

Broken = Callable[[str, BaseException], None]


@dataclass
class Recognition:
    """Which parsers read a source.

    whole      parsers of whole sources that take it, the strongest first.
    lines      line formats with a matching line in the head, in the order in which they get the lines.
    exclusive  the first of `whole` keeps the source for itself: no line pass.
    reasons    parser -> why, in our words.
    runner_up  who would have taken it otherwise.
    nearest    for a source nobody reads: the parser that came closest, and `missing`: what was lacking.
    """

    whole: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    exclusive: bool = False
    reasons: dict[str, str] = field(default_factory=dict)
    runner_up: str | None = None
    order: list[LineFormat] | None = None  # the line formats that may take part, in order; None: not asked
    done: Probe | None = None  # where one line format takes part and the head is all of the source: what it found in it
    nearest: str | None = None
    missing: str | None = None

    @property
    def parsers(self) -> list[str]:
        """All of them, in order."""
        return self.whole + ([] if self.exclusive else self.lines)


def recognise(source: Readable, parsers: Sequence[Parser | LineFormat], emit: Emit | None = None, runner_up: bool = True) -> Recognition:
    """Ask every parser about the head of a source. A parser that raises is left out (a quality row where `emit` is given).

    Without `runner_up` line formats are not asked where one parser takes the whole source.
    """
    claims, refusals = _claims(source, [p for p in parsers if not isinstance(p, LineFormat)], emit)
    found = Recognition()
    claims.sort(key=lambda c: (-c[1].strength, c[0]))
    if claims:
        name, first = claims[0]
        found.exclusive = not first.shares
        found.whole = [name] + [n for n, c in claims[1:] if c.shares and first.shares]
        found.reasons = {n: c.reason for n, c in claims if n in found.whole}
        found.runner_up = next((n for n, _ in claims if n not in found.whole), None)
    if found.exclusive and not runner_up:
        return found
    found.order, probes = contenders(source, [p for p in parsers if isinstance(p, LineFormat)])
    near = _line_claims(probes, found)
    if source.head().complete and len(found.order) == 1:
        found.done = next((p for p in probes if p.matcher.form is found.order[0] and p.alive), None)
    found.runner_up = found.runner_up or (found.lines[0] if found.exclusive and found.lines else None)
    if not found.parsers and (refusals or near):
        found.nearest, refusal = max(refusals + near, key=lambda r: (r[1].nearness, r[0]))
        found.missing = refusal.missing
    return found


def possible(source: Readable, formats: Sequence[LineFormat]) -> list[LineFormat]:
    """The formats with an anchor in the source, where its head is all of it; else every format may still have lines further on.

    Colours and JSON wrapping can stand inside an anchor: then nothing is left out either.
    """
    head = source.head()
    text = head.text
    if not head.complete or "\x1b[" in text or '{"log"' in text or layout_of(text, True).wraps or layout_of(text, True).width:
        return list(formats)
    return [f for f in formats if any(anchor in text for line in f.lines for anchor in line.anchors)]


def contenders(source: Readable, formats: Sequence[LineFormat]) -> tuple[list[LineFormat], list[Probe]]:
    """The formats that may find something in a source, in order, and what each finds in its head.

    Where the head is all of the source, each looks at it alone first, and only two that want the same line are set in an order, which
    takes longer than all the rest. A format that cannot work is kept: the pass reports it.
    """
    text, formats = source.head().text, possible(source, formats)
    if formats and source.head().complete:
        probes = scan(text, formats, alone=True)
        # one that matches only lines which do not tell it has nothing here either
        nothing = [p.matcher.form.name for p in probes if p.alive and (not p.signed() if p.counts.matched else not p.counts.near_miss)]
        formats = [f for f in formats if f.name not in nothing]
        if sum(len(p.lines) for p in probes) == len(set().union(*(p.lines for p in probes))):
            return formats, [p for p in probes if p.matcher.form.name not in nothing]
    formats = precedence(formats) if len(formats) > 1 else formats
    return formats, scan(text, formats)


def _claims(source: Readable, parsers: Sequence[Parser], emit: Emit | None) -> tuple[list[tuple[str, Claim]], list[tuple[str, Refusal]]]:
    from .parse import failed

    head = source.head()
    claims: list[tuple[str, Claim]] = []
    refusals: list[tuple[str, Refusal]] = []
    for parser in parsers:
        try:
            answer = parser.claims(head)
        except Exception as error:
            if emit is not None:
                failed(emit, parser.name, error)
            continue
        if isinstance(answer, Claim):
            claims.append((parser.name, answer))
        elif isinstance(answer, Refusal):
            refusals.append((parser.name, answer))
    return claims, refusals


def _line_claims(probes: Sequence[Probe], found: Recognition) -> list[tuple[str, Refusal]]:
    """Fills `found.lines` from the head; returns the formats that only nearly match."""
    near: list[tuple[str, Refusal]] = []
    for probe in probes:
        name = probe.matcher.form.name
        if probe.counts.matched and probe.signed():
            found.lines.append(name)
            said = ", ".join(f"{n} lines with {a.strip()!r}" for a, n in probe.anchors()[:3])
            found.reasons.setdefault(name, said)
        elif probe.counts.near_miss:
            line, reason = probe.counts.rejects[0]
            near.append((name, Refusal(30, f"line {line} looks like {name}, but has {reason}")))
    return near


def scan(text: str, formats: Sequence[LineFormat], alone: bool = False) -> list[Probe]:
    """What the formats find in a text: each line given to the first that matches, or, `alone`, each as if no other were there."""
    from .match import Matcher
    from .parse import Probe, records_of, sort_out
    from .source import Source

    probes = []
    for form in formats:
        try:
            probes.append(Probe(Matcher(form)))
        except Exception:
            continue  # the pass itself reports a format that cannot work
    groups = [[p] for p in probes] if alone else [probes]
    for records, blank, lines in records_of(Source.from_text(text), [p.matcher for p in probes], max(len(text.encode()), 1)):
        for group in groups:
            sort_out(records, blank, lines, group)
    return probes


_order: dict[tuple[int, ...], list[str]] = {}


def precedence(formats: Sequence[LineFormat], emit: Emit | None = None) -> list[LineFormat]:
    """The order in which line formats get the lines, computed from their samples: no registry, no priorities.

    Every format is run over every other's samples. A format whose lines would take sample lines that another claims as its own comes
    after that other. Where two take from each other, or nothing decides, the name does.
    """
    formats = sorted(formats, key=lambda f: f.name)
    key = tuple(id(f) for f in formats)
    if key not in _order:
        takes = _cross_check(formats)
        order: list[str] = []
        rest = [f.name for f in formats]
        while rest:
            free = [n for n in rest if not any(o != n and o in takes[n] and n not in takes[o] for o in rest)]
            order.append((free or rest)[0])
            rest.remove(order[-1])
        _order[key] = order
    rank = {name: i for i, name in enumerate(_order[key])}
    return sorted(formats, key=lambda f: rank[f.name])


def _cross_check(formats: Sequence[LineFormat]) -> dict[str, set[str]]:
    """Format -> the formats whose own sample lines it would take."""
    owners: list[str] = []
    text = ""
    for form in formats:
        for sample in form.samples:
            lines = sample.text.rstrip("\n") + "\n"
            text += lines
            owners += [form.name] * lines.count("\n")
    claimed = {form.name: matched_lines(text, form) for form in formats}
    takes: dict[str, set[str]] = {form.name: set() for form in formats}
    for name, numbers in claimed.items():
        for number in numbers:
            owner = owners[number - 1]
            if owner != name and number in claimed[owner]:
                takes[name].add(owner)
    return takes


def matched_lines(text: str, form: LineFormat) -> set[int]:
    """Numbers of the lines of a text that a format matches, alone."""
    return set().union(*(probe.lines for probe in scan(text, [form])))


def builtin_parsers(broken: Broken | None = None) -> list[Parser | LineFormat]:
    """The PARSER of every module in the `parsers` package, by name. A module that does not import is reported and left out."""
    from .. import parsers as package

    found: list[Parser | LineFormat] = []
    for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
        if module.startswith("_"):
            continue
        try:
            found.append(importlib.import_module(f"{package.__name__}.{module}").PARSER)
        except Exception as error:
            if broken is not None:
                broken(module, error)
    return found


def all_parsers(extra: Iterable[Parser | LineFormat] = (), broken: Broken | None = None) -> list[Parser | LineFormat]:
    """The built-in parsers and `extra` ones (plugins). A later parser of the same name replaces an earlier one."""
    by_name = {p.name: p for p in builtin_parsers(broken)}
    by_name.update((p.name, p) for p in extra)
    return list(by_name.values())


def import_failed(emit: Emit) -> Broken:
    """A `broken` callback that writes the quality row `parser-not-loaded`: the module and the class of the error, no text."""
    from .parse import quality

    def note(module: str, error: BaseException) -> None:
        quality(emit, "parser-not-loaded", 1, f"parsers/{module}.py did not load: {type(error).__name__}")

    return note
