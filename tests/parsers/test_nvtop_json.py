"""nvtop -s: snapshots, broken JSON, several cards."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Counts, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import Rows, check_counts, check_samples, rows_of, same_rows, values
from gpuverdict.parsers.nvtop_json import PARSER
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


def card(name: str, util: str, more: str = "") -> str:
    return '  {\n   "device_name": "' + name + '",\n   "gpu_util": ' + util + more + "\n  }"


def test_snapshots_are_rounds() -> None:
    one = "[\n" + card("NVIDIA L4", '"5%"') + ",\n" + card("NVIDIA L4", '"6%"') + "\n]\n"
    assert [(r["gpu"], r["cycle"], r["util_gpu"]) for r in rows(one + one)] == [(0, 0, 5), (1, 0, 6), (0, 1, 5), (1, 1, 6)]


def test_processes_are_not_cards() -> None:
    more = ',\n   "processes": [ {"pid": "5", "gpu_util": "88%", "cmdline": "serve --key secret"} ]'
    text = "[\n" + card("NVIDIA L4", "null", more) + ",\n" + card("NVIDIA L4", '"6%"') + "\n]\n"
    assert [(r["gpu"], r["cycle"], r["util_gpu"]) for r in rows(text)] == [(1, 0, 6)]
    assert "secret" not in str(rows_of(PARSER, text)[0])


@pytest.mark.parametrize("value", ["null", '"N/A"', '"1179RPM"', '"-5%"', '"250%"', "5"])
def test_no_value(value: str) -> None:
    text = "[\n" + card("NVIDIA L4", value, ',\n   "temp": "40C"') + "\n]\n"
    assert rows(text)[0]["util_gpu"] is None


def test_not_nvtop() -> None:
    assert claim('{"device_name": "x"}') is None
    assert claim('{"gpu_util": "5%"}') is None
    assert rows("[\n" + card("me@example.org", '"5%"') + "]", "gpus")[0]["name"] is None


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


@given(text=st.text(alphabet='{}[]:,0123456789%MHzC \n"', max_size=300), which=st.integers(0, len(WHOLE) - 1))
@settings(max_examples=40, deadline=None)
def test_noise_never_raises(text: str, which: int) -> None:
    for body in (text, WHOLE[which] + text):
        _, counts = rows_of(PARSER, body)
        check_counts(counts, body.replace("\r", ""), "noise")
        claim(body)
