"""Replay against real re-runs with the same seed: fake models here, the demo pair behind its marker."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from fakes import context_pair
from hypothesis import given, settings
from hypothesis import strategies as st

from easd_viz import store
from easd_viz.record import encode_prompt, record
from easd_viz.replay import Replay, config_with, gate_with, rejudge
from easd_viz.trace import Config, Outcome, Parent, Step, Trace, dumps
from easd_viz.verify import gate_of

BASE = Config(max_new_tokens=24, draft_threshold=1.8, target_threshold=1.8, overlap_threshold=0.3, seed=1)


def run(pair: Any, prompt: str, config: Config, resume: Sequence[Step] = (), parent: Parent | None = None) -> Trace:
    *_, last = record(pair, encode_prompt(pair, prompt), config, resume=resume, parent=parent)
    return last


def untimed(steps: Sequence[Step]) -> list[Step]:
    return [replace(s, draft_ms=0, verify_ms=0, record_ms=0) for s in steps]


def outcomes(step: Step) -> list[Outcome]:
    return [t.outcome for t in step.drafted]


def check_agreement(parent: Trace, replay: Replay, again: Trace) -> None:
    """Every verdict up to the boundary is the re-run's, and at the boundary the two do part."""
    known: dict[int, list[Outcome]] = {}
    for judged in replay.tokens:
        if judged.region != "counterfactual":
            known.setdefault(judged.step, []).append(judged.now)
    for index, expected in known.items():
        found = outcomes(again.steps[index])[: len(expected)]
        assert found == expected, f"in round {index} replay says {expected}, the re-run {found}"
    if replay.boundary is None:
        assert [outcomes(s) for s in again.steps] == [outcomes(s) for s in parent.steps]
        assert again.token_ids == parent.token_ids
        return
    step = replay.boundary.step
    before, after = parent.steps[step], again.steps[step]
    assert [s.token_ids for s in again.steps[:step]] == [s.token_ids for s in parent.steps[:step]]
    sources = [None if s.emitted is None else s.emitted.source for s in (before, after)]
    assert (outcomes(before), sources[0]) != (outcomes(after), sources[1]), "the boundary lies before the two runs part"


knobs = st.fixed_dictionaries(
    {},
    optional={
        "draft_threshold": st.one_of(st.floats(0.5, 3), st.just(math.inf)),
        "target_threshold": st.floats(0.5, 3),
        "overlap_threshold": st.sampled_from([0.0, 0.2, 0.5, 0.8]),
        "k": st.integers(1, 20),
        "resample": st.sampled_from(["target", "exclude"]),
    },
)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000),
    mode=st.sampled_from(["easd", "sd"]),
    temperature=st.sampled_from([0.0, 0.7, 1.0]),
    gamma=st.integers(1, 6),
    top_k=st.sampled_from([0, 3]),
    eos=st.sampled_from([(), (7, 3)]),
    values=knobs,
)
def test_replay_is_the_rerun_up_to_the_boundary(seed, mode, temperature, gamma, top_k, eos, values):
    pair = context_pair(seed % 7, eos=eos)
    config = replace(BASE, seed=seed, mode=mode, temperature=temperature, gamma=gamma, top_k=top_k)
    parent = run(pair, "abc", config)
    assert rejudge(parent, gate_of(config)).boundary is None
    replay = rejudge(parent, gate_with(config, **values))
    again = run(pair, "abc", config_with(config, **values))
    check_agreement(parent, replay, again)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1000), values=knobs, cut=st.integers(0, 20), temperature=st.sampled_from([0.0, 0.8]))
def test_a_branch_reads_back_and_replays_to_itself(seed, values, cut, temperature):
    """Forked anywhere, before or behind the boundary, with other knobs: a valid file that its own knobs leave as it is."""
    pair = context_pair(seed % 5)
    config = replace(BASE, seed=seed, temperature=temperature)
    parent = run(pair, "abc", config)
    step = min(cut, len(parent.steps) - 1)
    changed = config_with(config, **values)
    branch = run(pair, "abc", changed, parent.steps[:step], Parent(parent.fingerprint, step, values))
    assert store.parse(dumps(branch)) == branch
    assert branch.steps[:step] == parent.steps[:step]
    replay = rejudge(branch, gate_of(changed))
    assert (replay.boundary, replay.changes) == (None, ())
    boundary = rejudge(parent, gate_of(changed)).boundary
    if boundary is None or step <= boundary.step:
        again = run(pair, "abc", changed)
        assert branch.token_ids == again.token_ids, "forked before the boundary, it is the whole re-run"
        assert [outcomes(s) for s in branch.steps] == [outcomes(s) for s in again.steps]


