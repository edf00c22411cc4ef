"""llama-benchy: a benchmark in the manner of llama-bench of any server with the OpenAI API.

**Reads** the table it prints (`| model | test | t/s | .. | ttfr (ms) | est_ppt (ms) | e2e_ttft (ms) |`, with `--concurrency` `t/s (total)` and
`t/s (req)`), alone, several in one file, in code fences, quoted or between the lines of any report, and the JSON of `--format json`.

A prompt row (`pp2048 (c4)`) and the row of the answers behind it (`tg128 (c4)`) are one row of `bench_steps`:

- `concurrency`: the `(c4)` of the test; 1 in tables without, where requests go one by one.
- `aggregate_tok_s`: `t/s (total)` of the answers (output), `per_stream_tok_s`: `t/s (req)` (decode: from the first token on). Both have the same
  value in a table with only one `t/s`.
- `ttft_mean_ms`: `e2e_ttft (ms)`, the first token that holds text; the mean of the runs. `ttfr (ms)` is the first answer of any kind.
- `input_len`: the prompt and, at a depth (`@ d4096`), what stands before it; `output_len`.
- `series`: model and test, each with its steps over the concurrency.

**Traps.** Rates of the prompt rows are those of prefill and no rates of the answers; `peak t/s` is the best second. `ctx_pp` and `ctx_tg` are the
requests that only load the context for the prefix cache. A prompt row without answers gives a row of its time to first token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, nested, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_clock, send_rows
from ..engine.streams import likely_lines

__all__ = ["PARSER"]

_SIGN = "e2e_ttft (ms)"
_TEST = re.compile(r"(ctx_)?(pp|tg)([0-9]{1,9})(?: ?@ ?d([0-9]{1,9}))?(?: ?\(c([0-9]{1,6})\))?")
_MEAN = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)(?: ?(?:±|\+/-) ?[0-9.]{1,20})?")
_COLUMNS = (
    *("line", "series", "step", "concurrency", "aggregate_tok_s", "aggregate_counts", "per_stream_tok_s", "per_stream_counts"),
    *("input_len", "output_len", "ttft_mean_ms"),
)


def _cells(text: str) -> list[str]:
    """The cells of a pipe table's row, without quotes and comment marks before it; a row without a closing pipe has none."""
    found = re.fullmatch(r"[\s#>]*\|(.*)\|\s*", text)
    return [c.strip(" *`") for c in found[1].split("|")] if found else []


def _mean(text: str | None) -> float | None:
    found = _MEAN.fullmatch(text or "")
    return (float(found[1]) or None) if found else None


def _step(line: int, name: str, load: float, total: float | None, each: float | None) -> Row:
    return {
        "line": line, "series": name, "concurrency": load,
        "aggregate_tok_s": total, "aggregate_counts": "output" if total else None,
        "per_stream_tok_s": each, "per_stream_counts": "decode" if each else None,
    }  # fmt: skip


def _numbered(rows: list[Row]) -> list[Row]:
    """Rows in the order of the file, counted inside their series."""
    seen: dict[str, int] = {}
    for row in rows:
        row["step"] = seen[row["series"]] = seen.get(row["series"], 0) + 1
    return rows


