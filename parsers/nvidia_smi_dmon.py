"""`nvidia-smi dmon`: one row per card and sampling round, as a text table or as CSV.

**Reads** the output of `nvidia-smi dmon [-s pucvmet] [-o DT] [--gpm-metrics=...] [--format csv[,nounit]]` from 2016 to 2026, redirected,
written with `-f`, copied from a terminal, quoted in an issue, or printed by a script between other lines.

**Names and values** are tied together by the header that was printed last, never by position alone: the order of the columns follows the
letters after `-s`. The header comes again every 44 rows, also in the middle of a round, and may change when the command was restarted.

| column of dmon | column of `gpu_samples` |
|---|---|
| `gpu` | `gpu`; a new `cycle` begins where the index does not rise |
| `Date`, `Time` (`-o`) | `time`, local wall clock, 1 s |
| `pwr`; `gtemp` or `temp`; `mtemp` | `power_w`; `temp`; `mem_temp` |
| `sm`, `mem`, `enc`, `dec` | `util_gpu`, `util_mem`, `enc`, `dec` |
| `pclk`, `mclk` | `sm_clock`, `mem_clock` |
| `pviol`, `tviol` | `pviol`, `tviol` |
| `fb` | `mem_used` |
| `rxpci`, `txpci` | `pcie_rx`, `pcie_tx` with `pcie_probe_s` = 0.02: each value is a 20 ms probe, not an average |
| `smutil`, `smocc`, `mmaact`, `dram` (GPM) | `sm_active`, `sm_occupancy`, `tensor_active`, `dram_active` as 0..1 |
| `pcirx`, `pcitx`, `nvlrx`, `nvltx` (GPM) | `pcie_rx`, `pcie_tx`, `nvlink_rx`, `nvlink_tx` in MB/s; averages over the interval |

Other columns (`jpg ofa bar1 ccpm sbecc dbecc pci gract intutil fp64 ...`) are known and left out; a column nobody knows is left out too.

**Prefixes** of containers, journals, `ts`, `srun -l` and the like are taken off; their time is taken where the format prints none, and the
host that `pdsh` puts in front is `host`.

**Clock.** Date and time give `local-no-zone`. `-o T` alone gives seconds of the day, rising by 86400 at midnight, also as `local-no-zone`
but with a quality row `date-unknown`: the day is not in the file. `-o D` alone says nothing about the time of day: `time` is NULL. Without
`-o` the kind is `none`; `interval_s` is then known only if the command line with its `-d` is in the text.

**Traps.** `-` is "not supported or failed" and stays NULL: all utilisation is `-` under MIG. PCIe probes above 200000 MB/s are a wrapped
counter: NULL, counted as `pcie-glitch`. A `^C` echoed into a row is taken out; a row whose cells still do not fit the header is a near
miss. A terminal too narrow cuts the right-most columns: a cut name is unknown, so its cells are not read. The last cell of a last line
without line end is NULL. Rows without any header are refused: only the `-s` letters could say what they mean.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import send_clock, send_oddities
from ..engine.streams import piece_by_piece, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

PCIE_GLITCH = 200_000.0  # MB/s: 2**32 bytes in 20 ms are 214748 MB/s, a wrapped 32-bit counter; no link is that fast
PCIE_PROBE_S = 0.02  # NVML counts PCIe bytes over 20 ms
MIB_S = 1.048576  # MB/s in one MiB/s
MIDNIGHT_FALL_S = 7200  # a smaller fall of the clock is a correction or the end of summer time, not another day
BLOCK_BYTES = 2 * 1024 * 1024  # rows are short: cells of one block in lists are what memory goes to

_PERCENT = {"%": 1.0}
_RATE = {"MB/s": 1.0, "MiB/s": MIB_S, "KB/s": 1e-3, "GB/s": 1e3}
_MEMORY = {"MB": 1.0, "MiB": 1.0, "GB": 1024.0, "GiB": 1024.0}  # nvidia-smi means MiB when it prints MB
_RATIO = {"%": 0.01}


@dataclass(frozen=True)
class _Column:
    """Where a dmon column goes: target, scale per printed unit, unit when no unit row was printed, bounds after scaling."""

    into: str
    scales: dict[str, float]
    unit: str
    low: float = 0.0
    high: float = 1e7


_READ = {
    "pwr": _Column("power_w", {"W": 1.0}, "W", high=20_000),
    "temp": _Column("temp", {"C": 1.0}, "C", low=-60, high=250),
    "gtemp": _Column("temp", {"C": 1.0}, "C", low=-60, high=250),
    "mtemp": _Column("mem_temp", {"C": 1.0}, "C", low=-60, high=250),
    "sm": _Column("util_gpu", _PERCENT, "%", high=100),
    "mem": _Column("util_mem", _PERCENT, "%", high=100),
    "enc": _Column("enc", _PERCENT, "%", high=100),
    "dec": _Column("dec", _PERCENT, "%", high=100),
    "mclk": _Column("mem_clock", {"MHz": 1.0}, "MHz", high=100_000),
    "pclk": _Column("sm_clock", {"MHz": 1.0}, "MHz", high=100_000),
    "pviol": _Column("pviol", _PERCENT, "%", high=100),
    "tviol": _Column("tviol", {"bool": 1.0}, "bool", high=1),
    "fb": _Column("mem_used", _MEMORY, "MB", high=1e8),
    "rxpci": _Column("pcie_rx", _RATE, "MB/s", high=1e12),
    "txpci": _Column("pcie_tx", _RATE, "MB/s", high=1e12),
    "smutil": _Column("sm_active", _RATIO, "%", high=1),
    "smocc": _Column("sm_occupancy", _RATIO, "%", high=1),
    "mmaact": _Column("tensor_active", _RATIO, "%", high=1),
    "dram": _Column("dram_active", _RATIO, "%", high=1),
    "pcirx": _Column("pcie_rx", _RATE, "MiB/s", high=1e12),
    "pcitx": _Column("pcie_tx", _RATE, "MiB/s", high=1e12),
    "nvlrx": _Column("nvlink_rx", _RATE, "MiB/s", high=1e12),
    "nvltx": _Column("nvlink_tx", _RATE, "MiB/s", high=1e12),
}
_UNREAD = frozenset(
    ("jpg", "ofa", "bar1", "ccpm", "sbecc", "dbecc", "pci", "gract", "intutil", "dfma", "hmma", "imma", "dmma", "fp64", "fp32", "fp16")
)
_KNOWN = frozenset(_READ) | _UNREAD

_HEADER = re.compile(r"(?i)^#*\s*(?:(?:date|time)\s+(?:\[\S+\]\s+)?)*gpu\s+(?:\[\w+\]\s+)?[a-z]")
_UNITS = re.compile(r"(?i)^#*\s*(?:yyyymmdd\s+)?(?:hh:mm:ss\s+)?idx(?:\s|$)")
_ROW = re.compile(r"^#*\s*(?:[0-9]{8}\s+)?(?:[0-9]{2}:[0-9]{2}:[0-9]{2}\s+)?[0-9]{1,4}(?:\s+(?:-?[0-9.]+|-|N/A))+\s*$")
_REFUSED = re.compile(r"(?i)not supported on the device\(s\)|failed to process command line")
_COMMAND = re.compile(
    r"^(?:\S*[$#>%:]\s*|\+\s*)?(?:(?:sudo|timeout|stdbuf|nohup|-?\w+)\s+)*(?:\S*/)?nvidia-smi(?:\.exe)?\s+(?:.*\s)?dmon\b"
)
_DELAY = r"dmon\b.*?(?:\s-d\s*|\s--delay[= ])([0-9]{1,5})\b"
_PROMPT = re.compile(r"^\S*[@:~][^\s]*[$#%>]\s*$|^[$#>]\s*$|^```\w*$|^~~~\w*$")
_NUMBER = r"^-?[0-9]{1,12}(?:\.[0-9]{1,6})?$"
_NO_VALUE = r"^(?:-|--|\[?N/A\]?|ERR!?)$"


@dataclass(frozen=True)
class _Layout:
    """One header, understood: how many cells a row has, which cell is what."""

    size: int
    comma: bool
    date: int | None
    time: int | None
    gpu: int
    columns: tuple[tuple[int, _Column, float], ...]  # (cell, column, scale)
    cut: bool  # the last name is unknown: a terminal cut it, and a short value there may be missing altogether
    probes: bool  # pcie_rx/tx come from 20 ms probes
    unread: int  # known columns with a unit they never had


@dataclass
class _State:
    """What the next block must know."""

    header: str = ""
    units: str = ""
    cycle: int = -1
    last_gpu: int | None = None
    last_clock: float | None = None  # seconds of the day (with T alone) or seconds since 1970, of the last timed row
    day: int = 0
    dated: bool | None = None  # True: date and time; False: time alone; None: no timed row yet
    last_start: tuple[int, float] | None = None  # (cycle, time) of the last round that had a time
    first_line: int | None = None
    steps: Counter[float] = field(default_factory=Counter)
    delays: set[int] = field(default_factory=set)
    odd: Counter[str] = field(default_factory=Counter)
    counts: Counts = field(default_factory=Counts)
    layouts: dict[tuple[str, str], _Layout | None] = field(default_factory=dict)

    @property
    def interval(self) -> float | None:
        """Median step between rounds, or the `-d` of a command line in the text (one value only)."""
        from statistics import median

        if self.steps:
            return float(median(self.steps.elements())) if self.steps.total() < 100_000 else self.steps.most_common(1)[0][0]
        return float(next(iter(self.delays))) if len(self.delays) == 1 else None


_NOTES = {
    "pcie-glitch": "PCIe probes above 200000 MB/s are a wrapped counter; they were dropped",
    "garbled-cell": "cells that are no number were dropped",
    "out-of-range": "values outside what the column can hold were dropped",
    "dmon-refused": "nvidia-smi refused dmon for this device or command line",
    "date-unknown": "times without a date: seconds of the day, rising past midnight; the day is not in the file",
    "time-of-day-unknown": "dates without a time of day: the rows carry no time",
    "mixed-clocks": "some rows have a date and some have none; the later kind was left without time",
    "clock-fell-back": "the wall clock fell back by less than two hours",
    "cut-cell": "the last cell of an unfinished last line was dropped",
    "no-rows": "the header of dmon is there but no row that fits it",
    "unknown-unit": "the unit row names a unit this column never had; the column was not read",
}


def _layout(header: str, units: str) -> _Layout | None:
    """Understand a normalised header line and its unit line ("" where none was printed)."""
    comma = "," in header
    cells = header.lstrip("#").split(",") if comma else header.lstrip("#").split()
    titles = [m for c in cells if (m := re.match(r"\s*([^\s\[]+)\s*(?:\[([^\]]*)\])?", c))]
    names = [m[1].lower() for m in titles]
    if "gpu" not in names or "pid" in names:
        return None
    gpu = names.index("gpu")
    data = names[gpu + 1 :]
    known = sum(n in _KNOWN for n in data)
    # without its `#` a header is only a row of words: it must be confirmed by the unit row, or name nothing but known columns
    sure = header.startswith("#") or (known >= 2 and units != "") or (known >= 3 and known >= len(data) - 1)
    if not set(names[:gpu]) <= {"date", "time"} or not sure or known == 0 or known * 2 < len(data):
        return None
    unit = [t.removeprefix("GPM:") for t in units.replace(",", " ").lstrip("#").split()]
    unit = unit or ([m[2] or "" for m in titles] if any(m[2] for m in titles) else [])
    if abs(len(unit) - len(names)) > 1:
        unit = []
    columns: list[tuple[int, _Column, float]] = []
    seen: set[str] = set()
    unread = 0
    averaged = {"pcirx", "pcitx"} & set(data)
    for cell, name in enumerate(names):
        column = _READ.get(name) if cell > gpu else None
        if column is None or name in seen or (averaged and name in ("rxpci", "txpci")):
            continue
        seen.add(name)
        scale = column.scales.get(unit[cell] if cell < len(unit) else column.unit)
        unread += scale is None
        if scale is not None and column.into not in {c.into for _, c, _ in columns}:
            columns.append((cell, column, scale))
    where = {n: names.index(n) if n in names[:gpu] else None for n in ("date", "time")}
    probes = not averaged and bool({"rxpci", "txpci"} & set(data))
    return _Layout(len(names), comma, where["date"], where["time"], gpu, tuple(columns), data[-1] not in _KNOWN, probes, unread)


def _normalise(text: pl.Expr) -> pl.Expr:
    """Take off what terminals and Markdown put around a line; CSV commas stay."""
    return (
        text.str.replace_all(r"\x1b\[[0-9;?]*[A-Za-z]", "")
        .str.strip_chars_end("\r")
        .str.replace(r"^.*\r", "")
        .str.replace(r"^\s*(?:>\s?)+", "")
        .str.replace_all(r"\\([#_*-])", "$1")
        .str.replace_all(r"\^C([A-Za-z(\[~/])", " $1")
        .str.replace_all("^C", "", literal=True)
        .str.strip_chars("` \t\u00a0")
    )


def _lines(first: int, text: str) -> pl.DataFrame:
    """line, raw, norm, cells (tokens; an empty CSV cell is `-`) and kind of every line of a block."""
    import polars as pl

    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    norm = _normalise(pl.col("raw"))
    cells = (
        pl.col("norm")
        .str.replace(r"^#+", "")
        .str.replace_all(r"([0-9]) (?:W|C|%|MHz|MB|MB/s|MiB/s|errs|bool)([ \t]*(?:,|$))", "$1$2")
        .str.replace_all(r"[ \t]*,[ \t]*", ",")
        .str.replace_all(",,", ",-,", literal=True)
        .str.replace_all(",,", ",-,", literal=True)
        .str.replace(r",$", ",-")
        .str.replace_all(",", " ", literal=True)
        .str.extract_all(r"\S+")
    )
    spaced = pl.col("norm").str.replace_all(",", " ", literal=True)
    kind = (
        pl.when(pl.col("norm") == "")
        .then(pl.lit("blank"))
        .when(spaced.str.contains(_HEADER.pattern))
        .then(pl.lit("header"))
        .when(spaced.str.contains(_UNITS.pattern))
        .then(pl.lit("units"))
        .when(pl.col("norm").str.contains(_REFUSED.pattern))
        .then(pl.lit("refused"))
        .when(pl.col("norm").str.contains(_COMMAND.pattern))
        .then(pl.lit("command"))
        .otherwise(pl.lit("text"))
    )
    frame = pl.DataFrame({"raw": lines}, schema={"raw": pl.String}).with_row_index("line", offset=first)
    return frame.with_columns(pl.col("line").cast(pl.Int64), norm=norm).with_columns(cells=cells, kind=kind)


def _bind(frame: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Give every line the header and unit row that hold for it; a false header becomes text again."""
    import polars as pl

    headers = frame.filter(pl.col("kind") == "header")["norm"].unique(maintain_order=True).to_list()
    # a pmon table has a header of its own: its rows must not be read with the columns above it
    units = "# Idx" if (frame["kind"] == "units").any() else ""
    false = [h for h in headers if _layout(h, units) is None and "pid" not in h.lower().replace(",", " ").split()]
    frame = frame.with_columns(
        kind=pl.when((pl.col("kind") == "header") & pl.col("norm").is_in(false)).then(pl.lit("text")).otherwise("kind")
    )
    is_header, is_units = pl.col("kind") == "header", pl.col("kind") == "units"
    frame = frame.with_columns(
        header=pl.when(is_header).then("norm").otherwise(None).forward_fill().fill_null(state.header),
        units=pl.when(is_units).then("norm").when(is_header).then(pl.lit("")).otherwise(None).forward_fill().fill_null(state.units),
    )
    state.header, state.units = frame["header"][-1], frame["units"][-1]
    return frame


