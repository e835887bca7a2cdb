"""Replay: exact up to the first changed verdict, in-round exact where the round goes on, counterfactual behind it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import make_trace

from easd_viz.replay import ReplayError, arrays, config_with, gate_with, rejudge
from easd_viz.trace import Config, Footer, Parent, Trace
from easd_viz.verify import Gate, gate_of, judge, overlap_of

WIDE_OPEN = {"draft_threshold": 0.0, "target_threshold": 0.0, "overlap_threshold": 0.0}
CLOSED = {"draft_threshold": math.inf}


def closed(trace: Trace) -> Gate:
    return gate_with(trace.header.config, **CLOSED)


configs = st.builds(
    Config,
    mode=st.sampled_from(["easd", "sd"]),
    temperature=st.sampled_from([0.0, 0.7, 1.0]),
    k=st.integers(1, 20),
    draft_threshold=st.one_of(st.floats(0, 4.5), st.just(math.inf)),
    target_threshold=st.floats(0, 4.5),
    overlap_threshold=st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0]),
    resample=st.sampled_from(["target", "exclude"]),
    seed=st.integers(0, 99),
)
traces = st.builds(make_trace, seed=st.integers(0, 99), steps=st.integers(1, 10), gamma=st.integers(1, 6), config=configs)
knobs = st.fixed_dictionaries(
    {
        "draft_threshold": st.floats(0, 4.5),
        "target_threshold": st.floats(0, 4.5),
        "overlap_threshold": st.sampled_from([0.0, 0.2, 0.5, 0.9]),
        "k": st.integers(1, 20),
        "resample": st.sampled_from(["target", "exclude"]),
    }
)


@settings(max_examples=60, deadline=None)
@given(trace=traces)
def test_the_recorded_knobs_change_nothing(trace):
    replay = rejudge(trace, gate_of(trace.header.config))
    assert replay.boundary is None
    assert replay.changes == ()
    assert all(j.now == j.was and j.region == "exact" for j in replay.tokens)


@settings(max_examples=60, deadline=None)
@given(trace=traces, values=knobs)
def test_regions_come_in_order_and_the_boundary_is_their_seam(trace, values):
    replay = rejudge(trace, gate_with(trace.header.config, **values))
    order = {"exact": 0, "in_round": 1, "counterfactual": 2}
    ranks = [order[j.region] for j in replay.tokens]
    assert ranks == sorted(ranks), "a region comes back after a later one began"
    known = [j for j in replay.tokens if j.region != "counterfactual"]
    if replay.boundary is None:
        assert len(known) == len(replay.tokens)
        assert not replay.changes
        return
    exact = [j for j in replay.tokens if j.region == "exact"]
    assert exact[-1].token.position == replay.boundary.position
    assert all(j.now == j.was for j in exact[:-1])
    assert known[-1].token.position == replay.boundary.last_known
    assert len({j.step for j in replay.tokens if j.region == "in_round"} - {replay.boundary.step}) == 0


@settings(max_examples=40, deadline=None)
@given(trace=traces, values=knobs)
def test_changes_are_the_tokens_that_decide_judges_otherwise(trace, values):
    gate = gate_with(trace.header.config, **values)
    expected = [t.position for s in trace.steps for t in s.on_path if judge(t, gate).outcome != t.outcome]
    replay = rejudge(trace, gate)
    assert [c.position for c in replay.changes] == expected
    for change in replay.changes:
        assert {change.was, change.now} == {"accepted", "gated"}, "no knob of the gate changes what SD rejects"
        assert change.flipped_by


def round_of(outcomes: list[str], gates: list[bool], rejects: list[bool] | None = None) -> Trace:
    """Two rounds of a trace with the first one's tokens set: ``gates`` are tokens with entropies of 3 nats, the others have 1."""
    made = make_trace(
        seed=3, steps=2, gamma=len(outcomes), config=Config(draft_threshold=2.0, target_threshold=2.0, overlap_threshold=0)
    )
    tokens = []
    for i, (token, outcome, gate) in enumerate(zip(made.steps[0].drafted, outcomes, gates, strict=True)):
        entropy = 3.0 if gate else 1.0
        uniform = 1.0 if rejects and rejects[i] else 0.1
        tokens.append(
            replace(
                token,
                position=5 + i,
                token_id=i,
                text=f"t{i}",
                outcome=outcome,
                draft_entropy=entropy,
                target_entropy=entropy,
                draft_prob=0.5,
                target_prob=0.4,
                uniform=uniform,
            )
        )
    accepted = (
        outcomes.index(next((o for o in outcomes if o != "accepted"), "accepted"))
        if set(outcomes) != {"accepted"}
        else len(outcomes)
    )
    first = replace(made.steps[0], drafted=tuple(tokens), emitted=replace(made.steps[0].emitted, position=5 + accepted))
    return replace(made, steps=(first, made.steps[1]))


