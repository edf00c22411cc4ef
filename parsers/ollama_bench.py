"""Ollama's own benchmark, `cmd/bench` (`ollama-bench`): CSV, benchstat lines and the Markdown table.

**Reads** `-format csv` (`NAME,STEP,COUNT,NS_PER_COUNT,TOKEN_PER_SEC`), `-format benchstat` (`BenchmarkModel/name=.../step=generate ...`) and the
table it printed at first (`Model | Step | Count | Duration | nsPerToken | tokensPerSec`), alone or between other lines. The steps of one model up
to the first that comes again are one epoch: one request, and one row.

**`bench_steps`**: `concurrency` 1, as the tool sends one request after the other. `per_stream_tok_s` (decode): the rate of `generate`.
`ttft_mean_ms`: `ttft` (client, since 2026). `e2e_mean_ms`: `total`, which contains loading the model, so it is left out where `load` took
more than a tenth of it. `input_len`, `output_len`: the counts of `prefill` (without what a cache held) and `generate`; in newer benchstat
lines the count is 1 and none is known. `series` is the model where there are several.

**`models`**, from the comment line (`# Model: ... | Params: 4.3B | Quant: Q4_K_M | Family: ...`): name, parameters, format, family. Its `Size` is
memory, not a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_clock, send_rows
from ..engine.streams import likely_lines

__all__ = ["PARSER"]

_STEP = r"(?P<step>prefill|generate|ttft|load|total)"
_N = r"[0-9]{1,18}(?:\.[0-9]{1,6})?"
_CSV = re.compile(rf"(?P<name>[^,#\s][^,]*),{_STEP},(?P<count>[0-9]{{1,9}}),(?P<ns>{_N}),(?P<rate>{_N})?")
_BENCHSTAT = re.compile(
    rf"BenchmarkModel/name=(?P<name>\S+)/step={_STEP}\s+(?P<count>[0-9]{{1,9}})\s+(?P<ns>{_N}) ns/\w+(?:\s+(?P<rate>{_N}) token/sec)?"
)
_TABLE = re.compile(
    rf"\|?\s*(?P<name>[^|\s]+)\s*\|\s*{_STEP}\s*\|\s*(?P<count>[0-9]{{1,9}})\s*\|\s*(?P<took>[0-9.]+(?:ns|µs|us|ms|s|m[0-9.]+s))\s*\|"
    rf"\s*(?P<ns>{_N}|-)\s*\|\s*(?P<rate>{_N}|-)\s*\|?"
)
_MODEL = re.compile(
    r"# Model: (?P<name>\S+)(?: \| Params: (?P<params>[0-9.]+)(?P<unit>[KMBT]))?(?: \| Quant: (?P<quant>\S+))?(?: \| Family: (?P<family>\S+))?.*"
)
_HEADERS = re.compile(
    r"NAME,STEP,COUNT,NS_PER_COUNT,TOKEN_PER_SEC|\|?\s*Model \| Step \| Count \| Duration \| nsPerToken \| tokensPerSec \|?"
)
_HINT = r"^BenchmarkModel/name=|,(?:prefill|generate|ttft|load|total),|\| *(?:prefill|generate|ttft|load|total) *\||^# Model: |NAME,STEP,COUNT|nsPerToken"
_TAKEN = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3}
_UNITS = {"K": 1e-6, "M": 1e-3, "B": 1.0, "T": 1e3}
_COLUMNS = (
    "line",
    "series",
    "step",
    "concurrency",
    "requests",
    "per_stream_tok_s",
    "per_stream_counts",
    "input_len",
    "output_len",
    "ttft_mean_ms",
    "e2e_mean_ms",
)


@dataclass
class _Bench:
    """Epochs and models so far."""

    counts: Counts = field(default_factory=Counts)
    epochs: list[Row] = field(default_factory=list)
    models: list[Row] = field(default_factory=list)
    open: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)  # model -> step -> what the line says
    lines: dict[str, int] = field(default_factory=dict)

    def take(self, line: int, text: str, whole: bool) -> None:
        found = _BENCHSTAT.fullmatch(text) or _CSV.fullmatch(text) or _TABLE.fullmatch(text)
        model = _MODEL.fullmatch(text)
        if not whole:
            self.counts.near(line, "the last line is cut")
        elif model:
            self.counts.matched += 1
            params = float(model["params"]) * _UNITS[model["unit"]] if model["params"] else None
            self.models.append(
                {"line": line, "name": model["name"], "params_total_b": params, "quantisation": model["quant"], "arch": model["family"]}
            )
        elif found:
            self.counts.matched += 1
            name, step = found["name"], found["step"]
            if step in self.open.setdefault(name, {}):
                self.close(name)
            self.lines.setdefault(name, line)
            self.open.setdefault(name, {})[step] = {k: v for k, v in found.groupdict().items() if v is not None} | {
                "counted": "" if text.startswith("Bench") and found["count"] == "1" else "yes"
            }
        elif _HEADERS.fullmatch(text):
            self.counts.noise += 1
        else:
            self.counts.other += 1

    def close(self, name: str) -> None:
        """The epoch of a model becomes a row; without a rate of generation it is none."""
        steps, line = self.open.pop(name, {}), self.lines.pop(name, 0)
        rate = steps.get("generate", {}).get("rate", "-")
        if rate == "-" or float(rate) <= 0:
            return
        total, load = _took(steps.get("total")), _took(steps.get("load"))
        row: Row = {
            "line": line,
            "series": name,
            "concurrency": 1.0,
            "requests": 1.0,
            "per_stream_tok_s": float(rate),
            "per_stream_counts": "decode",
        }
        row |= {
            "ttft_mean_ms": _took(steps.get("ttft")),
            "e2e_mean_ms": total if total and load is not None and load <= 0.1 * total else None,
        }
        for column, step in (("input_len", "prefill"), ("output_len", "generate")):
            held = steps.get(step, {})
            row[column] = float(held["count"]) or None if held.get("counted") else None
        self.epochs.append(row)


def _took(step: dict[str, str] | None) -> float | None:
    """Milliseconds of a step that is a duration."""
    if step is None:
        return None
    if "took" in step:
        found = re.fullmatch(r"(?:([0-9]+)m)?([0-9.]+)(ns|µs|us|ms|s)", step["took"])
        return None if not found else int(found[1] or 0) * 6e4 + float(found[2]) * _TAKEN[found[3]]
    return float(step["ns"]) * 1e-6 or None if step["count"] == "1" and step["ns"] != "-" else None


class OllamaBench:
    """Results of ollama-bench; see the module's page."""

    name = "ollama-bench"
    api = 1

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """At least one epoch in the head."""
        if not re.search(_HINT.replace("^", "(?m:^)"), head.text):
            return None
        bench = _read([(1, head.text if head.text.endswith("\n") else head.text + "\n")])
        return Claim(80, f"results of ollama-bench: {len(bench.epochs)} epochs", shares=True) if bench.epochs else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps`, `models` and one of `clocks`."""
        bench = _read(source.blocks())
        several = len({row["series"] for row in bench.epochs}) > 1
        place: dict[str, int] = {}
        for row in bench.epochs:
            place[row["series"]] = place.get(row["series"], 0) + 1
            row["step"] = place[row["series"]] if several else sum(place.values())
            row["series"] = row["series"] if several else None
        if bench.epochs:
            send_rows(emit, "bench_steps", bench.epochs, _COLUMNS)
            send_clock(emit, bench.epochs[0]["line"], "none", None, None)
            if bench.models:
                send_rows(emit, "models", bench.models)
        return bench.counts


def _read(blocks) -> _Bench:  # type: ignore[no-untyped-def]
    """Only lines that could be one of the tool are looked at one by one."""
    bench = _Bench()
    for first, block in blocks:
        for line, text, whole in likely_lines(first, block, _HINT, 400, bench.counts):
            bench.take(line, text.strip(), whole)
    for name in list(bench.open):
        bench.close(name)
    bench.epochs.sort(key=lambda r: r["line"])
    return bench


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "NAME,STEP,COUNT,NS_PER_COUNT,TOKEN_PER_SEC\n# Model: gemma3 | Params: 4.3B | Quant: Q4_K_M | Family: gemma3 | Size: 4080218931 | VRAM: 4080218931\n"
        "gemma3,prefill,128,200000.00,5000.00\ngemma3,generate,200,20000000.00,50.00\ngemma3,ttft,1,45250000,0\ngemma3,load,1,1500000000,0\n"
        "gemma3,total,1,5600000000,0\n"
        "gemma3,prefill,128,200000.00,5000.00\ngemma3,generate,200,20000000.00,50.00\ngemma3,ttft,1,45250000,0\ngemma3,load,1,20000000,0\n"
        "gemma3,total,1,4100000000,0\n",
        {
            "bench_steps": [
                {"line": 3, "step": 1, "series": None, "concurrency": 1.0, "per_stream_tok_s": 50.0, "per_stream_counts": "decode",
                 "input_len": 128.0, "output_len": 200.0, "ttft_mean_ms": 45.25, "e2e_mean_ms": None},
                {"line": 8, "step": 2, "e2e_mean_ms": 4100.0},
            ],
            "models": [{"name": "gemma3", "params_total_b": 4.3, "quantisation": "Q4_K_M", "arch": "gemma3", "file_bytes": None}],
            "clocks": [{"kind": "none"}],
        },
        "CSV of 2026",
        name="bench.csv",
    ),
    Sample(
        "BenchmarkModel/name=a:4b/step=prefill 1 200000.00 ns/token 5000.00 token/sec\nBenchmarkModel/name=a:4b/step=generate 1 20000000.00 ns/token 50.00 token/sec\n"
        "BenchmarkModel/name=a:4b/step=ttft 1 45250000 ns/op\nBenchmarkModel/name=b:8b/step=generate 128 40000000.00 ns/token 25.00 token/sec\n"
        "BenchmarkModel/name=b:8b/step=load 1 1500000000 ns/request\n",
        {
            "bench_steps": [
                {"line": 1, "series": "a:4b", "step": 1, "per_stream_tok_s": 50.0, "output_len": None, "ttft_mean_ms": 45.25},
                {"line": 4, "series": "b:8b", "step": 1, "per_stream_tok_s": 25.0, "output_len": 128.0, "ttft_mean_ms": None},
            ]
        },
        "benchstat, both forms",
    ),
    Sample(
        " Model | Step | Count | Duration | nsPerToken | tokensPerSec |\n|-------|------|-------|----------|------------|--------------|\n"
        "| a:20b | prefill | 124 | 30.5ms | 245967.74 | 4065.57 |\n| a:20b | generate | 200 | 2.5s | 12500000.00 | 80.00 |\n"
        "| a:20b | load | 1 | 121.5ms | - | - |\n| a:20b | total | 1 | 2.75s | - | - |\n",
        {"bench_steps": [{"line": 3, "per_stream_tok_s": 80.0, "input_len": 124.0, "output_len": 200.0, "e2e_mean_ms": 2750.0}]},
        "the table of 2025",
    ),
)  # fmt: skip

PARSER = OllamaBench()
