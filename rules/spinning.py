"""Do cards wait inside a kernel?

What it finds
    Cards that read 90 % busy and more while they draw hardly more than at idle: they wait inside a kernel, usually a collective, for
    another rank.

Why it matters
    100 % then means that nothing is done. It is the reading of a hang, of a slow rank that all others wait for, and of a link that is
    all latency.

How it decides
    p_dyn = (power - idle power) / (limit - idle power), with the idle power of the same card in the same log and a context on it,
    never from a catalogue. Ten windows or more with 90 % utilisation and p_dyn of at most 0.10 fit. Confirmed as a state: two or
    more ranks of one collective, and in ten of those windows no token flows by the server's lines, or SM_ACTIVE is at most 0.2 with
    DRAM_ACTIVE
    at most 0.02, or a kernel trace in which collectives are 80 % or more of a card's kernel time. Ruled out: the server has one rank; or on every card the memory is read in a fifth of the time or more.

Known problems
    A small model on a big card draws as little: an H200 decodes at 137 W, p_dyn 0.03. So do weights that spill into host memory.
    A card that does not spin is only a suspect: rank 0 samples, and the last stage is hotter in health.
"""

from ..engine.rule import STATE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH limits AS (
    SELECT host, gpu, max(power_limit_w) AS limit_w FROM main.gpus WHERE gpu IS NOT NULL AND power_limit_w > 0 GROUP BY host, gpu
), stated AS (
    SELECT max(idle_w) AS idle_w FROM main.idle_power WHERE gpu IS NULL
), learned AS (
    SELECT host, gpu, max(idle_w) AS idle_w FROM main.idle_power WHERE gpu IS NOT NULL GROUP BY host, gpu
), readings AS MATERIALIZED (
    SELECT
        s.scope_id, s.source_id, s.line, s.host, s.gpu, s.cycle, s.t, s.time, s.util_gpu, s.util_mem, s.sm_active, s.dram_active, s.power_w,
        (s.power_w - coalesce(l.idle_w, g.idle_w)) / nullif(coalesce(s.power_limit_w, p.limit_w) - coalesce(l.idle_w, g.idle_w), 0) AS p_dyn
    FROM main.samples_in_load s
    LEFT JOIN learned l ON l.gpu = s.gpu AND l.host IS NOT DISTINCT FROM s.host
    LEFT JOIN limits p ON p.gpu = s.gpu AND p.host IS NOT DISTINCT FROM s.host
    CROSS JOIN stated g
    WHERE s.util_gpu IS NOT NULL
), spins AS MATERIALIZED (
    -- one window a second at most: the driver averages over up to one
    SELECT *, coalesce(floor(t), cycle) AS second FROM readings WHERE util_gpu >= 90 AND p_dyn <= 0.10
), rates AS (
    SELECT scope_id, time, sum(gen_tok_s) AS gen, sum(prompt_tok_s) AS prompt, count(gen_tok_s) = count(*)
        AND count(prompt_tok_s) = count(*) AS known
    FROM main.server_in_scope WHERE time IS NOT NULL AND phase IS NULL GROUP BY scope_id, time
), silent AS (
    -- the line after a sample tells the tokens of the interval the sample lies in
    SELECT s.scope_id, s.host, s.gpu, count(DISTINCT s.second) AS silent_windows
    FROM spins s ASOF JOIN rates r ON s.scope_id = r.scope_id AND s.time <= r.time
    WHERE r.time - s.time <= 30 AND r.known AND r.gen = 0 AND r.prompt = 0 GROUP BY s.scope_id, s.host, s.gpu
), per_card AS (
    SELECT
        s.scope_id, s.host, s.gpu, count(DISTINCT s.second) AS windows, avg(s.p_dyn) AS p_dyn, avg(s.util_gpu) AS util,
            avg(s.power_w) AS power_w,
        count(DISTINCT s.second) FILTER (s.sm_active <= 0.2 AND s.dram_active <= 0.02) AS idle_counter_windows,
        min({'source_id': s.source_id, 'line': s.line}, 3) AS ev
    FROM spins s GROUP BY s.scope_id, s.host, s.gpu
), worst AS (
    SELECT p.*, coalesce(q.silent_windows, 0) AS silent_windows FROM per_card p LEFT JOIN silent q ON q.scope_id = p.scope_id
        AND q.gpu = p.gpu AND q.host IS NOT DISTINCT FROM p.host
    QUALIFY row_number() OVER (PARTITION BY p.scope_id ORDER BY coalesce(q.silent_windows, 0) DESC, idle_counter_windows DESC,
        windows DESC, p.gpu) = 1
), cards AS (
    SELECT
        scope_id, host, gpu, avg(util_mem) FILTER (util_gpu >= 90) AS mem, avg(dram_active) FILTER (util_gpu >= 90) AS dram,
        count(util_mem) FILTER (util_gpu >= 90) AS mem_n, count(dram_active) FILTER (util_gpu >= 90) AS dram_n, avg(p_dyn) AS p_dyn,
            count(p_dyn) AS power_n
    FROM readings GROUP BY scope_id, host, gpu
), over_cards AS (
    SELECT
        scope_id, count(*) AS cards, CASE WHEN min(mem_n) >= 10 THEN min(mem) END AS mem_min, CASE
            WHEN min(dram_n) >= 10 THEN min(dram) END AS dram_min,
        arg_max(gpu, p_dyn) AS hot_gpu, max(p_dyn) AS hot_p_dyn, min(power_n) AS power_known
    FROM cards GROUP BY scope_id
), more AS (
    SELECT scope_id, max(cards_extra) AS cards_extra FROM main.serving_cards GROUP BY scope_id
), settings AS (
    SELECT
        scope_id, min(num_lo) FILTER (key = 'tensor_parallel') AS tp_lo, max(num_hi) FILTER (key = 'tensor_parallel') AS tp_hi,
        max(num_hi) FILTER (key = 'pipeline_parallel') AS pp_hi, min(num_lo) FILTER (key = 'pipeline_parallel') AS pp_lo,
            max(num_hi) FILTER (key = 'data_parallel') AS dp_hi,
        min(value) FILTER (key = 'split') AS split, min(origin) FILTER (key IN ('tensor_parallel', 'split')) AS origin,
        max(num_hi) FILTER (key = 'gpu.count') AS count_given,
        min(given) FILTER (key = 'split') AS given, min(ev) FILTER (key IN ('tensor_parallel', 'split')) AS ev
    FROM main.config_in_scope GROUP BY scope_id
)
SELECT
    sc.scope_id, CASE WHEN o.power_known > 0 THEN coalesce(w.windows, 0) END AS spin_windows, w.ev AS spin_windows_ev, w.gpu AS spin_gpu,
        w.p_dyn AS spin_p_dyn, w.util AS spin_util, w.power_w AS spin_w,
    CASE WHEN o.power_known > 0 THEN coalesce(w.silent_windows, 0) END AS silent_windows, CASE
        WHEN o.power_known > 0 THEN coalesce(w.idle_counter_windows, 0) END AS idle_counter_windows,
    o.cards, m.cards_extra, o.mem_min, o.dram_min, o.hot_gpu, o.hot_p_dyn,
    -- ranks that meet in collectives: tensor or pipeline parallel; a given tensor split takes all cards
    CASE WHEN s.tp_lo IS NOT NULL THEN s.tp_lo * coalesce(s.pp_lo, 1) WHEN s.split = 'tensor' THEN coalesce(s.count_given, o.cards)
        WHEN s.split = 'none' THEN 1 END AS ranks_lo,
    CASE WHEN s.tp_hi IS NOT NULL THEN s.tp_hi * s.pp_hi * s.dp_hi
        WHEN s.split = 'tensor' THEN coalesce(s.count_given, o.cards) WHEN s.split = 'none' THEN 1 END AS ranks_hi,
    s.origin AS ranks_origin, s.given AS ranks_given, s.ev AS ranks_ev, k.collective_most AS collective_share, k.ranks AS traced_ranks, k.ev AS collective_share_ev
