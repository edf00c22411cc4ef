"""The catalogues as text: one page per parser, rule and table. The commands print them and `docs/` is generated from them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Any

from .line_format import LineFormat
from .plugins import Registry, load_registry
from .rule import Route, Rule
from .tables import TABLES, VIEWS


class Unknown(ValueError):
    """No page of that name; the message says which exist or which was meant."""


def _pick(name: str, known: Sequence[str], kind: str) -> str:
    import difflib

    if name in known:
        return name
    near = difflib.get_close_matches(name, known, 1, 0.4)
    raise Unknown(f"no {kind} {name!r}" + (f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"))


def module_doc(thing: object) -> str:
    """The docstring of the module that declares a parser or a rule: its page."""
    name = thing.name.replace("-", "_") if not isinstance(thing, Rule) else thing.id.replace("-", "_")  # type: ignore[attr-defined]
    package = "rules" if isinstance(thing, Rule) else "parsers"
    root = __package__.rsplit(".", 1)[0]
    module = sys.modules.get(f"{root}.{package}.{name}") or inspect.getmodule(type(thing))
    return inspect.cleandoc(module.__doc__ or "") if module else ""


# --- parsers --------------------------------------------------------------------------------------------------------------------


def parsers(name: str | None = None) -> list[dict[str, Any]]:
    """All parsers, or the one called `name`: name, server, tables, versions of its samples, page."""
    registry = load_registry()
    chosen = registry.parsers
    if name:
        wanted = _pick(name, sorted(p.name for p in registry.parsers), "parser")
        chosen = [p for p in registry.parsers if p.name == wanted]
    return [_parser(p) for p in sorted(chosen, key=lambda p: p.name)]


def _parser(parser: Any) -> dict[str, Any]:
    doc = module_doc(parser)
    return {
        "name": parser.name,
        "kind": "line format" if isinstance(parser, LineFormat) else "whole source",
        "summary": doc.split("\n\n")[0].replace("\n", " "),
        "tables": sorted({t for s in parser.samples for t, rows in s.rows.items() if rows}),
        "versions": list(dict.fromkeys(s.versions for s in parser.samples)),
        "page": doc,
        "samples": [{"versions": s.versions, "text": s.text} for s in parser.samples],
    }


def parser_page(entry: dict[str, Any]) -> str:
    """One parser as Markdown."""
    lines = [
        f"# {entry['name']}",
        "",
        entry["page"],
        "",
        f"Kind: {entry['kind']}. Tables: {', '.join(entry['tables']) or 'none'}.",
        "",
        "Samples:",
        "",
    ]
    for sample in entry["samples"]:
        fence = "````" if "```" in sample["text"] else "```"
        lines += [f"{sample['versions']}:", "", fence + "text", sample["text"].rstrip("\n"), fence, ""]
    return "\n".join(lines).rstrip() + "\n"


# --- rules ----------------------------------------------------------------------------------------------------------------------


def rules(name: str | None = None) -> list[dict[str, Any]]:
    """All rules, or the one called `name`."""
    registry = load_registry()
    chosen: list[Rule] = registry.rules
    if name:
        wanted = _pick(name, [r.id for r in registry.rules], "rule")
        chosen = [r for r in registry.rules if r.id == wanted]
    return [_rule(r) for r in chosen]


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "question": rule.question,
        "claim": rule.claim,
        "scopes": list(rule.scopes),
        "page": module_doc(rule),
        "limits": {n: {"value": x.value, "unit": x.unit, "why": x.why} for n, x in rule.limits.items()},
        "confirmed": [_route(r) for r in rule.confirmed],
        "ruled_out": [_route(r) for r in rule.ruled_out],
        "fits": [_route(r) for r in rule.fits],
        "impossible": [_route(r) for r in rule.impossible],
        "rivals": {k: {"name": r.name, "closed": list(r.closed), "settle": r.settle} for k, r in rule.rivals.items()},
        "next": [{"name": e.name, "command": e.command, "tells": e.tells} for e in rule.next],
    }


def _route(route: Route) -> dict[str, Any]:
    return {"name": route.name, "when": list(route.when), "uses": list(route.uses), "rivals": list(route.rivals)}


def rule_page(entry: dict[str, Any]) -> str:
    """One rule as Markdown."""
    lines = [f"# {entry['id']}", "", entry["page"], "", f"Claim: {entry['claim']}.", ""]
    for group in ("confirmed", "ruled_out", "fits", "impossible"):
        if entry[group]:
            lines += [f"{group.replace('_', ' ').capitalize()} when:", ""]
            for route in entry[group]:
                rivals = f"; rivals: {', '.join(route['rivals'])}" if route["rivals"] else ""
                lines.append(f"- {route['name']}: `{' and '.join(route['when'])}` (uses {', '.join(route['uses']) or 'nothing'}{rivals})")
            lines.append("")
    lines += ["| limit | value | unit | why |", "|---|---|---|---|"]
    lines += [f"| {n} | {x['value']:g} | {x['unit']} | {x['why']} |" for n, x in entry["limits"].items()]
    if entry["rivals"]:
        lines += ["", "| rival | closed when | settled by |", "|---|---|---|"]
        lines += [
            f"| {r['name']} | {'; '.join(f'`{a}`' for a in r['closed']) or 'never'} | {r['settle']} |" for r in entry["rivals"].values()
        ]
    for e in entry["next"]:
        lines += ["", f"Next: {e['name']}: `{e['command']}` ({e['tells']})"]
    return "\n".join(lines).rstrip() + "\n"


# --- tables ---------------------------------------------------------------------------------------------------------------------


def tables(name: str | None = None) -> list[dict[str, Any]]:
    """All tables and views, or the one called `name`."""
    names = [t.name for t in TABLES] + [v.name for v in VIEWS]
    wanted = _pick(name, names, "table") if name else None
    out: list[dict[str, Any]] = [
        {
            "name": t.name,
            "kind": "table",
            "doc": t.doc,
            "columns": [{"name": c.name, "type": c.type, "unit": c.unit, "doc": c.doc, "privacy": c.privacy} for c in t.columns],
        }
        for t in TABLES
    ]
    from .join import view_columns, view_sql

    for v in VIEWS:
        columns = [{"name": name, "type": kind} for name, kind in view_columns()[v.name].items()]
        out.append({"name": v.name, "kind": "view", "doc": v.doc, "columns": columns, "sql": view_sql(v.name)})
    return [t for t in out if wanted is None or t["name"] == wanted]


def table_page(entry: dict[str, Any]) -> str:
    """One table or view as Markdown."""
    lines = [f"# {entry['name']}", "", f"{entry['kind'].capitalize()}. {entry['doc']}", ""]
    if entry["kind"] == "view":
        lines += ["| column | type |", "|---|---|", *(f"| {c['name']} | {c['type']} |" for c in entry["columns"])]
    else:
        lines += ["| column | type | unit | what | privacy |", "|---|---|---|---|---|"]
        lines += [f"| {c['name']} | {c['type']} | {c['unit']} | {c['doc']} | {c['privacy']} |" for c in entry["columns"]]
    if entry.get("sql"):
        lines += ["", "```sql", entry["sql"].rstrip(), "```"]
    return "\n".join(lines) + "\n"


def overview(entries: Sequence[dict[str, Any]]) -> str:
    """One line each, for a terminal."""
    key = "id" if entries and "id" in entries[0] else "name"
    width = max((len(e[key]) for e in entries), default=0)
    return "\n".join(f"{e[key]:<{width}}  {e.get('summary') or e.get('question') or e.get('doc')}" for e in entries) + "\n"


def registry_problems() -> list[str]:
    """Plugins and modules that did not load."""
    registry: Registry = load_registry()
    return [f"{name}: {note}" for name, note in registry.problems]
