"""Prometheus text of `dcgm-exporter`: one reading per card and scrape.

**Reads** what `curl :9400/metrics` gives, once or appended in a loop, also beside metrics of other exporters, of every release. The
constants of 2026 have new names (`DCGM_FI_DEV_GPU_UTIL_RATIO`), the fields behind them are the same. Also what the HTTP API of Prometheus
answers to a query of these names (`/api/v1/query_range`), one scrape per time.

| metric (`DCGM_FI_` left out; new name) | column of `gpu_samples` |
|---|---|
| `DEV_GPU_UTIL` (`DEV_GPU_UTIL_RATIO`), `DEV_MEM_COPY_UTIL`, `DEV_ENC_UTIL`, `DEV_DEC_UTIL` | `util_gpu`, `util_mem`, `enc`, `dec` in % |
| `PROF_SM_ACTIVE` (`PROF_SM_UTIL_RATIO`), `PROF_SM_OCCUPANCY` | `sm_active`, `sm_occupancy` 0..1 |
| `PROF_PIPE_TENSOR_ACTIVE` (`PROF_TENSOR_UTIL_RATIO`), `PROF_DRAM_ACTIVE` (`PROF_DRAM_UTIL_RATIO`) | `tensor_active`, `dram_active` 0..1 |
| `DEV_POWER_USAGE` (`DEV_BOARD_POWER_WATTS`), `DEV_ENFORCED_POWER_LIMIT` | `power_w`, `power_limit_w` |
| `DEV_GPU_TEMP` (`DEV_GPU_TEMP_CELSIUS`), `DEV_MEMORY_TEMP` | `temp`, `mem_temp` |
| `DEV_SM_CLOCK`, `DEV_MEM_CLOCK` | `sm_clock`, `mem_clock` |
| `DEV_FB_USED`, `DEV_FB_TOTAL` | `mem_used`, `mem_total` (MiB) |
| `DEV_CLOCK_THROTTLE_REASONS`, `DEV_CLOCKS_EVENT_REASONS` | `event_reasons` |
| `DEV_PCIE_LINK_GEN`, `_WIDTH`, and `MAX_` | `pcie_gen`, `pcie_width` and `_max` |
| `PROF_PCIE_RX_BYTES`, `TX`; `PROF_NVLINK_RX_BYTES`, `TX` | `pcie_rx`, `_tx`; `nvlink_rx`, `_tx`: MB/s, only if `# TYPE` says gauge |
| labels `gpu`, `UUID`, `pci_bus_id`, `modelName`, `DCGM_FI_DRIVER_VERSION`, `Hostname` | `gpus`; `host` |

**Rounds.** A scrape begins where the first series of the file comes again. **Clock.** Times only where the text has Prometheus times
(milliseconds behind the value): `utc`; else `none`.

**Traps.** The default counters have no SM activity. The byte counters were counters in older releases and are rates now; without their
`# TYPE` line nothing tells which, so they are not read (`bytes-of-unknown-kind`). MIG rows (`GPU_I_ID`) are left out: they are shares of
one card (`mig-instance-rows`). Blank values (9223372036854775794, 2147483632, 140737488355328) and texts in place of a number are NULL.
How long a rate was averaged is not in the text: `pcie_probe_s` is NULL, `pcie_averaged` true.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.prometheus_api import AsExposition, answered_series, as_exposition
from ..engine.send import middle, send_clock, send_oddities, send_rows
from ..engine.smi_values import product
from ..engine.streams import numbered_lines

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

BLOCK_BYTES = 4 * 1024 * 1024
MAX_CARDS = 4096

# column -> (metric names without DCGM_FI_, the first with a value wins), scale, highest value after scaling
_METRICS: dict[str, tuple[tuple[str, ...], float, float]] = {
    "util_gpu": (("DEV_GPU_UTIL", "DEV_GPU_UTIL_RATIO"), 1, 100),
    "util_mem": (("DEV_MEM_COPY_UTIL", "DEV_MEM_COPY_UTIL_RATIO"), 1, 100),
    "enc": (("DEV_ENC_UTIL", "DEV_ENC_UTIL_RATIO"), 1, 100),
    "dec": (("DEV_DEC_UTIL", "DEV_DEC_UTIL_RATIO"), 1, 100),
    "sm_active": (("PROF_SM_ACTIVE", "PROF_SM_UTIL_RATIO"), 1, 1),
    "sm_occupancy": (("PROF_SM_OCCUPANCY", "PROF_SM_OCCUPANCY_RATIO"), 1, 1),
    "tensor_active": (("PROF_PIPE_TENSOR_ACTIVE", "PROF_TENSOR_UTIL_RATIO"), 1, 1),
    "dram_active": (("PROF_DRAM_ACTIVE", "PROF_DRAM_UTIL_RATIO"), 1, 1),
    "power_w": (("DEV_POWER_USAGE", "DEV_BOARD_POWER_WATTS", "DEV_POWER_USAGE_INSTANT"), 1, 20_000),
    "power_limit_w": (("DEV_ENFORCED_POWER_LIMIT", "DEV_POWER_MGMT_LIMIT"), 1, 20_000),
    "temp": (("DEV_GPU_TEMP", "DEV_GPU_TEMP_CELSIUS"), 1, 250),
    "mem_temp": (("DEV_MEMORY_TEMP", "DEV_MEMORY_TEMP_CELSIUS"), 1, 250),
    "sm_clock": (("DEV_SM_CLOCK",), 1, 100_000),
    "mem_clock": (("DEV_MEM_CLOCK",), 1, 100_000),
    "mem_used": (("DEV_FB_USED",), 1, 1e8),
    "mem_total": (("DEV_FB_TOTAL",), 1, 1e8),
    "event_reasons": (("DEV_CLOCK_THROTTLE_REASONS", "DEV_CLOCKS_EVENT_REASONS"), 1, 65535),
    "pcie_gen": (("DEV_PCIE_LINK_GEN",), 1, 32),
    "pcie_gen_max": (("DEV_PCIE_MAX_LINK_GEN",), 1, 32),
    "pcie_width": (("DEV_PCIE_LINK_WIDTH",), 1, 64),
    "pcie_width_max": (("DEV_PCIE_MAX_LINK_WIDTH",), 1, 64),
    "pcie_rx": (("PROF_PCIE_RX_BYTES",), 1e-6, 1e6),
    "pcie_tx": (("PROF_PCIE_TX_BYTES",), 1e-6, 1e6),
    "nvlink_rx": (("PROF_NVLINK_RX_BYTES",), 1e-6, 1e7),
    "nvlink_tx": (("PROF_NVLINK_TX_BYTES",), 1e-6, 1e7),
}
_RATES = frozenset(n for c in ("pcie_rx", "pcie_tx", "nvlink_rx", "nvlink_tx") for n in _METRICS[c][0])
_NAMES = frozenset(n for names, _, _ in _METRICS.values() for n in names)
_BLANKS = (2147483632.0, 2147483633.0, 2147483634.0, 2147483635.0, 2147483636.0, 2147483637.0)
_LABELS = r'(?:[^{}"]|"(?:[^"\\]|\\.)*")*'  # a label of Kubernetes may hold braces
_SERIES = rf"^DCGM_FI_([A-Z0-9_]+)\{{({_LABELS})\}} +(\S+)(?: +([0-9]{{12,14}}))?\s*$"
_NEAR = r"^DCGM_FI_[A-Z0-9_]+\{"
_TYPE = r"^# TYPE DCGM_FI_([A-Z0-9_]+) (gauge|counter)\s*$"
_NUMBER = r"^-?[0-9]{1,15}(?:\.[0-9]{1,12})?(?:[eE][+-]?[0-9]{1,2})?$"
_NOTES = {
    "mig-instance-rows": "rows of MIG instances were left out: they are shares of one card and must not be added to it",
    "bytes-of-unknown-kind": "byte metrics without their # TYPE line may be rates or counters; they were not read",
    "byte-counters": "byte metrics that are counters give no rate in one scrape; they were not read",
    "no-value": "blank values of DCGM and texts in place of a number",
    "out-of-range": "values outside what the column can hold were dropped",
    "cut-line": "the unfinished last line was dropped",
}


@dataclass
class _State:
    """What the next block must know."""

    types: dict[str, str] = field(default_factory=dict)
    first: str | None = None  # the series that begins a scrape
    scrape: int = -1
    held: pl.DataFrame | None = None
    cards: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    timed: bool = False
    last: float | None = None
    steps: Counter[float] = field(default_factory=Counter)
    first_line: int | None = None
    odd: Counter[str] = field(default_factory=Counter)
    counts: Counts = field(default_factory=Counts)


def _series(first: int, text: str, state: _State) -> pl.DataFrame:
    """line, name, labels, value, stamp of every series of DCGM; counts the lines."""
    import polars as pl

    frame, cut = numbered_lines(first, text)
    kinds = frame.select(g=pl.col("text").str.extract_groups(_TYPE)).unnest("g").drop_nulls().rows()
    state.types.update(dict(kinds))
    unfinished = (pl.col("line") == frame["line"][-1]) & pl.lit(cut)
    near, hit = pl.col("text").str.contains(_NEAR), pl.col("text").str.contains(_SERIES)
    words = pl.col("text").str.contains(_NEAR.removeprefix("^") + r".*\} +[A-Z<]")  # ERROR - FAILED TO CONVERT TO STRING
    frame = frame.with_columns(
        how=pl.when(pl.col("text").str.contains(r"^(?:#.*|\.*)$")).then(pl.lit("noise"))
        .when(near & unfinished).then(pl.lit("cut")).when(hit).then(pl.lit("matched")).when(words).then(pl.lit("words"))
        .when(near).then(pl.lit("near")).otherwise(pl.lit("other"))
    )  # fmt: skip
    sizes = dict(frame["how"].value_counts().iter_rows())
    state.odd["no-value"] += sizes.get("words", 0)
    state.odd["cut-line"] += sizes.get("cut", 0)
    lost = frame.filter(pl.col("how") == "near")["line"]
    read = sizes.get("matched", 0) + sizes.get("words", 0)
    state.counts.block(len(frame), read, sizes.get("noise", 0), lost, "a DCGM metric in an unknown form")
    groups = pl.col("text").str.extract_groups(_SERIES).struct.rename_fields(["name", "labels", "value", "stamp"])
    return frame.filter(pl.col("how") == "matched").select("line", g=groups).unnest("g")


def _label(name: str) -> pl.Expr:
    import polars as pl

    return pl.col("labels").str.extract(rf'(?:^|[,\s]){name}="([^"]*)"', 1)


def _typed(series: pl.DataFrame, state: _State) -> pl.DataFrame:
    """Adds scrape, card, host, number and time; leaves out MIG rows, blank values and what nobody reads."""
    import polars as pl

    key = pl.concat_str("name", pl.lit("{"), "labels")
    if state.first is None:
        state.first = series.select(key.first()).item()
    series = series.with_columns(
        scrape=(key == state.first).cum_sum().cast(pl.Int64) + state.scrape, gpu=_label("gpu"), mig=_label("GPU_I_ID")
    )
    state.scrape = int(series["scrape"][-1])
    state.odd["mig-instance-rows"] += series.filter(pl.col("mig").is_not_null()).height
    series = series.filter(pl.col("gpu").str.contains("^[0-9]{1,4}$") & pl.col("mig").is_null()).with_columns(
        pl.col("gpu").cast(pl.Int32), host=_label("Hostname"), time=pl.col("stamp").cast(pl.Float64) / 1000,
        number=pl.when(pl.col("value").str.contains(_NUMBER)).then("value").cast(pl.Float64, strict=False),
    )  # fmt: skip
    kind = pl.col("name").replace_strict(state.types, default=None, return_dtype=pl.String)
    rate = pl.col("name").is_in(list(_RATES))
    state.odd["bytes-of-unknown-kind"] += series.filter(rate & kind.is_null()).height
    state.odd["byte-counters"] += series.filter(rate & (kind == "counter")).height
    series = series.filter(~rate | (kind == "gauge").fill_null(False))
    blank = pl.col("number").is_null() | pl.col("number").is_in(_BLANKS) | (pl.col("number") >= 140737488355328.0)
    state.odd["no-value"] += series.filter(blank & pl.col("name").is_in(list(_NAMES))).height
    return series.with_columns(number=pl.when(~blank).then("number"))


def _emit(series: pl.DataFrame, state: _State, emit: Emit) -> None:
    """One row per scrape, host and card."""
    import polars as pl

    if not len(series):
        return
    state.first_line = state.first_line or int(series["line"][0])
    _about(series, state)
    values = []
    for column, (names, scale, _) in _METRICS.items():
        each = [pl.col("number").filter(pl.col("name") == n).drop_nulls().first() for n in names]
        values.append((pl.coalesce(each) * scale).alias(column))
    rows = series.filter(pl.col("name").is_in(list(_NAMES))).group_by("scrape", "host", "gpu", maintain_order=True).agg(
        pl.col("line").first(), pl.col("time").drop_nulls().first(), *values
    )  # fmt: skip
    fine = []
    for column, (_, _, high) in _METRICS.items():
        low = -60 if "temp" in column else 0
        state.odd["out-of-range"] += rows.filter((pl.col(column) > high) | (pl.col(column) < low)).height
        fine.append(pl.when(pl.col(column).is_between(low, high)).then(column).alias(column))
    rows = rows.with_columns(fine).with_columns(pl.col("event_reasons").cast(pl.Int64)).rename({"scrape": "cycle"})
    rows = rows.filter(pl.any_horizontal(pl.col(list(_METRICS)).is_not_null()))
    rows = rows.with_columns(pcie_averaged=pl.when(pl.any_horizontal(pl.col("pcie_rx", "pcie_tx").is_not_null())).then(True))
    if not len(rows):
        return
    for time in rows.group_by("cycle", maintain_order=True).agg(pl.col("time").first())["time"].drop_nulls():  # one step per scrape
        if state.last is not None and time > state.last:
            state.steps[round(time - state.last, 3)] += 1
        state.last, state.timed = time, True
    emit("gpu_samples", rows)


def _about(series: pl.DataFrame, state: _State) -> None:
    """Keep what the labels say about cards."""
    import polars as pl

    first = series.group_by("host", "gpu", maintain_order=True).agg(
        pl.col("line").first(), uuid=_label("UUID").drop_nulls().first(), bus_id=_label("pci_bus_id").drop_nulls().first(),
        name=_label("modelName").drop_nulls().first(), driver=_label("DCGM_FI_DRIVER_VERSION").drop_nulls().first(),
        memory=pl.col("number").filter(pl.col("name") == "DEV_FB_TOTAL").first(),
    )  # fmt: skip
    for row in first.iter_rows(named=True):  # one step per card and block
        key = (row["host"] or "", row["gpu"])
        if key in state.cards or len(state.cards) >= MAX_CARDS:
            continue
        state.cards[key] = {
            "line": row["line"],
            "host": row["host"],
            "gpu": row["gpu"],
            "name": product(row["name"]),
            "uuid": row["uuid"] if re.match(r"^(?:GPU|MIG)-[0-9a-fA-F-]{8,40}$", row["uuid"] or "") else None,
            "bus_id": row["bus_id"] if re.match(r"^[0-9A-Fa-f:.]{7,16}$", row["bus_id"] or "") else None,
            "driver": row["driver"] if re.match(r"^[0-9]+(?:\.[0-9]+)+$", row["driver"] or "") else None,
            "memory_mib": row["memory"],
        }


def _finish(state: _State, emit: Emit) -> None:
    """One clock, one row per card, one quality row per oddity."""
    if state.first_line is not None:
        send_clock(emit, state.first_line, "utc" if state.timed else "none", 1e-3 if state.timed else None, middle(state.steps.elements()))
        columns = ("line", "host", "gpu", "name", "uuid", "bus_id", "driver", "memory_mib")
        send_rows(emit, "gpus", list(state.cards.values()), columns)
    send_oddities(emit, state.first_line or 1, state.odd, _NOTES)


_L = (
    'gpu="{}",UUID="GPU-12345678-1234-1234-1234-123456789ab{}",device="nvidia{}",modelName="Tesla T4",Hostname="box-7",'
    'DCGM_FI_DRIVER_VERSION="580.95.05"'
)
_A, _B = _L.format(0, 0, 0), _L.format(1, 1, 1)
_SAMPLES = (
    Sample(
        text=f"""# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{{{_A}}} 97
