"""Is a card's PCIe link narrower than it could be?

What it finds
    Cards whose PCIe link runs with fewer lanes or at a lower generation than card and slot allow, while they work.

Why it matters
    A riser, a shared slot or a setup option can halve or quarter a link unnoticed. Loading, offload to the CPU and tensor-parallel
    prefill pay for it; decode over a layer split hardly does.

How it decides
    Only samples of a working card count (10 % utilisation or more): an idle card lowers its link to save power, and that is no fault.
    Confirmed: the current generation or width is under the possible one in 90 % of ten loaded samples or more. Ruled out: on every card
    it is
    the possible one in all but 5 % of them.

Known problems
    The possible generation is what card and board report together: a board that is a generation behind is not seen here. The cost is not
    claimed: it shows only through what crosses the link. A card on the far NUMA node has a full link and a slow path.
"""

from ..engine.rule import STATE, Experiment, Limit, Route, Rule

FACTS = """
WITH loaded AS (
    SELECT scope_id, source_id, line, host, gpu, pcie_gen, pcie_width, pcie_gen_max, pcie_width_max, util_gpu,
        pcie_gen < pcie_gen_max OR pcie_width < pcie_width_max AS narrow,
        pcie_gen = pcie_gen_max AND pcie_width = pcie_width_max AS full_link,
        -- a generation doubles the rate of a lane
        coalesce(power(2, pcie_gen - pcie_gen_max), 1) * coalesce(pcie_width / pcie_width_max, 1) AS rate_share
    FROM main.samples_in_load WHERE util_gpu >= 10
), cards AS (
    SELECT
        scope_id, host, gpu, avg(narrow::INT) AS narrow_share, avg(full_link::INT) AS full_share, count(narrow) AS n,
            count(full_link) AS full_n,
        median(pcie_gen) AS gen, median(pcie_width) AS width, max(pcie_gen_max) AS gen_max, max(pcie_width_max) AS width_max,
        median(rate_share) AS rate_share, min({'source_id': source_id, 'line': line}, 3) FILTER (narrow) AS ev
    FROM loaded GROUP BY scope_id, host, gpu
), worst AS (
    -- of the cards that are narrow nearly always the one with the least of its possible rate; without one the nearest to it
    SELECT * FROM cards QUALIFY row_number() OVER (
        PARTITION BY scope_id
        ORDER BY coalesce(narrow_share >= 0.9 AND n >= 10, FALSE) DESC,
            CASE WHEN narrow_share >= 0.9 AND n >= 10 THEN rate_share END, narrow_share * least(n, 10) DESC NULLS LAST, gpu
    ) = 1
), every_card AS (
    SELECT scope_id, count(*) AS cards, min(full_n) AS samples_each, min(full_share) AS full_share_min, count(*) FILTER (n >= 10
        AND narrow_share >= 0.9) AS narrow_cards
    FROM cards GROUP BY scope_id
), readings AS (
    SELECT DISTINCT scope_id, host, gpu FROM main.samples_in_load WHERE util_gpu IS NOT NULL
), all_cards AS (
    SELECT scope_id, count(*) AS cards_seen FROM readings GROUP BY scope_id
), more AS (
    -- cards at work that the model does not have: the narrow one may be another job's
    SELECT scope_id, max(cards_extra) AS cards_extra FROM main.serving_cards GROUP BY scope_id
), split AS (
    SELECT scope_id, min(value) AS split FROM main.config_in_scope WHERE key = 'split' GROUP BY scope_id
)
SELECT
    sc.scope_id, w.narrow_share, w.ev AS narrow_share_ev, w.n AS narrow_samples, w.gpu AS narrow_gpu, w.gen, w.width, w.gen_max,
        w.width_max, w.rate_share,
    e.narrow_cards, e.cards, e.samples_each, e.full_share_min, a.cards_seen - e.cards AS cards_idle, m.cards_extra,
    CASE WHEN p.split IN ('layer', 'pipeline') THEN 'The model is split by layers, whose decode hardly uses the link.'
         WHEN p.split = 'tensor' THEN 'The model is split by tensors, whose prefill crosses the link at every layer.'
         ELSE 'What it costs depends on what crosses the link.' END AS split_text
FROM main.scopes sc LEFT JOIN worst w USING (scope_id) LEFT JOIN every_card e USING (scope_id) LEFT JOIN all_cards a USING (scope_id)
    LEFT JOIN split p USING (scope_id) LEFT JOIN more m USING (scope_id)
"""

_RECORD = (
    "nvidia-smi "
    "--query-gpu=timestamp,index,utilization.gpu,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max "
    "--format=csv,nounits -l 1 > link.csv   (while the load runs)"
)

RULE = Rule(
    id="narrow-link",
    claim=STATE,
    about="the PCIe links of the cards",
    question="Is a card's PCIe link narrower than it could be?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "mostly": Limit(0.90, "share of the loaded samples", "a sample may catch a link that is waking up"),
        "always": Limit(0.95, "share of the loaded samples", "one sample in twenty may catch a link that is waking up"),
        "enough": Limit(10, "samples", "fewer do not show what happens during the load"),
    },
    confirmed=(
        Route(
            "the link of a working card is under what it could be",
            when=("narrow_share >= mostly", "narrow_samples >= enough", "cards_extra <= 0"),
            uses=("util",),
            says="A link is narrower than it could be. GPU {narrow_gpu:int} under load: generation {gen:int} of {gen_max:int}, "
            "{width:int} of {width_max:int} lanes, "
            "in {narrow_share:share} of {narrow_samples:int} loaded samples ({narrow_cards:int} of {cards:int} cards). {split_text}",
        ),
    ),
    ruled_out=(
        Route(
            "every working card has its full link",
            when=("full_share_min >= always", "samples_each >= enough", "cards_idle <= 0"),
            uses=("util",),
            says=(
                "The links are as wide as they can be. {cards:int} cards, at their full generation and width in {full_share_min:share} "
                "of at least {samples_each:int} loaded samples each."
            ),
        ),
    ),
    collect={
        "narrow_share": _RECORD,
        "narrow_samples": _RECORD,
        "full_share_min": _RECORD,
        "samples_each": _RECORD,
        "cards_idle": _RECORD,
        "cards_extra": "nvidia-smi pmon -d 1 beside it: which process is on which card",
    },
    means="It is a state of the machine. Whether it costs anything is for the link rules to say.",
    remedy="Another slot, a seated card, a shorter riser, the slot's generation and bifurcation in the firmware.",
    not_a_remedy="A full link does not speed up the decode of a layer split, which sends a few kilobytes per token.",
    next=(
        Experiment(
            "measure what the link copies",
            "nvbandwidth -t host_to_device_memcpy_ce device_to_host_memcpy_ce",
            "0.8 of generation times lanes is a healthy link",
            cost=1,
        ),
    ),
)
