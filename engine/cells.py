"""Cells of hand-written tables: the digits a cell holds, its unit or why it holds no number, and the decimal sign of a column.

A cell becomes a `Token`; the digits of one column are read with one decimal sign, decided from the column and, where it says nothing,
from its table.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from .headers import REQ_S, TOK_S

_BLANKS = " \u00a0\u2009\u202f"
_MISSING = re.compile(
    r"(?i)[-–—−.?…/ ]*|n\.? ?/? ?[ad]\.?|nan|none|null|nil|tbd|x|not .{0,20}|did not .{0,20}|dnf|(?:oom|out of mem|"
    r"fail|err|crash|time ?out|skip|inf\b|∞).{0,30}"
)
_NUMBER = re.compile(
    rf"(?P<n>\d{{1,3}}(?:[{_BLANKS}'’_]\d{{3}})+(?:[.,]\d+)?(?![\d.,])|\d[\d.,]*\d|\d|"
    rf"[.,]\d+)(?P<e>[eE][+-]?\d{{1,2}}(?!\d))?\s*(?P<u>.*)"
)
_RANGE = re.compile(r"\d[\d.,]*\s*\w{0,3}\s*(?:-|–|—|−|\bto\b|\bbis\b|\bà\b|\.\.+|…)\s*\d")
_LONG = re.compile(r"(?:(\d+) ?h(?:ours?|rs?)?)? ?(?:(\d+) ?m(?:ins?|inutes?)?)? ?(?:(\d+(?:[.,]\d+)?) ?s(?:ecs?|econds?)?)?")
_CELL_UNITS = {
    "s": ("s", "sec", "secs", "second", "seconds", "sek", "sekunden", "secondes"),
    "ms": ("ms", "msec", "millis", "milliseconds"),
    "us": ("us", "µs", "μs"),
    "min": ("min", "mins", "minutes", "minuten"),
    "x": ("x", "×"),
    "%": ("%", "percent"),
    "k": ("k",),
    "n": (
        *("stream", "streams", "user", "users", "client", "clients", "concurrent", "conc", "slot", "slots", "parallel", "vus", "nutzer"),
        *("req", "reqs", "requests", "request", "tok", "tokens", "token", "utilisateurs"),
        *("concurrent streams", "concurrent requests", "concurrent users"),
    ),
}
_UNIT_OF = {word: unit for unit, words in _CELL_UNITS.items() for word in words}


@dataclass(frozen=True)
class Token:
    """The digits of a cell before their separators are understood.

    why: "" a number; missing (nothing was measured), bound, range, ratio, percent, fraction (no plain number); unreadable.
    """

    digits: str = ""
    unit: str = ""
    why: str = ""
    exponent: int = 0
    value: float | None = None  # of a duration such as 1m22s


def _strip(cell: str) -> str:
    text = re.sub(r"<sup>.{0,8}?</sup>|\[\^?\w{1,3}\]|\^\w$|<[^<>]{0,40}>", "", cell.replace("\\", ""))
    text = "".join(ch for ch in text if unicodedata.category(ch) not in ("So", "Cf", "Mn", "Co", "No", "Sk") or ch == "^")
    text = text.strip().strip("*_`\"' \t†‡§").strip()
    return re.sub(r"^(?:[~≈∼≃]|ca\.? |approx\.? |about )\s*|\s*[~≈]$", "", text).replace("*", "").strip()


@lru_cache(maxsize=16384)
def token(cell: str) -> Token:
    """The number in a cell, or why there is none. `±` spreads, footnotes, emphasis and remarks in brackets are set aside."""
    if len(cell) > 120:
        return Token(why="unreadable")
    text = re.split(r"\s*(?:±|\+/-|\+-)", _strip(cell))[0].strip()
    text = re.sub(r"^(?:[a-z]{1,11} ?=|[x×]) ?(?=\d)", "", text, flags=re.IGNORECASE)
    if _MISSING.fullmatch(text):
        return Token(why="missing")
    if text[0] in "<>≥≤":
        return Token(why="bound")
    if fraction := re.fullmatch(r"(\d+) ?/ ?(\d+)(?:\s*\(.*\))?", text):
        return Token(f"{fraction[1]}/{fraction[2]}", why="fraction")
    if _RANGE.match(text) and not re.match(rf"\d{{1,3}}(?:[{_BLANKS}]\d{{3}})+$", text):
        return Token(why="range")
    long = _LONG.fullmatch(text)
    if long and sum(g is not None for g in long.groups()) >= 2:
        hours, minutes, seconds = (float((g or "0").replace(",", ".")) for g in long.groups())
        return Token(text, "s", value=hours * 3600 + minutes * 60 + seconds)
    return _number(text)


def _number(text: str) -> Token:
    found = _NUMBER.fullmatch(text.lstrip("+"))
    if not found:
        return Token(why="unreadable")
    tail = re.sub(r"\s*(?:[(\[←<⬅!†‡§#→].*)$", "", found["u"]).strip().lower()
    digits = re.sub(rf"[{_BLANKS}'’_]", "", found["n"])
    power = int(found["e"][1:]) if found["e"] else 0
    unit = _UNIT_OF.get(tail, "")
    if not tail:
        return Token(digits, exponent=power)
    if unit == "k" or (tail[0] == "k" and TOK_S.fullmatch(tail[1:].strip())):
        return Token(digits, "tok/s" if tail[1:] else "", exponent=power + 3)
    if unit in ("x", "%"):
        return Token(digits, unit, why="ratio" if unit == "x" else "percent")
    if TOK_S.match(tail) and len(tail) < 24:
        return Token(digits, "tok/s", exponent=power)
    if REQ_S.fullmatch(tail):
        return Token(digits, "req/s", exponent=power)
    return Token(digits, unit, exponent=power) if unit else Token(why="unreadable")


def _evidence(digits: str) -> str:
    """ "." or "," where the digits show their decimal sign, "?." or "?," where one sign stands before exactly three, "" without a sign."""
    signs = [ch for ch in digits if ch in ".,"]
    if not signs:
        return ""
    if len(set(signs)) == 2:
        return signs[-1] if signs.count(signs[-1]) == 1 else "!"
    other = "," if signs[0] == "." else "."
    if len(signs) > 1:
        return other
    head, tail = digits.split(signs[0])
    plain_decimal = len(tail) != 3 or head in ("", "0") or len(head) > 3
    return signs[0] if plain_decimal else "?" + signs[0]


def decimal_sign(digits: Sequence[str], table: Sequence[str] = ()) -> str | None:
    """The decimal sign of a column; None where it cannot be told. `table` holds the digits of the whole table.

    A lone sign before exactly three digits decides nothing by itself. Then the rest of the table decides; else a comma groups
    thousands where plain whole numbers under 1000 stand beside it, and a point is decimal unless plain numbers of three digits do.
    """
    seen = [_evidence(d) for d in digits]
    sure = {s for s in seen if s in (".", ",", "!")}
    if sure:
        return sure.pop() if len(sure) == 1 and "!" not in sure else None
    open_ones = {s for s in seen if s}
    if not open_ones:
        return "."
    around = {s for s in map(_evidence, table) if s in (".", ",")}
    if len(around) == 1:
        return around.pop()
    whole = [d for d, s in zip(digits, seen) if not s]
    if around or len(open_ones) > 1:
        return None
    if open_ones == {"?,"}:
        return "." if whole else None
    return None if any(len(d) >= 3 for d in whole) else "."


def to_number(digits: str, sign: str, exponent: int = 0) -> tuple[float, float] | None:
    """(value, half a unit of its last printed place); None where the grouping does not fit the decimal sign."""
    group = "," if sign == "." else "."
    head, _, tail = digits.partition(sign)
    if group in tail or sign in tail or (group in head and not re.fullmatch(rf"\d{{1,3}}(?:\{group}\d{{3}})+", head)):
        return None
    try:
        return float(f"{head.replace(group, '') or '0'}.{tail or '0'}e{exponent}"), 0.5 * 10.0 ** (exponent - len(tail))
    except (ValueError, OverflowError):
        return None
