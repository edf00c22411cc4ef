"""`intel_gpu_top -l` (also `-o FILE`): one row per sampling period of one Intel GPU.

**Reads** the list of igt-gpu-tools 1.25 and later under its two header lines, which come again while it runs: with or without power and memory
columns, engines with `se` and `wa` or without. The screen of `intel_gpu_top`, `-J` and `-c` are not read.

| column of the list | column |
|---|---|
| `%` of `RCS` (render and compute) and `CCS` (compute) | `util_gpu`: where at most one of these engines was busy; with several the share of time that any was is unknown: NULL (`several-engines`) |
| `act` | `sm_clock`; 0 (asleep) is NULL |

**Rounds.** A row is a round; the list is that of one card, number 0. **Clock.** None; `interval_s` is that of a command line with `-s`.

**Traps.** The first row below a header covers the moment since the tool began: left out (`first-row`), also below the headers that follow.
Copy and video engines are no kernels. `RC6` is sleep. `gpu` and `pkg` are the power of parts of the processor and no board power, `rd` and
`wr` the traffic of the whole machine: not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import send_clock, send_oddities
from ..engine.streams import bare_lines, numbered_lines, piece_by_piece, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]


_TOP = r"^Freq MHz\s+IRQ\s+RC6\s.*\b(?:RCS|CCS)\b"
_UNITS = r"^req\s+act\s+/s\s+%\s.*%"
_ROW = r"^[0-9]{1,5}\s+[0-9]{1,5}\s+[0-9]{1,7}\s+[0-9]{1,3}(?:\s+[0-9]{1,7}(?:\.[0-9]{1,3})?)+$"
_ENGINE = re.compile(r"\b(RCS|BCS|VCS|VECS|CCS)(?:/[0-9]{1,2})?(?=\s|$)")
_KERNELS = ("RCS", "CCS")
_INTERVAL = re.compile(r"\bintel_gpu_top\b[^\n]*?\s-s ?([0-9]{1,7})\s")
_NOTES = {
    "first-row": "the first row below a header covers only a moment; it was left out",
    "several-engines": "several engines ran kernels in the same period: how much of it any of them did is unknown",
    "out-of-range": "values outside what the column can hold were dropped",
    "cut-row": "the unfinished last line was dropped",
}


@dataclass
class _State:
    """What the next block must know."""

    top: str = ""
    units: str = ""
    headers: int = 0
    seen: int = 0  # the header of the last row
    cycle: int = -1
    stated: set[int] = field(default_factory=set)
    first_line: int | None = None
    odd: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_NOTES, 0))
    counts: Counts = field(default_factory=Counts)


def _cells(top: str, units: str) -> tuple[int, list[int]]:
    """How many cells a row has, and which are the shares of engines that run kernels; none where the two header lines do not agree."""
    names = units.split()
    engines = _ENGINE.findall(top)
    shares = [k for k, name in enumerate(names) if name == "%"][1:]  # the first is RC6
    return len(names), [k for k, e in zip(shares, engines) if e in _KERNELS] if len(shares) == len(engines) else []


def _readings(group: pl.DataFrame, top: str, units: str, state: _State) -> pl.DataFrame:
    """Typed rows below one header; those that do not fit are left out."""
    import polars as pl

    size, busy = _cells(top, units)
    if not busy:
        return group.clear().select("line", "number")
    group = group.with_columns(cells=pl.col("text").str.extract_all(r"\S+")).filter(pl.col("cells").list.len() == size)
    shares = [pl.col("cells").list.get(k).cast(pl.Float64, strict=False) for k in busy]
    running, high = pl.sum_horizontal((s > 0).cast(pl.Int64) for s in shares), pl.max_horizontal(shares)
    rows = group.select(
        "line", "number", high=high, running=running, sm_clock=pl.col("cells").list.get(1).cast(pl.Float64)
    )  # fmt: skip
    state.odd["several-engines"] += rows.filter(pl.col("running") > 1).height
    state.odd["out-of-range"] += rows.filter(pl.col("high") > 100).height
    return rows.select(
        "line", "number", sm_clock=pl.when(pl.col("sm_clock") > 0).then("sm_clock"),
        util_gpu=pl.when((pl.col("running") <= 1) & (pl.col("high") <= 100)).then("high"),
    )  # fmt: skip


def _block(first: int, text: str, state: _State, emit: Emit) -> None:
    """Read one block of lines."""
    import polars as pl

    state.stated |= {int(n) for n in _INTERVAL.findall(text)}
    frame, cut = numbered_lines(first, text)
    line = pl.col("text")
    is_top, is_units = line.str.contains(_TOP), line.str.contains(_UNITS)
    frame = frame.with_columns(
        head=is_top | is_units, shape=line.str.contains(_ROW), number=is_units.cast(pl.Int64).cum_sum() + state.headers,
        top=pl.when(is_top).then("text").forward_fill().fill_null(state.top), units=pl.when(is_units).then("text").forward_fill().fill_null(state.units),
    )  # fmt: skip
    state.top, state.units, state.headers = frame["top"][-1], frame["units"][-1], int(frame["number"][-1])
    likely = frame.filter(pl.col("shape") & (pl.col("units") != "") & (pl.col("top") != ""))
    whole = likely.filter(~((pl.col("line") == frame["line"][-1]) & pl.lit(cut)))
    found = [_readings(g, str(top), str(units), state) for (top, units), g in whole.group_by("top", "units", maintain_order=True)]
    rows = pl.concat(found, how="diagonal").sort("line") if found else None
    taken = len(rows) if rows is not None else 0
    near = whole if rows is None else whole.filter(~pl.col("line").is_in(rows["line"].implode()))
    blank, heads = frame.filter(line.str.contains(r"^[\W_]*$")).height, int(frame["head"].sum())
    state.odd["cut-row"] += len(likely) - len(whole)
    state.counts.block(len(frame), taken, blank + heads, near["line"], "a row of intel_gpu_top that does not fit its header")
    if rows is None or not taken:
        return
    rows = rows.with_columns(early=pl.col("number") != pl.col("number").shift(1, fill_value=state.seen))
    state.seen = int(rows["number"][-1])
    state.odd["first-row"] += int(rows["early"].sum())
    rows = rows.filter(~pl.col("early"))
    if len(rows):
        state.first_line = state.first_line or int(rows["line"][0])
        rows = rows.with_columns(gpu=pl.lit(0, pl.Int32), cycle=pl.int_range(1, pl.len() + 1) + state.cycle)
        state.cycle = int(rows["cycle"][-1])
        emit("gpu_samples", rows.select("line", "gpu", "cycle", "util_gpu", "sm_clock"))


def _finish(state: _State, emit: Emit) -> None:
    """One clock and one quality row per oddity."""
    if state.first_line is not None:
        interval = next(iter(state.stated)) / 1000 if len(state.stated) == 1 else None
        send_clock(emit, state.first_line, "none", None, interval)
    send_oddities(emit, state.first_line or 1, state.odd, _NOTES)


_SAMPLES = (
    Sample(
        text="""$ sudo intel_gpu_top -l -s 500
 Freq MHz      IRQ RC6     Power W     IMC MiB/s             RCS             BCS             VCS            VECS
 req  act       /s   %   gpu   pkg     rd     wr       %  se  wa       %  se  wa       %  se  wa       %  se  wa
 268   71       19   0  0.03 18.80   2554    714  100.00   0   0    0.00   0   0    0.00   0   0    0.00   0   0
