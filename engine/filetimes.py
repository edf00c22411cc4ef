"""When a file was last written, as far as its file system or its archive knows, and which of those times a copy wrote.

Times of files, of gzip headers and of tar and zip members, each with its resolution and its clock; families of numbered files.
"""

from __future__ import annotations

import datetime as dt
import itertools
import os
import re
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from .source import Source

FINEST_S = 1e-6  # file systems and PAX keep nanoseconds, but a DOUBLE of seconds since 1970 holds no more
COPY_SPAN_S = 1.0


@dataclass(frozen=True)
class FileTime:
    """A last write: seconds since 1970 (None: unknown), where it was read, its resolution, the clock it is on, notes."""

    at: float | None = None
    kind: str = "filesystem"
    resolution_s: float | None = None
    clock: str = "utc"
    notes: tuple[tuple[str, str], ...] = ()


def file_time(found: os.stat_result) -> FileTime:
    """File systems store ns, but a whole second means that something coarser wrote it (tar, zip, FAT, rsync to HFS+)."""
    ns = found.st_mtime_ns
    if ns <= 0:
        return FileTime()
    return FileTime(ns / 1_000_000_000, "filesystem", 1.0 if ns % 1_000_000_000 == 0 else FINEST_S)


def gzip_time(head: bytes) -> FileTime | None:
    """The header keeps the mtime of the packed file, and its name with it; without a name the input was a pipe and it means nothing."""
    if len(head) < 10 or not head[3] & 0x08:
        return None
    seconds = struct.unpack_from("<I", head, 4)[0]
    return FileTime(float(seconds), "archive", 1.0) if seconds else None


def tar_time(member: tarfile.TarInfo) -> FileTime:
    """PAX keeps the time as a decimal string (read exactly, its digits are its resolution); GNU and ustar keep whole seconds."""
    text = member.pax_headers.get("mtime")
    try:
        at = float(text) if text is not None else float(member.mtime)
    except ValueError:
        return FileTime(None, "archive")
    if not 0 < at < 1e11:
        return FileTime(None, "archive")
    digits = len(text.partition(".")[2].rstrip("0")) if text else 0
    return FileTime(at, "archive", max(10.0**-digits, FINEST_S) if digits else 1.0)


def zip_time(member: zipfile.ZipInfo) -> FileTime:
    """UT extra (1 s UTC; 5 bytes in the central directory), NTFS extra (100 ns UTC), else the DOS time: 2 s, local, zone unknown."""
    extra, dos = member.extra, None
    while len(extra) >= 4:
        tag, length = struct.unpack_from("<HH", extra)
        body, extra = extra[4 : 4 + length], extra[4 + length :]
        if tag == 0x5455 and len(body) >= 5 and body[0] & 1:
            return FileTime(float(struct.unpack_from("<i", body, 1)[0]), "archive", 1.0)
        if tag == 0x000A and len(body) >= 32 and struct.unpack_from("<HH", body, 4) == (1, 24):
            ticks = struct.unpack_from("<Q", body, 8)[0]
            if ticks:
                return FileTime((ticks - 116_444_736_000_000_000) / 10_000_000, "archive", FINEST_S if ticks % 10_000_000 else 1.0)
    try:
        dos = dt.datetime(*member.date_time, tzinfo=dt.UTC).timestamp()
    except ValueError:
        return FileTime(None, "archive")
    if member.date_time <= (1980, 1, 1, 0, 0, 0):  # the zero of DOS time: not set
        return FileTime(None, "archive")
    return FileTime(dos, "archive", 2.0, "local-no-zone", (("zip-no-zone", "zip times have no zone and a step of 2 s"),))


def commit_time(time: FileTime) -> FileTime:
    """`git archive` and repository downloads give every member the time of the commit."""
    return replace(time, kind="copied", notes=(("copied-times", "the archive comes from a repository: its times are those of a commit"),))


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
