-- Batch, steps per second and tokens per second of decode, per scope, as intervals. One stream: its decode rate where it counts. More
-- streams: total / batch, with the batch from N_eff, from the server's running count, or between 0.55 C and C where C fits the slots. A
-- server with one slot decodes one stream at a time, however many are offered. With speculation, a step gives as many tokens as the
-- log says; where it does not say, at most the drafted ones and one more.
WITH eval_rates AS (
    SELECT
        scope_id, min(1000 * decode_steps / decode_ms) AS rate_lo, max(1000 * decode_steps / decode_ms) AS rate_hi, count(*) AS n,
        max(coalesce(prompt_tokens, 0) + coalesce(cached_tokens, 0) + output_tokens) AS longest, sum(drafted_tokens) AS drafted,
        min({'source_id': source_id, 'line': line}, 2) AS ev
    FROM main.requests_in_scope WHERE decode_ms > 0 AND decode_steps > 20 GROUP BY scope_id
), totals AS (
    SELECT
        sc.scope_id, max(b.aggregate_tok_s) FILTER (b.aggregate_counts IS DISTINCT FROM 'total') AS x_out,
        greatest(max(b.total_tok_s), max(b.aggregate_tok_s) FILTER (b.aggregate_counts = 'total')) AS x_total,
        max((b.input_tokens + b.output_tokens) / b.wall_s) AS x_counted, max(b.aggregate_tok_s) FILTER (b.aggregate_counts = 'output') AS x_sure,
        max(coalesce(b.input_len / b.output_len, b.input_tokens / b.output_tokens)) AS prompt_share, max(b.accept_len) AS accept_len,
        max(b.per_stream_tok_s) AS r_any, min({'source_id': b.source_id, 'line': b.line}, 2) AS ev
    FROM main.bench_steps b
    JOIN main.bench_series bs ON bs.source_id = b.source_id AND bs.line = b.line AND bs.concurrency = b.concurrency AND bs.series IS NOT DISTINCT FROM b.series
    JOIN main.scopes sc ON sc.series_key = bs.series_key AND sc.concurrency = bs.concurrency
    GROUP BY sc.scope_id
), tests AS (
    -- programs that run a fixed test in their own process: its length is known, and they do not speculate
    SELECT sc.scope_id, max(b.input_len + b.output_len) AS tokens
    FROM main.bench_steps b
    JOIN main.bench_series bs ON bs.source_id = b.source_id AND bs.line = b.line AND bs.concurrency = b.concurrency AND bs.series IS NOT DISTINCT FROM b.series
    JOIN main.scopes sc ON sc.series_key = bs.series_key AND sc.concurrency = bs.concurrency
    GROUP BY sc.scope_id
    HAVING bool_and(b.source_id IN (SELECT source_id FROM main.server_config WHERE server IN ('llama-bench', 'llama-batched-bench')))
), idling AS (
    -- how many lines in a row show requests, in the mean
    SELECT source_id, count(*) FILTER (running > 0) AS busy_lines, count(*) FILTER (running > 0 AND coalesce(before, 0) = 0) AS stretches FROM (
        SELECT source_id, running, lag(running) OVER (PARTITION BY source_id, run, engine, rank ORDER BY time, line) AS before
        FROM main.server_samples WHERE running IS NOT NULL AND phase IS DISTINCT FROM 'prefill'
    ) GROUP BY source_id
), lines AS (
    SELECT
        scope_id, median(gen_tok_s) FILTER (gen_tok_s > 0) AS x, min(running) FILTER (running > 0) AS running_lo, max(running) AS running_hi,
        max(accept_len) AS accept_len, max(kv_usage) AS kv_usage, count(*) FILTER (gen_tok_s > 0) AS n,
        min({'source_id': source_id, 'line': line}, 2) FILTER (gen_tok_s > 0) AS ev
    FROM main.server_in_scope GROUP BY scope_id
), computed AS (
    -- what the lines say with the prompts; not where the server goes idle within every few lines, which holds the mean of each down
    SELECT scope_id, x_all + coalesce(new_tok_s, 0) AS x_all FROM (
        SELECT
            scope_id, median(gen_tok_s + coalesce(prompt_tok_s, 0)) FILTER (gen_tok_s > 0) AS x_all, sum(new_tokens) / nullif(max(t) - min(t), 0) AS new_tok_s
        FROM main.server_in_scope GROUP BY scope_id
    ) WHERE scope_id NOT IN (
        SELECT l.scope_id FROM main.server_in_scope l JOIN idling i USING (source_id) WHERE l.running > 0 AND i.busy_lines < 5 * i.stretches
    )
), spec AS (
    SELECT scope_id, min(value) FILTER (key = 'speculation') AS speculation, max(num_hi) FILTER (key = 'draft_tokens') AS draft_tokens
    FROM main.config_in_scope WHERE key IN ('speculation', 'draft_tokens') GROUP BY scope_id
), known AS (
    SELECT
        sc.scope_id, sc.kind, sc.concurrency, st.r, st.r_is_decode, st.n_eff, l.slots_lo, l.slots_hi = 1 AND l.slots_origin <> 'estimated' AS one_slot,
        e.rate_lo, e.rate_hi, coalesce(e.longest, ts.tokens) AS longest, ts.scope_id IS NOT NULL AS fixed_test, e.n AS eval_n,
        coalesce(t.x_out, CASE WHEN li.n >= 5 THEN li.x END) AS x_out, t.x_total, t.x_counted,
        -- the output alone, at least: a total that does not say what it counts may hold the prompts, but the rate of one stream does not
        CASE WHEN t.x_out IS NULL THEN CASE WHEN li.n >= 5 THEN li.x END ELSE coalesce(t.x_sure, CASE WHEN t.r_any < t.x_out THEN t.r_any WHEN t.r_any > 0 THEN t.x_out END, t.x_out / (1 + t.prompt_share)) END AS x_low,
        -- while a prompt is computed no token comes, and a token of a prompt takes no longer than one of an answer: decode itself makes at
        -- most as many as both together. Less than four tokens of prompts to each of many streams take a small part of the time
        CASE WHEN t.x_out IS NULL AND li.n >= 5 THEN CASE WHEN sc.concurrency = 1 OR m.x_all > 5 * li.x THEN m.x_all WHEN m.x_all > 0 THEN li.x END
             WHEN sc.concurrency = 1 OR coalesce(t.x_total / t.x_out - 1, t.prompt_share) > 4 THEN coalesce(t.x_total, t.x_out * (1 + t.prompt_share), t.x_out)
             ELSE coalesce(t.x_out, t.x_total) END AS x_high,
        li.running_lo, li.running_hi, li.kv_usage,
        coalesce(t.accept_len, li.accept_len) AS accept_len, coalesce(e.ev, t.ev, li.ev) AS ev,
        -- llama.cpp prints a draft line after every speculative request, so timing lines without one show that it is off
        CASE WHEN e.drafted > 0 OR t.accept_len > 1 OR li.accept_len > 1 OR sp.speculation = 'on' THEN 'on'
             WHEN sp.speculation = 'off' OR e.longest IS NOT NULL OR ts.scope_id IS NOT NULL THEN 'off' END AS speculation, sp.draft_tokens
    FROM main.scopes sc
    LEFT JOIN main.steps st USING (scope_id) LEFT JOIN main.slots l USING (scope_id) LEFT JOIN eval_rates e USING (scope_id)
    LEFT JOIN totals t USING (scope_id) LEFT JOIN lines li USING (scope_id) LEFT JOIN spec sp USING (scope_id) LEFT JOIN tests ts USING (scope_id) LEFT JOIN computed m USING (scope_id)
), batch AS (
    SELECT
        *,
        concurrency = 1 OR coalesce(one_slot, FALSE) AS alone,
        CASE WHEN concurrency = 1 OR one_slot THEN 1 WHEN r_is_decode THEN n_eff WHEN running_lo IS NOT NULL AND eval_n IS NULL THEN running_lo
             WHEN concurrency <= slots_lo THEN 0.55 * concurrency END AS batch_lo,
        CASE WHEN concurrency = 1 OR one_slot THEN 1 WHEN r_is_decode THEN n_eff WHEN running_hi IS NOT NULL AND eval_n IS NULL THEN running_hi
             WHEN concurrency <= slots_lo THEN concurrency END AS batch_hi,
        coalesce(accept_len, 1) AS accept_lo,
        CASE WHEN accept_len IS NOT NULL THEN accept_len WHEN speculation = 'on' THEN draft_tokens + 1 ELSE 1 END AS accept_hi
    FROM known
)
SELECT
    scope_id, concurrency, batch_lo, batch_hi,
    -- the total of many streams before one slot holds prompts and may be of several such servers: no rate of steps
    CASE WHEN alone OR r_is_decode THEN coalesce(least(CASE WHEN r_is_decode THEN r END, rate_lo), CASE WHEN concurrency = 1 THEN x_low END)
        ELSE x_low / batch_hi END
        / accept_hi AS steps_lo,
    -- a total with prompts is at least the output; a per-stream rate of unknown meaning is at most the decode rate
    CASE WHEN alone OR r_is_decode
        THEN coalesce(greatest(CASE WHEN r_is_decode THEN r END, rate_hi), CASE WHEN concurrency = 1 AND x_high IS NOT NULL THEN greatest(x_high, r) END)
        ELSE x_high / batch_lo END
        / accept_lo AS steps_hi,
    x_out, coalesce(x_total, x_counted) AS x_total, kv_usage, longest, accept_len,
    speculation, fixed_test, ev
FROM batch
