r"""LM Studio's server log: when requests begin and end, and what they took.

How to get one: the files in `~/.lmstudio/server-logs` (or `~/.cache/lm-studio/server-logs`), the developer page, `lms log stream --source server`.

Versions. `[2026-01-31 10:30:15][INFO][MODEL] ...` of the files; the same as the window shows it, with the time on a line above; the stamps with
milliseconds of 2024. Where DEBUG lines hold the timing blocks of llama.cpp, these are the requests, and this parser gives events only.

Tables
- `requests` (origin server), one row per answer that can be told from all others: exactly one request was under way from its `Running chat
  completion` to its end. started_at: that line; first_token_at: `First token generated`; finished_at: `Finished streaming response`, or
  `Generated prediction` where nothing was streamed. output_tokens: `completion_tokens` of the printed prediction, or of the line `Done`
  (2026), which also gives cached_tokens and, where they are 0, prompt_tokens. status is cancelled where the client went away.
- `server_events`: arrival, cancel.

Traps
- Requests that overlap are not told apart in the log: such ones give no row, and neither do those behind an answer whose end is missing.
- Times are local and in whole seconds; a request that waits for another shows nothing until its turn, so started_at is when its turn came.
- The `prompt_tokens` of a prediction count cached ones too. tokens_per_second, TTFT and tok/s are not read: nothing says from when they count.
"""

from __future__ import annotations

from ..engine.line_format import Int, Line, LineFormat, Sample, Stamp, Text, Word

_TAGS = r"^(?:\[[^\]]*\] ?)*$"
_LINES = (
    Line("up", into="requests*", anchor="Success! HTTP server listening on port ", after=_TAGS, starts_run=True),
    Line("start", into="requests*", anchor=("Running chat completion on ", "Running completion on "), after=_TAGS, serves=True),
    Line("stream", into="requests*", anchor="Streaming response...", after=_TAGS),
    Line("first", into="requests*", anchor="First token generated. Continuing to stream response", after=_TAGS),
    Line("streamed", into="requests*", anchor="Finished streaming response", after=_TAGS),
    Line("whole", into="requests*", anchor="Generated prediction: ", after=_TAGS),
    Line(
        "usage",
        into="requests*",
        anchor='"completion_tokens": ',
        after=r"^    $",
        fields={"n": Int(r'"completion_tokens": (\d+),?\s*$')},
        need=("n",),
    ),
    Line(
        "done",
        into="requests*",
        anchor=" Done \u00b7 input ",
        after=r"^(?:\[[^\]]*\] ?)*\d\d:\d\d:\d\d$",
        fields={
            "input_n": Int(r"input ([\d,]+) "),
            "cached_n": Int(r"cached ([\d,]+) "),
            "n": Int(r"output ([\d,]+) "),
            "ended": Text(r"([\d.,]+ tok/s)\s*$"),
        },
        need=("n", "ended"),
    ),
    Line("gone", into="requests*", anchor="Client disconnected. Stopping generation", after=_TAGS),
    Line(
        "arrival",
        into="server_events",
        anchor=(
            "Received request: POST to /v1/chat/completions",
            "Received request: POST to /v1/completions",
            "Received POST request to /v1/",
        ),
        after=_TAGS,
        fields={"kind": Word("arrival")},
        serves=True,
    ),
)

