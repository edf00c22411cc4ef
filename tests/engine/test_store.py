"""Only declared columns get in; what is not a number is NULL; private classes are replaced before they are stored."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pytest
from gpuverdict.engine import join
from gpuverdict.engine.store import Store
from gpuverdict.engine.tables import PRIVACY, TABLES, VIEWS, ddl
from gpuverdict.engine.testing import empty_trace

FIXTURES = Path(__file__).parents[2] / "fixtures"


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
    con = duckdb.connect()
    con.execute("CREATE SCHEMA raw")
    for table in TABLES:
        con.execute(ddl("raw", table))
        assert table.doc.endswith(".")
        assert len(set(table.names)) == len(table.names)
        for column in table.columns:
            con.execute(f"SELECT {column.name} FROM raw.{table.name}")
            assert column.doc.endswith(".") and column.privacy in PRIVACY


def test_rows_that_wait_are_there_when_asked_for_in_the_order_they_came() -> None:
    store = Store()
    for line in range(1, 4):
        store.insert("requests", pl.DataFrame({"line": [line], "decode_ms": [float(line)]}), 0)
        store.insert("requests", pl.DataFrame({"line": [10 * line], "status": ["ok"]}), 1)
    assert store.scratch.execute("SELECT count(*) FROM raw.requests").fetchall() == [(0,)]
    found = store.rows_of("SELECT source_id, line, decode_ms, status FROM raw.requests ORDER BY source_id, line")
    assert [tuple(row.values()) for row in found] == [
        *((0, n, float(n), None) for n in (1, 2, 3)),
        *((1, 10 * n, None, "ok") for n in (1, 2, 3)),
    ]
    assert store.con.execute("SELECT count(*) FROM raw.requests").fetchall() == [(6,)]


def test_many_rows_do_not_wait() -> None:
    store = Store()
    store.insert("requests", pl.DataFrame({"line": range(2_000)}), 0)
    for _ in range(60):
        store.insert("requests", pl.DataFrame({"line": range(1_000)}), 1)
    assert store.scratch.execute("SELECT count(*) FROM raw.requests").fetchall()[0][0] >= 50_000


def test_views_build_unquoted_on_an_empty_trace_and_are_documented() -> None:
    store = empty_trace()
    for view in VIEWS:
        assert view.doc.endswith(".")
        assert join.view_sql(view.name).startswith("-- ")
        described = store.con.execute(f"DESCRIBE SELECT * FROM main.{view.name}").fetchall()
        assert join.view_columns()[view.name] == {name: kind for name, kind, *_ in described}, "run docs/generate.py"


@pytest.mark.thorough
@pytest.mark.parametrize("case", ["three-cards", "blackwell-busy", "blackwell-snapshot", "b300-ddtree"])
def test_a_view_has_no_rows_without_those_it_needs(case: str) -> None:
    """That is why its SELECT need not run then."""
    from gpuverdict.engine.analyze import analyze

    store = analyze(FIXTURES / "cases" / case).store
    for view in VIEWS:
        for name in view.needs:
            con = store.con.cursor().begin()
            con.execute(f"DELETE FROM {'raw' if name in {t.name for t in TABLES} else 'main'}.{name}")
            rows = con.execute(f"SELECT count(*) FROM ({join.view_sql(view.name)})").fetchall()
            con.rollback()
            assert rows == [(0,)], f"{view.name} without {name}"


@pytest.mark.thorough
@pytest.mark.parametrize("case", ["three-cards", "blackwell-busy", "blackwell-snapshot", "b300-ddtree"])
def test_a_view_has_no_rows_where_its_condition_fails(case: str) -> None:
    from gpuverdict.engine.analyze import analyze

    store = analyze(FIXTURES / "cases" / case).store
    failing = [view for view in VIEWS if view.only_if and store.con.execute(view.only_if).fetchall() != [(True,)]]
    for view in failing:
        assert store.con.execute(f"SELECT count(*) FROM ({join.view_sql(view.name)})").fetchall() == [(0,)], view.name
    assert failing or case == "b300-ddtree"


def test_asof_joins_never_compare_every_pair() -> None:
    """DuckDB takes a nested loop where it guesses a small left side; a wrong guess took minutes."""
    row = Store().con.execute("SELECT current_setting('asof_loop_join_threshold')").fetchone()
    assert row is not None and int(row[0]) == 0


def test_no_select_uses_a_function_that_this_duckdb_stumbles_over() -> None:
    """cbrt() of a column without rows is an internal error of its optimiser (2.0)."""
    from gpuverdict.engine.plugins import load_registry

    for name, sql in [(v.name, join.view_sql(v.name)) for v in VIEWS] + [(r.id, r.facts) for r in load_registry().rules]:
        assert "cbrt(" not in sql, name


def test_a_view_is_declared_after_those_it_mentions() -> None:
    """`ls`-like order for readers, and for what makes them one by one (benchmarks/rules_at_scale.py)."""
    place = {view.name: n for n, view in enumerate(VIEWS)}
    late = [(v.name, m) for v in VIEWS for m in join.mentioned(join.view_sql(v.name)) | {*v.needs} if place.get(m, -1) > place[v.name]]
    assert not late
