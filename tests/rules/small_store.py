"""Small stores built by hand: rows into the raw tables, then clocks, steps and views as in an analysis."""

from __future__ import annotations

from typing import Any

import polars as pl
from gpuverdict.engine import catalog, clock, join, steps
from gpuverdict.engine.judge import judge
from gpuverdict.engine.result import Finding
from gpuverdict.engine.rule import Rule
from gpuverdict.engine.store import Store
from gpuverdict.engine.tables import VIEWS, table

BELOW = {v.name: join.mentioned(join.view_sql(v.name) + v.only_if) | {*v.needs} for v in VIEWS}
TYPES = {"INTEGER": pl.Int32, "BIGINT": pl.Int64, "DOUBLE": pl.Float64, "VARCHAR": pl.String, "BOOLEAN": pl.Boolean}
Rows = list[dict[str, Any]]


class SmallStore(Store):
    """A store that makes its views when they are asked for: most tests look at one rule."""

    made: frozenset[str] = frozenset({"bench_series"})

    def view(self, sql: str) -> None:
        """Make the views that a SELECT names, and those below them."""
        wanted: set[str] = set()
        todo = [*join.mentioned(sql)]
        while todo:
            name = todo.pop()
            if name in BELOW and name not in wanted | self.made:
                wanted.add(name)
                todo += BELOW[name]
        self.made |= wanted
        join.join(self, tuple(wanted))

    def query(self, sql: str) -> pl.DataFrame:
        self.view(sql)
        return super().query(sql)

    def rows_of(self, sql: str) -> list[dict[str, Any]]:
        self.view(sql)
        return super().rows_of(sql)


def store_of(
    during: dict[int, str] | None = None, zone: dict[int, str] | None = None, hosts: dict[int, str] | None = None, **tables: Rows
) -> Store:
    """A store with these rows. Rows have `source_id` 0 and count their lines unless they say otherwise.

    `during` binds a source to a scope; `zone` source -> clock kind (utc unless stated; none for a source without times); `hosts` names
    the machine of a source.
    """
    store = SmallStore()
    store.fit_plans()
    catalog.load(store.con)
    sources = sorted({row.get("source_id", 0) for rows in tables.values() for row in rows} | set(during or {}))
    _insert(store, "sources", [{"source_id": s, "name": f"file{s}.log", "status": "read", "host": (hosts or {}).get(s)} for s in sources])
    _insert(store, "clocks", [{"source_id": s, "line": 1, "kind": (zone or {}).get(s, "utc"), "resolution_s": 0.1} for s in sources])
    for name, rows in tables.items():
        _insert(store, name, [{"source_id": 0, "line": n, **row} for n, row in enumerate(rows, 1)])
    for source, label in (during or {}).items():
        store.con.execute("INSERT INTO main.bindings VALUES (?, ?)", [source, label])
    clock.align(store, {}, {}, None, claim_edges=False)
    join.join(store, ("bench_series",))
    steps.match_steps(store)
    return store


def _insert(store: Store, name: str, rows: Rows) -> None:
    columns = {c.name: TYPES[c.type] for c in table(name).columns if any(c.name in row for row in rows)}
    if rows:
        unknown = {key for row in rows for key in row} - set(columns)
        assert not unknown, f"{name} has no column {unknown}"
        store.insert(name, pl.DataFrame([{c: row.get(c) for c in columns} for row in rows], schema=columns))


def judged(store: Store, rules: list[Rule]) -> tuple[list[Finding], dict[str, float]]:
    """What `judge` gives."""
    if isinstance(store, SmallStore):
        store.view(" ".join(rule.facts for rule in rules) + " main.scopes main.scope_evidence main.servers")
    return judge(store, rules)


def findings(rule: Rule, store: Store) -> dict[str, Finding]:
    """Scope label -> finding."""
    found, _ = judged(store, [rule])
    assert not [f for f in found if f.verdict == "error"], found[0].because
    return {f.scope.label: f for f in found}


def verdict(rule: Rule, store: Store, label: str | None = None) -> Finding:
    """The finding of one scope; of the only one where no label is given."""
    found = findings(rule, store)
    if label is None:
        assert len(found) == 1, sorted(found)
        return next(iter(found.values()))
    return found[label]


def samples(seconds: int = 30, cards: int = 1, start: float = 1000.0, source_id: int = 1, **values: Any) -> Rows:
    """One reading per second and card. A value may be a function of (second, card)."""
    out = []
    for second in range(seconds):
        for gpu in range(cards):
            read = {k: (v(second, gpu) if callable(v) else v) for k, v in values.items()}
            out.append({"source_id": source_id, "line": len(out) + 1, "gpu": gpu, "cycle": second, "time": start + second, **read})
    return out


def served(spans: list[tuple[float, float]], source_id: int = 0, **more: Any) -> Rows:
    """Server requests from start to end."""
    return [
        {
            "source_id": source_id,
            "line": 10 * n,
            "origin": "server",
            "server": "llama.cpp",
            "run": 0,
            "request": str(n),
            "slot": 0,
            "status": "ok",
            "started_at": a,
            "finished_at": b,
            "prompt_ms": 10.0,
            "decode_ms": 1000 * (b - a) - 10,
            "output_tokens": 100.0,
            "decode_steps": 99.0,
            **more,
        }
        for n, (a, b) in enumerate(spans, 1)
    ]


def lines(n: int = 20, start: float = 1000.0, step: float = 10.0, source_id: int = 0, server: str = "vllm", **values: Any) -> Rows:
    """Statistics lines of a server, one every `step` seconds. A value may be a function of the line number."""
    return [
        {
            "source_id": source_id,
            "line": 100 + i,
            "server": server,
            "engine": 0,
            "run": 0,
            "time": start + i * step,
            **{k: (v(i) if callable(v) else v) for k, v in values.items()},
        }
        for i in range(n)
    ]


def config(source_id: int = 0, run: int = 0, server: str = "vllm", origin: str = "logged", **values: Any) -> Rows:
    """Settings of one server run."""
    out = []
    for n, (key, value) in enumerate(values.items(), 1):
        num = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        out.append(
            {"source_id": source_id, "line": n, "server": server, "run": run, "key": key, "value": str(value), "num": num, "origin": origin}
        )
    return out
