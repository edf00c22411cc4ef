"""`amd-smi monitor` and the CSV and JSON of `amd-smi metric`: one reading per card and round.

**Reads** `amd-smi monitor [-q] [-w S]`, also as `dmon`, of ROCm 6 and 7; `amd-smi monitor --csv`; `amd-smi metric ... [-w S] --csv`, whose
header comes again every round and stands below other lines; `--json` of both, one document or many, values plain or with their unit.
Columns are found by name; in the JSON of metric they stand in the sections `usage`, `power`, `clock`, `temperature`, `mem_usage`.

| monitor | monitor --csv | metric --csv | column |
|---|---|---|---|
| `GPU` | `gpu` | `gpu` | `gpu` |
| `GFX_UTIL`, `GFX%` | `gfx` | `gfx_activity` | `util_gpu` |
| `MEM_UTIL`, `MEM%` | `mem` | `umc_activity` | `util_mem`: the memory controller is busy |
| `POWER` | `power_usage` | `socket_power` | `power_w` |
| `GPU_TEMP`, `GPU_T` | `hotspot_temperature` | `hotspot`, else `edge` | `temp` (the hot spot) |
| `MEM_TEMP`, `MEM_T` | `memory_temperature` | `mem` | `mem_temp` |
| `GFX_CLOCK`, `GFX_CLK`; `MEM_CLOCK`, `MEM_CLK` | `gfx_clock`, `mem_clock` | `gfx_0_clk`, `mem_0_clk` | `sm_clock`, `mem_clock` |
| `ENC_UTIL`, `ENC%`; `DEC_UTIL`, `DEC%` | `encoder`, `decoder` | | `enc`, `dec` |
| `VRAM_USED`, `VRAM_TOTAL` or `VRAM_USAGE` | `vram_used`, `vram_total` | `used_vram`, `total_vram` | `mem_used`, `mem_total` (MiB) |
| `TIMESTAMP` | `timestamp` | `timestamp` | `time`: whole seconds since 1970 |

**Rounds.** A header, a new time, or a card number that does not rise. **Clock.** `utc`, 1 s, where a timestamp is printed, else `none`.

**Traps.** `N/A` with or without a unit is NULL. Partitions (`XCP` above 0) are shares of one card: left out (`partition-rows`). Cells of
the metric CSV may be Python lists with commas: they are skipped whole. The PCIe columns have changed their unit and are not read.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..engine.json_objects import Json, JsonLines, json_objects, nested, num
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import middle, send_clock, send_oddities
from ..engine.streams import bare_lines, by_stream, numbered_lines, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

BLOCK_BYTES = 2 * 1024 * 1024

# name in a header (lower case) -> column; the units a cell may carry; highest value
_TEXT = {
    "power": "power_w", "gpu_temp": "temp", "gpu_t": "temp", "mem_temp": "mem_temp", "mem_t": "mem_temp",
    "gfx_util": "util_gpu", "gfx%": "util_gpu", "mem_util": "util_mem", "mem%": "util_mem",
    "gfx_clock": "sm_clock", "gfx_clk": "sm_clock", "mem_clock": "mem_clock", "mem_clk": "mem_clock",
    "enc_util": "enc", "enc%": "enc", "dec_util": "dec", "dec%": "dec",
    "vram_used": "mem_used", "vram_total": "mem_total", "vram_usage": "mem_used",
}  # fmt: skip
_MONITOR = {
    "power_usage": "power_w", "hotspot_temperature": "temp", "memory_temperature": "mem_temp", "gfx": "util_gpu", "gfx_clock": "sm_clock",
    "mem": "util_mem", "mem_clock": "mem_clock", "encoder": "enc", "decoder": "dec", "vram_used": "mem_used", "vram_total": "mem_total",
}  # fmt: skip
_METRIC = {
    "socket_power": "power_w", "hotspot": "temp", "edge": "temp", "mem": "mem_temp", "gfx_activity": "util_gpu", "umc_activity": "util_mem",
    "gfx_0_clk": "sm_clock", "mem_0_clk": "mem_clock", "used_vram": "mem_used", "total_vram": "mem_total",
}  # fmt: skip
_JSON: dict[str, tuple[str, ...]] = {  # column -> paths, the first with a value wins
    "util_gpu": ("gfx", "usage/gfx_activity"), "util_mem": ("mem", "usage/umc_activity"), "enc": ("encoder",), "dec": ("decoder",),
    "power_w": ("power_usage", "power/socket_power"), "sm_clock": ("gfx_clock", "clock/gfx_0/clk"),
    "mem_clock": ("mem_clock", "clock/mem_0/clk"), "temp": ("hotspot_temperature", "temperature/hotspot", "temperature/edge"),
    "mem_temp": ("memory_temperature", "temperature/mem"), "mem_used": ("vram_used", "mem_usage/used_vram"),
    "mem_total": ("vram_total", "mem_usage/total_vram"),
}  # fmt: skip
_UNITS: dict[str, dict[str, float]] = {
    "util": {"%": 1}, "enc": {"%": 1}, "dec": {"%": 1}, "power": {"W": 1, "mW": 1e-3}, "sm": {"MHz": 1}, "mem_clock": {"MHz": 1},
    "temp": {"C": 1, "°C": 1}, "mem_temp": {"C": 1, "°C": 1}, "mem_": {"MB": 1, "GB": 1024, "KB": 1 / 1024},
}  # fmt: skip
_JSON_HEAD = re.compile(r'"(?:power_usage|hotspot_temperature|socket_power|gfx_activity)"\s*:')
_BOUNDS = {
    "util_gpu": 100.0, "util_mem": 100.0, "enc": 100.0, "dec": 100.0, "power_w": 20_000.0, "temp": 250.0, "mem_temp": 250.0,
    "sm_clock": 1e5, "mem_clock": 1e5, "mem_used": 1e9, "mem_total": 1e9,
}  # fmt: skip
_HEADER = r"^\s*(?:TIMESTAMP\s+)?GPU\s+(?:XCP\s+)?(?:[A-Z0-9_%]+\s+)*?(?:POWER|GFX_UTIL|GFX%|VRAM_USED|VRAM_USAGE)\b.*$"
_CSV = r"^(?:timestamp,)?gpu,(?:[a-z0-9_]+,)*(?:gfx_activity|power_usage|socket_power|hotspot_temperature|gfx)\b[a-z0-9_,]*$"
_CELL = r"(?:N/A(?: (?:%|W|°C|MHz|MB|GB|Mb/s))?|-?[0-9]+(?:\.[0-9]+)?(?:/ ?[0-9.]+)?(?: (?:%|W|°C|Â°C|C|MHz|MB|GB|Mb/s))?|\S+)"
_ROW = rf"^\s*[0-9]{{1,10}}\s+(?:{_CELL})(?:\s+{_CELL})*\s*$"
_NOTES = {
    "partition-rows": "rows of partitions were left out: they are shares of one card and must not be added to it",
    "out-of-range": "values outside what the column can hold were dropped",
    "cut-row": "the unfinished last line was dropped",
}


@dataclass
class _State:
    """What the next block must know."""

    header: str = ""
    headers: int = 0
    cycle: int = -1
    last: tuple[int, int, float | None] | None = None  # header number, gpu, time of the last row
    start: float | None = None
    steps: Counter[float] = field(default_factory=Counter)
    timed: bool = False
    first_line: int | None = None
    odd: Counter[str] = field(default_factory=Counter)
    counts: Counts = field(default_factory=Counts)


def _lines(first: int, text: str, state: _State) -> pl.DataFrame:
    """line, text, the header that holds and its number; a last line without its end is marked."""
    import polars as pl

    frame, cut = numbered_lines(first, text)
    is_header = pl.col("text").str.contains(_HEADER) | pl.col("text").str.contains(_CSV)
    # another table (PROCESS INFO) ends this one
    other = pl.col("text").str.contains(r"^(?:PROCESS INFO:|GPU\s+[A-Z]|gpu,)") & ~is_header
    frame = frame.with_columns(is_header=is_header, header=pl.when(is_header).then("text").when(other).then(pl.lit("")).forward_fill())
    frame = frame.with_columns(
        pl.col("header").fill_null(state.header), number=pl.col("is_header").cum_sum().cast(pl.Int64) + state.headers
    )
    state.header, state.headers = frame["header"][-1], int(frame["number"][-1])
    return frame.with_columns(cut=(pl.col("line") == frame["line"][-1]) & pl.lit(cut))


def _names(header: str) -> list[str]:
    """Columns of a header line, of text or CSV."""
    return [n.strip().lower() for n in (header.split(",") if "," in header else header.split())]


def _read(group: pl.DataFrame, header: str, state: _State) -> pl.DataFrame:
    """Typed rows below one header; rows that do not fit are left out."""
    import polars as pl

    comma, names = "," in header, _names(header)
    known = (_METRIC if {"gfx_activity", "socket_power", "umc_activity"} & set(names) else _MONITOR) if comma else _TEXT
    if comma:
        cells = pl.col("text").str.replace_all(r'"?\[[^\]]*\]"?', "list").str.split(",").list.eval(pl.element().str.strip_chars())
    else:
        cells = pl.col("text").str.extract_all(_CELL)
    group = group.with_columns(cells=cells).filter(pl.col("cells").list.len() == len(names))
    cell = lambda n: pl.col("cells").list.get(names.index(n))  # noqa: E731
    fits = cell("gpu").str.contains(r"^[0-9]{1,3}$")
    if "timestamp" in names:
        fits = fits & cell("timestamp").str.contains(r"^[0-9]{9,10}$")
    group = group.filter(fits)
    state.odd["cut-row"] += group.filter("cut").height
    time = cell("timestamp").cast(pl.Float64) if "timestamp" in names else pl.lit(None, pl.Float64)
    columns: dict[str, list[pl.Expr]] = {}
    for name, into in known.items():
        if name in names:
            value = (
                cell(name)
                .str.extract(r"^([0-9]+(?:\.[0-9]+)?)(?:/ ?[0-9.]+)?(?: (?:%|W|Â?°?C|MHz|MB|GB))?$", 1)
                .cast(pl.Float64, strict=False)
            )
            gib = pl.when(cell(name).str.contains(r" GB$")).then(1024.0).otherwise(1.0)
            columns.setdefault(into, []).append(value * gib if into.startswith("mem_u") or into == "mem_total" else value)
            if name == "vram_usage":
                total = cell(name).str.extract(r"^[0-9.]+/ ?([0-9]+(?:\.[0-9]+)?) ", 1).cast(pl.Float64, strict=False)
                columns["mem_total"] = [total * gib]
    xcp = cell("xcp").str.extract(r"^([0-9]+)$", 1).cast(pl.Int64) if "xcp" in names else pl.lit(0, pl.Int64)
    typed = {c: pl.coalesce(v) for c, v in columns.items()}
    rows = group.filter(~pl.col("cut")).select("line", "number", gpu=cell("gpu").cast(pl.Int32), time=time, xcp=xcp.fill_null(0), **typed)
    for column in typed:
        state.odd["out-of-range"] += rows.filter(pl.col(column) > _BOUNDS[column]).height
    return rows.with_columns(pl.when(pl.col(c) <= _BOUNDS[c]).then(c).alias(c) for c in typed)


def _rounds(rows: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Adds `cycle`."""
    import polars as pl

    number, gpu, time = state.last if state.last is not None else (-1, 10**6, None)
    first = pl.int_range(pl.len()) == 0
    before = {
        "number": pl.col("number").shift(1, fill_value=number),
        "gpu": pl.col("gpu").shift(1, fill_value=gpu),
        "time": pl.when(first).then(pl.lit(time, pl.Float64)).otherwise(pl.col("time").shift(1)),
    }
    new = (pl.col("number") != before["number"]) | (pl.col("gpu") <= before["gpu"]) | (pl.col("time") != before["time"]).fill_null(False)
    rows = rows.with_columns(new=new).with_columns(cycle=pl.col("new").cum_sum().cast(pl.Int64) + state.cycle)
    for start in rows.filter("new")["time"].drop_nulls():  # one step per round
        state.timed = True
        if state.start is not None and start > state.start:
            state.steps[start - state.start] += 1
        state.start = start
    state.cycle, state.last = int(rows["cycle"][-1]), (rows["number"][-1], rows["gpu"][-1], rows["time"][-1])
    return rows


