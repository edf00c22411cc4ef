"""Are the clocks held down?

What it finds
    Cards whose clock is lowered by a power cap, by heat or by the hardware's own protection while requests run, and, where the
    server's rate shows it, what that costs.

Why it matters
    A capped card in memory-bound decode often loses nothing, and the same cap takes a third of prefill. So the state (the clock is
    held down) and the cost (the rate falls with it) are two claims, and the first says nothing about the second.

How it decides
    Bits of the clock event reasons: 0x4 power cap; 0x8 hardware slowdown, 0x20 and 0x40 heat, 0x80 power brake. A flag alone only
    fits. Confirmed needs the clock under the flag at 0.95 or less of the same card's unflagged clock under load (any scope of the
    bundle) while it works as much (within ten points of utilisation: a card with little to do clocks down by itself), or, where there
    is none, of an equal card that works as much: flags of protection in 5 % of the loaded samples, or the power cap in half of them.
    An idle clock is never the reference: samples under 10 % utilisation do not count. The bit of the power cap counts only at nine
    tenths of the limit or more where power and limit are logged (some drivers set it on idle cards), and 0x8 alone does not count
    while a card comes up from idle, where it marks a change of the power state.
    Where no reasons are logged, the violation time of dmon (pviol, tviol) takes their place for the 5 % line.
    Ruled out: reasons logged, none of these bits in 95 % of the loaded samples of every card, and every clock within 3 % of an
    equal card or of its own cool samples. A flag-free instant rules out nothing, and "looks like boost" is no reference.
    The cost compares the server's rate in lines whose samples are flagged with lines whose samples are not, at the same number of
    running requests and with the KV cache as full (within a tenth; unknown: not confirmed): a fall of 5 % that is more than twice its
    standard error.

Known problems
    The memory of cards with GDDR6X can be throttled by heat without any of these bits: a falling memory clock under load is
    reported as fitting. Firmware may lower clocks without a flag. A card that is capped from its first second and has no equal
    neighbour has no reference. tviol is not supported on many cards: its 0 proves nothing, so it never rules out.
"""

