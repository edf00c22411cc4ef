"""`nvidia-smi --query-gpu=... --format=csv`: one row per card and polling round.

**Reads** the CSV of `nvidia-smi --query-gpu=FIELDS --format=csv[,noheader][,nounits]`, once or in a loop (`-l`, `-lms`), from 2017 to
2026, Linux and Windows (UTF-16 of PowerShell), appended (`>>`) over restarts with other fields, re-saved by a spreadsheet (`;`, decimal
comma, quotes), quoted in an issue, or printed by a script between other lines.

**With a header** columns are found by name, with every alias and rename; the last header printed holds. **Without** one, a command line
`--query-gpu=... noheader` in the text names them; otherwise they are inferred by shape and behaviour (see below), or the file is refused.

| field | column |
|---|---|
| `timestamp` | `time`, local wall clock, 1 ms |
| `index`; else `uuid`, `pci.bus_id`, `serial`; else position in the round | `gpu` |
| `utilization.gpu`, `.memory`, `.encoder`, `.decoder` | `util_gpu`, `util_mem`, `enc`, `dec` |
| `power.draw`, else `.average`, else `.instant` | `power_w` |
| `enforced.power.limit`, else `power.limit` | `power_limit_w` |
| `clocks.sm` (`clocks.current.sm`), else `.graphics`; `.memory` | `sm_clock`; `mem_clock` |
| `temperature.gpu`, `temperature.memory` | `temp`, `mem_temp` |
| `memory.used`, `memory.total` | `mem_used`, `mem_total` (MiB; old drivers print MB and mean MiB) |
| `pcie.link.gen.current/.max`, `pcie.link.width.current/.max` | `pcie_gen`, `pcie_gen_max`, `pcie_width`, `pcie_width_max` |
| `clocks_event_reasons.active` (`clocks_throttle_reasons.active`) | `event_reasons`; without it from the columns that say Active or Not Active, if power and heat are among them |
| `name`, `uuid`, `pci.bus_id`, `memory.total`, power limit, `driver_version`, `mig.mode.current` | one row per card in `gpus` |

**Prefixes** of containers, journals, `ts`, `srun -l` and the like are taken off; their time is taken where the format prints none, and the
host that `pdsh` puts in front is `host`.

**Rounds.** `cycle` grows where the index starts again, after a header, or, without any id, where the time jumps: rows of one round are a
few milliseconds apart. Cards are then numbered by position (`gpu-by-position`), only in rounds that are complete. Cards with a uuid, bus
id or serial but no index are numbered by first appearance (`gpu-by-appearance`). Where nothing tells cards apart, `gpu` is NULL.

**Inference without header** reads only what shape and behaviour prove, and says what it took (`columns-inferred`): small integers that
count up in every round are the index; of two percentages the first is GPU utilisation if it is the larger one under load and reaches 90
or jumps; the constant largest MiB is the total; another one is memory in use if busy cards hold it; watts that are not a round constant
are the draw; a clock that fits the core clock grid and no memory clock is the SM clock; slowly moving integers between 20 and 95 beside
cells with units are the temperature. Used and free that cannot be told apart, a lone memory column and the like stay unread.

**Traps.** `[N/A]`, `N/A`, `[Not Supported]`, `[Unknown Error]`, `[GPU is lost]`, `-`, empty and any other bracketed word are NULL, never
0. The last row is often cut at a multiple of 4096 bytes: a short row is dropped, a last cell without its unit is NULL. Whole lines such
as "No devices were found" are counted as quality rows. `--query-compute-apps` output is not read here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.smi_values import REASON_BITS
from ..engine.streams import by_stream, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

MAX_HOLD = 4096  # rows of one round kept back at a block's end
MAX_CARDS = 4096
INFER_LINES = 5000
BLOCK_BYTES = 2 * 1024 * 1024  # rows are short: cells of one block in lists are what memory goes to
SAME_ROUND_S = 0.045  # rows of one round are 1 to 5 ms apart; the fastest usual loop polls every 50 ms

# field -> (column, unit, rank): of several fields for one column the lowest rank with a value wins
_NUMERIC: dict[str, tuple[str, str, int]] = {
    "utilization.gpu": ("util_gpu", "%", 0),
    "utilization.memory": ("util_mem", "%", 0),
    "utilization.encoder": ("enc", "%", 0),
    "utilization.decoder": ("dec", "%", 0),
    "power.draw": ("power_w", "W", 0),
    "power.draw.average": ("power_w", "W", 1),  # what power.draw is since Ampere, and [N/A] where it is not
    "power.draw.instant": ("power_w", "W", 2),
    "enforced.power.limit": ("power_limit_w", "W", 0),
    "power.limit": ("power_limit_w", "W", 1),
    "clocks.current.sm": ("sm_clock", "MHz", 0),
    "clocks.current.graphics": ("sm_clock", "MHz", 1),
    "clocks.current.memory": ("mem_clock", "MHz", 0),
    "temperature.gpu": ("temp", "C", 0),
    "temperature.memory": ("mem_temp", "C", 0),
    "memory.used": ("mem_used", "MiB", 0),
    "memory.total": ("mem_total", "MiB", 0),
    "pcie.link.gen.current": ("pcie_gen", "", 0),
    "pcie.link.gen.gpucurrent": ("pcie_gen", "", 1),
    "pcie.link.gen.max": ("pcie_gen_max", "", 0),
    "pcie.link.width.current": ("pcie_width", "x", 0),
    "pcie.link.width.max": ("pcie_width_max", "x", 0),
}
_ALIAS = {
    "gpu_name": "name",
    "gpu_uuid": "uuid",
    "gpu_serial": "serial",
    "gpu_bus_id": "pci.bus_id",
    "clocks.sm": "clocks.current.sm",
    "clocks.gr": "clocks.current.graphics",
    "clocks.mem": "clocks.current.memory",
    "clocks.video": "clocks.current.video",
    "kmd_version": "driver_version",
    "hostname": "host",  # put in front by a script
    "node": "host",
}
_MASK = "clocks_event_reasons.active"
_HEAT = REASON_BITS["hw_slowdown"] | REASON_BITS["hw_thermal_slowdown"] | REASON_BITS["sw_thermal_slowdown"]
_IDS = ("index", "uuid", "pci.bus_id", "serial")
_TEXT = ("name", "driver_version", "mig.mode.current", "count", "timestamp", "host")
_TELLING = frozenset(("pci.bus_id", "driver_version", "compute_cap", "vbios_version"))  # no other list has columns of these names
_FOREIGN = frozenset(("pid", "process_name", "used_gpu_memory", "used_memory"))
_OTHER_KNOWN = frozenset(
    (
        "pstate",
        "fan.speed",
        "memory.free",
        "memory.reserved",
        "power.max_limit",
        "power.min_limit",
        "power.default_limit",
        "power.management",
        "compute_mode",
        "compute_cap",
        "persistence_mode",
        "display_active",
        "display_mode",
        "ecc.mode.current",
        "ecc.mode.pending",
        "temperature.gpu.tlimit",
        "utilization.jpeg",
        "utilization.ofa",
        "clocks.current.video",
        "clocks.max.sm",
        "clocks.max.graphics",
        "clocks.max.memory",
        "clocks.max.mem",
        "clocks.max.gr",
        "pcie.link.gen.gpumax",
        "pcie.link.gen.hostmax",
        "vbios_version",
        "driver_model.current",
        "mig.mode.pending",
        "clocks.applications.graphics",
        "clocks.applications.memory",
    )
)

_SCALE = {
    "%": {"%": 1.0},
    "W": {"W": 1.0, "mW": 1e-3},
    "MHz": {"MHz": 1.0, "GHz": 1e3},
    "MiB": {"MiB": 1.0, "MB": 1.0, "GiB": 1024.0, "KiB": 1 / 1024},
    "C": {"C": 1.0, "°C": 1.0},
    "": {},
    "x": {"x": 1.0},
}
_BOUNDS = {"%": (0, 100), "W": (0, 20_000), "MHz": (0, 100_000), "MiB": (0, 1e9), "C": (-60, 250), "": (0, 32), "x": (0, 64)}

_NAME = re.compile(r"^[a-z][a-z0-9_.]*$")
_CELL = re.compile(r"^([A-Za-z][A-Za-z0-9_.]*)(?: ?\[([^\]]*)\])?$")
_MAYBE_HEADER = (
    r"(?i)(?:utilization|memory|power|clocks|clocks_(?:event|throttle)_reasons|temperature|pcie\.link\.\w+|fan|driver)[._][a-z]"
    r"|query-gpu|process_name|\bpid,|pci\.bus_id|gpu_bus_id|compute_cap|vbios_version"
)
_COMMAND = re.compile(r"--query-gpu[= ][\"']?([A-Za-z0-9_.,]+)")
_NO_VALUE = (
    r"(?:\[[^\]]*\]|(?i:N/?A|Not (?:Supported|Available|Found|Applicable)|(?:Function|Object|File) Not Found|Unknown(?: Error)?|None|null|nan"
    r"|GPU is lost|GPU requires reset|Insufficient Permissions|No (?:Permission|Data)|Requested functionality has been deprecated)"
    r"|ERR!?|--?|)"
)
_NOTHING = rf"^{_NO_VALUE}$"
_STAMP = r"([0-9]{4})[/-]([0-9]{2})[/-]([0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]{1,6}))?"
_ZONE = r"(?: ?(Z|UTC|[+-][0-9]{2}:?[0-9]{2}))"
_EPOCH = r"1[0-9]{9}(?:\.[0-9]{1,9})?"
_COMMENT = r"^(?:#+|//+)[ \t]*"  # of the script or the notes that hold the output
_TIMED = rf"^(?:{_STAMP}{_ZONE}?|{_EPOCH})$"  # the zone and the seconds since 1970 are no shapes of nvidia-smi but of scripts around it
_NUMBER = r"(-?[0-9]{1,9}(?:\.[0-9]{1,6}|,[0-9]{1,2})?)"
_MESSAGES = {
    "no-devices": r"(?i)no devices were found",
    "gpu-lost": r"(?i)GPU is lost\.|GPU requires reset\.",
    "gpu-handle-lost": r"(?i)unable to determine the device handle",
    "driver-unreachable": r"(?i)nvidia-smi has failed because",
    "nvml-failed": r"(?i)failed to initialize nvml",
    "field-refused": r"(?i)is not a valid field to query",
}
_NOTES = {
    "no-devices": "nvidia-smi found no card",
    "gpu-lost": "a card fell off the bus while it was being logged",
    "gpu-handle-lost": "nvidia-smi could not open a card",
    "driver-unreachable": "nvidia-smi could not talk to the driver",
    "nvml-failed": "the NVIDIA management library could not be started",
    "field-refused": "nvidia-smi did not know a field that was asked for",
    "garbled-cell": "cells that do not have the shape of their column were dropped",
    "out-of-range": "values outside what the column can hold were dropped",
    "cut-cell": "the last cell of an unfinished last line was dropped",
    "reasons-partial": "only some reasons for lower clocks were asked for: whether there was none is unknown, and so is the mask",
    "other-card": "one card number stands for different cards in this file",
    "unknown-unit": "a header names a unit this field never had; the column was not read",
    "gpu-by-appearance": "no index column: cards are numbered by the first appearance of their id",
    "gpu-unknown": "nothing tells which card these rows belong to",
    "mixed-clocks": "some times have a zone and some have none; the later kind was left without time",
    "clock-fell-back": "the wall clock ran backwards between two rounds",
    "timestamp-unread": "timestamps in a shape nvidia-smi never prints were not read",
    "no-rows": "there is a header but no row that fits it",
}


@dataclass(frozen=True)
class _Layout:
    """What the cells of a row are. `names` has one canonical field name per cell, None for cells that are not read."""

    names: tuple[str | None, ...]
    units: tuple[str | None, ...]  # unit the header printed
    sep: str
    strict: str | None = None  # whole-row pattern: set where nothing but the rows themselves speaks for this layout
    unread: int = 0

    def cell(self, name: str) -> int | None:
        return self.names.index(name) if name in self.names else None

    @property
    def has_id(self) -> bool:
        return any(n in self.names for n in _IDS)

    @property
    def measures(self) -> bool:
        """Rows say something about one moment, not only what the card is."""
        fixed = {"memory.total", "enforced.power.limit", "power.limit", "pcie.link.gen.max", "pcie.link.width.max"}
        return any((n in _NUMERIC and n not in fixed) or n == _MASK or _bit(n) for n in self.names if n)


def _bit(name: str) -> int:
    """Bit of a single-reason column, 0 for anything else."""
    return REASON_BITS.get(name.removeprefix("clocks_event_reasons."), 0) if name.startswith("clocks_event_reasons.") else 0


def _canonical(name: str) -> str:
    name = name.lower().replace("clocks_throttle_reasons.", "clocks_event_reasons.")
    return _ALIAS.get(name, name)


def _known(name: str) -> bool:
    return name in _NUMERIC or name in _IDS or name in _TEXT or name in _OTHER_KNOWN or name == _MASK or _bit(name) > 0


def _split(line: str, sep: str) -> list[str]:
    return [c.strip().strip("\"'").strip() for c in line.split(sep)]


def _header(line: str) -> _Layout | None:
    """Layout of a header line; None if it is none. A header of another query gives a layout that reads nothing."""
    best: _Layout | None = None
    for sep in (",", ";", "\t"):
        cells = [_CELL.match(c) if c else re.match("()()", "") for c in _split(line, sep)]
        if not all(cells):
            continue
        names = [_canonical(m[1] or "") for m in cells if m]
        units = [m[2] for m in cells if m]
        if _FOREIGN & set(names) and len(names) > 1:
            return _Layout(tuple(None for _ in names), tuple(units), sep)
        known = [n for n in names if _known(n)]
        measured = [n for n in known if n in _NUMERIC or n == _MASK or _bit(n)]
        measured = measured or (sorted(_TELLING & set(known)) if "name" in known else [])  # what the cards are, and no reading
        alone = len(names) == 1 and bool(measured) and bool(units[0])
        if not measured or (len(known) < 2 and not alone) or (best and len(best.names) >= len(names)):
            continue
        best = _layout(names, units, sep)
    return best


def _layout(names: Sequence[str | None], units: Sequence[str | None], sep: str, strict: str | None = None) -> _Layout:
    """Drop second copies of a name and columns with a unit the field never had."""
    kept: list[str | None] = []
    unread = 0
    for name, unit in zip(names, units):
        odd = bool(name and name in _NUMERIC and unit and unit not in _SCALE[_NUMERIC[name][1]])
        unread += odd
        kept.append(None if odd or not name or name in kept or not _known(name) else name)
    return _Layout(tuple(kept), tuple(units), sep, strict, unread)


def _from_command(line: str) -> _Layout | None:
    """The fields of a `--query-gpu=... noheader` command line: rows below it have this order."""
    found = _COMMAND.search(line)
    if not found or "noheader" not in line:
        return None
    names = [_canonical(n) for n in found[1].strip(",").split(",")]
    if not any(n in _NUMERIC or n == _MASK for n in names) or len(names) < 2:
        return None
    return _layout(
        names, [None] * len(names), ",", strict="," if "nounits" in line else r",.*(?:%|MiB|MHz| W|\]|N/A)|(?:%|MiB|MHz| W|\]|N/A),"
    )


def _bind_text(line: str) -> _Layout | None:
    """Layout a line gives to the rows below it: a command, a header, or a header glued to a row that a kill cut short."""
    found = _from_command(line) or _header(re.sub(_COMMENT, "", line))
    if found is not None or not line[:1].isalnum() or "query-gpu" in line:
        return found
    starts = (m.start() for m in re.finditer(r"(?<![a-z_.])[a-z][a-z_.]*(?: \[[^\]]*\])?(?=[,;\t])", line) if m.start())
    return next((x for k in starts if re.search("[0-9]", line[:k]) and (x := _header(line[k:])) is not None and len(x.names) > 1), None)


# ---------------------------------------------------------------- inference without a header

_CLASSES = {
    "stamp": r"[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}",
    "pstate": r"P[0-9]{1,2}",
    "mask": r"0x[0-9A-Fa-f]{16}",
    "uuid": r"(?:GPU|MIG)-[0-9a-fA-F-]{8,40}",
    "bus": r"[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9]",
    "pct": r"[0-9]{1,3} %",
    "mib": r"[0-9]{1,8} MiB",
    "mhz": r"[0-9]{1,5} MHz",
    "watt": r"[0-9]{1,5}\.[0-9]{2} W",
    "int": r"[0-9]{1,7}",
    "dec": r"[0-9]{1,5}\.[0-9]{2}",
    "flag": r"Active|Not Active|Enabled|Disabled",
    "na": r"\[[A-Za-z /]{2,60}\]|N/A",
    "name": r"(?:NVIDIA|GeForce|Tesla|Quadro|TITAN|GRID)\b[A-Za-z0-9 ()+./-]*|[A-Z]{1,3}[0-9]{2,4}[A-Za-z0-9]*(?:-[A-Za-z0-9]+)+",
}
_CLASS = re.compile("|".join(f"(?P<{k}>^(?:{p})$)" for k, p in _CLASSES.items()))
_UNITED = frozenset(("pct", "mib", "mhz", "watt"))
_DIRECT = {"stamp": "timestamp", "uuid": "uuid", "bus": "pci.bus_id", "name": "name"}
_OUR_WORDS = {
    "timestamp": "time",
    "index": "card number",
    "utilization.gpu": "GPU utilisation",
    "utilization.memory": "memory utilisation",
    "memory.used": "memory in use",
    "memory.total": "memory of the card",
    "power.draw": "power",
    "power.limit": "power limit",
    "clocks.current.sm": "SM clock",
    "clocks.current.memory": "memory clock",
    "temperature.gpu": "temperature",
    _MASK: "event reasons",
    "uuid": "uuid",
    "pci.bus_id": "bus id",
    "name": "product name",
}
# memory clocks as nvidia-smi prints them; core clocks lie on a grid of 7.5 MHz (printed rounded down)
_MEMORY_CLOCKS = frozenset((324, 405, 715, 810, 850, 877, 958, 1107, 1215, 1313, 1512, 1593, 2619, 3004, 3201, 3505, 3615, 3996))


def _classify(line: str) -> list[tuple[str, str]] | None:
    """(class, text) of every cell, or None where a cell has no shape nvidia-smi prints."""
    cells = [c.strip() for c in line.split(",")]
    found = [(_CLASS.match(c), c) for c in cells]
    if len(cells) < 2 or not all(m for m, _ in found):
        return None
    return [(str(m.lastgroup), c) for m, c in found if m]


class _Table:
    """Rows of one shape, by column, with the questions the inference asks."""

    def __init__(self, rows: list[list[tuple[str, str]]], classes: list[str]) -> None:
        self.classes = classes
        self.rows = rows
        self.values = [[_float(c[i]) for c in rows] for i in range(len(classes))]
        self.index = next((i for i in range(len(classes)) if classes[i] == "int" and self._counts_up(i)), None)

    def of(self, kind: str) -> list[int]:
        return [i for i, k in enumerate(self.classes) if k == kind and i != self.index]

    def _counts_up(self, i: int) -> bool:
        """0, 1, 2 ... in every round; a single card only in front, where people put the index."""
        values = [int(v) for v in self.values[i] if v is not None]
        if len(values) < len(self.rows) or max(values, default=99) > 63:
            return False
        rounds: list[list[int]] = []
        for v in values:
            if rounds and v > rounds[-1][-1]:
                rounds[-1].append(v)
            else:
                rounds.append([v])
        usual = Counter(tuple(r) for r in rounds).most_common(1)[0]
        if len(usual[0]) == 1:
            front = i == 0 or (i == 1 and self.classes[0] in ("stamp", "name", "uuid"))
            united = bool(_UNITED & set(self.classes)) or "stamp" in self.classes
            return front and united and len(set(values)) == 1 and (values[0] == 0 or (i == 0 and values[0] < 16))
        whole = usual[0] == tuple(range(usual[0][0], usual[0][0] + len(usual[0])))
        return whole and usual[1] >= 0.7 * len(rounds)

    def series(self, i: int) -> list[list[float]]:
        """Values of one column, one list per card."""
        cards: dict[float | None, list[float]] = {}
        for row, v in enumerate(self.values[i]):
            if v is not None:
                cards.setdefault(None if self.index is None else self.values[self.index][row], []).append(v)
        return list(cards.values())

    def steps(self, i: int) -> list[float]:
        return [abs(b - a) for s in self.series(i) for a, b in pairwise(s)]

    def constant(self, i: int) -> bool:
        return all(len(set(s)) == 1 for s in self.series(i))

    def seen(self, i: int) -> list[float]:
        return [v for v in self.values[i] if v is not None]

    def lively(self, i: int) -> bool:
        """Reaches 90 or jumps: a utilisation, not a fan."""
        return max(self.seen(i), default=0) >= 90 or max(self.steps(i), default=0) > 20

    def creeping(self, i: int) -> bool:
        """Moves slowly over many samples, never 0: a fan."""
        steps, seen = self.steps(i), self.seen(i)
        return len(steps) >= 8 and max(steps) <= 3 and min(seen) > 0 and max(seen) < 90

    def pairs(self, i: int, k: int) -> list[tuple[float, float]]:
        return [(a, b) for a, b in zip(self.values[i], self.values[k]) if a is not None and b is not None]


def _float(cell: tuple[str, str]) -> float | None:
    kind, text = cell
    if kind not in ("pct", "mib", "mhz", "watt", "int", "dec"):
        return None
    return float(text.split()[0])


def _percentages(table: _Table, columns: list[int], names: dict[int, str]) -> None:
    """Which percentages are GPU and memory utilisation."""
    if not columns or not table.seen(columns[0]):
        return
    if len(columns) == 1:
        # a lone percentage that neither jumps nor touches an end may as well be a fan
        if (table.lively(columns[0]) or min(table.seen(columns[0])) == 0) and not table.creeping(columns[0]):
            names[columns[0]] = "utilization.gpu"
        return
    first, second = columns[:2]
    busy = [(a, b) for a, b in table.pairs(first, second) if max(a, b) >= 20]
    if not busy:
        if min(table.seen(first)) == 0 and max(max(table.seen(i), default=0) for i in columns) < 20:
            names[first] = "utilization.gpu"
        return
    if table.lively(first) and sum(a >= b for a, b in busy) >= 0.9 * len(busy) and not table.creeping(first):
        names[first] = "utilization.gpu"
        if not table.creeping(second):
            names[second] = "utilization.memory"


def _memories(table: _Table, columns: list[int], names: dict[int, str]) -> None:
    """The constant largest one is the total; another one is in use if busy cards hold it."""
    if len(columns) < 2:
        return
    total = max(columns, key=lambda i: max(table.seen(i), default=0))
    rest = [i for i in columns if i != total]
    if not table.constant(total) or any(a < b for i in rest for a, b in table.pairs(total, i)):
        return
    if all(a == b for i in rest for a, b in table.pairs(total, i)):
        return
    gaps: list[float] = []
    if len(rest) == 2 and None not in table.values[rest[0]] + table.values[rest[1]] + table.values[total]:
        gaps = [t - a - b for t, a, b in zip(*(table.values[i] for i in (total, *rest)))]
        if min(gaps) < -3 or max(gaps) > 0.03 * max(table.seen(total)):
            return
    elif not _UNITED & set(table.classes):
        return  # without units only used + free = total proves anything
    names[total] = "memory.total"
    util = next((i for i, n in names.items() if n == "utilization.gpu"), None)
    if util is None or len(rest) > 2:
        return
    triples = list(zip(table.values[util], table.values[total], *(table.values[i] for i in rest)))
    busy = [t for t in triples if None not in t and t[0] >= 50]
    held = [all(t[2 + k] >= 0.05 * t[1] for t in busy) for k in range(len(rest))]
    if busy and held.count(True) == 1:
        names[rest[held.index(True)]] = "memory.used"


def _powers(table: _Table, columns: list[int], names: dict[int, str]) -> None:
    def round_constant(i: int) -> bool:
        return table.constant(i) and all(v == int(v) for v in table.seen(i))

    draw = next((i for i in columns if table.seen(i) and not round_constant(i)), None)
    if draw is None:
        return
    names[draw] = "power.draw"
    caps = [i for i in columns if i != draw and table.seen(i) and round_constant(i) and min(table.seen(i)) >= 0.9 * max(table.seen(draw))]
    if len(caps) == 1:
        names[caps[0]] = "power.limit"


def _clocks(table: _Table, columns: list[int], names: dict[int, str]) -> None:
    def on_grid(v: float) -> bool:
        return v % 15 == 0 or v % 15 == 7

    def core(i: int) -> bool:
        seen = set(table.seen(i))
        return bool(seen) and max(seen) <= 3300 and all(on_grid(v) for v in seen) and not seen <= _MEMORY_CLOCKS

    def memory(i: int) -> bool:
        seen = set(table.seen(i))
        return bool(seen) and len(seen) <= 6 and all(v > 3300 or v in _MEMORY_CLOCKS for v in seen)

    cores = [i for i in columns if core(i)]
    moving = [i for i in cores if not table.constant(i)]
    alike = bool(cores) and all(a == b for a, b in ((table.seen(cores[0]), table.seen(i)) for i in cores))
    if len(cores) == 1 or alike or len(moving) == 1:
        names[moving[0] if len(moving) == 1 else cores[0]] = "clocks.current.sm"
    memories = [i for i in columns if memory(i)]
    if len(memories) == 1:
        names[memories[0]] = "clocks.current.memory"


def _temperature(table: _Table, columns: list[int], names: dict[int, str]) -> None:
    fits = [i for i in columns if table.seen(i) and all(20 <= v <= 95 for v in table.seen(i))]
    if len(fits) == 1 and max(table.steps(fits[0]), default=0) <= 6:
        names[fits[0]] = "temperature.gpu"


def _bare_numbers(table: _Table, names: dict[int, str]) -> None:
    """Columns without units (`nounits`): only behaviour speaks."""
    small = [i for i in table.of("int") if table.seen(i) and max(table.seen(i)) <= 100]
    jumpy = [
        i
        for i in small
        if min(table.seen(i)) <= 5 and max(table.seen(i)) >= 90 and (max(table.steps(i), default=0) >= 40 or not table.steps(i))
    ]
    if len(jumpy) == 1:
        names[jumpy[0]] = "utilization.gpu"
    elif len(jumpy) == 2:
        _percentages(table, jumpy, names)
    _memories(table, [i for i in table.of("int") if i not in small], names)
    decimals = table.of("dec")
    if len(decimals) == 1 and len(set(table.seen(decimals[0]))) > 1:
        names[decimals[0]] = "power.draw"


def _infer(text: str) -> tuple[_Layout, bool] | str | None:
    """Layout of rows without a header and whether they carry units; a reason in our words why not; None if there are no such rows."""
    lines = [line.strip("` \t") for line in text.splitlines()[:INFER_LINES]]
    filled = sum(bool(line) for line in lines)
    shaped = [(line, cells) for line in lines if "," in line and (cells := _classify(line)) is not None]
    strong = [c for _, c in shaped if {k for k, _ in c} & (_UNITED | {"stamp", "uuid", "bus"})]
    rows = strong or ([c for _, c in shaped] if len(shaped) >= max(2, 0.95 * filled) else [])
    if not rows:
        return None
    size = Counter(len(c) for c in rows).most_common(1)[0][0]
    rows = [c for c in rows if len(c) == size]
    usual = [Counter(c[i][0] for c in rows if c[i][0] != "na").most_common(1) for i in range(size)]
    classes = [u[0][0] if u else "na" for u in usual]
    rows = [c for c in rows if all(k in (want, "na") for (k, _), want in zip(c, classes))]
    table = _Table(rows, classes)
    names: dict[int, str] = {i: _DIRECT[k] for i, k in reversed(list(enumerate(classes))) if k in _DIRECT}
    united = bool(_UNITED & set(classes))
    if table.index is not None:
        names[table.index] = "index"
    if united:
        _percentages(table, table.of("pct"), names)
        _memories(table, table.of("mib"), names)
        _powers(table, table.of("watt"), names)
        _clocks(table, table.of("mhz"), names)
        _temperature(table, table.of("int"), names)
    elif "index" in names.values() or "timestamp" in names.values():
        _bare_numbers(table, names)
        if not {"stamp", "uuid", "bus", "name"} & set(classes) and "memory.total" not in names.values():
            names = {}  # small integers in rows: any table of numbers looks like that
    masks = table.of("mask")
    if len(masks) == 1 and all(int(c[masks[0]][1], 16) < 0x100 for c in rows if c[masks[0]][0] == "mask"):
        names[masks[0]] = _MASK
    if not any(n in _NUMERIC for n in names.values()):
        certain = (
            united
            or any(k == "na" for c in rows for k, _ in c)
            or any(k in ("uuid", "bus") for k in classes)
            or ("stamp" in classes and len(rows) >= 0.9 * filled)
        )
        return "rows of nvidia-smi without a header, and nothing proves what the columns are" if certain else None
    strict = "^" + r"\s*,\s*".join(f"(?:{_CLASSES[k]}|{_CLASSES['na']})" for k in classes) + "$"
    return _layout([names.get(i) for i in range(size)], [None] * size, ",", strict), united


# ---------------------------------------------------------------- reading rows


@dataclass
class _State:
    """What the next block must know."""

    header: str = ""
    segment: int = 0  # header lines so far
    layouts: dict[str, _Layout | None] = field(default_factory=dict)
    cards: dict[str, int] = field(default_factory=dict)  # uuid, bus id or serial -> number by first appearance
    odd: Counter[str] = field(default_factory=Counter)
    empty: Counter[str] = field(default_factory=Counter)  # column -> cells without a value
    united: dict[tuple[str, int], bool] = field(default_factory=dict)  # (header, cell) -> cells carry their unit
    counts: Counts = field(default_factory=Counts)
    resolution: float | None = None
    zoned: bool | None = None  # times carry a zone
    first_line: int | None = None


@dataclass
class _Rounds:
    """How rows form rounds. `mode`: gap (in time), segment (a header per round), count (a known number of cards) or unknown."""

    mode: str = "unknown"
    k: int | None = None  # cards in a round, where no id tells
    gap: float = SAME_ROUND_S
    cycle: int = -1
    gpu: int | None = None
    time: float | None = None
    segment: int | None = None
    position: int = 0  # rows since the round began
    start: tuple[int, float] | None = None
    steps: Counter[float] = field(default_factory=Counter)
    by_position: int = 0
    hold: pl.DataFrame | None = None
    gpus: dict[tuple[str | None, int], dict[str, object]] = field(default_factory=dict)
    other: int = 0  # a card that was another one before


def _lines(first: int, text: str) -> pl.DataFrame:
    """line and the line without what terminals and Markdown put around it."""
    import polars as pl

    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    norm = (
        pl.col("text")
        .str.replace_all(r"\x1b\[[0-9;?]*[A-Za-z]", "")
        .str.strip_chars_end("\r")
        .str.replace(r"^.*\r", "")
        .str.replace(r"^\s*(?:>\s?)+", "")
        .str.replace_all("^C", "", literal=True)
        .str.strip_chars("` \u00a0")
    )
    frame = pl.DataFrame({"text": lines}, schema={"text": pl.String}).with_row_index("line", offset=first)
    return frame.with_columns(pl.col("line").cast(pl.Int64), text=norm)


def _bind(frame: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Mark header and message lines; give every line the header that holds for it and its segment."""
    import polars as pl

    maybe = frame.filter(pl.col("text").str.contains(_MAYBE_HEADER))["text"].unique(maintain_order=True).to_list()
    found = {line: layout for line in maybe if line not in state.layouts and (layout := _bind_text(line)) is not None}
    state.layouts.update(found)
    state.odd["unknown-unit"] += sum(layout.unread for layout in found.values())
    headers = [line for line in maybe if state.layouts.get(line) is not None]
    kind = pl.when(pl.col("text").is_in(headers)).then(pl.lit("header")).when(pl.col("text") == "").then(pl.lit("blank"))
    for name, pattern in _MESSAGES.items():
        kind = kind.when(pl.col("text").str.contains(pattern) & ~pl.col("text").str.contains(r"^[^,]*,\s|^\[")).then(pl.lit(name))
    frame = frame.with_columns(kind=kind.otherwise(pl.lit("text")))
    is_header = pl.col("kind") == "header"
    frame = frame.with_columns(
        header=pl.when(is_header).then("text").otherwise(None).forward_fill().fill_null(state.header),
        segment=state.segment + is_header.cast(pl.Int64).cum_sum(),
    )
    state.header, state.segment = frame["header"][-1], int(frame["segment"][-1])
    return frame


