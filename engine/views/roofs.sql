-- Bytes of one pass over the weights and the bandwidth that serves it, per scope, as intervals.
--   low bytes   active parameters at the average bits of the file
--   high bytes  non-routed active parameters at 16 bit, routed ones at what the file leaves for the experts; never above the file
--   bandwidth   serial split of equal cards: one card's; tensor or data split: all cards'; unknown split: between both
WITH cards AS (
    SELECT scope_id, max(cards) AS seen FROM main.util_sums GROUP BY scope_id
), everywhere AS (
    SELECT max(cards) AS seen FROM main.util_sums
), bandwidth AS (
    -- given beats the catalogue; a logged product name finds the catalogue row (exact first, then the longest prefix)
    SELECT
        (SELECT num FROM main.given WHERE key = 'gpu.mem_bw_gb_s') AS stated,
        (SELECT min(mem_bw_gbs) FROM main.gpu_catalog_match) AS catalogue_lo,
        (SELECT max(mem_bw_gbs) FROM main.gpu_catalog_match) AS catalogue_hi,
        -- dense arithmetic: bf16 of the catalogue at the low end; 8-bit and 4-bit paths reach up to eight times that figure
        (SELECT min(bf16_dense_tflops) FROM main.gpu_catalog_match) AS peak_lo, (SELECT 8 * max(bf16_dense_tflops) FROM main.gpu_catalog_match) AS peak_hi,
        (SELECT min(pcie_gen) FROM main.gpu_catalog_match) AS pcie_gen, (SELECT min(pcie_width) FROM main.gpu_catalog_match) AS pcie_width,
        (SELECT min(nvlink_gbs_bidir_per_gpu) FROM main.gpu_catalog_match) AS nvlink_gbs
), split AS (
    SELECT scope_id, any_value(value) AS split, any_value(origin) AS origin FROM main.config_in_scope WHERE key = 'split' GROUP BY scope_id
), per_scope AS (
    SELECT
        sc.scope_id, m.*, s.split,
        coalesce((SELECT num FROM main.given WHERE key = 'gpu.count'), c.seen, e.seen) AS cards,
        coalesce(b.stated, b.catalogue_lo) AS bw_one_lo, coalesce(b.stated, b.catalogue_hi) AS bw_one_hi,
        CASE WHEN b.stated IS NOT NULL THEN 'given' WHEN b.catalogue_lo IS NOT NULL THEN 'catalogue' END AS bw_origin,
        b.peak_lo, b.peak_hi, b.pcie_gen, b.pcie_width, b.nvlink_gbs
    FROM main.scopes sc CROSS JOIN main.model_facts m CROSS JOIN bandwidth b CROSS JOIN everywhere e
    LEFT JOIN cards c USING (scope_id) LEFT JOIN split s USING (scope_id)
), parts AS (
    SELECT
        *,
        active_b * 1e9 * bpw / 8 AS naive_bytes,
        coalesce(routed_active_b, CASE WHEN dense THEN 0 END) AS routed_b,
        CASE WHEN dense THEN active_b ELSE coalesce(nonrouted_active_b, active_b - routed_active_b) END AS nonrouted_b,
        -- bits that the file leaves for the experts if everything else is kept at 16 bit
        CASE WHEN routed_total_b > 0 THEN greatest(0, file_bytes - (total_b - routed_total_b) * 2e9) * 8 / (routed_total_b * 1e9) END AS expert_bits
    FROM per_scope
)
SELECT
    scope_id, split, cards, bw_one_lo, bw_one_hi, bw_origin,
    CASE WHEN split IN ('layer', 'pipeline', 'none') THEN bw_one_lo WHEN split IN ('tensor', 'data') THEN bw_one_lo * cards ELSE bw_one_lo END AS bw_lo,
    CASE WHEN split IN ('layer', 'pipeline', 'none') THEN bw_one_hi ELSE bw_one_hi * cards END AS bw_hi,
    least(naive_bytes, file_bytes) AS pass_bytes_lo,
    CASE
        WHEN dense THEN file_bytes
        WHEN routed_b IS NOT NULL THEN least(file_bytes, nonrouted_b * 2e9 + routed_b * 1e9 * expert_bits / 8)
        ELSE least(file_bytes, active_b * 2e9)
    END AS pass_bytes_hi,
    CASE WHEN dense THEN file_bytes ELSE nonrouted_b * 2e9 END AS fixed_bytes_hi,
    CASE WHEN dense THEN 0 ELSE routed_b * 1e9 * expert_bits / 8 END AS expert_bytes_one_hi,
    experts, experts_per_token, dense, file_bytes, total_b, active_b, bpw, layers, hidden,
    -- unknown KV layout: one and a half times full multi-head attention at 16 bit
    coalesce(kv_bytes_per_token, 3 * layers * hidden * 2) AS kv_bytes_per_token_hi,
    kv_bytes_per_token IS NOT NULL AS kv_known,
    -- arithmetic of the cards that work at the same time
    CASE WHEN split IN ('layer', 'pipeline', 'none') THEN peak_lo WHEN split IN ('tensor', 'data') THEN peak_lo * cards ELSE peak_lo END AS peak_lo,
    CASE WHEN split IN ('layer', 'pipeline', 'none') THEN peak_hi ELSE peak_hi * cards END AS peak_hi,
    pcie_gen, pcie_width, nvlink_gbs,
    origin AS model_origin, given AS model_given, ev AS model_ev, catalogue_source
FROM parts
