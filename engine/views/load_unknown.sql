-- Stretches of time in which nothing says whether requests ran, so that a GPU sample there is neither in the load nor outside it: before
-- the first line of a log that lost its beginning, from a launch whose end is not in the log, until an end whose launch is not in it, and
-- after the last statistics of a server that was busy then, and for as long as a server is silent that last said that requests run and no token comes. All of the time on an axis to which some server's clock is not tied.
-- `axis`: 0 is the common one, others are those of sources that are tied to nothing else.
WITH axes AS (
    SELECT source_id, offset_s IS NOT NULL AND NOT coalesce(estimated, FALSE) AS tied, CASE WHEN offset_s < -1e9 THEN round(offset_s / 1e10)::INTEGER ELSE 0 END AS axis
    FROM main.clocks
), told AS (
    SELECT source_id, line, run, coalesce(started_at, queued_at) AS began, finished_at AS ended, (prompt_ms + decode_ms) / 1000 AS lasted, NULL::DOUBLE AS running
    FROM main.requests WHERE origin = 'server'
    UNION ALL
    SELECT source_id, line, run, time, time, NULL, coalesce(running, 0) FROM main.server_samples WHERE running IS NOT NULL
), servers AS (
    SELECT
        source_id, min(line) AS line, min(least(began, ended)) AS first_at, max(greatest(began, ended)) AS last_at,
        bool_or(running = 0) AS says_idle, count(running) AS n_lines
    FROM told GROUP BY source_id
), runs AS (
    SELECT source_id, run, min(least(began, ended)) AS first_at FROM told GROUP BY source_id, run
), following AS (
    SELECT source_id, run, lead(first_at) OVER (PARTITION BY source_id ORDER BY run) AS next_at FROM runs
), spans AS (
    SELECT g.axis, -1e300 AS began, 1e300 AS ended
    FROM (SELECT DISTINCT a.axis FROM main.gpu_samples s JOIN axes a USING (source_id)) g, servers v JOIN axes a USING (source_id)
    WHERE NOT a.tied OR a.axis <> g.axis
    UNION ALL
    SELECT a.axis, -1e300, s.first_at FROM servers s JOIN axes a USING (source_id) WHERE s.source_id NOT IN (SELECT source_id FROM main.server_logs WHERE booted)
    UNION ALL
    SELECT a.axis, t.began, coalesce(f.next_at, 1e300)
    FROM told t JOIN axes a USING (source_id) LEFT JOIN following f ON f.source_id = t.source_id AND f.run IS NOT DISTINCT FROM t.run
    WHERE t.running IS NULL AND t.began IS NOT NULL AND t.ended IS NULL
    UNION ALL
    SELECT a.axis, coalesce(t.ended - t.lasted - 1, s.first_at, -1e300), t.ended
    FROM told t JOIN servers s USING (source_id) JOIN axes a USING (source_id) WHERE t.running IS NULL AND t.began IS NULL AND t.ended IS NOT NULL
    UNION ALL
    -- a server that also prints when it is idle was still busy when its log ends; others fall silent
    SELECT a.axis, s.last_at, CASE WHEN s.says_idle THEN 1e300 ELSE s.last_at + 60 END
    FROM servers s JOIN axes a USING (source_id)
    WHERE s.n_lines > 0 AND EXISTS (FROM told t WHERE t.source_id = s.source_id AND t.running >= 1 AND t.ended = s.last_at)
    UNION ALL
    -- requests run and no token comes: a server that says no more is hung as likely as idle
    SELECT a.axis, s.time, coalesce(s.next_time, 1e300) FROM (
        SELECT source_id, time, running, coalesce(gen_tok_s, 0) + coalesce(prompt_tok_s, 0) AS tok_s, gen_tok_s, lead(time) OVER (PARTITION BY source_id, run, engine, rank ORDER BY time, line) AS next_time
        FROM main.server_samples WHERE time IS NOT NULL
    ) s JOIN axes a USING (source_id)
    WHERE s.running >= 1 AND s.gen_tok_s IS NOT NULL AND s.tok_s = 0 AND coalesce(s.next_time - s.time > 60, TRUE)
), ordered AS (
    SELECT *, max(ended) OVER (PARTITION BY axis ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS so_far FROM spans WHERE began IS NOT NULL AND ended IS NOT NULL
), numbered AS (
    SELECT *, sum(CASE WHEN so_far >= began THEN 0 ELSE 1 END) OVER (PARTITION BY axis ORDER BY began, ended ROWS UNBOUNDED PRECEDING) AS n FROM ordered
)
SELECT axis, min(began) AS began, max(ended) AS ended FROM numbered GROUP BY axis, n ORDER BY axis, began
