-- The stretches of time of each scope on the common axis: requests matched to a step (or alone, for one stream), load that a name or a
-- bound recording ties to a step, and benchmarks with a start time, joined where they overlap, and the load windows of a regime without what a step covers: a moment belongs to one scope.
WITH stepped AS (
    SELECT r.scope_id, r.started_at AS began, r.finished_at AS ended, coalesce(c.uncertainty_s, 1) AS unc_s, coalesce(c.estimated, FALSE) AS estimated
    FROM main.requests_in_scope r LEFT JOIN main.clocks c USING (source_id)
    WHERE r.how IN ('matched to the step', 'alone in the server') AND r.started_at IS NOT NULL AND r.finished_at > r.started_at
    UNION ALL
    SELECT sc.scope_id, w.began, w.ended, w.unc_s, w.estimated FROM main.load_windows w JOIN main.scopes sc ON sc.kind = 'step' AND sc.label = w.label
    UNION ALL
    SELECT sc.scope_id, b.started_at, b.finished_at, coalesce(c.uncertainty_s, 1) + 2, coalesce(c.estimated, FALSE)
    FROM main.bench_steps b
    JOIN main.bench_series bs USING (source_id, line, concurrency)
    JOIN main.scopes sc ON sc.series_key = bs.series_key AND sc.concurrency = bs.concurrency
    LEFT JOIN main.clocks c USING (source_id)
    WHERE b.started_at IS NOT NULL AND b.finished_at > b.started_at
), covered AS (
    -- what steps cover on a clock that is known, disjoint
    SELECT min(began) AS began, max(ended) AS ended FROM (
        SELECT *, sum(CASE WHEN so_far >= began THEN 0 ELSE 1 END) OVER (ORDER BY began, ended ROWS UNBOUNDED PRECEDING) AS n
        FROM (SELECT *, max(ended) OVER (ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS so_far FROM stepped WHERE NOT estimated)
    ) GROUP BY n
), regimes AS (
    SELECT sc.scope_id, w.window_id, w.began, w.ended, w.unc_s, w.estimated
    FROM main.load_windows w JOIN main.scopes sc ON sc.kind = 'regime' AND sc.band = w.band WHERE NOT w.in_step
), cuts AS (
    -- each regime window up to the next step in it, and from the last one to its end
    SELECT r.*, c.began AS cut_began, c.ended AS cut_ended FROM regimes r JOIN covered c ON c.ended > r.began AND c.began < r.ended
    UNION ALL SELECT r.*, r.ended, r.ended FROM regimes r
), left_over AS (
    SELECT scope_id, coalesce(lag(cut_ended) OVER (PARTITION BY window_id ORDER BY cut_began, cut_ended), began) AS began, cut_began AS ended, unc_s, estimated FROM cuts
), spans AS (
    FROM stepped UNION ALL SELECT * FROM left_over WHERE ended > began
), ordered AS (
    SELECT *, max(ended) OVER (PARTITION BY scope_id ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS so_far FROM spans
), numbered AS (
    SELECT *, sum(CASE WHEN so_far >= began - 0.05 THEN 0 ELSE 1 END) OVER (PARTITION BY scope_id ORDER BY began, ended ROWS UNBOUNDED PRECEDING) AS window_id FROM ordered
), windows AS (
    SELECT scope_id, window_id::INTEGER AS window_id, min(began) AS began, max(ended) AS ended, max(unc_s) AS unc_s, bool_or(estimated) AS estimated
    FROM numbered GROUP BY scope_id, window_id
)
-- two scopes that begin at the very same moment are told apart by a microsecond: who looks up a moment finds always the same one
SELECT * REPLACE (began + 1e-6 * (row_number() OVER (PARTITION BY began ORDER BY scope_id DESC) - 1) AS began) FROM windows
