"""Roofs: what is impossible voids a rule, and bandwidth, cards and bytes are those of the run."""

from __future__ import annotations

from typing import Any

import pytest
from gpuverdict.engine.store import Store
from gpuverdict.rules.compute_bound import RULE as COMPUTE
from gpuverdict.rules.link_bandwidth import RULE as LINK
from gpuverdict.rules.link_latency import RULE as LATENCY
from gpuverdict.rules.memory_bound import RULE as MEMORY

from .small_store import Rows, config, lines, samples, served, store_of, verdict

CARD = {"source_id": 6, "gpu": 0, "name": "NVIDIA GeForce RTX 3090", "memory_mib": 24576.0}
SERVER = "NVIDIA A100-SXM4-80GB"
DENSE = {
    "source_id": 9,
    "section": 0,
    "params_total_b": 8.0,
    "bits_per_weight": 8.0,
    "file_bytes": 8e9,
    "experts": 0.0,
    "layers": 32.0,
    "hidden": 4096.0,
    "kv_bytes_per_token": 131072.0,
}


def facts_of(**stated: float | str) -> Rows:
    out = []
    for line, (key, value) in enumerate(stated.items(), 1):
        num = float(value) if isinstance(value, int | float) else None
        out.append({"source_id": 8, "line": line, "key": key.replace("__", "."), "value": str(value), "num": num})
    return out


def step(rate: float, concurrency: float = 1.0, streams_rate: float | None = None, **more: Any) -> Rows:
    """One step of a sweep with its total and the decode rate of one stream."""
    one = streams_rate or rate / concurrency
    return [
        {"source_id": 6, "series": "s", "concurrency": concurrency, "aggregate_tok_s": rate, "aggregate_counts": "output",
         "per_stream_tok_s": one, "per_stream_counts": "decode", **more}
    ]  # fmt: skip


def one_stream(rate: float, model: dict[str, Any] = DENSE, given: dict[str, Any] | None = None, **tables: Any) -> Store:
    facts = facts_of(**{"speculation": "off", "ctx_max": 500, "gpu.count": 1, **(given or {})})
    return store_of(models=[model], given=facts, bench_steps=step(rate), **{"gpus": [CARD], **tables})


def view(store: Store, name: str, label: str) -> dict[str, Any]:
    (row,) = store.rows_of(f"SELECT v.* FROM main.{name} v JOIN main.scopes s USING (scope_id) WHERE s.label = '{label}'")
    return row


# --- what no card can do ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rate", "expected"), [(95.0, "confirmed"), (115.0, "confirmed"), (250.0, "cannot-tell")])
def test_more_than_the_card_can_move_confirms_nothing(rate: float, expected: str) -> None:
    found = verdict(MEMORY, one_stream(rate), "c=1")
    assert found.verdict == expected
    assert ("more than the card can move" in found.sentence) == (expected == "cannot-tell")


V100 = {"source_id": 9, "gpu": 0, "name": "Tesla V100-SXM2-16GB", "memory_mib": 16384.0}


def beside_a_recording(cards: int = 1, recorded: int = 1, unnamed: bool = False, **more: Any) -> Store:
    """A sweep of 95 tok/s bound to a recording (source 4) of `recorded` cards, beside a list (source 9) of `cards` cards."""
    named = [{**V100, "gpu": n, "line": n + 1} for n in range(cards)]
    if not unnamed:
        named += [{**CARD, "source_id": 4, "line": 90}]
    return one_stream(95.0, gpus=named, gpu_samples=samples(30, recorded, source_id=4, util_gpu=99.0), during={4: "c=1"}, **more)


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        (one_stream(95.0, gpus=[CARD]), "confirmed"),  # the benchmark's own output names it
        (one_stream(95.0, gpus=[{**CARD, "source_id": 9}]), "fits"),  # a file of nobody knows which machine
        (one_stream(95.0, gpus=[CARD, V100]), "confirmed"),  # another machine's card does not count beside the one that was used
        (one_stream(95.0, gpus=[V100]), "fits"),
        (beside_a_recording(), "confirmed"),  # recorded in the load, by its name
        (beside_a_recording(unnamed=True), "confirmed"),  # recorded without a name, beside a list of as many cards
        (beside_a_recording(unnamed=True, cards=4), "fits"),
    ],
)
def test_a_card_counts_where_its_file_is_of_the_run(store: Store, expected: str) -> None:
    """One that only lies in the same folder may be of another machine: what is slower there is at its limit, and what is faster far from it."""
    found = verdict(MEMORY, store, "c=1")
    assert found.verdict == expected
    if expected == "fits":
        assert "nothing ties the file that names the cards" in found.because


