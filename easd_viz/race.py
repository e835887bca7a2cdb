"""Several runs of one prompt side by side: always the one whose own clock is furthest behind takes the next round.

So all of them are as far as they would be had they started together on a machine each, and whatever slows this machine down for
a while slows them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from easd_viz.record import record
from easd_viz.trace import Config, Prompt, Trace

if TYPE_CHECKING:
    from easd_viz.models import Pair


def race(pair: Pair, prompt: Prompt, configs: Sequence[Config]) -> Iterator[tuple[int, Trace]]:
    """(number of the run, its trace so far) after every round, until every run has its footer."""
    runs = {i: record(pair, prompt, config) for i, config in enumerate(configs)}
    elapsed = dict.fromkeys(runs, 0.0)
    for i in list(runs):
        yield i, next(runs[i])  # its caches are filled
    while runs:
        i = min(runs, key=elapsed.__getitem__)
        trace = next(runs[i])
        last = trace.steps[-1]
        elapsed[i] += last.draft_ms + last.verify_ms + last.record_ms
        if trace.footer is not None:
            del runs[i]
        yield i, trace