def forced_branch(pair: Any, prompt: str, parent: Trace, forced: Mapping[int, Outcome], step: int) -> Trace:
    origin = Parent(parent.fingerprint, step, {}, forced)
    return run(pair, prompt, parent.header.config, parent.steps[:step], origin)


OTHER_WAY: Mapping[Outcome, Outcome] = {"accepted": "rejected", "rejected": "accepted", "gated": "accepted"}


@pytest.mark.parametrize("seed", range(4))
def test_a_forced_verdict_changes_that_verdict_only(seed):
    pair = context_pair(seed)
    parent = run(pair, "abc", replace(BASE, seed=seed))
    tokens = [(s.index, t) for s in parent.steps for t in s.on_path]
    for index, token in tokens[:: max(1, len(tokens) // 8)]:
        forced = {token.position: OTHER_WAY[token.outcome]}
        branch = forced_branch(pair, "abc", parent, forced, index)
        place = token.draft_index - 1
        assert outcomes(branch.steps[index])[:place] == outcomes(parent.steps[index])[:place]
        assert branch.steps[index].drafted[place].outcome == forced[token.position]
        replay = rejudge(parent, gate_of(parent.header.config), forced)
        assert replay.boundary.position == token.position
        assert [c.position for c in replay.changes] == [token.position]
        check_agreement(parent, replay, branch)
        assert store.parse(dumps(branch)) == branch
        assert rejudge(branch, gate_of(branch.header.config)).boundary is None


def test_a_branch_with_unchanged_knobs_is_its_parent():
    pair = context_pair(2)
    parent = run(pair, "abc", BASE)
    for step in range(len(parent.steps)):
        branch = run(pair, "abc", BASE, parent.steps[:step], Parent(parent.fingerprint, step, {}))
        assert untimed(branch.steps) == untimed(parent.steps)


def test_an_end_of_text_behind_a_gated_token_ends_the_walk():
    """A recorded draft beyond a gated token may be an end of text: what the header says of those ids decides."""
    stops = 0
    for seed in range(60):
        pair = context_pair(seed % 6, vocab=12, eos=(1, 2))
        config = replace(BASE, seed=seed, temperature=1.0, draft_threshold=0.5, target_threshold=0.5, overlap_threshold=0.0)
        parent = run(pair, "abc", config)
        replay = rejudge(parent, gate_with(config, draft_threshold=math.inf))
        again = run(pair, "abc", config_with(config, draft_threshold=math.inf))
        check_agreement(parent, replay, again)
        in_round = [j for j in replay.tokens if j.region == "in_round"]
        stops += any(j.now == "discarded" and j.verdict.outcome != "rejected" for j in in_round)
    assert stops, "no walk met an end of text: the test tests nothing"


@pytest.mark.pair
@pytest.mark.parametrize(
    ("temperature", "values"),
    [
        (0.7, {"draft_threshold": 1.0, "target_threshold": 1.0}),
        (0.7, {"draft_threshold": math.inf}),
        (1.0, {"k": 3, "overlap_threshold": 0.6}),
        (0.7, {"resample": "exclude"}),
        (0.0, {"draft_threshold": 0.5, "target_threshold": 0.5, "resample": "exclude"}),
    ],
)
def test_replay_is_the_rerun_on_the_demo_pair(demo_pair, temperature, values):
    prompt = "Write two sentences about the sea."
    config = replace(BASE, temperature=temperature, max_new_tokens=48, draft_threshold=2.0, target_threshold=2.0)
    parent = run(demo_pair, prompt, config)
    replay = rejudge(parent, gate_with(config, **values))
    again = run(demo_pair, prompt, config_with(config, **values))
    check_agreement(parent, replay, again)
    step = len(parent.steps) if replay.boundary is None else replay.boundary.step
    branch = run(demo_pair, prompt, config_with(config, **values), parent.steps[:step], Parent(parent.fingerprint, step, values))
    assert branch.token_ids == again.token_ids, "the branch from the boundary is not the whole re-run"
    assert store.parse(dumps(branch)) == branch