DAY = 86400.0


@pytest.mark.parametrize(
    ("before_s", "clock", "grade"),
    [
        (600.0, "utc", 4),
        (-600.0 - 200.0, "utc", 4),
        (0.5 * DAY, "local-no-zone", 4),
        (9 * DAY, "utc", 2),
        (-9 * DAY, "utc", 2),
        # its time is none that the load could be compared with
        (600.0, "since-start", 2),
    ],
)
def test_a_snapshot_counts_for_a_load_of_the_same_days(before_s: float, clock: str, grade: int) -> None:
    """nvidia-smi before the server is started, or when all is over: seldom is it that of another machine."""
    begin = 30 * DAY
    snapshot = {"source_id": 9, "gpu": 0, "cycle": 0, "time": begin - before_s, "util_gpu": 0.0}
    store = store_of(
        zone={9: clock}, gpus=[{**CARD, "source_id": 9}], gpu_samples=[snapshot], models=[DENSE],
        given=facts_of(**{"gpu.count": 1, "speculation": "off"}), server_config=config(split="none"),
        server_samples=lines(20, start=begin, running=1.0, waiting=0.0, gen_tok_s=20.0),
    )  # fmt: skip
    (row,) = store.rows_of(
        "SELECT e.grade FROM main.scope_evidence e JOIN main.scopes s USING (scope_id) WHERE input = 'roof' AND s.label = '1 running'"
    )
    assert row["grade"] == grade


def test_buffers_of_another_server_are_not_this_one_s() -> None:
    """Three devices hold the model of a llama.cpp that only started; the vLLM that served says nothing about its cards."""
    buffers = [
        {**row, "value": f"CUDA{n}", "num": 5000.0, "line": n}
        for n in range(3)
        for row in config(source_id=3, server="llama.cpp", device_model_mib=1)
    ]
    served = config(source_id=0, slots=8) + buffers
    store = store_of(models=[DENSE], server_config=served, server_samples=lines(20, running=1.0, waiting=0.0, gen_tok_s=20.0))
    assert view(store, "model_cards", "1 running")["cards_hi"] is None


@pytest.mark.parametrize(("during", "cards"), [({}, None), ({3: "c=1"}, 1)])
def test_the_number_of_cards_is_not_taken_from_a_recording_of_another_machine(during: dict[int, str], cards: float | None) -> None:
    """One card, recorded nobody knows when, beside a tensor split of unknown width: over a single card nothing would have to be reduced."""
    seen = samples(30, 1, source_id=3, util_gpu=90.0)
    store = store_of(
        models=[DENSE], bench_steps=step(20.0), gpu_samples=seen, during=during, zone={3: "none"}, given=facts_of(split="tensor"),
        server_samples=lines(20, running=1.0, waiting=0.0, gen_tok_s=20.0),
    )  # fmt: skip
    assert view(store, "model_cards", "c=1")["cards_hi"] == cards


def test_no_time_is_budgeted_with_facts_that_are_not_of_one_run() -> None:
    count = "SELECT count(*) AS n FROM main.budget b JOIN main.scopes s USING (scope_id) WHERE s.label = 'c=1'"
    assert one_stream(95.0).rows_of(count)[0]["n"] > 0
    assert one_stream(250.0).rows_of(count)[0]["n"] == 0