def _read(group: pl.DataFrame, layout: _Layout, state: _State, cut_line: int | None) -> pl.DataFrame:
    """The rows of one layout: line, gpu, date, clock and every column it has. Lines that do not fit are left out."""
    import polars as pl

    n = pl.col("cells").list.len()
    number = pl.element().str.contains(_NUMBER)
    value = number | pl.element().str.contains(_NO_VALUE)
    data = pl.col("cells").list.slice(layout.gpu + 1, layout.size - layout.gpu - 1)
    tail = pl.col("cells").list.slice(layout.size)
    group = group.with_columns(
        bad=data.list.eval(~value).list.sum().fill_null(0),
        numbers=data.list.eval(number).list.sum().fill_null(0),
        extra=tail.list.eval(value).list.sum().fill_null(0),
        tail=tail.list.len(),
        short=layout.size - n.cast(pl.Int64),
    )
    gpu = pl.col("cells").list.get(layout.gpu, null_on_oob=True)
    fits = (
        (pl.col("norm").str.contains(",", literal=True) == layout.comma)
        & gpu.str.contains(r"^[0-9]{1,4}$")
        & (pl.col("short") <= (1 if layout.cut else 0))
        & (pl.col("extra") == 0)
        & ((pl.col("tail") == 0) | pl.col("raw").str.contains("^C", literal=True))
        & (pl.col("bad") <= 1)
        & ((pl.col("bad") == 0) | (pl.col("numbers") >= 3))
    )
    for cell, pattern in ((layout.date, r"^[0-9]{8}$"), (layout.time, r"^[0-9]{2}:[0-9]{2}:[0-9]{2}$")):
        if cell is not None:
            fits = fits & pl.col("cells").list.get(cell, null_on_oob=True).str.contains(pattern)
    rows = group.filter(fits.fill_null(False))
    state.odd["garbled-cell"] += int(rows["bad"].sum() or 0)
    # a prompt or the end of the file right behind a digit: the number may have lost its end
    rows = rows.with_columns(unsure=(pl.col("tail") > 0) & pl.col("raw").str.contains(r"[0-9]\^C[^0-9\s]"))
    if cut_line is not None:
        rows = rows.with_columns(unsure=pl.col("unsure") | ((pl.col("line") == cut_line) & ~pl.col("raw").str.contains(r"\s$")))
    state.odd["cut-cell"] += int(rows["unsure"].sum() or 0)
    return _values(rows, layout, state)


