-- Server runs that nothing ties to the steps of a series, so that what they print is perhaps another run's. `against`: something speaks
-- against it: both have times on one axis and do not meet; or the series says how long each step took, and none of the log's requests fit
-- (a log shorter than any step is perhaps an excerpt); or none of the log's lines has the rate of a step at about its number of requests;
-- or the log never shows half as many requests at a time as the series has streams (or the server slots). Otherwise its requests have no
-- times to compare.
WITH series AS (
    SELECT
        s.series_key, max(b.concurrency) AS c_max, bool_and(coalesce(b.wall_s > 0, FALSE)) AS tells_walls, min(b.wall_s) AS wall_least,
        CASE WHEN bool_and(b.started_at IS NOT NULL AND c.offset_s IS NOT NULL AND NOT coalesce(c.estimated, FALSE)) THEN min(b.started_at - c.uncertainty_s) END AS began,
        max(b.finished_at + c.uncertainty_s) AS ended
    FROM main.bench_series s JOIN main.bench_steps b USING (source_id, line, concurrency) LEFT JOIN main.clocks c USING (source_id) GROUP BY s.series_key
), load AS (
    -- how long the load lasted is known on any clock, also on one whose place among the others is guessed
    SELECT
        f.source_id, max(f.n) AS peak, max(f.ended) - min(f.began) AS lasts,
        CASE WHEN NOT any_value(coalesce(c.estimated, FALSE)) AND any_value(c.offset_s) > -1e9 THEN min(f.began - c.uncertainty_s - f.blur_s) END AS began,
        max(f.ended + c.uncertainty_s + f.blur_s) AS ended
    FROM main.in_flight f JOIN main.clocks c USING (source_id) WHERE f.origin LIKE 'server%' AND f.n >= 1 GROUP BY f.source_id
), runs AS (
    -- launch and release of requests can be compared with a step; statistics cannot
    SELECT source_id, coalesce(run, 0) AS run, count(started_at) FILTER (origin = 'server' AND status = 'ok' AND finished_at IS NOT NULL) > 0 AS launches, TRUE AS requests
    FROM main.requests WHERE origin = 'server' GROUP BY ALL
    UNION
    SELECT DISTINCT source_id, coalesce(run, 0), FALSE, FALSE FROM main.server_samples
        WHERE source_id NOT IN (SELECT source_id FROM main.requests WHERE origin = 'server')
), found AS (
    SELECT DISTINCT s.series_key, m.source_id, m.run
    FROM main.step_requests m JOIN main.bench_series s ON s.source_id = m.step_source AND s.line = m.step_line
), limits AS (
    SELECT source_id, run, max(line_hi) AS slots FROM main.server_limits GROUP BY ALL
), lines AS (
    -- statistics that print a rate, of one engine: several print a part of it each
    SELECT source_id, coalesce(run, 0) AS run, running, gen_tok_s, time - lag(time) OVER (PARTITION BY source_id, run ORDER BY time, line) AS gap
    FROM main.server_samples WHERE gen_tok_s > 0 AND running >= 1 AND phase IS DISTINCT FROM 'prefill'
        AND source_id NOT IN (SELECT source_id FROM main.server_samples GROUP BY source_id, run HAVING count(DISTINCT (engine, rank)) > 1)
), rated AS (
    SELECT source_id, run, max(running) AS most, median(gap) AS usual_gap FROM lines GROUP BY ALL HAVING count(*) >= 5
), totals AS (
    SELECT s.series_key, b.concurrency, b.wall_s, b.aggregate_tok_s AS x
    FROM main.bench_series s JOIN main.bench_steps b USING (source_id, line, concurrency) WHERE b.aggregate_counts IS DISTINCT FROM 'total' AND b.aggregate_tok_s > 0
), alike AS (
    -- a total holds the prefill as well, so that the lines of pure decode are above it; a step shorter than two lines is below it in both
    SELECT r.source_id, r.run, t.series_key, bool_or(
        l.running BETWEEN 0.5 * least(t.concurrency, coalesce(m.slots, t.concurrency)) AND t.concurrency
        AND l.gen_tok_s BETWEEN CASE WHEN t.wall_s >= 2.5 * r.usual_gap THEN 0.5 ELSE 0.1 END * t.x AND 3 * t.x
    ) AS fits
    FROM rated r JOIN lines l USING (source_id, run) LEFT JOIN limits m USING (source_id, run) CROSS JOIN totals t GROUP BY ALL
)
SELECT
    *,
    CASE WHEN apart THEN 'the two do not meet in time'
         WHEN unfit THEN 'no step has as many requests, as long and with as many tokens'
         WHEN unlike THEN 'none of its lines has the rate of a step at that number of requests'
         WHEN few THEN printf('%.0f requests run at a time at most, the sweep has up to %.0f', peak, c_max)
         ELSE 'its requests have no times' END AS why,
    apart OR unfit OR unlike OR few AS against
FROM (
    SELECT
        s.series_key, s.c_max, r.source_id, r.run, l.peak,
        -- an end is computed for clocks that are guessed or their own axis too; only a known beginning says that the times can be compared
        coalesce(s.began IS NOT NULL AND l.began IS NOT NULL AND (s.ended < l.began OR s.began > l.ended), FALSE) AS apart,
        coalesce(s.tells_walls AND r.launches AND l.lasts >= 0.9 * s.wall_least, FALSE) AS unfit,
        NOT coalesce(a.fits, TRUE) AS unlike,
        -- where the times of both are known and meet, a sweep that keeps fewer in flight than it says is a finding
        coalesce(l.peak < 0.5 * least(s.c_max, coalesce(m.slots, s.c_max)) AND (s.began IS NULL OR l.began IS NULL), FALSE) AS few,
        r.requests AND l.peak IS NULL AS untimed
    FROM series s CROSS JOIN runs r LEFT JOIN load l USING (source_id) LEFT JOIN limits m USING (source_id, run) LEFT JOIN alike a USING (series_key, source_id, run)
    WHERE (s.series_key, r.source_id, r.run) NOT IN (FROM found)
)
WHERE apart OR unfit OR unlike OR few OR untimed
