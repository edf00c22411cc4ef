"""TensorRT-LLM logs: iteration lines of every form, Triton and JSON statistics, limits."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.testing import check_conformance, check_samples, rows_of
from gpuverdict.parsers.trtllm_server import PARSER


def iteration(n: int, device: str = "N/A", rank: int = 0, states: tuple[int, int, int] = (0, 0, 8), scheduled: str = " = 5") -> str:
    a, b, c = states
    return (
        f"[06/01/2026-10:00:00] [TRT-LLM] [I] iter = {n}, global_rank = {rank}, rank = 0, num_scheduled_requests{scheduled}, "
        f"currank_total_requests = 0/9, host_step_time = 4.0ms, prev_device_step_time = {device}, timestamp = 2026-06-01 10:00:00, "
        f"states = {{'num_ctx_requests': {a}, 'num_ctx_tokens': {b}, 'num_generation_tokens': {c}}}\n"
    )


def samples(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("server_samples", [])


def config(text: str) -> dict[str, Any]:
    return {r["key"]: r["value"] if r["num"] is None else r["num"] for r in rows_of(PARSER, text)[0].get("server_config", [])}


def test_samples() -> None:
    check_samples(PARSER)


def test_conformance() -> None:
    check_conformance(PARSER)


def test_device_time_belongs_to_the_iteration_before() -> None:
    text = iteration(1) + iteration(2, "20.5ms") + iteration(3, "30.5ms")
    assert [r["step_ms"] for r in samples(text)] == [20.5, 30.5, None]
    assert [r["step_ms"] for r in samples(iteration(1) + iteration(3, "20.5ms"))] == [None, None]  # a line is missing
    assert [r["step_ms"] for r in samples(iteration(9) + iteration(1, "20.5ms"))] == [None, None]  # begins again
    two = iteration(1, rank=0) + iteration(1, rank=1) + iteration(2, "20.5ms", rank=1) + iteration(2, "40.5ms", rank=0)
    assert [r["step_ms"] for r in samples(two)] == [40.5, 20.5, None, None]


@pytest.mark.parametrize(("states", "phase"), [((1, 9, 0), "prefill"), ((0, 0, 8), "decode"), ((1, 9, 8), "mixed"), ((0, 0, 0), None)])
def test_phase(states: tuple[int, int, int], phase: str | None) -> None:
    assert samples(iteration(1, states=states))[0]["phase"] == phase


@pytest.mark.parametrize("scheduled", [" = 5", ": 5"])
def test_scheduled_is_running_and_waiting_is_unknown(scheduled: str) -> None:
    (row,) = samples(iteration(1, scheduled=scheduled))
    assert (row["running"], row["waiting"], row.get("gen_tok_s")) == (5, None, None)


@pytest.mark.parametrize("head", ["[TRT-LLM] [I] [_torch][RANK 0] ", "[TRT-LLM] [RANK 0] [I] ", "[TRT-LLM] [V] "])
@pytest.mark.parametrize("time", ["10:00:00", "10:00:00.250"])
def test_tags_and_times_of_the_header(head: str, time: str) -> None:
    (row,) = samples(iteration(1).replace("[TRT-LLM] [I] ", head).replace("-10:00:00]", f"-{time}]"))
    assert (row["running"], row["time"]) == (5, 1780308000.0)


def test_an_arrival_has_the_time_of_its_header() -> None:
    rows, _ = rows_of(PARSER, "[05/01/2025-10:00:01] [TRT-LLM] [I] Received request 0f0f-1 at 3000.500000001\n")
    assert [(r["kind"], r["time"]) for r in rows["server_events"]] == [("arrival", 1746093601.0)]
    assert rows["clocks"][0]["kind"] == "local-no-zone"


@pytest.mark.parametrize(("printed", "share"), [("0.250", 0.25), ("1.000", 1.0), ("25%", None), ("25.0", None)])
def test_usage_is_a_share_or_unknown(printed: str, share: float | None) -> None:
    assert samples(iteration(1).replace(" = 5, ", f" = 5, kv_cache_util = {printed}, "))[0]["kv_usage"] == share


def test_mpi_rank_in_front() -> None:
    text = "".join(f"0: {iteration(n)}" for n in range(1, 4))
    assert [r["running"] for r in samples(text)] == [5, 5, 5]


def test_the_last_pool_counts() -> None:
    line = "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 0.5 GiB for max tokens in paged KV cache ({}).\n"
    assert config(line.format(8192) + line.format(90112)) == {"kv_tokens": 90112}


def test_limits_of_the_cpp_runtime() -> None:
    text = "[TensorRT-LLM][INFO] TRTGptModel maxNumSequences: 32\n[TensorRT-LLM][INFO] TRTGptModel maxSequenceLen: 2048\n"
    assert config(text) == {"slots": 32, "slots_source": "maxNumSequences", "n_ctx_slot": 2048}


def test_several_objects_on_a_line_are_a_near_miss() -> None:
    one = '{"numActiveRequests":1,"numQueuedRequests":2,"kvCacheStats":{"usedNumBlocks":1,"maxNumBlocks":4}}'
    assert [(r["running"], r["waiting"], r["kv_usage"]) for r in samples(one + "\n")] == [(1, 2, 0.25)]
    assert samples(f"[{one}]\n") == samples(one + "\n")
    assert rows_of(PARSER, f"{one}{one}\n")[1].near_miss == rows_of(PARSER, f"[{one},{one}]\n")[1].near_miss == 1


def test_an_impossible_day_gives_no_time() -> None:
    text = PARSER.samples[-1].text.replace("05-09-2025", "99-99-2025")
    (row,) = samples(text)
    assert row["time"] is None and row["running"] == 4


@pytest.mark.parametrize("before", ["prompt: '", "[06/01/2026-10:00:00] [TRT-LLM] [I] user said "])
def test_quoted_text_gives_nothing(before: str) -> None:
    assert rows_of(PARSER, before + iteration(1))[1].matched == 0


def stat(queued: int = 1, mode: str = "", cpu: int = 0) -> str:
    return (
        f'{{"cpuMemUsage":{cpu},"iterLatencyMS":9.5,"kvCacheStats":{{"maxNumBlocks":100,"usedNumBlocks":25}},"numActiveRequests":2,'
        f'"numQueuedRequests":{queued},{mode}"timestamp":"05-09-2025 10:10:10.250000"}}'
    )


@pytest.mark.parametrize("between", [",", ", "])
def test_the_list_of_metrics(between: str) -> None:
    rows = samples("[" + between.join(stat(n) for n in (1, 0, 7)) + "]\n")
    assert [(r["waiting"], r["kv_usage"]) for r in rows] == [(1, 0.25), (0, 0.25), (7, 0.25)]
    assert [r["waiting"] for r in samples(f"```{stat(3)},```\n")] == [3]
    assert [
        r["waiting"]
        for r in samples("[" + ",".join(stat(n) for n in (1, 2)) + ',{"cpuMemUsage":0,"numActiveRequests":2,"numQueuedRequests":1')
    ] == [1, 2]
    assert samples(f"she sent {stat()}\n") == []


@pytest.mark.parametrize(
    ("mode", "cpu", "step"),
    [("", 0, None), ('"schedulerMode":"overlap",', 0, None), ('"schedulerMode":"non_overlap",', 0, 9.5), ("", 5, 9.5)],
)
def test_the_latency_of_the_overlap_scheduler_spans_two_iterations(mode: str, cpu: int, step: float | None) -> None:
    (row,) = samples(stat(mode=mode, cpu=cpu) + "\n")
    assert row["step_ms"] == step


def test_one_start_of_the_runtime_is_one_run() -> None:
    says = "[TensorRT-LLM][INFO] TRTGptModel {}\n"
    text = says.format("maxNumSequences: 9") + says.format("maxSequenceLen: 700") + says.format("maxNumTokens: 512")
    runs = {r["key"]: r["run"] for r in rows_of(PARSER, text)[0]["server_config"]}
    assert runs == {"slots": 0, "slots_source": 0, "n_ctx_slot": 0, "max_batched_tokens": 0}
