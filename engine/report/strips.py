"""Character strips: one line per card, their sum, running and waiting requests, aligned by time. They survive a terminal, an issue, mail.

One mark is the mean of its share of the time, on eighths of the scale; a blank is no sample, never a zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..phrase import number

if TYPE_CHECKING:
    from ..analyze import Analysis
    from ..store import Store

COLUMNS = 72
LINES = 16
MARKS = "▁▂▃▄▅▆▇█"
CARDS = 8  # of one recording; of more, the lowest and the highest are shown
NAME, MARKED = 11, 34  # columns of the name and of the marks; what is left says the numbers


def draw(analysis: Analysis) -> str:
    """The strips as lines of at most COLUMNS characters, at most LINES of them; an empty text where there is nothing to draw."""
    store, blocks = analysis.store, []
    for panel in store.rows_of(_RECORDINGS):
        blocks.append(_cards(store, panel))
    for panel in store.rows_of(_STATISTICS):
        blocks.append(_statistics(store, panel))
    lines: list[str] = []
    for block in blocks:
        if len(lines) + len(block) + bool(lines) <= LINES:
            lines += ([""] if lines else []) + block
    return "\n".join(line.rstrip()[:COLUMNS] for line in lines) + "\n" if lines else ""


# the recordings that say most come first: placed in a step, then long ones
_RECORDINGS = """
SELECT u.scope_id, u.source_id, coalesce(sc.label, 'trace') AS label, s.name AS source, max(u.cards) AS cards, count(*) AS n,
    bool_and(u.t IS NOT NULL) AND max(u.t) > min(u.t) AS timed, min(u.t) AS began, max(u.t) AS ended,
    min(u.cycle) AS first, max(u.cycle) AS last,
    (SELECT count(DISTINCT coalesce(host, '')) FROM main.samples_in_load l
     WHERE l.scope_id = u.scope_id AND l.source_id = u.source_id) AS hosts
FROM main.util_sums u LEFT JOIN main.scopes sc USING (scope_id) LEFT JOIN raw.sources s ON s.source_id = u.source_id
GROUP BY u.scope_id, u.source_id, sc.label, s.name HAVING count(*) >= 3
ORDER BY u.scope_id = 0, n DESC, u.scope_id, u.source_id LIMIT 4
"""
_STATISTICS = """
SELECT r.source_id, coalesce(r.engine, 0) AS engine, coalesce(r.run, 0) AS run, s.name AS source, 'trace' AS label, count(*) AS n,
    bool_and(r.t IS NOT NULL) AND max(r.t) > min(r.t) AS timed, min(r.t) AS began, max(r.t) AS ended, 1 AS first, count(*) AS last
