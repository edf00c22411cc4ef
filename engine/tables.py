"""Every table and public view, declared once.

DDL, validation, documentation, `gpuverdict tables` and hiding all come from these declarations. Unknown is NULL, never 0.

Times in the schema `raw` are DOUBLE seconds on the clock of their source (see `clocks.kind`):

- `utc`            seconds since 1970-01-01 UTC
- `local-no-zone`  the printed wall clock read as if it were UTC
- `no-year`        the printed wall clock read as if it were UTC in 1972 (a leap year)
- `since-start`    seconds since the process started
- `counter`        sample number times the interval
- `none`           no time at all: `time` is NULL

The schema `main` has the same tables with `time` moved to one UTC axis where the clock is known.
"""

from __future__ import annotations

from dataclasses import dataclass

PRIVACY = ("public", "name", "path", "id")
CLOCK_KINDS = ("utc", "local-no-zone", "no-year", "since-start", "counter", "none")


@dataclass(frozen=True)
class Column:
    """One column: DuckDB type, unit, one sentence, privacy class (`public`, `name`, `path`, `id`)."""

    name: str
    type: str
    doc: str
    unit: str = ""
    privacy: str = "public"
    time: bool = False


@dataclass(frozen=True)
class Table:
    """A stored table. `source_id` and `line` lead every row back to a file and a line."""

    name: str
    doc: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    @property
    def times(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns if c.time)


@dataclass(frozen=True)
class View:
    """A public view; its SQL is `views/<name>.sql`. `stored` ones are written into the trace as tables (one row per scope: small).

    `needs` names tables and earlier views without whose rows this one has none, `only_if` is a SELECT of one truth value without which it has
    none: its SQL is then not run.
    """

    name: str
    doc: str
    stored: bool = True
    needs: tuple[str, ...] = ()
    only_if: str = ""


def _ref(*more: Column) -> tuple[Column, ...]:
    return (
        Column("source_id", "INTEGER", "The source the row was read from."),
        Column("line", "BIGINT", "The line of that source, counted from 1."),
        *more,
    )


def _time(name: str, doc: str) -> Column:
    return Column(name, "DOUBLE", doc, "s", time=True)


C = Column

