"""A run as one HTML file: opened from disk with the network off it shows the same, and tokens in it stay text."""

from dataclasses import replace

import pytest
from driving import STORE, download, plot, saved, value_of
from playwright.sync_api import Browser, Page, expect
from synthetic import make_trace

from easd_viz.export import MOST_BYTES, to_html
from easd_viz.trace import Config, Trace, dumps

HOSTILE = ("</script><script>alert(1)</script>", "${7*7}", "<img src=x onerror=alert(1)>", "{{7*7}}")


@pytest.fixture
def opened(chromium: Browser, tmp_path):
    """Opens an exported page from disk, offline; anything it asks for, throws or pops up fails the test."""
    wrong: list[str] = []
    contexts = []

    def open_(markup: bytes) -> Page:
        path = tmp_path / "run.html"
        path.write_bytes(markup)
        context = chromium.new_context(offline=True, viewport={"width": 1440, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda r: wrong.append(f"asked for {r.url[:80]}") if r.url != path.as_uri() else None)
        page.on("pageerror", lambda error: wrong.append(f"threw {error}"))
        page.on("dialog", lambda dialog: (wrong.append(f"opened a dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(path.as_uri())
        page.locator("body[data-ready=yes]").wait_for()
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not wrong, wrong


def hostile(made: Trace) -> Trace:
    """The same run with markup for words, in the prompt, the tokens and their lists."""
    names = iter(HOSTILE * 1000)

    def token(each):
        return replace(each, text=next(names), bytes=None, draft_top=((1, next(names), 0.5), *each.draft_top[1:]))

    steps = tuple(replace(step, drafted=tuple(token(t) for t in step.drafted)) for step in made.steps)
    prompt = replace(made.header.prompt, text=" ".join(HOSTILE))
    return replace(made, header=replace(made.header, prompt=prompt), steps=steps)


def test_the_saved_page_shows_the_same_verdicts(page, opened):
    shown = saved(page)
    markup = download(page, "Save HTML").read_bytes()
    assert len(markup) < MOST_BYTES
    alone = opened(markup)
    outcomes = value_of(alone, f"{STORE}.entries.filter(e => e.drafted).map(e => e.outcome)")
    assert outcomes == [t.outcome for step in shown.steps for t in step.drafted]
    expect(alone.locator("#ez-text .tok")).to_have_count(page.locator("#ez-text .tok").count())
    expect(alone.locator(".ez-cards")).to_have_text(page.locator(".ez-cards").first.inner_text(), use_inner_text=True)
    key = value_of(alone, f"{STORE}.entries.find(e => e.outcome === 'gated').key")
    alone.locator(f'[data-key="{key}"]').focus()
    alone.keyboard.press("Enter")
    expect(alone.locator("#ez-details")).to_contain_text("instead, resampled from the target")
    plot(alone, "Gate plane")
    assert download(alone, "Save the trace (JSONL)").read_bytes() == dumps(shown)


def test_tokens_stay_text(opened):
    alone = opened(to_html(hostile(make_trace(seed=3, steps=12))).encode())
    text = alone.locator("#ez-text").inner_text()
    for word in HOSTILE:
        assert word in text, f"{word} is not on the page as text"
    assert alone.locator("#ez-text img, #ez-text script").count() == 0
    assert "49" not in alone.title()
    alone.locator("#ez-text .ez-tokens .tok").first.click()
    expect(alone.locator("#ez-details .ez-lists code").first).to_have_text(HOSTILE[1].replace(" ", "␣"), timeout=5000)


def test_a_long_run_stays_small_enough_to_mail():
    made = make_trace(seed=2, steps=400, gamma=4, config=Config())
    assert len(to_html(made).encode()) < MOST_BYTES


@pytest.mark.parametrize("kind", ["PNG", "SVG"])
def test_a_chart_is_saved_as_an_image(page, kind):
    plot(page, "Gate plane")
    data = download(page, f"Save Gate plane as {kind}").read_bytes()
    assert data.startswith(b"\x89PNG") if kind == "PNG" else b"<svg" in data[:200]
    assert len(data) > 2000