def test_a_gated_token_let_through_walks_on_with_the_recorded_drafts():
    trace = round_of(["accepted", "gated", "discarded", "discarded", "discarded"], [0, 1, 0, 0, 0], [0, 0, 0, 1, 0])
    replay = rejudge(trace, closed(trace))
    first = [j for j in replay.tokens if j.step == 0]
    assert [j.now for j in first] == ["accepted", "accepted", "accepted", "rejected", "discarded"]
    assert [j.region for j in first] == ["exact", "exact", "in_round", "in_round", "in_round"]
    assert all(j.region == "counterfactual" for j in replay.tokens if j.step == 1)
    assert replay.boundary.position == 6
    assert replay.boundary.goes_on
    assert replay.boundary.last_known == 9
    change = replay.changes[0]
    assert (change.position, change.text, change.was, change.now) == (6, "t1", "gated", "accepted")
    assert change.flipped_by == ("draft entropy",)
    assert change.context.endswith("t0")


def test_an_accepted_token_gated_ends_what_is_known():
    trace = round_of(["accepted", "accepted", "accepted"], [0, 0, 0])
    replay = rejudge(trace, gate_with(trace.header.config, draft_threshold=1.0, target_threshold=1.0))
    first = [j for j in replay.tokens if j.step == 0]
    assert [j.now for j in first] == ["gated", "discarded", "discarded"]
    assert [j.region for j in first] == ["exact", "counterfactual", "counterfactual"]
    assert replay.boundary.reason == "verdict"
    assert not replay.boundary.goes_on
    assert replay.boundary.last_known == replay.boundary.position == 5
    assert [c.position for c in replay.changes if c.step == 0] == [5, 6, 7], (
        "each token's own verdict, as estimates behind the first"
    )
    assert replay.changes[0].flipped_by == ("draft entropy", "target entropy")


def test_the_other_resampling_rule_changes_no_verdict_but_what_is_emitted():
    trace = round_of(["accepted", "gated", "discarded"], [0, 1, 0])
    replay = rejudge(trace, gate_with(trace.header.config, resample="exclude"))
    assert replay.boundary.reason == "resample"
    assert replay.boundary.position == 6
    assert [j.region for j in replay.tokens if j.step == 0] == ["exact", "exact", "counterfactual"]
    assert not [c for c in replay.changes if c.step == 0]


def test_an_end_of_text_walked_on_to_ends_the_round():
    trace = round_of(["gated", "discarded", "discarded"], [1, 0, 0])
    named = replace(trace, header=replace(trace.header, tokenizer={"fingerprint": "x", "eos_token_ids": [1]}))
    replay = rejudge(named, closed(named))
    assert [j.now for j in replay.tokens if j.step == 0] == ["accepted", "accepted", "discarded"]


def test_the_end_of_text_a_run_ended_with_is_known():
    trace = round_of(["gated", "discarded", "discarded"], [1, 0, 0])
    end = replace(trace.steps[0].emitted, token_id=1)
    ended = replace(trace, steps=(replace(trace.steps[0], emitted=end),), footer=Footer("eos", "", 0.0, 1.0))
    replay = rejudge(ended, closed(ended))
    assert [j.now for j in replay.tokens] == ["accepted", "accepted", "discarded"]


