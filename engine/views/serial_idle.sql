-- The share of time in which no card of a serial split works, at most: 100 - mean sum + 2 standard errors + half a percent of rounding
-- per card. Where phases are not told apart, rounds above what one working card can show (115 with driver windows that are not aligned)
-- are prefill on all cards: they and their neighbours are left out, and with more than 15 % of them nothing is said, since the prefill
-- would hide the idle time of decode. Work of cards that the model does not run on would hide it as well.
WITH marked AS (
    SELECT
        *, NOT phases_known AND max(util_sum) OVER (PARTITION BY scope_id, source_id ORDER BY cycle ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) > 115 AS prefill
    FROM main.decode_sums
)
SELECT
    scope_id, avg(util_sum) AS util_sum, min(util_sum) AS util_sum_min, max(util_sum) AS util_sum_max, count(*) AS rounds, max(cards) AS cards,
    max(cards_missing) AS cards_missing, max(cards_extra) AS cards_extra,
    CASE WHEN avg(prefill::INT) <= 0.15 AND max(cards_extra) = 0 THEN greatest(0,
        100 - avg(util_sum) FILTER (NOT prefill)
        + coalesce(2 * stddev_samp(util_sum) FILTER (NOT prefill) / sqrt(count(*) FILTER (NOT prefill)), 0) + 0.5 * max(cards)
    ) END AS idle_bound,
    [{'source_id': min(source_id), 'line': min(line)}, {'source_id': max(source_id), 'line': max(line)}] AS ev
FROM marked GROUP BY scope_id
