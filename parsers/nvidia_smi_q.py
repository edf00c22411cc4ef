"""`nvidia-smi -q`: the long text, one reading per card and printout.

**Reads** `nvidia-smi -q [-i N] [-d MEMORY,UTILIZATION,...] [-l N]` from 2014 to 2026 (331 to 610), once, in a loop or pasted with a common
indent or `> ` in front. The banner `==============NVSMI LOG==============` begins every printout.

A value is found by the whole path of its section names, told by the indent; a section nobody knows gives nothing.

| path | column |
|---|---|
| `Utilization > GPU (Gpu), Memory, Encoder, Decoder` | `util_gpu`, `util_mem`, `enc`, `dec` |
| `Power Readings` (to 530), `GPU Power Readings` (535 on) `> Power Draw`, else `Average ...`, else `Instantaneous Power Draw` | `power_w` |
| `Enforced Power Limit`, from 535 on `Current Power Limit` (610: below `GPU Ceiling Power Limit`) | `power_limit_w` |
| `Clocks > SM`, `Memory` | `sm_clock`, `mem_clock` |
| `Temperature > GPU Current Temp (Gpu), Memory Current Temp` | `temp`, `mem_temp` |
| `FB Memory Usage > Used, Total` | `mem_used`, `mem_total` |
| `PCI > Rx, Tx Throughput` | `pcie_rx`, `pcie_tx`, KB/s to MB/s, `pcie_probe_s` = 0.02 |
| `PCI > GPU Link Info > PCIe Generation, Link Width > Current, Max` | `pcie_gen`, `pcie_width`, and `_max` |
| `Clocks Event Reasons` (`Clocks Throttle Reasons` to 530) | `event_reasons`, the bit mask; only when the section is complete |
| `Product Name, GPU UUID, MIG Mode > Current`, the bus id of the card line, `Driver Version` or `KMD Version` | `gpus` |
| `Processes > Process ID, Type, Name, Used GPU Memory` | `gpu_processes` |

**Card numbers.** The text has no index: cards are numbered in the order printed. Where fewer cards are printed than attached (`-i`), the
number is not the index: `gpu-by-position`.

**Clock.** `Timestamp`: local wall clock without a zone, 1 s.

**Traps.** `N/A`, `Not Supported`, `Requested functionality has been deprecated` are NULL. `Module Power Readings`, `GPU Memory Power
Readings`, `MIG Device` and the `... Samples` blocks of `-d` have keys of the same names and are not read. A printout is one moment; 95 %
and more with no process and almost no memory in use is passed on and counted as `first-reading`. A paste that lost its indent is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.smi_values import (
    BUS_ID,
    NOTES,
    REASON_BITS,
    SmiState,
    line_of_last,
    numbers_with_units,
    printouts,
    process_name,
    process_values,
    section_path,
    wall_time,
)
from ..engine.streams import piece_by_piece, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

_BANNER = r"=+NVSMI LOG=+"
_GPU = rf"^GPU ({BUS_ID})\s*$"
_POWER = ("power readings", "gpu power readings")
_LINK = "pci/gpu link info/"

# column -> (paths, the first with a value wins), unit pattern, scale, highest value
_NUMBERS: dict[str, tuple[tuple[str, ...], str, float, float]] = {
    "util_gpu": (("utilization/gpu",), "%", 1, 100),
    "util_mem": (("utilization/memory",), "%", 1, 100),
    "enc": (("utilization/encoder",), "%", 1, 100),
    "dec": (("utilization/decoder",), "%", 1, 100),
    "power_w": (
        tuple(f"{s}/{k}" for k in ("power draw", "average power draw", "instantaneous power draw") for s in _POWER),
        "W", 1, 20_000,
    ),
    "power_limit_w": (
        (
            *(f"{s}/{k}" for k in ("enforced power limit", "current power limit") for s in _POWER),
            "gpu power readings/gpu ceiling power limit/current power limit",
        ),
        "W", 1, 20_000,
    ),
    "sm_clock": (("clocks/sm",), "MHz", 1, 100_000),
    "mem_clock": (("clocks/memory",), "MHz", 1, 100_000),
    "temp": (("temperature/gpu current temp", "temperature/gpu"), "C", 1, 250),
    "mem_temp": (("temperature/memory current temp",), "C", 1, 250),
    "mem_used": (("fb memory usage/used", "memory usage/used"), "Mi?B", 1, 1e9),
    "mem_total": (("fb memory usage/total", "memory usage/total"), "Mi?B", 1, 1e9),
    "pcie_rx": (("pci/rx throughput",), "KB/s", 1e-3, 1e6),
    "pcie_tx": (("pci/tx throughput",), "KB/s", 1e-3, 1e6),
    "pcie_gen": ((f"{_LINK}pcie generation/current",), "", 1, 32),
    "pcie_gen_max": ((f"{_LINK}pcie generation/max",), "", 1, 32),
    "pcie_width": ((f"{_LINK}link width/current",), "x", 1, 64),
    "pcie_width_max": ((f"{_LINK}link width/max",), "x", 1, 64),
}  # fmt: skip
_REASONS = ("clocks event reasons", "clocks throttle reasons")
_TEXTS = {"name": "product name", "uuid": "gpu uuid", "mig": "mig mode/current"}
_KEYS = frozenset(p for paths, *_ in _NUMBERS.values() for p in paths) | frozenset(_TEXTS.values())
_NOTES = NOTES | {"cut-value": "the value of an unfinished last line was dropped"}


def _lines(first: int, text: str, state: SmiState) -> pl.DataFrame:
    """line, depth (in steps of four), key and value of every line, and the printout and card it belongs to."""
    import polars as pl

    lines = text.split("\n")
    cut = lines[-1] != ""
    if not cut:
        lines.pop()
    frame = pl.DataFrame({"text": lines}, schema={"text": pl.String}).with_row_index("line", offset=first).with_columns(
        pl.col("line").cast(pl.Int64),
        pl.col("text").str.replace_all(r"\x1b\[[0-9;?]*[A-Za-z]", "").str.strip_chars_end("\r \t").str.replace(r"^.*\r", "")
        .str.replace_all("\u00a0", " ", literal=True).str.replace(r"^(?:\s{0,3}> ?)+", "").str.replace_all("\t", "    ", literal=True),
    )  # fmt: skip
    pair = pl.col("text").str.extract_groups(r"^( *)(\S.*?) +:(?: (.*))?$")
    frame = frame.with_columns(
        indent=pl.col("text").str.len_chars() - pl.col("text").str.strip_chars_start(" ").str.len_chars(),
        key=pl.coalesce(pair.struct.field("2"), pl.col("text").str.strip_chars(" ")).str.to_lowercase(),
        value=pair.struct.field("3").str.replace(r" \[.*$", "").str.strip_chars(" "),
        bare=pl.col("text").str.strip_chars(" "),
    )
    if cut and frame["value"][-1] is not None:
        state.odd["cut-value"] += 1
        frame = frame.with_columns(value=pl.when(pl.col("line") == frame["line"][-1]).then(None).otherwise("value"))
    banner, card = pl.col("text").str.contains(_BANNER), pl.col("bare").str.contains(_GPU)
    frame = frame.with_columns(printout=banner.cum_sum(), card=card.cum_sum(), is_card=card, is_banner=banner)
    base = pl.when("is_card").then(pl.col("indent").cast(pl.Int64)).forward_fill().fill_null(0)
    steps = pl.col("indent").cast(pl.Int64) - base
    depth = pl.when(steps % 4 == 0).then(steps // 4)
    return frame.with_columns(depth=depth, bus=pl.col("bare").str.extract(_GPU, 1).forward_fill())


def _paths(frame: pl.DataFrame) -> pl.DataFrame:
    """Adds the path of every key below its card: the names of the sections it stands in."""
    import polars as pl

    depth = pl.col("depth")
    frame = frame.with_columns(g1=(depth == 1).cum_sum().over("card")).with_columns(g2=(depth == 2).cum_sum().over("card", "g1"))
    # a section holds for deeper lines only until the next line that is less deep
    for k, inside in ((1, ["card"]), (2, ["card", "g1"]), (3, ["card", "g1", "g2"])):
        frame = frame.with_columns(pl.when(depth == k).then("key").forward_fill().over(inside).alias(f"s{k}"))
    return frame.with_columns(path=section_path("key"))


def _first(path: str, column: str = "value") -> pl.Expr:
    import polars as pl

    return pl.col(column).filter(pl.col("path") == path).first()


def _mask(values: pl.DataFrame) -> pl.DataFrame:
    """card, event_reasons: NULL unless every reason of a finished section says Active or Not Active."""
    import polars as pl

    # below HW Slowdown stand its two kinds
    reason = pl.col("path").str.extract(rf"^(?:{'|'.join(_REASONS)})/(?:hw slowdown/)?([^/]*)$", 1)
    rows = values.with_columns(reason=reason).with_columns(
        bit=pl.col("reason").str.replace_all(" ", "_", literal=True).replace_strict(REASON_BITS, default=None, return_dtype=pl.Int64),
        after=pl.col("line").filter(pl.col("depth") == 1).max().over("card"),
    )
    rows = rows.filter(pl.col("bit").is_not_null())
    known = pl.col("value").is_in(["Active", "Not Active"])
    whole = known.all() & (pl.col("line").max() < pl.col("after").first()) & (pl.col("bit") == 4).any()
    mask = pl.when(pl.col("value") == "Active").then("bit").otherwise(0).sum()
    return rows.group_by("card").agg(event_reasons=pl.when(whole).then(mask))


def _cards(frame: pl.DataFrame, state: SmiState) -> pl.DataFrame:
    """One row per card and printout with every column the text gives."""
    import polars as pl

    below = frame.filter((pl.col("card") > 0) & pl.col("path").is_not_null())
    heads = frame.filter("is_card").select("card", "printout", "line", bus_id=pl.col("bus"))
    wanted = below.filter(pl.col("path").is_in(list(_KEYS))).group_by("card").agg(_first(p).alias(p) for p in sorted(_KEYS))
    out = heads.join(wanted, on="card", how="left", maintain_order="left")
    out = out.with_columns(numbers_with_units(_NUMBERS)).rename({v: k for k, v in _TEXTS.items()})
    probe = pl.when(pl.col("pcie_rx").is_not_null() | pl.col("pcie_tx").is_not_null()).then(0.02)
    out = out.with_columns(pcie_probe_s=probe).join(_mask(below), on="card", how="left", maintain_order="left")
    state.odd["mig-instances"] += below.filter((pl.col("path") == "mig device") & (pl.col("depth") == 1)).height
    return out.with_columns(gpu=(pl.int_range(pl.len()).over("printout")).cast(pl.Int32))


def _processes(frame: pl.DataFrame) -> pl.DataFrame:
    """card, line, pid, kind, name, mem_used of every process."""
    import polars as pl

    inside = frame.filter((pl.col("card") > 0) & pl.col("s1").is_in(["processes", "compute processes"]) & (pl.col("depth") >= 2))
    inside = inside.with_columns(process=(pl.col("key") == "process id").cum_sum()).filter(pl.col("process") > 0)

    def field(key: str) -> pl.Expr:
        return pl.col("value").filter(pl.col("key") == key).first()

    rows = inside.group_by("process", maintain_order=True).agg(
        pl.col("card", "line").first(), pid=field("process id"), kind=field("type"), name=field("name"), memory=field("used gpu memory")
    )
    return rows.select("card", "line", process_name("name").alias("name"), *process_values()).filter(pl.col("pid").is_not_null())


def _printouts(frame: pl.DataFrame, state: SmiState) -> pl.DataFrame:
    """printout, cycle, time, driver, attached: what stands above the cards."""
    import polars as pl

    top = frame.filter((pl.col("printout") > 0) & (pl.col("depth") <= 0))

    def value(*keys: str) -> pl.Expr:
        return pl.coalesce([pl.col("value").filter(pl.col("key") == k).first() for k in keys])

    out = top.group_by("printout", maintain_order=True).agg(
        date=value("timestamp"), driver=value("driver version", "kmd version"), attached=value("attached gpus")
    )
    out = out.with_columns(
        time=wall_time(pl.col("date")),
        driver=pl.col("driver").str.extract(r"^([0-9]+(?:\.[0-9]+)+)$", 1),
        attached=pl.col("attached").str.extract(r"^([0-9]{1,4})$", 1).cast(pl.Int64),
    )
    with_cards = frame.filter("is_card").select("printout").unique()
    out = out.join(with_cards, on="printout", how="semi", maintain_order="left").with_columns(
        cycle=pl.int_range(pl.len()) + state.cycle + 1
    )
    state.cycle += out.height
    state.tick(out["time"].drop_nulls())
    return out


def _count(frame: pl.DataFrame, counts: Counts) -> None:
    """Lines of a printout are matched; blank ones and what stands outside of any printout are told apart."""
    import polars as pl

    blank = frame.filter(pl.col("bare") == "").height
    inside = (pl.col("bare") != "") & ((pl.col("printout") > 0) | (pl.col("card") > 0))
    known = inside & (pl.col("value").is_not_null() | pl.col("is_banner") | pl.col("is_card") | (pl.col("depth") >= 1))
    matched = frame.filter(known).height
    counts.noise += blank
    counts.matched += matched
    counts.other += frame.height - blank - matched


def _piece(first: int, text: str, state: SmiState, emit: Emit) -> None:
    """Read one piece of text that holds whole printouts."""
    import polars as pl

    frame = _paths(_lines(first, text, state))
    _count(frame, state.counts)
    frame = frame.filter(pl.col("printout") > 0)
    if not frame["is_card"].any():
        return
    printouts = _printouts(frame, state)
    cards = _cards(frame, state).join(printouts, on="printout", how="inner", maintain_order="left")
    if not len(cards):
        return
    shown = cards.group_by("printout").agg(shown=pl.len(), attached=pl.col("attached").first())
    state.odd["gpu-by-position"] += shown.filter(pl.col("attached") != pl.col("shown")).height
    state.send(cards, _processes(frame), [*_NUMBERS, "pcie_probe_s", "event_reasons"], emit)


def _sample(driver: str, text: str) -> str:
    return (
        "\n==============NVSMI LOG==============\n\n"
        "Timestamp                                              : Thu Jan 15 08:00:10 2026\n"
        f"Driver Version                                         : {driver}\n"
        "CUDA Version                                           : 13.0\n\n"
        "Attached GPUs                                          : 1\n"
        "GPU 00000000:41:00.0\n" + text
    )


_NEW = """    Product Name                                       : NVIDIA RTX 6000 Ada Generation
    MIG Mode
        Current                                        : N/A
        Pending                                        : N/A
    GPU UUID                                           : GPU-12345678-1234-1234-1234-123456789abc
    PCI
        Bus Id                                         : 00000000:41:00.0
        GPU Link Info
            PCIe Generation
                Max                                    : 4
                Current                                : 3
                Host Max                               : 5
            Link Width
                Max                                    : 16x
                Current                                : 8x
        Tx Throughput                                  : 110500 KB/s
        Rx Throughput                                  : 1370500 KB/s
    Fan Speed                                          : 38 %
    Clocks Event Reasons
        Idle                                           : Not Active
        Applications Clocks Setting                    : Not Active
        SW Power Cap                                   : Active
        HW Slowdown                                    : Not Active
            HW Thermal Slowdown                        : Active
            HW Power Brake Slowdown                    : Not Active
        Sync Boost                                     : Not Active
        SW Thermal Slowdown                            : Not Active
        Display Clock Setting                          : Not Active
    FB Memory Usage
        Total                                          : 49140 MiB
        Reserved                                       : 600 MiB
        Used                                           : 40111 MiB
        Free                                           : 8429 MiB
    BAR1 Memory Usage
        Total                                          : 65536 MiB
        Used                                           : 5 MiB
    Utilization
        GPU                                            : 97 %
        Memory                                         : 61 %
        Encoder                                        : 0 %
        Decoder                                        : N/A
    Temperature
        GPU Current Temp                               : 71 C
        GPU Current T.Limit Temp                       : 13 C
        Memory Current Temp                            : N/A
    GPU Power Readings
        Average Power Draw                             : 298.75 W
        Instantaneous Power Draw                       : 301.02 W
        GPU Ceiling Power Limit
            Current Power Limit                        : 300.00 W
            Requested Power Limit                      : 310.00 W
        Min Power Limit                                : 100.00 W
    Module Power Readings
        Average Power Draw                             : 777.00 W
        Current Power Limit                            : 888.00 W
    Clocks
        Graphics                                       : 2505 MHz
        SM                                             : 2505 MHz
        Memory                                         : 9501 MHz
    Max Clocks
        SM                                             : 3105 MHz
        Memory                                         : 10001 MHz
    Processes
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 1720
            Type                          : G
            Name                          : /usr/bin/shell
            Used GPU Memory               : 173 MiB
        Process ID                        : 28511
            Type                          : C
            Name                          : serve --model x : y
            Used GPU Memory               : Not available in WDDM driver model
