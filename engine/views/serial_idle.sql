-- The share of time in which no card of a serial split works, at most: 100 - mean sum + 2 standard errors + half a percent of rounding
-- per card. Unknown where phases are not told apart and a round sums above what one working card can show (115 with driver windows that
-- are not aligned): prefill on all cards would hide the idle time of decode.
SELECT
    scope_id, avg(util_sum) AS util_sum, min(util_sum) AS util_sum_min, max(util_sum) AS util_sum_max, count(*) AS rounds, max(cards) AS cards,
    CASE WHEN bool_and(phases_known) OR max(util_sum) <= 115
        THEN greatest(0, 100 - avg(util_sum) + coalesce(2 * stddev_samp(util_sum) / sqrt(count(*)), 0) + 0.5 * max(cards)) END AS idle_bound,
    [{'source_id': min(source_id), 'line': min(line)}, {'source_id': max(source_id), 'line': max(line)}] AS ev
FROM main.decode_sums GROUP BY scope_id
