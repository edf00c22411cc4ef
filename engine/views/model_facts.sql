-- What is known of the model of each scope: a log beats a given fact, and that beats the catalogue. Every fact with its origin. Files that
-- differ by more than 2 % in a fact tell nothing about it; files of two models (a draft beside its target) tell only what both of them print
-- alike. A name whose catalogue entry cannot fill the memory that the weights take, or has another size, is an alias. Weights that a server reports per rank are a file in memory: at most what a pass
-- reads; where the same log says that nothing is quantised and the parameters at 16 bit are more than that, one of the two is of another model
-- or a part is elsewhere, and the larger one is the high end. `embedding_bytes` is the most that the token embedding can hold of the file, 0 where it is the output head as well.
WITH described AS (
    SELECT f.scope_id, m.*, coalesce(params_total_b, layers, hidden, file_bytes) IS NOT NULL AS sized
    FROM main.models m JOIN main.model_sources f ON f.source_id = m.source_id AND f.run = coalesce(m.run, 0) WHERE coalesce(section, 0) = 0
), models_seen AS (
    SELECT
        scope_id, coalesce(max(params_total_b) > 1.02 * min(params_total_b), FALSE) OR coalesce(max(layers) > min(layers), FALSE) OR coalesce(max(hidden) > min(hidden), FALSE)
            OR coalesce(max(file_bytes) > 1.02 * min(file_bytes), FALSE) AS several,
        count(*) FILTER (sized) AS sized, count(params_active_b) AS n_params_active_b, count(params_total_b) AS n_params_total_b, count(file_bytes) AS n_file_bytes,
        count(bits_per_weight) AS n_bits_per_weight, count(experts) AS n_experts, count(kv_bytes_per_token) AS n_kv_bytes_per_token, count(vocab) AS n_vocab, count(tied_embedding) AS n_tied_embedding
    FROM described GROUP BY scope_id
), logged AS (
    -- of two models, a fact that one file lacks may be the other's alone
    SELECT d.* REPLACE (
        CASE WHEN several AND n_params_active_b < n.sized THEN NULL ELSE d.params_active_b END AS params_active_b,
        CASE WHEN several AND n_params_total_b < n.sized THEN NULL ELSE d.params_total_b END AS params_total_b,
        CASE WHEN several AND n_file_bytes < n.sized THEN NULL ELSE d.file_bytes END AS file_bytes,
        CASE WHEN several AND n_bits_per_weight < n.sized THEN NULL ELSE d.bits_per_weight END AS bits_per_weight,
        CASE WHEN several AND n_experts < n.sized THEN NULL ELSE d.experts END AS experts,
        CASE WHEN several AND n_kv_bytes_per_token < n.sized THEN NULL ELSE d.kv_bytes_per_token END AS kv_bytes_per_token,
        CASE WHEN several AND n_vocab < n.sized THEN NULL ELSE d.vocab END AS vocab,
        CASE WHEN several AND n_tied_embedding < n.sized THEN NULL ELSE d.tied_embedding END AS tied_embedding
    ), several FROM described d JOIN models_seen n USING (scope_id) ORDER BY source_id, line
), one AS (
    SELECT
        scope_id,
        -- servers of two models: whose name?
        CASE WHEN count(DISTINCT name) FILTER (name IN (SELECT name FROM main.catalog_models)) <= 1 AND NOT (count(DISTINCT name) > 1 AND any_value(several)) THEN min(name) FILTER (name IS NOT NULL) END AS name,
        CASE WHEN count(DISTINCT arch) = 1 THEN min(arch) END AS arch,
        CASE WHEN max(params_total_b) <= 1.02 * min(params_total_b) THEN median(params_total_b) END AS total_b,
        CASE WHEN max(params_active_b) <= 1.02 * min(params_active_b) THEN median(params_active_b) END AS active_b,
        CASE WHEN max(file_bytes) <= 1.02 * min(file_bytes) THEN median(file_bytes) END AS file_bytes,
        CASE WHEN max(bits_per_weight) <= 1.02 * min(bits_per_weight) THEN median(bits_per_weight) END AS bpw,
        CASE WHEN max(layers) <= 1.02 * min(layers) THEN median(layers) END AS layers,
        CASE WHEN max(hidden) <= 1.02 * min(hidden) THEN median(hidden) END AS hidden,
        CASE WHEN max(experts) <= 1.02 * min(experts) THEN median(experts) END AS experts,
        CASE WHEN max(experts_per_token) <= 1.02 * min(experts_per_token) THEN median(experts_per_token) END AS experts_per_token,
        CASE WHEN max(kv_bytes_per_token) <= 1.02 * min(kv_bytes_per_token) THEN median(kv_bytes_per_token) END AS kv_bytes_per_token,
        CASE WHEN max(vocab) <= 1.02 * min(vocab) THEN max(vocab) END AS vocab,
        CASE WHEN count(DISTINCT tied_embedding) = 1 THEN bool_or(tied_embedding) END AS tied_embedding,
        min({'source_id': source_id, 'line': line}, 2) AS ev
    FROM logged GROUP BY scope_id
), ranks AS (
    SELECT source_id, coalesce(run, 0) AS run, max(num) FILTER (key = 'tensor_parallel') * coalesce(max(num) FILTER (key = 'pipeline_parallel'), 1) AS n
    FROM main.server_config WHERE key IN ('tensor_parallel', 'pipeline_parallel') GROUP BY ALL
), loads AS (
    SELECT
        f.scope_id, r.n * min(c.num) * 1073741824 AS bytes_lo, r.n * max(coalesce(c.num_hi, c.num)) * 1073741824 AS bytes_hi,
        min({'source_id': c.source_id, 'line': c.line}, 2) AS ev
    FROM main.server_config c JOIN ranks r ON r.source_id = c.source_id AND r.run = coalesce(c.run, 0)
    JOIN main.model_sources f ON f.source_id = r.source_id AND f.run = r.run
    WHERE c.key IN ('weights_gib_per_rank', 'weights_gib') AND c.num > 0 GROUP BY f.scope_id, c.source_id, r.run, r.n
), memory AS (
    SELECT
        scope_id, CASE WHEN max(bytes_hi) <= 1.02 * min(bytes_hi) THEN min(bytes_lo) END AS bytes_lo,
        CASE WHEN max(bytes_hi) <= 1.02 * min(bytes_hi) THEN max(bytes_hi) END AS bytes_hi, min(ev) AS ev
    FROM loads GROUP BY scope_id
), plain AS (
    SELECT scope_id, bool_and(lower(value) = 'none') AS at_16_bit FROM (
        SELECT source_id, run, value FROM main.server_config WHERE key = 'quantisation'
        UNION ALL SELECT source_id, run, quantisation FROM main.models WHERE coalesce(section, 0) = 0
    ) q JOIN main.model_sources f ON f.source_id = q.source_id AND f.run = coalesce(q.run, 0) WHERE value IS NOT NULL GROUP BY scope_id
), given AS (
    SELECT
        any_value(num) FILTER (key = 'model.params_total_b') AS total_b,
        any_value(num) FILTER (key = 'model.params_active_b') AS active_b,
        any_value(num) FILTER (key = 'model.bits_per_weight') AS bpw,
        any_value(num) FILTER (key = 'model.layers') AS layers,
        any_value(num) FILTER (key = 'model.hidden') AS hidden,
        min(value) FILTER (key = 'model.name') AS name,
        list(key || '=' || coalesce(printf('%g', num), value) ORDER BY key) FILTER (key LIKE 'model.%') AS stated,
        min({'source_id': source_id, 'line': line}, 2) FILTER (key LIKE 'model.%') AS ev
    FROM main.given
), named AS (
    -- a name that the catalogue does not have tells nothing: then a stated one is taken
    SELECT
        sc.scope_id, coalesce(CASE WHEN o.name IN (SELECT name FROM main.catalog_models) THEN o.name END, g.name, o.name) AS name,
        -- architecture words that only dense models have; `llama` has mixtures under it as well, so there only the sizes of the dense ones
        o.arch IN ('qwen2', 'qwen3', 'gemma', 'gemma2', 'gemma3', 'phi2', 'phi3', 'starcoder2', 'stablelm', 'command-r', 'olmo2', 'glm4', 'falcon', 'internlm2')
        OR (o.arch = 'llama' AND EXISTS (FROM (VALUES (1.24), (3.21), (6.74), (7.25), (8.03), (13.02), (65.29), (70.55), (405.85)) v(b) WHERE abs(o.total_b / v.b - 1) <= 0.01)) AS dense_name
    FROM main.scopes sc CROSS JOIN given g LEFT JOIN one o USING (scope_id)
), cat AS (
    SELECT n.scope_id, c.*
    FROM main.catalog_models c JOIN named n ON c.name = n.name LEFT JOIN one o USING (scope_id) LEFT JOIN memory w USING (scope_id)
    -- three times 8 bit a parameter: it is an alias of a larger model
    WHERE coalesce(w.bytes_lo * 8 <= 24e9 * c.total_params_b, TRUE) AND coalesce(abs(o.total_b / c.total_params_b - 1) <= 0.1, TRUE)
), facts AS (
    SELECT
        n.scope_id, n.name, coalesce(o.total_b, g.total_b, c.total_params_b) AS total_b,
        -- a dense model (no experts in its metadata) reads everything
        coalesce(o.active_b, g.active_b, c.active_params_b, CASE WHEN o.experts = 0 OR (o.experts IS NULL AND n.dense_name) THEN coalesce(o.total_b, g.total_b) END) AS active_b,
        -- what is in memory beside the model's own weights is not counted as more than 16 bit
        coalesce(o.bpw, CASE WHEN w.bytes_lo * 8 / (coalesce(o.total_b, g.total_b, c.total_params_b) * 1e9) > 16 THEN 16
            ELSE w.bytes_lo * 8 / (coalesce(o.total_b, g.total_b, c.total_params_b) * 1e9) END, g.bpw) AS bpw,
        coalesce(o.file_bytes, CASE WHEN p.at_16_bit AND w.bytes_hi < 1.8e9 * coalesce(o.total_b, g.total_b, c.total_params_b)
            THEN 2e9 * coalesce(o.total_b, g.total_b, c.total_params_b) ELSE w.bytes_hi END, coalesce(o.total_b, g.total_b, c.total_params_b) * 1e9 * coalesce(o.bpw, g.bpw) / 8) AS file_bytes,
        o.bpw IS NULL AND w.bytes_lo IS NOT NULL AS from_memory, c.vocab_size AS catalogue_vocab, coalesce(o.vocab, c.vocab_size) AS vocab,
        coalesce(o.tied_embedding, c.tied_embedding = 1) AS tied_embedding,
        coalesce(o.layers, g.layers, c.layers) AS layers,
        coalesce(o.hidden, g.hidden, c.hidden_size) AS hidden,
        coalesce(o.experts, c.experts, CASE WHEN n.dense_name THEN 0 END) AS experts,
        coalesce(o.experts_per_token, c.experts_per_token) AS experts_per_token,
        c.routed_total_b, c.routed_active_b, c.nonrouted_active_b,
        coalesce(o.kv_bytes_per_token, c.kv_bytes_per_token_bf16) AS kv_bytes_per_token,
        c.source AS catalogue_source,
        concat_ws(', ', CASE WHEN coalesce(o.ev, w.ev) IS NOT NULL THEN 'logged' END, CASE WHEN g.stated IS NOT NULL THEN 'given' END,
            CASE WHEN c.name IS NOT NULL THEN 'catalogue' END) AS origin,
        g.stated AS given, coalesce(o.ev || w.ev, o.ev, w.ev, g.ev) AS ev
    FROM named n CROSS JOIN given g LEFT JOIN one o USING (scope_id) LEFT JOIN memory w USING (scope_id) LEFT JOIN plain p USING (scope_id) LEFT JOIN cat c USING (scope_id)
)
SELECT
    * EXCLUDE (from_memory, bits, catalogue_vocab, tied_embedding),
    -- unknown: the largest vocabulary there is, and a model of P parameters is at most 1.2 times as wide as the cube root of 11 P. Servers
    -- that load safetensors keep the embedding at 16 bit. Files keep it at up to 8.5 bit beside fewer for the rest, which counts where the
    -- vocabulary alone is known
    CASE WHEN tied_embedding THEN 0
        ELSE coalesce(catalogue_vocab * bits, least(vocab * greatest(bits, 8.5), 262144 * bits), 262144 * bits)
            * coalesce(hidden, 1.2 * power(11e9 * coalesce(active_b, total_b), 1 / 3)) / 8
    END AS embedding_bytes,
    -- dense: all parameters are active within 2 %
    CASE WHEN active_b >= 0.98 * total_b OR experts = 0 THEN TRUE WHEN experts > 0 OR active_b < 0.98 * total_b THEN FALSE END AS dense
FROM (SELECT *, CASE WHEN from_memory THEN 16 ELSE bpw END AS bits FROM facts)
