-- The cards of a recording that may serve, per scope. One that never does anything and holds no model is none, and neither is one that
-- only draws a desktop: it holds less than a tenth of what the fullest card holds and works less than a tenth of the time. Both add
-- nothing to a sum but the look of a stage. A card without memory readings is judged by its work alone, and no card is left out that
-- the model's own number of cards needs.
WITH programs AS (
    SELECT DISTINCT coalesce(host, '') || '/' || gpu AS card, name FROM main.gpu_processes
    WHERE gpu IS NOT NULL AND name IS NOT NULL AND coalesce(kind, 'C') = 'C' AND coalesce(util_gpu, 1) > 0
), mixed AS (
    -- a list of processes in which no program is on all the cards: they are of several jobs, and which of them serve is not known
    SELECT (SELECT max(n) FROM (SELECT count(*) AS n FROM programs GROUP BY name)) < count(DISTINCT card) AS several FROM programs
), cards AS (
    -- a recording of hardware counters alone shows which cards work as well
    SELECT
        scope_id, source_id, host, gpu, max(coalesce(util_gpu, 100 * greatest(sm_active, dram_active, tensor_active))) AS util_max,
        avg(coalesce(util_gpu, 100 * greatest(sm_active, dram_active, tensor_active))) AS util_mean, max(mem_used) AS mem_used,
        count(util_gpu) > 0 AS by_util
    FROM main.samples_in_load WHERE coalesce(util_gpu, sm_active, dram_active, tensor_active) IS NOT NULL GROUP BY ALL
), ranked AS (
    SELECT
        *, coalesce(mem_used >= 0.1 * max(mem_used) OVER recording, TRUE) OR util_mean >= 10 AS strong,
        row_number() OVER (recording ORDER BY mem_used DESC NULLS LAST, util_mean DESC, host, gpu) AS place
    FROM cards WHERE util_max > 2 OR mem_used > 1024
    WINDOW recording AS (PARTITION BY scope_id, source_id)
), chosen AS (
    SELECT r.* EXCLUDE (strong, place) FROM ranked r LEFT JOIN main.model_devices m USING (scope_id) WHERE r.strong OR r.place <= m.devices_lo
), serving AS (
    -- where utilisation was recorded it says which cards serve, also for the counters beside it
    SELECT * EXCLUDE (by_util) FROM chosen
    WHERE by_util OR scope_id NOT IN (SELECT scope_id FROM chosen WHERE by_util)
       OR (scope_id, coalesce(host, ''), gpu) IN (SELECT (scope_id, coalesce(host, ''), gpu) FROM chosen WHERE by_util)
)
-- cards_extra: cards at work that the model does not have, so that a sum over all of them is not the model's; cards_missing: the reverse. Not known
-- where several programs are on the cards and nobody tells how many the model has
SELECT
    s.*, count(*) OVER recording AS cards,
    greatest(0, coalesce(m.devices_lo - count(*) OVER recording, 0)) AS cards_missing,
    CASE WHEN m.devices_hi IS NOT NULL OR NOT coalesce(x.several, FALSE) THEN greatest(0, coalesce(count(*) OVER recording - m.devices_hi, 0)) END AS cards_extra
FROM serving s LEFT JOIN main.model_devices m USING (scope_id) CROSS JOIN mixed x
WINDOW recording AS (PARTITION BY scope_id, source_id)
