"""The law of the emitted token against EASD.md's three closed forms, over 20,000 rounds each, with negative controls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from fakes import constant_pair
from numpy.typing import NDArray
from scipy import stats

from easd_viz import sampling
from easd_viz.engine import decode
from easd_viz.trace import Config

Q = np.array([0.40, 0.30, 0.20, 0.05, 0.05])
P = np.array([0.15, 0.25, 0.30, 0.10, 0.20])
ROUNDS = 20_000
OPEN = Config(gamma=1, temperature=1.0, draft_threshold=0, target_threshold=0, overlap_threshold=0, max_new_tokens=10**8, seed=11)
Array = NDArray[np.float64]


def closed_sd() -> Array:
    return P


def closed_target() -> Array:
    """beta p + (1 - beta) r, and (1 - beta) r = max(p - q, 0)."""
    return np.minimum(P, Q).sum() * P + np.maximum(P - Q, 0)


def closed_exclude() -> Array:
    both = np.minimum(P, Q)
    law = np.array([sum(both[x] * P[y] / (1 - P[x]) for x in range(5) if x != y) for y in range(5)])
    return law + np.maximum(P - Q, 0)


def first_tokens(config: Config, p: Sequence[float] | Array = P) -> NDArray[np.int64]:
    """How often each token came first out of a round."""
    decoding = decode(constant_pair(Q.tolist(), list(p)), [0], config, lists=False)
    firsts = [next(decoding).token_ids[0] for _ in range(ROUNDS)]
    return np.bincount(firsts, minlength=5)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


CASES: list[tuple[Config, Callable[[], Array], str]] = [
    (replace(OPEN, mode="sd"), closed_sd, "SD"),
    (replace(OPEN, resample="target"), closed_target, "target rule"),
    (replace(OPEN, resample="exclude"), closed_exclude, "exclude rule"),
]


@pytest.mark.parametrize(("config", "law", "name"), CASES, ids=[c[2] for c in CASES])
def test_emitted_law(config: Config, law: Callable[[], Array], name: str) -> None:
    counts = first_tokens(config)
    pvalue = stats.chisquare(counts, law() * ROUNDS).pvalue
    assert pvalue > 1e-3, f"{name}: {counts / ROUNDS} is not {law()} (chi-square p = {pvalue:.2g})"
    for other in {closed_sd, closed_target, closed_exclude, lambda: Q} - {law}:
        wrong = stats.chisquare(counts, other() * ROUNDS).pvalue
        assert wrong < 1e-6, f"the control: the test can't tell {name} from another law (p = {wrong:.2g})"


def test_always_accepting_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: an engine that accepts every draft must fail the same bound."""
    monkeypatch.setattr("easd_viz.verify.accept_probability", lambda draft_prob, target_prob: 1.0)
    counts = first_tokens(replace(OPEN, mode="sd"))
    assert stats.chisquare(counts, P * ROUNDS).pvalue < 1e-6


def test_recorded_tv_is_the_closed_forms() -> None:
    step = next(decode(constant_pair(Q.tolist(), P.tolist()), [0], OPEN))
    token = step.drafted[0]
    assert token.beta == pytest.approx(np.minimum(P, Q).sum(), abs=1e-6)
    assert token.tv_target == pytest.approx(np.abs(closed_target() - P).sum() / 2, abs=1e-6)
    assert token.tv_exclude == pytest.approx(np.abs(closed_exclude() - P).sum() / 2, abs=1e-6)


def test_tv_exclude_near_certainty_keeps_its_digits() -> None:
    """p(x) within 1e-6 of 1: 1 - p(x) in float32 would be off by percents."""
    rest = torch.tensor([6e-7, 3e-7, 1e-7])
    p = torch.cat((torch.tensor([1.0]), rest)).unsqueeze(0)
    q = torch.tensor([[0.7, 0.1, 0.1, 0.1]])
    wide, other = p.double().numpy()[0], q.double().numpy()[0]
    wide = wide / wide.sum()
    both = np.minimum(wide, other)
    law = np.array([sum(both[x] * wide[y] / (wide.sum() - wide[x]) for x in range(4) if x != y) for y in range(4)])
    law += np.maximum(wide - other, 0)
    p32 = torch.tensor(wide, dtype=torch.float32).unsqueeze(0)
    if float(p32[0, 0]) >= 1:
        pytest.fail("the fixture's p(x) rounds to 1")
    found = sampling.tv_exclude(p32, sampling.residual(p32, q), sampling.common(p32, q), greedy=False)
    assert float(found) == pytest.approx(np.abs(law - wide).sum() / 2, rel=1e-3)
