-- Stretches of time with at least one request in flight, from the best origin there is: servers beat clients, and each server's requests
-- beat its statistics. Pieces closer than 50 ms are one window. `band` groups windows by how many requests ran at most: 1, 2-3, 4-7, 8-15, ... `in_step`: requests of a sweep
-- step ran in it. `label`: the step that a name or a recording bound to it says it is, where half as many requests ran as it has streams,
-- or as many as ever in that source, and no more (a lone request before the load is not the load).
WITH ranked AS (
    SELECT
        *, CASE origin WHEN 'server requests' THEN 1 WHEN 'server statistics' THEN 2 WHEN 'client requests' THEN 3 WHEN 'response files' THEN 4 ELSE 5 END AS rank
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
        window_id::INTEGER AS window_id, min(origin) AS origin, min(began) AS began, max(ended) AS ended, max(n) AS n_max,
        sum(n * (ended - began)) / sum(ended - began) AS n_mean,
        max(coalesce(c.uncertainty_s, 1) + blur_s) AS unc_s, min(source_id) AS source_id, coalesce(bool_or(c.estimated), FALSE) AS estimated
    FROM numbered LEFT JOIN main.clocks c USING (source_id) GROUP BY window_id
), in_steps AS (
    SELECT DISTINCT w.window_id
    FROM windows w
    JOIN main.requests r ON r.started_at < w.ended AND r.finished_at > w.began
    JOIN main.step_requests m ON m.source_id = r.source_id AND m.run = r.run AND m.line = r.line
), bound AS (
    SELECT b.label, TRY_CAST(regexp_extract(b.label, '^c=([0-9.]+)$', 1) AS DOUBLE) AS concurrency, min(g.time) AS began, max(g.time) AS ended
    FROM main.gpu_samples g JOIN main.bindings b USING (source_id) JOIN main.clocks c USING (source_id)
    WHERE c.offset_s IS NOT NULL AND NOT coalesce(c.estimated, FALSE) AND g.time IS NOT NULL GROUP BY b.source_id, b.label
), peaks AS (
    SELECT source_id, max(n_max) AS n_max FROM windows GROUP BY source_id
), told AS (
    SELECT w.window_id, n.label FROM windows w JOIN main.named_steps n USING (source_id) JOIN peaks p USING (source_id)
    WHERE w.n_max BETWEEN least(0.5 * n.concurrency, p.n_max) AND n.concurrency
    UNION
    -- the recording and the window are mostly the same time
    SELECT w.window_id, b.label FROM windows w JOIN bound b ON b.began < w.ended AND b.ended > w.began
    WHERE w.n_max BETWEEN 0.5 * b.concurrency AND b.concurrency AND NOT w.estimated
        AND least(w.ended, b.ended) - greatest(w.began, b.began) >= 0.5 * least(w.ended - w.began, b.ended - b.began)
    UNION
    -- a recording without a common clock: load of exactly as many requests as the step has streams, where no sweep has steps of its own
    SELECT w.window_id, b.label FROM windows w JOIN main.bindings b ON 'c=' || printf('%g', w.n_max) = b.label
    WHERE b.label NOT IN (SELECT label FROM bound) AND NOT EXISTS (FROM main.bench_series)
), labels AS (
    SELECT window_id, min(label) AS label FROM told WHERE window_id NOT IN (FROM in_steps) GROUP BY window_id HAVING count(DISTINCT label) = 1
)
SELECT
    *,
    label IS NOT NULL OR window_id IN (FROM in_steps) OR origin = 'bench results'
    -- one request alone is one stream, and belongs to the step of one stream where there is exactly one
    OR (n_max = 1 AND origin = 'server requests' AND NOT EXISTS (FROM main.bench_series) AND EXISTS (FROM main.bindings WHERE label = 'c=1'))
    OR (n_max = 1 AND origin = 'server requests' AND source_id IN (SELECT source_id FROM main.step_requests) AND (SELECT count(DISTINCT series_key) FROM main.bench_series WHERE concurrency = 1) = 1) AS in_step,
    CASE WHEN n_max < 2 THEN '1' ELSE power(2, floor(log2(n_max)))::INTEGER || '-' || (power(2, floor(log2(n_max)) + 1) - 1)::INTEGER END AS band
FROM windows LEFT JOIN labels USING (window_id)
