"""What wraps a log line: colours, quotes, container and journal prefixes, router ports, progress bars. Peeled in one place.

A wrapper is peeled only where its whole shape stands at the start of the line; no token is optional on its own, because a free
"any word" would swallow a native prefix such as `0.45.941.227 `. The time of a wrapper is kept as the outer time, what tells one
process from another (a router's port, a pid, a service name, a host) is kept as the stream.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_RFC3339 = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)"
_IDENT = r"[A-Za-z0-9_.@/+-]+"
# a host, also one that somebody made unknown: `<server>`, `[REDACTED]`, `***`
_HOST = rf"(?:{_IDENT}|<[^<>=\"]{{1,40}}>|\[[A-Za-z_-]{{2,20}}\]|[*#]{{2,20}})"
# the month as the language of the machine names it: `Okt`, `mai`, `févr.`, `de des.`, `дек`, `9月`
_MONTH = r"(?:d(?:e |['’]))?(?:\d{1,2}[月월]|[^\W\d_]{3,5}\.?)"
ROUNDS = 5  # wrappers inside wrappers: compose, docker time, router port, quote


def _in_ascii(pattern: str) -> str:
    """The pattern with the digits of ASCII alone: compiling the tables of those of all scripts takes longer than a log to read."""
    return re.sub(r"\\.|\[(?:\\.|[^\]])*\]", lambda m: "[0-9]" if m[0] == r"\d" else m[0].replace(r"\d", "0-9"), pattern)


@dataclass(frozen=True)
class Peeler:
    """A prefix: `pattern` starts with `^`; the groups `time` and `key` are the outer time and the stream it names."""

    name: str
    pattern: str
    kind: str = ""  # clock kind of `time`
    parse: str = "iso"
    whole: bool = True  # wraps a whole file, or most of it; otherwise single lines
    rare: bool = False  # counts only where half of the head's lines wear it, and few different names stand in it

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", _in_ascii(self.pattern))

    def has(self, group: str) -> bool:
        return f"(?P<{group}>" in self.pattern


_POD = r"[a-z][a-z0-9.-]*-(?:\d{1,4}|[0-9a-f]{5,10}(?:-[a-z0-9]{5})?)"  # of a set or a deployment: a name alone is a program's own
PEELERS: tuple[Peeler, ...] = (
    Peeler("spinner", r"^[\x{2800}-\x{28FF}]\s+", whole=False),
    Peeler("interrupt", r"^(?:\^C)+", whole=False),
    Peeler("dots", r"^\.{5,}", whole=False),
    Peeler("code fence", r"^`{3}", whole=False),  # code that begins on the line of its fence
    Peeler("compose", r"^(?P<key>[A-Za-z0-9][A-Za-z0-9_.-]*) +\| ?"),
    Peeler("podman compose", r"^\[(?P<key>[A-Za-z0-9][A-Za-z0-9_.-]*)\] +\| ?"),
    Peeler("kubectl --prefix", r"^\[pod/(?P<key>[^\]\s]+)\] "),
    # shells of GitLab and GitHub, exports of Grafana and logcli, CloudWatch's tail, syslog servers: a time with more than a blank behind it
    Peeler("gitlab", rf"^(?P<time>{_RFC3339}) \d\d[OE][+ ]?", "utc", rare=True),
    Peeler("grafana explore", rf"^\d{{13,19}}\t(?P<time>{_RFC3339})\t", "utc", rare=True),
    Peeler("logcli", rf'^(?P<time>{_RFC3339}) (?P<key>\{{\w+="[^{{}}]*\}}) ', "utc", rare=True),
    Peeler("aws logs tail", rf"^(?P<time>{_RFC3339}) (?P<key>[A-Za-z][\w.-]*(?:/[\w.$\[\]-]+)+) ", "utc", rare=True),
    Peeler("syslog 5424", rf"^<\d{{1,3}}>1 (?P<time>{_RFC3339}) \S+ (?P<key>\S+) \S+ \S+ (?:-|\[[^\]]*\]) ", "utc", rare=True),
    Peeler("build log", rf"^\[(?P<time>{_RFC3339})\] ", "utc", rare=True),
    Peeler("container runtime", rf"^(?P<time>{_RFC3339}) (?:stdout|stderr) [FP] ", "utc"),
    # a path in front of [n]: is a program's own, not an identifier of the journal
    Peeler("journal iso", rf"^(?P<time>{_RFC3339}) (?:{_HOST} +)?(?P<key>[^\s:/\[\]]+:?\[\d+\]): ?", "utc"),
    # a program may print a time and two words itself; microseconds and an offset are those of rsyslog
    Peeler(
        "syslog iso",
        r"^(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d) [A-Za-z][\w.-]* (?P<key>[A-Za-z][A-Za-z0-9.-]*): ",
        "utc",
        rare=True,
    ),
    Peeler("docker or kubectl time", rf"^(?P<time>{_RFC3339}) ", "utc"),
    Peeler("zoned time", r"^(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)) +", "utc", rare=True),
    Peeler("lm studio", r"^\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\]\[(?:DEBUG|INFO|WARN|ERROR)\](?:\[[^\]]*\])* ?", "local-no-zone"),
    Peeler("docker interface time", r"^(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) \| ", "local-no-zone"),
    Peeler(
        "journal full",
        rf"^[A-Z][a-z]{{2}} (?P<time>\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? UTC) {_HOST} (?P<key>[^\s:\[\]]+\[\d+\]): ?",
        "utc",
    ),
    Peeler("journal unix", rf"^(?P<time>\d{{10}}\.\d{{3,6}}) {_IDENT} (?P<key>[^\s:\[\]]+\[\d+\]): ?", "utc", "unix"),
    Peeler(
        "journal short",
        rf"^(?P<time>{_MONTH} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?) +(?:{_HOST} +)?(?P<key>[^\s:\[\]]+:?\[\d*\]):? ?",
        "no-year",
        "month-name",
    ),
    Peeler(
        "journal kernel",
        rf"^(?P<time>{_MONTH} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?) +{_IDENT} (?P<key>kernel): ",
        "no-year",
        "month-name",
    ),
    Peeler(
        "syslog short",
        rf"^(?P<time>{_MONTH} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?) +[A-Za-z][\w.-]* (?P<key>[A-Za-z][A-Za-z0-9.-]*): ",
        "no-year",
        "month-name",
        rare=True,
    ),
    Peeler("ts", r"^(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?) ", "no-year", "month-name"),
    Peeler("ident", r"^(?P<key>[A-Za-z][A-Za-z0-9_.@/+-]*\[\d+\]): "),
    Peeler("stern", r"^(?P<key>[a-z0-9][a-z0-9-]*-[0-9a-f]{6,10}-[a-z0-9]{5}) [a-z0-9][a-z0-9-]* (?:\| )?"),
    Peeler("stern, any pod", rf"^(?P<key>{_POD}) [a-z0-9][a-z0-9-]* (?:\| )?", rare=True),
    Peeler("kubetail", rf"^\[(?P<key>{_POD})\] ", rare=True),
    Peeler("pm2", r"^\d{1,4}\|(?P<key>[\w.-]+) +\| (?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d: )?", rare=True),
    Peeler("foreman", r"^\d\d:\d\d:\d\d (?P<key>[A-Za-z][\w.-]*) +\| ", rare=True),
    Peeler("multilog", r"^@[0-9a-f]{24} ", rare=True),
    Peeler("torchrun", r"^\[(?:rank|default)(?P<key>\d+)\]: ?", rare=True),
    Peeler("skypilot", r"^\((?P<key>[A-Za-z][A-Za-z0-9_.-]*(?:, rank=[0-9]+)?, pid=[0-9]+[^()]*)\) ", rare=True),
    Peeler("router", r"^\[ *(?P<key>\d{2,5})\] ", whole=False),
    Peeler("mpirun", r"^\[(?P<key>\d+,\d+)\]<std(?:out|err)>: ?"),
    Peeler("srun", r"^(?P<key>\d{1,4}): "),
    Peeler("pdsh", r"^(?P<key>[a-z][a-z0-9.-]*\d(?:\.[a-z0-9.-]+)?): "),
)
WHOLE_SHARE = 0.2  # of the head's lines: a log is wrapped or it is not; half a screen of pasted text is neither


def _groupless(pattern: str) -> str:
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)


@lru_cache(maxsize=8)
def _any_of(active: frozenset[int]) -> str:
    """One pattern for whether a line wears anything; rare ones would slow it down in every log."""
    return "|".join(_groupless(PEELERS[i].pattern) for i in sorted(active))


_ANSI = r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[()][A-Z0-9]|\x1b[=>78]"
_BARE_ANSI = r"\[(?:\d{1,3};)*\d{1,3}m"


QUOTE = r"^(?:> ?)+"
_DOCKER_JSON = r'^\{"log": ?"'
_JOURNAL_JSON = r'^\{.*"MESSAGE" ?: ?"[^"]'


def is_quoted(head: str) -> bool:
    """The whole text is quoted, as in a mail or an issue. Decided once per source: a single `> ` belongs to somebody's prompt."""
    lines = [line for line in head[:65536].split("\n") if line.strip()]
    return bool(lines) and sum(line.startswith(">") for line in lines) > 0.5 * len(lines)


