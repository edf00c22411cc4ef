"""Everything given becomes a source or a problem, with its right time, under a harmless name, within bounds."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import socket
import struct
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from gpuverdict.engine import unpack
from gpuverdict.engine.collect import Collected, clean_name, collect
from gpuverdict.engine.source import Source
from gpuverdict.engine.unpack import LIMITS
from hypothesis import given
from hypothesis import strategies as st

T0 = 1_790_000_000


def write(path: Path, data: bytes | str = b"x\n", mtime: float | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    if mtime is not None:
        os.utime(path, ns=(round(mtime * 1000) * 1_000_000,) * 2)
    return path


def names(got: Collected) -> list[str]:
    return [s.name for s in got.sources]


def kinds(got: Collected) -> list[tuple[str, str]]:
    return [(p.name, p.kind) for p in got.problems]


def read(source: Source) -> bytes:
    with source.open() as stream:
        return stream.read()


def tar_bytes(members: dict[str, bytes], mtime: float = T0, format: int = tarfile.GNU_FORMAT, mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=format) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), mtime  # type: ignore[assignment]
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_bytes(members: dict[str, bytes], extra: bytes = b"", date: tuple[int, int, int, int, int, int] = (2026, 9, 21, 10, 0, 2)) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, date)
            info.extra, info.compress_type = extra, zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return out.getvalue()


# files and folders


def test_a_file_has_its_own_name_and_a_folder_gives_paths_inside_it(tmp_path: Path) -> None:
    write(tmp_path / "run/b/dmon.txt", "b\n")
    write(tmp_path / "run/a.log", "a\n")
    got = collect([tmp_path / "run/b/dmon.txt", tmp_path / "run"])
    assert names(got) == ["dmon.txt", "a.log"]
    assert [s.source_id for s in got.sources] == [0, 1]
    assert got.sources[1].path == tmp_path / "run/a.log"
    assert got.sources[1].given_as == str(tmp_path / "run/a.log")
    assert read(got.sources[0]) == b"b\n"


def test_order_is_by_path_whatever_the_order_on_disk(tmp_path: Path) -> None:
    for name in ("z.log", "a/2.log", "a/1.log", "m.log"):
        write(tmp_path / name)
    assert names(collect([tmp_path])) == ["a/1.log", "a/2.log", "m.log", "z.log"]


def test_litter_version_control_and_labels_are_left_out(tmp_path: Path) -> None:
    for name in (".git/config", "sub/.svn/x", "label.toml", "._a.log", ".DS_Store", "a.log", ".env.log"):
        write(tmp_path / name)
    got = collect([tmp_path])
    assert names(got) == [".env.log", "a.log"]
    assert got.problems == []


def test_an_earlier_report_is_left_out_but_not_the_logs_beside_it(tmp_path: Path) -> None:
    for name in ("findings.json", "trace.duckdb", "report.html", "charts/a.svg", "server.log"):
        write(tmp_path / name)
    got = collect([tmp_path])
    assert names(got) == ["server.log"]
    assert [k for _, k in kinds(got)] == ["earlier-report"]
    write(tmp_path / "other/findings.json")
    assert "other/findings.json" in names(collect([tmp_path]))


def test_settings_are_found_and_are_no_source(tmp_path: Path) -> None:
    write(tmp_path / "one/gpuverdict.toml")
    write(tmp_path / "one/a.log")
    write(tmp_path / "two/gpuverdict.toml")
    write(tmp_path / "two/deep/gpuverdict.toml")
    got = collect([tmp_path / "one"])
    assert (got.config, names(got)) == (tmp_path / "one/gpuverdict.toml", ["a.log"])
    got = collect([tmp_path / "one", tmp_path / "two"])
    assert got.config == tmp_path / "one/gpuverdict.toml"
    assert sorted(k for _, k in kinds(got)) == ["config-not-used", "several-configs"]
    assert collect([tmp_path / "two/gpuverdict.toml"]).config == tmp_path / "two/gpuverdict.toml"


def test_what_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/broken").symlink_to("nowhere")
    (tmp_path / "run/ring").symlink_to("ring")
    os.mkfifo(tmp_path / "run/pipe")
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(tmp_path)  # socket paths are short
        server.bind("run/socket")
        (tmp_path / "empty").mkdir()
        got = collect([tmp_path / "run", tmp_path / "empty", tmp_path / "gone.log", str(tmp_path / "*.nothing"), "/dev/null"])
    assert got.sources == []
    assert kinds(got) == [
        ("broken", "broken-link"),
        ("ring", "broken-link"),
        ("pipe", "not-regular"),
        ("socket", "not-regular"),
        ("empty/", "empty-folder"),
        ("gone.log", "missing"),
        ("*.nothing", "missing"),
        ("null", "not-regular"),
    ]
    assert all(p.what and p.todo for p in got.problems)


def test_no_permission_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = write(tmp_path / "secret.log")
    write(tmp_path / "open.log")
    whole_open = Path.open

    def guarded(self: Path, *args: object, **more: object) -> object:
        if self.name == "secret.log":
            raise PermissionError(13, "Permission denied")
        return whole_open(self, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "open", guarded)
    got = collect([tmp_path])
    assert (names(got), kinds(got)) == (["open.log"], [("secret.log", "permission")])
    assert secret.name in str(got.problems[0])


def test_link_loops_end_and_a_linked_file_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "run/server-7.log")
    (tmp_path / "run/sub").mkdir()
    (tmp_path / "run/sub/up").symlink_to("..")
    (tmp_path / "run/latest.log").symlink_to("server-7.log")
    os.link(tmp_path / "run/server-7.log", tmp_path / "run/zcopy.log")
    got = collect([tmp_path / "run", tmp_path / "run/server-7.log"])
    assert names(got) == ["server-7.log"]
    assert kinds(got) == [("zcopy.log", "duplicate")]


def test_a_linked_folder_outside_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/a.log")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/logs").symlink_to(tmp_path / "elsewhere")
    assert names(collect([tmp_path / "run"])) == ["logs/a.log"]


def test_depth_and_number_of_files_are_bounded(tmp_path: Path) -> None:
    write(tmp_path / "a/b/c/d/deep.log")
    for n in range(5):
        write(tmp_path / f"{n}.log", str(n))
    got = collect([tmp_path], limits=replace(LIMITS, folder_depth=2, sources=3))
    assert names(got) == ["0.log", "1.log", "2.log"]
    assert [k for _, k in kinds(got)] == ["depth", "too-many"]


def test_globs_the_shell_left_alone(tmp_path: Path) -> None:
    for n in (2, 1):
        write(tmp_path / f"resp_{n}.json")
    assert names(collect([str(tmp_path / "resp_*.json")])) == ["resp_1.json", "resp_2.json"]
    write(tmp_path / "odd[1].log")
    assert names(collect([str(tmp_path / "odd[1].log")])) == ["odd[1].log"]


def test_equal_names_are_told_apart(tmp_path: Path) -> None:
    write(tmp_path / "a/server.log", "1")
    write(tmp_path / "b/server.log", "2")
    got = collect([tmp_path / "a/server.log", tmp_path / "b/server.log"])
    assert names(got) == ["a/server.log", "b/server.log"]


def test_kinds(tmp_path: Path) -> None:
    write(tmp_path / "a.sqlite", b"SQLite format 3\x00" + bytes(100))
    write(tmp_path / "b.txt", b"")
    write(tmp_path / "c.txt", "text\n")
    assert [s.kind for s in collect([tmp_path]).sources] == ["binary", "empty", "text"]


def test_standard_input(tmp_path: Path) -> None:
    got = collect(["-"], stdin=io.BytesIO(b"hello\n"))
    assert (names(got), read(got.sources[0]), got.sources[0].mtime) == (["stdin"], b"hello\n", None)
    got = collect(["-"], stdin=io.BytesIO(gzip.compress(b"hello\n")))
    assert read(got.sources[0]) == b"hello\n"
    got = collect(["-"], stdin=io.BytesIO(b"x" * 100), limits=replace(LIMITS, member_bytes=50))
    assert (names(got), kinds(got)) == ([], [("stdin", "too-big")])


# packed files


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_logs_are_unpacked_by_content_not_by_name(tmp_path: Path, suffix: str) -> None:
    body = b"".join(b"line %d\n" % n for n in range(50_000))
    packed = PACKERS[suffix](body)
    write(tmp_path / f"a.log.{suffix}", packed, T0 + 0.25)
    write(tmp_path / "plain-name.log", PACKERS[suffix](b"one\n") + PACKERS[suffix](b"two\n"))
    write(tmp_path / f"lying.{suffix}", b"not packed at all\n")
    got = collect([tmp_path])
    assert [read(s)[:4] for s in got.sources] == [b"line", b"not ", b"one\n"]
    first, _, double = got.sources
    assert (first.size, first.mtime, first.path) == (len(body), T0 + 0.25, None)
    assert read(first) == body == read(first)
    assert read(double) == b"one\ntwo\n"
    assert got.problems == []


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_cut_packed_log_gives_what_is_there_and_says_so(tmp_path: Path, suffix: str) -> None:
    body = os.urandom(300_000).hex().encode() * 4
    packed = PACKERS[suffix](body)
    write(tmp_path / f"a.{suffix}", packed[: len(packed) * 9 // 10])
    got = collect([tmp_path])
    data = read(got.sources[0])
    assert 0 < len(data) < len(body)
    assert body.startswith(data)
    assert kinds(got) == [(f"a.{suffix}", "damaged")]
    assert [k for k, _ in got.sources[0].quality] == ["damaged-archive"]


def test_gzip_keeps_the_time_of_the_file_it_packed(tmp_path: Path) -> None:
    out = io.BytesIO()
    with gzip.GzipFile(filename="a.log", fileobj=out, mode="wb", mtime=T0) as packed:
        packed.write(b"x\n")
    write(tmp_path / "a.log.gz", out.getvalue(), T0 + 9000)
    source = collect([tmp_path / "a.log.gz"]).sources[0]
    assert (source.mtime, source.mtime_kind, source.mtime_resolution_s) == (T0, "archive", 1.0)


def test_bombs_are_stopped(tmp_path: Path) -> None:
    write(tmp_path / "bomb.log.xz", lzma.compress(bytes(40 << 20)))
    write(tmp_path / "fine.log.gz", gzip.compress(b"ok\n"))
    tight = replace(LIMITS, ratio_floor=1 << 20)
    got = collect([tmp_path], limits=tight)
    assert (names(got), kinds(got)) == (["fine.log.gz"], [("bomb.log.xz", "ratio")])
    got = collect([tmp_path], limits=replace(LIMITS, member_bytes=1 << 20))
    assert (names(got), kinds(got)) == (["fine.log.gz"], [("bomb.log.xz", "too-big")])


def test_the_total_is_bounded(tmp_path: Path) -> None:
    write(tmp_path / "all.zip", zip_bytes({f"{n}.log": os.urandom(1000) for n in range(5)}))
    got = collect([tmp_path], limits=replace(LIMITS, total_bytes=3500))
    assert names(got) == ["all.zip!0.log", "all.zip!1.log", "all.zip!2.log"]
    assert [k for _, k in kinds(got)] == ["too-big", "too-big"]


def test_temporary_files_go_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "in/a.log.gz", gzip.compress(b"x\n"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(unpack.tempfile, "tempdir", str(tmp_path / "tmp"))
    got = collect([tmp_path / "in"])
    assert len(os.listdir(tmp_path / "tmp")) == 1
    del got
    assert os.listdir(tmp_path / "tmp") == []


# archives


def test_members_of_a_tar(tmp_path: Path) -> None:
    bodies = {f"./run/resp_{n}.json": b"{%d}" % n for n in (2, 1)}
    write(tmp_path / "r.tar", tar_bytes(bodies))
    got = collect([tmp_path / "r.tar"])
    assert names(got) == ["r.tar!run/resp_1.json", "r.tar!run/resp_2.json"]
    first = got.sources[0]
    assert (read(first), first.parent, first.path) == (b"{1}", "r.tar", None)
    assert (first.mtime, first.mtime_kind, first.mtime_resolution_s, first.mtime_clock) == (T0, "archive", 1.0, "utc")


def test_pax_times_are_read_from_their_digits(tmp_path: Path) -> None:
    write(tmp_path / "r.tar", tar_bytes({"a": b"x"}, T0 + 0.821372, tarfile.PAX_FORMAT))
    source = collect([tmp_path / "r.tar"]).sources[0]
    assert source.mtime == T0 + 0.821372
    assert source.mtime_resolution_s == pytest.approx(1e-6)
    write(tmp_path / "w.tar", tar_bytes({"a": b"x"}, T0, tarfile.PAX_FORMAT))
    assert collect([tmp_path / "w.tar"]).sources[0].mtime_resolution_s == 1.0


@pytest.mark.parametrize("mode, name", [("w:gz", "r.tgz"), ("w:gz", "r.tar.gz"), ("w:bz2", "r.tar.bz2"), ("w:xz", "r.txz")])
def test_packed_tars(tmp_path: Path, mode: str, name: str) -> None:
    write(tmp_path / name, tar_bytes({"a.log": b"x\n"}, mode=mode))
    got = collect([tmp_path / name])
    assert (names(got), read(got.sources[0]), got.sources[0].mtime) == ([f"{name}!a.log"], b"x\n", T0)


def test_zip_times(tmp_path: Path) -> None:
    ut = struct.pack("<HHBi", 0x5455, 5, 3, T0)
    ntfs = struct.pack("<HHIHHQQQ", 0x000A, 32, 0, 1, 24, int((T0 + 0.5 + 11_644_473_600) * 10**7), 0, 0)
    write(tmp_path / "dos.zip", zip_bytes({"a": b"x"}))
    write(tmp_path / "ntfs.zip", zip_bytes({"a": b"x"}, ntfs))
    write(tmp_path / "unset.zip", zip_bytes({"a": b"x"}, date=(1980, 1, 1, 0, 0, 0)))
    write(tmp_path / "ut.zip", zip_bytes({"a": b"x"}, ut))
    dos, hundred_ns, unset, unix = collect([tmp_path]).sources
    local = 1_790_000_000 - T0 + 1_789_984_802  # 2026-09-21 10:00:02 read as UTC
    assert (dos.mtime, dos.mtime_resolution_s, dos.mtime_clock, dos.mtime_kind) == (local, 2.0, "local-no-zone", "archive")
    assert [k for k, _ in dos.quality] == ["zip-no-zone"]
    assert (hundred_ns.mtime, hundred_ns.mtime_resolution_s, hundred_ns.mtime_clock) == (T0 + 0.5, 1e-6, "utc")
    assert unset.mtime is None
    assert (unix.mtime, unix.mtime_resolution_s, unix.mtime_clock) == (T0, 1.0, "utc")


def test_archives_in_archives(tmp_path: Path) -> None:
    inner = tar_bytes({"a.log": b"x\n", "b.log.gz": gzip.compress(b"y\n")}, mode="w:gz")
    outer = zip_bytes({"run.tar.gz": inner})
    write(tmp_path / "o.zip", outer)
    write(tmp_path / "oo.zip", zip_bytes({"o.zip": outer}))
    got = collect([tmp_path])
    assert names(got) == ["o.zip!run.tar.gz!a.log", "o.zip!run.tar.gz!b.log.gz"]
    assert [read(s) for s in got.sources] == [b"x\n", b"y\n"]
    assert kinds(got) == [("oo.zip!o.zip!run.tar.gz", "depth")]


def test_hostile_and_odd_members(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in ("../../etc/passwd", "/abs/olute", "a\x1b[31mb\n.log", "C:\\w\\x.log"):
            info = tarfile.TarInfo(name)
            info.size = 1
            archive.addfile(info, io.BytesIO(b"x"))
        for kind, target in ((tarfile.SYMTYPE, "../outside"), (tarfile.LNKTYPE, "../../etc/passwd"), (tarfile.FIFOTYPE, "")):
            info = tarfile.TarInfo("odd" + kind.decode())
            info.type, info.linkname = kind, target
            archive.addfile(info)
    write(tmp_path / "h.tar", out.getvalue())
    got = collect([tmp_path])
    assert names(got) == ["h.tar!a_[31mb_.log", "h.tar!abs/olute", "h.tar!etc/passwd", "h.tar!w/x.log"]
    assert kinds(got) == [("h.tar!odd2", "broken-link"), ("h.tar!odd6", "not-regular")]


def test_encrypted_foreign_and_damaged_archives(tmp_path: Path) -> None:
    raw = bytearray(zip_bytes({"a.log": b"x\n"}))
    raw[6] |= 1
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    write(tmp_path / "enc.zip", bytes(raw))
    write(tmp_path / "x.7z", b"7z\xbc\xaf\x27\x1c" + bytes(50))
    write(tmp_path / "y.zip", b"PK\x03\x04" + bytes(50))
    write(tmp_path / "z.tar", tar_bytes({"a.log": b"a" * 5000, "b.log": b"b" * 5000})[:7000])
    got = collect([tmp_path])
    assert kinds(got) == [("enc.zip!a.log", "encrypted"), ("x.7z", "foreign"), ("y.zip", "damaged"), ("z.tar", "damaged")]
    assert names(got) == ["z.tar!a.log", "z.tar!b.log"]
    assert read(got.sources[0]) == b"a" * 5000


def test_too_many_members(tmp_path: Path) -> None:
    write(tmp_path / "m.tar", tar_bytes({f"{n}.log": b"x" for n in range(9)}))
    write(tmp_path / "m.zip", zip_bytes({f"{n}.log": b"x" for n in range(9)}))
    got = collect([tmp_path], limits=replace(LIMITS, members=4))
    assert len(got.sources) == 8
    assert kinds(got) == [("m.tar", "members"), ("m.zip", "members")]


def test_a_header_that_asks_for_memory_is_damage(tmp_path: Path) -> None:
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, 6 << 20
    good = tar_bytes({"a.log": b"x\n"})[:1024]
    write(tmp_path / "h.tar", good + info.tobuf(tarfile.USTAR_FORMAT) + bytes(7 << 20))
    got = collect([tmp_path])
    assert (names(got), kinds(got)) == (["h.tar!a.log"], [("h.tar", "damaged")])


@given(st.binary(max_size=60), st.integers(0, 4000), st.sampled_from(["t.tar", "t.tgz", "t.zip", "t.gz", "t.zst", "t.xz", "t.bz2"]))
def test_garbled_archives_never_raise(garbage: bytes, place: int, name: str) -> None:
    body = {f"r{n}.json": b'{"n": 1}' * 20 for n in range(3)}
    made: dict[str, Callable[[], bytes]] = {
        "t.tar": lambda: tar_bytes(body, format=tarfile.PAX_FORMAT),
        "t.tgz": lambda: tar_bytes(body, mode="w:gz"),
        "t.zip": lambda: zip_bytes(body),
        **{f"t.{k}": (lambda f=f: f(b"line\n" * 100)) for k, f in PACKERS.items()},  # type: ignore[misc]
    }
    raw = bytearray(made[name]())
    raw[place % len(raw) : place % len(raw) + len(garbage)] = garbage
    got = collect(["-"], stdin=io.BytesIO(bytes(raw)))
    assert got.sources or got.problems
    for source in got.sources:
        assert len(read(source)) == source.size


@given(st.text(max_size=300))
def test_names_are_harmless(name: str) -> None:
    cleaned = clean_name(name)
    assert cleaned.isprintable() and 0 < len(cleaned) <= 240
    assert ".." not in cleaned.split("/") and not cleaned.startswith("/")


# times


def test_repository_archives_carry_commit_times(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("r/a.json", (2026, 9, 21, 10, 0, 2)), b"x")
        archive.comment = b"0123456789abcdef0123456789abcdef01234567"
    write(tmp_path / "main.zip", out.getvalue())
    source = collect([tmp_path]).sources[0]
    assert (source.mtime_kind, [k for k, _ in source.quality]) == ("copied", ["copied-times"])


def test_whole_seconds_on_disk_are_a_coarse_time(tmp_path: Path) -> None:
    write(tmp_path / "a.log", mtime=T0)
    write(tmp_path / "b.log", mtime=T0 + 500.25)
    assert [s.mtime_resolution_s for s in collect([tmp_path]).sources] == [1.0, 1e-6]


LOG = "".join(f"1.{n:02d}.000.000 I slot      release: id 0 | task {n} | stop processing\n" for n in range(60))


def test_a_copy_of_a_file_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "run/a/server.log", LOG)
    write(tmp_path / "run/b/old-server.log", LOG)
    write(tmp_path / "run/c/server.log.gz", gzip.compress(LOG.encode()))
    write(tmp_path / "run/d/server.log", LOG[:-1] + " ")
    write(tmp_path / "run/e/short.txt", "1\n")
    write(tmp_path / "run/f/brief.txt", "1\n")
    got = collect([tmp_path / "run"])
    assert names(got) == ["a/server.log", "d/server.log", "e/short.txt", "f/brief.txt"]
    assert [kind for _, kind in kinds(got)] == ["duplicate", "duplicate"]
    assert "a/server.log" in got.problems[0].what


def test_equal_files_of_a_series_are_all_read(tmp_path: Path) -> None:
    for name in ("c4/resp_1.json", "c4/resp_2.json", "c8/resp_1.json"):
        write(tmp_path / "run" / name, LOG)
    assert len(names(collect([tmp_path / "run"]))) == 3
    for name in ("run1.log", "run2.log"):
        write(tmp_path / "big" / name, LOG * 40)
    assert names(collect([tmp_path / "big"])) == ["run1.log"]
