"""What collectors, viewers and pastes make of a log's lines: every one of them gives the rows of the plain log, and quoted text gives none."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from gpuverdict.engine.peel import active_peelers, peel
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import rows_of
from gpuverdict.parsers import llama_server, sglang_server

START = datetime(2026, 3, 5, 10, 0, tzinfo=UTC)
LOG = [
    "slot launch_slot_: id  1 | task 7 | processing task",
    "slot update_slots: id  1 | task 7 | kv cache rm [40, end)",
    "slot print_timing: id  1 | task 7 | ",
    "prompt eval time =     130.00 ms /   260 tokens (    0.50 ms per token,  2000.00 tokens per second)",
    "       eval time =     400.00 ms /    20 tokens (   20.00 ms per token,    50.00 tokens per second)",
    "      total time =     530.00 ms /   280 tokens",
    "slot      release: id  1 | task 7 | stop processing: n_past = 319, truncated = 0",
    "srv  update_slots: all slots are idle",
]
PLAIN = {
    "slot": 1,
    "prompt_tokens": 260.0,
    "cached_tokens": 40.0,
    "output_tokens": 20.0,
    "prompt_ms": 130.0,
    "decode_ms": 400.0,
    "status": "ok",
}


def iso(i: int) -> str:
    return (START + timedelta(seconds=i)).strftime("%Y-%m-%dT%H:%M:%S.000000Z")


def millis(i: int) -> int:
    return int((START + timedelta(seconds=i)).timestamp() * 1000)


def _csv(names: list[str], cells: Callable[[int, str], list[Any]], every: bool = True) -> str:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL if every else csv.QUOTE_MINIMAL)
    writer.writerows([names, *(cells(i, line) for i, line in enumerate(LOG))])
    return out.getvalue()


def each(form: Callable[[int, str], str]) -> str:
    return "".join(form(i, line) + "\n" for i, line in enumerate(LOG))


def objects(form: Callable[[int, str], dict[str, Any]]) -> str:
    return each(lambda i, line: json.dumps(form(i, line)))


TIMED = {
    "CloudWatch, CSV of epoch milliseconds": _csv(["timestamp", "message"], lambda i, x: [millis(i), x]),
    "CloudWatch, quotes only where needed": _csv(["timestamp", "message"], lambda i, x: [millis(i), x], every=False),
    "Datadog, CSV": _csv(["Date", "Host", "Service", "Content"], lambda i, x: [iso(i), "h", "llm", x]),
    "Grafana, CSV": _csv(["Time", "Line", "tsNs", "id"], lambda i, x: [iso(i), x, millis(i) * 10**6, i]),
    "Google Cloud, JSON lines": objects(lambda i, x: {"insertId": f"a{i}", "textPayload": x, "timestamp": iso(i)}),
    "Elasticsearch": objects(lambda i, x: {"_index": "l", "_source": {"@timestamp": iso(i), "message": x}}),
    "Fluent Bit": objects(lambda i, x: {"date": millis(i) / 1000, "log": x, "kubernetes": {"pod_name": "llm-0"}}),
    "Vector": objects(lambda i, x: {"file": "/var/log/x", "message": x, "source_type": "file", "timestamp": iso(i)}),
    "logcli, JSON lines": objects(lambda i, x: {"labels": {"app": "llm"}, "line": x, "timestamp": iso(i)}),
    "logcli": each(lambda i, x: f'{iso(i)} {{app="llm", pod="llm-0"}} {x}'),
    "Grafana, text": "Line limit: 9\n\n" + each(lambda i, x: f"{millis(i)}\t{iso(i)}\t{x}"),
    "aws logs tail": each(lambda i, x: f"{iso(i)} ecs/llm/0a1b2c {x}"),
    "syslog, RFC 5424": each(lambda i, x: f"<14>1 {iso(i)} host llm 77 - - {x}"),
    "syslog, ISO file": each(lambda i, x: f"2026-03-05T10:00:0{i}.000000+00:00 host llm: {x}"),
    "Jenkins": each(lambda i, x: f"[{iso(i)}] {x}"),
    "GitLab": each(lambda i, x: f"{iso(i)} 01O {x}"),
    "gh run view --log": each(lambda i, x: f"bench\tRun server\t{iso(i)} {x}"),
    "a time with a blank and a zone": each(lambda i, x: f"2026-03-05 10:00:0{i}+00:00 {x}"),
    "stern, any pod, timestamps": each(lambda i, x: f"llm-0 main {iso(i)} {x}"),
}
TIMELESS = {
    "stern, any pod": "+ llm-0 \u203a main\n" + each(lambda i, x: f"llm-0 main {x}"),
    "podman compose": each(lambda i, x: f"[llm-server] | {x}"),
    "code that begins on the line of its fence": "It says:\n\n```" + each(lambda i, x: x)[:-1] + "\n```\n\n### It is slow\n",
    "kubetail": each(lambda i, x: f"[llm-0] {x}"),
    "pm2": each(lambda i, x: f"0|llm  | {x}"),
    "foreman": each(lambda i, x: f"10:00:0{i} llm.1   | {x}"),
    "multilog": each(lambda i, x: f"@4000000065a{i}3a2b0c1d2e3f {x}"),
    "torchrun": each(lambda i, x: f"[rank0]: {x}"),
    "SkyPilot": each(lambda i, x: f"(task, pid=3445) {x}"),
    "less -N": each(lambda i, x: f"{i + 1:7d} {x}"),
    "cat -n": each(lambda i, x: f"{i + 9:6d}\t{x}"),
    "grep -n": each(lambda i, x: f"{i * i + 12}:{x}"),
    "grep -Hn": each(lambda i, x: f"server.log:{i + 12}:{x}"),
    "grep -H": each(lambda i, x: f"server.log:{x}"),
    "a list": each(lambda i, x: f"- {x}"),
    "code of one line each": each(lambda i, x: f"`{x}`"),
    "fences on the lines": f"```{each(lambda i, x: x)[:-1]}```\n",
    "an indented code block": "This is the log:\n\n" + each(lambda i, x: f"    {x}") + "\nIt is slow.\n",
    "an indented code block, tabs": "This is the log:\n\n" + each(lambda i, x: f"\t{x}"),
    "a code block in a list": "1. start it\n   ```\n" + each(lambda i, x: f"   {x}") + "   ```\n2. wait\n",
    "a JSON array": json.dumps([{"insertId": f"a{i}", "textPayload": x, "timestamp": iso(i)} for i, x in enumerate(LOG)], indent=2),
    "aws logs get-log-events": json.dumps({"events": [{"ingestionTime": 1, "message": x, "timestamp": 2} for x in LOG]}, indent=4),
    "LocalAI, 2024": each(lambda i, x: f"6:1{i}PM DBG GRPC(a.gguf-127.0.0.1:41077): stdout {x}"),
    "LocalAI behind compose": each(lambda i, x: f"api-1  | 6:1{i}PM DBG GRPC(a.gguf-127.0.0.1:41077): stderr {x}"),
    "LocalAI, 2026, journal": each(
        lambda i, x: (
            f'ago 05 17:27:0{i} host localai[5977]: Aug 05 15:27:0{i} DEBUG GRPC stderr id="a.gguf-127.0.0.1:42043" line="{x}" '
            'caller={caller.file="/build/pkg/model/process.go"  caller.L=219 } '
        )
    ),
}


@pytest.mark.parametrize("name", [*TIMED, *TIMELESS])
def test_the_request_of_the_plain_log(name: str) -> None:
    rows, _ = rows_of(llama_server.PARSER, (TIMED | TIMELESS)[name])
    (request,) = rows["requests"]
    assert {key: request[key] for key in PLAIN} == PLAIN
    if name in TIMED:
        assert (request["finished_at"], rows["clocks"][0]["kind"]) == (millis(6) / 1000, "utc")


def test_an_export_that_begins_with_the_newest_record_is_turned_round() -> None:
    first, *rest = TIMED["CloudWatch, CSV of epoch milliseconds"].splitlines(keepends=True)
    request = rows_of(llama_server.PARSER, first + "".join(reversed(rest)))[0]["requests"][0]
    assert {key: request[key] for key in PLAIN} == PLAIN
    long = "".join(f'"{millis(9_000 - i)}","x{i} {"-" * 99}"\n' for i in range(3_000))
    backwards = Source.from_text(first + "".join(reversed(rest)) + long)
    assert not backwards.head().complete  # what does not fit into the head is left alone
    assert "requests" not in rows_of(llama_server.PARSER, first + "".join(reversed(rest)) + long)[0]


def test_a_time_without_zone_is_local() -> None:
    text = _csv(["@timestamp", "@message"], lambda i, x: [f"2026-03-05 10:00:0{i}.000", x])
    rows, _ = rows_of(llama_server.PARSER, text)
    assert (rows["requests"][0]["finished_at"], rows["clocks"][0]["kind"]) == (millis(6) / 1000, "local-no-zone")


def test_quotes_inside_records_and_backends_are_the_logs_own() -> None:
    line = '{"function":"print_timings","level":"INFO","msg":"generation eval time =    3000.00 ms /    60 runs   (   50.00 ms per token,    20.00 tokens per second)","id_slot":2,"id_task":9,"timestamp":1712000004}'
    for text in (
        "timestamp,message\n" + f'1,"{line.replace(chr(34), chr(34) * 2)}"\n',
        json.dumps({"insertId": "a", "textPayload": line}) + "\n" + json.dumps({"insertId": "b", "textPayload": "x"}) + "\n",
        f'Aug 05 15:27:04 DEBUG GRPC stdout id="a-127.0.0.1:4043" line="{line.replace(chr(34), chr(92) + chr(34))}" caller={{caller.L=219 }}\nx\n',
    ):
        (request,) = rows_of(llama_server.PARSER, text)[0]["requests"]
        assert (request["slot"], request["decode_ms"], request["output_tokens"]) == (2, 3000.0, 60.0)


@pytest.mark.parametrize(
    "mark",
    [
        "- {}",  # one item of a list among other text
        "user: `{}`",
        "12:{}",
        "llm-0 main {}",
        "ecs/llm/0a1b2c {}",
        "6:10PM DBG user says GRPC(a): stdout {}",
        "somebody: 6:10PM DBG GRPC(a-127.0.0.1:41077): stdout {}",
        'timestamp,prompt: "{}"',
        '{{"message": "{}"}}',
        "look:\n\n    {0}\n    {0}\n    {0}\n\nwhy?",
        "look:\n```\n    {0}\n    {0}\n```\nwhy?",
        "look:\n`{0}`\nwhy?",
    ],
)
def test_a_quotation_gives_nothing(mark: str) -> None:
    other = "".join(f"srv  log_server_r: request: POST /v1/chat/completions 127.0.0.1 {200 + i}\n" for i in range(9))
    quoted = (
        "[2026-01-01 10:00:00] Decode batch, #running-req: 9, #token: 9, token usage: 0.5, gen throughput (token/s): 9.0, #queue-req: 9, "
    )
    assert "server_samples" not in rows_of(sglang_server.PARSER, other + mark.format(quoted) + "\n" + other)[0]


def test_blanks_in_front_of_a_line_of_the_log_itself_stay() -> None:
    cards = "  Device 0: Card A, gfx1100 (0x1100), VMM: no\n  Device 1: Card B, gfx1100 (0x1100), VMM: no\n"
    for text in (cards, cards + "\n" + LOG[0] + "\n"):
        assert [g["name"] for g in rows_of(llama_server.PARSER, text)[0]["gpus"]] == ["Card A", "Card B"]


@pytest.mark.parametrize(
    "own", ["2026-09-06T10:00:0{n}Z tinyserve stats: run={n}", "[tiny-serve] stats run={n}", "tiny-serve info stats run={n}"]
)
def test_the_words_that_a_program_begins_its_lines_with_are_its_own(own: str) -> None:
    """A plugin's format needs them."""
    lines = [own.format(n=n) for n in range(9)]
    peeled = peel(pl.DataFrame({"text": lines}), active_peelers("\n".join(lines)))["text"].to_list()
    assert peeled == [line.removeprefix(f"2026-09-06T10:00:0{n}Z ") for n, line in enumerate(lines)]
