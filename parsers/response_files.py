"""Saved responses of an LLM server: one file per request, or several responses in one file.

What it reads: what `curl -o resp_1.json`, `curl ... > resp_1.json`, `tee` or a script saved. A JSON body, pretty or on one line;
several JSON bodies or an array of them; NDJSON (Ollama streams); server-sent events (`data: {...}`); and what a failed request
leaves behind: an error object, an HTML page of a proxy, `curl: (28) ...`, a bare `Internal Server Error`, an empty file.

Versions: llama.cpp `/completion` and its OpenAI routes (`timings` b796+ and b4240+, `cache_n` b6399+, `draft_n` b4984+), ik_llama and
llamafile with fewer keys; vLLM; SGLang `/generate` (`meta_info`) and OpenAI routes; Ollama `/api/generate` and `/api/chat`, whole or their statistics alone as `jq` picks them; TGI
`generated_text` + `details`; any other server with an OpenAI or Anthropic `usage`; lines of an OpenAI batch output.

Columns of `requests` (origin `file`):

- server            only where the body proves it: timings or a `b4764-...` fingerprint (llama.cpp), nanosecond durations or `fp_ollama`
                    (ollama), `meta_info` or `matched_stop` (sglang), `kv_transfer_params` or `prompt_logprobs` (vllm), `details` (tgi).
- request           the file's own name without folders and archives, `#2` and so on where a file holds several. A saved listing names the
                    same file the same way (see file-listing): join them on `request`.
- finished_at       the body's own end, or the file's last write; see below. resolution_s is that of the coarsest time of the row.
- queued_at         vLLM and TGI completions: `created` is the arrival there. Ollama: end minus total_duration, which runs from receipt.
- first_token_at    of streams whose chunks carry their own time, or before whose lines somebody printed one (`curl -N ... | ts '%.s'`:
                    seconds, milliseconds or nanoseconds since 1970): then finished_at is that of the last chunk. Other times there are skipped.
- prompt_tokens     computed: `timings.prompt_n`, or `usage.prompt_tokens` less its cached tokens. Where the body does not tell the
                    cached share, cached_tokens is NULL and this is the whole prompt.
- output_tokens     from usage or timings, never from the number of chunks.
- prompt_ms, decode_ms   llama.cpp and Ollama (also the `usage` that Open WebUI makes of its statistics, where they agree with its own rate). They start when a slot takes the request: no llama.cpp body holds the wait for a slot.
- queue_ms          Ollama only: total - load - prompt - decode, of prompts of one batch: runners up to 0.12.6 print the time of a prompt's
                    last batch as that of the whole prompt, and the rest would pass for waiting.
- status            ok, failed, cancelled; NULL for a stream that breaks off.

Times. `created` is the end for llama.cpp, SGLang chat, TGI chat and Ollama, the start for vLLM, and unknown elsewhere: then it is used
only to doubt the file's time. A file time counts unless it is known to be that of a copy. Where body and file agree (within both
resolutions and 2 s) the finer one is taken; where they disagree the body wins and a quality row `mtime-disagrees` says so. With several
responses in one file its time belongs to none of them. Times of plain zip members have no zone: the clock is then local-no-zone.

Known traps: `jq . f > f2` makes a new time; Ollama leaves out fields that are 0; its prompt count includes cached tokens while its
prompt time does not (0.30+): make no prefill speed of them; a llama.cpp id does not name the slot, only `/completion` has `id_slot`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from ..engine.json_objects import nested, num
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample

if TYPE_CHECKING:
    import polars as pl

MAX_CHARS = 32 << 20
AGREE_S = 2.0
DAY_S = 86_400.0
MAX_REJECTS = 5
MAX_BROKEN = 2_000
OLLAMA_BATCH = 512  # tokens of a prompt that go through at once

Json = dict[str, Any]

_NAMED = re.compile(
    r"(?i)^(resp|response|completion|chat|reply|answer|out|output|req|request|r)?[-_. ]?\d+\.(json|txt|out|ndjson|jsonl|sse|html?|body)$"
    r"|^(resp|response|completion)[-_.]?\w*\.(json|ndjson|jsonl|sse)$"
)
_CURL_ERROR = re.compile(r"(?m)^curl: \(\d+\) ")
_HTML = re.compile(r"(?is)^\s*<(!doctype\s+html|html)")
_HTTP_WORDS = re.compile(
    r"(?i)^\s*((HTTP/\S+ )?[45]\d\d )?(Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out|Too Many Requests|"
    r"upstream connect error|upstream request timeout|no healthy upstream)\b[^\n]{0,200}\s*$"
)
_ERROR_KEYS = {
    *("error", "object", "message", "type", "param", "code", "detail"),
    *("status", "timestamp", "path", "error_type", "request_id"),
}


def _basename(name: str) -> str:
    return re.split(r"[/!\\]", name)[-1]


# --- reading JSON out of text ------------------------------------------------------------------------------------------------------


@dataclass
class _Item:
    """One JSON object of the file: where it stands, whether an event stream framed it, and what it is."""

    first: int
    last: int
    body: Json
    sse: bool
    stamp: str = ""  # seconds, milliseconds or nanoseconds since 1970 that somebody printed before the line


def _decode(text: str, at: int) -> tuple[Any, int] | None:
    try:
        return json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return None


def _objects(value: Any) -> Iterator[Json]:
    """The object, those of an array, or the body inside a line of an OpenAI batch output."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            reply = one.get("response")
            inner = reply.get("body") if "custom_id" in one and isinstance(reply, dict) else None
            yield inner if isinstance(inner, dict) else one


