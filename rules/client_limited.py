"""Does the client offer too little work?

What it finds
    A client that keeps fewer requests open than it claims, or leaves the server idle between requests.

Why it matters
    A server that is not asked for more cannot give more. Mean utilisation over such a run reads as headroom of the cards, and it is
    headroom of the client.

How it decides
    Everything is measured between the first and the last request that was sent: before and after it nothing is offered by intent. A
    pause of more than ten minutes ends a session; the session with the most requests counts. Confirmed: in that window, with ten
    completions or more, fewer than 0.8 of the claimed streams are in service while nobody waits and the server could run more; or
    nothing at all is in flight for a fifth of the session, in three gaps or more, with the server loaded (gaps in which it loads or
    restarts do not count). Ruled out: somebody waits half of the time or more, or 0.95 of the claimed streams run.
    A burst sent once has no such window: its long tail (0.55 to 0.88 of the streams) says nothing about the client.

Known problems
    What waits in a proxy or in the client's own pool is outside the server's log and reads as not offered. Where one source is not
    all of the server (several engines, a router), its streams and idle gaps are not counted, and sources that disagree about waiting
    decide nothing. Requests that were refused or given up do not count as completions.
"""

from ..engine.rule import STATE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH reqs AS MATERIALIZED (
    SELECT scope_id, source_id, coalesce(run, 0) AS run, line, coalesce(queued_t, started_t) AS sent, started_t AS began,
        finished_t AS ended, queued_t
    FROM main.requests_in_scope WHERE how <> 'no step' AND started_t IS NOT NULL AND finished_t > started_t
      AND status IS DISTINCT FROM 'failed'  -- a server that refuses is idle for another reason than its client
), sources AS (
    SELECT scope_id, count(DISTINCT source_id) AS sources FROM reqs GROUP BY scope_id
), numbered AS (
    -- a pause of ten minutes ends a session
    SELECT *, sum(CASE WHEN so_far >= sent - 600 THEN 0 ELSE 1 END) OVER (PARTITION BY scope_id, source_id, run ORDER BY sent,
        line ROWS UNBOUNDED PRECEDING) AS session
    FROM (
        SELECT *, max(ended) OVER (PARTITION BY scope_id, source_id, run ORDER BY sent, line ROWS BETWEEN UNBOUNDED PRECEDING
            AND 1 PRECEDING) AS so_far
        FROM reqs
    )
), sessions AS MATERIALIZED (
    SELECT
        scope_id, source_id, run, min(sent) AS t0, max(sent) AS t1, max(ended) AS t2, count(*) AS requests,
        min({'source_id': source_id, 'line': line}, 2) AS ev
    FROM numbered GROUP BY scope_id, source_id, run, session
    QUALIFY row_number() OVER (PARTITION BY scope_id ORDER BY count(*) DESC, source_id, run, min(sent)) = 1
), every_one AS MATERIALIZED (
    -- all requests of that server, of whatever scope: an idle gap of one scope may be the load of another
    SELECT source_id, coalesce(run, 0) AS run, started_t, finished_t, coalesce(status, 'ok') = 'ok' AS answered FROM main.requests
    WHERE origin = 'server' AND (source_id, coalesce(run, 0)) IN (SELECT (source_id, run) FROM sessions)
), holes AS (
    SELECT source_id, run, count(*) FILTER (started_t IS NULL OR finished_t IS NULL) AS unknown_n FROM every_one GROUP BY ALL
), steps AS (
    SELECT source_id, run, t, sum(step) AS step FROM (
        SELECT source_id, run, started_t AS t, 1 AS step FROM every_one WHERE finished_t > started_t
        UNION ALL SELECT source_id, run, finished_t, -1 FROM every_one WHERE finished_t > started_t
    ) GROUP BY ALL
), pieces AS MATERIALIZED (
    SELECT source_id, run, t AS a, lead(t) OVER w AS b, sum(step) OVER w AS n FROM steps WINDOW w AS (PARTITION BY source_id, run
        ORDER BY t)
), loads AS (
    SELECT source_id, t FROM main.server_events WHERE kind IN ('loading', 'loaded', 'restart') AND t IS NOT NULL
), gaps AS (
    SELECT s.scope_id, p.a, p.b FROM sessions s JOIN pieces p ON p.source_id = s.source_id AND p.run = s.run AND p.a >= s.t0 AND p.b <= s.t2
    WHERE p.n = 0 AND p.b > p.a AND NOT EXISTS (SELECT 1 FROM loads l WHERE l.source_id = s.source_id AND l.t >= p.a AND l.t <= p.b)
), idle AS (
    SELECT scope_id, sum(b - a) AS idle_s, count(*) AS gaps FROM gaps GROUP BY scope_id
), service AS (
    SELECT
        s.scope_id, max(p.n) AS running_max,
        sum(p.n * (least(p.b, s.t1) - greatest(p.a, s.t0))) FILTER (p.b > s.t0 AND p.a < s.t1) / nullif(any_value(s.t1 - s.t0),
            0) AS in_service
    FROM sessions s JOIN pieces p ON p.source_id = s.source_id AND p.run = s.run AND p.b >= s.t0 AND p.a <= s.t1 GROUP BY s.scope_id
), finished AS (
    -- what was refused or given up by the client was not served
    SELECT s.scope_id, count(*) AS completions FROM sessions s JOIN every_one e ON e.source_id = s.source_id AND e.run = s.run
    WHERE e.answered AND e.finished_t > s.t0 AND e.finished_t <= s.t1 GROUP BY s.scope_id
), arrivals AS (
    SELECT source_id, coalesce(run, 0) AS run, t, row_number() OVER (PARTITION BY source_id, coalesce(run, 0) ORDER BY t, line) AS k
    FROM main.server_events WHERE kind = 'arrival' AND t IS NOT NULL
), launches AS (
    SELECT source_id, run, started_t AS t, row_number() OVER (PARTITION BY source_id, run ORDER BY started_t) AS k FROM every_one
        WHERE started_t IS NOT NULL
), paired AS (
    -- arrivals and launches pair by rank, only where every arrival has its launch
    SELECT source_id, run FROM (SELECT source_id, run, count(*) AS n FROM arrivals GROUP BY ALL) a
    JOIN (SELECT source_id, run, count(*) AS n FROM launches GROUP BY ALL) l USING (source_id, run) WHERE a.n = l.n
), waits AS (
    SELECT a.source_id, a.run, a.t AS a, l.t AS b FROM arrivals a JOIN launches l USING (source_id, run, k)
        JOIN paired USING (source_id, run)
    UNION ALL
    SELECT source_id, run, queued_t, began FROM reqs WHERE queued_t IS NOT NULL
), wait_known AS (
    SELECT source_id, run FROM paired UNION SELECT source_id, run FROM reqs GROUP BY source_id, run HAVING count(queued_t) = count(*)
), wait_pieces AS (
    SELECT source_id, run, t AS a, lead(t) OVER w AS b, sum(step) OVER w AS n FROM (
        SELECT source_id, run, t, sum(step) AS step FROM (
            SELECT source_id, run, a AS t, 1 AS step FROM waits WHERE b > a + 0.05 UNION ALL SELECT source_id, run, b, -1 FROM waits
                WHERE b > a + 0.05
        ) GROUP BY ALL
    ) WINDOW w AS (PARTITION BY source_id, run ORDER BY t)
), queue AS (
    SELECT s.scope_id, coalesce(sum(least(p.b, s.t1) - greatest(p.a, s.t0)) FILTER (p.n >= 1 AND p.b > s.t0 AND p.a < s.t1),
        0) / nullif(any_value(s.t1 - s.t0), 0) AS share
    FROM sessions s JOIN wait_known k ON k.source_id = s.source_id AND k.run = s.run
    -- a burst is sent within moments: who waits in those says nothing about the load
    JOIN finished f ON f.scope_id = s.scope_id AND f.completions >= 10
    LEFT JOIN wait_pieces p ON p.source_id = s.source_id AND p.run = s.run GROUP BY s.scope_id
), clients AS (
    SELECT scope_id, min(sent_at) AS t0, max(sent_at) AS t1, count(*) AS requests FROM main.client_requests_in_scope
    WHERE origin = 'client' AND sent_at IS NOT NULL AND finished_at > sent_at GROUP BY scope_id
), client_done AS (
    SELECT c.scope_id, count(*) AS completions FROM clients c JOIN main.client_requests_in_scope r USING (scope_id)
    WHERE r.origin = 'client' AND coalesce(r.status, 'ok') = 'ok' AND r.finished_at <= c.t1 GROUP BY c.scope_id
), last_lines AS (
    -- an engine that prints several lines within one tick of its clock says its numbers again
    SELECT * FROM main.server_in_scope WHERE running IS NOT NULL AND phase IS DISTINCT FROM 'prefill'
    QUALIFY row_number() OVER (PARTITION BY scope_id, source_id, run, engine, rank, coalesce(time, line) ORDER BY line DESC) = 1
), rounds AS (
    -- engines and ranks that print together are one server; lines without a time are each on their own
    SELECT scope_id, source_id, min(line) AS line, time, t, sum(running) AS running, sum(waiting) AS waiting, count(waiting) AS known
    FROM last_lines GROUP BY scope_id, source_id, time, t, CASE WHEN time IS NULL THEN line END
), source_stats AS (
    SELECT scope_id, source_id, avg((waiting >= 1)::INT) FILTER (known > 0) AS waiting_share, count(*) FILTER (known > 0) AS wait_lines, max(running) AS running_max,
        min({'source_id': source_id, 'line': line}, 2) FILTER (waiting >= 1) AS ev
    FROM rounds GROUP BY ALL
), stats AS (
    -- source by source: a queue in one log is not one of the server that the other log is of. The trace holds logs that no time ties to
    -- the load, so those that are tied to it have a say there too
    SELECT scope_id, min(waiting_share) AS waiting_lo, max(waiting_share) AS waiting_hi, min(wait_lines) AS wait_lines, max(running_max) AS running_max, min(ev) AS ev
    FROM (
        FROM source_stats UNION ALL
        SELECT 0, source_id, waiting_share, wait_lines, running_max, ev FROM source_stats
        WHERE scope_id > 0 AND wait_lines >= 5 AND EXISTS (FROM source_stats WHERE scope_id = 0)
    ) GROUP BY scope_id
), steady_stats AS (
    SELECT r.scope_id, avg(r.running) AS in_service, count(*) AS lines FROM rounds r JOIN clients c USING (scope_id)
    WHERE r.time >= c.t0 + 10 AND r.time <= c.t1 GROUP BY r.scope_id
), chosen AS (
    SELECT
        sc.scope_id, sc.concurrency, sc.streams_origin, s.ev, s.requests,
        -- the log of one server of several does not hold the streams that the others serve
        CASE WHEN n.sources = 1 THEN v.in_service WHEN s.scope_id IS NULL AND z.lines >= 5 THEN z.in_service END AS in_service,
        CASE WHEN s.scope_id IS NOT NULL THEN coalesce(f.completions, 0) WHEN z.lines >= 5 THEN d.completions END AS completions,
        coalesce(v.running_max, st.running_max) AS running_max,
        CASE WHEN st.wait_lines >= 5 THEN st.waiting_lo WHEN n.sources > 1 THEN NULL WHEN q.share IS NOT NULL THEN q.share
             WHEN v.running_max < l.slots_lo AND l.slots_origin <> 'estimated' THEN 0 END AS waiting_lo,
        CASE WHEN st.wait_lines >= 5 THEN st.waiting_hi WHEN n.sources > 1 THEN NULL WHEN q.share IS NOT NULL THEN q.share
             WHEN v.running_max < l.slots_lo AND l.slots_origin <> 'estimated' THEN 0 END AS waiting_hi,
        st.ev AS waiting_ev, CASE WHEN st.wait_lines >= 5 OR q.share IS NOT NULL THEN 1 ELSE 0 END AS waiting_seen,
        CASE WHEN n.sources = 1 AND h.unknown_n = 0 THEN coalesce(i.idle_s, 0) / nullif(s.t2 - s.t0, 0) END AS idle_share,
        coalesce(i.gaps, 0) AS gaps, s.t2 - s.t0 AS session_s, l.slots_lo, l.slots_hi, l.slots_origin, l.slots_given, l.slots_ev
    FROM main.scopes sc
    LEFT JOIN sessions s USING (scope_id) LEFT JOIN service v USING (scope_id) LEFT JOIN finished f USING (scope_id) LEFT
        JOIN queue q USING (scope_id)
    LEFT JOIN idle i USING (scope_id) LEFT JOIN sources n USING (scope_id) LEFT JOIN holes h ON h.source_id = s.source_id AND h.run = s.run
    LEFT JOIN stats st USING (scope_id) LEFT JOIN steady_stats z USING (scope_id) LEFT JOIN client_done d USING (scope_id) LEFT
        JOIN main.slots l USING (scope_id)
)
SELECT
    scope_id, concurrency AS offered, streams_origin AS offered_origin,
    CASE WHEN streams_origin = 'given' THEN ['streams=' || printf('%g', concurrency)] END AS offered_given,
    in_service, ev AS in_service_ev, in_service / concurrency AS service_share, CASE
        WHEN streams_origin = 'given' THEN ['streams=' || printf('%g', concurrency)] END AS service_share_given,
    completions, running_max, waiting_lo AS waiting_share_lo, waiting_hi AS waiting_share_hi, waiting_ev AS waiting_share_ev, waiting_seen, idle_share, ev AS idle_share_ev, gaps, session_s, requests,
    slots_lo, slots_hi, running_max - slots_hi AS over_limit_lo, running_max - slots_lo AS over_limit_hi, slots_origin AS over_limit_origin,
    slots_given AS over_limit_given, slots_ev AS over_limit_ev
