"""Is memory bandwidth the limit?

What it finds
    Decode steps that mostly move weights and KV cache through device memory at close to the bandwidth that is there.

Why it matters
    Memory-bound decode gets faster by moving fewer bytes (smaller quantisation, larger batches), not by faster arithmetic.
    Utilisation and power cannot show it: 100 % and a third of the power limit are what many other limits show as well.

How it decides
    MBU = steps per second over the ceiling, bandwidth / bytes of one step. Everything is an interval: active parameters at the
    average bits of the file, without the token embedding, at the low end; non-routed parameters at 16 bit and the rest of the file for the experts at the high
    end; KV cache at its bound. The bandwidth is that of the memory clock under load where it is logged, the catalogue's at most at the
    low end. For a serial split of equal cards the ceiling is one card's; every copy of a data split reads all weights, so there it is one
    copy's. Cards are those that the log says the model runs on. More than 1.02 at the low end is impossible: card, model or step count is
    not of this run, and nothing is decided. Confirmed at 0.60 or more at the low
    end with the steps known, or where the rate follows the memory clock (0.7 or more) and not the SM clock (0.2 or less) over repeated
    runs that differ in nothing else; ruled out as the main cost below 0.40 at the high end. utilization.memory rules it out only
    where the same cards, in these files, show what it reads at the roof: 25 % or less, and 0.4 of that reading or less. Between them
    it fits or cannot be told.

Known problems
    Without a DRAM counter the bytes are those of one pass over weights and cache: software that moves more stays possible. With
    speculative decoding tokens are not steps. Unknown KV layout counts as 1.5 times full attention, which may be far too much.
"""

