"""Result files of vLLM's serving benchmark: `vllm bench serve` and the older `benchmark_serving.py`.

**Reads** the JSON of `--save-result`, with `--save-detailed` or, before 2025-03, always with the arrays of every request; the one object
per line of `--append-result`; `summary.json` and `summary.csv` of `vllm bench sweep serve`; and the small files of `vllm bench
throughput --output-json` and `vllm bench latency --output-json`. Versions: 2023 to 2026, also with the misspelt key `request_goodput:`,
also re-indented or with sorted keys, and between the lines of other text. InferenceX's raw results are the
same with two epoch times. Not the `*.pytorch.json` beside them.

**`bench_steps`**, one row per run:

- `concurrency`: `max_concurrency`, at most `num_prompts`; NULL without a cap. Never `max_concurrent_requests`, which counts all that was
  alive at any moment of a second.
- `rate_rps`: `request_rate`; NULL for inf.
- `requests`, `completed`, `failed`, `wall_s`, `req_s`: `num_prompts`, `completed`, `failed`, `duration`, `request_throughput`.
- `aggregate_tok_s` (output), `input_tokens`, `output_tokens`: `output_throughput` and the totals; `input_len` and `output_len` are the
  totals over `completed`.
- `ttft_*`, `tpot_*`, `itl_*`, `e2e_*`: the mean, median and p99 keys; e2e only where it was asked for.
- `accept_len`: `spec_decode_acceptance_length`.
- `started_at`, `finished_at`: `benchmark_start_time_unix` and `_end_` (UTC), which only InferenceX writes; else `finished_at` is `date`,
  local time without zone, taken seconds after the last answer (the run itself ended before).
- `series`: the swept arguments of a sweep; `run 1`, `run 2` where a file holds several models or request lengths.

**`requests`**, one row per request of a detailed file (origin `client`): `ttft_s`, `latency_s` (`latencies`, else first token plus all
gaps), tokens, `itl_n`, `itl_under_2ms`. With `start_times` (2026-01 on) also `sent_at`, `first_token_at`, `finished_at`: these are
seconds of a monotonic clock (since-start), and the step's `started_at` and `finished_at` are then on that clock too. Without them
there is no timeline.

**Traps.** A run in which every request failed is written as zeros with `completed` 0: all its measures are NULL. Zeros of single
requests (`errors` not empty) are failures, never latencies. Under a finite request rate the cap is no offered load: `concurrency` is kept
only if mean latency times request rate shows that it was reached within 20 %, else `rate_rps` alone says what was offered. Values of
`--metadata` are strings and may shadow a key: a string is never read as a number. Latency stops at the last chunk with a token; time spent
waiting in the client for its own cap is in no column. The first request is often cold: with few prompts prefer medians.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, nested, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_note, send_rows

__all__ = ["PARSER"]

MAX_CHARS = 512 << 20  # characters of a summary.csv
REACHED = 0.8  # mean requests in flight over the cap, from which the cap counts as offered under a finite rate
SAME_LENGTHS = 1.2  # runs at one load whose mean lengths differ by more are different experiments
BURST_GAP_S = 0.002

# --- one run ---------------------------------------------------------------------------------------------------------------------------

_WORDS = (("mean", "mean"), ("p50", "median"), ("p99", "p99"))
_STATS = {
    **{f"{kind}_{stat}_ms": f"{word}_{kind}_ms" for kind in ("ttft", "itl") for stat, word in _WORDS},
    **{f"tpot_{stat}_ms": f"{word}_tpot_ms" for stat, word in _WORDS[:2]},
    **{f"e2e_{stat}_ms": f"{word}_e2el_ms" for stat, word in _WORDS},
}
_RESULT_KEYS = frozenset(
    [
        "date",
        "backend",
        "endpoint_type",
        "label",
        "model_id",
        "tokenizer_id",
        "best_of",
        "use_beam_search",
        "num_prompts",
        "request_rate",
        "burstiness",
        "max_concurrency",
        "duration",
        "completed",
        "failed",
        "total_input_tokens",
        "total_output_tokens",
        "total_input",
        "request_throughput",
        "request_inthroughput",
        "input_throughput",
        "request_goodput",
        "request_goodput:",
        "output_throughput",
        "total_token_throughput",
        "max_output_tokens_per_s",
        "max_concurrent_requests",
        "rtfx",
        "input_lens",
        "output_lens",
        "ttfts",
        "itls",
        "generated_texts",
        "errors",
        "start_times",
        "latencies",
        "queue_times",
        "rps_change_events",
        "ramp_up_strategy",
        "ramp_up_start_rps",
        "ramp_up_end_rps",
        "run_number",
        "run_index",
        "dataset_name",
        "dataset_path",
        "seed",
    ]
)
_RESULT_PREFIX = re.compile(r"^(mean|median|std|p\d+(\.\d+)?)_|^(spec_decode|diffusion|probe)_|_per_s(econd)?$|_ms$")


def _serving(doc: Json) -> Row:
    """The row of one serving run. Measures of a run without a single success are NULL."""
    completed = num(doc.get("completed"))
    prompts = pos(doc.get("num_prompts"))
    row: Row = {
        "requests": prompts,
        "completed": completed,
        "failed": num(doc.get("failed")),
        "wall_s": pos(doc.get("duration")),
        "rate_rps": pos(doc.get("request_rate")),
        "concurrency": _cap(doc, prompts),
    }
    if not completed:
        return row
    row |= {column: pos(doc.get(key)) for column, key in _STATS.items()}
    tokens_in, tokens_out = pos(doc.get("total_input_tokens")), pos(doc.get("total_output_tokens"))
    row |= {
        "req_s": pos(doc.get("request_throughput")),
        "input_tokens": tokens_in,
        "output_tokens": tokens_out,
        "input_len": tokens_in and tokens_in / completed,
        "output_len": tokens_out and tokens_out / completed,
        "aggregate_tok_s": tokens_out and pos(doc.get("output_throughput")),
        "total_tok_s": tokens_out and pos(doc.get("total_token_throughput")),
        "accept_len": pos(doc.get("spec_decode_acceptance_length")),
    }
    row["aggregate_counts"] = "output" if row["aggregate_tok_s"] else None
    return row


def _cap(doc: Json, prompts: float | None) -> float | None:
    """Streams the client offers at most; it cannot offer more than it has prompts."""
    cap = pos(doc.get("max_concurrency"))
    return min(cap, prompts) if cap and prompts else cap


def _reached(row: Row) -> bool | None:
    """Whether a finite rate filled the cap, by Little's law; None where the latency is unknown."""
    latency, rate = row.get("e2e_mean_ms"), row.get("req_s")
    if latency is None and row.get("ttft_mean_ms") and row.get("tpot_mean_ms") and row.get("output_len"):
        latency = row["ttft_mean_ms"] + row["tpot_mean_ms"] * (row["output_len"] - 1)
    return None if not latency or not rate else rate * latency / 1000 >= REACHED * row["concurrency"]


