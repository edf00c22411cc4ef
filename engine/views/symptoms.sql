-- What people see and ask about, per scope: low utilisation, a plateau, a slow stream, busy but cool cards, long waits, a sudden change.
WITH cards AS (
    SELECT
        scope_id, host, gpu, avg(util_gpu) AS util, avg(power_w / power_limit_w) AS power_share, count(*) AS n,
        min({'source_id': source_id, 'line': line}, 1) AS ev
    FROM main.samples_in_load WHERE placed IN ('given', 'clock') AND util_gpu IS NOT NULL GROUP BY scope_id, host, gpu HAVING max(util_gpu) > 2
), low AS (
    SELECT scope_id, 'low utilisation' AS symptom, avg(util) AS seen, 50 AS line_at, printf('The cards read %.0f %% on average under load.', avg(util)) AS sentence
    FROM cards GROUP BY scope_id HAVING avg(util) < 50 AND min(n) >= 10
), cool AS (
    SELECT
        scope_id, 'busy but cool' AS symptom, avg(power_share) AS seen, 0.5 AS line_at,
        printf('The cards read %.0f %% busy at %.0f %% of their power limit.', avg(util), 100 * avg(power_share)) AS sentence
    FROM cards GROUP BY scope_id HAVING avg(util) >= 90 AND avg(power_share) < 0.5 AND min(n) >= 10
), plateau AS (
    SELECT
        scope_id, 'throughput plateau' AS symptom, x_slope AS seen, 0.07 AS line_at,
        printf('From %g to %g streams the total goes from %.1f to %.1f tok/s.', ref_concurrency, concurrency, ref_x, x) AS sentence
    FROM main.steps WHERE x_slope <= 0.07
), slow AS (
    SELECT
        b.scope_id, 'slow single stream' AS symptom, b.hi_ms / b.step_lo_ms AS seen, 0.5 AS line_at,
        printf('A token of one stream takes %.1f ms; one pass over weights and cache explains at most %.0f %% of it.', b.step_lo_ms, 100 * b.hi_ms / b.step_lo_ms) AS sentence
    FROM main.budget b JOIN main.scopes s USING (scope_id)
    WHERE b.component = 'memory' AND s.concurrency = 1 AND b.hi_ms < 0.5 * b.step_lo_ms
), lines AS (
    SELECT scope_id, avg((waiting >= 1)::INT) AS waiting_share, count(*) AS n, max(waiting) AS most FROM main.server_in_scope WHERE waiting IS NOT NULL GROUP BY scope_id
), waits AS (
    SELECT
        scope_id, 'long waits' AS symptom, waiting_share AS seen, 0.5 AS line_at,
        printf('Requests wait in %.0f %% of the server''s lines, up to %.0f at a time.', 100 * waiting_share, most) AS sentence
    FROM lines WHERE waiting_share >= 0.5 AND n >= 5
), thirds AS (
    SELECT scope_id, source_id, gen_tok_s / running AS each, ntile(3) OVER (PARTITION BY scope_id, source_id ORDER BY line) AS third
    FROM main.server_in_scope WHERE gen_tok_s > 0 AND running >= 1
), changes AS (
    SELECT
        scope_id, source_id, median(each) FILTER (third = 1) AS first_rate, median(each) FILTER (third = 3) AS last_rate, count(*) AS n
    FROM thirds GROUP BY scope_id, source_id
), change AS (
    SELECT
        scope_id, 'sudden change' AS symptom, last_rate / first_rate AS seen, 0.7 AS line_at,
        printf('Each stream went from %.1f to %.1f tok/s in the course of the log.', first_rate, last_rate) AS sentence
    FROM changes WHERE n >= 15 AND last_rate < 0.7 * first_rate
)
FROM low UNION ALL FROM cool UNION ALL FROM plateau UNION ALL FROM slow UNION ALL FROM waits UNION ALL FROM change