def test_the_budget_and_the_share_of_the_bandwidth_are_one_interval() -> None:
    store = one_stream(20.0)
    share = view(store, "step_bytes", "c=1")
    (memory,) = store.rows_of(
        "SELECT b.* FROM main.budget b JOIN main.scopes s USING (scope_id) WHERE s.label = 'c=1' AND component = 'memory'"
    )
    assert memory["hi_ms"] / memory["step_lo_ms"] == pytest.approx(share["mbu_hi"] / 0.75)
    assert memory["lo_ms"] / memory["step_hi_ms"] == pytest.approx(share["mbu_lo"] / 0.92)


def test_counters_of_another_machine_confirm_nothing_either() -> None:
    read = samples(30, 1, util_gpu=99.0, dram_active=0.8, tensor_active=0.1)
    plain, impossible = (one_stream(rate, gpu_samples=read, during={1: "c=1"}) for rate in (95.0, 250.0))
    assert (verdict(MEMORY, plain, "c=1").verdict, verdict(MEMORY, impossible, "c=1").verdict) == ("confirmed", "cannot-tell")


def test_more_than_the_cards_can_compute() -> None:
    # 8e9 x 2 x 60 000 / s are 960 TFLOPS on a card of 71, 568 at the most
    found = verdict(COMPUTE, one_stream(60000.0, given={"gpu.mem_bw_gb_s": 1e9}), "c=1")
    assert found.verdict == "cannot-tell" and "more than the cards can compute" in found.sentence


@pytest.mark.parametrize(("rule", "words"), [(LINK, "bytes of this split would take"), (LATENCY, "would take")])
def test_links_that_would_take_longer_than_the_step(rule: Any, words: str) -> None:
    # 64 collectives of 80 KB on eight cards without NVLink: 22 ms, and 18 GB/s over 0.5, in a step of 0.5 ms
    store = store_of(
        models=[{**DENSE, "hidden": 40960.0}],
        given=facts_of(**{"gpu.count": 8, "split": "tensor", "link.gb_s": 0.5, "gpu.mem_bw_gb_s": 1e6, "ctx_max": 500}),
        gpus=[{**CARD, "name": "NVIDIA GeForce RTX 4090"}],
        bench_steps=step(2000.0),
    )
    found = verdict(rule, store, "c=1")
    assert found.verdict == "cannot-tell" and words in found.sentence


@pytest.mark.parametrize(("hidden", "low", "expected"), [(4096.0, 64.9, "fits"), (None, 45.0, "cannot-tell")])
def test_a_message_of_unknown_size_may_be_small(hidden: float | None, low: float, expected: str) -> None:
    """64 collectives on eight cards in a step of 20 ms: at 344 us each they would take all of it and more."""
    store = store_of(
        models=[{**DENSE, "hidden": hidden}],
        given=facts_of(**{"gpu.count": 8, "split": "tensor"}),
        gpus=[{**CARD, "name": "NVIDIA GeForce RTX 4090"}],
        bench_steps=step(50.0),
    )
    assert view(store, "link_load", "c=1")["latency_us_lo"] == pytest.approx(low, abs=0.1)
    assert verdict(LATENCY, store, "c=1").verdict == expected


def test_fast_memory_of_eight_cards_without_names_has_no_switch() -> None:
    facts = facts_of(**{"gpu.count": 8, "split": "tensor"})
    for mhz, cards, low in ((14001.0, 8, 64.9), (2619.0, 8, 4.0), (None, 8, 4.0), (14001.0, 4, 4.0)):
        store = store_of(
            during={1: "c=1"},
            models=[{**DENSE}],
            given=[{**f, "num": float(cards)} if f["key"] == "gpu.count" else f for f in facts],
            bench_steps=step(50.0),
            gpu_samples=samples(20, cards, util_gpu=99.0, mem_clock=mhz),
        )
        assert view(store, "link_load", "c=1")["latency_us_lo"] == pytest.approx(low, abs=0.1), (mhz, cards)


# --- the bandwidth of the run ----------------------------------------------------------------------------------------------------


