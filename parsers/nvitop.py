"""`nvitop -1` (and `nvitop` pasted from a terminal): one reading per card and screen.

**Reads** the full table of nvitop 1.0 and later with its box of `│`, also where the bars became `|` or mis-decoded bytes, and the date line
above it. The compact table has one line per card and is not read (its columns changed often).

| cell | column |
|---|---|
| `GPU-Util` | `util_gpu` |
| `Temp`, `Pwr:Usage/Cap` | `temp`, `power_w`, `power_limit_w` |
| `Memory-Usage` | `mem_used`, `mem_total`: KiB, MiB and GiB mixed, printed with four digits: good to 0.1 % |
| name, bus id, `Driver Version`, `MIG M.` | `gpus`; a name cut with dots is NULL |

**Clock.** The date line: local wall clock without a zone, 1 s. **Rounds.** A screen is a round.

**Traps.** The bars `MEM` and `UTL` repeat the numbers. `MBW` (memory bandwidth, 1.6) and the processes are not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.smi_values import product

__all__ = ["PARSER"]

BLOCK_BYTES = 2 * 1024 * 1024
_BAR = r"(?:\||│|â”‚|\ufffd{1,3})"
_NONE = r"N/A|ERR!"
_BUS = r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9]"
_CARD = rf"^{_BAR}\s*([0-9]{{1,3}})\s+(\S[^|│]*?)\s+(\S+)\s*{_BAR}\s*({_BUS})\s+(?:On|Off|N/A)\s*{_BAR}\s*(Disabled|Enabled|N/A)?"
_SIZE = r"([0-9]+(?:\.[0-9]+)?)\s*([KMG])iB"
_VALUES = (
    rf"^{_BAR}\s*(?:MAX|[0-9]{{1,3}}%|{_NONE})\s+([0-9]{{1,3}}C|{_NONE})\s+(?:P[0-9]{{1,2}}|{_NONE})\s+([0-9.]+W|{_NONE})\s*/\s*([0-9.]+W|{_NONE})"
    rf"\s*{_BAR}\s*(?:{_SIZE}|N/A)\s*/\s*(?:{_SIZE}|N/A)\s*{_BAR}\s*([0-9]{{1,3}}%|{_NONE})\s"
)
_BANNER = r"NVITOP\s+[0-9.]+"
_DATE = (
    r"^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}([0-9]{1,2}) "
    r"([0-9]{2}:[0-9]{2}:[0-9]{2}) ([0-9]{4})"
)
_MIB = {"K": 1 / 1024, "M": 1.0, "G": 1024.0}


def _size(number: str | None, unit: str | None) -> float | None:
    return float(number) * _MIB[unit] if number and unit else None


def _watts(text: str) -> float | None:
    return float(text[:-1]) if re.match(r"^[0-9]+(?:\.[0-9]+)?W$", text) else None


_SAMPLES = (
    Sample(
        text="""Tue Feb  3 04:05:06 2026
╒═════════════════════════════════════════════════════════════════════════════╕
│ NVITOP 1.5.1       Driver Version: 575.51.03      CUDA Driver Version: 12.9 │
├───────────────────────────────┬──────────────────────┬──────────────────────┤
│ GPU  Name        Persistence-M│ Bus-Id        Disp.A │ MIG M.   Uncorr. ECC │
│ Fan  Temp  Perf  Pwr:Usage/Cap│         Memory-Usage │ GPU-Util  Compute M. │
╞═══════════════════════════════╪══════════════════════╪══════════════════════╪
│   0  H800                On   │ 00000000:18:00.0 Off │ Disabled           0 │ MEM: ███▏ 88.4%       │
│ N/A   56C    P0   585W / 700W │  70.44GiB / 79.65GiB │     98%      Default │ UTL: ███▏ 98%         │
├───────────────────────────────┼──────────────────────┼──────────────────────┼
│   1  GeForce RTX 308..   Off  │ 00000000:3A:00.0 Off │ N/A              N/A │ MEM: ▏ 0.0%           │
│ 30%   36C    P8     N/A / N/A │  512.0MiB / 9.766GiB │     N/A      Default │ UTL: ▏ 0%             │
""",
        rows={
            "gpu_samples": [
                {
                    "line": 9, "gpu": 0, "cycle": 0, "time": 1770091506.0, "util_gpu": 98.0, "temp": 56.0, "power_w": 585.0,
                    "power_limit_w": 700.0, "mem_used": 72130.56, "mem_total": 81561.6,
                },
                {"line": 12, "gpu": 1, "cycle": 0, "util_gpu": None, "power_w": None, "mem_used": 512.0},
            ],
            "gpus": [{"gpu": 0, "name": "H800", "driver": "575.51.03", "mig": False}, {"gpu": 1, "name": None, "mig": None}],
            "clocks": [{"kind": "local-no-zone", "resolution_s": 1.0}],
        },
        versions="1.0 to 1.5, full table",
    ),
    Sample(
        text="| NVITOP 1.3.2       Driver Version: 535.54.03      CUDA Driver Version: 12.2 |\n"
        "|   0  Tesla T4            Off  | 00000000:00:1E.0 Off | Disabled           0 |\n"
        "| N/A   40C    P0    27W / 70W  | 1032MiB / 15360MiB   |      4%      Default |\n",
        rows={
            "gpu_samples": [{"gpu": 0, "time": None, "util_gpu": 4.0, "mem_used": 1032.0, "mem_total": 15360.0}],
            "clocks": [{"kind": "none"}],
        },
        versions="1.3, ASCII",
    ),
)  # fmt: skip


class Nvitop:
    """`nvitop -1`."""

    name = "nvitop"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """The banner and a card of the full table."""
        if not re.search(_BANNER, head.text):
            return None
        lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", x).strip() for x in head.text.split("\n")[:20_000]]
        if any(re.match(_CARD, a) and re.match(_VALUES, b) for a, b in pairwise(lines)):
            foreign = any(x and not re.match(rf"{_BAR}|{_DATE}|\W+$", x) for x in lines)
            return Claim(94, "table of nvitop", shares=foreign)
        return Refusal(
            60, "nvitop without its full table: record with `nvitop -1 -m full`, or nvidia-smi --query-gpu=... --format=csv -l 1"
        )

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, `gpus` and one `clocks` row."""
        counts = Counts()
        samples: list[dict[str, Any]] = []
        cards: dict[int, dict[str, Any]] = {}
        now: dict[str, Any] = {"time": None, "driver": None, "cycle": -1}
        head: tuple[int, re.Match[str]] | None = None
        for first, text in source.blocks(BLOCK_BYTES):
            lines = text.split("\n")
            if lines[-1] == "":
                lines.pop()
            for number, raw in enumerate(lines, first):
                head = _line(number, raw, head, now, samples, cards, counts)
        _emit(samples, cards, emit)
        return counts


