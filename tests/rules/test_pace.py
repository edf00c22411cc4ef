"""The rate of decode steps from totals: prompts and idle time are in them."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.rules.memory_bound import RULE

from .small_store import Rows, lines, store_of, verdict

# 16 GB dense at 1000 GB/s: 45 tok/s of one stream are 0.7 of the roof, 10 tok/s 0.16
GIVEN: Rows = [
    {"source_id": 9, "line": n, "key": k, "value": str(v), "num": v if isinstance(v, float) else None}
    for n, (k, v) in enumerate(
        {
            "model.name": "Llama-3.1-8B", "model.bits_per_weight": 16.0, "gpu.mem_bw_gb_s": 1000.0, "gpu.count": 1.0, "speculation": "off", "ctx_max": 2048.0,
        }.items(), 1,
    )
]  # fmt: skip


def total(**step: Any) -> str:
    """One step of a sweep with a total, and nothing that says how fast a stream decodes."""
    step = {"concurrency": 1.0, "aggregate_counts": "output", **step}
    return verdict(RULE, store_of(bench_steps=[step], given=GIVEN, zone={0: "none"})).verdict


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"aggregate_tok_s": 10.0, "input_len": 100.0, "output_len": 100.0}, "ruled-out"),
        ({"aggregate_tok_s": 10.0}, "ruled-out"),
        # eighty tokens of prompt to each of the answer: the wall time may be all prompt, and decode at the roof
        ({"aggregate_tok_s": 9.0, "input_len": 8000.0, "output_len": 100.0}, "cannot-tell"),
        ({"aggregate_tok_s": 9.0, "total_tok_s": 729.0}, "cannot-tell"),
        ({"aggregate_tok_s": 45.0}, "confirmed"),
        # a total that does not say what it counts may hold the prompts
        ({"aggregate_tok_s": 45.0, "aggregate_counts": None}, "cannot-tell"),
        ({"aggregate_tok_s": 45.0, "aggregate_counts": None, "input_len": 2000.0, "output_len": 100.0}, "cannot-tell"),
        # the rate of the stream beside it does not
        ({"aggregate_tok_s": 45.0, "aggregate_counts": None, "per_stream_tok_s": 45.5}, "confirmed"),
    ],
)
def test_a_total_of_one_stream(step: dict[str, Any], expected: str) -> None:
    assert total(**step) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"gen_tok_s": 10.0, "prompt_tok_s": 8.0}, "ruled-out"),
        ({"gen_tok_s": 10.0, "prompt_tok_s": 800.0}, "cannot-tell"),
        ({"gen_tok_s": 45.0, "prompt_tok_s": 8.0}, "confirmed"),
        # the server goes idle between any two requests: each line holds idle time
        ({"gen_tok_s": lambda i: 10.0 * (i % 2), "prompt_tok_s": 8.0, "running": lambda i: float(i % 2)}, "cannot-tell"),
        # and here only after a long load
        ({"gen_tok_s": lambda i: 10.0 * (i < 30), "prompt_tok_s": 8.0, "running": lambda i: float(i < 30)}, "ruled-out"),
    ],
)
def test_statistics_lines_of_one_stream(values: dict[str, Any], expected: str) -> None:
    read = lines(40, **{"running": 1.0, "waiting": 0.0, **values})
    assert verdict(RULE, store_of(during={0: "c=1"}, server_samples=read, given=GIVEN), "c=1").verdict == expected
