"""`rocm-smi`: the concise table, the list of `-a` and `--show...`, `--json` and `--csv`.

**Reads** the table of ROCm 4 to 6 (one or two header lines), once, in a loop, or with a host before each line (`pdsh`); the lines
`GPU[0] : GPU use (%): 98` of the list, whole or picked out with grep; the JSON of `rocm-smi -a --json` and its subsets, one document or
many; the CSV of `--csv`, its header repeated.

| table | key of list, JSON and CSV | column |
|---|---|---|
| `GPU`, `Device` | `card0` | `gpu` |
| `GPU%` | `GPU use (%)` | `util_gpu` |
| | `GPU Memory Read/Write Activity (%)` | `util_mem` |
| `AvgPwr`, `Power` | `Average Graphics Package Power (W)`, `Current Socket Graphics Package Power (W)` | `power_w` |
| `PwrCap` | `Max Graphics Package Power (W)` | `power_limit_w` (the cap; 0 is none) |
| `SCLK`, `MCLK` | `sclk clock speed:`, `mclk clock speed:`; `sclk clock level: 1: (...)` of the list | `sm_clock`, `mem_clock` |
| `Temp` | `Temperature (Sensor edge) (C)`, else `junction`; `memory` | `temp`; `mem_temp` |
| | `VRAM Total Used Memory (B)`, `VRAM Total Memory (B)` | `mem_used`, `mem_total` (MiB) |
| | `Card series`, `Card Series` | `gpus.name` |

**Rounds.** A table, a document, a CSV header is a round; in the list one begins where a card says a key again. **Clock.** None: `rocm-smi` prints no time.

**Traps.** `VRAM%` and `GPU memory use (%)` are memory in use, not traffic: not read. The second die of MI250 has no power of its own
(`N/A`, cap `0.0W`). Some releases print 0 to 2 W on MI325X: below 3 W power is NULL (`power-implausible`). `watch rocm-smi > file` holds
screen differences: refused.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import send_oddities
from ..engine.streams import bare_lines, by_stream, numbered_lines, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

BLOCK_BYTES = 2 * 1024 * 1024
MAX_JSON = 64 * 1024 * 1024
MIN_POWER_W = 3.0  # no data-centre card idles below; such readings are a known defect

_HEADER = r"(?:GPU|Device)\s+.*SCLK\s+MCLK\s+Fan\s+Perf\s+PwrCap\s+VRAM%\s+GPU%\s*$"
_ROW = (
    r"^([0-9]{1,3})\s+(?:.*\s)?([0-9]{1,3}(?:\.[0-9]+)?)(?:°|Â°|\ufffd+)?[cC]\s+([0-9]+(?:\.[0-9]+)?W|N/A)\s+(?:.*\s)?"
    r"([0-9]+Mhz|N/A|None)\s+([0-9]+Mhz|N/A|None)\s+(?:[0-9.]+%|N/A|None)\s+\S+\s+([0-9]+(?:\.[0-9]+)?W|N/A|Unsupported)\s+"
    r"(?:[0-9]+%|N/A)\s+([0-9]{1,3}%|N/A)\s*$"
)
_NEAR = r"[0-9]Mhz\s.*[0-9]%\s*$"
_FRAME = (
    r"^\s*(?:=+.*|-+|Node\s+IDs.*|\(DID, *GUID.*|.*\(Edge\).*|.*(?:ROCm System Management Interface|Concise Info|End of ROCm SMI).*)\s*$"
)
_WATCH = re.compile(r"(?m)^\W*Every [0-9.,]+s: .*rocm-smi")
_PRODUCT = re.compile(r"^(?:[A-Za-z0-9 -]+ )?\[?((?:AMD |Instinct |Radeon |Navi |MI[0-9])[A-Za-z0-9 ()/+-]{0,60})\]?$")
_KEYS: dict[str, tuple[tuple[str, ...], str, float, float]] = {
    "util_gpu": (("gpu use (%)",), r"^([0-9.]+)%?$", 1, 100),
    "util_mem": (("gpu memory read/write activity (%)",), r"^([0-9.]+)%?$", 1, 100),
    "power_w": (
        ("average graphics package power (w)", "current socket graphics package power (w)", "current graphics package power (w)"),
        r"^([0-9.]+)$", 1, 20_000,
    ),
    "power_limit_w": (("max graphics package power (w)",), r"^([0-9.]+)$", 1, 20_000),
    "sm_clock": (("sclk clock speed:", "sclk clock speed", "sclk clock level"), r"^(?:[0-9]{1,2}: )?\(?([0-9]+)Mhz\)?$", 1, 100_000),
    "mem_clock": (("mclk clock speed:", "mclk clock speed", "mclk clock level"), r"^(?:[0-9]{1,2}: )?\(?([0-9]+)Mhz\)?$", 1, 100_000),
    "temp": (("temperature (sensor edge) (c)", "temperature (sensor junction) (c)"), r"^([0-9.]+)$", 1, 250),
    "mem_temp": (("temperature (sensor memory) (c)",), r"^([0-9.]+)$", 1, 250),
    "mem_used": (("vram total used memory (b)",), r"^([0-9]+)$", 1 / 1048576, 1e9),
    "mem_total": (("vram total memory (b)",), r"^([0-9]+)$", 1 / 1048576, 1e9),
}  # fmt: skip
_SAID = "|".join(re.escape(k) for keys, *_ in _KEYS.values() for k in keys if not k.endswith(":"))
_PAIR = rf"(?i)^GPU\[([0-9]{{1,3}})\]\s*:\s*({_SAID}|card series|pci bus)\s*:\s+(\S.*)$"
_READING = rf"(?i)^GPU\[[0-9]{{1,3}}\]\s*:\s*(?:{_SAID})\s*:\s+\S"
_NOTES = {
    "power-implausible": "power below 3 W is a known defect of the tool; it was dropped",
    "cut-document": "a JSON document without its end was dropped",
    "cut-row": "the unfinished last line was dropped",
}


@dataclass
class _State:
    """What was read so far."""

    cycle: int = -1
    header: bool = False
    said: dict[int, tuple[int, dict[str, str]]] = field(default_factory=dict)  # card -> line, pairs of the list's round
    cards: dict[int, dict[str, Any]] = field(default_factory=dict)
    first_line: int | None = None
    odd: Counter[str] = field(default_factory=Counter)
    counts: Counts = field(default_factory=Counts)


def _fine(rows: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Drop implausible power and caps of zero."""
    import polars as pl

    state.odd["power-implausible"] += rows.filter(pl.col("power_w") < MIN_POWER_W).height
    return rows.with_columns(
        power_w=pl.when(pl.col("power_w") >= MIN_POWER_W).then("power_w"),
        power_limit_w=pl.when(pl.col("power_limit_w") > 0).then("power_limit_w"),
    )