def _block(first: int, text: str, state: _State, emit: Emit) -> None:
    """Read one block of lines."""
    import polars as pl

    frame = _lines(first, text, state)
    shape = pl.col("text").str.contains(_ROW) | pl.col("text").str.contains(r"^[0-9]+,")
    candidates = frame.filter(~pl.col("is_header") & (pl.col("header") != "") & shape)
    groups = candidates.group_by("header", maintain_order=True)
    found = [_read(group, str(header), state) for (header,), group in groups if "gpu" in _names(str(header))]
    rows = pl.concat(found, how="diagonal").sort("line") if found else None
    taken = rows["line"].to_list() if rows is not None else []
    near = candidates.filter(~pl.col("line").is_in(taken) & ~pl.col("cut"))
    blank = frame.filter(pl.col("text").str.contains(r"^[\W_]*$")).height
    headers = int(frame["is_header"].sum())
    state.counts.block(len(frame), len(taken), blank + headers, near["line"], "a row of amd-smi that does not fit its header")
    if rows is None or not len(rows):
        return
    state.odd["partition-rows"] += rows.filter(pl.col("xcp") > 0).height
    rows = rows.filter(pl.col("xcp") == 0).drop("xcp")
    columns = [c for c in _BOUNDS if c in rows.columns]
    if len(rows) and columns:
        state.first_line = state.first_line or int(rows["line"][0])
        emit("gpu_samples", _rounds(rows, state).select("line", "gpu", "cycle", "time", *columns))


