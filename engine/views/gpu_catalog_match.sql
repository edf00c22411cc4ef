-- Cards named in the files or given, with their catalogue row: the exact name first, then the longest prefix; memory decides variants.
WITH cards AS (
    SELECT DISTINCT regexp_replace(trim(name), '^NVIDIA ', '') AS bare, memory_mib FROM main.gpus WHERE name IS NOT NULL
    UNION
    SELECT regexp_replace(trim(value), '^NVIDIA ', ''), NULL FROM main.given WHERE key = 'gpu.name'
), candidates AS (
    SELECT
        c.bare, g.*, row_number() OVER (
            PARTITION BY c.bare, c.memory_mib
            ORDER BY regexp_replace(g.name_pattern, '^NVIDIA ', '') = c.bare DESC, length(g.name_pattern) DESC,
                abs(coalesce(c.memory_mib / 1024, g.memory_gib) - g.memory_gib), g.mem_bw_gbs
        ) AS rank
    FROM cards c
    JOIN main.catalog_gpus g
        ON c.bare = regexp_replace(g.name_pattern, '^NVIDIA ', '')
        OR starts_with(c.bare, regexp_replace(g.name_pattern, '^NVIDIA ', '') || ' ')
)
SELECT * EXCLUDE (rank) FROM candidates WHERE rank = 1
