"""Do requests wait for a free slot?

What it finds
    More requests are outstanding than the server runs at once, and the rest wait.

Why it matters
    Throughput that stops growing at the slot limit looks exactly like a full GPU: the total is flat and the wall time doubles.
    A setting causes it, and the hardware may have room.

How it decides
    A flat total and a doubled wall time are one observation, so neither counts. What separates the two is the rate of one stream:
    in a queue it stays, in saturation it halves. The number of streams that decode at a time is N_eff = total / per-stream rate.
    A per-stream rate counts only if its column says decode, or the server's own eval rates agree within 5 %: tokens divided by
    the whole latency fall under a pure queue too.
    Confirmed: between two steps at least 1.5 apart the total and the rate stay and N_eff is the known slot number; or the server
    runs at its limit in 90 % of the lines while requests wait and the KV cache has room; or the log shows all slots busy while
    three or more requests arrive more than a second before they are launched; or the client's token times show that just as many answers
    stream at a time as there are slots, and that the starts of the others follow the ends.
    Ruled out: no more requests offered than slots; or nothing waits and nearly all offered requests run; or the rate falls as the
    streams grow while N_eff grows with them.

Known problems
    A client that keeps exactly as many requests open as the server has slots cannot be told from a queue by totals alone.
    Hand-over alone (a launch right after a release) is what a closed-loop client shows too, so it confirms nothing.
"""

