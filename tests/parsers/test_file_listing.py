"""Listings of the same files in every usual form give the same ends; what is not certain stays NULL."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Head, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.file_listing import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

EPOCH = 1788998405  # 2026-09-10 00:00:05 UTC
LS = "-rw-r--r-- 1 me me 435 "


def listed(text: str) -> dict[str, Any]:
    rows, _ = rows_of(PARSER, text)
    return {r["request"]: r["finished_at"] for r in rows.get("requests", [])}


def clock(text: str) -> tuple[str, float | None]:
    rows, _ = rows_of(PARSER, text)
    return rows["clocks"][0]["kind"], rows["clocks"][0]["resolution_s"]


def claim(text: str) -> Claim | Refusal | None:
    return PARSER.claims(Head("listing.txt", text.encode(), text, True))


def test_samples() -> None:
    check_samples(PARSER)
    assert all(isinstance(claim(s.text), Claim) for s in PARSER.samples)


LOCAL, NO_YEAR = "local-no-zone", "no-year"
FORMS = [
    (LS + "2026-09-10 02:00:05.250000000 +0200 resp_1.json", EPOCH + 0.25, "utc", 1e-6),
    (LS + "2026-09-10 00:00:05.000000000 +0000 resp_1.json", EPOCH, "utc", 1.0),
    (LS + "2026-09-10 00:00 resp_1.json", EPOCH - 5, LOCAL, 60.0),
    (LS + "2026-09-10 00:00:05 resp_1.json", EPOCH, LOCAL, 1.0),
    (LS + "1788998405.250000000 resp_1.json", EPOCH + 0.25, "utc", 1e-6),
    (LS + "1788998405 resp_1.json", EPOCH, "utc", 1.0),
    (LS + "Sep 10 00:00 resp_1.json", 84931200, NO_YEAR, 60.0),
    (LS + "Sep  9 00:00 resp_1.json", 84844800, NO_YEAR, 60.0),
    (LS + "10 Sep 00:00 resp_1.json", 84931200, NO_YEAR, 60.0),
    (LS + "Sep 10 00:00:05 2026 resp_1.json", EPOCH, LOCAL, 1.0),
    (LS + "Thu Sep 10 00:00:05 2026 resp_1.json", EPOCH, LOCAL, 1.0),
    ("  77 " + LS + "1788998405 resp_1.json", EPOCH, "utc", 1.0),
    ("-rw-r--r--. 1 me 4.3K Sep 10 00:00 resp_1.json", 84931200, NO_YEAR, 60.0),
    ("\x1b[0m" + LS + "1788998405 \x1b[01;32mresp_1.json\x1b[0m", EPOCH, "utc", 1.0),
    (LS + "1788998405 'resp_1.json'", EPOCH, "utc", 1.0),
    ("resp_1.json 1788998405", EPOCH, "utc", 1.0),
    ("1788998405 resp_1.json", EPOCH, "utc", 1.0),
    ("1788998405.250 resp_1.json", EPOCH + 0.25, "utc", 1e-3),
    ("resp_1.json 2026-09-10 00:00:05.250000000 +0000", EPOCH + 0.25, "utc", 1e-6),
    ("2026-09-10 00:00:05.250000000 +0000 resp_1.json", EPOCH + 0.25, "utc", 1e-6),
    ("1788998405.2500000000 ./a/resp_1.json", EPOCH + 0.25, "utc", 1e-6),
    ("2026-09-10+00:00:05.2500000000 ./resp_1.json", EPOCH + 0.25, LOCAL, 1e-6),
    ("2026-09-10 00:00:05.2500000000 ./resp_1.json", EPOCH + 0.25, LOCAL, 1e-6),
    ("$ date -r resp_1.json -Ins\n2026-09-10T00:00:05,250000000+00:00", EPOCH + 0.25, "utc", 1e-6),
    ("$ date -Ins -r resp_1.json\n2026-09-10T02:00:05,250000000+02:00", EPOCH + 0.25, "utc", 1e-6),
    ('  File: "resp_1.json"\nModify: Thu Sep 10 00:00:05 2026', EPOCH, LOCAL, 1.0),
    ('23 28 -rwxr--r-- 1 u w 0 3 "Sep  1 00:00:00 2026" "Sep 10 00:00:05 2026" "Sep 11 00:00:00 2026" "Sep  1 '
     '00:00:00 2026" 16 7 0 /V/resp_1.json',
     EPOCH, LOCAL, 1.0),
    ("-a----        13/09/2026     00:00           4875 resp_1.json", EPOCH - 5 + 3 * 86400, LOCAL, 60.0),
    ("-a---           9/13/2026 12:00 AM           4875 resp_1.json", EPOCH - 5 + 3 * 86400, LOCAL, 60.0),
    ("09/13/2026  12:30 PM             4,875 resp_1.json", EPOCH - 5 + 3 * 86400 + 45000, LOCAL, 60.0),
    ("-rw-r--r-- root/root  435 2026-09-10 00:00 resp_1.json", EPOCH - 5, LOCAL, 60.0),
    ("-rw-r--r-- root/root  435 2026-09-10 00:00:05.25 a/resp_1.json", EPOCH + 0.25, LOCAL, 0.01),
    ("-rw-r--r--  0 root   root      435 Sep 10 00:00 resp_1.json", 84931200, NO_YEAR, 60.0),
    ("      435  2026-09-10 00:00   a/resp_1.json", EPOCH - 5, LOCAL, 60.0),
    ("-rw-r--r--  3.0 unx      435 tx defN 26-Sep-10 00:00 resp_1.json", EPOCH - 5, LOCAL, 60.0),
    ("-rw-r--r--  3.0 unx      435 tx defN 20260910.000004 resp_1.json", EPOCH - 1, LOCAL, 2.0),
]  # fmt: skip


@pytest.mark.parametrize("text, end, kind, step", FORMS)
def test_every_form(text: str, end: float, kind: str, step: float) -> None:
    assert listed(text + "\n") == {"resp_1.json": pytest.approx(end, abs=1e-6)}
    assert clock(text + "\n") == (kind, pytest.approx(step))
    _, counts = rows_of(PARSER, text + "\n")
    assert (counts.matched, counts.near_miss, counts.other) == (1, 0, 0)
    assert isinstance(claim(text + "\n"), Claim)


@given(st.lists(st.integers(1_700_000_000, 1_800_000_000), min_size=1, max_size=6), st.integers(-12, 14))
@settings(max_examples=10, deadline=None)
def test_offsets_and_epochs_agree(times: list[int], hours: int) -> None:
    def iso(t: int) -> str:
        local = datetime.fromtimestamp(t + hours * 3600, timezone.utc)  # noqa: UP017
        return f"{local:%Y-%m-%d %H:%M:%S}.500000000 {'-' if hours < 0 else '+'}{abs(hours):02}00"

    names = [f"resp_{n}.json" for n in range(len(times))]
    spread = [t + 7 * i for i, t in enumerate(times)]
    a = "".join(f"{LS}{iso(t)} {n}\n" for n, t in zip(names, spread))
    b = "".join(f"{t}.500000000 {n}\n" for n, t in zip(names, spread))
    assert listed(a) == listed(b)


def test_one_row_per_file_on_one_clock() -> None:
    text = f"{LS}Sep 10 00:00 resp_1.json\n{LS}Sep 10 00:00 resp_2.json\n{LS}1788998405 resp_1.json\n{LS}1788998420 resp_2.json\n"
    assert listed(text) == {"resp_1.json": EPOCH, "resp_2.json": EPOCH + 15}
    assert clock(text)[0] == "utc"
    text = f"{LS}2026-09-10 00:00 resp_1.json\n{LS}2026-09-10 00:01 resp_2.json\n{LS}1788998405 resp_1.json\n"
    assert clock(text)[0] == LOCAL
    assert listed(text) == {"resp_1.json": EPOCH - 5, "resp_2.json": EPOCH + 55}


def test_files_of_one_name_in_two_folders_are_two_rows() -> None:
    text = f"one:\n{LS}1788998405 resp_1.json\n\ntwo:\n{LS}1788998420 resp_1.json\n"
    rows, _ = rows_of(PARSER, text)
    assert [(r["request"], r["finished_at"], r["line"]) for r in rows["requests"]] == [
        ("resp_1.json", EPOCH, 2),
        ("resp_1.json", EPOCH + 15, 5),
    ]


def test_an_undecidable_date_gives_no_time() -> None:
    text = "-a----        05/06/2026     22:52           4875 resp_1.json\n"
    assert listed(text) == {"resp_1.json": None}
    rows, _ = rows_of(PARSER, text)
    assert (rows["quality"][0]["kind"], rows["quality"][0]["n"], rows["clocks"][0]["kind"]) == ("date-order", 1, "none")
    decided = text + "-a----        19/06/2026     22:52           4875 notes.md\n"
    assert listed(decided)["resp_1.json"] == datetime(2026, 6, 5, 22, 52, tzinfo=timezone.utc).timestamp()  # noqa: UP017


def test_a_day_without_a_time_gives_no_time() -> None:
    assert listed(LS + "Sep 10  2025 resp_1.json\n") == {"resp_1.json": None}


def test_copied_times_are_left_out() -> None:
    text = "".join(f"1788998405.{n}00000000 resp_{n}.json\n" for n in range(1, 5))
    assert set(listed(text).values()) == {None}
    rows, _ = rows_of(PARSER, text)
    assert rows["quality"][0]["kind"] == "copied-times"
    wave = "".join(f"1788998405.{f}00000000 resp_{n}.json\n" for n, f in ((1, 4), (2, 1), (3, 3)))
    assert None not in listed(wave).values()


@pytest.mark.parametrize(
    "name", ["resp.json", "response-12.txt", "completion_3.json", "out_1.json", "out7.txt", "3.json", "reply_2.sse"]
)  # fmt: skip
def test_names_of_responses(name: str) -> None:
    assert listed(f"{LS}1788998405 {name}\n") == {name: EPOCH}


@pytest.mark.parametrize(
    "name", ["server.log", "dmon.txt", "response_times.csv", "response_stats.json", "output.log", "config.json", "result_1.json"]
)
def test_other_names_are_not_responses(name: str) -> None:
    assert listed(f"{LS}1788998405 {name}\n") == {}


def test_a_numbered_series_counts_from_three_and_never_when_it_is_a_benchmark() -> None:
    def lines(stem: str, n: int) -> str:
        return "".join(f"{LS}{1788998405 + 9 * i} {stem}_{i}.json\n" for i in range(n))

    assert len(listed(lines("story", 3))) == 3
    assert listed(lines("story", 2)) == {}
    assert listed(lines("bench_c", 5)) == {}
    assert isinstance(claim(lines("bench_c", 5)), Refusal)


def test_folders_and_links_are_no_files() -> None:
    assert listed(
        f"drwxr-xr-x 2 me me 40 1788998405 resp_1.json\nlrwxrwxrwx 1 me me 4 1788998405 resp_2.json -> x\n{LS}1788998405 resp_3.json\n"
    ) == {"resp_3.json": EPOCH}


def test_an_empty_file_is_a_failed_request() -> None:
    rows, _ = rows_of(PARSER, "-rw-r--r-- 1 me me 0 1788998405 resp_1.json\n")
    assert rows["requests"][0]["status"] == "failed"


def test_what_is_not_clear_is_a_near_miss() -> None:
    text = f"{LS}10 сен 00:00 resp_1.json\n1788998405.1 1788998406 1788998407.2 resp_2.json\n{LS}1788998405 resp_3.json\n"
    rows, counts = rows_of(PARSER, text)
    assert (counts.matched, counts.near_miss, [n for n, _ in counts.rejects]) == (1, 2, [1, 2])
    assert len(rows["requests"]) == 1


def test_not_a_listing() -> None:
    assert claim("time=2026-09-10T00:00:05Z level=INFO msg=ready resp_1.json\n") is None
    assert claim('{"resp_1.json": 1788998405}\n') is None
    assert claim("resp_2 200 start=15.029838 total=15.029956 size=437\n") is None


GOOD = "".join(s.text for s in PARSER.samples)


@given(st.integers(0, len(GOOD)), st.binary(max_size=4), st.integers(1, 500))
@settings(max_examples=12, deadline=None)
def test_any_cut_and_any_garbling(cut: int, garbage: bytes, block: int) -> None:
    raw = GOOD.encode()[:cut] + garbage + GOOD.encode()[cut + len(garbage) :]
    rows, counts = rows_of(PARSER, raw)
    assert counts.lines == "".join(t for _, t in Source.from_text(raw).blocks(block)).count("\n") + (not raw.endswith(b"\n") and bool(raw))
    for row in rows.get("requests", []):
        assert row["finished_at"] is None or row["finished_at"] > 0
        assert (row["finished_at"] is None) == (row["resolution_s"] is None)


@pytest.mark.parametrize(
    ("written", "finished_at", "kind"),
    [
        ("/Date(1788998405250)/", 1788998405.25, "utc"),
        ("2026-09-10T02:00:05.25+02:00", 1788998405.25, "utc"),
        ("2026-09-10T00:00:05.2500000Z", 1788998405.25, "utc"),
        ("2026-09-10T02:00:05.25", 1789005605.25, "local-no-zone"),
        ("yesterday", None, None),
    ],
)
def test_powershell_objects_as_json(written: str, finished_at: float | None, kind: str | None) -> None:
    text = json.dumps([{"Name": f"resp_{n}.json", "LastWriteTime": written, "Length": 431, "Other": "CANARY"} for n in (1, 2)], indent=1)
    rows, counts = rows_of(PARSER, text)
    assert [r["finished_at"] for r in rows.get("requests", [])] == ([finished_at] * 2 if finished_at else [])
    assert counts.lines == text.count("\n") + 1 and "CANARY" not in repr(rows)
    if kind:
        assert rows["clocks"][0]["kind"] == kind
