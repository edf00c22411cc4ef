"""`ollama ps`: shares of memory, sizes, versions, what stands around the rows."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.testing import check_conformance, rows_of
from gpuverdict.parsers.ollama_ps import PARSER

ID = "0123456789ab"


def row(processor: str, size: str = "42 GB", context: str = "", until: str = "4 minutes from now") -> str:
    return f"llama3:70b    {ID}    {size}    {processor}    {context + '    ' if context else ''}{until}    \n"


def config(text: str) -> dict[str, Any]:
    return {r["key"]: (r["num"], r.get("num_hi")) for r in rows_of(PARSER, text)[0].get("server_config", [])}


def test_conformance() -> None:
    check_conformance(PARSER)


@pytest.mark.parametrize(
    ("processor", "share"),
    [
        ("100% GPU", (0.0, None)),
        ("100% CPU", (1.0, None)),
        ("48%/52% CPU/GPU", (0.475, 0.485)),
        ("5%/95% CPU/GPU", (0.045, 0.055)),
        ("0%/100% CPU/GPU", (0.0, 0.005)),
        ("48%/53% CPU/GPU", None),
        ("Unknown", None),
        ("64% GPU", None),
    ],
)
@pytest.mark.parametrize("context", ["", "8192"])
def test_shares(processor: str, share: tuple[float, float | None] | None, context: str) -> None:
    assert config(row(processor, context=context)).get("memory_on_cpu_share") == (pytest.approx(share) if share else None)


@pytest.mark.parametrize(
    "until",
    [
        "4 minutes from now",
        "About a minute from now",
        "Less than a second from now",
        "About an hour from now",
        "Forever",
        "Never",
        "Stopping...",
    ],
)
def test_context_is_no_part_of_the_time(until: str) -> None:
    assert "context_length" not in config(row("100% GPU", until=until))
    assert config(row("100% GPU", context="32768", until=until))["context_length"] == (32768.0, None)


@pytest.mark.parametrize(
    ("size", "mib"), [("5.1 GB", (5.05e9, 5.15e9)), ("42 GB", (42e9, 43e9)), ("849 MB", (849e6, 850e6)), ("7 GB", (7e9, None))]
)
def test_sizes_are_intervals_of_thousands(size: str, mib: tuple[float, float | None]) -> None:
    lo, hi = config(row("100% GPU", size))["model_memory_mib"]
    assert lo == pytest.approx(mib[0] / 2**20) and (hi == pytest.approx(mib[1] / 2**20) if mib[1] else hi is None)


def test_the_neighbours_of_a_pasted_row() -> None:
    text = f"user@box:~$ ollama ps\nNAME    ID    SIZE    PROCESSOR    CONTEXT    UNTIL\n> {row('48%/52% CPU/GPU')}user@box:~$ nvidia-smi\n"
    rows, counts = rows_of(PARSER, text)
    assert {r["line"] for r in rows["server_config"]} == {3} and counts.matched == 1


def test_a_row_inside_a_sentence_or_cut_is_none() -> None:
    assert config("he pasted " + row("48%/52% CPU/GPU")) == {}
    assert config(row("48%/52% CPU/GPU").rstrip()[:-14]) == {}


def test_names_stay_out() -> None:
    assert "llama3" not in repr(rows_of(PARSER, row("100% GPU"))) and ID not in repr(rows_of(PARSER, row("100% GPU")))
