"""A branch: a recorded run taken up again from one of its steps, with other knobs or a verdict forced the other way.

What makes it is the engine's resume: draws are keyed by position, so with nothing changed a branch is its parent again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from easd_viz import UserError
from easd_viz.replay import config_with
from easd_viz.trace import Config, Outcome, Parent, Step, Trace

if TYPE_CHECKING:
    from easd_viz.models import Pair


class BranchError(UserError):
    """A branch that cannot be made from this trace, or not with this pair."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a branch needs besides a loaded pair."""

    origin: Trace
    config: Config
    resume: tuple[Step, ...]
    parent: Parent


def plan(trace: Trace, step: int, knobs: Mapping[str, Any], forced: Mapping[int, Outcome]) -> Plan:
    """A branch of ``trace`` whose first own step has the index ``step``.

    ``knobs`` are config fields of the gate with new values (``replay.KNOBS``); ``forced`` maps absolute positions to verdicts.
    Raises BranchError for a step that is not there or a verdict that could never be reached, ReplayError for a bad knob.
    """
    if not 0 <= step <= len(trace.steps):
        raise BranchError(
            f"step {step} is not in the trace; it has {len(trace.steps)} steps, so branch from 0 to {len(trace.steps)}"
        )
    config = config_with(trace.header.config, **knobs) if knobs or forced else trace.header.config
    _check_forced(trace, step, forced)
    change = {name: value for name, value in knobs.items() if value != getattr(trace.header.config, name)}
    if config.mode != trace.header.config.mode:
        change["mode"] = config.mode
    parent = Parent(trace.fingerprint, step, change, {**trace.forced, **forced})
    return Plan(trace, config, trace.steps[:step], parent)


def _check_forced(trace: Trace, step: int, forced: Mapping[int, Outcome]) -> None:
    first = len(trace.header.prompt.token_ids) + sum(len(s.token_ids) for s in trace.steps[:step])
    for position in forced:
        if position < first:
            raise BranchError(
                f"position {position} lies before step {step}, whose first token is at {first}; branch from an earlier step"
            )


def other_way(outcome: Outcome) -> Outcome:
    """What "the other way" is: what was kept is rejected, what was turned away is kept."""
    return "rejected" if outcome == "accepted" else "accepted"


def pair_name(trace: Trace) -> str:
    """The pair as ``PairSpec.parse`` takes it: by the name it was loaded under, else by its models' ids."""
    named = trace.header.extra.get("pair")
    draft, target = trace.header.draft_model, trace.header.target_model
    if isinstance(named, str):
        return named
    if draft is None or target is None:
        raise BranchError("the trace does not name both models; say which pair to use")
    return f"{draft.id},{target.id}"


def dtype_of(trace: Trace) -> str:
    """The dtype the trace was recorded in: another one rounds differently, and the branch would not go on as its parent."""
    model = trace.header.target_model or trace.header.draft_model
    return "auto" if model is None else model.dtype


def check_pair(trace: Trace, pair: Pair) -> None:
    """Raise BranchError unless the pair's token ids mean what the trace's do."""
    recorded = trace.header.tokenizer.get("fingerprint")
    if recorded != pair.tokenizer.fingerprint:
        raise BranchError(f"the pair {pair.id} has another tokenizer than the trace was recorded with; load the trace's own pair")


def run(pair: Pair, planned: Plan) -> Iterator[Trace]:
    """Record the branch, one more step each time; see ``record.record``."""
    from easd_viz.record import record

    check_pair(planned.origin, pair)
    return record(pair, planned.origin.header.prompt, planned.config, resume=planned.resume, parent=planned.parent)
