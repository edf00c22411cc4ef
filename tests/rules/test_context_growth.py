"""Context growth: rows of one benchmark that differ in the filling of the cache, and what they do not exclude."""

from __future__ import annotations

import pytest
from gpuverdict.rules.context_growth import RULE

from .small_store import Rows, findings, store_of


def ladder(rates: dict[int, float], name: str = "tg128", more: str = "", **values: object) -> Rows:
    """Rows of llama-bench -d."""
    return [
        {
            "series": f"{name} d{depth}{more}" if depth else f"{name}{more}",
            "concurrency": 1.0,
            "step": 1,
            "input_len": float(depth),
            "output_len": 128.0,
            "per_stream_tok_s": rate,
            "per_stream_counts": "decode",
            "aggregate_tok_s": rate,
            **values,
        }
        for depth, rate in rates.items()
    ]


def line(added_ms_per_1000: float, base_ms: float = 10.0, depths: tuple[int, ...] = (0, 4096, 16384, 32768)) -> dict[int, float]:
    return {d: 1000 / (base_ms + added_ms_per_1000 * d / 1000) for d in depths}


def verdicts(rows: Rows) -> dict[str, str]:
    return {label.split("/")[0]: f.verdict for label, f in findings(RULE, store_of(bench_steps=rows)).items() if f.scope.kind == "step"}


@pytest.mark.parametrize(
    ("rates", "deepest"),
    [
        (line(0.2), "confirmed"),
        (line(0.02), "ruled-out"),
        # a fifth more is what warm cards lose
        (line(0.07), "fits"),
        # a step at one length: the cache outgrew the card
        ({0: 100.0, 4096: 99.0, 16384: 98.0, 32768: 97.0, 65536: 8.0}, "fits"),
        # two lengths lie on any line
        ({0: 100.0, 32768: 50.0}, "cannot-tell"),
        ({0: 100.0, 32768: 97.0}, "ruled-out"),
        # faster with more in the cache: nothing is added
        ({0: 50.0, 4096: 60.0, 32768: 70.0}, "ruled-out"),
    ],
)
def test_a_ladder_of_lengths(rates: dict[int, float], deepest: str) -> None:
    found = verdicts(ladder(rates))
    assert found[f"tg128 d{max(rates)}"] == deepest, found


def test_one_length_has_nothing_to_stand_beside() -> None:
    assert set(verdicts(ladder({32768: 50.0})).values()) == {"cannot-tell"}


def test_each_length_is_judged_by_itself_and_the_shortest_by_nothing() -> None:
    found = verdicts(ladder(line(0.2, depths=(0, 1024, 4096, 32768))))
    assert found == {"tg128": "cannot-tell", "tg128 d1024": "ruled-out", "tg128 d4096": "ruled-out", "tg128 d32768": "confirmed"}


def test_the_sentence_gives_both_ends() -> None:
    found = findings(RULE, store_of(bench_steps=ladder(line(0.2))))
    (sentence,) = (f.sentence for label, f in found.items() if "d32768" in label)
    assert "Behind 32768 tokens it makes 60.4 tok/s, behind 0 it makes 100 tok/s: 39.6 % of a token's time is added." in sentence


def test_rows_of_other_settings_are_no_ladder() -> None:
    """Another model, another number of layers on the cards, another file."""
    rates = line(0.2)
    one = {d: rates[d] for d in (0, 4096)}
    two = {d: rates[d] for d in (16384, 32768)}
    assert "confirmed" not in verdicts(ladder(one, more=", ngl 99") + ladder(two, more=", ngl 20")).values()
    assert "confirmed" not in verdicts(ladder(one, name="model 1, tg128") + ladder(two, name="model 2, tg128")).values()
    assert "confirmed" not in verdicts(ladder(one) + [{**row, "source_id": 1} for row in ladder(two)]).values()


def test_a_number_in_a_name_is_no_length_by_itself() -> None:
    rows = [{**row, "series": f"run d{n}"} for n, row in enumerate(ladder(line(0.2)), 1)]
    assert set(verdicts(rows).values()) == {"cannot-tell"}


def test_requests_with_longer_prompts_are_not_taken() -> None:
    rows = [{**row, "series": f"in {row['input_len']:.0f}"} for row in ladder(line(0.2))]
    assert set(verdicts(rows).values()) == {"cannot-tell"}


def test_sweep_bench_names_its_filling_otherwise() -> None:
    rows = [{**row, "series": f"n_kv {row['input_len']:.0f}"} for row in ladder(line(0.2))]
    assert verdicts(rows)["n_kv 32768"] == "confirmed"
