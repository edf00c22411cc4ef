-- The time of one decode step and what could fill it, per scope, in milliseconds as intervals. NULL at the high end: not bounded.
-- Memory at 0.75 to 0.92 of the bandwidth, arithmetic at 0.6 to 0.85 of the peak; the host by the share of time in which nothing runs.
-- No row where a part needs more than the whole step (the rules' limit `possible`): then card, model or steps are not of one run.
WITH known AS (
    SELECT
        b.scope_id, 1000 / b.steps_hi AS step_lo, 1000 / b.steps_lo AS step_hi,
        1000 * b.pass_bytes_lo / (0.92 * b.bw_hi * 1e9) AS memory_lo,
        1000 * (b.step_bytes_hi / b.bw_lo + b.kv_bytes_hi / b.bw_one_lo) / (0.75 * 1e9) AS memory_hi,
        1000 * 2 * b.active_b * 1e9 * b.batch_lo / (0.85 * b.peak_hi * 1e12) AS compute_lo,
        1000 * 2 * b.active_b * 1e9 * coalesce(t.tok_s_hi / b.steps_lo, b.batch_hi) / (0.6 * b.peak_lo * 1e12) AS compute_hi,
        b.mbu_lo, 2 * b.active_b * 1e9 * t.tok_s_lo / (b.peak_hi * 1e12) AS mfu_lo, l.share_lo AS link_share_lo, l.latency_share_lo,
        l.share_lo * 1000 / b.steps_hi AS link_lo, l.share_hi * 1000 / b.steps_lo AS link_hi,
        l.latency_share_lo * 1000 / b.steps_hi AS latency_lo,
        CASE WHEN b.split IN ('layer', 'none', 'data') THEN 0 ELSE l.latency_share_hi * 1000 / b.steps_lo END AS latency_hi,
        0 AS host_lo, CASE WHEN b.split = 'layer' THEN i.idle_bound / 100 * 1000 / b.steps_lo END AS host_hi
    FROM main.step_bytes b JOIN main.computed_tokens t USING (scope_id) LEFT JOIN main.link_load l USING (scope_id) LEFT JOIN (FROM main.serial_idle WHERE rounds >= 10) i USING (scope_id)
    WHERE b.steps_lo > 0 OR b.steps_hi > 0
), possible AS (
    FROM known WHERE coalesce(greatest(mbu_lo, mfu_lo, link_share_lo, latency_share_lo), 0) <= 1.02
), parts AS (
    SELECT scope_id, 1 AS place, 'memory' AS component, memory_lo AS lo_ms, memory_hi AS hi_ms, step_lo, step_hi FROM possible
    UNION ALL SELECT scope_id, 2, 'arithmetic', compute_lo, compute_hi, step_lo, step_hi FROM possible
    UNION ALL SELECT scope_id, 3, 'link bandwidth', link_lo, link_hi, step_lo, step_hi FROM possible
    UNION ALL SELECT scope_id, 4, 'link latency', latency_lo, latency_hi, step_lo, step_hi FROM possible
    UNION ALL SELECT scope_id, 5, 'host', host_lo, host_hi, step_lo, step_hi FROM possible
)
SELECT scope_id, place, component, coalesce(lo_ms, 0) AS lo_ms, hi_ms, step_lo AS step_lo_ms, step_hi AS step_hi_ms FROM parts
UNION ALL
-- what all upper bounds together leave over; with one of them open, nothing is known to be left
SELECT
    scope_id, 6, 'unexplained', CASE WHEN count(hi_ms) = count(*) THEN greatest(0, any_value(step_lo) - sum(hi_ms)) ELSE 0 END,
    greatest(0, any_value(step_hi) - sum(coalesce(lo_ms, 0))), any_value(step_lo), any_value(step_hi)
FROM parts GROUP BY scope_id
