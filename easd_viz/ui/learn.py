"""The Learn tab: seven chapters over the recorded examples, and checks that run live. The chapters are the browser's own
(assets/js/learn): they need no request. Layout and wiring only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from easd_viz import checks
from easd_viz.checks import CHECKS, Progress, Result
from easd_viz.examples import EXAMPLES
from easd_viz.models import PairSpec, load_pair
from easd_viz.ui.components import Slot
from easd_viz.ui.loading import Report, load_with_reports
from easd_viz.ui.run import MODELS, said
from easd_viz.zerogpu import on_gpu

PAIR = "demo"
DTYPE = "float32"
"""The claims are exact there; in 16 bits near-ties may fall either way."""


class Lessons(Slot):
    """Chapters, score, presenter mode, checks. ``value``: the latest news of a check. Event: ``select`` (value = its name)."""

    view = "learn"

    def __init__(self, value: Any = None, **more: Any) -> None:
        listed = [{"name": each.name, "title": each.title, "url": f"gradio_api/file={each.path.as_posix()}"} for each in EXAMPLES]
        claims = [{"name": each.name, "title": each.title, "expected": each.expected} for each in CHECKS]
        super().__init__(value, **{"examples": listed, "checks": claims, **more})


def build() -> None:
    """The whole tab."""
    lessons = Lessons(elem_id="ez-learn")
    lessons.select(run_check, None, lessons, **{**MODELS, "show_progress": "hidden"})


def run_check(asked: gr.SelectData) -> Iterator[dict[str, Any]]:
    """Load the pair, run the check, tell how far it is."""
    name = str(asked.value)
    try:
        for event in load_with_reports(PairSpec.parse(PAIR), DTYPE):
            if isinstance(event, Report):
                yield news(name, "busy", " ".join([event.text, event.numbers]), progress=event.progress)
        for step in steps(name):
            yield told(name, step)
    except Exception as error:  # whatever it is, the page must say so and go on
        yield news(name, "error", said(error))


@on_gpu
def steps(name: str) -> Iterator[Progress | Result]:
    yield from checks.carry_out(checks.named(name), load_pair(PAIR, dtype=DTYPE))


def told(name: str, step: Progress | Result) -> dict[str, Any]:
    if isinstance(step, Progress):
        return news(name, "busy", f"{step.what}: {step.done} of {step.total} tokens", progress=step.done / step.total)
    return news(name, "holds" if step.holds else "differs", step.found, step.explanation)


def news(name: str, state: str, text: str, explanation: str = "", progress: float | None = None) -> dict[str, Any]:
    """A value for ``Lessons``. ``state``: busy, holds, differs, error."""
    return {"name": name, "state": state, "text": text, "explanation": explanation, "progress": progress}