def clocked(mhz: Any, util: Any = 98.0, bound: bool = True, **given: Any) -> dict[str, Any]:
    read = samples(40, 1, source_id=7, util_gpu=util, mem_clock=mhz)
    store = one_stream(40.0, given=given, gpu_samples=read, during={7: "c=1"} if bound else {}, zone={} if bound else {7: "none"})
    return view(store, "roofs", "c=1")


@pytest.mark.parametrize(
    ("seen", "given", "low", "high"),
    [
        ({"mhz": 9751.0}, {}, 936, 936),
        ({"mhz": 5001.0}, {}, 480, 480),
        # more clock than the catalogue: bounded by it below
        ({"mhz": 10251.0}, {}, 936, 984),
        # what is stated holds as far as the clock allows it
        ({"mhz": 5001.0}, {"gpu.mem_bw_gb_s": 936}, 480, 480),
        ({"mhz": 9751.0}, {"gpu.mem_bw_gb_s": 800}, 800, 800),
        # idle readings, and a few on the way up, are no clock under load
        ({"mhz": lambda s, g: 405.0 if s < 20 else 9501.0, "util": lambda s, g: 0.0 if s < 20 else 98.0}, {}, 912, 912),
        ({"mhz": lambda s, g: 405.0 if s < 3 else 9501.0}, {}, 912, 912),
        # half of the load at half the clock: between both
        ({"mhz": lambda s, g: 5001.0 if s < 20 else 9501.0}, {}, 480, 912),
        # no unit of nvidia-smi
        ({"mhz": 19500.0}, {}, 936, 936),
        # not in this load: it only widens
        ({"mhz": 5001.0, "bound": False}, {}, 480, 936),
    ],
)
def test_the_clock_under_load_is_the_bandwidth(seen: dict[str, Any], given: dict[str, Any], low: float, high: float) -> None:
    row = clocked(**seen, **given)
    assert (row["bw_lo"], row["bw_hi"]) == (low, high)


def test_a_slow_clock_does_not_rule_memory_out() -> None:
    read = samples(40, 1, source_id=7, util_gpu=98.0, mem_clock=5001.0)
    assert verdict(MEMORY, one_stream(40.0, gpu_samples=read, during={7: "c=1"}), "c=1").verdict == "fits"
    assert verdict(MEMORY, one_stream(40.0), "c=1").verdict == "ruled-out"


def test_a_slice_of_a_card_has_no_bandwidth_in_the_catalogue() -> None:
    assert view(one_stream(40.0, gpus=[{**CARD, "mig": True}]), "roofs", "c=1")["bw_hi"] is None


# --- cards and copies ------------------------------------------------------------------------------------------------------------


def on_cards(cards: int, rate: float = 300.0, concurrency: float = 1.0, given: dict[str, Any] | None = None, **settings: Any) -> Store:
    read = samples(30, cards, source_id=7, util_gpu=98.0, mem_used=20000.0, mem_clock=1593.0)
    names = [{"source_id": 7, "gpu": n, "name": SERVER, "memory_mib": 81920.0} for n in range(cards)]
    label = f"c={concurrency:g}"
    facts = facts_of(speculation="off", ctx_max=500, **(given or {}))
    return store_of(
        during={7: label},
        models=[DENSE],
        given=facts,
        gpus=names,
        gpu_samples=read,
        bench_steps=step(rate, concurrency),
        server_config=config(**settings),
    )


