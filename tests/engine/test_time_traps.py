"""Bundles in which joining by the printed times is wrong: no wrong offset is accepted, no sample counts for a load it was not taken in."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from gpuverdict.engine.analyze import Analysis, analyze
from test_clock import START, offset, requests, server_log, smi_csv, verdict, vllm_log

Spans = list[tuple[float, float]]


def run(folder: Path, files: dict[str, str], toml: str = 'split = "layer"\n', written: Callable[[str], float] | None = None) -> Analysis:
    """Files whose times were written by a copy long ago, if nothing else is said."""
    for name, text in {**files, "gpuverdict.toml": toml}.items():
        (folder / name).write_text(text)
        at = written(name) if written else 1_700_000_000
        os.utime(folder / name, (at, at))
    return analyze([folder])


def in_load(analysis: Analysis) -> dict[str, float]:
    return analysis.sql(
        "SELECT count(*) AS n, min(util_gpu) AS low, max(util_gpu) AS high FROM samples_in_load WHERE placed <> 'unplaced'"
    ).row(0, named=True)


def outside(analysis: Analysis) -> dict[str, float]:
    return analysis.sql("SELECT count(*) AS n, max(util_gpu) AS high FROM samples_outside_load").row(0, named=True)


def kinds(analysis: Analysis) -> set[str]:
    return {q["kind"] for q in analysis.result.quality}


def utc_offset(at: float = 0.0) -> str:
    return f'split = "layer"\ntz = "+00:00"\n[offset]\n"server.log" = {START.timestamp() + at}\n'


# --- what a log does not tell -----------------------------------------------------------------------------------------------------


def test_a_log_that_lost_its_end_says_nothing_of_the_time_after(tmp_path: Path) -> None:
    spans = requests(1, 6)
    log = "\n".join(server_log(spans).splitlines()[:-3]) + "\n"  # the last request is launched and never released
    analysis = run(tmp_path, {"server.log": log, "smi.csv": smi_csv(spans, 0.0)}, utc_offset())
    assert outside(analysis)["n"] > 100 and outside(analysis)["high"] == 0
    assert in_load(analysis)["low"] > 20


def test_a_log_that_lost_its_beginning_says_nothing_of_the_time_before(tmp_path: Path) -> None:
    spans = requests(1, 8)
    log = "\n".join(server_log(spans).splitlines()[1 + 4 * 4 + 2 :]) + "\n"  # from the middle of a request on
    analysis = run(tmp_path, {"server.log": log, "smi.csv": smi_csv(spans, 0.0)}, utc_offset())
    assert outside(analysis)["n"] > 20 and outside(analysis)["high"] == 0
    early = analysis.sql(f"SELECT count(*) AS n FROM samples_outside_load WHERE time < {START.timestamp() + spans[4][1]}")["n"][0]
    assert early == 0
    assert "outside-the-load" not in kinds(analysis)


def test_a_snapshot_before_a_cut_log_begins_is_not_called_outside_the_load(tmp_path: Path) -> None:
    spans = requests(1, 8)
    log = "\n".join(server_log(spans).splitlines()[1 + 4 * 4 :]) + "\n"
    at = spans[1][0] + 5
    analysis = run(tmp_path, {"server.log": log, "smi.csv": snapshot(at, 33)}, utc_offset())
    assert "outside-the-load" not in kinds(analysis)


def snapshot(at: float, util: int) -> str:
    when = START + timedelta(seconds=at)
    return f"timestamp, index, utilization.gpu [%], power.draw [W]\n{when:%Y/%m/%d %H:%M:%S}.{when.microsecond // 1000:03d}, 0, {util} %, 60.00 W\n"


def test_a_snapshot_after_the_last_request_is_said_to_be_no_evidence(tmp_path: Path) -> None:
    spans = requests(1, 4)
    analysis = run(tmp_path, {"server.log": server_log(spans), "smi.csv": snapshot(spans[-1][1] + 40, 0)}, utc_offset())
    said = [q["note"] for q in analysis.result.quality if q["kind"] == "outside-the-load"]
    assert len(said) == 1 and "the only sample was taken 40 s after the last request had ended" in said[0]
    assert "confirmed" not in {v for _, v in verdict(analysis, "idle-starvation")}


def test_a_log_on_an_axis_of_its_own_is_not_compared_with_anything(tmp_path: Path) -> None:
    spans = requests(1, 2)  # too few edges
    analysis = run(tmp_path, {"server.log": server_log(spans), "smi.csv": smi_csv(spans, 0.0)}, 'split = "layer"\ntz = "+00:00"\n')
    assert outside(analysis)["n"] == 0 and in_load(analysis)["n"] == 0
    assert "outside-the-load" not in kinds(analysis)
    assert ("trace", "fits") in verdict(analysis, "turn-taking")  # it is not lost either


# --- silence ----------------------------------------------------------------------------------------------------------------------


def sglang_log(spans: Spans, every: float = 1.0) -> str:
    lines = []
    for a, b in spans:
        t = a + every
        while t <= b:
            when = START + timedelta(seconds=t)
            lines.append(
                f"[{when:%Y-%m-%d %H:%M:%S} TP0] Decode batch. #running-req: 1, #token: 700, token usage: 0.02, gen throughput (token/s): 25.00, #queue-req: 0"
            )
            t += every
    return "\n".join(lines) + "\n"


def test_the_silence_of_an_idle_server_is_not_load(tmp_path: Path) -> None:
    spans = [(60.0 * k, 60.0 * k + 20) for k in range(1, 10)]
    toml = 'tz = "+00:00"\n'
    analysis = run(tmp_path, {"sglang.log": sglang_log(spans), "smi.csv": smi_csv(spans, 0.0, cards=1, share=90)}, toml)
    found = in_load(analysis)
    assert found["n"] > 60 and found["low"] > 20
    assert "confirmed" not in {v for _, v in verdict(analysis, "idle-starvation")}


def test_a_pause_of_the_lines_shorter_than_usual_variation_stays_load(tmp_path: Path) -> None:
    spans = [(10.0, 200.0)]
    lines = sglang_log(spans).splitlines()
    kept = [line for n, line in enumerate(lines) if n % 3]  # steps of one and two seconds
    analysis = run(tmp_path, {"sglang.log": "\n".join(kept) + "\n", "smi.csv": smi_csv(spans, 0.0, cards=1, share=90)}, 'tz = "+00:00"\n')
    assert in_load(analysis)["n"] > 150


def test_short_loads_and_long_steps_leave_no_sample(tmp_path: Path) -> None:
    """Power averaged over a second, stamped to a second, against loads of four seconds."""
    spans = [(20.0 * k, 20.0 * k + 4) for k in range(1, 30)]
    analysis = run(tmp_path, {"server.log": server_log(spans), "smi.csv": smi_csv(spans, 0.0)}, utc_offset())
    found = in_load(analysis)
    assert found["n"] == 0 or found["low"] > 20


# --- clocks that are not what they seem ----------------------------------------------------------------------------------------------


def test_a_pair_of_local_clocks_is_not_laid_on_an_axis_that_is_tied(tmp_path: Path) -> None:
    """Cards and server agree with each other; another server in a container prints UTC, and nothing says how it lies to them."""
    spans = requests(1, 12)
    lines = enumerate(vllm_log([(5.0, 30.0)], START).splitlines(), 1)
    other = [f"{START + timedelta(seconds=600 + 5 * k):%Y-%m-%dT%H:%M:%S}.400000000Z {line}" for k, line in lines]
    files = {"server.log": server_log(spans), "smi.csv": smi_csv(spans, 7200.0), "vllm.log": "\n".join(other) + "\n"}
    analysis = run(tmp_path, files)
    tied = {c["source"]: c["offset_s"] for c in analysis.result.clocks}
    assert tied["vllm.log"] is not None and tied["smi.csv"] is None and tied["server.log"] is None
    assert in_load(analysis)["n"] > 100 and in_load(analysis)["low"] > 20
    assert outside(analysis)["n"] == 0


def test_copied_files_with_new_times_confirm_nothing(tmp_path: Path) -> None:
    spans = requests(1, 2)
    files = {"server.log": server_log(spans), "smi.csv": smi_csv(spans, 0.0)}
    analysis = run(tmp_path, files, 'split = "layer"\ntz = "+00:00"\n', written=lambda _: START.timestamp() + 90_000)
    assert "confirmed" not in {v for _, v in verdict(analysis, "turn-taking")}
    assert (
        in_load(analysis)["n"] == 0
        or analysis.sql("SELECT bool_and(placed = 'estimated') AS e FROM samples_in_load WHERE placed <> 'unplaced'")["e"][0]
    )


def test_the_recording_of_the_day_before_is_not_joined(tmp_path: Path) -> None:
    spans = requests(1, 12)
    files = {"vllm.log": vllm_log(spans, START), "smi.csv": smi_csv(requests(2, 12), -86_400.0)}
    analysis = run(tmp_path, files, "")
    assert in_load(analysis)["n"] == 0


def test_a_load_that_repeats_itself_gives_no_offset(tmp_path: Path) -> None:
    spans = [(60.0 * k, 60.0 * k + 30) for k in range(1, 30)]
    analysis = run(tmp_path, {"server.log": server_log(spans), "smi.csv": smi_csv(spans, 60.0)})
    assert "clock-not-matched" in kinds(analysis)
    assert "confirmed" not in {v for _, v in verdict(analysis, "turn-taking")}


def test_a_second_recording_of_the_cards_is_tied_too(tmp_path: Path) -> None:
    spans = requests(1, 14)
    files = {
        "server.log": server_log(spans),
        "smi-a.csv": smi_csv(spans, 0.0),
        "smi-b.csv": smi_csv(spans, 3600.0, seed=5, until=spans[-2][1]),
    }
    analysis = run(tmp_path, files)
    apart = offset(analysis, "smi-a.csv")["offset_s"] - offset(analysis, "smi-b.csv")["offset_s"]
    assert apart == pytest.approx(3600.0, abs=2.0)
    assert in_load(analysis)["low"] > 20


def test_a_second_server_keeps_its_load_out_of_the_idle_baseline(tmp_path: Path) -> None:
    """Nothing ties the second server's clock, so nothing is known to be idle."""
    spans, others = requests(1, 12), requests(7, 12)
    both = smi_csv(sorted([*spans, *others]), 0.0)
    analysis = run(tmp_path, {"server.log": server_log(spans), "server2.log": server_log(others), "smi.csv": both}, utc_offset())
    assert outside(analysis)["n"] == 0


