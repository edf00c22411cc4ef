"""Ollama's /api/ps: shares, models being loaded, what stays out."""

from __future__ import annotations

import json
from functools import partial

import pytest
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.ollama_api_ps import PARSER
from open_ended import document_tests, read

facts = partial(read, PARSER)


def test_samples() -> None:
    check_samples(PARSER)


test_samples_are_claimed_and_blocks_do_not_matter, test_a_cut_invents_nothing, test_a_garbled_byte_raises_nothing = document_tests(PARSER)


@pytest.mark.parametrize(
    ("size", "vram", "share"), [(4, 1, 0.75), (4, 4, 0.0), (4, 0, 1.0), (0, 0, None), (4, 5, None), (4, None, None), ("4", 1, None)]
)
def test_shares(size: object, vram: object, share: float | None) -> None:
    text = json.dumps({"models": [{"name": "a", "digest": "b", "size": size, "size_vram": vram}]})
    got = {r["key"]: r["num"] for r in facts(text)[0].get("server_config", [])}
    assert got.get("memory_on_cpu_share") == share


def test_names_stay_out() -> None:
    text = json.dumps(
        {
            "models": [
                {
                    "name": "CANARY",
                    "model": "CANARY",
                    "digest": "CANARY",
                    "details": {"quantization_level": "CANARY x"},
                    "size": 9,
                    "size_vram": 3,
                }
            ]
        }
    )
    assert "CANARY" not in repr(facts(text))


def test_a_list_of_models_on_disk_is_not_this() -> None:
    assert PARSER.claims(Source.from_text('{"models": [{"name": "a", "size": 5, "digest": "b"}]}').head()) is None
