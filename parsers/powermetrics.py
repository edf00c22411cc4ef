"""`powermetrics` of macOS on Apple silicon: one reading of the GPU per sample.

**Reads** the text of `sudo powermetrics --samplers gpu_power[,cpu_power,thermal,smc] [-i MS] [-n N]` of macOS 12 to 26, redirected, pasted or
in a script's comments. The plist form is not read.

| line | column |
|---|---|
| `GPU HW active residency: 99.35% (...)`, `GPU active residency: ...`; else 100 less `GPU idle residency` | `util_gpu`: share of time the GPU was not idle, whatever its clock |
| `GPU HW active frequency: 1277 MHz`, `GPU active frequency: ...` | `sm_clock`; 0 (asleep) is NULL |
| `GPU die temperature: 45.10 C` | `temp` |
| `*** Sampled system activity (Tue Dec  9 13:28:01 2025 -0600) (1003.37ms elapsed) ***` | `time` (UTC), `window_s` |

**Rounds.** A sample is a round; the card is number 0. **Clock.** `utc`, 1 s (the line prints its zone), where samples begin with their line,
else `none`.

**Traps.** Clusters and CPUs have residencies too: only lines that begin with GPU count. `GPU Power` is that of the GPU's part of the chip and
no board power: not read. The share that `asitop` and `macmon` print is scaled by the clock and is another number. Intel Macs
(`GPU 0 GPU Busy`) are not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import middle, send_clock, send_oddities
from ..engine.smi_values import line_of_last, printouts
from ..engine.streams import bare_lines, numbered_lines, piece_by_piece, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

MAX_STEPS = 100_000

_SIGN = r"^[#/ \t]*"
_BUSY = rf"{_SIGN}GPU (?:HW )?active residency: +([0-9]{{1,3}}(?:\.[0-9]{{1,4}})?)%"
_IDLE = rf"{_SIGN}GPU idle residency: +([0-9]{{1,3}}(?:\.[0-9]{{1,4}})?)%"
_CLOCK = rf"{_SIGN}GPU (?:HW )?active frequency: +([0-9]{{1,5}}) MHz"
_TEMP = rf"{_SIGN}GPU die temperature: +([0-9]{{1,3}}(?:\.[0-9]{{1,3}})?) C\b"
_SAMPLE = rf"{_SIGN}\*\*\* Sampled system activity\b"
_DATE = (
    r"activity \((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) +([A-Z][a-z]{2}) +([0-9]{1,2}) +([0-9]{2}:[0-9]{2}:[0-9]{2}) +([0-9]{4}) +([+-][0-9]{4})\)"
)
_ELAPSED = r"\(([0-9]{1,9}(?:\.[0-9]{1,3})?) ?ms elapsed\)"
_SECTION = rf"{_SIGN}\*{{3,4}} GPU usage \*{{3,4}}"
_START = line_of_last("*** Sampled system activity", "*** GPU usage", "GPU HW active frequency:")
_NOTES = {"out-of-range": "values outside what the column can hold were dropped"}


@dataclass
class _State:
    """What the next piece must know."""

    cycle: int = -1
    last: float | None = None
    steps: list[float] = field(default_factory=list)
    first_line: int | None = None
    odd: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_NOTES, 0))
    counts: Counts = field(default_factory=Counts)


def _time(text: pl.Expr) -> pl.Expr:
    """Seconds since 1970 of a sample's line, whose date names its zone."""
    import polars as pl

    g = text.str.extract_groups(_DATE)
    parts = [g.struct.field("4"), g.struct.field("1"), g.struct.field("2").str.zfill(2), g.struct.field("3"), g.struct.field("5")]
    moment = pl.concat_str(parts, separator=" ").str.to_datetime("%Y %b %d %H:%M:%S %z", strict=False, time_zone="UTC")
    return moment.dt.epoch("s").cast(pl.Float64)


