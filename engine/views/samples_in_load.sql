-- GPU samples per scope. `placed` says how a sample got there: given (the user vouches for it), clock (it lies inside the load by more
-- than the driver window, the power window of 1 s and both uncertainties), estimated (the same, on a clock that is only estimated) or
-- unplaced (the trace holds it, or the step that its name tells). `phase` where the server tells it. What it takes to load a model is no
-- load: samples from a phase of loading are none. Where several machines serve, a sample needs load on its own,
-- and cards that no server here runs on are of no load.
WITH free AS (
    SELECT g.*, coalesce(c.uncertainty_s, 1) AS own_unc_s, coalesce(c.estimated, FALSE) AS own_estimated, coalesce(g.window_s, 1) + 1 AS margin_s
    FROM main.gpu_samples g LEFT JOIN main.clocks c USING (source_id)
    WHERE g.source_id NOT IN (SELECT b.source_id FROM main.bindings b JOIN main.scopes s ON s.label = b.label)
), timed AS (
    SELECT w.scope_id, CASE WHEN w.estimated OR f.own_estimated THEN 'estimated' ELSE 'clock' END AS placed, f.*
    FROM free f ASOF JOIN (FROM main.scope_windows ORDER BY began) w ON f.time >= w.began
    WHERE f.time >= w.began + f.margin_s + f.own_unc_s + w.unc_s AND f.time <= w.ended - f.own_unc_s - w.unc_s
        AND f.source_id NOT IN (SELECT source_id FROM main.strange_cards)
), at_home AS (
    SELECT t.* FROM timed t ASOF LEFT JOIN (FROM main.host_windows ORDER BY began) h ON coalesce(t.host, '') = h.host AND t.time >= h.began
    WHERE NOT EXISTS (FROM main.host_windows) OR (t.time >= h.began + t.margin_s + t.own_unc_s + h.unc_s AND t.time <= h.ended - t.own_unc_s - h.unc_s)
), loose AS (
    SELECT coalesce(sc.scope_id, 0) AS scope_id, 'unplaced' AS placed, f.*
    FROM free f LEFT JOIN main.step_names n USING (source_id) LEFT JOIN main.scopes sc ON sc.kind = 'step' AND sc.label = n.label
    WHERE f.time IS NULL OR NOT EXISTS (FROM main.scope_windows) OR f.source_id IN (FROM main.unplaceable)
), phased AS (
    -- one inequality with one side on each side: anything else makes the join quadratic
    SELECT t.*, CASE WHEN t.time <= p.ended THEN p.phase END AS phase
    FROM at_home t ASOF LEFT JOIN (FROM main.phases ORDER BY began) p ON t.time - t.margin_s - t.own_unc_s >= p.began
)
SELECT s.scope_id, 'given' AS placed, NULL::VARCHAR AS phase, g.*
FROM main.gpu_samples g JOIN main.bindings b USING (source_id) JOIN main.scopes s ON s.label = b.label
UNION ALL
SELECT scope_id, placed, phase, * EXCLUDE (scope_id, placed, phase, own_unc_s, own_estimated, margin_s) FROM phased WHERE phase IS DISTINCT FROM 'loading'
UNION ALL
SELECT scope_id, placed, NULL, * EXCLUDE (scope_id, placed, own_unc_s, own_estimated, margin_s) FROM loose
