-- On how many cards one copy of the model runs, per scope, and how many copies there are: ranks of the log, else the devices that hold
-- its buffers, else what is given, else the cards seen at work, where the weights fit into them: another job may use the rest; else at most
-- those that a server names. What a log of perhaps another run says only widens what was seen.
WITH seen AS (
    SELECT scope_id, max(cards) AS n FROM main.util_sums GROUP BY scope_id
), everywhere AS (
    -- what was recorded in another scope of the same run; a recording that nothing ties to it may be of another machine
    SELECT t.scope_id, max(u.cards) AS n FROM main.scope_sources t JOIN (SELECT DISTINCT source_id, cards FROM main.util_sums) u USING (source_id) GROUP BY t.scope_id
), buffers AS (
    SELECT scope_id, min(n) AS lo, max(n) AS hi FROM main.scope_sources JOIN (
        SELECT source_id, run, count(DISTINCT value) AS n FROM main.server_config WHERE key = 'device_model_mib' AND num > 0
        -- a buffer of split rows is named after the main card and lies on all of them
        AND (source_id, coalesce(run, 0)) NOT IN (SELECT (source_id, coalesce(run, 0)) FROM main.server_config WHERE key = 'split' AND value = 'row') GROUP BY ALL
    ) USING (source_id) GROUP BY scope_id
), named AS (
    SELECT scope_id, max(n) AS n FROM main.scope_sources
    JOIN (SELECT source_id, count(DISTINCT device) AS n FROM main.gpus WHERE device IS NOT NULL GROUP BY source_id) USING (source_id) GROUP BY scope_id
), settings AS (
    SELECT
        scope_id, origin = 'estimated' AS loose,
        max(num_lo) FILTER (key = 'tensor_parallel') AS tensor_lo, max(num_hi) FILTER (key = 'tensor_parallel') AS tensor_hi,
        max(num_lo) FILTER (key = 'pipeline_parallel') AS stages_lo, max(num_hi) FILTER (key = 'pipeline_parallel') AS stages_hi,
        max(num_lo) FILTER (key = 'data_parallel') AS copies_lo, max(num_hi) FILTER (key = 'data_parallel') AS copies_hi,
        max(num_lo) FILTER (key = 'split_devices') AS devices_lo, max(num_hi) FILTER (key = 'split_devices') AS devices_hi,
        coalesce(bool_or(value = 'true') FILTER (key = 'dp_attention'), FALSE) AS shared_ranks
    FROM main.config_in_scope GROUP BY scope_id, loose
), counted AS (
    SELECT
        scope_id, loose,
        coalesce(CASE WHEN coalesce(tensor_lo, stages_lo) IS NOT NULL THEN coalesce(tensor_lo, 1) * coalesce(stages_lo, 1) END, devices_lo) AS lo,
        coalesce(CASE WHEN coalesce(tensor_hi, stages_hi) IS NOT NULL THEN coalesce(tensor_hi, 1) * coalesce(stages_hi, 1) END, devices_hi) AS hi,
        -- with attention spread over the data-parallel ranks these are the tensor-parallel ranks over again
        CASE WHEN NOT shared_ranks THEN copies_lo END AS copies_lo, CASE WHEN NOT shared_ranks THEN copies_hi END AS copies_hi
    FROM settings
), splits AS (
    SELECT scope_id, min(value) AS split FROM main.config_in_scope WHERE key = 'split' GROUP BY scope_id
), room AS (
    -- the weights on the cards that were seen: where they do not fit, cards are missing in the files
    SELECT
        m.scope_id, m.file_bytes, coalesce(
            (SELECT max(memory_mib) * 1048576 FROM main.gpus WHERE memory_mib > 0), (SELECT max(memory_gib) * 1073741824 FROM main.gpu_catalog_match)
        ) AS card_bytes
    FROM main.model_facts m
), working AS (
    SELECT sc.scope_id, coalesce(s.n, e.n) AS n, coalesce(r.file_bytes > coalesce(s.n, e.n) * r.card_bytes, FALSE) AS short
    FROM main.scopes sc LEFT JOIN everywhere e USING (scope_id) JOIN room r USING (scope_id) LEFT JOIN seen s USING (scope_id)
), gathered AS (
    SELECT
        sc.scope_id, p.split, l.copies_lo, l.copies_hi, r.card_bytes,
        coalesce(l.lo, b.lo) AS logged_lo, coalesce(l.hi, b.hi) AS logged_hi, o.lo AS loose_lo, o.hi AS loose_hi,
        (SELECT any_value(num) FROM main.given WHERE key = 'gpu.count') AS stated,
        CASE WHEN NOT w.short THEN d.n END AS named, CASE WHEN NOT w.short THEN w.n END AS at_work
    FROM main.scopes sc LEFT JOIN buffers b USING (scope_id) LEFT JOIN named d USING (scope_id) JOIN room r USING (scope_id) JOIN working w USING (scope_id)
    LEFT JOIN splits p USING (scope_id)
    LEFT JOIN (FROM counted WHERE NOT loose) l USING (scope_id) LEFT JOIN (FROM counted WHERE loose) o USING (scope_id)
), told AS (
    SELECT
        *,
        coalesce(logged_lo, stated, least(loose_lo, at_work), CASE WHEN named > 0 THEN 1 END) AS all_lo,
        coalesce(logged_hi, stated, greatest(loose_hi, at_work), named) AS all_hi
    FROM gathered
)
SELECT
    scope_id, split, card_bytes,
    -- a data split whose ranks nobody tells has one card per copy
    CASE WHEN split = 'data' THEN coalesce(logged_lo, 1) ELSE all_lo END AS cards_lo, CASE WHEN split = 'data' THEN coalesce(logged_hi, 1) ELSE all_hi END AS cards_hi,
    coalesce(copies_lo, CASE WHEN split = 'data' THEN coalesce(stated, at_work) END, 1) AS copies_lo,
    coalesce(copies_hi, CASE WHEN split = 'data' THEN coalesce(stated, at_work) ELSE 1 END) AS copies_hi
FROM told
