-- Server requests per scope: matched windows of the log, requests that were alone in the server (one stream), bound files, the rest.
WITH served AS (
    SELECT r.*, b.label AS bound
    FROM main.requests r LEFT JOIN main.bindings b USING (source_id)
    WHERE r.origin = 'server'
), alone AS (
    -- no other request of that server overlaps
    SELECT source_id, run, line FROM (
        SELECT
            source_id, run, line, started_t,
            max(finished_t) OVER (PARTITION BY source_id, run ORDER BY started_t, line ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS busy_until,
            finished_t, lead(started_t) OVER (PARTITION BY source_id, run ORDER BY started_t, line) AS next_start
        FROM served WHERE started_t IS NOT NULL AND finished_t IS NOT NULL AND status = 'ok'
    ) WHERE coalesce(busy_until <= started_t, TRUE) AND coalesce(next_start >= finished_t, TRUE)
), one AS (
    -- the scope of one stream, where there is exactly one
    SELECT any_value(scope_id) AS scope_id FROM main.scopes WHERE concurrency = 1 AND kind = 'step' HAVING count(*) = 1
), matched AS (
    SELECT sc.scope_id, 'matched to the step' AS how, r.*
    FROM served r
    JOIN main.step_requests m ON m.source_id = r.source_id AND m.run = r.run AND m.line = r.line
    JOIN main.bench_series bs ON bs.source_id = m.step_source AND bs.line = m.step_line
    JOIN main.scopes sc ON sc.series_key = bs.series_key AND sc.concurrency = bs.concurrency
    WHERE r.bound IS NULL
), bound AS (
    SELECT sc.scope_id, 'given', r.* FROM served r JOIN main.scopes sc ON sc.label = r.bound
), solo AS (
    SELECT (SELECT scope_id FROM one), 'alone in the server', r.*
    FROM served r JOIN alone a USING (source_id, run, line)
    WHERE r.bound IS NULL AND (SELECT scope_id FROM one) IS NOT NULL
      AND (r.source_id, r.run, r.line) NOT IN (SELECT (source_id, run, line) FROM main.step_requests)
), held AS (
    FROM matched UNION ALL FROM bound UNION ALL FROM solo
)
FROM held
UNION ALL
SELECT 0, 'no step', r.* FROM served r
WHERE (r.source_id, r.run, r.line) NOT IN (SELECT (source_id, run, line) FROM held)
