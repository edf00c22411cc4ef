"""Writing the outputs: each file appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from .analyze import Analysis

if TYPE_CHECKING:
    from .report.charts import Drawer

NAMES = ("report.html", "report.md", "findings.json", "trace.duckdb", "charts")


class CannotWrite(Exception):
    """The output folder cannot be written; the message says why and what to do."""


def prepare(out: Path) -> Path:
    """A fresh folder beside `out` to build in. Raises CannotWrite early, before minutes of reading."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.exists() and not out.is_dir():
            raise CannotWrite(f"{out} is a file; name a folder with --out")
        return Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as problem:
        raise CannotWrite(f"cannot write to {out}: {problem.strerror}; name another folder with --out") from None


def write(analysis: Analysis, build: Path, out: Path, command: str, drawer: Drawer) -> None:
    """All outputs into `build`, then each moved into `out` in one rename. `drawer` has got the charts of the views already; the texts are
    written while it draws and the database goes to its file."""
    from .report import charts, html, markdown, strips

    with drawer, ThreadPoolExecutor(2) as aside:
        charts.ask_of_result(drawer, analysis.result)
        text = strips.draw(analysis)
        closed = aside.submit(analysis.store.close)
        (build / "findings.json").write_text(analysis.result.to_json() + "\n", encoding="utf-8")
        (build / "report.md").write_text(markdown.render(analysis.result, text, command), encoding="utf-8")
        drawn = drawer.drawn()
        ended = aside.submit(drawer.close)
        (build / "report.html").write_text(html.render(analysis.result, drawn, text, command), encoding="utf-8")
        folder = build / "charts"
        folder.mkdir()
        for name, svg in drawn.items():
            (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        for done in (closed, ended):
            done.result()
    publish(build, out)


def publish(build: Path, out: Path) -> None:
    """Move what was built into place; files of the user's own in `out` are left alone."""
    out.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        made, target = build / name, out / name
        if not made.exists():
            continue
        if target.is_dir():
            shutil.rmtree(target)
        os.replace(made, target)
    shutil.rmtree(build, ignore_errors=True)
