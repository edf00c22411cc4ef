-- How far the rate of a scope follows the SM clock and the memory clock, d ln X / d ln f over all runs of the same load that differ in
-- that clock alone. The sure pairs where there are any. `near_usual`: no SM clock under 0.7 of the highest one; at a much lower clock
-- everything waits for the SMs.
WITH pairs AS (
    SELECT *, bool_or(sure) OVER (PARTITION BY scope_id) AS any_sure FROM main.ab_pairs WHERE factor = 'clocks' AND coalesce(sm_lo, mem_lo) IS NOT NULL
)
SELECT
    scope_id, bool_and(sure)::INT AS sure, min(sm_lo) AS sm_lo, max(sm_hi) AS sm_hi, min(mem_lo) AS mem_lo, max(mem_hi) AS mem_hi,
    count(DISTINCT round(sm_other_mhz / 15)) FILTER (sm_lo IS NOT NULL) + 1 AS sm_clocks, min(repeats) AS repeats,
    (least(min(sm_mhz), min(sm_other_mhz)) >= 0.7 * greatest(max(sm_mhz), max(sm_other_mhz)))::INT AS near_usual,
    least(min(sm_mhz), min(sm_other_mhz)) AS sm_mhz_lo, greatest(max(sm_mhz), max(sm_other_mhz)) AS sm_mhz_hi, min(ev) AS ev
FROM pairs WHERE sure = any_sure GROUP BY scope_id
