"""Whose command advice names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gpuverdict.engine.analyze import analyze
from gpuverdict.engine.plugins import load_registry
from gpuverdict.engine.report import terminal

PARSERS = load_registry().parsers
OTHERS = [p for p in PARSERS if getattr(p, "records", "")]
RECORDING = "nvidia-smi dmon -s"


def told(folder: Path, *parsers: Any) -> tuple[str, str]:
    """The JSON and the terminal's text for the first samples of these parsers."""
    for parser in parsers:
        sample = parser.samples[0]
        (folder / f"{parser.name}.txt").write_text(sample.text)
    analysis = analyze(folder)
    try:
        return analysis.result.to_json(), terminal.render(analysis.result, None)
    finally:
        analysis.store.close()


@pytest.mark.parametrize("parser", OTHERS, ids=lambda p: str(p.name))
def test_cards_that_nvidia_smi_does_not_know_are_recorded_with_the_tool_at_hand(tmp_path: Path, parser: Any) -> None:
    json, text = told(tmp_path, parser)
    assert parser.records.split(" >")[0].split()[-1] in json and parser.records.split()[0] in text
    assert RECORDING not in json + text


def test_nvidias_cards_are_recorded_with_nvidia_smi_whatever_stands_beside_them(tmp_path: Path) -> None:
    dmon = next(p for p in PARSERS if p.name == "nvidia-smi-dmon")
    json, text = told(tmp_path, OTHERS[0], dmon)
    assert RECORDING in json and RECORDING in text and OTHERS[0].records not in json


def test_without_any_recording_nvidia_smi_is_named(tmp_path: Path) -> None:
    json, _ = told(tmp_path, next(p for p in PARSERS if p.name == "llama-server"))
    assert RECORDING in json


COMPUTE = 'time=2026-06-08T13:06:36.722+02:00 level=INFO source=types.go:32 msg="inference compute" id=0 library={} name=X0 description="{}" total="15.9 GiB"\n'
ACCESS = '[GIN] 2026/06/08 - 13:06:50 | 200 |  6.674368042s |       127.0.0.1 | POST     "/api/chat"\n'
MLX = "Prompt: 50 tokens, 100.000 tokens-per-sec\nGeneration: 201 tokens, 40.200 tokens-per-sec\n"


@pytest.mark.parametrize(
    ("log", "tool"),
    [
        (COMPUTE.format("ROCm", "AMD Radeon RX 9070") + ACCESS, "amd-smi monitor"),
        (COMPUTE.format("Metal", "Apple M2 Max") + ACCESS, "macmon pipe"),
        (MLX, "macmon pipe"),
        (COMPUTE.format("CUDA", "NVIDIA GeForce RTX 3090") + ACCESS, RECORDING),
        (COMPUTE.format("ROCm", "AMD Radeon RX 9070") + COMPUTE.format("CUDA", "NVIDIA A40") + ACCESS, RECORDING),
        (ACCESS, RECORDING),
    ],
)
def test_without_a_recording_the_cards_that_a_server_names_tell_the_tool(tmp_path: Path, log: str, tool: str) -> None:
    (tmp_path / "server.log").write_text(log)
    analysis = analyze(tmp_path)
    try:
        text = analysis.result.to_json()
        assert tool in text and (tool == RECORDING or RECORDING not in text)
    finally:
        analysis.store.close()
