"""What a run comes to in numbers, by their standard names, each with the counts it was computed from.

A metric that a run leaves undefined (no token was decided, no clock was read) is None, never 0. Sources:
Leviathan et al. 2023 (arXiv 2211.17192) for alpha, block efficiency and the speed-up (theorem 3.8); EASD
(arXiv 2512.23765) for the gate. Acceptance and gate rate are over drafted tokens **on the path**; see the glossary
in ``verify``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from easd_viz.trace import Step, Token, Trace


@dataclass(frozen=True, slots=True)
class Ratio:
    """A rate with what it was divided from; ``value`` is None where nothing was counted."""

    numerator: float
    denominator: float

    @property
    def value(self) -> float | None:
        return self.numerator / self.denominator if self.denominator > 0 else None

    def __add__(self, other: Ratio) -> Ratio:
        """Pooled over both: counts are added, rates are not averaged."""
        return Ratio(self.numerator + other.numerator, self.denominator + other.denominator)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of each thing a trace holds. In draft-only runs nobody decides: ``decided`` is 0 though all are ``accepted``."""

    rounds: int
    """Draft-verify rounds: steps."""
    target_passes: int
    """Target forward passes of the decode phase: one per round, none in draft-only runs."""
    prompt_tokens: int
    emitted: int
    """Tokens of the text, prompt apart."""
    drafted: int
    decided: int
    """Drafted tokens on the path: accepted + rejected + gated."""
    accepted: int
    rejected: int
    gated: int
    discarded: int
    bonus: int


@dataclass(frozen=True, slots=True)
class Times:
    """Wall times in ms, the prompt's prefill apart from the rest. None: not recorded (a run that is cut off or still going)."""

    prefill_ms: float | None
    wall_ms: float | None
    """Decode wall time: the footer's, or the sum of the steps' three clocks where that is more or there is no footer."""
    draft_ms: float
    verify_ms: float
    record_ms: float


@dataclass(frozen=True, slots=True)
class Cost:
    """Leviathan's c = draft step time / target step time, as far as a trace tells it."""

    draft_step_ms: float | None
    """Median over rounds of draft_ms / drafted tokens."""
    target_step_ms: float | None
    """Median over rounds of verify_ms (a pass over up to gamma + 1 tokens), unless measured apart and handed in."""
    target_step_is_measured_apart: bool

    @property
    def c(self) -> float | None:
        if self.draft_step_ms is None or not self.target_step_ms:
            return None
        return self.draft_step_ms / self.target_step_ms

    @property
    def source(self) -> str:
        """How c was come by, for a label."""
        target = "the given target step time" if self.target_step_is_measured_apart else "median verify_ms per round"
        return f"c = median draft_ms per drafted token / {target}"


@dataclass(frozen=True, slots=True)
class Metrics:
    """Every metric of a run."""

    counts: Counts
    times: Times
    gamma: int
    acceptance_rate: Ratio
    """accepted / (accepted + rejected + gated)."""
    expected_acceptance: Ratio
    """alpha: mean of beta over drafted tokens on the path; what the acceptance rate of SD estimates."""
    conditional_acceptance: tuple[Ratio, ...]
    """At draft index i = 1..gamma: the acceptance rate over tokens at that index only (given that the round got there)."""
    conditional_expected_acceptance: tuple[Ratio, ...]
    """Likewise the mean of beta."""
    draft_utilisation: Ratio
    """accepted / drafted: discarded ones count (vLLM's draft acceptance rate)."""
    block_efficiency: Ratio
    """Emitted tokens / target forward passes of the decode phase."""
    gate_rate: Ratio
    """gated / (accepted + gated): the share of SD-accepted tokens that the gate turned away."""
    cost: Cost
    expected_speed_up: float | None
    """(1 - alpha^(gamma+1)) / ((1 - alpha)(gamma c + 1)): of SD over the target alone; what the gate costs is not in it."""
    throughput: Ratio
    """Emitted tokens / wall seconds, prefill apart."""
    draft_share: Ratio
    verify_share: Ratio
    record_share: Ratio
    """Shares of the decode wall time (ms / ms)."""


