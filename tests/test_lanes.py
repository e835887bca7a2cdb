"""Lanes side by side: each equals the run it would have been alone, and the place where two part is found and explained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes import context_pair
from hypothesis import given, settings
from hypothesis import strategies as st

from easd_viz import store
from easd_viz.__main__ import main
from easd_viz.compare import decisions, fork, greedy_note, table
from easd_viz.race import race
from easd_viz.record import record
from easd_viz.trace import Config, Prompt, Trace
from easd_viz.ui.comparing import Comparing, Lanes, compare, try_seeds

PROMPT = Prompt("ab", (0, 1), False)
OPEN = Config(draft_threshold=1.0, target_threshold=1.0, overlap_threshold=0.1, k=5, temperature=1.0, max_new_tokens=40)
SD = replace(OPEN, mode="sd")


def runs(*configs: Config, pair_seed: int = 0) -> list[Trace]:
    """The lanes of a comparison, run to their ends."""
    last = dict(race(context_pair(pair_seed), PROMPT, configs))  # type: ignore[arg-type]
    return [last[i] for i in range(len(configs))]


def alone(config: Config, pair_seed: int = 0) -> Trace:
    *_, trace = record(context_pair(pair_seed), PROMPT, config)  # type: ignore[arg-type]
    return trace


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), gamma=st.integers(1, 6), mode=st.sampled_from(["sd", "easd", "target", "draft"]))
def test_each_lane_is_the_run_it_would_be_alone(seed: int, gamma: int, mode: str) -> None:
    configs = (replace(SD, seed=seed), replace(OPEN, seed=seed, gamma=gamma, mode=mode))  # type: ignore[arg-type]
    for lane, config in zip(runs(*configs), configs, strict=True):
        own = alone(config)
        assert lane.token_ids == own.token_ids
        assert [[t.outcome for t in step.drafted] for step in lane.steps] == [[t.outcome for t in s.drafted] for s in own.steps]
        assert lane.footer is not None
        in_steps = sum(s.draft_ms + s.verify_ms + s.record_ms for s in lane.steps)
        assert lane.footer.wall_ms == pytest.approx(in_steps), "a lane's waiting for the others counts as its own time"


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_sd_and_easd_part_where_the_gate_fires(seed: int) -> None:
    sd, easd = runs(replace(SD, seed=seed), replace(OPEN, seed=seed))
    found = fork(sd, easd)
    assert sd.token_ids[: found.same] == easd.token_ids[: found.same]
    first_gated = next((d.position for d in decisions(easd) if d.kind == "gated"), None)
    if first_gated is None:
        assert not found.parted
        return
    if found.silent is not None:
        assert found.silent[1].kind == "gated"
        assert found.silent[1].position == first_gated
    elif found.parted:
        assert found.first is not None
        assert found.second is not None
        assert (found.first.kind, found.second.kind, found.second.position) == ("accepted", "gated", first_gated)
        assert "gate turned away" in found.why


def test_decisions_are_the_text() -> None:
    trace = alone(OPEN)
    assert tuple(d.token_id for d in decisions(trace)) == trace.token_ids
    assert [d.position for d in decisions(trace)] == [2 + i for i in range(len(trace.token_ids))]


def test_a_growing_run_has_not_parted_where_it_ends() -> None:
    whole = alone(SD)
    part = replace(whole, steps=whole.steps[:3], footer=None)
    assert not fork(whole, part).parted
    assert not fork(part, whole).parted
    stopped = replace(whole, steps=whole.steps[:3])
    assert fork(whole, stopped).parted
    assert fork(whole, stopped).second is None


def test_equal_settings_give_the_same_text() -> None:
    one, other = runs(OPEN, OPEN)
    assert not fork(one, other).parted
    assert [cell.sign for line in table([one, other]) if "share" not in line.key for cell in line.cells][2:4] == [0, 0]


def test_at_temperature_0_it_says_why_sd_and_easd_agree() -> None:
    configs = (replace(SD, temperature=0.0), replace(OPEN, temperature=0.0))
    sd, easd = runs(*configs)
    assert any(t.outcome == "gated" for step in easd.steps for t in step.drafted), "the gate never fired: nothing is tested"
    found = fork(sd, easd)
    assert not found.parted
    assert "very token that SD accepted" in found.why
    assert "temperature 0" in greedy_note(configs)
    assert greedy_note((configs[0], replace(configs[1], resample="exclude"))) == ""
    assert greedy_note((SD, OPEN)) == ""


def test_the_other_rule_makes_a_difference_at_temperature_0() -> None:
    sd, easd = runs(replace(SD, temperature=0.0), replace(OPEN, temperature=0.0, resample="exclude"))
    assert fork(sd, easd).parted


def test_other_gamma_is_named_as_the_reason() -> None:
    reasons = {fork(*runs(replace(SD, seed=seed, gamma=4), replace(SD, seed=seed, gamma=2))).why for seed in range(6)}
    assert any("γ = 4 and 2" in why for why in reasons), reasons


def test_differences_are_marked_against_the_first_lane() -> None:
    sd, easd = runs(SD, OPEN)
    rows = {line.key: line.cells for line in table([sd, easd])}
    assert rows["gate_rate"][0].difference is None
    assert rows["gate_rate"][1].sign == 1
    assert "points" in (rows["gate_rate"][1].difference or "")
    assert rows["throughput"][1].difference is not None
    assert rows["throughput"][1].difference.startswith("×")


# ---- on the demo pair --------------------------------------------------------------------------------------

STORY = "Name three birds."
SHORT = Config(draft_threshold=2.0, target_threshold=1.5, overlap_threshold=0.3, max_new_tokens=12, seed=5)


def lanes(*configs: Config) -> Lanes:
    return Lanes(STORY, True, configs, "demo", "float32")


@pytest.mark.pair
def test_lanes_equal_separate_runs_of_the_command_line(demo_pair: object, tmp_path: Path) -> None:
    configs = (replace(SHORT, mode="sd"), SHORT, replace(SHORT, mode="target"))
    comparing = Comparing()
    *_, last = compare(comparing, lanes(*configs), comparing.ask())
    assert last.text == "Done"
    knobs = "--temperature 0.7 --max-new-tokens 12 --seed 5 --draft-threshold 2 --target-threshold 1.5 --overlap 0.3"
    for view, config in zip(comparing.views, configs, strict=True):
        out = tmp_path / f"{config.mode}.jsonl"
        how = [*knobs.split(), "--mode", config.mode, "--dtype", "float32"]
        assert main(["trace", "--prompt", STORY, *how, "--out", str(out)]) == 0
        apart = store.load(out)
        assert view.trace.token_ids == apart.token_ids
        assert [s.drafted for s in view.trace.steps] == [s.drafted for s in apart.steps], "the same draws, another record"


def luck_of(*configs: Config, seeds: int) -> dict[str, bool]:
    """Metric -> whether zero is inside its interval."""
    comparing = Comparing()
    *_, last = try_seeds(comparing, lanes(*configs), seeds, comparing.ask())
    assert last.value is not None
    return {row["key"]: row["zero"] for row in last.value["comparisons"][0]["rows"]}


@pytest.mark.pair
def test_equal_lanes_differ_by_luck_alone(demo_pair: object) -> None:
    """In everything but speed, equal lanes are equal in each seed. Of speed, ``test_luck`` has noise around nothing."""
    inside = luck_of(replace(SHORT, max_new_tokens=5), replace(SHORT, max_new_tokens=5), seeds=3)
    assert all(zero for key, zero in inside.items() if key != "throughput"), inside


@pytest.mark.pair
def test_the_draft_alone_is_faster_than_the_target_alone_and_not_by_luck(demo_pair: object) -> None:
    short = replace(SHORT, max_new_tokens=6)
    inside = luck_of(replace(short, mode="target"), replace(short, mode="draft"), seeds=4)
    assert not inside["throughput"]


@pytest.mark.pair
def test_a_stopped_comparison_keeps_what_it_has(demo_pair: object) -> None:
    comparing = Comparing()
    news = compare(comparing, lanes(SHORT, replace(SHORT, mode="sd")), comparing.ask())
    first = next(n for n in news if n.value is not None and n.value["lanes"][0]["view"]["steps"])
    assert first.kind == "busy"
    comparing.ask()
    *_, last = news
    assert last.text == "Stopped"
    assert not any(view.trace.footer for view in comparing.views)