from ..engine.rule import CAUSE, STATE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH loaded AS MATERIALIZED (
    SELECT * EXCLUDE (t, time) FROM main.held_clocks
), free AS (
    -- the unflagged clock of every card that works, whatever the scope, with how much it works
    SELECT host, gpu, median(sm_clock) AS sm_ref, median(mem_clock) AS mem_ref, avg(util_gpu) AS util
    FROM loaded WHERE free GROUP BY host, gpu HAVING count(*) >= 3
), printed AS (
    SELECT host, gpu, CASE WHEN count(DISTINCT name) = 1 THEN min(name) END AS name FROM main.gpus WHERE gpu IS NOT NULL GROUP BY host, gpu
), names AS (
    SELECT *, FALSE AS stated FROM printed WHERE name IS NOT NULL
    UNION ALL
    -- a stated name is that of all cards where no file names one: enough for clocks that agree, not for one that is lower than another's
    SELECT l.host, l.gpu, g.value, TRUE FROM (SELECT DISTINCT host, gpu FROM loaded WHERE gpu IS NOT NULL) l
    CROSS JOIN (SELECT value FROM main.given WHERE key = 'gpu.name') g WHERE NOT EXISTS (FROM main.gpus WHERE name IS NOT NULL)
), cards AS MATERIALIZED (
    SELECT
        l.scope_id, l.host, l.gpu, any_value(n.name) AS name, count(*) AS n, count(l.event_reasons) AS reason_n,
        avg(l.held) AS held_share, avg(l.capped) AS capped_share, avg(l.util_gpu) AS util,
        median(l.sm_clock) AS sm_clock, median(l.mem_clock) AS mem_clock,
        median(l.temp) AS temp, quantile_cont(l.temp, 0.05) AS temp_cool,
        quantile_cont(l.mem_clock, 0.95) AS mem_top,
        min({'source_id': l.source_id, 'line': l.line}, 2) FILTER (l.held > 0 OR l.capped > 0) AS flag_ev,
        min({'source_id': l.source_id, 'line': l.line}, 2) AS ev
    FROM loaded l LEFT JOIN names n ON n.gpu = l.gpu AND n.host IS NOT DISTINCT FROM l.host
    GROUP BY l.scope_id, l.host, l.gpu
), cool AS (
    -- the coolest samples of a card, where there are cool ones
    SELECT l.scope_id, l.host, l.gpu, median(l.sm_clock) AS sm_cool
    FROM loaded l JOIN cards c ON c.scope_id = l.scope_id AND c.gpu = l.gpu AND c.host IS NOT DISTINCT FROM l.host
    WHERE l.free AND l.temp <= c.temp - 5 GROUP BY l.scope_id, l.host, l.gpu HAVING count(*) >= 3
), low_mem AS (
    SELECT l.scope_id, l.host, l.gpu, avg((l.mem_clock <= 0.95 * c.mem_top)::INT) FILTER (l.free) AS mem_low_share
    FROM loaded l JOIN cards c ON c.scope_id = l.scope_id AND c.gpu = l.gpu AND c.host IS NOT DISTINCT FROM l.host
    GROUP BY l.scope_id, l.host, l.gpu
), compared AS MATERIALIZED (
    SELECT scope_id, host, gpu, 'held' AS kind, median(sm_clock) AS sm_clock, median(mem_clock) AS mem_clock, median(util_gpu) AS util
    FROM loaded WHERE held >= 0.5 GROUP BY scope_id, host, gpu
    UNION ALL
    SELECT scope_id, host, gpu, 'capped', median(sm_clock), median(mem_clock), median(util_gpu) FROM loaded WHERE capped = 1 GROUP BY scope_id, host, gpu
    UNION ALL
    SELECT scope_id, host, gpu, 'all', sm_clock, mem_clock, util FROM cards
), own AS (
    -- of the same card while it worked as much: a card with little to do runs at lower clocks by itself
    SELECT c.scope_id, c.host, c.gpu, c.kind, median(l.sm_clock) AS sm_ref, median(l.mem_clock) AS mem_ref
    FROM compared c JOIN loaded l ON l.gpu = c.gpu AND l.host IS NOT DISTINCT FROM c.host AND l.free AND abs(l.util_gpu - c.util) <= 10
    WHERE c.kind <> 'all' GROUP BY c.scope_id, c.host, c.gpu, c.kind HAVING count(*) >= 3
), neighbours AS (
    -- equal cards that work as much
    SELECT c.scope_id, c.host, c.gpu, c.kind, max(o.sm_ref) AS sm_equal, max(o.mem_ref) AS mem_equal
    FROM compared c JOIN names me ON me.gpu = c.gpu AND me.host IS NOT DISTINCT FROM c.host
    JOIN names n ON n.name = me.name AND (n.host IS DISTINCT FROM c.host OR n.gpu <> c.gpu)
    JOIN free o ON o.gpu = n.gpu AND o.host IS NOT DISTINCT FROM n.host
    WHERE abs(o.util - c.util) <= 10 AND (c.kind = 'all' OR NOT me.stated) GROUP BY c.scope_id, c.host, c.gpu, c.kind
), referred AS MATERIALIZED (
    SELECT c.*, coalesce(o.sm_ref, q.sm_equal) AS sm_ref, coalesce(o.mem_ref, q.mem_equal) AS mem_ref, q.sm_equal
    FROM compared c LEFT JOIN own o ON o.scope_id = c.scope_id AND o.gpu = c.gpu AND o.host IS NOT DISTINCT FROM c.host AND o.kind = c.kind
    LEFT JOIN neighbours q ON q.scope_id = c.scope_id AND q.gpu = c.gpu AND q.host IS NOT DISTINCT FROM c.host AND q.kind = c.kind
), judged AS MATERIALIZED (
    SELECT
        c.*, h.sm_clock AS held_sm, h.sm_ref AS held_ref, p.sm_clock AS capped_sm, p.sm_ref AS capped_ref,
        least(h.sm_clock / h.sm_ref, h.mem_clock / h.mem_ref) AS held_ratio, p.sm_clock / p.sm_ref AS capped_ratio,
        c.sm_clock / coalesce(greatest(k.sm_cool, a.sm_equal), k.sm_cool, a.sm_equal) AS ref_ratio,
        m.mem_low_share
    FROM cards c
    LEFT JOIN referred h ON h.scope_id = c.scope_id AND h.gpu = c.gpu AND h.host IS NOT DISTINCT FROM c.host AND h.kind = 'held'
    LEFT JOIN referred p ON p.scope_id = c.scope_id AND p.gpu = c.gpu AND p.host IS NOT DISTINCT FROM c.host AND p.kind = 'capped'
    LEFT JOIN referred a ON a.scope_id = c.scope_id AND a.gpu = c.gpu AND a.host IS NOT DISTINCT FROM c.host AND a.kind = 'all'
    LEFT JOIN cool k ON k.scope_id = c.scope_id AND k.gpu = c.gpu AND k.host IS NOT DISTINCT FROM c.host
    LEFT JOIN low_mem m ON m.scope_id = c.scope_id AND m.gpu = c.gpu AND m.host IS NOT DISTINCT FROM c.host
), worst AS (
    -- the card where share and clock together come nearest to the lines
    SELECT
        scope_id,
        arg_max(struct_pack(gpu, held_share, held_ratio, held_sm, held_ref, flag_ev, n := reason_n), score_held) AS held,
        arg_max(struct_pack(gpu, capped_share, capped_ratio, capped_sm, capped_ref, flag_ev, n := reason_n), score_capped) AS capped
    FROM (
        SELECT
            *,
            1e3 * least(held_share / 0.05, 1) * (1 + coalesce(least((1 - held_ratio) / 0.05, 1), 0)) + coalesce(held_share,
                0) - gpu / 1e6 AS score_held,
            1e3 * least(capped_share / 0.5, 1) * (1 + coalesce(least((1 - capped_ratio) / 0.05, 1), 0)) + coalesce(capped_share,
                0) - gpu / 1e6 AS score_capped
        FROM judged
    ) GROUP BY scope_id
), all_cards AS (
    SELECT
        scope_id, count(*) AS cards, min(reason_n) AS reason_samples, max(greatest(held_share, capped_share)) AS flagged_share,
        CASE WHEN count(ref_ratio) = count(*) THEN min(ref_ratio) END AS ref_ratio_min, max(mem_low_share) AS mem_low_share,
        min(ev) AS ev
    FROM judged GROUP BY scope_id
), cost AS (
    SELECT
        scope_id, arg_max(before_rate, least(after_n, before_n)) AS before_rate, arg_max(after_rate, least(after_n,
            before_n)) AS after_rate,
        arg_max(running, least(after_n, before_n)) AS at_running, arg_max(se, least(after_n, before_n)) AS se,
        arg_max(cache_change, least(after_n, before_n)) AS cache_change
    FROM main.throttle_arms GROUP BY scope_id
), more AS (
    -- cards at work that the model does not have: whose clock is held down?
    SELECT scope_id, max(cards_extra) AS cards_extra FROM main.serving_cards GROUP BY scope_id
)
SELECT
    sc.scope_id, m.cards_extra, a.cards, a.reason_samples, a.flagged_share, a.ev AS flagged_share_ev, a.ref_ratio_min,
    CASE WHEN EXISTS (FROM names WHERE stated) THEN (SELECT list('gpu.name=' || value ORDER BY value) FROM main.given WHERE key = 'gpu.name') END AS ref_ratio_min_given, a.mem_low_share,
    w.held.gpu AS held_gpu, w.held.held_share AS held_share, w.held.held_ratio AS held_ratio, w.held.held_sm AS held_mhz,
        w.held.held_ref AS held_ref_mhz,
    w.held.flag_ev AS held_share_ev,
    w.capped.gpu AS capped_gpu, w.capped.capped_share AS capped_share, w.capped.capped_ratio AS capped_ratio,
        w.capped.capped_sm AS capped_mhz,
    w.capped.capped_ref AS capped_ref_mhz, w.capped.flag_ev AS capped_share_ev, w.capped.n AS capped_samples,
    c.before_rate, c.after_rate, c.at_running, 1 - c.after_rate / c.before_rate AS drop_share,
        (c.before_rate - c.after_rate) / nullif(c.se, 0) AS drop_sigmas, c.cache_change,
    CASE WHEN c.before_rate IS NULL THEN 'What it costs is not shown: that needs the rate with and without the flag at the same load.'
         ELSE printf('At %g running the server gives %.1f tok/s under the flag and %.1f without.', c.at_running, c.after_rate,
             c.before_rate) END AS cost_text
