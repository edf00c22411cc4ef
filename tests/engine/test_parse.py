"""The line pass: counts, near misses, cuts, wrappers, clocks, runs, contexts, and parsers that break."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pytest
from gpuverdict.engine.line_format import Int, Line, LineFormat, Num, Stamp, Word
from gpuverdict.engine.match import Matcher
from gpuverdict.engine.parse import read, read_lines
from gpuverdict.engine.parser import Claim, Counts, Sample
from gpuverdict.engine.peel import outer_times, peel, read_time
from gpuverdict.engine.recognise import recognise
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_counts, rows_of, same_rows
from hypothesis import given, settings
from hypothesis import strategies as st

TOY = LineFormat(
    name="toy",
    server="toy",
    stamps=(Stamp(r"^(\d+\.\d\d\.\d{3}\.\d{3}) ", parse="m.s.ms.us", clock="since-start", resolution_s=1e-6),),
    context={"slot": r"^slot +(?:id (?P<slot>\d+) \|\s*$)?"},
    lines=(
        Line("boot", into="server_events", anchor="engine starts", after=r"^$", fields={"kind": Word("loading")}, starts_run=True),
        Line("more boot", into="server_events", anchor="engine reads", after=r"^$", fields={"kind": Word("loading")}, starts_run=True),
        Line(
            "decode",
            into="requests*",
            anchor="decode time",
            fields={"decode_ms": Num(r"decode time = +([\d.,]+) ms"), "n": Int(r"/ (\d+) tokens")},
            need=("decode_ms",),
            inherit=("slot",),
            serves=True,
        ),
        Line("stat", into="server_samples", anchor="stat:", after=r"^$", fields={"running": Num(r"running=([\d.]+)")}, need=("running",)),
    ),
    noise=("nothing to do",),
    assemble={"requests": "SELECT line, run, slot, t AS finished_at, decode_ms, n AS output_tokens FROM staged ORDER BY line"},
    samples=(Sample("stat: running=1\n", {"server_samples": [{"running": 1.0}]}, "1"),),
)


def test_counts_near_misses_and_rejects() -> None:
    text = "stat: running=2\nnothing to do\n\nstat: broken\nhello\n  \n"
    rows, counts = rows_of(TOY, text)
    assert (counts.matched, counts.noise, counts.near_miss, counts.other) == (1, 3, 1, 1)
    assert counts.rejects == [(4, "stat: no running")]
    assert rows["server_samples"] == [{"line": 1, "time": None, "server": "toy", "run": 0, "running": 2.0}]


def test_anchor_quoted_in_a_line_gives_nothing() -> None:
    rows, counts = rows_of(TOY, "prompt: 'decode time = 1.0 ms / 3 tokens'\nuser said stat: running=9\n")
    assert rows == {} and counts.other == 2


def test_a_value_at_the_very_end_of_a_cut_line_is_unknown() -> None:
    rows, counts = rows_of(TOY, "decode time = 12.5 ms / 13")
    assert rows["requests"][0]["decode_ms"] == 12.5 and rows["requests"][0]["output_tokens"] is None
    rows, counts = rows_of(TOY, "stat: running=1")
    assert "server_samples" not in rows and counts.near_miss == 1
    rows, _ = rows_of(TOY, "decode time = 12.5 ms / 13 tokens")
    assert rows["requests"][0]["output_tokens"] == 13


def test_context_is_inherited_within_stream_and_run_only() -> None:
    text = "slot id 4 |\naccess log GET /\ndecode time = 1.0 ms\nslot other line\ndecode time = 2.0 ms\n"
    rows, _ = rows_of(TOY, text)
    assert [r["slot"] for r in rows["requests"]] == [4, None]
    split = "a-1  | slot id 4 |\nb-1  | decode time = 1.0 ms\na-1  | decode time = 2.0 ms\n"
    rows, _ = rows_of(TOY, split)
    assert [(r["slot"], r["run"]) for r in rows["requests"]] == [(None, 0), (4, 1)]
    restarted = "slot id 4 |\ndecode time = 1.0 ms\nengine starts\ndecode time = 2.0 ms\n"
    rows, _ = rows_of(TOY, restarted)
    assert [(r["slot"], r["run"]) for r in rows["requests"]] == [(4, 0), (None, 1)]


@pytest.mark.parametrize("size", [8, 60, 1000])
def test_context_and_runs_cross_blocks(size: int) -> None:
    text = (
        "slot id 4 |\nx\nx\ndecode time = 1.0 ms\nengine starts\nengine reads\ndecode time = 2.0 ms\nengine starts\ndecode time = 3.0 ms\n"
    )
    rows, _ = rows_of(TOY, text, block=size)
    assert [(r["slot"], r["run"]) for r in rows["requests"]] == [(4, 0), (None, 1), (None, 2)]


def test_a_banner_of_several_lines_is_one_run_and_a_crash_loop_is_several() -> None:
    rows, _ = rows_of(TOY, "engine starts\nengine reads\ndecode time = 1.0 ms\nengine starts\nengine reads\n")
    assert [e["run"] for e in rows["server_events"]] == [0, 0, 1, 1]
    rows, _ = rows_of(TOY, "engine starts\nengine reads\nengine starts\nengine reads\n")
    assert [e["run"] for e in rows["server_events"]] == [0, 0, 1, 1]


def test_a_since_start_clock_that_falls_back_is_a_new_run() -> None:
    text = "1.00.000.000 stat: running=1\n0.59.990.000 stat: running=2\n0.01.000.000 stat: running=3\n"
    rows, _ = rows_of(TOY, text)
    assert [r["run"] for r in rows["server_samples"]] == [0, 0, 1]
    assert rows["server_samples"][0]["time"] == 60.0
    assert [q["kind"] for q in rows["quality"]] == ["several-clocks"]


def test_outer_utc_times_tie_a_since_start_clock() -> None:
    text = "2026-01-02T03:04:05.500000000Z 0.05.000.000 stat: running=1\n2026-01-02T03:04:06.700000000Z 0.06.000.000 stat: running=2\n"
    rows, _ = rows_of(TOY, text)
    (clock,) = rows["clocks"]
    start = 1767323040.0
    assert clock["kind"] == "since-start" and clock["method"] == "outer time"
    assert abs(clock["offset_s"] - (start + 0.6)) < 1e-3 and abs(clock["uncertainty_s"] - 0.1) < 1e-3
    assert [r["time"] for r in rows["server_samples"]] == [5.0, 6.0]


def test_several_runs_with_outer_times_move_to_the_outer_clock() -> None:
    text = "2026-01-02T03:04:05.5Z 0.05.000.000 stat: running=1\n2026-01-02T03:05:06.5Z 0.01.000.000 stat: running=2\n"
    rows, _ = rows_of(TOY, text)
    assert rows["clocks"][0]["kind"] == "utc"
    assert [round(r["time"] - 1767323045.5, 3) for r in rows["server_samples"]] == [0.0, 61.0]


def test_outer_time_serves_lines_without_stamps() -> None:
    rows, _ = rows_of(TOY, "Mar  5 10:00:01 box toy[7]: stat: running=1\n")
    assert rows["clocks"][0]["kind"] == "no-year" and rows["server_samples"][0]["time"] is not None
    rows, _ = rows_of(TOY, "stat: running=1\n")
    assert rows["clocks"][0]["kind"] == "none" and rows["server_samples"][0]["time"] is None


def test_a_format_without_times_leaves_the_clock_to_the_others() -> None:
    """Its lines have the container's time alone, which would make that the clock of the source."""
    access = LineFormat(
        name="access",
        server="",
        timed=False,
        lines=(Line("hit", into="server_events*", anchor="HTTP", fields={"value": Num(r"HTTP (\d+)")}),),
        assemble={"server_events": "SELECT line, value FROM staged"},
        samples=(Sample("HTTP 200\n", {"server_events": [{"value": 200.0}]}, "1"),),
    )
    stats = "".join(f"2026-03-01T08:00:0{n}.000000001Z 03-01 10:00:0{n} stat: running=1\n" for n in range(3))
    hits = "2026-03-01T08:00:09.000000001Z HTTP 200\n"
    stat = Line("stat", into="server_samples", anchor="stat:", after=r"^$", fields={"running": Num(r"running=([\d.]+)")}, need=("running",))
    walls = LineFormat(
        name="walls",
        server="walls",
        stamps=(Stamp(r"^(\d\d-\d\d \d\d:\d\d:\d\d) ", parse="month-day", clock="no-year", resolution_s=1.0),),
        lines=(stat,),
        samples=(Sample("stat: running=1\n", {"server_samples": [{"running": 1.0}]}, "1"),),
    )

    def clocks(text: str, *formats: LineFormat) -> list[dict[str, object]]:
        out: list[dict[str, object]] = []
        read_lines(Source.from_text(text), formats, lambda t, frame: out.extend(frame.to_dicts()) if t == "clocks" else None)
        return out

    assert clocks(stats + hits, walls, access) == clocks(stats, walls)
    assert clocks(hits, access)[0]["kind"] == "none"


