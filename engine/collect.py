"""From what the user gave (files, folders, globs, archives, standard input) to a list of readable sources. Everything is bounded.

Nothing that was given disappears silently: what cannot be read becomes a `Problem` that says what happened and what to do.
Compressed bytes are unpacked once into one temporary file (unpack.py); every source can then be opened again and again at no cost.
"""

from __future__ import annotations

import glob
import hashlib
import itertools
import os
import re
import stat
import struct
import sys
import tarfile
import unicodedata
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, TypeVar

from .filetimes import FileTime, commit_time, file_time, gzip_time, mark_copied, tar_time, zip_time
from .source import Source, is_binary
from .unpack import LIMITS, UNPACKERS, Bytes, Limits, Spool, Unreadable, container, reads, without_suffix

_M = TypeVar("_M")
_Inode = tuple[int, int]

CONFIG_NAME = "gpuverdict.toml"

_TELLING = 256  # bytes below which two files may be equal by chance
_DIGITS = re.compile(r"\d+")


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


# --- the walk --------------------------------------------------------------------------------------------------------------------

_VCS = {".git", ".hg", ".svn", ".bzr", "CVS"}
_JUNK = {".DS_Store", "__MACOSX", "Thumbs.db", "label.toml"}
_REPORT = {"report.html", "report.md", "findings.json", "trace.duckdb", "charts"}
_REPORT_MARKS = {"findings.json", "trace.duckdb"}


@dataclass(frozen=True)
class _Entry:
    """Something about to become sources: named bytes with their time."""

    name: str
    data: Bytes
    time: FileTime
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
        self._heads: dict[tuple[int, bytes], list[_Entry]] = {}
        self._spool = Spool(limits)
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
            data, _ = self._spool.add(reads(stream), None)
        except (Unreadable, OSError, ValueError) as error:
            what = error.what if isinstance(error, Unreadable) else "it cannot be read"
            return self.problem(
                name, "too-big" if isinstance(error, Unreadable) else "permission", what, "write it to a file and give that"
            )
        self._expand(_Entry(name, data, FileTime(), text), 0)

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
        data = Bytes(path.absolute(), 0, found.st_size)
        self._expand(_Entry(name, data, file_time(found), str(path), None, path), 0)

    def _expand(self, entry: _Entry, depth: int) -> None:
        """One named stream: a source, or the members of the archive it is."""
        try:
            with entry.data.open() as stream:
                head = stream.read(512)
            kind = container(head, entry.name)
            if kind is None:
                return self._add(entry)
            if kind.startswith("foreign:"):
                raise Unreadable("foreign", f"{kind.partition(':')[2]} archives are not unpacked", "unpack it and give the files")
            if depth > self.limits.depth or (kind in ("zip", "tar") and depth == self.limits.depth):
                raise Unreadable("depth", f"it is packed more than {self.limits.depth} times", "unpack the outer archives")
            if kind in UNPACKERS:
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
            data, broken = self._spool.add(UNPACKERS[kind](stream), entry.data.length)
        if broken is not None and not data.length:
            raise Unreadable("damaged", "it is damaged from the start", "pack it again from the original")
        time = entry.time
        if broken is not None:
            self.problem(entry.name, "damaged", "it is damaged or cut off; what could be unpacked was read", "pack it again")
            time = replace(time, notes=(*time.notes, ("damaged-archive", "the packed file is damaged: its end is missing")))
        if kind == "gz":
            stored = gzip_time(head)
            time = replace(stored, notes=time.notes) if stored else time
        with data.open() as stream:
            inner = container(stream.read(512), without_suffix(entry.name))
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
        time = commit_time(tar_time(member)) if commit else tar_time(member)
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
                data, broken = self._spool.add(reads(stream), info.compress_size)  # type: ignore[arg-type]
        except NotImplementedError as error:
            raise Unreadable("foreign", "its compression method is not known here", "unpack it and give the files") from error
        except (zipfile.BadZipFile, ValueError, struct.error, RuntimeError) as error:
            raise Unreadable("damaged", "it is damaged", "pack it again") from error
        time = commit_time(zip_time(info)) if commit else zip_time(info)
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

    def _member(self, entry: _Entry, name: str, data: Bytes, time: FileTime, depth: int) -> None:
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
        if twin := self._twin(entry, head):
            return self.problem(entry.name, "duplicate", f"it holds the same as {twin}", "nothing: it is read once")
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

    def _twin(self, entry: _Entry, head: bytes) -> str | None:
        """The name of an earlier file with the same bytes: a copy is no second measurement. Small files whose names differ by a number alone
        are kept, because saved answers and settings of several steps may well be equal."""
        if len(head) < _TELLING:
            return None
        alike = self._heads.setdefault((entry.data.length, hashlib.blake2b(head).digest()), [])
        for other in alike:
            numbered = _DIGITS.sub("", other.name) == _DIGITS.sub("", entry.name)
            if not (numbered and len(head) < 64 * 1024) and _same_bytes(entry.data, other.data):
                return other.name
        alike.append(entry)
        return None


def _same_bytes(one: Bytes, other: Bytes) -> bool:
    with one.open() as a, other.open() as b:
        while block := a.read(1 << 20):
            if block != b.read(len(block)):
                return False
    return True


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
