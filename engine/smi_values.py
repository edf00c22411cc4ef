"""Values as nvidia-smi prints them, alike in its table, `-q`, `-q -x` and queries: names of cards, bus ids, numbers with a unit, and what
is kept about each card.

What stands in place of a value (`N/A`, `[N/A]`, `ERR!`, ...) differs from output to output and stays with the parser of each.
This module imports polars only when it is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .parser import Counts, Emit, Readable
from .send import middle, send_clock, send_oddities, send_rows

if TYPE_CHECKING:
    import polars as pl

BLOCK_BYTES = 2 * 1024 * 1024
MAX_HOLD = 8 * 1024 * 1024
MAX_CARDS = 4096
FIRST_UTIL = 95.0  # % with nothing on the card: memory scrubbing after the driver woke up reads as busy
FIRST_MEMORY = 0.01  # share of the card that counts as "nothing on it"

BUS_ID = r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]"
PRODUCT = (
    r"^(?:(?:NVIDIA|GeForce|Tesla|Quadro|TITAN|GRID|Orin|Thor|Xavier|Graphics Device|AMD|Radeon|Instinct|Intel|Arc|Battlemage)\b"
    r"[A-Za-z0-9 ()+/-]{0,60}"
    r"|[A-Z]{1,3}[0-9]{2,4}[A-Za-z0-9]*(?:[- ][A-Za-z0-9]+){0,6})$"
)
"""Names that are a product; whatever else stands there may be something private and is dropped."""
REASON_BITS = {
    "gpu_idle": 0x001,
    "idle": 0x001,
    "applications_clocks_setting": 0x002,
    "user_defined_clocks": 0x002,
    "sw_power_cap": 0x004,
    "hw_slowdown": 0x008,
    "sync_boost": 0x010,
    "sw_thermal_slowdown": 0x020,
    "hw_thermal_slowdown": 0x040,
    "hw_power_brake_slowdown": 0x080,
    "display_clocks_setting": 0x100,
    "display_clock_setting": 0x100,
}
"""Names of clock event (throttle) reasons, with `_` for blanks, and their bits in the mask."""
NOTES = {
    "gpu-by-position": "fewer cards printed than attached: they are numbered in the order printed, not by their index",
    "first-reading": "95 % and more with no process and almost no memory in use: after the driver woke up such a reading may be false",
    "mig-instances": "memory of MIG instances was not read: it is no reading of a whole card",
}
"""What may be odd about a printout of whole cards."""
_DATE = (
    r"^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}([0-9]{1,2}) "
    r"([0-9]{2}:[0-9]{2}:[0-9]{2}) ([0-9]{4})$"
)

Numbers = Mapping[str, tuple[Sequence[str], str, float, float]]
"""column -> (columns of text, the first with a value wins), unit pattern, scale, highest value after scaling."""


def printouts(source: Readable, start: Callable[[str], int]) -> Iterator[tuple[int, str]]:
    """Text in pieces that begin with a printout: (first line, text). `start` finds where the last one begins, 0 for nowhere or at the top.
    A printout is split only where it is larger than MAX_HOLD."""
    first, held = 1, ""
    for _, text in source.blocks(BLOCK_BYTES):
        held += text
        cut = start(held)
        if cut or len(held) > MAX_HOLD:
            cut = cut or len(held)
            yield first, held[:cut]
            first += held.count("\n", 0, cut)
            held = held[cut:]
    if held:
        yield first, held


def line_of_last(*marks: str) -> Callable[[str], int]:
    """Where the line with the last mark begins; of several marks the first one that is there."""

    def start(text: str) -> int:
        at = next((k for mark in marks if (k := text.rfind(mark)) >= 0), -1)
        return text.rfind("\n", 0, at) + 1 if at > 0 else 0

    return start


def product(name: str | None) -> str | None:
    """The name where it is one of a product, else NULL."""
    return name if re.match(PRODUCT, name or "") else None


def wall_time(date: pl.Expr) -> pl.Expr:
    """`Mon Mar  2 09:15:07 2026` as seconds since 1970, the wall clock read as if it were UTC; NULL for anything else."""
    import polars as pl

    g = date.str.extract_groups(_DATE)
    text = pl.concat_str(g.struct.field("4"), g.struct.field("1"), g.struct.field("2").str.zfill(2), g.struct.field("3"), separator=" ")
    return text.str.to_datetime("%Y %b %d %H:%M:%S", strict=False).dt.epoch("s").cast(pl.Float64)


def numbers_with_units(numbers: Numbers) -> list[pl.Expr]:
    """One expression per column: text that is a number with exactly that unit, scaled; NULL for anything else and above the highest."""
    import polars as pl

    out = []
    for column, (texts, unit, scale, high) in numbers.items():
        each = [
            pl.col(t).str.extract(rf"^(-?[0-9]{{1,12}}(?:\.[0-9]+)?) ?{unit}$", 1).cast(pl.Float64, strict=False) * scale for t in texts
        ]
        value = pl.coalesce(each)
        out.append(pl.when(value <= high).then(value).alias(column))
    return out


def section_path(key: str) -> pl.Expr:
    """The names of the sections around a key, then the key, out of the columns depth (1 to 4), s1, s2, s3 and the key's own."""
    import polars as pl

    paths = {depth: pl.concat_str([*(f"s{k}" for k in range(1, depth)), key], separator="/") for depth in (1, 2, 3, 4)}
    return pl.coalesce(pl.when(pl.col("depth") == depth).then(path) for depth, path in paths.items())


