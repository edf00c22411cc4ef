"""guidellm reports: strategies, window, requests, damage."""

from __future__ import annotations

import json
from functools import partial

import pytest
from gpuverdict.engine.parser import Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.guidellm import PARSER
from open_ended import document_tests, read

NEW, OLD = (json.loads(s.text) for s in PARSER.samples[:2])
YAML = PARSER.samples[2].text

facts = partial(read, PARSER)


def test_samples() -> None:
    check_samples(PARSER)


test_samples_are_claimed_and_blocks_do_not_matter, test_a_cut_invents_nothing, test_a_garbled_byte_raises_nothing = document_tests(PARSER)


def benchmark(**changes: object) -> dict:
    """The step of the first benchmark with keys changed."""
    return facts(json.dumps({**NEW, "benchmarks": [NEW["benchmarks"][0] | changes]}))[0]["bench_steps"][0]


@pytest.mark.parametrize(
    ("strategy", "concurrency", "rate"),
    [
        ({"type_": "synchronous", "max_concurrency": 1}, 1.0, None),
        ({"type_": "concurrent", "streams": 16}, 16.0, None),
        ({"type_": "throughput", "max_concurrency": 64}, 64.0, None),
        ({"type_": "throughput", "max_concurrency": None}, None, None),
        ({"type_": "constant", "rate": 2.5, "max_concurrency": 64}, None, 2.5),
        ({"type_": "poisson", "rate": 3.0, "max_concurrency": 64}, None, 3.0),
        ({"type_": "trace"}, None, None),
        ({"kind": "concurrent", "streams": 16}, 16.0, None),
        ({}, None, None),
    ],
)
def test_strategies(strategy: dict, concurrency: float | None, rate: float | None) -> None:
    row = benchmark(config={"strategy": strategy})
    assert (row.get("concurrency"), row.get("rate_rps")) == (concurrency, rate)


def test_queued_is_the_tools_own_and_stays_out() -> None:
    rows = facts(json.dumps(NEW))[0]
    assert 1771999000.0 not in {v for r in rows["requests"] for v in r.values()}


def test_a_window_without_duration_is_end_minus_start() -> None:
    assert benchmark(duration=None)["wall_s"] == 60.0
    assert benchmark(duration=None, start_time="x").get("wall_s") is None


def test_stripped_requests_leave_the_step() -> None:
    rows = facts(json.dumps({**NEW, "benchmarks": [NEW["benchmarks"][0] | {"requests": None}]}))[0]
    assert len(rows["bench_steps"]) == 1 and "requests" not in rows


def test_an_end_before_the_start_is_unknown() -> None:
    one = {"info": {"timings": {"request_start": 1772000012.0, "first_token_iteration": 1772000011.0, "request_end": 1772000010.0}}}
    rows = facts(json.dumps({**NEW, "benchmarks": [NEW["benchmarks"][0] | {"requests": {"successful": [one, 7, None]}}]}))[0]
    (row,) = rows["requests"]
    assert row["sent_at"] == 1772000012.0 and all(row.get(c) is None for c in ("first_token_at", "finished_at", "ttft_s", "latency_s"))


def test_no_text_leaves() -> None:
    text = json.dumps(NEW).replace('"x"', '"CANARY"')
    assert "CANARY" in text and "CANARY" not in repr(facts(text))


def test_a_cut_report_says_so() -> None:
    rows, counts = facts(json.dumps(OLD)[:-3])
    assert rows == {} and counts.near_miss == 1 and counts.rejects == [(1, "a report that is cut or garbled")]


def test_other_files_are_not_claimed() -> None:
    assert PARSER.claims(Source.from_text('{"benchmarks": [{"name": "x"}], "context": {}}').head()) is None
    assert isinstance(PARSER.claims(Source.from_text('{"metadata": {"guidellm_version": "0.6"}}').head()), Refusal)


def test_a_strategy_without_its_kind_is_that_of_the_profile() -> None:
    row = benchmark(config={"profile": {"kind": "synchronous"}, "strategy": {"max_concurrency": 1, "worker_count": 1}})
    assert row["concurrency"] == 1.0


def test_yaml_gives_what_json_gives() -> None:
    lines = YAML.replace("\n", "\r\n")
    assert facts(lines)[0] == facts(YAML)[0] and "several lines" not in repr(facts(YAML)[0])


def test_a_cut_yaml_report_loses_the_benchmark_that_is_not_whole() -> None:
    two = YAML + YAML.split("benchmarks:\n")[1]
    assert len(facts(two)[0]["bench_steps"]) == 2
    for end in ("  start_time: 1772000010.0\n", "  scheduler_state:\n", "      total:\n        mean: 51.5\n"):
        rows, counts = facts(two[: two.rindex(end)])
        assert len(rows["bench_steps"]) == 1 and counts.near_miss == 1


def test_yaml_of_anything_else_is_not_claimed() -> None:
    assert PARSER.claims(Source.from_text("args:\n  a: 1\nbenchmarks:\n- name: x\n").head()) is None
