"""Columns of one hand-written table on the way to steps: their numbers, the scope of a token rate, units, what the rates count.

A column has a header (headers.py) and cells (cells.py); what neither says is decided from the columns beside it or stays unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from .cells import Token, decimal_sign, to_number
from .headers import LATENCIES, TOKEN_RATES, Meaning, plain

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
    **{("e2e", s): f"e2e_{s}_ms" for s in ("p50", "p99")},
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
        if rank == 1 and self._hardly_in_flight():
            return "column concurrency: not half as many requests were in flight: are these requests or streams?"
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
            if self._alone(c):
                continue
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

    def _alone(self, column: Column) -> bool:
        """A rate that is known for one stream only is that of all streams and of one: it fills the gaps of the columns that say so."""
        rates = [d for d in (self._of("aggregate"), self._of("per_stream")) if d]
        pairs = self._pairs(column)
        if not pairs or not rates or any(c > 1 or d.values[n] is not None for c, _, n in pairs for d in rates):
            return False
        for d in rates:
            d.values, d.halves = list(d.values), list(d.halves)
            for _, value, n in pairs:
                d.values[n], d.halves[n] = value, column.halves[n]
        self.members.remove(column)
        return True

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
            if c.means.role == "e2e" and self._makes_one_token(c):
                self._drop(c, f"column {label(c)}: about one token was made in it: the time of a token or of a request?")
                continue
            if c.means.role in LATENCIES and not c.means.stat:
                self.notes.append(("mean-assumed", f"A column that names no statistic ({c.means.role}) was read as the mean."))
        for c in [c for c in self.members if c.target == "tpot_mean_ms" and self._of_all_streams(c)]:
            self._drop(c, "column tpot: far less than the latency has per token: one over the rate of all streams?")

    def _of_all_streams(self, column: Column) -> bool:
        """In every row the tokens of a request times this time give less than half of what its latency holds beyond the first token."""
        length = next((c for c in self.columns if c.means.role == "output_len"), None)
        e2e, ttft = (next((c for c in self.members if c.target == f"{k}_mean_ms"), None) for k in ("e2e", "ttft"))
        if length is None or e2e is None:
            return False
        rows = [
            (t * (k - 1), ms - ((self._value(ttft, n) or 0.0) if ttft else 0.0))
            for n in self.valid
            if (t := self._value(column, n)) and (ms := self._value(e2e, n)) and (k := length.values[n]) and k > 2
        ]
        return bool(rows) and ttft is not None and all(spent < 0.5 * left for spent, left in rows)

    def _makes_one_token(self, column: Column) -> bool:
        """In every row the rate of one stream times this latency is about a token: it is hardly the time of a whole request."""
        made = [r * v / 1000 for n in self.valid if (v := self._value(column, n)) is not None and (r := self._per_token(n))]
        return len(made) >= 2 and max(made) < 2

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
        if agg and agg.means.counts == "output" and self._more_than_was_made(agg):
            self._drop(agg, "column aggregate: more tokens per second than the requests per second have")
            agg = None
        if agg:
            counts = agg.means.counts
            self.agg_counts = counts if counts in ("output", "total") else "total" if counts == "total?" and not per else None
        if per:
            self.per_counts = self._derived(agg, per) or self._by_time(per) or ("decode" if per.means.decode else None)

    def _hardly_in_flight(self) -> bool:
        """By rate and latency (Little's law) under half as many requests were in flight as the column of streams says, in every row
        above one: a letter such as N then counts the requests that were sent."""
        rate = self._of("req_s")
        e2e = next((c for c in self.members if c.target == "e2e_mean_ms"), None)
        if rate is None or e2e is None:
            return False
        rows = [(c, v, ms) for c, v, n in self._pairs(rate) if c > 1 and (ms := self._value(e2e, n))]
        return bool(rows) and all(v * ms / 1000 < 0.5 * c for c, v, ms in rows)

    def _more_than_was_made(self, agg: Column) -> bool:
        """A rate of output over a quarter above requests per second times their length: it is worked out from the time per token."""
        rate, length = self._of("req_s"), next((c for c in self.columns if c.means.role == "output_len"), None)
        if rate is None or length is None:
            return False
        made = [(v, r * k) for n in self.valid if (v := agg.values[n]) and (r := rate.values[n]) and (k := length.values[n])]
        return any(v > 1.25 * out for v, out in made)

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
