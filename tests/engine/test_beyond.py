"""Tables far down a long file: found, with their own line numbers, and only where somebody has to look."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine import beyond
from gpuverdict.engine.beyond import Surroundings
from gpuverdict.engine.parse import read
from gpuverdict.engine.parser import Parser
from gpuverdict.engine.plugins import load_registry
from gpuverdict.engine.source import Source

FILLER = "INFO 03-01 10:00:00 [loggers.py:123] Engine 000: Avg prompt throughput: 0.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs\n"
TABLE = "## after the change\n\n| c | aggregate tok/s | TTFT (ms) |\n|---|---|---|\n| 1 | 40.5 | 120 |\n| 8 | 122.5 | 4200 |\n"


def rows_of(text: str, block: int = 1 << 20) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    out: dict[str, list[dict[str, Any]]] = {}
    readings = read(
        Source.from_text(text),
        load_registry().parsers,
        lambda table, frame: out.setdefault(table, []).extend(frame.to_dicts()),
        block=block,
    )
    return out, [r.parser for r in readings]


@pytest.mark.parametrize("before", [4000, pytest.param(100_000, marks=pytest.mark.thorough)])
def test_a_table_far_down_a_log_is_read_with_its_line_numbers(before: int) -> None:
    rows, parsers = rows_of(FILLER * before + TABLE + FILLER * 300)
    assert [(r["line"], r["concurrency"], r["aggregate_tok_s"]) for r in rows["bench_steps"]] == [
        (before + 5, 1.0, 40.5),
        (before + 6, 8.0, 122.5),
    ]
    assert parsers == ["vllm-server", "sweep-table"]


def test_two_tables_far_apart_keep_their_captions() -> None:
    rows, _ = rows_of(FILLER * 4000 + TABLE + FILLER * 5000 + TABLE.replace("after", "before") + FILLER)
    assert [r["series"] for r in rows["bench_steps"]] == ["after the change"] * 2 + ["before the change"] * 2


def test_a_long_log_without_a_table_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beyond.Surroundings, "__init__", lambda *a: pytest.fail("nothing to look for"))
    _, parsers = rows_of(FILLER * 4000)
    assert parsers == ["vllm-server"]


def test_only_what_is_near_a_literal_is_left() -> None:
    text = "".join(f"line {n}\n" for n in range(1, 5001)).replace("line 2500\n", "line 2500 |--\n")
    source = Source.from_text(text)
    for size in (200, 5000, 1 << 20):
        parts = list(Surroundings(source, ["|--"]).blocks(size))
        whole = "".join(part for _, part in parts)
        lines = whole.split("\n")
        assert len(lines) == 5001
        assert all(first == 1 + whole.count("\n", 0, whole.index(part)) for first, part in parts if part.strip())
        kept = [n for n, line in enumerate(lines, 1) if line]
        assert kept[-1] == 2500 + beyond.AFTER and kept == list(range(kept[0], kept[-1] + 1))
        assert 2500 - beyond.BEFORE <= kept[0] <= 2500
    assert kept[0] == 2500 - beyond.BEFORE, "in one block all of the lines above are left"


@pytest.mark.parametrize("parser", [p for p in load_registry().parsers if getattr(p, "beyond", ())], ids=lambda p: p.name)
def test_every_sample_of_such_a_parser_holds_one_of_its_literals(parser: Parser) -> None:
    for sample in parser.samples:
        if not sample.text.lstrip().startswith(("{", "[")) and "csv" not in sample.versions:  # those are a file of their own
            assert any(literal in sample.text for literal in parser.beyond), sample.versions  # type: ignore[attr-defined]


def test_a_printed_summary_far_down_is_read() -> None:
    rows, parsers = rows_of(
        FILLER * 4000 + "Accuracy: 0.905\nInvalid: 0.000\nLatency: 31.500 s\nOutput throughput: 900.500 token/s\n" + FILLER
    )
    assert "timed-evals" in parsers and rows["bench_steps"][0]["wall_s"] == 31.5
