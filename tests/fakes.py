"""Models made of a table of logits: exact, instant, no weights. They satisfy the engine's protocols and record's needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from easd_viz.trace import ModelInfo


class FakeSession:
    """Logits depend on all tokens so far through ``rule``; the "cache" is the list of tokens."""

    def __init__(self, rule: Callable[[tuple[int, ...]], Tensor], tokens: Sequence[int], calls: list[int]) -> None:
        self._rule, self._calls = rule, calls
        self.tokens = list(tokens)

    @property
    def length(self) -> int:
        return len(self.tokens)

    def forward(self, token_ids: Tensor) -> Tensor:
        rows = []
        for token in token_ids.tolist():
            self.tokens.append(token)
            rows.append(self._rule(tuple(self.tokens)))
        self._calls.append(len(rows))
        return torch.stack(rows)

    def rollback(self, length: int) -> None:
        assert length <= len(self.tokens), f"rolled back to {length} tokens, but only {len(self.tokens)} are cached"
        del self.tokens[length:]


@dataclass
class FakeModel:
    """``calls`` notes how many tokens each forward took; ``prefills`` how many each prefill did."""

    rule: Callable[[tuple[int, ...]], Tensor]
    id: str = "fake"
    dtype: str = "float32"
    device: str = "cpu"
    revision: str | None = None
    vocab_size: int = 5
    calls: list[int] = field(default_factory=list)
    prefills: list[int] = field(default_factory=list)

    def prefill(self, token_ids: Sequence[int]) -> FakeSession:
        self.prefills.append(len(token_ids))
        return FakeSession(self.rule, token_ids, self.calls)

    def info(self) -> ModelInfo:
        return ModelInfo(self.id, self.revision, self.dtype, self.device, self.vocab_size)


class FakeTokenizer:
    fingerprint = "fake"
    has_chat_template = False

    def encode(self, text: str, chat_template: bool) -> list[int]:
        return [ord(c) - ord("a") for c in text]

    def decode(self, token_ids: Sequence[int]) -> str:
        return "".join(self.piece(i)[0] for i in token_ids)

    def piece(self, token_id: int) -> tuple[str, str | None]:
        return chr(ord("a") + token_id), None


@dataclass
class FakePair:
    draft: FakeModel
    target: FakeModel
    vocab_size: int = 5
    eos_token_ids: frozenset[int] = frozenset()
    context_length: int = 10**9
    id: str = "fake"
    tokenizer: FakeTokenizer = field(default_factory=FakeTokenizer)


def constant(probs: Sequence[float]) -> Callable[[tuple[int, ...]], Tensor]:
    """The same distribution at every position."""
    logits = torch.tensor(probs, dtype=torch.float64).log().clamp(min=-1e4).float()
    return lambda tokens: logits


def by_context(seed: int, vocab: int, scale: float = 1.5, depth: int = 3) -> Callable[[tuple[int, ...]], Tensor]:
    """Random logits that depend on the last ``depth`` tokens and the position, the same whenever asked again."""
    known: dict[tuple[int, ...], Tensor] = {}

    def rule(tokens: tuple[int, ...]) -> Tensor:
        key = (len(tokens), *tokens[-depth:])
        if key not in known:
            generator = torch.Generator().manual_seed(hash((seed, key)) % 2**63)
            known[key] = torch.randn(vocab, generator=generator) * scale
        return known[key]

    return rule


def context_pair(
    seed: int = 0, vocab: int = 30, closeness: float = 0.7, eos: Sequence[int] = (), context: int = 10**9
) -> FakePair:
    """A pair whose draft is near its target: draft logits = closeness x target's + the rest its own."""
    target, own = by_context(seed, vocab), by_context(seed + 1, vocab)
    return FakePair(
        draft=FakeModel(lambda t: closeness * target(t) + (1 - closeness) * own(t), id="fake-draft", vocab_size=vocab),
        target=FakeModel(target, id="fake-target", vocab_size=vocab),
        vocab_size=vocab,
        eos_token_ids=frozenset(eos),
        context_length=context,
    )


def constant_pair(q: Sequence[float], p: Sequence[float]) -> FakePair:
    """The same q and p at every position: what the closed forms are stated for."""
    return FakePair(FakeModel(constant(q), vocab_size=len(q)), FakeModel(constant(p), vocab_size=len(p)), vocab_size=len(p))
