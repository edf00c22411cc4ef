"""Plugins come in through the same hooks as what ships with the package; one that raises is a line in the report, not a crash."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from gpuverdict.engine import analyze as analyze_module
from gpuverdict.engine import plugins
from gpuverdict.engine.plugins import hookimpl, load_registry
from gpuverdict.engine.testing import check_samples

ROOT = Path(__file__).parent.parent


def example() -> Any:
    path = ROOT / "examples" / "gpuverdict-example" / "gpuverdict_example.py"
    spec = importlib.util.spec_from_file_location("gpuverdict_example", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Raising:
    @hookimpl
    def gpuverdict_parsers(self) -> list[Any]:
        raise RuntimeError("secret text")

    @hookimpl
    def gpuverdict_rules(self) -> list[Any]:
        raise ValueError("secret text")


class BadParser:
    name, api, samples = "bad-parser", 1, ()

    def claims(self, head: Any) -> None:
        raise OSError("secret text")

    def parse(self, source: Any, emit: Any) -> None:
        raise OSError("secret text")


class WithBadParser:
    @hookimpl
    def gpuverdict_parsers(self) -> list[Any]:
        return [BadParser()]


def test_the_example_holds_its_samples() -> None:
    check_samples(example().TINYSERVE)


def log(n: int, waiting: int, running: int = 8) -> str:
    lines = ["2026-09-06T10:00:00Z tinyserve up: max_batch=8"]
    lines += [f"2026-09-06T10:00:{s:02d}Z tinyserve stats: run={running} wait={waiting} tok/s=211.5 kv=12.5%" for s in range(1, n)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("waiting", "running", "verdict"), [(5, 8, "confirmed"), (0, 8, "cannot-tell")])
def test_a_plugin_is_judged_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: int, running: int, verdict: str
) -> None:
    monkeypatch.setattr(analyze_module, "load_registry", lambda: load_registry((example(),)))
    (tmp_path / "server.log").write_text(log(40, waiting, running))
    result = analyze_module.analyze([tmp_path]).result
    found = {f.verdict for f in result.findings if f.rule == "slot-queue"}
    assert verdict in found
    assert ("confirmed" in found) == (verdict == "confirmed")


def test_a_raising_plugin_is_reported_without_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyze_module, "load_registry", lambda: load_registry((Raising(), WithBadParser())))
    (tmp_path / "sweep.md").write_text((ROOT / "fixtures/cases/three-cards/sweep.md").read_text())
    result = analyze_module.analyze([tmp_path]).result
    assert result.findings
    notes = [q["note"] for q in result.quality if q["kind"] == "plugin-failed"]
    assert any("RuntimeError" in n for n in notes) and any("ValueError" in n for n in notes)
    assert "secret text" not in result.to_json()


def test_a_later_plugin_replaces_a_parser_of_the_same_name() -> None:
    class Replacing:
        @hookimpl
        def gpuverdict_parsers(self) -> list[Any]:
            mine = BadParser()
            mine.name = "sweep-table"
            return [mine]

    registry = load_registry((Replacing(),))
    assert [type(p).__name__ for p in registry.parsers if p.name == "sweep-table"] == ["BadParser"]


def test_every_hook_is_documented_and_exercised() -> None:
    hooks = [n for n in vars(plugins.Hooks) if n.startswith("gpuverdict_")]
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert hooks and all(h in text and getattr(plugins.Hooks, h).__doc__ for h in hooks)


def test_hardware_rows_of_a_plugin_reach_the_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hardware:
        @hookimpl
        def gpuverdict_hardware(self) -> list[dict[str, Any]]:
            return [{"name_pattern": "ACME Accelerator 1", "vendor": "ACME", "mem_bw_gbs": 1234.0}]

    monkeypatch.setattr(analyze_module, "load_registry", lambda: load_registry((Hardware(),)))
    (tmp_path / "sweep.md").write_text((ROOT / "fixtures/cases/three-cards/sweep.md").read_text())
    trace = analyze_module.analyze([tmp_path])
    assert trace.sql("SELECT mem_bw_gbs FROM catalog_gpus WHERE vendor = 'ACME'")["mem_bw_gbs"].to_list() == [1234.0]