from ..engine.rule import STATE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH base AS (
    -- N_eff/C of the steps that have room in the slots: about 0.92, because streams start and end apart
    SELECT s.series_key, avg(s.n_eff / s.concurrency) AS n_eff_share
    FROM main.steps s JOIN main.slots l USING (scope_id)
    WHERE s.r_is_decode AND s.concurrency <= l.slots_lo GROUP BY s.series_key
), stats AS (
    -- each line beside the limit of its own server, and of its own engine
    SELECT v.scope_id, v.running, v.waiting, v.kv_usage, v.line, v.source_id, coalesce(v.run, 0) AS run, v.rank, v.engine,
        -- a line that does not name its engine may be of all engines together
        l.line_lo, CASE WHEN v.engine IS NULL THEN greatest(l.line_hi, l.slots_hi) ELSE l.line_hi END AS line_hi, l.origin, l.given, l.ev
    FROM main.server_in_scope v LEFT JOIN main.server_limits l ON l.source_id = v.source_id AND l.run = coalesce(v.run, 0)
    WHERE v.phase IS DISTINCT FROM 'prefill' AND v.running IS NOT NULL AND v.waiting IS NOT NULL
), steady AS (
    -- from the first to the last line with somebody waiting, so that the drain at the end does not count
    SELECT *, line BETWEEN min(line) FILTER (waiting >= 1) OVER w AND max(line) FILTER (waiting >= 1) OVER w AS is_steady
    FROM stats WINDOW w AS (PARTITION BY scope_id, source_id, run, engine, rank)
), servers AS (
    SELECT
        scope_id, source_id, run,
        avg((running >= line_hi AND running <= line_hi)::INT) FILTER (is_steady) AS pinned_share,
        count(*) FILTER (is_steady) AS steady_lines, count(*) FILTER (is_steady) / nullif(count(*) FILTER (running + waiting > 0), 0) AS steady_share,
        min(running) FILTER (is_steady) AS running_least, max(running) FILTER (is_steady) AS running_most,
        max(kv_usage) FILTER (is_steady) AS kv_usage_max,
        max(waiting) AS waiting_max, avg((waiting = 0)::INT) AS nobody_waits_share, median(running) FILTER (running > 0) AS running_median,
        count(*) AS lines, count(*) FILTER (running + waiting > 0) AS loaded_lines, min({'source_id': source_id, 'line': line}, 3) FILTER (waiting >= 1) AS wait_ev,
        min(line_lo) AS line_lo, min(line_hi) AS line_hi, min(origin) AS origin, min(given) AS given, min(ev) AS limit_ev
    FROM steady GROUP BY scope_id, source_id, run
), pinned AS (
    -- where several servers ran in the scope: the one that is pinned, and nobody waits only if nobody does at any of them
    SELECT
        *, min(nobody_waits_share) OVER (PARTITION BY scope_id) AS least_idle_share, count(*) OVER (PARTITION BY scope_id) AS servers
    FROM servers QUALIFY row_number() OVER (
        PARTITION BY scope_id ORDER BY coalesce(pinned_share, 0) >= 0.9 AND waiting_max >= 1 DESC, steady_lines DESC, lines DESC, source_id, run
    ) = 1
), spans AS (
    SELECT scope_id, source_id, run, started_t AS t, 1 AS step FROM main.requests_in_scope WHERE started_t IS NOT NULL AND finished_t > started_t
    UNION ALL
    SELECT scope_id, source_id, run, finished_t, -1 FROM main.requests_in_scope WHERE started_t IS NOT NULL AND finished_t > started_t
), busy AS (
    SELECT
        scope_id, source_id, run, t, sum(step) OVER w AS busy_slots, lead(t) OVER w - t AS lasts
    FROM (SELECT scope_id, source_id, run, t, sum(step) AS step FROM spans GROUP BY ALL)
    WINDOW w AS (PARTITION BY scope_id, source_id, run ORDER BY t)
), written AS (
    -- saved responses by the time they were complete; the resolution of a time is the least gap that means anything
    SELECT
        scope_id, finished_at AS t, output_tokens, coalesce(resolution_s, 1) AS resolution_s, source_id, line,
        finished_at - lag(finished_at) OVER (PARTITION BY scope_id ORDER BY finished_at, source_id, line) AS gap
    FROM main.client_requests_in_scope WHERE origin = 'file' AND finished_at IS NOT NULL AND status IS DISTINCT FROM 'failed'
), spread AS (
    SELECT
        scope_id, count(*) AS n, coalesce(stddev_pop(output_tokens) / nullif(avg(output_tokens), 0), 1) AS length_cv, max(gap) AS largest_gap,
        greatest(median(gap), max(resolution_s)) AS usual_gap, min_by({'source_id': source_id, 'line': line}, t, 3) AS ev
    FROM written GROUP BY scope_id HAVING count(*) >= 4
), grouped AS (
    SELECT w.scope_id, w.t, sum(coalesce(w.gap > s.largest_gap / 2, FALSE)::INT) OVER (PARTITION BY w.scope_id ORDER BY w.t, w.source_id, w.line) AS cluster
    FROM written w JOIN spread s USING (scope_id)
), clusters AS (
    SELECT scope_id, count(*) AS groups, max(n) AS group_size, min(n) FILTER (cluster < last) AS smallest_full FROM (
        SELECT scope_id, cluster, count(*) AS n, max(cluster) OVER (PARTITION BY scope_id) AS last FROM grouped GROUP BY scope_id, cluster
    ) GROUP BY scope_id
), waves AS (
    SELECT
        s.scope_id, s.n AS responses, s.length_cv, s.largest_gap, s.largest_gap / s.usual_gap AS gap_ratio, c.groups, c.group_size, s.ev,
        CASE WHEN c.groups >= 2 AND c.smallest_full = c.group_size AND c.groups = ceil(s.n / c.group_size) THEN 1 ELSE 0 END AS even_groups
    FROM spread s JOIN clusters c USING (scope_id)
), streamed AS MATERIALIZED (
    SELECT
        scope_id, source_id, line, sent_t, first_token_t AS first_t, finished_t AS last_t, first_token_t - sent_t AS ttft,
        row_number() OVER (PARTITION BY scope_id, source_id ORDER BY first_token_t, line) AS k, count(*) OVER (PARTITION BY scope_id, source_id) AS n
    FROM main.client_requests_in_scope
    WHERE origin = 'client' AND sent_t IS NOT NULL AND first_token_t >= sent_t AND finished_t > first_token_t AND status IS DISTINCT FROM 'failed'
), overlap AS (
    SELECT scope_id, source_id, max(live) AS peak FROM (
        SELECT scope_id, source_id, sum(sum(step)) OVER (PARTITION BY scope_id, source_id ORDER BY t) AS live FROM (
            SELECT scope_id, source_id, first_t AS t, 1 AS step FROM streamed UNION ALL SELECT scope_id, source_id, last_t, -1 FROM streamed
        ) GROUP BY scope_id, source_id, t
    ) GROUP BY scope_id, source_id
), service AS (
    SELECT scope_id, source_id, min(ttft) AS prefill, min(ttft) + median(last_t - first_t) AS service_s FROM streamed GROUP BY scope_id, source_id
), ends AS (
    SELECT scope_id, source_id, last_t, row_number() OVER (PARTITION BY scope_id, source_id ORDER BY last_t, line) AS k FROM streamed
), handed AS (
    -- the k-th start follows the (k-P)-th end
    SELECT
        s.scope_id, s.source_id, o.peak, v.prefill, s.ttft, s.sent_t < e.last_t - 0.1 * v.service_s AS queued,
        s.first_t - e.last_t BETWEEN -0.1 AND v.prefill + 0.1 * v.service_s AS follows, s.line
    FROM streamed s JOIN overlap o USING (scope_id, source_id) JOIN service v USING (scope_id, source_id)
    JOIN ends e ON e.scope_id = s.scope_id AND e.source_id = s.source_id AND e.k = s.k - o.peak
), client AS (
    SELECT
        o.scope_id, max(o.peak) AS peak_overlap, sum(h.queued_n) AS queued_n, min(h.handoff) AS handoff, max(h.prefill_share) AS prefill_share, min(h.ev) AS ev,
        count(*) AS files
    FROM overlap o LEFT JOIN (
        SELECT
            scope_id, source_id, count(*) FILTER (queued) AS queued_n, avg(follows::INT) FILTER (queued) AS handoff,
            any_value(prefill) / median(ttft) FILTER (queued) AS prefill_share, min({'source_id': source_id, 'line': line}, 3) AS ev
        FROM handed GROUP BY scope_id, source_id
    ) h USING (scope_id, source_id)
    GROUP BY o.scope_id HAVING count(*) = 1
), arrivals AS (
    SELECT source_id, run, t, line, row_number() OVER (PARTITION BY source_id, run ORDER BY t, line) AS k FROM main.server_events WHERE kind = 'arrival'
), launches AS (
    SELECT source_id, run, scope_id, started_t, row_number() OVER (PARTITION BY source_id, run ORDER BY started_t, line) AS k
    FROM main.requests_in_scope WHERE started_t IS NOT NULL
), counted AS (
    SELECT source_id, run FROM (SELECT source_id, run, count(*) AS n FROM arrivals GROUP BY ALL) a
    JOIN (SELECT source_id, run, count(*) AS n FROM launches GROUP BY ALL) l USING (source_id, run) WHERE a.n = l.n
), paired AS (
    SELECT a.source_id, a.run, l.scope_id, l.started_t - a.t AS wait_s, a.line, l.started_t AS launched_t FROM arrivals a JOIN launches l USING (source_id, run, k) JOIN counted USING (source_id, run)
    UNION ALL
    -- servers that print how long a request waited
    SELECT source_id, coalesce(run, 0), scope_id, coalesce(queue_ms / 1000, started_t - queued_t), line, started_t FROM main.requests_in_scope
    WHERE coalesce(queue_ms, started_t - queued_t) IS NOT NULL
), waits AS (
    -- arrivals and launches are both in order of time, so they pair by rank; only where every arrival has its launch
    SELECT scope_id, count(*) FILTER (wait_s > 1) AS waited, median(wait_s) FILTER (wait_s > 1) AS usual_wait_s, count(*) AS paired,
        min({'source_id': source_id, 'line': line}, 3) AS ev
    FROM paired GROUP BY scope_id
), queued AS (
    -- from the first arrival that waits to the last launch of one, so that the drain at the end does not count
    SELECT scope_id, source_id, run, min(launched_t - wait_s) AS began, max(launched_t) AS ended FROM paired WHERE wait_s > 1 AND launched_t IS NOT NULL GROUP BY ALL
), occupancy AS (
    SELECT
        b.scope_id, sum(lasts) FILTER (busy_slots > 0) AS loaded_s, sum(b.inside) AS queued_s,
        sum(b.inside) FILTER (busy_slots >= l.slots_hi) / nullif(sum(b.inside), 0) AS full_share, max(busy_slots) AS busy_max
    FROM (
        SELECT b.*, CASE WHEN q.began IS NOT NULL THEN greatest(0, least(b.t + b.lasts, q.ended) - greatest(b.t, q.began)) END AS inside
        FROM busy b LEFT JOIN queued q ON q.scope_id = b.scope_id AND q.source_id = b.source_id AND q.run = coalesce(b.run, 0)
    ) b JOIN main.slots l USING (scope_id) GROUP BY b.scope_id
), crowds AS (
    -- what each server of these files says of its queue, whether or not its lines could be placed in a scope
    SELECT v.source_id, coalesce(v.run, 0) AS run, max(v.waiting) AS waiting_most, count(*) FILTER (v.running >= l.line_hi) AS full_lines,
        quantile_cont(v.running + v.waiting, 0.1) FILTER (v.running > 0) AS crowd, count(*) FILTER (v.running > 0) AS n,
        min({'source_id': v.source_id, 'line': v.line}, 2) FILTER (v.running > 0) AS ev
    FROM main.server_samples v LEFT JOIN main.server_limits l ON l.source_id = v.source_id AND l.run = coalesce(v.run, 0)
    WHERE v.running IS NOT NULL AND v.waiting IS NOT NULL AND v.phase IS DISTINCT FROM 'prefill' GROUP BY ALL
), silent AS (
    -- a server that is full with nobody in its queue, or whose every arrival is launched at once: whoever waits, waits elsewhere
    SELECT
        coalesce(bool_or(calm), FALSE) AND NOT coalesce(bool_or(busy), FALSE) AS nobody_waits, min(ev) FILTER (calm) AS ev
    FROM (
        SELECT full_lines >= 3 AND waiting_most = 0 AS calm, waiting_most >= 1 AS busy, ev[1] AS ev FROM crowds
        UNION ALL
        SELECT count(*) >= 3 AND max(wait_s) <= 1, max(wait_s) > 1, min({'source_id': source_id, 'line': line}) FROM paired GROUP BY source_id, run
    )
), accessed AS (
    -- access lines count a request from its arrival to its answer: more of them than slots, and some wait
    SELECT sc.scope_id, sum(w.n_mean * (w.ended - w.began)) / sum(w.ended - w.began) AS in_flight_mean
    FROM main.load_windows w JOIN main.scopes sc ON sc.kind = 'regime' AND sc.band = w.band
    WHERE w.origin = 'server requests' AND NOT w.in_step AND NOT w.estimated GROUP BY sc.scope_id
), unlaunched AS (
    SELECT scope_id, count(*) AS n, min({'source_id': source_id, 'line': line}, 3) AS ev FROM main.requests_in_scope
    GROUP BY scope_id HAVING count(started_t) = 0 AND count(DISTINCT source_id) = 1
), others AS (
    -- requests that wait outside of every step, although no step offers more than there are slots: somebody else uses the server too
    SELECT count(*) AS waiting_n, min({'source_id': source_id, 'line': line}, 2) AS ev FROM (
        SELECT source_id, line, scope_id FROM paired WHERE wait_s > 1
        UNION ALL SELECT source_id, line, scope_id FROM stats WHERE waiting >= 1 AND running >= line_hi
    ) o JOIN main.scopes sc USING (scope_id)
    WHERE sc.kind <> 'step' AND NOT EXISTS (FROM main.scopes s JOIN main.slots l USING (scope_id) WHERE s.kind = 'step' AND s.concurrency > l.slots_lo)
), crowded AS (
    SELECT min(crowd) AS crowd, min_by(ev, crowd) AS ev FROM crowds WHERE n >= 5
)
SELECT
    sc.scope_id,
    sc.concurrency AS offered, sc.streams_origin AS offered_origin,
    l.slots_lo, l.slots_hi, l.slots_origin, l.slots_given, l.slots_ev,
    sc.concurrency - l.slots_hi AS over_limit_lo, sc.concurrency - l.slots_lo AS over_limit_hi, l.slots_origin AS over_limit_origin,
    l.slots_given AS over_limit_given, l.slots_ev AS over_limit_ev,
    s.x, s.ev AS x_ev, s.r, s.wall_s, s.n_eff, s.r_gate, s.ref_concurrency, s.ref_x, s.ref_r, s.ref_ev AS ref_x_ev, s.r_slope, s.n_eff_slope,
    abs(s.x_slope) AS x_change, abs(s.r_slope) AS r_change,
    CASE WHEN s.r_is_decode AND s.ref_r_is_decode THEN 1 WHEN s.r_is_decode IS NULL THEN NULL ELSE 0 END AS r_is_decode, s.server_ev AS r_is_decode_ev,
    s.n_eff / l.slots_hi AS n_eff_over_slots_lo, s.n_eff / l.slots_lo AS n_eff_over_slots_hi,
    s.n_eff / (l.slots_hi * b.n_eff_share) AS n_eff_as_below_lo, s.n_eff / (l.slots_lo * b.n_eff_share) AS n_eff_as_below_hi,
    s.n_eff / sc.concurrency AS n_eff_share,
    p.pinned_share, p.steady_lines, p.steady_share, p.kv_usage_max, p.waiting_max, p.wait_ev AS waiting_max_ev, p.least_idle_share AS nobody_waits_share,
    p.running_median, p.lines, p.loaded_lines, p.line_lo AS limit_lo, p.line_hi AS limit_hi, p.origin AS pinned_share_origin, p.given AS pinned_share_given,
    p.limit_ev AS pinned_share_ev, p.running_most, p.running_most / nullif(p.running_least, 0) AS running_spread,
    CASE WHEN p.line_lo = p.line_hi THEN 1 ELSE 0 END AS limit_known,
    CASE WHEN p.servers = 1 THEN p.running_median / sc.concurrency END AS running_share,
    o.full_share, o.queued_s / nullif(o.loaded_s, 0) AS queued_share, o.busy_max, w.waited, w.usual_wait_s, w.ev AS waited_ev, CASE WHEN q.nobody_waits OR (w.paired >= 3 AND w.waited = 0) THEN 1 ELSE 0 END AS at_once_seen,
    CASE WHEN q.nobody_waits THEN [q.ev] END AS at_once_seen_ev,
    CASE WHEN w.paired IS NULL THEN sc.concurrency END AS offered_by_word,
    -- a server whose every line shows more requests than this step offers is not the one, or not the only client
    CASE WHEN cw.crowd > sc.concurrency OR (sc.kind = 'step' AND w.paired IS NULL AND ot.waiting_n >= 3) THEN 1 ELSE 0 END AS more_seen,
    CASE WHEN cw.crowd > sc.concurrency THEN cw.ev WHEN sc.kind = 'step' AND w.paired IS NULL AND ot.waiting_n >= 3 THEN ot.ev END AS more_seen_ev,
    coalesce(s.failed_share, 0) AS failed_seen, coalesce((s.latency_slope < 0.5)::INT, 0) AS flat_latency_seen,
    c.peak_overlap, c.ev AS peak_overlap_ev, c.queued_n, c.handoff, c.prefill_share, sc.concurrency / c.peak_overlap AS crowding,
    c.peak_overlap / sc.concurrency AS peak_share,
    -- the limit to try, and the streams that show what it changes
    CASE WHEN l.slots_hi <= 16 THEN 4 WHEN l.slots_hi > 16 THEN 2 END * l.slots_hi AS slots_next,
    array_to_string([power(2, n)::INTEGER::VARCHAR for n in range(greatest(0, floor(log2(l.slots_hi))::INTEGER - 2), ceil(log2(
        CASE WHEN l.slots_hi <= 16 THEN 8 ELSE 4 END * l.slots_hi))::INTEGER + 1)], ', ') AS sweep_next,
    cm.queue_s, cm.served_s, cm.queue_n, cm.ev AS queue_s_ev, cm.queue_s / nullif(cm.served_s, 0) AS queue_share,
    CASE WHEN ul.n IS NOT NULL THEN am.in_flight_mean END AS in_flight_mean, CASE WHEN ul.n IS NOT NULL THEN am.in_flight_mean END / l.slots_hi AS in_flight_over_slots, ul.ev AS in_flight_over_slots_ev,
        ul.n AS accessed_n,
    wv.responses, wv.length_cv, wv.gap_ratio, wv.ev AS gap_ratio_ev, wv.largest_gap, wv.groups, wv.group_size, wv.even_groups
