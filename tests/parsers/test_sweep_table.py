"""Hand-made sweeps: shapes people paste, traps of number style and meaning, and what must stay unknown."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gpuverdict.engine.columns import scope_by_shape
from gpuverdict.engine.parser import Claim, Counts, Parser, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.sweep_table import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

Rows = list[dict[str, Any]]


def steps(text: str) -> Rows:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def column(text: str, name: str) -> list[Any]:
    return [row.get(name) for row in steps(text)]


def counts_of(text: str) -> Counts:
    return rows_of(PARSER, text)[1]


def claim(text: str) -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text).head())


THREE = """# Sweep

| streams | per-stream tok/s | aggregate tok/s | wall s |
|---|---|---|---|
| 1 | 25.35 | 22.93 | 8.4 |
| 2 | 20.76 | 37.48 | 10.2 |
| 4 | 13.37 | 49.14 | 15.6 |
| 8 | 13.16 | 49.00 | 31.3 |
"""


def test_samples_and_contract() -> None:
    assert isinstance(PARSER, Parser)
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(claim(sample.text), Claim)


def test_import_is_cheap() -> None:
    code = "import sys, gpuverdict.parsers.sweep_table; assert 'polars' not in sys.modules and 'duckdb' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


def test_plain_markdown_sweep() -> None:
    rows = steps(THREE)
    assert [r["concurrency"] for r in rows] == [1, 2, 4, 8]
    assert [r["per_stream_tok_s"] for r in rows] == [25.35, 20.76, 13.37, 13.16]
    assert [r["aggregate_tok_s"] for r in rows] == [22.93, 37.48, 49.14, 49.0]
    assert [r["wall_s"] for r in rows] == [8.4, 10.2, 15.6, 31.3]
    assert [r["line"] for r in rows] == [5, 6, 7, 8]
    assert {r["per_stream_counts"] for r in rows} == {None}, "nothing says that per-stream is a decode rate"
    assert {r["aggregate_counts"] for r in rows} == {None}
    assert {r["series"] for r in rows} == {None}
    assert claim(THREE) == Claim(60, "a concurrency sweep: 4 steps in 1 table", shares=True)


@pytest.mark.parametrize(
    "dress",
    [
        lambda t: t.replace("\n", "\r\n"),
        lambda t: "".join("> " + line + "\n" for line in t.splitlines()),
        lambda t: "```\n" + t + "```\n",
        lambda t: "".join("    " + line + "\n" for line in t.splitlines()),
        lambda t: re.sub(r"(?m)^\| | \|$", "", t),
        lambda t: t.replace("|---|---|---|---|", "|:-:|:--|--:|-|"),
        lambda t: t.replace("| 4 |", "| **4** |").replace("49.14", "~49.14 ⭐").replace("13.37", "`13.37`[^1]"),
        lambda t: t.replace("15.6", "15.6 s").replace("49.14", "49.14 ± 0.3").replace("13.16", "13.16 tok/s"),
        lambda t: t.replace("| 2 |", "INFO: 200 OK\n| 2 |", 1),
        lambda t: t.replace("| 4 |", "| streams | per-stream tok/s | aggregate tok/s | wall s |\n|---|---|---|---|\n| 4 |"),
        lambda t: t.replace("|", "│").replace("│---│---│---│---│", "├───┼───┼───┼───┤"),
        lambda t: t.encode("utf-16"),
    ],
)
def test_dress_changes_nothing(dress: Any) -> None:
    rows = rows_of(PARSER, dress(THREE))[0]["bench_steps"]
    assert [(r["concurrency"], r["per_stream_tok_s"], r["aggregate_tok_s"], r["wall_s"]) for r in rows] == [
        (1, 25.35, 22.93, 8.4),
        (2, 20.76, 37.48, 10.2),
        (4, 13.37, 49.14, 15.6),
        (8, 13.16, 49.0, 31.3),
    ]


def test_aligned_text_box_and_psql() -> None:
    text = (
        "bench\n conc   agg tok/s   per-stream   Elapsed\n ----   ---------   ----------   -------\n"
        "    1       22.93        25.35     8.4 s\n    4       49.14        13.37     1m22s\ndone\n"
    )
    assert column(text, "wall_s") == [8.4, 82.0]
    assert column(text, "aggregate_tok_s") == [22.93, 49.14]
    psql = " c | agg_tok_s | wall_s \n---+-----------+--------\n 1 |      22.9 |    8.4\n 4 |      49.1 |   15.6\n(2 rows)\n"
    assert column(psql, "wall_s") == [8.4, 15.6]
    box = "+----+---------+\n| n  | tok/s   |\n+====+=========+\n| 1  | 22.9    |\n+----+---------+\n| 4  | 49.1    |\n+----+---------+\n"
    assert column(box, "aggregate_tok_s") == [22.9, 49.1]
    assert column("c agg per wall\n1 22.93 22.93 8.4\n2 37.48 18.74 10.2\n4 49.14 12.29 15.6\n", "per_stream_counts") == ["derived"] * 3


def test_spreadsheets() -> None:
    french = 'Utilisateurs simultanés;Débit (tokens/s);Latence moyenne (ms)\n1;"22,9";"8 400,5"\n8;"1 049,3";"31 300,0"\n'
    assert [(r["concurrency"], r["aggregate_tok_s"], r["e2e_mean_ms"]) for r in steps(french)] == [(1, 22.9, 8400.5), (8, 1049.3, 31300.0)]
    excel = "\ufeffsep=;\r\nBenutzer;Tokens/s gesamt;Tokens/s pro Benutzer;TTFT (ms)\r\n1;25;25;1.024\r\n8;1.049,5;131,2;2.048\r\n"
    assert [(r["aggregate_tok_s"], r["per_stream_tok_s"], r["ttft_mean_ms"]) for r in steps(excel)] == [
        (25, 25, 1024),
        (1049.5, 131.2, 2048),
    ]
    tabs = "Users\tThroughput (tok/s)\tAvg latency (s)\n1\t22.9\t8.4\n8\t49.0\t31.3\n"
    assert column(tabs, "e2e_mean_ms") == [8400.0, 31300.0]


def test_ambiguous_separator_is_unknown_and_said() -> None:
    text = 'concurrency;tok/s total\n1;"1,234"\n2;"2,345"\n'
    assert steps(text) == []
    refused = claim(text)
    assert isinstance(refused, Refusal) and "thousands or decimals" in refused.missing
    assert counts_of(text).near_miss == 1
    beside = "| c | total tok/s | wall s |\n|---|---|---|\n| 1 | 1,234 | 8.5 |\n| 2 | 2,345 | 9.5 |\n"
    assert column(beside, "aggregate_tok_s") == [1234.0, 2345.0]


def test_percentiles_without_a_column_are_left_out() -> None:
    head = "| users | tok/s total | P95 TTFT (ms) | P99 TTFT (ms) | p50 latency (s) | max latency (s) |\n|-|-|-|-|-|-|\n"
    text = head + "| 2 | 40 | 5 | 6 | 7 | 8 |\n"
    kept = {k for k, v in steps(text)[0].items() if v is not None}
    assert kept == {"line", "step", "concurrency", "aggregate_tok_s", "ttft_p99_ms", "e2e_p50_ms"}


def test_total_beside_per_stream_is_not_prompt_plus_output() -> None:
    head = "| Streams | Total TPS | Per-stream mean | Speedup |\n|---|---|---|---|\n"
    rows = steps(head + "| 1 | 70.13 | 70.09 | 1.00× |\n| 2 | 121.64 | 63.27 | 1.73× |\n| 3 | 119.82 | 52.31 | 1.71× |\n")
    assert [(r["aggregate_counts"], r["per_stream_counts"]) for r in rows] == [(None, None)] * 3
    both = "| concurrent requests | output tok/s | total tok/s |\n|---|---|---|\n| 64 | 225 | 516 |\n"
    assert [(r["aggregate_tok_s"], r["aggregate_counts"]) for r in steps(both)] == [(225.0, "output")]
    assert column("| concurrency | total tok/s |\n|---|---|\n| 64 | 516 |\n", "aggregate_counts") == ["total"]


def test_what_per_stream_counts() -> None:
    head = "| c | agg tok/s | {} |\n|---|---|---|\n"
    loose = "| 1 | 30 | 31 |\n| 4 | 100 | 27 |\n| 8 | 160 | 24 |\n"
    exact = "| 1 | 30 | 30 |\n| 4 | 100 | 25.0 |\n| 8 | 161 | 20.1 |\n"
    once = "| 1 | 30 | 30 |\n| 4 | 100 | 25.0 |\n"
    assert column(head.format("decode t/s per seq") + loose, "per_stream_counts") == ["decode"] * 3
    assert column(head.format("tok/s per user") + loose, "per_stream_counts") == [None] * 3
    assert column(head.format("tok/s per user") + exact, "per_stream_counts") == ["derived"] * 3
    assert column(head.format("decode t/s per seq") + exact, "per_stream_counts") == ["derived"] * 3
    assert column(head.format("tok/s per user") + once, "per_stream_counts") == [None] * 2
    latency = "| users | tok/s per user | OSL | latency (s) |\n|---|---|---|---|\n| 1 | 20.0 | 100 | 5.0 |\n| 4 | 12.5 | 100 | 8.0 |\n"
    assert column(latency, "per_stream_counts") == ["latency"] * 2


def test_bare_rates_by_shape_or_not_at_all() -> None:
    head = "| Concurrency | tok/s |\n|---|---|\n"
    rising = head + "| 1 | 30 |\n| 4 | 100 |\n"
    rows, _ = rows_of(PARSER, rising)
    assert [r["aggregate_tok_s"] for r in rows["bench_steps"]] == [30.0, 100.0]
    assert [q["kind"] for q in rows["quality"]] == ["scope-by-shape"]
    assert column(head + "| 1 | 60 |\n| 2 | 40 |\n| 4 | 24.5 |\n| 8 | 13 |\n", "per_stream_tok_s") == [60.0, 40.0, 24.5, 13.0]
    for undecided in ("| 1 | 60 |\n", "| 1 | 60 |\n| 2 | 59 |\n", "| 1 | 60 |\n| 2 | 40 |\n", "| 1 | 60 |\n| 2 | 20 |\n| 4 | 5 |\n"):
        assert steps(head + undecided) == []
        refused = claim(head + undecided)
        assert isinstance(refused, Refusal) and "of all streams or of one" in refused.missing
    assert scope_by_shape([[(1, 60.0), (4, 60.0)]], decode=True) == ""


def test_a_falling_throughput_is_not_called_aggregate() -> None:
    text = "| users | throughput (tok/s) | wall s |\n|---|---|---|\n| 1 | 39 | 5 |\n| 4 | 22 | 20 |\n"
    assert all("aggregate_tok_s" not in r for r in steps(text)) and column(text, "wall_s") == [5.0, 20.0]
    assert counts_of(text).near_miss == 1


def test_units_of_latencies() -> None:
    bare = "| c | agg tok/s | TTFT | TPOT | wall |\n|---|---|---|---|---|\n| 1 | 20 | 65 | 18.5 | 400 |\n| 4 | 60 | 73 | 24 | 900 |\n"
    assert {k for r in steps(bare) for k, v in r.items() if v is not None} == {"line", "step", "concurrency", "aggregate_tok_s"}
    assert any("no unit" in why for _, why in counts_of(bare).rejects)
    mixed = "| c | agg tok/s | P99 TTFT | wall time |\n|---|---|---|---|\n| 1 | 20 | 120 ms | 90 s |\n| 4 | 60 | 1.2 s | 2 min |\n"
    assert [(r["ttft_p99_ms"], r["wall_s"]) for r in steps(mixed)] == [(120.0, 90.0), (1200.0, 120.0)]
    row = "| c | agg | per stream | wall | TTFT |\n|---|---|---|---|---|\n|   | tok/s | tok/s | s | ms |\n| 1 | 22.9 | 25 | 8.4 | 200 |\n"
    assert [(r["wall_s"], r["ttft_mean_ms"]) for r in steps(row)] == [(8.4, 200.0)]
    tpot = "| c | tok/s per user | TPOT |\n|---|---|---|\n| 1 | 50 | 20 |\n| 4 | 25 | 40 |\n"
    assert column(tpot, "tpot_mean_ms") == [20.0, 40.0]


def test_two_systems_in_a_row() -> None:
    text = (
        "| N | 27B (MTP n=3) per-stream | ×N decode-agg | 35B (MTP off) per-stream | ×N decode-agg |\n|--:|--:|--:|--:|--:|\n"
        "| 1 | 85.5 | 85 | — | — |\n| 2 | 51.5 | **103** ⭐ | 131.0 | 262 |\n| 4 | 22.0 | 88 | 66.0 | 264 ⚠ |\n"
    )
    assert [(r["series"], r["concurrency"], r["per_stream_tok_s"], r["aggregate_tok_s"]) for r in steps(text)] == [
        ("27B (MTP n=3)", 1, 85.5, 85),
        ("27B (MTP n=3)", 2, 51.5, 103),
        ("27B (MTP n=3)", 4, 22, 88),
        ("35B (MTP off)", 2, 131, 262),
        ("35B (MTP off)", 4, 66, 264),
    ]
    assert counts_of(text).near_miss == 0
    three = "| concurrency | vLLM tok/s | SGLang tok/s |\n|---|---|---|\n| 1 | 80 | 82 |\n| 8 | 500 | OOM |\n| 16 | 700 | 900 |\n"
    assert [(r["series"], r["aggregate_tok_s"]) for r in steps(three)] == [
        ("vLLM", 80), ("vLLM", 500), ("vLLM", 700), ("SGLang", 82), ("SGLang", 900)]  # fmt: skip
    same = "| concurrency | agg tok/s | agg tok/s | wall s |\n|---|---|---|---|\n| 1 | 80 | 82 | 3 |\n"
    assert [k for k in steps(same)[0] if k.endswith("tok_s")] == [] and counts_of(same).near_miss == 1


def test_series_come_from_keys_headings_and_settings() -> None:
    keyed = "| config | c | output tok/s |\n|---|---|---|\n| AR | 1 | 132.5 |\n| AR | 64 | 3870 |\n| DD | 1 | 285 |\n| DD | 64 | 3795 |\n"
    assert [(r["series"], r["step"], r["aggregate_tok_s"]) for r in steps(keyed)] == [
        ("AR", 1, 132.5), ("AR", 2, 3870), ("DD", 1, 285), ("DD", 2, 3795)]  # fmt: skip
    table = "| N | agg t/s | wall s |\n|---|---|---|\n| 1 | 30 | 4 |\n"
    assert column(f"## A\n{table}\n## B\n{table}", "series") == ["A", "B"]
    limits = "| max-running-requests | c | total tok/s |\n|---|---|---|\n| 64 | 64 | 516 |\n| 1024 | 64 | 689 |\n| 1024 | 256 | 1,950 |\n"
    assert column(limits, "series") == ["max-running-requests=64", "max-running-requests=1024", "max-running-requests=1024"]
    notes = "| users | tok/s total | notes |\n|---|---|---|\n| 1 | 20 | base |\n| 8 | 120 | knee |\n"
    assert column(notes, "series") == [None, None]


def test_tables_on_their_side() -> None:
    head = "| metric | c=1 | c=4 | c=8 |\n|---|---|---|---|\n"
    text = head + "| aggregate tok/s | 22.9 | **49.1** | 49.0 |\n| TTFT p50 (ms) | 220 | 400 | 15,000 |\n"
    assert [(r["concurrency"], r["aggregate_tok_s"], r["ttft_p50_ms"]) for r in steps(text)] == [
        (1, 22.9, 220),
        (4, 49.1, 400),
        (8, 49.0, 15000),
    ]
    first = "| Concurrency | 1 | 2 | 4 |\n|---|---|---|---|\n| tok/s | 20 | 38 | 70 |\n| Latency (s) | 5 | 6 | 7.5 |\n"
    assert [(r["concurrency"], r["aggregate_tok_s"], r["e2e_mean_ms"]) for r in steps(first)] == [
        (1, 20, 5000),
        (2, 38, 6000),
        (4, 70, 7500),
    ]


def test_on_their_side_with_the_metric_elsewhere() -> None:
    cells = "| Context | c=1 | c=4 |\n|---|---|---|\n| 4k | 30 tok/s | 90 tok/s |\n| 32k | 20 tok/s | OOM |\n| 8k | 25 tok/s | 70 tok/s |\n"
    assert [(r["series"], r["concurrency"], r["aggregate_tok_s"]) for r in steps(cells)] == [
        ("Context=4k", 1, 30),
        ("Context=4k", 4, 90),
        ("Context=32k", 1, 20),
        ("Context=8k", 1, 25),
        ("Context=8k", 4, 70),
    ]
    caption = "Aggregate tok/s:\n\n| Context | 1 stream | 4 streams |\n|---|---|---|\n| 4k | 30 | 90 |\n"
    assert column(caption, "aggregate_tok_s") == [30.0, 90.0]
    silent = caption.replace("Aggregate tok/s:", "Results")
    refused = claim(silent)
    assert isinstance(refused, Refusal) and "measure" in refused.missing
    assert (
        steps("| np | pp | tg | wall s |\n|---|---|---|---|\n| 1 | 512 | 128 | 4 |\n| 4 | 512 | 256 | 9 |\n")[0].get("aggregate_tok_s")
        is None
    )


def test_rate_sweeps() -> None:
    text = "| Request rate (req/s) | Completed | Output tok/s |\n|---|---|---|\n| 1 | 100/100 | 250.5 |\n| inf | 98/100 | 2,250.5 |\n"
    assert [(r["rate_rps"], r["concurrency"], r["completed"], r["requests"], r["aggregate_tok_s"]) for r in steps(text)] == [
        (1.0, None, 100.0, 100.0, 250.5),
        (None, None, 98.0, 100.0, 2250.5),
    ]
    both = "| users | RPS | tok/s total |\n|---|---|---|\n| 4 | 1.5 | 100 |\n"
    assert [(r["rate_rps"], r["req_s"]) for r in steps(both)] == [(None, 1.5)]


def test_keys_and_values() -> None:
    inline = "[run] c=1 agg=22.9 tok/s wall=8.4s ttft_p50=210ms\n[run] c=4 agg=49.1 tok/s wall=15.6s ttft_p50=390ms\n"
    assert [(r["line"], r["concurrency"], r["aggregate_tok_s"], r["wall_s"], r["ttft_p50_ms"]) for r in steps(inline)] == [
        (1, 1, 22.9, 8.4, 210.0),
        (2, 4, 49.1, 15.6, 390.0),
    ]
    suffixed = "aggregate_tps_n1: 72.0\naggregate_tps_n4: 261.5\nper_stream_tps_n4: 71.15\nn4_speedup: 3.63x\n"
    assert [(r["concurrency"], r["aggregate_tok_s"], r["per_stream_tok_s"]) for r in steps(suffixed)] == [
        (1, 72.0, None),
        (4, 261.5, 71.15),
    ]
    sent = "==> Sending 2 parallel requests to http://host/v1\n\n--- Results (2 ok, 0 failed, wall-clock 61.5s) ---\n  [0] 200  63.0s\n"
    assert [(r["concurrency"], r["completed"], r["failed"], r["wall_s"]) for r in steps(sent)] == [(2, 2, 0, 61.5)]
    assert "host" not in repr(steps(sent))


@pytest.mark.parametrize(
    "text",
    [
        "| Users | Plan | Price |\n|---|---|---|\n| 5 | Free | 0 |\n",
        "| batch | epoch | loss | time (s) |\n|---|---|---|---|\n| 1 | 1 | 0.3 | 12.1 |\n",
        "| n | time (ms) |\n|---|---|\n| 10 | 1.2 |\n| 100 | 12.0 |\n",
        "| requests | tok/s |\n|---|---|\n| 10 | 44 |\n",
        "| PP | TG | B | N_KV | T_PP s | S_PP t/s | T_TG s | S_TG t/s | T s | S t/s |\n|--|--|--|--|--|--|--|--|--|--|\n"
        "| 128 | 128 | 8 | 2048 | 0.75 | 1311.5 | 7.34 | 131.25 | 8.09 | 240.5 |\n",
        "| model | size | params | backend | threads | test | t/s |\n|--|--|--|--|--|--|--|\n| x | 4 GiB | 7 B |"
        " CUDA | 8 | tg128 | 41.16 ± 0.20 |\n",
        "Request ID  |  TTFT (s)  |  Total latency (s)  |  Status\n---\n\n- req_1     4.0     6.5    success\n",
        "request_id,concurrency,ttft_s,latency_s\n1,8,0.4,12.0\n2,8,0.4,12.1\n",
        "Maximum request concurrency:             4\nBenchmark duration (s):                  411.25\n"
        "Output token throughput (tok/s):         177.50\n",
        "index, utilization.gpu [%], power.draw [W]\n0, 100 %, 301.25 W\n",
        "".join(f"step {n} batch=8 tok/s: 12{n:02} loss=2.1\n" for n in range(30)),
        "users,plan\n4 users asked, 5 got it\n",
        '{"concurrency": 4, "throughput": 33.0}\n',
        "| concurrency | throughput (img/s) |\n|---|---|\n| 4 | 100 |\n",
    ],
)
def test_left_alone(text: str) -> None:
    assert not isinstance(claim(text), Claim)
    assert rows_of(PARSER, text)[0] == {}


def test_rows_that_do_not_fit_are_near_misses_not_shifted_values() -> None:
    text = THREE.replace("| 2 | 20.76 | 37.48 | 10.2 |", "| 2 | 37.48 | 10.2 |").replace("| 4 |", "| four |").replace("49.00", "4x9.0")
    rows, counts = rows_of(PARSER, text)
    assert [r["concurrency"] for r in rows["bench_steps"]] == [1, 8]
    assert rows["bench_steps"][1].get("aggregate_tok_s") is None and rows["bench_steps"][1]["wall_s"] == 31.3
    assert [line for line, _ in counts.rejects] == [6, 7, 8]
    assert counts.lines == 8


def test_a_cut_last_cell_is_unknown() -> None:
    cut = "users,throughput (tok/s),Latency (s)\n1,22.9,8.4\n10,140.2,13"
    assert column(cut, "e2e_mean_ms") == [8400.0, None]
    assert column(THREE[: THREE.index("49.00") + 2], "aggregate_tok_s") == [22.93, 37.48, 49.14]
    assert column(THREE[:-1], "wall_s") == [8.4, 10.2, 15.6, 31.3], "a closing pipe shows that the cell is whole"
    block = "=== 4 concurrent streams ===\n aggregate_TPS=77.5  total_wall=20"
    assert [(r["aggregate_tok_s"], r.get("wall_s")) for r in steps(block)] == [(77.5, None)]


def test_tables_across_blocks_and_inside_a_long_log() -> None:
    log = "".join(f"INFO 01-01 10:00:{n % 60:02} request {n} took 12.5 ms for 4 users\n" for n in range(3000))
    text = log + THREE + log
    for size in (1000, 4096, 1 << 20):
        source = Source.from_text(text)
        blocks = source.blocks
        source.blocks = lambda _=0, b=blocks, s=size: b(s)  # type: ignore[method-assign, misc]
        got: Rows = []
        counts = PARSER.parse(source, lambda t, f, got=got: got.extend(f.to_dicts()) if t == "bench_steps" else None)
        assert [(r["line"], r["wall_s"]) for r in got] == [(3005, 8.4), (3006, 10.2), (3007, 15.6), (3008, 31.3)]
        assert counts.lines == 6008 and counts.matched == 5


def test_a_block_with_a_spoilt_banner_lends_its_numbers_to_nobody() -> None:
    text = "=== 1 concurrent streams ===\n total_wall=20.5s  aggregate_TPS=77.5\n\n=|= 4 conc|rrent streams\n per_stream=71.5  wall=21.0s\n"
    assert [(r["concurrency"], r["wall_s"], r.get("per_stream_tok_s")) for r in steps(text)] == [(1, 20.5, None)]
    again = text.replace("\n\n", "\n").replace("per_stream=71.5", "total_wall=9.5s")
    assert column(again, "wall_s") == [20.5]


# --- properties --------------------------------------------------------------------------------------------------------------------

CORPUS = [
    THREE,
    *(s.text for s in PARSER.samples),
    "c=1 agg=22.9 tok/s wall=8.4s\nc=4 agg=49.1 tok/s wall=15.6s\n",
    "conc,ttft_ms_p50,tpot_ms,tput_tok_s,num_requests\n1,43.5,16.4,61.0,8\n8,83.5,26.4,303,64\n",
    " conc   agg tok/s   per-stream   wall\n    1       22.93        25.35    8.4\n    4       49.14        13.37   15.6\n",
]
MEASURES = re.compile(r"_tok_s$|_ms$|^wall_s$|^req_s$|^concurrency$|^requests$|^failed$")


def _digits(value: float) -> str:
    return re.sub(r"\D", "", f"{value:.12g}").strip("0")


def _lines_of(text: str, row: dict[str, Any]) -> str:
    """The digits of the lines a row may come from: its own and, for blocks and tables on their side, those below it."""
    lines = text.split("\n")
    return re.sub(r"[^\d\n]", "", "\n".join(lines[row["line"] - 1 : row["line"] + 3])) + re.sub(r"\D", "", lines[0])


def _sound(text: str) -> None:
    rows, counts = rows_of(PARSER, text)
    claim(text)
    assert counts.lines == text.count("\n") + (not text.endswith("\n") and text != "")
    for row in rows.get("bench_steps", []):
        held = _lines_of(text, row)
        for name, value in row.items():
            if value is not None and MEASURES.search(name) and value not in (1, 82):  # "single" is one stream, 1m22s is 82 s
                assert _digits(value) in held, (name, value)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(CORPUS), st.data())
def test_any_cut_is_sound(text: str, data: st.DataObject) -> None:
    _sound(text[: data.draw(st.integers(0, len(text)))])
    _sound(text[data.draw(st.integers(0, len(text))) :])


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(CORPUS), st.lists(st.tuples(st.floats(0, 1), st.sampled_from("|,;. \t\n0a-*=:%/×\"'…é\r")), min_size=1, max_size=6))
def test_any_garbled_character_is_sound(text: str, hits: list[tuple[float, str]]) -> None:
    out = list(text)
    for place, mark in hits:
        out[int(place * (len(out) - 1))] = mark
    joined = "".join(out)
    if "\r" in joined:
        rows_of(PARSER, joined)
    else:
        _sound(joined)


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 3), st.integers(4, 7))
def test_dropped_cells_never_shift(at: int, line: int) -> None:
    lines = THREE.split("\n")
    cells = lines[line].split("|")
    del cells[at]
    lines[line] = "|".join(cells)
    whole = {r["line"]: r for r in steps(THREE)}
    for row in steps("\n".join(lines)):
        assert row == {**whole[row["line"]], "step": row["step"]}


@settings(max_examples=10, deadline=None)
@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    rows_of(PARSER, text)


# --- what people also write ----------------------------------------------------------------------------------------------------------


def test_html_breaks_in_headers() -> None:
    text = "| Parallel<br>requests | **Agg.**<br/>tok/s | TTFT<br>(avg, ms) |\n|---:|---:|---:|\n| 1 | 52.3 | 88 |\n| 4 | 94.0 | 3 214 |\n"
    assert [(r["concurrency"], r["aggregate_tok_s"], r["ttft_mean_ms"]) for r in steps(text)] == [(1, 52.3, 88), (4, 94.0, 3214)]


@pytest.mark.parametrize(
    "cells", [("N=1", "N=8"), ("1 user", "8 users"), ("c=1", "c=8"), ("1 concurrent request", "8 concurrent requests")]
)
@pytest.mark.parametrize("header", ["", "Load", "Setup"])
def test_the_load_may_stand_in_the_cells_only(header: str, cells: tuple[str, str]) -> None:
    text = f"| {header} | total t/s | wall (s) |\n|---|---|---|\n| {cells[0]} | 40.5 | 10 |\n| **{cells[1]}** | 122.0 | 31 |\n"
    assert [(r["concurrency"], r["wall_s"]) for r in steps(text)] == [(1, 10), (8, 31)]
    assert steps(text.replace(cells[1], "idle")) == [], "one cell that says no load: the column is another thing"


def test_two_statistics_in_one_column() -> None:
    text = "| c | agg tok/s | TTFT p50/p99 | latency mean / max (s) |\n|---|---|---|---|\n| 1 | 40 | 120 / 160 ms | 5 / 6 |\n| 8 | 120 | — | 15 / 30 |\n"
    assert [(r["ttft_p50_ms"], r["ttft_p99_ms"], r["e2e_mean_ms"]) for r in steps(text)] == [(120, 160, 5000), (None, None, 15000)]


def test_a_latency_of_one_token_is_not_that_of_a_request() -> None:
    text = "batch_size,throughput_tok_s,latency_ms\n1,45.1,22.2\n4,160.2,25.0\n16,480.9,33.3\n"
    assert column(text, "aggregate_tok_s") == [45.1, 160.2, 480.9]
    assert all("e2e_mean_ms" not in r for r in steps(text))
    assert any("time of a token" in why for _, why in counts_of(text).rejects)
    assert column(text.replace("22.2", "2220").replace("25.0", "2500").replace("33.3", "3330"), "e2e_mean_ms") == [2220, 2500, 3330]


@pytest.mark.parametrize(
    "opening",
    [
        "--- concurrency {} ---",
        "Results for concurrency={}:",
        "Testing concurrency {}...",
        "[concurrency: {}]",
        "### Running with 	parallel = {}",
    ],
)
def test_blocks_however_they_open(opening: str) -> None:
    body = "\nrequests:     8\nwall time:    12.3 s\nthroughput:   {} tok/s\nTTFT p50/p99: 0.31s / 0.92s\n\n"
    rows = steps(opening.format(1) + body.format("40.5") + opening.format(4) + body.format("120.5"))
    assert [(r["concurrency"], r["requests"], r["wall_s"], r["aggregate_tok_s"]) for r in rows] == [(1, 8, 12.3, 40.5), (4, 8, 12.3, 120.5)]
    assert all("ttft_p50_ms" not in r for r in rows), "two values under one key say neither"


@pytest.mark.parametrize(
    "text",
    [
        "- c=1: 42.0 tok/s\n- c=4: 121.0 tok/s\n- c=8: 122.5 tok/s\n",
        "1 concurrent request: 42.0 tok/s\n\n4 concurrent requests: 121.0 tok/s\n\n8 concurrent requests: 122.5 tok/s (no gain!)\n",
        "* 1 stream → 42.0 tok/s\n* 4 streams → **121.0** tok/s aggregate\n* 8 streams → 122.5 tok/s aggregate\n",
        "[concurrency 1] 42.0 tok/s total\n[concurrency 4] 121.0 tok/s total\n[concurrency 8] 122.5 tok/s total\n",
        "concurrency=1 -> 42.0 t/s\nconcurrency=4 -> 121.0 t/s\nconcurrency=8 -> 122.5 t/s\n",
        "> Concurrency 1: 42.0 tokens/s\n> Concurrency 4: 121.0 tokens/s\n> Concurrency 8: 122.5 tokens/s\n",
    ],
)
def test_lines_that_begin_with_their_load(text: str) -> None:
    assert [(r["concurrency"], r["aggregate_tok_s"]) for r in steps("Ran it with `-np 4`:\n\n" + text)] == [
        (1, 42.0),
        (4, 121.0),
        (8, 122.5),
    ]


def test_told_per_stream_beside_the_total() -> None:
    text = "4 streams: 120.8 tok/s total, 31.1 tok/s per stream, TTFT 320 ms\n8 streams: 121.5 tok/s total, 15.9 tok/s per stream, TTFT 4.2 s\n"
    assert [(r["aggregate_tok_s"], r["per_stream_tok_s"], r["ttft_mean_ms"]) for r in steps(text)] == [
        (120.8, 31.1, 320),
        (121.5, 15.9, 4200),
    ]
    first = steps("1 stream: 42.0 tok/s\n" + text)[0]
    assert (first["aggregate_tok_s"], first["per_stream_tok_s"]) == (42.0, 42.0), "of one stream it is both"


@pytest.mark.parametrize(
    "text",
    [
        "4 users: 42.0 tok/s\n",  # one line is an anecdote
        "4 users: 42.0 tok/s\n4 users: 43.0 tok/s\n",
        "1 user complained, 40 tok/s is slow\nwe have 8 users\n",
        "c=4: hello\nc=8: 40 tok/s\n",
        "INFO Received request r-1: prompt: 'throughput: 9.0 tokens/s, Running: 9', params: SamplingParams(n=1), lora_request: None.\n",
        "INFO request done: SamplingParams(n=4, max_tokens=5), throughput=8.5 tok/s wall=3s\n",
        "INFO throughput=8.5 tok/s wall=3s n=4\n",
    ],
)
def test_talk_is_no_sweep(text: str) -> None:
    assert steps(text) == []


def test_repeated_runs_of_one_load() -> None:
    runs = "".join(f"| {n} | 8 | 12{n % 10}.5 | 300 |\n" for n in range(1, 11))
    counted = "| run | concurrency | total tok/s | TTFT (ms) |\n|---|---|---|---|\n" + runs
    assert [(r["series"], r["step"]) for r in steps(counted)] == [(None, n) for n in range(1, 11)]
    uncounted = "concurrency,aggregate_tok_s,wall_s\n" + "".join(f"8,12{n}.1,20.{n}\n" for n in range(10))
    assert column(uncounted, "aggregate_tok_s") == [120.1 + n for n in range(10)]
    requests = "concurrency,ttft_s,latency_s\n" + "".join(f"8,0.4,12.{n}\n" for n in range(10))
    refused = claim(requests)
    assert steps(requests) == [] and isinstance(refused, Refusal) and "repeated runs" in refused.missing
    with_loads = "| run | c | total tok/s |\n|---|---|---|\n| 1 | 1 | 40 |\n| 1 | 8 | 120 |\n| 2 | 1 | 41 |\n| 2 | 8 | 121 |\n"
    assert column(with_loads, "series") == ["run=1", "run=1", "run=2", "run=2"]


def test_a_setting_of_repeated_runs_names_the_series() -> None:
    """Two builds measured twice each at both loads are two series; a remark beside one of the rows is no setting."""
    runs = [(c, b, 10 * c + n) for b in ("b10400", "b10420") for c in (4, 8) for n in range(2)]
    text = "| c | build | total tok/s |\n|---|---|---|\n" + "".join(f"| {c} | {b} | {x} |\n" for c, b, x in runs)
    assert column(text, "series") == ["build=b10400"] * 4 + ["build=b10420"] * 4
    remark = "| c | remark | total tok/s |\n|---|---|---|\n" + "".join(
        f"| {c} | {'warm' if n else 'cold'} | {x} |\n" for n, (c, _, x) in enumerate(runs)
    )
    assert set(column(remark, "series")) == {None}


def test_fewer_rows_than_streams_are_runs() -> None:
    """Five runs of each of two builds at 64 streams; five of the requests of such a load would be a part of it, and of one load only."""

    def table(load: int, builds: tuple[str, ...], each: int) -> str:
        rows = "".join(f"| {b} | {load} | {900 + 100 * k + n}.5 |\n" for k, b in enumerate(builds) for n in range(each))
        return "| build | concurrency | output tok/s |\n|---|---|---|\n" + rows

    assert column(table(64, ("b10400", "b10420"), 5), "series") == ["build=b10400"] * 5 + ["build=b10420"] * 5
    assert column(table(64, ("b10400", "b10420"), 5), "aggregate_tok_s")[5:] == [1000.5 + n for n in range(5)]
    for load, builds, each in ((4, ("b10400", "b10420"), 5), (8, ("b10400", "b10420"), 8), (64, ("b10400",), 7)):
        assert isinstance(claim(table(load, builds, each)), Refusal), (load, builds, each)
    uneven = table(64, ("b10400", "b10420"), 5) + "| b10420 | 64 | 1006.5 |\n"
    assert isinstance(claim(uneven), Refusal)


def test_completed_of_sent_with_a_share() -> None:
    text = "| users | ok | tok/s total |\n|---|---|---|\n| 8 | 80/80 | 120 |\n| 16 | 120/160 (75%) | 124 |\n"
    assert [(r["completed"], r["requests"]) for r in steps(text)] == [(80, 80), (120, 160)]


def test_json_of_ones_own() -> None:
    rows = [
        {"concurrency": 1, "aggregate_tok_s": 42.1, "wall_s": 10.25, "ttft_s": {"mean": 0.125, "p99": 0.234}, "note": "x" * 100},
        {"concurrency": 8, "aggregate_tok_s": 121.5, "wall_s": 30.5, "ttft_s": {"mean": 1.234, "p99": float("inf")}},
    ]
    expected = [(1, 42.1, 10.25, 125.0, 234.0), (8, 121.5, 30.5, 1234.0, None)]
    for text in (
        json.dumps(rows),
        json.dumps({"model": "m", "results": rows}, indent=1),
        "".join(json.dumps(r) + "\n" for r in rows),
    ):
        assert isinstance(claim(text), Claim)
        assert [(r["concurrency"], r["aggregate_tok_s"], r["wall_s"], r["ttft_mean_ms"], r["ttft_p99_ms"]) for r in steps(text)] == expected
    summary = {"summary": {"users": 8, "total_output_tokens_per_s": 122.2, "duration_s": 60.1}}
    assert [(r["concurrency"], r["aggregate_tok_s"], r["wall_s"]) for r in steps(json.dumps(summary))] == [(8, 122.2, 60.1)]
    cut = json.dumps(rows)[:-60]
    assert [r["concurrency"] for r in steps(cut)] == [1] and counts_of(cut).lines == 1


@pytest.mark.parametrize(
    "doc",
    [
        {"concurrency": 4, "throughput": 33.0},
        [{"id": n, "concurrency": 8, "ttft_s": 0.4, "latency_s": 12.0} for n in range(10)],
        {"config": {"concurrency": 8, "model": "m", "max_tokens": 256}},
        {"b": 4, "n": 8, "tok_s": 33.0},
    ],
)
def test_json_that_is_no_sweep(doc: Any) -> None:
    assert steps(json.dumps(doc)) == [] and not isinstance(claim(json.dumps(doc)), Claim)


def test_a_table_of_keys_and_values_is_one_step() -> None:
    box = (
        "Benchmarking summary:\n+-----------------------------------+-----------+\n| Key                               |     Value |\n"
        "+===================================+===========+\n| Duration of the run (s)           |   10.5    |\n+-----------------------------------+-----------+\n"
        "| Number of concurrency             |    8      |\n+-----------------------------------+-----------+\n| Total requests                    |   16      |\n"
        "+-----------------------------------+-----------+\n| Output token throughput (tok/s)   |  120.5    |\n+-----------------------------------+-----------+\n"
        "| Average latency (s)               |    4.5    |\n+-----------------------------------+-----------+\n| Average time to first token (s)   |    0.25   |\n"
        "+-----------------------------------+-----------+\n"
    )
    assert [
        (r["concurrency"], r["requests"], r["aggregate_tok_s"], r["aggregate_counts"], r["e2e_mean_ms"], r["ttft_mean_ms"])
        for r in steps(box)
    ] == [(8, 16, 120.5, "output", 4500, 250)]
    markdown = "| Metric | Value |\n|---|---|\n| **Concurrency** | 8 |\n| Output throughput | 120.5 tok/s |\n| Mean TTFT | 250 ms |\n"
    assert [(r["line"], r["concurrency"], r["aggregate_tok_s"], r["ttft_mean_ms"]) for r in steps(markdown)] == [(3, 8, 120.5, 250)]
    both = "| Metric | before | after |\n|---|---|---|\n| Concurrency | 8 | 8 |\n| Output tok/s | 120.5 | 240.5 |\n| Mean TTFT (ms) | 4000 | 250 |\n"
    assert [(r["series"], r["concurrency"], r["aggregate_tok_s"]) for r in steps(both)] == [("before", 8, 120.5), ("after", 8, 240.5)]
    assert steps("| Setting | Value |\n|---|---|\n| Concurrency | 8 |\n| Model | m |\n| ctx | 4096 |\n") == []
    assert steps("| Setting | Value |\n|---|---|\n| Concurrency | 8 |\n| Duration | 60s |\n| prompt tokens | 512 |\n") == []
    assert steps('{"server": {"concurrency": 8, "timeout_s": 30, "duration_s": 5}}') == []


def test_streams_are_whole_numbers_and_the_mean_in_flight_is_not() -> None:
    text = "max_concurrency,concurrency,output_throughput,mean_tpot_ms\n1,0.99,82,12.1\n4,3.94,310,12.6\n16,15.72,600,13.3\n"
    assert [row["concurrency"] for row in steps(text)] == [1, 4, 16]
    assert not steps(text.replace("0.99", "1").replace("3.94", "4").replace("15.72", "16")), "two columns of whole numbers"


# a client that sends 8 or 96 requests, `Concur` of them at a time
SENT = (
    "| ISL | OSL | {} | N | TTFT (ms) | TPOT (ms) | E2EL (ms) | Req/s |\n|---|---|---|---|---|---|---|---|\n"
    "| 256 | 100 | 1 | 8 | 120.5 | 20.5 | 2150.0 | 0.4651 |\n| 256 | 100 | 12 | 96 | 820.5 | 30.5 | 3840.0 | 3.1 |\n"
)


@pytest.mark.parametrize("header", ["Concur", "CCU", "并发数", "最大并发"])
def test_requests_beside_the_streams_are_not_the_streams(header: str) -> None:
    assert column(SENT.format(header), "concurrency") == [1.0, 12.0]


def test_a_letter_that_counts_requests_is_no_load() -> None:
    """By Little's law one and twelve were in flight, not 8 and 96."""
    assert steps(SENT.format("Setting")) == []
    assert "in flight" in str(claim(SENT.format("Setting")))
    streams = SENT.replace("| 8 |", "| 1 |").replace("| 96 |", "| 12 |").format("Setting")
    assert column(streams, "concurrency") == [1.0, 12.0]