def _value(card: Json, column: str) -> float | None:
    """A reading of one card: a number, or a number with its unit; with a unit it never had it is unknown."""
    units = next(u for start, u in _UNITS.items() if column.startswith(start))
    for path in _JSON[column]:
        *sections, key = path.split("/")
        found = nested(card, *sections).get(key)
        value = (
            num(found["value"], units.get(str(found.get("unit")), math.nan)) if isinstance(found, dict) and "value" in found else num(found)
        )
        if value is not None:
            return value
    return None


def _cards_of(found: Json) -> Iterator[Json]:
    """The cards of an object: itself, or a list in it (`gpu_data` of ROCm 7)."""
    if isinstance(found.get("gpu"), int):
        yield found
    for value in found.values():
        if isinstance(value, list):
            yield from (c for c in value if isinstance(c, dict) and isinstance(c.get("gpu"), int))


def _card_row(card: Json, line: int, state: _State) -> Json | None:
    """A row of one card, where it is a whole one and has a reading."""
    values = {c: _value(card, c) for c in _JSON}
    over = [c for c, v in values.items() if v is not None and v > _BOUNDS[c]]
    state.odd["out-of-range"] += len(over)
    values |= dict.fromkeys(over)
    if card.get("xcp", 0) not in (0, "N/A"):
        state.odd["partition-rows"] += 1
        return None
    known = 0 <= card["gpu"] < 4096 and any(v is not None for v in values.values())
    return {"line": line, "number": 0, "gpu": card["gpu"], "time": num(card.get("timestamp"))} | values if known else None


