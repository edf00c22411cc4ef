"""`nvtop -s`: the snapshot as JSON, one reading per card.

**Reads** nvtop 3.1 and later, one snapshot or several appended, also the invalid JSON of 3.3.0 (commas missing after `mem_util`), a
snapshot cut at the end, and mixed machines (NVIDIA, AMD, Intel).

| key | column |
|---|---|
| position in the list | `gpu`: nvtop's order, which need not be that of nvidia-smi (`gpu-by-position`) |
| `gpu_util` | `util_gpu` |
| `gpu_clock`, `mem_clock`, `temp`, `power_draw` | `sm_clock`, `mem_clock`, `temp`, `power_w` |
| `mem_used`, `mem_total` (bytes) | `mem_used`, `mem_total` (MiB) |
| `device_name` | `gpus.name` |

**Clock.** None: a snapshot has no time.

**Traps.** `mem_util` is memory in use, not memory traffic: not read. `null` is NULL. Processes are not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.smi_values import product

__all__ = ["PARSER"]

MAX_BYTES = 64 * 1024 * 1024
_OBJECT = re.compile(r'\{\s*"device_name"')
_PAIR = re.compile(r'"(\w+)"\s*:\s*(?:"([^"\n]{0,120})"|(null)|([0-9.]+))(?=\s*[,}"\n])')
_FIELDS = {
    "util_gpu": ("gpu_util", r"^([0-9]{1,3}) ?%$", 1.0, 100.0),
    "sm_clock": ("gpu_clock", r"^([0-9]{1,6}) ?MHz$", 1.0, 100_000.0),
    "mem_clock": ("mem_clock", r"^([0-9]{1,6}) ?MHz$", 1.0, 100_000.0),
    "temp": ("temp", r"^([0-9]{1,3}) ?°?C$", 1.0, 250.0),
    "power_w": ("power_draw", r"^([0-9]{1,5}(?:\.[0-9]+)?) ?W$", 1.0, 20_000.0),
    "mem_used": ("mem_used", r"^([0-9]{4,15})$", 1 / 1048576, 1e9),
    "mem_total": ("mem_total", r"^([0-9]{4,15})$", 1 / 1048576, 1e9),
}


def _objects(text: str) -> list[tuple[int, int, dict[str, str]]]:
    """(line, snapshot, flat pairs) of every card. The pairs are read one by one: the JSON itself may be broken or cut."""
    out: list[tuple[int, int, dict[str, str]]] = []
    starts = [m.start() for m in _OBJECT.finditer(text)]
    snapshot, line, counted, end = -1, 1, 0, 0
    for start, until in zip(starts, [*starts[1:], len(text)]):
        line += text.count("\n", counted, start)
        counted = start
        snapshot += "[" in text[end:start] or snapshot < 0
        body = text[start:until]
        stop = re.search(r'\}|"processes"\s*:', body)  # processes have keys of the same names
        body = body[: stop.end() if stop else len(body)]
        nested = text.find("]", start, until) if stop and stop[0] != "}" else -1
        end = nested + 1 if nested > 0 else start + len(body)
        pairs: dict[str, str] = {}
        for m in _PAIR.finditer(body):
            pairs.setdefault(m[1], m[2] or m[4] or "")
        out.append((line, snapshot, pairs))
    return out


def _value(text: str, pattern: str, scale: float, high: float) -> float | None:
    found = re.match(pattern, text.strip())
    value = float(found[1]) * scale if found else None
    return value if value is not None and value <= high else None


_SAMPLES = (
    Sample(
        text="""[
  {
   "device_name": "NVIDIA GeForce RTX 4070",
   "gpu_clock": "2610MHz",
   "mem_clock": "10501MHz",
   "temp": "66C",
   "fan_speed": "38%",
   "power_draw": "187W",
   "gpu_util": "97%",
   "mem_util": "35%"
  },
  {
   "device_name": "Battlemage G31 (Intel Graphics)",
   "gpu_clock": "2800MHz",
   "mem_clock": null,
   "power_draw": null,
   "gpu_util": null,
   "mem_util": "83%"
  }
]
""",
        rows={
            "gpu_samples": [
                {
                    "line": 2, "gpu": 0, "cycle": 0, "time": None, "util_gpu": 97.0, "util_mem": None, "sm_clock": 2610.0,
                    "mem_clock": 10501.0,
                    "temp": 66.0, "power_w": 187.0, "mem_used": None,
                },
                {"line": 12, "gpu": 1, "cycle": 0, "util_gpu": None, "sm_clock": 2800.0, "mem_clock": None, "temp": None},
            ],
            "gpus": [{"gpu": 0, "name": "NVIDIA GeForce RTX 4070"}, {"gpu": 1, "name": "Battlemage G31 (Intel Graphics)"}],
            "clocks": [{"kind": "none"}],
            "quality": [{"kind": "gpu-by-position", "n": 2}],
        },
        versions="3.1 and 3.2",
    ),
    Sample(
        text="""[
  {
   "device_name": "NVIDIA L4",
   "gpu_util": "12%",
   "mem_util": "35%"
   "mem_total": "24152899584"
   "mem_used": "8450473984"
   "mem_free": "15702425600"
  },
  {
   "device_name": "NVIDIA L4",
   "gpu_util": "1""",
        rows={
            "gpu_samples": [{"gpu": 0, "util_gpu": 12.0, "mem_total": 23034.0, "mem_used": 8059.0}],
            "gpus": [{"memory_mib": 23034.0}, {"gpu": 1}],
        },
        versions="3.3.0, invalid JSON, cut",
    ),
)  # fmt: skip


