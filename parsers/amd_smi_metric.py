"""`amd-smi metric` as text: one reading per card and printout.

**Reads** the blocks of `amd-smi metric [-g IDS] [-u] [-p] [-c] [-t] [-m] [-w S]` of ROCm 6 and 7, redirected or pasted: `GPU: 0` and below
it, by indent, sections of keys. Its CSV and JSON are read as those of `amd-smi monitor` are.

| section and key | column |
|---|---|
| `USAGE`: `GFX_ACTIVITY`, `UMC_ACTIVITY` | `util_gpu`, `util_mem` (the memory controller is busy) |
| `POWER`: `SOCKET_POWER` | `power_w` |
| `CLOCK`: `GFX_0`: `CLK`; `MEM_0`: `CLK` | `sm_clock`, `mem_clock` |
| `TEMPERATURE`: `HOTSPOT`, else `EDGE`; `MEM` | `temp`, `mem_temp` |
| `MEM_USAGE`: `USED_VRAM`, `TOTAL_VRAM` | `mem_used`, `mem_total` (MiB) |

**Rounds.** A card number that does not rise begins one. **Clock.** None is printed: `none`.

**Traps.** Keys come again elsewhere (`LIMIT`: `SOCKET_POWER`, `GPUBOARD`: `TEMPERATURE`): only the path counts. `N/A`, and a number with another
unit than these, is NULL. A card ends where other text begins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import send_clock, send_oddities
from ..engine.smi_values import numbers_with_units, printouts, section_path
from ..engine.streams import piece_by_piece, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

_CARD = r"^([ \t]*)GPU: ([0-9]{1,3})[ \t]*$"
_LINE = r"^([ \t]*)([A-Z][A-Z0-9_]{1,60}):(?:[ \t]+(\S.*?))?[ \t]*$"
_READING = re.compile(r"(?m)^[ \t>]*(?:GFX_ACTIVITY|SOCKET_POWER|HOTSPOT|USED_VRAM): (?:[0-9]|N/A)")
_QUOTE = r"^(?:> ?)+"
# column -> (paths, the first with a value wins), unit, scale, highest value
_NUMBERS: dict[str, tuple[tuple[str, ...], str, float, float]] = {
    "util_gpu": (("usage/gfx_activity",), "%", 1, 100),
    "util_mem": (("usage/umc_activity",), "%", 1, 100),
    "power_w": (("power/socket_power",), "W", 1, 20_000),
    "sm_clock": (("clock/gfx_0/clk",), "MHz", 1, 1e5),
    "mem_clock": (("clock/mem_0/clk",), "MHz", 1, 1e5),
    "temp": (("temperature/hotspot", "temperature/edge"), "Â?°?C", 1, 250),
    "mem_temp": (("temperature/mem",), "Â?°?C", 1, 250),
    "mem_used": (("mem_usage/used_vram",), "MB", 1, 1e9),
    "mem_total": (("mem_usage/total_vram",), "MB", 1, 1e9),
}
_PATHS = tuple(dict.fromkeys(path for paths, *_ in _NUMBERS.values() for path in paths))
_NOTES = {"out-of-range": "values outside what the column can hold were dropped"}


@dataclass
class _State:
    """What the next piece must know."""

    cycle: int = -1
    gpu: int | None = None  # of the last card
    first_line: int | None = None
    odd: Counter[str] = field(default_factory=Counter)
    counts: Counts = field(default_factory=Counts)


def _start(text: str) -> int:
    """Where the last card begins; 0 for nowhere."""
    at = len(text)
    while (at := text.rfind("GPU: ", 0, at)) >= 0:
        begins = text.rfind("\n", 0, at) + 1
        if re.match(_CARD, re.sub(_QUOTE, "", text[begins : at + 8].split("\n", 1)[0]).rstrip("\r")):
            return begins
    return 0


def _lines(first: int, text: str) -> pl.DataFrame:
    """line, gpu (of the lines that begin a card), card, depth, key, value, and whether anything is said, of all finished lines."""
    import polars as pl

    lines = text.split("\n")[:-1]
    frame = pl.DataFrame({"text": lines}, schema={"text": pl.String}).with_row_index("line", offset=first)
    bare = pl.col("text").str.replace_all(r"\x1b\[[0-9;?]*[A-Za-z]", "").str.strip_chars_end("\r").str.replace(_QUOTE, "")
    frame = frame.with_columns(pl.col("line").cast(pl.Int64), text=bare.str.replace_all("\t", "    ", literal=True))
    pair = pl.col("text").str.extract_groups(_LINE)
    frame = frame.with_columns(
        indent=pl.col("text").str.len_chars().cast(pl.Int64) - pl.col("text").str.strip_chars_start(" ").str.len_chars().cast(pl.Int64),
        gpu=pl.col("text").str.extract(_CARD, 2).cast(pl.Int32), key=pair.struct.field("2").str.to_lowercase(), value=pair.struct.field("3"),
        said=pl.col("text").str.contains(r"[^\W_]"),
    )  # fmt: skip
    frame = frame.with_columns(card=pl.col("gpu").is_not_null().cum_sum())
    steps = pl.col("indent") - pl.col("indent").first().over("card")
    deep = pl.when(pl.col("key").is_not_null() & pl.col("gpu").is_null() & (steps > 0) & (steps % 4 == 0)).then(steps // 4)
    frame = frame.with_columns(depth=deep)
    # behind other text no line belongs to the card any more
    other = pl.col("said") & pl.col("depth").is_null() & pl.col("gpu").is_null()
    inside = (pl.col("card") > 0) & ~other.cum_max().over("card")
    return frame.with_columns(depth=pl.when(inside).then("depth"))


def _paths(frame: pl.DataFrame) -> pl.DataFrame:
    """card, path and value of every line with one."""
    import polars as pl

    depth = pl.col("depth")
    frame = frame.filter(depth.is_not_null())
    frame = frame.with_columns(g1=(depth == 1).cum_sum().over("card")).with_columns(g2=(depth == 2).cum_sum().over("card", "g1"))
    for k, inside in ((1, ["card"]), (2, ["card", "g1"]), (3, ["card", "g1", "g2"])):
        frame = frame.with_columns(pl.when(depth == k).then("key").forward_fill().over(inside).alias(f"s{k}"))
    return frame.select("card", "value", path=section_path("key"))


def _piece(first: int, text: str, state: _State, emit: Emit) -> None:
    """The cards of a piece of text, which begins with one."""
    import polars as pl

    frame = _lines(first, text)
    heads = frame.filter(pl.col("gpu").is_not_null()).select("card", "line", "gpu")
    unfinished = not text.endswith("\n")
    state.counts.block(len(frame) + unfinished, len(heads) + int(frame["depth"].count()), int((~frame["said"]).sum()), (), "")
    if not len(heads):
        return
    texts = _paths(frame).group_by("card").agg(pl.col("value").filter(pl.col("path") == p).first().alias(p) for p in _PATHS)
    rows = heads.join(texts, on="card", how="left", maintain_order="left")
    over = rows.select(numbers_with_units({c: (p, unit, scale, float("inf")) for c, (p, unit, scale, _) in _NUMBERS.items()}))
    state.odd["out-of-range"] += sum(int((over[c] > high).sum()) for c, (*_, high) in _NUMBERS.items())
    rows = rows.with_columns(numbers_with_units(_NUMBERS)).filter(pl.any_horizontal(pl.col(list(_NUMBERS)).is_not_null()))
    if not len(rows):
        return
    new = (pl.col("gpu") <= pl.col("gpu").shift(1, fill_value=state.gpu)).fill_null(True)
    rows = rows.with_columns(cycle=new.cast(pl.Int64).cum_sum() + state.cycle)
    state.first_line = state.first_line or int(rows["line"][0])
    state.cycle, state.gpu = int(rows["cycle"][-1]), int(rows["gpu"][-1])
    emit("gpu_samples", rows.select("line", "gpu", "cycle", *_NUMBERS))


def _finish(state: _State, emit: Emit) -> None:
    """One clock and one quality row per oddity."""
    if state.first_line is not None:
        send_clock(emit, state.first_line, "none", None, None)
        send_oddities(emit, state.first_line, state.odd, _NOTES)


_SAMPLES = (
    Sample(
        text="""$ amd-smi metric -g 0 1
