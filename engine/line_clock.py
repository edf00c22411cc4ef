"""One clock per source: what the line pass found printed (stamps, container and journal times) on one axis, with its clock row.

Times of several processes or runs since their own starts have no common zero. Where the same lines also carry an outer time, the
offset is the median difference and the rows move to the outer clock (a single run beside UTC keeps its zero, and the clock row says
where in UTC that is); where they do not, every run keeps its own zero and a quality row says so. Wall clocks are tied to each other by
lines that carry two of them, so that a journal without a year takes year and zone from what the program prints. Rows of a second clock
that cannot be tied to the first lose their time: no time is better than a wrong one.
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

    kinds = _kinds(con, tasks) if tasks else []
    if not kinds:
        _emit_clock(emit, None, "none", None)
        return "none"
    first = min(k["line"] for k in kinds)
    zeros = sorted({(k["task"], k["run"]) for k in kinds if k["clk"] == "since-start"})
    ties = _ties(con, tasks) if zeros else {}
    if not zeros:
        return _walls(con, tasks, emit, kinds, first)
    tie = ties.get(zeros[0]) if len(zeros) == 1 else None
    if tie and (tie["kind"] == "utc" or tie["half"] > WALL_SPREAD_S):
        return _since_start(con, tasks, emit, kinds, first, tie if tie["kind"] == "utc" else None)
    if all(zero in ties for zero in zeros):
        return _zeros_on_walls(con, tasks, emit, {zero: ties[zero] for zero in zeros}, first)
    if len(zeros) > 1:
        note = "the log holds several runs, each with a clock of its own that starts at zero"
        quality(emit, "several-clocks", len(zeros), note, first)
    return _since_start(con, tasks, emit, kinds, first, None)


def _since_start(
    con: duckdb.DuckDBPyConnection, tasks: Sequence[Task], emit: Emit, kinds: list[dict[str, Any]], first: int, tie: dict[str, Any] | None
) -> str:
    """Rows keep their times since the start; rows of a wall clock come along only where something ties the two."""
    walls = _wall_ties(con, tasks)
    for kind in {k["clk"] for k in kinds} - {"since-start"}:
        to_outer = _path(walls, kind, tie["kind"]) if tie else None
        _move(con, tasks, kind, to_outer["offset"] - tie["offset"] if tie and to_outer else None, None)
    _emit_clock(emit, first, "since-start", _res(kinds, "since-start"), tie)
    return "since-start"


def _zeros_on_walls(
    con: duckdb.DuckDBPyConnection, tasks: Sequence[Task], emit: Emit, ties: dict[tuple[int, int], dict[str, Any]], first: int
) -> str:
    """Every zero is tied to the outer clock of its own lines: from there on the rows are on that clock."""
    for zero, tie in ties.items():
        _move(con, tasks, "since-start", tie["offset"], zero, tie["kind"])
    return _walls(con, tasks, emit, _kinds(con, tasks), first, max(tie["uncertainty"] for tie in ties.values()))


def _walls(
    con: duckdb.DuckDBPyConnection, tasks: Sequence[Task], emit: Emit, kinds: list[dict[str, Any]], first: int, worst: float = 0.0
) -> str:
    """Wall clocks only. The one that says most is the source's: with a zone, else with a year, else the commonest one. Others are tied
    to it by lines that carry both, or by lines that follow each other. `worst`: how far a time may be off already."""
    from .parse import quality

    totals: dict[str, int] = {}
    for k in kinds:
        totals[k["clk"]] = totals.get(k["clk"], 0) + k["n"]
    ties = _wall_ties(con, tasks)
    commonest = max(totals, key=lambda k: totals[k])
    main = next((kind for kind in WALL[:2] if kind in totals and (kind == "utc" or _path(ties, commonest, kind))), commonest)
    shifts: dict[str, float | None] = {}
    for kind in set(totals) - {main}:
        direct = _path(ties, kind, main)
        shifts[kind] = direct["offset"] if direct else _neighbours(con, tasks, main, kind)
        if shifts[kind] is None:
            quality(emit, "clock-unknown", totals[kind], f"lines with a {kind} time beside {main} times: their time is unknown", first)
    for kind, shift in shifts.items():
        _move(con, tasks, kind, shift, None)
    res = max(worst, _res(kinds, main) or 0.0)
    if main == "utc":
        method = "outer time" if worst else "printed with its zone"
        _emit_clock(emit, first, main, res, {"offset": 0.0, "uncertainty": res}, method)
        return main
    for better in WALL[: WALL.index(main)]:  # a container's time on the same lines gives the zone, or the year
        if tie := _path(ties, main, better):
            for kind in {main} | {kind for kind, shift in shifts.items() if shift is not None}:
                _move(con, tasks, kind, tie["offset"], None)
            _emit_clock(emit, first, better, res, {"offset": 0.0, "uncertainty": tie["uncertainty"]} if better == "utc" else None)
            return better
    _emit_clock(emit, first, main, res)
    return main


def _wall_ties(con: duckdb.DuckDBPyConnection, tasks: Sequence[Task]) -> dict[tuple[str, str], dict[str, Any]]:
    """(clock, clock) -> the offset from the one to the other, in both directions, where lines carry both: a printed wall clock and the
    outer one, which stay within a few seconds of each other."""
    kinds = ", ".join(f"'{kind}'" for kind in WALL)
    every = _every(tasks, "clk, outer_kind, outer_res, outer_t - t AS d", f"clk IN ({kinds}) AND outer_kind <> clk AND outer_t IS NOT NULL")
    sql = f"""SELECT clk, outer_kind, median(d) AS "offset", (max(d) - min(d)) / 2 AS half, max(outer_res) AS res FROM ({every})
              WHERE d IS NOT NULL GROUP BY clk, outer_kind HAVING (max(d) - min(d)) / 2 <= {WALL_SPREAD_S}"""
    ties = {}
    for row in _rows(con, sql):
        uncertainty = max(row["half"], row["res"] or 0.0, LATENCY_S)
        ties[row["clk"], row["outer_kind"]] = {"offset": row["offset"], "uncertainty": uncertainty}
        ties.setdefault((row["outer_kind"], row["clk"]), {"offset": -row["offset"], "uncertainty": uncertainty})
    return ties


def _path(ties: dict[tuple[str, str], dict[str, Any]], start: str, goal: str) -> dict[str, Any] | None:
    """The offset from one wall clock to another, directly or through a third one that both share lines with."""
    if start == goal:
        return {"offset": 0.0, "uncertainty": 0.0}
    if (start, goal) in ties:
        return ties[start, goal]
    for middle in WALL:
        if (start, middle) in ties and (middle, goal) in ties:
            a, b = ties[start, middle], ties[middle, goal]
            return {"offset": a["offset"] + b["offset"], "uncertainty": a["uncertainty"] + b["uncertainty"]}
    return None


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
    sql = f"""SELECT task, run, outer_kind AS kind, median(d) AS "offset", (max(d) - min(d)) / 2 AS half,
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


def _move(
    con: duckdb.DuckDBPyConnection,
    tasks: Sequence[Task],
    kind: str,
    shift: float | None,
    zero: tuple[int, int] | None,
    becomes: str | None = None,
) -> None:
    """Add `shift` to the times of a clock (of one zero only, where given); None makes them unknown. `becomes`: they are on that clock now."""
    for i, task in enumerate(tasks):
        if zero is not None and zero[0] != i:
            continue
        only = "" if zero is None else f" AND run = {zero[1]}"
        value = "NULL" if shift is None else f"t + {shift!r}"
        clock = f", clk = '{becomes}'" if becomes else ""
        for name in task.tables.values():
            con.execute(f"UPDATE {name} SET t = {value}{clock} WHERE clk = '{kind}'{only}")


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
