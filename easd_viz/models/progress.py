"""What a long load is doing, for a progress bar in the UI or on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Progress:
    """One report; they come in order, a few per second at most."""

    stage: Literal["download", "convert", "load"]
    what: str
    """The file or model the stage works on."""
    done: int
    """Bytes done so far; 0 where nothing can be counted."""
    total: int | None
    """Bytes in all, or None where it isn't known."""


OnProgress = Callable[[Progress], None]


def silent(report: Progress) -> None:
    """The callback of those who don't want to know."""