FROM main.server_samples r LEFT JOIN raw.sources s USING (source_id) WHERE r.running IS NOT NULL OR r.waiting IS NOT NULL
GROUP BY r.source_id, coalesce(r.engine, 0), coalesce(r.run, 0), s.name HAVING count(*) >= 3
ORDER BY n DESC, r.source_id, engine, run LIMIT 2
"""


def _by_time(panel: dict[str, Any]) -> bool:
    """Marks of equal time need several samples each, else their jitter would show as holes; below that, marks are samples."""
    return bool(panel["timed"]) and panel["n"] > 2 * MARKED


def _width(panel: dict[str, Any]) -> int:
    """Number of marks: one per sample where they fit."""
    return MARKED if _by_time(panel) else max(1, min(MARKED, int(panel["last"] - panel["first"] + 1)))


def _bins(panel: dict[str, Any]) -> str:
    """SQL for the number of the mark that a row falls into."""
    width = _width(panel)
    if _by_time(panel):
        return f"least(floor((t - {panel['began']!r}) / {panel['ended'] - panel['began']!r} * {width}), {width} - 1)::INTEGER"
    return f"floor((cycle - {panel['first']}) * {width} / {panel['last'] - panel['first'] + 1})::INTEGER"


def _cards(store: Store, panel: dict[str, Any]) -> list[str]:
    where = f"WHERE scope_id = {panel['scope_id']} AND source_id = {panel['source_id']}"
    rounds = f"FROM main.util_sums {where}"
    if panel["cards"] > CARDS:
        lowest = f"SELECT 0 AS place, 'lowest' AS name, {_bins(panel)} AS bin, util_min AS y {rounds}"
        cards = f"{lowest} UNION ALL SELECT 1, 'highest', {_bins(panel)}, util_max {rounds}"
    else:
        host = "'host' || dense_rank() OVER (ORDER BY host) || ' ' ||" if panel["hosts"] > 1 else ""
        # a card that never does anything and holds no model is left out, as in the sum
        busy = "QUALIFY max(util_gpu) OVER (PARTITION BY host, gpu) > 2 OR max(mem_used) OVER (PARTITION BY host, gpu) > 1024"
        name = f"{host} 'gpu' || gpu AS name"
        cards = f"SELECT gpu AS place, {name}, {_bins(panel)} AS bin, util_gpu AS y FROM main.samples_in_load {where} {busy}"
    lines = [_line(strip, panel, 100.0, " %") for strip in _strips(store, cards)]
    top = 100.0
    if panel["cards"] > 1:
        value = "CASE WHEN complete THEN util_sum END"
        sums = _strips(store, f"SELECT 0 AS place, 'sum' AS name, {_bins(panel)} AS bin, {value} AS y {rounds}")
        top = max([strip["most"] for strip in sums if strip["most"] > 125], default=100.0)  # cards that work together go far beyond 100
        lines += [_line(strip, panel, top, " %") for strip in sums]
    return [*lines, _footer(panel, f"; full sum = {number(top)} %" if top > 100 else "")] if lines else []


def _statistics(store: Store, panel: dict[str, Any]) -> list[str]:
    which = f"source_id = {panel['source_id']} AND coalesce(engine, 0) = {panel['engine']} AND coalesce(run, 0) = {panel['run']}"
    told = f"FROM main.server_samples WHERE {which} AND (running IS NOT NULL OR waiting IS NOT NULL)"
    rows = f"SELECT *, row_number() OVER (ORDER BY line, running, waiting) AS cycle {told}"
    parts = [
        f"SELECT {n} AS place, '{w}' AS name, {_bins(panel)} AS bin, {w} AS y FROM ({rows})" for n, w in enumerate(("running", "waiting"))
    ]
    lines = [_line(strip, panel, max(strip["most"], 1.0), "") for strip in _strips(store, " UNION ALL ".join(parts))]
    return [*lines, _footer(panel)] if lines else []


_MEANS = """
WITH rows_of AS ({rows}), whole AS (
    SELECT place, name, avg(y) AS mean, max(y) AS most FROM rows_of GROUP BY place, name HAVING count(y) > 0
)
SELECT w.place, w.name, w.mean, w.most, r.bin, avg(r.y) AS y FROM whole w JOIN rows_of r USING (place, name)
GROUP BY w.place, w.name, w.mean, w.most, r.bin ORDER BY w.place, w.name, r.bin
"""


def _strips(store: Store, rows: str) -> list[dict[str, Any]]:
    """One dict per name that has values: the mean of each mark, and mean and most of all samples."""
    out: dict[str, dict[str, Any]] = {}
    for row in store.rows_of(_MEANS.format(rows=rows)):
        strip = out.setdefault(row["name"], {"name": row["name"], "mean": row["mean"], "most": row["most"], "marks": {}})
        strip["marks"][row["bin"]] = row["y"]
    return list(out.values())


def mark(value: float | None, top: float) -> str:
    """One of eight marks: the lowest is 0 to an eighth of `top`. No value is a blank."""
    if value is None:
        return " "
    return MARKS[max(0, min(len(MARKS) - 1, int(value / top * len(MARKS))))]


def _line(strip: dict[str, Any], panel: dict[str, Any], top: float, unit: str) -> str:
    marks = "".join(mark(strip["marks"].get(n), top) for n in range(_width(panel)))
    said = f"mean {strip['mean']:.1f}{unit}" + ("" if unit else f", at most {number(strip['most'])}")
    return f"{strip['name'][:NAME]:<{NAME}} {marks}  {said}"


def _footer(panel: dict[str, Any], more: str = "") -> str:
    width = _width(panel)
    span = f"{number(round(panel['ended'] - panel['began'], 1))} s" if panel["timed"] else ""
    if _by_time(panel):
        what = f"{span}, one mark = {_rounded((panel['ended'] - panel['began']) / width)} s"
    else:
        samples = int(panel["last"] - panel["first"] + 1)
        what = (
            f"{samples} samples" + (f" in {span}" if span else "") + ("" if samples == width else f", {_rounded(samples / width)} per mark")
        )
    where = "" if panel["label"] == "trace" else f"{panel['label']}, "
    room = COLUMNS - NAME - 1 - len(f"{where}: {what}{more}")
    name = "".join(c if c.isprintable() else "?" for c in (panel["source"] or "log").rsplit("/", 1)[-1])
    return f"{'':<{NAME}} {where}{name if len(name) <= room else name[: max(0, room - 1)] + '…'}: {what}{more}"


def _rounded(value: float) -> str:
    return f"{float(f'{value:.2g}'):g}"
