"""Writes the generated pages of `docs/` and the columns of the views: run `python docs/generate.py`. A test fails when they are stale."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))


def parsers() -> str:
    from gpuverdict.engine import pages

    entries = pages.parsers()
    lines = ["# What can be read", "", "Generated from the parsers; `gpuverdict parsers NAME` prints one page with its samples.", ""]
    lines += ["| parser | kind | tables | versions of its samples |", "|---|---|---|---|"]
    lines += [f"| [{e['name']}](#{e['name']}) | {e['kind']} | {', '.join(e['tables'])} | {'; '.join(e['versions'])} |" for e in entries]
    for e in entries:
        lines += ["", f"## {e['name']}", "", e["page"]]
    return "\n".join(lines) + "\n"


def rules() -> str:
    from gpuverdict.engine import pages

    entries = pages.rules()
    lines = ["# What can be answered", "", "Generated from the rules; `gpuverdict rules NAME` prints one page.", ""]
    lines += [f"- [{e['id']}](#{e['id']}): {e['question']}" for e in entries]
    for e in entries:
        lines += ["", "#" + pages.rule_page(e).rstrip("\n")]
    return "\n".join(lines) + "\n"


def tables() -> str:
    from gpuverdict.engine import pages

    lines = [
        "# Tables and views of a trace",
        "",
        "Generated from the declarations; `gpuverdict tables NAME` prints one page. Unknown is NULL, never 0.",
        "",
    ]
    for e in pages.tables():
        page = pages.table_page({**e, "sql": None})
        lines += ["#" + page.rstrip("\n"), ""]
    return "\n".join(lines).rstrip() + "\n"


def commands() -> str:
    import click
    from gpuverdict.engine.cli import main

    lines = ["# Commands", "", "Generated from the command line's own help.", ""]
    # The group's settings give each command its -h. Click keeps a command's first help option for the
    # life of the process, so without them the page depends on whether a command ran before.
    parent = click.Context(main, info_name="gpuverdict", terminal_width=100, **main.context_settings)
    for name, command in main.commands.items():
        context = click.Context(command, info_name=name, parent=parent, terminal_width=100)
        lines += [f"## gpuverdict {name}", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def view_columns() -> str:
    """View -> column -> type: what every SELECT gives over a trace without rows."""
    import json

    from gpuverdict.engine.tables import VIEWS
    from gpuverdict.engine.testing import empty_trace

    con = empty_trace().con
    found = {v.name: {name: kind for name, kind, *_ in con.execute(f"DESCRIBE main.{v.name}").fetchall()} for v in VIEWS}
    return json.dumps(found, indent=1) + "\n"


COLUMNS = HERE.parent / "engine" / "views" / "columns.json"
PAGES = {"parsers.md": parsers, "rules.md": rules, "tables.md": tables, "commands.md": commands}


def main() -> None:
    COLUMNS.write_text(view_columns(), encoding="utf-8")
    for name, make in PAGES.items():
        (HERE / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
