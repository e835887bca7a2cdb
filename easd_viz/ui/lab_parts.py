"""The threshold lab's slots; ``assets/js/lab/index.js`` fills them. All of them belong to the store of the lab's text.

``LabPool``     Feeds the browser's pool: ``Lab.pool_value()``. It is judged again, in the browser, on every move of a knob.
``LabCounts``   The live gate rate beside the recorded one.
``LabChanges``  The changed verdicts. Event ``select``: value ``["show", key]`` asks for another trace's text.
``LabPlane``    The gate plane with draggable thresholds: they move the sliders named ``ez-tune-draft-threshold`` and
                ``ez-tune-target-threshold``.
``LabTraces``   The list of loaded traces: ``Lab.list_value()``. Event ``select``: value ``[act, key]``.
``LabLaw``      Target, draft and emitted law at the selected token.
``TableView``   ``{"name", "columns", "rows"}`` as ``views.lab`` makes it: sorts, filters, saves itself.
"""

from __future__ import annotations

from typing import Any

from easd_viz.ui.components import Slot
from easd_viz.views.lab import plane


class LabPool(Slot):
    view = "pool"


class LabCounts(Slot):
    view = "lab_counts"


class LabChanges(Slot):
    view = "lab_changes"


class LabTraces(Slot):
    view = "lab_traces"


class LabLaw(Slot):
    view = "lab_law"


class LabPlane(Slot):
    view = "lab_plane"

    def __init__(self, value: Any = None, **more: Any) -> None:
        super().__init__(value or plane().to_plotly_json(), **more)


class TableView(Slot):
    view = "table"