class NvtopJson:
    """`nvtop -s`."""

    name = "nvtop-json"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """An object with `device_name` and one of the readings."""
        if '"device_name"' not in head.text or not _OBJECT.search(head.text):
            return None
        if not re.search(r'"(?:gpu_util|gpu_clock)"\s*:', head.text):
            return None
        if re.match(r"[\s\[\]{]", head.text):
            return Claim(90, "snapshot of nvtop")
        return Claim(70, "snapshot of nvtop", shares=True)

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, `gpus`, one `clocks` row and a `quality` row."""
        import polars as pl

        text = "".join(block for _, block in source.blocks())[:MAX_BYTES]
        samples: list[dict[str, Any]] = []
        cards: dict[int, dict[str, Any]] = {}
        matched, place, before = 0, 0, -1
        for line, snapshot, pairs in _objects(text):
            place = place + 1 if snapshot == before else 0
            before = snapshot
            values = {c: _value(pairs.get(k, ""), p, s, h) for c, (k, p, s, h) in _FIELDS.items()}
            if any(v is not None for v in values.values()):
                samples.append({"line": line, "gpu": place, "cycle": snapshot} | values)
            matched += len(pairs)
            name = pairs.get("device_name", "")
            about = {"line": line, "gpu": place, "name": product(name), "memory_mib": values["mem_total"]}
            cards.setdefault(place, about)
        lines = text.count("\n") + (not text.endswith("\n") and text != "")
        matched = min(matched, lines)
        if samples:
            first = samples[0]["line"]
            types = {"line": pl.Int64, "gpu": pl.Int32, "cycle": pl.Int64} | dict.fromkeys(_FIELDS, pl.Float64)
            emit("gpu_samples", pl.DataFrame(samples, schema=types))
            emit(
                "gpus",
                pl.DataFrame(list(cards.values()), schema={"line": pl.Int64, "gpu": pl.Int32, "name": pl.String, "memory_mib": pl.Float64}),
            )
            emit("clocks", pl.DataFrame({"line": [first], "kind": ["none"]}))
            note = "cards are numbered in the order of nvtop, which need not be that of nvidia-smi"
            emit("quality", pl.DataFrame({"line": [first], "kind": ["gpu-by-position"], "n": [len(cards)], "note": [note]}))
        return Counts(matched=matched, other=lines - matched)


PARSER = NvtopJson()
