-- Stretches of time with at least one request in flight, from the best origin there is: servers beat clients, and each server's requests
-- beat its statistics. Pieces closer than 50 ms are one window. `band` groups windows by how many requests ran at most: 1, 2-3, 4-7, 8-15, ... `in_step`: requests of a sweep
-- step ran in it.
WITH ranked AS (
    SELECT
        *, CASE origin WHEN 'server requests' THEN 1 WHEN 'server statistics' THEN 2 WHEN 'client requests' THEN 3 ELSE 4 END AS rank
    FROM main.in_flight
), own AS (
    SELECT *, min(rank) OVER (PARTITION BY source_id) AS own_best, min(rank) OVER () AS best FROM ranked
), best AS (
    SELECT * EXCLUDE (own_best, best) FROM own WHERE CASE WHEN best <= 2 THEN rank = own_best AND rank <= 2 ELSE rank = best END
), busy AS (
    SELECT *, max(ended) OVER (ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS so_far FROM best WHERE n >= 1
), numbered AS (
    SELECT *, sum(CASE WHEN so_far >= began - 0.05 THEN 0 ELSE 1 END) OVER (ORDER BY began, ended ROWS UNBOUNDED PRECEDING) AS window_id FROM busy
), windows AS (
    SELECT
        window_id::INTEGER AS window_id, any_value(origin) AS origin, min(began) AS began, max(ended) AS ended, max(n) AS n_max,
        sum(n * (ended - began)) / sum(ended - began) AS n_mean,
        max(coalesce(c.uncertainty_s, 1) + blur_s) AS unc_s, any_value(source_id) AS source_id, coalesce(bool_or(c.estimated), FALSE) AS estimated
    FROM numbered LEFT JOIN main.clocks c USING (source_id) GROUP BY window_id
), in_steps AS (
    SELECT DISTINCT w.window_id
    FROM windows w
    JOIN main.requests r ON r.started_at < w.ended AND r.finished_at > w.began
    JOIN main.step_requests m ON m.source_id = r.source_id AND m.run = r.run AND m.line = r.line
)
SELECT
    *,
    window_id IN (FROM in_steps)
    -- one request alone is one stream, and belongs to the step of one stream where there is exactly one
    OR (n_max = 1 AND origin = 'server requests' AND NOT EXISTS (FROM main.bench_series) AND EXISTS (FROM main.bindings WHERE label = 'c=1'))
    OR (n_max = 1 AND origin = 'server requests' AND source_id IN (SELECT source_id FROM main.step_requests) AND (SELECT count(DISTINCT series_key) FROM main.bench_series WHERE concurrency = 1) = 1) AS in_step,
    CASE WHEN n_max < 2 THEN '1' ELSE power(2, floor(log2(n_max)))::INTEGER || '-' || (power(2, floor(log2(n_max)) + 1) - 1)::INTEGER END AS band
FROM windows
