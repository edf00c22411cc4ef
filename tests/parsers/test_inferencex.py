"""InferenceX: seconds, per-GPU numbers, series, damage."""

from __future__ import annotations

import json
from functools import partial

import pytest
from gpuverdict.engine.parser import Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.inferencex import PARSER
from open_ended import document_tests, read

SHORT = json.loads(PARSER.samples[0].text)
AGG = json.loads(PARSER.samples[1].text)[0]

facts = partial(read, PARSER)


def test_samples() -> None:
    check_samples(PARSER)


test_samples_are_claimed_and_blocks_do_not_matter, test_a_cut_invents_nothing, test_a_garbled_byte_raises_nothing = document_tests(PARSER)


def step(doc: dict, **changes: object) -> dict:
    return facts(json.dumps(doc | changes))[0]["bench_steps"][0]


def test_keys_that_kept_their_ms_are_not_scaled_again() -> None:
    assert step(SHORT, mean_itl_ms=12.5)["itl_mean_ms"] == 12.5


@pytest.mark.parametrize("change", [{"disagg": "true"}, {"is_multinode": True}, {"tp": None}, {"tp": "8"}])
def test_a_rate_per_gpu_is_scaled_on_one_node_only(change: dict) -> None:
    assert step(AGG)["aggregate_tok_s"] == 404.0
    assert step(AGG, **change).get("aggregate_tok_s") is None


def test_a_finite_rate_leaves_the_offered_streams_open() -> None:
    row = step(SHORT, request_rate=3.0)
    assert row.get("concurrency") is None and row["rate_rps"] == 3.0


def test_everything_failed() -> None:
    rows = facts(json.dumps(SHORT | {"completed": 0, "median_ttft": 0.0, "output_throughput": 0.0}))[0]
    assert rows["bench_steps"][0].get("ttft_p50_ms") is None and rows["bench_steps"][0].get("aggregate_tok_s") is None
    assert [q["kind"] for q in rows["quality"]] == ["date-after-run", "all-failed"]


def test_models_are_numbered_and_no_text_leaves() -> None:
    docs = [AGG | {"model": m, "conc": c} for m in ("CANARY/a", "CANARY/b") for c in (1, 2)]
    rows = facts(json.dumps(docs))[0]
    assert [(r["series"], r["step"]) for r in rows["bench_steps"]] == [("model 1", 1), ("model 1", 2), ("model 2", 1), ("model 2", 2)]
    assert "CANARY" not in repr(rows)
    assert "CANARY" not in repr(facts(json.dumps([AGG, AGG | {"hw": "/home/CANARY x"}])))


def test_a_broken_element_costs_itself_only() -> None:
    text = json.dumps(AGG) + "\n" + json.dumps(AGG)[:90] + "\n" + json.dumps(AGG) + "\n"
    rows, counts = facts(text)
    assert len(rows["bench_steps"]) == 2 and (counts.matched, counts.near_miss) == (2, 1)


def test_other_files_are_not_claimed() -> None:
    raw = {"benchmark_start_time_unix": 1772360130.0, "completed": 3, "duration": 2.0, "median_ttft_ms": 3.0}
    assert isinstance(PARSER.claims(Source.from_text(json.dumps(raw)).head()), Refusal)
    assert PARSER.claims(Source.from_text('{"hw": "x", "price": 3}').head()) is None
