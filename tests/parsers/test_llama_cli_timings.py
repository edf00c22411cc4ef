"""Timing blocks of command line tools, early servers, KoboldCpp and `ollama run --verbose`."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.line_format import Sample
from gpuverdict.engine.recognise import recognise
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_conformance, check_cut, check_garbled, rows_of
from gpuverdict.parsers.llama_cli_timings import PARSER
from gpuverdict.parsers.response_files import PARSER as RESPONSES
from hypothesis import given, settings
from hypothesis import strategies as st

DERIVED = ("output_tokens", "slot", "queue_ms")  # need a second line
BY_VERSION = {s.versions: s.text for s in PARSER.samples}
TOOL = BY_VERSION["llama.cpp until 2024-09, llama-cpp-python"]
EARLY = BY_VERSION["llama.cpp's server b1413 to b2258"]
OLLAMA = BY_VERSION["ollama run --verbose, any"]


def _requests(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("requests", [])


def _early(ms: float) -> str:
    return (
        "print_timings: prompt eval time =     100.00 ms /    10 tokens (   10.00 ms per token,   100.00 tokens per second)\n"
        f"print_timings:        eval time = {ms:10.2f} ms /   100 runs   (   20.00 ms per token, {100000 / ms:8.2f} tokens per second)\n"
    )


def test_conformance() -> None:
    check_conformance(PARSER, DERIVED)


def test_blocks_behind_each_other_stay_apart() -> None:
    rows = _requests(TOOL + "an answer\n" + TOOL.replace("6300.00", "3150.00").replace("10.00 tokens", "20.00 tokens"))
    assert [r["decode_ms"] for r in rows] == [6300.0, 3150.0] and [r["output_tokens"] for r in rows] == [64.0, 64.0]


def test_a_block_without_its_head_is_read() -> None:
    (row,) = _requests("\n".join(TOOL.split("\n")[2:]))
    assert row["decode_steps"] == 63.0 and row["output_tokens"] is None


def test_a_block_that_contradicts_its_own_rate_is_refused() -> None:
    assert _requests(TOOL.replace("6300.00 ms", "3300.00 ms")) == []


def test_halves_of_two_blocks_are_not_joined() -> None:
    prompt, decode = TOOL.split("\n")[2], TOOL.split("\n")[3]
    assert _requests(prompt + "\n" + "filler\n" * 20 + decode + "\n") == []
    assert _requests(decode + "\n" + prompt + "\n") == []


def test_early_server_names_a_slot_only_where_one_block_ended() -> None:
    launches = "slot 0 is processing [task id: 3]\nslot 1 is processing [task id: 4]\n"
    released = "slot 0 released (110 tokens in cache)\nslot 1 released (110 tokens in cache)\n"
    rows = _requests(launches + _early(2000) + _early(2500) + released)
    assert [(r["slot"], r["decode_ms"]) for r in rows] == [(None, 2000.0), (None, 2500.0)]
    rows = _requests(launches + _early(2000) + released.split("\n")[0] + "\n" + _early(2500) + released.split("\n")[1] + "\n")
    assert [(r["slot"], r["request"]) for r in rows] == [(0, "0:3"), (1, "0:4")]


@pytest.mark.parametrize(("text", "seconds"), [("1m2.5s", 62.5), ("62.5s", 62.5), ("62500ms", 62.5), ("1h0m0s", 3600.0)])
def test_total_of_ollama(text: str, seconds: float) -> None:
    (row,) = _requests(OLLAMA.replace("1m2.5s", text))
    assert row["latency_s"] == seconds and row["queue_ms"] == pytest.approx((seconds - 62.1005) * 1000)


def test_a_total_that_is_too_short_gives_no_queue() -> None:
    assert _requests(OLLAMA.replace("1m2.5s", "61s"))[0]["queue_ms"] is None


@pytest.mark.parametrize(
    "head",
    [
        "main: n_parallel = 4, n_sequences = 64, cont_batching = 1, system tokens = 270\n",
        "main: n_kv_max = 4096, n_batch = 2048, n_ubatch = 512, flash_attn = 0, is_pp_shared = 0, n_gpu_layers = -1\n",
        "perplexity: calculating perplexity over 564 chunks, n_ctx=512, batch_size=2048, n_seq=4\n",
        "Total gen tokens:      6000, speed: 200.00 t/s\n",
    ],
)
def test_the_block_of_a_tool_that_decodes_many_sequences_is_no_request(head: str) -> None:
    assert _requests(head + "a line\n" + TOOL) == []
    assert [r["decode_ms"] for r in _requests(TOOL + head + TOOL + "an answer\n" + TOOL)] == [6300.0, 6300.0]


def test_a_block_that_decoded_nothing_is_no_request() -> None:
    none = "eval time =     0.00 ms /     1 runs   (    0.00 ms per token,      inf tokens per second)"
    lines = [f"llama_print_timings:        {none}" if " runs " in line and "eval time" in line else line for line in TOOL.splitlines()]
    assert _requests("\n".join(lines) + "\n") == []


def test_totals_of_parallel_need_their_head_and_count_once() -> None:
    text = BY_VERSION["llama-parallel, any"]
    totals = "".join(line + "\n" for line in text.splitlines() if line.startswith("Total"))
    assert "bench_steps" not in rows_of(PARSER, totals)[0]
    assert len(rows_of(PARSER, text + totals)[0]["bench_steps"]) == 1
    both = rows_of(PARSER, text + text.replace("n_parallel = 4", "n_parallel = 8"))[0]["bench_steps"]
    assert [(r["step"], r["concurrency"]) for r in both] == [(1, 4.0), (2, 8.0)]


def test_list_marks_and_garbage_between() -> None:
    (row,) = _requests("".join(f"- {line}\n" for line in OLLAMA.splitlines()))
    assert row["decode_ms"] == 60000.0
    assert _requests(OLLAMA.replace("eval rate:            10.00", "eval rate:            99.00")) == []
    assert _requests("eval count:           600 token(s)\neval duration:        1m0s\n") == []
    (row,) = _requests("eval count:           600 token(s)\neval duration:        1m0s\neval rate:            10.00 tokens/s\n")
    assert (row["decode_ms"], row["latency_s"], row["queue_ms"]) == (60000.0, None, None), "a block whose beginning was cut off"


def test_a_block_without_its_beginning_takes_nothing_from_the_next() -> None:
    rest = "".join(f"{line}\n" for line in OLLAMA.splitlines()[5:])
    first, second = _requests(rest + "\n" + OLLAMA)
    assert (first["latency_s"], second["latency_s"]) == (None, 62.5)
    assert len(_requests(OLLAMA + OLLAMA)) == 2


def test_a_saved_answer_is_read_once() -> None:
    body = (
        '{\n"model": "m",\n"created_at": "2026-09-10T00:00:04.25Z",\n"response": "x",\n"done": true,\n"total_duration": 5000000000,\n'
        + (
            '"load_duration": 500000000,\n"prompt_eval_count": 26,\n"prompt_eval_duration": 250000000,\n"eval_count": 80,\n"eval_duration": 3000000000\n}\n'
        )
    )
    found = recognise(Source.from_text(body, "answer.json"), [PARSER, RESPONSES])
    assert found.parsers == ["response-files"]


@pytest.mark.parametrize(
    "text",
    [
        "the total_duration: 5000000000\nthe eval_count: 80\nthe eval_duration: 4000000000\n",
        "total_duration: 3000000000\neval_count: 80\neval_duration: 4000000000\n",  # more than its total
        "total_duration: 500000\neval_count: 80\neval_duration: 400000\n",  # not nanoseconds
        "response_token/s: 40\ntotal_duration: 5000000000\neval_count: 80\neval_duration: 4000000000\n",  # another rate
    ],
)
def test_statistics_that_cannot_be(text: str) -> None:
    assert _requests(text) == []


def test_a_prompt_of_several_batches_gives_no_queue() -> None:
    (row,) = _requests(OLLAMA.replace("21 token(s)", "32768 token(s)"))
    assert (row["queue_ms"], row["prompt_tokens"], row["latency_s"]) == (None, 32768.0, 62.5)


def test_two_answers() -> None:
    assert len(_requests(OLLAMA + "more text\n\n" + OLLAMA)) == 2


@pytest.mark.parametrize("rate", ["33.33", "33.0"])
def test_kobold_counts_by_its_own_rate(rate: str) -> None:
    line = f"CtxLimit:231/4096, Amt:100/100, Init:0.00s, Process:0.52s (3.9ms/T = 256.10T/s), Generate:3.00s ({rate}T/s), Total:3.52s\n"
    assert _requests(line)[0]["decode_steps"] == (100.0 if rate == "33.33" else 99.0)
    assert _requests(line.replace("3.00s", "9.00s")) == []


def test_old_shape_of_kobold_without_amount() -> None:
    (row,) = _requests("CtxLimit: 1843/8192, Process:16.32s (11.0ms/T = 91.03T/s), Generate:80.01s (224.1ms/T = 4.46T/s), Total:96.33s\n")
    assert (row["prompt_ms"], row["decode_ms"], row["output_tokens"], row["decode_steps"]) == (16320.0, 80010.0, None, 357.0)
    (short,) = _requests("ContextLimit: 43/2048, Processing:0.02s (1.1ms/T), Generation:0.03s (2.1ms/T), Total:0.05s (9.00T/s)\n")
    assert short["decode_steps"] is None, "its rounding leaves more than 1 % open"


def test_nothing_of_llama_server_is_taken() -> None:
    text = "slot print_timing: id  0 | task 1 | \nprompt eval time =     130.00 ms /   260 tokens\n       eval time = 4.00 ms / 2 tokens\n"
    assert rows_of(PARSER, text)[1].matched == 0


@settings(max_examples=12, deadline=None)
@given(sample=st.sampled_from(PARSER.samples), share=st.floats(0, 1))
def test_any_cut(sample: Sample, share: float) -> None:
    check_cut(PARSER, sample.text, int(share * len(sample.text)), DERIVED)


@settings(max_examples=12, deadline=None)
@given(sample=st.sampled_from(PARSER.samples), at=st.integers(0, 2000), byte=st.integers(0, 255))
def test_any_garbled_byte(sample: Sample, at: int, byte: int) -> None:
    check_garbled(PARSER, sample.text, at, byte)


def test_the_slots_of_an_early_server_count_where_the_list_is_whole() -> None:
    slots = "".join(f" -> Slot {i} - max context: 1024\n" for i in range(3))
    work = "slot 1 is processing [task id: 3]\n"

    def found(text: str) -> dict[str, float]:
        return {r["key"]: r["num"] for r in rows_of(PARSER, text)[0].get("server_config", [])}

    assert found(slots + work) == {"slots": 3.0, "n_ctx_slot": 1024.0}
    assert found(slots) == {}, "more may follow"
    assert found(slots.split("\n", 1)[1] + work) == {}, "the first ones are missing"


def test_parts_of_a_duration() -> None:
    (row,) = _requests(OLLAMA.replace("100.5ms", "514ns"))
    assert row["queue_ms"] == pytest.approx(499.999486)


def test_the_answer_of_local_chat_needs_all_its_lines_and_the_numbers_of_python() -> None:
    chat = BY_VERSION["KTransformers 0.2, local_chat"]
    assert [r["output_tokens"] for r in _requests(chat + "Chat: and now?\n" + chat)] == [300, 300]
    lines = chat.splitlines(keepends=True)
    for i in range(6):
        assert _requests("".join(lines[:i] + lines[i + 1 :])) == []
    headless = _requests("".join(OLLAMA.splitlines(keepends=True)[2:]))  # Ollama's block without its head
    assert {r["server"] for r in headless} == {"ollama"}
    assert _requests(chat.replace("2.4999999602635707", "2.5999999602635707")) == []
