r"""vLLM's server log, V0 and V1 engine: statistics, start-up facts, arrivals, preemption, fallbacks.

How to get one: `vllm serve MODEL ... 2>&1 | tee vllm.log`, `docker logs -t NAME > vllm.log 2>&1` (its times have year and zone, vLLM's
have neither), `journalctl -u NAME -o short-iso-precise > vllm.log`. Keep both streams: some versions split the log over stdout and
stderr. `--disable-log-stats`, the offline `LLM` class and several API servers print no statistics: no data, not an idle server.

Versions: 0.1 to 2026. Headers `INFO 02-28 15:02:09 metrics.py:455] ` (to 0.7.3) and `INFO 08-12 10:11:12 [loggers.py:118] `, with or
without process prefixes such as `(APIServer pid=1) `, `(EngineCore_DP0 pid=2) `, `(Worker_TP1 pid=3) `, Ray's and SkyPilot's; also the
statistics message alone, behind another logger's ISO time, or as `"message"` of a JSON record.

Tables
- `server_samples`: one row per statistics line (running, waiting, kv_usage, prompt_tok_s, gen_tok_s, prefix_hit, preemptions), per
  speculative-decoding line (accept_len alone), per V0 prefix line (prefix_hit alone) and per iteration line (step_ms, phase, kv_usage,
  new_tokens). `waiting` is Pending in V0; Deferred is already inside Waiting. `preemptions` is printed only when it is not zero and stays
  NULL otherwise. `engine` is the data-parallel engine. Lines for `N Engines Aggregated` are left out where the same run has lines
  per engine, else they have no engine. Throughput of 0.1.x counts prompt and output together and is left out.
- accept_len counts the bonus token: the printed mean where it includes that token (0.9 and later), one more in 0.8.5; which of the two it
  is follows from the per-position rates, else from the version, else NULL. 0.8.3 and 0.8.4 print no length. V0 totals are
  cumulative: from one line to the next where there are two, else since the start.
- `server_events`: arrival (`Received request`, time only), access (an inference request answered; value is the HTTP status. A streamed
  answer is logged when it starts; 0.10.1 and later), cancel, preempt (V0; value is the cumulative count), loading, loaded, fallback,
  stall, error.
- `server_config` keys: version, engine_core (v0, v1), slots, slots_per_engine, split, tensor_parallel, pipeline_parallel, data_parallel,
  n_ctx_slot, max_batched_tokens, chunked_prefill, prefix_caching, eager, graph_capture, attention, quantisation, kv_dtype, speculation,
  draft_tokens, custom_all_reduce, other_args (a fingerprint of the rest), gpu_mem_util, weights_offload_gib (`cpu_offload_gb`, per rank), device_mem_gib, weights_gib_per_rank (smallest and largest rank), kv_gib_per_rank, kv_tokens (smallest of
  the lines that every worker repeats; one row per engine under data parallelism), kv_concurrency.
- `models`: name, architecture and quantisation of the main model.

Slots (`max_num_seqs`). A logged value is taken. Where the arguments are in the log, complete, and do not set it, the default of the
version and the device memory holds: 256 in V0; V1: 1024 to 0.8.3, later 1024 from 70 GiB on except on an A100, else 256. What the log
does not tell widens it to the interval 256..1024; a token budget that nobody set tells (2048 goes with 256, 8192 and 16384 of a server
with 1024). Without visible arguments there is no row. It is a limit per data-parallel
engine: `slots` is the total where every engine has statistics, else an interval.

Traps
- Idle lines are not printed: a gap is idleness or a hang. Running 0 beside a throughput is ordinary at the end of a burst.
- Prompt throughput counts a prompt when its prefill ends.
- A version guessed from the line number of the source file is `estimated`: forks differ.
- A request line quotes prompts: nothing behind the words `Received request` is read.
- Xinference runs the engine inside itself: the settings it hands over stand in its own line (`Loading NAME with following model config: {...}`).
- Dynamo prints the statistics of its workers behind a header of its own (`2025-05-13T13:47:39.069Z  INFO metrics.log: Avg ...`).
- Access and start-up lines of uvicorn look alike in every Python server and in routers in front: only those with the API server's prefix
  (0.10.1 and later) are read here; bare ones by uvicorn-access. Older logs are loaded when they announce their HTTP server.
"""

from __future__ import annotations

from dataclasses import replace

from ..engine.line_format import Int, Line, LineFormat, Num, Sample, Stamp, Text, Word, other_args

_COLOUR = r"(?:\[[\d;]+m)?"  # of a paste that lost the escape characters
_BAR = r"(?:[^'\"{}]*(?:it/s|s/it|i?B/s)(?:, [^'\"{}\[\]]*)?\]\s*)?"  # a progress bar without a line end
_TAG = r"(?:\[[A-Za-z][\w.-]{0,40}\] ?)?"  # VLLM_LOGGING_PREFIX, or the model name of a router
_PROCESS = rf"(?:{_COLOUR}\([\w .,=/:-]*\bpid=\d+[\w .,=:]*\){_COLOUR} *)*"
_HALF = r"(?:_?\w{1,40} pid=\d+\) *)?"  # a selection that missed the bracket
_WHO = rf"(?:%\.? ?)?{_BAR}{_TAG}{_HALF}{_PROCESS}"
_LEVEL = r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)"
_DATE = r"(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?"  # the format of the date is a setting of the logger
_HEAD = rf"{_WHO}{_LEVEL} +{_DATE} \[?[\w./-]+:\d+\] *"
_ISO = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_NAMED = r"[\w .:/|\[\]-]*"  # level, logger and place, as other formatters put them
_TRACED = r" *(?:INFO|WARN) +[a-z_]+\.[a-z_]+: +"  # Dynamo's header of the records of its workers, behind the time
_LOGGER = rf"{_WHO}(?:\[?{_ISO}\]?{_NAMED}\b(?:{_LEVEL}|vllm[.\w]*|loggers\.py|metrics\.py)\b{_NAMED}[ |:\]-]|(?:{_LEVEL}(?::| +\| ))?vllm\.[.\w:]*(?::| - ))"
_JSON = r'\{[^{}]*"(?:message|msg|textPayload)": ?"'
_ANY_HEAD = rf"(?:{_JSON})?(?:{_HEAD}|{_LOGGER})|{_JSON}"
# somebody cut the level and the time away, or the place; a formatter of one's own prints a level alone
_BARE = rf"(?:\[(?:llm_engine|metrics|loggers)\.py:\d+\] *|{_WHO}{_LEVEL}:? +(?:{_DATE} +)?)"
_ONLY = rf"^{_HEAD}$"
_UVICORN = rf"^(?:%\.? ?)?{_BAR}{_TAG}{_COLOUR}\((?:APIServer|ApiServer)\w* pid=\d+\){_COLOUR} *INFO: +"

_Fields = dict[str, Num | Int | Text | Word]

# What stands before an anchor is proved by `after`, so these only have to find it, fast.
_CALLER: _Fields = {
    "head": Text(rf"{_LEVEL} +({_DATE}) "),
    "api": Text(r"\((APIServer|ApiServer)\w* pid="),
    "api_pid": Int(r"\((?:APIServer|ApiServer)\w* pid=(\d+)\)"),
    "glued": Text(r"^(%)"),
}
_WHOSE: _Fields = {**_CALLER, "eng": Int(r"\((?:EngineCore|APIServer|Worker)_(?:DP)?(\d+)[ _]")}
_OTHER_HEAD: _Fields = {"other_head": Text(rf'({_ISO}|^{_TRACED}|"(?:message|msg|textPayload)": ?"|^(?:{_LEVEL}(?::| +\| ))?vllm\.)')}


_KV_USAGE = Num(r"(?:^|[^\w ]) ?(?:GPU )?KV cache usage: ([\d.]+)%", scale=0.01)


def _event(kind: str, anchor: str | tuple[str, ...], event: str, detail: str, after: str = _ONLY, value: Num | None = None) -> Line:
    """A line that becomes one row of server_events with a word of ours."""
    fields: _Fields = {**_WHOSE, "event": Word(event), "detail": Word(detail)}
    if value:
        fields["number"] = value
    return Line(kind, into="server_events*", anchor=anchor, after=after, fields=fields)