def _throughput(doc: Json) -> Row:
    """`vllm bench throughput`: its tokens are prompt and output together."""
    rate = pos(doc.get("tokens_per_second"))
    return {
        "requests": pos(doc.get("num_requests")),
        "wall_s": pos(doc.get("elapsed_time")),
        "req_s": pos(doc.get("requests_per_second")),
        "aggregate_tok_s": rate,
        "aggregate_counts": "total" if rate else None,
    }


def _latency(doc: Json) -> Row:
    """`vllm bench latency`: the time of one batch of a size the file does not hold."""
    shares = nested(doc, "percentiles")
    return {
        "e2e_mean_ms": pos(doc.get("avg_latency"), 1e3),
        "e2e_p50_ms": pos(shares.get("50"), 1e3),
        "e2e_p99_ms": pos(shares.get("99"), 1e3),
    }


def _kind(keys: set[str]) -> str | None:
    """Which result an object with these keys is."""
    if {"dataset_name", "sharegpt_output_len"} <= keys or {"random_input_len", "random_range_ratio"} <= keys:
        return None
    serving = {"completed", "duration"} <= keys and bool(keys & {"model_id", "tokenizer_id", "num_prompts"})
    if serving and keys & {"request_throughput", "output_throughput", "total_token_throughput", "total_input_tokens", "request_rate"}:
        return "serving"
    if {"elapsed_time", "num_requests", "requests_per_second", "tokens_per_second"} <= keys:
        return "throughput"
    return "latency" if {"avg_latency", "latencies", "percentiles"} <= keys else None


