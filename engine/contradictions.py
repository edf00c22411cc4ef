"""Facts that the user or a file name states against what the files say: the files win, and the difference is told as input quality. So is
a server's log that nothing ties to the sweep beside it, and a recording of other cards than the server's."""

from __future__ import annotations

from .store import Store

# Stated value beside the printed one, by key. Numbers differ from 2 % on, which is more than any rounding of a printed size.
_AGAINST = """
WITH printed AS (
    SELECT key, value, num AS lo, coalesce(num_hi, num) AS hi, source_id, line FROM main.server_config WHERE origin = 'logged' AND key IN ('split', 'slots', 'server', 'speculation')
    UNION ALL SELECT 'model.layers', NULL, layers, layers, source_id, line FROM main.models WHERE coalesce(section, 0) = 0
    UNION ALL SELECT 'model.hidden', NULL, hidden, hidden, source_id, line FROM main.models WHERE coalesce(section, 0) = 0
    UNION ALL SELECT 'model.params_total_b', NULL, params_total_b, params_total_b, source_id, line FROM main.models WHERE coalesce(section, 0) = 0
    UNION ALL SELECT 'model.bits_per_weight', NULL, bits_per_weight, bits_per_weight, source_id, line FROM main.models WHERE coalesce(section, 0) = 0
), compared AS (
    SELECT
        g.source_id, g.line, g.key, coalesce(printf('%g', g.num), g.value) AS stated, coalesce(printf('%g', p.lo), p.value) AS told, s.name AS source, p.line AS at_line,
        CASE WHEN g.num IS NOT NULL THEN p.hi < 0.98 * g.num OR p.lo > 1.02 * g.num ELSE lower(p.value) <> lower(g.value) END AS differs
    FROM main.given g JOIN printed p USING (key) JOIN raw.sources s ON s.source_id = p.source_id
), decoded AS (
    -- more streams decode at a time than there are slots
    SELECT g.source_id, g.line, g.key, printf('%g', g.num) AS stated, printf('%.3g streams that decode at a time at c=%g', t.n_eff, t.concurrency) AS told,
        s.name AS source, t.ev[1].line AS at_line
    FROM main.given g JOIN main.steps t ON t.n_eff > 1.1 * g.num AND t.r_is_decode JOIN raw.sources s ON s.source_id = t.ev[1].source_id WHERE g.key = 'slots'
)
SELECT source_id, line, key, stated, min_by(told, at_line) AS told, min_by(source, at_line) AS source, min(at_line) AS at_line
FROM (SELECT * EXCLUDE (differs) FROM compared WHERE differs UNION ALL FROM decoded) WHERE told IS NOT NULL GROUP BY ALL ORDER BY source_id, line, key
"""


_NAMED = """
SELECT n.source_id, n.label, max(w.n_max) AS n FROM main.named_steps n JOIN main.load_windows w USING (source_id)
WHERE w.n_max > n.concurrency GROUP BY n.source_id, n.label ORDER BY n.source_id
"""

_STRANGE = """
SELECT x.source_id, any_value(x.why) AS why, count(*) AS n, any_value(s.name) AS sweep
FROM main.strange_servers x JOIN (SELECT DISTINCT series_key, source_id FROM main.bench_series) b USING (series_key) JOIN raw.sources s ON s.source_id = b.source_id
WHERE x.against GROUP BY x.source_id ORDER BY x.source_id
"""

_OTHER_CARDS = """
SELECT x.source_id, array_to_string(x.cards, ', ') AS cards, s.name AS log, array_to_string(x.log_cards, ', ') AS log_cards
FROM main.strange_cards x JOIN raw.sources s ON s.source_id = x.log_id ORDER BY x.source_id
"""


def note_contradictions(store: Store) -> None:
    """A quality row for every stated fact, every name of a step, and every pair of a log and a sweep, that a file contradicts."""
    for row in store.rows_of(_STRANGE):
        text = f"nothing shows that this log is of the same run as the sweep in {row['sweep']}: {row['why']}. What it says of its server does not count for the sweep"
        store.con.execute(
            "INSERT INTO raw.quality (source_id, kind, n, note) VALUES (?, 'perhaps-another-run', ?, ?)", [row["source_id"], row["n"], text]
        )
    for row in store.rows_of(_OTHER_CARDS):
        text = f"it shows {row['cards']}, but {row['log']} runs on {row['log_cards']}: a recording of another machine, which says nothing about that load"
        store.con.execute(
            "INSERT INTO raw.quality (source_id, kind, n, note) VALUES (?, 'perhaps-another-machine', 1, ?)", [row["source_id"], text]
        )
    for row in store.rows_of(_NAMED):
        text = f"its name says {row['label']}, but {row['n']:g} requests run at a time in it: the name is not used"
        store.con.execute(
            "INSERT INTO raw.quality (source_id, kind, n, note) VALUES (?, 'name-contradicted', 1, ?)", [row["source_id"], text]
        )
    for row in store.rows_of(_AGAINST):
        text = f"given: {row['key']} = {row['stated']}, but {row['source']}:{row['at_line']} says {row['told']}: the file counts"
        store.con.execute(
            "INSERT INTO raw.quality (source_id, line, kind, n, note) VALUES (?, ?, 'given-contradicted', 1, ?)",
            [row["source_id"], row["line"], text],
        )
