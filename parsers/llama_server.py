r"""llama.cpp's `llama-server`: its own log, alone or inside router, docker, journal and Ollama (0.30 and later) logs.

How to get one: `llama-server ... 2>&1 | tee server.log` (everything is on stderr), `--log-file server.log`,
`docker logs -t NAME > server.log 2>&1`, `journalctl -u NAME -o short-iso-precise > server.log`. From build 9829 on the default log has
almost no configuration: add `-lv 4`.

Versions. Slot lines with and without the `minutes.seconds.milliseconds.microseconds` prefix (build 3761 of 2024-09 up to 2026), the
`INFO [func] msg | key=value` and JSON-per-line logs of 2024 (also ik_llama.cpp and llamafile). A dialect is recognised per line: forks
and Ollama mix them. Build numbers of distribution packages may be 0 or 1 and order nothing.

Tables
- `requests`: one row per slot and task. started_at: launch (where that is not in the log, from a progress line: its stamp minus its
  `t`). finished_at: release, or the timing lines. first_token_at: the stamp of the timing lines minus decode_ms, or started_at plus
  prompt_ms. prompt_tokens: computed ones (the cache excluded). cached_tokens: start of the first range cleared after the launch, else
  whole prompt minus computed ones. decode_steps: tokens minus one where the printed ms per token
  shows that the rate leaves the first token out (build 10406 and later). status: ok with timings; failed with an error line; cancelled with a cancel line, or
  where a request was launched and released without timings in a log that prints timings; else unknown (embeddings print none).
- `server_samples`: slots in service where a status poll is logged (2024).
- `server_events`: arrival, defer, loading, loaded, kv-full, purge, re-prefill, context-shift, fallback, error.
- `server_config` keys: slots, slots_source (n_slots, auto, n_seq_max, command line, default), slots_seen (highest slot plus one: a lower bound), n_ctx_slot,
  n_ctx, n_batch, n_ubatch, kv_unified, build, verbosity, layers_offloaded, layers_total, flash_attn, graph_splits,
  graph_splits_decode, sched_copies,
  pipeline_parallel, split, split_devices, device_model_mib (one row per device: value is its name), cpu_model_mib, kv_buffer_mib (one row
  per device).
- `gpus`: the devices the server names, with the PCI id where it is printed. `models`: one row per loaded weight file.

Traps
- Prompt and eval times are wall times of a slot and contain the work of the other slots.
- A late launch beside a free slot is no queue: the loop was inside one decode call.
- "all slots are idle" follows every internal task and says nothing about idle time.
- No build prints the split mode. It is stated only where buffers prove it: plain buffers on several devices (layer), `CUDA_Split` (row),
  `Meta(...)` (tensor), pipeline parallelism (layer).
- Where a log tells the build and goes on to requests, but tells neither slots nor `-np` (somebody filtered it), slots has origin default:
  1 up to build 6924, 4 from 6925 on (1 beside a draft model in 6958 to 7432). Not where a slot beyond that number has worked, nor where
  the log ends before: what is missing there may say something else. From 6925 to 7432 `-np 1` is 4 as well.
- In a log whose slot lines carry the time prefix, a slot line without it is somebody's prompt and is left out.
- Timing lines without any slot line before them (pasted alone) are read as requests of unknown slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..engine.line_format import Field, Int, Line, LineFormat, Num, Sample, Stamp, Text, Word

_SLOT = r"slot +\S+: id +\d+ \| task -?\d+ \| *"
_TEXT = r"(?:INFO|WARN|ERR|VERB) +\[ *\w+\] +"
_JSON = r'\{"[^{}]*"(?:msg|message)":"\s*'
_ANY = rf"^(?:{_SLOT}|{_TEXT}|{_JSON})$"
_SRV = r"^(?:main|srv +\S+): +$"
_LIB = r"^\w+: +$"
_LOAD = r"^(?:llm_)?load_tensors: +"
_WHO = {
    "slot": Int(r'(?:^slot +\S+: id +|\bid_slot=|"(?:id_slot|slot_id)":)(\d+)'),
    "task": Int(r'(?:^slot +\S+: id +\d+ \| task |\bid_task=|"(?:id_task|task_id)":)(-?\d+)'),
}
_GPU = r"(?:CUDA|ROCm|HIP|Vulkan|SYCL|MUSA|CANN|MTL|Metal|GPUOpenCL|OpenCL|WebGPU)"
_CONTEXT = ("llama_context: ", "llama_new_context_with_model: ", "llama_init_from_model: ")

# the footer of llama-bench is the other way round, `build: <hash> (<number>)`, and a hash may begin with digits
_BUILD = r'(?:^build: |common_params_print_info: build |\bbuild=|"build":)(\d+)(?: \((?:[0-9a-f]{7,}|unknown)\)| [^(]|[,"}]|$)'


def _of_request(
    kind: str, anchor: str | tuple[str, ...], after: str, fields: Mapping[str, Field] | None = None, need: tuple[str, ...] = ()
) -> Line:
    """A line of one request: it names slot and task."""
    return Line(kind, "requests*", anchor, {**_WHO, **(fields or {})}, need=("slot", "task", *need), after=after, serves=True)


_REQUEST_LINES = (
    Line(
        "prompt",
        into="requests*",
        anchor="prompt eval time",
        after=_ANY,
        fields={**_WHO, "prompt_ms": Num(r"prompt eval time += +([\d.]+) ms"), "prompt_n": Int(r"prompt eval time[^/]*/ +(\d+) tokens")},
        need=("prompt_ms", "prompt_n"),
        serves=True,
    ),
    Line(
        "decode",
        into="requests*",
        anchor="eval time",
        after=rf"^(?:{_SLOT}|{_TEXT}generation |{_JSON}generation )$",
        fields={
            **_WHO,
            "decode_ms": Num(r"eval time += +([\d.]+) ms"),
            "output_n": Int(r"eval time[^/]*/ +(\d+) (?:tokens|runs)"),
            "per_token": Num(r"\( *([\d.]+) ms\b"),
        },
        need=("decode_ms", "output_n"),
        serves=True,
    ),
    Line(
        "draft",
        into="requests*",
        anchor="draft acceptance",
        after=rf"^{_SLOT}$",
        fields={**_WHO, "accepted_n": Int(r"\( *(\d+) accepted"), "drafted_n": Int(r"/ *(\d+) generated")},
        need=("accepted_n", "drafted_n"),
        serves=True,
    ),
    _of_request("launch", ("processing task", "slot is processing task"), rf"^(?:{_SLOT}|{_TEXT}(?:slot is )?|{_JSON}(?:slot is )?)$"),
    _of_request(
        "release",
        ("stop processing:", "slot released"),
        _ANY,
        fields={"n_in_slot": Int(r'(?:n_tokens = |n_past = |n_past=|"n_past":)(\d+)')},
    ),
    _of_request(
        "whole prompt",
        "new prompt, ",
        rf"^{_SLOT}$",
        fields={"whole_n": Int(r"(?:n_prompt_tokens|task\.n_tokens) = (\d+)"), "slot_ctx": Int(r"n_ctx_slot = (\d+)")},
        need=("whole_n",),
    ),
    _of_request(
        "cached",
        ("kv cache rm [", "memory_seq_rm ["),
        rf"^(?:{_SLOT}(?:(?:cached )?n_(?:tokens|past) = \d+, )?|{_TEXT}|{_JSON})$",
        fields={"p0": Int(r'(?:rm \[|\bp0=|"p0":)(\d+)')},
        need=("p0",),
    ),
    _of_request("prefilling", "prompt processing, n_tokens", rf"^{_SLOT}$", fields={"prefill_s": Num(r", t = +([\d.]+) s\b")}),
    _of_request("generating", ("n_decoded = ", "n_gen = "), rf"^{_SLOT}$"),
    Line(
        "re-prefill",
        into="server_events",
        anchor="forcing full prompt re-processing",
        after=rf"^{_SLOT}$",
        fields={"kind": Word("re-prefill"), "value": Num(r"\| task (\d+) \|")},
        serves=True,
    ),
    Line(
        "print_timing",
        into="requests*",
        anchor="print_timing: id ",
        after=r"^slot +$",
        fields={**_WHO, "known_body": Text(r"\| task -?\d+ \|(\s*)$")},
        need=("task", "known_body"),
        serves=True,
    ),
    Line(
        "cancel",
        into="requests*",
        anchor="cancel task, id_task = ",
        after=r"^(?:srv|que) +\S+: +$",
        fields={"task": Int(r"id_task = (\d+)")},
        need=("task",),
    ),
)

_EVENT_LINES = (
    Line(
        "failed",
        into="requests*",
        anchor=("task id = ", "task error"),
        after=rf"^(?:srv +\S+: +|{_TEXT}|{_JSON})$",
        fields={"task": Int(r'(?:: task id = |\bid_task=|"(?:id_task|task_id)":)(\d+)')},
        need=("task",),
    ),
    Line(
        "context-shift",
        into="server_events",
        anchor=("slot context shift, ", "context shift, "),
        after=rf"^{_SLOT}$",
        fields={"kind": Word("context-shift"), "value": Num(r"\| task (\d+) \|")},
        serves=True,
    ),
    Line("arrival", into="server_events", anchor=("chat format: ", "Chat format: "), after=_SRV, fields={"kind": Word("arrival")}),
    Line(
        "defer",
        into="server_events",
        anchor="defer task, id_task = ",
        after=r"^srv +\S+: no slot is available, $",
        fields={"kind": Word("defer"), "value": Num(r"id_task = (\d+)")},
    ),
    Line(
        "loading",
        into="server_events",
        anchor="load_model: loading model",
        after=r"^srv +$",
        fields={"kind": Word("loading")},
        starts_run=True,
    ),
    Line(
        "loaded",
        into="server_events",
        anchor="model loaded",
        after=rf"^(?:(?:main|srv +\S+): +|{_TEXT}|{_JSON})$",
        fields={"kind": Word("loaded")},
        serves=True,
    ),
    Line(
        "kv-full",
        into="server_events",
        anchor=("failed to find free space in the KV cache", "failed to find a memory slot for batch of size"),
        after=rf"^(?:srv +\S+: +|{_SLOT}|decode: )$",
        fields={"kind": Word("kv-full")},
    ),
    Line(
        "purge",
        into="server_events",
        anchor="purging slot ",
        after=rf"^(?:srv +\S+: +|{_SLOT})$",
        fields={"kind": Word("purge"), "value": Num(r"with (\d+) tokens")},
    ),
    Line(
        "no-pipeline",
        into="server_config*",
        anchor="retrying without pipeline parallelism",
        after=r"^\w+: compute buffer allocation failed, $",
    ),
    Line(
        "no-gpu",
        into="server_events",
        anchor="no usable GPU found",
        after=r"^(?:warning: )?$",
        fields={"kind": Word("fallback"), "detail": Word("no-gpu")},
    ),
    Line(
        "no-driver",
        into="server_events",
        anchor=("failed to initialize CUDA: ", "failed to initialize ROCm: "),
        after=r"^ggml_cuda_init: $",
        fields={"kind": Word("fallback"), "detail": Word("no-gpu")},
    ),
    Line(
        "out of memory",
        into="server_events",
        anchor="cudaMalloc failed: out of memory",
        after=r"^\w+: allocating [\d.]+ MiB on device \d+: $",
        fields={"kind": Word("error"), "detail": Word("out-of-memory")},
    ),
    Line(
        "not loaded",
        into="server_events",
        anchor="failed to load model",
        after=r"^(?:main|srv +\S+): +$",
        fields={"kind": Word("error"), "detail": Word("model-not-loaded")},
    ),
    Line(
        "cuda-error",
        into="server_events",
        anchor="CUDA error",
        after=r"^(?:\S+: )?$",
        fields={"kind": Word("error"), "detail": Word("cuda-error")},
    ),
)

_CONFIG_LINES = (
    Line(
        "build",
        into="server_config*",
        anchor=("build: ", "common_params_print_info: build ", "build info"),
        after=rf"^(?:cmn +\S+: +|{_TEXT}|{_JSON})?$",
        fields={"build": Int(_BUILD)},
        need=("build",),
        starts_run=True,
    ),
    Line(
        "verbosity",
        into="server_config*",
        anchor=("common_params_print_info: verbosity = ", "log_info: verbosity = "),
        after=r"^(?:cmn +\S+: +)?$",
        fields={"verbosity": Int(r"verbosity = (\d+)")},
        need=("verbosity",),
        starts_run=True,
    ),
    Line(
        "slots",
        into="server_config*",
        anchor=("initializing slots", "initializing, n_slots"),
        after=rf"^(?:srv +\S+: +|{_TEXT}|{_JSON})$",
        fields={
            "n_slots": Int(r'(?:n_slots = |\bn_slots=|"n_slots":)(\d+)'),
            "slot_ctx": Int(r"n_ctx_slot = (\d+)"),
            "unified": Text(r"kv_unified = '?(true|false)\b"),
        },
        need=("n_slots",),
    ),
    Line(
        "slot data",
        into="server_config*",
        anchor="slot data",
        after=rf"^(?:{_TEXT}|{_JSON})$",
        fields={
            "idle_n": Int(r'(?:\bn_idle_slots=|"n_idle_slots":)(\d+)'),
            "busy_n": Int(r'(?:\bn_processing_slots=|"n_processing_slots":)(\d+)'),
        },
        need=("idle_n", "busy_n"),
        serves=True,
    ),
    Line(
        "auto slots",
        into="server_config*",
        anchor=("n_parallel is set to auto, using n_parallel = ", "setting n_parallel = "),
        after=_SRV,
        fields={"n_parallel": Int(r"n_parallel = (\d+)"), "unified": Text(r"kv_unified = '?(true|false)\b")},
        need=("n_parallel",),
    ),
    Line(
        "new slot",
        into="server_config*",
        anchor="new slot",
        after=_ANY,
        fields={
            "new_slot": Int(r'(?:^slot +\S+: id +|\bid_slot=|"(?:id_slot|slot_id)":)(\d+)'),
            "slot_ctx": Int(r'(?:n_ctx_slot = |n_ctx = |\bn_ctx_slot=|"n_ctx_slot":)(\d+)'),
        },
        need=("new_slot",),
    ),
    Line(
        "argument",
        into="server_config*",
        anchor="load:   ",
        after=r"^srv +$",
        fields={"arg": Text(r"load:   (--parallel|-np)\s*$"), "arg_n": Int(r"load:   (\d+)\s*$")},
    ),
    Line(
        "command",
        into="server_config*",
        anchor="llama-server ",
        after=r"^(?:\(\w+\) )?(?:\S+[$#] ?|[$#] )?(?:[A-Z_0-9]+=\S+ )*(?:[\w./~-]*/)?$",
        fields={"command_n": Int(r" (?:-np|--parallel)[ =](\d+)\b")},
    ),
    Line(
        "kv size",
        into="server_config*",
        anchor="size =",
        after=r"^llama_kv_cache\w*: +$",
        fields={
            "kv_total_mib": Num(r": size = +([\d.]+) MiB"),
            "kv_cells": Int(r"\( *(\d+) cells"),
            "kv_streams": Int(r"\d+/ *(\d+) seqs"),
        },
        need=("kv_total_mib", "kv_cells"),
    ),
    Line(
        "kv self size",
        into="server_config*",
        anchor="KV self size",
        after=r"^llama_\w+: +$",
        fields={"kv_self_mib": Num(r"KV self size += +([\d.]+) MiB")},
        need=("kv_self_mib",),
    ),
    Line(
        "pipeline",
        into="server_config*",
        anchor="pipeline parallelism enabled",
        after=_LIB,
        fields={"copies": Int(r"n_copies=(\d+)")},
    ),
    Line(
        "graph splits",
        into="server_config*",
        anchor="graph splits = ",
        after=_LIB,
        fields={"graph_splits": Int(r"graph splits = (\d+)"), "graph_splits_decode": Int(r"(\d+) \(with bs=1\)")},
        need=("graph_splits",),
    ),
    Line(
        "copies",
        into="server_config*",
        anchor="sched copies = ",
        after=r"^\w+: reserve took [\d.]+ ms, $",
        fields={"copies": Int(r"sched copies = (\d+)")},
        need=("copies",),
    ),
    Line(
        "flash attention",
        into="server_config*",
        anchor=("Flash Attention was auto, set to ", "resolve_fused_ops: Flash Attention "),
        after=r"^(?:\w+: +)?$",
        fields={"flash_attn": Text(r"(?:set to|Flash Attention) (enabled|disabled)\b")},
        need=("flash_attn",),
    ),
    Line(
        "kv buffer",
        into="server_config*",
        anchor="KV buffer size =",
        after=r"^llama_kv_cache\w*: +\S+ +$",
        fields={"kv_device": Text(r"^llama_kv_cache\w*: +(\w+)"), "kv_mib": Num(r"KV buffer size = +([\d.]+) MiB")},
        need=("kv_device", "kv_mib"),
    ),
    Line(
        "model buffer",
        into="server_config*",
        anchor="buffer size =",
        after=_LOAD + r"\S+ (?:model )?$",
        fields={"buffer": Text(r"load_tensors: +(\w+)"), "buffer_mib": Num(r"buffer size = +([\d.]+) MiB")},
        need=("buffer", "buffer_mib"),
    ),
    Line(
        "offload",
        into="server_config*",
        anchor="offloaded ",
        after=_LOAD + "$",
        fields={"offloaded": Int(r"offloaded (\d+)/"), "offloadable": Int(r"/(\d+) layers")},
        need=("offloaded", "offloadable"),
    ),
    Line(
        "meta device",
        into="server_config*",
        anchor="creating a Meta device for tensor parallelism from ",
        after=r"^(?:\w+: +)?$",
        fields={"meta_devices": Int(r"from (\d+) devices")},
    ),
    Line(
        "virtual devices",
        into="server_config*",
        anchor="emulating ",
        after=r"^ggml_cuda_init: $",
        fields={"physical_n": Int(r" virtual device\(s\) on (\d+) physical device")},
        need=("physical_n",),
    ),
    Line("graph split mode", into="server_config*", anchor="Estimated model buffer size per device", after=r"^(?:\w+: +)?$"),
    Line(
        "context",
        into="server_config*",
        anchor=tuple(
            f"{label}{key}" for label in _CONTEXT for key in ("n_ctx", "n_batch", "n_ubatch", "n_seq_max", "flash_attn", "kv_unified")
        ),
        after=r"^$",
        fields={
            "n_ctx": Int(r": n_ctx += +(\d+)"),
            "seq_max": Int(r": n_seq_max += +(\d+)"),
            "n_ctx_seq": Int(r": n_ctx_(?:per_)?seq += +(\d+)"),
            "n_batch": Int(r": n_batch += +(\d+)"),
            "n_ubatch": Int(r": n_ubatch += +(\d+)"),
            "flash_attn": Text(r": flash_attn += +(\w+)"),
            "unified": Text(r": kv_unified += +(true|false)\b"),
        },
    ),
)

_MODEL_LINES = (
    Line(
        "weights",
        into="models*",
        anchor="llama_model_loader: loaded meta data with ",
        after=r"^$",
    ),
    Line(
        "gguf",
        into="models*",
        anchor=(
            "general.architecture str",
            "general.name str",
            ".block_count u32",
            ".embedding_length u32",
            ".expert_count u32",
            ".expert_used_count u32",
            ".attention.head_count_kv u32",
            ".attention.key_length u32",
        ),
        after=r"^llama_model_loader: - kv +\d+: +[\w-]*$",
        fields={
            "arch": Text(r"general\.architecture str += ([\w.-]+)"),
            "model_name": Text(r"general\.name str += (\S[^\t]{0,80}?)\s*$"),
            "layers": Int(r"\.block_count u32 += (\d+)"),
            "hidden": Int(r"\.embedding_length u32 += (\d+)"),
            "experts": Int(r"\.expert_count u32 += (\d+)"),
            "experts_used": Int(r"\.expert_used_count u32 += (\d+)"),
            "kv_heads": Int(r"\.attention\.head_count_kv u32 += (\d+)"),
            "head_dim": Int(r"\.attention\.key_length u32 += (\d+)"),
        },
    ),
    Line(
        "meta",
        into="models*",
        anchor=tuple(
            f"{label}: {key}"
            for label in ("print_info", "llm_load_print_meta")
            for key in (
                "arch",
                "n_layer ",
                "n_embd ",
                "n_head_kv ",
                "n_embd_head_k ",
                "n_expert",
                "n_vocab ",
                "model ",
                "file ",
                "general.name",
            )
        ),
        after=r"^$",
        fields={
            "arch": Text(r": arch += ([\w.-]+)"),
            "model_name": Text(r": general\.name += (\S[^\t]{0,80}?)\s*$"),
            "layers": Int(r": n_layer += (\d+)"),
            "hidden": Int(r": n_embd += (\d+)"),
            "vocab": Int(r": n_vocab += (\d+)"),
            "kv_heads": Int(r": n_head_kv += (\d+)"),
            "head_dim": Int(r": n_embd_head_k += (\d+)"),
            "experts": Int(r": n_expert += (\d+)"),
            "experts_used": Int(r": n_expert_used += (\d+)"),
            "params_t": Num(r": model params += ([\d.]+) T\b", scale=1e3),
            "params_b": Num(r": model params += ([\d.]+) B\b"),
            "params_m": Num(r": model params += ([\d.]+) M\b", scale=1e-3),
            "size_gib": Num(r": (?:file|model) size += ([\d.]+) GiB", scale=float(2**30)),
            "size_mib": Num(r": (?:file|model) size += ([\d.]+) MiB", scale=float(2**20)),
            "bpw": Num(r": (?:file|model) size += .*\(([\d.]+) BPW\)"),
            "quantisation": Text(r": (?:file type|model ftype) += (\S.*?)\s*$"),
        },
    ),
)

_DEVICE_LINES = (
    Line(
        "cuda device",
        into="gpus*",
        anchor="Device ",
        after=r"^\s+$",
        fields={
            "index": Int(r"^\s+Device (\d+): "),
            "gpu_name": Text(r"^\s+Device \d+: (\S.*?), (?:compute capability|gfx)"),
            "gfx": Text(r", (gfx)\w+"),
            "vram": Int(r"VRAM: (\d+) MiB"),
        },
        need=("index", "gpu_name"),
    ),
    Line(
        "device info",
        into="gpus*",
        anchor=" MiB free)",
        after=rf"^(?:cmn +\S+: +)?\s*- {_GPU}\d* +: .*$",
        fields={
            "gpu_device": Text(rf"- ({_GPU}\d*) +: "),
            "gpu_name": Text(r"- \w+ +: (\S.*?) +\(\d+ MiB, "),
            "vram": Int(r"\((\d+) MiB, \d+ MiB free\)"),
        },
        need=("gpu_device", "gpu_name"),
    ),
    Line(
        "vulkan device",
        into="gpus*",
        anchor=" | uma: ",
        after=r"^ggml_vulkan: \d+ = \S.*\)$",
        fields={
            "gpu_device": Text(r"^ggml_vulkan: (\d+) = "),
            "gpu_name": Text(r"^ggml_vulkan: \d+ = (\S.*?) \([^()|]*\) \| uma: "),
            "shares_memory": Int(r" \| uma: ([01]) "),
        },
        need=("gpu_device", "gpu_name", "shares_memory"),
    ),
    Line(
        "using device",
        into="gpus*",
        anchor="using device ",
        after=r"^llama_\w+: +$",
        fields={
            "gpu_device": Text(rf"using device ({_GPU}\d*) \("),
            "gpu_name": Text(rf"using device {_GPU}\d* \((\S.*?)\) (?:\([0-9A-Fa-f:.]+\) )?- \d+ MiB free"),
            "bus": Text(r"\(([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\) - "),
        },
    ),
)

_NOISE = (
    "all slots are idle",
    "total time =",
    "graphs reused =",
    "acc per pos =",
    "prompt processing progress",
    "| prompt done, ",
    "prompt processing done",
    "sampler chain:",
    "sampler params:",
    "selected slot by ",
    "| init sampler, took",
    "context checkpoint",
    "log_server_r: ",
    "log_server_request",
)

_REQUESTS = """
WITH known AS (
    SELECT *, sum(CASE WHEN kind = 'launch' THEN 1 ELSE 0 END) OVER (PARTITION BY run, slot, task ORDER BY line) AS life
    FROM staged
    WHERE kind IN ('launch', 'whole prompt', 'cached', 'prefilling', 'generating', 'prompt', 'decode', 'draft', 'release')
        AND slot IS NOT NULL AND task >= 0
), steps AS (
    SELECT run, sign(sum(CASE
        WHEN output_n > 1 AND abs(abs(decode_ms / output_n - per_token) - abs(decode_ms / (output_n - 1) - per_token)) > 0.006
        THEN sign(abs(decode_ms / output_n - per_token) - abs(decode_ms / (output_n - 1) - per_token)) END)) AS first_left_out
    FROM known WHERE kind = 'decode' GROUP BY run
), lives AS (
    SELECT run, slot, task, life, min(line) AS line,
        CAST(run AS VARCHAR) || ':' || CAST(task AS VARCHAR) || CASE WHEN life > 1 THEN '.' || CAST(life AS VARCHAR) ELSE '' END
            AS request,
        coalesce(min(t) FILTER (kind = 'launch'), min(t) FILTER (kind = 'whole prompt'),
            min(t) FILTER (kind = 'cached' AND p0 = 0), arg_min(t - prefill_s, line) FILTER (kind = 'prefilling')) AS started_at,
        min(t) FILTER (kind = 'release') AS released_at,
        min(t) FILTER (kind = 'decode') AS timed_at,
        min(t) FILTER (kind = 'prompt') AS prompt_timed_at,
        CASE WHEN count(t) FILTER (kind IN ('launch', 'whole prompt')) = 0 AND count(t - prefill_s) > 0 THEN greatest(max(res), 0.01)
            ELSE max(res) FILTER (t IS NOT NULL) END AS resolution_s,
        arg_min(prompt_n, line) FILTER (kind = 'prompt') AS prompt_n,
        arg_min(prompt_ms, line) FILTER (kind = 'prompt') AS prompt_ms,
        arg_min(output_n, line) FILTER (kind = 'decode') AS output_n,
        arg_min(decode_ms, line) FILTER (kind = 'decode') AS decode_ms,
        arg_min(accepted_n, line) FILTER (kind = 'draft') AS accepted_n,
        arg_min(drafted_n, line) FILTER (kind = 'draft') AS drafted_n,
        arg_min(whole_n, line) FILTER (kind = 'whole prompt') AS whole_n,
        arg_min(p0, line) FILTER (kind = 'cached') AS p0,
        bool_or(kind = 'launch') AS launched,
        bool_or(kind = 'release') AS released,
        bool_or(kind IN ('prompt', 'decode')) AS timed
    FROM known GROUP BY run, slot, task, life
), pasted AS (
    SELECT *, sum(CASE WHEN kind = 'prompt' THEN 1 ELSE 0 END) OVER (PARTITION BY run ORDER BY line) AS life
    FROM staged
    WHERE kind IN ('prompt', 'decode', 'draft') AND task IS NULL AND slot IS NULL
      AND line < coalesce((SELECT min(line) FROM staged WHERE task IS NOT NULL), 9223372036854775807)
), alone AS (
    SELECT run, min(line) AS line, CAST(run AS VARCHAR) || ':line ' || CAST(min(line) AS VARCHAR) AS request,
        min(t) FILTER (kind = 'decode') AS timed_at, max(res) AS resolution_s,
        any_value(prompt_n) AS prompt_n, any_value(prompt_ms) AS prompt_ms,
        any_value(output_n) AS output_n, any_value(decode_ms) AS decode_ms,
        any_value(accepted_n) AS accepted_n, any_value(drafted_n) AS drafted_n
    FROM pasted WHERE life > 0 GROUP BY run, life
    HAVING max(line) - min(line) <= 6 AND count(*) FILTER (kind = 'prompt') = 1 AND count(*) FILTER (kind = 'decode') = 1
), gone AS (
    SELECT run, task, min(line) AS line, bool_or(kind = 'failed') AS failed FROM staged WHERE kind IN ('cancel', 'failed')
    GROUP BY run, task
), timing_runs AS (
    SELECT run, bool_or(timed) AS prints_timings FROM lives GROUP BY run
), both_kinds AS (
    SELECT l.run, l.slot, l.line, l.request, l.started_at, l.resolution_s,
        coalesce(l.timed_at - l.decode_ms / 1000, l.started_at + l.prompt_ms / 1000) AS first_at,
        coalesce(l.released_at, l.timed_at, l.prompt_timed_at) AS finished_at,
        l.prompt_n, coalesce(CASE WHEN l.launched THEN l.p0 END, CASE WHEN l.whole_n >= l.prompt_n THEN l.whole_n - l.prompt_n END)
            AS cached_n,
        l.output_n, l.drafted_n, l.accepted_n, l.prompt_ms, l.decode_ms,
        CASE WHEN g.failed THEN 'failed' WHEN g.task IS NOT NULL OR (l.launched AND l.released AND NOT l.timed AND r.prints_timings) THEN 'cancelled'
             WHEN l.timed THEN 'ok' END AS status
    FROM lives l LEFT JOIN gone g ON g.run = l.run AND g.task = l.task AND g.line > l.line AND NOT l.timed
    JOIN timing_runs r ON r.run = l.run
    UNION ALL
    SELECT run, NULL, line, request, NULL, resolution_s, timed_at - decode_ms / 1000, timed_at,
        prompt_n, NULL, output_n, drafted_n, accepted_n, prompt_ms, decode_ms, 'ok'
    FROM alone
)
SELECT b.line, 'server' AS origin, 'llama.cpp' AS server, b.run, b.request, b.slot, b.started_at,
    CASE WHEN b.first_at < b.started_at - b.resolution_s OR b.first_at > b.finished_at + b.resolution_s THEN NULL ELSE b.first_at END
        AS first_token_at,
    b.finished_at, b.resolution_s,
    CAST(b.prompt_n AS DOUBLE) AS prompt_tokens, CAST(b.cached_n AS DOUBLE) AS cached_tokens, CAST(b.output_n AS DOUBLE) AS output_tokens,
    CAST(b.drafted_n AS DOUBLE) AS drafted_tokens, CAST(b.accepted_n AS DOUBLE) AS accepted_tokens, b.prompt_ms, b.decode_ms,
    CAST(CASE WHEN b.output_n IS NULL THEN NULL WHEN s.first_left_out > 0 THEN greatest(b.output_n - 1, 0) ELSE b.output_n END AS DOUBLE)
        AS decode_steps, b.status
