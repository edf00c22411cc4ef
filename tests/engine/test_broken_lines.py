"""Records that a terminal broke at its last column are put together again; what only looks alike is left as it is."""

from __future__ import annotations

import pytest
from gpuverdict.engine.exports import layout_of
from gpuverdict.engine.testing import rows_of
from gpuverdict.parsers import llama_server, vllm_server

VLLM = "".join(
    f"(APIServer pid=101) INFO 03-05 10:00:{10 * n:02d} [loggers.py:127] Engine 000: Avg prompt throughput: {100.5 + n} tokens/s, Avg generation "
    f"throughput: {200.5 + n} tokens/s, Running: 8 reqs, Waiting: {n} reqs, GPU KV cache usage: {12.5 + n}%, Prefix cache hit rate: 0.0%\n"
    '(APIServer pid=101) INFO:     127.0.0.1:44444 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    for n in range(5)
)
LLAMA = "".join(
    f"slot launch_slot_: id  1 | task {n} | processing task\nslot print_timing: id  1 | task {n} | \n"
    "prompt eval time =     130.00 ms /   260 tokens (    0.50 ms per token,  2000.00 tokens per second)\n"
    f"       eval time =     40{n}.00 ms /    20 tokens (   20.00 ms per token,    50.00 tokens per second)\n"
    "      total time =     530.00 ms /   280 tokens\n"
    f"slot      release: id  1 | task {n} | stop processing: n_tokens = 279, truncated = 0\n"
    for n in range(3)
)


def broken(text: str, width: int, blanks: bool = False) -> str:
    """The text as it is copied from a terminal: blanks at the end of a screen line are not, but by some."""
    return "".join(
        (line[i : i + width] if blanks else line[i : i + width].rstrip()) + "\n"
        for line in text.splitlines()
        for i in range(0, max(1, len(line)), width)
    )


def told(text: str, form: object, table: str, columns: tuple[str, ...]) -> list[tuple[object, ...]]:
    return [tuple(row.get(c) for c in columns) for row in rows_of(form, text)[0].get(table, [])]  # type: ignore[arg-type]


SAMPLES = (vllm_server.PARSER, "server_samples", ("gen_tok_s", "prompt_tok_s", "running", "waiting", "kv_usage"))
REQUESTS = (llama_server.PARSER, "requests", ("output_tokens", "prompt_ms", "decode_ms"))


@pytest.mark.parametrize("width", [80, 81, 100, 120, 132, 160, 211])
def test_statistics_of_vllm_at_any_width(width: int) -> None:
    assert len(told(VLLM, *SAMPLES)) == 5
    assert told(broken(VLLM, width), *SAMPLES) == told(VLLM, *SAMPLES)
    assert told(broken(VLLM, width, blanks=True), *SAMPLES) == told(VLLM, *SAMPLES)


@pytest.mark.parametrize("width", [72, 80, 90])
def test_timings_of_llama_cpp(width: int) -> None:
    assert len(told(LLAMA, *REQUESTS)) == 3
    assert told(broken(LLAMA, width), *REQUESTS) == told(LLAMA, *REQUESTS)


def test_a_record_keeps_the_line_where_it_begins() -> None:
    lines = [row["line"] for row in rows_of(vllm_server.PARSER, broken(VLLM, 100))[0]["server_samples"]]
    assert lines == [1, 5, 9, 13, 17] or lines == [1 + 4 * n for n in range(5)]


TABLE = (
    "+"
    + "-" * 77
    + "+\n"
    + "".join(f"| {n}  Some card            On | 00000000:01:00.0 Off |  {n}0%      Default |".ljust(78) + "|\n" for n in range(6))
)


@pytest.mark.parametrize(
    "text",
    [
        VLLM,
        LLAMA,
        TABLE,
        "INFO 03-05 10:00:01 [a.py:1] " + "x" * 51 + "\n" + ("y" * 80 + "\n") * 9,  # a prompt in lines of one length below one record
        "INFO 03-05 10:00:01 [a.py:1] ".ljust(80, "=")
        + "\n"
        + "INFO 03-05 10:00:02 [a.py:1] ".ljust(80, "=")
        + "\n",  # whole records of one length
        ("z" * 80 + "\n") * 20,
    ],
    ids=["vllm", "llama", "table", "prompt", "records", "block"],
)
def test_what_was_not_broken_stays(text: str) -> None:
    assert layout_of(text, True).width == 0