"""
_OLD = """    Product Name                                       : Tesla T4
    FB Memory Usage
        Total                                          : 15109 MiB
        Used                                           : 0 MiB
    Utilization
        Gpu                                            : 100 %
        Memory                                         : 4 %
    GPU Utilization Samples
        Duration                                       : 16.61 sec
        Max                                            : 3 %
    Power Readings
        Power Management                               : Supported
        Power Draw                                     : 33.10 W
        Power Limit                                    : 70.00 W
        Default Power Limit                            : 70.00 W
        Enforced Power Limit                           : 65.00 W
    Power Samples
        Avg                                            : 12.00 W
    Clocks Throttle Reasons
        Idle                                           : Not Active
        SW Power Cap                                   : N/A
    Processes                                          : None
"""
_SAMPLES = (
    Sample(
        text=_sample("610.20.01 [Deprecated; will be removed in CUDA 14.0. Use KMD Version instead]", _NEW),
        rows={
            "gpu_samples": [
                {
                    "line": 9, "gpu": 0, "cycle": 0, "time": 1768464010.0, "util_gpu": 97.0, "util_mem": 61.0, "enc": 0.0, "dec": None,
                    "power_w": 298.75, "power_limit_w": 300.0, "sm_clock": 2505.0, "mem_clock": 9501.0, "temp": 71.0, "mem_temp": None,
                    "mem_used": 40111.0, "mem_total": 49140.0, "pcie_rx": 1370.5, "pcie_tx": 110.5, "pcie_probe_s": 0.02,
                    "pcie_gen": 3.0, "pcie_gen_max": 4.0, "pcie_width": 8.0, "pcie_width_max": 16.0, "event_reasons": 0x44,
                }
            ],
            "gpus": [
                {
                    "line": 9, "gpu": 0, "name": "NVIDIA RTX 6000 Ada Generation", "bus_id": "00000000:41:00.0", "driver": "610.20.01",
                    "uuid": "GPU-12345678-1234-1234-1234-123456789abc", "memory_mib": 49140.0, "power_limit_w": 300.0, "mig": None,
                }
            ],
            "gpu_processes": [{"pid": 1720, "kind": "G", "mem_used": 173.0}, {"pid": 28511, "kind": "C", "mem_used": None}],
            "clocks": [{"kind": "local-no-zone", "resolution_s": 1.0, "interval_s": None}],
            "quality": [],
        },
        versions="535 to 610",
    ),
    Sample(
        text=_sample("470.82.01", _OLD),
        rows={
            "gpu_samples": [
                {
                    "util_gpu": 100.0, "util_mem": 4.0, "power_w": 33.1, "power_limit_w": 65.0, "mem_used": 0.0, "event_reasons": None,
                    "pcie_probe_s": None,
                }
            ],
            "gpu_processes": [],
            "quality": [{"kind": "first-reading", "n": 1}],
        },
        versions="375 to 530, -d subsets",
    ),
)  # fmt: skip


class NvidiaSmiQ:
    """`nvidia-smi -q`."""

    name = "nvidia-smi-q"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """The banner, a card and an indented key below it."""
        head = plain_head(head)
        if not re.search(_BANNER, head.text):
            return None
        if not re.search(rf"(?m)^[> \t]*GPU {BUS_ID}", head.text):
            return Refusal(50, "the banner of nvidia-smi -q is there, but no card below it")
        if not re.search(rf"(?m)^([> \t]*)GPU {BUS_ID}[^\n]*\n(?:.*\n)*?\1 {{4}}\s*\S.*:\s", head.text):
            return Refusal(60, "nvidia-smi -q without its indent: the sections cannot be told apart; attach the file itself")
        lines = [x for x in head.text.splitlines()[:2000] if x.strip("> \t\r")]
        foreign = sum(not re.search(rf"{_BANNER}|^[> ]*GPU {BUS_ID}|\s: ?|^[> ]* {{4}}\S", x) for x in lines)
        return Claim(95, "nvidia-smi -q", shares=foreign > 0)

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, `gpu_processes`, `gpus`, one `clocks` row and `quality` rows."""
        return piece_by_piece(
            source,
            emit,
            SmiState,
            _piece,
            lambda state, emit: state.finish(emit, _NOTES),
            partial(printouts, start=line_of_last("=NVSMI LOG=")),
        )


PARSER = NvidiaSmiQ()