def test_a_branchs_forced_verdict_stays_forced():
    trace = round_of(["accepted", "accepted", "accepted"], [0, 1, 0])
    parent = Parent("0" * 16, 0, {}, {6: "accepted"})
    branch = replace(trace, header=replace(trace.header, parent=parent))
    same = rejudge(branch, gate_of(branch.header.config))
    assert not [c for c in same.changes if c.step == 0], "the gate alone would turn t1 away, but the branch forced it"
    other = rejudge(branch, gate_with(branch.header.config, draft_threshold=0.5, target_threshold=0.5))
    assert other.tokens[1].now == "discarded", "t0 is gated before the forced one is reached"
    assert 6 not in [c.position for c in other.changes]


def test_a_verdict_forced_the_other_way_is_a_change():
    trace = round_of(["accepted", "accepted", "accepted"], [0, 0, 0])
    replay = rejudge(trace, gate_of(trace.header.config), forced={6: "rejected"})
    assert replay.boundary.position == 6
    assert replay.changes[0].flipped_by == ("forced",)


def test_an_sd_run_is_judged_by_an_open_gate_as_soon_as_a_knob_is_given():
    trace = make_trace(seed=5, steps=10, config=Config(mode="sd"))
    assert gate_with(trace.header.config).draft_threshold == math.inf
    assert config_with(trace.header.config, **WIDE_OPEN).mode == "easd"
    assert rejudge(trace, gate_with(trace.header.config, **WIDE_OPEN)).changes


@pytest.mark.parametrize("mode", ["draft", "target"])
def test_runs_without_a_decided_token_are_refused(mode):
    trace = make_trace(steps=2, config=Config(mode=mode))
    with pytest.raises(ReplayError, match="no decided token"):
        gate_with(trace.header.config)
    with pytest.raises(ReplayError, match="no decided token"):
        rejudge(trace, Gate(0, 0, 0, 5, "target", False))


def test_a_k_above_the_recorded_lists_names_the_largest():
    trace = make_trace(steps=2)
    with pytest.raises(ReplayError, match="largest possible k is 20"):
        gate_with(trace.header.config, k=21)
    with pytest.raises(ReplayError, match="largest possible k is 20"):
        rejudge(trace, Gate(0, 0, 0, 21, "target", False))
    with pytest.raises(ReplayError, match="largest possible k is 20"):
        arrays([trace]).overlap_at(21)
    with pytest.raises(ReplayError, match="not a knob"):
        gate_with(trace.header.config, gamma=2)


@settings(max_examples=40, deadline=None)
@given(each=st.lists(traces, min_size=1, max_size=3), values=knobs)
def test_arrays_hold_what_decide_finds_token_by_token(each, values):
    data = arrays(each)
    rows = [(n, t) for n, trace in enumerate(each) for s in trace.steps for t in s.on_path]
    assert len(data) == len(rows)
    for row, (number, token) in enumerate(rows):
        gate = gate_with(each[number].header.config, **values)
        verdict = judge(token, gate)
        assert data.trace[row] == number
        assert data.position[row] == token.position
        assert data.offset[row] == token.position - len(each[number].header.prompt.token_ids)
        assert [data.overlap_at(k)[row] for k in range(1, 21)] == [overlap_of(token, k) for k in range(1, 21)]
        assert data.accepted_by_sd[row] == verdict.accepted_by_sd
        assert data.gated(gate)[row] == (verdict.outcome == "gated")


def test_arrays_of_nothing_are_empty():
    data = arrays([])
    assert len(data) == 0
    assert data.traces == 0
    assert data.overlap.shape == (0, 20)
    only = arrays([make_trace(steps=2, config=Config(mode="draft")), make_trace(steps=2, config=Config(mode="target"))])
    assert (len(only), only.traces) == (0, 2)
    assert np.asarray(only.accepted_by_sd).dtype == bool
