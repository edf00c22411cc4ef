"""Answers of the HTTP API of Prometheus: the rows of the pages they were scraped from; expressions and several servers give none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gpuverdict.engine.parser import Claim
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_counts, rows_of
from gpuverdict.parsers import dcgm_exporter, prometheus_metrics


def answer(series: list[dict[str, Any]], kind: str = "matrix", indent: int | None = None) -> str:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": series}}, indent=indent) + "\n"


def gauge(name: str, values: list[float], **labels: str) -> dict[str, Any]:
    metric = ({"__name__": name} if name else {}) | {"instance": "192.0.2.1:8000", "engine": "0"} | labels
    return {"metric": metric, "values": [[1_750_000_000 + 15 * i, str(v)] for i, v in enumerate(values)]}


RANGE = [
    gauge("vllm:num_requests_running", [5, 8, 8]),
    gauge("vllm:num_requests_waiting", [0, 12, 31]),
    gauge("vllm:generation_tokens_total", [10, 400, 820]),
]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_range_query_is_one_scrape_per_time(indent: int | None) -> None:
    text = answer(RANGE, indent=indent)
    assert isinstance(prometheus_metrics.PARSER.claims(Source.from_text(text).head()), Claim)
    rows, counts = rows_of(prometheus_metrics.PARSER, text)
    check_counts(counts, text, "an answer of Prometheus")
    assert [(r["time"], r["running"], r["waiting"], r["line"]) for r in rows["server_samples"]] == [
        (1_750_000_000.0, 5.0, 0.0, 1),
        (1_750_000_015.0, 8.0, 12.0, 1),
        (1_750_000_030.0, 8.0, 31.0, 1),
    ]
    assert [r["value"] for r in rows["server_events"] if r["detail"] == "generated_tokens"] == [10.0, 400.0, 820.0]
    assert rows["clocks"][0]["kind"] == "utc"


def test_an_instant_query() -> None:
    series = [{"metric": s["metric"], "value": s["values"][1]} for s in RANGE]
    (row,) = rows_of(prometheus_metrics.PARSER, answer(series, "vector"))[0]["server_samples"]
    assert (row["time"], row["running"], row["waiting"]) == (1_750_000_015.0, 8.0, 12.0)


def test_cards_of_two_hosts() -> None:
    series = [
        gauge("DCGM_FI_DEV_GPU_UTIL", [99, 98], gpu=card, Hostname=host, instance=f"{host}:9400")
        for host in ("a", "b")
        for card in ("0", "1")
    ]
    text = answer(series, indent=1)
    assert isinstance(dcgm_exporter.PARSER.claims(Source.from_text(text).head()), Claim)
    rows, counts = rows_of(dcgm_exporter.PARSER, text)
    check_counts(counts, text, "an answer of Prometheus")
    assert len({(r["host"], r["gpu"]) for r in rows["gpu_samples"]}) == 4
    assert {(r["time"], r["util_gpu"]) for r in rows["gpu_samples"]} == {(1_750_000_000.0, 99.0), (1_750_000_015.0, 98.0)}


@pytest.mark.parametrize("label", ["instance", "pod"])
def test_several_servers_are_not_summed(label: str) -> None:
    text = answer([*RANGE, gauge("vllm:num_requests_running", [1, 1, 1], **{label: "other"})])
    rows, counts = rows_of(prometheus_metrics.PARSER, text)
    assert "server_samples" not in rows and label in counts.rejects[0][1]
    check_counts(counts, text, "two servers")


@pytest.mark.parametrize(
    "text",
    [
        answer([gauge("", [1, 2])]),  # the result of an expression
        answer([gauge("up", [1, 1])]),
        answer(RANGE)[:-40],  # cut
        answer(RANGE).replace("success", "error"),
        answer([]),
        '{"prompt": ' + json.dumps(answer(RANGE)) + "}\n",
    ],
)
def test_nothing_else_gives_rows(text: str) -> None:
    for parser in (prometheus_metrics.PARSER, dcgm_exporter.PARSER):
        rows, counts = rows_of(parser, text)
        assert not any(rows.get(t) for t in ("server_samples", "server_events", "gpu_samples"))
        check_counts(counts, text, "no answer")


def test_victoriametrics_answers_with_a_key_more() -> None:
    text = answer(RANGE).replace('"success", ', '"success", "isPartial": false, ')
    assert len(rows_of(prometheus_metrics.PARSER, text)[0]["server_samples"]) == 3
