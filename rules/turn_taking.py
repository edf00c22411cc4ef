"""Do the cards take turns?

What it finds
    A model split over cards by layers, with one batch in flight: at almost every instant only one card runs kernels.

Why it matters
    Each of N cards then reads about 1/N busy, and that is the normal reading, not headroom. What can be gained is bounded by N
    (an ideal tensor split), and the share of time in which no card works bounds the link, the host and everything else between
    the stages together.

How it decides
    The utilisations of all serving cards are summed per sampling round. A serial split with one batch in flight sums to about
    100 %: at most 106 % in the mean with driver windows that are not aligned. Confirmed needs a known layer split (given, or
    device buffers or a pipeline line in the log), one batch in flight, at least ten rounds placed in the load, and every card at
    3 % or more; or one card after the other is seen to work alone inside single requests, which shows only where the driver windows
    are well below a stage (without a clock for both, the changes are counted: ten or more per request, all in a recording that the user
    places in that load and a log that covers it); or a kernel trace in which kernels of two cards overlap in at most 5 % of their time, inside one request
    (collectives do not count as work). Cards at work that the model does not run on (device buffers, ranks, a stated number) keep
    every route that sums cards open, and a card that only draws a desktop is left out. The sum alone only fits: cards working in parallel for 1/N of the time give the same sum.
    Tensor or data split rules it out, and so does an overlap of 20 % or more in decode. A row split is neither, so the question does
    not apply.

Known problems
    Pipeline stages that wait inside a receive kernel read busy while they wait; their sum can reach N x 100 % although the work
    is serial. Prefill of a layer split is pipelined over micro-batches and raises the sum: it is left out where the server tells phases
    apart, else the rounds above 115 % and their neighbours are, where those are 15 % of the rounds or less. Correlation between cards is not used:
    driver windows of different cards are not aligned, and at one second it says nothing.
"""

