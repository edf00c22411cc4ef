-- Utilisation summed over the cards of one sampling round. Cards that never do anything in the scope and hold no model are left out
-- of the serving group: they add 0 to the sum and would only look like a missing stage.
WITH cards AS (
    SELECT scope_id, source_id, host, gpu, max(util_gpu) AS util_max, max(mem_used) AS mem_used
    FROM main.samples_in_load WHERE util_gpu IS NOT NULL GROUP BY ALL
), serving AS (
    FROM cards WHERE util_max > 2 OR mem_used > 1024
), size AS (
    SELECT scope_id, source_id, count(*) AS cards FROM serving GROUP BY ALL
), rounds AS (
    SELECT
        l.scope_id, l.source_id, l.cycle, any_value(l.placed) AS placed, min(l.phase) AS phase, min(l.line) AS line, min(l.t) AS t, min(l.time) AS time,
        count(*) AS n, sum(l.util_gpu) AS util_sum, min(l.util_gpu) AS util_min, max(l.util_gpu) AS util_max
    FROM main.samples_in_load l
    JOIN serving s ON s.scope_id = l.scope_id AND s.source_id = l.source_id AND s.gpu = l.gpu AND s.host IS NOT DISTINCT FROM l.host
    WHERE l.util_gpu IS NOT NULL
    GROUP BY l.scope_id, l.source_id, l.cycle
)
SELECT r.*, z.cards, r.n = z.cards AS complete
FROM rounds r JOIN size z USING (scope_id, source_id)