FROM both_kinds b LEFT JOIN steps s ON s.run = b.run
ORDER BY b.line
"""

_PREPARE = {
    "sectioned": """
SELECT *, sum(CASE WHEN kind = 'weights' THEN 1 ELSE 0 END) OVER (PARTITION BY run ORDER BY line) AS section FROM staged
""",
    "main_section": """
WITH sizes AS (
    SELECT run, section, sum(buffer_mib) AS mib FROM sectioned WHERE kind = 'model buffer' GROUP BY run, section
)
SELECT run, arg_max(section, mib * 1000000 + section) AS section FROM sizes GROUP BY run
""",
}

_CONFIG = """
WITH buffers AS (
    SELECT s.run, s.line, s.buffer, s.buffer_mib, regexp_replace(s.buffer, '_Mapped$', '') AS device,
        regexp_matches(s.buffer, '^(CUDA|ROCm|HIP|Vulkan|SYCL|MUSA|CANN|MTL|Metal|GPUOpenCL|OpenCL|WebGPU)[0-9]*(_Mapped)?$') AS gpu,
        s.buffer LIKE 'RPC%' AS remote
    FROM sectioned s JOIN main_section m ON m.run = s.run AND m.section = s.section WHERE s.kind = 'model buffer'
), loads AS (
    SELECT b.run FROM buffers b JOIN staged s ON s.run = b.run
    WHERE s.kind IN ('context', 'kv buffer', 'kv size', 'kv self size', 'pipeline', 'graph splits', 'copies', 'slots', 'new slot',
        'launch', 'release')
    GROUP BY b.run HAVING max(s.line) > max(b.line)
), splits AS (
    -- several CUDA devices may be made of one card
    SELECT run, min(line) AS line, least(count(DISTINCT device) FILTER (gpu), any_value(physical)) AS gpus,
        least(count(*) FILTER (gpu), any_value(physical)) + count(*) FILTER (remote) AS all_devices,
        least(count(DISTINCT device) FILTER (gpu), any_value(physical)) + count(DISTINCT device) FILTER (remote) AS places,
        bool_or(buffer LIKE '%\\_Split' ESCAPE '\\') AS split_rows, bool_or(buffer = 'Meta') AS meta
    FROM buffers LEFT JOIN (SELECT run, min(physical_n) AS physical FROM staged GROUP BY run) USING (run)
    WHERE run IN (FROM loads) GROUP BY run
), graph AS (SELECT run, true AS graph_mode FROM staged WHERE kind = 'graph split mode' GROUP BY run
), slots AS (
    SELECT run, arg_min(line, line) FILTER (n_slots IS NOT NULL) AS n_line, arg_max(n_slots, line) AS n_slots,
        arg_max(n_parallel, line) AS n_parallel, min(line) FILTER (n_parallel IS NOT NULL) AS auto_line,
        CASE WHEN min(new_slot) = 0 AND count(DISTINCT new_slot) = max(new_slot) + 1
            AND max(line) > max(line) FILTER (new_slot IS NOT NULL) THEN max(new_slot) + 1 END AS listed,
        min(line) FILTER (new_slot IS NOT NULL) AS listed_line,
        max(idle_n + busy_n) AS polled, min(line) FILTER (idle_n IS NOT NULL) AS polled_line
    FROM staged GROUP BY run
), said AS (
    SELECT run, coalesce(n_line, auto_line, listed_line, polled_line) AS line, coalesce(n_slots, n_parallel, listed, polled) AS slots,
        CASE WHEN n_parallel IS NOT NULL THEN 'auto' ELSE 'n_slots' END AS source
    FROM slots WHERE coalesce(n_slots, n_parallel, listed, polled) IS NOT NULL
), args AS (
    SELECT run, line, arg, lead(arg_n) OVER w AS n, lead(line) OVER w - line AS gap
    FROM staged WHERE kind = 'argument' WINDOW w AS (PARTITION BY run ORDER BY line)
), commands AS (
    SELECT run, line, n FROM args WHERE arg IS NOT NULL AND n IS NOT NULL AND gap <= 3
    UNION ALL
    SELECT run, line, command_n FROM staged WHERE kind = 'command' AND command_n IS NOT NULL
        AND line < coalesce((SELECT min(line) FROM staged WHERE task IS NOT NULL), 9223372036854775807)
), settings AS (
    SELECT s.* FROM sectioned s LEFT JOIN main_section m ON m.run = s.run
    WHERE m.section IS NULL OR m.section = s.section OR s.kind NOT IN ('context', 'graph splits', 'copies', 'pipeline', 'no-pipeline',
        'flash attention')
), builds AS (
    SELECT run, arg_max(build, line) AS build, min(line) AS line, bool_or(stamped) AS stamped FROM staged WHERE build IS NOT NULL GROUP BY run
), drafts AS (
    SELECT run FROM staged WHERE kind = 'weights' GROUP BY run HAVING count(*) > 1
), defaults AS (
    -- the number that holds where -np is not given; builds of distribution packages (0, 1) tell nothing. From 9151 on the build stands
    -- in a line with a time; without one it is a program that starts llama-server with options of its own (Ollama)
    SELECT b.run, b.line, b.build BETWEEN 6925 AND 7432 AS one_is_four,
        CASE WHEN b.build < 6925 OR (b.build BETWEEN 6958 AND 7432 AND d.run IS NOT NULL) THEN 1 ELSE 4 END AS slots
    FROM builds b LEFT JOIN drafts d USING (run) WHERE b.build >= 1413 AND (b.build < 9151 OR b.stamped)
), asked AS (
    SELECT run, min(line) AS line, min(n) AS slots FROM commands WHERE NOT EXISTS (SELECT 1 FROM said)
    GROUP BY run HAVING count(DISTINCT n) = 1
), sequences AS (
    SELECT run, max(line) AS line, arg_max(seq_max, line) AS slots FROM settings WHERE seq_max > 0 GROUP BY run
), seen AS (
    SELECT run, max(slot) + 1 AS slots, max(line) AS line FROM staged WHERE slot IS NOT NULL AND kind NOT IN ('cancel', 'failed') GROUP BY run
), chosen AS (
    SELECT run, line, slots, source, origin FROM (
        SELECT 1 AS rank, run, line, slots, source, 'logged' AS origin FROM said
        UNION ALL SELECT 2, run, line, slots, 'n_seq_max', 'logged' FROM sequences
        -- between these builds -np 1 was taken for the default
        UNION ALL SELECT 3, a.run, a.line, CASE WHEN a.slots = 1 AND d.one_is_four THEN d.slots ELSE a.slots END,
            CASE WHEN a.slots = 1 AND d.one_is_four THEN 'default' ELSE 'command line' END,
            CASE WHEN a.slots = 1 AND d.one_is_four THEN 'default' ELSE 'logged' END
            FROM asked a LEFT JOIN defaults d USING (run)
        UNION ALL SELECT 4, d.run, d.line, d.slots, 'default', 'default' FROM defaults d
            JOIN seen s ON s.run = d.run AND s.slots <= d.slots AND s.line > d.line WHERE d.run NOT IN (SELECT run FROM commands)
    ) QUALIFY row_number() OVER (PARTITION BY run ORDER BY rank) = 1
), numbers AS (
    SELECT run, key, arg_max(num, line) AS num, max(line) AS line FROM (
        UNPIVOT (SELECT run, line, build, verbosity, slot_ctx, n_ctx_seq, n_ctx, n_batch, n_ubatch, graph_splits, graph_splits_decode,
            copies AS sched_copies FROM settings)
        ON build, verbosity, slot_ctx, n_ctx_seq, n_ctx, n_batch, n_ubatch, graph_splits, graph_splits_decode, sched_copies
            INTO NAME key VALUE num
    ) GROUP BY run, key
), last_values AS (
    SELECT run, line, CASE WHEN key IN ('slot_ctx', 'n_ctx_seq') THEN 'n_ctx_slot' ELSE key END AS key, num FROM numbers
    QUALIFY row_number() OVER (PARTITION BY run, CASE WHEN key IN ('slot_ctx', 'n_ctx_seq') THEN 'n_ctx_slot' ELSE key END
        ORDER BY key DESC) = 1
), words AS (
    SELECT run, key, arg_max(word, line) AS word, max(line) AS line FROM (
        UNPIVOT (SELECT run, line, unified AS kv_unified,
            CASE flash_attn WHEN '1' THEN 'enabled' WHEN '0' THEN 'disabled' ELSE flash_attn END AS flash_attn,
            CASE kind WHEN 'no-pipeline' THEN 'false' WHEN 'pipeline' THEN 'true' END AS pipeline_parallel FROM settings)
        ON kv_unified, flash_attn, pipeline_parallel INTO NAME key VALUE word
    ) GROUP BY run, key
), offload AS (
    SELECT s.run, max(s.line) AS line, arg_max(offloaded, s.line) AS offloaded, arg_max(offloadable, s.line) AS offloadable
    FROM sectioned s LEFT JOIN main_section m ON m.run = s.run
    WHERE s.kind = 'offload' AND (m.section IS NULL OR m.section = s.section) GROUP BY s.run
), sure_split AS (
    SELECT run, line, CASE WHEN meta THEN 'tensor' WHEN split_rows AND graph_mode THEN 'tensor' WHEN split_rows THEN 'row'
        WHEN gpus >= 2 OR places >= 2 THEN 'layer' END AS split
    FROM splits LEFT JOIN graph USING (run)
), found AS (
    SELECT run, line, 'slots' AS key, CAST(slots AS VARCHAR) AS value, CAST(slots AS DOUBLE) AS num, NULL AS num_hi FROM chosen
    UNION ALL SELECT run, line, 'slots_source', source, NULL, NULL FROM chosen
    UNION ALL SELECT run, min(line), 'slots_seen', NULL, max(slot) + 1, NULL FROM staged WHERE slot IS NOT NULL AND kind NOT IN ('cancel', 'failed')
        GROUP BY run
    UNION ALL SELECT run, line, key, CAST(CAST(num AS BIGINT) AS VARCHAR), num, NULL FROM last_values
    UNION ALL SELECT run, line, key, word, NULL, NULL FROM words
    UNION ALL SELECT run, line, 'layers_offloaded', CAST(offloaded AS VARCHAR), offloaded, NULL FROM offload
    UNION ALL SELECT run, line, 'layers_total', CAST(offloadable AS VARCHAR), offloadable, NULL FROM offload
    UNION ALL SELECT run, line, 'split', split, NULL, NULL FROM sure_split WHERE split IS NOT NULL
    UNION ALL SELECT p.run, min(p.line), 'split', 'layer', NULL, NULL FROM staged p WHERE p.kind = 'pipeline'
        AND NOT EXISTS (SELECT 1 FROM sure_split x WHERE x.run = p.run AND x.split IS NOT NULL) GROUP BY p.run
    UNION ALL SELECT run, line, 'split_devices', NULL, gpus, CASE WHEN all_devices > gpus THEN all_devices END FROM splits
        WHERE all_devices > 0
        AND NOT split_rows AND NOT meta
    UNION ALL SELECT run, max(line), 'split_devices', NULL, max(meta_devices), NULL FROM staged WHERE meta_devices IS NOT NULL
        GROUP BY run
    UNION ALL SELECT run, line, 'device_model_mib', device, buffer_mib, NULL FROM buffers WHERE gpu OR remote
    UNION ALL SELECT run, min(line), 'cpu_model_mib', NULL, sum(buffer_mib), NULL FROM buffers
        WHERE run IN (FROM loads) AND (buffer LIKE 'CPU%' OR buffer LIKE '%\\_Host' ESCAPE '\\') GROUP BY run
    UNION ALL SELECT run, min(line), 'kv_buffer_mib', kv_device, sum(kv_mib), NULL FROM sectioned x WHERE kv_mib IS NOT NULL
        AND (section = (SELECT section FROM main_section m WHERE m.run = x.run) OR NOT EXISTS (SELECT 1 FROM main_section m
            WHERE m.run = x.run))
        AND line < (SELECT max(line) FROM staged z WHERE z.run = x.run AND z.kind IN ('graph splits', 'copies', 'slots', 'new slot',
            'launch', 'pipeline',
            'kv self size')) GROUP BY run, kv_device
)
SELECT f.line, 'llama.cpp' AS server, f.run, key, value, num, num_hi,
    CASE WHEN key IN ('slots', 'slots_source') THEN c.origin ELSE 'logged' END AS origin
