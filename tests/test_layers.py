"""Arrows point one way: cli -> report -> diagnosis -> judge -> store -> ingest -> contracts. A few lines of `ast` see to it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONTRACTS = {"engine.rule", "engine.line_format", "engine.tables", "engine.parser", "engine.source"}
SHARED = {
    "engine.json_objects",
    "engine.yaml_objects",
    "engine.send",
    "engine.smi_values",
    "engine.streams",
    "engine.prometheus_api",
    "engine.printed_runs",
}
TABLE_READING = {"engine.text_tables", "engine.headers", "engine.cells", "engine.columns", "engine.json_tables"}
# What may be imported at all by each layer of the engine; a module not named here belongs to the ingest layer.
LEVELS = [
    {
        "tables",
        "parser",
        "line_format",
        "rule",
        "logic",
        "phrase",
        "source",
        "privacy",
        "json_objects",
        "yaml_objects",
        "send",
        "smi_values",
    },
    {"collect", "unpack", "filetimes", "recognise", "parse", "given", "catalog", "result"},
    {"store"},
    {"clock", "date_lines", "hosts", "named_steps", "steps", "join", "alignment", "contradictions", "failures", "testing"},
    {"judge"},
    {"diagnosis", "symptoms", "recorders"},
    {"plugins"},
    {"pages"},
    {"analyze", "explain"},
    {"report"},
    {"write"},
    {"cli"},
]
RANK = {name: rank for rank, names in enumerate(LEVELS) for name in names}
HEAVY = {"polars", "duckdb", "altair", "pydantic", "vl_convert", "jinja2", "rich"}


def imports(path: Path, top_only: bool = False) -> list[str]:
    """Dotted names inside the package (`engine.rule`) and outside (`polars`) that a file imports."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_only else list(ast.walk(tree))
    out = []
    for node in nodes:
        if isinstance(node, ast.Import):
            out += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(p for p in (base, node.module or "") if p)
            names = [f"{module}.{alias.name}" if module else alias.name for alias in node.names]
            out += names if not node.module else [module]
    return out


def files(folder: str) -> list[Path]:
    return sorted(p for p in (ROOT / folder).rglob("*.py") if "__pycache__" not in p.parts)


@pytest.mark.parametrize("path", [*files("parsers"), *files("rules")], ids=lambda p: p.name)
def test_parsers_and_rules_import_only_contracts(path: Path) -> None:
    for name in imports(path):
        assert not name.startswith(("parsers", "rules")), f"{path.name} imports {name}"
        if name.startswith("engine"):
            module = ".".join(name.split(".")[:2])
            assert module in CONTRACTS | SHARED | TABLE_READING | {"engine.peel"}, f"{path.name} imports {name}"


@pytest.mark.parametrize(
    "path",
    [
        *files("parsers"),
        *files("rules"),
        *(
            ROOT / "engine" / f"{n}.py"
            for n in ("tables", "parser", "line_format", "rule", "json_objects", "yaml_objects", "send", "smi_values", "cli")
        ),
    ],
    ids=lambda p: p.name,
)
def test_catalogues_contracts_and_cli_are_cheap_to_import(path: Path) -> None:
    heavy = {n.split(".")[0] for n in imports(path, top_only=True)} & HEAVY
    assert not heavy, f"{path.name} imports {heavy} at its top"


@pytest.mark.parametrize("path", files("engine"), ids=lambda p: p.stem)
def test_the_engine_points_one_way(path: Path) -> None:
    parts = path.relative_to(ROOT / "engine").parts
    mine = RANK.get("report" if parts[0] == "report" else path.stem, 1)
    for name in imports(path):
        if name.startswith("engine."):
            other = name.split(".")[1]
            assert RANK.get(other, 1) <= mine, f"{path.name} imports {other}, which is above it"
