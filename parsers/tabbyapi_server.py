r"""TabbyAPI (exllamav2, exllamav3): the Metrics line of every request, from the console or from its log file.

How to get one: `python main.py 2>&1 | tee tabby.log`, `docker logs NAME > tabby.log 2>&1`, or the files in its `logs` folder.

Versions. `Metrics: N tokens generated in X seconds (T/s, context N tokens)` of 2024-03 to the form with queue, cached and new tokens,
request ID and draft of 2026. Console lines begin with a time since 2025-02-07. Without a terminal the console wraps at 80 columns (or at
TABBY_LOG_CONSOLE_WIDTH) between words: the parts of one line are put together again as long as they follow each other directly.

Tables
- `requests` (origin server): finished_at: time of the Metrics line. queued_at: that minus the printed seconds, which contain the queue.
  started_at: queued_at plus the queue. first_token_at: finished_at minus decode_ms. prompt_tokens: new ones; cached_tokens. prompt_ms and
  decode_ms: tokens over the printed rates (rounded as those are). drafted_tokens and accepted_tokens. A value printed as Indeterminate is
  NULL.
- `server_events`: arrival, loaded, error (a request that failed).

Traps
- "Generate" is the rate without the prompt; the old form prints one rate for everything, which is not read.
- From 2025-02-07 to 2025-02-19 the console printed year-day-month: a day above 12 gives no time, the others a wrong month. Nothing in the
  log tells.
- max_batch_size and cache_size, which bound what runs at once, are not printed.
"""

from __future__ import annotations

from ..engine.line_format import Field, Int, Line, LineFormat, Num, Sample, Stamp, Text, Word

_N = r"(?:\d+(?:\.\d+)?|Indeterminate)"
_WORDS = (  # of the whole message, as patterns
    *(r"Metrics:?", r"\(ID:", r"\w+\):", r"\d+", "tokens", "generated", "in", _N, "seconds"),
    *(r"\(Queue:", _N, "s,", "Process:", r"\d+", "cached", "tokens", "and", r"\d+", "new", "tokens", "at", _N, "T/s,"),
    *("Generate:", _N, "T/s,", "Context:", r"\d+", "tokens,", "Draft:", r"\d+", "/", r"\d+"),
)
_OPENERS = {"tokens generated in": 4, "(Queue:": 9, "Process:": 12, "Generate:": 23, "Context:": 26, "tokens accepted (": 33}
_HEAD = r"^(?:INFO:? +(?:\| +)?)$"
_NUMBER = r"(\d+(?:\.\d+)?)(?:[ ,)]|$)"


def _rest_before(word: int) -> str:
    """What may stand before word number `word` on a continuation line: the words directly before it, from any of them on."""
    pattern = ""
    for before in _WORDS[1:word]:
        pattern = f"(?:{pattern}{before}\\s)?"
    return rf"^\s*{pattern}$"


_VALUES: dict[str, Field] = {
    "rid": Text(r"(?:\(ID: |^\s*)([0-9a-f]{8,64})\):"),
    "output_n": Int(r"(?:Metrics: |\w\): |^\s*)(\d+)(?: tokens generated\b| tokens$|$)"),
    "seconds": Num(rf"(?:^\s*|generated )in {_NUMBER}"),
    "queue_s": Num(rf"\(Queue: {_NUMBER}"),
    "cached_n": Int(r"(?:Process: |^\s*)(\d+) cached\b"),
    "new_n": Int(r"(?:^\s*|tokens )and (\d+)(?: new\b|$)"),
    "prompt_rate": Num(rf"(?:^\s*|tokens )at {_NUMBER}"),
    "decode_rate": Num(rf"Generate: {_NUMBER}"),
    "accepted_n": Int(r"(?:Draft: |^\s*)(\d+) / \d+ tokens accepted"),
    "drafted_n": Int(r"(?:Draft: |^\s*)\d+ / (\d+) tokens accepted"),
    "tail": Text(r"(generated in|\(Queue:|new tokens at|tokens and|Generate:)\s*$"),
    "first": Num(r"^\s*(\d+(?:\.\d+)?)(?:\s|$)"),
    "closed": Text(r"\d[^)]*(\))\)?\s*(?:<-- .*)?$"),
}

