"""The Run tab: what a visitor sees first and a researcher keeps open. Layout and wiring only.

Handlers are plain functions, not methods: Gradio deep-copies what its configuration refers to, a method's object included.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import gradio as gr

from easd_viz import UserError, examples, store, trace
from easd_viz.examples import EXAMPLES
from easd_viz.trace import Trace
from easd_viz.ui import controls
from easd_viz.ui.components import (
    KNOB_ORDER,
    Cards,
    Details,
    Hint,
    Saver,
    Sharer,
    Status,
    TokenView,
    TraceChart,
    download,
    js_knobs,
    status,
)
from easd_viz.ui.controls import Controls
from easd_viz.ui.session import Kind, Session, Update, carry_out, end_words, pause, stop
from easd_viz.views.data import ViewModel, view_model

STORE = "run"
JS_GREEDY_NOTE = "async (...knobs) => { await easd.ready; return easd.greedyNote(...knobs); }"

QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
LIGHT: dict[str, Any] = {**QUIET, "queue": False}
"""For handlers that use no model: they don't wait in line."""
MODELS: dict[str, Any] = {
    "api_visibility": "private",
    "show_progress": "minimal",
    "concurrency_id": "models",
    "concurrency_limit": 1,
}
"""For handlers that use the models: one at a time on this machine, the others see their place in line."""


@cache
def example() -> ViewModel:
    """What first paint shows: a recorded run of the demo pair."""
    return recorded(EXAMPLES[0].name)


@cache
def recorded(name: str) -> ViewModel:
    return view_model(examples.load(name))


def looked_at() -> list[dict[str, str]]:
    """For the hint: what is said about a run of an example's prompt."""
    return [{"prompt": each.prompt, "title": each.title, "look": each.look} for each in EXAMPLES]


# ---- layout --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Parts:
    """The tab's components that something is wired to."""

    session: gr.State
    controls: Controls
    chips: dict[str, gr.Button]
    """By the name of the recorded example that each one shows."""
    greedy_note: gr.HTML
    run: gr.Button
    step: gr.Button
    pause: gr.Button
    stop: gr.Button
    status: Status
    open: gr.UploadButton
    save_jsonl: gr.Button
    save_csv: gr.Button
    save_html: gr.Button
    share: gr.Button
    sharer: Sharer
    saver: Saver
    text: TokenView

    @property
    def buttons(self) -> list[gr.Button]:
        """Those whose state follows the run's."""
        return [self.step, self.pause, self.stop]


def build() -> Parts:
    """The whole tab."""
    session = gr.State(None)
    with gr.Row(elem_classes="ez-run", equal_height=False):
        with gr.Column(elem_classes="ez-controls", min_width=0):
            left = _build_left()
        with gr.Column(elem_classes="ez-main", min_width=0):
            Hint(store=STORE, examples=looked_at(), elem_id="ez-hint")
            Cards(store=STORE)
            text = TokenView(example().value, store=STORE, can_rerun=True, elem_id="ez-text", elem_classes="ez-text-slot")
            Details(store=STORE, elem_id="ez-details")
            TraceChart(name="along", store=STORE)
            TraceChart(name="ranks", store=STORE)
        with gr.Column(elem_classes="ez-side", min_width=0):
            for chart in ("plane", "rounds", "by_index"):
                TraceChart(name=chart, store=STORE)
    parts = Parts(session=session, text=text, **left)
    _wire_knobs(parts)
    _wire_runs(parts)
    _wire_files(parts)
    return parts


def _build_left() -> dict[str, Any]:
    shown = example().trace
    config = shown.header.config
    prompt, template, mode, chips = controls.build_prompt(shown)
    buttons = _build_buttons()
    gate = controls.build_gate(config)
    note = gr.HTML("", elem_classes="ez-greedy-note", apply_default_css=False)
    sampling = controls.build_sampling(config)
    with gr.Accordion("More sampling", open=False, elem_classes="ez-fold"):
        sampling |= controls.build_more_sampling(config)
    with gr.Accordion("Models and precision", open=False, elem_classes="ez-fold"):
        models = controls.build_models("demo")
    files = _build_files()
    knobs = Controls(prompt=prompt, chat_template=template, mode=mode, **gate, **sampling, **models)
    return {"controls": knobs, "chips": chips, "greedy_note": note, **buttons, **files}


