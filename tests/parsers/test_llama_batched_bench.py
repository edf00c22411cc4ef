"""llama-batched-bench and llama-sweep-bench: tables, JSON lines, rows that contradict themselves, cut and garbled input."""

from __future__ import annotations

import json

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.llama_batched_bench import PARSER
from open_ended import document_tests

TABLE = PARSER.samples[0].text
HEADER = TABLE[TABLE.index("|") :].split("\n")[0] + "\n|---|---|---|---|---|---|---|---|---|---|\n"
ROW = "| {pp} | 200 | {b} | {n_kv} | 0.1 | 1000.0 | {t_tg} | {s_tg} | 4.1 | 70.0 |\n"
JSON = {"pp": 100, "tg": 50, "pl": 2, "n_kv": 300, "t_pp": 0.2, "t_tg": 2.5, "speed_tg": 40.0, "t": 2.7, "speed": 111.1}


def _steps(text: str) -> list[dict[str, object]]:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def _row(pp: int = 100, b: int = 1, n_kv: int = 300, t_tg: float = 4.0, s_tg: float = 50.0) -> str:
    return HEADER + ROW.format(pp=pp, b=b, n_kv=n_kv, t_tg=t_tg, s_tg=s_tg)


def test_samples() -> None:
    check_samples(PARSER)


def test_claims() -> None:
    for sample in PARSER.samples:
        assert isinstance(PARSER.claims(Source.from_text(sample.text).head()), Claim)
    assert isinstance(PARSER.claims(Source.from_text("S_TG t/s\n 1 2 3\n").head()), Refusal)
    assert PARSER.claims(Source.from_text("| model | test | t/s |\n").head()) is None


@pytest.mark.parametrize(
    ("row", "good"),
    [
        (_row(), True),
        (_row(b=4, n_kv=1200, t_tg=8.0, s_tg=100.0), True),
        (_row(b=4, n_kv=900, t_tg=8.0, s_tg=100.0), True),
        (_row(b=4, n_kv=1000, t_tg=8.0, s_tg=100.0), False),
        (_row(s_tg=200.0), False),
        (_row(b=0), False),
        (_row(t_tg=0.0), True),
    ],
)
def test_rows_have_to_agree_with_themselves(row: str, good: bool) -> None:
    rows, counts = rows_of(PARSER, row)
    assert bool(rows.get("bench_steps")) is good and counts.near_miss == (not good)


def test_no_decode_time_no_rate_of_a_stream() -> None:
    (step,) = _steps(_row(t_tg=0.0))
    assert step["per_stream_tok_s"] is None and step["per_stream_counts"] is None and step["aggregate_tok_s"] == 50.0


@pytest.mark.parametrize(
    ("shared", "b", "n_kv", "tokens"), [(None, 1, 150, 100.0), (True, 2, 200, 100.0), (False, 2, 300, 200.0), (None, 2, 300, 200.0)]
)
def test_shared_prompt(shared: bool | None, b: int, n_kv: int, tokens: float) -> None:
    value = {**JSON, "pl": b, "n_kv": n_kv, "speed_tg": b * 20.0} | ({} if shared is None else {"is_pp_shared": int(shared)})
    (step,) = _steps(json.dumps(value) + "\n")
    assert step["input_tokens"] == tokens and ("shared" in str(step["series"])) is bool(shared)


def test_json_and_table_agree() -> None:
    table = HEADER + "| 100 | 50 | 2 | 300 | 0.2 | 1000.0 | 2.5 | 40.0 | 2.7 | 111.1 |\n"
    one, two = _steps(table)[0], _steps(json.dumps({**JSON, "is_pp_shared": 0}) + "\n")[0]
    assert {**one, "line": 0} == {**two, "line": 0}


def test_lines_between_do_not_matter_and_a_second_table_does() -> None:
    noise = "0.01.000.000 I llama_perf: something | else\nplain\n"
    assert len(_steps(HEADER + noise + ROW.format(pp=100, b=1, n_kv=300, t_tg=4.0, s_tg=50.0))) == 1
    other = "| a | b | c | d | e | f | g | h | i | j |\n|---|---|---|---|---|---|---|---|---|---|\n"
    assert _steps(HEADER + other + ROW.format(pp=100, b=1, n_kv=300, t_tg=4.0, s_tg=50.0)) == []


def test_a_cut_row_is_refused() -> None:
    rows, counts = rows_of(PARSER, TABLE[:-8])
    assert len(rows["bench_steps"]) == 1 and counts.near_miss == 1


def test_a_cut_settings_line_gives_no_number_that_may_be_longer() -> None:
    line = "main: n_kv_max = 4096, n_batch = 2048, n_ubatch = 51"
    rows, _ = rows_of(PARSER, _row() + line)
    assert {r["key"]: r["num"] for r in rows["server_config"]} == {"n_batch": 2048.0, "kv_tokens": 4096.0, "server": None}


def test_a_table_without_settings_still_says_whose_it_is() -> None:
    """The benchmark runs no server: the slots and settings of a log in the same folder are not its own."""
    (row,) = rows_of(PARSER, _row())[0]["server_config"]
    assert (row["server"], row["key"], row["value"]) == ("llama-batched-bench", "server", "llama-batched-bench")
    assert "server_config" not in rows_of(PARSER, HEADER)[0]


test_any_block_size_gives_the_same, test_any_cut_invents_nothing, test_any_garbled_byte_raises_nothing = document_tests(PARSER)