1099 1057       51   0  5.97 13.34   1820    965   93.50   0   0    4.00   0   0   60.00   0   0    0.00   0   0
 300    0        1  99  0.01  3.10   1950    823    0.00   0   0    0.00   0   0    0.00   0   0    0.00   0   0
1099 1072        8   0  6.6
""",
        rows={
            "gpu_samples": [
                {"line": 5, "gpu": 0, "cycle": 0, "util_gpu": 93.5, "sm_clock": 1057.0, "power_w": None, "time": None},
                {"line": 6, "gpu": 0, "cycle": 1, "util_gpu": 0.0, "sm_clock": None},
            ],
            "clocks": [{"kind": "none", "interval_s": 0.5}],
            "quality": [{"kind": "first-row", "n": 1}],
        },
        versions="igt-gpu-tools 1.25 and later, integrated",
    ),
    Sample(
        text=""" Freq MHz      IRQ RC6      RCS/0     BCS/0     VCS/0    VECS/0     CCS/0
 req  act       /s   %          %         %         %         %         %
2400 2400       54   0       0.00      0.00      0.00      0.00      1.00
2400 2400       54   0       0.00     20.00      0.00      0.00     97.25
2400 2400       54   0      55.00      0.00      0.00      0.00     60.00
""",
        rows={
            "gpu_samples": [{"util_gpu": 97.25, "sm_clock": 2400.0}, {"util_gpu": None, "sm_clock": 2400.0}],
            "clocks": [{"interval_s": None}],
            "quality": [{"kind": "first-row"}, {"kind": "several-engines", "n": 1}],
        },
        versions="igt-gpu-tools 1.28, a card with a compute engine",
    ),
)  # fmt: skip


class IntelGpuTop:
    """`intel_gpu_top -l`."""

    name = "intel-gpu-top"
    api = 1
    records = "sudo intel_gpu_top -l -s 1000 > gpu.txt"
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """Both header lines and a row below them."""
        if "RC6" not in head.text:
            return None
        lines = [x for x in bare_lines(plain_head(head).text) if x]
        tops = [k for k, x in enumerate(lines[:-1]) if re.match(_TOP, x) and re.match(_UNITS, lines[k + 1])]
        if not any(_cells(lines[k], lines[k + 1])[1] for k in tops):
            return None
        if not any(re.match(_ROW, x) for x in lines):
            return Refusal(50, "the header of intel_gpu_top without a row")
        foreign = any(not re.match(rf"{_TOP}|{_UNITS}|{_ROW}", x) for x in lines[:-1])
        return Claim(92, "list of intel_gpu_top", shares=foreign)

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, one `clocks` row and `quality` rows."""
        return piece_by_piece(source, emit, _State, _block, _finish)


PARSER = IntelGpuTop()
