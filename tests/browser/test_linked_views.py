"""Selecting in one view selects in all; hover, focus and keys; zoom and selection live through a run."""

import re

import pytest
from driving import (
    LONG,
    STORE,
    choose,
    first_key,
    open_trace,
    plot,
    rounds,
    settled,
    start,
    status,
    token,
    value_of,
    wait_for_rounds,
)
from playwright.sync_api import expect
from synthetic import make_trace

RANGES = """label => {
  const plot = [...document.querySelectorAll('.ez-plot')].find(e => e.ariaLabel.startsWith(label));
  return plot.layout.xaxis.range;
}"""
KEYS = """plot => {
  const keys = plot._fullData.map(trace => (trace.customdata ?? []).flat().filter(Boolean));
  return keys.find(each => each.length);
}"""


def selected(page):
    page.wait_for_function(f"{STORE}.pending.size === 0")
    return page.evaluate(f"{STORE}.selected")


def test_a_click_selects_and_the_details_put_the_numbers_into_the_rule(page):
    key = first_key(page, "gated")
    token(page, key).click()
    expect(token(page, key)).to_have_attribute("aria-selected", "true")
    numbers = value_of(page, f"{STORE}.find('{key}').token")
    details = page.locator("#ez-details")
    expect(details.locator("h2")).to_contain_text(numbers["text"].replace(" ", "␣"))
    rule = details.locator(".ez-rule")
    expect(rule).to_contain_text(f"= {numbers['accept_prob']:.2f}; u = {numbers['uniform']:.2f} ≤")
    expect(rule).to_contain_text(f"{numbers['draft_entropy']:.2f} ≥ {page.evaluate(f'{STORE}.gate.draft_threshold'):.2f}")
    expect(rule).to_contain_text(f"{round(numbers['overlap'] * 10)}/10 ≥")
    expect(rule).to_contain_text("gated")
    emitted = value_of(page, f"{STORE}.replacement({STORE}.find('{key}'))")
    expect(rule.locator("code").last).to_have_text(emitted["text"].replace(" ", "␣"))
    shared = round(numbers["overlap"] * 10)
    expect(details.locator(".ez-lists > div:first-child li.shared")).to_have_count(shared)
    expect(details.locator(".ez-joints path")).to_have_count(shared)


def test_keys_walk_select_and_leave(page):
    first = page.locator(".ez-tokens .tok").first
    first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    focused = page.evaluate("document.activeElement.dataset.key")
    shown = value_of(page, f"{STORE}.visible().map(e => e.key)")
    assert focused == shown[2]
    page.keyboard.press("Enter")
    assert selected(page) == focused
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.key") == shown[-1]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.dataset.key") == shown[0]
    expect(page.locator(".ez-tip")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".ez-tip")).to_be_hidden()


def test_hover_gives_the_numbers(page):
    key = first_key(page, "rejected")
    token(page, key).hover()
    numbers = value_of(page, f"{STORE}.find('{key}').token")
    tip = page.locator(".ez-tip")
    expect(tip).to_contain_text("rejected by SD")
    expect(tip).to_contain_text(f"{numbers['draft_entropy']:.2f} nats")
    expect(tip).to_contain_text(f"position {numbers['position']}")


@pytest.mark.parametrize("label", ["Gate plane", "Rounds by draft index", "Along the text", "Probability of each"])
def test_a_click_in_a_chart_selects_in_the_text_and_scrolls_it_into_view(page, label):
    chart = plot(page, label)
    keys = chart.evaluate(KEYS)
    key = keys[len(keys) // 3]
    chart.evaluate("(p, key) => p.emit('plotly_click', { points: [{ customdata: key }] })", key)
    assert selected(page) == key
    expect(token(page, key)).to_have_class(re.compile(r"\bsel\b"))
    expect(token(page, key)).to_be_in_viewport()


def test_a_real_click_on_a_cell_of_the_rounds_selects_its_token(page):
    chart = plot(page, "Rounds by draft index")
    box = chart.locator(".heatmaplayer").first.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 8)
    chart.locator(".hovertext").first.wait_for()
    page.mouse.click(box["x"] + 20, box["y"] + 8)
    page.wait_for_function(f"{STORE}.selected === '0.1'")


