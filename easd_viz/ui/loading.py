"""Loading a pair while telling how far it is: the loader works in a thread, its reports come out of an iterator."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from easd_viz.models import Pair, PairSpec, Progress, load_pair


@dataclass(frozen=True, slots=True)
class Report:
    """How far a load is, in words and numbers."""

    text: str
    numbers: str
    progress: float | None


STAGES = {"download": "Downloading", "convert": "Converting (this once)", "load": "Loading"}


def load_with_reports(spec: PairSpec, dtype: str, device: str = "auto") -> Iterator[Report | Pair]:
    """Reports, several a second, then the pair. If nobody asks on, the load ends in the background, ready for the next time."""
    events: queue.SimpleQueue[Progress | Pair | Exception] = queue.SimpleQueue()

    def work() -> None:
        try:
            events.put(load_pair(spec, dtype=dtype, device=device, progress=events.put))
        except Exception as error:  # handed to the asking thread, which raises it
            events.put(error)

    started = time.monotonic()
    threading.Thread(target=work, name="load-pair", daemon=True).start()
    last: Progress | None = None
    yield Report("Loading the models", "", None)
    while True:
        try:
            event = events.get(timeout=0.5)
        except queue.Empty:
            event = last if last is not None else Progress("load", "the models", 0, None)
        if isinstance(event, Exception):
            raise event
        if not isinstance(event, Progress):
            yield event
            return
        if last is None or (event.stage, event.what) != (last.stage, last.what):
            started = time.monotonic()
        last = event
        yield report(event, time.monotonic() - started)


def report(event: Progress, seconds: float) -> Report:
    """What, how much, how long."""
    text = f"{STAGES[event.stage]} {event.what}"
    if not event.total:
        return Report(text, f"{seconds:.0f} s", None)
    share = min(event.done / event.total, 1.0)
    numbers = f"{event.done / 1e6:.0f} of {event.total / 1e6:.0f} MB · {seconds:.0f} s"
    if 0.02 < share < 1 and seconds > 1:
        numbers += f", about {seconds * (1 - share) / share:.0f} s left"
    return Report(text, numbers, share)
