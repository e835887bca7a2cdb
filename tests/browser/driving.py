"""What a visitor does, as functions; every wait is for a condition."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from easd_viz import store, trace
from easd_viz.trace import Trace

STORE = "easd.store('run')"

PATIENCE = 60_000
"""ms."""

LONG = "Write a very long story about a journey around the world."
"""The demo pair's answer does not end before several hundred tokens."""


def set_number(page: Page, name: str, value: float) -> None:
    """A slider by its number box, as the keyboard does it."""
    box = page.get_by_label(f"number input for {name}", exact=True)
    box.fill(str(value))
    box.press("Enter")


def slide(page: Page, name: str, value: float) -> None:
    """A slider by its handle: an input event, as a drag sends them."""
    page.get_by_label(f"range slider for {name}", exact=True).evaluate(
        "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }", str(value)
    )


def choose(page: Page, name: str) -> None:
    """A mode or a resampling rule."""
    page.get_by_role("radio", name=name, exact=True).check()


def status(page: Page) -> Locator:
    return page.locator("#ez-status .ez-phase")


def run(page: Page, prompt: str | None = None, tokens: int = 12) -> None:
    start(page, prompt, tokens)
    expect(status(page)).to_contain_text("Done")
    settled(page)


def start(page: Page, prompt: str | None = None, tokens: int = 12) -> None:
    if prompt is not None:
        page.get_by_label("Prompt", exact=True).fill(prompt)
    set_number(page, "New tokens", tokens)
    before = page.evaluate(f"{STORE}.generation")
    page.locator("#ez-run-button").click()
    page.wait_for_function(f"n => {STORE}.generation > n", arg=before)


def rounds(page: Page) -> int:
    return page.evaluate(f"{STORE}.trace.rounds.length")


def wait_for_rounds(page: Page, at_least: int) -> None:
    page.wait_for_function(f"n => {STORE}.trace.rounds.length >= n", arg=at_least)


def settled(page: Page) -> None:
    """The views have drawn what the store holds."""
    page.wait_for_function(f"{STORE}.pending.size === 0")
    page.wait_for_function(f"document.querySelectorAll('#ez-text [data-key]').length === {STORE}.entries.length")


def path_text(page: Page) -> str:
    """The text on the page: every token that is on the path, marks left out."""
    return page.evaluate("[...document.querySelectorAll('#ez-text .ez-tokens .tok:not(.off)')].map(e => e.textContent).join('')")


def first_key(page: Page, recorded: str) -> str:
    """The key of the first drafted token with this recorded outcome."""
    return page.evaluate(f"r => {STORE}.entries.find(e => e.recorded === r).key", recorded)


def token(page: Page, key: str) -> Locator:
    return page.locator(f'#ez-text [data-key="{key}"]')


def download(page: Page, button: str) -> Path:
    with page.expect_download() as caught:
        page.get_by_role("button", name=button, exact=True).click()
    return caught.value.path()


def saved(page: Page) -> Trace:
    """The run that is shown, by way of the JSONL button."""
    return store.load(download(page, "Save JSONL"))


def open_trace(page: Page, made: Trace | bytes, name: str = "trace.jsonl") -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a trace").click()
    data = made if isinstance(made, bytes) else trace.dumps(made)
    chooser.value.set_files({"name": name, "mimeType": "application/jsonl", "buffer": data})


def open_trace_by_key(page: Page, made: Trace) -> None:
    """The same where the button has the focus. Pressed again where nothing came: a browser forgets in five seconds that a key was
    pressed, and a busy one may take longer to ask for the file."""
    for wait in (10_000, 10_000, 10_000, PATIENCE):
        try:
            with page.expect_file_chooser(timeout=wait) as chooser:
                page.keyboard.press("Enter")
            break
        except PlaywrightTimeout:
            if wait == PATIENCE:
                raise
    chooser.value.set_files({"name": "trace.jsonl", "mimeType": "application/jsonl", "buffer": trace.dumps(made)})


def plot(page: Page, label: str) -> Locator:
    """A drawn plotly figure, scrolled to."""
    found = page.locator(f'.ez-plot[aria-label^="{label}"]')
    found.scroll_into_view_if_needed()
    found.locator(".main-svg").first.wait_for()
    return found


def recorded_requests(page: Page) -> list[str]:
    """The event requests that the page sends from now on."""
    sent: list[str] = []
    page.on("request", lambda r: sent.append(r.url) if "queue/join" in r.url or "/run/" in r.url else None)
    return sent


def value_of(page: Page, expression: str):
    return json.loads(page.evaluate(f"JSON.stringify({expression})"))