@dataclass
class _Tables:
    """The table that is being read, its last prompt row, and the steps so far."""

    counts: Counts = field(default_factory=Counts)
    rows: list[Row] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    prompt: tuple[int, str, str, str, str, float | None] | None = None  # line, model, `ctx_`, depth, load, time to first token
    size: float = 0.0

    def take(self, line: int, text: str, whole: bool) -> None:
        cells = _cells(text)
        lower = [c.lower() for c in cells]
        if "test" in lower and _SIGN in lower and any(c.startswith("t/s") for c in lower):
            self.close()
            self.titles = lower
            self.counts.matched += 1
        elif not cells or not self.titles:
            self.counts.other += 1
        elif all(re.fullmatch(r":?-+:?", c) for c in cells):
            self.counts.noise += 1
        else:
            at = dict(zip(self.titles, cells)) if len(cells) == len(self.titles) else {}
            test = _TEST.fullmatch(at.get("test", ""))
            if test:
                self.counts.matched += 1
                self.row(line, at, test)
            elif re.match(r"(?:ctx_)?(?:pp|tg)[0-9]", at.get("test", "pp0")):
                self.counts.near(line, "a row of another shape")
            else:
                self.counts.other += 1

    def row(self, line: int, at: dict[str, str], test: re.Match[str]) -> None:
        context, kind, size, depth, streams = (g or "" for g in test.groups())
        model, several = at.get("model", ""), "t/s (total)" in self.titles
        if kind == "pp":
            self.close()
            self.prompt = (line, model, context, depth, streams, _mean(at.get(_SIGN)))
            self.size = float(size)
            return
        matched, ttft, made = self.prompt is not None and self.prompt[1:5] == (model, context, depth, streams), None, float(size)
        name = " ".join(w for w in (model, f"{context}tg{size}", f"@ d{depth}" if depth else "") if w)
        row: Row = {}
        if matched and self.prompt:
            ttft = self.prompt[5]
            name = " ".join(w for w in (model, f"{context}pp{self.size:.0f} tg{size}", f"@ d{depth}" if depth else "") if w)
            row = {"input_len": self.held(context, depth), "ttft_mean_ms": ttft}
        else:
            self.close()
        self.prompt = None
        load = float(streams) if streams else None if several else 1.0
        total = _mean(at.get("t/s (total)" if several else "t/s"))
        each = _mean(at.get("t/s (req)" if several else "t/s"))
        self.rows.append(
            _step(line, name, load, total, each) | row | {"output_len": made} if load else {"line": line, "series": name} | row
        )

    def held(self, context: str, depth: str) -> float:
        return float(depth or 0) if context else self.size + float(depth or 0)

    def close(self) -> None:
        """A prompt row that no answers followed."""
        if self.prompt and self.prompt[5] and (self.prompt[4] or "t/s (total)" not in self.titles):
            line, model, context, depth, streams, ttft = self.prompt
            name = " ".join(w for w in (model, f"{context}pp{self.size:.0f}", f"@ d{depth}" if depth else "") if w)
            more = {"input_len": self.held(context, depth), "ttft_mean_ms": ttft}
            self.rows.append(_step(line, name, float(streams or 1), None, None) | more)
        self.prompt = None


def _read(tables: _Tables, first: int, text: str) -> None:
    """Only lines with bars are looked at one by one."""
    for line, one, whole in likely_lines(first, text, r"\|", 1000, tables.counts):
        tables.take(line, one, whole)


def _of_json(doc: Json, line: int) -> list[Row]:
    """The rows of a saved result."""
    rows = []
    model = doc.get("model") if isinstance(doc.get("model"), str) else ""
    for one in doc["benchmarks"] if isinstance(doc.get("benchmarks"), list) else ():
        if not isinstance(one, dict) or not pos(one.get("concurrency")):
            continue
        load, depth, size, made = (num(one.get(k)) for k in ("concurrency", "context_size", "prompt_size", "response_size"))
        context = "ctx_" if one.get("is_context_prefill_phase") is True else ""
        total, each = pos(nested(one, "tg_throughput").get("mean")), pos(nested(one, "tg_req_throughput").get("mean"))
        parts = (str(model)[:100], f"{context}pp{size or 0:.0f} tg{made or 0:.0f}", f"@ d{depth:.0f}" if depth else "")
        row = _step(line, " ".join(w for w in parts if w), load or 1.0, total, each or (total if load == 1 else None))
        row["input_len"] = (depth if context else (size or 0.0) + (depth or 0.0)) or None
        rows.append(row | {"output_len": made or None, "ttft_mean_ms": pos(nested(one, "e2e_ttft").get("mean"))})
    return rows


_KEYS = {"benchmarks", "is_context_prefill_phase", "tg_throughput"}


