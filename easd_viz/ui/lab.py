"""One visitor's threshold lab: which traces are loaded, which count, which is shown, and how branches hang together."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from easd_viz import UserError, branch, replay
from easd_viz.models import PairSpec
from easd_viz.trace import Outcome, Trace
from easd_viz.ui.loading import Report, load_with_reports
from easd_viz.ui.session import FRAME_S, rounds
from easd_viz.views.data import ViewModel, view_model
from easd_viz.views.lab import pool_record

Origin = Literal["run", "example", "file", "branch"]


class LabError(UserError):
    """Something asked of the lab that its traces don't allow."""


@dataclass(slots=True)
class Loaded:
    """A trace in the lab."""

    key: str
    name: str
    trace: Trace
    origin: Origin
    counts: bool = True
    """Whether sweeps, calibration and tables count it."""
    record: str = field(default="", repr=False)
    """Its form for the browser, made once."""


@dataclass(slots=True)
class Lab:
    """Per visitor, in a ``gr.State``; never shared."""

    loaded: list[Loaded] = field(default_factory=list)
    shown: str | None = None
    """Key of the trace in the text view."""
    request: int = 0
    """Counts branches asked for; another number ends the one that is running."""
    selected: tuple[int, ...] | None = None
    """(round, draft index, position) of the selected token when a branch was asked for; draft index 0 for an emitted one."""
    branches: int = 0
    view: ViewModel | None = None
    _data: tuple[tuple[int, ...], replay.GateArrays] | None = None

    # ---- what is loaded --------------------------------------------------------------------------------------

    def add(self, trace: Trace, name: str, origin: Origin) -> Loaded:
        """Load a trace and show it; one that is loaded already is only shown."""
        for each in self.loaded:
            if each.key == trace.fingerprint:
                self.shown = each.key
                return each
        each = Loaded(trace.fingerprint, name, trace, origin, counts=is_decided(trace))
        each.record = pool_record(name, each.key, trace) if each.counts else ""
        self.loaded.append(each)
        self.shown = each.key
        return each

    def take_run(self, trace: Trace | None) -> None:
        """The Run tab's present run: it takes the place of the one before, unless a branch came from that one."""
        if trace is None or not trace.steps or any(each.key == trace.fingerprint for each in self.loaded):
            return
        origin = None if trace.header.parent is None else trace.header.parent.trace
        for old in [each for each in self.loaded if each.origin == "run" and each.key != origin and not self.children(each)]:
            self.remove(old.key)
        self.add(trace, "Run", "run")

    def remove(self, key: str) -> None:
        """Unload; branches of it stay, as trees of their own."""
        self.loaded = [each for each in self.loaded if each.key != key]
        if self.shown == key:
            self.shown = self.loaded[0].key if self.loaded else None

    def toggle(self, key: str) -> None:
        """Count it or not. Runs without a decided token never count."""
        each = self.get(key)
        each.counts = not each.counts and is_decided(each.trace)

    def get(self, key: str | None) -> Loaded:
        for each in self.loaded:
            if each.key == key:
                return each
        raise LabError("no trace is shown; open one, or record one in the Run tab")

    @property
    def counted(self) -> list[Loaded]:
        return [each for each in self.loaded if each.counts]

    def data(self) -> replay.GateArrays:
        """Of all traces that count; kept until the choice changes."""
        chosen = tuple(id(each.trace) for each in self.counted)
        if self._data is None or self._data[0] != chosen:
            self._data = (chosen, replay.arrays([each.trace for each in self.counted]))
        return self._data[1]

    # ---- the tree --------------------------------------------------------------------------------------------

    def parent(self, of: Loaded) -> Loaded | None:
        header = of.trace.header
        if header.parent is None:
            return None
        return next((each for each in self.loaded if each.key == header.parent.trace), None)

    def children(self, of: Loaded) -> list[Loaded]:
        return [each for each in self.loaded if each.trace.header.parent is not None and each.trace.header.parent.trace == of.key]

    def tree(self) -> list[tuple[int, Loaded]]:
        """(depth, trace), each parent before its branches."""
        out: list[tuple[int, Loaded]] = []

        def walk(each: Loaded, depth: int) -> None:
            out.append((depth, each))
            for child in self.children(each):
                walk(child, depth + 1)

        for each in self.loaded:
            if self.parent(each) is None:
                walk(each, 0)
        return out

    # ---- values for the views --------------------------------------------------------------------------------

    def text_value(self) -> dict[str, Any] | None:
        """For the text view: the shown trace."""
        if self.shown is None:
            return None
        self.view = view_model(self.get(self.shown).trace, self.view)
        return self.view.value

    def pool_value(self) -> list[str]:
        return [each.record for each in self.counted]

    def list_value(self) -> list[dict[str, Any]]:
        """For the list of traces."""
        return [
            {
                "key": each.key,
                "depth": depth,
                "name": each.name,
                "note": note_of(each.trace),
                "counts": each.counts,
                "can_count": is_decided(each.trace),
                "shown": each.key == self.shown,
            }
            for depth, each in self.tree()
        ]

    # ---- branches --------------------------------------------------------------------------------------------

    def plan(self, step: int | None, knobs: Mapping[str, Any], forced: Mapping[int, Outcome]) -> branch.Plan:
        """A branch of the shown trace; ``step`` None: from the first verdict that the knobs change."""
        trace = self.get(self.shown).trace
        if step is None:
            found = replay.rejudge(trace, replay.gate_with(trace.header.config, **knobs)).boundary
            if found is None:
                raise LabError(
                    "these knobs change no verdict of the shown run, so there is nothing to re-run; move a threshold first"
                )
            step = found.step
        return branch.plan(trace, step, knobs, forced)

    def grow(self, planned: branch.Plan, number: int) -> Iterator[Report | Trace]:
        """Carry a branch out: reports while its pair loads, then the growing trace; the last one is in the list."""
        pair_name, dtype = branch.pair_name(planned.origin), branch.dtype_of(planned.origin)
        for event in load_with_reports(PairSpec.parse(pair_name), dtype):
            if self.request != number:
                return
            if isinstance(event, Report):
                yield event
            else:
                branch.check_pair(planned.origin, event)
        grown: Trace | None = None
        last_sent = 0.0
        prompt = planned.origin.header.prompt
        for header, steps, footer in rounds(pair_name, dtype, prompt, planned.config, planned.resume, planned.parent):
            if self.request != number:
                break
            grown = Trace(header, planned.resume, None) if grown is None else grown
            grown = replace(grown, steps=(*grown.steps, *steps), footer=footer)
            if time.monotonic() - last_sent >= FRAME_S and footer is None:
                yield grown
                last_sent = time.monotonic()
        if grown is not None and len(grown.steps) > len(planned.resume):
            grown = grown if grown.footer is not None else grown.finished("stopped")
            self.branches += 1
            self.add(grown, f"Branch {self.branches}", "branch")
            yield grown


def is_decided(trace: Trace) -> bool:
    """Whether the gate has anything to judge in it."""
    return trace.header.config.mode in ("easd", "sd") and any(step.on_path for step in trace.steps)


def note_of(trace: Trace) -> str:
    """What a run is, in a few words: for a branch, what was changed."""
    parent = trace.header.parent
    if parent is None:
        config = trace.header.config
        return f"{config.mode.upper()}, {len(trace.token_ids)} tokens, T = {config.temperature:g}"
    changes = [
        f"{KNOB_WORDS.get(name, name)} {value:g}" if isinstance(value, (int, float)) else f"{value}"
        for name, value in parent.change.items()
    ]
    changes += [f"position {position} {outcome}" for position, outcome in parent.forced.items()]
    return f"from round {parent.step}: {', '.join(changes) or 'nothing changed'}"


KNOB_WORDS = {
    "draft_threshold": "τ draft",
    "target_threshold": "τ target",
    "overlap_threshold": "ρ",
    "k": "k",
    "resample": "",
    "mode": "",
}
