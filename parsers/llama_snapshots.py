r"""Answers of llama-server's `/slots` and `/props`, single or polled.

How to get one: `curl -s localhost:8080/slots > slots.json`, `curl -s localhost:8080/props > props.json`, or
`while true; do date +%s; curl -s localhost:8080/slots; echo; sleep 1; done > slots.jsonl` (`/slots` needs `--slots` in builds 3898 to
6336; behind a router both need `?model=`). Also read: objects of one's own with a list `slots`, `props`, or `metrics` with llama.cpp's
names in it.

Tables
- `server_samples`, one row per answer: running (slots at work, or `requests_processing`), waiting and kv_usage where metrics are in it.
- `server_config`: slots and slots_source (slots page, props page), n_ctx_slot, speculation (on or off), build, quantisation.

Times: a line of `date +%s` before an answer, a number `time`, `ts` or `timestamp` (seconds since 1970) in an object of one's own, else the
time the file was written where it holds one answer. The clock is UTC.

Traps
- `/slots` and `/metrics` wait for the running decode call before build 10429: an answer is late under load.
- Counters of a slot keep the values of its last task; only `is_processing` (`state` before build 4029) tells what runs.
- A list that somebody filtered does not tell the number of slots: its ids have to be 0, 1, 2, ...
- `/props` knows no cards, no split and no offload. Its chat template and every prompt stay out.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from ..engine.parser import MAX_REJECTS, Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.tables import table

__all__ = ["PARSER"]

MAX_CHARS = 64 << 20
Row = dict[str, Any]

_OPENS = re.compile(r"(?m)^[ \t]*(?=[\[{])")
_STAMP = re.compile(r"(?m)^(\d{10}(?:\.\d+)?)[ \t]*$")
_SLOT = re.compile(r'"id":\s*\d+[^{}]*"(?:is_processing|state)":\s*(?:true|false|\d)')
_GAUGES = {
    "llamacpp:requests_processing": "running",
    "llamacpp:requests_deferred": "waiting",
    "llamacpp:kv_cache_usage_ratio": "kv_usage",
}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        return None
    return float(value)


def _slots(value: object) -> list[Row] | None:
    """The slots of an answer of `/slots`; None for any other list."""
    if not isinstance(value, list) or not value:
        return None
    for slot in value:
        if not isinstance(slot, dict) or not isinstance(slot.get("id"), int):
            return None
        if not isinstance(slot.get("is_processing"), bool) and not ("state" in slot and "n_ctx" in slot):
            return None
    return value


def _busy(slot: Row) -> bool:
    return slot["is_processing"] is True if "is_processing" in slot else bool(slot.get("state"))


class _State:
    def __init__(self) -> None:
        self.samples: list[Row] = []
        self.config: dict[tuple[str, str], Row] = {}
        self.documents = 0

    def setting(self, line: int, key: str, value: object) -> None:
        number = _number(value)
        text = f"{number:.0f}" if number is not None else str(value)
        self.config.setdefault((key, text), {"line": line, "key": key, "value": text, "num": number})

    def take(self, line: int, value: object, stamp: float | None) -> bool:
        """Rows of one document; False where it is none of these."""
        known = False
        sample: Row = {"line": line, "time": stamp}
        if isinstance(value, dict):
            known |= self._props(line, value) or self._props(line, value.get("props"))
            known |= self._metrics(value.get("metrics"), sample)
            for name in ("time", "ts", "timestamp"):
                at = _number(value.get(name))
                if at is not None and 1e9 <= at < 1e10:
                    sample["time"] = at
        slots = _slots(value.get("slots") if isinstance(value, dict) else value)
        if slots is not None:
            known = True
            sample.setdefault("running", float(sum(_busy(slot) for slot in slots)))
            self._slots(line, slots)
        if known and len(sample) > 2:
            self.samples.append(sample)
        self.documents += known
        return known

    def _metrics(self, value: object, sample: Row) -> bool:
        if not isinstance(value, dict):
            return False
        found = {column: number for name, column in _GAUGES.items() if (number := _number(value.get(name))) is not None}
        if found.get("kv_usage", 0.0) > 1:
            del found["kv_usage"]
        sample.update(found)
        return bool(found)

    def _slots(self, line: int, slots: list[Row]) -> None:
        ids = sorted(slot["id"] for slot in slots)
        if ids == list(range(len(ids))):
            self.setting(line, "slots", len(ids))
            self.setting(line, "slots_source", "slots page")
        contexts = {slot.get("n_ctx") for slot in slots}
        if len(contexts) == 1 and _number(next(iter(contexts))):
            self.setting(line, "n_ctx_slot", next(iter(contexts)))
        speculative = {slot.get("speculative") for slot in slots}
        if len(speculative) == 1 and isinstance(next(iter(speculative)), bool):
            self.setting(line, "speculation", "on" if True in speculative else "off")

    def _props(self, line: int, value: object) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("default_generation_settings"), dict):
            return False
        total, context = _number(value.get("total_slots")), _number(value["default_generation_settings"].get("n_ctx"))
        if total is None and context is None:
            return False
        if total:
            self.setting(line, "slots", total)
            self.setting(line, "slots_source", "props page")
        if context:
            self.setting(line, "n_ctx_slot", context)
        build = re.fullmatch(r"b(\d{3,6})-[0-9a-f]{7,12}", str(value.get("build_info") or ""))
        if build:
            self.setting(line, "build", int(build[1]))
        kind = str(value.get("model_ftype") or "")
        if re.fullmatch(r"[A-Z][A-Z0-9_]{1,11}(?: - (?:Small|Medium|Large|Extra Large))?", kind):
            self.setting(line, "quantisation", kind)
        return True


def _documents(text: str) -> Iterator[tuple[int, int, object, bool]]:
    """(start, end, value, whole) of the JSON values that begin at the start of a line."""
    decode, at = json.JSONDecoder().raw_decode, 0
    while (start := _OPENS.search(text, at)) is not None:
        try:
            value, end = decode(text, start.end())
        except (ValueError, RecursionError):
            at = text.find("\n", start.end()) + 1 or len(text)
            yield start.end(), start.end(), None, False
            continue
        at = end
        yield start.end(), end, value, True


def _written(source: Readable) -> tuple[float, float, str] | None:
    """(last write, resolution, clock) where the collector trusts it."""
    if source.mtime is None or source.mtime_kind not in ("filesystem", "archive", "listing"):
        return None
    return source.mtime, source.mtime_resolution_s or 1.0, getattr(source, "mtime_clock", "utc")


def _read(source: Readable) -> tuple[str, int]:
    parts, chars, lines, last = [], 0, 0, "\n"
    for _, block in source.blocks():
        if chars < MAX_CHARS:
            parts.append(block)
            chars += len(block)
        lines += block.count("\n")
        last = block[-1:] or last
    return "".join(parts), lines + (last != "\n")


def _parse(text: str, lines: int) -> tuple[_State, Counts]:
    """Documents in order; lines end as matched (of a document), noise (blank), near miss or other."""
    breaks = [m.start() for m in re.finditer("\n", text)]
    how: dict[int, str] = {n: "noise" for n, line in enumerate(text.split("\n")[:lines], start=1) if not line.strip()}
    state, counts, at = _State(), Counts(), 0
    for start, end, value, whole in _documents(text):
        line = bisect_left(breaks, start) + 1
        stamps = list(_STAMP.finditer(text, at, start))
        stamp = float(stamps[-1][1]) if stamps else None
        if whole and state.take(line, value, stamp):
            for number in range(line, bisect_left(breaks, max(end - 1, start)) + 2):
                how[number] = "matched"
            for match in stamps[-1:]:
                how[bisect_left(breaks, match.start()) + 1] = "matched"
        elif not whole and _SLOT.search(text[start : start + 2000]):
            how[line] = "near_miss"
            counts.rejects.append((line, "an answer that is cut or garbled"))
        at = end
    for kind in how.values():
        setattr(counts, kind, getattr(counts, kind) + 1)
    counts.rejects = counts.rejects[:MAX_REJECTS]
    counts.other = lines - len(how)
    return state, counts


def _emit(emit: Emit, target: str, rows: list[Row]) -> None:
    import polars as pl

    if not rows:
        return
    types = {"DOUBLE": pl.Float64, "VARCHAR": pl.String, "INTEGER": pl.Int32, "BIGINT": pl.Int64, "BOOLEAN": pl.Boolean}
    used = {key for row in rows for key in row}
    schema = {c.name: types[c.type] for c in table(target).columns if c.name in used}
    emit(target, pl.DataFrame([{k: row.get(k) for k in schema} for row in rows], schema=schema))


def _clock(source: Readable, state: _State) -> Row | None:
    """The row of `clocks`; gives a single answer the time of its file."""
    written, line = _written(source), min((row["line"] for row in state.samples), default=1)
    if any(row["time"] is not None for row in state.samples):
        return {"line": line, "kind": "utc", "resolution_s": 1.0}
    if len(state.samples) == 1 and state.documents == 1 and written is not None:
        state.samples[0]["time"] = written[0]
        return {"line": line, "kind": written[2], "resolution_s": written[1], "method": "file time"}
    return {"line": line, "kind": "none"} if state.documents else None


_SAMPLES = (
    Sample(
        text='[{"id":0,"n_ctx":4096,"speculative":false,"is_processing":true,"id_task":506,"n_prompt_tokens":2412,"next_token":'
        '[{"has_next_token":true,"n_remain":96,"n_decoded":7}]},{"id":1,"n_ctx":4096,"speculative":false,"is_processing":false}]\n',
        rows={
            "server_samples": [{"line": 1, "server": "llama.cpp", "running": 1.0, "time": None}],
            "server_config": [
                {"key": "slots", "num": 2.0, "origin": "logged"},
                {"key": "slots_source", "value": "slots page"},
                {"key": "n_ctx_slot", "num": 4096.0},
                {"key": "speculation", "value": "off"},
            ],
            "clocks": [{"kind": "none"}],
        },
        versions="b4029 and later, /slots",
        name="slots.json",
    ),
    Sample(
        text='1789000000\n[{"id":0,"n_ctx":2048,"state":1,"prompt":"private words"}]\n1789000001\n[{"id":0,"n_ctx":2048,"state":0}]\n',
        rows={
            "server_samples": [{"time": 1789000000.0, "running": 1.0}, {"time": 1789000001.0, "running": 0.0}],
            "clocks": [{"kind": "utc", "resolution_s": 1.0}],
        },
        versions="before b4029, polled with date +%s",
    ),
    Sample(
        text='{\n  "default_generation_settings": {"n_ctx": 8192, "params": {}},\n  "total_slots": 4,\n  "model_path": "/models/x.gguf",\n'
        '  "model_ftype": "Q4_K - Medium",\n  "chat_template": "x",\n  "build_info": "b10566-bb4caa754"\n}\n',
        rows={
            "server_samples": [],
            "server_config": [
                {"line": 1, "key": "slots", "num": 4.0},
                {"key": "slots_source", "value": "props page"},
                {"key": "n_ctx_slot", "num": 8192.0},
                {"key": "build", "num": 10566.0},
                {"key": "quantisation", "value": "Q4_K - Medium"},
            ],
        },
        versions="b2086 and later, /props",
        name="props.json",
    ),
    Sample(
        text='{"ts":1789000000.5,"metrics":{"llamacpp:requests_processing":2.0,"llamacpp:requests_deferred":1.0},"slots":['
        '{"id":0,"is_processing":true},{"id":1,"is_processing":true}]}\n',
        rows={"server_samples": [{"time": 1789000000.5, "running": 2.0, "waiting": 1.0}], "server_config": [{"num": 2.0}, {}]},
        versions="2026, a poller of one's own",
    ),
)


class LlamaSnapshots:
    """`/slots` and `/props` of llama-server."""

    name = "llama-snapshots"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """Keys that only these answers have, in a JSON text."""
        text = head.text.lstrip()
        if not _OPENS.match(text) and not (_STAMP.match(text) and _OPENS.search(text)):
            return None
        if _SLOT.search(text) and ('"n_ctx"' in text or '"slots"' in text):
            return Claim(92, "answers of llama-server's /slots")
        if '"total_slots"' in text and '"default_generation_settings"' in text:
            return Claim(92, "an answer of llama-server's /props")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `server_samples`, `server_config` and one `clocks` row."""
        state, counts = _parse(*_read(source))
        clock = _clock(source, state)
        _emit(emit, "clocks", [clock] if clock else [])
        common = {"server": "llama.cpp", "run": 0}
        _emit(emit, "server_samples", [{**common, **row} for row in state.samples])
        _emit(emit, "server_config", [{**common, **row, "origin": "logged"} for row in state.config.values()])
        return counts


PARSER = LlamaSnapshots()