def _cells(frame: pl.DataFrame, layout: _Layout) -> pl.DataFrame:
    """Split lines into `cells`; keep those with as many cells as the layout has."""
    import polars as pl

    size, sep = len(layout.names), layout.sep
    if layout.strict:
        frame = frame.filter(pl.col("text").str.contains(layout.strict))
    plain = pl.col("text").str.split(sep)
    quoted = pl.col("text").str.extract_all(rf'(?:^|{sep})\s*(?:"[^"]*"|[^{sep}]*)').list.eval(pl.element().str.strip_prefix(sep))
    cells = pl.when(pl.col("text").str.contains('"', literal=True)).then(quoted).otherwise(plain)
    return frame.with_columns(cells=cells).filter(pl.col("cells").list.len() == size)


def _number(text: pl.Expr, unit: str, printed: str | None) -> tuple[pl.Expr, pl.Expr]:
    """(value, cell has the right shape) of a numeric cell. `printed` is the unit of the header, for cells without one."""
    import polars as pl

    scales = _SCALE[unit]
    units = "|".join(re.escape(u) for u in scales)
    pattern = rf"^{_NUMBER}\s*({units})?$" if scales else rf"^{_NUMBER}()$"
    shape = text.str.contains(pattern)
    value = text.str.extract(pattern, 1).str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    if len(scales) > 1:
        said = text.str.extract(pattern, 2).replace("", None).fill_null(printed or unit)
        value = value * said.replace_strict(scales, default=1.0, return_dtype=pl.Float64)
    return value, shape


