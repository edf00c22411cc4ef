"""Do requests wait although slots and cache are free?

What it finds
    A server that leaves requests in its queue while fewer run than its limit allows and the KV cache has room: something else decides
    who may enter.

Why it matters
    From outside this looks like a slot limit or a full cache, and more slots or more memory change nothing. A reservation for answers
    that are never written (max_tokens far above what comes), a prompt larger than the pool at the head of the queue, a limit on
    adapters or images, a grammar that is being compiled, or a cache that has to arrive from elsewhere holds them back.

How it decides
    By the server's own counts: in half of the loaded lines or more (five at least) somebody waits, fewer than 0.9 of the limit run, and
    the cache is under 0.85. That is the state; its cause needs the server's own reason. Prefill looks the same: while a long prompt is
    computed the next ones wait, and the tokens per step are the limit. So it is confirmed only where that budget is seen not to be
    used: vLLM's prompt tokens per step (prompt rate over the steps that the running streams show), or the new tokens of SGLang's prefill
    batches, at half of the logged budget or less. Ruled out: nobody waits in 95 % of the lines.

Known problems
    A step is counted as one token of every running stream, so the prompt tokens of a step are overstated while prompts are computed:
    that keeps prefill open, never closes it. With speculative decoding of unknown length the steps are unknown.
"""

from ..engine.rule import STATE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH settings AS (
    SELECT
        scope_id,
        min(num_lo) FILTER (key = 'max_batched_tokens' AND num_lo > 0) AS batched, min(value) FILTER (key = 'speculation') AS speculation,
        coalesce(min(num_lo) FILTER (key = 'chunked_prefill_size' AND num_lo > 0), min(num_lo) FILTER (key = 'max_prefill_tokens' AND num_lo > 0)) AS chunk,
        min(ev) FILTER (key IN ('max_batched_tokens', 'chunked_prefill_size', 'max_prefill_tokens')) AS ev
    FROM main.config_in_scope GROUP BY scope_id
), lines AS MATERIALIZED (
    SELECT
        v.scope_id, v.source_id, v.line, v.server, v.phase, v.running, v.waiting, v.kv_usage, v.prompt_tok_s, v.gen_tok_s, v.new_tokens, v.accept_len,
        -- the limit of the line's own engine or rank
        floor(l.line_lo) AS slots, l.origin AS slots_origin, l.given AS slots_given, l.ev AS slots_ev
    FROM main.server_in_scope v LEFT JOIN main.server_limits l ON l.source_id = v.source_id AND l.run = coalesce(v.run, 0)
    WHERE v.running IS NOT NULL AND v.waiting IS NOT NULL
), judged AS MATERIALIZED (
    -- unknown counts as unknown: a line without cache usage or limit stalls nobody and clears nobody
    SELECT *, CASE WHEN waiting < 1 THEN 0 ELSE (running < 0.9 * slots AND kv_usage < 0.85)::INT END AS stalled
    FROM lines WHERE phase IS DISTINCT FROM 'prefill' AND running + waiting >= 1
), counts AS (
    SELECT
        scope_id, count(*) AS loaded_lines, avg((waiting >= 1)::INT) AS waiting_share, CASE WHEN count(stalled) = count(*) THEN avg(stalled) END AS stalled_share,
        median(waiting) FILTER (stalled = 1) AS waiting_usual, median(running) FILTER (stalled = 1) AS running_usual, max(kv_usage) FILTER (stalled = 1) AS usage_most,
        any_value(slots) AS slots, min(slots_origin) AS origin, min(slots_given) AS given, min(slots_ev) AS slots_ev,
        min({'source_id': source_id, 'line': line}, 3) FILTER (stalled = 1) AS ev
    FROM judged GROUP BY scope_id
), steps AS (
    -- prompt tokens of one step beside one token of every running stream; with prompts and no answers the whole budget may be used
    SELECT
        j.scope_id, median(CASE
            WHEN j.prompt_tok_s = 0 THEN j.running
            WHEN j.gen_tok_s > 0 AND j.running > 0 AND (j.accept_len IS NOT NULL OR s.speculation IS DISTINCT FROM 'on')
            THEN j.prompt_tok_s * coalesce(j.accept_len, 1) * j.running / j.gen_tok_s + j.running END / s.batched) AS used,
        count(*) AS n, count(j.prompt_tok_s) FILTER (j.prompt_tok_s = 0 OR j.gen_tok_s > 0) AS known
    FROM judged j JOIN settings s USING (scope_id) WHERE j.stalled = 1 AND j.server = 'vllm' GROUP BY j.scope_id
), batches AS (
    -- the largest but a tenth of the prefill batches that left somebody waiting
    SELECT l.scope_id, quantile_cont(l.new_tokens / s.chunk, 0.9) AS used
    FROM lines l JOIN settings s USING (scope_id) WHERE l.phase = 'prefill' AND l.waiting >= 1 AND l.new_tokens IS NOT NULL GROUP BY l.scope_id
)
SELECT
    sc.scope_id, c.loaded_lines, c.waiting_share, c.stalled_share, c.ev AS stalled_share_ev, c.origin AS stalled_share_origin, c.given AS stalled_share_given,
    c.waiting_usual, c.running_usual, c.usage_most, c.slots, c.slots_ev AS slots_ev,
    coalesce(CASE WHEN v.known = v.n THEN v.used END, b.used) AS budget_used, s.ev AS budget_used_ev
