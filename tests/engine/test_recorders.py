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
