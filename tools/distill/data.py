"""Training text on disk: shards of conversations that the target wrote, and how they are made.

A shard is one safetensors file, written whole or not at all, and a function of (seed, shard number, earlier shards)
only. So generation can be killed at any moment: the next run begins with the first shard that is missing. Even shards have short
prompts, odd ones long (passages that the target wrote in a shard at least ``LAG`` before), so two workers can take one sort each:
on a CPU that others use too, two processes of one thread get much more done than one of two threads that wait for each other.

| tensor | shape | content |
| --- | --- | --- |
| `tokens` | [tokens] int32 | the conversations, prompt and answer, end to end |
| `starts` | [conversations + 1] int64 | where each begins in `tokens` |
| `prompt_lengths` | [conversations] int32 | how many of its tokens are prompt |
| `hidden` | [sampled, hidden] bfloat16 | the target's normed last hidden state that each sampled token was drawn from |
| `log_normaliser` | [sampled] float32 | logsumexp of the target's logits there, at temperature 1 |
| `kinds` | [conversations] int32 | index into `KINDS` |
| `temperatures` | [conversations] float32 | sampling temperature |
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from tqdm import tqdm

from distill.prompts import LONG, PROSE, SHORT, Prompt, compose
from distill.sampler import Conversation, LeanLlama, sample

KINDS = [*SHORT, *LONG]
LAG = 2
"""A shard takes passages from shards so many places before it, or earlier."""


def log(run: Path, **event: Any) -> None:
    """Appends one event to the run's log, the card's source."""
    run.mkdir(parents=True, exist_ok=True)
    with (run / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"time": round(time.time(), 1), **event}) + "\n")


def shard_paths(run: Path) -> list[Path]:
    """The shards there are, in order."""
    return sorted((run / "shards").glob("shard-*.safetensors"))


def shard_path(run: Path, index: int) -> Path:
    """Where shard ``index`` is, or will be."""
    return run / "shards" / f"shard-{index:05d}.safetensors"


def positions_in(paths: Sequence[Path]) -> int:
    """Sampled tokens in these shards."""
    count = 0
    for path in paths:
        with safe_open(path, "pt") as shard:
            count += shard.get_slice("log_normaliser").get_shape()[0]
    return count


def read_extra(path: Path | None) -> list[str]:
    """Questions from a JSON Lines file: the field `question`, or else `prompt`."""
    if path is None:
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [row.get("question") or row["prompt"] for row in rows]


def passages_of(paths: Sequence[Path], tokenizer: Any) -> list[str]:
    """The prose in these shards: what later prompts summarise or ask about."""
    wanted = {KINDS.index(kind) for kind in PROSE}
    found = []
    for path in paths:
        with safe_open(path, "pt") as shard:
            tokens, starts = shard.get_tensor("tokens").tolist(), shard.get_tensor("starts").tolist()
            prompt_lengths, kinds = shard.get_tensor("prompt_lengths").tolist(), shard.get_tensor("kinds").tolist()
        for index, kind in enumerate(kinds):
            if kind in wanted:
                answer = tokens[starts[index] + prompt_lengths[index] : starts[index + 1]]
                found.append(tokenizer.decode(answer, skip_special_tokens=True).strip())
    return [text for text in found if len(text) > 200]


def render(prompt: Prompt, tokenizer: Any) -> list[int]:
    """The token ids that the answer follows, by the target's own chat template."""
    messages = [] if prompt.system is None else [{"role": "system", "content": prompt.system}]
    if prompt.user is not None:
        messages.append({"role": "user", "content": prompt.user})
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    else:  # The user's turn is left open: render it around a marker and cut there.
        messages.append({"role": "user", "content": "\x00"})
        text = tokenizer.apply_chat_template(messages, tokenize=False).split("\x00")[0]
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def shard_tensors(conversations: Sequence[Conversation], kinds: Sequence[str]) -> dict[str, torch.Tensor]:
    """The tensors of a shard (the table above)."""
    lengths = torch.tensor([0] + [len(c.prompt_ids) + len(c.new_ids) for c in conversations])
    return {
        "tokens": torch.tensor([t for c in conversations for t in c.prompt_ids + c.new_ids], dtype=torch.int32),
        "starts": lengths.cumsum(0),
        "prompt_lengths": torch.tensor([len(c.prompt_ids) for c in conversations], dtype=torch.int32),
        "hidden": torch.stack([h for c in conversations for h in c.hidden]).to(torch.bfloat16),
        "log_normaliser": torch.tensor([z for c in conversations for z in c.log_normaliser]),
        "kinds": torch.tensor([kinds.index(c.kind) for c in conversations], dtype=torch.int32),
        "temperatures": torch.tensor([c.temperature for c in conversations]),
    }


