-- The grade of every input in every scope: computed here and nowhere else. An input without a row is absent.
--   1 too few independent windows, 2 not placed in load, 3 placed in load or the totals of the run, 4 known bytes or counters
WITH polls AS (
    SELECT
        scope_id, bool_and(placed IN ('given', 'clock')) AS placed, bool_or(placed = 'estimated') AS estimated, bool_or(placed = 'given') AS vouched,
        count(DISTINCT (source_id, cycle)) FILTER (coalesce(util_gpu, sm_active, dram_active, tensor_active) IS NOT NULL) AS util_n,
        -- hardware counters average over the whole interval
        count(DISTINCT (source_id, cycle)) FILTER (coalesce(sm_active, dram_active, tensor_active) IS NOT NULL) AS counter_n,
        count(DISTINCT (source_id, cycle)) FILTER (coalesce(nvlink_rx, nvlink_tx, CASE WHEN coalesce(pcie_averaged, pcie_probe_s > 0.02) THEN coalesce(pcie_rx, pcie_tx) END) IS NOT NULL) AS link_counter_n,
        count(DISTINCT (source_id, cycle)) FILTER (power_w IS NOT NULL) AS power_n,
        count(DISTINCT (source_id, cycle)) FILTER (coalesce(pcie_rx, pcie_tx, nvlink_rx, nvlink_tx) IS NOT NULL) AS link_n,
        max(t) - min(t) AS span_s, median(window_s) AS window_s
    FROM main.samples_in_load GROUP BY scope_id
), loaded AS (
    SELECT scope_id, sum(ended - began) AS loaded_s FROM main.scope_windows GROUP BY scope_id
), windows AS (
    -- n_eff = min(polls, time in load / driver window); the window is at most 1 s and taken as 1 s where unknown; without times a
    -- dmon round is at least 1 s long
    SELECT
        scope_id, placed, estimated,
        least(util_n, coalesce(in_load_s / greatest(coalesce(window_s, 1), 0.001), util_n)) AS util_eff,
        least(power_n, coalesce(in_load_s, power_n)) AS power_eff, link_n, counter_n, link_counter_n
    FROM (
        -- where the user vouches for the source, the time in load is its own span
        SELECT p.*, CASE WHEN p.vouched OR l.loaded_s IS NULL THEN p.span_s + 1 ELSE least(p.span_s + 1, l.loaded_s) END AS in_load_s
        FROM polls p LEFT JOIN loaded l USING (scope_id)
    )
), gpu_inputs AS (
    SELECT scope_id, 'util' AS input, util_eff AS n_eff, placed, estimated, 10 AS needed, counter_n >= 10 AS counters FROM windows WHERE util_eff > 0
    UNION ALL SELECT scope_id, 'power', power_eff, placed, estimated, 10, FALSE FROM windows WHERE power_eff > 0
    UNION ALL SELECT scope_id, 'link', link_n, placed, estimated, 30, link_counter_n >= 30 FROM windows WHERE link_n > 0
), processes AS (
    -- a list of processes alone is a sample of the cards as well: each round is an instant
    SELECT scope_id, count(DISTINCT (source_id, cycle)) AS n, bool_and(in_load = 1) AS placed FROM main.processes_in_scope
    WHERE scope_id NOT IN (SELECT scope_id FROM windows WHERE util_eff > 0) GROUP BY scope_id
), gpu_grades AS (
    SELECT
        scope_id, input, n_eff, CASE WHEN n_eff < needed THEN 1 WHEN NOT placed THEN 2 WHEN counters THEN 4 ELSE 3 END AS grade,
        CASE
            WHEN n_eff < needed THEN printf('only %d independent %s sample%s, %d are needed', n_eff::INTEGER, input, CASE WHEN n_eff::INTEGER = 1 THEN '' ELSE 's' END, needed)
            WHEN estimated THEN printf('the clock of the %s samples is only estimated', input)
            WHEN NOT placed THEN printf('nothing shows that the %s samples were taken while requests ran', input)
            ELSE printf('%d independent %s samples in the load', n_eff::INTEGER, input)
        END AS reason,
        -- what is too short needs a longer recording, not a statement of when it was taken
        CASE WHEN n_eff < needed THEN printf('nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt, started before and stopped after the load, which lasts %d s or more', needed)
            WHEN NOT placed THEN 'nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt, started before and stopped after the load; or state when it was taken: [during] in gpuverdict.toml'
        END AS collect
    FROM gpu_inputs
    UNION ALL
    SELECT scope_id, 'util', n, CASE WHEN NOT placed THEN 2 ELSE 3 END,
        CASE WHEN placed THEN printf('%d lists of processes in the load', n) ELSE 'nothing shows that the lists of processes were taken while requests ran' END,
        CASE WHEN NOT placed THEN 'nvidia-smi pmon -s um -d 1 -o DT > pmon.txt, started before and stopped after the load; or state when it was taken: [during] in gpuverdict.toml' END
    FROM processes
), server AS (
    SELECT scope_id, count(*) AS n FROM (
        SELECT scope_id FROM main.requests_in_scope UNION ALL SELECT scope_id FROM main.server_in_scope UNION ALL SELECT scope_id FROM main.counter_means
    ) GROUP BY scope_id
), client AS (
    -- the stream gate: a buffering proxy or a client that reads in chunks makes token times that are not the server's
    SELECT scope_id, count(*) AS n, median(itl_n) AS arrivals, avg(itl_under_2ms) AS bunched
    FROM main.client_requests_in_scope WHERE origin = 'client' AND first_token_t IS NOT NULL AND finished_t > first_token_t AND status IS DISTINCT FROM 'failed'
    GROUP BY scope_id
), bench AS (
    SELECT scope_id, sum(repeats) AS n FROM main.steps WHERE coalesce(x, x_total, r, wall_s) IS NOT NULL GROUP BY scope_id
), config AS (
    SELECT scope_id, count(*) AS n, max(CASE WHEN origin IN ('logged', 'given', 'default') THEN 3 ELSE 2 END) AS grade
    FROM main.config_in_scope WHERE key IN ('split', 'slots', 'slots_seen', 'server', 'build', 'n_ctx_slot', 'tensor_parallel', 'pipeline_parallel', 'layers_offloaded', 'layers_total',
        'cpu_model_mib', 'memory_on_cpu_share', 'weights_offload_gib', 'n_gpu_layers', 'eager', 'kv_tokens') GROUP BY scope_id
), roof AS (
    -- what cards can do is known where it is known whose cards they are
    SELECT scope_id, coalesce(cards_tied, TRUE) AS tied FROM main.roofs WHERE pass_bytes_lo > 0 AND pass_bytes_hi > 0 AND bw_lo > 0 AND bw_hi > 0
)
SELECT scope_id, input, grade, n_eff, reason, collect FROM gpu_grades
UNION ALL
SELECT scope_id, 'server', 3, n, n || CASE WHEN n = 1 THEN ' request or statistics line of the server' ELSE ' requests or statistics lines of the server' END, NULL FROM server
UNION ALL
SELECT
    scope_id, 'client', CASE WHEN arrivals >= 20 AND bunched <= 0.2 THEN 3 ELSE 2 END, n,
    CASE WHEN arrivals >= 20 AND bunched <= 0.2 THEN printf('token times of %d requests, %.0f arrivals each', n, arrivals)
         WHEN arrivals IS NULL THEN 'nothing says how the tokens of the client''s requests arrived'
         ELSE printf('%.0f arrivals per answer and %.0f %% of the gaps under 2 ms: something buffers', arrivals, 100 * coalesce(bunched, 0)) END,
    CASE WHEN NOT coalesce(arrivals >= 20 AND bunched <= 0.2, FALSE) THEN 'a client that records every token''s arrival (vllm bench serve --save-detailed), without a buffering proxy' END
