"""Does the host keep the cards waiting between kernels?

What it finds
    Launches, Python, scheduling or tokenising on the CPU that leave gaps between kernels.

Why it matters
    A small model on a fast card is often limited by launches, and CUDA graphs or fewer host steps help where a faster card does not.

How it decides
    Everything that is no kernel is bounded by the time in which the critical path is not busy: for a serial split 100 - the sum of
    the cards, for a tensor split 100 - the least busy rank. At 5 % or less it is ruled out (gaps of milliseconds). A step time with
    a fixed part far above the roof, steps without CUDA graphs, or gaps of a fifth of a kernel trace only fit: a trace does not say what
    the launching thread did in them, nor how long a step takes without the profiler. Confirmed where the run is the eager one and the same
    load with CUDA graphs, three runs per arm and nothing else changed by both servers' logs, gains 15 % less the noise or more.
    A path that is idle a good part of the time fits only where the samples are placed in the load, a server or client tells that
    somebody asked meanwhile (5 % of the time or more has to be left), every card of the model is recorded and no other works, and no
    part of the model is on the CPU. Where nothing tells how the model is split, the path is the busiest card or the sum of all, and cards
    that take turns are a rival. Stretches of seconds in which all cards are idle do not count into it: they are a question of
    their own (idle-starvation), and where that holds, a host that is stuck fits.

Known problems
    Utilisation cannot resolve gaps of microseconds, and a kernel that waits in a collective counts as busy.
"""

