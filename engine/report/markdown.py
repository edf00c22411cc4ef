"""report.md: made to be pasted into an issue. At most 60 000 UTF-8 bytes, degrading in fixed steps; log text only inside code."""

from __future__ import annotations

from collections.abc import Callable

from ..result import Finding, Result
from .summary import (
    WORDS,
    Group,
    also_confirmed,
    answers,
    command_of,
    confirmed_text,
    counted,
    failures,
    groups,
    left_open,
    next_experiments,
    open_groups,
    ruled_out_groups,
    split_sentence,
    stamp,
    to_collect,
)

BUDGET = 60_000


def render(result: Result, strips: str = "", command: str = "") -> str:
    """The report as GitHub-flavoured Markdown. `strips` is the character chart, `command` the command that made it."""
    parts: list[Callable[[], str]] = [
        lambda: _verdict(result) + _also_confirmed(result),
        lambda: _evidence_stamp(result),
        lambda: _code(strips) if strips else "",
        lambda: _symptoms(result),
        lambda: _why(result),
        lambda: _ruled_out(result),
        lambda: _open(result),
        lambda: _change(result),
        lambda: _check(result),
    ]
    folded: list[tuple[str, Callable[[], str]]] = [
        ("All findings", lambda: _all_findings(result)),
        ("Input quality", lambda: _quality(result)),
        ("Clocks and assumptions", lambda: _clocks(result)),
        ("What was hidden", lambda: _hidden(result)),
        ("How this was made", lambda: _made(result, command)),
    ]
    keep_folded, keep_parts = list(folded), list(parts)
    # Dropped in this order until it fits: details last to first, then strips; the verdict, what was ruled out and what is open stay.
    while True:
        text = "\n".join(p for p in (part() for part in keep_parts) if p)
        text += "".join(f"\n<details><summary>{title}</summary>\n\n{make()}\n\n</details>\n" for title, make in keep_folded)
        if len(text.encode()) <= BUDGET:
            return text
        if keep_folded:
            keep_folded.pop(0 if len(keep_folded) == 1 else 1 if len(keep_folded) > 2 else 0)
        elif len(keep_parts) > 5:
            keep_parts.pop(2)
        else:
            return (
                text.encode()[: BUDGET - 200].decode(errors="ignore").rsplit("\n\n", 1)[0]
                + "\n\n(shortened: the full text is in report.html)\n"
            )


def escape(text: str) -> str:
    """Text of ours that may hold a name: nothing in it may turn into Markdown, HTML, a mention or a reference."""
    for char in "\\`*_{}[]<>|~":
        text = text.replace(char, "\\" + char if char not in "<>" else {"<": "&lt;", ">": "&gt;"}[char])
    return text.replace("@", "@\u200b").replace("#", "#\u200b").replace("\n", " ")


def code(text: object) -> str:
    """A code span that no content can leave."""
    inside = str(text).replace("\n", " ").replace("\r", " ").replace("|", "¦")
    fence = "`" * (max((len(run) for run in _runs(inside, "`")), default=0) + 1)
    pad = " " if inside.startswith("`") or inside.endswith("`") else ""
    return f"{fence}{pad}{inside}{pad}{fence}"


def _runs(text: str, char: str) -> list[str]:
    runs, run = [], ""
    for c in text + "\0":
        if c == char:
            run += c
        elif run:
            runs.append(run)
            run = ""
    return runs


def _code(text: str) -> str:
    return "```text\n" + text.replace("```", "'''") + "\n```\n"


def _verdict(result: Result) -> str:
    head = result.primary
    lines = [
        f"## {escape(split_sentence(head.sentence)[0])} {WORDS[head.verdict]}" + (f" at {escape(head.scope)}" if head.scope else ""),
        "",
    ]
    for answer in answers(result):
        where = f" ({escape(answer.scope)})" if answer.scope and answer.scope != "trace" else ""
        lines.append(f"**{answer.question}** {escape(answer.short)}{where} **{WORDS[answer.verdict]}**  ")
        lines += [f"{escape(text)}  " for text in answer.detail]
        lines.append("")
    return "\n".join(lines)


def _also_confirmed(result: Result) -> str:
    rows = [f"- **{escape(g.about)}**: {escape(confirmed_text(g))}" for g in also_confirmed(result)]
    return "\n".join(["", "### Also confirmed", "", *rows, ""]) if rows else ""


def _evidence_stamp(result: Result) -> str:
    word, why = stamp(result)
    sources, lines, near = counted(result)
    many = "" if sources == 1 else "s"
    failed = "".join(f"- {escape(text)}.\n" for text in failures(result))
    counts = f"{sources} source{many}, {lines} lines read, {near} nearly understood"
    return f"Evidence: **{word}** ({escape(why)}). {counts}.\n" + (f"\nErrors and failed requests:\n\n{failed}" if failed else "")


def _symptoms(result: Result) -> str:
    rows = [f"- {escape(s['scope'])}, {s['symptom']}: {escape(s['sentence'])} {escape(s['answer'])}" for s in result.symptoms]
    return "\n".join(["### What was seen", "", *rows, ""]) if rows else ""


