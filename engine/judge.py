"""Rules over the views -> findings. The order of verdicts is the engine's alone; rules only declare.

For one scope, in this order:

1. an `applies` atom is false: not applicable
2. an impossible route holds: cannot tell, the facts are not of one run; or a ruled-out route and a confirming route with closed rivals
   both hold at the grade they need: cannot tell, contradiction
3. a ruled-out route holds at grade 3 or more: ruled out
4. a confirming route holds, its grade confirms the claim, its rivals are closed: confirmed
5. a confirming or fits route holds at grade 2 or more: fits
6. otherwise: cannot tell, with what is missing for the nearest route
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .logic import Atom, Interval, Value, lookup, margin
from .phrase import fill, names_in
from .result import Evidence, Finding, Margin, Missing, Next, OpenRival, ScopeRef
from .rule import CAUSE, INPUTS, SCOPES, Route, Rule
from .store import Store

if TYPE_CHECKING:
    import duckdb

RULES_OUT, FITS = 3, 2
CONFIRMS = {"state": 3, "cause": 4}
STATED = {"config", "roof"}  # settings and data sheets: without a measurement beside them they answer nothing
LIFTING = ("roof", "kernels", "ab")  # known bytes, kernel traces and A/B runs lift a route whose other inputs are placed in load
UNCAPPED = 9
IMPOSSIBLE = "these facts are not of one run"


@dataclass
class Facts:
    """One scope's facts, where they came from, and the limits in force."""

    values: dict[str, Value]
    origins: dict[str, str]
    givens: dict[str, list[str]]
    places: dict[str, list[tuple[int, int]]]
    limits: dict[str, float]
    overridden: frozenset[str] = frozenset()


@dataclass
class Tried:
    """A route with how its atoms, grade and rivals came out."""

    route: Route
    group: str
    atoms: list[tuple[Atom, bool | None]]
    grade: int
    open_rivals: list[str]
    weakest: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return all(value is True for _, value in self.atoms)

    @property
    def possible(self) -> bool:
        return not any(value is False for _, value in self.atoms)

    @property
    def unknown(self) -> int:
        return sum(value is None for _, value in self.atoms)


def judge(
    store: Store,
    rules: Iterable[Rule],
    limits: Mapping[str, float] | None = None,
    judged: Callable[[Sequence[Finding]], None] | None = None,
) -> tuple[list[Finding], dict[str, float]]:
    """All findings of all rules, in the order of the rules and then of the scopes, and the seconds each rule took.

    `limits` holds overrides as `rule.name`; `judged` gets what there is after each rule. A rule whose SQL fails becomes one finding with
    verdict `error`; the others go on.
    """
    case = Case(
        scopes=store.rows_of("SELECT * FROM main.scopes ORDER BY scope_id"),
        grades=_grades(store),
        names=dict(store.con.execute("SELECT source_id, name FROM raw.sources").fetchall()),
        overrides=dict(limits or {}),
        servers=dict(store.con.execute("SELECT scope_id, server FROM main.servers").fetchall()),
    )
    rules, findings, seconds = list(rules), [], {}
    with ThreadPoolExecutor(2) as pool:  # DuckDB plans and runs outside Python's lock
        for rule, (found, took) in zip(rules, pool.map(lambda rule: _timed(store.con.cursor(), rule, case), rules)):
            findings += found
            seconds[rule.id] = took
            if judged:
                judged(findings)
    return findings, seconds


@dataclass(frozen=True)
class Case:
    """What all rules of one analysis share."""

    scopes: list[dict[str, Any]]
    grades: dict[int, dict[str, dict[str, Any]]]
    names: dict[int, str]
    overrides: dict[str, float]
    servers: dict[int, str]


def _timed(con: duckdb.DuckDBPyConnection, rule: Rule, case: Case) -> tuple[list[Finding], float]:
    began = time.perf_counter()
    try:
        findings = _judge_rule(con, rule, case)
    except Exception as problem:  # a broken rule (a plugin's, say) must not take the report with it
        findings = [_error(rule, problem)]
    finally:
        con.close()
    return findings, time.perf_counter() - began


def _judge_rule(con: duckdb.DuckDBPyConnection, rule: Rule, case: Case) -> list[Finding]:
    cursor = con.execute(rule.facts)
    columns = [str(d[0]) for d in cursor.description or ()]
    check_rule(rule, columns)
    rows = {row["scope_id"]: row for row in (dict(zip(columns, values)) for values in cursor.fetchall())}
    out = []
    for scope in case.scopes:
        if scope["kind"] not in rule.scopes or (len(case.scopes) > 1 and _nothing_measured(scope, case.grades)):
            continue
        grades = case.grades.get(scope["scope_id"], {})
        row = rows.get(scope["scope_id"], dict.fromkeys(columns))
        facts = read_facts(rule, row, case.overrides)
        out.append(_finding(rule, scope, facts, decide(rule, facts, grades), grades, case))
    return out


