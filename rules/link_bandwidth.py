"""Is the link between the cards, or to the host, full?

What it finds
    Whether moving bytes between cards takes most of the time: the wire, or the path that collectives take over it. Of one card, whose
    other end is the host, only what the counter shows.

Why it matters
    A full wire and a slow collective need different remedies, and a low PCIe reading rules out only the first: low is what a
    latency-bound link looks like too.

How it decides
    A layer split that hands over by copies: everything that is no kernel, the link included, fits into the time in which no card
    works (100 - sum of utilisation, two standard errors and the rounding added). At 5 % or less the link is ruled out. Otherwise
    bytes over bandwidth: the hidden state per hop, summed over the hops of a serial split; 2 all-reduces per layer of a tensor
    split over the bandwidth of collectives, which is an interval from 1 GB/s to the wire unless it was measured. A counter at 20 %
    or less of the path over 30 readings rules it out; 85 % of a measured path with the SMs less than half active, and with the
    phase's own bytes explaining it, confirms.

Known problems
    PCIe readings of nvidia-smi are probes of 20 ms: never one of them, never as a total; averages of DCGM beside them count alone.
    What one card copies from the host (streamed weights, a cache) is not computed, so that a full link only fits there. The bandwidth of collectives at the
    message size is rarely known; unmeasured, most tensor splits stay open.
"""

from ..engine.rule import CAUSE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH read AS (
    -- averages over the interval of a recording, where there are any, and not the probes of 20 ms beside them
    SELECT *, coalesce(pcie_averaged, pcie_probe_s > 0.02, FALSE) AS averaged, bool_or(coalesce(pcie_averaged, pcie_probe_s > 0.02, FALSE)) OVER (PARTITION BY scope_id) AS any_averaged
    FROM main.samples_in_load WHERE coalesce(pcie_rx, pcie_tx) IS NOT NULL
), counters AS (
    SELECT
        scope_id, gpu, host, avg(pcie_rx) AS rx, avg(pcie_tx) AS tx, count(*) AS n, avg(sm_active) AS sm_active, min({'source_id': source_id, 'line': line}, 1) AS ev
    FROM read WHERE averaged = any_averaged GROUP BY scope_id, gpu, host
), link AS (
    SELECT
        c.scope_id, min(c.n) AS readings, max(c.sm_active) AS sm_active, max(c.ev) AS ev,
        -- a serial split pays its hops one after the other, other splits at the same time
        CASE WHEN any_value(l.split) IN ('layer', 'pipeline') THEN sum(c.rx) ELSE max(greatest(coalesce(c.rx, 0), coalesce(c.tx, 0))) END / 1000 AS gb_s
    FROM counters c JOIN main.link_load l USING (scope_id) GROUP BY c.scope_id
), more AS (
    -- cards at work that the model does not have: the full link may be another job's
    SELECT scope_id, max(cards_extra) AS cards_extra FROM main.serving_cards GROUP BY scope_id
)
SELECT
    sc.scope_id, l.split, l.cards, greatest(l.cards, CASE WHEN k.readings > 0 THEN 2 END) AS ends, s.util_sum, s.rounds, s.ev AS util_sum_ev,
    CASE WHEN l.split = 'layer' THEN s.idle_bound END AS idle_bound,
    l.hop_bytes_hi / 1e3 AS hop_kb, l.copy_gb_s, CASE WHEN l.stated_gb_s IS NOT NULL THEN ['link.gb_s=' || printf('%g', l.stated_gb_s)] END AS copy_gb_s_given,
    l.demand_lo_gb_s AS demand_gb_s_lo, l.demand_hi_gb_s AS demand_gb_s_hi, l.collective_lo_gb_s AS path_gb_s_lo, l.collective_hi_gb_s AS path_gb_s_hi,
    l.share_lo AS link_share_lo, l.share_hi AS link_share_hi, l.share_lo AS link_least, l.ev AS link_share_ev,
    CASE WHEN m.scope_id IS NULL THEN 0 ELSE m.cards_extra END AS cards_extra, k.readings, k.gb_s AS counter_gb_s, k.ev AS counter_gb_s_ev, k.sm_active,
    k.gb_s / CASE WHEN l.split = 'tensor' THEN l.collective_hi_gb_s ELSE l.copy_gb_s END AS counter_share_lo,
    k.gb_s / CASE WHEN l.split = 'tensor' THEN l.collective_lo_gb_s ELSE l.copy_gb_s END AS counter_share_hi,
    k.gb_s / l.stated_gb_s AS measured_share,
    l.demand_lo_gb_s / nullif(k.gb_s, 0) AS own_share
