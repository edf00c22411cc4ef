"""One axis: bundles of a server log and GPU samples whose clocks differ get the right offset, or none."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from gpuverdict.engine.analyze import Analysis, analyze

START = datetime(2026, 9, 6, 14, 0, 0, tzinfo=UTC)


def stamp(seconds: float) -> str:
    micro = round(seconds * 1e6)
    return f"{micro // 60_000_000}.{micro // 1_000_000 % 60:02d}.{micro // 1000 % 1000:03d}.{micro % 1000:03d}"


def requests(seed: int, n: int) -> list[tuple[float, float]]:
    rng = random.Random(seed)
    at, out = 20.0, []
    for _ in range(n):
        lasts = rng.uniform(12, 60)
        out.append((at, at + lasts))
        at += lasts + rng.uniform(8, 60)
    return out


def server_log(spans: list[tuple[float, float]]) -> str:
    lines = ["0.00.052.000 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 16384, kv_unified = 'true'"]
    for task, (a, b) in enumerate(spans):
        head = f"id  0 | task {task} |"
        tokens = int((b - a - 0.4) * 25)
        lines += [
            f"{stamp(a)} I slot launch_slot_: {head} processing task, is_child = 0",
            f"{stamp(b)} I slot print_timing: {head} prompt eval time =      400.00 ms /    40 tokens (   10.00 ms per token,   100.00 tokens per second)",
            f"{stamp(b)} I slot print_timing: {head}        eval time = {1000 * (b - a - 0.4):11.2f} ms / {tokens:5d} tokens (   40.00 ms per token,    25.00 tokens per second)",
            f"{stamp(b + 0.0002)} I slot      release: {head} stop processing: n_tokens = {40 + tokens}, truncated = 0",
        ]
    return "\n".join(lines) + "\n"


def smi_csv(
    spans: list[tuple[float, float]], zone_s: float, cards: int = 3, share: float = 33.0, until: float | None = None, seed: int = 0
) -> str:
    rng = random.Random(seed)
    lines = ["timestamp, index, utilization.gpu [%], power.draw [W]"]
    t, end = rng.random(), until or spans[-1][1] + 30
    while t < end:
        on = any(a + 0.5 <= t <= b + 0.3 for a, b in spans)
        for card in range(cards):
            util = round(share + rng.uniform(-1, 1)) if on else 0
            when = START + timedelta(seconds=t + zone_s + 0.003 * card)
            lines.append(f"{when:%Y/%m/%d %H:%M:%S}.{when.microsecond // 1000:03d}, {card}, {util} %, {150.0 if on else 60.0:.2f} W")
        t += 1.002
    return "\n".join(lines) + "\n"


def bundle(folder: Path, seed: int = 1, n: int = 12, zone_s: float = 0.0, toml: str = 'split = "layer"\n', **smi: Any) -> Analysis:
    spans = requests(seed, n)
    (folder / "server.log").write_text(server_log(spans))
    (folder / "smi.csv").write_text(smi_csv(spans, zone_s, **smi))
    (folder / "gpuverdict.toml").write_text(toml)
    for name in ("server.log", "smi.csv"):  # copied files: their write times say nothing
        import os

        os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    return analyze([folder])


def offset(analysis: Analysis, name: str) -> dict[str, Any]:
    return next(c for c in analysis.result.clocks if c["source"] == name)


def verdict(analysis: Analysis, rule: str, scope: str = "*") -> list[tuple[str, str]]:
    return [(f.scope.label, f.verdict) for f in analysis.findings if f.rule == rule and scope in ("*", f.scope.label)]


@pytest.mark.parametrize("zone_s", [0.0, 3 * 3600.0, 5.5 * 3600, -14 * 3600.0])
def test_a_clock_since_start_is_tied_by_edges(tmp_path: Path, zone_s: float) -> None:
    analysis = bundle(tmp_path, zone_s=zone_s)
    clock = offset(analysis, "server.log")
    assert clock["offset_s"] is not None and "edges" in clock["method"]
    truth = START.timestamp() + zone_s
    assert abs(clock["offset_s"] - truth) < 1.5
    assert ("1 running", "confirmed") in verdict(analysis, "turn-taking")


def test_too_few_edges_claim_no_offset_and_confirm_nothing(tmp_path: Path) -> None:
    analysis = bundle(tmp_path, n=2)
    assert "confirmed" not in {v for _, v in verdict(analysis, "turn-taking")}
    assert any(q["kind"] == "clock-not-matched" for q in analysis.result.quality)


def test_a_recording_of_another_time_is_not_joined(tmp_path: Path) -> None:
    spans = requests(1, 12)
    (tmp_path / "server.log").write_text(server_log(spans))
    (tmp_path / "smi.csv").write_text(smi_csv(requests(99, 12), 0.0))
    (tmp_path / "gpuverdict.toml").write_text('split = "layer"\n')
    import os

    for name in ("server.log", "smi.csv"):
        os.utime(tmp_path / name, (1_700_000_000, 1_700_000_000))
    analysis = analyze([tmp_path])
    assert "confirmed" not in {v for _, v in verdict(analysis, "turn-taking")}


def test_samples_count_only_inside_the_load_by_the_margin(tmp_path: Path) -> None:
    analysis = bundle(tmp_path)
    inside = analysis.sql("SELECT min(util_gpu) AS low FROM samples_in_load WHERE placed = 'clock'")["low"][0]
    outside = analysis.sql("SELECT max(util_gpu) AS high FROM samples_outside_load")["high"][0]
    assert inside > 20 and outside == 0


def test_the_idle_floor_is_learned_from_outside_the_load(tmp_path: Path) -> None:
    analysis = bundle(tmp_path)
    floors = analysis.sql("SELECT gpu, idle_w FROM idle_power ORDER BY gpu")
    assert floors["idle_w"].to_list() == [60.0, 60.0, 60.0]


def test_a_stated_offset_is_obeyed_and_a_stated_zone_too(tmp_path: Path) -> None:
    spans = requests(1, 3)
    (tmp_path / "server.log").write_text(server_log(spans))
    (tmp_path / "smi.csv").write_text(smi_csv(spans, 2 * 3600.0))
    (tmp_path / "gpuverdict.toml").write_text(f'split = "layer"\ntz = "+02:00"\n[offset]\n"server.log" = {START.timestamp()}\n')
    analysis = analyze([tmp_path])
    assert offset(analysis, "smi.csv")["offset_s"] == -7200.0
    assert ("1 running", "confirmed") in verdict(analysis, "turn-taking")


def vllm_log(spans: list[tuple[float, float]], begin: datetime, zone_s: float = 0.0) -> str:
    lines = []
    t = 0.0
    while t < spans[-1][1] + 30:
        when = begin + timedelta(seconds=t + zone_s)
        n = sum(a <= t <= b for a, b in spans)
        if n or any(a <= t - 10 <= b for a, b in spans):
            lines.append(
                f"INFO {when:%m-%d %H:%M:%S} [loggers.py:127] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {25.0 * n:.1f} tokens/s, "
                f"Running: {n} reqs, Waiting: 0 reqs, GPU KV cache usage: 3.0%, Prefix cache hit rate: 0.0%"
            )
        t += 5
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("begin", [START, datetime(2026, 12, 31, 23, 52, 0, tzinfo=UTC)])
def test_a_log_without_a_year_takes_it_from_the_other_files(tmp_path: Path, begin: datetime) -> None:
    pytest.importorskip("gpuverdict.parsers.vllm_server")
    spans = requests(3, 14)
    (tmp_path / "vllm.log").write_text(vllm_log(spans, begin))
    shift = (begin - START).total_seconds()
    (tmp_path / "smi.csv").write_text(smi_csv(spans, shift))
    analysis = analyze([tmp_path])
    times = analysis.sql("SELECT min(t) AS a, max(t) AS b FROM server_samples")
    first = begin.timestamp() + spans[0][0]
    assert abs(times["a"][0] - first) < 12
    assert times["b"][0] > times["a"][0]


@pytest.mark.parametrize(("written", "year"), [(datetime(2026, 11, 30, tzinfo=UTC), 2026), (datetime(2026, 1, 20, tzinfo=UTC), 2025)])
def test_no_log_without_a_year_ends_after_it_was_written(tmp_path: Path, written: datetime, year: int) -> None:
    import os

    (tmp_path / "vllm.log").write_text(vllm_log(requests(3, 5), datetime(2026, 3, 28, 9, 0, 0, tzinfo=UTC)))
    os.utime(tmp_path / "vllm.log", (written.timestamp(), written.timestamp()))
    times = analyze([tmp_path]).sql("SELECT min(t) AS a FROM server_samples")
    assert datetime.fromtimestamp(times["a"][0], tz=UTC).year == year


@pytest.mark.parametrize(("at", "jump"), [(datetime(2026, 10, 25, 2, 30), -3600), (datetime(2026, 3, 29, 1, 55), 3600)])
def test_daylight_saving_inside_a_file_goes_on_without_the_jump(tmp_path: Path, at: datetime, jump: int) -> None:
    lines = ["timestamp, index, utilization.gpu [%], power.draw [W]"]
    for second in range(4000):
        when = at + timedelta(seconds=second)
        turned = datetime(at.year, at.month, at.day, 3 if jump < 0 else 2)
        if when >= turned:
            when += timedelta(seconds=jump)
        lines.append(f"{when:%Y/%m/%d %H:%M:%S}.000, 0, 50 %, 100.00 W")
    (tmp_path / "smi.csv").write_text("\n".join(lines) + "\n")
    analysis = analyze([tmp_path])
    span = analysis.sql("SELECT max(t) - min(t) AS s FROM gpu_samples")["s"][0]
    assert span == 3999
    assert any(q["kind"] == "daylight-saving" for q in analysis.result.quality)


def test_a_real_gap_is_not_taken_for_daylight_saving(tmp_path: Path) -> None:
    lines = ["timestamp, index, utilization.gpu [%], power.draw [W]"]
    for second in [*range(600), *range(4300, 5000)]:
        when = datetime(2026, 3, 10, 1, 17) + timedelta(seconds=second)
        lines.append(f"{when:%Y/%m/%d %H:%M:%S}.000, 0, 50 %, 100.00 W")
    (tmp_path / "smi.csv").write_text("\n".join(lines) + "\n")
    analysis = analyze([tmp_path])
    assert analysis.sql("SELECT max(t) - min(t) AS s FROM gpu_samples")["s"][0] == 4999


@pytest.mark.parametrize("access_lines", [True, False])
def test_a_containers_time_gives_zone_and_year(tmp_path: Path, access_lines: bool) -> None:
    lines = []
    for k in range(6):
        outer, inner = START + timedelta(seconds=10 * k, milliseconds=400), START + timedelta(hours=2, seconds=10 * k)
        lines.append(
            f"{outer:%Y-%m-%dT%H:%M:%S}.400000000Z INFO {inner:%m-%d %H:%M:%S} [loggers.py:127] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
            "Avg generation throughput: 25.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.0%, Prefix cache hit rate: 0.0%"
        )
        if access_lines:
            lines.append(
                f'{outer:%Y-%m-%dT%H:%M:%S}.500000000Z (APIServer pid=1) INFO:     10.0.0.1:53400 - "POST /v1/completions HTTP/1.1" 200 OK'
            )
    (tmp_path / "vllm.log").write_text("\n".join(lines) + "\n")
    times = analyze([tmp_path]).sql("SELECT time FROM server_samples ORDER BY time")["time"].to_list()
    assert len(times) == 6 and all(abs(t - START.timestamp() - 10 * k) < 1.5 for k, t in enumerate(times))


@pytest.mark.parametrize("zoned", [False, True])
def test_a_server_log_that_nothing_ties_still_has_load_of_its_own(tmp_path: Path, zoned: bool) -> None:
    """The recording's clock is known, by its file time or because it prints UTC; the log's is not."""
    import os

    (tmp_path / "vllm.log").write_text(vllm_log(requests(3, 14), START))
    os.utime(tmp_path / "vllm.log", (1_700_000_000, 1_700_000_000))
    seen = requests(99, 14)
    (tmp_path / "smi.csv").write_text(smi_csv(seen, 0.0))
    os.utime(tmp_path / "smi.csv", (START.timestamp() + seen[-1][1] + 30,) * 2)
    if zoned:
        (tmp_path / "response.json").write_text(
            '{"object": "chat.completion", "created": 1790000000, "choices": [], "usage": {"completion_tokens": 5}}'
        )
    analysis = analyze([tmp_path], given=("split=layer",))
    assert analysis.sql("SELECT count(*) AS n FROM server_in_scope s JOIN scopes USING (scope_id) WHERE kind = 'regime'")["n"][0] > 50
    assert "confirmed" not in {v for _, v in verdict(analysis, "turn-taking")}


def dmon_of_the_day(spans: list[tuple[float, float]]) -> str:
    """`nvidia-smi dmon -o T`: the time of the day alone."""
    rows = [
        "#Time        gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk",
        "#HH:MM:SS    Idx      W      C      C      %      %      %      %    MHz    MHz",
    ]
    for second in range(int(spans[-1][1]) + 30):
        on = any(a + 0.5 <= second <= b + 0.3 for a, b in spans)
        when = START + timedelta(seconds=second)
        power, util = (150, 33) if on else (60, 0)
        rows += [
            f" {when:%H:%M:%S}      {card}    {power}     45      -     {util}     10      0      0   1215   1410" for card in range(3)
        ]
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize(("seen", "expected"), [(3, "confirmed"), (99, "cannot-tell")])
def test_times_without_a_date_need_edges_that_agree(tmp_path: Path, seen: int, expected: str) -> None:
    (tmp_path / "vllm.log").write_text(vllm_log(requests(3, 14), START))
    (tmp_path / "dmon.txt").write_text(dmon_of_the_day(requests(seen, 14)))
    analysis = analyze([tmp_path], given=("split=layer",))
    assert verdict(analysis, "turn-taking", "1 running") == [("1 running", expected)]
    assert any(q["kind"] == "day-added" for q in analysis.result.quality)


@pytest.mark.parametrize("seen", [3, 99])
def test_a_stated_zone_does_not_say_which_day(tmp_path: Path, seen: int) -> None:
    """Two requests have too few edges to tell."""
    (tmp_path / "vllm.log").write_text(vllm_log(requests(3, 2), START))
    (tmp_path / "dmon.txt").write_text(dmon_of_the_day(requests(seen, 2)))
    analysis = analyze([tmp_path], given=("split=layer",), tz="+00:00")
    assert offset(analysis, "dmon.txt")["estimated"]
    assert "confirmed" not in {v for _, v in verdict(analysis, "turn-taking")}
