-- GPU recordings whose samples have times that cannot be compared with the load: the clock of some server is not tied to their axis, and
-- none of the known windows touches them; or several machines serve, and none of them is known to be the recording's; or they are of other cards than a server
-- of these files prints. The trace holds them.
SELECT g.source_id
FROM (
    SELECT s.source_id, min(s.time) AS first_at, max(s.time) AS last_at,
        any_value(CASE WHEN c.offset_s < -1e9 THEN round(c.offset_s / 1e10)::INTEGER ELSE 0 END) AS axis
    FROM main.gpu_samples s JOIN main.clocks c USING (source_id) WHERE s.time IS NOT NULL GROUP BY s.source_id
) g
WHERE g.axis IN (SELECT axis FROM main.load_unknown WHERE began <= -1e300 AND ended >= 1e300)
  AND NOT EXISTS (FROM main.load_windows w WHERE w.began <= g.last_at AND w.ended >= g.first_at)
UNION
SELECT DISTINCT source_id FROM main.gpu_samples
WHERE EXISTS (FROM main.host_windows) AND coalesce(host, '') NOT IN (SELECT host FROM main.host_windows)
UNION
SELECT source_id FROM main.strange_cards
