"""The figures of the Run tab without their data: axes, titles, colours. The browser fills them in as a run streams.

A figure that is drawn again on every slider move cannot come from Python each time. So what does not change comes once, as
a ``go.Figure``; ``assets/js/charts`` puts the traces in and redraws with ``Plotly.react``, which keeps zoom and selection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import plotly.graph_objects as go

from easd_viz.views.theme import axis, figure

ROUNDS_SHOWN = 18
"""Rows in view of the rounds figure; the rest is one scroll away."""


def plane() -> go.Figure:
    """The gate plane: draft entropy against target entropy, the gated region shaded."""
    return figure(
        height=300,
        xaxis=axis("draft entropy, nats", rangemode="tozero"),
        yaxis=axis("target entropy, nats", rangemode="tozero"),
    )


def rounds() -> go.Figure:
    """Rounds × draft index: a row per round, top to bottom as the text reads."""
    return figure(
        height=ROUNDS_SHOWN * 21 + 50,
        xaxis=axis("draft index", side="top", showline=False, ticks="", fixedrange=True, dtick=1),
        yaxis=axis("round", showline=False, ticks="", autorange=False, range=[ROUNDS_SHOWN - 0.5, -0.5], tickformat="d"),
        margin={"l": 44, "r": 4, "t": 42, "b": 6},
        dragmode="pan",
    )


def along() -> go.Figure:
    """Both entropies along the text, with the thresholds and the marks of rejected and gated tokens."""
    return figure(
        height=220,
        xaxis=axis("token of the text", tickformat="d"),
        yaxis=axis("entropy, nats", rangemode="tozero", fixedrange=True),
        margin={"l": 44, "r": 8, "t": 10, "b": 38},
    )


def ranks() -> go.Figure:
    """Each model's probabilities by rank, on the same axis of positions."""
    rank = axis("rank", autorange=False, range=[20.5, 0.5], tickvals=[1, 5, 10, 15, 20], fixedrange=True)
    return figure(
        height=350,
        xaxis=axis("token of the text", anchor="y2", tickformat="d"),
        yaxis={**rank, "domain": [0.54, 1]},
        yaxis2={**rank, "domain": [0.0, 0.46]},
        margin={"l": 44, "r": 8, "t": 26, "b": 38},
    )


def by_index() -> go.Figure:
    """Acceptance by draft index, with how many tokens each bar stands for."""
    return figure(
        height=200,
        xaxis=axis("", fixedrange=True, ticks=""),
        yaxis=axis("", range=[0, 1.02], tickvals=[0, 0.5, 1], tickformat=".0%", fixedrange=True),
        bargap=0.35,
        margin={"l": 44, "r": 8, "t": 8, "b": 58},
    )


FIGURES: Mapping[str, Callable[[], go.Figure]] = {
    "plane": plane,
    "rounds": rounds,
    "along": along,
    "ranks": ranks,
    "by_index": by_index,
}
"""By the name that the browser's scripts know them by."""


def skeleton(name: str) -> dict[str, Any]:
    """A figure of ``FIGURES`` as plain JSON."""
    plain: dict[str, Any] = FIGURES[name]().to_plotly_json()
    return plain
