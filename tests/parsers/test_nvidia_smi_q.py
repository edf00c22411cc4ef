"""nvidia-smi -q: paths, renames, loops, cuts."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Counts, Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import Rows, check_counts, check_samples, rows_of, same_rows, values
from gpuverdict.parsers.nvidia_smi_q import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st


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

WHOLE = [sample.text for sample in PARSER.samples]
DERIVED = ("cycle", "gpu", "line")  # numbers of rounds and cards, which may differ when lines are missing


def blocked(text: str, lines: int) -> tuple[Rows, Counts]:
    """Rows and counts of a source that hands out small blocks of whole lines."""
    source = Source.from_text(text)
    parts = text.splitlines(keepends=True)

    class Blocks:
        name, size, mtime, mtime_kind, mtime_resolution_s = "x", None, None, "filesystem", None
        head, open = source.head, source.open

        def blocks(self, size: int = 0) -> Any:
            for k in range(0, len(parts), lines):
                yield k + 1, "".join(parts[k : k + lines])

    out: Rows = {}
    counts = PARSER.parse(Blocks(), lambda table, frame: out.setdefault(table, []).extend(frame.to_dicts()))  # type: ignore[arg-type]
    return out, counts


def plain(found: Rows) -> Rows:
    return {t: sorted(({k: v for k, v in r.items() if v is not None} for r in rs), key=str) for t, rs in found.items() if t != "quality"}


@pytest.mark.parametrize("lines", [1, 2, 3, 7])
def test_any_block_size_gives_the_same(lines: int) -> None:
    for text in WHOLE:
        text = text + text
        found, counts = blocked(text, lines)
        whole, all_counts = blocked(text, 100_000)
        assert same_rows(plain(whole), plain(found)) is None, same_rows(plain(whole), plain(found))
        assert (counts.matched, counts.noise, counts.near_miss, counts.other) == (
            all_counts.matched,
            all_counts.noise,
            all_counts.near_miss,
            all_counts.other,
        )


@given(which=st.integers(0, len(WHOLE) - 1), share=st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_any_cut_invents_nothing(which: int, share: float) -> None:
    text = WHOLE[which]
    cut = text[: int(share * len(text))]
    found, counts = rows_of(PARSER, cut)
    check_counts(counts, cut, "cut")
    invented = {v for v in values(found) - values(rows_of(PARSER, text)[0]) if v[1] not in DERIVED}
    assert not invented, invented


@given(
    which=st.integers(0, len(WHOLE) - 1),
    share=st.floats(0, 1),
    junk=st.sampled_from(["\x00", "x", "\ufffd", "^C", "\n", "|", "\x1b[0m", ",", '"']),
)
@settings(max_examples=60, deadline=None)
def test_any_garbled_character_raises_nothing(which: int, share: float, junk: str) -> None:
    text = WHOLE[which]
    at = int(share * (len(text) - 1))
    text = text[:at] + junk + text[at + 1 :]
    _, counts = rows_of(PARSER, text)
    check_counts(counts, text.replace("\x00", ""), "garbled")
    claim(text)


@given(text=st.text(alphabet="GPU :0123456789%WMiB.\n =NVSMI LOG", max_size=300), which=st.integers(0, len(WHOLE) - 1))
@settings(max_examples=40, deadline=None)
def test_noise_never_raises(text: str, which: int) -> None:
    for body in (text, WHOLE[which] + text):
        _, counts = rows_of(PARSER, body)
        check_counts(counts, body.replace("\r", ""), "noise")
        claim(body)
