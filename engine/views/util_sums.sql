-- Utilisation summed over the serving cards of one sampling round.
WITH size AS (
    SELECT scope_id, source_id, any_value(cards) AS cards, any_value(cards_missing) AS cards_missing, any_value(cards_extra) AS cards_extra
    FROM main.serving_cards GROUP BY ALL
), rounds AS (
    SELECT
        l.scope_id, l.source_id, l.cycle, any_value(l.placed) AS placed, min(l.phase) AS phase, min(l.line) AS line, min(l.t) AS t, min(l.time) AS time,
        count(*) AS n, sum(l.util_gpu) AS util_sum, min(l.util_gpu) AS util_min, max(l.util_gpu) AS util_max
    FROM main.samples_in_load l
    JOIN main.serving_cards s ON s.scope_id = l.scope_id AND s.source_id = l.source_id AND s.gpu = l.gpu AND s.host IS NOT DISTINCT FROM l.host
    WHERE l.util_gpu IS NOT NULL
    GROUP BY l.scope_id, l.source_id, l.cycle
)
SELECT r.*, z.cards, z.cards_missing, z.cards_extra, r.n = z.cards AS complete
FROM rounds r JOIN size z USING (scope_id, source_id)
