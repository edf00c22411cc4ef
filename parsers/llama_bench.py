r"""Results of llama.cpp's `llama-bench`: all five output formats, one run or many behind each other.

**Reads** `llama-bench ... -o md|csv|json|jsonl|sql > F` (Markdown is the default; device lines of stderr between the tables do not
matter), builds of 2023-08 to 2026 and ik_llama.cpp. Columns are found by name: Markdown prints only those that are not at their default,
builds 5212 to 5220 write a CSV header that does not fit its rows (refused), and every year adds columns.

**`bench_steps`**, one row per test that generates, always `concurrency` 1: llama-bench runs one sequence.

- `tgN`: `per_stream_tok_s` and `aggregate_tok_s` are the mean rate over the repetitions; decode only, no prompt, no sampling.
  `output_len` N, `input_len` the depth (`@ dN`: tokens already in the cache).
- `ppN+tgM`: `aggregate_tok_s` counts both (`aggregate_counts` total); no rate of a stream.
- `ppN` alone has no column: prompt rates are counted as read and left out.
- `started_at`: `test_time` where it is printed (UTC, whole seconds, before the warm-up). No wall time: the warm-up is not in it.
- `series`: the test and the settings that differ inside the file (rows of equal settings are repetitions).

**`server_config`** (server `llama-bench`; `run` counts the distinct settings): build, n_gpu_layers, n_cpu_moe, tensor_overrides (`some`), flash_attn, n_batch, n_ubatch,
n_threads, split. The printed split mode is `layer` even on one card, so split is told only where two or more devices are known to take
part (names in `gpu_info`, or `Device N:` lines above a Markdown table). Its origin is `estimated`: it holds for the benchmark's own process,
and a server in the same folder may have been started otherwise.
**`models`**: parameters, file size, bits per weight (size over parameters), architecture and quantisation of the model type.
**`gpus`**: the names in `gpu_info` (Markdown names none).

**Traps.** The rates leave out sampling and tokenisation: a server's single stream is normally slower. A mean of few repetitions hides a
first one that was slow.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from ..engine.parser import MAX_REJECTS, Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.tables import table

__all__ = ["PARSER"]

MAX_CHARS = 64 << 20  # of one source; the rest is counted and left out

Row = dict[str, Any]

_MD_HEADER = re.compile(r"(?im)^[ \t>]*\|\s*model\s*\|.*\|\s*test\s*\|\s*t/s\s*\|[ \t]*$")
_CSV_HEADER = re.compile(r'(?m)^"?build_commit"?,.*\bn_gen\b.*\bavg_ts\b.*$')
_SQL = re.compile(r"(?m)^INSERT INTO \w+ \((build_commit, [\w, ]*\bavg_ts\b[\w, ]*)\) VALUES \((.*)\);[ \t]*$")
_TABLE_LINE = re.compile(r"(?m)^[ \t>]*\|(.*)\|[ \t]*$")
_TEST = re.compile(r"(?:pp ?(\d{1,7}))?\+?(?:tg ?(\d{1,7}))?(?: ?@ ?d(\d{1,8}))?")
_DEVICE = re.compile(r"(?m)^\s+Device (\d+): \S.*, (?:compute capability|gfx)")
_FOOTER = re.compile(r"(?m)^build: (?!0+\b)[0-9a-f]{7,12} \((\d{1,6})\)[ \t]*$")
_MD_NAMES = {
    "ngl": "n_gpu_layers",
    "sm": "split_mode",
    "fa": "flash_attn",
    "ts": "tensor_split",
    "dev": "devices",
    "threads": "n_threads",
    "ot": "tensor_buft_overrides",
}
_MODEL = re.compile(r"([\w.+-]+) (?:[^|]{0,40}? )?([\d.x]+[BMTK](?:\.A[\d.]+B)?|\?B) (?:mostly )?(.+)")
_SERIES = (
    ("n_gpu_layers", "ngl"),
    ("n_cpu_moe", "cpu moe"),
    ("flash_attn", "fa"),
    ("split_mode", "sm"),
    ("tensor_split", "ts"),
    ("type_k", "k"),
    ("type_v", "v"),
    ("n_batch", "batch"),
    ("n_ubatch", "ubatch"),
    ("n_threads", "threads"),
    ("build_number", "build"),
)


def _num(row: Row, key: str) -> float | None:
    """A finite number of a cell, whatever its type."""
    try:
        value = float(str(row[key]).strip())
    except (KeyError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _whole(row: Row, key: str) -> int | None:
    value = _num(row, key)
    return int(value) if value is not None and value == int(value) and abs(value) < 1e15 else None


class _Reader:
    """One source: the rows of all formats in it, and how its lines end."""

    def __init__(self, source: Readable) -> None:
        parts, chars, self.lines, last = [], 0, 0, "\n"
        for _, block in source.blocks():
            if chars < MAX_CHARS:
                parts.append(block)
                chars += len(block)
            self.lines += block.count("\n")
            last = block[-1:] or last
        self.text = "".join(parts)
        self.lines += last != "\n"
        self.how: dict[int, str] = {}
        self.rejects: list[tuple[int, str]] = []
        self._breaks: list[int] = [m.start() for m in re.finditer("\n", self.text)]

    def line(self, at: int) -> int:
        from bisect import bisect_left

        return bisect_left(self._breaks, at) + 1

    def near(self, line: int, reason: str) -> None:
        self.how[line] = "near_miss"
        if len(self.rejects) < MAX_REJECTS:
            self.rejects.append((line, reason))

    def counts(self) -> Counts:
        counts = Counts(rejects=sorted(self.rejects))
        for how in self.how.values():
            setattr(counts, how, getattr(counts, how) + 1)
        counts.other = self.lines - len(self.how)
        return counts

    def rows(self) -> list[Row]:
        """All results, in order, each with its line."""
        found = [*self._markdown(), *self._csv(), *self._sql(), *self._json()]
        return sorted(found, key=lambda r: r["line"])

    def _markdown(self) -> Iterator[Row]:
        header: list[str] | None = None
        before: list[str] | None = None
        build, highest = _FOOTER.search(self.text), max((int(m[1]) for m in _DEVICE.finditer(self.text)), default=0)
        builds = {m[1] for m in _FOOTER.finditer(self.text)}
        for match in _TABLE_LINE.finditer(self.text):
            line = self.line(match.start(1))
            cells = [c.replace("**", "").strip() for c in match[1].split("|")]
            if all(re.fullmatch(r":?-+:?", c) for c in cells):
                names = [c.lower() for c in before or []]
                header = [_MD_NAMES.get(n, n) for n in names] if {"model", "test", "t/s"} <= set(names) else None
                if header:
                    self.how[line] = "noise"
                    self.how[line - 1] = "matched"
            elif header:
                row = self._markdown_row(header, cells, line)
                if row is not None:
                    if build is not None and len(builds) == 1:
                        row["build_number"] = build[1]
                    yield {**row, "n_devices": highest + 1 if highest else None}
            before = cells
        if header or self.how:
            for match in _FOOTER.finditer(self.text):
                self.how[self.line(match.start())] = "matched"

    def _markdown_row(self, header: list[str], cells: list[str], line: int) -> Row | None:
        row: Row = dict(zip(header, cells))
        if len(cells) != len(header):
            self.near(line, "the row does not fit the header of its table")
            return None
        test, rate = _TEST.fullmatch(row["test"]), re.match(r"(\d+(?:\.\d+)?)(?:\s|$)", row["t/s"])
        if test is None or not (test[1] or test[2]) or rate is None:
            if row["model"].lower() != "model":
                self.near(line, "no test or no rate")
            return None
        self.how[line] = "matched"
        row |= {"n_prompt": test[1] or "0", "n_gen": test[2] or "0", "n_depth": test[3] or "0", "avg_ts": rate[1]}
        row |= {"line": line, "printed": "md", "model_type": row["model"], "model_size": _bytes(row.get("size", ""))}
        params = re.fullmatch(r"([\d.]+) ([TBM])", row.get("params", ""))
        row["model_n_params"] = float(params[1]) * {"T": 1e12, "B": 1e9, "M": 1e6}[params[2]] if params else None
        return row

    def _csv(self) -> Iterator[Row]:
        """Every header begins a table that goes on as long as lines begin with a quote."""
        for match in _CSV_HEADER.finditer(self.text):
            names = [n.strip('"') for n in match[0].split(",")]
            first = self.line(match.start())
            self.how[first] = "matched"
            at, line = match.end() + 1, first + 1
            while self.text.startswith('"', at) and not self.text.startswith('"build_commit"', at):
                end = self.text.find("\n", at)
                piece = self.text[at : end if end >= 0 else len(self.text)]
                yield from self._cells(names, piece, line)
                at, line = (end + 1, line + 1) if end >= 0 else (len(self.text), line)

    def _cells(self, names: list[str], piece: str, line: int) -> Iterator[Row]:
        try:
            cells = next(csv.reader(io.StringIO(piece), strict=True), [])
        except csv.Error:
            cells = []
        if len(cells) != len(names) or len(set(names)) != len(names) or not piece.rstrip().endswith('"'):
            self.near(line, "the row does not fit its header (builds 5212 to 5220 print it broken), or it is cut")
            return
        self.how[line] = "matched"
        yield {**dict(zip(names, cells)), "line": line}

    def _sql(self) -> Iterator[Row]:
        for match in _SQL.finditer(self.text):
            line = self.line(match.start())
            values = re.findall(r"'((?:[^']|'')*)'", match[2])
            names = match[1].split(", ")
            if len(values) != len(names):
                self.near(line, "as many values as columns")
                continue
            self.how[line] = "matched"
            yield {**dict(zip(names, values)), "line": line}

    def _json(self) -> Iterator[Row]:
        """Objects of a list or of a line each."""
        decode, at, last = json.JSONDecoder().raw_decode, 0, self.text.rfind('"avg_ts"')
        opens = re.compile(r"(?m)^[ \t,\[]*(?=\{)")
        while at < last and (start := opens.search(self.text, at)):
            first = self.line(start.end())
            try:
                value, at = decode(self.text, start.end())
            except (ValueError, RecursionError):
                at = start.end() + 1
                if "build_commit" in self.text[at : at + 200]:
                    self.near(first, "an object that is cut or garbled")
                continue
            if isinstance(value, dict) and {"n_gen", "avg_ts"} <= set(value):
                for line in range(first, self.line(at) + 1):
                    self.how[line] = "matched"
                yield {**value, "line": first}


def _bytes(text: str) -> float | None:
    match = re.fullmatch(r"([\d.]+) (GiB|MiB)", text)
    return float(match[1]) * (2**30 if match[2] == "GiB" else 2**20) if match else None


def _settings(row: Row) -> dict[str, str]:
    """The settings a row prints, by the short word for them."""
    found = {short: str(row[key]) for key, short in _SERIES if row.get(key) not in (None, "")}
    return found | ({"gpus": str(row["n_devices"])} if row.get("n_devices") else {})


def _name_series(steps: list[tuple[Row, Row]]) -> None:
    """Name the series of steps (step, row): the test and what else differs inside the file. Equal ones are repetitions."""
    models = list(dict.fromkeys(str(row.get("model_type")) for _, row in steps))
    settings = [_settings(row) for _, row in steps]
    differing = [short for _, short in _SERIES if len({s.get(short) for s in settings}) > 1]
    seen: dict[str, int] = {}
    for (step, row), own in zip(steps, settings):
        words = [f"model {models.index(str(row.get('model_type'))) + 1}"] if len(models) > 1 else []
        words += [step["series"], *(f"{short} {own.get(short, 'default')}" for short in differing)]
        step["series"] = name = ", ".join(words)
        step["step"] = seen[name] = seen.get(name, 0) + 1


def _step(row: Row) -> Row | None:
    """The step of one result; None for a prompt test or a rate that is none."""
    made, prompt, rate = _whole(row, "n_gen"), _whole(row, "n_prompt"), _num(row, "avg_ts")
    if not made or rate is None or rate <= 0 or prompt is None:
        return None
    depth = _whole(row, "n_depth") or 0
    test = (f"pp{prompt}+" if prompt else "") + f"tg{made}" + (f" d{depth}" if depth else "")
    out: Row = {"line": row["line"], "series": test, "concurrency": 1.0, "aggregate_tok_s": rate, "output_len": float(made)}
    out["input_len"] = float(depth + prompt)
    out["aggregate_counts"] = "total" if prompt else "output"
    if not prompt:
        out |= {"per_stream_tok_s": rate, "per_stream_counts": "decode"}
    try:
        out["started_at"] = (
            datetime.fromisoformat(str(row["test_time"])).timestamp() if str(row.get("test_time", "")).endswith("Z") else None
        )
    except ValueError:
        out["started_at"] = None
    return out


def _devices(row: Row) -> list[str]:
    names = [name.strip() for name in str(row.get("gpu_info") or "").split(",")]
    return [name for name in names if name and len(name) <= 80]


def _split(row: Row) -> str | None:
    """How the model lay on the cards; None where it cannot be told."""
    mode = str(row.get("split_mode") or "layer")
    layers = _num(row, "n_gpu_layers")
    if layers == 0 or mode not in ("layer", "row", "tensor", "none"):
        return None
    n = len(_devices(row)) or int(row.get("n_devices") or 0)
    named = str(row.get("devices") or "auto")
    if named not in ("auto", ""):
        n = 0 if named == "none" else len(named.split("/"))
    shares = [s for s in str(row.get("tensor_split") or "").split("/") if (_num({"s": s}, "s") or 0) > 0]
    n = min(n, len(shares)) if shares else n
    elsewhere = "RPC" in str(row.get("backends") or row.get("backend") or "")
    if n == 0 or (n == 1 and elsewhere):
        return None
    return "none" if n == 1 else mode


_WORD = {"0": "disabled", "1": "enabled", "-1": "auto", "false": "disabled", "true": "enabled", "off": "disabled", "on": "enabled"}


def _config(row: Row, run: int) -> list[Row]:
    out: list[Row] = []
    for key, name in (("build_number", "build"), *((k, k) for k in ("n_gpu_layers", "n_cpu_moe", "n_batch", "n_ubatch", "n_threads"))):
        value = _whole(row, key)
        if value is not None and (key != "build_number" or value > 1):
            out.append({"key": name, "value": str(value), "num": float(value)})
    flash = str(row.get("flash_attn", "")).lower()
    if flash in (*_WORD, "auto"):
        out.append({"key": "flash_attn", "value": _WORD.get(flash, flash)})
    if str(row.get("tensor_buft_overrides") or "none").strip().lower() not in ("none", "[none]", "default", "-"):
        out.append({"key": "tensor_overrides", "value": "some"})
    split = _split(row)
    if split is not None:
        # sure for the benchmark's own process, but a server beside it may have split otherwise: never good enough to confirm
        out.append({"key": "split", "value": split, "origin": "estimated"})
    return [{"origin": "logged", **o, "line": row["line"], "server": "llama-bench", "run": run} for o in out]


def _model(row: Row, run: int) -> Row | None:
    params, size = _num(row, "model_n_params"), _num(row, "model_size")
    match = _MODEL.fullmatch(str(row.get("model_type") or ""))
    if not params or params <= 0:
        return None
    out = {"line": row["line"], "run": run, "section": 0, "params_total_b": params / 1e9, "file_bytes": size}
    out["bits_per_weight"] = 8 * size / params if size else None
    return out | ({"arch": match[1], "quantisation": match[3]} if match else {})


def _emit(emit: Emit, target: str, rows: list[Row]) -> None:
    """Rows as declared columns of a table; `server_config` and others keep only what they have."""
    import polars as pl

    if not rows:
        return
    types = {"DOUBLE": pl.Float64, "VARCHAR": pl.String, "INTEGER": pl.Int32, "BIGINT": pl.Int64, "BOOLEAN": pl.Boolean}
    used = {key for row in rows for key in row}
    schema = {c.name: types[c.type] for c in table(target).columns if c.name in used}
    emit(target, pl.DataFrame([{k: row.get(k) for k in schema} for row in rows], schema=schema, strict=False))


def _emit_all(rows: list[Row], emit: Emit) -> None:
    runs: dict[str, int] = {}
    config, models, gpus = [], [], []
    tested: list[tuple[Row, Row]] = []
    for row in rows:
        key = repr([row.get(k) for k in ("model_type", "gpu_info", "devices", "build_number")] + [_settings(row)])
        if key not in runs:
            runs[key] = len(runs)
            config += _config(row, runs[key])
            model = _model(row, runs[key])
            models += [model] if model else []
        if (step := _step(row)) is not None:
            tested.append((step, row))
        gpus.append((tuple(_devices(row)), row["line"]))
    _name_series(tested)
    steps = [step for step, _ in tested]
    cards, line = max(gpus, key=lambda g: len(g[0]), default=((), 0))
    timed = [s for s in steps if s.get("started_at") is not None]
    if timed:
        _emit(emit, "clocks", [{"line": timed[0]["line"], "kind": "utc", "resolution_s": 1.0}])
    _emit(emit, "bench_steps", steps)
    _emit(emit, "server_config", config)
    _emit(emit, "models", models)
    _emit(emit, "gpus", [{"line": line, "name": name} for name in cards])


_COLUMNS = (
    "build_commit,build_number,gpu_info,model_type,model_size,model_n_params,n_gpu_layers,split_mode,flash_attn,n_prompt,n_gen,avg_ts"
)

_SAMPLES = (
    Sample(
        text="""ggml_init_cublas: found 2 CUDA devices:
  Device 0: NVIDIA A10, compute capability 8.6
  Device 1: NVIDIA A10, compute capability 8.6
