"""`gpustat`: its text lines and its JSON.

**Reads** `gpustat [-a] [-p] [-u] [-i N]` (text, every version since 0.3, coloured or not) and `gpustat --json`, one document or many back
to back.

| text | JSON | column |
|---|---|---|
| `[0]` | `index` | `gpu` |
| the last `96 %` before power and memory | `utilization.gpu` | `util_gpu` |
| `(E: 88 %  D: 67 %)` | `utilization.enc`, `.dec` | `enc`, `dec` |
| `77°C`, `77'C` | `temperature.gpu` | `temp` |
| `125 / 250 W` | `power.draw`, `enforced.power.limit` | `power_w`, `power_limit_w` |
| `11848 / 12287 MB` | `memory.used`, `memory.total` | `mem_used`, `mem_total` (MiB) |
| `python/52046(11821M)` | `processes` | `gpu_processes` |

Where documents or header lines of several hosts stand in one file, `host` is filled.

**Rounds.** A round begins with a document, or where the card number does not rise. **Clock.** `query_time` (1 µs) or the date in the header
line where it is in the C locale (1 s): local wall clock without a zone; another locale gives no time.

**Traps.** The fan speed of `-a` is a percentage too and stands before the utilisation. `??` and `null` are NULL. Memory utilisation is not
printed: `util_mem` is NULL. Process names without a number (`-c` without `-p`) give no row.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import middle, send_clock, send_oddities, send_rows
from ..engine.smi_values import product
from ..engine.streams import bare_lines, by_stream, numbered_lines, plain_head

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARSER"]

BLOCK_BYTES = 2 * 1024 * 1024
MAX_JSON = 64 * 1024 * 1024

_N = r"([0-9]+|\?\?)"
_ROW = (
    rf"^\[([0-9]{{1,3}})\]\s+(\S.*?)\s*\|\s*{_N}\s*(?:°|'|º)?C,(?:\s*(?:[0-9]+|\?\?) ?%,)?\s*{_N} ?%(?:\s*\(E:\s*{_N} ?%\s+D:\s*{_N} ?%\))?"
    rf"(?:,\s*{_N}(?:\s*/\s*{_N})? ?W)?\s*\|\s*{_N}\s*/\s*{_N} ?MB\s*(?:\|(.*))?$"
)
_NEAR = r"^\[[0-9]{1,3}\]\s.*\|.*%.*\|"
_DATE = (
    r"\s(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}([0-9]{1,2}) "
    r"([0-9]{2}:[0-9]{2}:[0-9]{2}) ([0-9]{4})(?:\s+[0-9.]+)?\s*$"
)
_HOST = r"^([\w.-]{1,64})\s+(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) "
_PROCESS = r"([^\s/()]{1,60})/([0-9]{1,9})\(([0-9]+|\?\??)M\)"
_SAMPLE_TYPES = ("util_gpu", "enc", "dec", "temp", "power_w", "power_limit_w", "mem_used", "mem_total")
_JSON = {
    "util_gpu": ("utilization.gpu", 100.0),
    "enc": ("utilization.enc", 100.0),
    "dec": ("utilization.dec", 100.0),
    "temp": ("temperature.gpu", 250.0),
    "power_w": ("power.draw", 20_000.0),
    "power_limit_w": ("enforced.power.limit", 20_000.0),
    "mem_used": ("memory.used", 1e9),
    "mem_total": ("memory.total", 1e9),
}
_NOTES = {
    "cut-document": "a JSON document without its end was dropped",
    "cut-row": "the unfinished last line was dropped",
    "no-date": "the header's date is not in the C locale: no time",
}


@dataclass
class _State:
    """What the next block must know."""

    cycle: int = -1
    last_gpu: int = 10**6
    time: float | None = None
    resolution: float | None = None
    starts: list[float] = field(default_factory=list)
    steps: Counter[float] = field(default_factory=Counter)
    hosts: bool = False  # several machines print into this source
    host: str | None = None
    cards: dict[tuple[str | None, int], dict[str, Any]] = field(default_factory=dict)
    first_line: int | None = None
    odd: Counter[str] = field(default_factory=Counter)
    counts: Counts = field(default_factory=Counts)


def _card(state: _State, about: dict[str, Any]) -> None:
    """Keeps what is said of a card, once."""
    name, uuid = about.get("name"), about.get("uuid")
    name = product(name)
    uuid = uuid if uuid and re.match(r"^GPU-[0-9a-fA-F-]{8,40}$", uuid) else None
    state.cards.setdefault((about.get("host"), about["gpu"]), about | {"name": name, "uuid": uuid})


def _step(state: _State, time: float | None) -> None:
    if time is not None:
        if state.starts and time > state.starts[-1]:
            state.steps[round(time - state.starts[-1], 3)] += 1
        state.starts = [time]


def _block(first: int, text: str, state: _State, emit: Emit) -> None:
    """Read one block of text lines."""
    import polars as pl

    frame, cut = numbered_lines(first, text)
    unfinished = (pl.col("line") == frame["line"][-1]) & pl.lit(cut) & ~pl.col("text").str.contains(r"MB$|MB\s*\|.*\)$")
    hit, dated = pl.col("text").str.contains(_ROW), pl.col("text").str.contains(_DATE)
    frame = frame.with_columns(
        how=pl.when(pl.col("text").str.contains(r"^[\W_]*$")).then(pl.lit("noise")).when(hit & unfinished).then(pl.lit("cut"))
        .when(hit).then(pl.lit("row")).when(pl.col("text").str.contains(_NEAR)).then(pl.lit("near")).when(dated).then(pl.lit("date"))
        .otherwise(pl.lit("other"))
    )  # fmt: skip
    g = pl.col("text").str.extract_groups(_DATE)
    day = pl.concat_str(g.struct.field("4"), g.struct.field("1"), g.struct.field("2").str.zfill(2), g.struct.field("3"), separator=" ")
    stamp = day.str.to_datetime("%Y %b %d %H:%M:%S", strict=False).dt.epoch("s").cast(pl.Float64)
    # a date holds for the rows right below it, not for a later round whose header could not be read
    frame = frame.with_columns(mark=pl.when(pl.col("how") == "date").then(stamp), run=(pl.col("how").is_in(["date", "other"])).cum_sum())
    named = pl.when(pl.col("how") == "date").then(pl.col("text").str.extract(_HOST, 1)) if state.hosts else pl.lit(None, pl.String)
    frame = frame.with_columns(time=pl.col("mark").first().over("run"), host=named).with_columns(pl.col("host").first().over("run"))
    sizes = dict(frame["how"].value_counts().iter_rows())
    state.odd["cut-row"] += sizes.get("cut", 0)
    near = frame.filter(pl.col("how") == "near")["line"]
    read = sizes.get("row", 0) + sizes.get("date", 0)
    state.counts.block(len(frame), read, sizes.get("noise", 0), near, "a line of gpustat in an unknown form")
    rows = frame.filter(pl.col("how") == "row")
    if len(rows):
        _rows(rows, first, state, emit)
    if frame["run"][-1] or state.time is None:
        state.time, state.host = frame["time"][-1], frame["host"][-1]


def _rows(rows: pl.DataFrame, first: int, state: _State, emit: Emit) -> None:
    """Typed rows of text lines."""
    import polars as pl

    names = ["g", "name", "temp", "util_gpu", "enc", "dec", "power_w", "power_limit_w", "mem_used", "mem_total", "processes"]
    rows = rows.with_columns(x=pl.col("text").str.extract_groups(_ROW).struct.rename_fields(names)).unnest("x")
    limits = {c: high for c, (_, high) in _JSON.items()}
    numbers = {c: pl.col(c).cast(pl.Float64, strict=False) for c in _SAMPLE_TYPES}
    rows = rows.with_columns(
        pl.col("g").cast(pl.Int32).alias("gpu"), *(pl.when(v <= limits[c]).then(v).alias(c) for c, v in numbers.items()),
        time=pl.when(pl.col("run") == 0).then(pl.lit(state.time, pl.Float64)).otherwise("time"),
        host=pl.when(pl.col("run") == 0).then(pl.lit(state.host, pl.String)).otherwise("host"),
    )  # fmt: skip
    before = pl.col("gpu").shift(1, fill_value=state.last_gpu)
    rows = rows.with_columns(new=pl.col("gpu") <= before)
    rows = rows.with_columns(cycle=pl.col("new").cum_sum().cast(pl.Int64) + state.cycle)
    state.cycle, state.last_gpu = int(rows["cycle"][-1]), int(rows["gpu"][-1])
    state.first_line = state.first_line or int(rows["line"][0])
    for time in rows.filter("new")["time"].drop_nulls():  # one step per round
        state.resolution = 1.0
        _step(state, time)
    for row in rows.unique(["host", "gpu"], keep="first", maintain_order=True).iter_rows(named=True):  # one step per card
        _card(state, {k: row[k] for k in ("line", "host", "gpu", "name", "power_limit_w")} | {"memory_mib": row["mem_total"]})
    emit("gpu_samples", rows.select("line", "host", "gpu", "cycle", "time", *_SAMPLE_TYPES))
    found = (
        rows.select("line", "host", "gpu", "cycle", "time", p=pl.col("processes").fill_null("").str.extract_all(_PROCESS))
        .explode("p")
        .drop_nulls("p")
    )
    if len(found):
        g = pl.col("p").str.extract_groups(_PROCESS)
        emit("gpu_processes", found.select(
            "line", "host", "gpu", "cycle", "time", name=g.struct.field("1").str.replace(r"^[^:]*:", ""), pid=g.struct.field("2").cast(pl.Int64),
            mem_used=g.struct.field("3").cast(pl.Float64, strict=False),
        ))  # fmt: skip


def _documents(text: str, state: _State) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, document) of JSON documents back to back; what is no document is skipped."""
    decoder = json.JSONDecoder()
    at = 0
    line = 1
    counted = 0
    while (start := text.find("{", at)) >= 0:
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            state.odd["cut-document"] += 1
            later = re.compile(r'\{\s*"(?:hostname|driver_version|query_time)"').search(text, start + 1)
            at = later.start() if later else len(text)
            continue
        line += text.count("\n", counted, start)
        counted = start
        if isinstance(found, dict):
            yield line, found
            state.counts.matched += text.count("\n", start, end) + 1
        at = end


