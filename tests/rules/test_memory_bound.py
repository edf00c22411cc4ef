"""utilization.memory rules memory out only where the same files show its full scale."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.rules.memory_bound import RULE

from .small_store import Rows, config, samples, served, store_of, verdict

# 8 GB dense at 1000 GB/s, up to 0.54 GB of it token embedding: 90 tok/s are 0.67 to 0.72 of the roof, 20 tok/s 0.16
MODEL = [
    {
        "source_id": 9,
        "section": 0,
        "params_total_b": 16.0,
        "bits_per_weight": 4.0,
        "file_bytes": 8e9,
        "experts": 0.0,
        "layers": 40.0,
        "hidden": 4096.0,
        "kv_bytes_per_token": 1e5,
    }
]


def judged(
    full: float | None, low: float, on_cards: bool = True, roof: float = 90.0, cards: int = 1, split: str | None = None, **also: Any
) -> Any:
    """A load of one stream at the roof (bound c=1) and one of unknown batch (c=4), each with its own reading."""
    given: Rows = [{"source_id": 8, "line": 1, "key": "gpu.mem_bw_gb_s", "value": "1000", "num": 1000.0}]
    more = {"layers_offloaded": 33 if on_cards else 20, "layers_total": 33, **({"split": split} if split else {}), **also}
    requests = [{**r, "decode_ms": 99 / roof * 1000, "prompt_tokens": 50.0} for r in served([(1000.0, 1010.0)], source_id=0)]
    read: Rows = []
    for source, value in ((1, full), (2, low)):
        if value is not None:
            read += samples(30, cards, source_id=source, start=1000.0 * source, util_gpu=99.0, util_mem=value)
    return verdict(
        RULE,
        store_of(
            during={0: "c=1", 1: "c=1", 2: "c=4"},
            models=MODEL,
            given=given,
            requests=requests,
            gpu_samples=read,
            server_config=config(source_id=5, server="llama.cpp", **more),
        ),
        "c=4",
    ).verdict


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ({"full": 80.0, "low": 15.0}, "ruled-out"),
        ({"full": None, "low": 15.0}, "cannot-tell"),
        # a product that reads 8 % at the roof
        ({"full": 8.0, "low": 7.0}, "cannot-tell"),
        ({"full": 80.0, "low": 35.0}, "cannot-tell"),
        ({"full": 80.0, "low": 15.0, "roof": 20.0}, "cannot-tell"),
        ({"full": 80.0, "low": 15.0, "on_cards": False}, "cannot-tell"),
        # `ollama ps` says that a part is on the CPU
        ({"full": 80.0, "low": 15.0, "memory_on_cpu_share": 0.48}, "cannot-tell"),
        # three cards in turn, each at a third of the time
        ({"full": 26.0, "low": 20.0, "cards": 3, "split": "layer"}, "cannot-tell"),
    ],
)
def test_the_reading_of_the_memory(case: dict[str, Any], expected: str) -> None:
    assert judged(**case) == expected
