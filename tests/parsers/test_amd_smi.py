"""amd-smi monitor and metric."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Counts, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import Rows, check_counts, check_samples, rows_of, same_rows, values
from gpuverdict.parsers.amd_smi import PARSER
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


HEAD = "GPU  POWER  GPU_TEMP  GFX_UTIL  GFX_CLOCK\n"


def test_rounds() -> None:
    text = HEAD + "  0  199 W    103 °C      99 %   1920 MHz\n  1   99 W    N/A      N/A   120 MHz\n"
    got = rows(text + text[len(HEAD) :])
    assert [(r["gpu"], r["cycle"], r["power_w"], r["util_gpu"]) for r in got] == [
        (0, 0, 199, 99),
        (1, 0, 99, None),
        (0, 1, 199, 99),
        (1, 1, 99, None),
    ]


def test_timestamp_column() -> None:
    text = "TIMESTAMP    GPU  POWER  GFX%\n1770091506   0  199 W   99 %\n1770091508   0  199 W   98 %\n"
    assert [(r["time"], r["cycle"]) for r in rows(text)] == [(1770091506.0, 0), (1770091508.0, 1)]
    assert rows(text, "clocks")[0]["kind"] == "utc" and rows(text, "clocks")[0]["interval_s"] == 2


def test_processes_are_not_cards() -> None:
    text = HEAD + "  0  199 W    103 °C      99 %   1920 MHz\n\nPROCESS INFO:\nGPU   NAME   PID  GFX  ENC\n  1  serve  77  5  5\n"
    assert [r["gpu"] for r in rows(text)] == [0]


def test_metric_lists() -> None:
    head = "timestamp,gpu,gfx_activity,vcn_activity,socket_power\n"
    text = head + "1770091506,0,98,['N/A', 5],712\n1770091506,1,7,\"[1, 2]\",99\n"
    assert [(r["gpu"], r["util_gpu"], r["power_w"]) for r in rows(text)] == [(0, 98, 712), (1, 7, 99)]


def test_rows_that_do_not_fit() -> None:
    found, counts = rows_of(PARSER, HEAD + "  0  199 W    103 °C\n")
    assert "gpu_samples" not in found and counts.near_miss == 1
    cut = HEAD + "  0  199 W    103 °C      99 %   1920 MHz\n  0  199 W    103 °C      99 %   19"
    assert len(rows(cut)) == 1


def test_not_amd_smi() -> None:
    assert claim("GPU  Temp   AvgPwr\n0 5 6\n") is None
    assert isinstance(claim(HEAD), Refusal)
    assert rows(HEAD + "  0  199 W    103 °C      199 %   1920 MHz\n")[0]["util_gpu"] is None


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


@given(text=st.text(alphabet="GPU POWER0123456789 %W°CMHz,N/A\n", max_size=300), which=st.integers(0, len(WHOLE) - 1))
@settings(max_examples=40, deadline=None)
def test_noise_never_raises(text: str, which: int) -> None:
    for body in (text, WHOLE[which] + text):
        _, counts = rows_of(PARSER, body)
        check_counts(counts, body.replace("\r", ""), "noise")
        claim(body)