# --- summer time and years -------------------------------------------------------------------------------------------------------------


def ticks(begin: datetime, seconds: range, turned: datetime | None = None, by: int = 0) -> str:
    lines = ["timestamp, index, utilization.gpu [%], power.draw [W]"]
    for second in seconds:
        when = begin + timedelta(seconds=second)
        if turned and when >= turned:
            when += timedelta(seconds=by)
        lines.append(f"{when:%Y/%m/%d %H:%M:%S}.000, 0, 50 %, 100.00 W")
    return "\n".join(lines) + "\n"


BERLIN = 'tz = "Europe/Berlin"\n'
AUTUMN = datetime(2026, 10, 25, 3, 0)  # 03:00 summer time is 02:00 winter time


def test_a_file_that_begins_in_the_second_of_two_equal_hours(tmp_path: Path) -> None:
    analysis = run(tmp_path, {"smi.csv": ticks(datetime(2026, 10, 25, 2, 40), range(3000))}, BERLIN)
    assert offset(analysis, "smi.csv")["offset_s"] == -3600.0


def test_a_file_that_begins_in_the_first_of_two_equal_hours(tmp_path: Path) -> None:
    analysis = run(tmp_path, {"smi.csv": ticks(datetime(2026, 10, 25, 2, 40), range(3000), AUTUMN, -3600)}, BERLIN)
    assert offset(analysis, "smi.csv")["offset_s"] == -7200.0
    assert analysis.sql("SELECT max(time) - min(time) AS s FROM gpu_samples")["s"][0] == 2999