_LINES = (
    Line(
        "metrics",
        into="requests*",
        anchor=("Metrics (ID:", "Metrics:"),
        after=_HEAD,
        fields={**_VALUES, "known": Text(r"^INFO:? +(?:\| +)?(Metrics(?: \(ID: \w+\):|:) +\d|Metrics(?: \(ID:(?: \w+\):)?|:)$)")},
        need=("known",),
        serves=True,
    ),
    *(Line("more", into="requests*", anchor=opener, after=_rest_before(k), fields=_VALUES) for opener, k in _OPENERS.items()),
    Line(
        "arrival",
        into="server_events",
        anchor=("Received chat completion ", "Received completion "),
        after=_HEAD,
        fields={"kind": Word("arrival")},
        serves=True,
    ),
    Line("loaded", into="server_events", anchor="Model successfully loaded.", after=_HEAD, fields={"kind": Word("loaded")}),
    Line(
        "failed",
        into="server_events",
        anchor="Sent to request: ",
        after=r"^ERROR:? +(?:\| +)?$",
        fields={"kind": Word("error"), "detail": Word("request")},
        serves=True,
    ),
)

_NOISE = ("Finished chat completion ", "Finished completion ", 'HTTP/1.1" ', "Generation progress (ID: ")

_REQUESTS = """
WITH numbered AS (
    SELECT *, last_value(CASE WHEN kind = 'metrics' THEN line END IGNORE NULLS) OVER (ORDER BY line) AS home
    FROM staged WHERE kind IN ('metrics', 'more')
), followed AS (
    SELECT *, row_number() OVER part - 1 AS place, lag(tail) OVER part AS tail_before,
        bool_or(closed IS NOT NULL) OVER (PARTITION BY home ORDER BY line ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ended
    FROM numbered WHERE home IS NOT NULL WINDOW part AS (PARTITION BY home ORDER BY line)
), parts AS (
    SELECT *, CASE WHEN place > 0 THEN tail_before END AS hanging FROM followed
    WHERE line - home = place AND NOT coalesce(ended, false)
), whole AS (
    SELECT home AS line, min(run) AS run, max(t) FILTER (place = 0) AS t, max(rid) AS rid,
        arg_min(output_n, line) AS output_n,
        arg_min(coalesce(seconds, CASE WHEN hanging = 'generated in' THEN first END), line) AS seconds,
        arg_min(coalesce(queue_s, CASE WHEN hanging = '(Queue:' THEN first END), line) AS queue_s,
        arg_min(cached_n, line) AS cached_n,
        arg_min(coalesce(new_n, CASE WHEN hanging = 'tokens and' THEN CAST(first AS BIGINT) END), line) AS new_n,
        arg_min(coalesce(prompt_rate, CASE WHEN hanging = 'new tokens at' THEN first END), line) AS prompt_rate,
        arg_min(coalesce(decode_rate, CASE WHEN hanging = 'Generate:' THEN first END), line) AS decode_rate,
        arg_min(accepted_n, line) AS accepted_n, arg_min(drafted_n, line) AS drafted_n
    FROM parts GROUP BY home
), timed AS (
    SELECT *, new_n / nullif(prompt_rate, 0) * 1000 AS prompt_ms, output_n / nullif(decode_rate, 0) * 1000 AS decode_ms FROM whole
)
SELECT line, 'server' AS origin, 'tabbyapi' AS server, run, coalesce(rid, 'line ' || CAST(line AS VARCHAR)) AS request,
    t - seconds AS queued_at, t - seconds + queue_s AS started_at, t - decode_ms / 1000 AS first_token_at, t AS finished_at,
    CASE WHEN t IS NOT NULL THEN CAST(0.01 AS DOUBLE) END AS resolution_s,
    new_n AS prompt_tokens, cached_n AS cached_tokens, output_n AS output_tokens,
    CASE WHEN accepted_n <= drafted_n THEN drafted_n END AS drafted_tokens,
    CASE WHEN accepted_n <= drafted_n THEN accepted_n END AS accepted_tokens,
    prompt_ms, decode_ms, queue_s * 1000 AS queue_ms, 'ok' AS status
FROM timed WHERE output_n IS NOT NULL OR seconds IS NOT NULL ORDER BY line
"""