| model                          |       size |     params | backend    | ngl | test       |              t/s |
| ------------------------------ | ---------: | ---------: | ---------- | --: | ---------- | ---------------: |
| llama 7B mostly Q4_0           |   3.50 GiB |     7.00 B | CUDA       |  99 | pp 512     |   2100.10 ± 3.10 |
| llama 7B mostly Q4_0           |   3.50 GiB |     7.00 B | CUDA       |  99 | tg 128     |     61.25 ± 0.40 |

build: 1a2b3c4d (1500)
""",
        rows={
            "bench_steps": [
                {
                    "line": 7,
                    "series": "tg128",
                    "concurrency": 1.0,
                    "per_stream_tok_s": 61.25,
                    "per_stream_counts": "decode",
                    "aggregate_counts": "output",
                    "output_len": 128.0,
                    "input_len": 0.0,
                }
            ],
            "server_config": [
                {"key": "build", "num": 1500.0},
                {"key": "n_gpu_layers", "num": 99.0},
                {"key": "split", "value": "layer", "origin": "estimated"},
            ],
            "models": [{"params_total_b": 7.0, "file_bytes": 3.5 * 2**30, "arch": "llama"}],
        },
        versions="2023, md",
    ),
    Sample(
        text="""| model                 |     size |   params | backend | ngl |   sm | fa | test           |              t/s |