def test_two_records_on_one_line_and_carriage_returns() -> None:
    glued = LineFormat(
        name="glued",
        server="x",
        lines=(
            Line(
                "a",
                into="server_samples",
                anchor="stat:",
                after=r"^$",
                fields={"running": Num(r"running=(\d+)")},
                need=("running",),
                split_before=True,
            ),
        ),
        samples=(),
    )
    rows, counts = rows_of(glued, "stat: running=1 okstat: running=2 ok\nnothing\n")
    assert [r["running"] for r in rows["server_samples"]] == [1.0, 2.0] and (counts.matched, counts.other) == (1, 1)
    rows, counts = rows_of(glued, "stat: running=1stat: running=2\n")
    assert [r["running"] for r in rows["server_samples"]] == [2.0], "a value that touches the cut is unknown"
    rows, _ = rows_of(TOY, " 10%|#   | 1/9\r 20%|##  | 2/9\rstat: running=3\n")
    assert rows["server_samples"][0]["running"] == 3.0


def test_pieces_of_long_lines_are_no_line_starts() -> None:
    at = "2026-01-01T00:00:00.0Z stdout"
    cri = f"{at} P a long prompt: \n{at} F stat: running=7\n{at} F stat: running=8\n"
    rows, counts = rows_of(TOY, cri)
    assert [r["running"] for r in rows["server_samples"]] == [8.0] and counts.lines == 3
    end = ',"stream":"stderr","time":"2026-01-01T00:00:00Z"}\n'
    docker = '{"log":"a long prompt"' + end + '{"log":"stat: running=7\\n"' + end
    rows, _ = rows_of(TOY, docker)
    assert "server_samples" not in rows
    rows, _ = rows_of(TOY, docker.split("\n")[1] + "\n")
    assert rows["server_samples"][0]["running"] == 7.0 and rows["server_samples"][0]["time"] == 1767225600.0