GPU: 0
    USAGE:
        GFX_ACTIVITY: 97 %
        UMC_ACTIVITY: 41 %
        MM_ACTIVITY: N/A
        VCN_ACTIVITY: [0 %, N/A]
    POWER:
        SOCKET_POWER: 640 W
        GFX_VOLTAGE: N/A
    CLOCK:
        GFX_0:
            CLK: 2100 MHz
            MIN_CLK: 500 MHz
        MEM_0:
            CLK: 1300 MHz
    TEMPERATURE:
        EDGE: N/A
        HOTSPOT: 71 °C
        MEM: 63 °C
    MEM_USAGE:
        TOTAL_VRAM: 196592 MB
        USED_VRAM: 170144 MB
    GPUBOARD:
        TEMPERATURE:
            HOTSPOT: 99 °C

GPU: 1
    USAGE: N/A
    POWER:
        SOCKET_POWER: 140 W
    LIMIT:
        SOCKET_POWER: 750 W
""",
        rows={
            "gpu_samples": [
                {
                    "line": 2, "gpu": 0, "cycle": 0, "util_gpu": 97.0, "util_mem": 41.0, "power_w": 640.0, "sm_clock": 2100.0,
                    "mem_clock": 1300.0, "temp": 71.0, "mem_temp": 63.0, "mem_used": 170144.0, "mem_total": 196592.0,
                },
                {"line": 28, "gpu": 1, "cycle": 0, "util_gpu": None, "power_w": 140.0, "temp": None},
            ],
            "clocks": [{"kind": "none"}],
        },
        versions="metric, text, ROCm 6 and 7",
    ),
    Sample(
        text="""GPU: 0
    USAGE:
        GFX_ACTIVITY: 12 %
    TEMPERATURE:
        EDGE: 44 °C
        HOTSPOT: N/A
        MEM: N/A
