"""One visitor's run: what is shown, what was asked for last, and how a new request goes on from there.

A request is carried out by a generator of ``Update``s. It looks at ``Session.request`` after every round: another number means
that the visitor asked for something else since (pause, stop, another run), and the generator ends. So nothing has to be torn
down from outside, and no lock or flag has to reach a worker process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from easd_viz import replay
from easd_viz.branch import BranchError, pair_name
from easd_viz.models import Pair, PairSpec, load_pair
from easd_viz.record import encode_prompt, record
from easd_viz.trace import Config, Footer, Header, Parent, Prompt, Step, Trace
from easd_viz.ui.loading import Report, load_with_reports
from easd_viz.verify import gate_of
from easd_viz.views.data import ViewModel, view_model
from easd_viz.zerogpu import on_gpu

Asked = tuple[str, str, str, bool]
"""(pair, dtype, device, chat template) as the controls had them."""

Phase = Literal["idle", "waiting", "loading", "running", "paused"]
Kind = Literal["run", "step", "continue", "rerun"]

FRAME_S = 0.04
"""Rounds that come faster than this are sent together: a browser draws no faster, and every send costs the run time."""
FRAME_S_PER_ROUND = 0.0005
"""Added for each round of the trace: Gradio's page compares the whole value at every send, so the longer, the fewer."""

OWN = ("draft_threshold", "target_threshold", "overlap_threshold", "k", "resample", "mode", "max_new_tokens")
"""Config fields that may differ between a trace and its continuation; any other makes a new run."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the controls say."""

    prompt: str
    chat_template: bool
    config: Config
    pair: str
    """As ``PairSpec.parse`` takes it."""
    dtype: str
    device: str = "auto"

    @property
    def asked(self) -> Asked:
        return (self.pair, self.dtype, self.device, self.chat_template)


@dataclass(frozen=True, slots=True)
class Update:
    """News of a run: where it stands, and the text view's new value (None: as it was)."""

    kind: Literal["busy", "idle", "error"]
    text: str
    numbers: str = ""
    progress: float | None = None
    view: dict[str, Any] | None = None


@dataclass(slots=True)
class Session:
    """Per visitor, in a ``gr.State``; never shared."""

    trace: Trace | None = None
    view: ViewModel | None = None
    phase: Phase = "idle"
    request: int = 0
    """Counts what the visitor asked for."""
    says: Update | None = None
    """The last news, for the status line."""
    asked: Asked | None = None
    """What the run that is shown was asked for; None where it was not run here."""

    def ask(self, phase: Phase, says: Update) -> None:
        """Note a new request, which ends the one that is going on."""
        self.request += 1
        self.phase = phase
        self.says = says

    def show(self, trace: Trace) -> dict[str, Any]:
        """Take a trace as what is shown; the value for the text view."""
        self.trace = trace
        self.view = view_model(trace, self.view)
        return self.view.value


@dataclass(frozen=True, slots=True)
class Plan:
    """How a request is carried out: which rounds are kept, what is decoded on from there."""

    config: Config
    resume: tuple[Step, ...]
    parent: Parent | None
    keep_header: bool
    """A plain continuation stays the same trace."""
    rounds: int | None
    """How many new ones; None: to the end."""


def plan(session: Session, wanted: Wanted, kind: Kind) -> Plan:
    """What ``kind`` means for what is shown now. Stepping goes on from the last round that the knobs leave as it is."""
    rounds = 1 if kind == "step" else None
    trace = session.trace
    if trace is None or kind == "run" or not continues(session, wanted):
        return Plan(wanted.config, (), None, False, rounds)
    before = trace.header.config
    boundary = _boundary(trace, wanted.config)
    if boundary is None and not _changes(before, wanted.config):
        return Plan(before, trace.steps, trace.header.parent, True, rounds)
    if boundary is None and kind != "rerun" and _changes(before, wanted.config) <= {"max_new_tokens"}:
        # more room at the end: the same run, and a longer one
        return Plan(wanted.config, trace.steps, trace.header.parent, True, rounds)
    kept = trace.steps if boundary is None else trace.steps[:boundary]
    change = {name: getattr(wanted.config, name) for name in _changes(before, wanted.config)}
    parent = Parent(trace.fingerprint, len(kept), change, trace.forced)
    return Plan(wanted.config, kept, parent, False, rounds)


def continues(session: Session, wanted: Wanted) -> bool:
    """Whether what is shown is a run of these controls, but for the gate's knobs and the length."""
    trace = session.trace
    assert trace is not None
    header = trace.header
    asked = session.asked or (pair_of(trace, wanted.pair), wanted.dtype, wanted.device, header.prompt.chat_template)
    if wanted.prompt != header.prompt.text or asked != wanted.asked:
        return False
    modes = {header.config.mode, wanted.config.mode}
    return not (_changes(header.config, wanted.config) - set(OWN)) and (len(modes) == 1 or modes == {"easd", "sd"})