def _field(name: str, text: pl.Expr, printed: str | None) -> tuple[pl.Expr, pl.Expr]:
    """(value, cell has the right shape) of one cell; no-value words are the caller's business."""
    import polars as pl

    if name in _NUMERIC:
        return _number(text, _NUMERIC[name][1], printed)
    if name in ("index", "count"):
        return text.str.extract(r"^([0-9]{1,4})$", 1).cast(pl.Int32), text.str.contains(r"^[0-9]{1,4}$")
    if name == _MASK:
        value = text.str.extract(r"^0x([0-9A-Fa-f]{1,16})$", 1).str.to_integer(base=16, strict=False, dtype=pl.Int64)
        return value, text.str.contains(r"^0x[0-9A-Fa-f]{1,16}$")
    if _bit(name):
        value = pl.when(text == "Active").then(_bit(name)).when(text == "Not Active").then(0).otherwise(None).cast(pl.Int64)
        return value, text.is_in(["Active", "Not Active"])
    if name in _IDS:
        shape = text.str.contains(r"^[0-9A-Za-z:.-]{4,64}$") & ~text.str.contains(_NOTHING)
        return pl.when(shape).then(text).otherwise(None), shape
    if name == "timestamp":
        stamped = text.str.contains(_TIMED)
        # a spreadsheet may have turned it into something else: no time then, but still a row
        return pl.when(stamped).then(text).otherwise(None), stamped | text.str.contains(r"^[0-9][0-9:./ ,-]{3,}(?: ?[AP]M)?$")
    shape = text.str.contains(r"^[\x20-\x7e]{1,80}$")
    if name in _TEXT:
        return pl.when(shape & ~text.str.contains(_NOTHING)).then(text).otherwise(None), shape
    return pl.lit(None, pl.String), shape  # a known field nobody reads


