-- What the server did when, on the common axis: prefill while a request is before its first token, decode while only others run,
-- mixed for both, loading while it loads or compiles and serves nobody. From launch, prompt time and release of each request, and from
-- the lines of loading; server statistics give a phase per line.
WITH served AS (
    SELECT source_id, started_at AS began, coalesce(first_token_at, started_at + prompt_ms / 1000) AS first_at, finished_at AS ended
    FROM main.requests WHERE origin = 'server' AND started_at IS NOT NULL AND finished_at > started_at
), edges AS (
    SELECT source_id, began AS at_time, 1 AS prefilling, 0 AS decoding, 0 AS loading FROM served WHERE first_at IS NOT NULL
    UNION ALL SELECT source_id, first_at, -1, 1, 0 FROM served WHERE first_at IS NOT NULL
    UNION ALL SELECT source_id, ended, 0, -1, 0 FROM served WHERE first_at IS NOT NULL
    UNION ALL SELECT source_id, began, 0, 0, 1 FROM main.loads WHERE done > began
    UNION ALL SELECT source_id, done, 0, 0, -1 FROM main.loads WHERE done > began
), counted AS (
    SELECT
        source_id, at_time AS began, lead(at_time) OVER w AS ended, sum(prefilling) OVER w AS prefilling, sum(decoding) OVER w AS decoding,
        sum(loading) OVER w AS loading
    FROM (SELECT source_id, at_time, sum(prefilling) AS prefilling, sum(decoding) AS decoding, sum(loading) AS loading FROM edges GROUP BY ALL)
    WINDOW w AS (PARTITION BY source_id ORDER BY at_time)
), lines AS (
    SELECT
        source_id, time AS began, least(lead(time) OVER (PARTITION BY source_id ORDER BY time), time + 30) AS ended,
        CASE WHEN phase IS NOT NULL THEN phase WHEN prompt_tok_s > 0 AND gen_tok_s > 0 THEN 'mixed' WHEN prompt_tok_s > 0 THEN 'prefill'
             WHEN gen_tok_s > 0 THEN 'decode' WHEN running = 0 THEN 'idle' END AS phase
    FROM main.server_samples WHERE time IS NOT NULL
)
SELECT
    source_id, began, ended,
    CASE WHEN prefilling > 0 AND decoding > 0 THEN 'mixed' WHEN prefilling > 0 THEN 'prefill' WHEN decoding > 0 THEN 'decode'
         WHEN loading > 0 THEN 'loading' ELSE 'idle' END AS phase
-- without requests nothing says that it was idle between two loads
FROM counted WHERE ended > began AND (loading > 0 OR source_id IN (SELECT source_id FROM served))
UNION ALL
SELECT source_id, began, ended, phase FROM lines WHERE ended > began AND phase IS NOT NULL
