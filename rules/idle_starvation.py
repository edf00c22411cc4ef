"""Do the cards sit idle while requests are in flight?

What it finds
    Requests are in flight at the server, and the cards execute almost no kernels for much longer than a step.

Why it matters
    Then the host, the scheduler or a copy is what the requests wait for, and a faster card changes nothing. One idle snapshot is
    read as starvation far more often than starvation happens.

How it decides
    A stretch counts as idle if all serving cards together read at most 5 % in every sample. Confirmed needs: the server itself says
    that a request is in flight in the same, aligned time; the model is on these cards, all of them and no others are recorded; memory use is flat and nothing is loading;
    every card is at the idle power learned from the same log; the link is quiet where it is recorded; no tokens come out; and the
    stretch lasts 5 s and ten samples or more. Ruled out: the cards together read 20 % or more in every sample of the load.

Known problems
    0 % also means: no load at that instant, the wrong host or card, a model on the CPU, loading, or copies, which do not count as
    kernels. Waiting inside a collective reads 100 %, so this is not what a slow link looks like.
"""

from ..engine.rule import CAUSE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH rounds AS MATERIALIZED (
    SELECT scope_id, source_id, util_sum, line, cards_missing, cards_extra FROM main.util_sums WHERE complete
), longest AS MATERIALIZED (
    SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY scope_id ORDER BY n DESC, source_id, first_cycle) AS rank FROM main.idle_stretches) WHERE rank = 1
), sums AS (
    SELECT scope_id, count(*) AS rounds, min(util_sum) AS util_sum_min, avg((util_sum <= 5)::INT) AS idle_share,
        max(cards_missing) AS cards_missing, max(cards_extra) AS cards_extra,
        min({'source_id': source_id, 'line': line}, 2) AS ev
    FROM rounds GROUP BY scope_id
), inside AS (
    SELECT l.scope_id, s.host, s.gpu, max(s.power_w) AS power_max, max(s.power_limit_w) AS limit_w, min(s.mem_used) AS mem_lo, max(s.mem_used) AS mem_hi,
        -- 5 % of what the link can copy; 3.2 GB/s is the narrowest that cards commonly have (Gen3 x4)
        count(*) FILTER (greatest(coalesce(s.pcie_rx, 0), coalesce(s.pcie_tx, 0)) > 0.05 * coalesce(
            0.8 * s.pcie_width * CASE s.pcie_gen WHEN 1 THEN 250 WHEN 2 THEN 500 WHEN 3 THEN 985 WHEN 4 THEN 1970 WHEN 5 THEN 3940 WHEN 6 THEN 7560 END, 3200
        )) AS pcie_busy
    FROM longest l JOIN main.samples_in_load s ON s.scope_id = l.scope_id AND s.source_id = l.source_id AND s.cycle BETWEEN l.first_cycle AND l.last_cycle
    -- power is a mean over the last second on most cards, and utilisation is as old as its window: the first second of the stretch
    -- still holds the work before it, the last one may hold the work after it
    WHERE l.first_t IS NULL OR s.t BETWEEN l.first_t + 1 AND l.last_t - 1
    GROUP BY l.scope_id, s.host, s.gpu
), cards AS (
    SELECT
        i.scope_id, sum(i.mem_hi) * 1048576 AS mem_bytes, min(i.mem_hi) * 1048576 AS card_bytes, max((i.mem_hi - i.mem_lo) / nullif(i.mem_hi, 0)) AS mem_change,
        max(CASE WHEN p.idle_w IS NULL OR i.power_max IS NULL THEN NULL ELSE i.power_max - p.idle_w - greatest(10, 0.03 * coalesce(i.limit_w - p.idle_w, 0)) END) AS power_over,
        count(*) FILTER (p.idle_w IS NULL OR i.power_max IS NULL) AS power_unknown, sum(i.pcie_busy) AS pcie_busy_seen
    FROM inside i LEFT JOIN main.idle_power p ON (p.gpu = i.gpu AND p.host IS NOT DISTINCT FROM i.host) OR p.gpu IS NULL
    GROUP BY i.scope_id
), window_origins AS (
    SELECT l.scope_id, count(*) AS n FROM longest l JOIN main.load_windows w ON w.origin LIKE 'server%' AND NOT w.estimated AND l.began >= w.began AND l.ended <= w.ended
    GROUP BY l.scope_id
), loads AS (
    SELECT l.scope_id, count(*) AS n FROM longest l JOIN main.server_events e ON e.kind = 'loading' AND e.time BETWEEN l.began - 5 AND l.ended + 5 GROUP BY l.scope_id
), lines AS (
    SELECT time, server, gen_tok_s, prompt_tok_s, running, lag(time) OVER w AS before, lag(running) OVER w AS running_before,
        median(time - before) OVER (PARTITION BY source_id) AS usual_s, bool_or(running = 0) OVER (PARTITION BY source_id) AS tells_idle
    FROM (SELECT *, lag(time) OVER (PARTITION BY source_id, engine, rank, run ORDER BY time, line) AS before FROM main.server_samples
        WHERE gen_tok_s IS NOT NULL OR prompt_tok_s IS NOT NULL)
    WINDOW w AS (PARTITION BY source_id, engine, rank, run ORDER BY time, line)
), printed AS (
    -- a line speaks of the time since the line before it, and of no more than the usual distance of lines
    SELECT greatest(before, time - 1.5 * usual_s) AS since, time AS until_time, coalesce(gen_tok_s, 0) + coalesce(prompt_tok_s, 0) AS tok_s FROM lines
    UNION ALL
    -- vLLM leaves lines out while nothing is computed: a gap between two lines that both run something. Not where idle lines were cut out
    SELECT before, time - usual_s, 0 FROM lines WHERE server = 'vllm' AND tells_idle AND running > 0 AND running_before > 0 AND time - before > 2 * usual_s
), made AS (
    SELECT
        l.scope_id, sum(p.tok_s * (p.until_time - p.since)) / nullif(sum(p.until_time - p.since), 0) AS inside_rate,
        any_value((SELECT median(gen_tok_s) FROM main.server_samples WHERE gen_tok_s > 0)) AS usual_rate
    FROM longest l JOIN printed p ON p.since >= l.began - 1 AND p.until_time <= l.ended
    GROUP BY l.scope_id
), offload AS (
    SELECT
        scope_id, max(num_lo) FILTER (key = 'layers_offloaded') AS off_n, max(num_hi) FILTER (key = 'layers_total') AS all_n,
        max(num_hi) FILTER (key IN ('weights_gib', 'weights_gib_per_rank')) * 1073741824 AS rank_bytes
    FROM main.config_in_scope GROUP BY scope_id
)
SELECT
    sc.scope_id, s.rounds, s.util_sum_min, s.ev AS util_sum_min_ev, s.idle_share, l.n AS idle_rounds, coalesce(l.lasts_s, l.n - 1) AS idle_s,
    CASE WHEN l.scope_id IS NOT NULL THEN [{'source_id': l.source_id, 'line': l.line}] END AS idle_rounds_ev,
    CASE WHEN w.n > 0 THEN 1 END AS server_in_flight,
    CASE WHEN o.off_n >= o.all_n THEN 1 WHEN c.mem_bytes >= 0.8 * f.file_bytes THEN 1 WHEN c.mem_bytes < 0.8 * f.file_bytes THEN 0
        WHEN c.card_bytes >= 0.8 * o.rank_bytes THEN 1 END AS model_on_cards,
    c.mem_change, CASE WHEN c.power_unknown = 0 THEN c.power_over END AS power_over, c.pcie_busy_seen, coalesce(ld.n, 0) AS loading_seen,
    m.inside_rate / m.usual_rate AS tokens_share, s.cards_missing, s.cards_extra
