r"""Times that `curl -w` printed, and `time curl ...` of a shell.

What it reads: lines with a total and another curl time or a status (`resp_2 200 start=15.029838 total=15.029956 size=437`), blocks with one
label per line (`time_connect: 0.0008`, `Start Transfer Time: 0.065580s`, `Total Time: 28.455154s`), with curl's own names or the usual
words for them, with dot or comma; the object of `-w '%{json}'`; what a format of variables alone printed where the text shows that format
(`-w "%{http_code} %{time_total}\n"`); and what a shell printed where the text shows that curl was timed (`time curl`) and no block of
curl stands right above: `real 0m28.478s` of bash, `real 28.48` of `time -p`, `0:28.48elapsed` and `Elapsed (wall clock) time` of GNU time,
`... 28.478 total` of zsh, the bare number of `TIMEFORMAT=%3R`, `TotalSeconds` of PowerShell's Measure-Command.

Table `requests` (origin client), one row per transfer, in the order printed (for parallel transfers: the order of completion):
latency_s, and status from the HTTP code (2xx ok; 000, 4xx and 5xx failed; unknown without one). There is no time of day in these lines.

Traps
- The time of the first byte is no time to first token and is left out: many servers send the header of a stream at once, also while the
  request waits for a slot, and without streaming the first byte is the end.
- Shell times contain the start of curl itself (some 10 ms).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample

__all__ = ["PARSER"]

BLOCK_LINES = 10  # a block of labels is no longer than this
Row = dict[str, Any]

_NUM = r"(\d{1,6}[.,]\d{3}(?:\d{3})?)"
_FIRST = r"(?:time_)?(?:start[ _-]?transfer(?:[ _]time)?|ttfb|first[ _]byte|time to first byte|start)"
_EARLY = r"(?:dns(?: (?:resolution|lookup))?|name[ _]?lookup|connect(?:ion)?(?: time)?|appconnect|pretransfer|redirect|tls|ssl)"
_TOTAL = r"(?:time_)?total(?:[ _]time)?"
_LABEL = re.compile(rf"^\s*(?:time_)?(?:({_TOTAL})|({_FIRST})|(?:{_EARLY}))\s*[:=]\s*{_NUM}\s*s?\s*$", re.I)
_TOTAL_IN = re.compile(rf"(?:^|[\s,;|]){_TOTAL}\s*[:=]\s*{_NUM}\s?s?(?=$|[\s,;|])", re.I)
_OTHER_IN = re.compile(rf"(?:^|[\s,;|])(?:time_)?(?:{_FIRST}|{_EARLY})\s*[:=]\s*{_NUM}\s?s?(?=$|[\s,;|])", re.I)
_CODE = re.compile(r"(?:^|[\s,;|])(?:(?:http_code|http_status|response_code|http|code|status)\s*[:= ]\s*)(\d{3})(?=$|[\s,;|])", re.I)
_BARE_CODE = re.compile(r"^(?:\S+\s+)?(000|[1-5]\d\d)\s+(?=\S)")
_REAL = re.compile(
    r"^(?:real\s+(?:(?P<m>\d+)m)?(?P<s>\d{1,6}[.,]\d{2,3})s?|[\d.,]+user [\d.,]+system (?:(?P<h2>\d+):)?(?P<m2>\d+):(?P<s2>\d{1,2}(?:[.,]\d{2})?)elapsed.*"
    r"|Elapsed \(wall clock\) time \(h:mm:ss or m:ss\): (?:(?P<h3>\d+):)?(?P<m3>\d+):(?P<s3>\d{1,2}(?:[.,]\d{2})?)"
    r"|.*\d[.,]\d{2,3}s user \d+[.,]\d{2,3}s system \d+% cpu (?:(?:(?P<h4>\d+):)?(?P<m4>\d+):)?(?P<s4>\d{1,6}[.,]\d{2,3}) total"
    r"|TotalSeconds\s+: (?P<s5>\d{1,6}(?:[.,]\d{1,7})?))$"
)
_BARE = re.compile(r"^(\d{1,6}[.,]\d{1,3})$")  # bash with TIMEFORMAT=%R
_JSON_TOTAL = re.compile(r'"time_total": ?(\d{1,6}\.\d{6})(?=[,}])')
_JSON_OTHER = re.compile(r'"time_(?:starttransfer|namelookup|connect)": ?(\d{1,6}\.\d{6})(?=[,}])')
_JSON_CODE = re.compile(r'"(?:http_code|response_code)": ?(\d{3})(?=[,}])')
_FORMAT = re.compile(r"""(?:-w|--write-out)[ =]?(?:"([^"\n]{1,300})"|'([^'\n]{1,300})')""")
_CANDIDATE = r"(?i)elapsed|\d\.\d{6}|^\d+[.,]\d{1,3}$|total|transfer|ttfb|first.byte|lookup|dns|connect|redirect|\btls\b|\bssl\b|http|code|status|^real\s"


