"""Stated facts against what the files say (engine/contradictions.py); here for the small stores."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.contradictions import note_contradictions

from .small_store import config, store_of


def notes(given: dict[str, Any], **tables: Any) -> list[str]:
    rows = [
        {"source_id": 9, "key": key, "value": str(value), "num": float(value) if isinstance(value, int | float) else None}
        for key, value in given.items()
    ]
    store = store_of(given=rows, zone={9: "none"}, **tables)
    note_contradictions(store)
    return [r["note"] for r in store.rows_of("SELECT note FROM raw.quality WHERE kind = 'given-contradicted' ORDER BY note")]


@pytest.mark.parametrize(
    ("given", "printed", "expected"),
    [
        ({"split": "tensor"}, {"split": "layer"}, ["given: split = tensor, but file0.log:1 says layer: the file counts"]),
        ({"split": "layer"}, {"split": "layer"}, []),
        ({"slots": 8}, {"slots": 4}, ["given: slots = 8, but file0.log:1 says 4: the file counts"]),
        ({"slots": 4}, {"slots": 4}, []),
        ({"streams": 4}, {"slots": 16}, []),
    ],
)
def test_settings(given: dict[str, Any], printed: dict[str, Any], expected: list[str]) -> None:
    assert notes(given, server_config=config(**printed)) == expected


def test_the_default_of_a_build_is_no_contradiction() -> None:
    assert notes({"slots": 8}, server_config=config(origin="default", slots=256)) == []


def test_a_model() -> None:
    printed = [{"layers": 45.0, "bits_per_weight": 3.01}]
    assert notes({"model.layers": 45, "model.bits_per_weight": 3.0}, models=printed) == []
    assert notes({"model.layers": 61}, models=printed) == ["given: model.layers = 61, but file0.log:1 says 45: the file counts"]


def test_more_streams_decode_than_the_stated_slots() -> None:
    step = {"concurrency": 16.0, "per_stream_tok_s": 10.0, "aggregate_tok_s": 150.0, "per_stream_counts": "decode"}
    (note,) = notes({"slots": 8}, bench_steps=[step])
    assert note.startswith("given: slots = 8, but file0.log:1 says 15 streams that decode at a time at c=16")
