"""A recorded run under other knobs: what each verdict would have been, and how far that can be believed.

Recorded floats and draws give every verdict again by the same ``verify.decide`` (EASD, arXiv 2512.23765, one step). That
is **exact** up to the first verdict that changes. Where that change lets the round go on (gated or rejected before,
accepted now), the rest of that round is **in-round exact**: its drafts, target distributions and uniforms were recorded.
All later is **counterfactual**: the text would have been another one, so those verdicts are estimates on the recorded path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from easd_viz import UserError
from easd_viz.trace import TOP_LENGTH, Config, Outcome, Step, Token, Trace
from easd_viz.verify import SOURCE_OF_REPLACEMENT, Gate, Verdict, gate_conditions, gate_of, judge

Region = Literal["exact", "in_round", "counterfactual"]
Condition = Literal["draft entropy", "target entropy", "overlap", "nothing to resample", "forced"]

KNOBS = ("draft_threshold", "target_threshold", "overlap_threshold", "k", "resample")
"""The config's fields that make up the gate."""

EMPTY: Mapping[int, Outcome] = {}


class ReplayError(UserError):
    """A trace or a knob that a replay cannot work with."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One drafted token under the recorded and under the new knobs."""

    step: int
    token: Token
    now: Outcome
    """Its outcome in its round under the new knobs; ``discarded`` behind a token that ends the round."""
    verdict: Verdict
    """The decision on it alone, discarded or not."""
    region: Region

    @property
    def was(self) -> Outcome:
        return self.token.outcome


@dataclass(frozen=True, slots=True)
class Change:
    """A drafted token on the recorded path whose verdict is another one under the new knobs."""

    step: int
    position: int
    draft_index: int
    text: str
    context: str
    """The last characters of the text before it."""
    was: Outcome
    now: Outcome
    flipped_by: tuple[Condition, ...]
    """The conditions that differ; for a gated token those that hold now, for one no longer gated those that don't."""
    region: Region


@dataclass(frozen=True, slots=True)
class Boundary:
    """Where the recorded path ends to be what the new knobs give."""

    step: int
    """The round of the first difference: re-run from here."""
    position: int
    """Of the first drafted token that is treated differently; exact up to and with its verdict."""
    reason: Literal["verdict", "resample"]
    """``resample``: still gated, but its replacement is drawn by the other rule."""
    goes_on: bool
    """The change lets the round go on: its remaining drafts are in-round exact."""
    last_known: int
    """Position of the last drafted token whose new outcome is exact."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A whole trace under other knobs."""

    gate: Gate
    tokens: tuple[Judged, ...]
    """Every drafted token, in order, discarded ones included."""
    changes: tuple[Change, ...]
    boundary: Boundary | None
    """None where the new knobs change nothing: all is exact."""
    forced: Mapping[int, Outcome] = field(default_factory=dict)


def gate_with(config: Config, **knobs: Any) -> Gate:
    """The gate of a run with some knobs set anew (``KNOBS``); an SD run's gate opens as soon as one knob is given.

    Raises ReplayError where the run verified nothing, TraceError where a knob's value is not possible.
    """
    return gate_of(config_with(config, **knobs))


def config_with(config: Config, **knobs: Any) -> Config:
    """The config of a re-run with some knobs set anew; see ``gate_with``."""
    _check_verified(config)
    if unknown := set(knobs) - set(KNOBS):
        raise ReplayError(f"{', '.join(sorted(unknown))}: not a knob of the gate; the knobs are {', '.join(KNOBS)}")
    if isinstance(knobs.get("k"), int) and knobs["k"] > TOP_LENGTH:
        raise ReplayError(
            f"k = {knobs['k']} is above the {TOP_LENGTH} tokens recorded per list; the largest possible k is {TOP_LENGTH}"
        )
    return replace(config, **knobs, mode="easd" if knobs else config.mode)