from ..engine.rule import CAUSE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH ranks AS (
    SELECT scope_id, min(util_mean) AS least_busy, count(*) AS cards, max(cards_missing) AS cards_missing, max(cards_extra) AS cards_extra,
        CASE WHEN count(mem_used) = count(*) THEN sum(mem_used) END AS mem_mib
    FROM main.serving_cards GROUP BY scope_id
), holes AS (
    -- stretches of seconds without any work are a question of their own
    SELECT scope_id, source_id, first_cycle, last_cycle FROM main.idle_stretches WHERE n >= 10 AND coalesce(lasts_s, n - 1) >= 5
), working AS (
    SELECT l.scope_id, l.host, l.gpu, avg(l.util_gpu) AS util, count(*) AS n
    FROM main.samples_in_load l JOIN main.decode_sums u USING (scope_id, source_id, cycle)
    JOIN main.serving_cards s ON s.scope_id = l.scope_id AND s.source_id = l.source_id AND s.gpu = l.gpu AND s.host IS NOT DISTINCT FROM l.host
    LEFT JOIN holes h ON h.scope_id = l.scope_id AND h.source_id = l.source_id AND l.cycle BETWEEN h.first_cycle AND h.last_cycle
    WHERE h.scope_id IS NULL GROUP BY l.scope_id, l.host, l.gpu
), split AS (
    SELECT scope_id, value AS split FROM main.config_in_scope WHERE key = 'split'
), path AS (
    SELECT scope_id, sum(util) AS one_by_one, min(util) AS together, max(util) AS busiest, min(n) AS rounds FROM working GROUP BY scope_id
), busy AS (
    -- of a split that nobody tells: their sum if they take turns, and no more than the busiest card if they all work at once
    SELECT
        p.scope_id, p.rounds, CASE WHEN sp.split = 'layer' THEN p.one_by_one WHEN sp.split = 'tensor' OR k.cards = 1 THEN p.together WHEN sp.split IS NULL THEN p.one_by_one END AS path,
        CASE WHEN sp.split IS NULL AND k.cards > 1 THEN p.busiest END AS busiest
    FROM path p LEFT JOIN ranks k USING (scope_id) LEFT JOIN split sp USING (scope_id)
), cpu_parts AS (
    -- a stage on the CPU: layers that are not on the cards, or more in host memory than a token embedding
    SELECT
        c.scope_id, greatest(
            max(CASE WHEN c.key = 'layers_total' THEN c.num_lo END) > max(CASE WHEN c.key = 'layers_offloaded' THEN c.num_hi END),
            max(CASE WHEN c.key = 'memory_on_cpu_share' THEN c.num_hi END) > 0,
            max(CASE WHEN c.key = 'cpu_model_mib' THEN c.num_lo END) > 0.25 * (max(CASE WHEN c.key = 'cpu_model_mib' THEN c.num_lo END) + max(d.mib))
        )::INT AS cpu_stage
    FROM main.config_in_scope c
    LEFT JOIN (SELECT source_id, sum(num) AS mib FROM main.server_config WHERE key = 'device_model_mib' GROUP BY source_id, coalesce(run, 0)) d
        ON c.key = 'cpu_model_mib' AND d.source_id IN (SELECT unnest(c.ev).source_id)
    GROUP BY c.scope_id
), graphs AS (
    SELECT scope_id, avg((NOT cuda_graph)::INT) AS eager_share, count(*) AS n, min({'source_id': source_id, 'line': line}, 2) AS ev
    FROM main.server_in_scope WHERE cuda_graph IS NOT NULL AND phase IS DISTINCT FROM 'prefill' GROUP BY scope_id
), eager AS (
    SELECT scope_id, max((value = 'true')::INT) AS eager FROM main.config_in_scope WHERE key = 'eager' GROUP BY scope_id
), graph_pairs AS (
    -- this run is the eager one, and its twin with graphs differs in nothing else
    SELECT
        scope_id, min(gain_lo) AS gain_lo, max(gain_hi) AS gain_hi, bool_and(sure)::INT AS sure, min(repeats) AS repeats, any_value(mean_a) AS mean_a,
        any_value(mean_b) AS mean_b, min(ev) AS ev
    FROM (SELECT *, bool_or(sure) OVER (PARTITION BY scope_id) AS any_sure FROM main.ab_pairs WHERE factor = 'graphs' AND eager = 'true' AND eager_other = 'false')
    WHERE sure = any_sure GROUP BY scope_id
), points AS (
    -- step time over the batch, from the total where the per-stream rate does not count: C / X
    SELECT sc.series_key, sc.scope_id, p.batch_hi AS b, coalesce(1000 / p.steps_hi, 1000 * sc.concurrency / p.x_out) AS t_ms
    FROM main.scopes sc JOIN main.pace p USING (scope_id) JOIN main.slots l USING (scope_id)
    WHERE sc.series_key IS NOT NULL AND sc.concurrency <= coalesce(l.slots_lo, sc.concurrency)
), fits AS (
    SELECT series_key, count(DISTINCT t_ms) AS n, regr_intercept(t_ms, b) AS fixed_ms, regr_slope(t_ms, b) AS slope_ms
    FROM (SELECT series_key, coalesce(b, NULL) AS b, t_ms FROM points) WHERE b IS NOT NULL GROUP BY series_key HAVING count(DISTINCT b) >= 3
), roofed AS (
    SELECT sc.scope_id, f.fixed_ms, f.slope_ms, f.n, 1000 * r.pass_bytes_hi / (r.bw_lo * 1e9) AS roof_ms
    FROM main.scopes sc JOIN fits f USING (series_key) JOIN main.roofs r USING (scope_id)
)
SELECT
    sc.scope_id, sp.split, s.rounds, k.cards,
    CASE WHEN sp.split IN ('layer') THEN s.idle_bound WHEN (sp.split = 'tensor' OR k.cards = 1) AND k.cards_extra = 0 THEN 100 - k.least_busy + 0.5 END AS idle_bound, s.ev AS idle_bound_ev,
    y.path AS path_busy, y.busiest, y.rounds AS working_rounds,
    100 * a.share AS asked, a.placed::INT AS placed_all, coalesce(k.cards_missing, 0) AS cards_missing, coalesce(k.cards_extra, 0) AS cards_extra,
    coalesce(cp.cpu_stage, 0) AS cpu_stage, coalesce((k.mem_mib * 1048576 < 0.8 * m.file_bytes)::INT, 0) AS weights_elsewhere,
    100 * a.share - y.path AS unexplained, 100 * a.share - y.busiest AS unexplained_together,
    li.idle_rounds, li.idle_s, li.server_in_flight, li.model_on_cards, li.mem_change, li.power_over, li.pcie_busy_seen, coalesce(li.loading_seen, 0) AS loading_seen,
    li.tokens_share, CASE WHEN li.scope_id IS NOT NULL THEN [{'source_id': li.source_id, 'line': li.line}] END AS idle_rounds_ev,
    g.eager_share, g.n AS graph_lines, g.ev AS eager_share_ev, e.eager,
    -- gaps on all cards at once, or for ranks that step together those of the rank with the fewest
    coalesce(kf.idle_all, CASE WHEN sp.split = 'tensor' OR kf.ranks = 1 THEN kf.idle_least END) AS gap_share, kf.idle_most AS gap_share_most, kf.ev AS gap_share_ev, kf.ranks AS traced_ranks,
    gp.gain_lo AS graphs_gain_lo, gp.gain_hi AS graphs_gain_hi, gp.ev AS graphs_gain_ev, gp.sure AS ab_sure, gp.repeats, gp.mean_a AS eager_tok_s, gp.mean_b AS graphs_tok_s,
    r.fixed_ms, r.slope_ms, r.n AS points, r.roof_ms, r.fixed_ms / nullif(r.roof_ms, 0) AS fixed_over_roof
