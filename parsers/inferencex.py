"""Results of InferenceX (InferenceMAX) in seconds: `agg_<name>.json`, `agg_bmk.json`, and the short-key files of its experiments.

The raw results of InferenceX are vLLM's JSON with two epoch times added and are read by vllm-bench. Its post-processing divides every
`*_ms` value by 1000, drops `_ms` from the key, and adds what the run was: that is read here.

**`bench_steps`**, one row per result: `concurrency` (`conc`, or `max_concurrency` at most `num_prompts`), `ttft_*`, `tpot_*`, `itl_*`,
`e2e_*` (seconds times 1000; a key that still ends in `_ms` as it is), lengths (`isl`, `osl`, or the totals over `completed`),
`completed`, `wall_s`, `req_s`, `aggregate_tok_s` (output): `output_throughput`, else `output_tput_per_gpu` times `tp`, which undoes
the division of one node (NULL for multi-node and disaggregated runs). `per_stream_tok_s`: the median `intvty`, else its mean, the
reciprocal of the time per output token (decode). `finished_at`: `date`, local time without zone, taken after the run.

`series` names what differs between the results of a list: hardware, framework, precision, model (as `model N`), `tp`, `ep`, lengths,
`dp_attention`, `mtp` or `spec_decoding`.

Not read: `avg_power_w`, `joules_per_output_token` and the other sums of its power join. They are means over the run, and no table holds
those; the nvidia-smi CSV beside the result does.

**Traps.** Throughput per GPU is no throughput. Numbers are in seconds although the tool they come from writes milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_note, send_rows

__all__ = ["PARSER"]

_WORDS = (("mean", "mean"), ("p50", "median"), ("p99", "p99"))
_TIMES = {
    **{f"{kind}_{stat}_ms": f"{word}_{kind}" for kind in ("ttft", "itl") for stat, word in _WORDS},
    **{f"tpot_{stat}_ms": f"{word}_tpot" for stat, word in _WORDS[:2]},
    **{f"e2e_{stat}_ms": f"{stat}_e2el" for stat in ("mean", "p99")},
}
_SHORT = re.compile(r"^(mean|median|p\d+)_(ttft|tpot|itl|e2el)$")


def _kind(keys: set[str]) -> str | None:
    """agg: post-processed; short: an experiment's result with keys in seconds; raw: vLLM's JSON, not read here."""
    if {"hw", "conc"} <= keys and keys & {"tput_per_gpu", "output_tput_per_gpu", "framework"}:
        return "agg"
    seconds = any(_SHORT.match(k) for k in keys)
    if seconds and {"completed", "duration"} <= keys and keys & {"max_concurrency", "output_throughput", "num_prompts"}:
        return "short"
    return "raw" if "benchmark_start_time_unix" in keys else None


def _time(doc: Json, key: str) -> float | None:
    """A time in ms: of the short key in seconds, or of vLLM's own in ms."""
    return pos(doc.get(key), 1e3) if key in doc else pos(doc.get(f"{key}_ms"))


def _output_rate(doc: Json) -> float | None:
    """Output tokens per second of the whole run; per-GPU numbers of one node times its GPUs."""
    printed, each, gpus = (pos(doc.get(k)) for k in ("output_throughput", "output_tput_per_gpu", "tp"))
    spread = any(doc.get(k) in (True, "true", "True", 1) for k in ("is_multinode", "disagg", "disaggregated"))
    return printed or (each * gpus if each and gpus and not spread else None)