def rejudge(trace: Trace, gate: Gate, forced: Mapping[int, Outcome] = EMPTY) -> Replay:
    """Judge a trace again under ``gate``. Verdicts that its branch forced stay forced; ``forced`` adds more (what-if).

    A branch's inherited steps are judged like all others, but where its own knobs contradict them: there they stay.

    Raises ReplayError for draft-only and target-only runs: no token of theirs was decided on.
    """
    _check_verified(trace.header.config)
    recorded = gate_of(trace.header.config)
    every = {**_pinned(trace, recorded), **trace.forced, **forced}
    ends = _end_of_text_ids(trace)
    tokens: list[Judged] = []
    boundary: Boundary | None = None
    for step in trace.steps:
        verdicts = [_judge(t, gate) for t in step.drafted]
        now = _outcomes(step, verdicts, every, ends)
        found = None if boundary else _first_difference(step, now, gate.resample, _rule_of(trace, step))
        for i, token in enumerate(step.drafted):
            tokens.append(Judged(step.index, token, now[i], verdicts[i], _region(i, found, boundary)))
        if found is not None:
            last = len(step.drafted) - 1 if found[2] else found[0]
            at = step.drafted[found[0]].position
            boundary = Boundary(step.index, at, found[1], found[2], step.drafted[last].position)
    return Replay(gate, tuple(tokens), _changes(trace, tokens, recorded, every), boundary, every)


def _inherited(trace: Trace) -> tuple[Step, ...]:
    """The steps that a branch took over from its parent, whose knobs decided them."""
    parent = trace.header.parent
    return () if parent is None else trace.steps[: parent.step]


def _pinned(trace: Trace, recorded: Gate) -> Mapping[int, Outcome]:
    """Verdicts on inherited tokens that the branch's own knobs would not give: forking behind them has fixed them."""
    path = [t for step in _inherited(trace) for t in step.on_path]
    return {t.position: t.outcome for t in path if _judge(t, recorded).outcome != t.outcome}


def _rule_of(trace: Trace, step: Step) -> str | None:
    """The resampling rule of a step's gated token; None in an inherited step that another rule decided (it is fixed)."""
    rule = trace.header.config.resample
    parent = trace.header.parent
    if parent is None or step.index >= parent.step or step.emitted is None:
        return rule
    return rule if step.emitted.source == SOURCE_OF_REPLACEMENT[rule] else None


def _check_verified(config: Config) -> None:
    if config.mode in ("draft", "target"):
        raise ReplayError(f"a {config.mode}-only run has no decided token; replay needs a trace of mode easd or sd")


def _judge(token: Token, gate: Gate) -> Verdict:
    try:
        return judge(token, gate)
    except ValueError as error:
        raise ReplayError(str(error)) from None


def _outcomes(step: Step, verdicts: Sequence[Verdict], forced: Mapping[int, Outcome], ends: frozenset[int]) -> list[Outcome]:
    """A round walked anew, left to right, on its recorded drafts: outcomes up to the stop, ``discarded`` behind it."""
    out: list[Outcome] = []
    open_ = True
    for i, (token, verdict) in enumerate(zip(step.drafted, verdicts, strict=True)):
        outcome = forced.get(token.position, verdict.outcome) if open_ else "discarded"
        out.append(outcome)
        ended = token.token_id in ends or _ended_the_text(step, i)
        open_ = open_ and outcome == "accepted" and not ended
    return out


def _ended_the_text(step: Step, i: int) -> bool:
    """Recorded as accepted with a discarded token behind it: an end of text."""
    after = step.drafted[i + 1 : i + 2]
    return step.drafted[i].outcome == "accepted" and bool(after) and after[0].outcome == "discarded"


def _end_of_text_ids(trace: Trace) -> frozenset[int]:
    """As the header names them; else the one the run ended with, if it did."""
    named = trace.header.tokenizer.get("eos_token_ids")
    ids = {i for i in named if isinstance(i, int)} if isinstance(named, list) else set()
    if trace.footer is not None and trace.footer.stop_reason == "eos" and trace.token_ids:
        ids.add(trace.token_ids[-1])
    return frozenset(ids)


_Difference = tuple[int, Literal["verdict", "resample"], bool]
"""(index in the round, reason, the round goes on)."""


def _first_difference(step: Step, now: Sequence[Outcome], resample: str, recorded: str | None) -> _Difference | None:
    """``recorded``: the rule that gated tokens of this step were resampled by; None where it does not matter."""
    for i, (token, outcome) in enumerate(zip(step.drafted, now, strict=True)):
        if token.outcome != outcome:
            return i, "verdict", outcome == "accepted"
        if outcome == "gated" and recorded not in (None, resample):
            return i, "resample", False
    return None


