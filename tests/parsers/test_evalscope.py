"""EvalScope: blocks of every version, what their names hide, what stands in the same text."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from gpuverdict.engine.parse import read as read_all
from gpuverdict.engine.parser import Claim
from gpuverdict.engine.plugins import load_registry
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.evalscope import PARSER
from open_ended import document_tests, line_tests, read

facts = partial(read, PARSER)
LINES, TABLE, GROUPS, OVERVIEW, SAVED = (s.text for s in PARSER.samples)


def steps(text: str) -> list[dict[str, Any]]:
    return facts(text)[0].get("bench_steps", [])


def everything(text: str) -> list[dict[str, Any]]:
    """The steps that all parsers find."""
    out: list[dict[str, Any]] = []
    read_all(Source.from_text(text), load_registry().parsers, lambda t, frame: out.extend(frame.to_dicts()) if t == "bench_steps" else None)
    return out


class Text:
    """The samples that are read by lines."""

    name, api, claims, parse = PARSER.name, 1, staticmethod(PARSER.claims), staticmethod(PARSER.parse)
    samples = PARSER.samples[:4]


class Json(Text):
    samples = PARSER.samples[4:]


DERIVED = (
    "step",
    "line",
    "series",
    "concurrency",
    "tpot_mean_ms",
    "ttft_mean_ms",
    "itl_mean_ms",
)  # of a block that is cut less is known against them
test_blocks, test_cut, test_garbled, test_noise = line_tests(Text(), alphabet="| Concurrency 123\nTTFT (ms)│", derived=DERIVED)  # type: ignore[arg-type]
test_json_blocks, test_json_cut, test_json_garbled = document_tests(Json())  # type: ignore[arg-type]


def test_samples_are_claimed() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(PARSER.claims(Source.from_text(sample.text, sample.name).head()), Claim)


KEYS = (
    "| Key | Value |\n|---|---|\n| Time taken for tests (s) | 60.5 |\n| Number of concurrency | 16 |\n| Succeed requests | 64 |\n"
    "| Failed requests | 0 |\n| Output token throughput (tok/s) | 211.5 |\n| Average latency (s) | 15.1 |\n"
    "| Average time to first token (s) | 0.9 |\n| Average time per output token (s) | {} |\n"
    "| Average input tokens per request | 100.0 |\n| Average output tokens per request | 200.0 |\n"
)


@pytest.mark.parametrize("behind", [False, True])
def test_a_time_per_token_of_all_streams_is_none_of_one(behind: bool) -> None:
    """EvalScope called one over its throughput so; later versions print the time of a request's token."""

    def form(tpot: str) -> str:
        lines = KEYS.format(tpot).split("\n")
        return (
            "\n".join(
                [line for line in lines if "latency" not in line] + [line for line in lines if "latency" in line] if behind else lines
            )
            + "\n"
        )

    (row,) = steps(form("0.0714"))
    assert (row["tpot_mean_ms"], row["wall_s"], row["completed"], row["input_len"], row["output_len"]) == (71.4, 60.5, 64.0, 100.0, 200.0)
    (row,) = steps(form("0.00473"))
    assert row["tpot_mean_ms"] is None and row["ttft_mean_ms"] == 900.0 and row["e2e_mean_ms"] == 15100.0


@pytest.mark.parametrize("text", [TABLE, GROUPS, KEYS.format("0.0714"), SAVED, f"text\n{SAVED}text\n"])
def test_nobody_else_reads_the_same_block(text: str) -> None:
    assert len(everything(text)) == 1


def test_blocks_of_a_sweep_keep_their_percentiles() -> None:
    more = TABLE.replace("| 4       |", "| 8       |").replace("0.2250", "0.4450")
    rows = steps(TABLE + more)
    assert [(r["step"], r["concurrency"], r["ttft_p50_ms"]) for r in rows] == [(1, 4.0, 225.0), (2, 8.0, 445.0)]
    rows = steps(LINES + LINES.replace("concurrency: 8", "concurrency: 16").replace("p50: 0.3500", "p50: 0.7500"))
    assert [(r["concurrency"], r["ttft_p50_ms"]) for r in rows] == [(8.0, 350.0), (16.0, 750.0)]


