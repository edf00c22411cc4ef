"""Does the KV cache run out?

What it finds
    A server that takes running requests back because the KV cache is full, and computes their tokens again later.

Why it matters
    A full cache and a full slot limit look alike from outside: requests wait, the total is flat. The cure is another one: memory,
    shorter contexts or fewer requests at a time. Now and then a preemption costs nothing.

How it decides
    Confirmed: more than one preemption or retraction per minute (three at least, over a minute or more), with the cache at 0.95 or
    more around them. Ruled out: usage always under 0.85, a log that would have printed preemptions and printed none, and no line in
    which requests wait while fewer run than the limit of their engine allows (that is admission, not the cache). One event per hour is
    neither.

Known problems
    vLLM's V1 engine prints preemptions only from 0.12 on: before that its silence says nothing. What was recomputed is printed by no
    server, so the cost is not known. llama.cpp prints no usage: its "no free space" lines only fit, since a fragmented cache or one
    long prompt gives them too.
"""

from ..engine.rule import STATE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH stats AS MATERIALIZED (
    -- a line that does not name its engine may be of all engines together
    SELECT v.*, l.line_lo AS slots_lo, CASE WHEN v.engine IS NULL THEN greatest(l.line_hi, l.slots_hi) ELSE l.line_hi END AS slots_hi
    FROM main.server_in_scope v LEFT JOIN main.server_limits l ON l.source_id = v.source_id AND l.run = coalesce(v.run, 0)
    WHERE v.kv_usage IS NOT NULL OR v.running IS NOT NULL OR v.preemptions IS NOT NULL
), bound AS (
    SELECT b.source_id, min(s.scope_id) AS scope_id FROM main.bindings b JOIN main.scopes s ON s.label = b.label GROUP BY b.source_id
), told AS (
    SELECT e.source_id, e.line, e.run, e.kind, e.value, e.t, e.time, coalesce(e.engine, 0) AS engine, e.server
    FROM main.server_events e WHERE e.kind IN ('preempt', 'retract', 'kv-full')
), near_line AS (
    -- the statistics line before an event, and the one after it
    SELECT t.*, s.scope_id AS line_scope, s.kv_usage AS usage_before, s.line AS line_before
    FROM told t ASOF LEFT JOIN (SELECT source_id, line, scope_id, kv_usage FROM stats WHERE kv_usage IS NOT NULL) s
        ON t.source_id = s.source_id AND t.line >= s.line
), near_both AS (
    SELECT n.*, s.scope_id AS next_scope, s.kv_usage AS usage_after
    FROM near_line n ASOF LEFT JOIN (SELECT source_id, line, scope_id, kv_usage FROM stats WHERE kv_usage IS NOT NULL) s
        ON n.source_id = s.source_id AND n.line < s.line
), in_window AS (
    SELECT n.*, w.scope_id AS window_scope, w.ended + w.unc_s AS window_end
    FROM near_both n ASOF LEFT JOIN (FROM main.scope_windows ORDER BY began) w ON n.time >= w.began
), placed AS MATERIALIZED (
    SELECT
        coalesce(b.scope_id, CASE WHEN i.time <= i.window_end THEN i.window_scope END, i.line_scope, i.next_scope, CASE
            WHEN i.time IS NULL THEN 0 END) AS scope_id,
        i.* EXCLUDE (line_scope, next_scope, window_scope, window_end)
    FROM in_window i LEFT JOIN bound b USING (source_id)
), counted AS (
    -- vLLM's V0 engine prints the first and then each 50th preemption with the count so far
    SELECT
        scope_id,
        count(*) FILTER (kind = 'retract')
            + coalesce(max(value) FILTER (kind = 'preempt') - min(value) FILTER (kind = 'preempt') + 1,
                count(*) FILTER (kind = 'preempt')) AS events,
        count(*) FILTER (kind = 'kv-full') AS full_seen,
        median(greatest(usage_before, usage_after)) FILTER (kind <> 'kv-full') AS usage_at,
        min({'source_id': source_id, 'line': line}, 3) AS ev
    FROM placed GROUP BY scope_id
), told_in_lines AS (
    SELECT
        scope_id, sum(preemptions) AS events, median(kv_usage) FILTER (preemptions > 0) AS usage_at,
        min({'source_id': source_id, 'line': line}, 3) FILTER (preemptions > 0) AS ev
    FROM stats GROUP BY scope_id
), in_runs AS (
    -- by the whole run of the servers of a scope: a gap in the load may lie between a scope and what was taken back
    SELECT r.scope_id, count(e.line) + coalesce(sum(e.preemptions), 0) AS events
    FROM (SELECT DISTINCT scope_id, source_id, coalesce(run, 0) AS run FROM stats) r JOIN (
        SELECT source_id, coalesce(run, 0) AS run, line, NULL AS preemptions FROM told WHERE kind <> 'kv-full'
        UNION ALL SELECT source_id, coalesce(run, 0), NULL, preemptions FROM main.server_samples WHERE preemptions > 0
    ) e USING (source_id, run) GROUP BY r.scope_id
), spans AS (
    SELECT scope_id, sum(span_s) / 60 AS minutes FROM (
        SELECT scope_id, source_id, coalesce(run, 0) AS run, max(t) - min(t) AS span_s FROM (
            SELECT scope_id, source_id, run, t FROM stats UNION ALL SELECT scope_id, source_id, run, t FROM placed
            UNION ALL SELECT scope_id, source_id, run, started_t FROM main.requests_in_scope
            UNION ALL SELECT scope_id, source_id, run, finished_t FROM main.requests_in_scope
        ) WHERE t IS NOT NULL GROUP BY ALL
    ) GROUP BY scope_id
), usage AS (
    SELECT
        scope_id, max(kv_usage) AS usage_max, count(kv_usage) AS usage_lines, max(waiting) AS waiting_max,
        -- waiting beside free slots of the same engine: where the limit is an interval, fewer than its low end is enough, and between
        -- the ends it is unknown
        avg(coalesce(stalled, 0)) FILTER (counts) AS stalled_lo, avg(coalesce(stalled, 1)) FILTER (counts) AS stalled_hi,
        count(DISTINCT (source_id, engine, rank)) AS engines,
        avg((kv_usage >= 0.95)::INT) AS full_share,
        min_by({'source_id': source_id, 'line': line}, {'least': -kv_usage, 'source_id': source_id, 'line': line}, 2) FILTER (kv_usage IS NOT NULL) AS ev
    FROM (
        SELECT
            *, waiting IS NOT NULL AND (waiting < 1 OR (running IS NOT NULL AND phase IS DISTINCT FROM 'prefill')) AS counts,
            CASE WHEN waiting < 1 THEN 0 WHEN running < slots_lo THEN 1 WHEN running >= slots_hi THEN 0 END AS stalled
        FROM stats
    ) GROUP BY scope_id
), versions AS (
    SELECT
        scope_id,
        min(value) FILTER (key = 'engine_core' AND origin <> 'estimated') AS core,
        min(value) FILTER (key = 'version' AND origin <> 'estimated') AS version,
        max(num_lo) FILTER (key = 'kv_tokens') AS kv_tokens, max(num_hi) FILTER (key = 'n_ctx_slot') AS ctx
    FROM main.config_in_scope GROUP BY scope_id
), sources AS (
    -- would this log have printed them? every server of the scope must
    SELECT
        s.scope_id,
        min(CASE WHEN s.server = 'sglang' OR s.preemptions IS NOT NULL OR v.core = 'V0' THEN 1
                 WHEN s.server = 'vllm' AND TRY_CAST(regexp_extract(v.version, '^v?(\\d+)\\.(\\d+)', 1) AS INT) * 1000
                    + TRY_CAST(regexp_extract(v.version, '^v?(\\d+)\\.(\\d+)', 2) AS INT) >= 12 THEN 1 ELSE 0 END) AS would_tell
    FROM (SELECT scope_id, source_id, min(server) AS server, max(preemptions) AS preemptions FROM stats GROUP BY scope_id,
        source_id) s
    LEFT JOIN versions v USING (scope_id) GROUP BY s.scope_id
)
SELECT
    sc.scope_id,
    coalesce(c.events, 0) + coalesce(t.events, 0) AS events_seen, list_concat(c.ev, t.ev) AS events_seen_ev,
    p.minutes, CASE WHEN p.minutes > 0 THEN (coalesce(c.events, 0) + coalesce(t.events, 0)) / p.minutes END AS events_per_min,
        list_concat(c.ev, t.ev) AS events_per_min_ev,
    coalesce(t.usage_at, c.usage_at) AS usage_at_events, coalesce(g.events, 0) AS events_in_run,
    coalesce(c.full_seen, 0) AS full_seen, c.ev AS full_seen_ev,
    u.usage_max, u.ev AS usage_max_ev, u.usage_lines, u.waiting_max, u.stalled_lo AS stalled_share_lo, u.stalled_hi AS stalled_share_hi, u.full_share,
    s.would_tell, l.slots_lo, l.slots_hi, l.slots_ev, v.kv_tokens,
    CASE WHEN u.engines > 1 THEN printf('in none of %d engines does anybody wait beside a free slot of that engine', u.engines)
        ELSE 'nobody waits beside a free slot' END AS nobody_text,
    CASE WHEN v.kv_tokens > 0 THEN printf('The pool holds %.0f tokens.', v.kv_tokens)
        ELSE 'The size of the pool is not logged.' END AS pool_text
