"""Parts that every tab may use. Each is a slot in the page that ``assets/js/main.js`` fills with the view of its name.

=============  ============================================================================================================
component      what it is, what it takes
=============  ============================================================================================================
``TokenView``  The highlighted text of a trace. ``value``: ``views.data.view_model(trace).value``; send it again whenever the
               trace grew, Gradio transfers what is new. It feeds the browser's **store** of the name ``store``; all other
               views of that store follow. Events: ``select`` (``gr.SelectData``: index = [round, draft index, 0 for an
               emitted token], value = position) and ``rerun`` (the button at the boundary of a what-if).
``Details``    The selected token of a store: the rule with its numbers, both top lists.
``Cards``      The metrics of a store's trace, with counts and formulas, and where the time went.
``TraceChart`` One of the charts in ``views.charts.FIGURES`` for a store.
``PlotPanel``  Any ``go.Figure`` from Python: ``value=fig.to_plotly_json()``, later ``PlotPanel`` values the same way. Made with
               ``views.theme.figure()`` and ``theme.colour(...)`` it follows the theme. Its zoom survives updates while
               ``layout.uirevision`` stays. Event: ``select`` (index = [trace, point], value = the point's ``customdata``).
``Status``     A line that says where a run stands: ``status(...)`` makes its value. Announced to screen readers.
``Saver``      Hands the visitor a file: set its value to ``download(name, mime, text)``.
``Sharer``     Puts a link into the page's address and on the clipboard: set its value to ``shared(query, words)``.
``Comparison`` Lanes side by side: ``value``: ``views.comparison.comparison(view models)``. Lane A's store is ``compare.A``.
``Luck``       Differences over several seeds: ``value``: ``views.comparison.luck_test(...)``.
``Hint``       A line on what to look at in the recorded example that a store shows, and the way to the Learn tab.
``PairLabel``  The models, device and dtype of a store's trace, for the page's header.
=============  ============================================================================================================

A page that shows two traces uses two stores (``store="a"``, ``store="b"``). Knobs of the gate move without a request: wire a
slider with ``fn=None, js=js_knobs("a")`` and the inputs ``KNOB_ORDER`` names.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

import gradio as gr

from easd_viz.views.charts import skeleton
from easd_viz.views.data import EMPTY

KNOB_ORDER = ("mode", "draft_threshold", "target_threshold", "overlap_threshold", "k", "resample")
"""The inputs that ``js_knobs`` takes, in this order."""


def js_knobs(store: str) -> str:
    """A client-side handler that judges a store's trace again under the knobs, in the browser."""
    return f'async (...knobs) => {{ await easd.ready; easd.knobs("{store}", knobs); return []; }}'


class Slot(gr.HTML):  # type: ignore[misc]  # gradio is untyped here
    """An empty element that the browser's view of this name fills. Its markup never changes, so Gradio never redraws it.

    No argument may be called like a view or an event: ``gr.HTML`` takes every quoted word of ``js_on_load`` for an event's name,
    and would put an event listener, with the whole app hanging on it, into the page's configuration in the argument's place.
    """

    view = ""

    def __init__(self, value: Any = None, **props: Any) -> None:
        # props reach the browser as they are; an update made by Gradio passes what it was built with back in
        props.setdefault("html_template", '<div class="ez-slot"></div>')
        props.setdefault(
            "js_on_load",
            f'easd.mount("{self.view}", element.querySelector(".ez-slot"), {{'
            " props, watch, select: (data) => trigger('select', data), rerun: () => trigger('rerun') });",
        )
        props.setdefault("apply_default_css", False)
        super().__init__(value, **props)


class TokenView(Slot):
    """The highlighted text; see the table above."""

    view = "tokens"

    def __init__(
        self,
        value: Any = None,
        *,
        store: str = "run",
        heading: str = "Text",
        controls: bool = True,
        can_rerun: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(value or EMPTY, store=store, heading=heading, controls=controls, can_rerun=can_rerun, **more)


class Details(Slot):
    view = "details"

    def __init__(self, value: Any = None, *, store: str = "run", **more: Any) -> None:
        super().__init__(value, store=store, **more)


class Cards(Slot):
    view = "cards"

    def __init__(self, value: Any = None, *, store: str = "run", **more: Any) -> None:
        super().__init__(value, store=store, **more)


class PairLabel(Slot):
    view = "pair"

    def __init__(self, value: Any = None, *, store: str = "run", **more: Any) -> None:
        super().__init__(value, store=store, **more)


class Hint(Slot):
    view = "hint"

    def __init__(self, value: Any = None, *, store: str = "run", examples: Sequence[dict[str, str]] = (), **more: Any) -> None:
        super().__init__(value, store=store, examples=list(examples), **more)


class TraceChart(Slot):
    view = "chart"

    def __init__(self, value: Any = None, *, name: str = "plane", store: str = "run", **more: Any) -> None:
        super().__init__(value or skeleton(name), name=name, store=store, **more)


class PlotPanel(Slot):
    view = "plot"

    def __init__(self, value: Any = None, *, heading: str = "Chart", **more: Any) -> None:
        super().__init__(value, heading=heading, **more)


class Comparison(Slot):
    view = "comparison"


class Luck(Slot):
    view = "luck"


class Status(Slot):
    view = "status"


class Sharer(Slot):
    view = "sharer"

    def __init__(self, value: Any = None, *, store: str = "run", **more: Any) -> None:
        super().__init__(value, store=store, **more)


class Saver(Slot):
    view = "saver"


def status(kind: str, text: str, numbers: str = "", progress: float | None = None) -> dict[str, Any]:
    """A value for ``Status``. ``kind``: idle, busy, error, notice. ``progress``: 0 to 1, None where it can't be known."""
    return {"kind": kind, "text": text, "numbers": numbers, "progress": progress}


_count = itertools.count()


def shared(query: str | None, words: str = "", select: str | None = None) -> dict[str, Any]:
    """A value for ``Sharer``: a query for the page's address, and what it stands for; or the key of a token to select."""
    return {"query": query, "words": words, "select": select, "nonce": next(_count)}


def download(name: str, mime: str, text: str) -> dict[str, Any]:
    """A value for ``Saver``; no two are equal, as Gradio drops what it has sent before."""
    return {"name": name, "mime": mime, "text": text, "nonce": f"{time.time()}/{next(_count)}"}
