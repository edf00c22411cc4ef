"""Charts: what is drawn, that no peak is lost, that one SVG serves light and dark, and that the same input gives the same bytes."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from gpuverdict.engine import catalog
from gpuverdict.engine.analyze import Analysis, Settings, _judgeable, analyze
from gpuverdict.engine.clock import OWN_AXIS
from gpuverdict.engine.collect import Collected
from gpuverdict.engine.given import Given
from gpuverdict.engine.report import charts
from gpuverdict.engine.report.charts import alignment, budget, ceiling, drawer, look, requests, sweep, utilisation
from gpuverdict.engine.report.charts.series import thin
from gpuverdict.engine.result import Answer, Finding, Headline, Primary, Result, ScopeRef
from gpuverdict.engine.store import Store
from hypothesis import given, settings
from hypothesis import strategies as st

CASE = Path(__file__).parents[2] / "fixtures" / "cases" / "three-cards"
SVG = "{http://www.w3.org/2000/svg}"


def axis_store(clocks: list[dict[str, Any]], samples_of: dict[str, list[dict[str, Any]]]) -> Store:
    """A store of several sources: one row of `clocks` each (its `name`, tables by that name in `samples_of`), clocks as given."""
    store = Store()
    catalog.load(store.con)
    for n, row in enumerate(clocks):
        store.insert("sources", pl.DataFrame({"name": [row["name"]], "status": ["read"]}), n)
        kept = {k: v for k, v in row.items() if k in ("kind", "resolution_s", "offset_s", "uncertainty_s", "method")}
        store.insert("clocks", pl.DataFrame([{"line": 1, **kept}]), n)
        for table, rows in samples_of.items():
            here = [{k: v for k, v in r.items() if k != "source"} for r in rows if r["source"] == row["name"]]
            if here:
                store.insert(table, pl.DataFrame(here, infer_schema_length=None), n)
    _judgeable(store, Collected(), Given(), Settings())
    return store


def store_of(**tables: list[dict[str, Any]]) -> Store:
    """A store as after reading: one source, its clock, and rows of tables."""
    store = Store()
    catalog.load(store.con)
    store.insert("sources", pl.DataFrame({"name": ["a.log"], "status": ["read"]}), 0)
    for name, rows in tables.items():
        store.insert(name, pl.DataFrame(rows, infer_schema_length=None), 0)
    _judgeable(store, Collected(), Given(), Settings())
    return store


def drawn(
    store: Store,
    findings: list[Finding] | None = None,
    overridden: dict[str, float] | None = None,
    primaries: list[Primary] | None = None,
) -> dict[str, str]:
    """What is drawn, in this process, which starts altair but once."""
    result = SimpleNamespace(findings=findings or [], settings={"limits_overridden": overridden or {}}, primaries=primaries or [])
    return charts.draw(SimpleNamespace(store=store, result=result), charts.Drawer(python=None))  # type: ignore[arg-type]


def says(svg: str) -> str:
    return ET.fromstring(svg).findtext(f"{SVG}desc") or ""


def samples(rounds: int, cards: int = 2, gap: int = 0, host: str | None = None) -> list[dict[str, Any]]:
    return [
        {
            "line": 2 + n * cards + g,
            "gpu": g,
            "host": host,
            "cycle": n,
            "time": float(n + (gap if n > rounds // 2 else 0)),
            "util_gpu": 10.0 * (g + 1),
        }
        for n in range(rounds)
        for g in range(cards)
    ]


def link(share: list[float | None]) -> Finding:
    ref = ScopeRef(kind="step", label="c=1")
    return Finding(rule="link-bandwidth", scope=ref, verdict="fits", claim="cause", because="w", sentence="", numbers={"link_share": share})


def memory(mbu: list[float | None], scope: str = "c=1") -> Finding:
    ref = ScopeRef(kind="step", label=scope)
    return Finding(rule="memory-bound", scope=ref, verdict="fits", claim="cause", because="w", sentence="", numbers={"mbu": mbu})


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyze(CASE)


@pytest.fixture(scope="module")
def three_cards(analysis: Analysis) -> dict[str, str]:
    return charts.draw(analysis)


def test_three_cards_draws_all_in_order(three_cards: dict[str, str]) -> None:
    assert list(three_cards) == list(charts.TITLES) == ["utilisation", "sweep", "requests", "ceiling", "alignment", "budget"]


def test_descriptions_give_the_numbers_in_words(three_cards: dict[str, str]) -> None:
    assert "99.1 % (96..102), 18 complete samples of 3 cards" in says(three_cards["utilisation"])
    assert "8 streams: 49 tokens/s in all, 13.2 for one, 3.72 decode at a time" in says(three_cards["sweep"])
    assert "Slot limit: 4 slots (logged)." in says(three_cards["sweep"])
    assert "on 4 slots, at most 4 at a time" in says(three_cards["requests"])
    assert "8 responses finished within 15.8 s, in groups of 4, 4." in says(three_cards["requests"])
    assert re.search(r"memory bandwidth, c=1: 10\.2\.\.36\.\d %, line at 40 % and 60 %", says(three_cards["ceiling"]))


def test_every_svg_is_one_labelled_picture_without_outside_references(three_cards: dict[str, str]) -> None:
    for name, svg in three_cards.items():
        root = ET.fromstring(svg)
        ids = [e.get("id") for e in root.iter() if e.get("id")]
        assert root.get("role") == "img"
        assert root.get("aria-labelledby") == f"gv-{name}-title gv-{name}-desc"
        assert len(ids) == len(set(ids)) and all(i and i.startswith(f"gv-{name}") for i in ids)
        assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= set(ids)
        assert svg.count("http") == 1 and 'xmlns="http://www.w3.org/2000/svg"' in svg
        assert "<script" not in svg and "<image" not in svg and 'class="background"' not in svg


def test_every_colour_is_a_variable(three_cards: dict[str, str]) -> None:
    known = {light for light, _ in charts.PALETTE.values()}
    for name, svg in three_cards.items():
        body = svg[svg.index("</style>") :]
        for attribute, colour in set(re.findall(r'(fill|stroke)="([^"]+)"', body)):
            if colour == "none" or colour.startswith("url("):
                continue
            assert colour in known, f"{name}: {attribute} {colour}"
            assert re.search(rf'\[{attribute}="{colour}"\]\{{{attribute}:var\(--\w+,{colour}\)\}}', svg)


def test_text_and_lines_have_contrast() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for name, pair in charts.PALETTE.items():
        if name != "grid":
            for colour, background in zip(pair, ("#f6f7f9", "#1c2024")):
                bright, dark = sorted((luminance(colour), luminance(background)), reverse=True)
                assert (bright + 0.05) / (dark + 0.05) >= 4.4, (name, colour)


def test_same_input_same_bytes_in_or_out_of_process(analysis: Analysis, three_cards: dict[str, str]) -> None:
    assert charts.draw(analysis) == three_cards
    assert charts.draw(analysis, charts.Drawer(python=None)) == three_cards


def test_the_views_are_all_that_four_charts_need(three_cards: dict[str, str]) -> None:
    """They can be drawn while the rules judge: the views do not change any more."""
    with charts.Drawer(python=None) as held:
        analyze(CASE, viewed=lambda store: charts.ask_of_views(held, store)).store.close()
        assert held.drawn() == {name: three_cards[name] for name in ("utilisation", "sweep", "requests", "alignment")}


def test_the_ceilings_need_no_more_than_their_rules(three_cards: dict[str, str]) -> None:
    """They are drawn while the other rules judge, once."""
    known = []
    with charts.Drawer(python=None) as held:

        def judged(findings: Sequence[Finding]) -> None:
            charts.ask_of_findings(held, {}, findings)
            known.append("ceiling" in held)

        analyze(CASE, judged=judged).store.close()
        assert known.index(True) < len(known) // 2
        assert held.drawn() == {"ceiling": three_cards["ceiling"]}


def test_specs_fit_the_schema(analysis: Analysis) -> None:
    import altair as alt

    store, result = analysis.store, analysis.result
    of_views = [(chart.draw, chart.collect(store)) for chart in (utilisation, sweep, requests, alignment)]
    for draw, data in [*of_views, (ceiling.draw, ceiling.collect(result.findings, {})), (budget.draw, budget.collect(result))]:
        assert data is not None
        spec, _ = look.specified(draw, data)
        assert spec.pop("background") is None  # Vega takes that for no background; the schema has no word for it
        alt.Root.validate(spec)


# --- the process that draws -------------------------------------------------------------------------------------------------------

SHARES = [{"key": "mbu", "name": "memory", "low": 0.1, "high": 0.3, "lines": [0.4, 0.6]}]
MISCHIEF = """
import sys
from gpuverdict.engine.report.charts import ceiling

