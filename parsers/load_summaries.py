"""What generic HTTP load tools print or export at the end of a run: hey, oha, k6, locust and ab.

**Reads** the `Summary:` of hey and oha, the report of ab (ApacheBench), the end-of-test summary of k6 (to 0.5x with `✓`/`✗`, from 1.0 with `out of`, compact or full), the
JSON of `k6 run --summary-export` and of `handleSummary`, and the tables of headless locust (0.x to 2.x); alone, several in one file, or
between other lines. The files these tools write request by request are read by load-tools.

**`bench_steps`**, one row per summary (locust: per endpoint of the last table of a run, with `series`):

- `requests`, `completed`, `failed`, `wall_s`, `req_s`, `e2e_mean_ms`, `e2e_p99_ms` where printed.
- `concurrency`: hey and oha do not print it. It is taken from the command line above the summary (`-c 8`, continued lines are joined), or
  from a line such as `c=8` or `concurrency: 8` directly above. k6 and locust print virtual users, which may sleep between requests: they
  count as streams only if requests were in flight at least 80 % of the time (rate times latency); else NULL, and a quality row says so.
- `rate_rps`: `-q` of oha; then its connections are only a cap.

**Traps.** oha chooses one unit for all its times, and over ten seconds that unit is `10 sec`: `Average: 1.5 10 sec` is 15 s. In old summaries
of k6 the `✓` of `http_req_failed` counts the failures. Where answers other than 2xx went into the latencies, these are NULL; k6's line
`{ expected_response:true }` is about the others and is used. A rate over failed requests is NULL. These tools know no tokens. ab
counts answers of another length than the first one as failed, which those of a model are: only its other kinds of failure count. locust
prints its table again and again, with the current rate: only the last table after `Shutting down` has the rate of the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, nested, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_clock, send_oddities, send_rows

__all__ = ["PARSER"]

CONTEXT = 1 << 14  # characters above a summary in which its command line may stand
BUSY = 0.8  # share of the time in which a virtual user must have had a request in flight to count as a stream
_NOTES = {
    "failures-mixed": "Failed requests went into the statistics of the tool: latency and rate are unknown.",
    "failures-unknown": "How many requests failed is not printed: latency and rate may be those of errors, and are left out.",
    "all-failed": "No request of the run succeeded: it has no measurements.",
    "think-time": "The virtual users were not waiting for an answer all the time: how many requests were in flight is unknown.",
}
_COLUMNS = (
    *("line", "series", "step", "concurrency", "rate_rps", "requests", "completed", "failed", "wall_s", "req_s"),
    *("e2e_mean_ms", "e2e_p99_ms"),
)


@dataclass
class _Out:
    """Rows, counts and oddities of one source."""

    counts: Counts = field(default_factory=Counts)
    rows: list[Row] = field(default_factory=list)
    odd: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_NOTES, 0))

    def step(self, row: Row, refused: float | None, unanswered: float | None) -> None:
        """A result; `refused` requests are in its latencies and its rate, `unanswered` ones in its rate only; None is unknown."""
        if row.get("completed") == 0:
            self.odd["all-failed"] += 1
            row |= {"req_s": None, "e2e_mean_ms": None, "e2e_p99_ms": None}
        elif refused is None or unanswered is None or refused > 0:
            self.odd["failures-mixed" if refused or unanswered else "failures-unknown"] += 1
            row |= {"req_s": None, "e2e_mean_ms": None, "e2e_p99_ms": None}
        elif unanswered > 0:
            row["req_s"] = None
        self.rows.append({k: float(f"{v:.12g}") if isinstance(v, float) else v for k, v in row.items()})

    def streams(self, users: float | None, in_flight: float | None) -> float | None:
        """Virtual users as offered streams, where they hardly ever paused."""
        if users and in_flight and in_flight >= BUSY * users:
            return users
        self.odd["think-time"] += bool(users)
        return None


def _figure(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"[0-9]{1,12}(?:\.[0-9]{1,18})?", text) else None


# --- hey and oha -----------------------------------------------------------------------------------------------------------------------

_SCALE = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "sec": 1.0,
    "secs": 1.0,
    "s": 1.0,
    "10 sec": 10.0,
    "min": 60.0,
    "10 min": 600.0,
    "hr": 3600.0,
}
_TIME = r"([0-9]+\.[0-9]+) (" + "|".join(sorted(_SCALE, key=len, reverse=True)) + ")"
_HTTP = re.compile(
    rf"[\s>#]*(?:(?P<start>Summary:)|Total:\s+(?P<wall>{_TIME})|Average:\s+(?P<mean>{_TIME})|Requests/sec:\s+(?P<rate>[0-9.]+)"
    rf"|99(?:\.00)?%\s+in\s+(?P<p99>{_TIME})|\[(?P<code>\d{{3}})\]\s+(?P<n>\d+) responses|(?P<errors>Error distribution:)"
    rf"|\[(?P<missed>\d{{1,9}})\]\s+(?P<why>\S.*)"
    rf"|(?P<rest>(?:Slowest|Fastest|Success rate|Total data|Size/request|Size/sec):.*|[0-9.]+%\s+in\s.*|Status code distribution:))\s*"
)
_LABEL = re.compile(
    r"(?i)(?:\b(?:concurrency|concurrent|conc|connections?|clients?|users?|c)\s?[=:]\s?(\d{1,6})\b|\b(\d{1,6}) (?:concurrent|connections|clients|users)\b)"
)


def _options(above: str) -> str:
    """The last command line of hey or oha in a text, continued lines joined, what is quoted taken out; "" without one."""
    joined = re.sub(r"\\\n", " ", above)
    lines = [
        line for line in joined.split("\n") if re.search(r"(?:^|[\s$>;&|/`])(?:hey|oha)\s", line) and re.search(r"https?:|localhost", line)
    ]
    return re.sub(r"'[^']*'|\"[^\"]*\"", "''", lines[-1]) if lines else ""


def _load(above: str) -> tuple[float | None, float | None]:
    """(concurrency, requests per second) of a run of hey or oha, from what stands above its summary."""
    options = _options(above)
    if options:
        if re.search(r"\s(?:-p|--http2-parallel|--burst-rate)\b", options):
            return None, None
        cap, rate = (re.search(rf"\s(?:{flags})[= ]?(\d+)(?=\s|$)", options) for flags in ("-c|--connections|--concurrency", "-q"))
        if rate and rate[1] != "0":
            return None, float(rate[1]) if "oha" in options else None  # the rate of hey is one of each worker
        return (float(cap[1]) or None) if cap else None, None
    near = [line for line in above.split("\n") if line.strip()][-2:]
    told = [m[1] or m[2] for line in near if len(line) <= 120 and (m := _LABEL.search(line))]
    return (float(told[-1]) or None) if told else None, None


class _Http:
    """Summaries of hey and oha."""

    def __init__(self, out: _Out) -> None:
        self.out = out
        self.seen: dict[str, Any] = {}
        self.pending, self.missed, self.errors = 0, 0.0, False

    def take(self, line: int, text: str, above: Callable[[], str]) -> bool:
        found = _HTTP.fullmatch(text)
        if not found or (not self.seen and not found["start"]):
            return False
        if found["start"]:
            self.close()
            self.seen, self.pending = {"line": line, "codes": {}}, 1
            self.seen["load"] = _load(above())
            return True
        self.pending += 1
        if found["errors"]:
            self.errors = True
        elif found["code"] and not self.errors:
            self.seen["codes"][found["code"]] = float(found["n"])
        elif found["missed"] and self.errors:
            # oha calls what it cut off itself at the end an error; these requests are in none of its figures
            self.missed += 0.0 if found["why"].startswith("aborted due to deadline") else float(found["missed"])
        for key in ("wall", "mean", "p99", "rate"):
            if found[key] and key not in self.seen:  # further distributions are about a part of the requests
                self.seen[key] = found[key]
        return True

    def close(self) -> None:
        seen, codes = self.seen, self.seen.get("codes", {})
        if {"wall", "mean", "rate"} <= set(seen):
            self.out.counts.matched += self.pending
            row: Row = {"line": seen["line"], "concurrency": seen["load"][0], "rate_rps": seen["load"][1]}
            row |= {"wall_s": self.seconds("wall"), "req_s": _figure(seen["rate"]) or None}
            row |= {f"e2e_{k}_ms": v * 1e3 for k in ("mean", "p99") if (v := self.seconds(k))}
            good = sum(n for code, n in codes.items() if code[0] == "2")
            refused = sum(codes.values()) - good
            if codes or self.missed:
                row |= {"requests": good + refused + self.missed, "completed": good, "failed": refused + self.missed}
            self.out.step(row, refused if codes else None, self.missed)
        else:
            self.out.counts.other += self.pending
        self.seen, self.pending, self.missed, self.errors = {}, 0, 0.0, False

    def seconds(self, key: str) -> float | None:
        found = re.fullmatch(_TIME, self.seen.get(key) or "")
        return float(found[1]) * _SCALE[found[2]] or None if found else None


# --- k6 --------------------------------------------------------------------------------------------------------------------------------

_K6 = re.compile(
    r"[\s>#/✓✗]*(?:(?P<key>http_req_duration|http_req_failed|http_reqs|iteration_duration|iterations|vus|vus_max|\{ ?expected_response:true ?\})"
    r"\.{3,}: +(?P<value>\S.*)|running \((?P<ran>[0-9hms.]+)\), .*|\* \w+: (?P<plan>.*VUs.*)|(?P<heading>█ .*)|(?P<execution>execution: \w+))\s*"
)
_GO = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([0-9.]+)(ns|us|µs|μs|ms|s))?")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0}


def _go(text: str | None) -> float | None:
    """Seconds of a duration such as 1m2.5s, 635.5ms, 12µs."""
    found = _GO.fullmatch(text or "")
    if not found or not any(found.groups()):
        return None
    rest = _figure(found[3]) if found[3] else 0.0
    return None if rest is None else int(found[1] or 0) * 3600 + int(found[2] or 0) * 60 + rest * _UNITS[found[4] or "s"]


def _stat(text: str | None, name: str) -> float | None:
    found = re.search(rf"(?:^|\s){re.escape(name)}=([0-9a-zµμ.]+)", text or "")
    return _go(found[1]) if found else None


class _K6Summary:
    """End-of-test summaries of k6."""

    def __init__(self, out: _Out) -> None:
        self.out = out
        self.seen: dict[str, str] = {}
        self.ran: float | None = None
        self.users: str | None = None
        self.open, self.lines = True, 0

    def take(self, line: int, text: str) -> bool:
        found = _K6.fullmatch(text)
        if not found:
            return False
        if found["heading"] or found["execution"]:
            # the full summary repeats the metrics for every group and scenario
            self.open = not re.match(r"█ (?:GROUP|SCENARIO)", found["heading"] or "")
            if found["execution"]:
                self.close()
                self.ran = self.users = None
            return False
        if found["ran"]:
            self.ran = _go(found["ran"])
            return False
        if found["plan"]:
            plan = re.match(
                r"(\d+) looping VUs for|\d+ iterations shared among (\d+) VUs|\d+ iterations for each of (\d+) VUs", found["plan"]
            )
            many = self.users is not None
            self.users = "" if many or not plan else next(g for g in plan.groups() if g)
            return False
        if not self.open:
            return False
        key = found["key"].replace(" ", "")
        if key in self.seen or (key == "{expected_response:true}" and "http_req_duration" not in self.seen):
            if key != "http_req_duration":
                return False
            self.close()
        self.seen[key] = found["value"]
        self.seen.setdefault("line", str(line))
        self.lines += 1
        return True

    def close(self) -> None:
        seen, lines = self.seen, self.lines
        self.seen, self.lines = {}, 0
        count, failed = re.match(r"(\d+)\b.*?([0-9.]+)/s", seen.get("http_reqs", "")), _k6_failed(seen.get("http_req_failed"))
        if "http_req_duration" not in seen or not count:
            self.out.counts.other += lines
            return
        self.out.counts.matched += lines
        requests, all_mean = float(count[1]), _stat(seen["http_req_duration"], "avg")
        good = seen.get("{expected_response:true}") if failed else seen["http_req_duration"]
        rate = _figure(count[2])
        row: Row = {"line": int(seen["line"]), "requests": requests, "wall_s": self.ran, "req_s": rate or None}
        row |= {f"e2e_{k}_ms": v * 1e3 for k, name in (("mean", "avg"), ("p99", "p(99)")) if (v := _stat(good, name))}
        if failed is not None:
            row |= {"completed": requests - failed, "failed": failed}
        users = _figure(self.users) if self.users is not None else _constant(seen.get("vus"))
        row["concurrency"] = self.out.streams(users, rate * all_mean if rate and all_mean else None)
        self.out.step(row, 0.0 if good is not None and failed is not None else None, failed)
        self.ran = self.users = None


def _k6_failed(text: str | None) -> float | None:
    """How many requests failed: in old summaries the number after the tick counts what is true, and that is "failed"."""
    found = re.search(r"% +✓ (\d+) +✗ \d+|% +(\d+) out of \d+", re.sub(r"[—-] ", "", text or ""))
    return float(found[1] or found[2]) if found else None


def _constant(text: str | None) -> float | None:
    """The number of virtual users where it never changed."""
    found = re.match(r"(\d+) +min=(\d+) +max=(\d+)", text or "")
    return float(found[1]) if found and found[1] == found[2] == found[3] else None


def _k6_json(doc: Json, line: int, out: _Out) -> Row | None:
    """The row of an exported summary: statistics beside the metric's name (`--summary-export`) or under `values` (`handleSummary`)."""

    def metric(name: str) -> Json:
        held = nested(doc, "metrics", name)
        return nested(held, "values") or held

    times, reqs, bad = metric("http_req_duration"), metric("http_reqs"), metric("http_req_failed")
    requests, rate, failed = num(reqs.get("count")), pos(reqs.get("rate")), num(bad.get("passes"))
    if not times or requests is None:
        return None
    good = metric("http_req_duration{expected_response:true}") if failed else times
    row: Row = {"line": line, "requests": requests, "req_s": rate, "wall_s": pos(nested(doc, "state").get("testRunDurationMs"), 1e-3)}
    row |= {"e2e_mean_ms": pos(good.get("avg")), "e2e_p99_ms": pos(good.get("p(99)"))}
    if failed is not None and failed <= requests:
        row |= {"completed": requests - failed, "failed": failed}
    vus, mean = metric("vus"), pos(times.get("avg"))
    users = pos(vus.get("max")) if vus.get("max") == vus.get("min") else None
    row["concurrency"] = out.streams(users, rate * mean / 1e3 if rate and mean else None)
    out.step(row, 0.0 if good and failed is not None else None, failed)
    return row


