"""The Run tab: what a visitor sees first and a researcher keeps open. Layout and wiring only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from easd_viz import UserError, store, trace
from easd_viz.trace import Trace
from easd_viz.ui import controls as c
from easd_viz.ui.components import (
    KNOB_ORDER,
    Cards,
    Details,
    Saver,
    Status,
    TokenView,
    TraceChart,
    download,
    js_knobs,
    status,
)
from easd_viz.ui.session import Kind, Session, Wanted, carry_out, end_words, stop
from easd_viz.views.data import view_model

STORE = "run"
EXAMPLE = Path(__file__).resolve().parents[2] / "assets" / "examples" / "lighthouse.jsonl"

QUIET = {"api_visibility": "private", "show_progress": "hidden"}
LIGHT = {**QUIET, "queue": False}
"""For handlers that use no model: they don't wait in line."""
MODELS = {"api_visibility": "private", "show_progress": "minimal", "concurrency_id": "models", "concurrency_limit": 1}
"""For handlers that use the models: one at a time on this machine, the others see their place in line."""


class RunTab:
    """Builds the tab's components, then wires them."""

    def __init__(self) -> None:
        self.example = store.load(EXAMPLE)
        self.session = gr.State(None)
        with gr.Row(elem_classes="ez-run", equal_height=False):
            with gr.Column(elem_classes="ez-controls", min_width=0):
                self._build_controls()
            with gr.Column(elem_classes="ez-main", min_width=0):
                self._build_main()
            with gr.Column(elem_classes="ez-side", min_width=0):
                TraceChart(chart="plane", store=STORE)
                TraceChart(chart="rounds", store=STORE)
                TraceChart(chart="by_index", store=STORE)
        self._wire()

    # ---- layout ------------------------------------------------------------------------------------------------

    def _build_controls(self) -> None:
        config = self.example.header.config
        prompt, template, mode = c.build_prompt(self.example)
        self._build_buttons()
        gate = c.build_gate(config)
        self.greedy_note = gr.HTML("", elem_classes="ez-greedy-note", apply_default_css=False)
        sampling = c.build_sampling(config)
        with gr.Accordion("More sampling", open=False, elem_classes="ez-fold"):
            sampling |= c.build_more_sampling(config)
        with gr.Accordion("Models and precision", open=False, elem_classes="ez-fold"):
            models = c.build_models("demo")
        self._build_files()
        self.controls = c.Controls(prompt=prompt, chat_template=template, mode=mode, **gate, **sampling, **models)

    def _build_buttons(self) -> None:
        self.run = gr.Button("Run", variant="primary", elem_id="ez-run-button", elem_classes="ez-run-button")
        with gr.Row(elem_classes="ez-buttons"):
            self.step = gr.Button("Step", elem_id="ez-step", min_width=0)
            self.pause = gr.Button("Pause", interactive=False, elem_id="ez-pause", min_width=0)
            self.stop = gr.Button("Stop", interactive=False, elem_id="ez-stop", min_width=0)
        _, numbers = end_words(self.example)
        self.status = Status(status("idle", "A recorded example", numbers), elem_id="ez-status")

    def _build_files(self) -> None:
        with gr.Row(elem_classes="ez-files"):
            self.open = gr.UploadButton(
                "Open a trace", file_types=[".jsonl"], type="binary", size="sm", elem_id="ez-open", min_width=0
            )
            self.save_jsonl = gr.Button("Save JSONL", size="sm", elem_id="ez-save-jsonl", min_width=0)
            self.save_csv = gr.Button("Save CSV", size="sm", elem_id="ez-save-csv", min_width=0)
        self.saver = Saver(elem_classes="ez-hidden")

    def _build_main(self) -> None:
        Cards(store=STORE)
        self.text = TokenView(
            view_model(self.example).value, store=STORE, rerun=True, elem_id="ez-text", elem_classes="ez-text-slot"
        )
        Details(store=STORE, elem_id="ez-details")
        TraceChart(chart="along", store=STORE)

    # ---- wiring ------------------------------------------------------------------------------------------------

    def _wire(self) -> None:
        knobs = [getattr(self.controls, name) for name in KNOB_ORDER]
        for knob in knobs:
            event = knob.input if isinstance(knob, gr.Slider) else knob.change
            event(None, knobs, None, js=js_knobs(STORE), **QUIET)
        noted = [self.controls.mode, self.controls.temperature, self.controls.resample]
        for each in noted:
            each.change(None, noted, self.greedy_note, js="(...knobs) => easd.greedyNote(...knobs)", **QUIET)
        self._wire_runs()
        self._wire_files()

    def _wire_runs(self) -> None:
        inputs = [self.session, *self.controls.components()]
        outputs = [self.session, self.text, self.status, *self._buttons()]
        starts: list[tuple[Any, Kind]] = [(self.run.click, "run"), (self.step.click, "step"), (self.text.rerun, "rerun")]
        for event, kind in starts:
            event(self._begin, self.session, [self.session, self.status, *self._buttons()], **LIGHT).then(
                self._runner(kind), inputs, outputs, **MODELS
            )
        paused_or_on = self.pause.click(self._pause, self.session, [self.session, self.status, *self._buttons()], **LIGHT)
        paused_or_on.then(self._runner("continue"), inputs, outputs, **MODELS)
        self.stop.click(self._stop, self.session, outputs, **LIGHT)

    def _wire_files(self) -> None:
        self.save_jsonl.click(self._jsonl, self.session, self.saver, **LIGHT)
        self.save_csv.click(self._csv, self.session, self.saver, **LIGHT)
        outputs = [self.session, self.text, self.status, *self._buttons(), *self.controls.components()]
        self.open.upload(self._open, [self.session, self.open], outputs, **LIGHT)

    # ---- handlers ----------------------------------------------------------------------------------------------

    def _session(self, session: Session | None) -> Session:
        return session if session is not None else Session(trace=self.example, view=view_model(self.example))

    def _buttons(self) -> list[gr.Button]:
        return [self.step, self.pause, self.stop]

    def _button_states(self, session: Session) -> list[Any]:
        """Run is always there: pressed during a run it starts anew."""
        on = session.phase in ("waiting", "loading", "running")
        paused = session.phase == "paused"
        return [
            gr.update(interactive=not on),
            gr.update(interactive=session.phase == "running" or paused, value="Continue" if paused else "Pause"),
            gr.update(interactive=on or paused),
        ]

    def _begin(self, session: Session | None) -> list[Any]:
        session = self._session(session)
        session.ask("waiting")
        return [session, status("busy", "Waiting for the models"), *self._button_states(session)]

    def _runner(self, kind: Kind) -> Any:
        def run(session: Session, *values: Any) -> Iterator[list[Any]]:
            number = session.request
            if kind == "continue" and session.phase != "waiting":  # this press of the button meant "pause"
                yield [gr.skip()] * (3 + len(self._buttons()))
                return
            try:
                for update in carry_out(session, self._wanted(values), kind, number):
                    view = gr.skip() if update.view is None else update.view
                    state = status(update.kind, update.text, update.numbers, update.progress)
                    yield [session, view, state, *self._button_states(session)]
            except UserError as error:
                session.phase = "idle"
                yield [session, gr.skip(), status("error", str(error)), *self._button_states(session)]

        return run

    def _wanted(self, values: tuple[Any, ...]) -> Wanted:
        return c.wanted(*values)

    def _pause(self, session: Session | None) -> list[Any]:
        session = self._session(session)
        if session.phase == "paused":
            return self._begin(session)
        session.ask("paused")
        text, numbers = end_words(session.trace)
        return [session, status("idle", text, numbers), *self._button_states(session)]

    def _stop(self, session: Session | None) -> list[Any]:
        session = self._session(session)
        view = stop(session)
        text, numbers = end_words(session.trace)
        return [session, gr.skip() if view is None else view, status("idle", text, numbers), *self._button_states(session)]

    def _open(self, session: Session | None, data: bytes) -> list[Any]:
        session = self._session(session)
        blank = [gr.skip()] * len(self.controls.components())
        try:
            opened = store.parse(data)
        except UserError as error:
            return [
                session,
                gr.skip(),
                status("error", f"This file can’t be opened. {error}"),
                *self._button_states(session),
                *blank,
            ]
        session.ask("idle")
        session.model = None
        view = session.show(opened)
        note = "Opened" if opened.footer is not None else "Opened, incomplete: the file ends in the middle of the run"
        state = status("idle", note, end_words(opened)[1])
        return [session, view, state, *self._button_states(session), *c.settings_of(opened)]

    def _jsonl(self, session: Session | None) -> dict[str, Any]:
        shown = self._shown(session)
        return download(f"easd-{shown.fingerprint}.jsonl", "application/jsonl", trace.dumps(shown).decode())

    def _csv(self, session: Session | None) -> dict[str, Any]:
        shown = self._shown(session)
        return download(f"easd-{shown.fingerprint}.csv", "text/csv", trace.drafted_frame(shown).to_csv(index=False))

    def _shown(self, session: Session | None) -> Trace:
        shown = self._session(session).trace
        assert shown is not None
        return shown
