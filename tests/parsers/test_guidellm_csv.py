"""guidellm's CSV: headers of one and of three lines, shorter rows, loads, damage."""

from __future__ import annotations

from functools import partial

from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.guidellm_csv import PARSER
from open_ended import document_tests, read

NEW, OLD = (s.text for s in PARSER.samples)

facts = partial(read, PARSER)


def test_samples() -> None:
    check_samples(PARSER)


test_samples_are_claimed_and_blocks_do_not_matter, test_a_cut_invents_nothing, test_a_garbled_byte_raises_nothing = document_tests(PARSER)


def test_a_row_that_fits_under_no_headers_is_a_near_miss() -> None:
    lines = NEW.split("\r\n")
    lines[4] = lines[4].replace(",60,0,0,60,", ",60,1,0,61,")  # it says that there are unfinished requests and has no columns for them
    rows, counts = facts("\r\n".join(lines))
    assert len(rows["bench_steps"]) == 1 and counts.near_miss == 1


def test_streams_only_where_there_are_as_many_as_rows() -> None:
    rows = facts(NEW.replace("[4, 8]", "[4, 8, 16]"))[0]
    assert [r.get("concurrency") for r in rows["bench_steps"]] == [None, None]
    assert {"kind": "streams-not-printed", "n": 2}.items() <= rows["quality"][0].items()


def test_other_strategies() -> None:
    one = facts(OLD.replace("concurrent@2", "constant@2.50"))[0]["bench_steps"][0]
    assert (one.get("concurrency"), one.get("rate_rps")) == (None, 2.5)
    assert facts(OLD.replace("concurrent@2", "synchronous"))[0]["bench_steps"][0]["concurrency"] == 1.0
    odd = facts(OLD.replace("concurrent@2", "throughput"))[0]
    assert odd["bench_steps"][0].get("concurrency") is None and "quality" not in odd


def test_no_measurements_without_a_success() -> None:
    head, row = OLD.rstrip("\n").split("\n")
    rows = facts(f"{head}\n{row.replace(',60.0,15,', ',60.0,0,', 1)}\n")[0]
    assert [r["kind"] for r in rows["quality"]] == ["all-failed"]
    (step,) = rows["bench_steps"]
    assert step["completed"] == 0.0 and step["wall_s"] == 60.0 and "aggregate_tok_s" not in step


def test_no_text_leaves() -> None:
    assert "http" not in repr(facts(NEW)[0])


def test_two_files_behind_each_other() -> None:
    rows, counts = facts(OLD + OLD)
    assert [r["series"] for r in rows["bench_steps"]] == ["run 1", "run 2"] and counts.noise == 2


def test_other_files_are_not_claimed() -> None:
    assert PARSER.claims(Source.from_text("a,b,c\n1,2,3\n").head()) is None
