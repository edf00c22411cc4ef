"""How many streams a result is of, where only its name tells: `c8/bench.txt`, `bench_c16.txt`, eight responses in `c8/`.

A sweep is often one folder or file per step, and the tool that wrote it (or the loop of curl) printed no concurrency. A name counts only
beside others of the same kind with other numbers, and only where the result does not contradict it: as many requests in flight in the
mean (Little) as the name says, at least as many responses as streams. What a file itself tells is never replaced.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from .source import Source
from .store import Store

_STREAMS = re.compile(r"(?i)(?:^|[/!_.-])(?:c|conc|concurrency|concurrent|streams?|users?|clients?)[-_=]?(\d{1,5})(?=$|[/!_.-])")
KIND = "streams-from-name"
NOTE = "the number of streams is that of the file's or folder's name"
MOST, LEAST = 1.1, 0.5  # requests in flight over the streams of the name: rounding of rates, and the tail of a short run


def streams_of(name: str) -> int | None:
    """`c8/bench.txt` -> 8; None where nothing, zero or more than one number is named."""
    found = {int(n) for n in _STREAMS.findall(name)}
    return found.pop() or None if len(found) == 1 else None


def tell_streams(store: Store, sources: Sequence[Source]) -> None:
    """Give steps without a concurrency that of their name, and bind saved responses to the step of theirs."""
    rows = [(s.source_id, n) for s in sources if (n := streams_of(s.name))]
    if len({n for _, n in rows}) < 2:
        return
    store.con.execute("CREATE TEMP TABLE named_streams (source_id INTEGER, streams DOUBLE)")
    store.con.executemany("INSERT INTO named_streams VALUES (?, ?)", rows)
    _told(store, store.con.execute(_STEPS).fetchall(), "UPDATE raw.bench_steps SET concurrency = $streams WHERE source_id = $source_id")
    bind = "INSERT INTO main.bindings VALUES ($source_id, printf('c=%g', $streams))"
    _told(store, store.con.execute(_RESPONSES).fetchall(), bind)
    store.con.execute("DROP TABLE named_streams")


def _told(store: Store, found: Sequence[tuple[int, float]], sql: str) -> None:
    if len({streams for _, streams in found}) < 2:
        return
    for source_id, streams in found:
        store.con.execute(sql, {"source_id": source_id, "streams": streams})
        frame = pl.DataFrame({"kind": [KIND], "n": [1], "note": [NOTE]}, schema={"kind": pl.String, "n": pl.Int64, "note": pl.String})
        store.insert("quality", frame, source_id)


_STEPS = f"""
SELECT source_id, any_value(streams) FROM raw.bench_steps JOIN named_streams USING (source_id)
GROUP BY source_id
HAVING count(*) = 1 AND count(concurrency) = 0 AND count(rate_rps) = 0
    AND coalesce(max(coalesce(req_s, completed / wall_s) * coalesce(e2e_mean_ms, ttft_mean_ms + tpot_mean_ms * (output_len - 1)) / 1000 / streams) BETWEEN {LEAST} AND {MOST}, TRUE)
"""

_RESPONSES = """
WITH responses AS (
    SELECT r.source_id, any_value(n.streams) AS streams, count(*) AS n FROM raw.requests r JOIN named_streams n USING (source_id)
    WHERE r.source_id NOT IN (SELECT source_id FROM main.bindings)
    GROUP BY r.source_id HAVING bool_and(r.origin = 'file')
)
SELECT source_id, streams FROM responses QUALIFY sum(n) OVER (PARTITION BY streams) >= streams
"""
