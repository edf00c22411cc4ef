-- One row per step of a sweep with its series: one table is one series, and result files with a single row each form one together, or one
-- per machine where they are told to be of several.
-- Two series that agree in total and wall time at every concurrency they share are the same run told twice: one series.
WITH counted AS (
    SELECT b.*, s.host, count(*) OVER (PARTITION BY source_id) AS rows_in_source FROM main.bench_steps b LEFT JOIN main.sources s USING (source_id) WHERE concurrency > 0
), hosts AS (
    SELECT count(DISTINCT host) >= 2 AS several FROM counted WHERE rows_in_source = 1
), named AS (
    -- the same name in two files is two series
    SELECT *, coalesce(source_id || ': ' || series, CASE WHEN rows_in_source > 1 THEN 'table of source ' || source_id WHEN several AND host IS NOT NULL THEN 'runs on ' || host ELSE 'runs' END) AS own_key
    FROM counted, hosts
), medians AS (
    SELECT own_key, concurrency, median(aggregate_tok_s) FILTER (aggregate_counts IS DISTINCT FROM 'total') AS x, median(wall_s) AS wall_s FROM named GROUP BY ALL
), twins AS (
    SELECT a.own_key AS first_key, b.own_key AS second_key
    FROM medians a JOIN medians b ON a.concurrency = b.concurrency AND a.own_key < b.own_key
    GROUP BY ALL
    HAVING count(*) FILTER (a.x > 0 AND b.x > 0 OR a.wall_s > 0 AND b.wall_s > 0) = count(*)
       AND bool_and(coalesce(abs(a.x / b.x - 1) <= 0.02, TRUE) AND coalesce(abs(a.wall_s / b.wall_s - 1) <= 0.02, TRUE))
       AND bool_or(a.x > 0 AND b.x > 0) AND (count(*) >= 2 OR bool_and(a.wall_s > 0 AND b.wall_s > 0))
), keyed AS (
    SELECT n.*, coalesce((SELECT min(first_key) FROM twins t WHERE t.second_key = n.own_key), n.own_key) AS series_key FROM named n
), labels AS (
    SELECT series_key, coalesce(min(series), CASE WHEN series_key LIKE 'runs on %' THEN min(host) END) AS series_label FROM keyed GROUP BY series_key
)
SELECT
    source_id, line, series, series_key,
    (SELECT count(*) FROM labels) AS n_series,
    dense_rank() OVER (ORDER BY series_key) AS series_no,
    coalesce(series_label, 'table ' || dense_rank() OVER (ORDER BY series_key)) AS series_name,
    concurrency
FROM keyed JOIN labels USING (series_key)
