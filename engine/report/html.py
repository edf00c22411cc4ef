"""report.html: one file without a network request, complete without scripts, light and dark, for screen, paper and screen readers.

Everything that is not ours goes through the template's autoescape; the only text taken as it is are our own style and charts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..clock import OWN_AXIS
from ..phrase import number
from ..result import Finding, Result
from . import summary
from .charts import PALETTE, TITLES, budget_of, end, span_text
from .summary import command_of

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.bccache import Bucket

CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
ROWS_OF_WHY = 8  # evidence rows per answer that the first reading needs; all of them are in the folded part
PLACES = 12
READ_THUS = {
    "utilisation": "Thin lines are cards, the thick line is their sum, the dashed line is 100 %: one card's worth of work. "
    "A gap is a missing sample.",
    "sweep": "The vertical line is the slot limit. Where it holds, the total stays flat beyond it and no more streams decode at a time.",
    "requests": "A bar is one request on its slot from launch to finish, a line counts requests, a dot is one response file "
    "when it was complete.",
    "ceiling": "A bar is the interval that the evidence leaves, not a value; the short vertical marks are the lines that decide.",
    "alignment": "Shaded: at least one request was in flight. Grey GPU samples do not count for the load: they lie outside it or too near "
    "its edge. A pale bar with a dashed edge is on a clock that is only estimated.",
    "budget": "A bar is the interval that the evidence leaves for one part, the vertical mark is the step. Parts may overlap in time. "
    "A pale bar with a dashed edge has no known upper bound; unexplained is what the known bounds leave over.",
}
OWN_PLACE = ("alignment", "budget")  # figures with a section of their own
TIME_NOTES = ("outside-the-load", "clock-not-matched")
NOT_TIED = {
    "none": "no times were read from it",
    "utc": "its times are in UTC, but nothing ties them",
    "local-no-zone": "local times without a zone",
    "no-year": "times without a year",
    "since-start": "seconds since its own start",
    "counter": "counted samples without a time",
}
TOOLS = ("duckdb", "polars", "altair", "vl-convert-python")


def render(result: Result, charts: Mapping[str, str], strips: str = "", command: str = "") -> str:
    """The page. `charts` are SVG texts by name, `strips` the character chart, `command` what made this report."""
    from markupsafe import Markup

    style = _variables() + _file("style.css")
    drawn = {n: {"name": n, "title": TITLES.get(n, n), "reads": READ_THUS.get(n, ""), "svg": Markup(svg)} for n, svg in charts.items()}
    return template().render(
        result=result,
        figures=[figure for name, figure in drawn.items() if name not in OWN_PLACE],
        own={name: drawn.get(name) for name in OWN_PLACE},
        strips=strips.rstrip("\n"),
        command=command,
        style=Markup(style),
        csp=CSP,
        versions=_versions(),
        **_parts(result),
    )


@cache
def template() -> Template:
    """The page to fill in. Compiling it takes longer than filling it: ask for it where there is something to wait for anyway."""
    from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined

    class Kept(FileSystemBytecodeCache):
        """Compiled once, as Python does with a module, and kept where it keeps those, if it keeps any."""

        def dump_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError):  # no such folder, or somebody else's, or a full disk
                super().dump_bytecode(bucket)

    here = Path(__file__)
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FileSystemLoader(here.parent),
        bytecode_cache=Kept(str(Path(cache_from_source(str(here))).parent), "page-%s.pyc"),
        auto_reload=False,
    )
    environment.filters.update(value=value, label=label, place=place, command=command_of)
    return environment.get_template("page.html.j2")


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _variables() -> str:
    """The palette of the charts as CSS variables, so that page and charts share one."""
    light, dark = (";".join(f"--{name}:{pair[n]}" for name, pair in PALETTE.items()) for n in (0, 1))
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"


def _parts(result: Result) -> dict[str, Any]:
    """Everything that the template shows, in the order of the page."""
    answers = summary.answers(result)
    sources, lines, near = summary.counted(result)
    word, why = summary.stamp(result)
    told, untold = summary.open_groups(result)
    return {
        "headline": summary.split_sentence(result.primary.sentence)[0],
        "answers": answers,
        "counts": {"sources": sources, "lines": lines, "near": near},
        "stamp": {"word": word, "why": why},
        "unread": [s for s in result.sources if s.status not in ("read", "empty", "given")],
        "whys": [_why(a.finding) for a in answers if a.finding and a.verdict in ("confirmed", "fits")],
        "also": [{"about": g.about, "where": g.where, "says": summary.confirmed_text(g)} for g in summary.also_confirmed(result)],
        "failures": summary.failures(result),
        "ruled_out": [_ruled_out(g) for g in summary.ruled_out_groups(result)],
        "time": _time(result),
        "budget": _budget(result),
        "left_open": summary.left_open(result),
        "open": [_open(g) for g in [*summary.groups(result, ["fits"]), *told]],
        "untold": untold,
        "failed": [f for f in result.findings if f.verdict == "error"],
        "changes": [_change(result, a) for a in answers if a.finding and a.verdict == "confirmed"],
        "experiments": summary.next_experiments(result),
        "by_rule": _by_rule(result.findings),
        "scopes": [_scope(p) for p in result.primaries],
        "given": _joined(result.settings.get("given")),
        "overridden": {k: number(v) for k, v in (result.settings.get("limits_overridden") or {}).items()},
        "revealed": _joined(result.settings.get("revealed")),
    }


def _why(finding: Finding) -> dict[str, Any]:
    places = list(dict.fromkeys(place(e) for e in finding.evidence))
    return {
        "finding": finding,
        "margins": list(finding.margin.values())[:ROWS_OF_WHY],
        "places": places[:PLACES],
        "more": max(0, len(places) - PLACES),
    }


def _time(result: Result) -> dict[str, Any]:
    """What is said of time: sentences on clocks and samples, and the sources that no tie puts on the common axis."""
    loose = [c for c in result.clocks if c.get("offset_s") is None]
    told = [c for c in loose if c.get("kind") != "none"]
    rows = [
        {"source": c["source"], "why": OWN_AXIS if (c.get("method") or "").startswith(OWN_AXIS) else NOT_TIED.get(c["kind"], c["kind"])}
        for c in sorted(loose, key=lambda c: c.get("kind") == "none")
    ]
    return {
        "notes": [q for q in result.quality if q["kind"] in TIME_NOTES],
        "not_tied": rows[:PLACES],
        "more": max(0, len(rows) - PLACES),
        "matters": bool(told) and len(result.clocks) > 1,
    }


def _budget(result: Result) -> dict[str, Any] | None:
    """The time budget of one step as rows: what, how many ms, what share of the step."""
    primary = budget_of(result)
    if primary is None:
        return None
    parts = primary.speed.budget
    low, high = end(parts[0], "step_lo_ms"), end(parts[0], "step_hi_ms")
    rows = []
    for part in parts:
        least, most = end(part, "lo_ms"), end(part, "hi_ms")
        share = (100 * least / high if least is not None and high else None, 100 * most / low if most is not None and low else None)
        capped = share[1] if share[1] is None else min(share[1], max(100.0, share[0] or 0.0))
        rows.append({"name": part["component"], "ms": span_text(least, most, "ms"), "share": span_text(share[0], capped, "%")})
    return {"scope": primary.scope, "step": span_text(low, high, "ms"), "rows": rows}


def _ruled_out(group: summary.Group) -> dict[str, str]:
    """The sentence of one scope stands for the group and says which scope it is."""
    last = group.findings[-1]
    which = f"At {last.scope.label}: " if len(group.findings) > 1 else ""
    return {"about": group.about, "where": group.where, "says": which + last.sentence}


def _open(group: summary.Group) -> dict[str, Any]:
    """What is open: what else it could be, and the commands that would settle it, each once."""
    rivals = {r.name: r.settle for f in group.findings for r in f.rivals_open}
    collect: dict[str, list[str]] = {}
    for finding in summary.telling(group):
        for missing in finding.missing:
            facts = collect.setdefault(missing.collect, [])
            facts += [missing.fact] if missing.fact not in facts else []
    last = group.findings[-1]
    return {
        "about": group.about,
        "where": group.where,
        "verdict": last.verdict,
        "says": last.sentence or last.because,
        "because": last.because,
        "rivals": rivals,
        "collect": collect,
    }


def _change(result: Result, answer: summary.AnswerLine) -> dict[str, Any]:
    finding = answer.finding
    assert finding is not None
    question = next(key for key, text in summary.QUESTIONS.items() if text == answer.question)
    primary = next((p for p in result.primaries if p.scope == answer.scope), None)
    gain = summary._gain(primary, question) if primary else []
    return {"finding": finding, "question": answer.question, "gain": gain}


def _by_rule(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """All findings by rule in the order of the rules; those that do not apply are named in one line."""
    out: dict[str, dict[str, Any]] = {}
    for f in findings:
        entry = out.setdefault(f.rule, {"rule": f.rule, "question": f.question, "means": f.means, "findings": [], "skipped": []})
        entry["skipped" if f.verdict == "not-applicable" else "findings"].append(f)
    return list(out.values())


def _scope(primary: Any) -> dict[str, Any]:
    return {"scope": primary.scope, "throughput": primary.throughput, "speed": primary.speed}


def _joined(values: Iterable[Any] | None) -> str:
    return ", ".join(str(v) for v in values or ())


def _versions() -> list[tuple[str, str]]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = [("Python", platform.python_version())]
    for name in TOOLS:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return found


def value(given: Any) -> str:
    """A fact as text: three significant digits, intervals as `a..b`, an unknown end as such."""
    if given is None:
        return "unknown"
    if isinstance(given, bool):
        return "yes" if given else "no"
    if isinstance(given, list):
        if len(given) == 2 and given[0] is None and given[1] is not None:
            return f"at most {value(given[1])}"
        if len(given) == 2 and given[1] is None and given[0] is not None:
            return f"at least {value(given[0])}"
        shown = [value(v) for v in given]
        return shown[0] if len(shown) == 2 and shown[0] == shown[1] else "..".join(shown)
    return number(given) if isinstance(given, int | float) else str(given)


def label(verdict: str) -> str:
    """The word of a verdict."""
    return summary.WORDS.get(verdict, verdict.upper())


def place(evidence: Any) -> str:
    """`file:line`, or the file where no line is known."""
    return f"{evidence.source}:{evidence.line}" if evidence.line is not None else str(evidence.source)
