"""`xpu-smi dump` (Intel GPUs): one row per device and sampling round.

**Reads** the CSV of `xpu-smi dump -d IDS -m METRICS [-i S] [-n N] [--file F]` (also `xpumcli dump`), with its header, once or appended,
from a file or pasted from a terminal. Columns are found by name, whatever was asked for with `-m`.

| column of the CSV | column |
|---|---|
| `DeviceId` | `gpu` |
| `GPU Utilization (%)` | `util_gpu`: active time of the elapsed time |
| `GPU Power (W)` | `power_w` |
| `GPU Frequency (MHz)` | `sm_clock`; 0 (asleep) is NULL |
| `GPU Core Temperature (Celsius Degree)`, `(C)`; `GPU Memory Temperature ...` | `temp`; `mem_temp` |
| `GPU Memory Used (MiB)` | `mem_used` |

**Rounds.** A device number that does not rise begins one. **Clock.** The rows carry a time of day without a date: seconds of the day, rising
by 86400 at midnight, `local-no-zone`, 1 ms, with the quality row `date-unknown`. A date in front is read.

**Traps.** `N/A` is NULL: many cards have no utilisation. `GPU Memory Utilization (%)` is memory in use and `GPU Memory Bandwidth
Utilization (%)` a share of the bandwidth: neither is `util_mem`. Rows of tiles (`TileId`) are shares of a device: left out
(`tile-rows`). Engines and PCIe counters are not read.
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
MIDNIGHT_FALL_S = 43_200.0  # a smaller fall is no new day

# name (lower case, without its unit) -> column, units it may print, highest value
_READ: dict[str, tuple[str, tuple[str, ...], float]] = {
    "gpu utilization": ("util_gpu", ("%",), 100),
    "gpu power": ("power_w", ("w",), 20_000),
    "gpu frequency": ("sm_clock", ("mhz",), 100_000),
    "gpu core temperature": ("temp", ("celsius degree", "c"), 250),
    "gpu memory temperature": ("mem_temp", ("celsius degree", "c"), 250),
    "gpu memory used": ("mem_used", ("mib",), 1e9),
}
_HEADER = r"^[#/ \t]*Timestamp, *DeviceId, *[A-Za-z].*$"
_ROW = r"^[#/ \t]*(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ])?[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?, *[0-9]{1,4},"
_TIME = r"^[#/ \t]*(?:([0-9]{4}-[0-9]{2}-[0-9]{2})[T ])?([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]{1,6})?)$"
_NOTES = {
    "date-unknown": "times without a date: seconds of the day, rising past midnight; the day is not in the file",
    "tile-rows": "rows of tiles were left out: they are shares of one device and must not be added to it",
    "out-of-range": "values outside what the column can hold were dropped",
    "cut-row": "the unfinished last line was dropped",
}


@dataclass
class _State:
    """What the next block must know."""

    header: str = ""
    cycle: int = -1
    gpu: int | None = None  # of the last row
    clock: float | None = None
    day: int = 0
    start: float | None = None  # of the last round
    timed: bool = False
    steps: list[float] = field(default_factory=list)
    first_line: int | None = None
    odd: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_NOTES, 0))
    counts: Counts = field(default_factory=Counts)


def _columns(header: str) -> dict[int, tuple[str, float]]:
    """Cell -> (column, highest value); a column whose unit it never had is not read."""
    out: dict[int, tuple[str, float]] = {}
    for cell, name in enumerate(header.split(",")):
        found = re.match(r"^\s*(.*?)\s*\(([^()]*)\)\s*$", name.lower())
        into = _READ.get(found[1]) if found else None
        if found and into and found[2] in into[1] and into[0] not in {c for c, _ in out.values()}:
            out[cell] = (into[0], into[2])
    return out


def _values(group: pl.DataFrame, header: str, state: _State) -> pl.DataFrame:
    """Typed rows below one header; rows that do not fit it are left out, rows of tiles too."""
    import polars as pl

    names = [n.strip().lower() for n in header.split(",")]
    group = group.with_columns(cells=pl.col("text").str.split(",").list.eval(pl.element().str.strip_chars()))
    group = group.filter(pl.col("cells").list.len() == len(names))
    cell = pl.col("cells").list.get
    clock = cell(0).str.extract_groups(_TIME)
    day = clock.struct.field("1").str.to_date(strict=False).cast(pl.Int32).cast(pl.Float64) * 86400.0
    part = [clock.struct.field(str(k)).cast(pl.Float64, strict=False) for k in (2, 3, 4)]
    inside = (part[0] < 24) & (part[1] < 60) & (part[2] < 61)
    time = pl.when(inside).then(part[0] * 3600 + part[1] * 60 + part[2] + day.fill_null(0.0))
    rows = group.with_columns(gpu=cell(1).cast(pl.Int32), time=time)
    if "tileid" in names:
        state.odd["tile-rows"] += len(rows)
        return rows.clear().select("line", "gpu", "time")
    state.odd["date-unknown"] |= int(rows.select((pl.col("time") < 86400.0).any()).item() or False)
    for at, (column, high) in _columns(header).items():
        value = cell(at).str.extract(r"^([0-9]{1,9}(?:\.[0-9]{1,6})?)$", 1).cast(pl.Float64)
        low = value > 0 if column == "sm_clock" else value >= 0
        state.odd["out-of-range"] += int(rows.select((value > high).sum()).item())
        rows = rows.with_columns(pl.when(low & (value <= high)).then(value).alias(column))
    return rows.drop("cells", "text")


def _timed(rows: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Days added past midnight, rounds numbered, steps between rounds kept."""
    import polars as pl

    fall = pl.col("time").shift(1, fill_value=state.clock) - pl.col("time")
    rows = rows.with_columns(day=(fall > MIDNIGHT_FALL_S).fill_null(False).cast(pl.Int64).cum_sum() + state.day)
    new = (pl.col("gpu") <= pl.col("gpu").shift(1, fill_value=state.gpu)).fill_null(True)
    rows = rows.with_columns(new=new, cycle=new.cast(pl.Int64).cum_sum() + state.cycle)
    state.cycle, state.gpu, state.day = int(rows["cycle"][-1]), int(rows["gpu"][-1]), int(rows["day"][-1])
    state.clock = rows["time"].drop_nulls()[-1] if rows["time"].count() else state.clock
    rows = rows.with_columns(time=pl.col("time") + pl.col("day") * 86400.0)
    for start in rows.filter("new")["time"].drop_nulls():  # one step per round
        if state.start is not None and start > state.start and len(state.steps) < MAX_STEPS:
            state.steps.append(start - state.start)
        state.start = start
    return rows.drop("day", "new")


