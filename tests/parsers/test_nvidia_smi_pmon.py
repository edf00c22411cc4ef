"""nvidia-smi pmon: eras, rounds, names with blanks."""

from __future__ import annotations

from typing import Any

from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.nvidia_smi_pmon import PARSER
from open_ended import line_tests


def rows(text: str | bytes, table: str = "gpu_processes") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def kinds(text: str) -> dict[str, int]:
    return {r["kind"]: r["n"] for r in rows_of(PARSER, text)[0].get("quality", [])}


def claim(text: str | bytes, name: str = "sample.txt") -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text, name).head())


def test_samples() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(claim(sample.text), Claim)


HEAD = "# gpu         pid   type     sm    mem    enc    dec    command \n# Idx           #    C/G      %      %      %      %    name \n"
ROW = "    {g}      {pid}     C     {sm}      1      -      -    {name}\n"


def test_rounds_without_time() -> None:
    one = "".join(ROW.format(g=g, pid=p, sm=5, name="x") for g, p in ((0, 100), (0, 200), (1, 100)))
    got = rows(HEAD + one + one)
    assert [(r["gpu"], r["pid"], r["cycle"]) for r in got] == [(0, 100, 0), (0, 200, 0), (1, 100, 0), (0, 100, 1), (0, 200, 1), (1, 100, 1)]


def test_dashes_are_unknown() -> None:
    (row,) = rows(HEAD + ROW.format(g=0, pid=7, sm="-", name="my server.exe"))
    assert (row["util_gpu"], row["name"], row["mem_used"]) == (None, "my server.exe", None)
    idle = HEAD + "    0          -     -      -      -      -      -    -\n"
    assert rows(idle) == [] and kinds(idle) == {"no-processes": 1}


def test_time_alone_passes_midnight() -> None:
    head = "#Time         gpu         pid   type     sm    mem    command\n#HH:MM:SS     Idx           #    C/G      %      %    name\n"
    got = rows(head + " 23:59:59       0      7     C     10      1    x\n 00:00:01       0      7     C     11      1    x\n")
    assert [r["time"] for r in got] == [86399.0, 86401.0]
    assert kinds(head + " 23:59:59       0      7     C     10      1    x\n") == {"date-unknown": 1}


def test_rows_of_dmon_are_not_processes() -> None:
    dmon = "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec\n# Idx      W      C      C      %      %      %      %\n"
    text = HEAD + ROW.format(g=0, pid=7, sm=5, name="x") + dmon + "    0     23     C     45      -      0      0      0      0\n"
    assert len(rows(text)) == 1
    assert claim(dmon + "    0     23     45      -      0      0      0      0\n") is None


def test_near_misses_and_cuts() -> None:
    text = HEAD + ROW.format(g=0, pid=7, sm="5x", name="x") + ROW.format(g=0, pid=8, sm=5, name="x").rstrip("\n")
    found, counts = rows_of(PARSER, text)
    assert "gpu_processes" not in found and counts.near_miss == 1 and counts.rejects[0][0] == 3
    assert rows(HEAD + ROW.format(g=0, pid=7, sm=150, name="x"))[0]["util_gpu"] is None


def test_quoted_and_headerless() -> None:
    text = HEAD + ROW.format(g=0, pid=7, sm=5, name="x")
    quoted = "".join("> " + x.replace("#", "\\#") + "\n" for x in text.splitlines())
    assert len(rows(quoted)) == 1 and isinstance(claim(quoted), Claim)
    got = claim(ROW.format(g=0, pid=7, sm=5, name="x") * 3)
    assert isinstance(got, Refusal) and "header" in got.missing
    shared = claim("starting\n" + text)
    assert isinstance(shared, Claim) and shared.shares


def test_pasted_into_a_comment() -> None:
    head = "# # gpu        pid  type    sm   mem   enc   dec   command\n# # Idx          #   C/G     %     %     %     %   name\n"
    text = head + "#     0       1234     C    10    15     0     0   serve\n#     1       1235     C    20    15     0     0   serve\n"
    assert isinstance(PARSER.claims(Source.from_text(text, "sample.txt").head()), Claim)
    found = rows_of(PARSER, text)[0]["gpu_processes"]
    assert [(r["gpu"], r["pid"], r["util_gpu"]) for r in found] == [(0, 1234, 10), (1, 1235, 20)]


# ---------------------------------------------------------------- open-ended input

(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="# gpuidtypesm0123456789C+G- \n:")
