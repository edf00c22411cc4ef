"""Answers of the HTTP API of Prometheus: `/api/v1/query` and `/api/v1/query_range`, as curl or a script saved them.

They hold the series of a page of /metrics, turned by series instead of by time. The parsers of such pages read them as one page per time.
Expressions have no name, and nobody knows their unit: they are left out.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from .parser import Counts, Emit, Head, Readable

_ANSWER = re.compile(
    r'\{\s*"status"\s*:\s*"success"\s*,(?:\s*"isPartial"\s*:\s*\w+\s*,)?\s*"data"\s*:\s*\{\s*"resultType"\s*:\s*"(?:matrix|vector)"'
)
_SERIES = re.compile(r'"__name__"\s*:\s*"([a-zA-Z_:][a-zA-Z0-9_:]*)"')
_ANSWER_BYTES = 1 << 26


def answered_series(head: Head) -> set[str]:
    """The names of the series in an answer of `/api/v1/query` or `/api/v1/query_range`; empty where the text is none."""
    return set(_SERIES.findall(head.text)) if _ANSWER.match(head.text.lstrip()) else set()


@dataclass
class AsExposition:
    """An answer of Prometheus as the text of one scrape per time: `name{labels} value milliseconds`."""

    name: str
    text: str
    size: int | None = None
    mtime: float | None = None
    mtime_kind: str = ""
    mtime_resolution_s: float | None = None

    def head(self) -> Head:
        return Head(self.name, self.text.encode(), self.text, True)

    def open(self) -> BinaryIO:
        return io.BytesIO(self.text.encode())

    def blocks(self, size: int = 0) -> Iterator[tuple[int, str]]:
        yield 1, self.text


def as_exposition(source: Readable, emit: Emit, parse: Callable[[Readable, Emit], Counts], one: tuple[str, ...] = ()) -> Counts | None:
    """Runs `parse` over the series of an answer of Prometheus; None where the source is none, or is cut. Rows point to its first line.

    `one`: labels that must have one value in all of them, for a parser to which all series are one server.
    """
    import polars as pl

    if not answered_series(source.head()):
        return None
    with source.open() as stream:
        raw = stream.read(_ANSWER_BYTES + 1)
    try:
        answer = json.loads(raw)
        series = [each for each in answer["data"]["result"] if "__name__" in each["metric"]]
        lines = sorted(_samples(series))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    several = next((label for label in one if len({each["metric"].get(label) for each in series}) > 1), None)
    count = raw.count(b"\n") + (not raw.endswith(b"\n"))
    if several is not None:
        return Counts(near_miss=1, other=count - 1, rejects=[(1, f"the series differ in {several}: ask for those of one server at a time")])
    text = "".join(f"{line} {ms}\n" for ms, line in lines)
    found = parse(AsExposition(source.name, text), lambda name, frame: emit(name, frame.with_columns(line=pl.lit(1, pl.Int64))))
    return Counts(matched=count) if found.matched else Counts(other=count)


def _samples(series: list[Any]) -> Iterator[tuple[int, str]]:
    """Each value of each series, with its time in milliseconds."""
    for each in series:
        labels = {str(k): str(v) for k, v in each["metric"].items()}
        name = labels.pop("__name__")
        if not re.fullmatch(r"[a-zA-Z_:][a-zA-Z0-9_:]*", name):
            continue
        inner = ",".join(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in labels.items() if re.fullmatch(r"\w+", k) and "\n" not in v)
        for at, value in each.get("values") or [each["value"]]:
            yield round(float(at) * 1000), f"{name}{{{inner}}} {float(value)!r}"