def strip_colours(lines: pl.Series, text: str) -> pl.Series:
    """Lines without ANSI sequences, also without those that lost their escape character on the way into an issue."""
    if "\x1b" in text:
        lines = lines.str.replace_all(_ANSI, "")
    if "[0m" in text:
        lines = lines.str.replace_all(_BARE_ANSI, "")
    return lines


# The window of LM Studio prints the time on a line of its own, the entry below it and one blank in. It is the time of the first line of
# that entry and of no other: a prompt that quotes such a line must not date the rest of the log.
ENTRY = r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) +\[(?:DEBUG|INFO|WARN|ERROR)\]\s*$"


def strip_entries(lines: pl.Series, text: str, above: str = "") -> tuple[pl.Series, pl.Series | None]:
    """Lines without the blank that begins an entry below its time, and the times of these lines. `above` is the line before them."""
    before = re.match(ENTRY, above)
    if not before and "[DEBUG]" not in text and "[INFO]" not in text:
        return lines, None
    times = lines.str.extract(ENTRY).shift(1, fill_value=before[1] if before else None)
    below = times.is_not_null() & ~lines.str.contains(ENTRY)
    if not below.any():
        return lines, None
    return lines.str.replace("^ ", "").zip_with(below, lines), times.set(~below, None)


def unwrap_json(lines: pl.Series, text: str) -> tuple[pl.Series, pl.Series | None, pl.Series | None]:
    """Records of Docker's json-file driver and of `journalctl -o json`: the lines, their times, and which of them were cut."""
    import polars as pl

    if '"log":' not in text and '"MESSAGE"' not in text:
        return lines, None, None
    docker, journal = lines.str.contains(_DOCKER_JSON), lines.str.contains(_JOURNAL_JSON)
    if not docker.any() and not journal.any():
        return lines, None, None
    line = pl.col("line")
    frame = pl.DataFrame({"line": lines, "docker": docker, "journal": journal}).with_columns(
        log=pl.when("docker").then(line).str.json_path_match("$.log"),
        message=pl.when("journal").then(line).str.json_path_match("$.MESSAGE"),
        who=pl.format(
            "{}[{}]: ", *(pl.when("journal").then(line).str.json_path_match(f"$.{key}") for key in ("SYSLOG_IDENTIFIER", "_PID"))
        ),
        printed=pl.when("docker").then(line).str.extract(rf'"time": ?"({_RFC3339})"\}}?\s*$'),
        micros=pl.when("journal").then(line).str.extract(r'"__REALTIME_TIMESTAMP" ?: ?"(\d{16})"').cast(pl.Int64),
    )
    frame = frame.with_columns(
        body=pl.coalesce(pl.col("log").str.strip_chars_end("\r\n"), pl.concat_str("who", "message"), "message", "line"),
        outer=pl.coalesce("printed", pl.from_epoch("micros", time_unit="us").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")),
        cut=(~pl.col("log").str.ends_with("\n")).fill_null(False),
    )
    return frame["body"], frame["outer"], frame["cut"]


def active_peelers(head: str) -> frozenset[int]:
    """Which wrappers count in this source. One that wraps files and is seen on a few lines only belongs to somebody's prompt."""
    import polars as pl

    # what is set in, and the ends of JSON, go on from a line above: a request body must not hide that its log is wrapped
    lines = [line for line in head.split("\n") if line.strip() and line[0] not in " \t{}]"]
    share = sum(map(bool, map(_any_whole().match, lines))) / max(1, len(lines))
    off = {i for i, p in enumerate(PEELERS) if p.whole and not p.rare} if 0 < share < WHOLE_SHARE else set()
    some = lines[:: max(1, len(lines) // 20)]
    worn = 4 * sum(map(bool, map(_any_rare().match, some))) >= len(some)
    said = pl.Series(lines, dtype=pl.String) if worn else None
    words = {i for i, p in enumerate(PEELERS) if p.rare and (said is None or not _is_worn(said, p))}
    return frozenset(set(range(len(PEELERS))) - off - words)


# Compiled once: polars would compile them again for every file, which takes longer than the head of one.


@cache
def _any_whole() -> re.Pattern[str]:
    """Any of the prefixes that wrap a whole file."""
    return re.compile("|".join([*(_groupless(p.pattern) for p in PEELERS if p.whole and not p.rare), ENTRY]))


@cache
def _any_rare() -> re.Pattern[str]:
    """Any of the prefixes that count only where half of the lines wear them."""
    return re.compile("|".join(_groupless(p.pattern) for p in PEELERS if p.rare))


def _is_worn(lines: pl.Series, peeler: Peeler) -> bool:
    """Half of the lines wear the prefix, and few different names stand in it: other words only happen to have its shape."""
    worn = lines.filter(lines.str.contains(peeler.pattern))
    if len(worn) < 2 or len(worn) < 0.5 * len(lines):
        return False
    return not peeler.has("key") or worn.str.extract(peeler.pattern, 2 if peeler.kind else 1).n_unique() <= 0.5 * len(worn)


def peel(frame: pl.DataFrame, active: frozenset[int] = frozenset(range(len(PEELERS)))) -> pl.DataFrame:
    """`text` without wrappers; adds `raw` (before the first prefix with a time), `outer_raw`, `outer_peeler` and `stream`.

    `frame` has `text` and may already have `outer_raw` (from records in JSON or CSV, or, where it also has `of_window`, from the line above in
    the window of LM Studio).
    """
    import polars as pl

    if "outer_raw" not in frame.columns:
        frame = frame.with_columns(outer_raw=pl.lit(None, pl.String))
    if "of_window" not in frame.columns:
        frame = frame.with_columns(of_window=pl.lit(False))
    given, names = pl.col("outer_raw"), ("docker or kubectl time", "docker interface time", "lm studio")
    docker, local, window = (pl.lit(_BY_NAME[name], pl.Int8) for name in names)
    if _BY_NAME["lm studio"] not in active:
        frame = frame.with_columns(outer_raw=pl.when(~pl.col("of_window")).then(given), of_window=pl.lit(False))
    frame = frame.with_columns(
        raw=pl.lit(None, pl.String),
        stream=pl.lit(""),
        # the time of a record: in UTC where it says so
        outer_peeler=pl.when("of_window")
        .then(window)
        .when(given.str.contains(rf"^{_RFC3339}$"))
        .then(docker)
        .when(given.is_not_null())
        .then(local),
    )
    for _ in range(ROUNDS):
        gate = frame["text"].str.contains(_any_of(active))
        if not gate.any():
            break
        frame = _peel_once(frame, gate, active)
    return frame.drop("of_window").with_columns(raw=pl.coalesce("raw", "text"))


def _peel_once(frame: pl.DataFrame, gate: pl.Series, active: frozenset[int]) -> pl.DataFrame:
    """One round: each peeler in order over the lines that wear any of them."""
    import polars as pl

    for number, peeler in enumerate(PEELERS):
        if number not in active:
            continue
        hit = gate & frame["text"].str.contains(peeler.pattern)
        if peeler.kind:
            hit = hit & frame["outer_raw"].is_null()  # one outer time per line: a second one is the program's own
        if not hit.any():
            continue
        text, changes = pl.col("text"), []
        if peeler.kind:
            changes.append(pl.when(hit).then(text.str.extract(peeler.pattern, 1)).otherwise("outer_raw").alias("outer_raw"))
            changes.append(pl.when(hit).then(pl.lit(number, pl.Int8)).otherwise("outer_peeler").alias("outer_peeler"))
            changes.append(pl.when(hit).then(text).otherwise("raw").alias("raw"))
        if peeler.has("key"):
            key = text.str.extract(peeler.pattern, 2 if peeler.kind else 1)
            changes.append(pl.when(hit).then(pl.concat_str("stream", key, separator="/")).otherwise("stream").alias("stream"))
        frame = frame.with_columns(*changes, pl.when(hit).then(text.str.replace(peeler.pattern, "")).otherwise(text).alias("text"))
    return frame


_BY_NAME = {p.name: i for i, p in enumerate(PEELERS)}


def outer_times(frame: pl.DataFrame) -> pl.DataFrame:
    """`outer_t` in seconds, `outer_kind` (a clock kind) and `outer_res` from `outer_raw`; rows without stay NULL."""
    import polars as pl

    empty = {"outer_t": pl.Float64, "outer_kind": pl.String, "outer_res": pl.Float64}
    if not frame["outer_raw"].is_not_null().any():
        return frame.with_columns(*(pl.lit(None, kind).alias(name) for name, kind in empty.items()))
    t, kind = pl.lit(None, pl.Float64), pl.lit(None, pl.String)
    for parse in {p.parse for p in PEELERS if p.kind}:
        seconds, _ = read_time(frame["outer_raw"], parse)
        these = [i for i, p in enumerate(PEELERS) if p.kind and p.parse == parse]
        t = pl.when(pl.col("outer_peeler").is_in(these)).then(seconds).otherwise(t)
    for number, peeler in enumerate(PEELERS):
        if peeler.kind:
            kind = pl.when(pl.col("outer_peeler") == number).then(pl.lit(peeler.kind)).otherwise(kind)
    digits = pl.col("outer_raw").str.extract(r":\d\d[.,](\d+)|^\d{10}\.(\d+)").str.len_bytes().clip(0, 6).fill_null(0).cast(pl.Int32)
    return frame.with_columns(outer_t=t, outer_kind=kind, outer_res=pl.lit(10.0).pow(-digits))


def read_time(text: pl.Series, parse: str) -> tuple[pl.Series, pl.Series]:
    """Printed times as seconds (NULL where they do not parse), and whether each carried its own zone.

    `parse`: see `line_format.Stamp`. Without a zone the wall clock is read as UTC; without a year in 1972.
    """
    import polars as pl

    frame = pl.DataFrame({"text": text.cast(pl.String)})
    none = pl.lit(False)
    if parse == "m.s.ms.us":
        g = pl.col("text").str.extract_groups(r"^(\d{1,9})\.(\d\d)\.(\d{3})\.(\d{3})$")
        parts = [g.struct.field(str(i + 1)).cast(pl.Float64, strict=False) for i in range(4)]
        seconds, zone = parts[0] * 60 + parts[1] + (parts[2] * 1000 + parts[3]) / 1e6, none
    elif parse == "unix":
        seconds, zone = pl.col("text").str.extract(r"^(\d{9,10}(?:\.\d+)?)$").cast(pl.Float64, strict=False), pl.lit(True)
    elif parse == "clock":
        g = pl.col("text").str.extract_groups(r"^(\d\d):(\d\d):(\d\d(?:[.,-]\d+)?)$")
        h, m, s = (g.struct.field(str(i + 1)).str.replace("[,-]", ".").cast(pl.Float64, strict=False) for i in range(3))
        seconds, zone = h * 3600 + m * 60 + s, none
    else:
        seconds, zone = _calendar(parse)
    out = frame.select(s=seconds, z=pl.lit(False) if zone is none else zone)
    return out["s"], out["z"]


_CALENDAR = {
    "iso": (r"^(\d{4}-\d\d-\d\d)[T _](\d\d:\d\d:\d\d)(?:[.,](\d+))?\s?(Z|UTC|[+-]\d\d:?\d\d)?$", "%Y-%m-%d", ""),
    "slash": (r"^(\d{4}/\d\d/\d\d)(?: |\s+-\s+)(\d\d:\d\d:\d\d)(?:[.,](\d+))?()$", "%Y/%m/%d", ""),
    "us-slash": (r"^(\d\d/\d\d/\d{4})[- ](\d\d:\d\d:\d\d)(?:[.,](\d+))?()$", "%m/%d/%Y", ""),
    "month-day": (r"^(\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d+))?()$", "%Y-%m-%d", "1972-"),
    "month-name": (r"^(.{1,10} [ \d]\d) (\d\d:\d\d:\d\d)(?:[.,](\d+))?()$", "%Y %m %d", "1972 "),
}
# Months by their first letters, in the languages where these letters mean one month everywhere. A name that is not here is no time: the
# Slavic ones contradict each other (`lip` is July in Polish, June in Croatian).
_MONTHS = {
    1: "jan|janv|ene|gen|янв|1月|1월",
    2: "feb|fev|fév|févr|фев|2月|2월",
    3: "mar|mars|mär|märz|mrt|març|мар|мрт|3月|3월",
    4: "apr|avr|abr|апр|4月|4월",
    5: "may|mai|maj|mei|mag|maig|май|мая|5月|5월",
    6: "jun|juni|juin|giu|juny|июн|6月|6월",
    7: "jul|juli|juil|lug|июл|7月|7월",
    8: "aug|août|ago|авг|8月|8월",
    9: "sep|sept|set|сен|9月|9월",
    10: "oct|okt|out|ott|окт|10月|10월",
    11: "nov|ноя|11月|11월",
    12: "dec|déc|dez|dic|des|дек|12月|12월",
}
_MONTH_OF = {name: f"{number:02d}" for number, names in _MONTHS.items() for name in names.split("|")}


def _calendar(parse: str) -> tuple[pl.Expr, pl.Expr]:
    """Date and time of day with an optional fraction and zone."""
    import polars as pl

    pattern, layout, year = _CALENDAR[parse]
    g = pl.col("text").str.extract_groups(pattern)
    date, clock, fraction, zone = (g.struct.field(str(i + 1)) for i in range(4))
    if parse == "month-name":
        name = date.str.replace(r"^d(?:e |['’])", "").str.to_lowercase().str.extract(r"^([^\s.]+)\.? ")
        date = pl.concat_str(name.replace_strict(_MONTH_OF, default=None, return_dtype=pl.String), date.str.slice(-3))
    day = pl.concat_str(pl.lit(year), date.str.replace("  ", " 0", literal=True), pl.lit(" "), clock)
    whole = day.str.to_datetime(f"{layout} %H:%M:%S", strict=False, exact=True).dt.epoch("s")
    part = pl.concat_str(pl.lit("0."), fraction.fill_null("0")).cast(pl.Float64, strict=False)
    east = zone.str.extract_groups(r"^([+-])(\d\d):?(\d\d)$")
    sign = pl.when(east.struct.field("1") == "-").then(-1).otherwise(1)
    shift = (east.struct.field("2").cast(pl.Int64, strict=False) * 3600 + east.struct.field("3").cast(pl.Int64, strict=False) * 60) * sign
    return whole - shift.fill_null(0) + part, (zone.str.len_bytes() > 0).fill_null(False)
