"""What people see, answered: each symptom that is present, with the findings that explain it, or "unexplained" and what was ruled out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .result import Finding
from .store import Store

# Symptom -> the rules whose confirmation explains it, and a sentence for the reader where one does.
EXPLAINED_BY: dict[str, tuple[str, ...]] = {
    "low utilisation": ("turn-taking", "idle-starvation", "client-limited", "off-gpu", "loading", "host-bound", "link-bandwidth"),
    "busy but cool": ("memory-bound", "spinning", "link-latency", "throttled", "turn-taking"),
    "throughput plateau": (
        "slot-queue",
        "kv-pressure",
        "admission-stall",
        "imbalance",
        "client-limited",
        "memory-bound",
        "compute-bound",
        "sm-bound",
        "link-bandwidth",
        "throttled",
    ),
    "slow single stream": (
        "turn-taking",
        "off-gpu",
        "memory-bound",
        "sm-bound",
        "idle-starvation",
        "throttled",
        "link-latency",
        "host-bound",
        "fallback-path",
        "narrow-link",
        "shared-gpu",
        "context-growth",
    ),
    "long waits": ("slot-queue", "kv-pressure", "admission-stall", "imbalance", "re-prefill", "loading"),
    "sudden change": ("throttled", "kv-pressure", "loading", "shared-gpu"),
}


def answer_symptoms(store: Store, findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """One entry per symptom and scope: symptom, scope, sentence, explained_by, may_fit, ruled_out, answer."""
    rows = store.rows_of("SELECT s.*, sc.label FROM main.symptoms s JOIN main.scopes sc USING (scope_id) ORDER BY symptom, scope_id")
    return [_answer(row, [f for f in findings if f.scope.label == row["label"]]) for row in rows]


def _answer(row: dict[str, Any], here: Sequence[Finding]) -> dict[str, Any]:
    about = {f.rule: f.about for f in here}
    wanted = EXPLAINED_BY[row["symptom"]]
    by = {v: [f.rule for f in here if f.verdict == v and f.rule in wanted] for v in ("confirmed", "fits", "ruled-out")}
    excluded = ", ".join(about[r] for r in by["ruled-out"])
    if by["confirmed"]:
        answer = "Explained by " + " and ".join(about[r] for r in by["confirmed"]) + "."
    elif by["fits"]:
        answer = (
            "Unexplained; it fits " + " or ".join(about[r] for r in by["fits"]) + "." + (f" Ruled out: {excluded}." if excluded else "")
        )
    else:
        answer = "Unexplained." + (f" Ruled out: {excluded}." if excluded else " Nothing that could explain it was ruled out either.")
    return {
        "symptom": row["symptom"],
        "scope": row["label"],
        "sentence": row["sentence"],
        "explained_by": by["confirmed"],
        "may_fit": by["fits"],
        "ruled_out": by["ruled-out"],
        "answer": answer,
    }
