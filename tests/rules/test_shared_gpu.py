"""Other processes on the cards."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.result import Finding
from gpuverdict.rules.shared_gpu import RULE

from .small_store import Rows, config, findings, lines, samples, served, store_of

SERVER = {"pid": 100, "name": "vllm", "kind": "C", "util_gpu": 80.0, "mem_used": 60_000.0}


def processes(rounds: int, *others: dict[str, Any]) -> Rows:
    """Rounds of the server's process and others on card 0."""
    return [
        {"source_id": 2, "line": 10 * r + i, "gpu": 0, "cycle": r, "time": 1000.0 + r, **p}
        for r in range(rounds)
        for i, p in enumerate([SERVER, *others])
    ]


def judged(rows: Rows, bind: bool = True) -> Finding:
    during = {1: "c=1", 2: "c=1"} if bind else None
    return findings(RULE, store_of(during=during, gpu_samples=samples(30, 1, util_gpu=90.0), gpu_processes=rows))[
        "c=1" if bind else "trace"
    ]


def test_another_job_on_the_card_is_confirmed() -> None:
    found = judged(processes(10, {"pid": 7, "name": "python", "kind": "C", "util_gpu": 20.0, "mem_used": 4000.0}))
    assert found.verdict == "confirmed"
    assert found.numbers["stranger_rounds"] == 10
    assert found.numbers["other_util"] == 20
    assert found.evidence


def test_memory_alone_counts_from_512_mib() -> None:
    quiet = {"pid": 7, "name": "python", "kind": "C", "util_gpu": None}
    assert judged(processes(10, quiet | {"mem_used": 4000.0})).verdict == "confirmed"
    assert judged(processes(10, quiet | {"mem_used": 300.0})).verdict == "cannot-tell", "a context that does nothing"


def test_graphics_and_the_server_alone_are_silent() -> None:
    assert judged(processes(10)).verdict == "cannot-tell"
    assert judged(processes(10, {"pid": 7, "name": "Xorg", "kind": "G", "util_gpu": 3.0, "mem_used": 900.0})).verdict == "cannot-tell"


def test_a_second_process_of_the_same_name_only_fits() -> None:
    found = judged(processes(10, SERVER | {"pid": 101, "mem_used": 5000.0}))
    assert found.verdict == "fits"
    assert "same server" in found.rivals_open[0].name


def test_one_round_only_fits() -> None:
    other = {"pid": 7, "name": "python", "kind": "C", "util_gpu": 20.0, "mem_used": 4000.0}
    assert judged(processes(1, other)).verdict == "fits"


def test_processes_that_nothing_ties_to_load_only_fit() -> None:
    other = {"pid": 7, "name": "python", "kind": "C", "util_gpu": 20.0, "mem_used": 4000.0}
    assert judged(processes(10, other), bind=False).verdict == "fits"


@pytest.mark.parametrize(("util", "expected"), [(40.0, "fits"), (0.0, "cannot-tell")])
def test_kernels_while_nothing_is_in_flight_fit(util: float, expected: str) -> None:
    read = samples(100, 1, util_gpu=lambda s, g: util if s < 50 else 95.0)
    started = config(server="llama.cpp", slots=4)  # a log that shows the server's start says that nothing was served before
    store = store_of(gpu_samples=read, requests=served([(1060.0, 1099.0)]), server_config=started)
    (found,) = [f for f in findings(RULE, store).values() if f.scope.kind == "regime"]
    assert found.verdict == expected


def test_a_list_alone_that_no_window_holds_still_fits() -> None:
    """pmon beside a server's log, no samples of the cards, clocks that nothing ties."""
    lists = processes(10, {"pid": 7, "name": "python", "kind": "C", "util_gpu": 20.0})
    found = findings(
        RULE, store_of(zone={2: "none"}, gpu_processes=[{k: v for k, v in p.items() if k not in ("time", "mem_used")} for p in lists],
        requests=served([(1000.0, 1040.0)]))
    )  # fmt: skip
    assert found["trace"].verdict == "fits"
    assert "80 % of the time in its kernels" not in found["trace"].sentence and "unknown" not in found["trace"].sentence
    alone = store_of(zone={2: "none"}, gpu_processes=processes(10), requests=served([(1000.0, 1040.0)]))
    assert "trace" not in findings(RULE, alone)


def test_a_list_alone_in_the_load_confirms() -> None:
    other = {"pid": 7, "name": "python", "kind": "C", "util_gpu": 20.0, "mem_used": 4000.0}
    store = store_of(gpu_processes=[{**p, "time": p["time"] + 10} for p in processes(10, other)], requests=served([(1000.0, 1040.0)]))
    assert findings(RULE, store)["1 running"].verdict == "confirmed"


def test_a_server_that_falls_silent_with_requests_and_no_tokens_is_not_idle() -> None:
    working = samples(600, 1, util_gpu=100.0)
    for tokens, expected in ((0.0, "cannot-tell"), (90.0, "fits")):
        said = lines(11, running=8.0, waiting=0.0, prompt_tok_s=0.0, gen_tok_s=lambda i, last=tokens: 90.0 if i < 10 else last)
        store = store_of(gpu_samples=working, server_samples=said, server_config=config(split="none"))
        assert findings(RULE, store)["8-15 running"].verdict == expected
