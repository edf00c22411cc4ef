"""report.html: complete and in order, nothing from outside, nothing of others unescaped, usable without sight, colour or scripts."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from gpuverdict.engine.analyze import Analysis, analyze
from gpuverdict.engine.report import charts, html, strips
from gpuverdict.engine.result import Answer, Finding, Headline, Margin, Missing, OpenRival, Primary, Result, ScopeRef, SourceRow

CASE = Path(__file__).parents[2] / "fixtures" / "cases" / "three-cards"
COMMAND = "gpuverdict analyze three-cards --out report"
VOID = {"meta", "link", "br", "img", "hr", "input"}
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>&\"'{{ 7777*3 }}"
KEPT = {"verdict", "rule", "kind", "status"}  # closed vocabularies


class Page(HTMLParser):
    """Tags with attributes in order, headings, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[tuple[int, str]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append((int(tag[1]), ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        self.text += data
        if any(re.fullmatch("h[1-6]", t) for t in self.open):
            level, said = self.headings[-1]
            self.headings[-1] = (level, said + data)

    def values(self, attribute: str) -> list[str]:
        return [a[attribute] or "" for _, a in self.tags if attribute in a]


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyze(CASE)


@pytest.fixture(scope="module")
def text(analysis: Analysis) -> str:
    return html.render(analysis.result, charts.draw(analysis), strips.draw(analysis), COMMAND)


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def bare(**more: Any) -> Result:
    return Result(version="0", primary=Headline(sentence="These files do not show it."), **more)


def finding(verdict: Any, **more: Any) -> Finding:
    scope = ScopeRef(kind="step", label="c=4", concurrency=4)
    return Finding(
        **{
            "rule": "memory-bound",
            "scope": scope,
            "verdict": verdict,
            "claim": "cause",
            "because": "why",
            "sentence": "",
            "about": "memory bandwidth",
            **more,
        }
    )


# --- content and order ------------------------------------------------------------------------------------------------------------


def test_the_order_of_the_page(page: Page) -> None:
    top = [said.strip() for level, said in page.headings if level <= 2]
    assert [said for said in top if said != "Failed"] == [
        "8 streams wait for 4 slots.",
        "Why not more in total?",
        "Why is one stream slow?",
        "Evidence: sufficient",
        "What was seen",
        "What was recorded",
        "Time",
        "Why",
        "What one step is made of",
        "Ruled out",
        "Could not tell",
        "What to change",
        "How to check",
        "Details",
    ]
    folded = ["All findings", "Input quality", "Clocks and assumptions", "What was hidden", "How this was made"]
    places = [page.text.index(f"\n{title}\n") if f"\n{title}\n" in page.text else page.text.index(title) for title in folded]
    assert places == sorted(places)


def test_the_numbers_of_the_answers_are_there(page: Page) -> None:
    for said in (
        "CONFIRMED",
        "33.2 + 34.6 + 31.3 = 99.1 %",
        "4 slots: printed in server.log:2.",
        "+18 to +33 %",
        "Given: split=layer",
        COMMAND,
    ):
        assert said in page.text, said


def test_every_finding_and_every_missing_command_is_there(page: Page, analysis: Analysis) -> None:
    for f in analysis.result.findings:
        assert f.rule in page.text
        for missing in f.missing:
            assert missing.collect in page.text
        for name in f.numbers:
            assert name in page.text
    for source in analysis.result.sources:
        assert source.source in page.text


def test_without_anything_there_is_still_a_page() -> None:
    page = Page(html.render(bare(), {}, "", ""))
    assert page.headings[0] == (1, "These files do not show it.")
    assert page.text.count("UNDETERMINED") == 2 and "What was recorded" not in page.text


def test_open_findings_name_their_rivals_and_commands() -> None:
    rival = OpenRival(name="a fixed cost per step", settle="two SM clocks")
    fits = finding(
        "fits", sentence="Half is in use.", rivals_open=[rival], missing=[Missing(fact="mbu", collect="nvidia-smi dmon > dmon.txt")]
    )
    page = Page(html.render(bare(findings=[fits, finding("error", rule="throttled", because="it ran too long")]), {}, "", ""))
    for said in ("FITS", "a fixed cost per step", "two SM clocks", "nvidia-smi dmon > dmon.txt", "throttled, c=4: it ran too long"):
        assert said in page.text, said
    assert page.text.count("FITS") == 4  # the answer, why, the open question, the list of all


def test_what_was_not_understood_is_on_the_first_screen() -> None:
    rows = [SourceRow(source="odd.log", status="unknown", note="no parser understands it; nearest is vllm"), SourceRow(source="ok.log")]
    text = html.render(bare(sources=rows), {}, "", "")
    assert text.index("nearest is vllm") < text.index('id="details"')


def test_intervals_and_unknowns() -> None:
    shown = [html.value(v) for v in (None, [1.0, 2.0], [None, 0.4], [0.4, None], [3.0, 3.0], True, "layer", 0.30001, [], 12)]
    assert shown == ["unknown", "1..2", "at most 0.4", "at least 0.4", "3", "yes", "layer", "0.3", "", "12"]


def test_what_was_seen_is_answered(page: Page, analysis: Analysis) -> None:
    assert analysis.result.symptoms
    for s in analysis.result.symptoms:
        assert s["sentence"] in page.text and s["answer"] in page.text
    assert "What was seen" not in Page(html.render(bare(), {})).text


def clock_row(source: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"source": source, "kind": kind, "resolution_s": 1.0, "offset_s": None, "uncertainty_s": None, "method": None, **more}


def test_sources_without_a_tie_are_listed() -> None:
    clocks = [
        clock_row("quiet.md", "none"),
        clock_row("own.log", "since-start", method=html.OWN_AXIS),
        clock_row("smi.csv", "local-no-zone"),
        clock_row("tied.log", "utc", offset_s=0.0, method="printed in UTC"),
    ]
    text = Page(html.render(bare(clocks=clocks), {})).text
    assert "smi.csv: not tied; local times without a zone" in text and "quiet.md: not tied; no times were read from it" in text
    assert f"own.log: not tied; {html.OWN_AXIS}" in text and "tied.log: not tied" not in text
    many = [clock_row(f"f{n}.log", "since-start") for n in range(html.PLACES + 3)]
    assert "and 3 more" in Page(html.render(bare(clocks=many), {})).text
    assert "Not tied" not in Page(html.render(bare(clocks=[clock_row("a.md", "none"), clock_row("b.md", "none")]), {})).text


@pytest.mark.parametrize("kind", ["outside-the-load", "clock-not-matched"])
def test_what_time_says_of_a_source_is_a_sentence(kind: str) -> None:
    row = {"source": "smi.csv", "line": 2, "kind": kind, "n": 40, "note": "none of 40 samples was taken while requests ran"}
    page = Page(html.render(bare(quality=[row, {**row, "kind": "gap", "note": "a hole"}]), {}))
    section = page.text[page.text.index("Time\n") : page.text.index("Details")]
    assert "smi.csv:2: none of 40 samples was taken while requests ran." in section and "a hole" not in section


def test_the_budget_is_a_table(page: Page) -> None:
    budget = page.text[page.text.index("What one step is made of") : page.text.index("Ruled out")]
    for said in ("One step at c=1: 39.5..41 ms", "4.57..19.1 ms", "not bounded", "at most 1.26 ms", "at most 3.19 %"):
        assert said in budget, said


def test_a_share_of_the_step_is_at_most_all_of_it() -> None:
    parts = [{"component": "memory", "lo_ms": 5.0, "hi_ms": 90.0, "step_lo_ms": 40.0, "step_hi_ms": 50.0}]
    shown = html._budget(bare(primaries=[Primary(scope="c=1", concurrency=1, speed=Answer(budget=parts))]))
    assert shown and shown["rows"] == [{"name": "memory", "ms": "5..90 ms", "share": "10..100 %"}]


def test_subjects_without_any_record_are_one_line() -> None:
    margin = Margin(atom="mbu < low", value=None, line=0.4, margin=None, holds=None)
    untold = finding("cannot-tell", margin={"low": margin}, missing=[Missing(fact="mbu", collect="nvidia-smi dmon")])
    told = finding("cannot-tell", rule="throttled", about="clocks", recorded=True)
    text = html.render(bare(findings=[untold, told]), {})
    open_part = text[text.index('id="open"') : text.index('id="check"')]
    assert "Nothing was recorded about: memory bandwidth." in open_part
    assert open_part.count("<article") == 1 and "nvidia-smi dmon" not in open_part


def test_what_an_answer_leaves_open_is_said(page: Page) -> None:
    assert "What the hardware can do above 4 streams: the slots end the sweep there." in page.text


@pytest.mark.parametrize(
    ("advice", "command", "note"),
    [
        ("nvidia-smi dmon -s pucvmet -o DT > dmon.txt", "nvidia-smi dmon -s pucvmet -o DT > dmon.txt", ""),
        (
            "nvidia-smi pmon -d 1 > pmon.txt   (on the host, outside containers)",
            "nvidia-smi pmon -d 1 > pmon.txt",
            "(on the host, outside containers)",
        ),
        ("nvidia-smi dmon > dmon.txt, from 30 s before the load", "nvidia-smi dmon > dmon.txt", "from 30 s before the load"),
        ("pidstat -u -p $(pidof llama-server) 1 30", "pidstat -u -p $(pidof llama-server) 1 30", ""),
        ("nvidia-smi --query-gpu=index,name -l 1", "nvidia-smi --query-gpu=index,name -l 1", ""),
        ("the server's start-up lines (enforce_eager)", "", "the server's start-up lines (enforce_eager)"),
        ("", "", ""),
    ],
)
def test_only_commands_are_there_to_copy(advice: str, command: str, note: str) -> None:
    assert html.command_of(advice) == (command, note)
    page = html.render(bare(findings=[finding("fits", sentence="x", missing=[Missing(fact="mbu", collect=advice)])]), {})
    open_part = page[page.index('id="open"') : page.index('id="check"')]
    assert open_part.count("<pre") == bool(command)


# --- safe and whole ---------------------------------------------------------------------------------------------------------------


def test_nothing_comes_from_outside(text: str, page: Page) -> None:
    policy = [a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    assert not {"script", "iframe", "object", "embed", "img", "form", "base"} & {tag for tag, _ in page.tags}
    assert all(ref.startswith(("#", "data:")) for ref in page.values("href") + page.values("src"))
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert "@import" not in text and not re.search(r"url\((?!#)", text)
    said = {"http://SERVER:PORT"}  # in a command to copy
    assert set(re.findall(r"https?://[^\"'\s<]+", text)) - said == {"http://www.w3.org/2000/svg"}


def test_same_input_same_bytes(analysis: Analysis, text: str) -> None:
    slower = analysis.result.model_copy(update={"seconds": 99.0})
    assert html.render(slower, charts.draw(analysis), strips.draw(analysis), COMMAND) == text


def hostile(value: Any, key: str = "") -> Any:
    """Every text of a result replaced, also as keys of free-form dicts."""
    if isinstance(value, str):
        return value if key in KEPT else HOSTILE
    if isinstance(value, dict):
        return {k: hostile(v, k) for k, v in value.items()}
    return [hostile(v, key) for v in value] if isinstance(value, list) else value


def test_nothing_of_others_is_markup(analysis: Analysis) -> None:
    data = hostile(json.loads(analysis.result.to_json()))
    data["settings"]["given"], data["hidden"] = [HOSTILE], {HOSTILE: 1}
    for f in data["findings"]:
        f["numbers"][HOSTILE] = HOSTILE
        f["origins"][HOSTILE] = HOSTILE
    page = Page(html.render(Result.model_validate(data), {}, HOSTILE, HOSTILE))
    assert not {"img", "script"} & {tag for tag, _ in page.tags}
    assert HOSTILE in page.text and str(7777 * 3) not in page.text
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]


# --- without sight, without a mouse, without colour -------------------------------------------------------------------------------


def test_language_landmarks_and_skip_link(page: Page) -> None:
    tags = [tag for tag, _ in page.tags]
    assert dict(page.tags)["html"] == {"lang": "en"}
    assert tags.count("main") == tags.count("header") == tags.count("h1") == tags.count("title") - tags.count("svg") == 1
    skip = next(a for tag, a in page.tags if tag == "a")
    assert skip["href"] == "#main" and "main" in page.values("id")
    assert not page.open


def test_headings_skip_no_level(page: Page) -> None:
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_ids_are_unique_and_labels_exist(page: Page) -> None:
    ids = page.values("id")
    assert len(ids) == len(set(ids)), [i for i in ids if ids.count(i) > 1]
    for labels in page.values("aria-labelledby"):
        assert set(labels.split()) <= set(ids), labels


def test_tables_have_captions_and_scopes(page: Page) -> None:
    tags = [tag for tag, _ in page.tags]
    assert tags.count("table") == tags.count("caption") > 3
    assert all(a.get("scope") in ("col", "row") for tag, a in page.tags if tag == "th")


def test_what_scrolls_can_be_reached_by_keyboard(page: Page) -> None:
    for tag, attributes in page.tags:
        if tag == "pre" or set((attributes.get("class") or "").split()) & {"scroll", "picture"}:
            assert attributes.get("tabindex") == "0", attributes


def test_every_verdict_is_a_word(text: str) -> None:
    tags = re.findall(r'<span class="tag ([a-z-]+)">([^<]+)</span>', text)
    assert tags and all(html.label(verdict) == word for verdict, word in tags)


def test_style_knows_dark_narrow_and_paper(text: str) -> None:
    for said in ("prefers-color-scheme", "@media print", "@media (max-width", ":focus-visible", "forced-colors"):
        assert said in text


CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome", "chrome") if (path := shutil.which(name))), None)


def opened(path: Path, profile: Path) -> tuple[str, list[str]]:
    """The document as the browser understood it, and what it complained about. No name resolves."""
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    flags += " --disable-component-update --disable-sync --enable-logging=stderr --v=0"
    command = [str(CHROMIUM), *flags.split(), f"--user-data-dir={profile}", "--host-resolver-rules=MAP * ~NOTFOUND"]
    run = subprocess.run([*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120)
    return run.stdout, [line for line in run.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium binary on this machine")
def test_a_browser_without_network_has_nothing_to_complain_about(text: str, tmp_path: Path) -> None:
    good, bad = tmp_path / "report.html", tmp_path / "bad.html"
    good.write_text(text, encoding="utf-8")
    bad.write_text(text.replace("</main>", '<img src="http://example.invalid/x.png" alt=""></main>'), encoding="utf-8")
    dom, complaints = opened(good, tmp_path / "profile")
    assert complaints == []
    assert "8 streams wait for 4 slots." in dom and dom.count("<svg") == 6 and "</html>" in dom
    assert opened(bad, tmp_path / "profile")[1], "the check does not see a blocked request"


def test_the_template_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jinja2 import Environment

    compiled: list[str] = []
    compile_it = Environment.compile

    def counted(*given: Any, **named: Any) -> Any:
        compiled.append("once")
        return compile_it(*given, **named)

    monkeypatch.setattr(Environment, "compile", counted)
    monkeypatch.setattr(html, "cache_from_source", lambda path: str(tmp_path / Path(path).name))
    texts = []
    for _ in range(2):
        html.template.cache_clear()
        texts.append(html.render(Result(version="1", primary=Headline()), {}))
    assert texts[0] == texts[1] and len(compiled) == 1 and len(list(tmp_path.iterdir())) == 1

    (torn,) = tmp_path.iterdir()
    torn.write_bytes(torn.read_bytes()[:200])
    html.template.cache_clear()
    assert html.render(Result(version="1", primary=Headline()), {}) == texts[0] and len(compiled) == 2


def test_without_a_place_the_template_is_compiled_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "cache_from_source", lambda path: str(tmp_path / "none" / Path(path).name))
    html.template.cache_clear()
    assert html.template().name == "page.html.j2" and not list(tmp_path.iterdir())
