"""Result files of SGLang's benchmarks: JSON Lines of `bench_serving`, `bench_offline_throughput`, `bench_one_batch(_server)`.

**Reads** what `python -m sglang.bench_serving --output-file F` (also with `--output-details`), `bench_offline_throughput
--result-filename F`, `bench_one_batch --result-filename F` and `bench_one_batch_server --result-filename F` append: one object per run,
several runs and days in one file, no time anywhere. December 2024 (17 keys) to 2026, with bare `Infinity` and `NaN`;
also between the lines of other text.

**`bench_steps`**, one row per run. From `bench_serving`:

- `concurrency`: `max_concurrency`; NULL without a cap. `rate_rps`: `request_rate`; NULL for Infinity. `requests` and `failed` are
  nowhere in the file.
- `mean_concurrency`: `concurrency`, the mean number in flight (all latencies over the duration). Under a finite rate a cap counts as
  offered only if this mean is at least 80 % of it.
- `completed`, `wall_s`, `req_s`, `aggregate_tok_s` (output), totals, `input_len` and `output_len` (totals over `completed`),
  `ttft_*`, `tpot_*`, `itl_*`, `e2e_*`, `accept_len`.
- `series`: what differs between the runs besides the load: data set and lengths, or `run 1`, `run 2` for tags and backends.

From `bench_one_batch`: one batch inside the process. `concurrency` is the batch size, `ttft_mean_ms` the prefill of the batch,
`tpot_p50_ms` the median decode step, `aggregate_tok_s` the median decode throughput. From `bench_one_batch_server`: `aggregate_tok_s` is
the printed output throughput, which counts from the last first token on.

**`requests`** of `--output-details` (origin `client`): `ttft_s`, tokens, `latency_s` (first token plus all gaps), `itl_n`,
`itl_under_2ms`. There are no start times, so there is no timeline.

**Traps.** The reported output length is the *requested* one where the server sends no usage: `300000 tokens` of empty answers. Where
the retokenized total is under 70 % of the reported one, or first tokens take 0 while answers take time, every token measure of the run is
NULL (`tokens-unusable`). Without streaming the first token is the whole answer: TTFT, TPOT and ITL are NULL (`not-streamed`).
`max_concurrent_requests` counts everything alive at any moment of a second and is not read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_note, send_rows

__all__ = ["PARSER"]

REACHED = 0.8  # mean requests in flight over the cap, from which the cap counts as offered under a finite rate
RETOKENIZED = 0.7  # retokenized over reported output tokens, below which the reported ones are not believed
SAME = 0.002  # TTFT within this of the latency: nothing was streamed
BURST_GAP_S = 0.002

# --- one run ---------------------------------------------------------------------------------------------------------------------------

_WORDS = (("mean", "mean"), ("p50", "median"), ("p99", "p99"))
_STATS = {
    **{f"{kind}_{stat}_ms": f"{word}_{kind}_ms" for kind in ("ttft", "itl") for stat, word in _WORDS},
    **{f"tpot_{stat}_ms": f"{word}_tpot_ms" for stat, word in _WORDS[:2]},
    **{f"e2e_{stat}_ms": f"{word}_e2e_latency_ms" for stat, word in (("mean", "mean"), ("p50", "median"), ("p99", "p99"))},
}
_STREAM = tuple(c for c in _STATS if not c.startswith("e2e"))
_TOKENS = ("aggregate_tok_s", "total_tok_s", "aggregate_counts", "output_tokens", "output_len", *_STREAM)
_NOTES = {
    "all-failed": "No request of the run succeeded: its zeros are no measurements.",
    "tokens-unusable": "The reported output tokens are not what came back (no usage, or empty answers): token measures are left out.",
    "not-streamed": "The first token took as long as the whole answer: nothing was streamed, so its token times are none.",
    "cap-not-reached": "A finite request rate did not (provably) fill the concurrency cap: the offered concurrency is unknown.",
}


def _serving(doc: Json) -> tuple[Row, list[str]]:
    """The row of one serving run and what is odd about it."""
    completed = num(doc.get("completed"))
    row: Row = {
        "completed": completed,
        "wall_s": pos(doc.get("duration")),
        "rate_rps": pos(doc.get("request_rate")),
        "concurrency": pos(doc.get("max_concurrency")),
    }
    if not completed:
        return row, ["all-failed"] if completed == 0 else []
    tokens_in, tokens_out = pos(doc.get("total_input_tokens")), pos(doc.get("total_output_tokens"))
    row |= {column: pos(doc.get(key)) for column, key in _STATS.items()}
    row |= {
        "req_s": pos(doc.get("request_throughput")),
        "mean_concurrency": pos(doc.get("concurrency")),
        "input_tokens": tokens_in,
        "output_tokens": tokens_out,
        "input_len": tokens_in and tokens_in / completed,
        "output_len": tokens_out and tokens_out / completed,
        "aggregate_tok_s": tokens_out and pos(doc.get("output_throughput")),
        "total_tok_s": tokens_out and pos(doc.get("total_throughput")),
        "accept_len": pos(doc.get("accept_length")),
    }
    row["aggregate_counts"] = "output" if row["aggregate_tok_s"] else None
    return row, _doubt(doc, row)


def _doubt(doc: Json, row: Row) -> list[str]:
    """Takes out what cannot be believed and says why."""
    odd = []
    retokenized, reported = num(doc.get("total_output_tokens_retokenized")), row["output_tokens"]
    instant = any(doc.get(k) == 0 for k in ("mean_ttft_ms", "median_ttft_ms")) and row["e2e_mean_ms"]
    if instant or (retokenized is not None and reported and retokenized < RETOKENIZED * reported):
        row |= dict.fromkeys(_TOKENS)
        odd.append("tokens-unusable")
    elif _whole(row["ttft_mean_ms"], row["e2e_mean_ms"]) and (row["output_len"] or 2) > 1.5:
        row |= dict.fromkeys(_STREAM)
        odd.append("not-streamed")
    if row["rate_rps"] and row["concurrency"] and (row["mean_concurrency"] or 0) < REACHED * row["concurrency"]:
        row["concurrency"] = None
        odd.append("cap-not-reached")
    return odd


def _whole(first: float | None, latency: float | None) -> bool:
    return bool(first and latency and abs(first - latency) <= SAME * latency)


def _offline(doc: Json) -> tuple[Row, list[str]]:
    """`bench_offline_throughput`: everything at once, inside the process."""
    completed = num(doc.get("successful_requests"))
    rate = pos(doc.get("output_throughput"))
    row: Row = {
        "completed": completed,
        "wall_s": pos(doc.get("total_latency")),
        "input_tokens": pos(doc.get("total_input_tokens")),
        "output_tokens": pos(doc.get("total_output_tokens")),
        "req_s": pos(doc.get("request_throughput")),
        "aggregate_tok_s": rate,
        "aggregate_counts": "output" if rate else None,
    }
    for side in ("input", "output"):
        total = row[f"{side}_tokens"]
        row[f"{side}_len"] = total / completed if total and completed else None
    return row, []


def _one_batch(doc: Json) -> tuple[Row, list[str]]:
    """`bench_one_batch` and its server variant: every request of the batch has the same lengths."""
    batch, n_in, n_out = (pos(doc.get(k)) for k in ("batch_size", "input_len", "output_len"))
    rate = pos(doc.get("median_decode_throughput")) or pos(doc.get("output_throughput"))
    row: Row = {
        "concurrency": batch,
        "requests": batch,
        "input_len": n_in,
        "output_len": n_out,
        "input_tokens": batch * n_in if batch and n_in else None,
        "output_tokens": batch * n_out if batch and n_out else None,
        "wall_s": pos(doc.get("total_latency")) or pos(doc.get("latency")),
        "ttft_mean_ms": pos(doc.get("prefill_latency"), 1e3),
        "tpot_p50_ms": pos(doc.get("median_decode_latency"), 1e3),
        "aggregate_tok_s": rate,
        "aggregate_counts": "output" if rate else None,
        "accept_len": pos(doc.get("acc_length")),
    }
    return row, []


def _kind(keys: set[str]) -> str | None:
    """Which result an object with these keys is."""
    if {"batch_size", "input_len", "output_len"} <= keys and keys & {"overall_throughput", "prefill_latency", "last_gen_throughput"}:
        return "one batch"
    if {"successful_requests", "total_latency", "last_gen_throughput"} <= keys:
        return "offline"
    data = {"dataset_name", "random_input_len", "random_output_len", "random_range_ratio", "sharegpt_output_len"} & keys
    if {"duration", "completed", "backend"} <= keys and (len(data) >= 2 or "total_output_tokens_retokenized" in keys):
        return "serving"
    return None


_ROW = {"serving": _serving, "offline": _offline, "one batch": _one_batch}


# --- requests of a detailed file -------------------------------------------------------------------------------------------------------


def _at(doc: Json, key: str, n: int) -> list[Any]:
    """An array of one value per request; NULLs where it is missing or has another length."""
    values = doc.get(key)
    return values if isinstance(values, list) and len(values) == n else [None] * n


def _requests(doc: Json, row: Row, line: int, run: int) -> list[Row]:
    """One row per request. Token numbers of a run whose totals are not believed stay NULL, and so do first tokens of unstreamed ones."""
    ttfts = doc.get("ttfts")
    if not isinstance(ttfts, list):
        return []
    n = len(ttfts)
    believed = row.get("output_tokens") is not None
    streamed = any(row.get(c) is not None for c in ("ttft_mean_ms", "ttft_p50_ms"))
    arrays = (_at(doc, key, n) for key in ("itls", "errors", "input_lens", "output_lens"))
    out = []
    for i, (ttft, itls, error, n_in, n_out) in enumerate(zip(ttfts, *arrays)):
        one: Row = {"line": line, "origin": "client", "run": run, "request": str(i), "concurrency": row["concurrency"]}
        first, gaps = pos(ttft), _gaps(itls)
        if error or not (first or itls or pos(n_out)):
            out.append(one | {"status": "failed"})
            continue
        one |= {"status": "ok", "prompt_tokens": pos(n_in), "output_tokens": pos(n_out) if believed else None}
        one["latency_s"] = first + sum(gaps) if first and gaps is not None else None
        if streamed and first:
            one |= {"ttft_s": first} | _arrivals(gaps)
        out.append(one)
    return out


def _gaps(itls: Any) -> list[float] | None:
    """Gaps between chunks in seconds, NULL if one of them is no time."""
    if not isinstance(itls, list) or not set(map(type, itls)) <= {int, float}:
        return None
    return itls if not itls or (min(itls) >= 0 and max(itls) < 1e6 and math.isfinite(sum(itls))) else None


def _arrivals(gaps: list[float] | None) -> Row:
    """Distinct arrivals (the first token and every gap above zero) and the share of gaps under 2 ms."""
    if gaps is None:
        return {}
    return {
        "itl_n": 1.0 + sum(map((0.0).__lt__, gaps)),
        "itl_under_2ms": sum(map(BURST_GAP_S.__gt__, gaps)) / len(gaps) if gaps else None,
    }


# --- a file ----------------------------------------------------------------------------------------------------------------------------


def _setup(doc: Json, kind: str) -> tuple[tuple[str, str], ...]:
    """What a run was besides its load, as (name, value); names of the user (tag, run_name) are only compared, never kept."""
    word = doc.get("dataset_name")
    parts = [("", word if isinstance(word, str) and re.fullmatch(r"[a-z][a-z_-]{1,30}", word) else "")]
    if kind == "one batch":
        lengths = [("in", doc.get("input_len")), ("out", doc.get("output_len"))]
    elif parts[0][1].startswith("random"):
        keys = {"in": "random_input_len", "out": "random_output_len", "range": "random_range_ratio"}
        lengths = [(name, doc.get(key)) for name, key in keys.items()]
    else:
        lengths = [("out", doc.get("sharegpt_output_len"))]
    return (*parts, *((name, f"{value:g}" if num(value) is not None else "") for name, value in lengths))


def _name_series(rows: list[Row]) -> None:
    """Steps with their series: the parts of the set-up that differ, and `run N` where tags, backends or kinds of result do."""
    whose = list(dict.fromkeys(r["whose"] for r in rows))
    shared = set.intersection(*(set(r["setup"]) for r in rows))
    steps: dict[Any, int] = {}
    for r in rows:
        words = [f"run {whose.index(r['whose']) + 1}"] if len(whose) > 1 else []
        words += [f"{name} {value}".strip() for name, value in r["setup"] if value and (name, value) not in shared]
        r["series"] = " ".join(words) or None
        r["step"] = steps[r["series"]] = steps.get(r["series"], 0) + 1


class SglangBench:
    """Results of SGLang's benchmarks; see the module's page."""

    name = "sglang-bench"
    api = 1
    inlaid = ("request_throughput", "output_throughput", "overall_throughput", "last_gen_throughput")

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        keys = json_keys(head.text)
        kind = _kind(keys)
        if kind:
            return Claim(90, f"results of SGLang's benchmarks ({kind})")
        if {"dataset_name", "random_range_ratio"} <= keys:
            return Refusal(50, "a result of sglang.bench_serving without `duration` and `completed`")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps`, `requests`, `quality` and one of `clocks`. A cut or garbled object is a near miss."""
        lines = JsonLines(source)
        rows: list[Row] = []
        notes: dict[str, list[int]] = {}
        for first, last, doc in json_objects(lines):
            kind = _kind(set(doc)) if doc else None
            if doc is None:
                lines.near(first, "a result that is cut or garbled")
            elif kind:
                lines.add(first, last, "matched")
                row, odd = _ROW[kind](doc)
                if kind == "serving":
                    send_rows(emit, "requests", _requests(doc, row, first, len(rows)))
                whose = (kind, *(str(doc.get(k)) for k in ("backend", "tag", "run_name")))
                rows.append(row | {"line": first, "whose": whose, "setup": _setup(doc, kind)})
                for name in odd:
                    notes.setdefault(name, []).append(first)
        if rows:
            _name_series(rows)
            send_rows(emit, "bench_steps", [{k: v for k, v in r.items() if k not in ("whose", "setup")} for r in rows])
            send_rows(emit, "clocks", [{"line": rows[0]["line"], "kind": "none"}])
        for name, at in notes.items():
            send_note(emit, at[0], name, len(at), _NOTES[name])
        return lines.close()


