"""Rows of requests: units, clocks, failures, and what is no table of requests."""

from __future__ import annotations

from functools import partial

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.request_table import PARSER
from open_ended import document_tests, read

OWN, SHEET, JMETER = (s.text for s in PARSER.samples)

facts = partial(read, PARSER)
test_blocks, test_cut, test_garbled = document_tests(PARSER)


def claim(text: str) -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text).head())


def test_samples() -> None:
    check_samples(PARSER)


@pytest.mark.parametrize(("factor", "digits"), [(1e3, 0), (1e6, 0), (1e9, 0)])
def test_epochs_of_every_size(factor: float, digits: int) -> None:
    rows = "".join(f"{n},{(1772000000 + n) * factor:.{digits}f},{(1772000010 + 2 * n) * factor:.{digits}f},200\n" for n in range(3))
    found = facts("id,start,end,status\n" + rows)[0]
    assert [r["latency_s"] for r in found["requests"]] == pytest.approx([10.0, 11.0, 12.0], abs=1e-5)
    assert found["clocks"][0]["kind"] == "utc"


def test_a_latency_whose_unit_nothing_decides_is_refused() -> None:
    text = "id,latency,output_tokens\n1,12.5,200\n2,24.5,200\n"
    refused = claim(text)
    assert isinstance(refused, Refusal) and "unit" in refused.missing and facts(text)[0] == {}
    assert isinstance(claim(text.replace("latency", "latency_s")), Claim)


def test_a_ttft_longer_than_its_latency_is_in_another_unit_and_unknown() -> None:
    text = OWN.replace(",0.5,12.5,", ",500,12.5,")
    assert all(r.get("ttft_s") is None for r in facts(text)[0]["requests"])


def test_milliseconds_decided_by_start_and_end() -> None:
    text = OWN.replace(",0.5,12.5,", ",500,12500,").replace(",12.5,24.5,", ",12500,24500,").replace(",0,0.5,", ",0,500,")
    assert [r["latency_s"] for r in facts(text)[0]["requests"]] == [12.5, 24.5, None]


def test_relative_times_need_a_unit() -> None:
    text = "id,start_s,end_s,status\n1,0.25,12.5,ok\n2,0.5,24.5,ok\n"
    found = facts(text)[0]
    assert [(r["sent_at"], r["latency_s"]) for r in found["requests"]] == [(0.25, 12.25), (0.5, 24.0)]
    assert found["clocks"][0]["kind"] == "since-start"
    assert facts(text.replace("_s,", ","))[0] == {}


def test_prompts_stay_here_even_over_several_lines() -> None:
    text = OWN.replace('"hello, world"', '"CANARY\nc=4: 40 tok/s\n""x"""')
    rows, counts = facts(text)
    assert "CANARY" not in repr(rows) and [r["status"] for r in rows["requests"]] == ["ok", "ok", "failed"]
    assert counts.lines == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,b\n1,2\n",
        "concurrency,mean_latency_s,p99_latency_s\n1,2,3\n2,3,4\n",
        "concurrency,aggregate_tok_s,latency_s\n1,2,3\n2,3,4\n",
        "latency_s\n1\n2\n",
        "step,loss,elapsed\n1,2,3\n",
        "12.5,200,3\n12.5,200,3\n",
    ],
)
def test_other_tables_are_not_claimed(text: str) -> None:
    assert not isinstance(claim(text), Claim)