_SAMPLE_CONSOLE = """\
2026-06-01 10:00:00.000 INFO:     Received chat completion request 0a1b2c3d4e5f60718293a4b5c6d7e8f9
2026-06-01 10:00:10.000 INFO:     Metrics (ID: 0a1b2c3d4e5f60718293a4b5c6d7e8f9): 100 tokens generated in 10.0 seconds (Queue: 2.5 s, \
Process: 64 cached tokens and 1000 new tokens at 400.0 T/s, Generate: 20.0 T/s, Context: 1064 tokens, Draft: 3 / 9 tokens accepted (33.33%))
2026-06-01 10:00:11.000 INFO:     127.0.0.1:40000 - "POST /v1/chat/completions HTTP/1.1" 200
2026-06-01 10:00:12.000 ERROR:    Sent to request: Chat completion aborted. Please check the server console.
"""

_SAMPLE_FILE = """\
2025-08-01 10:00:05.250 | INFO     | Metrics (ID: 00ff00ff00ff00ff): 50 tokens generated in 4.0 seconds (Queue: 0.0 s, \
Process: 0 cached tokens and 200 new tokens at 100.0 T/s, Generate: 25.0 T/s, Context: 200 tokens)
2025-08-01 10:00:07.250 | INFO     | Metrics (ID: 11ff00ff00ff00ff): 0 tokens generated in 1.0 seconds (Queue: 0.0 s, \
Process: 8 cached tokens and 2 new tokens at Indeterminate T/s, Generate: Indeterminate T/s, \
Context: 10 tokens) <-- Not accurate (truncated)
"""

_SAMPLE_EARLY = """\
INFO:     Metrics: 40 tokens generated in 8.0 seconds (5.0 T/s, context 700 tokens)
"""

PARSER = LineFormat(
    name="tabbyapi-server",
    server="tabbyapi",
    stamps=(Stamp(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) (?:\| )?", parse="iso", clock="local-no-zone", resolution_s=1e-3),),
    lines=_LINES,
    noise=_NOISE,
    signature=tuple(anchor for line in _LINES if line.kind != "more" for anchor in line.anchors),  # a rest belongs to a line before it
    assemble={"requests": _REQUESTS},
    samples=(
        Sample(
            text=_SAMPLE_CONSOLE,
            versions="2026, console",
            rows={
                "requests": [
                    {
                        "line": 2,
                        "queued_at": 1780308000.0,
                        "started_at": 1780308002.5,
                        "first_token_at": 1780308005.0,
                        "finished_at": 1780308010.0,
                        "queue_ms": 2500,
                        "prompt_tokens": 1000,
                        "cached_tokens": 64,
                        "output_tokens": 100,
                        "prompt_ms": 2500.0,
                        "decode_ms": 5000.0,
                        "drafted_tokens": 9,
                        "accepted_tokens": 3,
                    }
                ],
                "server_events": [{"kind": "arrival", "time": 1780308000.0}, {"kind": "error", "detail": "request"}],
            },
        ),
        Sample(
            text=_SAMPLE_FILE,
            versions="2024-08 and later, log file",
            rows={
                "requests": [
                    {"queued_at": 1754042401.25, "output_tokens": 50, "prompt_ms": 2000.0, "decode_ms": 2000.0, "cached_tokens": 0},
                    {"finished_at": 1754042407.25, "output_tokens": 0, "prompt_ms": None, "decode_ms": None, "first_token_at": None},
                ]
            },
        ),
        Sample(
            text=_SAMPLE_EARLY,
            versions="2024-03",
            rows={"requests": [{"output_tokens": 40, "finished_at": None, "queue_ms": None, "decode_ms": None, "prompt_tokens": None}]},
        ),
    ),
)
