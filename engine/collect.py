"""From what the user gave (files, folders, globs, archives, standard input) to a list of readable sources. Everything is bounded.

Nothing that was given disappears silently: what cannot be read becomes a `Problem` that says what happened and what to do.
Compressed bytes are unpacked once into one temporary file; every source can then be opened again and again at no cost.
"""

from __future__ import annotations

import bz2
import datetime as dt
import errno
import glob
import gzip
import io
import itertools
import lzma
import os
import re
import stat
import struct
import sys
import tarfile
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, TypeVar

from .source import Source, is_binary

_M = TypeVar("_M")
_Inode = tuple[int, int]

CONFIG_NAME = "gpuverdict.toml"
FINEST_S = 1e-6  # file systems and PAX keep nanoseconds, but a DOUBLE of seconds since 1970 holds no more
COPY_SPAN_S = 1.0
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


@dataclass(frozen=True)
class Problem:
    """Something given that was not read: a short `kind`, its shown name, what happened and what to do, in our words."""

    name: str
    kind: str
    what: str
    todo: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what}; {self.todo}"


@dataclass
class Collected:
    """Sources numbered 0..n-1, the problems met, and the `gpuverdict.toml` of a given folder."""

    sources: list[Source] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    config: Path | None = None


def collect(paths: Sequence[str | Path], *, stdin: BinaryIO | None = None, limits: Limits = LIMITS) -> Collected:
    """Everything readable under `paths`: files, folders, globs the shell left alone, archives, `-` for standard input.

    Names are relative to what was given: a file's own name, the path inside a folder, `archive!member`. The order is that of
    `paths`, sorted inside each. Raises nothing for bad input; see `Collected.problems`.
    """
    collector = _Collector(limits, stdin)
    for given in paths:
        collector.given(os.fspath(given))
    mark_copied(collector.sources)
    _make_unique(collector.sources)
    for number, source in enumerate(collector.sources):
        source.source_id = number
    if len(collector.configs) > 1:
        collector.problem(CONFIG_NAME, "several-configs", f"{len(collector.configs)} found, the first is used", "name one with --config")
    return Collected(collector.sources, collector.problems, next(iter(collector.configs), None))


# --- names -----------------------------------------------------------------------------------------------------------------------


def clean_name(name: str) -> str:
    """A name fit to print: no `..`, nothing absolute, no control or invisible characters, at most 240 characters (the end kept)."""
    text = name.replace("\\", "/")
    text = "".join("_" if unicodedata.category(c)[0] in "CZ" and c != " " else c for c in text)
    text = re.sub(r"^[A-Za-z]:(?=/)", "", text)
    parts = [p for p in text.split("/") if p not in ("", ".", "..")]
    return ("/".join(parts) or "unnamed")[-240:]


def _make_unique(sources: list[Source]) -> None:
    """Two inputs of one name (a/server.log and b/server.log given directly) take their folder's name in front, else a number."""
    by_name: dict[str, list[Source]] = {}
    for source in sources:
        by_name.setdefault(source.name, []).append(source)
    taken = {name for name, same in by_name.items() if len(same) == 1}
    for name, same in by_name.items():
        if len(same) == 1:
            continue
        longer = [clean_name(f"{s.path.absolute().parent.name}/{name}") if s.path else name for s in same]
        for source, wanted in zip(same, longer):
            source.name = next(n for n in _numbered(wanted) if n not in taken)
            taken.add(source.name)


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}#{n}" for n in itertools.count(2))


# --- unpacked bytes --------------------------------------------------------------------------------------------------------------


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
class _Bytes:
    """Where bytes lie: a part of a file. `spool` keeps the temporary file alive as long as a source needs it."""

    path: Path
    start: int
    length: int
    spool: _Spool | None = None

    def open(self) -> BinaryIO:
        return io.BufferedReader(_Slice(self.path, self.start, self.length))

    def open_capped(self, cap: int) -> BinaryIO:
        stream = _Capped(_Slice(self.path, self.start, self.length))
        stream.cap = cap
        return stream

    def part(self, start: int, length: int) -> _Bytes:
        return replace(self, start=self.start + start, length=max(0, min(length, self.length - start)))


