"""Claims about the algorithm that a pair can be put to: each runs a few tokens and compares what came out with what must.

``carry_out`` yields how far it is, then a result. A result that differs says what the likely reasons are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, log
from typing import TYPE_CHECKING

from easd_viz.record import encode_prompt, record
from easd_viz.trace import Config, Token, Trace

if TYPE_CHECKING:
    from easd_viz.models import Pair

PROMPT = "Tell me a short story about a lighthouse keeper and a lost boat."
TOKENS = 16
"""Length of each run: enough for several rounds, and short while others wait for the models."""
SAMPLED = Config(temperature=0.7, max_new_tokens=TOKENS, seed=4)
GREEDY = replace(SAMPLED, temperature=0.0)
NEAR_TIE = 0.01
"""Nats. Two logits closer than this can change places by rounding alone."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a check is."""

    what: str
    done: int
    total: int
    """Tokens."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came out."""

    holds: bool
    found: str
    """What was seen, with its numbers."""
    explanation: str = ""
    """Where it does not hold: the likely reasons."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a check."""

    what: str
    config: Config
    draft_is_target: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """A claim, the runs that test it, and the judge of their traces."""

    name: str
    title: str
    expected: str
    runs: tuple[Run, ...]
    judge: Callable[[Sequence[Trace]], Result]


def carry_out(check: Check, pair: Pair) -> Iterator[Progress | Result]:
    """Progress after every round, then the result. Raises the engine's and the models' own errors."""
    traces: list[Trace] = []
    for run in check.runs:
        used = replace(pair, draft=pair.target) if run.draft_is_target else pair
        prompt = encode_prompt(used, PROMPT)
        for trace in record(used, prompt, run.config):
            yield Progress(run.what, len(trace.token_ids), run.config.max_new_tokens)
        traces.append(trace)
    yield check.judge(traces)


# ---- judges --------------------------------------------------------------------------------------------------

ROUNDING = "In 16 bits this is expected now and then: one token at a time and several at once are rounded differently."


def accepts_everything(traces: Sequence[Trace]) -> Result:
    """Draft = target: p = q, so min(1, p/q) = 1 and every u is below it."""
    decided = [token for step in traces[0].steps for token in step.on_path]
    turned = [token for token in decided if token.outcome != "accepted"]
    if not turned:
        return Result(True, f"{len(decided)} of {len(decided)} drafted tokens were accepted.")
    first = turned[0]
    found = f"{len(decided) - len(turned)} of {len(decided)} were accepted; {first.text!r} at position {first.position} was not."
    explanation = (
        f"Its p/q should be 1 and was {first.accept_prob:.4f}. Very near 1, this is rounding: the draft reads one token at a "
        f"time, the target several at once. {ROUNDING} Far from 1, the two read different texts: a bug in the cache."
    )
    return Result(False, found, explanation)


def same_greedy_text(traces: Sequence[Trace]) -> Result:
    """SD at temperature 0 must emit the target's own first choices."""
    sd, alone = traces
    at = _first_difference(sd.token_ids, alone.token_ids)
    if at is None:
        passes = f"{len(sd.steps)} target passes instead of {len(alone.steps)}"
        return Result(True, f"The same {len(alone.token_ids)} tokens, in {passes}.")
    found = f"The texts agree for {at} tokens, then differ."
    gap = _gap(sd, len(sd.header.prompt.token_ids) + at)
    if gap is None:
        return Result(False, found, f"Run it in float32 to see whether it is rounding. {ROUNDING}")
    if gap < NEAR_TIE:
        near = f"There the target’s two best logits are {gap:.4f} nats apart: a near-tie, decided by rounding. {ROUNDING}"
        return Result(False, found, near)
    return Result(
        False, found, f"There the target’s two best logits are {gap:.2f} nats apart: too far for rounding. This is a bug."
    )


def same_trace_as_sd(traces: Sequence[Trace]) -> Result:
    """A gate that can't fire leaves every verdict and every token as SD has them."""
    sd, easd = traces
    at = _first_difference(_verdicts(sd), _verdicts(easd))
    if at is None:
        drafted = sum(len(step.drafted) for step in sd.steps)
        return Result(True, f"All {len(sd.token_ids)} tokens and all verdicts on {drafted} drafted ones are the same.")
    found = f"The two runs differ at verdict {at + 1}: {_shown(sd, at)} in SD, {_shown(easd, at)} in EASD."
    return Result(False, found, "Both runs have the same draws, and an entropy is never infinite: this is a bug.")