def test_a_quoted_text_is_read_and_one_quoted_line_is_not() -> None:
    rows, _ = rows_of(TOY, "> stat: running=1\n> stat: running=2\n")
    assert len(rows["server_samples"]) == 2
    rows, _ = rows_of(TOY, "stat: running=1\nfoo\nbar\n> stat: running=2\n")
    assert len(rows["server_samples"]) == 1


def test_each_line_goes_to_the_first_format_and_is_other_for_the_rest() -> None:
    rival = LineFormat(
        name="rival",
        server="r",
        lines=(Line("x", into="server_samples", anchor="running=", after=".*", fields={"waiting": Num(r"=(\d+)")}),),
        samples=(),
    )
    got: list[tuple[str, pl.DataFrame]] = []
    readings = read_lines(Source.from_text("stat: running=1 \nrunning=5 \n"), [TOY, rival], lambda t, f: got.append((t, f)))
    assert [(r.parser, r.counts.matched, r.counts.other) for r in readings] == [("toy", 1, 1), ("rival", 1, 1)]


def test_a_broken_format_or_parser_is_a_quality_row_and_nothing_else_is_lost() -> None:
    bad = LineFormat(name="bad", server="x", lines=(Line("x", into="requests", anchor="a", after="("),), samples=())
    bad_sql = LineFormat(
        name="bad-sql",
        server="x",
        lines=(Line("x", into="requests*", anchor="other:", after="^$"),),
        assemble={"requests": "SELECT nope"},
        samples=(),
    )

    class Raises:
        name, api, samples = "raises", 1, ()

        def claims(self, head: object) -> Claim:
            return Claim(90, "always", shares=True)

        def parse(self, source: object, emit: object) -> Counts:
            raise ValueError("secret text")

    got: dict[str, list[dict[str, object]]] = {}
    parsers = [bad, bad_sql, TOY, Raises()]
    readings = read(Source.from_text("other: 1\nstat: running=1 \n"), parsers, lambda t, f: got.setdefault(t, []).extend(f.to_dicts()))
    assert len(got["server_samples"]) == 1
    notes = [str(q["note"]) for q in got["quality"] if q["kind"] == "parser-failed"]
    assert {n.split()[0] for n in notes} == {"bad", "bad-sql", "raises"} and not any("secret" in n for n in notes)
    assert {r.parser for r in readings} == {"raises", "bad-sql", "toy"}


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "stat: running=2",
                "stat: broken",
                "slot id 4 |",
                "decode time = 1.0 ms / 3 tokens",
                "engine starts",
                "",
                "nothing to do",
                "hello",
            ]
        ),
        max_size=9,
    ),
    st.booleans(),
)
def test_what_the_look_at_a_whole_source_found_is_what_reading_it_finds(lines: list[str], ended: bool) -> None:
    text = "\n".join(lines) + "\n" * ended
    source, formats = Source.from_text(text), [TOY]
    found = recognise(source, formats)
    assert (found.done is None) == (not found.order)
    told: dict[str, Any] = {}
    again: dict[str, Any] = {}
    first = read(source, formats, lambda t, f: told.setdefault(t, []).extend(f.to_dicts()), recognition=found)
    found.done = None
    second = read(source, formats, lambda t, f: again.setdefault(t, []).extend(f.to_dicts()), recognition=found)
    assert told == again and first == second