FROM found f LEFT JOIN chosen c ON c.run = f.run ORDER BY f.line, key, value
"""

_POLLS = """
SELECT line, t AS time, 'llama.cpp' AS server, run, CAST(busy_n AS DOUBLE) AS running FROM staged WHERE kind = 'slot data'
"""

_EVENTS = """
SELECT line, t AS time, 'llama.cpp' AS server, run, 'fallback' AS kind, 'no-pipeline-parallelism' AS detail
FROM staged WHERE kind = 'no-pipeline'
"""

_GPUS = """
WITH named AS (
    SELECT line, coalesce(gpu_device, CASE WHEN index IS NOT NULL THEN CASE WHEN gfx IS NULL THEN 'CUDA' ELSE 'ROCm' END || CAST(index
        AS VARCHAR) END)
        AS device, gpu_name, bus, vram
    FROM staged WHERE kind IN ('cuda device', 'device info', 'using device')
    UNION ALL
    -- Vulkan sees the cards of the other backends once more, the processor's own graphics beside a card, and the processor itself
    SELECT line, 'Vulkan' || gpu_device, gpu_name, NULL, NULL FROM staged v WHERE kind = 'vulkan device' AND gpu_name NOT ILIKE '%llvmpipe%'
        AND NOT EXISTS (SELECT 1 FROM staged o WHERE o.kind IN ('cuda device', 'device info', 'using device'))
        AND shares_memory = (SELECT min(shares_memory) FROM staged s WHERE s.run = v.run AND s.gpu_name NOT ILIKE '%llvmpipe%')
)
SELECT min(line) AS line, device, arg_min(gpu_name, line) AS name, max(bus) AS bus_id, CAST(max(vram) AS DOUBLE) AS memory_mib
FROM named WHERE device IS NOT NULL AND gpu_name IS NOT NULL GROUP BY device, gpu_name ORDER BY line
"""

_MODELS = """
WITH caches AS (
    SELECT s.run, s.section, sum(kv_total_mib * 1048576 / (kv_cells * coalesce(kv_streams, 1))) AS per_token
    FROM sectioned s WHERE s.kind = 'kv size' AND kv_cells > 0 GROUP BY s.run, s.section
    HAVING max(s.line) < (SELECT max(line) FROM staged z WHERE z.run = s.run AND z.kind IN ('graph splits', 'copies', 'slots',
        'new slot', 'launch'))
), selves AS (
    SELECT run, section, max(kv_self_mib) * 1048576 / nullif(max(n_ctx), 0) AS per_token FROM sectioned GROUP BY run, section
), facts AS (
    SELECT run, section, min(line) FILTER (kind IN ('weights', 'gguf', 'meta')) AS line, arg_max(arch, line) AS arch, arg_max(model_name,
        line) AS name,
        coalesce(arg_max(params_b, line), arg_max(params_t, line), arg_max(params_m, line)) AS params_total_b,
        coalesce(arg_max(size_gib, line), arg_max(size_mib, line)) AS file_bytes, arg_max(bpw, line) AS bits_per_weight,
        arg_max(layers, line) AS layers, arg_max(hidden, line) AS hidden, arg_max(kv_heads, line) AS kv_heads, arg_max(head_dim, line)
            AS head_dim,
        arg_max(experts, line) AS experts, arg_max(experts_used, line) AS experts_per_token, arg_max(quantisation, line) AS quantisation,
        nullif(arg_max(vocab, line), 0) AS vocab
    FROM sectioned GROUP BY run, section HAVING bool_or(kind IN ('gguf', 'meta')) AND coalesce(arch, CAST(layers AS VARCHAR),
        CAST(params_total_b AS VARCHAR), CAST(file_bytes AS VARCHAR), CAST(hidden AS VARCHAR)) IS NOT NULL
), last_load AS (
    SELECT f.*, coalesce(c.per_token, s.per_token) AS kv_bytes_per_token
    FROM facts f LEFT JOIN caches c USING (run, section) LEFT JOIN selves s USING (run, section)
    QUALIFY row_number() OVER (PARTITION BY run, arch, name, params_total_b, file_bytes, f.layers ORDER BY section DESC) = 1
)
SELECT line, name, arch, run, CAST(row_number() OVER (PARTITION BY run ORDER BY section) - 1 AS INTEGER) AS section, params_total_b,
    file_bytes,
    bits_per_weight, layers, hidden, kv_heads, head_dim, experts, experts_per_token, vocab, kv_bytes_per_token, quantisation