_VALUE = r"(?=\{|\[\s*\{)"  # an object, or an array of them: `[2026-01-01 ...` begins a log line
# what `ts`, `date +%s.%N` and the like put before the lines of an event stream
_STAMP = (
    r"(?:\[?(?:(\d{10}(?:\.\d{1,9})?|\d{13}|\d{19})|(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{1,5}\.\d{1,9})\]?[ \t:|]{1,4}(?=data:))?"
)
_START = re.compile(rf"(?m)^{_STAMP}(data: ?|[ \t]*)" + _VALUE)
_MARGIN = re.compile(rf"(?m)^{_STAMP}(?:data: ?)?" + _VALUE)
_MORE = re.compile(r"[ \t]*(?:data: ?|,)?[ \t]*" + _VALUE)


def _scan(text: str) -> tuple[list[_Item], list[tuple[int, int]]]:
    """All JSON values that begin a line (also several behind each other), and the line ranges that began one but could not be read."""
    items: list[_Item] = []
    broken: list[tuple[int, int]] = []
    at, line, counted = 0, 1, 0

    def line_at(place: int) -> int:
        nonlocal line, counted
        line += text.count("\n", counted, place)
        counted = place
        return line

    while len(broken) < MAX_BROKEN and (start := _START.search(text, at)):
        sse, place = start[2].startswith("data:"), start.end()
        found = _decode(text, place)
        first = line_at(place)
        if found is None:
            broken.append((first, first))
            # whatever is indented belongs to the broken body: go on where a value starts at the margin
            after = _MARGIN.search(text, place + 1)
            at = after.start() if after else len(text)
            continue
        while found is not None:
            value, end = found
            last = line_at(end - 1)
            items.extend(_Item(first, last, body, sse, start[1] or "") for body in _objects(value))
            more = _MORE.match(text, end)
            first, at = last, end
            found = _decode(text, more.end()) if more else None
    return items, broken


# --- what one object says ----------------------------------------------------------------------------------------------------------


@dataclass
class _Facts:
    """What one object tells of a response. `at` is its printed time on UTC, `means` what that time is (end, start, chunk, unknown)."""

    key: str | None = None
    chunk: bool = False
    done: bool = True
    token: bool = False
    server: str | None = None
    chat: bool = True
    at: float | None = None
    at_step: float = 1.0
    means: str = "unknown"
    status: str | None = None
    values: dict[str, float | None] = field(default_factory=dict)
    extra: dict[str, float | None] = field(default_factory=dict)  # total_s: from receipt to end


def _count(value: Any) -> float | None:
    number = num(value)
    return number if number is not None and number < 1e9 and number == int(number) else None


def _epoch(value: Any) -> float | None:
    number = num(value)
    return number if number is not None and 1e9 <= number < 4.2e9 else None


def _dicts(value: Any) -> list[Json]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


_RFC3339 = re.compile(r"^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$")


def _iso(value: Any) -> tuple[float, float] | None:
    """(seconds since 1970 UTC, resolution) of an RFC 3339 time with a zone; up to nine digits of the second."""
    found = _RFC3339.match(value) if isinstance(value, str) else None
    if not found:
        return None
    try:
        whole = datetime.fromisoformat(f"{found[1]}T{found[2]}")
    except ValueError:
        return None
    zone = found[4]
    shift = timedelta(0) if zone == "Z" else timedelta(hours=int(zone[1:3]), minutes=int(zone[4:])) * (1 if zone[0] == "+" else -1)
    seconds = (whole - shift).replace(tzinfo=timezone.utc).timestamp()  # noqa: UP017
    digits = found[3] or ""
    return seconds + (int(digits) / 10 ** len(digits) if digits else 0.0), 1e-6 if digits else 1.0


def _prompt(total: float | None, cached: float | None) -> dict[str, float | None]:
    """Computed and cached prompt tokens from the whole; a cached count above the whole is not believed."""
    if total is not None and cached is not None and cached <= total:
        return {"prompt_tokens": total - cached, "cached_tokens": cached}
    return {"prompt_tokens": total, "cached_tokens": None}


def _usage(body: Json) -> dict[str, float | None]:
    """OpenAI (prompt_tokens, completion_tokens), its Responses API and Anthropic (input_tokens, output_tokens)."""
    usage = nested(body, "usage")
    if "input_tokens" in usage and "cache_read_input_tokens" in usage:  # Anthropic counts cached tokens beside, not inside
        prompt = {"prompt_tokens": _count(usage["input_tokens"]), "cached_tokens": _count(usage["cache_read_input_tokens"])}
        return {**prompt, "output_tokens": _count(usage.get("output_tokens"))}
    total = _count(usage.get("prompt_tokens", usage.get("input_tokens")))
    details = nested(usage, "prompt_tokens_details") or nested(usage, "input_tokens_details")
    output = _count(usage.get("completion_tokens", usage.get("output_tokens")))
    return {**_prompt(total, _count(details.get("cached_tokens"))), "output_tokens": output}


