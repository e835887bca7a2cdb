"""What the Tune tab does when something is pressed: plain functions from inputs to outputs, in the order ``tune`` wires them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr

from easd_viz import UserError, branch, calibrate, examples, replay, store, trace
from easd_viz.examples import EXAMPLES
from easd_viz.trace import Config, Outcome, Trace
from easd_viz.ui import run
from easd_viz.ui.components import KNOB_ORDER, download, status
from easd_viz.ui.lab import Lab
from easd_viz.ui.loading import Report
from easd_viz.ui.session import Session
from easd_viz.verify import Gate
from easd_viz.views import lab as views
from easd_viz.views.data import view_model

SHOWN = 9
"""How many values ``show`` gives: the lab, list, text, pool, status, then the comparison's four."""


def of_visitor(lab: Lab | None) -> Lab:
    return lab if lab is not None else Lab()


# ---- which traces ------------------------------------------------------------------------------------------


def show(lab: Lab, words: dict[str, Any] | None = None) -> list[Any]:
    """What changes with the choice of traces: ``SHOWN`` values."""
    line = gr.skip() if words is None else words
    return [lab, lab.list_value(), lab.text_value(), lab.pool_value(), line, *compare(lab)]


def compare(lab: Lab) -> list[Any]:
    """Parent and branch side by side, where a branch is shown whose parent is loaded."""
    shown = None if lab.shown is None else lab.get(lab.shown)
    parent = None if shown is None else lab.parent(shown)
    if shown is None or parent is None:
        return ["", gr.skip(), gr.skip(), ""]
    origin = shown.trace.header.parent
    fork = 0 if origin is None else origin.step
    return [
        views.fork_html(parent.name, shown.name, shown.trace),
        {**view_model(parent.trace).value, "from": fork},
        {**view_model(shown.trace).value, "from": fork},
        views.comparison_html(parent.trace, shown.trace),
    ]


def enter(lab: Lab | None, session: Session | None) -> list[Any]:
    """The tab is opened: the Run tab's present run comes along."""
    lab = of_visitor(lab)
    first = not lab.loaded
    lab.take_run(run.of_visitor(session).trace)
    return show(lab, status("idle", "Ready", loaded_words(lab)) if first else None)


def add_examples(lab: Lab | None) -> list[Any]:
    lab = of_visitor(lab)
    for each in EXAMPLES:
        lab.add(examples.load(each.name), each.name, "example")
    return show(lab, status("idle", "Added", loaded_words(lab)))


def open_traces(lab: Lab | None, files: list[bytes]) -> list[Any]:
    lab = of_visitor(lab)
    problems: list[str] = []
    for number, data in enumerate(files, start=1):
        try:
            opened = store.parse(data)
            lab.add(opened, name_of(opened), "file")
        except UserError as error:
            problems.append(f"File {number} can’t be opened. {error}")
    words = status("error", " ".join(problems)) if problems else status("idle", "Opened", loaded_words(lab))
    return show(lab, words)


def act(lab: Lab | None, event: gr.SelectData) -> list[Any]:
    """The list of traces: show, toggle or remove one."""
    lab = of_visitor(lab)
    what, key = event.value
    if what == "show":
        lab.shown = lab.get(key).key
    elif what == "toggle":
        lab.toggle(key)
    elif what == "remove":
        lab.remove(key)
    return show(lab)


def save(lab: Lab | None) -> Any:
    """The shown trace as a file."""
    lab = of_visitor(lab)
    if lab.shown is None:
        return gr.skip()
    shown = lab.get(lab.shown).trace
    return download(f"easd-{shown.fingerprint}.jsonl", "application/jsonl", trace.dumps(shown).decode())


def name_of(opened: Trace) -> str:
    words = " ".join(opened.header.prompt.text.split())
    return words[:32] + ("…" if len(words) > 32 else "")


def loaded_words(lab: Lab) -> str:
    return f"{len(lab.counted)} of {len(lab.loaded)} counted"


# ---- knobs -------------------------------------------------------------------------------------------------


def knobs_of(values: tuple[Any, ...]) -> dict[str, Any]:
    """The controls' values, in ``KNOB_ORDER``, as config fields; a closed gate has infinite thresholds."""
    named = dict(zip(KNOB_ORDER, values, strict=True))
    if named.pop("mode") == "sd":
        named["draft_threshold"] = named["target_threshold"] = float("inf")
    for name in ("draft_threshold", "target_threshold", "overlap_threshold"):
        named[name] = float(named[name])
    named["k"] = int(named["k"])
    return named


def gate_of(values: tuple[Any, ...]) -> Gate:
    """For pooled traces: whether one is greedy, its own rows say."""
    return replay.gate_with(Config(temperature=1.0), **knobs_of(values))


def draw(lab: Lab | None, unit: str, *knobs: Any) -> list[Any]:
    """Sweep, small multiples, curve over k, token table, distribution shift."""
    lab = of_visitor(lab)
    data = lab.data()
    if not len(data):
        why = "Nothing to sweep: tick a run that decided on a token."
        return [
            views.blank(views.SWEEP_HEIGHT, why),
            views.blank(views.MULTIPLES_HEIGHT),
            views.blank(views.SWEEP_HEIGHT),
            views.NO_ROWS,
            views.NO_ROWS,
        ]
    gate = gate_of(knobs)
    figures = (views.sweep_figure(data, gate, unit), views.multiples_figure(data, gate, unit), views.k_figure(data, gate))
    names = [each.name for each in lab.counted]
    return [*(f.to_plotly_json() for f in figures), views.token_rows(data, gate), views.shift_rows(data, gate, names)]


