-- The sampling rounds that speak about decode: those that the server places in a decode phase where there are ten or more of them, else
-- all complete rounds. Prefill of a layer split runs on all cards at once and raises the sum.
SELECT * EXCLUDE (cut), cut AS phases_known
FROM (SELECT *, count(*) FILTER (complete AND phase = 'decode') OVER (PARTITION BY scope_id) >= 10 AS cut FROM main.util_sums)
WHERE complete AND (NOT cut OR phase = 'decode')
