"""Is memory bandwidth the limit?

What it finds
    Decode steps that mostly move weights and KV cache through device memory at close to the bandwidth that is there.

Why it matters
    Memory-bound decode gets faster by moving fewer bytes (smaller quantisation, larger batches), not by faster arithmetic.
    Utilisation and power cannot show it: 100 % and a third of the power limit are what many other limits show as well.

How it decides
    MBU = steps per second over the ceiling, bandwidth / bytes of one step. Everything is an interval: active parameters at the
    average bits of the file at the low end; non-routed parameters at 16 bit and the rest of the file for the experts at the high
    end; KV cache at its bound. For a serial split of equal cards the ceiling is one card's. Confirmed at 0.60 or more at the low
    end with the steps known; ruled out as the main cost below 0.40 at the high end. Between them it fits or cannot be told.

Known problems
    Without a DRAM counter the bytes are those of one pass over weights and cache: software that moves more stays possible. With
    speculative decoding tokens are not steps. Unknown KV layout counts as 1.5 times full attention, which may be far too much.
"""

from ..engine.rule import CAUSE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH known AS (
    SELECT
        sc.scope_id, sc.concurrency, st.x, st.n_eff, st.r_is_decode, st.ev, st.server_ev,
        -- one stream: its decode rates, from the table where they count and from the server's own lines
        least(CASE WHEN st.r_is_decode THEN st.r END, sr.rate_lo) AS r_lo, greatest(CASE WHEN st.r_is_decode THEN st.r END, sr.rate_hi) AS r_hi,
        sr.longest, sr.drafted, sr.ev AS longest_ev, l.slots_lo
    FROM main.scopes sc
    LEFT JOIN main.steps st USING (scope_id)
    LEFT JOIN main.slots l USING (scope_id)
    LEFT JOIN (
        SELECT
            scope_id, min(1000 * decode_steps / decode_ms) AS rate_lo, max(1000 * decode_steps / decode_ms) AS rate_hi,
            max(coalesce(prompt_tokens, 0) + coalesce(cached_tokens, 0) + output_tokens) AS longest, sum(drafted_tokens) AS drafted,
            min_by({'source_id': source_id, 'line': line}, line, 2) AS ev
        FROM main.requests_in_scope WHERE decode_ms > 0 AND decode_steps > 20 GROUP BY scope_id
    ) sr USING (scope_id)
), batch AS (
    SELECT
        *,
        CASE WHEN concurrency = 1 THEN 1 WHEN r_is_decode THEN n_eff WHEN concurrency <= slots_lo THEN 0.55 * concurrency END AS b_lo,
        CASE WHEN concurrency = 1 THEN 1 WHEN r_is_decode THEN n_eff WHEN concurrency <= slots_lo THEN concurrency END AS b_hi
    FROM known
), rates AS (
    -- steps per second: the rate of one stream, else total / batch
    SELECT
        *,
        CASE WHEN concurrency = 1 OR r_is_decode THEN r_lo ELSE x / b_hi END AS steps_lo,
        CASE WHEN concurrency = 1 OR r_is_decode THEN r_hi ELSE x / b_lo END AS steps_hi
    FROM batch
), tokens AS (
    SELECT
        r.*, f.*,
        coalesce(
            r.longest,
            (SELECT num FROM main.given WHERE key = 'ctx_max'),
            (SELECT num_hi FROM main.config_in_scope c WHERE c.scope_id = r.scope_id AND c.key = 'n_ctx_slot')
        ) AS sequence_tokens,
        CASE WHEN r.longest IS NOT NULL THEN 'longest logged sequence' WHEN EXISTS (FROM main.given WHERE key = 'ctx_max') THEN 'given ctx_max'
             ELSE 'context of a slot' END AS sequence_from
    FROM rates r JOIN main.roofs f USING (scope_id)
), bytes AS (
    SELECT
        *,
        pass_bytes_lo AS step_bytes_lo,
        -- distinct experts of a batch under uniform routing: the most that B tokens can touch
        least(file_bytes, coalesce(
            fixed_bytes_hi + expert_bytes_one_hi * CASE WHEN dense OR experts IS NULL THEN 1
                ELSE experts * (1 - power(1 - experts_per_token / experts, b_lo)) / experts_per_token END,
            CASE WHEN b_hi = 1 THEN pass_bytes_hi ELSE file_bytes END
        )) AS step_bytes_hi,
        b_hi * sequence_tokens * kv_bytes_per_token_hi AS kv_bytes_hi
    FROM tokens
), mbu AS (
    SELECT
        *,
        steps_lo * step_bytes_lo / (bw_hi * 1e9) AS mbu_lo,
        steps_hi * (step_bytes_hi / bw_lo + kv_bytes_hi / bw_one_lo) / 1e9 AS mbu_hi
    FROM bytes
)
SELECT
    scope_id, concurrency AS streams, steps_lo AS steps_per_s_lo, steps_hi AS steps_per_s_hi, ev AS steps_per_s_ev,
    b_lo AS batch_lo, b_hi AS batch_hi, step_bytes_lo / 1e9 AS step_gb_lo, step_bytes_hi / 1e9 AS step_gb_hi,
    kv_bytes_hi / 1e9 AS kv_gb, sequence_tokens, sequence_from, longest_ev AS sequence_tokens_ev,
    bw_lo AS bandwidth_lo, bw_hi AS bandwidth_hi, bw_origin AS bandwidth_origin,
    CASE WHEN bw_origin = 'given' THEN ['gpu.mem_bw_gb_s=' || printf('%g', bw_one_lo)] END AS bandwidth_given,
    mbu_lo, mbu_hi, model_given AS mbu_given, model_ev AS mbu_ev, model_origin AS mbu_origin,
    CASE WHEN drafted > 0 THEN 1 WHEN (SELECT any_value(value) FROM main.given WHERE key = 'speculation') = 'on' THEN 1
         WHEN (SELECT any_value(value) FROM main.given WHERE key = 'speculation') = 'off' THEN 0
         -- llama.cpp prints a draft line after every speculative request, so its timing lines without one show that it is off
         WHEN longest IS NOT NULL THEN 0 END AS speculation,
    CASE WHEN drafted > 0 OR (SELECT any_value(value) FROM main.given WHERE key = 'speculation') = 'on' THEN 1 ELSE 0 END AS speculation_seen
