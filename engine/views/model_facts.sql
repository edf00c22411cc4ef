-- What is known of the model: a log beats a given fact, and that beats the catalogue. One row; every fact with its origin. Files that
-- differ by more than 2 % in a fact tell nothing about it.
WITH logged AS (
    FROM main.models WHERE coalesce(section, 0) = 0 ORDER BY source_id, line
), one AS (
    SELECT
        first(name) FILTER (name IS NOT NULL) AS name,
        CASE WHEN max(params_total_b) <= 1.02 * min(params_total_b) THEN median(params_total_b) END AS total_b,
        CASE WHEN max(params_active_b) <= 1.02 * min(params_active_b) THEN median(params_active_b) END AS active_b,
        CASE WHEN max(file_bytes) <= 1.02 * min(file_bytes) THEN median(file_bytes) END AS file_bytes,
        CASE WHEN max(bits_per_weight) <= 1.02 * min(bits_per_weight) THEN median(bits_per_weight) END AS bpw,
        CASE WHEN max(layers) <= 1.02 * min(layers) THEN median(layers) END AS layers,
        CASE WHEN max(hidden) <= 1.02 * min(hidden) THEN median(hidden) END AS hidden,
        CASE WHEN max(experts) <= 1.02 * min(experts) THEN median(experts) END AS experts,
        CASE WHEN max(experts_per_token) <= 1.02 * min(experts_per_token) THEN median(experts_per_token) END AS experts_per_token,
        CASE WHEN max(kv_bytes_per_token) <= 1.02 * min(kv_bytes_per_token) THEN median(kv_bytes_per_token) END AS kv_bytes_per_token,
        min_by({'source_id': source_id, 'line': line}, line, 2) AS ev
    FROM logged
), given AS (
    SELECT
        any_value(num) FILTER (key = 'model.params_total_b') AS total_b,
        any_value(num) FILTER (key = 'model.params_active_b') AS active_b,
        any_value(num) FILTER (key = 'model.bits_per_weight') AS bpw,
        any_value(num) FILTER (key = 'model.layers') AS layers,
        any_value(num) FILTER (key = 'model.hidden') AS hidden,
        any_value(value) FILTER (key = 'model.name') AS name,
        list(key || '=' || coalesce(printf('%g', num), value) ORDER BY key) FILTER (key LIKE 'model.%') AS stated,
        min_by({'source_id': source_id, 'line': line}, line, 2) FILTER (key LIKE 'model.%') AS ev
    FROM main.given
), named AS (
    -- a name that the catalogue does not have tells nothing: then a stated one is taken
    SELECT coalesce(CASE WHEN o.name IN (SELECT name FROM main.catalog_models) THEN o.name END, g.name, o.name) AS name FROM one o, given g
), cat AS (
    SELECT c.* FROM main.catalog_models c JOIN named n ON c.name = n.name
), facts AS (
    SELECT
        (SELECT name FROM named) AS name,
        coalesce(o.total_b, g.total_b, c.total_params_b) AS total_b,
        -- a dense model (no experts in its metadata) reads everything
        coalesce(o.active_b, g.active_b, c.active_params_b, CASE WHEN o.experts = 0 THEN coalesce(o.total_b, g.total_b) END) AS active_b,
        coalesce(o.bpw, g.bpw) AS bpw,
        coalesce(o.file_bytes, coalesce(o.total_b, g.total_b, c.total_params_b) * 1e9 * coalesce(o.bpw, g.bpw) / 8) AS file_bytes,
        coalesce(o.layers, g.layers, c.layers) AS layers,
        coalesce(o.hidden, g.hidden, c.hidden_size) AS hidden,
        coalesce(o.experts, c.experts) AS experts,
        coalesce(o.experts_per_token, c.experts_per_token) AS experts_per_token,
        c.routed_total_b, c.routed_active_b, c.nonrouted_active_b,
        coalesce(o.kv_bytes_per_token, c.kv_bytes_per_token_bf16) AS kv_bytes_per_token,
        c.source AS catalogue_source,
        concat_ws(', ', CASE WHEN o.ev IS NOT NULL THEN 'logged' END, CASE WHEN g.stated IS NOT NULL THEN 'given' END,
            CASE WHEN c.name IS NOT NULL THEN 'catalogue' END) AS origin,
        g.stated AS given, coalesce(o.ev, g.ev) AS ev
    FROM one o CROSS JOIN given g LEFT JOIN cat c ON TRUE
)
SELECT
    *,
    -- dense: all parameters are active within 2 %
    CASE WHEN active_b >= 0.98 * total_b OR experts = 0 THEN TRUE WHEN experts > 0 OR active_b < 0.98 * total_b THEN FALSE END AS dense
FROM facts
