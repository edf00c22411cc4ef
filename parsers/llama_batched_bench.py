r"""Results of llama.cpp's `llama-batched-bench` (Markdown table and JSON Lines) and of ik_llama.cpp's `llama-sweep-bench`.

**Reads** `llama-batched-bench -m F -npp 128 -ntg 128 -npl 1,2,4,8 > F` (builds of 2023 to 2026), the same with `--output-format jsonl`,
and `llama-sweep-bench` tables, alone or inside a log.

**`bench_steps`** of batched-bench, one row per line: B sequences are decoded in one batch, in lockstep, in one process.

- `concurrency`, `requests`, `completed`: B (`pl`). `input_len`: PP, `output_len`: TG, `output_tokens`: B times TG, `input_tokens`: B
  times PP, or PP alone where the prompt is shared.
- `aggregate_tok_s`: S_TG, decode of all sequences (`aggregate_counts` output). `total_tok_s`: S, prompts and output over T. `per_stream_tok_s`: TG over T_TG, a decode rate: every
  sequence makes TG tokens in that time. NULL where T_TG is printed as 0.
- `ttft_mean_ms`: T_PP, the time of all prompts together: every sequence waits for it. `wall_s`: T.
- `series`: `pp128 tg128`, with `shared` where the prompt is shared.

of sweep-bench (no B column): one stream with a growing cache. `concurrency` 1, `input_len` N_KV (tokens already there), `output_len`
TG, `series` `n_kv N`: different fillings of the cache are no repetitions. No wall time.

**`server_config`** (server `llama-batched-bench`, from the header line or JSON): n_batch, n_ubatch, n_gpu_layers, flash_attn, kv_tokens; and
always `server`, so that a server's log beside it is not taken for the benchmark's.

**Traps.** Rows whose N_KV does not fit the cache are silently missing. S_TG is the total, not one stream. A row whose columns contradict
each other (N_KV is neither B (PP + TG) nor PP + B TG; S_TG is not B TG / T_TG) is refused: its header belongs to something else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample

__all__ = ["PARSER"]

Row = dict[str, Any]

_BATCHED = ("pp", "tg", "b", "n_kv", "t_pp s", "s_pp t/s", "t_tg s", "s_tg t/s", "t s", "s t/s")
_SWEEP = ("pp", "tg", "n_kv", "t_pp s", "s_pp t/s", "t_tg s", "s_tg t/s")
_HEADER = re.compile(r"(?im)^.{0,40}\|\s*PP\s*\|\s*TG\s*\|(?:\s*B\s*\|)?\s*N_KV\s*\|\s*T_PP s\s*\|")
_JSON = re.compile(r'\{[^{}\n]*"pl": ?\d+[^{}\n]*"speed_tg": ?[\d.]+[^{}\n]*\}')
_SETTINGS = re.compile(r"^(?:main|llama_batched_bench|\w*bench\w*): .*n_kv_max = \d+")
_KEYS = (("n_batch", "n_batch"), ("n_ubatch", "n_ubatch"), ("n_gpu_layers", "n_gpu_layers"), ("n_kv_max", "kv_tokens"))


class _State:
    """What one pass over a source has seen so far."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.columns: tuple[str, ...] | None = None  # of the table the lines are in
        self.shared: bool | None = None
        self.tables = 0
        self.steps: list[Row] = []
        self.config: list[Row] = []
        self.seen: dict[str, int] = {}


def _candidates(block: str, first: int) -> tuple[list[tuple[int, str, bool]], int]:
    """Lines that may be of this format (number, text, whether it is whole), and how many others there are."""
    import polars as pl

    text = pl.Series([block]).str.split("\n").explode()
    complete = len(text) - 1
    text = text.head(complete) if block.endswith("\n") else text
    hit = text.str.contains_any(["|", '"speed_tg"', "n_kv_max = "])
    found = [(first + at, text[at], at < complete) for at in hit.arg_true().to_list()]
    return found, len(text) - len(found)


