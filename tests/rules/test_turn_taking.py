"""Turn-taking: confirmed only with a known serial split; the sum alone never more than fits."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.rules.idle_starvation import RULE as STARVED
from gpuverdict.rules.turn_taking import RULE

from .small_store import Rows, config, lines, samples, served, store_of, verdict

THIRDS = {"util_gpu": lambda s, g: (33.0, 35.0, 31.0)[g] + (s + g) % 3 - 1}


def given(**facts: str) -> list[dict[str, object]]:
    return [{"source_id": 9, "key": k, "value": v, "num": None} for k, v in facts.items()]


@pytest.mark.parametrize(
    ("split", "values", "seconds", "expected"),
    [
        ("layer", THIRDS, 20, "confirmed"),
        (None, THIRDS, 20, "fits"),
        ("tensor", THIRDS, 20, "ruled-out"),
        ("data", THIRDS, 20, "ruled-out"),
        ("row", THIRDS, 20, "not-applicable"),
        ("layer", THIRDS, 8, "cannot-tell"),
        ("layer", {"util_gpu": 60.0}, 20, "cannot-tell"),
        ("layer", {"util_gpu": lambda s, g: (97.0, 2.5, 2.5)[g]}, 20, "cannot-tell"),
        (None, {"util_gpu": 60.0}, 20, "cannot-tell"),
        ("layer", {"util_gpu": 20.0}, 20, "confirmed"),
    ],
)
def test_three_cards_bound_to_one_stream(split: str | None, values: dict[str, object], seconds: int, expected: str) -> None:
    more = {"given": given(split=split)} if split else {}
    store = store_of(during={1: "c=1"}, zone={1: "none"}, gpu_samples=[{**r, "time": None} for r in samples(seconds, 3, **values)], **more)
    assert verdict(RULE, store, "c=1").verdict == expected


def test_samples_that_nothing_ties_to_the_load_only_fit() -> None:
    store = store_of(zone={1: "none"}, gpu_samples=[{**r, "time": None} for r in samples(20, 3, **THIRDS)], given=given(split="layer"))
    assert verdict(RULE, store).verdict == "fits"


def test_a_pipeline_with_many_streams_is_not_confirmed() -> None:
    store = store_of(during={1: "c=8"}, gpu_samples=samples(20, 3, **THIRDS), given=given(split="pipeline"))
    assert verdict(RULE, store, "c=8").verdict == "fits"


def test_a_missing_card_cannot_be_confirmed() -> None:
    store = store_of(
        during={1: "c=1", 0: "c=1"},
        gpu_samples=samples(20, 2, util_gpu=48.0),
        requests=served([(1000.0, 1020.0)]),
        server_config=config(split="layer", split_devices=3, server="llama.cpp"),
    )
    assert verdict(RULE, store, "c=1").verdict == "fits"


def test_another_process_on_the_cards_keeps_it_open() -> None:
    processes = [
        {"source_id": 1, "line": n, "gpu": 0, "cycle": n // 2, "pid": 100 + n % 2, "kind": "C", "util_gpu": 20.0} for n in range(20)
    ]
    store = store_of(during={1: "c=1"}, gpu_samples=samples(20, 3, **THIRDS), gpu_processes=processes, given=given(split="layer"))
    assert verdict(RULE, store, "c=1").verdict == "fits"


def test_an_idle_card_that_serves_nothing_is_no_missing_stage() -> None:
    values = {"util_gpu": lambda s, g: (33.0, 35.0, 31.0, 0.0)[g]}
    store = store_of(during={1: "c=1"}, gpu_samples=samples(20, 4, **values), given=given(split="layer"))
    assert verdict(RULE, store, "c=1").verdict == "confirmed"


def test_prefill_is_left_out_where_the_server_tells_phases_apart() -> None:
    """Prefill of a layer split is pipelined: 210 % there, 100 % in decode. The mean over both would rule nothing in."""
    spans = [(1000.0 + 60 * k, 1050.0 + 60 * k) for k in range(6)]
    requests = [{**r, "prompt_ms": 20_000.0, "decode_ms": 30_000.0} for r in served(spans)]
    values = {"util_gpu": lambda s, g: 70.0 if s % 60 < 20 else 33.0}
    rows = list(samples(360, 3, start=1000.0, **values))
    store = store_of(gpu_samples=rows, requests=requests, server_config=config(split="layer", server="llama.cpp"))
    found = verdict(RULE, store, "1 running")
    assert found.verdict == "confirmed" and 95 < found.numbers["util_sum"] < 103


@pytest.mark.parametrize(
    ("every", "split", "expected"),
    [(12, "layer", "confirmed"), (12, None, "fits"), (4, "layer", "cannot-tell"), (12, "tensor", "ruled-out")],
)
def test_single_rounds_of_prefill_are_left_out_where_nothing_tells_phases(every: int, split: str | None, expected: str) -> None:
    """A round of 225 % between rounds of 99 %; a fourth of such rounds is more than prompts between answers."""
    values = {"util_gpu": lambda s, g: 75.0 if s % every == every - 1 else 33.0}
    more = {"given": given(split=split)} if split else {}
    store = store_of(during={1: "c=1"}, zone={1: "none"}, gpu_samples=[{**r, "time": None} for r in samples(60, 3, **values)], **more)
    found = verdict(RULE, store, "c=1")
    assert found.verdict == expected
    assert (found.numbers["util_sum"] == 99) is (every == 12)


@pytest.mark.parametrize(("stage_s", "expected"), [(2, "confirmed"), (1000, "cannot-tell")])
def test_cards_seen_to_work_one_after_the_other_inside_single_requests(stage_s: int, expected: str) -> None:
    """Stages of 2 s at samples of 1 s alternate inside a request; cards that change only between requests do not."""
    spans = [(1000.0 + 60 * k, 1050.0 + 60 * k) for k in range(6)]
    values = {"util_gpu": lambda s, g: 97.0 if (s // stage_s if stage_s < 60 else s // 60) % 2 == g else 2.0}
    store = store_of(gpu_samples=samples(360, 2, start=1000.0, **values), requests=served(spans))
    found = verdict(RULE, store, "1 running")
    assert found.verdict == ("confirmed" if expected == "confirmed" else "fits")


@pytest.mark.parametrize(
    "of_the_model",
    [
        {"server_config": config(split="layer", split_devices=2, server="llama.cpp")},
        {"given": [*given(split="layer"), {"source_id": 9, "key": "gpu.count", "value": "2", "num": 2.0}]},
    ],
)
def test_a_card_that_the_model_does_not_run_on_keeps_the_sum_open(of_the_model: dict[str, Rows]) -> None:
    """Two cards of the model and a third with another job add up to 100 % by chance."""
    during = {1: "c=1", 0: "c=1"}
    found = verdict(
        RULE,
        store_of(
            during=during, gpu_samples=samples(20, 3, mem_used=20_000.0, **THIRDS), requests=served([(1000.0, 1020.0)]), **of_the_model
        ),
        "c=1",
    )
    assert found.verdict == "fits" and "on 2 cards, 3 are at work" in found.sentence
    halves = samples(20, 2, mem_used=20_000.0, util_gpu=49.0)
    assert (
        verdict(RULE, store_of(during=during, gpu_samples=halves, requests=served([(1000.0, 1020.0)]), **of_the_model), "c=1").verdict
        == "confirmed"
    )


def test_a_card_of_another_job_rules_nothing_out() -> None:
    """One and a half cards of work, the half of it on a card that the model is not on."""
    processes = [
        {"source_id": 1, "line": n, "gpu": n % 3, "cycle": n // 3, "pid": 100 + n % 3, "kind": "C", "util_gpu": 20.0} for n in range(60)
    ]
    tables: dict[str, Rows] = {"gpu_processes": processes, "server_config": config(split="layer", split_devices=2, server="llama.cpp")}
    store = store_of(
        during={1: "c=1", 0: "c=1"},
        gpu_samples=samples(20, 3, util_gpu=lambda s, g: (50.0, 48.0, 90.0)[g]),
        requests=served([(1000.0, 1020.0)]),
        **tables,
    )
    assert verdict(RULE, store, "c=1").verdict == "fits"
    assert verdict(STARVED, store, "c=1").verdict != "ruled-out", "the other job keeps the sum above the line"


def test_a_card_that_draws_the_desktop_is_no_stage() -> None:
    desktop = {"util_gpu": lambda s, g: (48.0, 49.0, 1.0 + s % 5)[g], "mem_used": lambda s, g: (22_000.0, 22_000.0, 400.0)[g]}
    found = verdict(RULE, store_of(during={1: "c=1"}, gpu_samples=samples(20, 3, **desktop), given=given(split="layer")), "c=1")
    assert found.verdict == "confirmed" and found.sentence.startswith("The 2 cards take turns.")


@pytest.mark.parametrize(
    ("cards", "util", "mem"),
    [
        (8, lambda s, g: 4.0, lambda s, g: 5000.0),  # eight stages with a lot of idle time
        (3, lambda s, g: (44.0, 44.0, 12.0)[g], lambda s, g: (22_000.0, 22_000.0, 1500.0)[g]),  # a small stage works more than a desktop
        (3, lambda s, g: (48.0, 49.0, 3.0)[g], lambda s, g: None),  # nothing says what the third card is
    ],
)
def test_small_stages_stay_stages(cards: int, util: Any, mem: Any) -> None:
    found = verdict(
        RULE, store_of(during={1: "c=1"}, gpu_samples=samples(20, cards, util_gpu=util, mem_used=mem), given=given(split="layer")), "c=1"
    )
    assert found.verdict == "confirmed" and found.numbers["cards"] == cards


def test_a_stage_with_next_to_no_layers_counts_where_the_log_names_its_card() -> None:
    tiny = {"util_gpu": lambda s, g: (48.0, 46.0, 4.0)[g], "mem_used": lambda s, g: (22_000.0, 22_000.0, 900.0)[g]}
    store = store_of(
        during={1: "c=1", 0: "c=1"},
        gpu_samples=samples(20, 3, **tiny),
        requests=served([(1000.0, 1020.0)]),
        server_config=config(split="layer", split_devices=3, server="llama.cpp"),
    )
    found = verdict(RULE, store, "c=1")
    assert found.verdict == "confirmed" and found.numbers["cards"] == 3


def counted_changes(spans: list[tuple[float, float]], stage_s: int, seconds: int = 120) -> str:
    """Two cards that work in turns, recorded on a clock that nothing ties to the log's."""
    rows = samples(seconds, 2, start=9e6, util_gpu=lambda s, g: 97.0 if (s // stage_s) % 2 == g else 2.0)
    store = store_of(during={1: "c=1"}, zone={0: "since-start", 1: "local-no-zone"}, gpu_samples=rows, requests=served(spans))
    return verdict(RULE, store, "c=1").verdict


def test_changes_of_cards_are_counted_where_no_clock_ties_them_to_requests() -> None:
    two = [(1000.0, 1060.0), (1060.0, 1120.0)]
    assert counted_changes(two, stage_s=2) == "confirmed"
    assert counted_changes(two, stage_s=20) == "fits", "three changes per request: the cards may serve one request each"
    assert counted_changes([(1000.0 + 2 * n, 1002.0 + 2 * n) for n in range(60)], stage_s=2) == "fits", "as many requests as changes"
    assert counted_changes([(1000.0, 1060.0), (1030.0, 1090.0)], stage_s=2) == "fits", "two requests at a time"
    assert counted_changes([(1000.0, 1020.0), (1020.0, 1040.0)], stage_s=2) == "fits", "the log tells of a third of the recorded time"


@pytest.mark.parametrize(("running", "expected"), [(1.0, "confirmed"), (2.0, "fits")])
def test_a_pipeline_that_runs_more_requests_than_stated(running: float, expected: str) -> None:
    # the log of the same server is not tied to the recording in time
    told = lines(20, source_id=0, start=9000.0, running=running, waiting=0.0, gen_tok_s=50.0)
    settings = config(source_id=0, server="vllm", split="pipeline", pipeline_parallel=2, tensor_parallel=1, data_parallel=1)
    store = store_of(during={1: "c=1"}, gpu_samples=samples(20, 2, util_gpu=52.0), server_config=settings, server_samples=told)
    assert verdict(RULE, store, "c=1").verdict == expected


@pytest.mark.parametrize(("other", "expected"), [(None, "confirmed"), (1000.0, "fits"), (2000.0, "confirmed")])
def test_two_servers_at_the_same_time_share_the_cards(other: float | None, expected: str) -> None:
    requests = served([(1000.0, 1020.0)], source_id=0)
    if other:
        requests += served([(other, other + 20.0)], source_id=2)
    bound = {1: "c=1", 0: "c=1", **({2: "c=1"} if other else {})}
    store = store_of(during=bound, gpu_samples=samples(20, 3, **THIRDS), requests=requests, given=given(split="layer"))
    assert verdict(RULE, store, "c=1").verdict == expected


@pytest.mark.parametrize(("split", "says"), [("tensor", "every card works on every token"), ("data", "requests of its own")])
def test_what_a_parallel_split_means(split: str, says: str) -> None:
    store = store_of(during={1: "c=1"}, gpu_samples=samples(20, 3, **THIRDS), given=given(split=split))
    assert says in verdict(RULE, store, "c=1").sentence
