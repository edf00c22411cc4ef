"""bombardier, autocannon, fortio and artillery: connections that are only a cap, failures, reports one after the other."""

from __future__ import annotations

import pytest
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.load_reports import PARSER
from open_ended import line_tests

BOMBARDIER, AUTOCANNON, FORTIO, ARTILLERY = (s.text for s in PARSER.samples)


def steps(text: str) -> list[dict]:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def test_samples() -> None:
    check_samples(PARSER)


(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(
    PARSER,
    alphabet="│ Latency Reqs/sec 2xx - 0123456789.ms%\n",
    derived=("line", "step", "failed", "requests", "req_s", "e2e_mean_ms", "e2e_p50_ms", "e2e_p99_ms"),
)


def test_under_a_rate_limit_connections_are_only_a_cap() -> None:
    (row,) = steps(BOMBARDIER.replace("using 8 connections", "using 64 connections"))
    assert (row["concurrency"], row["req_s"], row["e2e_mean_ms"]) == (None, None, 3250.0)
    (row,) = steps(AUTOCANNON.replace("8 connections", "64 connections"))
    assert (row["concurrency"], row["req_s"]) == (None, 2.25)


@pytest.mark.parametrize(
    ("text", "told", "failing"),
    [
        (BOMBARDIER, "5xx - 0", "5xx - 2"),
        (BOMBARDIER, "others - 0", "others - 1"),
        (AUTOCANNON, "73.6 kB read\n", "73.6 kB read\n3 errors (3 timeouts)\n"),
        (AUTOCANNON, "\n70 requests in", "\n60 2xx responses, 10 non 2xx responses\n70 requests in"),
        (ARTILLERY, "http.requests:", "errors.ETIMEDOUT: ......... 2\nhttp.requests:"),
        (ARTILLERY, "http.requests:", "http.codes.503: ......... 2\nhttp.requests:"),
    ],
)
def test_failures_went_into_the_statistics(text: str, told: str, failing: str) -> None:
    rows, _ = rows_of(PARSER, text.replace(told, failing))
    (row,) = rows["bench_steps"]
    assert row["failed"] >= 1 and (row["e2e_mean_ms"], row["e2e_p99_ms"], row["req_s"]) == (None, None, None)
    assert [q["kind"] for q in rows["quality"]] == ["failures-mixed"]


def test_a_run_without_success_has_no_measurements() -> None:
    rows, _ = rows_of(PARSER, BOMBARDIER.replace("2xx - 80", "2xx - 0").replace("others - 0", "others - 80"))
    assert [q["kind"] for q in rows["quality"]] == ["all-failed"] and rows["bench_steps"][0]["e2e_mean_ms"] is None


def test_reports_one_after_the_other_keep_apart() -> None:
    rows = steps(BOMBARDIER + AUTOCANNON + FORTIO + ARTILLERY)
    assert [(r["step"], r["requests"]) for r in rows] == [(1, 80.0), (2, 70.0), (3, 28.0), (4, 60.0), (5, 240.0)]


def test_a_report_of_ten_seconds_is_no_run() -> None:
    assert steps(ARTILLERY.replace("Summary report @", "Metrics for period to:")) == []


def test_wrk_opens_alike_and_is_left_alone() -> None:
    assert (
        steps(
            "Running 30s test @ http://x/\n  4 threads and 8 connections\n    Latency    15.04s     0.00us  15.03s     0.00%\n  8 requests in 30.02s, 22.24KB read\n"
        )
        == []
    )


def test_units_of_bombardier() -> None:
    (row,) = steps(BOMBARDIER.replace("3.25s   412.50ms", "3250.00ms   412.50ms").replace("99%     4.45s", "99%     1.50m"))
    assert (row["e2e_mean_ms"], row["e2e_p99_ms"]) == (3250.0, 90000.0)
