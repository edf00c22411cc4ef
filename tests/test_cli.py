"""The command line as a person meets it: messages, exit codes, cheap help."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from gpuverdict.engine.cli import main

ROOT = Path(__file__).parent.parent
CASE = ROOT / "fixtures" / "cases" / "three-cards"


def run(*args: str, **options: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, [str(a) for a in args], **options)  # type: ignore[arg-type]
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_the_first_screen_answers_both_questions() -> None:
    code, out, _ = run("analyze", str(CASE))
    assert code == 0
    assert "8 streams wait for 4 slots" in out and "The 3 cards take turns" in out
    assert "given: split=layer" in out and "server.log:2" in out
    assert "RULED" not in out.split("Ruled out")[0]
    assert max(len(line) for line in out.splitlines()) <= 80


def test_json_is_the_result_model() -> None:
    code, out, _ = run("analyze", str(CASE), "--format", "json")
    result = json.loads(out)
    assert code == 0 and result["schema"] == 1
    assert result["primary"]["rule"] == "slot-queue" and result["primary"]["scope"] == "c=8"
    finding = next(f for f in result["findings"] if f["rule"] == "turn-taking" and f["scope"]["label"] == "c=1")
    assert set(finding["scope"]) >= {"kind", "label", "host", "from", "to"}
    assert finding["evidence"][0]["source"] and finding["evidence"][0]["line"]


@pytest.mark.parametrize("kind", ["missing", "empty-folder", "unknown", "binary", "empty-file"])
def test_nothing_readable_exits_with_1_and_names_the_file(kind: str, tmp_path: Path) -> None:
    target = tmp_path / "dmon.bin"
    if kind == "empty-folder":
        target.mkdir()
    elif kind == "unknown":
        target.write_text("hello\nworld\n")
    elif kind == "binary":
        target.write_bytes(bytes(range(256)) * 100)
    elif kind == "empty-file":
        target.touch()
    code, out, err = run("analyze", str(target))
    assert code == 1 and not out
    assert "dmon" in err and "Traceback" not in err
    assert "gpuverdict parsers" in err


def test_what_is_readable_is_analysed_beside_what_is_not(tmp_path: Path) -> None:
    (tmp_path / "notes.bin").write_bytes(b"\x00\x01\x02" * 500)
    (tmp_path / "sweep.md").write_text((CASE / "sweep.md").read_text())
    code, out, _ = run("analyze", str(tmp_path), str(tmp_path / "gone.txt"))
    assert code == 0
    assert "notes.bin" in out and "Only 3.72 of 8 streams decode" in out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission_is_said(tmp_path: Path) -> None:
    file = tmp_path / "sweep.md"
    file.write_text("x")
    file.chmod(0)
    code, _, err = run("analyze", str(file))
    assert code == 1 and "ermission" in err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["analyse", "x"], "did you mean `gpuverdict analyze`"),
        (["analyze"], "Missing argument"),
        (["analyze", str(CASE), "--given", "splitt=layer"], "did you mean split"),
        (["analyze", str(CASE), "--limit", "turn-taking.sum_high=3"], "did you mean turn-taking.sum_hi"),
        (["analyze", str(CASE), "--limit", "turn-taking.sum_hi=x"], "is not a number"),
        (["analyze", str(CASE), "--tz", "Mars/Olympus"], "is not known"),
        (["analyze", str(CASE), "--gate", "nothing"], "no rule 'nothing'"),
        (["explain", str(CASE), "--parser", "nvidia-smi-dmonn"], "did you mean nvidia-smi-dmon"),
        (["parsers", "sweep-tabel"], "did you mean sweep-table"),
        (["rules", "turntaking"], "did you mean turn-taking"),
        (["tables", "gpu_sample"], "did you mean gpu_samples"),
    ],
)
def test_a_wrong_word_is_a_usage_error_with_advice(args: list[str], message: str) -> None:
    code, _, err = run(*args)
    assert code == 2
    assert message in " ".join(err.split())


def test_gate_exit_codes() -> None:
    assert run("analyze", str(CASE), "--gate", "slot-queue", "--quiet")[0] == 10
    assert run("analyze", str(CASE / "sweep.md"), "--gate", "turn-taking", "--quiet")[0] == 11


def test_an_overridden_limit_is_printed_as_overridden() -> None:
    code, out, _ = run("analyze", str(CASE), "--limit", "turn-taking.sum_hi=50", "--format", "json")
    result = json.loads(out)
    finding = next(f for f in result["findings"] if f["rule"] == "turn-taking" and f["scope"]["label"] == "c=1")
    assert code == 0 and finding["verdict"] != "confirmed"
    assert result["settings"]["limits_overridden"] == {"turn-taking.sum_hi": 50.0}


def test_out_writes_everything_or_nothing(tmp_path: Path) -> None:
    out = tmp_path / "report"
    assert run("analyze", str(CASE), "--out", str(out), "--quiet")[0] == 0
    assert {p.name for p in out.iterdir()} == {"report.html", "report.md", "findings.json", "trace.duckdb", "charts"}
    assert [p.name for p in tmp_path.iterdir()] == ["report"]
    assert run("analyze", str(tmp_path / "gone"), "--out", str(tmp_path / "second"))[0] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["report"]


def test_out_keeps_other_files_and_refuses_a_file(tmp_path: Path) -> None:
    out = tmp_path / "report"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    assert run("analyze", str(CASE), "--out", str(out), "--quiet")[0] == 0
    assert (out / "mine.txt").read_text() == "mine"
    code, _, err = run("analyze", str(CASE), "--out", str(out / "mine.txt"))
    assert code == 1 and "is a file" in err


@pytest.mark.thorough
def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        run("analyze", str(CASE), "--out", str(tmp_path / name / "report"), "--quiet")
    for name in ("report.md", "report.html", "findings.json", *(f"charts/{p.name}" for p in (tmp_path / "a/report/charts").iterdir())):
        assert (tmp_path / "a/report" / name).read_bytes() == (tmp_path / "b/report" / name).read_bytes(), name


@pytest.mark.parametrize(
    ("args", "code"), [(["responses.tar", "-q"], 0), (["server.log", "--gate", "slot-queue"], 11), (["gone"], 1), (["--given"], 2)]
)
def test_the_end_of_the_program_keeps_its_code_and_its_words_and_no_temporary_folder(args: list[str], code: int, tmp_path: Path) -> None:
    """It ends without Python's own end, which would do all of that."""
    command = [sys.executable, "-m", "gpuverdict", "analyze", *(str(CASE / a) if "." in a else a for a in args)]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert ended.returncode == code and not list(tmp_path.iterdir())
    assert "-q" in args or ((ended.stdout + ended.stderr).endswith("\n") and "Traceback" not in ended.stderr)


