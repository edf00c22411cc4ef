-- Sampling rounds in a row in which all serving cards together read at most 5 %.
WITH rounds AS (
    SELECT
        scope_id, source_id, cycle, t, time, util_sum, line,
        sum(CASE WHEN util_sum > 5 THEN 1 ELSE 0 END) OVER (PARTITION BY scope_id, source_id ORDER BY cycle ROWS UNBOUNDED PRECEDING) AS stretch
    FROM main.util_sums WHERE complete
)
SELECT
    scope_id, source_id, stretch, min(cycle) AS first_cycle, max(cycle) AS last_cycle, count(*) AS n, max(t) - min(t) AS lasts_s,
    min(time) AS began, max(time) AS ended, min(t) AS first_t, max(t) AS last_t, min(line) AS line
FROM rounds WHERE util_sum <= 5 GROUP BY scope_id, source_id, stretch
