-- Periodic statistics of a server per scope: bound files by statement, everything else in the trace.
SELECT sc.scope_id, s.* FROM main.server_samples s JOIN main.bindings b USING (source_id) JOIN main.scopes sc ON sc.label = b.label
UNION ALL
SELECT 0, s.* FROM main.server_samples s WHERE source_id NOT IN (SELECT source_id FROM main.bindings)