_ROW = {"serving": _serving, "throughput": _throughput, "latency": _latency}


def _date(value: Any) -> float | None:
    """`20260816-160853` read as if it were UTC."""
    if not isinstance(value, str) or not re.fullmatch(r"[12]\d{7}-\d{6}", value):
        return None
    try:
        return datetime.strptime(value, "%Y%m%d-%H%M%S").replace(tzinfo=timezone.utc).timestamp()  # noqa: UP017
    except ValueError:
        return None


def _epoch(value: Any) -> float | None:
    """Seconds since 1970, in this century."""
    number = num(value)
    return number if number and 1e9 < number < 4.2e9 else None


# --- requests of a detailed file -------------------------------------------------------------------------------------------------------


def _at(doc: Json, key: str, n: int) -> list[Any]:
    """An array of one value per request; NULLs where it is missing or has another length."""
    values = doc.get(key)
    return values if isinstance(values, list) and len(values) == n else [None] * n


def _requests(doc: Json, row: Row, line: int, run: int) -> list[Row]:
    """One row per request. Lengths of the arrays must agree with that of `ttfts`: an array that does not is left out."""
    ttfts = doc.get("ttfts")
    if not isinstance(ttfts, list):
        return []
    n = len(ttfts)
    arrays = (_at(doc, key, n) for key in ("itls", "errors", "input_lens", "output_lens", "start_times", "latencies"))
    out = []
    for i, (ttft, itls, error, n_in, n_out, start, latency) in enumerate(zip(ttfts, *arrays)):
        one: Row = {"line": line, "origin": "client", "run": run, "request": str(i), "concurrency": row["concurrency"]}
        one["sent_at"] = pos(start)
        first = pos(ttft)
        if error or not (first or itls or pos(n_out)):
            out.append(one | {"status": "failed"})
            continue
        gaps = _gaps(itls)
        one |= {"status": "ok", "prompt_tokens": pos(n_in), "output_tokens": pos(n_out), "ttft_s": first} | _arrivals(gaps, first)
        one["latency_s"] = pos(latency) or (first + sum(gaps) if first and gaps is not None else None)
        if one["sent_at"]:
            one["first_token_at"] = first and one["sent_at"] + first
            one["finished_at"] = one["latency_s"] and one["sent_at"] + one["latency_s"]
            one["resolution_s"] = 1e-6
        out.append(one)
    return out


def _gaps(itls: Any) -> list[float] | None:
    """Gaps between chunks in seconds, NULL if one of them is no time."""
    if not isinstance(itls, list) or not set(map(type, itls)) <= {int, float}:
        return None
    return itls if not itls or (min(itls) >= 0 and max(itls) < 1e6 and math.isfinite(sum(itls))) else None


def _arrivals(gaps: list[float] | None, first: float | None) -> Row:
    """Distinct arrivals (the first token and every gap above zero) and the share of gaps under 2 ms."""
    if gaps is None or not first:
        return {}
    return {
        "itl_n": 1.0 + sum(map((0.0).__lt__, gaps)),
        "itl_under_2ms": sum(map(BURST_GAP_S.__gt__, gaps)) / len(gaps) if gaps else None,
    }


# --- a file ----------------------------------------------------------------------------------------------------------------------------


