"""Printed summaries of hey, oha, k6 and locust: units, failures, users that sleep, several runs, damage."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from gpuverdict.engine.parser import Claim
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.load_summaries import PARSER, _go
from open_ended import document_tests, line_tests, read

HEY, OHA, K6, K6_FULL, K6_JSON, LOCUST, AB, LOCUST_OLD = (s.text for s in PARSER.samples)
SUMMARY = HEY[HEY.index("Summary:") :]

facts = partial(read, PARSER)


def steps(text: str) -> list[dict[str, Any]]:
    return facts(text)[0].get("bench_steps", [])


def test_samples_are_claimed() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(PARSER.claims(Source.from_text(sample.text).head()), Claim)


class Text:
    """The samples that are read by lines."""

    name, api, claims, parse = PARSER.name, 1, staticmethod(PARSER.claims), staticmethod(PARSER.parse)
    samples = tuple(s for s in PARSER.samples if "export" not in s.versions)


class Json(Text):
    samples = tuple(s for s in PARSER.samples if "export" in s.versions)


# a cut summary has not said all of its failures yet
DERIVED = ("step", "series", "requests", "completed", "failed", "concurrency", "req_s", "e2e_mean_ms", "e2e_p99_ms")
test_blocks, test_cut, test_garbled, test_noise = line_tests(Text(), alphabet='http_req.: 0123"%\n|Summary[]', derived=DERIVED)  # type: ignore[arg-type]
test_json_blocks, test_json_cut, test_json_garbled = document_tests(Json())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("ms", 1.0), ("us", 1e-3), ("sec", 1e3), ("secs", 1e3), ("10 sec", 1e4), ("min", 6e4), ("10 min", 6e5), ("hr", 3.6e6)],
)
def test_every_unit_of_oha(unit: str, factor: float) -> None:
    row = steps(OHA.replace("10 sec", unit))[0]
    assert (row["e2e_mean_ms"], row["e2e_p99_ms"]) == pytest.approx((1.5 * factor, 1.625 * factor))
    assert row["wall_s"] == pytest.approx(6.05 * factor / 1e3)


@pytest.mark.parametrize(
    ("above", "concurrency", "rate"),
    [
        ("hey -c 16 -n 60 http://h/\n", 16.0, None),
        ("$ hey -n 60 \\\n    -c 16 \\\n    http://h/\n", 16.0, None),
        ("oha --connections 16 http://h/\n", 16.0, None),
        ("oha -c 16 -q 2 http://h/\n", None, 2.0),  # a finite rate: the connections are only a cap
        ("hey -c 16 -q 2 http://h/\n", None, None),  # the rate of hey is one per worker
        ("oha -c 4 -p 4 http://h/\n", None, None),  # several streams in each connection
        ("hey -n 60 http://h/\n", None, None),  # its default is not printed
        ("hey -n 60 -d 'say -c 16 please' http://h/\n", None, None),  # a prompt
        ("for c in 1 4; do hey -c $c http://h/; done\n=== c=16 ===\n", None, None),
        ("=== concurrency: 16 ===\n", 16.0, None),
        ("16 users\n\n", 16.0, None),
        ("oh hey, we had 16 apples\n", None, None),
        ("", None, None),
    ],
)
def test_where_the_streams_come_from(above: str, concurrency: float | None, rate: float | None) -> None:
    row = steps(above + SUMMARY)[0]
    assert (row["concurrency"], row["rate_rps"]) == (concurrency, rate)


def test_a_command_speaks_for_its_own_summary_only() -> None:
    assert [r["concurrency"] for r in steps(HEY + "\n" + SUMMARY)] == [8.0, None]
    assert [r["concurrency"] for r in steps("c=1\n" + SUMMARY + "c=4\n" + SUMMARY)] == [1.0, 4.0]


@pytest.mark.parametrize(
    ("codes", "want"),
    [
        ("  [200]\t60 responses\n", (60.0, 0.0, 1.9967, 3750.0)),
        ("  [200]\t50 responses\n  [503]\t10 responses\n", (60.0, 10.0, None, None)),
        ('  [200]\t50 responses\n\nError distribution:\n  [10]\tPost "http://h/": timeout\n', (60.0, 10.0, None, 3750.0)),
        ("  [503]\t60 responses\n", (60.0, 60.0, None, None)),
        ("\n", (None, None, None, None)),  # the paste ended before it said whether requests failed
    ],
)
def test_failures_of_hey(codes: str, want: tuple[float | None, ...]) -> None:
    row = steps(SUMMARY.replace("  [200]\t60 responses\n", codes))[0]
    assert tuple(row[c] for c in ("requests", "failed", "req_s", "e2e_mean_ms")) == want


def test_a_summary_without_its_rate_is_none() -> None:
    rows, counts = facts(SUMMARY.replace("  Requests/sec:\t1.9967\n", ""))
    assert rows == {} and counts.matched == 0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("635.5ms", 0.6355), ("1m2.5s", 62.5), ("2h3m", 7380.0), ("12µs", 12e-6), ("0s", 0.0), ("3m", 180.0), ("", None), ("5", None)],
)
def test_durations_of_go(text: str, seconds: float | None) -> None:
    assert _go(text) == (None if seconds is None else pytest.approx(seconds))


def test_users_that_sleep_are_not_streams() -> None:
    assert steps(K6_FULL)[0]["concurrency"] is None
    busy = K6.replace("1.95/s", "0.95/s")
    assert steps(K6)[0]["concurrency"] == 8.0 and steps(busy)[0]["concurrency"] is None
    assert steps(LOCUST.replace("    2.00 ", "    1.00 "))[0]["concurrency"] is None


def test_ramping_users_and_several_scenarios_have_no_number() -> None:
    ramped = K6.replace("8 looping VUs for 30s", "Up to 8 looping VUs for 30s over 2 stages")
    assert steps(ramped)[0]["concurrency"] is None
    two = K6.replace("(gracefulStop: 30s)\n", "(gracefulStop: 30s)\n              * other: 4 looping VUs for 30s\n")
    assert steps(two)[0]["concurrency"] is None


def test_failures_of_newer_k6() -> None:
    text = K6_FULL.replace("0.00%  0 out of 500", "2.00%  10 out of 500").replace("true }...: avg=635.5ms", "true }...: avg=700ms")
    row = steps(text)[0]
    assert (row["failed"], row["completed"], row["req_s"], row["e2e_mean_ms"]) == (10.0, 490.0, None, 700.0)
    unsaid = "\n".join(line for line in text.split("\n") if "expected_response" not in line)
    assert steps(unsaid)[0]["e2e_mean_ms"] is None


def test_two_runs_of_k6() -> None:
    assert [r["line"] for r in steps(K6 + K6)] == [7, 21]


def test_summaries_of_handle_summary() -> None:
    doc = json.loads(K6_JSON)
    nested = {"metrics": {k: {"type": "x", "values": v} for k, v in doc["metrics"].items()}, "state": {"testRunDurationMs": 30500.5}}
    row = steps(json.dumps(nested))[0]
    assert row == steps(K6_JSON)[0] | {"wall_s": 30.5005}
    doc["metrics"]["http_req_failed"]["passes"] = 6
    assert steps(json.dumps(doc))[0]["e2e_mean_ms"] is None, "the mean is one of failures too"
    doc["metrics"]["http_req_duration{expected_response:true}"] = {"avg": 4000.0}
    assert steps(json.dumps(doc))[0]["e2e_mean_ms"] == 4000.0


def test_the_current_rate_of_locust_is_not_the_rate_of_the_run() -> None:
    running = LOCUST[: LOCUST.index("[2026-03-01 10:00:31")]
    row = steps(running)[0]
    assert (row["requests"], row["req_s"], row["concurrency"]) == (10.0, None, None)


def test_several_endpoints_of_locust_share_the_users() -> None:
    line = "POST     /v1/chat/completions        60     0(0.00%) |   3750    1200    6500   3700 |    2.00        0.00\n"
    rows = steps(LOCUST.replace(line, line + line.replace("chat/", "")))
    assert [(r["series"], r["concurrency"]) for r in rows] == [("/v1/chat/completions", None), ("/v1/completions", None)]


def test_prompts_and_addresses_stay_here() -> None:
    assert "localhost" not in repr(facts(HEY)) and "-c 99" not in repr(facts(HEY))


@pytest.mark.parametrize("text", ["", "Summary:\n  we are done\n", "# reqs\n1 2 3\n", '{"metrics": {"http_reqs": 3}}', "Requests/sec: 5\n"])
def test_other_files_are_not_claimed(text: str) -> None:
    assert PARSER.claims(Source.from_text(text).head()) is None
    assert facts(text)[0] == {}


@pytest.mark.parametrize(
    ("connect", "refused", "want"),
    [
        ("(Connect: 0, Receive: 0, Length: 59, Exceptions: 0)", "", (60.0, 0.0, 1.97, 4066.667)),
        ("(Connect: 0, Receive: 4, Length: 55, Exceptions: 0)", "", (56.0, 4.0, None, None)),
        ("(Connect: 0, Receive: 0, Length: 59, Exceptions: 0)", "Non-2xx responses:      10\n", (50.0, 10.0, None, None)),
        ("", "", (None, None, None, None)),
    ],
)
def test_failures_of_ab(connect: str, refused: str, want: tuple[float | None, ...]) -> None:
    text = AB.replace("   (Connect: 0, Receive: 0, Length: 59, Exceptions: 0)\n", f"   {connect}\n{refused}" if connect else "")
    row = steps(text)[0]
    assert tuple(row[c] for c in ("completed", "failed", "req_s", "e2e_mean_ms")) == want


def test_failures_that_k6_did_not_print_are_unknown_and_not_said_to_be_there() -> None:
    text = next(s.text for s in PARSER.samples if "k6" in s.versions and "http_req_failed" in s.text)
    rows = facts("".join(line for line in text.splitlines(keepends=True) if "http_req_failed" not in line))[0]
    assert [row["kind"] for row in rows["quality"] if "failures" in row["kind"]] == ["failures-unknown"]
    assert rows["bench_steps"][0]["req_s"] is None
