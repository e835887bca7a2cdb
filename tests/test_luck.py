"""Is it luck: the bootstrap interval of a mean difference, and what is said about it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from easd_viz.luck import difference, sentence

numbers = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50)


@given(numbers)
def test_equal_runs_differ_by_exactly_nothing(values: list[float]) -> None:
    found = difference(values, values, resamples=50)
    assert found is not None
    assert (found.mean, found.low, found.high) == (0, 0, 0)
    assert "No difference" in sentence("throughput", found, "A", "B")


@given(numbers, st.floats(0.1, 1e3))
def test_a_constant_gap_is_found(values: list[float], gap: float) -> None:
    found = difference(np.zeros(len(values)).tolist(), [gap] * len(values), resamples=50)
    assert found is not None
    assert found.low == pytest.approx(gap)
    assert found.high == pytest.approx(gap)
    assert not found.contains_zero


@given(numbers, numbers)
def test_the_mean_lies_between_extremes_and_swaps_sign(a: list[float], b: list[float]) -> None:
    n = min(len(a), len(b))
    there, back = difference(a[:n], b[:n], resamples=200), difference(b[:n], a[:n], resamples=200)
    assert there is not None
    assert back is not None
    assert there.mean == pytest.approx(-back.mean)
    assert there.low <= there.high
    assert there.low == pytest.approx(-back.high, abs=1e-6 * (1 + abs(there.low)))


def test_noise_around_nothing_has_zero_inside_nearly_always() -> None:
    """400 comparisons of 20 seeds each; percentile intervals are a bit short for so few, so a little below 95 % is expected."""
    rng = np.random.default_rng(7)
    inside = 0
    for _ in range(400):
        a, b = rng.normal(10, 1, 20), rng.normal(10, 1, 20)
        found = difference(a.tolist(), b.tolist(), resamples=500)
        assert found is not None
        inside += found.contains_zero
    assert 0.90 <= inside / 400 <= 0.98, f"zero was inside in {inside} of 400 comparisons of equals"


def test_a_shift_of_noise_is_told_apart() -> None:
    rng = np.random.default_rng(3)
    found = difference(rng.normal(10, 1, 20).tolist(), rng.normal(13, 1, 20).tolist())
    assert found is not None
    assert found.low > 0
    assert "higher in B than in A" in sentence("throughput", found, "A", "B")


def test_seeds_without_the_metric_are_left_out() -> None:
    found = difference([1.0, None, 3.0, 4.0], [2.0, 2.0, None, 5.0])
    assert found is not None
    assert (found.n, found.mean) == (2, 1)
    assert difference([1.0, None], [None, 2.0]) is None


def test_the_same_seed_gives_the_same_interval() -> None:
    a, b = [1.0, 2.0, 4.0], [2.0, 2.0, 7.0]
    assert difference(a, b) == difference(a, b)


def test_few_seeds_are_said_to_be_few() -> None:
    found = difference([1.0, 1.0, 1.0], [2.0, 3.0, 4.0])
    assert found is not None
    assert "1 time in 4" in sentence("throughput", found, "A", "B")
