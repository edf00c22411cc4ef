"""Results of Hugging Face's inference-benchmarker: `results/<tokenizer>_<time>.json`.

**Reads** the one object the tool writes: a configuration and the list of its runs.

**`bench_steps`**, one row per run, the warm-up left out: `concurrency` is `max_vus` of a run with constant virtual users; a run with a
constant arrival rate has its `rate` as `rate_rps` and no concurrency (there `max_vus` is only a cap). `requests`, `completed`, `failed`,
`wall_s` (`duration_ms`), `req_s`, `aggregate_tok_s` (output, `token_throughput_secs`), `output_tokens` (`total_tokens`),
`input_tokens` (`total_tokens_sent`), lengths (totals over completed), `ttft_*`, `e2e_*`. The *inter token latency* is one mean per request
and goes to `tpot_*`; there is no distribution of gaps.

**Traps.** The file has one start and one end for all runs together, warm-up included: no run has a time. There are no single requests.
Machine and host name in `system` are not read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.tables import table

__all__ = ["PARSER"]

MAX_CHARS = 512 << 20  # characters of one JSON object
MAX_REJECTS = 10

Json = dict[str, Any]
Row = dict[str, Any]

# --- JSON out of text. Parsers import only contracts, so the same few functions stand in every parser of benchmark results ------------

_OPENS = re.compile(r"(?m)^[ \t,\[]*(?=\{)")
_NEXT = re.compile(r"[\s,\[\]]*(?=\{)")
_DECODE = json.JSONDecoder().raw_decode


class _Lines:
    """The blocks of a source and how its lines end: each line counts once, whatever the objects on it became."""

    def __init__(self, source: Readable) -> None:
        self.source, self.counts, self.done, self.total, self.open = source, Counts(), 0, 0, 0

    def blocks(self) -> Iterator[str]:
        for _, block in self.source.blocks():
            self.total += block.count("\n")
            self.open = not block.endswith("\n")
            yield block

    def add(self, first: int, last: int, how: str) -> None:
        """Lines first..last are `how` as far as they are not counted yet; those passed over are something else."""
        first = max(first, self.done + 1)
        if last >= first:
            self.counts.other += first - 1 - self.done
            setattr(self.counts, how, getattr(self.counts, how) + last - first + 1)
            self.done = last

    def near(self, line: int, reason: str) -> None:
        self.add(line, line, "near_miss")
        if len(self.counts.rejects) < MAX_REJECTS:
            self.counts.rejects.append((line, reason))

    def close(self) -> Counts:
        self.counts.other += self.total + self.open - self.done
        return self.counts


def _objects(lines: _Lines) -> Iterator[tuple[int, int, Json | None]]:
    """The JSON objects of a text (one per line, behind each other, in a list) with their first and last line; None for one that is cut
    or garbled. Memory holds one object and one block."""
    blocks, text, line, need, last = lines.blocks(), "", 1, 0, False
    while not last:
        parts, have = [text], len(text)
        while not last and have <= need:
            block = next(blocks, "")
            last = not block
            parts.append(block)
            have += len(block)
        text, at = "".join(parts), 0
        start = _OPENS.search(text)
        while start is not None:
            line += text.count("\n", at, start.end())
            at = start.end()
            found, cut = _decode(text, at)
            if cut and not last and len(text) - at < MAX_CHARS:
                break
            if found is None:
                yield line, line, None
                start = _margin(text, at)
                continue
            first, line = line, line + text.count("\n", at, found[1])
            at = found[1]
            yield first, line, found[0]
            start = _NEXT.match(text, at) or _OPENS.search(text, at)
        if start is None:
            line += text.count("\n", at)
            text, need = "", 0
        else:
            begin = text.rfind("\n", 0, at) + 1
            text = text[at if text[begin:at].strip() else begin :]
            need = 2 * len(text)


def _decode(text: str, at: int) -> tuple[tuple[Json, int] | None, bool]:
    """The object at a place with its end, and whether the text ends inside it."""
    try:
        return _DECODE(text, at), False
    except json.JSONDecodeError as error:
        return None, error.pos >= len(text) - 12 or error.msg.startswith("Unterminated string")
    except (ValueError, RecursionError):
        return None, False


def _margin(text: str, at: int) -> re.Match[str] | None:
    """Behind a broken object: the next one that stands as far to the right. What is further in belongs to the broken one."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    margin = before if before.isspace() else ""
    return re.compile(rf"(?m)^{margin}(?=\{{)").search(text, at + 1)


