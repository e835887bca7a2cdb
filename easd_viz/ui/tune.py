"""The Tune tab: tune the gate on recorded runs, and branch off where the record ends. Layout and wiring only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from easd_viz.ui import controls, run
from easd_viz.ui import tune_handlers as on
from easd_viz.ui.components import KNOB_ORDER, Details, PlotPanel, Saver, Status, TokenView, js_knobs, status
from easd_viz.ui.lab_parts import LabChanges, LabCounts, LabLaw, LabPlane, LabPool, LabTraces, TableView
from easd_viz.ui.run import LIGHT, MODELS, QUIET
from easd_viz.views import lab as views

STORE = "tune"
FOLLOW: dict[str, Any] = {**LIGHT, "trigger_mode": "always_last"}
"""For what follows a slider: the last value counts, those between may be left out."""


@dataclass(slots=True)
class Parts:
    """The tab's components that something is wired to."""

    lab: gr.State
    found: gr.State
    picked: gr.Textbox
    """The token that is selected in the browser, as ``PICKED`` says it."""
    traces: LabTraces
    open: gr.UploadButton
    examples: gr.Button
    save: gr.Button
    saver: Saver
    status: Status
    knobs: list[Any]
    """In ``KNOB_ORDER``."""
    use: gr.Button
    text: TokenView
    changes: LabChanges
    pool: LabPool
    rerun: gr.Button
    rerun_here: gr.Button
    force: gr.Button
    halt: gr.Button
    compared: list[Any]
    unit: gr.Radio
    sweep: PlotPanel
    multiples: PlotPanel
    over_k: PlotPanel
    way: gr.Radio
    aim: gr.Number
    calibrate: gr.Button
    found_words: gr.HTML
    use_here: gr.Button
    use_in_run: gr.Button
    tokens: TableView
    shift: TableView

    @property
    def shown(self) -> list[Any]:
        """For ``tune_handlers.show``."""
        return [self.lab, self.traces, self.text, self.pool, self.status, *self.compared]

    @property
    def figures(self) -> list[Any]:
        """For ``tune_handlers.draw``."""
        return [self.sweep, self.multiples, self.over_k, self.tokens, self.shift]

    @property
    def branching(self) -> list[gr.Button]:
        return [self.rerun, self.rerun_here, self.force, self.halt]


# ---- layout --------------------------------------------------------------------------------------------------


def build(tab: gr.Tab, run_parts: run.Parts) -> Parts:
    """The whole tab; ``run_parts`` are the Run tab's, whose run comes in and whose knobs can be set."""
    states: dict[str, Any] = {name: gr.State(None) for name in ("lab", "found")}
    states["picked"] = gr.Textbox(visible=False)
    with gr.Row(elem_classes="ez-run ez-tune", equal_height=False):
        with gr.Column(elem_classes="ez-controls", min_width=0):
            left = _build_left()
        with gr.Column(elem_classes="ez-main", min_width=0):
            main = _build_main()
        with gr.Column(elem_classes="ez-side", min_width=0):
            LabPlane(store=STORE, elem_id="ez-tune-plane")
            LabLaw(store=STORE, elem_id="ez-tune-law")
    with gr.Column(elem_classes="ez-lab", min_width=0):
        branches = _build_branches()
        sweep = _build_sweep()
        calibration = _build_calibration()
        with gr.Row(elem_classes="ez-lab-tables", equal_height=False):
            tokens = TableView(views.NO_ROWS, heading="Which tokens?", elem_id="ez-tune-tokens")
            shift = TableView(views.NO_ROWS, heading="How far from lossless?", elem_id="ez-tune-shift")
    parts = Parts(**states, **left, **main, **branches, **sweep, **calibration, tokens=tokens, shift=shift)
    _wire(parts, tab, run_parts)
    return parts


def _build_left() -> dict[str, Any]:
    gr.HTML("<h2>Traces</h2>", apply_default_css=False)
    traces = LabTraces([], store=STORE, elem_id="ez-tune-traces")
    with gr.Row(elem_classes="ez-files"):
        open_ = gr.UploadButton(
            "Open traces",
            file_types=[".jsonl"],
            type="binary",
            file_count="multiple",
            size="sm",
            elem_id="ez-tune-open",
            min_width=0,
        )
        examples = gr.Button("Add examples", size="sm", elem_id="ez-tune-examples", min_width=0)
        save = gr.Button("Save", size="sm", elem_id="ez-tune-save", min_width=0)
    saver = Saver(elem_classes="ez-hidden")
    line = Status(status("idle", "Ready"), elem_id="ez-tune-status")
    gate = gr.Radio(
        [("open", "easd"), ("closed: plain SD", "sd")],
        value="easd",
        label="Gate",
        elem_id="ez-tune-gate",
        elem_classes="ez-segments is-long",
    )
    knobs = controls.build_gate(run.example().trace.header.config, prefix="tune-")
    use = gr.Button("Use these in Run", elem_id="ez-tune-use", elem_classes="ez-wide-button", min_width=0)
    in_order = [gate, *(knobs[name] for name in KNOB_ORDER[1:])]
    files = {"open": open_, "examples": examples, "save": save, "saver": saver}
    return {"traces": traces, **files, "status": line, "knobs": in_order, "use": use}


