"""Sweeps, calibration, the token table and the distribution shift, against brute force through ``decide`` and by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from synthetic import make_trace

from easd_viz import calibrate
from easd_viz.calibrate import CalibrateError, by_gate_rate, by_percentile, shift, sweep, token_class, token_table
from easd_viz.replay import GateArrays, ReplayError, arrays, gate_with
from easd_viz.trace import Config, Trace
from easd_viz.verify import judge


def some_traces(count: int = 4, steps: int = 12, **config) -> list[Trace]:
    return [make_trace(seed, steps, 4, Config(seed=seed, **config)) for seed in range(count)]


def entropies_of(trace: Trace) -> list[float]:
    return [e for s in trace.steps for t in s.drafted for e in (t.draft_entropy, t.target_entropy)]


def brute_force(traces: list[Trace], draft: float, target: float, k: int, rho: float, resample: str) -> tuple[int, int]:
    """(gated, accepted by SD) over the drafted tokens on the path, by ``decide`` on each."""
    gated = accepted = 0
    for trace in traces:
        config = trace.header.config
        knobs = {"draft_threshold": draft, "target_threshold": target, "overlap_threshold": rho, "k": k, "resample": resample}
        gate = gate_with(config, **knobs)
        verdicts = [judge(t, gate) for s in trace.steps for t in s.on_path]
        gated += sum(v.outcome == "gated" for v in verdicts)
        accepted += sum(v.accepted_by_sd for v in verdicts)
    return gated, accepted


@settings(max_examples=25, deadline=None)
@given(
    seeds=st.lists(st.integers(0, 50), min_size=1, max_size=3, unique=True),
    k=st.integers(1, 20),
    rho=st.sampled_from([0.0, 0.1, 0.3, 0.5, 1 / 3]),
    resample=st.sampled_from(["target", "exclude"]),
    temperature=st.sampled_from([0.0, 1.0]),
    data=st.data(),
)
def test_every_cell_is_what_decide_counts(seeds, k, rho, resample, temperature, data):
    traces = [make_trace(s, 4, 3, Config(temperature=temperature, seed=s, draft_threshold=2.0)) for s in seeds]
    ties = st.sampled_from([e for t in traces for e in entropies_of(t)])
    grid = st.lists(st.one_of(ties, st.floats(0, 4.5), st.just(math.inf)), min_size=1, max_size=4)
    draft, target = data.draw(grid), data.draw(grid)
    found = sweep(arrays(traces), draft, target, k=k, overlap_threshold=rho, resample=resample)
    for i, one in enumerate(draft):
        for j, other in enumerate(target):
            expected = brute_force(traces, one, other, k, rho, resample)
            assert (found.gated[i, j], found.accepted_by_sd) == expected, f"cell ({one}, {other}) at k = {k}, rho = {rho}"


def test_a_token_at_both_thresholds_is_gated():
    """Every SD-accepted token's own entropies and overlap as the thresholds: >= counts it, > would not."""
    traces = some_traces(2, temperature=1.0)
    data = arrays(traces)
    accepted = np.flatnonzero(data.accepted_by_sd)
    assert len(accepted) > 10
    draft, target = data.draft_entropy[accepted], data.target_entropy[accepted]
    for at, row in enumerate(accepted):
        rho = float(data.overlap_at(7)[row])
        found = sweep(data, draft, target, k=7, overlap_threshold=rho)
        expected = brute_force(traces, float(draft[at]), float(target[at]), 7, rho, "target")[0]
        assert found.gated[at, at] == expected >= 1


def test_thresholds_out_of_order_and_twice_keep_their_places():
    data = arrays(some_traces(2))
    mixed = sweep(data, [3.0, 0.0, 3.0], [2.0, 1.0], k=10, overlap_threshold=0.0)
    for i, one in enumerate([3.0, 0.0, 3.0]):
        for j, other in enumerate([2.0, 1.0]):
            single = sweep(data, [one], [other], k=10, overlap_threshold=0.0)
            assert mixed.gated[i, j] == single.gated[0, 0]


def test_infinite_thresholds_gate_nothing_and_zero_ones_all():
    data = arrays(some_traces(2))
    found = sweep(data, [0.0, math.inf], [0.0], k=10, overlap_threshold=0.0)
    assert found.rate.tolist() == [[1.0], [0.0]]
    assert found.accepted_by_sd == int(data.accepted_by_sd.sum())


