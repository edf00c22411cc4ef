"""inference-perf: stages with a rate or a concurrency, summaries, failures, damage."""

from __future__ import annotations

import json
from functools import partial

from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.inference_perf import PARSER
from open_ended import document_tests, read

STAGE, STREAMS = (json.loads(s.text) for s in PARSER.samples)

facts = partial(read, PARSER)


def test_samples() -> None:
    check_samples(PARSER)


test_samples_are_claimed_and_blocks_do_not_matter, test_a_cut_invents_nothing, test_a_garbled_byte_raises_nothing = document_tests(PARSER)


def test_a_summary_of_all_stages_offers_nothing() -> None:
    doc = STAGE | {"load_summary": {"count": 240, "schedule_delay": {"mean": 0.1}}}
    (row,) = facts(json.dumps(doc))[0]["bench_steps"]
    assert (row["series"], row.get("rate_rps"), row.get("concurrency"), row["ttft_p50_ms"]) == ("summary", None, None, 250.0)


def test_a_run_without_success_has_no_measures() -> None:
    rows = facts(json.dumps(STAGE | {"successes": {"count": 0}, "failures": {"count": 240}}))[0]
    known = {k for k, v in rows["bench_steps"][0].items() if v is not None}
    assert known == {"line", "step", "rate_rps", "requests", "completed", "failed"}
    assert [q["kind"] for q in rows["quality"]] == ["all-failed"]


def test_the_latency_over_all_tokens_is_no_time_per_token() -> None:
    doc = json.loads(json.dumps(STAGE))
    del doc["successes"]["latency"]["time_per_output_token"]
    (row,) = facts(json.dumps(doc))[0]["bench_steps"]
    assert row.get("tpot_mean_ms") is None and 33.0 not in row.values()


def test_stages_one_after_the_other() -> None:
    rows = facts(json.dumps(STAGE) + "\n" + json.dumps(STREAMS) + "\n")[0]["bench_steps"]
    assert [(r["step"], r["rate_rps"], r["concurrency"]) for r in rows] == [(1, 4.0, None), (2, None, 8.0)]
