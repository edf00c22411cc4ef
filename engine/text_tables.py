"""Layouts of tables in text: where one may begin, and its lines as cells.

Pipe tables (Markdown, psql, box-drawing), CSV and TSV, columns aligned with blanks, blocks of `key=value` under a line that gives the
concurrency, lines of such pairs, and keys that end in the concurrency. Each becomes a `Grid`; what its cells mean is not decided here,
except that one header names a load (a concurrency or a rate), which is what tells a sweep from any other table.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .cells import token
from .headers import embedded, meaning
from .html_tables import as_pipes
from .scripts import in_english

if TYPE_CHECKING:
    import polars as pl

MAX_TABLE_LINES = 5_000


# --- where a table may begin -------------------------------------------------------------------------------------------------------


def _latin(pattern: str) -> str:
    """The pattern with `\\w` for the scripts that headers are in only: compiling the tables of all others takes longer than a log."""
    letters = "0-9A-Za-z_ß-ÿ"
    parts = re.split(r"(\\.|\[(?:\\.|[^\]])*\])", pattern)
    alone = {r"\w": f"[{letters}]", r"\W": f"[^{letters}]"}
    return "".join(alone.get(part, part.replace(r"\w", letters) if part.startswith("[") else part) for part in parts)


_S = r"|,;\t│┃║"
_LOADS = (
    r"conc\w*|con|simultan\w*|parall\w*|streams?|slots?|users?|clients?|vus?|nutzer|benutzer|utilisateurs|usuarios|sessions|connections|"
    r"batch\w*|bs|c|n|b|np|npl|threads|workers|rps|qps|rate|in.?flight|outstanding|gleichzeit\w*|anfrag\w*|requêtes|offered|input load|"
    r"usuários|peticiones|solicitudes|requisições|concurrencia|concorrência"
)
_MANY = r"conc|concurrent|streams?|users?|clients?|parallel|slots?"
_AROUND = (
    r"max(?:imum)?|num|number|of|n|no\.?|nb|de|request|client|offered|target|virtual|active|input|arrival|anzahl|"
    r"nombre|requests?|reqs?|users?|streams?|"
    r"clients?|connections?|sessions?|calls?|seqs?|sequences?|prompts?|jobs?|slots?|nutzer|benutzer|anfragen|size|"
    r"level|limit|count|rate|load|in|"
    r"simultanée?s?|concurrente?s?|simultáne[ao]s|simultâne[ao]s|paralel[ao]s|usuários|peticiones|solicitudes|requisições|usuarios|parallèles|gleichzeitige?|parallele|achieved|measured|effective|mean|avg"
)
_HEADER = _latin(
    rf"(?i)(?:^|[{_S}]|\s\s)[\s>*_`\"'#(]*(?:(?:{_AROUND})[\s_-]+){{0,3}}(?:{_LOADS})(?:[\s_-]+(?:{_AROUND})){{0,3}}"
    rf"(?:\s*[(\[][^)\]{_S}]{{0,40}}[)\]])?[\s*_`\"':.#]*(?:$|[{_S}]|\s\s)|^[\s>]*(?:c|n|b|bs|conc\w*|users?|streams?|"
    rf"clients?|slots?|batch)\s[^=:|]{{3,100}}$"
)
_SIDE_CELL = (
    rf"(?:^|[{_S}]|\s\s)[^{_S}]{{0,40}}?(?:\b\d+[\s-]?x?[\s-]?(?:{_MANY})\b|\b(?:c|n|b|bs|{_MANY}|concurrency|"
    rf"batch)\s?[=@]?\s?\d+\b|@\s?\d+\b)"
    rf"[^{_S}]{{0,30}}"
)
_SIDE_HINT = rf"(?i)\d[\s-]?x?[\s-]?(?:{_MANY})\b|\b(?:c|n|b|bs|{_MANY}|concurrency|batch)\s?[=@]?\s?\d|@\s?\d"
_SIDEWAYS = rf"(?i){_SIDE_CELL}(?:[{_S}].*)?{_SIDE_CELL}(?:$|[{_S}]|\s\s)"
_DATA = (
    rf"(?:^|[{_S}]|\s)[\s*_~≈`\"'>×x]*\d[\d.,]*k?\s*(?:[{_S}*_`\"'\s]|$)|^[\s>]*[|+:=─━┼├┡╞┠╟╠┣-][\s|+:=─━┼┤├┡╞╇┿╪╡┩┠╟╢╠╬╣┣╋┫╂┨-]{{2,}}$"
)
_MEASURE = (
    r"(?i)tok|t/s|tps|throughput|tput|ttft|tpot|itl|laten|wall|time|zeit|agg|per[ _-]|rps|qps|req|e2e|duration|"
    r"elapsed|speed|durchsatz|débit|"
    rf"dauer|durée|decode|tg\b|total|\bper\b|(?:[{_S}]|\s\s)\s*\d+\s*(?:[{_S}]|\s\s)"
)
_NAMED = r"(?i)\|[^|]*(?:concurren|simultan|parallel (?:req|str|us|cl))[^|]*\|(?:[^|]*\|){2,}"  # the caption may say what is measured
_KEYS = (
    r"concurrency|concurrent[ _](?:users|requests|streams|clients)|n_parallel|num_concurrent|streams|users|"
    r"clients|parallel|concurrent|conc|batch_size|bs|c|n"
)
_KEYED = rf"(?i)(?:^|[\s,;(\[|])(?:{_KEYS})\s?[=:]\s?(\d{{1,6}})\b"
_KEYED_VALUE = _latin(
    r"(?i)(?:agg\w*|tps|tok\w*(?:/s)?|t/s|through\w*|tput|wall\w*|ttft\w*|tpot\w*|latency\w*|"
    r"per.?stream\w*|elapsed|duration)(?:\s\(?[\w/]{1,6}\)?)?\s?[=:]\s?[~≈]?\d"
)
_BANNER = _latin(
    r"(?i)^\W*(?:[a-z]+\W+){0,3}?(\d{1,6})\s+(?:concurrent|parallel|simultaneous)\s+(?:/\w+\s+)?(?:streams?|requests?|"
    r"users?|clients?|sessions?|connections?)\b"
)
_LEAD = r"(?:(?:results?|testing|running|run|bench\w*|tests?|level|step|sweep|case|load|with|for|at)[\s:,(\[-]+){0,3}"
_ALONE = _latin(
    rf"(?i)^[\s#>=*\[(-]*{_LEAD}(?:(?:(?:max[ _])?concurrency(?:[ _]level)?|(?:num(?:ber of)?[ _])?concurrent[ _](?:users|requests|streams|clients)|"
    r"n_parallel|num_concurrent|(?:num_)?(?:streams|users|clients)|"
    r"parallel(?: requests)?|conc|c|n)[\s*_]*[:=][\s*_]*(\d{1,6})|(?:concurrency(?: level)?|concurrent (?:users|requests|streams|clients))"
    r"\s+(\d{1,6}))[\s=*\])#:.-]*$"
)
_TITLED = _latin(rf"(?i)^[\s#>=*\[(-]*{_LEAD}(\d{{1,6}})\s+(?:users?|clients?|streams?)[\s=*\])#:.-]*$")
_SUFFIXED = _latin(
    r"(?i)^\s*[\w.-]*(?:tps|tok_?s|throughput|tput|agg\w*|per_stream\w*|ttft\w*|latency\w*|"
    r"wall\w*)[\w.-]*[_-](?:n|c|conc|x)(\d{1,6})\s*[:=]"
)
_RATE = r"(?:tok(?:en)?s?/s(?:ec\w*)?|t/s|tps|tok(?:en)?s? per sec\w*)"
_LED = (
    rf"(?i)^[\s>*#•\[(-]*(?:(?:concurrency|concurrent (?:users|requests|streams|clients)|{_MANY}|bs|batch(?: size)?)\s?[=:@]?\s?(\d{{1,6}})|"
    rf"[cn]\s?[=:]\s?(\d{{1,6}})|c(\d{{1,6}})|(\d{{1,6}})\s?[x×]?\s?(?:{_MANY})(?:\s(?:requests?|streams?|users?|clients?|sessions?))?)"
    r"(?:\s?[\])*_]*\s?(?::|→|=>|->|—|–|-|\||\]|\))\s+(\S.*)|\s+([~≈*]*\d.*))$"
)
_LED_RATE = _latin(rf"(?i)\d\*{{0,2}}\s?{_RATE}(?:\W|$)")
_ROW_LOAD = (
    rf"(?i)^[\s>]*[{_S}]?[\s*_`]*((?:c|n|bs?|np|{_MANY}|concurrency|batch)\s?[=:@×x]\s?\d{{1,6}}|(?:concurrency|conc)\s\d{{1,6}}|"
    rf"\d{{1,6}}\s?[x×]?\s?(?:{_MANY})(?:\s(?:requests?|streams?|users?|clients?|sessions?))?)[\s*_`]*(?:[{_S}]|\s\s)"
)
_STANDING = (
    r"(?i)^[\s>]*[|│┃][\s*_`]*(?:(?:max(?:imum)?|number of|num|total|offered)[\s_-]+)?(?:concurrency(?: level)?|concurrent[\s_-](?:requests|users|streams|clients)|"
    r"parallel(?:ism| requests| streams)|simultaneous (?:requests|users|streams))[\s*_`:]*[|│┃][\s*_`]*\d{1,6}[\s*_`]*[|│┃]"
)
_MAYBE_HEADING = r"(?i)^[\s>]*(?:#|\*\*|table|figure|tabelle|tableau)"
_HEADING = r"(?i)^\s*(?:>\s*)*(?:#{1,6}\s+(.{1,120})|\*\*([^*|]{1,120})\*\*:?|(?:table|figure|tabelle|tableau)\s*\d*\s*[:.]\s*(.{1,120}))$"


def prepared(lines: pl.Series) -> pl.Series:
    """The lines as tables are looked for in them: those in HTML as pipe tables, words of other scripts in English. Numbers of lines stay."""
    return in_english(as_pipes(lines))


def headings_of(lines: pl.Series) -> list[int]:
    """Indices of headings and captions: vectorised, and looked at closely only where something begins like one."""
    maybe = lines.str.contains(_MAYBE_HEADING).arg_true()
    return maybe.filter(lines.gather(maybe).str.contains(_HEADING)).to_list() if len(maybe) else []


def starts(lines: pl.Series) -> list[tuple[int, str]]:
    """Indices where a table, an inline row, a block or a suffixed key may begin: vectorised, a few per cent of a log at most."""
    import polars as pl

    frame = pl.DataFrame({"line": lines})
    text = pl.when(pl.col("line").str.len_bytes() <= 1500).then(pl.col("line")).otherwise(pl.lit(""))
    text = text.str.replace_all(r"<[a-zA-Z/][^<>|]{0,40}>", " ")
    side = pl.when((text.str.len_bytes() <= 600) & text.str.contains(_SIDE_HINT)).then(text).otherwise(pl.lit(""))
    data = text.str.contains(_DATA)
    soon = data.shift(-1).fill_null(False) | data.shift(-2).fill_null(False) | data.shift(-3).fill_null(False)
    json = text.str.contains(r"^\s*[{\[]?\s*[{\"]\w+\"?\s*:")
    led = text.str.contains(_ROW_LOAD)
    led_soon = led.shift(-1).fill_null(False) | led.shift(-2).fill_null(False) | led.shift(-3).fill_null(False)
    kinds = {
        "standing": text.str.contains(_STANDING),
        "table": soon
        & (
            ((text.str.contains(_MEASURE) | text.str.contains(_NAMED)) & (text.str.contains(_HEADER) | led_soon))
            | side.str.contains(_SIDEWAYS)
        ),
        "inline": ~json & text.str.contains(_KEYED) & text.str.contains(_KEYED_VALUE),
        "block": ~json & (text.str.contains(_BANNER) | text.str.contains(_ALONE) | text.str.contains(_TITLED)),
        "suffix": ~json & text.str.contains(_SUFFIXED),
        "told": ~json & text.str.contains(_LED) & text.str.contains(_LED_RATE),
    }
    marks = frame.select(**kinds).with_row_index("i").filter(pl.any_horizontal(*kinds))
    rows = marks.to_dict(as_series=False)
    return [(i, kind) for n, i in enumerate(rows["i"]) for kind in kinds if rows[kind][n]]


# --- lines -> grids ----------------------------------------------------------------------------------------------------------------


@dataclass
class Grid:
    """A table as cells. `status` tells how each of its lines ended; `stop` is the index after its last line; `runs_on` that the text
    ended before the table did. Lines are indices into the lines that were given."""

    header: list[str]
    at: int
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    status: dict[int, str] = field(default_factory=dict)
    rejects: list[tuple[int, str]] = field(default_factory=list)
    stop: int = 0
    runs_on: bool = False
    caption: str = ""


_QUOTE = re.compile(r"^\s*(?:>\s?)*\s*")
_RULE = re.compile(r"[\s|+:=─━┼┤├┡╞╇┿╪╡┩┠╟╢╠╬╣┣╋┫╂┨┴┻╧┘└┗┛╚╝╩═╤┬┳┌┐┏┓╔╗╦─╭╮╰╯-]*")
_BARS = str.maketrans("│┃║¦", "||||")


def _pipe_cells(line: str) -> list[str] | None:
    text = _QUOTE.sub("", line).translate(_BARS).rstrip()
    if "|" not in text:
        return None
    cells = [c.strip() for c in re.split(r"(?<!\\)\|", text)]
    return cells[1 if text.startswith("|") else 0 : -1 if text.endswith("|") and len(cells) > 1 else None]


def _csv_cells(line: str, sign: str) -> list[str] | None:
    if sign not in line:
        return None
    try:
        return [c.strip() for c in next(csv.reader([_QUOTE.sub("", line)], delimiter=sign, skipinitialspace=True))]
    except (csv.Error, StopIteration):
        return None


def _blank_cells(line: str, pattern: str) -> list[str] | None:
    text = _QUOTE.sub("", line).strip()
    return re.split(pattern, text) if text else None


@lru_cache(maxsize=64)
def _splitter(layout: str) -> Any:
    if layout == "pipe":
        return _pipe_cells
    if layout in (",", ";", "\t"):
        return lambda line: _csv_cells(line, layout)
    return lambda line: _blank_cells(line, layout)


def _is_load(header: Sequence[str]) -> bool:
    roles = [meaning(h) for h in header]
    if any(m.role in ("concurrency", "rate", "rps") for m in roles):
        return True
    return sum(embedded(h)[0] is not None for h in header) >= 2


def _layouts(header: str) -> Iterator[str]:
    """Layouts a header line may have, the most telling first."""
    if "|" in header.translate(_BARS):
        yield "pipe"
        return
    yield from sorted((s for s in "\t;," if s in header), key=lambda s: -header.count(s))
    yield r"\s{2,}|\t"
    yield r"\s+"


def _table_at(lines: Sequence[str], at: int) -> Grid | None:
    """The table whose header is line `at`, in the first layout that gives rows."""
    for layout in _layouts(lines[at]):
        split = _splitter(layout)
        header = split(lines[at])
        if not header or len(header) < 2 or len(header) > 80:
            continue
        header, above = _wrapped_header(lines, at, header) if layout == "pipe" else (header, 0)
        header, above = (header, above) if above else _grouped_header(lines, at, header, split)
        while len(header) > 2 and not header[-1]:
            header.pop()
        loads = _is_load(header)
        if not loads and layout not in ("pipe", ",", ";", "\t"):
            continue
        grid = _rows(lines, at, header, split, layout)
        grid.status.update(dict.fromkeys(range(at - above, at), "matched"))
        if grid.rows and (loads or _load_in_cells(grid)):
            return grid
    return None


def _wrapped_header(lines: Sequence[str], at: int, header: list[str]) -> tuple[list[str], int]:
    """A header whose words rich has wrapped, and how many lines of it stand above. It ends where its shortest words stand, and only the
    lines of a header have heavy bars."""
    above = 0
    while above < 3 and above < at and "┃" in lines[at] and "┃" in lines[at - above - 1]:
        cells = _pipe_cells(lines[at - above - 1])
        if not cells or len(cells) != len(header):
            break
        header = [f"{upper} {lower}".strip() for upper, lower in zip(cells, header)]
        above += 1
    return header, above


def _grouped_header(lines: Sequence[str], at: int, header: list[str], split: Any) -> tuple[list[str], int]:
    """A header that says the same again under the names of groups (two engines side by side), which stand in the row above, maybe with the rule
    between; a name goes for the empty or equal cells behind it."""
    if len(set(header)) == len(header):
        return header, 0
    above = 2 if at > 1 and "-" in lines[at - 1] and _RULE.fullmatch(_QUOTE.sub("", lines[at - 1])) else 1
    names = split(lines[at - above]) if at >= above else None
    if not names or len(names) != len(header) or any(re.fullmatch(r"[\d.,%\s]+", n) for n in names if n):
        return header, 0
    filled, last = [], ""
    for name in names:
        last = name or last
        filled.append(last)
    joined = [f"{group} {title}".strip() if header.count(title) > 1 else title for group, title in zip(filled, header)]
    return (joined, above) if len(set(joined)) == len(joined) else (header, 0)


_CELL_LOAD = re.compile(_ROW_LOAD)


def _load_in_cells(grid: Grid) -> bool:
    """A column whose every cell says the concurrency itself ("c=4", "4 users"), whatever its header: it becomes the concurrency."""
    for n in range(min(3, len(grid.header))):
        found = [_CELL_LOAD.match(f"{cells[n]}  ") for _, cells in grid.rows]
        if len(found) >= 2 and all(found):
            grid.header = [*grid.header[:n], "concurrency", *grid.header[n + 1 :]]
            digits = [re.sub(r"\D", "", m[1]) for m in found if m]
            grid.rows = [(i, [*cells[:n], d, *cells[n + 1 :]]) for (i, cells), d in zip(grid.rows, digits)]
            return True
    return False


def _fitted(line: str, split: Any, width: int, blanks: bool) -> list[str] | None:
    """The cells of a row. Empty cells beyond the header go; right-aligned numbers may stand one blank apart."""
    cells: list[str] | None = split(line)
    while cells and len(cells) > width and not cells[-1]:
        cells.pop()
    single = _blank_cells(line, r"\s+") if blanks and cells and len(cells) != width else None
    return single if single and len(single) == width else cells


def _rows(lines: Sequence[str], at: int, header: list[str], split: Any, layout: str) -> Grid:
    """The rows under a header. A row whose cells do not fit the header is a near miss: a shifted value would be a wrong one."""
    grid = Grid(header, at, status={at: "matched"}, stop=at + 1)
    strays, headed, blanks = 0, False, layout in (r"\s{2,}|\t", r"\s+")
    for i in range(at + 1, min(len(lines), at + MAX_TABLE_LINES)):
        line = lines[i]
        if _RULE.fullmatch(_QUOTE.sub("", line)):
            blank = not _QUOTE.sub("", line)
            strays += blank and bool(grid.rows)
            if not blank:
                grid.status[i] = "noise"
            if strays > (0 if blanks else 2):
                break
            continue
        cells = _fitted(line, split, len(header), blanks)
        same = cells is not None and [c.lower() for c in cells] == [h.lower() for h in header]
        if cells and not same and grid.rows and (strays or not any(token(c).digits for c in cells)) and _is_load(cells):
            break  # the header of the next table
        if (same and headed) or re.match(r"\s*#{1,6} ", line):
            break  # the same header again under a heading of its own
        if cells and len(cells) == len(header):
            if same:
                grid.status[i] = "noise"
            else:
                grid.rows.append((i, cells))
            grid.stop, strays, headed = i + 1, 0, False
            continue
        numbers = [bool(token(c).digits) and not token(c).why for c in cells or ()]
        if cells and len(cells) > 1 and any(numbers) and (layout == "pipe" or numbers[0]):
            grid.status[i] = "near_miss"
            grid.rejects.append((i, f"{len(cells)} cells under {len(header)} headers"))
            grid.stop, strays = i + 1, strays + 1
            continue
        strays, headed = strays + 1, True
        if blanks or strays > 2 or not grid.rows:
            break
    else:
        grid.runs_on = True
    grid.status = {i: s for i, s in grid.status.items() if i < grid.stop}
    return grid


_VALUE = r"(?:\d{1,9}/\d{1,9}(?= ?(?:[,;|)]|OK\b|ok\b|\s{2}|$))|[~≈]?\d(?:[\d.,]*\d)?k?)\s?(?:tok(?:en)?s?/s(?:ec\w*)?|t/s|tps|req/s|ms|min|s(?:ec\w*)?|x|×|%)?(?:\s?(?:±|\+/-)\s?\d(?:[\d.,]*\d)?)?"
_PAIR = re.compile(
    rf"(?:^|[\s,;|(\[])(?P<k>[A-Za-z](?:[\w./ -]{{0,40}}?\w)?(?:\s?\([\w/ .]{{1,12}}\))?)\s{{0,30}}[=:]\s*(?P<v>{_VALUE})(?=$|[\s,;|)\]]|:\s)"
)
_TOLD = re.compile(
    r"(?P<v>\d+) (?P<k>ok|succeeded|successful|completed|failed|errors)\b|"
    r"(?P<k2>wall(?:[- ]?clock)?(?: time)?)\s+(?P<v2>\d[\d.]*\s?(?:ms|min|s(?:ec\w*)?))\b"
)
_STOP = re.compile(r"^\s*(?:={3,}|\$ |```)")
_CONSOLE = re.compile(
    r"(?i)benchmark duration|serving benchmark|successful requests:|time taken for tests|max(?:imum)? request concurrency"
)


def _pairs(line: str) -> dict[str, str]:
    out = {re.sub(r"\s+", " ", m["k"]).strip(): m["v"].strip() for m in _PAIR.finditer(line)}
    for m in _TOLD.finditer(line):
        out.setdefault(m["k"] or m["k2"], m["v"] or m["v2"])
    return out


def _grid_of(records: list[tuple[int, dict[str, str]]], load: str) -> Grid:
    """Records of key and value as a table: one column per key."""
    keys = list(dict.fromkeys(k for _, record in records for k in record if k != load))
    rows = [(i, [record.get(k, "") for k in (load, *keys)]) for i, record in records]
    return Grid([load, *keys], records[0][0], rows=rows)


def _inline_at(lines: Sequence[str], at: int) -> Grid | None:
    """Consecutive lines of `c=4 aggregate=49.1 wall=15.6s`."""
    records: list[tuple[int, dict[str, str]]] = []
    load, i = "", at
    while i < len(lines) and i <= (records[-1][0] if records else at) + 3:
        found = re.search(_KEYED, lines[i])
        pairs = _pairs(lines[i]) if found and len(lines[i]) <= 600 and not _CONSOLE.search(lines[i]) else {}
        key = next((k for k in pairs if meaning(k).role == "concurrency"), "")
        # a letter or a batch counts only where the line begins with it: `SamplingParams(n=1)` is an argument
        weak = bool(key) and meaning(key).rank == 1
        if weak and (key != next(iter(pairs)) or re.search(rf"\w\(\s*{re.escape(key)}\s?[=:]", lines[i])):
            key = ""
        if key and (not load or key == load):
            load = key
            records.append((i, pairs))
        i += 1
    if not records or len(records[0][1]) < 2:
        return None
    grid = _grid_of(records, load)
    grid.status = {i: "matched" for i, _ in records}
    grid.stop, grid.runs_on = records[-1][0] + 1, i >= len(lines)
    return grid


def _blocks_at(lines: Sequence[str], at: int) -> Grid | None:
    """Blocks that open with their concurrency and go on in pairs, up to the next such line."""
    records: list[tuple[int, dict[str, str]]] = []
    status: dict[int, str] = {}
    i, idle, load, closed = at, 0, "concurrency", False
    while i < len(lines) and idle <= 20:
        found = re.search(_BANNER, lines[i]) or re.search(_ALONE, lines[i]) or re.search(_TITLED, lines[i])
        if found and len(lines[i]) <= 200:
            records.append((i, {"concurrency": next(g for g in found.groups() if g)}))
            bare = re.match(r"(?i)^\W*([cn])\s*[:=]", lines[i])
            load = bare.group(1) if bare else load
            status[i], idle, closed = "matched", 0, False
        elif _CONSOLE.search(lines[i]):
            return None
        elif re.match(r"\s*#", lines[i]):
            break
        elif _STOP.match(lines[i]):
            closed, idle = True, idle + 1
        elif records and not closed:
            pairs = _pairs(re.sub(r"[*`]", "", lines[i])) if len(lines[i]) <= 400 else {}
            # what follows a blank line or says a key again belongs to a block whose own first line was not understood
            closed = any(k in records[-1][1] for k in pairs) or (len(records[-1][1]) > 1 and not lines[i].strip())
            if pairs and not closed:
                status[i], idle = "matched", 0
                records[-1][1].update(pairs)
            else:
                idle += 1
        else:
            idle += 1
        i += 1
    grid = _grid_of([(i, {load: r.pop("concurrency"), **r}) for i, r in records], load) if records else None
    if grid:
        grid.status, grid.stop, grid.runs_on = status, max(status) + 1, i >= len(lines)
    return grid


def _suffixed_at(lines: Sequence[str], at: int) -> Grid | None:
    """`aggregate_tps_n4: 269.03`: one record per concurrency, its line that of its first key."""
    found: dict[str, tuple[int, dict[str, str]]] = {}
    status: dict[int, str] = {}
    i, idle = at, 0
    while i < len(lines) and idle <= 3:
        hit = re.search(_SUFFIXED, lines[i])
        value = re.match(rf"\s*({_VALUE})\s*(?:$|[,;#])", lines[i][hit.end() :]) if hit else None
        idle = 0 if hit else idle + 1
        if hit and value:
            key = re.sub(r"(?i)[_-](?:n|c|conc|x)\d+$", "", lines[i][: hit.end()].strip(" :=\t"))
            found.setdefault(hit.group(1), (i, {"concurrency": hit.group(1)}))[1][key] = value.group(1)
            status[i] = "matched"
        i += 1
    if not found:
        return None
    grid = _grid_of(list(found.values()), "concurrency")
    grid.status, grid.stop, grid.runs_on = status, max(status) + 1, i >= len(lines)
    return grid


def _standing_at(lines: Sequence[str], at: int) -> Grid | None:
    """A table of keys and values, one of which is the concurrency: a step per column of values. It is found by that row, so it goes on
    above it, too."""
    load = _pipe_cells(lines[at])
    if not load or not 2 <= len(load) <= 8 or len(set(load[1:])) == len(load) - 1 > 1:
        return None  # with several concurrencies it is the header of a table on its side
    found: dict[int, list[str]] = {at: load}
    for way in (-1, 1):
        i = at + way
        while 0 <= i < len(lines) and abs(i - at) <= 100:
            cells = _pipe_cells(lines[i])
            if cells and len(cells) == len(load):
                found[i] = cells
            elif not lines[i].strip() or not _RULE.fullmatch(_QUOTE.sub("", lines[i])):
                break
            i += way
    order = sorted(found)
    keys = [i for i in order if meaning(found[i][0]).role and i != at]
    if not keys:
        return None
    header = found[order[0]] if order[0] not in (*keys, at) else []
    rows = []
    for n in range(1, len(load)):
        name = [header[n]] if header and len(load) > 2 else []
        rows.append((at, [load[n], *name, *(found[i][n] for i in keys)]))
    titles = [load[0], *(["config"] if rows[0][1][1:2] and len(rows[0][1]) == len(keys) + 2 else []), *(found[i][0] for i in keys)]
    grid = Grid(titles, at, rows=rows, status=dict.fromkeys((at, *keys), "matched"))
    grid.stop, grid.runs_on = order[-1] + 1, order[-1] + 1 >= len(lines)
    return grid


_PIECE = re.compile(
    rf"(?i)(?P<a>[a-z][\w/ -]{{0,30}}?)?\s*[:=]?\s*(?P<v>[~≈]?\d[\d.,]*k?)\s?(?P<u>{_RATE}|ms|s|sec|min)?(?:\s+(?P<b>(?:[a-z/][\w /-]{{0,30}})))?"
)


def _pieces(text: str) -> dict[str, str]:
    """`120.8 tok/s aggregate (30.2 per stream), TTFT 310 ms` as key and value; the unit of a rate belongs to its key."""
    out: dict[str, str] = {}
    listed = False  # a bare number before: the next one is one of several measurements
    for part in re.split(r"[,;()|·]\s|[()]|\s{2,}|\s=\s|\s(?:and|und|et)\s", re.sub(r"[*`]", "", text) + " "):
        found = _PIECE.fullmatch(part.strip(" *_`.:→-!"))
        bare = bool(found and not (found["a"] or found["b"] or found["u"]))
        if not found or bare or (listed and not (found["a"] or found["b"])):
            listed = bare
            continue
        listed = False
        rate = bool(found["u"]) and bool(re.fullmatch(rf"(?i){_RATE}", found["u"]))
        words = " ".join(w for w in (found["a"], found["b"], "tok/s" if rate else "") if w)
        if words:
            out.setdefault(words.lower(), found["v"] + ("" if rate or not found["u"] else f" {found['u']}"))
    return out


def _told_at(lines: Sequence[str], at: int) -> Grid | None:
    """Lines that begin with their concurrency and go on in words: `4 streams: 120.8 tok/s aggregate (30.2 per stream)`. One such line is
    an anecdote; two with different concurrencies are a sweep."""
    records: list[tuple[int, dict[str, str]]] = []
    i = at
    while i < len(lines) and i <= (records[-1][0] if records else at) + 2:
        found = re.match(_LED, lines[i]) if len(lines[i]) <= 300 else None
        if found and re.search(_LED_RATE, lines[i]):
            number, rest = (g for g in found.groups() if g)
            records.append((i, {"concurrency": number, **_pieces(rest)}))
        elif lines[i].strip() and records:
            break
        i += 1
    if len({r["concurrency"] for _, r in records}) < 2:
        return None
    grid = _grid_of(records, "concurrency")
    grid.status = {i: "matched" for i, _ in records}
    grid.stop, grid.runs_on = records[-1][0] + 1, i >= len(lines)
    return grid


# (lines, index where one of that kind may begin) -> the table there, or None
READERS = {
    "table": _table_at,
    "inline": _inline_at,
    "block": _blocks_at,
    "suffix": _suffixed_at,
    "told": _told_at,
    "standing": _standing_at,
}


def cut_end(grid: Grid, last: int, text: str) -> None:
    """A value that touches the end of a text without a line end may be cut: it is unknown, unless a closing pipe follows it."""
    if text.translate(_BARS).rstrip(" ").endswith("|"):
        return
    for i, cells in grid.rows:
        if i == last and cells:
            cells[-1] = ""
        elif i < last < grid.stop and grid.status.get(last) == "matched" and last not in {r for r, _ in grid.rows}:
            for n, cell in enumerate(cells):  # a block: its last line is not a row of its own
                if n and cell and text.rstrip().endswith(cell):
                    cells[n] = ""


def caption_of(lines: Sequence[str], at: int, headings: Sequence[tuple[int, str]], before: str) -> str:
    """The nearest heading above, or a line that ends in a colon directly above the table."""
    for i in range(at - 1, max(-1, at - 3), -1):
        text = lines[i].strip(" >*\t")
        if text.endswith(":") and len(text) <= 100 and "|" not in text:
            return text.rstrip(": ")
        if text and not text.startswith("```"):
            break
    line = next((text for i, text in reversed(headings) if i < at), before)
    found = re.match(_HEADING, line)
    return next((g for g in found.groups() if g), "") if found else ""
