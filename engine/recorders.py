"""Advice for machines that nvidia-smi does not know: the tool that recorded the cards is the one to record them with again. Where nothing
recorded them, the cards that a server names tell which tool does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .result import Result
    from .store import Store

# the recordings of utilisation that rules and views ask for; lists of processes and settings of clocks have no counterpart
# cards as servers name them -> the parser whose tool records such
_MAKERS = (
    (re.compile(r"(?i)\bapple\b"), "macmon"),
    (re.compile(r"(?i)\bamd\b|\bati\b|radeon|instinct"), "amd-smi"),
    (re.compile(r"(?i)\bintel\b"), "xpu-smi-dump"),
)
_ON_APPLE = "('mlx-lm', 'omlx', 'vllm-mlx')"  # servers that run on Apple silicon
_NVIDIA = re.compile(r"nvidia-smi (?:dmon -s \w+|--query-gpu=\S+ --format=\S+)(?: -d 1| -o DT| -l 1| -lms \d+)*(?: > \w+\.\w+)?")


def adapt(result: Result, store: Store, parsers: Sequence[Any]) -> None:
    """Put the command of the tool at hand into every advice, where neither a GPU sample nor a name says that a card is one of NVIDIA's."""
    command = _recorder(store, parsers)
    if command is None:
        return
    result.recorder = command
    for finding in result.findings:
        finding.sentence, finding.remedy = _said(finding.sentence, command), _said(finding.remedy, command)
        finding.numbers = {name: _said(v, command) if isinstance(v, str) else v for name, v in finding.numbers.items()}
        for missing in finding.missing:
            missing.collect = _said(missing.collect, command)
        for rival in finding.rivals_open:
            rival.settle = _said(rival.settle, command)
        for experiment in finding.next:
            experiment.command = _said(experiment.command, command)
    for grade in result.evidence_grades:
        grade["collect"] = grade["collect"] and _said(grade["collect"], command)


def _said(text: str, command: str) -> str:
    return _NVIDIA.sub(lambda _: command, text)


def _recorder(store: Store, parsers: Sequence[Any]) -> str | None:
    """`records` of the parser that read most, if every source with GPU samples was read by a parser that declares it."""
    commands = {p.name: p.records for p in parsers if getattr(p, "records", "")}
    rows = store.rows_of(
        "SELECT source_id, parser, n_rows FROM raw.source_parsers WHERE source_id IN (SELECT source_id FROM raw.gpu_samples) ORDER BY n_rows DESC, parser"
    )
    if not rows:
        return commands.get(_maker(store) or "")
    others = [r for r in rows if r["parser"] in commands]
    if not others or {r["source_id"] for r in others} != {r["source_id"] for r in rows}:
        return None
    return str(commands[others[0]["parser"]])


def _maker(store: Store) -> str | None:
    """The parser for the tool that records the cards which the files name, if all of them are of one maker."""
    names = [r["name"] for r in store.rows_of("SELECT DISTINCT name FROM raw.gpus WHERE name IS NOT NULL")]
    if not names:
        servers = store.rows_of(
            f"SELECT count(*) AS n, count(*) FILTER (server IN {_ON_APPLE}) AS apple FROM raw.requests WHERE server IS NOT NULL"
        )
        return "macmon" if servers[0]["apple"] and servers[0]["apple"] == servers[0]["n"] else None
    made = {next((tool for pattern, tool in _MAKERS if pattern.search(name)), None) for name in names}
    return made.pop() if len(made) == 1 else None
