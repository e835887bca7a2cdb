"""Training: seeded, resumable bit for bit, bounded by steps or by minutes."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from distill import batches as batching
from distill.data import log, shard_paths
from distill.draft import Draft, from_target, join, load, save
from distill.measure import beta
from distill.parallel import Team
from distill.precision import autocast, fast_dtype

STATE_NAME = "state.pt"
MASS_POSITIONS = 30_000
"""Positions whose distributions choose the reduced vocabulary."""


@dataclass
class Settings:
    """Everything that decides the result (with the shards and the machine's arithmetic)."""

    layers: tuple[int, ...] = (0, 10, 20, 29)
    """The target's layers that the draft's layers start from."""
    start: str = ""
    """Folder of a draft to start from; its layers take the places ``start_at``."""
    start_at: tuple[int, ...] = ()
    """Which of our layers come from ``start``, in its order."""
    damp: float = 1.0
    """Factor on the output projections of the layers that come from the target: small where they join a trained draft."""
    vocabulary: int = 12288
    """How many token ids the head covers; 0: all."""
    train_head: bool = False
    """Train the head's rows too (they start as the target's embedding rows)."""
    tokens: int = 2048
    """Padded tokens per batch."""
    muon: bool = False
    """Train matrices by Muon (orthogonal updates, as large as AdamW's would be) and only vectors by AdamW."""
    rate: float = 1e-3
    """Peak learning rate."""
    floor: float = 0.01
    """Share of the peak that the cosine ends at; 1 keeps the rate, for a stage that another one will finish."""
    warmup: int = 50
    """Steps of linear warm-up."""
    steps: int = 0
    """Steps in all; 0: what fits into ``minutes``."""
    minutes: float = 0.0
    """Time to fill where ``steps`` is 0: the speed of the warm-up decides the number of steps, once."""
    average: float = 0.0
    """Decay per step of a running average of the weights, which then is the draft (0: the last weights are): it takes the
    place of a falling rate where nobody knows beforehand how many steps there will be time for."""
    weight_decay: float = 0.01
    temperature: float = 0.7
    """Temperature of the softmax in the loss, for both models."""
    hidden_weight: float = 0.0
    """Weight of the relative squared error of the last hidden state, beside the cross-entropy."""
    overlap_from: float = 0.3
    """Share of the schedule at which the loss begins to turn from cross-entropy to 1 - sum min(p, q)."""
    overlap_to: float = 0.8
    """Share of the schedule from which it is 1 - sum min(p, q) alone (above 1: never)."""
    held_out_every: int = 64
    seed: int = 1
    shards: int = 0
    """Train on so many shards only; 0: all."""
    follow: bool = False
    """Let each epoch take in the shards that came since, so that training can go on beside generation."""


@torch.no_grad()
def most_used(examples: Sequence[batching.Example], count: int, target: Any, always: Sequence[int]) -> torch.Tensor | None:
    """The ``count`` ids with the most probability over the target's own text, ascending; ``always`` are among them.

    Probabilities rather than counts: every position then speaks of thousands of ids, and far less text is needed.
    """
    if not 0 < count < target.config.vocab_size:
        return None
    head = target.lm_head.weight.detach()
    states = torch.cat([e.hidden for e in examples])
    states = states[:: max(1, len(states) // MASS_POSITIONS)]
    mass = torch.zeros(target.config.vocab_size, dtype=torch.float64, device=head.device)
    for part in torch.split(states, 128):
        mass += torch.nn.functional.linear(part.to(head), head).float().softmax(dim=-1).sum(dim=0)
    mass[list(always)] = float("inf")
    return mass.argsort(descending=True, stable=True)[:count].sort().values


def mix(progress: float, settings: Settings) -> float:
    """Weight of the overlap loss at this share of the schedule, 0 to 1."""
    span = max(settings.overlap_to - settings.overlap_from, 1e-9)
    return min(1.0, max(0.0, (progress - settings.overlap_from) / span))


def loss_of(draft: Draft, batch: batching.Batch, overlap_weight: float, settings: Settings) -> tuple[torch.Tensor, torch.Tensor]:
    """(loss, mean overlap over the covered ids), both summed over positions: scalars."""
    hidden = draft.hidden(batch.ids).flatten(0, 1)[batch.where]  # [positions, hidden]
    target_hidden = batch.target_hidden.to(fast_dtype(hidden.device))
    rows = draft.head.detach().to(target_hidden.dtype)
    if draft.head.requires_grad:
        embedding = draft.embedding[0]
        rows = (embedding if draft.head_ids is None else embedding[draft.head_ids]).to(rows.dtype)
    with torch.no_grad():
        target_logits = torch.nn.functional.linear(target_hidden, rows).float()
        target_probs = target_logits.div_(settings.temperature).softmax(dim=-1)  # [positions, covered]
    log_draft = (draft.logits(hidden).float() / settings.temperature).log_softmax(dim=-1)
    loss = hidden.new_zeros((), dtype=torch.float32)
    if overlap_weight < 1:
        loss = loss - (1 - overlap_weight) * (target_probs * log_draft).sum()
    if overlap_weight > 0:
        overlap = torch.minimum(target_probs, log_draft.exp()).sum()
        loss = loss + overlap_weight * (len(hidden) - overlap)
    else:
        with torch.no_grad():
            overlap = torch.minimum(target_probs, log_draft.exp()).sum()
    if settings.hidden_weight:
        wanted = batch.target_hidden.float()
        error = (hidden.float() - wanted).square().sum(dim=-1) / wanted.square().sum(dim=-1)
        loss = loss + (1 - overlap_weight) * settings.hidden_weight * error.sum()
    return loss, overlap.detach()


def rate_at(step: int, total: int, settings: Settings) -> float:
    """Learning rate of a step: linear warm-up, then cosine to the floor."""
    if step < settings.warmup:
        return settings.rate * (step + 1) / settings.warmup
    progress = (step - settings.warmup) / max(1, total - settings.warmup)
    cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
    return settings.rate * (settings.floor + (1 - settings.floor) * cosine)


def _optimizers(trained: Sequence[torch.nn.Parameter], settings: Settings) -> list[torch.optim.Optimizer]:
    """One optimiser, or two where Muon takes the matrices; weight decay is for matrices only."""
    matrices, vectors = [p for p in trained if p.dim() > 1], [p for p in trained if p.dim() <= 1]
    groups = [{"params": vectors, "weight_decay": 0.0}]
    others: list[torch.optim.Optimizer] = []
    if settings.muon:
        others = [
            torch.optim.Muon(matrices, lr=settings.rate, weight_decay=settings.weight_decay, adjust_lr_fn="match_rms_adamw")
        ]
    else:
        groups.insert(0, {"params": matrices, "weight_decay": settings.weight_decay})
    return [torch.optim.AdamW(groups, lr=settings.rate, betas=(0.9, 0.95), fused=True), *others]


def _plain(settings: Settings) -> dict[str, Any]:
    """As JSON has it: lists instead of tuples."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings).items()}


class _Library:
    """The conversations of each epoch; which shards those were is part of the training state."""

    def __init__(self, run: Path, settings: Settings, epochs: list[list[str]], team: Team) -> None:
        self._run, self._settings, self._team = run, settings, team
        self.epochs = epochs
        """Names of the shards of each epoch so far."""
        self._read: dict[str, tuple[list[batching.Example], list[batching.Example]]] = {}

    def of(self, number: int) -> list[batching.Example]:
        """The training conversations of an epoch."""
        if number == len(self.epochs):
            paths = shard_paths(self._run)[: self._settings.shards or None]
            if not paths:
                raise SystemExit(f"No shards in {self._run / 'shards'}: run `generate` first.")
            keep = self.epochs[0] if self.epochs and not self._settings.follow else [p.name for p in paths]
            self.epochs.append(self._team.agree(keep))
        return [e for name in self.epochs[number] for e in self._shard(name)[0]]

    def held_out(self) -> list[batching.Example]:
        """The conversations of the first epoch's shards that are never trained on."""
        return [e for name in self.epochs[0] for e in self._shard(name)[1]]

    def _shard(self, name: str) -> tuple[list[batching.Example], list[batching.Example]]:
        if name not in self._read:
            self._read[name] = batching.split(batching.read(self._run / "shards" / name), self._settings.held_out_every)
        return self._read[name]


class _Trainer:
    """Everything that a training run holds: the draft, its optimiser, its place in the data."""

    def __init__(self, run: Path, out: Path, target: Any, settings: Settings, always: Sequence[int], team: Team) -> None:
        self.out, self.settings, self.target, self.team = out, settings, target, team
        state = self._read_state()
        self.shelf = _Library(run, settings, state["epochs"] if state else [], team)
        training = self.shelf.of(0)
        self.positions = sum(len(e.hidden) for e in training)
        batches = batching.epoch(training, settings.tokens, settings.seed, 0)
        self.usual = self.positions / max(1, len(batches)) * team.size  # positions of a step, on average
        self.head_ids = state["head_ids"] if state else most_used(training, settings.vocabulary, target, always)
        self.draft = self._new_draft()
        self.trained = [p for p in self.draft.parameters() if p.requires_grad]
        self.averaged = [p.detach().clone() for p in self.trained] if settings.average else []
        self.optimizers = _optimizers(self.trained, settings)
        self.step, self.total, self.spent = 0, settings.steps, 0.0
        if state:
            self.draft.load_state_dict(state["draft"])
            for optimizer, its_state in zip(self.optimizers, state["optimizers"], strict=True):
                optimizer.load_state_dict(its_state)
            self.averaged = state["averaged"]
            self.step, self.total, self.spent = state["step"], state["total"], state["spent"]

    def _read_state(self) -> dict[str, Any] | None:
        path = self.out / STATE_NAME
        if not path.exists():
            return None
        state: dict[str, Any] = torch.load(path, map_location=self.target.device, weights_only=True)
        if state["settings"] != _plain(self.settings):
            raise SystemExit(f"{path} belongs to other settings ({state['settings']}): choose another --out.")
        return state

    def _new_draft(self) -> Draft:
        ids = None if self.head_ids is None else self.head_ids.to(self.target.device)
        draft = from_target(self.target, self.settings.layers, ids, self.settings.train_head)
        if self.settings.start:
            started = load(Path(self.settings.start), self.target.model.embed_tokens.weight)
            join(draft, started, self.settings.start_at, self.settings.damp)
        return draft.to(self.target.device)

    def save_state(self) -> None:
        """Writes the checkpoint, whole or not at all."""
        if not self.team.leads:
            return
        self.out.mkdir(parents=True, exist_ok=True)
        state = {
            "settings": _plain(self.settings),
            "head_ids": self.head_ids,
            "epochs": self.shelf.epochs,
            "draft": self.draft.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "averaged": self.averaged,
            "step": self.step,
            "total": self.total,
            "spent": self.spent,
        }
        path = self.out / STATE_NAME
        torch.save(state, path.with_suffix(".tmp"))
        os.replace(path.with_suffix(".tmp"), path)

    def batches(self) -> Iterator[tuple[int, batching.Batch]]:
        """(epoch, batch) from the present step to the last; each member of the team has every so many-th batch."""
        size = self.team.size
        stream = batching.stream(self.shelf.of, self.settings.tokens, self.settings.seed, self.step * size)
        while not self.total or self.step < self.total:
            yield [next(stream) for _ in range(size)][self.team.rank]

    def update(self, batch: batching.Batch) -> tuple[float, float]:
        """One step of the optimiser; (loss, overlap), summed over the batch's positions."""
        device = self.target.device
        for group in [group for optimizer in self.optimizers for group in optimizer.param_groups]:
            group["lr"] = rate_at(self.step, self.total or self.settings.warmup + 1, self.settings)
        batch = batching.Batch(batch.ids.to(device), batch.where.to(device), batch.target_hidden.to(device))
        weight = mix(self.step / self.total if self.total else 0.0, self.settings)
        with autocast(device):
            loss, overlap = loss_of(self.draft, batch, weight, self.settings)
        torch.autograd.backward(loss / self.usual)
        self.team.add_gradients(self.trained)
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if self.averaged:
            torch._foreach_lerp_(self.averaged, [p.detach() for p in self.trained], 1 - self.settings.average)
        self.step += 1
        return float(loss.detach()), float(overlap)

    def fix_total(self) -> None:
        """Once, at the end of the warm-up: as many steps as the minutes have room for at the speed so far."""
        self.total = self.team.agree(max(self.step + 1, int(self.step * self.settings.minutes * 60 / self.spent)))
        self.save_state()

    @contextmanager
    def finished(self) -> Iterator[Draft]:
        """The draft as it would be shipped now: with averaged weights where there are such."""
        last = [p.detach().clone() for p in self.trained]
        with torch.no_grad():
            for p, value in zip(self.trained, self.averaged or last, strict=True):
                p.copy_(value)
            try:
                yield self.draft
            finally:
                for p, value in zip(self.trained, last, strict=True):
                    p.copy_(value)

    def held_out(self) -> tuple[float, int]:
        """(mean overlap, positions) on the conversations kept apart."""
        with self.finished() as draft:
            return beta(draft, self.shelf.held_out(), self.target, self.settings.temperature)

    def start_event(self) -> dict[str, Any]:
        """What the log says when a run starts or goes on."""
        return {
            "event": "start",
            "step": self.step,
            "settings": _plain(self.settings),
            "shards": len(self.shelf.epochs[0]),
            "positions": self.positions,
            "threads": torch.get_num_threads() * self.team.size,
            "device": str(self.target.device),
            "covered": self.draft.covered,
            "trained": sum(p.numel() for p in self.trained),
        }


class _Course:
    """Means since the last line of the log."""

    def __init__(self) -> None:
        self.at = time.time()
        self.loss = self.overlap = 0.0
        self.positions = 0

    def add(self, loss: float, overlap: float, positions: int) -> None:
        self.loss, self.overlap, self.positions = self.loss + loss, self.overlap + overlap, self.positions + positions

    def shown(self) -> dict[str, float]:
        return {"loss": round(self.loss / self.positions, 4), "overlap": round(self.overlap / self.positions, 4)}


def train(
    run: Path,
    out: Path,
    target: Any,
    settings: Settings,
    always: Sequence[int] = (),
    save_seconds: float = 120.0,
    save_steps: int = 0,
    evaluate_steps: int = 0,
    log_seconds: float = 20.0,
    team: Team | None = None,
    stop_after: int = 0,
    after_step: Callable[[int], None] = lambda step: None,
) -> Draft:
    """Trains in folder ``out`` on the shards of ``run``; continues from ``out``'s state where there is one.

    ``stop_after``: end there with a checkpoint and the draft as it is; the same call without it goes on.
    """
    team = team or Team()
    trainer = _Trainer(run, out, target, settings, always, team)

    def note(**event: Any) -> None:
        if team.leads:
            log(out, **event)

    note(**trainer.start_event())
    bar = tqdm(
        disable=not team.leads, total=trainer.total or None, initial=trainer.step, unit="step", desc="train", mininterval=5
    )
    began, saved_at, course = time.time() - trainer.spent, time.time(), _Course()
    for epoch, batch in trainer.batches():
        loss, overlap = trainer.update(batch)
        trainer.spent = time.time() - began
        course.add(loss, overlap, len(batch.where))
        if not trainer.total and trainer.step == settings.warmup:
            trainer.fix_total()
            bar.total = trainer.total
        bar.update(1)
        step = trainer.step
        if time.time() - course.at > log_seconds or step == trainer.total:
            per_second = round(team.size * course.positions / max(1e-9, time.time() - course.at), 1)
            progress = {"step": step, "total": trainer.total, "epoch": epoch, "shards": len(trainer.shelf.epochs[epoch])}
            note(event="progress", **progress, spent=round(trainer.spent, 1), per_second=per_second, **course.shown())
            bar.set_postfix(course.shown(), refresh=False)
            course = _Course()
        if evaluate_steps and step % evaluate_steps == 0 and team.leads:
            note(event="held out", step=step, overlap=round(trainer.held_out()[0], 4))
        if (save_steps and step % save_steps == 0) or time.time() - saved_at > save_seconds:
            trainer.save_state()
            saved_at = time.time()
        after_step(step)
        if stop_after and step >= stop_after:
            break
    trainer.save_state()
    if not team.leads:
        return trainer.draft
    mean, count = trainer.held_out()
    spent = round(trainer.spent, 1)
    note(event="done", step=trainer.step, spent=spent, held_out_overlap=round(mean, 4), held_out_positions=count)
    with trainer.finished() as draft:
        save(draft, out / "draft")
    return trainer.draft