FROM main.scopes sc
LEFT JOIN main.link_load l USING (scope_id) LEFT JOIN main.serial_idle s USING (scope_id) LEFT JOIN link k USING (scope_id) LEFT JOIN more m USING (scope_id)
"""

_SHARE = (
    "how the model is split, its layers and width, the rate, and the link (generation and lanes, or link.gb_s measured with nvbandwidth)"
)
_DMON = "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt (60 s or more in the load), or dcgmi dmon -e 1009,1010,1011,1012 -d 100"

RULE = Rule(
    id="link-bandwidth",
    claim=CAUSE,
    about="the link between the cards",
    question="Is the link between the cards, or to the host, full?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "small": Limit(0.05, "of the step", "a twentieth is not worth looking at"),
        "idle_small": Limit(5, "% of the time", "everything that is no kernel together"),
        "notable": Limit(0.20, "of the step", "a fifth is worth a measurement"),
        "full": Limit(0.85, "of the measured path", "protocol and bursts leave about 15 %"),
        "quiet": Limit(0.20, "of the path", "bursts of 20 ms cannot fill the step on average"),
        "enough": Limit(30, "readings", "a probe of 20 ms sees 2 % of the time at one reading a second"),
        "rounds_needed": Limit(10, "samples", "fewer than ten independent windows say nothing about the load"),
        "half_active": Limit(0.5, "SM_ACTIVE", "above that the cards compute while they move"),
        "possible": Limit(1.02, "of the step", "nothing takes longer than the step it is part of; the rest is rounding"),
        "explained": Limit(0.7, "of the counter", "background copies do not count"),
    },
    applies=("ends >= 2",),
    impossible=(
        Route(
            "more than the link can carry: card, model, split or step count is not of this run",
            when=("link_least > possible",),
            uses=("config",),
            says="The bytes of this split would take {link_share:share} of the time: card, model, split or step count is not of this run.",
        ),
    ),
    confirmed=(
        Route(
            "the measured path is full with this phase's own bytes while the cards wait",
            when=("measured_share >= full", "readings >= enough", "sm_active < half_active", "own_share >= explained", "cards_extra <= 0"),
            uses=("link", "util"),
            says="The link between the cards is full. {counter_gb_s:GB/s} is {measured_share:share} of the measured {copy_gb_s:GB/s}, the SMs are active "
            "{sm_active:share} of the time, and the split's own bytes explain {own_share:share} of it.",
        ),
    ),
    ruled_out=(
        Route(
            "everything between the stages of a layer split fits into its idle share",
            when=("idle_bound <= idle_small", "rounds >= rounds_needed"),
            uses=("util", "config"),
            says="The link is not the limit. At most {idle_bound:%} of the time no card works, and all copies between the cards fit into that. "
            "Computed, they take {link_share:share} of a token.",
        ),
        Route(
            "the bytes take less than a twentieth of the step",
            when=("link_share <= small",),
            uses=("config",),
            says="The link is not the limit. The bytes of this split take {link_share:share} of the time (line 5 %).",
        ),
        Route(
            "the counter is far below the path",
            when=("counter_share <= quiet", "readings >= enough"),
            uses=("link", "config"),
            says="The link is not full. {counter_gb_s:GB/s} over {readings:int} readings is {counter_share:share} of what it can carry (line 20 %).",
        ),
    ),
    fits=(
        Route(
            "the bytes need a fifth of the step or more",
            when=("link_share >= notable",),
            uses=("config",),
            rivals=("other_cost",),
            says="The link may be the limit. {demand_gb_s:GB/s} of this split over {path_gb_s:GB/s} is {link_share:share} of the step.",
        ),
        Route(
            "the counter is near the measured path",
            when=("measured_share >= full", "readings >= enough"),
            uses=("link",),
            rivals=("other_cost",),
            says="The link carries {measured_share:share} of what was measured for it. {counter_gb_s:GB/s} over {readings:int} readings.",
        ),
    ),
    rivals={
        "other_cost": Rival(
            "the latency of collectives, kernels or the host take the time instead",
            closed=("measured_share >= full", "sm_active < half_active", "own_share >= explained"),
            settle="all_reduce_perf -b 4K -e 64M -f 2 at the message size, and dcgmi dmon -e 1002,1009,1010,1011,1012 -d 100 in the load",
        ),
    },
    collect={
        "ends": "utilisation of all cards, or gpu.count in gpuverdict.toml; for the link of one card to its host " + _DMON,
        "idle_bound": _DMON + "; and how the model is split",
        "rounds": _DMON,
        "cards_extra": "nvidia-smi pmon -d 1 beside it: which process is on which card",
        "link_share": _SHARE,
        "link_least": _SHARE,
        "counter_share": _DMON,
        "measured_share": "the copy rate measured with nvbandwidth or p2pBandwidthLatencyTest: [link] gb_s in gpuverdict.toml; and "
        + _DMON,
        "readings": _DMON,
        "sm_active": "dcgmi dmon -e 1002,1009,1010 -d 100, or nvidia-smi dmon --gpm-metrics=2,20,21 (Hopper and newer)",
        "own_share": _SHARE,
    },
    means="The link is only one part of what happens between cards; its latency is judged separately.",
    remedy="A split that moves fewer bytes (layer instead of tensor), or cards with NVLink.",
    not_a_remedy="A wider slot does not help where the latency of collectives is the cost.",
    next=(
        Experiment(
            "record the link during the load",
            "dcgmi dmon -e 1002,1009,1010,1011,1012 -d 100   (or nvidia-smi dmon -s pucvmet -d 1 -o DT)",
            "20 % of the path or less: not the wire; 85 % or more with idle SMs: the wire",
            cost=2,
        ),
    ),
)
