"""What a visitor does, by keyboard alone: nothing here is clicked or focused by script, every control is reached with Tab."""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import STORE, first_key, open_trace_by_key, status, value_of
from playwright.sync_api import Locator, Page, expect
from synthetic import make_trace

from easd_viz import examples, store
from easd_viz.checks import CHECKS
from easd_viz.examples import EXAMPLES
from easd_viz.export import MOST_BYTES
from easd_viz.trace import Token

MOST_TABS = 150
"""More presses than the longest tab has stops."""

STORY = examples.load(EXAMPLES[0].name)


def reach(page: Page, target: Locator) -> Locator:
    """Presses Tab until the control has the focus, and says where it got to if it never has."""
    target.first.wait_for()
    handle = target.first.element_handle()
    seen = []
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("e => e === document.activeElement", handle):
            return target.first
        seen.append(
            page.evaluate(
                "(document.activeElement.getAttribute('aria-label') || document.activeElement.innerText || '').slice(0, 30)"
            )
        )
    raise AssertionError(f"Tab never reached it; it stopped at {seen}")


def press(page: Page, target: Locator, key: str = "Enter") -> Locator:
    reach(page, target)
    page.keyboard.press(key)
    return target


def write(page: Page, target: Locator, text: str, end: str = "") -> None:
    """Replaces what stands in a field."""
    reach(page, target)
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(text)
    if end:
        page.keyboard.press(end)


def pick(page: Page, label: str, option: str) -> None:
    """An option of a drop-down list: opened with the arrow keys, walked until it is the one, chosen with Enter."""
    box = page.get_by_role("combobox", name=label, exact=True)
    reach(page, box)
    options = page.locator(f'[id="{box.get_attribute("aria-controls")}"]')
    page.keyboard.press("ArrowDown")
    options.wait_for()
    active = options.locator("[role=option].active")
    for _ in range(options.get_by_role("option").count()):
        if active.count() and option in active.inner_text():
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(box).to_have_value(option)


def go_to_tab(page: Page, name: str) -> None:
    press(page, page.get_by_role("tab", name=name, exact=True))
    expect(page.get_by_role("tab", name=name, exact=True)).to_have_attribute("aria-selected", "true")


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def downloaded(page: Page, target: Locator) -> Path:
    reach(page, target)
    with page.expect_download() as caught:
        page.keyboard.press("Enter")
    return caught.value.path()


def knob(page: Page, knob_name: str) -> Locator:
    return page.locator(f"#ez-compare-{knob_name}").get_by_test_id("number-input")


# ---- Run ------------------------------------------------------------------------------------------------------


@pytest.mark.pair
def test_a_run_from_its_prompt_to_its_files(page):
    write(page, page.get_by_label("Prompt", exact=True), "Name three birds.")
    write(page, page.get_by_label("number input for New tokens", exact=True), "8", "Enter")
    before = page.evaluate(f"{STORE}.generation")
    press(page, page.locator("#ez-run-button"))
    page.wait_for_function(f"n => {STORE}.generation > n", arg=before)
    expect(status(page)).to_contain_text("Done")
    made = store.load(downloaded(page, button(page, "Save JSONL")))
    assert made.header.prompt.text == "Name three birds."
    assert len(made.token_ids) <= 8
    rows = downloaded(page, button(page, "Save CSV")).read_text(encoding="utf-8").splitlines()
    assert len(rows) - 1 == sum(len(step.drafted) for step in made.steps)
    assert len(downloaded(page, button(page, "Save HTML")).read_bytes()) < MOST_BYTES


def test_from_landing_to_why_a_token_was_rejected(page):
    wanted = first_key(page, "rejected")
    reach(page, page.locator("#ez-text .tok[tabindex='0']"))
    for _ in range(400):
        if page.evaluate("document.activeElement.dataset.key") == wanted:
            break
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    why = page.locator("#ez-details .ez-plainly")
    expect(why).to_contain_text("The small draft model guessed")
    press(page, why.get_by_role("button", name="Learn the rule"))
    expect(page.locator(".ez-chapter > h2")).to_contain_text("Accept or reject")


def test_another_example(page):
    press(page, page.get_by_role("button", name=EXAMPLES[2].title, exact=True))
    expect(page.locator(".ez-hint")).to_contain_text(EXAMPLES[2].look)


