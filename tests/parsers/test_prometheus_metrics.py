"""/metrics pages: names, engines and ranks, several scrapes, times, restarts, cut and garbled input."""

from __future__ import annotations

import pytest
from gpuverdict.engine.parser import Claim, Refusal, Sample
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_counts, check_samples, rows_of, values
from gpuverdict.parsers.prometheus_metrics import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st
from open_ended import written


def _page(running: float = 1, tokens: float = 100, labels: str = "") -> str:
    return f"vllm:num_requests_running{labels} {running}\nvllm:generation_tokens_total{labels} {tokens}\n"


def test_samples() -> None:
    check_samples(PARSER)


def test_claims() -> None:
    for sample in PARSER.samples:
        assert isinstance(PARSER.claims(Source.from_text(sample.text).head()), Claim)
    only_help = "# TYPE vllm:num_requests_running gauge\n"
    assert isinstance(PARSER.claims(Source.from_text(only_help).head()), Refusal)
    for text in ('DCGM_FI_DEV_GPU_UTIL{gpu="0"} 5\n' * 3, "process_cpu_seconds_total 12\n", "vllm is running 5\nvllm waiting 6\n"):
        assert PARSER.claims(Source.from_text(text).head()) is None


def test_engines_are_rows_and_models_are_summed() -> None:
    text = "".join(_page(n, 10 * n, f'{{engine="{e}",model_name="{m}"}}') for n, e, m in ((1, 0, "a"), (2, 0, "b"), (4, 1, "a")))
    rows, _ = rows_of(PARSER, text)
    assert [(r["engine"], r["running"]) for r in rows["server_samples"]] == [(0, 3.0), (1, 4.0)]
    assert [(r["engine"], r["value"]) for r in rows["server_events"]] == [(0, 30.0), (1, 40.0)]


def test_shares_of_two_models_are_not_added() -> None:
    text = "".join(f'vllm:kv_cache_usage_perc{{model_name="{m}"}} 0.4\n' for m in "ab") + 'vllm:num_requests_running{model_name="a"} 1\n'
    assert rows_of(PARSER, text)[0]["server_samples"][0].get("kv_usage") is None


@pytest.mark.parametrize(("text", "kept"), [("0.5", 0.5), ("1", 1.0), ("1.5", None), ("NaN", None), ("-1", None), ("+Inf", None)])
def test_a_share_is_between_0_and_1(text: str, kept: float | None) -> None:
    rows, counts = rows_of(PARSER, f"sglang:token_usage {text}\nsglang:num_running_reqs 3\n")
    assert rows["server_samples"][0].get("kv_usage") == kept and counts.matched == 2


def test_zero_is_a_value() -> None:
    rows, _ = rows_of(PARSER, "llamacpp:requests_processing 0\nllamacpp:requests_deferred 0\n")
    assert (rows["server_samples"][0]["running"], rows["server_samples"][0]["waiting"]) == (0.0, 0.0)


def test_a_repeated_name_begins_the_next_scrape() -> None:
    rows, _ = rows_of(PARSER, _page(1) + _page(2) + _page(3))
    assert [r["running"] for r in rows["server_samples"]] == [1.0, 2.0, 3.0] and rows["clocks"][0]["kind"] == "none"


@pytest.mark.parametrize(
    "stamp",
    [
        "1789000000",
        "1789000000.25",
        "2026-09-10T00:26:40Z",
        "2026-09-10T02:26:40+02:00",
        "2026-09-10T00:26:40,5+00:00",
        "# 1789000000",
        "=== scrape at 1789000000 ===",
        "--- 2026-09-10T00:26:40Z ---",
        "Thu Sep 10 00:26:40 UTC 2026",
        "Thu Sep 10 12:26:40 AM UTC 2026",
    ],
)
def test_times_before_a_scrape(stamp: str) -> None:
    rows, _ = rows_of(PARSER, f"{stamp}\n{_page()}")
    assert rows["server_samples"][0]["time"] == pytest.approx(1789000000, abs=0.6) and rows["clocks"][0]["kind"] == "utc"


@pytest.mark.parametrize(
    "line",
    ["process_start_time_seconds 1789000000", "# HELP a thing 1789000000", "Thu Sep 10 00:26:40 CEST 2026", "Thu Xyz 10 00:26:40 UTC 2026"],
)
def test_what_is_no_time_of_a_scrape(line: str) -> None:
    rows, _ = rows_of(PARSER, f"{line}\n{_page()}")
    assert rows["server_samples"][0].get("time") is None


