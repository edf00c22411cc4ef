"""nvidia-smi without options: eras, loops, hosts, cuts."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.nvidia_smi_table import PARSER
from open_ended import line_tests

SAMPLE = PARSER.samples[0].text


def rows(text: str | bytes, table: str = "gpu_samples") -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get(table, [])


def kinds(text: str) -> dict[str, int]:
    return {r["kind"]: r["n"] for r in rows_of(PARSER, text)[0].get("quality", [])}


def claim(text: str | bytes, name: str = "sample.txt") -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text, name).head())


def test_samples() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(claim(sample.text), Claim)


CARD = "|   {gpu}  NVIDIA L40S                    On  |   00000000:{bus}:00.0 Off |                    0 |\n"
VALUES = "| N/A   {temp}C    P0            {w}W /  350W |    {used}MiB /  46068MiB |    {util}%      Default |\n"
BANNER = "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n"


def table(second: int, cards: int = 1, util: int = 50, used: int = 12000) -> str:
    out = f"Tue Oct 29 19:00:{second:02} 2024       \n+-----+\n" + BANNER
    for g in range(cards):
        out += CARD.format(gpu=g, bus=f"4{g}") + VALUES.format(temp=50 + g, w=100 + g, used=used, util=util)
    return out + "+-----+\n"


def test_a_table_is_a_round() -> None:
    got = rows(table(1, 3) + table(6, 3))
    assert [(r["gpu"], r["cycle"], r["time"]) for r in got] == [(g, c, 1730228401.0 + 5 * c) for c in (0, 1) for g in (0, 1, 2)]
    assert [r["power_w"] for r in got] == [100, 101, 102] * 2


def test_tables_without_banner_or_date() -> None:
    one = CARD.format(gpu=0, bus="41") + VALUES.format(temp=40, w=50, used=1, util=7)
    got = rows(one + one)
    assert [(r["cycle"], r["time"], r["util_gpu"]) for r in got] == [(0, None, 7), (1, None, 7)]
    assert isinstance(claim(one), Claim)


def test_the_date_belongs_to_its_own_table() -> None:
    got = rows(table(1) + table(9).split("\n", 1)[1])
    assert [r["time"] for r in got] == [1730228401.0, None]


@pytest.mark.parametrize("word", ["N/A", "ERR!", "[N/A]", "Unknown Error", "GPU requires reset", "GPU is lost", "Not Supported"])
def test_words_in_place_of_a_value(word: str) -> None:
    line = f"| N/A  {word:>5}    P0           {word} /  350W |   11950MiB /  46068MiB | {word}      Default |"
    text = SAMPLE.replace("| N/A   61C    P0            308W /  350W |   11950MiB /  46068MiB |     93%      Default |", line)
    assert text != SAMPLE
    (row, _) = rows(text)
    assert [row[k] for k in ("temp", "power_w", "util_gpu")] == [None] * 3
    assert (row["power_limit_w"], row["mem_used"]) == (350, 11950)


def test_one_table_per_second() -> None:
    got = rows(table(1, util=10) + table(1, util=20) + table(1, util=30) + table(2, util=40))
    assert [(r["util_gpu"], r["cycle"]) for r in got] == [(10, 0), (40, 1)]
    assert kinds(table(1) + table(1)) == {"same-second": 1}
    other = table(1).replace(":40:00.0", ":41:00.0")  # another machine in the same second is not a repetition
    assert len(rows(table(1) + other)) == 2 and kinds(table(1) + other) == {"other-card": 1}


def test_hosts_before_every_line() -> None:
    a = [f"node-a: {x}" for x in table(1, util=10).splitlines()]
    b = [f"node-b: {x}" for x in table(1, util=90).splitlines()]
    text = "\n".join(x for pair in zip(a, b) for x in pair) + "\n"
    assert [(r["host"], r["util_gpu"], r["cycle"]) for r in rows(text)] == [("node-a", 10, 0), ("node-b", 90, 0)]
    assert {r["time"] for r in rows(text)} == {r["time"] for r in rows(table(1))} != {None}
    ranks = "\n".join(f"{k}: {x}" for x in table(1).splitlines() for k in (0, 1)) + "\n"
    assert [r["host"] for r in rows(ranks)] == [None, None]


@pytest.mark.parametrize("wrap", ["> {}", "    {}", "{}\r", "\x1b[1m{}\x1b[0m", "server-1  | {}", "{}   "])
def test_wrappers_change_nothing(wrap: str) -> None:
    text = "".join(wrap.format(x) + "\n" for x in table(1, 2).splitlines())
    assert [(r["gpu"], r["util_gpu"], r["mem_used"], r["time"]) for r in rows(text)] == [
        (0, 50, 12000, 1730228401.0),
        (1, 50, 12000, 1730228401.0),
    ]
    assert isinstance(claim(text), Claim)


def test_values_without_their_unit_are_null() -> None:
    text = table(1).rstrip("\n").rsplit("+", 2)[0].rstrip()
    (row,) = rows(text[: text.index("46068") + 3])
    assert (row["temp"], row["power_limit_w"], row["mem_used"], row["mem_total"], row["util_gpu"]) == (50, 350, None, None, None)
    (row,) = rows(text[: text.index("50%") + 2])
    assert (row["mem_used"], row["util_gpu"]) == (12000, None)
    found, counts = rows_of(PARSER, text[: text.index("350W") + 2])
    assert "gpu_samples" not in found and counts.near_miss >= 1


def test_a_first_reading_may_be_false() -> None:
    assert kinds(table(1, util=100, used=0)) == {"first-reading": 1}
    assert rows(table(1, util=100, used=0))[0]["util_gpu"] == 100
    assert kinds(table(1, util=100, used=30000)) == {}
    process = "|    0   N/A  N/A          113794      C   serve/python                   0MiB |\n"
    assert kinds(table(1, util=100, used=0) + process) == {}


def test_watch_is_refused() -> None:
    screen = "Every 1.0s: nvidia-smi   box: Tue Oct 29 19:00:23 2024\n\x1b[4;20H" + table(1) + "\x1b[11;40H51%\n"
    got = claim(screen)
    assert isinstance(got, Refusal) and "-l 1" in got.missing
    assert isinstance(claim("Every 2.0s: nvidia-smi\n\n" + table(1)), Claim)  # one screen copied whole
    assert isinstance(claim("Every 2.0s: nvidia-smi    box\nN/A 50C P0 100W\n"), Refusal)


def test_shares_a_log() -> None:
    got = claim("Loading model\n" + table(1) + "done in 3 s\n")
    assert isinstance(got, Claim) and got.shares
    alone = claim(table(1))
    assert isinstance(alone, Claim) and not alone.shares
    assert rows_of(PARSER, "Loading | model\n" + table(1) + "done\n")[1].other == 2


def test_names_are_only_product_names() -> None:
    text = table(1).replace("NVIDIA L40S ", "me@example.org")
    assert rows(text, "gpus")[0]["name"] is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "| GPU | util |\n|---|---|\n| 0 | 97% |\n",
        "timestamp, index, utilization.gpu [%]\n2026/01/01 10:00:00.000, 0, 5 %\n",
        "nvidia-smi 550.54.15 is the tool\n",
        "│   0  H800                Off  │ 00000000:18:00.0 Off │ Disabled           0 │\n",
    ],
)
def test_not_a_table(text: str) -> None:
    assert not isinstance(claim(text), Claim) and rows(text) == []


# ---------------------------------------------------------------- open-ended input

(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="| +-NVIDIA-SMI 0123456789%CWMiB/NA.:OnOff\n")


def test_a_process_that_may_not_be_seen_has_no_name() -> None:
    text = (
        "| NVIDIA-SMI 419.35       Driver Version: 419.35       CUDA Version: 10.1     |\n"
        "|   0  GeForce GTX 1060    WDDM | 00000000:01:00.0  On |                  N/A |\n"
        "| 27%   51C    P8    13W / 180W |   1516MiB /  6144MiB |      0%      Default |\n"
        "|    0       572    C+G   Insufficient Permissions                   N/A      |\n"
        "|    0       573      C   serve.exe                                  N/A      |\n"
    )
    assert [(r["pid"], r["name"]) for r in rows_of(PARSER, text)[0]["gpu_processes"]] == [(572, None), (573, "serve.exe")]