def test_nobody_who_reads_on_is_no_error() -> None:
    command = f"{sys.executable} -m gpuverdict analyze {CASE} | true"
    assert subprocess.run(command, cwd=ROOT, shell=True, capture_output=True, text=True).stderr == ""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks /proc for the processes")
def test_an_interrupt_while_waiting_for_a_pipe_leaves_nothing_behind(tmp_path: Path) -> None:
    """Only the analysis itself gets the signal. polars takes it over in a way that lets such waiting go on."""
    command = [sys.executable, "-m", "gpuverdict", "analyze", "-", "--out", str(tmp_path / "report")]
    analysing = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE)
    children = Path(f"/proc/{analysing.pid}/task/{analysing.pid}/children")
    # its folder is made when everything is imported: an import that is interrupted may end the process in ways of its own
    while not ((drawing := children.read_text().split()) and list(tmp_path.glob(".report-*"))):
        assert analysing.poll() is None
        time.sleep(0.02)
    time.sleep(0.5)
    analysing.send_signal(signal.SIGINT)
    assert analysing.wait(60) == 130
    assert not any(Path("/proc", pid).exists() for pid in drawing) and not list(tmp_path.iterdir())


def test_explain_says_who_reads_what() -> None:
    code, out, _ = run("explain", *(str(p) for p in sorted(CASE.iterdir()) if p.suffix in (".txt", ".log", ".md")), "--json")
    entries = {Path(e["file"]).name: e for e in json.loads(out)}
    assert code == 0
    assert entries["dmon.txt"]["parser"] == "nvidia-smi-dmon" and entries["dmon.txt"]["rows"]["gpu_samples"] == 54
    assert entries["server.log"]["parser"] == "llama-server" and entries["server.log"]["rows"]["requests"] == 16
    assert entries["sweep.md"]["parser"] == "sweep-table" and entries["sweep.md"]["rows"]["bench_steps"] == 4
    for entry in entries.values():
        assert set(entry["lines"]) == {"matched", "noise", "near_miss", "other"}
        assert entry["also"] == [] and entry["reason"]


def test_sql_reads_a_trace_and_cannot_write(tmp_path: Path) -> None:
    run("analyze", str(CASE), "--out", str(tmp_path / "r"), "--quiet")
    trace = str(tmp_path / "r/trace.duckdb")
    code, out, _ = run("sql", trace, "SELECT count(*) AS n FROM gpu_samples", "--json")
    assert code == 0 and json.loads(out) == [{"n": 54}]
    for query in ("DELETE FROM raw.gpu_samples", "COPY (SELECT 1) TO 'x.csv'", "SELECT * FROM read_csv('/etc/hosts')", "SELEC"):
        code, _, err = run("sql", trace, query)
        assert code == 1 and "Error" in err


def test_help_costs_little() -> None:
    """Under 0.2 s of CPU: heavy imports are lazy."""
    script = "import resource, subprocess, sys; subprocess.run([sys.executable, '-m', 'gpuverdict', '--help'], check=True, capture_output=True); u = resource.getrusage(resource.RUSAGE_CHILDREN); print(u.ru_utime + u.ru_stime)"
    seconds = float(subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    assert seconds < 0.2


def test_the_python_front_door() -> None:
    import gpuverdict as gv

    trace = gv.analyze([CASE])
    assert trace.findings
    assert trace.sql("SELECT count(*) AS n FROM gpu_samples")["n"][0] == 54
