"""`dcgmi dmon`: one row per entity and sampling round.

**Reads** `dcgmi dmon -e IDS [-d MS] [-c N] [-i ENTITIES]` of DCGM 2 to 4, redirected or pasted. The header names the columns
(`#Entity GRACT ...` over `ID`; before DCGM 3 `# Entity ...` over `Id`). It comes again every few rows; the second line carries the
units. An entity is two words: `GPU 0`, `GPU-I 3` (MIG instance), `GPU-CI 1`, `Switch 0`.

| short name | column of `gpu_samples` |
|---|---|
| `GPUTL`, `MCUTL`, `ECUTL`, `DCUTL` | `util_gpu`, `util_mem`, `enc`, `dec` in % |
| `SMACT`, `SMOCC`, `TENSO`, `DRAMA` | `sm_active`, `sm_occupancy`, `tensor_active`, `dram_active` as 0..1 |
| `POWER`, else `POWINST`; `TMPTR`, `MMTMP` | `power_w`; `temp`, `mem_temp` |
| `SMCLK`, `MMCLK` | `sm_clock`, `mem_clock` |
| `FBUSD`, `FBTTL` | `mem_used`, `mem_total` (MiB) |
| `DVCCTR` | `event_reasons` |
| `PCILG`, `PCILW` | `pcie_gen`, `pcie_width` |
| `PCITX`, `PCIRX`; `NVLTX`, `NVLRX` | `pcie_tx`, `_rx`; `nvlink_tx`, `_rx`: MB/s, seen from the card; averages over the interval |
| `TXTPT`, `RXTPT` where those are missing | `pcie_tx`, `pcie_rx`: KB/s to MB/s, 20 ms probes |

`GRACT` and the other pipes are known and left out: GRACT is the engine's activity, not the utilisation nvidia-smi prints.

**Clock.** No time is printed: `none`. `interval_s` (and `pcie_probe_s` of the averages) is known only if the command line with its `-d` is
in the text; it is NULL otherwise.

**Traps.** The first row of profiling fields is `N/A`. Rows may come in falling order of cards. MIG instances are shares of one card: their
rows are left out (`mig-instance-rows`), never added to the card. Ratios above 1 (a known defect under MIG) and DCGM's blank values
(9223372036854775794, 140737488355328) are NULL.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import send_oddities
from ..engine.streams import bare_lines, numbered_lines, piece_by_piece, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

PROBE_S = 0.02  # NVML counts PCIe bytes over 20 ms

# short name -> column, scale, highest value after scaling, rank: the lowest rank with a column in the header wins
_READ: dict[str, tuple[str, float, float, int]] = {
    "GPUTL": ("util_gpu", 1, 100, 0),
    "MCUTL": ("util_mem", 1, 100, 0),
    "ECUTL": ("enc", 1, 100, 0),
    "DCUTL": ("dec", 1, 100, 0),
    "SMACT": ("sm_active", 1, 1, 0),
    "SMOCC": ("sm_occupancy", 1, 1, 0),
    "TENSO": ("tensor_active", 1, 1, 0),
    "DRAMA": ("dram_active", 1, 1, 0),
    "POWER": ("power_w", 1, 20_000, 0),
    "POWINST": ("power_w", 1, 20_000, 1),
    "TMPTR": ("temp", 1, 250, 0),
    "MMTMP": ("mem_temp", 1, 250, 0),
    "SMCLK": ("sm_clock", 1, 100_000, 0),
    "MMCLK": ("mem_clock", 1, 100_000, 0),
    "FBUSD": ("mem_used", 1, 1e8, 0),
    "FBTTL": ("mem_total", 1, 1e8, 0),
    "DVCCTR": ("event_reasons", 1, 65535, 0),
    "PCILG": ("pcie_gen", 1, 32, 0),
    "PCILW": ("pcie_width", 1, 64, 0),
    "PCITX": ("pcie_tx", 1e-6, 1e6, 0),
    "PCIRX": ("pcie_rx", 1e-6, 1e6, 0),
    "TXTPT": ("pcie_tx", 1e-3, 1e6, 1),
    "RXTPT": ("pcie_rx", 1e-3, 1e6, 1),
    "NVLTX": ("nvlink_tx", 1e-6, 1e7, 0),
    "NVLRX": ("nvlink_rx", 1e-6, 1e7, 0),
}
_HEADER = r"^#?\s*Entity\s+[A-Z0-9]{2,8}(?:\s|$)"
_UNITS = r"^#?\s*I[Dd](?:\s|$)"
_ROW = r"^(?:GPU|GPU-I|GPU-CI|Switch|CPU|Core|Link)\s+[0-9]{1,4}\s"
_NUMBER = r"^-?[0-9]{1,15}(?:\.[0-9]{1,9})?$"
_VALUE = r"^(?:-?[0-9]{1,20}(?:\.[0-9]{1,9})?|N/A|-|<<<.*>>>)$"
_DELAY = r"dcgmi\s+dmon\b[^\n]*?\s(?:-d|--delay)[ =]*([0-9]{1,7})\b"
_COMMAND = r"^(?:\S*[$#>%:]\s*|\+\s*)?(?:sudo\s+|timeout\s+\S+\s+)*(?:\S*/)?dcgmi\s+dmon\b"
_NOTES = {
    "mig-instance-rows": "rows of MIG instances were left out: they are shares of one card and must not be added to it",
    "other-entities": "rows of switches, links or processors were left out",
    "out-of-range": "values outside what the column can hold (and blank values of DCGM) were dropped",
    "cut-cell": "the last cell of an unfinished last line was dropped",
    "no-rows": "the header of dcgmi dmon is there but no row of a whole card that fits it",
}


@dataclass
class _State:
    """What the next block must know."""

    header: str = ""
    falling: bool | None = None
    cycle: int = -1
    last_gpu: int | None = None
    first_line: int | None = None
    headers: int = 0
    delays: set[int] = field(default_factory=set)
    odd: Counter[str] = field(default_factory=Counter)
    counts: Counts = field(default_factory=Counts)

    @property
    def interval(self) -> float | None:
        return next(iter(self.delays)) / 1000 if len(self.delays) == 1 else None


def _lines(first: int, text: str, state: _State) -> pl.DataFrame:
    """line, text, kind, header and whether the end of the line is missing."""
    import polars as pl

    frame, cut = numbered_lines(first, text, escapes=True)
    kind = pl.lit("other")
    for name, pattern in (("row", _ROW), ("units", _UNITS), ("header", _HEADER), ("command", _COMMAND)):
        kind = pl.when(pl.col("text").str.contains(pattern)).then(pl.lit(name)).otherwise(kind)
    frame = frame.with_columns(kind=pl.when(pl.col("text").str.contains(r"^[\W_]*$")).then(pl.lit("blank")).otherwise(kind))
    header = pl.when(pl.col("kind") == "header").then("text").forward_fill().fill_null(state.header)
    frame = frame.with_columns(header=header)
    state.header = frame["header"][-1]
    state.headers += frame.filter(pl.col("kind") == "header").height
    unfinished = (pl.col("line") == frame["line"][-1]) & ~pl.col("raw").str.contains(r"\s$") & pl.lit(cut)
    return frame.with_columns(unfinished=unfinished)


def _read(group: pl.DataFrame, header: str, state: _State) -> pl.DataFrame:
    """Typed rows of whole cards below one header."""
    import polars as pl

    names = header.lstrip("#").split()[1:]
    n = len(names) + 2
    group = group.with_columns(cells=pl.col("text").str.extract_all(r"\S+"))
    values = pl.col("cells").list.slice(2)
    fits = (pl.col("cells").list.len() == n) & values.list.eval(pl.element().str.contains(_VALUE)).list.all()
    group = group.filter(fits.fill_null(False))
    state.odd["cut-cell"] += group.filter("unfinished").height
    columns = {}
    best: dict[str, tuple[int, int, str]] = {}
    for k, name in enumerate(names):
        if name in _READ and (name not in names[:k]):
            into, _, _, rank = _READ[name]
            best[into] = min(best.get(into, (9, 0, "")), (rank, k, name))
    for into, (_, k, name) in best.items():
        _, scale, high, _ = _READ[name]
        text = pl.col("cells").list.get(k + 2, null_on_oob=True)
        value = pl.when(text.str.contains(_NUMBER)).then(text).cast(pl.Float64, strict=False) * scale
        if k == len(names) - 1:
            value = pl.when(~pl.col("unfinished")).then(value)
        columns[into] = value
        raw = group.select(v=value)["v"]
        state.odd["out-of-range"] += int(((raw > high) | (raw < 0)).sum() or 0)
        columns[into] = pl.when((value <= high) & (value >= (-60 if "temp" in into else 0))).then(value)
    probes = bool(best.keys() & {"pcie_tx", "pcie_rx"})
    nvml = any(best[c][2] in ("TXTPT", "RXTPT") for c in ("pcie_tx", "pcie_rx") if c in best)
    probe = pl.lit(None if not probes else PROBE_S if nvml else state.interval, pl.Float64)
    rows = group.select(
        "line",
        kind=pl.col("cells").list.get(0),
        gpu=pl.col("cells").list.get(1).cast(pl.Int32),
        pcie_probe_s=probe,
        pcie_averaged=pl.lit(not nvml if probes else None, pl.Boolean),
        **columns,
    )
    if "event_reasons" in rows.columns:
        rows = rows.with_columns(pl.col("event_reasons").cast(pl.Int64))
    return rows


def _rounds(rows: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Adds `cycle`: a round ends where the card numbers start again, rising or falling as the first two different cards do."""
    import polars as pl

    if state.falling is None:
        step = pl.concat([pl.Series([state.last_gpu], dtype=pl.Int32), rows["gpu"]]).diff().drop_nulls()
        step = step.filter(step != 0)
        state.falling = bool(step[0] < 0) if len(step) else None
    before = pl.col("gpu").shift(1)
    if state.last_gpu is not None:
        before = pl.when(pl.int_range(pl.len()) == 0).then(state.last_gpu).otherwise(before)
    new = (pl.col("gpu") >= before) if state.falling else (pl.col("gpu") <= before)
    rows = rows.with_columns(cycle=new.fill_null(True).cum_sum().cast(pl.Int64) + state.cycle)
    state.cycle, state.last_gpu = int(rows["cycle"][-1]), rows["gpu"][-1]
    return rows


