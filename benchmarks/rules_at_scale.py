"""Time of the views and of every rule at 100 000 requests and 5 million GPU samples: `python benchmarks/rules_at_scale.py [share]`.

The rows are made in SQL, so that only joining and judging is measured. `share` scales both numbers (default 1). Times are relative to
one pass over the samples (a count and a mean per card) in the same run, since machines differ.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

REQUESTS, SAMPLES, CARDS = 100_000, 5_000_000, 8


def fill(store: object, share: float) -> None:
    """A day of a server with eight cards and four slots: requests of 8 s, a pause after every 50, a sample of every card per 0.1 s."""
    con = store.con  # type: ignore[attr-defined]
    n, rounds = int(REQUESTS * share), int(SAMPLES * share / CARDS)
    step = n * 2.5 / rounds
    con.execute("INSERT INTO raw.sources (source_id, name, status) VALUES (0, 'server.log', 'read'), (1, 'smi.csv', 'read')")
    con.execute("INSERT INTO raw.clocks (source_id, kind, resolution_s) VALUES (0, 'utc', 0.001), (1, 'utc', 0.001)")
    con.execute(
        "INSERT INTO raw.requests (source_id, line, origin, server, run, slot, started_at, finished_at, prompt_ms, decode_ms, output_tokens, decode_steps, prompt_tokens, status) "
        f"SELECT 0, i, 'server', 'llama.cpp', 0, i % 4, (i // 4) * 9.0 + (i // 200) * 20, (i // 4) * 9.0 + (i // 200) * 20 + 8, 300, 7700, 200, 199, 60, 'ok' FROM range({n}) t(i)"
    )
    con.execute(
        "INSERT INTO raw.gpu_samples (source_id, line, gpu, cycle, time, util_gpu, util_mem, power_w, power_limit_w, sm_clock, mem_clock, mem_used, mem_total) "
        f"SELECT 1, r * {CARDS} + g, g, r, r * {step}, 12 + (r + g) % 3, 20, 150 + r % 7, 300, 1400, 2600, 20000, 40000 FROM range({rounds}) t(r), range({CARDS}) c(g)"
    )
    con.execute(
        "INSERT INTO raw.server_config (source_id, line, server, run, key, value, num, origin) VALUES (0, 1, 'llama.cpp', 0, 'slots', '4', 4, 'logged')"
    )
    con.execute(
        "INSERT INTO raw.server_config (source_id, line, server, run, key, value, origin) VALUES (0, 2, 'llama.cpp', 0, 'split', 'layer', 'logged')"
    )


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main(share: float) -> None:
    from gpuverdict.engine import catalog, clock, join, steps
    from gpuverdict.engine.judge import judge
    from gpuverdict.engine.plugins import load_registry
    from gpuverdict.engine.store import Store

    store = Store()
    catalog.load(store.con)
    fill(store, share)
    one_pass = timed(lambda: store.rows_of("SELECT gpu, count(*), avg(util_gpu) FROM raw.gpu_samples GROUP BY gpu"))
    print(f"one pass over the samples: {one_pass:.3f} s")
    print(f"clocks: {timed(lambda: clock.align(store, {}, {}, None)) / one_pass:8.1f} passes")
    join.join(store, ("bench_series",))
    steps.match_steps(store)
    for view in join.VIEWS:
        if view.name != "bench_series":
            seconds = timed(lambda name=view.name: join.join(store, (name,)))  # type: ignore[misc]
            if seconds > one_pass:
                print(f"view {view.name:<24} {seconds / one_pass:8.1f} passes {seconds:8.2f} s")
    _, seconds_per_rule = judge(store, load_registry().rules)
    for rule, seconds in seconds_per_rule.items():
        print(f"rule {rule:<24} {seconds / one_pass:8.1f} passes {seconds:8.2f} s{'   over its budget' if seconds > 2 else ''}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
