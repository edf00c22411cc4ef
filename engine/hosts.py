"""Which machine a file is from: stated in `[host]`, or named by its folder or file name where several machines are told apart.

`node1/smi.csv` beside `node2/smi.csv`, `smi_host-a.csv` beside `smi_host-b.csv`. A single machine needs no name, and a folder per step
(`c4/`) or per run is no machine. What a log itself says of its host is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .source import Source
from .store import Store
from .tables import TABLES

# The word and a number or a single letter, standing alone: a worker or a rank is a process, node_exporter a program.
_HOST = re.compile(r"(?i)(?:^|[/!_.-])((?:gpu[-_]?)?(?:node|host|machine|box))[-_]?(\d{1,4}|[a-z])(?=$|[/!_.-])")


def host_of(name: str) -> str | None:
    """`node1/smi.csv` -> node1, `logs/smi_Node-02.csv` -> node2; None where nothing or more than one is named."""
    found = {re.sub(r"[-_]", "", word.lower()) + (number.lstrip("0") or "0").lower() for word, number in _HOST.findall(name)}
    return found.pop() if len(found) == 1 else None


def tell_hosts(store: Store, sources: Sequence[Source], stated: Mapping[int, str]) -> None:
    """Fill `host` of the sources and of their rows where it is unknown: the stated ones, and those of names if they tell two apart."""
    named = {s.source_id: host for s in sources if (host := host_of(s.name))}
    if len({*named.values(), *stated.values()}) < 2:
        named = {}
    for source_id, host in {**named, **stated}.items():
        shown = store.hider.pseudonym("name", host, "host")
        for declared in TABLES:
            if "host" in declared.names:
                sql = f"UPDATE raw.{declared.name} SET host = ? WHERE source_id = ? AND host IS NULL"
                store.con.execute(sql, [shown, source_id])
