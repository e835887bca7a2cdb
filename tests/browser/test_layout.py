"""The page fits, holds still while it streams, has names for everything, and needs no model to be looked at."""

import subprocess
import sys
from pathlib import Path

import pytest
from driving import LONG, STORE, open_trace, settled, start, status, wait_for_rounds
from playwright.sync_api import expect
from synthetic import make_trace

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("width", [1440, 1180, 900, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_hangs_over_the_edge(open_page, width, scheme):
    page = open_page(width=width, color_scheme=scheme)
    page.evaluate(f"{STORE}.select({STORE}.entries.find(e => e.recorded === 'gated').key)")
    expect(page.locator("#ez-details .ez-lists")).to_be_visible()
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0, f"the page is {over} px wider than its window"
    background = page.evaluate("getComputedStyle(document.querySelector('.gradio-container')).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 28)")


def test_first_paint_is_a_whole_run_and_loads_no_model():
    """``app.py`` builds its page without torch or transformers."""
    code = "import sys; sys.path.insert(0, '.'); import app; print([m for m in ('torch', 'transformers') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]", f"building the page imported {done.stdout}"


def test_the_example_is_there_before_anything_was_run(page):
    assert page.evaluate(f"{STORE}.trace.foot !== null")
    expect(status(page)).to_have_text("A recorded example")
    expect(page.locator(".ez-metric .v").first).not_to_have_text("–")


@pytest.mark.pair
def test_the_page_holds_still_while_a_run_streams(page):
    tops = """() => [...document.querySelectorAll('.ez-head, .ez-card, .ez-cards, .ez-plot, #ez-run-button, .ez-slider')]
        .map(e => Math.round(e.getBoundingClientRect().top + scrollY))"""
    start(page, LONG, tokens=900)
    wait_for_rounds(page, 1)
    before = page.evaluate(tops)
    wait_for_rounds(page, 4)
    page.locator("#ez-stop").click()
    expect(status(page)).to_have_text("Stopped")
    settled(page)
    assert page.evaluate(tops) == before, "something on the page moved"


def test_everything_that_takes_input_has_a_name(page):
    nameless = page.evaluate(
        """() => ['button', 'input', 'select', 'textarea', '[tabindex="0"]']
        .flatMap(kind => [...document.querySelectorAll('.ez-run ' + kind)])
        .filter(e => e.offsetParent !== null)
        .filter(e => !(e.getAttribute('aria-label') || e.labels?.length || e.textContent.trim() || e.title))
        .map(e => e.outerHTML.slice(0, 120))"""
    )
    assert nameless == []


def test_a_long_text_scrolls_in_its_own_box(page):
    open_trace(page, make_trace(seed=4, steps=300))
    expect(status(page)).to_have_text("Opened")
    settled(page)
    heights = page.evaluate(
        "(() => { const b = document.querySelector('.ez-text'); return [b.clientHeight, b.scrollHeight]; })()"
    )
    assert heights[1] > heights[0]
    assert heights[0] < 400


def test_status_is_announced_and_an_error_is_an_alert(page):
    expect(page.locator("#ez-status [aria-live=polite]")).to_have_count(1)
    open_trace(page, b"not a trace")
    expect(page.locator("#ez-status [role=alert]")).to_contain_text("line 1")
