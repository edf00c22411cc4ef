"""The public views, built from `views/<name>.sql`, each after those it mentions."""

from __future__ import annotations

import json
import re
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cache
from graphlib import TopologicalSorter
from importlib import resources
from typing import TYPE_CHECKING

from .store import Store
from .tables import TABLES, VIEWS, View

if TYPE_CHECKING:
    import duckdb


def view_sql(name: str) -> str:
    """The SELECT of one public view."""
    return resources.files(__package__).joinpath("views", f"{name}.sql").read_text(encoding="utf-8")


@cache
def view_columns() -> dict[str, dict[str, str]]:
    """View -> column -> DuckDB type, as the SELECTs give them: `views/columns.json`, which docs/generate.py writes."""
    found: dict[str, dict[str, str]] = json.loads(
        resources.files(__package__).joinpath("views", "columns.json").read_text(encoding="utf-8")
    )
    return found


def join(store: Store, names: tuple[str, ...] | None = None, all_run: bool = False) -> None:
    """Create the views: those with a row per scope as tables, the others as views over the rows.

    A view without the rows it needs is made from its columns alone, unless `all_run`. Two at a time: most of the time goes into planning, which DuckDB does in one thread, outside Python's lock.
    """
    views = {v.name: v for v in VIEWS if names is None or v.name in names}
    texts = {name: view_sql(name) for name in views}
    above = {name: {*mentioned(text), *mentioned(views[name].only_if), *views[name].needs} for name, text in texts.items()}
    order = TopologicalSorter({name: views.keys() & names - {name} for name, names in above.items()})
    order.prepare()
    running: dict[Future[None], str] = {}
    with ThreadPoolExecutor(2) as pool:
        while order.is_active():
            running |= {pool.submit(_create, store, views[name], texts[name], all_run): name for name in order.get_ready()}
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                one.result()
                order.done(running.pop(one))


def mentioned(sql: str) -> set[str]:
    """The tables and views that a SELECT names as `main.<name>`."""
    return set(re.findall(r"\bmain\.(\w+)", sql))


def _create(store: Store, view: View, sql: str, all_run: bool) -> None:
    with store.con.cursor() as con:
        if not all_run and _surely_empty(con, view):
            columns = ", ".join(f'"{name}" {kind}' for name, kind in view_columns()[view.name].items())
            con.execute(f"CREATE TABLE main.{view.name} ({columns})")
        else:
            con.execute(f"CREATE {'TABLE' if view.stored else 'VIEW'} main.{view.name} AS {sql}")


def _surely_empty(con: duckdb.DuckDBPyConnection, view: View) -> bool:
    if any(not con.execute(f"SELECT 1 FROM {_home(name)}.{name} LIMIT 1").fetchall() for name in view.needs):
        return True
    return bool(view.only_if) and con.execute(view.only_if).fetchall() == [(False,)]


def _home(name: str) -> str:
    return "raw" if any(table.name == name for table in TABLES) else "main"
