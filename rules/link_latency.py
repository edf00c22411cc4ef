"""Do small messages between the cards take the time?

What it finds
    A tensor split whose many small collectives each wait a fixed time, whatever their size.

Why it matters
    The wire is then nearly empty, so a low link reading is taken for "communication is not it". Only fewer or faster collectives
    help, not a wider link.

How it decides
    A tensor split reduces twice per layer: 2 L collectives per step. Times the latency of one at this topology and message size, as
    an interval, over the step time. At 5 % or less at the high end it is ruled out; at 20 % or more at the low end it fits. A layer
    split has no collectives: its idle share bounds it. Confirmed by a kernel trace of all ranks of a tensor split in decode, with
    messages of at most 64 KB: of every collective the shortest rank's time (the rest is waiting for another rank), 40 % of the time or
    more, not counting what other kernels of the card cover. One rank alone, or a trace that may be prefill, only fits. Confirmed as well by
    two runs that differ in the all-reduce alone: with messages of at most 64 KB the one with the custom all-reduce gives 15 % more.

Known problems
    The latency of a collective is rarely known. The low end is what the fastest measured implementation takes, the high end what
    unmeasured paths may take, and they are a factor of ten apart.
"""

from ..engine.rule import CAUSE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH pairs AS (
    -- this run reduces through NCCL, and its twin with the custom all-reduce differs in nothing else
    SELECT
        scope_id, min(gain_lo) AS gain_lo, max(gain_hi) AS gain_hi, bool_and(sure)::INT AS sure, min(repeats) AS repeats, any_value(mean_a) AS mean_a,
        any_value(mean_b) AS mean_b, min(ev) AS ev
    FROM (SELECT *, bool_or(sure) OVER (PARTITION BY scope_id) AS any_sure FROM main.ab_pairs WHERE factor = 'all-reduce' AND reduces = 'false' AND reduces_other = 'true')
    WHERE sure = any_sure GROUP BY scope_id
)
SELECT
    sc.scope_id, a.gain_lo AS custom_gain_lo, a.gain_hi AS custom_gain_hi, a.ev AS custom_gain_ev, a.sure AS ab_sure, a.repeats, a.mean_a AS nccl_tok_s, a.mean_b AS custom_tok_s,
    p.split, p.cards, p.layers, p.collectives, p.message_lo / 1024 AS message_kb_lo, p.message_hi / 1024 AS message_kb_hi,
    p.latency_us_lo, p.latency_us_hi, 1000 / p.steps_hi AS step_ms_lo, 1000 / p.steps_lo AS step_ms_hi, p.ev AS step_ms_ev,
    p.latency_share_lo, p.latency_share_hi, p.latency_share_lo AS latency_least,
    CASE WHEN p.split = 'layer' THEN s.idle_bound END AS idle_bound, s.rounds, s.ev AS idle_bound_ev,
    CASE WHEN p.split IN ('data', 'none') THEN 1 WHEN p.split IS NOT NULL THEN 0 END AS no_collectives,
    -- with a trace: the shortest rank's time of every collective that all ranks are in, and what nothing else on the card covers
    CASE WHEN k.collectives > 0 THEN least(coalesce(k.collective_share, 0), k.exposed_share) END AS traced_share, k.ev AS traced_share_ev,
    CASE WHEN k.collectives IS NULL THEN k.exposed_share END AS one_rank_share, k.ranks AS traced_ranks, k.collectives AS traced_collectives,
    CASE WHEN k.decode THEN 1 END AS traced_decode, r.ranks, CASE WHEN r.ranks IS NOT NULL AND k.ranks IS NOT NULL THEN greatest(0, r.ranks - k.ranks) END AS ranks_missing
