"""Whose word on the model counts in a scope: its own server's, files of no server, and the lost beginning of the same log."""

from __future__ import annotations

from typing import Any

from gpuverdict.engine.store import Store

from .small_store import Rows, config, lines, served, store_of

SIZED: dict[str, Any] = {"section": 0, "params_total_b": 8.0, "file_bytes": 5e9, "layers": 32.0}


def sizes(store: Store) -> dict[str, float | None]:
    """Label of the scope -> parameters of its model."""
    rows = store.rows_of("SELECT label, total_b FROM main.model_facts JOIN main.scopes USING (scope_id)")
    return {r["label"]: r["total_b"] for r in rows}


def two_servers(models: Rows, booted: bool = True, second: str = "llama.cpp") -> Store:
    """Source 0 runs one request at a time, source 1 of the family `second` three; each log shows its start, unless the second is torn."""
    started = config(source_id=0, split="none") + (config(source_id=1, split="none") if booted else [])
    other = served([(2000.0, 2100.0), (2001.0, 2099.0), (2002.0, 2098.0)], source_id=1) if second == "llama.cpp" else []
    statistics = lines(10, start=2000.0, source_id=1, server=second, running=3.0, gen_tok_s=90.0) if second != "llama.cpp" else []
    for row in started:
        row["line"], row["server"] = 1, "llama.cpp" if row["source_id"] == 0 else second
    return store_of(
        requests=served([(1000.0, 1010.0)]) + other, server_samples=statistics, server_config=started, models=models,
        zone={0: "utc", 1: "utc"},
    )  # fmt: skip


def test_another_servers_model_is_not_this_ones() -> None:
    assert sizes(two_servers([{**SIZED, "source_id": 0, "line": 1}])) == {"1 running": 8.0, "2-3 running": None}


def test_a_server_with_a_model_of_unknown_size_takes_nobody_elses() -> None:
    models = [{**SIZED, "source_id": 0, "line": 1}, {"source_id": 1, "line": 1, "section": 0, "name": "somebody's"}]
    for booted in (True, False):
        assert sizes(two_servers(models, booted, second="vllm")) == {"1 running": 8.0, "2-3 running": None}


def test_two_servers_have_a_model_each() -> None:
    models = [{**SIZED, "source_id": 0, "line": 1}, {**SIZED, "source_id": 1, "line": 1, "params_total_b": 70.0}]
    assert sizes(two_servers(models)) == {"1 running": 8.0, "2-3 running": 70.0}


def test_a_piece_of_a_log_takes_the_model_of_its_lost_beginning() -> None:
    model = [{**SIZED, "source_id": 0, "line": 1}]
    assert sizes(two_servers(model, booted=False)) == {"1 running": 8.0, "2-3 running": 8.0}
    assert sizes(two_servers(model, booted=False, second="vllm")) == {"1 running": 8.0, "2-3 running": None}


def test_files_of_no_server_count_for_all() -> None:
    assert set(sizes(two_servers([{**SIZED, "source_id": 7, "line": 1}])).values()) == {8.0}
