"""`nvidia-smi --query-compute-apps=... --format=csv`: one row per compute process and round.

**Reads** the CSV with a header, with or without `timestamp`, with or without units, once or in a loop, appended over restarts with other
fields. Columns are found by name: those before the process name are counted from the left, those after it from the right, because a name
may hold commas and nothing is quoted. Without a header the file is refused.

| field | column of `gpu_processes` |
|---|---|
| `timestamp` | `time`, local wall clock, 1 ms |
| `pid`; `process_name` (`name`) | `pid`; `name` |
| `used_gpu_memory` (`used_memory`) | `mem_used` (MiB) |
| `gpu_uuid`, else `gpu_bus_id`, else `gpu_serial` | `gpu`, numbered by first appearance |

`kind` is `C`: only compute processes are listed. `gpu_name`, `gpu_uuid` and `gpu_bus_id` give a row in `gpus` without a number.

**Card numbers.** The file has no index. A card on which nothing runs is not in it at all, so the number is only good inside this file:
`gpu-by-appearance`. Where no column tells cards apart, `gpu` is NULL.

**Rounds.** With times a new `cycle` begins where the time jumps (rows of one round are a few milliseconds apart). Without, where a process
comes for the n-th time; processes that started late then share an earlier round.

**Traps.** `[N/A]`, `[Not Supported]`, `[Insufficient Permissions]` are NULL (WDDM: all memory). The last row of a killed loop is often cut:
a row that is too short or without its unit is dropped. No process is no row: silence is not idleness.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import middle, send_clock, send_oddities, send_rows
from ..engine.smi_values import product
from ..engine.streams import numbered_lines, piece_by_piece, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

MAX_KEYS = 200_000
SAME_ROUND_S = 0.045  # rows of one round are 1 to 5 ms apart; the fastest usual loop polls every 50 ms

_ALIAS = {"name": "process_name", "used_memory": "used_gpu_memory"}
_KNOWN = frozenset(("timestamp", "gpu_name", "gpu_bus_id", "gpu_serial", "gpu_uuid", "pid", "process_name", "used_gpu_memory"))
_CELL = re.compile(r"^([a-z_]+)(?: \[(MiB|MB)\])?$")
_STAMP = r"^[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}$"
_NONE = r"^(?:\[[A-Za-z/ ]+\]|N/A|-|)$"
_SHAPES = {
    "timestamp": _STAMP,
    "pid": r"^[0-9]{1,9}$",
    "used_gpu_memory": rf"^[0-9]{{1,9}}(?: Mi?B)?$|{_NONE}",
    "gpu_uuid": rf"^(?:GPU|MIG)-[0-9a-fA-F/-]{{8,60}}$|{_NONE}",
    "gpu_bus_id": rf"^[0-9A-Fa-f]{{4,8}}:[0-9A-Fa-f]{{2}}:[0-9A-Fa-f]{{2}}\.[0-9A-Fa-f]$|{_NONE}",
    "gpu_serial": rf"^[0-9]{{1,20}}$|{_NONE}",
    "gpu_name": r"^[^,]{0,80}$",
}
_NOTES = {
    "gpu-by-appearance": "no index column: cards are numbered by first appearance; the number is only good inside this file",
    "gpu-unknown": "nothing tells which card these processes run on",
    "cut-row": "the unfinished last line was dropped",
    "no-rows": "the header is there but no process",
}


@dataclass
class _State:
    """What the next block must know."""

    header: str = ""
    cards: dict[str, int] = field(default_factory=dict)
    about: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)
    high: int = 0
    cycle: int = -1
    last: float | None = None  # time of the last row
    start: float | None = None  # time of the first row of the last round
    steps: Counter[float] = field(default_factory=Counter)
    first_line: int | None = None
    timed: bool = False
    rows: int = 0
    unknown: int = 0
    headers: int = 0
    odd: Counter[str] = field(default_factory=Counter)
    counts: Counts = field(default_factory=Counts)


def _names(line: str) -> list[str] | None:
    """Fields of a header line in order; None if it is none."""
    cells = [_CELL.match(c.strip().lower().replace("[mib]", "[MiB]").replace("[mb]", "[MB]")) for c in line.split(",")]
    names = [_ALIAS.get(c[1], c[1]) for c in cells if c]
    if len(names) != len(cells) or len(names) < 2 or not set(names) <= _KNOWN or len(set(names)) < len(names):
        return None
    return names if "pid" in names or ("process_name" in names and "used_gpu_memory" in names) else None


def _lines(first: int, text: str, state: _State) -> pl.DataFrame:
    """line, text, kind and the header that holds."""
    import polars as pl

    frame, cut = numbered_lines(first, text)
    maybe = frame.filter(pl.col("text").str.contains(r"(?i)\bpid\b|process_name"))["text"].unique().to_list()
    headers = [x for x in maybe if _names(x)]
    other = pl.col("text").str.contains(r"^(?:timestamp|index|name|uuid)[, ]") & ~pl.col("text").is_in(headers)
    header = pl.when(pl.col("text").is_in(headers)).then("text").when(other).then(pl.lit(""))
    frame = frame.with_columns(header=header.forward_fill().fill_null(state.header), is_header=pl.col("text").is_in(headers))
    state.header = frame["header"][-1]
    state.headers += int(frame["is_header"].sum())
    return frame.with_columns(cut=(pl.col("line") == frame["line"][-1]) & pl.lit(cut))


def _read(group: pl.DataFrame, names: list[str], state: _State) -> pl.DataFrame:
    """Typed rows of one header; rows that do not fit are left out."""
    import polars as pl

    n = len(names)
    at = names.index("process_name") if "process_name" in names else n
    group = group.with_columns(cells=pl.col("text").str.split(",").list.eval(pl.element().str.strip_chars()))
    size = pl.col("cells").list.len()
    group = group.filter((size >= n) if at < n else (size == n)).with_columns(extra=size.cast(pl.Int64) - n)

    def cell(name: str) -> pl.Expr:
        if name not in names:
            return pl.lit(None, pl.String)
        k = names.index(name)
        return pl.col("cells").list.get(k if k < at else k - n, null_on_oob=True)

    fits = pl.lit(True)
    for name, shape in _SHAPES.items():
        if name in names:
            fits = fits & cell(name).str.contains(shape)
    if names[-1] == "used_gpu_memory":
        unfinished = pl.col("cut") & ~cell("used_gpu_memory").str.contains(r"B$|\]$")
    else:
        unfinished = pl.col("cut")
    group = group.filter(fits)
    state.odd["cut-row"] += group.filter(unfinished).height
    process = pl.col("cells").list.slice(at, pl.col("extra") + 1).list.join(",") if at < n else pl.lit(None, pl.String)
    value = lambda c: pl.when(~cell(c).str.contains(_NONE)).then(cell(c))  # noqa: E731
    return group.filter(~unfinished).select(
        "line",
        time=cell("timestamp").str.to_datetime("%Y/%m/%d %H:%M:%S%.3f", strict=False).dt.epoch("ms").cast(pl.Float64) / 1e3,
        pid=cell("pid").cast(pl.Int64), name=pl.when(~process.str.strip_chars().str.contains(_NONE)).then(process),
        mem_used=cell("used_gpu_memory").str.extract(r"^([0-9]+)", 1).cast(pl.Float64),
        uuid=value("gpu_uuid"), bus_id=value("gpu_bus_id"), serial=value("gpu_serial"), product=value("gpu_name"),
    )  # fmt: skip


def _numbered(rows: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Adds `gpu` by first appearance of the id, and keeps what is said about cards."""
    import polars as pl

    # the id of a MIG instance is none of a card
    rows = rows.with_columns(card=pl.coalesce(pl.when(~pl.col("uuid").str.starts_with("MIG-")).then("uuid"), "bus_id", "serial"))
    first = rows.filter(pl.col("card").is_not_null()).unique("card", keep="first", maintain_order=True)
    for row in first.iter_rows(named=True):  # one step per card
        if row["card"] not in state.cards and len(state.cards) < 4096:
            state.cards[row["card"]] = len(state.cards)
            name = product(row["product"])
            state.about[row["card"]] = {"line": row["line"], "name": name, "uuid": row["uuid"], "bus_id": row["bus_id"]}
    state.unknown += rows["card"].null_count()
    return rows.with_columns(gpu=pl.col("card").replace_strict(state.cards, default=None, return_dtype=pl.Int32))


