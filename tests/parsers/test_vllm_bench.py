"""vLLM benchmark results: values, failures, clocks, series, damage."""

from __future__ import annotations

import json
from functools import partial

import pytest
from gpuverdict.engine.parser import Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.vllm_bench import PARSER
from open_ended import document_tests, read

PLAIN, DETAILED = (json.loads(s.text) for s in PARSER.samples[:2])

facts = partial(read, PARSER)


def test_samples() -> None:
    check_samples(PARSER)


test_samples_are_claimed_and_blocks_do_not_matter, test_a_cut_invents_nothing, test_a_garbled_byte_raises_nothing = document_tests(PARSER)


def step(**changes: object) -> dict:
    """The step of the plain sample with keys changed (None as a string: key removed)."""
    doc = {k: v for k, v in {**PLAIN, **changes}.items() if v != "gone"}
    (row,) = facts(json.dumps(doc))[0]["bench_steps"]
    return row


def test_zeros_of_a_failed_run_are_unknown() -> None:
    zeros = {k: 0.0 for k in PLAIN if k.endswith(("_ms", "throughput"))}
    row = step(**zeros, completed=0, failed=40, total_input_tokens=0, total_output_tokens=0)
    assert (row["completed"], row["failed"], row["requests"]) == (0.0, 40.0, 40.0)
    known = {k for k, v in row.items() if v is not None}
    assert known == {"line", "step", "concurrency", "requests", "completed", "failed", "wall_s", "finished_at"}


@pytest.mark.parametrize("rate", ["inf", None, float("inf"), 1.7976931348623157e308, "gone", "3"])
def test_an_infinite_rate_is_no_rate(rate: object) -> None:
    assert step(request_rate=rate).get("rate_rps") is None


@pytest.mark.parametrize(("cap", "want"), [(4, 4.0), (400, 40.0), (None, None), ("gone", None), ("4", None), (0, None), (True, None)])
def test_offered_streams(cap: object, want: float | None) -> None:
    assert step(max_concurrency=cap).get("concurrency") == want


def test_the_peak_never_becomes_concurrency() -> None:
    assert 9.0 not in step().values()


def test_a_cap_counts_under_a_rate_only_where_it_was_reached() -> None:
    # two requests a second of 1.085 s each keep 2.17 in flight
    assert step(request_rate=2.0).get("concurrency") is None
    assert step(request_rate=2.0, max_concurrency=2)["concurrency"] == 2.0
    bare = {k: "gone" for k in PLAIN if k.endswith("_ms")}
    assert step(request_rate=2.0, max_concurrency=2, **bare).get("concurrency") is None


def test_metadata_strings_are_no_numbers() -> None:
    row = step(duration="20", mean_ttft_ms="1", tensor_parallel="2")
    assert row.get("wall_s") is None and row.get("ttft_mean_ms") is None and row.get("series") is None


def test_appended_results_and_repetitions_form_one_series() -> None:
    docs = [PLAIN | {"max_concurrency": c} for c in (1, 2, 2)]
    rows, counts = facts("\n".join(map(json.dumps, docs)))
    assert [(r.get("series"), r["step"], r["concurrency"]) for r in rows["bench_steps"]] == [(None, 1, 1.0), (None, 2, 2.0), (None, 3, 2.0)]
    assert (counts.matched, counts.near_miss) == (3, 0)


def test_other_lengths_and_other_models_are_other_runs() -> None:
    docs = [PLAIN | {"max_concurrency": c, "total_input_tokens": n} for n in (4000, 80000) for c in (1, 2)]
    rows = facts("\n".join(map(json.dumps, docs)))[0]["bench_steps"]
    assert [(r["series"], r["step"]) for r in rows] == [("run 1", 1), ("run 1", 2), ("run 2", 1), ("run 2", 2)]
    rows = facts(json.dumps([PLAIN, PLAIN | {"model_id": "secret/other"}]))[0]["bench_steps"]
    assert [r["series"] for r in rows] == ["run 1", "run 2"]


def test_a_broken_line_costs_itself_only() -> None:
    text = json.dumps(PLAIN) + "\n" + json.dumps(PLAIN)[:300] + "\n" + json.dumps(PLAIN | {"max_concurrency": 8}) + "\n"
    rows, counts = facts(text)
    assert [r["concurrency"] for r in rows["bench_steps"]] == [4.0, 8.0]
    assert (counts.matched, counts.near_miss, counts.rejects[0][0]) == (2, 1, 2)


