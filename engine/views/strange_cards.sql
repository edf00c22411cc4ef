-- Recordings of cards none of which a server or benchmark of these files runs on, by the names that both print: of another machine. Names
-- are compared where the catalogue knows both; machines that are told apart may have cards of their own.
WITH products AS (
    SELECT g.source_id, min(s.host) AS host, list(DISTINCT m.name_pattern ORDER BY m.name_pattern) AS cards, bool_or(g.device IS NOT NULL) AS runs,
        g.source_id IN (SELECT source_id FROM main.gpu_samples) AS recorded
    FROM main.gpus g JOIN main.gpu_catalog_match m ON m.bare = trim(g.name) LEFT JOIN main.sources s ON s.source_id = g.source_id
    GROUP BY g.source_id
)
SELECT r.source_id, min(l.source_id) AS log_id, any_value(r.cards) AS cards, arg_min(l.cards, l.source_id) AS log_cards
FROM products r JOIN products l ON l.source_id <> r.source_id AND l.runs AND NOT l.recorded
WHERE r.recorded AND NOT r.runs AND coalesce(r.host = l.host, TRUE)
GROUP BY r.source_id HAVING NOT bool_or(list_has_any(r.cards, l.cards))