def _query_time(value: Any) -> float | None:
    """Seconds of an ISO time; local wall clock where it has no zone."""
    from datetime import UTC, datetime

    try:
        stamp = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()


def _number(value: Any, high: float) -> float | None:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= high
    return float(value) if good else None


def _read_json(text: str, state: _State, emit: Emit) -> None:
    """All documents of a text (small: gpustat writes a kilobyte per card)."""
    import polars as pl

    samples: list[dict[str, Any]] = []
    processes: list[dict[str, Any]] = []
    documents = list(_documents(text, state))
    hosts = {str(d.get("hostname")) for _, d in documents if d.get("hostname")}
    for line, document in documents:
        cards = document.get("gpus")
        if not isinstance(cards, list):
            continue
        time = _query_time(document.get("query_time"))
        state.resolution = 1e-6 if time is not None else state.resolution
        state.cycle += 1
        _step(state, time)
        for place, card in enumerate(c for c in cards if isinstance(c, dict)):
            index = card.get("index")
            at: dict[str, Any] = {
                "line": line,
                "host": str(document["hostname"])[:64] if len(hosts) > 1 and document.get("hostname") else None,
                "gpu": index if isinstance(index, int) and 0 <= index < 4096 else place,
                "cycle": state.cycle,
                "time": time,
            }
            row = at | {c: _number(card.get(k), high) for c, (k, high) in _JSON.items()}
            samples.append(row)
            about = {"name": str(card.get("name")), "uuid": str(card.get("uuid")), "memory_mib": row["mem_total"]}
            _card(state, {k: row[k] for k in ("line", "host", "gpu", "power_limit_w")} | about)
            for p in card.get("processes") or []:
                if isinstance(p, dict) and isinstance(p.get("pid"), int) and 0 <= p["pid"] < 2**31:
                    name = p.get("command") if isinstance(p.get("command"), str) else None
                    processes.append(at | {"pid": p["pid"], "name": name, "mem_used": _number(p.get("gpu_memory_usage"), 1e9)})
    if samples:
        state.first_line = int(samples[0]["line"])
        types = {"line": pl.Int64, "host": pl.String, "gpu": pl.Int32, "cycle": pl.Int64, "time": pl.Float64}
        emit("gpu_samples", pl.DataFrame(samples, schema=types | dict.fromkeys(_SAMPLE_TYPES, pl.Float64)))
        if processes:
            emit("gpu_processes", pl.DataFrame(processes, schema=types | {"pid": pl.Int64, "name": pl.String, "mem_used": pl.Float64}))


