"""Run, Step, Pause, Continue, Stop and Re-run, on the real app with the real demo pair."""

import pytest
from driving import (
    LONG,
    STORE,
    choose,
    path_text,
    rounds,
    run,
    saved,
    set_number,
    settled,
    slide,
    start,
    status,
    wait_for_rounds,
)
from playwright.sync_api import expect

from easd_viz.record import encode_prompt, record

pytestmark = pytest.mark.pair

PROMPT = "Name three birds."


def test_a_run_to_its_end_shows_what_the_engine_decodes(page, demo_pair):
    run(page, PROMPT, tokens=16)
    shown = saved(page)
    assert shown.footer is not None
    assert shown.header.prompt.text == PROMPT
    *_, expected = record(demo_pair, encode_prompt(demo_pair, PROMPT), shown.header.config)
    assert shown.token_ids == expected.token_ids
    assert path_text(page) == expected.footer.text
    expect(page.locator(".ez-pair").first).to_contain_text("float32")


def test_two_visitors_at_once_wait_for_each_other_and_get_their_own_runs(open_page, demo_pair):
    """Whoever asks second sees that others are before them, and neither gets a token of the other's."""
    first, second = open_page(), open_page()
    start(first, LONG, tokens=900)
    wait_for_rounds(first, 2)
    second.get_by_label("Prompt", exact=True).fill(PROMPT)
    set_number(second, "New tokens", 8)
    second.locator("#ez-run-button").click()
    expect(status(second)).to_contain_text("Waiting for the models")
    expect(status(first)).to_contain_text("Running")
    first.bring_to_front()  # a page behind another may get no frames, and a click waits for one
    first.locator("#ez-stop").click()
    expect(status(first)).to_have_text("Stopped")
    expect(status(second)).to_contain_text("Done")
    settled(first)
    settled(second)
    mine, theirs = saved(second), saved(first)
    *_, expected = record(demo_pair, encode_prompt(demo_pair, PROMPT), mine.header.config)
    assert mine.token_ids == expected.token_ids
    alone = record(demo_pair, encode_prompt(demo_pair, LONG), theirs.header.config)
    as_far = next(trace for trace in alone if len(trace.token_ids) >= len(theirs.token_ids))
    assert theirs.token_ids == as_far.token_ids


def test_stop_in_the_middle_then_step_goes_on_from_there(page):
    start(page, LONG, tokens=900)
    wait_for_rounds(page, 2)
    page.locator("#ez-stop").click()
    expect(status(page)).to_have_text("Stopped")
    page.wait_for_function(f"{STORE}.trace.foot?.stop_reason === 'stopped'")
    settled(page)
    stopped = saved(page)
    assert len(stopped.token_ids) < 900
    page.locator("#ez-step").click()
    wait_for_rounds(page, len(stopped.steps) + 1)
    expect(status(page)).to_have_text("Paused")
    stepped = saved(page)
    assert len(stepped.steps) == len(stopped.steps) + 1
    assert stepped.steps[: len(stopped.steps)] == stopped.steps
    assert stepped.footer is None


def test_paused_and_continued_equals_uninterrupted(page, demo_pair):
    page.get_by_label("Prompt", exact=True).fill(LONG)
    set_number(page, "New tokens", 24)
    page.locator("#ez-step").click()
    page.wait_for_function(f"{STORE}.trace.rounds.length === 1")
    expect(status(page)).to_have_text("Paused")
    expect(page.locator("#ez-pause")).to_have_text("Continue")
    paused = rounds(page)
    page.locator("#ez-pause").click()
    expect(status(page)).to_contain_text("Done")
    settled(page)
    whole = saved(page)
    assert len(whole.steps) > paused
    *_, expected = record(demo_pair, whole.header.prompt, whole.header.config)
    assert whole.token_ids == expected.token_ids


def test_step_alone_starts_a_run_one_round_at_a_time(page):
    page.get_by_label("Prompt", exact=True).fill("Count to five.")
    page.locator("#ez-step").click()
    page.wait_for_function(f"{STORE}.trace.head.prompt.text === 'Count to five.' && {STORE}.trace.rounds.length === 1")
    expect(status(page)).to_have_text("Paused")
    page.locator("#ez-step").click()
    wait_for_rounds(page, 2)
    expect(status(page)).to_have_text("Paused")
    assert rounds(page) == 2


def test_rerun_from_the_boundary_keeps_what_is_exact(page):
    before = saved(page)
    slide(page, "τ draft, nats", 0)
    slide(page, "τ target, nats", 0)
    slide(page, "ρ overlap", 0)
    page.wait_for_function(f"{STORE}.replay.boundary !== null")
    boundary = page.evaluate(f"{STORE}.replay.boundary.step")
    set_number(page, "New tokens", 16)
    page.get_by_role("button", name="Re-run from here").click()
    page.wait_for_function(f"{STORE}.trace.head.parent !== null")
    expect(status(page)).to_contain_text("Done")
    settled(page)
    branch = saved(page)
    assert branch.header.parent.step == boundary
    assert branch.steps[:boundary] == before.steps[:boundary]
    assert branch.header.config.draft_threshold == 0
    assert branch.steps[boundary] != before.steps[boundary]


def test_target_only_and_draft_only_runs(page):
    choose(page, "Target")
    run(page, PROMPT, tokens=6)
    assert page.evaluate(f"{STORE}.trace.head.config.mode") == "target"
    assert page.locator(".ez-tokens .tok").count() == 6
    choose(page, "Draft")
    run(page, PROMPT, tokens=6)
    assert page.evaluate(f"{STORE}.entries.every(e => e.drafted && e.outcome === 'accepted')")


def test_a_wrong_pair_is_an_error_in_words(page):
    page.get_by_role("button", name="Models and precision").click()
    page.get_by_label("Pair").click()
    page.get_by_role("option", name="Two other models…").click()
    page.get_by_role("textbox", name="Draft", exact=True).fill("./no/such/folder")
    page.get_by_role("textbox", name="Target", exact=True).fill("./no/such/folder")
    page.locator("#ez-run-button").click()
    expect(page.locator("#ez-status [role=alert]")).to_contain_text("no folder")
    expect(page.locator("#ez-step")).to_be_enabled()
