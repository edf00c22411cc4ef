-- Which files' word on the model counts in a scope: files of no server (a config.json, a listing) for all of them, a server run for its
-- own load, where every server of that load names its model. What another server says counts where nothing tells who served, unless
-- something speaks against its being the one behind that sweep, and for a piece of a log that began before and is of the same family: the beginning of that log is
-- perhaps the other file.
WITH described AS (
    SELECT DISTINCT source_id, coalesce(run, 0) AS run, coalesce(params_total_b, layers, hidden, file_bytes) IS NOT NULL AS sized FROM main.models WHERE coalesce(section, 0) = 0
), candidates AS (
    SELECT source_id, run FROM described
    UNION
    SELECT source_id, coalesce(run, 0) FROM main.server_config WHERE key IN ('weights_gib', 'weights_gib_per_rank', 'quantisation')
), families AS (
    SELECT source_id, replace(min(server), 'ollama', 'llama.cpp') AS family FROM main.server_config GROUP BY source_id
), own AS (
    SELECT
        s.scope_id, coalesce(bool_or(d.source_id IS NOT NULL), FALSE) AS named, coalesce(bool_or(d.sized), FALSE) AS sized,
        bool_and(NOT coalesce(l.booted, TRUE)) AS torn,
        coalesce(bool_or(l.booted AND d.source_id IS NULL), FALSE) AS mixed, min(l.family) AS family, list(DISTINCT s.source_id ORDER BY s.source_id) AS sources
    FROM main.scope_servers s LEFT JOIN described d USING (source_id, run) LEFT JOIN main.server_logs l USING (source_id) GROUP BY s.scope_id
)
SELECT sc.scope_id, c.source_id, c.run
FROM main.scopes sc CROSS JOIN candidates c LEFT JOIN own o USING (scope_id) LEFT JOIN families f USING (source_id)
WHERE CASE
    WHEN o.scope_id IS NULL THEN NOT coalesce((sc.series_key, c.source_id, c.run) IN (SELECT (series_key, source_id, run) FROM main.strange_servers WHERE against), FALSE)
    WHEN (sc.scope_id, c.source_id, c.run) IN (SELECT (scope_id, source_id, run) FROM main.scope_servers) THEN NOT o.mixed
    WHEN (c.source_id, c.run) IN (SELECT (source_id, run) FROM main.scope_servers) THEN o.torn AND NOT o.named AND f.family = o.family
    ELSE NOT (o.sized AND list_contains(o.sources, c.source_id))
END
