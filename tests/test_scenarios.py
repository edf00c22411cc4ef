"""A fast part of the scoreboard: nothing that is not so is confirmed, nothing that is so is ruled out. Misses are listed, not asserted.

`make scoreboard` runs all scenarios with more seeds.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest
from gpuverdict.engine import store

from gpuverdict import analyze

sys.path.insert(0, str(Path(__file__).parent.parent / "fixtures"))

from simulator.bundle import make
from simulator.scenarios import SCENARIOS
from simulator.score import run

FAST = sorted(name for name, scenario in SCENARIOS.items() if scenario.fast)
SEEDS = (0, 4)  # the second one leaves a file out


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FAST)
def test_no_false_verdict(name: str, seed: int, tmp_path: Path) -> None:
    marks = run(SCENARIOS[name], seed, tmp_path / name)[1]
    missed = [f"{m.rule}@{m.scope}: {m.got}" for m in marks if m.kind == "miss"]
    if missed:
        print(f"missed in {name}/{seed}: {', '.join(missed)}")
    wrong = [f"{m.rule} in {m.scope} is {m.got}, right is {m.wanted or 'not that'}: {m.note}" for m in marks if m.kind == "error"]
    assert not wrong, f"{name}, seed {seed}: {SCENARIOS[name].title}\n" + "\n".join(wrong)


def _alike(a: Any, b: Any) -> bool:
    """Equal, but for the order in which fractions were added."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_alike, a, b))
    return bool(a == b)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["CE06", "CE24", "H02", "K09", "L24", "P05", "S03", "S11", "S22", "S31"])
def test_the_plan_of_a_query_changes_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few rows DuckDB plans in another way: what depends on the order of rows then differs."""
    make(SCENARIOS[name], 1, tmp_path / name)
    found = []
    for few in (0, 10**9):
        monkeypatch.setattr(store, "FEW_TO_JOIN", few)
        analysis = analyze([tmp_path / name])
        found.append([finding.model_dump(mode="json") for finding in analysis.findings])
        analysis.store.close()
    assert len(found[0]) > 10
    for many, few_rows in zip(*found, strict=True):
        assert _alike(many, few_rows), f"{many['rule']} in {many['scope']['label']}"