| --------------------- | -------: | -------: | ------- | --: | ---: | -: | -------------: | ---------------: |
| qwen3 8B Q8_0         | 8.00 GiB |   8.00 B | CUDA    |  99 |  row |  1 |  tg128 @ d4096 |   **90.5** ┬▒ 0.3 |
| qwen3 8B Q8_0         | 8.00 GiB |   8.00 B | CUDA    |  99 |  row |  1 |    pp512+tg128 |    301.00 ± 1.00 |
""",
        rows={
            "bench_steps": [
                {"line": 3, "per_stream_tok_s": 90.5, "input_len": 4096.0},
                {"line": 4, "per_stream_tok_s": None, "aggregate_tok_s": 301.0, "aggregate_counts": "total", "input_len": 512.0},
            ],
            "server_config": [{"key": "n_gpu_layers"}, {"key": "flash_attn", "value": "enabled"}],
        },
        versions="2025, md, console of Windows",
    ),
    Sample(
        text=_COLUMNS
        + """
"0a0b0c0d","5163","NVIDIA L4, NVIDIA L4","gemma3 4B Q4_K - Medium","2500000000","4000000000","-1","row","-1","512","0","4000.5"
"0a0b0c0d","5163","NVIDIA L4, NVIDIA L4","gemma3 4B Q4_K - Medium","2500000000","4000000000","-1","row","-1","0","64","55.25"
""",
        rows={
            "bench_steps": [{"line": 3, "per_stream_tok_s": 55.25, "output_len": 64.0}],
            "server_config": [
                {"key": "build", "num": 5163.0},
                {"key": "n_gpu_layers", "num": -1.0},
                {"key": "flash_attn", "value": "auto"},
                {"key": "split", "value": "row", "origin": "estimated"},
            ],
            "models": [{"bits_per_weight": 5.0, "arch": "gemma3", "quantisation": "Q4_K - Medium"}],
            "gpus": [{"name": "NVIDIA L4"}, {"name": "NVIDIA L4"}],
        },
        versions="any, csv",
    ),
    Sample(
        text="""[
  {
    "build_commit": "0a0b0c0d",
    "build_number": 5470,
    "gpu_info": "NVIDIA L4",
    "model_type": "llama 8B F16",
    "model_size": 16000000000,
    "model_n_params": 8000000000,
    "n_gpu_layers": 99,
    "split_mode": "layer",
    "flash_attn": false,
    "n_prompt": 0,
    "n_gen": 32,
    "n_depth": 0,
    "test_time": "2025-04-24T11:58:51Z",
    "avg_ts": 17.5
  }
]
""",
        rows={
            "bench_steps": [{"line": 2, "per_stream_tok_s": 17.5, "started_at": 1745495931.0, "wall_s": None}],
            "server_config": [
                {"key": "build"},
                {"key": "n_gpu_layers"},
                {"key": "flash_attn", "value": "disabled"},
                {"key": "split", "value": "none"},
            ],
            "clocks": [{"kind": "utc", "resolution_s": 1.0}],
        },
        versions="2024 to 2026, json",
    ),
    Sample(
        text="""{"build_commit": "0a0b0c0d", "build_number": 10200, "model_type": "llama 8B F16", "n_prompt":0, "n_gen": 32, "avg_ts": 18.5}
{"build_commit": "0a0b0c0d", "build_number": 10200, "model_type": "llama 8B F16", "n_prompt":0, "n_gen": 32, "avg_ts": 1
""",
        rows={"bench_steps": [{"line": 1, "per_stream_tok_s": 18.5}]},
        versions="b3661 and later, jsonl; the last line is cut",
    ),
    Sample(
        text="CREATE TABLE IF NOT EXISTS llama_bench (\n  build_commit TEXT,\n  avg_ts REAL\n);\n\n"
        "INSERT INTO llama_bench (build_commit, model_type, n_prompt, n_gen, avg_ts) VALUES "
        "('0a0b0c0d', 'llama 8B F16', '0', '32', '19.5');\n",
        rows={"bench_steps": [{"line": 6, "per_stream_tok_s": 19.5, "output_len": 32.0}]},
        versions="any, sql",
    ),
)


class LlamaBench:
    """`llama-bench`."""

    name = "llama-bench"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """The header or the keys that only llama-bench writes."""
        text = head.text
        if _MD_HEADER.search(text):
            return Claim(92, "a table of llama-bench", shares=True)
        if _CSV_HEADER.search(text):
            return Claim(96, "the CSV header of llama-bench", shares=True)
        if _SQL.search(text):
            return Claim(96, "SQL of llama-bench")
        if '"avg_ts"' in text and '"n_gen"' in text and '"build_commit"' in text:
            return Claim(96, "JSON of llama-bench")
        if "build_commit" in text and "avg_ts" in text:
            return Refusal(40, "words of llama-bench, but neither its header nor a whole object")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `bench_steps`, `server_config`, `models`, `gpus` and one `clocks` row where times are printed."""
        reader = _Reader(source)
        _emit_all(reader.rows(), emit)
        return reader.counts()


PARSER = LlamaBench()
