"""Packed bytes into plain ones, once, within bounds: temporary files, parts of files, decompressors and the kinds of archives.

What is there before damage is kept; what breaks a bound, asks for too much memory or needs another tool is `Unreadable`.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

CHUNK = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Bounds of one collection. `unpacked` ones are bytes after decompression, all archives together for `total`."""

    depth: int = 2  # archives inside archives: responses.zip!run.tar.gz!resp_1.json
    folder_depth: int = 32
    sources: int = 20_000
    members: int = 10_000
    member_bytes: int = 4 << 30
    total_bytes: int = 16 << 30
    ratio: int = 1_000
    ratio_floor: int = 128 << 20  # below this size no ratio is suspicious: a log of one repeated line packs well
    header_bytes: int = 4 << 20


LIMITS = Limits()


class Unreadable(Exception):
    """Bytes that cannot be had: `kind`, `what`, `todo` of the Problem it becomes."""

    def __init__(self, kind: str, what: str, todo: str) -> None:
        super().__init__(what)
        self.kind, self.what, self.todo = kind, what, todo


class _Slice(io.RawIOBase):
    """A read-only, seekable part of a file."""

    def __init__(self, path: Path, start: int, length: int) -> None:
        self._file = path.open("rb", buffering=0)
        self._start, self._length, self._at = start, length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, self._length)[whence])
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        want = min(len(buffer), max(0, self._length - self._at))
        self._file.seek(self._start + self._at)
        data = self._file.read(want) or b""
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Capped(io.BufferedReader):
    """For archive readers: a header that asks for megabytes at once is an attack or damage, not a header."""

    cap = LIMITS.header_bytes

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self.cap:
            raise Unreadable("damaged", "its headers are damaged or far too large", "unpack it yourself and give the files")
        if size is None or size < 0:
            data = super().read(self.cap + 1)
            if len(data) > self.cap:
                raise Unreadable("damaged", "its headers are damaged or far too large", "unpack it yourself and give the files")
            return data
        return super().read(size)


@dataclass(frozen=True)
class Bytes:
    """Where bytes lie: a part of a file. `spool` keeps the temporary file alive as long as a source needs it."""

    path: Path
    start: int
    length: int
    spool: Spool | None = None

    def open(self) -> BinaryIO:
        return io.BufferedReader(_Slice(self.path, self.start, self.length))

    def open_capped(self, cap: int) -> BinaryIO:
        stream = _Capped(_Slice(self.path, self.start, self.length))
        stream.cap = cap
        return stream

    def part(self, start: int, length: int) -> Bytes:
        return replace(self, start=self.start + start, length=max(0, min(length, self.length - start)))


class Spool:
    """One temporary file that takes every unpacked stream; removed when the last source is gone, or at exit."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._used = 0

    def add(self, chunks: Iterable[bytes], packed: int | None) -> tuple[Bytes, str | None]:
        """Write a stream down. Returns its bytes and, where it broke off, why: what came before the damage is kept."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="gpuverdict-", ignore_cleanup_errors=True)
        path, start, length, broken = Path(self._folder.name) / "unpacked", self._used, 0, None
        with path.open("ab") as out:
            try:
                for chunk in chunks:
                    length += len(chunk)
                    self._check(length, packed)
                    out.write(chunk)
            except _DAMAGE as error:
                broken = str(error) or type(error).__name__
            except Unreadable:
                out.truncate(start)
                raise
            except OSError as error:
                out.truncate(start)
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise Unreadable("no-space", "there is no space to unpack it", "free space in the temporary folder") from error
                raise
        self._used += length
        return Bytes(path, start, length, self), broken

    def _check(self, length: int, packed: int | None) -> None:
        limits = self._limits
        unpack = "unpack it yourself and give the part that matters"
        if packed is not None and length > limits.ratio_floor and length > limits.ratio * max(packed, 1):
            raise Unreadable("ratio", f"it unpacks to more than {limits.ratio} times its size", "check what it is; " + unpack)
        if length > limits.member_bytes:
            raise Unreadable("too-big", f"it is larger than {_size(limits.member_bytes)} unpacked", unpack)
        if self._used + length > limits.total_bytes:
            raise Unreadable("too-big", f"all archives together unpack to more than {_size(limits.total_bytes)}", unpack)


