"""A card's name finds its row of the catalogue, and no row of another card whose name begins alike."""

from __future__ import annotations

import polars as pl
import pytest
from gpuverdict.engine import catalog, join
from gpuverdict.engine.store import Store

DESKTOP = "NVIDIA GeForce RTX "


@pytest.mark.parametrize(
    ("printed", "row"),
    [
        ("NVIDIA GeForce RTX 4060 Ti", "NVIDIA GeForce RTX 4060 Ti"),
        ("GeForce RTX 4090", "NVIDIA GeForce RTX 4090"),  # drivers to 460 print no vendor
        ("RTX 4090", "NVIDIA GeForce RTX 4090"),  # as people state it
        ("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "NVIDIA RTX PRO 6000 Blackwell Server Edition"),
        ("Tesla P40", "Tesla P40"),
        ("NVIDIA GeForce RTX 4090 D", "NVIDIA GeForce RTX 4090 D"),
        ("NVIDIA GeForce RTX 3080 Ti", "NVIDIA GeForce RTX 3080 Ti"),
        ("NVIDIA GeForce RTX 4080 SUPER", "NVIDIA GeForce RTX 4080 SUPER"),
        ("NVIDIA T4", "Tesla T4"),
        ("A100-PCIE-40GB", "NVIDIA A100-PCIE-40GB"),
        ("NVIDIA A10", "NVIDIA A10"),
        ("NVIDIA A10G", "NVIDIA A10G"),
        ("NVIDIA L40S", "NVIDIA L40S"),
        ("NVIDIA H200 NVL", "NVIDIA H200 NVL"),
        ("NVIDIA B200 180GB HBM3e", "NVIDIA B200"),
        ("Instinct MI300X OAM", "AMD Instinct MI300X"),
        ("AMD Radeon RX 7900 XTX", "Radeon RX 7900 XTX"),
    ],
)
def test_names_as_tools_print_them_are_known(printed: str, row: str) -> None:
    assert catalog.known_gpu(printed) == row


@pytest.mark.parametrize(
    "printed",
    [
        DESKTOP + "4090 Laptop GPU",
        DESKTOP + "3080 Laptop GPU",
        DESKTOP + "5090 D",
        DESKTOP + "5070 Ti SUPER",
        DESKTOP + "3080 Ti Laptop GPU",
        "NVIDIA A100",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "NVIDIA H100 80GB HBM3 MIG 3g.40gb",
        "NVIDIA A10-24Q",
        "NVIDIA H800 PCIe",
        "NVIDIA H200 MIG 1g.18gb",
        "NVIDIA RTX PRO 5000 Blackwell Generation Laptop GPU",
        "Quadro RTX 8000 with Max-Q Design",
        "NVIDIA RTX A4000 Laptop GPU",
        "Quadro M4000",
        "NVIDIA T400 4GB",
    ],
)
def test_another_card_of_the_family_is_not_known(printed: str) -> None:
    assert catalog.known_gpu(printed) is None


def matched(*cards: tuple[str, float | None]) -> list[tuple[str, float]]:
    """Name and bandwidth of the rows that the view finds for cards of this name and memory (MiB)."""
    store = Store()
    catalog.load(store.con)
    rows = {"gpu": range(len(cards)), "name": [n for n, _ in cards], "memory_mib": [m for _, m in cards]}
    store.insert("gpus", pl.DataFrame(rows, schema={"gpu": pl.Int32, "name": pl.String, "memory_mib": pl.Float64}), 0)
    store.con.execute("CREATE OR REPLACE VIEW main.gpus AS SELECT * FROM raw.gpus")
    store.con.execute("CREATE OR REPLACE VIEW main.given AS SELECT * FROM raw.given")
    store.con.execute("CREATE TABLE main.host_windows (host VARCHAR)")
    join.join(store, ("gpu_catalog_match",))
    return store.con.execute("SELECT name_pattern, mem_bw_gbs FROM main.gpu_catalog_match ORDER BY ALL").fetchall()


def test_a_plugins_card_with_a_wrong_number_costs_that_number_only() -> None:
    store = Store()
    catalog.load(store.con, [{"name_pattern": "Widget 9", "mem_bw_gbs": "plenty", "memory_gib": 24.0, "colour": "red"}])
    found = store.con.execute("SELECT mem_bw_gbs, memory_gib FROM main.catalog_gpus WHERE name_pattern = 'Widget 9'").fetchall()
    assert found == [(None, 24.0)]
    assert store.con.execute("SELECT count(*) > 10 AND count(mem_bw_gbs) > 10 FROM main.catalog_gpus").fetchall() == [(True,)]


def test_memory_decides_between_cards_of_one_name() -> None:
    assert matched((DESKTOP + "3060", 12288.0)) == [(DESKTOP + "3060", 360.0)]
    assert matched((DESKTOP + "3060", 8192.0)) == [(DESKTOP + "3060", 240.0)]
    assert matched((DESKTOP + "3080", 12288.0)) == [(DESKTOP + "3080", 912.0)]
    assert matched(("AMD Instinct MI250X", 65520.0)) == [("AMD Instinct MI250X", 1638.0)]


def test_two_cards_of_one_name_and_memory_both_stand() -> None:
    assert matched((DESKTOP + "3060 Ti", 8192.0)) == [(DESKTOP + "3060 Ti", 448.0), (DESKTOP + "3060 Ti", 608.0)]


def test_without_memory_every_card_of_that_name_stands() -> None:
    assert matched((DESKTOP + "3060", None)) == [(DESKTOP + "3060", 240.0), (DESKTOP + "3060", 360.0)]
    assert matched((DESKTOP + "3060", None), (DESKTOP + "3060", 12288.0)) == [(DESKTOP + "3060", 360.0)]


def test_the_view_and_the_function_agree() -> None:
    names = ["NVIDIA A10", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", DESKTOP + "4090 Laptop GPU", DESKTOP + "5090 D", "NVIDIA B200 180GB HBM3e"]
    found = {name for name, _ in matched(*((n, None) for n in names))}
    assert found == {k for n in names if (k := catalog.known_gpu(n))} == {"NVIDIA A10", "NVIDIA B200"}
