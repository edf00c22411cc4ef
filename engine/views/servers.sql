-- The server family of each scope, where there is just one.
SELECT scope_id, min(server) AS server FROM (
    SELECT scope_id, server FROM main.requests_in_scope UNION ALL SELECT scope_id, server FROM main.server_in_scope
    UNION ALL SELECT scope_id, value FROM main.config_in_scope WHERE key = 'server'
) WHERE server IS NOT NULL GROUP BY scope_id HAVING count(DISTINCT server) = 1
