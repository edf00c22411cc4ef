"""Does decode slow down as the sequences get longer?

What it finds
    A benchmark that decodes the same number of tokens behind contexts of several lengths, and takes longer for a token the longer they are.

Why it matters
    A chat that gets slower and slower, and a benchmark with an empty cache that promises twice what the agent gets, are often just this. Two
    runs can only be compared at the same length.

How it decides
    By rows of one benchmark in one file that differ in the filling of the cache alone (llama-bench -d, sweep-bench): the time of a token at
    each length beside that at the shortest. Confirmed: a tenth of the token's time or more is added, at three lengths or more. Cards that get
    warm while it runs slow down too: below a quarter they are not excluded. A cache that leaves the card's memory makes a step and no line: the
    times must lie on a line (r2 of 0.9). Ruled out: a tenth or less is added at that length.
    It is a state. Where the model's cache per token and the bandwidth are known, the finding says how much of the slope reading the cache
    explains at most; the rest is the attention kernel.

Known problems
    Layers with a window or a state of fixed size make the line flatten: it is then not excluded that something else made the step.
    A benchmark of requests with longer prompts is not taken: its decode shares the card with their prefill.
"""

from ..engine.rule import STATE, Experiment, Limit, Rival, Route, Rule

FACTS = r"""
WITH named AS (
    SELECT
        source_id, line, s.series, s.series_key, concurrency, b.output_len, b.input_len AS depth, 1000 / b.per_stream_tok_s AS token_ms,
        regexp_extract(s.series, '\b(?:d|n_kv )([0-9]+)\b', 1) AS told
    FROM main.bench_steps b JOIN main.bench_series s USING (source_id, line, concurrency)
    WHERE b.per_stream_counts = 'decode' AND b.per_stream_tok_s > 0 AND b.input_len >= 0
), rows AS (
    -- the name of the row says the filling, or has none where it is empty
    SELECT *, regexp_replace(series, ' ?\b(?:d|n_kv )[0-9]+\b', '') AS rest
    FROM named WHERE told = printf('%.0f', depth) OR (told = '' AND depth = 0 AND regexp_matches(series, '\btg[0-9]+\b'))
), ladder AS (
    SELECT
        source_id, concurrency, output_len, rest, depth, series_key, avg(token_ms) AS token_ms, min({'source_id': source_id, 'line': line}, 2) AS ev
    FROM rows GROUP BY ALL
), runs AS (
    SELECT
        source_id, concurrency, output_len, rest, count(DISTINCT depth) AS lengths, min(depth) AS shortest, arg_min(token_ms, depth) AS base_ms,
        regr_slope(token_ms, depth) AS slope, regr_r2(token_ms, depth) AS straight, arg_min(ev, depth) AS base_ev
    FROM ladder GROUP BY ALL HAVING count(DISTINCT depth) >= 2
), compared AS (
    SELECT l.*, r.* EXCLUDE (source_id, concurrency, output_len, rest), 1 - r.base_ms / l.token_ms AS added
    FROM ladder l JOIN runs r USING (source_id, concurrency, output_len, rest) WHERE l.depth > r.shortest
)
SELECT
    sc.scope_id, c.lengths, c.depth, c.shortest, 1000 / c.token_ms AS rate, 1000 / c.base_ms AS base_rate, c.added, c.ev AS added_ev, c.base_ev AS base_rate_ev,
    CASE WHEN c.lengths >= 3 THEN c.straight END AS straight,
    -- at most: a quantised cache is smaller, and several cards may read it together
    NULL::DOUBLE AS cache_share_lo, CASE WHEN o.kv_known AND c.slope > 0 THEN nullif(least(1, o.kv_bytes_per_token_hi / (o.bw_lo * 1e9) / (c.slope / 1000)), 1) END AS cache_share_hi
FROM main.scopes sc
LEFT JOIN (FROM compared QUALIFY row_number() OVER (PARTITION BY series_key, concurrency ORDER BY lengths DESC, depth DESC, output_len) = 1) c
    ON c.series_key = sc.series_key AND c.concurrency = sc.concurrency
LEFT JOIN main.roofs o ON o.scope_id = sc.scope_id
"""

_BENCH = "llama-bench -m MODEL -p 0 -n 128 -d 0,4096,16384,32768   (the flags of the server, -fa 1 too)"

RULE = Rule(
    id="context-growth",
    claim=STATE,
    about="longer sequences",
    question="Does decode slow down as the sequences get longer?",
    scopes=("step",),
    facts=FACTS,
    limits={
        "notable": Limit(0.10, "of a token's time", "less is within what runs differ by"),
        "beyond_heat": Limit(0.25, "of a token's time", "cards that get warm lose less than that"),
        "enough": Limit(3, "lengths", "two lengths lie on any line"),
        "line": Limit(0.9, "r2", "a step, such as a cache that outgrows the card, is below"),
    },
    confirmed=(
        Route(
            "a token takes longer behind a longer context",
            when=("added >= notable", "lengths >= enough"),
            uses=("bench",),
            rivals=("heat", "step"),
            says="Decode slows as the sequences get longer. Behind {depth:int} tokens it makes {rate:tok/s}, behind {shortest:int} it makes "
            "{base_rate:tok/s}: {added:share} of a token's time is added. Reading the cache of these tokens is {cache_share:share} of what each adds.",
        ),
    ),
    ruled_out=(
        Route(
            "a token takes as long behind a longer context",
            when=("added <= notable",),
            uses=("bench",),
            says="Decode hardly slows with the length: behind {depth:int} tokens it makes {rate:tok/s}, behind {shortest:int} {base_rate:tok/s}.",
        ),
    ),
    rivals={
        "heat": Rival(
            "cards that slow down while the benchmark runs, by heat or power",
            closed=("added >= beyond_heat",),
            settle="the shortest length once more at the end (-d 0,16384,0), with the cards' clocks recorded",
        ),
        "step": Rival(
            "a cache that leaves the card's memory, or anything else that changes at one length",
            closed=("straight >= line",),
            settle=_BENCH,
        ),
    },
    collect={
        "added": _BENCH,
        "lengths": _BENCH,
        "bench": _BENCH,
    },
    means="What decode reads for each token grows with everything the sequence already holds.",
    remedy="Keep contexts short, quantise the cache (-ctk q8_0 -ctv q8_0), use flash attention, or a model with fewer KV heads or windows.",
    not_a_remedy="More slots: they add sequences that are read too.",
    next=(
        Experiment(
            "the same benchmark with a quantised cache",
            _BENCH.replace("   (", " -ctk q8_0 -ctv q8_0   ("),
            "the slope halves: reading the cache is what it costs; it stays or grows: the attention kernel",
            cost=1,
        ),
    ),
)
