"""What a hand-written cell says, and which sign of a column is the decimal one."""

from __future__ import annotations

import pytest
from gpuverdict.engine.cells import decimal_sign, to_number, token


@pytest.mark.parametrize(
    ("digits", "table", "sign"),
    [
        (["16,372", "9.5"], [], "."),
        (["16.372", "9,5"], [], ","),
        (["1.234,5"], [], ","),
        (["689", "1,950", "2,800"], [], "."),
        (["16,372"], [], None),
        (["16,372"], ["1.5"], "."),
        (["16.372"], ["1,5"], ","),
        (["16.372", "500"], [], None),
        (["0.507", "0.061"], [], "."),
        (["1.5", "2,5"], [], None),
        (["1,234,567"], [], "."),
    ],
)
def test_decimal_sign(digits: list[str], table: list[str], sign: str | None) -> None:
    assert decimal_sign(digits, table) == sign


def test_numbers_need_proper_groups() -> None:
    assert to_number("1,234.5", ".") == (1234.5, pytest.approx(0.05))
    assert to_number("12,34", ".") is None
    assert to_number("1.2.3", ".") is None


@pytest.mark.parametrize(
    ("cell", "digits", "why"),
    [
        ("**48**", "48", ""),
        ("104** ⭐", "104", ""),
        ("≈ 54 ⚠", "54", ""),
        ("1_000", "1000", ""),
        ("16 372", "16372", ""),
        ("49.14¹", "49.14", ""),
        ("1.00×", "1.00", "ratio"),
        ("3.7%", "3.7", "percent"),
        ("10-12", "", "range"),
        ("10 – 12", "", "range"),
        ("<1", "", "bound"),
        ("8/8", "8/8", "fraction"),
        ("—", "", "missing"),
        ("n/a", "", "missing"),
        ("OOM (24 GB)", "", "missing"),
        ("failed", "", "missing"),
        ("49 GB/s", "", "unreadable"),
        ("1:22", "", "unreadable"),
        ("-5", "", "unreadable"),
        ("4x9", "", "unreadable"),
    ],
)
def test_cells(cell: str, digits: str, why: str) -> None:
    assert (token(cell).digits, token(cell).why) == (digits, why)