def _timings(body: Json) -> dict[str, float | None]:
    timings = nested(body, "timings")
    return {
        "prompt_tokens": _count(timings.get("prompt_n")),
        "cached_tokens": _count(timings.get("cache_n")),
        "output_tokens": _count(timings.get("predicted_n")),
        "drafted_tokens": _count(timings.get("draft_n")),
        "accepted_tokens": _count(timings.get("draft_n_accepted")),
        "prompt_ms": num(timings.get("prompt_ms")),
        "decode_ms": num(timings.get("predicted_ms")),
    }


def _has_timings(body: Json) -> bool:
    timings = nested(body, "timings")
    return "prompt_ms" in timings or "predicted_ms" in timings


def _server(body: Json, choices: list[Json]) -> str | None:
    """The server family, where a field that only one of them writes is there."""
    fingerprint = body.get("system_fingerprint")
    mark = fingerprint if isinstance(fingerprint, str) else ""
    if _has_timings(body) or re.fullmatch(r"b\d+-[0-9a-f]{7,}", mark):
        return "llama.cpp"
    if mark == "fp_ollama":
        return "ollama"
    if "kv_transfer_params" in body or "prompt_logprobs" in body:
        return "vllm"
    if any("matched_stop" in c for c in choices):
        return "sglang"
    return "tgi" if re.fullmatch(r"\d+\.\d+\.\d+(-dev\d*)?-(native|sha-[0-9a-f]+)", mark) else None


def _finish(reason: Any) -> str | None:
    """Status from a finish reason; None while there is none."""
    if isinstance(reason, dict):
        reason = reason.get("type")
    if not isinstance(reason, str) or not reason:
        return None
    return {"abort": "cancelled", "cancelled": "cancelled", "error": "failed"}.get(reason, "ok")


def _has_text(choice: Json) -> bool:
    delta = nested(choice, "delta")
    return bool(choice.get("text")) or any(delta.get(k) for k in ("content", "reasoning_content", "reasoning", "tool_calls"))


def _openai(body: Json, sse: bool) -> _Facts | None:
    kind = body.get("object")
    kind = kind if isinstance(kind, str) else ""
    choices = _dicts(body.get("choices"))
    if not isinstance(body.get("choices"), list) or not (kind or "created" in body or "usage" in body):
        return None
    if any(not ({"message", "delta", "text"} & c.keys()) for c in choices) or not (choices or "usage" in body or _has_timings(body)):
        return None
    chunk = kind.endswith(".chunk") or any("delta" in c for c in choices) or sse
    states = [s for c in choices if (s := _finish(c.get("finish_reason")))]
    key = body.get("id")
    values = _usage(body)
    values.update({k: v for k, v in _timings(body).items() if v is not None})
    webui = _webui(nested(body, "usage"))
    values.update(webui)
    return _Facts(
        key=key if isinstance(key, str) and key else None,
        chunk=chunk,
        done=bool(states) or not chunk,
        token=any(_has_text(c) for c in choices),
        server="ollama" if webui else _server(body, choices),
        chat=not kind.startswith("text_completion"),
        at=_epoch(body.get("created")),
        status=states[0] if states else None,
        values=values,
    )


def _llama_native(body: Json, sse: bool) -> _Facts | None:
    if not isinstance(body.get("content"), str) or not (_has_timings(body) or "tokens_predicted" in body or ("stop" in body and sse)):
        return None
    stop = body.get("stop")
    values = _timings(body)
    values["output_tokens"] = values["output_tokens"] if values["output_tokens"] is not None else _count(body.get("tokens_predicted"))
    values["slot"] = _count(body.get("id_slot", body.get("slot_id")))
    return _Facts(
        chunk=sse, done=stop is not False, token=bool(body["content"]), server="llama.cpp", status="ok" if stop else None, values=values
    )


def _webui(usage: Json) -> Json:
    """Open WebUI puts Ollama's statistics into `usage`, its own rate beside them: where that is tokens over nanoseconds, the times are known."""
    n, took, rate = _count(usage.get("eval_count")), num(usage.get("eval_duration"), 1e-6), num(usage.get("response_token/s"))
    if not n or not took or not rate or abs(n / took * 1e3 - rate) > 0.01 * rate + 0.01:
        return {}
    return {"prompt_ms": num(usage.get("prompt_eval_duration"), 1e-6), "decode_ms": took}


_STATISTICS = {"total_duration", "eval_count", "eval_duration"}


def _picked(body: Json) -> bool:
    """Ollama's statistics alone, as `jq` or a script picked them from an answer: nanoseconds that fit into their total."""
    total, load, prompt, decode = (num(body.get(f"{k}_duration"), 1e-9) for k in ("total", "load", "prompt_eval", "eval"))
    n = _count(body.get("eval_count"))
    if not body.keys() >= _STATISTICS or not total or not decode or not n or body.get("done") is False:
        return False
    return total >= (load or 0) + (prompt or 0) + decode and decode >= n * 1e-4