from ..engine.rule import STATE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH means AS (
    -- of the rounds that serial_idle sums
    SELECT l.scope_id, l.gpu, CASE WHEN max(u.prefill_share) <= 0.15 AND count(*) FILTER (NOT u.prefill) >= 10 THEN avg(l.util_gpu) FILTER (NOT u.prefill) ELSE avg(l.util_gpu) END AS mean_util
    FROM main.samples_in_load l JOIN main.decode_sums u USING (scope_id, source_id, cycle)
    JOIN main.serving_cards s ON s.scope_id = l.scope_id AND s.source_id = l.source_id AND s.gpu = l.gpu AND s.host IS NOT DISTINCT FROM l.host
    GROUP BY l.scope_id, l.host, l.gpu
), per_card AS (
    SELECT scope_id, min(mean_util) AS card_min, string_agg(printf('%.1f', mean_util), ' + ' ORDER BY gpu) AS cards_text FROM means GROUP BY scope_id
), leads AS (
    -- rounds in which one card works alone (80 % or more, all others 20 % or less), and which card it is
    SELECT
        l.scope_id, l.source_id, l.cycle, any_value(l.time) AS time, arg_max(l.gpu, l.util_gpu) AS lead_gpu,
        count(*) FILTER (l.util_gpu >= 80) = 1 AND count(*) FILTER (l.util_gpu > 20) = 1 AS alone
    FROM main.samples_in_load l JOIN main.decode_sums u USING (scope_id, source_id, cycle) GROUP BY l.scope_id, l.source_id, l.cycle
), single AS (
    -- only inside one request that is alone in the server: two requests in turn would alternate too
    SELECT r.scope_id, r.source_id AS log_id, r.line, r.started_at + 2 AS began, r.finished_at AS ended
    FROM main.requests_in_scope r JOIN main.load_windows w ON w.n_max = 1 AND r.started_at >= w.began - 0.1 AND r.finished_at <= w.ended + 0.1
    WHERE r.finished_at > r.started_at + 4
), inside AS (
    SELECT s.scope_id, s.log_id, s.line, d.alone, d.lead_gpu, lag(d.lead_gpu) OVER (PARTITION BY s.scope_id, s.log_id, s.line, d.alone ORDER BY d.cycle) AS before
    FROM single s JOIN leads d ON d.scope_id = s.scope_id AND d.time BETWEEN s.began AND s.ended
), per_request AS (
    SELECT scope_id, log_id, line, count(*) AS rounds, avg(alone::INT) AS alone_share, count(*) FILTER (alone AND lead_gpu <> before) AS changes
    FROM inside GROUP BY ALL
), alternation AS (
    SELECT scope_id, sum(alone_share * rounds) / sum(rounds) AS exclusive_share, avg((changes >= 3)::INT) AS alternating_share, count(*) AS singles
    FROM per_request GROUP BY scope_id
), vouched AS (
    -- a recording that the user places in the load, without a clock that tells which request a round belongs to
    SELECT
        d.scope_id, d.source_id, count(*) AS rounds, avg(d.alone::INT) AS alone_share, count(*) FILTER (d.alone AND d.lead_gpu <> d.before) AS changes, max(s.t) - min(s.t) AS span_s
    FROM (SELECT *, lag(lead_gpu) OVER (PARTITION BY scope_id, source_id, alone ORDER BY cycle) AS before FROM leads) d
    JOIN main.util_sums s USING (scope_id, source_id, cycle) WHERE s.placed = 'given' GROUP BY d.scope_id, d.source_id
), handled AS (
    -- how many requests a server run handled, and how long it was busy, on its own clock; NULL where two of them overlap or an end is not logged
    SELECT
        source_id, run, count(*) AS requests,
        CASE WHEN bool_and(started_t >= coalesce(before, started_t)) AND count(finished_t - started_t) = count(*) THEN sum(finished_t - started_t) END AS busy_s
    FROM (
        SELECT *, max(finished_t) OVER (PARTITION BY source_id, run ORDER BY started_t, line ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM main.requests WHERE origin = 'server'
    ) GROUP BY source_id, run
), counted AS (
    -- replicas, and a pair of prefill and decode, change cards once or twice per request: ten times as many changes are inside of requests
    SELECT
        v.scope_id, any_value(v.alone_share) AS alone_share, any_value(v.changes) AS changes, any_value(h.requests) AS requests,
        any_value(v.changes / h.requests) AS changes_each
    FROM vouched v JOIN (SELECT DISTINCT scope_id, source_id, run FROM main.requests_in_scope) r USING (scope_id)
    JOIN handled h ON h.source_id = r.source_id AND h.run IS NOT DISTINCT FROM r.run
    GROUP BY v.scope_id HAVING count(*) = 1 AND min(h.busy_s) >= 0.9 * min(v.span_s)
), traced_requests AS (
    SELECT scope_id, count(*) AS requests
    FROM (SELECT scope_id, min(began) AS began, max(ended) AS ended FROM main.kernel_pieces GROUP BY scope_id) p JOIN main.requests_in_scope r USING (scope_id)
    WHERE r.started_at < p.ended AND r.finished_at > p.began GROUP BY scope_id
), split AS (
    SELECT scope_id, value AS split, origin AS split_origin, given AS split_given, ev AS split_ev FROM main.config_in_scope WHERE key = 'split'
), running AS (
    -- the drain at the end of a load may be a twentieth of the lines
    SELECT scope_id, quantile_cont(running, 0.05) AS running_lo FROM main.server_in_scope WHERE running > 0 GROUP BY scope_id
), run_anywhere AS (
    -- a log that nothing ties to the scope still says how many run whenever somebody does: the stated streams may be fewer
    SELECT min(running_lo) AS running_lo FROM (SELECT quantile_cont(running, 0.05) AS running_lo FROM main.server_samples WHERE running > 0 GROUP BY source_id)
), listed AS (
    -- a list of processes during the load that never shows two compute processes on one card
    SELECT count(*) AS process_rounds FROM (SELECT DISTINCT source_id, cycle FROM main.gpu_processes WHERE pid IS NOT NULL)
), foreign_processes AS (
    -- two different compute processes on one card in one round: somebody else works there too
    SELECT count(*) AS foreign_seen FROM (
        SELECT source_id, cycle, host, gpu FROM main.gpu_processes
        WHERE pid IS NOT NULL AND gpu IS NOT NULL AND coalesce(kind, 'C') LIKE '%C%' AND coalesce(util_gpu, 1) > 0
        GROUP BY source_id, cycle, host, gpu HAVING count(DISTINCT pid) > 1
    )
)
SELECT
    sc.scope_id,
    s.util_sum, s.ev AS util_sum_ev, s.util_sum_min, s.util_sum_max, s.rounds, s.cards, c.card_min, c.cards_text,
    s.idle_bound, coalesce(s.together, 0) AS servers_together,
    sp.split, sp.split_origin, sp.split_given, sp.split_ev,
    CASE WHEN sp.split IS NULL THEN NULL WHEN sp.split = 'row' THEN 1 ELSE 0 END AS split_is_row,
    CASE WHEN sp.split IS NULL THEN NULL WHEN sp.split IN ('tensor', 'data') THEN 1 ELSE 0 END AS split_is_parallel,
    CASE sp.split WHEN 'tensor' THEN 'every card works on every token' WHEN 'data' THEN 'every copy of the model works on requests of its own' END AS split_means,
    -- llama.cpp decodes all slots as one batch, so a layer split has one in flight; a pipeline has as many as there are streams
    CASE WHEN sp.split = 'layer' THEN 1 WHEN sp.split = 'pipeline' THEN sc.concurrency + greatest(0, coalesce(r.running_lo, ra.running_lo, 0) - sc.concurrency) END AS batches_in_flight,
    CASE WHEN sp.split IN ('layer', 'pipeline') THEN 1 WHEN sp.split IS NOT NULL THEN 0 END AS split_is_serial,
    s.cards_missing, s.cards_extra, d.devices_hi AS devices,
    -- a stated or logged parallel split contradicts it; nothing known does not
    CASE WHEN sp.split IN ('tensor', 'data') THEN 0 ELSE 1 END AS split_is_not_parallel,
    al.exclusive_share, al.alternating_share, al.singles,
    ct.alone_share, ct.changes, ct.requests, ct.changes_each,
    f.foreign_seen, CASE WHEN li.process_rounds > 0 THEN f.foreign_seen END AS foreign_known,
    -- stages of a pipeline that wait in a receive kernel read busy, unless there is work for each of them
    CASE WHEN sp.split = 'pipeline' THEN coalesce(r.running_lo, sc.concurrency) / s.cards WHEN sp.split IS NOT NULL THEN 1 END AS work_per_stage,
    k.cards AS kernel_cards, k.overlap_lo AS kernel_overlap_lo, k.overlap_hi AS kernel_overlap_hi, k.ev AS kernel_overlap_ev, k.turns AS kernel_turns,
    k.card_least AS kernel_card_least, greatest(0, coalesce(d.devices_lo - k.cards, 0)) AS kernel_cards_missing,
    greatest(0, coalesce(k.cards - d.devices_hi, 0)) AS kernel_cards_extra, CASE WHEN k.decode THEN 1 END AS kernels_in_decode,
    -- hand-overs inside one request: replicas, and a pair of prefill and decode, change cards once or twice per request
    CASE WHEN sp.split = 'layer' OR (sp.split = 'pipeline' AND sc.concurrency = 1 AND coalesce(r.running_lo, ra.running_lo, 1) <= 1) THEN 1
         WHEN k.lone AND kr.requests >= 1 THEN (k.turns >= 10 * kr.requests)::INT END AS within_one_request
FROM main.scopes sc
LEFT JOIN main.serial_idle s USING (scope_id) LEFT JOIN per_card c USING (scope_id) LEFT JOIN split sp USING (scope_id)
LEFT JOIN main.model_devices d USING (scope_id) LEFT JOIN running r USING (scope_id) LEFT JOIN alternation al USING (scope_id)
LEFT JOIN counted ct USING (scope_id)
LEFT JOIN main.kernel_facts k USING (scope_id) LEFT JOIN traced_requests kr USING (scope_id) CROSS JOIN foreign_processes f CROSS JOIN listed li CROSS JOIN run_anywhere ra
"""

_TRACE = "nsys profile -t cuda,nvtx,osrt --cuda-graph-trace=node -d 10 -o trace <server command>; nsys export --type sqlite trace.nsys-rep"

RULE = Rule(
    id="turn-taking",
    claim=STATE,
    about="cards taking turns",
    question="Do the cards take turns?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "sum_hi": Limit(106, "%", "driver windows that are not aligned add up to 6 to the mean of ten rounds of a serial split"),
        "sum_lo": Limit(90, "%", "a serial split with at most a tenth of idle time"),
        "sum_parallel": Limit(150, "%", "one and a half cards on average cannot come from driver windows; 115 is the most they add"),
        "enough": Limit(10, "samples", "fewer than ten independent windows say nothing about the load"),
        "half": Limit(0.5, "share", "half of the windows, half of the requests: more than chance"),
        "many": Limit(10, "changes per request", "replicas, and a pair of prefill and decode, change cards once or twice per request"),
        "overlap_small": Limit(0.05, "of the kernel time", "hand-overs and copies overlap for moments"),
        "overlap_large": Limit(0.20, "of the kernel time", "a fifth of the time with two cards at work is no hand-over"),
        "kernel_share": Limit(0.03, "of the kernel time", "a card below that does no stage of its own"),
        "card_busy": Limit(3, "%", "a card below that does no stage of its own"),
    },
    applies=("split_is_row < 1",),
    confirmed=(
        Route(
            "a layer split with one batch in flight, and the cards together are busy once",
            when=(
                "split_is_serial >= 1",
                "batches_in_flight <= 1",
                "util_sum <= sum_hi",
                "servers_together <= 0",
                "card_min >= card_busy",
                "cards >= 2",
                "cards_missing <= 0",
                "cards_extra <= 0",
                "foreign_seen <= 0",
            ),
            uses=("util", "config"),
            says="The {cards:int} cards take turns. {cards_text} = {util_sum:%} ({util_sum_min:}..{util_sum_max:}, {rounds:int} samples), split = {split}. "
            "At most {idle_bound:%} of the time no card works; the per-card figure is the normal reading, not headroom.",
        ),
        Route(
            "one card after the other is seen to work alone inside single requests",
            when=(
                "util_sum >= sum_lo",
                "util_sum <= sum_hi",
                "servers_together <= 0",
                "exclusive_share >= half",
                "alternating_share >= half",
                "cards >= 2",
                "cards_extra <= 0",
                "foreign_seen <= 0",
                "split_is_not_parallel >= 1",
            ),
            uses=("util", "server"),
            says="The {cards:int} cards take turns. In {exclusive_share:share} of the samples one card works alone, and the card changes three times or more inside "
            "{alternating_share:share} of {singles:int} single requests; the sum is {util_sum:%}.",
        ),
        Route(
            "one card after the other is seen to work alone, far more often than requests change",
            when=(
                "util_sum >= sum_lo",
                "util_sum <= sum_hi",
                "servers_together <= 0",
                "alone_share >= half",
                "changes_each >= many",
                "cards >= 2",
                "cards_extra <= 0",
                "foreign_seen <= 0",
                "split_is_not_parallel >= 1",
            ),
            uses=("util", "server"),
            says="The {cards:int} cards take turns. In {alone_share:share} of the samples one card works alone, and the card changes {changes:int} times while the server "
            "handles {requests:int} requests one after the other; the sum is {util_sum:%}.",
        ),
        *(
            Route(
                "kernels of different cards do not overlap within one request",
                when=(
                    "kernel_overlap <= overlap_small",
                    "kernel_cards >= 2",
                    "kernel_card_least >= kernel_share",
                    "within_one_request >= 1",
                    "kernel_cards_missing <= 0",
                    "kernel_cards_extra <= 0",
                    "foreign_seen <= 0",
                    "split_is_not_parallel >= 1",
                ),
                uses=("kernels", known),
                says="The {kernel_cards:int} cards take turns. Kernels of two cards run at once in {kernel_overlap:share} of their time at most (line 5 %), and the work moves "
                "from card to card {kernel_turns:int} times.",
            )
            for known in ("config", "server")
        ),
    ),
    ruled_out=(
        Route(
            "all cards work on every token",
            when=("split_is_parallel >= 1",),
            uses=("config",),
            says="The cards do not take turns. split = {split}, {split_means}.",
        ),
        Route(
            "more than one card's worth of work at a time",
            when=("util_sum >= sum_parallel", "rounds >= enough", "work_per_stage >= 1", "foreign_known <= 0", "cards_extra <= 0"),
            uses=("util", "config"),
            says="The cards do not take turns. {cards_text} = {util_sum:%}: more than one and a half cards work at a time, and no other process is on them.",
        ),
        Route(
            "kernels of different cards overlap in decode",
            when=("kernel_overlap >= overlap_large", "kernels_in_decode >= 1", "kernel_cards >= 2", "kernel_cards_extra <= 0"),
            uses=("kernels", "server"),
            says="The cards do not take turns. In decode kernels of two or more of {kernel_cards:int} cards run at once in {kernel_overlap:share} of the time (line 20 %).",
        ),
    ),
    fits=(
        Route(
            "the sum of all cards is one busy card",
            when=("util_sum >= sum_lo", "util_sum <= sum_hi", "card_min >= card_busy", "cards >= 2", "cards_extra <= 0"),
            uses=("util",),
            rivals=("parallel",),
            says="The cards may take turns. {cards_text} = {util_sum:%} ({util_sum_min:}..{util_sum_max:}, {rounds:int} samples) is what {cards:int} cards taking turns show.",
        ),
        Route(
            "a layer split over fewer cards than work",
            when=("split_is_serial >= 1", "batches_in_flight <= 1", "devices >= 2", "cards_extra > 0"),
            uses=("util", "config"),
            rivals=("which_cards",),
            says="Some of the cards may take turns. The model is on {devices:int} cards, {cards:int} are at work ({cards_text} = {util_sum:%}), and which of them "
            "belong to something else is unknown.",
        ),
        Route(
            "kernels of different cards hardly overlap",
            when=("kernel_overlap <= overlap_small", "kernel_cards >= 2", "kernel_card_least >= kernel_share"),
            uses=("kernels",),
            rivals=("other_requests",),
            says="The cards may take turns. Kernels of two cards run at once in {kernel_overlap:share} of their time at most (line 5 %).",
        ),
        Route(
            "a pipeline with one batch in flight, whose waiting stages read busy",
            when=("split == 'pipeline'", "batches_in_flight <= 1", "util_sum > sum_hi", "cards >= 2"),
            uses=("util", "config"),
            rivals=("spin",),
            says="The cards may take turns. One batch is in flight in a pipeline of {cards:int} cards; {cards_text} = {util_sum:%} is what stages that wait in a receive "
            "kernel show too.",
        ),
    ),
    rivals={
        "which_cards": Rival(
            "the sum is that of other work: cards of the model that are busier, or less busy, than those that make it up",
            closed=("cards_extra <= 0",),
            settle="nvidia-smi pmon -d 1 beside it (which process is on which card), or samples of the model's cards alone (nvidia-smi -i 0,1 ...)",
        ),
        "spin": Rival(
            "stages that really work at the same time",
            closed=(),
            settle="SM_ACTIVE instead of utilisation (dcgmi dmon -e 1002 -d 100), or power card by card",
        ),
        "other_requests": Rival(
            "cards that serve different requests one after the other (replicas, a pair for prefill and decode), or another process in between",
            closed=("within_one_request >= 1", "foreign_seen <= 0"),
            settle="the server's log of the traced time (one request alone), or how the model is split (--given split=layer)",
        ),
        "parallel": Rival(
            "cards that work in parallel, each busy a fraction of the time",
            closed=("split_is_serial >= 1", "batches_in_flight <= 1"),
            settle="state how the model is split (--given split=layer or tensor), keep the server's start-up log, or trace 10 s with nsys",
        ),
    },
    collect={
        "split_is_serial": "how the model is split: --given split=layer, or llama-server -lv 4 (start-up lines with one model buffer per card)",
        "exclusive_share": "nvidia-smi --query-gpu=timestamp,index,utilization.gpu --format=csv,nounits -lms 100 > smi.csv, and the server's log of single requests",
        "alternating_share": "nvidia-smi --query-gpu=timestamp,index,utilization.gpu --format=csv,nounits -lms 100 > smi.csv, and the server's log of single requests",
        "alone_share": "nvidia-smi --query-gpu=timestamp,index,utilization.gpu --format=csv,nounits -lms 100 > smi.csv, and the server's log of single requests",
        "changes_each": "nvidia-smi --query-gpu=timestamp,index,utilization.gpu --format=csv,nounits -lms 100 > smi.csv, and the server's log of single requests",
        "kernel_overlap": _TRACE,
        "kernel_cards": _TRACE,
        "kernel_card_least": _TRACE,
        "kernel_cards_missing": "a trace of every card the model runs on",
        "kernel_cards_extra": "a trace of the server's process alone",
        "kernels_in_decode": "the server's own log of the traced time (it tells decode from prefill)",
        "within_one_request": "the server's log of the traced time with one request alone, or how the model is split (--given split=layer)",
        "split_is_not_parallel": "how the model is split",
        "split": "how the model is split: --given split=pipeline",
        "rounds": "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt   (all cards, while the load runs)",
        "work_per_stage": "how the model is split and how many requests ran",
        "foreign_known": "nvidia-smi pmon -d 1 beside it",
        "split_is_parallel": "how the model is split: --given split=tensor or layer",
        "batches_in_flight": "how the model is split and how many requests ran",
        "util_sum": "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt   (all cards, while the load runs)",
        "card_min": "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt   (all cards, while the load runs)",
        "cards": "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt   (all cards, while the load runs)",
        "cards_missing": "the utilisation of every card the model runs on",
        "servers_together": "the run again with one server on these cards",
        "cards_extra": "nvidia-smi pmon -d 1 beside it: which process is on which card",
        "devices": "the server's start-up lines (one model buffer per card), or --given gpu.count=N",
        "foreign_seen": "nvidia-smi pmon -d 1",
    },
    means="Turn-taking is how a layer split works, not a fault. One stream cannot go faster by adding cards.",
    remedy="A tensor split lets all cards work on every token: at best {cards:int} times as fast, less what the link takes.",
    not_a_remedy="More cards, a faster link or a higher power limit do not make one stream of a layer split faster.",
    next=(
        Experiment(
            "trace 10 s with nsys and look at the overlap of kernels between cards",
            "nsys profile -t cuda,nvtx,osrt --cuda-graph-trace=node -d 10 -o trace <server command>",
            "overlap of at most 5 % within one request: turns; 20 % or more: parallel",
            cost=3,
        ),
    ),
)
