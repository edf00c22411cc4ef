"""Names keep only words that are known to be harmless."""

from __future__ import annotations

import pytest
from gpuverdict.engine.privacy import Hider


@pytest.mark.parametrize(
    "name",
    ["dmon.txt", "server.log", "sweep.md", "responses.tar!resp_1.json", "c8/vllm_bench.json", "nvidia-smi-20260816.csv", "run2/smi.csv"],
)
def test_ordinary_names_stay(name: str) -> None:
    assert Hider().label("path", name) == name


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("dmon-gpubox17.txt", "gpubox"),
        ("server-10.20.30.40.log", "10.20"),
        ("server-10-20-30-40.log", "10-20"),
        ("alice.meyer@example.org.log", "alice"),
        ("users/jdoe/log.txt", "jdoe"),
        ("gpu-01.dc.example.com.csv", "example"),
        ("6f1e2d3c-1111-2222-3333-444455556666.json", "6f1e2d3c"),
        ("sk-abcdefgh12345678.log", "abcdefgh"),
        ("log\x1b[31m.txt", "\x1b"),
        ("log<script>.md", "<"),
        ("журнал.log", "журнал"),
    ],
)
def test_private_parts_of_names_go(name: str, secret: str) -> None:
    assert secret not in Hider().label("path", name)


def test_the_same_value_gets_the_same_pseudonym_and_is_counted() -> None:
    hider = Hider()
    assert hider.pseudonym("id", "GPU-1", "uuid") == hider.pseudonym("id", "GPU-1", "uuid") == "uuid-1"
    assert hider.pseudonym("id", "GPU-2", "uuid") == "uuid-2"
    assert hider.label("path", "x-alpha.log") == hider.label("path", "x-alpha.log")
    assert hider.hidden == {"id": 2, "path": 1}


def test_revealing_a_class_leaves_it_alone() -> None:
    hider = Hider(reveal=frozenset({"path"}))
    assert hider.label("path", "gpubox17.log") == "gpubox17.log"
    assert hider.pseudonym("id", "GPU-1", "uuid") == "uuid-1"