FROM main.scopes sc LEFT JOIN main.kernel_facts k USING (scope_id) LEFT JOIN pairs a USING (scope_id)
LEFT JOIN (
    SELECT scope_id, coalesce(max(num_hi) FILTER (key = 'tensor_parallel'), max(num_hi) FILTER (key = 'gpu.count')) AS ranks
    FROM main.config_in_scope GROUP BY scope_id
) r USING (scope_id) LEFT JOIN main.link_load p USING (scope_id) LEFT JOIN main.serial_idle s USING (scope_id)
"""

_NEEDS = "how the model is split, its layers and width, the number of cards, and the step rate"

_TRACE = "nsys profile -t cuda,nvtx,osrt --cuda-graph-trace=node -d 15 -o trace <server command> (all ranks); nsys export --type sqlite trace.nsys-rep"

_PAIR = "the same load with and without --disable-custom-all-reduce, three runs each, and both servers' logs from their start"

RULE = Rule(
    id="link-latency",
    claim=CAUSE,
    about="latency of messages between the cards",
    question="Do small messages between the cards take the time?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "small": Limit(0.05, "of the step", "a twentieth is not worth looking at"),
        "notable": Limit(0.20, "of the step", "a fifth is worth a trace"),
        "most": Limit(0.40, "of the step", "twice what is worth a look, and no single kernel of decode takes as much"),
        "worth": Limit(0.15, "of the rate", "five times what runs of one setting usually differ by"),
        "small_message": Limit(64, "KB", "the largest message whose latency was measured; above it bytes count"),
        "possible": Limit(1.02, "of the step", "nothing takes longer than the step it is part of; the rest is rounding"),
        "idle_small": Limit(5, "% of the time", "everything that is no kernel together"),
        "rounds_needed": Limit(10, "samples", "fewer than ten independent windows say nothing about the load"),
    },
    applies=("no_collectives < 1",),
    impossible=(
        Route(
            "collectives that would take longer than the step: card, model, split or step count is not of this run",
            when=("latency_least > possible",),
            uses=("config",),
            says="{collectives:int} collectives of {latency_us:us} would take {latency_share:share} of a step of {step_ms:ms}: card, model, split or step count is not of this run.",
        ),
    ),
    confirmed=(
        Route(
            "small collectives take 40 % of the step on all ranks of a trace",
            when=(
                "traced_share >= most",
                "ranks_missing <= 0",
                "traced_ranks >= 2",
                "split == 'tensor'",
                "traced_decode >= 1",
                "message_kb <= small_message",
            ),
            uses=("kernels", "config", "server"),
            says="Messages between the cards take the time. {traced_collectives:int} collectives, each by its shortest rank, take {traced_share:share} of the time of "
            "decode on {traced_ranks:int} ranks (line 40 %), with messages of {message_kb:KB}.",
        ),
        Route(
            "a run that differs in the all-reduce alone is faster",
            when=("custom_gain >= worth", "ab_sure >= 1", "split == 'tensor'", "message_kb <= small_message"),
            uses=("bench", "ab", "config"),
            says="Messages between the cards take the time. With the custom all-reduce the same load gives {custom_tok_s:tok/s} instead of {nccl_tok_s:tok/s}, "
            "{custom_gain:share} more with the noise of {repeats:int} runs per arm (line 15 %), with messages of {message_kb:KB}.",
        ),
    ),
    ruled_out=(
        Route(
            "a layer split has no collectives, and its idle share is small",
            when=("idle_bound <= idle_small", "rounds >= rounds_needed"),
            uses=("util", "config"),
            says="Messages between the cards do not take the time. A layer split has no collectives, and at most {idle_bound:%} of the time no card works.",
        ),
        Route(
            "all collectives together take less than a twentieth of the step",
            when=("latency_share <= small",),
            uses=("config",),
            says="Messages between the cards do not take the time. {collectives:int} collectives of {latency_us:us} are {latency_share:share} of a step of {step_ms:ms}.",
        ),
    ),
    fits=(
        Route(
            "a run with the custom all-reduce is faster",
            when=("custom_gain >= worth",),
            uses=("bench", "ab"),
            rivals=("unsure_pair", "not_small"),
            says="Messages between the cards may take the time. A run with the custom all-reduce gives {custom_tok_s:tok/s} instead of {nccl_tok_s:tok/s}.",
        ),
        Route(
            "collectives take 40 % of the time in a trace",
            when=("traced_share >= most",),
            uses=("kernels",),
            rivals=("not_latency",),
            says="Messages between the cards may take the time. In a trace of {traced_ranks:int} ranks collectives, each by its shortest rank, take {traced_share:share}.",
        ),
        Route(
            "collectives take 40 % of the time of the one rank that was traced",
            when=("one_rank_share >= most",),
            uses=("kernels",),
            rivals=("waits", "not_latency"),
            says="Messages between the cards may take the time. On the one rank that was traced collectives take {one_rank_share:share}.",
        ),
        Route(
            "collectives may take a fifth of the step or more",
            when=("latency_share >= notable",),
            uses=("config",),
            rivals=("untraced",),
            says="Messages between the cards may take the time. {collectives:int} collectives of {latency_us:us} ({message_kb:KB}) are {latency_share:share} of a step "
            "of {step_ms:ms}.",
        ),
    ),
    rivals={
        "unsure_pair": Rival(
            "chance, or something else that was changed with the all-reduce",
            closed=("ab_sure >= 1",),
            settle="three runs per arm with only the all-reduce changed (--disable-custom-all-reduce), and both servers' logs from their start",
        ),
        "not_small": Rival(
            "collectives that carry much: a large batch, or a split that does not reduce",
            closed=("split == 'tensor'", "message_kb <= small_message"),
            settle="how many requests ran, the model's width (model.hidden in gpuverdict.toml), and the server's start-up log",
        ),
        "waits": Rival(
            "waiting for a slower rank", closed=("ranks_missing <= 0", "traced_ranks >= 2"), settle="the same trace on all ranks"
        ),
        "not_latency": Rival(
            "collectives that carry much: prefill, or a large batch",
            closed=("traced_decode >= 1", "message_kb <= small_message"),
            settle="the server's log of the traced time (decode alone), how many requests ran, and the model's width",
        ),
        "untraced": Rival(
            "kernels or the host take the time instead",
            closed=(),
            settle="nsys on all ranks for 10 s: the sum over collectives of the shortest rank's time, as a share of the step",
        ),
    },
    collect={
        "custom_gain": _PAIR,
        "ab_sure": _PAIR,
        "traced_share": _TRACE,
        "one_rank_share": _TRACE,
        "traced_ranks": _TRACE,
        "ranks_missing": "the number of ranks (the server's start-up log, --given gpu.count=N), and a trace of all of them",
        "traced_decode": "the server's own log of the traced time (it tells decode from prefill)",
        "message_kb": "how many requests ran, and the model's width (model.hidden in gpuverdict.toml)",
        "split": _NEEDS,
        "idle_bound": "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt in the load, and how the model is split",
        "rounds": "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt in the load",
        "latency_share": _NEEDS,
        "latency_least": _NEEDS,
        "no_collectives": _NEEDS,
    },
    means="A latency-bound link looks idle: the wire carries little, and the cards wait inside the collective at 100 %.",
    remedy="Fewer ranks, a faster all-reduce (custom or one-shot kernels, P2P), or larger batches that share each collective.",
    not_a_remedy="More link bandwidth.",
    next=(
        Experiment(
            "trace 15 s on all ranks",
            "nsys profile -t cuda,nvtx,osrt --cuda-graph-trace=node -d 15 -o trace <server command>; nsys stats -r cuda_gpu_kern_sum trace.nsys-rep",
            "collectives at 40 % of the step or more: latency; under 5 %: not",
            cost=3,
        ),
    ),
)
