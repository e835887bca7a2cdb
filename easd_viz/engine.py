"""Draft, verify, decide, roll back, yield one step. Token ids only: text is attached by ``record``.

``decode`` costs, per round, gamma draft forwards and one target forward of at most gamma + 1 new tokens, and copies to the
host once. Algorithm: EASD (arXiv 2512.23765) over standard speculative decoding (Leviathan et al. 2023, algorithm 1).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from easd_viz import UserError, sampling
from easd_viz.draws import uniform
from easd_viz.packing import Drafted, Drawn, Row, TopList, pack, pack_draft, unpack
from easd_viz.trace import Config, Emitted, Outcome, Source, Step, StopReason, Token, TopEntry
from easd_viz.verify import SOURCE_OF_REPLACEMENT, can_resample, decide, gate_of, overlap


class Session(Protocol):
    """One model's KV cache over one growing token sequence."""

    @property
    def length(self) -> int: ...
    def forward(self, token_ids: Tensor) -> Tensor:
        """[n] int64 -> logits [n, rows]; the tokens join the cache."""
        ...

    def rollback(self, length: int) -> None: ...


class Model(Protocol):
    """A causal language model, as much of it as the engine needs."""

    @property
    def id(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def device(self) -> str: ...
    def prefill(self, token_ids: Sequence[int]) -> Session: ...


class Pair(Protocol):
    """Draft and target over one token-id space of ``vocab_size`` ids (the common prefix of both)."""

    @property
    def draft(self) -> Model: ...
    @property
    def target(self) -> Model: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def eos_token_ids(self) -> frozenset[int]: ...
    @property
    def context_length(self) -> int: ...


LAWS: Mapping[Source, str] = {
    "residual": "from_residual",
    "target": "from_target",
    "target_excluding_draft": "excluding",
    "bonus": "from_target",
}
"""The packed candidate that a source's token is."""


class EngineError(UserError):
    """A run that cannot begin or go on: says why and what to do."""


def decode(
    pair: Pair,
    prompt_ids: Sequence[int],
    config: Config,
    resume: Sequence[Step] | None = None,
    forced: Mapping[int, Outcome] | None = None,
    *,
    lists: bool = True,
) -> Decoding:
    """Decode step by step: an iterator whose every ``next`` runs one draft-verify round. Stop by no longer asking.

    ``resume`` is the steps of a trace up to some point: the caches are rebuilt with one prefill, and the run goes on as it
    would have. ``forced`` maps absolute positions to verdicts imposed there instead of the rule's (what-if). ``lists=False``
    leaves out what only the trace needs (top lists beyond k, beta, total variations), to measure what recording costs.
    Raises EngineError where the prompt does not fit and where a model's logits are not finite.
    """
    return Decoding(pair, prompt_ids, config, resume or (), forced or {}, lists)


class Decoding(Iterator[Step]):
    """A run in progress. ``stop_reason`` is None until it has ended by itself."""

    stop_reason: StopReason | None = None
    prefill_ms: float

    def __init__(
        self,
        pair: Pair,
        prompt_ids: Sequence[int],
        config: Config,
        resume: Sequence[Step],
        forced: Mapping[int, Outcome],
        lists: bool,
    ) -> None:
        self._pair, self._config, self._forced, self._lists = pair, config, forced, lists
        self._gate = gate_of(config)
        self._index = len(resume)
        self._tokens = [*prompt_ids, *(i for step in resume for i in step.token_ids)]
        self._end = min(len(prompt_ids) + config.max_new_tokens, pair.context_length)
        self._check_prompt(prompt_ids)
        if resume:
            self._settle(resume[-1])
        started = time.perf_counter()
        self._prefill()
        self.prefill_ms = (time.perf_counter() - started) * 1e3

    def _check_prompt(self, prompt_ids: Sequence[int]) -> None:
        limit = self._pair.context_length
        if not prompt_ids:
            raise EngineError("the prompt has no tokens; type at least one character, or use the chat template")
        if len(prompt_ids) >= limit:
            raise EngineError(
                f"the prompt has {len(prompt_ids)} tokens, but this pair's context holds {limit} and one must be left for the "
                f"answer; shorten the prompt or choose a pair with a longer context"
            )
        beyond = [i for i in prompt_ids if not 0 <= i < self._pair.vocab_size]
        if beyond:
            raise EngineError(
                f"token id {beyond[0]} of the prompt is outside the pair's common vocabulary of {self._pair.vocab_size}"
            )

    def _prefill(self) -> None:
        """Both caches hold all tokens but the last, which the next round's first forward takes in."""
        known = self._tokens[:-1]
        mode = self._config.mode
        if self.stop_reason is not None:
            return
        if mode != "target":
            self._draft = self._pair.draft.prefill(known)
        if mode != "draft":
            self._target = self._pair.target.prefill(known)

    def __next__(self) -> Step:
        if self.stop_reason is not None:
            raise StopIteration
        with torch.inference_mode():
            step = self._round()
        self._tokens += step.token_ids
        self._index += 1
        self._settle(step)
        return step

    def _settle(self, step: Step) -> None:
        """Note whether the run ends with this step."""
        ids = step.token_ids
        if ids and ids[-1] in self._pair.eos_token_ids:
            self.stop_reason = "eos"
        elif len(self._tokens) >= self._end:
            self.stop_reason = "length"

    def _round(self) -> Step:
        config, position = self._config, len(self._tokens)
        count = 0 if config.mode == "target" else min(config.gamma, self._end - position)
        draws = _Draws.at(config.seed, position, count)
        clock = _Clock((self._pair.draft if config.mode == "draft" else self._pair.target).device)
        drafted = self._draft_tokens(count, draws)
        clock.mark()
        if config.mode == "draft":
            rows = unpack(pack_draft(drafted, config, self._lists))
            self._check_finite(rows, position)
            return Step(self._index, self._unverified(rows, position), None, *clock.times())
        target_logits = self._verify(drafted.ids)
        clock.mark()
        rows = unpack(pack(drafted, target_logits, draws.emit, config, self._lists))
        self._check_finite(rows, position)
        tokens, emitted = self._decide(rows, draws, position)
        self._roll_back(position + sum(t.outcome == "accepted" for t in tokens), count)
        return Step(self._index, tokens, emitted, *clock.times())

    def _draft_tokens(self, count: int, draws: _Draws) -> Drafted:
        """x_i ~ q_i for i = 1..count, without a look from the host."""
        config, vocab = self._config, self._pair.vocab_size
        if count == 0:
            return Drafted(torch.empty(0, dtype=torch.long), torch.empty(0, vocab), torch.empty(0, vocab))
        device = self._pair.draft.device
        uniforms = torch.tensor(draws.draft, device=device)
        feed = torch.tensor(self._tokens[self._draft.length :], device=device)
        ids, rows, qs = [], [], []
        for i in range(count):
            logits = self._draft.forward(feed)[-1:, :vocab]
            q = sampling.sampling_distribution(logits, config.temperature, config.top_k, config.top_p)
            feed = sampling.inverse_cdf(q, uniforms[i : i + 1])
            ids.append(feed)
            rows.append(logits)
            qs.append(q)
        return Drafted(torch.cat(ids), torch.cat(rows), torch.cat(qs))

    def _roll_back(self, kept: int, count: int) -> None:
        """Both caches forget what was turned away: they hold at most the first ``kept`` tokens."""
        self._target.rollback(min(kept, self._target.length))
        if count:
            self._draft.rollback(min(kept, self._draft.length))

    def _verify(self, draft_ids: Tensor) -> Tensor:
        """One target forward over the unseen token and the drafted ones. -> logits [count + 1, vocab]."""
        unseen = torch.tensor(self._tokens[self._target.length :], device=self._pair.target.device)
        fed = torch.cat((unseen, draft_ids.to(unseen.device)))
        return self._target.forward(fed)[:, : self._pair.vocab_size]

    def _check_finite(self, rows: Sequence[Row], position: int) -> None:
        for i, row in enumerate(rows):
            for side, model in (("draft", self._pair.draft), ("target", self._pair.target)):
                if row.numbers.get(f"{side}_infinite"):
                    raise EngineError(
                        f"{model.id} gave logits that are not finite for position {position + i} in {model.dtype}; "
                        f"choose another dtype (float32 is the safest) or check the model's weights"
                    )

    def _unverified(self, rows: Sequence[Row], position: int) -> tuple[Token, ...]:
        """A draft-only round: every drafted token is kept, up to an end of text."""
        out: list[Token] = []
        ended = False
        for i, row in enumerate(rows):
            out.append(_token(row, position + i, i + 1, "discarded" if ended else "accepted"))
            ended = ended or row.token_id in self._pair.eos_token_ids
        return tuple(out)

    def _decide(self, rows: Sequence[Row], draws: _Draws, position: int) -> tuple[tuple[Token, ...], Emitted | None]:
        """Left to right until a token is rejected or gated, or an end of text is accepted; behind it all are discarded."""
        tokens: list[Token] = []
        emitted: Emitted | None = None
        on_path = True
        for i, row in enumerate(rows[:-1]):
            judged = self._judge(row, draws.accept[i])
            outcome = self._forced.get(position + i, judged.outcome) if on_path else "discarded"
            tokens.append(_token(row, position + i, i + 1, outcome, judged))
            if outcome in ("rejected", "gated"):
                emitted = self._replacement(row, position + i, outcome, draws.emit[i])
            on_path = on_path and outcome == "accepted" and row.token_id not in self._pair.eos_token_ids
        last = position + len(tokens)
        if on_path and last < self._end:
            source: Source = "target" if self._config.mode == "target" else "bonus"
            emitted = _emitted(last, source, rows[-1].drawn(LAWS[source]), rows[-1], draws.emit[-1])
        return tuple(tokens), emitted

    def _judge(self, row: Row, u: float) -> _Judged:
        shared = overlap([i for i, _ in row.draft_top], [i for i, _ in row.target_top], self._config.k)
        n = row.numbers
        verdict = decide(
            draft_prob=n["draft_prob"],
            target_prob=n["target_prob"],
            uniform=u,
            draft_entropy=n["draft_entropy"],
            target_entropy=n["target_entropy"],
            overlap=shared,
            gate=self._gate,
        )
        return _Judged(verdict.outcome, verdict.accept_prob, u, shared)

    def _replacement(self, row: Row, position: int, outcome: Outcome, u: float) -> Emitted:
        source: Source = "residual" if outcome == "rejected" else SOURCE_OF_REPLACEMENT[self._config.resample]
        drawn = row.drawn(LAWS[source])
        if drawn.prob == 0 or (outcome == "gated" and not can_resample(row.numbers["target_prob"], self._gate)):
            raise EngineError(
                f"the token at position {position} can't be {outcome}: the law its replacement is drawn from ({source}) is empty "
                f"there, since the target {'gives nothing more than the draft' if outcome == 'rejected' else 'is certain of it'}"
            )
        return _emitted(position, source, drawn, row, u)


@dataclass(frozen=True, slots=True)
class _Judged:
    """The rule's outcome on a drafted token and the numbers that only the host knows."""

    outcome: Outcome
    accept_prob: float
    uniform: float
    overlap: float


def _token(row: Row, position: int, draft_index: int, outcome: Outcome, judged: _Judged | None = None) -> Token:
    """A drafted token's record, its texts still empty. Without ``judged`` (draft-only) the target's fields are None."""
    n = row.numbers
    return Token(
        position=position,
        draft_index=draft_index,
        token_id=row.token_id,
        text="",
        bytes=None,
        draft_prob=n["draft_prob"],
        target_prob=n.get("target_prob"),
        accept_prob=judged.accept_prob if judged else None,
        uniform=judged.uniform if judged else None,
        draft_entropy=n["draft_entropy"],
        target_entropy=n.get("target_entropy"),
        overlap=judged.overlap if judged else None,
        draft_top=_top(row.draft_top),
        target_top=_top(row.target_top) if judged else None,
        beta=n.get("beta"),
        tv_target=n.get("tv_target"),
        tv_exclude=n.get("tv_exclude"),
        outcome=outcome,
    )


def _top(entries: TopList) -> tuple[TopEntry, ...]:
    return tuple([(i, "", prob) for i, prob in entries])


def _emitted(position: int, source: Source, drawn: Drawn, row: Row, u: float) -> Emitted:
    entropy = row.numbers["target_entropy"]
    return Emitted(position, drawn.token_id, "", None, source, drawn.prob, drawn.target_prob, entropy, u)


@dataclass(frozen=True, slots=True)
class _Draws:
    """A round's uniforms, all drawn up front, so that replay can go on behind a token that ended the round."""

    draft: list[float]
    accept: list[float]
    emit: list[float]

    @classmethod
    def at(cls, seed: int, position: int, count: int) -> _Draws:
        span = range(position, position + count)
        return cls(
            [uniform(seed, p, "draft") for p in span],
            [uniform(seed, p, "accept") for p in span],
            [uniform(seed, p, "emit") for p in range(position, position + count + 1)],
        )


class _Clock:
    """Marks the ends of a round's phases: by the host's clock on a CPU, by events on a device, which needs no synchronising."""

    def __init__(self, device: str) -> None:
        self._device = torch.device(device)
        self._started = time.perf_counter()
        self._marks: list[Any] = []
        self.mark()

    def mark(self) -> None:
        if self._device.type == "cpu":
            self._marks.append(time.perf_counter())
            return
        event = torch.Event(self._device, enable_timing=True)
        event.record()
        self._marks.append(event)

    def times(self) -> tuple[float, float, float]:
        """(draft_ms, verify_ms, record_ms) after the round's host copy; record is what is left of the round's wall time."""
        spans = [self._span(a, b) for a, b in zip(self._marks, self._marks[1:], strict=False)]
        draft, verify = (spans[0], spans[1]) if len(spans) > 1 else (spans[0], 0.0)
        wall = (time.perf_counter() - self._started) * 1e3
        return draft, verify, max(wall - draft - verify, 0.0)

    def _span(self, a: Any, b: Any) -> float:
        return (b - a) * 1e3 if self._device.type == "cpu" else float(a.elapsed_time(b))