def _piece(first: int, text: str, state: _State, emit: Emit) -> None:
    """The samples of a piece of text, which begins with one."""
    import polars as pl

    frame, cut = numbered_lines(first, text)
    line, unended = pl.col("text"), (pl.col("line") == frame["line"][-1]) & pl.lit(cut)
    number = {
        name: line.str.extract(p, 1).cast(pl.Float64)
        for name, p in (("busy", _BUSY), ("idle", _IDLE), ("sm_clock", _CLOCK), ("temp", _TEMP))
    }
    frame = frame.with_columns(sampled=line.str.contains(_SAMPLE), section=line.str.contains(_SECTION), **number)
    values = pl.any_horizontal(pl.col(list(number)).is_not_null())
    # without the line of the sample or the heading of its section, a sample begins where its first value comes again
    begins = next((c for c in ("sampled", "section") if frame[c].any()), None)
    value = next((c for c in ("sm_clock", "busy", "idle") if frame[c].count()), "busy")
    again = pl.col(value).is_not_null() if begins is None else pl.col(begins)
    frame = frame.with_columns(
        hit=values, part=again.cast(pl.Int64).cum_sum(), time=pl.when("sampled").then(_time(line)),
        window_s=pl.when("sampled").then(line.str.extract(_ELAPSED, 1).cast(pl.Float64) / 1000),
    )  # fmt: skip
    hits, blank = int(frame["hit"].sum()), frame.filter(~values & line.str.contains(r"^[\W_]*$")).height
    heads = frame.filter(pl.col("sampled") | pl.col("section")).height
    state.counts.block(len(frame), hits, blank + heads, (), "")
    at = pl.col("line").filter("hit").first()
    each = frame.filter(~unended | pl.col("sampled")).group_by("part", maintain_order=True)
    rows = each.agg(pl.col("time", "window_s", *number).drop_nulls().first(), line=at).filter(pl.col("line").is_not_null())
    rows = rows.with_columns(util_gpu=pl.coalesce("busy", 100.0 - pl.col("idle"))).filter(
        pl.any_horizontal(pl.col("util_gpu", "sm_clock", "temp").is_not_null())
    )
    if not len(rows):
        return
    state.odd["out-of-range"] += rows.filter(~pl.col("util_gpu").is_between(0, 100)).height
    rows = rows.with_columns(
        gpu=pl.lit(0, pl.Int32), cycle=pl.int_range(1, pl.len() + 1) + state.cycle,
        util_gpu=pl.when(pl.col("util_gpu").is_between(0, 100)).then(pl.col("util_gpu").round(4)),
        sm_clock=pl.when(pl.col("sm_clock") > 0).then("sm_clock"), temp=pl.when(pl.col("temp").is_between(0, 250)).then("temp"),
    )  # fmt: skip
    state.cycle, state.first_line = int(rows["cycle"][-1]), state.first_line or int(rows["line"][0])
    for time in rows["time"].drop_nulls():  # one step per sample
        if state.last is not None and time > state.last and len(state.steps) < MAX_STEPS:
            state.steps.append(time - state.last)
        state.last = time
    emit("gpu_samples", rows.select("line", "gpu", "cycle", "time", "util_gpu", "sm_clock", "temp", "window_s"))


def _finish(state: _State, emit: Emit) -> None:
    """One clock and one quality row per oddity."""
    if state.first_line is not None:
        timed = state.last is not None
        send_clock(emit, state.first_line, "utc" if timed else "none", 1.0 if timed else None, middle(state.steps))
    send_oddities(emit, state.first_line or 1, state.odd, _NOTES)


_SAMPLES = (
    Sample(
        text="""Machine model: Mac16,8
OS version: 25A354

*** Sampled system activity (Tue Mar  3 08:15:01 2026 +0100) (1002.50ms elapsed) ***

**** Processor usage ****

E-Cluster HW active residency:  61.20% (1020 MHz: 12% 2592 MHz: 49%)
CPU 0 active residency:  67.95% (1020 MHz:  12%)
CPU Power: 2104 mW
GPU Power: 9212 mW
Combined Power (CPU + GPU + ANE): 11316 mW

**** GPU usage ****

GPU HW active frequency: 1312 MHz
GPU HW active residency:  98.40% (338 MHz: .40% 618 MHz:   0% 1578 MHz:  98%)
GPU SW requested state: (P1 :   0% P2 : 100%)
GPU idle residency:   1.60%
GPU Power: 9212 mW


*** Sampled system activity (Tue Mar  3 08:15:02 2026 +0100) (1001.00ms elapsed) ***

**** GPU usage ****

GPU HW active frequency: 0 MHz
GPU HW active residency:   0.00% (338 MHz:   0% 618 MHz:   0%)
GPU idle residency: 100.00%
GPU Power: 12 mW
""",
        rows={
            "gpu_samples": [
                {
                    "line": 16, "gpu": 0, "cycle": 0, "time": 1772522101.0, "util_gpu": 98.4, "sm_clock": 1312.0, "window_s": 1.0025, "power_w": None,
                },
                {"line": 27, "gpu": 0, "cycle": 1, "time": 1772522102.0, "util_gpu": 0.0, "sm_clock": None},
            ],
            "clocks": [{"kind": "utc", "resolution_s": 1.0, "interval_s": 1.0}],
        },
        versions="macOS 13 to 26, Apple silicon",
    ),
    Sample(
        text="""**** GPU usage ****
GPU active frequency: 444 MHz
GPU active residency:  20.50%
GPU idle residency: 79.50%
**** GPU usage ****
GPU idle residency: 8.11%
""",
        rows={
            "gpu_samples": [
                {"cycle": 0, "util_gpu": 20.5, "sm_clock": 444.0, "time": None},
                {"cycle": 1, "util_gpu": 91.89, "sm_clock": None},
            ],
            "clocks": [{"kind": "none"}],
        },
        versions="macOS 12, excerpts without the line of the sample",
    ),
)  # fmt: skip


class Powermetrics:
    """`powermetrics`."""

    name = "powermetrics"
    api = 1
    records = "sudo powermetrics --samplers gpu_power -i 1000 > powermetrics.txt"
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A residency of the GPU, below a line of powermetrics or beside another one of it."""
        if " residency: " not in head.text:
            return None
        lines = bare_lines(plain_head(head).text)
        told = sum(bool(re.match(p, x)) for p in (_BUSY, _IDLE, _CLOCK, _SAMPLE, _SECTION) for x in lines)
        if told < 2 or not any(re.match(_BUSY, x) or re.match(_IDLE, x) for x in lines):
            return None
        # the format is nearly all other text: samplers of processors, network, disks
        return Claim(90, "samples of powermetrics", shares=True)

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, one `clocks` row and `quality` rows."""
        return piece_by_piece(source, emit, _State, _piece, _finish, partial(printouts, start=_START))


PARSER = Powermetrics()
