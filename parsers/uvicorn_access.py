r"""Bare access lines of uvicorn, as vLLM before 0.10.1, old SGLang and other Python servers print them.

**Reads** `INFO:     127.0.0.1:50636 - "POST /v1/completions HTTP/1.1" 200 OK` of the endpoints that generate, alone or between the lines of any
log. Later vLLM puts `(APIServer pid=1) ` before them, SGLang the time: those are read with the rest of their logs.

**`server_events`**: access, one row per answered request; `value` is the HTTP status. `server` is NULL, because every Python server and
every router in front prints these lines alike.

**Traps.** The lines carry no time, and one that docker or journald puts before them is of no use: a streamed answer is logged when it starts,
any other when it ends, and neither says how long it took. So `time` is NULL, and no request, no latency and no arrival comes out of them, only
how many were answered and how many of them with an error (see the failures in the report). A request that is never answered is not in them.
Addresses and query strings are not read.
"""

from __future__ import annotations

from ..engine.line_format import Line, LineFormat, Num, Sample

__all__ = ["PARSER"]

_BAR = r"(?:[^'\"{}]*(?:it/s|s/it|i?B/s)(?:, [^'\"{}\[\]]*)?\]\s*)?"  # a progress bar without a line end
_COLOUR = r"(?:\[[\d;]+m)?"  # of a paste that lost the escape characters
_PATHS = r"completions|responses|messages|embeddings|generate|generate_stream|invocations"

_LINES = (
    Line(
        "access",
        into="server_events*",
        anchor=('HTTP/1.1" ', 'HTTP/1.0" ', 'HTTP/2" '),
        after=rf"^{_BAR}{_COLOUR}INFO{_COLOUR}: +(?:\S+ )?- {_COLOUR}\"{_COLOUR}POST /[\w/.-]*(?:{_PATHS})(?:\?\S*)? $",
        fields={"value": Num(rf'HTTP/[\d.]+" {_COLOUR}(\d{{3}})\b')},
        need=("value",),
    ),
)

_EVENTS = """
SELECT line, run, kind, value FROM staged ORDER BY line
"""

_SAMPLE = """\
INFO:     Started server process [12]
INFO:     Waiting for application startup.
INFO:     Application startup complete.
INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)
INFO:     127.0.0.1:50636 - "GET /v1/models HTTP/1.1" 200 OK
INFO:     127.0.0.1:50637 - "POST /v1/completions HTTP/1.1" 200 OK
INFO:     10.0.0.2:0 - "POST /v1/chat/completions?key=x HTTP/1.1" 500 Internal Server Error
"""

_SAMPLE_SGLANG = """\
INFO:     127.0.0.1:52622 - "POST /generate HTTP/1.1" 200 OK
the user wrote INFO:     127.0.0.1:52622 - "POST /generate HTTP/1.1" 200 OK
"""

PARSER = LineFormat(
    name="uvicorn-access",
    server="",
    timed=False,
    lines=_LINES,
    noise=(
        "INFO:     Started server process",
        "INFO:     Waiting for application",
        "INFO:     Application s",
        "INFO:     Uvicorn running on ",
    ),
    assemble={"server_events": _EVENTS},
    samples=(
        Sample(
            text=_SAMPLE,
            versions="vLLM 0.2 to 0.10.0",
            rows={
                "server_events": [
                    {"line": 6, "kind": "access", "value": 200.0, "time": None, "server": None},
                    {"line": 7, "kind": "access", "value": 500.0},
                ],
                "requests": [],
            },
        ),
        Sample(text=_SAMPLE_SGLANG, versions="SGLang 0.1 to 0.3", rows={"server_events": [{"line": 1, "value": 200.0}]}),
    ),
)
