"""GPU and model facts that ship with the package, with their sources (`catalog/*.csv`)."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from .arrow import lent

if TYPE_CHECKING:
    import duckdb


@cache
def _rows(name: str) -> list[dict[str, str]]:
    text = resources.files(__package__).joinpath("catalog", f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "", name.lower())


def known_model(name: str) -> str | None:
    """The catalogue's name of a model: the longest alias contained in `name` wins (a repository prefix or a quantisation suffix does not hurt)."""
    wanted = _key(name)
    best: tuple[int, str] | None = None
    for row in _rows("models"):
        for alias in {row["name"], *row["aliases"].split(";")}:
            key = _key(alias)
            # "glm-5" must not swallow "glm-5.3-flash-air": what follows the alias may not continue a version or a word.
            found = wanted.find(key) if len(key) >= 4 else -1
            if found >= 0 and _ends(wanted[found + len(key) :]) and (best is None or len(key) > best[0]):
                best = (len(key), row["name"])
    return best[1] if best else None


def _ends(rest: str) -> bool:
    return not rest or not re.match(r"[.\d]*(flash|air|lite|mini|turbo|small|large|distill|\.\d|\d)", rest)


# What may stand before a card's name, and what may follow it on the very same card. Any other word names another product: a Laptop GPU,
# a 4090 D, a 3080 Ti and a MIG instance share the beginning of a name and neither bandwidth nor power.
_BRANDS = r"^((nvidia|amd|geforce|tesla|quadro|radeon|instinct) +)+"
_FURTHER = r"( +([0-9]+ ?gi?b|gddr[0-9]x?|hbm[0-9]?e?|sxm[0-9]?|oam|ac|mba|vf|hf|\(mcm\)))*"


def _gpu_key(name: str) -> str:
    return re.sub(_BRANDS, "", name.strip().lower())


def known_gpu(name: str) -> str | None:
    """The catalogue's name of a card: the same name, whatever brand stands in front; else the longest that begins it, where only
    memory or form factor follow. NULL for any other card of that family."""
    key = _gpu_key(name)
    fits = [r["name_pattern"] for r in _rows("gpus") if re.fullmatch(re.escape(_gpu_key(r["name_pattern"])) + _FURTHER, key)]
    return max(fits, key=len, default=None)


@cache
def public_names() -> frozenset[str]:
    """Every name that the catalogues have: such a name says nothing about whose it is."""
    return frozenset(r["name_pattern"] for r in _rows("gpus")) | frozenset(r["name"] for r in _rows("models"))


def load(con: duckdb.DuckDBPyConnection, hardware: Sequence[Mapping[str, Any]] = ()) -> None:
    """Both catalogues as tables main.catalog_gpus and main.catalog_models: numbers are DOUBLE, empty cells NULL. `gpu_key(name)` and
    `gpu_fits(name, row's name)` compare names of cards in SQL as `known_gpu` does.

    `hardware` are rows of plugins for the GPU catalogue; what is no column of it, or no number where one belongs, is left out.
    """
    import polars as pl

    for name in ("gpus", "models"):
        columns = list(_rows(name)[0])
        rows: list[dict[str, Any]] = [*_rows(name), *({c: row.get(c) for c in columns} for row in hardware if name == "gpus")]
        text = {"name_pattern", "vendor", "arch", "power_draw_semantics", "source", "note", "notes", "name", "aliases"}
        frame = pl.DataFrame(
            [[r[c] or None for c in columns] for r in rows], schema=dict.fromkeys(columns, pl.String), orient="row", strict=False
        )
        typed = ", ".join(c if c in text else f"TRY_CAST({c} AS DOUBLE) AS {c}" for c in columns)
        with lent(con, "incoming", frame):
            con.execute(f"CREATE TABLE main.catalog_{name} AS SELECT {typed} FROM incoming")
    con.execute(f"CREATE MACRO main.gpu_key(name) AS regexp_replace(lower(trim(name)), '{_BRANDS}', '')")
    con.execute(
        "CREATE MACRO main.gpu_fits(name, row_name) AS starts_with(gpu_key(name), gpu_key(row_name)) "
        f"AND regexp_full_match(substr(gpu_key(name), length(gpu_key(row_name)) + 1), '{_FURTHER}')"
    )