# --- locust ----------------------------------------------------------------------------------------------------------------------------

_LOCUST = re.compile(
    r"[\s>#]*(?:(?P<header>(?:Type\s+)?Name\s+# reqs\s+# fails\s+.*Avg\s.*)|(?P<percentiles>(?:Type\s+)?Name\s.*\s99%\s.*# reqs)"
    r"|.*All users spawned:.*\((?P<users>\d+) total (?:users|running)\)|.*(?P<end>Shutting down \(exit code).*|.*(?P<begin>Starting Locust) \S+.*"
    r"|(?P<name>\S.*?|)\s+(?P<n>\d+)\s+(?P<bad>\d+)(?:\([0-9.]+%\))?\s+\|?\s+(?P<avg>\d+)\s+\d+\s+\d+\s.*?\|\s+(?:\d+\s+)?(?P<rate>[0-9]+\.[0-9]+)(?:\s+[0-9.]+)?"
    r"|(?P<named>\S.*?|)(?P<cells>(?:\s+(?:\d+|N/A)){6,13})|(?P<rule>-{3,}[-|]+))\s*"
)


class _Locust:
    """The last table of every headless run, endpoint by endpoint."""

    def __init__(self, out: _Out) -> None:
        self.out = out
        self.rows: dict[str, dict[str, Any]] = {}
        self.columns: list[str] = []
        self.users: float | None = None
        self.ended, self.mode, self.lines = False, "", 0

    def take(self, line: int, text: str) -> bool:
        found = _LOCUST.fullmatch(text)
        if not found:
            self.mode = ""
            return False
        if found["begin"]:
            self.close()
        elif found["users"]:
            self.users = float(found["users"])
        elif found["end"]:
            self.ended = True
        elif found["header"]:
            self.mode, self.rows = "table", {}
            self.lines += 1
            return True
        elif found["percentiles"]:
            self.mode, self.columns = "percentiles", re.findall(r"[0-9.]+%|# reqs", text)
            self.lines += 1
            return True
        elif self.mode == "table" and found["n"]:
            self.rows[re.sub(r"\s+", " ", found["name"]).strip()] = {"line": line, "ended": self.ended} | found.groupdict()
            self.lines += 1
            return True
        elif self.mode == "percentiles" and found["cells"]:
            cells = found["cells"].split()
            row = self.rows.get(re.sub(r"\s+", " ", found["named"]).strip())
            if row and len(cells) == len(self.columns):
                row["p99"] = _figure(cells[self.columns.index("99%")])
            self.lines += 1
            return True
        elif found["rule"] and self.mode:
            self.lines += 1
            return True
        return False

    def close(self) -> None:
        total = {name: r for name, r in self.rows.items() if name in ("Aggregated", "Total", "")}
        single = {name: r for name, r in self.rows.items() if name not in total} or total
        self.out.counts.matched += self.lines if self.rows else 0
        self.out.counts.other += 0 if self.rows else self.lines
        flows = [float(r["rate"]) * float(r["avg"]) / 1e3 for r in single.values() if r["ended"]]
        busy = self.out.streams(self.users, sum(flows) if len(flows) == len(single) and flows else None) if self.rows else None
        for name, r in single.items():
            requests, failed = float(r["n"]), float(r["bad"])
            if not requests or failed > requests:
                continue
            row: Row = {"line": r["line"], "series": re.sub(r"^[A-Z]+ ", "", name)[:200] if single is not total else None}
            row |= {"requests": requests, "completed": requests - failed, "failed": failed, "e2e_p99_ms": r.get("p99") or None}
            row |= {"e2e_mean_ms": float(r["avg"]) or None, "req_s": (float(r["rate"]) or None) if r["ended"] else None}
            row["concurrency"] = busy if len(single) == 1 else None
            self.out.step(row, failed, 0.0)
        self.rows, self.users, self.ended, self.mode, self.lines = {}, None, False, "", 0