_STATISTICS = (
    Line(
        "stats",
        into="server_samples*",
        anchor="Avg prompt throughput: ",
        after=rf"^(?:{_ANY_HEAD}|{_BARE}|\s*)(?:Engine \d+: |\d+ Engines Aggregated: )?$",
        fields={
            **_WHOSE,
            **_OTHER_HEAD,
            "bare": Text(rf"^({_BARE})(?:Engine \d+: |\d+ Engines Aggregated: )?Avg"),
            "engine_no": Int(r"Engine (\d+): Avg"),
            "aggregated": Int(r"(\d+) Engines Aggregated: Avg"),
            "prompt_tok_s": Num(r"Avg prompt throughput: ([\d.]+) tokens/s"),
            "gen_tok_s": Num(r"Avg generation throughput: ([\d.]+) tokens/s"),
            "known_body": Text(r"Avg generation throughput: [\d.]+ (tokens/s)(?:, (?:[^F]|F[^i])|[,.]?\s*(?:\"|$))"),
            "running": Num(r"Running: (\d+) reqs"),
            "waiting": Num(r"(?:Waiting|Pending): (\d+) reqs"),
            "kv_usage": _KV_USAGE,
            "prefix_hit": Num(r"Prefix cache hit rate: ([\d.]+)%", scale=0.01),
            "preemptions": Num(r"Preemptions: (\d+)"),
            "v0_words": Text(r"(Pending): "),
            "v0_line": Int(rf"{_DATE} \[?metrics\.py:(\d+)\]"),
            "v1_line": Int(rf"{_DATE} \[?(?:v1/metrics/)?loggers\.py:(\d+)\]"),
        },
        need=("gen_tok_s", "known_body"),
    ),
    Line(
        "first stats",
        into="server_samples*",
        anchor="Running: ",
        after=rf"^{_HEAD}(?:Throughput: [\d.]+ tokens/s, )?$",
        fields={
            **_WHOSE,
            "running": Num(r"Running: (\d+) reqs"),
            "waiting": Num(r"(?:Waiting|Pending): (\d+) reqs"),
            "kv_usage": _KV_USAGE,
            "v0_words": Text(r"(Pending): "),
        },
        need=("running", "waiting"),
    ),
    Line(
        "rest of stats",
        into="server_samples*",
        anchor="Running: ",
        after=r"^\s*$",
        fields={
            "running": Num(r"Running: (\d+) reqs"),
            "waiting": Num(r"(?:Waiting|Pending): (\d+) reqs"),
            "kv_usage": _KV_USAGE,
            "prefix_hit": Num(r"Prefix cache hit rate: ([\d.]+)%", scale=0.01),
            "preemptions": Num(r"Preemptions: (\d+)"),
        },
        need=("running", "waiting", "kv_usage"),
    ),
    Line(
        "v0 prefix",
        into="server_samples*",
        anchor="Prefix cache hit rate: GPU: ",
        after=_ONLY,
        fields={**_WHOSE, "prefix_hit": Num(r"rate: GPU: ([\d.]+)%", scale=0.01)},
    ),
    Line(
        "spec",
        into="server_samples*",
        anchor="SpecDecoding metrics: ",
        after=rf"^(?:{_ANY_HEAD}|{_BARE}|\s*)(?:Engine \d+: )?$",
        fields={
            **_WHOSE,
            **_OTHER_HEAD,
            "bare": Text(rf"^({_BARE})(?:Engine \d+: )?Spec"),
            "engine_no": Int(r"Engine (\d+): Spec"),
            "mean_len": Num(r"Mean acceptance length: ([\d.]+)"),
            "bonus_form": Text(r"(Accepted throughput): "),
            "accepted": Int(r"Accepted: (\d+) tokens"),
            "drafted": Int(r"Drafted: (\d+) tokens"),
            **{f"pos{i}": Num(rf"Per-position acceptance rate: (?:[\d.]+, ){{{i}}}([\d.]+)") for i in range(9)},
        },
        need=("accepted", "drafted"),
    ),
    Line(
        "v0 spec",
        into="server_samples*",
        anchor="Speculative metrics: ",
        after=_ONLY,
        fields={
            **_WHOSE,
            "v0_words": Text(r"(Speculative) metrics"),
            "draft_tokens": Int(r"Number of speculative tokens: (\d+)"),
            "drafted": Int(r"Number of draft tokens(?: tokens)?: (\d+)"),
            "emitted": Int(r"Number of emitted tokens(?: tokens)?: (\d+)"),
        },
        need=("draft_tokens", "drafted", "emitted"),
    ),
    Line(
        "iteration",
        into="server_samples*",
        anchor="Iteration(",
        after=rf"^{_HEAD}(?:Engine \d+: )?$",
        fields={
            **_WHOSE,
            "engine_no": Int(r"Engine (\d+): Iter"),
            "prefills": Int(r"(\d+) context requests"),
            "new_tokens": Num(r"(\d+) context tokens"),
            "decodes": Int(r"(\d+) generation requests"),
            "step_ms": Num(r"iteration elapsed time: ([\d.]+) ms"),
            "kv_usage": Num(r"(?:kv cache|GPU KV cache usage): ([\d.]+)%", scale=0.01),
            "dummy": Text(r"\((dummy)\)"),
        },
        need=("step_ms",),
    ),
    # two records on one physical line: cut between them (see `glued`)
    Line(
        "cut",
        into="server_samples*",
        anchor=tuple(
            f"{end}{blank}{start}"
            for end in ("%", "%.")
            for blank in ("", " ")  # lines joined by whatever showed the text
            for start in ("INFO 0", "INFO 1", "(APIServer pid=", "(EngineCore", "(_AsyncLLMEngine pid=")
        ),
        after=r"^never\b$",
        split_before=True,
    ),
)
# the same lines behind Dynamo's header: a pattern of their own, because one for all heads would be larger than patterns may be
_TRACED_STATISTICS = tuple(
    replace(line, after=rf"^{_TRACED}(?:Engine \d+: )?$") for line in _STATISTICS if line.kind in ("stats", "v0 prefix", "spec")
)

# what has a key of its own above or in _SETTINGS
_READ_ARGS = (
    "tensor_parallel_size|pipeline_parallel_size|data_parallel_size.*|quantization|enforce_eager|kv_cache_dtype|enable_prefix_caching|"
    "enable_chunked_prefill|max_num_seqs|max_num_batched_tokens|max_model_len|gpu_memory_utilization|block_size|cpu_offload_gb|device|"
    "attention_backend|disable_custom_all_reduce|num_speculative_tokens|spec.*|method|compilation_config|level|cudagraph.*|mode"
)
_TP = r"[ '(]tensor_parallel_size'?[=:] ?(\d+)"
_SETTINGS: _Fields = {
    "tp": Int(_TP),
    "pp": Int(r"[ '(]pipeline_parallel_size'?[=:] ?(\d+)"),
    "dp": Int(r"[ '(]data_parallel_size'?[=:] ?(\d+)"),
    "quant": Text(r"[ '(]quantization'?[=:] ?'?([A-Za-z][\w-]*)"),
    "eager": Text(r"[ '(]enforce_eager'?[=:] ?(True|False)\b"),
    "kv_dtype": Text(r"[ '(]kv_cache_dtype'?[=:] ?'?([A-Za-z][\w-]*)"),
    "prefix_caching": Text(r"[ '(]enable_prefix_caching'?[=:] ?(True|False)\b"),
    "chunked": Text(r"[ '(](?:enable_chunked_prefill|chunked_prefill_enabled)'?[=:] ?(True|False)\b"),
    "spec_config": Text(r"[ '(]speculative_config'?[=:] ?(None|SpeculativeConfig|'|\{)"),
    "drafts": Int(r"\bnum_spec(?:ulative)?_tokens'?[=:] ?(\d+)"),
    "no_custom": Text(r"[ '(]disable_custom_all_reduce'?[=:] ?(True|False)\b"),
}

