-- How many cards the model runs on, per scope, as far as a log or the user tells: device buffers, ranks of the parallel split, a split over
-- nothing, a stated number. The low end leaves out data-parallel copies, which may share their cards.
WITH told AS (
    SELECT
        scope_id,
        min(num_lo) FILTER (key = 'split_devices') AS buffers_lo, max(num_hi) FILTER (key = 'split_devices') AS buffers_hi,
        min(num_lo) FILTER (key = 'tensor_parallel') AS tp_lo, max(num_hi) FILTER (key = 'tensor_parallel') AS tp_hi,
        min(num_lo) FILTER (key = 'pipeline_parallel') AS pp_lo, max(num_hi) FILTER (key = 'pipeline_parallel') AS pp_hi,
        max(num_hi) FILTER (key = 'data_parallel') AS dp_hi,
        min(value) FILTER (key = 'split') AS split, max(num_hi) FILTER (key = 'gpu.count') AS stated
    FROM main.config_in_scope GROUP BY scope_id
)
SELECT
    scope_id,
    coalesce(buffers_lo, tp_lo * coalesce(pp_lo, 1), stated, CASE WHEN split = 'none' THEN 1 END) AS devices_lo,
    coalesce(buffers_hi, tp_hi * coalesce(pp_hi, 1) * coalesce(dp_hi, 1), stated, CASE WHEN split = 'none' THEN 1 END) AS devices_hi
FROM told
