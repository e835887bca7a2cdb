"""Distributions against transformers' warpers; entropies; draws."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from easd_viz import sampling
from easd_viz.draws import uniform

floats = st.floats(-30, 30, width=32)


def warped(logits: torch.Tensor, temperature: float, top_k: int, top_p: float) -> torch.Tensor:
    from transformers.generation.logits_process import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    scores = TemperatureLogitsWarper(temperature)(None, logits)
    if top_k:
        scores = TopKLogitsWarper(top_k)(None, scores)
    if top_p < 1:
        scores = TopPLogitsWarper(top_p)(None, scores)
    return torch.softmax(scores, -1)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.3, 0.7, 1.0, 1.7]),
    st.integers(0, 40),
    st.sampled_from([0.05, 0.5, 0.9, 0.999, 1.0]),
)
def test_equals_transformers_warpers(seed: int, temperature: float, top_k: int, top_p: float) -> None:
    logits = torch.randn(3, 37, generator=torch.Generator().manual_seed(seed)) * 4
    ours = sampling.sampling_distribution(logits, temperature, top_k, top_p)
    assert torch.equal(ours > 0, warped(logits, temperature, top_k, top_p) > 0), "another set of tokens can be drawn"
    torch.testing.assert_close(ours, warped(logits, temperature, top_k, top_p), atol=1e-6, rtol=1e-5)


def test_ties_at_the_kth_logit_are_kept_as_in_transformers() -> None:
    logits = torch.tensor([[3.0, 2.0, 2.0, 1.0]])
    assert torch.equal(sampling.sampling_distribution(logits, 1.0, 2) > 0, warped(logits, 1.0, 2, 1.0) > 0)


def test_greedy_is_one_hot() -> None:
    assert sampling.sampling_distribution(torch.tensor([[0.0, 5.0, 4.9]]), 0, top_k=2, top_p=0.3).tolist() == [[0, 1, 0]]


def test_entropy_is_of_the_full_softmax_at_the_temperature() -> None:
    even = torch.zeros(1, 8)
    assert sampling.entropy(sampling.distribution(even, 0.7)).item() == pytest.approx(math.log(8), abs=1e-6)
    logits = torch.tensor([[1.0, 0.0]])
    p = 1 / (1 + math.exp(-2))
    assert sampling.entropy(sampling.distribution(logits, 0.5)).item() == pytest.approx(
        -p * math.log(p) - (1 - p) * math.log(1 - p), abs=1e-6
    )
    at_zero, at_one = sampling.distribution(logits, 0), sampling.distribution(logits, 1)
    assert torch.equal(at_zero, at_one), "at temperature 0 the entropy is that of temperature 1"
    assert sampling.entropy(torch.tensor([[1.0, 0.0]])).item() == 0


def test_half_precision_logits_are_widened_first() -> None:
    logits = torch.randn(2, 1000).bfloat16()
    assert sampling.distribution(logits, 1.0).dtype == torch.float32
    torch.testing.assert_close(sampling.distribution(logits, 1.0), torch.softmax(logits.double(), -1).float())


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 1500), st.floats(2**-24, 1))
def test_inverse_cdf_is_the_plain_one(seed: int, vocab: int, u: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(1, vocab, generator=generator)
    weights[torch.rand(1, vocab, generator=generator) < 0.5] = 0
    weights[0, seed % vocab] = 0.25
    ends = weights.double().cumsum(-1)[0]
    drawn = int(sampling.inverse_cdf(weights, torch.tensor([u])))
    assert weights[0, drawn] > 0, "an id of weight 0 was drawn"
    aim = float(torch.tensor(u)) * float(ends[-1])
    before = float(ends[drawn - 1]) if drawn else 0.0
    assert before - 1e-9 <= aim <= float(ends[drawn]) + 1e-9


def test_inverse_cdf_ends() -> None:
    weights = torch.zeros(2, 700)
    weights[:, 300], weights[:, 600] = 0.5, 0.5
    assert sampling.inverse_cdf(weights, torch.tensor([2.0**-24, 1.0])).tolist() == [300, 600]
    assert sampling.inverse_cdf(weights, torch.tensor([0.5, 0.5000001])).tolist() == [300, 600]


def test_uniforms_are_keyed_and_even() -> None:
    draws = [uniform(7, position, role) for position in range(4000) for role in ("draft", "accept", "emit")]
    assert len(set(draws)) > 11_990, "positions or roles share a draw"
    assert all(0 < u <= 1 and float(torch.tensor(u)) == u for u in draws), "a float32 must hold each uniform exactly"
    counts = torch.histc(torch.tensor(draws), 20, 0, 1)
    assert float(((counts - 600) ** 2 / 600).sum()) < 43.8, "not uniform (chi-square, 19 degrees of freedom, p < 0.001)"
    assert uniform(7, 0, "draft") != uniform(8, 0, "draft")
    assert uniform(7, 0, "draft") == uniform(7, 0, "draft")
