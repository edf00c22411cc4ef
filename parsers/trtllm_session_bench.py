"""The `[BENCHMARK]` lines of TensorRT-LLM's `gptSessionBenchmark` and `benchmark.py`, 0.5 to 0.11 (2023-10 to 2024).

**Reads** `[BENCHMARK] batch_size 8 input_length 128 output_length 100 latency(ms) 950.25 tokensPerSec 841.88 ..`, with more names before and behind, in
the spelling of C++ (`tokensPerSec`) and of Python (`tokens_per_sec`), between the lines of any log.

One row of `bench_steps` per line: `concurrency` (the batch), `input_len`, `output_len`, `e2e_mean_ms` (`latency(ms)`: the whole batch begins and ends
together), `e2e_p99_ms`, `aggregate_tok_s` (output). `series` names the lengths, `step` counts inside a series.

**Traps.** `tokensPerSec` is the output over the whole latency, prompts included: it is checked, and NULL where it is not batch times length over latency.
`generationTokensPerSec` is that of decode alone and has no column beside it. Lines of encoders (BERT) have no `output_length` and are left alone. The
benchmark runs in the process of the engine: no network, no server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..engine.parser import Sample
from ..engine.printed_runs import PrintedRuns, Runs
from ..engine.send import Row

__all__ = ["PARSER"]

_SIGN = "[BENCHMARK] "
_MARK = re.compile(r"[\s#>*-]{0,20}(?:\[[^\[\]]{1,40}\] ?){0,4}$")  # what may stand before: quotes, a logger's brackets
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?")
_NAMES = {
    "batch_size": "concurrency", "input_length": "input_len", "output_length": "output_len", "latency(ms)": "e2e_mean_ms",
    "percentile99(ms)": "e2e_p99_ms", "tokensPerSec": "aggregate_tok_s", "tokens_per_sec": "aggregate_tok_s",
}  # fmt: skip
_COLUMNS = (
    "line",
    "series",
    "step",
    "concurrency",
    "input_len",
    "output_len",
    "e2e_mean_ms",
    "e2e_p99_ms",
    "aggregate_tok_s",
    "aggregate_counts",
)


def _row(line: int, pairs: str) -> Row | None:
    """The row of a line of names and values."""
    words = pairs.split()
    told = dict(zip(words[::2], words[1::2])) if len(words) % 2 == 0 else {}
    row: Row = {_NAMES[k]: float(v) for k, v in told.items() if k in _NAMES and _NUMBER.fullmatch(v) and float(v) > 0}
    if not {"concurrency", "input_len", "output_len", "e2e_mean_ms"} <= set(row):
        return None
    made = row["concurrency"] * row["output_len"] / row["e2e_mean_ms"] * 1e3
    if not 0.95 * made <= row.get("aggregate_tok_s", 0.0) <= 1.05 * made:
        row["aggregate_tok_s"] = None
    row["aggregate_counts"] = "output" if row["aggregate_tok_s"] else None
    return row | {"line": line, "series": f"in {row['input_len']:.0f} out {row['output_len']:.0f}"}


@dataclass
class _Lines(Runs):
    """Every line is a run."""

    def take(self, line: int, text: str, whole: bool) -> None:
        before, _, pairs = text.partition(_SIGN)
        found = _MARK.match(before)
        row = _row(line, pairs) if found and whole else None
        if row:
            self.counts.matched += 1
            self.rows.append(row | {"step": 1 + sum(r["series"] == row["series"] for r in self.rows)})
        elif found and not whole:
            self.counts.near(line, "the last line is cut")
        else:
            self.counts.other += 1


class TrtllmSessionBench(PrintedRuns):
    """Lines of TensorRT-LLM's early benchmarks; see the module's page."""

    name = "trtllm-session-bench"
    signs, hint, most = (_SIGN,), (_SIGN,), 2000
    reader, columns = _Lines, _COLUMNS
    says = "benchmark lines of TensorRT-LLM: {}"


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "Benchmarking done. Iteration: 60, duration: 60.04 sec.\nLatencies: [1000.25, 999.75]\n"
        "[BENCHMARK] batch_size 1 input_length 128 output_length 100 latency(ms) 1000.00 tokensPerSec 100.00 gpu_peak_mem(gb) 23.06\n"
        "[BENCHMARK] batch_size 8 input_length 128 output_length 100 latency(ms) 1250.00 tokensPerSec 640.00 generation_time(ms) 1180.25 "
        "generationTokensPerSec 677.82 gpu_peak_mem(gb) 23.06\n",
        {
            "bench_steps": [
                {"line": 3, "series": "in 128 out 100", "step": 1, "concurrency": 1.0, "input_len": 128.0, "output_len": 100.0,
                 "e2e_mean_ms": 1000.0, "aggregate_tok_s": 100.0, "aggregate_counts": "output"},
                {"line": 4, "series": "in 128 out 100", "step": 2, "concurrency": 8.0, "e2e_mean_ms": 1250.0, "aggregate_tok_s": 640.0},
            ],
            "clocks": [{"kind": "none"}],
        },
        "gptSessionBenchmark, 2024",
    ),
    Sample(
        "> [BENCHMARK] model_name m_13b world_size 2 num_heads 40 num_layers 40 precision float16 batch_size 4 input_length 700 output_length 200 "
        "gpu_peak_mem(gb) 0.0 build_time(s) 116.39 tokens_per_sec 160.0 percentile95(ms) 5120.208 percentile99(ms) 5200.5 latency(ms) 5000.0 "
        "compute_cap sm80 quantization QuantMode.0 generation_time(ms) 3751.546 total_generated_tokens 796.0 generation_tokens_per_second 212.179\n"
        "[BENCHMARK] batch_size 1 input_length 60 output_length 20 latency(ms) 40.81\n",
        {
            "bench_steps": [
                {"line": 1, "concurrency": 4.0, "input_len": 700.0, "output_len": 200.0, "e2e_mean_ms": 5000.0, "e2e_p99_ms": 5200.5,
                 "aggregate_tok_s": 160.0},
                {"line": 2, "series": "in 60 out 20", "step": 1, "concurrency": 1.0, "e2e_mean_ms": 40.81, "aggregate_tok_s": None},
            ]
        },
        "benchmark.py, 2024, quoted; the first release of gptSessionBenchmark",
    ),
)  # fmt: skip

PARSER = TrtllmSessionBench(SAMPLES)