def _build_buttons() -> dict[str, Any]:
    run = gr.Button("Run", variant="primary", elem_id="ez-run-button", elem_classes="ez-run-button")
    with gr.Row(elem_classes="ez-buttons"):
        step = gr.Button("Step", elem_id="ez-step", min_width=0)
        pause = gr.Button("Pause", interactive=False, elem_id="ez-pause", min_width=0)
        stop_ = gr.Button("Stop", interactive=False, elem_id="ez-stop", min_width=0)
    _, numbers = end_words(example().trace)
    line = Status(status("idle", "A recorded example", numbers), elem_id="ez-status")
    return {"run": run, "step": step, "pause": pause, "stop": stop_, "status": line}


def _build_files() -> dict[str, Any]:
    with gr.Row(elem_classes="ez-files"):
        open_ = gr.UploadButton("Open a trace", file_types=[".jsonl"], type="binary", size="sm", elem_id="ez-open", min_width=0)
        share = gr.Button("Copy a link", size="sm", elem_id="ez-share", min_width=0)
    with gr.Row(elem_classes="ez-files is-next"):
        kinds = ("JSONL", "CSV", "HTML")
        save = {
            f"save_{kind.lower()}": gr.Button(f"Save {kind}", size="sm", elem_id=f"ez-save-{kind.lower()}", min_width=0)
            for kind in kinds
        }
    sharer = Sharer(elem_id="ez-sharer", store=STORE)
    return {"open": open_, "share": share, "sharer": sharer, **save, "saver": Saver(elem_classes="ez-hidden")}


# ---- wiring --------------------------------------------------------------------------------------------------


def _wire_knobs(parts: Parts) -> None:
    knobs = [getattr(parts.controls, name) for name in KNOB_ORDER]
    for knob in knobs:
        event = knob.input if isinstance(knob, gr.Slider) else knob.change
        event(None, knobs, None, js=js_knobs(STORE), **QUIET)
    noted = [parts.controls.mode, parts.controls.temperature, parts.controls.resample]
    for each in noted:
        each.change(None, noted, parts.greedy_note, js=JS_GREEDY_NOTE, **QUIET)


def _wire_runs(parts: Parts) -> None:
    inputs = [parts.session, *parts.controls.components()]
    shown = [parts.session, parts.text, parts.status, *parts.buttons]
    starts: list[tuple[Any, Callable[..., Any], Kind]] = [
        (parts.run.click, begin, "run"),
        (parts.step.click, begin, "step"),
        (parts.text.rerun, begin, "rerun"),
        (parts.pause.click, pause_or_continue, "continue"),
    ]
    for event, first, kind in starts:
        event(first, parts.session, shown, **LIGHT).then(runner(kind), inputs, shown, show_progress_on=parts.status, **MODELS)
    parts.stop.click(end, parts.session, shown, **LIGHT)


def _wire_files(parts: Parts) -> None:
    parts.save_jsonl.click(save_jsonl, parts.session, parts.saver, **LIGHT)
    parts.save_csv.click(save_csv, parts.session, parts.saver, **LIGHT)
    outputs = [parts.session, parts.text, parts.status, *parts.buttons, *parts.controls.components()]
    parts.open.upload(open_trace, [parts.session, parts.open], outputs, **LIGHT)
    for name, chip in parts.chips.items():
        chip.click(partial(show_example, name), parts.session, outputs, **LIGHT)


# ---- handlers ------------------------------------------------------------------------------------------------


def of_visitor(session: Session | None) -> Session:
    """The visitor's session; a new one starts with the example."""
    return session if session is not None else Session(trace=example().trace, view=example())


def button_states(session: Session) -> list[Any]:
    """For ``Parts.buttons``. Run is always there: pressed during a run it starts anew."""
    on = session.phase in ("waiting", "loading", "running")
    paused = session.phase == "paused"
    return [
        gr.update(interactive=not on),
        gr.update(interactive=session.phase == "running" or paused, value="Continue" if paused else "Pause"),
        gr.update(interactive=on or paused),
    ]


