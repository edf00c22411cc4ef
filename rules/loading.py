"""Is time lost to loading or compiling?

What it finds
    Weights that are loaded, graphs that are captured or kernels that are compiled while requests wait for them.

Why it matters
    A minute of loading looks like a starved card: no utilisation, a request in flight. It belongs in no median, and its cure is to
    keep the model loaded, not to tune the serving.

How it decides
    Confirmed: such a line of the server lies between two requests of the same server run, the next request starts within two seconds of
    the end of loading (somebody waited for it), and loading took more than a second; or it lies inside a request in flight; or, while
    requests are in flight and the cards do nothing (5 % together), their memory grows by 10 % of the weights. Lines are placed on the
    clock of their own log where it has requests, else only where the doubt of both clocks leaves them inside.
    Ruled out: the log would show it and shows none during the load, and the cards' memory stays within 1 %.

Known problems
    A server that compiles silently at the first request of a new shape prints nothing and its memory stays flat: that is not seen.
    What a client waits for while a server is started anew shows only in the client's own times.
"""

from ..engine.rule import STATE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH told AS MATERIALIZED (
    SELECT source_id, line, coalesce(run, 0) AS run, kind, detail, t, time FROM main.server_events WHERE kind IN ('loading', 'loaded')
        AND (t IS NOT NULL OR time IS NOT NULL)
), reqs AS MATERIALIZED (
    -- an access line tells the arrival instead of the start
    SELECT scope_id, source_id, coalesce(run, 0) AS run, line, coalesce(started_t, queued_t) AS started_t, finished_t FROM main.requests_in_scope
    WHERE finished_t > coalesce(started_t, queued_t)
), spans AS (
    SELECT scope_id, source_id, run, min(started_t) AS first_t, max(finished_t) AS last_t FROM reqs GROUP BY ALL
), following AS (
    SELECT l.*, r.started_t AS next_t, r.scope_id FROM main.loads l ASOF JOIN reqs r ON l.source_id = r.source_id AND l.run = r.run
        AND coalesce(l.done_t, l.began_t) <= r.started_t
), between_requests AS (
    -- a request of the same scope and the same server run ran before it, and the next one starts as soon as it is done. Between two
    -- runs of a server nobody waits: a script restarts it and waits for its health
    SELECT f.scope_id, f.source_id, f.line, f.done_t - f.began_t AS took_s FROM following f JOIN spans s USING (scope_id, source_id, run)
    WHERE f.began_t > s.first_t AND f.done_t IS NOT NULL AND f.next_t - f.done_t <= 2
), in_flight_scopes AS (
    SELECT DISTINCT r.scope_id, l.source_id, l.line, l.done_t - l.began_t AS took_s
    FROM main.loads l JOIN reqs r ON r.source_id = l.source_id AND r.run = l.run AND r.started_t < l.began_t AND r.finished_t > coalesce(l.done_t, l.began_t)
), client_spans AS (
    SELECT scope_id, sent_at, finished_at, coalesce(time_unc_s, 1) AS unc_s FROM main.client_requests_in_scope
    WHERE origin = 'client' AND sent_at IS NOT NULL AND finished_at > sent_at
), in_client AS (
    SELECT c.scope_id, l.source_id, l.line, any_value(l.done_t - l.began_t) AS took_s
    FROM main.loads l JOIN client_spans c ON l.began > c.sent_at + c.unc_s + 1 AND l.began < c.finished_at - c.unc_s - 1 GROUP BY ALL
), lost AS (
    SELECT scope_id, count(*) AS loads_seen, sum(took_s) AS loading_s, max(took_s) AS longest_s,
        min({'source_id': source_id, 'line': line}, 3) AS ev FROM (
        SELECT DISTINCT scope_id, source_id, line, took_s FROM (FROM between_requests UNION ALL FROM in_flight_scopes UNION ALL
            FROM in_client)
    ) GROUP BY scope_id
), totals AS (
    SELECT scope_id, sum(last_t - first_t) AS span_s FROM (
        SELECT scope_id, source_id, min(first_t) AS first_t, max(last_t) AS last_t FROM spans GROUP BY ALL
    ) GROUP BY scope_id
), tells AS (
    -- a log that printed its loading once would print it again
    SELECT s.scope_id, min((t.source_id IS NOT NULL)::INT) AS would_tell
    FROM (SELECT DISTINCT scope_id, source_id FROM main.requests_in_scope UNION SELECT DISTINCT scope_id, source_id
        FROM main.server_in_scope) s
    LEFT JOIN (SELECT DISTINCT source_id FROM told) t USING (source_id) GROUP BY s.scope_id
), in_windows AS (
    -- lines of another source than the load's: surely inside only where both clocks leave no doubt
    SELECT
        w.scope_id, t.source_id, t.line,
        NOT w.estimated AND NOT coalesce(c.estimated, FALSE) AND t.time >= w.began + w.unc_s + coalesce(c.uncertainty_s, 1)
            AND t.time <= w.ended - w.unc_s - coalesce(c.uncertainty_s, 1) AS sure
    FROM told t LEFT JOIN main.clocks c USING (source_id)
    JOIN main.scope_windows w ON t.time >= w.began - w.unc_s - coalesce(c.uncertainty_s, 1) AND t.time <= w.ended + w.unc_s + coalesce(c.uncertainty_s, 1)
    WHERE t.kind = 'loading' AND (w.scope_id, t.source_id) NOT IN (SELECT (scope_id, source_id) FROM reqs)
), in_requests AS (
    -- lines of a log that has requests of its own: on its own clock, without any doubt
    SELECT DISTINCT r.scope_id, t.source_id, t.line, TRUE AS sure
    FROM told t JOIN reqs r ON r.source_id = t.source_id AND r.run = t.run AND r.started_t < t.t AND r.finished_t > t.t
    WHERE t.kind = 'loading'
), inside AS (
    SELECT scope_id, count(DISTINCT (source_id, line)) FILTER (sure) AS lines_inside, count(*) AS lines_perhaps,
        min({'source_id': source_id, 'line': line}, 3) FILTER (sure) AS ev
    FROM (FROM in_windows UNION ALL FROM in_requests) GROUP BY scope_id
), rounds AS MATERIALIZED (
    SELECT
        scope_id, source_id, cycle, min(line) AS line, min(time) AS time, sum(mem_used) AS mib, sum(util_gpu) AS util, count(*) AS n,
            count(mem_used) AS mem_n, count(util_gpu) AS util_n
    FROM main.samples_in_load GROUP BY scope_id, source_id, cycle
), whole AS (
    SELECT *, n = max(n) OVER (PARTITION BY scope_id, source_id) AND mem_n = n AS complete FROM rounds
), growing AS (
    SELECT
        scope_id, source_id, line, mib - lag(mib) OVER w AS grew, util <= 5 AND util_n = n AND lag(util) OVER w <= 5
            AND time - lag(time) OVER w <= 10 AS still
    FROM whole WHERE complete WINDOW w AS (PARTITION BY scope_id, source_id ORDER BY cycle)
), rise AS (
    SELECT scope_id, coalesce(sum(grew) FILTER (still AND grew > 0), 0) AS rise_mib,
        min({'source_id': source_id, 'line': line}, 2) FILTER (still AND grew > 0) AS ev
    FROM growing GROUP BY scope_id
), model_only AS (
    SELECT scope_id, max(cards_extra) AS cards_extra FROM main.serving_cards GROUP BY scope_id
), memory AS (
    SELECT scope_id, (max(mib) - min(mib)) / nullif(max(mib), 0) AS spread, count(*) AS rounds FROM whole WHERE complete GROUP BY scope_id
)
SELECT
    sc.scope_id, coalesce(l.loads_seen, 0) AS loads_seen, l.ev AS loads_seen_ev, l.loading_s, l.longest_s,
        l.loading_s / nullif(t.span_s, 0) AS loading_share, t.span_s,
    coalesce(i.lines_inside, 0) AS lines_inside_seen, i.ev AS lines_inside_seen_ev, coalesce(i.lines_perhaps, 0) AS lines_perhaps_seen, x.would_tell,
    coalesce(k.cards_extra, 0) AS cards_extra, r.rise_mib, r.rise_mib / (m.file_bytes / 1048576) AS rise_share, r.ev AS rise_share_ev, m.file_bytes / 1048576 AS weights_mib,
    y.spread AS memory_spread, y.rounds
