-- Sources in which a server tells of its load: its family (Ollama runs llama.cpp), the first such line, and whether the log shows the
-- start of its server, or is a piece of one that began before.
WITH told AS (
    SELECT source_id, line, server FROM main.requests WHERE origin = 'server'
    UNION ALL
    SELECT source_id, line, server FROM main.server_samples
), firsts AS (
    SELECT source_id, min(line) AS line, replace(arg_min(server, line), 'ollama', 'llama.cpp') AS family FROM told GROUP BY source_id
)
SELECT
    f.*, EXISTS (FROM main.server_config c WHERE c.source_id = f.source_id AND c.line < f.line AND c.origin = 'logged')
        OR EXISTS (FROM main.models m WHERE m.source_id = f.source_id AND m.line < f.line) AS booted
FROM firsts f