def state_of(session: Session, view: dict[str, Any] | None = None) -> list[Any]:
    """Session, text, status line and buttons as they stand; the text as it was where there is no new one."""
    says = session.says or Update("idle", "A recorded example", end_words(session.trace)[1])
    line = status(says.kind, says.text, says.numbers, says.progress)
    return [session, gr.skip() if view is None else view, line, *button_states(session)]


def begin(session: Session | None) -> list[Any]:
    session = of_visitor(session)
    session.ask("waiting", Update("busy", "Waiting for the models"))
    return state_of(session)


def pause_or_continue(session: Session | None) -> list[Any]:
    """The button's two meanings: pause a run, or go on with a paused one."""
    session = of_visitor(session)
    if session.phase == "paused":
        return begin(session)
    pause(session)
    return state_of(session)


def end(session: Session | None) -> list[Any]:
    session = of_visitor(session)
    stop(session)
    return state_of(session, shown_value(session))


def runner(kind: Kind) -> Callable[..., Iterator[list[Any]]]:
    """The handler that carries out a request of this kind."""

    def run(session: Session, *values: Any) -> Iterator[list[Any]]:
        if session.phase == "waiting":  # not paused or stopped before its turn came
            yield from requested(session, kind, values)
        # Gradio sends a generator's last outputs again when it ends: they have to say how things stand now, not how they stood
        # before the visitor paused or stopped the run.
        yield state_of(session, shown_value(session))

    return run


def requested(session: Session, kind: Kind, values: tuple[Any, ...]) -> Iterator[list[Any]]:
    number = session.request
    try:
        for update in carry_out(session, controls.wanted(*values), kind, number):
            if session.request == number:
                session.says = update
            yield state_of(session, update.view)
    except Exception as error:  # whatever it is, the page must say so and go on
        if session.request == number:
            session.ask("idle", Update("error", said(error)))


def shown_value(session: Session) -> dict[str, Any] | None:
    """The text view's value with all rounds, those included that were waiting to be sent together with later ones."""
    if session.trace is not None and (session.view is None or session.view.trace is not session.trace):
        return session.show(session.trace)
    return None if session.view is None else session.view.value


def said(error: Exception) -> str:
    """A user's mistake in its own words; anything else is a bug, and its traceback belongs in the log."""
    if isinstance(error, UserError):
        return str(error)
    logging.getLogger(__name__).error("a run failed", exc_info=error)
    return f"The run failed: {type(error).__name__}: {error}"


def show_example(name: str, session: Session | None) -> list[Any]:
    session = of_visitor(session)
    shown = recorded(name)
    session.ask("idle", Update("idle", "A recorded example", end_words(shown.trace)[1]))
    session.asked = None
    session.trace, session.view = shown.trace, shown
    return [*state_of(session, shown.value), *controls.settings_of(shown.trace)]


def open_trace(session: Session | None, data: bytes) -> list[Any]:
    session = of_visitor(session)
    try:
        opened = store.parse(data)
    except UserError as error:
        session.says = Update("error", f"This file can’t be opened. {error}")
        return [*state_of(session), *controls.unchanged()]
    note = "Opened" if opened.footer is not None else "Opened, incomplete: the file ends in the middle of the run"
    session.ask("idle", Update("idle", note, end_words(opened)[1]))
    session.asked = None
    return [*state_of(session, session.show(opened)), *controls.settings_of(opened)]


def save_jsonl(session: Session | None) -> dict[str, Any]:
    shown = shown_by(session)
    return download(f"easd-{shown.fingerprint}.jsonl", "application/jsonl", trace.dumps(shown).decode())


def save_csv(session: Session | None) -> dict[str, Any]:
    shown = shown_by(session)
    return download(f"easd-{shown.fingerprint}.csv", "text/csv", trace.drafted_frame(shown).to_csv(index=False))


def shown_by(session: Session | None) -> Trace:
    shown = of_visitor(session).trace
    assert shown is not None
    return shown
