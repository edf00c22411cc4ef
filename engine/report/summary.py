"""What every form of the report says, in order: the two answers, what was ruled out, what is open, what to run next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..result import Finding, Next, Primary, Result

QUESTIONS = {"throughput": "Why not more in total?", "speed": "Why is one stream slow?"}
RULES = {
    "throughput": ("client-limited", "kv-pressure", "slot-queue", "admission-stall", "thin-evidence"),
    "speed": (
        [
            "off-gpu",
            "throttled",
            "idle-starvation",
            "memory-bound",
            "compute-bound",
            "sm-bound",
            "link-bandwidth",
            "link-latency",
            "host-bound",
            "turn-taking",
        ]
    ),
}
WORDS = {
    "confirmed": "CONFIRMED",
    "ruled-out": "RULED OUT",
    "fits": "FITS",
    "cannot-tell": "CANNOT TELL",
    "not-applicable": "DOES NOT APPLY",
    "error": "ERROR",
    "undetermined": "UNDETERMINED",
}


@dataclass(frozen=True)
class AnswerLine:
    """One of the two answers: the question in the user's words, a short sentence, the arithmetic, how sure."""

    question: str
    verdict: str
    short: str
    detail: list[str]
    finding: Finding | None = None
    scope: str | None = None


@dataclass
class Group:
    """Findings of one rule with the same verdict, over several scopes."""

    rule: str
    about: str
    scopes: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def where(self) -> str:
        """`c=1, 2, 4` rather than `c=1, c=2, c=4`."""
        plain = [s for s in self.scopes if s.startswith("c=")]
        others = [s for s in self.scopes if not s.startswith("c=")]
        joined = ["c=" + ", ".join(s[2:] for s in plain)] if plain else []
        return "; ".join(joined + [f"the {s}" if s == "trace" else s for s in others])


def split_sentence(sentence: str) -> tuple[str, str]:
    """The first short sentence and the rest (its arithmetic)."""
    short, dot, rest = sentence.partition(". ")
    return (short + ".", rest) if dot else (sentence, "")


def answers(result: Result) -> list[AnswerLine]:
    """The answer to each question: the confirmed one of the highest concurrency, else what fits, else undetermined."""
    return [_answer(result, question) for question in ("throughput", "speed")]


def _answer(result: Result, question: str) -> AnswerLine:
    ranked = sorted(result.primaries, key=lambda p: (p.concurrency is not None, p.concurrency or 0.0), reverse=True)
    for primary in ranked:
        answer = getattr(primary, question)
        if answer.rule:
            finding = find(result, answer.rule, primary.scope)
            short, rest = split_sentence(answer.sentence)
            detail = [rest] if rest else []
            if finding:
                detail += _origin_lines(finding)
            detail += _gain(primary, question)
            return AnswerLine(QUESTIONS[question], "confirmed", short, detail, finding, primary.scope)
    fitting = [f for f in result.findings if f.verdict == "fits" and f.rule in RULES[question]]
    fitting.sort(key=lambda f: f.scope.concurrency or 0, reverse=True)
    if fitting:
        short, rest = split_sentence(fitting[0].sentence)
        rivals = [f"Not excluded: {r.name}." for r in fitting[0].rivals_open]
        weak = [f"{fitting[0].because[:1].upper()}{fitting[0].because[1:]}."] if not rivals and fitting[0].because else []
        return AnswerLine(QUESTIONS[question], "fits", short, [x for x in [rest, *rivals, *weak] if x], fitting[0], fitting[0].scope.label)
    return AnswerLine(QUESTIONS[question], "undetermined", "These files do not show it.", [], None, None)


def _origin_lines(finding: Finding) -> list[str]:
    """Where the deciding facts came from."""
    out = []
    origin = finding.origins.get("slots") or finding.origins.get("over_limit")
    places = [e for e in finding.evidence if e.fact in ("slots", "over_limit")]
    if origin in ("logged", "default") and places:
        word = "printed in" if origin == "logged" else "default of the build in"
        many = slots_text(finding)
        out.append(f"{many} slot{'' if many == '1' else 's'}: {word} {places[0].source}:{places[0].line}.")
    if finding.given:
        out.append("given: " + ", ".join(finding.given))
    return out


