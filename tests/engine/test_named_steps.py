"""One folder or file per step: its load, its requests and its samples are that step's, if nothing in it says otherwise."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from gpuverdict.engine.analyze import Analysis, analyze
from gpuverdict.engine.named_steps import KIND, steps_of
from test_clock import START, smi_csv, verdict, vllm_log


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["c1/server.log", "c16/server.log", "notes.txt"], [1, 16, None]),
        (["run/bench-conc4.json", "run/bench-conc8.json"], [4, 8]),
        (["a_concurrency=2.log", "a_concurrency=32.log"], [2, 32]),
        (["max_concurrency_2/x.log", "max_concurrency_4/x.log"], [2, 4]),
        (["smi-8-streams.csv", "smi_streams_4.csv"], [None, None]),
        (["x.tar!c2/1.json", "x.tar!c4/1.json"], [2, 4]),
        (["users10.log", "user_20.log"], [10, 20]),
        (["c4/server.log", "c4/smi.csv"], [None, None]),  # one number tells nothing apart: c4 is a dataset too
        (["c0.csv", "c1.csv", "c2.csv"], [None, None, None]),  # cards
        (["np4.log", "np8.log", "bs4.log", "bs8.log"], [None, None, None, None]),  # slots and batches are no streams
        (["conc4/users8.log", "conc8/users4.log"], [None, None]),
        (["node1/c2.log", "node2/c4.log"], [2, 4]),
        (["c4/c8.txt", "c8/c4.txt"], [None, None]),
        (["gc8.txt", "gc4.txt", "case-8.txt", "case-4.txt", "c8xlarge.txt", "r8.json", "r4.json"], [None] * 7),
        (["abc1.log", "abc2.log", "c12345.log", "c1x.log"], [None, None, None, None]),
    ],
)
def test_names_tell_steps_apart(names: list[str], expected: list[int | None]) -> None:
    found = steps_of(names)
    assert [found.get(name) for name in names] == expected


def load(streams: int, begin: float = 20.0, rounds: int = 3) -> list[tuple[float, float]]:
    return [(begin + 70 * k + 0.1 * s, begin + 70 * k + 60 + 0.1 * s) for k in range(rounds) for s in range(streams)]


def write(folder: Path, hour: int, streams: int, share: float) -> None:
    folder.mkdir(parents=True)
    begin = START + timedelta(hours=hour)
    (folder / "server.log").write_text(vllm_log(load(streams), begin))
    (folder / "smi.csv").write_text(smi_csv(load(streams), hour * 3600.0, share=share))


def utils(analysis: Analysis) -> dict[str, tuple[float, float, str]]:
    rows = analysis.sql(
        "SELECT label, min(util_gpu) AS low, max(util_gpu) AS high, min(placed) AS placed FROM samples_in_load JOIN scopes USING (scope_id) GROUP BY label"
    )
    return {label: (low, high, placed) for label, low, high, placed in rows.rows()}


def test_a_folder_per_step_makes_a_scope_per_step(tmp_path: Path) -> None:
    for hour, (streams, share) in enumerate([(1, 20.0), (2, 40.0), (4, 80.0)]):
        write(tmp_path / f"c{streams}", hour, streams, share)
    analysis = analyze([tmp_path], tz="+00:00")
    found = utils(analysis)
    assert {label: placed for label, (_, _, placed) in found.items()} == {"c=1": "clock", "c=2": "clock", "c=4": "clock"}
    for label, share in (("c=1", 20), ("c=2", 40), ("c=4", 80)):
        assert share - 2 <= found[label][0] and found[label][1] <= share + 2
    running = dict(analysis.sql("SELECT label, max(running) AS n FROM server_in_scope JOIN scopes USING (scope_id) GROUP BY label").rows())
    assert running == {"c=1": 1.0, "c=2": 2.0, "c=4": 4.0}
    assert "regime" not in set(analysis.sql("SELECT kind FROM scopes")["kind"])


def test_a_name_that_its_log_contradicts_is_not_used(tmp_path: Path) -> None:
    write(tmp_path / "c1", 0, 1, 20.0)
    write(tmp_path / "c2", 1, 5, 40.0)
    analysis = analyze([tmp_path], tz="+00:00")
    found = utils(analysis)
    assert "c=2" not in found and found["4-7 running"][0] > 35
    assert any(q["kind"] == "name-contradicted" and "5 requests" in q["note"] for q in analysis.result.quality)


def test_recordings_without_times_are_kept_apart_and_confirm_nothing(tmp_path: Path) -> None:
    for streams, util in ((1, 33), (4, 90)):
        rows = [f"    {card}    120     45      -     {util}     10      0      0   1215   1410" for _ in range(40) for card in range(3)]
        (tmp_path / f"dmon_c{streams}.txt").write_text(
            "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk\n" + "\n".join(rows) + "\n"
        )
    analysis = analyze([tmp_path], given=("split=layer",))
    assert utils(analysis) == {"c=1": (33.0, 33.0, "unplaced"), "c=4": (90.0, 90.0, "unplaced")}
    assert "confirmed" not in {v for _, v in verdict(analysis, "turn-taking")}


def test_a_bound_recording_and_the_log_of_the_same_time_are_one_scope(tmp_path: Path) -> None:
    write(tmp_path / "run", 0, 2, 50.0)
    (tmp_path / "gpuverdict.toml").write_text('[during]\n"smi.csv" = "c=2"\n')
    analysis = analyze([tmp_path], tz="+00:00")
    assert analysis.sql("SELECT label FROM scopes")["label"].to_list() == ["c=2"]
    assert analysis.sql("SELECT max(running) AS n FROM server_in_scope JOIN scopes USING (scope_id) WHERE label = 'c=2'")[
        "n"
    ].to_list() == [2.0]


def test_a_bound_recording_of_another_load_stays_apart(tmp_path: Path) -> None:
    write(tmp_path / "run", 0, 6, 50.0)
    (tmp_path / "gpuverdict.toml").write_text('[during]\n"smi.csv" = "c=2"\n')
    analysis = analyze([tmp_path], tz="+00:00")
    assert set(analysis.sql("SELECT label FROM scopes")["label"]) == {"c=2", "4-7 running"}


# --- results and responses whose concurrency only the name tells --------------------------------------------------------------------


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


@pytest.mark.thorough
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
