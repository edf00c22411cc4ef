"""Imbalance: engines of one server, only where all of them are seen for long enough."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.rules.imbalance import RULE

from .small_store import Rows, config, lines, store_of, verdict

FULL: dict[str, Any] = {"running": 32.0, "waiting": 12.0, "kv_usage": 0.4, "gen_tok_s": 800.0}
ROOMY: dict[str, Any] = {**FULL, "running": 6.0, "waiting": 0.0}


def told(*engines: dict[str, Any], n: int = 12, settings: dict[str, Any] | None = None) -> Any:
    rows: Rows = []
    for number, values in enumerate(engines):
        values = dict(values)
        count = values.pop("n", n)
        rows += [{**row, "line": 100 * number + row["line"], "engine": number} for row in lines(count, server="vllm", **values)]
    return store_of(server_samples=rows, server_config=config(**{"server": "vllm", "data_parallel": len(engines), **(settings or {})}))


def found(store: Any) -> Any:
    return verdict(RULE, store, next(r["label"] for r in store.rows_of("SELECT label FROM main.scopes ORDER BY scope_id DESC")))


@pytest.mark.parametrize(
    ("engines", "expected"),
    [
        ([FULL, ROOMY], "confirmed"),
        ([ROOMY, ROOMY, FULL, ROOMY], "confirmed"),
        ([FULL, FULL], "ruled-out"),
        ([ROOMY, {**ROOMY, "running": 7.0}], "ruled-out"),
        # others wait too: the server is full, if not evenly
        ([FULL, {**ROOMY, "waiting": 2.0}], "fits"),
        # nobody waits: no harm is seen
        ([{**FULL, "waiting": 0.0}, ROOMY], "fits"),
        # one request too many now and then
        ([{**FULL, "waiting": lambda i: 12.0 if i % 4 == 0 else 0.0}, ROOMY], "fits"),
        # what eight engines with three requests must look like
        ([{**ROOMY, "running": 1.0}] * 3 + [{**ROOMY, "running": 0.0}] * 5, "cannot-tell"),
        # in between: neither even nor far apart
        ([{**FULL, "running": 20.0, "waiting": 0.0}, {**ROOMY, "running": 12.0}], "cannot-tell"),
    ],
)
def test_engines_of_one_server(engines: list[dict[str, Any]], expected: str) -> None:
    finding = found(told(*engines))
    assert finding.verdict == expected, (finding.because, finding.sentence)


def test_the_sentence_gives_the_numbers() -> None:
    sentence = found(told(FULL, ROOMY)).sentence
    assert "Engine 0 holds 44 requests in the mean, the others 6 each" in sentence and "100 % of its lines" in sentence


@pytest.mark.parametrize(
    ("engines", "expected"),
    [
        ([{**FULL, "n": 4}, {**ROOMY, "n": 4}], "cannot-tell"),
        # the other engine was seen at the beginning only
        ([{**FULL, "n": 40}, {**ROOMY, "n": 6}], "fits"),
        ([FULL, {**FULL, "n": 6}], "cannot-tell"),
    ],
)
def test_an_engine_that_is_hardly_seen(engines: list[dict[str, Any]], expected: str) -> None:
    assert found(told(*engines)).verdict == expected


def test_all_engines_of_the_setting_must_be_seen() -> None:
    assert found(told(FULL, FULL, settings={"data_parallel": 4})).verdict == "cannot-tell"
    assert found(told(FULL, FULL, settings={"data_parallel": None})).verdict == "cannot-tell"
    assert found(told(FULL, ROOMY, settings={"data_parallel": 4})).verdict == "confirmed"


def test_a_server_of_one_engine_is_not_asked() -> None:
    one = store_of(server_samples=lines(12, server="vllm", **FULL), server_config=config(server="vllm", data_parallel=1))
    assert found(one).verdict == "not-applicable"
    llama = store_of(server_samples=lines(12, server="llama.cpp", **FULL))
    assert found(llama).verdict == "not-applicable"
    unknown = store_of(server_samples=lines(12, server="vllm", **FULL))
    assert found(unknown).verdict == "cannot-tell"
    assert "Engine 000" in found(unknown).missing[0].collect


def test_two_servers_are_not_engines_of_one() -> None:
    rows = [{**r, "source_id": s, "engine": 0} for s, v in enumerate((FULL, ROOMY)) for r in lines(12, server="vllm", **v)]
    assert found(store_of(server_samples=rows)).verdict == "cannot-tell"


def test_lines_of_prefill_say_nothing_of_who_runs() -> None:
    rows: Rows = []
    for number, values in enumerate((ROOMY, ROOMY)):
        decode = lines(12, server="sglang", phase="decode", **values)
        prefill = lines(12, server="sglang", phase="prefill", **{**FULL, "running": 90.0 * (1 - number)})
        rows += [
            {**r, "line": 1000 * number + 100 * k + r["line"], "engine": number} for k, part in enumerate((decode, prefill)) for r in part
        ]
    assert found(store_of(server_samples=rows, server_config=config(server="sglang", data_parallel=2))).verdict == "ruled-out"