def test_a_trace_is_opened(page):
    made = make_trace(seed=4, steps=5)
    reach(page, page.get_by_role("button", name="Open a trace"))
    open_trace_by_key(page, made)
    page.wait_for_function(f"{STORE}.trace.rounds.length === 5")


@pytest.mark.parametrize("kind", ["PNG", "SVG"])
def test_a_chart_is_saved(page, kind):
    page.locator('.ez-plot[aria-label^="Gate plane"]').scroll_into_view_if_needed()
    page.locator('.ez-plot[aria-label^="Gate plane"] .main-svg').first.wait_for()
    data = downloaded(page, button(page, f"Save Gate plane as {kind}")).read_bytes()
    assert data.startswith(b"\x89PNG") if kind == "PNG" else b"<svg" in data[:200]


# ---- Compare --------------------------------------------------------------------------------------------------


@pytest.mark.pair
def test_lanes_are_chosen_compared_and_their_luck_tried(page):
    go_to_tab(page, "Compare")
    write(page, page.locator("#ez-compare-prompt textarea"), "Name three birds.")
    pick(page, "Lane C", "no lane")
    write(page, knob(page, "temperature"), "0", "Enter")
    write(page, knob(page, "max-new-tokens"), "6", "Enter")
    press(page, page.locator("#ez-compare-run"))
    expect(page.locator("#ez-compare-status .ez-phase")).to_have_text("Done")
    expect(page.locator(".ez-forks")).to_contain_text("write the same text")
    expect(page.locator("#ez-comparison .ez-lane:not([hidden])")).to_have_count(2)
    timeline = reach(page, page.get_by_label("Time", exact=True))
    page.keyboard.press("Home")
    expect(timeline).to_have_value("0")
    press(page, page.get_by_role("button", name="Play"), " ")
    expect(page.locator(".ez-race-row.is-done:not([hidden])")).to_have_count(2)
    write(page, page.locator("#ez-compare-seeds").get_by_test_id("number-input"), "3", "Enter")
    press(page, page.locator("#ez-luck-run"))
    expect(page.locator("#ez-luck-status .ez-phase")).to_have_text("Done")
    expect(page.locator("#ez-luck [data-metric=throughput]")).to_contain_text("Zero is")


# ---- Learn ----------------------------------------------------------------------------------------------------


def asked(page: Page) -> Token:
    step, index = page.locator(".ez-quiz").get_attribute("data-key").split(".")
    return STORY.steps[int(step)].drafted[int(index) - 1]


def test_a_question_of_chapter_3_is_answered_and_the_score_put_back(page):
    go_to_tab(page, "Learn")
    chapters = page.get_by_role("navigation", name="Chapters").get_by_role("button")
    reach(page, chapters)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator(".ez-quiz").wait_for()
    here = asked(page)
    name = "Reject" if here.uniform > here.accept_prob else "Accept"
    press(page, page.locator(".ez-quiz").get_by_role("button", name=name))
    expect(page.locator(".ez-reveal")).to_contain_text("Right:")
    expect(page.locator(".ez-quiz .ez-score")).to_have_text("1 of 1 right")
    press(page, page.get_by_role("button", name="reset"))
    expect(page.locator(".ez-quiz .ez-score")).to_have_text("no answer yet")


@pytest.mark.pair
def test_a_check_is_run_live(page):
    go_to_tab(page, "Learn")
    press(page, page.get_by_role("button", name="Try it live"))
    card = page.locator(f'[data-check="{CHECKS[0].name}"]')
    press(page, card.get_by_role("button"))
    expect(card).to_have_attribute("data-state", "holds")


def test_a_run_is_presented_and_left_again(page):
    go_to_tab(page, "Learn")
    press(page, page.get_by_role("button", name="Present a run"))
    dialog = page.get_by_role("dialog", name="Presenter mode")
    for phase in ("verify", "decide", "emit"):
        page.keyboard.press(" ")
        expect(dialog.locator(".ez-phases [aria-current]")).to_have_text(phase)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


# ---- a link ---------------------------------------------------------------------------------------------------


def test_a_link_to_a_selected_token(open_page, page):
    reach(page, page.locator("#ez-text .tok[tabindex='0']"))
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    key = value_of(page, f"{STORE}.selected")
    press(page, button(page, "Copy a link"))
    field = page.get_by_label("Link", exact=True)
    expect(field).to_be_visible()
    other = open_page(path="?" + field.input_value().split("?", 1)[1])
    other.wait_for_function(f"k => {STORE}.selected === k", arg=key)
