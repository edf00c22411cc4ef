"""SGLang benchmark results: values, empty answers, series, damage."""

from __future__ import annotations

import json
from functools import partial

import pytest
from gpuverdict.engine.parser import Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.sglang_bench import PARSER
from open_ended import document_tests, read

PLAIN = json.loads(PARSER.samples[0].text)
DETAILED = json.loads(PARSER.samples[2].text)

facts = partial(read, PARSER)


def test_samples() -> None:
    check_samples(PARSER)


test_samples_are_claimed_and_blocks_do_not_matter, test_a_cut_invents_nothing, test_a_garbled_byte_raises_nothing = document_tests(PARSER)


def step(**changes: object) -> dict:
    """The step of the plain sample with keys changed ("gone": key removed)."""
    doc = {k: v for k, v in {**PLAIN, **changes}.items() if v != "gone"}
    (row,) = facts(json.dumps(doc))[0]["bench_steps"]
    return row


TOKENS = ("aggregate_tok_s", "aggregate_counts", "output_tokens", "output_len", "ttft_mean_ms", "tpot_mean_ms", "itl_mean_ms", "itl_p99_ms")


@pytest.mark.parametrize("rate", ["Infinity", "NaN", "null", '"inf"', "1.7976931348623157e+308", "-1"])
def test_an_infinite_rate_is_no_rate(rate: str) -> None:
    text = json.dumps(PLAIN).replace('"request_rate": Infinity', f'"request_rate": {rate}')
    assert facts(text)[0]["bench_steps"][0].get("rate_rps") is None


@pytest.mark.parametrize(
    "changes", [{"total_output_tokens_retokenized": 0}, {"total_output_tokens_retokenized": 6900}, {"mean_ttft_ms": 0.0}]
)
def test_tokens_that_did_not_come_back_are_unknown(changes: dict) -> None:
    row = step(**changes)
    assert all(row.get(c) is None for c in TOKENS)
    assert (row["e2e_mean_ms"], row["completed"], row["req_s"], row["mean_concurrency"]) == (3900.5, 100.0, 2.0, 7.8)


def test_a_slightly_smaller_retokenized_total_is_normal() -> None:
    assert step(total_output_tokens_retokenized=9000)["output_tokens"] == 10000.0
    assert step(total_output_tokens_retokenized="gone")["output_tokens"] == 10000.0


def test_a_first_token_as_late_as_the_answer_is_no_first_token() -> None:
    row = step(mean_ttft_ms=3900.4)
    assert row.get("ttft_p50_ms") is None and row.get("itl_mean_ms") is None and row["aggregate_tok_s"] == 200.0
    one = step(mean_ttft_ms=3900.4, total_output_tokens=100, total_output_tokens_retokenized=100)
    assert one["ttft_mean_ms"] == 3900.4  # one token per answer: the first is the last


def test_a_cap_counts_under_a_rate_only_where_it_was_reached() -> None:
    assert step(request_rate=2.0)["concurrency"] == 8.0
    assert step(request_rate=2.0, concurrency=3.0).get("concurrency") is None
    assert step(request_rate=2.0, concurrency="gone").get("concurrency") is None


def test_nothing_succeeded() -> None:
    rows = facts(json.dumps(PLAIN | {"completed": 0, "mean_ttft_ms": float("nan"), "output_throughput": 0.0}))[0]
    known = {k for k, v in rows["bench_steps"][0].items() if v is not None}
    assert known == {"line", "step", "concurrency", "completed", "wall_s"}
    assert [q["kind"] for q in rows["quality"]] == ["all-failed"]


def test_a_sweep_of_one_set_up_has_no_series() -> None:
    docs = [PLAIN | {"max_concurrency": c} for c in (1, 2, 4)]
    rows = facts("\n".join(map(json.dumps, docs)))[0]["bench_steps"]
    assert [(r.get("series"), r["step"], r["concurrency"]) for r in rows] == [(None, 1, 1.0), (None, 2, 2.0), (None, 3, 4.0)]


def test_tags_separate_runs_without_leaving() -> None:
    rows = facts("\n".join(json.dumps(PLAIN | {"tag": t, "max_concurrency": c}) for t in ("CANARY-a", "CANARY-b") for c in (1, 2)))[0]
    assert [(r["series"], r["step"]) for r in rows["bench_steps"]] == [("run 1", 1), ("run 1", 2), ("run 2", 1), ("run 2", 2)]
    assert "CANARY" not in repr(rows)


def test_lengths_that_differ_name_the_series() -> None:
    rows = facts("\n".join(json.dumps(PLAIN | {"random_input_len": n}) for n in (200, 4000)))[0]["bench_steps"]
    assert [r["series"] for r in rows] == ["in 200", "in 4000"]


def test_details_without_believable_tokens() -> None:
    doc = DETAILED | {"ttfts": [0.0, 0.0, 0.0], "itls": [[], [], []], "mean_ttft_ms": 0.0, "median_ttft_ms": 0.0}
    requests = facts(json.dumps(doc))[0]["requests"]
    assert [r["status"] for r in requests] == ["ok", "ok", "failed"]
    assert all(r.get(c) is None for r in requests for c in ("ttft_s", "output_tokens", "latency_s", "itl_n"))


def test_a_broken_line_costs_itself_only() -> None:
    text = json.dumps(PLAIN) + "\n" + json.dumps(PLAIN)[:400] + "\n" + json.dumps(PLAIN | {"max_concurrency": 16}) + "\n"
    rows, counts = facts(text)
    assert [r["concurrency"] for r in rows["bench_steps"]] == [8.0, 16.0]
    assert (counts.matched, counts.near_miss, counts.rejects[0][0]) == (2, 1, 2)


@pytest.mark.parametrize("gap", ["x", None, -0.5, float("nan"), 10**400])
def test_a_gap_that_is_no_time_costs_its_request_only(gap: object) -> None:
    rows = facts(json.dumps(DETAILED | {"itls": [[0.1, gap], [0.25, 0.25], []]}))[0]["requests"]
    assert rows[0].get("itl_n") is None and rows[0].get("latency_s") is None and rows[1]["itl_n"] == 3.0


def test_no_text_leaves() -> None:
    doc = DETAILED | {
        "generated_texts": ["CANARY"] * 3,
        "errors": ["", "", "CANARY"],
        "server_info": {"model_path": "CANARY"},
        "dataset_name": "/CANARY",
    }
    assert "CANARY" not in repr(facts(json.dumps(doc)))


def test_other_files_are_not_claimed() -> None:
    vllm = '{"date": "20260301-101530", "backend": "vllm", "model_id": "m", "num_prompts": 8, "duration": 4.0, "completed": 8}'
    assert PARSER.claims(Source.from_text(vllm).head()) is None
    assert PARSER.claims(Source.from_text('{"batch_size": 4, "lr": 0.1}').head()) is None
    refused = PARSER.claims(Source.from_text('{"dataset_name": "random", "random_range_ratio": 1.0}').head())
    assert isinstance(refused, Refusal)
