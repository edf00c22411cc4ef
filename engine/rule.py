"""The declared contract of a rule. Rules are data; `judge.py` is the only judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

INPUTS = ("util", "power", "link", "server", "client", "bench", "roof", "config", "kernels", "ab")
SCOPES = ("trace", "step", "regime")
STATE, CAUSE = "state", "cause"


@dataclass(frozen=True)
class Limit:
    """A threshold: value, unit, and why it is where it is."""

    value: float
    unit: str
    why: str


@dataclass(frozen=True)
class Rival:
    """Another explanation of the same observations. It is closed only when every atom of `closed` is true."""

    name: str
    closed: tuple[str, ...]
    settle: str


@dataclass(frozen=True)
class Route:
    """One way to a verdict: all atoms of `when` true, on inputs of sufficient grade.

    `when`  atoms `fact op number|limit|fact`; NULL and intervals astride the line are unknown.
    `uses`  inputs (see INPUTS) whose lowest grade caps the verdict; () means uncapped (only thin-evidence).
    `rivals` keys of Rule.rivals that stay open until closed.
    `says`  a sentence with `{fact}` or `{fact:unit}`.
    `claim` overrides the rule's claim for this route.
    """

    name: str
    when: tuple[str, ...]
    uses: tuple[str, ...]
    rivals: tuple[str, ...] = ()
    says: str = ""
    claim: str | None = None


@dataclass(frozen=True)
class Experiment:
    """What to run next. `command` may hold `{fact}`; `tells` says which outcome means what; `cost` orders cheap ones first.

    `on` server family -> the exact command for that server; taken where the server of the scope is known and so is every fact in it.
    """

    name: str
    command: str
    tells: str
    cost: int = 1
    on: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Rule:
    """A question the evidence can answer.

    facts    SELECT with one row per scope: `scope_id` and facts. A fact is DOUBLE, an interval `x_lo` + `x_hi`, or VARCHAR.
             `x_origin` says where it came from, `x_ev` = {source_id, line} leads back to it.
    confirmed / ruled_out / fits: routes, alternatives in each group.
    impossible: routes that, where one holds, show that the facts are not of one run: then no other route counts.
    collect  fact or input -> how to record it when it is missing.
    """

    id: str
    claim: str
    question: str
    scopes: tuple[str, ...]
    facts: str
    limits: Mapping[str, Limit]
    collect: Mapping[str, str]
    means: str
    remedy: str
    not_a_remedy: str
    applies: tuple[str, ...] = ()
    confirmed: tuple[Route, ...] = ()
    ruled_out: tuple[Route, ...] = ()
    fits: tuple[Route, ...] = ()
    impossible: tuple[Route, ...] = ()
    rivals: Mapping[str, Rival] = field(default_factory=dict)
    next: tuple[Experiment, ...] = ()
    about: str = ""  # a few words for lists: "the link between the cards"
    budget_s: float = 2.0
    api: int = 1
