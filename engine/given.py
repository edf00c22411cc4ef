"""Facts the user states: `gpuverdict.toml` of the analysed folder, `--config`, `--given key=value`.

They count as evidence and are printed as "given: ...", but they lose against a log. Unknown keys are refused with the nearest one.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SPLITS = ("layer", "row", "tensor", "pipeline", "data", "none")


@dataclass(frozen=True)
class Key:
    """One fact that may be given: type, unit and one sentence."""

    type: str  # number, word or text
    doc: str
    words: tuple[str, ...] = ()


KEYS: dict[str, Key] = {
    "split": Key("word", "how the model is spread over the cards", SPLITS),
    "slots": Key("number", "requests the server runs at once (-np, --max-num-seqs, --max-running-requests)"),
    "streams": Key("number", "streams offered during the whole recording"),
    "ctx_max": Key("number", "longest sequence in tokens"),
    "server": Key(
        "word", "server family", ("llama.cpp", "ollama", "vllm", "sglang", "tgi", "trtllm", "lmdeploy", "tabbyapi", "ktransformers")
    ),
    "speculation": Key("word", "speculative decoding on or off", ("on", "off")),
    "model.name": Key("text", "model name as in the public catalogue"),
    "model.params_total_b": Key("number", "all parameters, in 1e9"),
    "model.params_active_b": Key("number", "parameters used per token, in 1e9"),
    "model.bits_per_weight": Key("number", "average bits per weight of the file"),
    "model.layers": Key("number", "transformer layers"),
    "model.hidden": Key("number", "width of the residual stream"),
    "link.gb_s": Key("number", "measured copy rate between the cards in one direction, GB/s"),
    "gpu.name": Key("text", "card as nvidia-smi prints it"),
    "gpu.count": Key("number", "cards the model runs on"),
    "gpu.mem_bw_gb_s": Key("number", "memory bandwidth of one card, GB/s"),
    "host.mem_bw_gb_s": Key("number", "measured bandwidth of the host's memory (a streaming copy over all cores), GB/s"),
    "idle_w": Key("number", "power of one card with the server up and no request, W"),
    "tz": Key("text", "time zone of clocks without one, for example Europe/Berlin or +02:00"),
}
PER_SOURCE = ("during", "offset", "interval_s", "host")


class GivenError(ValueError):
    """A stated fact that cannot be taken; the message says which and what to write instead."""


@dataclass
class Given:
    """`facts` key -> value; per source name: `during` a scope label, `offset` seconds, `interval_s` seconds, `host` a name."""

    facts: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    during: dict[str, str] = field(default_factory=dict)
    offset: dict[str, float] = field(default_factory=dict)
    interval_s: dict[str, float] = field(default_factory=dict)
    host: dict[str, str] = field(default_factory=dict)
    file: Path | None = None


def read_given(file: Path | None, options: Iterable[str] = ()) -> Given:
    """The facts of a file, overridden by `key=value` options. Raises GivenError with file, key and advice."""
    given = Given(file=file)
    if file is not None:
        _read_file(file, given)
    for option in options:
        key, sep, value = option.partition("=")
        if not sep:
            raise GivenError(f"--given {option}: write key=value, for example --given split=layer")
        _take(given, key.strip(), value.strip(), "--given")
    return given


def _read_file(file: Path, given: Given) -> None:
    try:
        text = file.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as problem:
        raise GivenError(f"{file.name}: cannot be read as TOML ({problem})") from None
    for key, value in _flat(content):
        given.lines[key] = _line_of(text, key)
        _take(given, key, value, f"{file.name}:{given.lines[key]}")


def _flat(content: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for key, value in content.items():
        if isinstance(value, Mapping):
            for name, inner in value.items():
                yield f"{key}.{name}", inner
        else:
            yield key, value


def _line_of(text: str, key: str) -> int:
    """The line of a key, for evidence: section and name are searched, 1 if they are written unusually."""
    section, name = key.rsplit(".", 1) if "." in key and key.split(".")[0] not in PER_SOURCE else ("", key.split(".", 1)[-1])
    inside = not section
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("["):
            inside = bare.strip("[] ") == section or not section
        elif inside and bare.split("=")[0].strip().strip('"') in (name, key):
            return number
    return 1


def _take(given: Given, key: str, value: Any, where: str) -> None:
    head, _, rest = key.partition(".")
    if head in PER_SOURCE and rest:
        kinds = {"offset": float, "interval_s": float}
        try:
            getattr(given, head)[rest] = kinds.get(head, str)(value)
        except (TypeError, ValueError):
            raise GivenError(f"{where}: {head} of {rest} must be a number of seconds, not {value!r}") from None
        return
    if key not in KEYS:
        near = difflib.get_close_matches(key, [*KEYS, *PER_SOURCE], 1, 0.5)
        hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(KEYS)}"
        raise GivenError(f"{where}: unknown fact {key!r}{hint}")
    given.facts[key] = _typed(key, value, where)


def _typed(key: str, value: Any, where: str) -> Any:
    declared = KEYS[key]
    if declared.type == "number":
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise GivenError(f"{where}: {key} must be a number, not {value!r}") from None
        if isinstance(value, bool) or not 0 < number < 1e15:
            raise GivenError(f"{where}: {key} must be a positive number, not {value!r}")
        return number
    text = str(value).strip()
    if declared.type == "word" and text.lower() not in declared.words:
        raise GivenError(f"{where}: {key} must be one of {', '.join(declared.words)}, not {text!r}")
    return text.lower() if declared.type == "word" else text