FROM chosen
"""

_LOG = (
    "the server's log of the run, from launch to release of every request (llama-server), or its statistics lines together with the "
    "client's send and end times"
)

RULE = Rule(
    id="client-limited",
    claim=STATE,
    about="too little work offered",
    question="Does the client offer too little work?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "too_few": Limit(
            0.8, "of the claimed streams", "streams between two requests are not in service; 0.88 is usual for lengths that differ a little"
        ),
        "nearly_all": Limit(0.95, "of the claimed streams", "all but the moments between two requests"),
        "enough": Limit(10, "completions", "fewer are a burst and its tail, not a steady state"),
        "no_wait": Limit(0.05, "of the time", "an arrival may be caught waiting for the next step"),
        "mostly_wait": Limit(0.5, "of the time", "somebody waits more often than not"),
        "idle": Limit(0.20, "of the session", "a fifth of the time without any request bounds the total by four fifths"),
        "several_gaps": Limit(3, "gaps", "one pause is an event, not a way of asking"),
    },
    confirmed=(
        Route(
            "fewer requests are in service than the client claims, and nothing holds them back",
            when=("service_share < too_few", "completions >= enough", "waiting_share <= no_wait", "over_limit < 0"),
            uses=("server", "config"),
            says="Too little reaches the server. Of {offered:int} claimed streams {in_service:} are in service ({service_share:share}) "
            "over {completions:int} completions, "
            "at most {running_max:int} at a time where the server would run {slots:}, and nobody waits.",
        ),
        Route(
            "nothing is in flight for a fifth of the time",
            when=("idle_share >= idle", "gaps >= several_gaps", "completions >= enough"),
            uses=("server",),
            says=(
                "The server is idle between requests. Nothing is in flight for {idle_share:share} of {session_s:s}, in {gaps:int} gaps "
                "between {requests:int} requests."
            ),
        ),
    ),
    ruled_out=(
        Route(
            "requests wait most of the time",
            when=("waiting_share >= mostly_wait", "waiting_seen >= 1"),
            uses=("server",),
            says="The client offers enough. Somebody waits {waiting_share:share} of the time.",
        ),
        Route(
            "nearly all claimed streams are in service",
            when=("service_share >= nearly_all", "completions >= enough"),
            uses=("server",),
            says=(
                "The client offers what it claims. {in_service:} of {offered:int} streams are in service over {completions:int} "
                "completions."
            ),
        ),
    ),
    fits=(
        Route(
            "fewer requests are in service than the client claims",
            when=("service_share < too_few", "completions >= enough"),
            uses=("server",),
            rivals=("held_back",),
            says=(
                "Fewer requests are in service than claimed. {in_service:} of {offered:int} streams over {completions:int} "
                "completions, at most {running_max:int} at a time."
            ),
        ),
    ),
    rivals={
        "held_back": Rival(
            "a slot limit, a full cache or a queue in front of the server that holds the others back",
            closed=("waiting_share <= no_wait", "over_limit < 0"),
            settle="the server's slot number and its waiting count (statistics lines, /metrics, llama-server -lv 4), or --given slots=N",
        ),
    },
    collect={
        "service_share": "the claimed streams (a sweep table, or --given streams=N), and " + _LOG,
        "completions": _LOG,
        "waiting_share": "the server's waiting count (statistics lines, /metrics, llama-server -lv 4)",
        "waiting_seen": "the server's waiting count (statistics lines, /metrics, llama-server -lv 4)",
        "over_limit": "the server's slot number: keep its start-up log, or --given slots=N",
        "idle_share": _LOG,
        "gaps": _LOG,
    },
    means="The numbers of this run are the client's, not the server's limit.",
    remedy="If a proxy or router stands in front of the server, raise its limit of requests at a time. Send more at a time, and send the next request as soon as one is done: more streams, a larger pool, no waiting between turns.",
    not_a_remedy="Faster cards, more slots or another server setting do not raise a total that nobody asks for.",
    next=(
        Experiment(
            "the same server under a client that keeps its streams open",
            "vllm bench serve --max-concurrency 64 --ignore-eos --random-input-len 512 --random-output-len 256 --num-prompts 640 "
            "--save-result --save-detailed",
            "the total rises: the client was the limit; it stays: the server is",
            cost=1,
        ),
    ),
)
