-- The sampling rounds that speak about decode: those that the server places in a decode phase where there are ten or more of them, else
-- all complete rounds. Prefill of a layer split runs on all cards at once and raises the sum: where phases are not told apart, rounds
-- above what one working card can show (115 with driver windows that are not aligned) and their neighbours are marked as `prefill`, and
-- `prefill_share` is the share of such rounds without the neighbours.
WITH cut AS (
    SELECT * EXCLUDE (known), known AS phases_known
    FROM (SELECT *, count(*) FILTER (complete AND phase = 'decode') OVER (PARTITION BY scope_id) >= 10 AS known FROM main.util_sums)
    WHERE complete AND (NOT known OR phase = 'decode')
)
SELECT
    *, NOT phases_known AND max(util_sum) OVER (PARTITION BY scope_id, source_id ORDER BY cycle ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) > 115 AS prefill,
    avg((NOT phases_known AND util_sum > 115)::INT) OVER (PARTITION BY scope_id) AS prefill_share
FROM cut