class _Spool:
    """One temporary file that takes every unpacked stream; removed when the last source is gone, or at exit."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._used = 0

    def add(self, chunks: Iterable[bytes], packed: int | None) -> tuple[_Bytes, str | None]:
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
        return _Bytes(path, start, length, self), broken

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


def _reads(stream: BinaryIO) -> Iterator[bytes]:
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
        yield from _reads(reader)  # type: ignore[arg-type]


def _unbzip2(stream: BinaryIO) -> Iterator[bytes]:
    with bz2.BZ2File(stream) as reader:
        try:
            yield from _reads(reader)  # type: ignore[arg-type]
        except OSError as error:
            if error.errno is None:  # bz2 reports bad data as a bare OSError
                raise _Damaged(str(error)) from error
            raise


_UNPACKERS: dict[str, Callable[[BinaryIO], Iterator[bytes]]] = {"gz": _ungzip, "bz2": _unbzip2, "xz": _unxz, "zst": _unzstd}
_FOREIGN = {b"7z\xbc\xaf\x27\x1c": "7-Zip", b"Rar!\x1a\x07": "RAR", b"\x1f\x9d": "compress (.Z)", b"\x04\x22\x4d\x18": "LZ4"}
_DOCUMENTS = (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".jar", ".whl", ".npz", ".pt", ".pth", ".epub", ".apk")


def _container(head: bytes, name: str) -> str | None:
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


# --- file times ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Time:
    """A last write: seconds since 1970 (None: unknown), where it was read, its resolution, the clock it is on, notes."""

    at: float | None = None
    kind: str = "filesystem"
    resolution_s: float | None = None
    clock: str = "utc"
    notes: tuple[tuple[str, str], ...] = ()


def _file_time(found: os.stat_result) -> _Time:
    """File systems store ns, but a whole second means that something coarser wrote it (tar, zip, FAT, rsync to HFS+)."""
    ns = found.st_mtime_ns
    if ns <= 0:
        return _Time()
    return _Time(ns / 1_000_000_000, "filesystem", 1.0 if ns % 1_000_000_000 == 0 else FINEST_S)


def _gzip_time(head: bytes) -> _Time | None:
    """The header keeps the mtime of the packed file, and its name with it; without a name the input was a pipe and it means nothing."""
    if len(head) < 10 or not head[3] & 0x08:
        return None
    seconds = struct.unpack_from("<I", head, 4)[0]
    return _Time(float(seconds), "archive", 1.0) if seconds else None


def _tar_time(member: tarfile.TarInfo) -> _Time:
    """PAX keeps the time as a decimal string (read exactly, its digits are its resolution); GNU and ustar keep whole seconds."""
    text = member.pax_headers.get("mtime")
    try:
        at = float(text) if text is not None else float(member.mtime)
    except ValueError:
        return _Time(None, "archive")
    if not 0 < at < 1e11:
        return _Time(None, "archive")
    digits = len(text.partition(".")[2].rstrip("0")) if text else 0
    return _Time(at, "archive", max(10.0**-digits, FINEST_S) if digits else 1.0)


def _zip_time(member: zipfile.ZipInfo) -> _Time:
    """UT extra (1 s UTC; 5 bytes in the central directory), NTFS extra (100 ns UTC), else the DOS time: 2 s, local, zone unknown."""
    extra, dos = member.extra, None
    while len(extra) >= 4:
        tag, length = struct.unpack_from("<HH", extra)
        body, extra = extra[4 : 4 + length], extra[4 + length :]
        if tag == 0x5455 and len(body) >= 5 and body[0] & 1:
            return _Time(float(struct.unpack_from("<i", body, 1)[0]), "archive", 1.0)
        if tag == 0x000A and len(body) >= 32 and struct.unpack_from("<HH", body, 4) == (1, 24):
            ticks = struct.unpack_from("<Q", body, 8)[0]
            if ticks:
                return _Time((ticks - 116_444_736_000_000_000) / 10_000_000, "archive", FINEST_S if ticks % 10_000_000 else 1.0)
    try:
        dos = dt.datetime(*member.date_time, tzinfo=dt.UTC).timestamp()
    except ValueError:
        return _Time(None, "archive")
    if member.date_time <= (1980, 1, 1, 0, 0, 0):  # the zero of DOS time: not set
        return _Time(None, "archive")
    return _Time(dos, "archive", 2.0, "local-no-zone", (("zip-no-zone", "zip times have no zone and a step of 2 s"),))


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """resp_2 before resp_10."""
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in re.split(r"(\d{1,18})", name) if p]


def family(name: str) -> str:
    """The name with its numbers taken out: resp_1.json and resp_2.json are one family."""
    return re.sub(r"\d+", "0", name.rpartition("/")[2])


def mark_copied(sources: Sequence[Source]) -> None:
    """Recognise file-system times that a copy wrote (`cp`, `scp`, `git clone`, a browser): mtime_kind becomes `copied`, with a note.

    Per folder, and per numbered family in it: three or more files within 1 s and in name order. Over everything on disk: files of
    several families within 0.1 s in any order, or ten and more in path order 50 ms apart on average (a clone or a recursive copy).
    """
    on_disk = [s for s in sources if s.given_as and s.parent is None and s.mtime is not None and s.mtime_kind == "filesystem"]
    copied: set[int] = set()
    groups: dict[tuple[str, str], list[Source]] = {}
    for source in on_disk:
        folder = os.path.dirname(source.given_as or "")
        groups.setdefault((folder, ""), []).append(source)
        groups.setdefault((folder, family(source.name)), []).append(source)
    for group in groups.values():
        if _in_name_order(group) and _span(group) <= COPY_SPAN_S:
            copied.update(map(id, group))
    for group in [on_disk, *(g for (_, kind), g in groups.items() if not kind)]:
        if _tree_copy(group):
            copied.update(map(id, group))
    for source in on_disk:
        if id(source) in copied:
            source.mtime_kind = "copied"
            source.quality.append(("copied-times", "the file times were written by a copy and say nothing about the run"))


def _times(group: Iterable[Source]) -> list[float]:
    return [s.mtime for s in group if s.mtime is not None]


def _span(group: Sequence[Source]) -> float:
    times = _times(group)
    return max(times) - min(times)


def _in_name_order(group: Sequence[Source]) -> bool:
    """Three or more files whose times never fall in some usual order of names: bytes, numbers as numbers, or without case."""
    if len(group) < 3:
        return False
    keys: tuple[Callable[[Source], object], ...] = (
        lambda s: s.name.split("/"),
        lambda s: natural_key(s.name),
        lambda s: s.name.casefold(),
    )
    orders = (_times(sorted(group, key=key)) for key in keys)  # type: ignore[arg-type]
    return any(all(a <= b for a, b in itertools.pairwise(times)) for times in orders)


def _tree_copy(group: Sequence[Source]) -> bool:
    if len(group) < 3 or len({family(s.name) for s in group}) < 2:
        return False
    span = _span(group)
    return span <= 0.1 or (len(group) >= 10 and span <= 0.05 * len(group) and _in_name_order(group))


def newer_than_run(sources: Iterable[Source], last_log_time: float, slack_s: float = 86_400.0) -> list[Source]:
    """The sources whose file-system time is more than a day after the last time any log printed: written by a copy, not by the run."""
    return [s for s in sources if s.mtime_kind == "filesystem" and s.mtime is not None and s.mtime > last_log_time + slack_s]


# --- the walk --------------------------------------------------------------------------------------------------------------------

_VCS = {".git", ".hg", ".svn", ".bzr", "CVS"}
_JUNK = {".DS_Store", "__MACOSX", "Thumbs.db", "label.toml"}
_REPORT = {"report.html", "report.md", "findings.json", "trace.duckdb", "charts"}
_REPORT_MARKS = {"findings.json", "trace.duckdb"}


@dataclass(frozen=True)
class _Entry:
    """Something about to become sources: named bytes with their time."""

    name: str
    data: _Bytes
    time: _Time
    given_as: str
    parent: str | None = None
    path: Path | None = None  # a real file: read in place


def _skipped(parts: Sequence[str]) -> bool:
    return any(p in _VCS or p in _JUNK or p.startswith("._") for p in parts)


class _Collector:
    def __init__(self, limits: Limits, stdin: BinaryIO | None) -> None:
        self.limits, self.stdin = limits, stdin
        self.sources: list[Source] = []
        self.problems: list[Problem] = []
        self.configs: list[Path] = []
        self._seen: dict[tuple[int, int], str] = {}
        self._spool = _Spool(limits)
        self._full = False

    def problem(self, name: str, kind: str, what: str, todo: str) -> None:
        self.problems.append(Problem(name, kind, what, todo))

    # what was given

    def given(self, text: str) -> None:
        if text == "-":
            stream = self.stdin if self.stdin is not None else sys.stdin.buffer
            return self._pipe(stream, "stdin", "-")
        path = Path(text)
        if not os.path.lexists(path):
            path = Path(os.path.expanduser(text))
        if os.path.lexists(path):
            return self._path(path, text)
        if not glob.has_magic(text):
            return self.problem(clean_name(path.name), "missing", "there is no such file or folder", "check the path")
        matches = sorted(glob.glob(os.path.expanduser(text), recursive=True))
        if not matches:
            self.problem(clean_name(path.name), "missing", "the pattern matches nothing", "check the pattern and the folder you are in")
        for match in matches:
            self._path(Path(match), match)

    def _path(self, path: Path, text: str) -> None:
        name = clean_name(path.absolute().name)
        found = self._stat(path, name)
        if found is None:
            return
        if stat.S_ISDIR(found.st_mode):
            self._folder(path)
        elif stat.S_ISFIFO(found.st_mode) and re.match(r"/dev/(fd/\d+|stdin)$|/proc/self/fd/\d+$", text):
            try:  # <(command): already open on the other side, so reading it cannot hang before the command ends
                with path.open("rb") as stream:
                    self._pipe(stream, "stdin", text)
            except OSError as error:
                self._os_problem(name, error)
        elif path.name == CONFIG_NAME:
            self.configs.append(path)
        else:
            self._file(path, name, found)

    def _pipe(self, stream: BinaryIO, name: str, text: str) -> None:
        if getattr(stream, "isatty", lambda: False)():
            return self.problem(name, "missing", "nothing is piped in", "pipe a log into it, or give a path")
        try:
            data, _ = self._spool.add(_reads(stream), None)
        except (Unreadable, OSError, ValueError) as error:
            what = error.what if isinstance(error, Unreadable) else "it cannot be read"
            return self.problem(
                name, "too-big" if isinstance(error, Unreadable) else "permission", what, "write it to a file and give that"
            )
        self._expand(_Entry(name, data, _Time(), text), 0)

    def _stat(self, path: Path, name: str) -> os.stat_result | None:
        try:
            return path.stat()
        except (OSError, ValueError) as error:
            if os.path.islink(path) and not isinstance(error, PermissionError):
                self.problem(name, "broken-link", "the link leads nowhere or in a circle", "give the file it should lead to")
            else:
                self._os_problem(name, error)
        return None

    def _os_problem(self, name: str, error: Exception) -> None:
        if isinstance(error, PermissionError):
            self.problem(name, "permission", "there is no permission to read it", "make it readable (chmod +r) or copy it")
        elif isinstance(error, FileNotFoundError):
            self.problem(name, "missing", "there is no such file or folder", "check the path")
        else:
            reason = getattr(error, "strerror", None) or type(error).__name__
            self.problem(name, "unreadable", f"it cannot be read ({reason})", "copy it and try the copy")

    # folders

    def _folder(self, root: Path) -> None:
        shown = clean_name(root.absolute().name) + "/"
        before = len(self.sources), len(self.problems), len(self.configs)
        files = list(self._walk(root, "", 0, set(), shown))
        real = {key for _, _, key, is_link in files if not is_link}
        for path, name, key, is_link in files:
            if is_link and key in real:
                continue  # latest.log -> server-7.log: the file itself is here and is read once
            found = self._stat(path, name)
            if found is not None:
                self._file(path, name, found)
        if before == (len(self.sources), len(self.problems), len(self.configs)):
            self.problem(shown, "empty-folder", "there is nothing to read in it", "give the folder that holds the logs")

    def _walk(self, folder: Path, prefix: str, depth: int, entered: set[_Inode], shown: str) -> Iterator[tuple[Path, str, _Inode, bool]]:
        """(path, name, identity, is a link) of every regular file, depth first in name order. Linked folders are entered once."""
        name = clean_name(prefix) if prefix else shown
        if depth > self.limits.folder_depth:
            return self.problem(name, "depth", f"it is nested deeper than {self.limits.folder_depth} folders", "give the inner folder")
        found = self._stat(folder, name)
        if found is None or (found.st_dev, found.st_ino) in entered:
            return
        entered.add((found.st_dev, found.st_ino))
        try:
            entries = sorted(os.scandir(folder), key=lambda e: e.name)
        except OSError as error:
            return self._os_problem(name, error)
        for entry in self._wanted(entries, name, depth, folder):
            inner = prefix + entry.name
            is_dir = _is_dir(entry)
            if is_dir:
                yield from self._walk(folder / entry.name, inner + "/", depth + 1, entered, shown)
                continue
            status = self._stat(folder / entry.name, clean_name(inner))
            if status is not None:
                yield folder / entry.name, clean_name(inner), (status.st_dev, status.st_ino), entry.is_symlink()

    def _wanted(self, entries: list[os.DirEntry[str]], name: str, depth: int, folder: Path) -> Iterator[os.DirEntry[str]]:
        """Without version control, operating system litter, our own earlier output and our own settings."""
        names = {e.name for e in entries}
        earlier = names >= _REPORT_MARKS
        if earlier:
            self.problem(name, "earlier-report", "it holds an earlier report, which was left out", "nothing, unless you meant its trace")
        for entry in entries:
            if _skipped((entry.name,)) or (earlier and entry.name in _REPORT):
                continue
            if entry.name == CONFIG_NAME:
                if depth == 0:
                    self.configs.append(folder / entry.name)
                else:
                    self.problem(name, "config-not-used", f"its {CONFIG_NAME} is not that of a given folder", "name it with --config")
                continue
            yield entry

    # files and what is in them

    def _file(self, path: Path, name: str, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            return self.problem(name, "not-regular", "it is a pipe, socket or device", "write what it gives to a file")
        key = (found.st_dev, found.st_ino)
        if found.st_ino and key in self._seen:
            if self._seen[key] != name:
                self.problem(name, "duplicate", f"it is the same file as {self._seen[key]}", "nothing: it is read once")
            return
        self._seen[key] = name
        data = _Bytes(path.absolute(), 0, found.st_size)
        self._expand(_Entry(name, data, _file_time(found), str(path), None, path), 0)

    def _expand(self, entry: _Entry, depth: int) -> None:
        """One named stream: a source, or the members of the archive it is."""
        try:
            with entry.data.open() as stream:
                head = stream.read(512)
            kind = _container(head, entry.name)
            if kind is None:
                return self._add(entry)
            if kind.startswith("foreign:"):
                raise Unreadable("foreign", f"{kind.partition(':')[2]} archives are not unpacked", "unpack it and give the files")
            if depth > self.limits.depth or (kind in ("zip", "tar") and depth == self.limits.depth):
                raise Unreadable("depth", f"it is packed more than {self.limits.depth} times", "unpack the outer archives")
            if kind in _UNPACKERS:
                self._unpack(entry, kind, depth, head)
            elif kind == "zip":
                self._zip(entry, depth)
            else:
                self._tar(entry, depth)
        except Unreadable as error:
            self.problem(entry.name, error.kind, error.what, error.todo)
        except OSError as error:
            self._os_problem(entry.name, error)

    def _unpack(self, entry: _Entry, kind: str, depth: int, head: bytes) -> None:
        with entry.data.open() as stream:
            data, broken = self._spool.add(_UNPACKERS[kind](stream), entry.data.length)
        if broken is not None and not data.length:
            raise Unreadable("damaged", "it is damaged from the start", "pack it again from the original")
        time = entry.time
        if broken is not None:
            self.problem(entry.name, "damaged", "it is damaged or cut off; what could be unpacked was read", "pack it again")
            time = replace(time, notes=(*time.notes, ("damaged-archive", "the packed file is damaged: its end is missing")))
        if kind == "gz":
            stored = _gzip_time(head)
            time = replace(stored, notes=time.notes) if stored else time
        with data.open() as stream:
            inner = _container(stream.read(512), _without_suffix(entry.name))
        unpacked = replace(entry, data=data, time=time, path=None)
        if inner == "tar":
            self._expand_tar(unpacked, depth)
        elif inner is None:
            self._add(unpacked)
        else:
            self._expand(unpacked, depth + 1)

    def _expand_tar(self, entry: _Entry, depth: int) -> None:
        if depth >= self.limits.depth:
            raise Unreadable("depth", f"it is packed more than {self.limits.depth} times", "unpack the outer archives")
        self._tar(entry, depth)

    def _tar(self, entry: _Entry, depth: int) -> None:
        """Members are parts of the archive itself: nothing is copied."""
        members, broken, commit = [], False, False
        with entry.data.open_capped(self.limits.header_bytes) as stream:
            try:
                with tarfile.open(fileobj=stream, mode="r:", errors="surrogateescape", encoding="utf-8") as archive:
                    for member in archive:
                        members.append(member)
                        if len(members) > self.limits.members:
                            break
                    commit = bool(re.fullmatch(r"[0-9a-f]{40,64}", archive.pax_headers.get("comment", "")))
            except (tarfile.TarError, Unreadable, ValueError, EOFError):
                broken = True
        if broken or any(m.offset_data + m.size > entry.data.length for m in members if m.isreg()):
            self.problem(entry.name, "damaged", "it is damaged or cut off; what came before was read", "pack it again")
        by_name = {m.name: m for m in members if m.isreg()}
        wanted = self._members(entry, [(m.name, m) for m in members if not m.isdir()])
        for name, member in wanted:
            self._tar_member(entry, name, member, by_name, commit, depth)

    def _tar_member(
        self, entry: _Entry, name: str, member: tarfile.TarInfo, by_name: dict[str, tarfile.TarInfo], commit: bool, depth: int
    ) -> None:
        if member.islnk() or member.issym():
            if (
                member.linkname not in by_name
                and os.path.normpath(os.path.join(os.path.dirname(member.name), member.linkname)) not in by_name
            ):
                self.problem(name, "broken-link", "it is a link to something outside the archive", "pack the file itself (tar -h)")
            return  # its target is a member of its own
        if not member.isreg():
            return self.problem(name, "not-regular", "it is a pipe or device", "nothing: it holds no bytes")
        if member.issparse():
            return self.problem(name, "sparse", "it is stored as a sparse file", "pack it again without --sparse")
        time = _commit_time(_tar_time(member)) if commit else _tar_time(member)
        self._member(entry, name, entry.data.part(member.offset_data, member.size), time, depth)

    def _zip(self, entry: _Entry, depth: int) -> None:
        with entry.data.open_capped(self.limits.header_bytes) as stream:
            try:
                archive = zipfile.ZipFile(stream)
            except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
                raise Unreadable("damaged", "it is damaged or not completely there", "copy or pack it again") from error
            with archive:
                commit = bool(re.fullmatch(rb"[0-9a-f]{40,64}", archive.comment))
                infos = [(i.filename, i) for i in archive.infolist() if not i.is_dir()]
                for name, info in self._members(entry, infos):
                    try:
                        self._zip_member(entry, archive, name, info, commit, depth)
                    except Unreadable as error:
                        self.problem(name, error.kind, error.what, error.todo)

    def _zip_member(self, entry: _Entry, archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo, commit: bool, depth: int) -> None:
        if info.flag_bits & 1:
            raise Unreadable("encrypted", "it is encrypted", "unpack it with its password and give the files")
        if stat.S_ISLNK(info.external_attr >> 16):
            return
        try:
            with archive.open(info) as stream:
                data, broken = self._spool.add(_reads(stream), info.compress_size)  # type: ignore[arg-type]
        except NotImplementedError as error:
            raise Unreadable("foreign", "its compression method is not known here", "unpack it and give the files") from error
        except (zipfile.BadZipFile, ValueError, struct.error, RuntimeError) as error:
            raise Unreadable("damaged", "it is damaged", "pack it again") from error
        time = _commit_time(_zip_time(info)) if commit else _zip_time(info)
        if broken is not None:
            self.problem(name, "damaged", "it is damaged; what could be unpacked was read", "pack it again")
            time = replace(time, notes=(*time.notes, ("damaged-archive", "the archive is damaged: this member may be wrong or cut")))
        self._member(entry, name, data, time, depth)

    def _members(self, entry: _Entry, found: list[tuple[str, _M]]) -> list[tuple[str, _M]]:
        """(shown name, member) in name order, without litter, our own reports and settings; at most `limits.members`."""
        if len(found) > self.limits.members:
            self.problem(
                entry.name, "members", f"it has more than {self.limits.members} members; the first were read", "unpack what matters"
            )
            found = found[: self.limits.members]
        if not found:
            self.problem(entry.name, "empty-folder", "the archive holds no files", "check what was packed")
        folders: dict[str, set[str]] = {}
        for raw, _ in found:
            folder, _, last = clean_name(raw).rpartition("/")
            folders.setdefault(folder, set()).add(last)
        reports = {folder for folder, names in folders.items() if names >= _REPORT_MARKS}
        out = []
        for raw, member in found:
            inner = clean_name(raw)
            parts = inner.split("/")
            ours = any("/".join(parts[:i]) in reports and parts[i] in _REPORT for i in range(len(parts)))
            if _skipped(parts) or ours:
                continue
            if parts[-1] == CONFIG_NAME:
                self.problem(f"{entry.name}!{inner}", "config-not-used", "settings inside an archive are not used", "name it with --config")
                continue
            out.append((f"{entry.name}!{inner}", member))
        return sorted(out, key=lambda pair: pair[0].split("/"))

    def _member(self, entry: _Entry, name: str, data: _Bytes, time: _Time, depth: int) -> None:
        time = replace(time, notes=(*(n for n in entry.time.notes if n[0] == "damaged-archive"), *time.notes))
        self._expand(_Entry(name, data, time, f"{entry.given_as}!{name.partition('!')[2]}", entry.name), depth + 1)

    def _add(self, entry: _Entry) -> None:
        if len(self.sources) >= self.limits.sources:
            if not self._full:
                self.problem(entry.name, "too-many", f"more than {self.limits.sources} files; the rest was not read", "give fewer files")
            self._full = True
            return
        with entry.data.open() as stream:
            head = stream.read(64 * 1024)
        # A real file is opened whole: a log that is still being written may have grown since.
        opener = (lambda p=entry.path: p.open("rb")) if entry.path is not None else entry.data.open
        self.sources.append(
            Source(
                name=entry.name,
                opener=opener,
                size=entry.data.length,
                mtime=entry.time.at,
                mtime_kind=entry.time.kind,
                mtime_resolution_s=entry.time.resolution_s,
                mtime_clock=entry.time.clock,
                parent=entry.parent,
                given_as=entry.given_as,
                quality=list(entry.time.notes),
                path=entry.path.absolute() if entry.path is not None else None,
                kind="empty" if not head else "binary" if is_binary(head) else "text",
            )
        )


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _without_suffix(name: str) -> str:
    stem, _, suffix = name.rpartition(".")
    return stem + ".tar" if suffix.lower() in ("tgz", "tbz2", "txz", "tzst", "tbz") else stem or name


def _commit_time(time: _Time) -> _Time:
    """`git archive` and repository downloads give every member the time of the commit."""
    return replace(time, kind="copied", notes=(("copied-times", "the archive comes from a repository: its times are those of a commit"),))
