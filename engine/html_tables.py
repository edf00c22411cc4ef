"""Tables in HTML as pipe tables: what people copy from a page or write where Markdown has no merged cells.

Every row becomes one line where its `<tr>` stands; the other lines of the table become blank, so that lines keep their numbers. A cell over several
columns (`colspan`) is repeated, one over several rows (`rowspan`) is not looked at: such a row has too few cells and is refused as a whole.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

MAX_CHARS = 200_000  # of one table
_TABLE = re.compile(rf"(?is)<table\b[^>]{{0,400}}>(?P<body>(?:(?!</?table\b).){{1,{MAX_CHARS}}}?)</table\s*>")
_ROW = re.compile(r"(?is)<tr\b[^>]{0,400}>(.*?)(?=</tr\s*>|<tr\b|$)")
_CELL = re.compile(r"(?is)<t[hd]\b(?P<about>[^>]{0,400})>(?P<text>.*?)(?=</t[hd]\s*>|<t[hd]\b|$)")


def as_pipes(lines: pl.Series) -> pl.Series:
    """The lines with every whole table in HTML as a pipe table."""
    import polars as pl

    if not lines.str.contains(r"(?i)<table\b").any():
        return lines
    text = "\n".join(lines)
    return pl.Series("line", _TABLE.sub(_piped, text).split("\n"), dtype=pl.String)


def _piped(found: re.Match[str]) -> str:
    """The rows of one table, each on the line where it began; a rule stands where a line is free below the first."""
    whole = found[0]
    out = [""] * (whole.count("\n") + 1)
    rows = list(_ROW.finditer(whole))
    at = [whole.count("\n", 0, row.start()) for row in rows]
    if len(set(at)) != len(at):  # several rows on one line: without lines of their own they cannot be told apart
        return whole
    for n, row in zip(at, rows):
        cells = [cell for one in _CELL.finditer(row[1]) for cell in _repeated(one)]
        out[n] = "| " + " | ".join(cells) + " |" if cells else ""
    return "\n".join(out)


def _repeated(cell: re.Match[str]) -> list[str]:
    wide = re.search(r"(?i)\bcolspan\s*=\s*[\"']?(\d{1,2})", cell["about"])
    text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^<>]{0,400}>", " ", cell["text"]))).replace("|", "/").strip()
    return [text] * (int(wide[1]) if wide else 1)