@pytest.mark.parametrize(
    ("cards", "settings", "given", "low", "high", "copies"),
    [
        # eight cards are busy, four of them with another job
        (8, {"tensor_parallel": 4, "pipeline_parallel": 1, "split": "tensor"}, {}, 4, 4, 1),
        (8, {"tensor_parallel": 4, "split": "tensor"}, {"gpu.count": 8}, 4, 4, 1),
        (8, {"split_devices": 3, "split": "layer"}, {}, 3, 3, 1),
        (8, {"split": "tensor"}, {"gpu.count": 4}, 4, 4, 1),
        (8, {"split": "tensor"}, {}, 8, 8, 1),
        (4, {"tensor_parallel": 1, "data_parallel": 4, "split": "data"}, {}, 1, 1, 4),
        (4, {"tensor_parallel": 2, "data_parallel": 2}, {}, 2, 2, 2),
        # attention spread over the ranks of a tensor split is no second copy
        (4, {"tensor_parallel": 4, "data_parallel": 4, "dp_attention": "true", "split": "tensor"}, {}, 4, 4, 1),
        (4, {"split": "data"}, {}, 1, 1, 4),
        # what a log says that may be of another run only widens
        (8, {"tensor_parallel": 4, "split": "tensor", "origin": "estimated"}, {}, 4, 8, 1),
    ],
)
def test_how_many_cards_the_model_runs_on(
    cards: int, settings: dict[str, Any], given: dict[str, Any], low: float, high: float, copies: float
) -> None:
    row = view(on_cards(cards, given=given, **settings), "model_cards", "c=1")
    assert (row["cards_lo"], row["cards_hi"], row["copies_lo"], row["copies_hi"]) == (low, high, copies, copies)


def test_cards_that_cannot_hold_the_weights_are_not_all_there_are() -> None:
    seen = samples(30, 1, source_id=7, util_gpu=33.0)
    for size, cards in ((8e9, 1), (43e9, None)):
        store = store_of(models=[{**DENSE, "file_bytes": size}], gpus=[CARD], bench_steps=step(20.0), gpu_samples=seen, during={7: "c=1"})
        assert view(store, "model_cards", "c=1")["cards_hi"] == cards


def test_devices_that_a_server_names_are_the_most_it_uses() -> None:
    for devices, cards in ((["CUDA0"], (1, 1)), (["CUDA0", "CUDA1"], (1, 2))):
        named = [{"source_id": 0, "line": n, "device": d, "name": "NVIDIA GeForce RTX 3090"} for n, d in enumerate(devices)]
        row = view(store_of(models=[DENSE], gpus=named, bench_steps=step(20.0)), "model_cards", "c=1")
        assert (row["cards_lo"], row["cards_hi"]) == cards


def test_every_copy_reads_all_weights() -> None:
    # 8 GB 160 times a second on each of two cards of 2039 GB/s: 0.63 of the roof, 0.31 if the cards' bandwidths were added
    store = on_cards(2, rate=320.0, concurrency=2.0, tensor_parallel=1, data_parallel=2, split="data")
    assert view(store, "step_bytes", "c=2")["mbu_lo"] > 0.5
    assert verdict(MEMORY, store, "c=2").verdict in ("confirmed", "fits")


def test_cards_of_another_job_add_no_bandwidth() -> None:
    # 8 GB 600 times a second over four cards: 0.59 at the most; over eight it would be ruled out
    assert verdict(MEMORY, on_cards(8, rate=600.0, tensor_parallel=4, split="tensor"), "c=1").verdict == "fits"
    assert verdict(MEMORY, on_cards(8, rate=600.0, tensor_parallel=8, split="tensor"), "c=1").verdict == "ruled-out"


# --- bytes -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "unread"),
    [
        (DENSE, 262144 * 4096),
        ({**DENSE, "name": "Llama-3.1-8B"}, 128256 * 4096),
        # the output head reads a tied embedding
        ({**DENSE, "name": "Gemma-3-27B", "params_total_b": 27.4, "bits_per_weight": 64 / 27.4}, 0),
        ({**DENSE, "tied_embedding": True}, 0),
        # a vocabulary that the log tells, of at most 8.5 bit: never more than of the largest one at the average of the file
        ({**DENSE, "vocab": 32000.0}, 32000 * 4096 * 8.5 / 8),
        ({**DENSE, "vocab": 255000.0}, 262144 * 4096),
        # no width: at most 1.2 times the cube root of 11 P
        ({**DENSE, "hidden": None}, 262144 * 1.2 * (11 * 8e9) ** (1 / 3)),
    ],
)
def test_the_token_embedding_is_not_read(model: dict[str, Any], unread: float) -> None:
    row = view(one_stream(60.0, model), "roofs", "c=1")
    assert row["pass_bytes_lo"] == pytest.approx(8e9 - unread, rel=1e-6)
    assert row["pass_bytes_hi"] == 8e9