def test_a_file_that_lies_in_the_hour_that_comes_twice_claims_nothing(tmp_path: Path) -> None:
    analysis = run(tmp_path, {"smi.csv": ticks(datetime(2026, 10, 25, 2, 10), range(1200))}, BERLIN)
    assert offset(analysis, "smi.csv")["method"] != "given time zone"
    assert "hour-twice" in kinds(analysis)


@pytest.mark.parametrize(("begin", "pause"), [(datetime(2026, 10, 25, 0, 30), 4 * 3600), (datetime(2026, 3, 29, 0, 30), 3 * 3600)])
def test_a_change_that_falls_into_a_pause(tmp_path: Path, begin: datetime, pause: int) -> None:
    """The zone is stated, so the change is known although no line shows it."""
    analysis = run(
        tmp_path, {"smi.csv": ticks(begin, range(600)) + ticks(begin + timedelta(seconds=pause), range(600)).split("\n", 1)[1]}, BERLIN
    )
    real = pause + 599 + (3600 if begin.month == 10 else -3600)
    assert analysis.sql("SELECT max(time) - min(time) AS s FROM gpu_samples")["s"][0] == real


def test_a_clock_that_is_set_back_inside_its_file_is_only_an_estimate(tmp_path: Path) -> None:
    text = ticks(datetime(2026, 9, 6, 12, 0), range(2000), datetime(2026, 9, 6, 12, 20), -300)
    analysis = run(tmp_path, {"smi.csv": text}, 'tz = "+00:00"\n')
    assert offset(analysis, "smi.csv")["estimated"]
    assert "clock-set-back" in kinds(analysis)