# `under` counts requests under way behind a line. A prediction is the end of one that is not streamed; while a streamed one is under way it
# is not known whose it is, and then nothing is known until the next start of the server.
_REQUESTS = """
WITH marked AS (
    SELECT *, count(*) FILTER (kind = 'stream') OVER w - count(*) FILTER (kind = 'streamed') OVER w AS streams FROM staged WINDOW w AS (PARTITION BY run ORDER BY line)
), ends AS (
    SELECT *, kind = 'streamed' OR (kind = 'whole' AND streams <= 0) AS ends FROM marked
), counted AS (
    SELECT *, count(*) FILTER (kind = 'start') OVER w AS begun, count(*) FILTER (kind = 'start') OVER w - count(*) FILTER (ends) OVER w AS under
    FROM ends WINDOW w AS (PARTITION BY run ORDER BY line)
), sound AS (
    -- an end before any beginning: the log began in the middle of a request, whose other lines it cannot be told from
    SELECT *, under - min(least(under, 0)) OVER (PARTITION BY run ORDER BY line) AS open FROM counted
), groups AS (
    SELECT run, begun, max(open) AS most, min(line) FILTER (kind = 'start') AS line, max(t) FILTER (kind = 'start') AS began,
        max(line) FILTER (ends) AS end_line, max(t) FILTER (ends) AS ended, count(*) FILTER (ends) AS n_ends, bool_or(kind = 'stream') AS is_streamed,
        max(t) FILTER (kind = 'first') AS first, count(*) FILTER (kind = 'first') AS n_firsts, bool_or(kind = 'gone') AS is_gone
    FROM sound WHERE begun > 0 GROUP BY run, begun
), told AS (
    SELECT g.*,
        (SELECT CASE WHEN count(DISTINCT s.n) = 1 THEN max(s.n) END FROM staged s WHERE s.run = g.run AND (
            (s.kind = 'usage' AND s.line BETWEEN g.end_line AND g.end_line + 200 AND s.line < coalesce(g.next_line, s.line + 1) AND NOT g.is_streamed)
            OR (s.kind = 'done' AND s.line BETWEEN g.line AND g.end_line))) AS n
    FROM (SELECT *, lead(line) OVER (PARTITION BY run ORDER BY begun) AS next_line FROM groups) g
)
SELECT told.line, 'server' AS origin, 'lm-studio' AS server, told.run, 'line ' || CAST(told.line AS VARCHAR) AS request, began AS started_at,
    CASE WHEN n_firsts = 1 AND first BETWEEN began AND ended THEN first END AS first_token_at, ended AS finished_at,
    CASE WHEN began IS NOT NULL THEN CAST(1.0 AS DOUBLE) END AS resolution_s,
    CASE WHEN d.cached_n = 0 THEN d.input_n END AS prompt_tokens, d.cached_n AS cached_tokens, told.n AS output_tokens,
    CASE WHEN is_gone THEN 'cancelled' ELSE 'ok' END AS status
FROM told LEFT JOIN (
    SELECT run, line, input_n, cached_n, n FROM staged WHERE kind = 'done'
) d ON d.run = told.run AND d.line BETWEEN told.line AND told.end_line AND d.n = told.n
WHERE most = 1 AND n_ends = 1 AND coalesce(ended >= began, TRUE) ORDER BY told.line
"""
_EVENTS = "SELECT line, 'lm-studio' AS server, run, t AS time, 'cancel' AS kind FROM staged WHERE kind = 'gone' ORDER BY line"

