"""The Learn tab by mouse and by keyboard: chapters, predict and reveal, the score, live checks, presenter mode."""

from __future__ import annotations

import math
import re

import pytest
from driving import STORE, first_key, recorded_requests, token
from playwright.sync_api import Page, expect

from easd_viz import UserError, examples, metrics
from easd_viz.checks import CHECKS
from easd_viz.examples import EXAMPLES
from easd_viz.trace import Token
from easd_viz.ui import learn as learn_tab
from easd_viz.verify import gate_of, judge, overlap_of

TITLES = [
    "One token at a time",
    "Draft and verify",
    "Accept or reject",
    "Sure and unsure",
    "Agreement",
    "The gate",
    "What it costs",
]
NAMES = {"accepted": "Accept", "rejected": "Reject", "gated": "Gate"}
STORY = examples.load(EXAMPLES[0].name)
DECIDED = [token for step in STORY.steps for token in step.on_path]


@pytest.fixture
def learn(page: Page) -> Page:
    return opened(page)


def opened(page: Page) -> Page:
    page.get_by_role("tab", name="Learn").click()
    page.locator(".ez-lesson > *").first.wait_for()
    page.wait_for_function("easd.store('learn').trace !== null")
    return page


def chapter(page: Page, number: int) -> None:
    page.get_by_role("navigation", name="Chapters").get_by_role("button").nth(number - 1).click()
    expect(heading(page)).to_contain_text(TITLES[number - 1])


def heading(page: Page):
    return page.locator(".ez-chapter > h2")


def asked(page: Page) -> Token:
    """The token that the question is about."""
    step, index = page.locator(".ez-quiz").get_attribute("data-key").split(".")
    return STORY.steps[int(step)].drafted[int(index) - 1]


def answer(page: Page, outcome: str) -> None:
    page.locator(".ez-quiz").get_by_role("button", name=NAMES[outcome]).click()


def score(page: Page):
    return page.locator(".ez-quiz .ez-score")


# ---- the way there --------------------------------------------------------------------------------------------


def test_two_clicks_from_landing_to_why_a_token_was_rejected(page):
    token(page, first_key(page, "rejected")).click()
    why = page.locator("#ez-details .ez-plainly")
    expect(why).to_contain_text("The small draft model guessed")
    why.get_by_role("button", name="Learn the rule").click()
    expect(heading(page)).to_contain_text(TITLES[2])
    expect(page.locator(".ez-quiz")).to_be_visible()


def test_the_landing_view_says_what_to_look_at_and_where_to_learn(page):
    hint = page.locator(".ez-hint")
    expect(hint).to_contain_text(EXAMPLES[0].look)
    hint.get_by_role("button").press("Enter")
    expect(heading(page)).to_contain_text(TITLES[0])


@pytest.mark.parametrize("example", EXAMPLES[1:], ids=lambda each: each.name)
def test_a_chip_shows_its_recorded_run(page, example):
    page.get_by_role("button", name=example.title, exact=True).click()
    expect(page.locator(".ez-hint")).to_contain_text(example.look)
    expect(page.get_by_label("Prompt", exact=True)).to_have_value(example.prompt)
    assert page.evaluate(f"{STORE}.trace.rounds.length") == len(examples.load(example.name).steps)


# ---- chapters -------------------------------------------------------------------------------------------------


def test_every_chapter_opens_in_turn_by_mouse(learn):
    for number, title in enumerate(TITLES, 1):
        expect(heading(learn)).to_have_text(f"{number} {title}")
        expect(learn.locator(".ez-lesson > *").first).to_be_visible()
        learn.locator(".ez-pager .ez-next").click()
    expect(heading(learn)).to_have_text("Try it live")
    learn.locator(".ez-pager .ez-quiet-button").click()
    expect(heading(learn)).to_contain_text(TITLES[-1])


def test_chapters_open_by_keyboard_and_the_last_one_is_remembered(learn):
    learn.get_by_role("navigation", name="Chapters").get_by_role("button").first.focus()
    for _ in range(3):
        learn.keyboard.press("ArrowDown")
    learn.keyboard.press("Enter")
    expect(heading(learn)).to_contain_text(TITLES[3])
    expect(heading(learn)).to_be_focused()
    learn.reload()
    opened(learn)
    expect(heading(learn)).to_contain_text(TITLES[3])


def test_draws_are_counted(learn):
    learn.get_by_role("button", name="Draw a token").click()
    expect(learn.locator(".ez-lesson .ez-says")).to_contain_text("1 draw so far")
    learn.get_by_role("button", name="Draw 100").press("Enter")
    expect(learn.locator(".ez-lesson .ez-says")).to_contain_text("101 draws so far")
    tallies = learn.locator(".ez-tally").all_inner_texts()
    assert sum(int(text.rstrip("×")) for text in tallies if text) == 101


def test_a_round_is_shown_in_beats(learn):
    chapter(learn, 2)
    columns = learn.locator(".ez-columns > .ez-column:not(.ez-extra)")
    expect(columns.first.locator(".ez-outcome")).not_to_contain_text(re.compile("accepted|rejected|gated"))
    learn.get_by_role("button", name="3 decide").click()
    expect(columns.first.locator(".ez-outcome")).to_contain_text(re.compile("accepted|rejected|gated"))