_SERVING = (
    '{"tag": null, "backend": "sglang", "dataset_name": "random", "request_rate": Infinity,'
    ' "max_concurrency": 8, "sharegpt_output_len": null,'
    ' "random_input_len": 200, "random_output_len": 100, "random_range_ratio": 1.0, "duration": 50.0, "completed": 100,'
    ' "total_input_tokens": 20000, "total_output_tokens": 10000, "total_output_tokens_retokenized": 9950, "request_throughput": 2.0,'
    ' "input_throughput": 400.0, "output_throughput": 200.0, "mean_e2e_latency_ms": 3900.5, "median_e2e_latency_ms": 3890.0,'
    ' "p99_e2e_latency_ms": 4400.25, "mean_ttft_ms": 120.5, "median_ttft_ms": 110.25, "p99_ttft_ms": 400.5, "mean_tpot_ms": 38.25,'
    ' "median_tpot_ms": 38.5, "p99_tpot_ms": 41.0, "mean_itl_ms": 38.75, "median_itl_ms": 37.5, "p95_itl_ms": 50.0, "p99_itl_ms": 88.5,'
    ' "concurrency": 7.8, "accept_length": null, "max_concurrent_requests": 16}\n'
)
SAMPLES: tuple[Sample, ...] = (
    Sample(
        _SERVING,
        {
            "bench_steps": [
                {
                    "line": 1,
                    "series": None,
                    "step": 1,
                    "concurrency": 8.0,
                    "mean_concurrency": 7.8,
                    "rate_rps": None,
                    "requests": None,
                    "completed": 100.0,
                    "failed": None,
                    "wall_s": 50.0,
                    "req_s": 2.0,
                    "aggregate_tok_s": 200.0,
                    "aggregate_counts": "output",
                    "input_tokens": 20000.0,
                    "output_tokens": 10000.0,
                    "input_len": 200.0,
                    "output_len": 100.0,
                    "ttft_mean_ms": 120.5,
                    "ttft_p50_ms": 110.25,
                    "ttft_p99_ms": 400.5,
                    "tpot_mean_ms": 38.25,
                    "tpot_p50_ms": 38.5,
                    "itl_mean_ms": 38.75,
                    "itl_p50_ms": 37.5,
                    "itl_p99_ms": 88.5,
                    "e2e_mean_ms": 3900.5,
                    "e2e_p50_ms": 3890.0,
                    "e2e_p99_ms": 4400.25,
                    "accept_len": None,
                },
            ],
            "requests": [],
            "clocks": [{"kind": "none"}],
            "quality": [],
        },
        "2026, one run",
        name="sglang_0301_100_200_100.jsonl",
    ),
    Sample(
        '{"backend": "sglang", "dataset_name": "random", "request_rate": 2.0, "max_concurrency": null, "total_input_tokens": 900,'
        ' "total_output_tokens": 600, "total_output_tokens_retokenized": 598, "mean_e2e_latency_ms": 900.0, "median_e2e_latency_ms": 890.0,'
        ' "median_ttft_ms": 80.0, "median_itl_ms": 14.5, "output_throughput": 40.0, "sharegpt_output_len": null, "random_input_len": 64,'
        ' "random_output_len": 32, "random_range_ratio": 0.0, "duration": 15.0, "completed": 30}\n'
        '{"backend": "sglang", "dataset_name": "sharegpt", "request_rate": 4.0, "max_concurrency": 2, "total_input_tokens": 900,'
        ' "total_output_tokens": 600, "total_output_tokens_retokenized": 0, "mean_e2e_latency_ms": 100.0, "median_ttft_ms": 0.0,'
        ' "mean_ttft_ms": 0.0, "mean_tpot_ms": 4.5, "median_itl_ms": 0.0, "output_throughput": 40.0, "sharegpt_output_len": null,'
        ' "random_input_len": 64, "random_output_len": 32, "random_range_ratio": 0.0, "duration": 15.0, "completed": 30,'
        ' "concurrency": 0.4}\n'
        '{"backend": "sglang", "dataset_name": "sharegpt", "request_rate": 8.0, "max_conc',
        {
            "bench_steps": [
                {
                    "line": 1,
                    "series": "random in 64 out 32 range 0",
                    "rate_rps": 2.0,
                    "concurrency": None,
                    "output_len": 20.0,
                    "ttft_p50_ms": 80.0,
                },
                {
                    "line": 2,
                    "series": "sharegpt",
                    "rate_rps": 4.0,
                    "concurrency": None,
                    "mean_concurrency": 0.4,
                    "output_tokens": None,
                    "aggregate_tok_s": None,
                    "ttft_mean_ms": None,
                    "tpot_mean_ms": None,
                    "e2e_mean_ms": 100.0,
                    "completed": 30.0,
                    "input_len": 30.0,
                },
            ],
            "quality": [{"kind": "tokens-unusable", "line": 2}, {"kind": "cap-not-reached", "line": 2}],
        },
        "2024-12, runs appended, one with empty answers, the last line cut",
    ),
    Sample(
        '{"backend": "sglang-oai", "dataset_name": "random-ids", "request_rate": Infinity, "max_concurrency": 2, "random_input_len": 10,'
        ' "random_output_len": 4, "random_range_ratio": 1.0, "duration": 2.0, "completed": 2, "total_input_tokens": 20,'
        ' "total_output_tokens": 8, "total_output_tokens_retokenized": 8, "output_throughput": 4.0, "mean_e2e_latency_ms": 700.0,'
        ' "mean_ttft_ms": 375.0, "median_ttft_ms": 375.0, "input_lens": [10, 10, 10], "output_lens": [4, 4, 0], "ttfts": [0.25, 0.5, 0.0],'
        ' "itls": [[0.125, 0.001, 0.125], [0.0, 0.25], []], "generated_texts": ["a", "b", ""], "errors": ["", "", "boom"]}\n',
        {
            "bench_steps": [{"concurrency": 2.0, "completed": 2.0, "ttft_mean_ms": 375.0}],
            "requests": [
                {
                    "request": "0",
                    "origin": "client",
                    "concurrency": 2.0,
                    "ttft_s": 0.25,
                    "latency_s": 0.501,
                    "prompt_tokens": 10.0,
                    "output_tokens": 4.0,
                    "itl_n": 4.0,
                    "itl_under_2ms": 1 / 3,
                    "status": "ok",
                    "sent_at": None,
                },
                {"request": "1", "ttft_s": 0.5, "latency_s": 0.75, "itl_n": 2.0, "itl_under_2ms": 0.5, "status": "ok"},
                {"request": "2", "ttft_s": None, "output_tokens": None, "status": "failed"},
            ],
        },
        "2025-05 on, --output-details",
    ),
    Sample(
        '{"run_name": "a", "batch_size": 4, "input_len": 256, "output_len": 32, "prefill_latency": 0.125, "prefill_throughput": 8192.0,'
        ' "median_decode_latency": 0.0125, "median_decode_throughput": 320.0, "total_latency": 0.5125, "overall_throughput": 2247.8}\n'
        '{"run_name": "a", "batch_size": 8, "input_len": 256, "output_len": 32, "latency": 0.75, "input_throughput": 9000.0,'
        ' "output_throughput": 480.5, "overall_throughput": 3072.0, "last_ttft": 0.25, "last_gen_throughput": 500.0, "acc_length": 2.5}\n'
        '{"backend": "engine", "successful_requests": 10, "total_latency": 5.0, "total_input_tokens": 1000, "total_output_tokens": 500,'
        ' "last_gen_throughput": 90.0, "request_throughput": 2.0, "input_throughput": 200.0, "output_throughput": 100.0,'
        ' "total_throughput": 300.0}\n',
        {
            "bench_steps": [
                {
                    "concurrency": 4.0,
                    "requests": 4.0,
                    "input_len": 256.0,
                    "output_tokens": 128.0,
                    "wall_s": 0.5125,
                    "ttft_mean_ms": 125.0,
                    "tpot_p50_ms": 12.5,
                    "aggregate_tok_s": 320.0,
                },
                {"concurrency": 8.0, "wall_s": 0.75, "aggregate_tok_s": 480.5, "accept_len": 2.5, "ttft_mean_ms": None},
                {"concurrency": None, "completed": 10.0, "wall_s": 5.0, "aggregate_tok_s": 100.0, "input_len": 100.0, "req_s": 2.0},
            ]
        },
        "bench_one_batch, bench_one_batch_server, bench_offline_throughput",
    ),
)

PARSER = SglangBench()
