"""Hand-made concurrency sweeps: the tables people type, paste or export after they ran a load script.

What it reads, alone or inside a report or a log, several in one file:

- Markdown pipe tables (quoted, indented, fenced, without outer pipes), psql and box-drawing tables
- CSV and TSV (`,` `;` tab, quoted), columns aligned with blanks
- blocks (`=== 4 concurrent streams ===` followed by `key=value`), lines of `c=4 aggregate=49.1 wall=15.6s`, keys that end in
  the concurrency (`aggregate_tps_n4: 269.03`)
- lines that begin with their concurrency (`4 streams: 120.8 tok/s aggregate, 30.2 per stream`), two of them at least
- JSON of one's own script: objects with a concurrency among their keys, one per line, in a list or in lists inside an object
- tables that lie on their side: concurrency in the header cells (`4-conc agg`, `c=8`) or in a first row
- tables in HTML whose rows stand on lines of their own; headers under the names of groups; a load and then only names (of engines, cards), where
  the caption says what the cells hold, with its unit
- words of such tables in German, French, Spanish, Portuguese, Russian, Chinese, Japanese and Korean

A table counts where one column is the offered concurrency in positive whole numbers (or an offered request rate) and at least one
other column is a token rate, a latency or a duration. Columns are found by meaning (engine/headers.py), in any order.

What the columns mean:

- `aggregate_tok_s`, `per_stream_tok_s`: by the words of the header; a bare `tok/s` is decided by its shape over the steps or by the
  other rate column (a quality row says so) and stays NULL where that does not decide. `aggregate_counts` is `output` or `total`
  only where the header says so. `per_stream_counts` is `derived` where the column equals aggregate / concurrency in every row
  above one stream (two at least), `latency` where it equals output length / latency, `decode` where the header says decode, TG,
  TPOT, ITL or eval or every row is 1 / TPOT; else NULL. A throughput that falls with concurrency is not called aggregate.
  "Total" beside a per-stream column means all streams, not prompt plus output.
- latencies: a header without mean, median or p99 is read as the mean (a quality row says so); other percentiles have no column.
- `wall_s`: a wall, duration or elapsed column only, never computed.
- units come from the header or the cell. Without one a latency stays NULL, unless the numbers leave no choice: a first token under
  0.5 cannot be milliseconds; a wall or latency in which less than one token would have been made cannot be; a time per token is
  the inverse of the per-stream rate beside it.
- `series`: the name of a configuration (heading, caption, config column, prefix of a column group), NULL where there is only one.
- rows that repeat one load (ten runs at c=8) are steps of one series where a column counts the runs or says that a row is a whole run
  (aggregate, percentile, mean), or where every setting was run as often and with fewer rows than streams; else they could be requests, and are refused.
- `step` counts the rows of a series from 1. `line` is the row's line, for a table on its side the header's, for a block its first.

Known traps: `1.00×` is a ratio; a "latency" in which one token was made is that of a token; `8/8` completed; ranges, bounds, `OOM`, `—` are NULL; one comma or point before three digits may group
thousands or be decimal (decided per column, else NULL and a near miss); tok/s per GPU is not the aggregate; a "decode throughput" of more tokens than requests per second times output
length is worked out from the time per token, not measured; a letter (`N`) under which not half as many requests were in flight, by rate and latency,
counts requests; columns of settings and
prefill rates are not measurements. The last cell of a file that ends without a line end may be cut: NULL, unless a pipe closes it.
Tables of tools with a parser of their own (llama-bench, batched-bench, the benchmark consoles) and per-request tables are left alone.
A table that starts after the first 256 KiB is found where its lines or those around it hold a rule or a word for streams or token rates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..engine.cells import token
from ..engine.columns import TARGETS, Column, System, fill_numbers, label
from ..engine.headers import LATENCIES, SETTINGS, TOK_S, TOKEN_RATES, embedded, meaning, plain
from ..engine.json_objects import JsonLines, json_objects
from ..engine.json_tables import grids_of, joined
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.source import Source
from ..engine.text_tables import MAX_TABLE_LINES, READERS, Grid, caption_of, cut_end, headings_of, prepared, starts

__all__ = ["PARSER"]

MAX_REPEATS = 50  # runs of one load; more rows of it are requests
MAX_STEPS = 20_000  # a sweep has tens of rows; more is a log in the shape of a table
TAIL_LINES = 40  # a table may begin in the last lines of a block and go on in the next
FIXED = ("requests", "completed", "failed", "input_tokens", "output_tokens", "input_len", "output_len", "mean_concurrency", "accept_len")


# --- tables on their side ----------------------------------------------------------------------------------------------------------


def _upright(grid: Grid) -> Grid:
    """Concurrency in the header cells turned into rows; other grids as they are."""
    roles = [meaning(h) for h in grid.header]
    numbers = [token(h) for h in grid.header[1:]]
    if roles[0].role == "concurrency" and len(numbers) >= 2 and all(t.digits.isdigit() and not t.why for t in numbers):
        return _by_metric(grid, [None, *(int(t.digits) for t in numbers)], grid.header[0])
    if any(m.role in ("concurrency", "rate", "rps") for m in roles):
        return grid
    inside = [embedded(h) for h in grid.header]
    if inside[0][0] is None and sum(n is not None for n, _ in inside) >= 2:
        if not any(meaning(rest).role in TARGETS_OF for n, rest in inside if n is not None and rest):
            if any(meaning(cells[0]).role in TARGETS_OF for _, cells in grid.rows):
                return _by_metric(grid, [n for n, _ in inside], "concurrency")
            inside = [(n, rest if n is None else _metric_of_cells(grid)) for n, rest in inside]
        return _by_config(grid, inside)
    return grid


def _metric_of_cells(grid: Grid) -> str:
    """What the cells measure where neither headers nor rows say it: the caption's rate or the unit in the cells."""
    told = meaning(grid.caption)
    if told.role in TOKEN_RATES or (told.role in LATENCIES and told.unit):
        return grid.caption
    if any(token(c).unit == "tok/s" for _, cells in grid.rows for c in cells):
        return "tok/s"
    numbers = [bool(token(c).digits) and not token(c).why for _, cells in grid.rows for c in cells[1:]]
    raise NotASweep("nothing says what the cells under the concurrencies measure" if sum(numbers) > 0.6 * len(numbers) else "")


