-- Tokens that the cards compute per second, prompts included where the files tell them, per scope, as an interval. Cached prompt tokens
-- cost nothing: the low end leaves them out, or all prompts where the hit rate is not told. `counts` says what the numbers hold.
WITH engines AS (
    -- statistics lines with both rates, per engine: the mean over the load
    SELECT
        scope_id, source_id, run, engine, rank, count(*) AS n, avg(gen_tok_s + prompt_tok_s * coalesce(1 - prefix_hit, 0)) AS lo, avg(gen_tok_s + prompt_tok_s) AS hi
    FROM main.server_in_scope WHERE gen_tok_s IS NOT NULL AND prompt_tok_s IS NOT NULL GROUP BY ALL
), servers AS (
    SELECT scope_id, source_id, run, sum(n) AS n, sum(lo) AS lo, sum(hi) AS hi FROM engines GROUP BY ALL
), printed AS (
    SELECT scope_id, sum(n) AS n, min(lo) AS lo, sum(hi) AS hi FROM (
        SELECT scope_id, source_id, sum(n) AS n, min(lo) AS lo, max(hi) AS hi FROM servers GROUP BY ALL
    ) GROUP BY scope_id
), batches AS (
    -- one line per computed piece of a prompt; every data-parallel rank prints its own
    SELECT scope_id, sum(new_tokens) / nullif(max(t) - min(t), 0) + coalesce(avg(gen_tok_s) FILTER (gen_tok_s > 0), 0) AS tok_s, count(*) FILTER (new_tokens > 0) AS n
    FROM main.server_in_scope WHERE new_tokens IS NOT NULL OR gen_tok_s IS NOT NULL GROUP BY scope_id
), spans AS (
    SELECT scope_id, sum(ended - began) AS seconds FROM main.scope_windows GROUP BY scope_id
), served AS (
    SELECT r.scope_id, sum(r.prompt_tokens + coalesce(r.output_tokens, 0)) / any_value(s.seconds) AS tok_s
    FROM main.requests_in_scope r JOIN spans s USING (scope_id)
    WHERE s.seconds > 0 GROUP BY r.scope_id HAVING count(*) = count(r.prompt_tokens)
)
SELECT
    p.scope_id,
    -- a total of a benchmark counts cached prompts too
    CASE WHEN p.x_total IS NOT NULL THEN least(p.x_out, p.x_total) WHEN v.n >= 5 THEN v.lo WHEN b.n >= 5 THEN b.tok_s ELSE coalesce(s.tok_s, p.x_out) END AS tok_s_lo,
    CASE WHEN p.x_total IS NOT NULL THEN greatest(p.x_out, p.x_total) WHEN v.n >= 5 THEN v.hi WHEN b.n >= 5 THEN b.tok_s ELSE coalesce(s.tok_s, p.x_out) END AS tok_s_hi,
    CASE WHEN p.x_total IS NOT NULL OR v.n >= 5 OR b.n >= 5 OR s.tok_s IS NOT NULL THEN 'prompt and output' ELSE 'output' END AS counts
FROM main.pace p LEFT JOIN printed v USING (scope_id) LEFT JOIN batches b USING (scope_id) LEFT JOIN served s USING (scope_id)
