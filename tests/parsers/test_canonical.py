"""The own format: every open table, types, clocks, sections, damage."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.tables import TABLES
from gpuverdict.engine.testing import check_counts, check_samples, rows_of, values
from gpuverdict.parsers.canonical import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st
from open_ended import document_tests, line_tests, read

CLOSED = ("sources", "source_parsers", "rejects", "quality", "clocks", "given")
WORDS = {"origin": "server", "status": "ok", "kind": "C", "phase": "decode", "aggregate_counts": "output", "per_stream_counts": "decode"}

facts = partial(read, PARSER)


def test_samples() -> None:
    check_samples(PARSER)


class Csv:
    """The CSV samples alone, for the tests of parsers that read by lines."""

    name, api, samples, claims, parse = PARSER.name, 1, PARSER.samples[:2], staticmethod(PARSER.claims), staticmethod(PARSER.parse)


class Lines(Csv):
    samples = PARSER.samples[2:]


test_blocks, test_cut, test_garbled, test_noise = line_tests(Csv(), alphabet='#gpuverdict canonical 1 table=,.0123"\n')  # type: ignore[arg-type]
test_json_blocks, test_json_cut, test_json_garbled = document_tests(Lines())  # type: ignore[arg-type]


def table_csv(name: str, header: str, *rows: str, clock: str = "") -> str:
    return "\n".join((f"# gpuverdict canonical 1 table={name}{clock}", header, *rows, ""))


def value(table: str, column: Any) -> Any:
    if column.type == "VARCHAR":
        return (
            "logged"
            if (table, column.name) == ("server_config", "origin")
            else "kernel"
            if table == "kernels"
            else WORDS.get(column.name, "abc")
        )
    if column.type == "BOOLEAN":
        return True
    return 1767225600 if column.time else 3


@pytest.mark.parametrize("table", [t for t in TABLES if t.name not in CLOSED], ids=lambda t: t.name)
def test_every_column_of_every_open_table_is_read_both_ways(table: Any) -> None:
    row = {c.name: value(table.name, c) for c in table.columns if c.name not in ("source_id", "line")}
    text = table_csv(table.name, ",".join(row), ",".join(str(v) for v in row.values()), clock=" clock=utc")
    for found, counts in (facts(text), facts(json.dumps({"gpuverdict": 1, "clock": "utc", "table": table.name} | row) + "\n")):
        assert counts.near_miss == 0, counts
        assert {k: v for k, v in found[table.name][0].items() if k != "line"} == row


@pytest.mark.parametrize("name", [*CLOSED, "nothing"])
def test_other_tables_are_refused(name: str) -> None:
    text = table_csv(name, "kind", "utc")
    assert isinstance(PARSER.claims(Source.from_text(text).head()), Refusal)
    rows, counts = facts(text)
    assert rows == {} and counts.near_miss == 1 and counts.other == 2
    rows, counts = facts(json.dumps({"gpuverdict": 1, "table": name, "kind": "utc"}))
    assert rows == {} and counts.near_miss == 1


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("power_w", "12 W"),
        ("power_w", "nan"),
        ("power_w", "inf"),
        ("power_w", "1e999"),
        ("power_w", "1,5"),
        ("gpu", "1.5"),
        ("gpu", "99999999999"),
        ("event_reasons", "0x1"),
        ("time", "1767225600500"),
        ("time", "2026-01-01"),
    ],
)
def test_a_wrong_type_costs_the_row_and_says_which_column(column: str, cell: str) -> None:
    other = "util_gpu"
    rows, counts = facts(table_csv("gpu_samples", f"{column},{other}", f'"{cell}",50', ",60", clock=" clock=utc"))
    assert [r[other] for r in rows["gpu_samples"]] == [60.0]
    assert counts.near_miss == 1 and counts.rejects[0][0] == 3 and column in counts.rejects[0][1]


@pytest.mark.parametrize("bad", [True, "4", [4], {"a": 4}, float("inf"), float("nan"), 10**400])
def test_json_types_are_types(bad: Any) -> None:
    rows, counts = facts(json.dumps({"gpuverdict": 1, "table": "server_samples", "running": bad}))
    assert rows == {} and counts.near_miss == 1


def test_whole_numbers_that_a_data_frame_wrote_with_a_point() -> None:
    assert facts(table_csv("gpu_links", "gpu,peer,active", "0.0,1.0,True"))[0]["gpu_links"][0]["peer"] == 1


def test_unknown_columns_are_named_and_the_others_read() -> None:
    rows, counts = facts(table_csv("models", "layers,colour,<b>,line,source_id", "32,red,x,7,8"))
    assert rows["models"] == [{"line": 3, "layers": 32.0}]
    assert counts.near_miss == 1 and "colour" in counts.rejects[0][1] and "<b>" not in counts.rejects[0][1]
    rows, counts = facts('{"gpuverdict": 1, "table": "models", "layers": 32, "colour": "red"}\n')
    assert rows == {} and "colour" in counts.rejects[0][1]


def test_times_need_a_clock() -> None:
    rows, counts = facts(table_csv("server_samples", "time,running", "5,1"))
    assert rows["server_samples"] == [{"line": 3, "running": 1.0}] and rows["clocks"][0]["kind"] == "none"
    assert counts.near_miss == 1 and "clock=" in counts.rejects[0][1]


def test_a_file_has_one_clock() -> None:
    first = table_csv("server_samples", "time,running", "5,1", clock=" clock=since-start")
    rows, counts = facts(first + table_csv("server_samples", "time,running", "1767225600,1", clock=" clock=utc"))
    assert len(rows["server_samples"]) == 1 and counts.near_miss == 1 and [c["kind"] for c in rows["clocks"]] == ["since-start"]
    rows, counts = facts(first + table_csv("server_events", "time,kind", "6,idle"))
    assert rows["server_events"][0]["time"] == 6.0 and counts.near_miss == 0


@pytest.mark.parametrize("row", ["1", "1,2,3", '1,"2', ",", '""'])
def test_rows_of_another_shape_are_left_out(row: str) -> None:
    rows, counts = facts(table_csv("models", "layers,hidden", row, "32,4096"))
    assert [r["layers"] for r in rows["models"]] == [32.0] and counts.near_miss == 1


def test_words_that_could_be_anything_stay_here() -> None:
    for text in ("/home/CANARY/x", "CANARY@example.org", "a <CANARY>", "CANARY" * 20):
        rows, counts = facts(table_csv("server_config", "key,value", f"slots,{text}"))
        assert rows == {} and counts.near_miss == 1 and "CANARY" not in repr(counts.rejects)


def test_a_quoted_cell_may_hold_a_comma() -> None:
    assert facts(table_csv("bench_steps", "series,concurrency", '"a, b ""c""",4'))[0]["bench_steps"][0]["series"] == 'a, b "c"'


