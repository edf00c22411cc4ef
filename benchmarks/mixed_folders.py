"""Two runs in one folder: what is said about the mixture that is said about neither run alone.

    python benchmarks/mixed_folders.py [--pairs N] [--seed N]

Pairs of simulated scenarios are judged apart and together, once in folders that name two machines (`node1/`, `node2/`) and once in folders
that name nothing. A *confirmed* or *ruled out* of the mixture that neither run gives is printed: facts of one run were joined with the load
of the other. Some are right (a table without a log of its own is told apart from a foreign log only where they contradict each other; two
runs on one machine share its cards), so the list is read, not counted. `thin-evidence` speaks of the files themselves and is left out.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "fixtures")]

from simulator.scenarios import SCENARIOS  # noqa: E402
from simulator.score import make  # noqa: E402

FOLDERS = {"machines": ("node1", "node2"), "plain": ("first", "second")}
STRONG = ("confirmed", "ruled-out", "error")


def strong(folder: Path) -> dict[tuple[str, str], str]:
    """(rule, verdict) -> scope and sentence, of everything that is certain."""
    from gpuverdict.engine.analyze import NothingReadable, analyze

    try:
        analysis = analyze([folder])
    except NothingReadable:
        return {}
    found = {(f.rule, f.verdict): f"{f.scope.label}: {f.sentence}" for f in analysis.result.findings if f.verdict in STRONG}
    analysis.store.close()
    return {key: text for key, text in found.items() if key[0] != "thin-evidence"}


def new_together(one: tuple[str, int], other: tuple[str, int], root: Path) -> list[str]:
    """What only the mixture of two scenarios (name, seed) gives, for each way of naming the folders."""
    parts = {name: root / name for name in ("a", "b")}
    for (scenario, seed), folder in zip((one, other), parts.values()):
        make(SCENARIOS[scenario], seed, folder)
    alone = {key for folder in parts.values() for key in strong(folder)}
    out = []
    for kind, names in FOLDERS.items():
        both = root / kind
        for name, folder in zip(names, parts.values()):
            shutil.copytree(folder, both / name)
        out += [f"{kind}: {key[0]} {key[1]}: {text}" for key, text in strong(both).items() if key not in alone]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng, found = random.Random(asked.seed), 0
    for _ in range(asked.pairs):
        one, other = ((name, rng.randrange(1000)) for name in rng.sample(sorted(SCENARIOS), 2))
        with tempfile.TemporaryDirectory() as root:
            lines = new_together(one, other, Path(root))
        found += bool(lines)
        for line in lines:
            print(one, other, line[:300], flush=True)
    print(f"{found} of {asked.pairs} pairs")


if __name__ == "__main__":
    main()