def gates_everything(traces: Sequence[Trace]) -> Result:
    """τ = 0 and ρ = 0 hold for any token: none that SD accepts is left."""
    decided = [token for step in traces[0].steps for token in step.on_path]
    kept = [token for token in decided if token.outcome == "accepted"]
    gated = sum(token.outcome == "gated" for token in decided)
    if not kept and gated:
        return Result(
            True, f"SD accepted {gated} of {len(decided)} drafted tokens, and the gate turned away each of the {gated}."
        )
    if not kept:
        found = f"SD accepted none of the {len(decided)} drafted tokens, so the gate was never asked."
        return Result(False, found, "This says nothing about the gate: a pair whose models agree more often would.")
    return Result(
        False,
        f"The gate let {len(kept)} of {len(kept) + gated} pass, {kept[0].text!r} first.",
        "Every entropy is at least 0, and so is every overlap: this is a bug.",
    )


def _first_difference(one: Sequence[object], other: Sequence[object]) -> int | None:
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return None if len(one) == len(other) else min(len(one), len(other))


def _verdicts(trace: Trace) -> list[tuple[int, str]]:
    """Per drafted and emitted token: its id, and its verdict or source (the rules' names apart)."""
    out: list[tuple[int, str]] = []
    for step in trace.steps:
        out += [(token.token_id, token.outcome) for token in step.drafted]
        if step.emitted is not None:
            out.append((step.emitted.token_id, step.emitted.source))
    return out


def _shown(trace: Trace, at: int) -> str:
    verdicts = _verdicts(trace)
    return f"token {verdicts[at][0]} {verdicts[at][1]}" if at < len(verdicts) else "the end"


def _gap(trace: Trace, position: int) -> float | None:
    """Between the target's two best logits at a position, nats; None where no drafted token was verified there."""
    found: list[Token] = [t for step in trace.steps for t in step.on_path if t.position == position]
    if not found or not found[0].target_top or len(found[0].target_top) < 2:
        return None
    first, second = found[0].target_top[0][2], found[0].target_top[1][2]
    return log(first / second) if second > 0 else None


# ---- the checks ----------------------------------------------------------------------------------------------

CHECKS: tuple[Check, ...] = (
    Check(
        "draft-is-target",
        "The target drafts for itself",
        "p = q everywhere, so min(1, p/q) = 1: every drafted token is accepted.",
        (Run("The target as its own draft", replace(SAMPLED, mode="sd"), draft_is_target=True),),
        accepts_everything,
    ),
    Check(
        "greedy",
        "Temperature 0: SD against the target alone",
        "SD changes who writes, not what is written: both texts are the same, token for token.",
        (
            Run("SD", replace(GREEDY, mode="sd")),
            Run("The target alone", replace(GREEDY, mode="target")),
        ),
        same_greedy_text,
    ),
    Check(
        "closed-gate",
        "τ = ∞: EASD against SD",
        "No entropy reaches infinity, so the gate stays closed: EASD is SD, verdict for verdict, on the same draws.",
        (
            Run("SD", replace(SAMPLED, mode="sd")),
            Run("EASD with τ = ∞", replace(SAMPLED, mode="easd", draft_threshold=inf, target_threshold=inf)),
        ),
        same_trace_as_sd,
    ),
    Check(
        "open-gate",
        "τ = 0, ρ = 0: the gate wide open",
        "Every token passes all three conditions: each one that SD accepts is gated, and no draft survives.",
        (
            Run(
                "EASD with τ = 0 and ρ = 0",
                replace(SAMPLED, mode="easd", draft_threshold=0.0, target_threshold=0.0, overlap_threshold=0.0),
            ),
        ),
        gates_everything,
    ),
)


def named(name: str) -> Check:
    """The check of this name; raises StopIteration where there is none."""
    return next(check for check in CHECKS if check.name == name)
