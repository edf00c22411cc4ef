"""Is there enough evidence?

What it finds
    Inputs that are present but too thin for a verdict about the time under load: a snapshot, fewer than ten independent windows,
    or samples that nothing ties to the load.

Why it matters
    Most wrong verdicts come from one snapshot, or from joining things that did not happen together.

How it decides
    Every input of every scope has a grade (see the view scope_evidence). Confirmed where an input that is present has a grade
    under 3; ruled out where none has.

Known problems
    It says nothing about inputs that are absent: each rule names those itself.
"""

from ..engine.rule import STATE, Limit, Route, Rule

FACTS = """
SELECT
    sc.scope_id, count(e.input) AS inputs, count(*) FILTER (e.grade < 3) AS thin,
    string_agg(e.input || ': ' || e.reason, '; ' ORDER BY e.input) FILTER (e.grade < 3) AS thin_why,
    string_agg(DISTINCT e.collect, '; ' ORDER BY e.collect) FILTER (e.grade < 3) AS how,
    string_agg(e.input, ', ' ORDER BY e.input) AS present
FROM main.scopes sc LEFT JOIN main.scope_evidence e USING (scope_id)
GROUP BY sc.scope_id
"""

RULE = Rule(
    id="thin-evidence",
    claim=STATE,
    about="too little evidence",
    question="Is there enough evidence?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={"any": Limit(1, "inputs", "one thin input is enough to say so")},
    applies=("inputs >= any",),
    confirmed=(
        Route(
            "an input that is present is too thin",
            when=("thin >= any",),
            uses=(),
            says="Some of the evidence is too thin. {thin_why}. Record it with: {how}",
        ),
    ),
    ruled_out=(
        Route(
            "every input that is present is placed in the load",
            when=("thin < any",),
            uses=(),
            says="The evidence is placed in the load. Present: {present}.",
        ),
    ),
    collect={"thin": "any input at all", "inputs": "any input at all"},
    means="A verdict from thin input would be a guess.",
    remedy="{how}",
    not_a_remedy="More files of the same kind of snapshot do not help.",
)