def _read(frame: pl.DataFrame, layout: _Layout, state: _State, cut_line: int | None, key: str) -> pl.DataFrame:
    """Typed rows of the lines that fit the layout; lines most of whose cells have the wrong shape are left out."""
    import polars as pl

    rows = _cells(frame, layout)
    raw: dict[str, pl.Expr] = {}
    shapes: dict[str, pl.Expr] = {}
    for cell, name in enumerate(layout.names):
        if name is None:
            continue
        text = pl.col("cells").list.get(cell).str.strip_chars("\"' \t")
        value, shape = _field(name, text, layout.units[cell])
        if name in _NUMERIC and _NUMERIC[name][1] in ("%", "W", "MHz", "MiB"):
            # where cells carry units, a number without one was cut
            if (key, cell) not in state.united:
                with_unit, numbers = text.str.contains(r"[0-9] ?[%MGKmW]").sum(), text.str.contains("^[0-9]").sum()
                state.united[key, cell] = bool(rows.select((with_unit > 0) & (with_unit * 2 >= numbers)).item())
            shape = shape & (text.str.contains(r"[^0-9]$") | pl.lit(not state.united[key, cell]))
            value = pl.when(shape).then(value).otherwise(None)
        if cut_line is not None and cell == len(layout.names) - 1:
            # the unit behind a number proves that the number is whole; anything else may have lost its end
            whole = text.str.contains(r"(?:%|MiB|MHz|W)$") & pl.lit(name in _NUMERIC) | text.str.ends_with("]")
            value = pl.when((pl.col("line") != cut_line) | whole).then(value).otherwise(None)
        raw[name] = value
        shapes[name] = shape | text.str.contains(_NOTHING)
        if name == "timestamp":  # words in front of a time: another log quotes the row, or an unknown prefix tells hosts apart
            rows = rows.filter(~(text.str.contains(_STAMP) & ~text.str.contains(_TIMED)))
        if name == "timestamp":
            raw["stamped"] = text.str.contains(_TIMED) | text.str.contains(_NOTHING)
    return _accept(rows, layout, raw, shapes, state, cut_line)


