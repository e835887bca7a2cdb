"""The engine's speed on the demo pair: against transformers' assisted generation, its own recording, the bare forwards.

Every comparison alternates its sides in one process and reports medians, so that a noisy machine is noisy for both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from unittest import mock

import torch

from easd_viz import models
from easd_viz.engine import decode
from easd_viz.examples import EXAMPLES
from easd_viz.models import Pair, linear, load_pair
from easd_viz.record import encode_prompt, record
from easd_viz.trace import Config, Prompt

RUNS = 7
NEW_TOKENS = 48
PROMPT = "Tell me a short story about a lighthouse keeper and a lost boat."
GREEDY = Config(mode="sd", temperature=0.0, max_new_tokens=NEW_TOKENS)


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the report."""

    what: str
    value: str
    goal: str
    detail: str


def alternate(sides: Sequence[Callable[[], float]], runs: int = RUNS) -> list[list[float]]:
    """Call the sides in turn, ``runs`` times after one warm-up each; what they return, per side."""
    for side in sides:
        side()
    found: list[list[float]] = [[] for _ in sides]
    for _ in range(runs):
        for results, side in zip(found, sides, strict=True):
            results.append(side())
    return found


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def as_transformers_has_it() -> Pair:
    """The demo pair with transformers' own linear layers and attention, for its own ``generate``."""
    models._loaded.clear()
    with mock.patch.object(linear, "pack_linears"):
        pair = load_pair("demo", dtype="float32", device="cpu")
    models._loaded.clear()
    for model in (pair.draft, pair.target):
        model.network.set_attn_implementation("sdpa")
    return pair


def assisted(pair: Pair, prompt: Prompt, gamma: int) -> tuple[int, ...]:
    """transformers' assisted generation with a constant number of drafted tokens, greedy; the new ids."""
    ids = torch.tensor([prompt.token_ids])
    settings = pair.draft.network.generation_config
    settings.num_assistant_tokens = gamma
    settings.num_assistant_tokens_schedule = "constant"
    settings.assistant_confidence_threshold = 0.0
    out = pair.target.network.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        assistant_model=pair.draft.network,
        do_sample=False,
        max_new_tokens=NEW_TOKENS,
        pad_token_id=0,
    )
    return tuple(out[0, ids.shape[1] :].tolist())


def recorded(pair: Pair, prompt: Prompt, config: Config) -> tuple[int, ...]:
    """Our run, all of it recorded with its texts; the new ids."""
    *_, trace = record(pair, prompt, config)
    return trace.token_ids


def against_transformers(pair: Pair, plain: Pair, prompt: Prompt, gamma: int) -> list[Line]:
    """Throughput ratios, prefill in all: transformers with its own layers, and on ours; raises where the texts differ."""
    config = replace(GREEDY, gamma=gamma)
    ours = recorded(pair, prompt, config)
    for theirs in (assisted(plain, prompt, gamma), assisted(pair, prompt, gamma)):
        if ours != theirs:
            raise RuntimeError(f"greedy texts differ: {ours} and {theirs}")
    us, *others = alternate(
        [
            lambda: seconds(lambda: recorded(pair, prompt, config)),
            lambda: seconds(lambda: assisted(plain, prompt, gamma)),
            lambda: seconds(lambda: assisted(pair, prompt, gamma)),
        ]
    )
    lines = []
    for them, what, goal in zip(others, ("", ", which is given our packed layers"), ("≥ 1.10", ""), strict=True):
        rates = f"{len(ours) / median(us):.1f} against {len(ours) / median(them):.1f} tokens/s, the same {len(ours)} tokens"
        name = f"recorded run over transformers' assisted generation{what}, γ = {gamma}"
        lines.append(Line(name, f"{median(them) / median(us):.2f} ×", goal, rates))
    return lines


Rounds = Callable[[], Iterator[float]]
"""Starts a run anew and yields what each of its rounds took, ms."""


def recorded_rounds(pair: Pair, prompt: Prompt, config: Config) -> Iterator[float]:
    """A run that is recorded, texts and all."""
    run = record(pair, prompt, config)
    next(run)  # the prefill
    return _rounds(run)


def decoded_rounds(pair: Pair, prompt: Prompt, config: Config) -> Iterator[float]:
    """The same run without a trace."""
    return _rounds(decode(pair, prompt.token_ids, config, lists=False))


def _rounds(run: Iterator[object]) -> Iterator[float]:
    while True:
        started = time.perf_counter()
        if next(run, None) is None:
            return
        yield (time.perf_counter() - started) * 1e3