TARGETS_OF = {role for role, _ in TARGETS} | {"tok", "throughput"}


def _by_metric(grid: Grid, offered: Sequence[int | None], load: str) -> Grid:
    """Metrics in the rows, one step per column."""
    rows = [(i, cells) for i, cells in grid.rows if meaning(cells[0]).role]
    turned = [[str(n), *(cells[at] for _, cells in rows)] for at, n in enumerate(offered) if n is not None]
    known = {i for i, _ in rows}
    status = {**grid.status, **{i: "matched" if i in known else "other" for i, _ in grid.rows}}
    out = replace(grid, header=[load, *(cells[0] for _, cells in rows)], rows=[(grid.at, cells) for cells in turned])
    out.status = status
    return out


def _by_config(grid: Grid, inside: Sequence[tuple[int | None, str]]) -> Grid:
    """Configurations in the rows, concurrency and metric in the header cells. Headers of one meaning become one column ("single TG"
    is the per-stream rate at one stream); the last header names it, so that what only one of them claims is not said of all."""
    inside = [(n, head if n == 1 and meaning(head).role == "per_stream" else rest) for (n, rest), head in zip(inside, grid.header)]
    names = {(meaning(rest).role or rest, meaning(rest).stat): rest for n, rest in inside if n is not None}
    inside = [(n, names.get((meaning(rest).role or rest, meaning(rest).stat), rest)) for n, rest in inside]
    metrics = list(dict.fromkeys(rest for n, rest in inside if n is not None))
    steps = list(dict.fromkeys(n for n, _ in inside if n is not None))
    first = grid.header[0] if meaning(grid.header[0]).role == "key" else "config"
    rows: list[tuple[int, list[str]]] = []
    for i, cells in grid.rows:
        for step in steps:
            by = {rest: cell for (n, rest), cell in zip(inside, cells) if n == step}
            rows.append((i, [cells[0], str(step), *(by.get(m, "") for m in metrics)]))
    out = replace(grid, header=[first, "concurrency", *metrics], rows=rows)
    return out


# --- grids -> steps ----------------------------------------------------------------------------------------------------------------


