"""`nvidia-smi nvlink` and `nvidia-smi -L`: the cards, the state of their links (`-s`) and the byte counters of these (`-gt d`, `-gt r`).

**Reads** all three forms, once or in a loop, from 2016 to 2026, pasted or redirected, also inside another text (the environment report of
PyTorch has the list of cards without their UUIDs).

| text | where it goes |
|---|---|
| `GPU 0: NAME (UUID: ...)`, `MIG 1g.5gb Device 0: ...` below it | `gpus`: number, name, uuid; `mig` is true |
| `Link 3: 26.562 GB/s` (`-s`) | `gpu_links`: `kind` = `nvlink`, `gb_s` in one direction, `active`; one row per link |
| `Link 3: <inactive>` | the same, `active` false, no speed |
| `Link 0: Data Tx: 8299479 KiB`, `Data Rx`, older `Tx0`, `Rx0` (`-gt d`) | between two snapshots: `gpu_samples.nvlink_tx`, `_rx`, MB/s |

`peer` is NULL: the text does not say where a link leads (`topo -m` does).

**Clock.** The text has no time. Counters become rates only where a line before each snapshot gives the time (`date`, ISO, or seconds since
1970): a counter says nothing without two moments (`counters-without-time`). Rates are averages between the snapshots; counters of all
links of a card are added, and only where both snapshots have the same links. `Raw` counters include protocol and are not read.

**Traps.** A counter that falls (reset, driver reload) gives no rate. Messages such as "all links are inActive" or "not supported for
Devices in MIG mode" make a quality row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import send_oddities, send_rows
from ..engine.smi_values import product

__all__ = ["PARSER"]

KIB = 1024.0
_GPU = re.compile(r"^[> \t]*GPU ([0-9]{1,3}): (\S.*?)(?: \(UUID: ((?:GPU|MIG)-[0-9a-fA-F-]{8,40})\))?\s*$")
_REPORT = re.compile(r"^[> \t]*GPU models and configuration:\s*")  # what follows is the list of nvidia-smi -L without its UUIDs
_MIG = re.compile(r"^[> \t]*MIG \S+ +Device +[0-9]+: \(UUID: MIG-")
_LINK = re.compile(r"^[> \t]*Link ([0-9]{1,2}): (?:([0-9]+(?:\.[0-9]+)?) GB/s|(<inactive>))\s*$")
_DATA = re.compile(r"^[> \t]*Link ([0-9]{1,2}): (?:(Data) ([TR]x)|([TR]x)0): ([0-9]{1,18}) KiB\s*$")
_RAW = re.compile(r"^[> \t]*Link ([0-9]{1,2}): (?:Raw [TR]x|[TR]x1): [0-9]+ KiB\s*$")
_NEAR = re.compile(r"^[> \t]*Link [0-9]+: ")
_CTIME = re.compile(
    r"^[> \t]*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? ([A-Z][a-z]{2}) +([0-9]{1,2}) ([0-9:]{8})(?: (?:[AP]M))?(?: ([A-Z]{2,5}))? ([0-9]{4})\s*$"
)
_ISO = re.compile(
    r"^[> \t\[]*([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:?[0-9]{2})?\]?\s*$"
)
_UNIX = re.compile(r"^[> \t]*(1[0-9]{9}(?:\.[0-9]{1,9})?)\s*$")
_MESSAGES = {
    "nvlink-inactive": re.compile(r"Unable to retrieve Nvlink information as all links are inActive", re.I),
    "nvlink-absent": re.compile(r"does not have or support Nvlink", re.I),
    "nvlink-mig": re.compile(r"Nvlink queries are not supported for Devices in MIG mode", re.I),
}
_NOTES = {
    "nvlink-inactive": "all links of a card are inactive",
    "nvlink-absent": "a card has no NVLink",
    "nvlink-mig": "NVLink is not reported in MIG mode",
    "counters-without-time": "NVLink byte counters without a time for each snapshot: no rate can be told",
    "counter-fell": "a counter fell between two snapshots; no rate was taken",
    "mixed-clocks": "times of different kinds; the later kind was left out",
}


@dataclass
class _State:
    """Everything read; links and snapshots are few."""

    gpu: int | None = None
    report: bool = False  # below the heading of an environment report
    time: float | None = None
    clock: str | None = None
    resolution: float = 1.0
    snapshot: int = -1
    cycle: int = 0
    cards: dict[int, dict[str, Any]] = field(default_factory=dict)
    links: list[dict[str, Any]] = field(default_factory=list)
    now: dict[int, dict[tuple[int, str], float]] = field(default_factory=dict)  # gpu -> counters of the open snapshot
    lines: dict[int, int] = field(default_factory=dict)
    before: tuple[float, dict[int, dict[tuple[int, str], float]]] | None = None
    steps: list[float] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)
    odd: Counter[str] = field(default_factory=Counter)
    counts: Counts = field(default_factory=Counts)


def _stamp(line: str) -> tuple[float, str, float] | None:
    """(seconds, clock kind, resolution) of a line that is nothing but a time."""
    from datetime import UTC, datetime

    try:
        if m := _UNIX.match(line):
            return float(m[1]), "utc", 1e-3 if "." in m[1] else 1.0
        if m := _ISO.match(line):
            t = datetime.fromisoformat(f"{m[1]}T{m[2]}{(m[4] or '').replace('Z', '+00:00')}")
            seconds = (t if t.tzinfo else t.replace(tzinfo=UTC)).timestamp() + float(m[3] or 0)
            return seconds, "utc" if m[4] else "local-no-zone", 1e-3 if m[3] else 1.0
        if (m := _CTIME.match(line)) and "M" not in (line.split()[-3] if len(line.split()) > 6 else ""):
            t = datetime.strptime(f"{m[1]} {m[2]} {m[3]} {m[5]}", "%b %d %H:%M:%S %Y").replace(tzinfo=UTC)
            return t.timestamp(), "utc" if m[4] in ("UTC", "GMT") else "local-no-zone", 1.0
    except ValueError:
        return None
    return None


def _close(state: _State) -> None:
    """The open snapshot is complete: rates against the one before."""
    now, time = state.now, state.time
    state.now = {}
    if not now:
        return
    state.snapshot += 1
    if time is None:
        state.odd["counters-without-time"] += 1
        state.before = None
        return
    if state.before is not None and time > state.before[0]:
        step = time - state.before[0]
        state.steps.append(step)
        for gpu, counters in now.items():
            old = state.before[1].get(gpu)
            if old is None or set(old) != set(counters):
                continue
            row: dict[str, Any] = {"line": state.lines[gpu], "gpu": gpu, "cycle": state.cycle, "time": time}
            for way, column in (("Rx", "nvlink_rx"), ("Tx", "nvlink_tx")):
                moved = [counters[k] - old[k] for k in counters if k[1] == way]
                state.odd["counter-fell"] += any(m < 0 for m in moved)
                row[column] = sum(moved) * KIB / 1e6 / step if moved and min(moved) >= 0 else None
            state.samples.append(row)
        state.cycle += 1
    state.before = (time, now)


def _line(number: int, line: str, state: _State) -> str:
    """How one line ended; updates the state."""
    if stamp := _stamp(line):
        if state.clock not in (None, stamp[1]):
            state.odd["mixed-clocks"] += 1
            return "other"
        _close(state)
        state.time, state.clock, state.resolution, state.gpu = stamp[0], stamp[1], min(state.resolution, stamp[2]), None
        return "matched"
    head = _REPORT.match(line)
    state.report = head is not None or (state.report and _GPU.match(line) is not None)
    if m := _GPU.match(line[head.end() :] if head else line):
        gpu = state.gpu = int(m[1])
        if gpu in state.now:
            _close(state)
            state.time = None  # a second snapshot below one time has no time of its own
        name = product(m[2])
        card = {"line": number, "gpu": gpu, "name": name, "uuid": m[3], "listed": bool(m[3]) or state.report}
        if card["listed"] > state.cards.get(gpu, {}).get("listed", -1):
            state.cards[gpu] = card
        return "matched"
    if head:
        return "matched"
    if (m := _LINK.match(line)) and state.gpu is not None:
        speed = float(m[2]) if m[2] else None
        state.links.append({"line": number, "gpu": state.gpu, "kind": "nvlink", "gb_s": speed, "active": speed is not None and speed > 0})
        return "matched"
    if (m := _DATA.match(line)) and state.gpu is not None:
        state.now.setdefault(state.gpu, {})[(int(m[1]), m[3] or m[4])] = float(m[5])
        state.lines.setdefault(state.gpu, number)
        state.lines[state.gpu] = number
        return "matched"
    if _MIG.match(line) and state.gpu is not None:
        state.cards[state.gpu]["mig"] = True
        return "matched"
    if kind := next((k for k, p in _MESSAGES.items() if p.search(line)), None):
        state.odd[kind] += 1
        return "matched"
    if _RAW.match(line) or not line.strip("> \t`"):
        return "noise"
    if _NEAR.match(line) and state.gpu is not None:
        return "near_miss"
    return "other"


def _finish(state: _State, emit: Emit) -> None:
    """Everything that was read."""
    from statistics import median

    import polars as pl

    # no uuid, no report above it and no link below it: a line of some other list
    seen = {r["gpu"] for r in state.links} | {r["gpu"] for r in state.samples} | set(state.lines)
    cards = [c for c in state.cards.values() if c["gpu"] in seen or c["listed"]]
    send_rows(emit, "gpus", cards)
    if state.links:
        schema = {"line": pl.Int64, "gpu": pl.Int32, "kind": pl.String, "gb_s": pl.Float64, "active": pl.Boolean}
        emit("gpu_links", pl.DataFrame(state.links, schema=schema))
    if state.samples:
        types = {"line": pl.Int64, "gpu": pl.Int32, "cycle": pl.Int64, "time": pl.Float64, "nvlink_rx": pl.Float64, "nvlink_tx": pl.Float64}
        emit("gpu_samples", pl.DataFrame(state.samples, schema=types))
        row = [(state.samples[0]["line"], state.clock, state.resolution, float(median(state.steps)))]
        clock = {"line": pl.Int64, "kind": pl.String, "resolution_s": pl.Float64, "interval_s": pl.Float64}
        emit("clocks", pl.DataFrame(row, schema=clock, orient="row"))
    send_oddities(emit, 1, state.odd, _NOTES)


_CARD = "GPU {}: NVIDIA A100-SXM4-80GB (UUID: GPU-12345678-1234-1234-1234-123456789ab{})\n"
_SAMPLES = (
    Sample(
        text=_CARD.format(0, 0) + "\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n" + _CARD.format(1, 1) + "\t Link 0: 25 GB/s\n",
        rows={
            "gpus": [{"gpu": 0, "name": "NVIDIA A100-SXM4-80GB", "uuid": "GPU-12345678-1234-1234-1234-123456789ab0"}, {"gpu": 1}],
            "gpu_links": [
                {"line": 2, "gpu": 0, "peer": None, "kind": "nvlink", "gb_s": 25.0, "active": True},
                {"line": 3, "gpu": 0, "gb_s": None, "active": False},
                {"line": 5, "gpu": 1, "gb_s": 25.0, "active": True},
            ],
        },
        versions="nvlink -s, 418 to 610",
    ),
    Sample(
        text="2026-02-03 04:05:00\n" + _CARD.format(0, 0) + "\t Link 0: Data Tx: 1000000 KiB\n\t Link 0: Data Rx: 2000000 KiB\n"
        "2026-02-03 04:05:02\n" + _CARD.format(0, 0) + "\t Link 0: Data Tx: 1500000 KiB\n\t Link 0: Data Rx: 2000000 KiB\n",
        rows={
            "gpu_samples": [{"line": 8, "gpu": 0, "cycle": 0, "time": 1770091502.0, "nvlink_tx": 256.0, "nvlink_rx": 0.0}],
            "clocks": [{"kind": "local-no-zone", "interval_s": 2.0}],
            "gpu_links": [],
        },
        versions="nvlink -gt d with a time before each snapshot",
    ),
    Sample(
        text=_CARD.format(0, 0) + "         Link 0: Tx0: 1000000 KiB\n         Link 0: Rx0: 2000000 KiB\n",
        rows={"gpu_samples": [], "quality": [{"kind": "counters-without-time", "n": 1}]},
        versions="nvlink counters of older drivers, without time",
    ),
    Sample(
        text=_CARD.format(0, 0) + "  MIG 3g.40gb     Device  0: (UUID: MIG-12345678-1234-1234-1234-123456789abc)\n" + _CARD.format(1, 1),
        rows={
            "gpus": [
                {"line": 1, "gpu": 0, "name": "NVIDIA A100-SXM4-80GB", "mig": True},
                {"line": 3, "gpu": 1, "uuid": "GPU-12345678-1234-1234-1234-123456789ab1", "mig": None},
            ],
            "gpu_links": [],
        },
        versions="-L",
    ),
    Sample(
        text="GPU models and configuration: \nGPU 0: NVIDIA GeForce RTX 4090\nGPU 1: my secret card\n\nNvidia driver version: 570.86.10\n",
        rows={"gpus": [{"line": 2, "gpu": 0, "name": "NVIDIA GeForce RTX 4090", "uuid": None}, {"gpu": 1, "name": None}]},
        versions="-L without UUIDs, in an environment report",
    ),
)


class NvidiaSmiNvlink:
    """`nvidia-smi nvlink`."""

    name = "nvidia-smi-nvlink"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A card and a link below it, or a list of cards."""
        if not re.search(r"(?m)^[> \t]*Link [0-9]+: ", head.text):
            lines = head.text.split("\n")[:20_000]
            named = any((m := _GPU.match(x)) and m[3] for x in lines)
            if named or any((m := _REPORT.match(x)) and "GPU 0:" in x + y for x, y in zip(lines, [*lines[1:], ""])):
                alone = all(_GPU.match(x) or _MIG.match(x) or not x.strip("> \t`\r") for x in lines)
                return Claim(88 if named else 60, "list of nvidia-smi -L", shares=not alone)
            if any(p.search(head.text) for p in _MESSAGES.values()):
                return Refusal(50, "nvidia-smi nvlink had no link to report: there are no readings in this file")
            return None
        lines = head.text.split("\n")[:20_000]
        own = (_GPU, _LINK, _DATA, _RAW)
        if not any(_GPU.match(x) for x in lines) or not any(p.match(x) for x in lines for p in own[1:]):
            return Refusal(50, "links of nvidia-smi nvlink without the card they belong to")
        foreign = any(x.strip("> \t`") and not _stamp(x) and not any(p.match(x) for p in own) for x in lines[:-1])
        return Claim(90, "nvidia-smi nvlink", shares=foreign)

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_links`, `gpus`, and `gpu_samples` with one `clocks` row where counters have times."""
        state = _State()
        for first, text in source.blocks():
            if "Link " not in text and "GPU " not in text:
                # nothing to read, but its last line may be the time of what follows
                at = text.rstrip("\n").rfind("\n") + 1
                blank = len(re.findall(r"(?m)^[ \t\r]*$", text[: max(at - 1, 0)])) if at else 0
                state.counts.noise += blank
                state.counts.other += text.count("\n", 0, at) - blank
                first, text = first + text.count("\n", 0, at), text[at:]
            lines = text.split("\n")
            cut = lines.pop() if lines[-1] == "" else None
            for number, line in enumerate(lines, first):
                last = cut is None and number == first + len(lines) - 1
                how = _line(number, line, state) if not last else ("noise" if not line.strip() else "other")
                if how == "near_miss":
                    state.counts.near(number, "a link of nvidia-smi nvlink in an unknown form")
                else:
                    setattr(state.counts, how, getattr(state.counts, how) + 1)
        _close(state)
        _finish(state, emit)
        return state.counts


PARSER = NvidiaSmiNvlink()