FROM mbu
"""

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
    },
    confirmed=(
        Route(
            "decode moves its bytes at close to the bandwidth",
            when=("mbu >= high", "speculation <= 0"),
            uses=("bench", "roof"),
            says="Decode is memory-bound. {steps_per_s:} steps/s x {step_gb:GB} over {bandwidth:GB/s} is {mbu:share} of the ceiling (line 60 %).",
        ),
    ),
    ruled_out=(
        Route(
            "one pass over weights and KV cache takes less than 40 % of a step",
            when=("mbu < low", "speculation_seen <= 0"),
            uses=("bench", "roof"),
            says="Memory bandwidth is not the main cost. {steps_per_s:} steps/s x ({step_gb:GB} of weights + at most {kv_gb:GB} of KV, {sequence_tokens:int} tokens: "
            "{sequence_from}) over {bandwidth:GB/s} is {mbu:share} of the ceiling (line 40 %).",
        ),
    ),
    fits=(
        Route(
            "a large part of the bandwidth is in use",
            when=("mbu >= low",),
            uses=("bench", "roof"),
            rivals=("other_cost",),
            says="{mbu:share} of the memory ceiling is in use. {steps_per_s:} steps/s x {step_gb:GB} over {bandwidth:GB/s}.",
        ),
    ),
    rivals={
        "other_cost": Rival(
            "a fixed cost per step beside the bytes (kernels, launches, collectives)",
            closed=("mbu >= high", "speculation <= 0"),
            settle="the same run at two SM clocks, or DRAM_ACTIVE: dcgmi dmon -e 1002,1004,1005 -d 100",
        ),
    },
    collect={
        "mbu": "decode tokens/s of one stream (server eval lines), model size and active parameters, bits per weight, the card, and the longest sequence "
        "(server log, or --given ctx_max=N)",
        "speculation": "whether speculative decoding was on: the server log, or --given speculation=off",
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
