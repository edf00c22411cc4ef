-- Which server runs speak of a scope. `how`: load (their requests or statistics are in it), bench (a benchmark that prints its server's
-- settings, for its own steps) or loose (requests that belong to no step, statistics without a time).
SELECT scope_id, source_id, coalesce(run, 0) AS run, CASE WHEN how = 'no step' THEN 'loose' ELSE 'load' END AS how FROM main.requests_in_scope
UNION
SELECT scope_id, source_id, coalesce(run, 0), CASE WHEN scope_id = 0 THEN 'loose' ELSE 'load' END FROM main.server_in_scope
UNION
SELECT sc.scope_id, b.source_id, coalesce(c.run, 0), 'bench'
FROM main.scopes sc JOIN main.bench_series b ON b.series_key = sc.series_key AND b.concurrency = sc.concurrency
JOIN main.server_config c ON c.source_id = b.source_id