FROM last_load ORDER BY line
"""

_SAMPLE_2025 = """\
build: 5301 (0f1e2d3c) with cc (Ubuntu 13.2.0-1ubuntu1) 13.2.0 for x86_64-linux-gnu
srv    load_model: loading model '/models/tiny.gguf'
srv          init: initializing slots, n_slots = 2
slot         init: id  0 | task -1 | new slot n_ctx_slot = 2048
slot         init: id  1 | task -1 | new slot n_ctx_slot = 2048
main: model loaded
srv  params_from_: Chat format: Content-only
slot launch_slot_: id  1 | task 7 | processing task
slot update_slots: id  1 | task 7 | new prompt, n_ctx_slot = 2048, n_keep = 0, n_prompt_tokens = 300
slot update_slots: id  1 | task 7 | kv cache rm [40, end)
slot update_slots: id  1 | task 7 | prompt processing progress, n_past = 300, n_tokens = 260, progress = 0.866667
slot      release: id  1 | task 7 | stop processing: n_past = 319, truncated = 0
slot print_timing: id  1 | task 7 |\x20
prompt eval time =     130.00 ms /   260 tokens (    0.50 ms per token,  2000.00 tokens per second)
srv  log_server_r: request: POST /v1/chat/completions 127.0.0.1 200
       eval time =     400.00 ms /    20 tokens (   20.00 ms per token,    50.00 tokens per second)
      total time =     530.00 ms /   280 tokens
