"""Which step of a sweep a file is from, where its folder or file name says so: `c4/server.log` beside `c8/server.log`, `bench_conc16.json`.

A name is a hint of the one who kept the files: it counts where names tell two steps apart, and where no log of that step shows more requests
at a time than the name says (views/step_names.sql). What `[during]` states goes before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .source import Source
from .store import Store

# -np is a number of slots, a batch is no number of streams, and n, b or p may be anything.
_STEP = re.compile(
    r"(?i)(?:^|[/!_.\s-])((?:max[-_]?)?conc(?:urren(?:cy|t))?|c|streams?|clients?|users?|parallel)[-_=]?(\d{1,4})(?=$|[/!_.\s-])"
)

KIND = "streams-from-name"
NOTE = "the number of streams is that of the file's or folder's name"
MOST, LEAST = 1.1, 0.5  # requests in flight over the streams of the name: rounding of rates, and the tail of a short run


def steps_of(names: Iterable[str]) -> dict[str, int]:
    """Name -> streams, for the names that tell steps apart: the same word with two different numbers, none of them 0 (`c0` is a card)."""
    said = {name: {(word.lower().rstrip("s"), int(number)) for word, number in _STEP.findall(name)} for name in names}
    numbers: dict[str, set[int]] = {}
    for pairs in said.values():
        for word, number in pairs:
            numbers.setdefault(word, set()).add(number)
    telling = {word for word, found in numbers.items() if len(found) > 1 and 0 not in found}
    streams = {name: {number for word, number in pairs if word in telling} for name, pairs in said.items()}
    return {name: found.pop() for name, found in streams.items() if len(found) == 1}


def tell_steps(store: Store, sources: Sequence[Source]) -> None:
    """Fill main.named_steps, for sources that nobody has bound to anything, and the concurrency of results that print none."""
    named = steps_of(s.name for s in sources)
    rows = [(s.source_id, float(named[s.name]), f"c={named[s.name]}") for s in sources if s.name in named]
    if not rows:
        return
    store.con.executemany("INSERT INTO main.named_steps SELECT $1, $2, $3 WHERE $1 NOT IN (SELECT source_id FROM main.bindings)", rows)
    store.con.execute(_TOO_FEW)
    results = store.con.execute(_RESULTS).fetchall()
    if len({streams for _, streams in results}) < 2:
        return
    for source_id, streams in results:
        store.con.execute("UPDATE raw.bench_steps SET concurrency = ? WHERE source_id = ?", [streams, source_id])
        store.con.execute("INSERT INTO raw.quality (source_id, kind, n, note) VALUES (?, ?, 1, ?)", [source_id, KIND, NOTE])


# Saved responses of a step are at least as many as its streams.
_TOO_FEW = """
DELETE FROM main.named_steps WHERE label IN (
    SELECT n.label FROM raw.requests r JOIN main.named_steps n USING (source_id)
    GROUP BY n.label HAVING bool_and(r.origin = 'file') AND count(*) < any_value(n.concurrency)
)
"""

# Results of one step each that print neither streams nor a rate. As many requests are in flight in the mean (Little) as the name says.
_RESULTS = f"""
SELECT source_id, any_value(n.concurrency) FROM raw.bench_steps b JOIN main.named_steps n USING (source_id)
GROUP BY source_id
HAVING count(*) = 1 AND count(b.concurrency) = 0 AND count(rate_rps) = 0
    AND coalesce(max(coalesce(req_s, completed / wall_s) * coalesce(e2e_mean_ms, ttft_mean_ms + tpot_mean_ms * (output_len - 1)) / 1000 / n.concurrency) BETWEEN {LEAST} AND {MOST}, TRUE)
"""