def test_many_json_rows_keep_their_lines() -> None:
    docs = [{"gpuverdict": 1, "table": ("models", "requests")[k % 2], ("layers", "output_tokens")[k % 2]: k + 1} for k in range(5001)]
    rows, counts = facts("\n".join(map(json.dumps, docs)))
    assert counts.matched == 5001 and [r["line"] for r in rows["requests"]] == list(range(2, 5002, 2))
    assert all(r["layers"] == r["line"] for r in rows["models"])


@given(share=st.floats(0, 1), which=st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_a_cut_costs_the_last_row_only(share: float, which: int) -> None:
    text = PARSER.samples[which].text
    cut = text[: int(share * len(text))]
    rows, counts = rows_of(PARSER, cut)
    check_counts(counts, cut, "cut")
    assert values(rows) <= values(rows_of(PARSER, text)[0])


@pytest.mark.parametrize(
    "text", ["# a comment\nlayers\n1\n", "layers,hidden\n32,4096\n", '{"table": "models"}', "", "see # gpuverdict canonical 1"]
)
def test_other_files_are_not_claimed(text: str) -> None:
    assert PARSER.claims(Source.from_text(text).head()) is None
    assert facts(text)[0] == {}


@pytest.mark.parametrize(
    "text", ["# gpuverdict canonical 2 table=models\n", '{"gpuverdict": 2, "table": "models"}\n', "# gpuverdict canonical\n"]
)
def test_other_versions_are_refused(text: str) -> None:
    assert isinstance(PARSER.claims(Source.from_text(text).head()), Refusal)
    assert facts(text)[0] == {}


def test_windows_files_are_read() -> None:
    text = "\ufeff" + PARSER.samples[0].text.replace("\n", "\r\n")
    assert isinstance(PARSER.claims(Source.from_text(text).head()), Claim)
    assert values(facts(text)[0]) == values(facts(PARSER.samples[0].text)[0])
