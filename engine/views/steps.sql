-- One row per step of a sweep: totals, per-stream rate, effective concurrency, and slopes against the reference step (the highest
-- concurrency at or below C/1.5 of the same series). The rate gate: a per-stream rate counts only if its column says decode, or the
-- server's own eval rates of the same requests agree within 5 %.
WITH rows_of AS (
    SELECT
        sc.scope_id, sc.series_key, sc.concurrency,
        median(b.aggregate_tok_s) FILTER (b.aggregate_counts IS DISTINCT FROM 'total') AS x,
        median(b.aggregate_tok_s) FILTER (b.aggregate_counts = 'total') AS x_total,
        median(b.per_stream_tok_s) AS r,
        min(b.per_stream_counts) AS r_counts, count(DISTINCT b.per_stream_counts) AS r_meanings,
        sum(b.failed) / nullif(sum(coalesce(b.requests, b.completed + b.failed)), 0) AS failed_share,
        median(coalesce(b.e2e_mean_ms, b.e2e_p50_ms)) AS latency_ms,
        median(b.wall_s) AS wall_s, median(coalesce(b.completed, b.requests)) AS requests, count(*) AS repeats,
        min({'source_id': b.source_id, 'line': b.line}, 3) AS ev
    FROM main.scopes sc
    JOIN main.bench_series bs ON bs.series_key = sc.series_key AND bs.concurrency = sc.concurrency
    JOIN main.bench_steps b ON b.source_id = bs.source_id AND b.line = bs.line AND b.concurrency = bs.concurrency AND b.series IS NOT DISTINCT FROM bs.series
    GROUP BY sc.scope_id, sc.series_key, sc.concurrency
), server AS (
    SELECT
        scope_id, median(1000 * decode_steps / decode_ms) AS rate, count(*) AS n,
        max(coalesce(prompt_tokens, 0) + coalesce(cached_tokens, 0) + output_tokens) AS longest,
        min(1000 * decode_steps / decode_ms) AS rate_lo, max(1000 * decode_steps / decode_ms) AS rate_hi,
        sum(drafted_tokens) AS drafted, sum(output_tokens) AS output_tokens,
        min({'source_id': source_id, 'line': line}, 2) AS ev
    FROM main.requests_in_scope WHERE decode_ms > 0 AND decode_steps > 1 AND scope_id > 0 GROUP BY scope_id
), matched AS (
    SELECT scope_id, median(1000 * decode_steps / decode_ms) AS rate FROM main.requests_in_scope
    WHERE how = 'matched to the step' AND decode_ms > 0 AND decode_steps > 1 GROUP BY scope_id
), gated AS (
    SELECT
        o.*, s.rate AS server_rate, s.n AS server_n, s.longest, s.rate_lo AS server_rate_lo, s.rate_hi AS server_rate_hi, s.drafted,
        s.ev AS server_ev, o.wall_s * o.x / o.requests AS tokens_per_request,
        CASE
            WHEN o.r_counts = 'decode' AND o.r_meanings = 1 THEN TRUE
            WHEN abs(o.r / m.rate - 1) <= 0.05 THEN TRUE
            WHEN o.r_counts IN ('latency', 'derived') THEN FALSE
            WHEN m.rate IS NOT NULL THEN FALSE
        END AS r_is_decode,
        CASE WHEN o.r_counts = 'decode' AND o.r_meanings = 1 THEN 'the column says decode'
             WHEN abs(o.r / m.rate - 1) <= 0.05 THEN 'the eval rates in the server log agree within 5 %'
             WHEN o.r_counts = 'derived' THEN 'it is the total divided by the streams'
             WHEN o.r_counts = 'latency' THEN 'it is tokens over the whole latency'
             WHEN m.rate IS NOT NULL THEN 'the eval rates in the server log differ'
             ELSE 'nothing says what it counts' END AS r_gate
    FROM rows_of o LEFT JOIN server s USING (scope_id) LEFT JOIN matched m USING (scope_id)
), pairs AS (
    SELECT
        g.*, g.x / g.r AS n_eff,
        p.concurrency AS ref_concurrency, p.x AS ref_x, p.r AS ref_r, p.x / p.r AS ref_n_eff, p.r_is_decode AS ref_r_is_decode, p.ev AS ref_ev,
        ln(g.x / p.x) / ln(g.concurrency / p.concurrency) AS x_slope,
        ln(g.r / p.r) / ln(g.concurrency / p.concurrency) AS r_slope,
        ln((g.x / g.r) / (p.x / p.r)) / ln(g.concurrency / p.concurrency) AS n_eff_slope,
        ln(g.latency_ms / p.latency_ms) / ln(g.concurrency / p.concurrency) AS latency_slope,
        row_number() OVER (PARTITION BY g.scope_id ORDER BY p.concurrency DESC NULLS LAST) AS nearest
    FROM gated g
    LEFT JOIN gated p ON p.series_key = g.series_key AND p.concurrency <= g.concurrency / 1.5 AND p.x > 0 AND p.r > 0
)
SELECT * EXCLUDE (nearest) FROM pairs WHERE nearest = 1