FROM client
UNION ALL
SELECT scope_id, 'client', 2, count(*), printf('completion times of %d responses, no token times', count(*)),
    'a client that records send, first-token and last-token times (vllm bench serve --save-detailed)'
FROM main.client_requests_in_scope
-- only where nothing better speaks of the scope: beside a server's log or a sweep they add nothing
WHERE origin = 'file' AND finished_t IS NOT NULL
  AND scope_id NOT IN (SELECT scope_id FROM client UNION SELECT scope_id FROM server UNION SELECT scope_id FROM bench)
GROUP BY scope_id HAVING count(*) >= 4
UNION ALL
SELECT scope_id, 'bench', 3, n, 'the totals of ' || n || CASE WHEN n = 1 THEN ' run' ELSE ' runs' END, NULL FROM bench
UNION ALL
SELECT scope_id, 'config', grade, n,
    CASE WHEN grade = 3 THEN 'logged, given or the default of the logged build' ELSE 'nothing ties the log with these settings to this run' END,
    CASE WHEN grade < 3 THEN 'the log of the very server that was measured, from its start' END
FROM config
UNION ALL
SELECT
    scope_id, 'roof', CASE WHEN tied THEN 4 ELSE 2 END, NULL,
    CASE WHEN tied THEN 'bytes and bandwidth are known at both ends' ELSE 'nothing ties the file that names the cards to this run' END,
    CASE WHEN NOT tied THEN 'nvidia-smi --query-gpu=timestamp,index,name,utilization.gpu --format=csv -l 1 > smi.csv   (while the load runs), or state the card: --given gpu.name=...' END
FROM roof
UNION ALL
-- a window of kernel intervals is 50 ms, about a step; ten are needed
SELECT
    scope_id, 'kernels', CASE WHEN windows < 10 THEN 1 WHEN NOT placed THEN 2 ELSE 4 END, windows,
    CASE WHEN windows < 10 THEN printf('only %d windows of 50 ms with kernels, 10 are needed', windows)
         WHEN estimated THEN 'the clock of the kernel trace is only estimated'
         WHEN NOT placed THEN 'nothing shows which requests the kernel trace belongs to'
         ELSE printf('%d kernel intervals in the load', kernels) END,
    CASE WHEN windows < 10 OR NOT placed
        THEN 'a trace of 1 s or more while requests run, with the server''s log beside it; or state when it was taken: [during] in gpuverdict.toml' END
FROM main.kernel_facts
UNION ALL
-- runs that differ in one thing, or one run before and after its clocks were held down
SELECT
    scope_id, 'ab', CASE WHEN bool_or(sure) THEN 5 ELSE 2 END, max(n),
    CASE WHEN bool_or(sure) THEN printf('two arms that differ in one thing, %d measurements each', max(n) FILTER (sure))
         ELSE 'two arms with fewer than three runs each, or whose settings or load are not all known' END,
    CASE WHEN NOT bool_or(sure) THEN 'both runs three times or more with one thing changed, and both servers'' logs from their start' END
FROM (
    SELECT scope_id, sure, repeats AS n FROM main.ab_pairs WHERE factor IS NOT NULL
    UNION ALL SELECT scope_id, coalesce(cache_change <= 0.1, FALSE), least(before_n, after_n) FROM main.throttle_arms
) GROUP BY scope_id
ORDER BY scope_id, input