def test_two_recordings_in_one_file_are_not_a_clock_that_was_set_back(tmp_path: Path) -> None:
    text = ticks(datetime(2026, 9, 6, 12, 0), range(2000)) + ticks(datetime(2026, 9, 6, 12, 0), range(2000)).split("\n", 1)[1]
    analysis = run(tmp_path, {"smi.csv": text}, 'tz = "+00:00"\n')
    assert not offset(analysis, "smi.csv")["estimated"]


def test_a_new_year_moves_every_table_of_a_log(tmp_path: Path) -> None:
    """Statistics only after midnight, other lines before it: the year changes by the time, not by the table."""
    begin = datetime(2026, 12, 31, 23, 50, tzinfo=UTC)
    early = [
        f"INFO {begin + timedelta(seconds=k):%m-%d %H:%M:%S} [logger.py:43] Received request cmpl-{k}: params: SamplingParams(n=1), prompt_token_ids: None."
        for k in range(3)
    ]
    stats = vllm_log([(900.0, 1500.0)], begin).splitlines()
    analysis = run(
        tmp_path,
        {"vllm.log": "\n".join([*early, *stats]) + "\n", "smi.csv": smi_csv([(900.0, 1500.0)], (begin - START).total_seconds())},
        "",
    )
    t = analysis.sql("SELECT min(t) AS a, max(t) AS b FROM (SELECT t FROM server_samples UNION ALL SELECT t FROM server_events)").row(0)
    assert begin.timestamp() - 1 <= t[0] and t[1] < begin.timestamp() + 2000


# --- what is said of the times ----------------------------------------------------------------------------------------------------------


def test_holes_in_a_recording_are_said(tmp_path: Path) -> None:
    begin = datetime(2026, 9, 6, 12, 0)
    holed = ticks(begin, range(300)) + ticks(begin + timedelta(seconds=420), range(300)).split("\n", 1)[1]
    said = [q["note"] for q in run(tmp_path, {"smi.csv": holed}, "").result.quality if q["kind"] == "gap"]
    assert len(said) == 1 and "no sample for 121 s" in said[0]
    assert "gap" not in kinds(run(tmp_path, {"smi.csv": ticks(begin, range(300))}, ""))


def canonical(origin: str, spans: Spans) -> str:
    begin = START.timestamp()
    times = "sent_at" if origin == "client" else "started_at"
    head = f"# gpuverdict canonical 1 table=requests clock=utc resolution_s=0.001\norigin,{times},finished_at,output_tokens,status\n"
    return head + "".join(f"{origin},{begin + a:.3f},{begin + b:.3f},100,ok\n" for a, b in spans)


def test_a_client_and_a_server_that_disagree_are_noticed(tmp_path: Path) -> None:
    spans = [(100.0 * k, 100.0 * k + 30) for k in range(1, 10)]
    late = [(a + 50, b + 50) for a, b in spans]
    assert "in-flight-differs" in kinds(run(tmp_path, {"a.csv": canonical("server", spans), "b.csv": canonical("client", late)}, ""))
    assert "in-flight-differs" not in kinds(run(tmp_path, {"a.csv": canonical("server", spans), "b.csv": canonical("client", spans)}, ""))


def test_file_times_that_deny_the_matched_offset_make_it_an_estimate(tmp_path: Path) -> None:
    """The cards were recorded a day before, during the same script: the edges agree, but the log was written a day later."""
    spans = requests(1, 12)
    files = {"server.log": server_log(spans), "smi.csv": smi_csv(spans, 0.0)}
    end = START.timestamp() + spans[-1][1]
    same_day = run(tmp_path, files, written=lambda name: end + 30 if name == "smi.csv" else end)
    assert ("1 running", "confirmed") in verdict(same_day, "turn-taking")
    day_later = run(tmp_path, files, written=lambda name: end + 30 if name == "smi.csv" else end + 86_400)
    assert "confirmed" not in {v for _, v in verdict(day_later, "turn-taking")}
    assert "file-times-differ" in kinds(day_later)
