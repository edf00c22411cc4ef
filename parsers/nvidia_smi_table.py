"""The plain table of `nvidia-smi`: one row per card and printed table, and the processes below it.

**Reads** the output of `nvidia-smi` without options from 2014 to 2026 (325 to 610), once, in a loop (`-l`, a shell loop, `>>`), pasted
into an issue, printed inside a benchmark log or by `pdsh`/`srun -l` with a host before each line, from Linux or Windows.

Cells are found between the bars, never by position: the box was 79, 89 and 91 characters wide, the banner says `Driver Version` or `KMD
Version`, the second column `Persistence-M`, `TCC/WDDM` or `Driver-Model`, and the line with the MIG mode is missing before driver 450.

| cell | column |
|---|---|
| `GPU-Util` | `util_gpu`; NULL under MIG (`N/A`) |
| `Temp`; `Pwr:Usage`; `/Cap` | `temp`; `power_w`; `power_limit_w` (the enforced limit), whole watts |
| `Memory-Usage` | `mem_used`, `mem_total` (325 prints MB and means MiB; `Not Supported` on unified memory) |
| name, bus id, memory, cap, driver, MIG mode | one row per card in `gpus`; a name cut with `...` is NULL: it would fit several cards |
| `Processes` | `gpu_processes`: card, pid, type, name, memory (`N/A` under WDDM) |

**Rounds.** One table is one `cycle`. Its time is the date line above it: local wall clock without a zone, 1 s. A tight loop prints many
tables in one second: only the first of each second is kept (`same-second`), because the card refreshes its readings no faster.

**Traps.** A single table is a single moment. Right after the driver woke up it may say 100 % with nothing running: such readings are
passed on as read and counted as `first-reading`. An empty process list proves nothing inside a container. The rows of MIG instances are
not read (`mig-instances`): they say nothing about utilisation. `watch nvidia-smi > file` holds screen differences, not tables: refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import middle, send_clock, send_oddities, send_rows
from ..engine.smi_values import MAX_CARDS, NOTES, first_readings, printouts, process_name, product
from ..engine.streams import piece_by_piece, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]


_NONE = r"N/A|ERR!|\[[A-Za-z/ ]+\]|Unknown Error|GPU is lost|GPU requires reset|Not Supported"
_BUS = r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9]"
_BANNER = r"NVIDIA-SMI\s+([0-9]{1,3}\.[0-9.]+)"
_DRIVER = r"(?:Driver|KMD) Version:\s*([0-9]+(?:\.[0-9]+)+)"
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_DATE = rf"(?:^|\s)(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ({_MONTHS}) {{1,2}}([0-9]{{1,2}}) ([0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}) ([0-9]{{4}})\s*$"
_CARD = rf"\|\s*([0-9]{{1,3}})\s+(\S[^|]*?)\s+(\S+)\s*\|\s*({_BUS})\s+(?:On|Off|N/A)\s*(?:\||$)"
_VALUES = (
    rf"\|\s*(?:[0-9]{{1,3}}%|{_NONE})\s+(-?[0-9]{{1,3}}C|{_NONE})\s+(?:P[0-9]{{1,2}}|{_NONE})\s+"
    rf"([0-9.]+W|{_NONE})\s*/\s*([0-9.]+W|{_NONE})\s*\|([^|]*)(?:\|\s*([0-9]{{1,3}}%|{_NONE})\s[^|]*)?(?:\||$)"
)
_MIG = r"\|\s+\|\s+\|\s*(N/A|Enabled|Disabled|Enabled\*|Disabled\*)\s*\|?\s*$"
_PROCESS = (
    r"\|\s+([0-9]{1,3})\s+(?:(?:N/A|[0-9]+)\s+(?:N/A|[0-9]+)\s+)?([0-9]{1,9})\s+(?:(C\+G|M\+C|C|G|M|O)\s+)?([^|\s][^|]*?)\s+"
    r"([0-9]+Mi?B|N/A)\s*\|?\s*$"
)
_INSTANCE = r"\|\s*[0-9]{1,3}\s+[0-9]+\s+[0-9]+\s+[0-9]+\s*\|\s*[0-9]+Mi?B\s*/"
_NEAR = rf"\|.*{_BUS}|[0-9]Mi?B\s*/\s*[0-9]+Mi?B.*(?:Default|Exclusive|Prohibited|E\. Process)|\|\s*[0-9]{{1,3}}\s[^|]*\s[0-9]+MiB\s*\|"
_BOX = (
    r"^\W*$|No running .*processes found|Name\s+(?:Persistence-M|TCC/WDDM|Driver-Model)|Pwr:Usage/Cap|MIG M\.|Processes:|MIG devices"
    r"|Process name|\|\s+ID\s+ID\s|Shared Memory-Usage|BAR1|Memory-Usage|\bUsage\s*\||[0-9]MiB / +[0-9]+MiB +\| +\|"
    r"|ECC\s*\|\s+\||Not Supported\s*\|"
)
_HOST = rf"^(\w[\w.-]{{0,62}})(?: (?:out|err))?: ?\s*(?:[|+]|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:{_MONTHS}) )"
_NO_HOST = r"(?i)^(?:[0-9]+|info|debug|warn|warning|error|notice|stdout|stderr|output|rank[0-9]+)$"
_WATCH = re.compile(r"(?m)^\W*Every [0-9.,]+s: .*nvidia-smi")
_CURSOR = re.compile(r"\x1b\[[0-9]+;[0-9]+H")
_NOTES = {
    "name-cut": "names cut with dots fit several cards; they were dropped",
    "same-second": "tables printed in the second of the table before; the card refreshes no faster, only the first was kept",
    "first-reading": NOTES["first-reading"],
    "mig-instances": "rows of MIG instances were not read: the table gives no utilisation for them",
    "other-card": "one card number stands for different cards in this file",
    "out-of-range": "values outside what the column can hold were dropped",
}


@dataclass
class _State:
    """What the next piece of text must know."""

    cycles: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, tuple[float, str]] = field(default_factory=dict)  # stream -> last kept (time, cards)
    cards: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    starts: list[float] = field(default_factory=list)
    steps: Counter[float] = field(default_factory=Counter)
    first_line: int | None = None
    odd: Counter[str] = field(default_factory=Counter)
    counts: Counts = field(default_factory=Counts)


def _start(text: str) -> int:
    """Where the last table of a text begins: its banner with the border and the date line above; 0 if there is none."""
    at = text.rfind("NVIDIA-SMI ")
    if at <= 0 and "|" not in text:  # no table yet: only a date line at the end matters to what follows
        return len(text) - sum(len(x) for x in text.splitlines(keepends=True)[-3:])
    if at <= 0:
        return 0
    at = text.rfind("\n", 0, at) + 1
    seen = 0
    while seen < 3:  # lines with text: those of other hosts are blank here
        above = text.rfind("\n", 0, max(at - 1, 0)) + 1
        line = text[above:at].rstrip()
        if at == 0 or not (re.search(_DATE, line) or re.search(r"^[^|]*[+|]?[-=+ ]*[|+]?$", line)):
            break
        at, seen = above, seen + bool(line)
    return at


def _lines(first: int, text: str, counts: Counts) -> pl.DataFrame:
    """line, text, stream and the kind of the lines that could belong to a table; the others are counted here."""
    import polars as pl

    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    frame = pl.DataFrame({"text": lines}, schema={"text": pl.String}).with_row_index("line", offset=first)
    # literals first: most lines of a log beside the table never meet a pattern
    maybe = pl.col("text").str.contains_any(["|", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
    blank = frame.filter(~maybe & pl.col("text").str.contains(r"^[\s`+=>-]*$")).height
    counts.noise += blank
    counts.other += frame.filter(~maybe).height - blank
    frame = frame.filter(maybe).with_columns(
        pl.col("line").cast(pl.Int64),
        pl.col("text").str.replace_all(r"\x1b\[[0-9;?]*[A-Za-z]", "").str.strip_chars_end("\r").str.replace(r"^.*\r", "")
        .str.replace_all("\u00a0", " ", literal=True).str.replace(r"^\s*(?:>\s?)+", ""),
    )  # fmt: skip
    bare = pl.col("text").str.contains(r"^[\s`+|=-]*$")
    likely = pl.col("text").str.contains("|", literal=True) | pl.col("text").str.contains(_DATE)
    counts.noise += frame.filter(bare).height
    counts.other += frame.filter(~bare & ~likely).height
    return frame.filter(~bare & likely).with_columns(stream=pl.col("text").str.extract(_HOST, 1).fill_null(""), kind=_kind())


def _kind() -> pl.Expr:
    """What a line of a table is; the surest pattern wins."""
    import polars as pl

    kinds = {"banner": _BANNER, "date": _DATE, "card": _CARD, "values": _VALUES, "mig": _MIG, "process": _PROCESS}
    kind: Any = pl
    for name, pattern in (kinds | {"instance": _INSTANCE, "near": _NEAR, "box": _BOX}).items():
        kind = kind.when(pl.col("text").str.contains(pattern)).then(pl.lit(name))
    return kind.otherwise(pl.lit("text"))


def _tables(frame: pl.DataFrame) -> pl.DataFrame:
    """Adds to every line its table inside this text, the time above it and the driver in its banner."""
    import polars as pl

    g = pl.col("text").str.extract_groups(_DATE)
    day = pl.concat_str(g.struct.field("4"), pl.lit(" "), g.struct.field("1"), pl.lit(" "), g.struct.field("2").str.zfill(2), pl.lit(" "))
    stamp = (day + g.struct.field("3")).str.to_datetime("%Y %b %d %H:%M:%S", strict=False).dt.epoch("s").cast(pl.Float64)
    is_banner = pl.col("kind") == "banner"
    frame = frame.sort("stream", "line").with_columns(stamp=pl.when(pl.col("kind") == "date").then(stamp))
    frame = frame.with_columns(
        snapshot=is_banner.cum_sum().over("stream"),
        above=pl.when(is_banner).then(pl.coalesce(pl.col("stamp").shift(1).over("stream"), pl.col("stamp").shift(2).over("stream"))),
        driver=pl.when(is_banner).then(pl.col("text").str.extract(_DRIVER, 1)),
    )
    return frame.with_columns(
        time=pl.col("above").max().over("stream", "snapshot"), driver=pl.col("driver").first().over("stream", "snapshot")
    )


def _cards(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per card and table: a card line and the line of values right below it in the same stream."""
    import polars as pl

    def below(column: str, n: int) -> pl.Expr:
        return pl.col(column).shift(-n).over("stream")

    head, values = pl.col("text").str.extract_groups(_CARD), below("text", 1).str.extract_groups(_VALUES)
    pair = (pl.col("kind") == "card") & (below("kind", 1) == "values")
    frame = frame.with_columns(
        paired=pair.fill_null(False), second=below("line", 1), head=head, values=values,
        mig=pl.when(below("kind", 2) == "mig").then(below("text", 2).str.extract(_MIG, 1)),
    )  # fmt: skip
    found = frame.filter("paired").with_columns(pl.col("head").struct.rename_fields(["c1", "c2", "c3", "c4"])).unnest("head")
    found = found.with_columns(pl.col("values").struct.rename_fields(["v1", "v2", "v3", "v4", "v5"])).unnest("values")

    def number(column: str, pattern: str, high: float) -> pl.Expr:
        value = pl.col(column).str.extract(pattern, 1).cast(pl.Float64, strict=False)
        return pl.when(value <= high).then(value)

    memory = r"^\s*{}Mi?B\s*/\s*{}Mi?B\s*$"
    return found.select(
        "stream", "snapshot", "time", "driver", "mig", "line", "second",
        gpu=pl.col("c1").cast(pl.Int32), name=pl.col("c2"), bus_id=pl.col("c4"),
        temp=number("v1", r"^(-?[0-9]+)C$", 250), power_w=number("v2", r"^([0-9.]+)W$", 20_000),
        power_limit_w=number("v3", r"^([0-9.]+)W$", 20_000), util_gpu=number("v5", r"^([0-9]+)%$", 100),
        mem_used=number("v4", memory.format("([0-9]{1,9})", "[0-9]+"), 1e9),
        mem_total=number("v4", memory.format("[0-9]+", "([0-9]{1,9})"), 1e9),
    )  # fmt: skip