def _block(first: int, text: str, state: _State, emit: Emit) -> None:
    """Read one block of lines."""
    import polars as pl

    frame, cut = numbered_lines(first, text)
    is_header, shape = pl.col("text").str.contains(_HEADER), pl.col("text").str.contains(_ROW)
    frame = frame.with_columns(is_header=is_header, header=pl.when(is_header).then("text").forward_fill().fill_null(state.header))
    state.header = frame["header"][-1]
    unended = (pl.col("line") == frame["line"][-1]) & pl.lit(cut)
    likely = frame.filter(shape & (pl.col("header") != ""))
    whole = likely.filter(~unended).select("line", "text", "header")
    found = [_values(group.drop("header"), str(header), state) for (header,), group in whole.group_by("header", maintain_order=True)]
    rows = pl.concat(found, how="diagonal").sort("line") if found else None
    tiles = whole.filter(pl.col("header").str.contains("TileId", literal=True)).height
    taken = (len(rows) if rows is not None else 0) + tiles
    near = (
        whole
        if rows is None
        else whole.filter(~pl.col("line").is_in(rows["line"].implode()) & ~pl.col("header").str.contains("TileId", literal=True))
    )
    blank, headers = frame.filter(pl.col("text").str.contains(r"^[\W_]*$")).height, int(frame["is_header"].sum())
    state.odd["cut-row"] += len(likely) - len(whole)
    state.counts.block(len(frame), taken, blank + headers, near["line"], "a row of xpu-smi dump that does not fit its header")
    if rows is None or not len(rows):
        return
    state.first_line = state.first_line or int(rows["line"][0])
    rows = _timed(rows, state)
    state.timed = state.timed or rows["time"].count() > 0
    emit("gpu_samples", rows)