srv  update_slots: all slots are idle
"""

_SAMPLE_2026 = """\
0.00.031.100 I cmn  common_param: common_params_print_info: build 10590 (0a1b2c3d4) with GNU 14.2.0 for Linux x86_64
0.00.031.200 I cmn  common_param:   - CUDA0   : NVIDIA GeForce RTX 3090 (24576 MiB, 24100 MiB free)
0.00.031.210 I cmn  common_param:   - RPC0    : 192.0.2.7:50052 (24576 MiB, 24100 MiB free)
0.02.500.000 I load_tensors: offloaded 33/33 layers to GPU
0.02.500.010 I load_tensors:   CPU_Mapped model buffer size =   250.00 MiB
0.02.500.020 I load_tensors:        CUDA0 model buffer size =  4000.00 MiB
0.02.500.030 I load_tensors:        CUDA1 model buffer size =  3900.50 MiB
0.03.000.000 I srv    load_model: initializing, n_slots = 2, n_ctx_slot = 8192, kv_unified = 'false'
0.03.100.000 I srv  llama_server: model loaded
1.02.000.500 I srv    operator(): chat format: peg-native
1.02.001.000 I slot launch_slot_: id  0 | task 3 | processing task, is_child = 0
1.02.001.100 I slot   operator(): id  0 | task 3 | new prompt, n_ctx_slot = 8192, n_keep = 0, task.n_tokens = 500
1.02.001.200 I slot   operator(): id  0 | task 3 | cached n_tokens = 100, memory_seq_rm [100, end)
1.06.001.000 I slot print_timing: id  0 | task 3 | prompt eval time =    1000.00 ms /   400 tokens (    2.50 ms per token, \
  400.00 tokens per second)
