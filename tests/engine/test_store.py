"""Only declared columns get in; what is not a number is NULL; private classes are replaced before they are stored."""

from __future__ import annotations

import polars as pl
import pytest
from gpuverdict.engine.store import Store
from gpuverdict.engine.tables import PRIVACY, TABLES, ddl


def test_undeclared_columns_and_tables_are_refused_by_name() -> None:
    store = Store()
    with pytest.raises(ValueError, match="gpu_samples has no column prompt"):
        store.insert("gpu_samples", pl.DataFrame({"prompt": ["x"]}), 0)
    with pytest.raises(KeyError, match="no table 'gpu_sample'"):
        store.insert("gpu_sample", pl.DataFrame({"line": [1]}), 0)


def test_infinity_nan_and_wrong_types_become_null() -> None:
    store = Store()
    store.insert("gpu_samples", pl.DataFrame({"line": [1, 2, 3], "util_gpu": [float("nan"), float("inf"), 5.0], "gpu": ["x", "1", "2"]}), 0)
    assert store.con.execute("SELECT gpu, util_gpu FROM raw.gpu_samples ORDER BY line").fetchall() == [(None, None), (1, None), (2, 5.0)]


def test_missing_columns_are_null_and_all_null_columns_are_fine() -> None:
    store = Store()
    store.insert("requests", pl.DataFrame({"line": [1], "slot": [None], "decode_ms": [2]}), 4)
    assert store.con.execute("SELECT source_id, slot, decode_ms, prompt_ms FROM raw.requests").fetchall() == [(4, None, 2.0, None)]


def test_private_classes_are_pseudonyms_that_still_join() -> None:
    store = Store()
    store.insert(
        "gpus", pl.DataFrame({"uuid": ["GPU-aa", "GPU-bb", "GPU-aa"], "host": ["boxa", "boxa", None], "name": ["NVIDIA H100"] * 3}), 0
    )
    rows = store.con.execute("SELECT uuid, host, name FROM raw.gpus").fetchall()
    assert rows == [("uuid-1", "host-1", "NVIDIA H100"), ("uuid-2", "host-1", "NVIDIA H100"), ("uuid-1", None, "NVIDIA H100")]


def test_model_names_stay_only_if_the_catalogue_has_them() -> None:
    store = Store()
    store.insert("models", pl.DataFrame({"name": ["acme-secret-13b", "org/Llama-3.1-8B-Instruct-GGUF"]}), 0)
    assert store.con.execute("SELECT name FROM raw.models").fetchall() == [("model-1",), ("Llama-3.1-8B",)]


def test_every_declaration_is_complete_and_builds_unquoted() -> None:
    import duckdb

    con = duckdb.connect()
    con.execute("CREATE SCHEMA raw")
    for table in TABLES:
        con.execute(ddl("raw", table))
        assert table.doc.endswith(".")
        assert len(set(table.names)) == len(table.names)
        for column in table.columns:
            con.execute(f"SELECT {column.name} FROM raw.{table.name}")
            assert column.doc.endswith(".") and column.privacy in PRIVACY


def test_views_build_unquoted_on_an_empty_trace_and_are_documented() -> None:
    from gpuverdict.engine import catalog, clock, join, steps
    from gpuverdict.engine.tables import VIEWS

    store = Store()
    catalog.load(store.con)
    store.con.execute("CREATE TABLE main.bindings (source_id INTEGER, label VARCHAR)")
    clock.align(store, {}, {}, None)
    join.join(store, ("bench_series",))
    steps.match_steps(store)
    join.join(store, tuple(v.name for v in VIEWS if v.name != "bench_series"))
    for view in VIEWS:
        assert view.doc.endswith(".")
        assert join.view_sql(view.name).startswith("-- ")
        store.con.execute(f"SELECT * FROM main.{view.name}")


def test_asof_joins_never_compare_every_pair() -> None:
    """DuckDB takes a nested loop where it guesses a small left side; a wrong guess took minutes."""
    row = Store().con.execute("SELECT current_setting('asof_loop_join_threshold')").fetchone()
    assert row is not None and int(row[0]) == 0
