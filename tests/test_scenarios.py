"""A fast part of the scoreboard: nothing that is not so is confirmed, nothing that is so is ruled out. Misses are listed, not asserted.

`make scoreboard` runs all scenarios with more seeds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "fixtures"))

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