from ..engine.rule import CAUSE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH per_card AS (
    SELECT scope_id, host, gpu, avg(util_mem) AS util_mem, count(util_mem) AS n, min({'source_id': source_id, 'line': line}) AS ev
    FROM main.samples_in_load WHERE util_mem IS NOT NULL AND placed IN ('given', 'clock') AND (phase = 'decode' OR phase IS NULL)
    GROUP BY scope_id, host, gpu
), readings AS (
    -- cards that take turns share the time: their sum; else the busiest one
    SELECT
        c.scope_id, CASE WHEN any_value(f.split) IN ('layer', 'pipeline') THEN sum(c.util_mem) ELSE max(c.util_mem) END AS util_mem, min(c.n) AS n,
        count(*) AS cards, list_slice(list(c.ev ORDER BY c.ev), 1, 2) AS ev
    FROM per_card c JOIN main.roofs f USING (scope_id) GROUP BY c.scope_id
), at_the_roof AS (
    -- the same cards at a load that is known to fill the memory interface: what the counter reads at full scale on this product
    SELECT r.cards, max(r.util_mem) AS full_scale
    FROM readings r LEFT JOIN main.step_bytes b USING (scope_id) LEFT JOIN main.hardware_counters d USING (scope_id)
    WHERE r.n >= 10 AND ((d.dram_lo >= 0.65 AND d.extra_cards = 0) OR (b.speculation = 'off' AND b.mbu_lo BETWEEN 0.60 AND 1.02)) GROUP BY r.cards
), on_cards AS (
    SELECT
        scope_id, CASE WHEN max(num_lo) FILTER (key = 'layers_offloaded') >= max(num_hi) FILTER (key = 'layers_total') THEN 1 END AS all_layers,
        coalesce(max(num_lo) FILTER (key = 'layers_offloaded') < max(num_hi) FILTER (key = 'layers_total'), FALSE)
            OR coalesce(max(num_hi) FILTER (key = 'n_cpu_moe') > 0, FALSE) OR bool_or(key = 'tensor_overrides')
            OR coalesce(max(num_hi) FILTER (key = 'memory_on_cpu_share') > 0, FALSE) AS layers_off,
        min(num_lo) FILTER (key = 'n_gpu_layers') AS layers_asked,
        max(num_lo) FILTER (key = 'cpu_model_mib') * 1048576 AS cpu_bytes, coalesce(max(num_hi) FILTER (key = 'weights_offload_gib') > 0, FALSE) AS told_off
    FROM main.config_in_scope GROUP BY scope_id
), held AS (
    SELECT scope_id, sum(mem) * 1048576 AS bytes FROM (SELECT scope_id, host, gpu, min(mem_used) AS mem FROM main.samples_in_load GROUP BY ALL) GROUP BY scope_id
)
SELECT
    sc.scope_id, b.concurrency AS streams, steps_lo AS steps_per_s_lo, steps_hi AS steps_per_s_hi, b.ev AS steps_per_s_ev,
    batch_lo, batch_hi, pass_bytes_lo / 1e9 AS step_gb_lo, step_bytes_hi / 1e9 AS step_gb_hi,
    b.kv_bytes_hi / 1e9 AS kv_gb, sequence_tokens, sequence_from, b.ev AS sequence_tokens_ev,
    bw_lo AS bandwidth_lo, bw_hi AS bandwidth_hi, bw_origin AS bandwidth_origin,
    CASE WHEN bw_origin = 'given' THEN ['gpu.mem_bw_gb_s=' || printf('%g', bw_one_lo)] END AS bandwidth_given, bw_ev AS bandwidth_ev,
    b.mbu_lo, b.mbu_hi, b.mbu_lo AS mbu_least,
    model_given AS mbu_given, model_ev AS mbu_ev, model_origin AS mbu_origin,
    CASE speculation WHEN 'on' THEN 1 WHEN 'off' THEN 0 END AS speculation,
    CASE WHEN speculation = 'on' AND accept_len IS NULL THEN 1 ELSE 0 END AS speculation_seen,
    -- where the memory interface itself was recorded, it decides: software may move more bytes than one pass
    (SELECT count(*) FROM main.gpu_samples WHERE dram_active IS NOT NULL) AS counters_seen,
    d.dram_lo AS dram_active_lo, d.dram_hi AS dram_active_hi, d.decode_tensor_lo AS tensor_active_lo, d.decode_tensor_hi AS tensor_active_hi, d.dram_rounds, d.dram_ev AS dram_active_ev,
    d.extra_cards AS cards_extra,
    e.mem_lo AS mem_elasticity_lo, e.mem_hi AS mem_elasticity_hi, e.sm_lo AS sm_elasticity_lo, e.sm_hi AS sm_elasticity_hi, e.ev AS mem_elasticity_ev, e.sure AS clocks_sure, e.near_usual,
    q.util_mem, q.n AS util_mem_rounds, q.ev AS util_mem_ev, z.full_scale AS util_mem_full, q.util_mem / z.full_scale AS util_mem_share,
    CASE WHEN NOT coalesce(y.layers_off, FALSE) AND (y.all_layers = 1 OR h.bytes >= b.file_bytes) THEN 1 END AS on_cards,
    -- more on the CPU than an embedding: the host's memory takes part, and the cards' bandwidth says nothing about it
    CASE WHEN y.layers_off OR y.told_off OR y.cpu_bytes > b.embedding_bytes + 0.02 * b.file_bytes OR y.layers_asked = 0 THEN 1
        -- fewer layers asked for than there are; of a model whose layers are not known, only 99 and -1 are surely all
        WHEN y.all_layers = 1 OR y.layers_asked IS NULL OR y.layers_asked < 0 OR y.layers_asked >= coalesce(b.layers, 99) THEN 0
        WHEN y.layers_asked < b.layers THEN 1 END AS off_cards
