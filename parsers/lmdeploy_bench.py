"""Console blocks of LMDeploy's `profile_throughput.py` and `profile_restful_api.py`.

**Reads** the block between two rules of dashes that these scripts print at the end, from late 2023 to 2024, alone, several in one file, in code fences,
commented out or between the lines of any log. Since 2025 both print other blocks: those of `profile_restful_api.py` are SGLang's and are read
by vllm-bench-console.

One row of `bench_steps` per block that has a rate of completion tokens: `concurrency`, `wall_s` (`elapsed_time`), `input_tokens`,
`output_tokens`, `aggregate_tok_s` (`completion token`: output), `total_tok_s`, `req_s` (RPS), `ttft_mean_ms` (the third of min, max, ave), `step` in
the order of the file. A label that stands twice in a block with different values is NULL.

**Traps.** The percentiles per token are those of the gaps between chunks, zeros included: no time per token. The scripts send all requests
at once to as many threads as `concurrency` says. `profile_generation.py` is left alone: its `throughput` was that of one session before it
was that of all, and its first token latency that of the whole answer. No block holds a time of day.
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
_MARKS = r"[\s#>*|/;%-]*"  # comment marks, quotes, list marks
_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,9})?)"
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
_HINT = r"concurrency:|elapsed_time:|token|RPS \(|RPM \("
_COLUMNS = ("line", "step", *_LABELS, "aggregate_counts")


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


def _read(blocks: _Blocks, first: int, text: str) -> None:
    """Only lines with a word of the format are looked at one by one."""
    for line, one, whole in likely_lines(first, text, _HINT, 300, blocks.counts):
        blocks.take(line, one, whole)


class LmdeployBench:
    """Blocks of LMDeploy's benchmark scripts; see the module's page."""

    name = "lmdeploy-bench"
    api = 1
    beyond = (_SIGN,)

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        if _SIGN not in head.text:
            return None
        blocks = _Blocks()
        _read(blocks, 1, head.text)
        blocks.close()
        return Claim(75, f"what LMDeploy's benchmarks print: {len(blocks.rows)} runs", shares=True) if blocks.rows else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps` and one of `clocks`."""
        blocks = _Blocks()
        for first, text in source.blocks():
            _read(blocks, first, text)
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
)

PARSER = LmdeployBench()
