"""Are weights outside GPU memory?

What it finds
    Layers, experts or a whole model that the server keeps in host memory, so that the CPU is one more stage of every token.

Why it matters
    Host memory is ten to thirty times slower than the memory of a card. A few gigabytes left outside then take most of the time
    of a token, while the cards read 5 to 25 % busy and look starved, linked badly, or badly scheduled.

How it decides
    Confirmed by the server's own log: weight bytes in CPU buffers of at least 5 % of the weights. Buffers that map a file can be
    larger than what is used of them, so the low end is what the cards' buffers leave of the file, and the token embedding, which
    stays on the CPU in health, is taken off at its largest (16 bit, 262144 tokens where the log does not tell them). Without buffer sizes, a fifth of the layers
    counts, the share of memory that `ollama ps` prints, again without the embedding, or the amount that the server was told to keep in host
    memory (`--cpu-offload-gb`). Or: tokens flow while all cards together hold less than half of the weights, if the log shows that no card is missing.
    Ruled out: all layers on the cards, CPU buffers under 5 % (so no experts there either), or nothing on the CPU by `ollama ps`; and
    the cards hold at least the weights.
    That it is the cause of a slow token: a token of one stream takes 0.7 to 1.5 times what the CPU's part at the *measured* bandwidth of
    the host memory and the cards' part take after each other, both ends of every interval inside, and the CPU's part is half or more.

Known problems
    "100% GPU" of `ollama ps` is a plan in older versions and never enough alone.
    "offloaded N/N" does not prove it: expert tensors can be sent to the CPU one by one. While it is open, memory, link and compute
    verdicts speak of the cards' part.
"""

