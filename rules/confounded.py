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
WITH linked AS MATERIALIZED (
    SELECT DISTINCT scope_id, source_id, run FROM main.scope_servers WHERE how = 'load'
), loose AS (
    -- a scope of unknown server stands beside every pair of servers; a scope of a known one beside the pairs it is part of
    SELECT sc.scope_id, d.* FROM main.scopes sc CROSS JOIN main.server_differences d WHERE sc.scope_id NOT IN (SELECT scope_id FROM linked)
    UNION ALL
    SELECT l.scope_id, d.* FROM linked l JOIN main.server_differences d ON d.source_a = l.source_id AND d.run_a = l.run
), worst_settings AS (
    SELECT
        scope_id, max(factors) AS settings_differ, arg_max(names, factors) AS settings_text,
            arg_max(list_concat(ev_a, ev_b), factors) AS ev, count(*) AS server_pairs
    FROM loose GROUP BY scope_id
), linked_pairs AS (
    SELECT p.scope_id, p.other_scope, max(d.factors) AS factors, max(d.factors_all) AS factors_all, min(d.shared) AS shared
    FROM (SELECT DISTINCT scope_id, other_scope FROM main.series_pairs) p JOIN linked a ON a.scope_id = p.scope_id
        JOIN linked b ON b.scope_id = p.other_scope
    JOIN main.server_differences d ON d.source_a = a.source_id AND d.run_a = a.run AND d.source_b = b.source_id AND d.run_b = b.run
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
    FROM main.series_pairs p LEFT JOIN linked_pairs l USING (scope_id, other_scope)
), compared AS (
    -- a benchmark that does different work in its rows compares those of equal lengths: the others are rows beside each other
    SELECT * FROM (SELECT *, one_file AND length_factors = 1 AS other_work FROM factors)
    QUALIFY NOT other_work OR (name_factors >= 2 AND bool_and(other_work) OVER (PARTITION BY scope_id))
), judged AS (
    SELECT
        *, other_factors + greatest(name_factors, length_factors, coalesce(log_factors, 0)) AS factors_lo,
        CASE WHEN shared >= 5 THEN other_factors + length_factors + greatest(name_factors, log_factors_all) END AS factors_hi
    FROM compared
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
    FROM judged GROUP BY scope_id
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
