"""Character strips: aligned, narrow, true to the samples; a blank is no sample."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from gpuverdict.engine import catalog
from gpuverdict.engine.analyze import Settings, _judgeable, analyze
from gpuverdict.engine.collect import Collected
from gpuverdict.engine.given import Given
from gpuverdict.engine.report import strips
from gpuverdict.engine.store import Store
from hypothesis import given, settings
from hypothesis import strategies as st

CASE = Path(__file__).parents[2] / "fixtures" / "cases" / "three-cards"


def drawn(**tables: list[dict[str, Any]]) -> list[str]:
    store = Store()
    catalog.load(store.con)
    store.insert("sources", pl.DataFrame({"name": ["a.log"], "status": ["read"]}), 0)
    for name, rows in tables.items():
        store.insert(name, pl.DataFrame(rows, infer_schema_length=None), 0)
    _judgeable(store, Collected(), Given(), Settings())
    text = strips.draw(SimpleNamespace(store=store))  # type: ignore[arg-type]
    store.close()
    return text.splitlines()


def samples(values: list[list[float | None]], timed: bool = True, host: str | None = None) -> list[dict[str, Any]]:
    """One list per round, one value per card."""
    return [
        {"line": n * len(round_) + g + 1, "host": host, "gpu": g, "cycle": n, "time": 5.0 + n if timed else None, "util_gpu": value}
        for n, round_ in enumerate(values)
        for g, value in enumerate(round_)
    ]


def marks(line: str) -> str:
    return line[strips.NAME + 1 : strips.NAME + 1 + strips.MARKED].split("  mean")[0]


def test_three_cards() -> None:
    lines = strips.draw(analyze(CASE)).splitlines()
    assert [line[: strips.NAME].strip() for line in lines] == ["gpu0", "gpu1", "gpu2", "sum", ""]
    assert [line.split("  ")[-1] for line in lines[:4]] == ["mean 33.2 %", "mean 34.6 %", "mean 31.3 %", "mean 99.1 %"]
    assert marks(lines[0]) == "▃" * 18 and set(marks(lines[3])) <= {"█"}
    assert lines[4].strip() == "c=1, dmon.txt: 18 samples"


def test_no_data_is_an_empty_text() -> None:
    assert drawn() == []


def test_turns_are_seen() -> None:
    lines = drawn(gpu_samples=samples([[100.0, 0.0], [0.0, 100.0]] * 8))
    assert marks(lines[0]) == "█▁" * 8 and marks(lines[1]) == "▁█" * 8 and marks(lines[2]) == "█" * 16
    assert lines[3].strip() == "a.log: 16 samples in 15 s"


def test_unknown_is_blank_and_not_zero() -> None:
    lines = drawn(gpu_samples=samples([[50.0], [None], [50.0], [0.0], [50.0]]))
    assert marks(lines[0]) == "▅ ▅▁▅"
    assert "mean 37.5 %" in lines[0]


def test_a_round_without_one_card_has_no_sum() -> None:
    rows = samples([[40.0, 40.0]] * 6)
    lines = drawn(gpu_samples=[row for row in rows if not (row["cycle"] == 2 and row["gpu"] == 1)])
    assert marks(lines[2]) == "▇▇ ▇▇▇" and "mean 80.0 %" in lines[2]


def test_cards_at_work_together_say_the_scale() -> None:
    lines = drawn(gpu_samples=samples([[90.0, 90.0, 90.0, 90.0]] * 10))
    assert "mean 360.0 %" in lines[4] and "full sum = 360 %" in lines[5]


def test_cards_that_do_nothing_are_left_out() -> None:
    lines = drawn(gpu_samples=samples([[90.0, 0.0]] * 10))
    assert [line[: strips.NAME].strip() for line in lines] == ["gpu0", ""]


def test_long_recordings_are_means_over_time() -> None:
    lines = drawn(gpu_samples=samples([[100.0 if n < 500 else 0.0] for n in range(1000)]))
    half = strips.MARKED // 2
    assert marks(lines[0]) == "█" * half + "▁" * half
    assert "999 s, one mark = 29 s" in lines[1]


def test_running_and_waiting() -> None:
    rows = [{"line": n + 1, "time": 10.0 * n, "running": 4.0, "waiting": float(n)} for n in range(8)]
    lines = drawn(server_samples=rows)
    assert lines[0].startswith("running     ████████  mean 4.0, at most 4")
    assert lines[1].startswith("waiting     ▁▂▃▄▅▆▇█  mean 3.5, at most 7")


def test_two_hosts_are_told_apart() -> None:
    rows = samples([[30.0]] * 5, host="host-a") + samples([[60.0]] * 5, host="host-b")
    names = [line[: strips.NAME].strip() for line in drawn(gpu_samples=rows)]
    assert names == ["host1 gpu0", "host2 gpu0", "sum", ""]


@pytest.mark.parametrize(("value", "mark"), [(None, " "), (0.0, "▁"), (12.4, "▁"), (12.6, "▂"), (99.0, "█"), (100.0, "█"), (130.0, "█")])
def test_mark(value: float | None, mark: str) -> None:
    assert strips.mark(value, 100.0) == mark


@settings(max_examples=12, deadline=None)
@given(
    st.integers(1, 20),
    st.booleans(),
    st.lists(st.one_of(st.none(), st.floats(0, 100)), min_size=1, max_size=150),
)
def test_always_narrow_short_and_aligned(cards: int, timed: bool, values: list[float | None]) -> None:
    lines = drawn(gpu_samples=samples([[v] * cards for v in values], timed))
    assert len(lines) <= strips.LINES and all(len(line) <= strips.COLUMNS for line in lines)
    assert len({line.index("mean ") for line in lines if "mean " in line}) <= 1
