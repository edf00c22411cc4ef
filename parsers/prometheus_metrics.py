r"""The `/metrics` page of llama.cpp, vLLM, SGLang, TGI, LMDeploy and TensorRT-LLM: one scrape, or many behind each other in one file.

How to get one: `curl -s localhost:8080/metrics > metrics-before.prom` before and after a run, or every few seconds during it:
`while true; do date +%s; curl -s localhost:8000/metrics; sleep 2; done > metrics.prom` (llama-server needs `--metrics`, SGLang
`--enable-metrics`). Names are matched, never help texts: those change with every build. Unknown names cost nothing.

Tables
- `server_samples`, one row per scrape and engine: running, waiting, kv_usage (0..1), and where the server exports such gauges gen_tok_s,
  prompt_tok_s (vLLM before 1.0; SGLang), prefix_hit, accept_len. Ranks of one engine count once; models beside each other are summed.
- `server_events` of kind `counter`: value of one counter of one engine at the scrape, detail is our name for it: prompt_tokens,
  cached_prompt_tokens, generated_tokens, prompt_seconds, generation_seconds, decode_calls, busy_slots_per_decode, requests_finished,
  preemptions, drafts, drafted_tokens, accepted_tokens, prefix_queries, prefix_hits, and sum and count of the histograms queue, ttft,
  itl, e2e, prefill, decode, inference as `queue_seconds` and `queue_count` and so on. Differences between two scrapes give means.
- `server_config`: kv_tokens, gpu_mem_util, prefix_caching (vLLM's cache info; SGLang's pool size).

An answer of the HTTP API of Prometheus to a query of these names (`curl .../api/v1/query_range?query={__name__=~"vllm:.*"}`) is read as one
scrape per time, where all series are of one instance and pod.

Times: a line of `date +%s`, `date -Is` or `date -u` before a scrape (also behind `#` or `=`, with up to three words before it), the millisecond stamp of the exposition format, else the time the file was
written (a scrape is over when its file is; only for files with one scrape). The clock is UTC.

Traps
- llama.cpp's `prompt_tokens_seconds` and `predicted_tokens_seconds` are reset by every scrape and are rates per busy slot, not of the
  server: left out. `n_busy_slots_per_decode` is a mean over the life of the process: two scrapes need
  (busy x calls) differenced. Its counters move at the end of a prompt or a request, and have six digits.
- `kv_cache_usage_perc` is a share, not per cent. `_created` twins are times.
- A counter that falls between two scrapes of a file means that the server started again: `run` grows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.prometheus_api import AsExposition, answered_series, as_exposition
from ..engine.tables import table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

Row = dict[str, Any]

_SERVERS = {"llamacpp": "llama.cpp", "vllm": "vllm", "sglang": "sglang", "tgi": "tgi", "trtllm": "tensorrt-llm", "lmdeploy": "lmdeploy"}
_GAUGES = {
    "llamacpp requests_processing": "running",
    "llamacpp requests_deferred": "waiting",
    "llamacpp kv_cache_usage_ratio": "kv_usage",
    "vllm num_requests_running": "running",
    "vllm num_requests_waiting": "waiting",
    "vllm kv_cache_usage_perc": "kv_usage",
    "vllm gpu_cache_usage_perc": "kv_usage",
    "vllm avg_prompt_throughput_toks_per_s": "prompt_tok_s",
    "vllm avg_generation_throughput_toks_per_s": "gen_tok_s",
    "vllm gpu_prefix_cache_hit_rate": "prefix_hit",
    "sglang num_running_reqs": "running",
    "sglang num_queue_reqs": "waiting",
    "sglang token_usage": "kv_usage",
    "sglang gen_throughput": "gen_tok_s",
    "sglang cache_hit_rate": "prefix_hit",
    "sglang spec_accept_length": "accept_len",
    "tgi batch_current_size": "running",
    "tgi queue_size": "waiting",
    "trtllm kv_cache_utilization": "kv_usage",
    "trtllm kv_cache_hit_rate": "prefix_hit",
    "lmdeploy num_requests_running": "running",
    "lmdeploy num_requests_waiting": "waiting",
    "lmdeploy gpu_cache_usage_perc": "kv_usage",
}
_COUNTERS = {
    "llamacpp prompt_tokens_total": "prompt_tokens",
    "llamacpp prompt_tokens_cached_total": "cached_prompt_tokens",
    "llamacpp tokens_predicted_total": "generated_tokens",
    "llamacpp prompt_seconds_total": "prompt_seconds",
    "llamacpp tokens_predicted_seconds_total": "generation_seconds",
    "llamacpp n_decode_total": "decode_calls",
    "llamacpp n_busy_slots_per_decode": "busy_slots_per_decode",
    "llamacpp spec_decode_num_drafts_total": "drafts",
    "llamacpp spec_decode_num_draft_tokens_total": "drafted_tokens",
    "llamacpp spec_decode_num_accepted_tokens_total": "accepted_tokens",
    "vllm prompt_tokens_total": "prompt_tokens",
    "vllm prompt_tokens_cached_total": "cached_prompt_tokens",
    "vllm generation_tokens_total": "generated_tokens",
    "vllm request_success_total": "requests_finished",
    "vllm num_preemptions_total": "preemptions",
    "vllm spec_decode_num_drafts_total": "drafts",
    "vllm spec_decode_num_draft_tokens_total": "drafted_tokens",
    "vllm spec_decode_num_accepted_tokens_total": "accepted_tokens",
    "vllm prefix_cache_queries_total": "prefix_queries",
    "vllm prefix_cache_hits_total": "prefix_hits",
    "vllm gpu_prefix_cache_queries_total": "prefix_queries",
    "vllm gpu_prefix_cache_hits_total": "prefix_hits",
    "sglang prompt_tokens_total": "prompt_tokens",
    "sglang cached_tokens_total": "cached_prompt_tokens",
    "sglang generation_tokens_total": "generated_tokens",
    "sglang num_requests_total": "requests_finished",
    "tgi request_success": "requests_finished",
    "tgi request_success_total": "requests_finished",
    "tgi request_generated_tokens_sum": "generated_tokens",
    "tgi request_input_length_sum": "prompt_tokens",
    "trtllm request_success_total": "requests_finished",
    "lmdeploy prompt_tokens_total": "prompt_tokens",
    "lmdeploy generation_tokens_total": "generated_tokens",
    "lmdeploy request_success_total": "requests_finished",
}
_HISTOGRAMS = {
    "vllm request_queue_time_seconds": "queue",
    "vllm time_to_first_token_seconds": "ttft",
    "vllm inter_token_latency_seconds": "itl",
    "vllm time_per_output_token_seconds": "itl",
    "vllm e2e_request_latency_seconds": "e2e",
    "vllm request_prefill_time_seconds": "prefill",
    "vllm request_decode_time_seconds": "decode",
    "vllm request_inference_time_seconds": "inference",
    "sglang queue_time_seconds": "queue",
    "sglang time_to_first_token_seconds": "ttft",
    "sglang inter_token_latency_seconds": "itl",
    "sglang e2e_request_latency_seconds": "e2e",
    "tgi request_queue_duration": "queue",
    "tgi request_inference_duration": "inference",
    "tgi request_duration": "e2e",
    **{
        f"{server} {name}": ours
        for server in ("trtllm", "lmdeploy")
        for name, ours in (
            ("request_queue_time_seconds", "queue"),
            ("time_to_first_token_seconds", "ttft"),
            ("e2e_request_latency_seconds", "e2e"),
            ("request_prefill_time_seconds", "prefill"),
            ("request_decode_time_seconds", "decode"),
            ("request_inference_time_seconds", "inference"),
        )
    },
}
_COUNTERS |= {f"{name}_sum": f"{ours}_seconds" for name, ours in _HISTOGRAMS.items()}
_COUNTERS |= {f"{name}_count": f"{ours}_count" for name, ours in _HISTOGRAMS.items()}
_CONFIG = ("vllm cache_config_info", "sglang max_total_num_tokens")
_KNOWN = {*_GAUGES, *_COUNTERS, *_CONFIG}
_ORDER = list(dict.fromkeys(_COUNTERS.values()))
_SHARES = ("kv_usage", "prefix_hit")

_NAME = rf"^({'|'.join(_SERVERS)})[:_](\w+)"
_LINE = rf"{_NAME}(?:\{{(.*)\}})?\s+(\S+)(?:\s+(\d{{13}}))?\s*$"
_CLAIM = re.compile(rf"(?m){_NAME}(?:\{{[^\n]*\}})?[ \t]+[-+\d.eEnNaAiIfF]+(?:[ \t]+\d{{13}})?[ \t]*$")
_ISO = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)"
_DATE = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:[AP]M )?(?:UTC|GMT) \d{4}"  # `date -u`
_STAMP = rf"^(?:[#=*-]+ ?(?:[A-Za-z][a-z]*:? +){{0,3}})?(\d{{10}}(?:\.\d+)?|{_ISO}|{_DATE})[\s#=*-]*$"
_FOREIGN = r"^(?:#|[a-zA-Z_:][\w:]*(?:\{.*\})?\s+[-+]?(?:\d|nan|inf|NaN|Inf))"
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_RANKS = ("tp_rank", "pp_rank", "moe_ep_rank", "attn_cp_rank", "moe_dp_rank", "pid")


@dataclass
class _Scrape:
    """One page: values by (server, engine, name), by what tells models and reasons apart."""

    line: int
    time: float | None = None
    values: dict[tuple[str, int | None, str], dict[str, tuple[float, int]]] = field(default_factory=dict)
    infos: list[tuple[str, int | None, int, dict[str, str]]] = field(default_factory=list)
    seen: set[tuple[str, str]] = field(default_factory=set)
    latest: tuple[str, str] = ("", "")

    def drop_latest(self) -> None:
        """Forget the name the page ends with: the page is cut, and more of its labels may have followed."""
        self.values = {key: parts for key, parts in self.values.items() if (key[0], key[2]) != self.latest}

    def total(self, key: tuple[str, int | None, str]) -> float:
        return sum(value for value, _ in self.values[key].values())

    def first_line(self, key: tuple[str, int | None, str]) -> int:
        return min(line for _, line in self.values[key].values())


def _labels(text: str | None) -> dict[str, str]:
    return dict(_LABEL.findall(text or ""))


def _engine(labels: dict[str, str]) -> int | None:
    for name in ("engine", "dp_rank"):
        if re.fullmatch(r"\d{1,4}", labels.get(name, "")):
            return int(labels[name])
    return None


def _when(text: str) -> float | None:
    """Seconds since 1970 of a line of `date +%s`, `date -Is` or `date -u`."""
    if text[0].isdigit() and text[4] != "-":
        return float(text)
    try:
        if text[0].isalpha():
            clock = "%I:%M:%S %p" if text[20:22] in ("AM", "PM") else "%H:%M:%S"
            return datetime.strptime(text[:-8] + text[-4:], f"%a %b %d {clock} %Y").replace(tzinfo=UTC).timestamp()
        return datetime.fromisoformat(text.replace(",", ".").replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


class _State:
    """The scrape that is being read, and the numbers of the last one."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.scrape: _Scrape | None = None
        self.stamp: float | None = None
        self.scrapes = 0
        self.run = 0
        self.last: dict[tuple[str, int | None, str], float] = {}
        self.timed = False
        self.rows: dict[str, list[Row]] = {"server_samples": [], "server_events": [], "server_config": []}
        self.told: set[tuple[str, int | None, str, str]] = set()

    def take(self, line: int, server: str, name: str, labels_text: str | None, number: str, ms: str | None) -> None:
        """One known line of a page."""
        if self.scrape is None or (f"{server} {name}", labels_text or "") in self.scrape.seen:
            self.close()
            self.scrape = _Scrape(line, self.stamp)
            self.stamp = None
        page, labels = self.scrape, _labels(labels_text)
        page.seen.add((f"{server} {name}", labels_text or ""))
        if ms is not None:
            page.time = int(ms) / 1000
        if f"{server} {name}" in _CONFIG[:1]:
            page.infos.append((server, _engine(labels), line, labels))
        value = float(number)
        if not math.isfinite(value) or value < 0 or labels.get("priority"):
            return
        rest = " ".join(f"{k}={v}" for k, v in sorted(labels.items()) if k not in (*_RANKS, "engine", "dp_rank"))
        page.latest = (server, name)
        place = page.values.setdefault((server, _engine(labels), name), {})
        place[rest] = max(place.get(rest, (value, line)), (value, line))

    def close(self) -> None:
        """Turn the page that is complete into rows."""
        page, self.scrape = self.scrape, None
        if page is None:
            return
        self.scrapes += 1
        self.timed |= page.time is not None
        now = {key: page.total(key) for key in page.values if f"{key[0]} {key[2]}" in _COUNTERS and key[2] != "n_busy_slots_per_decode"}
        if any(value < self.last.get(key, value) for key, value in now.items()):
            self.run += 1
        self.last = now
        self._samples(page)
        self._counters(page)
        self._config(page)

    def _samples(self, page: _Scrape) -> None:
        rows: dict[tuple[str, int | None], Row] = {}
        for key in page.values:
            column = _GAUGES.get(f"{key[0]} {key[2]}")
            if column is None:
                continue
            parts = [value for value, _ in page.values[key].values()]
            value = parts[0] if len(parts) == 1 else sum(parts) if column not in (*_SHARES, "accept_len") else None
            if value is None or (column in _SHARES and value > 1):
                continue
            row = rows.setdefault(key[:2], {"server": _SERVERS[key[0]], "engine": key[1], "run": self.run, "time": page.time})
            row["line"] = min(row.get("line", 1 << 60), page.first_line(key))
            row.setdefault(column, value)
        self.rows["server_samples"] += rows.values()

    def _counters(self, page: _Scrape) -> None:
        rows: dict[tuple[str, int | None, str], Row] = {}
        for key in page.values:
            ours = _COUNTERS.get(f"{key[0]} {key[2]}")
            if ours is not None and not (ours == "busy_slots_per_decode" and len(page.values[key]) > 1):
                row = {"line": page.first_line(key), "server": _SERVERS[key[0]], "engine": key[1], "run": self.run, "time": page.time}
                rows.setdefault((*key[:2], ours), {**row, "kind": "counter", "value": page.total(key), "detail": ours})
        order = {name: n for n, name in enumerate(_ORDER)}
        self.rows["server_events"] += sorted(rows.values(), key=lambda r: (r["server"], r["engine"] or 0, order[r["detail"]]))

    def _config(self, page: _Scrape) -> None:
        for server, engine, line, labels in page.infos:
            blocks, size = labels.get("num_gpu_blocks", ""), labels.get("block_size", "")
            if re.fullmatch(r"[1-9]\d{0,11}", labels.get("kv_cache_size_tokens", "")):
                self._setting(server, engine, line, "kv_tokens", labels["kv_cache_size_tokens"])
            elif blocks.isdecimal() and size.isdecimal() and len(blocks + size) < 16 and int(blocks) > 0:
                self._setting(server, engine, line, "kv_tokens", str(int(blocks) * int(size)))
            if re.fullmatch(r"0\.\d{1,6}|1(?:\.0)?", labels.get("gpu_memory_utilization", "")):
                self._setting(server, engine, line, "gpu_mem_util", labels["gpu_memory_utilization"])
            if labels.get("enable_prefix_caching") in ("True", "False"):
                self._setting(server, engine, line, "prefix_caching", labels["enable_prefix_caching"].lower())
        for key, parts in page.values.items():
            if f"{key[0]} {key[2]}" == _CONFIG[1] and len(parts) == 1 and page.total(key) > 0:
                self._setting(key[0], key[1], page.first_line(key), "kv_tokens", f"{page.total(key):.0f}")

    def _setting(self, server: str, engine: int | None, line: int, key: str, value: str) -> None:
        if (server, engine, key, value) in self.told:
            return
        self.told.add((server, engine, key, value))
        number = float(value) if value[0].isdigit() else None
        row = {"line": line, "server": _SERVERS[server], "engine": engine, "run": self.run, "key": key, "value": value, "num": number}
        self.rows["server_config"].append({**row, "origin": "logged"})


