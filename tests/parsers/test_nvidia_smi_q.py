"""nvidia-smi -q: paths, renames, loops, cuts."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.nvidia_smi_q import PARSER
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


def log(body: str, second: int = 10, attached: int = 1) -> str:
    stamp = f"Timestamp                                 : Thu Jan 15 08:00:{second:02} 2026\n"
    return f"\n==============NVSMI LOG==============\n\n{stamp}Attached GPUs                             : {attached}\n" + body


def card(bus: str, *lines: str) -> str:
    return f"GPU 00000000:{bus}:00.0\n" + "".join("    " + x + "\n" for x in lines)


UTIL = ("Utilization", "    Gpu                        : {} %", "    Memory                     : 3 %")


def test_cards_are_numbered_in_order_and_printouts_are_rounds() -> None:
    def both(second: int) -> str:
        return log(card("41", *(x.format(1) for x in UTIL)) + card("61", *(x.format(2) for x in UTIL)), second, 2)

    got = rows(both(10) + both(12))
    assert [(r["gpu"], r["cycle"], r["util_gpu"], r["time"]) for r in got] == [
        (0, 0, 1, 1768464010.0),
        (1, 0, 2, 1768464010.0),
        (0, 1, 1, 1768464012.0),
        (1, 1, 2, 1768464012.0),
    ]
    assert rows(both(10) + both(12), "clocks")[0]["interval_s"] == 2.0
    assert kinds(both(10)) == {}
    assert kinds(log(card("41", *UTIL), attached=4)) == {"gpu-by-position": 1}


@pytest.mark.parametrize("prefix", ["", "> ", "        ", "\t"])
def test_common_indent(prefix: str) -> None:
    text = "".join(prefix + x + "\n" for x in log(card("41", *(x.format(7) for x in UTIL))).splitlines())
    assert [r["util_gpu"] for r in rows(text)] == [7] and isinstance(claim(text), Claim)


def test_sections_of_the_same_keys_are_told_apart() -> None:
    text = log(
        card(
            "41",
            "MIG Device",
            "    FB Memory Usage",
            "        Total              : 111 MiB",
            "        Used               : 11 MiB",
            "Module Power Readings",
            "    Power Draw             : 999.00 W",
            "GPU Memory Power Readings ",
            "    Average Power Draw     : 99.00 W",
            "Max Clocks",
            "    SM                     : 3000 MHz",
            "BAR1 Memory Usage",
            "    Used                   : 5 MiB",
            "Fan Speed                  : 30 %",
        )
    )
    assert rows(text) == []


def test_the_limit_in_force() -> None:
    text = log(card("41", "Power Readings", "    Power Limit    : 250.00 W", "    Enforced Power Limit  : 200.00 W"))
    assert rows(text)[0]["power_limit_w"] == 200
    text = log(card("41", "GPU Power Readings", "    Requested Power Limit    : 250.00 W", "    Current Power Limit  : 220.00 W"))
    assert rows(text)[0]["power_limit_w"] == 220


def test_a_mask_needs_the_whole_section() -> None:
    reasons = ("Clocks Event Reasons", "    Idle       : Active", "    SW Power Cap     : Not Active", "    SW Thermal Slowdown : Active")
    assert rows(log(card("41", *reasons, "Fan Speed     : 30 %")))[0]["event_reasons"] == 0x21
    assert rows(log(card("41", *reasons))) == []  # nothing behind it: more reasons may have been cut off
    garbled = [x.replace("Not Active", "Not Act|ve") for x in reasons]
    assert rows(log(card("41", *garbled, "Fan Speed     : 30 %"))) == []


def test_a_lost_section_line_gives_nothing_wrong() -> None:
    text = log(card("41", "Temperature", "    GPU Current Temp : 50 C", "    Current Power Limit : 300.00 W", "    Total : 12 MiB"))
    (row,) = rows(text)
    assert (row["temp"], row["power_limit_w"], row["mem_total"]) == (50, None, None)


def test_out_of_range() -> None:
    assert rows(log(card("41", *(x.format(177) for x in UTIL))))[0]["util_gpu"] is None


def test_refusals() -> None:
    flat = "\n".join(x.strip() for x in log(card("41", *UTIL)).splitlines()) + "\n"
    got = claim(flat)
    assert isinstance(got, Refusal) and "indent" in got.missing
    assert isinstance(claim(log("")), Refusal)
    assert claim("Utilization\n    GPU : 5 %\n") is None
    shared = claim("some log line\n" + log(card("41", *UTIL)))
    assert isinstance(shared, Claim) and shared.shares


# ---------------------------------------------------------------- open-ended input

(
    test_any_block_size_gives_the_same,
    test_any_cut_invents_nothing,
    test_any_garbled_character_raises_nothing,
    test_noise_never_raises,
) = line_tests(PARSER, alphabet="GPU :0123456789%WMiB.\n =NVSMI LOG")