def test_a_rate_that_only_the_embedding_lifts_over_the_line_fits() -> None:
    # 72 x 8 GB are 0.615 of 936 GB/s, 0.53 without a possible embedding
    assert verdict(MEMORY, one_stream(72.0), "c=1").verdict == "fits"
    assert verdict(MEMORY, one_stream(90.0), "c=1").verdict == "confirmed"


def test_a_mixture_of_unknown_active_part_does_not_read_its_file() -> None:
    model = {**DENSE, "experts": 128.0, "experts_per_token": 8.0}
    row = view(one_stream(95.0, model), "roofs", "c=1")
    assert row["pass_bytes_lo"] <= 0.02 * 8e9
    assert verdict(MEMORY, one_stream(95.0, model), "c=1").verdict == "cannot-tell"


@pytest.mark.parametrize(
    ("name", "settings", "low", "high"),
    [
        ("Llama-3.1-8B", {"weights_gib_per_rank": 14.98, "tensor_parallel": 1}, 15.01e9, 16.09e9),
        ("Llama-3.1-8B", {"weights_gib_per_rank": 7.49, "tensor_parallel": 2}, 15.01e9, 16.09e9),
        ("Llama-3.1-8B", {"weights_gib": 14.98, "tensor_parallel": 1}, 15.01e9, 16.09e9),
        # four bits, the embedding still at 16
        ("Llama-3.1-8B", {"weights_gib_per_rank": 5.35, "tensor_parallel": 1, "quantisation": "awq"}, 4.69e9, 5.75e9),
        # two bits of a model that is not quantised: another model, or a part of it is elsewhere
        ("Llama-3.3-70B", {"weights_gib_per_rank": 1.87, "tensor_parallel": 8, "quantisation": "none"}, 14e9, 141.2e9),
        # not in the catalogue: may be a mixture
        (None, {"weights_gib_per_rank": 14.98, "tensor_parallel": 1}, 0.16e9, 16.09e9),
    ],
)
def test_weights_that_a_server_loaded(name: str | None, settings: dict[str, Any], low: float, high: float) -> None:
    store = store_of(
        models=[{"source_id": 0, "section": 0, "name": name, "quantisation": settings.get("quantisation", "none")}],
        given=facts_of(speculation="off", ctx_max=500),
        gpus=[{**CARD, "name": SERVER}],
        bench_steps=step(87.0),
        server_config=config(**settings),
    )
    row = view(store, "roofs", "c=1")
    assert row["pass_bytes_lo"] == pytest.approx(low, rel=0.01)
    assert row["pass_bytes_hi"] == pytest.approx(high, rel=0.01)


def test_ranks_that_nobody_tells_give_no_weights() -> None:
    store = store_of(
        models=[{"source_id": 0, "section": 0, "name": "Llama-3.1-8B"}],
        gpus=[CARD],
        bench_steps=step(87.0),
        server_config=config(weights_gib_per_rank=7.49),
    )
    assert view(store, "roofs", "c=1")["pass_bytes_hi"] is None


# --- batch, steps and length -----------------------------------------------------------------------------------------------------


def log_alone(slots: int | None, rate: float = 90.0, **settings: Any) -> Any:
    requests = [{**r, "decode_ms": 99 / rate * 1000, "prompt_tokens": 50.0} for r in served([(1000.0, 1010.0), (1020.0, 1030.0)])]
    settings = {"layers_offloaded": 33, "layers_total": 33, **settings}
    rows = config(server="llama.cpp", **settings, **({"slots": slots} if slots else {}))
    rows.append(
        {
            "source_id": 0,
            "line": 50,
            "server": "llama.cpp",
            "run": 0,
            "key": "device_model_mib",
            "value": "CUDA0",
            "num": 7629.0,
            "origin": "logged",
        }
    )
    names = [{"source_id": 0, "line": 60, "device": "CUDA0", "name": "NVIDIA GeForce RTX 3090"}]
    store = store_of(models=[{**DENSE, "source_id": 0}], requests=requests, server_config=rows, gpus=names, zone={0: "since-start"})
    return verdict(MEMORY, store)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ({"slots": 1}, "confirmed"),
        ({"slots": 1, "rate": 20.0}, "ruled-out"),
        # two slots may share a batch, and an unknown number may
        ({"slots": 2}, "cannot-tell"),
        ({"slots": None}, "cannot-tell"),
        # layers on the CPU: the cards' bandwidth rules nothing out
        ({"slots": 1, "rate": 20.0, "layers_offloaded": 20}, "cannot-tell"),
        ({"slots": 1, "rate": 20.0, "cpu_model_mib": 4000}, "cannot-tell"),
    ],
)
def test_a_server_log_alone(case: dict[str, Any], expected: str) -> None:
    assert log_alone(**case).verdict == expected


