"""Arguments of TGI over several lines: values on lines of their own, runs, wrappers, cuts."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of, wrapped
from gpuverdict.parsers.tgi_args import PARSER
from open_ended import line_tests

FULL, SHORT = (s.text for s in PARSER.samples)


def config(text: str) -> dict[str, Any]:
    return {r["key"]: r["value"] for r in rows_of(PARSER, text)[0].get("server_config", [])}


def test_samples() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(PARSER.claims(Source.from_text(sample.text).head()), Claim)


(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(
    PARSER, alphabet="Args {Some(\n2,)} :", derived=("line", "kv_tokens", "key")
)  # the budget of the argument, where no line below says more


@pytest.mark.parametrize("prefix", ["tgi-1  | ", "2025-02-01T10:00:00.000000001Z "])
def test_wrappers(prefix: str) -> None:
    assert config(wrapped(FULL, lambda i, line: prefix + line)) == config(FULL)


def test_every_start_is_a_run() -> None:
    rows = rows_of(PARSER, FULL + SHORT)[0]["server_config"]
    assert {r["run"] for r in rows if r["key"] == "tensor_parallel"} == {0} and {r["run"] for r in rows if r["key"] == "slots"} == {1}


def test_a_cut_list_gives_nothing() -> None:
    assert config(FULL[: FULL.index("    hostname")]) == {}


def test_no_text_leaves() -> None:
    assert "secret" not in repr(rows_of(PARSER, FULL)) and "box" not in repr(rows_of(PARSER, FULL))


def test_a_list_quoted_in_a_prompt_is_none() -> None:
    assert config('{"prompt": "' + FULL) == {}
