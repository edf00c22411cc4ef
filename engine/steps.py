"""Which requests of a server log are which step of a sweep.

A sweep table says how many streams ran for how long; a server log says which requests ran when. The log is cut where the server
was idle, and runs of neighbouring pieces are compared with the steps: as many requests, as long, as many tokens. Steps of one
table happen in order (or in reverse), so the best assignment is found in order. No match is better than a wrong one.
Also: which steps are too many to be judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from .store import Store

SPAN_TOLERANCE = 0.10  # of the wall time: the client's wall has connection and start-up time that the server does not see
SPAN_SLACK_S = 1.0
TOKEN_TOLERANCE = 0.10
MAX_ROUNDS = 16  # requests per stream that are tried where a table does not say how many were sent
MAX_PIECES = 20_000


@dataclass(frozen=True)
class Step:
    """One row of a sweep: how many requests it may have sent, its wall time and its tokens."""

    source_id: int
    line: int
    series: str
    counts: tuple[int, ...]
    wall_s: float
    tokens: float | None


@dataclass(frozen=True)
class Piece:
    """Requests between two idle instants of one server run, with running totals before it."""

    first: int
    before: int
    n: int
    start: float
    end: float
    tokens_before: float
    tokens: float


@dataclass(frozen=True)
class Window:
    """Pieces first..last of a run, as a candidate for a step."""

    first: int
    last: int
    cost: float


def match_steps(store: Store) -> None:
    """Fill main.step_requests (step_source, step_line, source_id, run, line): server requests that belong to a step."""
    store.con.execute(
        "CREATE TABLE main.step_requests (step_source INTEGER, step_line BIGINT, source_id INTEGER, run INTEGER, line BIGINT)"
    )
    series = _series(store)
    if not series:
        return
    served = store.query(
        "SELECT source_id, run, line, started_t, finished_t, coalesce(output_tokens, 0) AS tokens FROM main.requests "
        "WHERE origin = 'server' AND status = 'ok' AND started_t IS NOT NULL AND finished_t IS NOT NULL "
        "AND source_id NOT IN (SELECT source_id FROM main.bindings) ORDER BY source_id, run, started_t, line"
    )
    for (source_id, run), requests in served.group_by("source_id", "run", maintain_order=True):
        pieces = _pieces(requests)
        if len(pieces) > MAX_PIECES:
            continue
        found = [pair for steps in series for pair in _assign(steps, pieces)]
        _store_unique(store, found, requests, int(source_id), int(run))


def _series(store: Store) -> list[list[Step]]:
    rows = store.rows_of(
        "SELECT b.*, s.series_key FROM main.bench_steps b JOIN main.bench_series s ON s.source_id = b.source_id AND s.line = b.line AND s.concurrency = b.concurrency AND s.series IS NOT DISTINCT FROM b.series "
        "WHERE wall_s > 0 ORDER BY s.series_key, b.source_id, b.line"
    )
    out: dict[str, list[Step]] = {}
    for row in rows:
        sent = row["completed"] or row["requests"]
        streams = row["concurrency"]
        counts = (round(sent),) if sent else tuple(round(streams) * k for k in range(1, MAX_ROUNDS + 1))
        tokens = row["output_tokens"] or (
            row["aggregate_tok_s"] * row["wall_s"] if row["aggregate_tok_s"] and row["aggregate_counts"] != "total" else None
        )
        out.setdefault(row["series_key"], []).append(Step(row["source_id"], row["line"], row["series_key"], counts, row["wall_s"], tokens))
    return list(out.values())


def _pieces(requests: pl.DataFrame) -> list[Piece]:
    """Cut where every request so far has finished before the next one starts."""
    numbered = requests.with_columns(
        done_by=pl.col("finished_t").cum_max(),
        index=pl.int_range(pl.len()),
    ).with_columns(new=(pl.col("started_t") >= pl.col("done_by").shift(1)).fill_null(True))
    grouped = (
        numbered.with_columns(piece=pl.col("new").cum_sum())
        .group_by("piece", maintain_order=True)
        .agg(pl.col("index").min(), pl.len().alias("n"), pl.col("started_t").min(), pl.col("finished_t").max(), pl.col("tokens").sum())
    )
    pieces, before, tokens = [], 0, 0.0
    for row in grouped.iter_rows(named=True):
        pieces.append(Piece(row["index"], before, row["n"], row["started_t"], row["finished_t"], tokens, row["tokens"]))
        before += row["n"]
        tokens += row["tokens"]
    return pieces


def _windows(step: Step, pieces: Sequence[Piece]) -> list[Window]:
    """Runs of pieces that could be the step, with how badly they fit."""
    ends = {p.before + p.n: i for i, p in enumerate(pieces)}
    out = []
    for i, piece in enumerate(pieces):
        for count in step.counts:
            last = ends.get(piece.before + count)
            if last is None or last < i:
                continue
            span = pieces[last].end - piece.start
            off = abs(span - step.wall_s)
            if off > max(SPAN_TOLERANCE * step.wall_s, SPAN_SLACK_S):
                continue
            cost = off / step.wall_s
            if step.tokens:
                produced = pieces[last].tokens_before + pieces[last].tokens - piece.tokens_before
                differs = abs(produced - step.tokens) / step.tokens
                if differs > TOKEN_TOLERANCE:
                    continue
                cost += differs
            out.append(Window(i, last, cost))
    return out


def _assign(steps: list[Step], pieces: Sequence[Piece]) -> list[tuple[Step, Window]]:
    """The best assignment in table order or in reverse: most steps matched, then the least cost, then the latest windows."""
    candidates = [_windows(step, pieces) for step in steps]
    forward = _in_order(steps, candidates)
    backward = _in_order(steps[::-1], candidates[::-1])
    return max(forward, backward, key=lambda found: (len(found), -sum(w.cost for _, w in found)))


def _in_order(steps: list[Step], candidates: list[list[Window]]) -> list[tuple[Step, Window]]:
    best: list[tuple[int, int, float, list[tuple[Step, Window]]]] = [(-1, 0, 0.0, [])]  # (last piece used, matched, cost, pairs)
    for step, windows in zip(steps, candidates):
        grown = list(best)
        for window in windows:
            fits = [b for b in best if b[0] < window.first]
            if fits:
                _last, n, cost, pairs = max(fits, key=lambda b: (b[1], -b[2]))
                grown.append((window.last, n + 1, cost + window.cost, [*pairs, (step, window)]))
        best = _front(grown)
    return max(best, key=lambda b: (b[1], -b[2]))[3]


def _front(states: list[tuple[int, int, float, list[tuple[Step, Window]]]]) -> list[tuple[int, int, float, list[tuple[Step, Window]]]]:
    """Keep what no other state beats in all of: ends earlier, matches more, costs less."""
    keep: list[tuple[int, int, float, list[tuple[Step, Window]]]] = []
    for state in sorted(states, key=lambda s: (s[0], -s[1], s[2])):
        if not any(k[1] > state[1] or (k[1] == state[1] and k[2] <= state[2]) for k in keep):
            keep.append(state)
    return keep


def _store_unique(store: Store, found: list[tuple[Step, Window]], requests: pl.DataFrame, source_id: int, run: int) -> None:
    """Store the matches; requests claimed by two steps (of different tables) belong to neither."""
    pieces = _pieces(requests)
    frames = []
    for step, window in found:
        first, last = pieces[window.first], pieces[window.last]
        frames.append(
            requests.slice(first.first, last.first + last.n - first.first).select(
                step_source=pl.lit(step.source_id, dtype=pl.Int32),
                step_line=pl.lit(step.line, dtype=pl.Int64),
                source_id=pl.lit(source_id, dtype=pl.Int32),
                run=pl.lit(run, dtype=pl.Int32),
                line=pl.col("line"),
            )
        )
    if not frames:
        return
    matched = pl.concat(frames).filter(pl.len().over("line") == 1)
    store.append("main.step_requests", matched)


def note_left_out(store: Store) -> None:
    """A quality row where there are more steps than are judged one by one."""
    counted = (
        "SELECT (SELECT count(*) FROM (SELECT DISTINCT series_key, concurrency FROM main.bench_series)), "
        "(SELECT count(*) FROM main.scopes WHERE series_key IS NOT NULL)"
    )
    every, judged = store.con.execute(counted).fetchall()[0]
    if every > judged:
        text = f"of {every} steps {judged} are judged one by one, spread over all of them"
        store.con.execute("INSERT INTO raw.quality (source_id, kind, n, note) VALUES (-1, 'steps-left-out', ?, ?)", [every - judged, text])
