"""Does another process use the cards?

What it finds
    A second compute process on a card that serves: another model, a training job, a desktop application, a forgotten server.

Why it matters
    Utilisation, power and memory of the card are then not the server's. Sums over cards, idle power and every share of a roof are
    void until the other process is gone.

How it decides
    Confirmed: in three rounds of process samples or more, taken during the load, a card has two compute processes with different
    names and the smaller one runs kernels, or holds 512 MiB or more. The process with the most memory (or, where none is printed, the
    most kernels) is taken for the server. Graphics-only processes do not count, and neither does a process of a few hundred MiB that
    runs nothing: every rank of a server opens a small context on other cards. Two processes of one name only fit: one server with
    several models or workers does that. Kernels on a card while the server has nothing in flight fit too: a server with several ranks
    can spin while it waits.

Known problems
    Inside a container the list of processes is empty or partial, so silence proves nothing and this rule never rules out. Under
    Windows the memory of a process is not printed.
"""

from ..engine.rule import STATE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH per_pid AS (
    SELECT scope_id, source_id, host, gpu, cycle, pid, min(name) AS name, max(util_gpu) AS util, max(mem_used) AS mib,
        min(line) AS line, min(in_load) AS in_load
    FROM main.processes_in_scope GROUP BY scope_id, source_id, host, gpu, cycle, pid
), ranked AS (
    SELECT
        *, row_number() OVER w AS rank, first_value(name) OVER w AS main_name
    FROM per_pid WINDOW w AS (PARTITION BY scope_id, source_id, host, gpu, cycle ORDER BY mib DESC NULLS LAST, util DESC NULLS LAST, pid)
), others AS (
    SELECT *, (name IS DISTINCT FROM main_name AND name IS NOT NULL AND main_name IS NOT NULL) AS stranger,
        util > 0 OR mib >= 512 AS active FROM ranked WHERE rank > 1
), found AS (
    SELECT
        scope_id, gpu,
        count(DISTINCT (source_id, cycle)) FILTER (stranger AND active AND in_load = 1) AS stranger_rounds,
        count(DISTINCT (source_id, cycle)) FILTER (active) AS other_rounds,
        max(util) FILTER (active) AS other_util, max(mib) FILTER (active) AS other_mib, count(DISTINCT pid) FILTER (active) AS other_pids,
        min({'source_id': source_id, 'line': line}, 3) FILTER (active) AS ev
    FROM others GROUP BY scope_id, host, gpu
), worst AS (
    SELECT * FROM found QUALIFY row_number() OVER (PARTITION BY scope_id ORDER BY stranger_rounds DESC, other_rounds DESC, gpu) = 1
), seen AS (
    SELECT scope_id, count(DISTINCT (source_id, cycle)) AS process_rounds FROM main.processes_in_scope GROUP BY scope_id
), outside AS (
    SELECT max(util) AS idle_util, max(n) AS idle_samples, min(ev) AS ev FROM (
        SELECT
            host, gpu, quantile_cont(util_gpu, 0.5) AS util, count(*) AS n,
                min({'source_id': source_id, 'line': line}, 2) FILTER (util_gpu > 0) AS ev
        FROM main.samples_outside_load WHERE util_gpu IS NOT NULL GROUP BY host, gpu HAVING count(*) >= 10
    )
)
SELECT
    sc.scope_id, coalesce(s.process_rounds, 0) AS process_rounds,
    CASE WHEN s.process_rounds > 0 THEN coalesce(w.stranger_rounds, 0) END AS stranger_rounds, w.ev AS stranger_rounds_ev,
    CASE WHEN s.process_rounds > 0 THEN coalesce(w.other_rounds, 0) END AS other_rounds, w.ev AS other_rounds_ev,
    w.gpu AS other_gpu, w.other_util, w.other_mib, w.other_pids,
    -- some tools print no memory of a process, some no kernels
    coalesce(nullif(concat_ws(' and ', printf('%g %% of the time in its kernels', w.other_util), printf('%.0f MiB', w.other_mib)), ''), 'nothing printed about it') AS other_text,
    o.idle_util, o.idle_samples, o.ev AS idle_util_ev
FROM main.scopes sc LEFT JOIN seen s USING (scope_id) LEFT JOIN worst w USING (scope_id) CROSS JOIN outside o
"""

_PMON = "nvidia-smi pmon -s um -d 1 -o DT > pmon.txt   (on the host, outside containers, while the load runs)"

RULE = Rule(
    id="shared-gpu",
    claim=STATE,
    about="another process on the cards",
    question="Does another process use the cards?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "rounds": Limit(3, "rounds", "a process that comes and goes within two rounds takes nothing that counts"),
        "working": Limit(5, "%", "stray kernels of a health check or a desktop stay below"),
        "idle_n": Limit(10, "samples", "fewer do not show an idle card"),
    },
    confirmed=(
        Route(
            "a second compute process of another name is on a card during the load",
            when=("stranger_rounds >= rounds",),
            uses=("util",),
            says="Another process uses the cards. GPU {other_gpu:int} has one beside the server in {stranger_rounds:int} of "
            "{process_rounds:int} rounds, at most with {other_text}.",
        ),
    ),
    fits=(
        Route(
            "a second compute process is on a card",
            when=("other_rounds >= 1",),
            uses=("util",),
            rivals=("same_server",),
            says=(
                "There is a second compute process. GPU {other_gpu:int}, in {other_rounds:int} of {process_rounds:int} rounds, "
                "at most with {other_text}."
            ),
        ),
        Route(
            "kernels run on a card while the server has nothing in flight",
            when=("idle_util >= working", "idle_samples >= idle_n"),
            uses=("util", "server"),
            rivals=("spin",),
            says=(
                "A card works while nothing is in flight. {idle_util:%} of the time in the median of {idle_samples:int} samples "
                "outside the load."
            ),
        ),
    ),
    rivals={
        "same_server": Rival(
            "a second worker or model of the same server, or one that was there outside the load only",
            closed=("stranger_rounds >= rounds",),
            settle="the command lines of both processes (ps), and pmon through the load",
        ),
        "spin": Rival(
            "the server itself: ranks that spin while they wait, a warm-up, requests of a log that is not here",
            closed=("stranger_rounds >= rounds",),
            settle=_PMON,
        ),
    },
    collect={
        "stranger_rounds": _PMON,
        "other_rounds": _PMON,
        "idle_util": "samples of the cards before and after the load, with the server's log",
        "idle_samples": "thirty seconds of samples before the load",
    },
    means="Utilisation, power and memory of a shared card are not the server's.",
    remedy="Stop the other process, or serve on cards of its own (CUDA_VISIBLE_DEVICES), and record again.",
    not_a_remedy="Tuning the server does not help against somebody else's kernels.",
    next=(Experiment("watch the processes during the load", _PMON, "one compute process per card: it is the server's alone", cost=1),),
)
