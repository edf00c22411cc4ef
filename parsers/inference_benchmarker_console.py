"""The tables that Hugging Face's inference-benchmarker prints at the end of a run.

**Reads** the table `Benchmark | QPS | E2E Latency (avg) | ...` in box-drawing characters or pipes, alone or between the lines of any log,
several in one file, with the table of parameters above it where it is there. The JSON of the same run is read by inference-benchmarker.

**`bench_steps`**, one row per benchmark, the warm-up left out: `rate_rps` of `constant@6.49req/s`; `concurrency` of `throughput` is `Max VUs`
of the parameters, else NULL. `req_s` (`QPS`), `aggregate_tok_s` (output), `completed` and `requests` (`1138/1138`), `failed`, `e2e_mean_ms`,
`ttft_mean_ms`, `input_len`, `output_len`; `ITL (avg)` is one mean per request and goes to `tpot_mean_ms`.

**Traps.** `QPS` is what was answered, not what was offered: 41.5 of `constant@100.00req/s`. Failed requests are in no average.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_clock, send_rows

__all__ = ["PARSER"]

_BARS = r"[│┃|]"
_EDGE = re.compile(r"[\s>]*[┌├└┏┗┡+|│┃][─━┬┼┴┤┐┘+|=┳┻╇┫┓┛┩-]+\s*")
_HEADS = {
    "e2e latency (avg)": ("e2e_mean_ms", {"sec": 1e3, "ms": 1.0}),
    "ttft (avg)": ("ttft_mean_ms", {"sec": 1e3, "ms": 1.0}),
    "itl (avg)": ("tpot_mean_ms", {"sec": 1e3, "ms": 1.0}),
    "qps": ("req_s", {"req/s": 1.0}),
    "throughput": ("aggregate_tok_s", {"tokens/sec": 1.0}),
    "prompt tokens per req (avg)": ("input_len", {"": 1.0}),
    "decoded tokens per req (avg)": ("output_len", {"": 1.0}),
}
_RUN = re.compile(r"(warmup|throughput)|constant@(\d{1,9}(?:\.\d{1,6})?)req/s")
_VALUE = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(?: ([a-z/]+))?")


@dataclass
class _State:
    """The table that is being read, and what the parameters above it said."""

    counts: Counts = field(default_factory=Counts)
    tables: list[list[Row]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    users: float | None = None  # of the parameters above the next table
    offered: float | None = None  # of those above this one

    def take(self, line: int, text: str, whole: bool) -> None:
        cells = [c.strip() for c in re.split(_BARS, text.strip().lstrip("> "))][1:-1]
        if _EDGE.fullmatch(text):
            self.counts.noise += 1
        elif whole and [c.lower() for c in cells[:2]] == ["benchmark", "qps"]:
            self.names = [c.lower() for c in cells]
            self.offered, self.users = self.users, None
            self.tables.append([])
            self.counts.noise += 1
        elif whole and len(cells) == 2 and cells[0] == "Max VUs" and re.fullmatch(r"[1-9]\d{0,6}", cells[1]):
            self.users, self.names = float(cells[1]), []
            self.counts.matched += 1
        elif self.names and cells and (run := _RUN.fullmatch(cells[0])):
            self.row(line, run, cells, whole)
        else:
            self.names = []
            self.counts.other += 1

    def row(self, line: int, run: re.Match[str], cells: list[str], whole: bool) -> None:
        if not whole or len(cells) != len(self.names):
            self.counts.near(line, f"{len(cells)} cells under {len(self.names)} headers")
            return
        self.counts.matched += 1
        if run[1] == "warmup":
            return
        row: Row = {"line": line, "rate_rps": float(run[2]) if run[2] else None, "concurrency": self.offered if run[1] else None}
        at = dict(zip(self.names, cells))
        if done := re.fullmatch(r"(\d{1,9})/(\d{1,9})", at.get("successful requests", "")):
            row |= {"completed": float(done[1]), "requests": float(done[2]), "failed": float(done[2]) - float(done[1])}
        if row.get("completed") != 0:
            for name, (column, units) in _HEADS.items():
                found = _VALUE.fullmatch(at.get(name, ""))
                if found and (found[2] or "") in units:
                    row[column] = float(f"{float(found[1]) * units[found[2] or '']:.12g}") or None
        row["aggregate_counts"] = "output" if row.get("aggregate_tok_s") else None
        self.tables[-1].append(row)


def _read(state: _State, first: int, block: str) -> None:
    """Only lines with bars are looked at one by one."""
    import polars as pl

    lines = pl.Series(block.split("\n"), dtype=pl.String)
    whole = block.endswith("\n")
    lines = lines.head(len(lines) - 1) if whole else lines
    hit = lines.str.contains(rf"^[\s>]*(?:{_BARS}|[┌├└┏┗┡+])") & (lines.str.len_chars() <= 1000)
    state.counts.other += int((~hit).sum())
    for at in hit.arg_true().to_list():
        state.take(first + at, lines[at], whole or at < len(lines) - 1 or bool(re.search(rf"{_BARS}\s*$", lines[at])))


class InferenceBenchmarkerConsole:
    """Printed tables of inference-benchmarker; see the module's page."""

    name = "inference-benchmarker-console"
    api = 1
    beyond = ("E2E Latency (avg)",)

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        if "E2E Latency (avg)" not in head.text:
            return None
        state = _State()
        _read(state, 1, head.text)
        rows = sum(map(len, state.tables))
        return Claim(80, f"a printed table of inference-benchmarker: {rows} benchmarks", shares=True) if rows else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps` and one of `clocks`."""
        state = _State()
        for first, block in source.blocks():
            _read(state, first, block)
        tables = [t for t in state.tables if t]
        for n, rows in enumerate(tables, 1):
            series = f"run {n}" if len(tables) > 1 else None
            send_rows(emit, "bench_steps", [row | {"step": k, "series": series} for k, row in enumerate(rows, 1)])
        if tables:
            send_clock(emit, tables[0][0]["line"], "none", None, None)
        return state.counts


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "┌───────────┬─────┐\n│ Parameter │ Value │\n├───────────┼─────┤\n│ Max VUs   │ 64    │\n│ Duration  │ 30    │\n└───────────┴─────┘\n"
        "┌──────────────────────┬─────┐\n│ Benchmark            │ QPS         │ E2E Latency (avg) │ TTFT (avg)  │ ITL (avg) │ Throughput         "
        "│ Error Rate │ Successful Requests │ Prompt tokens per req (avg) │ Decoded tokens per req (avg) │\n├──────────────────────┼─────┤\n"
        "│ warmup               │ 0.75 req/s  │ 1.35 sec          │ 22.55 ms    │ 7.75 ms   │ 128.75 tokens/sec  "
        "│ 0.00%      │ 23/23               │ 200.00                      │ 173.50                       │\n"
        "│ throughput           │ 27.25 req/s │ 2.25 sec          │ 896.50 ms   │ 16.25 ms  │ 3940.75 tokens/sec "
        "│ 0.03%      │ 3247/3248           │ 512.00                      │ 145.75                       │\n"
        "│ constant@100.00req/s │ 41.50 req/s │ 17.25 sec         │ 14852.50 ms │ 11.75 ms  │ 7435.25 tokens/sec "
        "│ 0.00%      │ 4981/4981           │ 200.00                      │ 179.25                       │\n└──────────────────────┴─────┘\n",
        {
            "bench_steps": [
                {
                    "line": 11, "step": 1, "concurrency": 64.0, "rate_rps": None, "requests": 3248.0, "completed": 3247.0, "failed": 1.0,
                    "req_s": 27.25, "e2e_mean_ms": 2250.0, "ttft_mean_ms": 896.5, "tpot_mean_ms": 16.25, "itl_mean_ms": None,
                    "aggregate_tok_s": 3940.75, "aggregate_counts": "output", "input_len": 512.0, "output_len": 145.75,
                },
                {"line": 12, "step": 2, "concurrency": None, "rate_rps": 100.0, "req_s": 41.5, "failed": 0.0},
            ],
            "clocks": [{"kind": "none"}],
        },
        "1.0 and later",
    ),
    Sample(
        "| Benchmark  | QPS        | E2E Latency (avg) | TTFT (avg) | Successful Requests |\n|------------|------------|---|---|---|\n"
        "| throughput | 9.75 req/s | 11.25 sec | 83.25 ms | 300/300 |\n",
        {"bench_steps": [{"concurrency": None, "rate_rps": None, "req_s": 9.75, "e2e_mean_ms": 11250.0, "completed": 300.0}]},
        "pasted as Markdown, without parameters",
    ),
)  # fmt: skip

PARSER = InferenceBenchmarkerConsole()
