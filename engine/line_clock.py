"""One clock per source: what the line pass found printed (stamps, container and journal times) on one axis, with its clock row.

Times of several processes or runs since their own starts have no common zero. Where the same lines also carry an outer time, the
offset is the median difference and the rows move to the outer clock; where they do not, every run keeps its own zero and a quality
row says so. Rows of a second clock that cannot be tied to the first lose their time: no time is better than a wrong one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from .parse import Task
    from .parser import Emit

WALL = ("utc", "local-no-zone", "no-year")
QUARTER = 900.0  # zones differ by whole quarters of an hour
LATENCY_S = 0.01  # a container or journal stamps a line when it reads it, which is not when it was printed
WALL_SPREAD_S = 5.0  # two wall clocks of one machine: resolution and reading, no drift
SPREAD_MAX_S = 60.0  # an outer time that wanders further than this beside a clock is no tie


def settle(con: duckdb.DuckDBPyConnection, tasks: Sequence[Task], emit: Emit) -> str:
    """Put all staged rows on one clock, emit the row of `clocks`, return its kind."""
    from .parse import quality

    kinds = _kinds(con, tasks)
    if not kinds:
        _emit_clock(emit, None, "none", None)
        return "none"
    ties = _ties(con, tasks)
    zeros = sorted({(k["task"], k["run"]) for k in kinds if k["clk"] == "since-start"})
    wall = max((k for k in kinds if k["clk"] != "since-start"), key=lambda k: k["n"], default=None)
    first = min(k["line"] for k in kinds)
    if not zeros:
        return _walls(con, tasks, emit, kinds, first)
    outer = {ties[z]["kind"] for z in zeros if z in ties}
    if len(zeros) == 1:
        tie = ties.get(zeros[0])
        shift = -tie["offset"] if tie else None
        for kind in {k["clk"] for k in kinds} - {"since-start"}:
            _move(con, tasks, kind, shift if tie and tie["kind"] == kind else None, None)
        _emit_clock(emit, first, "since-start", _res(kinds, "since-start"), tie if tie and tie["kind"] == "utc" else None)
        return "since-start"
    if len(outer) == 1 and all(z in ties for z in zeros):
        target = next(iter(outer))
        for zero in zeros:
            _move(con, tasks, "since-start", ties[zero]["offset"], zero)
        for kind in {k["clk"] for k in kinds} - {"since-start", target}:
            _move(con, tasks, kind, None, None)
        worst = max(ties[z]["uncertainty"] for z in zeros)
        known = {"offset": 0.0, "uncertainty": worst} if target == "utc" else None
        _emit_clock(emit, first, target, max(worst, _res(kinds, "since-start") or 0.0), known)
        return target
    quality(emit, "several-clocks", len(zeros), "the log holds several runs, each with a clock of its own that starts at zero", first)
    if wall is not None:
        for kind in {k["clk"] for k in kinds} - {"since-start"}:
            _move(con, tasks, kind, None, None)
    _emit_clock(emit, first, "since-start", _res(kinds, "since-start"))
    return "since-start"


def _walls(con: duckdb.DuckDBPyConnection, tasks: Sequence[Task], emit: Emit, kinds: list[dict[str, Any]], first: int) -> str:
    """Wall clocks only: the commonest one is the source's; others are tied to it by lines that follow each other."""
    from .parse import quality

    totals: dict[str, int] = {}
    for k in kinds:
        totals[k["clk"]] = totals.get(k["clk"], 0) + k["n"]
    if "utc" in totals:
        totals["utc"] += sum(totals.values())  # a clock with a zone is worth more than any number of lines without
    main = max(totals, key=lambda k: totals[k])
    for kind in set(totals) - {main}:
        direct = _same_lines(con, tasks, kind, main)
        shift = direct["offset"] if direct else _neighbours(con, tasks, main, kind)
        if shift is None:
            quality(emit, "clock-unknown", totals[kind], f"lines with a {kind} time beside {main} times: their time is unknown", first)
        _move(con, tasks, kind, shift, None)
    if main == "utc":
        _emit_clock(emit, first, main, _res(kinds, main), {"offset": 0.0, "uncertainty": _res(kinds, main)}, "printed with its zone")
    elif tie := _same_lines(con, tasks, main, "utc"):  # a container's time on the same lines gives the zone, and the year
        _move(con, tasks, main, tie["offset"], None)
        _emit_clock(emit, first, "utc", _res(kinds, main), {"offset": 0.0, "uncertainty": tie["uncertainty"]})
        return "utc"
    else:
        _emit_clock(emit, first, main, _res(kinds, main))
    return main


