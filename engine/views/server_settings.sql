-- Settings of servers, with what other files say about them. vLLM's default number of sequences depends on the card: 1024 from 70 GiB on,
-- except on an A100, else 256; a log that does not name its card leaves both, and the cards recorded beside it decide.
WITH cards AS (
    SELECT
        CASE
            WHEN max(memory_mib) < 70 * 1024 THEN 'low'
            WHEN min(memory_mib) >= 70 * 1024 AND count(name) = count(*) AND NOT bool_or(lower(name) LIKE '%a100%') THEN 'high'
            WHEN min(memory_mib) >= 70 * 1024 AND bool_and(lower(name) LIKE '%a100%') THEN 'low'
        END AS which
    FROM (SELECT max(memory_mib) AS memory_mib, min(name) AS name FROM main.gpus GROUP BY host, gpu) HAVING count(memory_mib) = count(*)
), either AS (
    SELECT c.*, server = 'vllm' AND key IN ('slots', 'slots_per_engine') AND c.origin = 'default' AND num_hi = 4 * num AS open FROM main.server_config c
)
SELECT
    e.* EXCLUDE (open) REPLACE (
        CASE WHEN open AND k.which = 'high' THEN num_hi ELSE num END AS num,
        CASE WHEN open AND k.which IS NOT NULL THEN NULL ELSE num_hi END AS num_hi
    )
FROM either e LEFT JOIN cards k ON TRUE