GPU: 0
    USAGE:
        GFX_ACTIVITY: 99 %
    TEMPERATURE:
        EDGE: 45 °C
        HOTSPOT: N/A
        ME""",
        rows={
            "gpu_samples": [
                {"line": 1, "gpu": 0, "cycle": 0, "util_gpu": 12.0, "temp": 44.0, "power_w": None},
                {"line": 8, "gpu": 0, "cycle": 1, "util_gpu": 99.0, "temp": 45.0, "mem_temp": None},
            ],
            "clocks": [{"kind": "none"}],
        },
        versions="metric -u -t -w 1, text, a card without a hot spot, cut",
    ),
)  # fmt: skip


class AmdSmiMetric:
    """`amd-smi metric` as text."""

    name = "amd-smi-metric"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A card with one of the readings."""
        text = plain_head(head).text
        if "GPU: " not in text or not _READING.search(text):
            return None
        lines = [re.sub(_QUOTE, "", x).rstrip("\r`") for x in text.split("\n") if re.search(r"[^\W_]", x)]
        own = sum(bool(re.match(_LINE, x)) for x in lines)
        if not any(re.match(_CARD, x) for x in lines):
            return None
        return Claim(85, "text of amd-smi metric", shares=own < len(lines))

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, one `clocks` row and `quality` rows."""
        return piece_by_piece(source, emit, _State, _piece, _finish, partial(printouts, start=_start))


PARSER = AmdSmiMetric()
