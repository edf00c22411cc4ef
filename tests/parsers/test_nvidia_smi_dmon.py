"""nvidia-smi dmon: every era, header games, clocks, cuts."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Counts, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.nvidia_smi_dmon import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st
from open_ended import Blocks, samples_in

HEAD = "# gpu    pwr  gtemp  mtemp     sm    mem  rxpci  txpci \n# Idx      W      C      C      %      %   MB/s   MB/s \n"
ROW = "    {gpu}    {pwr}     50      -     {sm}     40     12     34 \n"


def samples(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("gpu_samples", [])


def kinds(text: str) -> dict[str, int]:
    return {r["kind"]: r["n"] for r in rows_of(PARSER, text)[0].get("quality", [])}


def clock(text: str) -> dict[str, Any]:
    (row,) = rows_of(PARSER, text)[0]["clocks"]
    return row


def claim(text: str) -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text).head())


def test_samples() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(claim(sample.text), Claim)


def test_column_order_follows_the_header() -> None:
    text = (
        "# gpu     fb   bar1   ccpm  rxpci  txpci   mclk   pclk     sm    mem \n"
        "# Idx     MB     MB     MB   MB/s   MB/s    MHz    MHz      %      % \n"
        "    0    239      3      0      5     10   6250   1695      6      1 \n"
    )
    (row,) = samples(text)
    assert (row["mem_used"], row["pcie_rx"], row["pcie_tx"], row["mem_clock"], row["sm_clock"]) == (239, 5, 10, 6250, 1695)
    assert (row["util_gpu"], row["util_mem"]) == (6, 1)


def test_header_inside_a_round_does_not_start_one() -> None:
    rows = [ROW.format(gpu=g, pwr=100 + g, sm=10) for g in (0, 1, 2)]
    text = HEAD + "".join(rows) + "".join(rows[:2]) + HEAD + rows[2] + rows[0]
    assert [(r["gpu"], r["cycle"]) for r in samples(text)] == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 2)]


def test_a_restart_with_other_columns_rebinds() -> None:
    other = "# gpu   mclk   pclk \n# Idx    MHz    MHz \n    0   5001   1980 \n"
    rows = samples(HEAD + ROW.format(gpu=0, pwr=99, sm=7) + other)
    assert (rows[0]["util_gpu"], rows[0]["sm_clock"]) == (7, None)
    assert (rows[1]["util_gpu"], rows[1]["sm_clock"], rows[1]["mem_clock"]) == (None, 1980, 5001)


def test_time_alone_rises_past_midnight() -> None:
    text = (
        "#Time         gpu     sm    mem \n"
        "#HH:MM:SS     Idx      %      % \n"
        " 23:59:59       0      1      2 \n"
        " 23:59:59       1      1      2 \n"
        " 00:00:00       0      3      4 \n"
    )
    assert [r["time"] for r in samples(text)] == [86399.0, 86399.0, 86400.0]
    assert clock(text)["kind"] == "local-no-zone" and clock(text)["interval_s"] == 1.0
    assert kinds(text) == {"date-unknown": 1}


def test_a_small_step_back_is_not_a_day() -> None:
    text = "#Time gpu sm mem\n#HH:MM:SS Idx % %\n 10:00:05 0 1 2\n 10:00:04 0 1 2\n"
    assert [r["time"] for r in samples(text)] == [36005.0, 36004.0]
    assert kinds(text)["clock-fell-back"] == 1


def test_date_alone_gives_no_time() -> None:
    text = "#Date       gpu     sm    mem \n#YYYYMMDD   Idx      %      % \n 20260102     0      1      2 \n"
    assert samples(text)[0]["time"] is None and samples(text)[0]["util_gpu"] == 1
    assert clock(text)["kind"] == "none" and kinds(text) == {"time-of-day-unknown": 1}


def test_impossible_times_are_null() -> None:
    text = (
        "#Date Time gpu sm mem\n#YYYYMMDD HH:MM:SS Idx % %\n 20261302 10:00:00 0 1 2\n 20261202 25:00:00 0 1 2\n 20261202 10:00:00 0 1 2\n"
    )
    assert [r["time"] for r in samples(text)] == [None, None, 1796205600.0]


def test_prefixes_quotes_and_hashes() -> None:
    plain = [(r["gpu"], r["util_gpu"], r["power_w"]) for r in samples(HEAD + ROW.format(gpu=3, pwr=99, sm=7))]
    quoted = "".join("> " + line.replace("#", "\\#") + "\n" for line in HEAD.splitlines())
    for text in (
        quoted + "> " + ROW.format(gpu=3, pwr=99, sm=7),
        HEAD + "#   3    99     50      -     7     40     12     34\n",
        HEAD[2:] + ROW.format(gpu=3, pwr=99, sm=7),
        "```\n" + HEAD + "\n" + ROW.format(gpu=3, pwr=99, sm=7) + "```\n",
        (HEAD + ROW.format(gpu=3, pwr=99, sm=7)).replace("\n", "\r\n"),
        "\x1b[1m" + HEAD + ROW.format(gpu=3, pwr=99, sm=7),
    ):
        assert [(r["gpu"], r["util_gpu"], r["power_w"]) for r in samples(text)] == plain == [(3, 7.0, 99.0)], text
        assert isinstance(claim(text), Claim)


def test_interrupted_rows() -> None:
    row = ROW.format(gpu=0, pwr=99, sm=7).rstrip("\n")
    assert samples(HEAD + row.replace("12 ", "12 ^C") + "\n")[0]["pcie_tx"] == 34
    assert samples(HEAD + row + "^Cuser@host:~$ \n")[0]["pcie_tx"] == 34
    glued = HEAD + row.rstrip() + "^Cuser@host:~$ \n"
    assert samples(glued)[0]["pcie_tx"] is None and samples(glued)[0]["pcie_rx"] == 12
    assert samples(HEAD + row + "^Cuser@host:~$\n" + row + "\n")[1]["cycle"] == 1
    rows, counts = rows_of(PARSER, HEAD + "    0    99     50 ^C\n")
    assert "gpu_samples" not in rows and counts.near_miss == 1 and counts.rejects[0][0] == 3


def test_unfinished_last_line() -> None:
    row = ROW.format(gpu=0, pwr=99, sm=7)
    assert samples(HEAD + row.rstrip())[0]["pcie_tx"] is None
    assert samples(HEAD + row.rstrip("\n"))[0]["pcie_tx"] == 34  # the blank behind it proves that it is whole
    assert samples(HEAD + row.rstrip()[:-10]) == []


def test_narrow_terminal() -> None:
    row = "".join(f"{v:>7}" for v in (99, 50, "-", 7, 40, 123, 34))
    text = HEAD + "    0" + row + " \n"
    cut = "".join(line[:45] + "\n" for line in text.splitlines())
    (row,) = samples(cut)
    assert row["util_mem"] == 40 and row["util_gpu"] == 7 and row.get("pcie_tx") is None and row.get("pcie_rx") is None


def test_values_nobody_can_have() -> None:
    text = HEAD + "    0     99     50      -    250     40 209714     34 \n    0     9x     50      -     25     40      1     34 \n"
    a, b = samples(text)
    assert a["util_gpu"] is None and a["pcie_rx"] is None and a["pcie_tx"] == 34 and b["power_w"] is None and b["util_gpu"] == 25
    assert kinds(text) == {"pcie-glitch": 1, "out-of-range": 1, "garbled-cell": 1}


def test_unknown_unit_is_not_read() -> None:
    text = HEAD.replace("MB/s   MB/s", "pkts   MB/s") + ROW.format(gpu=0, pwr=99, sm=7)
    assert samples(text)[0].get("pcie_rx") is None and samples(text)[0]["pcie_tx"] == 34
    assert kinds(text)["unknown-unit"] == 1


@pytest.mark.parametrize("sep", [",", ", "])
@pytest.mark.parametrize("mark", ["# ", "#", ""])
@pytest.mark.parametrize("units", [True, False])
def test_csv(sep: str, mark: str, units: bool) -> None:
    lines = [mark + sep.join(("gpu", "pwr", "gtemp", "mtemp", "sm", "mem")), mark + sep.join(("Idx", "W", "C", "C", "%", "%"))]
    lines = [*lines[: 1 + units], sep.join(("0", "305", "57", "-", "99", "")), sep.join(("1", "30", "40", "", "0", "0"))]
    rows = samples("\n".join(lines) + "\n")
    assert [(r["gpu"], r["power_w"], r["mem_temp"], r["util_gpu"], r["util_mem"]) for r in rows] == [
        (0, 305, None, 99, None),
        (1, 30, None, 0, 0),
    ]


def test_interval_from_the_command_line() -> None:
    assert clock("$ nvidia-smi dmon -s put -d 5\n" + HEAD + ROW.format(gpu=0, pwr=99, sm=7))["interval_s"] == 5.0


def test_gpm_probe_is_the_interval() -> None:
    text = (
        "#Time gpu pwr gtemp mtemp pcitx pcirx\n#HH:MM:SS Idx W C C GPM:MiB/s GPM:MiB/s\n 10:00:00 0 1 2 3 100 0\n 10:00:02 0 1 2 3 100 0\n"
    )
    assert [(round(r["pcie_tx"], 4), r["pcie_probe_s"]) for r in samples(text)] == [(104.8576, 2.0)] * 2


def test_foreign_text_shares_the_source() -> None:
    text = "Starting benchmark with 4 streams\n" + HEAD + ROW.format(gpu=0, pwr=99, sm=7) + "Throughput: 12.3 tok/s\n"
    got = claim(text)
    assert isinstance(got, Claim) and got.shares
    assert rows_of(PARSER, text)[1] == Counts(matched=1, noise=2, other=2)
    plain = claim(HEAD + ROW.format(gpu=0, pwr=99, sm=7))
    assert isinstance(plain, Claim) and not plain.shares


def test_refusals() -> None:
    assert isinstance(claim("Not supported on the device(s)\nFailed to process command line.\n"), Refusal)
    headerless = "    0    630     53     41    100      8 \n    0    628     53     42    100      8 \n"
    got = claim(headerless)
    assert isinstance(got, Refusal) and "-s" in got.missing
    assert samples(headerless) == []


@pytest.mark.parametrize(
    "text",
    [
        "# gpu         pid   type     sm    mem    enc    dec    command \n"
        "# Idx           #    C/G      %      %      %      %    name \n"
        "    0      10291     C     99      7      -      -    python \n",
        "#Entity   GRACT        SMACT        DRAMA        \n"
        "ID                                               \n"
        "GPU 0     0.000        0.000        0.000        \n",
        "timestamp, index, utilization.gpu [%]\n2026/01/01 10:00:00.000, 0, 5 %\n",
        "GPU  Temp   AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n"
        "0    47.0c  91.0W   800Mhz  1600Mhz  0%   auto  560.0W    0%   0%\n",
        "the gpu memory is full\n1 2 3 4\n",
        "",
    ],
)
def test_not_dmon(text: str) -> None:
    assert not isinstance(claim(text), Claim)
    assert samples(text) == []


def test_pmon_rows_are_not_read_with_dmon_columns() -> None:
    pmon = "# gpu         pid   type     sm    mem    enc    dec    command \n    0      10291     1     99      7      1      2    3 \n"
    assert len(samples(HEAD + ROW.format(gpu=0, pwr=99, sm=7) + pmon)) == 1


collect = partial(samples_in, PARSER, columns=("line", "gpu", "cycle", "time", "power_w", "util_gpu", "pcie_tx"))


DT = "#Date Time gpu pwr sm txpci\n#YYYYMMDD HH:MM:SS Idx W % MB/s\n"
LOG = DT + "".join(f" 20260105 10:0{i // 6}:{i % 6}0 {g} {100 + i} {i} {7 * i}\n" for i in range(12) for g in range(3) if (i, g) != (4, 1))


@given(lines=st.integers(1, 12))
@settings(max_examples=12, deadline=None)
def test_any_block_size_gives_the_same(lines: int) -> None:
    text = LOG + HEAD + ROW.format(gpu=0, pwr=99, sm=7) + LOG
    assert collect(Blocks.of(text, lines)) == collect(Blocks.of(text, 10_000))


@given(cut=st.integers(0, len(LOG)))
@settings(max_examples=10, deadline=None)
def test_any_cut_invents_nothing(cut: int) -> None:
    whole = {r[0]: r for r in collect(Source.from_text(LOG))[0]}
    rows, counts = collect(Source.from_text(LOG[:cut]))
    assert counts.lines == len(LOG[:cut].splitlines())
    for row in rows:
        assert all(a is None or a == b for a, b in zip(row, whole[row[0]]))


@given(at=st.integers(0, len(LOG) - 1), junk=st.sampled_from(["\x00", "x", "\ufffd", "^C", "\n", "§", "\x1b[0m", ","]))
@settings(max_examples=12, deadline=None)
def test_any_garbled_byte_costs_only_its_rows(at: int, junk: str) -> None:
    text = LOG[:at] + junk + LOG[at + 1 :]
    rows, counts = collect(Source.from_text(text))
    assert counts.lines == text.count("\n") + (not text.endswith("\n"))
    values = {(r[4], r[5], r[6]) for r in collect(Source.from_text(LOG))[0]}
    odd = [r for r in rows if (r[4], r[5], r[6]) not in values]
    assert len(odd) <= (35 if at < len(DT) else 1)


@given(text=st.text(alphabet="# gpuIdx%WC-0123456789 ,\n\r^:smpwrcMB/", max_size=300))
@settings(max_examples=12, deadline=None)
def test_noise_never_raises(text: str) -> None:
    for body in (text, HEAD + text):
        rows, counts = rows_of(PARSER, body)
        assert counts.matched == len(rows.get("gpu_samples", []))
        claim(body)


def test_csv_with_units_in_the_header_or_behind_values() -> None:
    head = "#Date, Time, gpu [Idx], pwr [W], sm [%], rxpci [KB/s], fb [MB]\n"
    (row,) = samples(head + "20260102, 10:00:00, 0, 300, 99, 12000, 100\n")
    assert (row["gpu"], row["power_w"], row["util_gpu"], row["pcie_rx"], row["mem_used"]) == (0, 300, 99, 12, 100)
    assert row["time"] == 1767348000
    (row,) = samples("# gpu, pwr, sm, fb\n0, 300 W, 99 %, 100 MB\n")
    assert (row["power_w"], row["util_gpu"], row["mem_used"]) == (300, 99, 100)


def test_csv_without_header_is_refused_with_a_reason() -> None:
    row = "{}, 300, 57, -, 99, 72, 0, 0, 0, 0, 10501, 2610, 0, 0, 100, 2, 0, -, -, 0, 5, 6\n"
    refusal = PARSER.claims(Source.from_text(row.format(0) + row.format(1)).head())
    assert isinstance(refusal, Refusal) and "header" in refusal.missing
    assert PARSER.claims(Source.from_text("1,2,3,4,5,6,7,8,9\n" * 3).head()) is None
