"""The table that `amd-smi` prints without a subcommand (ROCm 7): one row per card and printed table.

**Reads** the box of AMD-SMI 26 and 27, whose banner is one line or four, once or in a loop, pasted into an issue or indented in a document. Two
lines are a card: the first has its PCI address, the second its number.

| cell | column |
|---|---|
| `GFX-Uti`, `Mem-Uti` | `util_gpu`, `util_mem` (the memory controller is busy, as in `amd-smi monitor`) |
| `Temp`; `Power-Usage` (`141/750 W`, `49 W`) | `temp` (the hot spot); `power_w`, `power_limit_w` (0 is no limit) |
| `Mem-Usage` (`285/196288 MB`) | `mem_used`, `mem_total` (MiB) |
| `GPU`; `GPU-Name`, `BDF` | `gpu`; one row per card in `gpus`; a name cut with dots is NULL |

**Rounds.** A banner begins one. **Clock.** None: the table has no time.

**Traps.** `N/A` is NULL: integrated GPUs print it for nearly everything. From 27 on, the memory of an APU may be the pool it shares with the
processor, and the table does not say which: for cards that are no discrete product it is NULL. Partitions (a mode other than SPX) are
shares of one card: left out (`partition-rows`). The processes are not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..engine.parser import MAX_REJECTS, Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import send_clock, send_oddities, send_rows
from ..engine.smi_values import line_of_last, printouts, product
from ..engine.streams import bare_lines, numbered_lines, piece_by_piece, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]


_SHARED_POOL = 27  # version from which the memory of an APU may be that of the host
_NONE = "N/A"
_BANNER = r"\|\s*AMD-SMI\s+([0-9]{1,3})\.[0-9]"
_CARD = (
    rf"^[#/ ]*\|\s*([0-9a-f]{{4}}:[0-9a-f]{{2}}:[0-9a-f]{{2}}\.[0-7])\s+(\S[^|]*?)\s*\|\s*([0-9]{{1,3}}\s*%|{_NONE})\s+"
    rf"(-?[0-9]{{1,3}}\s*(?:°|Â°|\ufffd+)?C|{_NONE})\s+(?:[0-9]+|{_NONE})\s+([0-9.]+|{_NONE})(?:/([0-9.]+|{_NONE}))?(?:\s*W)?\s*\|"
)
_VALUES = (
    rf"^[#/ ]*\|\s*([0-9]{{1,3}})\s+(?:[0-9]+|{_NONE})\s+(?:[0-9]+|{_NONE})\s+([A-Z0-9]+/\S+|{_NONE})\s*\|\s*([0-9]{{1,3}}\s*%|{_NONE})\s+"
    rf"(?:[0-9.]+\s*%?|{_NONE})\s+(?:([0-9]{{1,9}})/([0-9]{{1,9}})\s*MB|{_NONE})\s*\|"
)
_NEAR = r"\|\s*[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\s.*\|.*\|"
_BOX = (
    r"^[\W_]*$|GPU-Name|HIP-ID|AMD-SMI|amdgpu [Vv]ersion|ROCm [Vv]ersion|VBIOS version|Platform:|Processes:|Process Name|"
    r"No running processes|^[#/ ]*\|\s+[0-9]+\s+[0-9]+\s"
)
_DISCRETE = r"^(?:AMD )?(?:Instinct MI[0-9]{2,3}X?\b|Radeon (?:RX|PRO|AI PRO|VII)\b)"
_NOTES = {
    "name-cut": "names cut with dots fit several cards; they were dropped",
    "partition-rows": "rows of partitions were left out: they are shares of one card and must not be added to it",
    "shared-memory": "memory of cards that may share the host's was dropped: the table does not say whose it is",
    "out-of-range": "values outside what the column can hold were dropped",
}
_READINGS = {
    "util_gpu": 100.0,
    "util_mem": 100.0,
    "temp": 250.0,
    "power_w": 20_000.0,
    "power_limit_w": 20_000.0,
    "mem_used": 1e9,
    "mem_total": 1e9,
}


@dataclass
class _State:
    """What the next piece must know."""

    cycle: int = -1
    version: int = 0
    cards: dict[int, dict[str, Any]] = field(default_factory=dict)
    first_line: int | None = None
    odd: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_NOTES, 0))
    counts: Counts = field(default_factory=Counts)


def _kinds(first: int, text: str) -> pl.DataFrame:
    """line, text and what every line is."""
    import polars as pl

    frame, _ = numbered_lines(first, text)
    kind = pl.lit("other")
    for name, pattern in (("near", _NEAR), ("box", _BOX), ("values", _VALUES), ("card", _CARD), ("banner", _BANNER)):
        kind = pl.when(pl.col("text").str.contains(pattern)).then(pl.lit(name)).otherwise(kind)
    return frame.with_columns(kind=kind)


def _cards(frame: pl.DataFrame, state: _State) -> pl.DataFrame:
    """One row per card: its second line, the first line above it, and the number and version of its table."""
    import polars as pl

    said = frame.filter(pl.col("text") != "").with_columns(
        head=pl.when(pl.col("kind").shift(1) == "card").then(pl.col("text").shift(1)),
        cycle=(pl.col("kind") == "banner").cast(pl.Int64).cum_sum() + state.cycle,
        version=pl.col("text").str.extract(_BANNER, 1).cast(pl.Int64).forward_fill().fill_null(state.version),
    )
    if len(said):
        state.cycle, state.version = int(said["cycle"][-1]), int(said["version"][-1])
    rows = said.filter((pl.col("kind") == "values") & pl.col("head").is_not_null())
    top = pl.col("head").str.extract_groups(_CARD).struct.rename_fields(["bus_id", "name", "mem", "heat", "power", "cap"])
    low = pl.col("text").str.extract_groups(_VALUES).struct.rename_fields(["number", "mode", "gfx", "used", "total"])
    return rows.with_columns(top=top, low=low).unnest("top", "low")


def _typed(rows: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Numbers out of the cells; what is no reading of a whole card is left out."""
    import polars as pl

    whole = pl.col("mode").str.contains(r"^(?:SPX/|N/A)")
    state.odd["partition-rows"] += rows.filter(~whole).height
    rows = rows.filter(whole)
    number = lambda c: pl.col(c).str.extract(r"^(-?[0-9]+(?:\.[0-9]+)?)", 1).cast(pl.Float64, strict=False)  # noqa: E731
    cells = ("gfx", "mem", "heat", "power", "cap", "used", "total")
    rows = rows.with_columns(gpu=pl.col("number").cast(pl.Int32), **{c: number(k) for c, k in zip(_READINGS, cells)})
    state.odd["out-of-range"] += sum(rows.filter(pl.col(c) > high).height for c, high in _READINGS.items())
    rows = rows.with_columns(pl.when(pl.col(c) <= high).then(c).alias(c) for c, high in _READINGS.items())
    shared = (pl.col("version") >= _SHARED_POOL) & ~pl.col("name").str.contains(_DISCRETE) & pl.col("mem_total").is_not_null()
    state.odd["shared-memory"] += rows.filter(shared).height
    state.odd["name-cut"] += rows.filter(pl.col("name").str.contains("...", literal=True)).height
    return rows.with_columns(
        pl.when(pl.col("power_limit_w") > 0).then("power_limit_w").alias("power_limit_w"),
        *(pl.when(~shared).then(c).alias(c) for c in ("mem_used", "mem_total")),
    )


