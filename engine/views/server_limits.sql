-- How many requests each server run takes at once by its own log: `slots` of the whole server, `line` of one statistics line of one
-- data-parallel engine. A run without a limit of its own takes that of the only other run of the same server family that tells one (a
-- log cut in two, /metrics beside the log); what is given holds for all, and may mean all engines together.
WITH told AS (
    SELECT source_id, coalesce(run, 0) AS run, server, line, key, num, coalesce(num_hi, num) AS num_hi, origin FROM main.server_settings
    WHERE key IN ('slots', 'slots_per_engine') AND num IS NOT NULL AND source_id NOT IN (SELECT source_id FROM main.bench_steps)
), own AS (
    SELECT
        source_id, run, min(server) AS server,
        min(num) FILTER (key = 'slots') AS slots_lo, max(num_hi) FILTER (key = 'slots') AS slots_hi,
        min(num) FILTER (key = 'slots_per_engine') AS engine_lo, max(num_hi) FILTER (key = 'slots_per_engine') AS engine_hi,
        CASE WHEN bool_or(origin = 'estimated') THEN 'estimated' WHEN bool_or(origin = 'default') THEN 'default' ELSE 'logged' END AS origin,
        min({'source_id': source_id, 'line': line}, 2) AS ev
    FROM told GROUP BY source_id, run HAVING count(*) FILTER (key = 'slots') > 0
), alone AS (
    SELECT server, any_value(slots_lo) AS slots_lo, any_value(slots_hi) AS slots_hi, any_value(engine_lo) AS engine_lo, any_value(engine_hi) AS engine_hi,
        min(origin) AS origin, min(ev) AS ev
    FROM own GROUP BY server HAVING count(*) = 1
), runs AS (
    SELECT source_id, coalesce(run, 0) AS run, min(server) AS server FROM (
        SELECT source_id, run, server FROM main.server_samples UNION ALL SELECT source_id, run, server FROM main.requests WHERE origin = 'server'
    ) GROUP BY ALL
), given AS (
    SELECT num AS slots_lo, num AS slots_hi, NULL::DOUBLE AS engine_lo, NULL::DOUBLE AS engine_hi, 'given' AS origin,
        [{'source_id': source_id, 'line': line}] AS ev, ['slots=' || printf('%g', num)] AS given
    FROM main.given WHERE key = 'slots' LIMIT 1
), best AS (
    SELECT r.*, 1 AS rank, o.slots_lo, o.slots_hi, o.engine_lo, o.engine_hi, o.origin, o.ev, NULL::VARCHAR[] AS given FROM runs r JOIN own o USING (source_id, run)
    UNION ALL SELECT r.*, 2, g.* FROM runs r CROSS JOIN given g
    UNION ALL SELECT r.*, 3, a.* EXCLUDE (server), NULL FROM runs r JOIN alone a USING (server)
)
SELECT
    b.source_id, b.run, b.server, slots_lo, slots_hi,
    coalesce(engine_lo, CASE WHEN b.origin = 'given' AND d.engines > 1 THEN floor(slots_lo / d.engines) ELSE slots_lo END) AS line_lo,
    coalesce(engine_hi, slots_hi) AS line_hi, b.origin, b.given, b.ev
FROM best b LEFT JOIN (
    SELECT source_id, coalesce(run, 0) AS run, max(num) AS engines FROM main.server_config WHERE key = 'data_parallel' GROUP BY ALL
) d USING (source_id, run)
QUALIFY row_number() OVER (PARTITION BY b.source_id, b.run ORDER BY rank) = 1
