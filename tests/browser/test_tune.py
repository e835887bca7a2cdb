"""The Tune tab: knobs judge all loaded traces in the browser; sweep, calibration and tables follow; branches run the pair."""

from __future__ import annotations

import csv
import re

import pytest
from driving import recorded_requests, run, value_of
from playwright.sync_api import Page, expect
from synthetic import make_trace

from easd_viz import calibrate, replay, trace
from easd_viz.trace import Config, Trace
from easd_viz.verify import Gate

STORE = "easd.store('tune')"
POOL = "easd.pool('tune')"


@pytest.fixture
def tune(page: Page) -> Page:
    enter(page)
    return page


def enter(page: Page) -> None:
    page.get_by_role("tab", name="Tune").click()
    page.locator("#ez-tune-text .tok").first.wait_for()
    page.wait_for_function(f"{POOL}.gate !== null && {POOL}.sums.n > 0")
    page.locator("#ez-tune-tokens tbody td").first.wait_for()


def set_knob(page: Page, name: str, value: float) -> None:
    """As a drag of the slider would."""
    page.locator(f"#ez-tune-{name} input[type=range]").evaluate(
        "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }", str(value)
    )


def choose(page: Page, name: str, value: str) -> None:
    """One of a row of radio buttons."""
    page.locator(f'#ez-tune-{name} input[value="{value}"]').check(force=True)


def knob(page: Page, name: str, tab: str = "tune-") -> float:
    return float(page.locator(f"#ez-{tab}{name} input[type=number]").input_value())


def open_traces(page: Page, traces: list[Trace | bytes]) -> None:
    files = [
        {"name": f"{i}.jsonl", "mimeType": "application/jsonl", "buffer": t if isinstance(t, bytes) else trace.dumps(t)}
        for i, t in enumerate(traces)
    ]
    with page.expect_file_chooser() as chooser:
        page.locator("#ez-tune-open").click()
    chooser.value.set_files(files)


def names(page: Page) -> list[str]:
    return page.locator("#ez-tune-traces .ez-trace b").all_inner_texts()


def made(count: int = 3) -> list[Trace]:
    return [
        make_trace(seed, 25, 4, Config(seed=seed, draft_threshold=2.5, target_threshold=2.5, overlap_threshold=0.2))
        for seed in range(count)
    ]


def only(page: Page, traces: list[Trace]) -> None:
    """The lab with these traces and no other."""
    open_traces(page, list(traces))
    page.wait_for_function(f"n => {POOL}.traces.length === n", arg=len(traces) + 1)
    page.get_by_role("button", name="Unload Run").click()
    page.wait_for_function(f"n => {POOL}.traces.length === n", arg=len(traces))


def test_a_threshold_line_is_dragged_and_text_list_and_counts_follow_without_a_request(tune):
    handle = tune.get_by_role("slider", name="τ draft, nats").last
    handle.scroll_into_view_if_needed()
    before = tune.locator("#ez-tune-counts").inner_text()
    knobs = [url for url in recorded_requests(tune) if "draw" not in url]
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + 20
    tune.mouse.move(x, y)
    tune.mouse.down()
    tune.mouse.move(x - 40, y, steps=4)
    tune.mouse.move(0, y, steps=4)
    tune.mouse.up()
    tune.wait_for_function(f"{STORE}.gate.draft_threshold === 0")
    assert knob(tune, "draft-threshold") == 0, "the line and the slider say different things"
    expect(tune.locator("#ez-tune-counts")).not_to_have_text(before)
    expect(tune.locator("#ez-tune-changes button").first).to_contain_text("accepted → gated")
    expect(tune.locator("#ez-tune-text .tok.cf").first).to_be_attached()
    expect(tune.locator("#ez-tune-text .ez-note")).to_contain_text("counterfactual")
    assert knobs == [], "judging asked the server"


def test_the_lines_move_by_keyboard(tune):
    handle = tune.locator("#ez-tune-plane").get_by_role("slider", name="τ target, nats")
    handle.focus()
    was = knob(tune, "target-threshold")
    tune.keyboard.press("ArrowUp")
    tune.wait_for_function(f"v => Math.abs({STORE}.gate.target_threshold - v) < 1e-9", arg=round(was + 0.05, 2))
    tune.keyboard.press("Home")
    tune.wait_for_function(f"{STORE}.gate.target_threshold === 0")
    expect(handle).to_have_attribute("aria-valuenow", "0")


