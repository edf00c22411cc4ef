"""Lines of `date` between other output: which are read, and that nothing is made of those in somebody's prompt."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from gpuverdict.engine.analyze import Analysis, analyze
from gpuverdict.engine.date_lines import date_lines
from gpuverdict.engine.explain import explain
from gpuverdict.engine.source import Source
from test_clock import offset, requests, server_log

START = datetime(2026, 11, 29, 21, 57, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "utc", "shift"),
    [
        ("Sun Nov 29 21:57:23 UTC 2026", True, 0),
        ("Sun Nov 29 09:57:23 PM UTC 2026", True, 0),
        ("Sun 29 Nov 2026 09:57:23 PM UTC", True, 0),
        ("Sun, 29 Nov 2026 22:57:23 +0100", True, 0),
        ("Sun Nov 29 22:57:23 CET 2026", False, 3600),
        ("Sun Nov 29 21:57:23 2026", False, 0),
        ("2026-11-29T21:57:23+00:00", True, 0),
        ("2026-11-29 21:57:23", False, 0),
        ("=== start: 2026-11-29T21:57:23Z ===", True, 0),
        ("1795989443", True, 0),
        ("1795989443.250000000", True, 0.25),
        ("# t=1795989443", True, 0),
    ],
)
def test_the_ways_to_write_a_date(text: str, utc: bool, shift: float) -> None:
    rows = date_lines(Source.from_text(f"something\n{text}\nmore\n")).rows(named=True)
    assert [(r["line"], r["utc"]) for r in rows] == [(2, utc)]
    assert rows[0]["t"] == pytest.approx(START.timestamp() + shift, abs=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "Sun Nov 29 21:57:23 UTC 2026 loading model",
        "the log says 2026-11-29T21:57:23Z",
        "Sun Nov 31 21:57:23 UTC 2026",
        "17959894431",
        "2026-11-29T21:57:23Z INFO started",
        '"date": "2026-11-29T21:57:23Z"',
    ],
)
def test_what_is_more_than_a_date_is_not_one(text: str) -> None:
    assert date_lines(Source.from_text(text + "\n")).is_empty()


def loop(every: int = 1, zone: str = "UTC", rounds: int = 40) -> str:
    lines = []
    for k in range(rounds):
        if k % every == 0:
            lines.append(f"{START + timedelta(seconds=1.1 * k):%a %b %d %H:%M:%S} {zone} 2026")
        lines += ["index, utilization.gpu [%]", f"0, {40 + k % 2} %", f"1, {41 + k % 3} %"]
    return "\n".join(lines) + "\n"


def run(folder: Path, **files: str) -> Analysis:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return analyze([folder])


def test_a_date_before_every_round_is_its_time(tmp_path: Path) -> None:
    analysis = run(tmp_path, smi__csv=loop())
    assert offset(analysis, "smi.csv")["kind"] == "utc"
    assert analysis.sql("SELECT count(*) AS n FROM gpu_samples WHERE time IS NULL")["n"][0] == 0
    assert (
        analysis.sql("SELECT max(abs(time - ?)) AS off FROM gpu_samples WHERE cycle = 10".replace("?", str(START.timestamp() + 11)))["off"][
            0
        ]
        < 2.0
    )
    (entry,) = explain([str(tmp_path / "smi.csv")])
    assert entry["clock"]["kind"] == "utc" and "date" in entry["clock"]["method"]


def test_a_named_zone_stays_local(tmp_path: Path) -> None:
    assert offset(run(tmp_path, smi__csv=loop(zone="CET")), "smi.csv")["offset_s"] in (None, 0.0)
    assert offset(analyze([tmp_path]), "smi.csv")["kind"] == "local-no-zone"


def test_a_date_now_and_then_times_nothing(tmp_path: Path) -> None:
    analysis = run(tmp_path, smi__csv=loop(every=5))
    assert analysis.sql("SELECT count(*) AS n FROM gpu_samples WHERE time IS NOT NULL")["n"][0] == 0


def dated(log: str, error_s: float = 0.0, at: range = range(0, 10_000, 60)) -> str:
    """A date of another process in the same log, once a minute."""
    out, due = [], list(at)
    for line in log.splitlines():
        minutes, seconds, millis = line.split(" ")[0].split(".")[:3]
        t = int(minutes) * 60 + int(seconds) + int(millis) / 1000
        while due and due[0] <= t:
            out.append(f"{START + timedelta(seconds=due.pop(0) + error_s * (len(due) % 2)):%a %b %d %H:%M:%S} UTC 2026")
        out.append(line)
    return "\n".join(out) + "\n"


def busy_log() -> str:
    """Requests of two seconds, one after the other, so that a line is printed every other second."""
    return server_log([(2.0 * k, 2.0 * k + 1.9) for k in range(1, 200)])


def test_dates_in_a_log_since_start_bound_its_offset(tmp_path: Path) -> None:
    clock = offset(run(tmp_path, server__log=dated(busy_log())), "server.log")
    assert "date" in clock["method"] and not clock["estimated"]
    assert abs(clock["offset_s"] - START.timestamp()) <= clock["uncertainty_s"] <= 3.0


def test_dates_that_do_not_fit_the_times_between_them_are_not_used(tmp_path: Path) -> None:
    analysis = run(tmp_path, server__log=dated(busy_log(), error_s=40.0))
    assert "date" not in (offset(analysis, "server.log")["method"] or "")
    assert "date-lines" in {q["kind"] for q in analysis.result.quality}


def test_dates_quoted_in_one_prompt_tie_nothing(tmp_path: Path) -> None:
    log = server_log(requests(1, 6)).splitlines()
    quoted = [f"{START + timedelta(seconds=k):%a %b %d %H:%M:%S} UTC 2026" for k in range(5)]
    analysis = run(tmp_path, server__log="\n".join(log[:8] + quoted + log[8:]) + "\n")
    assert "date" not in (offset(analysis, "server.log")["method"] or "")