_CONFIG_LINES = (
    Line(
        "version",
        into="server_config*",
        anchor=("vLLM API server version ", "  version "),
        after=rf"^{_HEAD}[^\w]*$",
        fields={
            **_WHOSE,
            "version": Text(r" version (\d+\.\d+[\w.+]*)"),
            "v_major": Int(r" version (\d+)\.\d"),
            "v_minor": Int(r" version \d+\.(\d+)"),
            "v_patch": Int(r" version \d+\.\d+\.(\d+)"),
        },
    ),
    Line(
        "args",
        into="server_config*",
        anchor=("args: Namespace(", "non-default args: {"),
        after=_ONLY,
        fields={
            **_WHOSE,
            **_SETTINGS,
            "args_text": Text(r"args: (Namespace\(.*\)|\{.*\})\s*$"),
            "complete": Text(r"args: (?:Namespace\(.*\)|\{.*(\}))\s*$"),
            "complete_old": Text(r"args: (Namespace)\(.*\)\s*$"),
            "seqs": Int(r"[ '(]max_num_seqs'?[=:] ?(\d+)"),
            "batched": Int(r"[ '(]max_num_batched_tokens'?[=:] ?(\d+)"),
            "ctx": Int(r"[ '(]max_model_len'?[=:] ?(\d+)"),
            "util": Num(r"[ '(]gpu_memory_utilization'?[=:] ?(\d?\.\d+|1)"),
            "block_size": Int(r"[ '(]block_size'?[=:] ?(\d+)"),
            "offload": Num(r"[ '(]cpu_offload_gb'?[=:] ?(\d+(?:\.\d+)?)"),
            "device": Text(r"[ '(]device'?[=:] ?'([a-z]+)'"),
            "attention": Text(r"[ '(]attention_backend'?[=:] ?'?([A-Z]\w{2,39})"),
        },
    ),
    # Xinference hands its own settings to an engine inside itself, which prints none of them
    Line(
        "args",
        into="server_config*",
        anchor="with following model config: {",
        after=r"^(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ )?xinference\.model\.llm\.vllm[\w.]* \d+ (?:INFO|DEBUG) +Loading [\w.-]+ $",
        fields={
            "tp": Int(r"[{ ]'tensor_parallel_size': (\d+)"),
            "seqs": Int(r"[{ ]'max_num_seqs': (\d+)"),
            "ctx": Int(r"[{ ]'max_model_len': (\d+)"),
            "util": Num(r"[{ ]'gpu_memory_utilization': (\d?\.\d+|1)"),
            "block_size": Int(r"[{ ]'block_size': (\d+)"),
        },
    ),
    Line(
        "config",
        into="server_config*",
        anchor=("Initializing an LLM engine", "Initializing a V1 LLM engine", "Initializing a V0 LLM engine"),
        after=_ONLY,
        fields={
            **_WHOSE,
            **_SETTINGS,
            "event": Word("loading"),
            "detail": Word("engine"),
            "core": Text(r"Initializing a (V[01]) LLM"),
            "version": Text(r"\(v(\d+\.\d+[\w.+]*)\) with config"),
            "v_major": Int(r"\(v(\d+)\.\d+[\w.+]*\) with config"),
            "v_minor": Int(r"\(v\d+\.(\d+)[\w.+]*\) with config"),
            "v_patch": Int(r"\(v\d+\.\d+\.(\d+)[\w.+]*\) with config"),
            "ctx": Int(r" max_seq_len=(\d+)"),
            "device": Text(r" device_config=([a-z]+)\b"),
            "whole": Text(r"(\))\s*$"),
            "model_name": Text(r"with config: model='(?:[^',]*/)?([\w.+-]+)/?'"),
        },
    ),
    Line(
        "arch",
        into="server_config*",
        anchor="Resolved architecture: ",
        after=_ONLY,
        fields={**_WHOSE, "arch": Text(r"Resolved architecture: (\w+)")},
        need=("arch",),
    ),
    Line(
        "platform",
        into="server_config*",
        anchor="Automatically detected platform ",
        after=_ONLY,
        fields={**_WHOSE, "platform": Text(r"detected platform (\w+)")},
        need=("platform",),
    ),
    Line(
        "ctx",
        into="server_config*",
        anchor="Using max model len ",
        after=_ONLY,
        fields={**_WHOSE, "ctx": Int(r"Using max model len (\d+)")},
        need=("ctx",),
    ),
    Line(
        "chunked",
        into="server_config*",
        anchor="Chunked prefill is enabled",
        after=_ONLY,
        fields={**_WHOSE, "chunked": Word("true"), "batched": Int(r"max_num_batched_tokens=(\d+)")},
    ),
    Line(
        "weights",
        into="server_config*",
        anchor=("Model loading took ", "Loading model weights took "),
        after=_ONLY,
        fields={
            **_WHOSE,
            "event": Word("loading"),
            "detail": Word("weights"),
            "weights_gib": Num(r" took ([\d.]+) G(?:i)?B"),
            "number": Num(r" and ([\d.]+) seconds"),
        },
        need=("weights_gib",),
    ),
    Line(
        "v0 memory",
        into="server_config*",
        anchor=("model weights take ", "the current vLLM instance can use total_gpu_memory"),
        after=_ONLY,
        fields={
            **_WHOSE,
            "v0_words": Text(r"(instance|weights)"),
            "weights_gib": Num(r"model weights take ([\d.]+)GiB"),
            "kv_gib": Num(r"reserved for KV Cache is ([\d.]+)GiB"),
            "device_gib": Num(r"total_gpu_memory \(([\d.]+)GiB\)"),
            "util": Num(r"gpu_memory_utilization \(([\d.]+)\)"),
        },
    ),
    Line(
        "memory",
        into="server_config*",
        anchor=("Available KV cache memory: ", "Free memory on device "),
        after=_ONLY,
        fields={
            **_WHOSE,
            "kv_gib": Num(r"Available KV cache memory: ([\d.]+) GiB"),
            "device_gib": Num(r"Free memory on device[\w: ]* \([\d.]+/([\d.]+) GiB\) on startup"),
            "util": Num(r"GPU memory utilization is \(([\d.]+),"),
        },
    ),
    Line(
        "kv",
        into="server_config*",
        anchor=(
            "GPU KV cache size: ",
            "Maximum concurrency for ",
            "# GPU blocks: ",
            "# CUDA blocks: ",
            "# cuda blocks: ",
            "# rocm blocks: ",
        ),
        after=_ONLY,
        fields={
            **_WHOSE,
            "kv_tokens": Int(r"GPU KV cache size: ([\d,]+) tokens"),
            "ctx": Int(r"Maximum concurrency for ([\d,]+) tokens"),
            "concurrency": Num(r"tokens per request: ([\d,.]+)x"),
            "blocks": Int(r"# (?:GPU|CUDA|cuda|rocm) blocks: (\d+)"),
        },
    ),
    Line(
        "attention",
        into="server_config*",
        anchor=(
            " backend on V1 engine",
            " attention backend",
            "Using Flash Attention backend",
            "Using FlashInfer backend",
            "Using XFormers backend",
            "Using AttentionBackendEnum.",
        ),
        after=rf"^{_HEAD}(?:Using [\w -]{{2,40}})?$",
        fields={**_WHOSE, "attention": Text(r"\] Using (?:AttentionBackendEnum\.)?([A-Z][\w -]{1,39}?) (?:attention )?backend")},
        need=("attention",),
    ),
    Line(
        "graphs",
        into="server_config*",
        anchor="Graph capturing finished in ",
        after=_ONLY,
        fields={
            **_WHOSE,
            "event": Word("loading"),
            "detail": Word("graph-capture"),
            "graphs": Word("true"),
            "number": Num(r"finished in ([\d.]+) s"),
        },
    ),
    Line(
        "eager",
        into="server_config*",
        anchor=(
            "Enforce eager set, disabling ",
            "Cudagraph is disabled under eager mode",
            "To see benefits of async output processing, enable CUDA graph",
        ),
        after=_ONLY,
        fields={**_WHOSE, "event": Word("fallback"), "detail": Word("eager"), "eager": Word("True")},
    ),
    Line(
        "moe config",
        into="server_config*",
        anchor="Using default MoE config. ",
        after=_ONLY,
        fields={
            **_WHOSE,
            "event": Word("fallback"),
            "detail": Word("default-moe-config"),
            "device_name": Text(r"device_name=([A-Za-z0-9_-]{3,60})"),
            "a100": Text(r"device_name=[A-Za-z0-9_-]*?([Aa]100)"),
            "hopper": Text(r"device_name=[A-Za-z0-9_-]*?([Hh][12]00)"),
        },
    ),
    Line(
        "to v0",
        into="server_config*",
        anchor="is not supported by the V1 Engine. Falling back to V0",
        after=rf"^{_HEAD}.{{0,200}}$",
        veto=("Received request ",),
        fields={**_WHOSE, "event": Word("fallback"), "detail": Word("v0-engine"), "v0_words": Word("V0")},
    ),
)

_POST = r'\S+ - "POST /[\w/.-]*(?:completions|responses|messages|embeddings|generate|generate_stream|invocations)(?:\?\S*)? $'

_EVENT_LINES = (
    Line("arrival", into="server_events*", anchor="Received request ", after=_ONLY, fields={**_CALLER, "event": Word("arrival")}),
    Line(
        "access",
        into="server_events*",
        anchor=('HTTP/1.1" ', 'HTTP/1.0" '),
        after=_UVICORN + _POST,
        fields={**_WHOSE, "event": Word("access"), "number": Num(r'HTTP/1\.[01]" (\d{3})\b')},
        need=("number",),
    ),
    Line(
        "ready",
        into="server_events*",
        anchor="Application startup complete",
        after=_UVICORN + "$",
        fields={**_WHOSE, "event": Word("loaded")},
    ),
    Line(
        "http",
        into="server_events*",
        anchor=("Starting vLLM API server", "Starting vLLM server on ", "Available routes are:"),
        after=_ONLY,
        fields={**_WHOSE, "event": Word("loaded")},
    ),
    Line(
        "cancel",
        into="server_events*",
        anchor=("Aborted request ", "Aborted request(s) "),
        after=_ONLY,
        fields={**_WHOSE, "event": Word("cancel")},
    ),
    Line(
        "preempt",
        into="server_events*",
        anchor=" is preempted by PreemptionMode.",
        after=rf"^{_HEAD}Sequence group \S+$",
        fields={
            **_WHOSE,
            "event": Word("preempt"),
            "v0_words": Word("V0"),
            "mode": Text(r"PreemptionMode\.(SWAP|RECOMPUTE)\b"),
            "number": Num(r"total_num_cumulative_preemption=(\d+)"),
        },
    ),
    _event("model", ("Starting to load model ", "Loading model from scratch"), "loading", "model"),
    _event("shards", "Loading weights took ", "loading", "shards", value=Num(r"took ([\d.]+) seconds")),
    _event(
        "compile",
        ("torch.compile takes ", "torch.compile took ", "torch.compile and initial profiling"),
        "loading",
        "compile",
        value=Num(r"(?:takes|took) ([\d.]+) s\b"),
    ),
    _event(
        "init",
        "init engine (profile, create kv cache, warmup model) took ",
        "loading",
        "init",
        value=Num(r"warmup model\) took ([\d.]+) s"),
    ),
    Line(
        "allreduce",
        into="server_config*",
        anchor="Custom allreduce is disabled",
        after=_ONLY,
        fields={**_WHOSE, "event": Word("fallback"), "detail": Word("custom-allreduce-disabled"), "no_custom": Word("True")},
    ),
    Line(
        "all-reduce backends",
        into="server_config*",
        anchor=" all-reduce backends (in dispatch order)",
        after=rf"^{_HEAD}Using \[[^\]]{{0,200}}\]$",
        fields={**_WHOSE, "reduces": Text(r"Using \[([^\]]{0,200})\] all-reduce")},
    ),
    _event("no p2p", "lacks GPU P2P capability", "fallback", "no-p2p", rf"^{_HEAD}[A-Za-z ,]{{0,60}}your platform $"),
    _event(
        "marlin",
        "compression will be used leveraging the Marlin kernel",
        "fallback",
        "marlin-weight-only",
        rf"^{_HEAD}Your GPU does not have native support for FP\d computation but FP\d quantization is being used\. Weight-only FP\d $",
    ),
    _event("flash", ("Cannot use FlashAttention-2 backend", "Cannot use FlashAttention backend"), "fallback", "no-flash-attention"),
    _event("stall", "No available shared memory broadcast block found in ", "stall", "shm-broadcast", value=Num(r"found in (\d+) second")),
    _event("fatal", ("EngineCore encountered a fatal error", "EngineCore failed to start"), "error", "engine-core"),
    _event("dead", "Engine loop is not running", "error", "engine-core", rf"^{_HEAD}(?:[\w.]*Error: )?$"),
    _event("oom", ("torch.OutOfMemoryError: ", "torch.cuda.OutOfMemoryError: "), "error", "out-of-memory"),
)

_NOISE = (
    "Waiting for application startup",
    "Started server process [",
    "Uvicorn running on http",
    "] Route: /",
    '"GET /metrics',
    '"GET /health',
    '"GET /v1/models',
    '"POST /tokenize',
    '"POST /reset_prefix_cache',
    "] Added request ",
    "] Finished request ",
    "The argument `trust_remote_code` is to be used",
)

