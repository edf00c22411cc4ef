"""Console blocks of LMDeploy's `profile_throughput.py`, `profile_restful_api.py` and `profile_generation.py`.

**Reads** the block between two rules of dashes that these scripts print at the end, from late 2023 to 2024, alone, several in one file, in code fences,
commented out or between the lines of any log. Since 2025 both print other blocks: those of `profile_restful_api.py` are SGLang's and are read
by vllm-bench-console.

One row of `bench_steps` per block that has a rate of completion tokens: `concurrency`, `wall_s` (`elapsed_time`), `input_tokens`,
`output_tokens`, `aggregate_tok_s` (`completion token`: output), `total_tok_s`, `req_s` (RPS), `ttft_mean_ms` (the third of min, max, ave), `step` in
the order of the file. A label that stands twice in a block with different values is NULL.

**Traps.** The percentiles per token are those of the gaps between chunks, zeros included: no time per token. The scripts send all requests
at once to as many threads as `concurrency` says. The `throughput` of `profile_generation.py` (2023) was that of one session before it was that of
all: it is `per_stream_tok_s` where it fits the output over the mean latency of an answer, `aggregate_tok_s` where it fits that times the streams,
else NULL; for one stream it is both. Its first token latency was at first that of the whole answer, and is then left out. No block holds a time
of day.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_clock, send_rows
from ..engine.streams import likely_lines

__all__ = ["PARSER"]

_SIGN = "token throughput (completion token):"
_GENERATION_SIGNS = ("token latency(min, max, ave)", "token_latency percentiles(")
_MARKS = r"[\s#>*|/;%-]*"  # comment marks, quotes, list marks
_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,18})?)"
_LABELS = {
    "concurrency": (r"concurrency", r"([1-9]\d{0,5})", 1.0),
    "wall_s": (r"elapsed_time", rf"{_NUMBER}s", 1.0),
    "ttft_mean_ms": (r"first[ _]token latency(?:\(s\))?\(min, max, ave\)", rf"[0-9.]+s?, [0-9.]+s?, {_NUMBER}s?", 1e3),
    "input_tokens": (r"number of prompt tokens", _NUMBER, 1.0),
    "output_tokens": (r"number of completion tokens", _NUMBER, 1.0),
    "aggregate_tok_s": (r"token throughput \(completion token\)", rf"{_NUMBER} token/s", 1.0),
    "total_tok_s": (r"token throughput \(prompt \+ completion token\)", rf"{_NUMBER} token/s", 1.0),
    "req_s": (r"RPS \(request per second\)", rf"{_NUMBER} req/s", 1.0),
}
_LINE = re.compile(f"{_MARKS}(?:" + "|".join(f"(?P<{k}>{label})" for k, (label, _, _) in _LABELS.items()) + r"):\s*(?P<rest>.*?)\s*")
_QUIET = re.compile(rf"{_MARKS}(?:per-token latency\(s\) percentile\(.*|RPM \(request per minute\):.*)?")
_HINT = r"concurrency:|elapsed_time:|total time:|throughput:|token|RPS \(|RPM \("
_COLUMNS = (
    *("line", "step", *_LABELS, "aggregate_counts"),
    *("input_len", "output_len", "per_stream_tok_s", "per_stream_counts", "e2e_mean_ms"),
)
_AVERAGE = rf"\(min, max, ave\): [0-9.]+s, [0-9.]+s, {_NUMBER}s"
_GENERATION = (
    (
        "load",
        re.compile(
            rf"{_MARKS}concurrency: (?P<concurrency>[1-9]\d{{0,5}}), (?:test_round: \d+|input_tokens: (?P<input_len>\d{{1,9}}), output_tokens: (?P<output_len>\d{{1,9}}))\s*"
        ),
    ),
    ("lengths", re.compile(rf"{_MARKS}input_tokens: (?P<input_len>\d{{1,9}}), output_tokens: (?P<output_len>\d{{1,9}})\s*")),
    ("wall", re.compile(rf"{_MARKS}(?:elapsed_time|total time): (?P<wall_s>{_NUMBER})s\s*")),
    ("first", re.compile(rf"{_MARKS}first[_ ]token latency{_AVERAGE.replace('(' + _NUMBER[1:], '(?P<ttft>' + _NUMBER[1:])}\s*")),
    ("answer", re.compile(rf"{_MARKS}(?:total_)?token latency{_AVERAGE.replace('(' + _NUMBER[1:], '(?P<latency>' + _NUMBER[1:])}\s*")),
    ("rate", re.compile(rf"{_MARKS}throughput: (?P<rate>{_NUMBER}) token/s\s*")),
)
NEAR = 1.5  # how far a rate may be from the one it is compared with


@dataclass
class _Blocks:
    """The block that is being read and those before it. A block begins with its streams, or, where a paste lost that line, with its time."""

    counts: Counts = field(default_factory=Counts)
    rows: list[Row] = field(default_factory=list)
    values: dict[str, set[float]] = field(default_factory=dict)
    line: int = 0
    pending: int = 0

    def take(self, line: int, text: str, whole: bool) -> None:
        found = _LINE.fullmatch(text)
        if not found:
            quiet = bool(_QUIET.fullmatch(text))
            self.counts.noise += quiet
            self.counts.other += not quiet
            return
        kind = found.lastgroup if found.lastgroup != "rest" else next(k for k in _LABELS if found[k])
        _, pattern, scale = _LABELS[str(kind)]
        value = re.fullmatch(pattern, found["rest"]) if whole else None
        if not value:
            self.counts.near(line, f"{kind}: no value in the unit of this format")
        if kind == "concurrency" or (kind == "wall_s" and set(self.values) != {"concurrency"}):
            self.close()
        if value:
            self.line = self.line if self.values else line
            self.values.setdefault(str(kind), set()).add(float(f"{float(value[1]) * scale:.12g}"))
            self.pending += 1

    def close(self) -> None:
        """A row where the block has a rate; a label that stood with several values, or with 0, is unknown."""
        row: Row = {k: v for k, (v, *more) in self.values.items() if not more and v > 0}
        if "aggregate_tok_s" in self.values and row:
            counts = "output" if "aggregate_tok_s" in row else None
            self.rows.append({**row, "line": self.line, "step": len(self.rows) + 1, "aggregate_counts": counts})
            self.counts.matched += self.pending
        else:
            self.counts.other += self.pending
        self.values, self.pending = {}, 0


@dataclass
class _Generation:
    """The block of profile_generation.py that is being read."""

    blocks: _Blocks
    seen: Row = field(default_factory=dict)
    above: tuple[int, float] | None = None  # line and seconds of a time that stands before its streams

    def take(self, line: int, text: str, whole: bool) -> bool:
        """Whether the line is one of such a block."""
        kind, found = next(((k, m) for k, p in _GENERATION if (m := p.fullmatch(text))), ("", None))
        if found is None or not whole:
            return False
        if kind == "load":
            self.close()
            self.seen = {"line": line, "taken": 0}
            if self.above and self.above[0] == line - 1:
                self.seen |= {"wall_s": self.above[1], "line": line - 1}
        self.above = (line, float(found["wall_s"])) if kind == "wall" and not self.seen else None
        if not self.seen:
            return False
        self.seen |= {k: float(v) for k, v in found.groupdict().items() if v and k not in self.seen}
        self.seen["taken"] += 1
        if kind == "rate":
            self.close()
        return True

    def close(self) -> None:
        """A row; the rate is that of one stream or of all, whichever fits what an answer took."""
        row, taken = self.seen, int(self.seen.pop("taken", 0)) if self.seen else 0
        self.seen = {}
        if not {"rate", "latency", "output_len"} <= set(row):
            self.blocks.counts.other += taken
            return
        self.blocks.counts.matched += taken
        rate, latency, ttft = row.pop("rate"), row.pop("latency"), row.pop("ttft", None)
        streams, each = row["concurrency"], row["output_len"] / latency if latency else None
        one = each is not None and each / NEAR <= rate <= each * NEAR
        whole = each is not None and each * streams / NEAR <= rate <= each * streams * NEAR
        if one and (streams == 1 or not whole):
            row |= {"per_stream_tok_s": rate, "per_stream_counts": "latency"}
        if whole and (streams == 1 or not one):
            row |= {"aggregate_tok_s": rate, "aggregate_counts": "output"}
        row["ttft_mean_ms"] = float(f"{ttft * 1e3:.12g}") if ttft and ttft < 0.99 * latency else None
        row["e2e_mean_ms"] = float(f"{latency * 1e3:.12g}") or None
        self.blocks.rows.append(row | {"step": len(self.blocks.rows) + 1})


def _read(blocks: _Blocks, generation: _Generation, first: int, text: str) -> None:
    """Only lines with a word of the format are looked at one by one."""
    for line, one, whole in likely_lines(first, text, _HINT, 300, blocks.counts):
        if not generation.take(line, one, whole):
            blocks.take(line, one, whole)


class LmdeployBench:
    """Blocks of LMDeploy's benchmark scripts; see the module's page."""

    name = "lmdeploy-bench"
    api = 1
    beyond = (_SIGN, *_GENERATION_SIGNS)

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        if _SIGN not in head.text and not any(sign in head.text for sign in _GENERATION_SIGNS):
            return None
        blocks = _Blocks()
        _read(blocks, _Generation(blocks), 1, head.text)
        blocks.close()
        return Claim(75, f"what LMDeploy's benchmarks print: {len(blocks.rows)} runs", shares=True) if blocks.rows else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps` and one of `clocks`."""
        blocks = _Blocks()
        generation = _Generation(blocks)
        for first, text in source.blocks():
            _read(blocks, generation, first, text)
        generation.close()
        blocks.close()
        if blocks.rows:
            send_rows(emit, "bench_steps", blocks.rows, _COLUMNS)
            send_clock(emit, blocks.rows[0]["line"], "none", None, None)
        return blocks.counts


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "--------------------------------------------------\nconcurrency: 48\nelapsed_time: 120.500s\n\n"
        "first token latency(s)(min, max, ave): 0.125, 9.500, 2.250\n"
        "per-token latency(s) percentile(50, 75, 95, 99): [0, 0.094, 0.169, 0.227]\n\n"
        "number of prompt tokens: 240000\nnumber of completion tokens: 180000\n"
        "token throughput (completion token): 1493.776 token/s\ntoken throughput (prompt + completion token): 3485.477 token/s\n"
        "RPS (request per second): 8.299 req/s\nRPM (request per minute): 497.925 req/min\n"
        "--------------------------------------------------\n",
        {
            "bench_steps": [
                {
                    "line": 2,
                    "step": 1,
                    "concurrency": 48.0,
                    "wall_s": 120.5,
                    "ttft_mean_ms": 2250.0,
                    "input_tokens": 240000.0,
                    "output_tokens": 180000.0,
                    "aggregate_tok_s": 1493.776,
                    "aggregate_counts": "output",
                    "total_tok_s": 3485.477,
                    "req_s": 8.299,
                }
            ]
        },
        "profile_throughput.py, 2024",
    ),
    Sample(
        "concurrency: 8\nelapsed_time: 60.250s\n\nfirst_token latency(min, max, ave): 0.050s, 1.500s, 0.500s\n\n"
        "number of prompt tokens: 12000\nnumber of completion tokens: 9000\n"
        "token throughput (completion token): 149.378 token/s\ntoken throughput (prompt + completion token): 348.548 token/s\n"
        "RPS (request per second): 0.830 req/s\n\n"
        "# elapsed_time: 30.500s\n# number of completion tokens: 9100\n# token throughput (completion token): 298.361 token/s\n",
        {
            "bench_steps": [
                {"line": 1, "step": 1, "concurrency": 8.0, "wall_s": 60.25, "ttft_mean_ms": 500.0, "output_tokens": 9000.0, "req_s": 0.83},
                {"line": 12, "step": 2, "concurrency": None, "wall_s": 30.5, "output_tokens": 9100.0, "aggregate_tok_s": 298.361},
            ]
        },
        "profile_restful_api.py, end of 2023; a second block commented out, its first line lost, answers not streamed",
    ),
    Sample(
        "--------------------------------------------------\nconcurrency: 32, input_tokens: 1, output_tokens: 2000\nelapsed_time: 500.25s\n"
        "first_token latency(min, max, ave): 40.25s, 64.50s, 62.50s\ntoken latency(min, max, ave): 40.25s, 64.50s, 62.50s\n"
        "throughput: 32.750000000000256 token/s\n--------------------------------------------------\n"
        "total time: 98.50s\nconcurrency: 16, test_round: 3\ninput_tokens: 512, output_tokens: 500\n"
        "first_token latency(min, max, ave): 0.11s, 0.82s, 0.425s\ntotal_token latency(min, max, ave): 12.8s, 13.9s, 12.5s\n"
        "token_latency percentiles(50%,75%,95%,99%)(s): [0.024, 0.025, 0.026, 0.03]\nthroughput: 612.5 token/s\n",
        {
            "bench_steps": [
                {
                    "line": 2,
                    "step": 1,
                    "concurrency": 32.0,
                    "input_len": 1.0,
                    "output_len": 2000.0,
                    "wall_s": 500.25,
                    "per_stream_tok_s": 32.750000000000256,
                    "per_stream_counts": "latency",
                    "aggregate_tok_s": None,
                    "ttft_mean_ms": None,
                    "e2e_mean_ms": 62500.0,
                },
                {
                    "line": 8,
                    "step": 2,
                    "concurrency": 16.0,
                    "input_len": 512.0,
                    "output_len": 500.0,
                    "wall_s": 98.5,
                    "per_stream_tok_s": None,
                    "aggregate_tok_s": 612.5,
                    "aggregate_counts": "output",
                    "ttft_mean_ms": 425.0,
                    "e2e_mean_ms": 12500.0,
                },
            ]
        },
        "profile_generation.py: the rate of one session in 2023-07, of all sessions at the end of 2023",
    ),
)

PARSER = LmdeployBench()
