"""dcgmi dmon: headers, entities, rounds."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.dcgmi_dmon import PARSER
from open_ended import line_tests


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


def text_of(names: str, *lines: str) -> str:
    return f"#Entity   {names}\nID\n" + "".join(x + "\n" for x in lines)


def test_rounds_rising_and_falling() -> None:
    up = text_of("SMACT", "GPU 0 0.1", "GPU 1 0.2", "GPU 0 0.3", "GPU 1 0.4")
    down = text_of("SMACT", "GPU 1 0.1", "GPU 0 0.2", "GPU 1 0.3", "GPU 0 0.4")
    one = text_of("SMACT", "GPU 3 0.1", "GPU 3 0.2")
    assert [(r["gpu"], r["cycle"]) for r in rows(up)] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert [(r["gpu"], r["cycle"]) for r in rows(down)] == [(1, 0), (0, 0), (1, 1), (0, 1)]
    assert [(r["gpu"], r["cycle"]) for r in rows(one)] == [(3, 0), (3, 1)]


def test_instances_are_never_cards() -> None:
    text = text_of("GPUTL  DRAMA", "GPU-I 0 50 0.5", "GPU-CI 0 60 0.6", "Switch 0 1 0.1")
    assert rows(text) == [] and kinds(text) == {"mig-instance-rows": 2, "other-entities": 1, "no-rows": 1}


@pytest.mark.parametrize("cell", ["N/A", "9223372036854775794", "140737488355328.000", "1.250", "-"])
def test_no_value(cell: str) -> None:
    (row,) = rows(text_of("SMACT GPUTL", f"GPU 0 {cell} 7"))
    assert row["sm_active"] is None and row["util_gpu"] == 7


def test_rates_and_probes() -> None:
    (row,) = rows("$ dcgmi dmon -e 1009 -d 2000\n" + text_of("PCITX TXTPT NVLRX", "GPU 0 5000000 77 1000000"))
    assert (row["pcie_tx"], row["nvlink_rx"], row["pcie_probe_s"]) == (5, 1, 2)
    (row,) = rows(text_of("TXTPT", "GPU 0 77000"))
    assert (row["pcie_tx"], row["pcie_probe_s"]) == (77, 0.02)
    (row,) = rows(text_of("PCIRX", "GPU 0 77000000"))
    assert (row["pcie_rx"], row["pcie_probe_s"]) == (77, None)


def test_header_in_the_middle_and_other_fields() -> None:
    text = text_of("SMACT", "GPU 0 0.1") + text_of("POWER TMPTR DVCCTR", "GPU 0 300.5 60 4")
    a, b = rows(text)
    assert (a["sm_active"], a.get("power_w")) == (0.1, None) and (b["power_w"], b["temp"], b["event_reasons"]) == (300.5, 60, 4)


def test_rows_that_do_not_fit() -> None:
    found, counts = rows_of(PARSER, text_of("SMACT DRAMA", "GPU 0 0.1", "GPU 0 0.1 x"))
    assert "gpu_samples" not in found and counts.near_miss == 2
    assert rows(text_of("SMACT GPUTL", "GPU 0 0.1 97").rstrip("\n"))[0]["util_gpu"] is None


def test_refusals() -> None:
    assert isinstance(claim("GPU 0 0.1 0.2\nGPU 0 0.1 0.2\n"), Refusal)
    got = claim(text_of("XIDER", "GPU 0 0"))
    assert isinstance(got, Refusal) and "-e" in got.missing
    assert claim("# gpu sm mem\n# Idx % %\n 0 1 2\n") is None
    shared = claim("starting\n" + text_of("SMACT", "GPU 0 0.1"))
    assert isinstance(shared, Claim) and shared.shares


# ---------------------------------------------------------------- open-ended input

(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="#Entity GPU-I0123456789.NA/SMACT\n ", derived=("cycle", "gpu", "line", "pcie_probe_s"))
