"""llama-bench: all output formats, what counts as a step, the split that can be told, cut and broken files."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.llama_bench import PARSER
from gpuverdict.parsers.llama_server import PARSER as LLAMA_SERVER
from open_ended import document_tests

BASE = {
    "build_commit": "0a0b0c0d",
    "build_number": 5470,
    "gpu_info": "NVIDIA L4, NVIDIA L4",
    "backends": "CUDA",
    "model_type": "qwen3moe 30B.A3B Q4_K - Medium",
    "model_size": 17_000_000_000,
    "model_n_params": 30_500_000_000,
    "n_gpu_layers": 99,
    "split_mode": "layer",
    "flash_attn": 1,
    "n_prompt": 0,
    "n_gen": 128,
    "n_depth": 0,
    "avg_ts": 80.5,
}
DEVICES = "  Device 0: NVIDIA L4, compute capability 8.9, VMM: yes\n  Device 1: NVIDIA L4, compute capability 8.9, VMM: yes\n"
TABLE = """| model | size | params | backend | ngl | test | t/s |
| ----- | ---: | -----: | ------- | --: | ---: | --: |
| llama 8B Q4_0 | 4.33 GiB | 8.03 B | CUDA | 99 | tg128 | 101.00 ± 0.50 |
"""


def _json(*changes: dict[str, Any]) -> str:
    return "".join(json.dumps({**BASE, **c}) + "\n" for c in changes)


def _split(text: str) -> list[tuple[str, str]]:
    return [(r["value"], r["origin"]) for r in rows_of(PARSER, text)[0].get("server_config", []) if r["key"] == "split"]


def test_samples() -> None:
    check_samples(PARSER)


def test_every_sample_is_claimed() -> None:
    for sample in PARSER.samples:
        assert isinstance(PARSER.claims(Source.from_text(sample.text).head()), Claim)


def test_other_tables_are_not_claimed() -> None:
    for text in ("| model | tok/s |\n|---|---|\n| a | 5 |\n", "a,b\n1,2\n", '{"avg_ts": 5}\n', "| PP | TG | B | S_TG t/s |\n"):
        assert not isinstance(PARSER.claims(Source.from_text(text).head()), Claim)
    assert isinstance(PARSER.claims(Source.from_text("build_commit and avg_ts").head()), Refusal)


def test_json_and_jsonl_agree() -> None:
    rows = [{**BASE, "n_gen": n} for n in (64, 128)]
    pretty, lines = rows_of(PARSER, json.dumps(rows, indent=2) + "\n")[0], rows_of(PARSER, _json(*({"n_gen": n} for n in (64, 128))))[0]
    assert [{**r, "line": 0} for r in pretty["bench_steps"]] == [{**r, "line": 0} for r in lines["bench_steps"]]
    assert [r["output_len"] for r in lines["bench_steps"]] == [64.0, 128.0]


def test_prompt_tests_give_no_step() -> None:
    rows, counts = rows_of(PARSER, _json({"n_prompt": 512, "n_gen": 0}))
    assert "bench_steps" not in rows and counts.matched == 1 and rows["server_config"]


def test_settings_that_differ_make_series_and_equal_ones_repetitions() -> None:
    text = _json({}, {"flash_attn": 0}, {}, {"n_depth": 4096})
    steps = rows_of(PARSER, text)[0]["bench_steps"]
    assert [s["series"] for s in steps] == ["tg128, fa 1", "tg128, fa 0", "tg128, fa 1", "tg128 d4096, fa 1"]
    assert [s["step"] for s in steps] == [1, 1, 2, 1]
    assert steps[3]["input_len"] == 4096.0


def test_several_models_are_numbered() -> None:
    steps = rows_of(PARSER, _json({}, {"model_type": "llama 8B Q4_0"}))[0]["bench_steps"]
    assert [s["series"] for s in steps] == ["model 1, tg128", "model 2, tg128"]


def test_model_facts() -> None:
    (model,) = rows_of(PARSER, _json({}))[0]["models"]
    assert (model["arch"], model["quantisation"], model["params_total_b"]) == ("qwen3moe", "Q4_K - Medium", 30.5)
    assert model["bits_per_weight"] == pytest.approx(8 * 17 / 30.5) and model.get("name") is None


@pytest.mark.parametrize(
    ("change", "split"),
    [
        ({}, [("layer", "estimated")]),
        ({"split_mode": "row"}, [("row", "estimated")]),
        ({"split_mode": "none"}, [("none", "estimated")]),
        ({"gpu_info": "NVIDIA L4"}, [("none", "estimated")]),
        ({"gpu_info": "NVIDIA L4", "backends": "CUDA,RPC"}, []),
        ({"gpu_info": ""}, []),
        ({"n_gpu_layers": 0}, []),
        ({"devices": "CUDA1"}, [("none", "estimated")]),
        ({"devices": "CUDA0/CUDA1"}, [("layer", "estimated")]),
        ({"tensor_split": "1.00/0.00"}, [("none", "estimated")]),
        ({"tensor_split": "3.00/1.00"}, [("layer", "estimated")]),
        ({"tensor_split": "0.00"}, [("layer", "estimated")]),
    ],
)
def test_split_needs_devices(change: dict[str, Any], split: list[tuple[str, str]]) -> None:
    assert _split(_json(change)) == split


def test_split_of_a_table() -> None:
    assert _split(TABLE) == [] == _split(DEVICES.splitlines(keepends=True)[0] + TABLE)  # the second line may have been lost
    assert _split(DEVICES + TABLE) == [("layer", "estimated")]
    assert _split(DEVICES + TABLE.replace("ngl", "sm").replace("99", "row")) == [("row", "estimated")]


def test_broken_csv_of_spring_2025_is_refused() -> None:
    header = "build_commit,build_number,n_prompt,n_gen,n_prompt,n_gen,avg_ts\n"
    rows, counts = rows_of(PARSER, header + '"0a0b0c0d","5215","0","128","50.5"\n')
    assert "bench_steps" not in rows and counts.near_miss == 1 and counts.matched == 1


def test_a_row_that_is_cut_gives_nothing() -> None:
    for cut in (1, 4, 9):
        rows, _ = rows_of(PARSER, TABLE[: -cut - 1])
        assert "bench_steps" not in rows
    assert rows_of(PARSER, TABLE[:-1])[0]["bench_steps"][0]["per_stream_tok_s"] == 101.0


def test_other_tables_behind_do_not_leak_in() -> None:
    other = "\n| a | b | c | d | e | f | g |\n|---|---|---|---|---|---|---|\n| x | 1 GiB | 1 B | q | 1 | tg128 | 55 |\n"
    assert len(rows_of(PARSER, TABLE + other)[0]["bench_steps"]) == 1


def test_build_of_the_footer_only_where_it_is_one() -> None:
    for footers, builds in (("build: 1a2b3c4d (5470)\n", [5470.0]), ("build: 1a2b3c4d (5470)\nbuild: 2a2b3c4d (5471)\n", [])):
        config = rows_of(PARSER, TABLE + footers)[0]["server_config"]
        assert [r["num"] for r in config if r["key"] == "build"] == builds


@pytest.mark.parametrize("footer", ["build: 38a6e2f1 (5470)", "build: 12345678 (5470)"])
def test_llama_server_does_not_read_a_hash_as_a_build(footer: str) -> None:
    assert "server_config" not in rows_of(LLAMA_SERVER, TABLE + "\n" + footer + "\n")[0]
    assert rows_of(LLAMA_SERVER, "build: 5470 (38a6e2f1) with cc for x\n")[0]["server_config"][0]["num"] == 5470.0


def test_not_a_number_is_no_rate() -> None:
    for rate in ("NaN", "Infinity", "-1.0", "0"):
        rows, _ = rows_of(PARSER, _json({"n_gen": 32}).replace("80.5", rate))
        assert "bench_steps" not in rows


test_any_block_size_gives_the_same, test_any_cut_invents_nothing, test_any_garbled_byte_raises_nothing = document_tests(PARSER)


@pytest.mark.parametrize(
    ("change", "key", "expected"),
    [
        ({"n_cpu_moe": 20}, "n_cpu_moe", (20.0, "20")),
        ({"tensor_buft_overrides": "exps=CPU"}, "tensor_overrides", (None, "some")),
        ({"tensor_buft_overrides": "none"}, "tensor_overrides", None),
        ({"tensor_buft_overrides": ""}, "tensor_overrides", None),
    ],
)
def test_weights_that_are_sent_elsewhere(change: dict[str, Any], key: str, expected: tuple[float | None, str] | None) -> None:
    rows = rows_of(PARSER, _json(change))[0]["server_config"]
    assert next(((r.get("num"), r["value"]) for r in rows if r["key"] == key), None) == expected
