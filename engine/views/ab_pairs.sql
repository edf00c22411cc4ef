-- Runs of one number of streams that differ in one recorded thing, seen from each side. `factor`: the one setting in which the logs of
-- their servers differ, or `clocks` where nothing differs (one server run, or two with equal settings) but the clocks read under load.
--   gain        how much more the other arm gives, less and plus what chance gives; 5 % where an arm ran once
--   sure        both server runs are known, five settings or more were compared, lengths and counts are equal, three runs per arm
--   sm, mem     elasticities d ln X / d ln f, where one clock differs by a tenth or more, steady on all cards, and the other does not
WITH one_server AS (
    SELECT scope_id, min(source_id) AS source_id, min(run) AS run FROM main.scope_servers WHERE how <> 'loose' GROUP BY scope_id HAVING count(*) = 1
), cards AS (
    SELECT
        scope_id, host, gpu, count(*) AS n, median(sm_clock) AS sm, median(mem_clock) AS mem,
        quantile_cont(sm_clock, 0.9) <= 1.03 * quantile_cont(sm_clock, 0.1) AS sm_steady, quantile_cont(mem_clock, 0.9) <= 1.01 * quantile_cont(mem_clock, 0.1) AS mem_steady
    FROM main.samples_in_load WHERE placed IN ('given', 'clock') AND util_gpu >= 10 AND scope_id IN (SELECT scope_id FROM main.series_pairs)
    GROUP BY scope_id, host, gpu
), clocks AS (
    -- all cards at one clock
    SELECT scope_id, median(sm) AS sm, median(mem) AS mem FROM cards GROUP BY scope_id
    HAVING min(n) >= 10 AND bool_and(sm_steady) AND bool_and(mem_steady) AND max(sm) <= 1.03 * min(sm) AND max(mem) <= 1.01 * min(mem)
), paired AS (
    SELECT
        p.scope_id, p.other_scope, p.mean_a, p.mean_b, p.mean_b / p.mean_a - 1 AS gain, coalesce(p.floor_share * p.mean_b / p.mean_a, 0.05) AS noise,
        least(p.n_a, p.n_b) AS repeats, p.floor_share IS NOT NULL AS spread_known, p.ev, a.source_id IS NOT NULL AND b.source_id IS NOT NULL AS servers_known,
        (a.source_id, a.run) = (b.source_id, b.run) AS same_run, d.factors_all, d.names, d.others, d.shared, d.eager_a, d.eager_b, d.reduces_a, d.reduces_b, d.ev_a, d.ev_b,
        coalesce(p.other_counts, 0) + coalesce(p.other_input, 0) + coalesce(p.other_output, 0)
            -- a name that says more than one change
            + CASE WHEN len(p.parts_a) = len(p.parts_b) THEN (len(list_filter(list_zip(p.parts_a, p.parts_b), lambda x: x[1] <> x[2])) > 1)::INT ELSE 0 END AS other_things,
        ka.sm AS sm_a, kb.sm AS sm_b, ka.mem AS mem_a, kb.mem AS mem_b
    FROM main.series_pairs p
    LEFT JOIN one_server a ON a.scope_id = p.scope_id LEFT JOIN one_server b ON b.scope_id = p.other_scope
    LEFT JOIN main.server_differences d ON d.source_a = a.source_id AND d.run_a = a.run AND d.source_b = b.source_id AND d.run_b = b.run
    LEFT JOIN clocks ka ON ka.scope_id = p.scope_id LEFT JOIN clocks kb ON kb.scope_id = p.other_scope
    WHERE p.c_a = p.c_b AND p.mean_a > 0 AND p.mean_b > 0
), told AS (
    SELECT
        *,
        -- clocks that are known and do not differ, or are not recorded: a setting is then the one recorded thing
        CASE WHEN same_run OR (factors_all = 0 AND others = 0 AND shared >= 5) THEN 0 WHEN shared >= 5 THEN factors_all + others END AS settings_differ,
        abs(ln(sm_a / sm_b)) AS sm_apart, abs(ln(mem_a / mem_b)) AS mem_apart
    FROM paired
)
SELECT
    scope_id, other_scope, mean_a, mean_b, gain - noise AS gain_lo, gain + noise AS gain_hi, repeats, settings_differ,
    CASE WHEN settings_differ = 1 AND others = 0 AND coalesce(greatest(sm_apart, mem_apart) < 0.05, TRUE) THEN names
         WHEN settings_differ = 0 AND greatest(sm_apart, mem_apart) >= 0.095 THEN 'clocks' END AS factor,
    servers_known AND other_things = 0 AND repeats >= 3 AND spread_known AS sure,
    eager_a AS eager, eager_b AS eager_other, reduces_a AS reduces, reduces_b AS reduces_other, sm_a AS sm_mhz, sm_b AS sm_other_mhz, mem_a AS mem_mhz, mem_b AS mem_other_mhz,
    CASE WHEN sm_apart >= 0.095 AND mem_apart < 0.02 THEN least(ln(1 + gain - noise) / ln(sm_b / sm_a), ln(1 + gain + noise) / ln(sm_b / sm_a)) END AS sm_lo,
    CASE WHEN sm_apart >= 0.095 AND mem_apart < 0.02 THEN greatest(ln(1 + gain - noise) / ln(sm_b / sm_a), ln(1 + gain + noise) / ln(sm_b / sm_a)) END AS sm_hi,
    CASE WHEN mem_apart >= 0.095 AND sm_apart < 0.03 THEN least(ln(1 + gain - noise) / ln(mem_b / mem_a), ln(1 + gain + noise) / ln(mem_b / mem_a)) END AS mem_lo,
    CASE WHEN mem_apart >= 0.095 AND sm_apart < 0.03 THEN greatest(ln(1 + gain - noise) / ln(mem_b / mem_a), ln(1 + gain + noise) / ln(mem_b / mem_a)) END AS mem_hi,
    list_concat(ev, list_concat(ev_a, ev_b)) AS ev
FROM told WHERE other_things = 0 AND gain - noise > -1