# Which run a row belongs to. Processes of one server may be sources of their own (journal lines carry the pid of the writer), and
# a data-parallel server initialises several engines: a run begins at a banner, an argument or a configuration line that comes after
# service, or again. Rows of a process that never shows a line of the API server join the run that was started before them. Where two
# servers write into one file, the line of an API server belongs to the last run that its own process announced.
_PLACED = """
WITH facts AS (
    SELECT *, run AS process, coalesce(kind IN ('version', 'args', 'config'), false) AS starting,
        CASE kind WHEN 'version' THEN 0 WHEN 'args' THEN 1 WHEN 'config' THEN 2 ELSE 3 END AS stage
    FROM staged
    WHERE (kind <> 'rest of stats' OR line - 1 IN (SELECT line FROM staged WHERE kind = 'stats' AND running IS NULL))
      AND (bare IS NULL OR NOT EXISTS (FROM staged WHERE kind = 'stats' AND bare IS NULL))
      AND (glued IS NULL OR line IN (SELECT line FROM staged WHERE kind IN ('stats', 'spec') AND glued IS NULL))
), marks AS (
    SELECT process, line, eng, stage, starting, lag(stage) OVER w AS before, lag(eng) OVER w AS eng_before
    FROM facts WHERE starting OR kind IN ('stats', 'first stats', 'spec', 'v0 spec', 'iteration', 'arrival')
    WINDOW w AS (PARTITION BY process ORDER BY line)
), borders AS (
    SELECT process, line, row_number() OVER (PARTITION BY process ORDER BY line) AS local
    FROM marks WHERE starting AND (before = 3 OR stage < before OR (stage = before AND eng IS NOT DISTINCT FROM eng_before))
), placed_local AS (
    SELECT f.*, coalesce(b.local, 0) AS local
    FROM facts f ASOF LEFT JOIN borders b ON f.process = b.process AND f.line >= b.line
), groups AS (
    SELECT process, local, min(line) AS first_line,
        bool_or(kind IN ('version', 'args', 'access', 'ready', 'arrival') OR api IS NOT NULL) AS has_api,
        bool_or(kind IN ('stats', 'first stats')) AS has_stats
    FROM placed_local GROUP BY process, local
), hosts AS (
    SELECT g.process, g.local, g.first_line,
        max_by(h.first_line, h.first_line) FILTER (h.first_line <= g.first_line) AS host_before, min(h.first_line) AS host_after
    FROM groups g LEFT JOIN groups h ON h.has_api AND NOT g.has_api AND h.process <> g.process AND NOT (g.has_stats AND h.has_stats)
    GROUP BY g.process, g.local, g.first_line
), numbered AS (
    SELECT process, local, CAST(dense_rank() OVER (ORDER BY coalesce(host_before, host_after,
        first_line)) - 1 AS INTEGER) AS server_run FROM hosts
), tie AS (
    SELECT round(median(t - outer_t) / 900) * 900 AS shift, max(abs(t - outer_t - d)) AS spread
    FROM (SELECT t, outer_t, round(median(t - outer_t) OVER () / 900) * 900 AS d FROM facts WHERE head IS NOT NULL AND outer_t IS NOT NULL
        AND t IS NOT NULL)
), outer_clock AS (
    SELECT DISTINCT outer_kind FROM facts WHERE clk = outer_kind AND t = outer_t
), in_order AS (
    SELECT p.*, n.server_run FROM placed_local p JOIN numbered n USING (process, local)
), owners AS (
    SELECT api_pid, server_run AS own_run, min(line) AS line FROM in_order
    WHERE kind = 'version' OR (kind = 'args' AND api_pid NOT IN (SELECT api_pid FROM in_order WHERE kind = 'version' AND api_pid IS NOT NULL))
    GROUP BY ALL HAVING api_pid IS NOT NULL
), placed AS (
    SELECT p.* EXCLUDE (run, server_run, own_run), coalesce(p.own_run, p.server_run) AS run,
        CASE WHEN p.head IS NOT NULL OR p.other_head IS NOT NULL
                THEN coalesce(p.t, CASE WHEN p.outer_kind IN (SELECT outer_kind FROM outer_clock) THEN p.outer_t END)
             WHEN tie.spread < 60 THEN p.outer_t + tie.shift ELSE p.t END AS at_s
    FROM (SELECT i.*, w.own_run FROM in_order i ASOF LEFT JOIN owners w ON i.api_pid = w.api_pid AND i.line >= w.line) p LEFT JOIN tie ON true
)
FROM placed
"""

_SAMPLES = """
WITH lines AS (
    SELECT *, coalesce(engine_no, CASE WHEN kind = 'iteration' THEN eng END) AS engine,
        CASE WHEN head IS NOT NULL THEN 2 WHEN other_head IS NOT NULL THEN 1 ELSE 0 END AS standing
    FROM placed WHERE kind IN ('stats', 'first stats', 'v0 prefix', 'spec', 'v0 spec', 'iteration')
), kept AS (
    SELECT * FROM lines
    WHERE standing = (SELECT max(standing) FROM lines) -- a record in another dress beside vLLM's own is somebody's quotation
      AND (aggregated IS NULL OR run NOT IN (SELECT run FROM lines WHERE kind = 'stats' AND engine IS NOT NULL AND standing > 0))
), runs AS (
    SELECT run, max(coalesce(v_major, 0) * 10000 + v_minor * 100 + coalesce(v_patch, 0)) AS v FROM placed GROUP BY run
), lengths AS (
    SELECT k.*, r.v,
        CASE WHEN pos8 IS NULL THEN pos0 + coalesce(pos1, 0) + coalesce(pos2, 0) + coalesce(pos3, 0) + coalesce(pos4, 0) + coalesce(pos5, 0)
            + coalesce(pos6, 0) + coalesce(pos7, 0) END AS positions,
        lag(emitted) OVER w AS emitted_before, lag(drafted) OVER w AS drafted_before
    FROM kept k JOIN runs r USING (run) WINDOW w AS (PARTITION BY k.run, k.kind ORDER BY k.line)
), measured AS (
    SELECT k.line, k.kind, k.glued, 'vllm' AS server, CAST(k.engine AS INTEGER) AS engine, k.run,
        CASE WHEN k.kind <> 'iteration' OR k.prefills IS NULL OR k.decodes IS NULL THEN NULL WHEN k.prefills = 0 THEN 'decode'
             WHEN k.decodes = 0 THEN 'prefill' ELSE 'mixed' END AS phase,
        k.at_s AS "time", coalesce(k.running, m.running) AS running, coalesce(k.waiting, m.waiting) AS waiting,
        coalesce(k.kv_usage, m.kv_usage) AS kv_usage, k.prompt_tok_s, k.gen_tok_s,
        CASE WHEN k.kind = 'v0 spec' AND k.drafted > k.drafted_before AND k.emitted >= k.emitted_before
                THEN (k.emitted - k.emitted_before) * k.draft_tokens / (k.drafted - k.drafted_before)
             WHEN k.kind = 'v0 spec' AND k.drafted > 0 AND (k.drafted_before IS NULL OR k.drafted < k.drafted_before) THEN k.emitted *
                 k.draft_tokens / k.drafted
             WHEN k.bonus_form IS NOT NULL THEN k.mean_len
             WHEN abs(k.mean_len - 1 - k.positions) < 0.02 THEN k.mean_len
             WHEN abs(k.mean_len - k.positions) < 0.02 OR k.v = 805 THEN k.mean_len + 1
             WHEN k.v >= 900 THEN k.mean_len END AS accept_len,
        k.new_tokens, coalesce(k.prefix_hit, m.prefix_hit) AS prefix_hit, coalesce(k.preemptions, m.preemptions) AS preemptions, k.step_ms
    FROM lengths k LEFT JOIN placed m ON m.kind = 'rest of stats' AND k.kind = 'stats' AND k.running IS NULL AND m.line = k.line + 1
    WHERE k.dummy IS NULL AND NOT (k.kind = 'v0 prefix' AND k.prefix_hit IS NULL) AND NOT (k.kind = 'iteration' AND k.prefills + k.decodes
        = 0)
)
SELECT * EXCLUDE (kind, glued) FROM measured WHERE kind NOT IN ('spec', 'v0 spec') OR accept_len IS NOT NULL ORDER BY line,
    glued NULLS FIRST
"""

_EVENTS = """
WITH told AS (
    SELECT *, row_number() OVER (PARTITION BY run, event, detail, kind ORDER BY line) AS nth FROM placed
)
SELECT line, 'vllm' AS server, CAST(eng AS INTEGER) AS engine, run, at_s AS "time", event AS kind, number AS "value",
    coalesce(lower(mode), detail) AS detail
FROM told
WHERE event IS NOT NULL AND NOT (event = 'fallback' AND nth > 1)
  AND NOT (kind = 'http' AND (nth > 1 OR run IN (SELECT run FROM placed WHERE kind = 'ready')))
ORDER BY line
"""

