"""nvitop -1: boxes, units, rounds."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Counts, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import Rows, check_counts, check_samples, rows_of, same_rows, values
from gpuverdict.parsers.nvitop import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st


def rows(text: str | bytes, table: str = "gpu_samples") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def kinds(text: str) -> dict[str, int]:
    return {r["kind"]: r["n"] for r in rows_of(PARSER, text)[0].get("quality", [])}


def claim(text: str | bytes, name: str = "sample.txt") -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text, name).head())


def test_samples() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(claim(sample.text), Claim)


def screen(bar: str = "│", used: str = "1.5GiB", util: str = "7%") -> str:
    return (
        "Tue Feb  3 04:05:06 2026\n"
        f"{bar} NVITOP 1.4.2       Driver Version: 550.90.12      CUDA Driver Version: 12.4 {bar}\n"
        f"{bar}   0  H800                Off  {bar} 00000000:18:00.0 Off {bar} Disabled           0 {bar} MEM: 0.0% {bar}\n"
        f"{bar} N/A   36C    P0    85W / 700W {bar}   {used} / 79.65GiB {bar}      {util}      Default {bar} UTL: 0% {bar}\n"
    )


@pytest.mark.parametrize("bar", ["│", "|", "â”‚", "\ufffd\ufffd\ufffd"])
def test_bars(bar: str) -> None:
    (row,) = rows(screen(bar))
    assert (row["util_gpu"], row["mem_used"], row["power_w"], row["power_limit_w"], row["time"]) == (7, 1536, 85, 700, 1770091506.0)
    assert isinstance(claim(screen(bar)), Claim)


def test_rounds_and_unknowns() -> None:
    assert [r["cycle"] for r in rows(screen() * 2)] == [0, 1]
    assert rows(screen(util="N/A"))[0]["util_gpu"] is None
    assert rows(screen(used="N/A"))[0]["mem_used"] is None


def test_a_card_needs_its_values() -> None:
    lines = screen().splitlines(keepends=True)
    assert rows("".join(lines[:3]) + "something\n" + lines[3]) == []
    assert isinstance(claim("".join(lines[:2]) + "│ 0 │ 5% │\n"), Refusal)
    assert claim(screen().replace("NVITOP", "NVIDIA-SMI")) is None


def test_shares() -> None:
    got = claim("hello world\n" + screen())
    assert isinstance(got, Claim) and got.shares


# ---------------------------------------------------------------- open-ended input

WHOLE = [sample.text for sample in PARSER.samples]
DERIVED = ("cycle", "gpu", "line")  # numbers of rounds and cards, which may differ when lines are missing


def blocked(text: str, lines: int) -> tuple[Rows, Counts]:
    """Rows and counts of a source that hands out small blocks of whole lines."""
    source = Source.from_text(text)
    parts = text.splitlines(keepends=True)

    class Blocks:
        name, size, mtime, mtime_kind, mtime_resolution_s = "x", None, None, "filesystem", None
        head, open = source.head, source.open

        def blocks(self, size: int = 0) -> Any:
            for k in range(0, len(parts), lines):
                yield k + 1, "".join(parts[k : k + lines])

    out: Rows = {}
    counts = PARSER.parse(Blocks(), lambda table, frame: out.setdefault(table, []).extend(frame.to_dicts()))  # type: ignore[arg-type]
    return out, counts


def plain(found: Rows) -> Rows:
    return {t: sorted(({k: v for k, v in r.items() if v is not None} for r in rs), key=str) for t, rs in found.items() if t != "quality"}


@pytest.mark.parametrize("lines", [1, 2, 3, 7])
def test_any_block_size_gives_the_same(lines: int) -> None:
    for text in WHOLE:
        text = text + text
        found, counts = blocked(text, lines)
        whole, all_counts = blocked(text, 100_000)
        assert same_rows(plain(whole), plain(found)) is None, same_rows(plain(whole), plain(found))
        assert (counts.matched, counts.noise, counts.near_miss, counts.other) == (
            all_counts.matched,
            all_counts.noise,
            all_counts.near_miss,
            all_counts.other,
        )


@given(which=st.integers(0, len(WHOLE) - 1), share=st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_any_cut_invents_nothing(which: int, share: float) -> None:
    text = WHOLE[which]
    cut = text[: int(share * len(text))]
    found, counts = rows_of(PARSER, cut)
    check_counts(counts, cut, "cut")
    invented = {v for v in values(found) - values(rows_of(PARSER, text)[0]) if v[1] not in DERIVED}
    assert not invented, invented


@given(
    which=st.integers(0, len(WHOLE) - 1),
    share=st.floats(0, 1),
    junk=st.sampled_from(["\x00", "x", "\ufffd", "^C", "\n", "|", "\x1b[0m", ",", '"']),
)
@settings(max_examples=60, deadline=None)
def test_any_garbled_character_raises_nothing(which: int, share: float, junk: str) -> None:
    text = WHOLE[which]
    at = int(share * (len(text) - 1))
    text = text[:at] + junk + text[at + 1 :]
    _, counts = rows_of(PARSER, text)
    check_counts(counts, text.replace("\x00", ""), "garbled")
    claim(text)


@given(text=st.text(alphabet="│| 0123456789%WGiBCP/NA:.\n", max_size=300), which=st.integers(0, len(WHOLE) - 1))
@settings(max_examples=40, deadline=None)
def test_noise_never_raises(text: str, which: int) -> None:
    for body in (text, WHOLE[which] + text):
        _, counts = rows_of(PARSER, body)
        check_counts(counts, body.replace("\r", ""), "noise")
        claim(body)
