-- Compute processes on cards per scope: bound by the user, inside a load window by both clocks, or in the trace where no window holds
-- them. `in_load` is 1 where nothing is left to doubt. A list that does not name the card says nothing about two processes on one.
WITH timed AS (
    SELECT p.*, c.offset_s IS NOT NULL AND p.time IS NOT NULL AS on_axis, coalesce(c.uncertainty_s, 1) AS own_unc_s,
        coalesce(c.estimated, FALSE) AS own_estimated, b.label AS bound
    FROM main.gpu_processes p LEFT JOIN main.clocks c USING (source_id) LEFT JOIN main.bindings b USING (source_id)
    WHERE p.pid IS NOT NULL AND p.gpu IS NOT NULL AND coalesce(p.kind, 'C') LIKE '%C%'
)
SELECT s.scope_id, 1 AS in_load, t.* EXCLUDE (on_axis, own_unc_s, own_estimated, bound) FROM timed t JOIN main.scopes s ON s.label = t.bound
UNION ALL
SELECT w.scope_id, (NOT (w.estimated OR t.own_estimated))::INT, t.* EXCLUDE (on_axis, own_unc_s, own_estimated, bound)
FROM (FROM timed WHERE on_axis AND bound IS NULL) t ASOF JOIN (FROM main.scope_windows ORDER BY began) w ON t.time >= w.began
WHERE t.time >= w.began + t.own_unc_s + w.unc_s + 1 AND t.time <= w.ended - t.own_unc_s - w.unc_s
UNION ALL
SELECT 0, 0, t.* EXCLUDE (on_axis, own_unc_s, own_estimated, bound) FROM timed t WHERE bound IS NULL
    AND (NOT on_axis OR NOT EXISTS (FROM main.scope_windows))