def _count(frame: pl.DataFrame, state: _State) -> None:
    """How every line ended."""
    import polars as pl

    sizes = dict(frame["how"].value_counts().iter_rows())
    state.odd["cut-row"] += sizes.get("cut", 0)
    near = frame.filter(pl.col("how") == "near")["line"]
    read = sizes.get("row", 0) + sizes.get("pair", 0)
    state.counts.block(len(frame), read, sizes.get("noise", 0), near, "a row of rocm-smi in an unknown form")


def _block(first: int, text: str, state: _State, emit: Emit) -> None:
    """Read one block of tables."""
    import polars as pl

    frame, cut = numbered_lines(first, text)
    frame = frame.with_columns(header=pl.col("text").str.contains(_HEADER))
    begun = (frame["header"].cum_sum() > 0) | state.header
    state.header = bool(begun[-1])
    row = pl.col("text").str.contains(_ROW) & begun
    pair = pl.col("text").str.contains(_PAIR)
    ended = ~((pl.col("line") == frame["line"][-1]) & pl.lit(cut))
    whole = ended | pl.col("text").str.contains("%$")
    how = (
        pl.when(pl.col("header") | pl.col("text").str.contains(_FRAME) | (pl.col("text") == "")).then(pl.lit("noise"))
        .when(row & whole).then(pl.lit("row")).when(pair & ended).then(pl.lit("pair")).when(row | pair).then(pl.lit("cut"))
        .when(pl.col("text").str.contains(_NEAR) & begun).then(pl.lit("near")).otherwise(pl.lit("other"))
    )  # fmt: skip
    frame = frame.with_columns(how=how)
    _count(frame, state)
    frame = frame.with_columns(cycle=pl.col("header").cum_sum().cast(pl.Int64) + state.cycle)
    rows = frame.filter(pl.col("how") == "row")
    if len(rows):
        _rows(rows, state, emit)
    state.cycle = int(frame["cycle"][-1])
    _list(frame.filter(pl.col("how") == "pair"), state, emit)


