"""/slots and /props: shapes by version, polls, times, what does not count as slots, cut and garbled input."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gpuverdict.engine.parser import Claim
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples, rows_of
from gpuverdict.parsers.llama_snapshots import PARSER
from open_ended import document_tests, written

SLOT = {"id": 0, "n_ctx": 4096, "is_processing": True, "prompt": "secret words"}


def _config(text: str) -> dict[str, Any]:
    return {r["key"]: r["num"] if r["num"] is not None else r["value"] for r in rows_of(PARSER, text)[0].get("server_config", [])}


def test_samples() -> None:
    check_samples(PARSER)
    for sample in PARSER.samples:
        assert isinstance(PARSER.claims(Source.from_text(sample.text).head()), Claim)


def test_other_json_is_not_claimed() -> None:
    for text in ('[{"id":0,"name":"x"}]', '{"id":1,"state":"done"}', '{"slots":4}', '{"choices":[]}', "is_processing n_ctx", "[1,2]"):
        assert PARSER.claims(Source.from_text(text + "\n").head()) is None


@pytest.mark.parametrize(("ids", "slots"), [([0, 1, 2], 3.0), ([2, 0, 1], 3.0), ([1, 2], None), ([0, 0], None), ([0], 1.0)])
def test_slots_only_of_a_whole_list(ids: list[int], slots: float | None) -> None:
    assert _config(json.dumps([{**SLOT, "id": i} for i in ids]) + "\n").get("slots") == slots


def test_slots_of_different_size_have_no_common_context() -> None:
    assert "n_ctx_slot" not in _config(json.dumps([SLOT, {**SLOT, "id": 1, "n_ctx": 64}]) + "\n")


def test_pretty_and_compact_agree_and_prompts_stay_out() -> None:
    slots = [SLOT, {**SLOT, "id": 1, "is_processing": False}]
    one, two = rows_of(PARSER, json.dumps(slots) + "\n")[0], rows_of(PARSER, json.dumps(slots, indent=2) + "\n")[0]
    assert one == two and "secret" not in str(one) and one["server_samples"][0]["running"] == 1.0


def test_polls_keep_their_times() -> None:
    text = "".join(f"{1789000000 + i}\n{json.dumps([{**SLOT, 'is_processing': i % 2 == 0}])}\n" for i in range(3))
    rows, counts = rows_of(PARSER, text)
    assert [(r["time"], r["running"]) for r in rows["server_samples"]] == [(1789000000.0, 1.0), (1789000001.0, 0.0), (1789000002.0, 1.0)]
    assert counts.matched == 6 and rows["clocks"][0]["kind"] == "utc"


def test_time_of_the_file_for_one_answer_only() -> None:
    text = json.dumps([SLOT]) + "\n"
    assert (
        written(PARSER, text, "slots.json")["server_samples"][0]["time"] == 1789000000.5
        and written(PARSER, text, "slots.json")["clocks"][0]["method"] == "file time"
    )
    assert written(PARSER, text + text, "slots.json")["server_samples"][0]["time"] is None
    assert written(PARSER, text, "slots.json", mtime_kind="copied")["clocks"][0]["kind"] == "none"


def test_metrics_beat_the_count_of_slots() -> None:
    text = json.dumps({"metrics": {"llamacpp:requests_processing": 3, "llamacpp:kv_cache_usage_ratio": 2.0}, "slots": [SLOT]}) + "\n"
    (row,) = rows_of(PARSER, text)[0]["server_samples"]
    assert row["running"] == 3.0 and row.get("kv_usage") is None


def test_props_of_a_stranger_give_nothing() -> None:
    rows, _ = rows_of(PARSER, '{"total_slots": 4, "default_generation_settings": 5}\n{"total_slots": true}\n')
    assert rows == {}


def test_build_and_quantisation_are_words_of_the_format() -> None:
    props = {"default_generation_settings": {"n_ctx": 64}, "total_slots": 1, "build_info": "b1-unknown", "model_ftype": "my private name"}
    assert set(_config(json.dumps(props) + "\n")) == {"slots", "slots_source", "n_ctx_slot"}


test_any_block_size_gives_the_same, test_any_cut_invents_nothing, test_any_garbled_byte_raises_nothing = document_tests(PARSER)
