"""nvidia-smi topo: matrices as written and as pasted."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Counts, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import Rows, check_counts, check_samples, rows_of, same_rows, values
from gpuverdict.parsers.nvidia_smi_topo import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st


def rows(text: str | bytes, table: str = "gpu_links") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def kinds(text: str) -> dict[str, int]:
    return {r["kind"]: r["n"] for r in rows_of(PARSER, text)[0].get("quality", [])}


def claim(text: str | bytes, name: str = "sample.txt") -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text, name).head())


def test_samples() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(claim(sample.text), Claim)


MATRIX = "        GPU0    GPU1    CPU Affinity\nGPU0     X      {a}     0-7\nGPU1    {b}      X      0-7\n"


@pytest.mark.parametrize("word", ["NV12", "NV4", "PIX", "PXB", "PHB", "NODE", "SYS"])
def test_words(word: str) -> None:
    assert [(r["gpu"], r["peer"], r["kind"]) for r in rows(MATRIX.format(a=word, b=word))] == [(0, 1, word), (1, 0, word)]


def test_markdown_and_hosts() -> None:
    md = "|      | GPU0 | GPU1 | CPU Affinity |\n|---|---|---|---|\n| GPU0 | X | NV4 | 0-7 |\n| GPU1 | NV4 | X | 0-7 |\n"
    assert [r["kind"] for r in rows(md)] == ["NV4", "NV4"] and isinstance(claim(md), Claim)
    host = "".join(f"node-0 out: {x}\n" for x in MATRIX.format(a="SYS", b="SYS").splitlines())
    assert len(rows(host)) == 2


def test_moved_cells_are_refused() -> None:
    found, counts = rows_of(PARSER, "        GPU0    GPU1\nGPU0    NV4      X\nGPU1    NV4      X\n")
    assert [r["gpu"] for r in found["gpu_links"]] == [1] and counts.near_miss == 1


def test_cut_word_at_the_end() -> None:
    text = MATRIX.format(a="NV12", b="NV12")
    cut = text[: text.index("NV12") + 3]
    assert rows(cut) == []


def test_two_matrices_disagree() -> None:
    assert kinds(MATRIX.format(a="NV4", b="NV4") + "\n" + MATRIX.format(a="SYS", b="NV4"))["links-disagree"] == 1
    assert kinds(MATRIX.format(a="NV4", b="NV4") * 2) == {}


def test_one_card() -> None:
    text = "\tGPU0\tCPU Affinity\nGPU0\t X \t0-7\n"
    assert rows(text) == [] and kinds(text) == {"single-card": 1} and isinstance(claim(text), Claim)


def test_inside_a_report() -> None:
    got = claim("GPU models: 2x L4\n" + MATRIX.format(a="SYS", b="SYS") + "\nvLLM Version: 0.1\n")
    assert isinstance(got, Claim) and got.shares
    assert claim("GPU0 is slow\nGPU0 X\n") is None


# ---------------------------------------------------------------- open-ended input

WHOLE = [sample.text for sample in PARSER.samples]
DERIVED = ("gpu", "peer", "line")  # numbers of rounds and cards, which may differ when lines are missing


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


@given(text=st.text(alphabet="GPUNIC012XSYNVPIB \t\n|=", max_size=300), which=st.integers(0, len(WHOLE) - 1))
@settings(max_examples=40, deadline=None)
def test_noise_never_raises(text: str, which: int) -> None:
    for body in (text, WHOLE[which] + text):
        _, counts = rows_of(PARSER, body)
        check_counts(counts, body.replace("\r", ""), "noise")
        claim(body)
