"""Columns found by meaning: what a hand-written header names, and what a hand-written cell says.

A header becomes a `Meaning` (role, statistic, unit, what it counts); a cell becomes a `Token` (digits, unit, why not); the digits of
one column are read with one decimal sign, decided from the column and, where it says nothing, from its table. Words that leave
the scope of a token rate open give the role `tok`: `scope_by_shape` decides it from the numbers or leaves it open.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

LATENCIES = ("ttft", "tpot", "itl", "e2e")
TOKEN_RATES = ("aggregate", "per_stream", "tok")
MEASURED = (*TOKEN_RATES, *LATENCIES, "wall", "req_s")


@dataclass(frozen=True)
class Meaning:
    """What a header says.

    role    concurrency, rate, rps (a rate or a result), aggregate, per_stream, tok (a token rate of open scope), throughput (of
            what is open), prefill, ttft, tpot, itl, e2e, wall, time (of what is open), req_s, requests, completed, failed,
            input_tokens, output_tokens, out_tokens (of one request or of all is open), input_len, output_len, accept_len,
            mean_concurrency, key (a configuration) or "" (unknown: a setting or a remark).
    stat    mean, p50, p99, other, or "" where the header names none.
    unit    s, ms, us, min, tok/s, req/s or "".
    counts  output, total, total? (streams or tokens), decode or "".
    rank    how sure a concurrency word is: 4 unmistakable .. 1 a letter or a batch.
    rest    what remains once known words are taken out: the name of a system, where two share a table.
    offered the concurrency inside the header itself ("4-conc agg").
    """

    role: str
    stat: str = ""
    unit: str = ""
    counts: str = ""
    rank: int = 0
    weak: bool = False
    decode: bool = False
    rest: str = ""
    offered: int | None = None


def _rx(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_PER = r"(?:/|\bper\b|\bpro\b|\bpar\b)"
_SECOND = r"(?:s|secs?|seconds?|secondes?|sek|sekunden?)\b"
_ONE = (
    r"(?:streams?|req(?:uest)?s?|users?|slots?|clients?|seq(?:uence)?s?|sessions?|conn(?:ection)?s?|calls?|nutzer|benutzer|anfrage|"
    r"utilisateur|requête|flux)\b"
)
TOK_S = _rx(rf"\b(?:tok(?:en)?s?|tkn?s?|jetons?|t) ?{_PER} ?{_SECOND}|\btok(?:en)?s?[ _]{_SECOND}|\btps\b|\btokps\b")
REQ_S = _rx(rf"\b(?:req(?:uest)?s?|quer(?:y|ies)|anfragen|requêtes) ?{_PER} ?{_SECOND}|\breq[ _]s\b|\brps\b|\bqps\b")
PER_ONE = _rx(
    rf"{_PER} ?{_ONE}|\bsingle\b|\beach\b|\bindividual\b|\bper$|\b(?:tput|throughput|tps) user\b|\buser (?:tput|throughput|tps)\b|"
    rf"^(?:stream|user|slot|client|request) (?=tok|t/s|tps|speed)"
)
ALL = _rx(
    r"\b(?:aggregated?|agg|total|system|overall|combined|sum|cluster|gesamt\w*|insgesamt|agrégée?|totale?|all (?:streams|users|slots))\b"
)
DECODE = _rx(r"\b(?:decode|decoding|tg|tpot|itl|eval|token generation|inter token)\b")
OUTPUT = _rx(r"\b(?:output|out|generated|generation|gen|decode|decoding|tg|completion|eval|ausgabe|sortie)\b")
BOTH = _rx(
    r"(?:prompt|input|in|prefill|pp) ?(?:\+|&|and) ?(?:output|out|gen\w*|decode|completion|tg)|incl\w* prompt|"
    r"\ball tokens\b|total token throughput"
)
PREFILL = _rx(r"\b(?:prefill|prompt|pp|input|in|ingest\w*)\b")
THROUGHPUT = _rx(r"\b(?:throughput|tput|thruput|durchsatz|débit|tps)\b")
SPEED = _rx(r"\b(?:speed|tg|decode|geschwindigkeit|vitesse)\b")
NOT_A_MEASURE = _rx(
    r"speed ?up|scaling|efficien|\bratio\b|\bgain\b|improve|\bdelta\b|δ|\brelative\b|\bvs\b|\bcost\b|\$|€|%|\bwatts?\b|power|energy|"
    r"\bjoules?\b|\bvram\b|\bmem\w*\b|\b[gm]i?b(?:/s)?\b|\bhit\b|\butil\w*\b|\bcpu\b|queue|queued|wait\w*|network|"
    rf"{_PER} ?(?:gpu|card|device|node|w|j|dollar|replica|instance)s?\b"
)
_STATS = (
    (
        "other",
        r"\bp ?(?:99[.,]9|999|9[0-8]|[1-46-8]\d|5[1-9]|[1-9])\b(?![.,]?\d)|\b(?:9[0-8]|[1-8][1-9]|[1346-8]0)(?:th|%)|"
        r"\bmax\b|\bpeak\b|\bstd\w*\b|\bst\.? ?dev\b|\bcv\b|\bvar\w*\b|\bdev\b|\bbest\b|\bworst\b|\bspread\b|σ",
    ),
    ("p99", r"\bp ?99\b|\b99(?:th|%)"),
    ("p50", r"\bmedian\w*\b|\bmédian\w*\b|\bp ?50\b|\b50(?:th|%)"),
    ("mean", r"\bmean\b|\bavg\b|\baverage\b|\bmoy\w*\b|\bmittel\w*\b|\bdurchschn\w*|ø"),
)
STATS = tuple((name, _rx(pattern)) for name, pattern in _STATS)
_TIME_UNIT = r"(ms|msecs?|milliseconds?|millisekunden|us|µs|μs|s|secs?|seconds?|secondes?|sek|sekunden|mins?|minutes?|minuten)"
HEADER_UNIT = _rx(
    rf"[(\[] ?(?:in )?{_TIME_UNIT}(?: ?{_PER} ?(?:tok\w*|req\w*))? ?[)\]]|(?:[ ,/]| in ){_TIME_UNIT}\.?$|"
    rf"\b{_TIME_UNIT} ?{_PER} ?tok|(?<!\d )\b(ms|msec|sec|seconds)\b|\b(s) (?:p\d\d|mean|avg|median)"
)
_UNITS = {"ms": "ms", "mi": "min", "us": "us", "µs": "us", "μs": "us", "s": "s", "se": "s"}
_MANY = r"(?:requests?|reqs?|users?|streams?|clients?|connections?|sessions?|calls?|seq(?:uence)?s?|prompts?|jobs?|slots?)"
_NUM = r"(?:num(?:ber)?(?: of)?|no\.?(?: of)?|n|max(?:imum)?|request|client|offered|target|anzahl|nombre de|nb(?: de)?|active)"
LOADS = (
    (
        4,
        _rx(
            rf"(?:{_NUM} )*(?:concurrency|conc|concurrent|concurrencies|con)(?: level| limit)?(?: {_MANY})?|"
            rf"(?:{_NUM} )*(?:simultaneous|parallel) {_MANY}|"
            rf"{_MANY} in flight|in ?flight(?: {_MANY})?|outstanding {_MANY}|(?:{_NUM} )*(?:gleichzeitige?|"
            rf"parallele) (?:nutzer|anfragen|benutzer|streams)|"
            r"(?:requêtes|utilisateurs) (?:simultanées?|simultanés|parallèles|concurrente?s)|gleichzeitigkeit|parallelität|concurrence"
        ),
    ),
    (
        3,
        _rx(
            rf"(?:{_NUM} )*(?:streams?|(?:virtual )?users?|clients?|vus?|sessions?|connections?|nutzer|benutzer|"
            rf"utilisateurs|usuarios)(?: count)?|(?:stream|user|client)s? count"
        ),
    ),
    (2, _rx(rf"(?:{_NUM} )*(?:parallel(?:ism)?|slots|np|npl)")),
    (1, _rx(r"c|n|b|bs|(?:concurrent )?batch(?: ?size)?|batchsize|threads|workers")),
)
RATE = _rx(r"(?:request|req|arrival|offered|target|input|offered request)s? rate|(?:target|offered|input) (?:rps|qps|load)|anfragerate")
ROLES = (
    ("mean_concurrency", r"(?:mean|avg|average|actual|measured|effective|achieved) (?:conc\w*|in flight)"),
    ("ttft", r"\bttft\w*\b|time to first|\bfirst token\b|\bttfb\b"),
    (
        "tpot",
        r"\btpot\w*\b|time per (?:output )?token|\b(?:ms|s|us) ?(?:/|per) ?tok|per (?:output )?token latency|"
        r"latency per (?:output )?token",
    ),
    ("itl", r"\bitl\b|inter ?token|\btbt\b|time between tokens"),
    ("e2e", r"\be2e\w*\b|end to end|\blatency\b|\blatenz\b|\blatence\b|response time|request time|antwortzeit|temps de réponse"),
    (
        "wall",
        r"\bwall\b|\bwallclock\b|\bduration\b|\belapsed\b|\btotal time\b|\brun ?time\b|\bmakespan\b|\bdauer\b|"
        r"\blaufzeit\b|\bdurée\b|gesamtzeit|temps total",
    ),
    ("accept_len", r"accept\w* (?:len\w*)|\bacc len\w*|mean accepted|accepted len\w*"),
)
TIMES = tuple((name, _rx(pattern)) for name, pattern in ROLES)
COUNTED = (
    ("completed", r"(?:num |n )?(?:completed|successful|succeeded|success|successes|ok)(?: requests| reqs)?|erfolgreich\w*|réussies"),
    ("failed", r"(?:num |n )?(?:failed|failures?|errors?|errs?)(?: requests| reqs)?|fehler|échecs"),
    ("requests", r"(?:num(?:ber)?(?: of)? |n |no of |total |# ?)*(?:requests?|reqs?|prompts|anfragen|requêtes)(?: sent| total)?"),
    (
        "input_len",
        r"isl|(?:avg |mean )?(?:input|prompt|in)(?: seq(?:uence)?)? ?len(?:gth)?|prompt size|(?:avg|mean) (?:input|"
        r"prompt) tok(?:en)?s|(?:input|prompt) tok(?:en)?s ?(?:/|per) ?req(?:uest)?",
    ),
    (
        "output_len",
        r"osl|(?:avg |mean )?(?:output|gen|out)(?: seq(?:uence)?)? ?len(?:gth)?|(?:avg|mean) (?:output|generated|"
        r"completion) tok(?:en)?s|(?:output|generated|gen|completion) tok(?:en)?s ?(?:/|per) ?req(?:uest)?",
    ),
    ("input_tokens", r"(?:total|sum) (?:input|prompt) tok(?:en)?s?"),
    ("output_tokens", r"(?:total|sum) (?:output|generated|gen|completion) tok(?:en)?s?"),
    ("out_tokens", r"(?:output|generated|gen|completion) tok(?:en)?s"),
)
COUNTS = tuple((name, _rx(pattern)) for name, pattern in COUNTED)
KEY = _rx(
    r"(?:config\w*|model|engine|variant|setup|system|backend|quant\w*|prompt(?: type)?|context|ctx|ctx (?:len\w*|"
    r"size)|context (?:len\w*|size)|name|mode|"
    r"gpus?|hardware|server|framework|method|workload|dataset|series|run|scenario|tool|profile|case|konfiguration|"
    r"modell|modèle|mtp|spec\w*|draft\w*|tp)"
)
_WORDS = r"(?:concurrency|concurrent|conc|streams?|users?|clients?|parallel|slots?|sessions?|vus?)"
IN_HEADER = _rx(
    rf"(?:^|[\s(@])(?:{_WORDS}|c|n|bs?|np)\s?[=:@ ]\s?(?P<a>\d+)\b|(?:^|[\s(@])(?:c|n|conc)(?P<b>\d+)\b|(?:^|"
    rf"[\s(@x×])(?P<c>\d+)[\s-]?x?[\s-]?{_WORDS}\b|(?:@|@ )(?P<d>\d+)\b"
)
_BAD_ALONE = _rx(r"\b(?:ctx|context|kv|mem\w*|cache|tok(?:en)?s|len\w*|budget|time|latency|size|layers?|weights?|count)\b")


def plain(text: str) -> str:
    """Text without Markdown and HTML dress, underscores opened to blanks; letters keep their case."""
    text = re.sub(r"<[^<>]{0,40}>", " ", text)
    text = re.sub(r"\[([^\[\]]{0,80})\]\([^()]{0,200}\)", r"\1", text)
    text = re.sub(r"\[\^?\w{1,3}\]", " ", text) if re.search(r"\[\^?\d{1,2}\]", text) else text
    text = text.replace("\\|", "|").replace("\\_", "_")
    text = "".join(ch for ch in text if ch not in "*`~" and unicodedata.category(ch) not in ("So", "Cf", "Mn", "Co", "No", "Sk"))
    return re.sub(r"[\s_]+", " ", text).strip(" \"'")


def _first(table: Iterable[tuple[str, re.Pattern[str]]], text: str, whole: bool = False) -> str:
    return next((name for name, rx in table if (rx.fullmatch(text) if whole else rx.search(text))), "")


def _time_unit(text: str) -> str:
    found = HEADER_UNIT.search(text)
    word = next((g for g in found.groups() if g), "") if found else ""
    return "s" if word == "s" else _UNITS.get(word[:2], "")


def _rest(text: str) -> str:
    """The name of a system inside a header: what no known word explains. A parenthesis that holds only known words goes too."""
    out = re.sub(r"(?i)\bper-|-(?=agg|tok|tps)", lambda m: m[0].replace("-", " "), plain(text))
    for rx in (TOK_S, REQ_S, PER_ONE, ALL, DECODE, OUTPUT, THROUGHPUT, SPEED, HEADER_UNIT, *(r for _, r in STATS), *(r for _, r in TIMES)):
        out = re.sub(rx.pattern, " ", out, flags=re.IGNORECASE)
    out = re.sub(r"(?i)\b(?:tok(?:en)?s?|rate|req(?:uest)?s?|times?|count)\b", " ", out)
    out = re.sub(r"(?:^|\s)[×x]\s?N\b|\([\s,/]*\)|\[\s*\]|[×@]", " ", out)
    return re.sub(r"\s+", " ", out).strip(" -–—:,;/|") if re.search(r"\w", out) else ""


def load_rank(text: str) -> int:
    """4..1 where a lower-case header names the offered concurrency, else 0."""
    bare = re.sub(r"\s*[(\[][^)\]]*[)\]]", "", text).strip(" #=:.?")
    inside = re.search(r"[(\[]([^)\]]*)[)\]]", text)
    rank = next((rank for rank, rx in LOADS if rx.fullmatch(bare)), 0)
    if rank <= 1 and inside and (rank or bare == ""):
        rank = max(rank, next((r for r, rx in LOADS if rx.fullmatch(inside.group(1).strip())), 0))
    return rank


@lru_cache(maxsize=4096)
def meaning(header: str) -> Meaning:
    """What a header names. Unknown headers have the role "": they are settings or remarks, never measurements."""
    shown = plain(header)[:200]
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", shown).lower().replace("-", " ").replace("–", " ")
    text = re.sub(r"\s+", " ", text).strip()
    counted = text.replace("#", "num ").replace("  ", " ")
    rank = load_rank(counted)
    if rank:
        return Meaning("concurrency", rank=rank)
    stats = [name for name, rx in STATS if rx.search(text)]
    stat = stats[0] if len(stats) == 1 else "other" if stats else ""
    if not stat and re.search(r"\bmin(?:imum)?\b", text) and "min)" not in text:
        stat = "other"
    bare = re.sub(r"\s*[(\[][^)\]]*[)\]]", "", counted).strip(" :.?")
    if RATE.fullmatch(bare) or (bare == "rate" and REQ_S.search(text)):
        return Meaning("rate", unit="req/s")
    if bare in ("rps", "qps"):
        return Meaning("rps", unit="req/s")
    if _first(TIMES[:1], text):
        return Meaning("mean_concurrency", stat="mean")
    if NOT_A_MEASURE.search(text):
        return Meaning("key" if KEY.fullmatch(bare) else "")
    return _measure(header, text, bare, stat) or _counted(bare, text) or Meaning("key" if KEY.fullmatch(bare) else "", rest=shown)


def _measure(header: str, text: str, bare: str, stat: str) -> Meaning | None:
    """Times and rates, else None."""
    rest = _rest(header)
    tok = bool(TOK_S.search(text))
    role = _first(TIMES, text)
    if role and not tok:
        if re.search(r"\b(?:prefill|decode|prompt|load|warm ?up|compile)\b", text) and role in ("e2e", "wall"):
            return Meaning("")
        return Meaning(role, stat=stat, unit=_time_unit(text), rest=rest)
    if not tok and bare in ("time", "zeit", "temps"):
        return Meaning("time", unit=_time_unit(text))
    if REQ_S.search(text) or re.search(r"\breq(?:uest)?s? (?:throughput|tput)", text):
        return None if tok else Meaning("req_s", stat=stat, unit="req/s", rest=rest)
    return _token_rate(text, stat, tok, rest)


def _token_rate(text: str, stat: str, tok: bool, rest: str) -> Meaning | None:
    """A token rate and its scope; `tok` where no word gives the scope."""
    each, whole = PER_ONE.search(text), ALL.search(text)
    decode = bool(DECODE.search(text)) and "prompt eval" not in text
    if re.search(r"\w/s\b|\bper s(?:ec\w*)?\b", text) and not tok:
        return None  # images/s, MB/s, steps/s
    if not tok and re.search(rf"tok\w* ?{_PER} ?{_ONE}", text):
        return None
    if not (tok or each or whole or decode or THROUGHPUT.search(text) or SPEED.search(text)):
        return None
    if not tok and (_BAD_ALONE.search(text) or (whole and not re.search(r"\bagg|throughput|tput", text) and not decode)):
        return None
    both = bool(BOTH.search(text))
    if PREFILL.search(text) and not both and not (OUTPUT.search(text) and not re.search(r"prompt|prefill", text)):
        return Meaning("prefill", stat=stat, rest=rest)
    output = bool(OUTPUT.search(text)) and not both
    counts = "total" if both else "output" if output else "total?" if re.search(r"\btotal tok", text) else ""
    unit = "tok/s" if tok or re.search(r"\btg\b", text) else ""
    if each:
        return Meaning("per_stream", stat=stat, unit=unit, decode=decode, rest=rest)
    if whole:
        return Meaning("aggregate", stat=stat, unit=unit, counts=counts, decode=decode, rest=rest)
    if THROUGHPUT.search(text) or (unit and not decode and re.search(r"\bout(?:put)?\b", text)):
        return Meaning("aggregate" if unit else "throughput", stat=stat, unit=unit, counts=counts, weak=True, decode=decode, rest=rest)
    return Meaning("tok", stat=stat, unit=unit, counts=counts, decode=decode, rest=rest) if unit or decode else None


def _counted(bare: str, text: str) -> Meaning | None:
    role = _first(COUNTS, bare, whole=True)
    return Meaning(role) if role and "%" not in text and "rate" not in text else None


def embedded(header: str) -> tuple[int | None, str]:
    """The concurrency a header carries itself and the header without it: "4-conc per-req" -> (4, "per-req")."""
    text = plain(header)
    found = IN_HEADER.search(text.lower())
    if not found:
        return (1, re.sub(r"(?i)^single\b", "", text).strip(" -")) if re.match(r"(?i)single\b", text) else (None, text)
    number = next(g for g in found.groups() if g)
    rest = (text[: found.start()] + " " + text[found.end() :]).strip(" -:,()@")
    return (int(number) if len(number) <= 6 and int(number) > 0 else None), re.sub(r"\s+", " ", rest)


# --- cells -------------------------------------------------------------------------------------------------------------------------

_BLANKS = " \u00a0\u2009\u202f"
_MISSING = re.compile(
    r"(?i)[-–—−.?…/ ]*|n\.? ?/? ?[ad]\.?|nan|none|null|nil|tbd|x|not .{0,20}|did not .{0,20}|dnf|(?:oom|out of mem|"
    r"fail|err|crash|time ?out|skip|inf\b|∞).{0,30}"
)
_NUMBER = re.compile(
    rf"(?P<n>\d{{1,3}}(?:[{_BLANKS}'’_]\d{{3}})+(?:[.,]\d+)?(?![\d.,])|\d[\d.,]*\d|\d|"
    rf"[.,]\d+)(?P<e>[eE][+-]?\d{{1,2}}(?!\d))?\s*(?P<u>.*)"
)
_RANGE = re.compile(r"\d[\d.,]*\s*\w{0,3}\s*(?:-|–|—|−|\bto\b|\bbis\b|\bà\b|\.\.+|…)\s*\d")
_LONG = re.compile(r"(?:(\d+) ?h(?:ours?|rs?)?)? ?(?:(\d+) ?m(?:ins?|inutes?)?)? ?(?:(\d+(?:[.,]\d+)?) ?s(?:ecs?|econds?)?)?")
_CELL_UNITS = {
    "s": ("s", "sec", "secs", "second", "seconds", "sek", "sekunden", "secondes"),
    "ms": ("ms", "msec", "millis", "milliseconds"),
    "us": ("us", "µs", "μs"),
    "min": ("min", "mins", "minutes", "minuten"),
    "x": ("x", "×"),
    "%": ("%", "percent"),
    "k": ("k",),
    "n": (
        *("stream", "streams", "user", "users", "client", "clients", "concurrent", "conc", "slot", "slots", "parallel", "vus", "nutzer"),
        *("req", "reqs", "requests", "request", "tok", "tokens", "token", "utilisateurs"),
        *("concurrent streams", "concurrent requests", "concurrent users"),
    ),
}
_UNIT_OF = {word: unit for unit, words in _CELL_UNITS.items() for word in words}


@dataclass(frozen=True)
class Token:
    """The digits of a cell before their separators are understood.

    why: "" a number; missing (nothing was measured), bound, range, ratio, percent, fraction (no plain number); unreadable.
    """

    digits: str = ""
    unit: str = ""
    why: str = ""
    exponent: int = 0
    value: float | None = None  # of a duration such as 1m22s


def _strip(cell: str) -> str:
    text = re.sub(r"<sup>.{0,8}?</sup>|\[\^?\w{1,3}\]|\^\w$|<[^<>]{0,40}>", "", cell.replace("\\", ""))
    text = "".join(ch for ch in text if unicodedata.category(ch) not in ("So", "Cf", "Mn", "Co", "No", "Sk") or ch == "^")
    text = text.strip().strip("*_`\"' \t†‡§").strip()
    return re.sub(r"^(?:[~≈∼≃]|ca\.? |approx\.? |about )\s*|\s*[~≈]$", "", text).replace("*", "").strip()


@lru_cache(maxsize=16384)
def token(cell: str) -> Token:
    """The number in a cell, or why there is none. `±` spreads, footnotes, emphasis and remarks in brackets are set aside."""
    if len(cell) > 120:
        return Token(why="unreadable")
    text = re.split(r"\s*(?:±|\+/-|\+-)", _strip(cell))[0].strip()
    text = re.sub(r"^(?:[a-z]{1,11} ?=|[x×]) ?(?=\d)", "", text, flags=re.IGNORECASE)
    if _MISSING.fullmatch(text):
        return Token(why="missing")
    if text[0] in "<>≥≤":
        return Token(why="bound")
    if re.fullmatch(r"\d+ ?/ ?\d+", text):
        return Token(text.replace(" ", ""), why="fraction")
    if _RANGE.match(text) and not re.match(rf"\d{{1,3}}(?:[{_BLANKS}]\d{{3}})+$", text):
        return Token(why="range")
    long = _LONG.fullmatch(text)
    if long and sum(g is not None for g in long.groups()) >= 2:
        hours, minutes, seconds = (float((g or "0").replace(",", ".")) for g in long.groups())
        return Token(text, "s", value=hours * 3600 + minutes * 60 + seconds)
    return _number(text)


def _number(text: str) -> Token:
    found = _NUMBER.fullmatch(text.lstrip("+"))
    if not found:
        return Token(why="unreadable")
    tail = re.sub(r"\s*(?:[(\[←<⬅!†‡§#→].*)$", "", found["u"]).strip().lower()
    digits = re.sub(rf"[{_BLANKS}'’_]", "", found["n"])
    power = int(found["e"][1:]) if found["e"] else 0
    unit = _UNIT_OF.get(tail, "")
    if not tail:
        return Token(digits, exponent=power)
    if unit == "k" or (tail[0] == "k" and TOK_S.fullmatch(tail[1:].strip())):
        return Token(digits, "tok/s" if tail[1:] else "", exponent=power + 3)
    if unit in ("x", "%"):
        return Token(digits, unit, why="ratio" if unit == "x" else "percent")
    if TOK_S.match(tail) and len(tail) < 24:
        return Token(digits, "tok/s", exponent=power)
    if REQ_S.fullmatch(tail):
        return Token(digits, "req/s", exponent=power)
    return Token(digits, unit, exponent=power) if unit else Token(why="unreadable")


def _evidence(digits: str) -> str:
    """ "." or "," where the digits show their decimal sign, "?." or "?," where one sign stands before exactly three, "" without a sign."""
    signs = [ch for ch in digits if ch in ".,"]
    if not signs:
        return ""
    if len(set(signs)) == 2:
        return signs[-1] if signs.count(signs[-1]) == 1 else "!"
    other = "," if signs[0] == "." else "."
    if len(signs) > 1:
        return other
    head, tail = digits.split(signs[0])
    plain_decimal = len(tail) != 3 or head in ("", "0") or len(head) > 3
    return signs[0] if plain_decimal else "?" + signs[0]


def decimal_sign(digits: Sequence[str], table: Sequence[str] = ()) -> str | None:
    """The decimal sign of a column; None where it cannot be told. `table` holds the digits of the whole table.

    A lone sign before exactly three digits decides nothing by itself. Then the rest of the table decides; else a comma groups
    thousands where plain whole numbers under 1000 stand beside it, and a point is decimal unless plain numbers of three digits do.
    """
    seen = [_evidence(d) for d in digits]
    sure = {s for s in seen if s in (".", ",", "!")}
    if sure:
        return sure.pop() if len(sure) == 1 and "!" not in sure else None
    open_ones = {s for s in seen if s}
    if not open_ones:
        return "."
    around = {s for s in map(_evidence, table) if s in (".", ",")}
    if len(around) == 1:
        return around.pop()
    whole = [d for d, s in zip(digits, seen) if not s]
    if around or len(open_ones) > 1:
        return None
    if open_ones == {"?,"}:
        return "." if whole else None
    return None if any(len(d) >= 3 for d in whole) else "."


def to_number(digits: str, sign: str, exponent: int = 0) -> tuple[float, float] | None:
    """(value, half a unit of its last printed place); None where the grouping does not fit the decimal sign."""
    group = "," if sign == "." else "."
    head, _, tail = digits.partition(sign)
    if group in tail or sign in tail or (group in head and not re.fullmatch(rf"\d{{1,3}}(?:\{group}\d{{3}})+", head)):
        return None
    try:
        return float(f"{head.replace(group, '') or '0'}.{tail or '0'}e{exponent}"), 0.5 * 10.0 ** (exponent - len(tail))
    except (ValueError, OverflowError):
        return None


# --- what a token rate covers ------------------------------------------------------------------------------------------------------


def scope_by_shape(runs: Sequence[Sequence[tuple[float, float]]], decode: bool) -> str:
    """aggregate, per_stream or "" for a token rate whose header is silent; `runs` are the (concurrency, rate) of each series.

    One stream gets no faster by company: a rate that grows 1.3 times or more is that of all streams. A rate that falls to 0.6 or
    less while rate x streams never falls is taken for one stream, from three steps on (two where the header says decode).
    """
    verdicts = set()
    for run in runs:
        run = sorted(set(run))
        if len({c for c, _ in run}) < 2:
            continue
        rates = [v for _, v in run]
        if rates[-1] >= 1.3 * rates[0] and min(rates) >= 0.9 * rates[0]:
            verdicts.add("aggregate")
            continue
        falls = all(b <= 1.02 * a for a, b in pairwise(rates)) and rates[-1] <= 0.6 * rates[0]
        holds = all(c2 * b >= 0.98 * c1 * a for (c1, a), (c2, b) in pairwise(run))
        verdicts.add("per_stream" if falls and holds and len(run) >= (2 if decode else 3) else "")
    return verdicts.pop() if len(verdicts) == 1 else ""


# --- columns of one table --------------------------------------------------------------------------------------------------------

TARGETS = {
    **{(role, stat): f"{role}_{stat or 'mean'}_ms" for role in LATENCIES for stat in ("", "mean")},
    **{("ttft", s): f"ttft_{s}_ms" for s in ("p50", "p99")},
    **{("itl", s): f"itl_{s}_ms" for s in ("p50", "p99")},
    ("tpot", "p50"): "tpot_p50_ms",
    ("e2e", "p99"): "e2e_p99_ms",
    **{("wall", s): "wall_s" for s in ("", "mean")},
    **{("req_s", s): "req_s" for s in ("", "mean")},
    **{("aggregate", s): "aggregate_tok_s" for s in ("", "mean", "p50")},
    **{("per_stream", s): "per_stream_tok_s" for s in ("", "mean", "p50")},
    **{("with_prompts", s): "total_tok_s" for s in ("", "mean", "p50")},
}
TO_MS = {"s": 1000.0, "ms": 1.0, "us": 0.001, "min": 60000.0}
TO_S = {"s": 1.0, "ms": 0.001, "us": 1e-6, "min": 60.0}


@dataclass
class Column:
    """A column with its numbers: `values` in the unit printed, `halves` half a unit of the last place, `units` of the cells."""

    text: str
    means: Meaning
    cells: list[str]
    tokens: list[Token]
    values: list[float | None] = field(default_factory=list)
    halves: list[float] = field(default_factory=list)
    bad: list[int] = field(default_factory=list)

    @property
    def target(self) -> str:
        return TARGETS.get((self.means.role, self.means.stat), "")


def fill_numbers(column: Column, table: Sequence[str], positive: bool = True) -> str:
    """Fill `values`; the reason where the decimal sign of the column cannot be told."""
    plain_ones = [t.digits for t in column.tokens if t.digits and not t.why and t.value is None]
    sign = decimal_sign(plain_ones, table)
    for n, t in enumerate(column.tokens):
        pair = (t.value, 0.5) if t.value else to_number(t.digits, sign, t.exponent) if sign and t.digits and not t.why else None
        fits = pair is not None and (pair[0] > 0 or not positive)
        column.values.append(pair[0] if pair and fits else None)
        column.halves.append(pair[1] if pair and fits else 0.0)
        if t.why == "unreadable" or (t.digits and not t.why and pair is None and sign):
            column.bad.append(n)
    return "" if sign or not plain_ones else f"column {label(column)}: thousands or decimals?"


def label(column: Column) -> str:
    """A name for a column in our words: never the text of the file."""
    return " ".join(w for w in (column.means.role or "of a setting", column.means.stat) if w).replace("_", " ")


def _is_share(agg: Column, per: Column, streams: float, n: int) -> bool:
    """Row n: per-stream equals aggregate / streams within what rounding allows."""
    slack = per.halves[n] + agg.halves[n] / streams
    return abs((agg.values[n] or 0.0) / streams - (per.values[n] or 0.0)) <= 1.001 * slack + 1e-9


@dataclass
class System:
    """The measured columns of one system over all rows, on the way to steps. `offered` is NULL in a rate sweep."""

    offered: list[float | None] | None
    members: list[Column]
    columns: Sequence[Column]
    valid: Sequence[int]
    series: Sequence[str]
    evidence: bool
    reasons: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    scale: dict[int, float] = field(default_factory=dict)  # id of a time column -> factor for cells without a unit
    per_counts: str | None = None
    agg_counts: str | None = None

    def settle(self, rank: int) -> str | None:
        """Scopes, units and counts. The answer is None, or what was missing ("" where nothing speaks for a sweep): a weak concurrency
        word counts only beside a token rate or a token latency."""
        self.members = [replace(c) for c in self.members]
        self._tokens_or_not()
        self._scopes()
        self._units()
        self._counts()
        strong = [c for c in self.members if c.means.role in ("aggregate", "per_stream", "ttft", "tpot", "itl")]
        if rank > 1 or strong:
            return None
        return "; ".join(dict.fromkeys(self.reasons)) if self.evidence else ""

    def _of(self, role: str) -> Column | None:
        return next((c for c in self.members if c.means.role == role), None)

    def _drop(self, column: Column, why: str) -> None:
        self.members.remove(column)
        self.reasons.append(why)

    def _pairs(self, column: Column) -> list[tuple[float, float, int]]:
        """(concurrency, value, row) where both are known."""
        if self.offered is None:
            return []
        return [(c, v, n) for n in self.valid if (c := self.offered[n]) is not None and (v := column.values[n]) is not None]

    def _runs(self, column: Column) -> list[list[tuple[float, float]]]:
        by: dict[str, list[tuple[float, float]]] = {}
        for c, v, n in self._pairs(column):
            by.setdefault(self.series[n], []).append((c, v))
        return list(by.values())

    def _tokens_or_not(self) -> None:
        """A rate without a unit is one of tokens where the table speaks of tokens, or has both a rate of all streams and one of each."""
        both = all(any(c.means.role == r and not c.means.weak for c in self.members) for r in ("aggregate", "per_stream"))
        lengths = any(plain(c.text).lower() == "pp" for c in self.columns)
        for c in list(self.members):
            if lengths and plain(c.text).lower() == "tg":
                self.members.remove(c)  # PP and TG are numbers of tokens
            elif any(t.unit in ("s", "ms", "us", "min", "req/s") for t in c.tokens) and c.means.role in (*TOKEN_RATES, "throughput"):
                self._drop(c, f"column {label(c)}: the cells have another unit")
            elif c.means.role == "time":
                self._drop(c, "column time: of a request or of the whole step?")
            elif c.means.role in (*TOKEN_RATES, "throughput") and not c.means.unit and not (self.evidence or both or c.means.decode):
                self._drop(c, f"column {label(c)}: nothing says tokens per second")
            elif c.means.role == "throughput":
                c.means = replace(c.means, role="aggregate")

    def _scopes(self) -> None:
        for c in [c for c in self.members if c.means.role == "tok"]:
            role = self._beside(c) or scope_by_shape(self._runs(c), c.means.decode)
            if not role or self._of(role):
                self._drop(c, "column tok/s: of all streams or of one?")
                continue
            c.means = replace(c.means, role=role, weak=False)
            self.notes.append(
                ("scope-by-shape", f"A token rate whose header names no scope was read as {role.replace('_', ' ')} from its numbers.")
            )
        weak, per = self._of("aggregate"), self._of("per_stream")
        if weak and weak.means.weak and weak.means.rest == "" and not (per and self._beside_per(weak, per)):
            falls = [r for r in map(sorted, self._runs(weak)) if len(r) > 1 and r[-1][1] < 0.75 * r[0][1]]
            if falls:
                self._drop(weak, "column throughput falls with concurrency: of all streams or of one?")

    def _beside(self, column: Column) -> str:
        """The scope of an open rate from the column beside it, where every row above one stream agrees."""
        others = [d for d in self.members if d is not column and d.means.role in TOKEN_RATES and d.means.stat in ("", "mean", "p50")]
        if len(others) != 1:
            return ""
        other = others[0]
        if self._beside_per(column, other):
            return "aggregate" if other.means.role in ("per_stream", "tok") else ""
        if self._beside_per(other, column):
            return "per_stream" if other.means.role in ("aggregate", "tok") else ""
        return ""

    def _beside_per(self, whole: Column, one: Column) -> bool:
        rows = [(c, v, one.values[n]) for c, v, n in self._pairs(whole) if c > 1 and one.values[n] is not None]
        return bool(rows) and all(p is not None and v > 1.1 * p and 0.25 * c * p <= v <= 1.35 * c * p for c, v, p in rows)

    def _per_token(self, n: int) -> float | None:
        """Tokens per second of one stream in a row, printed or aggregate / streams: for judging units only, never emitted."""
        per, agg = self._of("per_stream"), self._of("aggregate")
        if per and per.values[n]:
            return per.values[n]
        offered = self.offered[n] if self.offered else None
        whole = agg.values[n] if agg else None
        return whole / offered if whole and offered else None

    def _units(self) -> None:
        for c in [c for c in self.members if c.means.role in (*LATENCIES, "wall")]:
            bare = [n for n in self.valid if c.values[n] is not None and c.tokens[n].unit not in TO_MS]
            if any(c.tokens[n].unit not in ("", *TO_MS) for n in self.valid if c.tokens[n].digits):
                self._drop(c, f"column {label(c)}: the cells have another unit")
                continue
            unit = c.means.unit or ("" if bare else "s")
            if not unit and (unit := self._unit_by_numbers(c, bare)):
                self.notes.append(
                    ("unit-by-numbers", f"A column without a unit ({c.means.role}) was read in {unit}: its numbers allow no other.")
                )
            if not unit:
                self._drop(c, f"column {label(c)}: no unit (s or ms?)")
                continue
            self.scale[id(c)] = (TO_S if c.means.role == "wall" else TO_MS)[unit]
            if c.means.role in LATENCIES and not c.means.stat:
                self.notes.append(("mean-assumed", f"A column that names no statistic ({c.means.role}) was read as the mean."))

    def _unit_by_numbers(self, column: Column, rows: list[int]) -> str:
        values = [(v, self._per_token(n)) for n in rows if (v := column.values[n]) is not None]
        if column.means.role in ("tpot", "itl"):
            known = [v * r for v, r in values if r]
            for unit, one in (("ms", 1000.0), ("s", 1.0)):
                if len(known) >= 2 and all(0.5 * one <= k <= 2 * one for k in known):
                    return unit
            return ""
        if column.means.role in ("ttft", "e2e") and min(v for v, _ in values) < 0.5:
            return "s"
        made = [v * r / 1000 for v, r in values if r]
        return "s" if column.means.role in ("wall", "e2e") and len(made) == len(values) and max(made) < 1 else ""

    def _counts(self) -> None:
        agg, per = self._of("aggregate"), self._of("per_stream")
        if agg:
            counts = agg.means.counts
            self.agg_counts = counts if counts in ("output", "total") else "total" if counts == "total?" and not per else None
        if per:
            self.per_counts = self._derived(agg, per) or self._by_time(per) or ("decode" if per.means.decode else None)

    def _derived(self, agg: Column | None, per: Column) -> str | None:
        """aggregate / concurrency within what rounding allows, in every row above one stream, two at least."""
        rows = [(c, p, n) for c, p, n in self._pairs(per) if c > 1 and agg and agg.values[n] is not None]
        if agg is None or len(rows) < 2:
            return None
        return "derived" if all(_is_share(agg, per, c, n) for c, _, n in rows) else None

    def _by_time(self, per: Column) -> str | None:
        """decode where every row is 1 / TPOT, latency where every row is output length / latency, within rounding; two rows at least."""
        tpot = next((c for c in self.members if c.target == "tpot_mean_ms"), None)
        length = next((c for c in self.columns if c.means.role == "output_len"), None)
        e2e = next((c for c in self.members if c.target == "e2e_mean_ms"), None)
        for word, time, tokens in (("decode", tpot, None), ("latency", e2e, length)):
            if time is None or (word == "latency" and tokens is None):
                continue
            rows = [(per.values[n], self._value(time, n), tokens.values[n] if tokens else 1.0, n) for n in self.valid]
            known = [(p, ms, k, n) for p, ms, k, n in rows if p and ms and k]
            if len(known) >= 2 and all(
                abs(1000 * k / ms - p) <= 1.001 * per.halves[n] + p * (0.001 + time.halves[n] / (time.values[n] or 1.0))
                for p, ms, k, n in known
            ):
                return word if word == "latency" or not self._shares(per) else None
        return None

    def _shares(self, per: Column) -> bool:
        """Every row above one stream is aggregate / concurrency as well: then 1 / TPOT proves nothing."""
        agg = self._of("aggregate")
        rows = [(c, p, n) for c, p, n in self._pairs(per) if c > 1 and agg and agg.values[n] is not None]
        return bool(rows) and agg is not None and all(_is_share(agg, per, c, n) for c, _, n in rows)

    def _value(self, column: Column, n: int) -> float | None:
        value, unit = column.values[n], column.tokens[n].unit
        if value is None:
            return None
        if column.means.role in (*LATENCIES, "wall"):
            table = TO_S if column.means.role == "wall" else TO_MS
            return float(f"{value * table.get(unit, self.scale.get(id(column), 1.0)):.12g}")
        wanted = ("", "req/s") if column.means.role == "req_s" else ("", "tok/s")
        return value if unit in wanted else None

    def step(self, n: int) -> dict[str, Any]:
        """The measured columns of a row; empty where nothing was measured."""
        row: dict[str, Any] = {c.target: v for c in self.members if c.target and (v := self._value(c, n)) is not None}
        if "aggregate_tok_s" in row:
            row["aggregate_counts"] = self.agg_counts
        if "per_stream_tok_s" in row:
            row["per_stream_counts"] = self.per_counts
        return row
