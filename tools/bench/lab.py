"""The threshold lab's speed on 100 traces of 500 drafted tokens: reading them, a 50 x 50 sweep, calibration, memory.

Run: ``PYTHONPATH=.:tools python -m bench.lab``. Exit code 1 where a limit is missed: reading 3 s, sweep 0.5 s, memory 1 GB.
Times are of the CPU, so that other work on the machine does not count.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from easd_viz import calibrate, replay, store, trace
from easd_viz.trace import Config, Token, Trace
from tests.synthetic import make_trace

TRACES, TOKENS, GAMMA, GRID = 100, 500, 4, 50
LIMITS = {"read": 3.0, "sweep": 0.5, "memory": 1.0}
"""CPU seconds, CPU seconds, GB."""


def make_files(traces: int = TRACES, tokens: int = TOKENS, distinct: int = 10) -> list[bytes]:
    """Trace files of ``tokens`` drafted tokens each, of which only ``distinct`` differ."""
    made = [trace.dumps(_shortened(make_trace(seed, tokens // GAMMA, GAMMA, Config(seed=seed)))) for seed in range(distinct)]
    return [made[i % distinct] for i in range(traces)]


def _shortened(made: Trace) -> Trace:
    """Probabilities of the top lists as long as a float32's shortest decimal, which is what a real run writes."""
    steps = [replace(s, drafted=tuple(_short_tops(t) for t in s.drafted)) for s in made.steps]
    return replace(made, steps=tuple(steps))


def _short_tops(token: Token) -> Token:
    draft, target = ([(i, text, float(f"{p:.8g}")) for i, text, p in top or ()] for top in (token.draft_top, token.target_top))
    return replace(token, draft_top=tuple(draft), target_top=tuple(target))


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """(CPU seconds, result)."""
    started = time.process_time()
    result = call()
    return time.process_time() - started, result


def measure() -> dict[str, float]:
    """CPU seconds by name, and ``memory``: the process's peak in GB."""
    files = make_files()
    read, traces = timed(lambda: [store.parse(data) for data in files])
    stacked, data = timed(lambda: replay.arrays(traces))
    thresholds = np.linspace(0, 5, GRID)
    knobs: dict[str, Any] = {"k": 10, "overlap_threshold": 0.3}
    sweep, _ = timed(lambda: calibrate.sweep(data, thresholds, thresholds, **knobs))
    interval, _ = timed(lambda: calibrate.sweep(data, thresholds, thresholds, **knobs, resamples=calibrate.RESAMPLES))
    percentile, _ = timed(lambda: calibrate.by_percentile(data, 80, **knobs))
    rate, _ = timed(lambda: calibrate.by_gate_rate(data, 0.05, **knobs))
    gate = replay.gate_with(traces[0].header.config, draft_threshold=1.0)
    table, _ = timed(lambda: calibrate.token_table(data, gate))
    judged, _ = timed(lambda: replay.rejudge(traces[0], gate))
    return {
        "drafted": float(sum(len(s.drafted) for t in traces for s in t.steps)),
        "megabytes": sum(map(len, files)) / 1e6,
        "read": read,
        "arrays": stacked,
        "sweep": sweep,
        "sweep with intervals": interval,
        "calibrate by percentile": percentile,
        "calibrate by gate rate": rate,
        "token table": table,
        "rejudge one trace": judged,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def main() -> int:
    found = measure()
    for name, value in found.items():
        unit = {"drafted": "tokens", "megabytes": "MB", "memory": "GB"}.get(name, "s")
        limit = f"  (limit {LIMITS[name]:g} {unit})" if name in LIMITS else ""
        print(f"{name:<24}{value:12.3f} {unit}{limit}")
    missed = [name for name, limit in LIMITS.items() if found[name] > limit]
    if missed:
        print(f"over the limit: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