def _build_main() -> dict[str, Any]:
    LabCounts(store=STORE, elem_id="ez-tune-counts")
    text = TokenView(store=STORE, can_rerun=True, elem_id="ez-tune-text", elem_classes="ez-text-slot")
    changes = LabChanges(store=STORE, elem_id="ez-tune-changes")
    Details(store=STORE, elem_id="ez-tune-details")
    return {"text": text, "changes": changes, "pool": LabPool([], store=STORE, elem_classes="ez-hidden")}


def _button(words: str, name: str, **more: Any) -> gr.Button:
    return gr.Button(words, elem_id=f"ez-tune-{name}", size="sm", min_width=0, **more)


def _section(words: str) -> None:
    gr.HTML(f"<h2>{words}</h2>", apply_default_css=False, elem_classes="ez-section")


def _build_branches() -> dict[str, Any]:
    _section("Branches")
    with gr.Row(elem_classes="ez-lab-buttons"):
        rerun = _button("Re-run from the first change", "rerun")
        here = _button("Re-run from the selected token", "rerun-here")
        force = _button("Force the selected verdict the other way", "force")
        halt = _button("Stop", "stop", interactive=False)
    with gr.Column(elem_id="ez-tune-compare", min_width=0):  # the style sheet hides it while there is no table
        words = gr.HTML("", apply_default_css=False)
        with gr.Row(elem_classes="ez-lab-pair", equal_height=False):
            parent = TokenView(store="tune-parent", heading="Parent", controls=False, elem_id="ez-tune-parent")
            branch = TokenView(store="tune-branch", heading="Branch", controls=False, elem_id="ez-tune-branch")
        table = gr.HTML("", apply_default_css=False)
    return {"rerun": rerun, "rerun_here": here, "force": force, "halt": halt, "compared": [words, parent, branch, table]}


def _build_sweep() -> dict[str, Any]:
    with gr.Row(elem_classes="ez-section-row"):
        _section("Sweep")
        unit = gr.Radio(
            ["nats", "percentiles"], value="nats", label="Axes", elem_id="ez-tune-unit", elem_classes="ez-segments ez-mini"
        )
    with gr.Row(elem_classes="ez-lab-sweep", equal_height=False):
        sweep = PlotPanel(
            views.blank(views.SWEEP_HEIGHT),
            heading="Gate rate over both thresholds; a click takes them over",
            elem_id="ez-tune-sweep",
        )
        over_k = PlotPanel(
            views.blank(views.SWEEP_HEIGHT), heading="Gate rate over k; a click takes it over", elem_id="ez-tune-over-k"
        )
    multiples = PlotPanel(
        views.blank(views.MULTIPLES_HEIGHT), heading="Gate rate for six overlap thresholds", elem_id="ez-tune-multiples"
    )
    return {"unit": unit, "sweep": sweep, "over_k": over_k, "multiples": multiples}


def _build_calibration() -> dict[str, Any]:
    _section("Calibrate")
    with gr.Row(elem_classes="ez-lab-calibrate", equal_height=False):
        with gr.Column(elem_classes="ez-controls", min_width=0):
            way = gr.Radio(
                ["percentile", "gate rate"],
                value="percentile",
                label="Pick by",
                elem_id="ez-tune-way",
                elem_classes="ez-segments is-long",
            )
            aim = gr.Number(80, label="Percentile of both entropies", elem_id="ez-tune-aim", elem_classes="ez-aim")
            pick = gr.Button("Calibrate", elem_id="ez-tune-calibrate", elem_classes="ez-wide-button", min_width=0)
        with gr.Column(elem_classes="ez-lab-found", min_width=0):
            words = gr.HTML(
                '<p class="ez-quiet">Thresholds picked here rest on every trace that is ticked.</p>',
                apply_default_css=False,
                elem_id="ez-tune-found",
            )
            with gr.Row(elem_classes="ez-lab-buttons"):
                here = _button("Try these here", "try", interactive=False)
                there = _button("Use these in Run", "use-found", interactive=False)
    return {"way": way, "aim": aim, "calibrate": pick, "found_words": words, "use_here": here, "use_in_run": there}


