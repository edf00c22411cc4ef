"""rocm-smi: table, JSON, CSV."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Counts, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import Rows, check_counts, check_samples, rows_of, same_rows, values
from gpuverdict.parsers.rocm_smi import PARSER
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


HEAD = "GPU  Temp   AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n"
ROW = "{g}    47.0c  {p}  800Mhz  1600Mhz  0%   auto  560.0W    80%   {u}\n"


def test_rounds() -> None:
    one = HEAD + ROW.format(g=0, p="91.0W", u="5%") + ROW.format(g=1, p="N/A", u="N/A")
    got = rows(one + one)
    assert [(r["gpu"], r["cycle"], r["util_gpu"], r["power_w"]) for r in got] == [
        (0, 0, 5, 91),
        (1, 0, None, None),
        (0, 1, 5, 91),
        (1, 1, None, None),
    ]


def test_hosts_between_each_other() -> None:
    one = (HEAD + ROW.format(g=0, p="91.0W", u="5%")).splitlines()
    text = "".join(f"a: {x}\nb: {x}\n" for x in one)
    assert [(r["host"], r["gpu"], r["cycle"]) for r in rows(text)] == [("a", 0, 0), ("b", 0, 0)]


def test_rows_need_their_header() -> None:
    assert rows(ROW.format(g=0, p="91.0W", u="5%")) == []
    old = "GPU   Temp    AvgPwr   SCLK     PCLK           Fan    Perf   SCLK OD\n"
    assert claim(old + ROW.format(g=0, p="91.0W", u="5%")) is None


def test_cut_row() -> None:
    text = HEAD + ROW.format(g=0, p="91.0W", u="55%")
    assert rows(text.rstrip("\n"))[0]["util_gpu"] == 55
    assert rows(text.rstrip("\n")[:-1]) == []


def test_json_subsets_and_renames() -> None:
    text = (
        '{"card3": {"GPU use (%)": "55", "Current Socket Graphics Package Power (W)": "0.0",'
        ' "Temperature (Sensor junction) (C)": "44.0"}}\n'
    )
    (row,) = rows(text)
    assert (row["gpu"], row["util_gpu"], row["power_w"], row["temp"]) == (3, 55, None, 44) and kinds(text) == {"power-implausible": 1}
    assert [r["cycle"] for r in rows(text * 2)] == [0, 1]
    assert claim('{"card0": {"title": "x"}}') is None


def test_watch_is_refused() -> None:
    got = claim("Every 1.0s: rocm-smi   box: Tue Feb 10 10:16:32 2026 GPU  Temp 53.0c\n")
    assert isinstance(got, Refusal) and "watch" in got.missing


def test_csv_rows_that_do_not_fit() -> None:
    text = "device,GPU use (%)\ncard0,5\ncard1,5,6\ncard2,x\n"
    assert [(r["gpu"], r["util_gpu"]) for r in rows(text)] == [(0, 5)] and rows_of(PARSER, text)[1].near_miss == 1


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
        text = text
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


@given(text=st.text(alphabet='GPU Temp0123456789.cWMhz%\n:auto{}"', max_size=300), which=st.integers(0, len(WHOLE) - 1))
@settings(max_examples=40, deadline=None)
def test_noise_never_raises(text: str, which: int) -> None:
    for body in (text, WHOLE[which] + text):
        _, counts = rows_of(PARSER, body)
        check_counts(counts, body.replace("\r", ""), "noise")
        claim(body)
