"""The command line. Heavy imports happen inside the commands: `--help` costs nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import __version__

if TYPE_CHECKING:
    from .analyze import Settings
    from .report.charts import Drawer
    from .store import Store

UNREADABLE, USAGE, GATE_CONFIRMED, GATE_OPEN = 1, 2, 10, 11
HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Commands(click.Group):
    """Says which command was meant when a wrong one is typed."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            import difflib

            near = difflib.get_close_matches(args[0], self.list_commands(ctx), 1, 0.5)
            if near:
                hint = f"did you mean `gpuverdict {near[0]}`?"
            elif Path(args[0]).exists():
                hint = f"to analyse it: gpuverdict analyze {args[0]}"
            else:
                hint = f"commands are {', '.join(self.list_commands(ctx))}"
            raise click.UsageError(f"{problem.message.rstrip('.')}; {hint}", ctx) from None


@click.group(cls=Commands, context_settings=HELP, epilog="Start with: gpuverdict analyze FOLDER")
@click.version_option(__version__, message="gpuverdict %(version)s")
def main() -> None:
    """Explains slow LLM serving from files people already have.

    It reads nvidia-smi logs, server logs, response files and benchmark outputs, offline, and says which bottleneck they confirm,
    rule out, merely fit, or cannot tell.
    """


def run() -> None:
    """The program: `main`, and then an end at once. Taking apart what the process would lose anyway takes 20 ms more."""
    import atexit
    import os

    try:
        main()
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:  # nobody reads on: Python's own end knows what to do
            raise end from None
        atexit._run_exitfuncs()  # temporary folders
        os._exit(end.code or 0)