@dataclass
class Reading:
    """What a grid gave: steps (columns of bench_steps, with `series` parts), the status of its lines, why columns stayed NULL, notes."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    status: dict[int, str] = field(default_factory=dict)
    rejects: list[tuple[int, str]] = field(default_factory=list)
    notes: list[tuple[int, str, str]] = field(default_factory=list)
    caption: str = ""
    nearly: bool = False


_TOOLS = ({"s tg t/s"}, {"s pp t/s"}, {"n kv"}, {"test", "t/s"}, {"failures/s"}, {"request id"}, {"timestamp", "type"},
          {"benchmark", "per second", "concurrency"}, {"benchmark", "qps", "e2e latency (avg)"},
          {"number of concurrency", "time taken for tests (s)"}, {"concurrency", "test duration (s)", "req throughput (req/s)"},
          {"rank", "tokens/s/gpu", "tokens/s/user"}, {"conc.", "rps", "gen/s"}, {"conc.", "metric", "p50", "p99"})  # fmt: skip


class NotASweep(Exception):
    """The grid is no sweep; `missing` says what a sweep would have had, "" where nothing speaks for one."""

    def __init__(self, missing: str = "") -> None:
        self.missing = missing


def _columns(grid: Grid) -> list[Column]:
    header = list(grid.header)
    units = grid.rows[0][1] if grid.rows else []
    if units and not any(token(c).digits for c in units) and any(re.fullmatch(r"[(\[]?(?:s|ms|tok/s|t/s|req/s)[)\]]?", c) for c in units):
        header = [f"{h} ({u.strip('()[]')})" if u else h for h, u in zip(header, units)]
        grid.status[grid.rows[0][0]] = "matched"
        grid.rows = grid.rows[1:]
    header = _split_statistics(grid, header)
    made = []
    for n, text in enumerate(header):
        cells = [cells[n] for _, cells in grid.rows]
        means, tokens = meaning(text), [token(c) for c in cells]
        if means.role in ("throughput", "aggregate") and not means.unit and {t.unit for t in tokens if t.digits} == {"req/s"}:
            means = replace(means, role="req_s", unit="req/s")  # a throughput in requests, as its cells say
        made.append(Column(text, means, cells, tokens))
    return _of_the_caption(grid, made)


def _of_the_caption(grid: Grid, columns: list[Column]) -> list[Column]:
    """A load and then nothing but names (of engines, cards, models), two at least: what stands under them is what the caption says it is."""
    told = meaning(grid.caption)
    timed, rated = told.role in LATENCIES and told.unit, told.role in (*TOKEN_RATES, "throughput") and told.unit
    loads = [c for c in columns if c.means.role == "concurrency" and c.means.rank > 1]
    rest = [c for c in columns if c not in loads]
    named = all(c.means.role == "" and c.means.rest and not SETTINGS.search(c.means.rest.lower()) for c in rest)
    full = all((t.digits and not t.why) or t.why == "missing" for c in rest for t in c.tokens)
    if not (timed or rated) or len(loads) != 1 or len(rest) < 2 or not named or not full:
        return columns
    return [c if c in loads else replace(c, means=replace(told, rest=c.means.rest)) for c in columns]


_STATISTICS = re.compile(r"(?i)\b(?:p\d\d(?:\.\d)?|mean|avg|median|min|max)(?:\s*/\s*(?:p\d\d(?:\.\d)?|mean|avg|median|min|max))+\b")


def _split_statistics(grid: Grid, header: Sequence[str]) -> list[str]:
    """A column `TTFT p50/p99` with cells `120 / 160 ms` as one column for each; a unit at the end is that of all its parts."""
    out: list[str] = []
    for text in header:
        found, at = _STATISTICS.search(text), len(out)
        names = re.split(r"\s*/\s*", found[0]) if found else []
        parts = [re.split(r"\s*/\s*", cells[at]) for _, cells in grid.rows] if names else []
        if not found or not any(len(p) == len(names) for p in parts):
            out.append(text)
            continue
        out += [text[: found.start()] + name + text[found.end() :] for name in names]
        rows = []
        for (line, cells), part in zip(grid.rows, parts):
            unit = re.sub(r"^[^a-zµ]*", "", part[-1].lower()) if len(part) == len(names) else ""
            fitted = (
                [p if re.search(r"[a-zA-Zµ]", p) else f"{p} {unit}".strip() for p in part] if len(part) == len(names) else [""] * len(names)
            )
            rows.append((line, [*cells[:at], *fitted, *cells[at + 1 :]]))
        grid.rows = rows
    return out


def _load(columns: Sequence[Column]) -> tuple[Column | None, Column | None]:
    """(concurrency column, rate column)."""
    ranked = sorted((c for c in columns if c.means.role == "concurrency"), key=lambda c: -c.means.rank)
    rivals = [c for c in ranked if c.means.rank == ranked[0].means.rank]
    if len(rivals) > 1:
        # streams are offered in whole numbers; what was in flight on the average is not one
        rivals = [c for c in rivals if all(re.fullmatch(r"\d+(?:[.,]0+)?", t.digits) for t in c.tokens)]
    if len(ranked) > 1 and len(rivals) != 1:
        raise NotASweep("two columns could be the concurrency" if ranked[0].means.rank > 1 else "")
    load = rivals[0] if rivals else None
    rates = [c for c in columns if c.means.role == "rate"] or ([] if load else [c for c in columns if c.means.role == "rps"])
    for c in columns:
        if c.means.role == "rps" and c not in rates[:1]:
            c.means = replace(c.means, role="req_s")
    if not load and not rates:
        raise NotASweep()
    return load, rates[0] if rates else None


def _whole(value: float | None) -> bool:
    return value is not None and 1 <= value <= 1_000_000 and value == int(value)


def read(grid: Grid) -> Reading:
    """Steps of one grid; a grid that is no sweep gives none."""
    out = Reading(status=dict(grid.status), rejects=list(grid.rejects), caption=grid.caption)
    try:
        if any(all(t in {plain(h).lower() for h in grid.header} for t in tool) for tool in _TOOLS):
            raise NotASweep()
        upright = _upright(grid)
        out.status.update(upright.status)
        _read_upright(upright, out)
    except NotASweep as why:
        out.steps, out.status, out.notes = [], {}, []
        out.rejects = [(grid.at, why.missing)] if why.missing else []
        out.nearly = bool(why.missing)
        if why.missing:
            out.status = {grid.at: "near_miss"}
    return out


def _read_upright(grid: Grid, out: Reading) -> None:
    columns = _columns(grid)
    load, rate = _load(columns)
    digits = [t.digits for c in columns for t in c.tokens if t.digits and not t.why and t.value is None]
    reasons = []
    for c in columns:
        why = fill_numbers(c, digits, positive=c.means.role not in ("failed", "completed", "requests", "accept_len"))
        if why and (c.target or c.means.role in ("tok", "throughput") or c in (load, rate)):
            reasons.append(why)
    first = load or rate
    assert first is not None
    valid = [
        n for n, v in enumerate(first.values) if (_whole(v) if load else (v is not None or first.cells[n].lower().strip("*` ") == "inf"))
    ]
    usable = [
        c for c in columns if (c.target or c.means.role in ("tok", "throughput", "time")) and any(c.values[n] is not None for n in valid)
    ]
    if not valid or not usable:
        raise NotASweep("; ".join(reasons) if reasons and valid else "")
    if len(valid) == 1 and {c.means.role for c in usable} == {"wall"} and not any(c.means.role in ("completed", "failed") for c in columns):
        raise NotASweep("one duration and nothing that was measured in it: is it a setting?")
    series = _series(columns, valid, first)
    repeats = Counter((series[n], first.values[n]) for n in valid)
    distinct = len(repeats)
    of_runs = (
        any(_of_a_step(c) for c in usable)
        or any(_numbers_the_rows(c, valid) and plain(c.text).lower() in _RUNS for c in columns)
        or bool(load and _too_few_for_requests(repeats))
    )
    if len(valid) > 3 * distinct + 3 and not (of_runs and len(valid) <= MAX_REPEATS * distinct):
        # the same few loads again and again: a log or a list of requests, not a sweep
        raise NotASweep("the same load again and again: are these requests or repeated runs?" if len(valid) <= 1000 else "")
    systems = _systems(usable, reasons)
    evidence = _speaks_of_tokens(columns, grid.caption)
    emitted: dict[int, bool] = {}
    for name, members in systems:
        work = System(first.values if load else None, members, columns, valid, series, evidence)
        missing = work.settle(load.means.rank if load else 4)
        if missing is not None:
            raise NotASweep(missing)
        reasons += work.reasons
        out.notes += [(grid.at, kind, note) for kind, note in work.notes]
        for n in valid:
            row = work.step(n)
            emitted[n] = emitted.get(n, False) or bool(row)
            if row:
                base = {"line": grid.rows[n][0], "parts": (series[n], name), "concurrency": load.values[n] if load else None}
                out.steps.append({**base, "rate_rps": rate.values[n] if rate else None, **row, **_counted(columns, n)})
    _finish(grid, columns, usable, valid, emitted, reasons, out)


def _finish(
    grid: Grid, columns: list[Column], usable: list[Column], valid: list[int], emitted: dict[int, bool], reasons: list[str], out: Reading
) -> None:
    """The status of every line of a grid that was read."""
    if not out.steps:
        raise NotASweep("; ".join(dict.fromkeys(reasons)))
    by_line: dict[int, list[str]] = {}
    for n, (line, _) in enumerate(grid.rows):
        state, why = "matched", ""
        if n not in valid:
            state, why = "near_miss", "the concurrency is not a positive whole number"
        elif any(n in c.bad for c in usable):
            state, why = "near_miss", "a measured cell is unreadable"
        elif not emitted.get(n):
            state = "noise"
        by_line.setdefault(line, []).append(state)
        if why:
            out.rejects.append((line, why))
    for line, states in by_line.items():
        out.status[line] = next((s for s in ("near_miss", "matched") if s in states), "noise")
    if reasons:
        out.status[grid.at] = "near_miss"
        out.rejects += [(grid.at, why) for why in dict.fromkeys(reasons)]


def _counted(columns: Sequence[Column], n: int) -> dict[str, float]:
    """Requests, tokens and lengths of a row; `8/8` is completed of sent. A role that two columns claim stays out."""
    out: dict[str, float] = {}
    for c in columns:
        role = c.means.role
        if role not in FIXED or sum(d.means.role == role for d in columns) > 1:
            continue
        if c.tokens[n].why == "fraction" and role in ("completed", "requests"):
            done, sent = c.tokens[n].digits.split("/")
            out |= {"completed": float(done)} | (
                {"requests": float(sent)} if not any(d.means.role == "requests" and d is not c for d in columns) else {}
            )
        elif (value := c.values[n]) is not None:
            out[role] = value
    return out


def _speaks_of_tokens(columns: Sequence[Column], caption: str) -> bool:
    return bool(TOK_S.search(caption.lower())) or any(
        c.means.unit == "tok/s" or c.means.role == "prefill" or any(t.unit == "tok/s" for t in c.tokens) for c in columns
    )


def _series(columns: Sequence[Column], valid: Sequence[int], first: Column) -> list[str]:
    """The configuration of every row: named key columns that vary, else, where a concurrency repeats, the first other column that
    keeps its repetitions apart."""
    size = len(first.cells)

    def varies(c: Column) -> bool:
        return len({plain(c.cells[n]) for n in valid}) > 1

    keys = [c for c in columns if c.means.role in ("key", "input_len", "output_len") and varies(c)]
    if len({first.values[n] for n in valid}) == 1 and len(valid) > 2:  # one load, run again and again
        keys = [c for c in keys if not _numbers_the_rows(c, valid)]
        if not keys and any(_numbers_the_rows(c, valid) for c in columns if c is not first):
            return [""] * size
    names = [" ".join(_key(c, n) for c in keys).strip() for n in range(size)]
    at = [(names[n], first.values[n]) for n in valid]
    if len(set(at)) < len(at):
        for c in columns:
            split = {(names[n], first.values[n], plain(c.cells[n])) for n in valid}
            few = len({plain(c.cells[n]) for n in valid}) < len(valid)
            if c.means.role in ("", "concurrency", "requests") and c is not first and few and len(split) == len(at):
                return [f"{names[n]} {_key(c, n, named=True)}".strip() for n in range(size)]
        for c in columns:
            if c.means.role == "" and _same_runs_in_each(c, valid, names, first):
                return [f"{names[n]} {_key(c, n, named=True)}".strip() for n in range(size)]
    return names


def _same_runs_in_each(column: Column, valid: Sequence[int], names: Sequence[str], first: Column) -> bool:
    """A setting without a name we know (`build`): every value of it was measured at the same loads, as often, and more than once."""
    arms: dict[str, Counter[tuple[str, float | None]]] = {}
    for n in valid:
        arms.setdefault(plain(column.cells[n]), Counter())[names[n], first.values[n]] += 1
    counts = list(arms.values())
    return "" not in arms and len(arms) >= 2 and all(c == counts[0] for c in counts) and min(counts[0].values()) >= 2


def _of_a_step(column: Column) -> bool:
    """Measured over many requests: a rate of all streams, a percentile or a mean, a wall time of the run."""
    return (column.means.role == "aggregate" and not column.means.weak) or bool(column.means.stat and column.target)


def _too_few_for_requests(repeats: Counter[tuple[str, float | None]]) -> bool:
    """Several settings, each with the same number of rows, and fewer rows than streams: a load of 64 streams is 64 requests at least."""
    return len(repeats) >= 2 and len(set(repeats.values())) == 1 and all(n < (load or 0) for (_, load), n in repeats.items())


_RUNS = {"run", "trial", "iteration", "iter", "rep", "repeat", "repetition", "attempt", "launch", "round", "lauf"}


def _numbers_the_rows(column: Column, valid: Sequence[int]) -> bool:
    """A column that only counts: run 1, 2, 3."""
    digits = [column.tokens[n].digits for n in valid]
    return plain(column.text).lower().strip(" .:#") in {*_RUNS, "no", "nr", ""} and digits == [
        str(k + int(digits[0] or 1)) for k in range(len(digits))
    ]


def _key(column: Column, n: int, named: bool = False) -> str:
    value = plain(column.cells[n])
    numeric = named or column.means.role != "key" or bool(column.tokens[n].digits)
    return f"{plain(column.text)}={value}" if numeric and value else value


def _systems(usable: list[Column], reasons: list[str]) -> list[tuple[str, list[Column]]]:
    """Columns by system: ("", all) for one; two systems side by side repeat their columns, told apart by the rest of their headers."""
    kept = _preferred(usable)
    slots = [(c.means.role, c.means.stat) if not c.target else (c.target, "") for c in kept]
    twice = {s for s in slots if slots.count(s) > 1}
    if not twice:
        return [("", kept)]
    repeated = [c for c, s in zip(kept, slots) if s in twice]
    names = list(dict.fromkeys(c.means.rest for c in repeated))
    if all(names) and all(slots.count(s) == len(names) for s in twice) and len(names) > 1:
        return [(name, [c for c in kept if c.means.rest == name]) for name in names]
    groups: list[list[tuple[Column, tuple[str, str]]]] = []
    for c, s in zip(kept, slots):
        if not groups or s in {t for _, t in groups[-1]}:
            groups.append([])
        groups[-1].append((c, s))
    titles = [next((c.means.rest for c, _ in g if c.means.rest), "") for g in groups]
    if len({tuple(s for _, s in g) for g in groups}) == 1 and all(titles) and len(set(titles)) == len(titles):
        return [(title, [c for c, _ in g]) for title, g in zip(titles, groups)]
    reasons += [f"several columns say {label(c)}" for c in repeated]
    return [("", [c for c, s in zip(kept, slots) if s not in twice])]


def _preferred(usable: list[Column]) -> list[Column]:
    """Of aggregates under one name the one that counts output; prompt plus output beside it has a column of its own."""
    order = {"output": 0, "": 1, "total?": 2, "total": 2}
    out = []
    for c in usable:
        rivals = [d for d in usable if d.target == c.target and d.means.rest == c.means.rest] if c.means.role == "aggregate" else [c]
        if order.get(c.means.counts, 1) == min(order.get(d.means.counts, 1) for d in rivals):
            out.append(c)
        elif c.means.counts in ("total", "total?"):
            out.append(replace(c, means=replace(c.means, role="with_prompts")))
    return out


# --- the parser --------------------------------------------------------------------------------------------------------------------


@dataclass
class Scan:
    """One pass over a text that arrives in blocks of lines."""

    readings: list[Reading] = field(default_factory=list)
    done: int = 0  # lines behind us
    heading: str = ""
    left: list[str] = field(default_factory=list)
    steps: int = 0

    def feed(self, text: str, last: bool) -> None:
        """Take whole lines (the last text may end inside one) and keep back what a table may still go on in."""
        import polars as pl

        new = text.split("\n")
        whole = not new[-1]
        if whole:
            new.pop()
        series = prepared(pl.Series("line", self.left + new, dtype=pl.String))
        lines = series.to_list()
        headings = [(i, lines[i]) for i in headings_of(series)]
        keep = len(lines) if last else max(0, len(lines) - TAIL_LINES)
        cursor = 0
        for at, kind in starts(series):
            if at < cursor or at >= keep or self.steps > MAX_STEPS:
                continue
            grid = READERS[kind](lines, at)
            if grid is None:
                continue
            if grid.runs_on and not last and len(lines) - at < MAX_TABLE_LINES:
                keep = at
                break
            if last and not whole:
                cut_end(grid, len(lines) - 1, lines[-1])
            grid.caption = caption_of(lines, at, headings, self.heading)
            cursor = self._take(grid, cursor)
        keep = max(keep, cursor) if not last else len(lines)
        self.heading = next((h for i, h in reversed(headings) if i < keep), self.heading)
        self.done += keep
        self.left = lines[keep:]

    def _take(self, grid: Grid, cursor: int) -> int:
        got = read(grid)
        for step in got.steps:
            step["line"] += self.done + 1
        got.status = {i + self.done + 1: s for i, s in got.status.items()}
        got.rejects = [(i + self.done + 1, why) for i, why in got.rejects]
        got.notes = [(i + self.done + 1, kind, note) for i, kind, note in dict.fromkeys(got.notes)]
        self.steps += len(got.steps)
        if got.steps or got.nearly:
            self.readings.append(got)
        return max(cursor, grid.stop if got.steps else cursor)


def _name_series(readings: Sequence[Reading]) -> list[dict[str, Any]]:
    """Steps with their series named and numbered. A part that is the same everywhere is left out; one series alone has no name."""
    groups: dict[tuple[int, tuple[str, str]], list[dict[str, Any]]] = {}
    for t, reading in enumerate(readings):
        for step in reading.steps:
            groups.setdefault((t, step.pop("parts")), []).append(step)
    tables = [t for t, r in enumerate(readings) if r.steps]
    several = len(groups) > 1
    taken: set[str] = set()
    for (t, parts), steps in groups.items():
        head = plain(readings[t].caption) if len(tables) > 1 else ""
        name = " / ".join(p[:60].strip() for p in (head, *parts) if p) or f"table {tables.index(t) + 1}"
        base, n = name, 2
        while name in taken:
            name, n = f"{base} ({n})", n + 1
        taken.add(name)
        for k, step in enumerate(steps, 1):
            step |= {"series": name if several else None, "step": k}
    return [step for steps in groups.values() for step in steps]


class SweepTable:
    """Hand-made concurrency sweeps; see the module's page."""

    name = "sweep-table"
    api = 1
    inlaid = ("concurrency", "max_concurrency", "num_concurrent", "concurrent_requests", "n_parallel")
    beyond = (
        "Nutzer",
        "Token/s",
        "|--",
        "|:-",
        "| --",
        "| :-",
        "-|-",
        "-+-",
        "━",
        "│",
        "┃",
        "oncurren",
        "tok/s",
        "tok_s",
        "t/s",
        "tps",
        "TPS",
        "treams",
    )

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """Claims a source whose head holds at least one readable sweep row; a table that nearly is one is refused with the reason."""
        if _is_json(head):
            found = _json_readings(JsonLines(Source.from_text(head.text))) if head.complete else []
            rows = sum(len(r.steps) for r in found)
            missing = next((why for r in found for _, why in r.rejects if r.nearly), "")
            if rows:
                return Claim(30, f"JSON with a concurrency sweep: {rows} steps")
            return Refusal(20, f"JSON with a concurrency: {missing}") if missing else None
        scan = Scan()
        scan.feed(head.text, last=True)
        rows = sum(len(r.steps) for r in scan.readings)
        if rows:
            tables = sum(bool(r.steps) for r in scan.readings)
            most = sum(len(r.status) for r in scan.readings) * 2 > head.text.count("\n")
            return Claim(60 if most else 45, f"a concurrency sweep: {rows} steps in {tables} table{'s'[: tables > 1]}", shares=True)
        near = next((why for r in scan.readings for _, why in r.rejects if r.nearly), "")
        return Refusal(40, f"a sweep table: {near}") if near else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps`, `quality` and one of `clocks`; lines outside sweep tables are `other`."""
        if _is_json(source.head()):
            lines, scan = JsonLines(source), Scan()
            scan.readings = _json_readings(lines)
            if steps := _name_series(scan.readings):
                _emit(steps, scan, emit)
            return lines.close()
        scan, text = Scan(), ""
        for _, block in source.blocks():
            if text:
                scan.feed(text, last=False)
            text = block
        scan.feed(text, last=True) if text else None
        counts = _count(scan)
        steps = _name_series(scan.readings)
        if steps:
            _emit(steps, scan, emit)
        return counts


def _is_json(head: Head) -> bool:
    return re.match(r"\s*(?:\{\s*\"|\[\s*\{\s*\")", head.text) is not None


def _json_readings(lines: JsonLines) -> list[Reading]:
    grids: list[Grid] = []
    for first, last, doc in json_objects(lines):
        if doc is None:
            lines.near(first, "an object that is cut or garbled")
            continue
        found = list(grids_of(doc, first))
        if found:
            lines.add(first, last, "matched")
        grids += found
    readings = [read(grid) for grid in joined(grids)]
    lines.counts.rejects += [reject for got in readings for reject in got.rejects[:10]]
    return [got for got in readings if got.steps or got.nearly]


def _count(scan: Scan) -> Counts:
    counts = Counts()
    states: dict[int, str] = {}
    for reading in scan.readings:
        states.update(reading.status)
        counts.rejects += reading.rejects
    for state in states.values():
        setattr(counts, state, getattr(counts, state) + 1)
    counts.other += scan.done - len(states)
    counts.rejects = sorted(set(counts.rejects))[:20]
    return counts


def _emit(steps: list[dict[str, Any]], scan: Scan, emit: Emit) -> None:
    import polars as pl

    texts = ("series", "aggregate_counts", "per_stream_counts")
    names = list(dict.fromkeys(k for step in steps for k in step))
    types = {n: pl.String if n in texts else pl.Int64 if n == "line" else pl.Int32 if n == "step" else pl.Float64 for n in names}
    emit("bench_steps", pl.DataFrame([{n: s.get(n) for n in names} for s in steps], schema=types))
    notes = [(line, kind, 1, note) for r in scan.readings for line, kind, note in r.notes]
    if scan.steps > MAX_STEPS:
        notes.append((steps[-1]["line"], "table-too-long", 1, "More rows than a sweep has: the rest was not read."))
    if notes:
        schema = {"line": pl.Int64, "kind": pl.String, "n": pl.Int64, "note": pl.String}
        emit("quality", pl.DataFrame(notes, schema=schema, orient="row"))
    emit("clocks", pl.DataFrame({"line": [steps[0]["line"]], "kind": ["none"]}))


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "## Sweep\n\n| c | aggregate tok/s | per stream | TTFT |\n|---:|---:|---:|---:|\n| 1 | 18.4 | 18.4 | 0.21 |\n|"
        " 4 | 60.8 | 15.2 | 0.44 |\n"
        "| **16** | **129.6** ⭐ | 8.1 | 1.02 |\n| 32 | OOM | — | — |\n",
        {
            "bench_steps": [
                {"line": 5, "step": 1, "concurrency": 1.0, "aggregate_tok_s": 18.4, "aggregate_counts": None, "per_stream_tok_s": 18.4,
                 "per_stream_counts": "derived", "ttft_mean_ms": 210.0, "series": None, "wall_s": None},
                {"line": 6, "step": 2, "concurrency": 4.0, "aggregate_tok_s": 60.8, "per_stream_tok_s": 15.2},
                {"line": 7, "step": 3, "concurrency": 16.0, "aggregate_tok_s": 129.6, "ttft_mean_ms": 1020.0},
            ],
            "quality": [{"kind": "unit-by-numbers"}, {"kind": "mean-assumed"}],
            "clocks": [{"kind": "none"}],
        },
        "Markdown, bold best row, a unit left out",
    ),
    Sample(
        "Nutzer;Durchsatz (Token/s);Latenz (s);Fehler;Dauer\n1;24,5;7,9;0;8,0 s\n8;1.024,5;12,25;1;1m22s\n",
        {
            "bench_steps": [
                {"line": 2, "concurrency": 1.0, "aggregate_tok_s": 24.5, "e2e_mean_ms": 7900.0, "failed": 0.0, "wall_s": 8.0},
                {"line": 3, "concurrency": 8.0, "aggregate_tok_s": 1024.5, "e2e_mean_ms": 12250.0, "failed": 1.0, "wall_s": 82.0},
            ]
        },
        "CSV of a German spreadsheet",
        name="sweep.csv",
    ),
    Sample(
        "| RPS | Num Prompts | Median TTFT (ms) | Median TPOT |\n|---|---|---|---|\n| 4 | 1,200 | 65.5 | 18.25 |\n|"
        " 8 | 2,400 | 73.5 | 24.5 |\n",
        {
            "bench_steps": [
                {"line": 3, "concurrency": None, "rate_rps": 4.0, "requests": 1200.0, "ttft_p50_ms": 65.5, "tpot_p50_ms": None},
                {"line": 4, "concurrency": None, "rate_rps": 8.0, "requests": 2400.0, "ttft_p50_ms": 73.5, "tpot_p50_ms": None},
            ]
        },
        "a request rate sweep",
    ),
    Sample(
        "| config | single TG | 2-conc agg | 4-conc agg | 4-conc per-req |\n|---|---|---|---|---|\n| draft on | 38.5 |"
        " 25.5 | 23.5 | 10.5 |\n"
        "| draft off | 24.5 | 26.5 | **28.5** | 14.5 |\n",
        {
            "bench_steps": [
                {"line": 3, "series": "draft on", "concurrency": 1.0, "per_stream_tok_s": 38.5, "aggregate_tok_s": None},
                {"line": 3, "series": "draft on", "concurrency": 2.0, "per_stream_tok_s": None, "aggregate_tok_s": 25.5},
                {"line": 3, "series": "draft on", "concurrency": 4.0, "per_stream_tok_s": 10.5, "aggregate_tok_s": 23.5},
                {"line": 4, "series": "draft off", "concurrency": 1.0, "per_stream_tok_s": 24.5},
                {"line": 4, "series": "draft off", "concurrency": 2.0, "aggregate_tok_s": 26.5},
                {"line": 4, "series": "draft off", "concurrency": 4.0, "per_stream_tok_s": 14.5, "aggregate_tok_s": 28.5},
            ]
        },
        "concurrency in the header cells",
    ),
    Sample(
        "warm-up\n\n=== 1 concurrent streams, 2 run(s) each ===\n  total_wall=20.5s  aggregate_TPS=77.5\n"
        "  per-stream  mean=77.6  CV=2.5%\n\n"
        "=== 4 concurrent streams, 2 run(s) each ===\n  total_wall=21.0s  aggregate_TPS=243.5\n  per-stream  mean=71.0  CV=2.5%\n",
        {
            "bench_steps": [
                {"line": 3, "concurrency": 1.0, "wall_s": 20.5,
                 "aggregate_tok_s": 77.5, "per_stream_tok_s": 77.6, "per_stream_counts": None},
                {"line": 7, "concurrency": 4.0, "wall_s": 21.0, "aggregate_tok_s": 243.5, "per_stream_tok_s": 71.0},
            ]
        },
        "blocks of a load script",
    ),
)  # fmt: skip

PARSER = SweepTable()