def _region(i: int, found: _Difference | None, boundary: Boundary | None) -> Region:
    if boundary is not None:
        return "counterfactual"
    if found is None or i <= found[0]:
        return "exact"
    return "in_round" if found[2] else "counterfactual"


# ---- changed verdicts ------------------------------------------------------------------------------------

CONTEXT_CHARACTERS = 40


def _changes(trace: Trace, tokens: Sequence[Judged], recorded: Gate, forced: Mapping[int, Outcome]) -> tuple[Change, ...]:
    """Tokens on the recorded path with another verdict, each judged alone: also behind a round's new stop, as an estimate."""
    out: list[Change] = []
    before = _text_before(trace)
    for each in tokens:
        token = each.token
        now = forced.get(token.position, each.verdict.outcome)
        if token.outcome in ("discarded", now):
            continue
        flipped: tuple[Condition, ...] = ("forced",)
        if token.position not in forced:
            flipped = flipped_by(_judge(token, recorded), each.verdict)
        context = before[token.position][-CONTEXT_CHARACTERS:]
        out.append(
            Change(each.step, token.position, token.draft_index, token.text, context, token.outcome, now, flipped, each.region)
        )
    return tuple(out)


def flipped_by(was: Verdict, now: Verdict) -> tuple[Condition, ...]:
    """The gate's conditions that differ between two verdicts on one token."""
    out: list[Condition] = []
    if was.draft_uncertain != now.draft_uncertain:
        out.append("draft entropy")
    if was.target_uncertain != now.target_uncertain:
        out.append("target entropy")
    if was.agreeing != now.agreeing:
        out.append("overlap")
    return tuple(out) or ("nothing to resample",)


def _text_before(trace: Trace) -> Mapping[int, str]:
    """Position -> the end of the text (prompt included) in front of it, for each position of the path."""
    out: dict[int, str] = {}
    text = trace.header.prompt.text[-CONTEXT_CHARACTERS:]
    for step in trace.steps:
        for token in step.on_path:
            out[token.position] = text
            if token.outcome == "accepted":
                text = (text + token.text)[-CONTEXT_CHARACTERS:]
        if step.emitted is not None:
            text = (text + step.emitted.text)[-CONTEXT_CHARACTERS:]
    return out


# ---- arrays, for sweeps ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GateArrays:
    """All that the gate looks at, of every drafted token on the path of some traces: one row each, in order."""

    trace: NDArray[np.int64]
    """[n] number of its trace, from 0."""
    step: NDArray[np.int64]
    position: NDArray[np.int64]
    """[n] absolute."""
    offset: NDArray[np.int64]
    """[n] position in the generated text, from 0."""
    draft_index: NDArray[np.int64]
    token_id: NDArray[np.int64]
    draft_entropy: NDArray[np.float64]
    """[n] nats."""
    target_entropy: NDArray[np.float64]
    overlap: NDArray[np.float64]
    """[n, 20] overlap_k for k = 1..20."""
    accepted_by_sd: NDArray[np.bool_]
    """[n] u <= min(1, p/q)."""
    target_prob: NDArray[np.float64]
    beta: NDArray[np.float64]
    tv_target: NDArray[np.float64]
    tv_exclude: NDArray[np.float64]
    greedy: NDArray[np.bool_]
    """[n] recorded at temperature 0."""
    tokens: tuple[Token, ...]
    """[n] the records themselves."""
    traces: int
    """How many traces there were, those without a row included."""

    def __len__(self) -> int:
        return len(self.position)

    def overlap_at(self, k: int) -> NDArray[np.float64]:
        """[n] overlap_k (raises ReplayError where k was not recorded)."""
        largest = self.overlap.shape[1]
        if not 1 <= k <= largest:
            raise ReplayError(
                f"k must be from 1 to the {largest} tokens recorded per list; it is {k}. The largest possible k is {largest}"
            )
        return self.overlap[:, k - 1]

    def can_resample(self, resample: str) -> NDArray[np.bool_]:
        """[n] ``verify.can_resample`` row by row."""
        if resample != "exclude":
            return np.ones(len(self), dtype=bool)
        return np.asarray((self.target_prob < 1) | self.greedy)

    def open(self, gate: Gate) -> NDArray[np.bool_]:
        """[n] the gate's three conditions hold and something can be resampled; each row's own trace says whether it is greedy."""
        conditions = gate_conditions(self.draft_entropy, self.target_entropy, self.overlap_at(gate.k), gate)
        return np.asarray(conditions[0] & conditions[1] & conditions[2] & self.can_resample(gate.resample))

    def gated(self, gate: Gate) -> NDArray[np.bool_]:
        """[n] accepted by SD and turned away by the gate."""
        return self.accepted_by_sd & self.open(gate)