_SAMPLE_FILE = """\
[2026-03-01 10:00:00][INFO][LM STUDIO SERVER] Success! HTTP server listening on port 1234
[2026-03-01 10:00:05][DEBUG] Received request: POST to /v1/chat/completions with body  {
  "model": "a/b",
  "messages": []
}
[2026-03-01 10:00:05][INFO][a/b] Running chat completion on conversation with 1 messages.
[2026-03-01 10:00:05][INFO][a/b] Streaming response...
[2026-03-01 10:00:06][INFO][a/b] Prompt processing progress: 100.0%
[2026-03-01 10:00:07][INFO][LM STUDIO SERVER] First token generated. Continuing to stream response..
[2026-03-01 10:00:17][DEBUG] 10:00:17 Done \u00b7 input 1,026 \u00b7 cached 0 \u00b7 output 1,200 \u00b7 TTFT 1.5s \u00b7 120.0 tok/s
[2026-03-01 10:00:17][INFO][a/b] Finished streaming response
"""
_SAMPLE_WINDOW = """\
2026-03-01 10:00:05  [INFO]
 [a/b] Running chat completion on conversation with 2 messages.
2026-03-01 10:00:05  [INFO]
 [LM STUDIO SERVER] Accumulating tokens ... (stream = false)
2026-03-01 10:00:45  [INFO]
 [a/b] Generated prediction:  {
  "id": "chatcmpl-0",
  "choices": [
    {
      "message": {
        "content": "x"
      }
    }
  ],
  "usage": {
    "prompt_tokens": 100,
    "completion_tokens": 400,
    "total_tokens": 500
  },
  "stats": {}
}
2026-03-01 10:00:50  [INFO]
 [a/b] Running chat completion on conversation with 4 messages.
2026-03-01 10:01:00  [INFO]
 [LM STUDIO SERVER] Client disconnected. Stopping generation... (If the model is busy processing the prompt, it will finish first.)
2026-03-01 10:01:01  [INFO]
 [a/b] Generated prediction:  {
  "usage": {
    "prompt_tokens": 150,
    "completion_tokens": 90
  }
}
"""
_SAMPLE_2024 = """\
[2024-03-21 19:30:22.200] [INFO] [LM STUDIO SERVER] Processing queued request...
[2024-03-21 19:30:22.202] [INFO] Received POST request to /v1/chat/completions with body: {
  "messages": []
}
[2024-03-21 19:30:22.204] [INFO] [LM STUDIO SERVER] Streaming response...
[2024-03-21 19:30:23.000] [INFO] [LM STUDIO SERVER] First token generated. Continuing to stream response..
[2024-03-21 19:30:25.900] [INFO] Finished streaming response
"""

PARSER = LineFormat(
    name="lm-studio-server",
    server="lm-studio",
    stamps=(
        Stamp(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3})\] \[[A-Z]+\] ", parse="iso", clock="local-no-zone", resolution_s=1e-3),
        Stamp(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\]\[[A-Z]+\] ?", parse="iso", clock="local-no-zone", resolution_s=1.0),
    ),
    front=True,
    lines=_LINES,
    signature=tuple(anchor for line in _LINES if line.kind != "usage" for anchor in line.anchors),  # any JSON may hold a usage
    noise=(
        "Accumulating tokens ... (stream = ",
        "Prompt processing progress: ",
        "Model generated tool calls: ",
        "Processing queued request",
    ),
    assemble={"requests": _REQUESTS, "server_events": _EVENTS},
    samples=(
        Sample(
            text=_SAMPLE_FILE,
            versions="2025 and later, file",
            rows={
                "requests": [
                    {
                        "line": 6,
                        "started_at": 1772359205.0,
                        "first_token_at": 1772359207.0,
                        "finished_at": 1772359217.0,
                        "resolution_s": 1.0,
                        "prompt_tokens": 1026,
                        "cached_tokens": 0,
                        "output_tokens": 1200,
                        "decode_ms": None,
                        "status": "ok",
                    }
                ],
                "server_events": [{"line": 2, "kind": "arrival", "time": 1772359205.0}],
            },
        ),
        Sample(
            text=_SAMPLE_WINDOW,
            versions="2025 and later, window",
            rows={
                "requests": [
                    {"line": 2, "started_at": 1772359205.0, "finished_at": 1772359245.0, "output_tokens": 400, "prompt_tokens": None},
                    {"line": 23, "started_at": 1772359250.0, "finished_at": 1772359261.0, "output_tokens": 90, "status": "cancelled"},
                ],
                "server_events": [{"kind": "cancel", "time": 1772359260.0}],
                "clocks": [{"kind": "local-no-zone", "resolution_s": 1.0}],
            },
        ),
        Sample(
            text=_SAMPLE_2024,
            versions="2024: nothing says which of the queued requests begins",
            rows={"requests": [], "server_events": [{"line": 2, "kind": "arrival", "time": 1711049422.202}]},
        ),
    ),
)
