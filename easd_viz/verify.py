"""The decision: which drafted tokens are kept. Floats in, verdict out; no tensor library, no model.

Glossary (the only words used for these things in code, UI, README and trace)
-----------------------------------------------------------------------------
draft model, target model
    The small model that proposes tokens and the large one that verifies them. In formulas **q** is the
    draft's distribution and **p** the target's (Leviathan et al. 2023, arXiv 2211.17192).
drafted token
    A token x_i ~ q_i that the draft model proposed, i = 1..gamma.
accepted by SD
    u_i <= min(1, p_i(x_i) / q_i(x_i)) (Leviathan et al. 2023, algorithm 1; Chen et al. 2023, arXiv 2302.01318).
gate
    EASD's extra test on a token that SD accepted: both models uncertain, H(q_i) >= tau_draft and H(p_i) >= tau_target, and
    agreeing, overlap_k(p_i, q_i) >= rho (EASD, arXiv 2512.23765).
accepted
    Accepted by SD and not gated: the token is emitted and the round goes on.
rejected
    Not accepted by SD: one token is emitted from the residual, norm(max(p_i - q_i, 0)), and the round ends.
gated
    Accepted by SD but turned away by the gate: one token is **resampled** from the target, and the round ends.
discarded
    Drafted after a rejected or gated token (or after an accepted end of text): verified by nobody, off the path.
residual
    norm(max(p - q, 0)), the law of the token that replaces a rejected one.
bonus
    The extra token from p_{gamma+1} when all gamma drafted tokens were accepted. It has no draft; the gate never sees it.
on the path
    Drafted tokens that were decided on: accepted, rejected or gated. Discarded ones are off the path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from easd_viz.trace import TOP_LENGTH, Config, Outcome, Source, Step, Token, TraceError


@dataclass(frozen=True, slots=True)
class Gate:
    """The knobs of the gate; ``float("inf")`` as a threshold closes it."""

    draft_threshold: float
    """tau_draft, nats: the draft's entropy must be at least this."""
    target_threshold: float
    """tau_target, nats: the target's entropy must be at least this."""
    overlap_threshold: float
    """rho in [0, 1]: the overlap of the top-k lists must be at least this."""
    k: int
    """Length of the compared top-k lists (the paper's N)."""
    resample: str
    """``target`` or ``exclude``: where a gated token's replacement comes from."""
    greedy: bool
    """Temperature 0. ``exclude`` then works on the logits, so there is always a second choice."""


