"""Do the multiprocessors set the pace?

What it finds
    A rate that follows the clock of the multiprocessors: arithmetic, or kernels that issue many instructions per byte (dequantisation,
    small or badly filled kernels).

Why it matters
    Such a run looks memory-bound (large weights) or compute-bound (100 %) and is neither: better kernels or another quantisation format
    help where more bandwidth or more FLOPS do not.

How it decides
    The same load at three SM clocks or more, all within 70 to 100 % of the highest, read back under load, with nothing else changed and
    three runs per clock: d ln rate / d ln clock of 0.7 or more confirms, 0.2 or less rules it out, the noise of the repeats taken off
    or added. Two clocks, or single runs, only fit. Arithmetic itself is judged by compute-bound: where that is ruled out, what is left
    is the issue of instructions.

Known problems
    The totals of a run hold its prompts too: with long prompts the rate follows the clock because prefill does. A caches' clock rises
    with the SM clock on some cards.
"""

from ..engine.rule import CAUSE, Experiment, Limit, Rival, Route, Rule

FACTS = """
SELECT
    sc.scope_id, e.sm_lo AS sm_elasticity_lo, e.sm_hi AS sm_elasticity_hi, e.ev AS sm_elasticity_ev, e.sm_clocks, e.sure AS clocks_sure, e.near_usual,
    e.sm_mhz_lo, e.sm_mhz_hi, e.repeats
FROM main.scopes sc LEFT JOIN main.clock_elasticity e USING (scope_id)
"""

_CLOCKS = (
    "the same load, three runs each, at three SM clocks within 70 to 100 % of the usual one (sudo nvidia-smi -lgc 1200,1200), with clocks.sm and clocks.mem "
    "logged under load"
)

RULE = Rule(
    id="sm-bound",
    claim=CAUSE,
    about="the clock of the multiprocessors",
    question="Do the multiprocessors set the pace?",
    scopes=("step",),
    facts=FACTS,
    limits={
        "follows": Limit(0.7, "d ln rate / d ln clock", "most of the time scales with the SM clock"),
        "stays": Limit(0.2, "d ln rate / d ln clock", "a fifth of the time at most scales with the SM clock"),
        "three": Limit(3, "clocks", "two points show no slope that holds"),
        "yes": Limit(1, "flag", "it is so"),
    },
    confirmed=(
        Route(
            "the rate follows the SM clock",
            when=("sm_elasticity >= follows", "sm_clocks >= three", "near_usual >= yes", "clocks_sure >= yes"),
            uses=("bench", "util", "ab"),
            says="The multiprocessors set the pace. Over {sm_clocks:int} clocks of {sm_mhz:MHz} the rate follows the SM clock by {sm_elasticity:} per unit (line 0.7).",
        ),
    ),
    ruled_out=(
        Route(
            "the rate does not follow the SM clock",
            when=("sm_elasticity <= stays", "near_usual >= yes", "clocks_sure >= yes"),
            uses=("bench", "util", "ab"),
            says="The multiprocessors do not set the pace. Over {sm_mhz:MHz} the rate follows the SM clock by {sm_elasticity:} per unit (line 0.2).",
        ),
    ),
    fits=(
        Route(
            "the rate goes with the SM clock",
            when=("sm_elasticity >= follows",),
            uses=("bench", "util", "ab"),
            rivals=("unsure",),
            says="The multiprocessors may set the pace. Over {sm_clocks:int} clocks of {sm_mhz:MHz} the rate follows by {sm_elasticity:} per unit.",
        ),
    ),
    rivals={
        "unsure": Rival(
            "chance, something else that was changed, or a clock far below the usual one",
            closed=("clocks_sure >= yes", "sm_clocks >= three", "near_usual >= yes"),
            settle=_CLOCKS,
        ),
    },
    collect={"sm_elasticity": _CLOCKS, "sm_clocks": _CLOCKS, "near_usual": _CLOCKS, "clocks_sure": _CLOCKS},
    means="The rate scales with the SM clock: arithmetic or the issue of instructions, not memory, link or host.",
    remedy="Kernels that need fewer instructions per token: another quantisation format, flash attention, larger batches.",
    not_a_remedy="More memory bandwidth or a faster link.",
    next=(
        Experiment(
            "look into the kernels",
            "ncu --set full -k regex:mul_mat --launch-count 20 <server command>",
            "issue slots busy: instructions; stalls on memory: bytes",
            cost=3,
        ),
    ),
)