def test_a_short_source_is_matched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, match = [], Matcher.match
    monkeypatch.setattr(Matcher, "match", lambda self, *a: calls.append(1) or match(self, *a))  # type: ignore[func-returns-value]
    got: dict[str, int] = {}
    read(Source.from_text("stat: running=1 \n"), [TOY], lambda t, f: got.update({t: f.height}))
    assert got["server_samples"] == 1 and len(calls) == 1


def test_a_source_that_breaks_off_keeps_what_was_read() -> None:
    class Broken(Source):
        def blocks(self, size: int = 0):  # type: ignore[no-untyped-def]
            yield 1, "stat: running=1 \n"
            raise OSError("secret path")

    got: dict[str, list[dict[str, object]]] = {}
    source = Broken(name="x", opener=Source.from_text("stat").open)
    (reading,) = read_lines(source, [TOY], lambda t, f: got.setdefault(t, []).extend(f.to_dicts()))
    assert reading.counts.matched == 1 and len(got["server_samples"]) == 1
    assert [q["kind"] for q in got["quality"]] == ["read-failed"] and "secret" not in str(got["quality"])


def test_staged_tables_are_dropped_from_a_shared_connection() -> None:
    con = duckdb.connect(":memory:")
    read_lines(Source.from_text("decode time = 1.0 ms\n"), [TOY], lambda t, f: None, con)
    assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE temporary").fetchone() == (0,)
    con.close()


