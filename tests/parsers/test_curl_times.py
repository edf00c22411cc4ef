"""Times of `curl -w` and of a shell around curl."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.curl_times import PARSER
from open_ended import document_tests


def _requests(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("requests", [])


def test_samples() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(PARSER.claims(Source.from_text(sample.text).head()), Claim)


@pytest.mark.parametrize(
    ("line", "latency", "status"),
    [
        ("http_code=200 time_starttransfer=0.100000 time_total=2.500000", 2.5, "ok"),
        ("200 time_total: 2.500s", 2.5, "ok"),
        ("req 7: connect=0.001 ttfb=0.120 total=2.500", 2.5, None),
        ("code: 429; start: 0.100000; total: 0.200000", 0.2, "failed"),
        ("status=000 start=0.000000 total=5.000123", 5.000123, "failed"),
    ],
)
def test_lines(line: str, latency: float, status: str | None) -> None:
    (row,) = _requests(line + "\n")
    assert (row["latency_s"], row["status"], row["origin"]) == (latency, status, "client")


@pytest.mark.parametrize(
    "line",
    [
        "total=15.029956",
        "step 5 total: 2.500 loss=3",
        "total time = 525.07 ms / 250 tokens",
        "start=3 total=7",
        "status 200 total requests: 12.500",
    ],
)
def test_lines_that_are_no_transfer(line: str) -> None:
    assert _requests(line + "\n") == [] and PARSER.claims(Source.from_text(line + "\n").head()) is None


def test_parts_cannot_last_longer_than_the_total() -> None:
    rows, counts = rows_of(PARSER, "200 start=3.000000 total=2.000000\n")
    assert "requests" not in rows and counts.near_miss == 1
    assert _requests("time_connect: 3.000\ntime_total: 2.000\n") == []


def test_blocks_behind_each_other() -> None:
    block = "time_connect: 0.001\ntime_starttransfer: 0.100\ntime_total: {}\nhttp_code: {}\n"
    rows = _requests(block.format("1.500", 200) + block.format("2.500", 500))
    assert [(r["latency_s"], r["status"]) for r in rows] == [(1.5, "ok"), (2.5, "failed")]


def test_shell_time_only_of_curl_and_never_twice() -> None:
    real = "real\t0m5.250s\nuser\t0m0.014s\nsys\t0m0.013s\n"
    assert _requests("$ time make -j4\n" + real) == []
    assert [r["latency_s"] for r in _requests("$ time curl -s x\n" + real)] == [5.25]
    assert [r["latency_s"] for r in _requests("$ time curl -s x\n200 start=0.100000 total=5.200000\n" + real)] == [5.2]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            '{"time_connect":0.000123,"time_starttransfer":1.234567,"time_total":9.876543,"http_code":200,"url_effective":"x"}\n',
            [(9.876543, "ok")],
        ),
        ('{"time_namelookup":0.000123,"time_total":9.876543,"response_code":503}\n', [(9.876543, "failed")]),
        ('{"time_starttransfer":12.234567,"time_total":9.876543}\n', []),
        ('{"time_total":9.876543,"prompt":"x"}\n', []),  # somebody's own object
        ('$ curl -s -w "%{http_code} %{time_total}\\n" -o /dev/null http://x\n200 9.876543\n', [(9.876543, "ok")]),
        ("$ curl -s -w '%{time_starttransfer},%{time_total}' http://x\n0.234567,9.876543\n1.5,2.25\n", [(9.876543, None)]),
        ("$ curl -w '%{time_total}\\n' http://x\n9.876543\n8.5\n", [(9.876543, None)]),
        ("9.876543\n", []),  # nothing says what it is
        ("$ curl -w 'took %{time_total} for %{url}\\n' http://x\n9.876543 x\n", []),
    ],
)
def test_values_without_labels(text: str, found: list[tuple[float, str | None]]) -> None:
    assert [(r["latency_s"], r["status"]) for r in rows_of(PARSER, text)[0].get("requests", [])] == found
    assert isinstance(PARSER.claims(Source.from_text(text).head()), Claim) == bool(found)


def test_names_stay_out() -> None:
    assert "secret" not in str(rows_of(PARSER, "secret-host 200 start=0.100000 total=5.200000 url=https://secret\n")[0])


test_any_block_size_gives_the_same, test_any_cut_invents_nothing, test_any_garbled_byte_raises_nothing = document_tests(PARSER)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("$ time -p curl -s h\nreal 28.48\nuser 0.01\nsys 0.01\n", 28.48),
        ("$ /usr/bin/time curl -s h -o x\n0.00user 0.00system 0:10.10elapsed 0%CPU (0avgtext+0avgdata 9000maxresident)k\n", 10.10),
        ("$ /usr/bin/time curl -s h -o x\n0.00user 0.00system 1:02:10elapsed 0%CPU\n", 3730.0),
        ('\tCommand being timed: "curl -s h"\n\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:00.10\n', 60.10),
        ("curl -s h -d @a.json  0.01s user 0.01s system 0% cpu 12.345 total\n", 12.345),
        ("curl -s h  0.01s user 0.01s system 0% cpu 1:12.35 total\n", 72.35),
        ("$ TIMEFORMAT=%3R; time curl -s h >/dev/null\n0,102\n", 0.102),
        ("PS> Measure-Command { curl.exe -s h }\nSeconds           : 12\nTotalSeconds      : 12.3456789\n", 12.3456789),
    ],
)
def test_what_other_shells_print(text: str, seconds: float) -> None:
    assert [r["latency_s"] for r in rows_of(PARSER, text)[0]["requests"]] == [pytest.approx(seconds)]
    assert isinstance(PARSER.claims(Source.from_text(text).head()), Claim)
    elsewhere = text.replace("curl", "make")
    assert "requests" not in rows_of(PARSER, elsewhere)[0], "another command was timed"
