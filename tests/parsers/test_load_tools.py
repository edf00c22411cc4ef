"""k6, hey, oha, locust, wrk: values, failures, several runs, damage."""

from __future__ import annotations

import json
from functools import partial

import pytest
from gpuverdict.engine.parser import Claim
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.load_tools import PARSER
from open_ended import document_tests, line_tests, read

K6, K6_MS, HEY, HEY_OLD, OHA, LOCUST, LOCUST_OLD, HISTORY, OHA_CSV, K6_JSON, WRK, WRK_BAD = (s.text for s in PARSER.samples)

facts = partial(read, PARSER)


def test_samples() -> None:
    check_samples(PARSER)


class Text:
    """The samples that are read by lines."""

    name, api, claims, parse = PARSER.name, 1, staticmethod(PARSER.claims), staticmethod(PARSER.parse)
    samples = tuple(s for s in PARSER.samples if s.versions != "oha")


class Json(Text):
    samples = tuple(s for s in PARSER.samples if s.versions == "oha")


DERIVED = ("step", "series", "run")
test_blocks, test_cut, test_garbled, test_noise = line_tests(Text(), alphabet='http_req,.0123 "%\nLatencyRunning', derived=DERIVED)  # type: ignore[arg-type]
test_json_blocks, test_json_cut, test_json_garbled = document_tests(Json())  # type: ignore[arg-type]


@pytest.mark.parametrize("sample", PARSER.samples, ids=lambda s: s.versions)
def test_samples_are_claimed(sample) -> None:  # type: ignore[no-untyped-def]
    assert isinstance(PARSER.claims(Source.from_text(sample.text).head()), Claim)


def test_the_second_run_of_hey_has_no_times() -> None:
    rows, _ = facts(HEY + HEY)
    assert [r["run"] for r in rows["requests"]] == [0, 0, 1, 1]
    assert [r.get("sent_at") for r in rows["requests"]] == [0.25, 0.5, None, None] and rows["quality"][0]["kind"] == "several-runs"


def test_columns_of_a_fork_are_passed_over() -> None:
    text = HEY.replace("offset", "offset,tokens").replace(",0.2500\n", ",0.2500,7\n").replace(",0.5000\n", ",0.5000,9\n")
    assert facts(text)[0] == facts(HEY)[0]


@pytest.mark.parametrize("row", ["4.25,0.1", "4.2500,0.0004,0.0000,0.0000,4.2490,0.0001,200,x", "4.2x00,0,0,0,4,0,200,0.5"])
def test_damaged_rows_of_hey_are_near_misses(row: str) -> None:
    rows, counts = facts(HEY.split("\n")[0] + f"\n{row}\n")
    assert rows == {} and counts.near_miss == 1


@pytest.mark.parametrize("stamp", ["2026-01-01T00:00:00Z", "12", "", "17672256000"])
def test_a_stamp_of_k6_that_is_no_epoch_is_a_near_miss(stamp: str) -> None:
    rows, counts = facts(K6_MS.replace("1767225600250", stamp))
    assert rows == {} and counts.near_miss == 1


def test_other_metrics_of_k6_are_noise() -> None:
    _, counts = facts(K6)
    assert (counts.matched, counts.noise, counts.other, counts.near_miss) == (3, 1, 0, 0)


def test_several_endpoints_are_said() -> None:
    text = K6 + K6.split("\n")[2].replace(",POST,a,", ",GET,CANARY,") + "\n"
    rows, _ = facts(text)
    assert [q["kind"] for q in rows["quality"]] == ["several-endpoints"] and "CANARY" not in repr(rows)


@pytest.mark.parametrize(
    ("codes", "errors", "want"),
    [
        ({"200": 30}, {}, (30.0, 0.0, 1.5, 5250.0)),
        ({"200": 20, "503": 10}, {}, (30.0, 10.0, None, None)),
        ({"200": 20}, {"timeout": 10}, (30.0, 10.0, None, 5250.0)),
        ({"503": 10}, {}, (10.0, 10.0, None, None)),
        ({"200": "x"}, {}, (None, None, None, None)),
    ],
)
def test_failures_of_oha(codes: dict, errors: dict, want: tuple) -> None:
    doc = json.loads(OHA) | {"statusCodeDistribution": codes, "errorDistribution": errors}
    row = facts(json.dumps(doc))[0]["bench_steps"][0]
    assert tuple(row.get(c) for c in ("requests", "failed", "req_s", "e2e_mean_ms")) == want


def test_the_aggregate_of_locust_speaks_only_alone() -> None:
    head, _, total, _ = LOCUST.split("\n")
    rows, counts = facts(f"{head}\n{total}\n")
    assert [r.get("series") for r in rows["bench_steps"]] == [None] and counts.matched == 2
    assert rows["bench_steps"][0]["e2e_p99_ms"] == 9500.0
    assert facts(LOCUST.replace("9500,9900", "N/A,9900"))[0]["bench_steps"][0].get("e2e_p99_ms") is None


def test_two_runs_of_wrk_do_not_mix() -> None:
    rows, counts = facts("+ wrk\n" + WRK + "\nplain text\n" + WRK_BAD)
    assert [(r["line"], r["concurrency"], r.get("e2e_p99_ms")) for r in rows["bench_steps"]] == [(2, 16.0, 1750.0), (15, 4.0, None)]
    assert counts.other == 3 and counts.near_miss == 0


def test_a_rate_without_its_lines_is_no_result() -> None:
    rows, counts = facts(WRK.replace("  750 requests in 0.50m, 17.76MB read\n", ""))
    assert rows == {} and counts.near_miss == 1


def test_the_address_stays_here() -> None:
    assert "localhost" not in repr(facts(WRK))


def test_other_files_are_not_claimed() -> None:
    for text in ("", "a,b\n1,2\n", '{"summary": {"total": 3}}', "Running a test\n", "1,0.1234\n2,0.2345\n"):
        assert PARSER.claims(Source.from_text(text).head()) is None
        assert facts(text)[0] == {}


def test_stretches_of_locust_end_where_the_users_change() -> None:
    rows, _ = facts(HISTORY)
    assert [(r.get("concurrency"), r["wall_s"]) for r in rows["bench_steps"]] == [(4.0, 20.0), (None, 40.0)]
    ramp = HISTORY.split("\n")[0] + "\n" + "".join(f"{1767225600 + k},{k},,Aggregated,1,0,N/A,{k},0,900\n" for k in range(20))
    assert facts(ramp)[0] == {}, "every second has another number of users"
    failing = HISTORY.replace(",20,0,3900.0", ",20,5,3900.0").replace(",21,0,", ",21,5,").replace(",41,0,", ",41,5,")
    first = facts(failing)[0]["bench_steps"][0]
    assert (first["failed"], first.get("req_s"), first.get("e2e_mean_ms")) == (5.0, None, None)
    restarted = HISTORY.replace(",20,0,3900.0", ",5,0,3900.0")
    assert [r["line"] for r in facts(restarted)[0]["bench_steps"]] == [5]


def test_points_of_k6_that_are_damaged() -> None:
    rows, counts = facts(K6_JSON.replace('"value":2500.5', '"value":"x"'))
    assert [r["line"] for r in rows["requests"]] == [3] and (counts.near_miss, counts.noise) == (1, 2)


@pytest.mark.parametrize(("text", "shares"), [(HEY, False), ("$ hey -o csv\n" + HEY, True), (WRK, True), (OHA, False)])
def test_text_around_a_result_is_left_to_others(text: str, shares: bool) -> None:
    claim = PARSER.claims(Source.from_text(text).head())
    assert isinstance(claim, Claim) and claim.shares == shares