@pytest.mark.parametrize(
    ("line", "text", "stream", "outer"),
    [
        ("Jun 18 08:58:34  app-Q:[1351]: 11.07.572.806 I x", "11.07.572.806 I x", "/app-Q:[1351]", 77705914.0),
        ("2026-07-28T20:08:37.5-04:00 host ll[16]: [42751] 107.50.720.275 I s", "107.50.720.275 I s", "/ll[16]/42751", 1785283717.5),
        ("svc-1  | [50453]   Device 0: x", "  Device 0: x", "/svc-1/50453", None),
        ("0.45.941.227 I slot launch", "0.45.941.227 I slot launch", "", None),
        ("print_info: n_layer = 3", "print_info: n_layer = 3", "", None),
        ("slot launch_slot_: id  0 | task 5 | x", "slot launch_slot_: id  0 | task 5 | x", "", None),
        ("main: x", "main: x", "", None),
        ("[1,0]<stderr>: x", "x", "/1,0", None),
        ("node07: x", "x", "/node07", None),
        ("1769904000.250000 host ll[3]: x", "x", "/ll[3]", 1769904000.25),
        ("6月 18 08:58:34 host ll[3]: x", "x", "/ll[3]", 77705914.0),
        ("6월 18 08:58:34 host ll[3]: x", "x", "/ll[3]", 77705914.0),
        ("juin 18 08:58:34 host ll[3]: x", "x", "/ll[3]", 77705914.0),
        ("de juny 18 08:58:34 host ll[3]: x", "x", "/ll[3]", 77705914.0),
        ("июн 18 08:58:34 host ll[3]: x", "x", "/ll[3]", 77705914.0),
        ("févr.  1 00:00:00 host ll[3]: x", "x", "/ll[3]", 65750400.0),
        ("Okt 12 00:00:00 host ll[3]: x", "x", "/ll[3]", 87696000.0),
        ("lip 18 08:58:34 host ll[3]: x", "x", "/ll[3]", None),  # July in Polish, June in Croatian
        ("Jun 18 08:58:34   ollama[]: x", "x", "/ollama[]", 77705914.0),  # host and pid were taken out
        ("Jun 18 08:58:34 <my server> ll[3]: x", "x", "/ll[3]", 77705914.0),  # a host that was made unknown
        ("Jun 18 08:58:34 [REDACTED] ll[3]: x", "x", "/ll[3]", 77705914.0),
        ("Jun 18 08:58:34 **** ll[3]: x", "x", "/ll[3]", 77705914.0),
        ("mai 17 says the user: x", "mai 17 says the user: x", "", None),
        ("[2026-01-01 00:00:00][DEBUG] 4.00.811.959 I x", "4.00.811.959 I x", "", 1767225600.0),
        ("[2026-01-01 00:00:00][INFO][LM STUDIO SERVER] x", "x", "", 1767225600.0),
    ],
)
def test_peel(line: str, text: str, stream: str, outer: float | None) -> None:
    row = outer_times(peel(pl.DataFrame({"text": [line]}))).row(0, named=True)
    assert (row["text"], row["stream"], row["outer_t"]) == (text, stream, outer)


def test_an_entry_of_lm_studio_begins_below_its_time() -> None:
    rows, _ = rows_of(
        TOY, "2026-01-01 00:00:00 [DEBUG]\n stat: running=4 \n stat: running=5 \n2026-01-01 00:00:01  [INFO] \n stat: running=6 \n"
    )
    assert [(r["running"], r["time"]) for r in rows["server_samples"]] == [(4.0, 1767225600.0), (6.0, 1767225601.0)]
    # where a prompt quotes one, the log is none of LM Studio's
    quoted = "stat: running=1 \n" * 20 + "2026-01-01 00:00:00 [DEBUG]\n stat: running=4 \n"
    assert {r["time"] for r in rows_of(TOY, quoted)[0]["server_samples"]} == {None}


