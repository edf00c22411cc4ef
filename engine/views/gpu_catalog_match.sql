-- Cards named in the files or given, with their catalogue row: the exact name first, then the longest that begins it; memory decides
-- between cards of one name, and where it is not known all of them stand. None where several machines serve and the cards of one of
-- them are not named: they are perhaps others.
WITH named AS (
    SELECT DISTINCT trim(name) AS bare, memory_mib FROM main.gpus
    WHERE name IS NOT NULL AND NOT EXISTS (SELECT host FROM main.host_windows EXCEPT SELECT host FROM main.gpus WHERE name IS NOT NULL)
    UNION
    SELECT trim(value), NULL FROM main.given WHERE key = 'gpu.name'
), cards AS (
    SELECT * FROM named QUALIFY memory_mib IS NOT NULL OR max(memory_mib) OVER (PARTITION BY gpu_key(bare)) IS NULL
), candidates AS (
    SELECT
        c.bare, g.*, rank() OVER (
            PARTITION BY c.bare, c.memory_mib
            ORDER BY length(gpu_key(g.name_pattern)) DESC, abs(c.memory_mib / 1024 - g.memory_gib)
        ) AS rank
    FROM cards c JOIN main.catalog_gpus g ON gpu_fits(c.bare, g.name_pattern)
)
SELECT * EXCLUDE (rank) FROM candidates WHERE rank = 1