def test_a_bootstrap_interval_is_seeded_and_holds_the_estimate():
    data = arrays(some_traces(8))
    args = {"k": 10, "overlap_threshold": 0.1, "resamples": 300}
    one = sweep(data, [1.0, 2.5], [1.0, 2.5], seed=4, **args)
    assert np.array_equal(one.low, sweep(data, [1.0, 2.5], [1.0, 2.5], seed=4, **args).low)
    assert np.all(one.low <= one.rate)
    assert np.all(one.rate <= one.high)
    assert np.any(one.low < one.high)


def test_the_interval_of_identical_traces_is_a_point_and_of_one_trace_is_not_there():
    same = make_trace(1, 10, 4, Config())
    one = sweep(arrays([same] * 3), [1.5], [1.5], k=5, overlap_threshold=0.2, resamples=50)
    assert one.low[0, 0] == one.high[0, 0] == one.rate[0, 0]
    assert sweep(arrays([same]), [1.5], [1.5], k=5, overlap_threshold=0.2, resamples=50).low is None


def test_the_bootstrap_is_what_resampling_whole_traces_gives():
    traces = some_traces(3)
    data = arrays(traces)
    found = sweep(data, [2.0], [2.0], k=10, overlap_threshold=0.1, resamples=40, seed=7)
    weights = np.random.default_rng(7).multinomial(3, [1 / 3] * 3, size=40)
    rates = []
    for row in weights:
        drawn = [t for t, times in zip(traces, row, strict=True) for _ in range(times)]
        gated, accepted = brute_force(drawn, 2.0, 2.0, 10, 0.1, "target")
        rates.append(gated / accepted)
    assert (found.low[0, 0], found.high[0, 0]) == pytest.approx(tuple(np.quantile(rates, [0.025, 0.975])))


def test_percentiles_are_of_the_tokens_on_the_path_alone():
    traces = some_traces(3)
    on_path = [t for trace in traces for s in trace.steps for t in s.on_path]
    found = by_percentile(arrays(traces), 80, k=10, overlap_threshold=0.3)
    assert found.draft_threshold == pytest.approx(np.percentile([t.draft_entropy for t in on_path], 80))
    assert found.target_threshold == pytest.approx(np.percentile([t.target_entropy for t in on_path], 80))
    assert found.tokens == len(on_path)
    gated, accepted = brute_force(traces, found.draft_threshold, found.target_threshold, 10, 0.3, "target")
    assert (found.gated, found.accepted_by_sd) == (gated, accepted)
    assert found.draft_interval[0] <= found.draft_threshold <= found.draft_interval[1]


def test_the_bootstrap_of_a_percentile_is_numpys_on_each_resample():
    data = arrays(some_traces(4))
    number = data.trace
    weights = np.random.default_rng(0).multinomial(4, [0.25] * 4, size=20).astype(float)
    found = calibrate._weighted_percentiles(data.draft_entropy, number, weights, np.array([0.0, 12.5, 50, 97.3, 100.0]))
    for row, weight in enumerate(weights):
        drawn = np.repeat(data.draft_entropy, weight[number].astype(int))
        assert found[row] == pytest.approx(np.percentile(drawn, [0.0, 12.5, 50, 97.3, 100.0]))


