-- Stretches of time in which kernel intervals speak about a scope: its windows, cut where the server's phase changes, less the
-- uncertainty of the clocks at both ends. `lone`: one request at a time runs
-- there, by the server's own requests (lines of statistics see only their own moment). Only where a trace of kernels reaches.
WITH traces AS (
    SELECT source_id, min(started_at) AS first_at, max(finished_at) AS last_at FROM main.kernels
    WHERE source_id NOT IN (SELECT source_id FROM main.bindings) GROUP BY source_id HAVING min(started_at) IS NOT NULL
), reached AS (
    SELECT min(first_at) AS first_at, max(last_at) AS last_at FROM traces
), near_windows AS (
    SELECT w.* FROM main.scope_windows w, reached r WHERE w.ended > r.first_at AND w.began < r.last_at
), told AS (
    -- one server's phases, from well before the trace to well after it; those of several would contradict each other
    SELECT p.* FROM main.phases p, reached r WHERE p.ended > r.first_at - 300 AND p.began < r.last_at + 300 AND p.phase IS NOT NULL
), marked AS (
    -- lines of statistics repeat their phase: one stretch
    SELECT *, CASE WHEN phase = lag(phase) OVER w AND began <= lag(ended) OVER w + 0.001 THEN 0 ELSE 1 END AS changes
    FROM told WHERE (SELECT count(DISTINCT source_id) FROM told) = 1 WINDOW w AS (ORDER BY began)
), one_server AS (
    SELECT min(began) AS began, max(ended) AS ended, min(phase) AS phase
    FROM (SELECT *, sum(changes) OVER (ORDER BY began ROWS UNBOUNDED PRECEDING) AS stretch FROM marked) GROUP BY stretch
), cut AS (
    SELECT
        w.scope_id, greatest(w.began, coalesce(p.began, w.began)) + w.unc_s AS began, least(w.ended, coalesce(p.ended, w.ended)) - w.unc_s AS ended,
        p.phase, w.estimated
    FROM near_windows w LEFT JOIN one_server p ON p.began < w.ended AND p.ended > w.began
)
SELECT
    c.scope_id, row_number() OVER (ORDER BY c.began, c.scope_id)::INTEGER AS piece, c.began, c.ended, c.phase, c.estimated,
    coalesce(l.origin = 'server requests' AND l.n_max = 1 AND c.ended <= l.ended, FALSE) AS lone
FROM (FROM cut WHERE ended > began) c ASOF LEFT JOIN (FROM main.load_windows ORDER BY began) l ON c.began >= l.began
