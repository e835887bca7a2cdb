"""The real app, in this process so that all browser tests share one loaded demo pair, and a Chromium page on it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]
PATIENCE_MS = 150_000
"""How long a condition is waited for: a busy machine may be slow, and no test measures time."""

expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def url(demo_pair) -> Iterator[str]:
    """The app as ``app.py`` launches it. ``demo_pair`` is asked for so that the runs find it loaded."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    from easd_viz.ui.app import LAUNCH, build

    demo = build()
    # _frontend=False: no check that the page answers within three seconds, which a busy machine may take
    _, address, _ = demo.launch(prevent_thread_lock=True, quiet=True, _frontend=False, **LAUNCH)
    yield address
    demo.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=ARGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser, url: str) -> Iterator:
    """Opens the app in a fresh profile; what the page throws fails the test."""
    contexts, thrown = [], []

    def open_(width: int = 1440, height: int = 900, path: str = "", **options) -> Page:
        context = chromium.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: thrown.append(str(error)))
        page.on("console", lambda m: thrown.append(m.text) if m.type == "error" and "easd" in m.text else None)
        page.goto(url + path)
        page.locator("#ez-text .tok").first.wait_for()
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not thrown, f"the page threw: {thrown}"


@pytest.fixture
def page(open_page) -> Page:
    return open_page()
