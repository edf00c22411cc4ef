"""The declared contract of line logs: fields by key, anchors, near misses, noise, samples.

Nothing here runs; `parse.py` executes it over blocks of text. Fields are found by key, not by position: engines add, drop and
reorder fields, and a positional pattern gives nothing on the first change, silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .parser import Sample

__all__ = ["Field", "Int", "Line", "LineFormat", "Num", "Sample", "Stamp", "Text", "Word", "go_duration", "go_seconds", "other_args"]


@dataclass(frozen=True)
class Num:
    """A DOUBLE: group 1 of the first match in the line, thousands separators allowed, multiplied by `scale`."""

    pattern: str
    scale: float = 1.0
    type: str = field(default="DOUBLE", init=False)


@dataclass(frozen=True)
class Int:
    """A BIGINT: group 1 of the first match, thousands separators allowed."""

    pattern: str
    type: str = field(default="BIGINT", init=False)


@dataclass(frozen=True)
class Text:
    """A VARCHAR: group 1 of the first match. Only for words of the format itself, never for what a user wrote."""

    pattern: str
    type: str = field(default="VARCHAR", init=False)


@dataclass(frozen=True)
class Word:
    """A constant VARCHAR the line stands for (a kind, a key, an origin)."""

    value: str
    type: str = field(default="VARCHAR", init=False)


Field = Num | Int | Text | Word


def go_duration(name: str, before: str, after: str) -> dict[str, Field]:
    """The parts of a duration as Go prints it (`1h2m3.5s`, `626.2ms`, `50.2\u00b5s` in any spelling, `514ns`) between two patterns."""
    return {
        f"{name}_h": Num(rf"{before}(\d+)h\d"),
        f"{name}_m": Num(rf"{before}(?:\d+h)?(\d+)m\d"),
        f"{name}_s": Num(rf"{before}(?:\d+h)?(?:\d+m)?([\d.]+)s{after}"),
        f"{name}_ms": Num(rf"{before}([\d.]+)ms{after}"),
        f"{name}_us": Num(rf"{before}([\d.]+)[^\s\d.|hmns]{{1,3}}s{after}"),
        f"{name}_ns": Num(rf"{before}([\d.]+)ns{after}"),
    }


def go_seconds(name: str) -> str:
    """SQL: the seconds of the parts that `go_duration` found."""
    small = ", ".join(f"{name}_{unit} / 1e{power}" for unit, power in (("ns", 9), ("us", 6), ("ms", 3)))
    return f"coalesce({small}, coalesce({name}_h, 0) * 3600 + coalesce({name}_m, 0) * 60 + {name}_s)"


# where things lie, what they are called and how they are watched, not how fast they run
_NO_MATTER = r"path|dir|port|host|addr|address|key|token|seed|log|logging|level|metrics|trace|url|uri|file|name|id|folder|requests|parser|watchdog|timeout"


def other_args(column: str, read: str) -> str:
    """SQL: a short fingerprint of the printed arguments of a server (a call, a dict, JSON) without those that `read` matches, for telling
    whether two runs differ in anything that has no setting of its own. Of the model's path the last part counts; what the arguments say
    cannot be read from it."""
    pairs = rf"regexp_extract_all({column}, $re$[(,{{ ]['\"]?\w+['\"]?[=:] ?[^,)}}]*$re$)"
    pairs = rf"list_transform({pairs}, lambda x: regexp_replace(regexp_replace(x, $re$^[(,{{ ]+['\"]?(\w+)['\"]?[=:] ?$re$, '\1='), $re$=.*/$re$, '='))"
    away = rf"^(?:{read})=|^(?:\w*_)?(?:{_NO_MATTER})s?(?:_\w*)?="
    kept = rf"list_filter({pairs}, lambda x: regexp_matches(x, '^model(?:_path)?=') OR NOT regexp_matches(x, $re${away}$re$))"
    return f"left(md5(array_to_string(list_sort({kept}), ';')), 8)"


@dataclass(frozen=True)
class Stamp:
    """A time printed at the start of a record. `pattern` is anchored at the start of the peeled line and is peeled with it.

    `parse` names how group 1 is read:
    `m.s.ms.us` (llama.cpp: minutes.seconds.milliseconds.microseconds), `iso` (date and time, blank or T, fraction, zone),
    `slash` (2026/01/31 10:30:15), `us-slash` (01/31/2026-10:30:15), `month-day` (01-31 10:30:15), `clock` (10:30:15), `unix` (seconds).
    `clock` is one of `tables.CLOCK_KINDS`; `resolution_s` the smallest step. `search` finds the stamp anywhere in the line
    (a key such as timestamp=1746695926) and peels nothing.
    """

    pattern: str
    parse: str
    clock: str
    resolution_s: float
    search: bool = False


@dataclass(frozen=True)
class Line:
    """One kind of line.

    anchor       literal text that must occur; several mean any of them. The first Line in declared order whose anchor, `after`
                 and `veto` agree takes the line.
    fields       column -> Num | Int | Text | Word.
    need         fields without which the line is a near miss (counted and shown, never half a row).
    into         `"table"`: one row straight into the table; `"table*"`: staged, typed, assembled in SQL.
    after        what may stand before the anchor once prefixes and stamps are peeled: a pattern matched at the end of that text
                 (default: nothing but blanks). The one rule against log text quoted inside prompts.
    veto         literals that must not stand before the anchor.
    inherit      the context columns this line takes from the last context line where it has none of its own.
    starts_run   the line belongs to the banner of a server: it begins a new run if the run before has served (see `serves`) or has
                 already shown a line of this kind. So a banner of several such lines counts one run.
    serves       the line proves that start-up is over. Where a format marks none, every matched line without `starts_run` does.
    prefixed     the line carries the format's stamp wherever the log has stamps at all: in a run in which such lines begin with one,
                 a line without it is somebody's text (a prompt of several lines) and gives nothing.
    split_before the anchor may begin in the middle of a physical line (two records glued together): cut there first.
    """

    kind: str
    into: str
    anchor: str | tuple[str, ...]
    fields: Mapping[str, Field] = field(default_factory=dict)
    need: tuple[str, ...] = ()
    after: str = r"^\s*$"
    veto: tuple[str, ...] = ()
    inherit: tuple[str, ...] = ()
    starts_run: bool = False
    serves: bool = False
    prefixed: bool = False
    split_before: bool = False

    @property
    def anchors(self) -> tuple[str, ...]:
        return (self.anchor,) if isinstance(self.anchor, str) else self.anchor


@dataclass(frozen=True)
class LineFormat:
    """A format of line logs.

    stamps    tried in order per line; a line without one inherits nothing.
    context   comma-separated columns -> pattern with groups of those names (whole numbers), searched in the line once prefixes and
              stamps are peeled: begin it with `^`. It needs a literal of three characters. Lines carry them, or inherit them from
              the last line of the same process and run that matched (`Line.inherit`). A group that took no part makes its column
              unknown again: `^slot (?:id (?P<slot>\\d+) \\|\\s*$)?` is set by a bare header and reset by any other slot line.
    timed     False: no row of the format has a time. Then its lines take no part in the clock of their source: the time of a container before
              them is not that of the stamps of another format in the same log.
    front     the server hands its requests to another one, whose lines may stand in the same log: where another format finds requests in
              the source, those of this one are the same again and are left out.
    noise     literals of lines that are known and carry nothing.
    assemble  table -> SELECT over `staged` (columns: line, run, t, res, stamped, outer_t, kind, the context columns and every
              field of every staged line). SQL never parses text. `t` is the time on the source clock (the stamp; the time of a
              container or journal prefix where the line has no stamp), `res` its resolution in seconds, `stamped` whether the
              line begins with a stamp of its own; a result column of declared time type is on the clock of `t`. Order `requests` before
              others only for reading: every table is assembled on its own.
    prepare   name -> SELECT over `staged` and those before: what several SELECTs of `assemble` read, worked out once.
    peel      patterns of process prefixes of this format, removed repeatedly at the start of a line, e.g. r"\\(EngineCore pid=\\d+\\) ".
    """

    name: str
    server: str
    lines: tuple[Line, ...]
    samples: tuple[Sample, ...]
    api: int = 1
    stamps: tuple[Stamp, ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)
    noise: tuple[str, ...] = ()
    prepare: Mapping[str, str] = field(default_factory=dict)
    assemble: Mapping[str, str] = field(default_factory=dict)
    peel: tuple[str, ...] = ()
    timed: bool = True
    front: bool = False
    signature: tuple[str, ...] = ()  # anchors that alone identify the format; default: all anchors

    @property
    def context_columns(self) -> tuple[str, ...]:
        return tuple(c.strip() for keys in self.context for c in keys.split(",") if c.strip() != "run")
