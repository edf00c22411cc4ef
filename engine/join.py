"""The public views, built in declared order from `views/<name>.sql`."""

from __future__ import annotations

from importlib import resources

from .store import Store
from .tables import VIEWS


def view_sql(name: str) -> str:
    """The SELECT of one public view."""
    return resources.files(__package__).joinpath("views", f"{name}.sql").read_text(encoding="utf-8")


def join(store: Store, names: tuple[str, ...] | None = None) -> None:
    """Create the views: those with a row per scope as tables, the others as views over the rows."""
    for view in VIEWS:
        if names is None or view.name in names:
            kind = "TABLE" if view.stored else "VIEW"
            store.con.execute(f"CREATE {kind} main.{view.name} AS {view_sql(view.name)}")