def _nothing_measured(scope: Mapping[str, Any], grades: Mapping[int, Mapping[str, Any]]) -> bool:
    """The trace holds what no step or regime holds; with nothing measured in it, it only repeats what the files do not have."""
    return scope["kind"] == "trace" and not set(grades.get(scope["scope_id"], {})) - {"config", "roof"}


def _grades(store: Store) -> dict[int, dict[str, dict[str, Any]]]:
    """scope_id -> input -> its row of scope_evidence. Grades are computed in that view and nowhere else."""
    out: dict[int, dict[str, dict[str, Any]]] = {}
    for row in store.rows_of("SELECT * FROM main.scope_evidence ORDER BY scope_id, input"):
        out.setdefault(row["scope_id"], {})[row["input"]] = row
    return out


# --- facts ---------------------------------------------------------------------------------------------------------------------


def fact_names(columns: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Fact -> the columns it is made of: `x` or `x_lo` + `x_hi`. `x_origin`, `x_given` and `x_ev` belong to a fact."""
    columns = [c for c in columns if c != "scope_id"]
    have: set[str] = set(columns)
    facts: dict[str, tuple[str, ...]] = {}
    for column in columns:
        if column.endswith(("_origin", "_given", "_ev")):
            continue
        stem = column[:-3]
        if column.endswith("_lo") and stem + "_hi" in have:
            facts[stem] = (column, stem + "_hi")
        elif not (column.endswith("_hi") and stem + "_lo" in have):
            facts[column] = (column,)
    return facts


def read_facts(rule: Rule, row: Mapping[str, Any], overrides: Mapping[str, float] = {}) -> Facts:
    """One row of a rule's facts as values: NULL is unknown, two ends are an interval."""
    limits = {name: limit.value for name, limit in rule.limits.items()}
    mine = {key.split(".", 1)[1]: value for key, value in overrides.items() if key.split(".", 1)[0] == rule.id}
    facts = Facts({}, {}, {}, {}, {**limits, **mine}, frozenset(mine))
    for name, columns in fact_names(row).items():
        raw = [_steady(row[c]) for c in columns]
        if len(raw) == 2:
            facts.values[name] = Interval.of(*raw)
        else:
            facts.values[name] = raw[0] if raw[0] is None or isinstance(raw[0], str) else float(raw[0])
        if row.get(f"{name}_origin"):
            facts.origins[name] = str(row[f"{name}_origin"])
        if row.get(f"{name}_given"):
            facts.givens[name] = [str(g) for g in row[f"{name}_given"]]
        places = row.get(f"{name}_ev") or []
        places = [places] if isinstance(places, dict) else places
        facts.places[name] = [(p["source_id"], p["line"]) for p in places if p and p.get("source_id") is not None]
    return facts


def _steady(value: Any) -> Any:
    """A division by nothing gives no number; and sums of parallel threads differ in their last digits, which may not reach a report."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.12g}") if math.isfinite(value) else None


def check_rule(rule: Rule, columns: Iterable[str]) -> None:
    """A misspelt name, a fact that is also a limit, a route without rivals where it needs them: errors that say which."""
    facts = fact_names(columns)
    both = set(facts) & set(rule.limits)
    problems = [f"{name} is both a fact and a limit" for name in sorted(both)]
    problems += [f"unknown scope kind {kind!r}" for kind in rule.scopes if kind not in SCOPES]
    closed = [(f"rival {key}", atom) for key, rival in rule.rivals.items() for atom in rival.closed]
    routes = [*rule.confirmed, *rule.ruled_out, *rule.fits, *rule.impossible]
    atoms = [("applies", a) for a in rule.applies] + closed + [(f"route {r.name!r}", a) for r in routes for a in r.when]
    for where, text in atoms:
        for name in Atom.parse(text).names:
            if name not in facts and name not in rule.limits:
                problems.append(f"{where}: {name!r} is neither a fact nor a limit")
    for route in routes:
        problems += [f"route {route.name!r}: unknown input {u!r}" for u in route.uses if u not in INPUTS]
        problems += [f"route {route.name!r}: unknown rival {r!r}" for r in route.rivals if r not in rule.rivals]
        if not route.uses and rule.id != "thin-evidence":
            problems.append(f"route {route.name!r}: `uses` is required")
    problems += [f"fits route {r.name!r} names no rival" for r in rule.fits if not r.rivals]
    if problems:
        raise ValueError(f"rule {rule.id}: " + "; ".join(problems))


# --- the verdict ---------------------------------------------------------------------------------------------------------------


@dataclass
class Decision:
    verdict: str
    tried: Tried | None
    others: list[Tried]
    reason: str = ""


def decide(rule: Rule, facts: Facts, grades: Mapping[str, Mapping[str, Any]]) -> Decision:
    """The verdict of one rule in one scope: the six steps of the module's docstring."""
    if any(Atom.parse(a).holds(facts.values, facts.limits) is False for a in rule.applies):
        false = next(a for a in rule.applies if Atom.parse(a).holds(facts.values, facts.limits) is False)
        return Decision("not-applicable", None, [], f"does not apply: {false}")
    for tried in (_try(rule, r, "impossible", facts, grades) for r in rule.impossible):
        if tried.holds:
            return Decision("cannot-tell", tried, [], IMPOSSIBLE)
    confirming = [_try(rule, r, "confirmed", facts, grades) for r in rule.confirmed]
    excluding = [_try(rule, r, "ruled-out", facts, grades) for r in rule.ruled_out]
    fitting = [_try(rule, r, "fits", facts, grades) for r in rule.fits]
    out = [t for t in excluding if t.holds and t.grade >= RULES_OUT]
    yes = [t for t in confirming if t.holds and not t.open_rivals and t.grade >= CONFIRMS[t.route.claim or rule.claim]]
    if out and yes:
        return Decision("cannot-tell", yes[0], [out[0]], "the evidence contradicts itself")
    if out:
        return Decision("ruled-out", out[0], [])
    if yes:
        return Decision("confirmed", yes[0], [])
    for tried in [*confirming, *fitting]:
        if tried.holds and tried.grade >= FITS:
            return Decision("fits", tried, [t for t in confirming if t.possible and t is not tried])
    near = [t for t in [*confirming, *fitting] if t.possible] or [t for t in excluding if t.possible]
    # a way of which nothing is known lies farther than any other, however short it is
    near.sort(key=lambda t: (t.unknown == len(t.atoms), t.unknown, -t.grade))
    return Decision("cannot-tell", near[0] if near else None, [*confirming, *fitting, *excluding])


def _try(rule: Rule, route: Route, group: str, facts: Facts, grades: Mapping[str, Mapping[str, Any]]) -> Tried:
    atoms = [(a, a.holds(facts.values, facts.limits)) for a in map(Atom.parse, route.when)]
    grade, weakest = route_grade(route, facts, grades)
    rivals = [
        key
        for key in route.rivals
        if not rule.rivals[key].closed or not all(Atom.parse(a).holds(facts.values, facts.limits) is True for a in rule.rivals[key].closed)
    ]
    return Tried(route, group, atoms, grade, rivals, weakest)


def route_grade(route: Route, facts: Facts, grades: Mapping[str, Mapping[str, Any]]) -> tuple[int, list[str]]:
    """The grade that caps a route, and the inputs that hold it down.

    The lowest grade of the inputs it uses, 0 for an absent one; `roof`, `kernels` and `ab` lift a route whose other inputs all
    have 3 or more to their own grade; a fact whose origin is estimated counts as grade 2.
    """
    have = {name: int(grades[name]["grade"] or 0) if name in grades else 0 for name in route.uses}
    lifting = [g for name, g in have.items() if name in LIFTING]
    rest = [g for name, g in have.items() if name not in LIFTING]
    if not have:
        grade = UNCAPPED
    elif lifting and min(lifting) > 3 and (not rest or min(rest) >= 3):
        grade = min(lifting)
    else:
        grade = min(have.values())
    used = {name for text in route.when for name in Atom.parse(text).names}
    if have and any(facts.origins.get(name) == "estimated" for name in used):
        grade = min(grade, 2)
    return grade, [name for name, g in have.items() if g == min(have.values())]


# --- the finding ---------------------------------------------------------------------------------------------------------------


def _finding(
    rule: Rule,
    scope: Mapping[str, Any],
    facts: Facts,
    decision: Decision,
    grades: Mapping[str, Mapping[str, Any]],
    case: Case,
) -> Finding:
    tried = decision.tried
    used = _used_facts(rule, decision)
    rivals = tried.open_rivals if tried and decision.verdict == "fits" else []
    return Finding(
        rule=rule.id,
        scope=_scope_ref(scope),
        verdict=decision.verdict,  # type: ignore[arg-type]
        claim=(tried.route.claim if tried else None) or rule.claim,
        because=_because(rule, decision, grades),
        sentence=_sentence(rule, decision, facts),
        about=rule.about,
        question=rule.question,
        numbers={n: (v.ends if isinstance(v, Interval) else v) for n, v in facts.values.items() if v is not None},
        margin=_margins(decision, facts),
        rivals_open=[OpenRival(name=rule.rivals[k].name, settle=fill(rule.rivals[k].settle, facts.values)) for k in rivals],
        missing=_missing(rule, decision, facts, grades, case),
        recorded=_recorded(rule, facts, grades),
        given=sorted({g for n in used for g in facts.givens.get(n, [])}),
        origins={n: facts.origins[n] for n in used if n in facts.origins},
        evidence=_evidence(used, facts, case.names),
        next=_experiments(rule, facts, case.servers.get(scope["scope_id"]))
        if decision.verdict in ("confirmed", "fits", "cannot-tell")
        else [],
        grade=None if not tried or tried.grade == UNCAPPED else tried.grade,
        means=rule.means,
        remedy=fill(rule.remedy, facts.values),
        not_a_remedy=rule.not_a_remedy,
    )


def _recorded(rule: Rule, facts: Facts, grades: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the files speak to the question: a number that was read at some place, or one that decides a route whose measurements are there.

    Constants, settings by default and counts of nothing seen are known of every scope; those are no record.
    """
    amounts = {name for name, value in facts.values.items() if _is_amount(value) and facts.origins.get(name) != "default"}
    if any(facts.places.get(name) for name in amounts):
        return True
    routes = [r for r in (*rule.confirmed, *rule.ruled_out, *rule.fits) if set(grades) >= set(r.uses) - STATED and set(r.uses) - STATED]
    return bool(amounts & {name for route in routes for text in route.when for name in Atom.parse(text).names})


def _is_amount(value: Value) -> bool:
    ends = value.ends if isinstance(value, Interval) else [value]
    return any(isinstance(end, float) and end != 0 for end in ends)


def _experiments(rule: Rule, facts: Facts, server: str | None) -> list[Next]:
    """Cheap ones first, each with the command of the server in use where the rule has one and the facts in it are known."""
    out = []
    for e in sorted(rule.next, key=lambda e: e.cost):
        exact = e.on.get(server or "", "")
        known = exact and all(facts.values.get(name) is not None for name in names_in(exact))
        out.append(Next(name=e.name, command=fill(exact if known else e.command, facts.values), tells=e.tells, cost=e.cost))
    return out


def _used_facts(rule: Rule, decision: Decision) -> list[str]:
    routes = [t.route for t in ([decision.tried] if decision.tried else [])]
    if decision.reason == "the evidence contradicts itself":
        routes += [t.route for t in decision.others]
    atoms = [text for r in routes for text in r.when] + [a for r in routes for k in r.rivals for a in rule.rivals[k].closed]
    out = [n for text in [*atoms, *rule.applies] for n in Atom.parse(text).names if n not in rule.limits]
    for route in routes:
        out += names_in(route.says)
    return list(dict.fromkeys(out))


def _margins(decision: Decision, facts: Facts) -> dict[str, Margin]:
    out = {}
    for atom, holds in decision.tried.atoms if decision.tried else []:
        left = facts.values.get(atom.left)
        right = atom.literal if atom.literal is not None else lookup(atom.right, facts.values, facts.limits)
        out[atom.text] = Margin(
            atom=atom.text,
            value=left.ends if isinstance(left, Interval) else left,
            line=right.hi if isinstance(right, Interval) else right,
            margin=margin(left, atom.op, right),
            holds=holds,
            overridden=atom.right in facts.overridden,
        )
    return out


def _because(rule: Rule, decision: Decision, grades: Mapping[str, Mapping[str, Any]]) -> str:
    tried = decision.tried
    if decision.reason == IMPOSSIBLE and tried:
        return tried.route.name
    if decision.reason:
        return decision.reason + (f": {tried.route.name}, but {decision.others[0].route.name}" if tried and decision.others else "")
    if not tried:
        return "none of the ways to decide this holds"
    if decision.verdict == "fits":
        needed = CONFIRMS[tried.route.claim or rule.claim]
        if tried.group == "confirmed" and tried.grade < needed:
            return f"{tried.route.name}; " + _weak(tried, grades)
        return tried.route.name
    if decision.verdict == "cannot-tell" and tried.holds:
        return f"{tried.route.name}; " + _weak(tried, grades)
    if decision.verdict == "cannot-tell":
        return f"not decided: {tried.route.name}" if tried.unknown else "none of the ways to decide this holds"
    return tried.route.name


def _weak(tried: Tried, grades: Mapping[str, Mapping[str, Any]]) -> str:
    reasons = [str(grades[n]["reason"]) if n in grades else f"no {n} data for this scope" for n in tried.weakest]
    return "; ".join(reasons) or "a fact is estimated"


def _sentence(rule: Rule, decision: Decision, facts: Facts) -> str:
    tried = decision.tried
    if decision.verdict in ("confirmed", "ruled-out", "fits") and tried and tried.route.says:
        # the words of a confirming route claim more than a verdict of `fits` does
        return ("Perhaps: " if decision.verdict == "fits" and tried.group == "confirmed" else "") + fill(tried.route.says, facts.values)
    if decision.reason == IMPOSSIBLE and tried:
        return fill(tried.route.says, facts.values)
    if decision.verdict == "cannot-tell" and decision.reason and tried:
        return f"The evidence contradicts itself: {fill(tried.route.says, facts.values)} But: {fill(decision.others[0].route.says, facts.values)}"
    if decision.verdict == "not-applicable":
        return f"{rule.question} The question does not arise here."
    return f"{rule.question} These files cannot tell."


def _missing(rule: Rule, decision: Decision, facts: Facts, grades: Mapping[str, Mapping[str, Any]], case: Case) -> list[Missing]:
    """What a nearer verdict would have needed: unknown facts of the nearest route, or the input whose grade stopped it."""
    if decision.verdict not in ("cannot-tell", "fits") or decision.reason:
        return []
    tried = decision.tried
    if decision.verdict == "fits":
        lacking = min((t for t in decision.others if t.unknown), key=lambda t: t.unknown, default=None)
        tried = lacking or tried
    if tried is None:
        return []
    out = []
    for atom, holds in tried.atoms:
        for name in atom.names if holds is None else ():
            value = facts.values.get(name)
            if name in facts.limits or isinstance(value, float | str):
                continue
            out.append(Missing(fact=name, collect=rule.collect.get(name, "not recorded in these files")))
    if not out and (tried.grade < CONFIRMS[tried.route.claim or rule.claim]):
        for name in tried.weakest:
            elsewhere = name not in grades and any(name in inputs for inputs in case.grades.values())
            advice = _TOGETHER if elsewhere else _COLLECT.get(name, "")
            said = rule.collect.get(name) or (grades[name]["collect"] if name in grades else None) or advice
            out.append(Missing(fact=name, collect=str(said)))
    return list({m.fact: m for m in out}.values())


# an input that is among the files, but not of this scope
_TOGETHER = (
    "the cards and the server's log at the same time: those here are not shown to overlap (if they do, say so: [during] in gpuverdict.toml)"
)
_COLLECT = {
    "util": "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt   (while the load runs)",
    "power": "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt   (while the load runs)",
    "link": "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt   (60 s or more while the load runs)",
    "server": "keep the server's log of the run (stdout and stderr)",
    "client": "record send, first-token and last-token times of every request in the client",
    "bench": "a sweep: streams, tokens/s of one stream, tokens/s in total, wall time for 1, 2, 4, 8 ... streams",
    "roof": "model size, active parameters, bits per weight and the card's name (gpuverdict.toml: [model], [gpu])",
    "config": "the server's start-up lines, or --given split=... --given slots=...",
    "kernels": "nsys profile -t cuda,nvtx,osrt --cuda-graph-trace=node -d 15 ...",
    "ab": "the same run twice with one thing changed, three repeats each",
}


def _evidence(used: Iterable[str], facts: Facts, names: Mapping[int, str]) -> list[Evidence]:
    out: dict[tuple[int, int], Evidence] = {}
    for fact in used:
        for source_id, line in facts.places.get(fact, []):
            out.setdefault((source_id, line), Evidence(source=names.get(source_id, "?"), line=line, fact=fact))
    return list(out.values())[:12]


def _scope_ref(scope: Mapping[str, Any]) -> ScopeRef:
    return ScopeRef(kind=scope["kind"], label=scope["label"], host=scope.get("host"), concurrency=scope.get("concurrency"))


def _error(rule: Rule, problem: Exception) -> Finding:
    return Finding(
        rule=rule.id,
        scope=ScopeRef(kind="trace", label="trace"),
        verdict="error",
        claim=rule.claim or CAUSE,
        because=f"{type(problem).__name__}: {problem}",
        sentence=f"The rule {rule.id} failed; the others are not affected.",
        about=rule.about,
        question=rule.question,
    )