def _same_lines(con: duckdb.DuckDBPyConnection, tasks: Sequence[Task], kind: str, target: str) -> dict[str, Any] | None:
    """The offset from a printed wall clock to the outer clock of the very same lines, where it stays within a few seconds."""
    every = _every(tasks, "outer_res, outer_t - t AS d", f"clk = '{kind}' AND outer_kind = '{target}' AND outer_t IS NOT NULL")
    sql = f"""SELECT count(*) AS n, median(d) AS "offset", (max(d) - min(d)) / 2 AS half, max(outer_res) AS res FROM ({every})"""
    (row,) = _rows(con, sql)
    if not row["n"] or row["half"] > WALL_SPREAD_S:
        return None
    return {"offset": row["offset"], "uncertainty": max(row["half"], row["res"] or 0.0, LATENCY_S)}


def _every(tasks: Sequence[Task], columns: str, where: str) -> str:
    parts = [f"SELECT {i} AS task, {columns} FROM {name} WHERE {where}" for i, t in enumerate(tasks) for name in t.tables.values()]
    return " UNION ALL ".join(parts)


def _rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    cursor = con.execute(sql)
    names = [d[0] for d in cursor.description or ()]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def _kinds(con: duckdb.DuckDBPyConnection, tasks: Sequence[Task]) -> list[dict[str, Any]]:
    every = _every(tasks, "run, clk, res, line", "t IS NOT NULL")
    return _rows(con, f"SELECT task, run, clk, count(*) AS n, mode(res) AS res, min(line) AS line FROM ({every}) GROUP BY ALL ORDER BY ALL")


def _ties(con: duckdb.DuckDBPyConnection, tasks: Sequence[Task]) -> dict[tuple[int, int], dict[str, Any]]:
    """Per since-start zero: the offset to the outer clock of the same lines, and its half-width."""
    every = _every(tasks, "run, outer_kind, outer_res, outer_t - t AS d", "stamped AND clk = 'since-start' AND outer_t IS NOT NULL")
    sql = f"""SELECT task, run, outer_kind AS kind, median(d) AS "offset",
              greatest((max(d) - min(d)) / 2, max(outer_res), {LATENCY_S}) AS uncertainty
              FROM ({every}) GROUP BY task, run, outer_kind HAVING (max(d) - min(d)) / 2 < {SPREAD_MAX_S} ORDER BY count(*)"""
    return {(r["task"], r["run"]): r for r in _rows(con, sql)}


def _neighbours(con: duckdb.DuckDBPyConnection, tasks: Sequence[Task], main: str, kind: str) -> float | None:
    """Seconds to add to `kind` to get `main`: whole quarters of an hour between lines that follow each other, or None."""
    every = _every(tasks, "line, clk, t", f"t IS NOT NULL AND clk IN ('{main}', '{kind}')")
    sql = f"""SELECT count(*) AS n, median(d) AS d FROM (
              SELECT CASE WHEN clk = '{main}' THEN t - lag(t) OVER w ELSE lag(t) OVER w - t END AS d, clk <> lag(clk) OVER w AS pair
              FROM ({every}) WINDOW w AS (ORDER BY line)) WHERE pair"""
    (row,) = _rows(con, sql)
    if not row["n"] or "no-year" in (main, kind):
        return None
    shift = round(row["d"] / QUARTER) * QUARTER
    return shift if abs(row["d"] - shift) < 30 and abs(shift) <= 14 * 3600 else None


def _move(con: duckdb.DuckDBPyConnection, tasks: Sequence[Task], kind: str, shift: float | None, zero: tuple[int, int] | None) -> None:
    """Add `shift` to the times of a clock (of one zero only, where given); None makes them unknown."""
    for i, task in enumerate(tasks):
        if zero is not None and zero[0] != i:
            continue
        only = "" if zero is None else f" AND run = {zero[1]}"
        value = "NULL" if shift is None else f"t + {shift!r}"
        for name in task.tables.values():
            con.execute(f"UPDATE {name} SET t = {value} WHERE clk = '{kind}'{only}")


def _res(kinds: list[dict[str, Any]], clk: str) -> float | None:
    return max(((k["n"], k["res"]) for k in kinds if k["clk"] == clk), default=(0, None))[1]


def _emit_clock(
    emit: Emit, line: int | None, kind: str, res: float | None, tie: dict[str, Any] | None = None, method: str | None = "outer time"
) -> None:
    import polars as pl

    row = {
        "line": line,
        "kind": kind,
        "resolution_s": res,
        "offset_s": tie["offset"] if tie else None,
        "uncertainty_s": tie["uncertainty"] if tie else None,
        "method": method if tie else None,
    }
    types = {"line": pl.Int64, "kind": pl.String, "method": pl.String}
    emit("clocks", pl.DataFrame({k: [v] for k, v in row.items()}, schema_overrides={k: types.get(k, pl.Float64) for k in row}))
