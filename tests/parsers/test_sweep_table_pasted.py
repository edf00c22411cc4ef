"""Sweeps in the forms in which people paste them: other scripts, HTML, groups of columns, engines side by side, lines of pairs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gpuverdict.engine.testing import rows_of
from gpuverdict.parsers.sweep_table import PARSER


def steps(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def got(text: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row.get(c) for c in columns) for row in steps(text)]


@pytest.mark.parametrize(
    "text",
    [
        "concurrency: 1, throughput: 40.5 tok/s, TTFT: 250ms\nconcurrency: 8, throughput: 212.5 tok/s, TTFT: 1,250 ms\n",
        "Concurrent=1: throughput=40.5 tok/s, ttft=0.25s\nConcurrent=8: throughput=212.5 tok/s, ttft=1.25s\n",
        "c=1:  TTFT 0.25s  40.5 tok/s\nc=8:  TTFT 1.25s  212.5 tok/s\n",
        "并发数：1，总吞吐：40.5 tok/s，首token延迟：250ms\n并发数：8，总吞吐：212.5 tok/s，首token延迟：1250ms\n",
        "| 并发数 | 吞吐量(tokens/s) | 首字延迟(毫秒) |\n|--|--|--|\n| 1 | 40.5 | 250 |\n| 8 | 212.5 | 1250 |\n",
        "| 同時リクエスト数 | スループット (tokens/s) | TTFT (ms) |\n|--|--|--|\n| 1 | 40.5 | 250 |\n| 8 | 212.5 | 1250 |\n",
        "| 동시 요청 수 | 처리량 (tok/s) | TTFT (ms) |\n|--|--|--|\n| 1 | 40.5 | 250 |\n| 8 | 212.5 | 1250 |\n",
        "| Одновременные запросы | Пропускная способность (токенов/с) | TTFT (мс) |\n|--|--|--|\n| 1 | 40.5 | 250 |\n| 8 | 212.5 | 1250 |\n",
        "| Usuarios concurrentes | Throughput total (tokens/s) | TTFT (s) |\n|--|--|--|\n| 1 | 40,5 | 0,25 |\n| 8 | 212,5 | 1,25 |\n",
        "<table>\n<tr><th>Concurrency</th><th>Output tok/s</th><th>TTFT (ms)</th></tr>\n"
        "<tr><td>1</td><td><b>40.5</b></td><td>250</td></tr>\n<tr>\n<td>8</td>\n<td>212.5</td>\n<td>1250</td>\n</tr>\n</table>\n",
        "📊 Results (concurrency=1)\n  🚀 Throughput: 40.5 tok/s\n  ⚡ TTFT: 250 ms\n\n📊 Results (concurrency=8)\n  🚀 Throughput: 212.5 tok/s\n"
        "  ⚡ TTFT: 1250 ms\n",
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_one_sweep_in_many_forms(text: str) -> None:
    assert got(text, "concurrency", "aggregate_tok_s", "ttft_mean_ms") == [(1.0, 40.5, 250.0), (8.0, 212.5, 1250.0)]


def test_lines_keep_their_numbers_when_html_becomes_a_table() -> None:
    text = "intro\n<table>\n<thead>\n<tr>\n<th>Concurrency</th><th>tok/s</th>\n</tr></thead>\n<tr><td>1</td><td>40</td></tr>\n<tr><td>8</td><td>210</td></tr></table>\n"
    assert got(text, "line", "concurrency", "aggregate_tok_s") == [(7, 1.0, 40.0), (8, 8.0, 210.0)]


def test_a_row_of_html_that_lacks_a_cell_is_left_out() -> None:
    text = "<table>\n<tr><th>Concurrency</th><th>tok/s</th><th>TTFT (ms)</th></tr>\n<tr><td>1</td><td>40</td><td>250</td></tr>\n<tr><td>210</td><td>1250</td></tr>\n<tr><td>8</td><td>220</td><td>900</td></tr>\n</table>\n"
    assert got(text, "concurrency", "aggregate_tok_s", "ttft_mean_ms") == [(1.0, 40.0, 250.0), (8.0, 220.0, 900.0)]


GROUPED = "|  | A |  | B |  |\n{}| Concurrency | tok/s | TTFT (ms) | tok/s | TTFT (ms) |\n|--|--|--|--|--|\n| 1 | 60 | 50 | 55 | 90 |\n| 8 | 400 | 70 | 200 | 400 |\n"


@pytest.mark.parametrize("rule", ["", "|---|---|---|---|---|\n"])
def test_columns_under_the_names_of_groups(rule: str) -> None:
    assert got(GROUPED.format(rule), "series", "concurrency", "aggregate_tok_s", "ttft_mean_ms") == [
        ("A", 1.0, 60.0, 50.0), ("A", 8.0, 400.0, 70.0), ("B", 1.0, 55.0, 90.0), ("B", 8.0, 200.0, 400.0),
    ]  # fmt: skip


def test_columns_of_one_name_without_groups_stay_unread() -> None:
    assert steps(GROUPED.format("").partition("\n")[2]) == []
    assert steps(GROUPED.format("").replace("|  | A |  | B |  |", "| 5 | 1 | 2 | 3 | 4 |")) == []


def test_engines_side_by_side_under_a_caption_that_says_what_is_measured() -> None:
    table = "| Concurrency | vLLM | SGLang |\n|--|--|--|\n| 1 | 92.5 | 95.5 |\n| 8 | 700.5 | — |\n"
    rate = got("## Throughput (tok/s)\n\n" + table, "series", "concurrency", "aggregate_tok_s")
    assert rate == [("vLLM", 1.0, 92.5), ("vLLM", 8.0, 700.5), ("SGLang", 1.0, 95.5)]
    assert [r[2] for r in got("P99 TTFT (ms):\n\n" + table, "series", "concurrency", "ttft_p99_ms")] == [92.5, 700.5, 95.5]
    for caption in ("## Results", "## TTFT", "## Throughput", "## Cost ($)", "## GPU utilisation (%)"):
        assert steps(f"{caption}\n\n{table}") == []


@pytest.mark.parametrize("header", ["Batch size", "KV blocks", "max len", "GPUs", "GPU util %", "Notes"])
def test_a_setting_beside_the_load_is_no_engine(header: str) -> None:
    assert (
        steps(f"## Throughput (tok/s)\n\n| Concurrency | vLLM | {header} |\n|--|--|--|\n| 1 | 92.5 | 95.5 |\n| 8 | 700.5 | 99.5 |\n") == []
    )


def test_a_latency_in_the_caption_of_loads_in_the_header() -> None:
    table = "| Engine | c1 | c8 |\n|--|--|--|\n| A | 42 | 118 |\n| B | 40 | 112 |\n"
    assert got("TTFT (ms):\n\n" + table, "series", "concurrency", "ttft_mean_ms") == [
        ("A", 1.0, 42.0), ("A", 8.0, 118.0), ("B", 1.0, 40.0), ("B", 8.0, 112.0),
    ]  # fmt: skip
    assert steps("TTFT:\n\n" + table) == []


def test_one_of_several_numbers_is_not_the_measurement() -> None:
    assert (
        steps("- Concurrency 8: 38.3, 29.0, 33.7 tok/s\n- Concurrency 4: 19.9, 20.0, 19.3 tok/s\n- Concurrency 1: 6.5, 6.5, 6.4 tok/s\n")
        == []
    )


def test_a_column_of_ranges_is_no_mean_where_one_of_them_is_a_number() -> None:
    text = "| Parallel requests | Aggregate (t/s) | TTFT range (s) |\n|--|--|--|\n| 1 | 48.5 | 0.2 |\n| 8 | 121.5 | 0.5-6.0 |\n"
    assert got(text, "aggregate_tok_s", "ttft_mean_ms") == [(48.5, None), (121.5, None)]


def test_what_a_planner_expects_was_not_measured() -> None:
    text = "| Rank | tokens/s/gpu | tokens/s/user | TTFT | concurrency |\n|--|--|--|--|--|\n| 1 | 1022.5 | 53.5 | 839.5 | 640 |\n| 2 | 773.5 | 50.5 | 703.5 | 512 |\n"
    assert steps(text) == []


def test_done_of_sent_between_bars() -> None:
    text = "Users: 5 | Success: 5/5 | Avg response: 4.25s | Throughput: 60.5 tokens/sec\nUsers: 20 | Success: 19/20 | Avg response: 11.5s | Throughput: 85.5 tokens/sec\n"
    assert got(text, "concurrency", "completed", "requests", "e2e_mean_ms") == [(5.0, 5.0, 5.0, 4250.0), (20.0, 19.0, 20.0, 11500.0)]


def test_a_french_user_is_no_utilisation() -> None:
    text = "| Utilisateurs simultanés | Débit total (jetons/s) | Débit par utilisateur (jetons/s) |\n|--|--|--|\n| 1 | 38,5 | 38,5 |\n| 8 | 212,5 | 26,5 |\n"
    assert got(text, "aggregate_tok_s", "per_stream_tok_s") == [(38.5, 38.5), (212.5, 26.5)]


def test_a_throughput_whose_cells_count_requests() -> None:
    text = "| Concurrency | Throughput | Avg latency |\n|--|--|--|\n| Idle | — | — |\n| 25 | 585 req/s | 43ms |\n| 200 | 2,048 req/s | 97ms |\n"
    assert got(text, "concurrency", "req_s", "aggregate_tok_s", "e2e_mean_ms") == [(25.0, 585.0, None, 43.0), (200.0, 2048.0, None, 97.0)]
    mixed = text.replace("585 req/s", "585 tok/s")
    assert not any(r.get("aggregate_tok_s") or r.get("req_s") for r in steps(mixed))


def test_tokens_in_seconds_after_the_streams() -> None:
    text = "C1: 128 tokens in 3.25s = 41.5 tok/s aggregate (under nsys)\nC4: 512 tokens in 6.25s = 83.5 tok/s aggregate\n"
    assert got(text, "concurrency", "aggregate_tok_s", "per_stream_tok_s") == [(1.0, 41.5, None), (4.0, 83.5, None)]


def test_a_banner_that_names_the_path() -> None:
    text = "=== 8 parallel /generate requests ===\nTotal wall time:    3.5s\nAvg latency:        2.75s\nThroughput:         300.5 tokens/sec (aggregate)\n"
    assert got(text, "concurrency", "wall_s", "e2e_mean_ms", "aggregate_tok_s") == [(8.0, 3.5, 2750.0, 300.5)]


@pytest.mark.parametrize(
    "text",
    [
        "## Lock manager\n\n| Concurrency | Throughput (acq+rel/s) | p50 (ms) |\n|--|--|--|\n| 1 | 480 | 2.0 |\n| 4 | 1450 | 2.7 |\n",
        "## Requests per second\n\n| Concurrency | Redis | Postgres |\n|--|--|--|\n| 1 | 480 | 120 |\n| 16 | 3100 | 900 |\n",
        "| concurrent | succeeded | connect p95 |\n|--|--|--|\n| 50 | 100% | 19 ms |\n| 100 | 100% | 20 ms |\n",
    ],
)
def test_other_services_have_no_tokens(text: str) -> None:
    assert steps(text) == []


ONE, EIGHT = {"throughput_tok_s": 40.5, "ttft_ms": {"mean": 250}}, {"throughput_tok_s": 212.5, "ttft_ms": {"mean": 1250}}


@pytest.mark.parametrize(
    "doc",
    [
        {"concurrency_1": ONE, "concurrency_8": EIGHT},
        {"model": "m", "results": {"c1": ONE, "c8": EIGHT}},
        {"results": {"by_concurrency": {"1": ONE, "8": EIGHT}}},
        {"concurrent_users": {"1": ONE, "8": EIGHT}},
    ],
)
def test_json_whose_keys_are_the_loads(doc: dict[str, Any]) -> None:
    assert got(json.dumps(doc), "concurrency", "aggregate_tok_s", "ttft_mean_ms") == [(1.0, 40.5, 250.0), (8.0, 212.5, 1250.0)]


@pytest.mark.parametrize(
    "doc",
    [
        {"results": {"1": ONE, "8": EIGHT}},  # the numbers of what?
        {"gpus": {"1": ONE, "8": EIGHT}},
        {"concurrency_1": ONE, "notes": EIGHT},
        {"concurrency_8": EIGHT},
    ],
)
def test_json_whose_keys_may_be_anything(doc: dict[str, Any]) -> None:
    assert steps(json.dumps(doc)) == []