def slots_text(finding: Finding) -> str:
    value = finding.numbers.get("slots")
    ends = value if isinstance(value, list) else [value, value]
    return f"{ends[0]:g}" if ends[0] == ends[1] and ends[0] is not None else f"{ends[0]}..{ends[1]}"


def _gain(primary: Primary, question: str) -> list[str]:
    answer = getattr(primary, question)
    if not answer.gain:
        return [answer.gain_note[0].upper() + answer.gain_note[1:] + "."] if answer.gain_note else []
    low, high = answer.gain
    if answer.rule == "slot-queue":
        return [f"More slots: {100 * (low - 1):+.0f} to {100 * (high - 1):+.0f} % ({answer.gain_note})."]
    return [f"At best {high:g} times as fast ({answer.gain_note})."]


def find(result: Result, rule: str, scope: str) -> Finding | None:
    return next((f for f in result.findings if f.rule == rule and f.scope.label == scope), None)


def groups(result: Result, verdicts: Sequence[str], skip: Sequence[str] = ("thin-evidence",)) -> list[Group]:
    """Findings with one of the verdicts, by rule, in the order of the rules."""
    out: dict[str, Group] = {}
    for f in result.findings:
        if f.verdict in verdicts and f.rule not in skip:
            group = out.setdefault(f.rule, Group(f.rule, f.about or f.rule))
            group.scopes.append(f.scope.label)
            group.findings.append(f)
    return list(out.values())


def open_groups(result: Result) -> tuple[list[Group], list[str]]:
    """What cannot be told: questions that some recorded fact speaks to, and the subjects nothing at all was recorded about."""
    told, untold = [], []
    for group in groups(result, ["cannot-tell"]):
        if any(f.recorded or f.because.startswith("the evidence contradicts") for f in group.findings):
            told.append(group)
        else:
            untold.append(group.about)
    return told, untold


def left_open(result: Result) -> list[str]:
    """What a confirmed answer itself leaves open."""
    out = []
    for answer in answers(result):
        if answer.finding and answer.finding.rule == "slot-queue" and answer.verdict == "confirmed":
            many = slots_text(answer.finding)
            out.append(f"what the hardware can do above {many} stream{'' if many == '1' else 's'}: the slots end the sweep there")
    return out


def next_experiments(result: Result, most: int = 3) -> list[Next]:
    """First those of the answers, then those that settle the most open questions, the cheap ones first."""
    leading = [a.finding for a in answers(result) if a.finding]
    settles: dict[str, set[str]] = {}
    bonus: dict[str, float] = {}
    experiments: dict[str, Next] = {}
    for f in result.findings:
        for n, experiment in enumerate(f.next):
            key = experiments.setdefault(experiment.command, experiment).command
            settles.setdefault(key, set()).add(f.rule)
            place = next((k for k, lead in enumerate(leading) if lead is f), None)
            if place is not None:
                bonus[key] = max(bonus.get(key, 0), 100 - 10 * place - n)
    ranked = sorted(experiments.values(), key=lambda e: (-bonus.get(e.command, 0), -len(settles[e.command]), e.cost))
    return ranked[:most]


def stamp(result: Result) -> tuple[str, str]:
    """sufficient, thin or conflicting, and why."""
    conflict = [f for f in result.findings if f.because.startswith("the evidence contradicts itself")]
    if conflict:
        return "conflicting", f"{conflict[0].about} at {conflict[0].scope.label}: {conflict[0].because}"
    thin = [f for f in result.findings if f.rule == "thin-evidence" and f.verdict == "confirmed"]
    if thin:
        return "thin", "; ".join(dict.fromkeys(f"{f.scope.label}: {f.numbers.get('thin_why', '')}" for f in thin))
    if not any(f.verdict in ("confirmed", "ruled-out") for f in result.findings):
        return "thin", "no question could be decided"
    return "sufficient", "what is present is placed in the load"


def counted(result: Result) -> tuple[int, int, int]:
    """Sources read, lines read, lines that nearly fit (a drifted format)."""
    read = [s for s in result.sources if s.status == "read"]
    return len(read), sum(s.lines or 0 for s in read), sum(s.near_miss for s in read)
