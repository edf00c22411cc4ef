"""Traces of the PyTorch profiler: kinds, devices, clocks, damage."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.torch_trace import PARSER
from open_ended import document_tests, read

NEW, OLD = (json.loads(s.text) for s in PARSER.samples[:2])

facts = partial(read, PARSER)


def test_samples() -> None:
    check_samples(PARSER)


test_samples_are_claimed_and_blocks_do_not_matter, test_a_cut_invents_nothing, test_a_garbled_byte_raises_nothing = document_tests(PARSER)


def kernel(**changes: Any) -> dict:
    args = {"device": 2, "stream": 7}
    return {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 2, "tid": 7, "ts": 100, "dur": 5, "args": args} | changes


def trace(*events: Any, **more: Any) -> str:
    return json.dumps({"schemaVersion": 1, "traceEvents": list(events), **more})


def rows(*events: Any, **more: Any) -> list[dict]:
    return facts(trace(*events, **more))[0].get("kernels", [])


@pytest.mark.parametrize(
    ("category", "name", "kind"),
    [
        ("kernel", "gemm", "kernel"),
        ("Kernel", "ncclKernel_AllReduce", "collective"),
        ("kernel", "rcclGenericKernel", "collective"),
        ("gpu_memcpy", "Memcpy nccl", "memcpy"),
        ("Memcpy", "Memcpy HtoD", "memcpy"),
        ("gpu_memset", "Memset", "memset"),
    ],
)
def test_kinds(category: str, name: str, kind: str) -> None:
    assert [r["kind"] for r in rows(kernel(cat=category, name=name))] == [kind]


@pytest.mark.parametrize("category", ["cpu_op", "cuda_runtime", "gpu_user_annotation", "ac2g", "cuda_sync", None, 3])
def test_other_events_are_no_work(category: Any) -> None:
    found, counts = facts(trace(kernel(cat=category)))
    assert "kernels" not in found and (counts.noise, counts.near_miss) == (1, 0)
    assert [q["kind"] for q in found["quality"]] == ["no-gpu-events"]


@pytest.mark.parametrize(
    ("changes", "gpu", "stream"),
    [
        ({}, 2, 7),
        ({"pid": 4711}, 2, 7),
        ({"args": {}}, 2, 7),
        ({"args": {}, "pid": 4711}, None, 7),
        ({"args": {}, "pid": "[TP03] 3"}, 3, 7),
        ({"args": {}, "pid": "python", "tid": "stream"}, None, None),
        ({"args": {"device": -1, "stream": True}}, None, None),
        ({"args": {"device": 1e300, "stream": 1 << 40}}, None, None),
        ({"args": {"device": True, "stream": 0}}, None, 0),
        ({"args": None}, 2, 7),
    ],
)
def test_device_and_stream(changes: dict, gpu: int | None, stream: int | None) -> None:
    (row,) = rows(kernel(**changes))
    assert (row["gpu"], row["stream"]) == (gpu, stream)


def test_ranks_that_share_a_device_number_leave_it_unknown() -> None:
    found, _ = facts(trace(kernel(pid="[TP00] 2"), kernel(pid="[TP01] 2"), kernel(pid="[TP00] 1", args={"device": 1, "stream": 7})))
    assert [r["gpu"] for r in found["kernels"]] == [None, None, 1]
    assert [q["kind"] for q in found["quality"]] == ["device-of-several-ranks"]


@pytest.mark.parametrize(
    "changes", [{"ts": None}, {"dur": None}, {"dur": -1}, {"ts": "100"}, {"ts": float("nan")}, {"ts": 1e20}, {"ph": "B"}]
)
def test_work_without_start_or_duration_is_a_near_miss(changes: dict) -> None:
    found, counts = facts(trace(kernel(**changes)))
    assert "kernels" not in found and counts.near_miss == 1


BASE = 1767187200000000000


@pytest.mark.parametrize(
    ("ts", "more", "kind", "start"),
    [
        (100, {}, "since-start", 1e-4),
        (3e12, {"baseTimeNanoseconds": BASE}, "utc", 1770187200.0),
        (1672531200000010, {"baseTimeNanoseconds": BASE}, "utc", 1672531200.00001),
        (1672531200000010, {"baseTimeNanoseconds": 0}, "utc", 1672531200.00001),
        (3e12, {"baseTimeNanoseconds": 0}, "since-start", 3e6),
        (3e12, {"baseTimeNanoseconds": "soon"}, "since-start", 3e6),
        (3e12, {"baseTimeNanoseconds": BASE // 1000}, "since-start", 3e6),
        (3e12, {"traceName": f'"baseTimeNanoseconds": {BASE}'}, "since-start", 3e6),
        (3e12, {"more": {"baseTimeNanoseconds": BASE}}, "since-start", 3e6),
    ],
)
def test_clocks(ts: float, more: dict, kind: str, start: float) -> None:
    found, _ = facts(trace(kernel(ts=ts), **more))
    assert found["clocks"][0]["kind"] == kind
    assert found["kernels"][0]["started_at"] == pytest.approx(start, rel=0, abs=5e-7)


def test_display_unit_does_not_change_the_unit() -> None:
    assert rows(kernel(), displayTimeUnit="ns") == rows(kernel(), displayTimeUnit="ms")


def test_keys_in_any_order() -> None:
    text = json.dumps(NEW, sort_keys=True)
    strip = [{k: v for k, v in r.items() if k != "line"} for r in facts(text)[0]["kernels"]]
    assert strip == [{k: v for k, v in r.items() if k != "line"} for r in facts(PARSER.samples[0].text)[0]["kernels"]]


def test_a_base_that_touches_the_cut_end_is_unknown() -> None:
    text = trace(kernel(ts=3e12), baseTimeNanoseconds=BASE)
    assert facts(text[:-1])[0]["clocks"][0]["kind"] == "since-start"


@pytest.mark.parametrize("tiny", [False, True])
def test_a_garbled_event_costs_only_itself(tiny: bool) -> None:
    good = [kernel(ts=100 * n) for n in range(1, 5)]
    text = trace(*good, baseTimeNanoseconds=BASE).replace('"ts": 300', '"ts" 300')
    found, counts = facts(text, tiny=tiny)
    assert [round((r["started_at"] - BASE / 1e9) * 1e6) for r in found["kernels"]] == [100, 200, 400]
    assert counts.lines == 1 and counts.rejects == [(1, "an event that is cut or garbled")]


@pytest.mark.parametrize("tiny", [False, True])
def test_a_garbled_last_event_does_not_cost_the_base(tiny: bool) -> None:
    text = trace(kernel(ts=1), kernel(ts=2), baseTimeNanoseconds=BASE).replace('"ts": 2', '"ts" 2')
    found, _ = facts(text, tiny=tiny)
    assert len(found["kernels"]) == 1 and found["clocks"][0]["kind"] == "utc"


def test_a_garbled_value_before_the_events_does_not_cost_them() -> None:
    found, counts = facts('{\n"deviceProperties": [{"id" 0}],\n' + trace(kernel())[1:])
    assert len(found["kernels"]) == 1 and counts.near_miss == 1 and counts.lines == 3


def test_fake_events_in_names_stay_names() -> None:
    fake = 'x, {"ph": "X", "cat": "kernel", "ts": 1, "dur": 1}, {"traceEvents": ['
    assert [r["gpu"] for r in rows(kernel(name=fake), kernel(cat="cpu_op", name=fake))] == [2]


def test_more_events_than_one_frame() -> None:
    n = 100_001
    one = json.dumps(kernel())
    found, counts = facts('{"schemaVersion": 1, "traceEvents": [\n' + ",\n".join([one] * n) + "\n]}\n")
    assert len(found["kernels"]) == n == counts.matched
    assert [found["kernels"][k]["line"] for k in (0, -1)] == [2, n + 1]


def test_no_name_leaves() -> None:
    assert "CANARY" not in repr(facts(trace(kernel(name="CANARY"), kernel(cat="CANARY"), traceName="CANARY")))


def test_two_bases_tie_nothing() -> None:
    found, _ = facts(trace(kernel(), baseTimeNanoseconds=BASE) + trace(kernel(), baseTimeNanoseconds=BASE + 10**9))
    assert found["clocks"][0]["kind"] == "since-start" and [q["kind"] for q in found["quality"]] == ["several-time-bases"]


def test_claims() -> None:
    def claim(text: str) -> object:
        return PARSER.claims(Source.from_text(text).head())

    assert isinstance(claim(trace()), Claim)
    assert isinstance(claim('{"traceEvents": [{"ph": "X", "cat": "Kernel"'), Claim)
    assert isinstance(claim('{"traceEvents": [{"ph": "X", "cat": "blink"}]}'), Refusal)
    assert claim('{"benchmarks": []}') is None and claim("traceEvents") is None
    late = claim('{"traceEvents": [' + ",\n".join(['{"ph": "X", "cat": "blink"}'] * 20_000))
    assert isinstance(late, Claim) and late.strength < 50
