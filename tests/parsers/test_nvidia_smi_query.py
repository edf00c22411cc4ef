"""nvidia-smi --query-gpu: headers, inference, rounds, cuts."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Counts, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.nvidia_smi_query import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st
from open_ended import Blocks, samples_in

Rows = list[dict[str, Any]]


def samples(text: str | bytes) -> Rows:
    return rows_of(PARSER, text)[0].get("gpu_samples", [])


def cards(text: str) -> Rows:
    return rows_of(PARSER, text)[0].get("gpus", [])


def kinds(text: str) -> dict[str, int]:
    return {r["kind"]: r["n"] for r in rows_of(PARSER, text)[0].get("quality", [])}


def note(text: str, kind: str) -> str:
    return next(r["note"] for r in rows_of(PARSER, text)[0]["quality"] if r["kind"] == kind)


def clock(text: str) -> dict[str, Any]:
    (row,) = rows_of(PARSER, text)[0]["clocks"]
    return row


def claim(text: str | bytes) -> Claim | Refusal | None:
    return PARSER.claims(Source.from_text(text).head())


def stamp(ms: int) -> str:
    return f"2026/03/01 10:{ms // 60000:02}:{ms // 1000 % 60:02}.{ms % 1000:03}"


def column(rows: Rows, *names: str) -> list[Any]:
    return [r.get(names[0]) if len(names) == 1 else tuple(r.get(n) for n in names) for r in rows]


def test_samples() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(claim(sample.text), Claim)


def test_aliases_and_precedence() -> None:
    text = (
        "gpu_bus_id, gpu_name, clocks.sm [MHz], clocks.mem [MHz], power.draw.average [W], power.draw.instant [W], power.limit [W], "
        "enforced.power.limit [W], pcie.link.gen.gpucurrent, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max, "
        "temperature.memory, mig.mode.current, driver_version\n"
        "00000000:65:00.0, NVIDIA L4, 2040 MHz, 6251 MHz, 61.00 W, 70.11 W, 72.00 W, 60.00 W, 1, 4, 8, 16x, N/A, Disabled, 570.86.10\n"
    )
    (row,) = samples(text)
    assert column([row], "sm_clock", "mem_clock", "power_w", "power_limit_w") == [(2040, 6251, 61, 60)]
    assert column([row], "pcie_gen", "pcie_gen_max", "pcie_width", "pcie_width_max", "mem_temp") == [(1, 4, 8, 16, None)]
    (card,) = cards(text)
    assert column([card], "name", "bus_id", "driver", "mig", "power_limit_w") == [("NVIDIA L4", "00000000:65:00.0", "570.86.10", False, 60)]
    assert kinds(text)["gpu-by-appearance"] == 1


def test_draw_falls_back_where_it_has_no_value() -> None:
    text = "index, power.draw [W], power.draw.instant [W]\n0, [N/A], 55.50 W\n1, 12.00 W, 99.00 W\n"
    assert column(samples(text), "power_w") == [55.5, 12.0]


@pytest.mark.parametrize(
    "word",
    [
        "[N/A]",
        "N/A",
        "[Not Supported]",
        "Not Supported",
        "[Unknown Error]",
        "[GPU is lost]",
        "[Function Not Found]",
        "ERR!",
        "ERR",
        "-",
        "--",
        "Unknown",
        "Insufficient Permissions",
        "Function Not Found",
        "GPU requires reset",
        "None",
        "",
        "[New]",
    ],
)
def test_no_value_is_null(word: str) -> None:
    text = f"index, utilization.gpu [%], memory.used [MiB], temperature.gpu\n0, {word}, {word}, {word}\n0, 0 %, 0 MiB, 40\n"
    assert column(samples(text), "util_gpu", "mem_used", "temp") == [(None, None, None), (0, 0, 40)]
    assert kinds(text)["no-value"] == 1


def test_units() -> None:
    text = (
        "index, memory.used [MB], power.draw [W], clocks.sm [MHz]\n"
        "0, 512 MB, 61000 mW, 1.5 GHz\n"
        "0, 2 GiB, 61 W, 1500 MHz\n"
        "0, 3 XB, 61 W, 1500 MHz\n"
    )
    assert column(samples(text), "mem_used", "power_w", "sm_clock") == [(512, 61, 1500), (2048, 61, 1500), (None, 61, 1500)]
    odd = "index, memory.used [pages], utilization.gpu [%]\n0, 512, 5 %\n"
    assert column(samples(odd), "mem_used", "util_gpu") == [(None, 5)] and kinds(odd)["unknown-unit"] == 1


def test_event_reasons() -> None:
    text = (
        "index, clocks_throttle_reasons.active, utilization.gpu [%]\n"
        "0, 0x0000000000000044, 9 %\n"
        "1, [N/A], 9 %\n"
        "2, 0xFFFFFFFFFFFFFFFF, 9 %\n"
    )
    assert column(samples(text), "event_reasons") == [0x44, None, None]
    flags = (
        "index, clocks_event_reasons.hw_thermal_slowdown, clocks_event_reasons.gpu_idle, clocks_throttle_reasons.unknown\n"
        "0, Active, Not Active, Active\n1, [N/A], [N/A], Active\n2, [N/A], Active, Not Active\n"
    )
    assert column(samples(flags), "event_reasons") == [None, None, None]  # nothing was asked about power
    assert kinds(flags)["reasons-partial"] == 2
    flags = flags.replace("gpu_idle", "sw_power_cap")
    assert column(samples(flags), "event_reasons") == [0x40, None, None]
    assert column(samples(flags.replace("[N/A]", "Not Active")), "event_reasons") == [0x40, 0, 0x04]


@pytest.mark.parametrize(
    ("printed", "seconds", "kind", "resolution"),
    [
        ("2026/01/02 10:00:00.250", 1767348000.25, "local-no-zone", 0.001),
        ("2026-01-02 10:00:00", 1767348000.0, "local-no-zone", 1.0),
        ("2026-01-02T10:00:00.250Z", 1767348000.25, "utc", 0.001),
        ("2026-01-02T12:00:00+02:00", 1767348000.0, "utc", 1.0),
        ("2026-01-02 04:30:00-0530", 1767348000.0, "utc", 1.0),
        ("1767348000.250", 1767348000.25, "utc", 0.001),
        ("1767348000", 1767348000.0, "utc", 1.0),
        ("01/02/2026 10:00", None, "none", None),  # January or February?
        ("02.01.2026 10:00:00", None, "none", None),
    ],
)
def test_times_that_scripts_write(printed: str, seconds: float | None, kind: str, resolution: float | None) -> None:
    found = rows_of(PARSER, f"timestamp, index, utilization.gpu [%]\n{printed}, 0, 50 %\n")[0]
    assert column(found["gpu_samples"], "time") == [seconds]
    assert column(found["clocks"], "kind", "resolution_s") == [(kind, resolution)]


def test_a_row_that_another_log_quotes_is_no_row() -> None:
    text = "timestamp, index, utilization.gpu [%], power.draw [W]\n" + "".join(f"{stamp(1000 * k)}, 0, 5{k} %, 90.00 W\n" for k in range(3))
    quoted = text + f"INFO {stamp(1500)}, 0, 99 %, 1.00 W\nprompt: {stamp(1500)}, 0, 99 %, 1.00 W\n"
    assert samples(quoted) == samples(text)


def test_a_list_of_cards_without_a_reading() -> None:
    text = "index, name, pci.bus_id, driver_version\n0, NVIDIA L4, 00000000:41:00.0, 570.86.10\n"
    assert isinstance(claim(text), Claim) and samples(text) == []
    assert column(cards(text), "gpu", "name", "bus_id", "driver") == [(0, "NVIDIA L4", "00000000:41:00.0", "570.86.10")]
    assert claim("index, name\n0, anything\n") is None


def test_a_file_of_two_queries_is_shared() -> None:
    text = "index, memory.used [MiB]\n0, 100 MiB\npid, process_name, used_gpu_memory [MiB]\n123, python, 100 MiB\nindex, memory.used [MiB]\n0, 101 MiB\n"
    found = claim(text)
    assert isinstance(found, Claim) and found.shares
    assert column(samples(text), "mem_used") == [100, 101]


def test_times_of_two_kinds_are_not_mixed() -> None:
    text = "timestamp, index, utilization.gpu [%]\n2026-01-02T10:00:00Z, 0, 50 %\n2026/01/02 12:00:01.000, 0, 51 %\n"
    assert column(samples(text), "time") == [1767348000.0, None]
    assert kinds(text)["mixed-clocks"] == 1


def test_a_column_of_hosts_and_files_put_together() -> None:
    text = "hostname, timestamp, index, utilization.gpu [%], name\n" + "".join(
        f"box-{h}, {stamp(0)}, {g}, {h}{g} %, NVIDIA L4\n" for h in "ab" for g in range(2)
    ).replace("a0 %", "10 %").replace("a1 %", "11 %").replace("b0 %", "20 %").replace("b1 %", "21 %")
    assert column(samples(text), "host", "gpu", "util_gpu") == [("box-a", 0, 10), ("box-a", 1, 11), ("box-b", 0, 20), ("box-b", 1, 21)]
    assert column(cards(text), "host", "gpu") == [("box-a", 0), ("box-a", 1), ("box-b", 0), ("box-b", 1)]
    one = "index, uuid, utilization.gpu [%]\n0, GPU-12345678-1234-1234-1234-12345678900{}, 5 %\n"
    assert kinds(one.format(1) + one.format(2)).get("other-card") == 1
    assert "other-card" not in kinds(one.format(1) + one.format(1))


def test_rounds_by_index_and_header() -> None:
    head = "index, utilization.gpu [%]\n"
    text = head + "0, 1 %\n1, 2 %\n0, 3 %\n1, 4 %\n" + head + "2, 5 %\n"
    assert column(samples(text), "gpu", "cycle") == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 2)]


def by_position(cards: int, step: int, rounds: int, skip: tuple[int, int] | None = None) -> str:
    lines = ["timestamp, utilization.gpu [%], power.draw [W]"]
    for r in range(rounds):
        for g in range(cards):
            if (r, g) != skip:
                lines.append(f"{stamp(r * step + 4 * g)}, {g} %, {100 + r}.00 W")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("cards", "step"), [(1, 50), (1, 20), (1, 1000), (2, 100), (4, 1000), (8, 1000), (3, 50)])
def test_cards_by_position(cards: int, step: int) -> None:
    rows = samples(by_position(cards, step, 12))
    assert column(rows, "gpu", "cycle") == [(g, r) for r in range(12) for g in range(cards)]
    assert column(rows, "util_gpu") == column(rows, "gpu")
    assert kinds(by_position(cards, step, 12)) == {"gpu-by-position": 12 * cards}
    assert clock(by_position(cards, step, 12))["interval_s"] == step / 1000


def test_a_round_with_a_hole_has_no_cards() -> None:
    rows = samples(by_position(4, 1000, 12, skip=(5, 1)))
    assert [r["gpu"] for r in rows if r["cycle"] == 5] == [None] * 3
    assert all(r["gpu"] == r["util_gpu"] for r in rows if r["cycle"] != 5)
    assert kinds(by_position(4, 1000, 12, skip=(5, 1)))["gpu-unknown"] == 3


def test_nothing_tells_cards_apart() -> None:
    text = "utilization.gpu [%], power.draw [W]\n5 %, 60.00 W\n6 %, 61.00 W\n"
    assert column(samples(text), "gpu", "cycle", "time") == [(None, None, None)] * 2 and kinds(text)["gpu-unknown"] == 2
    counted = "count, utilization.gpu [%]\n2, 5 %\n2, 6 %\n2, 7 %\n"
    assert column(samples(counted), "gpu", "cycle") == [(0, 0), (1, 0), (0, 1)]
    shot = "utilization.gpu [%], temperature.gpu\n5 %, 40\n6 %, 41\n"
    assert column(samples(shot * 3), "gpu", "cycle") == [(g, c) for c in range(3) for g in (0, 1)]


def test_lost_cards_and_messages() -> None:
    text = (
        "index, utilization.gpu [%]\n0, 5 %\n1, [GPU is lost]\n"
        "Unable to determine the device handle for GPU0000:07:00.0: Unknown Error\nNo devices were found\n"
    )
    rows, counts = rows_of(PARSER, text)
    assert counts == Counts(matched=4, noise=1)
    found = {r["kind"] for r in rows["quality"]}
    assert found == {"gpu-lost", "gpu-handle-lost", "no-devices", "no-value"}
    got = claim("Failed to initialize NVML: Driver/library version mismatch\n")
    assert isinstance(got, Refusal)


def test_restart_rebinds_even_when_glued_to_a_cut_row() -> None:
    text = (
        "timestamp, utilization.gpu [%], power.draw [W], index\n2026/03/01 10:00:00.000, 5 %, 60.00 W, 0\n2026/03/01 10:00:01.000, 6 %, 6"
        "timestamp, index, power.draw [W], utilization.gpu [%]\n2026/03/01 10:01:00.000, 0, 7.00 W, 8 %\n"
    )
    assert column(samples(text), "power_w", "util_gpu") == [(60, 5), (7, 8)]


@pytest.mark.parametrize(
    ("tail", "want"),
    [
        ("77 %, 1200 MiB", (77, 1200)),
        ("77 %, 1200 Mi", (77, None)),
        ("77 %, 120", (77, None)),
        ("77 %, [N/", (77, None)),
        ("77 %,", (77, None)),
    ],
)
def test_cut_end(tail: str, want: tuple[Any, ...]) -> None:
    text = (
        "timestamp, index, temperature.gpu, pstate, utilization.gpu [%], memory.used [MiB]\n"
        "2026/03/01 10:00:00.000, 0, 50, P0, 5 %, 900 MiB\n"
    )
    rows = samples(text + "2026/03/01 10:00:01.000, 0, 51, P0, " + tail)
    assert column(rows[1:], "util_gpu", "mem_used") == [want]
    assert len(samples(text + "2026/03/01 10:00:01.000, 0, 51, P0, 7")) == 1
    # a line end after the cut (a wrapper wrote it) does not make the number whole
    assert column(samples(text + "2026/03/01 10:00:01.000, 0, 51, P0, 77 %, 120\n")[1:], "mem_used") == [None]


def test_cut_bare_number_is_null() -> None:
    assert column(samples("utilization.gpu, index, temperature.gpu\n5, 0, 50\n5, 0, 5"), "temp") == [50, None]


def test_utf16_with_mark_and_crlf() -> None:
    text = "timestamp, index, memory.used [MiB], utilization.gpu [%]\r\n2026/03/01 10:00:00.250, 0, 900 MiB, 5 %\r\n"
    raw = b"\xff\xfe" + text.encode("utf-16-le")
    assert column(samples(raw), "mem_used", "util_gpu", "time") == [(900, 5, 1772359200.25)]
    assert isinstance(claim(raw), Claim)


def test_spreadsheets() -> None:
    text = "timestamp;index;utilization.gpu [%];power.draw [W]\n2026-03-01 10:00:00,250;0;5 %;33,09 W\n00:00,3;0;6 %;1,234 W\n"
    rows = samples(text)
    assert column(rows, "time", "util_gpu", "power_w") == [(1772359200.25, 5, 33.09), (None, 6, None)]
    assert kinds(text)["timestamp-unread"] == 1
    quoted = '"timestamp","index","utilization.gpu [%]","power.draw [W]"\n"2026/03/01 10:00:00.250","0","5 %","33,09 W"\n'
    assert column(samples(quoted), "gpu", "util_gpu", "power_w") == [(0, 5, 33.09)]
    pandas = ",timestamp,index,utilization.gpu [%]\n0,2026/03/01 10:00:00.250,3,5 %\n"
    assert column(samples(pandas), "gpu", "util_gpu") == [(3, 5)]


def test_markdown_and_shell() -> None:
    text = "```\n$ nvidia-smi --query-gpu=index,utilization.gpu --format=csv\n> index, utilization.gpu [%]\n> 0, 5 %\n^C\n```\n"
    assert column(samples(text), "gpu", "util_gpu") == [(0, 5)]


def test_command_line_names_the_columns() -> None:
    text = (
        "+ nvidia-smi --query-gpu=index,fan.speed,utilization.gpu,memory.free,memory.used --format=csv,noheader\n"
        "0, 45 %, 7 %, 100 MiB, 3 MiB\n"
        "hello, 5\n"
    )
    assert column(samples(text), "gpu", "util_gpu", "mem_used") == [(0, 7, 3)]
    got = claim(text)
    assert isinstance(got, Claim) and got.shares


# ---------------------------------------------------------------- without a header


def test_inferred_rows_in_a_bench_log() -> None:
    text = (
        "=== done ===\nmean= 65.8, std= 1.5\n\n0, 97 %, 20010 MiB, 24564 MiB, 301.44 W, 66\n1, 0 %, 3 MiB, 24564 MiB, 20.17 W, 35\nbye, 1\n"
    )
    rows = samples(text)
    assert column(rows, "gpu", "util_gpu", "mem_used", "mem_total", "power_w", "temp") == [
        (0, 97, 20010, 24564, 301.44, 66),
        (1, 0, 3, 24564, 20.17, 35),
    ]
    got = claim(text)
    assert isinstance(got, Claim) and got.shares
    assert rows_of(PARSER, text)[1] == Counts(matched=2, noise=1, other=3)
    assert "column 3 is memory in use" in note(text, "columns-inferred")


def test_inferred_idle_snapshot() -> None:
    text = "".join(f"{g}, 0 %, 8{g}.{g}5 W\n" for g in range(8))
    assert column(samples(text), "gpu", "util_gpu", "power_w") == [(g, 0, float(f"8{g}.{g}5")) for g in range(8)]


def test_inferred_loop_with_draw_limit_and_clocks() -> None:
    text = "".join(
        f"{stamp(1000 * i)}, {90 + i % 10} %, {50 + i % 9} %, {200 + i}.50 W, 450.00 W, {2500 + 15 * (i % 3) - 10} MHz, 10501 MHz\n"
        for i in range(20)
    )
    rows = samples(text)
    assert column(rows[:1], "util_gpu", "util_mem", "power_w", "power_limit_w", "sm_clock", "mem_clock") == [
        (90, 50, 200.5, 450, 2490, 10501)
    ]
    assert column(rows, "cycle") == list(range(20))


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("0, 45 %, 50.10 W\n", "util_gpu"),  # may be a fan
        ("".join(f"0, {40 + i // 4} %, 5{i % 9}.10 W\n" for i in range(20)), "util_gpu"),  # creeps: a fan
        ("0, 45 %, 20 %, 50.10 W\n", "util_gpu"),
        ("0, 98 %, 50 MiB, 24576 MiB, 50.10 W\n", "mem_used"),  # busy, yet nearly nothing: may be free
        ("0, 98 %, 12000 MiB, 12000 MiB, 24576 MiB\n", "mem_used"),
        ("0, 98 %, 12000 MiB, 50.10 W\n", "mem_used"),
        ("0, 98 %, 300.00 W\n", "power_w"),  # may be the limit
        ("0, 98 %, 45, 60\n", "temp"),
        ("0, 98 %, 4, 16\n", "temp"),
        ("0, 98 %, 1500 MHz, 1980 MHz\n", "sm_clock"),
    ],
)
def test_ambiguous_columns_stay_unread(text: str, absent: str) -> None:
    assert all(r.get(absent) is None for r in samples(text))


def test_bare_numbers_read_only_what_behaviour_proves() -> None:
    lines = [f"{stamp(2000 * i + g)}, {g}, 81559, {70000 + g}, {10900 - g}, {100 if (i + g) % 3 else 0}" for i in range(20) for g in (0, 1)]
    rows = samples("\n".join(lines) + "\n")
    assert column(rows[:2], "gpu", "mem_total", "util_gpu") == [(0, 81559, 0), (1, 81559, 100)]
    assert all(r.get("mem_used") is None for r in rows)
    assert isinstance(claim("\n".join(lines) + "\n"), Claim)


@pytest.mark.parametrize(
    "text", ["2004, 2004, 0, 44, [N/A], 0, 0\n2004, 2004, 0, 44, [N/A], 0, 0\n", "0, [N/A], P8, 12 %\n0, [N/A], P8, 13 %\n"]
)
def test_unproven_rows_are_refused_with_advice(text: str) -> None:
    got = claim(text)
    assert isinstance(got, Refusal) and "header" in got.missing
    assert samples(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "pid, process_name, gpu_uuid, used_gpu_memory [MiB]\n77, ./a, GPU-00000000-0000-0000-0000-000000000001, 100 MiB\n",
        "timestamp, gpu_name, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n2026/03/01 10:00:00.000, N, GPU-0000, 5, x, 3 MiB\n",
        "Type,Name,Request Count,Failure Count,Median Response Time\nPOST,/v1,10,0,120\n",
        "metric_name,timestamp,metric_value\nhttp_reqs,1700000000,1.0\n",
        "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n0.5,0.1,0,0,0.4,0,200,0.1\n",
        "name,index,timestamp,value\na,0,5,6\n",
        "concurrency,tok_s\n1, 50\n2, 98\n4, 120\n",
        "1, 2, 3\n4, 5, 6\n7, 8, 9\n",
        "0, 100\n1, 0\n2, 95\n",
        "# gpu    pwr\n# Idx      W\n    0     50\n",
        "GPU utilization was 98 %, memory 12 MiB\n",
        "",
    ],
)
def test_other_files_are_not_claimed(text: str) -> None:
    assert not isinstance(claim(text), Claim)
    assert samples(text) == []


# ---------------------------------------------------------------- properties


collect = partial(samples_in, PARSER, columns=("line", "gpu", "cycle", "time", "util_gpu", "mem_used", "power_w"))


def log(header: str, row: str, rounds: int, cards: int) -> str:
    body = "".join(
        row.format(t=stamp(1000 * i + 4 * g), g=g, u=10 * g + i, m=100 + i, p=60 + i) + "\n" for i in range(rounds) for g in range(cards)
    )
    return header + "\n" + body


INDEXED = log("timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]", "{t}, {g}, {u} %, {m} MiB, {p}.25 W", 10, 3)
PLACED = log("timestamp, utilization.gpu [%], memory.used [MiB], power.draw [W]", "{t}, {u} %, {m} MiB, {p}.25 W", 10, 3)
COUNTED = log("count, utilization.gpu, memory.used, power.draw", "3, {u}, {m}, {p}.25", 10, 3)


@pytest.mark.parametrize("text", [INDEXED, PLACED, COUNTED, PLACED + PLACED, INDEXED + PLACED])
@given(lines=st.integers(1, 20))
@settings(max_examples=8, deadline=None)
def test_any_block_size_gives_the_same(text: str, lines: int) -> None:
    assert collect(Blocks.of(text, lines)) == collect(Blocks.of(text, 10_000))


@pytest.mark.parametrize("text", [INDEXED, PLACED])
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_any_cut_invents_nothing(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    whole = {r[0]: r for r in collect(Source.from_text(text))[0]}
    rows, counts = collect(Source.from_text(text[:cut]))
    assert counts.lines == len(text[:cut].splitlines())
    # too few rows for a round to be seen may leave rows without a card or alone in their round
    for row in rows:
        same = (3, 4, 5, 6) if text is PLACED else range(7)
        assert all(row[k] is None or row[k] == whole[row[0]][k] for k in same)


@given(at=st.integers(0, len(INDEXED) - 1), junk=st.sampled_from(["\x00", "x", "\ufffd", "^C", "\n", "§", "\x1b[0m", ",", '"']))
@settings(max_examples=12, deadline=None)
def test_any_garbled_byte_costs_only_its_rows(at: int, junk: str) -> None:
    text = INDEXED[:at] + junk + INDEXED[at + 1 :]
    rows, counts = collect(Source.from_text(text))
    assert counts.lines == text.count("\n") + (not text.endswith("\n"))
    values = {(r[4], r[5], r[6]) for r in collect(Source.from_text(INDEXED))[0]}
    odd = [r for r in rows if (r[4], r[5], r[6]) not in values]
    assert len(odd) <= (30 if at < INDEXED.index("\n") else 1)


@given(text=st.text(alphabet='0123456789 ,;%MiBW\n\r[]N/A"^C:.Px', max_size=300))
@settings(max_examples=12, deadline=None)
def test_noise_never_raises(text: str) -> None:
    for body in (text, "index, utilization.gpu [%], power.draw [W]\n" + text):
        counts = rows_of(PARSER, body)[1]
        assert counts.lines == body.replace("\r\n", "\n").count("\n") + (not body.endswith("\n") and body != "") or "\r" in body
        claim(body)


@pytest.mark.parametrize("sign", ["# ", "#", "// "])
def test_pasted_into_a_comment(sign: str) -> None:
    text = f"{sign}utilization.gpu [%], memory.used [MiB]\n{sign}87 %, 5023 MiB\n{sign}88 %, 5024 MiB\n"
    assert isinstance(claim(text), Claim)
    assert [(r["util_gpu"], r["mem_used"]) for r in rows_of(PARSER, text)[0]["gpu_samples"]] == [(87, 5023), (88, 5024)]
    # a script may write its header as a comment and its rows plainly; a row in a comment below a plain header was taken out by somebody
    plain = text.replace(f"\n{sign}", "\n")
    assert [r["util_gpu"] for r in rows_of(PARSER, plain)[0]["gpu_samples"]] == [87, 88]
    assert [r["util_gpu"] for r in rows_of(PARSER, plain.removeprefix(sign) + f"{sign}99 %, 1 MiB\n")[0]["gpu_samples"]] == [87, 88]