def _send_cards(rows: list[Json], state: _State, emit: Emit) -> None:
    import polars as pl

    if rows:
        state.first_line = int(rows[0]["line"])
        types = {"line": pl.Int64, "number": pl.Int64, "gpu": pl.Int32, "time": pl.Float64} | dict.fromkeys(_JSON, pl.Float64)
        emit("gpu_samples", _rounds(pl.DataFrame(rows, schema=types), state).drop("number", "new"))


def _read_json(source: Readable, state: _State, emit: Emit) -> None:
    """Cards of JSON documents, in a list or one behind the other."""
    lines = JsonLines(source)
    rows = []
    for first, last, found in json_objects(lines):
        cards = list(_cards_of(found)) if found else []
        lines.add(first, last, "matched" if cards else "other")
        rows += [row for card in cards if (row := _card_row(card, first, state))]
    state.counts = lines.close()
    _send_cards(rows, state, emit)


def _finish(state: _State, emit: Emit) -> None:
    if state.first_line is not None:
        send_clock(emit, state.first_line, "utc" if state.timed else "none", 1.0 if state.timed else None, middle(state.steps.elements()))
    send_oddities(emit, state.first_line or 1, state.odd, _NOTES)


_SAMPLES = (
    Sample(
        text="""GPU  POWER  GPU_TEMP  MEM_TEMP  GFX_UTIL  GFX_CLOCK  MEM_UTIL  MEM_CLOCK  ENC_UTIL  VRAM_USED  VRAM_TOTAL   PCIE_BW
  0  699 W    103 °C     84 °C      99 %   1920 MHz      31 %   1000 MHz       N/A    1235 MB    16335 MB  N/A Mb/s
  1   99 W    N/A        44 °C       0 %    120 MHz       0 %   1000 MHz       N/A      12 MB    16335 MB  N/A Mb/s

PROCESS INFO:
GPU                  NAME      PID  GTT_MEM
  0                   srv  1564865    0.0 B
""",
        rows={
            "gpu_samples": [
                {
                    "line": 2, "gpu": 0, "cycle": 0, "time": None, "util_gpu": 99.0, "util_mem": 31.0, "power_w": 699.0, "temp": 103.0,
                    "mem_temp": 84.0, "sm_clock": 1920.0, "mem_clock": 1000.0, "enc": None, "mem_used": 1235.0, "mem_total": 16335.0,
                },
                {"line": 3, "gpu": 1, "cycle": 0, "util_gpu": 0.0, "temp": None},
            ],
            "clocks": [{"kind": "none"}],
        },
        versions="monitor, ROCm 6.2",
    ),
    Sample(
        text="""GPU  XCP  POWER   GPU_T   MEM_T   GFX_CLK   GFX%   MEM%   ENC%   VRAM_USAGE
  0    0  139 W   45 °C   37 °C   132 MHz    7 %    1 %    N/A   0.5/192.0 GB
  0    1    N/A     N/A     N/A   132 MHz    7 %    N/A    N/A   0.5/192.0 GB
""",
        rows={
            "gpu_samples": [{"gpu": 0, "util_gpu": 7.0, "util_mem": 1.0, "mem_used": 512.0, "mem_total": 196608.0, "temp": 45.0}],
            "quality": [{"kind": "partition-rows", "n": 1}],
        },
        versions="monitor, ROCm 6.4 and 7",
    ),
    Sample(
        text="""WARNING: User is missing the following required groups
timestamp,gpu,gfx_activity,umc_activity,vcn_activity,socket_power,gfx_0_clk,edge,hotspot,mem
1770091506,0,98,44,"['N/A', 'N/A', 1]",712,2100,N/A,71,63
1770091506,1,N/A,0,['N/A', 'N/A', 1],140,132,N/A,40,38
timestamp,gpu,gfx_activity,umc_activity,vcn_activity,socket_power,gfx_0_clk,edge,hotspot,mem
1770091507,0,97,43,['N/A', 'N/A', 1],710,2100,N/A,72,63
1770091507,1,0,0,['N/A', 'N/A', 1],1""",
        rows={
            "gpu_samples": [
                {
                    "line": 3, "gpu": 0, "cycle": 0, "time": 1770091506.0, "util_gpu": 98.0, "util_mem": 44.0, "power_w": 712.0,
                    "temp": 71.0,
                    "mem_temp": 63.0, "sm_clock": 2100.0,
                },
                {"gpu": 1, "cycle": 0, "util_gpu": None, "power_w": 140.0},
                {"line": 6, "gpu": 0, "cycle": 1, "time": 1770091507.0, "util_gpu": 97.0},
            ],
            "clocks": [{"kind": "utc", "resolution_s": 1.0, "interval_s": 1.0}],
        },
        versions="metric --csv -w 1, cut",
    ),
    Sample(
        text="gpu,power_usage,hotspot_temperature,memory_temperature,gfx,gfx_clock,mem,mem_clock,vram_used,vram_total\n0,250,80,70,93,1700,40,1300,1000,16335\n",
        rows={
            "gpu_samples": [
                {"gpu": 0, "power_w": 250.0, "temp": 80.0, "util_gpu": 93.0, "util_mem": 40.0, "mem_temp": 70.0, "mem_used": 1000.0}
            ]
        },
        versions="monitor --csv",
    ),
    Sample(
        text="""[
    {
        "gpu": 0,
        "power_usage": {"value": 611, "unit": "W"},
        "hotspot_temperature": {"value": 88, "unit": "C"},
        "memory_temperature": "N/A",
        "gfx": {"value": 97, "unit": "%"},
        "gfx_clock": {"value": 2095, "unit": "MHz"},
        "mem": {"value": 44, "unit": "%"},
        "vram_used": {"value": 150.5, "unit": "GB"},
        "vram_total": {"value": 196592, "unit": "MB"}
    },
    {
        "gpu": 1,
        "power_usage": {"value": 140, "unit": "W"},
        "gfx": {"value": 0, "unit": "%"}
    }
]
""",
        rows={
            "gpu_samples": [
                {
                    "line": 2, "gpu": 0, "cycle": 0, "time": None, "power_w": 611.0, "temp": 88.0, "mem_temp": None, "util_gpu": 97.0,
                    "sm_clock": 2095.0, "util_mem": 44.0, "mem_used": 154112.0, "mem_total": 196592.0, "enc": None,
                },
                {"line": 13, "gpu": 1, "cycle": 0, "power_w": 140.0, "util_gpu": 0.0, "util_mem": None},
            ],
            "clocks": [{"kind": "none"}],
        },
        versions="monitor --json",
    ),
    Sample(
        text="""{"gpu_data": [
 {"gpu": 0, "timestamp": 1770091506, "usage": {"gfx_activity": {"value": 98, "unit": "%"}, "umc_activity": {"value": 40, "unit": "%"}},
  "power": {"socket_power": {"value": 712, "unit": "W"}, "gfx_voltage": "N/A"}, "clock": {"gfx_0": {"clk": {"value": 2100, "unit": "MHz"}}},
  "temperature": {"edge": "N/A", "hotspot": {"value": 71, "unit": "C"}, "mem": {"value": 63, "unit": "C"}},
  "mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": {"value": 1000, "unit": "MB"}}}]}
""",
        rows={
            "gpu_samples": [
                {
                    "gpu": 0, "time": 1770091506.0, "util_gpu": 98.0, "util_mem": 40.0, "power_w": 712.0, "sm_clock": 2100.0,
                    "mem_clock": None, "temp": 71.0, "mem_temp": 63.0, "mem_used": 1000.0, "mem_total": 196592.0,
                },
            ],
            "clocks": [{"kind": "utc"}],
        },
        versions="metric --json, ROCm 7",
    ),
)  # fmt: skip


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("[", "{") and re.search(r'"gpu"\s*:\s*[0-9]', text) is not None and _JSON_HEAD.search(text) is not None


