"""The Compare tab: the recorded comparison on first paint, playback, the fork, live lanes, and the luck test."""

import re

import pytest
from driving import value_of
from playwright.sync_api import Page, expect

SHOWN = "#ez-comparison .ez-lane:not([hidden])"


@pytest.fixture
def tab(open_page) -> Page:
    page = open_page()
    page.get_by_role("tab", name="Compare").click()
    page.locator(f"{SHOWN} .tok[data-fork]").first.wait_for()
    return page


def lane(page: Page, letter: str):
    return page.get_by_role("region", name=f"Lane {letter}", exact=True)


def choose(page: Page, label: str, option: str) -> None:
    box = page.get_by_role("combobox", name=label, exact=True)
    box.click()
    page.locator(f'[id="{box.get_attribute("aria-controls")}"]').get_by_role("option", name=option, exact=True).click()
    expect(box).to_have_value(option)


def set_number(page: Page, knob: str, value: float) -> None:
    """A slider of this tab, by its number box: other tabs have sliders of the same names."""
    box = page.locator(f"#ez-compare-{knob}").get_by_test_id("number-input")
    box.fill(str(value))
    box.press("Enter")


def visible_tokens(page: Page, letter: str) -> int:
    """Tokens of the text that the page shows in a lane."""
    return lane(page, letter).locator(".tok:not(.off)").evaluate_all("all => all.filter(e => e.getClientRects().length).length")


def emitted(page: Page, letter: str) -> list[int]:
    path = f"easd.store('compare.{letter}').entries.filter(e => e.onPath).map(e => e.token.token_id)"
    return value_of(page, path)


def test_a_recorded_comparison_is_there_at_once_and_its_fork_is_aligned(tab):
    expect(tab.locator(SHOWN)).to_have_count(3)
    same = int(tab.locator("[data-lane=B] .ez-fork-head b").nth(1).inner_text().split()[0])
    a, b = emitted(tab, "A"), emitted(tab, "B")
    assert a[:same] == b[:same]
    assert a[same] != b[same]
    first_line = "e => { const { x, y } = e.getClientRects()[0]; return { x, y }; }"  # a longer token may break over two lines
    boxes = [lane(tab, letter).locator(".tok[data-fork]").evaluate(first_line) for letter in "AB"]
    tops = [lane(tab, letter).bounding_box() for letter in "AB"]
    assert abs((boxes[0]["y"] - tops[0]["y"]) - (boxes[1]["y"] - tops[1]["y"])) < 6
    assert abs((boxes[0]["x"] - tops[0]["x"]) - (boxes[1]["x"] - tops[1]["x"])) < 6
    expect(lane(tab, "B").locator(".tok[data-fork]")).to_have_class("tok gated off")


def test_the_time_line_shows_what_had_happened_by_keyboard(tab):
    timeline = tab.get_by_label("Time", exact=True)
    timeline.focus()
    timeline.press("Home")
    expect(timeline).to_have_attribute("aria-valuetext", re.compile(r"^0\.0 of "))
    assert [visible_tokens(tab, letter) for letter in "ABC"] == [0, 0, 0]
    half = value_of(tab, "Math.round(Number(document.querySelector('.ez-timeline').max) / 2)")
    timeline.evaluate("(e, t) => { e.value = t; e.dispatchEvent(new Event('input', {bubbles: true})); }", half)
    for letter in "ABC":
        rounds = value_of(tab, f"easd.store('compare.{letter}').trace.rounds")
        spent, expected = 0.0, 0
        for step in rounds:
            spent += step["draft_ms"] + step["verify_ms"] + step["record_ms"]
            if spent <= half:
                expected += sum(t["outcome"] == "accepted" for t in step["drafted"]) + bool(step["emitted"])
        assert visible_tokens(tab, letter) == expected, f"lane {letter} is not where its own clock has it"
    timeline.press("End")
    assert visible_tokens(tab, "A") == len(emitted(tab, "A"))


