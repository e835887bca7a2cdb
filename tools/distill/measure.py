"""Quick figures while distilling: mean sum min(p, q) over conversations the target wrote."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from distill.batches import Example, collate, group, read
from distill.data import render, write_shard
from distill.draft import UNCOVERED, Draft
from distill.precision import autocast, fast_dtype
from distill.prompts import Prompt
from distill.sampler import Conversation, LeanLlama, sample

CHUNK = 256
"""Positions whose vocabulary-wide distributions are held at a time."""

SHARPENINGS = (1.0, 1.2, 1.35, 1.5)
"""Factors that ``sharpen`` tries."""


@torch.no_grad()
def overlaps(draft: Draft, examples: Sequence[Example], target: Any, temperature: float) -> list[torch.Tensor]:
    """Per conversation: sum min(p, q) at each sampled position, over the full vocabulary, [sampled] float32."""
    tokens = 4096  # padded tokens per batch
    device = draft.head.device
    head = target.lm_head.weight.detach().to(fast_dtype(device))
    order = sorted(range(len(examples)), key=lambda i: len(examples[i].tokens))
    found: dict[int, torch.Tensor] = {}
    for part in group([examples[i] for i in order], tokens):
        batch = collate(part)
        with autocast(device):
            hidden = draft.hidden(batch.ids.to(device)).flatten(0, 1)[batch.where.to(device)]
            values = []
            for start in range(0, len(hidden), CHUNK):
                rows = slice(start, start + CHUNK)
                logits = draft.scatter(draft.logits(hidden[rows]).float(), UNCOVERED)
                target_logits = torch.nn.functional.linear(batch.target_hidden[rows].to(device, head.dtype), head).float()
                draft_probs = (logits / temperature).softmax(dim=-1)
                target_probs = (target_logits / temperature).softmax(dim=-1)
                values.append(torch.minimum(draft_probs, target_probs).sum(dim=-1))
        flat = torch.cat(values).cpu()
        for e, values_of in zip(part, torch.split(flat, [len(e.hidden) for e in part]), strict=True):
            found[id(e)] = values_of
    return [found[id(e)] for e in examples]


def beta(draft: Draft, examples: Sequence[Example], target: Any, temperature: float) -> tuple[float, int]:
    """(mean overlap, positions) over all conversations."""
    values = torch.cat(overlaps(draft, examples, target, temperature))
    return float(values.mean()), len(values)


def answers(path: Path, prompts: Path, target: Any, tokenizer: Any, temperature: float, max_new: int) -> list[str]:
    """Samples the target's answers to a file of prompts into the shard ``path`` (once); returns the categories by kind."""
    if not path.exists():
        rows = [json.loads(line) for line in prompts.read_text(encoding="utf-8").splitlines() if line.strip()]
        categories = sorted({row.get("category", "all") for row in rows})
        conversations = [
            Conversation(render(Prompt("", row["prompt"], max_new), tokenizer), row.get("category", "all"), temperature, max_new)
            for row in rows
        ]
        longest = max(len(c.prompt_ids) for c in conversations) + max_new
        lean = LeanLlama(target, slots=48, max_len=longest)
        sample(lean, conversations, tokenizer.eos_token_id, seed=0)
        write_shard(path, conversations, categories)
    with safe_open(path, "pt") as shard:
        return list(json.loads(shard.metadata()["kinds"]))


def sharpen(draft: Draft, examples: Sequence[Example], target: Any, temperature: float) -> dict[float, float]:
    """Scales the draft's logits by the factor with the most overlap on these texts; what each factor gave.

    A draft that was trained for a short time spreads its probability too thin. The factor goes into the final norm's weight.
    """
    weight = draft.body.norm.weight
    plain = weight.detach().clone()
    found: dict[float, float] = {}
    with torch.no_grad():
        for factor in SHARPENINGS:
            weight.copy_(plain * factor)
            found[factor] = beta(draft, examples, target, temperature)[0]
        weight.copy_(plain * max(found, key=lambda factor: found[factor]))
    return found


def write_answers(path: Path, prompts: Path, shard: Path) -> None:
    """The file of prompts again, each line with the target's answer as ``answer_ids``."""
    rows = [json.loads(line) for line in prompts.read_text(encoding="utf-8").splitlines() if line.strip()]
    with path.open("w", encoding="utf-8") as file:
        for row, example in zip(rows, read(shard), strict=True):
            file.write(json.dumps({**row, "answer_ids": example.tokens[example.prompt_length :].tolist()}) + "\n")


def table(
    draft: Draft, examples: Sequence[Example], categories: Sequence[str], target: Any, temperature: float
) -> dict[str, Any]:
    """Mean overlap and positions, in all and by category."""
    values = overlaps(draft, examples, target, temperature)
    rows: dict[str, Any] = {"all": torch.cat(values)}
    for kind, name in enumerate(categories):
        chosen = [v for e, v in zip(examples, values, strict=True) if e.kind == kind]
        if chosen:
            rows[name] = torch.cat(chosen)
    return {name: {"overlap": round(float(v.mean()), 4), "n": len(v)} for name, v in rows.items()}