def _size(n: int) -> str:
    return f"{n / (1 << 30):g} GiB" if n >= 1 << 30 else f"{n / (1 << 20):g} MiB" if n >= 1 << 20 else f"{n} bytes"


class _Damaged(Exception):
    pass


_DAMAGE = (_Damaged, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile)


def reads(stream: BinaryIO) -> Iterator[bytes]:
    """Chunk by chunk through `read1`, so that what was decoded before an error is not lost in a buffer."""
    read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
    while chunk := read(CHUNK):
        yield chunk


def _unxz(stream: BinaryIO) -> Iterator[bytes]:
    """XZ with bounded memory (the standard reader takes whatever dictionary a file asks for)."""
    decoder, data = lzma.LZMADecompressor(memlimit=256 << 20), b""
    while True:
        if decoder.eof:
            data = decoder.unused_data.lstrip(b"\x00") or stream.read(CHUNK).lstrip(b"\x00")
            if not data:
                return
            decoder = lzma.LZMADecompressor(memlimit=256 << 20)
        elif decoder.needs_input:
            data = stream.read(CHUNK)
            if not data:
                raise _Damaged("it ends in the middle")
        yield decoder.decompress(data, max_length=CHUNK)
        data = b""


def _unzstd(stream: BinaryIO) -> Iterator[bytes]:
    """Frame by frame, because the library's reader takes a cut frame for the end. 2 KiB in can give 64 MiB out at most."""
    import zstandard

    decoder, data = None, b""
    try:
        while data := data or stream.read(2048):
            decoder = decoder or zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
            yield decoder.decompress(data)
            data, decoder = (decoder.unused_data, None) if decoder.eof else (b"", decoder)
    except zstandard.ZstdError as error:
        raise _Damaged(str(error)) from error
    if decoder is not None:
        raise _Damaged("it ends in the middle")


def _ungzip(stream: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=stream, mode="rb") as reader:
        yield from reads(reader)  # type: ignore[arg-type]


def _unbzip2(stream: BinaryIO) -> Iterator[bytes]:
    with bz2.BZ2File(stream) as reader:
        try:
            yield from reads(reader)  # type: ignore[arg-type]
        except OSError as error:
            if error.errno is None:  # bz2 reports bad data as a bare OSError
                raise _Damaged(str(error)) from error
            raise


UNPACKERS: dict[str, Callable[[BinaryIO], Iterator[bytes]]] = {"gz": _ungzip, "bz2": _unbzip2, "xz": _unxz, "zst": _unzstd}
_FOREIGN = {b"7z\xbc\xaf\x27\x1c": "7-Zip", b"Rar!\x1a\x07": "RAR", b"\x1f\x9d": "compress (.Z)", b"\x04\x22\x4d\x18": "LZ4"}
_DOCUMENTS = (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".jar", ".whl", ".npz", ".pt", ".pth", ".epub", ".apk")


def container(head: bytes, name: str) -> str | None:
    """gz, bz2, xz, zst, zip, tar, foreign:NAME, or None for a plain file: by content, since names lie."""
    if head.startswith(b"\x1f\x8b\x08"):
        return "gz"
    if head[:3] == b"BZh" and head[4:10] in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"):
        return "bz2"
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz"
    if head.startswith(b"\x28\xb5\x2f\xfd") or (head[1:4] == b"\x2a\x4d\x18" and head[:1] and 0x50 <= head[0] <= 0x5F):
        return "zst"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return None if name.lower().endswith(_DOCUMENTS) else "zip"
    if head[257:262] == b"ustar" or (name.lower().endswith(".tar") and _old_tar(head)):
        return "tar"
    return next((f"foreign:{word}" for magic, word in _FOREIGN.items() if head.startswith(magic)), None)


def _old_tar(head: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(head[:512], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def without_suffix(name: str) -> str:
    """The name of what a packed file holds: run.tgz -> run.tar, a.log.gz -> a.log."""
    stem, _, suffix = name.rpartition(".")
    return stem + ".tar" if suffix.lower() in ("tgz", "tbz2", "txz", "tzst", "tbz") else stem or name