def _finish(state: _State, emit: Emit) -> None:
    if state.first_line is not None:
        timed = state.resolution is not None
        send_clock(emit, state.first_line, "local-no-zone" if timed else "none", state.resolution, middle(state.steps.elements()))
        columns = ("line", "host", "gpu", "name", "uuid", "memory_mib", "power_limit_w")
        send_rows(emit, "gpus", list(state.cards.values()), columns)
    send_oddities(emit, state.first_line or 1, state.odd, _NOTES)


_DOCUMENT = """{{
    "hostname": "box-7",
    "driver_version": "580.95.05",
    "query_time": "2026-02-03T04:05:{:02}.250000",
    "gpus": [
        {{"index": 0, "uuid": "GPU-12345678-1234-1234-1234-123456789ab0", "name": "NVIDIA L4", "temperature.gpu": 61, "fan.speed": null,
         "utilization.gpu": 93, "utilization.enc": 0, "power.draw": 70, "enforced.power.limit": 72, "memory.used": 20480,
         "memory.total": 23034, "processes": [{{"username": "u", "command": "serve", "gpu_memory_usage": 20000, "pid": 4100}}]}},
        {{"index": 1, "name": "NVIDIA L4", "temperature.gpu": 33, "utilization.gpu": null, "memory.used": 1, "memory.total": 23034,
         "processes": null}}
    ]
}}
"""
_SAMPLES = (
    Sample(
        text="""box-7                Tue Feb  3 04:05:06 2026  580.95.05
[0] NVIDIA GeForce RTX 3090 | 77°C,  45 %,  96 % (E:  10 %  D:   0 %),  325 / 350 W | 11848 / 24576 MB | u:python/52046(11821M) x/7(?M)
[1] NVIDIA GeForce RTX 3090 | 33'C,   ?? % |     1 / 24576 MB |
box-7                Tue Feb  3 04:05:08 2026  580.95.05
[0] NVIDIA GeForce RTX 3090 | 77°C,  50 %,  97 % (E:  10 %  D:   0 %),  326 / 350 W | 11848 / 24576 MB | u:python/52046(11821M)
""",
        rows={
            "gpu_samples": [
                {
                    "line": 2, "gpu": 0, "cycle": 0, "time": 1770091506.0, "util_gpu": 96.0, "enc": 10.0, "dec": 0.0, "temp": 77.0,
                    "power_w": 325.0, "power_limit_w": 350.0, "mem_used": 11848.0, "mem_total": 24576.0,
                },
                {"line": 3, "gpu": 1, "cycle": 0, "util_gpu": None, "power_w": None, "mem_used": 1.0},
                {"line": 5, "gpu": 0, "cycle": 1, "time": 1770091508.0, "util_gpu": 97.0},
            ],
            "gpu_processes": [{"gpu": 0, "pid": 52046, "name": "python", "mem_used": 11821.0}, {"pid": 7, "mem_used": None}, {"cycle": 1}],
            "gpus": [{"gpu": 0, "name": "NVIDIA GeForce RTX 3090", "power_limit_w": 350.0}, {"gpu": 1}],
            "clocks": [{"kind": "local-no-zone", "resolution_s": 1.0, "interval_s": 2.0}],
        },
        versions="text, 0.3 to 1.1",
    ),
    Sample(
        text=_DOCUMENT.format(6) + _DOCUMENT.format(9) + _DOCUMENT.format(12)[:300],
        rows={
            "gpu_samples": [
                {
                    "line": 1, "gpu": 0, "cycle": 0, "time": 1770091506.25, "util_gpu": 93.0, "temp": 61.0, "power_w": 70.0, "dec": None,
                    "power_limit_w": 72.0, "mem_used": 20480.0, "mem_total": 23034.0,
                },
                {"gpu": 1, "cycle": 0, "util_gpu": None}, {"line": 13, "gpu": 0, "cycle": 1, "time": 1770091509.25}, {"gpu": 1, "cycle": 1},
            ],
            "gpu_processes": [{"gpu": 0, "pid": 4100, "name": "serve", "mem_used": 20000.0}, {"cycle": 1}],
            "clocks": [{"kind": "local-no-zone", "interval_s": 3.0}],
            "quality": [{"kind": "cut-document", "n": 1}],
        },
        versions="--json, several documents",
    ),
)  # fmt: skip
_IS_JSON = re.compile(r'"query_time"\s*:|"utilization\.gpu"\s*:|"enforced\.power\.limit"\s*:')


