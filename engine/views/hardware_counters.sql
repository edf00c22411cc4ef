-- Hardware counters of the cards that may serve, per scope: a card that does nothing and one of another job are not the model's. Every
-- card's mean first. In decode the cards of a layer split share the time, so that their sum says how long memory is read (`dram`); cards
-- that work at once are between their mean and the busiest of them, and where nothing tells how the model is split, it may be either.
-- `extra_cards`: how many of the cards at work the model does not have.
WITH read AS (
    SELECT l.*, s.cards_extra, phase = 'decode' OR phase IS NULL AS decoding
    FROM main.samples_in_load l
    JOIN main.serving_cards s ON s.scope_id = l.scope_id AND s.source_id = l.source_id AND s.gpu = l.gpu AND s.host IS NOT DISTINCT FROM l.host
    WHERE coalesce(l.sm_active, l.dram_active, l.tensor_active) IS NOT NULL
), cards AS (
    SELECT
        scope_id, host, gpu, max(cards_extra) AS cards_extra,
        avg(sm_active) AS sm_active, avg(tensor_active) AS tensor_active,
        avg(dram_active) FILTER (decoding) AS dram, avg(tensor_active) FILTER (decoding AND dram_active IS NOT NULL) AS decode_tensor
    FROM read GROUP BY scope_id, host, gpu
), rounds AS (
    SELECT
        scope_id, count(DISTINCT (source_id, cycle)) FILTER (tensor_active IS NOT NULL) AS tensor_rounds,
        count(DISTINCT (source_id, cycle)) FILTER (dram_active IS NOT NULL AND decoding) AS dram_rounds,
        min({'source_id': source_id, 'line': line}, 2) FILTER (tensor_active IS NOT NULL) AS tensor_ev,
        min({'source_id': source_id, 'line': line}, 2) FILTER (dram_active IS NOT NULL AND decoding) AS dram_ev
    FROM read GROUP BY scope_id
), splits AS (
    SELECT scope_id, min(value) AS split FROM main.config_in_scope WHERE key = 'split' GROUP BY scope_id
), together AS (
    SELECT
        c.scope_id, min(p.split) AS split, max(cards_extra) AS extra_cards, avg(sm_active) AS sm_active, avg(tensor_active) AS tensor_active,
        avg(dram) AS dram_mean, max(dram) AS dram_most, least(1, sum(dram)) AS dram_sum,
        avg(decode_tensor) AS tensor_mean, max(decode_tensor) AS tensor_most, least(1, sum(decode_tensor)) AS tensor_sum
    FROM cards c LEFT JOIN splits p USING (scope_id) GROUP BY c.scope_id
)
SELECT
    t.scope_id, extra_cards, sm_active, tensor_active, tensor_rounds, tensor_ev,
    CASE WHEN split = 'layer' THEN dram_sum ELSE dram_mean END AS dram_lo,
    CASE WHEN split IN ('tensor', 'data', 'none') THEN dram_most ELSE dram_sum END AS dram_hi,
    CASE WHEN split = 'layer' THEN tensor_sum ELSE tensor_mean END AS decode_tensor_lo,
    CASE WHEN split IN ('tensor', 'data', 'none') THEN tensor_most ELSE tensor_sum END AS decode_tensor_hi,
    dram_rounds, dram_ev
FROM together t JOIN rounds USING (scope_id)