def _ollama(body: Json, sse: bool) -> _Facts | None:
    has_text = {"response", "message"} & body.keys()
    answer = isinstance(body.get("done"), bool) and isinstance(body.get("created_at"), str) and has_text
    if not answer and (has_text or not _picked(body)):
        return None
    if body.get("done_reason") in ("load", "unload") and "eval_count" not in body:
        return None  # a preload: no request was served
    total, load = num(body.get("total_duration"), 1e-6), num(body.get("load_duration"), 1e-6)
    prompt, decode = num(body.get("prompt_eval_duration"), 1e-6), num(body.get("eval_duration"), 1e-6)
    queue = total - load - prompt - decode if None not in (total, load, prompt, decode) else None  # type: ignore[operator]
    prompt_n = _count(body.get("prompt_eval_count"))
    one_batch = prompt_n is not None and prompt_n <= OLLAMA_BATCH
    stamp = _iso(body["created_at"]) if isinstance(body.get("created_at"), str) else None
    return _Facts(
        chunk=bool(answer),
        done=body.get("done", True),
        token=bool(body.get("response")) or any(nested(body, "message").get(k) for k in ("content", "thinking", "tool_calls")),
        server="ollama",
        at=stamp[0] if stamp else None,
        at_step=stamp[1] if stamp else 1.0,
        status="ok" if body.get("done", True) else None,
        values={
            "prompt_tokens": prompt_n,
            "output_tokens": _count(body.get("eval_count")),
            "prompt_ms": prompt,
            "decode_ms": decode,
            "queue_ms": queue if queue is not None and queue >= 0 and one_batch else None,
        },
        extra={"total_s": total / 1e3 if total is not None else None},
    )


def _sglang_native(body: Json, sse: bool) -> _Facts | None:
    meta = nested(body, "meta_info")
    if not meta or not ({"completion_tokens", "prompt_tokens", "finish_reason"} & meta.keys()):
        return None
    status, key = _finish(meta.get("finish_reason")), meta.get("id")
    return _Facts(
        key=key if isinstance(key, str) else None,
        chunk=sse,
        done=status is not None or not sse,
        token=_count(meta.get("completion_tokens")) not in (None, 0),
        server="sglang",
        at=_epoch(meta.get("response_sent_to_client_ts")),
        at_step=1e-6,
        status=status,
        values={
            **_prompt(_count(meta.get("prompt_tokens")), _count(meta.get("cached_tokens"))),
            "output_tokens": _count(meta.get("completion_tokens")),
        },
    )


def _tgi(body: Json, sse: bool) -> _Facts | None:
    details = nested(body, "details")
    ended = isinstance(body.get("generated_text"), str)
    token = isinstance(body.get("token"), dict)
    if not (ended and ("generated_tokens" in details or token)) and not (sse and token and "generated_text" in body):
        return None
    return _Facts(
        chunk=sse,
        done=ended,
        token=token,
        server="tgi",
        status=(_finish(details.get("finish_reason")) or "ok") if ended else None,
        values={"prompt_tokens": _count(details.get("input_length")), "output_tokens": _count(details.get("generated_tokens"))},
    )


def _other_api(body: Json, sse: bool) -> _Facts | None:
    """The Responses API (`object: response`) and Anthropic messages (`type: message`): tokens only, their server is unknown."""
    if not sse and (body.get("object") == "response" or (body.get("type") == "message" and body.get("role") == "assistant")):
        usage = _usage(body)
        if usage["output_tokens"] is not None:
            state = body.get("status", "completed")
            return _Facts(status={"completed": "ok", "failed": "failed", "cancelled": "cancelled"}.get(state), values=usage)
    return None


def _error(body: Json, sse: bool) -> _Facts | None:
    told = body.get("error") or body.get("detail") or (body.get("object") == "error" and body.get("message"))
    if not told or not isinstance(told, (dict, str, list)) or body.keys() - _ERROR_KEYS:
        return None
    return _Facts(chunk=sse, status="failed")


_SHAPES = (_ollama, _openai, _sglang_native, _llama_native, _tgi, _other_api, _error)


def _facts(body: Json, sse: bool) -> _Facts | None:
    for shape in _SHAPES:
        if (found := shape(body, sse)) is not None:
            return found
    return None


# --- from objects to responses -----------------------------------------------------------------------------------------------------


