"""Lines that announce a slower path."""

from __future__ import annotations

from typing import Any

from gpuverdict.engine.result import Finding
from gpuverdict.rules.fallback_path import RULE

from .small_store import Rows, config, findings, lines, store_of


def event(what: str, source_id: int = 0, run: int = 0) -> dict[str, Any]:
    return {"source_id": source_id, "line": 30, "server": "vllm", "run": run, "kind": "fallback", "detail": what}


def judged(events: Rows, settings: Rows | None = None, **stats: Any) -> Finding:
    tables: dict[str, Rows] = {"server_events": events, "server_config": config(slots=64) if settings is None else settings}
    tables["server_samples"] = lines(**{"running": 4.0, "waiting": 0.0, **stats})
    return findings(RULE, store_of(during={0: "c=4"}, **tables))["c=4"]


def test_a_line_confirms_the_state_and_no_cost() -> None:
    found = judged([event("default-moe-config"), event("custom-allreduce-disabled")])
    assert (found.verdict, found.claim) == ("confirmed", "state")
    assert "custom-allreduce-disabled, default-moe-config" in found.sentence
    assert found.evidence[0].line == 30


def test_silence_rules_out_nothing() -> None:
    assert judged([]).verdict == "cannot-tell"
    assert judged([], cuda_graph=True).verdict == "cannot-tell"


def test_settings_that_say_the_same_count() -> None:
    assert judged([], config(slots=64, eager="True")).verdict == "confirmed"
    assert judged([], config(slots=4, flash_attn="disabled")).verdict == "confirmed"
    assert judged([], config(slots=4, flash_attn="enabled", eager="False")).verdict == "cannot-tell"


def test_decode_lines_without_graphs() -> None:
    assert judged([], cuda_graph=False).verdict == "confirmed"
    assert judged([], cuda_graph=lambda i: i % 5 > 0).verdict == "cannot-tell"
    assert judged([], cuda_graph=False, phase="prefill").verdict == "cannot-tell"


def test_a_line_of_another_run_is_not_this_runs() -> None:
    rows = {"server_events": [event("default-moe-config", run=1)], "server_config": config(slots=64) + config(run=1, slots=64)}
    store = store_of(during={0: "c=4"}, server_samples=lines(running=4.0, waiting=0.0), **rows)
    assert findings(RULE, store)["c=4"].verdict == "cannot-tell"


def test_a_line_of_one_of_two_servers_does_not_confirm_for_a_run_of_unknown_server() -> None:
    bench = [{"source_id": 3, "line": i, "concurrency": float(c), "aggregate_tok_s": 100.0} for i, c in enumerate((1, 2), 1)]
    two = {"server_config": config(slots=64) + config(source_id=5, slots=64), "server_events": [event("no-p2p")]}
    one = {"server_config": config(slots=64), "server_events": [event("no-p2p")]}
    assert findings(RULE, store_of(bench_steps=bench, **two))["c=1"].verdict != "confirmed"
    assert findings(RULE, store_of(bench_steps=bench, **one))["c=1"].verdict == "confirmed"
