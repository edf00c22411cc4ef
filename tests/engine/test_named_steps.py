"""Streams that only the name of a file or folder tells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gpuverdict.engine.analyze import Analysis, analyze
from gpuverdict.engine.named_steps import KIND, streams_of


@pytest.mark.parametrize(
    ("name", "streams"),
    [
        ("c8/bench.txt", 8),
        ("logs/bench_c16.txt", 16),
        ("run.tar!conc-32/resp_1.json", 32),
        ("results-concurrency4.log", 4),
        ("users=64.csv", 64),
        ("c4/c8.txt", None),
        ("c0/a.txt", None),
        ("gc8.txt", None),
        ("case-8.txt", None),
        ("c8xlarge.txt", None),
        ("r8.json", None),
    ],
)
def test_only_words_for_streams_count(name: str, streams: int | None) -> None:
    assert streams_of(name) == streams


def console(rate: float, ttft_ms: float, tpot_ms: float, requests: int = 40, extra: str = "") -> str:
    """An older vLLM block: no concurrency anywhere."""
    wall = requests * 256 / rate
    pairs = {
        "Successful requests:": requests, "Benchmark duration (s):": f"{wall:.2f}", "Total input tokens:": requests * 512,
        "Total generated tokens:": requests * 256, "Request throughput (req/s):": f"{requests / wall:.2f}",
        "Output token throughput (tok/s):": f"{rate:.2f}", "Mean TTFT (ms):": f"{ttft_ms:.2f}", "Mean TPOT (ms):": f"{tpot_ms:.2f}",
    }  # fmt: skip
    body = "\n".join(f"{k:<40} {v:<10}" for k, v in pairs.items())
    return f"{extra}============ Serving Benchmark Result ============\n{body}\n==================================================\n"


def written(folder: Path, **files: str) -> Analysis:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return analyze([folder])


def steps(found: Analysis) -> list[float | None]:
    return sorted((c for (c,) in found.sql("SELECT concurrency FROM bench_steps").rows()), key=lambda c: c or 0)


def test_a_folder_per_step_is_a_sweep(tmp_path: Path) -> None:
    found = written(tmp_path, c1__bench=console(80, 60, 12.4), c4__bench=console(305, 80, 12.9), c16__bench=console(595, 3300, 13.4))
    assert steps(found) == [1, 4, 16]
    assert {f.scope.label for f in found.findings} == {"c=1", "c=4", "c=16"}
    assert found.sql(f"SELECT count(*) FROM quality WHERE kind = '{KIND}'").rows() == [(3,)]


def test_one_name_alone_and_names_that_little_contradicts_tell_nothing(tmp_path: Path) -> None:
    assert steps(written(tmp_path / "one", c4__bench=console(305, 80, 12.9))) == [None]
    # 595 tok/s at 6.7 s a request are 16 in flight, not 64, and not 4
    wrong = {
        "c1__bench": console(80, 60, 12.4),
        "c64__bench": console(595, 3300, 13.4),
        "c2__bench": console(595, 3300, 13.4),
        "c8__bench": console(588, 120, 13.4),
    }
    assert steps(written(tmp_path / "wrong", **wrong)) == [None, None, 1, 8]


def test_what_a_file_tells_is_not_replaced(tmp_path: Path) -> None:
    told = console(595, 3300, 13.4, extra="Traffic request rate: inf\nMaximum request concurrency: 16\n")
    assert steps(written(tmp_path, c1__bench=console(80, 60, 12.4), c4__bench=console(305, 80, 12.9), c32__bench=told)) == [1, 4, 16]


def response(end: int, number: int) -> str:
    timings = {"prompt_n": 212, "prompt_ms": 400.0, "predicted_n": 300, "predicted_ms": 22_388.0, "predicted_per_second": 13.4}
    usage = {"completion_tokens": 300, "prompt_tokens": 212, "total_tokens": 512}
    return json.dumps(
        {
            "object": "chat.completion",
            "id": f"chatcmpl-{number}",
            "created": end,
            "model": "m",
            "choices": [],
            "usage": usage,
            "timings": timings,
        }
    )


def test_saved_responses_belong_to_the_step_of_their_folder(tmp_path: Path) -> None:
    """Four slots: the second four of eight are complete one service time after the first four."""
    files = {f"c4__r{n}.json": response(1_790_000_000, n) for n in range(4)}
    files |= {f"c8__r{n}.json": response(1_790_000_100 + 23 * (n // 4), 10 + n) for n in range(8)}
    found = {f.scope.label: f.verdict for f in written(tmp_path, **files).findings if f.rule == "slot-queue"}
    assert (found["c=4"], found["c=8"]) == ("cannot-tell", "fits")


def test_fewer_responses_than_streams_belong_to_no_step(tmp_path: Path) -> None:
    files = {f"c4__r{n}.json": response(1_790_000_000, n) for n in range(4)} | {"c8__r0.json": response(1_790_000_100, 9)}
    assert "c=8" not in {f.scope.label for f in written(tmp_path, **files).findings}
