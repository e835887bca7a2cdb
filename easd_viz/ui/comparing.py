"""One visitor's comparison: lanes race on one pair, and the same under several seeds.

As in ``session``, a request is carried out by a generator that ends when the visitor has asked for something else since.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from easd_viz.compare import MODE_NAMES
from easd_viz.metrics import flat, summarise
from easd_viz.models import Pair, PairSpec, load_pair
from easd_viz.race import race
from easd_viz.record import encode_prompt, record
from easd_viz.trace import Config, Footer, Header, Prompt, Step, Trace
from easd_viz.ui.loading import Report, load_with_reports
from easd_viz.ui.session import counted
from easd_viz.views.comparison import LETTERS, comparison, luck_test
from easd_viz.views.data import ViewModel, view_model
from easd_viz.zerogpu import on_gpu

FRAME_S = 0.15
"""Rounds that come faster than this are sent together."""

WARM_UP_TOKENS = 4
"""The first rounds after a load are slow; they are run and thrown away, so that they count against no lane."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """What is to be compared: one prompt, one pair, a config per lane that differ in mode, gate and gamma only."""

    prompt: str
    chat_template: bool
    configs: tuple[Config, ...]
    pair: str
    dtype: str
    device: str = "auto"


@dataclass(slots=True)
class Comparing:
    """Per visitor, in a ``gr.State``."""

    views: list[ViewModel] = field(default_factory=list)
    request: int = 0
    """Counts what the visitor asked for."""

    def ask(self) -> int:
        self.request += 1
        return self.request


@dataclass(frozen=True, slots=True)
class News:
    """What changed; None: nothing."""

    kind: str
    text: str
    numbers: str = ""
    progress: float | None = None
    value: dict[str, Any] | None = None


def compare(comparing: Comparing, lanes: Lanes, number: int) -> Iterator[News]:
    """Run every lane once, showing the lanes as they grow; raises UserError for whatever the visitor can act on."""
    pair = yield from _load(comparing, lanes, number)
    if pair is None:
        return
    prompt = encode_prompt(pair, lanes.prompt, lanes.chat_template)
    comparing.views = []
    last_sent = 0.0
    for index, trace in _growing(lanes, prompt, lanes.configs, warm_up=True):
        before = comparing.views[index] if index < len(comparing.views) else None
        comparing.views[index : index + 1] = [view_model(trace, before)]
        if comparing.request != number:
            yield News("idle", "Stopped", _numbers(comparing), value=comparison(comparing.views))
            return
        if time.monotonic() - last_sent >= FRAME_S:
            yield News("busy", "Running", _numbers(comparing), _share(comparing, lanes), comparison(comparing.views))
            last_sent = time.monotonic()
    yield News("idle", "Done", _numbers(comparing), value=comparison(comparing.views))


def _load(comparing: Comparing, lanes: Lanes, number: int) -> Generator[News, None, Pair | None]:
    """The pair, with reports on the way; None where the visitor has asked for something else."""
    pair: Pair | None = None
    if comparing.request != number:
        return None
    for event in load_with_reports(PairSpec.parse(lanes.pair), lanes.dtype, lanes.device):
        if comparing.request != number:
            return None
        if isinstance(event, Report):
            yield News("busy", event.text, event.numbers, event.progress)
        else:
            pair = event
    return pair


def _growing(lanes: Lanes, prompt: Prompt, configs: tuple[Config, ...], warm_up: bool) -> Iterator[tuple[int, Trace]]:
    """(number of the lane, its trace so far), put together from what ``raced`` sends."""
    traces: dict[int, Trace] = {}
    for index, header, steps, footer in raced(lanes.pair, lanes.dtype, lanes.device, prompt, configs, warm_up):
        before = traces[index].steps if index in traces else ()
        traces[index] = Trace(header, (*before, *steps), footer)
        yield index, traces[index]


@on_gpu
def raced(
    pair: str, dtype: str, device: str, prompt: Prompt, configs: tuple[Config, ...], warm_up: bool
) -> Iterator[tuple[int, Header, tuple[Step, ...], Footer | None]]:
    """``race``, sending only what is new: on a GPU that is lent per call, arguments and yields travel between processes."""
    loaded = load_pair(pair, dtype=dtype, device=device)
    if warm_up:
        list(record(loaded, prompt, replace(configs[0], max_new_tokens=WARM_UP_TOKENS)))
    sent = [0] * len(configs)
    for i, trace in race(loaded, prompt, configs):
        yield i, trace.header, trace.steps[sent[i] :], trace.footer
        sent[i] = len(trace.steps)


def _numbers(comparing: Comparing) -> str:
    counts = [f"{letter} {len(view.trace.token_ids)}" for letter, view in zip(LETTERS, comparing.views, strict=False)]
    return f"tokens: {', '.join(counts)}"


def _share(comparing: Comparing, lanes: Lanes) -> float:
    whole = lanes.configs[0].max_new_tokens
    done = sum(len(view.trace.token_ids) if view.trace.footer is None else whole for view in comparing.views)
    return min(1.0, done / (whole * len(lanes.configs)))


# ---- is it luck -------------------------------------------------------------------------------------------


def try_seeds(comparing: Comparing, lanes: Lanes, seeds: int, number: int) -> Iterator[News]:
    """Run all lanes under ``seeds`` seeds, from theirs on; after each seed, what can be said so far."""
    pair = yield from _load(comparing, lanes, number)
    if pair is None:
        return
    prompt = encode_prompt(pair, lanes.prompt, lanes.chat_template)
    names = [MODE_NAMES[config.mode] for config in lanes.configs]
    found: list[list[dict[str, Any]]] = [[] for _ in lanes.configs]
    started = time.monotonic()
    for i in range(seeds):
        yield News("busy", "Trying", _seed_words(i, seeds, started), i / seeds)
        last: dict[int, Trace] = {}
        configs = tuple(replace(config, seed=config.seed + i) for config in lanes.configs)
        for lane, trace in _growing(lanes, prompt, configs, warm_up=i == 0):
            last[lane] = trace
            if comparing.request != number:
                yield News("idle", "Stopped", f"after {counted(i, 'seed')}", value=luck_test(names, found))
                return
        for lane, trace in last.items():
            found[lane].append(flat(summarise(trace)))
        yield News("busy", "Trying", _seed_words(i + 1, seeds, started), (i + 1) / seeds, luck_test(names, found))
    yield News("idle", "Done", counted(seeds, "seed"), value=luck_test(names, found))


def _seed_words(done: int, seeds: int, started: float) -> str:
    words = f"seed {min(done + 1, seeds)} of {seeds}"
    if not done:
        return words
    left = (time.monotonic() - started) / done * (seeds - done)
    return f"{words} · about {left:.0f} s left"