class LlamaBenchy:
    """Tables and results of llama-benchy; see the module's page."""

    name = "llama-benchy"
    api = 1
    beyond = (_SIGN,)

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        if json_keys(head.text) >= _KEYS:
            return Claim(90, "a result of llama-benchy")
        if _SIGN not in head.text:
            return None
        tables = _Tables()
        _read(tables, 1, head.text)
        tables.close()
        return Claim(75, f"a table of llama-benchy: {len(tables.rows)} tests", shares=True) if tables.rows else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps` and one of `clocks`."""
        rows: list[Row] = []
        if json_keys(source.head().text) >= _KEYS:
            lines = JsonLines(source)
            for first, last, doc in json_objects(lines):
                if doc is None:
                    lines.near(first, "an object that is cut or garbled")
                elif found := _of_json(doc, first):
                    rows += found
                    lines.add(first, last, "matched")
            counts = lines.close()
        else:
            tables = _Tables()
            for first, text in source.blocks():
                _read(tables, first, text)
            tables.close()
            rows, counts = tables.rows, tables.counts
        if rows:
            send_rows(emit, "bench_steps", _numbered(rows), _COLUMNS)
            send_clock(emit, rows[0]["line"], "none", None, None)
        return counts


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "| model   |        test |          t/s |     peak t/s |      ttfr (ms) |   est_ppt (ms) |  e2e_ttft (ms) |\n"
        "|:--------|------------:|-------------:|-------------:|---------------:|---------------:|---------------:|\n"
        "| org/m-7b |      pp1000 | 2000.00 ± 5.00 |              | 510.00 ± 2.00 | 500.00 ± 2.00 | 520.50 ± 3.00 |\n"
        "| org/m-7b |        tg64 |   50.25 ± 0.50 | 52.00 ± 0.00 |               |               |               |\n"
        "| org/m-7b | pp1000 @ d3000 | 1900.00 ± 5.00 |              | 2110.00 ± 2.00 | 2100.00 ± 2.00 | 2120.00 ± 3.00 |\n"
        "| org/m-7b |   tg64 @ d3000 |   45.50 ± 0.50 | 47.00 ± 0.00 |               |               |               |\n",
        {
            "bench_steps": [
                {"line": 4, "series": "org/m-7b pp1000 tg64", "step": 1, "concurrency": 1.0, "aggregate_tok_s": 50.25, "aggregate_counts": "output",
                 "per_stream_tok_s": 50.25, "per_stream_counts": "decode", "input_len": 1000.0, "output_len": 64.0, "ttft_mean_ms": 520.5},
                {"line": 6, "series": "org/m-7b pp1000 tg64 @ d3000", "step": 1, "per_stream_tok_s": 45.5, "input_len": 4000.0,
                 "ttft_mean_ms": 2120.0},
            ],
            "clocks": [{"kind": "none"}],
        },
        "0.1, requests one by one",
    ),
    Sample(
        "> | model | test | t/s (total) | t/s (req) | peak t/s | peak t/s (req) | ttfr (ms) | est_ppt (ms) | e2e_ttft (ms) |\n"
        "> |:--|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        "> | m | pp512 (c1) | 2500.00 ± 9.00 | 2500.00 ± 9.00 | | | 210.00 ± 1.00 | 200.00 ± 1.00 | 211.00 ± 1.00 |\n"
        "> | m | tg128 (c1) | 40.00 ± 0.10 | 40.00 ± 0.10 | 41.00 ± 0.00 | 41.00 ± 0.00 | | | |\n"
        "> | m | pp512 (c4) | 2600.00 ± 9.00 | 900.00 ± 90.00 | | | 600.00 ± 9.00 | 590.00 ± 9.00 | 610.00 ± 9.00 |\n"
        "> | m | tg128 (c4) | 120.50 ± 0.90 | 31.25 ± 0.30 | 128.00 ± 0.00 | 33.00 ± 0.00 | | | |\n",
        {
            "bench_steps": [
                {"line": 4, "step": 1, "concurrency": 1.0, "aggregate_tok_s": 40.0, "ttft_mean_ms": 211.0},
                {"line": 6, "step": 2, "concurrency": 4.0, "aggregate_tok_s": 120.5, "per_stream_tok_s": 31.25, "ttft_mean_ms": 610.0},
            ]
        },
        "0.3 and later, --concurrency 1 4, quoted",
    ),
    Sample(
        '{"version": "0.4.0", "timestamp": "2026-05-07 14:12:09", "model": "m", "prefix_caching_enabled": false, "max_concurrency": 2, "benchmarks": ['
        '{"concurrency": 2, "context_size": 1000, "prompt_size": 500, "response_size": 100, "is_context_prefill_phase": false,'
        ' "pp_throughput": {"mean": 3000.5, "std": 1.0, "values": [3000.5]}, "tg_throughput": {"mean": 70.5, "std": 0.5, "values": [70.5]},'
        ' "tg_req_throughput": {"mean": 36.25, "std": 0.5, "values": [36.0, 36.5]}, "peak_throughput": {"mean": 75.0, "std": 0, "values": [75]},'
        ' "ttfr": {"mean": 400.0}, "est_ppt": {"mean": 390.0}, "e2e_ttft": {"mean": 410.5, "std": 3.0, "values": [410.5]}}]}\n',
        {
            "bench_steps": [
                {"line": 1, "series": "m pp500 tg100 @ d1000", "step": 1, "concurrency": 2.0, "aggregate_tok_s": 70.5, "per_stream_tok_s": 36.25,
                 "input_len": 1500.0, "output_len": 100.0, "ttft_mean_ms": 410.5}
            ]
        },
        "0.4, --format json",
        name="result.json",
    ),
)  # fmt: skip

PARSER = LlamaBenchy()
