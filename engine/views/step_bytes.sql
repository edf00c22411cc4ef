-- Bytes that one decode step moves, per scope, as an interval: one pass over the weights (with the experts that the batch can touch at
-- the high end) and the KV cache at its least bound. `mbu` is the share of the bandwidth that this many steps of it need.
WITH sequences AS (
    -- the longest sequence bounds the KV cache: logged (or the test's own length), else given, else what a slot can hold
    SELECT
        p.*, f.* EXCLUDE (scope_id),
        coalesce(p.longest, g.num, c.num_hi) AS sequence_tokens,
        CASE WHEN p.fixed_test AND p.longest IS NOT NULL THEN 'length of the test' WHEN p.longest IS NOT NULL THEN 'longest logged sequence' WHEN g.num IS NOT NULL THEN 'given ctx_max' ELSE 'context of a slot' END AS sequence_from
    FROM main.pace p JOIN main.roofs f USING (scope_id)
    LEFT JOIN (SELECT num FROM main.given WHERE key = 'ctx_max') g ON TRUE
    LEFT JOIN main.config_in_scope c ON c.scope_id = p.scope_id AND c.key = 'n_ctx_slot'
), pool AS (
    SELECT scope_id, num_hi AS kv_tokens FROM main.config_in_scope WHERE key = 'kv_tokens'
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
            -- what the cards have beside the weights bounds the cache too
            CASE WHEN split = 'tensor' THEN CASE WHEN card_bytes > file_bytes / cards_hi THEN card_bytes - file_bytes / cards_hi END
                 WHEN card_bytes * cards_hi > file_bytes THEN card_bytes * cards_hi - file_bytes END
        ) AS kv_bytes_hi
    FROM sequences s LEFT JOIN pool k USING (scope_id)
)
SELECT
    *, steps_lo * pass_bytes_lo / (bw_hi * 1e9) AS mbu_lo, steps_hi * (step_bytes_hi / bw_lo + kv_bytes_hi / bw_one_lo) / 1e9 AS mbu_hi
FROM bytes