def test_the_surest_and_the_least_sure_position_are_the_traces_own(learn):
    chapter(learn, 4)
    entropies = sorted(token.target_entropy for token in DECIDED)
    numbers = learn.locator(".ez-position .ez-big b")
    expect(numbers.nth(0)).to_have_text(f"{entropies[0]:.2f}")
    expect(numbers.nth(1)).to_have_text(f"{entropies[-1]:.2f}")


def test_any_position_can_be_picked(learn):
    chapter(learn, 4)
    strip = learn.get_by_role("listbox", name="Positions of the text")
    strip.get_by_role("option").nth(4).click()
    number = learn.locator(".ez-position .ez-big b").nth(2)
    expect(number).to_have_text(f"{DECIDED[4].target_entropy:.2f}")
    learn.keyboard.press("Tab")
    strip.get_by_role("option", selected=True).focus()
    learn.keyboard.press("ArrowRight")
    expect(number).to_have_text(f"{DECIDED[5].target_entropy:.2f}")


def test_overlap_follows_k(learn):
    chapter(learn, 5)
    position = int(learn.locator(".ez-at").inner_text().split()[-1])
    here = next(token for token in DECIDED if token.position == position)
    number = learn.locator(".ez-lesson .ez-big b")
    expect(number).to_have_text(f"{overlap_of(here, STORY.header.config.k):.2f}")
    learn.get_by_label("k, length of the lists").fill("3")
    expect(number).to_have_text(f"{overlap_of(here, 3):.2f}")


def test_the_speed_up_is_the_formula_s(learn):
    chapter(learn, 7)
    sliders = {"α, chance that SD keeps a guess": 0.8, "γ, guesses per round": 5, "c, draft pass / target pass": 0.1}
    for name, value in {**sliders, "g, share of accepted tokens gated": 0}.items():
        learn.get_by_label(name).fill(str(value))
    expected = (1 - 0.8**6) / ((1 - 0.8) * (5 * 0.1 + 1))
    expect(learn.locator(".ez-picture .ez-big b")).to_have_text(f"{expected:.2f}×")
    learn.get_by_role("button", name="As recorded").click()
    recorded = metrics.summarise(STORY)
    gated = recorded.gate_rate.value
    alpha = learn.get_by_label("α, chance that SD keeps a guess")
    assert float(alpha.input_value()) == pytest.approx(recorded.expected_acceptance.value, abs=0.006)
    assert float(learn.get_by_label("g, share").input_value()) == pytest.approx(gated, abs=0.006)


def test_another_example_is_taught_from(learn):
    learn.get_by_label("Example").select_option(EXAMPLES[2].name)
    first = examples.load(EXAMPLES[2].name).header.prompt.text[-20:]
    expect(learn.locator(".ez-lesson .ez-reading").first).to_contain_text(first)


# ---- predict, then reveal -------------------------------------------------------------------------------------


def test_a_right_answer_is_worked_out_and_counted(learn):
    chapter(learn, 3)
    here = asked(learn)
    assert learn.locator(".ez-reveal").inner_text() == "", "the verdict must not show before the answer"
    rejected = here.uniform > here.accept_prob
    answer(learn, "rejected" if rejected else "accepted")
    reveal = learn.locator(".ez-reveal")
    expect(reveal).to_contain_text("Right:")
    expect(reveal).to_contain_text(f"{here.accept_prob:.3f}")
    expect(reveal).to_contain_text(f"u = {here.uniform:.3f} {'>' if rejected else '≤'}")
    expect(score(learn)).to_have_text("1 of 1 right")


def test_the_score_survives_a_reload(learn):
    chapter(learn, 3)
    here = asked(learn)
    answer(learn, "accepted" if here.uniform > here.accept_prob else "rejected")
    expect(learn.locator(".ez-reveal")).to_contain_text("Not so:")
    expect(score(learn)).to_have_text("0 of 1 right")
    learn.reload()
    opened(learn)
    expect(score(learn)).to_have_text("0 of 1 right")
    assert asked(learn) != here, "a question that was answered must not come again at once"
    learn.get_by_role("button", name="reset").click()
    expect(score(learn)).to_have_text("no answer yet")


def test_the_gate_is_predicted_by_keyboard_alone(learn):
    chapter(learn, 6)
    seen = set()
    for n in range(1, 4):
        outcome = judge(asked(learn), gate_of(STORY.header.config)).outcome
        seen.add(outcome)
        learn.locator(".ez-answer").first.focus()
        learn.keyboard.press(NAMES[outcome][0].lower())
        expect(learn.locator(".ez-reveal")).to_contain_text("Right:")
        expect(score(learn)).to_have_text(f"{n} of {n} right")
        expect(learn.get_by_role("button", name="Next question")).to_be_focused()
        learn.keyboard.press("Enter")
        expect(learn.locator(".ez-reveal")).to_be_empty()
    assert seen == set(NAMES), "the first three questions must have three different answers"


