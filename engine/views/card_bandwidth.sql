-- The memory bandwidth of one card, per scope, as an interval. The memory clock under load, twice a cycle over the width of the bus, beats
-- the catalogue, which still bounds the low end; a stated bandwidth holds as far as that clock allows it. A clock is used only on
-- products whose row this formula reproduces, and only if the card worked: an idle one is clocked down. A clock of a time that no load
-- is known for only widens.
WITH stated AS (
    SELECT any_value(num) AS gb_s FROM main.given WHERE key = 'gpu.mem_bw_gb_s'
), catalogue AS (
    -- one slice of a card in multi-instance mode has a part of the bandwidth, and nothing tells which
    SELECT scope_id, CASE WHEN NOT sliced THEN lo END AS lo, CASE WHEN NOT sliced THEN hi END AS hi FROM (
        SELECT scope_id, min(mem_bw_gbs) AS lo, max(mem_bw_gbs) AS hi, coalesce((SELECT bool_or(mig) FROM main.gpus), FALSE) AS sliced FROM main.scope_cards GROUP BY scope_id
    )
), products AS (
    SELECT DISTINCT bare, max_mem_clock_mhz_nvsmi AS top_mhz, mem_bus_bits / 4000 AS gb_s_per_mhz
    FROM main.gpu_catalog_match WHERE abs(max_mem_clock_mhz_nvsmi * mem_bus_bits / 4000 / mem_bw_gbs - 1) <= 0.03
), names AS (
    SELECT source_id, host, gpu, min(trim(name)) AS bare FROM main.gpus WHERE name IS NOT NULL GROUP BY ALL
), busy AS (
    SELECT scope_id, placed IN ('given', 'clock') AS sure, source_id, host, gpu, mem_clock, line FROM main.samples_in_load
    WHERE mem_clock > 0 AND (util_gpu > 5 OR (util_gpu IS NULL AND placed IN ('given', 'clock')))
), readings AS (
    -- a tenth of the readings of a load may be of a card on its way up or down
    SELECT
        scope_id, sure, source_id, host, gpu, max(mem_clock) AS hi, min(line) AS line,
        coalesce(quantile_disc(mem_clock, 0.1) FILTER (sure), quantile_disc(mem_clock, 0.5)) AS lo
    FROM busy GROUP BY scope_id, sure, source_id, host, gpu
), clocked AS (
    SELECT
        r.scope_id, r.sure, round(min(r.lo * p.gb_s_per_mhz)) AS lo, round(max(r.hi * p.gb_s_per_mhz)) AS hi,
        min({'source_id': r.source_id, 'line': r.line}, 1) AS ev
    FROM readings r
    LEFT JOIN names n ON n.source_id = r.source_id AND n.gpu = r.gpu AND n.host IS NOT DISTINCT FROM r.host
    -- a clock far above the product's highest is printed in another convention
    JOIN products p ON (n.bare IS NULL OR n.bare = p.bare) AND r.hi <= 1.25 * p.top_mhz
    GROUP BY r.scope_id, r.sure
), anywhere AS (
    SELECT min(lo) AS lo, max(hi) AS hi FROM clocked
)
SELECT
    sc.scope_id,
    CASE WHEN coalesce(s.gb_s, k.lo) IS NOT NULL THEN least(coalesce(s.gb_s, k.lo), coalesce(c.lo, a.lo)) END AS one_lo,
    CASE WHEN s.gb_s IS NOT NULL THEN least(s.gb_s, c.hi) WHEN k.hi IS NOT NULL THEN coalesce(c.hi, greatest(k.hi, a.hi)) END AS one_hi,
    CASE WHEN s.gb_s IS NOT NULL THEN 'given' WHEN k.hi IS NULL THEN NULL WHEN c.hi IS NOT NULL THEN 'logged' ELSE 'catalogue' END AS origin,
    c.ev
FROM main.scopes sc CROSS JOIN stated s CROSS JOIN anywhere a
LEFT JOIN catalogue k USING (scope_id)
LEFT JOIN (FROM clocked WHERE sure) c USING (scope_id)
