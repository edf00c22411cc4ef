"""llama-benchy: prompt rows and answer rows, depths, what a paste loses, saved results."""

from __future__ import annotations

import json

import pytest
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.llama_benchy import PARSER
from open_ended import document_tests, line_tests

ONE, SEVERAL, SAVED = (s.text for s in PARSER.samples)


def steps(text: str) -> list[dict]:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def test_samples() -> None:
    check_samples(PARSER)


class Printed:
    """The parser with the samples of one kind."""

    name, api, claims, parse = PARSER.name, PARSER.api, PARSER.claims, PARSER.parse

    def __init__(self, *which: int) -> None:
        self.samples = [PARSER.samples[n] for n in which]


(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(Printed(0, 1), alphabet="| pp tg (c) @ d ± 0123456789.\n", derived=("line", "series", "step", "concurrency"))
test_documents, test_a_cut_document_invents_nothing, test_a_garbled_byte_raises_nothing = document_tests(Printed(2))


def test_an_answer_row_without_its_prompt_row_has_no_prompt() -> None:
    text = "".join(line for line in SEVERAL.splitlines(keepends=True) if "pp512 (c4)" not in line)
    last = steps(text)[-1]
    assert (last["concurrency"], last["aggregate_tok_s"], last["ttft_mean_ms"], last["input_len"]) == (4.0, 120.5, None, None)


def test_a_prompt_row_without_answers_keeps_its_first_token() -> None:
    text = "".join(line for line in SEVERAL.splitlines(keepends=True) if "tg128 (c4)" not in line)
    last = steps(text)[-1]
    assert (last["concurrency"], last["aggregate_tok_s"], last["ttft_mean_ms"], last["input_len"]) == (4.0, None, 610.0, 512.0)


def test_without_a_load_in_a_table_of_several_nothing_is_assumed() -> None:
    row = steps(SEVERAL.replace(" (c4)", "").replace(" (c1)", ""))[-1]
    assert row["concurrency"] is None and row["aggregate_tok_s"] is None


def test_filling_the_cache_is_a_series_of_its_own() -> None:
    rows = steps(ONE.replace("pp1000 @", "ctx_pp @").replace("| ctx_pp @ d3000", "| ctx_pp3000 @ d3000").replace("tg64 @", "ctx_tg64 @"))
    assert rows[-1]["series"] == "org/m-7b ctx_pp3000 tg64 @ d3000" and rows[-1]["input_len"] == 3000.0


@pytest.mark.parametrize("cell", ["nan ± nan", "", "-", "12,5", "120.50 t/s"])
def test_a_cell_that_is_no_number_is_unknown(cell: str) -> None:
    row = steps(SEVERAL.replace("120.50 ± 0.90", cell))[-1]
    assert row["aggregate_tok_s"] is None and row["per_stream_tok_s"] == 31.25


def test_tables_of_llama_bench_are_left_alone() -> None:
    assert steps("| model | size | backend | test | t/s |\n|--|--|--|--|--|\n| m | 4 GiB | CUDA | tg128 | 50.00 ± 0.10 |\n") == []


def test_the_peak_is_no_rate() -> None:
    rates = ("aggregate_tok_s", "per_stream_tok_s")
    assert not {41.0, 128.0, 33.0, 75.0} & {r[k] for r in steps(SEVERAL) + steps(SAVED) for k in rates}


def test_a_result_without_the_rate_of_one_request() -> None:
    doc = json.loads(SAVED)
    del doc["benchmarks"][0]["tg_req_throughput"]
    (row,) = steps(json.dumps(doc))
    assert row["aggregate_tok_s"] == 70.5 and row["per_stream_tok_s"] is None
    doc["benchmarks"][0]["concurrency"] = 1
    assert steps(json.dumps(doc))[0]["per_stream_tok_s"] == 70.5
