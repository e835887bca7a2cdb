"""Makes the README's pictures (docs/images) from the real app, on its bundled example.

python tools/screenshots.py
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from ensure_chromium import find  # noqa: E402

from easd_viz.ui.app import LAUNCH, build  # noqa: E402

IMAGES = ROOT / "docs" / "images"
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
STORE = "easd.store('run')"

SELECT_GATED = f"{STORE}.select({STORE}.entries.find(e => e.recorded === 'gated').key)"
WHAT_IF = f"{STORE}.setGate({{draft_threshold: 1, target_threshold: 1, overlap_threshold: 0.3}})"


@dataclass(frozen=True, slots=True)
class Picture:
    """One file, and how the page gets to look that way."""

    name: str
    dark: bool = False
    width: int = 1440
    height: int = 1080
    steps: Sequence[str] = ()
    """JavaScript, run in order."""


PICTURES = (
    Picture("run-light", steps=[SELECT_GATED]),
    Picture("run-dark", dark=True, steps=[SELECT_GATED]),
    Picture("run-what-if", height=900, steps=[WHAT_IF]),
    Picture("run-entropy", height=900, steps=[f"{STORE}.setColour('draft_entropy')"]),
    Picture("run-phone", width=400, height=900, steps=[SELECT_GATED]),
)


def take(browser: Browser, url: str, picture: Picture) -> None:
    """Open the app anew, bring it there, and save what the window shows."""
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height},
        color_scheme="dark" if picture.dark else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(url)
    page.locator(".ez-tokens .tok").first.wait_for()
    for step in picture.steps:
        page.evaluate(step)
    wait_until_drawn(page)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=IMAGES / f"{picture.name}.png", animations="disabled")
    context.close()


def wait_until_drawn(page: Page) -> None:
    """Every plot in view is drawn and every view has followed the store."""
    page.wait_for_function(f"{STORE}.pending.size === 0")
    page.wait_for_function("[...document.querySelectorAll('.ez-plot')].every(e => !e.easdPlot.busy)")


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    launch: Mapping[str, object] = {**LAUNCH, "prevent_thread_lock": True, "quiet": True}
    demo = build()
    _, url, _ = demo.launch(**launch)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=ARGS)
        for picture in PICTURES:
            take(browser, url, picture)
            print(IMAGES / f"{picture.name}.png")
        browser.close()
    demo.close()


if __name__ == "__main__":
    main()
