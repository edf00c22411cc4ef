"""The GPU trace that `nsys stats -r cuda_gpu_trace --format csv` writes from a report of Nsight Systems.

**Reads** the CSV (`Start (ns),Duration (ns),CorrId,...,Device,Ctx,GreenCtx,Strm,Name`; GreenCtx since 2024), also behind the lines that
nsys prints before it and other reports in the same file; times in ns, us, ms or s as the header says.

**`kernels`**, one row per interval, on a clock of seconds since the profiling began: `gpu` (the number in brackets behind the name of the
card; NULL without one), `stream`, `kind`: `memcpy`, `memset`, `collective` (NCCL) or `kernel`. Names do not leave. `process` is not in
this report and NULL.

**Not read**: the sums and gaps that `nsys stats` and `nsys analyze` print, and tables of HTA: they hold neither the intervals nor the
time around them. They are refused with what to give instead. A table printed without `--format csv` is refused, too.

**Traps.** Launches of whole CUDA graphs hide their kernels unless the trace was made with `--cuda-graph-trace=node`. An interval of a
process that shares its card includes the time it was switched out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import send_clock

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

_HEADER = r"Start \((?:ns|us|ms|s)\),Duration \((?:ns|us|ms|s)\),CorrId,.*,Device,Ctx,(?:GreenCtx,)?Strm,Name"
_SCALE = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_REPORT = re.compile(
    r"\((?:gpu_gaps|gpu_time_util|cuda_api_sync|cuda_mem(?:cpy|set)_(?:a?sync)|cuda_(?:gpu_(?:kern|mem\w*)|api|kern_exec)\w*|nvtx_\w+|osrt_sum)\):"
)
_HTA = re.compile(r"(?m)^\s*rank\s+(?:idle_time\(us\)|stream\s+idle_category|comp_comm_overlap_pctg)")
_ADVICE = "sums and gaps, not intervals: give the .sqlite beside the report, or what nsys stats -r cuda_gpu_trace --format csv writes"


class NsysGpuTrace:
    """cuda_gpu_trace as CSV; see the module's page."""

    name = "nsys-gpu-trace"
    api = 1

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """The header of the CSV; the other reports of nsys and the tables of HTA are refused with advice."""
        if re.search(rf"(?m)^{_HEADER}$", head.text):
            return Claim(93, "the GPU trace of nsys stats")
        if re.search(r"\(cuda_gpu_trace\):|(?m:^ *Start \(ns\) +Duration \(ns\) +CorrId )", head.text):
            return Refusal(60, "a GPU trace of nsys stats as a table: write it with --format csv")
        if _REPORT.search(head.text) or re.search(r"(?m)^Processing \[.*\] with \[.*/rules/\w+\.py\]", head.text):
            return Refusal(60, f"a report of nsys: {_ADVICE}")
        if _HTA.search(head.text):
            return Refusal(60, "tables of HTA: give the traces of the PyTorch profiler that they were made from")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `kernels` and one of `clocks`."""
        counts, names, first_row, finest = Counts(), list[str](), 0, 1.0
        for first, text in source.blocks():
            at, line = 0, first
            for found in [*re.finditer(rf"(?m)^{_HEADER}$", text), None]:
                end = found.start() if found else len(text)
                rows = _rows(names, line, text[at:end], counts)
                if rows is not None and rows.height:
                    emit("kernels", rows)
                    first_row = first_row or int(rows["line"][0])
                    finest = min(finest, _scale(names[0]))
                if found and text[found.end() : found.end() + 1] == "\n":
                    names = found[0].split(",")
                    counts.noise += 1
                elif found:
                    counts.near_miss += 1
                line += text.count("\n", at, found.end() + 1) if found else 0
                at = found.end() + 1 if found else at
        if first_row:
            send_clock(emit, first_row, "since-start", finest, None)
        return counts


def _scale(name: str) -> float:
    return _SCALE[name[name.index("(") + 1 : -1]]


def _rows(names: Sequence[str], first: int, text: str, counts: Counts) -> pl.DataFrame | None:
    """The rows of a part of the text under one header; the name of a kernel is the last column and may hold commas."""
    import polars as pl

    if not text:
        return None
    lines = text.split("\n")
    cut = lines.pop()
    if cut:
        counts.near(first + len(lines), "the last line is cut")
    frame = pl.DataFrame({"line": pl.int_range(first, first + len(lines), eager=True), "text": pl.Series(lines, dtype=pl.String)})
    wanted = pl.col("text").str.contains(r"^[0-9]") if names else pl.lit(False)
    counts.other += frame.filter(~wanted).height
    held = frame.filter(wanted)
    if not held.height:
        return None
    cells = pl.col("text").str.splitn(",", len(names)).struct
    at = {name.split(" ")[0]: k for k, name in enumerate(names)}

    def number(name: str) -> pl.Expr:
        cell = cells.field(f"field_{at[name]}")
        return pl.when(cell.str.contains(r"^[0-9]{1,18}(\.[0-9]{1,9})?$")).then(cell).cast(pl.Float64, strict=False)

    label = cells.field(f"field_{at['Name']}")
    kind = (
        pl.when(label.str.contains("[CUDA memcpy", literal=True)).then(pl.lit("memcpy"))
        .when(label.str.contains("[CUDA memset", literal=True)).then(pl.lit("memset"))
        .when(label.str.contains("(?i)nccl")).then(pl.lit("collective")).otherwise(pl.lit("kernel"))
    )  # fmt: skip
    rows = held.select(
        "line",
        gpu=cells.field(f"field_{at['Device']}").str.extract(r"\(([0-9]{1,3})\)\"?$").cast(pl.Int32),
        stream=number("Strm").cast(pl.Int64),
        kind=kind,
        started_at=number("Start") * _scale(names[0]),
        took=number("Duration") * _scale(names[1]),
        named=label,
    )
    good = rows.filter(pl.col("started_at").is_not_null() & pl.col("took").is_not_null() & pl.col("named").is_not_null())
    counts.matched += good.height
    for line in rows.filter(~pl.col("line").is_in(good["line"].implode()))["line"].to_list():
        counts.near(line, "a row of another shape")
    return good.select("line", "gpu", "stream", "kind", "started_at", finished_at=pl.col("started_at") + pl.col("took"))


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "Processing [reports/x.sqlite] with [cuda_gpu_trace.py]... \n"
        "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),"
        "SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"
        "1000000000,500,123,,,,,,,,,,4.194,6337.593,Pinned,Device,NVIDIA RTX A6000 (1),1,,13,[CUDA memcpy Host-to-Device]\n"
        '1000001000,7000,128,4096,1,1,256,1,1,16,0.000,0.000,,,,,NVIDIA RTX A6000 (1),1,,7,"void gemm<float, 4>(float *, int)"\n'
        "1000009000,1000,129,1,1,1,96,1,1,96,0.0,0.1,,,,,NVIDIA RTX A6000 (0),1,,9,ncclDevKernel_AllReduce_Sum_bf16\n",
        {
            "kernels": [
                {"line": 3, "gpu": 1, "stream": 13, "kind": "memcpy", "started_at": 1.0, "finished_at": 1.0000005, "process": None},
                {"line": 4, "gpu": 1, "stream": 7, "kind": "kernel", "started_at": 1.000001, "finished_at": 1.000008},
                {"line": 5, "gpu": 0, "kind": "collective"},
            ],
            "clocks": [{"kind": "since-start", "resolution_s": 1e-09}],
        },
        "2024 to 2026",
    ),
    Sample(
        "Start (us),Duration (us),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MBps),"
        "SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n2500.5,10.25,1,,,,,,,,,,,,,,GPU,1,7,[CUDA memset]\n",
        {"kernels": [{"gpu": None, "stream": 7, "kind": "memset", "started_at": 0.0025005, "finished_at": 0.00251075}]},
        "2022, microseconds",
    ),
)

PARSER = NsysGpuTrace()