# Line number of the statistics call in metrics.py (V0) or loggers.py (V1) -> first and last version with it.
_HINTS = """
    (0, 161, 301, 302, '0.3.1 to 0.3.2'), (0, 213, 303, 303, '0.3.3'), (0, 218, 400, 400, '0.4.0'), (0, 229, 401, 401, '0.4.1'), (0, 334,
        402, 402, '0.4.2'),
    (0, 341, 403, 500, '0.4.3 to 0.5.0'), (0, 295, 501, 502, '0.5.1 to 0.5.2'), (0, 396, 503, 503, '0.5.3'), (0, 406, 504, 504, '0.5.4'),
    (0, 351, 505, 602, '0.5.5 to 0.6.2'), (0, 345, 603, 603, '0.6.3'), (0, 349, 603, 603, '0.6.3.post1'), (0, 449, 604, 604, '0.6.4'),
    (0, 467, 605, 606, '0.6.5 to 0.6.6'), (0, 453, 700, 701, '0.7.0 to 0.7.1'), (0, 455, 702, 703, '0.7.2 to 0.7.3'), (0, 481, 800, 802,
        '0.8.0 to 0.8.2'),
    (0, 488, 803, 803, '0.8.3'), (0, 489, 804, 804, '0.8.4'), (0, 486, 805, 900, '0.8.5 to 0.9.0'), (0, 417, 901, 902, '0.9.1 to 0.9.2'),
    (0, 386, 1000, 1000, '0.10.0'), (1, 69, 701, 701, '0.7.1'), (1, 72, 702, 702, '0.7.2'), (1, 78, 703, 703, '0.7.3'), (1, 80, 800, 802,
        '0.8.0 to 0.8.2'),
    (1, 87, 803, 804, '0.8.3 to 0.8.4'), (1, 111, 805, 805, '0.8.5'), (1, 116, 900, 900, '0.9.0'), (1, 118, 901, 902, '0.9.1 to 0.9.2'),
    (1, 122, 1000, 1000, '0.10.0'), (1, 123, 1001, 1002, '0.10.1 to 0.10.2'), (1, 127, 1100, 1100, '0.11.0'), (1, 236, 1101, 1200,
        '0.11.1 to 0.12'),
    (1, 248, 1300, 1300, '0.13'), (1, 257, 1400, 1500, '0.14 to 0.15'), (1, 259, 1600, 1900, '0.16 to 0.19'), (1, 271, 2000, 2400,
        '0.20 to 0.24'),
    (1, 273, 2500, 2500, '0.25'), (1, 310, 2600, 2600, '0.26')"""


def _numbers(**keys: str) -> str:
    """UNION ALL parts: the first value of a staged number per run, the configuration line before other lines before the arguments."""
    return "\n    UNION ALL ".join(
        f"SELECT run, min_by(line, rank), NULL, '{key}', NULL, CAST(min_by({column}, rank) AS DOUBLE), NULL, 'logged' "
        f"FROM ranked WHERE {column} IS NOT NULL GROUP BY run"
        for key, column in keys.items()
    )


def _words(**keys: str) -> str:
    """UNION ALL parts: the first value of a staged word per run, in lower case."""
    return "\n    UNION ALL ".join(
        f"SELECT run, min_by(line, rank), NULL, '{key}', lower(min_by({column}, rank)), NULL, NULL, 'logged' "
        f"FROM ranked WHERE {column} IS NOT NULL GROUP BY run"
        for key, column in keys.items()
    )


def _ranges(**keys: str) -> str:
    """UNION ALL parts: smallest and largest value over the workers of a run."""
    return "\n    UNION ALL ".join(
        f"SELECT run, min(line), NULL, '{key}', NULL, min({column}), nullif(max({column}), min({column})), 'logged' "
        f"FROM ranked WHERE {column} IS NOT NULL GROUP BY run"
        for key, column in keys.items()
    )


def _printed(number: str) -> str:
    """SQL: a number as text, whole ones without a fraction."""
    return f"CASE WHEN {number} = floor({number}) THEN CAST(CAST({number} AS BIGINT) AS VARCHAR) ELSE printf('%.6g', {number}) END"


_RANKED = """
SELECT *, CASE kind WHEN 'config' THEN 0 WHEN 'args' THEN 2 ELSE 1 END * 1000000000000 + line AS rank FROM placed
WHERE kind NOT IN ('access', 'arrival', 'cancel', 'iteration')
"""