def _sorted_lines(block: str) -> tuple[pl.DataFrame, int]:
    """The lines of a block with their parts and what they look like, and how many of them are whole."""
    import polars as pl

    text = pl.Series("text", [block]).str.split("\n").explode()
    complete = len(text) - 1
    frame = pl.DataFrame({"text": text.head(complete) if block.endswith("\n") else text}).with_row_index("at")
    parts = pl.col("text").str.extract_groups(_LINE)
    frame = frame.with_columns(
        server=parts.struct.field("1"),
        name=parts.struct.field("2"),
        labels=parts.struct.field("3"),
        number=parts.struct.field("4"),
        ms=parts.struct.field("5"),
        head=pl.col("text").str.extract(_NAME + r"[{\s]", 2),
        stamp=pl.col("text").str.extract(_STAMP, 1),
        foreign=pl.col("text").str.contains(_FOREIGN) | (pl.col("text").str.strip_chars().str.len_bytes() == 0),
    )
    frame = frame.with_columns(
        known=pl.concat_str("server", pl.lit(" "), "name").is_in(sorted(_KNOWN)).fill_null(False),
        like=pl.concat_str(pl.col("text").str.extract(_NAME, 1), pl.lit(" "), "head").is_in(sorted(_KNOWN)).fill_null(False),
    )
    return frame, complete