FROM main.scopes sc LEFT JOIN main.kernel_facts k USING (scope_id) LEFT JOIN worst w USING (scope_id) LEFT JOIN over_cards o USING (scope_id) LEFT JOIN settings s USING (scope_id) LEFT JOIN more m USING (scope_id)
"""

_POWER = (
    "nvidia-smi --query-gpu=timestamp,index,utilization.gpu,utilization.memory,power.draw,enforced.power.limit --format=csv,nounits -l "
    "1 > smi.csv, "
    "with thirty seconds of the idle server before the load (or --given idle_w=N)"
)
_RANKS = "how the model is split: the server's start-up log, or --given split=tensor"
_TOKENS = "the server's statistics lines (vLLM) through the load"
_COUNTERS = "dcgmi dmon -e 1001,1002,1005,155 -d 1000   (data-centre cards)"
_HOT = "GPU {hot_gpu:int} does most (p_dyn {hot_p_dyn:}): a suspect for the rank the others wait for, no more."

RULE = Rule(
    id="spinning",
    claim=STATE,
    about="cards that wait inside a kernel",
    question="Do cards wait inside a kernel?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "enough": Limit(10, "windows", "fewer do not show a state"),
        "two": Limit(2, "ranks", "one rank waits for nobody"),
        "mem_read": Limit(20, "%", "a waiting kernel hardly reads memory"),
        "dram_read": Limit(0.20, "0..1", "a waiting kernel hardly reads memory"),
        "in_collectives": Limit(0.80, "of the kernel time", "a card that computes for a fifth of the time has work of its own"),
    },
    confirmed=(
        Route(
            "busy and cool on several ranks while no token flows",
            when=("spin_windows >= enough", "silent_windows >= enough", "ranks >= two", "cards_extra <= 0"),
            uses=("util", "power", "server", "config"),
            says="Cards wait inside a kernel. GPU {spin_gpu:int}: {spin_util:%} busy at {spin_w:W} (p_dyn {spin_p_dyn:}) in "
            "{spin_windows:int} windows, in {silent_windows:int} of them no token flows; "
            "{ranks:} ranks. " + _HOT,
        ),
        Route(
            "busy and cool on several ranks while the multiprocessors are idle",
            when=("spin_windows >= enough", "idle_counter_windows >= enough", "ranks >= two", "cards_extra <= 0"),
            uses=("util", "power", "config"),
            says="Cards wait inside a kernel. GPU {spin_gpu:int}: {spin_util:%} busy at {spin_w:W} (p_dyn {spin_p_dyn:}) in "
            "{spin_windows:int} windows, "
            "with SM_ACTIVE at most 0.2 and DRAM_ACTIVE at most 0.02 in {idle_counter_windows:int}; {ranks:} ranks. " + _HOT,
        ),
        Route(
            "busy and cool on several ranks, and collectives fill the time of a card",
            when=("spin_windows >= enough", "collective_share >= in_collectives", "ranks >= two", "cards_extra <= 0"),
            uses=("util", "power", "config", "kernels"),
            says="Cards wait inside a kernel. GPU {spin_gpu:int}: {spin_util:%} busy at {spin_w:W} (p_dyn {spin_p_dyn:}) in "
            "{spin_windows:int} windows, and collectives are {collective_share:share} of the kernel time of a card; {ranks:} ranks. "
            + _HOT,
        ),
    ),
    ruled_out=(
        Route(
            "one rank waits for nobody",
            when=("ranks < two",),
            uses=("config",),
            says="No card waits for another. The server has {ranks:} rank.",
        ),
        Route(
            "every busy card reads its memory",
            when=("mem_min >= mem_read",),
            uses=("util",),
            says=(
                "The cards do not wait inside a kernel. Every one of {cards:int} reads or writes memory in {mem_min:%} of the time or "
                "more while it is busy."
            ),
        ),
        Route(
            "every busy card moves data",
            when=("dram_min >= dram_read",),
            uses=("util",),
            says="The cards do not wait inside a kernel. DRAM_ACTIVE is {dram_min:} or more on every one of {cards:int} while it is busy.",
        ),
    ),
    fits=(
        Route(
            "busy and hardly warmer than idle",
            when=("spin_windows >= enough",),
            uses=("util", "power"),
            rivals=("light_work",),
            says=(
                "A card is busy and hardly warmer than idle. GPU {spin_gpu:int}: {spin_util:%} at {spin_w:W} (p_dyn {spin_p_dyn:}) in "
                "{spin_windows:int} windows."
            ),
        ),
        Route(
            "collectives fill the time of a card",
            when=("collective_share >= in_collectives",),
            uses=("kernels",),
            rivals=("carries",),
            says="A card may wait inside collectives. They are {collective_share:share} of its kernel time.",
        ),
    ),
    rivals={
        "carries": Rival(
            "collectives that carry much (prefill, a slow path) and do not wait",
            closed=("spin_windows >= enough",),
            settle=_POWER + ": a card that waits is hardly warmer than idle",
        ),
        "light_work": Rival(
            "a small model on a big card, decode that waits for memory, or memory that spills into host RAM",
            closed=("ranks >= two", "silent_windows >= enough"),
            settle=_COUNTERS + ", or 10 s of nsys on all ranks: the share of the collectives",
        ),
    },
    collect={
        "spin_windows": _POWER,
        "silent_windows": _TOKENS,
        "cards_extra": "nvidia-smi pmon -d 1 beside it: which process is on which card",
        "idle_counter_windows": _COUNTERS,
        "collective_share": "nsys profile -t cuda,nvtx,osrt --cuda-graph-trace=node -d 10 -o trace <server command>; nsys export --type sqlite trace.nsys-rep",
        "ranks": _RANKS,
        "mem_min": _POWER,
        "dram_min": _COUNTERS,
    },
    means="Utilisation counts a waiting kernel as work.",
    remedy=(
        "Find the rank that the others wait for (lowest clock, narrowest link, hottest process), or the collective that hangs "
        "(NCCL_DEBUG=INFO, py-spy dump)."
    ),
    not_a_remedy="More cards in the same collective wait as well.",
    next=(
        Experiment(
            "trace all ranks for 10 s",
            "nsys profile -t cuda,nvtx,osrt --cuda-graph-trace=node -d 10 -o trace <server command>",
            "collectives are 80 % of the time of a card: it waits",
            cost=3,
        ),
    ),
)
