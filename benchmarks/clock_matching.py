"""Edge matching over many seeds: how often the offset between two clocks is found, and whether a wrong one is ever accepted.

`python benchmarks/clock_matching.py [seeds]` (default 200). Every world is a load, what sampling makes of it on another clock, and the
true offset, or none where the two recordings have nothing to do with each other. An accepted offset is wrong if the truth lies outside
offset +- uncertainty. Wrong ones are listed, and the command then ends with 1.
"""

from __future__ import annotations

import random
import sys
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from gpuverdict.engine.edges import Match, busy_spans, match, merge

Spans = list[tuple[float, float]]
ZONES = (0.0, 0.3, -0.3, 3 * 3600.0, -3 * 3600.0, 5.5 * 3600, 14 * 3600.0, -14 * 3600.0)
HOUR = 3600.0


@dataclass
class World:
    """`truth`: seconds to add to the load's clock to get the cards' clock; NULL: the recordings are of different runs."""

    load: Spans
    busy: Spans
    seen: Spans
    truth: float | None
    step_s: float = 1.0
    zones: bool = True
    blur_s: float = 0.0
    drift: float = 0.0

    def off(self, found: float) -> float | None:
        """How far the found offset is from the truth, at the worst instant of the load; NULL where there is none."""
        if self.truth is None:
            return None
        return max((found - self.truth - self.drift * t for t in (self.load[0][0], self.load[-1][1])), key=abs)

    def matched(self) -> Match:
        smallest = max(3.0, 3 * self.step_s)  # as clock.py does
        return match(merge(self.load, smallest), merge(self.busy, smallest), self.seen, self.step_s, self.zones, self.blur_s)


def uneven(rng: random.Random, n: int, lasts: tuple[float, float] = (8, 90), pause: tuple[float, float] = (8, 120)) -> Spans:
    """`n` requests of uneven length at uneven times."""
    at, out = rng.uniform(5, 30), []
    for _ in range(n):
        long = rng.uniform(*lasts)
        out.append((at, at + long))
        at += long + rng.uniform(*pause)
    return out


def script(rng: random.Random, pattern: Spans, jitter: float) -> Spans:
    """The same script run again: every request takes a little longer or shorter, and all later ones move with it."""
    out, late = [], 0.0
    for a, b in pattern:
        more = (b - a) * rng.gauss(0, jitter)
        out.append((a + late, b + late + more))
        late += more
    return out


def recorded(
    rng: random.Random, load: Spans, offset: float, step: float = 1.0, drift: float = 0.0, until: float | None = None, begin: float = 0.0
) -> tuple[Spans, Spans]:
    """What sampling every `step` seconds on another clock makes of the load."""
    t, end = begin + rng.uniform(0, step), until or load[-1][1] + 60
    samples = []
    while t < end:
        samples.append((t * (1 + drift) + offset, any(a + 0.3 <= t <= b for a, b in load)))
        t += step
    return merge([(t - step, t) for t, on in samples if on], 0.5 * step), merge([(t - step, t) for t, _ in samples], 2.5 * step)


def through_windows(rng: random.Random, load: Spans, offset: float, step: float) -> tuple[Spans, Spans]:
    """What the driver makes of it: the share of the last complete window, of several cards whose windows are not aligned."""
    window, cards = rng.choice([1 / 6, 0.25, 0.5, 1.0]), rng.choice([1, 2, 3])
    phases = [rng.uniform(0, window) for _ in range(cards)]
    begins, rows, t = [a for a, _ in load], [], rng.uniform(0, step)
    while t < load[-1][1] + 60:
        value = 0.0
        for phase in phases:
            end = phase + (t - phase) // window * window
            near = load[max(0, bisect_right(begins, end - window) - 1) : bisect_right(begins, end)]
            value += round(100 / cards * sum(max(0.0, min(b, end) - max(a, end - window)) for a, b in near) / window)
        rows.append((t + offset, value))
        t += step
    return list(busy_spans(rows, 0.0, 10.0, step)), merge([(t - step, t) for t, _ in rows], 2.5 * step)


