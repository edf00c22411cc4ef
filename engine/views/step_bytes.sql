-- Bytes that one decode step moves, per scope, as an interval: one pass over the weights (with the experts that the batch can touch at
-- the high end) and the KV cache at its least bound.
WITH sequences AS (
    -- the longest sequence bounds the KV cache: logged, else given, else what a slot can hold
    SELECT
        p.*, f.* EXCLUDE (scope_id),
        coalesce(p.longest, g.num, c.num_hi) AS sequence_tokens,
        CASE WHEN p.longest IS NOT NULL THEN 'longest logged sequence' WHEN g.num IS NOT NULL THEN 'given ctx_max' ELSE 'context of a slot' END AS sequence_from
    FROM main.pace p JOIN main.roofs f USING (scope_id)
    LEFT JOIN (SELECT num FROM main.given WHERE key = 'ctx_max') g ON TRUE
    LEFT JOIN main.config_in_scope c ON c.scope_id = p.scope_id AND c.key = 'n_ctx_slot'
), pool AS (
    SELECT scope_id, num_hi AS kv_tokens FROM main.config_in_scope WHERE key = 'kv_tokens'
), free_memory AS (
    -- what the cards have beside the weights bounds the cache too
    SELECT coalesce(
        (SELECT max(memory_mib) * 1048576 FROM main.gpus WHERE memory_mib > 0), (SELECT max(memory_gib) * 1073741824 FROM main.gpu_catalog_match)
    ) AS card_bytes
), bytes AS (
    SELECT
        s.*,
        least(file_bytes, coalesce(
            -- distinct experts of a batch under uniform routing: the most that B tokens can touch
            fixed_bytes_hi + expert_bytes_one_hi * CASE WHEN dense OR experts IS NULL THEN 1
                ELSE experts * (1 - power(1 - experts_per_token / experts, batch_lo)) / experts_per_token END,
            CASE WHEN batch_hi = 1 THEN pass_bytes_hi ELSE file_bytes END
        )) AS step_bytes_hi,
        -- the cache that one pass reads at one card's bandwidth: all of it for a serial split, one rank's for a tensor split, where every
        -- rank may hold all of it (latent attention) but no more than its card has left
        least(
            batch_hi * sequence_tokens * kv_bytes_per_token_hi, kv_usage * k.kv_tokens * kv_bytes_per_token_hi,
            CASE WHEN split = 'tensor' THEN CASE WHEN m.card_bytes > file_bytes / cards THEN m.card_bytes - file_bytes / cards END
                 WHEN m.card_bytes * cards > file_bytes THEN m.card_bytes * cards - file_bytes END
        ) AS kv_bytes_hi
    FROM sequences s LEFT JOIN pool k USING (scope_id) CROSS JOIN free_memory m
)
FROM bytes
