-- Server requests per scope and how they got there: a source bound by the user, the matched window of a sweep step, alone in the
-- server (one stream), the load window they ran in (of a step that a name or a bound recording tells, or of a regime), or none of these.
WITH served AS (
    SELECT r.*, b.label AS bound, (m.line IS NOT NULL) AS in_step, m.step_source, m.step_line, n.concurrency AS named
    FROM main.requests r
    LEFT JOIN main.bindings b USING (source_id)
    LEFT JOIN main.step_names n USING (source_id)
    LEFT JOIN main.step_requests m ON m.source_id = r.source_id AND m.run = r.run AND m.line = r.line
    WHERE r.origin = 'server'
), alone AS (
    -- no other request of that server overlaps
    SELECT source_id, run, line FROM (
        SELECT
            source_id, run, line, started_t,
            max(finished_t) OVER (PARTITION BY source_id, run ORDER BY started_t, line ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS busy_until,
            finished_t, lead(started_t) OVER (PARTITION BY source_id, run ORDER BY started_t, line) AS next_start
        FROM served WHERE coalesce(named, 1) = 1 AND started_t IS NOT NULL AND finished_t IS NOT NULL AND status = 'ok'
    ) WHERE coalesce(busy_until <= started_t, TRUE) AND coalesce(next_start >= finished_t, TRUE)
      -- beside a sweep, only of a server run in which at least one of its steps was found: another log is another run
      AND ((source_id, run) IN (SELECT (source_id, run) FROM main.step_requests) OR NOT EXISTS (FROM main.bench_series))
), one AS (
    -- the step of one stream, where there is exactly one
    SELECT any_value(scope_id) AS scope_id FROM main.scopes WHERE concurrency = 1 AND kind = 'step' HAVING count(*) = 1
), stretches AS (
    SELECT w.began, w.ended, sc.scope_id
    FROM main.load_windows w JOIN main.scopes sc ON CASE WHEN w.label IS NULL THEN sc.kind = 'regime' AND sc.band = w.band ELSE sc.kind = 'step' AND sc.label = w.label END
    WHERE w.label IS NOT NULL OR NOT w.in_step
), placed AS (
    SELECT
        r.*,
        CASE
            WHEN r.bound IS NOT NULL THEN bd.scope_id
            WHEN r.in_step THEN st.scope_id
            WHEN a.line IS NOT NULL AND (SELECT scope_id FROM one) IS NOT NULL THEN (SELECT scope_id FROM one)
            WHEN coalesce(r.started_at, r.queued_at) < w.ended THEN w.scope_id
        END AS scope_id,
        CASE WHEN r.bound IS NOT NULL THEN 'given' WHEN r.in_step THEN 'matched to the step'
             WHEN a.line IS NOT NULL AND (SELECT scope_id FROM one) IS NOT NULL THEN 'alone in the server'
             WHEN coalesce(r.started_at, r.queued_at) < w.ended THEN 'in the load window' ELSE 'no step' END AS how
    FROM served r
    LEFT JOIN alone a USING (source_id, run, line)
    LEFT JOIN main.bench_series bs ON bs.source_id = r.step_source AND bs.line = r.step_line
    LEFT JOIN main.scopes st ON st.series_key = bs.series_key AND st.concurrency = bs.concurrency
    LEFT JOIN main.scopes bd ON bd.label = r.bound
    -- an access line tells the arrival and the end, not when a slot took the request
    ASOF LEFT JOIN (FROM stretches ORDER BY began) w ON coalesce(r.started_at, r.queued_at) >= w.began
)
SELECT coalesce(scope_id, 0) AS scope_id, how, * EXCLUDE (scope_id, how, bound, in_step, step_source, step_line, named) FROM placed
