-- How many requests are in flight, piecewise constant on the common axis, per source that tells it. Origins, best first:
-- server requests (launch to release), server statistics (running, each line until the next, at most 30 s), client requests.
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
), lines AS (
    -- several engines or ranks of one source print at about the same time: whoever runs something keeps the server busy
    SELECT source_id, time, sum(coalesce(running, 0)) AS n, sum(coalesce(waiting, 0)) AS waiting
    FROM main.server_samples WHERE time IS NOT NULL AND running IS NOT NULL AND phase IS DISTINCT FROM 'prefill' GROUP BY source_id, time
), statistics AS (
    SELECT source_id, 'server statistics' AS origin, time AS began, least(lead(time) OVER (PARTITION BY source_id ORDER BY time), time + 30) AS ended, n
    FROM lines
)
-- blur_s: how far an edge may be off, by the distance of the lines
SELECT source_id, origin, began, ended, n::DOUBLE AS n, 0.0 AS blur_s FROM counted WHERE ended > began
UNION ALL
SELECT source_id, origin, began, ended, n, median(ended - began) OVER (PARTITION BY source_id) FROM statistics WHERE ended > began