1.06.001.000 I slot print_timing: id  0 | task 3 |        eval time =    3000.00 ms /    31 tokens (  100.00 ms per token, \
   10.00 tokens per second)
1.06.001.001 I slot print_timing: id  0 | task 3 |       total time =    4000.00 ms /   431 tokens
1.06.001.002 I slot print_timing: id  0 | task 3 | draft acceptance = 0.75000 (   15 accepted /    20 generated), mean len =  1.94
1.06.001.500 I slot      release: id  0 | task 3 | stop processing: n_tokens = 530, truncated = 0
1.07.000.000 I slot launch_slot_: id  1 | task 40 | processing task, is_child = 0
1.07.500.000 I srv          stop: cancel task, id_task = 40
1.07.500.900 I slot      release: id  1 | task 40 | stop processing: n_tokens = 12, truncated = 0
"""

_SAMPLE_TEXT = """\
INFO [                    main] build info | tid="130000000000001" timestamp=1746000000 build=3650 commit="0a0b0c0d"
INFO [                    init] initializing slots | tid="130000000000001" timestamp=1746000010 n_slots=1
INFO [   launch_slot_with_task] slot is processing task | tid="130000000000001" timestamp=1746000020 id_slot=0 id_task=5
INFO [            update_slots] kv cache rm [p0, end) | tid="130000000000001" timestamp=1746000020 id_slot=0 id_task=5 p0=16
INFO [            update_slots] kv cache rm [p0, end) | tid="130000000000001" timestamp=1746000021 id_slot=0 id_task=5 p0=2064
INFO [           print_timings] prompt eval time     =    2000.00 ms /  4000 tokens (    0.50 ms per token,  2000.00 tokens per second) | \
tid="130000000000001" timestamp=1746000032 id_slot=0 id_task=5 t_prompt_processing=2000.001 n_prompt_tokens_processed=4000
INFO [           print_timings] generation eval time =   10000.00 ms /   500 runs   (   20.00 ms per token,    50.00 tokens per second) | \
tid="130000000000001" timestamp=1746000032 id_slot=0 id_task=5 t_token_generation=10000.002 n_decoded=500
INFO [            update_slots] slot released | tid="130000000000001" timestamp=1746000032 id_slot=0 id_task=5 n_ctx=8192 n_past=4515
"""

_SAMPLE_JSON = """\
{"function":"launch_slot_with_task","id_slot":2,"id_task":9,"level":"INFO","line":1000,"msg":"slot is processing task",\
"tid":"1","timestamp":1712000000}
{"function":"print_timings","id_slot":2,"id_task":9,"level":"INFO","line":310,"msg":"prompt eval time     =     500.00 ms /   100 tokens \
(    5.00 ms per token,   200.00 tokens per second)","n_prompt_tokens_processed":100,"tid":"1","timestamp":1712000004}
{"function":"print_timings","id_slot":2,"id_task":9,"level":"INFO","line":322,"msg":"generation eval time =    3000.00 ms /    60 runs   \
(   50.00 ms per token,    20.00 tokens per second)","n_decoded":60,"tid":"1","timestamp":1712000004}
"""

_SAMPLE_QUOTED = """\
srv  update_slots: prompt: 'why does it say slot print_timing: id  0 | task 3 | prompt eval time = 1.00 ms / 1 tokens'
user wrote: prompt eval time =     130.00 ms /   260 tokens (    0.50 ms per token,  2000.00 tokens per second)
"""

_BARE = tuple(  # the lines of a timing block that is one record: only its header names slot and task
    replace(line, after=r"^\s*$", inherit=("slot", "task"), fields={k: v for k, v in line.fields.items() if k not in _WHO})
    for line in _REQUEST_LINES
    if line.kind in ("prompt", "decode", "draft")
)
_UNPREFIXED = (
    "cuda device",
    "vulkan device",
    "virtual devices",
    "command",
    "cuda-error",
    "no-gpu",
    "no-driver",
)  # printed before the log is set up, or outside of it
_PREFIXED = tuple(
    line if line.kind in _UNPREFIXED else replace(line, prefixed=True)
    for line in (*_REQUEST_LINES, *_EVENT_LINES, *_CONFIG_LINES, *_MODEL_LINES, *_DEVICE_LINES)
)

PARSER = LineFormat(
    name="llama-server",
    server="llama.cpp",
    stamps=(
        Stamp(r"^(\d+\.\d\d\.\d{3}\.\d{3}) (?:[IWED] )?", parse="m.s.ms.us", clock="since-start", resolution_s=1e-6),
        Stamp(r'(?:\| tid="[^"]*" timestamp=|"timestamp":)(\d{10})\b', parse="unix", clock="utc", resolution_s=1.0, search=True),
    ),
    context={"slot,task": r"^slot +\S+: +(?:id +(?P<slot>\d+) \| task (?P<task>-?\d+) \|\s*$)?"},
    lines=(*_PREFIXED, *_BARE),
    noise=_NOISE,
    prepare=_PREPARE,
    assemble={
        "requests": _REQUESTS,
        "server_config": _CONFIG,
        "server_events": _EVENTS,
        "server_samples": _POLLS,
        "gpus": _GPUS,
        "models": _MODELS,
    },
    samples=(
        Sample(
            text=_SAMPLE_2025,
            versions="b3761 to b9150 without prefix",
            rows={
                "requests": [
                    {
                        "slot": 1,
                        "request": "0:7",
                        "started_at": None,
                        "prompt_tokens": 260.0,
                        "cached_tokens": 40.0,
                        "output_tokens": 20.0,
                        "prompt_ms": 130.0,
                        "decode_ms": 400.0,
                        "decode_steps": 20.0,
                        "status": "ok",
                    }
                ],
                "server_events": [{"kind": "loading"}, {"kind": "loaded"}, {"kind": "arrival"}],
            },
        ),
        Sample(
            text=_SAMPLE_2026,
            versions="b10406+ with -lv 4",
            rows={
                "requests": [
                    {
                        "slot": 0,
                        "request": "0:3",
                        "started_at": 62.001,
                        "first_token_at": 63.001,
                        "finished_at": 66.0015,
                        "prompt_tokens": 400.0,
                        "cached_tokens": 100.0,
                        "output_tokens": 31.0,
                        "decode_steps": 30.0,
                        "drafted_tokens": 20.0,
                        "accepted_tokens": 15.0,
                        "status": "ok",
                    },
                    {"slot": 1, "request": "0:40", "finished_at": 67.5009, "output_tokens": None, "status": "cancelled"},
                ],
                "gpus": [{"device": "CUDA0", "name": "NVIDIA GeForce RTX 3090", "memory_mib": 24576.0}],
                "clocks": [{"kind": "since-start", "resolution_s": 1e-6, "offset_s": None}],
            },
        ),
        Sample(
            text=_SAMPLE_TEXT,
            versions="b3087 to b3760, ik_llama.cpp, llamafile",
            rows={
                "requests": [
                    {
                        "slot": 0,
                        "started_at": 1746000020.0,
                        "finished_at": 1746000032.0,
                        "prompt_tokens": 4000.0,
                        "cached_tokens": 16.0,
                        "output_tokens": 500.0,
                        "decode_steps": 500.0,
                        "status": "ok",
                    }
                ],
            },
        ),
        Sample(
            text=_SAMPLE_JSON,
            versions="b2259 to b3086",
            rows={
                "requests": [
                    {"slot": 2, "started_at": 1712000000.0, "finished_at": 1712000004.0, "prompt_tokens": 100.0, "output_tokens": 60.0}
                ]
            },
        ),
        Sample(text=_SAMPLE_QUOTED, versions="any: lines quoted in prompts give nothing", rows={"requests": []}),
    ),
)
