"""The bundled runs: whatever pair and seed they were made with, they must serve as what the page says they are."""

from __future__ import annotations

import pytest

from easd_viz import examples
from easd_viz.examples import EXAMPLES

NAMES = [each.name for each in EXAMPLES]


def test_there_are_four_with_names_of_their_own():
    assert len(set(NAMES)) == 4
    assert len({each.title for each in EXAMPLES}) == 4


@pytest.mark.parametrize("name", NAMES)
def test_a_bundled_run_is_what_its_entry_says(name):
    example, trace = examples.named(name), examples.load(name)  # loading checks every verdict
    config = trace.header.config
    assert trace.header.prompt.text == example.prompt, f"{name} was made from another prompt: run tools/make_examples.py"
    assert (config.mode, config.resample) == ("easd", "target")
    assert config.is_plain, "the chapters draw recorded probabilities as the very laws that tokens were drawn from"
    assert not trace.incomplete
    assert len(trace.token_ids) >= 40, f"{name} is too short to show anything"


@pytest.mark.parametrize("name", NAMES)
def test_a_bundled_run_shows_every_verdict(name):
    outcomes = {token.outcome for step in examples.load(name).steps for token in step.drafted}
    assert {"accepted", "rejected", "gated"} <= outcomes, f"{name} shows only {sorted(outcomes)}: run tools/make_examples.py"


def test_they_fit_into_a_repository():
    assert sum(each.path.stat().st_size for each in EXAMPLES) < 4_000_000
