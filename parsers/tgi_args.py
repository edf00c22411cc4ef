"""The arguments that TGI's launcher prints over several lines (2.0 and later): the values in `Some(`, which stand on a line of their own.

**Reads** what Rust prints for `Args` in its long form, anywhere in a launcher's log:

    2025-02-01T10:00:00.000001Z  INFO text_generation_launcher: Args {
        num_shard: Some(
            2,
        ),
        max_concurrent_requests: 128,
    }

Everything else of such a log, plain arguments among it, is read by tgi-server, whose page says what the keys mean; this parser adds the
values that a line log cannot: each line alone is a bare number.

**`server_config`** (server tgi): tensor_parallel, split, quantisation, speculation, draft_tokens, n_ctx_slot, max_batch_prefill_tokens,
max_batch_size, slots, slots_source, kv_tokens (of the argument, where the log below does not say `Setting max batch total tokens to`).

**Traps.** Names, paths, hosts and tokens stand among the arguments: only the keys above are looked at. A list that is cut gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_rows
from ..engine.streams import by_stream, plain_head

__all__ = ["PARSER"]

MAX_ARGS = 1 << 15  # characters of one list of arguments
_START = "text_generation_launcher: Args {"
_LIST = re.compile(rf"(?m)^[^\"\n]{{0,120}}{re.escape(_START)}\r?\n((?: {{4,}}[^\n]*\n)+)\}}\r?$")
_SOME = re.compile(r"(?m)^ {4}(\w+): Some\(\r?\n {8}([\w.]{1,40}),\r?\n {4}\),")
_BUDGET = "Setting max batch total tokens to "
_NUMBERS = {
    "num_shard": "tensor_parallel",
    "max_total_tokens": "n_ctx_slot",
    "max_batch_prefill_tokens": "max_batch_prefill_tokens",
    "max_batch_size": "max_batch_size",
    "max_batch_total_tokens": "kv_tokens",
    "speculate": "draft_tokens",
}


@dataclass
class _Run:
    """The arguments of one start: key -> (line, text)."""

    told: dict[str, tuple[int, str]] = field(default_factory=dict)
    budget: bool = False  # the log says what became of the token budget

    def rows(self, run: int) -> list[Row]:
        out: list[Row] = []
        for key, (line, text) in self.told.items():
            name = _NUMBERS.get(key)
            if name and re.fullmatch(r"\d{1,9}", text) and int(text) > 0 and not (self.budget and name == "kv_tokens"):
                out.append({"line": line, "key": name, "value": text, "num": float(text)})
                out += _beside(line, name, float(text))
            elif key == "quantize" and re.fullmatch(r"[A-Za-z]\w*", text):
                out.append({"line": line, "key": "quantisation", "value": text.lower()})
        return [{"server": "tgi", "run": run, "origin": "logged"} | row for row in out]


def _beside(line: int, name: str, num: float) -> list[Row]:
    """What follows from a number, as tgi-server says it."""
    if name == "tensor_parallel":
        return [{"line": line, "key": "split", "value": "tensor" if num > 1 else "none"}]
    if name == "draft_tokens":
        return [{"line": line, "key": "speculation", "value": "on"}]
    if name == "max_batch_size":
        return [
            {"line": line, "key": "slots", "value": f"{num:g}", "num": num},
            {"line": line, "key": "slots_source", "value": "max_batch_size"},
        ]
    return []


class TgiArgs:
    """Long lists of arguments of TGI; see the module's page."""

    name = "tgi-args"
    api = 1
    beyond = (_START,)

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        if _START not in head.text:
            return None
        lists = _LIST.findall(plain_head(head).text)
        if any(key in {*_NUMBERS, "quantize"} for told in lists for key, _ in _SOME.findall(told)):
            return Claim(60, "arguments of TGI over several lines", shares=True)
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `server_config`."""
        return by_stream(source, emit, _parse)


def _parse(source: Readable, emit: Emit) -> Counts:
    counts, held, held_line = Counts(), "", 1
    runs: list[_Run] = []
    for first, block in source.blocks():
        text, line = (held + block, held_line) if held else (block, first)
        done = 0
        for found in _LIST.finditer(text):
            _budget(runs, text[done : found.start()])
            runs.append(_Run())
            at = line + text.count("\n", 0, found.start(1))
            for some in _SOME.finditer(found[1]):
                if some[1] in _NUMBERS or some[1] == "quantize":
                    runs[-1].told[some[1]] = (at + found[1].count("\n", 0, some.start()), some[2])
                    counts.matched += 3
            done = found.end()
        open_list = text.rfind(_START, done)
        keep = text.rfind("\n", 0, open_list) + 1 if open_list >= 0 and len(text) - open_list < MAX_ARGS else len(text)
        _budget(runs, text[done:keep])
        counts.other += text.count("\n", 0, keep)
        held, held_line = text[keep:], line + text.count("\n", 0, keep)
        if not held and not text.endswith("\n"):
            counts.other += 1
    if held:
        counts.other += held.count("\n") + (not held.endswith("\n"))
    counts.other -= counts.matched
    send_rows(emit, "server_config", [row for number, run in enumerate(runs) for row in run.rows(number)])
    return counts


def _budget(runs: Sequence[_Run], text: str) -> None:
    if runs and _BUDGET in text:
        runs[-1].budget = True


_HEAD = "2025-02-01T10:00:00.000001Z  INFO text_generation_launcher: Args {\n"
SAMPLES: tuple[Sample, ...] = (
    Sample(
        _HEAD + '    model_id: "acme/tiny",\n    revision: Some(\n        "secret",\n    ),\n    num_shard: Some(\n        2,\n    ),\n'
        "    quantize: Some(\n        Awq,\n    ),\n    speculate: None,\n    max_concurrent_requests: 128,\n    max_total_tokens: Some(\n"
        '        4096,\n    ),\n    max_batch_total_tokens: Some(\n        9000,\n    ),\n    max_batch_size: None,\n    hostname: "box",\n}\n'
        "2025-02-01T10:00:08.000000Z  INFO text_generation_router::server: router/src/server.rs:1651: Setting max batch total tokens to 20480\n",
        {
            "server_config": [
                {"line": 6, "key": "tensor_parallel", "num": 2.0, "server": "tgi", "run": 0, "origin": "logged"},
                {"line": 6, "key": "split", "value": "tensor"},
                {"line": 9, "key": "quantisation", "value": "awq"},
                {"line": 14, "key": "n_ctx_slot", "num": 4096.0},
            ]
        },
        "2.0 to 3.3",
    ),
    Sample(
        _HEAD
        + "    max_batch_total_tokens: Some(\n        9000,\n    ),\n    max_batch_size: Some(\n        6,\n    ),\n    speculate: Some(\n        3,\n    ),\n}\n",
        {
            "server_config": [
                {"key": "kv_tokens", "num": 9000.0},
                {"key": "max_batch_size", "num": 6.0},
                {"key": "slots", "num": 6.0},
                {"key": "slots_source", "value": "max_batch_size"},
                {"key": "draft_tokens", "num": 3.0},
                {"key": "speculation", "value": "on"},
            ]
        },
        "2.0 to 3.3, before warm-up",
    ),
)

PARSER = TgiArgs()