def test_the_time_line_is_pulled_by_mouse(tab):
    timeline = tab.get_by_label("Time", exact=True)
    timeline.scroll_into_view_if_needed()
    box = timeline.bounding_box()
    whole = len(emitted(tab, "A"))
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.mouse.down()
    assert 0 < visible_tokens(tab, "A") < whole
    tab.mouse.move(box["x"] + box["width"] - 1, box["y"] + box["height"] / 2)
    tab.mouse.up()
    assert visible_tokens(tab, "A") == whole


def test_play_runs_all_lanes_to_the_end_on_one_clock(tab):
    whole = [len(emitted(tab, letter)) for letter in "ABC"]
    tab.get_by_role("button", name="Play").press("Enter")
    expect(tab.get_by_role("button", name="Pause")).to_be_visible()
    expect(tab.get_by_role("button", name="Play")).to_be_visible()
    expect(tab.locator(".ez-race-row.is-done:not([hidden])")).to_have_count(3)
    assert [visible_tokens(tab, letter) for letter in "ABC"] == whole


def test_differences_to_lane_a_are_marked(tab):
    rate = tab.locator("[data-metric=gate_rate] td")
    expect(rate.nth(0).locator(".ez-difference")).to_have_count(0)
    expect(rate.nth(1).locator(".ez-difference")).to_have_text(re.compile(r"▲ \+[\d.]+ points"))
    expect(tab.locator("[data-metric=throughput] td").nth(2)).to_contain_text("×")
    expect(tab.locator("[data-metric=gate_rate] td").nth(2)).to_contain_text("–")


def test_a_decision_at_the_fork_opens_its_numbers_by_mouse_and_by_keyboard(tab):
    rows = tab.locator("[data-lane=B] .ez-fork-decision")
    rows.nth(1).click()
    details = tab.locator(".ez-lane-details > div:not([hidden])")
    expect(details).to_contain_text("gated")
    expect(details).to_contain_text("instead, resampled from the target")
    rows.nth(0).press("Enter")
    expect(details).to_contain_text("the drafted token itself")
    expect(tab.locator(".ez-lane .tok.sel")).to_have_count(1)
    lane(tab, "A").locator(".tok.sel").focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    expect(tab.locator(".ez-lane .tok.sel")).to_have_count(1)
    expect(details).not_to_contain_text("the drafted token itself")


@pytest.mark.pair
def test_at_temperature_0_the_page_says_why_sd_and_easd_agree(tab):
    choose(tab, "Lane C", "no lane")
    tab.locator("#ez-compare-prompt textarea").fill("Name three birds.")
    set_number(tab, "temperature", 0)
    set_number(tab, "max-new-tokens", 8)
    tab.locator("#ez-compare-run").press("Enter")
    expect(tab.locator("#ez-compare-status .ez-phase")).to_have_text("Done")
    expect(tab.locator(SHOWN)).to_have_count(2)
    assert emitted(tab, "A") == emitted(tab, "B")
    expect(tab.locator(".ez-forks")).to_contain_text("write the same text: all 8 tokens")
    expect(tab.locator(".ez-notes")).to_contain_text("the very token that SD accepted")


@pytest.mark.pair
def test_luck_is_tried_over_seeds_said_in_words_and_can_be_stopped(tab):
    choose(tab, "Lane B", "Draft alone")
    choose(tab, "Lane A", "Target alone")
    choose(tab, "Lane C", "no lane")
    set_number(tab, "max-new-tokens", 4)
    set_number(tab, "seeds", 3)
    tab.locator("#ez-luck-run").press("Enter")
    expect(tab.locator("#ez-luck-status .ez-phase")).to_have_text("Done")
    row = tab.locator("#ez-luck [data-metric=throughput]")
    expect(row).to_contain_text("95% from")
    expect(row).to_contain_text("Zero is")
    set_number(tab, "seeds", 50)
    tab.locator("#ez-luck-run").click()
    expect(tab.locator("#ez-luck-status .ez-phase")).to_have_text("Trying")
    tab.locator("#ez-luck-stop").click()
    expect(tab.locator("#ez-luck-status .ez-phase")).to_have_text("Stopped")
    expect(tab.locator("#ez-luck-run")).to_be_enabled()