from ..engine.rule import CAUSE, STATE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH settings AS MATERIALIZED (
    SELECT
        scope_id,
        min(num_lo) FILTER (key = 'layers_offloaded') AS offloaded_lo, max(num_hi) FILTER (key = 'layers_offloaded') AS offloaded_hi,
        min(num_lo) FILTER (key = 'layers_total') AS total_lo, max(num_hi) FILTER (key = 'layers_total') AS total_hi,
        min(origin) FILTER (key = 'layers_offloaded') AS offloaded_origin,
            min(ev) FILTER (key = 'layers_offloaded') AS offloaded_ev,
        min(num_lo) FILTER (key = 'cpu_model_mib') AS cpu_lo, max(num_hi) FILTER (key = 'cpu_model_mib') AS cpu_hi,
        min(origin) FILTER (key = 'cpu_model_mib') AS cpu_origin, min(ev) FILTER (key = 'cpu_model_mib') AS cpu_ev,
        -- as asked for on the command line; below zero and from 99 on it is all of them
        max(num_hi) FILTER (key = 'n_gpu_layers' AND num_lo >= 0 AND num_hi < 99) AS asked, min(origin) FILTER (key = 'n_gpu_layers') AS asked_origin,
            min(ev) FILTER (key = 'n_gpu_layers') AS asked_ev,
        min(value) FILTER (key = 'split') AS split,
        max(num_hi) FILTER (key = 'split_devices') AS devices,
        min(num_lo) FILTER (key = 'memory_on_cpu_share') AS memory_lo, max(num_hi) FILTER (key = 'memory_on_cpu_share') AS memory_hi,
        min(origin) FILTER (key = 'memory_on_cpu_share') AS memory_origin, min(ev) FILTER (key = 'memory_on_cpu_share') AS memory_ev,
        min(num_lo) FILTER (key = 'model_memory_mib') AS model_memory_mib,
        -- what every rank was told to keep in host memory; 0 is the default of the argument
        min(num_lo) FILTER (key = 'weights_offload_gib') * 1024 * coalesce(min(num_lo) FILTER (key = 'tensor_parallel'), 1) * coalesce(min(num_lo) FILTER (key = 'pipeline_parallel'), 1) AS told_mib,
        min(origin) FILTER (key = 'weights_offload_gib') AS told_origin, min(ev) FILTER (key = 'weights_offload_gib') AS told_ev
    FROM main.config_in_scope GROUP BY scope_id
), buffers AS (
    SELECT source_id, coalesce(run, 0) AS run, sum(num) AS mib FROM main.server_config WHERE key = 'device_model_mib' GROUP BY ALL
), device_mib AS (
    -- the cards' buffers of the very logs that tell the CPU's
    SELECT s.scope_id, min(b.mib) AS mib_lo, max(b.mib) AS mib_hi
    FROM (SELECT scope_id, unnest(cpu_ev).source_id AS source_id FROM settings) s JOIN buffers b USING (source_id) GROUP BY s.scope_id
), weights AS (
    SELECT scope_id, file_bytes / 1048576 AS mib, hidden, layers, ev, origin, given FROM main.model_facts
), embedding AS (
    -- at 16 bit, of 262144 tokens where nothing tells the vocabulary
    SELECT scope_id, coalesce(vocab, 262144) * hidden * 2 / 1048576 AS mib FROM main.model_facts
), placed AS (
    -- Ollama's share of memory. The token embedding is counted with the CPU as soon as one layer is there: it comes off at its largest, for
    -- an unknown width that of a model of two bits a weight, and never more than 30 % of a model. A log that knows better widens the share
    SELECT
        s.scope_id, greatest(memory_hi, (s.total_hi - s.offloaded_lo) / s.total_hi, CASE WHEN s.cpu_hi >= 0.05 * w.mib THEN s.cpu_hi / w.mib END) AS hi,
        memory_origin AS origin, memory_ev AS ev,
        CASE WHEN memory_lo >= 1 THEN 1 ELSE greatest(0, memory_lo - least(0.3,
            coalesce(e.mib, 262144 * 2 * 1.2 * power(11 * 4 * s.model_memory_mib * 1048576, 1 / 3) / 1048576) / s.model_memory_mib)) END AS lo
    FROM settings s LEFT JOIN embedding e USING (scope_id) LEFT JOIN weights w USING (scope_id) WHERE s.memory_hi IS NOT NULL
), rounds AS (
    SELECT scope_id, source_id, cycle, sum(mem_used) AS mib, count(*) AS n, count(mem_used) AS known, any_value(line) AS line
    FROM main.samples_in_load GROUP BY scope_id, source_id, cycle
), sizes AS (
    SELECT scope_id, source_id, max(n) AS cards FROM rounds GROUP BY ALL
), memory AS (
    SELECT
        r.scope_id, min(r.mib) AS used_min, max(r.mib) AS used_max, max(z.cards) AS cards, count(*) AS rounds,
        min({'source_id': r.source_id, 'line': r.line}, 2) AS ev
    FROM rounds r JOIN sizes z USING (scope_id, source_id) WHERE r.n = z.cards AND r.known = r.n GROUP BY r.scope_id
), per_card AS (
    SELECT scope_id, host, gpu, avg(util_gpu) AS util, avg(util_mem) AS util_mem FROM main.samples_in_load WHERE util_gpu IS NOT NULL
        GROUP BY scope_id, host, gpu
), utils AS (
    SELECT
        scope_id, max(util) AS util_card_max, min(util) AS util_card_min, sum(util) AS util_sum_mean, max(util_mem) AS util_mem_max,
        string_agg(printf('%.0f', util), ' + ' ORDER BY host, gpu) AS cards_text
    FROM per_card GROUP BY scope_id
), tokens AS (
    SELECT scope_id, sum(n) AS tokens_seen FROM (
        SELECT scope_id, count(*) AS n FROM main.requests_in_scope WHERE output_tokens > 0 GROUP BY scope_id
        UNION ALL SELECT scope_id, count(*) FROM main.server_in_scope WHERE gen_tok_s > 0 GROUP BY scope_id
    ) GROUP BY scope_id
), host AS (
    SELECT max(num) AS gb_s, [{'source_id': min(source_id), 'line': min(line)}] AS ev FROM main.given WHERE key = 'host.mem_bw_gb_s'
), one_stream AS (
    -- one token a step of one stream, with the speculation known to be off; what a mixture of experts reads of its weights is an interval
    SELECT
        p.scope_id, 1000 / p.steps_hi AS token_ms_lo, 1000 / p.steps_lo AS token_ms_hi, p.ev,
        CASE WHEN f.dense THEN 1 ELSE least(1, f.pass_bytes_lo / f.file_bytes) END AS read_lo, f.bw_one_lo, f.bw_one_hi
    FROM main.pace p JOIN main.roofs f USING (scope_id) WHERE p.concurrency = 1 AND p.speculation = 'off' AND p.steps_lo > 0 AND f.file_bytes > 0
), parts AS (
    -- what the cards' buffers leave of the file is on the CPU; the token embedding is not read as a whole
    SELECT
        s.scope_id, greatest(0, least(s.cpu_lo, w.mib - d.mib_hi) - e.mib) * 1.048576 AS cpu_mb_lo, least(s.cpu_hi, w.mib - d.mib_lo) * 1.048576 AS cpu_mb_hi,
        d.mib_lo * 1.048576 AS card_mb_lo, d.mib_hi * 1.048576 AS card_mb_hi
    FROM settings s JOIN device_mib d USING (scope_id) JOIN weights w USING (scope_id) JOIN embedding e USING (scope_id)
    WHERE s.split IS NULL OR s.split NOT IN ('row', 'tensor')
), predicted AS (
    -- MB over GB/s is ms; one part after the other
    SELECT
        scope_id, read_lo * cpu_mb_lo / h.gb_s AS cpu_ms_lo, cpu_mb_hi / h.gb_s AS cpu_ms_hi, read_lo * card_mb_lo / bw_one_hi AS card_ms_lo, card_mb_hi / bw_one_lo AS card_ms_hi,
        token_ms_lo, token_ms_hi, o.ev, h.gb_s, h.ev AS host_ev
    FROM parts JOIN one_stream o USING (scope_id) CROSS JOIN host h WHERE h.gb_s > 0
), stated AS (
    SELECT max(num) AS cards FROM main.given WHERE key = 'gpu.count'
), foreign_cards AS (
    SELECT scope_id, max(cards_extra) AS cards_extra FROM main.serving_cards GROUP BY scope_id
)
SELECT
    sc.scope_id,
    w.mib AS weights_mib, w.ev AS weights_mib_ev, w.given AS weights_mib_given,
    s.cpu_lo AS cpu_mib_lo, s.cpu_hi AS cpu_mib_hi, s.cpu_origin AS cpu_mib_origin, s.cpu_ev AS cpu_mib_ev, d.mib_lo AS device_mib_lo,
        d.mib_hi AS device_mib_hi,
    CASE WHEN s.cpu_lo IS NOT NULL AND w.mib > 0 THEN
        CASE WHEN d.mib_hi IS NULL OR e.mib IS NULL OR s.split IN ('row', 'tensor') THEN 0
             ELSE greatest(0, least(s.cpu_lo, w.mib - d.mib_hi) - e.mib) / w.mib END
    END AS outside_share_lo,
    CASE WHEN s.cpu_hi IS NOT NULL AND w.mib > 0 THEN s.cpu_hi / w.mib END AS outside_share_hi,
    s.cpu_origin AS outside_share_origin, s.cpu_ev AS outside_share_ev,
    coalesce(s.offloaded_lo, s.asked) AS layers_on_cards_lo, coalesce(s.offloaded_hi, s.asked) AS layers_on_cards_hi, coalesce(s.total_hi, w.layers) AS layers,
    (s.total_lo - s.offloaded_hi) AS layers_left_lo, (s.total_hi - s.offloaded_lo) AS layers_left_hi,
        s.offloaded_origin AS layers_left_origin,
    s.offloaded_ev AS layers_left_ev,
    -- the output layer is counted as one
    coalesce((s.total_lo - 1 - s.offloaded_hi) / nullif(s.total_lo - 1, 0), CASE WHEN s.asked < w.layers THEN (w.layers - s.asked) / w.layers END) AS layers_left_share,
    CASE WHEN s.offloaded_hi IS NULL THEN s.asked_origin ELSE s.offloaded_origin END AS layers_left_share_origin, coalesce(s.offloaded_ev, s.asked_ev) AS layers_left_share_ev,
    nullif(s.told_mib, 0) AS told_mib, s.told_ev AS told_mib_ev, s.told_origin AS told_mib_origin,
    CASE WHEN s.told_mib > 0 AND w.mib > 0 THEN least(1, s.told_mib / w.mib) END AS told_share, s.told_ev AS told_share_ev, s.told_origin AS told_share_origin,
    CASE WHEN w.mib IS NULL THEN nullif(s.told_mib, 0) END AS told_unsized, s.told_ev AS told_unsized_ev, s.told_origin AS told_unsized_origin,
    pl.lo AS memory_outside_lo, pl.hi AS memory_outside_hi, pl.origin AS memory_outside_origin, pl.ev AS memory_outside_ev,
    m.used_min / w.mib AS held_share_min, m.used_max / w.mib AS held_share_max, m.used_max AS used_mib, m.ev AS held_share_max_ev,
        m.rounds, m.cards,
    coalesce(t.tokens_seen, 0) AS tokens_seen,
    CASE WHEN coalesce(s.devices, g.cards) IS NOT NULL THEN greatest(0, coalesce(s.devices, g.cards) - m.cards) END AS cards_missing,
    coalesce(f.cards_extra, 0) AS cards_extra,
    u.util_card_max, u.util_card_min, u.util_sum_mean, u.util_mem_max, u.cards_text,
    p.token_ms_lo, p.token_ms_hi, p.cpu_ms_lo, p.cpu_ms_hi, p.card_ms_lo, p.card_ms_hi,
    p.token_ms_lo / (p.cpu_ms_hi + p.card_ms_hi) AS over_formula_lo, p.token_ms_hi / nullif(p.cpu_ms_lo + p.card_ms_lo, 0) AS over_formula_hi, p.ev AS over_formula_ev,
    p.cpu_ms_lo / (p.cpu_ms_lo + p.card_ms_hi) AS cpu_part_lo, p.cpu_ms_hi / (p.cpu_ms_hi + p.card_ms_lo) AS cpu_part_hi,
    p.gb_s AS host_gb_s, p.host_ev AS host_gb_s_ev, CASE WHEN p.gb_s IS NOT NULL THEN ['host.mem_bw_gb_s=' || printf('%g', p.gb_s)] END AS over_formula_given