def _piece(first: int, text: str, state: _State, emit: Emit) -> None:
    """The tables of a piece of text."""
    import polars as pl

    frame = _kinds(first, text)
    found = _cards(frame, state)
    sizes = dict(frame["kind"].value_counts().iter_rows())
    near = frame.filter(pl.col("kind").is_in(["near", "card", "values"]) & ~pl.col("line").is_in(found["line"].implode()))
    heads = len(found)  # the first lines of these cards are still among those
    counts = state.counts
    counts.matched += 2 * heads + sizes.get("banner", 0)
    counts.noise += sizes.get("box", 0)
    counts.near_miss += len(near) - heads
    counts.other += sizes.get("other", 0)
    lost = near.filter(pl.col("kind") != "card")
    counts.rejects += [(n, "a card of amd-smi's table in an unknown form") for n in lost["line"].head(MAX_REJECTS - len(counts.rejects))]
    rows = _typed(found, state)
    if not len(rows):
        return
    state.first_line = state.first_line or int(rows["line"][0])
    emit("gpu_samples", rows.select("line", "gpu", "cycle", *_READINGS))
    for row in rows.unique("gpu", keep="first", maintain_order=True).iter_rows(named=True):  # one step per card
        about = {"name": product(row["name"]), "memory_mib": row["mem_total"]}
        state.cards.setdefault(row["gpu"], {k: row[k] for k in ("line", "gpu", "bus_id", "power_limit_w")} | about)


def _finish(state: _State, emit: Emit) -> None:
    """One clock, one row per card, one quality row per oddity."""
    if state.first_line is not None:
        send_clock(emit, state.first_line, "none", None, None)
        send_rows(emit, "gpus", list(state.cards.values()), ("line", "gpu", "name", "bus_id", "memory_mib", "power_limit_w"))
    send_oddities(emit, state.first_line or 1, state.odd, _NOTES)


