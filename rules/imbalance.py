"""Has one engine of a server more work than the others?

What it finds
    A server of several data-parallel engines in which requests wait at one engine while the others have room.

Why it matters
    The total looks like that of a full server, and the cards of the other engines are half empty. More cards or more slots change little;
    another way to hand out requests changes a lot.

How it decides
    By the server's own lines per engine: the requests that are at an engine, running and waiting, in the mean over its lines. Confirmed:
    the engine with most has 1.5 times the mean of all or more, somebody waits at it in half of its lines, and at no other in more than 5 % of
    theirs. Every engine has five lines at least, and half as many as the one with most of them; else it merely fits. Ruled out: no engine runs or holds more
    than 1.2 times the mean, where all engines of the log's setting have lines of the same number.
    It is a state. Why requests go there (a router that counts turns instead of load, sessions that stick, a prefix that one engine has) the
    lines do not say.

Known problems
    vLLM leaves out the lines of an engine with nothing to do, and so does a log that was filtered: an engine without lines is not judged.
    Experts that are loaded unevenly inside one step show in no line of the server.
"""

from ..engine.rule import STATE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH lines AS (
    SELECT scope_id, source_id, coalesce(run, 0) AS run, engine, line, running, waiting
    FROM main.server_in_scope WHERE engine IS NOT NULL AND running IS NOT NULL AND waiting IS NOT NULL AND phase IS DISTINCT FROM 'prefill'
), engines AS (
    SELECT
        scope_id, source_id, run, engine, count(*) AS n, avg(running) AS running, avg(running + waiting) AS held, avg((waiting >= 1)::INT) AS waits,
        min({'source_id': source_id, 'line': line}, 2) FILTER (running + waiting > 0) AS ev
    FROM lines GROUP BY scope_id, source_id, run, engine
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY scope_id, source_id, run ORDER BY held DESC, engine) AS place FROM engines
), servers AS (
    SELECT
        scope_id, source_id, run, count(*) AS engines, min(n) AS lines_least, min(n) / max(n) AS lines_even, max(held) / nullif(avg(held), 0) AS held_ratio,
        max(running) / nullif(avg(running), 0) AS running_ratio, max(held) AS held_most, avg(held) FILTER (place > 1) AS held_rest,
        min(engine) FILTER (place = 1) AS fullest, any_value(waits) FILTER (place = 1) AS waits_full, max(waits) FILTER (place > 1) AS waits_rest,
        min(ev) FILTER (place = 1) AS full_ev, min(ev) FILTER (place = 2) AS rest_ev
    FROM ranked GROUP BY scope_id, source_id, run
), worst AS (
    -- of several servers in a scope the one that is furthest from even
    SELECT * FROM servers WHERE engines >= 2 QUALIFY row_number() OVER (PARTITION BY scope_id ORDER BY held_ratio DESC NULLS LAST, source_id, run) = 1
), told AS (
    SELECT source_id, coalesce(run, 0) AS run, max(num) AS engines FROM main.server_config WHERE key = 'data_parallel' AND num >= 1 GROUP BY ALL
), alone AS (
    -- servers of one engine: their family prints no others, or their settings say so
    SELECT scope_id FROM main.servers WHERE server NOT IN ('vllm', 'sglang')
    UNION
    SELECT scope_id FROM main.config_in_scope WHERE key = 'data_parallel' GROUP BY scope_id HAVING max(coalesce(num_hi, num_lo)) = 1
)
SELECT
    sc.scope_id, CASE WHEN w.scope_id IS NOT NULL THEN w.engines WHEN sc.scope_id IN (FROM alone) THEN 1 END AS engines,
    w.lines_least, w.lines_even, w.held_ratio, w.full_ev AS held_ratio_ev, w.rest_ev AS held_rest_ev, greatest(w.held_ratio, w.running_ratio) AS uneven,
    w.held_most, w.held_rest, w.fullest, w.waits_full, w.waits_rest, t.engines - w.engines AS engines_unseen
FROM main.scopes sc LEFT JOIN worst w USING (scope_id) LEFT JOIN told t USING (source_id, run)
"""

_LOG = "the server's log with the statistics lines of every engine (vLLM: 'Engine 000', 'Engine 001'; SGLang: 'DP0', 'DP1'), unfiltered"

RULE = Rule(
    id="imbalance",
    claim=STATE,
    about="one engine has more work than the others",
    question="Has one engine more work than the others?",
    scopes=("trace", "step", "regime"),
    applies=("engines >= 2",),
    facts=FACTS,
    limits={
        "apart": Limit(1.5, "times the mean", "with two engines: three quarters of the requests at one"),
        "even": Limit(1.2, "times the mean", "arrivals by chance differ by as much"),
        "often": Limit(0.50, "of its lines", "less may be a burst"),
        "hardly": Limit(0.05, "of their lines", "an arrival may be caught waiting for the next step"),
        "many": Limit(4, "requests", "of fewer, chance alone gives one engine half as many again"),
        "enough": Limit(5, "lines", "fewer do not show a steady state"),
        "half": Limit(0.50, "of the lines", "an engine with far fewer lines was not seen for most of the time"),
        "as_many": Limit(0.80, "of the lines", "engines print in the same rhythm while they work"),
    },
    confirmed=(
        Route(
            "requests wait at one engine while the others have room",
            when=("held_ratio >= apart", "held_most >= many", "lines_least >= enough"),
            uses=("server",),
            rivals=("harmless", "unseen"),
            says="One of {engines:int} engines has more work than the others. Engine {fullest:int} holds {held_most} requests in the mean, "
            "the others {held_rest} each. Somebody waits at it in {waits_full:share} of its lines, at each of the others in {waits_rest:share} at most.",
        ),
    ),
    ruled_out=(
        Route(
            "all engines have the same",
            when=("uneven <= even", "engines_unseen <= 0", "lines_least >= enough", "lines_even >= as_many"),
            uses=("server",),
            says="The {engines:int} engines have the same work. The one with most holds {held_most} requests in the mean, the others {held_rest} each.",
        ),
    ),
    rivals={
        "harmless": Rival(
            "requests that are spread unevenly and lose nothing by it: hardly anybody waits, or they wait at all engines",
            closed=("waits_full >= often", "waits_rest <= hardly"),
            settle="the same log at a higher load",
        ),
        "unseen": Rival(
            "an engine whose lines are missing for most of the time, or that had nothing to do and was silent",
            closed=("lines_even >= half",),
            settle="the whole log, unfiltered",
        ),
    },
    collect={
        "engines": _LOG,
        "held_ratio": _LOG,
        "held_most": _LOG,
        "uneven": _LOG,
        "waits_full": _LOG,
        "waits_rest": _LOG,
        "lines_least": _LOG,
        "lines_even": _LOG,
        "engines_unseen": "the server's start-up lines with its data-parallel size, and the lines of all engines",
        "server": _LOG,
    },
    means="Requests wait at an engine that is full while cards of other engines have room.",
    remedy="Hand out requests by load instead of by turns or by session, or give each engine fewer sessions to keep.",
    not_a_remedy="More slots, or more cards per engine: most of what is there waits for requests.",
    next=(
        Experiment(
            "the same load without sticky sessions",
            "grep -E 'Engine [0-9]{3}|DP[0-9]+' server.log | tail -n 40   (while the same load runs behind a router that counts open requests)",
            "the engines' numbers draw together and the total rises: the router kept them apart; they stay apart: requests differ in size",
            cost=1,
        ),
    ),
)
