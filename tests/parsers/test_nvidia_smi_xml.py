"""nvidia-smi -q -x: paths, documents, damage."""

from __future__ import annotations

from typing import Any

from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.nvidia_smi_xml import PARSER
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


def document(gpus: str, second: int = 10, attached: int = 1) -> str:
    return (
        f'<?xml version="1.0" ?>\n<nvidia_smi_log>\n<timestamp>Thu Jan 15 08:00:{second:02} 2026</timestamp>\n'
        f"<attached_gpus>{attached}</attached_gpus>\n{gpus}</nvidia_smi_log>\n"
    )


def gpu(bus: str, util: int = 5, more: str = "") -> str:
    return f'<gpu id="00000000:{bus}:00.0">\n<utilization>\n<gpu_util>{util} %</gpu_util>\n</utilization>\n{more}</gpu>\n'


def test_documents_are_rounds() -> None:
    got = rows(document(gpu("41", 1) + gpu("61", 2), 10, 2) + document(gpu("41", 3) + gpu("61", 4), 15, 2))
    assert [(r["gpu"], r["cycle"], r["util_gpu"], r["time"]) for r in got] == [
        (0, 0, 1, 1768464010.0),
        (1, 0, 2, 1768464010.0),
        (0, 1, 3, 1768464015.0),
        (1, 1, 4, 1768464015.0),
    ]


def test_on_one_line_and_escaped() -> None:
    text = document(gpu("41", 7))
    assert [r["util_gpu"] for r in rows(text.replace("\n", ""))] == [7]
    escaped = text.replace("<", "&lt;").replace(">", "&gt;")
    assert isinstance(claim(escaped), Claim) and [r["util_gpu"] for r in rows(escaped)] == [7]


def test_same_tags_elsewhere_are_not_read() -> None:
    other = (
        "<mig_devices><mig_device><fb_memory_usage><used>12 MiB</used></fb_memory_usage></mig_device></mig_devices>\n"
        "<bar1_memory_usage><used>13 MiB</used></bar1_memory_usage>\n<max_clocks><sm_clock>3000 MHz</sm_clock></max_clocks>\n"
        "<module_power_readings><power_draw>99.00 W</power_draw></module_power_readings>\n"
    )
    (row,) = rows(document(gpu("41", 7, other)))
    assert (row["mem_used"], row["sm_clock"], row["power_w"]) == (None, None, None)


def test_damage_costs_one_card() -> None:
    text = document(gpu("41", 1, "<temperature>\n<gpu_temp>40 C</gpu_temp>\n</temperature>\n") + gpu("61", 2), attached=2)
    got = rows(text.replace("</utilization>", "", 1))
    assert [(r["gpu"], r["util_gpu"], r["temp"]) for r in got] == [(0, 1, None), (1, 2, None)]


def test_entities_are_text() -> None:
    bomb = '<!DOCTYPE nvidia_smi_log [<!ENTITY a "98 %"><!ENTITY b SYSTEM "file:///etc/passwd">]>\n'
    text = bomb + document(gpu("41")).replace("5 %", "&a;")
    assert rows(text) == [] and "passwd" not in str(rows_of(PARSER, text)[0])


def test_a_mask_needs_a_closed_section() -> None:
    reasons = (
        "<clocks_event_reasons>\n<clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>\n"
        "<clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>\n</clocks_event_reasons>\n"
    )
    text = document(gpu("41", 5, reasons))
    assert rows(text)[0]["event_reasons"] == 4
    assert rows(text[: text.index("</clocks_event_reasons>")])[0]["event_reasons"] is None
    assert rows(text.replace("event_reason", "throttle_reason"))[0]["event_reasons"] == 4


def test_cut_document() -> None:
    text = document(gpu("41", 5))
    assert kinds(text[: text.index("</gpu>")])["cut-document"] == 1
    assert kinds(document(gpu("41"), attached=4)) == {"gpu-by-position": 1}


def test_not_this_xml() -> None:
    assert claim("<?xml version='1.0'?>\n<gpu id='1'>\n</gpu>\n") is None
    assert isinstance(claim("<nvidia_smi_log>\n<timestamp>x</timestamp>\n"), Refusal)
    shared = claim("log line\n" + document(gpu("41")))
    assert isinstance(shared, Claim) and shared.shares


# ---------------------------------------------------------------- open-ended input

(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet='<>/gpu_til 0123456789%W?xmlnvidia_smi_log\n"')