def related(rng: random.Random) -> World:
    load, offset = uneven(rng, rng.choice([3, 5, 8, 12, 20])), rng.choice(ZONES)
    return World(load, *recorded(rng, load, offset), offset)


def since_start(rng: random.Random) -> World:
    load, offset = uneven(rng, rng.choice([5, 8, 12, 20])), 1.8e9 + rng.uniform(0, 1e6)
    return World(load, *recorded(rng, load, offset), offset, zones=False)


def sparse_lines(rng: random.Random) -> World:
    """A line of statistics every ten seconds: each edge is known to half of that."""
    load, offset = uneven(rng, 14, (30, 200), (40, 200)), rng.choice(ZONES)
    told = [(a - rng.uniform(-5, 5), b + rng.uniform(-5, 5)) for a, b in load]
    return World(told, *recorded(rng, load, offset), offset, blur_s=10.0)


def drifting(rng: random.Random) -> World:
    load, offset = uneven(rng, 90, (60, 900), (60, 1000)), rng.choice(ZONES[3:])
    drift = rng.choice([-50e-6, 50e-6])
    return World(load, *recorded(rng, load, offset, drift=drift), offset, drift=drift)


def unrelated(rng: random.Random) -> World:
    load, other = uneven(rng, rng.choice([4, 6, 10, 20, 40])), uneven(rng, rng.choice([4, 6, 10, 20, 40]))
    return World(load, *recorded(rng, other, rng.choice(ZONES)), None, zones=rng.random() < 0.5)


def periodic(rng: random.Random) -> World:
    """A load that repeats itself: any shift by a period fits as well, so nothing may be claimed unless it is right."""
    period = rng.choice([20.0, 60.0, 90.0, 400.0, 450.0, 900.0, 1800.0])
    busy_s = period * rng.uniform(0.2, 0.7)
    load = [(period * k + rng.gauss(0, 0.2), period * k + busy_s + rng.gauss(0, 0.2)) for k in range(1, rng.choice([8, 20, 40]))]
    offset = rng.choice(ZONES) + rng.choice([0.0, period, -period, 2 * period])
    return World(load, *recorded(rng, load, offset), offset, zones=rng.random() < 0.7)


def wrong_clock(rng: random.Random) -> World:
    """The clock of one side is wrong by minutes: no zone explains that."""
    load, offset = uneven(rng, rng.choice([6, 12, 20])), rng.choice(ZONES) + rng.choice([-400.0, -37.0, 95.0, 400.0])
    return World(load, *recorded(rng, load, offset), offset)


def other_run(rng: random.Random) -> World:
    """The cards were recorded during another run of the same script, which takes a percent or more longer or shorter here and there."""
    pattern = uneven(rng, rng.choice([8, 14]), (20, 90))
    load, other = script(rng, pattern, 0.02), script(rng, pattern, 0.02)
    return World(load, *recorded(rng, other, -24 * HOUR), None, zones=False)


def two_runs(rng: random.Random) -> World:
    """The script ran twice; the log tells of one run, the recording of both."""
    pattern = uneven(rng, rng.choice([6, 10]), (10, 60))
    first = script(rng, pattern, 0.002)
    shift = first[-1][1] + rng.uniform(60, 600)
    second = [(a + shift, b + shift) for a, b in script(rng, pattern, 0.002)]
    told = rng.choice([first, second])
    return World(told, *recorded(rng, first + second, 1.8e9), 1.8e9, zones=False)


def driver_windows(rng: random.Random) -> World:
    """Readings as a driver gives them, of a clock since start."""
    load, offset, step = uneven(rng, rng.choice([8, 12, 20]), (20, 90), (12, 40)), rng.choice(ZONES), rng.choice([0.2, 0.5, 1.0, 2.0])
    return World(load, *through_windows(rng, load, offset, step), offset, step, zones=False)


