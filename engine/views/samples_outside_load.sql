-- Aligned samples that lie outside every load window by more than the driver window, the power window and both uncertainties, and not
-- where nothing says whether requests ran: the idle baseline.
WITH timed AS (
    SELECT
        g.*, coalesce(c.uncertainty_s, 1) AS own_unc_s, coalesce(g.window_s, 1) + 1 AS margin_s,
        CASE WHEN c.offset_s < -1e9 THEN round(c.offset_s / 1e10)::INTEGER ELSE 0 END AS axis
    FROM main.gpu_samples g JOIN main.clocks c USING (source_id)
    WHERE c.offset_s IS NOT NULL AND NOT c.estimated AND g.time IS NOT NULL AND EXISTS (FROM main.load_windows WHERE NOT estimated)
), nearest AS (
    SELECT t.*, w.ended AS last_ended, w.unc_s AS last_unc_s
    FROM timed t ASOF LEFT JOIN (FROM main.load_windows ORDER BY began) w ON t.time >= w.began
), following AS (
    SELECT n.*, w.began AS next_began, w.unc_s AS next_unc_s
    FROM nearest n ASOF LEFT JOIN (FROM main.load_windows ORDER BY began) w ON n.time < w.began
), known AS (
    SELECT f.* FROM following f ASOF LEFT JOIN (FROM main.load_unknown ORDER BY began) u ON f.axis = u.axis AND f.time + f.own_unc_s >= u.began
    WHERE coalesce(f.time - f.margin_s - f.own_unc_s > u.ended, TRUE)
)
SELECT 'clock' AS placed, * EXCLUDE (own_unc_s, margin_s, axis, last_ended, last_unc_s, next_began, next_unc_s)
FROM known
WHERE coalesce(time >= last_ended + margin_s + own_unc_s + last_unc_s, TRUE) AND coalesce(time <= next_began - own_unc_s - next_unc_s, TRUE)
