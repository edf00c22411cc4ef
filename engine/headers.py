"""Headers of hand-written tables by meaning: role, statistic, unit, what is counted, in several languages.

A header becomes a `Meaning`. Words that leave the scope of a token rate open give the role `tok`: `columns.scope_by_shape` decides it
from the numbers or leaves it open.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

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


_PER = r"(?:/|\bper\b|\bpro\b|\bpar\b|\bpor\b)"
_SECOND = r"(?:s|secs?|seconds?|secondes?|sek|sekunden?)\b"
_ONE = (
    r"(?:streams?|req(?:uest)?s?|users?|slots?|clients?|seq(?:uence)?s?|sessions?|conn(?:ection)?s?|calls?|nutzer|benutzer|anfrage|"
    r"utilisateur|requête|flux|usuario|usuário|petición|solicitud|requisição)\b"
)
TOK_S = _rx(rf"\b(?:tok(?:en)?s?|tkn?s?|jetons?|t) ?{_PER} ?{_SECOND}|\btok(?:en)?s?[ _]{_SECOND}|\btps\b|\btokps\b")
# thousands of a unit: what a cell holds is not the number that stands there. `8k tok/s` is a context of 8k
MULTIPLE = _rx(
    r"(?<![\w.])1?[km] ?(?:tok|t/s|tps|req|rps|qps)|\b[km]t/s|\b(?:kilo|mega|thousands?|millions?) ?(?:of )?(?:tok|req)|[(\[, ](?:in )?(?:thousands?|millions?|1?[km])[)\]]|"
    r"[x×*] ?1[ ,.]?000\b|\b10\^?[36]\b|\b1e[36]\b|10³|\bin (?:1?[km]|thousands?|millions?)\b"
)
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
    r"\bjoules?\b|\bvram\b|\bmem\w*\b|\b[gm]i?b(?:/s)?\b|\bhit\b|\butil(?:i[sz]ation\w*)?\b|\bcpu\b|queue|queued|wait\w*|network|"
    rf"{_PER} ?(?:gpu|card|device|node|w|j|dollar|replica|instance)s?\b"
)
_STATS = (
    (
        "other",
        r"\bp ?(?:99[.,]9|999|9[0-8]|[1-46-8]\d|5[1-9]|[1-9])\b(?![.,]?\d)|\b(?:9[0-8]|[1-8][1-9]|[1346-8]0)(?:th|%)|"
        r"\bmax\b|\bpeak\b|\branges?\b|\bstd\w*\b|\bst\.? ?dev\b|\bcv\b|\bvar\w*\b|\bdev\b|\bbest\b|\bworst\b|\bspread\b|σ",
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
            rf"(?:{_NUM} )*(?:concurrency|conc|concur|concurrent|concurrencies|con|ccu)(?: level| limit)?(?: {_MANY})?|"
            rf"(?:{_NUM} )*(?:simultaneous|parallel) {_MANY}|"
            rf"{_MANY} in flight|in ?flight(?: {_MANY})?|outstanding {_MANY}|(?:{_NUM} )*(?:gleichzeitige?|"
            rf"parallele) (?:nutzer|anfragen|benutzer|streams)|"
            r"(?:usuarios|peticiones|solicitudes) (?:concurrentes|simultáne[ao]s|paralel[ao]s)|(?:usuários|requisições) simultâne[ao]s|concurrencia|concorrência|"
            r"(?:requêtes|utilisateurs) (?:simultanées?|simultanés|parallèles|concurrente?s)|gleichzeitigkeit|parallelität|concurrence|(?:最大)?并发(?:数|量|度|用户数?|请求数?)?"
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
    (
        "e2e",
        r"\be2e\w*\b|end to end|\blatency\b|\blat\b|\blatenz\b|\blatence\b|response time|^(?:avg|average|mean|median|p\d\d)\.? response\b|request time|antwortzeit|temps de réponse",
    ),
    (
        "wall",
        r"\bwall\b|\bwallclock\b|^time taken\b|\bduration\b|\belapsed\b|\btotal time\b|\brun ?time\b|\bmakespan\b|\bdauer\b|"
        r"\blaufzeit\b|\bdurée\b|gesamtzeit|temps total",
    ),
    ("accept_len", r"accept\w* (?:len\w*)|\bacc len\w*|mean accepted|accepted len\w*"),
)
TIMES = tuple((name, _rx(pattern)) for name, pattern in ROLES)
COUNTED = (
    (
        "completed",
        r"(?:num |n )?(?:completed|successful|succeed|succeeded|success|successes|ok)(?: requests| reqs)?|erfolgreich\w*|réussies",
    ),
    ("failed", r"(?:num |n )?(?:failed|failures?|errors?|errs?)(?: requests| reqs)?|fehler|échecs"),
    ("requests", r"(?:num(?:ber)?(?: of)? |n |no of |total |# ?)*(?:requests?|reqs?|prompts|anfragen|requêtes)(?: sent| total)?"),
    (
        "input_len",
        r"isl|(?:avg |mean )?(?:input|prompt|in)(?: seq(?:uence)?)? ?len(?:gth)?|prompt size|(?:avg|mean|average) (?:input|"
        r"prompt) tok(?:en)?s(?: per request)?|(?:input|prompt) tok(?:en)?s ?(?:/|per) ?req(?:uest)?",
    ),
    (
        "output_len",
        r"osl|(?:avg |mean )?(?:output|gen|out)(?: seq(?:uence)?)? ?len(?:gth)?|(?:avg|mean|average) (?:output|generated|"
        r"completion) tok(?:en)?s(?: per request)?|(?:output|generated|gen|completion) tok(?:en)?s ?(?:/|per) ?req(?:uest)?",
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
# what names no system but a setting or a number of something
SETTINGS = _rx(
    r"\b(?:batch\w*|size|len\w*|blocks?|layers?|tok(?:en)?s?|gpus?|count|num\w*|seed|port|steps?|runs?|max|min|kv|ctx|context|mem\w*|cache|"
    r"prompts?|requests?|workers|threads|replicas|date|time|rank|id|no|nr|notes?|tp|pp|dp|ep)\b|%|#|\$"
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
    if MULTIPLE.search(text) and (tok or REQ_S.search(text) or THROUGHPUT.search(text)):
        return Meaning("")
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
