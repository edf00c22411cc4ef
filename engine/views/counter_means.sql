-- What a server's own counters tell between the first and the last scrape: how long a request waited in its queue and how long it was
-- served, in the mean. Scrapes in several files are of one server only where they are ten seconds apart and no counter falls.
WITH scrapes AS (
    SELECT source_id, line, server, coalesce(engine, 0) AS engine, coalesce(run, 0) AS run, detail, value, time
    FROM main.server_events WHERE kind = 'counter' AND value IS NOT NULL AND time IS NOT NULL
), ordered AS (
    SELECT *, value - lag(value) OVER w AS step, source_id IS DISTINCT FROM lag(source_id) OVER w AND time - lag(time) OVER w < 10 AS beside
    FROM scrapes WINDOW w AS (PARTITION BY server, engine, detail ORDER BY time, source_id, line)
), grown AS (
    SELECT server, engine, detail, sum(step) AS more, min({'source_id': source_id, 'line': line}, 2) AS ev
    FROM ordered GROUP BY server, engine, detail
), sound AS (
    SELECT server FROM ordered GROUP BY server HAVING coalesce(min(step), -1) >= 0 AND NOT coalesce(bool_or(beside), FALSE) AND max(run) = 0
), means AS (
    SELECT
        sum(more) FILTER (detail = 'queue_seconds') / nullif(sum(more) FILTER (detail = 'queue_count'), 0) AS queue_s, sum(more) FILTER (detail = 'queue_count') AS queue_n,
        sum(more) FILTER (detail = 'inference_seconds') / nullif(sum(more) FILTER (detail = 'inference_count'), 0) AS served_s,
        min(ev) FILTER (detail = 'queue_seconds') AS ev
    FROM grown JOIN sound USING (server) HAVING count(DISTINCT server) = 1
), places AS (
    SELECT scope_id FROM main.scopes WHERE scope_id = 0
    UNION
    SELECT scope_id FROM main.server_in_scope WHERE source_id IN (SELECT source_id FROM scrapes)
)
SELECT scope_id, queue_s, served_s, queue_n, ev FROM places CROSS JOIN means WHERE queue_n > 0
