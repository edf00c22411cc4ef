"""Values as nvidia-smi prints them: names, times, numbers with a unit, what is kept about cards."""

from __future__ import annotations

import polars as pl
import pytest
from gpuverdict.engine.smi_values import (
    MAX_CARDS,
    SmiState,
    first_readings,
    numbers_with_units,
    process_name,
    process_values,
    product,
    wall_time,
)


@pytest.mark.parametrize("name", ["NVIDIA H100 80GB HBM3", "Tesla T4", "GeForce RTX 3090", "Orin (nvgpu)", "A100-SXM4-80GB", "L40S"])
def test_products(name: str) -> None:
    assert product(name) == name


@pytest.mark.parametrize("name", [None, "", "alice", "box-7", "NVIDIA <script>", "NVIDIA " + "x" * 70, "card of alice"])
def test_other_names_are_dropped(name: str | None) -> None:
    assert product(name) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Mon Mar  2 09:15:07 2026", 1772442907.0),
        ("Mon Mar 02 09:15:07 2026", 1772442907.0),
        ("Mon Mar  2 09:15:07", None),
        ("Mon Feb 31 09:15:07 2026", None),
        ("Mon Mar  2 25:15:07 2026", None),
        ("2026/03/02 09:15:07.000", None),
        (None, None),
    ],
)
def test_wall_times(text: str | None, seconds: float | None) -> None:
    frame = pl.DataFrame({"date": [text]}, schema={"date": pl.String})
    assert frame.select(time=wall_time(pl.col("date")))["time"].to_list() == [seconds]


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        ("12.50 W", "99 W", 12.5),
        ("12W", None, 12.0),
        ("N/A", "40 W", 40.0),
        ("0 W", None, 0.0),
        ("501 W", "40 W", None),
        ("12.50 mW", None, None),
        ("12.50", None, None),
        ("12.50 W extra", None, None),
        ("1234567890123 W", None, None),
        ("[N/A]", "ERR!", None),
        (None, None, None),
    ],
)
def test_numbers_with_units(first: str | None, second: str | None, value: float | None) -> None:
    frame = pl.DataFrame({"a": [first], "b": [second]}, schema={"a": pl.String, "b": pl.String})
    (found,) = frame.select(numbers_with_units({"power_w": (("a", "b"), "W", 1, 500), "pcie_rx": (("a",), "KB/s", 1e-3, 10)})).rows()
    assert found == (value, None)


def test_a_scale_comes_before_the_bound() -> None:
    frame = pl.DataFrame({"a": ["9000 KB/s", "11000 KB/s"]})
    assert frame.select(numbers_with_units({"pcie_rx": (("a",), "KB/s", 1e-3, 10)}))["pcie_rx"].to_list() == [9.0, None]


def test_process_values() -> None:
    frame = pl.DataFrame(
        {
            "pid": ["77", "N/A", "12345678901", "0x4d"],
            "kind": ["C+G", "C", "X", None],
            "memory": ["512 MiB", "512 MB", "N/A", "1 GiB"],
        }
    )
    assert frame.select(process_values()).rows() == [(77, "C+G", 512.0), (None, "C", 512.0), (None, None, None), (None, None, None)]


def test_first_readings_need_an_empty_card_without_processes() -> None:
    cards = pl.DataFrame(
        {
            "card": [1, 2, 3, 4, 5],
            "util_gpu": [100.0, 100.0, 100.0, 94.0, None],
            "mem_used": [10.0, 10.0, 500.0, 10.0, 10.0],
            "mem_total": [10_000.0] * 5,
        }
    )
    assert first_readings(cards, pl.DataFrame({"card": [2, 2]})) == 1
    assert first_readings(cards, pl.DataFrame({"card": []}, schema={"card": pl.Int64})) == 2


def card(gpu: int, **changes: object) -> dict:
    about = {"line": 4, "gpu": gpu, "uuid": "GPU-1", "bus_id": "00000000:01:00.0", "power_limit_w": 300.0, "driver": "580.1"}
    return about | {"name": "Tesla T4", "mig": "Disabled", "mem_total": 16_000.0} | changes


def test_a_source_ends_with_its_clock_cards_and_oddities() -> None:
    state = SmiState(first_line=2)
    state.tick(iter([100.0, 110.0, 110.0, 130.0]))
    state.about(pl.DataFrame([card(0), card(1, name="alice", mig="Enabled"), card(0, driver="999.9")]))
    state.odd["mig-instances"] = 3
    out: dict[str, list[dict]] = {}
    state.finish(lambda name, frame: out.setdefault(name, []).extend(frame.to_dicts()), {"mig-instances": "left out"})
    assert out["clocks"] == [{"line": 2, "kind": "local-no-zone", "resolution_s": 1.0, "interval_s": 15.0}]
    assert [(c["gpu"], c["name"], c["mig"], c["driver"], c["memory_mib"]) for c in out["gpus"]] == [
        (0, "Tesla T4", False, "580.1", 16_000.0),
        (1, None, True, "580.1", 16_000.0),
    ]
    assert out["quality"] == [{"line": 2, "kind": "mig-instances", "n": 3, "note": "left out"}]


def test_no_reading_no_rows_and_cards_are_bounded() -> None:
    out: list[str] = []
    SmiState().finish(lambda name, frame: out.append(name), {})
    assert out == []
    state = SmiState()
    state.about(pl.DataFrame([card(n) for n in range(MAX_CARDS + 5)]))
    assert len(state.cards) == MAX_CARDS


def test_a_name_that_may_not_be_seen_is_no_name() -> None:
    said = ["serve", "Insufficient Permissions", "[Insufficient Permissions]", "[Not Found]", "N/A", "-", "", "/usr/bin/my N/A tool"]
    frame = pl.DataFrame({"name": said}).select(process_name("name").alias("name"))
    assert frame["name"].to_list() == ["serve", *[None] * 6, "/usr/bin/my N/A tool"]