@dataclass
class _Response:
    line: int
    server: str | None = None
    chat: bool = True
    stream: bool = False
    done: bool = False
    status: str | None = None
    first_at: float | None = None
    last_at: float | None = None
    step: float = 0.0
    values: dict[str, float | None] = field(default_factory=dict)
    total_s: float | None = None
    arrivals: list[tuple[float, float, bool] | None] = field(default_factory=list)  # when each chunk came, resolution, with a token

    def add(self, facts: _Facts, framed: bool, stamp: str = "") -> None:
        self.arrivals.append((*_arrived(stamp), facts.token) if stamp else None)
        self.server = self.server or facts.server
        self.chat, self.stream = facts.chat, self.stream or framed
        self.done = self.done or facts.done
        self.status = facts.status if facts.status in ("failed", "cancelled") else self.status or facts.status
        if facts.at is not None:
            if facts.token and self.first_at is None:
                self.first_at = facts.at
            self.last_at = facts.at if self.last_at is None else max(self.last_at, facts.at)
            self.step = max(self.step, facts.at_step)
        self.values.update({k: v for k, v in facts.values.items() if v is not None})
        self.total_s = facts.extra.get("total_s") or self.total_s

    @property
    def created_means(self) -> str:
        """What the printed time is: the table of the servers' own sources."""
        if self.server == "vllm" or (self.server == "tgi" and not self.chat and not self.stream):
            return "start"
        if self.server == "sglang" and not self.chat and self.stream:
            return "start"
        return "end" if self.server in ("llama.cpp", "ollama", "sglang", "tgi") else "unknown"


def _arrived(stamp: str) -> tuple[float, float]:
    """Seconds since 1970 and their resolution of a printed stamp."""
    if "." in stamp or len(stamp) == 10:
        return float(stamp), 10.0 ** -len(stamp.partition(".")[2])
    return (int(stamp) / 1e3, 1e-3) if len(stamp) == 13 else (round(int(stamp) / 1e9, 6), 1e-6)


def _responses(items: list[_Item]) -> tuple[list[_Response], list[tuple[int, int]]]:
    """Chunks of one id, or up to the one that ends it, make one response. Also the line ranges that belong to one."""
    out: list[_Response] = []
    open_by_key: dict[str | None, _Response] = {}
    taken: list[tuple[int, int]] = []
    for item in items:
        facts = _facts(item.body, item.sse)
        if facts is None:
            continue
        taken.append((item.first, item.last))
        response = open_by_key.get(facts.key) if facts.chunk else None
        if response is None:
            latest = out[-1] if out else None
            joins = facts.chunk and latest is not None and facts.status == "failed" and facts.server is None and not latest.done
            response = latest if joins and latest is not None else _Response(item.first)
            if response is not latest:
                out.append(response)
        response.add(facts, item.sse or not facts.done, item.stamp)
        # an id that is known keeps its response open: the usage comes in a chunk after the last choice
        if facts.chunk and (facts.key is not None or not facts.done):
            open_by_key[facts.key] = response
        else:
            open_by_key.pop(facts.key, None)
    return out, taken


# --- times -------------------------------------------------------------------------------------------------------------------------


@dataclass
class _Stamped:
    """The times of one row on one clock; `doubt` is set when the file's own time was thrown away."""

    clock: str = "none"
    method: str | None = None
    resolution_s: float | None = None
    queued_at: float | None = None
    first_token_at: float | None = None
    finished_at: float | None = None
    doubt: bool = False


def _file_end(source: Readable) -> tuple[float, float, str] | None:
    """(last write, resolution, clock) where the collector trusts it."""
    if source.mtime is None or source.mtime_kind not in ("filesystem", "archive", "listing"):
        return None
    return source.mtime, source.mtime_resolution_s or 1.0, getattr(source, "mtime_clock", "utc")


def _stamp(response: _Response, written: tuple[float, float, str] | None) -> _Stamped:
    means, at, step = response.created_means, response.last_at, response.step
    if written is not None and written[2] == "utc" and at is not None and _contradicts(means, at, step, written):
        written, doubt = None, True
    else:
        doubt = False
    out = _Stamped(doubt=doubt)
    if all(response.arrivals) and response.arrivals:
        return _by_arrivals(out, [a for a in response.arrivals if a], response)
    body_end = (at, step) if means == "end" and at is not None else None
    complete = response.done or response.status is not None
    if body_end is not None and complete and not (written is not None and written[2] == "utc" and written[1] < step):
        out.finished_at, out.resolution_s, out.clock, out.method = body_end[0], step, "utc", "created"
    elif written is not None and complete and not (body_end is not None and written[2] != "utc"):
        out.finished_at, out.resolution_s, out.clock, out.method = written[0], written[1], written[2], "file time"
    _add_starts(out, response, means)
    return out


def _by_arrivals(out: _Stamped, arrivals: list[tuple[float, float, bool]], response: _Response) -> _Stamped:
    """The times at which the client saw the chunks: finer than anything in them, and on its clock."""
    out.clock, out.method, out.resolution_s = "utc", "stamps before the lines", max(step for _, step, _ in arrivals)
    out.first_token_at = next((at for at, _, token in arrivals if token), None)
    out.finished_at = max(at for at, *_ in arrivals) if response.done or response.status is not None else None
    return out


def _contradicts(means: str, at: float, step: float, written: tuple[float, float, str]) -> bool:
    """An end must match the last write; a start, or a time of unknown meaning, must come before it and less than a day before."""
    slack = step + written[1] + AGREE_S
    late = written[0] - at
    return abs(late) > slack if means == "end" else late < -slack or late > DAY_S


