"""The Compare tab: two to four lanes over one prompt, one seed and one pair; and whether their differences are luck."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr

from easd_viz import UserError, store
from easd_viz.trace import Config
from easd_viz.ui import controls
from easd_viz.ui.comparing import Comparing, Lanes, News, compare, try_seeds
from easd_viz.ui.components import Comparison, Luck, Status, status
from easd_viz.ui.run import LIGHT, MODELS
from easd_viz.views.comparison import LETTERS, comparison
from easd_viz.views.data import ViewModel, view_model

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "comparison"

NONE = "none"
MODES = (("SD", "sd"), ("EASD", "easd"), ("Target alone", "target"), ("Draft alone", "draft"))
FEWEST, MOST_SEEDS = 3, 50

SEEDS_LOOK: dict[str, Any] = {"elem_id": "ez-compare-seeds", "elem_classes": "ez-slider", "buttons": []}

LUCK_HEAD = (
    '<div class="ez-head"><h2>Is it luck?</h2><span class="ez-aside">the same lanes under several seeds: the mean difference '
    "of each metric to lane A, with a 95 % bootstrap interval. One such interval in twenty misses.</span></div>"
)


@cache
def example() -> tuple[ViewModel, ...]:
    """What first paint shows: a recorded comparison of the demo pair."""
    return tuple(view_model(trace) for trace in store.load_all([FOLDER]))


# ---- layout --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class LaneKnobs:
    """One lane's components, by the config field that each sets."""

    mode: gr.Dropdown
    gamma: gr.Slider
    draft_threshold: gr.Slider
    target_threshold: gr.Slider
    overlap_threshold: gr.Slider
    k: gr.Slider
    resample: gr.Radio

    def components(self) -> list[Any]:
        return [getattr(self, f.name) for f in fields(self)]


LANE_FIELDS = tuple(f.name for f in fields(LaneKnobs))
SHARED_FIELDS = ("temperature", "max_new_tokens", "top_k", "top_p", "seed")
OTHER_FIELDS = ("prompt", "chat_template", "pair", "draft_id", "target_id", "dtype", "device")


@dataclass(slots=True)
class Parts:
    """The tab's components that something is wired to."""

    session: gr.State
    lanes: list[LaneKnobs]
    shared: dict[str, Any]
    """By ``SHARED_FIELDS`` and ``OTHER_FIELDS``."""
    run: gr.Button
    stop: gr.Button
    status: Status
    view: Comparison
    seeds: gr.Slider
    try_luck: gr.Button
    stop_luck: gr.Button
    luck_status: Status
    luck: Luck

    def inputs(self) -> list[Any]:
        """In the order that ``wanted`` takes their values."""
        own = [self.shared[name] for name in (*OTHER_FIELDS, *SHARED_FIELDS)]
        return [*own, *(each for lane in self.lanes for each in lane.components())]

    @property
    def buttons(self) -> list[gr.Button]:
        return [self.run, self.stop, self.try_luck, self.stop_luck]


def build() -> None:
    """The whole tab."""
    session = gr.State(None)
    with gr.Row(elem_classes="ez-run ez-compare", equal_height=False):
        with gr.Column(elem_classes="ez-controls", min_width=0):
            left = _build_left()
        with gr.Column(elem_classes="ez-main", min_width=0):
            view = Comparison(comparison(example()), elem_id="ez-comparison")
            luck = _build_luck()
    _wire(Parts(session=session, view=view, **left, **luck))


def _build_left() -> dict[str, Any]:
    header = example()[0].trace.header
    prompt = gr.Textbox(header.prompt.text, label="Prompt", lines=3, max_lines=8, elem_id="ez-compare-prompt")
    lanes = [_build_lane(letter, i) for i, letter in enumerate(LETTERS)]
    run = gr.Button("Compare", variant="primary", elem_id="ez-compare-run", elem_classes="ez-run-button")
    with gr.Row(elem_classes="ez-buttons"):
        stop = gr.Button("Stop", interactive=False, elem_id="ez-compare-stop", min_width=0)
    line = Status(status("idle", "A recorded comparison"), elem_id="ez-compare-status")
    shared = _build_shared(header.config)
    return {"lanes": lanes, "run": run, "stop": stop, "status": line, "shared": {"prompt": prompt, **shared}}


def _build_lane(letter: str, index: int) -> LaneKnobs:
    shown = example()
    config = shown[min(index, len(shown) - 1)].trace.header.config
    mode = config.mode if index < len(shown) else NONE
    choices = list(MODES) if index < 2 else [*MODES, ("no lane", NONE)]
    ids, before = f"compare-{letter}-", f"{letter}: "
    with gr.Group(elem_classes="ez-lane-knobs"):
        choice = gr.Dropdown(choices, value=mode, label=f"Lane {letter}", filterable=False, elem_id=f"ez-{ids}mode")
        with gr.Accordion(f"Knobs of lane {letter}", open=False, elem_classes="ez-fold", visible=_has_knobs(mode)) as fold:
            gamma = controls.sliders(config, ("gamma",), ids, before)["gamma"]
            with gr.Group(visible=mode == "easd") as gate:
                knobs = controls.build_gate(config, prefix=ids, lane=before)
    choice.change(_show_knobs, choice, [fold, gate], **LIGHT)
    return LaneKnobs(mode=choice, gamma=gamma, **knobs)


