"""Is arithmetic the limit?

What it finds
    Whether the floating-point work of the computed tokens is near what the cards can do.

Why it matters
    100 % utilisation is read as "compute-bound", but it only says that some kernel was resident. Decode with a small batch is far
    below the arithmetic of the cards, whatever the utilisation.

How it decides
    MFU = 2 x active parameters x computed tokens per second over the peak of the cards that work at the same time. Ruled out at 15 %
    or less at the high end, with the lowest peak (bf16 of the catalogue); confirmed at 50 % or more at the low end, with the highest. More
    than 102 % at the low end is impossible: card, model or token count is not of this run, and nothing is decided.
    Without a rate decode is still bounded: its step cannot be shorter than one pass over the weights, so the arithmetic of B tokens
    over that time bounds the MFU. Where the prompts of the same time are counted and may matter, that says nothing about the whole.

Known problems
    Ruling out arithmetic does not rule out kernels that are slow for other reasons (dequantisation, low occupancy): that needs a
    run at two clocks or a profiler. Prompt tokens count too; where they are unknown the verdict is for decode alone.
"""

from ..engine.rule import CAUSE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH priced AS (
    SELECT
        p.*, f.active_b, f.peak_lo, f.peak_hi, f.peak_copy_lo, f.bw_lo, f.bw_hi, f.pass_bytes_lo, f.model_given, f.model_ev,
        t.tok_s_hi AS tokens_hi, t.tok_s_lo AS tokens_lo, t.counts
    FROM main.pace p JOIN main.computed_tokens t USING (scope_id) JOIN main.roofs f USING (scope_id)
)
SELECT
    p.scope_id, active_b, peak_lo AS peak_tflops_lo, peak_hi AS peak_tflops_hi,
    coalesce(tokens_lo, steps_lo * batch_lo) AS tok_s_lo, coalesce(tokens_hi, steps_hi * batch_hi) AS tok_s_hi, p.ev AS tok_s_ev,
    2 * active_b * 1e9 * coalesce(tokens_lo, steps_lo * batch_lo) / (peak_hi * 1e12) AS mfu_lo,
    2 * active_b * 1e9 * coalesce(tokens_hi, steps_hi * batch_hi) / (peak_lo * 1e12) AS mfu_hi, model_given AS mfu_given, model_ev AS mfu_ev,
    2 * active_b * 1e9 * coalesce(tokens_lo, steps_lo * batch_lo) / (peak_hi * 1e12) AS mfu_least,
    -- arithmetic of the batch, all of it in one copy of the model, over the time of one pass over the weights
    (2 * active_b * 1e9 * coalesce(batch_hi, concurrency) / (peak_copy_lo * 1e12)) / (pass_bytes_lo / (bw_hi * 1e9)) AS decode_mfu_bound,
    -- the cards compute prompts in this scope as well, and those are not known to be little
    CASE WHEN counts = 'prompt and output' AND coalesce(2 * active_b * 1e9 * tokens_hi / (peak_lo * 1e12) > 0.15, TRUE) THEN 1 ELSE 0 END AS prompts_matter,
    coalesce(batch_hi, concurrency) AS decode_batch, concurrency AS offered,
    counts AS counted, CASE counts WHEN 'output' THEN 'the limit of decode' ELSE 'the limit' END AS limit_of,
    c.tensor_active, c.sm_active, c.tensor_rounds AS counter_rounds, c.tensor_ev AS tensor_active_ev, c.extra_cards AS cards_extra