def _pair(kind: str, number: bool) -> Any:
    def convert(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for value in values:
            key, sep, rest = value.rpartition("=")
            if not sep or not key:
                raise click.BadParameter(f"{value!r}: write {kind}")
            try:
                out[key] = float(rest) if number else rest
            except ValueError:
                raise click.BadParameter(f"{value!r}: {rest!r} is not a number; write {kind}") from None
        return out

    return convert


@main.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--out", type=click.Path(path_type=Path), help="Write report.html, report.md, findings.json, trace.duckdb and charts/ here.")
@click.option("--given", multiple=True, metavar="KEY=VALUE", help="State a fact, for example split=layer or slots=4 (may be repeated).")
@click.option(
    "--config",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Stated facts in a file (default: gpuverdict.toml of the folder).",
)
@click.option("--tz", metavar="ZONE", help="Zone of clocks that print none, for example Europe/Berlin or +02:00.")
@click.option(
    "--offset",
    "offsets",
    multiple=True,
    metavar="SOURCE=SECONDS",
    callback=_pair("SOURCE=SECONDS", True),
    help="UTC minus the clock of one source.",
)
@click.option(
    "--format", "form", type=click.Choice(["terminal", "markdown", "json"]), default="terminal", show_default=True, help="What to print."
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="RULE.NAME=VALUE",
    callback=_pair("RULE.NAME=VALUE", True),
    help="Override a threshold; it is printed as overridden.",
)
@click.option("--reveal", multiple=True, type=click.Choice(["name", "path", "id"]), help="Do not hide this class of values.")
@click.option("--gate", metavar="RULE,...", help="Exit with 10 if a named rule is confirmed, 11 if it cannot be told.")
@click.option("--timings", is_flag=True, help="Print the time of each step.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@click.option("--debug", is_flag=True, help="Show the full traceback of an error.")
def analyze(
    paths: tuple[str, ...], out: Path | None, form: str, gate: str | None, timings: bool, quiet: bool, debug: bool, **options: Any
) -> None:
    """Analyse files and folders and say what limits the server."""
    _looks_for_little_garbage()
    drawer = _drawer(out)
    try:
        with _messages(debug):
            _analyze(paths, out, drawer, form, gate, timings, quiet, options)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        if drawer:
            drawer.close()


@contextmanager
def _messages(debug: bool) -> Iterator[None]:
    """What goes wrong becomes a message and an exit code."""
    from .analyze import NothingReadable
    from .given import GivenError
    from .write import CannotWrite

    try:
        yield
    except GivenError as problem:
        raise click.UsageError(str(problem)) from None
    except (NothingReadable, CannotWrite) as problem:
        click.echo(str(problem), err=True)
        sys.exit(UNREADABLE)
    except (click.ClickException, BrokenPipeError):  # click ends quietly where nobody reads on
        raise
    except Exception as problem:
        if debug:
            raise
        click.echo(f"Internal error: {type(problem).__name__}: {problem}\nRun again with --debug and report it.", err=True)
        sys.exit(UNREADABLE)


def _drawer(out: Path | None) -> Drawer | None:
    """The process that draws, where there is a report to draw for. Asked for first of all: it starts while this one imports and reads."""
    if not out:
        return None
    from .report.charts import Drawer

    return Drawer()


def _analyze(
    paths: tuple[str, ...],
    out: Path | None,
    drawer: Drawer | None,
    form: str,
    gate: str | None,
    timings: bool,
    quiet: bool,
    options: dict[str, Any],
) -> None:
    import shutil

    from .analyze import Settings
    from .analyze import analyze as run
    from .write import prepare, write

    settings = Settings(**{**options, "reveal": frozenset(options["reveal"])})
    _stays_interruptible()
    build = prepare(out) if out else None
    try:
        trace = build / "trace.duckdb" if build else None
        stdin = sys.stdin.buffer if "-" in paths else None
        analysis = run(
            paths, settings, trace=trace, stdin=stdin, progress=_progress(quiet), **(_charted(drawer, settings) if drawer else {})
        )
        _check_gate(gate, analysis.result)
        if not quiet:
            _print(analysis, form, out)
        if timings:
            _print_timings(analysis.result)
        if build and out and drawer:
            write(analysis, build, out, _command(paths, settings, out), drawer)
    except BaseException:
        if build:
            shutil.rmtree(build, ignore_errors=True)
        raise
    if gate:
        sys.exit(_gate_code(gate, analysis.result))


def _charted(drawer: Drawer, settings: Settings) -> dict[str, Any]:
    """What an analysis calls on its way, so that each chart is drawn as soon as its data are known."""
    from .report import charts

    return {"viewed": partial(_viewed, drawer), "judged": partial(charts.ask_of_findings, drawer, settings.limits)}


def _viewed(drawer: Drawer, store: Store) -> None:
    """While the rules judge, which is DuckDB's work, charts are drawn in their process and the page's template is made ready in a thread."""
    import threading

    from .report import charts, html

    charts.ask_of_views(drawer, store)
    threading.Thread(target=html.template, daemon=True).start()


def _looks_for_little_garbage() -> None:
    """A process of some seconds need not do it often."""
    import gc

    gc.set_threshold(200_000, 20, 20)


def _stays_interruptible() -> None:
    """Ctrl-C ends what waits for a pipe or for the charts: since polars took the signal over, such waiting would go on."""
    import signal

    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)


def _progress(quiet: bool) -> Any:
    """A line on a terminal for long work; nothing in a pipe."""
    if quiet or not sys.stderr.isatty():
        return None

    def show(number: int, total: int, name: str) -> None:
        if total > 3:
            click.echo(f"\r\033[Kreading {number + 1}/{total}" + ("\r\033[K" if number + 1 == total else ""), err=True, nl=False)

    return show


def _print(analysis: Any, form: str, out: Path | None) -> None:
    from .report import markdown, terminal

    if form == "json":
        click.echo(analysis.result.to_json())
    elif form == "markdown":
        from .report import strips

        click.echo(markdown.render(analysis.result, strips.draw(analysis)), nl=False)
    else:
        click.echo(terminal.render(analysis.result, out), nl=False)


def _print_timings(result: Any) -> None:
    for rule, seconds in result.seconds_per_rule.items():
        click.echo(f"{seconds:8.3f} s  {rule}", err=True)
    click.echo(f"{result.seconds:8.3f} s  in all", err=True)


def _command(paths: tuple[str, ...], settings: Settings, out: Path) -> str:
    """The command with names only: paths on this machine do not leave it."""
    from .privacy import Hider

    hider = Hider()
    shown = [hider.label("path", Path(p).name or ".") for p in paths]
    stated = [f"--given {g}" for g in settings.given if not g.startswith(("model.name", "gpu.name", "host"))]
    limits = [f"--limit {k}={v:g}" for k, v in settings.limits.items()]
    return " ".join(["gpuverdict analyze", *shown, *stated, *limits, "--out", hider.label("path", out.name)])


def _check_gate(gate: str | None, result: Any) -> None:
    known = {f.rule for f in result.findings}
    for name in (gate or "").split(","):
        if gate and name.strip() not in known:
            raise click.UsageError(f"--gate: no rule {name.strip()!r}; rules are {', '.join(sorted(known))}")


def _gate_code(gate: str, result: Any) -> int:
    wanted = {name.strip() for name in gate.split(",")}
    verdicts = {f.verdict for f in result.findings if f.rule in wanted}
    return GATE_CONFIRMED if "confirmed" in verdicts else GATE_OPEN if verdicts & {"cannot-tell", "fits", "error"} else 0


@main.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--parser", "only", metavar="NAME", help="Try this parser alone.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def explain(files: tuple[str, ...], only: str | None, as_json: bool) -> None:
    """Say which parsers read a file and why, how its lines ended, and its clock; or why nothing reads it."""
    from .explain import UnknownParser, render
    from .explain import explain as run

    _stays_interruptible()
    try:
        entries = run(files, only, sys.stdin.buffer if "-" in files else None)
    except UnknownParser as problem:
        raise click.UsageError(str(problem)) from None
    if as_json:
        import json

        click.echo(json.dumps(entries, indent=1))
    else:
        click.echo(render(entries), nl=False)
    if not any(e["parser"] for e in entries):
        sys.exit(UNREADABLE)


def _catalogue(kind: str, name: str | None, as_json: bool) -> None:
    """Print one page, or the list of all."""
    from . import pages

    try:
        entries = {"parsers": pages.parsers, "rules": pages.rules, "tables": pages.tables}[kind](name)
    except pages.Unknown as problem:
        raise click.UsageError(str(problem)) from None
    if as_json:
        import json

        click.echo(json.dumps(entries, indent=1))
    elif name:
        page = {"parsers": pages.parser_page, "rules": pages.rule_page, "tables": pages.table_page}[kind]
        click.echo(page(entries[0]), nl=False)
    else:
        click.echo(pages.overview(entries), nl=False)
        for broken in pages.registry_problems():
            click.echo(f"did not load: {broken}", err=True)


@main.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def parsers(name: str | None, as_json: bool) -> None:
    """List what can be read, or print the page of one parser."""
    _catalogue("parsers", name, as_json)


@main.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def rules(name: str | None, as_json: bool) -> None:
    """List what can be answered, or print the page of one rule."""
    _catalogue("rules", name, as_json)


@main.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def tables(name: str | None, as_json: bool) -> None:
    """List the tables and views of a trace, or print the page of one."""
    _catalogue("tables", name, as_json)


@main.command()
@click.argument("trace", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("query")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def sql(trace: Path, query: str, as_json: bool) -> None:
    """Query a trace (trace.duckdb), read-only."""
    from .trace import QueryError, run

    try:
        click.echo(run(trace, query, as_json), nl=False)
    except QueryError as problem:
        raise click.ClickException(str(problem)) from None
