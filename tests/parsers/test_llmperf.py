"""llmperf: summaries, responses, failures, damage."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from gpuverdict.engine.parser import Claim, Counts, Refusal, Sample
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_counts, check_samples, rows_of, values
from gpuverdict.parsers.llmperf import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

SUMMARY, RESPONSES = (json.loads(s.text) for s in PARSER.samples)


class Tiny(Source):
    """A source whose blocks hold a few characters."""

    def blocks(self, size: int = 0) -> Iterator[tuple[int, str]]:
        return super().blocks(37)


def facts(text: str | bytes, tiny: bool = False) -> tuple[dict[str, list[dict]], Counts]:
    """Rows and counts; with `tiny` read in small blocks."""
    if not tiny:
        return rows_of(PARSER, text)
    out: dict[str, list[dict]] = {}
    source = Tiny.from_text(text)
    counts = PARSER.parse(source, lambda target, frame: out.setdefault(target, []).extend(frame.to_dicts()))
    return out, counts


def test_samples() -> None:
    check_samples(PARSER)


@pytest.mark.parametrize("sample", PARSER.samples, ids=lambda s: s.versions)
def test_samples_are_claimed_and_blocks_do_not_matter(sample: Sample) -> None:
    assert isinstance(PARSER.claims(Source.from_text(sample.text, sample.name).head()), Claim)
    assert facts(sample.text, tiny=True) == facts(sample.text)


@pytest.mark.parametrize("sample", PARSER.samples, ids=lambda s: s.versions)
@given(share=st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_a_cut_invents_nothing(sample: Sample, share: float) -> None:
    text = sample.text[: int(share * len(sample.text))]
    rows, counts = facts(text)
    check_counts(counts, text, "cut")
    invented = {v for v in values(rows) - values(facts(sample.text)[0]) if v[1] not in ("series", "step")}
    assert not invented


@pytest.mark.parametrize("sample", PARSER.samples, ids=lambda s: s.versions)
@given(share=st.floats(0, 1), byte=st.integers(0, 255))
@settings(max_examples=60, deadline=None)
def test_a_garbled_byte_raises_nothing(sample: Sample, share: float, byte: int) -> None:
    data = bytearray(sample.text.encode())
    data[min(int(share * len(data)), len(data) - 1)] = byte
    source = Source.from_text(bytes(data))
    PARSER.claims(source.head())
    _, counts = rows_of(PARSER, bytes(data))
    assert counts.lines == sum(b.count("\n") + (not b.endswith("\n")) for _, b in source.blocks())


def step(**changes: object) -> dict:
    return facts(json.dumps(SUMMARY | changes))[0]["bench_steps"][0]


def test_the_inter_token_latency_is_latency_and_stays_out() -> None:
    assert 30.0 not in step().values() and 0.03 not in step().values()


def test_a_run_that_mostly_failed_offered_nobody_knows_what() -> None:
    rows = facts(json.dumps(SUMMARY | {"results_number_errors": 130, "results_num_completed_requests": 20}))[0]
    assert rows["bench_steps"][0].get("concurrency") is None and rows["bench_steps"][0]["ttft_mean_ms"] == 750.0
    assert [q["kind"] for q in rows["quality"]] == ["mostly-failed"]


def test_a_run_without_success_has_no_measures() -> None:
    rows = facts(json.dumps(SUMMARY | {"results_num_completed_requests": 0}))[0]
    known = {k for k, v in rows["bench_steps"][0].items() if v is not None}
    assert known == {"line", "step", "concurrency", "requests", "completed", "failed", "finished_at"}
    assert [q["kind"] for q in rows["quality"]] == ["all-failed"]


def test_strings_are_no_numbers_and_old_times_no_times() -> None:
    row = step(results_ttft_s_mean="0.75", timestamp=12345)
    assert row.get("ttft_mean_ms") is None and row.get("finished_at") is None


@pytest.mark.parametrize(
    "change", [{"error_code": 500}, {"error_msg": "CANARY"}, {"end_to_end_latency_s": 0}, {"end_to_end_latency_s": None}]
)
def test_failures_have_no_measures(change: dict) -> None:
    rows = facts(json.dumps([RESPONSES[0] | change]))[0]
    known = {k: v for k, v in rows["requests"][0].items() if v is not None}
    assert known == {"line": 1, "origin": "client", "run": 0, "request": "0", "status": "failed"}


def test_a_list_cut_at_its_end_keeps_what_is_whole() -> None:
    rows, counts = facts(json.dumps([RESPONSES[0]] * 3, indent=4)[:-60])
    assert len(rows["requests"]) == 2 and counts.near_miss == 1


def test_long_lists_come_in_batches() -> None:
    rows, _ = facts(json.dumps([RESPONSES[0]] * 4100))
    assert len(rows["requests"]) == 4100 and rows["requests"][-1]["request"] == "4099"


def test_no_text_leaves() -> None:
    assert "CANARY" not in repr(facts(json.dumps(SUMMARY | {"model": "CANARY", "api": "CANARY", "name": "CANARY"})))


def test_other_files_are_not_claimed() -> None:
    assert PARSER.claims(Source.from_text('{"num_concurrent_requests": 3}').head()) is None
    assert isinstance(PARSER.claims(Source.from_text('[{"ttft_s": 1, "end_to_end_latency_s": 2}]').head()), Refusal)
