-- Bytes of one pass over the weights and the bandwidth that serves it, per scope, as intervals.
--   low bytes   active parameters at the average bits of the file, without the token embedding: a pass reads one row of it per token;
--               a hundredth of the file where the active parameters are not known
--   high bytes  non-routed active parameters at 16 bit, routed ones at what the file leaves for the experts; never above the file
--   bandwidth   serial split of equal cards: one card's; tensor split: all cards' of one copy, because every copy of the model reads all
--               its weights; unknown split: between both
WITH peaks AS (
    SELECT
        scope_id, bool_and(tied) AS cards_tied,
        -- dense arithmetic: bf16 of the catalogue at the low end; 8-bit and 4-bit paths reach up to eight times that figure
        min(bf16_dense_tflops) AS one_lo, 8 * max(bf16_dense_tflops) AS one_hi,
        min(pcie_gen) AS pcie_gen, min(pcie_width) AS pcie_width, min(nvlink_gbs_bidir_per_gpu) AS nvlink_gbs
    FROM main.scope_cards GROUP BY scope_id
), parts AS (
    SELECT
        c.scope_id, c.split, c.cards_lo, c.cards_hi, c.copies_lo, c.copies_hi, c.card_bytes, w.one_lo AS bw_one_lo, w.one_hi AS bw_one_hi, w.origin AS bw_origin, w.ev AS bw_ev,
        p.one_lo AS peak_one_lo, p.one_hi AS peak_one_hi, p.pcie_gen, p.pcie_width, p.nvlink_gbs, p.cards_tied, m.* EXCLUDE (scope_id),
        c.split IN ('layer', 'pipeline', 'none') AS serial,
        active_b * 1e9 * bpw / 8 AS naive_bytes,
        coalesce(routed_active_b, CASE WHEN dense THEN 0 END) AS routed_b,
        CASE WHEN dense THEN active_b ELSE coalesce(nonrouted_active_b, active_b - routed_active_b) END AS nonrouted_b,
        -- bits that the file leaves for the experts if everything else is kept at 16 bit
        CASE WHEN routed_total_b > 0 THEN greatest(0, file_bytes - (total_b - routed_total_b) * 2e9) * 8 / (routed_total_b * 1e9) END AS expert_bits
    FROM main.model_cards c JOIN main.card_bandwidth w USING (scope_id) JOIN main.model_facts m USING (scope_id) LEFT JOIN peaks p USING (scope_id)
), together AS (
    -- cards of one copy that work at the same time
    SELECT
        *, CASE WHEN serial THEN 1 WHEN split IN ('tensor', 'data') THEN cards_lo ELSE 1 END AS parallel_lo, CASE WHEN serial THEN 1 ELSE cards_hi END AS parallel_hi
    FROM parts
)
SELECT
    scope_id, split, cards_lo, cards_hi, copies_lo, copies_hi, card_bytes, bw_one_lo, bw_one_hi, bw_origin, bw_ev,
    bw_one_lo * parallel_lo AS bw_lo, bw_one_hi * parallel_hi AS bw_hi,
    CASE WHEN naive_bytes IS NOT NULL THEN greatest(least(naive_bytes, file_bytes) - coalesce(embedding_bytes, 0), 0) ELSE 0.01 * file_bytes END AS pass_bytes_lo,
    CASE
        WHEN dense THEN file_bytes
        WHEN routed_b IS NOT NULL THEN least(file_bytes, nonrouted_b * 2e9 + routed_b * 1e9 * expert_bits / 8)
        ELSE least(file_bytes, active_b * 2e9)
    END AS pass_bytes_hi,
    CASE WHEN dense THEN file_bytes ELSE nonrouted_b * 2e9 END AS fixed_bytes_hi,
    CASE WHEN dense THEN 0 ELSE routed_b * 1e9 * expert_bits / 8 END AS expert_bytes_one_hi,
    experts, experts_per_token, dense, file_bytes, embedding_bytes, total_b, active_b, bpw, layers, hidden,
    -- unknown KV layout: one and a half times full multi-head attention at 16 bit. Unknown shape: P parameters are about 12 L h^2, and no
    -- known model is narrower than 0.6 of the cube root of 11 P
    coalesce(kv_bytes_per_token, 3 * layers * hidden * 2, 3 * 2 * coalesce(active_b, total_b) * 1e9 / (12 * 0.6 * power(11e9 * coalesce(active_b, total_b), 1 / 3))) AS kv_bytes_per_token_hi,
    kv_bytes_per_token IS NOT NULL AS kv_known,
    -- arithmetic of the cards that work at the same time, in all copies
    peak_one_lo * parallel_lo * copies_lo AS peak_lo, peak_one_hi * parallel_hi * copies_hi AS peak_hi, peak_one_lo * parallel_lo AS peak_copy_lo,
    pcie_gen, pcie_width, nvlink_gbs, cards_tied,
    origin AS model_origin, given AS model_given, ev AS model_ev, catalogue_source
FROM together