class _State:
    """The block of labels that is open, and the rows so far."""

    def __init__(self, shell: bool, bare: bool = False, shape: re.Pattern[str] | None = None) -> None:
        self.counts = Counts()
        self.rows: list[Row] = []
        self.shell, self.bare, self.shape = shell, bare, shape
        self.block: list[tuple[int, str, float]] = []  # line, what, seconds
        self.code: str | None = None
        self.last_end = -BLOCK_LINES
        self.labels = 0  # lines of blocks that are not closed yet

    def add(self, line: int, latency: float, code: str | None) -> None:
        status = None if code is None else "ok" if code.startswith("2") else "failed"
        self.rows.append({"line": line, "request": f"line {line}", "latency_s": latency, "status": status})

    def close(self) -> None:
        """A block counts if it has one total, something else beside it, and nothing that lasts longer than the total."""
        block, self.block, code, self.code = self.block, [], self.code, None
        totals = [seconds for _, what, seconds in block if what == "total"]
        if len(totals) == 1 and len(block) > 1 and max(seconds for *_, seconds in block) <= totals[0] + 1e-6:
            self.counts.matched += len(block)
            self.last_end = block[-1][0]
            self.add(block[0][0], totals[0], code)
        else:
            self.counts.other += len(block)

    def take(self, line: int, text: str, whole: bool) -> None:
        if self.block and line - self.block[-1][0] > 2:
            self.close()
        label = _LABEL.match(text) if whole else None
        if label is not None:
            what = "total" if label[1] else "first" if label[2] else "early"
            if self.block and (line - self.block[0][0] >= BLOCK_LINES or any(w == what != "early" for _, w, _ in self.block)):
                self.close()
            self.block.append((line, what, _seconds(label[3])))
            return
        if not self._line(line, text, whole) and not self._real(line, text, whole):
            code = _CODE.search(text)
            if self.block and code is not None and whole and len(text) < 40:
                self.code = code[1]
                self.counts.matched += 1
            else:
                self.counts.other += 1

    def _line(self, line: int, text: str, whole: bool) -> bool:
        """One transfer on one line."""
        total = _TOTAL_IN.search(text)
        if total is None:
            return self._unlabelled(line, text, whole)
        others = [_seconds(m[1]) for m in _OTHER_IN.finditer(text)]
        code = _CODE.search(text) or _BARE_CODE.match(text)
        if not others and not (code and "time_total" in text.lower()):
            return False
        if not whole and total.end() >= len(text):
            self.counts.near(line, "the line is cut")
            return True
        if any(seconds > _seconds(total[1]) + 1e-6 for seconds in others):
            self.counts.near(line, "a part that lasts longer than the total")
            return True
        self.close()
        self.counts.matched += 1
        self.last_end = line
        self.add(line, _seconds(total[1]), code[1] if code else None)
        return True

    def _unlabelled(self, line: int, text: str, whole: bool) -> bool:
        """The object of `%{json}`, or the values of a format that the text shows."""
        total, others, status = _JSON_TOTAL.search(text), _JSON_OTHER.findall(text), _JSON_CODE.search(text)
        if total and others:
            seconds, code = _seconds(total[1]), status[1] if status else None
        elif self.shape and (found := self.shape.fullmatch(text.rstrip())):
            seconds, code, others = _seconds(found["total"]), found.groupdict().get("code"), []
        else:
            return False
        if not whole or any(_seconds(part) > seconds + 1e-6 for part in others):
            self.counts.near(line, "a part that lasts longer than the total" if whole else "the line is cut")
            return True
        self.close()
        self.counts.matched += 1
        self.last_end = line
        self.add(line, seconds, code)
        return True

    def _real(self, line: int, text: str, whole: bool) -> bool:
        real = _REAL.match(text.strip()) or (_BARE.match(text) if self.bare else None)
        if real is None or not whole:
            return False
        self.close()
        self.counts.matched += 1
        if self.shell and line - self.last_end > 3:
            parts = [v and (k[0], v) for k, v in real.groupdict().items()] if real.re is _REAL else [("s", real[1])]
            scale = {"h": 3600, "m": 60, "s": 1}
            self.add(line, round(sum(_seconds(v) * scale[k] for k, v in filter(None, parts)), 7), None)
        return True


def _seconds(text: str) -> float:
    return float(text.replace(",", "."))


def _read(first: int, block: str, state: _State) -> None:
    import polars as pl

    text = pl.Series([block]).str.split("\n").explode()
    complete = len(text) - 1
    text = text.head(complete) if block.endswith("\n") else text
    hit = text.str.contains(_CANDIDATE)
    blank = text.str.strip_chars().str.len_bytes() == 0
    state.counts.noise += int(blank.sum())
    state.counts.other += int((~hit & ~blank).sum())
    for at in (hit & ~blank).arg_true().to_list():
        state.take(first + at, text[at], at < complete)


