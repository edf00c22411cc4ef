"""Accuracy evaluations that also time themselves: vLLM's `tests/evals/*_eval.py` and the task scripts under SGLang's `benchmark/`.

**Reads** the result block they print (`Accuracy:` or `Score:`, `Total latency:` or `Latency:`, a rate of output tokens), alone or between
other lines, and the JSON they save: vLLM's `--save-results` object (`questions_per_second`, `tokens_per_second`, ...) and the lines
that SGLang's scripts append to their result file (`task`, `backend`, `latency`, `num_requests`, `other.parallel`).

**`bench_steps`**, one row per evaluation: `wall_s` (what they call latency is the time of the whole run, not of a request), `requests`,
`req_s`, `output_tokens`, `aggregate_tok_s` (output), `accept_len`; `finished_at` where the result has an epoch stamp, taken at its end.
`concurrency` is SGLang's `parallel`, or `--parallel N` of the command line above a printed block. vLLM's script starts all questions at
once and leaves the limit to its HTTP client, so its concurrency is NULL.

**Traps.** An evaluation asks short questions with a long common prefix: its rate says little about other loads. The accuracy is not kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, nested, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_clock, send_rows
from ..engine.streams import likely_lines

__all__ = ["PARSER"]

BLOCK_LINES = 12  # a result block is no longer than this
COMMAND_LINES = 400  # progress lines between a command and its result
_VLLM = {"questions_per_second", "tokens_per_second", "total_output_tokens", "latency"}
_SGLANG = {"task", "backend", "latency", "num_requests"}
_N = r"([0-9]+(?:\.[0-9]+)?)"
_LABEL = re.compile(
    rf"[\s>#*-]*(?:(?P<score>(?:Accuracy|Score|Exact Match): +[0-9.]+%?)|(?:Total latency|Latency): +(?P<wall_s>{_N}) ?s"
    rf"|Output throughput: +(?P<aggregate_tok_s>{_N}) token/s|Output tokens per second: +(?P<per_second>{_N})"
    rf"|Questions per second: +(?P<req_s>{_N})|Total output tokens: +(?P<output_tokens>[0-9]+)|Accept length: +(?P<accept_len>{_N})"
    rf"|(?P<noise>Invalid(?: responses| rate)?: +[0-9.]+|Results saved to .*))\s*"
)
_ASKED = re.compile(r"evaluation: ([0-9]{1,7}) questions")
_HINT = r"Accuracy:|Score:|Exact Match:|[Ll]atency:|Output throughput:|per second:|Total output tokens:|Accept length:|Invalid|Results saved|evaluation: [0-9]|--parallel"
_COLUMNS = (
    *("line", "step", "concurrency", "requests", "finished_at", "wall_s", "req_s", "output_tokens", "aggregate_tok_s", "aggregate_counts"),
    "accept_len",
)


class _Printed:
    """Result blocks among the lines of a text."""

    def __init__(self) -> None:
        self.counts, self.rows = Counts(), list[Row]()
        self.seen: dict[str, str] = {}
        self.lines: list[int] = []
        self.requests: tuple[int, float] | None = None  # (line, how many)
        self.parallel: tuple[int, float] | None = None

    def take(self, line: int, text: str) -> None:
        found = _LABEL.fullmatch(text)
        if found is None:
            asked, parallel = _ASKED.search(text), re.search(r"\s--parallel[= ](\d{1,6})(?=\s|$)", text)
            if asked or parallel:
                self.close()
            self.requests = (line, float(asked[1])) if asked else self.requests
            self.parallel = (line, float(parallel[1])) if parallel else self.parallel
            self.counts.other += 1
            return
        label = next(k for k, v in found.groupdict().items() if v is not None)
        if self.lines and (line - self.lines[0] > BLOCK_LINES or label in self.seen):
            self.close()
        self.seen[label] = found[label]
        self.lines.append(line)

    def close(self) -> None:
        seen, lines = self.seen, self.lines
        self.seen, self.lines = {}, []
        rate = seen.get("aggregate_tok_s") or seen.get("per_second")
        if not ("score" in seen and "wall_s" in seen and rate):
            self.counts.other += len(lines)
            return
        self.counts.matched += len(lines)
        row: Row = {"line": lines[0], "aggregate_tok_s": float(rate) or None}
        row |= {c: float(seen[c]) or None for c in ("wall_s", "req_s", "output_tokens", "accept_len") if c in seen}
        for column, known in (("requests", self.requests), ("concurrency", self.parallel)):
            row[column] = known[1] if known and known[1] and lines[0] - known[0] <= COMMAND_LINES else None
        self.requests = self.parallel = None
        self.rows.append(row)


def _saved(doc: Json, line: int) -> Row | None:
    """The row of a saved result, None for any other object."""
    if set(doc) >= _VLLM:
        row: Row = {"line": line, "wall_s": pos(doc["latency"]), "req_s": pos(doc["questions_per_second"])}
        row |= {"output_tokens": pos(doc["total_output_tokens"]), "aggregate_tok_s": pos(doc["tokens_per_second"])}
        stamp = num(doc.get("timestamp"))
        return row | {"requests": pos(doc.get("num_questions")), "finished_at": stamp if stamp and 1e9 < stamp < 4.2e9 else None}
    if set(doc) >= _SGLANG:
        row = {"line": line, "wall_s": pos(doc["latency"]), "requests": pos(doc["num_requests"])}
        row |= {"concurrency": pos(nested(doc, "other").get("parallel")), "aggregate_tok_s": pos(doc.get("output_throughput"))}
        return row
    return None


def _is_json(text: str) -> bool:
    keys = json_keys(text)
    return keys >= _VLLM or keys >= _SGLANG


class TimedEvals:
    """Evaluations with their own clock; see the module's page."""

    name = "timed-evals"
    api = 1
    beyond = ("Output throughput: ", "Output tokens per second: ")

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A saved result, or a whole printed block in the head."""
        if _is_json(head.text):
            return Claim(88, "a saved result of an evaluation that times itself")
        if not re.search(r"Output throughput: +[0-9]|Output tokens per second:", head.text):
            return None
        found = _printed([(1, head.text if head.text.endswith("\n") else head.text + "\n")])
        return Claim(55, f"the results of {len(found.rows)} evaluations", shares=True) if found.rows else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps` and one of `clocks`."""
        if _is_json(source.head().text):
            lines, rows = JsonLines(source), []
            for first, last, doc in json_objects(lines):
                row = _saved(doc, first) if doc is not None else None
                if doc is None:
                    lines.near(first, "a result that is cut or garbled")
                elif row is not None:
                    lines.add(first, last, "matched")
                    rows.append(row)
            counts = lines.close()
        else:
            found = _printed(source.blocks())
            counts, rows = found.counts, found.rows
        rows = [r | {"step": k, "aggregate_counts": "output" if r["aggregate_tok_s"] else None} for k, r in enumerate(rows, 1)]
        if rows:
            timed = any(r.get("finished_at") for r in rows)
            send_rows(emit, "bench_steps", rows, _COLUMNS)
            send_clock(emit, rows[0]["line"], "utc" if timed else "none", 1.0 if timed else None, None)
        return counts


