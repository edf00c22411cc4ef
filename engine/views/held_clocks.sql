-- Working samples (10 % utilisation or more: an idle clock says nothing) with the flags of power and heat that count.
--   held    share of the sample under hardware slowdown, heat or power brake. 0x8 alone also shows while a card comes up from idle: in
--           the first sample after an idle or missing one, and within a second of it, it says nothing
--   capped  the power cap, which counts only near the limit where power and limit are logged: idle and light cards show it far below
--   free    none of these bits
WITH limits AS (
    SELECT host, gpu, max(power_limit_w) AS limit_w FROM main.gpus WHERE gpu IS NOT NULL AND power_limit_w > 0 GROUP BY host, gpu
), neighbours AS (
    SELECT
        s.*, coalesce(s.power_limit_w, l.limit_w) AS limit_w, lag(s.util_gpu) OVER card AS util_before, lag(s.cycle) OVER card AS cycle_before,
        s.t - max(CASE WHEN s.util_gpu < 10 THEN s.t END) OVER (card ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS since_idle_s
    FROM main.samples_in_load s LEFT JOIN limits l ON l.gpu = s.gpu AND l.host IS NOT DISTINCT FROM s.host
    WHERE s.util_gpu IS NOT NULL
    WINDOW card AS (PARTITION BY s.scope_id, s.source_id, s.host, s.gpu ORDER BY s.cycle, s.line)
), told AS (
    SELECT
        *, (event_reasons & 232) = 8 AS only_slowdown,
        coalesce(util_before < 10 OR cycle > cycle_before + 1 OR since_idle_s <= 1, TRUE) AS coming_up
    FROM neighbours WHERE util_gpu >= 10
)
SELECT
    scope_id, source_id, line, host, gpu, t, time, temp, sm_clock, mem_clock, util_gpu, event_reasons,
    CASE WHEN only_slowdown AND coming_up THEN NULL WHEN event_reasons IS NOT NULL THEN ((event_reasons & 232) > 0)::INT::DOUBLE
        ELSE greatest(pviol / 100, tviol) END AS held,
    CASE WHEN event_reasons IS NOT NULL THEN ((event_reasons & 4) > 0 AND coalesce(power_w >= 0.9 * limit_w, TRUE))::INT::DOUBLE END AS capped,
    CASE WHEN event_reasons IS NOT NULL THEN (event_reasons & 236) = 0 ELSE pviol = 0 AND coalesce(tviol, 0) = 0 END AS free
FROM told
