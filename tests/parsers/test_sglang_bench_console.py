"""SGLang's other console output: requests with epoch times, one-batch benchmarks, warm-up passes."""

from __future__ import annotations

from gpuverdict.engine.testing import check_conformance, rows_of
from gpuverdict.parsers.sglang_bench_console import PARSER

REQUESTS, ONE_BATCH, OLD, SERVER = (s.text for s in PARSER.samples)
RID = "5b0e1f6a-0000-4000-8000-00000000000"


def end(n: int, at: float, delta: float, output: str) -> str:
    return f'rid={RID}{n} time={at} time_delta={delta} message="request end" output="RequestFuncOutput(generated_text=\'...\', {output})"\n'


def requests(text: str) -> list[dict]:
    return rows_of(PARSER, text)[0].get("requests", [])


def steps(text: str) -> list[dict]:
    return rows_of(PARSER, text)[0].get("bench_steps", [])


def test_conformance() -> None:
    check_conformance(PARSER, derived=("request", "series", "step", "n", "latency_s", "concurrency", "requests", "aggregate_tok_s"))


def test_a_lost_end_leaves_a_request_open_and_a_lost_start_is_rebuilt() -> None:
    lines = REQUESTS.splitlines(keepends=True)
    assert [r["status"] for r in requests(lines[0] + lines[1])] == [None, None]
    (row,) = requests(lines[2])
    assert (row["sent_at"], row["first_token_at"], row["finished_at"]) == (1772000000.25, 1772000000.75, 1772000002.75)


def test_a_request_without_first_token_has_no_token_count() -> None:
    (row,) = requests(end(1, 1772000002.5, 2.5, "success=True, latency=2.25, ttft=0.0, itl=[], prompt_len=5, error='', output_len=16"))
    assert (row["status"], row["latency_s"], row["ttft_s"], row["output_tokens"], row["first_token_at"]) == ("ok", 2.25, None, None, None)


def test_numbers_inside_an_error_are_not_read() -> None:
    output = (
        "success=False, latency=0.0, ttft=0.0, itl=[], prompt_len=5, error='ttft=0.5, prompt_len=7, error=, output_len=9)', output_len=1"
    )
    (row,) = requests(end(1, 1772000002.5, 2.5, output))
    known = {k: v for k, v in row.items() if v is not None and k not in ("line", "origin", "run", "request", "resolution_s")}
    assert known == {"sent_at": 1772000000.0, "finished_at": 1772000002.5, "status": "failed"}


def test_one_id_twice_is_not_guessed() -> None:
    one = end(1, 1772000002.5, 2.5, "success=True, latency=2.25, ttft=0.5, error='', output_len=16")
    assert requests(one + one) == []


def test_a_warm_up_pass_is_no_step() -> None:
    warm = ONE_BATCH.split("Benchmark ...")[0]
    assert steps(warm) == []
    assert len(steps(ONE_BATCH)) == 1
    assert [r["wall_s"] for r in steps(SERVER)] == [0.5, 1.25]


def test_several_batch_sizes_are_steps_and_a_repetition_is_another_run() -> None:
    one = ONE_BATCH[ONE_BATCH.index("Benchmark") :]
    rows = steps(one + one.replace("Batch size: 4", "Batch size: 8"))
    assert [(r["series"], r["step"], r["concurrency"]) for r in rows] == [(None, 1, 4.0), (None, 2, 8.0)]
    assert [r["series"] for r in steps(one + one)] == ["run 1", "run 2"]


def test_several_lengths_name_the_series() -> None:
    block = SERVER[SERVER.index("batch size: 1\n") :]
    rows = steps(block + block.replace("input_len: 1024", "input_len: 4096"))
    assert [r["series"] for r in rows] == ["in 1024 out 16"] * 2 + ["in 4096 out 16"] * 2


def test_a_pass_without_its_total_or_with_two_prefills_is_left_out() -> None:
    assert steps(OLD[: OLD.index("Total.")]) == []
    assert steps(OLD.replace("Decode.  latency", "Prefill. latency")) == []


def test_an_incomplete_server_block_is_left_out() -> None:
    assert steps("batch size: 4\nlatency: 2.00 s\n") == []
    assert steps("batch size: 4\ninput_len: 8\ninput_len: 9\noutput_len: 8\nlatency: 2.00 s\n") == []