def _take(line: int, text: str, whole: bool, state: _State) -> None:
    """Sort one line out."""
    body = text.strip()
    if '"speed_tg"' in body:
        _take_json(line, body, state)
    elif _SETTINGS.match(body):
        _take_settings(line, body, whole, state)
    elif body.count("|") >= 8 and body.endswith("|"):
        _take_cells(line, [c.strip().strip("*").strip() for c in body[body.index("|") + 1 : -1].split("|")], state)
    else:
        cut = state.columns is not None and body.startswith("|") and not whole
        state.counts.near(line, "the line is cut") if cut else _other(state)


def _other(state: _State) -> None:
    state.counts.other += 1


def _take_cells(line: int, cells: list[str], state: _State) -> None:
    names = tuple(re.sub(r"\s+", " ", c.lower()) for c in cells)
    if names in (_BATCHED, _SWEEP):
        state.columns, state.tables = names, state.tables + 1
        state.counts.matched += 1
    elif all(re.fullmatch(r":?-+:?", c) for c in cells):
        state.counts.noise += 1
    elif state.columns is None or not re.fullmatch(r"\d+", cells[0]):
        state.columns = None
        _other(state)
    elif len(cells) != len(state.columns):
        state.counts.near(line, "the row does not fit the header of its table")
    else:
        _take_row(line, dict(zip(state.columns, cells)), state)


def _take_row(line: int, cells: dict[str, str], state: _State) -> None:
    keys = {
        "pp": "pp",
        "tg": "tg",
        "b": "b",
        "n_kv": "n_kv",
        "t_pp s": "t_pp",
        "t_tg s": "t_tg",
        "s_tg t/s": "s_tg",
        "t s": "t",
        "s t/s": "s",
    }
    numbers = {key: _num(cells[name]) for name, key in keys.items() if name in cells}
    step = _step(numbers, state.shared) if "b" in numbers else _sweep_step(numbers)
    if step is None:
        state.counts.near(line, "the columns contradict each other, or a number is missing")
        return
    state.counts.matched += 1
    _keep(line, step, state)


def _take_json(line: int, body: str, state: _State) -> None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        state.counts.near(line, "an object that is cut or garbled")
        return
    if not isinstance(value, dict) or "speed_tg" not in value or "pl" not in value:
        _other(state)
        return
    numbers = {k: _num(value.get(k)) for k in ("pp", "tg", "n_kv", "t_pp", "t_tg", "t")}
    numbers |= {"b": _num(value["pl"]), "s_tg": _num(value["speed_tg"]), "s": _num(value.get("speed"))}
    step = _step(numbers, bool(value["is_pp_shared"]) if "is_pp_shared" in value else None)
    if step is None:
        state.counts.near(line, "the keys contradict each other, or a number is missing")
        return
    state.counts.matched += 1
    _keep(line, step, state)
    if not state.config:
        _configure(line, {k: value.get(k) for k in (*dict(_KEYS), "flash_attn")}, state)


def _take_settings(line: int, body: str, whole: bool, state: _State) -> None:
    """`n_kv_max = 2048, n_batch = 2048, n_ubatch = 512, flash_attn = 0, is_pp_shared = 0, n_gpu_layers = 99, ...`"""
    found = dict(re.findall(r"(\w+) = (-?\d+)(?=,|\s|$)", body if whole else body[: body.rfind(",") + 1]))
    state.shared = found["is_pp_shared"] == "1" if "is_pp_shared" in found else None
    state.counts.matched += 1
    _configure(line, found, state)


def _configure(line: int, found: dict[str, Any], state: _State) -> None:
    state.config = []
    for key, name in _KEYS:
        value = _num(found.get(key))
        if value is not None and value == int(value):
            state.config.append({"line": line, "key": name, "value": str(int(value)), "num": value})
    flash = {"0": "disabled", "False": "disabled", "1": "enabled", "True": "enabled", "-1": "auto"}.get(str(found.get("flash_attn")))
    if flash:
        state.config.append({"line": line, "key": "flash_attn", "value": flash, "num": None})


