"""vLLM server logs: every era, process prefixes, runs, slots and their defaults, quoted prompts, cuts."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.testing import check_block_sizes, check_counts, check_cut, check_garbled, check_samples, rows_of, wrapped
from gpuverdict.parsers.vllm_server import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

API = "(APIServer pid=1) "
ARGS = "INFO 10-06 15:00:00 [utils.py:233] non-default args: {{{}}}\n"
CONFIG = (
    "INFO 10-06 15:00:10 [core.py:77] Initializing a {core} LLM engine (v{version}) with config: model='acme/Tiny', "
    "speculative_config=None, "
    "max_seq_len=4096, tensor_parallel_size={tp}, pipeline_parallel_size={pp}, data_parallel_size={dp}, "
    "quantization=None, device_config={device})\n"
)
DERIVED = (
    "slots",
    "split",
    "kv_tokens",
    "version",
    "weights_gib_per_rank",
    "kv_gib_per_rank",
    "device_mem_gib",
    "custom_all_reduce",
    "origin",
)


def stats(second: int = 0, running: int = 4, waiting: int = 0, engine: int | str = 0, file: str = "loggers.py:127") -> str:
    who = f"Engine {engine:03d}: " if isinstance(engine, int) else engine
    return (
        f"INFO 10-06 15:02:{second:02d} [{file}] {who}Avg prompt throughput: 1.5 tokens/s, Avg generation throughput: 2.5 tokens/s, "
        f"Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache usage: 12.5%, Prefix cache hit rate: 50.0%\n"
    )


def config(core: str = "V1", version: str = "0.11.0", tp: int = 1, pp: int = 1, dp: int = 1, device: str = "cuda") -> str:
    return CONFIG.format(core=core, version=version, tp=tp, pp=pp, dp=dp, device=device)


def table(text: str, name: str = "server_samples") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(name, [])


def said(text: str, key: str) -> list[tuple[Any, ...]]:
    return [
        (r["num"], r["num_hi"], r["origin"]) if r["num"] is not None else r["value"]
        for r in table(text, "server_config")
        if r["key"] == key
    ]


def test_samples() -> None:
    check_samples(PARSER)


def test_blocks_of_any_size() -> None:
    check_block_sizes(PARSER, "".join(s.text for s in PARSER.samples), sizes=(90, 1500))


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        API,
        "(EngineCore_DP0 pid=12) ",
        "(RayWorkerWrapper pid=631, ip=192.0.2.7) ",
        "(task, pid=9) (APIServer pid=1) ",
        "[node-1] ",
        "[1;36m(APIServer pid=5)[0;0m ",
        "\x1b[1;36m(APIServer pid=5)\x1b[0;0m ",
        "vllm-1  | ",
        "(ServeReplica:app:LLMServer:tiny-8b pid=17, ip=192.0.2.9) ",
        "Loading shards: 100% 4/4 [00:24<00:00,  6.07s/it]",
        "Processed prompts:  10%|#  | 3/30 [00:01<00:10, 2.5it/s, est. speed input: 100.00 toks/s, output: 300.00 toks/s]",
    ],
)
def test_what_may_stand_before_a_record(prefix: str) -> None:
    (row,) = table(prefix + stats(3, 7, 2))
    assert (row["time"], row["running"], row["waiting"], row["engine"]) == (87_231_723.0, 7.0, 2.0, 0)


def test_two_records_on_one_line() -> None:
    text = stats(0, 1) + stats(10, 2).rstrip("\n") + stats(20, 3) + stats(30, 4).rstrip("\n") + API + stats(40, 5)
    assert [(r["line"], r["running"], r["time"] % 60) for r in table(text)] == [(1, 1, 0), (2, 2, 10), (2, 3, 20), (3, 4, 30), (3, 5, 40)]


def test_a_prompt_gives_nothing_but_an_arrival() -> None:
    quoted = (stats(1, 99) + ARGS.format("'max_num_seqs': 7")).replace("\n", "%")
    for inner in (quoted, "%" + quoted, "\\n" + quoted, "%" + API + quoted):
        line = f"INFO 10-06 15:02:05 [logger.py:43] Received request c-1: prompt: '{inner}', params: SamplingParams(n=1)\n"
        rows, counts = rows_of(PARSER, stats(0) + line + stats(10))
        assert [r["running"] for r in rows["server_samples"]] == [4.0, 4.0]
        assert [(r["kind"], r["run"], r["engine"]) for r in rows["server_events"]] == [("arrival", 0, None)]
        assert "slots" not in {r["key"] for r in rows["server_config"]}
        assert {r["run"] for r in rows["server_samples"]} == {0}
        check_counts(counts, stats(0) + line + stats(10), "quoted")


def test_a_bare_record_counts_only_where_none_has_a_header() -> None:
    bare = stats(0, 9).split("] ", 1)[1]
    assert [r["running"] for r in table(bare)] == [9.0]
    assert [r["running"] for r in table(stats(0, 4) + bare)] == [4.0]


def test_statistics_wrapped_into_two_lines() -> None:
    text = (
        "Engine 000: Avg prompt throughput: 255.5 tokens/s, Avg generation throughput: 4757.5 tokens/s\n"
        "Running: 100 reqs, Waiting: 0 reqs, GPU KV cache usage: 12.5%, Prefix cache hit rate: 0.0%\n"
    )
    (row,) = table(text)
    assert (row["running"], row["waiting"], row["kv_usage"], row["gen_tok_s"]) == (100.0, 0.0, 0.125, 4757.5)
    assert table(text.split("\n")[1] + "\n") == []


@pytest.mark.parametrize(
    "head",
    [
        "2025-07-28 06:40:59,123 - vllm.v1.metrics.loggers - INFO - ",
        "[2025-07-28T06:40:59] INFO vllm.v1.metrics.loggers: ",
        "2025-07-28 06:40:59,123 - INFO - ",
        "2025-07-28 06:40:59.123 | INFO     | vllm.v1.metrics.loggers:log:123 - ",
        "INFO 2025-07-28 06:40:59,250 [loggers.py:127] ",
    ],
)
def test_other_loggers(head: str) -> None:
    rows, _ = rows_of(PARSER, head + stats().split("] ", 1)[1])
    assert rows["server_samples"][0]["running"] == 4.0
    assert int(rows["server_samples"][0]["time"]) == 1_753_684_859
    assert rows["clocks"][0]["kind"] == "local-no-zone"


def test_a_logger_without_a_time() -> None:
    (row,) = table("INFO:vllm.v1.metrics.loggers:" + stats().split("] ", 1)[1])
    assert (row["running"], row["time"]) == (4.0, None)


def test_a_record_in_another_dress_beside_native_ones_is_a_quotation() -> None:
    body = stats(0, 9).split("] ", 1)[1]
    for head in ("2025-07-28 06:40:59,123 - vllm.v1.metrics.loggers - INFO - ", "INFO:vllm.v1.metrics.loggers:"):
        assert [r["running"] for r in table(head + body)] == [9.0]
        assert [r["running"] for r in table(stats(0, 4) + head + body)] == [4.0]


def test_milliseconds_of_a_changed_date_format() -> None:
    (row,) = table(stats(3).replace("15:02:03", "15:02:03.250"))
    assert row["time"] == 87_231_723.25


@pytest.mark.parametrize(
    "extra", ["Deferred: 2 reqs, ", "Paused: 2 reqs, Preemptions: 3, ", "Corrupted: 1 reqs, ", "Some new words: 7.5%, "]
)
def test_an_unknown_field_costs_nothing(extra: str) -> None:
    (row,) = table(stats(3, 7, 2).replace("GPU KV", extra + "GPU KV"))
    assert (row["running"], row["waiting"], row["kv_usage"], row["prefix_hit"]) == (7.0, 2.0, 0.125, 0.5)
    assert row["preemptions"] == (3.0 if "Preemptions" in extra else None)


def test_usage_of_the_cards_cache_only() -> None:
    assert table(stats().replace("GPU KV", "KV"))[0]["kv_usage"] == 0.125
    assert table(stats().replace("GPU KV", "CPU KV"))[0]["kv_usage"] is None
    assert table(stats().replace("usage: 12.5%", "usage: n/a"))[0]["kv_usage"] is None


def test_cloud_records_around_native_lines() -> None:
    line = (API + stats(3, 7)).rstrip("\n")
    for key in ("message", "msg", "textPayload"):
        (row,) = table(f'{{"severity": "INFO", "{key}": "{line}"}}\n')
        assert (row["running"], row["time"]) == (7.0, 87_231_723.0)


def test_json_records() -> None:
    message = stats().split("] ", 1)[1].rstrip("\n")
    rows, _ = rows_of(PARSER, f'{{"level": "INFO", "message": "{message}", "timestamp": "2025-07-28T06:40:59Z"}}\n')
    assert (rows["server_samples"][0]["running"], rows["server_samples"][0]["time"]) == (4.0, 1_753_684_859.0)
    assert rows["clocks"][0]["kind"] == "utc"


def test_another_server_with_the_same_words_is_not_taken() -> None:
    lmdeploy = (
        "[2026-02-05 17:05:17 DP0] Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Finished: 3 reqs, "
        "Unfinished: 4 reqs, Running: 5 reqs, Waiting: 6 reqs, GPU KV cache usage: 7.0%\n"
    )
    uvicorn = 'INFO:     192.0.2.1:50000 - "POST /v1/chat/completions HTTP/1.1" 200 OK\nINFO:     Application startup complete.\n'
    for text in (lmdeploy, uvicorn, "[2025-09-11 10:26:05] " + uvicorn):
        rows, counts = rows_of(PARSER, text)
        assert counts.matched == 0 and rows == {}


def test_aggregated_lines_count_only_alone() -> None:
    both = stats(0, 3, engine=0) + stats(0, 5, engine=1) + stats(0, 8, engine="2 Engines Aggregated: ")
    assert [(r["engine"], r["running"]) for r in table(both)] == [(0, 3.0), (1, 5.0)]
    assert [(r["engine"], r["running"]) for r in table(stats(0, 8, engine="2 Engines Aggregated: "))] == [(None, 8.0)]


@pytest.mark.parametrize(
    ("line", "accept_len"),
    [
        ("Draft acceptance rate: 50.0%, Accepted: 50 tokens, Drafted: 100 tokens", None),  # 0.8.3: no length
        ("Draft acceptance rate: 38.8%, Mean acceptance length: 1.16, Accepted: 150 tokens, Drafted: 387 tokens, "
         "Per-position acceptance rate: 0.543, 0.357, 0.264", 2.16),
        ("Draft acceptance rate: 38.8%, Mean acceptance length: 2.16, Accepted: 150 tokens, Drafted: 387 tokens, "
         "Per-position acceptance rate: 0.543, 0.357, 0.264", 2.16),
        ("Draft acceptance rate: 38.8%, Mean acceptance length: 2.16, Accepted: 150 tokens, Drafted: 387 tokens", None),
        ("Mean acceptance length: 2.50, Accepted throughput: 6.00 tokens/s, Drafted throughput: 8.00 tokens/s, Accepted: 600 tokens, "
         "Drafted: 800 tokens, Per-position acceptance rate: 0.900, 0.600, Avg Draft acceptance rate: 75.0%", 2.5),
        ("Mean acceptance length: nan, Accepted throughput: 0.00 tokens/s, Accepted: 0 tokens, Drafted: 0 tokens", None),
    ],
)  # fmt: skip
def test_accepted_length(line: str, accept_len: float | None) -> None:
    text = f"{API}INFO 10-06 15:02:00 [metrics.py:86] SpecDecoding metrics: {line}\n"
    assert [r["accept_len"] for r in table(text)] == ([pytest.approx(accept_len)] if accept_len else [])
    assert said(text, "speculation") == ["on"]


@pytest.mark.parametrize("words", ["tokens", "tokens tokens"])  # doubled up to 0.5.4
def test_totals_of_v0(words: str) -> None:
    line = f"draft {words}: 400, Number of emitted {words}: 250.\n"
    head = "INFO 10-06 15:02:00 metrics.py:400] Speculative metrics: Draft acceptance rate: 0.500, System efficiency: 0.500, "
    text = head + "Number of speculative tokens: 4, Number of accepted tokens: 200, Number of " + line
    assert [r["accept_len"] for r in table(text)] == [2.5]


def test_length_without_rates_follows_the_version() -> None:
    head = "INFO 10-06 15:02:00 [metrics.py:86] SpecDecoding metrics: "
    line = head + "Draft acceptance rate: 50.0%, Mean acceptance length: 1.50, Accepted: 9 tokens, Drafted: 18 tokens\n"
    got = [[r["accept_len"] for r in table(config(version=v) + line)] for v in ("0.8.5", "0.9.0", "0.8.4")]
    assert got == [[2.5], [1.5], []]


def default_slots(*lines: str) -> list[tuple[Any, ...]]:
    return said("".join(lines), "slots")


@pytest.mark.parametrize(
    ("core", "version", "more", "slots"),
    [
        ("V0", "0.9.1", "", (256.0, None)),
        ("V1", "0.8.2", "", (1024.0, None)),
        ("V1", "0.8.4", "", (256.0, 1024.0)),
        ("V1", "0.8.4", "H100", (1024.0, None)),
        ("V1", "0.8.5", "24", (256.0, None)),
        ("V1", "0.8.5", "80", (1024.0, None)),
        ("V1", "0.11.0", "", (256.0, 1024.0)),
        ("V1", "0.11.0", "24", (256.0, None)),
        ("V1", "0.11.0", "80", (256.0, 1024.0)),  # an A100 of 80 GB has 256
        ("V1", "0.11.0", "80 A100", (256.0, None)),
        ("V1", "0.11.0", "80 H100", (1024.0, None)),
        ("V1", "0.31.0", "24", (256.0, 1024.0)),  # newer than what was read
    ],
)
def test_default_slots(core: str, version: str, more: str, slots: tuple[Any, ...]) -> None:
    memory = "".join(w for w in more.split() if w.isdigit())
    name = "".join(w for w in more.split() if not w.isdigit())
    text = ARGS.format("'model': 'acme/Tiny'") + config(core, version)
    if memory:
        text += f"INFO 10-06 15:00:12 [gpu_worker.py:8] Free memory on device ({memory}.1/{memory}.5 GiB) on startup. Desired.\n"
    if name:
        text += (
            "WARNING 10-06 15:00:12 [fused_moe.py:7] Using default MoE config. Performance might be sub-optimal! Config file not found at "
            f"['/x/device_name=NVIDIA_{name}_80GB.json']\n"
        )
    assert default_slots(text) == [(*slots, "default")]


@pytest.mark.parametrize(
    ("version", "budget", "served", "slots"),
    [
        ("0.11.0", 2048, True, (256.0, None)),
        ("0.11.0", 2048, False, (256.0, None)),
        ("0.11.0", 8192, True, (1024.0, None)),
        ("0.11.0", 8192, False, (256.0, 1024.0)),  # the LLM class takes 8192 on a small card, a server on a large one
        ("0.11.0", 16384, False, (1024.0, None)),
        ("0.11.0", 4096, True, (256.0, 1024.0)),
        ("0.8.2", 2048, True, (1024.0, None)),
        ("0.31.0", 2048, True, (256.0, 1024.0)),  # newer than what was read
    ],
)
def test_a_budget_nobody_set_tells_the_default_slots(version: str, budget: int, served: bool, slots: tuple[Any, ...]) -> None:
    chunk = f"INFO 10-06 15:00:01 [scheduler.py:225] Chunked prefill is enabled with max_num_batched_tokens={budget}.\n"
    text = (API if served else "") + ARGS.format("'model': 'acme/Tiny'") + config(version=version) + chunk
    assert default_slots(text) == [(*slots, "default")]
    assert default_slots(text.replace("'model'", f"'max_num_batched_tokens': {budget}, 'model'")) in (
        [(256.0, 1024.0, "default")],
        [(1024.0, None, "default")],
    )


def test_no_default_slots_on_other_platforms() -> None:
    told = "INFO 10-06 15:00:00 [__init__.py:239] Automatically detected platform {}.\n"
    text = ARGS.format("'model': 'acme/Tiny', 'device': 'auto'")
    banner = "INFO 10-06 15:00:00 [api_server.py:1839] vLLM API server version 0.8.2\n"
    assert default_slots(told.format("cpu"), banner, text) == []
    assert default_slots(told.format("rocm"), banner, text) == default_slots(told.format("cuda"), banner, text) != []


def test_no_default_without_complete_arguments() -> None:
    assert default_slots(config(version="0.8.2"), stats()) == []
    assert default_slots(ARGS.format("'model': 'acme/Tiny'")[:-2] + " 'max\n", config(version="0.8.2")) == []
    assert default_slots(ARGS.format("'model': 'acme/Tiny'"), config(device="cpu")) == []
    assert default_slots(ARGS.format("'max_num_seqs': 12")) == [(12.0, None, "logged")]


def test_default_slots_under_a_smaller_token_budget() -> None:
    assert default_slots(ARGS.format("'max_num_batched_tokens': 512"), config(version="0.8.2")) == [(512.0, None, "default")]


def test_slots_of_data_parallel_engines_are_a_range_until_all_are_seen() -> None:
    start = ARGS.format("'data_parallel_size': 2, 'max_num_seqs': 8") + config(dp=2)
    assert default_slots(start, stats(engine=0)) == [(8.0, 16.0, "logged")]
    assert default_slots(start, stats(engine=0), stats(engine=1)) == [(16.0, None, "logged")]


def test_an_aggregated_line_counts_its_engines() -> None:
    start = ARGS.format("'data_parallel_size': 3, 'max_num_seqs': 8") + config(dp=3)
    assert default_slots(start, stats(engine="3 Engines Aggregated: ")) == [(24.0, None, "logged")]


def test_kv_pools_of_data_parallel_engines_stay_apart() -> None:
    pool = "INFO 10-06 15:00:40 [kv_cache_utils.py:716] GPU KV cache size: {}0,000 tokens\n"
    start = ARGS.format("'data_parallel_size': 2")
    named = start + "(EngineCore_DP0 pid=2) " + pool.format(12) + "(EngineCore_DP1 pid=3) " + pool.format(11)
    assert [(r["engine"], r["num"]) for r in table(named, "server_config") if r["key"] == "kv_tokens"] == [(0, 120_000.0), (1, 110_000.0)]
    one = start + "(EngineCore_DP1 pid=3) " + pool.format(11)
    assert [(r["engine"], r["num"]) for r in table(one, "server_config") if r["key"] == "kv_tokens"] == [(1, 110_000.0)]
    assert said(start + pool.format(12) + pool.format(11), "kv_tokens") == []  # which engine's, nobody says


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("[cuda.py:401] Using AttentionBackendEnum.FLASH_ATTN backend.", "attention", "flash_attn"),
        ("[cuda.py:401] Using FLASHINFER attention backend out of potential backends: ('FLASHINFER',)", "attention", "flashinfer"),
        ("[utils.py:233] non-default args: {'enable_chunked_prefill': False}", "chunked_prefill", "false"),
        ("[utils.py:233] non-default args: {'attention_backend': 'TRITON_ATTN'}", "attention", "triton_attn"),
    ],
)
def test_start_up_words(line: str, key: str, value: str) -> None:
    assert said(f"INFO 10-06 15:00:01 {line}\n", key) == [value]


@pytest.mark.parametrize(
    ("line", "event"),
    [
        ("INFO 10-06 15:00:01 [x.py:1] Graph capturing finished in 9.5 secs, took 1.92 GiB", ("loading", 9.5, "graph-capture")),
        (
            "INFO 10-06 15:00:01 [m.py:53] torch.compile and initial profiling/warmup run together took 12.5 s in total",
            ("loading", 12.5, "compile"),
        ),
        ("ERROR 10-06 15:00:01 [core.py:700] EngineCore failed to start.", ("error", None, "engine-core")),
    ],
)
def test_events_of_the_start(line: str, event: tuple[Any, ...]) -> None:
    assert [(r["kind"], r["value"], r["detail"]) for r in table(line + "\n", "server_events")] == [event]


@pytest.mark.parametrize(
    ("tp", "pp", "dp", "split"),
    [(4, 1, 1, ["tensor"]), (1, 2, 1, ["pipeline"]), (2, 2, 1, []), (1, 1, 2, ["data"]), (1, 1, 1, ["none"]), (2, 1, 2, ["tensor"])],
)
def test_split(tp: int, pp: int, dp: int, split: list[str]) -> None:
    assert said(config(tp=tp, pp=pp, dp=dp), "split") == split


def test_a_cut_configuration_says_nothing_about_the_rest() -> None:
    assert said(config(tp=4).split(" pipeline")[0] + "\n", "split") == []


def test_kv_tokens_from_the_printed_share_when_nothing_else() -> None:
    text = "INFO 02-28 10:00:04 executor_base.py:116] Maximum concurrency for 8192 tokens per request: 4.61x\n"
    ((low, high, origin),) = said(text, "kv_tokens")
    assert low == pytest.approx(8192 * 4.605) and high == pytest.approx(8192 * 4.615) and origin == "logged"
    blocks = "INFO 02-28 10:00:04 executor_base.py:111] # CUDA blocks: 3947, # CPU blocks: 2048\n"
    assert said(blocks, "kv_tokens") == []  # tokens per block not printed


def test_version_from_a_line_number_is_estimated() -> None:
    rows = [(r["value"], r["origin"]) for r in table(stats(file="loggers.py:118"), "server_config") if r["key"] == "version"]
    assert rows == [("0.9.1 to 0.9.2", "estimated")]
    assert said(stats(file="loggers.py:118") + stats(file="loggers.py:127"), "version") == []
    assert said(stats(file="loggers.py:5"), "version") == []


def runs(text: str, name: str = "server_samples") -> list[int]:
    return [r["run"] for r in table(text, name)]


def test_restart_is_a_new_run() -> None:
    banner = "INFO 10-06 15:00:00 [api_server.py:1839] vLLM API server version 0.11.0\n"
    start = banner + ARGS.format("'max_num_seqs': 4") + config()
    assert runs(start + stats() + start + stats() + stats()) == [0, 1, 1]
    assert runs(start + start + stats()) == [1]  # crashed before it served
    assert runs(config() + stats() + config() + stats()) == [0, 1]


def test_engines_of_one_server_are_one_run() -> None:
    text = (
        ARGS.format("'data_parallel_size': 2")
        + "(EngineCore_DP1 pid=3) "
        + config(dp=2)
        + "(EngineCore_DP0 pid=2) "
        + config(dp=2)
        + API
        + stats()
    )
    assert runs(text) == [0] and set(runs(text, "server_config")) == {0}


def journal(pid: int, text: str) -> str:
    return "".join(f"Oct 06 17:02:00 box vllm[{pid}]: {line}\n" for line in text.splitlines())


def test_processes_in_a_journal_are_one_server() -> None:
    first = (
        journal(10, API + ARGS.format("'max_num_seqs': 4"))
        + journal(11, "(EngineCore_DP0 pid=11) " + config(tp=2))
        + journal(10, API + stats())
    )
    second = (
        journal(20, API + ARGS.format("'max_num_seqs': 8"))
        + journal(21, "(EngineCore_DP0 pid=21) " + config(tp=4))
        + journal(20, API + stats(9))
    )
    rows = table(first + second, "server_config")
    assert {(r["run"], r["num"]) for r in rows if r["key"] in ("slots", "tensor_parallel")} == {(0, 4.0), (0, 2.0), (1, 8.0), (1, 4.0)}
    assert runs(first + second) == [0, 1]


def test_two_servers_in_one_compose_log() -> None:
    text = "a-1  | " + API + stats(0, 1) + "b-1  | " + API + stats(0, 2) + "a-1  | " + API + stats(9, 3)
    assert [(r["run"], r["running"]) for r in table(text)] == [(0, 1.0), (1, 2.0), (0, 3.0)]


ACCESS = API + 'INFO:     192.0.2.77:54734 - "POST /v1/chat/completions HTTP/1.1" 503 Service Unavailable\n'


def test_access_lines_carry_no_address() -> None:
    (event,) = table(stats() + ACCESS, "server_events")
    assert (event["kind"], event["value"], event["time"]) == ("access", 503.0, None)
    assert "192.0.2" not in str(rows_of(PARSER, stats() + ACCESS)[0])


def test_a_router_in_front_is_left_out() -> None:
    text = stats() + ACCESS + ACCESS.removeprefix(API)
    assert len(table(text, "server_events")) == 1


def test_container_times_beside_printed_ones() -> None:
    text = "".join(f"2026-10-06T13:02:{i:02d}.250000000Z {line}\n" for i, line in enumerate((stats(0) + ACCESS + stats(2)).splitlines()))
    rows, _ = rows_of(PARSER, text)
    times = [rows["server_samples"][0]["time"], rows["server_events"][0]["time"], rows["server_samples"][1]["time"]]
    assert times[1] - times[0] == pytest.approx(1, abs=1) and times[2] - times[0] == pytest.approx(2, abs=1)
    interface = "".join(
        f"2026-10-06 17:02:{i:02d}.250 | {line}\n" for i, line in enumerate((stats(0) + ACCESS + ACCESS + ACCESS + stats(4)).splitlines())
    )
    rows, _ = rows_of(PARSER, interface)
    times = [r["time"] for r in rows["server_samples"] + rows["server_events"]]
    assert all(t is not None for t in times) and max(times) - min(times) < 5


def test_events_of_older_logs() -> None:
    text = (
        "INFO 04-14 05:43:17 [arg_utils.py:1708] Compute Capability < 8.0 is not supported by the V1 Engine. Falling back to V0.\n"
        "INFO 04-14 05:43:18 [cuda.py:179] Cannot use FlashAttention-2 backend for Volta and Turing GPUs.\n"
        "WARNING 04-14 05:43:19 [marlin_utils_fp8.py:55] Your GPU does not have native support for FP8 computation but FP8 quantization "
        "is being used. "
        "Weight-only FP8 compression will be used leveraging the Marlin kernel. This may degrade performance for compute-heavy workloads.\n"
        "INFO 04-14 05:44:00 [launcher.py:26] Available routes are:\n"
        "INFO 04-14 05:45:00 [async_llm.py:300] Aborted request c-1.\n"
        "(EngineCore_DP0 pid=5) ERROR 04-14 05:46:00 [core.py:517] EngineCore encountered a fatal error.\n"
    )
    assert [(r["kind"], r["detail"]) for r in table(text, "server_events")] == [
        ("fallback", "v0-engine"),
        ("fallback", "no-flash-attention"),
        ("fallback", "marlin-weight-only"),
        ("loaded", None),
        ("cancel", None),
        ("error", "engine-core"),
    ]
    assert said(text, "engine_core") == ["v0"]


def test_a_drifted_line_is_a_near_miss() -> None:
    text = "INFO 10-06 15:02:00 [loggers.py:400] Engine 000: Avg prompt throughput: 1.5 tokens/s, Mean decode rate: 2.5 tokens/s\n"
    _, counts = rows_of(PARSER, text)
    assert (counts.matched, counts.near_miss) == (0, 1) and "gen_tok_s" in counts.rejects[0][1]


def test_value_at_the_cut_end_is_unknown() -> None:
    text = stats(0, 123, 456)
    (row,) = table(text[: text.index("Waiting: 45") + len("Waiting: 45")])
    assert (row["running"], row["waiting"], row["kv_usage"]) == (123.0, None, None)


def test_wrappers_change_no_value() -> None:
    text = PARSER.samples[6].text
    plain = [(r["key"], r["value"]) for r in table(text, "server_config")]
    for line in (
        lambda i, s: f"2026-03-01T10:00:{i:02d}.5Z {s}",
        lambda i, s: f"Mar 01 10:00:{i:02d} box vllm[7]: {s}",
        lambda i, s: f"{s}\r",
    ):
        assert [(r["key"], r["value"]) for r in table(wrapped(text, line), "server_config")] == plain


WHOLE = "".join(s.text for s in PARSER.samples if s.versions.startswith(("0.4", "0.11", "0.20", "any"))) + stats().rstrip("\n") + stats(5)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, len(WHOLE)))
def test_cut_anywhere(at: int) -> None:
    check_cut(PARSER, WHOLE, at, DERIVED)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 255))
def test_any_garbled_byte(at: int, byte: int) -> None:
    check_garbled(PARSER, WHOLE, at, byte)


@pytest.mark.parametrize(
    "words", ["non-default args: {'model': 'm', 'cpu_offload_gb': 12.5}", "args: Namespace(model='m', cpu_offload_gb=12.5, seed=0)"]
)
def test_weights_that_the_server_was_told_to_keep_in_host_memory(words: str) -> None:
    rows = table(f"INFO 10-06 15:00:00 [utils.py:233] {words}\n", "server_config")
    assert [r["num"] for r in rows if r["key"] == "weights_offload_gib"] == [12.5]


@pytest.mark.parametrize(
    ("blank", "who"), [(" ", ""), ("", "(EngineCore pid=7) "), (" ", "(_AsyncLLMEngine pid=7) "), (" ", "(APIServer pid=7) ")]
)
def test_records_on_one_line_are_cut(blank: str, who: str) -> None:
    """What showed the text joined its lines; the selection missed the first bracket."""
    records = [who + stats(second, running=second + 1).rstrip("\n") for second in (1, 2, 3)]
    joined = blank.join(records).removeprefix("(") + "\n"
    assert [r["running"] for r in table(joined)] == [2.0, 3.0, 4.0]
    quoted = f"INFO 10-06 15:01:00 [logger.py:42] Received request chat-1: prompt: '50%{blank}{records[0]}', params: SamplingParams(n=1)\n"
    assert [r["running"] for r in table(quoted + joined)] == [2.0, 3.0, 4.0]
    assert table(quoted) == []


def test_lines_without_level_and_time_count_where_all_are_so() -> None:
    bare = stats(1).removeprefix("INFO 10-06 15:02:01 ").replace("loggers.py:127", "llm_engine.py:649")
    assert [(r["running"], r["time"]) for r in table(bare)] == [(4.0, None)]
    assert [r["time"] is None for r in table(stats(5) + bare)] == [False]


BODY = "Avg prompt throughput: 1.5 tokens/s, Avg generation throughput: 2.5 tokens/s, Running: 4 reqs, Waiting: 1 reqs, GPU KV cache usage: 12.5%"


@pytest.mark.parametrize(
    ("head", "time"),
    [
        ("INFO Engine 000: ", None),
        ("INFO: ", None),
        ("INFO:     ", None),
        ("(APIServer pid=1) INFO Engine 000: ", None),
        ("INFO 10-06 15:02:00 Engine 000: ", 87231720.0),
        ("INFO 10-06 15:02:00 ", 87231720.0),
    ],
)
def test_a_formatter_that_prints_the_level_alone(head: str, time: float | None) -> None:
    (row,) = table(f"{head}{BODY}\n")
    assert (row["running"], row["waiting"], row["gen_tok_s"], row["time"]) == (4.0, 1.0, 2.5, time)
    assert table(f"user says {head}{BODY}\n") == []
    assert [r["waiting"] for r in table(stats() + f"{head}{BODY}\n")] == [0.0]  # beside vLLM's own lines it is a quotation


@pytest.mark.parametrize(
    ("printed", "seconds"), [("10-06 15:02:00", 87231720.0), ("10-06 15:02:00.25", 87231720.25), ("10-06 15:02:00,25", 87231720.25)]
)
@pytest.mark.parametrize("key", ["time", "asctime", "timestamp"])
def test_records_whose_time_has_no_year(key: str, printed: str, seconds: float) -> None:
    for text in (
        f'{{"level": "INFO", "{key}": "{printed}", "message": "{BODY}"}}\n',
        f'{{"message": "{BODY}", "name": "vllm", "{key}": "{printed}"}}\n',
    ):
        (row,) = table(text)
        assert (row["running"], row["time"]) == (4.0, seconds)


@pytest.mark.parametrize("who", ["metrics.log: ", "loggers.log: Engine 001: "])
def test_behind_the_header_of_dynamo(who: str) -> None:
    text = "".join(f"2025-05-13T13:47:{s}.069Z  INFO {who}{BODY}   \n" for s in (39, 49))
    rows = table(text)
    assert [(r["running"], r["gen_tok_s"], r["time"]) for r in rows] == [(4.0, 2.5, 1747144059.069), (4.0, 2.5, 1747144069.069)]
    assert table(f"she wrote INFO {who}{BODY}\n") == []
    assert len(table(stats() * 9 + f" INFO {who}{BODY}\n")) == 9  # beside vLLM's own lines it is a quotation


def test_what_xinference_hands_to_its_engine() -> None:
    says = (
        "2024-04-28 03:36:06,223 xinference.model.llm.vllm.core 34 INFO     Loading acme-chat with following model config: {'block_size': 16, "
        "'tensor_parallel_size': 2, 'gpu_memory_utilization': 0.85, 'max_num_seqs': 96, 'quantization': None, 'max_model_len': 4096}\n"
    )
    got = {
        r["key"]: r["value"]
        for r in rows_of(PARSER, says + CONFIG.format(core="V0", version="0.4.1", tp=2, pp=1, dp=1, device="cuda"))[0]["server_config"]
    }
    assert (got["slots"], got["tensor_parallel"], got["gpu_mem_util"], got["n_ctx_slot"]) == ("96", "2", "0.85", "4096")
    assert not rows_of(PARSER, "she wrote " + says)[0].get("server_config")


def test_two_servers_that_write_into_one_file() -> None:
    # the second one is started while the first one serves: the lines of each are judged by its own limit
    def of(pid: int, text: str) -> str:
        return "".join(f"(APIServer pid={pid}) {line}\n" for line in text.splitlines())

    first, second = of(11, ARGS.format("'max_num_seqs': 64")), of(22, ARGS.format("'max_num_seqs': 4"))
    text = (
        first
        + of(11, stats(10, 4, 3))
        + second
        + of(11, stats(20, 4, 3))
        + of(22, stats(21, 2))
        + of(11, stats(30, 4, 3))
        + of(22, stats(31, 2))
    )
    assert [(r["run"], r["running"]) for r in table(text)] == [(0, 4), (0, 4), (1, 2), (0, 4), (1, 2)]
    # a container gives its process the same number at every start
    again = of(1, ARGS.format("'max_num_seqs': 64")) + of(1, stats(10)) + of(1, ARGS.format("'max_num_seqs': 4")) + of(1, stats(20))
    assert [r["run"] for r in table(again)] == [0, 1]