@pytest.mark.parametrize("count", [11, 51, 101, 1001, 20_001])
def test_a_percentile_that_falls_on_a_value_is_it_to_the_last_bit(count):
    values = np.random.default_rng(count).gamma(0.5, 2.0, count)
    on_values = [(tenths / 10, (count - 1) * tenths // 1000) for tenths in range(1001) if (count - 1) * tenths % 1000 == 0]
    assert len(on_values) >= 11
    found = calibrate.percentiles(values, [percentile for percentile, _ in on_values])
    assert found.tolist() == np.sort(values)[[rank for _, rank in on_values]].tolist()


def test_percentiles_between_values_are_numpys_and_never_leave_their_neighbours():
    values = np.random.default_rng(3).gamma(0.5, 2.0, 87)
    found = calibrate.percentiles(values, calibrate.PERCENTILES)
    assert found == pytest.approx(np.percentile(values, calibrate.PERCENTILES))
    assert np.all(np.diff(found) >= 0)
    assert (found[0], found[-1]) == (values.min(), values.max())
    assert calibrate.percentiles(values[:1], [0, 37, 100]).tolist() == [values[0]] * 3


@settings(max_examples=15, deadline=None)
@given(aim=st.floats(0, 0.9), rho=st.sampled_from([0.0, 0.1]))
@example(aim=0.59375, rho=0.0).via("its best percentile, 28, falls on a token of these 51")
def test_a_gate_rate_aimed_at_is_met_as_nearly_as_a_common_percentile_can(aim, rho):
    traces = some_traces(3)
    data = arrays(traces)
    try:
        found = by_gate_rate(data, aim, k=10, overlap_threshold=rho, resamples=0)
    except CalibrateError:
        assert brute_force(traces, 0, 0, 10, rho, "target")[0] < aim * int(data.accepted_by_sd.sum())
        return
    gated, accepted = brute_force(traces, found.draft_threshold, found.target_threshold, 10, rho, "target")
    assert found.gate_rate == gated / accepted
    for percentile in np.arange(0, 101, 5):
        other = by_percentile(data, float(percentile), k=10, overlap_threshold=rho, resamples=0)
        assert abs(found.gate_rate - aim) <= abs(other.gate_rate - aim) + 1e-12


def test_a_gate_rate_has_intervals_over_traces():
    found = by_gate_rate(arrays(some_traces(5)), 0.1, k=10, overlap_threshold=0.1, resamples=50)
    assert found.draft_interval[0] <= found.draft_interval[1]
    assert found.gate_rate_interval[0] <= found.gate_rate <= found.gate_rate_interval[1]
    alone = by_gate_rate(arrays(some_traces(1)), 0.1, k=10, overlap_threshold=0.1)
    assert alone.draft_interval is None
    assert alone.gate_rate_interval is None


def renamed(trace: Trace, name: str) -> Trace:
    return replace(trace, header=replace(trace.header, draft_model=replace(trace.header.draft_model, id=name)))


def test_what_cannot_be_calibrated_on_is_refused_by_name():
    traces = some_traces(2)
    with pytest.raises(CalibrateError, match="no trace is selected"):
        calibrate.check_pool([])
    with pytest.raises(CalibrateError, match=r"2 different pairs.*other → synthetic-target.*synthetic-draft → synthetic-target"):
        calibrate.check_pool([traces[0], renamed(traces[1], "other")])
    with pytest.raises(CalibrateError, match=r"different temperatures \(0\.7, 1\)"):
        calibrate.check_pool([*traces, make_trace(config=Config(temperature=1.0))])
    calibrate.check_pool([make_trace(config=Config(temperature=0.0)), make_trace(config=Config(temperature=1.0))])


@pytest.mark.parametrize("find", [by_percentile, by_gate_rate])
def test_nothing_to_count_is_refused(find):
    with pytest.raises(CalibrateError, match="no trace is selected"):
        find(arrays([]), 0.5, k=10, overlap_threshold=0.5)
    with pytest.raises(CalibrateError, match="no decided token"):
        find(arrays([make_trace(steps=2, config=Config(mode="draft"))]), 0.5, k=10, overlap_threshold=0.5)


@pytest.mark.parametrize("value", [math.nan, -0.1, -math.inf])
def test_impossible_thresholds_are_refused(value):
    data = arrays(some_traces(1))
    with pytest.raises(CalibrateError, match="draft threshold must be a number of at least 0"):
        sweep(data, [1.0, value], [1.0], k=10, overlap_threshold=0.5)
    with pytest.raises(CalibrateError, match="target threshold must be a number of at least 0"):
        sweep(data, [1.0], [value], k=10, overlap_threshold=0.5)
    with pytest.raises(CalibrateError, match="overlap threshold must be from 0 to 1"):
        sweep(data, [1.0], [1.0], k=10, overlap_threshold=value)
    with pytest.raises(CalibrateError, match="percentile must be from 0 to 100"):
        by_percentile(data, value, k=10, overlap_threshold=0.5)
    with pytest.raises(CalibrateError, match="gate rate to aim at must be from 0 to 1"):
        by_gate_rate(data, value, k=10, overlap_threshold=0.5)


def test_a_k_that_was_not_recorded_is_refused_and_an_empty_grid_too():
    data = arrays(some_traces(1))
    with pytest.raises(ReplayError, match="largest possible k is 20"):
        sweep(data, [1.0], [1.0], k=21, overlap_threshold=0.5)
    with pytest.raises(CalibrateError, match="at least one"):
        sweep(data, [], [1.0], k=5, overlap_threshold=0.5)


def test_the_curve_over_k_is_the_sweeps_cells():
    data = arrays(some_traces(2))
    gate = gate_with(Config(), draft_threshold=1.0, target_threshold=1.0, overlap_threshold=0.3)
    cells = [sweep(data, [1.0], [1.0], k=k, overlap_threshold=0.3).rate[0, 0] for k in range(1, 21)]
    assert calibrate.rates_over_k(data, gate).tolist() == cells


def test_quadrants_and_percentile_ranks():
    data = arrays(some_traces(2))
    shares = calibrate.quadrants(data, 2.0, 2.0)
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["both"] == pytest.approx(np.mean((data.draft_entropy >= 2) & (data.target_entropy >= 2)))
    assert calibrate.percentile_rank(np.array([1.0, 2.0, 2.0, 3.0]), 2.0) == 25.0


@pytest.mark.parametrize(
    ("text", "before", "expected"),
    [
        (" the", "", "word start"),
        ("ing", "walk", "word piece"),
        ("The", "\n", "word start"),
        ("The", "", "word piece"),
        ("7", "", "number"),
        (" 3.14", "", "number"),
        (",", "", "punctuation"),
        (" $", "", "punctuation"),
        ("<|im_end|>", "", "punctuation"),
        ("\n\n", "", "white space"),
        (" ", "", "white space"),
        (" 日", "", "word start"),
        ("\N{REPLACEMENT CHARACTER}", "x", "word piece"),
        ("x2", "", "word piece"),
    ],
)
def test_token_classes(text, before, expected):
    assert token_class(text, before) == expected


def test_the_token_table_counts_each_text():
    traces = some_traces(3)
    gate = gate_with(Config(), draft_threshold=1.5, target_threshold=1.5, overlap_threshold=0.2)
    rows = token_table(arrays(traces), gate)
    on_path = [t for trace in traces for s in trace.steps for t in s.on_path]
    gated = [t for t in on_path if judge(t, gate).outcome == "gated"]
    assert sum(r.gated for r in rows) == len(gated) > 0
    assert [r.gated for r in rows] == sorted((r.gated for r in rows), reverse=True)
    text = rows[0].text
    mine = [r for r in rows if r.text == text]
    assert sum(r.gated for r in mine) == sum(t.text == text for t in gated)
    assert sum(r.decided for r in mine) <= sum(t.text == text for t in on_path)


def test_nearly_gated_is_just_below_the_thresholds():
    data = arrays(some_traces(3))
    gate = gate_with(Config(), draft_threshold=2.0, target_threshold=2.0, overlap_threshold=0.3)
    near = calibrate.nearly_gated(data, gate)
    assert near.any()
    assert not (near & data.gated(gate)).any()
    assert (data.draft_entropy[near] >= 1.75).all()
    assert (data.target_entropy[near] >= 1.75).all()
    assert (data.overlap_at(10)[near] >= 0.2 - 1e-9).all()


def test_the_shift_sums_total_variation_at_gated_and_at_open_positions():
    traces = some_traces(2)
    data: GateArrays = arrays(traces)
    gate = gate_with(Config(), draft_threshold=1.0, target_threshold=1.0, overlap_threshold=0.2, resample="exclude")
    rows = shift(data, gate)
    for number, row in enumerate(rows):
        path = [t for s in traces[number].steps for t in s.on_path]
        gated = [t.tv_exclude for t in path if judge(t, gate).outcome == "gated"]
        assert row.gated == len(gated)
        assert row.at_gated == pytest.approx(sum(gated))
        assert row.decided == len(path)
        assert row.open >= row.gated
        assert row.at_open >= row.at_gated - 1e-12
        assert row.at_gated <= row.largest * row.gated + 1e-12
    closed = shift(data, gate_with(Config(), draft_threshold=math.inf))
    assert [(r.gated, r.open, r.at_open, r.largest) for r in closed] == [(0, 0, 0.0, 0.0)] * 2