def _line(
    number: int, raw: str, head: tuple[int, re.Match[str]] | None, now: dict[str, Any], samples: list[dict[str, Any]],
    cards: dict[int, dict[str, Any]], counts: Counts,
) -> tuple[int, re.Match[str]] | None:  # fmt: skip
    """One line; returns the card line that waits for its line of values."""
    from datetime import UTC, datetime

    line = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", raw).strip("> \t\r`")
    if m := re.match(_DATE, line):
        try:
            now["time"] = datetime.strptime(" ".join(m.groups()), "%b %d %H:%M:%S %Y").replace(tzinfo=UTC).timestamp()
        except ValueError:
            now["time"] = None
        counts.matched += 1
    elif m := re.search(_BANNER, line):
        driver = re.search(r"Driver Version: ([0-9]+(?:\.[0-9]+)+)", line)
        now["driver"], now["cycle"] = driver[1] if driver else None, now["cycle"] + 1
        counts.matched += 1
    elif now["cycle"] >= 0 and (m := re.match(_CARD, line)):
        counts.matched += 1
        return number, m
    elif head is not None and (m := re.match(_VALUES, line)):
        counts.matched += 1
        _card(number, head, m, now, samples, cards)
    elif not line or re.match(rf"^(?:\W*|{_BAR} (?:GPU|Fan)\s.*)$", line):
        counts.noise += 1
    else:
        counts.other += 1
    return None


def _card(
    number: int,
    head: tuple[int, re.Match[str]],
    m: re.Match[str],
    now: dict[str, Any],
    samples: list[dict[str, Any]],
    cards: dict[int, dict[str, Any]],
) -> None:
    """A card with its values."""
    gpu = int(head[1][1])
    used, total = _size(m[4], m[5]), _size(m[6], m[7])
    util = float(m[8][:-1]) if m[8].endswith("%") and float(m[8][:-1]) <= 100 else None
    temp = float(m[1][:-1]) if m[1].endswith("C") else None
    row = {"line": number, "gpu": gpu, "cycle": now["cycle"], "time": now["time"], "util_gpu": util, "temp": temp}
    samples.append(row | {"power_w": _watts(m[2]), "power_limit_w": _watts(m[3]), "mem_used": used, "mem_total": total})
    name = product(head[1][2])
    about = {"line": head[0], "gpu": gpu, "name": name, "bus_id": head[1][4], "memory_mib": total, "power_limit_w": _watts(m[3])}
    cards.setdefault(gpu, about | {"driver": now["driver"], "mig": {"Enabled": True, "Disabled": False}.get(head[1][5] or "")})


def _emit(samples: list[dict[str, Any]], cards: dict[int, dict[str, Any]], emit: Emit) -> None:
    import polars as pl

    if not samples:
        return
    numbers = ("time", "util_gpu", "temp", "power_w", "power_limit_w", "mem_used", "mem_total")
    emit(
        "gpu_samples",
        pl.DataFrame(samples, schema={"line": pl.Int64, "gpu": pl.Int32, "cycle": pl.Int64} | dict.fromkeys(numbers, pl.Float64)),
    )
    types = {
        "line": pl.Int64,
        "gpu": pl.Int32,
        "name": pl.String,
        "bus_id": pl.String,
        "memory_mib": pl.Float64,
        "power_limit_w": pl.Float64,
    }
    emit("gpus", pl.DataFrame(list(cards.values()), schema=types | {"driver": pl.String, "mig": pl.Boolean}))
    timed = any(s["time"] is not None for s in samples)
    row = [(samples[0]["line"], "local-no-zone" if timed else "none", 1.0 if timed else None)]
    emit("clocks", pl.DataFrame(row, schema={"line": pl.Int64, "kind": pl.String, "resolution_s": pl.Float64}, orient="row"))


PARSER = Nvitop()
