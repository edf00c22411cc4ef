"""What the joined times say about the evidence itself: samples that look like evidence for the load and are not."""

from __future__ import annotations

from .store import Store


def note_outside(store: Store) -> None:
    """A quality row for every GPU recording whose samples all lie outside the load, with how far away the nearest one is."""
    for row in store.rows_of(_OUTSIDE):
        if row["before_s"] is not None and (row["after_s"] is None or row["before_s"] <= row["after_s"]):
            where = f"{row['before_s']:.0f} s before the first request that follows"
        elif row["after_s"] is not None:
            where = f"{row['after_s']:.0f} s after the last request had ended"
        else:
            continue
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
