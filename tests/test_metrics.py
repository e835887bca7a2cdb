"""Metrics against hand-computed cases, and their identities on made-up runs."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import make_trace

from easd_viz.metrics import Ratio, expected_speed_up, flat, rows, summarise
from easd_viz.trace import Config, Footer, Trace


def outcomes(trace: Trace) -> list[str]:
    return [t.outcome for s in trace.steps for t in s.drafted]


def by_hand() -> Trace:
    """Three rounds of gamma = 2 with set outcomes, betas and clocks.

    round 0: accepted, accepted, bonus      -> 3 tokens
    round 1: gated, discarded, replacement  -> 1 token
    round 2: accepted, rejected, residual   -> 2 tokens
    """
    made = make_trace(seed=1, steps=3, gamma=2)
    told = [("accepted", "accepted", "bonus"), ("gated", "discarded", "target"), ("accepted", "rejected", "residual")]
    betas = [(0.5, 0.7), (0.9, 0.1), (0.3, 0.6)]
    clocks = [(4.0, 10.0, 1.0), (8.0, 20.0, 1.0), (6.0, 30.0, 2.0)]
    steps = []
    for step, words, beta, (draft, verify, record) in zip(made.steps, told, betas, clocks, strict=True):
        drafted = tuple(replace(t, outcome=w, beta=b) for t, w, b in zip(step.drafted, words, beta, strict=False))
        emitted = replace(step.emitted, source=words[2])
        steps.append(replace(step, drafted=drafted, emitted=emitted, draft_ms=draft, verify_ms=verify, record_ms=record))
    return replace(made, steps=tuple(steps), footer=Footer("length", "", 50.0, 100.0))


def test_every_metric_of_a_run_computed_by_hand():
    m = summarise(by_hand())
    assert m.counts.rounds == m.counts.target_passes == 3
    assert (m.counts.accepted, m.counts.rejected, m.counts.gated, m.counts.discarded) == (3, 1, 1, 1)
    assert (m.counts.drafted, m.counts.decided, m.counts.emitted, m.counts.bonus) == (6, 5, 6, 1)
    assert m.acceptance_rate == Ratio(3, 5)
    assert m.draft_utilisation == Ratio(3, 6)
    assert m.block_efficiency == Ratio(6, 3)
    assert m.gate_rate == Ratio(1, 4), "gated over accepted by SD: 1 / (3 + 1)"
    assert m.conditional_acceptance == (Ratio(2, 3), Ratio(1, 2)), "the discarded token at index 2 was not decided on"
    assert m.expected_acceptance.value == pytest.approx((0.5 + 0.7 + 0.9 + 0.3 + 0.6) / 5), "beta of the discarded token counts"
    assert [r.value for r in m.conditional_expected_acceptance] == pytest.approx([1.7 / 3, 1.3 / 2])


def test_times_and_the_speed_up_computed_by_hand():
    m = summarise(by_hand())
    assert m.throughput.value == pytest.approx(60.0), "6 tokens in 0.1 s"
    shares = [m.draft_share.value, m.verify_share.value, m.record_share.value]
    assert shares == pytest.approx([0.18, 0.60, 0.04])
    assert m.cost.draft_step_ms == 3.0, "median of 4/2, 8/2, 6/2"
    assert m.cost.target_step_ms == 20.0
    assert m.cost.c == pytest.approx(0.15)
    assert m.expected_speed_up == pytest.approx((1 + 0.6 + 0.36) / (2 * 0.15 + 1))
    apart = summarise(by_hand(), target_step_ms=12.0)
    assert apart.cost.c == pytest.approx(0.25)
    assert "given" in apart.cost.source
    assert "verify_ms" in m.cost.source


def test_speed_up_is_leviathans_formula_and_its_limit():
    alpha, gamma, c = 0.8, 5, 0.1
    assert expected_speed_up(alpha, gamma, c) == pytest.approx((1 - alpha ** (gamma + 1)) / ((1 - alpha) * (gamma * c + 1)))
    assert expected_speed_up(1.0, 4, 0.0) == 5.0
    assert expected_speed_up(0.0, 4, 0.25) == 0.5


def test_a_draft_only_run_leaves_every_verified_rate_undefined():
    m = summarise(make_trace(seed=2, steps=4, gamma=3, config=Config(mode="draft")))
    named = flat(m)
    for key in (
        "acceptance_rate",
        "expected_acceptance",
        "draft_utilisation",
        "block_efficiency",
        "gate_rate",
        "expected_speed_up",
    ):
        assert named[key] is None, f"{key} of a draft-only run is {named[key]}, but nothing was verified"
    assert named["target_passes"] == named["decided"] == 0
    assert named["emitted"] == 12
    assert named["throughput"] > 0


def test_a_target_only_run_emits_one_token_a_pass():
    m = summarise(make_trace(seed=2, steps=4, gamma=3, config=Config(mode="target")))
    assert m.block_efficiency == Ratio(4, 4)
    assert flat(m)["acceptance_rate"] is None
    assert flat(m)["gate_rate"] is None


def test_a_run_without_steps_has_counts_of_zero_and_rates_of_none():
    empty = replace(make_trace(steps=1), steps=(), footer=None)
    named = flat(summarise(empty))
    assert named["emitted"] == 0
    assert named["throughput"] is None
    assert named["block_efficiency"] is None
    assert named["prefill_ms"] is None
    assert all(row.text == "undefined" for row in rows(summarise(empty)))


def test_a_cut_off_run_is_timed_by_its_steps():
    cut = replace(by_hand(), footer=None)
    assert summarise(cut).times.wall_ms == pytest.approx(82.0)


def test_rows_say_what_each_rate_was_counted_from():
    said = {row.key: row for row in rows(summarise(by_hand()))}
    assert said["gate_rate"].counts == "1 gated of 4 accepted by SD"
    assert said["gate_rate"].text == "25.0 %"
    assert said["block_efficiency"].text == "2.00 tokens/pass"
    assert said["throughput"].counts == "6 emitted in 0.10 s, prefill apart"


modes = st.sampled_from(["easd", "sd", "target", "draft"])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), steps=st.integers(1, 12), gamma=st.integers(1, 5), mode=modes, threshold=st.floats(0, 4))
def test_counts_add_up_and_rates_stay_in_range(seed, steps, gamma, mode, threshold):
    config = Config(mode=mode, draft_threshold=threshold, target_threshold=threshold, overlap_threshold=0.2)
    trace = make_trace(seed, steps, gamma, config)
    m = summarise(trace)
    c = m.counts
    assert c.accepted + c.rejected + c.gated + c.discarded == c.drafted
    assert c.emitted == len(trace.token_ids)
    if mode in ("easd", "sd"):
        assert c.emitted == c.accepted + c.rejected + c.gated + c.bonus
        assert sum(r.denominator for r in m.conditional_acceptance) == c.decided
        assert sum(r.numerator for r in m.conditional_acceptance) == c.accepted
        assert 1 <= m.block_efficiency.value <= gamma + 1
    if mode == "sd":
        assert c.gated == 0
    for key, value in flat(m).items():
        if value is not None and ("rate" in key or "acceptance" in key or "share" in key or key == "draft_utilisation"):
            assert 0 <= value <= 1 + 1e-6, f"{key} = {value} is outside [0, 1]"
