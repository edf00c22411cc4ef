"""Are whole prompts computed again?

What it finds
    A llama.cpp server that says it computes a prompt from its first token although a part of it was in the cache.

Why it matters
    In a conversation every turn then costs its whole history: the time to the first token grows with the chat, and neither a faster
    card nor more slots change that.

How it decides
    By the server's own line ("forcing full prompt re-processing"): three or more of them while it serves confirm the state. Ruled out:
    no such line, and four fifths of all prompt tokens come from the cache over five requests or more.

Known problems
    What the recomputation costs is not in the line. A low hit rate alone says nothing: prompts that share no prefix have nothing to
    reuse. Without the line (other servers, quiet logs) the question stays open.
"""

from ..engine.rule import STATE, Experiment, Limit, Route, Rule

FACTS = """
WITH told AS (
    SELECT e.source_id, e.line, e.time, b.label FROM main.server_events e LEFT JOIN main.bindings b USING (source_id) WHERE e.kind = 're-prefill'
), placed AS (
    SELECT
        CASE WHEN t.label IS NOT NULL THEN s.scope_id WHEN t.time <= w.ended + w.unc_s THEN w.scope_id WHEN w.scope_id IS NULL THEN 0 END AS scope_id,
        t.source_id, t.line
    FROM told t ASOF LEFT JOIN (FROM main.scope_windows ORDER BY began) w ON t.time >= w.began - 0.1 LEFT JOIN main.scopes s ON s.label = t.label
), counted AS (
    SELECT scope_id, count(*) AS n, min({'source_id': source_id, 'line': line}, 3) AS ev FROM placed GROUP BY scope_id
), served AS (
    SELECT
        scope_id, count(*) AS requests, count(cached_tokens) AS known, sum(cached_tokens) / nullif(sum(cached_tokens + prompt_tokens), 0) AS cached_share,
        median(prompt_tokens) AS prompt_usual, min({'source_id': source_id, 'line': line}, 2) AS ev
    FROM main.requests_in_scope WHERE prompt_tokens IS NOT NULL GROUP BY scope_id
)
SELECT
    sc.scope_id, CASE WHEN v.scope_id IS NOT NULL OR c.n IS NOT NULL THEN coalesce(c.n, 0) END AS recomputed, c.ev AS recomputed_ev, v.requests,
    CASE WHEN v.known = v.requests THEN v.cached_share END AS cached_share, v.ev AS cached_share_ev, v.prompt_usual
FROM main.scopes sc LEFT JOIN counted c USING (scope_id) LEFT JOIN served v USING (scope_id)
"""

_LOG = "llama-server's log of the run (-lv 4), with its lines about the prompt cache"

RULE = Rule(
    id="re-prefill",
    claim=STATE,
    about="prompts that are computed again",
    question="Are whole prompts computed again?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "some": Limit(3, "lines", "one or two may be a conversation that was edited"),
        "enough": Limit(5, "requests", "fewer are no habit"),
        "reused": Limit(0.8, "of the prompt tokens", "most of every prompt comes from the cache"),
    },
    confirmed=(
        Route(
            "the server says that it computes whole prompts again",
            when=("recomputed >= some",),
            uses=("server",),
            says="Whole prompts are computed again. The server says so {recomputed:int} times in {requests:int} requests, of {prompt_usual:int} computed prompt tokens in the "
            "middle.",
        ),
    ),
    ruled_out=(
        Route(
            "prompts come from the cache",
            when=("recomputed <= 0", "cached_share >= reused", "requests >= enough"),
            uses=("server",),
            says="Prompts are reused. {cached_share:share} of the prompt tokens of {requests:int} requests come from the cache.",
        ),
    ),
    collect={"recomputed": _LOG, "cached_share": _LOG, "requests": _LOG},
    means="The cache holds what the next turn needs, and it is not used.",
    remedy="For models with sliding windows: llama-server --swa-full, or more context checkpoints; keep the beginning of the prompt the same in every turn.",
    not_a_remedy="More slots or a faster card: the same prompts are computed again, only faster.",
    next=(
        Experiment(
            "the same conversation with the full cache kept",
            "llama-server ... --swa-full",
            "the line is gone and the first token comes at once: it was that",
            cost=1,
        ),
    ),
)
