-- How many requests the server runs at once, per scope: logged, given, or the default of the build. Where none of these is known, the
-- slots that its requests were seen in are a lower bound; with only the family known (llama.cpp, build unknown) it is 1 or 4, and that is
-- an estimate.
WITH family AS (
    SELECT scope_id, min(value) AS server, min(ev) AS ev FROM main.config_in_scope WHERE key = 'server' GROUP BY scope_id
), seen AS (
    SELECT scope_id, num_lo, origin, ev FROM main.config_in_scope WHERE key = 'slots_seen' AND num_lo > 1
)
SELECT
    sc.scope_id,
    coalesce(c.num_lo, u.num_lo, CASE WHEN f.server = 'llama.cpp' THEN 1 END) AS slots_lo,
    CASE WHEN c.num_hi IS NOT NULL THEN c.num_hi WHEN u.num_lo IS NULL AND f.server = 'llama.cpp' THEN 4 END AS slots_hi,
    CASE WHEN c.num_lo IS NOT NULL THEN c.origin WHEN u.num_lo IS NOT NULL THEN u.origin WHEN f.server = 'llama.cpp' THEN 'estimated' END AS slots_origin,
    c.given AS slots_given,
    coalesce(c.ev, u.ev, f.ev) AS slots_ev
FROM main.scopes sc
LEFT JOIN main.config_in_scope c ON c.scope_id = sc.scope_id AND c.key = 'slots'
LEFT JOIN family f ON f.scope_id = sc.scope_id
LEFT JOIN seen u ON u.scope_id = sc.scope_id