DECODE = (
    "| ISL | OSL | Concurrency | TPOT (ms) | Tput User (TPS) | Tput Decode (TPS) | Req/s |\n|---|---|---|---|---|---|---|\n"
    "| 256 | 100 | 1 | 20.5 | 48.78 | 48.8 | 0.4651 |\n| 256 | 100 | 12 | 30.5 | 32.79 | 393.4 | {} |\n"
)


def test_streams_by_the_time_per_token_are_no_aggregate() -> None:
    """A rate that is worked out from the decode steps is more than was made: 12 x 32.79 beside 1.5 x 100 tokens per second."""
    assert column(DECODE.format("1.5"), "aggregate_tok_s") == [None, None]
    assert column(DECODE.format("1.5"), "per_stream_counts") == ["decode", "decode"]
    assert column(DECODE.format("3.9"), "aggregate_tok_s") == [48.8, 393.4]


RICH = (
    "                 Metrics\n┏━━━━━━━┳━━━━━━┳━━━━━━━━━┳━━━━━━━━━┳━━━━━━━━━┓\n┃       ┃      ┃     Avg ┃     P99 ┃    Gen. ┃\n"
    "┃ Conc. ┃  RPS ┃ Lat.(s) ┃ TTFT(s) ┃  toks/s ┃\n┡━━━━━━━╇━━━━━━╇━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━┩\n"
    "│     1 │ 0.25 │   4.000 │   0.150 │   50.25 │\n│     8 │ 1.25 │   6.400 │   0.950 │  250.50 │\n└───────┴──────┴─────────┴─────────┴─────────┘\n"
)


