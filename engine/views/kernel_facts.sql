-- What the kernel intervals of a scope say, one row per scope.
--   overlap     time in which two or more cards compute at once, as a share: of the time the cards beside the busiest one compute (high
--               end), of the time any card computes, by as many cards as there are (low end). Collectives do not count: a stage that
--               waits in a receive kernel is no work. Inside one recording only; a device number of two processes is no card
--   idle        gaps of up to 100 ms in which nothing is recorded (kernels, graphs, copies), over these gaps and the busy time: on all
--               cards of one recording together, on the card with the shortest and with the longest gaps. Longer ones lie between requests
--   collective  the sum over collectives of the shortest rank's time, over the same: the rest of each is waiting for another rank.
--               A collective counts where all ranks are in it at once; a DOUBLE holds UTC to a quarter of a microsecond, taken off
--   exposed     the time in collectives with nothing else on the card, over the same, on the rank with the least
-- Times are whole nanoseconds, and every lane (a rank, or all of a recording) starts 1e15 later than the one before it: one sort
-- and one running maximum then serve all lanes. Partitions would take minutes on millions of kernels.
WITH every AS MATERIALIZED (
    FROM main.kernels_in_scope
), speaking AS (
    -- decode alone where the server tells it apart
    SELECT scope_id, count(*) FILTER (phase = 'decode') > 0 AS cut FROM every GROUP BY scope_id
), lanes AS MATERIALIZED (
    SELECT *, row_number() OVER (ORDER BY scope_id, source_id, rank_of) AS lane, dense_rank() OVER (ORDER BY scope_id, source_id) AS recording
    FROM (
        SELECT scope_id, source_id, rank_of, min(gpu) AS gpu, min(min(started_t)) OVER (PARTITION BY scope_id, source_id) AS zero
        FROM every GROUP BY scope_id, source_id, rank_of
    ) QUALIFY row_number() OVER (ORDER BY scope_id, source_id, rank_of) <= 9000
), chosen AS MATERIALIZED (
    SELECT
        l.lane, l.recording, k.scope_id, k.piece, k.gpu, k.kind, k.started_at,
        ((k.started_t - l.zero) * 1e9)::BIGINT AS s, ((k.finished_t - l.zero) * 1e9)::BIGINT AS e
    FROM every k JOIN lanes l USING (scope_id, source_id, rank_of) JOIN speaking c USING (scope_id)
    WHERE (NOT c.cut OR k.phase = 'decode') AND k.finished_t - l.zero < 9e5
), told AS (
    SELECT
        scope_id, count(*) AS kernels, bool_and(placed IN ('given', 'clock')) AS placed, bool_or(placed = 'estimated') AS estimated,
        bool_and(phase IS NOT DISTINCT FROM 'decode') AS decode, bool_and(lone) AS lone, count(DISTINCT source_id) AS recordings,
        count(*) FILTER (kind = 'graph') AS graphs, count(DISTINCT floor(started_t * 20)) AS windows,
        -- which card is meant is unknown: no number, or (below) one number in two processes
        bool_or(gpu IS NULL) AS nameless, min({'source_id': source_id, 'line': line}, 2) AS ev
    FROM every k JOIN speaking c USING (scope_id) WHERE NOT c.cut OR k.phase = 'decode' GROUP BY scope_id
), devices AS (
    SELECT scope_id, source_id, recording, count(*) = count(DISTINCT gpu) AS named FROM lanes GROUP BY ALL
), on_ranks AS (
    SELECT
        lane, s, e, kind, lag(piece) OVER (ORDER BY lane * 1000000000000000 + s) = piece AS goes_on,
        lane * 1000000000000000 + s AS x, lane * 1000000000000000 + e AS x_end, max(lane * 1000000000000000 + e) OVER w AS so_far,
        max(CASE WHEN kind <> 'collective' THEN lane * 1000000000000000 + e END) OVER w AS other_so_far,
        max(CASE WHEN kind IN ('kernel', 'graph') THEN lane * 1000000000000000 + e END) OVER w AS work_so_far
    FROM chosen WINDOW w AS (ORDER BY lane * 1000000000000000 + s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), ranks AS MATERIALIZED (
    SELECT
        lane, sum(greatest(0, x_end - greatest(x, coalesce(so_far, x)))) / 1e9 AS busy_s,
        coalesce(sum(greatest(0, x_end - greatest(x, coalesce(other_so_far, x)))) FILTER (kind <> 'collective'), 0) / 1e9 AS other_s,
        coalesce(sum(greatest(0, x_end - greatest(x, coalesce(work_so_far, x)))) FILTER (kind IN ('kernel', 'graph')), 0) / 1e9 AS work_s,
        coalesce(sum(e - s) FILTER (kind = 'collective'), 0) / 1e9 AS in_collectives_s,
        coalesce(sum(x - so_far) FILTER (goes_on AND x > so_far AND x <= so_far + 100000000), 0) / 1e9 AS gaps_s
    FROM on_ranks GROUP BY lane
), per_scope AS (
    SELECT
        scope_id, count(*) AS ranks, max(gaps_s / nullif(gaps_s + busy_s, 0)) AS idle_most, min(gaps_s / nullif(gaps_s + busy_s, 0)) AS idle_least,
        max(in_collectives_s / nullif(in_collectives_s + other_s, 0)) AS collective_most,
        min((busy_s - other_s) / nullif(gaps_s + busy_s, 0)) AS exposed_share, max(gaps_s + busy_s) AS span_s
    FROM ranks JOIN lanes USING (lane) GROUP BY scope_id
), in_recording AS (
    SELECT
        recording, kind, lag(piece) OVER (ORDER BY recording * 1000000000000000 + s) = piece AS goes_on,
        recording * 1000000000000000 + s AS x, recording * 1000000000000000 + e AS x_end, max(recording * 1000000000000000 + e) OVER w AS so_far,
        max(CASE WHEN kind IN ('kernel', 'graph') THEN recording * 1000000000000000 + e END) OVER w AS work_so_far
    FROM chosen WINDOW w AS (ORDER BY recording * 1000000000000000 + s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), together AS MATERIALIZED (
    SELECT
        recording, sum(greatest(0, x_end - greatest(x, coalesce(so_far, x)))) / 1e9 AS busy_s,
        coalesce(sum(x - so_far) FILTER (goes_on AND x > so_far AND x <= so_far + 100000000), 0) / 1e9 AS gaps_s,
        coalesce(sum(greatest(0, x_end - greatest(x, coalesce(work_so_far, x)))) FILTER (kind IN ('kernel', 'graph')), 0) / 1e9 AS any_s
    FROM in_recording GROUP BY recording
), changes AS (
    SELECT recording, count(*) FILTER (gpu <> gpu_before) AS turns FROM (
        SELECT recording, gpu, lag(gpu) OVER (PARTITION BY recording ORDER BY s) AS gpu_before FROM chosen WHERE kind IN ('kernel', 'graph')
    ) GROUP BY recording
), works AS (
    SELECT recording, sum(work_s) AS sum_s, max(work_s) AS most_s, min(work_s) AS least_s, count(*) AS cards
    FROM ranks JOIN lanes USING (lane) WHERE work_s > 0 GROUP BY recording
), at_once AS (
    -- the recording with the most cards
    SELECT
        d.scope_id, k.cards, h.turns, k.least_s / t.any_s AS card_least,
        greatest(0, k.sum_s - t.any_s) / ((k.cards - 1) * t.any_s) AS overlap_lo, greatest(0, k.sum_s - t.any_s) / (k.sum_s - k.most_s) AS overlap_hi
    FROM works k JOIN together t USING (recording) JOIN devices d USING (recording) JOIN changes h USING (recording)
    WHERE k.cards >= 2 AND d.named AND t.any_s > 0 AND k.sum_s > k.most_s
    QUALIFY row_number() OVER (PARTITION BY d.scope_id ORDER BY k.cards DESC, t.any_s DESC, recording) = 1
), collectives AS MATERIALIZED (
    -- ranks of several recordings meet on the common axis
    SELECT c.scope_id, c.lane, coalesce(c.started_at, l.zero + c.s / 1e9) AS began, coalesce(c.started_at, l.zero + c.s / 1e9) + (c.e - c.s) / 1e9 AS ended
    FROM chosen c JOIN lanes l USING (lane) WHERE c.kind = 'collective'
), reference AS (
    SELECT scope_id, lane FROM collectives GROUP BY scope_id, lane
    QUALIFY row_number() OVER (PARTITION BY scope_id ORDER BY count(*) DESC, lane) = 1
), others AS (
    SELECT DISTINCT c.scope_id, c.lane AS other FROM collectives c ANTI JOIN reference r USING (scope_id, lane)
), asked AS (
    SELECT c.scope_id, c.began, c.ended, o.other FROM collectives c JOIN reference r USING (scope_id, lane) JOIN others o USING (scope_id)
), met AS (
    -- the last collective of the other rank that began before this one ended: the same one if it had not ended before this one began
    SELECT a.scope_id, a.began, a.ended - a.began AS own_s, CASE WHEN c.ended > a.began THEN c.ended - c.began END AS other_s
    FROM asked a ASOF LEFT JOIN (FROM collectives ORDER BY began) c ON a.scope_id = c.scope_id AND a.other = c.lane AND a.ended > c.began
), shortest AS (
    SELECT scope_id, began, CASE WHEN count(other_s) = count(*) THEN least(min(own_s), min(other_s)) END AS least_s FROM met GROUP BY scope_id, began
), shared AS (
    SELECT scope_id, count(*) AS collectives, count(least_s) AS met_by_all, sum(greatest(0, least_s - 2.5e-7)) AS shortest_s FROM shortest GROUP BY scope_id
), summed AS (
    SELECT d.scope_id, bool_and(d.named) AS named, sum(t.gaps_s) / nullif(sum(t.gaps_s + t.busy_s), 0) AS idle_all
    FROM devices d JOIN together t USING (recording) GROUP BY d.scope_id
)
SELECT
    t.*, p.ranks, p.span_s, n.named AND NOT t.nameless AS devices_known, o.cards, CASE WHEN NOT t.nameless THEN o.turns END AS turns, o.card_least,
    -- what a launch of a whole graph hides: it may hold less work than it lasts
    CASE WHEN NOT t.nameless AND t.graphs = 0 THEN o.overlap_lo END AS overlap_lo, CASE WHEN NOT t.nameless THEN o.overlap_hi END AS overlap_hi,
    CASE WHEN t.recordings = 1 THEN n.idle_all END AS idle_all, p.idle_least, p.idle_most,
    p.collective_most, p.exposed_share, s.collectives, s.met_by_all, s.shortest_s / nullif(p.span_s, 0) AS collective_share
FROM told t JOIN per_scope p USING (scope_id) JOIN summed n USING (scope_id) LEFT JOIN at_once o USING (scope_id) LEFT JOIN shared s USING (scope_id)
