-- One value per scope and key. A logged value beats a given one, a given one beats the default of a build. Several servers or runs
-- that disagree give an interval. A log that nothing ties to a sweep is perhaps another run's: estimated.
WITH benches AS (
    -- a benchmark's own settings hold for its own steps and for nothing else
    SELECT DISTINCT source_id FROM main.bench_steps
), servers AS (
    SELECT DISTINCT source_id, coalesce(run, 0) AS run FROM main.server_config WHERE source_id NOT IN (FROM benches)
), linked AS (
    SELECT scope_id, source_id, run FROM main.scope_servers WHERE how <> 'loose'
), placements AS (
    -- `ollama ps`: where a loaded model lies, in a file without any request
    SELECT source_id, coalesce(run, 0) AS run FROM main.server_config WHERE server = 'ollama'
    GROUP BY ALL HAVING bool_and(key IN ('memory_on_cpu_share', 'model_memory_mib', 'context_length'))
), reach AS (
    SELECT scope_id, source_id, run, FALSE AS strange FROM linked
    UNION
    SELECT sc.scope_id, s.source_id, s.run, coalesce((sc.series_key, s.source_id, s.run) IN (SELECT (series_key, source_id, run) FROM main.strange_servers), FALSE)
    FROM main.scopes sc CROSS JOIN servers s
    WHERE sc.scope_id NOT IN (SELECT scope_id FROM linked)
    UNION
    SELECT DISTINCT r.scope_id, p.source_id, p.run, FALSE FROM main.requests_in_scope r CROSS JOIN placements p WHERE r.server = 'ollama' AND r.how <> 'no step'
), logged AS (
    SELECT
        r.scope_id, c.key,
        CASE WHEN count(DISTINCT c.value) = 1 THEN min(c.value) END AS value,
        min(c.num) AS num_lo, max(coalesce(c.num_hi, c.num)) AS num_hi,
        CASE WHEN bool_or(r.strange) OR bool_or(c.origin = 'estimated') THEN 'estimated'
             WHEN bool_or(c.origin = 'default') THEN 'default' ELSE 'logged' END AS origin,
        count(DISTINCT c.value) AS variants,
        NULL::VARCHAR[] AS given,
        min({'source_id': c.source_id, 'line': c.line}, 2) AS ev
    FROM reach r JOIN main.server_settings c ON c.source_id = r.source_id AND coalesce(c.run, 0) = r.run
    WHERE c.key NOT IN ('device_model_mib')
    GROUP BY r.scope_id, c.key
), stated AS (
    SELECT
        sc.scope_id, g.key, g.value, g.num AS num_lo, g.num AS num_hi, 'given' AS origin, 1 AS variants,
        [g.key || '=' || coalesce(printf('%g', g.num), g.value)] AS given,
        [{'source_id': g.source_id, 'line': g.line}] AS ev
    FROM main.scopes sc CROSS JOIN main.given g
), ranked AS (
    SELECT *, row_number() OVER (
        PARTITION BY scope_id, key
        ORDER BY CASE origin WHEN 'logged' THEN 1 WHEN 'given' THEN 2 WHEN 'default' THEN 3 ELSE 4 END
    ) AS rank
    FROM (FROM logged UNION ALL FROM stated)
)
SELECT scope_id, key, value, num_lo, num_hi, origin, variants, given, ev FROM ranked WHERE rank = 1