def _step(doc: Json, line: int) -> Row:
    """The row of one result."""
    completed, prompts = num(doc.get("completed")), pos(doc.get("num_prompts"))
    cap = pos(doc.get("conc")) or pos(doc.get("max_concurrency"))
    row: Row = {
        "line": line,
        "requests": prompts,
        "completed": completed,
        "failed": num(doc.get("failed")),
        "wall_s": pos(doc.get("duration")),
    }
    row["concurrency"] = min(cap, prompts) if cap and prompts else cap
    row["rate_rps"] = pos(doc.get("request_rate"))
    row["finished_at"] = _date(doc.get("date"))
    if completed == 0:
        return row
    for side, key in (("input", "isl"), ("output", "osl")):
        total = pos(doc.get(f"total_{side}_tokens"))
        row |= {f"{side}_tokens": total, f"{side}_len": total / completed if total and completed else pos(doc.get(key))}
    row |= {column: _time(doc, key) for column, key in _TIMES.items()}
    row["req_s"] = pos(doc.get("request_throughput"))
    row["aggregate_tok_s"] = _output_rate(doc)
    row["aggregate_counts"] = "output" if row["aggregate_tok_s"] else None
    row["per_stream_tok_s"] = pos(doc.get("median_intvty")) or pos(doc.get("mean_intvty"))
    row["per_stream_counts"] = "decode" if row["per_stream_tok_s"] else None
    if row["rate_rps"]:
        row["concurrency"] = None  # with a finite rate nothing here shows that the cap was reached
    return row


def _date(value: Any) -> float | None:
    """`20260816-160853` read as if it were UTC."""
    if not isinstance(value, str) or not re.fullmatch(r"[12]\d{7}-\d{6}", value):
        return None
    try:
        return datetime.strptime(value, "%Y%m%d-%H%M%S").replace(tzinfo=timezone.utc).timestamp()  # noqa: UP017
    except ValueError:
        return None


_SETUP = ("hw", "framework", "precision", "tp", "ep", "dp_attention", "mtp", "spec_decoding", "isl", "osl")


def _name_series(rows: list[Row], docs: list[Json]) -> None:
    """Steps with what differs between the results; values that are no plain word stay out, models are numbered."""
    models = list(dict.fromkeys(str(d.get("model", d.get("model_id"))) for d in docs))
    setups = [{k: d[k] for k in _SETUP if isinstance(d.get(k), (str, int, float))} for d in docs]
    differing = [k for k in _SETUP if len({str(s.get(k)) for s in setups}) > 1]
    steps: dict[Any, int] = {}
    for row, doc, setup in zip(rows, docs, setups):
        words = [f"model {models.index(str(doc.get('model', doc.get('model_id')))) + 1}"] if len(models) > 1 else []
        plain = {k: str(setup[k]) for k in differing if k in setup and re.fullmatch(r"[\w.+-]{1,24}", str(setup[k]))}
        words += [v if k in ("hw", "framework", "precision") else f"{k}={v}" for k, v in plain.items()]
        row["series"] = " ".join(words) or None
        row["step"] = steps[row["series"]] = steps.get(row["series"], 0) + 1