def _printed(blocks) -> _Printed:  # type: ignore[no-untyped-def]
    """Only lines with a label are looked at one by one."""
    out = _Printed()
    for first, block in blocks:
        for line, text, whole in likely_lines(first, block, _HINT, 2000, out.counts):
            if whole:
                out.take(line, text)
            else:
                out.counts.near(line, "the last line is cut")
    out.close()
    return out


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "Running GSM8K evaluation: 200 questions, 5-shot\n\nResults:\nAccuracy: 0.925\nInvalid responses: 0.000\nTotal latency: 250.500 s\n"
        "Questions per second: 0.798\nTotal output tokens: 20040\nOutput tokens per second: 80.000\nResults saved to /x/y.json\n",
        {
            "bench_steps": [
                {"line": 4, "concurrency": None, "requests": 200.0, "wall_s": 250.5, "req_s": 0.798, "output_tokens": 20040.0,
                 "aggregate_tok_s": 80.0, "aggregate_counts": "output"}
            ],
            "clocks": [{"kind": "none"}],
        },
        "vLLM 2025 on",
    ),
    Sample(
        '{\n  "accuracy": 0.925,\n  "invalid_rate": 0.0,\n  "latency": 250.5,\n  "questions_per_second": 0.8,\n  "total_output_tokens": 20040,\n'
        '  "tokens_per_second": 80.0,\n  "num_questions": 200,\n  "num_shots": 5,\n  "max_tokens": 256,\n  "timestamp": 1772000300.25\n}\n',
        {
            "bench_steps": [
                {"line": 1, "concurrency": None, "requests": 200.0, "wall_s": 250.5, "req_s": 0.8, "output_tokens": 20040.0,
                 "aggregate_tok_s": 80.0, "finished_at": 1772000300.25}
            ],
            "clocks": [{"kind": "utc", "resolution_s": 1.0}],
        },
        "vLLM, saved",
        name="gsm8k.json",
    ),
    Sample(
        "$ python3 bench_sglang.py --num-questions 200 --parallel 64\n100%|██████| 200/200 [00:31<00:00,  6.35it/s]\nAccuracy: 0.905\n"
        "Invalid: 0.000\nLatency: 31.500 s\nOutput throughput: 900.500 token/s\n",
        {"bench_steps": [{"line": 3, "concurrency": 64.0, "requests": None, "wall_s": 31.5, "aggregate_tok_s": 900.5}]},
        "SGLang",
    ),
    Sample(
        '{"task": "gsm8k", "backend": "srt", "num_gpus": 1, "latency": 31.5, "accuracy": 0.905, "num_requests": 200, "other": '
        '{"num_questions": 200, "parallel": 64}}\n'
        '{"task": "gsm8k", "backend": "srt", "num_gpus": 1, "latency": 21.5, "accuracy": 0.905, "num_requests": 200, "other": '
        '{"num_questions": 200, "parallel": 128}}\n',
        {
            "bench_steps": [
                {"line": 1, "concurrency": 64.0, "requests": 200.0, "wall_s": 31.5, "aggregate_tok_s": None, "aggregate_counts": None},
                {"line": 2, "step": 2, "concurrency": 128.0, "wall_s": 21.5},
            ]
        },
        "SGLang, saved",
        name="result.jsonl",
    ),
)  # fmt: skip

PARSER = TimedEvals()
