"""What an export, a viewer or a paste made of a log's lines: undone before prefixes are peeled, for line formats only.

Log collectors write records: CSV with a column for the message (CloudWatch, Datadog, Grafana), one JSON object per record (Loki, Google
Cloud, Elasticsearch, Fluent Bit, Vector), a JSON array over many lines. Viewers put numbers or file names in front of the lines, Markdown
puts them behind list signs, blanks or backticks, LocalAI hands on what its backends print, and what is copied from a terminal is broken at
its last column. Which of these a source wears follows from its
head; single lines that look alike are somebody's text. Exports often begin with the newest record: they are turned round where the head
is all of the source, and left alone elsewhere, for a timing block that is read backwards belongs to the wrong request.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from .peel import ENTRY

if TYPE_CHECKING:
    import polars as pl

_LOOKED_AT = 2_000
MOST, MANY = 0.8, 0.5  # of the head's lines that hold anything
_MESSAGE = ("message", "@message", "textpayload", "line", "content", "log", "_raw", "msg", "body")
_TIME = ("timestamp", "@timestamp", "time", "date", "datetime", "_time", "tsns")
# keys that a collector adds to what a program printed; a program's own JSON log has none of them
_COLLECTOR = re.compile(
    r'"(?:textPayload|insertId|logName|logStreamName|ingestionTime|_source|kubernetes|source_type|labels|tsNs|@metadata|docker|container_name)"\s*:'
)
_PATHS = ("$.textPayload", "$.message", "$.log", "$.line", "$._source.message", "$._source.log", "$.content.message")
_TIMES = (
    "$.timestamp",
    '$["@timestamp"]',
    "$.time",
    "$.date",
    '$._source["@timestamp"]',
    "$.content.timestamp",
)
_IN_ARRAY = r'^\s*"(?:textPayload|message|@message|log)"\s*:\s*"((?:[^"\\]|\\.)*)"\s*,?\s*$'
_NUMBERED = r"^ {0,6}([0-9]{1,7})(?:\t| )"  # less -N, cat -n
_GREPPED = r"^(?:[\w./-]+[:-])?([0-9]{1,7})[:-]"  # grep -n, grep -Hn
_FROM_FILE = r"^[\w./-]+\.(?:log|txt|out|err)(?:\.[0-9]+)?[:-]"  # grep -H
_STEP = r"^[^\t]+\t[^\t]+\t"  # gh run view --log: job and step, then the time
_LISTED = r"^\s*[-*\u2022] +"
_TICKED = r"^\s*`{1,3}(.*?)`{0,3}\s*$"
# how a record of a server's log begins: what stands at the start of any other line goes on from above
_OPENS = (
    r"^\s*(?:\([\w ]{1,40}pid=[0-9]+[^()]{0,40}\) )?(?:(?:INFO|WARNING|WARN|ERROR|DEBUG)\b|\[?[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[ T]|\[GIN\]|time=|"
    r"(?:slot|srv|llama_\w+|ggml_\w+|print_info|load_\w+|common_\w+|main|que|res)\b ?:? |(?:prompt eval|eval|total|sampling|load) time\b|[0-9]+\.[0-9.]+ [DIWE] )"
)
_NARROW, _WIDE = 60, 250  # columns of a terminal
_LOCALAI = r"(?:[0-9]{1,2}:[0-9]{2}[AP]M DBG|[A-Z][a-z]{2} [0-9]{2} [0-9:]{8} (?:DBG|DEBUG)) GRPC"
_LOCALAI_2024 = rf"^(.*?){_LOCALAI}\([^()]*?:?([0-9]{{0,5}})\): (?:stdout|stderr) "
_LOCALAI_2026 = rf'^(.*?){_LOCALAI} (?:stdout|stderr) id="[^"]*?:?([0-9]{{0,5}})" line="(.*?)"\s+caller=\{{.*$'


@dataclass(frozen=True)
class Layout:
    """How the lines of a source stand. `sep`, `message`, `time`, `columns`: of a CSV export; `backwards`: the newest record comes first.
    `width`: the column at which a terminal broke all longer lines."""

    sep: str = ""
    message: int = 0
    time: int | None = None
    columns: int = 0
    records: bool = False
    array: bool = False
    strip: tuple[str, ...] = ()
    indented: bool = False
    ticked: bool = False
    localai: bool = False
    width: int = 0
    backwards: bool = False

    @property
    def wraps(self) -> bool:
        """The message stands inside a record, so that quotes in it are escaped."""
        return bool(self.sep) or self.records or self.array


@lru_cache(maxsize=8)
def layout_of(head: str, complete: bool) -> Layout:
    """The layout of a source from its head."""
    import polars as pl

    said = [line for line in head.split("\n") if line.strip()]
    if len(said) < 2:
        return Layout()
    found = _table(said) or _objects(said, head) or Layout(strip=_marks(said))
    if not found.wraps:
        return _pasted(found, said, head)
    _, times = plain_lines(pl.Series(said, dtype=pl.String), found)
    falling = False
    if times is not None and (known := times.drop_nulls()).len() > 1:
        falling = bool((known < known.shift(1)).sum() > (known > known.shift(1)).sum())
    if falling and not complete:
        return Layout()
    return replace(found, backwards=falling)


def _table(said: list[str]) -> Layout | None:
    """A CSV export: a header that names a message and a time."""
    for sep in (",", ";", "\t"):
        names = [name.strip().strip('"').lower() for name in said[0].split(sep)]
        message = next((names.index(name) for name in _MESSAGE if name in names), None)
        time = next((names.index(name) for name in _TIME if name in names), None)
        if message is not None and time is not None:
            return Layout(sep=sep, message=message, time=time, columns=len(names))
    return None


def _objects(said: list[str], head: str) -> Layout | None:
    """JSON records of a collector: one per line, or an array over many lines."""
    if not _COLLECTOR.search(head):
        return None
    whole = [line for line in said if line.startswith("{") and line.rstrip().endswith("}") and _COLLECTOR.search(line)]
    if len(whole) >= MANY * len(said):
        return Layout(records=True)
    if said[0].lstrip()[:1] in ("[", "{") and sum(bool(re.match(_IN_ARRAY, line)) for line in said) > 1:
        return Layout(array=True)
    return None


def _marks(said: list[str]) -> tuple[str, ...]:
    """What viewers and Markdown put in front of the lines. In plain Python: thousands of small files meet these questions."""
    said = said[:_LOOKED_AT]
    for pattern, by_one in ((_NUMBERED, True), (_GREPPED, False)):
        numbers = [int(found[1]) for found in map(re.compile(pattern).match, said) if found]
        rises = [b - a for a, b in itertools.pairwise(numbers)]
        good = sum(rise == 1 if by_one else rise > 0 for rise in rises)
        if len(numbers) >= max(3, MOST * len(said)) and good >= MOST * len(rises):
            return (pattern,)
    for pattern, sign in ((_FROM_FILE, ""), (_LISTED, ""), (_STEP, "[0-9]{4}-[0-9]{2}-[0-9]{2}T")):
        if sum(bool(found) for found in map(re.compile(pattern + sign).match, said)) >= MANY * len(said):
            return (pattern,)
    return ()


def plain_lines(lines: pl.Series, layout: Layout) -> tuple[pl.Series, pl.Series | None]:
    """The lines as the program printed them, and the times of the records (RFC 3339, or without zone as they stand)."""
    import polars as pl

    if layout.sep:
        cells = _cell(lines, layout, layout.message), _cell(lines, layout, layout.time) if layout.time is not None else None
        return cells[0].fill_null(""), None if cells[1] is None else _time(cells[1])
    if layout.records:
        frame = pl.DataFrame({"line": lines})
        held = pl.when(pl.col("line").str.contains(r"^\{.*\}\s*$")).then("line")
        frame = frame.select(
            "line",
            message=pl.coalesce(held.str.json_path_match(path) for path in _PATHS),
            time=pl.coalesce(held.str.json_path_match(path) for path in _TIMES),
        )
        return frame["message"].str.strip_chars_end("\r\n").fill_null(frame["line"]), _time(frame["time"])
    if layout.array:
        inner = lines.str.extract(_IN_ARRAY, 1)
        texts = pl.DataFrame({"a": inner}).select(pl.concat_str(pl.lit('{"a":"'), "a", pl.lit('"}')).str.json_path_match("$.a"))
        return texts.to_series().str.strip_chars_end("\r\n").fill_null(""), None
    for pattern in layout.strip:
        lines = lines.str.replace(pattern, "")
    return lines, None


def _pasted(found: Layout, said: list[str], head: str) -> Layout:
    """With what Markdown and LocalAI made of the lines: of most of them, or else it is a prompt that quotes a log. In the log of LM Studio a
    blank in front tells an entry from a prompt."""
    import polars as pl

    if any(re.match(ENTRY, line) for line in said):
        return found
    blanks = any(line[0] in " \t" for line in said)
    return replace(
        found,
        indented=blanks and int((_indents(pl.Series(head.split("\n"), dtype=pl.String)) > 0).sum()) >= MANY * len(said),
        ticked=said[0].lstrip().startswith("`") or sum(line.lstrip().startswith("`") for line in said) >= MANY * len(said),
        localai=re.search(_LOCALAI, head) is not None,
        width=_width(head.split("\n")),
    )


def _width(lines: list[str]) -> int:
    """The column at which a terminal broke long lines, 0 where none was: no line is longer, records end there again and again, and what follows
    begins none. Tables are as wide as their rule, but no record of a log."""
    lines = lines[:_LOOKED_AT]
    width = max(map(len, lines), default=0)
    full = [i for i, line in enumerate(lines[:-1]) if len(line) == width] if _NARROW <= width <= _WIDE else []
    if len(full) < 2:
        return 0
    opens = re.compile(_OPENS)
    first = [i for i in full if i == 0 or len(lines[i - 1]) < width]
    begun = sum(bool(opens.match(lines[i])) for i in first)
    on = sum(bool(lines[i + 1].strip()) and not opens.match(lines[i + 1]) for i in full)
    if begun < 2 or begun < MANY * len(first) or on < 0.6 * len(full):
        return 0
    return width + _at_a_blank(lines, full)


def _at_a_blank(lines: list[str], full: list[int]) -> bool:
    """Every break may have fallen on a blank, which was not copied, where the same few records come again and again: then what stands on both
    sides are words that the text holds elsewhere, and together they are none."""
    words = set().union(*(line.split()[1:-1] for line in lines))
    pairs = ((lines[i], lines[i + 1]) for i in full[:200] if lines[i][-1] != " " and lines[i + 1].strip() and lines[i + 1][0] != " ")
    ends = [(left.split()[-1], right.split()[0]) for left, right in pairs]
    apart = sum(
        bool(re.search(r"[^0-9][:,;\"]$", left)) or ((left in words or right in words) and left + right not in words)
        for left, right in ends
    )
    together = sum(left + right in words for left, right in ends)
    return apart > together


def _unbroken(lines: pl.Series, width: int) -> pl.Series:
    """Records that a terminal broke in one line again, where they begin; the lines of the rest are empty. A blank at the break is not copied."""
    import polars as pl

    frame = pl.DataFrame({"text": lines, "n": lines.str.len_chars(), "opens": lines.str.contains(_OPENS)}).with_columns(
        on=pl.col("n").is_between(width - 1, width)
        & ~pl.col("opens").shift(-1, fill_value=True)
        & (pl.col("text").shift(-1, fill_value="").str.strip_chars() != "")
    )
    frame = frame.with_columns(
        begins=~pl.col("on").shift(1, fill_value=False),
        piece=pl.col("text") + pl.when(pl.col("on") & (pl.col("n") < width)).then(pl.lit(" ")).otherwise(pl.lit("")),
    ).with_columns(group=pl.col("begins").cum_sum())
    whole = pl.col("piece").str.join("").over("group")
    return frame.select(pl.when("begins").then(whole).otherwise(pl.lit(""))).to_series()


def strip_paste(lines: pl.Series, layout: Layout) -> pl.Series:
    """Lines without the blanks and backticks of Markdown, and what LocalAI's backends printed without LocalAI's own words."""
    import polars as pl

    if layout.ticked:
        lines = lines.str.replace(_TICKED, "${1}")
    if layout.localai:
        lines = lines.str.replace(_LOCALAI_2024, "${1}[${2}] ")
        quoted = lines.str.contains(_LOCALAI_2026)
        inner = lines.str.replace(_LOCALAI_2026, "${1}[${2}] ${3}").str.replace_all('\\"', '"', literal=True)
        lines = inner.zip_with(quoted, lines)
    if layout.indented:
        frame = pl.DataFrame({"text": lines, "n": _indents(lines)})
        lines = frame.select(pl.col("text").str.slice(pl.col("n"))).to_series()
    return _unbroken(lines, layout.width) if layout.width else lines


def _indents(lines: pl.Series) -> pl.Series:
    """How many blanks all lines of a paragraph or a fenced block have in front: those of a list or of indented code. Two blanks without
    a fence are the log's own, as before the devices of llama.cpp."""
    import polars as pl

    bare = pl.col("text").str.strip_chars_start(" \t")
    frame = pl.DataFrame({"text": lines}).with_columns(
        blank=bare.str.strip_chars() == "",
        fence=bare.str.starts_with("```"),
        own=pl.col("text").str.len_chars() - bare.str.len_chars(),
    )
    frame = frame.with_columns(part=(pl.col("blank") | pl.col("fence")).cum_sum(), own=pl.when(~pl.col("blank")).then("own"))
    least, many = pl.col("own").min().over("part"), pl.col("own").count().over("part")
    markdown = pl.col("fence").first().over("part") | ((least >= 3) & (many > 1)) | (least >= 4) | pl.col("text").str.starts_with("\t")
    return frame.select(pl.when(markdown).then(least).fill_null(0)).to_series().fill_null(0)