def _add_starts(out: _Stamped, response: _Response, means: str) -> None:
    """Arrival and first token, where the body tells them and they are on the clock of the row."""
    if out.clock == "local-no-zone":
        if means != "start":
            return
        out.finished_at = None  # the arrival is on UTC and worth more than an end without a zone
    if means == "start" and response.last_at is not None:
        out.queued_at = response.last_at
    if response.server == "ollama" and out.method == "created" and out.finished_at is not None and response.total_s is not None:
        out.queued_at = out.finished_at - response.total_s
    # With decode_ms a precise end says more about the first token than whole seconds of `created` would.
    precise = out.finished_at is not None and out.method == "file time" and response.values.get("decode_ms") is not None
    if means == "end" and response.stream and response.first_at is not None and not precise:
        out.first_token_at = response.first_at
    if out.queued_at is not None or out.first_token_at is not None:
        out.clock, out.method = "utc", out.method if out.clock == "utc" else "created"
        out.resolution_s = max(out.resolution_s or 0.0, response.step)


# --- the parser --------------------------------------------------------------------------------------------------------------------

_NUMBERS = (
    *("queued_at", "first_token_at", "finished_at", "resolution_s", "prompt_tokens", "cached_tokens", "output_tokens"),
    *("drafted_tokens", "accepted_tokens", "prompt_ms", "decode_ms", "queue_ms"),
)


def _row(response: _Response, times: _Stamped, request: str) -> dict[str, Any]:
    values = response.values
    slot = values.get("slot")
    return {
        "line": response.line,
        "origin": "file",
        "server": response.server,
        "request": request,
        "slot": int(slot) if slot is not None else None,
        "status": response.status if response.status or response.stream else ("ok" if response.done else None),
        **{k: getattr(times, k) for k in ("queued_at", "first_token_at", "finished_at", "resolution_s")},
        **{k: values.get(k) for k in _NUMBERS[4:]},
    }


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    schema: dict[str, Any] = {
        "line": pl.Int64,
        "origin": pl.Utf8,
        "server": pl.Utf8,
        "request": pl.Utf8,
        "slot": pl.Int32,
        "status": pl.Utf8,
    }
    return pl.DataFrame(rows, schema={**schema, **dict.fromkeys(_NUMBERS, pl.Float64)})


def _read(source: Readable) -> tuple[str, int]:
    """The text up to MAX_CHARS, cut at a line, and the number of all lines."""
    parts, chars, lines, last = [], 0, 0, "\n"
    for _, text in source.blocks():
        if chars < MAX_CHARS:
            parts.append(text)
            chars += len(text)
        lines += text.count("\n")
        last = text[-1:] or last
    return "".join(parts), lines + (last != "\n")


def _count_lines(text: str, lines: int, taken: list[tuple[int, int]], broken: list[tuple[int, int]], failed: bool) -> Counts:
    """Matched: lines of responses. Noise: blank lines and the framing of event streams. Near miss: where a body could not be read."""
    marks = bytearray(lines + 2)  # 0 other, 1 noise, 2 near miss, 3 matched
    frame = re.compile(rf"[ \t]*$|:|event:|id:|retry:|{_STAMP}data: ?(?:\[DONE\])?\s*$")
    for number, line in enumerate(text.split("\n")[:lines], start=1):
        marks[number] = 1 if frame.match(line) else 3 if failed else 0
    for first, last in broken:
        marks[first : last + 1] = b"\x02" * (last + 1 - first)
    for first, last in taken:
        marks[first : last + 1] = b"\x03" * (last + 1 - first)
    body = marks[1 : lines + 1]
    counts = Counts(matched=body.count(3), noise=body.count(1), near_miss=body.count(2), other=body.count(0))
    counts.rejects = [(first, "JSON that breaks off or is garbled") for first, _ in broken if marks[first] == 2][:MAX_REJECTS]
    return counts


def _is_failure(text: str, name: str) -> bool:
    """No JSON at all, but what a failed request leaves in a file."""
    short = text[:4096]
    if _CURL_ERROR.search(short) or _HTTP_WORDS.match(short):
        return True
    named = bool(_NAMED.match(_basename(name)))
    return named and (not text.strip() or bool(_HTML.match(short)))