def abort(data):
    import vl_convert
    vl_convert.vegalite_to_svg({"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {}, "title": chr(1)}, vl_version="v6_1")

def chatter(data):
    print("a library that prints")
    sys.stdout.flush()
    return ceiling.draw(data)

def fail(data):
    raise LookupError("no such thing")

def sleep(data):
    import time
    time.sleep(600)
"""


@pytest.fixture
def mischief(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ways to draw that go wrong, in a module that the process finds because this one does."""
    (tmp_path / "mischief.py").write_text(MISCHIEF)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mischief", raising=False)
    import mischief

    return mischief


def asked(held: charts.Drawer, draw: Any = ceiling.draw, data: Any = SHARES) -> str:
    held.ask("ceiling", draw, data)
    return held.drawn().get("ceiling", "")


@pytest.mark.parametrize("python", ["/nonexistent/python", "/bin/false", "/bin/echo"])
def test_a_process_that_cannot_be_had_changes_nothing(python: str) -> None:
    with charts.Drawer(python) as held:
        assert asked(held) == look.picture("ceiling", ceiling.draw, SHARES)


def test_a_program_that_never_answers_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deaf = tmp_path / "deaf"
    deaf.write_text("#!/bin/sh\nexec sleep 600\n")
    deaf.chmod(0o755)
    monkeypatch.setattr(drawer, "PATIENCE_S", 0.1)
    with charts.Drawer(str(deaf)) as held:
        assert asked(held).startswith("<svg")


def test_a_chart_that_ends_the_process_is_left_out_and_ends_nothing_else(mischief: Any) -> None:
    """vl-convert aborts its whole process on a control character; names are cleaned before, this is the second wall."""
    with charts.Drawer() as held:
        assert asked(held).startswith("<svg")
        assert asked(held, mischief.abort) == "" and asked(held) == ""


def test_what_is_printed_in_the_process_is_no_answer(mischief: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('printed at the start', end='', flush=True)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    with charts.Drawer() as held:
        assert asked(held, mischief.chatter) == look.picture("ceiling", ceiling.draw, SHARES)


@pytest.mark.parametrize("python", [sys.executable, None])
def test_a_chart_that_cannot_be_drawn_says_why(mischief: Any, python: str | None) -> None:
    with charts.Drawer(python) as held, pytest.raises((RuntimeError, LookupError), match="no such thing"):
        asked(held, mischief.fail)


def test_large_data_are_not_waited_for_and_closing_leaves_nothing_behind(mischief: Any) -> None:
    held = charts.Drawer()
    child = held._child
    assert child is not None
    began = time.perf_counter()
    held.ask("ceiling", mischief.sleep, ["x" * 1000] * 100_000)
    held.ask("budget", mischief.sleep, None)
    assert time.perf_counter() - began < 5
    held.close()
    assert child.returncode is not None and child.stdin and child.stdin.closed and child.stdout and child.stdout.closed
    assert held._asked["budget"].cancelled() and held._asked["ceiling"].result() == ""
    held.close()


def test_an_error_in_the_analysis_ends_the_process() -> None:
    with pytest.raises(KeyboardInterrupt), charts.Drawer() as held:
        child = held._child
        raise KeyboardInterrupt
    assert child is not None and child.returncode is not None


@pytest.mark.thorough
def test_neither_process_imports_what_only_the_other_needs() -> None:
    """That of the reports draws nothing as long as the other lives; that which draws queries nothing."""
    given = f"import sys; sys.path[:] = {sys.path!r}; "
    mine = f"from gpuverdict.engine.analyze import analyze; from gpuverdict.engine.report import charts; assert len(charts.draw(analyze({str(CASE)!r}))) == 6"
    drawing = f"from gpuverdict.engine.report.charts import ceiling, drawer, look; look.picture('ceiling', ceiling.draw, {SHARES!r})"
    for code, unwanted in ((mine, {"altair", "vl_convert"}), (drawing, {"polars", "duckdb", "pydantic"})):
        check = f"; print(sorted({unwanted!r} & set(sys.modules)))"
        assert subprocess.run([sys.executable, "-c", given + code + check], capture_output=True, text=True).stdout == "[]\n"


def test_texts_are_measured_without_the_fonts_of_the_machine() -> None:
    """vl-convert has one with it; the machine's would be opened for each letter, and make the same charts differ."""
    code = "import os; from gpuverdict.engine.report.charts import drawer; drawer._warm(); print(os.environ['FONTCONFIG_FILE'])"
    given = f"import sys; sys.path[:] = {sys.path!r}; "
    place = subprocess.run([sys.executable, "-c", given + code], capture_output=True, text=True, check=True).stdout.strip()
    folders = [folder.text for folder in ET.parse(place).getroot().iter("dir")]
    assert folders and not any(Path(str(folder)).exists() for folder in folders)


# --- absent, unknown, hostile -----------------------------------------------------------------------------------------------------


def test_nothing_to_draw_is_an_empty_dict() -> None:
    assert drawn(store_of()) == {}


def test_only_what_has_data_is_drawn() -> None:
    assert list(drawn(store_of(gpu_samples=samples(20)))) == ["utilisation"]
    assert list(drawn(store_of(), [memory([0.1, 0.3])])) == ["ceiling"]


def test_one_card_has_no_sum_and_no_legend() -> None:
    svg = drawn(store_of(gpu_samples=samples(20, cards=1)))["utilisation"]
    assert "utilisation 10.0 % (10)" in says(svg) and "of 1 card." in says(svg)
    assert ">sum<" not in svg and ">gpu0<" not in svg


def test_many_cards_are_a_band() -> None:
    svg = drawn(store_of(gpu_samples=samples(20, cards=12)))["utilisation"]
    assert ">lowest card<" in svg and ">highest card<" in svg and ">gpu3<" not in svg
    assert "780.0 %" in says(svg) and "12 cards" in says(svg)


def test_samples_without_times_are_numbered() -> None:
    rows = [{**row, "time": None} for row in samples(20)]
    assert "sample number (the file has no times)" in drawn(store_of(gpu_samples=rows))["utilisation"]


def test_unknown_utilisation_is_no_zero() -> None:
    rows = samples(20)
    for row in rows:
        if row["cycle"] == 7 and row["gpu"] == 1:
            row["util_gpu"] = None
    store = store_of(gpu_samples=rows)
    panel = store.rows_of(utilisation._RECORDINGS)[0]
    frame = utilisation._points(store, panel, 1)
    assert frame.filter(pl.col("series") == "gpu1", pl.col("x") == 7.0)["y"].to_list() == [None]
    assert frame.filter(pl.col("series") == "sum", pl.col("x") == 7.0)["y"].to_list() == [None]
    assert panel["low"] == 30.0 and panel["whole"] == 19


def test_open_ends_of_a_share_are_said() -> None:
    assert "memory bandwidth, c=1: at least 30 %" in says(drawn(store_of(), [memory([0.3, None])])["ceiling"])
    assert "memory bandwidth, c=1: at most 30 %" in says(drawn(store_of(), [memory([None, 0.3])])["ceiling"])
    assert drawn(store_of(), [memory([None, None])]) == {}


def test_lines_that_the_user_moved_are_drawn_where_they_are() -> None:
    svg = drawn(store_of(), [memory([0.1, 0.3])], {"memory-bound.low": 0.25})["ceiling"]
    assert "line at 25 % and 60 %" in says(svg)


def test_the_share_of_the_link_has_its_own_lines() -> None:
    assert "link between the cards, c=1: 21..34 %, line at 5 % and 20 %" in says(drawn(store_of(), [link([0.21, 0.34])])["ceiling"])


def test_names_cannot_leave_the_svg() -> None:
    bad = "</desc><script>alert(1)</script>\x01\"' onload=x"
    svg = drawn(store_of(), [memory([0.1, 0.3], scope=bad)])["ceiling"]
    root = ET.fromstring(svg)
    assert not list(root.iter(f"{SVG}script")) and "\x01" not in svg


def test_unplaced_and_per_stream_only_sweeps() -> None:
    rows = [{"line": n, "concurrency": float(c), "per_stream_tok_s": 20.0 / c} for n, c in enumerate((1, 2, 4), 2)]
    svg = drawn(store_of(bench_steps=rows))["sweep"]
    assert "as the source counts it" in svg and "of all streams" not in svg
    assert "decode at a time" not in says(svg) and "Slot limit" not in says(svg)


# --- thinning ---------------------------------------------------------------------------------------------------------------------


def test_a_peak_among_many_samples_is_kept() -> None:
    store = Store()
    store.con.execute(
        "CREATE TABLE s AS SELECT 'a' AS series, i AS x, CASE WHEN i = 77777 THEN 99 ELSE 10 + i % 3 END AS y FROM range(200000) t(i)"
    )
    frame = thin(store, "SELECT series, x, y FROM s", 1)
    assert frame.height <= 2 * charts.WIDTH
    assert frame.filter(pl.col("y") == 99)["x"].to_list() == [77777.0]
    assert frame["y"].min() == 10


def test_few_samples_are_all_kept_and_a_hole_breaks_the_line() -> None:
    store = store_of(gpu_samples=samples(20, gap=500))
    frame = utilisation._points(store, store.rows_of(utilisation._RECORDINGS)[0], 1)
    one = frame.filter(pl.col("series") == "gpu0")
    assert one.filter(pl.col("y").is_not_null()).height == 20
    holes = one.filter(pl.col("y").is_null())["x"].to_list()
    assert len(holes) == 1 and 10 < holes[0] < 511


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10_000), st.one_of(st.none(), st.integers(0, 100))), min_size=1, max_size=3000), st.integers(1, 9))
def test_thinning_keeps_extremes_and_invents_nothing(points: list[tuple[int, int | None]], series: int) -> None:
    store = Store()
    frame = pl.DataFrame(points, schema={"x": pl.Float64, "y": pl.Float64}, orient="row")
    store.con.execute("CREATE TABLE s (x DOUBLE, y DOUBLE)")
    store.append("s", frame)
    out = thin(store, "SELECT 'a' AS series, x, y FROM s", series)
    known = {(x, y) for x, y in points if y is not None}
    assert {(x, y) for x, y in zip(out["x"], out["y"]) if y is not None} <= known
    assert out["y"].max() == frame["y"].max() and out["y"].min() == frame["y"].min()