def _values(rows: pl.DataFrame, layout: _Layout, state: _State) -> pl.DataFrame:
    """Typed columns of rows that fit their layout."""
    import polars as pl

    out = {"gpu": pl.col("cells").list.get(layout.gpu).cast(pl.Int32)}
    for name, cell in (("date", layout.date), ("clock", layout.time)):
        out[name] = pl.lit(None, pl.String) if cell is None else pl.col("cells").list.get(cell)
    typed = rows.select("line", "cells", "unsure", **out)
    for cell, column, scale in layout.columns:
        text = pl.col("cells").list.get(cell, null_on_oob=True)
        number = pl.when(text.str.contains(_NUMBER)).then(text).otherwise(None).cast(pl.Float64, strict=False)
        if cell == layout.size - 1:
            number = pl.when(pl.col("unsure")).then(None).otherwise(number)
        typed = typed.with_columns((number * scale if scale != 1.0 else number).alias(column.into))
        value = pl.col(column.into)
        keep = value.is_between(column.low, column.high)
        kind = "out-of-range"
        if column.into in ("pcie_rx", "pcie_tx"):
            keep, kind = keep & (value <= PCIE_GLITCH), "pcie-glitch"
        state.odd[kind] += int(typed.select((~keep).sum()).item() or 0)
        typed = typed.with_columns(pl.when(keep).then(value).otherwise(None).alias(column.into))
    if {"pcie_rx", "pcie_tx"} & set(typed.columns):
        some = pl.any_horizontal([pl.col(c).is_not_null() for c in ("pcie_rx", "pcie_tx") if c in typed.columns])
        probe = pl.lit(PCIE_PROBE_S) if layout.probes else pl.lit(None, pl.Float64)
        typed = typed.with_columns(
            pcie_probe_s=pl.when(some).then(probe).otherwise(None), pcie_averaged=pl.when(some).then(not layout.probes)
        )
    return typed.drop("cells", "unsure")


