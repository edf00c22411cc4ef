r"""`ollama ps`: which part of a loaded model lies in the memory of the CPU and which on the cards.

How to get one: `ollama ps > ps.txt` while the model is loaded (after a request, before the keep-alive ends), once or in a loop, or pasted
from a terminal with the prompt and whatever else stood there.

Versions. `NAME ID SIZE PROCESSOR UNTIL` (0.1.33 to 0.9), with `CONTEXT` before `UNTIL` since. A row is known by its form (a name, an id
of hexadecimal digits, a size, a share), so the heading may be missing; so may id and size, which people cut out, where blanks set the rest apart.

Tables
- `server_config` keys, one row per model and printing: memory_on_cpu_share (0..1, an interval: the share is printed in whole per cent),
  model_memory_mib (`SIZE`, an interval: it is printed cut to whole units from 10 on), context_length (`CONTEXT`).

Traps
- The share is one of *memory* (weights, cache and buffers), not of time and not of layers.
- `100% GPU` says that no layer was planned for the CPU. Before the own engine of 0.11 it is the plan, not what was allocated, and a runner
  that found no card still shows it: it takes the memory of the cards to believe it.
- A share between is one of a model with at least one layer on the CPU; the token embedding is then counted with the CPU.
- A row behind `#` stands in a comment: it is somebody's example and gives nothing.
- `SIZE` is more than the file, and in units of 1000. `Unknown` is no share. `UNTIL` is relative to a time that is not printed.
- `CONTEXT` is that of one request, but of all slots together in some versions before 0.11. Where several models are loaded nothing
  tells which one was asked: the share is then the interval over all of them.
"""

from __future__ import annotations

from ..engine.line_format import Int, Line, LineFormat, Num, Sample, Text

__all__ = ["PARSER"]

_SIZE = r"\d+(?:\.\d)? {1,2}[KMGT]?B"
# the id and the size are what people cut out of a row; between the rest at least two blanks stand
_ROW = rf"^[\s>]*\S{{1,200}}(?:\s+[0-9a-f]{{7,64}}\s+{_SIZE}\s+|\s{{2,}}(?:{_SIZE}\s{{2,}})?)(?:\d{{1,3}}%/)?\d{{1,3}}$"
_UNTIL = r"\s+(?:(?:About |Less than )?(?:an?|\d+) \w+(?: from now)?|Forever|Never|Stopping\.\.\.)(?:\s{2,}\S.{0,80})?\s*$"
_UNITS = {"B": 2**-20, "KB": 1e3 / 2**20, "MB": 1e6 / 2**20, "GB": 1e9 / 2**20, "TB": 1e12 / 2**20}

_LINES = (
    Line(
        "row",
        into="server_config*",
        anchor=("% GPU", "% CPU/GPU", "% CPU"),
        after=_ROW,
        fields={
            "size": Num(r"\s(\d+(?:\.\d)?) {1,2}[KMGT]?B\s+\d"),
            "unit": Text(r"\s\d+(?:\.\d)? {1,2}([KMGT]?B)\s+\d"),
            "tenths": Text(r"\s\d+(\.\d) {1,2}[KMGT]?B\s+\d"),
            "cpu": Num(r"\s(\d{1,3})%/\d{1,3}% CPU/GPU\s"),
            "gpu": Num(r"\s\d{1,3}%/(\d{1,3})% CPU/GPU\s"),
            "whole": Text(r"\s100% (CPU|GPU)\s"),
            "context": Int(rf"%\s(?:CPU/GPU|CPU|GPU)\s+(\d+){_UNTIL}"),
            "until": Text(rf"%\s(?:CPU/GPU|CPU|GPU)(?:\s+\d+)?({_UNTIL})"),
        },
        need=("until",),
    ),
)

_SCALE = "CASE unit " + " ".join(f"WHEN '{unit}' THEN {scale!r}" for unit, scale in _UNITS.items()) + " END"