def _list(pairs: pl.DataFrame, state: _State, emit: Emit) -> None:
    """Lines of the list, gathered per card until one of them says a key again."""
    for line, text in pairs.select("line", "text").iter_rows():  # the list is printed by hand: few lines
        found = re.match(_PAIR, text)
        if found is None:
            continue
        gpu, key = int(found[1]), found[2].lower()
        if key in state.said.get(gpu, (0, {}))[1]:
            _close_list(state, emit)
        number = re.match(r"(?:[0-9]{1,2}: )?\S+", found[3]) if not key.startswith("card") else None  # a remark may follow
        state.said.setdefault(gpu, (line, {}))[1][key] = number[0] if number else found[3].strip()


def _close_list(state: _State, emit: Emit) -> None:
    """A round of the list."""
    if state.said:
        state.cycle += 1
        _cards([(line, state.cycle, gpu, pairs) for gpu, (line, pairs) in sorted(state.said.items())], state, emit)
        state.said = {}


def _rows(rows: pl.DataFrame, state: _State, emit: Emit) -> None:
    """Typed rows of table lines."""
    import polars as pl

    names = ["g", "t", "p", "s", "m", "cap", "u"]
    rows = rows.with_columns(x=pl.col("text").str.extract_groups(_ROW).struct.rename_fields(names)).unnest("x")

    def number(column: str, unit: str, high: float) -> pl.Expr:
        value = pl.col(column).str.extract(rf"^([0-9.]+){unit}$", 1).cast(pl.Float64, strict=False)
        return pl.when(value <= high).then(value)

    rows = rows.with_columns(
        gpu=pl.col("g").cast(pl.Int32),
        temp=number("t", "", 250), power_w=number("p", "W", 20_000), sm_clock=number("s", "Mhz", 1e5), mem_clock=number("m", "Mhz", 1e5),
        power_limit_w=number("cap", "W", 20_000), util_gpu=number("u", "%", 100),
    )  # fmt: skip
    state.first_line = state.first_line or int(rows["line"][0])
    columns = ["temp", "power_w", "power_limit_w", "sm_clock", "mem_clock", "util_gpu"]
    rows = _fine(rows, state)
    emit("gpu_samples", rows.select("line", "gpu", "cycle", *columns))
    for row in rows.unique("gpu", keep="first", maintain_order=True).iter_rows(named=True):  # one step per card
        state.cards.setdefault(row["gpu"], {k: row[k] for k in ("line", "gpu", "power_limit_w")})


def _values(pairs: dict[str, str]) -> dict[str, float | None]:
    """Columns of one card from prose keys."""
    out: dict[str, float | None] = {}
    for column, (keys, pattern, scale, high) in _KEYS.items():
        value = None
        for key in keys:
            found = re.match(pattern, pairs.get(key, ""))
            try:
                value = float(found[1]) * scale if found else None
            except ValueError:
                value = None
            if value is not None:
                break
        out[column] = value if value is not None and value <= high else None
    return out


def _cards(records: list[tuple[int, int, int, dict[str, str]]], state: _State, emit: Emit) -> None:
    """(line, cycle, gpu, prose keys) of JSON and CSV."""
    import polars as pl

    rows: list[dict[str, Any]] = []
    for line, cycle, gpu, pairs in records:
        values = _values(pairs)
        if any(v is not None for v in values.values()):
            rows.append({"line": line, "gpu": gpu, "cycle": cycle} | values)
        series = _PRODUCT.match(pairs.get("card series", "").strip())
        bus = pairs.get("pci bus", "")
        about = {"line": line, "gpu": gpu, "name": series[1].strip() if series else None, "memory_mib": values["mem_total"]}
        about |= {"power_limit_w": values["power_limit_w"], "bus_id": bus if re.match(r"^[0-9A-Fa-f:.]{7,16}$", bus) else None}
        state.cards.setdefault(gpu, about)
    if rows:
        state.first_line = state.first_line or rows[0]["line"]
        types = {"line": pl.Int64, "gpu": pl.Int32, "cycle": pl.Int64} | dict.fromkeys(_KEYS, pl.Float64)
        emit("gpu_samples", _fine(pl.DataFrame(rows, schema=types), state))


