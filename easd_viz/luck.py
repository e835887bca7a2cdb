"""Is a difference more than luck? The same comparison under several seeds, and an interval around each mean difference.

Percentile bootstrap over paired differences (Efron and Tibshirani 1993, chapter 13): seeds are resampled with replacement,
the mean of each resample is taken, and the interval holds the middle 95 % of those means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000
LEVEL = 0.95
FEW = 6
"""With fewer seeds than this, differences that all point one way come about by luck alone in more than 1 of 20 cases."""

UNITS: Mapping[str, tuple[str, str]] = {
    "throughput": ("throughput", "tokens/s"),
    "block_efficiency": ("block efficiency", "tokens/pass"),
    "acceptance_rate": ("acceptance rate", "%"),
    "expected_acceptance": ("expected acceptance α", "%"),
    "draft_utilisation": ("draft utilisation", "%"),
    "gate_rate": ("gate rate", "%"),
}
"""The metrics that are compared over seeds, by their key in ``metrics.flat``: (label, unit)."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of ``second - first`` over seeds, with its bootstrap interval."""

    n: int
    """Seeds in which both runs have the metric."""
    mean_first: float
    mean_second: float
    mean: float
    low: float
    high: float

    @property
    def contains_zero(self) -> bool:
        return self.low <= 0 <= self.high


def difference(
    first: Sequence[float | None],
    second: Sequence[float | None],
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> Difference | None:
    """Paired by seed. None where fewer than two seeds have the metric in both runs."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if len(pairs) < 2:
        return None
    values = np.array(pairs, dtype=np.float64)  # [seeds, 2]
    gaps = values[:, 1] - values[:, 0]
    drawn = np.random.default_rng(seed).integers(0, len(gaps), size=(resamples, len(gaps)))
    tail = (1 - level) / 2
    low, high = np.quantile(gaps[drawn].mean(axis=1), [tail, 1 - tail])
    means = values.mean(axis=0)
    return Difference(len(gaps), float(means[0]), float(means[1]), float(gaps.mean()), float(low), float(high))


def sentence(label: str, found: Difference, first: str, second: str) -> str:
    """What the interval says about ``label``, plainly. ``first`` and ``second`` name the runs."""
    if found.low == found.high == 0:
        return f"No difference in {label}: {first} and {second} are equal in each of {found.n} seeds."
    if found.contains_zero:
        return f"Zero is inside the interval: in {found.n} seeds, {second} and {first} can’t be told apart by {label}."
    way = "higher" if found.mean > 0 else "lower"
    said = f"Zero is outside the interval: {label} is {way} in {second} than in {first}, by more than luck explains."
    if found.n < FEW:
        said += f" But with {found.n} seeds, luck alone points one way 1 time in {2 ** (found.n - 1)}: try more."
    return said