FROM main.scopes sc
LEFT JOIN worst w USING (scope_id) LEFT JOIN all_cards a USING (scope_id) LEFT JOIN cost c USING (scope_id) LEFT JOIN more m USING (scope_id)
"""

_RECORD = (
    "nvidia-smi "
    "--query-gpu=timestamp,index,name,utilization.gpu,clocks.sm,clocks.mem,clocks_event_reasons.active,temperature.gpu,power.draw "
    "--format=csv,nounits -lms 1000 > smi.csv   (from a cool start, through the load)"
)
_REF = _RECORD + "; the reference is the same card, cool and working, or an equal card that works as much"
_RATE = "the server's statistics lines (running, tokens/s) from before the clock falls until well after, at the same load"

_HELD = ("held_share >= few", "held_ratio <= slower", "cards_extra <= 0")
_CAPPED = ("capped_share >= half", "capped_ratio <= slower", "cards_extra <= 0")
_COST = ("drop_share >= cost_share", "drop_sigmas > sigmas", "cache_change <= same_load")

RULE = Rule(
    id="throttled",
    claim=STATE,
    about="clocks held down by power or heat",
    question="Are the clocks held down?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "few": Limit(
            0.05,
            "share of the loaded samples",
            "hardware slowdown halves clocks or worse: 5 % of the time is at least 2.5 % of the throughput",
        ),
        "half": Limit(0.50, "share of the loaded samples", "a power cap touches most busy cards now and then"),
        "slower": Limit(0.95, "of the unflagged clock", "a flag without a lower clock takes nothing away"),
        "clean": Limit(0.05, "share of the loaded samples", "none of the bits in 95 % of them"),
        "near": Limit(0.97, "of the reference clock", "clock steps and sampling move a median by up to 3 %"),
        "enough": Limit(10, "samples", "fewer do not show what happens during the load"),
        "cost_share": Limit(0.05, "of the rate", "smaller falls are within run-to-run noise"),
        "same_load": Limit(0.10, "of the cache usage", "sequences that grow slow every stream down by themselves"),
        "sigmas": Limit(2.0, "standard errors", "a fall that chance gives in one case of twenty is not shown"),
    },
    confirmed=(
        Route(
            "the rate falls with the clock that power or heat holds down",
            when=(*_HELD, *_COST),
            uses=("util", "server", "ab"),
            claim=CAUSE,
            says="Throttling costs throughput. GPU {held_gpu:int} is flagged in {held_share:share} of its loaded samples at "
            "{held_mhz:MHz} (without: {held_ref_mhz:MHz}); "
            "at {at_running:int} running the rate falls from {before_rate:tok/s} to {after_rate:tok/s}, {drop_share:share} "
            "({drop_sigmas:} standard errors).",
        ),
        Route(
            "the rate falls with the clock that the power cap holds down",
            when=(*_CAPPED, *_COST),
            uses=("util", "server", "ab"),
            claim=CAUSE,
            says="The power cap costs throughput. GPU {capped_gpu:int} is capped in {capped_share:share} of its loaded samples at "
            "{capped_mhz:MHz} (without: {capped_ref_mhz:MHz}); "
            "at {at_running:int} running the rate falls from {before_rate:tok/s} to {after_rate:tok/s}, {drop_share:share} "
            "({drop_sigmas:} standard errors).",
        ),
        Route(
            "flags of heat, hardware slowdown or power brake with a lower clock",
            when=_HELD,
            uses=("util",),
            says="The clocks are held down. GPU {held_gpu:int}: flagged in {held_share:share} of its loaded samples, {held_mhz:MHz} "
            "then and {held_ref_mhz:MHz} without the flag, "
            "a ratio of {held_ratio:}. {cost_text}",
        ),
        Route(
            "the power cap with a lower clock",
            when=_CAPPED,
            uses=("util",),
            says="The power cap holds the clocks down. GPU {capped_gpu:int}: capped in {capped_share:share} of its loaded samples, "
            "{capped_mhz:MHz} then and {capped_ref_mhz:MHz} without the cap, "
            "a ratio of {capped_ratio:}. {cost_text}",
        ),
    ),
    ruled_out=(
        Route(
            "no such flag on any card, and every clock is at its reference",
            when=("flagged_share <= clean", "ref_ratio_min >= near", "reason_samples >= enough", "mem_low_share < few"),
            uses=("util",),
            says="The clocks are not held down. Flags of power or heat in {flagged_share:share} of the loaded samples of {cards:int} cards "
            "(at least {reason_samples:int} each), the lowest clock at {ref_ratio_min:} of its reference.",
        ),
    ),
    fits=(
        Route(
            "flags of heat, hardware slowdown or power brake",
            when=("held_share >= few",),
            uses=("util",),
            rivals=("no_lower_clock",),
            says=(
                "Something flags the clocks. GPU {held_gpu:int}: power or heat in {held_share:share} of its loaded samples at "
                "{held_mhz:MHz}; the clock without the flag is {held_ref_mhz:MHz}."
            ),
        ),
        Route(
            "the power cap is active most of the time",
            when=("capped_share >= half",),
            uses=("util",),
            rivals=("no_lower_clock",),
            says=(
                "The power cap is active. GPU {capped_gpu:int}: in {capped_share:share} of its loaded samples at {capped_mhz:MHz}; the "
                "clock without the cap is {capped_ref_mhz:MHz}."
            ),
        ),
        Route(
            "the memory clock falls under load without a flag",
            when=("mem_low_share >= few",),
            uses=("util",),
            rivals=("other_state",),
            says=(
                "The memory clock falls under load. In {mem_low_share:share} of the unflagged loaded samples it is 5 % or more under "
                "its own top: GDDR6X does that when it is hot, without any flag."
            ),
        ),
    ),
    rivals={
        "no_lower_clock": Rival(
            "a flag that takes nothing away: the clock under it is not lower, or nothing shows what it would be",
            closed=("held_ratio <= slower", "held_share >= few"),
            settle="the clock of the same card working without the flag: raise the limit (nvidia-smi -pl) or start cool, and log clocks.sm",
        ),
        "other_state": Rival(
            "a lower power state between bursts of work",
            closed=(),
            settle="log temperature.memory, pstate and clocks.mem while the load is steady",
        ),
    },
    collect={
        "held_share": _RECORD,
        "held_ratio": _REF,
        "capped_share": _RECORD,
        "capped_ratio": _REF,
        "flagged_share": _RECORD,
        "ref_ratio_min": _REF,
        "reason_samples": _RECORD,
        "cards_extra": "nvidia-smi pmon -d 1 beside it: which process is on which card",
        "mem_low_share": _RECORD,
        "drop_share": _RATE,
        "drop_sigmas": _RATE,
        "cache_change": _RATE + ", with the usage of the KV cache",
    },
    means=(
        "The state says that the clock is lower than it could be. Decode that waits for memory may lose nothing by it, prefill usually "
        "does."
    ),
    remedy=(
        "Raise the power limit where it was lowered, improve the cooling, or lower the load on the power supply; then compare the "
        "rate, not the clock."
    ),
    not_a_remedy="A higher clock does not speed up decode that waits for memory, the link or the host.",
    next=(
        Experiment(
            "the same load under two power limits",
            "sudo nvidia-smi -pl LOWER; run; sudo nvidia-smi -pl USUAL; run   (three repeats each, prefill and decode apart)",
            "the rate follows the limit: the cap costs; it does not: the cap is a state without a cost",
            cost=2,
        ),
    ),
)
