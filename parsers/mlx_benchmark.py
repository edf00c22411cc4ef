"""`mlx_lm.benchmark` of mlx-lm (2025-08 and later), and forks that print the same lines.

**Reads** `Timing with prompt_tokens=.., generation_tokens=..`, the `Trial 1:` lines and `Averages: prompt_tps=.., generation_tps=..`, alone, several in
one file, in code fences, commented out or between the lines of any log.

One row of `bench_steps` per line of averages; a run that was cut before it gives none: `concurrency` (the batch), `aggregate_tok_s`
(`generation_tps` of the whole batch: output), `per_stream_tok_s` for a batch of one (decode), `input_len`, `output_len`. `series` names the
lengths, `step` counts inside a series.

**Traps.** The batch stands in the `Timing` line since late 2025, before only on the command line (`-b 16`); where neither is pasted it is unknown. `prompt_tps`
is the rate of prefill. All sequences begin and end together, so there is no time to first token. Lines without `Averages:` (`Pre: prompt_tps=..`) are somebody's
notes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..engine.parser import Sample
from ..engine.printed_runs import PrintedRuns, Runs
from ..engine.send import Row

__all__ = ["PARSER"]

_SIGN = "Averages: prompt_tps="
_MARKS = r"[\s#>*|/;-]*"  # comment marks, quotes, list marks
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_COMMAND = re.compile(r".*\bmlx_lm[. ]benchmark\b(?P<options>.*)")
_TIMING = re.compile(
    rf"{_MARKS}Timing with prompt_tokens=(?P<input>[0-9]{{1,9}})(?:,| and) generation_tokens=(?P<output>[0-9]{{1,9}})(?:, batch_size=(?P<batch>[0-9]{{1,6}}))?\.?\s*"
)
_RATES = re.compile(
    rf"{_MARKS}(?P<what>Averages|Trial [0-9]{{1,4}}): +prompt_tps={_NUMBER}, generation_tps=(?P<rate>{_NUMBER})(?:, \w+={_NUMBER})*\s*"
)
_COLUMNS = (
    *("line", "series", "step", "concurrency", "aggregate_tok_s", "aggregate_counts", "per_stream_tok_s", "per_stream_counts"),
    *("input_len", "output_len"),
)


def _option(options: str, *names: str) -> float | None:
    """The whole number behind an option of a command line."""
    found = re.search(rf"(?:^|\s)(?:{'|'.join(names)})[ =]([0-9]{{1,9}})\b", options)
    return float(found[1]) if found else None


@dataclass
class _Runs(Runs):
    """What is known of the run that is being read, and the rows so far."""

    load: Row = field(default_factory=dict)

    def take(self, line: int, text: str, whole: bool) -> None:
        command, timing, rates = _COMMAND.fullmatch(text), _TIMING.fullmatch(text), _RATES.fullmatch(text)
        if not whole and (command or timing or rates):
            self.counts.near(line, "the last line is cut")
        elif rates:
            self.counts.matched += 1
            if rates["what"] == "Averages":
                self.keep(line, float(rates["rate"]))
        elif timing:
            self.counts.matched += 1
            self.load |= {"input_len": float(timing["input"]), "output_len": float(timing["output"])}
            if timing["batch"]:
                self.load["batch"] = float(timing["batch"])
        elif command:
            self.counts.matched += 1
            options = command["options"]
            self.load = {
                "input_len": _option(options, "-p", "--prompt-tokens"),
                "output_len": _option(options, "-g", "--generation-tokens"),
            }
            whole_line = not options.rstrip().endswith("\\") and not re.search(r"(?:^|\s)(?:-b|--batch-size)\b", options)
            self.load["batch"] = 1.0 if whole_line and options.strip() else _option(options, "-b", "--batch-size")
        else:
            self.counts.other += 1

    def keep(self, line: int, rate: float) -> None:
        """A row; the batch of a run is not that of the next one."""
        batch = self.load.get("batch") or None
        lengths = {k: v or None for k, v in self.load.items() if k != "batch"}
        name = " ".join(f"{short}{lengths[k]:.0f}" for short, k in (("pp", "input_len"), ("tg", "output_len")) if lengths.get(k)) or None
        each = rate if batch == 1 and rate else None
        if rate:
            self.rows.append(
                {"line": line, "series": name, "step": 1 + sum(r["series"] == name for r in self.rows), "concurrency": batch}
                | {"aggregate_tok_s": rate, "aggregate_counts": "output", "per_stream_tok_s": each}
                | {"per_stream_counts": "decode" if each else None, **lengths}
            )
        self.load = {}


class MlxBenchmark(PrintedRuns):
    """Runs of mlx_lm.benchmark; see the module's page."""

    name = "mlx-benchmark"
    signs, hint, most = (_SIGN,), ("generation_tps=", "Timing with prompt_tokens=", "mlx_lm"), 500
    reader, columns = _Runs, _COLUMNS
    says = "what mlx_lm.benchmark prints: {} runs"


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "Running warmup..\nTiming with prompt_tokens=1000, generation_tokens=100, batch_size=1.\n"
        "Trial 1:  prompt_tps=400.125, generation_tps=40.250, peak_memory=3.500, total_time=5.000\n"
        "Trial 2:  prompt_tps=401.125, generation_tps=40.750, peak_memory=3.500, total_time=5.000\n"
        "Averages: prompt_tps=400.625, generation_tps=40.500, peak_memory=3.500\n",
        {
            "bench_steps": [
                {"line": 5, "series": "pp1000 tg100", "step": 1, "concurrency": 1.0, "aggregate_tok_s": 40.5, "aggregate_counts": "output",
                 "per_stream_tok_s": 40.5, "per_stream_counts": "decode", "input_len": 1000.0, "output_len": 100.0}
            ],
            "clocks": [{"kind": "none"}],
        },
        "mlx-lm 0.30 and later: the batch in the timing line",
    ),
    Sample(
        "> mlx_lm.benchmark --model org/m-4bit -p 128 -g 128 -n 2 -b 32\nAverages: prompt_tps=2300.500, generation_tps=800.250, peak_memory=6.375\n"
        "$ mlx_lm.benchmark --model org/m-4bit -p 128 -g 128\nRunning warmup..\nTiming with prompt_tokens=128 and generation_tokens=128.\n"
        "Trial 1:  prompt_tps=900.000, generation_tps=70.000, peak_memory=4.000\n"
        "Averages: prompt_tps=900.000, generation_tps=70.250, peak_memory=4.000\n"
        "Averages: prompt_tps=500.000, generation_tps=60.500, peak_memory=4.000\n",
        {
            "bench_steps": [
                {"line": 2, "series": "pp128 tg128", "step": 1, "concurrency": 32.0, "aggregate_tok_s": 800.25, "per_stream_tok_s": None},
                {"line": 7, "series": "pp128 tg128", "step": 2, "concurrency": 1.0, "aggregate_tok_s": 70.25, "per_stream_tok_s": 70.25},
                {"line": 8, "series": None, "step": 1, "concurrency": None, "aggregate_tok_s": 60.5, "per_stream_tok_s": None, "input_len": None},
            ]
        },
        "mlx-lm 0.27: the batch on the command line, or nowhere",
    ),
)  # fmt: skip

PARSER = MlxBenchmark(SAMPLES)