def test_the_pool_in_tokens_where_the_server_says_it() -> None:
    info = 'vllm:cache_config_info{{block_size="16",num_gpu_blocks="100",kv_cache_size_tokens="{}"}} 1.0\n'
    for printed, tokens in (("1200", 1200.0), ("None", 1600.0), ("0", 1600.0)):
        rows, _ = rows_of(PARSER, _page() + info.format(printed))
        assert [(r["key"], r["num"]) for r in rows["server_config"]] == [("kv_tokens", tokens)]


def test_the_old_names_of_the_prefix_cache_count_once() -> None:
    old = "vllm:gpu_prefix_cache_queries_total 10\nvllm:gpu_prefix_cache_hits_total 4\n"
    new = "vllm:prefix_cache_queries_total 10\nvllm:prefix_cache_hits_total 4\n"
    for page in (old, new, old + new):
        rows, _ = rows_of(PARSER, page)
        assert [(r["detail"], r["value"]) for r in rows["server_events"]] == [("prefix_queries", 10.0), ("prefix_hits", 4.0)]


def test_time_of_the_exposition_format() -> None:
    rows, _ = rows_of(PARSER, "vllm:num_requests_running 1 1789000000500\nvllm:num_requests_waiting 0 1789000000500\n")
    assert rows["server_samples"][0]["time"] == 1789000000.5


def test_time_of_the_file_for_one_scrape_only() -> None:
    rows = written(PARSER, _page(), "metrics.prom")
    assert rows["server_samples"][0]["time"] == rows["server_events"][0]["time"] == 1789000000.5
    assert rows["clocks"][0]["kind"] == "utc" and rows["clocks"][0]["method"] == "file time"
    assert written(PARSER, _page() + _page(), "metrics.prom")["server_samples"][0]["time"] is None
    assert written(PARSER, _page(), "metrics.prom", mtime_kind="copied")["server_samples"][0]["time"] is None
    assert written(PARSER, _page(), "metrics.prom", mtime_clock="local-no-zone")["clocks"][0]["kind"] == "local-no-zone"


def test_a_counter_that_falls_is_a_new_run() -> None:
    rows, _ = rows_of(PARSER, _page(tokens=100) + _page(tokens=150) + _page(tokens=3))
    assert [r["run"] for r in rows["server_samples"]] == [0, 0, 1]


def test_names_of_models_and_help_texts_stay_out() -> None:
    rows, counts = rows_of(PARSER, "# HELP vllm:x secret-words\n" + _page(labels='{engine="0",model_name="secret-model"}'))
    assert "secret" not in str(rows) and counts.noise == 1


def test_unknown_names_are_noise_and_broken_known_ones_near_misses() -> None:
    rows, counts = rows_of(PARSER, _page() + "vllm:new_thing 5\nprocess_open_fds 3\nvllm:num_requests_waiting five\nhello world\n")
    assert (counts.noise, counts.near_miss, counts.other) == (2, 1, 1) and rows["server_samples"][0].get("waiting") is None


def test_a_cut_number_is_no_number() -> None:
    rows, counts = rows_of(PARSER, _page(tokens=12345)[:-3])
    assert "server_events" not in rows and counts.near_miss == 1 and rows["server_samples"][0]["running"] == 1.0


@settings(max_examples=15, deadline=None)
@given(sample=st.sampled_from(PARSER.samples), share=st.floats(0, 1))
def test_any_cut(sample: Sample, share: float) -> None:
    cut = sample.text[: int(share * len(sample.text))]
    got, counts = rows_of(PARSER, cut)
    check_counts(counts, cut, "cut")
    if cut.endswith("\n"):  # what followed a whole line cannot be known: sums over labels may lack some
        return
    assert not values(got) - values(rows_of(PARSER, sample.text)[0])


@settings(max_examples=15, deadline=None)
@given(sample=st.sampled_from(PARSER.samples), share=st.floats(0, 1), byte=st.integers(0, 255))
def test_any_garbled_byte(sample: Sample, share: float, byte: int) -> None:
    data = bytearray(sample.text.encode())
    data[int(share * (len(data) - 1))] = byte
    lines = sum(block.count("\n") + (not block.endswith("\n")) for _, block in Source.from_text(bytes(data)).blocks())
    assert rows_of(PARSER, bytes(data))[1].lines == lines
