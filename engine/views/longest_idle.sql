-- The longest stretch in which the cards of a scope do nothing, with what else is known of it: whether the server itself holds a request,
-- the model is on these cards, memory is flat, power is at the idle floor (over it: `power_over`, in W), the link is quiet, something is
-- loading, and how many tokens come out.
WITH longest AS (
    SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY scope_id ORDER BY n DESC, source_id, first_cycle) AS rank FROM main.idle_stretches) WHERE rank = 1
), inside AS (
    SELECT l.scope_id, s.host, s.gpu, max(s.power_w) AS power_max, max(s.power_limit_w) AS limit_w, min(s.mem_used) AS mem_lo, max(s.mem_used) AS mem_hi,
        -- 5 % of what the link can copy; 3.2 GB/s is the narrowest that cards commonly have (Gen3 x4)
        count(*) FILTER (greatest(coalesce(s.pcie_rx, 0), coalesce(s.pcie_tx, 0)) > 0.05 * coalesce(
            0.8 * s.pcie_width * CASE s.pcie_gen WHEN 1 THEN 250 WHEN 2 THEN 500 WHEN 3 THEN 985 WHEN 4 THEN 1970 WHEN 5 THEN 3940 WHEN 6 THEN 7560 END, 3200
        )) AS pcie_busy
    FROM longest l JOIN main.samples_in_load s ON s.scope_id = l.scope_id AND s.source_id = l.source_id AND s.cycle BETWEEN l.first_cycle AND l.last_cycle
    -- power is a mean over the last second on most cards, and utilisation is as old as its window: the first second of the stretch
    -- still holds the work before it, the last one may hold the work after it
    WHERE l.first_t IS NULL OR s.t BETWEEN l.first_t + 1 AND l.last_t - 1
    GROUP BY l.scope_id, s.host, s.gpu
), cards AS (
    SELECT
        i.scope_id, sum(i.mem_hi) * 1048576 AS mem_bytes, min(i.mem_hi) * 1048576 AS card_bytes, max((i.mem_hi - i.mem_lo) / nullif(i.mem_hi, 0)) AS mem_change,
        max(CASE WHEN p.idle_w IS NULL OR i.power_max IS NULL THEN NULL ELSE i.power_max - p.idle_w - greatest(10, 0.03 * coalesce(i.limit_w - p.idle_w, 0)) END) AS power_over,
        count(*) FILTER (p.idle_w IS NULL OR i.power_max IS NULL) AS power_unknown, sum(i.pcie_busy) AS pcie_busy_seen
    FROM inside i LEFT JOIN main.idle_power p ON (p.gpu = i.gpu AND p.host IS NOT DISTINCT FROM i.host) OR p.gpu IS NULL
    GROUP BY i.scope_id
), window_origins AS (
    SELECT l.scope_id, count(*) AS n FROM longest l JOIN main.load_windows w ON w.origin LIKE 'server%' AND NOT w.estimated AND l.began >= w.began AND l.ended <= w.ended
    GROUP BY l.scope_id
), loads AS (
    SELECT l.scope_id, count(*) AS n FROM longest l JOIN main.server_events e ON e.kind IN ('loading', 'loaded') AND e.time BETWEEN l.began - 5 AND l.ended + 5 GROUP BY l.scope_id
), lines AS (
    SELECT time, server, gen_tok_s, prompt_tok_s, running, lag(time) OVER w AS before, lag(running) OVER w AS running_before,
        median(time - before) OVER (PARTITION BY source_id) AS usual_s, bool_or(running = 0) OVER (PARTITION BY source_id) AS tells_idle
    FROM (SELECT *, lag(time) OVER (PARTITION BY source_id, engine, rank, run ORDER BY time, line) AS before FROM main.server_samples
        WHERE gen_tok_s IS NOT NULL OR prompt_tok_s IS NOT NULL)
    WINDOW w AS (PARTITION BY source_id, engine, rank, run ORDER BY time, line)
), printed AS (
    -- a line speaks of the time since the line before it, and of no more than the usual distance of lines
    SELECT greatest(before, time - 1.5 * usual_s) AS since, time AS until_time, coalesce(gen_tok_s, 0) + coalesce(prompt_tok_s, 0) AS tok_s FROM lines
    UNION ALL
    -- vLLM leaves lines out while nothing is computed: a gap between two lines that both run something. Not where idle lines were cut out
    SELECT before, time - usual_s, 0 FROM lines WHERE server = 'vllm' AND tells_idle AND running > 0 AND running_before > 0 AND time - before > 2 * usual_s
), made AS (
    SELECT
        l.scope_id, sum(p.tok_s * (p.until_time - p.since)) / nullif(sum(p.until_time - p.since), 0) AS inside_rate,
        any_value((SELECT median(gen_tok_s) FROM main.server_samples WHERE gen_tok_s > 0)) AS usual_rate
    FROM longest l JOIN printed p ON p.since >= l.began - 1 AND p.until_time <= l.ended
    GROUP BY l.scope_id
), offload AS (
    SELECT
        scope_id, max(num_lo) FILTER (key = 'layers_offloaded') AS off_n, max(num_hi) FILTER (key = 'layers_total') AS all_n,
        max(num_hi) FILTER (key IN ('weights_gib', 'weights_gib_per_rank')) * 1073741824 AS rank_bytes
    FROM main.config_in_scope GROUP BY scope_id
)
SELECT
    l.scope_id, l.source_id, l.line, l.n AS idle_rounds, coalesce(l.lasts_s, l.n - 1) AS idle_s,
    CASE WHEN w.n > 0 THEN 1 END AS server_in_flight,
    CASE WHEN o.off_n >= o.all_n THEN 1 WHEN c.mem_bytes >= 0.8 * f.file_bytes THEN 1 WHEN c.mem_bytes < 0.8 * f.file_bytes THEN 0
        WHEN c.card_bytes >= 0.8 * o.rank_bytes THEN 1 END AS model_on_cards,
    c.mem_change, CASE WHEN c.power_unknown = 0 THEN c.power_over END AS power_over, c.pcie_busy_seen, coalesce(ld.n, 0) AS loading_seen,
    m.inside_rate / m.usual_rate AS tokens_share
FROM longest l
LEFT JOIN cards c USING (scope_id) LEFT JOIN window_origins w USING (scope_id) LEFT JOIN loads ld USING (scope_id) LEFT JOIN made m USING (scope_id)
LEFT JOIN main.roofs f USING (scope_id) LEFT JOIN offload o USING (scope_id)