def test_a_header_that_rich_has_wrapped_is_put_together() -> None:
    assert [(r["line"], r["concurrency"], r["e2e_mean_ms"], r["ttft_p99_ms"], r["aggregate_tok_s"]) for r in steps(RICH)] == [
        (6, 1.0, 4000.0, 150.0, 50.25),
        (7, 8.0, 6400.0, 950.0, 250.5),
    ]


@pytest.mark.parametrize(
    ("one", "label"),
    [
        ("**Concurrency:** {}\n**Throughput:** {} tok/s\n**TTFT:** {} ms\n", "bold"),
        ("- **Concurrency**: {}\n- **Throughput**: {} tok/s\n- **TTFT**: {} ms\n", "bold keys in a list"),
        ("Requests    : 40\nConcurrency : {}\nThroughput  : {} tok/s\nTTFT        : {} ms\n", "aligned colons"),
        ("## {} users\n\n- Throughput: {} tok/s\n- TTFT: {} ms\n", "heading"),
        ("Test with {} users\n-----------------\nThroughput: {} tok/s\nTTFT: {} ms\n", "title underlined"),
        ("Run with {} users:\nThroughput: {} tok/s\nTTFT: {} ms\n", "title"),
        ("num_clients: {}\nthroughput_tok_s: {}\nttft_ms: {}\n", "snake case"),
    ],
    ids=lambda x: x if "{" not in x else "",
)
def test_blocks_of_ones_own(one: str, label: str) -> None:
    text = "\n".join(one.format(*values) for values in ((2, 52.5, 110), (8, 212.5, 310)))
    assert [(r["concurrency"], r["aggregate_tok_s"], r["ttft_mean_ms"]) for r in steps(text)] == [(2, 52.5, 110.0), (8, 212.5, 310.0)], (
        label
    )


@pytest.mark.parametrize(
    "text",
    [
        "number of clients: 8\nnumber of threads: 2\nlatency average = 11.013 ms\ntps = 896.967014 (without initial connection time)\n",
        "8 users are served\nThroughput: 212.5 tok/s\nTTFT: 310 ms\n",
        "he has 8 users\nThroughput: 212.5 tok/s\nTTFT: 310 ms\n",
    ],
)
def test_what_only_looks_like_a_block(text: str) -> None:
    """pgbench counts transactions, and a sentence that names users is no title."""
    assert steps(text) == []
