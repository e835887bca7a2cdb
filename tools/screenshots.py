"""Makes the README's pictures (docs/images) from the real app: the tabs on their bundled recordings, and a short film of a run.

python tools/screenshots.py [NAME …]   (all of them where none is named)
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from ensure_chromium import find  # noqa: E402

from easd_viz.models import load_pair  # noqa: E402
from easd_viz.ui.app import LAUNCH, build  # noqa: E402

IMAGES = ROOT / "docs" / "images"
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
STORE = "easd.store('run')"

SELECT_GATED = f"{STORE}.select({STORE}.entries.find(e => e.recorded === 'gated').key)"
WHAT_IF = f"{STORE}.setGate({{draft_threshold: 1, target_threshold: 1, overlap_threshold: 0.3}})"
GATE_CHAPTER = "document.querySelectorAll('[aria-label=Chapters] button')[5].click()"

FILM = "run-film"
FILM_TOKENS = 40
FRAME_MS = 200


@dataclass(frozen=True, slots=True)
class Picture:
    """One file, and how the page gets to look that way."""

    name: str
    tab: str = "Run"
    ready: str = "#ez-text .tok"
    """What has to be on the tab before it is worth a picture."""
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
    Picture("tune", "Tune", "#ez-tune-tokens tbody td"),
    Picture("compare", "Compare", "#ez-comparison .tok[data-fork]"),
    Picture("learn", "Learn", ".ez-lesson > *", height=900, steps=[GATE_CHAPTER]),
)


def opened(browser: Browser, url: str, width: int, height: int, *, dark: bool = False) -> Page:
    """The app in a fresh profile."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(url)
    page.locator("#ez-text .tok").first.wait_for()
    return page


def take(browser: Browser, url: str, picture: Picture) -> None:
    """Open the app anew, bring it there, and save what the window shows."""
    page = opened(browser, url, picture.width, picture.height, dark=picture.dark)
    page.get_by_role("tab", name=picture.tab, exact=True).click()
    page.locator(picture.ready).first.wait_for()
    for step in picture.steps:
        page.evaluate(step)
    wait_until_drawn(page)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=IMAGES / f"{picture.name}.png", animations="disabled")
    page.context.close()


def film(browser: Browser, url: str) -> None:
    """A run of the demo pair as it streams, looped, as a WebP; its pace is the app's own."""
    page = opened(browser, url, 1180, 820)
    box = page.get_by_label("number input for New tokens", exact=True)
    box.fill(str(FILM_TOKENS))
    box.press("Enter")
    before = page.evaluate(f"{STORE}.generation")
    page.locator("#ez-run-button").click()
    page.wait_for_function(f"n => {STORE}.generation > n", arg=before)
    frames = []
    while not page.evaluate(f"{STORE}.trace.foot !== null"):
        frames.append(Image.open(BytesIO(page.screenshot(animations="disabled"))).convert("RGB"))
        page.wait_for_timeout(FRAME_MS)
    wait_until_drawn(page)
    frames.append(Image.open(BytesIO(page.screenshot(animations="disabled"))).convert("RGB"))
    spans = [FRAME_MS] * (len(frames) - 1) + [3000]
    frames[0].save(IMAGES / f"{FILM}.webp", save_all=True, append_images=frames[1:], duration=spans, loop=0, quality=60, method=4)
    page.context.close()


def wait_until_drawn(page: Page) -> None:
    """Every plot in view is drawn and every view has followed the store."""
    page.wait_for_function(f"{STORE}.pending.size === 0")
    page.wait_for_function("[...document.querySelectorAll('.ez-plot')].every(e => !e.easdPlot.busy)")


def main(wanted: Sequence[str]) -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    launch: Mapping[str, object] = {**LAUNCH, "prevent_thread_lock": True, "quiet": True}
    demo = build()
    _, url, _ = demo.launch(**launch)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=ARGS)
        for picture in PICTURES:
            if not wanted or picture.name in wanted:
                take(browser, url, picture)
                print(IMAGES / f"{picture.name}.png")
        if not wanted or FILM in wanted:
            load_pair("demo")  # so that the film shows the run, not the loading
            film(browser, url)
            print(IMAGES / f"{FILM}.webp")
        browser.close()
    demo.close()


if __name__ == "__main__":
    main(sys.argv[1:])
