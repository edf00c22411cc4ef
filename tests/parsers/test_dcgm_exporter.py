"""Prometheus text of dcgm-exporter: names, blanks, scrapes."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.dcgm_exporter import PARSER
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


def series(name: str, value: object, gpu: int = 0, more: str = "") -> str:
    return f'DCGM_FI_{name}{{gpu="{gpu}",UUID="GPU-12345678-1234-1234-1234-123456789ab{gpu}"{more}}} {value}\n'


def test_scrapes_are_rounds() -> None:
    one = series("DEV_GPU_UTIL", 5) + series("DEV_GPU_UTIL", 6, 1) + series("DEV_FB_USED", 7) + series("DEV_FB_USED", 8, 1)
    got = rows(one + one)
    assert [(r["gpu"], r["cycle"], r["util_gpu"], r["mem_used"]) for r in got] == [(0, 0, 5, 7), (1, 0, 6, 8), (0, 1, 5, 7), (1, 1, 6, 8)]


@pytest.mark.parametrize(
    "name, column",
    [
        ("DEV_GPU_UTIL_RATIO", "util_gpu"),
        ("PROF_SM_ACTIVE", "sm_active"),
        ("PROF_SM_UTIL_RATIO", "sm_active"),
        ("PROF_TENSOR_UTIL_RATIO", "tensor_active"),
        ("PROF_DRAM_UTIL_RATIO", "dram_active"),
        ("DEV_BOARD_POWER_WATTS", "power_w"),
        ("DEV_GPU_TEMP_CELSIUS", "temp"),
    ],
)
def test_renamed(name: str, column: str) -> None:
    assert rows(series(name, 0.5))[0][column] == 0.5


@pytest.mark.parametrize(
    "value", ["9223372036854775794", "2147483632", "140737488355328.000000", "ERROR - FAILED TO CONVERT TO STRING", "NaN"]
)
def test_no_value(value: str) -> None:
    text = series("DEV_GPU_UTIL", 5) + series("DEV_FB_USED", value)
    (row,) = rows(text)
    assert row["mem_used"] is None and row["util_gpu"] == 5


def test_ratios_above_one() -> None:
    text = series("PROF_SM_ACTIVE", 1.2) + series("DEV_GPU_UTIL", 5)
    assert rows(text)[0]["sm_active"] is None and kinds(text)["out-of-range"] == 1


def test_bytes_need_their_type() -> None:
    name = "PROF_PCIE_RX_BYTES"
    gauge = f"# TYPE DCGM_FI_{name} gauge\n" + series(name, 33000000)
    assert rows(gauge)[0]["pcie_rx"] == 33 and rows(gauge)[0]["pcie_probe_s" if "pcie_probe_s" in rows(gauge)[0] else "pcie_tx"] is None
    assert rows(series(name, 33000000)) == [] and kinds(series(name, 33000000)) == {"bytes-of-unknown-kind": 1}
    assert rows(gauge.replace("gauge", "counter")) == []


def test_mig_rows_are_left_out() -> None:
    text = series("DEV_GPU_UTIL", 5) + series("PROF_DRAM_ACTIVE", 0.9, more=',GPU_I_PROFILE="1g.5gb",GPU_I_ID="13"')
    assert rows(text)[0]["dram_active"] is None and kinds(text) == {"mig-instance-rows": 1}


def test_hosts_and_hostile_labels() -> None:
    text = series("DEV_GPU_UTIL", 5, more=',Hostname="a",modelName="me@example.org",pod="secret"') + series(
        "DEV_GPU_UTIL", 6, more=',Hostname="b"'
    )
    assert [(r["host"], r["util_gpu"]) for r in rows(text)] == [("a", 5), ("b", 6)]
    assert rows(text, "gpus")[0]["name"] is None and "secret" not in str(rows_of(PARSER, text)[0])


def test_cut_number() -> None:
    text = series("DEV_GPU_UTIL", 5) + series("DEV_FB_USED", 12345)
    assert rows(text[:-3])[0]["mem_used"] is None and kinds(text[:-3]) == {"cut-line": 1}


def test_beside_other_metrics() -> None:
    got = claim('vllm:num_requests_running{model="x"} 3\n' + series("DEV_GPU_UTIL", 5))
    assert isinstance(got, Claim) and got.shares
    assert isinstance(claim("# HELP DCGM_FI_DEV_GPU_UTIL x\n"), Refusal)
    assert claim("up 1\n") is None


# ---------------------------------------------------------------- open-ended input

(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="DCGM_FI_{gpu=0,} 123456789.#\n")


def test_labels_of_kubernetes_may_hold_anything() -> None:
    labels = 'gpu="1",Hostname="h2",pod="vllm-1",label_x="a,b={c} gpu=\\"7\\""'
    (row,) = rows(f"DCGM_FI_DEV_GPU_UTIL{{{labels}}} 3\n")
    assert (row["gpu"], row["host"], row["util_gpu"]) == (1, "h2", 3)
