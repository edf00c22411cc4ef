-- How many requests one data-parallel engine runs at once, per scope: its statistics lines count its own requests. vLLM logs the number
-- beside the total of all engines, SGLang's is per rank from the start; a stated number may mean either.
WITH told AS (
    SELECT
        scope_id, max(num_hi) FILTER (key = 'data_parallel') AS dp, min(num_lo) FILTER (key = 'slots_per_engine') AS own_lo, max(num_hi) FILTER (key = 'slots_per_engine') AS own_hi,
        any_value(origin) FILTER (key = 'slots_per_engine') AS own_origin, any_value(ev) FILTER (key = 'slots_per_engine') AS own_ev
    FROM main.config_in_scope GROUP BY scope_id
)
SELECT
    l.scope_id, coalesce(t.own_lo, CASE WHEN l.slots_origin = 'given' AND t.dp > 1 THEN floor(l.slots_lo / t.dp) ELSE l.slots_lo END) AS slots_lo, coalesce(t.own_hi, l.slots_hi) AS slots_hi,
    CASE WHEN t.own_lo IS NOT NULL THEN t.own_origin ELSE l.slots_origin END AS slots_origin, CASE WHEN t.own_lo IS NULL THEN l.slots_given END AS slots_given,
    coalesce(t.own_ev, l.slots_ev) AS slots_ev
FROM main.slots l LEFT JOIN told t USING (scope_id)
