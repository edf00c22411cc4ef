"""nvidia-smi --query-compute-apps: names with commas, rounds, cuts."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.nvidia_smi_compute_apps import PARSER
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


U = "GPU-12345678-1234-1234-1234-123456789ab{}"
HEAD = "timestamp, pid, process_name, gpu_uuid, used_gpu_memory [MiB]\n"


def row(ms: int, pid: int, uuid: int, memory: str = "10 MiB", name: str = "x") -> str:
    return f"2026/02/03 04:05:{ms // 1000:02}.{ms % 1000:03}, {pid}, {name}, {U.format(uuid)}, {memory}\n"


def test_rounds_by_time() -> None:
    got = rows(HEAD + row(0, 1, 0) + row(3, 2, 1) + row(1005, 1, 0) + row(1008, 2, 1))
    assert [(r["cycle"], r["gpu"]) for r in got] == [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize("name", ["x", "/opt/my server", "a, b, c", "C:\\x,y.exe"])
def test_names(name: str) -> None:
    (got,) = rows(HEAD + row(0, 1, 0, name=name))
    assert got["name"] == name.replace(", ", ",") and got["mem_used"] == 10


def test_a_word_for_no_name_is_none() -> None:
    assert {rows(HEAD + row(0, 1, 0, name=name))[0]["name"] for name in ("[Not Found]", "[Insufficient Permissions]")} == {None}


def test_rows_without_header_are_refused_with_a_reason() -> None:
    for ids in ("", "GPU-12345678-1234-1234-1234-123456789ab0, "):
        found = PARSER.claims(Source.from_text(f"{ids}1508004, ./x, 1002 MiB\n{ids}1508005, ./y, 2 MiB\n").head())
        assert isinstance(found, Refusal) and "header" in found.missing


def test_a_mig_instance_is_no_card() -> None:
    got = rows("pid, process_name, gpu_uuid, used_gpu_memory [MiB]\n1, a, MIG-12345678-1234-1234-1234-123456789abc, 5 MiB\n")
    assert [r["gpu"] for r in got] == [None]


@pytest.mark.parametrize("word", ["[N/A]", "[Not Supported]", "[Insufficient Permissions]", "N/A"])
def test_no_value(word: str) -> None:
    assert rows(HEAD + row(0, 1, 0, word))[0]["mem_used"] is None


def test_the_number_is_only_good_inside_the_file() -> None:
    text = HEAD + row(0, 1, 5) + row(1, 1, 3)
    assert [r["gpu"] for r in rows(text)] == [0, 1] and kinds(text) == {"gpu-by-appearance": 2}
    assert [r.get("gpu") for r in rows(text, "gpus")] == [None, None]


def test_columns_change_with_the_header() -> None:
    text = HEAD + row(0, 1, 0) + "pid, used_memory [MiB]\n77, 12 MiB\n"
    assert [(r["pid"], r["mem_used"], r["gpu"]) for r in rows(text)] == [(1, 10, 0), (77, 12, None)]


def test_near_misses_and_cuts() -> None:
    found, counts = rows_of(PARSER, HEAD + row(0, 1, 0).replace(", 1,", ", one,"))
    assert "gpu_processes" not in found and counts.near_miss == 1
    text = HEAD + row(0, 1, 0, "1234 MiB")
    assert rows(text[: text.rindex("34 MiB")]) == []


def test_query_gpu_is_not_this() -> None:
    assert claim("timestamp, index, utilization.gpu [%]\n2026/01/01 10:00:00.000, 0, 5 %\n") is None
    got = claim("15, ./sim, 1002 MiB\n16, ./sim, 1003 MiB\n")
    assert isinstance(got, Refusal) and "header" in got.missing
    mixed = HEAD + row(0, 1, 0) + "index, utilization.gpu [%]\n0, 5 %\n"
    assert len(rows(mixed)) == 1


# ---------------------------------------------------------------- open-ended input

(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="timestamp,pid used_memory[MiB]0123456789GPU-\n:/.")