FROM main.scopes sc
LEFT JOIN settings s USING (scope_id) LEFT JOIN device_mib d USING (scope_id) LEFT JOIN memory m USING (scope_id)
LEFT JOIN utils u USING (scope_id) LEFT JOIN tokens t USING (scope_id) LEFT JOIN predicted p USING (scope_id)
LEFT JOIN foreign_cards f USING (scope_id) LEFT JOIN placed pl USING (scope_id)
LEFT JOIN weights w USING (scope_id) LEFT JOIN embedding e USING (scope_id) CROSS JOIN stated g
"""

_LOG = "the server's start-up log with the buffer sizes and 'offloaded k/n layers' (llama-server -lv 4, Ollama's server log)"
_HOST = (
    "the host's memory bandwidth, measured with as many threads as the server uses (sysbench memory run, mlc --bandwidth_matrix): --given host.mem_bw_gb_s=N, "
    "and the rate of one stream"
)
_MEMORY = (
    "nvidia-smi --query-gpu=timestamp,index,name,memory.used,memory.total,utilization.gpu --format=csv,nounits -l 1 > smi.csv   (all "
    "cards, under load), and the size of the weights"
)

RULE = Rule(
    id="off-gpu",
    claim=STATE,
    about="weights in host memory",
    question="Are weights outside GPU memory?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "some": Limit(0.05, "of the weights", "host memory at a twentieth of the bandwidth makes 5 % of the weights half of the time"),
        "formula_lo": Limit(0.7, "of the computed time", "a measured bandwidth and buffer sizes are good for a third"),
        "formula_hi": Limit(1.5, "of the computed time", "above it something else takes a third of the token or more"),
        "most": Limit(0.5, "of the computed time", "less, and the cards' part is the larger one"),
        "fifth": Limit(0.20, "of the layers", "at least 5 % of the weights unless the embeddings are three quarters of the model"),
        "half_held": Limit(0.50, "of the weights", "cards that hold less than half of the weights cannot hold the model"),
        "all_held": Limit(1.00, "of the weights", "weights, cache and buffers together are more than the weights"),
        "enough": Limit(10, "rounds", "fewer do not show what happens during the load"),
        "busy_lo": Limit(5, "%", "a card that does part of the work"),
        "busy_hi": Limit(25, "%", "cards that wait most of the time"),
        "sum_hi": Limit(90, "%", "above that the cards alone fill the time, in turns"),
        "mem_hi": Limit(10, "%", "decode from the card's own memory reads more"),
    },
    confirmed=(
        *(
            Route(
                "a token takes as long as the CPU's part and the cards' part after each other",
                when=("outside_share >= some", "over_formula >= formula_lo", "over_formula <= formula_hi", "cpu_part >= most"),
                uses=("config", rates, "roof"),
                claim=CAUSE,
                says="Weights in host memory make the token slow. {cpu_ms:ms} on the CPU at the measured {host_gb_s:GB/s} and {card_ms:ms} on the cards "
                "explain a token of {token_ms:ms} ({over_formula:} of the sum); the CPU's part is {cpu_part:share} of it.",
            )
            for rates in ("server", "bench")
        ),
        Route(
            "the log puts weights into host memory",
            when=("outside_share >= some",),
            uses=("config",),
            says="Weights lie outside GPU memory. CPU buffers of {cpu_mib:MiB}, the cards' of {device_mib:MiB}, {weights_mib:MiB} of "
            "weights: {outside_share:share} are outside, "
            "without the token embedding at the low end.",
        ),
        Route(
            "the server was told to keep weights in host memory",
            when=("told_share >= some",),
            uses=("config",),
            says="Weights lie outside GPU memory. The server was told to keep {told_mib:MiB} in host memory, of {weights_mib:MiB} of weights; "
            "every step reads them over the link.",
        ),
        Route(
            "the log leaves a fifth of the layers to the CPU",
            when=("layers_left_share >= fifth",),
            uses=("config",),
            says=(
                "Weights lie outside GPU memory. {layers_on_cards:int} of {layers:int} layers are on the cards, "
                "{layers_left_share:share} are not."
            ),
        ),
        Route(
            "Ollama keeps a part of the model's memory on the CPU",
            when=("memory_outside >= some",),
            uses=("config",),
            says=(
                "Weights lie outside GPU memory. By `ollama ps` the CPU holds {memory_outside:share} of the model's memory, without the token "
                "embedding at the low end."
            ),
        ),
        Route(
            "tokens flow while the cards hold less than half of the weights",
            when=("tokens_seen >= 1", "held_share_max < half_held", "rounds >= enough"),
            uses=("util", "server"),
            rivals=("elsewhere",),
            says=(
                "The model is not in the memory of these cards. They hold {used_mib:MiB} at most, the weights are {weights_mib:MiB}, "
                "and tokens flow."
            ),
        ),
    ),
    ruled_out=(
        Route(
            "all layers and experts are on the cards, and their memory holds the weights",
            when=("layers_left <= 0", "outside_share < some", "held_share_min >= all_held", "rounds >= enough", "cards_extra <= 0"),
            uses=("config", "util"),
            says="The weights are in GPU memory. {layers_on_cards:int} of {layers:int} layers on the cards, CPU buffers of "
            "{cpu_mib:MiB} ({outside_share:share} of the weights), "
            "and the cards hold {held_share_min:share} of the weights' size or more.",
        ),
        Route(
            "Ollama left no layer to the CPU, and the cards' memory holds the weights",
            when=("memory_outside <= 0", "held_share_min >= all_held", "rounds >= enough", "cards_extra <= 0"),
            uses=("config", "util"),
            says="The weights are in GPU memory. `ollama ps` leaves nothing to the CPU, and the cards hold {held_share_min:share} of the "
            "weights' size or more.",
        ),
    ),
    fits=(
        Route(
            "the server was told to keep an amount in host memory, and the size of the weights is unknown",
            when=("told_unsized > 0",),
            uses=("config",),
            rivals=("small",),
            says="Weights may lie outside GPU memory. The server was told to keep {told_mib:MiB} in host memory.",
        ),
        Route(
            "the cards hold less than the weights",
            when=("tokens_seen >= 1", "held_share_max < all_held", "rounds >= enough"),
            uses=("util", "server"),
            rivals=("elsewhere",),
            says="The cards hold less than the weights. {used_mib:MiB} at most against {weights_mib:MiB}, while tokens flow.",
        ),
        Route(
            "every card is a little busy and its memory hardly read",
            when=(
                "util_card_max <= busy_hi",
                "util_card_min >= busy_lo",
                "util_sum_mean <= sum_hi",
                "util_mem_max < mem_hi",
                "tokens_seen >= 1",
                "layers_left > 0",
            ),
            uses=("util", "config"),
            rivals=("waiting", "elsewhere"),
            says=(
                "The cards are a little busy each. {cards_text} = {util_sum_mean:%}, memory at {util_mem_max:%} at most, and "
                "{layers_left:int} layers are not on the cards."
            ),
        ),
    ),
    rivals={
        "elsewhere": Rival(
            "the model is on a card that these samples do not show: another index, container or host",
            closed=("cards_missing <= 0",),
            settle="the server's start-up log (it names its devices), or --given gpu.count=N, and samples of all cards of that host",
        ),
        "small": Rival(
            "a model so large that what stays outside is a small part of it",
            closed=("told_share >= some",),
            settle="the size of the weights (the server's start-up log, or --given model.params_total_b=N)",
        ),
        "waiting": Rival(
            "cards that wait for the host, the scheduler or the client",
            closed=("outside_share >= some",),
            settle="the buffer sizes in the server's start-up log",
        ),
    },
    collect={
        "over_formula": _HOST,
        "cpu_part": _HOST,
        "outside_share": _LOG + ", and the model's size",
        "told_share": "the arguments in the server's start-up log, and the model's size",
        "told_unsized": "the arguments in the server's start-up log",
        "layers_left_share": _LOG,
        "layers_left": _LOG,
        "memory_outside": _LOG + ", or with Ollama: ollama ps > ps.txt   (while the model is loaded)",
        "tokens_seen": "the server's log of the run",
        "held_share_max": _MEMORY,
        "held_share_min": _MEMORY,
        "rounds": _MEMORY,
        "util_card_max": _MEMORY,
        "util_card_min": _MEMORY,
        "util_sum_mean": _MEMORY,
        "util_mem_max": "nvidia-smi dmon -s pucvmet -d 1 -o DT > dmon.txt   (while the load runs)",
        "cards_extra": "nvidia-smi pmon -d 1 beside it: which process is on which card",
        "cards_missing": "the server's start-up log, which names its devices, or --given gpu.count=N",
    },
    means="The CPU is one more stage of every token: its time adds to that of the cards.",
    remedy=(
        "Put everything on the cards: a smaller quantisation, a shorter context, a quantised KV cache, or experts alone on the CPU "
        "where it must be."
    ),
    not_a_remedy="A faster card or a faster link between cards does not shorten the CPU's part of a token.",
    next=(
        Experiment(
            "the same run with more or fewer layers on the cards",
            "llama-server ... -ngl 99 -c 4096   (or fewer layers), the same prompts",
            "the token gets faster as the CPU's part shrinks: it is the cause; it stays: it is not",
            cost=1,
            on={
                "ollama": "ollama run MODEL --verbose, with /set parameter num_ctx 4096 and then /set parameter num_gpu 0, the same prompts; ollama ps beside it",
                "lm-studio": "lms load MODEL --gpu max --context-length 4096   (then --gpu 0.5), the same prompts",
                "koboldcpp": "koboldcpp ... --gpulayers 99 --contextsize 4096   (or fewer layers), the same prompts",
                "text-generation-webui": "the model loaded again with ctx-size 4096 and all gpu-layers (or fewer layers), the same prompts",
            },
        ),
        Experiment(
            "watch the CPU and the page faults while tokens flow",
            "pidstat -u -r -p $(pidof llama-server) 1 30",
            "many busy cores: the CPU computes; major faults: weights come from disk",
            cost=1,
            on={"ollama": "pidstat -u -r -C 'ollama|llama' 1 30"},
        ),
    ),
)
