"""gpustat: text and JSON."""

from __future__ import annotations

from typing import Any

from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.gpustat import PARSER
from open_ended import line_tests


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


LINE = "[{g}] NVIDIA L4 | {t}'C, {u} % | {m} / 23034 MB |"


def test_text_variants() -> None:
    for line, want in (
        ("[0] NVIDIA L4 | 61°C,  93 % | 100 / 23034 MB |", (93, 61, None)),
        ("[0] NVIDIA L4 | 61'C,  30 %,  93 %, 70 / 72 W | 100 / 23034 MB | x(5M)", (93, 61, 70)),
        ("[0] NVIDIA L4 | ??°C,  ?? %, ?? / 72 W | 100 / 23034 MB |", (None, None, None)),
        ("\x1b[1m[0]\x1b[0m NVIDIA L4\x1b(B\x1b[m | 61°C,  93 % | 100 / 23034 MB |", (93, 61, None)),
        ("> [0] NVIDIA L4        | 61°C,  93 % |   100 / 23034 MB", (93, 61, None)),
    ):
        (row,) = rows(line + "\n")
        assert (row["util_gpu"], row["temp"], row["power_w"], row["mem_used"]) == (*want, 100), line
        assert isinstance(claim(line + "\n"), Claim)


def test_rounds_and_dates() -> None:
    def one(u: int) -> str:
        return LINE.format(g=0, t=50, u=u, m=1) + "\n" + LINE.format(g=1, t=50, u=u, m=1) + "\n"

    text = "box  Tue Feb  3 04:05:06 2026  580.1\n" + one(1) + "box  mar. 03 févr. 2026 04:05:08  580.1\n" + one(2)
    assert [(r["gpu"], r["cycle"], r["time"]) for r in rows(text)] == [
        (0, 0, 1770091506.0),
        (1, 0, 1770091506.0),
        (0, 1, None),
        (1, 1, None),
    ]


def test_cut_and_near_miss() -> None:
    line = LINE.format(g=0, t=50, u=7, m=1)
    assert rows(line[: line.index("23034") + 3]) == []
    assert rows_of(PARSER, line.replace("23034 MB", "23 QB") + "\n")[1].near_miss == 1


def test_json_that_is_not_gpustat() -> None:
    assert claim('{"gpus": [{"name": "x"}]}') is None
    assert rows('{"gpus": [{"name": "x", "utilization.gpu": "93"}], "query_time": 5}')[0]["util_gpu"] is None
    assert rows('{"gpus": 5, "query_time": "x"}\n[1]\n') == []


def test_json_broken_in_the_middle() -> None:
    good = PARSER.samples[1].text.split("}\n{")[0] + "}\n"
    text = good + good[:200] + good
    assert [r["cycle"] for r in rows(text)] == [0, 0, 1, 1] and kinds(text) == {"cut-document": 1}


# ---------------------------------------------------------------- open-ended input

(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet='[]0123456789 NVIDIA|%°C,/MB\n{}:"gpus', twice=False)


def test_several_hosts_in_one_file() -> None:
    text = "".join(
        f"box-{h}  Tue Feb  3 04:05:06 2026  580.95.05\n[0] NVIDIA L4 | 40'C, {n} % | 1 / 23034 MB |\n" for h, n in (("a", 5), ("b", 95))
    )
    assert [(r["host"], r["util_gpu"]) for r in rows(text)] == [("box-a", 5), ("box-b", 95)]
    assert [(r["host"], r["gpu"]) for r in rows(text, "gpus")] == [("box-a", 0), ("box-b", 0)]
    one = '{{"hostname": "box-{}", "query_time": "2026-02-03T04:05:06", "gpus": [{{"index": 0, "name": "NVIDIA L4", "utilization.gpu": {}}}]}}\n'
    assert [(r["host"], r["util_gpu"]) for r in rows(one.format("a", 5) + one.format("b", 95))] == [("box-a", 5), ("box-b", 95)]
    assert [r["host"] for r in rows(one.format("a", 5) * 2)] == [None, None]  # one machine needs no name