def request(n: int, slot: int | None, start: float, end: float) -> dict[str, Any]:
    return {
        "line": n + 1,
        "origin": "server",
        "run": 0,
        "request": str(n),
        "slot": slot,
        "started_at": start,
        "finished_at": end,
        "status": "ok",
    }


def test_many_requests_are_merged_per_slot_and_none_is_lost() -> None:
    rows = [request(n, n % 4, (n // 4) * 1.0, (n // 4) * 1.0 + 0.9) for n in range(8000)]
    store = store_of(requests=rows)
    log = store.rows_of(requests._LOGS)[0]
    bars = store.query(requests._lanes(log, log["ended"] - log["began"]))
    assert bars.height == 4 and bars["x2"].max() == pytest.approx(1999.9)
    assert "8000 requests in 2 000 s on 4 slots, at most 4 at a time" in says(drawn(store)["requests"])


def test_requests_without_slots_are_counted_in_flight() -> None:
    rows = [request(n, None, float(n), n + 3.0) for n in range(10)]
    assert "at most 3 in flight" in says(drawn(store_of(requests=rows))["requests"])


def test_running_and_waiting_of_a_server() -> None:
    rows = [{"line": n + 1, "time": 10.0 * n, "running": 4.0, "waiting": float(n)} for n in range(6)]
    assert "at most 4 running, at most 5 waiting, 6 statistics lines" in says(drawn(store_of(server_samples=rows))["requests"])


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=50), st.one_of(st.none(), st.floats(0, 60)))
def test_clusters_hold_every_response_once(times: list[float], resolution: float | None) -> None:
    sizes = requests.clusters(sorted(times), resolution)
    assert sum(sizes) == len(times) and all(sizes)


def test_clusters_are_not_finer_than_the_clock() -> None:
    assert requests.clusters([0.0, 0.1, 15.0, 15.2], 0.01) == [2, 2]
    assert requests.clusters([0.0, 0.0, 2.0, 2.0], 2.0) == [4]


# --- alignment --------------------------------------------------------------------------------------------------------------------

UTC = {"kind": "utc", "resolution_s": 0.001, "offset_s": 0.0, "uncertainty_s": 0.1, "method": "printed in UTC"}
LOADED = [(30.0, 60.0), (70.0, 90.0)]


def load(source: str, spans: list[tuple[float, float]]) -> list[dict[str, Any]]:
    return [{"source": source, **request(n, 0, a, b)} for n, (a, b) in enumerate(spans)]


def gpu_rows(source: str, rounds: int) -> list[dict[str, Any]]:
    return [{"source": source, **row} for row in samples(rounds, cards=1)]


@pytest.fixture
def tied() -> Store:
    clocks = [{"name": "server.log", **UTC}, {"name": "smi.csv", **UTC, "uncertainty_s": 0.5}]
    return axis_store(clocks, {"requests": load("server.log", LOADED), "gpu_samples": gpu_rows("smi.csv", 120)})


def test_sources_lie_on_one_axis_with_their_ties(tied: Store) -> None:
    told = says(drawn(tied)["alignment"])
    assert told.startswith("smi.csv: 0 to 119 s, offset 0 s, ± 0.5 s, printed in UTC; ")
    assert "server.log: 30 to 90 s, offset 0 s, ± 0.1 s, printed in UTC." in told
    assert "Load by server requests: 2 windows, 50 s in all." in told


def test_samples_that_do_not_count_for_the_load_are_bars_of_their_own(tied: Store) -> None:
    rows = alignment._rows(alignment._on_axis(tied))
    parts = tied.rows_of(alignment._SAMPLED.format(began=0.0, ended=119.0, pixel=119.0 / charts.WIDTH))
    used = {r["time"] for r in tied.rows_of("SELECT DISTINCT time FROM main.samples_in_load")}
    assert used and [p["used"] for p in parts] == [False, True, False, True, False]
    assert min(used) == parts[1]["x"] > 30 and max(used) == parts[3]["x2"] < 90
    assert all(p["n"] == 120 and p["used_n"] == len(used) for p in parts)
    assert f"; {len(used)} of 120 sample times count for the load." in alignment._says(rows[0], 0.0, parts)
    assert [b["kind"] for b in alignment._bars(0, rows[0], parts, 0.0)] == ["outside", "known", "outside", "known", "outside"]
    assert [b["kind"] for b in alignment._bars(1, rows[1], parts, 0.0)] == ["known"]


def test_without_load_nothing_is_grey() -> None:
    store = axis_store([{"name": "a.csv", **UTC}, {"name": "b.csv", **UTC}], {"gpu_samples": gpu_rows("a.csv", 20) + gpu_rows("b.csv", 20)})
    svg = drawn(store)["alignment"]
    assert "No load is known on this axis." in says(svg) and look.LIGHT["s8"] not in svg


def test_one_source_on_the_axis_is_no_panel() -> None:
    store = axis_store([{"name": "a.csv", **UTC}, {"name": "b.log", "kind": "none"}], {"gpu_samples": gpu_rows("a.csv", 20)})
    assert "alignment" not in drawn(store)


def test_a_clock_with_an_axis_of_its_own_is_not_drawn() -> None:
    clocks = [{"name": "a.csv", **UTC}, {"name": "b.csv", **UTC}, {"name": "own.log", "kind": "since-start", "resolution_s": 0.01}]
    tables = {
        "gpu_samples": gpu_rows("a.csv", 12) + gpu_rows("b.csv", 12),
        "server_samples": [{"source": "own.log", "line": 1, "time": 3.0}],
    }
    store = axis_store(clocks, tables)
    assert store.rows_of("SELECT method FROM main.clocks WHERE source_id = 2") == [{"method": OWN_AXIS}]
    assert "own.log" not in drawn(store)["alignment"]


def test_an_estimated_clock_is_called_so(tied: Store) -> None:
    tied.con.execute("UPDATE main.clocks SET estimated = TRUE, method = 'file time at the end of the log' WHERE source_id = 1")
    svg = drawn(tied)["alignment"]
    assert "smi.csv (estimated): 0 to 119 s" in says(svg) and "stroke-dasharray" in svg and ">smi.csv (estimated)<" in svg


def test_many_files_with_one_tie_are_one_row() -> None:
    names = [f"out/r{n}.json" for n in range(5)]
    rows = [{"source": name, **request(0, 0, float(n), n + 1.0)} for n, name in enumerate(names)]
    clocks = [{"name": name, **UTC, "uncertainty_s": 0.1 * n} for n, name in enumerate(names)] + [{"name": "smi.csv", **UTC}]
    found = alignment._rows(alignment._on_axis(axis_store(clocks, {"requests": rows, "gpu_samples": gpu_rows("smi.csv", 9)})))
    assert [(r["label"], r["uncertainty_s"], r["ended"]) for r in found] == [("r0.json and 4 more", 0.4, 5.0), ("smi.csv", 0.1, 8.0)]


# --- budget -----------------------------------------------------------------------------------------------------------------------


def part(component: str, low: float | None, high: float | None, step: tuple[float | None, float | None] = (40.0, 50.0)) -> dict[str, Any]:
    return {"component": component, "lo_ms": low, "hi_ms": high, "step_lo_ms": step[0], "step_hi_ms": step[1]}


def primary(scope: str, c: float | None, *parts: dict[str, Any], rule: str | None = None) -> Primary:
    return Primary(scope=scope, concurrency=c, speed=Answer(rule=rule, budget=list(parts)))


def test_the_budget_says_what_bounds_what() -> None:
    one = primary(
        "c=1", 1, part("memory", 5.0, 20.0), part("arithmetic", 0.0, None), part("host", 2.0, None), part("link latency", 0.0, 0.0)
    )
    told = says(drawn(store_of(), primaries=[one])["budget"])
    assert told == ("One step at c=1: 40..50 ms; memory: 5..20 ms; arithmetic: not bounded; host: at least 2 ms; link latency: 0 ms.")


def test_the_budget_is_that_of_the_speed_answer_or_of_one_stream() -> None:
    one, two = primary("c=1", 1, part("memory", 5.0, 20.0)), primary("c=2", 2, part("memory", 5.0, 20.0))
    answered = primary("c=2", 2, part("memory", 5.0, 20.0), rule="memory-bound")
    for primaries, scope in (([two, one], "c=1"), ([one, answered], "c=2"), ([two], None)):
        found = charts.budget_of(Result(version="0", primary=Headline(), primaries=primaries))
        assert (found.scope if found else None) == scope


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [part("memory", 0.0, None), part("unexplained", 0.0, 30.0)],
        [part("memory", 5.0, 20.0, (None, None))],
        [part("memory", 5.0, 20.0, (None, float("inf")))],
    ],
)
def test_no_budget_where_nothing_is_known(parts: list[dict[str, Any]]) -> None:
    assert drawn(store_of(), primaries=[primary("c=1", 1, *parts)]) == {}


@pytest.mark.parametrize(("step", "said"), [((40.0, None), "at least 40 ms"), ((None, 50.0), "at most 50 ms"), ((40.0, 40.0), "40 ms")])
def test_a_step_that_is_known_at_one_end(step: tuple[float | None, float | None], said: str) -> None:
    svg = drawn(store_of(), primaries=[primary("c=1", 1, part("memory", 5.0, 999.0, step))])["budget"]
    assert says(svg).startswith(f"One step at c=1: {said}; memory: 5..999 ms")
