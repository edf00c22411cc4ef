"""`nvidia-smi pmon`: one row per process, card and sampling round.

**Reads** `nvidia-smi pmon [-s um] [-o DT]` from 2016 to 2026, redirected, copied from a terminal or quoted in an issue. Columns are found
by the header printed last (it comes again every 44 rows, also inside a round). The command is the last column, cut at 15 characters and
may hold blanks.

| column of pmon | column of `gpu_processes` |
|---|---|
| `gpu`, `pid`, `type`, `command` | `gpu`, `pid`, `kind`, `name` |
| `sm` | `util_gpu`: share of the time since the last round |
| `fb` | `mem_used` |
| `Date`, `Time` (`-o`) | `time`, local wall clock, 1 s |

`mem enc dec jpg ofa ccpm` are known and left out.

**Rounds.** A new `cycle` begins where the time changes, the card falls, or the process number of a card does not rise.

**Clock.** Date and time give `local-no-zone`; `-o T` alone gives seconds of the day, rising by 86400 at midnight (`date-unknown`); else
`none`.

**Traps.** `-` under `sm` means "no sample of this process in this round" more often than "idle": NULL, never 0. Under MIG it is always
`-`. A row of dashes says that the card has no process: no row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import middle, send_clock, send_oddities
from ..engine.streams import bare_lines, numbered_lines, piece_by_piece, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

MIDNIGHT_FALL_S = 7200  # a smaller fall of the clock is a correction, not another day

_HEADER = r"(?i)^#?\s*(?:date\s+)?(?:time\s+)?gpu\s+pid\s+type\s.*\bcommand$"
_UNITS = r"(?i)^#?\s*(?:yyyymmdd\s+)?(?:hh:mm:ss\s+)?idx\s+#\s+c/g\b.*\bname$"
_ROW = r"^#?\s*(?:[0-9]{8}\s+)?(?:[0-9]{2}:[0-9]{2}:[0-9]{2}\s+)?[0-9]{1,4}\s+(?:[0-9]{1,9}|-)\s+(?:C\+G|M\+C|C|G|M|O|-)\s"
_KNOWN = frozenset(("date", "time", "gpu", "pid", "type", "sm", "mem", "enc", "dec", "jpg", "ofa", "fb", "ccpm", "command"))
_VALUE = r"^(?:-?[0-9]{1,9}|-|N/A)$"
_NOTES = {
    "date-unknown": "times without a date: seconds of the day, rising past midnight; the day is not in the file",
    "no-processes": "rounds in which a card had no process",
    "out-of-range": "values outside what the column can hold were dropped",
    "cut-row": "the unfinished last line was dropped",
}


@dataclass
class _State:
    """What the next block must know."""

    header: str = ""
    cycle: int = -1
    last: tuple[float | None, int, int | None] | None = None  # time, gpu, pid of the last row
    day: int = 0
    clock: float | None = None
    dated: bool | None = None
    starts: dict[int, float] = field(default_factory=dict)  # the last round's time
    steps: Counter[float] = field(default_factory=Counter)
    first_line: int | None = None
    odd: Counter[str] = field(default_factory=Counter)
    counts: Counts = field(default_factory=Counts)


def _names(header: str) -> list[str] | None:
    """Columns of a header line; None where one is unknown before the command: the cells could not be counted."""
    names = header.lstrip("#").lower().split()
    return names if set(names) <= _KNOWN and names[-1] == "command" else None


def _lines(first: int, text: str, state: _State) -> pl.DataFrame:
    """line, text, kind and the header that holds; a last line without its end is dropped."""
    import polars as pl

    frame, cut = numbered_lines(first, text, escapes=True)
    kind = pl.lit("text")
    for name, pattern in (("row", _ROW), ("units", _UNITS), ("header", _HEADER)):
        kind = pl.when(pl.col("text").str.contains(pattern)).then(pl.lit(name)).otherwise(kind)
    frame = frame.with_columns(kind=pl.when(pl.col("text").str.contains(r"^[\W_]*$")).then(pl.lit("blank")).otherwise(kind))
    # the header of dmon closes a table: its rows must not be read as processes
    other = pl.col("text").str.contains(r"(?i)^#?\s*(?:date\s+)?(?:time\s+)?gpu\s+[a-z]") & (pl.col("kind") != "header")
    header = pl.when(pl.col("kind") == "header").then("text").when(other).then(pl.lit("")).forward_fill().fill_null(state.header)
    frame = frame.with_columns(header=header)
    state.header = frame["header"][-1]
    if cut and frame["kind"][-1] == "row":
        state.odd["cut-row"] += 1
        frame = frame.with_columns(kind=pl.when(pl.col("line") == frame["line"][-1]).then(pl.lit("cut")).otherwise("kind"))
    return frame


def _read(group: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Typed rows of one header; rows that do not fit are left out."""
    import polars as pl

    n = len(names)
    cells = pl.col("text").str.replace(r"^#\s*", "").str.extract_all(r"\S+")
    group = group.with_columns(cells=cells).filter(pl.col("cells").list.len() >= n)

    def cell(name: str) -> pl.Expr:
        return pl.col("cells").list.get(names.index(name), null_on_oob=True) if name in names else pl.lit(None, pl.String)

    measured = [c for c in names if c not in ("date", "time", "gpu", "pid", "type", "command")]
    fits = cell("gpu").str.contains(r"^[0-9]{1,4}$") & cell("pid").str.contains(r"^(?:[0-9]{1,9}|-)$")
    fits = fits & cell("type").str.contains(r"^(?:C\+G|M\+C|C|G|M|O|-)$")
    for name in measured:
        fits = fits & cell(name).str.contains(_VALUE)
    if "date" in names:
        fits = fits & cell("date").str.contains(r"^[0-9]{8}$")
    if "time" in names:
        fits = fits & cell("time").str.contains(r"^[0-9]{2}:[0-9]{2}:[0-9]{2}$")
    number = lambda c: cell(c).str.extract(r"^([0-9]{1,9})$", 1).cast(pl.Float64, strict=False)  # noqa: E731
    kind = cell("type")
    return group.filter(fits.fill_null(False)).select(
        "line",
        date=cell("date"), clock=cell("time"), gpu=cell("gpu").cast(pl.Int32), pid=cell("pid").str.extract(r"^([0-9]+)$", 1).cast(pl.Int64),
        kind=pl.when(kind != "-").then(kind), name=pl.col("cells").list.slice(n - 1).list.join(" "),
        util_gpu=number("sm"), mem_used=number("fb"),
    )  # fmt: skip