def test_a_list_cut_at_its_end_keeps_what_is_whole() -> None:
    text = json.dumps([PLAIN, PLAIN, PLAIN], indent=2)
    rows, counts = facts(text[:-200])
    assert len(rows["bench_steps"]) == 2 and counts.near_miss == 1


def test_without_start_times_there_is_no_timeline() -> None:
    rows = facts(json.dumps({k: v for k, v in DETAILED.items() if k != "start_times"}))[0]
    assert all(r.get("sent_at") is None and r.get("finished_at") is None for r in rows["requests"])
    assert [r["status"] for r in rows["requests"]] == ["ok", "ok", "failed"]
    assert rows["requests"][0]["latency_s"] == pytest.approx(0.501)
    assert rows["clocks"] == [{"line": 1, "kind": "local-no-zone", "resolution_s": 1.0}]


def test_printed_latencies_win_over_sums() -> None:
    rows = facts(json.dumps(DETAILED | {"latencies": [0.75, 1.25, 0.0]}))[0]
    assert [r.get("latency_s") for r in rows["requests"]] == [0.75, 1.25, None]
    assert rows["requests"][0]["finished_at"] == 5001.25


def test_arrays_of_another_length_are_left_out() -> None:
    rows = facts(json.dumps(DETAILED | {"itls": [[0.1]], "output_lens": None}))[0]
    assert rows["requests"][0].get("itl_n") is None and rows["requests"][0].get("latency_s") is None
    assert rows["requests"][0]["ttft_s"] == 0.25


def test_epoch_times_of_inferencex_win_over_the_date() -> None:
    rows = facts(json.dumps(PLAIN | {"benchmark_start_time_unix": 1772360100.5, "benchmark_end_time_unix": 1772360120.75}))[0]
    assert (rows["bench_steps"][0]["started_at"], rows["bench_steps"][0]["finished_at"]) == (1772360100.5, 1772360120.75)
    assert rows["clocks"][0]["kind"] == "utc" and "quality" not in rows
    assert step(benchmark_start_time_unix=12.5)["finished_at"] == 1772360130.0


@pytest.mark.parametrize("gap", ["x", None, -0.5, float("nan"), float("inf"), True, 10**400, [1]])
def test_a_gap_that_is_no_time_costs_its_request_only(gap: object) -> None:
    rows = facts(json.dumps(DETAILED | {"itls": [[0.1, gap], [0.25, 0.25], []]}))[0]["requests"]
    assert rows[0].get("itl_n") is None and rows[0].get("latency_s") is None and rows[0]["status"] == "ok"
    assert rows[1]["itl_n"] == 3.0


def test_no_text_leaves() -> None:
    doc = DETAILED | {"generated_texts": ["CANARY-1"] * 3, "model_id": "CANARY-2", "errors": ["", "", "CANARY-3"], "label": "CANARY-4"}
    assert "CANARY" not in repr(facts(json.dumps(doc))) and "CANARY" not in repr(facts(json.dumps([doc, PLAIN])))


def test_a_csv_with_wild_cells_costs_its_row_only() -> None:
    text = (
        PARSER.samples[3].text.rsplit("\n", 1)[0]
        + "\n20260301\r-101730,"
        + "x" * 200_000
        + "\n"
        + PARSER.samples[3].text.split("\n")[1]
        + "\n"
    )
    rows, counts = facts(text)
    assert [r["concurrency"] for r in rows["bench_steps"]] == [2.0, 4.0, 2.0] and counts.near_miss == 1


def test_other_files_are_not_claimed() -> None:
    def answer(text: str) -> object:
        return PARSER.claims(Source.from_text(text).head())

    sglang = '{"backend": "x", "dataset_name": "random", "random_input_len": 1, "random_range_ratio": 0.0, "duration": 1.0, "completed": 3}'
    assert answer(sglang) is None
    assert answer('{"id": "cmpl-1", "model": "m", "usage": {"total_tokens": 3}}') is None
    assert answer("Successful requests: 3\n") is None
    assert isinstance(answer('[{"benchmark": {}, "model": {}, "metric": {"name": "x", "benchmark_values": [1]}}]'), Refusal)
    assert isinstance(answer('{"date": "20260301-101530", "model_id": "m", "tokenizer_id": "m"}'), Refusal)
