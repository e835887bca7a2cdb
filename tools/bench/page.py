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

MOVE = """async (value) => {
  const slider = document.querySelector('input[type=range][aria-label="range slider for τ draft, nats"]');
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const store = easd.store('run');
  await painted();
  const started = performance.now();
  slider.value = value;
  slider.dispatchEvent(new Event('input', { bubbles: true }));
  do { await painted(); } while (store.gate.draft_threshold !== value || store.pending.size);
  return performance.now() - started;
}"""
"""Move the slider and wait until every view has drawn; a promise for the milliseconds."""


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


def slider_move(page: Page) -> Line:
    trace = thousand_tokens()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a trace").click()
    chooser.value.set_files({"name": "thousand.jsonl", "mimeType": "application/jsonl", "buffer": dumps(trace)})
    page.wait_for_function(f"easd.store('run').trace.rounds.length === {len(trace.steps)}")
    page.wait_for_function("easd.store('run').pending.size === 0")
    spans = [page.evaluate(MOVE, 0.5 + 0.25 * i) for i in range(2 * RUNS)]
    detail = f"worst {max(spans):.0f} ms; {len(trace.token_ids)} tokens, {len(trace.steps)} rounds; text, cards and all charts"
    return Line("slider move to everything redrawn", f"{median(spans):.0f} ms", "≤ 100 ms", detail)


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
            yield slider_move(page)
            browser.close()
    finally:
        process.terminate()
        process.wait()
