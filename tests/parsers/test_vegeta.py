"""vegeta: reports, results, loads, failures."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.vegeta import PARSER
from open_ended import line_tests

TEXT, OLD, REPORT, CSV, JSON = (s.text for s in PARSER.samples)


def rows(text: str, table: str = "bench_steps") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def test_samples() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(PARSER.claims(Source.from_text(sample.text).head()), Claim)


(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="Requests [total, rate] 0123456789.:,\n", derived=("cycle", "gpu", "line", "step"), twice=False)


@pytest.mark.parametrize(
    ("command", "concurrency", "rate"),
    [
        ("vegeta attack -rate=2 -duration=30s", None, 2.03),
        ("vegeta attack -rate=0 -max-workers=16 -duration=30s", 16.0, None),
        ("vegeta attack -rate=0 -duration=30s", None, None),
        ("vegeta -cpus 2 attack -max-workers=16 -rate 2/s", None, 2.03),
        ("vegeta attack \\\n  -rate=0 \\\n  -max-workers=4", 4.0, None),
    ],
)
def test_loads(command: str, concurrency: float | None, rate: float | None) -> None:
    (row,) = rows(f"$ {command} | vegeta report\n" + TEXT.split("\n", 1)[1])
    assert (row.get("concurrency"), row.get("rate_rps")) == (concurrency, rate)


def test_failures_leave_the_rate_of_the_successes_only() -> None:
    (row,) = rows(TEXT.replace("200:60  ", "0:6  200:54  "))
    assert (row["completed"], row["failed"], row["req_s"], row.get("e2e_mean_ms")) == (54, 6, 1.75, None)
    (row,) = rows(TEXT.replace("200:60  ", "302:6  200:54  "))
    assert row.get("req_s") is None, "vegeta counts redirects as successes"
    (row,) = rows(TEXT.replace("200:60  ", "0:60  "))
    assert (row["completed"], row.get("req_s"), row.get("e2e_mean_ms")) == (0, None, None)


def test_several_reports() -> None:
    assert [r["step"] for r in rows(TEXT + OLD)] == [1, 2]


def test_text_stays_out() -> None:
    assert all(word not in repr(rows_of(PARSER, text)) for text in (CSV, JSON, OLD) for word in ("http", "SGVsbG8", "Internal"))


def test_a_result_of_another_shape_is_a_near_miss() -> None:
    _, counts = rows_of(PARSER, CSV + "1772010000250000000,200,x,100\n")
    assert counts.near_miss == 1


def test_a_table_of_numbers_is_not_this() -> None:
    assert PARSER.claims(Source.from_text("1772010000250000000,200,3,4\n").head()) is None