def test_the_pool_judges_as_python_does(tune):
    traces = made()
    only(tune, traces)
    for name, value in (("draft-threshold", 1.5), ("target-threshold", 2.0), ("overlap", 0.3), ("k", 7)):
        set_knob(tune, name, value)
    tune.wait_for_function(f"{POOL}.gate.k === 7 && {POOL}.gate.overlap_threshold === 0.3")
    data = replay.arrays(traces)
    gate = Gate(**value_of(tune, f"{POOL}.gate"))
    expected = data.gated(gate)
    sums = value_of(tune, f"{POOL}.sums")
    assert (sums["n"], sums["bySd"], sums["gated"]) == (len(data), int(data.accepted_by_sd.sum()), int(expected.sum()))
    gated = value_of(tune, f"{POOL}.traces.flatMap(t => [...t.now].map((v, i) => [t.position[i], v === 'g']))")
    assert [hit for _, hit in gated] == expected.tolist()
    assert [position for position, _ in gated] == data.position.tolist()
    changes = value_of(tune, f"{POOL}.changes(1e9)")
    judged = [
        c
        for t in traces
        for c in replay.rejudge(
            t, replay.gate_with(t.header.config, draft_threshold=1.5, target_threshold=2.0, overlap_threshold=0.3, k=7)
        ).changes
    ]
    assert [(c["position"], c["was"], c["now"]) for c in changes] == [(c.position, c.was, c.now) for c in judged]
    words = {"draft entropy": "H draft", "target entropy": "H target", "overlap": "overlap"}
    assert [c["flippedBy"] for c in changes] == [[words[w] for w in c.flipped_by] for c in judged]
    assert [c["context"] for c in changes] == [c.context for c in judged]


def test_a_closed_gate_gates_nothing(tune):
    choose(tune, "gate", "sd")
    tune.wait_for_function(f"{POOL}.gate.draft_threshold === Infinity")
    expect(tune.locator("#ez-tune-counts")).to_contain_text("0 of")
    expect(tune.locator("#ez-tune-plane .ez-threshold").first).to_have_attribute("aria-valuetext", "gate closed")


def test_traces_are_opened_counted_shown_and_unloaded(tune):
    first, second = made(2)
    open_traces(tune, [first, second, b"nonsense\n"])
    expect(tune.locator("#ez-tune-status")).to_contain_text("File 3 can’t be opened. line 1")
    assert len(names(tune)) == 3
    tune.wait_for_function(f"{POOL}.traces.length === 3")
    tune.get_by_role("checkbox", name="Count Run").click()
    tune.wait_for_function(f"{POOL}.traces.length === 2")
    tune.locator("#ez-tune-traces .ez-trace").nth(1).click()
    tune.wait_for_function(f"{STORE}.trace.head.config.seed === 0")
    tune.get_by_role("button", name="Unload Run").click()
    expect(tune.locator("#ez-tune-traces .ez-trace")).to_have_count(2)


def test_a_change_in_another_trace_brings_its_text(tune):
    only(tune, made(2))
    set_knob(tune, "draft-threshold", 0)
    set_knob(tune, "target-threshold", 0)
    row = tune.locator("#ez-tune-changes button").first
    expect(row).to_contain_text("by")
    tune.wait_for_function(f"{STORE}.trace.head.config.seed === 1")
    row.click()
    tune.wait_for_function(f"{STORE}.trace.head.config.seed === 0")
    tune.wait_for_function(f"{STORE}.selected !== null")
    expect(tune.locator("#ez-tune-law li").first).to_be_visible()
    expect(tune.locator("#ez-tune-law")).to_contain_text("TV from the target")


