"""Which machine a file is from: stated in `[host]`, named by its folder or file name, or printed by the journal in front of its lines,
where several machines are told apart.

`node1/smi.csv` beside `node2/smi.csv`, `smi_host-a.csv` beside `smi_host-b.csv`, `Sep 06 12:00:00 alpha ollama[7]: ...`. A single machine
needs no name, and a folder per step (`c4/`) or per run is no machine. What a row of a log says of its host (`pdsh`) is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .source import Source
from .store import Store
from .tables import TABLES

# The word and a number or a single letter, standing alone: a worker or a rank is a process, node_exporter a program.
_HOST = re.compile(r"(?i)(?:^|[/!_.-])((?:gpu[-_]?)?(?:node|host|machine|box))[-_]?(\d{1,4}|[a-z])(?=$|[/!_.-])")

# A time, the machine, and a process with its number: the journal's shapes with a host (short, full, iso, unix), and its JSON.
_PRINTED = re.compile(
    r"(?m)^(?:[A-Z][a-z]{2} [ \d]\d [\d:.]+|[A-Z][a-z]{2} \d{4}-\d\d-\d\d [\d:.]+ [A-Z]{3,4}|\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-]\d\d:?\d\d)|\d{10}\.\d{3,6})"
    r" +([A-Za-z0-9][\w.-]*) +[^\s:\[\]]+\[\d+\]: "
    r'|^\{.*"_HOSTNAME" ?: ?"([A-Za-z0-9][\w.-]*)"'
)
_MOST = 0.5  # of the lines: fewer are quoted in something else
_HEAD = 16_384


def host_in(text: str) -> str | None:
    """The one machine that the journal prints in front of most lines of a log's beginning, without its domain; else None."""
    text = text[:_HEAD].rpartition("\n")[0]
    found = [a or b for a, b in _PRINTED.findall(text)]
    if len({*found}) != 1 or len(found) < _MOST * sum(1 for line in text.split("\n") if line.strip()):
        return None
    return host_of(found[0]) or found[0].partition(".")[0].lower()


def host_of(name: str) -> str | None:
    """`node1/smi.csv` -> node1, `logs/smi_Node-02.csv` -> node2; None where nothing or more than one is named."""
    found = {re.sub(r"[-_]", "", word.lower()) + (number.lstrip("0") or "0").lower() for word, number in _HOST.findall(name)}
    return found.pop() if len(found) == 1 else None


def tell_hosts(store: Store, sources: Sequence[Source], stated: Mapping[int, str]) -> None:
    """Fill `host` of the sources and of their rows where it is unknown: the stated ones, and named or printed ones if they tell two apart."""
    named = {s.source_id: host for s in sources if (host := host_of(s.name) or host_in(s.head().text))}
    if len({*named.values(), *stated.values()}) < 2:
        named = {}
    for source_id, host in {**named, **stated}.items():
        shown = store.hider.pseudonym("name", host, "host")
        for declared in TABLES:
            if "host" in declared.names:
                sql = f"UPDATE raw.{declared.name} SET host = ? WHERE source_id = ? AND host IS NULL"
                store.con.execute(sql, [shown, source_id])
