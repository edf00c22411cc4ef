"""One readable source: a file, an archive member, standard input. Decoding happens here and nowhere else."""

from __future__ import annotations

import io
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from .parser import Head

HEAD_BYTES = 256 * 1024
BLOCK_BYTES = 8 * 1024 * 1024
MAX_LINE_BYTES = 4 * 1024 * 1024  # a longer "line" is not a log line: it is cut, so that memory stays bounded


@dataclass
class Source:
    """A named byte stream that can be opened again and again.

    `mtime` is in seconds since 1970, exact to `mtime_resolution_s`; `mtime_kind` is filesystem, archive, listing or copied (then
    `mtime` is the time of the copy and says nothing about the run). `mtime_clock` is utc, or local-no-zone for plain zip members:
    then `mtime` is the wall clock of the machine that zipped, read as if it were UTC.
    `kind` is text, binary or empty. `path` is set for real files on disk only (parsers that need one use `local_path`).
    Opening may raise OSError: the file may be gone, or become unreadable, after it was collected.
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
    path: Path | None = None
    kind: str = "text"
    mtime_clock: str = "utc"

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

    @contextmanager
    def local_path(self) -> Iterator[Path]:
        """A path that holds the bytes (SQLite needs one): the file itself, or a temporary copy that is removed afterwards."""
        if self.path is not None:
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="gpuverdict-") as folder:
            copy = Path(folder) / "source"
            with self.open() as stream, copy.open("wb") as out:
                shutil.copyfileobj(stream, out, 1 << 20)
            yield copy

    @cached_property
    def _lone_cr(self) -> bool:
        """Old Mac files and captured terminals: the head has carriage returns and not one line feed. Decided once, for all blocks."""
        text = self._raw_head.decode(self.encoding, errors="replace")
        return "\r" in text and "\n" not in text

    @cached_property
    def _head(self) -> Head:
        raw = self._raw_head
        complete = len(raw) <= HEAD_BYTES
        raw = raw[:HEAD_BYTES]
        text = clean(_decoder(self.encoding).decode(raw, final=complete))
        if self._lone_cr:
            text = text.replace("\r", "\n")
        if not complete and "\n" in text:
            text = text[: text.rindex("\n") + 1]
        return Head(name=self.name, raw=raw, text=text, complete=complete)

    def head(self) -> Head:
        return self._head

    def blocks(self, size: int = BLOCK_BYTES) -> Iterator[tuple[int, str]]:
        """Blocks of whole lines as text, with the number of their first line. Line ends are `\\n`; NULs and the BOM are gone.

        The lines do not depend on `size`. Joined, the blocks are the whole text. Memory is bounded by `size` plus one line; a
        line longer than `MAX_LINE_BYTES` comes in several blocks of the same line number.
        """
        first_line, rest = 1, ""
        for text in self._decoded(size):
            text = rest + text
            cut = text.rfind("\n") + 1
            if not cut and len(text) < MAX_LINE_BYTES:
                rest = text
                continue
            cut = cut or len(text)
            block, rest = text[:cut], text[cut:]
            yield first_line, block
            first_line += block.count("\n")
        if rest:
            yield first_line, rest

    def _decoded(self, size: int) -> Iterator[str]:
        """Cleaned text. Carriage returns and half a colour at the end of a read wait for what follows: the rest may be in the next one."""
        decoder, held = _decoder(self.encoding), ""
        with self.open() as stream:
            while True:
                raw = _read_up_to(stream, size)
                text = held + _drop_marks(decoder.decode(raw, final=not raw))
                ready = text if not raw else _finished(text)
                held = text[len(ready) :]
                ready = _join_line_ends(_drop_colours(ready))
                if ready:
                    yield ready.replace("\r", "\n") if self._lone_cr else ready
                if not raw:
                    return
                if len(held) >= MAX_LINE_BYTES:
                    held = held[:1]  # megabytes of nothing but carriage returns: one says as much


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
    """Drop the byte order mark, NULs and colours, and turn CRLF into LF. A lone CR stays: progress bars are the parser's business."""
    return _join_line_ends(_drop_colours(_drop_marks(text)))


def _drop_marks(text: str) -> str:
    if "\ufeff" in text:
        text = text.replace("\ufeff", "")
    return text.replace("\x00", "") if "\x00" in text else text


_COLOUR = re.compile(r"\x1b\[[0-9;:]*m|\x1b\[[0-2]?K")
_HALF = re.compile(r"\x1b(?:\[[0-9;:]*)?")


def _finished(text: str) -> str:
    """A text without the carriage returns and the half colour at its end."""
    at = text.rfind("\x1b", -24)
    return (text[:at] if at >= 0 and _HALF.fullmatch(text, at) else text).rstrip("\r")


def _drop_colours(text: str) -> str:
    """Colours and "clear to the end of the line" mean nothing to any parser; what moves the cursor stays."""
    return _COLOUR.sub("", text) if "\x1b[" in text else text


def _join_line_ends(text: str) -> str:
    if "\r\n" not in text:
        return text
    text = text.replace("\r\n", "\n")
    # CRCRLF comes from a text-mode write of CRLF. The look-behind keeps a long run of CRs from being tried at every one of them.
    return re.sub(r"(?<!\r)\r+\n", "\n", text) if "\r\n" in text else text


_MAGIC = (
    *(b"SQLite format 3\x00", b"\x7fELF", b"\x89PNG", b"\xff\xd8\xff", b"%PDF-", b"PK\x03\x04"),
    *(b"GGUF", b"PAR1", b"ARROW1", b"\x93NUMPY"),
)


def is_binary(raw: bytes) -> bool:
    """Neither UTF-16 nor mostly printable text.

    Leading NULs do not count: a log that was truncated under its writer starts with a hole. Compressed or encrypted bytes hold
    hardly more control characters than the limit, but they are not UTF-8 either; legacy code pages have no control characters.
    """
    if raw.startswith(_MAGIC):
        return True
    if not raw or sniff_encoding(raw) != "utf-8":
        return False
    probe = raw.lstrip(b"\x00")[:8192]
    if not probe:
        return True
    control = sum(probe.count(bytes([b])) for b in range(32) if b not in (7, 8, 9, 10, 12, 13, 27))
    undecodable = probe.decode("utf-8", errors="replace").count("\ufffd")
    return control > 0.1 * len(probe) or (control > 0.02 * len(probe) and undecodable > 0.1 * len(probe))