FROM main.scopes sc
LEFT JOIN lost l USING (scope_id) LEFT JOIN totals t USING (scope_id) LEFT JOIN tells x USING (scope_id) LEFT JOIN inside i USING (scope_id)
LEFT JOIN model_only k USING (scope_id) LEFT JOIN rise r USING (scope_id) LEFT JOIN memory y USING (scope_id) LEFT JOIN main.model_facts m USING (scope_id)
"""

_LOG = "the whole log of the server, with times, from its start (Ollama: journalctl -u ollama -o short-iso-precise)"
_MEMORY = (
    "nvidia-smi --query-gpu=timestamp,index,utilization.gpu,memory.used --format=csv,nounits -l 1 > smi.csv   (all cards, through the "
    "load), and the size of the weights"
)

RULE = Rule(
    id="loading",
    claim=STATE,
    about="loading and compiling",
    question="Is time lost to loading or compiling?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "noticed": Limit(1.0, "s", "a model that is still in memory is ready in less"),
        "grown": Limit(0.10, "of the weights", "caches and workspaces grow by less while no kernel runs"),
        "flat": Limit(0.01, "of the memory", "a loaded server keeps its memory"),
        "enough": Limit(10, "rounds", "fewer do not show what happens during the load"),
    },
    confirmed=(
        Route(
            "the server loads or compiles while requests wait for it",
            when=("loads_seen >= 1", "longest_s > noticed"),
            uses=("server",),
            says=(
                "Requests wait for loading. {loads_seen:int} times between or during requests, {loading_s:s} of {span_s:s} "
                "({loading_share:share}), the longest {longest_s:s}."
            ),
        ),
        Route(
            "the cards' memory fills up while requests are in flight and no kernel runs",
            when=("rise_share >= grown", "rounds >= enough", "cards_extra <= 0"),
            uses=("util", "server"),
            says=(
                "Weights are loaded while requests wait. The cards' memory grows by {rise_mib:MiB}, {rise_share:share} of the weights, "
                "while they do nothing."
            ),
        ),
    ),
    ruled_out=(
        Route(
            "no line of loading during the load, and the memory is flat",
            when=("loads_seen <= 0", "lines_perhaps_seen <= 0", "would_tell >= 1", "memory_spread <= flat", "rounds >= enough"),
            uses=("util", "server"),
            says=(
                "Nothing is loaded during the load. The log, which shows loading elsewhere, has none here, and the cards' memory stays "
                "within {memory_spread:share} over {rounds:int} rounds."
            ),
        ),
    ),
    fits=(
        Route(
            "lines of loading or compiling while requests are in flight",
            when=("lines_inside_seen >= 1",),
            uses=("server",),
            rivals=("another",),
            says="Something is loaded or compiled during the load. {lines_inside_seen:int} of the server's lines say so.",
        ),
    ),
    rivals={
        "another": Rival(
            "another model or engine of the same server, while these requests go on",
            closed=("loads_seen >= 1",),
            settle="the times of the requests in flight (client or server) beside the lines of loading",
        ),
    },
    collect={
        "loads_seen": _LOG,
        "longest_s": _LOG,
        "lines_inside_seen": _LOG,
        "lines_perhaps_seen": _LOG,
        "would_tell": _LOG,
        "rise_share": _MEMORY,
        "memory_spread": _MEMORY,
        "cards_extra": "nvidia-smi pmon -d 1 beside it: which process is on which card",
        "rounds": _MEMORY,
    },
    means="This time is outside of serving. It is cut out of every rate.",
    remedy=(
        "Keep the model loaded (OLLAMA_KEEP_ALIVE, one num_ctx for all clients), warm up before measuring, keep compile caches between "
        "starts."
    ),
    not_a_remedy="Faster decoding does not shorten it; a faster disk or link may.",
    next=(
        Experiment(
            "the same requests twice in a row",
            "curl ... ; curl ...   (the same model and context length), with the server's log",
            "only the first is slow: loading or compiling",
            cost=1,
        ),
    ),
)
