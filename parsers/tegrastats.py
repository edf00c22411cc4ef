"""`tegrastats` of NVIDIA Jetson boards: one reading of the board's GPU per line.

**Reads** the lines of Jetson Linux 32 to 38 (Nano, Xavier, Orin, Thor), with the date in front (since 35) or without, from a terminal, a
log file (`--logfile`) or a pasted excerpt.

| field | column |
|---|---|
| `GR3D_FREQ 37%`, `GR3D 37%` | `util_gpu`: share of time the GPU was busy; where only clocks are printed (`GR3D_FREQ @[314,314]`) NULL |
| `@921`, `@[1300,1297]` behind it | `sm_clock`: the highest of the clusters; 0 (switched off) is NULL |
| `GPU@46.5C`, `gpu@46.5C` | `temp`; -256 (the sensor is switched off) is NULL |
| `06-25-2026 20:38:18` in front | `time` |

**Rounds.** A line is a round; the card is number 0: these boards have one GPU. **Clock.** `local-no-zone`, 1 s (month first), where a date is
printed, else `none`. `interval_s` is that of a command line with `--interval`, else that between the dates if each line has its own second.

**Traps.** CPU and GPU share one memory: `RAM` is that of the whole board and no memory of a card, not read. No rail is the board power of a
card (`VDD_IN` feeds the CPU as well, `VDD_GPU_SOC` more than the GPU, and older boards print no unit): not read. `EMC_FREQ` is a share of
the bandwidth, not of the time: not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import middle, send_clock, send_oddities
from ..engine.streams import bare_lines, numbered_lines, piece_by_piece, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

MAX_STEPS = 100_000

_LINE = r"^[#/ \t]*(?:([0-9]{2}-[0-9]{2}-[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}) )?RAM [0-9]{1,7}/[0-9]{1,7}MB\s"
_GPU = r"\sGR3D(?:_FREQ)? (?:([0-9]{1,3})%)?(?:@([0-9]{1,5})(?:\s|$)|@\[([0-9,]{1,80})\])?"
_BOTH = re.compile(rf"(?m){_LINE}.*{_GPU}")
_TEMP = r"(?i)\sgpu@(-?[0-9]{1,3}(?:\.[0-9]{1,3})?)C"
_INTERVAL = re.compile(r"\btegrastats\b[^\n]*?\s--interval[ =]([0-9]{1,7})\s")
_OFF = -40.0  # a sensor that is switched off prints -256
_NOTES = {
    "out-of-range": "values outside what the column can hold were dropped",
    "cut-row": "the unfinished last line was dropped",
}


@dataclass
class _State:
    """What the next block must know."""

    cycle: int = -1
    last: float | None = None
    steps: list[float] = field(default_factory=list)
    stated: set[int] = field(default_factory=set)  # intervals of command lines, ms
    timed: bool = False
    first_line: int | None = None
    odd: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_NOTES, 0))
    counts: Counts = field(default_factory=Counts)

    @property
    def interval(self) -> float | None:
        if len(self.stated) == 1:
            return next(iter(self.stated)) / 1000
        return middle(self.steps) if self.steps and min(self.steps) > 0 else None  # several lines in a second: how many is unknown


def _readings(rows: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Typed columns of whole lines."""
    import polars as pl

    groups = pl.col("text").str.extract_groups(_GPU)
    alone, clusters = groups.struct.field("2"), groups.struct.field("3")
    each = clusters.str.split(",").list.eval(pl.element().cast(pl.Float64, strict=False)).list.max()
    rows = rows.select(
        "line",
        time=pl.col("text").str.extract(_LINE, 1).str.to_datetime("%m-%d-%Y %H:%M:%S", strict=False).dt.epoch("s").cast(pl.Float64),
        util=groups.struct.field("1").cast(pl.Float64),
        sm_clock=pl.coalesce(alone.cast(pl.Float64), each),
        temp=pl.col("text").str.extract(_TEMP, 1).cast(pl.Float64),
        gpu=pl.lit(0, pl.Int32),
        cycle=pl.int_range(1, pl.len() + 1) + state.cycle,
    )
    state.odd["out-of-range"] += rows.filter(pl.col("util") > 100).height
    return rows.with_columns(
        util_gpu=pl.when(pl.col("util") <= 100).then("util"),
        sm_clock=pl.when(pl.col("sm_clock") > 0).then("sm_clock"),
        temp=pl.when(pl.col("temp").is_between(_OFF, 250)).then("temp"),
    ).drop("util")