_SAMPLES = (
    Sample(
        text="""+------------------------------------------------------------------------------+
| AMD-SMI 26.2.0+021c61fc      amdgpu version: 6.16.6   ROCm version: 7.1.1    |
| VBIOS version: 00159017                                                      |
| Platform: Linux Guest                                                        |
|-------------------------------------+----------------------------------------|
| BDF                        GPU-Name | Mem-Uti   Temp   UEC       Power-Usage |
| GPU  HIP-ID  OAM-ID  Partition-Mode | GFX-Uti    Fan               Mem-Usage |
|=====================================+========================================|
| 0000:05:00.0 AMD Instinct MI300X VF | 31 %     64 °C   0           603/750 W |
|   0       0       2        SPX/NPS1 | 98 %       N/A        170144/196288 MB |
|-------------------------------------+----------------------------------------|
| 0000:15:00.0 ...Radeon AI PRO R9700 | N/A        N/A   0             N/A/0 W |
|   1       1     N/A             N/A | N/A     38.82           29701/32624 MB |
+-------------------------------------+----------------------------------------+
+------------------------------------------------------------------------------+
| Processes:                                                                   |
|  GPU        PID  Process Name          GTT_MEM  VRAM_MEM  MEM_USAGE     CU % |
|==============================================================================|
|    0      71302  serve                  2.0 MB  165.9 GB   166.0 GB  N/A     |
+------------------------------------------------------------------------------+
""",
        rows={
            "gpu_samples": [
                {
                    "line": 10, "gpu": 0, "cycle": 0, "util_gpu": 98.0, "util_mem": 31.0, "temp": 64.0, "power_w": 603.0, "power_limit_w": 750.0,
                    "mem_used": 170144.0, "mem_total": 196288.0,
                },
                {"line": 13, "gpu": 1, "util_gpu": None, "util_mem": None, "temp": None, "power_w": None, "power_limit_w": None, "mem_used": 29701.0},
            ],
            "gpus": [
                {"gpu": 0, "name": "AMD Instinct MI300X VF", "bus_id": "0000:05:00.0", "power_limit_w": 750.0, "memory_mib": 196288.0},
                {"gpu": 1, "name": None},
            ],
            "gpu_processes": [],
            "clocks": [{"kind": "none"}],
            "quality": [{"kind": "name-cut", "n": 1}],
        },
        versions="26, ROCm 7.0 to 7.2",
    ),
    Sample(
        text="""~$ amd-smi
+------------------------------------------------------------------------------+
| AMD-SMI            27.0.0                                                    |
| amdgpu Version:    6.19.4                                                    |
| ROCm Version:      7.14.0                                                    |
| Platform:          Linux Baremetal                                           |
|-------------------------------------+----------------------------------------|
| BDF                        GPU-Name | Mem-Uti   Temp   UEC       Power-Usage |
| GPU  HIP-ID  OAM-ID  Partition-Mode | GFX-Uti    Fan               Mem-Usage |
|=====================================+========================================|
| 0000:01:00.0    AMD Instinct MI300A | 0 %      27 °C   0                49 W |
|   0       0       0        SPX/NPS1 | 6 %        N/A            25/385728 MB |
|-------------------------------------+----------------------------------------|
| 0001:01:00.0    AMD Instinct MI355X | 0 %      29 °C   0                42 W |
|   1       1       1        CPX/NPS4 | 2 %        N/A             25/73728 MB |
+-------------------------------------+----------------------------------------+
""",
        rows={
            "gpu_samples": [{"gpu": 0, "util_gpu": 6.0, "power_w": 49.0, "power_limit_w": None, "mem_used": None, "mem_total": None}],
            "quality": [{"kind": "partition-rows", "n": 1}, {"kind": "shared-memory", "n": 1}],
        },
        versions="27, an APU and a partition",
    ),
)  # fmt: skip


class AmdSmiTable:
    """`amd-smi` without a subcommand."""

    name = "amd-smi-table"
    api = 1
    records = "amd-smi monitor -p -t -u -m -v -w 1 --csv > amd.csv"
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A card of the table: its two lines below each other."""
        if "GFX-Uti" not in head.text and "AMD-SMI" not in head.text:
            return None
        lines = [x for x in bare_lines(plain_head(head).text) if x]
        if any(re.match(_CARD, a) and re.match(_VALUES, b) for a, b in pairwise(lines)):
            foreign = any(not x.startswith(("|", "+")) for x in lines[:-1])
            return Claim(94, "table of amd-smi", shares=foreign)
        return Refusal(50, "the head of amd-smi's table without a card") if any(re.search(_BANNER, x) for x in lines) else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, `gpus`, one `clocks` row and `quality` rows."""
        return piece_by_piece(source, emit, _State, _piece, _finish, partial(printouts, start=line_of_last("AMD-SMI ")))


PARSER = AmdSmiTable()