def _accept(
    rows: pl.DataFrame, layout: _Layout, raw: dict[str, pl.Expr], shapes: dict[str, pl.Expr], state: _State, cut_line: int | None
) -> pl.DataFrame:
    """Keep rows whose cells mostly have their shape; count what was dropped."""
    import polars as pl

    checked = [s for n, s in shapes.items() if n not in ("name", "driver_version", "mig.mode.current", "host")]
    if not checked:
        return pl.DataFrame(schema={"line": pl.Int64})
    bad = pl.sum_horizontal([(~s).cast(pl.Int32) for s in checked])
    stamped = raw.pop("stamped", pl.lit(True))
    typed = rows.select("line", "segment", bad=bad, stamped=stamped, **{f"f:{n}": v for n, v in raw.items()})
    typed = typed.filter((pl.col("bad") == 0) | (pl.lit(not layout.strict) & (pl.col("bad") * 3 < len(checked))))
    state.odd["garbled-cell"] += int(typed["bad"].sum() or 0)
    state.odd["timestamp-unread"] += int((~typed["stamped"]).sum() or 0)
    if cut_line is not None and layout.names[-1] and len(typed) and typed["line"][-1] == cut_line:
        state.odd["cut-cell"] += int(typed[f"f:{layout.names[-1]}"][-1] is None) if f"f:{layout.names[-1]}" in typed.columns else 0
    return _combine(typed, layout, state)


def _combine(typed: pl.DataFrame, layout: _Layout, state: _State) -> pl.DataFrame:
    """From fields to columns: precedence, bounds, event mask, time, card id."""
    import polars as pl

    fields = {c[2:] for c in typed.columns if c.startswith("f:")}
    out: dict[str, pl.Expr] = {}
    for into in dict.fromkeys(v[0] for v in _NUMERIC.values()):
        ranked = sorted((n for n in fields if n in _NUMERIC and _NUMERIC[n][0] == into), key=lambda n: _NUMERIC[n][2])
        if ranked:
            low, high = _BOUNDS[_NUMERIC[ranked[0]][1]]
            kept = [pl.when(pl.col(f"f:{n}").is_between(low, high)).then(f"f:{n}").otherwise(None) for n in ranked]
            state.odd["out-of-range"] += int(
                typed.select(pl.sum_horizontal([(~pl.col(f"f:{n}").is_between(low, high)).sum() for n in ranked])).item() or 0
            )
            out[into] = pl.coalesce(kept)
    masks = ([pl.col(f"f:{_MASK}")] if _MASK in fields else []) + _single_reasons(typed, fields, state)
    if masks:
        out["event_reasons"] = pl.coalesce(masks)
    for name, column in (("host", "host"), ("name", "name"), ("uuid", "uuid"), ("pci.bus_id", "bus_id"), ("driver_version", "driver")):
        if name in fields:
            out[column] = pl.col(f"f:{name}").cast(pl.String)
    if "mig.mode.current" in fields:
        out["mig"] = pl.col("f:mig.mode.current").replace_strict(
            {"Enabled": True, "Disabled": False}, default=None, return_dtype=pl.Boolean
        )
    if "count" in fields:
        out["count"] = pl.col("f:count")
    out["time"] = _time(pl.col("f:timestamp")) if "timestamp" in fields else pl.lit(None, pl.Float64)
    ids = [f"f:{n}" for n in _IDS[1:] if n in fields]
    out["id"] = pl.col(ids[0]) if ids and "index" not in fields else pl.lit(None, pl.String)
    out["gpu"] = pl.col("f:index").cast(pl.Int32) if "index" in fields else pl.lit(None, pl.Int32)
    stamps = pl.col("f:timestamp") if "timestamp" in fields else pl.lit(None, pl.String)
    rows = typed.select("line", "segment", stamps=stamps, measures=pl.lit(layout.measures), free=pl.lit(not layout.has_id), **out)
    rows = _one_clock(rows, pl.col("stamps"), state)
    for column, label in (
        ("util_gpu", "GPU utilisation"),
        ("util_mem", "memory utilisation"),
        ("power_w", "power"),
        ("mem_used", "memory in use"),
    ):
        if column in rows.columns:
            state.empty[label] += rows[column].null_count()
    return _numbered(rows, state)