_CONFIG = f"""
WITH hints(generation, source_line, v_lo, v_hi, words) AS (VALUES {_HINTS}
), guesses AS (
    SELECT s.run, min(s.line) AS line, min(h.v_lo) AS v_lo, max(h.v_hi) AS v_hi, any_value(h.words) AS words
    FROM (SELECT run, min(line) AS line, v0_line, v1_line FROM ranked WHERE kind = 'stats' GROUP BY run, v0_line, v1_line) s
    LEFT JOIN hints h ON (h.generation = 0 AND s.v0_line = h.source_line) OR (h.generation = 1 AND s.v1_line = h.source_line)
    GROUP BY s.run HAVING count(DISTINCT h.words) = 1 AND count(h.words) = count(*)
), told AS (
    SELECT run,
        min_by(v_major * 10000 + v_minor * 100 + coalesce(v_patch, 0), rank) FILTER (v_minor IS NOT NULL) AS v,
        coalesce(min_by(core, rank) FILTER (core IS NOT NULL),
            CASE WHEN bool_or(v0_words IS NOT NULL) THEN 'V0' WHEN bool_or(v1_line IS NOT NULL) THEN 'V1' END) AS core,
        min_by(line, rank) FILTER (kind = 'args') AS args_line, bool_or(kind = 'args' AND coalesce(complete,
            complete_old) IS NOT NULL) AS args_complete,
        min_by(seqs, rank) FILTER (seqs IS NOT NULL) AS seqs, min_by(line, rank) FILTER (seqs IS NOT NULL) AS seqs_line,
        min_by(batched, rank) FILTER (batched IS NOT NULL) AS batched, bool_or(kind = 'args' AND batched IS NOT NULL) AS batched_asked,
        bool_or(api IS NOT NULL OR kind IN ('version', 'ready', 'http')) AS serves,
        min_by(tp, rank) FILTER (tp IS NOT NULL) AS tp, min_by(pp, rank) FILTER (pp IS NOT NULL) AS pp, min_by(dp,
            rank) FILTER (dp IS NOT NULL) AS dp,
        min_by(line, rank) FILTER (tp IS NOT NULL) AS tp_line, bool_or(kind = 'config') AS configured, bool_or(whole IS NOT NULL) AS whole,
        min_by(coalesce(device, platform), rank) FILTER (coalesce(device, platform) IS NOT NULL) AS device, max(device_gib) AS device_gib,
        bool_or(device_name IS NOT NULL) AS device_named, bool_or(a100 IS NOT NULL) AS a100, bool_or(hopper IS NOT NULL) AS hopper,
        greatest(count(DISTINCT engine_no), coalesce(max(aggregated), 0)) AS engines, count(DISTINCT eng) AS cores, min_by(block_size,
            rank) FILTER (block_size IS NOT NULL) AS block_size
    FROM ranked GROUP BY run
), runs AS (
    SELECT t.*, g.v_lo, g.v_hi FROM told t LEFT JOIN guesses g USING (run)
), known AS (
    SELECT * REPLACE (coalesce(core, CASE WHEN coalesce(v, v_lo) >= 1100 THEN 'V1' END) AS core), coalesce(v, v_lo) AS lo,
        coalesce(v, v_hi) AS hi,
        -- the token budget nobody asked for was chosen in the same breath as the slots (0.8.4 and later)
        CASE WHEN NOT args_complete OR batched_asked THEN NULL WHEN batched = 2048 THEN 256 WHEN batched = 16384 THEN 1024
             WHEN batched = 8192 AND serves THEN 1024 END AS by_budget,
        coalesce(tp, CASE WHEN args_complete THEN 1 END) AS tp_known,
        coalesce(pp, CASE WHEN args_complete OR (tp IS NOT NULL AND whole) THEN 1 END) AS pp_known,
        coalesce(dp, CASE WHEN engines > 1 THEN engines WHEN args_complete OR coalesce(v, v_hi) < 800 THEN 1 END) AS dp_known
    FROM runs
), defaults AS (
    SELECT *,
        CASE WHEN core = 'V0' OR hi < 605 THEN 256
             WHEN core = 'V1' AND hi <= 803 THEN 1024
             WHEN core = 'V1' AND lo BETWEEN 804 AND 2999 AND by_budget IS NOT NULL THEN by_budget
             WHEN core = 'V1' AND lo = 804 AND hi = 804 AND hopper THEN 1024
             WHEN core = 'V1' AND lo BETWEEN 805 AND 2999 AND device_gib >= 70 AND (hi = 805 OR (device_named AND NOT a100)) THEN 1024
             ELSE 256 END AS default_lo,
        CASE WHEN core = 'V0' OR hi < 605 THEN 256
             WHEN core = 'V1' AND lo BETWEEN 804 AND 2999 AND by_budget IS NOT NULL THEN by_budget
             WHEN core = 'V1' AND lo = 804 AND hi = 804 AND device_named AND NOT hopper THEN 256
             WHEN core = 'V1' AND lo BETWEEN 805 AND 2999 AND device_gib < 70 THEN 256
             WHEN core = 'V1' AND lo BETWEEN 900 AND 2999 AND a100 THEN 256
             ELSE 1024 END AS default_hi
    FROM known
), limits AS (
    SELECT run, coalesce(seqs_line, args_line) AS line, CASE WHEN seqs IS NOT NULL THEN 'logged' ELSE 'default' END AS origin,
        CASE WHEN seqs IS NULL THEN least(default_lo, coalesce(batched, default_lo)) ELSE seqs END AS lo,
        CASE WHEN seqs IS NULL THEN least(default_hi, coalesce(batched, default_hi)) ELSE seqs END AS hi, dp_known, engines
    FROM defaults
    WHERE seqs IS NOT NULL OR (args_complete AND coalesce(device, 'cuda') IN ('cuda', 'auto', 'rocm'))
), totals AS (
    SELECT *, CASE WHEN dp_known > 1 AND engines >= dp_known THEN lo * dp_known ELSE lo END AS total_lo, hi * coalesce(dp_known,
        1) AS total_hi FROM limits
), engine_pools AS (
    SELECT run, min(line) AS line, CASE WHEN several THEN eng END AS engine, min(kv_tokens) AS kv
    FROM (SELECT p.*, r.cores > 1 OR coalesce(r.dp_known > 1, false) AS several FROM ranked p JOIN known r USING (run))
    WHERE kv_tokens IS NOT NULL AND (eng IS NOT NULL OR NOT several) GROUP BY run, several, eng
), pools AS (
    SELECT run, min(line) AS line, engine, min(kv) AS kv FROM engine_pools GROUP BY run, engine
), blocks AS (
    SELECT p.run, min(p.line) AS line, min(p.blocks) * any_value(r.block_size) AS kv FROM ranked p JOIN runs r USING (run)
    WHERE p.blocks > 0 GROUP BY p.run HAVING any_value(r.block_size) IS NOT NULL
), shares AS (
    SELECT run, min(line) AS line, min(ctx * (concurrency - 0.005)) AS lo, min(ctx * (concurrency + 0.005)) AS hi
    FROM ranked WHERE kind = 'kv' AND concurrency IS NOT NULL AND ctx IS NOT NULL GROUP BY run
), speculation AS (
    SELECT run, min_by(line, rank) AS line, min_by(CASE WHEN kind IN ('spec',
        'v0 spec') THEN 'on' WHEN spec_config = 'None' THEN 'off' ELSE 'on' END,
        CASE WHEN kind IN ('spec', 'v0 spec') THEN line ELSE 1000000000000 + rank END) AS word
    FROM ranked WHERE kind IN ('spec', 'v0 spec') OR spec_config IS NOT NULL GROUP BY run
), found(run, line, engine, key, word, num, num_hi, origin) AS (
    {_numbers(tensor_parallel="tp", pipeline_parallel="pp", data_parallel="dp", n_ctx_slot="ctx")}
    UNION ALL {_numbers(max_batched_tokens="batched", gpu_mem_util="util", weights_offload_gib="offload")}
    UNION ALL {_numbers(draft_tokens="coalesce(drafts, draft_tokens)", kv_concurrency="concurrency")}
    UNION ALL {_words(version="version", quantisation="quant", kv_dtype="kv_dtype", attention="attention", prefix_caching="prefix_caching")}
    UNION ALL {_words(chunked_prefill="chunked", graph_capture="graphs")}
    UNION ALL {_ranges(weights_gib_per_rank="weights_gib", kv_gib_per_rank="kv_gib", device_mem_gib="device_gib")}
    UNION ALL SELECT run, min(line), NULL, 'eager', lower(max(eager)), NULL, NULL, 'logged' FROM ranked WHERE eager IS NOT NULL GROUP BY run
    UNION ALL SELECT run, min(line), NULL, 'custom_all_reduce', CASE WHEN bool_or(no_custom = 'True' OR reduces NOT LIKE '%CUSTOM%') THEN 'false' ELSE 'true' END,
        NULL, NULL, 'logged' FROM ranked WHERE coalesce(no_custom, reduces) IS NOT NULL GROUP BY run
    UNION ALL SELECT run, min(line), NULL, 'other_args', any_value({other_args("args_text", _READ_ARGS)}), NULL, NULL, 'logged'
        FROM ranked WHERE args_text IS NOT NULL GROUP BY run HAVING count(*) = 1
    UNION ALL SELECT run, line, NULL, 'speculation', word, NULL, NULL, 'logged' FROM speculation
    UNION ALL SELECT g.run, g.line, NULL, 'version', g.words, NULL, NULL,
        'estimated' FROM guesses g JOIN runs r USING (run) WHERE r.v IS NULL
    UNION ALL SELECT r.run, min(p.line), NULL, 'engine_core', lower(any_value(r.core)), NULL, NULL,
        'logged' FROM runs r JOIN ranked p USING (run)
        WHERE p.core IS NOT NULL OR p.v0_words IS NOT NULL OR p.v1_line IS NOT NULL GROUP BY r.run
    UNION ALL SELECT run, args_line, NULL, u.key, NULL, 1, NULL, 'default' FROM known,
        (VALUES ('tensor_parallel'), ('pipeline_parallel'), ('data_parallel')) u(key)
        WHERE args_complete AND NOT configured AND CASE u.key WHEN 'tensor_parallel' THEN tp WHEN 'pipeline_parallel' THEN pp ELSE dp END
            IS NULL
    UNION ALL SELECT run, coalesce(tp_line, args_line), NULL, 'split',
        CASE WHEN tp_known > 1 AND pp_known = 1 THEN 'tensor' WHEN pp_known > 1 AND tp_known = 1 THEN 'pipeline'
             WHEN tp_known = 1 AND pp_known = 1 AND dp_known > 1 THEN 'data' WHEN tp_known = 1 AND pp_known = 1 AND dp_known = 1 THEN
                 'none' END,
        NULL, NULL, CASE WHEN tp IS NULL THEN 'default' ELSE 'logged' END FROM known
    UNION ALL SELECT run, line, NULL, 'slots', NULL, total_lo, CASE WHEN total_hi > total_lo THEN total_hi END, origin FROM totals
    UNION ALL SELECT run, line, NULL, 'slots_per_engine', NULL, lo, CASE WHEN hi > lo THEN hi END, origin FROM limits WHERE dp_known > 1
    UNION ALL SELECT run, line, engine, 'kv_tokens', NULL, kv, NULL, 'logged' FROM pools
    UNION ALL SELECT run, line, NULL, 'kv_tokens', NULL, kv, NULL, 'logged' FROM blocks WHERE run NOT IN (SELECT run FROM pools)
    UNION ALL SELECT run, line, NULL, 'kv_tokens', NULL, lo, hi, 'logged' FROM shares
        WHERE run NOT IN (SELECT run FROM pools) AND run NOT IN (SELECT run FROM blocks)
)
SELECT line, 'vllm' AS server, CAST(engine AS INTEGER) AS engine, run, key,
    coalesce(word, {_printed("num")} || coalesce('..' || {_printed("num_hi")}, '')) AS "value", CAST(num AS DOUBLE) AS num,
        CAST(num_hi AS DOUBLE) AS num_hi, origin
FROM found WHERE coalesce(word, CAST(num AS VARCHAR)) IS NOT NULL ORDER BY line, key, engine
"""

_MODELS = """
SELECT min(line) AS line, arg_min(model_name, line) AS name, arg_min(arch, line) AS arch, run, 0 AS section, nullif(lower(arg_min(quant,
    line)), 'none') AS quantisation
FROM placed WHERE kind IN ('config', 'arch') GROUP BY run HAVING bool_or(model_name IS NOT NULL OR arch IS NOT NULL) ORDER BY line
"""

_SAMPLE_01 = """\
INFO 07-11 10:00:01 async_llm_engine.py:117] Received request cmpl-0001: prompt: 'hi', sampling params: SamplingParams(n=1), prompt token \
ids: None.
INFO 07-11 10:00:02 scheduler.py:269] Throughput: 12.5 tokens/s, Running: 3 reqs, Swapped: 0 reqs, Pending: 2 reqs, GPU KV cache usage: \
1.5%, \
CPU KV cache usage: 0.0%
"""

_SAMPLE_02 = """\
INFO 02-06 09:00:01 llm_engine.py:706] Avg prompt throughput: 100.5 tokens/s, Avg generation throughput: 50.5 tokens/s, Running: 5 reqs, \
Swapped: 0 reqs, Pending: 1 reqs, GPU KV cache usage: 4.0%, CPU KV cache usage: 0.0%
"""

_SAMPLE_04 = """\
INFO 05-02 08:00:00 llm_engine.py:98] Initializing an LLM engine (v0.4.1) with config: model='acme/Tiny-7B', speculative_config=None, \
tokenizer='acme/Tiny-7B', dtype=torch.float16, max_seq_len=4096, tensor_parallel_size=2, disable_custom_all_reduce=False, \
quantization=awq, \
enforce_eager=True, kv_cache_dtype=auto, device_config=cuda, seed=0)
WARNING 05-02 08:00:04 custom_all_reduce.py:65] Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P test \
failed. To \
silence this warning, specify disable_custom_all_reduce=True explicitly.
INFO 05-02 08:00:20 model_runner.py:172] Loading model weights took 3.6500 GB
(RayWorkerWrapper pid=4321) INFO 05-02 08:00:21 model_runner.py:172] Loading model weights took 3.7500 GB
INFO 05-02 08:00:25 distributed_gpu_executor.py:45] # GPU blocks: 1000, # CPU blocks: 512
INFO 05-02 08:01:00 metrics.py:229] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 900.5 tokens/s, Running: 64 reqs, \
Swapped: 0 reqs, \
Pending: 40 reqs, GPU KV cache usage: 99.5%, CPU KV cache usage: 0.0%
WARNING 05-02 08:01:01 scheduler.py:1057] Sequence group cmpl-77 is preempted by PreemptionMode.RECOMPUTE mode because there is not \
enough KV cache \
space. total_num_cumulative_preemption=51
"""

