"""Times that a copy wrote are told from those a run wrote."""

from __future__ import annotations

import io
from pathlib import Path

from gpuverdict.engine.filetimes import mark_copied, newer_than_run
from gpuverdict.engine.source import Source

T0 = 1_790_000_000


def on_disk(times: dict[str, float]) -> list[Source]:
    return [Source(n, io.BytesIO, mtime=t, mtime_kind="filesystem", given_as=f"/d/{n}", path=Path("/d") / n) for n, t in times.items()]


def marked(times: dict[str, float]) -> set[str]:
    sources = on_disk(times)
    mark_copied(sources)
    assert all(bool(s.quality) == (s.mtime_kind == "copied") for s in sources)
    return {s.name for s in sources if s.mtime_kind == "copied"}


def test_a_copy_in_name_order_is_recognised() -> None:
    assert marked({f"resp_{n}.json": T0 + n * 0.001 for n in range(1, 13)}) == {f"resp_{n}.json" for n in range(1, 13)}
    by_bytes = sorted(f"resp_{n}.json" for n in range(1, 13))
    assert len(marked({name: T0 + i * 0.01 for i, name in enumerate(by_bytes)})) == 12
    assert len(marked({f"resp_{n}.json": float(T0) for n in range(4)})) == 4


def test_a_real_wave_is_kept() -> None:
    wave = {1: 0.67, 2: 0.574, 3: 0.612, 4: 15.8, 5: 0.729, 6: 15.7, 7: 15.6, 8: 15.73}
    assert marked({f"resp_{n}.json": T0 + t for n, t in wave.items()}) == set()
    assert marked({f"resp_{n}.json": T0 + t for n, t in ((1, 0.05), (2, 0.01), (3, 0.03), (4, 0.02))}) == set()


def test_a_serial_client_in_name_order_is_kept() -> None:
    assert marked({f"resp_{n:02}.json": T0 + n * 0.8 for n in range(20)}) == set()


def test_logs_that_stopped_together_are_kept() -> None:
    assert marked({"server.log": T0 + 0.1, "dmon.txt": T0 + 0.9}) == set()
    assert marked({"server.log": T0 + 0.1, "dmon.txt": T0 + 0.9, "bench.json": T0 + 0.95}) == set()


def test_copied_responses_beside_original_logs() -> None:
    times = {"server.log": T0 - 500.0, **{f"resp_{n}.json": T0 + n * 0.002 for n in range(5)}}
    assert marked(times) == {f"resp_{n}.json" for n in range(5)}


def test_a_recursive_copy_and_a_clone_are_recognised() -> None:
    order = ["z/b.log", "a/resp_1.json", "m.txt", "a/resp_2.json", "c.csv"]
    assert marked({n: T0 + i * 0.003 for i, n in enumerate(order)}) == set(order)
    big = {f"d{i // 10}/{'ab'[i % 2]}{i % 10}.log": 0.0 for i in range(60)}
    clone = {n: T0 + i * 0.03 for i, n in enumerate(sorted(big))}
    assert marked(clone) == set(clone)


def test_files_newer_than_the_run() -> None:
    sources = on_disk({"a.json": T0 + 90_000.0, "b.json": T0 + 100.0})
    assert [s.name for s in newer_than_run(sources, T0)] == ["a.json"]