class _ResponseFiles:
    name = "response-files"
    api = 1

    @property
    def samples(self) -> tuple[Sample, ...]:
        return _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        text = head.text
        items, broken = _scan(text)
        known = [f for i in items if (f := _facts(i.body, i.sse)) is not None]
        if known and 2 * len(known) >= len(items):
            server = next((f.server for f in known if f.server), None)
            failed = all(f.status == "failed" for f in known)
            what = "an error reply" if failed else f"a saved response of {server}" if server else "a saved response with an OpenAI shape"
            return Claim(60 if failed else 92 if server else 85, what)
        if not items and _is_failure(text, head.name):
            return Claim(30, "what a failed request leaves in a file")
        if not items and broken:
            return self._cut(text, head.complete)
        return None

    def _cut(self, text: str, complete: bool) -> Claim | Refusal | None:
        """One body larger than the head, or broken off: known by keys near its start."""
        start = text.lstrip()[:2000]
        if re.search(r'"object"\s*:\s*"(chat\.completion|text_completion)', start) or re.match(r'\{\s*"id"\s*:\s*"(chatcmpl|cmpl)-', start):
            return Claim(80, "a saved response with an OpenAI shape") if not complete else Refusal(70, "a saved response that breaks off")
        if re.match(r'\{\s*"model"\s*:\s*"[^"]*"\s*,\s*"created_at"\s*:', start):
            return Claim(80, "a saved response of ollama") if not complete else Refusal(70, "a saved response that breaks off")
        if not complete and ('"id_slot"' in start or '"tokens_predicted"' in start):
            return Claim(80, "a saved response of llama.cpp")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        text, lines = _read(source)
        items, broken = _scan(text)
        responses, taken = _responses(items)
        failed = not responses and not items and _is_failure(text, source.name)
        if failed:
            responses = [_Response(1, status="failed", done=True)]
        counts = _count_lines(text, lines, taken, broken, failed)
        if responses:
            self._emit(source, responses, emit)
        return counts

    def _emit(self, source: Readable, responses: list[_Response], emit: Emit) -> None:
        import polars as pl

        single = len(responses) == 1
        written = _file_end(source) if single else None
        name = _basename(source.name)
        stamped = [_stamp(r, written) for r in responses]
        emit("requests", _frame([_row(r, t, name if single else f"{name}#{n}") for n, (r, t) in enumerate(zip(responses, stamped), 1)]))
        timed = [t for t in stamped if t.clock != "none"]
        best = timed[0] if timed else _Stamped()
        step = max((t.resolution_s for t in timed if t.resolution_s is not None), default=None)
        clock = {"line": 1, "kind": best.clock, "resolution_s": step, "method": best.method}
        emit("clocks", pl.DataFrame([clock], schema={"line": pl.Int64, "kind": pl.Utf8, "resolution_s": pl.Float64, "method": pl.Utf8}))
        if any(t.doubt for t in stamped):
            note = "the file was written at another time than its own content says; the content was believed"
            emit("quality", pl.DataFrame([{"line": 1, "kind": "mtime-disagrees", "n": 1, "note": note}]))


