"""Comparisons: factors, repeats, noise."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.result import Finding
from gpuverdict.rules.confounded import RULE

from .small_store import Rows, config, findings, served, store_of


def table(series: str | None, totals: dict[float, list[float]], source_id: int = 3, first: int = 1, **more: Any) -> Rows:
    """Rows of one series: streams -> totals of its runs."""
    return [
        {"source_id": source_id, "line": first + 10 * i + j, "series": series, "concurrency": c, "aggregate_tok_s": x, **more}
        for i, (c, runs) in enumerate(totals.items())
        for j, x in enumerate(runs)
    ]


def judged(rows: Rows, label: str, **tables: Rows) -> Finding:
    return findings(RULE, store_of(bench_steps=rows, **tables))[label]


AB = table("plain", {1.0: [130.0], 64.0: [3800.0]}) + table("tree", {1.0: [285.0], 64.0: [3700.0]}, first=500)


def test_one_series_of_one_server_has_no_comparison() -> None:
    assert judged(table(None, {1.0: [24.0], 2.0: [40.0]}), "c=1", server_config=config(slots=4)).verdict == "not-applicable"


def test_one_run_per_arm_within_the_noise_is_confirmed() -> None:
    found = judged(AB, "plain/c=64")
    assert found.verdict == "confirmed"
    assert found.numbers["single_difference"] == pytest.approx(3800 / 3700 - 1, abs=0.002)


def test_one_run_per_arm_far_apart_is_not_decided() -> None:
    assert judged(AB, "plain/c=1").verdict == "cannot-tell"


def test_series_that_share_no_number_of_streams_are_confounded() -> None:
    found = judged(table("before", {64.0: [880.0]}) + table("after", {1024.0: [3740.0]}, first=500), "before/c=64")
    assert found.verdict == "confirmed"
    assert found.numbers["table_factors"][0] == 2


def test_parts_of_a_name_are_factors() -> None:
    two = table("tp8, graphs on", {4.0: [100.0]}) + table("tp4, graphs off", {4.0: [300.0]}, first=500)
    one = table("tp8, graphs on", {4.0: [100.0]}) + table("tp8, graphs off", {4.0: [300.0]}, first=500)
    assert judged(two, "tp8, graphs on/c=4").verdict == "confirmed"
    assert judged(one, "tp8, graphs on/c=4").verdict == "cannot-tell"


@pytest.mark.parametrize("other_file", [False, True])
def test_lengths_that_a_name_may_say_are_one_factor(other_file: bool) -> None:
    """Rows of one benchmark that do other work are no comparison; two files may be one."""
    second = table("pp128 tg256", {4.0: [300.0]}, first=500, output_len=256.0, source_id=4 if other_file else 3)
    rows = table("pp128 tg128", {4.0: [100.0]}, output_len=128.0) + second
    assert judged(rows, "pp128 tg128/c=4").verdict == ("cannot-tell" if other_file else "not-applicable")


def test_fillings_of_a_cache_measured_one_after_the_other_show_no_noise() -> None:
    fillings = [table(f"n_kv {n}", {1.0: [25.0 - n / 4096]}, first=100 + n, input_len=float(n)) for n in (0, 512, 1024)]
    assert judged([row for rows in fillings for row in rows], "n_kv 512/c=1").verdict == "not-applicable"


@pytest.mark.parametrize(("lengths", "expected"), [((22016.0, 22528.0), "not-applicable"), ((22016.4, 22528.7), "confirmed")])
def test_lengths_near_to_each_other_are_other_work_where_they_were_asked_for(lengths: tuple[float, float], expected: str) -> None:
    """In one file whole lengths are what was asked for; the means of what was sent differ by chance."""
    rows = [table(f"n_kv {n}", {1.0: [60.0 - n / 10]}, first=100 * n + 100, input_len=at) for n, at in enumerate(lengths)]
    assert judged([row for part in rows for row in part], "n_kv 0/c=1").verdict == expected


def test_generation_beside_prompts_and_generation_is_no_comparison() -> None:
    rows = table("tg128", {1.0: [36.0]}, input_len=0.0, output_len=128.0, aggregate_counts="output")
    both = table("pp4096+tg128", {1.0: [180.0]}, first=500, input_len=4096.0, output_len=128.0, aggregate_counts="total")
    assert judged(rows + both, "tg128/c=1").verdict == "not-applicable"


@pytest.mark.parametrize("peers", [False, True])
def test_other_lengths_count_where_nothing_has_the_same(peers: bool) -> None:
    rows = table("fp8, tp2", {4.0: [300.0]}, input_len=1000.0) + table("bf16, tp4", {4.0: [100.0]}, first=500, input_len=8000.0)
    rows += table("fp8, tp4", {4.0: [500.0]}, first=900, input_len=1000.0) if peers else []
    found = judged(rows, "fp8, tp2/c=4")
    assert found.verdict == ("cannot-tell" if peers else "confirmed")


def test_streams_that_a_name_says_are_one_factor() -> None:
    rows = table("64 users", {64.0: [880.0]}) + table("1024 users", {1024.0: [3740.0]}, first=500)
    assert judged(rows, "64 users/c=64").verdict == "cannot-tell"


def test_totals_that_count_other_tokens_are_a_factor_of_their_own() -> None:
    rows = table("a", {4.0: [100.0]}, aggregate_counts="output") + table("b", {4.0: [300.0]}, first=500, aggregate_counts="total")
    assert judged(rows, "a/c=4").verdict == "confirmed"


def servers(**changed: Any) -> Rows:
    base = {
        "tensor_parallel": 8,
        "expert_parallel": 1,
        "speculation": "off",
        "slots": 128,
        "slots_source": "arguments",
        "quantisation": "int4",
        "eager": "False",
    }
    return config(source_id=5, server="sglang", **base) + config(source_id=6, server="sglang", **{**base, **changed})


def test_two_server_logs_that_differ_in_several_settings() -> None:
    found = judged(AB, "plain/c=1", server_config=servers(expert_parallel=8, slots=256, speculation="on"))
    assert found.verdict == "confirmed"
    assert found.numbers["settings_differ"] == 3
    assert "expert parallelism, slots, speculation" in found.sentence


@pytest.mark.parametrize(("benches", "compared"), [((), 2), ((5,), 0), ((5, 6), 2)])
def test_a_benchmark_in_its_own_process_and_a_server_are_no_two_arms(benches: tuple[int, ...], compared: int) -> None:
    """llama-bench prints its settings as a server does: that they differ from those of a server's log compares nothing."""
    rows = [{"source_id": s, "line": 70, "concurrency": 1.0, "aggregate_tok_s": 50.0} for s in benches]
    store = store_of(bench_steps=rows, server_config=servers(expert_parallel=8, slots=256, speculation="on"))
    assert [r["factors"] for r in store.rows_of("SELECT factors FROM main.server_differences")] == [3] * compared


