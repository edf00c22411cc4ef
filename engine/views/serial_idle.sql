-- The share of time in which no card of a serial split works, at most: 100 - mean sum + 2 standard errors + half a percent of rounding
-- per card. Where phases are not told apart, rounds above what one working card can show (115 with driver windows that are not aligned)
-- are prefill on all cards: they and their neighbours are left out, and with more than 15 % of them nothing is said, since the prefill
-- would hide the idle time of decode. Work of cards that the model does not run on would hide it as well.
-- `util_sum` leaves them out too, where they are a seventh of the rounds at most and ten others are left: more of them are no prefill
-- between answers but cards that work at once.
-- Servers whose requests are of one scope, and are not known to follow each other, may share the cards: the idle time of each is filled by
-- the others (`together`).
WITH served AS (
    SELECT scope_id, source_id, min(started_at) AS began, max(finished_at) AS ended FROM main.requests_in_scope
    WHERE how <> 'no step' AND started_t IS NOT NULL GROUP BY scope_id, source_id
), shared AS (
    -- clocks of an axis of their own are far apart, and say nothing about each other
    SELECT DISTINCT a.scope_id FROM served a JOIN served b ON a.scope_id = b.scope_id AND a.source_id < b.source_id
    WHERE NOT coalesce((a.ended <= b.began OR b.ended <= a.began) AND abs(a.began - b.began) < 1e8, FALSE)
)
SELECT
    scope_id, (scope_id IN (FROM shared))::INT AS together, CASE WHEN max(prefill_share) <= 0.15 AND count(*) FILTER (NOT prefill) >= 10 THEN avg(util_sum) FILTER (NOT prefill) ELSE avg(util_sum) END AS util_sum,
    min(util_sum) AS util_sum_min, max(util_sum) AS util_sum_max, count(*) AS rounds, max(cards) AS cards,
    max(cards_missing) AS cards_missing, max(cards_extra) AS cards_extra,
    CASE WHEN avg(prefill::INT) <= 0.15 AND max(cards_extra) = 0 AND scope_id NOT IN (FROM shared) THEN greatest(0,
        100 - avg(util_sum) FILTER (NOT prefill)
        + coalesce(2 * stddev_samp(util_sum) FILTER (NOT prefill) / sqrt(count(*) FILTER (NOT prefill)), 0) + 0.5 * max(cards)
    ) END AS idle_bound,
    [{'source_id': min(source_id), 'line': min(line)}, {'source_id': max(source_id), 'line': max(line)}] AS ev
FROM main.decode_sums GROUP BY scope_id