@pytest.mark.parametrize(("tool", "expected"), [("llama-bench", "confirmed"), ("vllm", "fits")])
def test_a_fixed_test_has_a_known_length_and_no_drafts(tool: str, expected: str) -> None:
    model = {
        **DENSE,
        "source_id": 6,
        "kv_bytes_per_token": None,
        "layers": None,
        "hidden": None,
        "experts": None,
        "params_total_b": 8.03,
        "arch": "llama",
    }
    rows = config(source_id=6, server=tool, n_gpu_layers=99)
    store = store_of(
        models=[model],
        gpus=[CARD],
        given=facts_of(**{"gpu.count": 1}),
        bench_steps=step(92.0, input_len=0.0, output_len=128.0),
        server_config=rows,
    )
    found = verdict(MEMORY, store, "c=1")
    assert found.verdict == expected
    if tool == "llama-bench":
        assert view(store, "step_bytes", "c=1")["kv_bytes_hi"] < 0.5e9


@pytest.mark.parametrize(("draft_tokens", "low"), [(3, 53.75), (None, None)])
def test_tokens_of_speculation_are_not_steps(draft_tokens: int | None, low: float | None) -> None:
    settings = {"speculation": "on", **({"draft_tokens": draft_tokens} if draft_tokens else {})}
    store = store_of(models=[DENSE], gpus=[CARD], given=facts_of(ctx_max=500), bench_steps=step(215.0), server_config=config(**settings))
    row = view(store, "pace", "c=1")
    assert (row["steps_lo"], row["steps_hi"]) == (low, 215.0)
    assert verdict(MEMORY, store, "c=1").verdict == "cannot-tell"


def model_of(store: Store) -> dict[str, Any]:
    (row,) = store.rows_of("FROM main.model_facts")
    return row


def test_what_only_one_of_two_models_tells_is_not_taken_for_the_other() -> None:
    draft = {
        **DENSE,
        "source_id": 10,
        "params_total_b": 1.24,
        "layers": 16.0,
        "hidden": 2048.0,
        "file_bytes": None,
        "bits_per_weight": None,
    }
    target = {**DENSE, "params_total_b": None, "file_bytes": None, "bits_per_weight": None}
    row = model_of(store_of(models=[target, draft]))
    assert (row["total_b"], row["active_b"], row["layers"], row["hidden"]) == (None, None, None, None)
    same = model_of(store_of(models=[target, {**DENSE, "source_id": 10}]))
    assert (same["total_b"], same["active_b"], same["layers"]) == (8.0, 8.0, 32.0), "two files of one model complete each other"


def test_names_of_two_models_are_no_name() -> None:
    names = [{"source_id": s, "section": 0, "name": n} for s, n in ((9, "Llama-3.1-8B"), (10, "Gemma-3-27B"))]
    assert model_of(store_of(models=names[:1]))["active_b"] == 8.03
    assert model_of(store_of(models=names))["active_b"] is None


@pytest.mark.parametrize(("gib", "active"), [(15.0, 8.03), (37.2, None)])
def test_a_name_that_cannot_fill_the_memory_is_an_alias(gib: float, active: float | None) -> None:
    settings = config(source_id=9, tensor_parallel=1, weights_gib_per_rank=gib)
    assert model_of(store_of(models=[{"source_id": 9, "section": 0, "name": "Llama-3.1-8B"}], server_config=settings))["active_b"] == active


