-- What a finding is about: the steps of a sweep, load windows grouped by how many requests ran (regimes), and the trace for what
-- neither holds. At most 40; of more steps some are taken, spread over all of them with both ends, in the order of the files.
WITH numbers AS (
    SELECT
        series_key, any_value(series_name) AS series_name, any_value(n_series) AS n_series, concurrency,
        min(min({'source_id': source_id, 'line': line})) OVER (PARTITION BY series_key) AS first
    FROM main.bench_series GROUP BY series_key, concurrency
), stated AS (
    -- a `c=N` that no step has, stated in [during] or by the name of a folder or file, makes a scope of its own
    SELECT DISTINCT label, TRY_CAST(regexp_extract(label, '^c=([0-9.]+)$', 1) AS DOUBLE) AS concurrency, 'given' AS origin FROM main.bindings
    UNION ALL
    SELECT DISTINCT label, concurrency, 'estimated' FROM main.step_names WHERE label NOT IN (SELECT label FROM main.bindings)
), labelled AS (
    SELECT
        series_key, concurrency, CASE WHEN n_series > 1 THEN series_name END AS series, CASE WHEN n_series > 1 THEN first END AS first,
        CASE WHEN n_series > 1 THEN series_name || '/' ELSE '' END || 'c=' || printf('%g', concurrency) AS label,
        'offered by the sweep' AS streams_origin
    FROM numbers
    UNION ALL
    SELECT NULL, concurrency, NULL, NULL, 'c=' || printf('%g', concurrency), origin
    FROM stated
    WHERE concurrency IS NOT NULL AND 'c=' || printf('%g', concurrency) NOT IN (
        SELECT CASE WHEN n_series > 1 THEN series_name || '/' ELSE '' END || 'c=' || printf('%g', concurrency) FROM numbers
    )
), placed AS (
    SELECT *, row_number() OVER (ORDER BY first NULLS FIRST, series NULLS FIRST, concurrency, label) - 1 AS place, count(*) OVER () AS total FROM labelled
), steps AS (
    SELECT *, row_number() OVER (ORDER BY place) AS n FROM placed
    WHERE total <= 29 OR place = 0 OR place * 28 // (total - 1) <> (place - 1) * 28 // (total - 1)
), bands AS (
    -- load that belongs to no step
    SELECT band, min(n_max) AS n_min, min(began) AS began, max(ended) AS ended FROM main.load_windows WHERE NOT in_step GROUP BY band
), regimes AS (
    SELECT *, row_number() OVER (ORDER BY n_min, band) AS n FROM bands
), streams AS (
    SELECT max(num) AS num FROM main.given WHERE key = 'streams'
), loose AS (
    -- something that no window of time holds
    SELECT
        (SELECT count(*) FROM steps) + (SELECT count(*) FROM regimes) = 0
        OR EXISTS (
            FROM main.gpu_samples g LEFT JOIN main.clocks c USING (source_id)
            WHERE (c.offset_s IS NULL OR g.time IS NULL OR NOT EXISTS (FROM main.load_windows) OR source_id IN (FROM main.unplaceable)) AND source_id NOT IN (SELECT source_id FROM main.bindings)
        )
        OR EXISTS (
            FROM main.requests r WHERE origin = 'server' AND (finished_at IS NULL OR coalesce(started_at, queued_at) IS NULL)
            AND NOT EXISTS (FROM main.step_requests m WHERE m.source_id = r.source_id AND m.run = r.run AND m.line = r.line)
            AND source_id NOT IN (SELECT source_id FROM main.bindings)
        )
        OR EXISTS (
            -- two compute processes on a card, in a list that no window of time holds
            FROM (
                SELECT p.source_id FROM main.gpu_processes p LEFT JOIN main.clocks c USING (source_id)
                WHERE p.pid IS NOT NULL AND p.gpu IS NOT NULL AND coalesce(p.kind, 'C') LIKE '%C%' AND source_id NOT IN (SELECT source_id FROM main.bindings)
                    AND (c.offset_s IS NULL OR p.time IS NULL OR NOT EXISTS (FROM main.load_windows))
                GROUP BY p.source_id, p.host, p.gpu, p.cycle HAVING count(DISTINCT p.pid) >= 2
            )
        )
        OR EXISTS (
            -- a kernel trace that overlaps neither load nor a run of a sweep
            FROM (SELECT source_id, min(started_at) AS a, max(finished_at) AS b FROM main.kernels GROUP BY source_id) k
            WHERE source_id NOT IN (SELECT source_id FROM main.bindings)
            AND NOT EXISTS (FROM main.load_windows w WHERE w.began < k.b AND w.ended > k.a)
            AND NOT EXISTS (FROM main.bench_steps s WHERE s.started_at < k.b AND s.finished_at > k.a)
        )
        OR EXISTS (FROM main.server_samples WHERE time IS NULL AND source_id NOT IN (SELECT source_id FROM main.bindings)) AS any_loose
)
SELECT
    n::INTEGER AS scope_id, 'step' AS kind, label, NULL::VARCHAR AS host, NULL::VARCHAR AS server, series, series_key, concurrency,
    NULL::VARCHAR AS phase, NULL::VARCHAR AS band, NULL::DOUBLE AS started_at, NULL::DOUBLE AS ended_at, streams_origin
FROM steps
UNION ALL
SELECT
    (100 + n)::INTEGER, 'regime', band || ' running', NULL, NULL, NULL, NULL, (SELECT num FROM streams), NULL, band, began, ended,
    CASE WHEN (SELECT num FROM streams) IS NOT NULL THEN 'given' END
FROM regimes WHERE n <= 10
UNION ALL
SELECT
    0, 'trace', 'trace', NULL, NULL, NULL, NULL, (SELECT num FROM streams), NULL, NULL, NULL, NULL,
    CASE WHEN (SELECT num FROM streams) IS NOT NULL THEN 'given' END
FROM loose WHERE any_loose
ORDER BY scope_id