_SAMPLE_06 = """\
INFO 12-01 09:59:50 api_server.py:585] vLLM API server version 0.6.4.post1
INFO 12-01 09:59:50 api_server.py:586] args: Namespace(host=None, port=8000, model='acme/Tiny-8B', max_model_len=None, \
pipeline_parallel_size=1, \
tensor_parallel_size=1, block_size=16, gpu_memory_utilization=0.85, max_num_batched_tokens=None, max_num_seqs=96, quantization=None, \
enforce_eager=False, speculative_model='acme/Draft', num_speculative_tokens=4, enable_prefix_caching=True)
INFO 12-01 10:00:03 worker.py:232] the current vLLM instance can use total_gpu_memory (23.50GiB) x gpu_memory_utilization (0.85) = 19.98GiB
INFO 12-01 10:00:03 worker.py:232] model weights take 15.50GiB; non_torch_memory takes 0.10GiB; PyTorch activation peak memory takes \
1.25GiB; the rest \
of the memory reserved for KV Cache is 3.13GiB.
INFO 12-01 10:00:04 gpu_executor.py:76] # GPU blocks: 1500, # CPU blocks: 2048
INFO 12-01 10:00:04 gpu_executor.py:80] Maximum concurrency for 8192 tokens per request: 2.93x
INFO 12-01 10:01:00 metrics.py:449] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 300.5 tokens/s, Running: 8 reqs, \
Swapped: 0 reqs, \
Pending: 0 reqs, GPU KV cache usage: 12.5%, CPU KV cache usage: 0.0%.
INFO 12-01 10:01:00 metrics.py:465] Prefix cache hit rate: GPU: 62.50%, CPU: 0.00%
INFO 12-01 10:01:00 metrics.py:483] Speculative metrics: Draft acceptance rate: 0.500, System efficiency: 0.500, Number of speculative \
tokens: 4, \
Number of accepted tokens: 200, Number of draft tokens: 400, Number of emitted tokens: 250.
INFO 12-01 10:01:05 metrics.py:483] Speculative metrics: Draft acceptance rate: 0.563, System efficiency: 0.550, Number of speculative \
tokens: 4, \
Number of accepted tokens: 450, Number of draft tokens: 800, Number of emitted tokens: 550.
"""

_SAMPLE_08 = """\
INFO 04-20 11:00:00 [api_server.py:1034] vLLM API server version 0.8.5
INFO 04-20 11:00:00 [api_server.py:1035] args: Namespace(host=None, port=8000, max_model_len=16384, pipeline_parallel_size=1, \
tensor_parallel_size=1, \
data_parallel_size=1, max_num_seqs=None, enforce_eager=False)
INFO 04-20 11:00:09 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: model='/data/Tiny-8B', \
speculative_config=SpeculativeConfig(\
method='eagle', model='acme/eagle', num_spec_tokens=3), tokenizer='/data/Tiny-8B', max_seq_len=16384, tensor_parallel_size=1, \
pipeline_parallel_size=1, disable_custom_all_reduce=False, quantization=None, enforce_eager=False, device_config=cuda)
INFO 04-20 11:02:00 [loggers.py:111] Engine 000: Avg prompt throughput: 10.5 tokens/s, Avg generation throughput: 99.5 tokens/s, Running: \
4 reqs, \
Waiting: 0 reqs, GPU KV cache usage: 7.5%, Prefix cache hit rate: 12.5%
INFO 04-20 11:02:00 [metrics.py:82] SpecDecoding metrics: Draft acceptance rate: 50.0%, Mean acceptance length: 1.50, Accepted: 150 \
tokens, \
Drafted: 300 tokens, Per-position acceptance rate: 0.700, 0.500, 0.300
"""

_SAMPLE_09 = """\
INFO 07-01 12:00:00 [api_server.py:1287] vLLM API server version 0.9.1
INFO 07-01 12:00:00 [cli_args.py:300] non-default args: {'model': 'acme/Tiny-8B', 'data_parallel_size': 2, 'max_num_seqs': 48}
(EngineCore_1 pid=22) INFO 07-01 12:00:09 [core.py:70] Initializing a V1 LLM engine (v0.9.1) with config: model='acme/Tiny-8B', \
speculative_config=None, tokenizer='acme/Tiny-8B', max_seq_len=8192, tensor_parallel_size=1, pipeline_parallel_size=1, \
data_parallel_size=2, quantization=fp8)
(EngineCore_0 pid=21) INFO 07-01 12:00:09 [core.py:70] Initializing a V1 LLM engine (v0.9.1) with config: model='acme/Tiny-8B', \
speculative_config=None, tokenizer='acme/Tiny-8B', max_seq_len=8192, tensor_parallel_size=1, pipeline_parallel_size=1, \
data_parallel_size=2, quantization=fp8)
(EngineCore_0 pid=21) INFO 07-01 12:00:40 [kv_cache_utils.py:716] GPU KV cache size: 120,032 tokens
(EngineCore_1 pid=22) INFO 07-01 12:00:40 [kv_cache_utils.py:716] GPU KV cache size: 118,000 tokens
INFO 07-01 12:01:00 [loggers.py:118] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 480.5 tokens/s, Running: \
48 reqs, \
Waiting: 12 reqs, GPU KV cache usage: 40.5%, Prefix cache hit rate: 0.0%
INFO 07-01 12:01:00 [loggers.py:118] Engine 001: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 470.5 tokens/s, Running: \
47 reqs, \
Waiting: 0 reqs, GPU KV cache usage: 39.5%, Prefix cache hit rate: 0.0%
INFO 07-01 12:01:00 [loggers.py:118] 2 Engines Aggregated: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 951.0 tokens/s, \
Running: 95 reqs, Waiting: 12 reqs, GPU KV cache usage: 40.0%, Prefix cache hit rate: 0.0%
"""

_SAMPLE_11 = """\
(APIServer pid=10) INFO 10-06 15:00:00 [api_server.py:1839] vLLM API server version 0.11.0
(APIServer pid=10) INFO 10-06 15:00:00 [utils.py:233] non-default args: {'model_tag': 'acme/Moe-30B', 'tensor_parallel_size': 2, \
'max_model_len': 32768}
(EngineCore_DP0 pid=20) INFO 10-06 15:00:10 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='acme/Moe-30B', \
speculative_config=None, tokenizer='acme/Moe-30B', max_seq_len=32768, tensor_parallel_size=2, pipeline_parallel_size=1, \
data_parallel_size=1, \
quantization=None, enforce_eager=False, kv_cache_dtype=auto, device_config=cuda, enable_prefix_caching=True)
(Worker_TP0 pid=30) INFO 10-06 15:00:20 [cuda.py:366] Using Flash Attention backend on V1 engine.
(Worker_TP1 pid=31) INFO 10-06 15:00:30 [gpu_model_runner.py:2653] Model loading took 14.5000 GiB and 9.500000 seconds
(Worker_TP0 pid=30) INFO 10-06 15:00:30 [gpu_model_runner.py:2653] Model loading took 14.5000 GiB and 9.750000 seconds
(Worker_TP0 pid=30) WARNING 10-06 15:00:32 [fused_moe.py:798] Using default MoE config. Performance might be sub-optimal! Config file not \
found at \
['/opt/configs/E=128,N=384,device_name=NVIDIA_A100-SXM4-80GB.json']
(Worker_TP0 pid=30) INFO 10-06 15:00:40 [gpu_worker.py:298] Available KV cache memory: 5.25 GiB
(EngineCore_DP0 pid=20) INFO 10-06 15:00:41 [kv_cache_utils.py:1087] GPU KV cache size: 110,000 tokens
(EngineCore_DP0 pid=20) INFO 10-06 15:00:41 [kv_cache_utils.py:1091] Maximum concurrency for 32,768 tokens per request: 3.36x
(EngineCore_DP0 pid=20) INFO 10-06 15:00:41 [kv_cache_utils.py:1087] GPU KV cache size: 109,984 tokens
(Worker_TP0 pid=30) INFO 10-06 15:00:59 [gpu_model_runner.py:3480] Graph capturing finished in 12 secs, took 1.50 GiB
(APIServer pid=10) INFO 10-06 15:01:05 [api_server.py:1912] Starting vLLM API server 0 on http://0.0.0.0:8000
(APIServer pid=10) INFO 10-06 15:02:00 [loggers.py:127] Engine 000: Avg prompt throughput: 170.5 tokens/s, Avg generation throughput: 5.5 \
tokens/s, \
Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.5%, Prefix cache hit rate: 56.5%
"""

_SAMPLE_2026 = """\
(APIServer pid=7) INFO 05-01 19:00:00 [utils.py:299]  \u2584\u2584 \u2584\u2588 \u2588     \u2588     \u2588 \u2580\u2584\u2580 \u2588  \
version 0.20.1rc1.dev3+gabc
(APIServer pid=7) INFO 05-01 19:00:00 [utils.py:261] non-default args: {'model_tag': 'acme/Tiny-8B', 'max_num_batched_tokens': 4096, \
'compilation_config': {'mode': <CompilationMode.VLLM_COMPILE: 3>}, 'speculative_config': {'method': 'mtp', 'num_speculative_tokens': 2}}
(APIServer pid=7) INFO 05-01 19:00:01 [scheduler.py:252] Chunked prefill is enabled with max_num_batched_tokens=4096.
(Worker_TP0 pid=9) INFO 05-01 19:01:00 [gpu_worker.py:866] Free memory on device (92.50/95.0 GiB) on startup. Desired GPU memory \
utilization is \
(0.9, 85.5 GiB). Actual usage is 61.62 GiB for weight, 3.42 GiB for peak activation.
(EngineCore pid=8) WARNING 05-01 19:01:01 [vllm.py:896] Enforce eager set, disabling torch.compile and CUDAGraphs.
(APIServer pid=7) INFO 05-01 19:05:00 [loggers.py:271] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 809.5 \
tokens/s, \
Running: 31 reqs, Waiting: 108 reqs, Deferred: 8 reqs, Preemptions: 3, GPU KV cache usage: 98.5%, Prefix cache hit rate: 66.0%, \
External prefix cache hit rate: 5.0%, MM cache hit rate: 1.0%
(APIServer pid=7) INFO 05-01 19:05:00 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 2.50, Accepted throughput: 60.00 \
tokens/s, \
Drafted throughput: 80.00 tokens/s, Accepted: 600 tokens, Drafted: 800 tokens, Per-position acceptance rate: 0.900, 0.600, Avg Draft \
acceptance rate: 75.0%
(EngineCore pid=8) INFO 05-01 19:05:01 [core.py:387] Iteration(188): 0 context requests, 0 context tokens, 31 generation requests, 93 \
generation tokens, \
iteration elapsed time: 10.25 ms, kv cache: 98.5% (3500/3553 blocks, 56000 tokens)
"""

