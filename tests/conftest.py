"""Shared by all tests."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
pytest.register_assert_rewrite("open_ended")  # tests/parsers/open_ended.py: its asserts explain themselves as those of a test module

LONG = ("test_scenarios.py", "test_clock.py", "test_time_traps.py", "test_date_lines.py", "test_named_steps.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`thorough`: simulated scenarios, recordings with traps, files left out, and what holds for any text of a format."""
    for item in items:
        any_text = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        kit = item.path.parent.name == "parsers" and item.name.startswith(
            ("test_conformance", "test_wrappers", "test_blocks", "test_any_block_size", "test_cut")
        )
        if item.path.name in LONG or any_text or kit or item.name.startswith("test_case_degrades"):
            item.add_marker(pytest.mark.thorough)