def _show_knobs(mode: str) -> list[Any]:
    return [gr.update(visible=_has_knobs(mode)), gr.update(visible=mode == "easd")]


def _has_knobs(mode: str) -> bool:
    return mode in ("easd", "sd", "draft")


def _build_shared(config: Config) -> dict[str, Any]:
    shared: dict[str, Any] = {**controls.sliders(config, ("temperature", "max_new_tokens"), "compare-")}
    with gr.Accordion("More sampling", open=False, elem_classes="ez-fold"):
        shared |= controls.build_more_sampling(config, prefix="compare-")
        shared["chat_template"] = gr.Checkbox(True, label="Chat template", elem_id="ez-compare-template", elem_classes="ez-check")
    with gr.Accordion("Models and precision", open=False, elem_classes="ez-fold"):
        shared |= controls.build_models("demo", prefix="compare-")
    return shared


def _build_luck() -> dict[str, Any]:
    with gr.Group(elem_classes="ez-luck-panel"):
        gr.HTML(LUCK_HEAD, apply_default_css=False)
        with gr.Row(elem_classes="ez-luck-bar"):
            seeds = gr.Slider(
                FEWEST, MOST_SEEDS, 10, step=1, label="Seeds", info="from the seed on the left upwards", **SEEDS_LOOK
            )
            try_luck = gr.Button("Try them", elem_id="ez-luck-run", min_width=0)
            stop_luck = gr.Button("Stop", interactive=False, elem_id="ez-luck-stop", min_width=0)
        line = Status(status("idle", "Not tried yet"), elem_id="ez-luck-status")
        luck = Luck(elem_id="ez-luck")
    return {"seeds": seeds, "try_luck": try_luck, "stop_luck": stop_luck, "luck_status": line, "luck": luck}


# ---- wiring --------------------------------------------------------------------------------------------------


def _wire(parts: Parts) -> None:
    state = [parts.session, *parts.buttons]
    parts.run.click(begin, parts.session, [*state, parts.status], **LIGHT).then(
        run_lanes, [parts.session, *parts.inputs()], [*state, parts.status, parts.view], **MODELS
    )
    parts.try_luck.click(begin, parts.session, [*state, parts.luck_status], **LIGHT).then(
        run_seeds, [parts.session, parts.seeds, *parts.inputs()], [*state, parts.luck_status, parts.luck], **MODELS
    )
    for button in (parts.stop, parts.stop_luck):
        button.click(stop, parts.session, state, **LIGHT)


# ---- handlers ------------------------------------------------------------------------------------------------


def begin(session: Comparing | None) -> list[Any]:
    session = session if session is not None else Comparing()
    session.ask()
    return [session, *_buttons(on=True), status("busy", "Waiting for the models")]


def stop(session: Comparing | None) -> list[Any]:
    if session is not None:
        session.ask()
    return [session, *_buttons(on=False)]


def _buttons(on: bool) -> list[Any]:
    """Compare, Stop, Try them, Stop."""
    return [gr.update(interactive=not on), gr.update(interactive=on)] * 2


def run_lanes(session: Comparing, *values: Any) -> Iterator[list[Any]]:
    yield from _carry_out(session, lambda: compare(session, wanted(*values), session.request))


def run_seeds(session: Comparing, seeds: float, *values: Any) -> Iterator[list[Any]]:
    yield from _carry_out(session, lambda: try_seeds(session, wanted(*values), int(seeds), session.request))


def _carry_out(session: Comparing, work: Callable[[], Iterator[News]]) -> Iterator[list[Any]]:
    """Session, buttons, status, view, for every piece of news."""
    number = session.request
    try:
        for news in work():
            line = status(news.kind, news.text, news.numbers, news.progress)
            on = news.kind == "busy" and session.request == number
            yield [session, *_buttons(on), line, gr.skip() if news.value is None else news.value]
    except UserError as error:
        yield [session, *_buttons(on=False), status("error", str(error)), gr.skip()]
    except Exception:
        logging.getLogger(__name__).exception("a comparison failed")
        yield [session, *_buttons(on=False), status("error", "Something went wrong on the server; its log says what."), gr.skip()]


def wanted(*values: Any) -> Lanes:
    """The controls' values as one request; raises TraceError where they don't go together."""
    count = len(OTHER_FIELDS) + len(SHARED_FIELDS)
    named = dict(zip((*OTHER_FIELDS, *SHARED_FIELDS), values[:count], strict=True))
    size = len(LANE_FIELDS)
    each = [dict(zip(LANE_FIELDS, values[i : i + size], strict=True)) for i in range(count, len(values), size)]
    shared = {name: named[name] for name in SHARED_FIELDS}
    configs = tuple(controls.config_of({**shared, **lane}) for lane in each if lane["mode"] != NONE)
    pair = controls.chosen_pair(named)
    return Lanes(named["prompt"], bool(named["chat_template"]), configs, pair, named["dtype"], named["device"])
