"""Findings -> what limits throughput, what limits the speed of one stream, per scope, and one headline.

A confirmed state is not yet a cause: a limit whose removal gains less than a tenth stays a state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .result import Answer, Finding, Headline, Primary
from .store import Store

WORTH = 1.10  # a limit is the answer only if removing it could gain a tenth
SERIAL_SUM = 90.0  # below that, idle time and not turn-taking may be most of what one stream waits for
THROUGHPUT_RULES = ("client-limited", "kv-pressure", "slot-queue", "admission-stall", "imbalance")
SPEED_RULES = (
    "off-gpu",
    "throttled",
    "idle-starvation",
    "memory-bound",
    "compute-bound",
    "sm-bound",
    "link-bandwidth",
    "link-latency",
    "host-bound",
)
STATE_ONLY = {"off-gpu", "throttled"}  # confirmed as a state only, these do not answer why one stream is slow
ABOUT_EVIDENCE = {"thin-evidence", "confounded", "measurement-artefact"}  # confirmed, these say what the files are worth
FAIR_SHARE = 0.2  # requests that wait in fewer of the server's lines than this are an episode, not what limits the total
# The fact that says in which share of the server's lines nobody waits, of rules whose confirmed state may be an episode.
NOBODY = {"slot-queue": "nobody_waits_share"}


def diagnose(store: Store, findings: Iterable[Finding]) -> tuple[list[Primary], Headline]:
    """Two answers per scope and the headline: the confirmed answer of the highest offered concurrency, else undetermined."""
    findings = list(findings)
    gains = {row["scope_id"]: row for row in store.rows_of("SELECT * FROM main.slot_gain")}
    budgets: dict[int, list[dict[str, Any]]] = {}
    for row in store.rows_of("SELECT * FROM main.budget ORDER BY scope_id, place"):
        budgets.setdefault(row.pop("scope_id"), []).append(row)
    nothing_served = _nothing_served(store)
    primaries = []
    for scope in store.rows_of("SELECT * FROM main.scopes ORDER BY scope_id"):
        here = {f.rule: f for f in findings if f.scope.label == scope["label"] and f.verdict == "confirmed"}
        if nothing_served:
            here = {}
        primaries.append(
            Primary(
                scope=scope["label"],
                concurrency=scope["concurrency"],
                throughput=_throughput(here, gains.get(scope["scope_id"])),
                speed=_speed(here, budgets.get(scope["scope_id"], [])),
            )
        )
    return primaries, nothing_served or _headline(primaries, findings)


def _throughput(here: dict[str, Finding], gain: dict[str, float] | None) -> Answer:
    for rule in THROUGHPUT_RULES:
        if rule in here and not _an_episode(here[rule]):
            return _limit(here[rule], gain if rule == "slot-queue" else None)
    return Answer()


def _an_episode(finding: Finding) -> bool:
    """Waiting covers so little of the loaded time that it cannot be what limits the total."""
    nobody = finding.numbers.get(NOBODY.get(finding.rule, ""))
    return isinstance(nobody, float) and 1 - nobody < FAIR_SHARE


def _limit(finding: Finding, gain: dict[str, float] | None) -> Answer:
    answer = Answer(rule=finding.rule, verdict="confirmed", sentence=finding.sentence)
    if gain is None or not gain["gain_lo"] or not gain["gain_hi"] or gain["gain_hi"] <= 0:
        answer.gain_note = "how much more the removal would bring is unknown"
        return answer
    answer.gain = [round(gain["gain_lo"], 3), round(gain["gain_hi"], 3)]
    answer.gain_note = f"extrapolated from {gain['points']} steps at or below {gain['slots']:g} streams"
    if gain["gain_hi"] < WORTH:
        return Answer(gain=answer.gain, gain_note=f"{finding.rule} is there, but removing it gains less than a tenth; {answer.gain_note}")
    return answer


def _speed(here: dict[str, Finding], budget: list[dict[str, Any]]) -> Answer:
    shown = [{**{k: _rounded(v) for k, v in part.items()}} for part in budget]
    for rule in SPEED_RULES:
        if rule in here and not (rule in STATE_ONLY and here[rule].claim == "state"):
            return Answer(rule=rule, verdict="confirmed", sentence=here[rule].sentence, budget=shown)
    turns = here.get("turn-taking")
    if turns and isinstance(total := turns.numbers.get("util_sum"), float) and total >= SERIAL_SUM:
        cards = turns.numbers.get("cards")
        return Answer(
            rule="turn-taking",
            verdict="confirmed",
            sentence=turns.sentence,
            gain=[1.0, cards] if isinstance(cards, float) else None,
            gain_note="an ideal tensor split, upper bound",
            budget=shown,
        )
    return Answer(budget=shown, gain_note=_leading(budget))


def _rounded(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _leading(budget: list[dict[str, Any]]) -> str:
    """Nothing is confirmed: the component that must take half of the step, or the only one that is not bounded away, is named."""
    parts = [p for p in budget if p["component"] != "unexplained"]
    step = next((p["step_hi_ms"] for p in budget if p["step_hi_ms"]), None)
    if not parts or not step:
        return ""
    largest = max(parts, key=lambda p: p["lo_ms"])
    others = [p["hi_ms"] for p in parts if p is not largest]
    if largest["lo_ms"] >= 0.5 * step:
        return f"the step time fits {largest['component']}: at least {100 * largest['lo_ms'] / step:.0f} % of it"
    if all(h is not None for h in others) and sum(h for h in others if h is not None) <= 0.3 * step and largest["hi_ms"] is None:
        return f"the step time fits {largest['component']}: all else is at most {100 * sum(h for h in others if h) / step:.0f} % of it"
    return ""


def _nothing_served(store: Store) -> Headline | None:
    """Every request of the server's log failed or was cancelled: no answer about speed is an answer then."""
    row = store.rows_of(_SERVED)[0]
    if not row["asked"] or row["ended_well"] or row["tokens"] or row["steps"]:
        return None
    return Headline(sentence=f"No request was served to its end: all {row['asked']} in the log failed or were cancelled.")


