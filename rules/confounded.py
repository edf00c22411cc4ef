"""Is a comparison in these files confounded?

What it finds
    Two runs, series or servers that differ in more than one thing, or that were measured once each and differ by less than one run
    differs from the next.

Why it matters
    "A is faster because of X" is then not shown: any of the other changes may be the reason, or chance. Whatever else the files show,
    such a sentence is blocked.

How it decides
    Factors are counted from below: settings that the servers' logs print with different values (settings that follow from one
    another count once; those that a server may set by itself count only where nothing else was changed), parts of the names of two
    series, another
    number of streams where two series share none, other lengths (not beside a name, which may say them), and totals that count other tokens. Two or more confirm it. So does one
    run
    per arm with a difference under 5 %: the same setting measured twice has differed by 3.9 %. Ruled out: at most one factor by both
    servers' logs, three runs per arm or more, and a difference above t(0.975) times its standard error (Welch). Repeated runs
    without such a difference show no difference, which is not "confounded": cannot tell.

Known problems
    What no file prints (clocks, cache state, another machine) is not counted. Names of series are split at commas and semicolons: one name
    may hide several changes, so a single part counts as at least one.
"""

from ..engine.rule import STATE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH grouped(key, factor, derived) AS (
    -- settings that follow from one another are one factor; `derived` ones a server may set by itself when another changes
    VALUES ('split', 'parallelism', FALSE), ('tensor_parallel', 'parallelism', FALSE), ('pipeline_parallel', 'parallelism', FALSE),
        ('data_parallel', 'parallelism', FALSE), ('expert_parallel', 'expert parallelism', FALSE), ('slots', 'slots', FALSE),
        ('speculation', 'speculation', FALSE), ('draft_tokens', 'speculation', FALSE), ('eager', 'graphs', FALSE),
        ('quantisation', 'quantisation', FALSE), ('build', 'build', FALSE), ('version', 'build', FALSE),
        ('n_ctx', 'context and offload', TRUE), ('layers_offloaded', 'context and offload', TRUE), ('n_batch', 'batch', TRUE),
            ('n_ubatch', 'batch', TRUE),
        ('chunked_prefill', 'prefill chunk', TRUE), ('chunked_prefill_size', 'prefill chunk', TRUE),
            ('max_batched_tokens', 'prefill chunk', TRUE),
        ('prefix_caching', 'prefix cache', TRUE), ('kv_dtype', 'KV type', TRUE), ('flash_attn', 'flash attention', TRUE)
), settings AS MATERIALIZED (
    SELECT
        c.source_id, coalesce(c.run, 0) AS run, g.factor, g.derived, c.key, any_value(coalesce(c.value, printf('%g', c.num))) AS value,
            min(c.line) AS line
    FROM main.server_config c JOIN grouped g USING (key)
    WHERE c.origin = 'logged' GROUP BY ALL HAVING count(DISTINCT coalesce(c.value, printf('%g', c.num))) = 1
), asked AS (
    -- slots count where the log says that they were asked for
    SELECT source_id, coalesce(run, 0) AS run FROM main.server_config WHERE key = 'slots_source'
        AND value IN ('server_args', 'arguments', 'command line')
), told AS MATERIALIZED (
    SELECT * FROM settings WHERE key <> 'slots' OR (source_id, run) IN (FROM asked)
), compared AS (
    SELECT
        a.source_id AS source_a, a.run AS run_a, b.source_id AS source_b, b.run AS run_b,
        count(DISTINCT a.factor) FILTER (a.value <> b.value) AS factors_all, count(DISTINCT a.factor) FILTER (a.value <> b.value
            AND NOT a.derived) AS asked_for,
        string_agg(DISTINCT a.factor, ', ' ORDER BY a.factor) FILTER (a.value <> b.value) AS names, count(*) AS shared,
        min_by({'source_id': a.source_id, 'line': a.line}, a.line, 1) FILTER (a.value <> b.value) AS ev_a,
        min_by({'source_id': b.source_id, 'line': b.line}, b.line, 1) FILTER (a.value <> b.value) AS ev_b
    FROM told a JOIN told b ON a.key = b.key AND (a.source_id, a.run) <> (b.source_id, b.run)
    GROUP BY a.source_id, a.run, b.source_id, b.run
), differing AS MATERIALIZED (
    -- beside a setting that somebody changed, those that may follow from it do not count
    SELECT *, CASE WHEN asked_for > 0 THEN asked_for ELSE factors_all END AS factors FROM compared
), linked AS MATERIALIZED (
    SELECT DISTINCT scope_id, source_id, coalesce(run, 0) AS run FROM main.requests_in_scope WHERE how <> 'no step'
    UNION SELECT DISTINCT scope_id, source_id, coalesce(run, 0) FROM main.server_in_scope
), loose AS (
    -- a scope of unknown server stands beside every pair of servers; a scope of a known one beside the pairs it is part of
    SELECT sc.scope_id, d.* FROM main.scopes sc CROSS JOIN differing d WHERE sc.scope_id NOT IN (SELECT scope_id FROM linked)
    UNION ALL
    SELECT l.scope_id, d.* FROM linked l JOIN differing d ON d.source_a = l.source_id AND d.run_a = l.run
), worst_settings AS (
    SELECT
        scope_id, max(factors) AS settings_differ, arg_max(names, factors) AS settings_text,
            arg_max(list_concat(ev_a, ev_b), factors) AS ev, count(*) AS server_pairs
    FROM loose GROUP BY scope_id
), arms AS MATERIALIZED (
    SELECT
        sc.scope_id, bs.series_key, any_value(bs.series_name) AS series_name, bs.concurrency, count(b.aggregate_tok_s) AS n,
            avg(b.aggregate_tok_s) AS mean,
        var_samp(b.aggregate_tok_s) AS variance, min(b.aggregate_counts) AS counts, median(b.input_len) AS input_len,
            median(b.output_len) AS output_len,
        min_by({'source_id': b.source_id, 'line': b.line}, b.line, 2) AS ev
    FROM main.bench_series bs
    JOIN main.bench_steps b ON b.source_id = bs.source_id AND b.line = bs.line AND b.concurrency = bs.concurrency
    JOIN main.scopes sc ON sc.series_key = bs.series_key AND sc.concurrency = bs.concurrency
    GROUP BY sc.scope_id, bs.series_key, bs.concurrency
), share_streams AS (
    SELECT DISTINCT a.series_key AS key_a, b.series_key AS key_b FROM arms a JOIN arms b ON a.concurrency = b.concurrency
        AND a.series_key <> b.series_key
), pairs AS MATERIALIZED (
    -- the same number of streams in another series; where two series share none, all of their steps
    SELECT
        a.scope_id, b.scope_id AS other_scope, a.series_name AS name_a, b.series_name AS name_b, a.concurrency AS c_a,
            b.concurrency AS c_b, a.n AS n_a, b.n AS n_b,
        a.mean AS mean_a, b.mean AS mean_b, a.mean / b.mean - 1 AS d, a.variance / a.n AS v_a, b.variance / b.n AS v_b,
            list_concat(a.ev, b.ev) AS ev,
        (a.counts <> b.counts)::INT AS other_counts,
        (abs(a.input_len / b.input_len - 1) > 0.05)::INT AS other_input, (abs(a.output_len / b.output_len - 1) > 0.05)::INT AS other_output,
        string_split_regex(lower(a.series_name), '\\s*[,;|]\\s*') AS parts_a,
            string_split_regex(lower(b.series_name), '\\s*[,;|]\\s*') AS parts_b,
        regexp_matches(a.series_name, '^table \\d+$') OR regexp_matches(b.series_name, '^table \\d+$') AS unnamed
    FROM arms a JOIN arms b ON a.series_key <> b.series_key
    WHERE a.concurrency = b.concurrency OR (a.series_key, b.series_key) NOT IN (SELECT (key_a, key_b) FROM share_streams)
), linked_pairs AS (
    SELECT p.scope_id, p.other_scope, max(d.factors) AS factors, max(d.factors_all) AS factors_all, min(d.shared) AS shared
    FROM (SELECT DISTINCT scope_id, other_scope FROM pairs) p JOIN linked a ON a.scope_id = p.scope_id
        JOIN linked b ON b.scope_id = p.other_scope
    JOIN differing d ON d.source_a = a.source_id AND d.run_a = a.run AND d.source_b = b.source_id AND d.run_b = b.run
    GROUP BY ALL
), factors AS (
    SELECT
        p.*, (p.c_a <> p.c_b)::INT + coalesce(p.other_counts, 0) AS other_factors,
        -- a name often says the lengths or the streams: those do not count beside it
        greatest(coalesce(p.other_input, 0), coalesce(p.other_output, 0)) AS length_factors,
        CASE WHEN p.unnamed THEN 0
             WHEN p.c_a <> p.c_b AND regexp_matches(p.name_a || ' ' || p.name_b, '(^|\\D)(' || printf('%g|%g', p.c_a, p.c_b) || ')(\\D|$)') THEN 0
             WHEN len(p.parts_a) = len(p.parts_b) AND len(p.parts_a) >= 2
             THEN len(list_filter(list_zip(p.parts_a, p.parts_b), lambda x: x[1] <> x[2])) ELSE 1 END AS name_factors,
        l.factors AS log_factors, l.factors_all AS log_factors_all, l.shared
    FROM pairs p LEFT JOIN linked_pairs l USING (scope_id, other_scope)
), judged AS (
    SELECT
        *, other_factors + greatest(name_factors, length_factors, coalesce(log_factors, 0)) AS factors_lo,
        CASE WHEN shared >= 5 THEN other_factors + length_factors + greatest(name_factors, log_factors_all) END AS factors_hi,
        power(v_a + v_b, 2) / nullif(v_a * v_a / (n_a - 1) + v_b * v_b / (n_b - 1), 0) AS df
    FROM factors
), floors AS (
    -- t(0.975) by its expansion in 1/df, 2 % low at worst from df = 2 on
    SELECT
        *, (1.96 + 2.372 / df + 2.822 / (df * df) + 2.556 / (df * df * df)) * 1.03 * sqrt(v_a + v_b) / mean_b AS floor_share
    FROM judged
), per_scope AS (
    SELECT
        scope_id, count(*) AS table_pairs, max(factors_lo) AS table_factors_lo, CASE
            WHEN count(factors_hi) = count(*) THEN max(factors_hi) END AS table_factors_hi,
        arg_max(name_a, factors_lo) AS arm_a, arg_max(name_b, factors_lo) AS arm_b, arg_max(c_a, factors_lo) AS c_a,
            arg_max(c_b, factors_lo) AS c_b, arg_max(ev, factors_lo) AS ev,
        min(abs(d)) FILTER (c_a = c_b AND n_a = 1 AND n_b = 1) AS single_d,
            arg_min(struct_pack(name_a, name_b, mean_a, mean_b, ev), abs(d)) FILTER (c_a = c_b AND n_a = 1 AND n_b = 1) AS single,
        min(least(n_a, n_b)) AS repeats_min, min(abs(d) / floor_share) AS over_floor, count(*) = count(floor_share) AS floors_known,
        arg_min(struct_pack(name_a, name_b, mean_a, mean_b, d, floor_share), abs(d) / floor_share) AS closest
    FROM floors GROUP BY scope_id
)
SELECT
    sc.scope_id, coalesce(p.table_pairs, 0) + coalesce(w.server_pairs, 0) AS comparisons,
    p.table_factors_lo, p.table_factors_hi, p.ev AS table_factors_ev, p.arm_a, p.arm_b, p.c_a, p.c_b,
    w.settings_differ, w.settings_text, w.ev AS settings_differ_ev, w.server_pairs,
    p.single_d AS single_difference, p.single.ev AS single_difference_ev, p.single.name_a AS single_a, p.single.name_b AS single_b,
        p.single.mean_a AS single_x, p.single.mean_b AS single_y,
    p.repeats_min, CASE WHEN p.floors_known THEN p.over_floor END AS over_floor, p.closest.d AS shown_difference,
        p.closest.floor_share AS noise_floor,
    p.closest.mean_a AS shown_x, p.closest.mean_b AS shown_y
