"""`macmon pipe` on Apple silicon: one reading of the GPU per line of JSON.

**Reads** `macmon pipe [-i MS] [-s N]` of macmon 0.2 to 0.8, redirected, alone or between other lines.

| key | column |
|---|---|
| `gpu_active_ratio` (2026 on) | `util_gpu`: share of time the GPU was not idle, whatever its clock |
| `gpu_freq_mhz`, else the first of `gpu_usage` | `sm_clock`: mean clock while active; 0 (idle) is NULL |
| `temp.gpu_temp_avg` | `temp`; 0 (no sensor) is NULL |
| `timestamp` | `time` (UTC), which versions before 2025 do not print |

**Rounds.** A line is a round; the card is number 0. **Clock.** `utc`, 1 us, where lines print a time, else `none`.

**Traps.** The second of `gpu_usage` (`gpu_usage_ratio`) is the active share times the clock over its maximum: less than the share of time, by a
factor that the line does not tell, and not read. `gpu_power` is that of the GPU's part of the chip, `sys_power` that of the machine: no
board power. The memory is that of the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import middle, send_clock, send_oddities
from ..engine.streams import numbered_lines, piece_by_piece, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

MAX_STEPS = 100_000
_LINE = r'^\{.*"gpu_usage": ?\[.*\}$'
_OWN = ('"gpu_temp_avg"', '"ane_power"', '"gpu_usage"')
_NUMBER = r": ?([0-9]{1,6}(?:\.[0-9]{1,20})?(?:e-[0-9]{1,2})?)[,}]"
_FIELDS = {
    "active": rf'"gpu_active_ratio"{_NUMBER}',
    "mhz": rf'"gpu_freq_mhz"{_NUMBER}',
    "usage_mhz": r'"gpu_usage": ?\[([0-9]{1,6}),',
    "temp": rf'"gpu_temp_avg"{_NUMBER}',
}
_TIME = r'"timestamp": ?"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2}))"'
_NOTES = {"out-of-range": "values outside what the column can hold were dropped"}


@dataclass
class _State:
    """What the next piece must know."""

    cycle: int = -1
    times: list[float] = field(default_factory=list)
    first_line: int | None = None
    odd: int = 0
    counts: Counts = field(default_factory=Counts)


def _read(lines: pl.DataFrame) -> pl.DataFrame:
    """The readings of lines that are one each."""
    import polars as pl

    text = pl.col("text")
    moment = text.str.extract(_TIME).str.replace("Z$", "+00:00").str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%z", strict=False, time_zone="UTC")
    rows = lines.select("line", time=moment.dt.epoch("us") / 1e6, **{k: text.str.extract(p).cast(pl.Float64) for k, p in _FIELDS.items()})
    clock = pl.coalesce("mhz", "usage_mhz")
    return rows.with_columns(
        gpu=pl.lit(0, pl.Int32),
        util_gpu=pl.when(pl.col("active") <= 1).then((pl.col("active") * 100).round(6)),
        sm_clock=pl.when(clock.is_between(1, 10_000)).then(clock),
        temp=pl.when(pl.col("temp").is_between(0.5, 150)).then("temp"),
        odd=(pl.col("active") > 1).fill_null(False),
    ).filter(pl.any_horizontal(pl.col("util_gpu", "sm_clock", "temp").is_not_null()))


def _piece(first: int, text: str, state: _State, emit: Emit) -> None:
    """The readings of a piece of text."""
    import polars as pl

    frame, _ = numbered_lines(first, text)
    hits = frame.filter(_hits(frame))
    state.counts.block(len(frame), len(hits), 0, (), "")
    rows = _read(hits).with_columns(cycle=pl.int_range(1, pl.len() + 1, dtype=pl.Int64) + state.cycle)
    if len(rows):
        state.first_line, state.cycle = state.first_line or int(rows["line"][0]), int(rows["cycle"][-1])
        state.odd += int(rows["odd"].sum())
        state.times += rows["time"].drop_nulls().to_list()[: MAX_STEPS - len(state.times)]
        emit("gpu_samples", rows.select("line", "gpu", "cycle", "time", "util_gpu", "sm_clock", "temp"))


def _finish(state: _State, emit: Emit) -> None:
    """One clock and one quality row per oddity."""
    if state.first_line is not None:
        steps = [b - a for a, b in pairwise(state.times) if b > a]
        send_clock(emit, state.first_line, "utc" if state.times else "none", 1e-6 if state.times else None, middle(steps))
        send_oddities(emit, state.first_line, {"out-of-range": state.odd}, _NOTES)


class Macmon:
    """Readings of macmon; see the module's page."""

    name = "macmon"
    api = 1
    records = "macmon pipe -i 1000 > macmon.jsonl"

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        if not all(key in head.text for key in _OWN):
            return None
        frame, _ = numbered_lines(1, plain_head(head).text)
        n = _hits(frame).sum()
        return Claim(90, f"{n} readings of macmon", shares=True) if n else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `gpu_samples`, `quality` and one of `clocks`."""
        return piece_by_piece(source, emit, _State, _piece, _finish)


def _hits(frame: pl.DataFrame) -> pl.Series:
    """Lines that are whole readings."""
    text = frame["text"]
    hits = text.str.contains(_LINE)
    for key in _OWN[:2]:
        hits &= text.str.contains(key, literal=True)
    return hits


SAMPLES: tuple[Sample, ...] = (
    Sample(
        '{"timestamp":"2026-03-01T10:00:00.500000+00:00","temp":{"cpu_temp_avg":51.5,"gpu_temp_avg":47.25},"memory":{"ram_total":68719476736,'
        '"ram_usage":40000000000,"swap_total":0,"swap_usage":0},"ecpu_usage":[1020,0.125],"pcpu_usage":[3000,0.05],"gpu_freq_mhz":1296,'
        '"gpu_usage_ratio":0.75,"gpu_active_ratio":0.9375,"gpu_usage":[1296,0.75],"cpu_power":1.5,"gpu_power":21.25,"ane_power":0.0,'
        '"all_power":22.75,"sys_power":41.5,"ram_power":2.5,"gpu_ram_power":0.5}\n'
        '{"timestamp":"2026-03-01T10:00:01.500000+00:00","temp":{"cpu_temp_avg":51.5,"gpu_temp_avg":46.0},"memory":{"ram_total":68719476736,'
        '"ram_usage":40000000000,"swap_total":0,"swap_usage":0},"ecpu_usage":[1020,0.125],"pcpu_usage":[3000,0.05],"gpu_freq_mhz":0,'
        '"gpu_usage_ratio":0.0,"gpu_active_ratio":0.0,"gpu_usage":[0,0.0],"cpu_power":1.5,"gpu_power":0.0,"ane_power":0.0,"all_power":1.5,'
        '"sys_power":9.5,"ram_power":0.5,"gpu_ram_power":0.0}\n',
        {
            "gpu_samples": [
                {"line": 1, "gpu": 0, "cycle": 0, "time": 1772359200.5, "util_gpu": 93.75, "sm_clock": 1296.0, "temp": 47.25, "power_w": None},
                {"line": 2, "cycle": 1, "time": 1772359201.5, "util_gpu": 0.0, "sm_clock": None, "temp": 46.0, "mem_used": None},
            ],
            "clocks": [{"kind": "utc", "interval_s": 1.0}],
        },
        "2026 on",
        name="macmon.jsonl",
    ),
    Sample(
        '{"all_power":0.5,"ane_power":0.0,"cpu_power":0.25,"ecpu_usage":[1181,0.0625],"gpu_power":0.25,"gpu_ram_power":0.0009615385,'
        '"gpu_usage":[461,0.0215],"memory":{"ram_total":25769803776,"ram_usage":20985479168,"swap_total":0,"swap_usage":0},'
        '"pcpu_usage":[1974,0.015],"ram_power":0.125,"sys_power":5.5,"temp":{"cpu_temp_avg":43.75,"gpu_temp_avg":0.0}}\n',
        {
            "gpu_samples": [{"line": 1, "time": None, "util_gpu": None, "sm_clock": 461.0, "temp": None}],
            "clocks": [{"kind": "none"}],
        },
        "2024: a share that is scaled by the clock, and no time",
        name="macmon.jsonl",
    ),
)  # fmt: skip

PARSER = Macmon()
