r"""MLC LLM's chat: what `/stats` prints behind an answer.

**Reads** `prefill: 152.3 tok/s, decode: 43.1 tok/s` (2023 `encode:` and later), the line with the counts that follows it in 2025 and later, and
the two sections `prefill` and `decode` of the verbose form (2023 on), alone or between other lines.

**`requests`** (origin server), where the counts are printed: prompt_tokens, prompt_ms, output_tokens, decode_ms: tokens over the printed rates.
**`bench_steps`**, where they are not: `concurrency` 1, as the chat holds one conversation, `per_stream_tok_s` the rate of decode.

**Traps.** Early versions add up all turns since the last `/reset`. The rates have one decimal: under 2.5 tok/s no time is made of them. The server
prints none of these lines.
"""

from __future__ import annotations

from ..engine.line_format import Int, Line, LineFormat, Num, Sample

__all__ = ["PARSER"]

_START = r"^[\s>]*(?:Statistics: )?$"
_LINES = (
    Line(
        "rates",
        into="requests*",
        anchor=("prefill: ", "encode: "),
        after=_START,
        fields={
            "prompt_rate": Num(r"(?:prefill|encode): ([\d.]+) tok/s, decode: [\d.]+ tok/s\s*$"),
            "rate": Num(r"(?:prefill|encode): [\d.]+ tok/s, decode: ([\d.]+) tok/s\s*$"),
        },
        need=("prompt_rate", "rate"),
    ),
    Line(
        "counts",
        into="requests*",
        anchor="prompt tokens: ",
        after=r"^[\s>]*$",
        fields={
            "prompt_n": Int(r"prompt tokens: (\d+), completion tokens: \d+, total"),
            "n": Int(r", completion tokens: (\d+), total tokens: \d+\s*$"),
        },
        need=("prompt_n", "n"),
    ),
    Line("section prefill", into="requests*", anchor=" prefill -", after=r"^[\s>]*-{5,}$"),
    Line("section prefill", into="requests*", anchor="-prefill-", after=r"^[\s>]*-{5,}$"),
    Line("section decode", into="requests*", anchor=" decode -", after=r"^[\s>]*-{5,}$"),
    Line("section decode", into="requests*", anchor="-decode-", after=r"^[\s>]*-{5,}$"),
    Line(
        "rate",
        into="requests*",
        anchor="throughput: ",
        after=r"^[\s>]*$",
        fields={"rate": Num(r"throughput: ([\d.]+) tok/s\s*$")},
        need=("rate",),
    ),
    Line(
        "count",
        into="requests*",
        anchor="total tokens: ",
        after=r"^[\s>]*$",
        fields={"n": Int(r"total tokens: (\d+) tok\s*$")},
        need=("n",),
    ),
)

_TOLD = """
WITH parted AS (
    SELECT *, last_value(CASE WHEN kind LIKE 'section %' THEN line END IGNORE NULLS) OVER (PARTITION BY run ORDER BY line) AS home
    FROM staged WHERE kind LIKE 'section %' OR kind IN ('rate', 'count')
), sections AS (
    SELECT run, home, any_value(kind) FILTER (line = home) AS kind, max(rate) AS rate, max(n) AS n FROM parted WHERE line - home <= 4
    GROUP BY run, home HAVING count(*) FILTER (kind = 'rate') = 1 AND count(*) FILTER (kind = 'count') = 1
), pairs AS (
    SELECT *, lag(kind) OVER w AS kind_before, lag(home) OVER w AS home_before, lag(n) OVER w AS n_before, lag(rate) OVER w AS rate_before
    FROM sections WINDOW w AS (PARTITION BY run ORDER BY home)
)
SELECT r.run, r.line, r.prompt_rate, r.rate, c.prompt_n, c.n
FROM staged r LEFT JOIN staged c ON c.run = r.run AND c.line = r.line + 1 AND c.kind = 'counts' WHERE r.kind = 'rates'
UNION ALL
SELECT run, home_before, rate_before, rate, n_before, n FROM pairs
WHERE kind = 'section decode' AND kind_before = 'section prefill' AND home - home_before <= 6
"""

_REQUESTS = """
SELECT line, 'server' AS origin, 'mlc-llm' AS server, run, CAST(run AS VARCHAR) || ':line ' || CAST(line AS VARCHAR) AS request,
    CAST(prompt_n AS DOUBLE) AS prompt_tokens, CASE WHEN prompt_rate >= 2.5 THEN prompt_n / prompt_rate * 1000 END AS prompt_ms,
    CAST(n AS DOUBLE) AS output_tokens, CASE WHEN rate >= 2.5 THEN n / rate * 1000 END AS decode_ms, 'ok' AS status
FROM told WHERE n > 0 ORDER BY line
"""

_STEPS = """
SELECT line, CAST(row_number() OVER (ORDER BY line) AS INTEGER) AS step, CAST(1 AS DOUBLE) AS concurrency, CAST(1 AS DOUBLE) AS requests,
    rate AS per_stream_tok_s, 'decode' AS per_stream_counts
FROM told WHERE n IS NULL AND rate > 0 ORDER BY line
"""

_SAMPLE_SHORT = """\
prefill: 150.5 tok/s, decode: 40.0 tok/s
Statistics: prefill: 300.0 tok/s, decode: 50.0 tok/s
prompt tokens: 30, completion tokens: 200, total tokens: 230
"""

_SAMPLE_VERBOSE = """\
----------- prefill -----------
throughput: 200.0 tok/s
total tokens: 50 tok
total time: 0.3 s
------------ decode ------------
throughput: 40.0 tok/s
total tokens: 400 tok
total time: 10.0 s
"""

_SAMPLE_QUOTED = """\
it said prefill: 150.5 tok/s, decode: 40.0 tok/s
throughput: 40.0 tok/s
total tokens: 400 tok
"""

PARSER = LineFormat(
    name="mlc-llm",
    server="mlc-llm",
    timed=False,
    lines=_LINES,
    signature=("prefill: ", "encode: ", " prefill -", "-prefill-"),
    prepare={"told": _TOLD},
    assemble={"requests": _REQUESTS, "bench_steps": _STEPS},
    samples=(
        Sample(
            text=_SAMPLE_SHORT,
            versions="2023 and later",
            rows={
                "bench_steps": [{"line": 1, "concurrency": 1.0, "per_stream_tok_s": 40.0, "per_stream_counts": "decode"}],
                "requests": [
                    {"line": 2, "prompt_tokens": 30.0, "prompt_ms": 100.0, "output_tokens": 200.0, "decode_ms": 4000.0, "server": "mlc-llm"}
                ],
            },
        ),
        Sample(
            text=_SAMPLE_VERBOSE,
            versions="2023 and later, verbose",
            rows={
                "requests": [{"line": 1, "prompt_tokens": 50.0, "prompt_ms": 250.0, "output_tokens": 400.0, "decode_ms": 10000.0}],
                "bench_steps": [],
            },
        ),
        Sample(text=_SAMPLE_QUOTED, versions="any: quoted or without its section", rows={"requests": [], "bench_steps": []}),
    ),
)
