"""powermetrics: the GPU's residency and what only looks like it."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.powermetrics import PARSER
from open_ended import line_tests


def rows(text: str, table: str = "gpu_samples") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def claim(text: str) -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text, "sample.txt").head())


def sample(second: int, *lines: str, elapsed: str = " (500.25ms elapsed)") -> str:
    return f"*** Sampled system activity (Tue Mar  3 08:15:{second:02d} 2026 -0530){elapsed} ***\n\n" + "".join(x + "\n" for x in lines)


BUSY = ("GPU HW active frequency: 1277 MHz", "GPU HW active residency: 99.35% (396 MHz: .06% 1278 MHz: 99%)", "GPU idle residency: 0.65%")


def test_samples() -> None:
    check_samples(PARSER)
    assert all(isinstance(claim(s.text), Claim) for s in PARSER.samples)


def test_the_first_percentage_and_the_zone() -> None:
    (row,) = rows(sample(1, *BUSY))
    assert (row["util_gpu"], row["sm_clock"], row["window_s"], row["time"]) == (99.35, 1277, 0.50025, 1772545501.0)


@pytest.mark.parametrize(
    "line",
    [
        "E-Cluster HW active residency:  90.12% (744 MHz: 0%)",
        "CPU 0 active residency:   2.44% (744 MHz: 0%)",
        "GPU 0 GPU Busy                     : 0.72%",
        "GPU SW requested state: (P1 : 100% P2 :   0%)",
        "GPU Power: 8503 mW",
        "the GPU HW active residency: 50% he saw",
    ],
)
def test_what_is_no_residency_of_the_gpu(line: str) -> None:
    assert rows(sample(1, line)) == []
    assert claim(sample(1, line)) is None


def test_a_sample_without_gpu_lines_is_no_zero() -> None:
    text = sample(1, *BUSY) + sample(2, "CPU Power: 5 mW") + sample(3, *BUSY)
    assert [(r["cycle"], r["util_gpu"], r["time"]) for r in rows(text)] == [(0, 99.35, 1772545501.0), (1, 99.35, 1772545503.0)]


def test_values_stay_with_their_sample() -> None:
    text = sample(1, "GPU HW active residency: 10.00% (1 MHz: 1%)") + sample(
        2, "GPU HW active frequency: 700 MHz", "GPU idle residency: 80.00%"
    )
    assert [(r["util_gpu"], r["sm_clock"]) for r in rows(text)] == [(10, None), (20, 700)]


@pytest.mark.parametrize("wrap", ["# {}", "// {}", "> {}", "    {}", "{}\r", "2026-03-01T10:00:00.000000000Z {}"])
def test_wrapped(wrap: str) -> None:
    text = "".join(wrap.format(x) + "\n" for x in (sample(1, *BUSY) + sample(2, *BUSY)).splitlines())
    assert isinstance(claim(text), Claim)
    assert [r["util_gpu"] for r in rows(text)] == [99.35, 99.35]


def test_excerpts_without_headings() -> None:
    text = "\n".join(BUSY) + "\n" + "\n".join(BUSY).replace("99.35", "12.00").replace("1277", "600") + "\n"
    assert isinstance(claim(text), Claim)
    assert [(r["util_gpu"]) for r in rows(text)] == [99.35, 12]


test_blocks, test_cut, test_garbled, test_noise = line_tests(PARSER, alphabet="GPU HW active residency: 0123456789.%*\n")