FROM main.scopes sc LEFT JOIN per_scope p USING (scope_id) LEFT JOIN worst_settings w USING (scope_id)
"""

_RUNS = "both runs with one thing changed, three repeats each, and both servers' logs from their start"

RULE = Rule(
    id="confounded",
    claim=STATE,
    about="comparisons between runs",
    question="Is a comparison in these files confounded?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "several": Limit(2, "factors", "with two changes neither is shown to be the reason"),
        "one": Limit(1, "factors", "a clean comparison changes one thing"),
        "noise": Limit(0.05, "of the total", "one setting measured twice has differed by 3.9 %; public runs by 0.1 to 3.7 % within a boot"),
        "repeats": Limit(3, "runs per arm", "a spread needs three"),
        "above": Limit(1.0, "of the noise floor", "a difference that chance gives in one case of twenty is not shown"),
    },
    applies=("comparisons >= 1",),
    confirmed=(
        Route(
            "two series differ in more than one thing",
            when=("table_factors >= several",),
            uses=("bench",),
            says=(
                "A comparison in these files is confounded. '{arm_a}' at {c_a:int} streams and '{arm_b}' at {c_b:int} differ in "
                "{table_factors:int} things: which of them made the difference is not shown."
            ),
        ),
        Route(
            "two servers differ in more than one setting",
            when=("settings_differ >= several",),
            uses=("config",),
            says=(
                "A comparison in these files is confounded. Two server runs differ in {settings_differ:int} settings at least: "
                "{settings_text}."
            ),
        ),
        Route(
            "one run per arm, and they differ by less than one run from the next",
            when=("single_difference < noise",),
            uses=("bench",),
            says="A comparison in these files shows nothing. '{single_a}' gives {single_x:tok/s} and '{single_b}' {single_y:tok/s}, "
            "{single_difference:share} apart with one run each: "
            "the same setting measured twice differs as much.",
        ),
    ),
    ruled_out=(
        Route(
            "one thing was changed, and the difference is above the noise",
            when=("table_factors <= one", "repeats_min >= repeats", "over_floor >= above"),
            uses=("bench", "config"),
            says="The comparison holds. By both servers' logs one thing was changed at most, {repeats_min:int} runs per arm or more "
            "give {shown_x:tok/s} and {shown_y:tok/s}, "
            "and the noise floor is {noise_floor:share}.",
        ),
    ),
    fits=(
        Route(
            "two servers of these files differ in one setting",
            when=("settings_differ >= one",),
            uses=("config",),
            rivals=("unprinted",),
            says="Two server runs differ. In {settings_differ:int} setting by their logs: {settings_text}.",
        ),
    ),
    rivals={
        "unprinted": Rival("a clean comparison, in which this is the only change", closed=(), settle=_RUNS),
    },
    collect={
        "table_factors": _RUNS,
        "settings_differ": _RUNS,
        "single_difference": _RUNS,
        "repeats_min": _RUNS,
        "over_floor": _RUNS,
        "comparisons": _RUNS,
    },
    means="No sentence of the kind 'A is faster because of X' follows from these runs.",
    remedy="Change one thing at a time, at the same streams and lengths, three runs each, and keep both logs.",
    not_a_remedy="A larger difference with the same two changes does not show which one made it.",
    next=(
        Experiment(
            "repeat both arms with one change between them",
            "A, B, A, B, A, B with the same client command",
            "the difference stays above the spread of the repeats: it is the change",
            cost=2,
        ),
    ),
)
