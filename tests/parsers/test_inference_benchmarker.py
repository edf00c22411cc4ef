"""inference-benchmarker: users and rates, warm-up, damage."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from gpuverdict.engine.parser import Claim, Counts, Refusal, Sample
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_counts, check_samples, rows_of, values
from gpuverdict.parsers.inference_benchmarker import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

SWEEP, SMALL = (json.loads(s.text) for s in PARSER.samples)


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


def test_the_sweeps_own_times_are_no_times_of_a_run() -> None:
    rows = facts(json.dumps(SMALL | {"start_time": "2026-03-01T10:00:00Z", "end_time": "2026-03-01T10:05:00Z"}))[0]
    assert rows["bench_steps"][0].get("started_at") is None and rows["bench_steps"][0].get("wall_s") is None


@pytest.mark.parametrize(("kind", "want"), [("ConstantVUs", (4.0, None)), ("ConstantArrivalRate", (None, 3.0)), ("Other", (None, 3.0))])
def test_only_constant_users_are_offered_streams(kind: str, want: tuple) -> None:
    run = SMALL["results"][0] | {"executor_type": kind, "config": {"max_vus": 4, "rate": 3.0}}
    row = facts(json.dumps(SMALL | {"results": [run]}))[0]["bench_steps"][0]
    assert (row.get("concurrency"), row.get("rate_rps")) == want


def test_a_warm_up_alone_gives_no_step() -> None:
    rows, counts = facts(json.dumps({"results": SWEEP["results"][:1]}))
    assert rows == {} and counts.matched == 1


def test_no_text_leaves() -> None:
    assert "CANARY" not in repr(facts(json.dumps(SWEEP | {"system": {"hostname": "CANARY"}, "config": {"url": "CANARY"}})))


def test_a_cut_result_says_so() -> None:
    rows, counts = facts(json.dumps(SWEEP)[:-40])
    assert rows == {} and counts.near_miss == 1


def test_other_files_are_not_claimed() -> None:
    assert PARSER.claims(Source.from_text('{"results": [{"id": 1}]}').head()) is None
    assert isinstance(PARSER.claims(Source.from_text('{"config": {"max_vus": 3, "benchmark_kind": "sweep"}}').head()), Refusal)