def test_a_cell_of_the_sweep_and_a_point_over_k_set_the_knobs(tune):
    panel = tune.locator("#ez-tune-sweep .ez-plot")
    panel.scroll_into_view_if_needed()
    panel.locator(".nsewdrag").first.wait_for()
    expect(panel).to_contain_text("estimate on the recorded path")
    expect(panel).to_contain_text("· n = ")
    box = panel.locator(".nsewdrag").first.bounding_box()
    tune.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5)
    was = value_of(tune, f"{STORE}.trace.head.config.draft_threshold")
    tune.wait_for_function(f"was => {STORE}.gate.draft_threshold !== was", arg=was)
    cells = value_of(
        tune,
        "document.querySelector('#ez-tune-sweep .ez-plot').data[0].customdata.flat()"
        ".map(c => c.slice(0, 2).map(v => v.toFixed(2)))",
    )
    assert [f"{knob(tune, 'draft-threshold'):.2f}", f"{knob(tune, 'target-threshold'):.2f}"] in cells
    over_k = tune.locator("#ez-tune-over-k .ez-plot")
    over_k.scroll_into_view_if_needed()
    point = over_k.locator(".points path").nth(2)
    point.wait_for()
    at = point.bounding_box()
    tune.mouse.click(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    tune.wait_for_function(f"{STORE}.gate.k === 3")


def test_the_axes_turn_to_percentiles(tune):
    choose(tune, "unit", "percentiles")
    panel = tune.locator("#ez-tune-sweep .ez-plot")
    panel.scroll_into_view_if_needed()
    expect(panel).to_contain_text("percentile of the loaded tokens")


@pytest.mark.pair
def test_calibrated_thresholds_go_to_the_run_tab_and_are_run_with(tune):
    traces = made()
    only(tune, traces)
    set_knob(tune, "overlap", 0.2)
    tune.wait_for_function(f"{POOL}.gate.overlap_threshold === 0.2")
    tune.locator("#ez-tune-aim input").fill("70")
    tune.locator("#ez-tune-aim input").press("Tab")
    tune.locator("#ez-tune-calibrate").click()
    found = tune.locator("#ez-tune-found")
    expected = calibrate.by_percentile(replay.arrays(traces), 70, k=int(knob(tune, "k")), overlap_threshold=0.2)
    expect(found).to_contain_text(f"{expected.draft_threshold:.3f} nats")
    expect(found).to_contain_text(f"n = {expected.tokens} drafted tokens on the path of 3 traces")
    expect(found).to_contain_text("(95 % over traces)")
    tune.locator("#ez-tune-use-found").click()
    expect(tune.locator("#ez-run-button")).to_be_visible()
    tune.wait_for_function("t => Math.abs(easd.store('run').gate.draft_threshold - t) < 1e-3", arg=expected.draft_threshold)
    assert knob(tune, "draft-threshold", tab="") == pytest.approx(expected.draft_threshold, abs=1e-3)
    assert knob(tune, "overlap", tab="") == 0.2
    run(tune, "Name three birds.", tokens=6)
    config = value_of(tune, "easd.store('run').trace.head.config")
    assert config["draft_threshold"] == pytest.approx(expected.draft_threshold, abs=1e-3)
    assert config["target_threshold"] == pytest.approx(expected.target_threshold, abs=1e-3)
    assert config["overlap_threshold"] == 0.2


def test_what_cannot_be_calibrated_says_why(tune):
    choose(tune, "way", "gate rate")
    expect(tune.locator("#ez-tune-aim")).to_contain_text("Gate rate to aim at")
    tune.locator("#ez-tune-aim input").fill("99")
    tune.locator("#ez-tune-aim input").press("Tab")
    tune.locator("#ez-tune-calibrate").click()
    expect(tune.locator("#ez-tune-found [role=alert]")).to_contain_text("no thresholds reach a gate rate of 0.99")
    open_traces(tune, made(1))
    tune.wait_for_function(f"{POOL}.traces.length === 2")
    tune.locator("#ez-tune-calibrate").click()
    expect(tune.locator("#ez-tune-found [role=alert]")).to_contain_text("2 different pairs")


def test_the_token_table_sorts_filters_and_saves_itself(tune):
    only(tune, made())
    set_knob(tune, "draft-threshold", 1)
    set_knob(tune, "target-threshold", 1)
    set_knob(tune, "overlap", 0.1)
    table = tune.locator("#ez-tune-tokens")
    gated = table.locator("tbody tr td:nth-child(3)")
    data = replay.arrays(made())
    gate = Gate(1.0, 1.0, 0.1, int(knob(tune, "k")), "target", False)
    expected = calibrate.token_table(data, gate)
    expect(gated.first).to_have_text(str(expected[0].gated))
    expect(table.locator("tbody tr")).to_have_count(min(200, len(expected)))
    table.get_by_role("button", name="H draft").click()
    expect(table.locator("th", has_text="H draft")).to_have_attribute("aria-sort", "descending")
    values = [float(v) for v in table.locator("tbody tr td:nth-child(7)").all_inner_texts()]
    assert values == sorted(values, reverse=True)
    table.get_by_label("Class").select_option("white space")
    kinds = set(table.locator("tbody tr td:nth-child(2)").all_inner_texts())
    assert kinds == {"white space"}
    table.get_by_label("Class").select_option("")
    with tune.expect_download() as caught:
        table.get_by_role("button", name="Save CSV").click()
    rows = list(csv.DictReader(caught.value.path().open(encoding="utf-8")))
    assert sum(int(r["gated"]) for r in rows) == int(data.gated(gate).sum())


def test_hostile_token_texts_stay_text(tune):
    only(tune, made())
    set_knob(tune, "draft-threshold", 0)
    set_knob(tune, "target-threshold", 0)
    set_knob(tune, "overlap", 0)
    for view in ("#ez-tune-tokens", "#ez-tune-changes"):
        expect(tune.locator(view)).to_contain_text("{{value}}")
        expect(tune.locator(view)).to_contain_text("<img␣src=x␣onerror=alert(1)>")
    assert tune.evaluate("document.querySelectorAll('#ez-tune-tokens img, #ez-tune-changes img').length") == 0


def test_a_branch_from_the_first_change_stands_beside_its_parent(page):
    run(page, "Name three animals.", tokens=24)
    enter(page)
    set_knob(page, "draft-threshold", 0.3)
    set_knob(page, "target-threshold", 0.3)
    set_knob(page, "overlap", 0.1)
    page.wait_for_function(f"{STORE}.replay?.boundary != null")
    boundary = value_of(page, f"{STORE}.replay.boundary")
    parent = value_of(page, f"{STORE}.trace.rounds.map(r => r.drafted.map(t => t.token_id))")
    page.locator("#ez-tune-rerun").click()
    expect(page.locator("#ez-tune-status")).to_contain_text("Branched")
    page.wait_for_function(f"{STORE}.trace.head.parent !== null")
    expect(page.locator("#ez-tune-traces li").nth(1)).to_contain_text(f"from round {boundary['step']}")
    branch = value_of(page, f"{STORE}.trace.rounds.map(r => r.drafted.map(t => t.token_id))")
    assert branch[: boundary["step"] + 1] == parent[: boundary["step"] + 1], (
        "the branch drafts what its parent did up to the fork"
    )
    now = value_of(page, f"{STORE}.trace.rounds[{boundary['step']}].drafted[{boundary['index']}].outcome")
    assert now == "gated"
    assert value_of(page, f"{STORE}.replay.boundary") is None, "a branch under its own knobs is as recorded"
    compare = page.locator("#ez-tune-compare")
    expect(compare).to_contain_text(re.compile(rf"leaves Run at round {boundary['step']}: .*draft_threshold = 0.3"))
    expect(compare.locator(".ez-compare")).to_contain_text("gate rate")
    for which, trace_of in (("parent", "Parent"), ("branch", "Branch")):
        expect(compare.locator(f"#ez-tune-{which} h2").first).to_have_text(trace_of)
    assert value_of(page, "easd.store('tune-parent').trace.head.parent") is None
    assert value_of(page, "easd.store('tune-branch').trace.head.parent.step") == boundary["step"]
    assert value_of(page, "easd.store('run').trace.head.parent") is None, "the comparison leaked into the Run tab"
    expect(compare.locator("#ez-tune-branch .ez-round").nth(boundary["step"])).to_be_visible()
    if boundary["step"]:
        expect(compare.locator("#ez-tune-branch .ez-round").first).to_be_hidden()


def test_a_verdict_is_forced_the_other_way(page):
    run(page, "Name three animals.", tokens=16)
    enter(page)
    key = value_of(page, f"{STORE}.entries.find(e => e.recorded === 'rejected').key")
    page.evaluate(f"{STORE}.select('{key}')")  # as a chart or the list of changes does
    page.wait_for_function(f"{STORE}.selected !== null")
    position = value_of(page, f"{STORE}.find({STORE}.selected).token.position")
    page.locator("#ez-tune-force").click()
    expect(page.locator("#ez-tune-status")).to_contain_text("Branched")
    page.wait_for_function(f"{STORE}.trace.head.parent !== null")
    assert value_of(page, f"{STORE}.trace.head.parent.forced") == {str(position): "accepted"}
    outcome = value_of(
        page, f"{STORE}.entries.find(e => e.drafted && e.token.position === {position} && e.recorded !== 'discarded')?.recorded"
    )
    assert outcome == "accepted"
    expect(page.locator("#ez-tune-compare")).to_contain_text(f"the verdict at position {position} forced to accepted")


def test_a_branch_needs_a_change_or_a_token(tune):
    expect(tune.locator("#ez-tune-compare")).to_be_hidden()
    tune.locator("#ez-tune-rerun").click()
    expect(tune.locator("#ez-tune-status")).to_contain_text("change no verdict")
    tune.locator("#ez-tune-force").click()
    expect(tune.locator("#ez-tune-status")).to_contain_text("select a token")


def test_on_a_phone_nothing_is_cut_off(open_page):
    page = open_page(width=400)
    enter(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
