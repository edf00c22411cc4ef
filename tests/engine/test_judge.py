"""A table of tiny facts in, verdicts out: every branch of the order of verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from gpuverdict.engine.judge import check_rule, judge, route_grade
from gpuverdict.engine.result import Finding
from gpuverdict.engine.rule import Experiment, Limit, Rival, Route, Rule
from gpuverdict.engine.store import Store

RULE = Rule(
    id="test-rule",
    claim="state",
    question="Is x high?",
    about="x",
    scopes=("step",),
    facts="SELECT 1 AS scope_id",
    limits={"high": Limit(10, "units", "because"), "low": Limit(5, "units", "because")},
    applies=("n >= 1",),
    confirmed=(Route("x is high", when=("x >= high",), uses=("util",), rivals=("other",), says="X is {x:units}."),),
    ruled_out=(Route("x is low", when=("x < low",), uses=("util",), says="X is only {x:units}."),),
    fits=(Route("y is high", when=("y >= high",), uses=("bench",), rivals=("other",), says="Y is {y}."),),
    rivals={"other": Rival("something else", closed=("z <= 0",), settle="measure z")},
    collect={"x": "record x", "y": "record y", "z": "record z", "n": "record n", "util": "record util"},
    means="",
    remedy="",
    not_a_remedy="",
    next=(Experiment("try", "run {x}", "it tells"),),
)


def verdict(facts: str, grades: dict[str, int], rule: Rule = RULE, limits: dict[str, float] | None = None) -> Finding:
    """One scope, the facts as a SELECT list, the grades of its inputs."""
    store = Store()
    store.con.execute("CREATE TABLE main.scopes AS SELECT 1 AS scope_id, 'step' AS kind, 'c=1' AS label, NULL AS host, 1.0 AS concurrency")
    store.con.execute("CREATE TABLE main.servers AS SELECT 1 AS scope_id, 'vllm' AS server")
    rows = ", ".join(f"(1, '{name}', {grade}, 'reason of {name}', 'collect {name}')" for name, grade in grades.items())
    store.con.execute("CREATE TABLE main.scope_evidence (scope_id INT, input VARCHAR, grade INT, reason VARCHAR, collect VARCHAR)")
    if rows:
        store.con.execute(f"INSERT INTO main.scope_evidence VALUES {rows}")
    findings, _ = judge(store, [replace(rule, facts=f"SELECT 1 AS scope_id, {facts}")], limits)
    store.close()
    assert len(findings) == 1
    return findings[0]


ALL = {"util": 3, "bench": 3}


@pytest.mark.parametrize(
    ("facts", "grades", "expected"),
    [
        # 1 applies is false; an unknown one is not
        ("0.0 AS n, 99.0 AS x, NULL AS y, 0.0 AS z", ALL, "not-applicable"),
        ("NULL::DOUBLE AS n, 99.0 AS x, NULL AS y, 0.0 AS z", ALL, "confirmed"),
        # 3 ruled out, and not on a thin input
        ("1.0 AS n, 1.0 AS x, NULL AS y, 0.0 AS z", ALL, "ruled-out"),
        ("1.0 AS n, 1.0 AS x, NULL AS y, 0.0 AS z", {"util": 2}, "cannot-tell"),
        # 4 confirmed needs the grade and closed rivals
        ("1.0 AS n, 10.0 AS x, NULL AS y, 0.0 AS z", ALL, "confirmed"),
        ("1.0 AS n, 10.0 AS x, NULL AS y, 1.0 AS z", ALL, "fits"),
        ("1.0 AS n, 10.0 AS x, NULL AS y, NULL::DOUBLE AS z", ALL, "fits"),
        ("1.0 AS n, 10.0 AS x, NULL AS y, 0.0 AS z", {"util": 2}, "fits"),
        ("1.0 AS n, 10.0 AS x, NULL AS y, 0.0 AS z", {"util": 1}, "cannot-tell"),
        ("1.0 AS n, 10.0 AS x, NULL AS y, 0.0 AS z", {}, "cannot-tell"),
        # an interval astride the line is unknown
        ("1.0 AS n, 9.0 AS x_lo, 11.0 AS x_hi, NULL AS y, 0.0 AS z", ALL, "cannot-tell"),
        ("1.0 AS n, 10.0 AS x_lo, 11.0 AS x_hi, NULL AS y, 0.0 AS z", ALL, "confirmed"),
        ("1.0 AS n, NULL::DOUBLE AS x_lo, 4.0 AS x_hi, NULL AS y, 0.0 AS z", ALL, "ruled-out"),
        # 5 a fits route
        ("1.0 AS n, 7.0 AS x, 12.0 AS y, 0.0 AS z", ALL, "fits"),
        # 6 nothing holds
        ("1.0 AS n, 7.0 AS x, 1.0 AS y, 0.0 AS z", ALL, "cannot-tell"),
        ("1.0 AS n, NULL::DOUBLE AS x, NULL AS y, NULL AS z", ALL, "cannot-tell"),
    ],
)
def test_the_order_of_verdicts(facts: str, grades: dict[str, int], expected: str) -> None:
    assert verdict(facts, grades).verdict == expected


def test_an_estimated_fact_confirms_nothing_and_rules_out_nothing() -> None:
    assert verdict("1.0 AS n, 10.0 AS x, 'estimated' AS x_origin, NULL AS y, 0.0 AS z", ALL).verdict == "fits"
    assert verdict("1.0 AS n, 1.0 AS x, 'estimated' AS x_origin, NULL AS y, 0.0 AS z", ALL).verdict == "cannot-tell"


def test_contradicting_routes_cannot_tell_and_both_are_shown() -> None:
    both = replace(RULE, ruled_out=(Route("y is low", when=("y < low",), uses=("bench",), says="Y is only {y}."),))
    finding = verdict("1.0 AS n, 12.0 AS x, 1.0 AS y, 0.0 AS z", ALL, both)
    assert finding.verdict == "cannot-tell"
    assert "contradicts itself" in finding.because
    assert "X is 12 units" in finding.sentence and "Y is only 1" in finding.sentence


def test_a_contradiction_needs_the_grade_on_both_sides() -> None:
    both = replace(RULE, ruled_out=(Route("y is low", when=("y < low",), uses=("bench",), says="Y is only {y}."),))
    assert verdict("1.0 AS n, 12.0 AS x, 1.0 AS y, 0.0 AS z", {"util": 3, "bench": 2}, both).verdict == "confirmed"
    assert verdict("1.0 AS n, 12.0 AS x, 1.0 AS y, 0.0 AS z", {"util": 2, "bench": 3}, both).verdict == "ruled-out"


def test_a_cause_needs_grade_four() -> None:
    cause = replace(RULE, claim="cause")
    assert verdict("1.0 AS n, 12.0 AS x, NULL AS y, 0.0 AS z", {"util": 3}, cause).verdict == "fits"
    assert verdict("1.0 AS n, 12.0 AS x, NULL AS y, 0.0 AS z", {"util": 4}, cause).verdict == "confirmed"
    assert verdict("1.0 AS n, 1.0 AS x, NULL AS y, 0.0 AS z", {"util": 3}, cause).verdict == "ruled-out"


def test_a_claim_on_a_route_overrides_the_rule() -> None:
    route = replace(RULE.confirmed[0], claim="state")
    assert (
        verdict("1.0 AS n, 12.0 AS x, NULL AS y, 0.0 AS z", {"util": 3}, replace(RULE, claim="cause", confirmed=(route,))).verdict
        == "confirmed"
    )


@pytest.mark.parametrize(
    ("uses", "grades", "expected"),
    [
        (("util", "bench"), {"util": 3, "bench": 2}, 2),
        (("util", "bench"), {"util": 3}, 0),
        (("bench", "roof"), {"bench": 3, "roof": 4}, 4),
        (("bench", "roof"), {"bench": 2, "roof": 4}, 2),
        (("bench", "roof"), {"bench": 3, "roof": 2}, 2),
        (("bench", "roof"), {"bench": 3}, 0),
        (("roof",), {"roof": 4}, 4),
        (("bench", "ab"), {"bench": 3, "ab": 5}, 5),
        (("kernels", "roof"), {"kernels": 4, "roof": 4}, 4),
    ],
)
def test_the_grade_of_a_route(uses: tuple[str, ...], grades: dict[str, int], expected: int) -> None:
    from gpuverdict.engine.judge import Facts

    route = Route("r", when=(), uses=uses)
    facts = Facts({}, {}, {}, {}, {})
    assert route_grade(route, facts, {name: {"grade": grade} for name, grade in grades.items()})[0] == expected


def test_fits_names_what_is_open_and_what_settles_it() -> None:
    finding = verdict("1.0 AS n, 12.0 AS x, NULL AS y, NULL::DOUBLE AS z", ALL)
    assert [(r.name, r.settle) for r in finding.rivals_open] == [("something else", "measure z")]


def test_cannot_tell_names_the_missing_fact_of_the_nearest_route() -> None:
    finding = verdict("1.0 AS n, NULL::DOUBLE AS x, 1.0 AS y, NULL::DOUBLE AS z", ALL)
    assert [(m.fact, m.collect) for m in finding.missing] == [("x", "record x")]


def test_cannot_tell_names_the_input_whose_grade_stopped_it() -> None:
    finding = verdict("1.0 AS n, 12.0 AS x, NULL AS y, 0.0 AS z", {"util": 1})
    assert [(m.fact, m.collect) for m in finding.missing] == [("util", "record util")]
    assert "reason of util" in finding.because


def test_margins_and_numbers_are_printed() -> None:
    finding = verdict("1.0 AS n, 12.5 AS x, NULL AS y, 0.0 AS z", ALL)
    assert finding.sentence == "X is 12.5 units."
    assert finding.numbers["x"] == 12.5
    assert finding.margin["x >= high"].margin == pytest.approx(2.5)


def test_evidence_and_given_lead_back() -> None:
    store_facts = "1.0 AS n, 12.0 AS x, [{'source_id': 0, 'line': 7}] AS x_ev, ['x=12'] AS x_given, NULL AS y, 0.0 AS z"
    finding = verdict(store_facts, ALL)
    assert finding.given == ["x=12"]
    assert [(e.line, e.fact) for e in finding.evidence] == [(7, "x")]


def test_an_overridden_limit_decides_and_is_marked() -> None:
    finding = verdict("1.0 AS n, 8.0 AS x, NULL AS y, 0.0 AS z", ALL, limits={"test-rule.high": 8.0})
    assert finding.verdict == "confirmed"
    assert finding.margin["x >= high"].overridden


def test_a_broken_rule_is_one_error_and_the_others_go_on() -> None:
    store = Store()
    store.con.execute("CREATE TABLE main.scopes AS SELECT 1 AS scope_id, 'step' AS kind, 'c=1' AS label, NULL AS host, 1.0 AS concurrency")
    store.con.execute("CREATE TABLE main.servers AS SELECT 1 AS scope_id, 'vllm' AS server")
    store.con.execute(
        "CREATE TABLE main.scope_evidence AS SELECT 1 AS scope_id, 'util' AS input, 3 AS grade, 'r' AS reason, 'c' AS collect"
    )
    broken = replace(RULE, id="broken", facts="SELECT nonsense FROM nowhere")
    good = replace(RULE, facts="SELECT 1 AS scope_id, 1.0 AS n, 12.0 AS x, NULL AS y, 0.0 AS z")
    findings, _ = judge(store, [broken, good])
    assert [f.verdict for f in findings] == ["error", "confirmed"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"applies": ("m >= 1",)}, "'m' is neither a fact nor a limit"),
        ({"limits": {**RULE.limits, "x": Limit(1, "", "")}}, "x is both a fact and a limit"),
        ({"fits": (Route("f", when=("y >= high",), uses=("bench",)),)}, "names no rival"),
        ({"confirmed": (Route("c", when=("x >= high",), uses=()),)}, "`uses` is required"),
        ({"confirmed": (Route("c", when=("x >= high",), uses=("gpu",)),)}, "unknown input 'gpu'"),
        ({"confirmed": (Route("c", when=("x >= high",), uses=("util",), rivals=("none",)),)}, "unknown rival 'none'"),
        ({"scopes": ("steps",)}, "unknown scope kind 'steps'"),
    ],
)
def test_a_wrongly_declared_rule_says_what_is_wrong(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_rule(replace(RULE, **change), ["scope_id", "n", "x", "y", "z"])


@pytest.mark.parametrize(
    ("command", "on", "expected"),
    [
        ("any ...", {"vllm": "vllm --n {x:int}"}, "vllm --n 12"),
        ("any ...", {"sglang": "sglang --n {x:int}"}, "any ..."),
        ("any {x:int}", {"vllm": "vllm --n {y:int}"}, "any 12"),  # y is not known
    ],
)
def test_an_experiment_names_the_command_of_the_server_in_use(command: str, on: dict[str, str], expected: str) -> None:
    rule = replace(RULE, next=(Experiment("try", command, "tells", on=on),))
    found = verdict("1.0 AS n, 12.0 AS x, NULL AS y, 0.0 AS z", {"util": 3, "config": 3}, rule)
    assert [e.command for e in found.next] == [expected]


@pytest.mark.parametrize("x", ["0.0::DOUBLE / 0.0", "'nan'::DOUBLE", "'inf'::DOUBLE"])
def test_a_division_by_nothing_is_unknown(x: str) -> None:
    """NaN is no number to compare or to print, and an infinite ratio is none to confirm with."""
    found = verdict(f"1.0 AS n, {x} AS x, NULL AS y, 0.0 AS z", ALL)
    assert found.verdict == "cannot-tell" and "x" not in found.numbers


def test_the_nearest_way_is_one_of_which_something_is_known() -> None:
    """One unknown of a way about which nothing is known lies farther than two unknowns of a way that is begun."""
    begun = Route("x is high and steady", when=("n >= 1", "x >= high", "z <= 0"), uses=("util",), says="X.")
    strange = Route("y is high", when=("y >= high",), uses=("util",), says="Y.")
    rule = replace(RULE, confirmed=(strange, begun), ruled_out=(), fits=())
    found = verdict("1.0 AS n, NULL::DOUBLE AS x, NULL::DOUBLE AS y, NULL::DOUBLE AS z", ALL, rule)
    assert [m.fact for m in found.missing] == ["x", "z"]


@pytest.mark.parametrize(("elsewhere", "asked"), [("server", "at the same time"), ("bench", "keep the server's log")])
def test_an_input_of_another_scope_is_not_asked_for_again(elsewhere: str, asked: str) -> None:
    """Cards of one time, a server's log of another: what lacks is one time for both, not a log."""
    store = Store()
    scopes = "SELECT 0 AS scope_id, 'trace' AS kind, 'trace' AS label, NULL AS host, NULL::DOUBLE AS concurrency"
    store.con.execute(f"CREATE TABLE main.scopes AS {scopes} UNION ALL SELECT 1, 'step', 'c=1', NULL, 1.0")
    store.con.execute("CREATE TABLE main.servers AS SELECT 1 AS scope_id, 'vllm' AS server")
    grades = (
        f"SELECT 0 AS scope_id, 'util' AS input, 2 AS grade, '' AS reason, NULL AS collect UNION ALL SELECT 1, '{elsewhere}', 3, '', NULL"
    )
    store.con.execute(f"CREATE TABLE main.scope_evidence AS {grades}")
    route = Route("x is high", when=("x >= high",), uses=("util", "server"), says="X.")
    rule = replace(
        RULE, scopes=("trace",), facts="SELECT 0 AS scope_id, 20.0 AS x", applies=(), confirmed=(route,), ruled_out=(), fits=(), rivals={}
    )
    [found] = judge(store, [rule])[0]
    assert found.verdict == "cannot-tell" and [m.fact for m in found.missing] == ["server"]
    assert asked in found.missing[0].collect