def test_a_native_stamp_is_not_taken_for_a_container_time() -> None:
    native = LineFormat(
        name="native",
        server="x",
        stamps=(Stamp(r"^(\d{4}-\d\d-\d\dT[\d:.]+Z)\s+INFO ", parse="iso", clock="utc", resolution_s=1e-6),),
        lines=(Line("s", into="server_samples", anchor="stat:", after="^$", fields={"running": Num(r"=(\d+)")}),),
        samples=(),
    )
    rows, _ = rows_of(native, "2026-01-01T00:00:10.250000Z  INFO stat: running=1 \n")
    assert rows["server_samples"][0]["time"] == 1767225610.25
    rows, _ = rows_of(native, "2026-01-01T00:00:11.000000001Z 2026-01-01T00:00:10.250000Z  INFO stat: running=1 \n")
    assert rows["server_samples"][0]["time"] == 1767225610.25


@pytest.mark.parametrize(
    ("printed", "parse", "seconds"),
    [
        ("132.05.318.177", "m.s.ms.us", 7925.318177),
        ("2026-01-31 10:30:15,250", "iso", 1769855415.25),
        ("2026-01-31T10:30:15+02:00", "iso", 1769848215.0),
        ("2026/01/31 - 10:30:15", "slash", 1769855415.0),
        ("01/31/2026-10:30:15", "us-slash", 1769855415.0),
        ("01-31 10:30:15", "month-day", 65701815.0),
        ("02-29 00:00:00", "month-day", 68169600.0),
        ("10:30:15.5", "clock", 37815.5),
        ("1746695926", "unix", 1746695926.0),
        ("0.45.941", "m.s.ms.us", None),
        ("2026-13-31 10:30:15", "iso", None),
    ],
)
def test_read_time(printed: str, parse: str, seconds: float | None) -> None:
    got = read_time(pl.Series([printed]), parse)[0][0]
    assert got == seconds or abs(got - seconds) < 1e-6


_PIECES = st.sampled_from(
    ["stat: running=4", "decode time = 1.5 ms / 2 tokens", "slot id 3 |", "engine starts", "nothing to do", "", "  ", "junk \u00e9\u4e2d",
     "0.01.000.000 stat: running=1", "9.01.000.000 stat: running=1", "\x1b[1mstat: running=6\x1b[0m", "a\rstat: running=8", "stat:",
     "2026-01-01T00:00:00Z stat: running=3",
     "x  | slot id 2 |", '{"log":"stat: running=2\\n","time":"2026-01-01T00:00:00Z"}', '{"log":"cut']
)  # fmt: skip


@settings(max_examples=12, deadline=None)
@given(st.lists(_PIECES, max_size=12), st.integers(1, 80), st.booleans())
def test_any_text_any_block_size(pieces: list[str], size: int, newline: bool) -> None:
    text = "\n".join(pieces) + ("\n" if newline else "")
    whole, counts = rows_of(TOY, text)
    cut, again = rows_of(TOY, text, block=size)
    assert same_rows(whole, cut) is None and counts == again
    check_counts(counts, text, "toy")


CLOCKED = LineFormat(
    name="clocked",
    server="x",
    stamps=(
        Stamp(r"^time=(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) ", parse="iso", clock="utc", resolution_s=1e-3),
        Stamp(r"^\[(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d)\] ", parse="slash", clock="local-no-zone", resolution_s=1.0),
        Stamp(r"^(\d+\.\d\d\.\d{3}\.\d{3}) ", parse="m.s.ms.us", clock="since-start", resolution_s=1e-6),
    ),
    lines=(Line("s", into="server_samples", anchor="stat:", after="^$", fields={"running": Num(r"=(\d+)")}),),
    samples=(),
)
BARE, LOCAL, UTC, NATIVE = (
    "Sep 18 08:35:17 box x[1]: stat: running=1 \n",
    "Sep 18 08:35:19 box x[1]: [2026/09/18 08:35:19] stat: running=2 \n",
    "Sep 18 08:35:20 box x[1]: time=2026-09-18T08:35:20.500+02:00 stat: running=3 \n",
    "Sep 18 08:35:21 box x[1]: 0.05.250.000 stat: running=4 \nSep 18 08:35:22 box x[1]: 0.06.250.000 stat: running=5 \n",
)
LOCAL_ZERO, UTC_ZERO = 1789720500.0, 1789713300.0  # 2026-09-18 08:35, read as UTC, and in the zone +02:00