TABLES: tuple[Table, ...] = (
    Table(
        "sources",
        "Everything that was opened: files, archive members, standard input.",
        (
            C("source_id", "INTEGER", "Number of the source in this analysis."),
            C("name", "VARCHAR", "Name relative to what was given, with private parts replaced.", privacy="path"),
            C("parent_id", "INTEGER", "The archive this member came from."),
            C("size_bytes", "BIGINT", "Size after decompression.", "B"),
            C("lines", "BIGINT", "Lines read."),
            C("mtime", "DOUBLE", "Last write.", "s since 1970 UTC"),
            C("mtime_kind", "VARCHAR", "filesystem, archive, listing or copied (then it says nothing)."),
            C("mtime_resolution_s", "DOUBLE", "Resolution of mtime.", "s"),
            C("host", "VARCHAR", "Host, where a file name, prefix or given fact says so.", privacy="name"),
            C("status", "VARCHAR", "read, unknown, empty, unreadable or skipped."),
            C("note", "VARCHAR", "Why it was not read, in our words."),
        ),
    ),
    Table(
        "source_parsers",
        "Which parsers read a source and how every line ended.",
        (
            C("source_id", "INTEGER", "The source."),
            C("parser", "VARCHAR", "Name of the parser."),
            C("matched", "BIGINT", "Lines understood.", "lines"),
            C("noise", "BIGINT", "Lines known to carry nothing.", "lines"),
            C("near_miss", "BIGINT", "Lines that look like a known one but lack a needed field: the sign of a drifted format.", "lines"),
            C("other", "BIGINT", "Lines of something else.", "lines"),
            C("n_rows", "BIGINT", "Rows that came out."),
        ),
    ),
    Table(
        "rejects",
        "Examples of near misses: where and why.",
        _ref(C("parser", "VARCHAR", "Name of the parser."), C("reason", "VARCHAR", "What was missing, in our words.")),
    ),
    Table(
        "quality",
        "What is odd about the input: contradictions, gaps, copied times, glitches.",
        _ref(
            C("kind", "VARCHAR", "Short name of the oddity."),
            C("n", "BIGINT", "How often."),
            C("note", "VARCHAR", "One sentence in our words."),
        ),
    ),
    Table(
        "clocks",
        "The clock of each source and how it was tied to UTC.",
        _ref(
            C("kind", "VARCHAR", "utc, local-no-zone, no-year, since-start, counter or none."),
            C("resolution_s", "DOUBLE", "Smallest step of the printed time.", "s"),
            C("offset_s", "DOUBLE", "UTC minus source clock; NULL while unknown.", "s"),
            C("uncertainty_s", "DOUBLE", "Half-width of the offset.", "s"),
            C("method", "VARCHAR", "How the offset was found."),
            C("interval_s", "DOUBLE", "Time between samples where it is known.", "s"),
            C("estimated", "BOOLEAN", "The offset is an estimate: good enough to fit, never to confirm."),
        ),
    ),
    Table(
        "gpus",
        "The cards, as a log or the user names them.",
        _ref(
            C("host", "VARCHAR", "Host.", privacy="name"),
            C("gpu", "INTEGER", "nvidia-smi index."),
            C("device", "VARCHAR", "Name the server uses, for example CUDA0."),
            C("name", "VARCHAR", "Product name."),
            C("uuid", "VARCHAR", "UUID.", privacy="id"),
            C("bus_id", "VARCHAR", "PCI bus id.", privacy="id"),
            C("memory_mib", "DOUBLE", "Total memory.", "MiB"),
            C("power_limit_w", "DOUBLE", "Enforced power limit.", "W"),
            C("driver", "VARCHAR", "Driver version."),
            C("mig", "BOOLEAN", "Multi-instance mode is on: utilisation is not reported."),
        ),
    ),
    Table(
        "gpu_samples",
        "One reading of one card.",
        _ref(
            C("host", "VARCHAR", "Host.", privacy="name"),
            C("gpu", "INTEGER", "nvidia-smi index, or position in the sample where no index is printed."),
            C("cycle", "BIGINT", "Number of the sampling round in the source; the rows of all cards of one round share it."),
            _time("time", "When it was read."),
            C("util_gpu", "DOUBLE", "Share of time with at least one kernel resident: an upper bound of work.", "%"),
            C("util_mem", "DOUBLE", "Share of time device memory was read or written.", "%"),
            C("power_w", "DOUBLE", "Board power.", "W"),
            C("power_limit_w", "DOUBLE", "Enforced limit.", "W"),
            C("sm_clock", "DOUBLE", "SM clock.", "MHz"),
            C("mem_clock", "DOUBLE", "Memory clock as nvidia-smi prints it.", "MHz"),
            C("temp", "DOUBLE", "Core temperature.", "C"),
            C("mem_temp", "DOUBLE", "Memory temperature.", "C"),
            C("mem_used", "DOUBLE", "Memory in use.", "MiB"),
            C("mem_total", "DOUBLE", "Memory of the card.", "MiB"),
            C("pcie_rx", "DOUBLE", "Into the card.", "MB/s"),
            C("pcie_tx", "DOUBLE", "Out of the card.", "MB/s"),
            C("pcie_probe_s", "DOUBLE", "Length of one PCIe probe: 0.02 s for nvidia-smi, the interval for DCGM and GPM.", "s"),
            C(
                "pcie_averaged",
                "BOOLEAN",
                "The PCIe rates are averages over the whole interval (DCGM, GPM), not probes; true even where the interval is unknown.",
            ),
            C("pcie_gen", "DOUBLE", "Link generation now."),
            C("pcie_width", "DOUBLE", "Link width now.", "lanes"),
            C("pcie_gen_max", "DOUBLE", "Link generation possible."),
            C("pcie_width_max", "DOUBLE", "Link width possible.", "lanes"),
            C("event_reasons", "BIGINT", "Clock event (throttle) reasons bit mask."),
            C("pviol", "DOUBLE", "Time limited by the power policy.", "%"),
            C("tviol", "DOUBLE", "Limited by the thermal policy: 0 or 1."),
            C("sm_active", "DOUBLE", "Share of SM cycles with a warp resident.", "0..1"),
            C("sm_occupancy", "DOUBLE", "Resident warps over the maximum.", "0..1"),
            C("tensor_active", "DOUBLE", "Tensor pipe active.", "0..1"),
            C("dram_active", "DOUBLE", "Device memory interface active.", "0..1"),
            C("nvlink_rx", "DOUBLE", "NVLink into the card.", "MB/s"),
            C("nvlink_tx", "DOUBLE", "NVLink out of the card.", "MB/s"),
            C("enc", "DOUBLE", "Encoder utilisation.", "%"),
            C("dec", "DOUBLE", "Decoder utilisation.", "%"),
            C("window_s", "DOUBLE", "Averaging window of util_gpu where the instrument has its own.", "s"),
        ),
    ),
    Table(
        "gpu_links",
        "How cards are connected.",
        _ref(
            C("host", "VARCHAR", "Host.", privacy="name"),
            C("gpu", "INTEGER", "From."),
            C("peer", "INTEGER", "To; NULL for the host."),
            C("kind", "VARCHAR", "NV4, PIX, PHB, SYS and so on, or pcie."),
            C("gb_s", "DOUBLE", "Speed in one direction where it is printed.", "GB/s"),
            C("active", "BOOLEAN", "The link is up."),
        ),
    ),
    Table(
        "gpu_processes",
        "Processes on a card.",
        _ref(
            C("host", "VARCHAR", "Host.", privacy="name"),
            C("gpu", "INTEGER", "Card."),
            C("cycle", "BIGINT", "Sampling round."),
            _time("time", "When."),
            C("pid", "BIGINT", "Process id."),
            C("kind", "VARCHAR", "C, G, C+G, M."),
            C("name", "VARCHAR", "Process name.", privacy="name"),
            C("util_gpu", "DOUBLE", "Share of time with its kernels.", "%"),
            C("mem_used", "DOUBLE", "Memory.", "MiB"),
        ),
    ),
    Table(
        "server_config",
        "Settings of a server and where they come from.",
        _ref(
            C("server", "VARCHAR", "llama.cpp, ollama, vllm, sglang, tgi and so on."),
            C("engine", "INTEGER", "Data-parallel engine."),
            C("run", "INTEGER", "Server run inside the source, from 0."),
            C("key", "VARCHAR", "slots, split, build, n_ctx, layers_offloaded and so on (see the parser's page)."),
            C("value", "VARCHAR", "The value as text."),
            C("num", "DOUBLE", "The value as a number where it is one."),
            C("num_hi", "DOUBLE", "Upper end where the value is an interval."),
            C("origin", "VARCHAR", "logged, default (of that build), given or estimated."),
        ),
    ),
    Table(
        "server_samples",
        "Periodic statistics of a server.",
        _ref(
            C("server", "VARCHAR", "Server family."),
            C("engine", "INTEGER", "Data-parallel engine."),
            C("rank", "VARCHAR", "Rank that printed it."),
            C("run", "INTEGER", "Server run inside the source."),
            C("phase", "VARCHAR", "decode, prefill or mixed where the line says so."),
            _time("time", "When."),
            C("running", "DOUBLE", "Requests in service.", "requests"),
            C("waiting", "DOUBLE", "Requests waiting.", "requests"),
            C("kv_usage", "DOUBLE", "Share of the KV cache in use.", "0..1"),
            C("prompt_tok_s", "DOUBLE", "Prompt tokens per second.", "tok/s"),
            C("gen_tok_s", "DOUBLE", "Generated tokens per second, all streams.", "tok/s"),
            C("accept_len", "DOUBLE", "Tokens per speculative step.", "tokens"),
            C("cached_tokens", "DOUBLE", "Prompt tokens served from the prefix cache in this line.", "tokens"),
            C("new_tokens", "DOUBLE", "Prompt tokens computed in this line.", "tokens"),
            C("prefix_hit", "DOUBLE", "Prefix cache hit rate.", "0..1"),
            C("preemptions", "DOUBLE", "Preemptions or retractions in this interval.", "events"),
            C("cuda_graph", "BOOLEAN", "The step ran as a CUDA graph."),
            C("step_ms", "DOUBLE", "Step time where the line gives it.", "ms"),
        ),
    ),
    Table(
        "server_events",
        "Things a server says once: arrivals, loading, preemption, fallbacks, restarts.",
        _ref(
            C("server", "VARCHAR", "Server family."),
            C("engine", "INTEGER", "Data-parallel engine."),
            C("run", "INTEGER", "Server run inside the source."),
            _time("time", "When."),
            C("kind", "VARCHAR", "arrival, defer, idle, loading, loaded, preempt, retract, fallback, restart, error, cancel and so on."),
            C("value", "DOUBLE", "A number that belongs to it."),
            C("detail", "VARCHAR", "A word of ours, never text from the log."),
        ),
    ),
    Table(
        "requests",
        "One request, as a server, a client or a saved response tells it.",
        _ref(
            C("origin", "VARCHAR", "server, client or file."),
            C("server", "VARCHAR", "Server family."),
            C("engine", "INTEGER", "Data-parallel engine."),
            C("run", "INTEGER", "Server run inside the source."),
            C("request", "VARCHAR", "Number or file of the request inside its source.", privacy="id"),
            C("slot", "INTEGER", "Slot that served it."),
            C("concurrency", "DOUBLE", "Streams offered, where the row's own source says so."),
            _time("sent_at", "Client sent it."),
            _time("queued_at", "Server received it."),
            _time("started_at", "Server began to work on it."),
            _time("first_token_at", "First token."),
            _time("finished_at", "Last token or response written."),
            C("resolution_s", "DOUBLE", "Resolution of these times.", "s"),
            C("prompt_tokens", "DOUBLE", "Prompt tokens computed.", "tokens"),
            C("cached_tokens", "DOUBLE", "Prompt tokens taken from a cache.", "tokens"),
            C("output_tokens", "DOUBLE", "Tokens generated.", "tokens"),
            C("drafted_tokens", "DOUBLE", "Tokens drafted.", "tokens"),
            C("accepted_tokens", "DOUBLE", "Drafted tokens accepted.", "tokens"),
            C("prompt_ms", "DOUBLE", "From start to first token, by the server.", "ms"),
            C("decode_ms", "DOUBLE", "From first to last token, by the server.", "ms"),
            C("decode_steps", "DOUBLE", "Tokens after the first where the printed rate leaves the first one out.", "tokens"),
            C("queue_ms", "DOUBLE", "Waited in the server before service, by the server.", "ms"),
            C("latency_s", "DOUBLE", "From sending to the end, by the client.", "s"),
            C("ttft_s", "DOUBLE", "From sending to the first token, by the client.", "s"),
            C("itl_n", "DOUBLE", "Distinct token arrivals the client saw."),
            C("itl_under_2ms", "DOUBLE", "Share of gaps between arrivals under 2 ms.", "0..1"),
            C("status", "VARCHAR", "ok, failed or cancelled."),
        ),
    ),
    Table(
        "bench_steps",
        "One row of a sweep or one result of a benchmark.",
        _ref(
            C("series", "VARCHAR", "Which table or configuration, where there are several.", privacy="name"),
            C("step", "INTEGER", "Row number inside the series."),
            C("concurrency", "DOUBLE", "Streams offered.", "streams"),
            C("rate_rps", "DOUBLE", "Requests offered per second (a rate sweep has no concurrency).", "req/s"),
            C("requests", "DOUBLE", "Requests sent.", "requests"),
            C("completed", "DOUBLE", "Requests that succeeded.", "requests"),
            C("failed", "DOUBLE", "Requests that failed.", "requests"),
            _time("started_at", "Start of the run."),
            _time("finished_at", "End of the run."),
            C("wall_s", "DOUBLE", "Wall time.", "s"),
            C("aggregate_tok_s", "DOUBLE", "Tokens per second of all streams.", "tok/s"),
            C("aggregate_counts", "VARCHAR", "output, total or NULL where nothing says."),
            C(
                "total_tok_s",
                "DOUBLE",
                "Prompt and output tokens per second of all streams, where a total is printed beside the output.",
                "tok/s",
            ),
            C("per_stream_tok_s", "DOUBLE", "Tokens per second of one stream.", "tok/s"),
            C("per_stream_counts", "VARCHAR", "decode, latency, derived (aggregate divided by streams) or NULL where nothing says."),
            C("input_tokens", "DOUBLE", "Prompt tokens of the whole step.", "tokens"),
            C("output_tokens", "DOUBLE", "Generated tokens of the whole step.", "tokens"),
            C("input_len", "DOUBLE", "Prompt tokens of one request.", "tokens"),
            C("output_len", "DOUBLE", "Generated tokens of one request.", "tokens"),
            C("req_s", "DOUBLE", "Requests finished per second.", "req/s"),
            C("mean_concurrency", "DOUBLE", "Mean requests in flight, by the tool.", "requests"),
            C("ttft_mean_ms", "DOUBLE", "Mean time to first token.", "ms"),
            C("ttft_p50_ms", "DOUBLE", "Median time to first token.", "ms"),
            C("ttft_p99_ms", "DOUBLE", "99th percentile.", "ms"),
            C("tpot_mean_ms", "DOUBLE", "Mean time per output token after the first.", "ms"),
            C("tpot_p50_ms", "DOUBLE", "Median time per output token after the first.", "ms"),
            C("itl_mean_ms", "DOUBLE", "Mean gap between arrivals.", "ms"),
            C("itl_p50_ms", "DOUBLE", "Median gap between arrivals.", "ms"),
            C("itl_p99_ms", "DOUBLE", "99th percentile of the gaps.", "ms"),
            C("e2e_mean_ms", "DOUBLE", "Mean latency.", "ms"),
            C("e2e_p50_ms", "DOUBLE", "Median latency.", "ms"),
            C("e2e_p99_ms", "DOUBLE", "99th percentile of latency.", "ms"),
            C("accept_len", "DOUBLE", "Tokens per speculative step.", "tokens"),
        ),
    ),
    Table(
        "models",
        "What is known of the model that ran.",
        _ref(
            C("name", "VARCHAR", "Name; kept only where the public catalogue has it.", privacy="name"),
            C("arch", "VARCHAR", "Architecture word."),
            C("run", "INTEGER", "Server run inside the source."),
            C("section", "INTEGER", "0 for the model, 1.. for draft or projector."),
            C("params_total_b", "DOUBLE", "All parameters.", "1e9"),
            C("params_active_b", "DOUBLE", "Parameters used per token.", "1e9"),
            C("file_bytes", "DOUBLE", "Size of the weights.", "B"),
            C("bits_per_weight", "DOUBLE", "Average over the file.", "bit"),
            C("layers", "DOUBLE", "Transformer layers."),
            C("hidden", "DOUBLE", "Width of the residual stream."),
            C("kv_heads", "DOUBLE", "KV heads."),
            C("head_dim", "DOUBLE", "Head dimension."),
            C("experts", "DOUBLE", "Experts per layer."),
            C("experts_per_token", "DOUBLE", "Experts per token."),
            C("vocab", "DOUBLE", "Tokens of the vocabulary: rows of the token embedding."),
            C("tied_embedding", "BOOLEAN", "The token embedding is the output head as well."),
            C("kv_bytes_per_token", "DOUBLE", "KV cache per token, all layers.", "B"),
            C("quantisation", "VARCHAR", "Name of the format."),
        ),
    ),
    Table(
        "kernels",
        "Kernel intervals of a profiler trace.",
        _ref(
            C("gpu", "INTEGER", "Device."),
            C("stream", "BIGINT", "Stream."),
            C("process", "BIGINT", "Process."),
            C("kind", "VARCHAR", "kernel, graph, memcpy, memset, collective."),
            _time("started_at", "Start."),
            _time("finished_at", "End."),
        ),
    ),
    Table(
        "given",
        "Facts the user states; they lose against a log.",
        _ref(
            C("key", "VARCHAR", "Name of the fact."),
            C("value", "VARCHAR", "As text.", privacy="name"),
            C("num", "DOUBLE", "As a number."),
        ),
    ),
)

