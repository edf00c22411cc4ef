r"""KTransformers' own server: one performance line per request (before its serving moved to SGLang in October 2025).

How to get one: `ktransformers --model_path ... 2>&1 | tee kt.log`. Logs of the later SGLang-based server are SGLang logs.

Versions 0.2: `2025-02-21 04:44:54,330 INFO /.../base.py[64]: Performance(T/s): prefill a, decode b. Time(s): tokenize c, prefill d,
decode e`, with or without time and level, or the message alone as people paste it.

Tables
- `requests` (origin server): prompt_ms, decode_ms as printed. prompt_tokens and output_tokens: rate times time where that can be one whole
  number only (no line prints a count; later builds round the rate and the time). finished_at: the time of the line, where it has one; first_token_at and started_at: counted back from it
  (tokenising comes before started_at). What waited before is not in the log.

Traps
- The prompt rate is that of the whole prompt; a cached prefix is not told apart.
- `local_chat` prints `prompt eval rate:` lines, which llama-cli-timings reads.
"""

from __future__ import annotations

from ..engine.line_format import Line, LineFormat, Num, Sample, Stamp, Text

_N = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_ANY = r"[\d.e+-]+"

_LINES = (
    Line(
        "performance",
        into="requests*",
        anchor="Performance(T/s): ",
        after=r"^(?:(?:INFO )?[\w./-]*\.py\[\d+\]: )?$",
        fields={
            "prefill_rate": Num(rf"\(T/s\): prefill {_N},"),
            "decode_rate": Num(rf"\(T/s\): prefill {_ANY}, decode {_N}\. "),
            "prefill_s": Num(rf"Time\(s\): tokenize {_ANY}, prefill {_N},"),
            "decode_s": Num(rf"Time\(s\): tokenize {_ANY}, prefill {_ANY}, decode {_N}"),
            "rounded": Text(r"\(T/s\): (prefill) \d+\.\d\d, decode \d+\.\d\d\. Time\(s\): tokenize \d+\.\d{3}, "),
        },
        need=("prefill_rate", "decode_rate", "prefill_s", "decode_s"),
    ),
)

# How far a product may lie from a whole number: nothing where all digits are printed, what two decimals of the rate and three of the time leave
# open where they are rounded. A count is known where no other whole number lies within.
_REQUESTS = """
WITH products AS (
    SELECT *, prefill_rate * prefill_s AS prompt_n, decode_rate * decode_s AS output_n,
        0.01 + CASE WHEN rounded IS NULL THEN 0 ELSE 0.005 * prefill_s + 0.0005 * prefill_rate END AS prompt_open,
        0.01 + CASE WHEN rounded IS NULL THEN 0 ELSE 0.005 * decode_s + 0.0005 * decode_rate END AS output_open
    FROM staged
), counted AS (
    SELECT *, prompt_open < 0.5 AND abs(prompt_n - round(prompt_n)) < prompt_open AS prompt_known,
        output_open < 0.5 AND abs(output_n - round(output_n)) < output_open AS output_known
    FROM products
)
SELECT line, 'server' AS origin, 'ktransformers' AS server, run, 'line ' || CAST(line AS VARCHAR) AS request,
    t - decode_s - prefill_s AS started_at, t - decode_s AS first_token_at, t AS finished_at, res AS resolution_s,
    CASE WHEN prompt_known THEN round(prompt_n) END AS prompt_tokens, CASE WHEN output_known THEN round(output_n) END AS output_tokens,
    prefill_s * 1000 AS prompt_ms, decode_s * 1000 AS decode_ms, 'ok' AS status
FROM counted ORDER BY line
"""

_SAMPLE = """\
2025-03-01 12:00:30,500 INFO /srv/ktransformers/server/backend/base.py[64]: Performance(T/s): prefill 20.0, decode 4.0. \
Time(s): tokenize 0.25, prefill 5.0, decode 15.0
"""

PARSER = LineFormat(
    name="ktransformers-server",
    server="ktransformers",
    stamps=(Stamp(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d+) ", parse="iso", clock="local-no-zone", resolution_s=1e-3),),
    lines=_LINES,
    assemble={"requests": _REQUESTS},
    samples=(
        Sample(
            text=_SAMPLE,
            versions="0.2",
            rows={
                "requests": [
                    {
                        "started_at": 1740830410.5,
                        "first_token_at": 1740830415.5,
                        "finished_at": 1740830430.5,
                        "prompt_tokens": 100,
                        "output_tokens": 60,
                        "prompt_ms": 5000,
                        "decode_ms": 15000,
                    },
                ]
            },
        ),
        Sample(  # rounded: of the long answer the tokens are not known
            text="2025-05-01 09:00:00,000 INFO /srv/ktransformers/server/backend/interfaces/balance_serve.py[123]: Performance(T/s): "
            "prefill 75.32, decode 9.62. Time(s): tokenize 0.011, prefill 3.120, decode 141.580\n",
            versions="rounded, 2025",
            rows={"requests": [{"prompt_tokens": 235, "output_tokens": None, "prompt_ms": 3120, "decode_ms": 141580}]},
        ),
        Sample(  # the later back end prints neither time nor level
            text="/srv/ktransformers/server/backend/interfaces/balance_serve.py[97]: Performance(T/s): prefill 40.0, decode 8.0. "
            "Time(s): tokenize 0.5, prefill 2.5, decode 10.0\n",
            versions="0.2.4",
            rows={"requests": [{"finished_at": None, "prompt_tokens": 100, "output_tokens": 80, "prompt_ms": 2500, "decode_ms": 10000}]},
        ),
    ),
)
