"""Ollama's own log: access lines, loads, slots by command, request, variable or version, cards, clocks."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.line_format import Sample
from gpuverdict.engine.testing import check_conformance, check_counts, check_cut, check_garbled, rows_of
from gpuverdict.parsers.ollama_server import PARSER
from hypothesis import given, settings
from hypothesis import strategies as st

DERIVED = ("slots", "slots_source")
WHOLE = "".join(s.text for s in PARSER.samples)


def _slog(body: str, second: float = 0.0, zone: str = "Z") -> str:
    return f"time=2025-05-12T12:56:{second:06.3f}{zone} level=INFO source=server.go:1 {body}\n"


def _config(text: str) -> dict[str, tuple[Any, Any, Any]]:
    rows, _ = rows_of(PARSER, text)
    return {
        f"{r['key']} {r['value']}" if r["key"] == "device_model_mib" else r["key"]: (
            r["num"] if r["num"] is not None else r["value"],
            r["num_hi"],
            r["origin"],
        )
        for r in rows.get("server_config", [])
    }


def _gin(duration: str, code: int = 200, path: str = "/api/chat", clock: str = "12:57:20") -> str:
    return f'[GIN] 2025/05/12 - {clock} | {code} | {duration:>13} |       127.0.0.1 | POST     "{path}"\n'


def _runner(options: str) -> str:
    return _slog(f'msg="starting llama server" cmd="/usr/bin/ollama runner --model /m/sha256-1 {options} --port 1"')


def test_conformance() -> None:
    check_conformance(PARSER, DERIVED)


@pytest.mark.parametrize(
    ("duration", "seconds", "resolution"),
    [
        ("6.674368042s", 6.674368042, 1.0),
        ("626.242118ms", 0.626242118, 1.0),
        ("50.263µs", 50.263e-6, 1.0),
        ("50.263Âµs", 50.263e-6, 1.0),
        ("50.263┬╡s", 50.263e-6, 1.0),
        ("514ns", 514e-9, 1.0),
        ("1m22s", 82.0, 2.0),
        ("1h2m3s", 3723.0, 2.0),
        ("0s", 0.0, 1.0),
    ],
)
def test_durations(duration: str, seconds: float, resolution: float) -> None:
    (row,) = rows_of(PARSER, _gin(duration))[0]["requests"]
    assert row["latency_s"] == pytest.approx(seconds) and row["resolution_s"] == resolution
    assert row["finished_at"] - row["queued_at"] == pytest.approx(seconds, abs=1e-6)
    assert row["started_at"] is None if "started_at" in row else True


@pytest.mark.parametrize(("code", "status"), [(200, "ok"), (499, "cancelled"), (500, "failed"), (503, "failed"), (404, "failed")])
def test_status(code: int, status: str) -> None:
    assert rows_of(PARSER, _gin("1.5s", code))[0]["requests"][0]["status"] == status


def test_only_generating_endpoints_are_requests_and_addresses_stay_out() -> None:
    text = "".join(_gin("1s", path=p) for p in ("/api/embed", "/api/show", "/v1/embeddings", "/api/chat", "/v1/chat/completions"))
    rows, counts = rows_of(PARSER, text)
    assert len(rows["requests"]) == 2 and counts.matched == 5
    assert "127.0.0.1" not in str(rows) and "/api" not in str(rows)


def test_a_cut_access_line_is_a_near_miss_not_a_request() -> None:
    line = _gin("6.674368042s")
    rows, counts = rows_of(PARSER, line[:46])
    assert "requests" not in rows and counts.near_miss == 1


def test_a_start_that_tells_no_version_is_no_near_miss() -> None:
    rows, counts = rows_of(PARSER, "2023/10/11 15:42:01 routes.go:572: Listening on 127.0.0.1:11434\n" + _gin("1.5s"))
    assert counts.near_miss == 0 and "server_config" not in rows and len(rows["requests"]) == 1


def test_access_lines_are_tied_to_utc_by_their_neighbours() -> None:
    text = _slog('msg="llama runner started in 3.00 seconds"', 10.5, "-07:00") + _gin("2s", clock="12:56:10")
    rows, _ = rows_of(PARSER, text)
    assert rows["clocks"][0]["kind"] == "utc"
    assert rows["requests"][0]["finished_at"] == pytest.approx(1747054570.0 + 7 * 3600)
    alone, _ = rows_of(PARSER, _gin("2s"))
    assert alone["clocks"][0]["kind"] == "local-no-zone"


def test_slots_from_the_command_line() -> None:
    config = _config(_runner("--ctx-size 8192 --parallel 4"))
    assert config["slots"] == (4.0, None, "logged") and config["n_ctx_slot"] == (2048.0, None, "logged")
    assert config["slots_source"][0] == "command line" and "split" not in config


def test_loads_that_differ_make_an_interval() -> None:
    config = _config(_runner("--ctx-size 8192 --parallel 4") + _runner("--ctx-size 2048 --parallel 1"))
    assert config["slots"] == (1.0, 4.0, "logged")


def test_a_number_that_a_pager_cut_is_not_read() -> None:
    assert "slots" not in _config(_slog('msg="starting llama server" cmd="/usr/bin/ollama runner --model /m/x --parallel 1>'))


def test_a_runner_without_model_is_no_load() -> None:
    rows, _ = rows_of(PARSER, _slog('msg="starting runner" cmd="/usr/bin/ollama runner --ollama-engine --port 1"'))
    assert "server_events" not in rows and "server_config" not in rows


@pytest.mark.parametrize(
    ("version", "variable", "slots"),
    [
        ("0.1.30", None, (1.0, None, "default")),
        ("0.1.40", 0, (1.0, None, "default")),
        ("0.1.49", 0, (1.0, 4.0, "default")),
        ("0.9.6", 0, (1.0, 4.0, "default")),
        ("0.9.7-rc0", 0, (1.0, None, "default")),
        ("0.12.3", 0, (1.0, None, "default")),
        ("0.12.3", 1, (1.0, None, "logged")),
        ("0.12.3", 8, (1.0, 8.0, "logged")),
        ("0.12.3", None, None),
        ("0.0.0", 0, None),
    ],
)
def test_slots_by_version_and_variable(version: str, variable: int | None, slots: tuple[Any, Any, Any] | None) -> None:
    env = "" if variable is None else f" OLLAMA_NUM_PARALLEL:{variable} "
    text = _slog(f'msg="server config" env="map[A:b{env or " "}Z:]"') + _slog(f'msg="Listening on [::]:1 (version {version})"')
    assert _config(text).get("slots") == slots


def test_forced_to_one_slot() -> None:
    text = _slog('msg="server config" env="map[OLLAMA_NUM_PARALLEL:4 Z:]"')
    text += _slog('msg="model architecture does not currently support parallel requests" architecture=qwen35')
    assert _config(text)["slots"] == (1.0, None, "logged") and _config(text)["slots_source"][0] == "forced"


@pytest.mark.parametrize(
    ("shares", "split"), [("21,13,7", True), ("0,48", False), ("48", False), ("0.5,0.5", True), ("0,0,3", False), ("0,10,20", True)]
)
def test_split_needs_two_cards_with_layers(shares: str, split: bool) -> None:
    config = _config(_runner(f"--parallel 1 --tensor-split {shares}"))
    assert config.get("split") == (("layer", None, "logged") if split else None)


@pytest.mark.parametrize(("layers", "split"), [("[12 13]", True), ('"25,23"', True), ('""', False), ("[37]", False), ("[0 37]", False)])
def test_split_of_the_plan(layers: str, split: bool) -> None:
    text = _slog(f"msg=offload library=cuda layers.requested=-1 layers.model=49 layers.offload=48 layers.split={layers} memory.x=1")
    assert ("split" in _config(text)) is split and _config(text)["layers_offloaded"][0] == 48.0


def test_what_was_offloaded_beats_the_plan() -> None:
    text = _slog('msg="offload to cuda" layers.requested=-1 layers.model=49 layers.offload=48 layers.split="" x=1')
    text += _runner("--parallel 1") + _slog('msg="offloaded 20/49 layers to GPU"')
    assert _config(text)["layers_offloaded"][0] == 20.0


def test_the_last_load_counts_for_weights() -> None:
    first = _runner("--parallel 1") + "".join(_slog(f'msg="model weights" device=CUDA{i} size="4.0 GiB"') for i in (0, 1))
    config = _config(first + _runner("--parallel 1") + _slog('msg="model weights" device=CUDA0 size="512.0 MiB"'))
    assert config["device_model_mib CUDA0"][0] == 512.0 and "device_model_mib CUDA1" not in config and "split" not in config


def test_no_graphics_card_is_listed_for_the_cpu() -> None:
    rows, _ = rows_of(PARSER, _slog('msg="inference compute" id=cpu library=cpu compute="" name=cpu description=cpu total="31.7 GiB"'))
    assert "gpus" not in rows


def test_equal_cards_without_ids_are_not_merged() -> None:
    line = _slog('msg="inference compute" id=0 library=Vulkan compute=0.0 name=Vulkan0 description="Arc A770" total="15.9 GiB"')
    assert [r["name"] for r in rows_of(PARSER, line + line)[0]["gpus"]] == ["Arc A770", "Arc A770"]


def test_a_load_that_is_announced_twice_counts_once() -> None:
    line = _slog('msg="llama-server started in 28.08 seconds"')
    assert [r["value"] for r in rows_of(PARSER, line + line)[0]["server_events"]] == [28.08]


def test_docker_prefix_moves_no_time_further_than_it_is_known() -> None:
    text = _slog('msg="llama runner started in 3.00 seconds"', 10.5) + _gin("2s", clock="12:56:11")
    rows, _ = rows_of(PARSER, "".join(f"2025-05-12T12:56:12.000000000Z {line}\n" for line in text.splitlines()))
    assert rows["server_events"][0]["time"] == 1747054570.5 and abs(rows["requests"][0]["finished_at"] - 1747054571.0) <= 1.0


@settings(max_examples=12, deadline=None)
@given(sample=st.sampled_from(PARSER.samples), share=st.floats(0, 1))
def test_any_cut(sample: Sample, share: float) -> None:
    check_cut(PARSER, sample.text, int(share * len(sample.text)), DERIVED)


@settings(max_examples=10, deadline=None)
@given(at=st.integers(0, len(WHOLE)), byte=st.integers(0, 255))
def test_any_garbled_byte(at: int, byte: int) -> None:
    check_garbled(PARSER, WHOLE, at, byte)


@settings(max_examples=12, deadline=None)
@given(st.text(max_size=200))
def test_any_text_after_a_known_head(tail: str) -> None:
    for head in ("[GIN] 2025/05/12 - 12:57:20 ", 'time=2025-05-12T12:56:10.500Z level=INFO source=a.go:1 msg="server config"'):
        text = head + tail
        check_counts(rows_of(PARSER, text)[1], text.replace("\0", "").replace("\ufeff", ""), "tail") if "\r" not in text else None
