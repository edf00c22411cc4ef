"""What every form of the report says, in order: the two answers, what was ruled out, what is open, what to run next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..diagnosis import SPEED_RULES, THROUGHPUT_RULES
from ..phrase import number
from ..result import Finding, Next, Primary, Result

QUESTIONS = {"throughput": "Why not more in total?", "speed": "Why is one stream slow?"}
RULES = {"throughput": (*THROUGHPUT_RULES, "thin-evidence"), "speed": (*SPEED_RULES, "turn-taking")}
# States that may be part of an answer although their cost is not shown.
STATES = {
    "throughput": ("throttled", "off-gpu", "spinning", "loading", "shared-gpu", "re-prefill", "slot-queue", "client-limited"),
    "speed": ("throttled", "off-gpu", "spinning", "turn-taking", "shared-gpu", "fallback-path", "narrow-link"),
}
MANY_SCOPES = 6  # of more, two and the last are named
BETWEEN_CARDS = ("turn-taking", "spinning", "link-bandwidth", "link-latency")  # on one card there is nothing for them to find
# What a first look needs, in the order of what it settles: the inputs that give it, how to record it, what it tells.
RECORD = (
    (
        ("util",),
        "record the cards in the load",
        "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt   (from before the load until after it)",
        "shows whether the cards are busy, idle, held down or waiting for each other while requests run",
    ),
    (
        ("server",),
        "keep the server's log",
        "the server's own log, from its start to the end of the load (stdout and stderr)",
        "shows its settings, how many requests ran and waited, and what each stream got",
    ),
    (
        ("bench", "client", "server"),
        "measure the total and one stream",
        "a sweep of 1, 2, 4, 8 ... streams: tokens/s in total and of one stream, and the times of first and last tokens",
        "shows where the total stops to grow, and whether each stream slows when it does",
    ),
)
INPUTS = {"util": "GPU samples in the load", "server": "requests or statistics of the server", "bench": "totals of a sweep or of a client"}
PROGRAMS = (
    *("gpuverdict", "nvidia-smi", "dcgmi", "nvbandwidth", "nsys", "llama-server", "llama-bench", "vllm", "ollama"),
    *("python", "python3", "sudo", "curl", "docker", "journalctl", "pidstat"),
)
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
        """`c=1, 2, 4` rather than `c=1, c=2, c=4`; of many other scopes the first and the last."""
        plain = [s for s in self.scopes if s.startswith("c=")]
        others = [s for s in self.scopes if not s.startswith("c=")]
        joined = ["c=" + ", ".join(s[2:] for s in plain)] if plain else []
        named = [f"the {s}" if s == "trace" else s for s in others]
        if len(named) > MANY_SCOPES:
            named = [f"{named[0]}; {named[1]}; ...; {named[-1]} ({len(named)} of them)"]
        return "; ".join(joined + named)


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
    states = any(f.verdict == "confirmed" and f.rule in STATES[question] for f in result.findings)
    short = "Not shown; what is confirmed below may be part of it." if states else "These files do not show it."
    return AnswerLine(QUESTIONS[question], "undetermined", short, [], None, None)


def _origin_lines(finding: Finding) -> list[str]:
    """Where the deciding facts came from."""
    out = []
    origin = finding.origins.get("slots") or finding.origins.get("over_limit")
    places = [e for e in finding.evidence if e.fact in ("slots", "over_limit")]
    if origin in ("logged", "default") and places:
        word = "printed in" if origin == "logged" else "default of the build in"
        many = slots_text(finding)
        out.append(f"{many} slot{'' if many == '1' else 's'}: {word} {places[0].source}:{places[0].line}.")
    if covered := covers(finding):
        out.append(covered)
    if finding.given:
        out.append("given: " + ", ".join(finding.given))
    return out


def covers(finding: Finding) -> str:
    """How much of the server's lines the waiting covers, where the finding tells it and it is not nearly all of them."""
    nobody, lines = finding.numbers.get("nobody_waits_share"), finding.numbers.get("lines")
    if finding.rule != "slot-queue" or not nobody or not lines:
        return ""
    return f"Somebody waits in {100 * (1 - nobody):.3g} % of all {number(lines)} lines."


