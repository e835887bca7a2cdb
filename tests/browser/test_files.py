"""Saving and opening: JSONL there and back, CSV, files that are no traces, tokens that are markup."""

import io
from dataclasses import replace

import pandas as pd
from driving import STORE, download, open_trace, path_text, saved, settled, status
from playwright.sync_api import expect
from synthetic import make_trace

from easd_viz import trace


def test_a_saved_run_opens_again_as_the_same(page, open_page):
    made = make_trace(seed=5, steps=20)
    open_trace(page, made)
    expect(status(page)).to_have_text("Opened")
    settled(page)
    again = saved(page)
    assert again == made
    other = open_page()
    open_trace(other, again)
    expect(status(other)).to_have_text("Opened")
    settled(other)
    assert path_text(other) == path_text(page)
    expect(other.get_by_label("Prompt", exact=True)).to_have_value(made.header.prompt.text)


def test_csv_has_a_row_per_drafted_token(page):
    shown = saved(page)
    table = pd.read_csv(io.BytesIO(download(page, "Save CSV").read_bytes()), keep_default_na=False)
    assert len(table) == sum(len(step.drafted) for step in shown.steps)
    assert list(table["text"]) == [t.text for step in shown.steps for t in step.drafted]
    assert {"outcome", "draft_entropy", "target_entropy", "overlap"} <= set(table.columns)


def test_a_file_that_is_no_trace_is_refused_in_words(page):
    before = path_text(page)
    open_trace(page, b'{"kind": "header"}\n')
    expect(page.locator("#ez-status [role=alert]")).to_contain_text("line 1")
    assert path_text(page) == before


def test_a_verdict_that_contradicts_the_rule_is_refused(page):
    made = make_trace(seed=5, steps=4)
    step = next(s for s in made.steps if any(t.outcome == "rejected" for t in s.drafted))
    lucky = tuple(replace(t, uniform=1e-9) if t.outcome == "rejected" else t for t in step.drafted)
    steps = tuple(replace(s, drafted=lucky) if s is step else s for s in made.steps)
    open_trace(page, replace(made, steps=steps))
    expect(page.locator("#ez-status [role=alert]")).to_contain_text("decision rule")


def test_a_file_cut_off_in_the_middle_opens_up_to_its_last_whole_line(page):
    made = make_trace(seed=5, steps=10)
    lines = trace.dumps(made).splitlines(keepends=True)
    open_trace(page, b"".join(lines[:6]) + lines[6][:50])
    expect(status(page)).to_contain_text("incomplete")
    assert page.evaluate(f"{STORE}.trace.rounds.length") == 5


def test_tokens_are_text_whatever_they_spell(page):
    """Markup, script ends, template literals, templates; and characters that are split over two tokens."""
    made = make_trace(seed=1, steps=120)
    texts = {t.text for step in made.steps for t in step.drafted} | {s.emitted.text for s in made.steps if s.emitted}
    assert {"<img src=x onerror=alert(1)>", "</script>", "${1+1}", "{{value}}"} <= texts, "the trace lacks a hard token"
    page.on("dialog", lambda dialog: (_ for _ in ()).throw(AssertionError(f"a token ran: {dialog.message}")))
    open_trace(page, made)
    expect(status(page)).to_have_text("Opened")
    settled(page)
    assert path_text(page) == made.footer.text.replace("\ufffd", "")
    for key in page.evaluate(f"{STORE}.entries.filter(e => /[<$&{{]/.test(e.text)).map(e => e.key)"):
        page.evaluate(f"k => {STORE}.select(k)", key)
        page.wait_for_function(f"{STORE}.pending.size === 0")
    assert page.locator("#ez-text img, #ez-details img, .ez-plot img").count() == 0
    expect(page.locator(".ez-prompt")).to_have_text("Prompt: " + made.header.prompt.text)