@pytest.mark.parametrize(
    ("text", "kind", "seconds"),
    [
        (BARE + LOCAL, "local-no-zone", [LOCAL_ZERO + 17, LOCAL_ZERO + 19]),
        (BARE * 3 + LOCAL, "local-no-zone", [LOCAL_ZERO + 17] * 3 + [LOCAL_ZERO + 19]),
        (BARE + UTC, "utc", [UTC_ZERO + 17.5, UTC_ZERO + 20.5]),
        (LOCAL + BARE + UTC, "utc", [UTC_ZERO + 19.5, UTC_ZERO + 17.5, UTC_ZERO + 20.5]),
        (NATIVE + BARE, "no-year", [None, None, None]),
        (NATIVE + LOCAL, "local-no-zone", [LOCAL_ZERO + 21, LOCAL_ZERO + 22, LOCAL_ZERO + 19]),
        (NATIVE + UTC, "utc", [UTC_ZERO + 21.5, UTC_ZERO + 22.5, UTC_ZERO + 20.5]),
    ],
)
def test_a_journal_without_year_takes_year_and_zone_from_the_stamps_beside_it(text: str, kind: str, seconds: list[float | None]) -> None:
    rows, _ = rows_of(CLOCKED, text)
    got = [r["time"] for r in rows["server_samples"]]
    assert rows["clocks"][0]["kind"] == kind and "quality" not in rows
    assert all(want is None or abs(t - want) <= 0.5 for t, want in zip(got, seconds)), got
    assert all(t is not None for t in got) and len({round(t, 6) for t in got}) == len(set(text.splitlines()))


def test_wall_clocks_that_drift_apart_are_no_tie() -> None:
    late = LOCAL.replace("Sep 18 08:35:19", "Sep 18 09:35:19")
    rows, _ = rows_of(CLOCKED, BARE + LOCAL + late)
    assert [q["kind"] for q in rows["quality"]] == ["clock-unknown"]
    assert {r["time"] is None for r in rows["server_samples"]} == {True, False}


@pytest.mark.parametrize(
    "line",
    [
        '{"log":"stat: running=4 \\n","stream":"stderr","time":"2026-01-01T00:00:00.5Z"}',
        '{"log": "stat: running=4 \\n", "stream": "stderr", "time": "2026-01-01T00:00:00.5Z"}',
        '{"__CURSOR":"s=0","MESSAGE":"stat: running=4 ","_PID":"7","SYSLOG_IDENTIFIER":"toy","__REALTIME_TIMESTAMP":"1767225600500000"}',
        '{ "__REALTIME_TIMESTAMP" : "1767225600500000", "MESSAGE" : "stat: running=4 " }',
    ],
)
def test_records_in_json(line: str) -> None:
    rows, counts = rows_of(TOY, line + "\n")
    assert [(r["running"], r["time"]) for r in rows["server_samples"]] == [(4.0, 1767225600.5)] and counts.lines == 1
    rows, _ = rows_of(TOY, line.replace("stat: running", "user: stat: running") + "\n")
    assert "server_samples" not in rows


def test_processes_of_one_journal_stay_apart() -> None:
    line = '{"MESSAGE":"slot id 4 |","_PID":"7","SYSLOG_IDENTIFIER":"toy"}\n{"MESSAGE":"decode time = 1.0 ms","_PID":"8","SYSLOG_IDENTIFIER":"toy"}\n'
    assert rows_of(TOY, line)[0]["requests"][0]["slot"] is None
    rows, _ = rows_of(TOY, line.replace('"8"', '"7"'))
    assert rows["requests"][0]["slot"] == 4


def test_pod_and_container_in_front_of_every_line() -> None:
    pods = "llm-6d4cf56db6-x7k2p main slot id 4 |\nllm-6d4cf56db6-aaaaa main decode time = 1.0 ms\nllm-6d4cf56db6-x7k2p main decode time = 2.0 ms\n"
    rows, _ = rows_of(TOY, pods)
    assert [r["slot"] for r in rows["requests"]] == [None, 4]
