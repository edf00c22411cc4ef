"""`nvidia-smi topo -m` and `topo -p2p`: how cards are connected.

**Reads** the matrix as the tool writes it (tabs, underlined header, also when redirected), as pasted with blanks, as a Markdown table, or
inside another text (vLLM's `collect_env`, a benchmark log). Rows and columns named `GPUn` are read; network cards (`NICn`, `mlx5_0`),
affinities and the legend are not: a value belongs to the column of the same number among the card columns only while every name before it
is a card or a network card.

| matrix | `gpu_links` |
|---|---|
| `-m`: `NV12`, `PIX`, `PXB`, `PHB`, `NODE`, `SYS`, `SOC` | `gpu`, `peer`, `kind`; one row per ordered pair, `active` and `gb_s` NULL |
| `-p2p`: `OK`; `CNS`, `GNS`, `TNS`, `NS`, `DR` | `kind` = `p2p`, `active` true; false. `U` is unknown |

`NV12` are twelve links bonded between the two; `PIX` one PCIe bridge, `PXB` several, `PHB` the host bridge of the CPU, `NODE` host bridges
of one NUMA node, `SYS` (before 2017 `SOC`) the link between sockets.

**Traps.** A matrix cut at the right edge of a terminal gives the columns that are left. Several matrices of one kind in a file (several
hosts, several runs) are all read; where they disagree a quality row says so. On one card there is nothing to connect: no row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample

__all__ = ["PARSER"]

_HEADER = re.compile(r"^\s*GPU0\b(?:\s+(?:GPU[0-9]{1,3}|NIC[0-9]{1,3}|mlx[0-9]_\w+)\b)*(?:\s+(?:CPU|NUMA|GPU NUMA) .*)?\s*$")
_ROW = re.compile(r"^\s*GPU([0-9]{1,3})\s+(\S.*)$")
_NIC_ROW = re.compile(r"^\s*(?:NIC[0-9]{1,3}|mlx[0-9]_\w+)\s+(?:X|SYS|NODE|PHB|PXB|PIX|SOC|NV[0-9]+)\b")
_LEGEND = re.compile(r"^\s*(?:(?:X|SYS|NODE|PHB|PXB|PIX|SOC|NV#|PSB|OK|CNS|GNS|TNS|NS|DR|U)\s+=\s|NIC[0-9]+: \w|(?:NIC )?Legend:)")
_WORD = r"SYS|NODE|PHB|PXB|PIX|SOC|PSB|NV[0-9]{1,2}"
# a tab that became no blank at all leaves the words of neighbours in one
_GLUED = re.compile(
    rf"(?:NIC|GPU)[0-9]{{1,3}}(?=NIC|GPU|mlx|CPU )|mlx[0-9]_[0-9]{{1,2}}(?=NIC|GPU|mlx|CPU )|(?:{_WORD})(?=(?:{_WORD}|X)+(?:\s|$))"
)
_KIND = re.compile(rf"^(?:{_WORD})$")
_P2P = {"OK": True, "CNS": False, "GNS": False, "TNS": False, "NS": False, "DR": False, "U": None}


def _clean(line: str) -> str:
    """A line without escapes, quoting and bars; tabs become blanks."""
    line = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).replace("\u00a0", " ").rstrip("\r")
    line = re.sub(r"^\s*(?:> ?)+", "", line).replace("|", " ").replace("\t", " ").replace("**", "")
    line = _GLUED.sub(r"\g<0> ", line) if "GPU" in line or "NIC" in line or "mlx" in line else line
    return re.sub(r"^(?!GPU|NIC|mlx)[\w.-]+(?: (?:out|err))?: +(?=\S)", "", line)


def _columns(header: str) -> list[str]:
    """Names of the header up to the first that is neither a card nor a network card (`GPU NUMA ID` is none)."""
    names = []
    for name in header.split():
        if not re.match(r"(?:GPU|NIC)[0-9]+$|mlx[0-9]_\w+$", name):
            break
        names.append(name)
    return names


def _pairs(gpu: int, cells: list[str], columns: list[str]) -> tuple[list[tuple[int, int, str, bool | None]], bool]:
    """(gpu, peer, kind, active) of a row, and whether every cell of a card is a word of the matrix."""
    out: list[tuple[int, int, str, bool | None]] = []
    whole = True
    for name, cell in zip(columns, cells):
        if not name.startswith("GPU"):
            continue
        peer = int(name[3:])
        if (cell == "X") != (peer == gpu):
            return [], False  # the diagonal is not where it must be: the cells have moved
        if _KIND.match(cell):
            out.append((gpu, peer, cell, None))
        elif cell in _P2P:
            out.append((gpu, peer, "p2p", _P2P[cell]))
        else:
            whole = whole and cell == "X"
    return out, whole and bool(cells)


_SAMPLES = (
    Sample(
        text="\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
        "GPU0\t X \tNV18\tPXB\t0-47\t0\t\tN/A\nGPU1\tNV18\t X \tSYS\t48-95\t1\t\tN/A\nNIC0\tPXB\tSYS\t X \t\t\t\t\n\n"
        "Legend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n\nNIC Legend:\n\n  NIC0: mlx5_0\n",
        rows={
            "gpu_links": [
                {"line": 2, "gpu": 0, "peer": 1, "kind": "NV18", "active": None},
                {"line": 3, "gpu": 1, "peer": 0, "kind": "NV18", "active": None},
            ]
        },
        versions="470 to 610, topo -m as written",
    ),
    Sample(
        text="        GPU0    GPU1    GPU2    mlx4_0  CPU Affinity\nGPU0     X      PIX     SOC     SOC     0-9\n"
        "GPU1    PIX      X      SOC     SOC     0-9\nGPU2    SOC     SOC      X      PHB     10-19\n",
        rows={
            "gpu_links": [
                {"gpu": 0, "peer": 1, "kind": "PIX"}, {"gpu": 0, "peer": 2, "kind": "SOC"}, {"gpu": 1, "peer": 0}, {"gpu": 1, "peer": 2},
                {"gpu": 2, "peer": 0}, {"gpu": 2, "peer": 1, "kind": "SOC"},
            ]
        },
        versions="375 to 384, pasted",
    ),
    Sample(
        text=" \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tCNS\tX\t\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n",
        rows={
            "gpu_links": [{"gpu": 0, "peer": 1, "kind": "p2p", "active": True}, {"gpu": 1, "peer": 0, "kind": "p2p", "active": False}]
        },
        versions="topo -p2p",
    ),
)  # fmt: skip


class NvidiaSmiTopo:
    """`nvidia-smi topo`."""

    name = "nvidia-smi-topo"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """A header of cards with a row of the matrix below it."""
        if "GPU0" not in head.text:
            return None
        lines = [_clean(x) for x in head.text.split("\n")[:50_000] if "GPU" in x]
        columns: list[str] = []
        seen = False
        for line in lines:
            if _HEADER.match(line):
                columns, seen = _columns(line), True
            elif columns and (row := _ROW.match(line)) and _pairs(int(row[1]), row[2].split(), columns)[1]:
                return Claim(90, "matrix of nvidia-smi topo", shares=self._foreign(head.text))
        return (
            Refusal(45, "a header of nvidia-smi topo without a row of its matrix")
            if seen and re.search(r"(?m)^GPU0\s+X\b", head.text)
            else None
        )

    @staticmethod
    def _foreign(text: str) -> bool:
        lines = [_clean(x) for x in text.split("\n")[:2000]]
        own = (_HEADER, _ROW, _NIC_ROW, _LEGEND)
        return any(x.strip("`-: ") and not any(p.match(x) for p in own) and "nvidia-smi topo" not in x for x in lines)

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `gpu_links` and a quality row where two matrices disagree."""
        counts = Counts()
        rows: list[tuple[int, int, int, str, bool | None]] = []
        columns: list[str] = []
        for first, text in source.blocks():
            if not columns and "GPU0" not in text:
                blank = len(re.findall(r"(?m)^[ \t\r]*$", text.removesuffix("\n")))
                counts.noise += blank
                counts.other += text.count("\n") + (not text.endswith("\n")) - blank
                continue
            columns = self._block(first, text, columns, rows, counts)
        self._emit(rows, counts.matched > 0, emit)
        return counts

    @staticmethod
    def _block(first: int, text: str, columns: list[str], rows: list[tuple[int, int, int, str, bool | None]], counts: Counts) -> list[str]:
        """Reads the lines of one block; a matrix ends where a line is neither its row nor its legend."""
        lines = text.split("\n")
        cut = lines.pop() if lines[-1] == "" else None
        for number, raw in enumerate(lines, first):
            if not columns and "GPU0" not in raw:
                counts.noise += not raw.strip() or bool(_LEGEND.match(raw) or _NIC_ROW.match(raw))
                counts.other += bool(raw.strip()) and not (_LEGEND.match(raw) or _NIC_ROW.match(raw))
                continue
            line = _clean(raw)
            if _HEADER.match(line):
                columns = _columns(line)
                counts.noise += 1
            elif columns and (row := _ROW.match(line)):
                cells = row[2].split()
                if cut is None and number == first + len(lines) - 1 and not raw.endswith((" ", "\t")):
                    cells = cells[:-1]
                pairs, whole = _pairs(int(row[1]), cells, columns)
                rows += [(number, *p) for p in pairs] if whole else []
                counts.matched += whole
                if not whole:
                    counts.near(number, "a row that does not fit the matrix above it")
            elif not line.strip("`-: ") or _LEGEND.match(line) or _NIC_ROW.match(line):
                counts.noise += 1
            else:
                counts.other += 1
                columns = []
        return columns

    @staticmethod
    def _emit(rows: list[tuple[int, int, int, str, bool | None]], single: bool, emit: Emit) -> None:
        import polars as pl

        columns = {"line": pl.Int64, "kind": pl.String, "n": pl.Int64, "note": pl.String}
        if not rows:
            if single:
                row = [(1, "single-card", 1, "a matrix of one card: nothing to connect")]
                emit("quality", pl.DataFrame(row, schema=columns, orient="row"))
            return
        schema = {"line": pl.Int64, "gpu": pl.Int32, "peer": pl.Int32, "kind": pl.String, "active": pl.Boolean}
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        emit("gpu_links", frame)
        family = pl.when(pl.col("kind") == "p2p").then(pl.lit("p2p")).otherwise(pl.lit("path")).alias("family")
        differ = (
            frame.filter(pl.col("kind") != "p2p").group_by("gpu", "peer", family).agg(n=pl.col("kind").n_unique()).filter(pl.col("n") > 1)
        )
        if len(differ):
            note = "pairs of cards for which two matrices of this file disagree"
            row = [(int(frame["line"][0]), "links-disagree", len(differ), note)]
            emit("quality", pl.DataFrame(row, schema=columns, orient="row"))


PARSER = NvidiaSmiTopo()