def test_a_name_of_another_size_is_an_alias() -> None:
    row = model_of(store_of(models=[{**DENSE, "name": "Qwen3-30B-A3B", "params_total_b": 16.0, "experts": 64.0}]))
    assert row["total_b"] == 16.0 and row["active_b"] is None


@pytest.mark.parametrize(("prompts", "expected"), [(2500.0, "cannot-tell"), (50.0, "ruled-out")])
def test_decode_does_not_speak_for_the_prompts_beside_it(prompts: float, expected: str) -> None:
    """One stream decodes a little while prompts are computed: 2500 tok/s x 2 x 8e9 are 0.56 of a 3090's bf16 peak."""
    store = store_of(
        models=[DENSE], gpus=[{**CARD, "source_id": 0}], given=facts_of(**{"gpu.count": 1, "speculation": "off"}), server_config=config(split="none"),
        server_samples=lines(20, running=1.0, waiting=0.0, gen_tok_s=20.0, prompt_tok_s=prompts),
    )  # fmt: skip
    assert verdict(COMPUTE, store, "1 running").verdict == expected


def test_messages_of_unknown_size_have_no_latency() -> None:
    store = store_of(
        models=[{**DENSE, "hidden": None}],
        given=facts_of(**{"gpu.count": 8, "split": "tensor", "ctx_max": 500}),
        gpus=[{**CARD, "name": "NVIDIA GeForce RTX 4090"}],
        bench_steps=step(50.0),
    )
    row = view(store, "link_load", "c=1")
    assert (row["latency_us_lo"], row["latency_us_hi"]) == (45, None)


@pytest.mark.parametrize(
    ("settings", "layers", "expected"),
    [
        ({"n_gpu_layers": 99}, None, "ruled-out"),
        ({"n_gpu_layers": -1}, None, "ruled-out"),
        ({"n_gpu_layers": 33}, 32.0, "ruled-out"),
        ({"n_gpu_layers": 20}, 32.0, "cannot-tell"),
        ({"n_gpu_layers": 33}, None, "cannot-tell"),
        ({"n_gpu_layers": 99, "n_cpu_moe": 20}, None, "cannot-tell"),
        ({"n_gpu_layers": 99, "tensor_overrides": "some"}, None, "cannot-tell"),
        ({"n_gpu_layers": 20, "layers_offloaded": 33, "layers_total": 33}, None, "ruled-out"),
    ],
)
def test_slow_tokens_of_a_model_that_lies_on_the_cpu_too_rule_nothing_out(
    settings: dict[str, Any], layers: float | None, expected: str
) -> None:
    """A command line with fewer layers than the model has, experts on the CPU, tensors sent elsewhere: the host's memory takes part."""
    store = store_of(
        models=[{**DENSE, "source_id": 6, "layers": layers}], gpus=[CARD], given=facts_of(**{"gpu.count": 1, "ctx_max": 500}),
        bench_steps=step(14.0, input_len=0.0, output_len=128.0), server_config=config(source_id=6, server="llama-bench", **settings),
    )  # fmt: skip
    assert verdict(MEMORY, store, "c=1").verdict == expected


@pytest.mark.parametrize(("split", "expected"), [("none", "confirmed"), ("row", "cannot-tell")])
def test_rows_that_lie_on_two_cards_have_the_bandwidth_of_both(split: str, expected: str) -> None:
    """The buffer of split rows is printed once, under the main card's name; the log names two cards."""
    log = config(source_id=9, server="llama.cpp", split=split)
    log.append({**log[0], "line": 50, "key": "device_model_mib", "value": "CUDA0", "num": 7600.0})
    cards = [{"source_id": 9, "line": n, "device": f"CUDA{n}", "name": "NVIDIA GeForce RTX 3090"} for n in range(2)]
    store = one_stream(95.0, given={"gpu.count": None}, gpus=cards, server_config=log)
    assert verdict(MEMORY, store, "c=1").verdict == expected
