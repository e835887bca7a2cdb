"""Shards -> training batches: which conversations go together, in an order that depends on (seed, epoch) only."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file

POOL = 1024
"""Conversations that are sorted by length together, so that a batch holds rows of about one length."""


@dataclass
class Example:
    """One conversation: its tokens, and the target's states for the sampled ones."""

    tokens: torch.Tensor
    """[length] int32"""
    prompt_length: int
    hidden: torch.Tensor
    """[sampled, hidden] bfloat16: the state that predicts the token after it"""
    kind: int


@dataclass
class Batch:
    """Right-padded rows, and the flat positions that the loss looks at."""

    ids: torch.Tensor
    """[rows, length]"""
    where: torch.Tensor
    """[positions] index into rows x length: the position before each sampled token"""
    target_hidden: torch.Tensor
    """[positions, hidden] bfloat16"""


def read(path: Path) -> list[Example]:
    """The conversations of one shard."""
    tensors = load_file(path)
    starts, lengths = tensors["starts"].tolist(), tensors["prompt_lengths"].tolist()
    kinds = tensors["kinds"].tolist()
    examples, sampled = [], 0
    for index, prompt_length in enumerate(lengths):
        tokens = tensors["tokens"][starts[index] : starts[index + 1]]
        count = len(tokens) - prompt_length
        examples.append(Example(tokens, prompt_length, tensors["hidden"][sampled : sampled + count], kinds[index]))
        sampled += count
    return examples


def split(examples: Sequence[Example], held_out_every: int) -> tuple[list[Example], list[Example]]:
    """(training, held out): every so many-th conversation is never trained on."""
    train = [e for i, e in enumerate(examples) if i % held_out_every]
    return train, [e for i, e in enumerate(examples) if i % held_out_every == 0]


def collate(examples: Sequence[Example]) -> Batch:
    """Pads the rows on the right; the last token is never an input (nothing is predicted from it)."""
    length = max(len(e.tokens) for e in examples) - 1
    ids = torch.zeros(len(examples), length, dtype=torch.long)
    where = []
    for row, e in enumerate(examples):
        ids[row, : len(e.tokens) - 1] = e.tokens[:-1]
        where.append(torch.arange(e.prompt_length - 1, len(e.tokens) - 1) + row * length)
    return Batch(ids, torch.cat(where), torch.cat([e.hidden for e in examples]))


def group(examples: Sequence[Example], token_budget: int) -> list[list[Example]]:
    """Consecutive examples into batches of at most ``token_budget`` padded tokens (one row at least)."""
    batches: list[list[Example]] = []
    longest = 0
    for e in examples:
        longest = max(longest, len(e.tokens))
        if batches and longest * (len(batches[-1]) + 1) <= token_budget:
            batches[-1].append(e)
        else:
            batches.append([e])
            longest = len(e.tokens)
    return batches


def epoch(examples: Sequence[Example], token_budget: int, seed: int, number: int) -> list[list[Example]]:
    """All batches of one epoch, in order: a function of its arguments only."""
    rng = random.Random(f"{seed}/{number}")
    order = list(examples)
    rng.shuffle(order)
    batches = []
    for start in range(0, len(order), POOL):
        batches += group(sorted(order[start : start + POOL], key=lambda e: len(e.tokens)), token_budget)
    rng.shuffle(batches)
    return batches


def stream(
    examples_of: Callable[[int], Sequence[Example]], token_budget: int, seed: int, skip: int
) -> Iterator[tuple[int, Batch]]:
    """(epoch, batch) without end, from the ``skip``-th batch on: how a resumed run finds its place.

    ``examples_of`` gives an epoch's conversations; asked again for an epoch, it must give the same.
    """
    number = 0
    while True:
        batches = epoch(examples_of(number), token_budget, seed, number)
        for chosen in batches[skip:]:
            yield number, collate(chosen)
        skip = max(0, skip - len(batches))
        number += 1