def _argument(doc: Json) -> str:
    """`max_num_seqs=4` and the like: what a sweep set, told apart from results by name; only plain words and numbers."""
    if "run_number" not in doc:
        return ""
    parts = []
    for key, value in doc.items():
        plain = isinstance(value, (int, float)) or (isinstance(value, str) and re.fullmatch(r"[\w.+-]{1,24}", value))
        if key not in _RESULT_KEYS and not _RESULT_PREFIX.search(key) and plain and re.fullmatch(r"[A-Za-z][\w.-]{1,40}", key):
            parts.append(f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}")
    return " ".join(parts[:4])


def _name_series(rows: list[Row]) -> None:
    """Steps with their series. Several models, or several request lengths at one load, are several runs; repetitions are not."""
    models = list(dict.fromkeys(r["model"] for r in rows))
    for r in rows:
        if len(models) > 1:
            r["series"] = " ".join(filter(None, (f"run {models.index(r['model']) + 1}", r["argument"])))
        else:
            r["series"] = r["argument"] or None
    loads: dict[Any, list[Row]] = {}
    for r in rows:
        loads.setdefault((r["series"], r.get("concurrency"), r.get("rate_rps")), []).append(r)
    if any(_lengths_differ(same) for same in loads.values()):
        for same in loads.values():
            for k, r in enumerate(same, 1):
                r["series"] = " ".join(filter(None, (r["series"], f"run {k}")))
    steps: dict[Any, int] = {}
    for r in rows:
        r["step"] = steps[r["series"]] = steps.get(r["series"], 0) + 1


def _lengths_differ(rows: Sequence[Row]) -> bool:
    for column in ("input_len", "output_len"):
        values = [r[column] for r in rows if r.get(column)]
        if values and max(values) > SAME_LENGTHS * min(values):
            return True
    return False