FROM main.scopes sc
LEFT JOIN main.serial_idle s USING (scope_id) LEFT JOIN busy y USING (scope_id) LEFT JOIN main.longest_idle li USING (scope_id) LEFT JOIN main.asked a USING (scope_id) LEFT JOIN cpu_parts cp USING (scope_id)
LEFT JOIN ranks k USING (scope_id) LEFT JOIN split sp USING (scope_id) LEFT JOIN graphs g USING (scope_id)
LEFT JOIN eager e USING (scope_id) LEFT JOIN roofed r USING (scope_id) LEFT JOIN main.kernel_facts kf USING (scope_id) LEFT JOIN graph_pairs gp USING (scope_id) LEFT JOIN main.model_facts m USING (scope_id)
"""

_NSYS = "nsys profile -t cuda,nvtx,osrt --cuda-graph-trace=node -d 15 -o trace <server command>"

_STRETCH = "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt from 30 s before to 30 s after the load, and the server's log of the same time"

# every sample lies in the load, every card of the model is seen and no other, and no part of it runs on the CPU
_ALL_SEEN = ("placed_all >= yes", "cards_missing <= 0", "cards_extra <= 0", "cpu_stage <= 0", "weights_elsewhere <= 0")

# what idle-starvation asks for before it says that the cards sit idle
_STARVED = (
    "idle_rounds >= rounds_needed",
    "idle_s >= long_s",
    "server_in_flight >= yes",
    "model_on_cards >= yes",
    "cards_missing <= 0",
    "cards_extra <= 0",
    "cpu_stage <= 0",
    "mem_change <= flat",
    "loading_seen <= 0",
    "power_over <= 0",
    "pcie_busy_seen <= 0",
    "tokens_share < no_tokens",
)

RULE = Rule(
    id="host-bound",
    claim=CAUSE,
    about="gaps that the host leaves",
    question="Does the host keep the cards waiting between kernels?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "idle_small": Limit(5, "% of the time", "the critical path is busy 95 % of the time or more"),
        "rounds_needed": Limit(10, "samples", "fewer than ten independent windows say nothing about the load"),
        "long_s": Limit(5, "s", "longer than any prefill stall that a median step time shows"),
        "flat": Limit(0.01, "of memory.used", "memory that grows is loading"),
        "no_tokens": Limit(0.05, "of the median rate", "tokens come from somewhere"),
        "mostly": Limit(0.5, "of the decode lines", "the usual step runs without a graph"),
        "enough_lines": Limit(5, "lines", "fewer do not show a habit"),
        "far_above": Limit(5, "roofs", "a fixed part five times one pass over the weights is not memory"),
        "worth": Limit(0.15, "of the total", "three times what one run differs from the next"),
        "gaps": Limit(0.20, "of the time", "a fifth of every step without any kernel"),
        "yes": Limit(1, "flag", "the option is set"),
    },
    confirmed=(
        Route(
            "this run is eager, and CUDA graphs gain 15 % or more",
            when=("eager >= yes", "graphs_gain >= worth", "ab_sure >= yes"),
            uses=("bench", "config", "ab"),
            says="The host keeps the cards waiting. With CUDA graphs and nothing else changed the total goes from {eager_tok_s:tok/s} to {graphs_tok_s:tok/s}, "
            "{graphs_gain:share} more with the noise of {repeats:int} runs per arm (line 15 %).",
        ),
    ),
    ruled_out=(
        Route(
            "the critical path is busy nearly all of the time",
            when=("idle_bound <= idle_small", "rounds >= rounds_needed", "cards_missing <= 0", "cards_extra <= 0"),
            uses=("util",),
            says="The host does not keep the cards waiting. Nothing runs for at most {idle_bound:%} of the time (gaps of milliseconds; shorter ones do not show).",
        ),
    ),
    fits=(
        Route(
            "this run is eager, and a run with CUDA graphs is faster",
            when=("eager >= yes", "graphs_gain >= worth"),
            uses=("bench", "ab"),
            rivals=("unsure_pair",),
            says="The host may keep the cards waiting. A run with CUDA graphs gives {graphs_tok_s:tok/s} instead of {eager_tok_s:tok/s}.",
        ),
        Route(
            "nothing runs on the cards for a fifth of the time of a kernel trace",
            when=("gap_share >= gaps",),
            uses=("kernels",),
            rivals=("profiler",),
            says="The host may keep the cards waiting. In gaps of up to 100 ms nothing runs for {gap_share:share} of the traced time, on {traced_ranks:int} ranks.",
        ),
        *(
            Route(
                "the critical path is idle a good part of the time while somebody asks",
                when=("unexplained >= idle_small", "working_rounds >= rounds_needed", *_ALL_SEEN),
                uses=("util", told_by),
                rivals=("other_cost", "unseen"),
                says="The host may keep the cards waiting. The critical path is busy {path_busy:%} of the time, in {working_rounds:int} samples, and somebody asks "
                "{asked:%} of it.",
            )
            for told_by in ("server", "client")
        ),
        *(
            Route(
                "the cards are idle a good part of the time while somebody asks, if they do not take turns",
                when=("unexplained_together >= idle_small", "working_rounds >= rounds_needed", *_ALL_SEEN),
                uses=("util", told_by),
                rivals=("turns", "other_cost", "unseen"),
                says="The host may keep the cards waiting. No card is busy more than {busiest:%} of the time, in {working_rounds:int} samples, and somebody asks "
                "{asked:%} of it; cards that take turns show the same, and nothing says how the model is split.",
            )
            for told_by in ("server", "client")
        ),
        Route(
            "for seconds the server holds requests and the cards do nothing",
            when=_STARVED,
            uses=("util", "power", "server"),
            rivals=("elsewhere",),
            says="The host may keep the cards waiting. For {idle_s:s} ({idle_rounds:int} samples) they do nothing although the server holds requests and the model is loaded.",
        ),
        Route(
            "decode steps run without CUDA graphs",
            when=("eager_share >= mostly", "graph_lines >= enough_lines"),
            uses=("server",),
            rivals=("other_cost",),
            says="The host may keep the cards waiting. {eager_share:share} of {graph_lines:int} decode lines ran without a CUDA graph.",
        ),
        Route(
            "CUDA graphs are switched off",
            when=("eager >= yes",),
            uses=("config",),
            rivals=("other_cost",),
            says="The host may keep the cards waiting. CUDA graphs are switched off.",
        ),
        Route(
            "the step has a fixed part far above the roof",
            when=("fixed_over_roof >= far_above", "points >= 3"),
            uses=("bench", "roof"),
            rivals=("other_cost",),
            says="The step has a fixed part. {fixed_ms:ms} + {slope_ms:ms} per stream, fitted on {points:int} steps; one pass over the weights is {roof_ms:ms}.",
        ),
    ),
    rivals={
        "unsure_pair": Rival(
            "chance, or something else that was changed with the graphs",
            closed=("ab_sure >= yes",),
            settle="three runs per arm with only the graphs changed, and both servers' logs from their start",
        ),
        "profiler": Rival(
            "the profiler's own cost, a host that waits for something else, or another process whose turn it is",
            closed=(),
            settle="the step time with and without nsys (at most 1.1 times as long), and the CPU time of the launching thread (nsys -t osrt, py-spy record --native)",
        ),
        "unseen": Rival(
            "nobody asked in between, a stage on the CPU, or a card of the model that is not recorded",
            closed=(),
            settle="the client's send and end times, the server's log from its start (layers, buffers, devices), and samples of every card of that host",
        ),
        "turns": Rival(
            "cards that take turns: each then waits for the others, and the path is their sum",
            closed=(),
            settle="how the model is split (--given split=tensor or layer), or the server's start-up log",
        ),
        "elsewhere": Rival(
            "what the server waits for is no work of its host: storage, network, another node",
            closed=(),
            settle="py-spy dump --native on the server's process and CPU time per thread while it happens",
        ),
        "other_cost": Rival(
            "collectives or slow kernels make the fixed part instead",
            closed=(),
            settle="CUDA graphs on and off (--enforce-eager, --disable-cuda-graph) on the same load, or the gaps in an nsys trace",
        ),
    },
    collect={
        "idle_bound": "utilisation of all cards in the load and how the model is split",
        "rounds": "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt in the load",
        "unexplained": "utilisation of all cards in the load, how the model is split, and the server's log of the same time",
        "unexplained_together": "utilisation of all cards in the load, and the server's log of the same time",
        "idle_rounds": _STRETCH,
        "idle_s": _STRETCH,
        "server_in_flight": _STRETCH,
        "model_on_cards": _STRETCH,
        "mem_change": _STRETCH,
        "loading_seen": _STRETCH,
        "power_over": _STRETCH,
        "pcie_busy_seen": _STRETCH,
        "tokens_share": _STRETCH,
        "working_rounds": "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt in the load",
        "placed_all": "samples and the server's log on clocks that can be compared, or [during] in gpuverdict.toml",
        "cards_missing": "samples of every card the model runs on",
        "cards_extra": "nvidia-smi pmon -d 1 beside it: which process is on which card",
        "weights_elsewhere": "memory.used of every card the model runs on",
        "cpu_stage": "the server's start-up log (layers and buffers)",
        "graphs_gain": "the same load with CUDA graphs on and off, three runs each, and both servers' logs from their start",
        "ab_sure": "three runs per arm with only the graphs changed, and both servers' logs from their start",
        "gap_share": _NSYS + "; nsys export --type sqlite trace.nsys-rep",
        "eager_share": "the server's decode lines (SGLang prints cuda graph: True or False)",
        "graph_lines": "the server's decode lines (SGLang prints cuda graph: True or False)",
        "eager": "the server's start-up lines (enforce_eager, disable_cuda_graph)",
        "fixed_over_roof": "a sweep of three or more batch sizes, with the model's size and the card",
        "points": "a sweep of three or more batch sizes",
    },
    means="What the host does between steps does not get faster with a faster card.",
    remedy="CUDA graphs on, fewer host steps per token (multi-step scheduling), a faster CPU core.",
    not_a_remedy="A faster card or a smaller quantisation.",
    next=(
        Experiment(
            "look at the gaps in a kernel trace", _NSYS, "gaps of 20 % of the step or more with a busy launching thread: the host", cost=3
        ),
    ),
)
