-- The stretches of time of each scope on the common axis: requests matched to a step (or alone, for one stream) joined where they
-- overlap, and the load windows of a regime.
WITH spans AS (
    SELECT r.scope_id, r.started_at AS began, r.finished_at AS ended, coalesce(c.uncertainty_s, 1) AS unc_s, coalesce(c.estimated, FALSE) AS estimated
    FROM main.requests_in_scope r LEFT JOIN main.clocks c USING (source_id)
    WHERE r.how IN ('matched to the step', 'alone in the server') AND r.started_at IS NOT NULL AND r.finished_at > r.started_at
    UNION ALL
    SELECT sc.scope_id, b.started_at, b.finished_at, coalesce(c.uncertainty_s, 1) + 2, coalesce(c.estimated, FALSE)
    FROM main.bench_steps b
    JOIN main.bench_series bs USING (source_id, line, concurrency)
    JOIN main.scopes sc ON sc.series_key = bs.series_key AND sc.concurrency = bs.concurrency
    LEFT JOIN main.clocks c USING (source_id)
    WHERE b.started_at IS NOT NULL AND b.finished_at > b.started_at
    UNION ALL
    SELECT sc.scope_id, w.began, w.ended, w.unc_s, w.estimated
    FROM main.load_windows w JOIN main.scopes sc ON sc.kind = 'regime' AND sc.band = w.band WHERE NOT w.in_step
), ordered AS (
    SELECT *, max(ended) OVER (PARTITION BY scope_id ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS so_far FROM spans
), numbered AS (
    SELECT *, sum(CASE WHEN so_far >= began - 0.05 THEN 0 ELSE 1 END) OVER (PARTITION BY scope_id ORDER BY began, ended ROWS UNBOUNDED PRECEDING) AS window_id FROM ordered
)
SELECT scope_id, window_id::INTEGER AS window_id, min(began) AS began, max(ended) AS ended, max(unc_s) AS unc_s, bool_or(estimated) AS estimated
FROM numbered GROUP BY scope_id, window_id
