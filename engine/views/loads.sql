-- Loading and compiling, as a server tells it: from the first line of loading to the line that says it is done. One that fails, or a
-- compilation that no line ends, has no end. `began_t`, `done_t`: on the clock of the log; `began`, `done`: on the common axis.
WITH told AS (
    SELECT
        source_id, coalesce(run, 0) AS run, line, kind, t, time,
        sum((kind <> 'loading')::INT) OVER (PARTITION BY source_id, coalesce(run, 0) ORDER BY line ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS nth
    FROM main.server_events WHERE kind IN ('loading', 'loaded', 'error') AND (t IS NOT NULL OR time IS NOT NULL)
)
SELECT
    source_id, run, min(line) AS line, min(t) AS began_t, max(t) FILTER (kind = 'loaded') AS done_t,
    min(time) AS began, max(time) FILTER (kind = 'loaded') AS done
FROM told GROUP BY source_id, run, coalesce(nth, 0) HAVING count(*) FILTER (kind = 'loading') > 0