BY_NAME = {t.name: t for t in TABLES}


def table(name: str) -> Table:
    """The declaration of a table; an unknown name says which ones exist."""
    try:
        return BY_NAME[name]
    except KeyError:
        raise KeyError(f"no table {name!r}; tables are {', '.join(BY_NAME)}") from None


def ddl(schema: str, declared: Table) -> str:
    """CREATE TABLE for one declared table."""
    columns = ", ".join(f"{c.name} {c.type}" for c in declared.columns)
    return f"CREATE TABLE {schema}.{declared.name} ({columns})"


VIEWS: tuple[View, ...] = (
    View("bench_series", "Steps of sweeps with the series they belong to.", needs=("bench_steps",)),
    View("in_flight", "How many requests are in flight, piecewise, per source that tells it."),
    View("load_windows", "Stretches of time with at least one request in flight."),
    View("step_names", "Sources whose folder or file name says which step of a sweep they are from.", needs=("named_steps",)),
    View("server_logs", "Sources in which a server tells of its load, and whether they show its start."),
    View("host_windows", "Stretches of load of each machine, where several have a server of their own."),
    View("gpu_catalog_match", "Cards of the catalogue that the files name."),
    View("strange_cards", "Recordings of other cards than those that a server of these files runs on.", needs=("gpu_samples", "gpus")),
    View("load_unknown", "Stretches of time in which nothing says whether requests ran."),
    View("unplaceable", "GPU recordings that cannot be compared with the load in time.", needs=("gpu_samples",)),
    View("loads", "Loading and compiling as a server tells it.", needs=("server_events",)),
    View("phases", "What the server did when: loading, prefill, decode, mixed, idle."),
    View("scopes", "What a finding is about: sweep steps, regimes of load, and the trace for what neither holds."),
    View("requests_in_scope", "Server requests per scope and how they got there.", needs=("requests",)),
    View("scope_windows", "The stretches of time of each scope."),
    View("samples_in_load", "GPU samples that count as during a scope, and how they got there.", needs=("gpu_samples",)),
    View("samples_outside_load", "GPU samples safely outside every load window: the idle baseline.", needs=("gpu_samples",)),
    View("processes_in_scope", "Compute processes on cards per scope, and whether they are surely of its load.", needs=("gpu_processes",)),
    View("idle_power", "Power of a card with the server up and nothing to do."),
    View("client_requests_in_scope", "Requests as a client or saved responses tell them, per scope.", needs=("requests",)),
    View("server_in_scope", "Server statistics per scope.", needs=("server_samples",)),
    View("scope_servers", "Which server runs speak of a scope, and how they are tied to it."),
    View(
        "counter_means",
        "Waiting and service of a request in the mean, by the counters of a server between two scrapes.",
        needs=("server_events",),
    ),
    View("server_settings", "Settings of servers, with what other files say about them.", needs=("server_config",)),
    View("server_limits", "How many requests each server run takes at once by its own log."),
    View(
        "strange_servers", "Server runs that nothing ties to the steps of a series, and what speaks against them.", needs=("bench_series",)
    ),
    View("config_in_scope", "One value per setting and scope, with its origin."),
    View("model_devices", "How many cards the model runs on, as far as a log or the user tells."),
    View("serving_cards", "The cards of a recording that may serve, and how many are missing or too many.", needs=("samples_in_load",)),
    View("hardware_counters", "Hardware counters of the cards that may serve, per scope.", needs=("serving_cards",)),
    View("util_sums", "Utilisation summed over the serving cards, per sampling round.", needs=("samples_in_load",)),
    View("decode_sums", "The sampling rounds that speak about decode.", stored=False),
    View("idle_stretches", "Sampling rounds in a row in which all serving cards together read next to nothing.", needs=("util_sums",)),
    View("asked", "The share of time in which somebody asks, where samples are not placed by a clock.", needs=("samples_in_load",)),
    View("serial_idle", "The share of time in which no card of a serial split works, at most.", needs=("util_sums",)),
    View("servers", "The server family of each scope, where there is just one."),
    View("steps", "Totals, per-stream rate, effective concurrency and slopes of every step.", needs=("bench_series",)),
    View("slots", "How many requests the server runs at once, per scope."),
    View("pace", "Batch, steps per second and tokens per second of decode, as intervals."),
    View("computed_tokens", "Tokens that the cards compute per second, prompts included where they are told."),
    View("scope_sources", "Files that something ties to what ran in a scope."),
    View("scope_cards", "Cards of the catalogue per scope, and whether a file tied to it names them.", needs=("gpu_catalog_match",)),
    View("model_sources", "Which files' word on the model counts in a scope."),
    View("model_facts", "What is known of the model of each scope, logged before given before catalogue."),
    View("model_cards", "On how many cards one copy of the model runs, and how many copies there are."),
    View("card_bandwidth", "Memory bandwidth of one card, by the clock under load where it is logged."),
    View("roofs", "Bytes of one pass and the bandwidth that serves it, as intervals."),
    View(
        "longest_idle",
        "The longest stretch in which the cards of a scope do nothing, and what else is known of it.",
        needs=("idle_stretches",),
    ),
    View("step_bytes", "Bytes that one decode step moves, as an interval."),
    View("link_load", "What the link between the cards has to carry, and over what."),
    View("budget", "The time of one decode step and what could fill it, as intervals."),
    View(
        "server_differences",
        "Pairs of server runs and the settings in which they differ.",
        only_if="SELECT count(DISTINCT (source_id, coalesce(run, 0))) > 1 FROM main.server_config",
    ),
    View(
        "series_pairs",
        "Pairs of series at the same streams, how much they differ, and what chance gives.",
        only_if="SELECT count(DISTINCT series_key) > 1 FROM main.bench_series",
    ),
    View("ab_pairs", "Runs that differ in one recorded thing: which, by how much, and how sure.", needs=("series_pairs",)),
    View(
        "clock_elasticity",
        "How far a rate follows the SM clock and the memory clock, over runs that differ in nothing else.",
        needs=("ab_pairs",),
    ),
    View("held_clocks", "Working samples with the flags of power and heat that count.", stored=False),
    View(
        "throttle_arms",
        "The server's rate with and without flags of power or heat, at the same load.",
        needs=("samples_in_load", "server_in_scope"),
    ),
    View("kernel_pieces", "Stretches of time in which the kernel intervals of a profiler speak about a scope.", needs=("kernels",)),
    View("kernels_in_scope", "Kernel intervals per scope, and how they got there.", stored=False),
    View("kernel_facts", "What kernel intervals say per scope: overlap between cards, gaps, collectives.", needs=("kernels",)),
    View("scope_evidence", "The grade of every input in every scope."),
    View("symptoms", "What people see and ask about, per scope."),
    View("slot_gain", "What removing the slot limit could gain, extrapolated from the steps below it.", needs=("steps",)),
)
