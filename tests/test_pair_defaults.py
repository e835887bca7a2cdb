"""tools/pair_defaults.py: the rules for k and rho do what they say."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic import make_trace

from easd_viz import replay

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
import pair_defaults

DATA = replay.arrays([make_trace(seed=seed, steps=30) for seed in range(3)])


def with_tops(draft: list[float], target: list[float]) -> replay.GateArrays:
    """The same tokens, all with these top lists."""
    tops = [tuple((number, str(number), prob) for number, prob in enumerate(probs)) for probs in (draft, target)]
    return replace(DATA, tokens=tuple(replace(token, draft_top=tops[0], target_top=tops[1]) for token in DATA.tokens))


def test_list_mass_is_the_mean_of_the_lists_sums() -> None:
    sums = [(sum(e[2] for e in t.draft_top[:7]), sum(e[2] for e in t.target_top[:7])) for t in DATA.tokens]
    assert pair_defaults.list_mass(DATA, 7) == pytest.approx(np.mean(sums, axis=0))


@pytest.mark.parametrize(
    ("draft", "target", "k"),
    [
        ([0.181] * 5 + [0.005] * 15, [0.19] * 5 + [0.003] * 15, 5),  # 0.905 and 0.95 in five
        ([0.181] * 5 + [0.005] * 15, [0.17] * 5 + [0.01] * 15, 10),  # the target's five hold 0.85, its ten 0.9
        ([0.01] * 20, [0.181] * 5 + [0.005] * 15, 20),  # the draft never has that much: the longest
    ],
)
def test_k_is_the_shortest_list_with_the_mass(draft: list[float], target: list[float], k: int) -> None:
    assert pair_defaults.choose_k(with_tops(draft, target)) == k


@pytest.mark.parametrize("k", [1, 5, 10, 20])
def test_rho_is_the_median_overlap(k: int) -> None:
    rho, overlap = pair_defaults.choose_overlap(DATA, k), DATA.overlap_at(k)
    assert rho in overlap
    assert (overlap >= rho).mean() >= 0.5 >= (overlap > rho).mean()
