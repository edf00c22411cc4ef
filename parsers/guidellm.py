"""`benchmarks.json` and `benchmarks.yaml` of guidellm, versions 0.2 to 0.7.

**Reads** the report of `guidellm benchmark run` (`--output-path benchmarks.json`, later `--outputs json` or `yaml`), whole: one object that
holds every benchmark of the run and every request of each. The reports of 0.1 and the HTML form are not read; the CSV is read by
guidellm-csv, the console tables by guidellm-console.

**`bench_steps`**, one row per benchmark:

- `concurrency`: 1 for the strategy synchronous, `streams` (or, where missing, `max_concurrency`) for concurrent, `max_concurrency` for
  throughput; NULL for constant, poisson and other rates: their `rate` is `rate_rps`, and their `max_concurrency` only a cap.
- `mean_concurrency`: `request_concurrency`. `requests`, `completed`, `failed`: `request_totals` (those cancelled at the end are in none).
- `started_at`, `finished_at`, `wall_s`: the measuring window, without warm-up and cool-down (UTC).
- `aggregate_tok_s` (output): mean of `output_tokens_per_second` over all requests. `ttft_*`, `e2e_*`, lengths: successful requests
  of the window. `tpot_*`: its *inter token latency*, which is one mean per request without the first token; its own *time per output
  token* contains the first one and is not read. It has no distribution of gaps: `itl_*` is NULL.

**`requests`** (origin `client`, UTC): `sent_at` (`request_start`), `first_token_at` (first token iteration), `finished_at`
(`request_end`), `latency_s`, `ttft_s`, tokens, `status` (`incomplete` is cancelled), `concurrency` of its benchmark, `run` the number of
the benchmark. The file holds more requests than the totals: those of warm-up and cool-down too.

**Traps.** `queued` and `queued_time_avg` are guidellm's own prefetch, up to minutes before the request was sent: never a server queue, and
not read. A request has two events per token on some servers, so no count of iterations is used. Requests may be sampled or stripped.
A YAML report may be cut anywhere and still be YAML: a benchmark that lacks the keys which are written last gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, nested, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_note, send_rows
from ..engine.yaml_objects import yaml_object

__all__ = ["PARSER"]

# --- one benchmark ---------------------------------------------------------------------------------------------------------------------

_STATUS = {"successful": "ok", "errored": "failed", "incomplete": "cancelled"}


def _epoch(*values: Any) -> float | None:
    """The first of the values that is a time of this century in seconds."""
    return next((v for value in values if (v := num(value)) and 1e9 < v < 4.2e9), None)


def _load(benchmark: Json) -> tuple[float | None, float | None]:
    """(concurrency, requests per second) of the strategy."""
    strategy = (
        nested(benchmark, "config", "strategy") or nested(benchmark, "args", "strategy") or nested(benchmark, "scheduler", "strategy")
    )
    profile = nested(benchmark, "config", "profile")
    kind = next((k for held in (strategy, profile) for name in ("type_", "type", "kind") if isinstance(k := held.get(name), str)), None)
    streams, cap = pos(strategy.get("streams")), pos(strategy.get("max_concurrency"))
    if kind == "synchronous":
        return 1.0, None
    if kind in ("concurrent", "throughput"):
        return streams or cap, None
    return None, pos(strategy.get("rate")) or pos(strategy.get("initial_rate"))


def _mean(metrics: Json, name: str, stat: str = "mean", status: str = "successful", scale: float = 1.0) -> float | None:
    """A statistic of a distribution: over one status, with all as the second choice."""
    held = nested(metrics, name)
    found = nested(held, status) or nested(held, "successful") or nested(held, "total")
    return pos(nested(found, "percentiles").get(stat) if stat.startswith("p") else found.get(stat), scale)


def _step(benchmark: Json, line: int, step: int) -> Row:
    metrics = nested(benchmark, "metrics")
    totals = nested(metrics, "request_totals") or nested(benchmark, "request_totals")
    start, end = _epoch(benchmark.get("start_time")), _epoch(benchmark.get("end_time"))
    concurrency, rate = _load(benchmark)
    row: Row = {"line": line, "step": step, "concurrency": concurrency, "rate_rps": rate, "started_at": start, "finished_at": end}
    row["wall_s"] = pos(benchmark.get("duration")) or (end - start if start and end and end > start else None)
    row |= {c: num(totals.get(k)) for c, k in (("requests", "total"), ("completed", "successful"), ("failed", "errored"))}
    if row["completed"] == 0:
        return row
    row |= {
        "req_s": _mean(metrics, "requests_per_second"),
        "mean_concurrency": _mean(metrics, "request_concurrency", status="total"),
        "aggregate_tok_s": _mean(metrics, "output_tokens_per_second", status="total"),
        "input_len": _mean(metrics, "prompt_token_count"),
        "output_len": _mean(metrics, "output_token_count"),
        "e2e_mean_ms": _mean(metrics, "request_latency", scale=1e3),
        "e2e_p50_ms": _mean(metrics, "request_latency", "p50", scale=1e3) or _mean(metrics, "request_latency", "median", scale=1e3),
        "e2e_p99_ms": _mean(metrics, "request_latency", "p99", scale=1e3),
    }
    for kind, name, kept in (("ttft", "time_to_first_token_ms", ("p50", "p99")), ("tpot", "inter_token_latency_ms", ("p50",))):
        row[f"{kind}_mean_ms"] = _mean(metrics, name)
        row |= {f"{kind}_{stat}_ms": _mean(metrics, name, stat) for stat in kept}
        row[f"{kind}_p50_ms"] = row[f"{kind}_p50_ms"] or _mean(metrics, name, "median")
    row["aggregate_counts"] = "output" if row["aggregate_tok_s"] else None
    return row


def _request(one: Json, status: str, line: int, run: int, number: int, concurrency: float | None) -> Row:
    """The row of one request, of 0.2 (times beside the counts) or of 0.4 and later (under `info.timings`)."""
    times = nested(one, "info", "timings") or nested(one, "scheduler_info", "request_timings")
    sent = _epoch(times.get("request_start"), one.get("request_start_time"), one.get("start_time"))
    first = _epoch(times.get("first_token_iteration"), times.get("first_iteration"), one.get("first_token_time"))
    end = _epoch(times.get("request_end"), one.get("request_end_time"), one.get("end_time"))
    row: Row = {"line": line, "origin": "client", "run": run, "request": str(number), "concurrency": concurrency, "status": status}
    row |= {"sent_at": sent, "finished_at": end if end and sent and end >= sent else None, "resolution_s": 1e-6}
    if status != "ok":
        return row
    row["first_token_at"] = first if first and sent and first >= sent else None
    row["ttft_s"] = pos(one.get("time_to_first_token_ms"), 1e-3) or (row["first_token_at"] and pos(row["first_token_at"] - sent))
    row["latency_s"] = pos(one.get("request_latency")) or (row["finished_at"] and pos(row["finished_at"] - sent))
    row["prompt_tokens"] = pos(one.get("prompt_tokens")) or pos(nested(one, "input_metrics").get("total_tokens"))
    row["output_tokens"] = pos(one.get("output_tokens")) or pos(nested(one, "output_metrics").get("total_tokens"))
    return row


def _requests(benchmark: Json, row: Row, run: int) -> list[Row]:
    held = nested(benchmark, "requests")
    out: list[Row] = []
    for name, status in _STATUS.items():
        found = held.get(name)
        for one in found if isinstance(found, list) else []:
            if isinstance(one, dict):
                out.append(_request(one, status, row["line"], run, len(out), row["concurrency"]))
    return out


# --- the report ------------------------------------------------------------------------------------------------------------------------

_INNER = {"strategy", "scheduler_state", "run_stats", "request_loader", "request_totals", "scheduler_metrics"}
_LAST = ("start_time", "type_")  # YAML is written with sorted keys


def _yaml_keys(text: str) -> set[str]:
    """Names of keys in the first part of a report in YAML; none where the text is none."""
    first = text.lstrip("\ufeff\r\n -").split("\n", 1)[0].rstrip()
    if first not in ("args:", "benchmarks:", "config:", "metadata:"):
        return set()
    return set(re.findall(r"(?m)^[ -]*([a-z][a-z0-9_]*):(?: |\r?$)", text))


def _reports(lines: JsonLines) -> Iterator[tuple[int, int, Json | None]]:
    """The reports of a source with their first and last line; None for one that is cut or garbled."""
    if not _yaml_keys(lines.source.head().text):
        yield from json_objects(lines)
        return
    text = "".join(lines.blocks())
    whole = text if text.endswith("\n") else text[: text.rfind("\n") + 1]
    yield 1, max(lines.total + lines.open, 1), yaml_object(whole.lstrip("\ufeff").replace("\r\n", "\n"))


class Guidellm:
    """Reports of guidellm; see the module's page."""

    name = "guidellm"
    api = 1
    inlaid = ("benchmarks",)

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        keys = json_keys(head.text) or _yaml_keys(head.text)
        if "benchmarks" in keys and _INNER & keys:
            return Claim(92, "a report of guidellm")
        if "guidellm_version" in keys:
            return (
                Claim(92, "a report of guidellm")
                if "benchmarks" in keys
                else Refusal(50, "a guidellm report without `benchmarks` at its head")
            )
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps`, `requests` and one of `clocks`. A cut or garbled report is a near miss."""
        lines = JsonLines(source)
        in_yaml = bool(_yaml_keys(source.head().text))
        steps: list[Row] = []
        for first, last, doc in _reports(lines):
            if doc is None:
                lines.near(first, "a report that is cut or garbled")
                continue
            held = doc.get("benchmarks")
            found = [b for b in held if isinstance(b, dict) and isinstance(b.get("metrics"), dict)] if isinstance(held, list) else []
            if in_yaml and found and not all(key in found[-1] for key in _LAST):
                lines.near(first, "a report that is cut: its last benchmark is not whole")
                found.pop()
            if found:
                lines.add(first, last, "matched")
            for benchmark in found:
                steps.append(_step(benchmark, first, len(steps) + 1))
                send_rows(emit, "requests", _requests(benchmark, steps[-1], len(steps) - 1))
        if steps:
            send_rows(emit, "bench_steps", steps)
            send_rows(emit, "clocks", [{"line": steps[0]["line"], "kind": "utc", "resolution_s": 1e-6}])
            failed = [s["line"] for s in steps if s["completed"] == 0]
            if failed:
                send_note(emit, failed[0], "all-failed", len(failed), "No request of the benchmark succeeded: it has no measurements.")
        return lines.close()


SAMPLES: tuple[Sample, ...] = (
    Sample(
        '{"metadata": {"version": 1, "guidellm_version": "0.5.0"}, "args": {"profile": "concurrent"}, "benchmarks": [\n'
        ' {"config": {"strategy": {"type_": "concurrent", "streams": 4, "max_concurrency": 8}}, "scheduler_state": {}, "start_time":'
        ' 1772000010.0, "end_time": 1772000070.0, "duration": 60.0, "metrics": {"request_totals": {"successful": 30, "errored": 1,'
        ' "incomplete": 0, "total": 31}, "requests_per_second": {"successful": {"mean": 0.5}}, "request_concurrency": {"total": {"mean":'
        ' 3.9}}, "request_latency": {"successful": {"mean": 7.5, "percentiles": {"p50": 7.25, "p99": 9.5}}}, "time_to_first_token_ms":'
        ' {"successful": {"mean": 80.5, "median": 70.5, "percentiles": {"p50": 70.5, "p99": 200.5}}}, "time_per_output_token_ms":'
        ' {"successful": {"mean": 75.0}}, "inter_token_latency_ms": {"successful": {"mean": 74.5, "percentiles": {"p50": 74.25, "p99": '
        "99.5}}},"
        ' "output_tokens_per_second": {"successful": {"mean": 50.5}, "total": {"mean": 51.5}}, "prompt_token_count": {"successful": '
        '{"mean":'
        ' 64.0}}, "output_token_count": {"successful": {"mean": 100.0}}}, "requests": {"successful": [{"output": "x", "info": {"timings":'
        ' {"targeted_start": 1772000000.0, "queued": 1771999000.0, "request_start": 1772000012.25, "first_token_iteration": 1772000012.75,'
        ' "last_token_iteration": 1772000019.25, "request_iterations": 200, "request_end": 1772000019.75}}, "request_latency": 7.5,'
        ' "prompt_tokens": 64, "output_tokens": 100, "time_to_first_token_ms": 500.0}], "errored": [], "incomplete": [{"info": {"timings":'
        ' {"queued": 1771999000.0, "request_start": 1772000069.5, "request_end": null}, "error": "x"}, "request_latency": null,'
        ' "output_tokens": null}], "total": null}},\n'
        ' {"config": {"strategy": {"type_": "constant", "rate": 2.5, "max_concurrency": 512}}, "metrics": {"request_totals": '
        '{"successful": 0,'
        ' "errored": 9, "total": 9}, "time_to_first_token_ms": {"successful": {"mean": 0.0}}}, "requests": null}]}\n',
        {
            "bench_steps": [
                {
                    "line": 1,
                    "step": 1,
                    "concurrency": 4.0,
                    "rate_rps": None,
                    "mean_concurrency": 3.9,
                    "requests": 31.0,
                    "completed": 30.0,
                    "failed": 1.0,
                    "started_at": 1772000010.0,
                    "finished_at": 1772000070.0,
                    "wall_s": 60.0,
                    "req_s": 0.5,
                    "aggregate_tok_s": 51.5,
                    "aggregate_counts": "output",
                    "input_len": 64.0,
                    "output_len": 100.0,
                    "e2e_mean_ms": 7500.0,
                    "e2e_p99_ms": 9500.0,
                    "ttft_mean_ms": 80.5,
                    "ttft_p50_ms": 70.5,
                    "ttft_p99_ms": 200.5,
                    "tpot_mean_ms": 74.5,
                    "tpot_p50_ms": 74.25,
                    "itl_mean_ms": None,
                },
                {"line": 1, "step": 2, "concurrency": None, "rate_rps": 2.5, "completed": 0.0, "failed": 9.0, "ttft_mean_ms": None},
            ],
            "requests": [
                {
                    "run": 0,
                    "request": "0",
                    "concurrency": 4.0,
                    "sent_at": 1772000012.25,
                    "first_token_at": 1772000012.75,
                    "finished_at": 1772000019.75,
                    "queued_at": None,
                    "latency_s": 7.5,
                    "ttft_s": 0.5,
                    "prompt_tokens": 64.0,
                    "output_tokens": 100.0,
                    "status": "ok",
                },
                {"request": "1", "sent_at": 1772000069.5, "finished_at": None, "output_tokens": None, "status": "cancelled"},
            ],
            "clocks": [{"kind": "utc"}],
            "quality": [{"kind": "all-failed"}],
        },
        "0.4 to 0.7",
        name="benchmarks.json",
    ),
    Sample(
        '{"benchmarks": [{"type_": "generative_benchmark", "args": {"profile": {}, "strategy": {"type_": "synchronous"}}, "run_stats": '
        '{}, "metrics":'
        ' {"requests_per_second": {"successful": {"mean": 0.25}}, "request_latency": {"successful": {"mean": 4.0}}, '
        '"output_tokens_per_second":'
        ' {"total": {"mean": 25.0}}}, "request_totals": {"successful": 2, "errored": 0, "incomplete": 0, "total": 2}, "requests": '
        '{"successful":'
        ' [{"start_time": 1750000000.25, "end_time": 1750000004.25, "first_token_time": 1750000000.75, "last_token_time": 1750000004.0,'
        ' "prompt_tokens": 10, "output_tokens": 100, "request_latency": 4.0, "time_to_first_token_ms": 500.0}], "errored": [], '
        '"incomplete": []},'
        ' "start_time": 1750000000.0, "end_time": 1750000008.5}]}',
        {
            "bench_steps": [
                {"concurrency": 1.0, "completed": 2.0, "wall_s": 8.5, "aggregate_tok_s": 25.0, "e2e_mean_ms": 4000.0, "req_s": 0.25}
            ],
            "requests": [{"sent_at": 1750000000.25, "first_token_at": 1750000000.75, "finished_at": 1750000004.25, "output_tokens": 100.0}],
        },
        "0.2 and 0.3",
        name="benchmarks.json",
    ),
    Sample(
        """\
args:
  backend: openai_http
  data:
  - prompt_tokens=64,output_tokens=100
  profile: concurrent
benchmarks:
- config:
    profile:
      streams: &id001
      - 4
      type_: concurrent
    strategy:
      max_concurrency: 4
      streams: 4
      type_: concurrent
  duration: 60.0
  end_time: 1772000070.0
  metrics:
    output_tokens_per_second:
      successful:
        mean: 50.5
        percentiles:
          p50: 50.0
      total:
        mean: 51.5
    request_latency:
      successful:
        mean: 7.5
        percentiles:
          p99: 9.5
    request_totals:
      errored: 0
      incomplete: 1
      successful: 30
      total: 31
    time_to_first_token_ms:
      successful:
        mean: 80.5
        percentiles:
          p50: 70.5
          p99: 200.5
  requests:
    errored: []
    incomplete: []
    successful:
    - info:
        timings:
          request_end: 1772000019.75
          request_start: 1772000012.25
          first_token_iteration: 1772000012.75
      output: 'a text of several lines

        with: a key'
      output_tokens: 100
      prompt_tokens: 64
      request_latency: 7.5
  scheduler_state:
    node_id: 0
  start_time: 1772000010.0
  type_: generative_benchmark
""",
        {
            "bench_steps": [
                {
                    "line": 1,
                    "concurrency": 4.0,
                    "requests": 31.0,
                    "completed": 30.0,
                    "wall_s": 60.0,
                    "aggregate_tok_s": 51.5,
                    "e2e_mean_ms": 7500.0,
                    "e2e_p99_ms": 9500.0,
                    "ttft_mean_ms": 80.5,
                    "ttft_p50_ms": 70.5,
                }
            ],
            "requests": [
                {
                    "sent_at": 1772000012.25,
                    "first_token_at": 1772000012.75,
                    "finished_at": 1772000019.75,
                    "output_tokens": 100.0,
                    "ttft_s": 0.5,
                }
            ],
            "clocks": [{"kind": "utc"}],
        },
        "0.2 to 0.7, yaml",
        name="benchmarks.yaml",
    ),
)

PARSER = Guidellm()