def gate_of(config: Config) -> Gate:
    """The gate a run with this config has; in any mode but ``easd`` it is closed (infinite thresholds)."""
    is_open = config.mode == "easd"
    return Gate(
        draft_threshold=config.draft_threshold if is_open else float("inf"),
        target_threshold=config.target_threshold if is_open else float("inf"),
        overlap_threshold=config.overlap_threshold,
        k=config.k,
        resample=config.resample,
        greedy=config.temperature == 0,
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was decided on one drafted token, with each condition that led to it."""

    outcome: Outcome
    accept_prob: float
    """min(1, p/q)."""
    accepted_by_sd: bool
    draft_uncertain: bool
    target_uncertain: bool
    agreeing: bool


def accept_probability(draft_prob: float, target_prob: float) -> float:
    """min(1, p(x)/q(x)) of a drafted token (Leviathan et al. 2023, algorithm 1)."""
    if draft_prob <= 0:
        raise ValueError(f"a drafted token has draft probability {draft_prob}; it must be above 0, as it was drawn from q")
    return min(1.0, target_prob / draft_prob)


def overlap(draft_ids: Sequence[int], target_ids: Sequence[int], k: int) -> float:
    """overlap_k = |Top_k(p) ∩ Top_k(q)| / k from two lists of token ids, best first.

    A vocabulary smaller than k has only that many tokens to compare: k then counts as its size, and the overlap is 1.
    """
    size = min(k, len(draft_ids), len(target_ids))
    return len(set(draft_ids[:size]) & set(target_ids[:size])) / size


def gate_conditions(draft_entropy: Any, target_entropy: Any, overlap: Any, gate: Gate) -> tuple[Any, Any, Any]:
    """(draft uncertain, target uncertain, agreeing) for floats or, element by element, for arrays. Each test is ``>=``."""
    return (
        draft_entropy >= gate.draft_threshold,
        target_entropy >= gate.target_threshold,
        overlap >= gate.overlap_threshold,
    )


def can_resample(target_prob: Any, gate: Gate) -> Any:
    """False where ``exclude`` leaves nothing to draw from: p(x) = 1, away from temperature 0. Floats or arrays."""
    if gate.resample == "exclude" and not gate.greedy:
        return target_prob < 1
    return target_prob >= 0


def decide(
    *,
    draft_prob: float,
    target_prob: float,
    uniform: float,
    draft_entropy: float,
    target_entropy: float,
    overlap: float,
    gate: Gate,
) -> Verdict:
    """The verdict on one drafted token: the SD test, then the gate (arXiv 2512.23765; one step of EASD).

    Probabilities are of the drafted token under the sampling distributions (after temperature, top-k, top-p);
    entropies in nats over the full vocabulary; ``uniform`` in (0, 1]. The engine, replay and the reader of
    trace files all call this function, so a what-if and a run can't drift apart.
    """
    accept_prob = accept_probability(draft_prob, target_prob)
    accepted_by_sd = uniform <= accept_prob
    draft_uncertain, target_uncertain, agreeing = gate_conditions(draft_entropy, target_entropy, overlap, gate)
    outcome: Outcome = "rejected"
    if accepted_by_sd:
        fires = draft_uncertain and target_uncertain and agreeing and can_resample(target_prob, gate)
        outcome = "gated" if fires else "accepted"
    return Verdict(outcome, accept_prob, accepted_by_sd, draft_uncertain, target_uncertain, agreeing)


def judge(token: Token, gate: Gate) -> Verdict:
    """``decide`` on a recorded drafted token; the overlap is taken anew from its top lists at the gate's k.

    Raises ValueError where the gate's k is above the recorded K, or the token has no target (draft-only runs).
    """
    if token.target_prob is None or token.target_entropy is None or token.uniform is None or token.target_top is None:
        raise ValueError(f"the token at position {token.position} was never verified (a draft-only run): nothing to judge")
    return decide(
        draft_prob=token.draft_prob,
        target_prob=token.target_prob,
        uniform=token.uniform,
        draft_entropy=token.draft_entropy,
        target_entropy=token.target_entropy,
        overlap=overlap_of(token, gate.k),
        gate=gate,
    )


def overlap_of(token: Token, k: int) -> float:
    """A recorded token's overlap at any k up to the recorded K (raises ValueError above it)."""
    if token.target_top is None:
        raise ValueError(f"the token at position {token.position} has no target list (a draft-only run)")
    recorded = min(len(token.draft_top), len(token.target_top))
    if k > recorded and recorded >= 20:
        raise ValueError(f"k = {k} is above the {recorded} tokens recorded per list; the largest possible k is {recorded}")
    return overlap([t[0] for t in token.draft_top], [t[0] for t in token.target_top], k)


SOURCE_OF_REPLACEMENT: Mapping[str, Source] = {"target": "target", "exclude": "target_excluding_draft"}
"""The trace's word for where a gated token's replacement comes from, by resampling rule."""


def check_step(step: Step, config: Config, forced: Mapping[int, Outcome], inherited: bool = False) -> None:
    """Raise TraceError where a recorded step's outcomes are not what the decision rule gives.

    ``forced`` maps positions to the verdicts that a what-if branch forced there. An ``inherited`` step was decided by the
    knobs of the branch's parent, which its file does not hold: any gate will do there, but SD's test must hold.
    """
    if config.mode in ("target", "draft"):
        return
    gate = gate_of(config)
    stop: Token | None = None
    for before, token in zip([None, *step.drafted], step.drafted, strict=False):
        if stop is not None or (before is not None and before.outcome == "discarded"):
            expected: Outcome = "discarded"
        elif token.outcome == "discarded":  # behind an accepted end of text: then the step emits nothing
            if before is None or step.emitted is not None:
                raise TraceError(f"the token at position {token.position} is discarded though no token before it ended the round")
            continue
        else:
            verdict = judge(token, gate)
            if token.accept_prob != verdict.accept_prob:
                raise TraceError(
                    f"accept_prob at position {token.position} is {token.accept_prob}, but min(1, p/q) is {verdict.accept_prob}"
                )
            if token.overlap != (found := overlap_of(token, config.k)) and not (inherited and _is_overlap_at_some_k(token)):
                raise TraceError(
                    f"overlap at position {token.position} is {token.overlap}, but its top lists give {found} at k = {config.k}"
                )
            ruled = token.outcome if inherited and verdict.accepted_by_sd and token.outcome != "rejected" else verdict.outcome
            expected = forced.get(token.position, ruled)
        if token.outcome != expected:
            raise TraceError(
                f"outcome at position {token.position} is {token.outcome!r}, but the decision rule gives {expected!r}"
            )
        if expected in ("rejected", "gated"):
            stop = token
    _check_source(step, stop, config, inherited)


def _is_overlap_at_some_k(token: Token) -> bool:
    return token.overlap in {overlap_of(token, k) for k in range(1, TOP_LENGTH + 1)}


def _check_source(step: Step, stop: Token | None, config: Config, inherited: bool) -> None:
    if step.emitted is None:
        if stop is not None:
            raise TraceError(f"the {stop.outcome} token at position {stop.position} has no emitted token in its place")
        return
    expected: Source = "bonus"
    if stop is not None:
        expected = "residual" if stop.outcome == "rejected" else SOURCE_OF_REPLACEMENT[config.resample]
        if inherited and stop.outcome == "gated" and step.emitted.source in SOURCE_OF_REPLACEMENT.values():
            expected = step.emitted.source
    if step.emitted.source != expected:
        raise TraceError(f"source of the emitted token is {step.emitted.source!r}, but the decision rule gives {expected!r}")