# ---- wiring --------------------------------------------------------------------------------------------------

TO_RUN = """(...knobs) => {
  easd.knobs("run", knobs);
  document.querySelector('.ez-tabs button[role="tab"]')?.click();
  return [];
}"""
"""The Run tab's run judged by its new knobs, and that tab in front."""


PICKED = f'(lab, picked) => [lab, easd.selection("{STORE}")]'
"""A token can be selected in the text, the list or a chart; the browser knows which one."""


def _judge(parts: Parts) -> dict[str, Any]:
    """In the browser: the loaded traces judged by the knobs as they stand."""
    return {"fn": None, "inputs": parts.knobs, "outputs": None, "js": js_knobs(STORE), **QUIET}


def _wire(parts: Parts, tab: gr.Tab, run_parts: run.Parts) -> None:
    for knob in parts.knobs:
        event = knob.input if isinstance(knob, gr.Slider) else knob.change
        event(**_judge(parts))
    moved = [*(knob.change for knob in parts.knobs), parts.unit.change]
    gr.on(moved, on.draw, [parts.lab, parts.unit, *parts.knobs], parts.figures, **FOLLOW)
    _wire_traces(parts, tab, run_parts)
    _wire_picks(parts)
    _wire_calibration(parts, run_parts)
    _wire_branches(parts)


def _then_draw(parts: Parts, events: Sequence[Any]) -> None:
    """Once other traces are there: judge them by the knobs as they stand, and draw."""
    for event in events:
        event.then(**_judge(parts)).then(on.draw, [parts.lab, parts.unit, *parts.knobs], parts.figures, **FOLLOW)


def _wire_traces(parts: Parts, tab: gr.Tab, run_parts: run.Parts) -> None:
    events = [
        tab.select(on.enter, [parts.lab, run_parts.session], parts.shown, **LIGHT),
        parts.examples.click(on.add_examples, parts.lab, parts.shown, **LIGHT),
        parts.open.upload(on.open_traces, [parts.lab, parts.open], parts.shown, **LIGHT),
        parts.traces.select(on.act, parts.lab, parts.shown, **LIGHT),
        parts.changes.select(on.act, parts.lab, parts.shown, **LIGHT),
    ]
    _then_draw(parts, events)
    parts.save.click(on.save, parts.lab, parts.saver, **LIGHT)


def _wire_picks(parts: Parts) -> None:
    _, draft, target, overlap, k, _ = parts.knobs
    for panel in (parts.sweep, parts.multiples):
        panel.select(on.pick_cell, None, [draft, target, overlap], **LIGHT).then(**_judge(parts))
    parts.over_k.select(on.pick_k, None, k, **LIGHT).then(**_judge(parts))


def _wire_calibration(parts: Parts, run_parts: run.Parts) -> None:
    parts.way.change(on.aim_of, parts.way, parts.aim, **LIGHT)
    outputs = [parts.found, parts.found_words, parts.use_here, parts.use_in_run]
    parts.calibrate.click(on.calibrated, [parts.lab, parts.way, parts.aim, *parts.knobs], outputs, **LIGHT)
    parts.use_here.click(lambda found: found, parts.found, parts.knobs[1:3], **LIGHT).then(**_judge(parts))
    theirs = [getattr(run_parts.controls, name) for name in KNOB_ORDER]
    go: dict[str, Any] = {"fn": None, "inputs": theirs, "outputs": None, "js": TO_RUN, **QUIET}
    parts.use.click(None, parts.knobs, theirs, js="(...knobs) => knobs", **QUIET).then(**go)
    parts.use_in_run.click(on.found_knobs, [parts.found, *parts.knobs], theirs, **LIGHT).then(**go)


def _wire_branches(parts: Parts) -> None:
    starts = [
        (parts.rerun.click, "first"),
        (parts.text.rerun, "first"),
        (parts.rerun_here.click, "selected"),
        (parts.force.click, "forced"),
    ]
    inputs, outputs = [parts.lab, *parts.knobs], [*parts.shown, *parts.branching]
    for event, what in starts:
        begun = event(on.begin, [parts.lab, parts.picked], [parts.lab, parts.status, *parts.branching], js=PICKED, **LIGHT)
        _then_draw(parts, [begun.then(on.grower(what), inputs, outputs, show_progress_on=parts.status, **MODELS)])
    parts.halt.click(on.halt, parts.lab, parts.lab, **LIGHT)
