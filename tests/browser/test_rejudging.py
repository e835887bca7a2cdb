"""Moving a knob judges the recorded run again, in the browser, and says how far that can be believed."""

import json

from driving import STORE, choose, first_key, open_trace, recorded_requests, saved, settled, slide, token, value_of
from playwright.sync_api import expect
from synthetic import make_trace

from easd_viz import replay
from easd_viz.trace import Config
from easd_viz.verify import Gate


def gate_of(page) -> Gate:
    return Gate(**value_of(page, f"{STORE}.gate"))


def test_a_moved_threshold_changes_verdicts_without_a_request(page):
    key = first_key(page, "gated")
    expect(token(page, key)).to_have_class("tok gated off")
    sent = recorded_requests(page)
    slide(page, "τ draft, nats", 8)
    expect(token(page, key)).to_have_class("tok accepted changed off")
    assert sent == [], "re-judging asked the server"


def test_verdicts_and_regions_are_those_of_python(page):
    recorded = saved(page)
    for name, value in (("τ draft, nats", 1.0), ("τ target, nats", 1.0), ("ρ overlap", 0.2), ("k", 5)):
        slide(page, name, value)
    page.wait_for_function(f"{STORE}.gate.k === 5")
    expected = replay.rejudge(recorded, gate_of(page))
    drafted = value_of(page, f"{STORE}.replay")
    assert [o for row in drafted["outcomes"] for o in row] == [t.now for t in expected.tokens]
    assert [r for row in drafted["regions"] for r in row] == [t.region for t in expected.tokens]
    assert drafted["boundary"]["position"] == expected.boundary.position


def test_what_lies_after_the_boundary_is_grey_and_keeps_its_recorded_verdict(page):
    slide(page, "τ draft, nats", 0)
    slide(page, "ρ overlap", 0)
    page.wait_for_function(f"{STORE}.replay.boundary !== null")
    settled(page)
    after = value_of(
        page, f"{STORE}.entries.filter(e => e.region === 'counterfactual').map(e => [e.key, e.outcome === e.recorded])"
    )
    assert after
    assert all(same for _, same in after), "a counterfactual token shows a verdict that nobody reached"
    grey = value_of(page, "[...document.querySelectorAll('#ez-text .tok.cf')].map(e => e.dataset.key)")
    assert sorted(grey) == sorted(key for key, _ in after)
    expect(page.locator(".ez-note")).to_contain_text("counterfactual")
    expect(page.locator(".ez-boundary")).to_have_count(1)
    expect(page.locator(".ez-metric.is-estimate").first).to_contain_text("≈")


def test_moved_back_all_is_as_recorded(page):
    was = value_of(page, f"{STORE}.trace.head.config.draft_threshold")
    slide(page, "τ draft, nats", 0)
    page.wait_for_function(f"{STORE}.gate.draft_threshold === 0")
    slide(page, "τ draft, nats", was)
    page.wait_for_function(f"{STORE}.replay.boundary === null")
    expect(page.locator(".ez-note")).to_contain_text("As recorded")
    expect(page.locator("#ez-text .tok.cf")).to_have_count(0)


def test_mode_sd_closes_the_gate_of_a_recorded_run(page):
    choose(page, "SD")
    page.wait_for_function(f"{STORE}.replay.outcomes.flat().every(o => o !== 'gated')")
    choose(page, "EASD")
    page.wait_for_function(f"{STORE}.replay.boundary === null")


def test_a_changed_resampling_rule_makes_a_boundary_at_the_first_gated_token(page):
    key = first_key(page, "gated")
    choose(page, "without the draft’s token")
    page.wait_for_function(f"{STORE}.replay.boundary?.reason === 'resample'")
    expect(token(page, key)).to_have_class("tok gated changed off")


def test_at_temperature_0_with_the_target_rule_the_page_says_the_gate_is_idle(page):
    greedy = make_trace(
        seed=2, steps=6, config=Config(temperature=0, draft_threshold=1.0, target_threshold=1.0, overlap_threshold=0)
    )
    open_trace(page, greedy)
    expect(page.locator(".ez-greedy-note .ez-greedy-note")).to_contain_text("can’t change the text")
    choose(page, "without the draft’s token")
    expect(page.locator(".ez-greedy-note .ez-greedy-note")).to_have_text("")


def test_throughput_stays_what_was_measured(page):
    before = value_of(page, f"{STORE}.metrics.throughput")
    slide(page, "τ draft, nats", 0)
    page.wait_for_function(f"{STORE}.gate.draft_threshold === 0")
    assert json.dumps(value_of(page, f"{STORE}.metrics.throughput")) == json.dumps(before)
