"""llama-server logs: dialects, wrappers, restarts, quoted prompts, configuration, events."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.testing import WRAPPERS, check_conformance, check_counts, check_cut, check_garbled, rows_of, wrapped
from gpuverdict.parsers.llama_server import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

DERIVED = ("status", "decode_steps", "slots_seen")
BY_VERSION = {s.versions: s.text for s in PARSER.samples}
PLAIN = BY_VERSION["b3761 to b9150 without prefix"]
STAMPED = BY_VERSION["b10406+ with -lv 4"]


def _config(text: str) -> dict[str, Any]:
    rows, _ = rows_of(PARSER, text)
    out: dict[str, Any] = {}
    for row in rows.get("server_config", []):
        value = row["num"] if row["num"] is not None else row["value"]
        out[row["key"]] = {**out.get(row["key"], {}), row["value"]: value} if row["key"] in ("device_model_mib", "kv_buffer_mib") else value
    return out


def _requests(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("requests", [])


def _slot(slot: int, task: int, body: str, stamp: str = "", func: str = "print_timing") -> str:
    return f"{stamp}slot {func:>12}: id {slot:2d} | task {task} | {body}\n"


def test_conformance() -> None:
    check_conformance(PARSER, DERIVED)


def _vulkan(number: int, name: str, uma: int) -> str:
    return f"ggml_vulkan: {number} = {name} | uma: {uma} | fp16: 1 | bf16: 0 | warp size: 64 | shared memory: 65536 | matrix cores: none\n"


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        (_vulkan(0, "Card A (RADV X1) (radv)", 0), [("Vulkan0", "Card A (RADV X1)")]),
        (_vulkan(0, "Card A (radv)", 0) + _vulkan(1, "Card B (radv)", 0), [("Vulkan0", "Card A"), ("Vulkan1", "Card B")]),
        (_vulkan(0, "Card A (radv)", 0) + _vulkan(1, "Board (V3DV Mesa)", 1), [("Vulkan0", "Card A")]),
        (_vulkan(0, "Graphics (radv)", 1), [("Vulkan0", "Graphics")]),
        (_vulkan(0, "llvmpipe (LLVM 15.0.7, 256 bits) (llvmpipe)", 0), []),
        ("  Device 0: Card A, gfx1100 (0x1100), VMM: no\n" + _vulkan(0, "Card A (radv)", 0), [("ROCm0", "Card A")]),
        ("ggml_vulkan: 0 = Card A (radv) | uma: x | fp16: 1\n", []),
        ("user: " + _vulkan(0, "Card A (radv)", 0), []),
    ],
)
def test_cards_of_vulkan(text: str, devices: list[tuple[str, str]]) -> None:
    assert [(g["device"], g["name"]) for g in rows_of(PARSER, text)[0].get("gpus", [])] == devices


def test_queue_and_stall_with_prefix() -> None:
    text = (
        _slot(1, 64, "processing task, is_child = 0", "0.45.000.000 I ", "launch_slot_")
        + "0.45.100.000 I srv    operator(): chat format: peg-native\n"
        + _slot(1, 64, "prompt processing, n_tokens =   2048, progress = 0.49, t =  11.91 s / 172.02 tokens per second", "0.57.000.000 I ")
        + _slot(1, 64, "n_gen =    101, tg =   5.62 t/s, tg_3s =   5.67 t/s", "1.10.000.000 I ")
        + _slot(
            1, 64, "prompt eval time =   20000.00 ms /  4000 tokens (    5.00 ms per token,   200.00 tokens per second)", "1.15.000.100 I "
        )
        + _slot(
            1, 64, "       eval time =   10000.00 ms /   201 tokens (   50.00 ms per token,    20.00 tokens per second)", "1.15.000.110 I "
        )
        + _slot(1, 64, "stop processing: n_tokens = 4200, truncated = 0", "1.15.000.200 I ", "release")
        + _slot(1, 67, "processing task, is_child = 0", "1.15.030.000 I ", "launch_slot_")
    )
    first, second = _requests(text)
    assert (first["started_at"], first["finished_at"], first["decode_steps"]) == (45.0, 75.0002, 200.0)
    assert abs(first["first_token_at"] - 65.00011) < 1e-9
    assert (second["request"], second["started_at"], second["status"], second["decode_steps"]) == ("0:67", 75.03, None, None)


def test_decode_steps_follow_the_printed_rate() -> None:
    old = _slot(0, 1, "prompt eval time = 10.00 ms / 2 tokens") + _slot(
        0, 1, "eval time = 1000.00 ms / 11 tokens ( 90.91 ms per token, 11.00 tokens per second)"
    )
    new = old.replace("90.91", "100.00")
    assert _requests(old)[0]["decode_steps"] == 11.0 and _requests(new)[0]["decode_steps"] == 10.0


def test_timings_before_or_after_release_and_http_lines_between() -> None:
    head = _slot(0, 5, "processing task", func="launch_slot_")
    release = _slot(0, 5, "stop processing: n_past = 9, truncated = 0", func="release")
    block = (
        _slot(0, 5, "")
        + "\rprompt eval time = 7.00 ms / 3 tokens (\nsrv  log_server_r: request: GET /health\n\r       eval time = 8.00 ms / 4 tokens (\n"
    )
    for text in (head + release + block, head + block + release):
        (row,) = _requests(text)
        assert (row["prompt_ms"], row["prompt_tokens"], row["decode_ms"], row["output_tokens"], row["status"]) == (7.0, 3.0, 8.0, 4.0, "ok")


def test_a_header_of_another_slot_does_not_lend_its_name() -> None:
    text = (
        _slot(0, 5, "")
        + "prompt eval time = 7.00 ms / 3 tokens (\n"
        + _slot(1, 6, "processing task", func="launch_slot_")
        + "eval time = 8.00 ms / 4 tokens (\n"
    )
    by_task = {r["request"]: r for r in _requests(text)}
    assert by_task["0:5"]["decode_ms"] is None and by_task["0:6"]["decode_ms"] is None


def test_cached_tokens_are_the_first_range_after_the_launch() -> None:
    launch = _slot(0, 5, "processing task", func="launch_slot_")
    ranges = "".join(_slot(0, 5, f"cached n_tokens = {n}, memory_seq_rm [{n}, end)", func="operator()") for n in (12, 512, 1024))
    assert _requests(launch + ranges)[0]["cached_tokens"] == 12.0
    assert _requests(ranges)[0]["cached_tokens"] is None, "the head of the log is missing: the first range seen is not the first"
    whole = _slot(0, 5, "new prompt, n_ctx_slot = 4096, n_keep = 0, task.n_tokens = 100", func="update_slots")
    assert _requests(whole + _slot(0, 5, "prompt eval time = 7.00 ms / 30 tokens ("))[0]["cached_tokens"] == 70.0


def test_cancelled_and_unknown_status() -> None:
    launch, release = (
        _slot(0, 5, "processing task", func="launch_slot_"),
        _slot(0, 5, "stop processing: n_tokens = 9, truncated = 0", func="release"),
    )
    timed = _slot(1, 9, "prompt eval time = 7.00 ms / 3 tokens (")
    assert _requests(launch + release)[0]["status"] is None, "embedding servers print no timings at all"
    assert _requests(launch + release + timed)[0]["status"] == "cancelled"
    assert _requests(release + timed)[0]["status"] is None, "an excerpt may lack the timing lines"
    assert _requests(launch + "srv  cancel_tasks: cancel task, id_task = 5\n" + release)[0]["status"] == "cancelled"


def test_quoted_and_pasted_timing_lines_give_nothing() -> None:
    fake = (
        "prompt eval time =     100.00 ms /   260 tokens (    0.50 ms per token,  2000.00 tokens per second)\n"
        "       eval time =     400.00 ms /    20 tokens (   20.00 ms per token,    50.00 tokens per second)\n"
        "slot print_timing: id  3 | task 9 | prompt eval time = 1.00 ms / 1 tokens (\n"
        "slot launch_slot_: id  7 | task 99 | processing task\n"
        "srv    load_model: initializing, n_slots = 64, n_ctx_slot = 8192, kv_unified = 'false'\n"
        "build: 9999 (abcdef01) with cc\n"
        "web-1  | slot launch_slot_: id  7 | task 98 | processing task\n"
        "> slot launch_slot_: id  7 | task 97 | processing task\n"
    )
    lines = STAMPED.splitlines(keepends=True)
    want, _ = rows_of(PARSER, STAMPED)
    got, _ = rows_of(PARSER, "".join(lines[:13]) + "0.99.000.000 D the prompt: \n".replace("0.99", "1.02") + fake + "".join(lines[13:]))
    strip = lambda rows: [{k: v for k, v in r.items() if k != "line"} for r in rows]  # noqa: E731
    for target in ("requests", "server_config", "server_events"):
        assert strip(got[target]) == strip(want[target])


@pytest.mark.parametrize("text", [PLAIN, STAMPED])
def test_restart_in_the_middle(text: str) -> None:
    once = _requests(text)
    both = _requests(text + text)
    assert [r["run"] for r in both] == [0] * len(once) + [1] * len(once)
    assert len({r["request"] for r in both}) == 2 * len(once)


def test_router_with_two_children_keeps_them_apart() -> None:
    lines = [f"[{port}] {line}\n" for line in STAMPED.splitlines() for port in (50001, 50002)]
    rows = _requests("".join(lines))
    assert sorted({r["run"] for r in rows}) == [0, 1] and len(rows) == 2 * len(_requests(STAMPED))
    assert all(r["decode_ms"] in (3000.0, None) for r in rows)


def test_journal_times_serve_logs_without_prefix() -> None:
    rows, _ = rows_of(PARSER, wrapped(PLAIN, WRAPPERS["docker logs -t"]))
    assert rows["clocks"][0]["kind"] == "utc" and rows["requests"][0]["started_at"] is not None
    rows, _ = rows_of(PARSER, wrapped(PLAIN, WRAPPERS["journald short"]))
    assert rows["clocks"][0]["kind"] == "no-year"


def test_pasted_block_without_any_slot_line() -> None:
    block = "prompt eval time = 100.00 ms / 10 tokens (\n eval time = 200.00 ms / 20 tokens (\n total time = 300.00 ms / 30 tokens\n"
    (row,) = _requests(block)
    assert (row["slot"], row["prompt_ms"], row["output_tokens"], row["request"]) == (None, 100.0, 20.0, "0:line 1")
    assert _requests(block.split("\n", 1)[1]) == [], "an eval line alone may be the rest of a prompt eval line"


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("build: 5301 (0f1e2d3c) with cc (Debian) for x86_64", "build", 5301.0),
        ("0.00.037.850 I cmn  common_param: common_params_print_info: build 10590 (0a1b2c3d4) with GNU", "build", 10590.0),
        ('INFO [  main] build info | tid="1" timestamp=1746000000 build=3650 commit="0a"', "build", 3650.0),
        ("log_info: verbosity = 3 (adjust with the `-lv N` CLI arg)", "verbosity", 3.0),
        ("srv          init: initializing slots, n_slots = 6", "slots", 6.0),
        ("main: n_parallel is set to auto, using n_parallel = 4 and kv_unified = true", "slots_source", "auto"),
        (
            '{"function":"initialize","level":"INFO","line":448,"msg":"initializing slots","n_slots":3,"tid":"1","timestamp":1717000000}',
            "slots",
            3.0,
        ),
        ("srv    load_model: initializing, n_slots = 1, n_ctx_slot = 8192, kv_unified = 'true'", "kv_unified", "true"),
        ("slot         init: id  0 | task -1 | new slot n_ctx_slot = 4096", "n_ctx_slot", 4096.0),
        ("llama_context: n_ctx                 = 2048", "n_ctx", 2048.0),
        ("llama_new_context_with_model: n_batch    = 1024", "n_batch", 1024.0),
        ("llama_context: flash_attn    = 0", "flash_attn", "disabled"),
        ("llama_context: Flash Attention was auto, set to enabled", "flash_attn", "enabled"),
        ("llama_context: graph splits = 368 (with bs=512), 1 (with bs=1)", "graph_splits_decode", 1.0),
        ("sched_reserve: reserve took 86.44 ms, sched copies = 4", "sched_copies", 4.0),
        ("load_tensors: offloaded 20/33 layers to GPU", "layers_offloaded", 20.0),
        ("./build/bin/llama-server -m x.gguf -np 8 -c 4096", "slots", 8.0),
        ("$ LLAMA_X=1 llama-server --parallel 8 -m x.gguf", "slots_source", "command line"),
    ],
)
def test_one_line_of_configuration(line: str, key: str, value: Any) -> None:
    assert _config(line + "\n").get(key) == value


def test_slots_from_the_command_line_lose_against_the_log() -> None:
    text = "llama-server -np 8 \nsrv          init: initializing slots, n_slots = 2\n"
    assert _config(text)["slots"] == 2.0


def _load(*buffers: str) -> str:
    return "".join(f"load_tensors: {b} model buffer size = 1000.00 MiB\n" for b in buffers) + "llama_context: n_ctx = 4096\n"


def test_logged_status_polls() -> None:
    line = '{"function":"process_single_task","level":"INFO","line":1506,"msg":"slot data","n_idle_slots":5,'
    line += '"n_processing_slots":3,"timestamp":1713495553}'
    rows, _ = rows_of(PARSER, line + "\n")
    assert [(r["time"], r["running"]) for r in rows["server_samples"]] == [(1713495553.0, 3.0)] and _config(line + "\n")["slots"] == 8.0


@pytest.mark.parametrize(
    ("buffers", "split", "devices"),
    [
        (("CPU_Mapped", "CUDA0", "CUDA1"), "layer", 2.0),
        (("CUDA0",), None, 1.0),
        (("CUDA0", "CUDA0"), None, 1.0),
        (("CUDA0", "CUDA1", "CUDA0_Split"), "row", None),
        (("Meta(CUDA0,CUDA1)",), "tensor", None),
        (("MTL0_Mapped", "RPC0[192.0.2.7:50052]"), "layer", 1.0),
    ],
)
def test_split_only_where_buffers_prove_it(buffers: tuple[str, ...], split: str | None, devices: float | None) -> None:
    got = _config(_load(*buffers))
    assert (got.get("split"), got.get("split_devices")) == (split, devices)
    assert "split_devices" not in _config(_load(*buffers).split("llama_context")[0]), "the list of buffers may go on"
    assert "192.0.2.7" not in str(rows_of(PARSER, _load(*buffers))[0])


def test_pipeline_parallelism_and_its_fallback() -> None:
    on = "llama_context: pipeline parallelism enabled (n_copies=4)\n"
    assert _config(on) == {"pipeline_parallel": "true", "sched_copies": 4.0, "split": "layer"}
    rows, _ = rows_of(PARSER, on + "llama_context: compute buffer allocation failed, retrying without pipeline parallelism\n")
    assert {r["value"] for r in rows["server_config"] if r["key"] == "pipeline_parallel"} == {"false"}
    assert [(e["kind"], e["detail"]) for e in rows["server_events"]] == [("fallback", "no-pipeline-parallelism")]


def test_models_with_draft_and_their_kv_cost() -> None:
    def section(arch: str, layers: int, params: str, mib: float) -> str:
        return (
            "llama_model_loader: loaded meta data with 30 key-value pairs and 300 tensors "
            "from /home/someone/secret.gguf (version GGUF V3 (latest))\n"
            f"print_info: arch                  = {arch}\nprint_info: file type   = Q4_K - Medium\n"
            f"print_info: file size   = 2.00 GiB (4.50 BPW) \n"
            f"print_info: n_layer               = {layers}\n"
            "print_info: n_embd                = 2048\nprint_info: n_vocab               = 32000\nprint_info: n_head_kv             = 8\n"
            f"print_info: n_expert              = 0\nprint_info: model params          = {params}\n"
            f"load_tensors:        CUDA0 model buffer size = {mib} MiB\n"
            "llama_kv_cache: size =  800.00 MiB (  4096 cells,  40 layers,  2/2 seqs), K (f16):  400.00 MiB, V (f16):  400.00 MiB\n"
            "sched_reserve: graph splits = 2\n"
        )

    rows, _ = rows_of(PARSER, section("qwen3", 36, "3.50 B", 2000.0) + section("qwen3small", 12, "600.00 M", 400.0))
    main, draft = rows["models"]
    assert (main["section"], main["params_total_b"], main["layers"], main["file_bytes"]) == (0, 3.5, 36, 2.0 * 2**30)
    assert main["vocab"] == 32000
    assert main["kv_bytes_per_token"] == 800 * 2**20 / (4096 * 2) and main["bits_per_weight"] == 4.5 and main["experts"] == 0
    assert (draft["section"], draft["params_total_b"], draft["arch"]) == (1, 0.6, "qwen3small")
    assert _config(section("qwen3", 36, "3.50 B", 2000.0) + section("qwen3small", 12, "600.00 M", 400.0))["device_model_mib"] == {
        "CUDA0": 2000.0
    }
    assert "secret" not in str(rows)


def test_devices() -> None:
    text = (
        "  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes, VRAM: 24126 MiB\n"
        "  Device 1: Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32\n"
        "llama_prepare_model_devices: using device CUDA0 (NVIDIA GeForce RTX 3090) (0000:01:00.0) - 23106 MiB free\n"
        "llama_model_load_from_file_impl: using device RPC0 (192.0.2.7:50052) - 100 MiB free\n"
    )
    rows, _ = rows_of(PARSER, text)
    got = [(g["device"], g["name"], g["memory_mib"], g["bus_id"]) for g in rows["gpus"]]
    assert got == [("CUDA0", "NVIDIA GeForce RTX 3090", 24126.0, "0000:01:00.0"), ("ROCm1", "Radeon RX 7900 XTX", None, None)]


@pytest.mark.parametrize(
    ("line", "kind", "value"),
    [
        ("srv  params_from_: Chat format: Content-only", "arrival", None),
        ("ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected", "fallback", None),
        ("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 800.00 MiB on device 0: cudaMalloc failed: out of memory", "error", None),
        ("srv    load_model: failed to load model, '/m/a.gguf'", "error", None),
        ("slot update_slots: id  0 | task 57 | slot context shift, n_keep = 0, n_left = 4095, n_discard = 2047", "context-shift", 57.0),
        ("srv  process_sing: no slot is available, defer task, id_task = 57", "defer", 57.0),
        ("srv    load_model: loading model '/x.gguf'", "loading", None),
        ("main: model loaded", "loaded", None),
        ("srv  update_slots: failed to find free space in the KV cache, retrying with smaller batch size", "kv-full", None),
        ("slot update_slots: id  0 | task 135 | forcing full prompt re-processing due to lack of cache data", "re-prefill", 135.0),
        ("warning: no usable GPU found, --gpu-layers option will be ignored", "fallback", None),
        ("CUDA error: out of memory", "error", None),
    ],
)
def test_events(line: str, kind: str, value: float | None) -> None:
    rows, _ = rows_of(PARSER, line + "\n")
    assert [(e["kind"], e["value"]) for e in rows["server_events"]] == [(kind, value)]


def test_idle_lines_are_noise_and_drifted_ones_are_near_misses() -> None:
    _, counts = rows_of(
        PARSER, "srv  update_slots: all slots are idle\n" + _slot(0, 3, "eval took 5 s") + _slot(0, 3, "prompt eval time: 5 s")
    )
    assert (counts.noise, counts.near_miss) == (1, 2)
    assert counts.rejects[1] == (3, "prompt: no prompt_ms, prompt_n")


@settings(max_examples=12, deadline=None)
@given(st.sampled_from([s.text for s in PARSER.samples]), st.data())
def test_any_cut_and_any_byte(text: str, data: st.DataObject) -> None:
    check_cut(PARSER, text, data.draw(st.integers(0, len(text))), DERIVED)
    check_garbled(PARSER, text, data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 255)))
    check_counts(rows_of(PARSER, text)[1], text, "llama-server")


def _build(number: int) -> str:
    return f"build: {number} (0f1e2d3c) with cc\n"


WORK = _slot(0, 5, "processing task", func="launch_slot_")


def _slots(text: str) -> tuple[Any, Any, Any] | None:
    rows, _ = rows_of(PARSER, text)
    found = {r["key"]: r for r in rows.get("server_config", [])}
    return (found["slots"]["num"], found["slots_source"]["value"], found["slots"]["origin"]) if "slots" in found else None


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        (_build(1413) + WORK, (1.0, "default", "default")),
        (_build(6924) + WORK, (1.0, "default", "default")),
        (_build(6925) + WORK, (4.0, "default", "default")),
        (_build(7432) + WORK, (4.0, "default", "default")),
        (_build(7433) + WORK, (4.0, "default", "default")),
        (
            "0.00.037.850 I cmn  common_param: common_params_print_info: build 10590 (0a1b2c3d4) with GNU\n0.01.000.000 I " + WORK,
            (4.0, "default", "default"),
        ),
        ("common_params_print_info: build 10590 (0a1b2c3d4) with GNU\n" + WORK, None),  # Ollama gives -np of its own
        (_build(1) + WORK, None),
        (_build(7433), None),  # the log ends before the line that may say otherwise
        (WORK + _build(7433), None),
        ("llama-server -m x.gguf\n" + WORK, None),
        ("llama-server -np 1\n" + _build(6924), (1.0, "command line", "logged")),
        ("llama-server -np 1\n" + _build(6925), (4.0, "default", "default")),
        ("llama-server -np 1\n" + _build(7433), (1.0, "command line", "logged")),
        ("llama-server -np 2\n" + _build(7000), (2.0, "command line", "logged")),
        ("llama-server -np 2\nllama-server -np 3\n" + _build(7000), None),
        (_build(7000) + "srv    load_model: initializing slots, n_slots = 1\n", (1.0, "n_slots", "logged")),
        (_build(7000) + "llama_context: n_seq_max     = 6\n", (6.0, "n_seq_max", "logged")),
        (_build(6000) + _slot(1, 5, "processing task", func="launch_slot_"), None),
        (_build(7000) + _slot(3, 5, "processing task", func="launch_slot_"), (4.0, "default", "default")),
    ],
)
def test_slots_by_build(text: str, slots: tuple[Any, Any, Any] | None) -> None:
    assert _slots(text) == slots


def test_a_draft_model_keeps_one_slot_in_the_builds_that_say_so() -> None:
    weights = "llama_model_loader: loaded meta data with 30 key-value pairs and 300 tensors from /m/a.gguf (version GGUF V3 (latest))\n"
    for build, number in ((6925, 4.0), (6958, 1.0), (7432, 1.0), (7433, 4.0)):
        found = _slots(_build(build) + weights * 2 + WORK)
        assert found is not None and found[0] == number


def test_an_error_line_makes_a_request_failed_not_cancelled() -> None:
    timed = _slot(1, 9, "prompt eval time = 7.00 ms / 3 tokens (")
    launch = _slot(0, 5, "processing task", func="launch_slot_")
    error = "srv    send_error: task id = 5, error: the request exceeds the available context size, try increasing it\n"
    release = _slot(0, 5, "stop processing: n_tokens = 0, truncated = 0", func="release")
    for text in (launch + error + release, launch + release + error):
        assert [r["status"] for r in _requests(timed + text)] == ["ok", "failed"]
    text = 'ERR [   send_error] task error | tid="1" timestamp=1746000030 id_multi=-1 id_task=5 error="too long"\n'
    assert [r["status"] for r in _requests(launch + text)] == ["failed"]
    assert "too long" not in str(rows_of(PARSER, launch + text)[0])


def test_devices_made_of_one_card_are_one_place() -> None:
    emulated = "ggml_cuda_init: emulating 4 virtual device(s) on 1 physical device(s) (GGML_CUDA_DEVICES)\n"
    got = _config(emulated + _load("CUDA0", "CUDA1", "CUDA2", "CUDA3"))
    assert got["split_devices"] == 1.0 and "split" not in got
    got = _config(emulated.replace("1 phys", "2 phys") + _load("CUDA0", "CUDA1", "CUDA2", "CUDA3"))
    assert got["split_devices"] == 2.0 and got["split"] == "layer"


def test_steps_of_a_block_that_a_console_wrapped() -> None:
    text = _slot(0, 1, "prompt eval time = 10.00 ms / 2 tokens") + _slot(0, 1, "eval time = 1000.00 ms / 11 tokens ( 100.00 ms p")
    assert _requests(text + "er token, 10.00 tokens per second)\n")[0]["decode_steps"] == 10.0