def _timed(rows: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Add `time`: seconds since 1970 on the local clock, or seconds of the day with T alone."""
    import polars as pl

    day = pl.col("date").str.to_date("%Y%m%d", strict=False).cast(pl.Int32).cast(pl.Float64) * 86400.0
    part = [pl.col("clock").str.slice(k, 2).cast(pl.Float64, strict=False) for k in (0, 3, 6)]
    clock = pl.when((part[0] < 24) & (part[1] < 60) & (part[2] < 61)).then(part[0] * 3600 + part[1] * 60 + part[2]).otherwise(None)
    rows = rows.with_columns(full=day + clock, sod=pl.when(pl.col("date").is_null()).then(clock).otherwise(None))
    state.odd["time-of-day-unknown"] += int(rows.select((pl.col("date").is_not_null() & pl.col("clock").is_null()).sum()).item())
    timed = rows.filter(pl.col("full").is_not_null() | pl.col("sod").is_not_null())
    if state.dated is None and len(timed):
        state.dated = timed["full"][0] is not None
    kept, lost = ("sod", "full") if state.dated is False else ("full", "sod")
    state.odd["mixed-clocks"] += int(rows[lost].is_not_null().sum())
    seen = rows.filter(pl.col(kept).is_not_null()).select("line", now=kept)
    if not len(seen):
        return rows.with_columns(time=pl.lit(None, pl.Float64))
    seen = seen.with_columns(fall=pl.col("now").shift(1, fill_value=state.last_clock) - pl.col("now"))
    if state.dated is False:
        new_day = (pl.col("fall") > MIDNIGHT_FALL_S).fill_null(False)
        seen = seen.with_columns(day=state.day + new_day.cast(pl.Int64).cum_sum())
        state.day = int(seen["day"][-1])
    else:
        seen = seen.with_columns(day=pl.lit(0, pl.Int64))
    small = (pl.col("fall") > 0) & (pl.col("fall") <= MIDNIGHT_FALL_S)
    state.odd["clock-fell-back"] += int(seen.select(small.sum()).item() or 0)
    state.last_clock = float(seen["now"][-1])
    seen = seen.select("line", time=pl.col("now") + pl.col("day") * 86400.0)
    return rows.join(seen, on="line", how="left", maintain_order="left")


def _cycled(rows: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Add `cycle`: a round ends where the index does not rise. Steps between rounds are counted for the interval."""
    import polars as pl

    last = state.last_gpu
    new = (pl.col("gpu") <= pl.col("gpu").shift(1, fill_value=last)).fill_null(True)
    rows = rows.with_columns(cycle=state.cycle + new.cast(pl.Int64).cum_sum())
    state.cycle, state.last_gpu = int(rows["cycle"][-1]), int(rows["gpu"][-1])
    starts = rows.filter(pl.col("time").is_not_null()).group_by("cycle", maintain_order=True).agg(pl.col("time").first())
    if not len(starts):
        return rows
    if state.last_start is not None:
        known = pl.DataFrame({"cycle": [state.last_start[0]], "time": [state.last_start[1]]}, schema=starts.schema)
        starts = pl.concat([known, starts.filter(pl.col("cycle") > state.last_start[0])])
    step = (
        starts.filter(pl.col("cycle").diff() == 1).height
        and starts.with_columns(step=pl.when(pl.col("cycle").diff() == 1).then(pl.col("time").diff()).otherwise(None))
        .filter(pl.col("step") > 0)["step"]
        .value_counts()
    )
    if isinstance(step, pl.DataFrame):
        state.steps.update(dict(step.iter_rows()))
    state.last_start = (int(starts["cycle"][-1]), float(starts["time"][-1]))
    return rows


def _count(frame: pl.DataFrame, matched: pl.DataFrame, state: _State) -> None:
    """Every line ends as matched, noise, near miss (numbers that do not fit the header) or other."""
    import polars as pl

    rest = frame.filter(~pl.col("line").is_in(matched["line"].implode())) if len(matched) else frame
    noise = rest.filter(pl.col("kind") != "text")
    text = rest.filter(pl.col("kind") == "text")
    cells = pl.col("cells").list
    values = cells.eval(pl.element().str.contains(_NUMBER) | pl.element().str.contains(r"^-$|^[0-9]{2}:[0-9]{2}:[0-9]{2}$")).list.sum()
    looks = (cells.len() >= 3) & (values >= 3) & (values.cast(pl.Float64) >= 0.6 * cells.len())
    looks = looks & cells.first().str.contains(r"^[0-9]") & pl.col("header").str.len_chars().gt(0)
    near = text.filter(looks.fill_null(False) & ~pl.col("header").str.contains(r"(?i)\bpid\b"))
    prompts = text.filter(pl.col("norm").str.contains(_PROMPT.pattern) | pl.col("cells").list.len().eq(0)).height
    counts = state.counts
    counts.matched += len(matched)
    counts.noise += len(noise)
    counts.block(len(text), 0, prompts, near["line"], "the cells do not fit the header printed last")
    state.odd["dmon-refused"] += noise.filter(pl.col("kind") == "refused").height
    for delay in noise.filter(pl.col("kind") == "command")["norm"].str.extract(_DELAY, 1).drop_nulls().to_list():
        state.delays.add(int(delay))


def _block(first: int, text: str, state: _State, emit: Emit) -> None:
    import polars as pl

    frame = _bind(_lines(first, text), state)
    cut_line = None if text.endswith("\n") else int(frame["line"][-1])
    candidates = frame.filter((pl.col("kind") == "text") & (pl.col("header") != "") & (pl.col("cells").list.len() > 1))
    parts = []
    for (header, units), group in candidates.group_by("header", "units", maintain_order=True):
        key = (str(header), str(units))
        if key not in state.layouts:
            state.layouts[key] = layout = _layout(*key)
            state.odd["unknown-unit"] += layout.unread if layout else 0
        layout = state.layouts[key]
        if layout is not None:
            parts.append(_read(group, layout, state, cut_line))
    rows = pl.concat(parts, how="diagonal").sort("line") if parts else pl.DataFrame(schema={"line": pl.Int64})
    _count(frame, rows, state)
    if not len(rows):
        return
    if state.first_line is None:
        state.first_line = int(rows["line"][0])
    rows = _cycled(_timed(rows, state), state)
    if "pcie_averaged" in rows.columns:
        probe = pl.when(pl.col("pcie_averaged")).then(pl.lit(state.interval, pl.Float64)).otherwise("pcie_probe_s")
        rows = rows.with_columns(pcie_probe_s=probe)
    emit("gpu_samples", rows.drop("date", "clock", "full", "sod"))


def _finish(state: _State, emit: Emit) -> None:
    """One clock per source, one quality row per oddity."""
    line = state.first_line or 1
    if state.dated is False:
        state.odd["date-unknown"] += 1
    if state.first_line is None:
        state.odd["no-rows"] += 1
    if state.first_line is not None:
        kind = "none" if state.dated is None else "local-no-zone"
        resolution = None if state.dated is None else 1.0
        send_clock(emit, line, kind, resolution, state.interval)
    send_oddities(emit, line, state.odd, _NOTES)


@dataclass(frozen=True)
class _Look:
    """What the head holds: kinds of its lines."""

    headers: int
    units: int
    rows: int
    foreign: int
    refused: bool


def _look(head: Head) -> _Look:
    import polars as pl

    frame = _lines(1, head.text) if head.text else None
    if frame is None:
        return _Look(0, 0, 0, 0, False)
    frame = _bind(frame, _State())
    kinds = Counter(frame["kind"].to_list())
    units = "# Idx" if kinds["units"] else ""
    headers = sum(_layout(h, units) is not None for h in frame.filter(pl.col("kind") == "header")["norm"].unique().to_list())
    text = frame.filter(pl.col("kind") == "text")
    spaced = text["norm"].str.replace_all(",", " ", literal=True)
    rows = spaced.str.contains(_ROW.pattern)
    foreign = int((~rows & ~text["norm"].str.contains(_PROMPT.pattern) & (text["cells"].list.len() > 1)).sum())
    return _Look(headers, kinds["units"], int(rows.sum()), foreign, kinds["refused"] > 0)


def _headerless(head: Head) -> bool:
    """Right-aligned rows of equal length and cell count, all numbers or `-`: dmon that lost its header."""
    if re.match(r"[0-9]+,", "".join(head.text.split()[:1])):
        sizes = {line.count(",") for line in head.text.splitlines()[:200] if _ROW.match(line.replace(",", " ").strip())}
        return len(sizes) == 1 and min(sizes) >= 7 and re.search(r",\s*-\s*,", head.text) is not None
    shapes = {
        (len(line.rstrip()), len(line.split())) for line in head.text.splitlines()[:200] if _ROW.match(line.strip()) and line[:1] == " "
    }
    rows = sum(bool(_ROW.match(line.strip())) for line in head.text.splitlines()[:200])
    return rows >= 2 and 0 < len(shapes) <= 3 and min(cells for _, cells in shapes) >= 4


_SAMPLES = (
    Sample(
        text="""# gpu   pwr  temp    sm   mem   enc   dec  mclk  pclk pviol tviol    fb  bar1 sbecc dbecc   pci rxpci txpci
# Idx     W     C     %     %     %     %   MHz   MHz     %  bool    MB    MB  errs  errs  errs  MB/s  MB/s
    0    97    71    34    11     0     0  5005  1721     3     0  7214     5     -     -     0    52     9
    1    88    66     0     0     0     0  5005  1695     0     0  7190     5     -     -     0     0 209713
    0    99    71    38    12     0     0  5005  1721     2     0  7214     5     -     -     0    48    11
""",
        rows={
            "gpu_samples": [
                {
                    "line": 3,
                    "gpu": 0,
                    "cycle": 0,
                    "time": None,
                    "power_w": 97.0,
                    "temp": 71.0,
                    "mem_temp": None,
                    "util_gpu": 34.0,
                    "pviol": 3.0,
                },
                {"line": 4, "gpu": 1, "cycle": 0, "mem_used": 7190.0, "pcie_rx": 0.0, "pcie_tx": None, "pcie_probe_s": 0.02},
                {"line": 5, "gpu": 0, "cycle": 1, "sm_clock": 1721.0, "mem_clock": 5005.0, "pcie_rx": 48.0, "pcie_tx": 11.0},
            ],
            "clocks": [{"kind": "none", "interval_s": None}],
            "quality": [{"kind": "pcie-glitch", "n": 1}],
        },
        versions="2016 (one temp column)",
    ),
    Sample(
        text="""#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa  rxpci  txpci
#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %      %      %      %      %   MB/s   MB/s
 20250306   23:59:58      0    212     61      -     88     41      0      0      0      0    310     95
 20250306   23:59:58      1     64     44      -      -      -      -      -      -      -      2      0
#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa  rxpci  txpci
#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %      %      %      %      %   MB/s   MB/s
 20250307   00:00:00      0    214     61      -     90     43      0      0      0      0    305  ^C  91
""",
        rows={
            "gpu_samples": [
                {"line": 3, "gpu": 0, "cycle": 0, "time": 1741305598.0, "util_gpu": 88.0, "util_mem": 41.0, "temp": 61.0, "mem_temp": None},
                {"line": 4, "gpu": 1, "cycle": 0, "time": 1741305598.0, "util_gpu": None, "enc": None, "power_w": 64.0},
                {
                    "line": 7,
                    "gpu": 0,
                    "cycle": 1,
                    "time": 1741305600.0,
                    "pcie_rx": 305.0,
                    "pcie_tx": 91.0,
                    "pcie_probe_s": 0.02,
                    "pcie_averaged": False,
                },
            ],
            "clocks": [{"kind": "local-no-zone", "resolution_s": 1.0, "interval_s": 2.0}],
        },
        versions="535 and later, -s put -o DT",
    ),
    Sample(
        text="""# gpu    pwr  gtemp  mtemp      gract    smutil     smocc    mmaact      dram     pcitx     pcirx     nvlrx     nvltx
# Idx      W      C      C      GPM:%     GPM:%     GPM:%     GPM:%     GPM:% GPM:MiB/s GPM:MiB/s GPM:MiB/s GPM:MiB/s
    0    391     48     45          -         -         -         -         -         -         -         -         -
    0    402     49     46         97        81        22        37        64       500      2000       100       200
""",
        rows={
            "gpu_samples": [
                {"line": 3, "gpu": 0, "sm_active": None, "pcie_rx": None, "pcie_probe_s": None, "power_w": 391.0},
                {
                    "line": 4,
                    "sm_active": 0.81,
                    "sm_occupancy": 0.22,
                    "tensor_active": 0.37,
                    "dram_active": 0.64,
                    "pcie_tx": 524.288,
                    "pcie_rx": 2097.152,
                    "nvlink_rx": 104.8576,
                    "nvlink_tx": 209.7152,
                    "pcie_probe_s": None,
                },
            ],
        },
        versions="570 and later, --gpm-metrics on Hopper",
    ),
    Sample(
        text="""# gpu, pwr, gtemp, mtemp, sm, mem, enc, dec, jpg, ofa, mclk, pclk
# Idx, W, C, C, %, %, %, %, %, %, MHz, MHz
0, 305, 57, -, 99, 72, 0, 0, 0, 0, 10501, 2610
1, 23, 38, -, 0, 0, 0, 0, 0, 0, 405, 210
""",
        rows={
            "gpu_samples": [
                {"gpu": 0, "cycle": 0, "power_w": 305.0, "util_gpu": 99.0, "util_mem": 72.0, "mem_clock": 10501.0, "sm_clock": 2610.0},
                {"gpu": 1, "cycle": 0, "power_w": 23.0, "mem_temp": None},
            ],
        },
        versions="550 and later, --format csv (shape inferred: no published output)",
    ),
)


class NvidiaSmiDmon:
    """`nvidia-smi dmon`."""

    name = "nvidia-smi-dmon"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A header of dmon anywhere in the head; without one, a refusal that says what is missing."""
        head = plain_head(head)
        quick = re.search(r"(?im)\bgpu\b[ \t,]+[a-z]", head.text)
        look = _look(head) if quick else None
        if look is not None and look.headers:
            strength = 95 if look.units else 80
            if not look.rows and look.refused:
                return Refusal(60, "dmon printed its header but no rows: the driver does not support it on this device")
            return Claim(strength, "header of nvidia-smi dmon", shares=look.foreign > 0)
        if _REFUSED.search(head.text):
            return Refusal(60, "nvidia-smi refused dmon for this device or command line: record --query-gpu=... --format=csv -l 1 instead")
        if not re.search(r"(?im)^\W*#.*\bpid\b", head.text) and _headerless(head):
            return Refusal(50, "rows of nvidia-smi dmon without their header: the order after -s is needed; keep the two header lines")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, one `clocks` row and `quality` rows."""
        return piece_by_piece(source, emit, _State, _block, _finish)


PARSER = NvidiaSmiDmon()