def _num(value: Any, scale: float = 1.0) -> float | None:
    """A finite number that is not negative; strings, booleans, inf, nan and the 1.797e308 that jq writes for inf are unknown."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value) * scale
    except OverflowError:
        return None
    return number if math.isfinite(number) and 0 <= number < 1e15 else None


def _pos(value: Any, scale: float = 1.0) -> float | None:
    """A number above zero: a time or a rate of 0 is how a benchmark writes that it has none."""
    return _num(value, scale) or None


def _sub(value: Any, *path: str) -> Json:
    """The object at a path, empty where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _keys(text: str) -> set[str]:
    """Names that stand as JSON keys in the first part of a text that begins like JSON."""
    text = text[:65536].lstrip()
    return set(re.findall(r'"([\w:.-]+)"\s*:', text)) if text[:1] in ("{", "[") else set()


def _send(emit: Emit, target: str, rows: Sequence[Row]) -> None:
    """Rows as a frame of the declared types; columns nobody filled stay out."""
    import polars as pl

    types: dict[str, Any] = {"VARCHAR": pl.String, "DOUBLE": pl.Float64, "BIGINT": pl.Int64, "INTEGER": pl.Int32}
    schema = {c.name: types[c.type] for c in table(target).columns if any(r.get(c.name) is not None for r in rows)}
    if schema:
        emit(target, pl.DataFrame({n: [r.get(n) for r in rows] for n in schema}, schema=schema))


def _note(emit: Emit, line: int, kind: str, n: int, note: str) -> None:
    _send(emit, "quality", [{"line": line, "kind": kind, "n": n, "note": note}])


def _step(run: Json, line: int, step: int) -> Row:
    """The row of one run."""
    users = run.get("executor_type") == "ConstantVUs"
    config = _sub(run, "config")
    completed = _num(run.get("successful_requests"))
    row: Row = {"line": line, "step": step, "completed": completed, "failed": _num(run.get("failed_requests"))}
    row["requests"] = _pos(run.get("total_requests"))
    row["wall_s"] = _pos(run.get("duration_ms"), 1e-3)
    row["concurrency"] = _pos(config.get("max_vus")) if users else None
    row["rate_rps"] = None if users else _pos(config.get("rate"))
    if not completed:
        return row
    tokens = {"output": _pos(run.get("total_tokens")), "input": _pos(run.get("total_tokens_sent"))}
    for side, total in tokens.items():
        row |= {f"{side}_tokens": total, f"{side}_len": total and total / completed}
    row["req_s"] = _pos(run.get("request_rate"))
    row["aggregate_tok_s"] = _pos(run.get("token_throughput_secs"))
    row["aggregate_counts"] = "output" if row["aggregate_tok_s"] else None
    for column, (name, stat) in _STATS.items():
        row[column] = _pos(_sub(run, name).get(stat))
    return row


_STATS = {
    "ttft_mean_ms": ("time_to_first_token_ms", "avg"),
    "ttft_p50_ms": ("time_to_first_token_ms", "p50"),
    "ttft_p99_ms": ("time_to_first_token_ms", "p99"),
    "tpot_mean_ms": ("inter_token_latency_ms", "avg"),
    "tpot_p50_ms": ("inter_token_latency_ms", "p50"),
    "e2e_mean_ms": ("e2e_latency_ms", "avg"),
    "e2e_p99_ms": ("e2e_latency_ms", "p99"),
}