_SAMPLES = (
    Sample(
        text='{"choices":[{"finish_reason":"length","index":0,"message":{"role":"assistant","content":"one two"}}],"created":1789000015,'
        '"model":"m","object":"chat.completion","usage":{"completion_tokens":64,"prompt_tokens":30,"total_tokens":94},"id":"chatcmpl-a1",'
        '"timings":{"cache_n":10,"prompt_n":20,"prompt_ms":250.5,"predicted_n":64,"predicted_ms":4000.25,"draft_n":40,"draft_n_accepted":25}}',
        rows={
            "requests": [
                {
                    "origin": "file",
                    "server": "llama.cpp",
                    "request": "resp_3.json",
                    "status": "ok",
                    "finished_at": 1789000015.0,
                    "resolution_s": 1.0,
                    "prompt_tokens": 20.0,
                    "cached_tokens": 10.0,
                    "output_tokens": 64.0,
                    "prompt_ms": 250.5,
                    "decode_ms": 4000.25,
                    "drafted_tokens": 40.0,
                    "accepted_tokens": 25.0,
                    "queue_ms": None,
                    "slot": None,
                }
            ],
            "clocks": [{"kind": "utc", "resolution_s": 1.0, "method": "created"}],
        },
        versions="llama.cpp OpenAI routes, b6399+",
        name="run.tar!out/resp_3.json",
    ),
    Sample(
        text='{\n  "index": 0,\n  "content": "",\n  "id_slot": 2,\n  "stop": true,\n  "tokens_predicted": 8,\n  "timings": {\n'
        '    "prompt_n": 3,\n    "prompt_ms": 12.5,\n    "predicted_n": 8,\n    "predicted_ms": 400.0\n  }\n}\n',
        rows={
            "requests": [
                {"server": "llama.cpp", "slot": 2, "prompt_tokens": 3.0, "cached_tokens": None, "output_tokens": 8.0, "decode_ms": 400.0}
            ],
            "clocks": [{"kind": "none", "resolution_s": None, "method": None}],
        },
        versions="llama.cpp /completion, b796+",
        name="out2.json",
    ),
    Sample(
        text='data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null}}],"created":1789000001,"id":"chatcmpl-b","object":'
        '"chat.completion.chunk"}\n\ndata: {"choices":[{"index":0,"delta":{"content":"a"}}],"created":1789000002,"id":"chatcmpl-b",'
        '"object":"chat.completion.chunk"}\n\ndata: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"created":1789000006,"id":'
        '"chatcmpl-b","object":"chat.completion.chunk"}\n\ndata: {"choices":[],"created":1789000006,"id":"chatcmpl-b",'
        '"object":"chat.completion.chunk","usage":{"completion_tokens":90,"prompt_tokens":12,"total_tokens":102},"timings":'
        '{"prompt_n":12,"prompt_ms":80.0,"predicted_n":90,"predicted_ms":3900.0}}\n\ndata: [DONE]\n\n',
        rows={
            "requests": [
                {
                    "server": "llama.cpp",
                    "first_token_at": 1789000002.0,
                    "finished_at": 1789000006.0,
                    "resolution_s": 1.0,
                    "output_tokens": 90.0,
                    "status": "ok",
                    "line": 1,
                }
            ]
        },
        versions="llama.cpp event stream with usage, b6508+",
        name="stream.sse",
    ),
    Sample(
        text='{"id":"chatcmpl-9","object":"chat.completion","created":1789000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant",'
        '"content":"x"},"finish_reason":"stop","stop_reason":null}],"usage":{"prompt_tokens":50,"total_tokens":60,"completion_tokens":10,'
        '"prompt_tokens_details":{"cached_tokens":48}},"prompt_logprobs":null,"kv_transfer_params":null}\n',
        rows={
            "requests": [
                {
                    "server": "vllm",
                    "queued_at": 1789000000.0,
                    "finished_at": None,
                    "prompt_tokens": 2.0,
                    "cached_tokens": 48.0,
                    "output_tokens": 10.0,
                    "prompt_ms": None,
                }
            ],
            "clocks": [{"kind": "utc", "method": "created"}],
        },
        versions="vLLM 0.9+",
        name="resp_1.json",
    ),
    Sample(
        text='{"text":"x","output_ids":[1,2],"meta_info":{"id":"f0","finish_reason":{"type":"length","length":32},"prompt_tokens":9,'
        '"completion_tokens":32,"cached_tokens":4,"e2e_latency":1.5,"response_sent_to_client_ts":1789000000.25}}\n',
        rows={
            "requests": [
                {
                    "server": "sglang",
                    "finished_at": 1789000000.25,
                    "resolution_s": 1e-6,
                    "prompt_tokens": 5.0,
                    "cached_tokens": 4.0,
                    "output_tokens": 32.0,
                    "queue_ms": None,
                    "latency_s": None,
                }
            ]
        },
        versions="SGLang /generate, 2026",
        name="resp_1.json",
    ),
    Sample(
        text='{"model":"m","created_at":"2026-09-10T00:00:01.5Z","response":"a","done":false}\n'
        '{"model":"m","created_at":"2026-09-10T00:00:04.25Z","response":"","done":true,"done_reason":"stop","total_duration":5000000000,'
        '"load_duration":500000000,"prompt_eval_count":26,"prompt_eval_duration":250000000,"eval_count":80,"eval_duration":3000000000}\n',
        rows={
            "requests": [
                {
                    "server": "ollama",
                    "first_token_at": 1788998401.5,
                    "finished_at": 1788998404.25,
                    "queued_at": 1788998399.25,
                    "prompt_ms": 250.0,
                    "decode_ms": 3000.0,
                    "queue_ms": 1250.0,
                    "output_tokens": 80.0,
                    "prompt_tokens": 26.0,
                    "status": "ok",
                }
            ]
        },
        versions="Ollama /api/generate, streamed to a file",
        name="out.ndjson",
    ),
    Sample(
        text='{"total_duration": 5000000000, "load_duration": 500000000, "prompt_eval_count": 26, "prompt_eval_duration": 250000000,\n'
        ' "eval_count": 80, "eval_duration": 3000000000}\n{"total_duration": 500000, "eval_count": 80, "eval_duration": 300000}\n',
        rows={
            "requests": [
                {
                    "line": 1,
                    "server": "ollama",
                    "prompt_ms": 250.0,
                    "decode_ms": 3000.0,
                    "queue_ms": 1250.0,
                    "output_tokens": 80.0,
                    "status": "ok",
                }
            ]
        },
        versions="Ollama's statistics alone, picked out of answers with jq",
        name="stats.json",
    ),
    Sample(
        text='{"id":"a-1","created":1789000000,"model":"a:8b","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":'
        '{"role":"assistant","content":"x"}}],"usage":{"response_token/s":40.0,"prompt_token/s":100.0,"total_duration":6000000000,'
        '"load_duration":1000000,"prompt_eval_count":50,"prompt_tokens":50,"prompt_eval_duration":500000000,"eval_count":200,'
        '"completion_tokens":200,"eval_duration":5000000000,"approximate_total":"0h0m6s"}}\n',
        rows={"requests": [{"server": "ollama", "prompt_ms": 500.0, "decode_ms": 5000.0, "output_tokens": 200.0, "prompt_tokens": 50.0}]},
        versions="Open WebUI in front of Ollama",
        name="resp_1.json",
    ),
    Sample(
        text='{"generated_text":"x","details":{"finish_reason":"length","generated_tokens":20,"seed":null,"prefill":[],"tokens":[]}}',
        rows={"requests": [{"server": "tgi", "output_tokens": 20.0, "status": "ok", "finished_at": None}]},
        versions="TGI /generate",
        name="resp_1.json",
    ),
    Sample(
        text='{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}',
        rows={"requests": [{"status": "failed", "output_tokens": None, "server": None}]},
        versions="any: an error reply",
        name="resp_7.json",
    ),
    Sample(
        text="<html>\n<head><title>502 Bad Gateway</title></head>\n</html>\n",
        rows={"requests": [{"status": "failed", "request": "resp_8.json"}]},
        versions="any: the error page of a proxy",
        name="resp_8.json",
    ),
    Sample(
        text="curl: (28) Operation timed out after 30001 milliseconds with 0 bytes received\n",
        rows={"requests": [{"status": "failed"}]},
        versions="any: curl's own message",
        name="resp_9.json",
    ),
)

PARSER = _ResponseFiles()