def _processes(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per process line."""
    import polars as pl

    groups = pl.col("text").str.extract_groups(_PROCESS).struct.rename_fields(["g1", "g2", "kind", "name", "g5"])
    found = frame.filter(pl.col("kind") == "process").select("stream", "snapshot", "time", "line", groups=groups).unnest("groups")
    return found.select(
        "stream", "snapshot", "time", "line", "kind", name=process_name("name"),
        gpu=pl.col("g1").cast(pl.Int32), pid=pl.col("g2").cast(pl.Int64),
        mem_used=pl.col("g5").str.extract(r"^([0-9]{1,9})Mi?B$", 1).cast(pl.Float64, strict=False),
    )  # fmt: skip


def _count(frame: pl.DataFrame, cards: pl.DataFrame, counts: Counts) -> None:
    """How every candidate line ended."""
    import polars as pl

    taken = set(cards["line"].to_list()) | set(cards["second"].to_list())
    lost = frame.filter(pl.col("kind").is_in(["card", "values"]) & ~pl.col("line").is_in(taken))
    near = pl.concat([frame.filter(pl.col("kind") == "near").select("line"), lost.select("line")]).sort("line")
    sizes = dict(frame["kind"].value_counts().iter_rows())
    noise = sizes.get("box", 0) + sizes.get("instance", 0)
    read = frame.height - near.height - noise - sizes.get("text", 0)
    counts.block(frame.height, read, noise, near["line"], "a line of a card that does not fit the table of nvidia-smi")


def _rounds(cards: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Adds `cycle`; drops tables of the second of the table before. A table begins with a banner or where the index does not rise."""
    import polars as pl

    fresh = (pl.col("snapshot") != pl.col("snapshot").shift(1)) | (pl.col("gpu") <= pl.col("gpu").shift(1))
    cards = cards.with_columns(table=fresh.over("stream").fill_null(True).cum_sum())
    tables = cards.group_by("table", maintain_order=True).agg(pl.col("stream", "time").first(), bus=pl.col("bus_id").str.join(" "))
    cycle: dict[int, int] = {}
    for row in tables.iter_rows(named=True):  # one step per table, not per line
        stream, time = row["stream"], row["time"]
        last = state.seconds.get(stream)
        if time is not None and last == (time, row["bus"]):
            state.odd["same-second"] += 1
            continue
        if time is not None:
            if last is not None:
                state.steps[time - last[0]] += 1
            state.seconds[stream] = (time, row["bus"])
        cycle[row["table"]] = state.cycles[stream] = state.cycles.get(stream, -1) + 1
    cycles = pl.DataFrame({"table": list(cycle), "cycle": list(cycle.values())}, schema={"table": cards.schema["table"], "cycle": pl.Int64})
    return cards.join(cycles, on="table", how="inner", maintain_order="left")


def _about(cards: pl.DataFrame, state: _State) -> None:
    """Keep what says what a card is, once per host and index."""
    import polars as pl

    first = cards.group_by("host", "gpu", maintain_order=True).agg(pl.all().drop_nulls().first(), buses=pl.col("bus_id").n_unique())
    for row in first.iter_rows(named=True):
        key = (row["host"] or "", row["gpu"])
        known = state.cards.get(key)
        state.odd["other-card"] += row["buses"] > 1 or (known is not None and known["bus_id"] != row["bus_id"])
        if known is None and len(state.cards) < MAX_CARDS:
            kept = ("line", "host", "gpu", "bus_id", "power_limit_w", "driver")
            mig = {"E": True, "D": False}.get((row["mig"] or "")[:1])
            name = product(row["name"])
            state.odd["name-cut"] += row["name"].endswith(("..", "…"))
            state.cards[key] = {k: row[k] for k in kept} | {"name": name, "memory_mib": row["mem_total"], "mig": mig}


def _piece(first: int, text: str, state: _State, emit: Emit) -> None:
    """Read one piece of text that holds whole tables."""
    import polars as pl

    frame = _lines(first, text, state.counts)
    if not len(frame):
        return
    frame = _tables(frame)
    cards = _cards(frame)
    _count(frame, cards, state.counts)
    state.odd["mig-instances"] += frame.filter(pl.col("kind") == "instance").height
    if not len(cards):
        return
    host = pl.when((pl.col("stream") != "") & ~pl.col("stream").str.contains(_NO_HOST)).then("stream").alias("host")
    cards = _rounds(cards, state).with_columns(host)
    if not len(cards):
        return
    state.first_line = state.first_line or int(cards["line"].min())  # type: ignore[arg-type]
    processes = _processes(frame).with_columns(host)
    rounds = cards.select("stream", "snapshot", "cycle").unique(["stream", "snapshot"], keep="last", maintain_order=True)
    processes = processes.join(rounds, on=["stream", "snapshot"], how="inner", maintain_order="left").sort("line")
    state.odd["first-reading"] += first_readings(cards, processes, ("stream", "snapshot", "gpu"))
    _about(cards, state)
    columns = ["host", "gpu", "cycle", "time", "util_gpu", "power_w", "power_limit_w", "temp", "mem_used", "mem_total"]
    emit("gpu_samples", cards.sort("line").select(pl.col("second").alias("line"), *columns))
    if len(processes):
        emit("gpu_processes", processes.select("line", "host", "gpu", "cycle", "time", "pid", "kind", "name", "mem_used"))


def _finish(state: _State, emit: Emit) -> None:
    """One clock, one row per card, one quality row per oddity."""

    if state.first_line is None:
        return
    timed = bool(state.seconds)
    kind, resolution = ("local-no-zone", 1.0) if timed else ("none", None)
    send_clock(emit, state.first_line, kind, resolution, middle(s for s in state.steps.elements() if s > 0))
    columns = ("line", "host", "gpu", "name", "bus_id", "memory_mib", "power_limit_w", "driver", "mig")
    send_rows(emit, "gpus", list(state.cards.values()), columns)
    send_oddities(emit, state.first_line, state.odd, _NOTES)


_TABLE = """Mon Mar  2 09:15:07 2026       
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 575.11.02              Driver Version: 575.11.02      CUDA Version: 12.9     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA L40S                    On  |   00000000:4A:00.0 Off |                    0 |
| N/A   61C    P0            308W /  350W |   11950MiB /  46068MiB |     93%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA GeForce RTX 2080 ...    Off |   00000000:61:00.0 Off |                  N/A |
| ERR!  ERR!  ERR!            N/A /  250W |       1MiB /   8192MiB |    100%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A          113794      C   ...serve/bin/python                   11942MiB |
+-----------------------------------------------------------------------------------------+
"""  # noqa: W291

_SAMPLES = (
    Sample(
        text=_TABLE,
        rows={
            "gpu_samples": [
                {
                    "line": 10, "gpu": 0, "cycle": 0, "time": 1772442907.0, "util_gpu": 93.0, "power_w": 308.0, "power_limit_w": 350.0,
                    "temp": 61.0, "mem_used": 11950.0, "mem_total": 46068.0,
                },
                {"line": 14, "gpu": 1, "cycle": 0, "util_gpu": 100.0, "power_w": None, "power_limit_w": 250.0, "temp": None},
            ],
            "gpus": [
                {"gpu": 0, "name": "NVIDIA L40S", "bus_id": "00000000:4A:00.0", "driver": "575.11.02", "mig": False, "memory_mib": 46068.0},
                {"gpu": 1, "name": None, "mig": None},
            ],
            "gpu_processes": [{"line": 23, "gpu": 0, "cycle": 0, "pid": 113794, "kind": "C", "mem_used": 11942.0}],
            "clocks": [{"kind": "local-no-zone", "resolution_s": 1.0, "interval_s": None}],
            "quality": [{"kind": "first-reading", "n": 1}, {"kind": "name-cut", "n": 1}],
        },
        versions="550 to 595",
    ),
    Sample(
        text="""+------------------------------------------------------+                       
| NVIDIA-SMI 331.20     Driver Version: 331.20         |                       
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla K20m          Off  | 0000:02:00.0     Off |                    0 |
| N/A   33C    P0    47W / 225W |    721MB /  4799MB   |     98%   E. Process |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Compute processes:                                               GPU Memory |
|  GPU       PID  Process name                                     Usage      |
|=============================================================================|
|    0      6514  ./solver                                             705MB  |
+-----------------------------------------------------------------------------+
""",  # noqa: W291
        rows={
            "gpu_samples": [{"gpu": 0, "time": None, "util_gpu": 98.0, "power_w": 47.0, "mem_used": 721.0, "mem_total": 4799.0}],
            "gpus": [{"name": "Tesla K20m", "driver": "331.20", "mig": None}],
            "gpu_processes": [{"pid": 6514, "kind": None, "mem_used": 705.0}],
            "clocks": [{"kind": "none"}],
        },
        versions="325 to 340",
    ),
    Sample(
        text="""Wed Aug 12 21:54:00 2026
| NVIDIA-SMI 610.20.01              KMD Version: 610.20.01     CUDA UMD Version: 13.3     |
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:00:09.0 Off |                   On |
| N/A   52C    P0            432W /  700W |   11125MiB /  81559MiB |     N/A      Default |
|                                         |                        |              Enabled |
|  0    2   0   0  |           11091MiB / 40448MiB    | 60      0 |  3   0    3    0    3 |
Wed Aug 12 21:54:00 2026
| NVIDIA-SMI 610.20.01              KMD Version: 610.20.01     CUDA UMD Version: 13.3     |
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:00:09.0 Off |                   On |
| N/A   52C    P0            432W /  700W |   11125MiB /  81559MiB |     N/A      Default |
Wed Aug 12 21:54:05 2026
| NVIDIA-SMI 610.20.01              KMD Version: 610.20.01     CUDA UMD Version: 13.3     |
|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
| N/A   36C    P8              3W /  N/A  | Not Supported          |      0%      Default |
""",
        rows={
            "gpu_samples": [
                {"gpu": 0, "cycle": 0, "util_gpu": None, "power_w": 432.0, "mem_used": 11125.0},
                {"gpu": 0, "cycle": 1, "util_gpu": 0.0, "power_w": 3.0, "power_limit_w": None, "mem_used": None},
            ],
            "gpus": [{"mig": True, "name": "NVIDIA H100 80GB HBM3", "driver": "610.20.01"}],
            "clocks": [{"kind": "local-no-zone", "interval_s": 5.0}],
            "quality": [{"kind": "mig-instances"}, {"kind": "same-second", "n": 1}, {"kind": "other-card", "n": 1}],
        },
        versions="610; MIG; unified memory; a loop",
    ),
)  # fmt: skip


class NvidiaSmiTable:
    """The table of `nvidia-smi`."""

    name = "nvidia-smi-table"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A card line with its line of values anywhere in the head."""
        head = plain_head(head)
        text = head.text
        if _CURSOR.search(text) and _WATCH.search(text):
            return Refusal(
                70, "`watch nvidia-smi` into a file holds screen differences: record with --query-gpu=... --format=csv -l 1 -f FILE"
            )
        if "NVITOP " in text:
            return None  # the same cells, another tool: parsers/nvitop.py
        if "|" in text and re.search(rf"{_CARD}.*\n+.*?{_VALUES}", text, re.M):
            lines = [x for x in text.splitlines()[:5000] if x.strip(" \t\r`>")]
            foreign = sum("|" not in x and not re.search(_DATE, x) and not re.match(r"^\W*$", x) for x in lines)
            banner = re.search(_BANNER, text) is not None
            return Claim(92 if banner else 80, "table of nvidia-smi", shares=foreign > 0)
        if _WATCH.search(text):
            return Refusal(
                70, "`watch nvidia-smi` into a file holds screen differences: record with --query-gpu=... --format=csv -l 1 -f FILE"
            )
        if re.search(rf"\|\s*{_BANNER}", text):
            return Refusal(55, "the banner of nvidia-smi is there, but no card with its line of values: is the table complete?")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, `gpu_processes`, `gpus`, one `clocks` row and `quality` rows."""
        return piece_by_piece(source, emit, _State, _piece, _finish, partial(printouts, start=_start))


PARSER = NvidiaSmiTable()