_SAMPLE_QUOTED = """\
INFO 07-28 06:40:59 [logger.py:43] Received request cmpl-1: prompt: 'INFO 07-28 06:40:59 [loggers.py:118] Engine 000: Avg prompt \
throughput: 9.0 tokens/s, \
Avg generation throughput: 9.0 tokens/s, Running: 9 reqs, Waiting: 9 reqs, GPU KV cache usage: 9.0%, Prefix cache hit rate: 9.0%INFO \
07-28 06:41:00 \
[loggers.py:118] Engine 000: Avg prompt throughput: 8.0 tokens/s, Avg generation throughput: 8.0 tokens/s, Running: 8 reqs, Waiting: 8 \
reqs, \
GPU KV cache usage: 8.0%, Prefix cache hit rate: 8.0%', params: SamplingParams(n=1), prompt_token_ids: [1, 2], lora_request: None.
"""


def _says(text: str) -> list[dict[str, object]]:
    """Expected rows of server_config from `key=value, key=value`."""
    return [dict(zip(("key", "value"), pair.split("="))) for pair in text.split(", ")]


PARSER = LineFormat(
    name="vllm-server",
    server="vllm",
    stamps=(
        *(
            Stamp(rf"{_LEVEL} +({day} \d\d:\d\d:\d\d{part}) +(?:\[?[\w./-]+:\d+\]|Engine |Avg )", how, clock, resolution_s, search=True)
            for day, how, clock in ((r"\d\d-\d\d", "month-day", "no-year"), (r"\d{4}-\d\d-\d\d", "iso", "local-no-zone"))
            for part, resolution_s in (("", 1.0), (r"[.,]\d{1,6}", 1e-3))
        ),
        Stamp(rf"^(?:\([^()]*\) *)?\[?({_ISO})", parse="iso", clock="local-no-zone", resolution_s=1e-3, search=True),
        Stamp(rf'"(?:timestamp|asctime|time)": ?"({_ISO})"', parse="iso", clock="local-no-zone", resolution_s=1e-3, search=True),
        *(
            Stamp(rf'"(?:timestamp|asctime|time)": ?"(\d\d-\d\d \d\d:\d\d:\d\d{part})"', "month-day", "no-year", resolution_s, search=True)
            for part, resolution_s in (("", 1.0), (r"[.,]\d{1,6}", 1e-3))
        ),
    ),
    lines=(*_STATISTICS, *_TRACED_STATISTICS, *_CONFIG_LINES, *_EVENT_LINES),
    noise=_NOISE,
    prepare={"placed": _PLACED, "ranked": _RANKED},
    assemble={"server_samples": _SAMPLES, "server_events": _EVENTS, "server_config": _CONFIG, "models": _MODELS},
    samples=(
        Sample(
            text=_SAMPLE_01,
            versions="0.1",
            rows={
                "server_samples": [
                    {"time": 79_696_802.0, "running": 3.0, "waiting": 2.0, "kv_usage": 0.015, "prompt_tok_s": None, "gen_tok_s": None}
                ],
                "server_events": [{"kind": "arrival", "time": 79_696_801.0, "detail": None}],
                "clocks": [{"kind": "no-year", "resolution_s": 1.0}],
            },
        ),
        Sample(
            text=_SAMPLE_02,
            versions="0.2 to 0.4.2",
            rows={
                "server_samples": [
                    {
                        "time": 66_214_801.0,
                        "running": 5.0,
                        "waiting": 1.0,
                        "kv_usage": 0.04,
                        "prompt_tok_s": 100.5,
                        "gen_tok_s": 50.5,
                        "engine": None,
                    }
                ]
            },
        ),
        Sample(
            text=_SAMPLE_04,
            versions="0.4",
            rows={
                "server_samples": [{"running": 64.0, "waiting": 40.0, "kv_usage": 0.995, "gen_tok_s": 900.5}],
                "server_events": [
                    {"kind": "loading", "detail": "engine"},
                    {"kind": "fallback", "detail": "custom-allreduce-disabled"},
                    {"kind": "loading", "detail": "weights"},
                    {"kind": "loading", "detail": "weights"},
                    {"kind": "preempt", "value": 51.0, "detail": "recompute", "time": 73_641_661.0},
                ],
                "server_config": _says(
                    "custom_all_reduce=false, eager=true, kv_dtype=auto, n_ctx_slot=4096, quantisation=awq, speculation=off, split=tensor, tensor_parallel=2, "
                    "version=0.4.1, weights_gib_per_rank=3.65..3.75, engine_core=v0"
                ),
                "models": [{"name": "Tiny-7B", "quantisation": "awq", "section": 0}],
            },
        ),
        Sample(
            text=_SAMPLE_06,
            versions="0.6.4",
            rows={
                "server_samples": [
                    {"running": 8.0, "waiting": 0.0, "kv_usage": 0.125, "accept_len": None},
                    {"prefix_hit": 0.625, "running": None},
                    {"accept_len": 2.5, "running": None},
                    {"accept_len": 3.0, "running": None},
                ],
                "server_config": _says(
                    "version=0.6.4.post1, data_parallel=1, eager=false, other_args=c1ba54cb, pipeline_parallel=1, prefix_caching=true, quantisation=none, "
                    "slots=96, split=none, tensor_parallel=1, device_mem_gib=23.5, engine_core=v0, gpu_mem_util=0.85, "
                    "kv_gib_per_rank=3.13, "
                    "weights_gib_per_rank=15.5, kv_tokens=24000, kv_concurrency=2.93, n_ctx_slot=8192, draft_tokens=4, speculation=on"
                ),
            },
        ),
        Sample(
            text=_SAMPLE_08,
            versions="0.8.5 (V1)",
            rows={
                "server_samples": [
                    {
                        "engine": 0,
                        "running": 4.0,
                        "waiting": 0.0,
                        "kv_usage": 0.075,
                        "prompt_tok_s": 10.5,
                        "gen_tok_s": 99.5,
                        "prefix_hit": 0.125,
                    },
                    {"engine": None, "accept_len": 2.5},
                ],
                "server_config": _says(
                    "data_parallel=1, eager=false, other_args=d41d8cd9, slots=256..1024, custom_all_reduce=true, draft_tokens=3, engine_core=v1, n_ctx_slot=16384, pipeline_parallel=1, "
                    "quantisation=none, speculation=on, split=none, tensor_parallel=1, version=0.8.5"
                ),
            },
        ),
        Sample(
            text=_SAMPLE_09,
            versions="0.9 and 0.10, two data-parallel engines",
            rows={
                "server_samples": [
                    {"engine": 0, "run": 0, "running": 48.0, "waiting": 12.0},
                    {"engine": 1, "run": 0, "running": 47.0, "waiting": 0.0},
                ],
                "server_config": _says(
                    "other_args=c1ba54cb, slots=96, slots_per_engine=48, data_parallel=2, engine_core=v1, n_ctx_slot=8192, pipeline_parallel=1, "
                    "quantisation=fp8, speculation=off, split=data, tensor_parallel=1, version=0.9.1, kv_tokens=120032, kv_tokens=118000"
                ),
            },
        ),
        Sample(
            text=_SAMPLE_11,
            versions="0.11, two tensor-parallel workers",
            rows={
                "server_samples": [
                    {"engine": 0, "time": 87_231_720.0, "running": 1.0, "kv_usage": 0.005, "prefix_hit": 0.565, "preemptions": None}
                ],
                "server_events": [
                    {"kind": "loading", "detail": "engine", "engine": 0},
                    {"kind": "loading", "detail": "weights", "value": 9.5},
                    {"kind": "loading", "detail": "weights", "value": 9.75},
                    {"kind": "fallback", "detail": "default-moe-config"},
                    {"kind": "loading", "detail": "graph-capture", "value": 12.0},
                    {"kind": "loaded", "detail": None},
                ],
                "server_config": _says(
                    "other_args=f12f7a7e, slots=256, data_parallel=1, eager=false, engine_core=v1, kv_dtype=auto, n_ctx_slot=32768, pipeline_parallel=1, "
                    "prefix_caching=true, quantisation=none, speculation=off, split=tensor, tensor_parallel=2, version=0.11.0, "
                    "attention=flash attention, weights_gib_per_rank=14.5, kv_gib_per_rank=5.25, kv_tokens=109984, kv_concurrency=3.36, "
                    "graph_capture=true"
                ),
                "models": [{"name": "Moe-30B", "quantisation": None}],
            },
        ),
        Sample(
            text=_SAMPLE_2026,
            versions="0.20 (2026)",
            rows={
                "server_samples": [
                    {"running": 31.0, "waiting": 108.0, "kv_usage": 0.985, "prefix_hit": 0.66, "preemptions": 3.0},
                    {"accept_len": 2.5},
                    {"step_ms": 10.25, "phase": "decode", "kv_usage": 0.985, "running": None, "new_tokens": 0.0},
                ],
                "server_events": [{"kind": "fallback", "detail": "eager"}],
                "server_config": _says(
                    "version=0.20.1rc1.dev3+gabc, data_parallel=1, draft_tokens=2, other_args=f90e558b, pipeline_parallel=1, slots=256..1024, "
                    "split=none, tensor_parallel=1, chunked_prefill=true, max_batched_tokens=4096, device_mem_gib=95, "
                    "gpu_mem_util=0.9, eager=true, "
                    "engine_core=v1, speculation=on"
                ),
            },
        ),
        Sample(
            text=_SAMPLE_QUOTED,
            versions="any: a prompt that quotes a log",
            rows={"server_samples": [], "server_config": [], "server_events": [{"kind": "arrival"}]},
        ),
    ),
)