def _timed_by_shell(text: str) -> bool:
    return (
        re.search(
            r"(?m)(?:^|[\s;&|(])(?:/usr/bin/|\\\\)?time (?:-\w+ )*curl\b|Command being timed: \"curl\b|^.{0,300}\bcurl\b.*% cpu .* total$"
            r"|(?i:Measure-Command\s*\{[^}]*\b(?:curl|iwr|irm|Invoke-\w+))",
            text,
        )
        is not None
    )


def _bare_times(text: str) -> bool:
    return re.search(r"TIMEFORMAT=['\"]?%\d?R", text) is not None


def _shape(text: str) -> re.Pattern[str] | None:
    """What the lines of the last format in the text look like, where it is one line of nothing but variables, a total among them."""
    for found in reversed(_FORMAT.findall(text)):
        said = re.sub(r"(?:\\n)+$", "", found[0] or found[1])
        if "%{time_total}" not in said or re.search(r"[A-Za-z]", re.sub(r"%\{\w+\}|\\t", "", said)) or "\\n" in said:
            continue
        shape = re.escape(said.replace("\\t", "\t"))
        shape = shape.replace(re.escape("%{time_total}"), r"(?P<total>\d{1,6}\.\d{6})", 1)
        for code in ("http_code", "response_code"):
            shape = shape.replace(re.escape(f"%{{{code}}}"), r"(?P<code>\d{3})", 1) if "(?P<code>" not in shape else shape
        shape = re.sub(r"%\\\{time_\w+\\\}", r"\\d{1,6}\\.\\d{6}", shape)
        return re.compile(re.sub(r"%\\\{\w+\\\}", r"\\S{1,300}", shape))
    return None


_SAMPLES = (
    Sample(
        text="a 200 start=15.029838 total=15.029956 size=437\nb 503 start=0.002000 total=0.002100 size=20\n"
        "c 000 start=0.000000 total=0.500000\n",
        rows={
            "requests": [
                {"line": 1, "origin": "client", "latency_s": 15.029956, "status": "ok", "ttft_s": None},
                {"latency_s": 0.0021, "status": "failed"},
                {"latency_s": 0.5, "status": "failed"},
            ]
        },
        versions="a line per transfer",
    ),
    Sample(
        text="""Timing Details:
DNS Resolution: 0.000686s
Connection Time: 0.000851s
Start Transfer Time: 0.065580s
Total Time: 28.455154s

real\t0m28.478s
user\t0m0.014s
sys\t0m0.013s
""",
        rows={"requests": [{"line": 2, "latency_s": 28.455154, "status": None}]},
        versions="a block of labels, and bash's time of the same transfer",
    ),
    Sample(
        text="    time_namelookup:  0,004\n       time_connect:  0,005\n time_starttransfer:  0,022\n         time_total:  1,500\n"
        "http_code: 200\n",
        rows={"requests": [{"latency_s": 1.5}]},
        versions="old curl, comma locale",
    ),
    Sample(
        text="$ time curl -s localhost:8000/v1/completions -d @body.json\n{...}\nreal\t1m2.478s\nuser\t0m0.014s\nsys\t0m0.013s\n",
        rows={"requests": [{"line": 3, "latency_s": 62.478, "status": None}]},
        versions="bash's time of curl",
    ),
)


class CurlTimes:
    """`curl -w` and `time curl`."""

    name = "curl-times"
    api = 1
    samples: Sequence[Sample] = _SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """At least one transfer in the head."""
        text = head.text
        if not re.search(
            r"(?i)time_total\"?:|%\{time_total\}|total(?:[ _]time)?\s*[:=]\s*\d|^real\s|elapsed|% cpu|TIMEFORMAT=|^TotalSeconds\s",
            text,
            re.M,
        ):
            return None
        state = _State(_timed_by_shell(text), _bare_times(text), _shape(text))
        _read(1, text if text.endswith("\n") else text + "\n", state)
        state.close()
        if state.rows:
            return Claim(55, f"{len(state.rows)} transfers timed by curl or the shell", shares=True)
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Emit `requests`."""
        import polars as pl

        head = source.head().text
        state = _State(_timed_by_shell(head), _bare_times(head), _shape(head))
        for first, block in source.blocks():
            _read(first, block, state)
        state.close()
        if state.rows:
            schema = {"line": pl.Int64, "origin": pl.String, "request": pl.String, "latency_s": pl.Float64, "status": pl.String}
            emit("requests", pl.DataFrame([{"origin": "client", **row} for row in state.rows], schema=schema))
        return state.counts


PARSER = CurlTimes()