# --- ab --------------------------------------------------------------------------------------------------------------------------------

_AB = re.compile(
    r"[\s>#]*(?:(?P<load>Concurrency Level: +(?P<c>\d+))|Time taken for tests: +(?P<wall>[0-9.]+) seconds|Complete requests: +(?P<done>\d+)"
    r"|Failed requests: +(?P<bad>\d+)|\(Connect: (?P<connect>\d+), Receive: (?P<receive>\d+), Length: \d+, Exceptions: (?P<thrown>\d+)\)"
    r"|Non-2xx responses: +(?P<refused>\d+)|Requests per second: +(?P<rate>[0-9.]+) \[#/sec\] \(mean\)"
    r"|Time per request: +(?P<mean>[0-9.]+) \[ms\] \(mean\)|99% +(?P<p99>\d+)"
    r"|(?P<rest>Time per request: .*across all concurrent requests\)|(?:100|[1-9]\d)% +\d+(?: \(longest request\))?))\s*"
)


class _ApacheBench:
    """Reports of ab."""

    def __init__(self, out: _Out) -> None:
        self.out = out
        self.seen: dict[str, str] = {}
        self.line, self.lines = 0, 0

    def take(self, line: int, text: str) -> bool:
        found = _AB.fullmatch(text)
        if not found or (not self.seen and not found["load"]):
            return False
        if found["load"]:
            self.close()
            self.line = line
        self.lines += 1
        self.seen |= {k: v for k, v in found.groupdict().items() if v is not None}
        return True

    def close(self) -> None:
        seen = {k: float(v) for k, v in self.seen.items() if re.fullmatch(r"[0-9]{1,12}(?:\.[0-9]{1,12})?", v)}
        lines, self.seen, self.lines = self.lines, {}, 0
        if not {"c", "wall", "done", "bad", "rate"} <= set(seen):
            self.out.counts.other += lines
            return
        self.out.counts.matched += lines
        unanswered = sum(seen[k] for k in ("connect", "receive", "thrown")) if "connect" in seen else (0.0 if not seen["bad"] else None)
        refused = seen.get("refused", 0.0)
        row: Row = {"line": self.line, "concurrency": seen["c"] or None, "requests": seen["done"], "wall_s": seen["wall"] or None}
        if unanswered is not None:
            failed = min(seen["done"], unanswered + refused)
            row |= {"completed": seen["done"] - failed, "failed": failed}
        row |= {"req_s": seen["rate"] or None, "e2e_mean_ms": seen.get("mean") or None, "e2e_p99_ms": seen.get("p99") or None}
        self.out.step(row, None if unanswered is None else refused + unanswered, 0.0)


