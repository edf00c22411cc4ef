-- Kernel intervals per scope, and how they got there: given (the user vouches for the trace), clock (inside a piece of the load),
-- estimated (the same on an estimated clock), unplaced (the trace holds them: nothing shows what they belong to). Decode alone where
-- the server tells phases apart.
WITH timed AS (
    SELECT p.scope_id, p.piece, p.phase, p.lone, CASE WHEN p.estimated OR coalesce(c.estimated, FALSE) THEN 'estimated' ELSE 'clock' END AS placed, k.*
    FROM (FROM main.kernels WHERE started_at IS NOT NULL AND source_id NOT IN (SELECT source_id FROM main.bindings)) k
    ASOF JOIN (FROM main.kernel_pieces ORDER BY began) p ON k.started_at >= p.began
    LEFT JOIN main.clocks c ON c.source_id = k.source_id
    WHERE k.finished_at <= p.ended
), elsewhere AS (
    SELECT DISTINCT source_id FROM main.kernels
    WHERE source_id NOT IN (SELECT source_id FROM main.bindings) AND source_id NOT IN (SELECT DISTINCT source_id FROM timed)
), placed AS (
    SELECT * FROM timed
    UNION ALL BY NAME
    SELECT s.scope_id, 0 AS piece, FALSE AS lone, 'given' AS placed, k.*
    FROM main.kernels k JOIN main.bindings b USING (source_id) JOIN main.scopes s ON s.label = b.label
    UNION ALL BY NAME
    SELECT 0 AS scope_id, 0 AS piece, FALSE AS lone, 'unplaced' AS placed, k.* FROM main.kernels k JOIN elsewhere USING (source_id)
)
SELECT
    scope_id, piece, phase, lone, placed, source_id, line, gpu, process, kind, started_t, finished_t, started_at,
    -- a card as one process sees it
    hash(source_id, process, gpu) AS rank_of
FROM placed