class InferenceBenchmarker:
    """Results of inference-benchmarker; see the module's page."""

    name = "inference-benchmarker"
    api = 1

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        keys = _keys(head.text)
        if {"results", "executor_type", "token_throughput_secs"} <= keys:
            return Claim(92, "results of inference-benchmarker")
        if {"benchmark_kind", "max_vus"} <= keys or "executor_type" in keys:
            return Refusal(40, "results of inference-benchmarker without a run at their head")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps` and one of `clocks`. A cut or garbled object is a near miss."""
        lines = _Lines(source)
        steps: list[Row] = []
        for first, last, doc in _objects(lines):
            if doc is None:
                lines.near(first, "a result that is cut or garbled")
                continue
            held = doc.get("results")
            runs = [r for r in held if isinstance(r, dict) and "executor_type" in r] if isinstance(held, list) else []
            if runs:
                lines.add(first, last, "matched")
            steps += [_step(r, first, len(steps) + k) for k, r in enumerate((r for r in runs if r.get("id") != "warmup"), 1)]
        if steps:
            _send(emit, "bench_steps", steps)
            _send(emit, "clocks", [{"line": steps[0]["line"], "kind": "none"}])
            failed = [s["line"] for s in steps if s["completed"] == 0]
            if failed:
                _note(emit, failed[0], "all-failed", len(failed), "No request of the run succeeded: it has no measurements.")
        return lines.close()


SAMPLES: tuple[Sample, ...] = (
    Sample(
        '{"config":{"max_vus":64,"benchmark_kind":"sweep"},"results":[{"id":"warmup","executor_type":"ConstantVUs","config":{"max_vus":1},'
        '"total_requests":3,"successful_requests":3,"token_throughput_secs":9.5},{"id":"throughput","executor_type":"ConstantVUs","config":'
        '{"max_vus":64,"duration_secs":60,"rate":null},"total_requests":500,"total_tokens":49000,"token_throughput_secs":800.5,'
        '"duration_ms":61000.0,"time_to_first_token_ms":{"p50":150.5,"p99":900.5,"avg":200.5},"inter_token_latency_ms":{"p50":70.5,"avg":75.5},'
        '"failed_requests":10,"successful_requests":490,"request_rate":8.0,"total_tokens_sent":98000,"e2e_latency_ms":{"p99":9500.5,"avg":7500.5}},'
        '{"id":"constant@2.00req/s","executor_type":"ConstantArrivalRate","config":{"max_vus":64,"duration_secs":60,"rate":2.0},'
        '"total_requests":120,"successful_requests":0,"failed_requests":120,"token_throughput_secs":0.0,"time_to_first_token_ms":{"avg":0.0}}],'
        '"start_time":"2026-03-01T10:00:00.5Z","end_time":"2026-03-01T10:05:00.5Z","system":{"cpu":["x"],"hostname":"h"}}',
        {
            "bench_steps": [
                {
                    "line": 1,
                    "step": 1,
                    "concurrency": 64.0,
                    "rate_rps": None,
                    "requests": 500.0,
                    "completed": 490.0,
                    "failed": 10.0,
                    "wall_s": 61.0,
                    "aggregate_tok_s": 800.5,
                    "aggregate_counts": "output",
                    "output_tokens": 49000.0,
                    "output_len": 100.0,
                    "input_tokens": 98000.0,
                    "input_len": 200.0,
                    "req_s": 8.0,
                    "ttft_mean_ms": 200.5,
                    "ttft_p50_ms": 150.5,
                    "ttft_p99_ms": 900.5,
                    "tpot_mean_ms": 75.5,
                    "tpot_p50_ms": 70.5,
                    "itl_mean_ms": None,
                    "e2e_mean_ms": 7500.5,
                    "e2e_p99_ms": 9500.5,
                    "started_at": None,
                },
                {
                    "line": 1,
                    "step": 2,
                    "concurrency": None,
                    "rate_rps": 2.0,
                    "completed": 0.0,
                    "failed": 120.0,
                    "ttft_mean_ms": None,
                    "aggregate_tok_s": None,
                },
            ],
            "clocks": [{"kind": "none"}],
            "quality": [{"kind": "all-failed"}],
        },
        "a sweep",
        name="results/tiny_2026-03-01-10-05-00.json",
    ),
    Sample(
        '{\n "config": {"benchmark_kind": "throughput"},\n "results": [\n  {"id": "constant@4VU", "executor_type": "ConstantVUs", '
        '"config": {"max_vus": 4},\n'
        '   "total_requests": 8, "successful_requests": 8, "failed_requests": 0, "token_throughput_secs": 99.5}\n ]\n}\n',
        {"bench_steps": [{"line": 1, "concurrency": 4.0, "requests": 8.0, "aggregate_tok_s": 99.5, "wall_s": None, "ttft_mean_ms": None}]},
        "re-indented, few keys",
    ),
)

PARSER = InferenceBenchmarker()