def write_shard(path: Path, conversations: Sequence[Conversation], kinds: Sequence[str]) -> None:
    """Writes a shard whole or not at all; the names of the kinds go into its metadata."""
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(shard_tensors(conversations, kinds), path.with_suffix(".tmp"), metadata={"kinds": json.dumps(list(kinds))})
    os.replace(path.with_suffix(".tmp"), path)


def make_shard(
    index: int,
    run: Path,
    model: LeanLlama,
    tokenizer: Any,
    extra: Sequence[str],
    seed: int,
    count: int,
    on_tokens: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Samples shard ``index`` and writes it; returns what the log keeps."""
    long = index % 2 == 1
    passages = passages_of([shard_path(run, i) for i in range(index - LAG + 1)], tokenizer) if long else []
    rng = random.Random(f"{seed}/{index}")
    end_id = tokenizer.eos_token_id
    conversations = []
    for prompt, temperature in compose(count, rng, passages, extra, long and bool(passages)):
        ids = render(prompt, tokenizer)
        room = model.max_len - len(ids)
        if room >= 16:
            turns = 1 if prompt.user is not None else 2
            conversations.append(Conversation(ids, prompt.kind, temperature, min(prompt.max_new, room), turns))
    started = time.time()
    with tqdm(desc=f"shard {index}", unit="tok", total=None, mininterval=5) as bar:

        def sampled_some(tokens: int) -> None:
            bar.update(tokens)
            if on_tokens:
                on_tokens(tokens)

        sample(model, conversations, end_id, seed=seed * 100_003 + index, on_tokens=sampled_some)
    path = shard_path(run, index)
    write_shard(path, conversations, KINDS)
    sampled: Counter[str] = Counter()
    for c in conversations:
        sampled[c.kind] += len(c.new_ids)
    return {
        "shard": index,
        "conversations": len(conversations),
        "prompt_tokens": sum(len(c.prompt_ids) for c in conversations),
        "sampled": sum(sampled.values()),
        "by_kind": dict(sampled),
        "seconds": round(time.time() - started, 1),
    }


def generate(
    run: Path,
    target: Any,
    tokenizer: Any,
    extra: Sequence[str],
    seed: int = 1,
    positions: int = 1_500_000,
    slots: int = 128,
    conversations: int = 512,
    max_len: int = 400,
    long_max_len: int = 1408,
    worker: int = 0,
    workers: int = 1,
    on_tokens: Callable[[int], None] | None = None,
) -> None:
    """Makes the missing shards of this worker until all shards hold ``positions`` sampled tokens.

    Two workers: one takes the even shards, the other the odd ones.
    """
    models: dict[bool, LeanLlama] = {}
    have = positions_in(shard_paths(run))
    with tqdm(total=positions, initial=have, unit="pos", desc="positions", mininterval=5) as bar:
        index = worker
        while (have := positions_in(shard_paths(run))) < positions:
            bar.n = have
            bar.refresh()
            if shard_path(run, index).exists():
                index += workers
                continue
            long = index % 2 == 1
            while long and not all(shard_path(run, i).exists() for i in range(index - LAG + 1)):
                time.sleep(1)  # the other worker is at it
            if long not in models:
                rows, length = (max(1, slots * 3 // 8), long_max_len) if long else (slots, max_len)
                models[long] = LeanLlama(target, rows, length)
            count = max(1, conversations * 2 // 5) if long else conversations
            log(run, event="shard", **make_shard(index, run, models[long], tokenizer, extra, seed, count, on_tokens))
            index += workers