def _read_json(text: str, state: _State, emit: Emit) -> None:
    """Documents back to back: {"card0": {...}, "system": {...}}."""
    decoder = json.JSONDecoder()
    records: list[tuple[int, int, int, dict[str, str]]] = []
    at, cycle = 0, 0
    while (start := text.find("{", at)) >= 0:
        try:
            document, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            state.odd["cut-document"] += 1
            later = re.compile(r'\{\s*"card[0-9]').search(text, start + 1)
            at = later.start() if later else len(text)
            continue
        at = end
        found = [(k, v) for k, v in document.items() if re.match(r"card[0-9]{1,3}$", k) and isinstance(v, dict)]
        for key, card in found:
            where = text.find(f'"{key}"', start)
            pairs = {str(k).lower().strip(): str(v).strip() for k, v in card.items()}
            records.append((text.count("\n", 0, where) + 1, cycle, int(key[4:]), pairs))
        state.counts.matched += text.count("\n", start, end) + 1 if found else 0
        cycle += bool(found)
    _cards(records, state, emit)


def _read_csv(text: str, state: _State, emit: Emit) -> None:
    """`device,GPU use (%),...` and a row per card; the header may come again."""
    import csv

    records: list[tuple[int, int, int, dict[str, str]]] = []
    names: list[str] = []
    cycle = -1
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if number == len(lines):
            break  # without its line end: cut, or empty
        cells = next(csv.reader([line]), [])
        if cells and cells[0].strip().lower() == "device":
            names, cycle = [c.strip().lower() for c in cells], cycle + 1
            state.counts.noise += 1
        elif names and (m := re.match(r"card([0-9]{1,3})$", cells[0].strip() if cells else "")):
            if len(cells) == len(names):
                records.append((number, cycle, int(m[1]), dict(zip(names, (c.strip() for c in cells)))))
                state.counts.matched += 1
            else:
                state.counts.near(number, "a row of rocm-smi --csv that does not fit its header")
        elif line.strip():
            state.counts.other += 1
        else:
            state.counts.noise += 1
    if lines[-1]:
        state.counts.other += 1
        state.odd["cut-row"] += 1
    _cards(records, state, emit)


def _finish(state: _State, emit: Emit) -> None:
    import polars as pl

    if state.first_line is not None:
        emit("clocks", pl.DataFrame({"line": [state.first_line], "kind": ["none"]}))
        types = {"line": pl.Int64, "gpu": pl.Int32, "name": pl.String, "bus_id": pl.String}
        schema = types | {"memory_mib": pl.Float64, "power_limit_w": pl.Float64}
        emit("gpus", pl.DataFrame([{k: c.get(k) for k in schema} for c in state.cards.values()], schema=schema))
    send_oddities(emit, state.first_line or 1, state.odd, _NOTES)


