"""Traces of the PyTorch profiler (Kineto, Chrome JSON): `*.pt.trace.json`, `*.trace.json`, plain or gzipped.

**Reads** what `torch.profiler` writes (`export_chrome_trace`, the tensorboard handler) and what vLLM (`/start_profile`), SGLang
(`--profile`, per rank or `merged-*`) and other servers write through it; NVIDIA and ROCm; the categories of old versions (`Kernel`,
`Memcpy`) too. Events are decoded one by one, so the size of a trace does not matter; a trace without its end (the server was killed)
gives every event that is whole.

**`kernels`**, one row per event on a card:

- `gpu`: `args.device`, where missing the `pid` of the event, which on the rows of a card is the device and no process. It is the number
  inside the process: `CUDA_VISIBLE_DEVICES` renumbers. `process` is NULL: a trace is of one process and names it only on its CPU events.
- `stream`: `args.stream`, where missing the `tid`.
- `kind`: `memcpy` and `memset` by category; of the kernels those of NCCL, RCCL and the custom all-reduce of vLLM and SGLang are
  `collective`, by name; all others are `kernel`. Kernels of a replayed CUDA graph are events of their own. Names do not leave.
- `started_at`, `finished_at`: `ts` and `ts + dur`, microseconds whatever `displayTimeUnit` says. As seconds since 1970 a DOUBLE holds
  a quarter of a microsecond: the length of a kernel of one or two microseconds is that inexact.

**Clock.** UTC where the file has `baseTimeNanoseconds` (torch 2.4 and later) or its `ts` are microseconds since 1970 (before). The base
stands behind the events: a trace that lost its end counts from an unknown moment (`since-start`).

**Traps.** A trace has a few steps, often less than a second: it says nothing about the rest of the run. Another process on the card is
not in it: its turn looks like a gap. Traces of two processes both say device 0 and stream 7. In merged traces of SGLang the ranks are
words before the `pid`; where several ranks use the same device number, it is unknown which card is meant, and `gpu` is NULL.
`gpu_user_annotation` are steps drawn on the row of a card, not work: not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..engine.json_objects import Json, JsonLines, json_keys, nested, num
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import send_clock, send_note

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

# --- JSON that is read value by value --------------------------------------------------------------------------------------------------

MAX_CHARS = 16 << 20  # of one event or one value beside the events
PIECE = 1 << 18
_DECODE = json.JSONDecoder(strict=False).raw_decode
_BROKEN = object()
_BETWEEN = re.compile(r"[\s,:]*")
_TOP = re.compile(r'(?<!\\)(?="(?:traceEvents|baseTimeNanoseconds)"\s*:)')
# Behind a broken event: the next one (`args` stand behind a colon), or a key that is known to follow the list.
_NEXT = re.compile(
    r'[,\[]\s*(?=\{\s*")'
    r'|(?=\]\s*,\s*"(?:schemaVersion|deviceProperties|distributedInfo|displayTimeUnit|baseTimeNanoseconds|traceName)"\s*:)'
)
_OVERLAP = 80  # characters kept when a pattern was not found: it may be cut by the end of a piece


def _pieces(lines: JsonLines) -> Iterator[str]:
    """Small pieces: the error of the decoder counts the lines of all it was given, for every broken event anew."""
    for block in lines.blocks():
        for at in range(0, len(block), PIECE):
            yield block[at : at + PIECE]


class _Scan:
    """A text of which a piece is in memory, and a place in it. `line` is the line of the place."""

    def __init__(self, lines: JsonLines) -> None:
        self.pieces, self.text, self.at, self.line = _pieces(lines), "", 0, 1

    def more(self) -> bool:
        """At least as much again behind what is left; False at the end."""
        parts = [self.text[self.at :]]
        need = have = len(parts[0])
        for piece in self.pieces:
            parts.append(piece)
            have += len(piece)
            if have >= 2 * need:
                break
        self.text, self.at = "".join(parts), 0
        return len(parts) > 1

    def move(self, to: int) -> None:
        self.line += self.text.count("\n", self.at, to)
        self.at = to

    def peek(self) -> str:
        """The next character that is no blank, comma or colon; empty at the end."""
        while True:
            found = _BETWEEN.match(self.text, self.at)
            assert found
            self.move(found.end())
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def find(self, pattern: re.Pattern[str]) -> bool:
        """Goes to the end of the next match; whether there is one."""
        while True:
            found = pattern.search(self.text, self.at)
            if found:
                self.move(found.end())
                return True
            self.move(max(self.at, len(self.text) - _OVERLAP))
            if not self.more():
                return False

    def value(self) -> Any:
        """The value that begins here, `_BROKEN` where it is cut or garbled (the place stays)."""
        while True:
            try:
                found, end = _DECODE(self.text, self.at)
            except json.JSONDecodeError as error:
                cut = error.pos >= len(self.text) - 12 or error.msg.startswith("Unterminated string")
                if cut and len(self.text) - self.at < MAX_CHARS and self.more():
                    continue
                return _BROKEN
            except (ValueError, RecursionError):  # more digits than int() takes; deeper than the interpreter goes
                return _BROKEN
            if end == len(self.text) and isinstance(found, (int, float)):  # it may go on
                if self.more():
                    continue
                return _BROKEN
            self.move(end)
            return found


Found = tuple[int, int, Any]
"""First line, last line, an event; `_BROKEN` for one that is cut or garbled."""


def _events(scan: _Scan) -> Iterator[Found]:
    """The events of a list whose bracket was passed."""
    while (char := scan.peek()) not in ("", "]"):
        first = scan.line
        event = scan.value() if char == "{" else _BROKEN
        yield first, scan.line, event
        if event is _BROKEN:
            scan.move(scan.at + 1)
            if not scan.find(_NEXT):
                return
    scan.move(min(scan.at + 1, len(scan.text)))


def _walk(scan: _Scan, bases: set[Any]) -> Iterator[Found]:
    """All events of a text; the values of `baseTimeNanoseconds` are added to `bases`."""
    while char := scan.peek():
        if char in "{}":
            scan.move(scan.at + 1)
            continue
        first = scan.line
        key = scan.value() if char == '"' else _BROKEN
        if key == "traceEvents" and scan.peek() == "[":
            scan.move(scan.at + 1)
            yield from _events(scan)
            continue
        value = scan.value() if isinstance(key, str) and scan.peek() else _BROKEN
        if value is _BROKEN:
            yield first, first, _BROKEN
            scan.move(min(scan.at + 1, len(scan.text)))
            if not scan.find(_TOP):
                return
        elif key == "baseTimeNanoseconds":
            bases.add(value if isinstance(value, int) else None)


# --- one event -------------------------------------------------------------------------------------------------------------------------

_KINDS = {"kernel": "kernel", "gpu_memcpy": "memcpy", "memcpy": "memcpy", "gpu_memset": "memset", "memset": "memset"}
_COLLECTIVE = re.compile(r"nccl|rccl|cross_device_reduce", re.I)
_RANKED = re.compile(r"(\[[^\]]{1,60}\]) ?(\d{1,4})")

Row = tuple[int, int | None, int | None, str, float, float]
"""line, gpu, stream, kind, ts and ts + dur in microseconds."""


def _whole(value: Any, below: int) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below else None


def _kind(event: Any) -> str | None:
    """The kind of an event on a card, None for all others."""
    category = event.get("cat") if isinstance(event, dict) else None
    kind = _KINDS.get(category.lower()) if isinstance(category, str) else None
    name = event.get("name") if kind == "kernel" else None
    return "collective" if isinstance(name, str) and _COLLECTIVE.search(name) else kind


def _row(event: Json, kind: str, line: int, ranks: dict[int, set[str]]) -> Row | None:
    """The row of an event on a card, None without start and duration. The rank in front of a `pid` is added to those of its device."""
    start, length = _micros(event.get("ts")), num(event.get("dur"))
    if event.get("ph") != "X" or start is None or length is None:
        return None
    args, pid = nested(event, "args"), event.get("pid")
    ranked = _RANKED.fullmatch(pid) if isinstance(pid, str) else None
    gpu = _whole(args.get("device"), 1024)
    if gpu is None and "device" not in args:
        gpu = int(ranked[2]) if ranked else _whole(pid, 1024)
    if ranked and gpu is not None:
        ranks.setdefault(gpu, set()).add(ranked[1])
    stream = _whole(args.get("stream", event.get("tid")), 1 << 32)
    return line, gpu, stream, kind, start, start + length


def _micros(value: Any) -> float | None:
    """A time in microseconds: 16 digits where they count from 1970, which is more than `num` lets pass."""
    seconds = num(value, 1e-6)
    return float(value) if seconds is not None and seconds < _LATEST else None


# --- the trace -------------------------------------------------------------------------------------------------------------------------

CHUNK = 100_000  # rows of one frame
_EARLIEST, _LATEST = 1e9, 4.2e9  # 2001 to 2103, in seconds
_NO_GPU = "a trace of the CPU side: no kernels, copies or memsets in it; profile with the activity CUDA"
_SAME_DEVICE = "several ranks of a merged trace use the same device number: which card it is, is unknown"
_TWO_BASES = "traces that count from different moments stand in one file: their times are not tied to UTC"


class _Rows:
    """Rows as frames of numbers: the clock is known only at the end."""

    def __init__(self) -> None:
        self.frames: list[pl.DataFrame] = []
        self.held: list[Row] = []
        self.first, self.last, self.fraction = float("inf"), 0.0, False

    def add(self, row: Row) -> None:
        self.first, self.last = min(self.first, row[4]), max(self.last, row[4])
        self.fraction = self.fraction or not row[4].is_integer()
        self.held.append(row)
        if len(self.held) >= CHUNK:
            self.pack()

    def pack(self) -> None:
        import polars as pl

        kinds = pl.Enum(["kernel", "memcpy", "memset", "collective"])
        schema: dict[str, Any]
        schema = {"line": pl.Int64, "gpu": pl.Int32, "stream": pl.Int64, "kind": kinds, "started_at": pl.Float64, "finished_at": pl.Float64}
        if self.held:
            self.frames.append(pl.DataFrame(self.held, schema=schema, orient="row"))
        self.held = []

    def clock(self, bases: set[Any]) -> tuple[str, float]:
        """(kind, seconds to add). Since the base exists it is never more than months away: 16 digits count from 1970 anyway."""
        if self.first * 1e-6 >= _EARLIEST:
            return "utc", 0.0
        base = num(next(iter(bases)), 1e-9) if len(bases) == 1 else None
        if base and _EARLIEST <= base < _LATEST and self.last * 1e-6 < _EARLIEST:
            return "utc", base
        return "since-start", 0.0

    def send(self, emit: Emit, added_s: float, unknown: Sequence[int]) -> None:
        import polars as pl

        for frame in self.frames:
            gpu = pl.when(~pl.col("gpu").is_in(list(unknown))).then("gpu") if unknown else pl.col("gpu")
            times = [pl.col(name) * 1e-6 + added_s for name in ("started_at", "finished_at")]
            emit("kernels", frame.with_columns(gpu, pl.col("kind").cast(pl.String), *times))


class _Tally:
    """How lines end: an event that is no work counts as noise only on lines that nothing better stands on."""

    def __init__(self, lines: JsonLines) -> None:
        self.lines, self.held = lines, (1, 0)

    def flush(self, before: int | None = None) -> None:
        first, last = self.held
        self.lines.add(first, last if before is None else min(last, before - 1), "noise")
        self.held = (1, 0)

    def count(self, first: int, last: int, reason: str | None = None, noise: bool = False) -> None:
        self.flush(first)
        if noise:
            self.held = (first, last)
        elif reason:
            self.lines.near(first, reason)
        else:
            self.lines.add(first, last, "matched")


_KINETO = {"schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds", "External id"}


class TorchTrace:
    """Traces of the PyTorch profiler; see the module's page."""

    name = "torch-trace"
    api = 1

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        keys = json_keys(head.text)
        if "traceEvents" not in keys:
            return None
        if keys & _KINETO or re.search(r'"cat"\s*:\s*"(?:kernel|gpu_mem|cuda_)', head.text, re.I):
            return Claim(95, "a trace of the PyTorch profiler: traceEvents with " + ", ".join(sorted(keys & _KINETO)))
        if head.complete:
            return Refusal(50, "a Chrome trace without events of a card")
        return Claim(40, "a Chrome trace that may have events of a card further down")

    def parse(self, source: Readable, emit: Emit) -> Counts:
        lines = JsonLines(source)
        scan, tally, rows = _Scan(lines), _Tally(lines), _Rows()
        bases: set[Any] = set()
        ranks: dict[int, set[str]] = {}
        for first, last, event in _walk(scan, bases):
            kind = _kind(event)
            row = _row(event, kind, first, ranks) if kind else None
            if row:
                rows.add(row)
                tally.count(first, last)
            elif kind:
                tally.count(first, last, "work on a card without start or duration")
            elif event is _BROKEN:
                tally.count(first, last, "an event that is cut or garbled")
            else:
                tally.count(first, last, noise=True)
        tally.flush()
        while scan.more():  # behind the end of the document: the lines count
            scan.at = len(scan.text)
        rows.pack()
        self._send(rows, bases, [gpu for gpu, labels in ranks.items() if len(labels) > 1], emit)
        return lines.close()

    def _send(self, rows: _Rows, bases: set[Any], unknown: Sequence[int], emit: Emit) -> None:
        if not rows.frames:
            send_note(emit, 1, "no-gpu-events", 1, _NO_GPU)
            return
        clock, added_s = rows.clock(bases)
        line = int(rows.frames[0]["line"][0])
        rows.send(emit, added_s, unknown)
        send_clock(emit, line, clock, 1e-9 if clock != "utc" and rows.fraction else 1e-6, None)
        if unknown:
            send_note(emit, line, "device-of-several-ranks", len(unknown), _SAME_DEVICE)
        if len(bases) > 1 and clock != "utc":
            send_note(emit, line, "several-time-bases", len(bases), _TWO_BASES)


