-- Pairs of server runs whose logs print settings, and in how many factors they differ. `others` counts settings outside the known
-- factors that differ, without those that only follow from others. A benchmark in a process of its own and a server are no two arms.
WITH grouped(key, factor, derived) AS (
    -- settings that follow from one another are one factor; `derived` ones a server may set by itself when another changes
    VALUES ('split', 'parallelism', FALSE), ('tensor_parallel', 'parallelism', FALSE), ('pipeline_parallel', 'parallelism', FALSE),
        ('data_parallel', 'parallelism', FALSE), ('expert_parallel', 'expert parallelism', FALSE), ('slots', 'slots', FALSE),
        ('speculation', 'speculation', FALSE), ('draft_tokens', 'speculation', FALSE), ('eager', 'graphs', FALSE),
        ('quantisation', 'quantisation', FALSE), ('build', 'build', FALSE), ('version', 'build', FALSE),
        ('n_ctx', 'context and offload', TRUE), ('layers_offloaded', 'context and offload', TRUE), ('n_batch', 'batch', TRUE),
            ('n_ubatch', 'batch', TRUE),
        ('chunked_prefill', 'prefill chunk', TRUE), ('chunked_prefill_size', 'prefill chunk', TRUE),
            ('max_batched_tokens', 'prefill chunk', TRUE),
        ('prefix_caching', 'prefix cache', TRUE), ('kv_dtype', 'KV type', TRUE), ('flash_attn', 'flash attention', TRUE),
        ('custom_all_reduce', 'all-reduce', TRUE)
), follows(key) AS (
    VALUES ('kv_tokens'), ('device_model_mib'), ('cpu_model_mib'), ('weights_gib'), ('n_ctx_slot'), ('graph_capture'), ('cuda_graph_max_bs'), ('slots_source'),
        ('decode_log_interval'), ('split_devices'), ('layers_total'), ('server')
), settings AS MATERIALIZED (
    SELECT
        c.source_id, coalesce(c.run, 0) AS run, g.factor, g.derived, c.key, min(coalesce(c.value, printf('%g', c.num))) AS value,
            min(c.line) AS line
    FROM main.server_config c JOIN grouped g USING (key)
    WHERE c.origin = 'logged' GROUP BY ALL HAVING count(DISTINCT coalesce(c.value, printf('%g', c.num))) = 1
), asked AS (
    -- slots count where the log says that they were asked for
    SELECT source_id, coalesce(run, 0) AS run FROM main.server_config WHERE key = 'slots_source'
        AND value IN ('server_args', 'arguments', 'command line')
), told AS MATERIALIZED (
    SELECT * FROM settings WHERE key <> 'slots' OR (source_id, run) IN (FROM asked)
), compared AS (
    SELECT
        a.source_id AS source_a, a.run AS run_a, b.source_id AS source_b, b.run AS run_b,
        count(DISTINCT a.factor) FILTER (a.value <> b.value) AS factors_all, count(DISTINCT a.factor) FILTER (a.value <> b.value
            AND NOT a.derived) AS asked_for,
        string_agg(DISTINCT a.factor, ', ' ORDER BY a.factor) FILTER (a.value <> b.value) AS names, count(*) AS shared,
        min({'source_id': a.source_id, 'line': a.line}, 1) FILTER (a.value <> b.value) AS ev_a,
        min({'source_id': b.source_id, 'line': b.line}, 1) FILTER (a.value <> b.value) AS ev_b
    FROM told a JOIN told b ON a.key = b.key AND (a.source_id, a.run) <> (b.source_id, b.run)
    WHERE (a.source_id IN (SELECT source_id FROM main.bench_steps)) = (b.source_id IN (SELECT source_id FROM main.bench_steps))
    GROUP BY a.source_id, a.run, b.source_id, b.run
), rest AS (
    SELECT source_id, coalesce(run, 0) AS run, key, min(coalesce(value, printf('%g', num))) AS value FROM main.server_config
    WHERE origin = 'logged' AND key NOT IN (SELECT key FROM grouped) AND key NOT IN (FROM follows)
    GROUP BY ALL HAVING count(DISTINCT coalesce(value, printf('%g', num))) = 1
), others AS (
    SELECT a.source_id AS source_a, a.run AS run_a, b.source_id AS source_b, b.run AS run_b, count(*) FILTER (a.value <> b.value AND a.key <> 'other_args') AS others,
        count(*) FILTER (a.value <> b.value AND a.key = 'other_args') AS arguments
    FROM rest a JOIN rest b ON a.key = b.key AND (a.source_id, a.run) <> (b.source_id, b.run) GROUP BY ALL
), words AS (
    SELECT source_id, run, min(value) FILTER (key = 'eager') AS eager, min(value) FILTER (key = 'custom_all_reduce') AS reduces
    FROM settings WHERE key IN ('eager', 'custom_all_reduce') GROUP BY ALL
)
SELECT
    c.*,
    -- beside a setting that somebody changed, those that may follow from it do not count
    CASE WHEN asked_for > 0 THEN asked_for ELSE factors_all END AS factors,
    -- another build prints other arguments
    coalesce(o.others, 0) + CASE WHEN c.names LIKE '%build%' THEN 0 ELSE coalesce(o.arguments, 0) END AS others,
    wa.eager AS eager_a, wb.eager AS eager_b, wa.reduces AS reduces_a, wb.reduces AS reduces_b
FROM compared c LEFT JOIN others o USING (source_a, run_a, source_b, run_b)
LEFT JOIN words wa ON wa.source_id = c.source_a AND wa.run = c.run_a LEFT JOIN words wb ON wb.source_id = c.source_b AND wb.run = c.run_b