FROM main.scopes sc
LEFT JOIN counted c USING (scope_id) LEFT JOIN told_in_lines t USING (scope_id) LEFT JOIN spans p USING (scope_id) LEFT JOIN in_runs g USING (scope_id)
LEFT JOIN usage u USING (scope_id) LEFT JOIN sources s USING (scope_id) LEFT JOIN main.slots l USING (scope_id) LEFT
    JOIN versions v USING (scope_id)
"""

_LOG = "the server's log of the run with its statistics lines (KV cache usage, preemptions, retractions), or /metrics before and after it"

RULE = Rule(
    id="kv-pressure",
    claim=STATE,
    about="the KV cache",
    question="Does the KV cache run out?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "often": Limit(1.0, "events per minute", "about one a minute is harmless by SGLang's own guidance"),
        "some_events": Limit(3, "events", "one or two in a short run are no rate"),
        "a_minute": Limit(1.0, "minutes", "a rate per minute needs one"),
        "full": Limit(0.95, "of the cache", "an event with room left has another reason"),
        "roomy": Limit(0.85, "of the cache", "a tenth under the level at which servers start to take back"),
        "enough_lines": Limit(5, "lines", "fewer do not show a steady state"),
        "stalled": Limit(0.50, "share of lines", "a line now and then may catch an admission in progress"),
    },
    confirmed=(
        Route(
            "requests are taken back more than once a minute with the cache full",
            when=("events_per_min > often", "events_seen >= some_events", "minutes >= a_minute", "usage_at_events >= full"),
            uses=("server",),
            says=(
                "The KV cache runs out. {events_seen:int} preemptions or retractions in {minutes:min} are {events_per_min:} a minute, "
                "with the cache at {usage_at_events:share} around them. {pool_text}"
            ),
        ),
    ),
    ruled_out=(
        Route(
            "the cache always has room, and nothing is taken back",
            when=(
                "usage_max < roomy",
                "would_tell >= 1",
                "events_seen <= 0",
                "events_in_run <= 0",
                "full_seen <= 0",
                "stalled_share <= 0",
                "usage_lines >= enough_lines",
            ),
            uses=("server",),
            says=("The KV cache has room. {usage_max:share} at most in {usage_lines:int} lines, nothing taken back, and {nobody_text}."),
        ),
    ),
    fits=(
        Route(
            "requests are taken back more than once a minute",
            when=("events_per_min > often", "events_seen >= some_events", "minutes >= a_minute"),
            uses=("server",),
            rivals=("other_reason",),
            says=(
                "Requests are taken back. {events_seen:int} times in {minutes:min}, {events_per_min:} a minute; cache usage around "
                "them: {usage_at_events:share}."
            ),
        ),
        Route(
            "the cache is full while requests wait beside free slots",
            when=("usage_max >= full", "full_share >= stalled", "stalled_share >= stalled", "usage_lines >= enough_lines"),
            uses=("server", "config"),
            rivals=("admission",),
            says=(
                "The KV cache may be the limit. It is at {usage_max:share}, in {full_share:share} of {usage_lines:int} lines at 95 % "
                "or more, and requests wait although fewer than {slots:} run."
            ),
        ),
        Route(
            "the server found no free space in the cache",
            when=("full_seen >= some_events",),
            uses=("server",),
            rivals=("other_reason",),
            says="The server found no free space in the KV cache. It says so {full_seen:int} times.",
        ),
    ),
    rivals={
        "other_reason": Rival(
            "a fragmented cache, one prompt larger than what is left, or a reservation that is taken back",
            closed=("usage_at_events >= full", "events_seen >= some_events"),
            settle="the cache usage at the events (statistics lines, /metrics), and the lengths of the requests",
        ),
        "admission": Rival(
            "admission by reservation, a token budget per step, or a prompt larger than the pool at the head of the queue",
            closed=("events_per_min > often",),
            settle="vllm:num_requests_waiting_by_reason, the preemption counter, and the max_tokens that the client sends",
        ),
    },
    collect={
        "events_per_min": _LOG,
        "events_seen": _LOG,
        "events_in_run": _LOG,
        "minutes": "the same log with times",
        "usage_at_events": _LOG,
        "usage_max": _LOG,
        "usage_lines": _LOG,
        "full_share": _LOG,
        "full_seen": _LOG,
        "would_tell": "a log that prints preemptions: vLLM 0.12 or later, SGLang, or vllm:num_preemptions_total before and after the run",
        "stalled_share": "the running and waiting counts, and the server's limit (--given slots=N)",
    },
    means="What is taken back is computed again: work that serves nobody.",
    remedy="Give the cache more memory, shorten contexts, quantise the cache, or let fewer requests in at a time.",
    not_a_remedy="More slots make it worse: the cache, not the slots, is what runs out.",
    next=(
        Experiment(
            "the same load with fewer requests at a time",
            "vllm serve ... --max-num-seqs HALF   (SGLang --max-running-requests HALF, llama-server -np HALF)",
            "the total stays or rises and the events end: the cache was the limit",
            cost=1,
            on={
                "vllm": "vllm serve ... --max-num-seqs HALF",
                "sglang": "python -m sglang.launch_server ... --max-running-requests HALF",
                "llama.cpp": "llama-server ... -np HALF",
                "ollama": "OLLAMA_NUM_PARALLEL=HALF ollama serve",
            },
        ),
    ),
)