def test_the_gates_law_is_drawn_and_the_closed_gate_is_the_targets(learn):
    chapter(learn, 6)
    here = asked(learn)
    distance = learn.locator(".ez-picture .ez-note-line b")
    expect(distance).to_have_text(f"{here.tv_target:.3f}")
    learn.get_by_role("button", name="open, exclude").click()
    expect(distance).to_have_text(f"{here.tv_exclude:.3f}")
    learn.get_by_role("button", name="closed").click()
    numbers = [row.split() for row in learn.locator(".ez-laws li .ez-num").all_inner_texts()]
    plain = [each[-1] for each in numbers]
    assert plain[::2] == plain[1::2], "with the gate closed P is p"


def test_a_damaged_memory_is_begun_anew(open_page):
    page = open_page()
    page.evaluate("localStorage.setItem('easd-learn', '{\"chapter\":')")
    page.reload()
    expect(heading(opened(page))).to_contain_text(TITLES[0])


# ---- live checks ----------------------------------------------------------------------------------------------


def live(page: Page, name: str):
    page.get_by_role("button", name="Try it live").first.click()
    return page.locator(f'[data-check="{name}"]')


@pytest.mark.pair
@pytest.mark.parametrize("check", CHECKS, ids=lambda each: each.name)
def test_a_check_runs_on_the_demo_pair(learn, check):
    card = live(learn, check.name)
    expect(card).to_contain_text(check.expected)
    card.get_by_role("button").click()
    expect(card).to_have_attribute("data-state", "holds")
    expect(card.get_by_role("status")).to_contain_text("Holds.")


def test_a_check_that_cannot_run_says_why(learn, monkeypatch):
    def refuse(*args):
        raise UserError("the pair could not be loaded; try again")

    monkeypatch.setattr(learn_tab, "load_with_reports", refuse)
    card = live(learn, CHECKS[1].name)
    card.get_by_role("button").click()
    expect(card.get_by_role("status")).to_contain_text("the pair could not be loaded; try again")
    expect(card.get_by_role("button")).to_be_enabled()


# ---- presenter mode -------------------------------------------------------------------------------------------


def presenting(page: Page):
    page.get_by_role("button", name="Present a run").click()
    dialog = page.get_by_role("dialog", name="Presenter mode")
    expect(dialog).to_be_visible()
    return dialog


def beat(dialog):
    return dialog.locator(".ez-phases [aria-current]")


def test_presenting_goes_forward_and_back_by_every_key_without_a_request(learn):
    sent = recorded_requests(learn)
    dialog = presenting(learn)
    press = learn.keyboard.press
    for key, phase in [
        ("ArrowRight", "verify"),
        (" ", "decide"),
        ("PageDown", "emit"),
        ("PageDown", "draft"),
        ("PageUp", "emit"),
    ]:
        press(key)
        expect(beat(dialog)).to_have_text(phase)
    press("ArrowLeft")
    expect(beat(dialog)).to_have_text("decide")
    press("ArrowDown")
    expect(dialog.locator("header")).to_contain_text("round 1")
    press("End")
    expect(dialog.locator("header")).to_contain_text(f"round {len(STORY.steps) - 1}")
    press("Escape")
    expect(dialog).to_have_count(0)
    expect(learn.get_by_role("button", name="Present a run")).to_be_focused()
    assert sent == []


def test_each_beat_shows_what_it_is_about(learn):
    dialog = presenting(learn)
    first = STORY.steps[0].drafted[0]
    column = dialog.locator(".ez-column").first
    assert "–" in column.inner_text(), "p must not show before the target has verified"
    dialog.get_by_role("button", name="On").click()
    expect(column.locator(".ez-line").nth(1)).not_to_contain_text("–")
    expect(column.locator(".ez-outcome")).not_to_contain_text(first.outcome)
    dialog.get_by_role("button", name="On").click()
    expect(column.locator(".ez-outcome")).to_contain_text(first.outcome)
    dialog.get_by_role("button", name="On").click()
    emitted = STORY.steps[0].emitted
    assert emitted is not None
    expect(dialog.locator(".ez-stage-text")).to_contain_text(emitted.text.strip())
    dialog.get_by_role("button", name="Back").click()
    expect(dialog.locator(".ez-extra .ez-guess")).to_have_text("?")


def test_a_presentation_goes_on_where_it_was_left(learn):
    presenting(learn)
    learn.keyboard.press("ArrowDown")
    learn.keyboard.press("Escape")
    expect(presenting(learn).locator("header")).to_contain_text("round 1")


def test_the_focus_stays_in_the_presentation(learn):
    dialog = presenting(learn)
    for _ in range(6):
        learn.keyboard.press("Tab")
        assert dialog.evaluate("e => e.contains(document.activeElement)")


def test_large_type_fits_a_projector(open_page):
    page = opened(open_page(1280, 720))
    dialog = presenting(page)
    for _ in range(3):
        page.keyboard.press("PageDown")
    size = dialog.locator(".ez-presenter-says").evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert size >= 24
    overflow = dialog.evaluate("e => e.scrollHeight - e.clientHeight")
    assert math.isclose(overflow, 0, abs_tol=1), "a beat must fit the screen without scrolling"
