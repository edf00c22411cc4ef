-- Cards of the catalogue in each scope: those that the user states or a file tied to the scope names. Where there is none, those that any
-- file names: it may be of another machine (`tied` is FALSE), which proves nothing.
WITH named AS (
    SELECT sc.scope_id, trim(g.name) AS bare, bool_or(s.source_id IS NOT NULL) AS tied
    FROM main.scopes sc CROSS JOIN main.gpus g LEFT JOIN main.scope_sources s ON s.scope_id = sc.scope_id AND s.source_id = g.source_id
    WHERE g.name IS NOT NULL GROUP BY ALL
    UNION ALL
    SELECT sc.scope_id, trim(g.value), TRUE FROM main.scopes sc CROSS JOIN main.given g WHERE g.key = 'gpu.name'
)
SELECT n.scope_id, n.tied, m.* FROM named n JOIN main.gpu_catalog_match m USING (bare)
QUALIFY n.tied = bool_or(n.tied) OVER (PARTITION BY n.scope_id)