def pick_cell(event: gr.SelectData) -> list[Any]:
    """A heatmap's cell: its thresholds and overlap threshold become the knobs'."""
    draft, target, *_, overlap = event.value
    return [round(draft, 4), round(target, 4), overlap]


def pick_k(event: gr.SelectData) -> int:
    return int(event.value)


# ---- calibration -------------------------------------------------------------------------------------------


def aim_of(way: str) -> Any:
    if way == "percentile":
        return gr.update(label="Percentile of both entropies", value=80)
    return gr.update(label="Gate rate to aim at, %", value=5)


def calibrated(lab: Lab | None, way: str, aim: float | None, *knobs: Any) -> list[Any]:
    """The thresholds that were found, in words, and whether there are any to use."""
    try:
        found = calibration(of_visitor(lab), way, aim, knobs_of(knobs))
    except UserError as error:
        off = gr.update(interactive=False)
        return [None, views.problem_html(str(error)), off, off]
    on = gr.update(interactive=True)
    return [[round(found.draft_threshold, 4), round(found.target_threshold, 4)], views.calibration_html(found), on, on]


def calibration(lab: Lab, way: str, aim: float | None, knobs: dict[str, Any]) -> calibrate.Calibration:
    calibrate.check_pool([each.trace for each in lab.counted])
    if aim is None:
        raise UserError("type a number to aim at")
    rest = {"k": knobs["k"], "overlap_threshold": knobs["overlap_threshold"], "resample": knobs["resample"]}
    if way == "percentile":
        return calibrate.by_percentile(lab.data(), aim, **rest)
    return calibrate.by_gate_rate(lab.data(), aim / 100, **rest)


def found_knobs(found: list[float], *knobs: Any) -> list[Any]:
    """All knobs for another tab: the thresholds found, the rest as they stand here."""
    return ["easd", *found, *knobs[3:]]


# ---- branches ----------------------------------------------------------------------------------------------


def busy(on: bool) -> list[Any]:
    """The three buttons that begin a branch, and Stop."""
    return [*[gr.update(interactive=not on)] * 3, gr.update(interactive=on)]


def begin(lab: Lab | None, picked: str | None) -> list[Any]:
    """``picked``: the selected token's [round, draft index, position], as JSON; empty where there is none."""
    lab = of_visitor(lab)
    lab.request += 1
    lab.selected = tuple(json.loads(picked)) if picked else None
    return [lab, status("busy", "Waiting for the models"), *busy(True)]


def halt(lab: Lab | None) -> Lab:
    lab = of_visitor(lab)
    lab.request += 1
    return lab


def grower(what: str) -> Callable[..., Iterator[list[Any]]]:
    """The handler that makes a branch: ``first`` from the first change, ``selected`` from that token's round, ``forced``."""

    def grow(lab: Lab, *knobs: Any) -> Iterator[list[Any]]:
        number = lab.request

        def line(words: dict[str, Any], on: bool) -> list[Any]:
            return [lab, *[gr.skip()] * 3, words, *[gr.skip()] * (SHOWN - 5), *busy(on)]

        try:
            made: Trace | None = None
            for event in lab.grow(planned(lab, what, knobs_of(knobs)), number):
                if isinstance(event, Report):
                    yield line(status("busy", event.text, event.numbers, event.progress), True)
                else:
                    made = event
                    yield line(status("busy", "Branching", f"{len(event.token_ids)} tokens"), True)
            words = status("idle", "Stopped before the branch began" if made is None else "Branched", loaded_words(lab))
            yield [*show(lab, words), *busy(False)]
        except Exception as error:  # whatever it is, the page must say so and go on
            yield line(status("error", said(error)), False)

    return grow


def planned(lab: Lab, what: str, knobs: dict[str, Any]) -> branch.Plan:
    """What a button asks for. A forced verdict leaves the knobs as recorded: it is the only change."""
    if what == "first":
        return lab.plan(None, knobs, {})
    if lab.selected is None:
        raise UserError("select a token in the text first")
    step, index, position = lab.selected
    if what == "selected":
        return lab.plan(step, knobs, {})
    steps = lab.get(lab.shown).trace.steps
    path = steps[step].on_path if index and step < len(steps) else ()
    token = next((t for t in path if t.position == position), None)
    if token is None:
        raise UserError("select a drafted token that was decided on: accepted, rejected or gated")
    forced: dict[int, Outcome] = {position: branch.other_way(token.outcome)}
    return lab.plan(step, {}, forced)


def said(error: Exception) -> str:
    """A user's mistake in its own words; anything else is a bug, and its traceback belongs in the log."""
    if isinstance(error, UserError):
        return str(error)
    logging.getLogger(__name__).error("a branch failed", exc_info=error)
    return f"The branch failed: {type(error).__name__}: {error}"
