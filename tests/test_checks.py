"""The live checks: on fakes that keep the claims, and on fakes that break each of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from fakes import FakeModel, FakePair, FakeTokenizer, constant, context_pair

from easd_viz.checks import CHECKS, Check, Progress, Result, carry_out, named
from easd_viz.trace import Trace


class AnyText(FakeTokenizer):
    """Takes any prompt, so that the checks' own can be used."""

    def encode(self, text: str, chat_template: bool) -> list[int]:
        return [ord(c) % 5 for c in text]


def pair() -> FakePair:
    return replace(context_pair(seed=3, closeness=0.8), tokenizer=AnyText())


def result(check: Check, on: FakePair) -> Result:
    *progress, last = carry_out(check, on)
    assert all(isinstance(each, Progress) for each in progress), "a check must tell how far it is until it has its result"
    assert isinstance(last, Result)
    return last


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.name)
def test_every_claim_holds_on_a_pair_that_keeps_it(check):
    found = result(check, pair())
    assert found.holds, f"{check.title}: {found.found} {found.explanation}"
    assert not found.explanation


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.name)
def test_progress_counts_tokens_up_to_the_length_of_each_run(check):
    steps = [each for each in carry_out(check, pair()) if isinstance(each, Progress)]
    assert {each.what for each in steps} == {run.what for run in check.runs}
    assert all(0 <= each.done <= each.total for each in steps)
    assert steps[-1].done == steps[-1].total


def forgetful(seed: int = 0) -> FakePair:
    """Its target answers otherwise each time it is asked: no cache of such a model can be right."""
    generator = torch.Generator().manual_seed(seed)
    target = FakeModel(lambda tokens: torch.randn(5, generator=generator) * 3)
    return FakePair(FakeModel(constant([0.2] * 5)), target, tokenizer=AnyText())


@pytest.mark.parametrize("name", ["draft-is-target", "greedy", "closed-gate"])
def test_a_broken_claim_is_told_with_its_reason(name):
    found = result(named(name), forgetful())
    assert not found.holds
    assert found.found
    assert "bug" in found.explanation or "rounding" in found.explanation


def test_a_near_tie_is_called_rounding():
    found = named("greedy").judge(different_texts(gap=0.001))
    assert not found.holds
    assert "near-tie" in found.explanation


def test_a_wide_gap_is_called_a_bug():
    found = named("greedy").judge(different_texts(gap=1.0))
    assert not found.holds
    assert "bug" in found.explanation


def different_texts(gap: float) -> list[Trace]:
    """SD and the target alone on two targets whose first choices differ, the first being ``gap`` nats ahead in SD."""
    best = torch.tensor([gap, 0.0, -2.0, -2.0, -2.0])
    other = FakeModel(lambda tokens: torch.tensor([0.0, 5.0, 0.0, 0.0, 0.0]))
    draft = FakeModel(constant([0.6, 0.1, 0.1, 0.1, 0.1]))
    runs = named("greedy").runs
    first = replace(named("greedy"), runs=runs[:1], judge=lambda traces: traces)
    second = replace(named("greedy"), runs=runs[1:], judge=lambda traces: traces)
    *_, sd = carry_out(first, FakePair(draft, FakeModel(lambda tokens: best), tokenizer=AnyText()))
    *_, alone = carry_out(second, FakePair(draft, other, tokenizer=AnyText()))
    return [*sd, *alone]


def test_a_gate_that_was_never_asked_proves_nothing():
    never = FakePair(FakeModel(constant([1, 0, 0, 0, 0])), FakeModel(constant([0, 0.25, 0.25, 0.25, 0.25])), tokenizer=AnyText())
    found = result(named("open-gate"), never)
    assert not found.holds
    assert "never asked" in found.found


def test_a_token_that_the_open_gate_lets_pass_is_a_bug():
    check = named("open-gate")
    closed = replace(check, runs=(replace(check.runs[0], config=replace(check.runs[0].config, draft_threshold=float("inf"))),))
    found = result(closed, pair())
    assert not found.holds
    assert "bug" in found.explanation