def _why(result: Result) -> str:
    shown = [a.finding for a in answers(result) if a.finding and a.verdict in ("confirmed", "fits")]
    if not shown:
        return ""
    rows = ["### Why", "", "| finding | fact | value | line | margin |", "|---|---|---|---|---|"]
    for finding in shown:
        for m in list(finding.margin.values())[:6]:
            rows.append(
                f"| {finding.rule} {escape(finding.scope.label)} | {code(m.atom)} | {_value(m.value)} | {_value(m.line)} | {_value(m.margin)} |"
            )
    places = [f"{code(f'{e.source}:{e.line}' if e.line else e.source)}" for f in shown for e in f.evidence[:5]]
    rows += ["", "From " + ", ".join(dict.fromkeys(places)) + "."] if places else []
    return "\n".join(rows) + "\n"


def _value(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return "..".join("?" if v is None else f"{v:.4g}" for v in value)
    return f"{value:.4g}" if isinstance(value, float | int) else escape(str(value))


def _ruled_out(result: Result) -> str:
    rows = [
        f"- **{escape(g.about)}** at {escape(g.where)}: {escape(g.findings[0].scope.label + ': ' if len(g.findings) > 1 else '')}{escape(g.findings[0].sentence)}"
        for g in ruled_out_groups(result)
    ]
    return "\n".join(["### Ruled out", "", *rows, ""]) if rows else ""


def _open(result: Result) -> str:
    told, untold = open_groups(result)
    rows = [f"- {escape(text)}" for text in left_open(result)]
    for g in [*groups(result, ["fits"]), *told]:
        missing = to_collect(g)
        rivals = list(dict.fromkeys(r.name for f in g.findings for r in f.rivals_open))
        word = "fits" if g.findings[-1].verdict == "fits" else "cannot tell"
        rows.append(
            f"- **{escape(g.about)}** at {escape(g.where)} ({word})"
            + (f"; not excluded: {escape('; '.join(rivals))}" if rivals else "")
            + (f"; record: {code(missing[0])}" if missing else "")
        )
    rows += [f"- Nothing recorded about: {escape(', '.join(untold))}."] if untold else []
    return "\n".join(["### Could not tell", "", *rows, ""]) if rows else ""


def _change(result: Result) -> str:
    rows = []
    for answer in answers(result):
        if answer.finding and answer.verdict == "confirmed":
            rows.append(f"- {escape(answer.finding.remedy)} What will not help: {escape(answer.finding.not_a_remedy)}")
    return "\n".join(["### What to change", "", *rows, ""]) if rows else ""


def _check(result: Result) -> str:
    rows = []
    for e in next_experiments(result):
        run, note = command_of(e.command)
        told = " ".join(_as_sentence(text) for text in (note, e.tells) if text)
        # what is only said is no command to copy
        rows += [f"- {escape(_as_sentence(e.name)).rstrip('.')}:", *(["", _code(run).rstrip(), ""] if run else []), f"  {escape(told)}", ""]
    return "\n".join(["### How to check", "", *rows]) if rows else ""


def _as_sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _all_findings(result: Result) -> str:
    rows = ["| question | scope | verdict | because |", "|---|---|---|---|"]
    same: dict[tuple[str, str, str], Group] = {}  # scopes that end alike share a row
    for f in result.findings:
        group = same.setdefault((f.rule, WORDS[f.verdict].lower(), _reason(f)), Group(f.rule, f.about))
        group.scopes.append(f.scope.label)
    rows += [f"| {rule} | {escape(group.where)} | {word} | {escape(reason)} |" for (rule, word, reason), group in same.items()]
    return "\n".join(rows)


def _reason(finding: Finding) -> str:
    return finding.sentence if finding.verdict in ("confirmed", "ruled-out", "fits") else finding.because


def _quality(result: Result) -> str:
    rows = ["| source | lines | read by | understood | noise | nearly | other | rows |", "|---|---|---|---|---|---|---|---|"]
    for s in result.sources:
        got = ", ".join(f"{n} {t}" for t, n in s.rows.items()) or (escape(s.note) if s.note else "-")
        rows.append(
            f"| {code(s.source)} | {s.lines if s.lines is not None else '-'} | {', '.join(s.parsers) or '-'} | {s.matched} | {s.noise} | {s.near_miss} | {s.other} | {got} |"
        )
    rows += ["", *(f"- {code(q['source'] or 'all')}: {q['kind']}: {escape(q['note'] or '')}" for q in result.quality)]
    rows += [
        f"- {code(str(r['source']) + ':' + str(r['line']))} nearly fits {r['parser']}: {escape(r['reason'] or '')}"
        for r in result.rejects[:10]
    ]
    return "\n".join(rows)


def _clocks(result: Result) -> str:
    rows = ["| source | clock | resolution s | offset s | how |", "|---|---|---|---|---|"]
    rows += [
        f"| {code(c['source'])} | {c['kind']} | {_value(c['resolution_s'])} | {_value(c['offset_s'])} | {escape(c['method'] or 'not tied to UTC')} |"
        for c in result.clocks
    ]
    stated = ", ".join(result.settings.get("given", [])) or "nothing"
    return "\n".join(rows) + f"\n\nGiven by the user: {escape(stated)}."


def _hidden(result: Result) -> str:
    said = ", ".join(f"{n} values of class {c}" for c, n in sorted(result.hidden.items())) or "nothing had to be hidden"
    return f"{said}. Prompts, command lines and addresses are never stored."


def _made(result: Result, command: str) -> str:
    return f"gpuverdict {result.version}" + (f"\n\n{_code(command)}" if command else "")