def _block(first: int, text: str, state: _State, emit: Emit) -> None:
    """Read one block of lines."""
    import polars as pl

    state.delays.update(int(x) for x in re.findall(_DELAY, text))
    frame = _lines(first, text, state)
    candidates = frame.filter((pl.col("kind") == "row") & (pl.col("header") != ""))
    found = [_read(group, str(header), state) for (header,), group in candidates.group_by("header", maintain_order=True)]
    rows = pl.concat(found, how="diagonal").sort("line") if found else None
    sizes = dict(frame["kind"].value_counts().iter_rows())
    taken = rows["line"].to_list() if rows is not None else []
    near = candidates.filter(~pl.col("line").is_in(taken))
    quiet = sum(sizes.get(k, 0) for k in ("blank", "header", "units", "command"))
    state.counts.block(len(frame), len(taken), quiet, near["line"], "a row of dcgmi dmon that does not fit its header")
    if rows is None or not len(rows):
        return
    instances = rows["kind"].is_in(["GPU-I", "GPU-CI"])
    state.odd["mig-instance-rows"] += int(instances.sum())
    state.odd["other-entities"] += int((~instances & (rows["kind"] != "GPU")).sum())
    rows = rows.filter(pl.col("kind") == "GPU").drop("kind")
    if len(rows) and len(rows.columns) > 3:
        state.first_line = state.first_line or int(rows["line"][0])
        emit("gpu_samples", _rounds(rows, state))


