"""Reads the log of tinyserve, a server that does not exist.

What it reads: one line per second with what runs and waits, and one line at the start with the slot limit. That is all a server
needs for gpuverdict to tell a slot queue from a full GPU.
"""

from gpuverdict.engine.line_format import Int, Line, LineFormat, Num, Sample, Stamp, Word
from gpuverdict.engine.plugins import hookimpl

TINYSERVE = LineFormat(
    name="tinyserve",
    server="tinyserve",
    stamps=(Stamp(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) ", parse="iso", clock="utc", resolution_s=1.0),),
    lines=(
        Line(
            "limit", into="server_config", anchor="tinyserve up: max_batch=", starts_run=True, need=("num",),
            fields={"server": Word("tinyserve"), "key": Word("slots"), "num": Num(r"max_batch=(\d+)"), "origin": Word("logged")},
        ),
        Line(
            "stats", into="server_samples*", anchor="tinyserve stats: ", need=("running", "waiting"),
            fields={"running": Int(r"run=(\d+)"), "waiting": Int(r"wait=(\d+)"), "gen_tok_s": Num(r"tok/s=([\d.]+)"), "kv": Num(r"kv=([\d.]+)%", scale=0.01)},
        ),
    ),
    assemble={"server_samples": "SELECT line, run, t AS time, 'tinyserve' AS server, running, waiting, gen_tok_s, kv AS kv_usage FROM staged"},
    samples=(
        Sample(
            "2026-09-06T10:00:00Z tinyserve up: max_batch=8\n2026-09-06T10:00:01Z tinyserve stats: run=8 wait=3 tok/s=211.5 kv=12.5%\n",
            rows={"server_config": [{"key": "slots", "num": 8.0}], "server_samples": [{"running": 8.0, "waiting": 3.0, "gen_tok_s": 211.5, "kv_usage": 0.125}]},
            versions="1.0",
        ),
        Sample("2027-01-02T10:00:01Z tinyserve stats: wait=0 run=2\n", rows={"server_samples": [{"running": 2.0, "gen_tok_s": None}]}, versions="2.0"),
    ),
)  # fmt: skip


@hookimpl
def gpuverdict_parsers() -> list[LineFormat]:
    return [TINYSERVE]