@pytest.mark.pair
def test_zoom_and_selection_live_through_a_run(page):
    start(page, LONG, tokens=900)
    wait_for_rounds(page, 2)
    page.locator("#ez-pause").click()  # a busy browser takes longer for a drag than the run would last
    expect(status(page)).to_have_text("Paused")
    key = value_of(page, f"{STORE}.entries[0].key")
    page.evaluate(f"{STORE}.select('{key}')")
    chart = plot(page, "Along the text")
    box = chart.locator(".nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 60, steps=4)
    page.mouse.up()
    page.wait_for_function(f"({RANGES})('Along the text')[0] > 0.5")
    zoomed = page.evaluate(RANGES, "Along the text")
    seen = rounds(page)
    page.locator("#ez-pause").click()
    wait_for_rounds(page, seen + 2)
    page.locator("#ez-stop").click()
    expect(status(page)).to_have_text("Stopped")
    settled(page)
    assert page.evaluate(RANGES, "Along the text") == pytest.approx(zoomed), "the zoom was lost"
    plot(page, "Probability of each")
    page.wait_for_function(f"r => Math.abs(({RANGES})('Probability of each')[0] - r) < 1e-6", arg=zoomed[0])
    assert selected(page) == key, "the selection was lost"
    expect(page.locator(f'.ez-tokens [data-key="{key}"]')).to_have_attribute("aria-selected", "true")


def test_every_colouring_has_a_legend_and_the_thresholds_stand_on_it(page):
    pick = page.get_by_label("Colour the text by")
    legend = page.locator(".ez-legend")
    expect(legend).to_contain_text("rejected")
    for name, mark in (("draft entropy", "τ draft"), ("target entropy", "τ target"), ("overlap", "ρ")):
        pick.select_option(label=name)
        expect(legend.locator(".ez-scale-mark")).to_contain_text(mark)
    for name in ("entropy difference", "target probability", "acceptance probability"):
        pick.select_option(label=name)
        expect(legend.locator(".ez-scale")).to_be_visible()
    painted = page.locator(".ez-tokens .tok.by-number:not(.no-number) .ink").first
    assert painted.evaluate("e => getComputedStyle(e).backgroundColor").startswith("rgb(")
    pick.select_option(label="outcome")
    expect(page.locator(".ez-tokens .by-number")).to_have_count(0)


def test_switches_hide_what_was_turned_away(page):
    gone = page.locator(".ez-tokens .tok.rejected.off").first
    expect(gone).to_be_visible()
    page.get_by_role("switch", name="rejected and gated").uncheck(force=True)
    expect(gone).to_be_hidden()
    beyond = page.locator(".ez-tokens .tok.discarded.off").first
    expect(beyond).to_be_hidden()
    page.get_by_role("switch", name="discarded").check(force=True)
    expect(beyond).to_be_visible()


def test_split_characters_are_whole_in_the_text_and_bytes_in_the_details(page):
    made = make_trace(seed=1, steps=120)
    open_trace(page, made)
    expect(status(page)).to_have_text("Opened")
    settled(page)
    whole = page.evaluate(f"{STORE}.entries.find(e => e.onPath && e.token.bytes && e.text !== '').key")
    expect(token(page, whole)).to_have_text(page.evaluate(f"{STORE}.find('{whole}').text"))
    token(page, whole).click()
    raw = page.evaluate(f"{STORE}.find('{whole}').token.bytes")
    expect(page.locator("#ez-details .ez-aside")).to_contain_text(f"bytes {raw[:2]}")


def test_metric_cards_give_counts_and_formula(page):
    card = page.locator(".ez-metric").filter(has_text="Gate rate")
    counts = value_of(page, f"{STORE}.metrics.counts")
    expect(card).to_contain_text(f"{counts['gated']} of {counts['accepted'] + counts['gated']}")
    card.hover()
    expect(page.locator(".ez-tip")).to_contain_text("gated / (accepted + gated)")


def test_choosing_a_mode_by_keyboard(page):
    choose(page, "EASD")
    page.get_by_role("radio", name="SD", exact=True).focus()
    page.keyboard.press("Space")
    page.wait_for_function(f"{STORE}.gate.draft_threshold === Infinity")


def test_a_draft_that_was_turned_away_breaks_no_line_but_is_seen(page):
    made = make_trace(seed=1, steps=120)
    open_trace(page, made)
    expect(status(page)).to_have_text("Opened")
    settled(page)
    gone = page.evaluate(f"{STORE}.entries.find(e => !e.onPath && e.outcome !== 'discarded' && e.token.text === '\\n').key")
    assert "\n" not in token(page, gone).text_content()
    mark = token(page, gone).locator(".mark")
    assert "⏎" in mark.evaluate("e => getComputedStyle(e, '::after').content")
    kept = page.evaluate(f"{STORE}.entries.find(e => e.onPath && e.token.text === '\\n').key")
    assert token(page, kept).text_content() == "\n"