def _read(block: str, first: int, state: _State) -> None:
    """Sort out the lines of a block; only known names and times are looked at one by one."""
    import polars as pl

    frame, complete = _sorted_lines(block)
    picked = frame.filter(pl.col("known") | pl.col("like") | pl.col("stamp").is_not_null())
    rest = frame.filter(~(pl.col("known") | pl.col("like") | pl.col("stamp").is_not_null()))
    state.counts.noise += int(rest["foreign"].sum())
    state.counts.other += int((~rest["foreign"]).sum())
    for at, server, name, labels, number, ms, stamp, known in picked.select(
        "at", "server", "name", "labels", "number", "ms", "stamp", "known"
    ).rows():
        line = first + at
        if at >= complete:
            state.counts.near(line, "the line is cut")
        elif stamp is not None:
            state.close()
            state.stamp = _when(stamp)
            state.counts.matched += 1
        elif not known or not _is_number(number):
            state.counts.near(line, "no number where one belongs")
        else:
            state.take(line, server, name, labels, number, ms)
            state.counts.matched += 1
    if not block.endswith("\n") and state.scrape is not None:
        cut = re.match(_NAME + r"[{\s]", block[block.rfind("\n") + 1 :])
        if cut is None or (cut[1], cut[2]) == state.scrape.latest:
            state.scrape.drop_latest()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _written(source: Readable) -> tuple[float, float, str] | None:
    """(last write, resolution, clock) where the collector trusts it."""
    if source.mtime is None or source.mtime_kind not in ("filesystem", "archive", "listing"):
        return None
    return source.mtime, source.mtime_resolution_s or 1.0, getattr(source, "mtime_clock", "utc")