FROM main.scopes sc LEFT JOIN main.step_bytes b USING (scope_id) LEFT JOIN main.hardware_counters d USING (scope_id) LEFT JOIN main.clock_elasticity e USING (scope_id)
LEFT JOIN readings q USING (scope_id) LEFT JOIN at_the_roof z ON z.cards = q.cards LEFT JOIN on_cards y ON y.scope_id = sc.scope_id
LEFT JOIN held h ON h.scope_id = sc.scope_id
"""

_UTIL_MEM = (
    "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt in this load, and in one that is known to fill the memory (one stream of a dense model with the rate known, "
    "or DRAM_ACTIVE beside it)"
)
_CLOCKS = (
    "the same load, three runs each, at two memory clocks (nvidia-smi -lmc) and at two SM clocks within 70 to 100 % of the usual one (nvidia-smi -lgc), "
    "with clocks.sm and clocks.mem logged under load"
)

# The rate comes from a sweep's totals or from the server's own eval lines: either, with the roof.
_RATES = ("bench", "server")

RULE = Rule(
    id="memory-bound",
    claim=CAUSE,
    about="memory bandwidth",
    question="Is memory bandwidth the limit?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "high": Limit(0.60, "MBU", "three quarters of the 0.8 that is practical; optimised stacks run at 0.6 to 0.85"),
        "low": Limit(0.40, "MBU", "half of the 0.8 that is practical: most of the step is then something else"),
        "possible": Limit(1.02, "MBU", "no card moves more than its bandwidth; the rest is rounding of clocks and rates"),
        "dram_high": Limit(0.65, "DRAM_ACTIVE", "four fifths of the 0.8 that is practical"),
        "dram_low": Limit(0.40, "DRAM_ACTIVE", "half of the 0.8 that is practical"),
        "tensor_low": Limit(0.4, "tensor active", "above that arithmetic takes part"),
        "util_mem_low": Limit(
            25, "%", "a quarter of the time; what it means depends on the product, so the full scale has to be in the same files"
        ),
        "follows": Limit(0.7, "d ln rate / d ln clock", "most of the time scales with that clock"),
        "stays": Limit(0.2, "d ln rate / d ln clock", "a fifth of the time at most scales with that clock"),
        "enough": Limit(10, "rounds", "fewer than ten independent windows say nothing about the load"),
    },
    impossible=(
        Route(
            "more than the card can move: card, model or step count is not of this run",
            when=("mbu_least > possible",),
            uses=("roof",),
            says="{steps_per_s:} steps/s x {step_gb:GB} is more than the card can move, {mbu:share} of {bandwidth:GB/s}: card, model or step count is not of this run.",
        ),
    ),
    confirmed=(
        *(
            Route(
                "decode moves its bytes at close to the bandwidth",
                when=("mbu >= high", "speculation <= 0"),
                uses=(rates, "roof"),
                says="Decode is memory-bound. {steps_per_s:} steps/s x {step_gb:GB} over {bandwidth:GB/s} is {mbu:share} of the ceiling (line 60 %).",
            )
            for rates in _RATES
        ),
        Route(
            "the memory interface is active most of the time",
            when=("dram_active >= dram_high", "tensor_active < tensor_low", "dram_rounds >= enough", "cards_extra <= 0"),
            uses=("util",),
            says="Decode is memory-bound. The memory interface is active {dram_active:share} of the time (line 65 %; about 80 % is the practical most), "
            "the tensor pipes {tensor_active:share}.",
        ),
        Route(
            "the rate follows the memory clock and not the SM clock",
            when=("mem_elasticity >= follows", "sm_elasticity <= stays", "clocks_sure >= 1", "near_usual >= 1"),
            uses=("bench", "util", "ab"),
            says="The rate is memory-bound. It follows the memory clock ({mem_elasticity:} per unit, line 0.7) and not the SM clock ({sm_elasticity:}, line 0.2).",
        ),
    ),
    ruled_out=(
        *(
            Route(
                "one pass over weights and KV cache takes less than 40 % of a step",
                when=("mbu < low", "speculation_seen <= 0", "counters_seen <= 0", "off_cards <= 0"),
                uses=(rates, "roof"),
                says="Memory bandwidth is not the main cost. {steps_per_s:} steps/s x ({step_gb:GB} of weights + at most {kv_gb:GB} of KV, {sequence_tokens:int} "
                "tokens: {sequence_from}) over {bandwidth:GB/s} is {mbu:share} of the ceiling (line 40 %).",
            )
            for rates in _RATES
        ),
        Route(
            "the memory interface is idle most of the time",
            when=("dram_active <= dram_low", "dram_rounds >= enough", "cards_extra <= 0"),
            uses=("util",),
            says="Memory bandwidth is not the main cost. The memory interface is active only {dram_active:share} of the time (line 40 %).",
        ),
        Route(
            "the memory is read in a small part of the time, on a counter whose full scale these files show",
            when=("util_mem <= util_mem_low", "util_mem_share <= low", "util_mem_rounds >= enough", "on_cards >= 1", "counters_seen <= 0"),
            uses=("util",),
            says="Memory bandwidth is not the main cost. The memory is read or written in {util_mem:%} of the time, {util_mem_share:share} of the {util_mem_full:%} that the same "
            "cards read at a load known to fill it (line 40 %).",
        ),
    ),
    fits=tuple(
        Route(
            "a large part of the bandwidth is in use",
            when=("mbu >= low",),
            uses=(rates, "roof"),
            rivals=("other_cost",),
            says="{mbu:share} of the memory ceiling is in use. {steps_per_s:} steps/s x {step_gb:GB} over {bandwidth:GB/s}.",
        )
        for rates in _RATES
    ),
    rivals={
        "other_cost": Rival(
            "a fixed cost per step beside the bytes (kernels, launches, collectives)",
            closed=("mbu >= high", "speculation <= 0"),
            settle="the same run at two SM clocks, or DRAM_ACTIVE: dcgmi dmon -e 1002,1004,1005 -d 100",
        ),
    },
    collect={
        "mem_elasticity": _CLOCKS,
        "sm_elasticity": _CLOCKS,
        "util_mem": _UTIL_MEM,
        "util_mem_share": _UTIL_MEM,
        "util_mem_rounds": _UTIL_MEM,
        "on_cards": "the server's start-up log (offloaded n/n layers), or memory.used of every card and the size of the model",
        "off_cards": "a server with all its weights on the cards",
        "clocks_sure": _CLOCKS,
        "near_usual": _CLOCKS,
        "mbu": "decode tokens/s of one stream (server eval lines), model size and active parameters, bits per weight, the card, and the longest sequence "
        "(server log, or --given ctx_max=N)",
        "mbu_least": "the card, the model and the step rate of one and the same run",
        "dram_active": "dcgmi dmon -e 1002,1004,1005 -d 100 (data-centre cards), while the load runs",
        "tensor_active": "dcgmi dmon -e 1002,1004,1005 -d 100 (data-centre cards), while the load runs",
        "dram_rounds": "dcgmi dmon -e 1002,1004,1005 -d 100 (data-centre cards), while the load runs",
        "cards_extra": "nvidia-smi pmon -d 1 beside it: which process is on which card",
        "speculation": "whether speculative decoding was on: the server log, or --given speculation=off",
        "counters_seen": "DRAM_ACTIVE placed in the load",
        "speculation_seen": "whether speculative decoding was on",
    },
    means="The interval says how much of a step one pass over weights and cache can explain.",
    remedy="Move fewer bytes per token: a smaller quantisation, a larger batch, a shorter context.",
    not_a_remedy="A higher SM clock or power limit does not speed up what waits for memory.",
    next=(
        Experiment(
            "run the same load at two SM clocks",
            "sudo nvidia-smi -lgc 1200,1200; run; sudo nvidia-smi -rgc; run",
            "the rate follows the clock: the SM side; it does not: memory, host, link or CPU",
            cost=2,
        ),
    ),
)