def slots_text(finding: Finding) -> str:
    value = finding.numbers.get("slots")
    ends = value if isinstance(value, list) else [value, value]
    if ends[0] == ends[1] and ends[0] is not None:
        return number(ends[0])
    return "..".join("?" if end is None else number(end) for end in ends)


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
    decided = {f.rule for f in result.findings if f.verdict in ("confirmed", "ruled-out", "fits")}
    for group in groups(result, ["cannot-tell"]):
        if _not_on_one_card(group):
            continue
        if any(f.recorded or f.because.startswith("the evidence contradicts") for f in group.findings):
            told.append(group)
        elif group.rule not in decided:
            untold.append(group.about)
    return told, untold


def to_collect(group: Group) -> list[str]:
    """What would decide a group: of the scopes with a record, where there is one; elsewhere all that is there would be asked for again."""
    return list(dict.fromkeys(m.collect for f in telling(group) for m in f.missing))


def telling(group: Group) -> list[Finding]:
    """The findings of a group that rest on some record; all where none does."""
    return [f for f in group.findings if f.recorded] or group.findings


def fit_groups(result: Result) -> list[Group]:
    """What fits without proof, apart from the one scope that an answer shows."""
    shown = [a.finding for a in answers(result) if a.verdict == "fits"]
    return [g for g in groups(result, ["fits"]) if not all(f in shown for f in g.findings)]


def also_confirmed(result: Result) -> list[Group]:
    """What else is confirmed: neither one of the answers nor the stamp of the evidence."""
    shown = {a.finding.rule for a in answers(result) if a.finding and a.verdict == "confirmed"}
    return groups(result, ["confirmed"], skip=("thin-evidence", *shown))


def confirmed_text(group: Group) -> str:
    """The sentence of the last scope, which scope that is, and where its facts were read."""
    last = group.findings[-1]
    which = f"{last.scope.label}:" if len(group.findings) > 1 else ""
    places = ", ".join(dict.fromkeys(f"{e.source}:{e.line}" if e.line else e.source for e in last.evidence[:3]))
    given = f"given: {', '.join(last.given)}." if last.given else ""
    short, rest = split_sentence(last.sentence)
    said = [
        f"{short.rstrip('.')}, at {group.where}.",
        which if rest else "",
        rest,
        covers(last),
        f"From {places}." if places else "",
        given,
    ]
    return " ".join(part for part in said if part)


def ruled_out_groups(result: Result) -> list[Group]:
    """What was ruled out, without the questions that cannot arise on one card."""
    return [g for g in groups(result, ["ruled-out"]) if not _not_on_one_card(g)]


def _not_on_one_card(group: Group) -> bool:
    return group.rule in BETWEEN_CARDS and all(map(_one_card, group.findings))


def _one_card(finding: Finding) -> bool:
    numbers = finding.numbers
    if numbers.get("split") == "none" or numbers.get("ranks") == [1, 1]:
        return True
    return numbers.get("cards") == 1 and not numbers.get("cards_missing") and "ranks" not in numbers


def failures(result: Result) -> list[str]:
    """Errors and failed requests, each with its first place."""
    rows = [q for q in result.quality if q["kind"] == "failures"]
    return [f"{q['note']}, first at {q['source']}" + (f":{q['line']}" if q["line"] else "") for q in rows]


def left_open(result: Result) -> list[str]:
    """What a confirmed answer itself leaves open."""
    out = []
    for answer in answers(result):
        if answer.finding and answer.finding.rule == "slot-queue" and answer.verdict == "confirmed":
            many = slots_text(answer.finding)
            swept = len({p.concurrency for p in result.primaries if p.concurrency}) > 1
            why = "the slots end the sweep there" if swept else "no more run at a time"
            out.append(f"what the hardware can do above {many} stream{'' if many == '1' else 's'}: {why}")
    return out