def _finish(state: _State, emit: Emit) -> None:
    """One clock and one quality row per oddity."""
    import polars as pl

    if state.first_line is not None:
        row = [(state.first_line, "none", state.interval)]
        emit("clocks", pl.DataFrame(row, schema={"line": pl.Int64, "kind": pl.String, "interval_s": pl.Float64}, orient="row"))
    state.odd["no-rows"] += state.headers > 0 and state.first_line is None
    send_oddities(emit, state.first_line or 1, state.odd, _NOTES)


_SAMPLES = (
    Sample(
        text="""$ dcgmi dmon -e 203,1002,1003,1004,1005,1009,1010,1011 -d 500
#Entity   GPUTL             SMACT        SMOCC        TENSO        DRAMA        PCITX                PCIRX                NVLTX       
ID                                                                                                                                    
GPU 1     N/A               N/A          N/A          N/A          N/A          N/A                  N/A                  N/A         
GPU 0     91                0.843        0.250        0.125        0.611        33000000             97000000             1500000     
GPU 1     12                1.250        0.010        0.000        0.004        1000000              9223372036854775794  0           
GPU 0     90                0.801        0.250        0.125        0.600        2000000              5000000              0           
""",  # noqa: W291
        rows={
            "gpu_samples": [
                {"line": 4, "gpu": 1, "cycle": 0, "time": None, "util_gpu": None, "sm_active": None},
                {
                    "line": 5, "gpu": 0, "cycle": 0, "util_gpu": 91.0, "sm_active": 0.843, "sm_occupancy": 0.25, "tensor_active": 0.125,
                    "dram_active": 0.611, "pcie_tx": 33.0, "pcie_rx": 97.0, "nvlink_tx": 1.5, "pcie_probe_s": 0.5,
                },
                {"line": 6, "gpu": 1, "cycle": 1, "sm_active": None, "pcie_rx": None, "pcie_tx": 1.0},
                {"line": 7, "gpu": 0, "cycle": 1},
            ],
            "clocks": [{"kind": "none", "interval_s": 0.5}],
            "quality": [{"kind": "out-of-range", "n": 1}],
        },
        versions="DCGM 3 and 4",
    ),
    Sample(
        text="""    # Entity  GRACT  SMACT  TENSO  DRAMA
          Id
        GPU 0  0.429  0.430  0.011  0.400
      GPU-I 0  0.000  0.000  0.000  0.000
      GPU-I 1  0.750  0.750  0.020  0.800
""",
        rows={
            "gpu_samples": [{"gpu": 0, "cycle": 0, "sm_active": 0.43, "tensor_active": 0.011, "dram_active": 0.4, "pcie_probe_s": None}],
            "clocks": [{"kind": "none", "interval_s": None}],
            "quality": [{"kind": "mig-instance-rows", "n": 2}],
        },
        versions="DCGM 2, MIG",
    ),
    Sample(
        text="""#Entity   GPUTL             POWER             TMPTR        FBUSD             TXTPT       
ID                          W                 C                                          
GPU 0     75                185.300           68           28456             4000        
""",  # noqa: W291
        rows={
            "gpu_samples": [
                {"gpu": 0, "util_gpu": 75.0, "power_w": 185.3, "temp": 68.0, "mem_used": 28456.0, "pcie_tx": 4.0, "pcie_probe_s": 0.02, "pcie_averaged": False}
            ]
        },
        versions="a row of units",
    ),
)  # fmt: skip