DCGM_FI_DEV_GPU_UTIL{{{_B}}} 3
DCGM_FI_PROF_DRAM_ACTIVE{{{_A}}} 0.690789
DCGM_FI_PROF_DRAM_ACTIVE{{{_B},GPU_I_PROFILE="1g.5gb",GPU_I_ID="13"}} 0.9
DCGM_FI_DEV_MEMORY_TEMP{{{_A}}} 9223372036854775794
DCGM_FI_DEV_POWER_USAGE{{{_A}}} ERROR - FAILED TO CONVERT TO STRING
# TYPE DCGM_FI_PROF_PCIE_TX_BYTES gauge
DCGM_FI_PROF_PCIE_TX_BYTES{{{_A}}} 33000000
# TYPE DCGM_FI_PROF_PCIE_RX_BYTES counter
DCGM_FI_PROF_PCIE_RX_BYTES{{{_A}}} 97863601
DCGM_FI_DEV_GPU_UTIL{{{_A}}} 98
""",
        rows={
            "gpu_samples": [
                {
                    "line": 3, "host": "box-7", "gpu": 0, "cycle": 0, "time": None, "util_gpu": 97.0, "dram_active": 0.690789,
                    "mem_temp": None, "power_w": None, "pcie_tx": 33.0, "pcie_rx": None, "pcie_averaged": True,
                },
                {"line": 4, "gpu": 1, "cycle": 0, "util_gpu": 3.0, "dram_active": None},
                {"line": 13, "gpu": 0, "cycle": 1, "util_gpu": 98.0},
            ],
            "gpus": [
                {"gpu": 0, "name": "Tesla T4", "uuid": "GPU-12345678-1234-1234-1234-123456789ab0", "driver": "580.95.05"},
                {"gpu": 1},
            ],
            "clocks": [{"kind": "none"}],
            "quality": [{"kind": "no-value", "n": 2}, {"kind": "mig-instance-rows", "n": 1}, {"kind": "byte-counters", "n": 1}],
        },
        versions="dcgm-exporter 2 to 4",
    ),
    Sample(
        text='DCGM_FI_DEV_GPU_UTIL_RATIO{gpu="0", UUID="GPU-12345678-1234-1234-1234-123456789ab0"} 50 1770091506100\n'
        'DCGM_FI_PROF_SM_UTIL_RATIO{gpu="0", UUID="GPU-12345678-1234-1234-1234-123456789ab0"} 0.25 1770091506100\n'
        'DCGM_FI_DEV_GPU_UTIL_RATIO{gpu="0", UUID="GPU-12345678-1234-1234-1234-123456789ab0"} 60 1770091536100\n',
        rows={
            "gpu_samples": [
                {"gpu": 0, "cycle": 0, "time": 1770091506.1, "util_gpu": 50.0, "sm_active": 0.25},
                {"gpu": 0, "cycle": 1, "time": 1770091536.1, "util_gpu": 60.0, "sm_active": None},
            ],
            "clocks": [{"kind": "utc", "interval_s": 30.0}],
        },
        versions="names of 2026, with times",
    ),
)  # fmt: skip


class DcgmExporter:
    """Prometheus text of dcgm-exporter."""

    name = "dcgm-exporter"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A series of DCGM that names a card."""
        if "DCGM_FI_" not in head.text:
            return None
        if any(name.startswith("DCGM_FI_") for name in answered_series(head)):
            return Claim(92, "an answer of Prometheus with series of dcgm-exporter", shares=True)
        if not re.search(r'(?m)^[> \t]*DCGM_FI_[A-Z0-9_]+\{[^{}\n]*gpu="[0-9]', head.text):
            return Refusal(50, "metrics of DCGM are named here, but no series with a card and a value")
        foreign = re.search(r"(?m)^[> \t]*(?!#|DCGM_FI_|\.|\s*$)\S", head.text) is not None
        return Claim(92, "Prometheus text of dcgm-exporter", shares=foreign)

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, `gpus`, one `clocks` row and `quality` rows."""
        if isinstance(source, AsExposition) or (counts := as_exposition(source, emit, self.parse)) is None:
            counts = self._parse(source, emit)
        return counts

    def _parse(self, source: Readable, emit: Emit) -> Counts:
        import polars as pl

        state = _State()
        for first, text in source.blocks(BLOCK_BYTES):
            found = _series(first, text, state)
            if not len(found):
                continue
            series = _typed(found, state)
            if state.held is not None:
                series = pl.concat([state.held, series], how="vertical_relaxed")
            # the last scrape may go on in the next block
            open_ = series["scrape"] == state.scrape
            state.held = series.filter(open_)
            _emit(series.filter(~open_), state, emit)
        if state.held is not None:
            _emit(state.held, state, emit)
        _finish(state, emit)
        return state.counts


PARSER = DcgmExporter()
