"""aiperf, genai-perf, perf_analyzer: both generations of every file, load, clocks, damage."""

from __future__ import annotations

import json
from functools import partial

import pytest
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.aiperf import PARSER
from open_ended import document_tests, read

NEW, OLD, AGGREGATE, RECORDS, CSV, NANO, CONSOLE, RAW = (s.text for s in PARSER.samples)

facts = partial(read, PARSER)


def test_samples() -> None:
    check_samples(PARSER)


test_samples_are_claimed_and_blocks_do_not_matter, test_a_cut_invents_nothing, test_a_garbled_byte_raises_nothing = document_tests(PARSER)


def step(**config: object) -> dict:
    """The step of the 0.10 aggregate with another `input_config`."""
    return facts(json.dumps(json.loads(AGGREGATE) | {"input_config": config}))[0]["bench_steps"][0]


@pytest.mark.parametrize(
    ("config", "want"),
    [
        ({"loadgen": {"concurrency": 8}}, 8.0),
        ({"loadgen": {"concurrency": 800, "request_count": 96}}, 96.0),
        ({"perf_analyzer": {"stimulus": {"concurrency": 4}}}, 4.0),
        ({"phases": [{"name": "a", "concurrency": 2}, {"name": "b", "concurrency": 4}]}, None),
        ({"phases": [{"name": "warmup", "concurrency": 2}, {"name": "profiling", "concurrency": 4, "requests": 96}]}, 4.0),
        ({"loadgen": {"concurrency": None, "request_rate": 3.0}}, None),
        ({}, None),
        # two requests a second of 6.5 s each keep 13 in flight
        ({"loadgen": {"concurrency": 16, "request_rate": 2.0}}, 16.0),
        ({"loadgen": {"concurrency": 64, "request_rate": 2.0}}, None),
    ],
)
def test_offered_streams(config: dict, want: float | None) -> None:
    assert step(**config).get("concurrency") == want


def test_units_are_converted_and_unknown_ones_are_not() -> None:
    doc = json.loads(AGGREGATE)
    doc["time_to_first_token"]["unit"] = "us"
    doc["request_latency"]["unit"] = "sec"
    doc["benchmark_duration"]["unit"] = "fortnights"
    row = facts(json.dumps(doc))[0]["bench_steps"][0]
    assert row["ttft_mean_ms"] == pytest.approx(0.2305) and row["e2e_p99_ms"] == 9_000_000.0 and row.get("wall_s") is None


def test_no_success() -> None:
    doc = json.loads(AGGREGATE) | {"request_count": {"unit": "requests", "avg": 0.0}}
    rows = facts(json.dumps(doc))[0]
    assert rows["bench_steps"][0].get("aggregate_tok_s") is None and rows["bench_steps"][0]["completed"] == 0.0
    assert [q["kind"] for q in rows["quality"]] == ["all-failed"]


def test_a_zone_makes_the_clock_utc() -> None:
    doc = json.loads(AGGREGATE) | {"start_time": "2026-03-01T10:00:00+01:00", "end_time": "2026-03-01T10:01:00+01:00"}
    rows = facts(json.dumps(doc))[0]
    assert rows["clocks"][0]["kind"] == "utc" and rows["bench_steps"][0]["started_at"] == 1772355600.0


def test_a_record_in_ruins_costs_itself_only() -> None:
    lines = NEW.splitlines()
    rows, counts = facts("\n".join([lines[1], lines[1][:200], lines[1]]) + "\n")
    assert len(rows["requests"]) == 2 and (counts.matched, counts.near_miss) == (2, 1)


@pytest.mark.parametrize("stamp", ["0", "1.5", "null", '"x"', "true", "1772000010"])
def test_a_start_that_is_no_time_of_this_century_is_unknown(stamp: str) -> None:
    text = NEW.splitlines()[1].replace("1772000010250000000", stamp)
    (row,) = facts(text)[0]["requests"]
    assert row.get("sent_at") is None and row.get("first_token_at") is None and row["latency_s"] == 2.0


def test_many_records_come_in_batches() -> None:
    rows, counts = facts(NEW.splitlines(keepends=True)[1] * 4500)
    assert len(rows["requests"]) == counts.matched == 4500
    assert rows["requests"][-1]["request"] == "4499" and len(rows["clocks"]) == 1


def test_an_unfinished_csv_line_and_a_cut_table_row_give_nothing() -> None:
    rows, counts = facts(CSV.rstrip("\n"))
    assert rows["bench_steps"][0].get("completed") is None and counts.near_miss == 1
    rows, counts = facts(CONSOLE[: CONSOLE.index("│ N/A")])
    assert rows["bench_steps"][0].get("aggregate_tok_s") is None and counts.near_miss == 1


def test_the_folder_names_the_concurrency_only_where_nothing_else_does() -> None:
    def run(text: str, name: str) -> float | None:
        return rows_of(PARSER, text, name)[0]["bench_steps"][0].get("concurrency")

    assert run(AGGREGATE, "m-openai-chat-concurrency32/profile_export_aiperf.json") == 16.0
    assert run(CSV, "m-openai-chat-concurrency32/x.csv") == 32.0
    assert run(CSV, "concurrency32.csv") is None


def test_a_telemetry_table_behind_is_not_read() -> None:
    text = CSV + "\n\nEndpoint,GPU_Index,GPU_Name,Metric,avg\nhttp://x,0,GPU,Request Count (count),77\n"
    assert facts(text)[0]["bench_steps"][0]["completed"] == 30.0


def test_a_request_rate_experiment_has_no_concurrency() -> None:
    rows = facts(RAW.replace('"mode":"concurrency","value":8', '"mode":"request_rate","value":0.0'))[0]["requests"]
    assert all(r.get("concurrency") is None for r in rows)


@pytest.mark.parametrize("gap", ['"x"', "null", "-1.0", "NaN", "1" + "0" * 400])
def test_a_gap_that_is_no_time_costs_its_gaps_only(gap: str) -> None:
    (row,) = facts(NEW.splitlines()[1].replace("[250.0,1.0,", f"[250.0,{gap},"))[0]["requests"]
    assert row.get("itl_n") is None and row["latency_s"] == 2.0


def test_no_text_leaves() -> None:
    raw = RAW.replace('"payload":"x"', '"payload":"CANARY"').replace('{"response":"a"}', '{"response":"CANARY"}')
    old = OLD.replace('"x_request_id":"b"', '"x_request_id":"CANARY"').replace('"message":"m"', '"message":"CANARY"')
    new = json.dumps(json.loads(AGGREGATE) | {"run_info": {"cli_command": "CANARY"}})
    assert all("CANARY" not in repr(facts(text)) for text in (raw, old, new))


def test_other_files_are_not_claimed() -> None:
    for text in ('{"metadata": {}, "metrics": {}}', "Metric,Value\na,1\n", "┃ Metric ┃ avg ┃\n", '{"request_latency": 3}'):
        assert PARSER.claims(Source.from_text(text).head()) is None


def test_throughputs_below_a_table_belong_to_it_alone() -> None:
    """The lines that genai-perf of 2024 prints below its table, not those somebody writes further down or before it."""
    below = "Output token throughput (per sec): 99.50\n"
    assert [r.get("aggregate_tok_s") for r in rows_of(PARSER, below + NANO)[0]["bench_steps"]] == [160.5]
    apart = NANO.replace("Output token throughput (per sec): 160.50\n", "") + "\n\n\n" + below
    assert [r.get("aggregate_tok_s") for r in rows_of(PARSER, apart)[0]["bench_steps"]] == [None]
