"""JSON objects out of a text that is read block by block, and values out of objects that nobody vouches for.

Benchmarks write one object per file, one per line, several behind each other or a list of them, and such files end up cut, appended to or
beside log lines. `JsonLines` gives the blocks of a source and counts every line once; `json_objects` finds the objects on them; `num`, `pos`
and `nested` take values out of an object without ever raising. An object begins a line (behind blanks, commas and `[`) or follows another
one. What is no object (a bare list of numbers, prose) is passed over.

This module imports neither polars nor duckdb. Its users are parsers; it knows nothing of any format.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from .parser import MAX_REJECTS, Counts, Readable

MAX_CHARS = 512 << 20  # characters of one JSON object
HEAD_CHARS = 65536

Json = dict[str, Any]

_OPENS = re.compile(r"(?m)^[ \t,\[]*(?=\{)")
_NEXT = re.compile(r"[\s,\[\]]*(?=\{)")
_DECODE = json.JSONDecoder().raw_decode


class JsonLines:
    """The blocks of a source and how its lines end: each line counts once, whatever the objects on it became.

    `add` and `near` are called with lines that do not fall; `close` gives the counts of the whole source, once all blocks were read.
    """

    def __init__(self, source: Readable) -> None:
        self.source, self.counts, self.done, self.total, self.open = source, Counts(), 0, 0, 0

    def blocks(self) -> Iterator[str]:
        for _, block in self.source.blocks():
            self.total += block.count("\n")
            self.open = not block.endswith("\n")
            yield block

    def add(self, first: int, last: int, how: str) -> None:
        """Lines first..last are `how` (a field of Counts) as far as they are not counted yet; those passed over are something else."""
        first = max(first, self.done + 1)
        if last >= first:
            self.counts.other += first - 1 - self.done
            setattr(self.counts, how, getattr(self.counts, how) + last - first + 1)
            self.done = last

    def near(self, line: int, reason: str) -> None:
        """A near miss at a line; the first few are kept with their reason."""
        self.add(line, line, "near_miss")
        if len(self.counts.rejects) < MAX_REJECTS:
            self.counts.rejects.append((line, reason))

    def close(self) -> Counts:
        self.counts.other += self.total + self.open - self.done
        return self.counts


def json_objects(lines: JsonLines, begins: re.Pattern[str] = _OPENS) -> Iterator[tuple[int, int, Json | None]]:
    """The JSON objects of a text (one per line, behind each other, in a list) with their first and last line; None for one that is cut
    or garbled. Memory holds one object and one block. `begins` is a pattern of what stands before the brace of an object."""
    blocks, text, line, need, last, opens = lines.blocks(), "", 1, 0, False, begins
    while not last:
        parts, have = [text], len(text)
        while not last and have <= need:
            block = next(blocks, "")
            last = not block
            parts.append(block)
            have += len(block)
        text, at = "".join(parts), 0
        start = opens.search(text)
        while start is not None:
            line += text.count("\n", at, start.end())
            at = start.end()
            found, cut = _decode(text, at)
            if cut and not last and len(text) - at < MAX_CHARS:
                break
            if found is None:
                yield line, line, None
                opens = _margin(text, at)
                start = opens.search(text, at + 1)
                continue
            first, line = line, line + text.count("\n", at, found[1])
            at = found[1]
            yield first, line, found[0]
            opens = begins
            start = _NEXT.match(text, at) or begins.search(text, at)
        if start is None:
            line += text.count("\n", at)
            text, need = "", 0
        else:
            begin = text.rfind("\n", 0, at) + 1
            text = text[at if text[begin:at].strip() else begin :]
            need = 2 * len(text)


def _decode(text: str, at: int) -> tuple[tuple[Json, int] | None, bool]:
    """The object at a place with its end, and whether the text ends inside it."""
    try:
        return _DECODE(text, at), False
    except json.JSONDecodeError as error:
        return None, error.pos >= len(text) - 12 or error.msg.startswith("Unterminated string")
    except (ValueError, RecursionError):  # more digits than int() takes; deeper than the interpreter goes
        return None, False


def _margin(text: str, at: int) -> re.Pattern[str]:
    """Behind a broken object: the next one that stands as far to the right. What is further in belongs to the broken one."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    margin = before if before.isspace() else ""
    return re.compile(rf"(?m)^{margin}(?=\{{)")


def num(value: Any, scale: float = 1.0) -> float | None:
    """A finite number that is not negative; strings, booleans, inf, nan and the 1.797e308 that jq writes for inf are unknown."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value) * scale
    except OverflowError:
        return None
    return number if math.isfinite(number) and 0 <= number < 1e15 else None


def pos(value: Any, scale: float = 1.0) -> float | None:
    """A number above zero: a time or a rate of 0 is how a benchmark writes that it has none."""
    return num(value, scale) or None


def nested(value: Any, *path: str) -> Json:
    """The object at a path, empty where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def json_keys(text: str) -> set[str]:
    """Names that stand as JSON keys, at any depth, in the first part of a text that begins like JSON; for claiming a source by its head."""
    text = text[:HEAD_CHARS].lstrip()
    return set(re.findall(r'"([\w:.-]+)"\s*:', text)) if text[:1] in ("{", "[") else set()