_SAMPLES = (
    Sample(
        text="""box-1 out: ======================= ROCm System Management Interface =======================
box-1 out: ================================= Concise Info =================================
box-1 out: GPU  Temp   AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%
box-1 out: 0    47.0c  391.0W  1700Mhz 1600Mhz  0%   auto  560.0W    80%   97%
box-1 out: 1    46.0c  N/A     800Mhz  1600Mhz  0%   auto  0.0W      0%   0%
box-1 out: ============================= End of ROCm SMI Log ==============================
""",
        rows={
            "gpu_samples": [
                {
                    "line": 4, "host": "box-1", "gpu": 0, "cycle": 0, "util_gpu": 97.0, "temp": 47.0, "power_w": 391.0,
                    "power_limit_w": 560.0,
                    "sm_clock": 1700.0, "mem_clock": 1600.0,
                },
                {"line": 5, "gpu": 1, "cycle": 0, "util_gpu": 0.0, "power_w": None, "power_limit_w": None},
            ],
            "clocks": [{"kind": "none"}],
        },
        versions="ROCm 4 and 5, pdsh",
    ),
    Sample(
        text="""Device  Node  IDs              Temp    Power   Partitions          SCLK     MCLK     Fan    Perf  PwrCap  VRAM%  GPU%
              (DID,     GUID)  (Edge)  (Avg)   (Mem, Compute, ID)
=====================================================================================================================
0       2     0x744b,   6853   53.0°C  201.0W  N/A, N/A, 0         2172Mhz  1124Mhz  20.0%  auto  241.0W  47%    100%
1       3     0x744b,   49884  26.0°C  2.0W    N/A, N/A, 0         0Mhz     96Mhz    20.0%  auto  241.0W  0%     0%
Device  Node  IDs              Temp    Power   Partitions          SCLK     MCLK     Fan    Perf  PwrCap  VRAM%  GPU%
0       2     0x744b,   6853   54.0°C  211.0W  N/A, N/A, 0         2172Mhz  1124Mhz  20.0%  auto  241.0W  47%    99%
""",
        rows={
            "gpu_samples": [
                {"gpu": 0, "cycle": 0, "util_gpu": 100.0, "power_w": 201.0, "sm_clock": 2172.0, "temp": 53.0},
                {"gpu": 1, "cycle": 0, "util_gpu": 0.0, "power_w": None, "mem_clock": 96.0},
                {"gpu": 0, "cycle": 1, "util_gpu": 99.0, "temp": 54.0},
            ],
            "quality": [{"kind": "power-implausible", "n": 1}],
        },
        versions="ROCm 6",
    ),
    Sample(
        text="""
{
    "card0": {
        "Temperature (Sensor edge) (C)": "53.0",
        "Temperature (Sensor memory) (C)": "51.0",
        "mclk clock speed:": "(1200Mhz)",
        "sclk clock speed:": "(1502Mhz)",
        "Max Graphics Package Power (W)": "290.0",
        "Average Graphics Package Power (W)": "236.0",
        "0": "16.0GT/s x16 *",
        "GPU use (%)": "98",
        "GPU memory use (%)": "41",
        "VRAM Total Memory (B)": "34342961152",
        "VRAM Total Used Memory (B)": "1048576000",
        "Card series": "Arcturus GL-XL [Instinct MI100]"
    },
    "system": {"Driver version": "6.2.4"}
}
""",
        rows={
            "gpu_samples": [
                {
                    "line": 3, "gpu": 0, "cycle": 0, "util_gpu": 98.0, "util_mem": None, "power_w": 236.0, "power_limit_w": 290.0,
                    "sm_clock": 1502.0, "mem_clock": 1200.0, "temp": 53.0, "mem_temp": 51.0, "mem_used": 1000.0, "mem_total": 32752.0,
                }
            ],
            "gpus": [{"gpu": 0, "name": "Instinct MI100", "memory_mib": 32752.0}],
        },
        versions="-a --json, ROCm 6",
    ),
    Sample(
        text="device,GPU use (%),Average Graphics Package Power (W)\ncard0,55,120.0\ncard1,,N/A\n"
        "device,GPU use (%),Average Graphics Package Power (W)\ncard0,56,12",
        rows={
            "gpu_samples": [{"line": 2, "gpu": 0, "cycle": 0, "util_gpu": 55.0, "power_w": 120.0}],
            "quality": [{"kind": "cut-row", "n": 1}],
        },
        versions="--csv, cut",
    ),
    Sample(
        text="""============================ ROCm System Management Interface ============================
================================== % time GPU is busy ====================================
GPU[0]\t\t: GPU use (%): 97
GPU[1]\t\t: GPU use (%): 3
GPU[0]\t\t: GFX Activity: 4021
GPU[0]\t\t: sclk clock level: 1: (2100Mhz)
GPU[0]\t\t: Average Graphics Package Power (W): 241.0
GPU[1]\t\t: get_power_avg, Not supported on the given system
GPU[0]\t\t: GPU Memory Allocated (VRAM%): 61
GPU[0]\t\t: VRAM Total Memory (B): 34342961152
GPU[0]\t\t: VRAM Total Used Memory (B): 17179869184
GPU[0]\t\t: Card Series: \t\tAMD Radeon PRO W6800
================================== End of ROCm SMI Log ===================================
GPU[0] : GPU use (%): 95   # the second look
""",
        rows={
            "gpu_samples": [
                {
                    "line": 3, "gpu": 0, "cycle": 0, "util_gpu": 97.0, "power_w": 241.0, "sm_clock": 2100.0, "mem_used": 16384.0,
                    "mem_total": 32752.0, "util_mem": None,
                },
                {"line": 4, "gpu": 1, "cycle": 0, "util_gpu": 3.0, "power_w": None},
                {"line": 14, "gpu": 0, "cycle": 1, "util_gpu": 95.0, "power_w": None},
            ],
            "gpus": [{"gpu": 0, "name": "Radeon PRO W6800", "memory_mib": 32752.0}, {"gpu": 1, "name": None}],
        },
        versions="-a and --show..., the list",
    ),
)  # fmt: skip


