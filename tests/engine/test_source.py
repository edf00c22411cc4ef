"""A source gives the same lines whatever the size of its reads, and never mistakes text for bytes or the reverse."""

from __future__ import annotations

import io
import os
import random
import re
import zlib
from pathlib import Path

import pytest
from gpuverdict.engine import source as module
from gpuverdict.engine.source import Source, clean, is_binary, sniff_encoding
from hypothesis import given
from hypothesis import strategies as st

PIECES = ["\r", "\n", "\r\n", "\r\r\n", "\x00", "\ufeff", "a", "step 1", "é", "日本", "😀", " "]
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
sizes = st.integers(1, 64)


def numbered(source: Source, size: int) -> list[tuple[int, str]]:
    """(line number, line) as a parser sees them, block by block."""
    out: list[tuple[int, str]] = []
    for first, text in source.blocks(size):
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        out.extend((first + i, line) for i, line in enumerate(lines))
    return out


@given(texts, sizes, st.sampled_from(["utf-8", "utf-16", "utf-16-le"]))
def test_any_block_size_gives_the_same_lines(text: str, size: int, encoding: str) -> None:
    source = Source.from_text(text.encode(encoding))
    assert numbered(source, size) == numbered(source, 1 << 20)
    assert "".join(t for _, t in source.blocks(size)) == "".join(t for _, t in source.blocks(1 << 20))


@given(st.binary(max_size=200), sizes)
def test_any_bytes_give_the_same_lines(raw: bytes, size: int) -> None:
    source = Source.from_text(raw)
    lines = numbered(source, size)
    assert lines == numbered(source, 1 << 20)
    assert [n for n, _ in lines] == list(range(1, len(lines) + 1))


@given(texts, sizes)
def test_blocks_and_head_agree(text: str, size: int) -> None:
    source = Source.from_text(text)
    assert "".join(t for _, t in source.blocks(size)) == source.head().text


def test_crlf_split_between_two_reads_is_one_line_end() -> None:
    source = Source.from_text(b"ab\r\ncd\r\r\nef")
    for size in range(1, 12):
        assert numbered(source, size) == [(1, "ab"), (2, "cd"), (3, "ef")]


def test_a_file_of_lone_carriage_returns_has_lines_in_every_block() -> None:
    source = Source.from_text(b"one\rtwo\rthree\r" * 50)
    assert len(numbered(source, 7)) == 150
    assert source.head().text.startswith("one\ntwo\n")


def test_progress_bars_keep_their_carriage_returns() -> None:
    source = Source.from_text(b"10%\r50%\r100%\ndone\n")
    assert numbered(source, 4) == [(1, "10%\r50%\r100%"), (2, "done")]


def test_an_endless_line_is_bounded_and_keeps_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LINE_BYTES", 100)
    source = Source.from_text("a\n" + "x" * 1000 + "\nb\n")
    blocks = list(source.blocks(10))
    assert max(len(t) for _, t in blocks) <= 120
    assert "".join(t for _, t in blocks) == "a\n" + "x" * 1000 + "\nb\n"
    assert {first for first, _ in blocks[1:]} == {2}


def test_a_run_of_carriage_returns_is_cheap_and_bounded() -> None:
    assert clean("\r" * 200_000 + "x") == "\r" * 200_000 + "x"
    assert clean("a" + "\r" * 200_000 + "\n") == "a\n"


def test_short_reads_do_not_matter() -> None:
    class Dribble(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(3, size or 3))

    source = Source("x", lambda: Dribble(b"alpha\r\nbeta\r\n"))
    assert numbered(source, 5) == [(1, "alpha"), (2, "beta")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_recognised(encoding: str) -> None:
    raw = "gpu,  power\n0, 300\n".encode(encoding)
    assert sniff_encoding(raw).startswith("utf-16")
    assert not is_binary(raw)
    assert numbered(Source.from_text(raw), 3) == [(1, "gpu,  power"), (2, "0, 300")]


def test_binary_files_are_told_from_text() -> None:
    rng = random.Random(7)
    assert is_binary(bytes(rng.randrange(256) for _ in range(8192)))
    assert is_binary(zlib.compress(bytes(rng.randrange(97, 123) for _ in range(20000))))
    assert is_binary(b"SQLite format 3\x00" + b"\x10\x00\x01\x01" * 30)
    assert is_binary(b"\x00" * 5000)
    assert not is_binary(b"")
    assert not is_binary(b"\x00" * 5000 + b"a log truncated under its writer\n" * 50)
    assert not is_binary("Zeit: 10,5 ms Größe\n".encode("latin-1") * 50)
    assert not is_binary("请求完成 耗时\n".encode("gbk") * 50)
    assert not is_binary(b"\x1b[32mINFO\x1b[0m ready\r" * 100)


def test_local_path_is_the_file_itself_or_a_copy_that_goes_away(tmp_path: Path) -> None:
    real = tmp_path / "a.sqlite"
    real.write_bytes(b"abc")
    with Source("a", lambda: real.open("rb"), path=real).local_path() as path:
        assert path == real
    with Source.from_text(b"abc").local_path() as path:
        assert path.read_bytes() == b"abc"
    assert not os.path.exists(path)


def test_line_counting_needs_no_final_newline() -> None:
    assert re.sub(r"\d", "", "".join(t for _, t in Source.from_text("a1\nb2").blocks(2))) == "a\nb"


def test_colours_are_gone_wherever_a_read_ends() -> None:
    text = "\x1b[1;36m| c \x1b[0m| tok/s |\x1b[K\r\n\x1b[38:5:12m| 8 | 12.5 |\x1b[m\n\x1b[3;1Hmoved\n"
    source = Source.from_text(text)
    assert source.head().text == "| c | tok/s |\n| 8 | 12.5 |\n\x1b[3;1Hmoved\n"
    for size in (1, 2, 3, 5, 7, 1000):
        assert "".join(block for _, block in source.blocks(size)) == source.head().text
