"""Answers of Ollama's `/api/ps`: which part of a loaded model lies in the memory of the CPU.

How to get one: `curl -s localhost:11434/api/ps > ps.json`, once or in a loop (answers behind each other), pretty-printed or not.

**`server_config`** keys, one row per model and answer, as from the table of `ollama ps` (see ollama-ps, and its traps):
memory_on_cpu_share (1 - `size_vram` / `size`), model_memory_mib (`size`), context_length. **`models`**: `quantisation`
(`details.quantization_level`), where one model is loaded.

**Traps.** `size_vram` is missing where it is 0 in some versions of the client, so a model without it has no share here, unless the model is on
no card by `size_vram: 0`. A size of 0 is a model that is just being loaded. No time is read: `expires_at` is the end of the keep-alive.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, nested, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_rows

__all__ = ["PARSER"]

_QUANTISATION = re.compile(r"[A-Z][A-Z0-9_]{1,15}")


def _settings(model: Json, line: int) -> list[Row]:
    """The settings of one loaded model; nothing where it is still being loaded."""
    size, vram, context = pos(model.get("size")), num(model.get("size_vram")), pos(model.get("context_length"))
    told = {
        "context_length": context,
        "memory_on_cpu_share": 1 - vram / size if size and vram is not None and vram <= size else None,
        "model_memory_mib": size and size / 2**20,
    }
    return [
        {"line": line, "server": "ollama", "run": 0, "key": key, "value": f"{value:g}", "num": value, "origin": "logged"}
        for key, value in told.items()
        if value is not None
    ]


def _loaded(doc: Json) -> list[Json]:
    held = doc.get("models")
    return [m for m in held if isinstance(m, dict) and "size_vram" in m] if isinstance(held, list) else []


class OllamaApiPs:
    """Answers of `/api/ps`; see the module's page."""

    name = "ollama-api-ps"
    api = 1
    inlaid = ("models",)

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        return Claim(90, "answers of Ollama's /api/ps") if {"models", "size_vram", "digest"} <= json_keys(head.text) else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `server_config` and `models`. A cut or garbled answer is a near miss."""
        lines = JsonLines(source)
        settings: list[Row] = []
        words: set[str | None] = set()
        for first, last, doc in json_objects(lines):
            loaded = _loaded(doc) if doc is not None else []
            if doc is None:
                lines.near(first, "an answer that is cut or garbled")
            elif loaded:
                lines.add(first, last, "matched")
            elif doc.get("models") == []:
                lines.add(first, last, "noise")
            for model in loaded:
                settings += _settings(model, first)
                word = nested(model, "details").get("quantization_level")
                words.add(word if isinstance(word, str) and _QUANTISATION.fullmatch(word) else None)
        send_rows(emit, "server_config", settings)
        if len(words) == 1 and None not in words:
            send_rows(
                emit, "models", [{"line": settings[0]["line"] if settings else 1, "run": 0, "section": 0, "quantisation": words.pop()}]
            )
        return lines.close()


SAMPLES: tuple[Sample, ...] = (
    Sample(
        '{"models":[{"name":"a:70b","model":"a:70b","size":42000000000,"digest":"bcfb","details":{"format":"gguf","family":"llama",'
        '"parameter_size":"70.6B","quantization_level":"Q4_0"},"expires_at":"2024-06-04T14:38:31.83753-07:00","size_vram":21000000000}]}\n'
        '{"models":[]}\n',
        {
            "server_config": [
                {"line": 1, "key": "memory_on_cpu_share", "num": 0.5, "server": "ollama"},
                {"key": "model_memory_mib", "num": 42e9 / 2**20},
            ],
            "models": [{"quantisation": "Q4_0", "name": None}],
        },
        "0.1.33 to 0.9",
        name="ps.json",
    ),
    Sample(
        '{\n  "models": [\n    {"name": "x", "size": 5000000000, "digest": "aa", "details": {"quantization_level": "Q4_K_M"},'
        ' "size_vram": 5000000000, "context_length": 8192},\n'
        '    {"name": "y", "size": 1000000000, "digest": "bb", "details": {"quantization_level": "F16"}, "size_vram": 0}\n  ]\n}\n',
        {
            "server_config": [
                {"key": "context_length", "num": 8192.0},
                {"key": "memory_on_cpu_share", "num": 0.0},
                {"key": "model_memory_mib"},
                {"key": "memory_on_cpu_share", "num": 1.0},
                {"key": "model_memory_mib"},
            ],
            "models": [],
        },
        "0.10 and later, two models",
        name="ps.json",
    ),
)

PARSER = OllamaApiPs()