FROM main.scopes sc
LEFT JOIN main.slots l USING (scope_id)
LEFT JOIN main.steps s USING (scope_id)
LEFT JOIN base b ON b.series_key = sc.series_key
LEFT JOIN pinned p USING (scope_id)
LEFT JOIN occupancy o USING (scope_id)
LEFT JOIN waits w USING (scope_id)
LEFT JOIN client c USING (scope_id)
LEFT JOIN waves wv USING (scope_id)
LEFT JOIN main.counter_means cm USING (scope_id)
LEFT JOIN accessed am USING (scope_id)
LEFT JOIN unlaunched ul USING (scope_id)
CROSS JOIN silent q CROSS JOIN crowded cw CROSS JOIN others ot
"""

_TABLE = (
    "{offered:int} streams wait for {slots:slots}. {x:tok/s} at {offered:int} streams is what {ref_concurrency:int} gave ({ref_x:tok/s}), "
    "each stream still gets {r:tok/s} ({ref_r:} at {ref_concurrency:int}), and {x:} / {r:} = {n_eff:} decode at a time. The per-stream rate counts: {r_gate}. No arrival is logged: that {offered_by_word:int} were outstanding at once is the sweep's word."
)

_THEN = ", then {sweep_next:} streams, with first-token times"
_TOKENS = "send, first-token and last-token times of every request (vllm bench serve --save-detailed)"

RULE = Rule(
    id="slot-queue",
    claim=STATE,
    about="requests waiting for a slot",
    question="Do requests wait for a free slot?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "flat": Limit(0.07, "d ln X / d ln C", "run-to-run noise of a total is up to 5 %, so 0.07 per doubling is flat"),
        "same_rate": Limit(0.15, "d ln r / d ln C", "10 % per doubling, twice the run-to-run noise of a rate"),
        "n_eff_lo": Limit(0.85, "of the slots", "streams start and end apart, so about 0.92 of the slots decode at a time"),
        "n_eff_hi": Limit(1.02, "of the slots", "more than the slots cannot decode"),
        "as_below_lo": Limit(0.95, "of the share below the limit", "within 5 % of what the steps with room show"),
        "as_below_hi": Limit(1.05, "of the share below the limit", "within 5 % of what the steps with room show"),
        "few_decode": Limit(0.8, "of the streams", "N_eff this far under the streams cannot come from tokens over latency"),
        "half": Limit(0.5, "of the loaded time", "a queue for moments is not what the run waits for"),
        "pinned": Limit(0.9, "share of lines", "a tenth of the lines may catch a slot between two requests"),
        "kv_free": Limit(0.9, "of the KV cache", "above that the cache, not the slots, may be the limit"),
        "enough_lines": Limit(5, "lines", "fewer do not show a steady state"),
        "nobody": Limit(0.95, "share of lines", "a line in twenty may catch an arrival"),
        "nearly_all": Limit(0.9, "of the offered streams", "streams between two requests are not running"),
        "proportional": Limit(-0.74, "d ln r / d ln C", "the rate falls to 0.6 per doubling"),
        "n_eff_grows": Limit(0.678, "d ln N_eff / d ln C", "N_eff grows 1.6 times per doubling"),
        "clear_gap": Limit(
            20, "usual gaps", "lengths that differ by a twentieth still give 24; refilled slots with ragged lengths 3 to 12"
        ),
        "equal_lengths": Limit(0.05, "CV of the output length", "above that the groups run into each other"),
        "crowded": Limit(1.25, "streams per slot", "below that one straggler explains it"),
        "handed_over": Limit(0.8, "of the queued requests", "a few may fall between two ends"),
        "prefill_small": Limit(0.3, "of the queued time to first token", "above that the prefill itself may be what they wait for"),
        "nearly_peak": Limit(0.95, "of the offered streams", "all but the moments between two requests"),
        "few_failures": Limit(0.05, "of the requests", "requests that fail take no slot, and make the total of the others look flat"),
        "steady_run": Limit(1.02, "most over least", "a number that never moves while somebody waits is a limit"),
        "long_wait": Limit(1, "s", "the arrival between two long steps waits less"),
        "wait_share": Limit(0.25, "of the service", "below it most of a latency is service"),
        "enough_counted": Limit(10, "requests", "fewer can be one burst"),
        "enough_waits": Limit(3, "requests", "one late launch can be a long decode step"),
    },
    applies=("offered >= 1",),
    confirmed=(
        Route(
            "total and per-stream rate stay while streams grow, and as many decode as there are slots",
            when=(
                "over_limit > 0",
                "failed_seen <= few_failures",
                "r_is_decode >= 1",
                "x_change <= flat",
                "r_change <= same_rate",
                "n_eff_over_slots >= n_eff_lo",
                "n_eff_over_slots <= n_eff_hi",
            ),
            uses=("bench", "config"),
            rivals=("pool",),
            says=_TABLE,
        ),
        Route(
            "total and per-stream rate stay while streams grow, and N_eff is that of full slots",
            when=(
                "over_limit > 0",
                "failed_seen <= few_failures",
                "r_is_decode >= 1",
                "x_change <= flat",
                "r_change <= same_rate",
                "n_eff_as_below >= as_below_lo",
                "n_eff_as_below <= as_below_hi",
            ),
            uses=("bench", "config"),
            rivals=("pool",),
            says=_TABLE,
        ),
        Route(
            "running pinned at the limit while requests wait",
            when=("pinned_share >= pinned", "waiting_max >= 1", "steady_lines >= enough_lines"),
            uses=("server", "config"),
            rivals=("kv",),
            says="Requests wait while {limit:} run, which is the limit. In {pinned_share:share} of the {steady_lines:int} lines from the first to the last wait (of "
            "{loaded_lines:int} under load), with up to {waiting_max:int} waiting and the KV cache at {kv_usage_max:share} at most.",
        ),
        Route(
            "all slots are busy and requests arrive long before they are launched",
            when=("full_share >= pinned", "queued_share >= half", "waited >= enough_waits"),
            uses=("server", "config"),
            says="Requests wait for one of {slots:slots}. All are busy {full_share:share} of the time from the first wait to the last ({queued_share:share} of the load), and {waited:int} requests arrived more than "
            "1 s before their launch.",
        ),
        Route(
            "as many stream at a time as there are slots, and each start follows an end",
            when=(
                "peak_overlap >= slots",
                "peak_overlap <= slots",
                "crowding >= crowded",
                "queued_n >= enough_waits",
                "handoff >= handed_over",
                "prefill_share <= prefill_small",
            ),
            uses=("client", "config"),
            rivals=("pool",),
            says="{offered:int} streams wait for {slots:slots}. At most {peak_overlap:int} answers stream at a time, and {handoff:share} of {queued_n:int} queued requests "
            "got their first token right after another's last.",
        ),
    ),
    ruled_out=(
        Route(
            "no more requests than slots",
            when=("over_limit <= 0", "more_seen <= 0"),
            uses=("config",),
            says="No request waits for a slot. {offered:int} offered, {slots:slots}.",
        ),
        Route(
            "nothing waits and nearly all offered requests run",
            when=("nobody_waits_share >= nobody", "running_share >= nearly_all", "lines >= enough_lines"),
            uses=("server",),
            says="No request waits. Nobody does in {nobody_waits_share:share} of {lines:int} lines, {running_median:} of {offered:int} run.",
        ),
        Route(
            "nearly all offered answers stream at the same time",
            when=("peak_share >= nearly_peak",),
            uses=("client",),
            says="No request waits for a slot. {peak_overlap:int} of {offered:int} answers stream at the same time.",
        ),
        Route(
            "the rate of one stream falls as streams grow, and N_eff grows with them",
            when=("r_is_decode >= 1", "r_slope <= proportional", "n_eff_slope >= n_eff_grows"),
            uses=("bench",),
            says="Streams are not queued, they share. {r:tok/s} each at {offered:int} streams against {ref_r:} at {ref_concurrency:int}, {n_eff:} decode at a time.",
        ),
    ),
    fits=(
        Route(
            "always the same number runs while requests wait and the cache has room",
            when=(
                "limit_known <= 0",
                "running_spread <= steady_run",
                "waiting_max >= 1",
                "steady_lines >= enough_lines",
                "kv_usage_max < kv_free",
            ),
            uses=("server",),
            rivals=("other_limit",),
            says="Requests wait while {running_most:int} run, in all of {steady_lines:int} lines, with the KV cache at {kv_usage_max:share} at most. The limit of the server is not in "
            "these files.",
        ),
        Route(
            "requests wait in the server's queue",
            when=("waited >= enough_waits",),
            uses=("server",),
            rivals=("other_limit",),
            says="Requests wait in the server's queue. {waited:int} of them for more than 1 s, {usual_wait_s:s} in the middle.",
        ),
        Route(
            "more requests are between arrival and answer than there are slots",
            when=("in_flight_over_slots >= crowded", "accessed_n >= enough_counted"),
            uses=("server", "config"),
            rivals=("models",),
            says="More requests are in flight than the server has slots. {in_flight_mean:} of {accessed_n:int} requests in the mean between arrival and answer, and {slots:slots}.",
        ),
        Route(
            "requests wait in the server's queue, by its own counters",
            when=("queue_s >= long_wait", "queue_share >= wait_share", "queue_n >= enough_counted"),
            uses=("server",),
            rivals=("other_limit",),
            says="Requests wait in the server's queue. {queue_n:int} of them for {queue_s:s} in the mean between the first and the last scrape, and are served for {served_s:s}.",
        ),
        Route(
            "responses of equal length are complete in groups of the same size",
            when=("gap_ratio >= clear_gap", "length_cv <= equal_lengths", "even_groups >= 1"),
            uses=("client",),
            rivals=("other_cap",),
            says="Responses come in groups of {group_size:int}. {responses:int} responses of equal length were complete in {groups:int} groups, {largest_gap:s} apart "
            "({gap_ratio:} times the usual gap): something admits {group_size:int} at a time.",
        ),
        Route(
            "fewer answers stream at a time than are offered, and each start follows an end",
            when=("crowding >= crowded", "queued_n >= enough_waits", "handoff >= handed_over", "prefill_share <= prefill_small"),
            uses=("client",),
            rivals=("other_cap",),
            says="Only {peak_overlap:int} of {offered:int} answers stream at a time. {handoff:share} of {queued_n:int} queued requests got their first token right after "
            "another's last: something admits only that many.",
        ),
        Route(
            "total and per-stream rate stay while streams grow, and far fewer decode than are offered",
            when=("x_change <= flat", "r_change <= same_rate", "n_eff_share <= few_decode", "failed_seen <= few_failures"),
            uses=("bench",),
            rivals=("other_cap",),
            says="Only {n_eff:} of {offered:int} streams decode at a time. {x:tok/s} at {offered:int} streams is what {ref_concurrency:int} gave, each stream still gets {r:tok/s}, and "
            "{x:} / {r:} = {n_eff:}: something admits only that many.",
        ),
    ),
    rivals={
        "pool": Rival(
            "a client or a proxy that keeps just as many requests open as there are slots: at the server nobody waits",
            closed=("at_once_seen <= 0", "flat_latency_seen <= 0"),
            settle="the server's waiting count during the run; or raise the slot limit: with a pool or a proxy in front nothing changes",
        ),
        "kv": Rival(
            "the KV cache is full, not the slots",
            closed=("kv_usage_max < kv_free",),
            settle="the KV cache usage of the server during the run (statistics lines, /metrics)",
        ),
        "models": Rival(
            "requests of several models, each with slots of its own, or of a model that was being loaded, or clients that take their answers slowly",
            closed=("pinned_share >= pinned",),
            settle="the server's log with its slot lines (OLLAMA_DEBUG=1), or one model alone",
        ),
        "other_limit": Rival(
            "a token budget per step, memory or another limit than the slots",
            closed=("over_limit > 0", "pinned_share >= pinned"),
            settle="the server's own limit: its start-up log or command line, or --given slots=N",
        ),
        "other_cap": Rival(
            "a client pool, a proxy or a semaphore that admits them in place of the server",
            closed=("slots > 0", "n_eff_over_slots >= n_eff_lo", "n_eff_over_slots <= n_eff_hi", "r_is_decode >= 1"),
            settle="the server's slot number and its own running/waiting counts: keep the server log, or --given slots=N",
        ),
    },
    collect={
        "in_flight_over_slots": "the server's access lines with durations, and its slot number",
        "accessed_n": "the server's access lines with durations",
        "queue_s": "/metrics before and after the run",
        "queue_share": "/metrics before and after the run",
        "queue_n": "/metrics before and after the run",
        "offered": "how many streams were offered (a sweep table, or --given streams=N)",
        "over_limit": "the server's slot number: keep its start-up log, or --given slots=N",
        "r_is_decode": "decode tokens/s of one stream from the server's eval lines or the client's first and last token times",
        "x_change": "a sweep with at least two stream counts 1.5 times apart: total tokens/s and tokens/s of one stream",
        "r_change": "a sweep with at least two stream counts 1.5 times apart: total tokens/s and tokens/s of one stream",
        "r_slope": "a sweep with at least two stream counts 1.5 times apart: total tokens/s and tokens/s of one stream",
        "n_eff_slope": "a sweep with at least two stream counts 1.5 times apart: total tokens/s and tokens/s of one stream",
        "n_eff_over_slots": "the server's slot number: keep its start-up log, or --given slots=N",
        "n_eff_as_below": "the server's slot number, and sweep steps below it",
        "n_eff_share": "total tokens/s and decode tokens/s of one stream",
        "pinned_share": "the server's running and waiting counts (statistics lines, /metrics or /slots)",
        "waiting_max": "the server's running and waiting counts (statistics lines, /metrics or /slots)",
        "steady_lines": "the server's running and waiting counts (statistics lines, /metrics or /slots)",
        "failed_seen": "a client that counts the requests that failed",
        "more_seen": "the statistics lines of the very server that was measured",
        "limit_known": "the server's slot number: keep its start-up log, or --given slots=N",
        "running_spread": "the server's running and waiting counts (statistics lines, /metrics or /slots)",
        "queued_share": "the server's log with times, from the arrival to the release of every request",
        "full_share": "the server's log with times (llama-server --log-timestamps), from launch to release of every request",
        "waited": "the server's log at -lv 4: arrival lines before the launches",
        "gap_ratio": "the responses with their write times (tar or ls --full-time), of requests with a fixed output length",
        "length_cv": "responses with their token counts",
        "even_groups": "the responses with their write times",
        "peak_overlap": _TOKENS,
        "crowding": _TOKENS,
        "queued_n": _TOKENS,
        "handoff": _TOKENS,
        "prefill_share": _TOKENS,
        "peak_share": _TOKENS,
        "nobody_waits_share": "the server's running and waiting counts",
        "running_share": "the server's running and waiting counts",
        "lines": "the server's running and waiting counts",
        "kv_usage_max": "the server's KV cache usage during the run",
        "slots": "the server's slot number: keep its start-up log, or --given slots=N",
    },
    means="The limit is a setting. Until it is raised, the sweep says nothing about what the hardware can do above it.",
    remedy="Raise the slot limit and sweep again; check that the context per slot stays long enough.",
    not_a_remedy="A faster card, or a faster link, does not shorten this queue in proportion while the slots are the limit.",
    next=(
        Experiment(
            "raise the slot limit and sweep past it",
            "llama-server ... -np 16   (vLLM --max-num-seqs, SGLang --max-running-requests), then 1, 2, 4, 8, 16, 32 streams, with first-token times",
            "queue: the total rises and each stream slows; saturation: the total stays and each stream halves",
            cost=1,
            on={
                "llama.cpp": "llama-server ... -np {slots_next:int}" + _THEN,
                "ollama": "OLLAMA_NUM_PARALLEL={slots_next:int} ollama serve" + _THEN,
                "vllm": "vllm serve ... --max-num-seqs {slots_next:int}" + _THEN,
                "sglang": "python -m sglang.launch_server ... --max-running-requests {slots_next:int}" + _THEN,
            },
        ),
    ),
)
