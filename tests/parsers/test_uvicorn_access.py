"""Bare access lines of uvicorn: what they say, and what they must not."""

from __future__ import annotations

import pytest
from gpuverdict.engine.testing import check_conformance, rows_of
from gpuverdict.parsers.uvicorn_access import PARSER


def events(text: str) -> list[float]:
    return [r["value"] for r in rows_of(PARSER, text)[0].get("server_events", [])]


def test_conformance() -> None:
    check_conformance(PARSER)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('INFO:     127.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK', [200.0]),
        ('INFO:     ::1:5 - "POST /v1/chat/completions HTTP/1.1" 503 Service Unavailable', [503.0]),
        ('INFO:      - "POST /generate HTTP/1.1" 200 OK', [200.0]),
        ('[32mINFO[0m:     1.2.3.4:5 - "[1mPOST /v1/completions HTTP/1.1[0m" [32m200 OK[0m', [200.0]),
        ('INFO:     127.0.0.1:5 - "GET /health HTTP/1.1" 200 OK', []),
        ('INFO:     127.0.0.1:5 - "POST /tokenize HTTP/1.1" 200 OK', []),
        ('(APIServer pid=1) INFO:     127.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK', []),
        ('[2025-01-01 10:00:00] INFO:     127.0.0.1:5 - "POST /generate HTTP/1.1" 200 OK', []),
        ('prompt: INFO:     127.0.0.1:5 - "POST /generate HTTP/1.1" 200 OK', []),
    ],
)
def test_lines(line: str, found: list[float]) -> None:
    assert events(line + "\n") == found


def test_nothing_but_events_comes_out() -> None:
    rows, _ = rows_of(PARSER, PARSER.samples[0].text * 3)
    assert set(rows) - {"quality", "clocks"} == {"server_events"}
    assert "127.0.0.1" not in repr(rows) and "key=x" not in repr(rows)
