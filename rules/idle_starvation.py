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
    stretch lasts 5 s and ten samples or more. Ruled out: the cards together read 20 % or more in every sample of the load, or a link of
    theirs carries a fifth of what it can in every interval of a counter that averages (weights that are streamed by the copy engine).

Known problems
    0 % also means: no load at that instant, the wrong host or card, a model on the CPU, loading, or copies, which do not count as
    kernels. Waiting inside a collective reads 100 %, so this is not what a slow link looks like.
"""

from ..engine.rule import CAUSE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH sums AS (
    SELECT scope_id, count(*) AS rounds, min(util_sum) AS util_sum_min, avg((util_sum <= 5)::INT) AS idle_share,
        max(cards_missing) AS cards_missing, max(cards_extra) AS cards_extra,
        min({'source_id': source_id, 'line': line}, 2) AS ev
    FROM main.util_sums WHERE complete GROUP BY scope_id
), copied AS (
    -- how full the busiest link of the serving cards is in each round of counters that average over their interval: copies are no kernels
    SELECT
        l.scope_id, l.source_id, l.cycle, min(l.line) AS line, max(coalesce(l.pcie_probe_s, c.interval_s)) AS interval_s,
        max(greatest(coalesce(l.pcie_rx, 0), coalesce(l.pcie_tx, 0))) / 1000 / any_value(k.copy_gb_s) AS share
    FROM main.samples_in_load l JOIN main.link_load k USING (scope_id) LEFT JOIN main.clocks c ON c.source_id = l.source_id
    WHERE coalesce(l.pcie_rx, l.pcie_tx) IS NOT NULL AND coalesce(l.pcie_averaged, l.pcie_probe_s > 0.02)
      AND EXISTS (FROM main.serving_cards s WHERE s.scope_id = l.scope_id AND s.gpu = l.gpu AND s.host IS NOT DISTINCT FROM l.host)
    GROUP BY l.scope_id, l.source_id, l.cycle
), loaded AS (
    SELECT scope_id, max(lasts_s) AS lasts_s
    FROM (SELECT scope_id, max(finished_t) - min(started_t) AS lasts_s FROM main.requests_in_scope GROUP BY scope_id, source_id, run) GROUP BY scope_id
), copies AS (
    SELECT
        scope_id, min(share) AS copy_least, count(*) AS copy_rounds, min({'source_id': source_id, 'line': line}, 2) AS ev,
        -- an interval that is not told is no longer than the load over the rounds that lie in it
        CASE WHEN count(interval_s) = count(*) THEN max(interval_s) ELSE any_value(d.lasts_s) / min(n) END AS copy_interval_s
    FROM (SELECT *, count(*) OVER (PARTITION BY scope_id, source_id) AS n FROM copied) LEFT JOIN loaded d USING (scope_id) GROUP BY scope_id
)
SELECT
    sc.scope_id, s.rounds, s.util_sum_min, s.ev AS util_sum_min_ev, s.idle_share, l.idle_rounds, l.idle_s,
    CASE WHEN l.scope_id IS NOT NULL THEN [{'source_id': l.source_id, 'line': l.line}] END AS idle_rounds_ev,
    l.server_in_flight, l.model_on_cards, l.mem_change, l.power_over, l.pcie_busy_seen, coalesce(l.loading_seen, 0) AS loading_seen, l.tokens_share,
    s.cards_missing, s.cards_extra, c.copy_least, c.copy_rounds, c.copy_interval_s, c.ev AS copy_least_ev
FROM main.scopes sc LEFT JOIN sums s USING (scope_id) LEFT JOIN main.longest_idle l USING (scope_id) LEFT JOIN copies c USING (scope_id)
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
        "copying": Limit(0.20, "of what the link can copy", "four times what counts as a quiet link"),
        "short_s": Limit(2.5, "s", "every stretch of 5 s holds a whole interval, which would read next to nothing"),
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
        Route(
            "a link of the cards is busy in every sample of the load",
            when=("copy_least >= copying", "copy_rounds >= enough", "copy_interval_s <= short_s", "cards_extra <= 0"),
            uses=("link", "util"),
            says="The cards are not starved. Copies are no kernels, and in every one of {copy_rounds:int} samples a link of these cards carries {copy_least:share} or more "
            "of what it can.",
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
        "copy_least": "dcgmi dmon -e 1002,1009,1010 -d 100 in the load, and the link's generation and lanes (or link.gb_s)",
        "copy_interval_s": "dcgmi dmon -e 1002,1009,1010 -d 100 with its command line in the file, and the server's log of single requests",
        "copy_rounds": "dcgmi dmon -e 1002,1009,1010 -d 100 in the load",
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