class Inferencex:
    """Post-processed results of InferenceX; see the module's page."""

    name = "inferencex"
    api = 1
    inlaid = ("conc", "completed")

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        kind = _kind(json_keys(head.text))
        if kind in ("agg", "short"):
            return Claim(95, "a result of InferenceX, times in seconds")
        return Refusal(30, "a raw result of InferenceX without `completed` and `duration`") if kind else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps`, `quality` and one of `clocks`. A cut or garbled object is a near miss."""
        lines = JsonLines(source)
        rows: list[Row] = []
        docs: list[Json] = []
        for first, last, doc in json_objects(lines):
            if doc is None:
                lines.near(first, "a result that is cut or garbled")
            elif _kind(set(doc)) in ("agg", "short"):
                lines.add(first, last, "matched")
                rows.append(_step(doc, first))
                docs.append({k: v for k, v in doc.items() if not isinstance(v, (list, dict))})
        if rows:
            _name_series(rows, docs)
            send_rows(emit, "bench_steps", rows)
            dated = [r["line"] for r in rows if r["finished_at"]]
            kind = "local-no-zone" if dated else "none"
            send_rows(emit, "clocks", [{"line": rows[0]["line"], "kind": kind, "resolution_s": 1.0 if dated else None}])
            notes = {
                "date-after-run": (dated, "The time of the result is local, and was taken after the run."),
                "all-failed": (
                    [r["line"] for r in rows if r["completed"] == 0],
                    "Every request of the run failed: it has no measurements.",
                ),
            }
            for name, (at, note) in notes.items():
                if at:
                    send_note(emit, at[0], name, len(at), note)
        return lines.close()


SAMPLES: tuple[Sample, ...] = (
    Sample(
        '{\n  "date": "20260301-101530", "model_id": "acme/big", "num_prompts": 160, "request_rate": "inf", "max_concurrency": 16,\n'
        '  "duration": 200.0, "completed": 160, "total_input_tokens": 160000, "total_output_tokens": 16000, "request_throughput": 0.8,\n'
        '  "request_goodput": null, "output_throughput": 80.0, "median_ttft": 3.125, "p99_ttft": 16.5, "median_e2el": 21.5, "p99_e2el": '
        "30.25,\n"
        '  "median_tpot": 0.125, "p99_tpot": 0.2\n}\n',
        {
            "bench_steps": [
                {
                    "line": 1,
                    "series": None,
                    "step": 1,
                    "concurrency": 16.0,
                    "rate_rps": None,
                    "requests": 160.0,
                    "completed": 160.0,
                    "wall_s": 200.0,
                    "input_len": 1000.0,
                    "output_len": 100.0,
                    "aggregate_tok_s": 80.0,
                    "aggregate_counts": "output",
                    "ttft_p50_ms": 3125.0,
                    "ttft_p99_ms": 16500.0,
                    "tpot_p50_ms": 125.0,
                    "ttft_mean_ms": None,
                    "e2e_mean_ms": None,
                    "e2e_p99_ms": 30250.0,
                    "per_stream_tok_s": None,
                    "finished_at": 1772360130.0,
                    "req_s": 0.8,
                },
            ],
            "clocks": [{"kind": "local-no-zone"}],
            "quality": [{"kind": "date-after-run"}],
        },
        "an experiment's short keys",
        name="big_tp8_conc16.json",
    ),
    Sample(
        '[{"hw": "h200", "tp": 8, "ep": 1, "dp_attention": "false", "conc": 4, "model": "acme/big", "framework": "vllm", "precision": '
        '"fp8",'
        ' "isl": 1024, "osl": 1024, "tput_per_gpu": 100.0, "output_tput_per_gpu": 50.5, "mean_ttft": 0.25, "median_ttft": 0.2, '
        '"p99_ttft": 0.5,'
        ' "mean_tpot": 0.0125, "mean_intvty": 80.0, "median_tpot": 0.0125, "median_intvty": 80.5, "mean_itl": 0.013, "mean_e2el": 13.0},\n'
        ' {"hw": "h200", "tp": 8, "ep": 1, "conc": 64, "model": "acme/big", "framework": "sglang", "precision": "fp8", "is_multinode": '
        "true,"
        ' "output_tput_per_gpu": 400.5, "mean_ttft": 0.5}]\n',
        {
            "bench_steps": [
                {
                    "line": 1,
                    "series": "vllm dp_attention=false isl=1024 osl=1024",
                    "step": 1,
                    "concurrency": 4.0,
                    "aggregate_tok_s": 404.0,
                    "per_stream_tok_s": 80.5,
                    "per_stream_counts": "decode",
                    "ttft_mean_ms": 250.0,
                    "ttft_p50_ms": 200.0,
                    "ttft_p99_ms": 500.0,
                    "tpot_mean_ms": 12.5,
                    "itl_mean_ms": 13.0,
                    "e2e_mean_ms": 13000.0,
                    "input_len": 1024.0,
                    "completed": None,
                },
                {"line": 2, "series": "sglang", "step": 1, "concurrency": 64.0, "aggregate_tok_s": None, "ttft_mean_ms": 500.0},
            ],
            "clocks": [{"kind": "none"}],
        },
        "agg_bmk.json",
        name="agg_bmk.json",
    ),
)

PARSER = Inferencex()