def _num(value: object) -> float | None:
    try:
        number = float(str(value).replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= -1 else None


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= 0.02 * max(abs(a), abs(b))


def _step(n: dict[str, float | None], shared: bool | None) -> Row | None:
    """The step of one row of batched-bench; None where its numbers do not belong together."""
    pp, tg, b, n_kv, s_tg, t_tg = (n.get(k) for k in ("pp", "tg", "b", "n_kv", "s_tg", "t_tg"))
    if pp is None or not tg or not b or n_kv is None or not s_tg or tg < 1 or b < 1 or s_tg <= 0:
        return None
    own, common = b * (pp + tg), pp + b * tg
    if n_kv not in (own, common) or (t_tg and t_tg >= 0.05 and not _near(s_tg, b * tg / t_tg)):
        return None
    is_shared = shared if own == common else n_kv == common
    out: Row = {"concurrency": b, "requests": b, "completed": b, "input_len": pp, "output_len": tg, "output_tokens": b * tg}
    out |= {
        "input_tokens": None if is_shared is None else pp if is_shared else b * pp,
        "aggregate_tok_s": s_tg,
        "aggregate_counts": "output",
    }
    if own == common == n_kv:
        out["input_tokens"] = b * pp  # one sequence, or no prompt: shared or not is the same
    if t_tg:
        out |= {"per_stream_tok_s": tg / t_tg, "per_stream_counts": "decode"}
    out |= {
        "wall_s": n.get("t") or None,
        "total_tok_s": n.get("s") or None,
        "ttft_mean_ms": 1000 * t if pp and (t := n.get("t_pp")) else None,
    }
    return out | {"series": f"pp{pp:.0f} tg{tg:.0f}" + (" shared" if shared or (n_kv == common != own) else "")}


def _sweep_step(n: dict[str, float | None]) -> Row | None:
    """The step of one row of sweep-bench: one stream at a filling of the cache."""
    pp, tg, n_kv, s_tg, t_tg = (n.get(k) for k in ("pp", "tg", "n_kv", "s_tg", "t_tg"))
    if pp is None or not tg or n_kv is None or not s_tg or s_tg <= 0 or not t_tg or not _near(s_tg, tg / t_tg):
        return None
    out: Row = {"concurrency": 1.0, "input_len": n_kv, "output_len": tg, "aggregate_tok_s": s_tg, "aggregate_counts": "output"}
    return out | {"per_stream_tok_s": tg / t_tg, "per_stream_counts": "decode", "series": f"n_kv {n_kv:.0f}"}


def _keep(line: int, step: Row, state: _State) -> None:
    state.seen[step["series"]] = state.seen.get(step["series"], 0) + 1
    state.steps.append({"line": line, "step": state.seen[step["series"]], **step})


_NUMBERS = (
    *(
        "concurrency",
        "requests",
        "completed",
        "wall_s",
        "aggregate_tok_s",
        "total_tok_s",
        "per_stream_tok_s",
        "input_tokens",
        "output_tokens",
    ),
    *("input_len", "output_len", "ttft_mean_ms"),
)


def _finish(state: _State, emit: Emit) -> None:
    import polars as pl

    words = {"line": pl.Int64, "series": pl.String, "step": pl.Int32, "aggregate_counts": pl.String, "per_stream_counts": pl.String}
    if state.steps:
        emit("bench_steps", pl.DataFrame(state.steps, schema=words | dict.fromkeys(_NUMBERS, pl.Float64)))
    if state.steps:
        # it ran in a process of its own, with or without a header line: no server's settings are this one's
        told = [*state.config, {"line": state.steps[0]["line"], "key": "server", "value": "llama-batched-bench"}]
        same = {"server": "llama-batched-bench", "run": 0, "origin": "logged"}
        schema = {"line": pl.Int64, "server": pl.String, "run": pl.Int32, "key": pl.String, "value": pl.String, "num": pl.Float64}
        emit("server_config", pl.DataFrame([{**same, **c} for c in told], schema={**schema, "origin": pl.String}))


_HEAD = """|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
"""

_SAMPLES = (
    Sample(
        text="main: n_kv_max = 4096, n_batch = 2048, n_ubatch = 512, flash_attn = 1, is_pp_shared = 0, n_gpu_layers = 99, n_threads = 8\n\n"
        + _HEAD
        + """|   100 |    200 |    1 |    300 |    0.100 |  1000.00 |    4.000 |    50.00 |    4.100 |    73.17 |
|   100 |    200 |    4 |   1200 |    0.400 |  1000.00 |    8.000 |   100.00 |    8.400 |   142.86 |
""",
        rows={
            "bench_steps": [
                {"line": 5, "series": "pp100 tg200", "concurrency": 1.0, "aggregate_tok_s": 50.0, "per_stream_tok_s": 50.0, "wall_s": 4.1},
                {
                    "line": 6,
                    "concurrency": 4.0,
                    "requests": 4.0,
                    "aggregate_tok_s": 100.0,
                    "aggregate_counts": "output",
                    "total_tok_s": 142.86,
                    "per_stream_tok_s": 25.0,
                    "per_stream_counts": "decode",
                    "input_tokens": 400.0,
                    "output_tokens": 800.0,
                    "ttft_mean_ms": 400.0,
                },
            ],
            "server_config": [
                {"key": "n_batch", "num": 2048.0},
                {"key": "n_ubatch", "num": 512.0},
                {"key": "n_gpu_layers", "num": 99.0},
                {"key": "kv_tokens", "num": 4096.0},
                {"key": "flash_attn", "value": "enabled"},
                {"key": "server", "value": "llama-batched-bench"},
            ],
        },
        versions="2023 to 2026, md",
    ),
    Sample(
        text=_HEAD + "|   100 |    200 |    4 |    900 |    0.100 |  1000.00 |    8.000 |   100.00 |    8.100 |   111.11 |\n",
        rows={"bench_steps": [{"series": "pp100 tg200 shared", "input_tokens": 100.0, "input_len": 100.0, "aggregate_tok_s": 100.0}]},
        versions="any, shared prompt",
    ),
    Sample(
        text='{"n_kv_max": 2048, "n_batch": 2048, "n_ubatch": 512, "flash_attn": 0, "is_pp_shared": 0, "n_gpu_layers": 99, "n_threads": 8, '
        '"n_threads_batch": 8, "pp": 100, "tg": 50, "pl": 2, "n_kv": 300, "t_pp": 0.2, "speed_pp": 1000.0, "t_tg": 2.5, "speed_tg": 40.0, '
        '"t": 2.7, "speed": 111.1}\n',
        rows={
            "bench_steps": [{"concurrency": 2.0, "aggregate_tok_s": 40.0, "per_stream_tok_s": 20.0, "wall_s": 2.7, "output_tokens": 100.0}],
            "server_config": [
                {},
                {},
                {},
                {},
                {"key": "flash_attn", "value": "disabled"},
                {"key": "server", "value": "llama-batched-bench"},
            ],
        },
        versions="b3676 and later, jsonl",
    ),
    Sample(
        text="""main: n_kv_max = 8192, n_batch = 2048, n_ubatch = 512, flash_attn = 1, n_gpu_layers = 99, n_threads = 8, n_threads_batch = 8

|    PP |     TG |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |
|-------|--------|--------|----------|----------|----------|----------|
|   512 |    128 |      0 |    1.000 |   512.00 |    4.000 |    32.00 |
|   512 |    128 |    512 |    1.000 |   512.00 |    5.000 |    25.60 |
""",
        rows={
            "bench_steps": [
                {"series": "n_kv 0", "concurrency": 1.0, "per_stream_tok_s": 32.0, "input_len": 0.0, "wall_s": None},
                {"series": "n_kv 512", "input_len": 512.0, "per_stream_tok_s": 25.6},
            ]
        },
        versions="ik_llama.cpp, sweep-bench",
    ),
)


class LlamaBatchedBench:
    """`llama-batched-bench` and `llama-sweep-bench`."""

    name = "llama-batched-bench"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """The header of the table or the keys of the JSON lines."""
        if _HEADER.search(head.text):
            return Claim(93, "a table of llama-batched-bench or llama-sweep-bench", shares=True)
        if _JSON.search(head.text):
            return Claim(94, "JSON Lines of llama-batched-bench", shares=True)
        if "S_TG t/s" in head.text:
            return Refusal(40, "rows of llama-batched-bench need their header with the columns PP, TG, B and N_KV")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `bench_steps` and `server_config`."""
        state = _State()
        for first, block in source.blocks():
            found, others = _candidates(block, first)
            state.counts.other += others
            for line, text, whole in found:
                _take(line, text, whole, state)
        _finish(state, emit)
        return state.counts


PARSER = LlamaBatchedBench()