def test_settings_that_follow_from_one_another_count_once() -> None:
    assert judged(AB, "plain/c=1", server_config=servers(tensor_parallel=4, split="tensor")).verdict == "fits"
    assert (
        judged(AB, "plain/c=1", server_config=servers(slots=48, slots_source="derived", speculation="on", draft_tokens=4)).verdict == "fits"
    )
    assert judged(AB, "plain/c=1", server_config=servers()).verdict == "cannot-tell"


def both_logged(a: list[float], b: list[float], build: int, **more: Any) -> Finding:
    """Two series, each served by a log of its own; files bound to their steps."""
    settings = {"n_ctx": 8192, "n_batch": 2048, "flash_attn": "enabled", "layers_offloaded": 81, "eager": "False"}
    logs = config(source_id=5, server="llama.cpp", build=7000, **settings) + config(
        source_id=6, server="llama.cpp", build=build, **{**settings, **more}
    )
    rows = table("old", {4.0: a}) + table("new", {4.0: b}, first=500)
    requests = served([(1000.0, 1010.0)], source_id=5) + served([(2000.0, 2010.0)], source_id=6)
    store = store_of(during={5: "old/c=4", 6: "new/c=4"}, bench_steps=rows, server_config=logs, requests=requests)
    return findings(RULE, store)["old/c=4"]


def test_a_clean_comparison_is_ruled_out() -> None:
    found = both_logged([100.0, 101.0, 99.0, 100.5, 99.5], [120.0, 121.0, 119.0, 120.5, 119.5], 7400)
    assert found.verdict == "ruled-out"
    assert found.numbers["noise_floor"] == pytest.approx(0.01, abs=0.005)


def test_repeats_that_do_not_differ_show_no_difference() -> None:
    found = both_logged([100.0, 104.0, 97.0], [101.0, 98.0, 103.0], 7400)
    assert found.verdict in ("cannot-tell", "fits")


def test_two_changes_are_confounded_however_large_the_difference() -> None:
    assert both_logged([100.0, 101.0, 99.0], [150.0, 151.0, 149.0], 7400, eager="True").verdict == "confirmed"


def test_a_setting_that_may_follow_from_another_neither_confirms_nor_lets_rule_out() -> None:
    assert both_logged([100.0, 101.0, 99.0], [150.0, 151.0, 149.0], 7400, flash_attn="disabled").verdict == "fits"


def test_two_runs_per_arm_are_not_enough_to_rule_out() -> None:
    assert both_logged([100.0, 101.0], [150.0, 151.0], 7400).verdict != "ruled-out"
