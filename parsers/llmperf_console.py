"""What llmperf's `token_benchmark_ray.py` prints at the end of a run. Its files are read by llmperf.

**Reads** the report below `Results for token benchmark for ..`, alone, several in one file, in code fences, quoted or between the lines of any log.

**`bench_steps`**, one row per report: `completed`, `failed`, `req_s` (completed per minute over 60), `aggregate_tok_s` (`Overall Output Throughput`:
output), `ttft_*`, `e2e_*`, mean lengths. `per_stream_tok_s` is the request output throughput (its median, else its mean): answer tokens over
the whole latency, so `per_stream_counts` is latency. `concurrency` is that of the command line above (`--num-concurrent-requests 8`); the
report does not print it.

**Traps.** llmperf's *inter token latency* is the whole latency over the tokens, neither a gap nor a time per token after the first: it is not read.
Its statistics leave failed requests out. Where more requests failed than succeeded, the offered concurrency was not what the server saw: it is
NULL (`mostly-failed`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..engine.parser import Sample
from ..engine.printed_runs import PrintedRuns, Runs
from ..engine.send import Row

__all__ = ["PARSER"]

_SIGN = "Results for token benchmark for "
_MARKS = r"[\s#>*|\\-]*"  # comment marks, quotes, list marks
_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,18})?)"
# heading of a list of statistics -> statistic -> (column, factor)
_LISTS: dict[str, dict[str, tuple[str, float]]] = {
    "ttft_s": {"p50": ("ttft_p50_ms", 1e3), "p99": ("ttft_p99_ms", 1e3), "mean": ("ttft_mean_ms", 1e3)},
    "end_to_end_latency_s": {"p50": ("e2e_p50_ms", 1e3), "p99": ("e2e_p99_ms", 1e3), "mean": ("e2e_mean_ms", 1e3)},
    "request_output_throughput_token_per_s": {"p50": ("per_stream_tok_s", 1.0), "mean": ("per_stream_mean", 1.0)},
    "number_input_tokens": {"mean": ("input_len", 1.0)},
    "number_output_tokens": {"mean": ("output_len", 1.0)},
    "inter_token_latency_s": {},
}
_TOTALS = {
    "Number Of Errored Requests": ("failed", 1.0),
    "Overall Output Throughput": ("aggregate_tok_s", 1.0),
    "Number Of Completed Requests": ("completed", 1.0),
    "Completed Requests Per Minute": ("req_s", 1 / 60),
}
_HEADING = re.compile(rf"{_MARKS}({'|'.join(_LISTS)}):?\s*")
_STATISTIC = re.compile(rf"{_MARKS}(p[0-9]{{2}}|mean|min|max|stddev) ?[=:] ?{_NUMBER}\s*")
_TOTAL = re.compile(rf"{_MARKS}({'|'.join(_TOTALS)}): ?{_NUMBER}\s*")
_COMMAND = re.compile(r".*--num-concurrent-requests[ =]([0-9]{1,6})\b.*")
_HINT = r"Results for token|_s:?\s*$|_tokens:?\s*$| ?[=:] ?[0-9]|--num-concurrent-requests"
_COLUMNS = (
    *("line", "step", "concurrency", "completed", "failed", "req_s", "aggregate_tok_s", "aggregate_counts", "per_stream_tok_s"),
    *(
        "per_stream_counts",
        "input_len",
        "output_len",
        "ttft_mean_ms",
        "ttft_p50_ms",
        "ttft_p99_ms",
        "e2e_mean_ms",
        "e2e_p50_ms",
        "e2e_p99_ms",
    ),
)
_NOTES = {
    "all-failed": "No request of the run succeeded: it has no measurements.",
    "mostly-failed": "More requests failed than succeeded: the offered concurrency is not what the server saw.",
}


@dataclass
class _Runs(Runs):
    """The report that is being read, and the rows so far."""

    seen: Row = field(default_factory=dict)
    load: float | None = None
    heading: str = ""
    taken: int = 0

    def take(self, line: int, text: str, whole: bool) -> None:
        heading, statistic, total, command = (p.fullmatch(text) for p in (_HEADING, _STATISTIC, _TOTAL, _COMMAND))
        if _SIGN in text and re.match(rf"{_MARKS}{_SIGN}", text):
            self.close()
            self.seen, self.heading, self.taken = {"line": line, "concurrency": self.load}, "", 1
            self.load = None
        elif command:
            self.load = float(command[1]) or None
            self.counts.noise += 1
        elif not self.seen or not (heading or statistic or total):
            self.counts.other += 1
        elif not whole:
            self.counts.near(line, "the last line is cut")
        else:
            self.taken += 1
            self.heading = heading[1] if heading else "" if total else self.heading
            if total:
                self.keep(*_TOTALS[total[1]], total[2])
            elif statistic and statistic[1] in _LISTS.get(self.heading, {}):
                self.keep(*_LISTS[self.heading][statistic[1]], statistic[2])

    def keep(self, column: str, factor: float, number: str) -> None:
        self.seen.setdefault(column, float(f"{float(number) * factor:.12g}"))

    def close(self) -> None:
        """A row where the report tells how many requests completed; a measure of 0 is none."""
        row, taken = self.seen, self.taken
        self.seen, self.taken, self.heading = {}, 0, ""
        if "completed" not in row:
            self.counts.other += taken
            return
        self.counts.matched += taken
        done, failed = row["completed"], row.get("failed")
        row["per_stream_tok_s"] = row.get("per_stream_tok_s") or row.pop("per_stream_mean", None)
        row = {k: v if k in ("completed", "failed") else v or None for k, v in row.items()}
        if not done:
            self.odd["all-failed"] += 1
            row = {k: row.get(k) for k in ("line", "concurrency", "completed", "failed")}
        elif failed and failed > done:
            self.odd["mostly-failed"] += 1
            row["concurrency"] = None
        row["aggregate_counts"] = "output" if row.get("aggregate_tok_s") else None
        row["per_stream_counts"] = "latency" if row.get("per_stream_tok_s") else None
        self.rows.append(row | {"step": len(self.rows) + 1})


class LlmperfConsole(PrintedRuns):
    """Reports of llmperf; see the module's page."""

    name = "llmperf-console"
    signs, hint, most = (_SIGN,), _HINT, 1000
    reader, columns, notes = _Runs, _COLUMNS, _NOTES
    says = "what llmperf prints: {} runs"


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "$ python token_benchmark_ray.py --model m --num-concurrent-requests 8 --max-num-completed-requests 90 --llm-api openai\n"
        "\\Results for token benchmark for org/m queried with the openai api.\n\ninter_token_latency_s\n    p25 = 0.0213\n    p50 = 0.0226\n"
        "    mean = 0.0229\nttft_s\n    p25 = 0.125\n    p50 = 0.5\n    p75 = 0.75\n    p90 = 1.0\n    p95 = 1.5\n    p99 = 1.75\n    mean = 0.625\n"
        "    min = 0.1\n    max = 2.0\n    stddev = 0.25\nend_to_end_latency_s\n    p50 = 3.75\n    p99 = 7.5\n    mean = 3.875\n"
        "request_output_throughput_token_per_s\n    p50 = 41.25\n    mean = 40.75\nnumber_input_tokens\n    p50 = 550\n    mean = 550.25\n"
        "number_output_tokens\n    mean = 149.5\nNumber Of Errored Requests: 10\nOverall Output Throughput: 158.25\n"
        "Number Of Completed Requests: 90\nCompleted Requests Per Minute: 63.0\n",
        {
            "bench_steps": [
                {"line": 2, "step": 1, "concurrency": 8.0, "completed": 90.0, "failed": 10.0, "req_s": 1.05, "aggregate_tok_s": 158.25,
                 "aggregate_counts": "output", "per_stream_tok_s": 41.25, "per_stream_counts": "latency", "input_len": 550.25, "output_len": 149.5,
                 "ttft_mean_ms": 625.0, "ttft_p50_ms": 500.0, "ttft_p99_ms": 1750.0, "e2e_mean_ms": 3875.0, "e2e_p50_ms": 3750.0,
                 "e2e_p99_ms": 7500.0}
            ],
            "clocks": [{"kind": "none"}],
            "quality": [],
        },
        "2024, with its command line",
    ),
    Sample(
        "> Results for token benchmark for m queried with the openai api.\n>\n> ttft_s\n>     p50 = 0.5\n>     mean = 0.625\n"
        "> Number Of Errored Requests: 60\n> Overall Output Throughput: 58.25\n> Number Of Completed Requests: 40\n"
        "> Completed Requests Per Minute: 30.0\n"
        "> Results for token benchmark for m queried with the openai api.\n> Number Of Errored Requests: 100\n"
        "> Overall Output Throughput: 0.0\n> Number Of Completed Requests: 0\n",
        {
            "bench_steps": [
                {"line": 1, "concurrency": None, "completed": 40.0, "failed": 60.0, "ttft_mean_ms": 625.0, "aggregate_tok_s": 58.25, "req_s": 0.5},
                {"line": 10, "step": 2, "completed": 0.0, "failed": 100.0, "aggregate_tok_s": None},
            ],
            "quality": [{"kind": "all-failed", "n": 1}, {"kind": "mostly-failed", "n": 1}],
        },
        "quoted, more failures than answers, then nothing but failures",
    ),
)  # fmt: skip

PARSER = LlmperfConsole(SAMPLES)
