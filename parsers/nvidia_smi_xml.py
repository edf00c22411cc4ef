"""`nvidia-smi -q -x`: the XML, one reading per card and document.

**Reads** documents of `nvsmi_device_v9.dtd` to `v13.dtd` (384 to 610), once or many in one file (`-l` writes a document per round),
indented or on one line, as files or pasted with `&lt;` for `<`. Tags are read as text: no DTD is fetched and no entity is expanded. A
cut document gives what stands before the cut; a damaged tag costs the rest of that card's reading.

A value is found by the whole path of its tags below `<gpu>`. The DTD number does not tell the names (v12 has both), so all are tried:

| path | column |
|---|---|
| `utilization/gpu_util, memory_util, encoder_util, decoder_util` | `util_gpu`, `util_mem`, `enc`, `dec` |
| `power_readings` (to 530), `gpu_power_readings` (535 on) `/power_draw`, else `average_...`, else `instant_power_draw` | `power_w` |
| `enforced_power_limit`, from 535 on `current_power_limit` | `power_limit_w` |
| `clocks/sm_clock`, `mem_clock` | `sm_clock`, `mem_clock` |
| `temperature/gpu_temp, memory_temp` | `temp`, `mem_temp` |
| `fb_memory_usage/used, total` | `mem_used`, `mem_total` |
| `pci/rx_util, tx_util` | `pcie_rx`, `pcie_tx`, KB/s to MB/s, `pcie_probe_s` = 0.02 |
| `pci/pci_gpu_link_info/pcie_gen/..., link_widths/...` | `pcie_gen`, `pcie_width`, and `_max` |
| `clocks_event_reasons` (`clocks_throttle_reasons`) | `event_reasons`, the bit mask; only when the element is closed |
| `product_name`, `uuid`, `mig_mode/current_mig`, the id of `<gpu>`, `driver_version` | `gpus` |
| `processes/process_info` | `gpu_processes` |

**Card numbers.** There is no index (`minor_number` is none): cards are numbered in the order printed. Where fewer cards stand in the
document than are attached (`-i`, a cut), the number may not be the index: `gpu-by-position`.

**Clock.** `<timestamp>`: local wall clock without a zone, 1 s.

**Traps.** `N/A` and sentences are NULL. MIG devices have `fb_memory_usage` of their own, modules `power_draw` of their own: not read.
95 % and more with no process and almost no memory in use is passed on and counted as `first-reading`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

_ROOT = "nvidia_smi_log"
_TOKEN = r"</?[A-Za-z_][^<>]{0,300}>[^<]{0,600}"
_PARTS = r"^<(/?)([A-Za-z_][A-Za-z0-9_]*)([^<>]*?)(/?)>([^<]*)$"
_POWER = ("power_readings", "gpu_power_readings")
_LINK = "pci/pci_gpu_link_info/"

# column -> (paths, the first with a value wins), unit pattern, scale, highest value
_NUMBERS: dict[str, tuple[tuple[str, ...], str, float, float]] = {
    "util_gpu": (("utilization/gpu_util",), "%", 1, 100),
    "util_mem": (("utilization/memory_util",), "%", 1, 100),
    "enc": (("utilization/encoder_util",), "%", 1, 100),
    "dec": (("utilization/decoder_util",), "%", 1, 100),
    "power_w": (tuple(f"{s}/{k}" for k in ("power_draw", "average_power_draw", "instant_power_draw") for s in _POWER), "W", 1, 20_000),
    "power_limit_w": (
        tuple(f"{s}/{k}" for k in ("enforced_power_limit", "current_power_limit") for s in _POWER),
        "W", 1, 20_000,
    ),
    "sm_clock": (("clocks/sm_clock",), "MHz", 1, 100_000),
    "mem_clock": (("clocks/mem_clock",), "MHz", 1, 100_000),
    "temp": (("temperature/gpu_temp",), "C", 1, 250),
    "mem_temp": (("temperature/memory_temp",), "C", 1, 250),
    "mem_used": (("fb_memory_usage/used",), "Mi?B", 1, 1e9),
    "mem_total": (("fb_memory_usage/total",), "Mi?B", 1, 1e9),
    "pcie_rx": (("pci/rx_util",), "KB/s", 1e-3, 1e6),
    "pcie_tx": (("pci/tx_util",), "KB/s", 1e-3, 1e6),
    "pcie_gen": ((f"{_LINK}pcie_gen/current_link_gen",), "", 1, 32),
    "pcie_gen_max": ((f"{_LINK}pcie_gen/max_link_gen",), "", 1, 32),
    "pcie_width": ((f"{_LINK}link_widths/current_link_width",), "x", 1, 64),
    "pcie_width_max": ((f"{_LINK}link_widths/max_link_width",), "x", 1, 64),
}  # fmt: skip
_REASONS = r"^clocks_(?:event|throttle)_reasons/clocks_(?:event|throttle)_reason_([a-z_]+)$"
_TEXTS = {"name": "product_name", "uuid": "uuid", "mig": "mig_mode/current_mig"}
_KEYS = tuple(dict.fromkeys(p for paths, *_ in _NUMBERS.values() for p in paths)) + tuple(_TEXTS.values())
_TOP = ("timestamp", "driver_version", "kmd_version", "attached_gpus")
_NOTES = NOTES | {"cut-document": "documents without their end; what stands before the cut was read"}


def _tokens(first: int, text: str, counts: Counts) -> pl.DataFrame:
    """line, close, tag, attributes, lone (self-closing) and text of every tag; counts the lines."""
    import polars as pl

    if f"&lt;{_ROOT}" in text or "&lt;gpu " in text:
        text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&nbsp;", " ")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    frame = pl.DataFrame({"text": lines}, schema={"text": pl.String}).with_row_index("line", offset=first)
    frame = frame.with_columns(pl.col("line").cast(pl.Int64), found=pl.col("text").str.extract_all(_TOKEN))
    bare = pl.col("text").str.strip_chars("> \t\r`\u00a0")
    noise = (bare == "") | bare.str.contains(r"^<(?:\?xml|!DOCTYPE|!--)")
    tagged = pl.col("found").list.len() > 0
    counts.noise += frame.filter(noise & ~tagged).height
    counts.matched += frame.filter(tagged).height
    counts.other += frame.filter(~noise & ~tagged).height
    parts = pl.col("found").str.extract_groups(_PARTS).struct.rename_fields(["close", "tag", "attributes", "lone", "value"])
    tokens = frame.filter(tagged).select("line", "found").explode("found").select("line", parts.alias("p")).unnest("p")
    return tokens.filter(pl.col("tag").is_not_null()).with_columns(pl.col("value").str.strip_chars(" \t\r\u00a0"))


def _leaves(tokens: pl.DataFrame) -> pl.DataFrame:
    """Adds document, card, depth below the card, the path, and whether the tag is a leaf with a value that is closed."""
    import polars as pl

    opens = (pl.col("close") == "") & (pl.col("lone") == "")
    tokens = tokens.with_columns(
        document=(opens & (pl.col("tag") == _ROOT)).cum_sum(),
        is_card=opens & (pl.col("tag") == "gpu"),
        change=pl.when(opens).then(1).when(pl.col("close") == "/").then(-1).otherwise(0),
        leaf=opens & (pl.col("tag").shift(-1) == pl.col("tag")) & (pl.col("close").shift(-1) == "/"),
        line_after=pl.col("line").shift(-1),
    )
    tokens = tokens.with_columns(card=pl.col("is_card").cum_sum())
    # the depth starts anew with every card: a lost tag must not shift the next one
    tokens = tokens.with_columns(depth=pl.col("change").cum_sum().over("card") - 1)
    depth = pl.col("depth")
    here = pl.col("change") == 1
    inside = ["card"]
    for k in (1, 2, 3):
        section = here & (depth == k)
        tokens = tokens.with_columns(
            pl.when(section).then("tag").forward_fill().over(inside).alias(f"s{k}"), section.cum_sum().over(inside).alias(f"g{k}")
        )
        inside.append(f"g{k}")
    return tokens.with_columns(path=pl.when(here).then(section_path("tag")))


def _first(path: str) -> pl.Expr:
    import polars as pl

    return pl.col("value").filter(pl.col("path") == path).first().alias(path)


def _mask(below: pl.DataFrame) -> pl.DataFrame:
    """card, event_reasons: NULL unless the element is closed and every reason says Active or Not Active."""
    import polars as pl

    bit = pl.col("path").str.extract(_REASONS, 1).replace_strict(REASON_BITS, default=None, return_dtype=pl.Int64)
    closed = (
        below.filter((pl.col("close") == "/") & pl.col("tag").str.contains(r"^clocks_(?:event|throttle)_reasons$")).select("card").unique()
    )
    rows = below.filter("leaf").with_columns(bit=bit).filter(pl.col("bit").is_not_null())
    whole = pl.col("value").is_in(["Active", "Not Active"]).all() & (pl.col("bit") == 4).any()
    mask = pl.when(pl.col("value") == "Active").then("bit").otherwise(0).sum()
    return rows.join(closed, on="card", how="semi").group_by("card").agg(event_reasons=pl.when(whole).then(mask))


def _cards(tokens: pl.DataFrame, state: SmiState) -> pl.DataFrame:
    """One row per card and document with every column the text gives."""
    import polars as pl

    below = tokens.filter(pl.col("card") > 0)
    heads = below.filter("is_card").select("card", "document", "line", bus_id=pl.col("attributes").str.extract(rf'"({BUS_ID})"', 1))
    wanted = below.filter(pl.col("leaf") & pl.col("path").is_in(_KEYS)).group_by("card").agg(*(_first(p) for p in _KEYS))
    out = heads.join(wanted, on="card", how="left", maintain_order="left")
    out = out.with_columns(numbers_with_units(_NUMBERS)).rename({v: k for k, v in _TEXTS.items()}).with_columns(
        pcie_probe_s=pl.when(pl.col("pcie_rx").is_not_null() | pl.col("pcie_tx").is_not_null()).then(0.02),
        gpu=pl.int_range(pl.len()).over("document").cast(pl.Int32),
    )  # fmt: skip
    state.odd["mig-instances"] += below.filter((pl.col("path") == "mig_devices/mig_device") & ~pl.col("leaf")).height
    return out.join(_mask(below), on="card", how="left", maintain_order="left")


def _processes(tokens: pl.DataFrame) -> pl.DataFrame:
    """card, line, pid, kind, name, mem_used of every process."""
    import polars as pl

    inside = tokens.filter((pl.col("card") > 0) & pl.col("path").str.starts_with("processes/process_info"))
    inside = inside.with_columns(process=(pl.col("path") == "processes/process_info").cum_sum())

    def field(key: str) -> pl.Expr:
        return pl.col("value").filter(pl.col("leaf") & (pl.col("tag") == key)).first()

    rows = inside.group_by("process", maintain_order=True).agg(
        pl.col("card", "line").first(), pid=field("pid"), kind=field("type"), name=field("process_name"), memory=field("used_memory")
    )
    return rows.select("card", "line", process_name("name").alias("name"), *process_values()).filter(pl.col("pid").is_not_null())


def _documents(tokens: pl.DataFrame, state: SmiState) -> pl.DataFrame:
    """document, cycle, time, driver, attached: what stands above the cards."""
    import polars as pl

    def value(tag: str) -> pl.Expr:
        return pl.col("value").filter(pl.col("leaf") & (pl.col("tag") == tag)).first()

    top = tokens.filter(pl.col("tag").is_in([*_TOP, "gpu"]) | (pl.col("tag") == _ROOT))
    out = top.group_by("document", maintain_order=True).agg(
        date=value("timestamp"), driver=pl.coalesce(value("driver_version"), value("kmd_version")), attached=value("attached_gpus"),
        cards=pl.col("is_card").sum(), ended=((pl.col("tag") == _ROOT) & (pl.col("close") == "/")).any(),
    )  # fmt: skip
    out = out.filter(pl.col("cards") > 0).with_columns(
        time=wall_time(pl.col("date")),
        driver=pl.col("driver").str.extract(r"^([0-9]+(?:\.[0-9]+)+)", 1),
        attached=pl.col("attached").str.extract(r"^([0-9]{1,4})$", 1).cast(pl.Int64),
        cycle=pl.int_range(pl.len()) + state.cycle + 1,
    )
    state.cycle += out.height
    state.odd["cut-document"] += out.filter(~pl.col("ended")).height
    state.odd["gpu-by-position"] += out.filter(pl.col("attached") != pl.col("cards")).height
    state.tick(out["time"].drop_nulls())
    return out.select("document", "cycle", "time", "driver")


def _piece(first: int, text: str, state: SmiState, emit: Emit) -> None:
    """Read one piece of text that holds whole documents."""

    tokens = _tokens(first, text, state.counts)
    if not len(tokens):
        return
    tokens = _leaves(tokens)
    if not tokens["is_card"].any():
        return
    cards = _cards(tokens, state).join(_documents(tokens, state), on="document", how="inner", maintain_order="left")
    if not len(cards):
        return
    state.send(cards, _processes(tokens), [*_NUMBERS, "pcie_probe_s", "event_reasons"], emit)


def _document(dtd: int, second: int, driver: str, gpu: str) -> str:
    return (
        f'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v{dtd}.dtd">\n<nvidia_smi_log>\n'
        f"\t<timestamp>Thu Jan 15 08:00:{second:02} 2026</timestamp>\n\t<driver_version>{driver}</driver_version>\n"
        f'\t<attached_gpus>1</attached_gpus>\n\t<gpu id="00000000:41:00.0">\n{gpu}\t</gpu>\n\n</nvidia_smi_log>\n'
    )


_NEW = """		<product_name>NVIDIA RTX 6000 Ada Generation</product_name>
		<mig_mode>
			<current_mig>N/A</current_mig>
		</mig_mode>
		<mig_devices>
			<mig_device>
				<fb_memory_usage>
					<total>19968 MiB</total>
					<used>12 MiB</used>
				</fb_memory_usage>
			</mig_device>
		</mig_devices>
		<uuid>GPU-12345678-1234-1234-1234-123456789abc</uuid>
		<pci>
			<pci_gpu_link_info>
				<pcie_gen>
					<max_link_gen>4</max_link_gen>
					<current_link_gen>3</current_link_gen>
				</pcie_gen>
				<link_widths>
					<max_link_width>16x</max_link_width>
					<current_link_width>8x</current_link_width>
				</link_widths>
			</pci_gpu_link_info>
			<tx_util>110500 KB/s</tx_util>
			<rx_util>1370500 KB/s</rx_util>
		</pci>
		<clocks_event_reasons>
			<clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
			<clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
			<clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown>
		</clocks_event_reasons>
		<fb_memory_usage>
			<total>49140 MiB</total>
			<used>40111 MiB</used>
		</fb_memory_usage>
		<utilization>
			<gpu_util>97 %</gpu_util>
			<memory_util>61 %</memory_util>
			<encoder_util>N/A</encoder_util>
		</utilization>
		<temperature>
			<gpu_temp> 71 C </gpu_temp>
		</temperature>
		<gpu_power_readings>
			<power_state>P2</power_state>
			<average_power_draw>298.75 W</average_power_draw>
			<instant_power_draw>301.02 W</instant_power_draw>
			<current_power_limit>300.00 W</current_power_limit>
		</gpu_power_readings>
		<module_power_readings>
			<average_power_draw>777.00 W</average_power_draw>
		</module_power_readings>
		<clocks>
			<graphics_clock>2505 MHz</graphics_clock>
			<sm_clock>2505 MHz</sm_clock>
			<mem_clock>9501 MHz</mem_clock>
		</clocks>
		<max_clocks>
			<sm_clock>3105 MHz</sm_clock>
		</max_clocks>
		<processes>
			<process_info>
				<pid>28511</pid>
				<type>C</type>
				<process_name>serve</process_name>
				<used_memory>38000 MiB</used_memory>
			</process_info>
		</processes>