class VllmBench:
    """Results of vLLM's benchmarks; see the module's page."""

    name = "vllm-bench"
    api = 1
    inlaid = ("request_throughput", "output_throughput", "requests_per_second", "avg_latency")

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        keys = json_keys(head.text) or _csv_keys(head.text)
        kind = _kind(keys)
        if kind:
            return Claim(90, f"a result of vllm bench ({kind})")
        if {"benchmark", "metric", "benchmark_values"} <= keys:
            return Refusal(40, "an export for the PyTorch benchmark database: give the result file beside it")
        if {"model_id", "tokenizer_id", "date"} <= keys:
            return Refusal(50, "a result of vllm bench without `completed` and `duration`")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps`, `requests`, `quality` and one of `clocks`. A cut or garbled object is a near miss."""
        lines, file = JsonLines(source), _File(emit)
        if json_keys(source.head().text):
            for first, last, doc in json_objects(lines):
                if doc is None:
                    lines.near(first, "a result that is cut or garbled")
                elif file.take(doc, first):
                    lines.add(first, last, "matched")
        else:
            _read_csv("".join(lines.blocks()), file, lines)
        file.finish()
        return lines.close()


def _csv_keys(text: str) -> set[str]:
    """Column names of a `summary.csv`."""
    line = text.lstrip().split("\n", 1)[0]
    return {c.strip().strip('"') for c in line.split(",")} if line.count(",") > 5 else set()


def _read_csv(text: str, file: _File, lines: JsonLines) -> None:
    """A `summary.csv`: numbers are what reads as one, the rest stays text. A short or unfinished row is a near miss."""
    rows = text[:MAX_CHARS].split("\n")
    header: list[str] = []
    for line, row in enumerate(rows, 1):
        cells = _cells(row)
        if not row.strip():
            continue
        if not header:
            header = cells if _kind(set(cells)) else []
            if not header:
                return
            lines.add(line, line, "matched")
        elif len(cells) != len(header) or line == len(rows):
            lines.near(line, "an unfinished last line" if line == len(rows) else f"{len(cells)} of {len(header)} cells")
        elif file.take({k: _cell(v) for k, v in zip(header, cells) if k}, line):
            lines.add(line, line, "matched")


def _cells(row: str) -> list[str]:
    try:
        return next(csv.reader([row]), [])
    except csv.Error:
        return []


def _cell(text: str) -> Any:
    if re.fullmatch(r"-?\d{1,15}", text):
        return int(text)
    try:
        return float(text) if re.fullmatch(r"-?\d+\.?\d*([eE][+-]?\d+)?", text) else text or None
    except ValueError:
        return text


class _File:
    """The runs of one source, in order, until their series can be named."""

    def __init__(self, emit: Emit) -> None:
        self.emit, self.clock = emit, ""
        self.rows: list[Row] = []
        self.notes: dict[str, list[int]] = {}

    def take(self, doc: Json, line: int) -> bool:
        """Take one object; False if it is no result."""
        kind = _kind(set(doc))
        if kind is None:
            return False
        row = _ROW[kind](doc)
        requests = _requests(doc, row, line, len(self.rows)) if kind == "serving" else []
        self._times(doc, row, requests, line)
        self._offered(row, requests, line)
        if kind == "serving" and row["completed"] == 0:
            self._say("all-failed", line)
        row |= {"line": line, "model": str(doc.get("model_id")), "argument": _argument(doc)}
        self.rows.append(row)
        if requests:
            send_rows(self.emit, "requests", requests)
        return True

    def _offered(self, row: Row, requests: list[Row], line: int) -> None:
        """Under a finite rate a cap that was not filled says nothing about the load."""
        if row.get("rate_rps") and row.get("concurrency") and not _reached(row):
            row["concurrency"] = None
            for r in requests:
                r["concurrency"] = None
            self._say("cap-not-reached", line)

    def _times(self, doc: Json, row: Row, requests: list[Row], line: int) -> None:
        """A source has one clock: that of the requests where they have times, else epoch times, else the local date. Later runs keep it."""
        starts = [r["sent_at"] for r in requests if r.get("sent_at")]
        date = _date(doc.get("date"))
        epochs = {c: _epoch(doc.get(f"benchmark_{k}_time_unix")) for c, k in (("started_at", "start"), ("finished_at", "end"))}
        kind = "since-start" if starts else "utc" if any(epochs.values()) else "local-no-zone" if date is not None else ""
        self.clock = self.clock or kind
        if kind != self.clock:
            for r in requests:
                r["sent_at"] = r["first_token_at"] = r["finished_at"] = r["resolution_s"] = None
        elif starts:
            ends = [r["finished_at"] for r in requests if r.get("finished_at")]
            row |= {"started_at": min(starts), "finished_at": max(ends) if ends else None}
        elif kind == "utc":
            row |= epochs
        elif date is not None:
            row["finished_at"] = date
            self._say("date-after-run", line)

    def _say(self, kind: str, line: int) -> None:
        self.notes.setdefault(kind, []).append(line)

    def finish(self) -> None:
        if not self.rows:
            return
        _name_series(self.rows)
        send_rows(self.emit, "bench_steps", [{k: v for k, v in r.items() if k not in ("model", "argument")} for r in self.rows])
        for kind, at in self.notes.items():
            send_note(self.emit, at[0], kind, len(at), _NOTES[kind])
        resolution = {"since-start": 1e-6, "utc": 1e-6, "local-no-zone": 1.0}.get(self.clock)
        send_rows(self.emit, "clocks", [{"line": self.rows[0]["line"], "kind": self.clock or "none", "resolution_s": resolution}])


_NOTES = {
    "all-failed": "Every request of the run failed: its zeros are no measurements.",
    "cap-not-reached": "A finite request rate did not (provably) fill the concurrency cap: the offered concurrency is unknown.",
    "date-after-run": "The time of the result is local, and was taken after the run and the evaluation of its answers.",
}

_PLAIN = (
    '{"date": "20260301-101530", "endpoint_type": "openai", "backend": "openai", "label": null, "model_id": "acme/tiny", "tokenizer_id":'
    ' "acme/tiny", "num_prompts": 40, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 4, "duration": 20.0, "completed": 40,'
    ' "failed": 0, "total_input_tokens": 4000, "total_output_tokens": 2000, "request_throughput": 2.0, "request_goodput": null,'
    ' "output_throughput": 100.0, "total_token_throughput": 300.0, "max_output_tokens_per_s": 150.0, "max_concurrent_requests": 9,'
    ' "rtfx": 0.0, "mean_ttft_ms": 80.5, "median_ttft_ms": 60.25, "std_ttft_ms": 9.0, "p99_ttft_ms": 310.5, "mean_tpot_ms": 20.5,'
    ' "median_tpot_ms": 20.25, "std_tpot_ms": 1.0, "p99_tpot_ms": 24.0, "mean_itl_ms": 20.75, "median_itl_ms": 19.5, "std_itl_ms": 3.0,'
    ' "p99_itl_ms": 44.5, "mean_e2el_ms": 1085.0, "median_e2el_ms": 1080.0, "std_e2el_ms": 5.0, "p99_e2el_ms": 1300.5}\n'
)
_DETAILED = (
    '{"date": "20260302-080000", "backend": "vllm", "model_id": "acme/tiny", "num_prompts": 3, "request_rate": "inf", "max_concurrency": 2,'
    ' "duration": 3.5, "completed": 2, "failed": 1, "total_input_tokens": 30, "total_output_tokens": 7, "request_throughput": 0.5,'
    ' "output_throughput": 2.0, "input_lens": [10, 20, 15], "output_lens": [4, 3, 0], "ttfts": [0.25, 0.5, 0.0], "itls": [[0.125, 0.001,'
    ' 0.125], [0.25, 0.25], []], "start_times": [5000.5, 5000.75, 5001.0], "generated_texts": ["a", "b", ""], "errors": ["", "",'
    ' "Traceback: no"], "mean_ttft_ms": 375.0, "median_ttft_ms": 375.0, "p99_ttft_ms": 497.5}\n'
)
SAMPLES: tuple[Sample, ...] = (
    Sample(
        _PLAIN,
        {
            "bench_steps": [
                {
                    "line": 1,
                    "series": None,
                    "step": 1,
                    "concurrency": 4.0,
                    "rate_rps": None,
                    "requests": 40.0,
                    "completed": 40.0,
                    "failed": 0.0,
                    "wall_s": 20.0,
                    "aggregate_tok_s": 100.0,
                    "aggregate_counts": "output",
                    "per_stream_tok_s": None,
                    "input_tokens": 4000.0,
                    "output_tokens": 2000.0,
                    "input_len": 100.0,
                    "output_len": 50.0,
                    "req_s": 2.0,
                    "ttft_mean_ms": 80.5,
                    "ttft_p50_ms": 60.25,
                    "ttft_p99_ms": 310.5,
                    "tpot_mean_ms": 20.5,
                    "tpot_p50_ms": 20.25,
                    "itl_mean_ms": 20.75,
                    "itl_p50_ms": 19.5,
                    "itl_p99_ms": 44.5,
                    "e2e_mean_ms": 1085.0,
                    "e2e_p50_ms": 1080.0,
                    "e2e_p99_ms": 1300.5,
                    "total_tok_s": 300.0,
                    "started_at": None,
                    "finished_at": 1772360130.0,
                },
            ],
            "requests": [],
            "clocks": [{"kind": "local-no-zone", "resolution_s": 1.0}],
            "quality": [{"kind": "date-after-run", "n": 1}],
        },
        "v0.25, a plain result",
        name="openai-infqps-concurrency4-tiny-20260301-101530.json",
    ),
    Sample(
        _DETAILED,
        {
            "bench_steps": [
                {"concurrency": 2.0, "completed": 2.0, "failed": 1.0, "ttft_mean_ms": 375.0, "started_at": 5000.5, "finished_at": 5001.75}
            ],
            "requests": [
                {
                    "origin": "client",
                    "run": 0,
                    "request": "0",
                    "concurrency": 2.0,
                    "sent_at": 5000.5,
                    "first_token_at": 5000.75,
                    "finished_at": 5001.001,
                    "latency_s": 0.501,
                    "ttft_s": 0.25,
                    "prompt_tokens": 10.0,
                    "output_tokens": 4.0,
                    "itl_n": 4.0,
                    "itl_under_2ms": 1 / 3,
                    "status": "ok",
                },
                {"request": "1", "sent_at": 5000.75, "finished_at": 5001.75, "output_tokens": 3.0, "itl_under_2ms": 0.0, "status": "ok"},
                {
                    "request": "2",
                    "sent_at": 5001.0,
                    "finished_at": None,
                    "latency_s": None,
                    "ttft_s": None,
                    "output_tokens": None,
                    "status": "failed",
                },
            ],
            "clocks": [{"kind": "since-start"}],
        },
        "2026 on, --save-detailed",
    ),
    Sample(
        '[\n  {"date": "20241101-090000", "backend": "vllm", "model_id": "m", "num_prompts": 8, "request_rate": 2.5,'
        '\n "request_goodput:": 1.0, "duration": 4.0, "completed": 0, "total_input_tokens": 0, "total_output_tokens": 0,'
        '\n "request_throughput": 0.0, "mean_ttft_ms": 0.0, "run_number": 0, "max_num_seqs": 4},\n'
        '  {"date": "20241101-090100", "backend": "vllm", "model_id": "m", "num_prompts": 8, "request_rate": 2.5, "max_concurrency": 64,\n'
        '   "duration": 4.0, "completed": 8, "total_input_tokens": 80, "total_output_tokens": 40, "request_throughput": 2.0,\n'
        '   "mean_ttft_ms": 50.0, "mean_tpot_ms": 10.0, "run_number": 0, "max_num_seqs": 8}\n]\n',
        {
            "bench_steps": [
                {
                    "line": 2,
                    "series": "max_num_seqs=4",
                    "rate_rps": 2.5,
                    "completed": 0.0,
                    "failed": None,
                    "output_tokens": None,
                    "ttft_mean_ms": None,
                    "req_s": None,
                },
                {
                    "line": 5,
                    "series": "max_num_seqs=8",
                    "concurrency": None,
                    "rate_rps": 2.5,
                    "completed": 8.0,
                    "input_len": 10.0,
                    "ttft_mean_ms": 50.0,
                },
            ],
            "quality": [{"kind": "date-after-run", "n": 2}, {"kind": "all-failed", "line": 2}, {"kind": "cap-not-reached", "line": 5}],
        },
        "a sweep's summary of a fork of 2024: misspelt goodput key, failures as zeros, a cap that a rate never fills",
    ),
    Sample(
        "date,model_id,num_prompts,request_rate,max_concurrency,duration,completed,failed,total_output_tokens,output_throughput,run_number,max_num_seqs\n"
        "20260301-101530,acme/tiny,8,inf,2,2.5,8,0,128,51.2,0,4\n20260301-101630,acme/tiny,8,inf,4,2.0,8,0,128,64.0,0,4\n20260301-101",
        {
            "bench_steps": [
                {"line": 2, "series": "max_num_seqs=4", "step": 1, "concurrency": 2.0, "aggregate_tok_s": 51.2, "output_len": 16.0},
                {"line": 3, "series": "max_num_seqs=4", "step": 2, "concurrency": 4.0, "wall_s": 2.0},
            ]
        },
        "summary.csv, cut in its last line",
        name="summary.csv",
    ),
    Sample(
        '{"elapsed_time": 12.5, "num_requests": 100, "total_num_tokens": 25000, "requests_per_second": 8.0, "tokens_per_second": 2000.0}',
        {
            "bench_steps": [
                {
                    "requests": 100.0,
                    "wall_s": 12.5,
                    "req_s": 8.0,
                    "aggregate_tok_s": 2000.0,
                    "aggregate_counts": "total",
                    "concurrency": None,
                }
            ]
        },
        "vllm bench throughput --output-json",
    ),
)

PARSER = VllmBench()
