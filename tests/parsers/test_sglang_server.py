"""SGLang logs: every generation, ranks, artefacts of the printed rates, limits, quoted text, cuts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from gpuverdict.engine.testing import check_block_sizes, check_counts, check_cut, check_garbled, check_samples, check_wrappers, rows_of
from gpuverdict.parsers.sglang_server import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

DERIVED = ("slots_source", "kv_tokens")  # a log cut before the server settled them says the weaker thing
LONG = "\n".join(s.text.rstrip("\n") for s in PARSER.samples[2:4]) + "\n"


def samples(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("server_samples", [])


def events(text: str) -> list[tuple[str, Any]]:
    return [(r["kind"], r["value"]) for r in rows_of(PARSER, text)[0].get("server_events", [])]


def config(text: str) -> dict[str, Any]:
    rows = rows_of(PARSER, text)[0].get("server_config", [])
    return {r["key"]: r["value"] if r["num"] is None else (r["num"], r["num_hi"]) if r["num_hi"] else r["num"] for r in rows}


def decode(second: int, running: int = 4, gen: float = 100.0, rank: str = " TP0", minute: int = 0, more: str = "") -> str:
    return (
        f"[2025-09-01 10:{minute:02d}:{second:02d}{rank}] Decode batch. #running-req: {running}, #token: 900, token usage: 0.10, "
        f"{more}gen throughput (token/s): {gen:.2f}, #queue-req: 0,\n"
    )


def prefill(second: int, running: int, rank: str = " TP0", minute: int = 0) -> str:
    return (
        f"[2025-09-01 10:{minute:02d}:{second:02d}{rank}] Prefill batch. #new-seq: 1, #new-token: 64, #cached-token: 0, token usage: 0.10, "
        f"#running-req: {running}, #queue-req: 0,\n"
    )


def gens(text: str) -> list[float | None]:
    return [r["gen_tok_s"] for r in samples(text) if r["phase"] == "decode"]


def test_samples() -> None:
    check_samples(PARSER)


@pytest.mark.parametrize("number", range(len(PARSER.samples)))
def test_wrappers_and_blocks(number: int) -> None:
    one = replace(PARSER, samples=(PARSER.samples[number],))
    check_wrappers(one, one.samples[0].text)
    check_block_sizes(one, one.samples[0].text)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, len(LONG)))
def test_any_cut(at: int) -> None:
    check_cut(PARSER, LONG, at, DERIVED)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, len(LONG)), st.integers(0, 255))
def test_any_garbled_byte(at: int, byte: int) -> None:
    check_garbled(PARSER, LONG, at, byte)


def test_rate_is_unknown_only_where_idle_time_may_be_in_it() -> None:
    assert gens(decode(0) + decode(1) + decode(2)) == [None, 100.0, 100.0]
    assert gens(decode(0) + prefill(1, 0) + decode(2) + decode(3)) == [None, None, 100.0]
    assert gens(decode(0) + prefill(1, 4) + decode(2)) == [None, 100.0]  # the others went on running
    assert gens(decode(0) + decode(1) + decode(30) + decode(31)) == [None, 100.0, None, 100.0]
    slow = "".join(decode(0, minute=m) for m in range(4))  # a line a minute is what a slow model does
    assert gens(slow) == [None, None, 100.0, 100.0]


def test_rates_are_judged_per_rank() -> None:
    text = decode(0, rank=" DP0 TP0") + prefill(0, 0, rank=" DP1 TP4") + decode(1, rank=" DP0 TP0") + decode(1, rank=" DP1 TP4")
    rows = [r for r in samples(text) if r["phase"] == "decode"]
    assert [(r["engine"], r["rank"], r["gen_tok_s"]) for r in rows] == [(0, "DP0 TP0", None), (0, "DP0 TP0", 100.0), (1, "DP1 TP4", None)]


@pytest.mark.parametrize("rank", [" DP3 TP6 EP6", " TP6 DP3", " DP3 PP0 ATTN_CP1 MOE_DP0 TP6 EP6", " PP1 DP3"])
def test_ranks_are_a_set(rank: str) -> None:
    (row,) = samples(decode(0, rank=rank))
    assert (row["engine"], row["rank"]) == (3, rank.strip())


def test_moe_dp_is_no_engine() -> None:
    (row,) = samples(decode(0, rank=" PP0 MOE_DP2 TP1"))
    assert row["engine"] is None and row["rank"] == "PP0 MOE_DP2 TP1"


@pytest.mark.parametrize("label", ["cuda graph", "cpu graph", "npu graph", "musa graph"])
def test_graph_labels(label: str) -> None:
    assert samples(decode(0, more=f"{label}: True, "))[0]["cuda_graph"] is True
    assert samples(decode(0, more=f"{label}: False, "))[0]["cuda_graph"] is False
    assert samples(decode(0))[0]["cuda_graph"] is None


@pytest.mark.parametrize("head", ["Decode batch. ", "Decode batch [12], ", "Decode batch, "])
def test_punctuation_of_every_generation(head: str) -> None:
    text = decode(0).replace("Decode batch. ", head)
    for tail in (",\n", ", \n", "\n"):
        (row,) = samples(text.replace(",\n", tail))
        assert (row["running"], row["waiting"], row["kv_usage"]) == (4.0, 0.0, 0.1)


@pytest.mark.parametrize("extra", ["some words: 7.5%", "sizes: [1, 2]", "spread: [0.1, 0.9]", "tiers: [gpu 1]", "batch: [51341]"])
def test_an_unknown_field_costs_nothing(extra: str) -> None:
    (row,) = samples(decode(0, more=f"{extra}, "))
    assert (row["running"], row["waiting"], row["kv_usage"]) == (4.0, 0.0, 0.1)


def test_usage_is_a_share_or_unknown() -> None:
    for printed, share in (("0.10", 0.1), ("1.00", 1.0), ("1", 1.0), ("10%", None), ("1%", None), ("12.5", None)):
        assert samples(decode(0).replace("token usage: 0.10", f"token usage: {printed}"))[0]["kv_usage"] == share


@pytest.mark.parametrize(
    "head",
    ["[2025-09-01 10:00:00] [INFO] ", "2025-09-01 10:00:00,250 - INFO - ", "2025-09-01 10:00:00 - sglang.srt.managers - INFO - "],
)
def test_other_loggers(head: str) -> None:
    (row,) = samples(head + decode(0).split("] ", 1)[1])
    assert (row["running"], row["kv_usage"]) == (4.0, 0.1)


def test_accept_length_is_not_the_block_one() -> None:
    assert samples(decode(0, more="block accept len: 9.00, "))[0]["accept_len"] is None
    assert samples(decode(0, more="accept len: 2.50, accept rate: 0.80, "))[0]["accept_len"] == 2.5


def test_the_fullest_pool_counts() -> None:
    text = decode(0).replace("token usage: 0.10", "full token usage: 0.20, mamba num: 3, mamba usage: 0.70")
    assert samples(text)[0]["kv_usage"] == 0.7


def test_prefill_decode_split_servers() -> None:
    text = (
        "[2025-09-01 10:00:00] Prefill batch. #new-seq: 2, #new-token: 64, #cached-token: 0, token usage: 0.10, "
        "#unbootstrapped-req: 1, #queue-req: 3, #transferring-req: 2, input throughput (token/s): 900.00 \n"
    )
    (row,) = samples(text)
    assert (row["running"], row["waiting"], row["prompt_tok_s"]) == (None, 4.0, None), (
        "before the bootstrap it waits, in the transfer it is done here"
    )
    text = (
        "[2026-01-01 10:00:00] Decode batch, #running-req: 2, #token: 900, token usage: 0.04, pre-allocated usage: 0.31, #prealloc-req: 22, "
        "#transfer-req: 7, #retracted-req: 0, cuda graph: True, gen throughput (token/s): 55.20, #queue-req: 1\n"
    )
    (row,) = samples(text)
    assert (row["running"], row["waiting"], row["kv_usage"]) == (2.0, 23.0, 0.04), (
        "what is in the transfer may be at work in the other half"
    )
    assert samples(text.replace("#retracted-req: 0", "#retracted-req: 2"))[0]["waiting"] == 25.0
    nobody = text.replace("#prealloc-req: 22", "#prealloc-req: 0").replace("#queue-req: 1", "#queue-req: 0")
    assert samples(nobody)[0]["waiting"] is None
    assert samples(nobody.replace("#transfer-req: 7", "#transfer-req: 0"))[0]["waiting"] == 0


RETRACTIONS = [
    "KV cache pool is full. Retract requests. #retracted_reqs: 7, #new_token_ratio: 0.5000 -> 0.9500",
    "KV cache pool is full. Retract requests. #retracted_reqs: 7, #new_tokens_gained: 900, #new_token_ratio: 0.1 -> 0.2",
    "Testing retraction. #retracted_reqs: 7, #new_token_ratio: 0.5000 -> 0.9500",
    "Decode out of memory happened. #retracted_reqs: 7, #new_token_ratio: 0.5000 -> 0.9500",
    "decode out of memory happened, #retracted_reqs: 7, #new_token_ratio: 0.5000 -> 0.9500",
]


@pytest.mark.parametrize("message", RETRACTIONS)
def test_retractions(message: str) -> None:
    assert events(f"[2025-09-01 10:00:00 TP0] {message}\n") == [("retract", 7.0)]


def args(**change: str) -> str:
    keys = {"tp_size": "1", "dp_size": "1", "pp_size": "1", "max_running_requests": "None", "enable_dp_attention": "False", **change}
    return "[2025-09-01 10:00:00] server_args=ServerArgs(model_path='m', " + ", ".join(f"{k}={v}" for k, v in keys.items()) + ")\n"


LIMITS = "[2025-09-01 10:00:09{}] max_total_num_tokens=5000, chunked_prefill_size=-1, max_running_requests={}, context_len=2048\n"
RESET = "[2025-09-01 10:00:00] WARNING server_args.py:10: Max running requests is reset to 48 for speculative decoding. You can override\n"
REDUCED = "[2025-09-01 10:00:08] max_running_requests was reduced from the requested 64 to 20 (per dp worker) due to the memory.\n"


def test_slots_from_the_strongest_source() -> None:
    assert "slots" not in config(args())
    assert config(args(max_running_requests="64"))["slots"] == 64
    assert config(args(max_running_requests="64") + REDUCED)["slots"] == 20
    assert config(args(max_running_requests="64") + REDUCED + LIMITS.format("", 19))["slots"] == 19
    assert config(RESET + args(max_running_requests="48", dp_size="4", enable_dp_attention="True"))["slots"] == 12
    assert config(args(max_running_requests="64", dp_size="4"))["slots"] == 64  # replicas without DP attention have it each
    unknown = args(max_running_requests="64", dp_size="4").replace(", enable_dp_attention=False", "")
    assert config(unknown)["slots"] == (16, 64)


def test_arguments_in_any_dress() -> None:
    call = "ServerArgs(model_path='/a/b/Tiny', tp_size=2, pp_size=1, dp_size=1, max_running_requests=7, disable_radix_cache=True, kv_cache_dtype='fp8_e5m2')"
    plain = "{'model_path': '/a/b/Tiny', 'tp_size': 2, 'pp_size': 1, 'dp_size': 1, 'max_running_requests': 7, 'disable_radix_cache': True, 'kv_cache_dtype': 'fp8_e5m2'}"
    json = plain.replace("'", '"').replace("True", "true")
    for form in (call, plain, json):
        text = f"[2025-09-01 10:00:00] server_args={form}\n"
        expected = {"slots": 7, "split": "tensor", "tensor_parallel": 2, "prefix_caching": "false", "kv_dtype": "fp8_e5m2"}
        assert expected.items() <= config(text).items()
        assert rows_of(PARSER, text)[0]["models"][0]["name"] == "Tiny"


@pytest.mark.parametrize(
    ("graphs", "eager", "largest"),
    [
        (
            "CudaGraphConfig(decode=PhaseConfig(backend='full', max_bs=64, bs=[1, 2]), prefill=PhaseConfig(backend='disabled', max_bs=8192))",
            "false",
            64,
        ),
        ("CudaGraphConfig(decode=PhaseConfig(backend='disabled', max_bs=256, bs=[1]), prefill=PhaseConfig(backend='full'))", "true", 256),
        ("CudaGraphConfig(decode=PhaseConfig(backend=<Backend.FULL: 'full'>, bs=[1, 2], max_bs=32))", "false", 32),
        ("None", "false", None),
    ],
)
def test_graphs_configured_per_phase(graphs: str, eager: str, largest: int | None) -> None:
    found = config(args(disable_cuda_graph="False", cuda_graph_config=graphs))
    assert (found["eager"], found.get("cuda_graph_max_bs")) == (eager, largest)


STAMP = "[2025-09-01 10:00:00 TP0] "


@pytest.mark.parametrize(
    ("line", "event"),
    [
        ("Capture cuda graph end. Time elapsed: 17.13 s. mem usage=0.89 GB. avail mem=3.00 GB.", ("loading", 17.13)),
        ("Load weight end. elapsed=78.55 s, type=X, quant=fp8, avail mem=1.00 GB, mem usage=82.97 GB.", ("loading", 78.55)),
        ("Load weight end. type=X, dtype=torch.bfloat16, avail mem=1.00 GB, mem usage=82.97 GB.", ("loading", None)),
        ("Try DeepGEMM JIT Compiling for <GemmType.Normal: 0> N=1, K=2, num_groups=3 with all Ms.", ("loading", None)),
        ("Using default MoE kernel config. Performance might be sub-optimal! Config file not found at /x/E=8.json", ("fallback", None)),
        ("Using default W8A8 Block FP8 kernel config. Performance might be sub-optimal! Config file not found at /x", ("fallback", None)),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", ("error", None)),
    ],
)
def test_events_with_their_durations(line: str, event: tuple[str, float | None]) -> None:
    assert events(STAMP + line + "\n") == [event]


def test_a_fallback_is_told_once_per_run() -> None:
    line = STAMP + "Using default MoE kernel config. Performance might be sub-optimal! Config file not found at /x\n"
    assert len(events(line * 3)) == 1 and len(events(line + args() + decode(1) + args() + line)) == 2


TIMES = "input_len=9, cached_input_len=1, output_len=5, attempts=0, type=unified): queue_duration=1.00ms, forward_duration=2.00ms, entry_time=1.0"


def test_an_identifier_of_the_client_gives_no_numbers() -> None:
    def requests(rid: str) -> list[float]:
        return [r["output_tokens"] for r in rows_of(PARSER, STAMP + f"ReqTimeStats(rid={rid}, {TIMES}\n")[0].get("requests", [])]

    assert requests("a-b_c.1") == [5.0]
    for rid in ("x, input_len=1, output_len=777", "x, input_len=1, output_len=777, type=unified): queue_duration=3.00ms", "x(y)", TIMES):
        assert requests(rid) == []


@pytest.mark.parametrize(
    "change",
    [
        ("forward_duration=2.00ms", "forward_duration=1759654443392.38ms"),
        ("forward_duration=2.00ms", "forward_duration=nanms"),
        ("unified", "decode"),
    ],
)
def test_times_that_say_nothing(change: tuple[str, str]) -> None:
    assert not rows_of(PARSER, STAMP + f"ReqTimeStats(rid=a, {TIMES}\n".replace(*change))[0].get("requests")


def test_limits_stay_per_rank() -> None:
    rows, _ = rows_of(PARSER, LIMITS.format(" DP0 TP0", 15) + LIMITS.format(" DP1 TP1", 16))
    slots = {r["engine"]: r["num"] for r in rows["server_config"] if r["key"] == "slots"}
    assert slots == {0: 15, 1: 16}


@pytest.mark.parametrize(
    ("change", "split"),
    [
        ({}, "none"),
        ({"tp_size": "4"}, "tensor"),
        ({"dp_size": "2"}, "data"),
        ({"pp_size": "2"}, "pipeline"),
        ({"tp_size": "2", "pp_size": "2"}, None),
    ],
)
def test_split(change: dict[str, str], split: str | None) -> None:
    assert config(args(**change)).get("split") == split  # stages of several cards are neither


def test_split_needs_the_whole_line() -> None:
    assert "split" not in config(args(tp_size="4").replace(", pp_size=1, max_running_requests=None, enable_dp_attention=False)", ", pp"))
    assert "split" not in config("[2025-09-01 10:00:00] server_args=ServerArgs(model_path='m', revision='r')\n")


def test_no_secret_leaves() -> None:
    rows, _ = rows_of(PARSER, args(api_key="'sk-canary'", admin_api_key="'canary2'", host="'10.9.8.7'"))
    assert not any(word in str(rows) for word in ("canary", "10.9.8.7"))


def test_restart_is_a_new_run() -> None:
    text = args(max_running_requests="8") + decode(1) + args(max_running_requests="9") + decode(2)
    rows, _ = rows_of(PARSER, text)
    assert [r["run"] for r in rows["server_samples"]] == [0, 1]
    assert [(r["run"], r["num"]) for r in rows["server_config"] if r["key"] == "slots"] == [(0, 8), (1, 9)]
    assert gens(text) == [None, None]


def test_servers_of_one_ray_log_stay_apart() -> None:
    first, second = "(Engine pid=1) ", "(Engine pid=2, ip=10.0.0.2) "
    text = first + args(max_running_requests="8") + second + args(max_running_requests="9") + first + decode(1) + second + decode(1)
    rows, _ = rows_of(PARSER, text)
    runs = {r["num"]: r["run"] for r in rows["server_config"] if r["key"] == "slots"}
    assert [r["run"] for r in rows["server_samples"]] == [runs[8], runs[9]]


def test_bare_lines_count_only_in_logs_without_dates() -> None:
    bare = "Decode batch. #running-req: 99, #token: 9, token usage: 0.9, gen throughput (token/s): 9.0, #queue-req: 9\n"
    assert [r["running"] for r in samples(bare)] == [99.0]
    assert [r["running"] for r in samples(decode(0) + bare)] == [4.0]


@pytest.mark.parametrize("before", ["prompt: '", "user: ", "[2025-09-01 10:00:00] Receive: obj=GenerateReqInput(text='", "{'text': '"])
def test_quoted_text_gives_nothing(before: str) -> None:
    text = before + decode(0)
    rows, counts = rows_of(PARSER, text)
    assert not rows.get("server_samples") and counts.matched == 0
    check_counts(counts, text, "quoted")


def test_two_records_on_a_line_are_a_near_miss() -> None:
    text = decode(0).rstrip("\n")[:70] + decode(1, running=50)
    rows, counts = rows_of(PARSER, text)
    assert not rows.get("server_samples") and counts.near_miss == 1
    bar = "Capturing batches (bs=8): 100%|####| 2/2 [00:16<00:00,  1.42it/s]"
    assert [r["running"] for r in samples(bar + decode(0))] == [4.0]
    assert [r["running"] for r in samples(decode(0).rstrip("\n") + bar + "\n")] == [4.0]


def test_milliseconds() -> None:
    (row,) = samples(decode(0).replace("10:00:00 TP0", "10:00:00.250 TP0"))
    assert row["time"] == 1756720800.25


def test_draft_weights_are_left_out() -> None:
    line = "[2025-09-01 10:00:0{} TP0] Load weight end. elapsed=1.0 s, type={}, quant=fp8, avail mem=1.00 GB, mem usage={} GB.\n"
    rows, _ = rows_of(PARSER, line.format(1, "BigForCausalLM", "40.50") + line.format(2, "BigForCausalLMMTP", "-1.50"))
    assert [(r["value"], r["num"]) for r in rows["server_config"]] == [("TP0", 40.5)]
    assert [(r["section"], r["arch"], r["quantisation"]) for r in rows["models"]] == [
        (0, "BigForCausalLM", "fp8"),
        (1, "BigForCausalLMMTP", "fp8"),
    ]


@pytest.mark.parametrize(("words", "told"), [(", cpu_offload_gb=12", 12.0), (", cpu_offload_gb=0", 0.0), ("", None)])
def test_weights_that_the_server_was_told_to_keep_in_host_memory(words: str, told: float | None) -> None:
    text = f"[2025-09-01 10:00:00] server_args=ServerArgs(model_path='m', tp_size=2, dp_size=1{words}, disable_cuda_graph=False)\n"
    assert config(text).get("weights_offload_gib") == told


def test_every_rank_says_what_was_taken_back_and_it_counts_once() -> None:
    def told(second: int, rank: str, n: int = 2) -> str:
        return f"[2025-09-01 10:00:{second:02d}{rank}] KV cache pool is full. Retract requests. #retracted_reqs: {n}, #new_token_ratio: 0.1 -> 0.4\n"

    both = "".join(told(s, f" TP{rank}", s) for s in (3, 9) for rank in (5, 4, 7))
    assert events(both) == [("retract", 3), ("retract", 9)]
    assert events(both + told(20, " TP7", 4)) == [("retract", 3), ("retract", 9), ("retract", 4)]  # of two ranks the lines are cut
    apart = "".join(told(3, f" DP{dp} TP{tp}", dp + 1) for dp in (0, 1) for tp in (0, 1))
    assert events(apart) == [("retract", 1), ("retract", 2)]  # replicas run full each on its own
    assert len(events("".join(told(s, "") for s in range(4)))) == 4
    assert len(events(told(1, "") + told(2, " TP0") + told(3, " TP0"))) == 2


def test_requests_that_hold_no_token_leave_the_cache_unknown() -> None:
    (row,) = samples(decode(1, running=43).replace("#token: 900, token usage: 0.10", "#token: 0, token usage: 0.00"))
    assert (row["running"], row["kv_usage"]) == (43, None)
    (row,) = samples(decode(1, running=0).replace("#token: 900, token usage: 0.10", "#token: 0, token usage: 0.00"))
    assert (row["running"], row["kv_usage"]) == (0, 0)


def test_the_first_bracket_of_a_selection_is_easily_lost() -> None:
    first, second = samples((decode(1) + decode(2))[1:])
    assert (first["time"], first["rank"], first["running"]) == (second["time"] - 1, "TP0", 4)
    assert second["gen_tok_s"] == 100
    assert not samples("user: 2025-09-01 10:00:01 TP0] " + decode(1)[30:])


@pytest.mark.parametrize(
    ("head", "rank", "engine", "time"),
    [
        ("2025-09-01 10:00:07 INFO 880 [DP3 TP3 EP3 scheduler_metrics_mixin.py:222] ", "DP3 TP3 EP3", 3, 1756720807.0),
        ("2025-09-01 10:00:07 INFO 880 [ DP13 TP13 scheduler_metrics_mixin.py:222] ", "DP13 TP13", 13, 1756720807.0),
        ("2025-09-01 10:00:07,250 INFO 880 [scheduler.py:9] ", None, None, 1756720807.25),
        ("2025-09-01 10:00:07,250 - sglang.srt.managers.scheduler - INFO - ", None, None, 1756720807.25),
        ("2025-09-01 10:00:07 - INFO - ", None, None, 1756720807.0),
        ("2025-09-01T10:00:07.250000Z  INFO scheduler.log_decode_stats: ", None, None, 1756720807.25),
        ("2025-09-01T10:00:07.250Z  INFO scheduler_metrics_mixin.log_decode_stats: ", None, None, 1756720807.25),
    ],
)
def test_headers_of_other_formatters(head: str, rank: str | None, engine: int | None, time: float) -> None:
    line = decode(7).split("] ", 1)[1]
    (row,) = samples(head + line)
    assert (row["running"], row["rank"], row["engine"], row["time"]) == (4, rank, engine, time)
    assert not samples(f"she wrote {head}{line}")


def test_a_traced_line_counts_beside_dated_ones_and_a_quoted_one_does_not() -> None:
    line = decode(7).split("] ", 1)[1]
    traced = f"2025-09-01T10:00:08.500Z  INFO scheduler.log_decode_stats: {line}"
    assert [r["time"] for r in samples(traced + traced + decode(9))] == [1756720808.5, 1756720808.5, 1756720809.0]
    assert len(samples(decode(6) * 9 + f" INFO scheduler.log_decode_stats: {line}")) == 9


def test_progress_bars_that_stand_in_front_of_a_line() -> None:
    bar = "Capturing batches (bs=1 avail_mem=23.02 GB):  98%|#### | Capturing batches (bs=1 avail_mem=23.02 GB): 100%|#### | "
    (row,) = samples(bar + decode(7))
    assert (row["running"], row["rank"], row["time"]) == (4, "TP0", 1756720807.0)


def test_the_stages_of_a_pipeline_are_one_replica() -> None:
    both = "".join(decode(s, running=s, rank=f" DP{dp} PP{pp} TP0") for s in (3, 9) for dp in (0, 1) for pp in (0, 1, 2))
    assert [(r["rank"], r["running"]) for r in samples(both)] == [(f"DP{dp} PP0 TP0", s) for s in (3, 9) for dp in (0, 1)]
    late = "".join(decode(s, rank=f" PP{pp}") for s in (3, 9) for pp in (1, 2))
    assert [r["rank"] for r in samples(late + decode(11, rank=" PP2"))] == ["PP2", "PP2", "PP2"]
