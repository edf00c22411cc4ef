"""One readable source: a file, an archive member, standard input. Decoding happens here and nowhere else."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import BinaryIO

from .parser import Head

HEAD_BYTES = 256 * 1024
BLOCK_BYTES = 8 * 1024 * 1024
MAX_LINE_BYTES = 4 * 1024 * 1024  # a longer "line" is not a log line: it is cut, so that memory stays bounded


@dataclass
class Source:
    """A named byte stream that can be opened again and again.

    `mtime` is in seconds since 1970 UTC, exact to `mtime_resolution_s`; `mtime_kind` is filesystem, archive, listing or copied.
    """

    name: str
    opener: Callable[[], BinaryIO]
    size: int | None = None
    mtime: float | None = None
    mtime_kind: str = "filesystem"
    mtime_resolution_s: float | None = None
    birth: float | None = None  # creation time where the file system tells it
    parent: str | None = None
    given_as: str | None = None  # what the user typed or the path on disk; never leaves the machine
    quality: list[tuple[str, str]] = field(default_factory=list)  # (kind, note) found while collecting
    source_id: int = -1

    @classmethod
    def from_text(cls, text: str | bytes, name: str = "sample.txt", mtime: float | None = None) -> Source:
        data = text if isinstance(text, bytes) else text.encode()
        return cls(name=name, opener=lambda: io.BytesIO(data), size=len(data), mtime=mtime, given_as=name)

    def open(self) -> BinaryIO:
        return self.opener()

    @cached_property
    def _raw_head(self) -> bytes:
        with self.open() as stream:
            return _read_up_to(stream, HEAD_BYTES + 1)

    @cached_property
    def encoding(self) -> str:
        """utf-16-le, utf-16-be or utf-8 (with replacement), from the byte order mark or the pattern of NULs."""
        return sniff_encoding(self._raw_head)

    @cached_property
    def _head(self) -> Head:
        raw = self._raw_head
        complete = len(raw) <= HEAD_BYTES
        raw = raw[:HEAD_BYTES]
        text = clean(raw.decode(self.encoding, errors="replace"))
        if not complete and "\n" in text:
            text = text[: text.rindex("\n") + 1]
        return Head(name=self.name, raw=raw, text=text, complete=complete)

    def head(self) -> Head:
        return self._head

    def blocks(self, size: int = BLOCK_BYTES) -> Iterator[tuple[int, str]]:
        """Blocks of whole lines as text, with the number of their first line. Line ends are `\\n`; NULs and the BOM are gone.

        Memory is bounded by `size` plus one line of at most `MAX_LINE_BYTES`.
        """
        decoder = _decoder(self.encoding)
        first_line, rest = 1, ""
        with self.open() as stream:
            while True:
                raw = _read_up_to(stream, size)
                text = rest + clean(decoder.decode(raw, final=not raw))
                if not raw:
                    if text:
                        yield first_line, text.replace("\r", "\n") if "\n" not in text and "\r" in text else text
                    return
                cut = text.rfind("\n") + 1
                if not cut and len(text) < MAX_LINE_BYTES:
                    rest = text
                    continue
                cut = cut or len(text)
                block, rest = text[:cut], text[cut:]
                yield first_line, block
                first_line += block.count("\n")


def _read_up_to(stream: BinaryIO, size: int) -> bytes:
    """Read until `size` bytes are there or the stream ends: pipes and decompressors return short reads."""
    parts, have = [], 0
    while have < size:
        part = stream.read(size - have)
        if not part:
            break
        parts.append(part)
        have += len(part)
    return b"".join(parts)


def _decoder(encoding: str):  # type: ignore[no-untyped-def]
    import codecs

    return codecs.getincrementaldecoder(encoding)(errors="replace")


def sniff_encoding(raw: bytes) -> str:
    """PowerShell writes UTF-16 with a mark; without one, every other byte being NUL gives it away."""
    if raw[:2] == b"\xff\xfe":
        return "utf-16-le"
    if raw[:2] == b"\xfe\xff":
        return "utf-16-be"
    probe = raw[:4096]
    if len(probe) >= 8:
        even, odd = probe[0::2].count(0), probe[1::2].count(0)
        if odd > 0.4 * len(probe) / 2 and even < 0.05 * len(probe) / 2:
            return "utf-16-le"
        if even > 0.4 * len(probe) / 2 and odd < 0.05 * len(probe) / 2:
            return "utf-16-be"
    return "utf-8"


def clean(text: str) -> str:
    """Drop the byte order mark and NULs, and turn CRLF into LF. A lone CR stays: progress bars are the parser's business."""
    if "\ufeff" in text:
        text = text.replace("\ufeff", "")
    if "\x00" in text:
        text = text.replace("\x00", "")
    if "\r\n" in text:
        text = text.replace("\r\r\n", "\n").replace("\r\n", "\n")
    return text


def is_binary(raw: bytes) -> bool:
    """Neither UTF-16 nor mostly printable text."""
    if not raw or sniff_encoding(raw) != "utf-8":
        return False
    probe = raw[:8192]
    control = sum(probe.count(bytes([b])) for b in range(32) if b not in (7, 8, 9, 10, 12, 13, 27))
    return control > 0.1 * len(probe)