FROM main.scopes sc LEFT JOIN counts c USING (scope_id) LEFT JOIN steps v USING (scope_id) LEFT JOIN batches b USING (scope_id)
LEFT JOIN settings s USING (scope_id)
"""

_LOG = "the server's log of the run with its statistics lines (running, waiting, KV usage), from its start"
_BUDGET = "the start-up lines of the server (max_num_batched_tokens, chunked_prefill_size) beside its statistics lines"

RULE = Rule(
    id="admission-stall",
    claim=STATE,
    about="requests kept out of free slots",
    question="Do requests wait although slots and cache are free?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "half": Limit(0.50, "of the loaded lines", "less may be admissions caught in progress"),
        "enough": Limit(5, "lines", "fewer do not show a steady state"),
        "unused": Limit(0.50, "of the tokens per step", "with half of the budget free, prefill is not what the others wait for"),
        "hardly": Limit(0.05, "of the lines", "an arrival may be caught waiting for the next step"),
    },
    confirmed=(
        Route(
            "requests wait beside free slots and a free cache",
            when=("stalled_share >= half", "loaded_lines >= enough"),
            uses=("server", "config"),
            rivals=("prefill",),
            says="Requests wait although slots and cache are free. In {stalled_share:share} of {loaded_lines:int} lines somebody waits ({waiting_usual:int}) while "
            "{running_usual:int} of {slots:int} run and the cache is at {usage_most:share} at most. Prefill uses {budget_used:share} of the tokens per step.",
        ),
    ),
    ruled_out=(
        Route(
            "nobody waits",
            when=("waiting_share <= hardly", "loaded_lines >= enough"),
            uses=("server",),
            says="Requests are admitted at once. Somebody waits in {waiting_share:share} of {loaded_lines:int} lines.",
        ),
    ),
    rivals={
        "prefill": Rival(
            "prompts that are being computed: the tokens per step are the limit, not the admission",
            closed=("budget_used <= unused",),
            settle="vllm:num_requests_waiting_by_reason, or the same load with short prompts",
        ),
    },
    collect={
        "stalled_share": _LOG + "; and its limit (--given slots=N)",
        "loaded_lines": _LOG,
        "waiting_share": _LOG,
        "budget_used": _BUDGET,
        "config": "the server's limit: its start-up lines, or --given slots=N",
    },
    means="Neither slots nor cache keep the waiting requests out.",
    remedy="Send a max_tokens near what is really written, look for a prompt larger than the pool, and read the server's reason for waiting.",
    not_a_remedy="More slots or a larger cache: both are free already.",
    next=(
        Experiment(
            "the same load with a small max_tokens",
            "curl -s localhost:8000/metrics | grep -E 'waiting_by_reason|num_requests'   (before, then with max_tokens near the real length)",
            "more run at once: the reservation kept them out; the same number: another reason",
            cost=1,
        ),
    ),
)
