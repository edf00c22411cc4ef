"""Edge matching: the offset between two clocks from the edges of load in both, or no offset at all.

One side says when requests were in flight, the other when the cards worked. The offset at which both agree is found among the
differences of their edges; it is accepted only if the agreement is strong, unique, and rests on enough edges. A wrong accepted
offset is an error of the worst kind, so everything doubtful is refused with its reason.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

MIN_EDGES = 6
MIN_OVERLAP_S = 300.0
MIN_R = 0.8
MIN_LEAD = 0.2
ZONE_STEP_S = 900.0  # zones differ by multiples of a quarter of an hour
ZONE_SLACK_S = 10.0
SEARCH_S = 14 * 3600 + ZONE_SLACK_S
MAX_RESIDUAL_S = 5.0
MAX_EDGES = 400  # edges used to propose offsets; the agreement itself always uses all of them
MAX_PROPOSALS = 60

Spans = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Match:
    """`offset_s` is what to add to the load's clock to get the cards' clock; NULL with a reason where nothing is claimed."""

    offset_s: float | None
    uncertainty_s: float | None
    r: float | None
    runner_up: float | None
    edges: int
    overlap_s: float
    reason: str


def match(load: Spans, busy: Spans, seen: Spans, step_s: float, zones: bool, around: float | None = None) -> Match:
    """The offset between two clocks.

    load    in-flight intervals on the load's clock, in order and disjoint.
    busy    intervals in which the cards worked, on theirs; `seen` are the stretches in which they were sampled at all.
    step_s  the sampling step of the cards: no edge is known better.
    zones   both clocks belong to one host and print local time: only multiples of a quarter of an hour are possible.
    around  an offset that is already estimated: only its neighbourhood (two minutes) is searched.
    """
    if len(load) * 2 < MIN_EDGES or len(busy) * 2 < MIN_EDGES:
        return _none(f"too few edges ({2 * min(len(load), len(busy))}, {MIN_EDGES} are needed)", 2 * min(len(load), len(busy)))
    load_sums, busy_sums, seen_sums = _Sums(load), _Sums(busy), _Sums(seen)
    tried = []
    for offset in _proposals(load, busy, step_s, zones, around):
        r, overlap = _agreement(load_sums, busy_sums, seen_sums, offset)
        if r is not None:
            tried.append((r, overlap, offset))
    tried.sort(reverse=True)
    if not tried:
        return _none("the two recordings do not overlap enough", 0)
    return _accept(tried, load, busy, load_sums, seen_sums, step_s, zones)


def _accept(
    tried: list[tuple[float, float, float]], load: Spans, busy: Spans, load_sums: _Sums, seen_sums: _Sums, step_s: float, zones: bool
) -> Match:
    """The best offset, refined, if it passes every test; otherwise no offset and why."""
    r, overlap, offset = tried[0]
    block = median(e - s for s, e in load) if load else 0.0
    others = [t[0] for t in tried if abs(t[2] - offset) > max(block, 2 * step_s, 5.0)]
    runner_up = max(others, default=0.0)
    edges, residuals = _residuals(load, busy, seen_sums, offset, step_s)
    found = Match(None, None, r, runner_up, edges, overlap, "")
    if overlap < MIN_OVERLAP_S:
        return _with(found, f"only {overlap:.0f} s of overlap, {MIN_OVERLAP_S:.0f} are needed")
    if edges < MIN_EDGES:
        return _with(found, f"only {edges} edges agree, {MIN_EDGES} are needed")
    if r < MIN_R:
        return _with(found, f"the best agreement is {r:.2f}, {MIN_R} is needed")
    if runner_up > r - MIN_LEAD:
        return _with(found, f"another offset agrees almost as well ({runner_up:.2f} against {r:.2f})")
    shift = median(residuals)
    refined = offset + shift
    spread = sorted(abs(x - shift) for x in residuals)[int(0.9 * (len(residuals) - 1))]
    if spread > max(MAX_RESIDUAL_S, 2 * step_s):
        return _with(found, f"edges scatter by {spread:.1f} s around the best offset")
    if zones and abs(refined - ZONE_STEP_S * round(refined / ZONE_STEP_S)) > ZONE_SLACK_S:
        return _with(found, "the best offset is no multiple of a quarter of an hour, as clocks of one host would need")
    return Match(refined, max(spread, step_s / 2, 0.5), r, runner_up, edges, overlap, "edges of load and of utilisation agree")


def _none(reason: str, edges: int) -> Match:
    return Match(None, None, None, None, edges, 0.0, reason)


def _with(found: Match, reason: str) -> Match:
    return Match(None, None, found.r, found.runner_up, found.edges, found.overlap_s, reason)


class _Sums:
    """Time covered by disjoint spans up to any instant, in logarithmic time."""

    def __init__(self, spans: Spans) -> None:
        self.begins = [s for s, _ in spans]
        self.spans = spans
        self.before = [0.0]
        for s, e in spans:
            self.before.append(self.before[-1] + e - s)

    def until(self, t: float) -> float:
        i = bisect_right(self.begins, t)
        if i == 0:
            return 0.0
        return self.before[i - 1] + min(t, self.spans[i - 1][1]) - self.begins[i - 1]

    def within(self, a: float, b: float) -> float:
        return self.until(b) - self.until(a)


def _proposals(load: Spans, busy: Spans, step_s: float, zones: bool, around: float | None) -> list[float]:
    """Offsets at which most edges fall together: a histogram of the differences of rising and of falling edges."""
    width = max(2.0, 2 * step_s)
    counts: dict[int, list[float]] = {}
    for index in (0, 1):
        ours, theirs = _thin([x[index] for x in load]), _thin([x[index] for x in busy])
        for a in ours:
            for b in theirs:
                d = b - a
                if zones and abs(d) > SEARCH_S:
                    continue
                if zones and abs(d - ZONE_STEP_S * round(d / ZONE_STEP_S)) > 120:
                    continue
                if around is not None and abs(d - around) > 120:
                    continue
                counts.setdefault(round(d / width), []).append(d)
    # A bin and its neighbour together, so that an offset at the border of two bins is not lost.
    ranked = sorted(counts, key=lambda k: -(len(counts[k]) + len(counts.get(k + 1, ()))))[:MAX_PROPOSALS]
    return [median(counts[k] + counts.get(k + 1, [])) for k in ranked]


def _thin(values: list[float]) -> list[float]:
    """At most MAX_EDGES, a contiguous run from the middle: true pairs must stay pairs."""
    if len(values) <= MAX_EDGES:
        return values
    first = (len(values) - MAX_EDGES) // 2
    return values[first : first + MAX_EDGES]


def _agreement(load: _Sums, busy: _Sums, seen: _Sums, offset: float) -> tuple[float | None, float]:
    """Correlation of the two on/off signals where the cards were sampled and the load was recorded, and the length of that time."""
    first, last = load.spans[0][0] + offset, load.spans[-1][1] + offset
    margin = 0.05 * (last - first)  # idle time around the load tells something too
    first, last = first - margin, last + margin
    total = busy_and = load_on = busy_on = 0.0
    i = max(0, bisect_right(seen.begins, first) - 1)
    for s, e in seen.spans[i:]:
        s, e = max(s, first), min(e, last)
        if s >= last:
            break
        if e <= s:
            continue
        total += e - s
        load_on += load.within(s - offset, e - offset)
        busy_on += busy.within(s, e)
        busy_and += _both(load, busy, s, e, offset)
    if total <= 0:
        return None, 0.0
    p, q, both = load_on / total, busy_on / total, busy_and / total
    variance = p * (1 - p) * q * (1 - q)
    return (None, total) if variance <= 0 else ((both - p * q) / variance**0.5, total)


def _both(load: _Sums, busy: _Sums, s: float, e: float, offset: float) -> float:
    """Time in [s, e] with both on."""
    out = 0.0
    i = max(0, bisect_right(load.begins, s - offset) - 1)
    for a, b in load.spans[i:]:
        a, b = max(a + offset, s), min(b + offset, e)
        if a >= e:
            break
        if b > a:
            out += busy.within(a, b)
    return out


def _residuals(load: Spans, busy: Spans, seen: _Sums, offset: float, step_s: float) -> tuple[int, list[float]]:
    """Edges of the load that have one of the cards within a few steps, and how far apart they are."""
    near = max(MAX_RESIDUAL_S, 3 * step_s)
    out: list[float] = []
    for index in (0, 1):
        theirs = sorted(x[index] for x in busy)
        for span in load:
            at = span[index] + offset
            i = bisect_right(theirs, at)
            best = min((t - at for t in theirs[max(0, i - 1) : i + 1]), key=abs, default=None)
            if best is not None and abs(best) <= near:
                out.append(best)
    return len(out), out or [0.0]


def merge(spans: Sequence[tuple[float, float]], gap: float = 0.0) -> list[tuple[float, float]]:
    """Overlapping or touching spans joined, in order."""
    out: list[tuple[float, float]] = []
    for s, e in sorted(spans):
        if out and s <= out[-1][1] + gap:
            out[-1] = (out[-1][0], max(out[-1][1], e))
        else:
            out.append((s, e))
    return out
