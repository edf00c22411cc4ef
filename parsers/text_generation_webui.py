r"""text-generation-webui (textgen): the line per answer, `Output generated in 12.50 seconds (21.04 tokens/s, 263 tokens, context 1024, seed 1)`.

How to get one: `python server.py ... 2>&1 | tee webui.log`.

Versions. 2023 (bare, first without context and seed) to 2026 (behind `HH:MM:SS-ffffff INFO`). Without a wide terminal the console wraps at 80
columns between words: the two parts are put together where they follow each other directly.

Tables
- `requests` (origin server): output_tokens; finished_at: time of the line, started_at: that minus the printed seconds. A line without a time of
  its own has no times, and then its seconds are in no column.

Traps
- The printed rate is tokens over the whole time, the prompt included: it is no decode rate and is not read.
- `context` counts all tokens of the prompt, also those that were still in the cache.
- The seconds begin once the answer before it is done (one at a time is served, but with `--parallel` of newer versions): they hold no waiting.
- Loaders other than Transformers count the tokens of the text that came back, which may be some more or fewer than were sampled.
- With the llama.cpp loader its timing block stands before the line and is the request: then this line gives none.
- A line whose rate is not tokens over seconds is refused. The times have no date.
"""

from __future__ import annotations

from ..engine.line_format import Int, Line, LineFormat, Num, Sample, Stamp, Text

_LINES = (
    Line(
        "answer",
        into="requests*",
        anchor="Output generated in ",
        after=r"^(?:INFO +)?$",
        fields={
            "seconds": Num(r"generated in (\d+\.\d\d) seconds \("),
            "rate": Num(r"\((\d+\.\d\d) tokens/s"),
            "n": Int(r"tokens/s, (\d+) tokens[,)]"),
            "last_n": Int(r"tokens/s, (\d+)\s*$"),
            "open": Text(r"(tokens/s,)\s*$"),
        },
        need=("seconds",),
        serves=True,
        prefixed=True,
    ),
    Line(
        "rest",
        into="requests*",
        anchor="tokens, context ",
        after=r"^\s+(?:\d+ )?$",
        fields={"n": Int(r"^\s+(\d+) tokens, context \d+, "), "whole": Text(r"^\s+(tokens), context \d+, ")},
    ),
)

_REQUESTS = """
WITH told AS (
    SELECT a.line, a.run, a.t, a.seconds, a.rate,
        coalesce(a.n, CASE WHEN a.open IS NOT NULL THEN b.n END, CASE WHEN b.whole IS NOT NULL THEN a.last_n END) AS n
    FROM staged a LEFT JOIN staged b ON b.kind = 'rest' AND b.line = a.line + 1 WHERE a.kind = 'answer'
)
SELECT line, 'server' AS origin, 'text-generation-webui' AS server, run, 'line ' || CAST(line AS VARCHAR) AS request, t - seconds AS started_at,
    t AS finished_at, CASE WHEN t IS NOT NULL THEN CAST(0.01 AS DOUBLE) END AS resolution_s, n AS output_tokens, 'ok' AS status
FROM told
WHERE coalesce(n, t) IS NOT NULL AND (n IS NULL OR rate IS NULL OR abs(n - rate * seconds) <= 0.006 * (rate + seconds) + 0.001) ORDER BY line
"""

_SAMPLE_BARE = """\
Output generated in 12.50 seconds (21.04 tokens/s, 263 tokens, context 1024, seed 1234567)
Output generated in 0.14 seconds (0.00 tokens/s, 0 tokens, context 1024, seed 1234567)
Output generated in 10.00 seconds (20.00 tokens/s, 200 tokens)
"""
_SAMPLE_RICH = """\
10:20:20-000000 INFO     Loaded "a" in 4.10 seconds.
10:20:35-250000 INFO     Output generated in 12.50 seconds (21.04 tokens/s, 263
                         tokens, context 1024, seed 1234567)
10:22:40-500000 INFO     Output generated in 100.00 seconds (20.00 tokens/s,
                         2000 tokens, context 2048, seed 7654321)
"""
_SAMPLE_WIDE = """\
23:59:59-250000 INFO     Output generated in 12.50 seconds (21.04 tokens/s, 263 tokens, context 1024, seed 1234567)
"""

PARSER = LineFormat(
    name="text-generation-webui",
    server="text-generation-webui",
    stamps=(Stamp(r"^(\d\d:\d\d:\d\d-\d{6}) ", parse="clock", clock="local-no-zone", resolution_s=1e-6),),
    front=True,
    lines=_LINES,
    assemble={"requests": _REQUESTS},
    samples=(
        Sample(
            text=_SAMPLE_BARE,
            versions="2023 and 2024",
            rows={
                "requests": [
                    {"line": 1, "output_tokens": 263, "started_at": None, "finished_at": None, "prompt_tokens": None, "decode_ms": None},
                    {"line": 2, "output_tokens": 0},
                    {"line": 3, "output_tokens": 200},
                ]
            },
        ),
        Sample(
            text=_SAMPLE_RICH,
            versions="2025 and later, 80 columns",
            rows={
                "requests": [
                    {"line": 2, "output_tokens": 263, "started_at": 37222.75, "finished_at": 37235.25, "resolution_s": 0.01},
                    {"line": 4, "output_tokens": 2000, "started_at": 37260.5, "finished_at": 37360.5},
                ],
                "clocks": [{"kind": "local-no-zone"}],
            },
        ),
        Sample(
            text=_SAMPLE_WIDE,
            versions="2025 and later, wide console",
            rows={"requests": [{"output_tokens": 263, "finished_at": 86399.25}]},
        ),
    ),
)