def _times(rows: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Adds `time`: date and time, or seconds of the day rising past midnight, or NULL."""
    import polars as pl

    stamp = pl.concat_str("date", pl.lit(" "), "clock").str.to_datetime("%Y%m%d %H:%M:%S", strict=False).dt.epoch("s").cast(pl.Float64)
    g = pl.col("clock").str.extract_groups(r"^(\d\d):(\d\d):(\d\d)$")
    h, m, s = (g.struct.field(str(i)).cast(pl.Float64) for i in (1, 2, 3))
    rows = rows.with_columns(stamp=stamp, second=h * 3600 + m * 60 + s)
    if rows["date"].is_not_null().any():
        state.dated = True
        return rows.with_columns(time=pl.col("stamp"))
    seconds = rows["second"].drop_nulls()
    if state.dated or not len(seconds):
        return rows.with_columns(time=pl.lit(None, pl.Float64))
    state.dated = False
    before = pl.col("second").forward_fill().shift(1).fill_null(state.clock if state.clock is not None else seconds[0])
    rows = rows.with_columns(day=((before - pl.col("second")) > MIDNIGHT_FALL_S).fill_null(False).cum_sum() + state.day)
    state.day, state.clock = int(rows["day"][-1]), float(seconds[-1])
    return rows.with_columns(time=pl.col("second") + 86400.0 * pl.col("day"))


def _rounds(rows: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Adds `cycle` and counts the steps between rounds."""
    import polars as pl

    time, gpu, pid = state.last if state.last is not None else (None, -1, None)
    begun = state.last is not None
    prev_gpu, prev_pid = pl.col("gpu").shift(1, fill_value=gpu), pl.col("pid").shift(1).fill_null(-1)
    if len(rows) and pid is not None:
        prev_pid = pl.when(pl.int_range(pl.len()) == 0).then(pid).otherwise(prev_pid)
    prev_time = pl.col("time").shift(1)
    if time is not None:
        prev_time = pl.when(pl.int_range(pl.len()) == 0).then(time).otherwise(prev_time)
    same = (pl.col("gpu") == prev_gpu) & (pl.col("pid").is_null() | (prev_pid < 0) | (pl.col("pid") <= prev_pid))
    new = (pl.col("gpu") < prev_gpu) | same | (pl.col("time") != prev_time).fill_null(False)
    first = (pl.int_range(pl.len()) == 0) & pl.lit(not begun)
    rows = rows.with_columns(new=new.fill_null(True) | first).with_columns(cycle=pl.col("new").cum_sum().cast(pl.Int64) + state.cycle)
    for start in rows.filter("new")["time"].drop_nulls():  # one step per round
        if 0 in state.starts and start > state.starts[0]:
            state.steps[start - state.starts[0]] += 1
        state.starts[0] = start
    state.cycle = int(rows["cycle"][-1])
    state.last = (rows["time"][-1], rows["gpu"][-1], rows["pid"][-1])
    return rows


def _block(first: int, text: str, state: _State, emit: Emit) -> None:
    """Read one block of lines."""
    import polars as pl

    frame = _lines(first, text, state)
    candidates = frame.filter((pl.col("kind") == "row") & (pl.col("header") != ""))
    found = [
        _read(group, names) for (header,), group in candidates.group_by("header", maintain_order=True) if (names := _names(str(header)))
    ]
    rows = pl.concat(found).sort("line") if found else None
    good = rows.height if rows is not None else 0
    sizes = dict(frame["kind"].value_counts().iter_rows())
    near = candidates.filter(~pl.col("line").is_in(rows["line"].to_list() if rows is not None else []))
    quiet = sum(sizes.get(k, 0) for k in ("blank", "header", "units"))
    state.counts.block(len(frame), good, quiet, near["line"], "a row of pmon that does not fit its header")
    if rows is None or not good:
        return
    state.first_line = state.first_line or int(rows["line"][0])
    rows = _rounds(_times(rows, state), state)
    state.odd["no-processes"] += rows["pid"].null_count()
    state.odd["out-of-range"] += rows.filter(pl.col("util_gpu") > 100).height
    out = rows.filter(pl.col("pid").is_not_null()).with_columns(util_gpu=pl.when(pl.col("util_gpu") <= 100).then("util_gpu"))
    if len(out):
        emit("gpu_processes", out.select("line", "gpu", "cycle", "time", "pid", "kind", "name", "util_gpu", "mem_used"))


def _finish(state: _State, emit: Emit) -> None:
    """One clock and one quality row per oddity."""
    if state.first_line is None:
        return
    timed = state.dated is not None
    send_clock(emit, state.first_line, "local-no-zone" if timed else "none", 1.0 if timed else None, middle(state.steps.elements()))
    state.odd["date-unknown"] += state.dated is False
    send_oddities(emit, state.first_line, state.odd, _NOTES)


_SAMPLES = (
    Sample(
        text="""# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command 
# Idx           #    C/G      %      %      %      %      %      %    name 
    0       2140   C+G      -      -      -      -      -      -    My Overlay.exe 
    0      13820     C     97      3      -      -      -      -    server         
    1      13820     C     12      1      -      -      -      -    server         
# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command 
# Idx           #    C/G      %      %      %      %      %      %    name 
    0       2140   C+G      -      -      -      -      -      -    My Overlay.exe 
    0      13820     C      -      -      -      -      -      -    server         
    1          -     -      -      -      -      -      -      -    -              
""",  # noqa: W291
        rows={
            "gpu_processes": [
                {"line": 3, "gpu": 0, "cycle": 0, "time": None, "pid": 2140, "kind": "C+G", "name": "My Overlay.exe", "util_gpu": None},
                {"line": 4, "gpu": 0, "cycle": 0, "pid": 13820, "util_gpu": 97.0, "mem_used": None},
                {"line": 5, "gpu": 1, "cycle": 0, "util_gpu": 12.0},
                {"line": 8, "gpu": 0, "cycle": 1},
                {"line": 9, "gpu": 0, "cycle": 1, "util_gpu": None},
            ],
            "clocks": [{"kind": "none"}],
            "quality": [{"kind": "no-processes", "n": 1}],
        },
        versions="535 to 610",
    ),
    Sample(
        text="""#Date       Time        gpu        pid  type    sm   mem   enc   dec    fb   command
#YYYYMMDD   HH:MM:SS    Idx          #   C/G     %     %     %     %    MB   name
 20210102   19:12:31      0      10291     C     55     7     0     0   811   python
 20210102   19:12:33      0      10291     C     57     7     0     0   812   python
""",
        rows={
            "gpu_processes": [
                {"gpu": 0, "cycle": 0, "time": 1609614751.0, "pid": 10291, "util_gpu": 55.0, "mem_used": 811.0},
                {"gpu": 0, "cycle": 1, "time": 1609614753.0, "pid": 10291, "util_gpu": 57.0, "mem_used": 812.0},
            ],
            "clocks": [{"kind": "local-no-zone", "resolution_s": 1.0, "interval_s": 2.0}],
        },
        versions="2016 to 2022, -s um -o DT",
    ),
)  # fmt: skip


class NvidiaSmiPmon:
    """`nvidia-smi pmon`."""

    name = "nvidia-smi-pmon"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A header of pmon anywhere in the head; rows without one are refused."""
        head = plain_head(head)
        if not re.search(r"(?i)\bpid\b|nvidia-smi pmon|^\s+[0-9]+\s+[0-9]+\s+C\s", head.text, re.M):
            return None
        lines = bare_lines(head.text)
        headers = [x for x in lines if re.match(_HEADER, x)]
        if headers and any(_names(x) for x in headers):
            foreign = sum(not re.match(rf"{_HEADER}|{_UNITS.replace('(?i)', '')}|{_ROW}|^[\W_]*$", x) for x in lines[:-1])
            return Claim(95, "header of nvidia-smi pmon", shares=foreign > 0)
        if headers:
            return Refusal(55, "a header of nvidia-smi pmon with columns nobody knows")
        rows = sum(bool(re.match(rf"{_ROW}", x)) for x in lines)
        if rows >= 2 and rows >= 0.5 * len([x for x in lines if x]):
            return Refusal(50, "rows of nvidia-smi pmon without their header; keep the two header lines")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_processes`, one `clocks` row and `quality` rows."""
        return piece_by_piece(source, emit, _State, _block, _finish)


PARSER = NvidiaSmiPmon()