# --- samples ---------------------------------------------------------------------------------------------------------------------------

_NEW = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85045477376,
      "computeMajor": 9, "computeMinor": 0, "numSms": 132
    }
  ],
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2},
  "displayTimeUnit": "ms",
  "traceEvents": [
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 4711, "tid": 4711,
    "ts": 3000000000100.250, "dur": 31.500,
    "args": {
      "External id": 9, "cbid": 311, "correlation": 812
    }
  },
  {
    "ph": "X", "cat": "kernel", "name": "nvjet_hsh_128x64_{\\"x\\"}", "pid": 0, "tid": 7,
    "ts": 3000000000140.500, "dur": 20.250,
    "args": {
      "External id": 9, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 812, "grid": [12, 1, 1], "block": [128, 1, 1]
    }
  },
  {
    "ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0, "tid": 20,
    "ts": 3000000000161.000, "dur": 45.000,
    "args": {
      "External id": 10, "device": 0, "context": 1, "stream": 20, "correlation": 813
    }
  },
  {
    "ph": "X", "cat": "gpu_user_annotation", "name": "execute_context_0(0)_generation_4(4)", "pid": 0, "tid": 7,
    "ts": 3000000000140.500, "dur": 65.500,
    "args": { "External id": 8 }
  },
  {
    "ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pinned)", "pid": 0, "tid": 7,
    "ts": 3000000000207.000, "dur": 2.000,
    "args": {
      "External id": 11, "device": 0, "context": 1, "stream": 7, "correlation": 814, "bytes": 32
    }
  },
  {
    "name": "process_name", "ph": "M", "ts": 3000000000000.000, "pid": 4711, "tid": 0,
    "args": {
      "name": "python"
    }
  }
  ],
  "traceName": "rank0.trace.json",
  "baseTimeNanoseconds": 1767187200000000000
}
"""

_OLD = (
    '{"distributedInfo": {"rank": 1}, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::zeros", "pid": 901, "tid": 901, '
    '"ts": 1672531200000010, "dur": 25, "args": {"External id": 1}}, {"ph": "X", "cat": "Kernel", "name": "void gemv(int)", "pid": 1, '
    '"tid": 7, "ts": 1672531200000040, "dur": 8, "args": {"External id": 2, "device": 1, "stream": 7, "correlation": 2}}, {"ph": "X", '
    '"cat": "gpu_memset", "name": "Memset (Device)", "pid": 1, "tid": 16, "ts": 1672531200000052, "dur": 1, "args": {"External id": 3}}]}'
)

_MERGED = """{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "kernel", "name": "fused_moe_kernel", "pid": "[TP00] 0", "tid": 7, "ts": 500.5, "dur": 10, "args": {"device": 0, "stream": 7}},
{"ph": "X", "cat": "kernel", "name": "void cross_device_reduce_1stage<4>", "pid": "[TP01] 1", "tid": 7, "ts": 520, "dur": 10.25, "args": {}},
"""


def _kernel(gpu: int, stream: int, kind: str, start: float, end: float, line: int) -> Json:
    return {"gpu": gpu, "stream": stream, "process": None, "kind": kind, "started_at": start, "finished_at": end, "line": line}


SAMPLES = (
    Sample(
        _NEW,
        {
            "kernels": [
                _kernel(0, 7, "kernel", 1770187200.0001405, 1770187200.00016075, 19),
                _kernel(0, 20, "collective", 1770187200.000161, 1770187200.000206, 26),
                _kernel(0, 7, "memcpy", 1770187200.000207, 1770187200.000209, 38),
            ],
            "clocks": [{"kind": "utc", "resolution_s": 1e-6}],
            "quality": [],
        },
        "torch 2.4 and later, baseTimeNanoseconds",
    ),
    Sample(
        _OLD,
        {
            "kernels": [
                _kernel(1, 7, "kernel", 1672531200.00004, 1672531200.000048, 1),
                _kernel(1, 16, "memset", 1672531200.000052, 1672531200.000053, 1),
            ],
            "clocks": [{"kind": "utc", "resolution_s": 1e-6}],
            "quality": [],
        },
        "torch before 2.4, microseconds since 1970, one line",
    ),
    Sample(
        _MERGED,
        {
            "kernels": [_kernel(0, 7, "kernel", 0.0005005, 0.0005105, 2), _kernel(1, 7, "collective", 0.00052, 0.00053025, 3)],
            "clocks": [{"kind": "since-start", "resolution_s": 1e-9}],
            "quality": [],
        },
        "merged ranks of SGLang, without its end",
    ),
)

PARSER = TorchTrace()
