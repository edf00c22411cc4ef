"""Documentation that can go stale is checked: rules, parsers, tables, commands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from gpuverdict.engine import pages
from gpuverdict.engine.cli import main
from gpuverdict.engine.judge import fact_names
from gpuverdict.engine.line_format import LineFormat
from gpuverdict.engine.logic import Atom
from gpuverdict.engine.phrase import names_in
from gpuverdict.engine.plugins import load_registry
from gpuverdict.engine.testing import check_samples

ROOT = Path(__file__).parent.parent
REGISTRY = load_registry()
SECTIONS = ("What it finds", "Why it matters", "How it decides", "Known problems")


def test_everything_loads() -> None:
    assert not REGISTRY.problems
    assert {p.name.replace("-", "_") for p in REGISTRY.parsers} == {p.stem for p in (ROOT / "parsers").glob("[!_]*.py")}
    assert {r.id.replace("-", "_") for r in REGISTRY.rules} == {p.stem for p in (ROOT / "rules").glob("[!_]*.py")}


@pytest.mark.parametrize("rule", REGISTRY.rules, ids=lambda r: r.id)
def test_a_rule_has_its_page_and_explains_itself(rule) -> None:  # type: ignore[no-untyped-def]
    doc = pages.module_doc(rule)
    places = [doc.index(section) for section in SECTIONS]
    assert places == sorted(places)
    assert rule.question.endswith("?") and rule.means and rule.remedy and rule.not_a_remedy and rule.about
    for limit in rule.limits.values():
        assert limit.why and limit.unit
    for route in (*rule.confirmed, *rule.ruled_out, *rule.fits, *rule.impossible):
        assert route.says, route.name


@pytest.mark.parametrize("rule", REGISTRY.rules, ids=lambda r: r.id)
def test_a_rule_says_how_to_record_every_fact_it_decides_on(rule) -> None:  # type: ignore[no-untyped-def]
    routes = (*rule.confirmed, *rule.ruled_out, *rule.fits, *rule.impossible)
    facts = {n for r in routes for text in r.when for n in Atom.parse(text).names if n not in rule.limits}
    assert facts <= set(rule.collect) | {"thin"}, f"no collect for {sorted(facts - set(rule.collect))}"


@pytest.mark.parametrize("rule", REGISTRY.rules, ids=lambda r: r.id)
def test_a_rule_builds_on_an_empty_trace_with_every_name_it_prints(rule) -> None:  # type: ignore[no-untyped-def]
    from gpuverdict.engine.judge import check_rule
    from gpuverdict.engine.testing import empty_trace

    store = empty_trace()
    columns = [row[0] for row in store.con.execute(f"DESCRIBE {rule.facts}").fetchall()]
    check_rule(rule, columns)
    known = set(fact_names(columns))
    for route in (*rule.confirmed, *rule.ruled_out, *rule.fits, *rule.impossible):
        assert set(names_in(route.says)) <= known, route.name
    for text in (rule.remedy, *(e.command for e in rule.next), *(r.settle for r in rule.rivals.values())):
        assert set(names_in(text)) <= known


@pytest.mark.parametrize("parser", REGISTRY.parsers, ids=lambda p: p.name)
def test_a_parser_has_its_page_and_its_samples_hold(parser) -> None:  # type: ignore[no-untyped-def]
    assert len(pages.module_doc(parser)) > 200
    assert len({s.versions for s in parser.samples}) >= 2, "samples from several versions are mandatory"
    if not isinstance(parser, LineFormat):  # a line format has them in its own tests: next test
        check_samples(parser)


def test_the_samples_of_every_line_format_are_checked_by_its_own_tests() -> None:
    for parser in REGISTRY.parsers:
        if isinstance(parser, LineFormat):
            module = ROOT / "tests" / "parsers" / f"test_{parser.name.replace('-', '_')}.py"
            assert re.search(r"check_(?:conformance|samples)\(", module.read_text()), module.name


def test_every_command_has_help_and_is_in_the_readme_or_docs() -> None:
    text = (ROOT / "README.md").read_text() + "".join(p.read_text() for p in (ROOT / "docs").glob("*.md"))
    for name, command in main.commands.items():
        assert command.help, name
        assert f"gpuverdict {name}" in text, f"{name} is not documented"


def test_the_readme_quotes_the_real_first_sentence() -> None:
    from gpuverdict.engine.analyze import analyze

    sentence = analyze([ROOT / "fixtures/cases/three-cards"]).result.primary.sentence
    quoted = " ".join(re.findall(r"^> (.*)$", (ROOT / "README.md").read_text(), re.M))
    assert quoted and sentence.startswith(quoted[: quoted.rindex(".")])


def test_no_machine_paths_in_tracked_text() -> None:
    import subprocess

    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    root = "/" + "work" + "/"
    for name in names:
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".txt", ".sql", ".j2", ".css", ""} and path.is_file() and not path.is_symlink():
            assert root not in path.read_text(errors="replace"), name


def test_the_generated_pages_are_not_stale() -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec and spec.loader
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert generate.COLUMNS.read_text() == generate.view_columns(), "the columns of the views are stale: run `make docs`"
    for name, make in generate.PAGES.items():
        assert (ROOT / "docs" / name).read_text() == make(), f"docs/{name} is stale: run `make docs`"


def test_the_page_of_commands_does_not_depend_on_what_ran_before() -> None:
    script = "import runpy; print(runpy.run_path('docs/generate.py', run_name='pages')['PAGES']['commands.md'](), end='')"
    fresh = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert fresh == (ROOT / "docs/commands.md").read_text()
    assert fresh.count("-h, --help") == fresh.count("\n## ")