def _clock(source: Readable, state: _State) -> Iterator[Row]:
    """The row of `clocks`; fills the times of a single scrape from the time of its file."""
    written = _written(source)
    line = min((r["line"] for rows in state.rows.values() for r in rows), default=1)
    if state.timed:
        yield {"line": line, "kind": "utc", "resolution_s": 1.0}
    elif state.scrapes == 1 and written is not None:
        for row in (*state.rows["server_samples"], *state.rows["server_events"]):
            row["time"] = written[0]
        yield {"line": line, "kind": written[2], "resolution_s": written[1], "method": "file time"}
    elif state.scrapes:
        yield {"line": line, "kind": "none"}


def _emit(emit: Emit, target: str, rows: list[Row]) -> None:
    import polars as pl

    if not rows:
        return
    types = {"DOUBLE": pl.Float64, "VARCHAR": pl.String, "INTEGER": pl.Int32, "BIGINT": pl.Int64, "BOOLEAN": pl.Boolean}
    used = {key for row in rows for key in row}
    schema = {c.name: types[c.type] for c in table(target).columns if c.name in used}
    emit(target, pl.DataFrame([{k: row.get(k) for k in schema} for row in rows], schema=schema))


_SAMPLES = (
    Sample(
        text="""# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 33065
llamacpp:tokens_predicted_total 7.77887e+06
llamacpp:n_decode_total 7831
llamacpp:n_busy_slots_per_decode 1.5
llamacpp:predicted_tokens_seconds 27.9427
llamacpp:kv_cache_usage_ratio 0.25
llamacpp:requests_processing 2
llamacpp:requests_deferred 1
""",
        rows={
            "server_samples": [{"server": "llama.cpp", "running": 2.0, "waiting": 1.0, "kv_usage": 0.25, "gen_tok_s": None, "time": None}],
            "server_events": [
                {"kind": "counter", "detail": "prompt_tokens", "value": 33065.0},
                {"detail": "generated_tokens", "value": 7778870.0},
                {"detail": "decode_calls", "value": 7831.0},
                {"detail": "busy_slots_per_decode", "value": 1.5},
            ],
            "clocks": [{"kind": "none"}],
        },
        versions="llama.cpp b2258 to 2026",
        name="metrics.prom",
    ),
    Sample(
        text="""1785050000
vllm:num_requests_running{engine="0",model_name="m"} 1.0
vllm:num_requests_waiting{engine="0",model_name="m"} 99.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.002
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 5.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 2.0
vllm:request_success_created{engine="0",finished_reason="stop",model_name="m"} 1.785e+09
vllm:request_queue_time_seconds_count{engine="0",model_name="m"} 7.0
vllm:request_queue_time_seconds_sum{engine="0",model_name="m"} 70.5
vllm:cache_config_info{block_size="16",enable_prefix_caching="True",engine="0",gpu_memory_utilization="0.9",num_gpu_blocks="1000"} 1.0
1785050002
vllm:num_requests_running{engine="0",model_name="m"} 1.0
vllm:num_requests_waiting{engine="0",model_name="m"} 98.0
""",
        rows={
            "server_samples": [
                {"time": 1785050000.0, "engine": 0, "running": 1.0, "waiting": 99.0, "kv_usage": 0.002, "run": 0},
                {"time": 1785050002.0, "waiting": 98.0, "kv_usage": None},
            ],
            "server_events": [
                {"detail": "requests_finished", "value": 7.0, "time": 1785050000.0},
                {"detail": "queue_seconds", "value": 70.5},
                {"detail": "queue_count", "value": 7.0},
            ],
            "server_config": [
                {"key": "kv_tokens", "num": 16000.0},
                {"key": "gpu_mem_util", "num": 0.9},
                {"key": "prefix_caching", "value": "true", "num": None},
            ],
            "clocks": [{"kind": "utc", "resolution_s": 1.0}],
        },
        versions="vLLM V1, two scrapes with date +%s",
    ),
    Sample(
        text="""sglang:num_running_reqs{model_name="m",tp_rank="0"} 162.0
sglang:num_running_reqs{model_name="m",tp_rank="1"} 162.0
sglang:num_queue_reqs{model_name="m",tp_rank="0"} 2826.0
sglang:token_usage{model_name="m",tp_rank="0"} 0.28
sglang:gen_throughput{model_name="m",tp_rank="0"} 86.5
sglang:max_total_num_tokens{model_name="m",tp_rank="0"} 450000.0
""",
        rows={
            "server_samples": [{"server": "sglang", "running": 162.0, "waiting": 2826.0, "kv_usage": 0.28, "gen_tok_s": 86.5}],
            "server_config": [{"key": "kv_tokens", "num": 450000.0}],
        },
        versions="SGLang 0.3 to 0.5",
    ),
    Sample(
        text="tgi_queue_size 4\ntgi_batch_current_size 8\ntgi_request_queue_duration_sum 12.5\ntgi_request_queue_duration_count 10\n",
        rows={
            "server_samples": [{"server": "tgi", "running": 8.0, "waiting": 4.0}],
            "server_events": [{"detail": "queue_seconds", "value": 12.5}, {"detail": "queue_count", "value": 10.0}],
        },
        versions="TGI 1 to 3",
    ),
    Sample(
        text="""# scrape at Sun Sep 13 12:26:40 UTC 2026
trtllm_request_success_total{engine_type="undefined",finished_reason="stop",model_name="m"} 12.0
trtllm_request_queue_time_seconds_sum{engine_type="undefined",model_name="m"} 6.5
trtllm_request_queue_time_seconds_count{engine_type="undefined",model_name="m"} 12.0
trtllm_kv_cache_utilization{engine_type="undefined",model_name="m"} 0.25
""",
        rows={
            "server_samples": [{"server": "tensorrt-llm", "time": 1789302400.0, "kv_usage": 0.25, "running": None}],
            "server_events": [
                {"detail": "requests_finished", "value": 12.0},
                {"detail": "queue_seconds", "value": 6.5},
                {"detail": "queue_count", "value": 12.0},
            ],
        },
        versions="TensorRT-LLM 1.1 and later",
    ),
)