# Statistics lines and sweeps tell of requests that have no line of their own.
_SERVED = """
SELECT
    count(*) AS asked, count(*) FILTER (status IS NULL OR status NOT IN ('failed', 'cancelled')) AS ended_well,
    (SELECT count(*) FROM main.server_samples WHERE gen_tok_s > 0) AS tokens, (SELECT count(*) FROM main.bench_steps) AS steps
FROM main.requests WHERE origin = 'server'
"""


def _headline(primaries: list[Primary], findings: list[Finding]) -> Headline:
    ranked = sorted(primaries, key=lambda p: (p.concurrency is not None, p.concurrency or 0), reverse=True)
    for primary in ranked:
        for question, answer in (("throughput", primary.throughput), ("speed", primary.speed)):
            if answer.rule and answer.verdict == "confirmed":
                return Headline(rule=answer.rule, scope=primary.scope, verdict="confirmed", sentence=answer.sentence, question=question)
    states = {
        f.rule: _clause(f.sentence) + _where(f, findings) for f in findings if f.verdict == "confirmed" and f.rule not in ABOUT_EVIDENCE
    }
    if states:
        return Headline(
            sentence=f"These files do not show what limits this server, but it is confirmed that {', and that '.join(states.values())}."
        )
    return Headline(sentence="These files do not show what limits this server; see what was ruled out and what is missing.")


def _where(finding: Finding, findings: list[Finding]) -> str:
    """Which loads a state is of, where it is not that of all that were judged: another server of these files may be the one in it."""
    judged = [f for f in findings if f.rule == finding.rule]
    held = [f.scope.label for f in judged if f.verdict == "confirmed"]
    return "" if len(held) == len(judged) else f" ({', '.join(held[:3])}{' and others' if len(held) > 3 else ''})"


def _clause(sentence: str) -> str:
    """The first sentence of several, to stand inside another one."""
    first = sentence.split(". ")[0].rstrip(".")
    return first[:1].lower() + first[1:] if first[1:2].islower() or first[1:2] == " " else first
