"""The one object of a YAML document as PyYAML and its like write it: block mappings and lists, plain and quoted values, anchors and tags.

Not a YAML reader: flow collections that hold anything, comments, several documents and merge keys are not understood (a value that is not
understood is None), and long text is not kept, because no parser wants it. `yaml_object` never raises.

This module imports neither polars nor duckdb. Its users are parsers; it knows nothing of any format.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

MAX_TEXT = 200  # characters of a value that is kept
MAX_DEPTH = 60

_KEY = re.compile(r"""(?:"([^"\\]{1,200})"|'([^']{1,200})'|((?:[^\s"'#&*!|>%@`{\[\-:?]|-(?=\S))(?:[^:]|:(?=\S)){0,200}?)):(?: +(.*)|)$""")
_MARKS = re.compile(r"(?:&(\S+)|!\S*)(?:\s+|$)")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,400}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")
_WORDS: dict[str, Any] = {"null": None, "~": None, "": None, "true": True, "false": False, "[]": [], "{}": {}}


@dataclass
class _Document:
    """The lines that hold anything, with their indent, and what anchors stand for."""

    lines: list[tuple[int, str]]
    at: int = 0
    anchors: dict[str, Any] = field(default_factory=dict)

    @property
    def indent(self) -> int:
        return self.lines[self.at][0] if self.at < len(self.lines) else -1

    @property
    def text(self) -> str:
        return self.lines[self.at][1]


def yaml_object(text: str) -> dict[str, Any] | None:
    """The mapping that a text holds as a whole, None where it is none."""
    lines = [(len(line) - len(body), body.rstrip()) for line in text.split("\n") if (body := line.lstrip(" ")).strip()]
    doc = _Document([line for line in lines if line[1] not in ("---", "...")])
    value = _node(doc, 0, MAX_DEPTH) if doc.lines else None
    return value if isinstance(value, dict) and doc.at == len(doc.lines) else None


def _node(doc: _Document, indent: int, depth: int) -> Any:
    """The collection that begins at a line with that indent."""
    if depth == 0 or doc.at >= len(doc.lines):
        return None
    return _list(doc, indent, depth) if _is_item(doc.text) else _mapping(doc, indent, depth)


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith("- ")


def _list(doc: _Document, indent: int, depth: int) -> list[Any]:
    out: list[Any] = []
    while doc.indent == indent and _is_item(doc.text):
        rest = doc.text[1:].lstrip()
        name, rest = _marks(rest)
        if rest and (_KEY.match(rest) or _is_item(rest)):  # a collection that begins behind the dash
            inner = indent + len(doc.text) - len(rest)
            doc.lines[doc.at] = (inner, rest)
            value = _node(doc, inner, depth - 1)
        else:
            value = _value(doc, rest, indent, depth)
        out.append(value)
        if name:
            doc.anchors[name] = value
    return out


def _mapping(doc: _Document, indent: int, depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    while doc.indent == indent and (found := _KEY.match(doc.text)):
        name, rest = _marks(found[4] or "")
        value = _value(doc, rest, indent, depth, under_key=True)
        out[found[1] or found[2] or found[3]] = value
        if name:
            doc.anchors[name] = value
    return out


def _marks(text: str) -> tuple[str | None, str]:
    """The anchor before a value, and the value without anchor and tag."""
    name = None
    while found := _MARKS.match(text):
        name = found[1] or name
        text = text[found.end() :]
    return name, text


def _value(doc: _Document, rest: str, indent: int, depth: int, under_key: bool = False) -> Any:
    """What stands behind a key or a dash, on its line and on those below that are further in."""
    doc.at += 1
    if not rest:
        deeper = doc.indent > indent or (under_key and doc.indent == indent and _is_item(doc.text))
        return _node(doc, doc.indent, depth - 1) if deeper else None
    if rest[0] == "*":
        return doc.anchors.get(rest[1:])
    if rest[0] in "\"'" and not _closed(rest):
        while doc.at < len(doc.lines) and not _closes(doc.text, rest[0]):
            doc.at += 1
        doc.at += 1
        return None
    lines = 0
    while doc.indent > indent:  # the rest of a folded or literal text
        doc.at += 1
        lines += 1
    return None if lines or rest[0] in "|>" else _scalar(rest)


def _closed(text: str) -> bool:
    """A quoted text that ends on its line."""
    return len(text) > 1 and _closes(text[1:], text[0])


def _closes(text: str, quote: str) -> bool:
    return bool(re.search(r"(?:^|[^'])(?:'')*'$" if quote == "'" else r'(?:^|[^\\])(?:\\\\)*"$', text))


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return type(_WORDS[text])() if isinstance(_WORDS[text], (list, dict)) else _WORDS[text]
    if _NUMBER.fullmatch(text):
        number = float(text)
        return int(text) if re.fullmatch(r"[-+]?[0-9]{1,18}", text) else number if math.isfinite(number) else None
    text = text[1:-1] if text[0] in "\"'" else text
    return text if len(text) <= MAX_TEXT else None
