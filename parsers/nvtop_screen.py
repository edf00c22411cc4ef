"""A screen of `nvtop`, pasted from a terminal: one reading per card.

**Reads** the three lines above the graphs, cards below or beside each other, of NVIDIA, AMD and Intel, anywhere in a text. `nvtop -s` has
a parser of its own (`nvtop-json`).

| text | column |
|---|---|
| `Device 1` | `gpu`: nvtop's order, which need not be that of nvidia-smi (`gpu-by-position`) |
| `[NVIDIA RTX A6000]` | `gpus.name` |
| `PCIe GEN 3@16x` | `pcie_gen`, `pcie_width`: the link now |
| `GPU 1590MHz MEM 8001MHz TEMP 68°C POW 298 / 300 W` | `sm_clock`, `mem_clock`, `temp`, `power_w`, `power_limit_w` |
| `GPU[||||| 44%]`, `MEM[||| 12.287Gi/47.988Gi]` | `util_gpu`; `mem_used`, `mem_total` (MiB) |

**Rounds.** A device number that does not rise begins one. **Clock.** None: the screen has no time.

**Traps.** `N/A` is NULL. Temperatures in Fahrenheit are not read. `RX` and `TX` are measured in other ways for every vendor: not read. A
screen written to a file (`nvtop > FILE`) is cursor movements, no lines. The graphs and processes are not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import send_clock, send_note, send_rows
from ..engine.smi_values import product
from ..engine.streams import bare_lines, by_stream, numbered_lines, plain_head

__all__ = ["PARSER"]

BLOCK_BYTES = 2 * 1024 * 1024
MAX_ROWS = 100_000

_DEVICE = re.compile(r"\bDevice ([0-9]{1,2}) \[([^\]\n]{1,80})\](?:\s+PCIe GEN ([0-9])@ ?([0-9]{1,2})x)?(?=\s.*\bRX:|\s*$|\s+Integrated)")
_CLOCKS = re.compile(r"\bGPU +(?:([0-9]{1,5})MHz|N/A ?(?:MHz)?)\s+MEM +(?:([0-9]{1,6})MHz|N/A ?(?:MHz)?)(?=\s)")
_TEMP = re.compile(r"\bTEMP +([0-9]{1,3})(?:°|Â°|\ufffd+)C\b")
_POWER = re.compile(r"\bPOW +([0-9]{1,5}) ?(?:/ *([0-9]{1,5}) ?)?W\b")
_SIZE = r"([0-9]{1,7}(?:\.[0-9]{1,3})?)([KMGT])i(?:B)?"
_BARS = re.compile(rf"\bGPU\[[| ]*(?:([0-9]{{1,3}})%|N/A)\](?:\s*MEM\[[| ]*{_SIZE}/{_SIZE}\])?")
_ANY = rf"{_DEVICE.pattern[: _DEVICE.pattern.index('(?=')]}|{_CLOCKS.pattern[: _CLOCKS.pattern.index('(?=')]}|\bGPU\["
_MIB = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1048576.0}
_HIGH = {"util_gpu": 100.0, "temp": 250.0, "power_w": 20_000.0, "power_limit_w": 20_000.0, "sm_clock": 1e5, "mem_clock": 1e5}
_POSITION = "cards are numbered by nvtop's order, which need not be that of nvidia-smi"


@dataclass
class _State:
    """The cards of the lines just read, and all rows."""

    cycle: int = -1
    last: int | None = None
    open: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    cards: dict[int, dict[str, Any]] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def _devices(line: int, text: str, state: _State) -> bool:
    """The line that names cards, one or several beside each other."""
    found = list(_DEVICE.finditer(text))
    if not found:
        return False
    state.open = []
    for m in found:
        gpu = int(m[1])
        state.cycle += state.last is None or gpu <= state.last
        state.last = gpu
        row = {"line": line, "gpu": gpu, "cycle": state.cycle, "pcie_gen": _number(m[3]), "pcie_width": _number(m[4])}
        state.open.append(row | {"name": product(m[2].strip())})
    return True


def _clocks(text: str, state: _State) -> bool:
    """Clocks, heat and power of the cards above, in their order."""
    found = list(_CLOCKS.finditer(text))
    for row, m, after in zip(state.open, found, [*(x.start() for x in found[1:]), len(text)]):
        part = text[m.start() : after]
        heat, power = _TEMP.search(part), _POWER.search(part)
        row |= {"sm_clock": _number(m[1]), "mem_clock": _number(m[2]), "temp": _number(heat[1]) if heat else None}
        row |= {"power_w": _number(power[1]) if power else None, "power_limit_w": _number(power[2]) if power else None}
    return bool(found and state.open)


def _bars(text: str, state: _State) -> bool:
    """Load and memory of the cards above; they are whole then."""
    found = list(_BARS.finditer(text))
    for row, m in zip(state.open, found):
        row["util_gpu"] = _number(m[1])
        if m[2]:
            row |= {"mem_used": float(m[2]) * _MIB[m[3]], "mem_total": float(m[4]) * _MIB[m[5]]}
    return bool(found and state.open)


def _close(state: _State) -> None:
    """Keeps the cards that have a reading."""
    for row in state.open:
        row |= {c: None for c, high in _HIGH.items() if (row.get(c) or 0) > high}
        row |= {c: None for c in ("sm_clock", "mem_clock", "power_limit_w") if row.get(c) == 0}
        if any(row.get(c) is not None for c in (*_HIGH, "mem_used")) and len(state.rows) < MAX_ROWS:
            state.rows.append(row)
            about = {"memory_mib": row.get("mem_total")} | {k: row.get(k) for k in ("line", "gpu", "name", "power_limit_w")}
            state.cards.setdefault(row["gpu"], about)
    state.open = []


def _block(first: int, text: str, state: _State) -> None:
    """Read one block; only lines that look like nvtop's are looked at one by one."""
    import polars as pl

    frame, _ = numbered_lines(first, text)
    likely = frame.filter(pl.col("text").str.contains(_ANY))
    blank = frame.filter(pl.col("text").str.contains(r"^[\W_]*$")).height
    taken = 0
    for line, shown in likely.select("line", "text").iter_rows():
        if _DEVICE.search(shown):
            _close(state)
            taken += _devices(line, shown, state)
        else:
            taken += _clocks(shown, state) or _bars(shown, state)
    state.counts.matched += taken
    state.counts.noise += blank
    state.counts.other += len(frame) - taken - blank


