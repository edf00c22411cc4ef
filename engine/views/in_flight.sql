-- How many requests are in flight, piecewise constant on the common axis, per source that tells it. Origins, best first:
-- server requests (launch to release), server statistics (running, each line until the next while the lines keep coming), client requests,
-- response files, bench results that print when they ran (as many requests as they have streams, whose start and end lie up to 2 s inside).
WITH spans AS (
    SELECT source_id, 'server requests' AS origin, coalesce(started_at, queued_at) AS began, finished_at AS ended FROM main.requests
    WHERE origin = 'server' AND finished_at > coalesce(started_at, queued_at)
    UNION ALL
    SELECT min(source_id) OVER (), 'client requests', sent_at, finished_at FROM main.requests
    WHERE origin = 'client' AND sent_at IS NOT NULL AND finished_at > sent_at
    UNION ALL
    -- one file is one response: together they are one recording
    SELECT min(source_id) OVER (), 'response files', coalesce(queued_at, started_at, finished_at - (prompt_ms + decode_ms) / 1000), finished_at FROM main.requests
    WHERE origin = 'file' AND finished_at > coalesce(queued_at, started_at, finished_at - (prompt_ms + decode_ms) / 1000)
), edges AS (
    SELECT source_id, origin, began AS at_time, 1 AS step FROM spans
    UNION ALL SELECT source_id, origin, ended, -1 FROM spans
), counted AS (
    SELECT
        source_id, origin, at_time AS began, lead(at_time) OVER w AS ended, sum(step) OVER w AS n
    FROM (SELECT source_id, origin, at_time, sum(step) AS step FROM edges GROUP BY ALL)
    WINDOW w AS (PARTITION BY source_id, origin ORDER BY at_time)
), last_lines AS (
    -- an engine that prints several lines within one tick of its clock says its number again: the last one holds until the next tick
    SELECT source_id, time, running, waiting FROM main.server_samples
    WHERE time IS NOT NULL AND running IS NOT NULL AND phase IS DISTINCT FROM 'prefill'
    QUALIFY row_number() OVER (PARTITION BY source_id, run, engine, rank, time ORDER BY line DESC) = 1
), lines AS (
    -- several engines or ranks of one source print at about the same time: whoever runs something keeps the server busy
    SELECT source_id, time, sum(running) AS n, sum(coalesce(waiting, 0)) AS waiting FROM last_lines GROUP BY source_id, time
), marks AS (
    -- every line shows that the server works, also one of a prefill step
    SELECT source_id, time, time - lag(time) OVER (PARTITION BY source_id ORDER BY time) AS gap
    FROM (SELECT DISTINCT source_id, time FROM main.server_samples WHERE time IS NOT NULL AND (running IS NOT NULL OR phase = 'prefill'))
), usual AS (
    SELECT
        source_id, least(median(gap), 30) AS step,
        least(30, 5 * median(gap)) AS longest -- a step with a large prefill in it takes several times as long
    FROM marks WHERE gap <= 60 GROUP BY source_id
), islands AS (
    SELECT source_id, time, max(time) OVER (PARTITION BY source_id, island) AS island_ended, island FROM (
        SELECT m.source_id, m.time, count(*) FILTER (m.gap IS NULL OR m.gap > coalesce(u.longest, 0)) OVER (PARTITION BY m.source_id ORDER BY m.time) AS island
        FROM marks m LEFT JOIN usual u USING (source_id)
    )
), stepped AS (
    SELECT
        l.source_id, l.time, l.n, lead(l.time) OVER w AS next_time, lead(l.n) OVER w AS next_n, lead(i.island) OVER w AS next_island,
        i.island, i.island_ended, coalesce(u.step, 0) AS step
    FROM lines l JOIN islands i USING (source_id, time) LEFT JOIN usual u USING (source_id) WINDOW w AS (PARTITION BY l.source_id ORDER BY l.time)
), statistics AS (
    -- silence is not load: a server that prints only while it works has gone idle somewhere after its last line
    SELECT
        source_id, 'server statistics' AS origin, time AS began, n, step,
        CASE WHEN n < 1 THEN least(next_time, time + 30)
             WHEN next_island = island AND next_n >= 1 THEN next_time
             WHEN next_island = island THEN least(next_time, time + step)
             ELSE island_ended + step END AS ended
    FROM stepped
)
-- blur_s: how far an edge may be off, by the distance of the lines
SELECT source_id, origin, began, ended, n::DOUBLE AS n, 0.0 AS blur_s FROM counted WHERE ended > began
UNION ALL
SELECT source_id, origin, began, ended, n, step FROM statistics WHERE ended > began
UNION ALL
SELECT source_id, 'bench results', started_at, finished_at, concurrency, 2.0 FROM main.bench_steps WHERE concurrency > 0 AND finished_at > started_at
