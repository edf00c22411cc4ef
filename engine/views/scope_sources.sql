-- Files that something ties to what ran in a scope: the logs of its servers and the lost beginning of such a log, the benchmark's own output,
-- recordings with samples in the load of a scope of the same server or benchmark, and a list of as many cards as such a recording shows
-- where that names none; and readings of the same days. Where nothing tells who served, the logs of servers that nothing speaks against.
WITH served AS (
    SELECT DISTINCT scope_id, source_id FROM main.scope_servers
), families AS (
    SELECT source_id, replace(min(server), 'ollama', 'llama.cpp') AS family FROM main.server_config
    WHERE source_id NOT IN (SELECT source_id FROM main.bench_steps) GROUP BY source_id
), told AS (
    FROM served
    UNION
    SELECT sc.scope_id, b.source_id FROM main.scopes sc JOIN main.bench_series b USING (series_key)
    UNION
    SELECT scope_id, source_id FROM main.client_requests_in_scope
    UNION
    SELECT s.scope_id, f.source_id FROM served s JOIN main.server_logs l ON l.source_id = s.source_id AND NOT l.booted JOIN families f USING (family)
    WHERE f.source_id NOT IN (SELECT source_id FROM main.server_logs)
    UNION
    SELECT sc.scope_id, c.source_id FROM main.scopes sc CROSS JOIN (
        SELECT source_id, coalesce(run, 0) AS run FROM main.server_config UNION SELECT source_id, 0 FROM main.gpus WHERE device IS NOT NULL
    ) c
    WHERE sc.scope_id NOT IN (SELECT scope_id FROM served) AND c.source_id NOT IN (SELECT source_id FROM main.bench_steps)
        AND NOT coalesce((sc.series_key, c.source_id, c.run) IN (SELECT (series_key, source_id, run) FROM main.strange_servers), FALSE)
), placed AS (
    SELECT DISTINCT scope_id, source_id FROM main.samples_in_load WHERE placed IN ('given', 'clock')
), recorded AS (
    FROM placed
    UNION
    SELECT t.scope_id, p.source_id FROM placed p JOIN told w ON w.scope_id = p.scope_id JOIN told t ON t.source_id = w.source_id
), counts AS (
    SELECT source_id, count(DISTINCT (host, gpu)) AS n FROM main.gpu_samples GROUP BY source_id
), lists AS (
    SELECT source_id, count(DISTINCT (host, gpu)) AS n FROM main.gpus WHERE name IS NOT NULL GROUP BY source_id
)
FROM told
UNION
FROM recorded
UNION
SELECT r.scope_id, l.source_id FROM recorded r JOIN counts c USING (source_id) JOIN lists l ON l.n = c.n WHERE c.source_id NOT IN (SELECT source_id FROM lists)
UNION
-- a snapshot before or after the load, by dates that both files print and none that is only guessed; a zone is worth 14 h
SELECT w.scope_id, g.source_id
FROM (
    SELECT s.source_id, min(coalesce(s.time, CASE WHEN c.kind = 'local-no-zone' THEN s.t END)) AS began, max(coalesce(s.time, CASE WHEN c.kind = 'local-no-zone' THEN s.t END)) AS ended
    FROM main.gpu_samples s JOIN main.clocks c ON c.source_id = s.source_id AND c.kind IN ('utc', 'local-no-zone', 'no-year') AND NOT coalesce(c.estimated, FALSE)
    GROUP BY s.source_id
) g
JOIN main.scope_windows w ON NOT w.estimated AND w.began > 0 AND g.began <= w.ended + 86400 + 14 * 3600 AND g.ended >= w.began - 86400 - 14 * 3600
WHERE g.source_id NOT IN (SELECT source_id FROM main.strange_cards)
