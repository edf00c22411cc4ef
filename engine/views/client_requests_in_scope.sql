-- Requests as a client or saved responses tell them, per scope: files that are bound or named for a step, the step of that concurrency, else the regime or trace.
WITH told AS (
    SELECT r.*, coalesce(b.label, n.label) AS bound
    FROM main.requests r LEFT JOIN main.bindings b USING (source_id) LEFT JOIN main.step_names n USING (source_id)
    WHERE r.origin IN ('client', 'file')
)
SELECT
    coalesce(
        CASE WHEN r.bound IS NOT NULL THEN (SELECT min(scope_id) FROM main.scopes s WHERE s.label = r.bound) END,
        (SELECT min(scope_id) FROM main.scopes s WHERE s.kind = 'step' AND s.concurrency = r.concurrency HAVING count(*) = 1),
        sw.scope_id, 0
    ) AS scope_id, r.* EXCLUDE (bound)
FROM told r ASOF LEFT JOIN (FROM main.scope_windows ORDER BY began) sw ON coalesce(r.sent_at, r.finished_at) >= sw.began AND r.bound IS NULL