class AmdSmi:
    """`amd-smi`."""

    name = "amd-smi"
    api = 1
    records = "amd-smi monitor -p -t -u -m -v -w 1 --csv > amd.csv"
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A header of the monitor or of the metric CSV with a row below it; JSON with a card's number and one of its readings."""
        head = plain_head(head)
        if _is_json(head.text):
            return Claim(92, "JSON of amd-smi")
        if not re.search(r"(?m)GFX_UTIL|GFX%|VRAM_US|GPU\s+(?:XCP\s+)?POWER|^[#>\s]*(?:timestamp,)?gpu,", head.text):
            return None
        lines = [x for x in bare_lines(head.text) if x]
        headers = [k for k, x in enumerate(lines) if re.match(_HEADER, x) or re.match(_CSV, x)]
        if not headers:
            return None
        below = [lines[k + 1] for k in headers if k + 1 < len(lines)]
        if not any(re.match(r"[0-9]+[ ,]", x) for x in below):
            return Refusal(50, "a header of amd-smi without a row")
        foreign = any(x and not re.match(rf"{_ROW}|{_HEADER}|{_CSV}|[0-9]+,|PROCESS INFO|GPU\s", x) for x in lines[:-1])
        return Claim(90, "amd-smi monitor or metric", shares=foreign)

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, one `clocks` row and `quality` rows."""
        return by_stream(source, emit, self._parse)

    @staticmethod
    def _parse(source: Readable, emit: Emit) -> Counts:
        state = _State()
        if _is_json(source.head().text):
            _read_json(source, state, emit)
        else:
            for first, text in source.blocks(BLOCK_BYTES):
                _block(first, text, state, emit)
        _finish(state, emit)
        return state.counts


PARSER = AmdSmi()