def _single_reasons(typed: pl.DataFrame, fields: set[str], state: _State) -> list[pl.Expr]:
    """The mask out of columns that say Active or Not Active. A mask of 0 says that nothing holds the clocks down, so it needs an answer
    about power and one about heat or the hardware's own protection; with half of the reasons it stays unknown."""
    import polars as pl

    bits = {n: _bit(n) for n in fields if _bit(n)}

    def answered(mask: int) -> pl.Expr:
        return pl.any_horizontal(pl.lit(False), *(pl.col(f"f:{n}").is_not_null() for n, bit in bits.items() if bit & mask))

    whole = answered(REASON_BITS["sw_power_cap"]) & answered(_HEAT)
    if bits and _MASK not in fields:
        state.odd["reasons-partial"] += int(
            typed.select((pl.any_horizontal(pl.col(f"f:{n}").is_not_null() for n in bits) & ~whole).sum()).item()
        )
    return [pl.when(whole).then(pl.sum_horizontal(f"f:{n}" for n in bits))] if bits else []


def _time(text: pl.Expr) -> pl.Expr:
    """Seconds since 1970; a printed wall clock without a zone is read as if it were UTC."""
    import polars as pl

    wall = text.str.replace(rf"{_ZONE}$", "").str.replace_all("/", "-", literal=True).str.replace("T", " ", literal=True)
    stamp = wall.str.replace(",", ".", literal=True).str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    us = stamp.dt.timestamp("us")
    east = text.str.extract_groups(r"([+-])([0-9]{2}):?([0-9]{2})$")
    shift = east.struct.field("2").cast(pl.Int64, strict=False) * 3600 + east.struct.field("3").cast(pl.Int64, strict=False) * 60
    shift = pl.when(text.str.contains(r":[0-9]{2}(?:[.,][0-9]+)? ?[+-]")).then(
        pl.when(east.struct.field("1") == "-").then(-shift).otherwise(shift)
    )
    seconds = (us // 1_000_000).cast(pl.Float64) + (us % 1_000_000).cast(pl.Float64) / 1e6 - shift.fill_null(0)
    return pl.coalesce(seconds, text.str.extract(rf"^({_EPOCH})$", 1).cast(pl.Float64, strict=False))


def _one_clock(rows: pl.DataFrame, stamps: pl.Expr, state: _State) -> pl.DataFrame:
    """Times of one kind: with a zone or without, as the first row has it."""
    import polars as pl

    rows = rows.with_columns(zoned=stamps.str.contains(rf"{_ZONE}$|^{_EPOCH}$"))
    timed = rows.filter(pl.col("time").is_not_null())
    if len(timed):
        state.zoned = bool(timed["zoned"][0]) if state.zoned is None else state.zoned
        fine = bool(timed.select(stamps.str.contains(rf"[.,][0-9]+{_ZONE}?$").any()).item())
        state.resolution = 0.001 if fine else (state.resolution or 1.0)
        state.odd["mixed-clocks"] += timed.filter(pl.col("zoned") != state.zoned).height
    return rows.with_columns(time=pl.when(pl.col("zoned") == pl.lit(state.zoned)).then("time")).drop("zoned", "stamps")


def _numbered(rows: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Cards with an id but no index get numbers by first appearance."""
    import polars as pl

    ids = rows["id"].drop_nulls().unique(maintain_order=True).to_list()
    if ids:
        for card in ids:
            if card not in state.cards and len(state.cards) < MAX_CARDS:
                state.cards[card] = len(state.cards)
        number = pl.col("id").replace_strict(state.cards, default=None, return_dtype=pl.Int32)
        rows = rows.with_columns(gpu=pl.coalesce("gpu", number))
        state.odd["gpu-by-appearance"] += int(rows["id"].is_not_null().sum())
    return rows.drop("id")


def _rows(first: int, text: str, state: _State) -> pl.DataFrame:
    """All rows of a block in line order; every line is counted."""
    import polars as pl

    frame = _bind(_lines(first, text), state)
    cut_line = None if text.endswith("\n") else int(frame["line"][-1])
    parts = []
    for (header,), group in frame.filter(pl.col("kind") == "text").group_by("header", maintain_order=True):
        layout = state.layouts.get(str(header))
        if layout is not None and any(layout.names):
            if re.match(_COMMENT, str(header)):  # below any other header a comment is no row
                group = group.with_columns(pl.col("text").str.replace(_COMMENT, ""))
            part = _read(group, layout, state, cut_line, str(header))
            parts += [part] if len(part) else []
    rows = pl.concat(parts, how="diagonal").sort("line") if parts else pl.DataFrame(schema={"line": pl.Int64})
    _count(frame, rows, state, cut_line)
    return rows


def _count(frame: pl.DataFrame, rows: pl.DataFrame, state: _State, cut_line: int | None) -> None:
    """Rows and messages are matched; headers and blank lines noise; row-like lines that do not fit near misses."""
    import polars as pl

    rest = frame.filter(~pl.col("line").is_in(rows["line"].implode())) if len(rows) else frame
    kinds = Counter(rest["kind"].to_list())
    text = rest.filter(pl.col("kind") == "text")
    reads = [h for h, layout in state.layouts.items() if layout is not None and any(layout.names)]
    looks = pl.col("text").str.contains(
        r"[,;\t]\s*[0-9.,]+ (?:%|MiB|MHz|W)\s*(?:[,;\t]|$)|^[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9:]{8}\.[0-9]{1,3}\s*(?:[,;\t]|$)"
    )
    bare = pl.col("text").str.contains(r"^[0-9][0-9., ;\t]*[,;\t][0-9., ;\t]*$")
    cut = (pl.col("line") == (cut_line or -1)) & pl.col("text").str.contains("[0-9]")
    near = text.filter(pl.col("header").is_in(reads) & (looks | bare | cut))
    messages = sum(n for k, n in kinds.items() if k in _MESSAGES)
    for k, n in kinds.items():
        if k in _MESSAGES:
            state.odd[k] += n
    state.odd["gpu-lost"] += int(frame.filter(pl.col("kind") == "text")["text"].str.contains(r"\[GPU is lost\]").sum())
    read, quiet = len(rows) + messages, kinds["header"] + kinds["blank"]
    why = "the row does not fit the columns named before it, or it is cut"
    state.counts.block(read + quiet + len(text), read, quiet, near["line"], why)


# ---------------------------------------------------------------- rounds


def _learn(rows: pl.DataFrame) -> _Rounds:
    """From the rows of the head: what separates two rounds, and how many cards a round has, where rows carry no id."""
    import polars as pl

    rounds = _Rounds()
    free = rows.filter(pl.col("free")) if "free" in rows.columns else rows
    if not len(free):
        return rounds
    count = free["count"].max() if "count" in free.columns else None
    rounds.k = int(count) if isinstance(count, int) and 0 < count <= 64 else None
    times = free["time"]
    if times.null_count() * 2 < len(times):
        rounds.mode = "gap"
        gaps = times.diff().drop_nulls().abs()
        high = gaps.quantile(0.97, interpolation="higher") if len(gaps) else None
        # far apart: a gap well under the usual step; all close together: one single round
        rounds.gap = SAME_ROUND_S if high is None or high < 0.015 else min(SAME_ROUND_S, 0.4 * high)
        starts = (times.diff() > rounds.gap).fill_null(True) | (free["segment"].diff() != 0).fill_null(True)
    elif free["segment"].n_unique() > 1 or len(free) == 1:
        rounds.mode = "segment"
        starts = (free["segment"].diff() != 0).fill_null(True)
    else:
        rounds.mode = "count" if rounds.k else "unknown"
        return rounds
    if rounds.k is None:
        runs = free.group_by(starts.cum_sum().alias("run"), maintain_order=True).len()["len"].to_list()
        sizes = Counter(runs[:-1] or runs)  # the last round may be unfinished
        size, n = sizes.most_common(1)[0]
        rounds.k = size if n >= 0.8 * sum(sizes.values()) else None
    return rounds


def _cycled(rows: pl.DataFrame, rounds: _Rounds) -> pl.DataFrame:
    """Add `cycle`; `pos` is the place of a row in its round."""
    import polars as pl

    new_segment = pl.col("segment") != pl.col("segment").shift(1, fill_value=rounds.segment)
    back = pl.col("gpu") <= pl.col("gpu").shift(1, fill_value=rounds.gpu)
    step = pl.col("time") - pl.col("time").shift(1, fill_value=rounds.time)
    if rounds.mode == "gap":
        apart = pl.lit(True) if rounds.k == 1 else (step > rounds.gap) | (step < 0)
    elif rounds.mode == "count":
        seen = pl.int_range(pl.len()).over("segment") + pl.when(pl.col("segment") == (rounds.segment or 0)).then(rounds.position).otherwise(
            0
        )
        apart = seen % (rounds.k or 1) == 0
    else:
        apart = pl.lit(False)
    new = new_segment | pl.when(pl.col("free")).then(apart).otherwise(back)
    first = pl.int_range(pl.len()) == 0 if rounds.cycle < 0 else pl.lit(False)
    rows = rows.with_columns(new=new.fill_null(False) | first)
    return rows.with_columns(cycle=rounds.cycle + pl.col("new").cast(pl.Int64).cum_sum())


def _positions(rows: pl.DataFrame, rounds: _Rounds, last: bool) -> pl.DataFrame:
    """Number the cards of id-less rows by their place in a complete round; the very last round may be unfinished."""
    import polars as pl

    free = rows.filter(pl.col("free"))
    if not len(free):
        return rows
    if rounds.mode == "unknown":
        return rows.with_columns(cycle=pl.when(pl.col("free")).then(None).otherwise("cycle"))
    if rounds.k is None:
        return rows
    place = pl.int_range(pl.len()).over("cycle").cast(pl.Int32)
    if rounds.mode == "count":
        place = place + pl.when(pl.col("cycle") == rounds.cycle).then(rounds.position % rounds.k).otherwise(0).cast(pl.Int32)
        whole = place < rounds.k
    else:
        unbroken = (pl.col("line").max() - pl.col("line").min() + 1).over("cycle") == pl.len().over("cycle")
        end = (pl.col("cycle") == int(rows["cycle"][-1])) & pl.lit(last) & unbroken & (pl.len().over("cycle") < rounds.k)
        whole = (pl.len().over("cycle") == rounds.k) | end
    numbered = free.select("line", place=pl.when(whole).then(place).otherwise(None))
    rounds.by_position += int(numbered["place"].is_not_null().sum())
    rows = rows.join(numbered, on="line", how="left", maintain_order="left")
    return rows.with_columns(gpu=pl.coalesce("gpu", "place")).drop("place")


def _advance(rows: pl.DataFrame, rounds: _Rounds) -> None:
    """Remember the end of what was emitted, and count the steps between rounds."""
    import polars as pl

    starts = (
        rows.filter(pl.col("time").is_not_null() & pl.col("cycle").is_not_null())
        .group_by("cycle", maintain_order=True)
        .agg(pl.col("time").first())
    )
    if len(starts):
        if rounds.start is not None:
            known = pl.DataFrame({"cycle": [rounds.start[0]], "time": [rounds.start[1]]}, schema=starts.schema)
            starts = pl.concat([known, starts.filter(pl.col("cycle") > rounds.start[0])])
        steps = starts["time"].diff().drop_nulls().round(3)
        if len(rounds.steps) < 100_000:
            rounds.steps.update(steps.to_list())
        rounds.start = (int(starts["cycle"][-1]), float(starts["time"][-1]))
    if rounds.mode == "count":
        same = rows.filter(pl.col("segment") == int(rows["segment"][-1])).height
        rounds.position = same + (rounds.position if int(rows["segment"][-1]) == rounds.segment else 0)
    if rounds.mode != "unknown" or rows["cycle"][-1] is not None:
        rounds.cycle = int(rows["cycle"][-1])
    rounds.segment = int(rows["segment"][-1])
    rounds.gpu, rounds.time = rows["gpu"][-1], rows["time"][-1]


_ABOUT = {
    "name": "name",
    "uuid": "uuid",
    "bus_id": "bus_id",
    "memory_mib": "mem_total",
    "power_limit_w": "power_limit_w",
    "driver": "driver",
    "mig": "mig",
}


def _cards(rows: pl.DataFrame, rounds: _Rounds) -> None:
    """Keep the first value that says what a card is."""
    import polars as pl

    about = {k: v for k, v in _ABOUT.items() if v in rows.columns}
    known = rows.filter(pl.col("gpu").is_not_null())
    if not about or not len(known):
        return
    key = ["host", "gpu"] if "host" in rows.columns else ["gpu"]
    first = known.group_by(key, maintain_order=True).agg(
        pl.col("line").first(),
        **{k: pl.col(v).drop_nulls().first() for k, v in about.items()},
        **{f"{k}s": pl.col(k).drop_nulls().n_unique() for k in ("uuid", "bus_id") if k in about},
    )
    for row in first.iter_rows(named=True):
        several = max(row.pop("uuids", 0), row.pop("bus_ids", 0)) > 1
        who = (row.get("host"), row["gpu"])
        if who in rounds.gpus or len(rounds.gpus) < MAX_CARDS:
            card = rounds.gpus.setdefault(who, {k: row[k] for k in (*key, "line")})
            rounds.other += several or any(card.get(k) not in (None, row.get(k)) and row.get(k) for k in ("uuid", "bus_id"))
            card.update({k: v for k, v in row.items() if v is not None and k not in card})


def _place(rows: pl.DataFrame, rounds: _Rounds, last: bool, emit: Emit) -> int:
    """Group rows into rounds and emit those that are complete; returns the rows without a card."""
    import polars as pl

    if rounds.hold is not None:
        rows = pl.concat([rounds.hold, rows], how="diagonal")
        rounds.hold = None
    if not len(rows):
        return 0
    rows = _cycled(rows, rounds)
    if not last and bool(rows["free"][-1]) and rounds.mode in ("gap", "segment") and rounds.k != 1:
        tail = rows["cycle"] == rows["cycle"][-1]
        if int(tail.sum()) <= MAX_HOLD:
            rounds.hold = rows.filter(tail).drop("cycle", "new")
            rows = rows.filter(~tail)
            if not len(rows):
                return 0
    rows = _positions(rows, rounds, last)
    _cards(rows, rounds)
    _advance(rows, rounds)
    wanted = rows.filter(pl.col("measures"))
    drop = [c for c in ("segment", "measures", "free", "new", "count", "name", "uuid", "bus_id", "driver", "mig") if c in rows.columns]
    if len(wanted):
        emit("gpu_samples", wanted.drop(drop))
    return int(rows["gpu"].null_count())


def _interval(steps: Counter[float]) -> float | None:
    """Median step between rounds where most steps agree with it."""
    good = sorted((s, n) for s, n in steps.items() if s > 0)
    total = sum(n for _, n in good)
    if not total:
        return None
    seen = 0
    median = good[-1][0]
    for step, n in good:
        seen += n
        if seen * 2 >= total:
            median = step
            break
    near = sum(n for s, n in good if abs(s - median) <= max(0.1 * median, 0.005))
    return median if near >= 0.8 * total else None


def _finish(state: _State, rounds: _Rounds, inferred: Iterable[str | None], emit: Emit) -> None:
    """One clock, one row per card, one quality row per oddity."""
    import polars as pl

    line = state.first_line or 1
    if state.first_line is not None:
        timed = rounds.start is not None or state.resolution is not None
        kind = "none" if not timed else "utc" if state.zoned else "local-no-zone"
        row = {"line": line, "kind": kind, "resolution_s": state.resolution, "interval_s": _interval(rounds.steps)}
        emit(
            "clocks",
            pl.DataFrame([row], schema={"line": pl.Int64, "kind": pl.String, "resolution_s": pl.Float64, "interval_s": pl.Float64}),
        )
    state.odd["other-card"] += rounds.other
    cards = [c for c in rounds.gpus.values() if len(c) > 2 + ("host" in c)]
    if cards:
        types = {"line": pl.Int64, "host": pl.String, "gpu": pl.Int32, "name": pl.String, "uuid": pl.String, "bus_id": pl.String}
        types |= {"memory_mib": pl.Float64, "power_limit_w": pl.Float64, "driver": pl.String, "mig": pl.Boolean}
        emit("gpus", pl.DataFrame([{k: c.get(k) for k in types} for c in cards], schema=types))
    state.odd["clock-fell-back"] += sum(n for s, n in rounds.steps.items() if s < 0)
    odd = [(k, n, _NOTES[k]) for k, n in state.odd.items() if n]
    odd += [("no-value", n, f"cells without a value: {label}") for label, n in state.empty.items() if n]
    if rounds.by_position:
        odd.append(("gpu-by-position", rounds.by_position, f"no column names the card: {rounds.k} per round, numbered by position"))
    mapping = ", ".join(f"column {i + 1} is {_OUR_WORDS[n]}" if n else f"column {i + 1} is not read" for i, n in enumerate(inferred))
    if mapping and state.first_line is not None:
        odd.append(("columns-inferred", state.counts.matched, f"no header; by shape and behaviour: {mapping}"))
    if odd:
        frame = pl.DataFrame(
            [(line, *o) for o in odd], schema={"line": pl.Int64, "kind": pl.String, "n": pl.Int64, "note": pl.String}, orient="row"
        )
        emit("quality", frame)


def _block(block: tuple[int, str], last: bool, state: _State, rounds: _Rounds, emit: Emit) -> int:
    rows = _rows(*block, state)
    if len(rows) and state.first_line is None:
        state.first_line = int(rows["line"][0])
    return _place(rows, rounds, last, emit)


# ---------------------------------------------------------------- the parser


def _headers(text: str) -> list[_Layout]:
    """Layouts of all header and command lines."""
    found = {line.strip("`> \t\r") for line in text.split("\n") if re.search(_MAYBE_HEADER, line)}
    return [layout for line in found if (layout := _bind_text(line)) is not None]


def _foreign(text: str, layouts: list[_Layout]) -> bool:
    """There is text beside the rows."""
    sizes = {(len(x.names), x.sep) for x in layouts}
    for line in text.splitlines()[:INFER_LINES][:-1]:  # the last line may be cut
        line = line.strip("`> \t")
        if not line or any(re.search(p, line) for p in _MESSAGES.values()) or _bind_text(line) is not None:
            continue
        alone = re.match(r"^[0-9.]+( |$)|^\[", line)
        if not any(line.count(sep) == size - 1 and (size > 1 or alone) for size, sep in sizes):
            return True
    return False


_SAMPLES = (
    Sample(
        text="""timestamp, index, name, utilization.gpu [%], utilization.memory [%], memory.used [MiB], memory.total [MiB], """
        """power.draw [W], power.limit [W]
2025/11/04 08:15:00.120, 0, NVIDIA RTX 6000 Ada Generation, 97 %, 61 %, 40112 MiB, 49140 MiB, 271.35 W, 300.00 W
2025/11/04 08:15:00.124, 1, NVIDIA RTX 6000 Ada Generation, 0 %, 0 %, 4 MiB, 49140 MiB, [N/A], 300.00 W
2025/11/04 08:15:01.126, 0, NVIDIA RTX 6000 Ada Generation, 95 %, 60 %, 40112 MiB, 49140 MiB, 268.90 W, 300.00 W
2025/11/04 08:15:01.130, 1, NVIDIA RTX 6000 Ada Generation, 0 %, 0 %, 4 MiB, 49140 MiB, 19.02 W, 300.00 W
""",
        rows={
            "gpu_samples": [
                {
                    "line": 2,
                    "gpu": 0,
                    "cycle": 0,
                    "time": 1762244100.12,
                    "util_gpu": 97.0,
                    "util_mem": 61.0,
                    "mem_used": 40112.0,
                    "power_w": 271.35,
                },
                {"line": 3, "gpu": 1, "cycle": 0, "util_gpu": 0.0, "power_w": None, "power_limit_w": 300.0},
                {"line": 4, "gpu": 0, "cycle": 1, "time": 1762244101.126},
                {"line": 5, "gpu": 1, "cycle": 1, "power_w": 19.02, "mem_total": 49140.0},
            ],
            "gpus": [{"gpu": 0, "name": "NVIDIA RTX 6000 Ada Generation", "memory_mib": 49140.0, "power_limit_w": 300.0}, {"gpu": 1}],
            "clocks": [{"kind": "local-no-zone", "resolution_s": 0.001, "interval_s": 1.006}],
        },
        versions="418 to 610, csv in a loop",
    ),
    Sample(
        text="""timestamp, pstate, temperature.gpu, clocks_throttle_reasons.sw_power_cap, clocks_throttle_reasons.hw_slowdown, """
        """clocks.current.sm [MHz]
2017/06/02 11:00:01.500, P0, 71, Active, Not Active, 1506 MHz
2017/06/02 11:00:02.502, P0, 72, Not Active, Not Active, 1607 MHz
""",
        rows={
            "gpu_samples": [
                {"gpu": 0, "cycle": 0, "temp": 71.0, "event_reasons": 4, "sm_clock": 1506.0},
                {"gpu": 0, "cycle": 1, "temp": 72.0, "event_reasons": 0, "sm_clock": 1607.0},
            ],
            "quality": [{"kind": "gpu-by-position", "n": 2}],
        },
        versions="2017: throttle reasons, no index",
    ),
    Sample(
        text="""0, 99 %, 58 %, 2310 MHz, 401.55 W
1, 99 %, 57 %, 2325 MHz, 398.10 W
""",
        rows={
            "gpu_samples": [
                {"gpu": 0, "cycle": 0, "time": None, "util_gpu": 99.0, "util_mem": 58.0, "sm_clock": 2310.0, "power_w": 401.55},
                {"gpu": 1, "cycle": 0, "util_gpu": 99.0, "util_mem": 57.0, "sm_clock": 2325.0, "power_w": 398.1},
            ],
            "quality": [{"kind": "columns-inferred", "n": 2}],
        },
        versions="noheader snapshot",
    ),
    Sample(
        text="""index, utilization.gpu, power.draw, clocks_event_reasons.active
0, 12, 71.40, 0x0000000000000001
1, [Not Supported], [Unknown Error], [N/A]
""",
        rows={
            "gpu_samples": [
                {"gpu": 0, "util_gpu": 12.0, "power_w": 71.4, "event_reasons": 1},
                {"gpu": 1, "util_gpu": None, "power_w": None, "event_reasons": None},
            ],
            "clocks": [{"kind": "none"}],
        },
        versions="nounits",
    ),
)


class NvidiaSmiQuery:
    """`nvidia-smi --query-gpu=... --format=csv`."""

    name = "nvidia-smi-query"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A header with two known field names, one of them a measurement; else a command line; else rows that explain themselves."""
        head = plain_head(head)
        layouts = _headers(head.text)
        reading = [x for x in layouts if any(x.names)]
        if reading:
            if all(x.strict for x in reading):
                return Claim(60, "rows of nvidia-smi below the command that names their columns", shares=True)
            return Claim(95, "header of nvidia-smi --query-gpu", shares=len(reading) < len(layouts) or _foreign(head.text, layouts))
        inferred = _infer(head.text)
        if isinstance(inferred, tuple):
            layout, united = inferred
            lines = [x.strip("` \t") for x in head.text.splitlines()[:INFER_LINES] if x.strip("` \t")]
            rows = sum(bool(re.match(layout.strict or "", x)) for x in lines)
            whole = rows >= 0.95 * len(lines) - 1
            return Claim(
                70 if whole and united else 45 if whole else 40, "rows of nvidia-smi --query-gpu without a header", shares=not whole
            )
        if layouts:
            return Refusal(30, "this is --query-compute-apps: it lists processes, not readings of cards")
        if isinstance(inferred, str):
            return Refusal(50, f"{inferred}: record again without noheader, or put the header line in front")
        for kind, pattern in _MESSAGES.items():
            if re.search(pattern, head.text[:4096]):
                return Refusal(40, f"{_NOTES[kind]}: there are no readings in this file")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, `gpus`, one `clocks` row and `quality` rows."""
        return by_stream(source, emit, self._parse)

    @staticmethod
    def _parse(source: Readable, emit: Emit) -> Counts:
        head = source.head().text
        state, trial = _State(), _State()
        inferred: tuple[str | None, ...] = ()
        if not any(any(x.names) for x in _headers(head)):
            found = _infer(head)
            if isinstance(found, tuple):
                inferred = found[0].names
                state.layouts[""] = trial.layouts[""] = found[0]
        rounds = _learn(_rows(1, head, trial)) if head else _Rounds()
        state.united = trial.united
        unknown = 0
        previous: tuple[int, str] | None = None
        for block in source.blocks(BLOCK_BYTES):
            if previous is not None:
                unknown += _block(previous, False, state, rounds, emit)
            previous = block
        if previous is not None:
            unknown += _block(previous, True, state, rounds, emit)
        state.odd["gpu-unknown"] += unknown
        if state.first_line is None and state.segment:
            state.odd["no-rows"] += 1
        _finish(state, rounds, inferred, emit)
        return state.counts


PARSER = NvidiaSmiQuery()