def test_percentiles_far_from_their_block_belong_to_nothing() -> None:
    at = TABLE.index("Percentile results")
    assert steps(TABLE[:at] + "x 50%\n" * 100 + TABLE[at:])[0]["ttft_p50_ms"] is None
    assert steps(TABLE[at:]) == []


def test_a_run_without_a_success_has_no_measures() -> None:
    text = GROUPS.replace("26 / 25 / 1", "26 / 0 / 26")
    rows = facts(text)[0]
    assert rows["bench_steps"][0]["failed"] == 26.0 and rows["bench_steps"][0]["ttft_p50_ms"] is None
    assert rows["quality"][0]["kind"] == "all-failed"


def test_clients_that_are_kept_busy_count_as_offered() -> None:
    assert steps(GROUPS.replace("        5.00", "       30.00"))[0]["concurrency"] == 16.0
    assert steps(GROUPS.replace("        0.50 │\n│ Total /", "       -1.00 │\n│ Total /"))[0]["concurrency"] == 16.0
    assert steps(GROUPS.replace("         16 │", "        INF │"))[0]["concurrency"] is None


@pytest.mark.parametrize(
    "text",
    [
        "Concurrency: 8\nTotal requests: 40\nAverage latency: 3.9\n",
        "| Metric | Value |\n|---|---|\n| Concurrency | 8 |\n| TTFT (ms) | 310 |\n| Output Throughput (tok/s) | 120 |\n",
        "user: Number of concurrency: 8\nTime taken for tests: a while\n",
    ],
)
def test_labels_that_others_use_too_are_no_block(text: str) -> None:
    assert steps(text) == []
    assert not isinstance(PARSER.claims(Source.from_text(text).head()), Claim)


def test_the_report_over_all_runs_is_a_series_of_its_own() -> None:
    report = (
        "│ Performance Test Summary Report │\n\n| Conc. | RPS | Avg Lat.(s) | Gen. toks/s |\n|---|---|---|---|\n"
        "| 4 | 0.79 | 5.0 | 158.4 |\n| 8 | 1.10 | 7.0 | 210.5 |\n"
    )
    assert [(r.get("series"), r["concurrency"]) for r in everything(TABLE + report)] == [("blocks", 4.0), (None, 4.0), (None, 8.0)]


def test_the_overview_counts_where_no_block_says_the_same() -> None:
    assert [r["concurrency"] for r in everything(OVERVIEW)] == [1.0, 8.0]
    assert [r["concurrency"] for r in everything(TABLE + OVERVIEW)] == [4.0]
    two = steps(OVERVIEW + OVERVIEW.replace("250.50", "300.50"))
    assert [(r["series"], r["concurrency"], r["aggregate_tok_s"]) for r in two] == [
        ("report 1", 1.0, 50.5), ("report 1", 8.0, 250.5), ("report 2", 1.0, 50.5), ("report 2", 8.0, 300.5),
    ]  # fmt: skip
    assert two[0]["e2e_mean_ms"] == two[2]["e2e_mean_ms"] == pytest.approx(4025.0)


def test_latencies_of_another_table_are_not_taken_in() -> None:
    at = OVERVIEW.index("                    Per-Request")
    assert steps(OVERVIEW[at:]) == []
    other = "| a | b | c | d | e | f | g |\n|---|---|---|---|---|---|---|\n" + OVERVIEW[at:].replace("Conc.", "Users")
    assert all(r["e2e_mean_ms"] is None for r in steps(OVERVIEW[:at] + other))


@pytest.mark.parametrize(("tpot", "kept"), [("0.0047", None), ("0.0043", 4.3), ("0.00445", 4.45)])
def test_of_one_client_too(tpot: str, kept: float | None) -> None:
    """One over 211.5 tok/s is 4.73 ms; (0.95 - 0.09) s over 199 tokens are 4.32 ms each, (0.98 - 0.09) s 4.47."""
    text = (
        KEYS.replace("| 16 |", "| 1 |").replace("| 0.9 |", "| 0.09 |").replace("| 15.1 |", "| 0.98 |" if tpot == "0.00445" else "| 0.95 |")
    )
    (row,) = steps(text.format(tpot))
    assert row["tpot_mean_ms"] == (pytest.approx(kept) if kept else None)
