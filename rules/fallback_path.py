"""Does the server say that it took a slower path?

What it finds
    Lines in which a server says that it runs without something faster: no tuned kernel configuration, a collective switched off, no
    graphs, no flash attention, no pipeline over micro-batches, no usable card at all.

Why it matters
    Such a line is printed once at the start and scrolls away. It is the cheapest finding there is.

How it decides
    The line confirms the state. Settings that say the same (eager mode, flash attention disabled) and decode lines of which half or
    more run without a graph count as well. What it costs is not claimed: a tuned configuration has also made things slower.

Known problems
    A server that falls back silently is not seen, and so are start-up lines that were cut off. Therefore this rule never rules out.
    Some lines name a choice of backend, not a lack of hardware.
"""

from ..engine.rule import STATE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH linked AS MATERIALIZED (
    SELECT DISTINCT scope_id, source_id, run FROM main.scope_servers WHERE how = 'load'
), told AS MATERIALIZED (
    SELECT source_id, coalesce(run, 0) AS run, line, coalesce(detail, 'unnamed') AS what FROM main.server_events WHERE kind = 'fallback'
), servers AS (
    SELECT count(*) AS n FROM (SELECT DISTINCT source_id, coalesce(run, 0) FROM main.server_config UNION SELECT DISTINCT source_id, run
        FROM told)
), reach AS (
    -- the server that served the scope; where none is known, the only one there is
    SELECT l.scope_id, l.source_id, l.run, TRUE AS sure FROM linked l
    UNION ALL
    SELECT sc.scope_id, t.source_id, t.run, s.n = 1
    FROM main.scopes sc CROSS JOIN (SELECT DISTINCT source_id, run FROM told) t CROSS JOIN servers s
    WHERE sc.scope_id NOT IN (SELECT scope_id FROM linked)
), lines AS (
    SELECT r.scope_id, t.what, t.source_id, t.line, r.sure FROM reach r JOIN told t USING (source_id, run)
    UNION ALL
    SELECT scope_id, CASE key WHEN 'eager' THEN 'eager' ELSE 'no-flash-attention' END, e.source_id, e.line, origin IN ('logged', 'given')
    FROM (
        SELECT scope_id, key, origin, unnest(ev) AS e FROM main.config_in_scope
        WHERE (key = 'eager' AND lower(value) IN ('true', '1')) OR (key = 'flash_attn' AND lower(value) IN ('disabled', 'off', 'false',
            '0'))
    )
), found AS (
    SELECT
        scope_id, count(DISTINCT what) AS fallbacks_seen, string_agg(DISTINCT what, ', ' ORDER BY what) AS what_text,
            bool_and(sure) AS sure,
        min({'source_id': source_id, 'line': line}, 3) AS ev
    FROM lines GROUP BY scope_id
), graphs AS (
    SELECT
        scope_id, avg((NOT cuda_graph)::INT) AS eager_share, count(cuda_graph) AS graph_lines,
        min({'source_id': source_id, 'line': line}, 2) FILTER (NOT cuda_graph) AS ev
    FROM main.server_in_scope WHERE cuda_graph IS NOT NULL AND phase IS DISTINCT FROM 'prefill' GROUP BY scope_id
)
SELECT
    sc.scope_id, coalesce(f.fallbacks_seen, 0) AS fallbacks_seen, CASE WHEN NOT f.sure THEN 'estimated'
        WHEN f.sure THEN 'logged' END AS fallbacks_seen_origin,
    f.ev AS fallbacks_seen_ev, f.what_text, g.eager_share, g.ev AS eager_share_ev, g.graph_lines
FROM main.scopes sc LEFT JOIN found f USING (scope_id) LEFT JOIN graphs g USING (scope_id)
"""

_LOG = "the server's log from its very first line (llama-server -lv 4; docker logs; journalctl)"
_SAYS = "The server took a slower path. Its log says: {what_text}. What that costs is not shown by these files."

RULE = Rule(
    id="fallback-path",
    claim=STATE,
    about="a slower path that the server announced",
    question="Does the server say that it took a slower path?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "any": Limit(1, "lines", "one line is enough: it is printed once"),
        "mostly": Limit(0.5, "share of decode lines", "a batch larger than the captured ones runs without a graph now and then"),
        "enough": Limit(5, "lines", "fewer do not show a steady state"),
    },
    confirmed=(
        Route("a line of the server's log says so", when=("fallbacks_seen >= any",), uses=("server",), says=_SAYS),
        Route("a line or a setting of the server says so", when=("fallbacks_seen >= any",), uses=("config",), says=_SAYS),
        Route(
            "most decode steps run without a graph",
            when=("eager_share >= mostly", "graph_lines >= enough"),
            uses=("server",),
            says="Decode runs without graphs. {eager_share:share} of {graph_lines:int} decode lines say so.",
        ),
    ),
    fits=(
        Route(
            "some server of these files took a slower path",
            when=("fallbacks_seen >= any",),
            uses=("server",),
            rivals=("other_run",),
            says="A server took a slower path. A log of these files says: {what_text}.",
        ),
    ),
    rivals={
        "other_run": Rival(
            "the line belongs to another run than this one",
            closed=(),
            settle="the log of the very server that was measured, from its start",
        ),
    },
    collect={"fallbacks_seen": _LOG, "eager_share": "SGLang's decode lines", "graph_lines": "SGLang's decode lines"},
    means="It is a state. Only the same run without it shows what it costs.",
    remedy="What the line names: a tuned configuration file, a build with the kernel, graphs on, another attention backend, peer access.",
    not_a_remedy="Silencing the line changes nothing.",
    next=(
        Experiment(
            "the same run with the faster path",
            "vllm serve ... (without --enforce-eager), SGLang without --disable-cuda-graph, llama-server -fa on; three repeats each",
            "15 % or more between them: the path matters",
            cost=2,
            on={
                "vllm": "vllm serve ... without --enforce-eager; three repeats with it and three without",
                "sglang": "python -m sglang.launch_server ... without --disable-cuda-graph; three repeats with it and three without",
                "llama.cpp": "llama-server ... -fa on, then -fa off (no-gpu: a build whose llama-server --list-devices names the cards); three repeats each",
                "ollama": "ollama run MODEL --verbose with OLLAMA_FLASH_ATTENTION=1 and =0 for ollama serve (no-gpu: after nvidia-smi or rocminfo "
                "names the cards for its user or in its container); three repeats each",
            },
        ),
    ),
)