def next_experiments(result: Result, most: int = 3) -> list[Next]:
    """First those of the answers and of what is confirmed; then how to record what lacks; then what settles most, cheaply.

    What fits only because of samples that may lie outside the load is no lead: they have to be recorded again first.

    A question that no recorded fact brings nearer to a yes proposes nothing: its experiment would be one of many.
    """
    leading = [a.finding for a in answers(result) if a.finding and (a.verdict == "confirmed" or a.finding.grade != 2)]
    leading += [g.findings[-1] for g in also_confirmed(result)]
    settles: dict[str, set[str]] = {}
    bonus: dict[str, float] = {}
    experiments: dict[str, Next] = {}
    for f in result.findings:
        near = f.verdict == "fits" or (f.recorded and any(m.holds for m in f.margin.values()))
        if not near and f not in leading:
            continue
        for n, experiment in enumerate(f.next):
            key = experiments.setdefault(experiment.command, experiment).command
            settles.setdefault(key, set()).add(f.rule)
            place = next((k for k, lead in enumerate(leading) if lead is f), None)
            if place is not None:
                bonus[key] = max(bonus.get(key, 0), 100 - 10 * place - n)
    ranked = sorted(experiments.values(), key=lambda e: (-bonus.get(e.command, 0), -len(settles[e.command]), e.cost))
    first = [e for e in ranked if e.command in bonus]
    return [*first, *to_record(result), *(e for e in ranked if e not in first)][:most]


def to_record(result: Result) -> list[Next]:
    """How to record what is absent, or present but too short or not placed in the load."""
    out = []
    for inputs, name, command, tells in RECORD:
        rows = [g for g in result.evidence_grades if g["input"] in inputs]
        if not any(g["grade"] >= 3 for g in rows):
            usual = f"{result.recorder}   (from before the load until after it)" if result.recorder and inputs == ("util",) else command
            advice = next((g["collect"] for g in rows if g.get("collect")), usual)
            out.append(Next(name=name, command=advice, tells=tells))
    return out


def stamp(result: Result) -> tuple[str, str]:
    """sufficient, thin, conflicting or undecided, and why."""
    conflict = [f for f in result.findings if f.because.startswith("the evidence contradicts itself")]
    if conflict:
        return "conflicting", f"{conflict[0].about} at {conflict[0].scope.label}: {conflict[0].because}"
    thin = [f for f in result.findings if f.rule == "thin-evidence" and f.verdict == "confirmed"]
    if thin:
        return "thin", "; ".join(dict.fromkeys(f"{f.scope.label}: {f.numbers.get('thin_why', '')}" for f in thin))
    if any(a.verdict == "confirmed" for a in answers(result)):
        return "sufficient", "what is present is placed in the load"
    have = {g["input"] for g in result.evidence_grades}
    lacking = [said for name, said in INPUTS.items() if name not in have and not (name == "bench" and have & {"server", "client"})]
    if len(lacking) == len(INPUTS):
        return "thin", f"no {', no '.join(lacking)}"
    return "undecided", "what is present answers neither question" + (f"; there are no {', and no '.join(lacking)}" if lacking else "")


def counted(result: Result) -> tuple[int, int, int]:
    """Sources read, lines read, lines that nearly fit (a drifted format)."""
    read = [s for s in result.sources if s.status == "read"]
    return len(read), sum(s.lines or 0 for s in read), sum(s.near_miss for s in read)


def command_of(advice: str) -> tuple[str, str]:
    """What can be pasted into a shell, and what is only said beside it (`cmd > f   (while the load runs)`); prose has no command."""
    if advice.split(" ", 1)[0] not in PROGRAMS:
        return "", advice
    found = re.search(r"\s+(?=\()|,\s+(?=\w)|;\s+(?=(?:and|or)\b)", advice)
    return (advice[: found.start()], advice[found.end() :]) if found else (advice, "")
