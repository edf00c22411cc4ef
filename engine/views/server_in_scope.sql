-- Periodic statistics of a server per scope: bound files by statement, else the step or regime whose time they lie in, else the trace.
SELECT sc.scope_id, s.* FROM main.server_samples s JOIN main.bindings b USING (source_id) JOIN main.scopes sc ON sc.label = b.label
UNION ALL
SELECT coalesce(CASE WHEN s.time <= w.ended + w.unc_s THEN w.scope_id END, CASE WHEN s.time IS NULL THEN coalesce(s.named, 0) END), s.* EXCLUDE (named)
FROM (
    SELECT r.*, sc.scope_id AS named FROM main.server_samples r LEFT JOIN main.step_names n USING (source_id)
    LEFT JOIN main.scopes sc ON sc.kind = 'step' AND sc.label = n.label
    WHERE r.source_id NOT IN (SELECT source_id FROM main.bindings)
) s
ASOF LEFT JOIN (FROM main.scope_windows ORDER BY began) w ON s.time >= w.began
WHERE s.time IS NULL OR s.time <= w.ended + w.unc_s
