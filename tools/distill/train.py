"""Training: seeded, resumable bit for bit, bounded by steps or by minutes."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from distill import batches as batching
from distill.data import log, shard_paths
from distill.draft import Draft, from_target, join, load, save
from distill.measure import beta

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
    rate: float = 1e-3
    """Peak learning rate; cosine to 1 % of it."""
    warmup: int = 50
    """Steps of linear warm-up."""
    steps: int = 0
    """Steps in all; 0: what fits into ``minutes``."""
    minutes: float = 0.0
    """Time to fill where ``steps`` is 0: the speed of the warm-up decides the number of steps, once."""
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
    for part in states.split(128):
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
    rows = draft.head.detach().to(batch.target_hidden.dtype)
    if draft.head.requires_grad:
        embedding = draft.embedding[0]
        rows = (embedding if draft.head_ids is None else embedding[draft.head_ids]).to(rows.dtype)
    with torch.no_grad():
        target_logits = torch.nn.functional.linear(batch.target_hidden, rows).float()
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
    """Learning rate of a step: linear warm-up, then cosine to 1 % of the peak."""
    if step < settings.warmup:
        return settings.rate * (step + 1) / settings.warmup
    progress = (step - settings.warmup) / max(1, total - settings.warmup)
    return settings.rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))


def _plain(settings: Settings) -> dict[str, Any]:
    """As JSON has it: lists instead of tuples."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings).items()}


def _write_state(path: Path, state: dict[str, Any]) -> None:
    torch.save(state, path.with_suffix(".tmp"))
    os.replace(path.with_suffix(".tmp"), path)


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
    after_step: Callable[[int], None] = lambda step: None,
) -> Draft:
    """Trains in folder ``out`` on the shards of ``run``; continues from ``out``'s state where there is one."""
    device = target.device
    paths = shard_paths(run)[: settings.shards or None]
    if not paths:
        raise SystemExit(f"No shards in {run / 'shards'}: run `generate` first.")
    examples = [e for path in paths for e in batching.read(path)]
    training, held_out = batching.split(examples, settings.held_out_every)
    positions = sum(len(e.hidden) for e in training)
    head_ids = most_used(training, settings.vocabulary, target, always)
    draft = from_target(target, settings.layers, None if head_ids is None else head_ids.to(device), settings.train_head)
    if settings.start:
        join(draft, load(Path(settings.start), target.model.embed_tokens.weight), settings.start_at, settings.damp)
    draft.to(device)
    matrices = [p for p in draft.parameters() if p.requires_grad and p.dim() > 1]
    vectors = [p for p in draft.parameters() if p.requires_grad and p.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": settings.weight_decay}, {"params": vectors, "weight_decay": 0.0}],
        lr=settings.rate,
        betas=(0.9, 0.95),
        fused=True,
    )
    step, total, spent, state_path = 0, settings.steps, 0.0, out / STATE_NAME
    if state_path.exists():
        state = torch.load(state_path, map_location=device, weights_only=True)
        if state["settings"] != _plain(settings):
            raise SystemExit(f"{state_path} belongs to other settings ({state['settings']}): choose another --out.")
        draft.load_state_dict(state["draft"])
        optimizer.load_state_dict(state["optimizer"])
        step, total, spent = state["step"], state["total"], state["spent"]
    out.mkdir(parents=True, exist_ok=True)
    plain = _plain(settings)
    log(out, event="start", step=step, settings=plain, shards=len(paths), positions=positions, threads=torch.get_num_threads(),
        device=str(device), covered=draft.covered, trained=sum(p.numel() for p in matrices + vectors))  # fmt: skip
    usual = positions / max(1, len(batching.epoch(training, settings.tokens, settings.seed, 0)))  # loss positions per batch

    def state_now() -> dict[str, Any]:
        return {"draft": draft.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "total": total,
                "spent": spent, "settings": plain}  # fmt: skip

    bar = tqdm(total=total or None, initial=step, unit="step", desc="train", mininterval=5)
    saved_at = logged_at = time.time()
    began = time.time() - spent
    seen = recent_positions = 0
    recent = recent_loss = 0.0
    for number, batch in batching.stream(training, settings.tokens, settings.seed, step):
        if total and step >= total:
            break
        rate = rate_at(step, total or settings.warmup + 1, settings)
        for group in optimizer.param_groups:
            group["lr"] = rate
        batch = batching.Batch(batch.ids.to(device), batch.where.to(device), batch.target_hidden.to(device))
        with torch.autocast(device.type, torch.bfloat16):
            loss, overlap = loss_of(draft, batch, mix(step / total if total else 0.0, settings), settings)
        (loss / usual).backward()
        torch.nn.utils.clip_grad_norm_(matrices + vectors, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        spent = time.time() - began
        seen, recent_positions = seen + len(batch.where), recent_positions + len(batch.where)
        recent, recent_loss = recent + float(overlap), recent_loss + float(loss.detach())
        if not total and step == settings.warmup:
            total = max(step + 1, int(step * settings.minutes * 60 / spent))
            bar.total = total
            _write_state(state_path, state_now())  # the number of steps is fixed from here on
        bar.update(1)
        if time.time() - logged_at > log_seconds or step == total:
            shown = {"loss": round(recent_loss / recent_positions, 4), "overlap": round(recent / recent_positions, 4)}
            bar.set_postfix(shown, refresh=False)
            log(out, event="progress", step=step, total=total, epoch=number, rate=round(rate, 7), spent=round(spent, 1),
                per_second=round(seen / (time.time() - began), 1), **shown)  # fmt: skip
            recent = recent_loss = 0.0
            recent_positions, logged_at = 0, time.time()
        if evaluate_steps and step % evaluate_steps == 0:
            log(out, event="held out", step=step, overlap=round(beta(draft, held_out, target, settings.temperature)[0], 4))
        if (save_steps and step % save_steps == 0) or time.time() - saved_at > save_seconds:
            _write_state(state_path, state_now())
            saved_at = time.time()
        after_step(step)
    _write_state(state_path, state_now())
    mean, count = beta(draft, held_out, target, settings.temperature)
    log(out, event="done", step=step, spent=round(spent, 1), held_out_overlap=round(mean, 4), held_out_positions=count)
    save(draft, out / "draft")
    return draft
