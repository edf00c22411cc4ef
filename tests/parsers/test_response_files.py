"""Saved responses of every server give their own numbers and no others; times are believed only where they mean something."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from gpuverdict.engine.parser import Claim, Head, Refusal
from gpuverdict.engine.source import HEAD_BYTES, Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.response_files import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

T = 1789000015
LLAMA: dict[str, Any] = {
    "choices": [{"finish_reason": "length", "index": 0, "message": {"role": "assistant", "content": "SECRET"}}],
    "created": T,
    "model": "m",
    "object": "chat.completion",
    "usage": {"completion_tokens": 64, "prompt_tokens": 30, "total_tokens": 94},
    "id": "chatcmpl-1",
    "timings": {"cache_n": 10, "prompt_n": 20, "prompt_ms": 250.5, "predicted_n": 64, "predicted_ms": 4000.25},
}
VLLM: dict[str, Any] = {
    "id": "chatcmpl-2",
    "object": "chat.completion",
    "created": T,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop", "stop_reason": None}],
    "usage": {"prompt_tokens": 50, "total_tokens": 60, "completion_tokens": 10, "prompt_tokens_details": None},
    "prompt_logprobs": None,
    "kv_transfer_params": None,
}
PLAIN = {k: v for k, v in VLLM.items() if k not in ("prompt_logprobs", "kv_transfer_params")}
OLLAMA: dict[str, Any] = {
    "model": "m",
    "created_at": "2026-09-10T00:00:04.25Z",
    "response": "",
    "done": True,
    "total_duration": 5_000_000_000,
    "load_duration": 500_000_000,
    "prompt_eval_count": 26,
    "prompt_eval_duration": 250_000_000,
    "eval_count": 80,
    "eval_duration": 3_000_000_000,
}


def without(body: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {k: v for k, v in body.items() if k not in keys}


def rows(body: Any, name: str = "resp_1.json", **source: Any) -> dict[str, list[dict[str, Any]]]:
    """All rows of a source with the given body (JSON or text) and file time."""
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    out: dict[str, list[dict[str, Any]]] = {}
    PARSER.parse(Source(name, lambda: io.BytesIO(raw), **source), lambda t, f: out.setdefault(t, []).extend(f.to_dicts()))
    return out


def row(body: Any, name: str = "resp_1.json", **source: Any) -> dict[str, Any]:
    (only,) = rows(body, name, **source)["requests"]
    return only


def claim(text: str, name: str = "resp_1.json", complete: bool = True) -> Claim | Refusal | None:
    return PARSER.claims(Head(name, text.encode(), text, complete))


def test_samples() -> None:
    check_samples(PARSER)
    assert all(isinstance(claim(s.text, s.name), Claim) for s in PARSER.samples)


# who wrote it


@pytest.mark.parametrize(
    "body, server",
    [
        (LLAMA, "llama.cpp"),
        (VLLM, "vllm"),
        (PLAIN, None),
        ({**PLAIN, "system_fingerprint": "b4764-7ad0779f"}, "llama.cpp"),
        ({**PLAIN, "system_fingerprint": "fp_ollama"}, "ollama"),
        ({**PLAIN, "system_fingerprint": "3.0.1-native"}, "tgi"),
        ({**PLAIN, "system_fingerprint": "fp_44709d6fcb"}, None),
        ({**PLAIN, "choices": [{**PLAIN["choices"][0], "matched_stop": 2}]}, "sglang"),
        (OLLAMA, "ollama"),
    ],
)
def test_the_server_only_where_the_body_proves_it(body: dict[str, Any], server: str | None) -> None:
    assert row(body)["server"] == server
    assert isinstance(claim(json.dumps(body)), Claim)


def test_no_text_leaves() -> None:
    assert "SECRET" not in str(rows(LLAMA))
    assert "chatcmpl" not in str(rows(LLAMA))


# tokens


def test_cached_tokens_are_kept_apart() -> None:
    assert (row(LLAMA)["prompt_tokens"], row(LLAMA)["cached_tokens"]) == (20, 10)
    usage = {**VLLM["usage"], "prompt_tokens_details": {"cached_tokens": 48}}
    got = row({**VLLM, "usage": usage})
    assert (got["prompt_tokens"], got["cached_tokens"]) == (2, 48)
    assert (row(VLLM)["prompt_tokens"], row(VLLM)["cached_tokens"]) == (50, None)
    impossible = {**VLLM["usage"], "prompt_tokens_details": {"cached_tokens": 99}}
    assert row({**VLLM, "usage": impossible})["cached_tokens"] is None


@pytest.mark.parametrize("bad", [None, "64", -1, True, float("nan"), float("inf"), 1e300, [], {}])
def test_bad_numbers_are_null(bad: Any) -> None:
    body = {**LLAMA, "timings": {**LLAMA["timings"], "predicted_ms": bad, "cache_n": bad}}
    got = row(body)
    assert (got["decode_ms"], got["cached_tokens"], got["prompt_ms"]) == (None, None, 250.5)


def test_ollama_queue_needs_all_four_durations() -> None:
    assert row(OLLAMA)["queue_ms"] == 1250.0
    for key in ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration"):
        assert row(without(OLLAMA, key))["queue_ms"] is None
    assert row({**OLLAMA, "total_duration": 1_000_000_000})["queue_ms"] is None
    assert row({**OLLAMA, "prompt_eval_count": 513})["queue_ms"] is None, "the time may be that of the last batch"
    assert row(LLAMA)["queue_ms"] is None
    preload = {"model": "m", "created_at": "2026-09-10T00:00:04Z", "response": "", "done": True, "done_reason": "load"}
    assert rows(preload) == {}


def test_tokens_never_come_from_chunks() -> None:
    chunk = {"id": "a", "object": "chat.completion.chunk", "created": T, "choices": [{"index": 0, "delta": {"content": "x"}}]}
    last = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    text = "".join(f"data: {json.dumps(c)}\n\n" for c in [chunk] * 9 + [last]) + "data: [DONE]\n"
    got = row(text)
    assert (got["output_tokens"], got["status"], got["server"]) == (None, "ok", None)


# times


@pytest.mark.parametrize(
    "mtime, kept, step", [(T + 0.75, T + 0.75, 1e-6), (T - 1.9, T - 1.9, 1e-6), (T + 3.5, T, 1.0), (T + 4000.0, T, 1.0)]
)
def test_an_end_in_the_body_checks_the_file_time(mtime: float, kept: float, step: float) -> None:
    out = rows(LLAMA, mtime=mtime, mtime_resolution_s=1e-6)
    assert (out["requests"][0]["finished_at"], out["requests"][0]["resolution_s"]) == (kept, step)
    assert [q["kind"] for q in out.get("quality", [])] == ([] if kept == mtime else ["mtime-disagrees"])
    assert out["clocks"][0]["method"] == ("file time" if kept == mtime else "created")


def test_a_copied_file_time_is_no_time() -> None:
    assert row(LLAMA, mtime=T + 0.5, mtime_kind="copied", mtime_resolution_s=1e-6)["finished_at"] == T
    out = rows(PLAIN, mtime=T + 0.5, mtime_kind="copied", mtime_resolution_s=1e-6)
    assert (out["requests"][0]["finished_at"], out["clocks"][0]["kind"]) == (None, "none")


def test_created_is_the_arrival_for_vllm() -> None:
    got = row(VLLM, mtime=T + 20.5, mtime_resolution_s=1e-6)
    assert (got["queued_at"], got["finished_at"], got["resolution_s"]) == (T, T + 20.5, 1.0)
    out = rows(VLLM, mtime=T - 60.0, mtime_resolution_s=1e-6)
    assert (out["requests"][0]["finished_at"], out["quality"][0]["kind"]) == (None, "mtime-disagrees")


def test_created_of_an_unknown_server_is_used_for_doubt_only() -> None:
    got = row(PLAIN, mtime=T + 20.5, mtime_resolution_s=1e-6)
    assert (got["queued_at"], got["finished_at"], got["resolution_s"]) == (None, T + 20.5, 1e-6)
    assert row(PLAIN)["finished_at"] is None
    assert rows(PLAIN, mtime=T + 2 * 86400.0, mtime_resolution_s=1e-6)["quality"][0]["kind"] == "mtime-disagrees"


def test_zip_times_without_a_zone_stay_on_their_own_clock() -> None:
    zipped = {"mtime": T - 18000.0, "mtime_kind": "archive", "mtime_resolution_s": 2.0, "mtime_clock": "local-no-zone"}
    out = rows(without(PLAIN, "created"), **zipped)
    assert (out["requests"][0]["finished_at"], out["clocks"][0]["kind"], out["clocks"][0]["resolution_s"]) == (
        T - 18000.0,
        "local-no-zone",
        2.0,
    )
    assert rows(LLAMA, **zipped)["clocks"][0]["kind"] == "utc"
    mixed = row(VLLM, **zipped)
    assert (mixed["queued_at"], mixed["finished_at"]) == (T, None)


@pytest.mark.parametrize(
    "stamp, want",
    [
        ("2026-09-10T00:00:04.123456789Z", 1788998404.123456789),
        ("2026-09-09T17:00:04.5-07:00", 1788998404.5),
        ("2026-09-10T00:00:04Z", 1788998404.0),
        ("2026-09-10T00:00:04", None),
        ("2026-13-10T00:00:04Z", None),
        ("yesterday", None),
    ],
)
def test_ollama_stamps(stamp: str, want: float | None) -> None:
    assert row({**OLLAMA, "created_at": stamp})["finished_at"] == (pytest.approx(want, abs=1e-6) if want else None)


def test_stream_of_llama_cpp_has_a_first_token_and_an_end() -> None:
    def chunk(t: int, **delta: Any) -> dict[str, Any]:
        return {"id": "a", "object": "chat.completion.chunk", "created": t, "choices": [{"index": 0, "delta": delta}]}

    final = {
        **chunk(T + 9),
        "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        "timings": {"predicted_ms": 7000.0, "predicted_n": 5},
    }
    body = "".join(f"data: {json.dumps(c)}\r\n\r\n" for c in (chunk(T, role="assistant", content=None), chunk(T + 2, content="a"), final))
    got = row(body)
    assert (got["first_token_at"], got["finished_at"], got["resolution_s"]) == (T + 2, T + 9, 1.0)
    fine = row(body, mtime=T + 9.25, mtime_resolution_s=1e-6)
    assert (fine["first_token_at"], fine["finished_at"], fine["resolution_s"]) == (None, T + 9.25, 1e-6)


def test_a_stream_that_breaks_off_has_no_end() -> None:
    chunk = {"id": "a", "object": "chat.completion.chunk", "created": T, "choices": [{"index": 0, "delta": {"content": "x"}}]}
    text = f"data: {json.dumps(chunk)}\n\ndata: {json.dumps(chunk)[:40]}"
    got = row(text, mtime=T + 5.0, mtime_resolution_s=1.0)
    assert (got["status"], got["finished_at"]) == (None, None)
    _, counts = rows_of(PARSER, text)
    assert (counts.matched, counts.noise, counts.near_miss) == (1, 1, 1)


# several in one file


def test_several_bodies_have_no_file_time() -> None:
    other = {**LLAMA, "created": T + 7}
    for text in (
        f"{json.dumps(LLAMA)}\n{json.dumps(other)}\n",
        json.dumps(LLAMA) + json.dumps(other),
        json.dumps([LLAMA, other], indent=1),
    ):
        out = rows(text, mtime=T + 7.5, mtime_resolution_s=1e-6)["requests"]
        assert [(r["request"], r["finished_at"]) for r in out] == [("resp_1.json#1", T), ("resp_1.json#2", T + 7)]


def test_interleaved_streams_are_told_apart_by_id() -> None:
    def chunk(key: str, **more: Any) -> str:
        choice = {"index": 0, "delta": {"content": "x"}, **more}
        return "data: " + json.dumps({"id": key, "object": "chat.completion.chunk", "created": T, "choices": [choice]}) + "\n\n"

    def usage(key: str, n: int) -> str:
        return (
            "data: " + json.dumps({"id": key, "object": "chat.completion.chunk", "choices": [], "usage": {"completion_tokens": n}}) + "\n\n"
        )

    text = chunk("a") + chunk("b") + chunk("a", finish_reason="stop") + chunk("b", finish_reason="length") + usage("b", 7) + usage("a", 5)
    assert [(r["output_tokens"], r["status"]) for r in rows(text)["requests"]] == [(5, "ok"), (7, "ok")]


def test_two_ollama_streams_in_one_file() -> None:
    part = {"model": "m", "created_at": "2026-09-10T00:00:01Z", "response": "x", "done": False}
    text = "".join(json.dumps(o) + "\n" for o in (part, OLLAMA, part, {**OLLAMA, "eval_count": 3}))
    assert [r["output_tokens"] for r in rows(text)["requests"]] == [80, 3]


def test_batch_output_lines_are_unwrapped() -> None:
    text = json.dumps({"id": "b", "custom_id": "r-1", "response": {"status_code": 200, "body": VLLM}, "error": None}) + "\n"
    assert (row(text)["server"], row(text)["output_tokens"]) == ("vllm", 10)


def test_noise_around_the_body() -> None:
    text = "HTTP/1.1 200 OK\ncontent-type: application/json\n\n" + json.dumps(LLAMA, indent=2) + "\n  % Total    % Received\n"
    got, counts = rows_of(PARSER, text)
    assert got["requests"][0]["output_tokens"] == 64
    assert got["requests"][0]["line"] == 4
    assert (counts.noise, counts.other) == (1, 3)


def test_one_garbled_line_costs_itself_only() -> None:
    lines = [json.dumps(LLAMA), json.dumps(LLAMA)[:100], json.dumps(VLLM)]
    got, counts = rows_of(PARSER, "\n".join(lines) + "\n")
    assert [r["server"] for r in got["requests"]] == ["llama.cpp", "vllm"]
    assert (counts.matched, counts.near_miss, counts.rejects[0][0]) == (2, 1, 2)


# failures


@pytest.mark.parametrize(
    "text",
    [
        '{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}',
        '{"error":"model not found"}',
        '{"detail":"Not Found"}',
        '{"object":"error","message":"too long","type":"BadRequestError","code":400}',
        'data: {"error":{"message":"x"}}\n\n',
        "<html><head><title>504 Gateway Time-out</title></head></html>",
        "<!DOCTYPE html>\n<html></html>\n",
        "curl: (7) Failed to connect to 127.0.0.1 port 8080\n",
        "Internal Server Error",
        "",
    ],
)
def test_failures(text: str) -> None:
    assert isinstance(claim(text), Claim)
    got = row(text, mtime=float(T), mtime_resolution_s=1.0)
    assert (got["status"], got["finished_at"]) == ("failed", T)
    assert all(got[k] is None for k in ("output_tokens", "prompt_tokens", "decode_ms", "server"))


def test_aborted_requests() -> None:
    meta = {"id": "a", "finish_reason": {"type": "abort", "message": "x"}, "prompt_tokens": 5, "completion_tokens": 2}
    assert row({"text": "", "meta_info": meta})["status"] == "cancelled"


def test_an_error_in_a_stream_fails_the_request() -> None:
    chunk = {"id": "a", "object": "chat.completion.chunk", "created": T, "choices": [{"index": 0, "delta": {"content": "x"}}]}
    assert row(f'data: {json.dumps(chunk)}\n\ndata: {{"error":{{"message":"gone"}}}}\n\n')["status"] == "failed"


# what is somebody else's


@pytest.mark.parametrize(
    "text",
    [
        '{"date":"20260818-021333","backend":"openai","completed":8,"duration":1.3,"total_input_tokens":256,"errors":["",""]}',
        '{"architectures":["X"],"hidden_size":4096,"num_hidden_layers":32}',
        '{"tid":"1","timestamp":1700000000,"level":"INFO","function":"print_timings","msg":"prompt eval time","t_prompt_processing":1.0}',
        '[{"error_code":null,"error_msg":"","ttft_s":0.8,"number_output_tokens":151}]',
        '{"metadata":{"x":1},"metrics":{},"error":{"message":"x"}}',
        '{"question":"q","choices":["a","b"],"answer":1}',
        '{"question":"q","choices":[{"label":"A","text":"x"}],"answer":1}',
        '[{"id":0,"n_ctx":131072,"is_processing":true}]',
        '{"benchmarks":[],"args":{}}',
        "# a log\ntime=1 level=INFO\n",
    ],
)
def test_other_json_is_not_claimed(text: str) -> None:
    assert claim(text, "x.json") is None
    assert rows(text) == {}


def test_an_empty_file_with_another_name_is_not_a_request() -> None:
    assert claim("", "server.log") is None
    assert claim("", "gpu0.json") is None


def test_a_body_larger_than_the_head() -> None:
    long = {**VLLM, "choices": [{**VLLM["choices"][0], "message": {"role": "assistant", "content": "x" * HEAD_BYTES}}]}
    source = Source.from_text(json.dumps(long), "resp_1.json")
    assert isinstance(PARSER.claims(source.head()), Claim)
    got, _ = rows_of(PARSER, json.dumps(long))
    assert got["requests"][0]["output_tokens"] == 10
    cut = json.dumps(VLLM)[:150]
    assert isinstance(claim(cut), Refusal)


def stamped(stamps: list[str]) -> str:
    said = (
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5, "completion_tokens": 2}},
    )
    chunks = [{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1788000000, **one} for one in said]
    return "".join(f"{stamp}data: {json.dumps(c)}\n\n" for stamp, c in zip(stamps, chunks)) + f"{stamps[-1]}data: [DONE]\n"


@pytest.mark.parametrize(
    ("stamps", "first", "end"),
    [
        (["1788000000.100 ", "1788000000.350 ", "1788000002.500 "], 1788000000.35, 1788000002.5),
        (["1788000000100 ", "1788000000350 ", "1788000002500 "], 1788000000.35, 1788000002.5),
        (["1788000000100000000: ", "1788000000350000000: ", "1788000002500000000: "], 1788000000.35, 1788000002.5),
        (["[1788000000.100] ", "[1788000000.350] ", "[1788000002.500] "], 1788000000.35, 1788000002.5),
        # of another clock or none: the body is read, the times are not
        (["Aug 29 10:00:00 ", "Aug 29 10:00:00 ", "Aug 29 10:00:02 "], None, None),
        (["10:00:00.100 ", "10:00:00.350 ", "10:00:02.500 "], None, None),
        (["2026-08-29T10:00:00.100 ", "2026-08-29T10:00:00.350 ", "2026-08-29T10:00:02.500 "], None, None),
        (["0.100 ", "0.350 ", "2.500 "], None, None),
        # not before every line
        (["1788000000.100 ", "", "1788000002.500 "], None, None),
    ],
)
def test_stamps_before_the_lines_of_a_stream(stamps: list[str], first: float | None, end: float | None) -> None:
    (row,) = rows(stamped(stamps))["requests"]
    assert (row["first_token_at"], row["finished_at"], row["output_tokens"]) == (first, end, 2.0)


def test_hostile_nesting_is_survived() -> None:
    for text in ("[" * 100_000, '{"a":' * 100_000, '{"choices":' + "[" * 5000, "[\n" * 20_000, '{"n":' + "9" * 6000 + "}"):
        assert rows(text) == {}
        claim(text)


GOOD = "".join(s.text + "\n" for s in PARSER.samples)


@given(st.integers(0, len(GOOD)), st.binary(max_size=3))
@settings(max_examples=15, deadline=None)
def test_any_cut_and_any_garbling(cut: int, garbage: bytes) -> None:
    raw = (GOOD.encode()[:cut] + garbage + GOOD.encode()[cut + len(garbage) :]) if garbage else GOOD.encode()[:cut]
    got, counts = rows_of(PARSER, raw)
    text = "".join(t for _, t in Source.from_text(raw).blocks())
    assert counts.lines == text.count("\n") + (bool(text) and not text.endswith("\n"))
    for one in got.get("requests", []):
        assert one["status"] in ("ok", "failed", "cancelled", None)
        assert one["finished_at"] is None or one["resolution_s"] is not None


@given(st.integers(1, 600))
@settings(max_examples=10, deadline=None)
def test_a_cut_body_gives_no_row_and_no_number(cut: int) -> None:
    text = json.dumps(LLAMA)
    got, counts = rows_of(PARSER, text[: min(cut, len(text) - 1)])
    assert got.get("requests", []) == []
    assert counts.near_miss == 1