def _listed(text: str) -> bool:
    """Lines of the list begin as they are; `GPU[0]: ` looks like the identifier of a journal, which would be taken off."""
    return "GPU[" in text and any(re.match(_READING, x) for x in bare_lines(text))


def _kind(text: str) -> str:
    if re.match(r"\s*\{", text) and re.search(r'"card[0-9]+"\s*:\s*\{', text):
        return "json"
    return "csv" if re.search(r"(?m)^device,.*(?:\((?:%|W|C|B)\)|clock)", text) else "table"


class RocmSmi:
    """`rocm-smi`."""

    name = "rocm-smi"
    api = 1
    records = "while true; do date; rocm-smi; sleep 1; done > rocm.txt"
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A header of the table with a row, or prose keys of JSON or CSV."""
        text = head.text if _listed(head.text) else plain_head(head).text
        if _WATCH.search(text) and not re.search(rf"(?m){_HEADER}\n", text):
            return Refusal(
                70, "`watch rocm-smi` into a file holds screen differences: record with `while sleep 1; do rocm-smi; done > FILE`"
            )
        kind = _kind(text)
        if kind == "json":
            known = re.search(r"Graphics Package Power|GPU use \(%\)|clock speed|VRAM Total", text)
            return Claim(92, "JSON of rocm-smi") if known else None
        if kind == "csv":
            return Claim(90, "CSV of rocm-smi")
        listed = _listed(text)
        lines = bare_lines(text) if listed or re.search(rf"(?m){_HEADER}", text) else []
        if listed:
            foreign = any(x and not re.search(rf"^GPU\[|{_ROW}|{_HEADER}|{_FRAME}", x) for x in lines[:-1])
            return Claim(88, "list of rocm-smi", shares=foreign)
        if not re.search(rf"(?m){_HEADER}", text):
            return None
        if not any(re.search(_ROW, x) for x in lines):
            return Refusal(55, "a header of rocm-smi without a row that fits it")
        foreign = any(x and not re.search(rf"{_ROW}|{_HEADER}|{_FRAME}", x) for x in lines[:-1])
        return Claim(92, "table of rocm-smi", shares=foreign)

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, `gpus`, one `clocks` row and `quality` rows."""
        if _listed(source.head().text):
            return self._parse(source, emit)
        return by_stream(source, emit, self._parse)

    @staticmethod
    def _parse(source: Readable, emit: Emit) -> Counts:
        state = _State()
        kind = _kind(source.head().text)
        if kind == "table":
            for first, text in source.blocks(BLOCK_BYTES):
                _block(first, text, state, emit)
            _close_list(state, emit)
        else:
            text = "".join(block for _, block in source.blocks())[:MAX_JSON]
            lines = text.count("\n") + (not text.endswith("\n") and text != "")
            (_read_json if kind == "json" else _read_csv)(text, state, emit)
            if kind == "json":
                state.counts.matched = min(state.counts.matched, lines)
                state.counts.other = lines - state.counts.matched
        _finish(state, emit)
        return state.counts


PARSER = RocmSmi()
