"""How well a draft fits a target, measured on the target's own answers: what to look at when choosing a pair.

beta = sum over v of min(p(v), q(v)) is the probability that standard speculative decoding accepts a drafted token there
(Leviathan et al. 2023, arXiv 2211.17192, corollary 3.6). Here it is averaged over every position of texts that the target
wrote alone, so the figure does not depend on gamma. With c (draft step time / target step time) it gives the expected speed-up.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from easd_viz import UserError, sampling
from easd_viz.engine import Model, Pair, decode
from easd_viz.trace import Config

TIMED_STEPS = 40
"""One-token forwards per model whose median is its step time."""
TIMED_CONTEXT = 64
"""Tokens in the cache before the first of them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One prompt's answer by the target, position by position."""

    category: str
    """From the prompts' file; empty where it has none."""
    beta: tuple[float, ...]
    """sum min(p, q) at each position, from 0 to 1."""
    agrees: tuple[bool, ...]
    """Whether both models' likeliest tokens are the same one: SD's acceptance where drafting and verifying are greedy."""
    draft_entropy: tuple[float, ...]
    """nats."""
    target_entropy: tuple[float, ...]
    """nats."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Means over all positions of some answers."""

    positions: int
    """n."""
    answers: int
    beta: float
    """Mean of sum min(p, q): the expected acceptance rate of a drafted token."""
    greedy: float
    """Share of positions where the likeliest tokens agree."""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Median wall time of one forward pass over one token, in ms."""

    draft_ms: float
    target_ms: float

    @property
    def c(self) -> float:
        """Leviathan's c."""
        return self.draft_ms / self.target_ms


class OverlapError(UserError):
    """A measurement that has nothing to measure."""


@dataclass(frozen=True, slots=True)
class Question:
    """What to measure on."""

    prompt_ids: Sequence[int]
    category: str = ""
    answer_ids: Sequence[int] = ()
    """An answer that the target gave before, at the same temperature; empty: it answers now, one token at a time."""


def measure(pair: Pair, questions: Sequence[Question], config: Config) -> Iterator[Answer]:
    """For each question: the target answers alone, unless it has an answer, then both models read the answer.

    Temperature, truncation, length and seed come from ``config``. Raises EngineError where a prompt does not fit.
    """
    alone = replace(config, mode="target")
    for question in questions:
        answer = question.answer_ids[: config.max_new_tokens]
        if not answer:
            answer = [i for step in decode(pair, question.prompt_ids, alone, lists=False) for i in step.token_ids]
        if answer:
            yield compare(pair, question.prompt_ids, answer, question.category, config)


@torch.inference_mode()
def compare(pair: Pair, prompt_ids: Sequence[int], answer_ids: Sequence[int], category: str, config: Config) -> Answer:
    """Both models' distributions at every position of one answer, by one pass of each."""
    draft, target = (_logits(m, prompt_ids, answer_ids, pair.vocab_size) for m in (pair.draft, pair.target))
    draft = draft.to(target.device)
    q, p = (sampling.sampling_distribution(x, config.temperature, config.top_k, config.top_p) for x in (draft, target))
    entropies = [sampling.entropy(sampling.distribution(x, config.temperature)).tolist() for x in (draft, target)]
    return Answer(
        category,
        tuple(sampling.common(p, q).sum(-1).tolist()),
        tuple((draft.argmax(-1) == target.argmax(-1)).tolist()),
        tuple(entropies[0]),
        tuple(entropies[1]),
    )


def _logits(model: Model, prompt_ids: Sequence[int], answer_ids: Sequence[int], vocab: int) -> Tensor:
    """The logits that predict each token of the answer, [answer, vocab]."""
    session = model.prefill(prompt_ids[:-1])
    fed = torch.tensor([prompt_ids[-1], *answer_ids[:-1]], device=model.device)
    return session.forward(fed)[:, :vocab]


def fit(answers: Sequence[Answer]) -> Fit:
    """Means over all positions: long answers count by their length. Raises OverlapError where there is none."""
    betas = [b for a in answers for b in a.beta]
    agrees = [b for a in answers for b in a.agrees]
    if not betas:
        raise OverlapError("the target's answers are all empty; give other prompts or a larger --max-new-tokens")
    return Fit(len(betas), len(answers), statistics.fmean(betas), statistics.fmean(agrees))


def by_category(answers: Sequence[Answer]) -> dict[str, Fit]:
    """One ``Fit`` per category, in the order of their first appearance; empty where the prompts have no categories."""
    names = dict.fromkeys(a.category for a in answers if a.category)
    return {name: fit([a for a in answers if a.category == name]) for name in names}


def step_times(pair: Pair) -> StepTimes:
    """How long one draft step and one target step take on this machine, now."""
    return StepTimes(_step_ms(pair.draft, pair.vocab_size), _step_ms(pair.target, pair.vocab_size))


@torch.inference_mode()
def _step_ms(model: Model, vocab: int) -> float:
    session = model.prefill([i % vocab for i in range(TIMED_CONTEXT)])
    token = torch.tensor([0], device=model.device)
    times = []
    for _ in range(TIMED_STEPS + 3):
        started = time.perf_counter()
        float(session.forward(token)[0, 0])  # the copy to the host waits for the device
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times[3:])


def speed_up(alpha: float, gamma: int, c: float) -> float:
    """Leviathan's theorem 3.8, with alpha the mean beta: an expectation that takes positions as independent."""
    tokens = gamma + 1 if alpha == 1 else (1 - alpha ** (gamma + 1)) / (1 - alpha)
    return tokens / (gamma * c + 1)