def arrays(traces: Iterable[Trace]) -> GateArrays:
    """The drafted tokens on the path of all the traces; runs that verified nothing have none. Forced verdicts are not in it."""
    numbers: list[tuple[int, int, int, bool]] = []
    tokens: list[Token] = []
    total = 0
    for number, trace in enumerate(traces):
        total = number + 1
        if trace.header.config.mode in ("draft", "target"):
            continue
        start = len(trace.header.prompt.token_ids)
        greedy = trace.header.config.temperature == 0
        for step in trace.steps:
            path = step.on_path
            tokens += path
            numbers += [(number, step.index, start, greedy)] * len(path)
    where = np.array(numbers, dtype=np.int64).reshape(-1, 4)
    floats = np.array([_floats(t) for t in tokens], dtype=np.float64).reshape(-1, 8)
    whole = np.array([(t.position, t.draft_index, t.token_id) for t in tokens], dtype=np.int64).reshape(-1, 3)
    draft_prob, target_prob, uniform = floats[:, 0], floats[:, 1], floats[:, 2]
    return GateArrays(
        trace=where[:, 0],
        step=where[:, 1],
        position=whole[:, 0],
        offset=whole[:, 0] - where[:, 2],
        draft_index=whole[:, 1],
        token_id=whole[:, 2],
        draft_entropy=floats[:, 3],
        target_entropy=floats[:, 4],
        overlap=_overlaps(tokens),
        accepted_by_sd=uniform <= np.minimum(1.0, target_prob / draft_prob),
        target_prob=target_prob,
        beta=floats[:, 5],
        tv_target=floats[:, 6],
        tv_exclude=floats[:, 7],
        greedy=where[:, 3].astype(bool),
        tokens=tuple(tokens),
        traces=total,
    )


def _floats(t: Token) -> tuple[float | None, ...]:
    return (t.draft_prob, t.target_prob, t.uniform, t.draft_entropy, t.target_entropy, t.beta, t.tv_target, t.tv_exclude)


def _overlaps(tokens: Sequence[Token]) -> NDArray[np.float64]:
    """[n, 20] |Top_k(p) ∩ Top_k(q)| / k for k = 1..20, as ``verify.overlap`` counts it."""
    draft, draft_length = _top_ids([t.draft_top for t in tokens], filler=-1)
    target, target_length = _top_ids([t.target_top or () for t in tokens], filler=-2)
    joined = np.zeros((len(tokens), TOP_LENGTH), dtype=np.int64)  # ids common to both lists by the k at which they are
    for i in range(TOP_LENGTH):
        for j in range(TOP_LENGTH):
            joined[:, max(i, j)] += draft[:, i] == target[:, j]
    common = joined.cumsum(axis=1)
    length = np.minimum(draft_length, target_length)[:, None]
    size = np.minimum(np.arange(1, TOP_LENGTH + 1)[None, :], length)
    shared: NDArray[np.float64] = np.take_along_axis(common, size - 1, axis=1) / size
    return shared


def _top_ids(lists: Sequence[Sequence[tuple[int, str, float]]], filler: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids of each list's first 20, padded with ``filler`` -> [n, 20]; and how many there are -> [n]."""
    lengths = np.array([min(len(each), TOP_LENGTH) for each in lists], dtype=np.int64)
    ids = np.full((len(lists), TOP_LENGTH), filler, dtype=np.int64)
    mask = np.arange(TOP_LENGTH)[None, :] < lengths[:, None]
    ids[mask] = [entry[0] for each in lists for entry in each[:TOP_LENGTH]]
    return ids, lengths
