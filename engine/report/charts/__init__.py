"""The charts: SVG text that serves light and dark, a browser page and a plain image viewer, drawn offline by altair.

One module per chart: `collect` asks the store or the result and gives plain data, or None where a chart has none and is not drawn;
`draw` makes altair's chart of them, in a process of its own (drawer.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import alignment, budget, ceiling, requests, sweep, utilisation
from .budget import budget_of, end, span_text
from .drawer import Drawer
from .look import PALETTE, TITLES, WIDTH, Drawing

if TYPE_CHECKING:
    from ...analyze import Analysis
    from ...result import Finding, Result
    from ...store import Store

__all__ = [
    "PALETTE",
    "TITLES",
    "WIDTH",
    "Drawer",
    "ask_of_findings",
    "ask_of_result",
    "ask_of_views",
    "budget_of",
    "draw",
    "end",
    "span_text",
]


def ask_of_views(drawer: Drawer, store: Store) -> None:
    """The charts that need only the views, before any rule has judged."""
    for name, chart in (("utilisation", utilisation), ("sweep", sweep), ("requests", requests), ("alignment", alignment)):
        _ask(drawer, name, chart.draw, chart.collect(store))


def ask_of_findings(drawer: Drawer, limits: Mapping[str, float], findings: Sequence[Finding]) -> None:
    """The chart of the ceilings, as soon as the rules that know them have judged."""
    if "ceiling" not in drawer and {f.rule for f in findings} >= ceiling.RULES:
        _ask(drawer, "ceiling", ceiling.draw, ceiling.collect(findings, limits))


def ask_of_result(drawer: Drawer, result: Result) -> None:
    """What is left when all is judged: the time budget is that of the answer."""
    if "ceiling" not in drawer:
        _ask(drawer, "ceiling", ceiling.draw, ceiling.collect(result.findings, result.settings.get("limits_overridden", {})))
    _ask(drawer, "budget", budget.draw, budget.collect(result))


def _ask(drawer: Drawer, name: str, draw: Callable[[Any], Drawing], data: Any) -> None:
    """Asks for a chart that has data."""
    if data:
        drawer.ask(name, draw, data)


def draw(analysis: Analysis, drawer: Drawer | None = None) -> dict[str, str]:
    """Chart name -> SVG text, in the order of TITLES; only those that have data."""
    with drawer or Drawer() as drawer:
        ask_of_views(drawer, analysis.store)
        ask_of_result(drawer, analysis.result)
        return drawer.drawn()