_CONFIG = f"""
WITH shares AS (
    SELECT
        *, {_SCALE} AS scale,
        CASE whole WHEN 'CPU' THEN 1 WHEN 'GPU' THEN 0 ELSE CASE WHEN cpu + gpu = 100 THEN greatest(0, cpu - 0.5) / 100 END END AS share_lo,
        CASE whole WHEN 'CPU' THEN 1 WHEN 'GPU' THEN 0 ELSE CASE WHEN cpu + gpu = 100 THEN least(100, cpu + 0.5) / 100 END END AS share_hi
    FROM staged WHERE kind = 'row'
), found AS (
    SELECT line, run, 'memory_on_cpu_share' AS key, share_lo AS num, share_hi AS num_hi FROM shares WHERE share_lo IS NOT NULL
    UNION ALL
    SELECT line, run, 'model_memory_mib', scale * (size - CASE WHEN tenths IS NULL THEN 0 ELSE 0.05 END),
        scale * (size + CASE WHEN tenths IS NULL THEN CASE WHEN size >= 10 THEN 1 ELSE 0 END ELSE 0.05 END)
    FROM shares WHERE size > 0
    UNION ALL SELECT line, run, 'context_length', context, NULL FROM shares WHERE context > 0
)
SELECT line, 'ollama' AS server, run, key, CAST(num AS VARCHAR) AS value, CAST(num AS DOUBLE) AS num,
    CASE WHEN num_hi > num THEN CAST(num_hi AS DOUBLE) END AS num_hi, 'logged' AS origin
FROM found ORDER BY line, key
"""

_SAMPLE_OLD = """\
user@box:~$ ollama ps
NAME            \tID          \tSIZE  \tPROCESSOR      \tUNTIL
llama3:70b      \tbcfb190ca3a7\t42 GB \t48%/52% CPU/GPU\t4 minutes from now\t
"""

_SAMPLE_NEW = """\
$ date; ollama ps
NAME                        ID              SIZE      PROCESSOR    CONTEXT    UNTIL
hf.co/someone/x-GGUF:Q4_K_M 0123456789ab    5.1 GB    100% GPU     8192       Forever
nomic-embed-text:latest     aaaabbbbcccc    849 MB    100% CPU     2048       About a minute from now
"""

_SAMPLE_CUT = """\
NAME        SIZE     PROCESSOR          CONTEXT    UNTIL
a:12b       8.9 GB   49%/51% CPU/GPU    4096       23 hours   half of it!
# e:70b     40 GB    80%/20% CPU/GPU    4096       4 minutes from now
b:33b         23%/77% CPU/GPU    4 minutes from now
"""

_SAMPLE_QUOTED = """\
the user wrote: llama3:70b bcfb190ca3a7 42 GB 48%/52% CPU/GPU 4 minutes from now
llama3:70b 9f438cb9cd58 0 B Unknown 4 minutes from now
it was at 100% GPU for 4 minutes from now
"""

PARSER = LineFormat(
    name="ollama-ps",
    server="ollama",
    timed=False,
    lines=_LINES,
    assemble={"server_config": _CONFIG},
    samples=(
        Sample(
            text=_SAMPLE_OLD,
            versions="0.1.33 to 0.9",
            rows={
                "server_config": [
                    {"line": 3, "key": "memory_on_cpu_share", "num": 0.475, "num_hi": 0.485, "server": "ollama", "origin": "logged"},
                    {"key": "model_memory_mib", "num": 42e9 / 2**20, "num_hi": 43e9 / 2**20},
                ]
            },
        ),
        Sample(
            text=_SAMPLE_NEW,
            versions="0.10 and later",
            rows={
                "server_config": [
                    {"line": 3, "key": "context_length", "num": 8192.0},
                    {"key": "memory_on_cpu_share", "num": 0.0, "num_hi": None},
                    {"key": "model_memory_mib", "num": 5.05e9 / 2**20, "num_hi": 5.15e9 / 2**20},
                    {"line": 4, "key": "context_length", "num": 2048.0},
                    {"key": "memory_on_cpu_share", "num": 1.0, "num_hi": None},
                    {"key": "model_memory_mib", "num": 849e6 / 2**20, "num_hi": 850e6 / 2**20},
                ]
            },
        ),
        Sample(
            text=_SAMPLE_CUT,
            versions="any, with columns cut out or annotated; a row in a comment is an example",
            rows={
                "server_config": [
                    {"line": 2, "key": "context_length", "num": 4096.0},
                    {"key": "memory_on_cpu_share", "num": 0.485, "num_hi": 0.495},
                    {"key": "model_memory_mib", "num": 8.85e9 / 2**20, "num_hi": 8.95e9 / 2**20},
                    {"line": 4, "key": "memory_on_cpu_share", "num": 0.225, "num_hi": 0.235},
                ]
            },
        ),
        Sample(text=_SAMPLE_QUOTED, versions="any: a row quoted in a line, and a model without a share", rows={"server_config": []}),
    ),
)