# --- the parser ------------------------------------------------------------------------------------------------------------------------

_HINT = r"Concurrency Level|Time taken for|requests:|Requests per|Time per|\(Connect:|Non-2xx|^ +\d+% +\d|Summary:|Total:|Average:|Requests/sec|Slowest:|Fastest:|Success rate:|% +in |Size/|\]\s|distribution|http_req|iteration|expected_resp|vus|running|\* |█|execution:|# reqs|Aggregated|\||---|All users|Locust|Shutting|\d+\s+\d+\s+\d+"


def _k6_like(keys: set[str]) -> bool:
    return {"metrics", "http_reqs", "http_req_duration"} <= keys


class LoadSummaries:
    """Summaries of hey, oha, k6 and locust; see the module's page."""

    name = "load-summaries"
    api = 1
    beyond = ("Requests/sec:", "http_reqs...", "# reqs ", "Concurrency Level:")

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """At least one whole summary in the head."""
        if _k6_like(json_keys(head.text)):
            return Claim(85, "an exported summary of k6")
        if not re.search(r"Requests/sec:|http_reqs\.{3}|# reqs\s+# fails|Concurrency Level: +\d", head.text):
            return None
        out = _lines([(1, head.text if head.text.endswith("\n") else head.text + "\n")])
        if out.rows:
            return Claim(70, f"what a load tool printed at the end of {len(out.rows)} runs", shares=True)
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps`, `quality` and one of `clocks`."""
        out = _documents(source) if _k6_like(json_keys(source.head().text)) else _lines(source.blocks())
        rows = [row | {"step": step} for step, row in enumerate(out.rows, 1)]
        if rows:
            send_rows(emit, "bench_steps", rows, _COLUMNS)
            send_clock(emit, rows[0]["line"], "none", None, None)
            send_oddities(emit, rows[0]["line"], out.odd, _NOTES)
        return out.counts


def _documents(source: Readable) -> _Out:
    out, lines = _Out(), JsonLines(source)
    for first, last, doc in json_objects(lines):
        if doc is None:
            lines.near(first, "a summary that is cut or garbled")
        elif _k6_json(doc, first, out) is not None:
            lines.add(first, last, "matched")
    out.counts = lines.close()
    return out


def _lines(blocks: Any) -> _Out:
    """Only lines that could belong to a summary are looked at one by one."""
    import polars as pl

    out, before = _Out(), ""
    http, k6, locust, ab = _Http(out), _K6Summary(out), _Locust(out), _ApacheBench(out)
    for first, block in blocks:
        lines = pl.Series(block.split("\n"), dtype=pl.String)
        whole = block.endswith("\n")
        lines = lines.head(len(lines) - 1) if whole else lines
        hit = lines.str.contains(_HINT) & (lines.str.len_bytes() <= 500)
        out.counts.other += int((~hit).sum())
        for at in hit.arg_true().to_list():
            text = lines[at]
            if not whole and at == len(lines) - 1:
                out.counts.near(first + at, "the last line is cut")
                continue

            def above(at: int = at, lines: pl.Series = lines, before: str = before) -> str:
                return (before + "\n".join(lines[:at]))[-CONTEXT:].rpartition("Requests/sec:")[2]

            if not (http.take(first + at, text, above) or any(reader.take(first + at, text) for reader in (k6, locust, ab))):
                out.counts.other += 1
        before = (before + block)[-CONTEXT:]
    for reader in (http, k6, locust, ab):
        reader.close()
    out.rows.sort(key=lambda r: r["line"])
    return out


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "$ hey -n 60 -c 8 -m POST -d '{\"prompt\": \"-c 99\"}' http://localhost:8000/v1/completions\n\nSummary:\n  Total:\t30.0500 secs\n"
        "  Slowest:\t6.5000 secs\n  Fastest:\t1.2500 secs\n  Average:\t3.7500 secs\n  Requests/sec:\t1.9967\n  \n  Total data:\t12345 bytes\n"
        "  Size/request:\t205 bytes\n\nResponse time histogram:\n  1.250 [1]\t|■\n  6.500 [59]\t|■■■■\n\n\nLatency distribution:\n"
        "  50% in 3.7000 secs\n  99% in 6.4500 secs\n\nDetails (average, fastest, slowest):\n  DNS+dialup:\t0.0003 secs, 0.0000 secs, 0.0090 secs\n"
        "\nStatus code distribution:\n  [200]\t60 responses\n\n",
        {
            "bench_steps": [
                {"line": 3, "step": 1, "concurrency": 8.0, "requests": 60.0, "completed": 60.0, "failed": 0.0, "wall_s": 30.05,
                 "req_s": 1.9967, "e2e_mean_ms": 3750.0, "e2e_p99_ms": 6450.0}
            ],
            "clocks": [{"kind": "none"}],
            "quality": [],
        },
        "hey",
    ),
    Sample(
        "Summary:\n  Success rate:\t100.00%\n  Total:\t6.0500 10 sec\n  Slowest:\t1.6500 10 sec\n  Fastest:\t0.1250 10 sec\n"
        "  Average:\t1.5000 10 sec\n  Requests/sec:\t0.5250\n\n  Total data:\t12.50 KiB\n  Size/request:\t205 B\n  Size/sec:\t25 B\n\n"
        "Response time histogram:\n   0.125 10 sec [1] |■\n\nResponse time distribution:\n  50.00% in 1.4500 10 sec\n  99.00% in 1.6250 10 sec\n"
        "  99.90% in 1.6400 10 sec\n\n\nDetails (average, fastest, slowest):\n  DNS+dialup:\t0.0001 10 sec, 0.0000 10 sec, 0.0002 10 sec\n\n"
        "Status code distribution:\n  [200] 30 responses\n\nError distribution:\n  [4] aborted due to deadline\n",
        {
            "bench_steps": [
                {"line": 1, "concurrency": None, "requests": 30.0, "completed": 30.0, "failed": 0.0, "wall_s": 60.5, "req_s": 0.525,
                 "e2e_mean_ms": 15000.0, "e2e_p99_ms": 16250.0}
            ]
        },
        "oha, answers longer than ten seconds",
    ),
    Sample(
        "     execution: local\n     scenarios: (100.00%) 1 scenario, 8 max VUs, 1m0s max duration (incl. graceful stop):\n"
        "              * default: 8 looping VUs for 30s (gracefulStop: 30s)\n\nrunning (0m31.5s), 0/8 VUs, 60 complete and 0 interrupted iterations\n"
        "     checks.........................: 100.00% ✓ 60        ✗ 0\n"
        "     http_req_duration..............: avg=3.75s    min=1.2s     med=3.7s  max=6.5s p(90)=6.1s p(95)=6.2s p(99)=6.4s\n"
        "       { expected_response:true }...: avg=4.1s    min=1.2s     med=3.7s  max=6.5s p(90)=6.1s p(95)=6.2s p(99)=6.45s\n"
        "     http_req_failed................: 10.00%  ✓ 6         ✗ 54\n     http_reqs......................: 60      1.95/s\n"
        "     iteration_duration.............: avg=3.76s    min=1.2s med=3.7s\n     iterations.....................: 60      1.95/s\n"
        "     vus............................: 8       min=8       max=8\n     vus_max........................: 8       min=8       max=8\n",
        {
            "bench_steps": [
                {"line": 7, "concurrency": 8.0, "requests": 60.0, "completed": 54.0, "failed": 6.0, "wall_s": 31.5, "req_s": None,
                 "e2e_mean_ms": 4100.0, "e2e_p99_ms": 6450.0}
            ]
        },
        "k6 to 0.5x: the tick counts the failures",
    ),
    Sample(
        "  █ TOTAL RESULTS\n\n    HTTP\n    http_req_duration..............: avg=635.5ms min=90µs med=600ms max=1.91s p(90)=93.16ms p(95)=96.1ms\n"
        "      { expected_response:true }...: avg=635.5ms min=90µs med=600ms max=1.91s p(90)=93.16ms p(95)=96.1ms\n"
        "    http_req_failed................: 0.00%  0 out of 500\n    http_reqs......................: 500   7.5/s\n\n    EXECUTION\n"
        "    iteration_duration.............: avg=1.64s min=1.2s med=1.6s\n    vus............................: 12      min=12       max=12\n\n"
        "  █ SCENARIO: chat\n\n    HTTP\n    http_req_duration..............: avg=1s min=90µs med=600ms\n"
        "    http_reqs......................: 250   3.5/s\n",
        {
            "bench_steps": [{"line": 4, "concurrency": None, "requests": 500.0, "failed": 0.0, "req_s": 7.5, "e2e_mean_ms": 635.5}],
            "quality": [{"kind": "think-time"}],
        },
        "k6 1.0, full summary, users that sleep",
    ),
    Sample(
        '{"metrics": {"http_req_duration": {"avg": 3750.5, "med": 3700, "p(99)": 6400.5}, "http_reqs": {"count": 60, "rate": 2.0},'
        ' "http_req_failed": {"passes": 0, "fails": 60, "value": 0}, "vus": {"value": 8, "min": 8, "max": 8}}, "root_group": {}}\n',
        {
            "bench_steps": [
                {"concurrency": 8.0, "requests": 60.0, "completed": 60.0, "failed": 0.0, "req_s": 2.0, "e2e_mean_ms": 3750.5,
                 "e2e_p99_ms": 6400.5, "wall_s": None}
            ]
        },
        "k6 --summary-export",
        name="summary.json",
    ),
    Sample(
        "[2026-03-01 10:00:00,000] box/INFO/locust.main: Starting Locust 2.32.0\n"
        "[2026-03-01 10:00:01,000] box/INFO/locust.runners: All users spawned: {\"Chat\": 8} (8 total users)\n"
        "Type     Name                     # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s\n"
        "--------|-----------------------|-------|-------------|-------|-------|-------|-------|--------|-----------\n"
        "POST     /v1/chat/completions        10     0(0.00%) |   3900    1200    6500   3700 |    1.20        0.00\n"
        "--------|-----------------------|-------|-------------|-------|-------|-------|-------|--------|-----------\n"
        "         Aggregated                  10     0(0.00%) |   3900    1200    6500   3700 |    1.20        0.00\n\n"
        "[2026-03-01 10:00:31,000] box/INFO/locust.main: Shutting down (exit code 0)\n"
        "Type     Name                     # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s\n"
        "--------|-----------------------|-------|-------------|-------|-------|-------|-------|--------|-----------\n"
        "POST     /v1/chat/completions        60     0(0.00%) |   3750    1200    6500   3700 |    2.00        0.00\n"
        "--------|-----------------------|-------|-------------|-------|-------|-------|-------|--------|-----------\n"
        "         Aggregated                  60     0(0.00%) |   3750    1200    6500   3700 |    2.00        0.00\n\n"
        "Response time percentiles (approximated)\n"
        "Type     Name                 50%    66%    75%    80%    90%    95%    98%    99%  99.9% 99.99%   100% # reqs\n"
        "--------|--------------------|--------|------|------|------|------|------|------|------|------|------|------|------\n"
        "POST     /v1/chat/completions   3700   3800   3900   4000   5000   6000   6300   6400   6500   6500   6500     60\n"
        "--------|--------------------|--------|------|------|------|------|------|------|------|------|------|------|------\n"
        "         Aggregated             3700   3800   3900   4000   5000   6000   6300   6400   6500   6500   6500     60\n",
        {
            "bench_steps": [
                {"line": 12, "series": "/v1/chat/completions", "concurrency": 8.0, "requests": 60.0, "completed": 60.0, "failed": 0.0,
                 "req_s": 2.0, "e2e_mean_ms": 3750.0, "e2e_p99_ms": 6400.0}
            ]
        },
        "locust 2",
    ),
    Sample(
        "Concurrency Level:      8\nTime taken for tests:   30.500 seconds\nComplete requests:      60\nFailed requests:        59\n"
        "   (Connect: 0, Receive: 0, Length: 59, Exceptions: 0)\nTotal transferred:      12345 bytes\n"
        "Requests per second:    1.97 [#/sec] (mean)\nTime per request:       4066.667 [ms] (mean)\n"
        "Time per request:       508.333 [ms] (mean, across all concurrent requests)\n\n"
        "Percentage of the requests served within a certain time (ms)\n  50%   4000\n  99%   6000\n 100%   6100 (longest request)\n",
        {
            "bench_steps": [
                {"line": 1, "concurrency": 8.0, "requests": 60.0, "completed": 60.0, "failed": 0.0, "wall_s": 30.5, "req_s": 1.97,
                 "e2e_mean_ms": 4066.667, "e2e_p99_ms": 6000.0}
            ]
        },
        "ab: answers of different length are no failures",
    ),
    Sample(
        " Name                                      # reqs      # fails     Avg     Min     Max  |  Median   req/s\n"
        "-----------------------------------------------------------------------------------------------\n"
        " GET /v1/chat                                 117     3(2.56%)      31      17      96  |      28    2.10\n"
        "-----------------------------------------------------------------------------------------------\n",
        {
            "bench_steps": [{"series": "/v1/chat", "requests": 117.0, "completed": 114.0, "failed": 3.0, "req_s": None, "e2e_mean_ms": None}],
            "quality": [{"kind": "failures-mixed"}],
        },
        "locust 0.x, failures in the statistics",
    ),
)  # fmt: skip

PARSER = LoadSummaries()
