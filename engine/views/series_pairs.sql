-- Pairs of series at the same number of streams; where two series share none, all of their steps. `d`: how much more this one gives;
-- `floor_share`: what chance gives in one case of twenty, t(0.975) times the standard error (Welch), NULL where one arm ran once.
WITH arms AS MATERIALIZED (
    SELECT
        sc.scope_id, bs.series_key, any_value(bs.series_name) AS series_name, bs.concurrency, count(b.aggregate_tok_s) AS n,
            avg(b.aggregate_tok_s) AS mean,
        var_samp(b.aggregate_tok_s) AS variance, min(b.aggregate_counts) AS counts, median(b.input_len) AS input_len,
            median(b.output_len) AS output_len,
        any_value(b.source_id) AS source_id, min({'source_id': b.source_id, 'line': b.line}, 2) AS ev
    FROM main.bench_series bs
    JOIN main.bench_steps b ON b.source_id = bs.source_id AND b.line = bs.line AND b.concurrency = bs.concurrency
    JOIN main.scopes sc ON sc.series_key = bs.series_key AND sc.concurrency = bs.concurrency
    GROUP BY sc.scope_id, bs.series_key, bs.concurrency
), share_streams AS (
    SELECT DISTINCT a.series_key AS key_a, b.series_key AS key_b FROM arms a JOIN arms b ON a.concurrency = b.concurrency
        AND a.series_key <> b.series_key
), pairs AS MATERIALIZED (
    -- the same number of streams in another series; where two series share none, all of their steps
    SELECT
        a.scope_id, b.scope_id AS other_scope, a.series_name AS name_a, b.series_name AS name_b, a.concurrency AS c_a,
            b.concurrency AS c_b, a.n AS n_a, b.n AS n_b,
        a.mean AS mean_a, b.mean AS mean_b, a.mean / b.mean - 1 AS d, a.variance / a.n AS v_a, b.variance / b.n AS v_b,
            list_concat(a.ev, b.ev) AS ev,
        a.source_id = b.source_id AS one_file, (a.counts <> b.counts)::INT AS other_counts,
        -- whole lengths of one file are what was asked for; others were measured
        CASE WHEN a.source_id = b.source_id AND a.input_len % 1 = 0 AND b.input_len % 1 = 0 THEN (a.input_len <> b.input_len)::INT
            ELSE (abs(a.input_len / b.input_len - 1) > 0.05)::INT END AS other_input,
        (abs(a.output_len / b.output_len - 1) > 0.05)::INT AS other_output,
        string_split_regex(lower(a.series_name), '\s*[,;|]\s*') AS parts_a,
            string_split_regex(lower(b.series_name), '\s*[,;|]\s*') AS parts_b,
        regexp_matches(a.series_name, '^table \d+$') OR regexp_matches(b.series_name, '^table \d+$') AS unnamed
    FROM arms a JOIN arms b ON a.series_key <> b.series_key
    WHERE a.concurrency = b.concurrency OR (a.series_key, b.series_key) NOT IN (SELECT (key_a, key_b) FROM share_streams)
), freedom AS (
    SELECT *, power(v_a + v_b, 2) / nullif(v_a * v_a / (n_a - 1) + v_b * v_b / (n_b - 1), 0) AS df FROM pairs
)
SELECT
    -- t(0.975) by its expansion in 1/df, 2 % low at worst from df = 2 on
    *, (1.96 + 2.372 / df + 2.822 / (df * df) + 2.556 / (df * df * df)) * 1.03 * sqrt(v_a + v_b) / mean_b AS floor_share
FROM freedom
