"""Edge matching: the offset between two clocks from the edges of load in both, or no offset at all.

One side says when requests were in flight, the other when the cards worked. The offset at which both agree is found among the
differences of their edges; it is accepted only if the agreement is strong, unique, and rests on enough edges. A wrong accepted
offset is an error of the worst kind, so everything doubtful is refused with its reason.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

MIN_EDGES = 6
MIN_OVERLAP_S = 300.0
MIN_R = 0.8
MIN_LEAD = 0.2
RIVAL_EDGES, RIVAL_OVERLAP_S = 4, 150.0  # less than this agrees by chance: two edges always fit
ZONE_STEP_S = 900.0  # zones differ by multiples of a quarter of an hour
ZONE_SLACK_S = 10.0
SEARCH_S = 14 * 3600 + ZONE_SLACK_S
SEARCH_SLACK_S = 120.0  # around each of them an offset is looked for; ZONE_SLACK_S is what it may be off
MAX_RESIDUAL_S = 5.0
EDGE_SLACK_S = 0.5  # start of work after the launch of a request, half of a driver window
DRIVER_WINDOW_S = 1.0  # the longest there is; which one a card has is not known
MAX_DRIFT = 200e-6  # quartz clocks differ by less
MAX_CARRIED = 0.5
LEVEL_OF = 5  # readings beside an edge that tell the level: a partly filled window is one or two of them
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


def match(load: Spans, busy: Spans, seen: Spans, step_s: float, zones: bool, blur_s: float = 0.0) -> Match:
    """The offset between two clocks.

    load    in-flight intervals on the load's clock, in order and disjoint.
    busy    intervals in which the cards worked, on theirs; `seen` are the stretches in which they were sampled at all.
    step_s  the sampling step of the cards: no edge is known better.
    zones   both clocks belong to one host and print local time: only multiples of a quarter of an hour are possible.
    blur_s  how far an edge of the load may be off by the way it was recorded.
    """
    if len(load) * 2 < MIN_EDGES or len(busy) * 2 < MIN_EDGES:
        return _none(f"too few edges ({2 * min(len(load), len(busy))}, {MIN_EDGES} are needed)", 2 * min(len(load), len(busy)))
    load_sums, busy_sums, seen_sums = _Sums(load), _Sums(busy), _Sums(seen)
    tried = []
    for offset in _proposals(load, busy, step_s, zones):
        r, overlap = _agreement(load_sums, busy_sums, seen_sums, offset)
        if r is not None:
            tried.append((r, overlap, offset))
    tried.sort(reverse=True)
    if not any(not zones or _zone_like(offset, SEARCH_SLACK_S) for *_, offset in tried):
        return _none("the two recordings do not overlap enough", 0)
    return _accept(tried, load, busy, step_s, zones, blur_s)


def _zone_like(offset: float, slack_s: float) -> bool:
    """Clocks of one host differ by a whole number of quarters of an hour, fourteen hours at most."""
    return abs(offset) <= SEARCH_S and abs(offset - ZONE_STEP_S * round(offset / ZONE_STEP_S)) <= slack_s


def _accept(tried: list[tuple[float, float, float]], load: Spans, busy: Spans, step_s: float, zones: bool, blur_s: float) -> Match:
    """The best offset, refined, if it passes every test; otherwise no offset and why.

    The runner-up is looked for among all offsets, also those that two clocks of one host cannot have: a load that repeats itself says
    nothing about which repetition is meant, and a clock may simply be wrong.
    """
    r, overlap, offset = next(t for t in tried if not zones or _zone_like(t[2], SEARCH_SLACK_S))
    block = median(e - s for s, e in load) if load else 0.0
    near = max(MAX_RESIDUAL_S, 3 * step_s)
    others = (t for t in tried if abs(t[2] - offset) > max(block, 2 * step_s, 5.0))
    runner_up = next((t[0] for t in others if t[1] >= RIVAL_OVERLAP_S and len(_pairs(load, busy, t[2], near)) >= RIVAL_EDGES), 0.0)
    pairs = _pairs(load, busy, offset, near)
    found = Match(None, None, r, runner_up, len(pairs), overlap, "")
    if overlap < MIN_OVERLAP_S:
        return _with(found, f"only {overlap:.0f} s of overlap, {MIN_OVERLAP_S:.0f} are needed")
    if len(pairs) < MIN_EDGES:
        return _with(found, f"only {len(pairs)} edges agree, {MIN_EDGES} are needed")
    if r < MIN_R:
        return _with(found, f"the best agreement is {r:.2f}, {MIN_R} is needed")
    if runner_up > r - MIN_LEAD:
        return _with(found, f"another offset agrees almost as well ({runner_up:.2f} against {r:.2f})")
    shift, drift, spread = _line([(t, x) for t, x, _ in pairs], blur_s)
    if drift > MAX_DRIFT:
        return _with(found, f"one clock would run {drift * 1e6:.0f} ppm faster than the other: more likely another run of the same load")
    scatter = max(spread - step_s / 2, _stretch(pairs) - step_s)  # beyond what sampling explains
    if scatter > EDGE_SLACK_S + blur_s:
        return _with(found, f"edges scatter by {spread:.1f} s around the best offset: more likely another run of the same load")
    if spread > 0.6 * step_s + blur_s / 2 and _carried_over([x for _, x, _ in sorted(pairs)]) > MAX_CARRIED:
        return _with(found, "the two recordings slowly part: more likely another run of the same load")
    refined = offset + shift
    if zones and not _zone_like(refined, ZONE_SLACK_S):
        return _with(found, "the best offset is no multiple of a quarter of an hour, as clocks of one host would need")
    # An edge is known to half a step, and utilisation lags by up to a driver window, the same at all edges where polls and windows keep
    # step; drift moves the ends against the middle.
    wander = drift * (load[-1][1] - load[0][0]) / 2
    noise = 1.5 * spread / len(pairs) ** 0.5  # about twice the standard error of the median
    uncertainty = max(spread, step_s / 2 + EDGE_SLACK_S, DRIVER_WINDOW_S + noise) + wander
    return Match(refined, uncertainty, r, runner_up, len(pairs), overlap, "edges of load and of utilisation agree")


def _line(pairs: list[tuple[float, float]], blur_s: float) -> tuple[float, float, float]:
    """(shift in the middle, drift as a share, scatter around both) of residuals over time. The scatter is that of nine edges in ten."""
    ordered = sorted(pairs)
    third = max(1, len(ordered) // 3)
    early, late = ordered[:third], ordered[-third:]
    first, last = median(x for _, x in early), median(x for _, x in late)
    apart = median(t for t, _ in late) - median(t for t, _ in early)
    noise = median([abs(x - first) for _, x in early] + [abs(x - last) for _, x in late])
    # Within the noise of the two medians a slope means nothing.
    real = abs(last - first) > max(EDGE_SLACK_S + blur_s, 6 * noise / third**0.5)
    slope = (last - first) / apart if real and apart > 0 else 0.0
    middle = (ordered[0][0] + ordered[-1][0]) / 2
    shift = median(x - slope * (t - middle) for t, x in ordered)
    return shift, abs(slope), _nine_in_ten([x - slope * (t - middle) - shift for t, x in ordered])


def _stretch(pairs: list[tuple[float, float, int]]) -> float:
    """By how much the lengths of the same stretch of load differ on both sides: an error of the offset does not change them."""
    ends: dict[int, list[float]] = {}
    for _, x, n in pairs:
        ends.setdefault(n, []).append(x)
    return _nine_in_ten([x[1] - x[0] for x in ends.values() if len(x) == 2] or [0.0])


def _carried_over(residuals: list[float]) -> float:
    """How much of a residual the next one keeps (correlation of neighbours). Sampling gives every edge an error of its own; in another
    run of the same load every request that took longer moves all that follow."""
    middle = sum(residuals) / len(residuals)
    apart = [x - middle for x in residuals]
    total = sum(x * x for x in apart)
    return sum(a * b for a, b in pairwise(apart)) / total if total > 0 else 0.0


def _nine_in_ten(values: list[float]) -> float:
    return sorted(map(abs, values))[int(0.9 * (len(values) - 1))]


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


def _proposals(load: Spans, busy: Spans, step_s: float, zones: bool) -> list[float]:
    """Offsets at which most edges fall together: a histogram of the differences of rising and of falling edges.

    With `zones` the best of the possible ones are among them, however many impossible ones have more edges.
    """
    width = max(2.0, 2 * step_s)
    counts: dict[int, list[float]] = {}
    for index in (0, 1):
        ours, theirs = _thin([x[index] for x in load]), _thin([x[index] for x in busy])
        for a in ours:
            for b in theirs:
                counts.setdefault(round((b - a) / width), []).append(b - a)
    # A bin and its neighbour together, so that an offset at the border of two bins is not lost.
    ranked = sorted(counts, key=lambda k: -(len(counts[k]) + len(counts.get(k + 1, ()))))
    chosen = ranked[:MAX_PROPOSALS]
    if zones:
        chosen += [k for k in ranked if _zone_like(k * width, SEARCH_SLACK_S)][:MAX_PROPOSALS]
    return [median(counts[k] + counts.get(k + 1, [])) for k in dict.fromkeys(chosen)]


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


def _pairs(load: Spans, busy: Spans, offset: float, near: float) -> list[tuple[float, float, int]]:
    """(time, how far apart, number of the stretch) for every edge of the load that has one of the cards near it."""
    out: list[tuple[float, float, int]] = []
    for index in (0, 1):
        theirs = sorted(x[index] for x in busy)
        for number, span in enumerate(load):
            at = span[index] + offset
            i = bisect_right(theirs, at)
            best = min((t - at for t in theirs[max(0, i - 1) : i + 1]), key=abs, default=None)
            if best is not None and abs(best) <= near:
                out.append((at, best, number))
    return out


def busy_spans(rows: Sequence[tuple[float, float]], low: float, line: float, step_s: float) -> Spans:
    """When the cards worked: stretches of readings (time, value) above `line`, each of them the state of the step before it.

    A reading is the mean over the last complete driver window and is shown until the next one ends, so that one that holds a moment
    of work reads above the line: too early at the begin, and at the end for as much as two windows too long. Where the reading crosses
    half of the level beside it both edges come equally late, and the length of the stretch is right.
    """
    times = [t for t, _ in rows]
    out = []
    for began, ended in merge([(t - step_s, t) for t, v in rows if v > line], 0.5 * step_s):
        first, last = bisect_right(times, began + 0.5 * step_s), bisect_right(times, ended)
        inside = rows[first:last]
        rise = _crossing(inside, low)
        fall = _crossing(inside[::-1], low)
        if rise is None or fall is None or rise > fall:
            out.append((began, ended))
        else:
            out.append((began if rise == inside[0][0] else rise - step_s, fall))
    return out


def _crossing(readings: Sequence[tuple[float, float]], low: float) -> float | None:
    """The first of these readings that reaches half of their level, which is that of the five next to the edge."""
    if not readings:
        return None
    half = (low + median(v for _, v in readings[:LEVEL_OF])) / 2
    return next(t for t, v in readings if v >= half)


def merge(spans: Sequence[tuple[float, float]], gap: float = 0.0) -> list[tuple[float, float]]:
    """Overlapping or touching spans joined, in order."""
    out: list[tuple[float, float]] = []
    for s, e in sorted(spans):
        if out and s <= out[-1][1] + gap:
            out[-1] = (out[-1][0], max(out[-1][1], e))
        else:
            out.append((s, e))
    return out
