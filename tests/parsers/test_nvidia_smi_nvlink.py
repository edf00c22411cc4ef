"""nvidia-smi nvlink: states and counters."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.nvidia_smi_nvlink import PARSER
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


CARD = "GPU {}: NVIDIA H200 (UUID: GPU-12345678-1234-1234-1234-123456789abc)\n"


def counters(tx: int, rx: int, links: int = 2) -> str:
    return CARD.format(0) + "".join(f"\t Link {k}: Data Tx: {tx} KiB\n\t Link {k}: Data Rx: {rx} KiB\n" for k in range(links))


@pytest.mark.parametrize(
    "stamps",
    [
        ("Tue Feb  3 04:05:00 2026", "Tue Feb  3 04:05:02 2026"),
        ("2026-02-03T04:05:00Z", "2026-02-03T04:05:02Z"),
        ("1770091500", "1770091502"),
    ],
)
def test_rates_between_snapshots(stamps: tuple[str, str]) -> None:
    text = f"{stamps[0]}\n{counters(0, 0)}{stamps[1]}\n{counters(1000, 500)}"
    (row,) = rows(text, "gpu_samples")
    assert (row["time"], row["nvlink_tx"], row["nvlink_rx"]) == (1770091502.0, pytest.approx(1.024), pytest.approx(0.512))


def test_no_rate_without_two_moments() -> None:
    assert rows(counters(0, 0) + counters(1000, 500), "gpu_samples") == []
    assert kinds(counters(0, 0) + counters(1000, 500)) == {"counters-without-time": 2}
    one_time = "1770091500\n" + counters(0, 0) + counters(1000, 500)
    assert rows(one_time, "gpu_samples") == []


def test_falling_counters_and_other_links() -> None:
    text = "1770091500\n" + counters(5000, 0) + "1770091502\n" + counters(1000, 500)
    (row,) = rows(text, "gpu_samples")
    assert row["nvlink_tx"] is None and row["nvlink_rx"] is not None and kinds(text) == {"counter-fell": 1}
    assert rows("1770091500\n" + counters(0, 0, 2) + "1770091502\n" + counters(9, 9, 3), "gpu_samples") == []


def test_links() -> None:
    text = CARD.format(3) + "\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n"
    assert [(r["gpu"], r["gb_s"], r["active"]) for r in rows(text)] == [(3, 26.562, True), (3, None, False)]
    assert rows(text[: text.index("562")]) == []


def test_messages() -> None:
    text = "GPU 0: NVIDIA L4 (UUID: GPU-12345678)\nNVML: Unable to retrieve Nvlink information as all links are inActive\n"
    assert isinstance(claim(text), Claim)  # it names the card
    assert isinstance(claim(text.partition("\n")[2]), Refusal)
    assert isinstance(claim("\t Link 0: 25 GB/s\n"), Refusal)
    assert claim("GPU 0: what I call my card\n") is None
    text = CARD.format(0) + "\t Link 0: twenty GB/s\n"
    assert rows_of(PARSER, text)[1].near_miss == 1


def test_names_in_prose_are_no_cards() -> None:
    assert claim("I would buy\nGPU 0: NVIDIA H100 80GB HBM3\nGPU 1: NVIDIA H200\n") is None
    text = "GPU 0: NVIDIA H200\nGPU models and configuration: GPU 0: NVIDIA GeForce RTX 4090\nGPU 1: NVIDIA L4\n\nGPU 2: NVIDIA H200\n"
    found = rows_of(PARSER, text)[0]
    assert isinstance(claim(text), Claim)
    assert [(r["gpu"], r["name"]) for r in found["gpus"]] == [(0, "NVIDIA GeForce RTX 4090"), (1, "NVIDIA L4")]


# ---------------------------------------------------------------- open-ended input

(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(
    PARSER,
    alphabet="GPU Link0123456789:.GB/s<inactive>KiTxRDat\n",
    derived=("gpu", "cycle", "line", "nvlink_rx", "nvlink_tx", "active", "gb_s"),
    twice=False,
)
