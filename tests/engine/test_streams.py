"""Prefixes of containers, journals and launchers before lines whose columns matter."""

from __future__ import annotations

import json

import pytest
from gpuverdict.engine.parser import Claim, Counts
from gpuverdict.engine.source import Source
from gpuverdict.engine.streams import plain_head
from gpuverdict.engine.testing import check_counts, rows_of
from gpuverdict.parsers import gpustat, nvidia_smi_dmon, nvidia_smi_pmon, nvidia_smi_q, nvidia_smi_query

DMON = "# gpu    pwr  gtemp     sm \n# Idx      W      C      % \n    0    300     60     91 \n    1    200     50     12 \n"
QUERY = "timestamp, index, utilization.gpu [%], power.draw [W]\n" + "".join(
    f"2026/01/02 10:00:0{s}.000, {i}, {10 * i + s} %, 100.50 W\n" for s in range(2) for i in range(2)
)
PREFIXES = {
    "compose": lambda k: "mon-1  | ",
    "kubectl": lambda k: "[pod/mon-abc/smi] ",
    "docker -t": lambda k: f"2026-01-02T10:00:0{k}.500000000Z ",
    "ts": lambda k: f"Jan 02 10:00:0{k} ",
    "ts %F %T": lambda k: f"2026-01-02 10:00:0{k} ",
    "date in brackets": lambda k: f"[2026/01/02 10:00:0{k}] ",
    "journal": lambda k: f"Jan 02 10:00:0{k} box smi[77]: ",
    "srun -l": lambda k: "0: ",
    "pdsh": lambda k: "node-a: ",
}


def worn(text: str, name: str) -> str:
    return "".join(PREFIXES[name](k % 10) + line + "\n" for k, line in enumerate(text.splitlines()))


@pytest.mark.parametrize("name", PREFIXES)
def test_columns_are_read_behind_any_prefix(name: str) -> None:
    for parser, text in ((nvidia_smi_dmon.PARSER, DMON), (nvidia_smi_query.PARSER, QUERY)):
        plain, _ = rows_of(parser, text)
        assert isinstance(parser.claims(Source.from_text(worn(text, name)).head()), Claim)
        found, counts = rows_of(parser, worn(text, name))
        check_counts(counts, worn(text, name), name)
        drop = {"host", "time"}
        assert [{k: v for k, v in r.items() if k not in drop} for r in found["gpu_samples"]] == [
            {k: v for k, v in r.items() if k not in drop} for r in plain["gpu_samples"]
        ]
        if text is QUERY:  # its own times stand
            assert [r["time"] for r in found["gpu_samples"]] == [r["time"] for r in plain["gpu_samples"]]


def test_the_time_of_a_prefix_is_the_time_of_rows_without_one() -> None:
    found, _ = rows_of(nvidia_smi_dmon.PARSER, worn(DMON, "docker -t"))
    assert [r["time"] for r in found["gpu_samples"]] == [1767348002.5, 1767348003.5]
    assert found["clocks"][0]["kind"] == "utc"
    found, _ = rows_of(nvidia_smi_dmon.PARSER, worn(DMON, "ts %F %T"))
    assert [r["time"] for r in found["gpu_samples"]] == [1767348002.0, 1767348003.0]
    assert (found["clocks"][0]["kind"], found["clocks"][0]["resolution_s"]) == ("local-no-zone", 1.0)


def test_records_of_docker() -> None:
    text = "".join(
        json.dumps({"log": line + "\n", "stream": "stdout", "time": f"2026-01-02T10:00:0{k}.5Z"}, separators=(",", ":")) + "\n"
        for k, line in enumerate(DMON.splitlines())
    )
    assert isinstance(nvidia_smi_dmon.PARSER.claims(Source.from_text(text).head()), Claim)
    found, counts = rows_of(nvidia_smi_dmon.PARSER, text)
    check_counts(counts, text, "json-file")
    assert [(r["gpu"], r["util_gpu"], r["time"]) for r in found["gpu_samples"]] == [(0, 91, 1767348002.5), (1, 12, 1767348003.5)]


def test_hosts_between_each_other_are_told_apart() -> None:
    lines = QUERY.splitlines()
    text = "".join(f"node{n}: {x if n == 1 else x.replace('100.50', '7.25')}\n" for x in lines for n in (1, 2))
    found, counts = rows_of(nvidia_smi_query.PARSER, text)
    assert counts == Counts(matched=8, noise=2)
    assert {(r["host"], r["power_w"]) for r in found["gpu_samples"]} == {("node1", 100.5), ("node2", 7.25)}
    assert sorted((r["host"], r["cycle"], r["gpu"]) for r in found["gpu_samples"]) == [
        (h, c, g) for h in ("node1", "node2") for c in range(2) for g in range(2)
    ]
    assert len(found["clocks"]) == 1


def test_processes_that_are_no_hosts_are_said_to_be_unknown() -> None:
    text = "".join(f"{n}: {x}\n" for x in DMON.splitlines() for n in (0, 1))
    found, _ = rows_of(nvidia_smi_dmon.PARSER, text)
    assert {r.get("host") for r in found["gpu_samples"]} == {None}
    assert [(q["kind"], q["n"]) for q in found["quality"]] == [("streams-unnamed", 2)]


def test_indent_and_brackets_of_the_formats_stay() -> None:
    text = nvidia_smi_q.PARSER.samples[0].text
    found, _ = rows_of(nvidia_smi_q.PARSER, worn(text, "docker -t"))
    assert [r["util_gpu"] for r in found["gpu_samples"]] == [r["util_gpu"] for r in rows_of(nvidia_smi_q.PARSER, text)[0]["gpu_samples"]]
    cards = "".join(f"[{n}] NVIDIA L4 | 40'C, {n} % | 1 / 23034 MB |\n" for n in range(8, 13))
    assert [r["gpu"] for r in rows_of(gpustat.PARSER, cards)[0]["gpu_samples"]] == [8, 9, 10, 11, 12]


def test_a_source_without_prefixes_is_read_as_it_is() -> None:
    for text in (DMON, QUERY, nvidia_smi_pmon.PARSER.samples[0].text, "INFO: a\nINFO: b\n", ""):
        head = Source.from_text(text).head()
        assert plain_head(head) is head


def test_a_few_stamped_lines_in_another_log_change_nothing() -> None:
    noise = "server starts\n" * 40 + "2026-01-02 10:00:00 one line\n"
    found, _ = rows_of(nvidia_smi_dmon.PARSER, noise + DMON)
    assert len(found["gpu_samples"]) == 2 and found["clocks"][0]["kind"] == "none"


def test_more_streams_than_are_read_are_counted() -> None:
    text = "".join(f"node{n}: {x}\n" for n in range(70) for x in DMON.splitlines())
    found, counts = rows_of(nvidia_smi_dmon.PARSER, text)
    check_counts(counts, text, "70 hosts")
    assert len({r["host"] for r in found["gpu_samples"]}) == 64 and counts.other == 6 * 4
