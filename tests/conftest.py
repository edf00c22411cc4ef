"""Shared by all tests."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
pytest.register_assert_rewrite("open_ended")  # tests/parsers/open_ended.py: its asserts explain themselves as those of a test module