def pair_of(trace: Trace, default: str) -> str:
    """The pair a trace was recorded with, as ``PairSpec.parse`` takes it; ``default`` where the file names only one model."""
    try:
        return pair_name(trace)
    except BranchError:
        return default


def _changes(before: Config, after: Config) -> set[str]:
    names = [name for name in Config.__slots__ if name != "extra"]
    return {name for name in names if getattr(before, name) != getattr(after, name)}


def _boundary(trace: Trace, config: Config) -> int | None:
    """The first round that would be another one under ``config``; None: none of those recorded."""
    if trace.header.config.mode in ("target", "draft"):
        return None
    found = replay.rejudge(trace, gate_of(config)).boundary
    return None if found is None else found.step


def carry_out(session: Session, wanted: Wanted, kind: Kind, number: int) -> Iterator[Update]:
    """Load what is needed and run; raises UserError for whatever the visitor can act on."""
    if session.request != number:  # asked for something else while waiting in line
        return
    todo = plan(session, wanted, kind)
    session.phase = "loading"
    pair: Pair | None = None
    for event in load_with_reports(PairSpec.parse(wanted.pair), wanted.dtype, wanted.device):
        if session.request != number:
            return
        if isinstance(event, Report):
            yield Update("busy", event.text, event.numbers, event.progress)
        else:
            pair = event
    assert pair is not None
    session.phase = "running"
    session.asked = wanted.asked
    prompt = encode_prompt(pair, wanted.prompt, wanted.chat_template)
    yield from _run(session, prompt, wanted, todo, number)


def _run(session: Session, prompt: Prompt, wanted: Wanted, todo: Plan, number: int) -> Iterator[Update]:
    """Decode and show, round by round. Leaves the session paused or idle."""
    kept = session.trace.header if todo.keep_header and session.trace is not None else None
    trace: Trace | None = None
    last_sent = 0.0
    for header, steps, footer in rounds(wanted.pair, wanted.dtype, prompt, todo.config, todo.resume, todo.parent, wanted.device):
        if session.request != number:
            return
        if trace is None:
            trace = Trace(header if kept is None else replace(kept, config=todo.config), todo.resume, None)
        trace = replace(trace, steps=(*trace.steps, *steps), footer=footer)
        ended = footer is not None or (todo.rounds is not None and len(trace.steps) - len(todo.resume) >= todo.rounds)
        if ended or time.monotonic() - last_sent >= FRAME_S + FRAME_S_PER_ROUND * len(trace.steps):
            yield Update("busy", "Running", progress_words(trace), _share(trace), session.show(trace))
            last_sent = time.monotonic()
        else:
            session.trace = trace
        if ended:
            break
    session.phase = "paused" if trace is not None and trace.footer is None else "idle"
    yield Update("idle", *end_words(session.trace))


@on_gpu
def rounds(
    pair: str,
    dtype: str,
    prompt: Prompt,
    config: Config,
    resume: tuple[Step, ...],
    parent: Parent | None,
    device: str = "auto",
) -> Iterator[tuple[Header, tuple[Step, ...], Footer | None]]:
    """``record``, sending only what is new: on a GPU that is lent per call, arguments and yields travel between processes."""
    sent = len(resume)
    for trace in record(load_pair(pair, dtype=dtype, device=device), prompt, config, resume=resume, parent=parent):
        yield trace.header, trace.steps[sent:], trace.footer
        sent = len(trace.steps)


def pause(session: Session) -> None:
    """Let the run that is going on end after its present round, ready to go on."""
    session.ask("paused", Update("idle", *end_words(session.trace)))


def stop(session: Session) -> None:
    """End the run that is going on or paused: its trace gets a footer."""
    trace = session.trace
    if trace is not None and trace.footer is None:
        session.show(trace.finished("stopped"))
    session.ask("idle", Update("idle", *end_words(session.trace)))


# ---- words -------------------------------------------------------------------------------------------------

STOP_WORDS = {
    "eos": "Done: the text ended",
    "length": "Done: reached the limit of new tokens",
    "stopped": "Stopped",
    "error": "Ended by an error",
}


def counted(n: int, one: str) -> str:
    return f"{n} {one}" if n == 1 else f"{n} {one}s"


def progress_words(trace: Trace) -> str:
    return f"{len(trace.token_ids)} of {counted(trace.header.config.max_new_tokens, 'token')} · round {len(trace.steps)}"


def _share(trace: Trace) -> float:
    return min(1.0, len(trace.token_ids) / trace.header.config.max_new_tokens)


def end_words(trace: Trace | None) -> tuple[str, str]:
    """(text, numbers) once nothing runs any more."""
    if trace is None:
        return "Ready", ""
    numbers = f"{counted(len(trace.token_ids), 'token')} in {counted(len(trace.steps), 'round')}"
    if trace.footer is None:
        return "Paused", numbers
    return STOP_WORDS[trace.footer.stop_reason], numbers