def _block(first: int, text: str, state: _State, emit: Emit) -> None:
    """Read one block of lines."""
    import polars as pl

    state.stated |= {int(n) for n in _INTERVAL.findall(text)}
    frame, cut = numbered_lines(first, text)
    is_line, has_gpu = pl.col("text").str.contains(_LINE), pl.col("text").str.contains(_GPU)
    unended = (pl.col("line") == frame["line"][-1]) & pl.lit(cut)
    # a line that goes on behind the GPU has everything that is read of it but, perhaps, the temperature
    frame = frame.with_columns(is_line=is_line, row=is_line & has_gpu & (~unended | pl.col("text").str.contains(rf"{_GPU}\s.*\s")))
    rows, near = frame.filter("row"), frame.filter(pl.col("is_line") & ~pl.col("row"))
    lost = int(cut and len(near) > 0 and near["line"][-1] == frame["line"][-1])
    blank = frame.filter(pl.col("text").str.contains(r"^[\W_]*$")).height
    state.odd["cut-row"] += lost
    state.counts.block(len(frame), len(rows), blank, near["line"].head(len(near) - lost), "a line of tegrastats without GR3D")
    if not len(rows):
        return
    readings = _readings(rows, state)
    state.first_line = state.first_line or int(readings["line"][0])
    state.cycle = int(readings["cycle"][-1])
    times = readings["time"].drop_nulls()
    if len(times):
        state.timed = True
        steps = (
            times.diff(null_behavior="drop").to_list() if state.last is None else (times - times.shift(1, fill_value=state.last)).to_list()
        )
        state.steps += steps[: MAX_STEPS - len(state.steps)]
        state.last = times[-1]
    emit("gpu_samples", readings)


def _finish(state: _State, emit: Emit) -> None:
    """One clock and one quality row per oddity."""
    if state.first_line is not None:
        kind, resolution = ("local-no-zone", 1.0) if state.timed else ("none", None)
        send_clock(emit, state.first_line, kind, resolution, state.interval)
    send_oddities(emit, state.first_line or 1, state.odd, _NOTES)


_SAMPLES = (
    Sample(
        text="""$ sudo tegrastats --interval 2000
03-09-2026 07:08:10 RAM 5120/7620MB (lfb 3x4MB) SWAP 120/3810MB (cached 1MB) CPU [31%@1510,4%@1510,off,off] EMC_FREQ 58%@2133 GR3D_FREQ 97%@[611] NVDEC off VIC off APE 200 cpu@55.5C soc0@54C gpu@57.25C tj@58C VDD_IN 11250mW/9000mW VDD_CPU_GPU_CV 6100mW/4100mW VDD_SOC 2900mW/2800mW
03-09-2026 07:08:12 RAM 5121/7620MB (lfb 3x4MB) SWAP 120/3810MB (cached 1MB) CPU [2%@729,0%@729,off,off] EMC_FREQ 1%@2133 GR3D_FREQ 0%@[0,0] VIC_FREQ 729 APE 200 CPU@44.5C GPU@-256C tj@44.5C VDD_GPU_SOC 2340mW/2340mW VDD_CPU_CV 390mW/390mW
""",
        rows={
            "gpu_samples": [
                {"line": 2, "gpu": 0, "cycle": 0, "time": 1773040090.0, "util_gpu": 97.0, "sm_clock": 611.0, "temp": 57.25, "mem_used": None, "power_w": None},
                {"line": 3, "gpu": 0, "cycle": 1, "time": 1773040092.0, "util_gpu": 0.0, "sm_clock": None, "temp": None},
            ],
            "clocks": [{"kind": "local-no-zone", "resolution_s": 1.0, "interval_s": 2.0}],
        },
        versions="Orin, Jetson Linux 35 and 36",
    ),
    Sample(
        text="""RAM 1801/3964MB (lfb 9x4MB) SWAP 0/1982MB (cached 0MB) CPU [22%@1224,9%@1224,off,off] EMC_FREQ 4%@1600 GR3D_FREQ 88%@921 APE 25 PLL@31.5C CPU@36C PMIC@100C GPU@34C AO@41C thermal@35.25C POM_5V_IN 4187/3187 POM_5V_GPU 1450/450 POM_5V_CPU 612/612
RAM 1802/3964MB (lfb 9x4MB) SWAP 0/1982MB (cached 0MB) CPU [6%@102,5%@102,off,off] EMC_FREQ 0% GR3D_FREQ 0% PLL@28C CPU@31.5C PMIC@100C GPU@30.5C AO@36C thermal@31.25C POM_5V_IN 1388/1388
RAM 9000/125772MB (lfb 2x4MB) CPU [4%@972] GR3D_FREQ @[314,318,314] cpu@40.1C/41C gpu@38.5C/39.1C VDD_GPU 4385mW/3787mW/4385mW
RAM 9000/125772MB (lfb
""",
        rows={
            "gpu_samples": [
                {"util_gpu": 88.0, "sm_clock": 921.0, "temp": 34.0, "time": None},
                {"util_gpu": 0.0, "sm_clock": None, "temp": 30.5},
                {"util_gpu": None, "sm_clock": 318.0, "temp": 38.5},
            ],
            "clocks": [{"kind": "none", "interval_s": None}],
        },
        versions="Nano, Jetson Linux 32; Thor, 38.2, no load",
    ),
)  # fmt: skip


class Tegrastats:
    """`tegrastats`."""

    name = "tegrastats"
    api = 1
    records = "tegrastats --interval 1000 --logfile tegrastats.txt"
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A line with the board's memory and its GPU."""
        if "GR3D" not in head.text:
            return None
        lines = bare_lines(plain_head(head).text)
        if not any(_BOTH.match(x) for x in lines):
            return None
        foreign = any(re.search(r"\w", x) and not re.match(_LINE, x) for x in lines)
        return Claim(95, "lines of tegrastats", shares=foreign)

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, one `clocks` row and `quality` rows."""
        return piece_by_piece(source, emit, _State, _block, _finish)


PARSER = Tegrastats()