def bare_rounds(pair: Pair, prompt: Prompt, gamma: int) -> Iterator[float]:
    """gamma draft forwards of one token and one target forward of gamma + 1, alone: the limit of a round."""
    draft, target = pair.draft.prefill(prompt.token_ids), pair.target.prefill(prompt.token_ids)
    one, many = torch.tensor([5]), torch.arange(5, 6 + gamma)
    while True:
        with torch.inference_mode():
            started = time.perf_counter()
            for _ in range(gamma):
                draft.forward(one)
            target.forward(many)
            span = (time.perf_counter() - started) * 1e3
            draft.rollback(len(prompt.token_ids))
            target.rollback(len(prompt.token_ids))
        yield span


def round_by_round(one: Rounds, other: Rounds) -> tuple[float, float, float]:
    """(median ratio of one to the other, median round of each in ms) over ``RUNS`` runs after a warm-up.

    A round of one, a round of the other, and the next time the other first: what the machine does besides hits both alike.
    """
    ratios, medians = [], []
    for run in range(RUNS + 1):
        sides = (one(), other())
        spans: tuple[list[float], list[float]] = ([], [])
        while True:
            order = (0, 1) if len(spans[0]) % 2 else (1, 0)
            found = {side: next(sides[side], None) for side in order}
            if found[0] is None or found[1] is None:
                break
            for side in order:
                spans[side].append(found[side] or 0.0)
        if run:
            ratios.append(median(spans[0]) / median(spans[1]))
            medians.append((median(spans[0]), median(spans[1])))
    return median(ratios), median(a for a, _ in medians), median(b for _, b in medians)


def cost_of_recording(pair: Pair, prompt: Prompt, gamma: int) -> Line:
    config = Config(gamma=gamma, max_new_tokens=NEW_TOKENS)
    ratio, *spans = round_by_round(lambda: recorded_rounds(pair, prompt, config), lambda: decoded_rounds(pair, prompt, config))
    return Line(f"round with the trace over round without, γ = {gamma}", f"{ratio:.3f} ×", "≤ 1.05", _spans(*spans))


def closeness_to_the_limit(pair: Pair, prompt: Prompt, gamma: int) -> Line:
    config = Config(gamma=gamma, max_new_tokens=NEW_TOKENS)
    ratio, *spans = round_by_round(lambda: recorded_rounds(pair, prompt, config), lambda: bare_rounds(pair, prompt, gamma))
    return Line(f"recorded round over its bare forwards, γ = {gamma}", f"{ratio:.3f} ×", "≤ 1.10", _spans(*spans))


def _spans(one: float, other: float) -> str:
    return f"{one:.1f} against {other:.1f} ms a round"


def tokens_per_second(pair: Pair, prompts: Sequence[Prompt], config: Config) -> float:
    """Decode throughput of recorded runs of all prompts together, prefill apart."""
    tokens, wall_ms = 0, 0.0
    for prompt in prompts:
        *_, trace = record(pair, prompt, config)
        assert trace.footer is not None
        tokens += len(trace.token_ids)
        wall_ms += trace.footer.wall_ms
    return tokens / wall_ms * 1e3


def against_the_target(pair: Pair, gammas: Sequence[int] = (1, 2, 3)) -> list[Line]:
    """SD and EASD at SD's best gamma over the target alone on the app's example prompts, temperature 0.7, all recorded, one seed
    per run. Several prompts, because how much a draft saves depends on the text: little in a story, more in sums and code."""
    prompts = [encode_prompt(pair, each.prompt) for each in EXAMPLES]
    base = Config(max_new_tokens=NEW_TOKENS)

    def side(config: Config) -> Callable[[], float]:
        seeds = iter(range(10**6))
        return lambda: tokens_per_second(pair, prompts, replace(config, seed=next(seeds)))

    trial = alternate([side(replace(base, mode="sd", gamma=g)) for g in gammas], runs=3)
    best = gammas[max(range(len(gammas)), key=lambda i: median(trial[i]))]
    modes = [replace(base, mode="target"), replace(base, mode="sd", gamma=best), replace(base, mode="easd", gamma=best)]
    target, sd, easd = (median(found) for found in alternate([side(config) for config in modes]))
    return [
        Line(f"SD over the target alone, γ = {best} (best of {gammas})", f"{sd / target:.2f} ×", "> 1", _on_examples(sd, target)),
        Line(f"EASD over the target alone, γ = {best}", f"{easd / target:.2f} ×", "", _on_examples(easd, target)),
    ]


def _on_examples(ours: float, target: float) -> str:
    return f"{_rates(ours, target)}, the {len(EXAMPLES)} example prompts"


def _rates(ours: float, target: float) -> str:
    return f"{ours:.1f} against {target:.1f} tokens/s"


def measure() -> Iterator[Line]:
    """Each line as soon as it is measured."""
    plain = as_transformers_has_it()
    pair = load_pair("demo", dtype="float32", device="cpu")
    prompt = encode_prompt(pair, PROMPT)
    for gamma in (2, 4):
        yield from against_transformers(pair, plain, prompt, gamma)
    yield cost_of_recording(pair, prompt, 4)
    yield closeness_to_the_limit(pair, prompt, 4)
    yield from against_the_target(pair)
