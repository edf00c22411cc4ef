-- GPU samples per scope. `placed` says how a sample got there: given (the user vouches for it) or unplaced (the trace holds it).
SELECT s.scope_id, 'given' AS placed, g.*
FROM main.gpu_samples g
JOIN main.bindings b USING (source_id)
JOIN main.scopes s ON s.label = b.label
UNION ALL
SELECT 0, 'unplaced', g.*
FROM main.gpu_samples g
WHERE source_id NOT IN (SELECT b.source_id FROM main.bindings b JOIN main.scopes s ON s.label = b.label)
