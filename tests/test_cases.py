"""Label, don't snapshot: every folder of fixtures/cases says what must come out of it, what must not, and how it degrades."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from gpuverdict.engine.analyze import analyze
from gpuverdict.engine.result import Result

CASES = Path(__file__).parent.parent / "fixtures" / "cases"
NAMES = sorted(p.parent.name for p in CASES.glob("*/label.toml"))


def label(name: str) -> dict[str, Any]:
    return tomllib.loads((CASES / name / "label.toml").read_text())


def variants() -> list[tuple[str, int]]:
    return [(name, number) for name in NAMES for number in range(len(label(name).get("without", [])))]


def matching(result: Result, rule: str, scope: str) -> list[Any]:
    return [f for f in result.findings if f.rule == rule and scope in ("*", f.scope.label)]


def check_expect(result: Result, wanted: dict[str, Any]) -> None:
    found = matching(result, wanted["rule"], wanted["scope"])
    verdicts = [(f.scope.label, f.verdict, f.because) for f in found]
    assert any(f.verdict == wanted["verdict"] for f in found), f"{wanted}: got {verdicts}"
    for finding in found:
        if finding.verdict != wanted["verdict"]:
            continue
        for stated in wanted.get("given", []):
            assert stated in finding.given
        for fact, (low, high) in wanted.get("numbers", {}).items():
            value = finding.numbers[fact]
            ends = value if isinstance(value, list) else [value, value]
            assert low <= ends[0] and ends[1] <= high, f"{wanted['rule']} {fact} = {value}, expected within {low}..{high}"


@pytest.mark.parametrize("name", NAMES)
def test_case_gives_what_its_label_says(name: str) -> None:
    wanted = label(name)
    result = analyze([CASES / name]).result
    for one in wanted.get("expect", []):
        check_expect(result, one)
    for one in wanted.get("cannot_tell", []):
        check_expect(result, {**one, "verdict": "cannot-tell"})
    for one in wanted.get("must_not", []):
        bad = [f for f in matching(result, one["rule"], one["scope"]) if f.verdict == one["verdict"]]
        assert not bad, f"must not come out: {[(f.scope.label, f.sentence) for f in bad]}"
    check_primary(result, wanted)


def check_primary(result: Result, wanted: dict[str, Any]) -> None:
    if wanted["primary"] == "undetermined":
        assert result.primary.rule is None and result.primary.verdict == "undetermined"
    else:
        assert (result.primary.rule, result.primary.scope) == (wanted["primary"]["rule"], wanted["primary"]["scope"])
    for one in wanted.get("primaries", []):
        primary = next(p for p in result.primaries if p.scope == one["scope"])
        for question in ("throughput", "speed"):
            if question in one:
                assert getattr(primary, question).rule == one[question]
        if "gain" in one:
            low, high = one["gain"]
            assert primary.throughput.gain is not None
            assert low <= primary.throughput.gain[0] <= primary.throughput.gain[1] <= high


@pytest.mark.parametrize(("name", "number"), variants())
def test_case_degrades_as_its_label_says(name: str, number: int, tmp_path: Path) -> None:
    variant = label(name)["without"][number]
    shutil.copytree(CASES / name, tmp_path / "case")
    for dropped in variant.get("drop", []):
        (tmp_path / "case" / dropped).unlink()
    for cut, lines in variant.get("cut", {}).items():
        kept = (tmp_path / "case" / cut).read_text().splitlines(keepends=True)[:lines]
        (tmp_path / "case" / cut).write_text("".join(kept))
    result = analyze([tmp_path / "case"], given=tuple(variant.get("given", []))).result
    for one in variant["expect"]:
        check_expect(result, one)
