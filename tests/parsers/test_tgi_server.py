"""TGI logs: text and both JSON shapes, units, arguments, quoted text, cuts."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.testing import check_block_sizes, check_counts, check_cut, check_garbled, check_samples, check_wrappers, rows_of
from gpuverdict.parsers.tgi_server import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

TEXT = PARSER.samples[0].text
HEAD = "2025-02-01T10:00:00.000000Z  INFO "
SPAN = 'total_time="{}" validation_time="1µs" queue_time="{}" inference_time="{}" time_per_token="{}" seed="None"'


def done(total: str = "2s", queue: str = "1s", inference: str = "1s", token: str = "50ms", span: str = "generate") -> str:
    body = SPAN.format(total, queue, inference, token)
    where = "text_generation_router::server: router/src/server.rs:299"
    return f"{HEAD}{span}{{parameters=GenerateParameters {{ stop: [] }} {body}}}: {where}: Success\n"


def requests(text: str) -> list[dict[str, Any]]:
    return rows_of(PARSER, text)[0].get("requests", [])


def config(text: str) -> dict[str, Any]:
    return {r["key"]: r["value"] if r["num"] is None else r["num"] for r in rows_of(PARSER, text)[0].get("server_config", [])}


def test_samples() -> None:
    check_samples(PARSER)


@pytest.mark.parametrize("number", range(len(PARSER.samples)))
def test_wrappers_and_blocks(number: int) -> None:
    check_wrappers(PARSER, PARSER.samples[number].text)
    check_block_sizes(PARSER, PARSER.samples[number].text)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, len(TEXT)))
def test_any_cut(at: int) -> None:
    check_cut(PARSER, TEXT, at, derived=("kv_tokens",))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, len(TEXT)), st.integers(0, 255))
def test_any_garbled_byte(at: int, byte: int) -> None:
    check_garbled(PARSER, TEXT, at, byte)


def test_json_with_nested_fields() -> None:
    span = '"span":{"inference_time":"1.2s","queue_time":"980ns","time_per_token":"100ms","total_time":"1.3s","name":"generate"}'
    flat = f'{{"timestamp":"2025-02-01T10:00:00.000000Z","level":"INFO","message":"Success","target":"text_generation_router::server",{span}}}\n'
    nested = flat.replace('"message":"Success"', '"fields":{"message":"Success"}')
    assert requests(flat) == requests(nested) and requests(flat)[0]["output_tokens"] == 12


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("text_generation_router_v3: backends/v3/src/lib.rs:125: Setting max batch total tokens to 43808", "kv_tokens", 43808),
        ("text_generation_launcher: Default `max_batch_prefill_tokens` to 4096", "max_batch_prefill_tokens", 4096),
        ("text_generation_launcher: Default `max_total_tokens` to 8192", "n_ctx_slot", 8192),
        ("text_generation_router_v3: backends/v3/src/lib.rs:90: Maximum total tokens defaulted to 32768", "n_ctx_slot", 32768),
        ("text_generation_launcher: Using attention flashinfer - Prefix caching true", "attention", "flashinfer"),
        ("text_generation_launcher: Using attention flashinfer - Prefix caching true", "prefix_caching", "true"),
        ("text_generation_launcher: Using attention paged - Prefix caching 0", "prefix_caching", None),
    ],
)
def test_what_the_server_settles_on(line: str, key: str, value: Any) -> None:
    assert config(HEAD + line + "\n").get(key) == value


def test_a_failed_generation_is_an_error() -> None:
    line = (
        HEAD.replace(" INFO", "ERROR")
        + "generate_stream:async_stream:generate_stream: text_generation_router::infer: router/src/infer/mod.rs:102: "
    )
    rows, _ = rows_of(PARSER, line + "Request failed during generation: Server error: CUDA out of memory\n")
    assert [(r["kind"], r["detail"]) for r in rows["server_events"]] == [("error", "generation-failed")]


@pytest.mark.parametrize(
    ("printed", "ms"), [("1.5s", 1500.0), ("20.25ms", 20.25), ("754.5µs", 0.7545), ("754.5μs", 0.7545), ("980ns", 0.00098), ("0ns", 0.0)]
)
def test_units(printed: str, ms: float) -> None:
    (row,) = requests(done(queue=printed))
    assert row["queue_ms"] == pytest.approx(ms)


def test_tokens_only_where_they_come_out_whole() -> None:
    assert requests(done(inference="1s", token="50ms"))[0]["output_tokens"] == 20
    assert requests(done(inference="1s", token="30ms"))[0]["output_tokens"] is None
    assert requests(done(inference="0ns", token="0ns"))[0]["output_tokens"] is None


@pytest.mark.parametrize("span", ["generate_stream", "chat_completions", "completions", "HTTP request{otel.name=x}:generate"])
def test_spans(span: str) -> None:
    assert len(requests(done(span=span))) == 1


def test_durations_in_stop_words_are_not_taken() -> None:
    text = done().replace("stop: []", 'stop: ["queue_time=\\"9s\\" inference_time=\\"9s\\""]')
    (row,) = requests(text)
    assert (row["queue_ms"], row["started_at"]) == (1000.0, row["finished_at"] - 1.0)


def test_a_span_without_success_is_no_request() -> None:
    text = done().replace("Success", "Failed")
    rows, counts = rows_of(PARSER, text)
    assert not rows.get("requests") and counts.near_miss == 1


def test_quoted_text_gives_nothing() -> None:
    text = "user says: " + done() + '{"prompt":"' + done().strip() + '"}\n'
    rows, counts = rows_of(PARSER, text)
    assert not rows.get("requests") and counts.matched == 0
    check_counts(counts, text, "quoted")


def test_concurrent_requests_are_no_slots() -> None:
    args = (
        HEAD + "text_generation_launcher: Args {{ max_concurrent_requests: 128, max_batch_size: {}, max_batch_total_tokens: Some(900) }}\n"
    )
    assert config(args.format("None")) == {"max_concurrent_requests": 128, "kv_tokens": 900}
    assert config(args.format("Some(6)"))["slots"] == 6


def test_the_budget_in_force_beats_the_argument() -> None:
    args = HEAD + "text_generation_launcher: Args { max_batch_total_tokens: Some(900) }\n"
    budget = HEAD + "text_generation_router::server: router/src/server.rs:1: Setting max batch total tokens to 800\n"
    assert config(args + budget)["kv_tokens"] == 800


def test_arguments_one_per_line() -> None:
    text = (
        HEAD + "text_generation_launcher: Args {\n    num_shard: None,\n    max_concurrent_requests: 64,\n    max_waiting_tokens: 20,\n}\n"
    )
    assert config(text) == {"max_concurrent_requests": 64, "max_waiting_tokens": 20}
    assert config("    max_concurrent_requests: 64,\n") == {}


def test_nothing_private_leaves() -> None:
    text = HEAD + 'text_generation_launcher: Args { model_id: "canary", hostname: "canary-host", ngrok_password: Some("canary") }\n'
    assert "canary" not in str(rows_of(PARSER, text)[0])


def test_embeddings_router_is_left_to_others() -> None:
    text = (
        HEAD
        + 'openai_embed{total_time="9ms" tokenization_time="1ms" queue_time="1ms" inference_time="7ms"}: text_embeddings_router: Success\n'
    )
    assert rows_of(PARSER, text)[1].matched == 0