_SAMPLES = (
    Sample(
        text=""" Device 0 [NVIDIA RTX A6000] PCIe GEN 3@16x RX: 118.7 MiB/s TX: 8.936 MiB/s
 GPU 1590MHz MEM 8001MHz TEMP  68°C FAN  97% POW 287 / 300 W
 GPU[||||||||||||||||||||||||||||100%] MEM[||||||||||||||40.000Gi/48.000Gi]

 Device 1 [AMD Radeon RX 7900 XTX] PCIe GEN 4@16x RX: N/A TX: N/A
 GPU 0MHz    MEM 96MHz   TEMP  41°C FAN N/A%  POW   9 W
 GPU[                              3%] MEM[|                 512.0Mi/24.000Gi]
    ┌────────────────────────────────────────────────────────────────────┐
100│GPU0 %              ▄▄▄▄▄▄▄            ▄▄▄▄▄▄▄                      │
    PID USER DEV    TYPE  GPU        GPU MEM    CPU  HOST MEM Command
  71302 me     0 Compute 100%  40000MiB  83%   101%   3021MiB serve
""",
        rows={
            "gpu_samples": [
                {
                    "line": 1, "gpu": 0, "cycle": 0, "util_gpu": 100.0, "power_w": 287.0, "power_limit_w": 300.0, "temp": 68.0, "sm_clock": 1590.0,
                    "mem_clock": 8001.0, "mem_used": 40960.0, "mem_total": 49152.0, "pcie_gen": 3.0, "pcie_width": 16.0, "pcie_rx": None,
                },
                {"line": 5, "gpu": 1, "cycle": 0, "util_gpu": 3.0, "power_w": 9.0, "power_limit_w": None, "sm_clock": None, "mem_used": 512.0},
            ],
            "gpus": [{"gpu": 0, "name": "NVIDIA RTX A6000", "memory_mib": 49152.0}, {"gpu": 1, "name": "AMD Radeon RX 7900 XTX"}],
            "clocks": [{"kind": "none"}],
            "quality": [{"kind": "gpu-by-position", "n": 2}],
        },
        versions="3, cards below each other",
    ),
    Sample(
        text=""" Device 0 [Tesla T4] PCIe GEN 3@ 8x RX: 4.150 MiB/s TX: 50.00 KiB/s Device 1 [Tesla T4] PCIe GEN 3@16x RX: 0 KiB/s TX: 0 KiB/s
 GPU 1575MHz MEM 5000MHz TEMP  67°C  FAN N/A% POW  66 /  70 W             GPU 300MHz  MEM 405MHz  TEMP  44°C  FAN N/A% POW   9 /  70 W
 GPU[||||||||||||||               44%] MEM[||||||||      12.287Gi/14.748Gi] GPU[                  0%] MEM[         0.25
""",
        rows={
            "gpu_samples": [
                {"gpu": 0, "cycle": 0, "util_gpu": 44.0, "power_w": 66.0, "pcie_width": 8.0, "mem_total": 15101.952},
                {"gpu": 1, "cycle": 0, "util_gpu": 0.0, "power_w": 9.0, "temp": 44.0, "mem_used": None},
            ],
        },
        versions="3, cards beside each other, cut",
    ),
)  # fmt: skip


class NvtopScreen:
    """`nvtop`, pasted."""

    name = "nvtop-screen"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A line that names a card, and its clocks or its bars just below."""
        if not re.search(r"Device [0-9]{1,2} \[", head.text):  # logs of servers name devices too
            return None
        lines = [x for x in bare_lines(plain_head(head).text) if x]
        at = [k for k, x in enumerate(lines) if _DEVICE.search(x)]
        if any(_CLOCKS.search(x) or _BARS.search(x) for k in at for x in lines[k + 1 : k + 3]):
            return Claim(90, "screen of nvtop", shares=True)
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, `gpus`, one `clocks` row and a `quality` row."""
        return by_stream(source, emit, self._parse)

    @staticmethod
    def _parse(source: Readable, emit: Emit) -> Counts:
        state = _State()
        for first, text in source.blocks(BLOCK_BYTES):
            _block(first, text, state)
        _close(state)
        if state.rows:
            columns = ("line", "gpu", "cycle", *_HIGH, "mem_used", "mem_total", "pcie_gen", "pcie_width")
            send_rows(emit, "gpu_samples", state.rows, columns)
            send_rows(emit, "gpus", list(state.cards.values()), ("line", "gpu", "name", "memory_mib", "power_limit_w"))
            send_clock(emit, state.rows[0]["line"], "none", None, None)
            send_note(emit, state.rows[0]["line"], "gpu-by-position", len(state.cards), _POSITION)
        return state.counts


PARSER = NvtopScreen()
