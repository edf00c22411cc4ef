-- The server family of each scope, where there is just one. A program that runs llama.cpp inside (Ollama from 0.30 on, LM Studio and so on) prints
-- its lines too, in the same log: then it is that program. A scope of which no request and no statistics tell it (a start-up log, `ollama ps`)
-- has the one that all files name.
WITH named AS (
    SELECT source_id, server FROM main.requests UNION SELECT source_id, server FROM main.server_samples
    UNION SELECT source_id, server FROM main.server_config UNION SELECT source_id, server FROM main.server_events
), inner_ones AS (
    SELECT DISTINCT source_id FROM named WHERE server IN ('ollama', 'lm-studio', 'koboldcpp', 'text-generation-webui')
), seen AS (
    SELECT DISTINCT server FROM named
    WHERE server IS NOT NULL AND NOT (server = 'llama.cpp' AND source_id IN (FROM inner_ones))
), told AS (
    SELECT scope_id, server, source_id FROM main.requests_in_scope UNION ALL SELECT scope_id, server, source_id FROM main.server_in_scope
    UNION ALL SELECT scope_id, value, NULL FROM main.config_in_scope WHERE key = 'server'
)
SELECT scope_id, min(server) AS server FROM told
WHERE server IS NOT NULL AND NOT (server = 'llama.cpp' AND source_id IS NOT NULL AND source_id IN (FROM inner_ones))
GROUP BY scope_id HAVING count(DISTINCT server) = 1
UNION ALL
SELECT scope_id, (SELECT min(server) FROM seen) FROM main.scopes
WHERE (SELECT count(*) FROM seen) = 1 AND scope_id NOT IN (SELECT scope_id FROM told WHERE server IS NOT NULL)
