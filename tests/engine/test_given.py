"""Stated facts: typed, located, and refused with the nearest known one."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpuverdict.engine.given import GivenError, read_given


def test_a_file_gives_facts_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "gpuverdict.toml"
    file.write_text('split = "layer"\n\n[model]\nlayers = 45\n\n[during]\n"dmon.txt" = "c=1"\n\n[offset]\n"smi.csv" = -7200\n')
    given = read_given(file)
    assert given.facts == {"split": "layer", "model.layers": 45.0}
    assert given.lines["split"] == 1 and given.lines["model.layers"] == 4
    assert given.during == {"dmon.txt": "c=1"} and given.offset == {"smi.csv": -7200.0}


def test_an_option_overrides_the_file(tmp_path: Path) -> None:
    file = tmp_path / "gpuverdict.toml"
    file.write_text('split = "layer"\n')
    assert read_given(file, ["split=tensor", "slots=4"]).facts == {"split": "tensor", "slots": 4.0}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("splt=layer", "did you mean split"),
        ("split=layers", "must be one of layer, row"),
        ("slots=four", "must be a number"),
        ("slots=-4", "must be a positive number"),
        ("slots=nan", "must be a positive number"),
        ("slots", "write key=value"),
        ("model.param_total_b=3", "did you mean model.params_total_b"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_advice(option: str, message: str) -> None:
    with pytest.raises(GivenError, match=message):
        read_given(None, [option])


@pytest.mark.parametrize("content", ["split = ", "split = 'layer", "\xff\xfe", "[model\nlayers=3"])
def test_a_broken_file_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "gpuverdict.toml"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(GivenError, match=r"gpuverdict\.toml"):
        read_given(file)
