-- What the link between the cards has to carry, per scope. A serial split hands over the hidden state of the batch N-1 times per step
-- (up to four streams of 4 bytes); a tensor split reduces 2 L times per step, 2 (N-1)/N of the hidden state of every computed token.
--   copies      measured rate if stated, else 0.8 x generation x lanes as recorded under load; not recorded: from one Gen1 lane to what
--               the card could have
--   latency     2 L collectives per step at the latency of this topology and message size
--   collectives at least 1 GB/s unless measured, at most the copy rate; NVLink 50 GB/s to 0.8 of one direction
WITH seen AS (
    SELECT
        scope_id, max(pcie_gen) AS gen, max(pcie_width) AS width,
        -- memory that runs this fast is on cards with bridges between pairs at most: no card without a name is one with a switch
        coalesce(max(mem_clock) >= 5000 AND (SELECT max(coalesce(nvlink_gbs_bidir_per_gpu, 0)) FROM main.catalog_gpus WHERE max_mem_clock_mhz_nvsmi >= 0.95 * max(l.mem_clock)) < 200, FALSE) AS no_switch
    FROM main.samples_in_load l GROUP BY scope_id
), rates AS (
    SELECT
        p.*, t.tok_s_lo, t.tok_s_hi, t.counts, f.split, CASE WHEN f.split = 'data' THEN f.cards_lo * f.copies_lo ELSE f.cards_lo END AS cards_lo, CASE WHEN f.split = 'data' THEN f.cards_hi * f.copies_hi ELSE f.cards_hi END AS cards, f.layers, f.hidden, f.nvlink_gbs,
        (SELECT num FROM main.given WHERE key = 'link.gb_s') AS stated_gb_s,
        s.width IS NOT NULL AND s.gen IS NOT NULL AS link_recorded,
        0.8 * coalesce(s.width, f.pcie_width) * CASE coalesce(s.gen, f.pcie_gen) WHEN 1 THEN 0.25 WHEN 2 THEN 0.5 WHEN 3 THEN 0.985 WHEN 4 THEN 1.97 WHEN 5 THEN 3.94 WHEN 6 THEN 7.56 END AS wire_gb_s,
        -- the catalogue counts both directions; bridges that may be absent are below 200, and tie no more than four cards
        CASE WHEN f.nvlink_gbs >= 200 THEN TRUE WHEN f.nvlink_gbs = 0 THEN FALSE WHEN (f.nvlink_gbs > 0 OR s.no_switch) AND f.cards_lo > 4 THEN FALSE END AS nvlink
    FROM main.pace p JOIN main.computed_tokens t USING (scope_id) JOIN main.roofs f USING (scope_id) LEFT JOIN seen s USING (scope_id)
), paths AS (
    SELECT
        *,
        coalesce(stated_gb_s, wire_gb_s) AS copy_gb_s, coalesce(stated_gb_s, CASE WHEN link_recorded THEN wire_gb_s END, 0.2) AS copy_lo_gb_s,
        CASE WHEN nvlink THEN 50 ELSE 1 END AS collective_lo_gb_s,
        CASE WHEN nvlink IS DISTINCT FROM FALSE AND nvlink_gbs > 0 THEN greatest(0.8 * nvlink_gbs / 2, coalesce(stated_gb_s, wire_gb_s, 0)) ELSE coalesce(stated_gb_s, wire_gb_s) END AS collective_hi_gb_s,
        2 * layers * hidden * 2 * 2 * (cards_lo - 1) / cards_lo AS reduce_bytes_lo, 2 * layers * hidden * 2 * 2 * (cards - 1) / cards AS reduce_bytes_per_token,
        batch_hi * hidden * 4 * 4 AS hop_bytes_hi, batch_lo * hidden * 2 AS hop_bytes_lo
    FROM rates
), sized AS (
    SELECT *, 2 * layers AS collectives, batch_lo * hidden * 2 AS message_lo, batch_hi * hidden * 2 AS message_hi FROM paths
), priced AS (
    SELECT
        *,
        -- microseconds of one collective. NVLink 8..40. PCIe, up to four cards: 4 (one-shot kernel) .. 30 to 8 KB, 100 to 128 KB.
        -- More than four PCIe cards: measured 45 at 4 KB to 344 at 64 KB at the low end; 100 to 8 KB, 400 to 64 KB at the high end.
        -- Beyond the sizes that are known: the bytes at 1 GB/s.
        CASE
            WHEN split <> 'tensor' THEN NULL WHEN nvlink THEN 8 WHEN nvlink IS NULL OR cards_lo <= 4 THEN 4
            WHEN message_lo IS NULL OR message_lo <= 4096 THEN 45 -- of unknown size: it may be small
            ELSE 45 + (344 - 45) * least(1, (message_lo - 4096) / (65536 - 4096))
        END AS latency_us_lo,
        CASE
            WHEN split <> 'tensor' OR message_hi IS NULL THEN NULL WHEN nvlink THEN 40 WHEN message_hi <= 8192 THEN 100 WHEN message_hi <= 65536 THEN 400
            ELSE greatest(400, message_hi / 1e9 * 1e6)
        END AS latency_us_hi
    FROM sized
)
SELECT
    scope_id, split, cards, layers, hidden, nvlink, stated_gb_s, copy_gb_s, collective_lo_gb_s, collective_hi_gb_s, reduce_bytes_per_token, hop_bytes_hi,
    steps_lo, steps_hi, batch_lo, batch_hi, collectives, message_lo, message_hi, latency_us_lo, latency_us_hi,
    collectives * latency_us_lo * 1e-6 * steps_lo AS latency_share_lo, collectives * latency_us_hi * 1e-6 * steps_hi AS latency_share_hi,
    reduce_bytes_lo * tok_s_lo / 1e9 AS demand_lo_gb_s, reduce_bytes_per_token * tok_s_hi / 1e9 AS demand_hi_gb_s, counts,
    CASE split
        WHEN 'layer' THEN (cards_lo - 1) * hop_bytes_lo / (copy_gb_s * 1e9) * steps_lo
        WHEN 'tensor' THEN reduce_bytes_lo * coalesce(tok_s_lo, steps_lo * batch_lo) / 1e9 / collective_hi_gb_s
    END AS share_lo,
    CASE split
        WHEN 'layer' THEN (cards - 1) * hop_bytes_hi / (copy_lo_gb_s * 1e9) * steps_hi
        WHEN 'tensor' THEN reduce_bytes_per_token * coalesce(tok_s_hi, steps_hi * batch_hi) / 1e9 / collective_lo_gb_s
    END AS share_hi,
    ev
FROM priced
