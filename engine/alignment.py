"""What the joined times say about the evidence itself: samples that look like evidence for the load and are not."""

from __future__ import annotations

from .phrase import duration
from .store import Store

A_YEAR = 366 * 86400.0


def note_all(store: Store) -> None:
    """Every quality row about times that needs the views."""
    note_outside(store)
    note_gaps(store)
    note_disagreement(store)


def note_gaps(store: Store) -> None:
    """A quality row for every GPU recording with holes: nothing is known of what happened in them."""
    for row in store.rows_of(_GAPS):
        text = f"no sample for {duration(row['longest'])}, at a usual distance of {row['step']:g} s: nothing is known of the cards in that time"
        store.con.execute(
            "INSERT INTO raw.quality (source_id, line, kind, n, note) VALUES (?, ?, 'gap', ?, ?)",
            [row["source_id"], row["line"], row["n"], text],
        )


# A hole is longer than three usual distances, and than what a busy machine makes of one.
_GAPS = """
WITH rounds AS (
    SELECT source_id, cycle, min(t) AS t, min(line) AS line FROM main.gpu_samples WHERE t IS NOT NULL GROUP BY source_id, cycle
), steps AS (
    SELECT *, t - lag(t) OVER (PARTITION BY source_id ORDER BY t) AS gap FROM rounds
), usual AS (
    SELECT source_id, median(gap) FILTER (gap > 0) AS step FROM steps GROUP BY source_id HAVING count(*) >= 10
)
SELECT source_id, step, count(*) AS n, max(gap) AS longest, arg_max(line, gap) AS line
FROM steps JOIN usual USING (source_id) WHERE gap > greatest(3 * step, 5) GROUP BY source_id, step ORDER BY source_id
"""


def note_disagreement(store: Store) -> None:
    """A quality row where a client had requests in flight while the server, on the same axis, had none: the server is believed."""
    for row in store.rows_of(_DISAGREE):
        if row["alone"] is not None and row["alone"] > max(10.0, 0.1 * row["total"]):
            text = (
                f"the client counts requests in flight for {row['alone']:.0f} of {row['total']:.0f} s in which the server's record has none; "
                "the server is believed"
            )
            store.con.execute(
                "INSERT INTO raw.quality (source_id, kind, n, note) VALUES (?, 'in-flight-differs', 1, ?)", [row["source_id"], text]
            )


_DISAGREE = """
WITH client AS (
    SELECT i.source_id, i.began + coalesce(c.uncertainty_s, 1) AS began, i.ended - coalesce(c.uncertainty_s, 1) AS ended
    FROM main.in_flight i JOIN main.clocks c USING (source_id)
    WHERE i.origin = 'client requests' AND i.n >= 1 AND NOT c.estimated AND i.began > -1e9
), server AS (
    SELECT began - unc_s AS began, ended + unc_s AS ended FROM main.load_windows WHERE origin LIKE 'server%' AND NOT estimated AND began > -1e9
), span AS (
    SELECT min(began) AS began, max(ended) AS ended FROM server
), within AS (
    SELECT source_id, greatest(c.began, s.began) AS began, least(c.ended, s.ended) AS ended FROM client c, span s
), both_busy AS (
    SELECT w.source_id, sum(greatest(0, least(w.ended, s.ended) - greatest(w.began, s.began))) AS shared
    FROM within w JOIN server s ON s.began < w.ended AND s.ended > w.began GROUP BY w.source_id
)
SELECT w.source_id, sum(greatest(0, w.ended - w.began)) AS total, sum(greatest(0, w.ended - w.began)) - coalesce(any_value(b.shared), 0) AS alone
FROM within w LEFT JOIN both_busy b USING (source_id) GROUP BY w.source_id ORDER BY w.source_id
"""


def note_outside(store: Store) -> None:
    """A quality row for every GPU recording whose samples all lie outside the load, with how far away the nearest one is."""
    for row in store.rows_of(_OUTSIDE):
        before, after = row["before_s"], row["after_s"]
        if before is None and after is None:
            continue
        apart = min(gap for gap in (before, after) if gap is not None)
        far = "years" if apart > 2 * A_YEAR else duration(apart)  # the number of years between an epoch and now says nothing
        where = f"{far} " + ("before the first request that follows" if apart == before else "after the last request had ended")
        if apart > 2 * A_YEAR:
            where += " (a date or a stated offset must be wrong)"
        what = "the only sample was" if row["n"] == 1 else f"none of {row['n']} samples was taken while requests ran; the nearest was"
        store.con.execute(
            "INSERT INTO raw.quality (source_id, line, kind, n, note) VALUES (?, ?, 'outside-the-load', ?, ?)",
            [row["source_id"], row["line"], row["n"], f"{what} taken {where}: it says nothing about the load"],
        )


# Every round has to be outside for certain, or too near an edge to count: one of which nothing is known spoils the sentence.
_OUTSIDE = """
WITH aligned AS (
    SELECT
        g.source_id, g.cycle, min(g.time) AS time, min(g.line) AS line,
        any_value(CASE WHEN c.offset_s < -1e9 THEN round(c.offset_s / 1e10)::INTEGER ELSE 0 END) AS axis
    FROM main.gpu_samples g JOIN main.clocks c USING (source_id)
    WHERE c.offset_s IS NOT NULL AND NOT c.estimated AND g.time IS NOT NULL AND g.source_id NOT IN (SELECT source_id FROM main.bindings)
    GROUP BY g.source_id, g.cycle
), unknown AS (
    SELECT DISTINCT a.source_id FROM aligned a JOIN main.load_unknown u ON u.axis = a.axis AND a.time BETWEEN u.began AND u.ended
), placed AS (
    SELECT DISTINCT source_id FROM main.samples_in_load WHERE placed <> 'unplaced'
), apart AS (
    SELECT
        a.*, (SELECT min(w.began - a.time) FROM main.load_windows w WHERE w.began > a.time) AS before_s,
        (SELECT min(a.time - w.ended) FROM main.load_windows w WHERE w.ended < a.time) AS after_s
    FROM aligned a
    WHERE source_id NOT IN (FROM placed) AND source_id NOT IN (FROM unknown) AND EXISTS (FROM main.load_windows)
      AND NOT EXISTS (FROM main.load_windows WHERE estimated)
)
SELECT source_id, min(line) AS line, count(*) AS n, min(before_s) AS before_s, min(after_s) AS after_s FROM apart GROUP BY source_id ORDER BY source_id
"""