class DcgmiDmon:
    """`dcgmi dmon`."""

    name = "dcgmi-dmon"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A header that begins with Entity."""
        head = plain_head(head)
        if not re.search(r"(?m)Entity[ \t]+[A-Z0-9]{2,8}|^\W*GPU(?:-C?I)? [0-9]+ +[-0-9N]", head.text):
            return None
        lines = bare_lines(head.text)
        headers = [x for x in lines if re.match(_HEADER, x)]
        rows = [x for x in lines if re.match(_ROW, x)]
        known = any(set(x.split()) & set(_READ) for x in headers)
        if headers and rows:
            if not known:
                return Refusal(60, "dcgmi dmon without a field that is read here: record -e 203,155,1002,1003,1004,1005,1009,1010")
            own = (_HEADER, _UNITS, _ROW, _COMMAND, r"^[\W_]*$")
            foreign = any(not any(re.match(p, x) for p in own) for x in lines[:-1])
            return Claim(92, "header of dcgmi dmon", shares=foreign)
        if headers:
            return Refusal(50, "the header of dcgmi dmon without a row")
        if len(rows) >= 2 and len(rows) >= 0.5 * len([x for x in lines if x]):
            return Refusal(50, "rows of dcgmi dmon without their header; keep the two header lines")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, one `clocks` row and `quality` rows."""
        return piece_by_piece(source, emit, _State, _block, _finish)


PARSER = DcgmiDmon()
