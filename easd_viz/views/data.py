"""Trace -> the compact data that the browser draws from.

One string per step, so that Gradio's diff between two yields sends only the steps that are new, and comparing the old ones
costs nothing. The strings hold the trace's own records under the trace's own names; only the probabilities in the top
lists, which are drawn but never judged by, are rounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from easd_viz.trace import Step, Trace, footer_json, header_json, step_json

EMPTY: dict[str, Any] = {"head": None, "steps": [], "foot": None}
"""What a view shows before there is any trace."""


@dataclass(frozen=True, slots=True)
class ViewModel:
    """A trace beside its encoded form; ``value`` is what a ``TokenView`` takes."""

    trace: Trace
    steps: tuple[str, ...]
    head: str = field(repr=False)

    @property
    def value(self) -> dict[str, Any]:
        foot = None if self.trace.footer is None else _dumps(footer_json(self.trace.footer))
        return {"head": self.head, "steps": list(self.steps), "foot": foot}


def view_model(trace: Trace, before: ViewModel | None = None) -> ViewModel:
    """Encode a trace. Steps that ``before`` already holds (the very same objects) are not encoded again."""
    known = 0
    if before is not None:
        for old, new in zip(before.trace.steps, trace.steps, strict=False):
            if old is not new:
                break
            known += 1
    old_steps = before.steps[:known] if before is not None else ()
    same_head = before is not None and before.trace.header is trace.header
    head = before.head if before is not None and same_head else _dumps(header_json(trace.header))
    return ViewModel(trace, (*old_steps, *(_encode(step) for step in trace.steps[known:])), head)


def _dumps(record: Mapping[str, Any]) -> str:
    return orjson.dumps(record).decode()


def _encode(step: Step) -> str:
    record = step_json(step)
    for token in record["drafted"]:
        for name in ("draft_top", "target_top"):
            if token[name] is not None:
                token[name] = _rounded(token[name])
    return _dumps(record)


def _rounded(top: Sequence[tuple[int, str, float]]) -> list[tuple[int, str, float]]:
    """Four significant digits: more than any bar or colour shows."""
    return [(token_id, text, float(f"{prob:.4g}")) for token_id, text, prob in top]