def summarise(trace: Trace, target_step_ms: float | None = None) -> Metrics:
    """All metrics of one trace. ``target_step_ms``: the time of one single-token target pass, where one was measured."""
    config = trace.header.config
    verified = config.mode in ("easd", "sd")
    counts = _counts(trace, verified)
    times = _times(trace)
    path = [t for s in trace.steps for t in s.on_path] if verified else []
    by_index = [[t for t in path if t.draft_index == i] for i in range(1, config.gamma + 1)] if verified else []
    alpha = _mean_beta(path)
    cost = _cost(trace.steps, verified, target_step_ms)
    return Metrics(
        counts=counts,
        times=times,
        gamma=config.gamma,
        acceptance_rate=Ratio(counts.accepted if verified else 0, counts.decided),
        expected_acceptance=alpha,
        conditional_acceptance=tuple(_acceptance(tokens) for tokens in by_index),
        conditional_expected_acceptance=tuple(_mean_beta(tokens) for tokens in by_index),
        draft_utilisation=Ratio(counts.accepted, counts.drafted) if verified else Ratio(0, 0),
        block_efficiency=Ratio(counts.emitted, counts.target_passes),
        gate_rate=Ratio(counts.gated, counts.accepted + counts.gated) if verified else Ratio(0, 0),
        cost=cost,
        expected_speed_up=_speed_up(alpha.value, config.gamma, cost.c),
        throughput=Ratio(counts.emitted, (times.wall_ms or 0) / 1000),
        draft_share=Ratio(times.draft_ms, times.wall_ms or 0),
        verify_share=Ratio(times.verify_ms, times.wall_ms or 0),
        record_share=Ratio(times.record_ms, times.wall_ms or 0),
    )


def expected_speed_up(alpha: float, gamma: int, c: float) -> float:
    """Leviathan et al. 2023, theorem 3.8: (1 - alpha^(gamma+1)) / ((1 - alpha)(gamma c + 1)); gamma + 1 above at alpha = 1."""
    tokens_per_round = math.fsum(alpha**i for i in range(gamma + 1))
    return tokens_per_round / (gamma * c + 1)


def _speed_up(alpha: float | None, gamma: int, c: float | None) -> float | None:
    return None if alpha is None or c is None else expected_speed_up(min(alpha, 1.0), gamma, c)


def _counts(trace: Trace, verified: bool) -> Counts:
    outcomes = Counter(t.outcome for s in trace.steps for t in s.drafted)
    drafted = outcomes.total()
    return Counts(
        rounds=len(trace.steps),
        target_passes=0 if trace.header.config.mode == "draft" else len(trace.steps),
        prompt_tokens=len(trace.header.prompt.token_ids),
        emitted=len(trace.token_ids),
        drafted=drafted,
        decided=drafted - outcomes["discarded"] if verified else 0,
        accepted=outcomes["accepted"],
        rejected=outcomes["rejected"],
        gated=outcomes["gated"],
        discarded=outcomes["discarded"],
        bonus=sum(s.emitted is not None and s.emitted.source == "bonus" for s in trace.steps),
    )


def _times(trace: Trace) -> Times:
    draft_ms = math.fsum(s.draft_ms for s in trace.steps)
    verify_ms = math.fsum(s.verify_ms for s in trace.steps)
    record_ms = math.fsum(s.record_ms for s in trace.steps)
    in_steps = draft_ms + verify_ms + record_ms
    footer = trace.footer
    wall_ms = max(in_steps, footer.wall_ms if footer is not None else 0.0)
    return Times(
        prefill_ms=None if footer is None else footer.prefill_ms,
        wall_ms=wall_ms if wall_ms > 0 else None,
        draft_ms=draft_ms,
        verify_ms=verify_ms,
        record_ms=record_ms,
    )


def _cost(steps: Iterable[Step], verified: bool, target_step_ms: float | None) -> Cost:
    rounds = [s for s in steps if s.drafted and verified]
    draft_step = median([s.draft_ms / len(s.drafted) for s in rounds]) if rounds else None
    if target_step_ms is not None:
        return Cost(draft_step, target_step_ms, True)
    return Cost(draft_step, median([s.verify_ms for s in rounds]) if rounds else None, False)


def _acceptance(tokens: list[Token]) -> Ratio:
    return Ratio(sum(t.outcome == "accepted" for t in tokens), len(tokens))


def _mean_beta(tokens: list[Token]) -> Ratio:
    betas = [t.beta for t in tokens if t.beta is not None]
    return Ratio(math.fsum(betas), len(betas))


# ---- for printing ----------------------------------------------------------------------------------------


