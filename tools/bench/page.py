"""The page's speed in Chromium: first answer, first paint, and a slider move on a trace of 1,000 tokens, event to DOM."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from ensure_chromium import find
from playwright.sync_api import Browser, Page, sync_playwright

from bench.engine import RUNS, Line
from easd_viz.trace import Config, Trace, dumps
from tests.synthetic import make_trace

ROOT = Path(__file__).resolve().parents[2]
PORT = 7861
URL = f"http://127.0.0.1:{PORT}/"
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run", "--disable-quic"]
TOKENS = 1000

MOVE = """async ([selector, store, value]) => {
  const slider = document.querySelector(selector);
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const views = easd.store(store);
  await painted();
  const started = performance.now();
  slider.value = value;
  slider.dispatchEvent(new Event('input', { bubbles: true }));
  do { await painted(); } while (views.gate.draft_threshold !== value || views.pending.size);
  return performance.now() - started;
}"""
"""Move the slider and wait until every view of the store has drawn; a promise for the milliseconds."""


def start_app() -> tuple[subprocess.Popen[bytes], float]:
    """(the process, seconds to its first answer)."""
    env = {**os.environ, "GRADIO_SERVER_PORT": str(PORT), "GRADIO_ANALYTICS_ENABLED": "False"}
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=env, stdout=subprocess.DEVNULL)
    while True:
        try:
            urllib.request.urlopen(URL, timeout=10).read()
            return process, time.perf_counter() - started
        except (urllib.error.URLError, ConnectionError):
            if process.poll() is not None:
                raise RuntimeError(f"app.py ended with {process.returncode}; is port {PORT} taken?") from None
            time.sleep(0.02)


def first_answer() -> Line:
    spans = []
    for _ in range(RUNS):
        process, span = start_app()
        process.terminate()
        process.wait()
        spans.append(span)
    return Line("python app.py to its first answer", f"{median(spans):.2f} s", "≤ 5 s", f"worst {max(spans):.2f} s")


FIRST_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
"""The browser's own figure. Nothing is painted before the example, as the stand-in is hidden until it is filled."""


def first_paint(browser: Browser) -> Iterator[Line]:
    """Navigation to the example on screen, and to the page that can be used; a fresh profile each time."""
    painted, usable = [], []
    for _ in range(RUNS):
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        page.goto(URL, wait_until="commit")
        page.locator("#ez-first .ez-tokens .tok").first.wait_for()
        painted.append(page.wait_for_function(FIRST_PAINT).json_value() / 1e3)
        page.locator("#ez-text .tok").first.wait_for()
        usable.append(page.evaluate("performance.now()") / 1e3)
        page.context.close()
    yield Line("first paint: navigation to the example", f"{median(painted):.2f} s", "≤ 1 s", f"worst {max(painted):.2f} s")
    yield Line("navigation to the page with its controls", f"{median(usable):.2f} s", "", f"worst {max(usable):.2f} s")


def thousand_tokens() -> Trace:
    """A made-up run of at least 1,000 emitted tokens."""
    return make_trace(7, 700, 4, Config(seed=7, draft_threshold=2.0, target_threshold=1.0, overlap_threshold=0.2))


def open_thousand(page: Page) -> Trace:
    trace = thousand_tokens()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a trace").click()
    chooser.value.set_files({"name": "thousand.jsonl", "mimeType": "application/jsonl", "buffer": dumps(trace)})
    page.wait_for_function(f"easd.store('run').trace.rounds.length === {len(trace.steps)}")
    page.wait_for_function("easd.store('run').pending.size === 0")
    return trace


def slider_moves(page: Page) -> Iterator[Line]:
    """On the Run tab and on the Tune tab, over the same trace."""
    trace = open_thousand(page)
    size = f"{len(trace.token_ids)} tokens, {len(trace.steps)} rounds"
    yield _slider_line(page, "run", "", "slider move to everything redrawn", f"{size}; text, cards and all charts")
    page.get_by_role("tab", name="Tune").click()
    page.wait_for_function("easd.pool('tune').gate !== null && easd.store('tune').trace !== null")
    page.wait_for_function(f"easd.store('tune').trace.rounds.length === {len(trace.steps)}")
    page.locator("#ez-tune-tokens tbody td").first.wait_for()
    yield _slider_line(page, "tune", "tune-", "the same on the Tune tab", f"{size}; text, counts, list, gate plane")


def _slider_line(page: Page, store: str, prefix: str, what: str, size: str) -> Line:
    page.wait_for_timeout(2000)  # the first draws are done
    values = [0.5 + 0.25 * i for i in range(2 * RUNS)]
    spans = [page.evaluate(MOVE, [f"#ez-{prefix}draft-threshold input[type=range]", store, value]) for value in values]
    return Line(what, f"{median(spans):.0f} ms", "≤ 100 ms", f"worst {max(spans):.0f} ms; {size}")


def measure() -> Iterator[Line]:
    """Each line as soon as it is measured."""
    yield first_answer()
    process, _ = start_app()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find(), args=ARGS)
            yield from first_paint(browser)
            page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
            page.goto(URL)
            page.locator("#ez-text .tok").first.wait_for()
            yield from slider_moves(page)
            browser.close()
    finally:
        process.terminate()
        process.wait()