def other_run_windows(rng: random.Random) -> World:
    """Another run of the same script, seen through driver windows."""
    pattern, step = uneven(rng, rng.choice([8, 14]), (20, 90), (12, 40)), rng.choice([0.2, 0.5, 1.0])
    load, other = script(rng, pattern, 0.02), script(rng, pattern, 0.02)
    return World(load, *through_windows(rng, other, -24 * HOUR, step), None, step, zones=False)


def longer_run_windows(rng: random.Random) -> World:
    """A load that is started by the clock every day, and each time takes some percent longer: the edges say so."""
    pattern, step, longer = uneven(rng, rng.choice([8, 14]), (20, 90), (12, 40)), rng.choice([0.2, 0.5, 1.0]), rng.uniform(0.03, 0.08)
    other = [(a, b + longer * (b - a)) for a, b in pattern]
    return World(pattern, *through_windows(rng, other, -24 * HOUR, step), None, step, zones=False)


def truncated(rng: random.Random) -> World:
    """The log lost its first half."""
    load, offset = uneven(rng, rng.choice([8, 16, 30])), rng.choice(ZONES)
    return World(load[len(load) // 2 :], *recorded(rng, load, offset), offset)


def recorder_late(rng: random.Random) -> World:
    """The recording was started in the middle and stopped before the end."""
    load, offset = uneven(rng, rng.choice([10, 20, 30])), rng.choice(ZONES)
    begin, until = load[len(load) // 3][0] - 10, load[-len(load) // 4][1]
    return World(load, *recorded(rng, load, offset, begin=begin, until=until), offset)


def foreign_load(rng: random.Random) -> World:
    """Somebody else uses the cards too."""
    load, offset = uneven(rng, rng.choice([8, 14, 20])), rng.choice(ZONES)
    return World(load, *recorded(rng, merge([*load, *uneven(rng, 6)]), offset), offset)


def short_requests(rng: random.Random) -> World:
    """Requests of four seconds, sampled every one or two seconds."""
    load, offset, step = uneven(rng, rng.choice([10, 40, 80]), (3.5, 4.5), (6, 40)), rng.choice(ZONES), rng.choice([1.0, 2.0])
    return World(load, *recorded(rng, load, offset, step), offset, step)


WORLDS: tuple[Callable[[random.Random], World], ...] = (
    related,
    since_start,
    sparse_lines,
    drifting,
    truncated,
    recorder_late,
    foreign_load,
    short_requests,
    driver_windows,
    wrong_clock,
    periodic,
    two_runs,
    unrelated,
    other_run,
    other_run_windows,
    longer_run_windows,
)
SLOW = {drifting: 10}  # a day of samples: one seed in ten


def run(seeds: int, worlds: tuple[Callable[[random.Random], World], ...] = WORLDS) -> list[tuple[str, int, int, list[str]]]:
    """Per world: name, seeds, accepted, and the wrong ones."""
    out = []
    for make in worlds:
        wrong, accepted, n = [], 0, max(1, seeds // SLOW.get(make, 1))
        for seed in range(n):
            world = make(random.Random(f"{make.__name__}/{seed}"))
            found = world.matched()
            if found.offset_s is None:
                continue
            accepted += 1
            off = world.off(found.offset_s)
            if off is None or abs(off) > (found.uncertainty_s or 0.0):
                wrong.append(f"seed {seed}: off by {off}, +- {found.uncertainty_s}, {found}")
        out.append((make.__name__, n, accepted, wrong))
    return out


def main(seeds: int) -> int:
    rows = run(seeds)
    print(f"{'world':16} {'seeds':>6} {'accepted':>9} {'wrong':>6}")
    for name, n, accepted, wrong in rows:
        print(f"{name:16} {n:6} {accepted:9} {len(wrong):6}")
    for name, _, _, wrong in rows:
        for text in wrong[:5]:
            print(f"{name}: {text}")
    return 1 if any(wrong for *_, wrong in rows) else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
