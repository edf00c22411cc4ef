"""What went wrong by the files' own word: errors that a server logged, requests that failed or were cancelled, each with its first place."""

from __future__ import annotations

from .store import Store

KIND = "failures"


def note_failures(store: Store) -> None:
    """A quality row per source and kind of failure: how many, of how many where that is known, and which."""
    for row in store.rows_of(_FAILURES):
        of = f" of {row['total']:.0f}" if row["total"] else ""
        many = "s" if (row["total"] or row["n"]) != 1 else ""
        which = f" ({row['which']})" if row["which"] else ""
        store.con.execute(
            "INSERT INTO raw.quality (source_id, line, kind, n, note) VALUES (?, ?, ?, ?, ?)",
            [row["source_id"], row["line"], KIND, row["n"], f"{row['n']:.0f}{of} {row['what']}{many}{which}{row['verb']}"],
        )


# A cancelled request may also be an event: the requests are counted, where there are any. `detail` is a word of ours.
_FAILURES = """
WITH asked AS (
    SELECT source_id, line, status, count(*) OVER (PARTITION BY source_id) AS total FROM main.requests
), events AS (
    SELECT source_id, line, run, kind, replace(detail, '-', ' ') AS detail FROM main.server_events WHERE kind = 'error'
       OR (kind = 'cancel' AND source_id NOT IN (SELECT source_id FROM asked WHERE status = 'cancelled'))
), runs AS (
    SELECT source_id, max(run) AS last FROM (SELECT source_id, run FROM main.server_events UNION ALL SELECT source_id, run FROM main.server_samples)
    GROUP BY source_id
)
SELECT source_id, min(line) AS line, count(*) AS n, NULL AS total, CASE kind WHEN 'error' THEN 'error' ELSE 'request' END AS what,
    CASE WHEN kind = 'cancel' THEN ' cancelled' WHEN max(r.last) > min(run) THEN ', and the server started again' ELSE '' END AS verb,
    string_agg(DISTINCT detail, ', ' ORDER BY detail) AS which
FROM events LEFT JOIN runs r USING (source_id) GROUP BY source_id, kind
UNION ALL
SELECT source_id, min(line), count(*), any_value(total), 'request', ' ' || status, NULL
FROM asked WHERE status IN ('failed', 'cancelled') GROUP BY source_id, status
UNION ALL
SELECT source_id, min(line) FILTER (value >= 400), count(*) FILTER (value >= 400), count(*), 'request', ' answered with an error',
    string_agg(DISTINCT CASE WHEN value >= 400 THEN 'HTTP ' || value::INTEGER END, ', ' ORDER BY CASE WHEN value >= 400 THEN 'HTTP ' || value::INTEGER END)
FROM main.server_events WHERE kind = 'access' AND value IS NOT NULL AND source_id NOT IN (SELECT source_id FROM asked WHERE status = 'failed')
GROUP BY source_id HAVING count(*) FILTER (value >= 400) > 0
UNION ALL
SELECT source_id, min(line), sum(failed)::BIGINT, sum(coalesce(requests, completed + failed)), 'request', ' failed', NULL
FROM main.bench_steps WHERE failed > 0 AND source_id NOT IN (SELECT source_id FROM asked) GROUP BY source_id
ORDER BY source_id, line
"""