FROM priced p LEFT JOIN main.hardware_counters c USING (scope_id)
"""

_DCGM = "dcgmi dmon -e 1002,1004,1005,1007,1008,1013 -d 100 (data-centre cards), while the load runs"

# The rate comes from a sweep's totals or from the server's own lines: either, with the roof.
_RATES = ("bench", "server")

RULE = Rule(
    id="compute-bound",
    claim=CAUSE,
    about="arithmetic",
    question="Is arithmetic the limit?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "high": Limit(0.5, "MFU", "good matrix kernels reach 0.6 to 0.8 of the dense peak"),
        "low": Limit(0.15, "MFU", "below it arithmetic explains less than a quarter of the step"),
        "sm_high": Limit(0.8, "SM_ACTIVE", "the SMs have to be at work for arithmetic to be the limit"),
        "enough": Limit(10, "rounds", "fewer than ten independent windows say nothing about the load"),
        "possible": Limit(1.02, "MFU", "no card computes more than its peak; the rest is rounding"),
    },
    impossible=(
        Route(
            "more than the cards can compute: card, model or token count is not of this run",
            when=("mfu_least > possible",),
            uses=("roof",),
            says="{tok_s:tok/s} ({counted}) x 2 x {active_b:}e9 is more than the cards can compute, {mfu:share} of {peak_tflops:TFLOPS}: card, model or token count is not of this run.",
        ),
    ),
    confirmed=(
        *(
            Route(
                "the tokens need half of the arithmetic there is",
                when=("mfu >= high",),
                uses=(rates, "roof"),
                says="Arithmetic is the limit. {tok_s:tok/s} ({counted}) x 2 x {active_b:}e9 over {peak_tflops:TFLOPS} is {mfu:share} of the peak (line 50 %).",
            )
            for rates in _RATES
        ),
        Route(
            "the tensor pipes are active half of the time with the SMs at work",
            when=("tensor_active >= high", "sm_active >= sm_high", "counter_rounds >= enough", "cards_extra <= 0"),
            uses=("util",),
            says="Arithmetic is the limit. The tensor pipes are active {tensor_active:share} of the time, the SMs {sm_active:share}.",
        ),
    ),
    ruled_out=(
        *(
            Route(
                "the tokens need a small part of the arithmetic there is",
                when=("mfu <= low",),
                uses=(rates, "roof"),
                says="Arithmetic is not {limit_of:}. {tok_s:tok/s} ({counted}) x 2 x {active_b:}e9 over {peak_tflops:TFLOPS} is {mfu:share} of the peak (line 15 %). "
                "100 % utilisation only says that a kernel was resident.",
            )
            for rates in _RATES
        ),
        Route(
            "decode of this batch cannot need it, whatever its rate",
            when=("decode_mfu_bound <= low", "prompts_matter <= 0"),
            uses=("config", "roof"),
            says="Arithmetic is not the limit of decode. The arithmetic of a decode step of {decode_batch:} tokens is {decode_mfu_bound:share} of one pass over the weights (line 15 %).",
        ),
    ),
    fits=(
        Route(
            "a good part of the arithmetic is in use",
            when=("tensor_active >= low", "sm_active >= sm_high", "counter_rounds >= enough"),
            uses=("util",),
            rivals=("other_cost",),
            says="Arithmetic may be the limit. The tensor pipes are active {tensor_active:share} of the time.",
        ),
    ),
    rivals={
        "other_cost": Rival(
            "memory or slow kernels take the time instead",
            closed=("tensor_active >= high",),
            settle="the same run at two SM clocks, and DRAM_ACTIVE beside the tensor pipes",
        ),
    },
    collect={
        "mfu_least": "tokens/s (prompt and output) without cached prompts, and the card and model of that very run",
        "mfu": "tokens/s (prompt and output), active parameters, and the card's name (gpu.name in gpuverdict.toml)",
        "decode_mfu_bound": "active parameters, bits per weight, and the card's name (gpu.name in gpuverdict.toml)",
        "prompts_matter": "a run without long prompts, or tokens/s of prompts and of output apart",
        "tensor_active": _DCGM,
        "sm_active": _DCGM,
        "counter_rounds": _DCGM,
        "cards_extra": "nvidia-smi pmon -d 1 beside it: which process is on which card",
    },
    means="Utilisation is an upper bound of arithmetic, never a proof of it.",
    remedy="Lower precision of the arithmetic, or more cards.",
    not_a_remedy="Memory bandwidth, or a faster link.",
    next=(
        Experiment(
            "run the same load at two SM clocks",
            "sudo nvidia-smi -lgc 1200,1200; run; sudo nvidia-smi -rgc; run",
            "the rate follows the clock: the SM side (arithmetic or slow kernels); it does not: memory, host, link or CPU",
            cost=2,
        ),
    ),
)
