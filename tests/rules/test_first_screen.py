"""What every form of the report says first: confirmed states, failures, what nothing was recorded about, what to record next."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from gpuverdict.engine.alignment import note_all
from gpuverdict.engine.analyze import NothingReadable, analyze
from gpuverdict.engine.diagnosis import diagnose
from gpuverdict.engine.failures import note_failures
from gpuverdict.engine.phrase import duration, printable
from gpuverdict.engine.report import html, markdown, terminal
from gpuverdict.engine.report.summary import (
    Group,
    left_open,
    next_experiments,
    open_groups,
    ruled_out_groups,
    stamp,
)
from gpuverdict.engine.result import Answer, Evidence, Finding, Headline, Next, Primary, Result, ScopeRef
from gpuverdict.engine.rule import Rule
from gpuverdict.engine.steps import note_left_out
from gpuverdict.rules import kv_pressure, slot_queue, throttled, turn_taking

from .small_store import judged, samples, store_of

GRADES = [{"scope": "c=4", "input": name, "grade": 3, "n_eff": 30, "reason": "", "collect": None} for name in ("util", "server", "bench")]


def finding(rule: str, verdict: Any, **more: Any) -> Finding:
    scope = ScopeRef(kind="step", label="c=4", concurrency=4)
    return Finding(
        **{"rule": rule, "scope": scope, "verdict": verdict, "claim": "state", "because": "", "sentence": "", "about": rule, **more}
    )


def result(*findings: Finding, **more: Any) -> Result:
    return Result(
        **{"version": "0", "primary": Headline(sentence="Nothing."), "findings": list(findings), "evidence_grades": GRADES, **more}
    )


HOT = finding(
    "throttled",
    "confirmed",
    sentence="The clocks are held down. GPU 0: a ratio of 0.55.",
    evidence=[Evidence(source="gpu.csv", line=12, fact="held_share")],
)


# --- confirmed, but not an answer ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("render", [terminal.render, markdown.render, lambda r: html.render(r, {})], ids=["terminal", "markdown", "html"])
def test_a_confirmed_state_is_in_the_unfolded_part(render: Any) -> None:
    text = render(result(HOT, finding("thin-evidence", "confirmed", sentence="Too little. Thin.")))
    unfolded = " ".join(text.split("<summary>")[0].split())
    assert "Also confirmed" in unfolded and "a ratio of 0.55" in unfolded and "gpu.csv:12" in unfolded
    assert "Too little" not in unfolded
    assert unfolded.count("Not shown; what is confirmed below") == 2


def test_an_answer_is_not_repeated_as_also_confirmed() -> None:
    answered = Primary(scope="c=4", concurrency=4, speed=Answer(rule="throttled", verdict="confirmed", sentence=HOT.sentence))
    assert "Also confirmed" not in terminal.render(result(HOT, primaries=[answered]))


def test_the_headline_tells_what_is_confirmed() -> None:
    _, headline = diagnose(store_of(), [HOT])
    assert headline.rule is None and headline.verdict == "undetermined"
    assert "it is confirmed that the clocks are held down" in headline.sentence
    assert "confirmed" not in diagnose(store_of(), [finding("thin-evidence", "confirmed", sentence="Thin.")])[1].sentence


# --- recorded or not ------------------------------------------------------------------------------------------------------------------


def busy_lines(**more: Any) -> list[dict[str, Any]]:
    return [
        {"time": 1000.0 + 10 * n, "server": "vllm", "running": 23.0 + n % 3, "waiting": 18.0, "kv_usage": 0.4, "gen_tok_s": 500.0, **more}
        for n in range(30)
    ]


def recorded(rule: Rule, store: Any) -> bool:
    return any(f.recorded for f in judged(store, [rule])[0])


def test_recorded_is_what_the_files_hold_a_number_of() -> None:
    store = store_of(server_samples=busy_lines())
    assert recorded(slot_queue.RULE, store) and recorded(kv_pressure.RULE, store)
    # of these only constants and defaults are known
    assert not recorded(turn_taking.RULE, store) and not recorded(throttled.RULE, store)
    told, untold = open_groups(result(*judged(store, [slot_queue.RULE, turn_taking.RULE])[0]))
    assert [g.rule for g in told] == ["slot-queue"] and untold == [turn_taking.RULE.about]


def test_a_question_decided_in_one_scope_was_recorded() -> None:
    decided = finding("slot-queue", "ruled-out")
    assert open_groups(result(decided, finding("slot-queue", "cannot-tell"))) == ([], [])
    assert open_groups(result(finding("slot-queue", "cannot-tell"))) == ([], ["slot-queue"])


# --- what to do next ------------------------------------------------------------------------------------------------------------------

NSYS = Next(name="trace", command="nsys profile ...", tells="collectives", cost=1)


def test_nothing_recorded_proposes_no_experiment() -> None:
    silent = finding("link-latency", "cannot-tell", next=[NSYS])
    assert next_experiments(result(silent)) == []
    assert next_experiments(result(finding("link-latency", "fits", recorded=True, next=[NSYS]))) == [NSYS]


def test_what_is_missing_comes_before_experiments_of_open_questions() -> None:
    bare = result(finding("link-latency", "cannot-tell", next=[NSYS]), evidence_grades=[g for g in GRADES if g["input"] == "bench"])
    assert [e.name for e in next_experiments(bare)] == ["record the cards in the load", "keep the server's log"]
    short = {**GRADES[0], "grade": 1, "collect": "nvidia-smi dmon for 60 s"}
    assert next_experiments(result(evidence_grades=[short, *GRADES[1:]]))[0].command == "nvidia-smi dmon for 60 s"


@pytest.mark.parametrize(("seconds", "asks"), [(5, False), (40, True)])
def test_too_few_samples_ask_for_more_and_not_for_their_time(seconds: int, asks: bool) -> None:
    """When it was taken is asked where nothing places it; a short recording stays short whatever is stated."""
    store = store_of(gpu_samples=samples(seconds, util_gpu=50.0))
    advice = store.rows_of("SELECT collect FROM main.scope_evidence WHERE input = 'util'")[0]["collect"]
    assert ("[during]" in advice) == asks


# --- the stamp ------------------------------------------------------------------------------------------------------------------------


def test_the_evidence_is_sufficient_only_where_it_answers() -> None:
    answered = Primary(scope="c=4", concurrency=4, speed=Answer(rule="throttled", verdict="confirmed", sentence=HOT.sentence))
    assert stamp(result(HOT, primaries=[answered]))[0] == "sufficient"
    assert stamp(result(finding("slot-queue", "ruled-out")))[0] == "undecided"
    word, why = stamp(result(finding("slot-queue", "ruled-out"), evidence_grades=[]))
    assert word == "thin" and "no requests or statistics of the server" in why
    assert stamp(result(evidence_grades=GRADES[1:]))[1].endswith("there are no GPU samples in the load")


# --- an episode -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("nobody", "answers"), [(0.97, False), (0.5, True), (None, True)])
def test_waiting_in_few_lines_is_a_state_and_no_limit(nobody: float | None, answers: bool) -> None:
    store = store_of(server_samples=busy_lines())
    label = store.rows_of("SELECT label FROM main.scopes")[0]["label"]
    queue = finding(
        "slot-queue",
        "confirmed",
        scope=ScopeRef(kind="regime", label=label),
        sentence="Requests wait. In 100 % of 6 lines.",
        numbers={"nobody_waits_share": nobody, "lines": 200.0} if nobody else {},
    )
    primaries, headline = diagnose(store, [queue])
    assert any(p.throughput.rule == "slot-queue" for p in primaries) == answers
    text = " ".join(terminal.render(result(queue, primaries=primaries, primary=headline)).split())
    assert ("Somebody waits in" in text) == bool(nobody) and (nobody != 0.97 or "3 % of all 200 lines" in text)


@pytest.mark.parametrize("steps", [1, 2])
def test_only_a_sweep_is_said_to_end(steps: int) -> None:
    queue = finding("slot-queue", "confirmed", sentence="8 wait. So.", numbers={"slots": [4.0, 16.0]})
    swept = [Primary(scope=f"c={4 * n}", concurrency=4 * n) for n in range(1, steps + 1)]
    swept[0].throughput = Answer(rule="slot-queue", verdict="confirmed", sentence=queue.sentence)
    [said] = left_open(result(queue, primaries=swept))
    assert "above 4..16 streams" in said and ("sweep" in said) == (steps == 2)


# --- failures -------------------------------------------------------------------------------------------------------------------------


def noted(store: Any) -> list[str]:
    note_failures(store)
    return [f"{r['line']}: {r['note']}" for r in store.rows_of("SELECT line, note FROM raw.quality WHERE kind = 'failures' ORDER BY line")]


def asked(status: str, n: int = 3, line: int = 10) -> list[dict[str, Any]]:
    at = [{"origin": "server", "line": line + k, "started_at": 1000.0 + 10 * k, "finished_at": 1001.0 + 10 * k} for k in range(n)]
    return [{**row, "status": status} for row in at]


def test_failures_are_counted_with_their_first_place() -> None:
    assert noted(store_of(requests=[*asked("cancelled"), *asked("ok", 1, 50)])) == ["10: 3 of 4 requests cancelled"]
    assert noted(store_of(requests=asked("ok"))) == []
    crash = [{"line": 7, "run": 0, "kind": "error", "detail": "out-of-memory"}]
    assert noted(store_of(server_events=crash)) == ["7: 1 error (out of memory)"]
    again = [*crash, {"line": 9, "run": 1, "kind": "loading"}]
    assert noted(store_of(server_events=again)) == ["7: 1 error (out of memory), and the server started again"]
    # one cancellation, told twice
    twice = store_of(requests=asked("cancelled", 1), server_events=[{"line": 10, "kind": "cancel"}])
    assert noted(twice) == ["10: 1 of 1 request cancelled"]


def test_answers_with_an_error_are_failures_unless_the_requests_say_it() -> None:
    answers = [{"line": k, "kind": "access", "value": code} for k, code in enumerate((200.0, 200.0, 500.0, 422.0, 200.0), 1)]
    assert noted(store_of(server_events=answers)) == ["3: 2 of 5 requests (HTTP 422, HTTP 500) answered with an error"]
    assert noted(store_of(server_events=answers[:2])) == []
    assert noted(store_of(server_events=answers, requests=asked("failed"))) == ["10: 3 of 3 requests failed"]


def test_failures_are_told_by_every_form() -> None:
    row = {"source": "server.log", "line": 5, "kind": "failures", "n": 3, "note": "3 of 3 requests failed"}
    said = result(quality=[row])
    for text in (terminal.render(said), markdown.render(said), html.render(said, {})):
        assert "3 of 3 requests failed, first at server.log:5" in text.split("<summary>")[0]


def test_where_nothing_was_served_nothing_limits() -> None:
    idle = finding("client-limited", "confirmed", sentence="The server is idle. Gaps.")
    store = store_of(requests=asked("failed"))
    idle.scope.label = store.rows_of("SELECT label FROM main.scopes")[0]["label"]
    primaries, headline = diagnose(store, [idle])
    assert headline.sentence.startswith("No request was served to its end: all 3") and not any(p.throughput.rule for p in primaries)
    served = store_of(requests=[*asked("failed"), *asked("ok", 1, 50)])
    assert "No request" not in diagnose(served, [])[1].sentence


def test_refused_requests_do_not_make_the_client_slow() -> None:
    from gpuverdict.rules import client_limited

    def verdicts(status: str) -> set[str]:
        rows = [{**r, "started_at": 1000.0 + 4 * k, "finished_at": 1000.1 + 4 * k} for k, r in enumerate(asked(status, 30))]
        return {f.verdict for f in judged(store_of(requests=rows), [client_limited.RULE])[0]}

    assert "confirmed" in verdicts("ok") and "confirmed" not in verdicts("failed")


# --- words ----------------------------------------------------------------------------------------------------------------------------


def test_questions_between_cards_are_left_out_on_one_card() -> None:
    one = finding("spinning", "ruled-out", numbers={"ranks": [1.0, 1.0]})
    four = finding("spinning", "ruled-out", numbers={"ranks": [4.0, 4.0], "cards": 1.0})
    assert ruled_out_groups(result(one)) == [] and len(ruled_out_groups(result(four))) == 1


@pytest.mark.parametrize(("seconds", "said"), [(40, "40 s"), (599, "599 s"), (3600, "60 min"), (7200, "2 h"), (88703201, "1027 days")])
def test_durations_have_a_unit_of_their_size(seconds: float, said: str) -> None:
    assert duration(seconds).replace("\u202f", "").replace(" days", " days") in (said, said.replace("1027", "1 027"))


def test_an_epoch_is_no_distance() -> None:
    """Samples with a date beside a load that counts from zero: the years between say nothing."""
    store = store_of(
        requests=[{"origin": "server", "source_id": 0, "started_at": 5.0, "finished_at": 90.0, "status": "ok"}],
        gpu_samples=samples(20, start=1786528400.0, source_id=1, util_gpu=1.0),
    )
    note_all(store)
    [note] = [r["note"] for r in store.rows_of("SELECT note FROM raw.quality WHERE kind = 'outside-the-load'")]
    assert "years after the last request" in note and "must be wrong" in note and "17865" not in note


def test_a_file_that_is_not_read_is_told_without_its_name(tmp_path: Path) -> None:
    (tmp_path / "zanzibar.log").write_text("nothing of ours\n" * 5)
    (tmp_path / "gpu.csv").write_text(
        "timestamp, index, utilization.gpu [%]\n2026/01/01 00:00:00.000, 0, 5 %\n2026/01/01 00:00:01.000, 0, 5 %\n"
    )
    analysis = analyze([tmp_path])
    screen = terminal.render(analysis.result)
    assert "no parser understands it" in screen and "--reveal path" in screen
    for shown in (screen, analysis.result.to_json(), markdown.render(analysis.result), html.render(analysis.result, {})):
        assert "zanzibar" not in shown
    assert "zanzibar" in terminal.render(analyze([tmp_path], reveal=frozenset({"path"})).result)
    (tmp_path / "gpu.csv").unlink()
    with pytest.raises(NothingReadable, match="zanzibar"):
        analyze([tmp_path])


def test_a_name_cannot_command_the_terminal() -> None:
    assert printable("a\x1b[2Jb.log") == "a\\x1b[2Jb.log" and printable("größe.log") == "größe.log"


def test_of_many_scopes_the_first_and_the_last_are_named() -> None:
    few = Group("x", "x", scopes=["c=1", "c=2", "a/c=1", "the trace"])
    assert few.where == "c=1, 2; a/c=1; the trace"
    many = Group("x", "x", scopes=["c=1", *(f"n_kv {n}/c=1" for n in range(0, 4000, 500))])
    assert many.where == "c=1; n_kv 0/c=1; n_kv 500/c=1; ...; n_kv 3500/c=1 (8 of them)"


@pytest.mark.parametrize("total", [1, 2, 28, 29, 30, 31, 64, 500])
def test_of_many_steps_some_are_taken_with_both_ends_in_the_order_of_the_file(total: int) -> None:
    store = store_of(
        bench_steps=[{"series": f"n_kv {512 * n}", "concurrency": 1.0, "step": 1, "aggregate_tok_s": 50.0} for n in range(total)]
    )
    labels = [row["label"] for row in store.rows_of("SELECT * FROM main.scopes ORDER BY scope_id")]
    places = [int(label.split()[1].split("/")[0]) // 512 for label in labels] if total > 1 else [0]
    assert len(places) == min(total, 29) and places == sorted(set(places)) and {0, total - 1} <= set(places)
    gaps = [b - a for a, b in pairwise(places)]
    assert not gaps or max(gaps) - min(gaps) <= 1
    note_left_out(store)
    notes = store.con.execute("SELECT n, note FROM raw.quality WHERE kind = 'steps-left-out'").fetchall()
    assert notes == ([(total - 29, f"of {total} steps 29 are judged one by one, spread over all of them")] if total > 29 else [])