def process_values() -> list[pl.Expr]:
    """pid, kind (C, G, C+G, M, M+C, O) and mem_used (MiB) out of the text columns pid, kind and memory."""
    import polars as pl

    return [
        pl.col("pid").str.extract(r"^([0-9]{1,9})$", 1).cast(pl.Int64).alias("pid"),
        pl.col("kind").str.extract(r"^(C\+G|M\+C|C|G|M|O)$", 1).alias("kind"),
        pl.col("memory").str.extract(r"^([0-9]{1,9}) Mi?B$", 1).cast(pl.Float64).alias("mem_used"),
    ]


def process_name(text: str) -> pl.Expr:
    """The name in a column; NULL where nvidia-smi says that it may not see it, or found none."""
    import polars as pl

    name = pl.col(text).str.strip_chars()
    return pl.when(~name.str.contains(r"^(?i:\[?(?:Insufficient Permissions|Not Found|Not Supported|Unknown Error|N/A)\]?|-|)$")).then(name)


def first_readings(cards: pl.DataFrame, processes: pl.DataFrame, card: Sequence[str] = ("card",)) -> int:
    """How many readings are busy with no process and almost no memory in use. Both frames have the columns that tell a card's reading."""
    import polars as pl

    busy = cards.filter((pl.col("util_gpu") >= FIRST_UTIL) & (pl.col("mem_used") <= FIRST_MEMORY * pl.col("mem_total")))
    return busy.join(processes.select(card).unique(), on=card, how="anti").height


@dataclass
class SmiState:
    """What the next printout or document of one source must know, and what the source ends with."""

    cycle: int = -1
    last: float | None = None
    steps: Counter[float] = field(default_factory=Counter)
    cards: dict[int, dict[str, Any]] = field(default_factory=dict)
    first_line: int | None = None
    odd: Counter[str] = field(default_factory=Counter)
    counts: Counts = field(default_factory=Counts)

    def tick(self, times: Iterator[float] | pl.Series) -> None:
        """Known times of readings, in order."""
        for time in times:  # one step per printout
            if self.last is not None:
                self.steps[time - self.last] += 1
            self.last = time

    def about(self, cards: pl.DataFrame) -> None:
        """Keeps what says what a card is, once per number."""
        for row in cards.iter_rows(named=True):  # one step per card and printout
            if row["gpu"] in self.cards or len(self.cards) >= MAX_CARDS:
                continue
            mig = {"Enabled": True, "Disabled": False}.get(row["mig"] or "")
            kept = {k: row[k] for k in ("line", "gpu", "uuid", "bus_id", "power_limit_w", "driver")}
            self.cards[row["gpu"]] = kept | {"name": product(row["name"]), "mig": mig, "memory_mib": row["mem_total"]}

    def send(self, cards: pl.DataFrame, processes: pl.DataFrame, columns: Sequence[str], emit: Emit) -> None:
        """The rows of whole printouts: cards with a reading in any of the columns, and processes, which are tied to cards by `card`."""
        import polars as pl

        self.first_line = self.first_line or int(cards["line"][0])
        processes = processes.join(cards.select("card", "gpu", "cycle", "time"), on="card", how="inner", maintain_order="left")
        self.odd["first-reading"] += first_readings(cards, processes)
        self.about(cards)
        read = cards.filter(pl.any_horizontal(pl.col(columns).is_not_null()))
        if len(read):
            emit("gpu_samples", read.select("line", "gpu", "cycle", "time", *columns))
        if len(processes):
            emit("gpu_processes", processes.drop("card"))

    def finish(self, emit: Emit, notes: Mapping[str, str]) -> None:
        """One clock, one row per card, one quality row per oddity."""
        if self.first_line is None:
            return
        kind, resolution = ("none", None) if self.last is None else ("local-no-zone", 1.0)
        send_clock(emit, self.first_line, kind, resolution, middle(s for s in self.steps.elements() if s > 0))
        columns = ("line", "gpu", "name", "uuid", "bus_id", "memory_mib", "power_limit_w", "driver", "mig")
        send_rows(emit, "gpus", list(self.cards.values()), columns)
        send_oddities(emit, self.first_line, self.odd, notes)
