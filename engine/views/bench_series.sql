-- One row per step of a sweep with its series: one table is one series, and result files with a single row each form one together.
WITH counted AS (
    SELECT *, count(*) OVER (PARTITION BY source_id) AS rows_in_source FROM main.bench_steps WHERE concurrency > 0
), keyed AS (
    -- the same name in two files is two series
    SELECT *, coalesce(source_id || ': ' || series, CASE WHEN rows_in_source = 1 THEN 'runs' ELSE 'table of source ' || source_id END) AS series_key FROM counted
)
SELECT
    source_id, line, series, series_key,
    count(DISTINCT series_key) OVER () AS n_series,
    dense_rank() OVER (ORDER BY series_key) AS series_no,
    coalesce(series, 'table ' || dense_rank() OVER (ORDER BY series_key)) AS series_name,
    concurrency
FROM keyed