def _finish(state: _State, emit: Emit) -> None:
    """One clock and one quality row per oddity."""
    if state.first_line is not None:
        kind, resolution = ("local-no-zone", 0.001) if state.timed else ("none", None)
        send_clock(emit, state.first_line, kind, resolution, middle(state.steps))
    send_oddities(emit, state.first_line or 1, state.odd, _NOTES)


_SAMPLES = (
    Sample(
        text="""$ xpu-smi dump -d 0,1 -m 0,1,2,3,4,5,18
Timestamp, DeviceId, GPU Utilization (%), GPU Power (W), GPU Frequency (MHz), GPU Core Temperature (Celsius Degree), GPU Memory Temperature (Celsius Degree), GPU Memory Utilization (%), GPU Memory Used (MiB)
23:59:58.500,    0, 87.25, 181.50, 1550.00, 55.50, 61.00, 71.40, 34912.20
23:59:58.501,    1, 0.00, 95.25,    0,  N/A,  N/A, 0.05, 28.02
00:00:00.500,    0, 91.00, 190.00, 1550.00, 56.00, 61.00, 71.40, 34912.20
00:00:00.501,    1,  N/A, 95.00,    0,  N/A,  N/A, 0.05, 28.02
00:00:02.500,
""",
        rows={
            "gpu_samples": [
                {
                    "line": 3, "gpu": 0, "cycle": 0, "time": 86398.5, "util_gpu": 87.25, "power_w": 181.5, "sm_clock": 1550.0, "temp": 55.5,
                    "mem_temp": 61.0, "mem_used": 34912.2, "util_mem": None,
                },
                {"line": 4, "gpu": 1, "cycle": 0, "util_gpu": 0.0, "sm_clock": None, "temp": None, "mem_used": 28.02},
                {"line": 5, "gpu": 0, "cycle": 1, "time": 86400.5},
                {"line": 6, "gpu": 1, "cycle": 1, "util_gpu": None, "power_w": 95.0},
            ],
            "clocks": [{"kind": "local-no-zone", "resolution_s": 0.001, "interval_s": 2.0}],
            "quality": [{"kind": "date-unknown"}],
        },
        versions="1.2, two devices past midnight",
    ),
    Sample(
        text="""Timestamp, DeviceId, GPU Power (W), GPU Utilization (%)
06:14:46.000, 0, 52.82, 44.00
Timestamp, DeviceId, TileId, GPU Utilization (%)
06:20:00.000, 0, 0, 80.00
06:20:00.000, 0, 1, 8.00
""",
        rows={
            "gpu_samples": [{"gpu": 0, "util_gpu": 44.0, "power_w": 52.82, "time": 22486.0}],
            "quality": [{"kind": "date-unknown", "n": 1}, {"kind": "tile-rows", "n": 2}],
        },
        versions="1.0, appended rows of tiles",
    ),
)  # fmt: skip


class XpuSmiDump:
    """`xpu-smi dump`."""

    name = "xpu-smi-dump"
    api = 1
    records = "xpu-smi dump -d -1 -m 0,1,2,3,4,18 -i 1 > xpu.csv"
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """The header with a column that is read, and a row below it."""
        if "DeviceId" not in head.text:
            return None
        lines = bare_lines(plain_head(head).text)
        if not any(re.match(_HEADER, x) and _columns(x) for x in lines):
            return None
        if not any(re.match(_ROW, x) for x in lines):
            return Refusal(50, "the header of xpu-smi dump without a row")
        foreign = any(re.search(r"\w", x) and not re.match(rf"{_HEADER}|{_ROW}", x) for x in lines[:-1])
        return Claim(93, "xpu-smi dump", shares=foreign)

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, one `clocks` row and `quality` rows."""
        return piece_by_piece(source, emit, _State, _block, _finish)


PARSER = XpuSmiDump()