class PrometheusMetrics:
    """`/metrics` of the servers named above."""

    name = "prometheus-metrics"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """Lines of the exposition format with names of these servers."""
        known = {
            name
            for name in answered_series(head)
            if name.replace(":", " ", 1).replace("_total", "") in _KNOWN or name.replace(":", " ", 1) in _KNOWN
        }
        if known:
            return Claim(95, f"an answer of Prometheus with {len(known)} known metrics", shares=True)
        found: set[str] = set()
        for match in _CLAIM.finditer(head.text):
            if f"{match[1]} {match[2]}" in _KNOWN:
                found.add(f"{match[1]} {match[2]}")
        if len(found) >= 2:
            server = _SERVERS[min(found).split(" ")[0]]
            return Claim(95, f"{len(found)} known metrics of {server}", shares=True)
        if found or re.search(r"(?m)^# (?:TYPE|HELP) (?:" + "|".join(_SERVERS) + r")[:_]", head.text):
            return Refusal(40, "a /metrics page without values of known names")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `server_samples`, `server_events`, `server_config` and one `clocks` row."""
        if isinstance(source, AsExposition) or (counts := as_exposition(source, emit, self.parse, one=("instance", "pod"))) is None:
            counts = self._parse(source, emit)
        return counts

    def _parse(self, source: Readable, emit: Emit) -> Counts:
        state = _State()
        for first, block in source.blocks():
            _read(block, first, state)
        state.close()
        clock = list(_clock(source, state))
        _emit(emit, "clocks", clock)
        for target, rows in state.rows.items():
            _emit(emit, target, rows)
        return state.counts


PARSER = PrometheusMetrics()