FROM main.scopes sc
LEFT JOIN sums s USING (scope_id) LEFT JOIN longest l USING (scope_id) LEFT JOIN cards c USING (scope_id) LEFT JOIN window_origins w USING (scope_id)
LEFT JOIN loads ld USING (scope_id) LEFT JOIN made m USING (scope_id) LEFT JOIN main.roofs f USING (scope_id) LEFT JOIN offload o USING (scope_id)
"""

_NVIDIA_SMI = "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt, from 30 s before to 30 s after the load"

RULE = Rule(
    id="idle-starvation",
    claim=CAUSE,
    about="cards idle while requests wait",
    question="Do the cards sit idle while requests are in flight?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "busy": Limit(20, "% of all cards", "cards that work in every sample are not starved"),
        "long_s": Limit(5, "s", "longer than any prefill stall that a median step time shows"),
        "enough": Limit(10, "samples", "fewer than ten independent windows say nothing about the load"),
        "flat": Limit(0.01, "of memory.used", "memory that grows is loading"),
        "floor": Limit(0, "W over the idle floor", "10 W or 3 % of the range above the learned idle power is idle"),
        "no_tokens": Limit(0.05, "of the median rate", "tokens come from somewhere: then another device works or the times do not overlap"),
    },
    confirmed=(
        Route(
            "the server holds requests and the cards do nothing",
            when=(
                "idle_rounds >= enough",
                "idle_s >= long_s",
                "server_in_flight >= 1",
                "model_on_cards >= 1",
                "cards_missing <= 0",
                "cards_extra <= 0",
                "mem_change <= flat",
                "loading_seen <= 0",
                "power_over <= floor",
                "pcie_busy_seen <= 0",
                "tokens_share < no_tokens",
            ),
            uses=("util", "power", "server"),
            claim="state",
            says="The cards sit idle while requests are in flight. For {idle_s:s} ({idle_rounds:int} samples) all cards together read at most 5 %, at idle power, "
            "with the model loaded, a quiet link and {tokens_share:share} of the usual tokens.",
        ),
    ),
    ruled_out=(
        Route(
            "the cards work in every sample of the load",
            when=("util_sum_min >= busy", "rounds >= enough", "cards_extra <= 0"),
            uses=("util",),
            says="The cards are not starved. In every one of {rounds:int} samples they read {util_sum_min:%} or more together.",
        ),
    ),
    fits=(
        Route(
            "the cards read idle for a while during the load",
            when=("idle_rounds >= enough", "idle_s >= long_s", "loading_seen <= 0", "pcie_busy_seen <= 0"),
            uses=("util", "server"),
            rivals=("elsewhere",),
            says="The cards read idle during the load. For {idle_s:s} ({idle_rounds:int} samples) all cards together read at most 5 %.",
        ),
    ),
    rivals={
        "elsewhere": Rival(
            "no request in flight at that time, a model on the CPU or on other cards, loading, or copies",
            closed=(
                "server_in_flight >= 1",
                "model_on_cards >= 1",
                "cards_missing <= 0",
                "mem_change <= flat",
                "power_over <= floor",
                "pcie_busy_seen <= 0",
                "tokens_share < no_tokens",
            ),
            settle="utilisation, power, memory and PCIe with times, 30 s of idle before and after, beside the server's own log",
        ),
    },
    collect={
        "idle_rounds": _NVIDIA_SMI,
        "idle_s": _NVIDIA_SMI,
        "rounds": _NVIDIA_SMI,
        "util_sum_min": _NVIDIA_SMI,
        "server_in_flight": "the server's log of the same time (running counts, or launch and release of every request)",
        "model_on_cards": "memory.used of every card, and the size of the model (or the server's start-up log)",
        "cards_missing": "samples of every card the model runs on",
        "cards_extra": "nvidia-smi pmon -d 1 beside it: which process is on which card",
        "mem_change": "memory.used of every card with times",
        "loading_seen": "the server's log of the same time",
        "power_over": "power with 30 s of idle (server up, no request) before the load, or idle_w in gpuverdict.toml",
        "pcie_busy_seen": "nvidia-smi dmon -s pucvmet (column group t)",
        "tokens_share": "the server's statistics lines of the same time",
    },
    means="What the requests wait for is not on these cards: host, scheduler, tokeniser, network or storage.",
    remedy="Find what the host does meanwhile: py-spy dump --native on the server process, CPU use per thread.",
    not_a_remedy="Faster cards, a faster link or a higher power limit.",
    next=(
        Experiment(
            "log the cards and the load on one clock",
            "nvidia-smi --query-gpu=timestamp,index,utilization.gpu,utilization.memory,power.draw.instant,enforced.power.limit,clocks.sm,clocks.mem,"
            "clocks_event_reasons.active,pcie.link.gen.current,pcie.link.width.current,temperature.gpu,memory.used --format=csv,nounits -lms 100 > smi.csv",
            "idle samples inside the load are starvation; idle samples outside it are nothing",
            cost=1,
        ),
    ),
)
