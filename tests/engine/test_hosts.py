"""Machines told apart by folders, file names and stated facts; conservatively."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from gpuverdict.engine.analyze import analyze
from gpuverdict.engine.hosts import host_in, host_of
from test_time_traps import ticks


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("node1/smi.csv", "node1"),
        ("logs/smi_Node-02.csv", "node2"),
        ("run.tar!host-a/dmon.txt", "hosta"),
        ("gpu-node07.csv", "gpunode7"),
        ("c4/smi.csv", None),
        ("run1/smi.csv", None),
        ("node_exporter.txt", None),
        ("worker1.log", None),
        ("hostname.txt", None),
        ("node1/smi_node2.csv", None),
        ("server1.log", None),
    ],
)
def test_only_what_names_a_machine_does(name: str, host: str | None) -> None:
    assert host_of(name) == host


def hosts_of(folder: Path) -> dict[str, set[str | None]]:
    rows = analyze([folder]).sql("SELECT DISTINCT s.name, g.host FROM gpu_samples g JOIN sources s USING (source_id)").rows()
    return {name: {h for n, h in rows if n == name} for name, _ in rows}


def test_two_folders_are_two_machines_and_their_cards_are_not_mixed(tmp_path: Path) -> None:
    for node in ("node1", "node2"):
        (tmp_path / node).mkdir()
        (tmp_path / node / "smi.csv").write_text(ticks(datetime(2026, 9, 6, 12, 0), range(20)))
    found = hosts_of(tmp_path)
    assert len(found) == 2 and all(None not in hosts and len(hosts) == 1 for hosts in found.values())
    assert len(set.union(*found.values())) == 2


def test_one_machine_needs_no_name(tmp_path: Path) -> None:
    (tmp_path / "node1").mkdir()
    (tmp_path / "node1" / "smi.csv").write_text(ticks(datetime(2026, 9, 6, 12, 0), range(20)))
    assert set.union(*hosts_of(tmp_path).values()) == {None}


def test_a_stated_machine_is_taken_and_its_name_is_hidden(tmp_path: Path) -> None:
    (tmp_path / "smi.csv").write_text(ticks(datetime(2026, 9, 6, 12, 0), range(20)))
    (tmp_path / "gpuverdict.toml").write_text('[host]\n"smi.csv" = "secretbox"\n')
    assert hosts_of(tmp_path) == {"smi.csv": {"host-1"}}


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Sep 06 12:00:00 alpha ollama[7]: time=...\n" * 3, "alpha"),
        ("Sep  6 12:00:00.123456 Alpha.example.org vllm[7]: INFO\n" * 3, "alpha"),
        ("2026-09-06T12:00:00+0200 node-02 ollama[7]: x\n" * 3, "node2"),
        ("1788688800.123456 alpha ollama[7]: x\n" * 3, "alpha"),
        ('{"_HOSTNAME":"alpha","MESSAGE":"x"}\n' * 3, "alpha"),
        ("Sep 06 12:00:00 alpha ollama[7]: x\nSep 06 12:00:00 beta ollama[7]: x\n", None),
        ("Sep 06 12:00:00 ollama[7]: x\n" * 3, None),
        ("Sep 06 12:00:00 alpha ollama[7]: x\n" + "INFO somebody quotes a journal\n" * 3, None),
        ("node1: INFO x\n" * 3, None),
    ],
)
def test_the_journal_names_its_machine(text: str, host: str | None) -> None:
    assert host_in(text) == host
