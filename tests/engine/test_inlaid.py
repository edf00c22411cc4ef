"""JSON documents between the lines of other text: read like files of their own, without their times, and only where they begin a line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gpuverdict.engine import inlaid
from gpuverdict.engine.inlaid import Documents, documents
from gpuverdict.engine.parse import read
from gpuverdict.engine.parser import Sample
from gpuverdict.engine.plugins import load_registry
from gpuverdict.engine.source import Source
from gpuverdict.engine.tables import table

PARSERS: list[Any] = load_registry().parsers
INLAID = [p for p in PARSERS if getattr(p, "inlaid", ())]
BEFORE = "$ ./bench.sh | tee log.txt\nINFO 03-01 10:00:00 starting {not json}\n{'a': 1}\n"
AFTER = "INFO 03-01 10:10:00 done\n"
FILLER = "INFO 03-01 10:00:00 nothing to be seen here, for a line or two\n"
RESULT = {
    "backend": "vllm", "model_id": "a/b", "num_prompts": 40, "max_concurrency": 8, "duration": 20.0, "completed": 40,
    "request_throughput": 2.0, "output_throughput": 100.0, "total_output_tokens": 2000, "date": "20260301-101530",
}  # fmt: skip


def facts(text: str, name: str = "run.log") -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    out: dict[str, list[dict[str, Any]]] = {}
    readings = read(Source.from_text(text, name), PARSERS, lambda t, frame: out.setdefault(t, []).extend(frame.to_dicts()))
    return out, [r.parser for r in readings if r.counts.matched]


def _documents(text: str) -> list[dict[str, Any]]:
    """The objects of a text that is one object, or one per line."""
    for parts in ([text], text.strip().split("\n")):
        try:
            found = [json.loads(part) for part in parts]
        except ValueError:
            continue
        return found if all(isinstance(doc, dict) for doc in found) else []
    return []


CASES = [(p, s) for p in INLAID for s in p.samples if any(set(doc) & set(p.inlaid) for doc in _documents(s.text))]


def _timeless(rows: list[dict[str, Any]], target: str, moved: int) -> list[dict[str, Any]]:
    away = {*table(target).times, "resolution_s"}
    return [{k: v + moved if k == "line" else v for k, v in row.items() if k not in away and v is not None} for row in rows]


@pytest.mark.parametrize(("parser", "sample"), CASES, ids=lambda x: getattr(x, "name", None) or x.versions)
def test_a_document_reads_as_in_a_file_of_its_own(parser: Any, sample: Sample) -> None:
    alone, who = facts(sample.text, sample.name)
    among, readers = facts(BEFORE + sample.text.rstrip("\n") + "\n" + AFTER, sample.name)
    assert readers == who == [parser.name]
    for target in set(alone) - {"clocks"}:
        assert _timeless(among[target], target, 0) == _timeless(alone[target], target, BEFORE.count("\n"))
        assert not any(row.get(c) for row in among[target] for c in table(target).times)
    assert {r["kind"] for r in among.get("clocks", [])} <= {"none"}


def test_every_parser_that_declares_documents_shows_one() -> None:
    assert {p.name for p, _ in CASES} | {"sweep-table"} == {p.name for p in INLAID}


def test_lines_of_ones_own_script_are_one_sweep() -> None:
    one = '{"concurrency": %d, "aggregate_tok_s": %s, "ttft_ms": 110.5}\n'
    rows, who = facts(BEFORE + one % (1, 40.5) + "next\n" + one % (8, 122.5) + AFTER)
    assert [(r["line"], r["step"], r["aggregate_tok_s"]) for r in rows["bench_steps"]] == [(4, 1, 40.5), (6, 2, 122.5)]
    assert who == ["sweep-table"]


@pytest.mark.parametrize("indent", [None, 2])
def test_results_far_apart_keep_their_lines(indent: int | None) -> None:
    text = json.dumps(RESULT, indent=indent) + "\n"
    more = json.dumps(RESULT | {"max_concurrency": 16}, indent=indent) + "\n"
    rows, who = facts(FILLER * 6000 + text + FILLER * 6000 + more + FILLER)
    second = 6001 + text.count("\n") + 6000
    assert [(r["line"], r["concurrency"], r["step"]) for r in rows["bench_steps"]] == [(6001, 8.0, 1), (second, 16.0, 2)]
    assert who == ["vllm-bench"]


def test_what_does_not_begin_a_line_is_somebodys_text() -> None:
    result = json.dumps(RESULT)
    request = json.dumps({"model": "a", "messages": [{"role": "user", "content": result}], "metadata": RESULT}, indent=2)
    for text in (f"INFO request: {result}\n", f"  {result}\n", f"> {result}\n", f"{request}\n", result[:-40] + "\n"):
        assert facts(BEFORE + text + AFTER) == ({}, []), text


def test_a_console_and_its_json_are_two_series() -> None:
    console = (
        "============ Serving Benchmark Result ============\nSuccessful requests:                     40        \n"
        "Maximum request concurrency:             8         \nBenchmark duration (s):                  20.00     \n"
        "Output token throughput (tok/s):         100.00    \n==================================================\n"
    )
    rows, who = facts(console + json.dumps(RESULT) + "\n")
    assert [r["series"] for r in rows["bench_steps"]] == [None, "JSON"]
    assert who == ["vllm-bench-console", "vllm-bench"]


def test_one_line_objects_of_a_log_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(inlaid, "json_objects", lambda lines, begins: [seen.append(b.count("{")) for b in lines.blocks()] and [])
    source = Source.from_text('{"level": "info", "n": 1}\n' * 50 + json.dumps(RESULT) + "\n")
    assert documents(source, INLAID) == [] and seen == [1]


def test_a_log_without_a_key_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inlaid, "documents", lambda *a: pytest.fail("nothing to look for"))
    facts(FILLER * 6000 + '{"a": {"b": 1}}\n' + FILLER)
    facts(BEFORE + AFTER)


def test_documents_keep_their_lines() -> None:
    source = Source.from_text("x\n")
    blocks = list(Documents(source, [(3, 4, '{\n"a": 1}'), (6, 6, '{"b": 2}')]).blocks())
    assert "".join(t for _, t in blocks) == '\n\n{\n"a": 1}\n\n{"b": 2}\n'
    assert [first for first, _ in blocks] == [1, 5]
