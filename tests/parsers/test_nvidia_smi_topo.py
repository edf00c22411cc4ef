"""nvidia-smi topo: matrices as written and as pasted."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.nvidia_smi_topo import PARSER
from open_ended import line_tests


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


def test_words_that_lost_the_blank_between_them() -> None:
    text = (
        "GPU0    GPU1    GPU2NIC0    NIC1NIC2    CPU Affinity\nGPU0     X      NV8     NV12SYS     PIXSYS    0-7\n"
        "GPU1    NV8      X      NODE    SYSSYSSYS    0-7\nGPU2    NV12    NODE     X      SYS     SYSSYS    0-7\nNIC0    SYS     SYSSYS      X      SYS\n"
    )
    assert isinstance(claim(text), Claim)
    assert {(r["gpu"], r["peer"]): r["kind"] for r in rows(text)} == {
        (0, 1): "NV8", (0, 2): "NV12", (1, 0): "NV8", (1, 2): "NODE", (2, 0): "NV12", (2, 1): "NODE",
    }  # fmt: skip


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

(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="GPUNIC012XSYNVPIB \t\n|=", derived=("gpu", "peer", "line"))