"""
_OLD = """		<product_name>Tesla T4</product_name>
		<fb_memory_usage><total>15109 MiB</total><used>0 MiB</used></fb_memory_usage>
		<utilization><gpu_util>100 %</gpu_util><memory_util>4 %</memory_util></utilization>
		<power_readings><power_draw>33.10 W</power_draw><power_limit>70.00 W</power_limit>
			<enforced_power_limit>65.00 W</enforced_power_limit></power_readings>
		<clocks_throttle_reasons>
			<clocks_throttle_reason_sw_power_cap>N/A</clocks_throttle_reason_sw_power_cap>
		</clocks_throttle_reasons>
		<processes>
		</processes>
"""
_SAMPLES = (
    Sample(
        text=_document(12, 10, "570.86.10", _NEW) + _document(12, 15, "570.86.10", _NEW),
        rows={
            "gpu_samples": [
                {
                    "line": 7, "gpu": 0, "cycle": 0, "time": 1768464010.0, "util_gpu": 97.0, "util_mem": 61.0, "enc": None,
                    "power_w": 298.75, "power_limit_w": 300.0, "sm_clock": 2505.0, "mem_clock": 9501.0, "temp": 71.0,
                    "mem_used": 40111.0, "mem_total": 49140.0, "pcie_rx": 1370.5, "pcie_tx": 110.5, "pcie_probe_s": 0.02,
                    "pcie_gen": 3.0, "pcie_gen_max": 4.0, "pcie_width": 8.0, "pcie_width_max": 16.0, "event_reasons": 0x44,
                },
                {"gpu": 0, "cycle": 1, "time": 1768464015.0},
            ],
            "gpus": [
                {
                    "gpu": 0, "name": "NVIDIA RTX 6000 Ada Generation", "bus_id": "00000000:41:00.0", "driver": "570.86.10",
                    "uuid": "GPU-12345678-1234-1234-1234-123456789abc", "memory_mib": 49140.0, "mig": None,
                }
            ],
            "gpu_processes": [{"pid": 28511, "kind": "C", "mem_used": 38000.0, "cycle": 0}, {"cycle": 1}],
            "clocks": [{"kind": "local-no-zone", "resolution_s": 1.0, "interval_s": 5.0}],
            "quality": [{"kind": "mig-instances", "n": 2}],
        },
        versions="v12 and v13, 535 to 610, in a loop",
    ),
    Sample(
        text=_document(11, 10, "470.82.01", _OLD),
        rows={
            "gpu_samples": [
                {"util_gpu": 100.0, "power_w": 33.1, "power_limit_w": 65.0, "mem_used": 0.0, "event_reasons": None, "pcie_probe_s": None}
            ],
            "gpu_processes": [],
            "quality": [{"kind": "first-reading", "n": 1}],
        },
        versions="v9 to v12, 384 to 530",
    ),
)  # fmt: skip


class NvidiaSmiXml:
    """`nvidia-smi -q -x`."""

    name = "nvidia-smi-xml"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """The root element and a card."""
        text = head.text.replace("&lt;", "<").replace("&gt;", ">") if "&lt;" in head.text else head.text
        if f"<{_ROOT}" not in text and not re.search(r"<!DOCTYPE nvidia_smi_log\b", text):
            return None
        if not re.search(r"<gpu(?: id=[^<>]*)?>", text):
            return Refusal(55, "the root of nvidia-smi -q -x is there, but no <gpu> element")
        lines = text.splitlines()[:2000]
        foreign = sum(not re.match(r"^[> \t`]*(?:<|$|```)", x) for x in lines)
        return Claim(95, "XML of nvidia-smi -q -x", shares=foreign > 0)

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, `gpu_processes`, `gpus`, one `clocks` row and `quality` rows."""
        state = SmiState()
        for first, text in printouts(source, line_of_last(f"<{_ROOT}>", f"&lt;{_ROOT}&gt;")):
            _piece(first, text, state, emit)
        state.finish(emit, _NOTES)
        return state.counts


PARSER = NvidiaSmiXml()