class Gpustat:
    """`gpustat`."""

    name = "gpustat"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """JSON with gpustat's keys, or a line of its text."""
        head = plain_head(head)
        if head.text.lstrip()[:1] == "{" and '"gpus"' in head.text and len(set(_IS_JSON.findall(head.text))) >= 2:
            return Claim(95, "JSON of gpustat")
        if "MB" not in head.text or not re.search(r"\[[0-9]+\]", head.text):
            return None
        lines = bare_lines(head.text)
        rows = sum(bool(re.match(_ROW, x)) for x in lines)
        if rows:
            foreign = sum(bool(x) and not re.match(rf"{_ROW}", x) and not re.search(_DATE, " " + x) for x in lines[:-1])
            return Claim(90, "lines of gpustat", shares=foreign > rows)
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_samples`, `gpu_processes`, `gpus`, one `clocks` row and `quality` rows."""
        return by_stream(source, emit, self._parse)

    @staticmethod
    def _parse(source: Readable, emit: Emit) -> Counts:
        state = _State()
        if source.head().text.lstrip()[:1] == "{":
            text = "".join(block for _, block in source.blocks())[:MAX_JSON]
            _read_json(text, state, emit)
            lines = text.count("\n") + (not text.endswith("\n") and text != "")
            state.counts.matched = min(state.counts.matched, lines)
            state.counts.other = lines - state.counts.matched
        else:
            state.hosts = len(set(re.findall(rf"(?m){_HOST}", source.head().text))) > 1
            for first, text in source.blocks(BLOCK_BYTES):
                _block(first, text, state, emit)
        _finish(state, emit)
        return state.counts


PARSER = Gpustat()