def flat(metrics: Metrics) -> dict[str, float | int | None]:
    """One flat object for programs: the metric names in snake_case, then the counts, then the times in ms."""
    m, c, t = metrics, metrics.counts, metrics.times
    rates = {name: getattr(m, name).value for name in _RATES}
    by_index: dict[str, float | int | None] = {}
    for i, (rate, beta) in enumerate(zip(m.conditional_acceptance, m.conditional_expected_acceptance, strict=True), start=1):
        by_index[f"conditional_acceptance_{i}"] = rate.value
        by_index[f"conditional_expected_acceptance_{i}"] = beta.value
        by_index[f"accepted_{i}"] = int(rate.numerator)
        by_index[f"decided_{i}"] = int(rate.denominator)
    counts = {name: getattr(c, name) for name in Counts.__slots__}
    times = {name: getattr(t, name) for name in Times.__slots__}
    return {
        **rates,
        "expected_speed_up": m.expected_speed_up,
        "throughput": m.throughput.value,
        "draft_share": m.draft_share.value,
        "verify_share": m.verify_share.value,
        "record_share": m.record_share.value,
        **by_index,
        **counts,
        "gamma": m.gamma,
        **times,
        "draft_step_ms": m.cost.draft_step_ms,
        "target_step_ms": m.cost.target_step_ms,
        "cost_ratio": m.cost.c,
    }


_RATES = ("acceptance_rate", "expected_acceptance", "draft_utilisation", "block_efficiency", "gate_rate")


@dataclass(frozen=True, slots=True)
class Row:
    """A metric for people."""

    key: str
    """As in ``flat``."""
    label: str
    value: float | None
    unit: str
    """``%`` (value is a fraction), ``x``, ``tokens/pass`` or ``tokens/s``."""
    counts: str
    """What it was computed from, in words."""

    @property
    def text(self) -> str:
        if self.value is None:
            return "undefined"
        return f"{100 * self.value:.1f} %" if self.unit == "%" else f"{self.value:.2f} {self.unit}"


def rows(metrics: Metrics) -> list[Row]:
    """Every metric with its counts in words, in the order of the app and of ``show``."""
    m = metrics
    rows = [
        _row("acceptance_rate", "acceptance rate", m.acceptance_rate, "{0} accepted of {1} decided"),
        _row("expected_acceptance", "expected acceptance α", m.expected_acceptance, "mean β of {1} drafted tokens on the path"),
    ]
    for i, ratio in enumerate(m.conditional_acceptance, start=1):
        words = f"{{0}} accepted of {{1}} decided at draft index {i}"
        rows.append(_row(f"conditional_acceptance_{i}", f"conditional acceptance at {i}", ratio, words))
    rows += [
        _row("draft_utilisation", "draft utilisation", m.draft_utilisation, "{0} accepted of {1} drafted"),
        _row("block_efficiency", "block efficiency", m.block_efficiency, "{0} emitted in {1} target passes", "tokens/pass"),
        _row("gate_rate", "gate rate", m.gate_rate, "{0} gated of {1} accepted by SD"),
        Row("expected_speed_up", "expected speed-up", m.expected_speed_up, "x", _speed_up_words(m)),
        _row("throughput", "throughput", m.throughput, "{0} emitted in {1:.2f} s, prefill apart", "tokens/s"),
    ]
    for name in ("draft", "verify", "record"):
        rows.append(_row(f"{name}_share", f"{name} share", getattr(m, f"{name}_share"), "{0:.0f} of {1:.0f} ms wall time"))
    return rows


def _row(key: str, label: str, ratio: Ratio, words: str, unit: str = "%") -> Row:
    """``words`` may name {0}, the numerator, and {1}, the denominator; counts are whole numbers as they come."""
    if ratio.value is None:
        return Row(key, label, None, unit, "nothing to count in this run")
    return Row(key, label, ratio.value, unit, words.format(ratio.numerator, ratio.denominator))


def _speed_up_words(metrics: Metrics) -> str:
    c = metrics.cost.c
    if metrics.expected_speed_up is None or c is None:
        return "needs a draft, a target and their clocks"
    return f"α = {metrics.expected_acceptance.value:.3f}, γ = {metrics.gamma}, c = {c:.3f} ({metrics.cost.source})"


def lines(metrics: Metrics) -> list[str]:
    """The rows as aligned lines of text, then the counts and times that no row names."""
    shown = rows(metrics)
    wide, values = max(len(row.label) for row in shown), max(len(row.text) for row in shown)
    out = [f"{row.label:<{wide}}  {row.text:>{values}}  {row.counts}" for row in shown]
    c, t = metrics.counts, metrics.times
    prefill = "prefill not recorded" if t.prefill_ms is None else f"{t.prefill_ms:.0f} ms prefill"
    out.append(f"{c.rounds} rounds, {c.prompt_tokens} prompt tokens, {c.discarded} discarded, {c.bonus} bonus; {prefill}")
    return out