def _cell(lines: pl.Series, layout: Layout, number: int) -> pl.Series:
    """One column of a CSV export. The last one takes the rest of the line: its quote may close lines further down."""
    sep = re.escape(layout.sep)
    field = rf'(?:"(?:[^"]|"")*"|[^{sep}"]*)'
    rest = ".*" if number == layout.columns - 1 else field
    cell = lines.str.strip_chars_end("\r").str.extract(rf"^(?:{field}{sep}){{{number}}}({rest})", 1)
    quoted = cell.str.starts_with('"').fill_null(False)
    bare = cell.str.replace('^"', "").str.replace('"$', "").str.replace_all('""', '"', literal=True)
    return bare.zip_with(quoted, cell)


def _time(printed: pl.Series) -> pl.Series:
    """Times as RFC 3339 in UTC where they say so (epoch numbers do), else as they stand."""
    import polars as pl

    number = printed.str.extract(r"^([0-9]{10,19}(?:\.[0-9]+)?)$", 1)
    digits = number.str.extract(r"^([0-9]+)", 1).str.len_bytes().cast(pl.Int32)
    frame = pl.DataFrame({"n": number.cast(pl.Float64, strict=False), "digits": digits})
    micros = (pl.col("n") * pl.lit(10.0).pow(16 - pl.col("digits"))).round().cast(pl.Int64, strict=False)
    stamp = frame.select(pl.from_epoch(micros, time_unit="us").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")).to_series()
    zoned = printed.str.replace(r"^([0-9]{4}-[0-9]{2}-[0-9]{2}) ([0-9:.]+(?:Z|[+-][0-9]{2}:?[0-9]{2}))$", "${1}T${2}")
    return stamp.fill_null(zoned)
