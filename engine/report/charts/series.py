"""Long series, thinned in SQL to the lowest and the highest value per pixel, so that no peak is lost; and the axis of a time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .look import WIDTH

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from ...store import Store

POINTS = 2400  # in one chart; altair refuses 5000

_THIN = """
WITH rows_of AS ({rows}), ends AS (
    SELECT min(x) AS lo, max(x) AS hi, max(n) AS n FROM (SELECT series, min(x) AS x, count(*) AS n FROM rows_of GROUP BY series
                                                        UNION ALL SELECT series, max(x), 0 FROM rows_of GROUP BY series)
), placed AS (
    SELECT
        series, x, y,
        CASE WHEN n <= 2 * {buckets} THEN x ELSE least(floor((x - lo) / (hi - lo) * {buckets}), {buckets} - 1) END AS bucket
    FROM rows_of, ends WHERE x IS NOT NULL
), extremes AS (
    SELECT
        series, bucket, min(x) AS x,
        min({{'y': y, 'x': x}}) FILTER (y IS NOT NULL) AS low, max({{'y': y, 'x': x}}) FILTER (y IS NOT NULL) AS high
    FROM placed GROUP BY series, bucket
)
SELECT series, low.x AS x, low.y AS y FROM extremes WHERE low IS NOT NULL
UNION SELECT series, high.x, high.y FROM extremes WHERE high IS NOT NULL
UNION SELECT series, x, NULL FROM extremes WHERE low IS NULL
ORDER BY series, x, y
"""


def thin(store: Store, rows: str, series: int, panels: int = 1) -> pl.DataFrame:
    """`rows` is a SELECT of series, x, y. The lowest and highest y per bucket of x, at most POINTS in one chart; where y is unknown, and
    where samples are missing for much longer than usual, y is NULL and the line is broken."""
    import polars as pl

    buckets = max(8, min(WIDTH, POINTS // (2 * series * panels)))
    frame = store.query(_THIN.format(rows=rows, buckets=buckets)).cast({"x": pl.Float64, "y": pl.Float64})
    step = pl.col("x").diff().over("series")
    usual = step.filter(step > 0).median()
    width = (pl.col("x").max() - pl.col("x").min()) / buckets
    holes = frame.with_columns(step=step).filter(pl.col("step") > pl.max_horizontal(5 * usual, 3 * width))
    broken = holes.select("series", x=pl.col("x") - pl.col("step") / 2, y=pl.lit(None, pl.Float64))
    return pl.concat([frame, broken]).sort("series", "x", "y", maintain_order=True)


def largest(values: Iterable[float | None]) -> float:
    """The largest value; 0 where there is none."""
    return max((value for value in values if value is not None), default=0.0)


def time_x(span: float, since: str, padding: float = 0) -> alt.X:
    """The axis of a time in seconds, told in seconds, minutes or hours."""
    import altair as alt

    size, unit = (1, "seconds") if span < 900 else (60, "minutes") if span < 3 * 3600 else (3600, "hours")
    rough = max(span, 1e-9) / size / 8
    tens = 10.0 ** math.floor(math.log10(rough))
    step = next(m * tens for m in (1, 2, 5, 10) if m * tens >= rough) * size
    ticks = [n * step for n in range(int(span / step) + 1)]
    axis = alt.Axis(grid=False, values=ticks, labelExpr=f"format(datum.value / {size}, '~r')")
    return alt.X("x:Q", title=f"{unit} since {since}", axis=axis, scale=alt.Scale(nice=False, padding=padding))
