-- What a finding is about: the steps of a sweep, and the trace for what no step holds. At most 40.
WITH numbers AS (
    SELECT series_key, any_value(series_name) AS series_name, any_value(n_series) AS n_series, concurrency
    FROM main.bench_series GROUP BY series_key, concurrency
), stated AS (
    -- a `c=N` stated in [during] that no step has makes a scope of its own
    SELECT DISTINCT label, TRY_CAST(regexp_extract(label, '^c=([0-9.]+)$', 1) AS DOUBLE) AS concurrency FROM main.bindings
), labelled AS (
    SELECT
        series_key, concurrency, CASE WHEN n_series > 1 THEN series_name END AS series,
        CASE WHEN n_series > 1 THEN series_name || '/' ELSE '' END || 'c=' || printf('%g', concurrency) AS label,
        'offered by the sweep' AS streams_origin
    FROM numbers
    UNION ALL
    SELECT NULL, concurrency, NULL, 'c=' || printf('%g', concurrency), 'given'
    FROM stated
    WHERE concurrency IS NOT NULL AND concurrency NOT IN (SELECT concurrency FROM numbers WHERE n_series = 1)
), ordered AS (
    SELECT *, row_number() OVER (ORDER BY series NULLS FIRST, concurrency, label) AS scope_id FROM labelled
), loose AS (
    SELECT
        EXISTS (FROM main.gpu_samples WHERE source_id NOT IN (SELECT source_id FROM main.bindings))
        OR EXISTS (FROM main.requests WHERE origin = 'server' AND (source_id, run) NOT IN (SELECT (source_id, run) FROM main.step_requests))
        OR EXISTS (FROM main.server_samples)
        OR NOT EXISTS (FROM ordered) AS any_loose
)
SELECT
    scope_id::INTEGER AS scope_id, 'step' AS kind, label, NULL::VARCHAR AS host, NULL::VARCHAR AS server, series, series_key, concurrency,
    NULL::VARCHAR AS phase, NULL::DOUBLE AS started_at, NULL::DOUBLE AS ended_at, streams_origin
FROM ordered WHERE scope_id < 40
UNION ALL
SELECT
    0, 'trace', 'trace', NULL, NULL, NULL, NULL, (SELECT max(num) FROM main.given WHERE key = 'streams'), NULL, NULL, NULL,
    CASE WHEN EXISTS (FROM main.given WHERE key = 'streams') THEN 'given' END
FROM loose WHERE any_loose
ORDER BY scope_id