def _rounds(rows: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Adds `cycle`."""
    import polars as pl

    if rows["time"].is_not_null().any():
        state.timed = True
        before = pl.col("time").shift(1)
        if state.last is not None:
            before = pl.when(pl.int_range(pl.len()) == 0).then(state.last).otherwise(before)
        rows = rows.with_columns(new=((pl.col("time") - before).abs() > SAME_ROUND_S).fill_null(pl.lit(state.last is None)))
        rows = rows.with_columns(cycle=pl.col("new").cum_sum().cast(pl.Int64) + state.cycle)
        for start in rows.filter("new")["time"].drop_nulls():  # one step per round
            if state.start is not None and start > state.start:
                state.steps[round(start - state.start, 3)] += 1
            state.start = start
        state.last, state.cycle = rows["time"][-1], int(rows["cycle"][-1])
        return rows
    key = pl.concat_str(
        pl.col("card").fill_null(""), pl.lit(" "), pl.col("pid").cast(pl.String).fill_null(""), pl.col("name").fill_null("")
    )
    rows = rows.with_columns(key=key)
    seen = {k: state.seen[k] for k in rows["key"].unique().to_list()}
    n = pl.col("key").replace_strict(seen, default=0, return_dtype=pl.Int64) + pl.int_range(pl.len()).over("key")
    rows = rows.with_columns(n=n).with_columns(cycle=pl.col("n").clip(lower_bound=state.high).cum_max())
    if len(state.seen) < MAX_KEYS:
        state.seen.update(dict(rows["key"].value_counts().iter_rows()))
    state.high = int(rows["cycle"][-1])
    return rows


def _block(first: int, text: str, state: _State, emit: Emit) -> None:
    """Read one block of lines."""
    import polars as pl

    frame = _lines(first, text, state)
    candidates = frame.filter(~pl.col("is_header") & (pl.col("header") != "") & pl.col("text").str.contains(",", literal=True))
    found = [
        _read(group, names, state)
        for (header,), group in candidates.group_by("header", maintain_order=True)
        if (names := _names(str(header)))
    ]
    rows = pl.concat(found).sort("line") if found else None
    good = rows.height if rows is not None else 0
    blank = frame.filter(pl.col("text") == "").height
    taken = rows["line"].to_list() if rows is not None else []
    near = candidates.filter(~pl.col("line").is_in(taken) & pl.col("text").str.contains(r"(?:GPU-[0-9a-f]|Mi?B$|^[0-9]+, )"))
    headers = int(frame["is_header"].sum())
    state.counts.block(len(frame), good, blank + headers, near["line"], "a row of --query-compute-apps that does not fit its header")
    if rows is None or not good:
        return
    state.rows += good
    state.first_line = state.first_line or int(rows["line"][0])
    rows = _rounds(_numbered(rows, state), state).with_columns(kind=pl.lit("C"))
    emit("gpu_processes", rows.select("line", "gpu", "cycle", "time", "pid", "kind", "name", "mem_used"))


def _finish(state: _State, emit: Emit) -> None:
    """One clock, the cards, one quality row per oddity."""
    line = state.first_line or 1
    if state.first_line is not None:
        send_clock(emit, line, "local-no-zone" if state.timed else "none", 1e-3 if state.timed else None, middle(state.steps.elements()))
    if state.about:
        columns = ("line", "name", "uuid", "bus_id")
        send_rows(emit, "gpus", list(state.about.values()), columns)
    state.odd["gpu-by-appearance"] += len(state.cards)
    state.odd["gpu-unknown"] += state.unknown
    state.odd["no-rows"] += bool(state.headers) and not state.rows
    send_oddities(emit, line, state.odd, _NOTES)


_U = "GPU-12345678-1234-1234-1234-123456789ab{}"
_SAMPLES = (
    Sample(
        text="timestamp, gpu_name, gpu_bus_id, gpu_serial, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
        f"2026/02/03 04:05:06.100, NVIDIA H200, 00000000:83:00.0, 1650000000000, {_U.format(0)}, 4100, /opt/a, b/serve, 2566 MiB\n"
        f"2026/02/03 04:05:06.101, NVIDIA H200, 00000000:93:00.0, 1650000000001, {_U.format(1)}, 4101, serve, [N/A]\n"
        f"2026/02/03 04:05:08.102, NVIDIA H200, 00000000:93:00.0, 1650000000001, {_U.format(1)}, 4101, serve, 99 MiB\n",
        rows={
            "gpu_processes": [
                {
                    "line": 2,
                    "gpu": 0,
                    "cycle": 0,
                    "time": 1770091506.1,
                    "pid": 4100,
                    "name": "/opt/a,b/serve",
                    "mem_used": 2566.0,
                    "kind": "C",
                },
                {"line": 3, "gpu": 1, "cycle": 0, "pid": 4101, "mem_used": None},
                {"line": 4, "gpu": 1, "cycle": 1, "time": 1770091508.102, "mem_used": 99.0},
            ],
            "gpus": [{"gpu": None, "name": "NVIDIA H200", "uuid": _U.format(0), "bus_id": "00000000:83:00.0"}, {"uuid": _U.format(1)}],
            "clocks": [{"kind": "local-no-zone", "resolution_s": 0.001, "interval_s": 2.002}],
            "quality": [{"kind": "gpu-by-appearance", "n": 2}],
        },
        versions="418 to 610",
    ),
    Sample(
        text="pid, process_name, gpu_uuid, used_gpu_memory [MiB]\n"
        f"15, ./sim, {_U.format(0)}, 1002 MiB\n16, ./sim, {_U.format(1)}, 1003 MiB\n"
        f"15, ./sim, {_U.format(0)}, 1002 MiB\n16, ./sim, {_U.format(1)}, 10",
        rows={
            "gpu_processes": [{"gpu": 0, "cycle": 0, "time": None}, {"gpu": 1, "cycle": 0, "mem_used": 1003.0}, {"gpu": 0, "cycle": 1}],
            "clocks": [{"kind": "none"}],
            "quality": [{"kind": "cut-row"}, {"kind": "gpu-by-appearance"}],
        },
        versions="without timestamp, cut",
    ),
    Sample(
        text="pid, used_gpu_memory\n15, 1002\n",
        rows={"gpu_processes": [{"gpu": None, "pid": 15, "name": None, "mem_used": 1002.0}], "quality": [{"kind": "gpu-unknown", "n": 1}]},
        versions="nounits",
    ),
)


class NvidiaSmiComputeApps:
    """`nvidia-smi --query-compute-apps=... --format=csv`."""

    name = "nvidia-smi-compute-apps"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A header with the fields of compute processes; rows without one are refused."""
        head = plain_head(head)
        if not re.search(r"(?i)pid|process_name|MiB", head.text):
            return None
        lines = [x.strip(" \t\r`>") for x in head.text.split("\n")[:20_000]]
        headers = [x for x in lines if re.search(r"(?i)\bpid\b|process_name", x) and _names(x)]
        if headers:
            foreign = any(x and "," not in x for x in lines) or any(re.match(r"(?:timestamp|index|name), (?!.*pid)", x) for x in lines)
            return Claim(95, "header of nvidia-smi --query-compute-apps", shares=foreign)
        if sum(bool(re.match(r"^(?:[^,]+, )*[0-9]{1,9}, [^,]+, [0-9]{1,9} MiB$", x)) for x in lines) >= 2:
            return Refusal(50, "rows of nvidia-smi --query-compute-apps without their header: record again without noheader")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_processes`, `gpus`, one `clocks` row and `quality` rows."""
        return piece_by_piece(source, emit, _State, _block, _finish)


PARSER = NvidiaSmiComputeApps()
