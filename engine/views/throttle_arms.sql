-- The rate of a server in lines whose GPU samples carry a flag of power or heat and in lines whose samples do not, at one number of
-- running requests; five lines of each at least. Flags as the rule `throttled` reads them, of working samples only.
WITH flags AS MATERIALIZED (
    -- one value per second: is any card held down?
    SELECT scope_id, floor(time)::BIGINT AS second, max(greatest(held, coalesce(capped, 0))) AS flagged
    FROM main.held_clocks WHERE time IS NOT NULL AND held IS NOT NULL GROUP BY ALL
), rates AS MATERIALIZED (
    SELECT scope_id, source_id, coalesce(engine, 0) AS engine, coalesce(rank, '') AS rank, line, time, gen_tok_s, running, kv_usage
    FROM main.server_in_scope
    WHERE time IS NOT NULL AND gen_tok_s > 0 AND running > 0 AND coalesce(prompt_tok_s, 0) = 0 AND phase IS DISTINCT FROM 'prefill'
), longest AS (
    -- one engine's lines: those of several are not one rate
    SELECT scope_id, source_id, engine, rank FROM rates GROUP BY scope_id, source_id, engine, rank
    QUALIFY row_number() OVER (PARTITION BY scope_id ORDER BY count(*) DESC, source_id, engine, rank) = 1
), looked_back AS (
    -- the ten seconds before a line, as equal keys: a range join would take minutes on a long recording
    SELECT r.scope_id, r.line, r.gen_tok_s, r.running, r.kv_usage, floor(r.time)::BIGINT - unnest(range(11)) AS second
    FROM rates r SEMI JOIN longest USING (scope_id, source_id, engine, rank)
), paced AS (
    SELECT b.scope_id, b.line, any_value(b.gen_tok_s) AS rate, any_value(b.running) AS running, any_value(b.kv_usage) AS kv_usage, avg(f.flagged) AS flagged
    FROM looked_back b JOIN flags f USING (scope_id, second) GROUP BY b.scope_id, b.line
)
-- the same number of running requests before and after
SELECT
    scope_id, running, avg(rate) FILTER (flagged >= 0.8) AS after_rate, avg(rate) FILTER (flagged <= 0.05) AS before_rate,
    count(*) FILTER (flagged >= 0.8) AS after_n, count(*) FILTER (flagged <= 0.05) AS before_n,
    sqrt(var_samp(rate) FILTER (flagged >= 0.8) / nullif(count(*) FILTER (flagged >= 0.8), 0)
        + var_samp(rate) FILTER (flagged <= 0.05) / nullif(count(*) FILTER (flagged <= 0.05), 0)) AS se,
    -- sequences that grow slow a stream down by themselves
    abs(avg(kv_usage) FILTER (flagged >= 0.8) / nullif(avg(kv_usage) FILTER (flagged <= 0.05), 0) - 1) AS cache_change
FROM paced GROUP BY scope_id, running
HAVING count(*) FILTER (flagged >= 0.8) >= 5 AND count(*) FILTER (flagged <= 0.05) >= 5
