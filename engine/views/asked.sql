-- The share of time in which somebody asks, per scope and who tells it. Samples that a clock places in the load lie inside it; what the
-- user vouches for may hold the pauses between requests and the quiet before and after them.
WITH spans AS (
    SELECT scope_id, 'server' AS told_by, source_id, coalesce(run, 0) AS run, started_t AS began, finished_t AS ended
    FROM main.requests_in_scope WHERE started_t IS NOT NULL AND finished_t > started_t
    UNION ALL
    SELECT scope_id, 'client', 0, 0, coalesce(sent_at, started_t), coalesce(finished_at, finished_t) FROM main.client_requests_in_scope
    WHERE origin = 'client' AND sent_at IS NOT NULL AND finished_at > sent_at
), pauses AS (
    SELECT *, greatest(0, began - max(ended) OVER (PARTITION BY scope_id, told_by, source_id, run ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS pause_s
    FROM spans
), told AS (
    SELECT scope_id, told_by, max(ended) - min(began) AS span_s, sum(pause_s) AS pause_s FROM pauses GROUP BY scope_id, told_by, source_id, run
), lines AS (
    SELECT scope_id, avg((running + coalesce(waiting, 0) >= 1)::INT) AS share FROM main.server_in_scope WHERE running IS NOT NULL GROUP BY scope_id
), recorded AS (
    SELECT scope_id, max(t) - min(t) AS span_s, bool_and(placed = 'clock') AS inside, bool_and(placed IN ('clock', 'given')) AS placed
    FROM (SELECT scope_id, source_id, placed, t FROM main.samples_in_load) GROUP BY scope_id, source_id
), samples AS (
    SELECT scope_id, max(span_s) AS span_s, bool_and(inside) AS inside, bool_and(placed) AS placed FROM recorded GROUP BY scope_id
), shares AS (
    SELECT t.scope_id, min((t.span_s - coalesce(t.pause_s, 0)) / greatest(t.span_s, s.span_s)) AS share FROM told t JOIN samples s USING (scope_id) GROUP BY t.scope_id
    UNION ALL SELECT scope_id, share FROM lines
)
SELECT s.scope_id, s.placed, CASE WHEN s.inside THEN 1 ELSE min(h.share) END AS share
FROM samples s LEFT JOIN shares h USING (scope_id) GROUP BY s.scope_id, s.placed, s.inside
